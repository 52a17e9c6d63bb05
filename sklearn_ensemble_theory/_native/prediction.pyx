"""Prediction by trees: the leaves of rows, and sums of what trees add.

For each row the outputs are added in the order of the trees, as by any other layout.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from .arrays cimport require

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
    int category_of(float)
    bint is_in_set(const uint8_t*, int)
    int SET_BYTES
    int NO_CATEGORY
    int FIRST_SET
    int SET_BITS
    void add_values_of_leaves(
        const float*, Py_ssize_t, Py_ssize_t, const PackedNode*, const int64_t*, Py_ssize_t, int,
        const uint8_t*, const double*, double*, Py_ssize_t)
    void add_vectors_of_leaves(
        const float*, Py_ssize_t, Py_ssize_t, const PackedNode*, const int64_t*, Py_ssize_t, int,
        const uint8_t*, const int32_t*, const double*, double*, Py_ssize_t)
    void places_of_leaves(
        const float*, Py_ssize_t, Py_ssize_t, const PackedNode*, const int64_t*, Py_ssize_t, int,
        const uint8_t*, int64_t*)

# A type for the leaf of each row: the smallest that holds the number of leaves.
ctypedef fused Leaf:
    uint8_t
    uint16_t
    uint32_t
    int32_t
    int64_t

# Values of rows.
ctypedef fused Value:
    float
    double

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
        Output: the leaves of all trees, each tree's from left to right, as indices of nodes.
    """
    cdef Py_ssize_t t, i, j, m, at, k = 0, T = starts.shape[0] - 1, n_nodes = left.shape[0]
    cdef int32_t n_leaves[63]
    cdef int32_t before[63]
    cdef SmallNode* node
    require(first.shape[0] == T + 1 and T > 0 and right.shape[0] == n_nodes
            and feature.shape[0] == n_nodes and cuts.shape[0] == n_nodes
            and missing_left.shape[0] == n_nodes and nodes.shape[0] + leaf.shape[0] == n_nodes
            and leaf.shape[0] == nodes.shape[0] + T and nodes.shape[1] == 4)
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
        memset(before, 0, sizeof(before))
        for i in range(m):
            if left[j + i] < 0:
                at = starts[t] + t + before[i]
                require(at < leaf.shape[0])
                leaf[at] = j + i
                continue
            require(k < nodes.shape[0])
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
    position[0] = 0
    for i in range(m):
        if left[i] >= 0:
            require(left[i] < m and 0 <= right[i] < m and free + 1 < m)
            position[left[i]], position[right[i]] = <int32_t>free, <int32_t>free + 1
            free += 2
    free = 1
    for i in range(m):
        if left[i] >= 0:
            words[position[i]] = (
                (free << shift) | (<uint32_t>feature[i] << 1) | (1 - missing_left[i]))
            free += 2
        else:
            words[position[i]] = <uint32_t>position[i] << shift


def leaves_in_arrays(
    const Value[:, ::1] rows,
    const int32_t[::1] left,
    const int32_t[::1] right,
    const int32_t[::1] feature,
    const double[::1] threshold,
    const uint8_t[::1] missing_left,
    int32_t[::1] leaf,
    const uint8_t[:, ::1] sets=None,
):
    """The leaf of each row in one tree that is not laid out. O(n depth).

    `sets`, where given, are those of the nodes of categories, whose thresholds are NaN.
    """
    cdef Py_ssize_t i, m = left.shape[0]
    cdef int32_t at
    cdef Value x
    cdef bint goes_left
    require(right.shape[0] == m and feature.shape[0] == m and threshold.shape[0] == m
            and missing_left.shape[0] == m and leaf.shape[0] == rows.shape[0] and m > 0)
    require(sets is None or (sets.shape[0] == m and sets.shape[1] == SET_BYTES))
    for i in range(m):
        require(left[i] < m and (left[i] < 0 or i < left[i] and i < right[i] < m
                                 and 0 <= feature[i] < rows.shape[1]))
    if sets is not None:
        with nogil:
            for i in range(rows.shape[0]):
                at = 0
                while left[at] >= 0:
                    x = rows[i, feature[at]]
                    if threshold[at] != threshold[at]:
                        goes_left = is_in_set(&sets[at, 0], category_of(<float>x))
                    else:
                        goes_left = missing_left[at] != 0 if x != x else x <= threshold[at]
                    at = left[at] if goes_left else right[at]
                leaf[i] = at
        return
    with nogil:
        for i in range(rows.shape[0]):
            at = 0
            while left[at] >= 0:
                x = rows[i, feature[at]]
                if missing_left[at] != 0 if x != x else x <= threshold[at]:
                    at = left[at]
                else:
                    at = right[at]
            leaf[i] = at


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


def add_deep_values(
    const float[:, ::1] rows,
    const uint32_t[:, ::1] nodes,
    const int64_t[::1] starts,
    int shift,
    const double[::1] values,
    double[:, ::1] out,
    const uint8_t[:, ::1] sets=None,
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
    """
    check_trees(nodes, starts, shift, sets)
    require(values.shape[0] == nodes.shape[0] and out.shape[0] == rows.shape[0]
            and out.shape[1] > 0 and rows.shape[1] > 0)
    if rows.shape[0] and starts.shape[0] > 1:
        with nogil:
            add_values_of_leaves(
                &rows[0, 0], rows.shape[0], rows.shape[1], <const PackedNode*>&nodes[0, 0],
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
):
    """The same, where a leaf adds row index[node] of a table of shape (r, width)."""
    check_trees(nodes, starts, shift, sets)
    require(index.shape[0] == nodes.shape[0] and out.shape[0] == rows.shape[0]
            and out.shape[1] == table.shape[1] and table.shape[0] > 0 and rows.shape[1] > 0)
    if rows.shape[0] and starts.shape[0] > 1 and out.shape[1]:
        with nogil:
            add_vectors_of_leaves(
                &rows[0, 0], rows.shape[0], rows.shape[1], <const PackedNode*>&nodes[0, 0],
                &starts[0], starts.shape[0] - 1, shift, first_set(sets), &index[0], &table[0, 0],
                &out[0, 0], out.shape[1])


def deep_leaves(
    const float[:, ::1] rows,
    const uint32_t[:, ::1] nodes,
    const int64_t[::1] starts,
    int shift,
    int64_t[:, ::1] out,
    const uint8_t[:, ::1] sets=None,
):
    """The leaf of each row in each tree, as its place among the nodes of all trees."""
    check_trees(nodes, starts, shift, sets)
    require(out.shape[0] == rows.shape[0] and out.shape[1] == starts.shape[0] - 1
            and rows.shape[1] > 0)
    if rows.shape[0] and starts.shape[0] > 1:
        with nogil:
            places_of_leaves(
                &rows[0, 0], rows.shape[0], rows.shape[1], <const PackedNode*>&nodes[0, 0],
                &starts[0], starts.shape[0] - 1, shift, first_set(sets), &out[0, 0])


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
    cdef uint32_t n_sets, number
    if sets is not None and sets.shape[0] > 0:
        require(sets.shape[1] == SET_BYTES and sets.shape[0] < (<Py_ssize_t>1 << SET_BITS))
        n_sets = <uint32_t>sets.shape[0]
        for t in range(nodes.shape[0]):
            number = nodes[t, 0]
            # A NaN: its exponent has all bits, the rest is not 0.
            if number & 0x7FFFFFFF > 0x7F800000:
                require(number & ((<uint32_t>1 << SET_BITS) - 1) < n_sets)
    require(starts.shape[0] > 0 and nodes.shape[1] == 2 and 0 < shift < 32)
    for t in range(starts.shape[0] - 1):
        require(0 <= starts[t] < starts[t + 1] <= nodes.shape[0])
    return 0
