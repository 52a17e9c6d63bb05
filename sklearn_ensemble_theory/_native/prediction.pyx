"""Prediction by trees: the leaves of rows, and sums of what trees add.

For each row the outputs are added in the order of the trees, as by any other layout.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from .arrays cimport require
from .binning cimport EdgeTable, code_floats_1

cdef extern from "prediction.h" nogil:
    ctypedef struct PackedNode:
        float cut
        uint32_t word
    ctypedef struct CodedNode:
        int32_t feature
        int32_t cut
        int32_t missing
        int32_t child[2]
    void divide_1(const uint8_t*, int, const CodedNode*, int, int32_t*)
    void divide_2(const uint16_t*, int, const CodedNode*, int, int32_t*)
    ctypedef struct SmallNode:
        int32_t feature
        float cut
        uint32_t passed
        uint32_t missing_left
    void add_small(
        const float*, Py_ssize_t, const SmallNode*, const int64_t*, const uint8_t*, Py_ssize_t,
        Py_ssize_t, const double*, Py_ssize_t, double*, Py_ssize_t)
    ctypedef struct PassedByte:
        uint32_t column
        uint8_t cut
        uint8_t shift
        uint8_t group
        uint8_t bits
    void add_coded(
        const uint8_t*, Py_ssize_t, Py_ssize_t, const PassedByte*, const int64_t*, const int64_t*,
        Py_ssize_t, Py_ssize_t, const double*, double*, Py_ssize_t)
    enum:
        CODED_BLOCK
        MOST_GROUPS
    int category_of(float)
    bint is_in_set(const uint8_t*, int)
    int SET_BYTES
    int NO_CATEGORY
    int FIRST_SET
    int SET_BITS
    ctypedef struct StoredValues:
        const int32_t* starts
        const int32_t* rows
        const float* zero
    void add_values_of_leaves(
        const float*, Py_ssize_t, Py_ssize_t, StoredValues, const PackedNode*, const int64_t*, Py_ssize_t, int,
        const uint8_t*, const double*, double*, Py_ssize_t)
    void add_vectors_of_leaves(
        const float*, Py_ssize_t, Py_ssize_t, StoredValues, const PackedNode*, const int64_t*, Py_ssize_t, int,
        const uint8_t*, const int32_t*, const double*, double*, Py_ssize_t)
    void places_of_leaves(
        const float*, Py_ssize_t, Py_ssize_t, StoredValues, const PackedNode*, const int64_t*, Py_ssize_t, int,
        const uint8_t*, int64_t*)
    enum:
        DEEP_BLOCK
    enum:
        LEFT
        RIGHT
        FEATURE
        CUT
        MISSING_LEFT
        N_FIELDS
    ctypedef struct LooseTree:
        const char* field[5]
        Py_ssize_t step[5]
        Py_ssize_t n_nodes
        Py_ssize_t n_columns
        int has_wide_indices
        const int64_t* columns
        const int64_t* places
        const uint8_t* sets
        const uint8_t* is_wide
        Py_ssize_t n_wide
        const char* value
        Py_ssize_t value_step
        Py_ssize_t number_step
        Py_ssize_t n_values
    ctypedef struct LooseRows:
        Py_ssize_t n
        Py_ssize_t p
        const float* single
        const double* double_
    Py_ssize_t leaf_of_row(const LooseTree*, const LooseRows*, Py_ssize_t)
    bint add_leaf_of_row(const LooseTree*, const LooseRows*, Py_ssize_t, double, double*)

# A type for the leaf of each row: the smallest that holds the number of leaves.
ctypedef fused Leaf:
    uint8_t
    uint16_t
    uint32_t
    int32_t
    int64_t

# Codes of bins.
ctypedef fused Code:
    uint8_t
    uint16_t

cdef enum:
    # The code of a node of categories.
    SET_CODE = -3
    # The nodes where so many rows are stay in the first cache.
    ROWS_AT_A_TIME = 1024
    # In smaller trees each node divides its rows, whatever their paths are.
    FEW_NODES = 128


def small_nodes(
    const int32_t[::1] left,
    const int32_t[::1] right,
    const int32_t[::1] feature,
    const float[::1] cuts,
    const uint8_t[::1] missing_left,
    const int64_t[::1] first,
    int64_t[::1] starts,
    uint32_t[:, ::1] nodes,
    int64_t[::1] leaf,
):
    """The inner nodes and the order of the leaves of T trees of at most 32 leaves. O(m).

    Parameters
    ----------
    left, right, feature : int32 arrays of shape (m,)
        Of all trees one after the other, as in `TreeArrays`.
    cuts : float32 array of shape (m,)
    missing_left : uint8 array of shape (m,)
    first : int64 array of shape (T + 1,)
        The nodes of tree t are first[t] ... first[t + 1] - 1.
    starts : int64 array of shape (T + 1,)
        Output: the same for its inner nodes.
    nodes : uint32 array of shape (m - leaves, 4)
        Output (see `SmallNode`).
    leaf : int64 array of shape (leaves,)
        Output: the leaves of all trees, each tree's from left to right, as indices of nodes. What
        no node leads to is left out, and as much is not written at the end.
    """
    cdef Py_ssize_t t, i, j, m, at, k = 0, T = starts.shape[0] - 1, n_nodes = left.shape[0]
    cdef int32_t n_leaves[63]
    cdef int32_t before[63]
    cdef SmallNode* node
    require(first.shape[0] == T + 1 and T > 0 and right.shape[0] == n_nodes
            and feature.shape[0] == n_nodes and cuts.shape[0] == n_nodes
            and missing_left.shape[0] == n_nodes and nodes.shape[0] + leaf.shape[0] == n_nodes
            and nodes.shape[1] == 4)
    starts[0] = 0
    for t in range(T):
        j, m = first[t], first[t + 1] - first[t]
        require(0 <= j and 0 < m <= 63 and j + m <= n_nodes)
        # A child comes after its parent: numbers of leaves upwards, then places downwards.
        for i in range(m - 1, -1, -1):
            if left[j + i] >= 0:
                require(i < left[j + i] < m and i < right[j + i] < m)
                n_leaves[i] = n_leaves[left[j + i]] + n_leaves[right[j + i]]
                require(n_leaves[i] <= 32)
            else:
                n_leaves[i] = 1
        memset(before, 255, sizeof(before))  # -1: nothing leads there
        before[0] = 0
        for i in range(m):
            if before[i] < 0:
                continue
            if left[j + i] < 0:
                at = starts[t] + t + before[i]
                require(at < leaf.shape[0])
                leaf[at] = j + i
                continue
            require(k < nodes.shape[0] and left[j + i] != right[j + i]
                    and before[left[j + i]] < 0 and before[right[j + i]] < 0)
            before[left[j + i]] = before[i]
            before[right[j + i]] = before[i] + n_leaves[left[j + i]]
            node = <SmallNode*>&nodes[k, 0]
            node.feature, node.cut = feature[j + i], cuts[j + i]
            node.passed = ((<uint32_t>1 << n_leaves[left[j + i]]) - 1) << before[i]
            node.missing_left = missing_left[j + i]
            k += 1
        starts[t + 1] = k


def add_small_trees(
    const float[:, ::1] columns,
    const uint32_t[:, ::1] nodes,
    const int64_t[::1] starts,
    const double[:, ::1] values,
    Py_ssize_t first,
    Py_ssize_t stop,
    double[:, ::1] out,
    const uint8_t[:, ::1] sets=None,
):
    """Add the values of some trees of at most 32 leaves, in their order. O(n) for each inner node.

    All inner nodes are asked for a block of rows, which takes less time than to follow the rows'
    paths.

    Parameters
    ----------
    columns : float32 array of shape (p, n)
    nodes, starts : uint32 array of shape (m, 4), int64 array of shape (T + 1,)
        As `small_nodes` lays them out.
    values : float64 array of shape (m + T, 1) or (m + T, width)
        Of the leaves, each tree's from left to right.
    first, stop : int
        The trees to add.
    out : float64 array of shape (n, width)
        A tree of one value adds it to column t mod `width`.
    sets : uint8 array of shape (s, 32), default=None
        Of the nodes of categories.
    """
    cdef const uint8_t* first_set = NULL
    cdef uint32_t n_sets = 0
    cdef Py_ssize_t t, k, m, T = starts.shape[0] - 1, n = out.shape[0]
    cdef const SmallNode* node
    require(nodes.shape[1] == 4 and 0 <= first <= stop <= T and columns.shape[1] == n
            and values.shape[0] == nodes.shape[0] + T and out.shape[1] > 0
            and (values.shape[1] == 1 or values.shape[1] == out.shape[1]))
    if first == stop or n == 0:
        return
    if sets is not None and sets.shape[0] > 0:
        require(sets.shape[1] == SET_BYTES)
        first_set, n_sets = &sets[0, 0], <uint32_t>sets.shape[0]
    for t in range(first, stop):
        m = starts[t + 1] - starts[t]
        require(0 <= starts[t] and 0 <= m <= 31 and starts[t + 1] <= nodes.shape[0])
        for k in range(starts[t], starts[t + 1]):
            node = <const SmallNode*>&nodes[k, 0]
            # The last leaf, number m, is never passed: no row is beyond the values of its tree.
            require(0 <= node.feature < columns.shape[0] and node.passed >> m == 0)
            require(node.missing_left < FIRST_SET + n_sets)
    with nogil:
        add_small(&columns[0, 0], n, <const SmallNode*>(&nodes[0, 0] if nodes.shape[0] else NULL),
                  &starts[0], first_set, first, stop, &values[0, 0], values.shape[1], &out[0, 0],
                  out.shape[1])


def coded_nodes(
    const int32_t[::1] left,
    const int32_t[::1] right,
    const int32_t[::1] column,
    const uint8_t[::1] code,
    const uint8_t[::1] missing_left,
    const int64_t[::1] first,
    int64_t[::1] starts,
    int64_t[::1] leaves,
    uint32_t[:, ::1] nodes,
    int64_t[::1] leaf,
):
    """The records of the inner nodes, and the leaves, of T trees of at most 256 leaves. O(m).

    Parameters
    ----------
    left, right, column : int32 arrays of shape (m,)
        Of all trees one after the other, as in `TreeArrays`.
    code : uint8 array of shape (m,)
        The largest code that goes to the left; at most 253, and 255 is that of missing values.
    missing_left : uint8 array of shape (m,)
    first : int64 array of shape (T + 1,)
        The nodes of tree t are first[t] ... first[t + 1] - 1.
    starts, leaves : int64 arrays of shape (T + 1,)
        Output: the same for its records and for its leaves.
    nodes : uint32 array of shape (r, 2)
        Output (see `PassedByte`): the first r records. starts[T] says how many there are.
    leaf : int64 array of shape (m,)
        Output: the leaves of all trees, each tree's from left to right, as indices of nodes.
    """
    cdef Py_ssize_t t, i, j, m, k = 0, T = starts.shape[0] - 1, n_nodes = left.shape[0]
    cdef int g, low, high
    cdef int32_t n_leaves[16 * MOST_GROUPS]
    cdef int32_t before[16 * MOST_GROUPS]
    cdef PassedByte* node
    require(first.shape[0] == T + 1 and T > 0 and right.shape[0] == n_nodes
            and column.shape[0] == n_nodes and code.shape[0] == n_nodes and leaves.shape[0] == T + 1
            and missing_left.shape[0] == n_nodes and nodes.shape[1] == 2
            and leaf.shape[0] == n_nodes)
    starts[0], leaves[0] = 0, 0
    for t in range(T):
        j, m = first[t], first[t + 1] - first[t]
        require(0 <= j and 0 < m < 16 * MOST_GROUPS and j + m <= n_nodes)
        # A child comes after its parent: numbers of leaves upwards, then places downwards.
        for i in range(m - 1, -1, -1):
            n_leaves[i] = 1
            if left[j + i] >= 0:
                require(i < left[j + i] < m and i < right[j + i] < m)
                n_leaves[i] = n_leaves[left[j + i]] + n_leaves[right[j + i]]
                require(n_leaves[i] <= 8 * MOST_GROUPS)
        memset(before, 255, sizeof(before))  # -1: nothing leads there
        before[0] = 0
        leaves[t + 1] = leaves[t] + n_leaves[0]
        require(leaves[t + 1] <= n_nodes)
        for i in range(m):
            if before[i] < 0:
                continue
            if left[j + i] < 0:
                leaf[leaves[t] + before[i]] = j + i
                continue
            require(left[j + i] != right[j + i] and before[left[j + i]] < 0
                    and before[right[j + i]] < 0 and code[j + i] < 254)
            low, high = before[i], before[i] + n_leaves[left[j + i]]
            before[left[j + i]], before[right[j + i]] = low, high
            for g in range(low // 8, (high + 7) // 8):
                if k < nodes.shape[0]:
                    node = <PassedByte*>&nodes[k, 0]
                    node.column, node.shift = column[j + i], missing_left[j + i] != 0
                    node.cut, node.group = code[j + i] + node.shift, g
                    node.bits = <uint8_t>(
                        (0xFF << max(low - 8 * g, 0)) & (0xFF >> max(8 * g + 8 - high, 0)))
                k += 1
        starts[t + 1] = k


def codes_of_blocks(
    const float[:, ::1] columns, const int32_t[::1] used, list tables, uint8_t[:, :, ::1] codes
):
    """The codes of rows, in blocks of 512 rows; 255 is a missing value. O(n) for each column.

    Parameters
    ----------
    columns : float32 array of shape (p, n)
    used : int32 array of shape (k,)
        Columns.
    tables : list of k `EdgeTable`
        Of less than 255 edges each.
    codes : uint8 array of shape (ceil(n / 512), k, 512)
        Output.
    """
    cdef Py_ssize_t j, b, start, n = columns.shape[1], n_blocks = codes.shape[0]
    cdef EdgeTable table
    require(len(tables) == used.shape[0] == codes.shape[1] and codes.shape[2] == CODED_BLOCK
            and n_blocks == (n + CODED_BLOCK - 1) // CODED_BLOCK)
    for j in range(used.shape[0]):
        table = tables[j]
        require(0 <= used[j] < columns.shape[0] and table.largest == table.missing == 255)
        with nogil:
            for b in range(n_blocks):
                start = b * CODED_BLOCK
                code_floats_1(&columns[used[j], start], min(n - start, CODED_BLOCK), &table.cells,
                              255, &codes[b, j, 0])


def add_coded_trees(
    const uint8_t[:, :, ::1] codes,
    const uint32_t[:, ::1] nodes,
    const int64_t[::1] starts,
    const int64_t[::1] leaves,
    const double[::1] values,
    Py_ssize_t first,
    Py_ssize_t stop,
    double[:, ::1] out,
):
    """Add the values of some trees of at most 256 leaves, in their order. O(n) for each record.

    Parameters
    ----------
    codes : uint8 array of shape (b, k, 512)
        As `codes_of_blocks` writes them.
    nodes, starts, leaves : uint32 array of shape (m, 2), int64 arrays of shape (T + 1,)
        As `coded_nodes` writes them.
    values : float64 array of shape (l,)
        Of the leaves of all trees, each tree's from left to right.
    first, stop : int
        The trees to add.
    out : float64 array of shape (n, width)
        Tree t adds to column t mod `width`.
    """
    cdef Py_ssize_t t, k, m, T = starts.shape[0] - 1, n = out.shape[0], p = codes.shape[1]
    cdef const PassedByte* node
    require(nodes.shape[1] == 2 and 0 <= first <= stop <= T and leaves.shape[0] == T + 1
            and codes.shape[0] == (n + CODED_BLOCK - 1) // CODED_BLOCK and p > 0
            and codes.shape[2] == CODED_BLOCK and out.shape[1] > 0)
    if first == stop or n == 0:
        return
    for t in range(first, stop):
        m = leaves[t + 1] - leaves[t]
        require(0 <= starts[t] <= starts[t + 1] <= nodes.shape[0] and 0 <= leaves[t]
                and 0 < m <= 8 * MOST_GROUPS and leaves[t + 1] <= values.shape[0])
        for k in range(starts[t], starts[t + 1]):
            node = <const PassedByte*>&nodes[k, 0]
            # The last leaf is never passed: no row is beyond the values of its tree.
            require(node.column < p and 8 * node.group < m
                    and (m - 8 * node.group > 8 or node.bits >> (m - 8 * node.group - 1) == 0))
    with nogil:
        add_coded(&codes[0, 0, 0], n, p, <const PassedByte*>(&nodes[0, 0] if nodes.shape[0] else NULL),
                  &starts[0], &leaves[0], first, stop, &values[0], &out[0, 0], out.shape[1])


def pack_nodes(
    const int32_t[::1] left,
    const int32_t[::1] right,
    const int32_t[::1] feature,
    const uint8_t[::1] missing_left,
    int shift,
    int32_t[::1] position,
    uint32_t[::1] words,
):
    """Lay out the m nodes of a tree so that siblings are neighbours. O(m).

    Parameters
    ----------
    left, right, feature : int32 arrays of shape (m,)
        As in `TreeArrays`.
    missing_left : uint8 array of shape (m,)
    shift : int
        Bits that a word keeps for the feature and the direction of missing values.
    position : int32 array of shape (m,)
        Output: where each node goes.
    words : uint32 array of shape (m,)
        Output, in the new order (see `PackedNode`).
    """
    cdef Py_ssize_t i, m = left.shape[0]
    cdef uint32_t free = 1
    require(m > 0 and right.shape[0] == m and feature.shape[0] == m and 0 < shift < 32
            and missing_left.shape[0] == m and position.shape[0] == m and words.shape[0] == m)
    memset(&position[0], 255, m * sizeof(int32_t))
    position[0] = 0
    for i in range(m):
        if left[i] >= 0:
            # A node has one parent, so that what the root leads to is a tree.
            require(left[i] < m and 0 <= right[i] < m and left[i] != right[i]
                    and position[left[i]] < 0 and position[right[i]] < 0
                    and 0 <= feature[i] < <int64_t>1 << (shift - 1))
            position[left[i]], position[right[i]] = <int32_t>free, <int32_t>free + 1
            free += 2
    for i in range(m):
        if position[i] < 0:  # nothing leads there
            position[i] = <int32_t>free
            free += 1
    free = 1
    for i in range(m):
        if left[i] >= 0:
            words[position[i]] = (
                (free << shift) | (<uint32_t>feature[i] << 1) | (1 - missing_left[i]))
            free += 2
        else:
            words[position[i]] = <uint32_t>position[i] << shift


cdef class LooseNodes:
    """The nodes of T trees, read where they are: nothing is laid out for them.

    A node is checked when a row passes it, so that a prediction of few rows does not read all.

    Parameters
    ----------
    trees : list of T tuples of arrays
        `left`, `right`, `feature` (int32 or int64), `threshold` (float64) and `missing_left`
        (uint8) of shape (m,) and `value` (float64) of shape (m, K) as in `TreeArrays`, of any
        strides; then, or None, `left_bins` (uint8) of shape (m, 32); for its columns whether it
        reads them in double precision (uint8), all further ones in single precision; the columns of
        X that the tree was fitted to (int64); and to which sums its K numbers are added (int64), -1
        for none.
    """

    cdef LooseTree* trees
    cdef Py_ssize_t n_trees, n_columns, width
    cdef list arrays

    def __cinit__(self, list trees):
        cdef Py_ssize_t t
        self.n_trees, self.n_columns, self.width, self.arrays = len(trees), 0, 1, trees
        self.trees = <LooseTree*>calloc(self.n_trees + 1, sizeof(LooseTree))
        if self.trees == NULL:
            raise MemoryError
        for t in range(self.n_trees):
            self.read(&self.trees[t], trees[t])

    def __dealloc__(self):
        free(self.trees)

    cdef int read(self, LooseTree* tree, tuple fields) except -1:
        left, right, feature, cuts, directions, values, sets, is_wide, columns, places = fields
        cdef Py_ssize_t k
        cdef const double[:] threshold = cuts
        cdef const uint8_t[:] missing_left = directions
        cdef const double[:, :] value = values
        cdef const int32_t[:] short_
        cdef const int64_t[:] long_
        cdef const uint8_t[:, ::1] bits
        cdef const uint8_t[::1] flags
        cdef const int64_t[::1] numbers
        tree.n_nodes, tree.n_values = value.shape[0], value.shape[1]
        tree.has_wide_indices = left.itemsize == sizeof(int64_t)
        require(tree.n_nodes > 0 and tree.n_values > 0
                and threshold.shape[0] == tree.n_nodes and missing_left.shape[0] == tree.n_nodes)
        for k, indices in enumerate((left, right, feature)):
            require(len(indices) == tree.n_nodes)
            if tree.has_wide_indices:
                long_ = indices
                tree.field[k], tree.step[k] = <const char*>&long_[0], long_.strides[0]
            else:
                short_ = indices
                tree.field[k], tree.step[k] = <const char*>&short_[0], short_.strides[0]
        tree.field[CUT], tree.step[CUT] = <const char*>&threshold[0], threshold.strides[0]
        tree.field[MISSING_LEFT] = <const char*>&missing_left[0]
        tree.step[MISSING_LEFT] = missing_left.strides[0]
        tree.value, tree.value_step = <const char*>&value[0, 0], value.strides[0]
        tree.number_step = value.strides[1]
        if sets is not None:
            bits = sets
            require(bits.shape[0] == tree.n_nodes and bits.shape[1] == SET_BYTES)
            tree.sets = &bits[0, 0]
        if is_wide is not None:
            flags = is_wide
            require(flags.shape[0] > 0)
            tree.is_wide, tree.n_wide = &flags[0], flags.shape[0]
        if columns is not None:
            numbers = columns
            require(numbers.shape[0] > 0)
            tree.columns, tree.n_columns = &numbers[0], numbers.shape[0]
            for k in range(numbers.shape[0]):
                require(numbers[k] >= 0)
                self.n_columns = max(self.n_columns, numbers[k] + 1)
        if places is not None:
            numbers = places
            require(numbers.shape[0] == tree.n_values)
            tree.places = &numbers[0]
            for k in range(numbers.shape[0]):
                self.width = max(self.width, numbers[k] + 1)
        return 0

    def leaves(self, rows, Py_ssize_t first, Py_ssize_t stop, int32_t[:, ::1] out):
        """The leaf of each row in the trees first, ..., stop - 1. O(depth) for each.

        Parameters
        ----------
        rows : float32 or float64 array of shape (n, p)
        first, stop : int
        out : int32 array of shape (stop - first, n)
            Output.
        """
        cdef Py_ssize_t i, t, leaf
        cdef LooseRows X = self.rows(rows, first, stop)
        cdef bint fit = True
        require(out.shape[0] == stop - first and out.shape[1] == X.n)
        with nogil:
            for t in range(first, stop):
                for i in range(X.n):
                    leaf = leaf_of_row(&self.trees[t], &X, i)
                    fit &= leaf >= 0
                    out[t - first, i] = <int32_t>leaf
        require_leaves(fit)

    def add(self, rows, Py_ssize_t first, Py_ssize_t stop, const double[::1] scale,
            double[:, ::1] out):
        """Add the numbers of the leaves of each row, in the order of the trees.

        Parameters
        ----------
        rows : float32 or float64 array of shape (n, p)
        first, stop : int
        scale : float64 array of shape (T,)
            Factors of the numbers.
        out : float64 array of shape (n, width)
            A tree without places adds its first number to column t mod `width`.
        """
        cdef Py_ssize_t i, t, width = out.shape[1]
        cdef LooseRows X = self.rows(rows, first, stop)
        cdef bint fit = True
        require(scale.shape[0] == self.n_trees and out.shape[0] == X.n and width >= self.width)
        with nogil:
            for t in range(first, stop):
                for i in range(X.n):
                    fit &= add_leaf_of_row(
                        &self.trees[t], &X, i, scale[t],
                        &out[i, 0 if self.trees[t].places else t % width])
        require_leaves(fit)

    cdef LooseRows rows(self, rows, Py_ssize_t first, Py_ssize_t stop) except *:
        cdef LooseRows X
        cdef const float[:, ::1] single
        cdef const double[:, ::1] double_
        X.n, X.p, X.single, X.double_ = rows.shape[0], rows.shape[1], NULL, NULL
        require(0 <= first <= stop <= self.n_trees and max(self.n_columns, 1) <= X.p)
        if X.n and rows.itemsize == sizeof(double):
            double_ = rows
            X.double_ = &double_[0, 0]
        elif X.n:
            single = rows
            X.single = &single[0, 0]
        return X


cdef int require_leaves(bint fit) except -1:
    if not fit:
        raise ValueError(
            "The nodes of a tree lead to no leaf: a child or a feature of theirs does not exist, "
            "or they lead in a circle.")
    return 0


def check_nodes(
    const int32_t[::1] left, const int32_t[::1] right, const int32_t[::1] feature,
    const int64_t[::1] starts, Py_ssize_t p
):
    """Raise a ValueError unless nodes are trees over p columns, parents before children. O(m).

    Parameters
    ----------
    left, right, feature : int32 arrays of shape (m,)
        As in `TreeArrays`, of all trees one after the other.
    starts : int64 array of shape (T + 1,)
        The nodes of tree t are starts[t], ..., starts[t + 1] - 1.
    p : int
    """
    cdef Py_ssize_t i, t, k, at, m = left.shape[0], T = starts.shape[0] - 1
    cdef bint fit = (
        T >= 0 and starts[0] == 0 and starts[T] == m == right.shape[0] == feature.shape[0])
    for t in range(T):
        fit = fit and starts[t] < starts[t + 1] <= m
        if not fit:
            break
        k = starts[t + 1] - starts[t]
        for i in range(k):
            at = starts[t] + i
            fit &= left[at] < 0 or (i < left[at] < k and i < right[at] < k and 0 <= feature[at] < p)
    if not fit:
        raise ValueError(
            f"The nodes are no tree over {p} columns: a child does not exist or is not after its "
            "parent, or a feature does not exist.")


def leaves_of_codes(
    const Code[::1, :] codes,
    const int32_t[::1] left,
    const int32_t[::1] right,
    const int32_t[::1] feature,
    const int32_t[::1] code,
    const uint8_t[::1] missing_left,
    int32_t missing,
    int32_t[::1] leaf,
    const uint8_t[:, ::1] sets=None,
):
    """The leaf of each row in one tree that was grown on codes of bins. O(n depth).

    Parameters
    ----------
    codes : uint8 or uint16 array of shape (n, p), in Fortran order
    left, right, feature, code : int32 arrays of shape (m,)
        As in `TreeArrays`.
    missing_left : uint8 array of shape (m,)
    missing : int
        The code of a missing value.
    leaf : int32 array of shape (n,)
    sets : uint8 array of shape (m, 32), default=None
        Of the nodes of categories, whose code is -3.
    """
    cdef int32_t at, c
    cdef bint goes_left
    cdef Py_ssize_t i, start = 0, n = codes.shape[0], m = left.shape[0]
    cdef int rows
    cdef CodedNode* nodes
    require(m > 0 and right.shape[0] == m and feature.shape[0] == m and code.shape[0] == m
            and missing_left.shape[0] == m and leaf.shape[0] == n and codes.shape[1] > 0)
    for i in range(m):
        require(left[i] < m and (left[i] < 0 or i < left[i] and i < right[i] < m
                                 and 0 <= feature[i] < codes.shape[1]))
    if n == 0:
        return
    if sets is not None:
        require(sets.shape[0] == m and sets.shape[1] == SET_BYTES)
        with nogil:
            for i in range(n):
                at = 0
                while left[at] >= 0:
                    c = codes[i, feature[at]]
                    if code[at] == SET_CODE:
                        goes_left = is_in_set(
                            &sets[at, 0], NO_CATEGORY if c == missing else min(c, NO_CATEGORY))
                    else:
                        goes_left = missing_left[at] != 0 if c == missing else c <= code[at]
                    at = left[at] if goes_left else right[at]
                leaf[i] = at
        return
    nodes = <CodedNode*>malloc(m * sizeof(CodedNode))
    if nodes == NULL:
        raise MemoryError
    with nogil:
        for i in range(m):
            nodes[i].feature = feature[i] if left[i] >= 0 else 0
            nodes[i].cut = code[i]
            nodes[i].missing = missing if missing_left[i] else -1
            nodes[i].child[0] = left[i] if left[i] >= 0 else <int32_t>i
            nodes[i].child[1] = right[i] if left[i] >= 0 else <int32_t>i
        while start < n:
            rows = <int>min(n - start, ROWS_AT_A_TIME)
            for i in range(rows):
                leaf[start + i] = 0
            if m > FEW_NODES:
                go_down(nodes, &codes[start, 0], n, rows, &leaf[start])
            else:
                for i in range(m):
                    if left[i] < 0:
                        continue
                    if Code is uint8_t:
                        divide_1(&codes[start, feature[i]], rows, &nodes[i], <int>i, &leaf[start])
                    else:
                        divide_2(&codes[start, feature[i]], rows, &nodes[i], <int>i, &leaf[start])
            start += rows
        free(nodes)


cdef inline void go_down(
    const CodedNode* nodes, const Code* codes, Py_ssize_t n, int rows, int32_t* leaf
) noexcept nogil:
    """All rows go down by one level, again and again, until none moves.

    There are no branches, and no row waits for another. Codes of a column are n apart.
    """
    cdef Py_ssize_t i
    cdef int32_t code, after, moved = 1
    cdef const CodedNode* node
    while moved:
        moved = 0
        for i in range(rows):
            node = &nodes[leaf[i]]
            code = codes[node.feature * n + i]
            after = node.child[(code > node.cut) & (code != node.missing)]
            moved |= after ^ leaf[i]
            leaf[i] = after


cdef StoredValues stored_values(const float[:, ::1] rows, given) except *:
    """Where the values of rows are that may not be 0, checked."""
    cdef const int32_t[::1] starts, places
    cdef const float[::1] zero
    cdef Py_ssize_t n = rows.shape[0], p = rows.shape[1], j
    cdef bint fits
    if given is None:
        return StoredValues(NULL, NULL, NULL)
    starts, places, zero = given
    require(starts.shape[0] == p + 1 and zero.shape[0] == p > 0 and n <= DEEP_BLOCK)
    fits = starts[0] == 0 and starts[p] == places.shape[0]
    for j in range(p):
        fits &= starts[j] <= starts[j + 1]
    for j in range(places.shape[0]):
        fits &= 0 <= places[j] < n
    require(fits)
    cdef StoredValues found = StoredValues(&starts[0], NULL, &zero[0])
    if places.shape[0] > 0:
        found.rows = &places[0]
    return found


def add_deep_values(
    const float[:, ::1] rows,
    const uint32_t[:, ::1] nodes,
    const int64_t[::1] starts,
    int shift,
    const double[::1] values,
    double[:, ::1] out,
    const uint8_t[:, ::1] sets=None,
    stored=None,
):
    """Add one value of each of T trees, in the order of the trees. O(T n depth).

    Parameters
    ----------
    rows : float32 array of shape (n, p)
    nodes : uint32 array of shape (m, 2)
        All trees, one after the other (see `PackedNode`): the bits of the threshold, and the word.
    starts : int64 array of shape (T + 1,)
        The nodes of tree t are starts[t] ... starts[t + 1] - 1.
    shift : int
    values : float64 array of shape (m,)
    out : float64 array of shape (n, width)
        Tree t adds to column t mod `width`.
    sets : uint8 array of shape (s, 32), default=None
        Of the nodes of categories.
    stored : tuple of arrays, default=None
        Where at most 1024 rows have values other than 0: of each column the rows from starts[j] on,
        as int32 arrays `starts` and `rows`, and 0 as it is read there, float32.
    """
    check_trees(nodes, starts, shift, sets)
    cdef StoredValues known = stored_values(rows, stored)
    require(values.shape[0] == nodes.shape[0] and out.shape[0] == rows.shape[0]
            and out.shape[1] > 0 and rows.shape[1] > 0)
    if rows.shape[0] and starts.shape[0] > 1:
        with nogil:
            add_values_of_leaves(
                &rows[0, 0], rows.shape[0], rows.shape[1], known, <const PackedNode*>&nodes[0, 0],
                &starts[0], starts.shape[0] - 1, shift, first_set(sets), &values[0], &out[0, 0],
                out.shape[1])


def add_deep_vectors(
    const float[:, ::1] rows,
    const uint32_t[:, ::1] nodes,
    const int64_t[::1] starts,
    int shift,
    const int32_t[::1] index,
    const double[:, ::1] table,
    double[:, ::1] out,
    const uint8_t[:, ::1] sets=None,
    stored=None,
):
    """The same, where a leaf adds row index[node] of a table of shape (r, width)."""
    check_trees(nodes, starts, shift, sets)
    cdef StoredValues known = stored_values(rows, stored)
    require(index.shape[0] == nodes.shape[0] and out.shape[0] == rows.shape[0]
            and out.shape[1] == table.shape[1] and table.shape[0] > 0 and rows.shape[1] > 0)
    if rows.shape[0] and starts.shape[0] > 1 and out.shape[1]:
        with nogil:
            add_vectors_of_leaves(
                &rows[0, 0], rows.shape[0], rows.shape[1], known, <const PackedNode*>&nodes[0, 0],
                &starts[0], starts.shape[0] - 1, shift, first_set(sets), &index[0], &table[0, 0],
                &out[0, 0], out.shape[1])


def deep_leaves(
    const float[:, ::1] rows,
    const uint32_t[:, ::1] nodes,
    const int64_t[::1] starts,
    int shift,
    int64_t[:, ::1] out,
    const uint8_t[:, ::1] sets=None,
    stored=None,
):
    """The leaf of each row in each tree, as its place among the nodes of all trees."""
    check_trees(nodes, starts, shift, sets)
    cdef StoredValues known = stored_values(rows, stored)
    require(out.shape[0] == rows.shape[0] and out.shape[1] == starts.shape[0] - 1
            and rows.shape[1] > 0)
    if rows.shape[0] and starts.shape[0] > 1:
        with nogil:
            places_of_leaves(
                &rows[0, 0], rows.shape[0], rows.shape[1], known, <const PackedNode*>&nodes[0, 0],
                &starts[0], starts.shape[0] - 1, shift, first_set(sets), &out[0, 0])


def check_sets(const uint32_t[:, ::1] nodes, Py_ssize_t n_sets):
    """Raise a ValueError unless the nodes of categories have one of so many sets. O(m)."""
    cdef Py_ssize_t i
    cdef uint32_t bits
    require(nodes.shape[1] == 2 and n_sets < (<Py_ssize_t>1 << SET_BITS))
    for i in range(nodes.shape[0]):
        bits = nodes[i, 0]
        # A NaN: its exponent has all bits, the rest is not 0.
        if bits & 0x7FFFFFFF > 0x7F800000:
            require(bits & ((<uint32_t>1 << SET_BITS) - 1) < n_sets)


def add_leaf_values(double[::1] u, const double[::1] values, const Leaf[::1] leaf):
    """u += values[leaf]. O(n)."""
    cdef Py_ssize_t i
    require(leaf.shape[0] == u.shape[0])
    with nogil:
        for i in range(u.shape[0]):
            u[i] += values[leaf[i]]


cdef inline const uint8_t* first_set(const uint8_t[:, ::1] sets) noexcept nogil:
    return NULL if sets is None or sets.shape[0] == 0 else &sets[0, 0]


cdef int check_trees(
    const uint32_t[:, ::1] nodes, const int64_t[::1] starts, int shift, const uint8_t[:, ::1] sets
) except -1:
    cdef Py_ssize_t t
    require(sets is None or sets.shape[0] == 0 or sets.shape[1] == SET_BYTES)
    require(starts.shape[0] > 0 and nodes.shape[1] == 2 and 0 < shift < 32)
    for t in range(starts.shape[0] - 1):
        require(0 <= starts[t] < starts[t + 1] <= nodes.shape[0])
    return 0
