"""Exact trees: scikit-learn's, bit for bit, grown on the ranks of the values of each column.

The ranks are made once for all trees of an ensemble. A tree depends on the values by their order
alone, but for its thresholds, and random cuts; see exact_trees.h.
"""

from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree
from libc.math cimport INFINITY, fabs, rint
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memset

from .arrays cimport require

import numpy as np

cdef extern from "exact_sparse.h" nogil:
    const int NUMBERS, COUNTS, CLASSES

    ctypedef struct RankedColumns:
        Py_ssize_t n, p
        bint is_wide
        const void* by_column
        const void* by_row
        const float* values
        const int64_t* first
        const uint64_t* near
        const int64_t* near_at

    ctypedef struct ExactRules:
        int kind, is_entropy, is_random, n_classes, max_features, max_depth, min_split, min_leaf, few_keys, natural
        float least_gap
        double min_weight, min_decrease, total_weight
        uint32_t state

    ctypedef struct ExactNodes:
        int32_t* left
        int32_t* right
        int32_t* feature
        double* threshold
        uint8_t* missing_left
        double* impurity
        int64_t* n_rows
        double* weight
        double* value
        int count, depth

    ctypedef struct NodeTask:
        pass

    ctypedef union Target:
        pass

    ctypedef struct WholeRow:
        double wy
        int32_t w, n_copies

    ctypedef struct Exact:
        RankedColumns columns
        ExactRules rules
        ExactNodes nodes
        int m
        int32_t* distinct
        int n_distinct
        WholeRow* whole_row
        double largest
        int32_t* sorted_by
        int32_t* sorted
        int32_t* n_tied
        Target* target
        double* wyy
        int32_t* rows
        int32_t* features
        int32_t* constants
        NodeTask* waiting
        int32_t* order
        int32_t* rank
        int32_t* of_rank
        int32_t* before
        uint64_t* marks
        uint64_t* marked
        uint64_t* keys
        int64_t* whole_counts
        int64_t* left_counts
        int64_t* cells
        int32_t* rows_of_cell
        double* whole
        double* left

    ctypedef struct StoredColumns:
        Py_ssize_t n_stored
        const int64_t* first
        const int32_t* row
        const int32_t* feature
        const float* value
        const int64_t* first_of_row
        const int32_t* of_row

    ctypedef struct ExactSparse:
        Exact exact
        StoredColumns stored
        int32_t* place
        uint64_t* marks
        uint64_t* marked
        int32_t* found
        int32_t* begin
        int32_t* end
        int32_t* node

    ctypedef struct KeyedRow:
        pass

    void set_number(Target*, double y, double w)
    void set_count(Target*, int64_t label, double w)
    void set_class(Target*, int64_t label, double w)
    bint has_few_ties(const RankedColumns*, int f)
    void grow_exact(Exact*)
    void grow_stored(ExactSparse*)
    void keys_of_floats(const float*, Py_ssize_t, int32_t*)
    Py_ssize_t rank_floats(
        const float*, Py_ssize_t, KeyedRow*, KeyedRow*, int32_t*, float*)

# Places of small nodes are the low bits of keys of 31 bits.
MOST_ROWS = 2**25 - 1
# Squares of sums of whole weights are exact.
cdef double MOST_COUNTS = 2.0**26


cdef class Columns:
    """The columns of X as trees share them.

    Attributes
    ----------
    by_column, by_row : arrays of shape (p, n) and (n, p)
    """

    cdef readonly object by_column, by_row
    cdef Py_ssize_t most_ranks
    cdef RankedColumns columns

    cdef void take(self, by_column):
        cdef const uint16_t[:, ::1] codes, rows
        cdef const uint32_t[:, ::1] wide_codes, wide_rows
        by_column.flags.writeable = False
        self.by_column, self.by_row = by_column, np.ascontiguousarray(by_column.T)
        self.by_row.flags.writeable = False
        self.columns.p, self.columns.n = by_column.shape
        self.columns.is_wide = by_column.dtype == np.uint32
        if self.columns.is_wide:
            wide_codes, wide_rows = by_column, self.by_row
            self.columns.by_column, self.columns.by_row = &wide_codes[0, 0], &wide_rows[0, 0]
        else:
            codes, rows = by_column, self.by_row
            self.columns.by_column, self.columns.by_row = &codes[0, 0], &rows[0, 0]

    @property
    def shape(self):
        """(n, p)."""
        return self.columns.n, self.columns.p


cdef class Keys(Columns):
    """The columns of X in single precision, as integers of the same order, for random cuts.

    Parameters
    ----------
    by_column : uint32 array of shape (p, n)
    """

    def __init__(self, const uint32_t[:, ::1] by_column):
        require(0 < by_column.shape[1] <= MOST_ROWS and 0 < by_column.shape[0] < 2**31)
        self.take(np.asarray(by_column))

    def __reduce__(self):
        return type(self), (self.by_column,)


cdef class Ranks(Columns):
    """The columns of X as ranks of their values, which trees share.

    Parameters
    ----------
    by_column : uint16 or uint32 array of shape (p, n)
    values : float32 array
        The distinct values of all columns, one after another, each in increasing order.
    first : int64 array of shape (p + 1,)
        Where those of each column begin, and the end.
    near, near_at : uint64 array, int64 array of shape (p,)
        A bit for each distinct value of a column, from the word `near_at`: whether the next one is
        so near that scikit-learn does not cut between them. -1 for a column without such values.
    """

    cdef const float[::1] values
    cdef const int64_t[::1] first, near_at
    cdef const uint64_t[::1] near

    def __init__(
        self, by_column, const float[::1] values, const int64_t[::1] first,
        const uint64_t[::1] near, const int64_t[::1] near_at,
    ):
        cdef Py_ssize_t p = by_column.shape[0], size, j
        require(0 < by_column.shape[1] <= MOST_ROWS and 0 < p < 2**31)
        require(first.shape[0] == p + 1 and near_at.shape[0] == p and first[0] == 0)
        require(first[p] == values.shape[0])
        largest = by_column.max(axis=1)
        for j in range(p):
            size = first[j + 1] - first[j]
            require(largest[j] < size <= MOST_ROWS)
            require(near_at[j] < 0 or near_at[j] + (size + 63) // 64 <= near.shape[0])
            self.most_ranks = max(self.most_ranks, size)
        self.take(by_column)
        self.values, self.first, self.near, self.near_at = values, first, near, near_at
        self.columns.values, self.columns.first = &values[0], &first[0]
        self.columns.near = &near[0] if near.shape[0] else NULL
        self.columns.near_at = &near_at[0]

    def __reduce__(self):
        return type(self), self.arrays

    @property
    def arrays(self):
        """What it is made of."""
        values, first = np.asarray(self.values), np.asarray(self.first)
        near, near_at = np.asarray(self.near), np.asarray(self.near_at)
        return self.by_column, values, first, near, near_at


cdef class Stored(Columns):
    """The stored values of a sparse X in single precision, for the best cuts and for random ones.

    Parameters
    ----------
    n : int
        Number of rows.
    first : int64 array of shape (p + 1,)
        Where the values of each column begin, and the end.
    row : int32 array of shape (nnz,)
        The row of each value: no row twice in a column.
    value : float32 array of shape (nnz,)
        Finite and not 0; increasing in each column.
    """

    cdef const int64_t[::1] first
    cdef const int32_t[::1] row
    cdef const float[::1] value
    cdef int32_t[::1] feature, of_row
    cdef int64_t[::1] first_of_row
    cdef StoredColumns stored

    def __init__(
        self, Py_ssize_t n, const int64_t[::1] first, const int32_t[::1] row,
        const float[::1] value,
    ):
        cdef Py_ssize_t p = first.shape[0] - 1, size = row.shape[0], j, e
        cdef int32_t[::1] last_column = np.full(max(n, 0), -1, dtype=np.int32)
        require(0 < n <= MOST_ROWS and 0 < p < 2**31 and size < 2**31 and value.shape[0] == size)
        require(first[0] == 0 and first[p] == size)
        for j in range(p):
            require(first[j] <= first[j + 1] <= size)
        self.columns.n, self.columns.p = n, p
        self.most_ranks = 1
        self.first, self.row, self.value = first, row, value
        self.feature, self.of_row = np.empty(size + 1, np.int32), np.empty(size + 1, np.int32)
        self.first_of_row = np.zeros(n + 1, dtype=np.int64)
        for j in range(p):
            for e in range(first[j], first[j + 1]):
                require(0 <= row[e] < n and last_column[row[e]] < j)
                require(value[e] != 0 and value[e] - value[e] == 0)
                require(e == first[j] or value[e - 1] <= value[e])
                last_column[row[e]] = <int32_t>j
                self.feature[e] = <int32_t>j
                self.first_of_row[row[e]] += 1
        # Counts become ends, and ends beginnings, as the places are written from the last one.
        for e in range(1, n + 1):
            self.first_of_row[e] += self.first_of_row[e - 1]
        for e in range(size - 1, -1, -1):
            self.first_of_row[row[e]] -= 1
            self.of_row[self.first_of_row[row[e]]] = <int32_t>e
        self.stored.n_stored, self.stored.first = size, &self.first[0]
        self.stored.feature, self.stored.of_row = &self.feature[0], &self.of_row[0]
        self.stored.first_of_row = &self.first_of_row[0]
        if size:
            self.stored.row, self.stored.value = &self.row[0], &self.value[0]

    @property
    def arrays(self):
        """What it is made of."""
        return self.columns.n, np.asarray(self.first), np.asarray(self.row), np.asarray(self.value)

    def __reduce__(self):
        return type(self), self.arrays


def rank_values(const float[::1] x, int32_t[::1] rank, float[::1] distinct, uint8_t[::1] room):
    """Write the rank of each of n values among the distinct ones, and these; their number. O(n).

    `room` has 32 bytes a value.
    """
    cdef Py_ssize_t n = x.shape[0], found
    require(0 < n <= MOST_ROWS and rank.shape[0] == n and distinct.shape[0] == n)
    require(room.shape[0] >= 2 * n * <Py_ssize_t>sizeof(KeyedRow))
    with nogil:
        found = rank_floats(
            &x[0], n, <KeyedRow*>&room[0], <KeyedRow*>&room[0] + n, &rank[0], &distinct[0])
    return found


def keys_of(const float[::1] x, uint32_t[::1] keys):
    """Write the integers of the same order; those of both zeros are the same."""
    require(keys.shape[0] == x.shape[0] > 0)
    keys_of_floats(&x[0], x.shape[0], <int32_t*>&keys[0])


cdef inline char* place(char** end, Py_ssize_t size) noexcept nogil:
    """Room for so many bytes behind `end`, which moves."""
    cdef char* start = end[0]
    end[0] += (size + 63) // 64 * 64
    return start


cdef Py_ssize_t lay_out(
    Exact* g, char* start, Py_ssize_t most_ranks, bint are_drawn, bint is_rough
) noexcept nogil:
    """Give the arrays of a growth their places from `start` on; the bytes that they take."""
    cdef char* end = start
    cdef Py_ssize_t n = g.columns.n, p = g.columns.p, m = g.m, K = g.rules.n_classes
    g.target = <Target*>place(&end, n * sizeof(Target))
    g.rows = <int32_t*>place(&end, 4 * (m + 1))
    g.features = <int32_t*>place(&end, 4 * p)
    g.constants = <int32_t*>place(&end, 4 * p)
    g.waiting = <NodeTask*>place(
        &end, (min(m, g.rules.max_depth) + 2) * <Py_ssize_t>sizeof(NodeTask))
    g.order = <int32_t*>place(&end, 4 * (m + 2))
    g.rank = <int32_t*>place(&end, 4 * m)
    g.of_rank = <int32_t*>place(&end, 4 * most_ranks)
    g.marks = <uint64_t*>place(&end, most_ranks // 8 + 8)
    g.marked = <uint64_t*>place(&end, most_ranks // 512 + 8)
    # A key before those of the rows and two behind are read.
    g.keys = <uint64_t*>place(&end, 8 * (m + 3)) + 1
    if g.rules.kind == COUNTS or is_rough:
        g.before = <int32_t*>place(&end, 4 * n)
    if are_drawn:
        g.distinct = <int32_t*>place(&end, 4 * (m + 1))
    if is_rough:
        g.whole_row = <WholeRow*>place(&end, n * sizeof(WholeRow))
        g.sorted_by = <int32_t*>place(&end, 4 * p)
        g.sorted = <int32_t*>place(&end, 4 * m)
        g.n_tied = <int32_t*>place(&end, 4 * (m + 1))
    if g.rules.kind == COUNTS:
        g.whole_counts = <int64_t*>place(&end, 8 * K)
        g.left_counts = <int64_t*>place(&end, 8 * K)
        g.cells = <int64_t*>place(&end, 16 * m)
        g.rows_of_cell = <int32_t*>place(&end, 8 * m)
    elif g.rules.kind == NUMBERS:
        g.wyy = <double*>place(&end, 8 * n)
    else:
        g.whole = <double*>place(&end, 8 * K)
        g.left = <double*>place(&end, 16 * K)
    return end - start


cdef Py_ssize_t lay_out_stored(ExactSparse* s, char* start) noexcept nogil:
    """The same for what the growth on stored values has in addition."""
    cdef char* end = start
    cdef Py_ssize_t n = s.exact.columns.n, p = s.exact.columns.p, size = s.stored.n_stored
    s.place = <int32_t*>place(&end, 4 * n)
    s.marks = <uint64_t*>place(&end, size // 8 + 8)
    s.marked = <uint64_t*>place(&end, size // 512 + 8)
    s.found = <int32_t*>place(&end, 4 * (size + 1))
    s.begin = <int32_t*>place(&end, 4 * p)
    s.end = <int32_t*>place(&end, 4 * p)
    s.node = <int32_t*>place(&end, 4 * p)
    return end - start


cdef int take_rows(
    Exact* g, const int32_t* rows, bint are_drawn, const double* y, const int64_t* codes,
    const double* weight,
) noexcept nogil:
    """The rows and their targets. -1 if arrays are not what they have to be."""
    cdef Py_ssize_t k, i, before = -1
    cdef double w
    for k in range(g.columns.p):
        g.features[k] = <int32_t>k
    for k in range(g.m):
        i = k if rows == NULL else rows[k]
        w = 1.0 if weight == NULL else weight[k]
        if not (before < i < g.columns.n) or not (0 < w < INFINITY):
            return -1
        g.rows[k] = <int32_t>i
        if not are_drawn:
            before = i
        if g.whole_row != NULL:
            if are_drawn and g.whole_row[i].n_copies == 0:
                g.distinct[g.n_distinct] = <int32_t>i
                g.n_distinct += 1
            g.whole_row[i].wy += w * y[k]
            g.whole_row[i].w += <int32_t>w
            g.whole_row[i].n_copies += 1
            g.largest = max(g.largest, fabs(y[k]))
        g.rules.total_weight += w
        if g.rules.kind == NUMBERS:
            set_number(&g.target[i], y[k], w)
            g.wyy[i] = w * y[k] * y[k]
        elif not (0 <= codes[k] < g.rules.n_classes):
            return -1
        elif g.rules.kind == COUNTS:
            set_count(&g.target[i], codes[k], w)
        else:
            set_class(&g.target[i], codes[k], w)
    return 0


cdef bint are_counts(const double[::1] weight):
    cdef double total = 0
    cdef Py_ssize_t k
    for k in range(weight.shape[0]):
        if weight[k] != rint(weight[k]):
            return False
        total += weight[k]
    return total < MOST_COUNTS


def grow(
    Columns columns, const int32_t[::1] rows or None, bint are_drawn, const double[::1] y or None,
    const int64_t[::1] codes or None, const double[::1] weight or None,
    options, int few_keys, bint natural, float least_gap,
):
    """Grow a tree, without the interpreter lock.

    O(m p depth), and O(m log m p depth) in columns where many rows share a value. It takes some 70
    bytes a row beside the result.

    Parameters
    ----------
    columns : Ranks, Keys or Stored
        For the best cuts, for random ones, or for both.
    rows : int32 array of shape (m,) or None
        Increasing; None for all rows.
    are_drawn : bool
        Whether rows are in the order in which they were drawn with replacement, as scikit-learn
        sees them; they have no weights.
    y : float64 array of shape (m,) or None
    codes : int64 array of shape (m,) or None
        The classes 0 ... K-1; one of `y` and `codes` is given.
    weight : float64 array of shape (m,) or None
        Positive; None where all weights are 1.
    options : GrowthOptions
        Of criterion "squared_error", "gini" or "log_loss".
    few_keys : int
        Up to how many keys scikit-learn's sort inserts, 1 to 15.
    natural : bool
        Whether its depth is limited by the natural logarithm, not the binary one.
    least_gap : float
        A feature whose values in a node are no further apart is constant there; of random cuts.

    Returns
    -------
    dict
        The fields of the nodes, under scikit-learn's names.
    values : array of shape (number of nodes, K), K at least 1
    depth : int

    Nodes are numbered from the left, parents before their children.
    """
    cdef ExactSparse s
    cdef Exact* g = &s.exact
    cdef bint is_stored = isinstance(columns, Stored)
    cdef Py_ssize_t n = columns.columns.n, p = columns.columns.p, size
    cdef Py_ssize_t m = n if rows is None else rows.shape[0], K = options.n_classes
    cdef char* memory
    cdef Py_ssize_t n_bytes
    cdef const int32_t* chosen = NULL
    cdef const double* targets = NULL
    cdef const int64_t* labels = NULL
    cdef const double* weights = NULL
    cdef int failed
    cdef bint is_rough, is_whole
    cdef Py_ssize_t f, n_few = 0
    memset(&s, 0, sizeof(s))
    require(0 < m <= (MOST_ROWS if are_drawn else n) and 1 <= few_keys <= 15 and (y is None) == (K > 0))
    require(not are_drawn or (rows is not None and weight is None and not is_stored))
    require((codes is None) == (K == 0) and (weight is None or weight.shape[0] == m))
    require((codes.shape[0] if y is None else y.shape[0]) == m)
    require(options.criterion in (("gini", "log_loss") if K else ("squared_error",)))
    g.columns, g.m = columns.columns, <int>m
    g.rules.is_random, g.rules.least_gap = bool(options.random_splits), least_gap
    require(is_stored or isinstance(columns, Keys) == g.rules.is_random)
    g.rules.is_entropy, g.rules.n_classes = options.criterion == "log_loss", <int>K
    g.rules.kind = NUMBERS if K == 0 else CLASSES
    is_whole = weight is None or are_counts(weight)
    if options.criterion == "gini" and is_whole and not are_drawn:
        g.rules.kind = COUNTS
    # Where most columns have many ties, most sorts are repeated, and a rough search beside them is
    # no use.
    is_rough = K == 0 and is_whole and not g.rules.is_random and not is_stored and m < MOST_COUNTS
    if is_rough:
        for f in range(p):
            n_few += has_few_ties(&g.columns, <int>f)
        is_rough = 4 * n_few >= p
    g.rules.max_features, g.rules.max_depth = options.max_features or p, options.max_depth
    # No node has more than m rows.
    g.rules.min_split = min(options.min_samples_split, m + 1)
    g.rules.min_leaf = min(options.min_samples_leaf, m + 1)
    g.rules.min_weight, g.rules.min_decrease = options.min_weight_leaf, options.min_impurity_decrease
    g.rules.state, g.rules.few_keys, g.rules.natural = options.seed, few_keys, natural
    if rows is not None:
        chosen = &rows[0]
    if y is not None:
        targets = &y[0]
    if codes is not None:
        labels = &codes[0]
    if weight is not None:
        weights = &weight[0]
    size = 2 * m - 1
    if g.rules.max_depth < 30:
        size = min(size, (<Py_ssize_t>2 << g.rules.max_depth) - 1)
    cdef int32_t[::1] left = np.empty(size, dtype=np.int32), right = np.empty(size, dtype=np.int32)
    cdef int32_t[::1] feature = np.empty(size, dtype=np.int32)
    cdef double[::1] threshold = np.empty(size), impurity = np.empty(size)
    cdef double[::1] node_weight = np.empty(size)
    cdef uint8_t[::1] missing_left = np.empty(size, dtype=np.uint8)
    cdef int64_t[::1] n_rows = np.empty(size, dtype=np.int64)
    cdef double[:, ::1] values = np.empty((size, max(K, 1)))
    g.nodes = ExactNodes(
        &left[0], &right[0], &feature[0], &threshold[0], &missing_left[0], &impurity[0], &n_rows[0],
        &node_weight[0], &values[0, 0], 0, 0)
    if is_stored:
        s.stored = (<Stored>columns).stored
    n_bytes = lay_out(g, NULL, columns.most_ranks, are_drawn, is_rough)
    memory = <char*>PyMem_RawCalloc(n_bytes + (lay_out_stored(&s, NULL) if is_stored else 0), 1)
    if memory == NULL:
        raise MemoryError()
    lay_out(g, memory, columns.most_ranks, are_drawn, is_rough)
    if is_stored:
        lay_out_stored(&s, memory + n_bytes)
    try:
        with nogil:
            failed = take_rows(g, chosen, are_drawn, targets, labels, weights)
            if failed:
                pass
            elif is_stored:
                grow_stored(&s)
            else:
                grow_exact(g)
    finally:
        PyMem_RawFree(memory)
    require(not failed)
    fields = {
        "left_child": left, "right_child": right, "feature": feature, "threshold": threshold,
        "impurity": impurity, "n_node_samples": n_rows, "weighted_n_node_samples": node_weight,
        "missing_go_to_left": missing_left}
    size = g.nodes.count
    fields = {name: np.asarray(array)[:size] for name, array in fields.items()}
    return fields, np.asarray(values)[:size], g.nodes.depth
