"""The growth of boosted trees: regression trees by least squares, again and again on one X.

A leaf that may be cut holds the histogram of its rows: for each feature and bin the sums of their
integers (see growth.pxd). When it is cut, only its smaller child is counted; the histogram of the
other child is what remains, in the same place. Sums of integers are exact, so that these
differences are, and so that features and rows can be shared out among threads without a change of
a bit. A leaf of few rows has no histogram: its rows are counted again for each feature, and only
the bins that hold rows are visited.

One driver decides which leaf is cut next and when the tree ends; what it wants done with rows is a
list of tasks, which are shared out among threads where there is enough work.
"""

from cpython.exc cimport PyErr_CheckSignals
from cpython.mem cimport PyMem_RawFree, PyMem_RawMalloc
from libc.math cimport INFINITY, fabs, llrint, nextafter
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memset

from .arrays cimport require
from .growth cimport (
    PACKED, SET_BYTES, SET_CODE, SQUARED_ERROR, UNKNOWN, WIDE, Category, CategoryCut, Constraint,
    OneCut, Packing, PathRules, Rules, Sets, Sums, comparable, cut_categories, cut_score,
    divide_categories, follow, integer_scale, lowest_bit, may_follow, nearly, node_score,
    set_sends_left, unpack, write_set)
from .histograms cimport CELLS, Cell, Pair, add, count_range
from .losses cimport (
    Loss, LossRows, leaf_steps, sum_losses)
from .threads cimport CHUNK_ROWS, do_in_threads, n_row_chunks, start_of_part

import numpy as np

cdef enum:
    MISSING = 255
    # Nodes of at most so many rows, and of at most a quarter of the bins, have no histogram.
    FEW_ROWS = 64
    # Sums of integers stay below 2^62.
    SUM_BITS = 62
    # With more rows than so many for each bin, bins without rows are not left out.
    MANY_ROWS = 1
    # A stored value is looked up where there are more than so many for each row.
    SEARCHED = 8
    NO_NODE = -1

# Where the rows of a node are: in one of two arrays; all rows, in their order; or among those of
# its parent, which are not parted where neither child will be cut.
cdef enum:
    FIRST, SECOND, ALL, UNPARTED

# Only a gain below this share of the score can be one between equal targets.
cdef double SUSPICIOUS = 1e-11

cdef uint8_t EVERY_BIN[CELLS]
for _c in range(CELLS):
    EVERY_BIN[_c] = _c


# The leaf of each row: the smaller type that holds the number of nodes.
ctypedef fused Leaf:
    uint8_t
    uint16_t


# The best cut of a leaf over some features, none where `feature` is negative.
cdef struct Found:
    double score
    Pair left  # the sums on the left
    int feature
    int code
    int missing_left
    bint is_set
    double share  # of the gain that counts
    Sets sets


cdef struct Node:
    Pair sums
    Pair left_sums  # of the best cut
    double low, high  # bounds of the mean, in units of the integers
    double decrease  # by how much the best cut increases the score
    double weight, moment, square  # sums over its rows: weights, times gradients, times squares
    Py_ssize_t start, stop, n_rows
    int rows_in
    int table  # of its histogram, NO_NODE where it has none
    Py_ssize_t values  # where the integers of its rows are, while it is counted
    int n_parts, more_tables  # of its rows, where they are counted apart; of all but the first
    int left, right, smaller, depth
    int feature, code, missing_left
    bint may_be_cut, is_set
    Sets sets  # of categories, whose code is 0


# Sums over rows of a leaf, of the numbers themselves, and how many they are.
cdef struct LeafTotals:
    double weight, moment, square
    Py_ssize_t n_rows


# What is done with some rows, or for some features.
cdef enum Step:
    ADD_SIZES, ROUND, COUNT, MERGE, FIND_ROOT, COUNT_LEFT, PART, GATHER, SEARCH, FILL, SEND_DOWN

cdef struct Task:
    Step step
    int node
    Py_ssize_t start, stop  # places of rows, or features
    Py_ssize_t to, downwards_to  # where rows are written
    Py_ssize_t n_left
    int part  # of the rows of the node
    double size
    Found found[2]  # by the smaller child, by the larger one
    LeafTotals totals[2]  # of the left child, or of the leaf itself; of the right child


# Columns of which most values are 0: the codes of the others, by column and by row.
cdef struct Stored:
    # By column: the rows, increasing, and their codes.
    const int64_t* starts
    const int32_t* rows
    const uint8_t* codes
    const uint8_t* zero  # the code of 0, which is none of the stored ones
    const uint8_t* has_missing
    # The cells of a histogram: for each column those of its bins and one for missing values where
    # it has any; a block of columns begins with a multiple of 64.
    Py_ssize_t* first_cell
    uint32_t* column_of  # each cell
    Py_ssize_t n_cells, most_cells  # in all, and in a block
    # By row, for block after block of columns: the cells of the stored codes.
    int n_blocks
    Py_ssize_t* first_column
    int64_t* row_starts
    uint32_t* cells
    # For each thread cells of a block, which are 0, a bit for each, and codes of a column.
    void* few
    uint64_t* full
    uint8_t* unpacked


cdef struct Growth:
    # The columns.
    Py_ssize_t n, p
    const uint8_t* codes  # column after column; NULL where they are stored
    Stored stored
    Py_ssize_t table_size  # cells of a histogram
    const Py_ssize_t* n_bins
    const int8_t* constraints
    bint bounded
    PathRules path_rules
    uint64_t* paths  # the state of the path to each node; NULL where all features may follow
    const uint8_t* categorical  # whether a feature is; NULL where none is
    double cat_smooth
    uint8_t* sides  # of rows at a cut of categories
    const Py_ssize_t* rank  # of equally good features; NULL for their order
    Py_ssize_t n_drawn  # a tree is cut by the features of so many lowest ranks
    # The rows.
    const double* gradient
    const double* weight  # NULL where all are 1
    const Py_ssize_t* drawn  # NULL for all rows
    Py_ssize_t n_rows  # that the tree is grown on
    Packing packing
    double scale, weight_scale
    void* integers
    void* values  # integers in the order of the rows of nodes that are counted
    int32_t* rows[2]
    void* leaf  # output: the leaf of each row
    int leaf_size
    # The tree.
    Rules rules
    Py_ssize_t min_samples_split, max_depth, max_leaf_nodes
    double least_gain
    int few_rows
    Node* nodes
    int n_nodes, n_leaves, n_tables
    int* number  # the number of each node in the result
    void* tables  # histograms: for each feature CELLS cells
    Task* tasks  # that are being done


# --- integers of rows ----------------------------------------------------------------------------


cdef inline double weight_of(const Growth* g, Py_ssize_t i) noexcept nogil:
    return g.weight[i] if g.weight != NULL else 1.0


cdef double sum_of_sizes(const Growth* g, const Task* task) noexcept nogil:
    """The sum of weight times size of some gradients, in their order."""
    cdef double size = 0.0
    cdef Py_ssize_t i, k
    for k in range(task.start, task.stop):
        i = g.drawn[k] if g.drawn != NULL else k
        size += weight_of(g, i) * fabs(g.gradient[i])
    return size


cdef inline int64_t packed(const Growth* g, Py_ssize_t i) noexcept nogil:
    """The gradient is rounded before it is weighted: weight 2 is the same as two rows."""
    cdef int64_t one = llrint(g.gradient[i] * g.scale), count, unit = <int64_t>1 << g.packing.bits
    if g.weight == NULL:
        return one * unit + 1
    count = <int64_t>g.weight[i]
    return one * count * unit + count


cdef inline Pair wide(const Growth* g, Py_ssize_t i) noexcept nogil:
    cdef double w = g.weight[i]
    cdef int64_t mass = max(llrint(w * g.weight_scale), 1)
    return Pair(llrint(w * g.gradient[i] * g.scale), (mass << g.packing.bits) + 1)


cdef void round_rows(Growth* g, Task* task, Cell* integers, Cell* values) noexcept nogil:
    """Make the integers of the rows; where rows are drawn, also in the order of the root's rows."""
    cdef Py_ssize_t i, k
    for k in range(task.start, task.stop):
        i = g.drawn[k] if g.drawn != NULL else k
        if Cell is int64_t:
            integers[i] = packed(g, i)
        else:
            integers[i] = wide(g, i)
        if g.drawn != NULL:
            values[k] = integers[i]
            g.rows[FIRST][k] = <int32_t>i


# --- histograms ----------------------------------------------------------------------------------


cdef inline void subtract(Cell* cell, Cell value) noexcept nogil:
    if Cell is int64_t:
        cell[0] -= value
    else:
        cell.q -= value.q
        cell.r -= value.r


cdef inline bint is_full(const Cell* cell) noexcept nogil:
    """Whether a bin holds rows: each adds at least 1 to the lower bits."""
    if Cell is int64_t:
        return cell[0] != 0
    else:
        return cell.r != 0


cdef inline const Cell* cell_if_full(const Cell* cell) noexcept nogil:
    return cell if is_full(cell) else NULL


cdef inline void clear(Cell* h, Py_ssize_t n_bins) noexcept nogil:
    memset(h, 0, n_bins * sizeof(Cell))
    memset(h + MISSING, 0, sizeof(Cell))


cdef void count(
    const uint8_t* codes, Py_ssize_t n, const Py_ssize_t* n_bins, const int32_t* rows,
    const Cell* values, Py_ssize_t m, Cell* table, Py_ssize_t first, Py_ssize_t last
) noexcept nogil:
    """Histograms of m rows, of the first ones where `rows` is NULL. O(m) for each feature."""
    cdef Py_ssize_t j
    for j in range(first, last):
        clear(table + j * CELLS, n_bins[j])
    count_range(codes, n, rows, values, m, table, first, last)


cdef void take_rows_off(
    const Growth* g, const int32_t* rows, const Cell* values, Py_ssize_t m, Cell* table,
    Py_ssize_t first, Py_ssize_t last
) noexcept nogil:
    """Subtract m rows from the histograms of some features."""
    cdef Py_ssize_t j, k
    cdef const uint8_t* column
    cdef Cell* h
    for j in range(first, last):
        column, h = g.codes + j * g.n, table + j * CELLS
        for k in range(m):
            subtract(h + column[rows[k]], values[k])


cdef void take_cells_off(
    const Growth* g, Cell* table, const Cell* part, Py_ssize_t first, Py_ssize_t last
) noexcept nogil:
    """Subtract the histograms of some features."""
    cdef Py_ssize_t j, c
    cdef Cell* h
    cdef const Cell* other
    for j in range(first, last):
        h, other = table + j * CELLS, part + j * CELLS
        for c in range(g.n_bins[j]):
            subtract(h + c, other[c])
        subtract(h + MISSING, other[MISSING])


cdef void add_cells(
    const Growth* g, Cell* table, const Cell* part, Py_ssize_t first, Py_ssize_t last
) noexcept nogil:
    """Add the histograms of some features."""
    cdef Py_ssize_t j, c
    cdef Cell* h
    cdef const Cell* other
    for j in range(first, last):
        h, other = table + j * CELLS, part + j * CELLS
        for c in range(g.n_bins[j]):
            add(h + c, other[c])
        add(h + MISSING, other[MISSING])


cdef inline int full_bins(const Cell* h, Py_ssize_t n_bins, uint8_t* full) noexcept nogil:
    """List the bins of values that hold rows, without a branch; their number."""
    cdef int n_full = 0
    cdef Py_ssize_t c
    for c in range(n_bins):
        full[n_full] = <uint8_t>c
        n_full += is_full(h + c)
    return n_full


cdef inline int count_few(
    const uint8_t* column, const int32_t* rows, const Cell* values, Py_ssize_t m, Cell* h,
    uint8_t* full
) noexcept nogil:
    """Add few rows to a histogram that is 0; list the bins that hold them, by a bit for each."""
    cdef uint64_t words[4]
    cdef uint64_t word
    cdef Py_ssize_t k
    cdef uint8_t c
    cdef int b, n_full = 0
    memset(words, 0, sizeof(words))
    for k in range(m):
        c = column[rows[k]]
        words[c >> 6] |= <uint64_t>1 << (c & 63)
        add(h + c, values[k])
    for b in range(4):
        word = words[b]
        while word != 0:
            c = <uint8_t>(64 * b + lowest_bit(word))
            full[n_full] = c
            n_full += is_full(h + c)  # unless all its rows have weight 0
            word &= word - 1
    return n_full


# --- cuts ----------------------------------------------------------------------------------------


cdef inline void cut_of_bins(
    const Cell* h, const uint8_t* bins, int n_bins, const Cell* missing, bint ruled, int feature,
    const Growth* g, const Sums* total, const Constraint* constraint, double best, Found* found
) noexcept nogil:
    """Store the best cut of a histogram, if its score is above `best`. O(bins).

    Missing values are first on the right, where a cut may lie between all values and them; then
    they are on the left. The score, which takes two divisions, is only computed where it comes near
    to the best. What is left out there is below it by more than all errors of rounding.

    Parameters
    ----------
    bins : list of bins of values, increasing; all that hold rows
        The first and the last one hold rows. A cut after a bin that holds none is that before it,
        which is no better.
    missing : pointer
        The cell of missing values; NULL where the node has none.
    ruled : bool
        Whether a rule or a constraint forbids cuts.
    """
    cdef Pair sums
    cdef Sums left
    cdef double s1, w1, s2, w2, score, l2 = g.rules.l2
    # With m = S / W: S1² / W1 + S2² / W2 = S² / W + (S1 - m W1)² W / (W1 W2). Weights of packed
    # integers are small enough that the difference in brackets loses no more than 14 bits.
    cdef double whole = total.weight + 2 * l2, mean = total.target / whole, d
    cdef double least = least_square(best, total.target * mean, whole)
    cdef int search, k, after
    for search in range(1 + (missing != NULL)):
        sums = Pair(0, 0)
        if search == 1:
            add_cell(&sums, missing)
        for k in range(n_bins if missing != NULL and search == 0 else n_bins - 1):
            add_cell(&sums, h + bins[k])
            if Cell is int64_t:
                left = unpack(Packing(PACKED, g.packing.bits), sums.q, 0)
                s1, w1 = left.target, left.weight + l2
                d = s1 - mean * w1
                if d * d < least * (w1 * (whole - w1)):
                    continue
                s2, w2 = total.target - s1, total.weight - left.weight + l2
            else:
                left = unpack(Packing(WIDE, g.packing.bits), sums.q, sums.r)
                s1, w1 = left.target, left.weight + l2
                s2, w2 = total.target - s1, total.weight - left.weight + l2
                if s1 * s1 * w2 + s2 * s2 * w1 < nearly(best) * (w1 * w2):
                    continue
            if ruled:
                score = comparable(cut_score(left, total, &g.rules, constraint))
            else:
                score = comparable(s1 * s1 / w1 + s2 * s2 / w2)
            if score > best:
                best = score
                least = least_square(best, total.target * mean, whole)
                after = k + 1
                while after < n_bins and not is_full(h + bins[after]):
                    after += 1
                found.score, found.left, found.feature = score, sums, feature
                found.code = MISSING - 1 if after == n_bins else (bins[k] + bins[after]) // 2
                found.missing_left = search if missing != NULL else UNKNOWN
                found.is_set, found.share = False, 1.0


cdef inline double least_square(double best, double uncut, double weight) noexcept nogil:
    """The least square of S1 - m W1 of a cut that may be better, for W1 W2 = 1."""
    return (nearly(best) - uncut) / weight


cdef inline void add_cell(Pair* sums, const Cell* cell) noexcept nogil:
    if Cell is int64_t:
        sums.q += cell[0]
    else:
        sums.q += cell.q
        sums.r += cell.r


cdef struct Search:
    # What the cuts of a node share.
    Sums total
    Constraint bounds
    bint ruled


cdef inline Search search_of(const Growth* g, const Node* node) noexcept nogil:
    cdef const Rules* rules = &g.rules
    return Search(
        unpack(g.packing, node.sums.q, node.sums.r),
        Constraint(0, node.low, node.high),
        rules.min_samples_leaf > 1 or rules.min_weight_leaf > 0)


cdef void cut_of_categories(
    const Growth* g, const Search* search, const Cell* h, const uint8_t* bins, int n_bins,
    const Cell* missing_cell, int j, double best, Found* found
) noexcept nogil:
    """Store the best cut of the categories, if its score is above `best`."""
    cdef Category some[CELLS]
    cdef CategoryCut cut
    cdef Pair sums
    cdef Sums missing = Sums(0.0, 0.0, 0)
    cdef int k, n = 0
    if missing_cell != NULL:
        sums = Pair(0, 0)
        add_cell(&sums, missing_cell)
        missing = unpack(g.packing, sums.q, sums.r)
    for k in range(n_bins):
        if is_full(h + bins[k]):
            sums = Pair(0, 0)
            add_cell(&sums, h + bins[k])
            some[n].sums, some[n].code = unpack(g.packing, sums.q, sums.r), bins[k]
            n += 1
    if not cut_categories(
            some, n, missing, &search.total, &g.rules, g.cat_smooth, True, OneCut(-1, False), best,
            &cut):
        return
    found.score, found.feature, found.share, found.is_set = cut.score, j, cut.share, True
    found.code, found.missing_left = 0, cut.missing_left
    divide_categories(some, n, cut.n_left, &found.sets)
    found.left = Pair(0, 0)
    if cut.missing_left == 1:
        add_cell(&found.left, missing_cell)
    for k in range(cut.n_left):
        add_cell(&found.left, h + some[k].code)


cdef inline void find_cut(
    const Growth* g, Search* search, const Cell* h, const uint8_t* bins, int n_bins,
    const Cell* missing, int j, Found* found
) noexcept nogil:
    """Store the best cut of feature j, if it is better than the best of the features before it.

    Of equally good ones, that of the lowest rank is better.
    """
    cdef double best = found.score
    if n_bins + (missing != NULL) < 2:
        return
    if found.feature >= 0 and g.rank != NULL and g.rank[j] < g.rank[found.feature]:
        best = nextafter(best, -INFINITY)
    if g.categorical != NULL and g.categorical[j]:
        cut_of_categories(g, search, h, bins, n_bins, missing, j, best, found)
        return
    search.bounds.sign = g.constraints[j]
    # Two copies, the first without rules; only with packed integers and no missing value.
    if Cell is int64_t:
        if not (search.ruled or missing != NULL or search.bounds.sign != 0):
            cut_of_bins(h, bins, n_bins, <const Cell*>NULL, False, j, g, &search.total,
                        &search.bounds, best, found)
            return
    cut_of_bins(h, bins, n_bins, missing, search.ruled or search.bounds.sign != 0, j, g,
                &search.total, &search.bounds, best, found)


cdef void find_in_table(
    const Growth* g, const Node* node, const Cell* table, Py_ssize_t first, Py_ssize_t last,
    Found* found
) noexcept nogil:
    """The best cut of a node over some features, from its histograms."""
    cdef Search search = search_of(g, node)
    cdef uint8_t full[CELLS]
    cdef const uint8_t* bins
    cdef Py_ssize_t j, a, z
    cdef int n_bins
    cdef const Cell* h
    for j in range(first, last):
        h = table + j * CELLS
        if node.stop - node.start > MANY_ROWS * g.n_bins[j]:
            # Few bins hold no row: to visit them takes less time than to list the others.
            a, z = 0, g.n_bins[j]
            while a < z and not is_full(h + a):
                a += 1
            while a < z and not is_full(h + z - 1):
                z -= 1
            bins, n_bins = &EVERY_BIN[a], <int>(z - a)
        else:
            bins, n_bins = full, full_bins(h, g.n_bins[j], full)
        find_cut(g, &search, h, bins, n_bins, cell_if_full(h + MISSING), <int>j, found)


cdef void find_in_rows(
    const Growth* g, const Node* node, const Cell* integers, Py_ssize_t first, Py_ssize_t last,
    Found* found
) noexcept nogil:
    """The same from few rows. O(rows) for each feature."""
    cdef Search search = search_of(g, node)
    cdef uint8_t full[CELLS]
    cdef Cell h[CELLS]
    cdef Cell values[FEW_ROWS]
    cdef Py_ssize_t j, m = node.stop - node.start
    cdef const int32_t* rows = g.rows[node.rows_in] + node.start
    cdef int k, n_full
    cdef bint has_missing
    gather(rows, m, integers, values)
    memset(h, 0, sizeof(h))
    for j in range(first, last):
        n_full = count_few(g.codes + j * g.n, rows, values, m, h, full)
        has_missing = n_full > 0 and full[n_full - 1] == MISSING
        find_cut(g, &search, h, full, n_full - has_missing, cell_if_full(h + MISSING), <int>j,
                 found)
        for k in range(n_full):
            memset(h + full[k], 0, sizeof(Cell))


cdef inline void gather(
    const int32_t* rows, Py_ssize_t m, const Cell* integers, Cell* values
) noexcept nogil:
    cdef Py_ssize_t k
    for k in range(m):
        values[k] = integers[rows[k]]


cdef inline uint64_t* state_of(const Growth* g, int node) noexcept nogil:
    """The state of the path to a node."""
    return g.paths + node * 2 * g.path_rules.n_words if g.paths != NULL else NULL


cdef inline bint is_open(const Growth* g, const uint64_t* state, Py_ssize_t j) noexcept nogil:
    """Whether a feature was drawn for the tree, and may follow on a path."""
    return (g.n_drawn == g.p or g.rank[j] < g.n_drawn) and may_follow(state, j)


cdef inline Py_ssize_t open_range(
    const Growth* g, const uint64_t* state, Py_ssize_t* first, Py_ssize_t stop
) noexcept nogil:
    """The end of the next range of open features, and its start instead of `first`."""
    while first[0] < stop and not is_open(g, state, first[0]):
        first[0] += 1
    cdef Py_ssize_t last = first[0]
    while last < stop and is_open(g, state, last):
        last += 1
    return last


cdef void search_children(
    const Growth* g, Task* task, const Cell* integers, const Cell* values, Cell* tables
) noexcept nogil:
    """The best cuts of two siblings over those of some features that are open on their path.

    The histograms of others are not counted: no node below will look at them.
    """
    cdef const uint64_t* state = state_of(g, g.nodes[task.node].left)
    cdef Py_ssize_t first = task.start, last = open_range(g, state, &first, task.stop)
    while first < last:
        search_some(g, task, integers, values, tables, first, last)
        first = last
        last = open_range(g, state, &first, task.stop)


cdef void search_some(
    const Growth* g, Task* task, const Cell* integers, const Cell* values, Cell* tables,
    Py_ssize_t first, Py_ssize_t last
) noexcept nogil:
    """The best cuts of two siblings over some features, the smaller of which comes first.

    Where the larger one has a histogram, it is its parent's, from which the smaller one is taken.
    """
    cdef const Node* node = g.nodes + task.node
    cdef const Node* small = g.nodes + node.smaller
    cdef const Node* large = g.nodes + (node.left + node.right - node.smaller)
    cdef const int32_t* rows = g.rows[small.rows_in] + small.start
    cdef Py_ssize_t m = small.stop - small.start
    cdef Cell* part = NULL
    cdef Cell* whole
    cdef Cell few[FEW_ROWS]
    values += small.values
    if small.table != NO_NODE:
        part = tables + small.table * g.table_size
        if small.n_parts == 1:
            count(g.codes, g.n, g.n_bins, rows, values, m, part, first, last)
        find_in_table(g, small, part, first, last, &task.found[0])
    elif small.may_be_cut:
        find_in_rows(g, small, integers, first, last, &task.found[0])
    if large.table != NO_NODE:
        whole = tables + large.table * g.table_size
        if part != NULL:
            take_cells_off(g, whole, part, first, last)
        else:
            if m <= g.few_rows:
                gather(rows, m, integers, few)
                values = few
            take_rows_off(g, rows, values, m, whole, first, last)
        find_in_table(g, large, whole, first, last, &task.found[1])
    elif large.may_be_cut:
        find_in_rows(g, large, integers, first, last, &task.found[1])


# --- stored columns ------------------------------------------------------------------------------

# Rows add to the cells of their stored codes. What is left of the sums of a node is the cell of 0.


cdef inline int block_of(const Growth* g, Py_ssize_t first) noexcept nogil:
    """The block of columns that begins with this one."""
    cdef int b = 0
    while g.stored.first_column[b] < first:
        b += 1
    return b


cdef void add_stored(
    const Growth* g, int block, const int32_t* rows, Py_ssize_t m, const Cell* integers, int sign,
    Cell* table
) noexcept nogil:
    """Add m rows, the first ones where `rows` is NULL, to the histograms of a block, or take off.

    O(stored values).
    """
    cdef const int64_t* starts = g.stored.row_starts + block * (g.n + 1)
    cdef const uint32_t* cells = g.stored.cells
    cdef Py_ssize_t k, i, e
    cdef Cell value
    for k in range(m):
        i = rows[k] if rows != NULL else k
        value = integers[i]
        if sign > 0:
            for e in range(starts[i], starts[i + 1]):
                add(table + cells[e], value)
        else:
            for e in range(starts[i], starts[i + 1]):
                subtract(table + cells[e], value)


cdef inline void cells_of_block(
    const Growth* g, int block, Py_ssize_t* start, Py_ssize_t* stop
) noexcept nogil:
    start[0] = g.stored.first_cell[g.stored.first_column[block]]
    stop[0] = g.stored.first_cell[g.stored.first_column[block + 1]]


cdef inline void find_in_column(
    const Growth* g, Search* search, const Pair* total, Cell* h, uint8_t* full, int n_full,
    Py_ssize_t j, Found* found
) noexcept nogil:
    """The best cut of column j; `full` are the bins of stored values that hold rows, increasing."""
    cdef int zero = g.stored.zero[j], k
    cdef const Cell* missing = NULL
    cdef Pair sums = Pair(0, 0)
    if g.stored.has_missing[j]:
        missing = cell_if_full(h + g.n_bins[j])
        if missing != NULL:
            add_cell(&sums, missing)
    for k in range(n_full):
        add_cell(&sums, h + full[k])
    if Cell is int64_t:
        h[zero] = total.q - sums.q
    else:
        h[zero] = Pair(total.q - sums.q, total.r - sums.r)
    if is_full(h + zero):
        k = n_full
        while k > 0 and full[k - 1] > zero:
            full[k] = full[k - 1]
            k -= 1
        full[k] = <uint8_t>zero
        n_full += 1
    find_cut(g, search, h, full, n_full, missing, <int>j, found)


cdef void find_in_stored(
    const Growth* g, const Node* node, const uint64_t* state, Cell* table, Py_ssize_t first,
    Py_ssize_t last, Found* found
) noexcept nogil:
    """The best cut of a node over some columns, from its histograms."""
    cdef Search search = search_of(g, node)
    cdef uint8_t full[CELLS]
    cdef Py_ssize_t j
    cdef Cell* h
    for j in range(first, last):
        if is_open(g, state, j):
            h = table + g.stored.first_cell[j]
            memset(h + g.stored.zero[j], 0, sizeof(Cell))
            find_in_column(
                g, &search, &node.sums, h, full, full_bins(h, g.n_bins[j], full), j, found)


cdef void find_in_few_stored(
    const Growth* g, const Node* node, const uint64_t* state, const Cell* integers, int block,
    int thread, Found* found
) noexcept nogil:
    """The same from rows that are few; the bins that hold any are listed by a bit for each."""
    cdef const Stored* stored = &g.stored
    cdef Search search = search_of(g, node)
    cdef const int64_t* starts = stored.row_starts + block * (g.n + 1)
    cdef const int32_t* rows = g.rows[node.rows_in]
    cdef uint64_t* bits = stored.full + thread * (stored.most_cells // 64)
    cdef uint8_t full[CELLS]
    cdef uint64_t word
    cdef Py_ssize_t start, stop, i, k, e, w, c, j = -1, end = 0  # cells from the first on
    cdef int n_full = 0
    cdef Cell* few = <Cell*>stored.few + thread * stored.most_cells
    cdef Cell* h = NULL
    cdef Cell value
    cells_of_block(g, block, &start, &stop)
    for k in range(node.start, node.stop):
        i = rows[k]
        value = integers[i]
        for e in range(starts[i], starts[i + 1]):
            c = stored.cells[e] - start
            add(few + c, value)
            bits[c >> 6] |= <uint64_t>1 << (c & 63)
    for w in range((stop - start) // 64):
        word, bits[w] = bits[w], 0
        while word != 0:
            c = 64 * w + lowest_bit(word)
            word &= word - 1
            if c >= end:
                if j >= 0 and is_open(g, state, j):
                    find_in_column(g, &search, &node.sums, h, full, n_full, j, found)
                clear_column(g, j, h)
                j = stored.column_of[start + c]
                h, end = few + stored.first_cell[j] - start, stored.first_cell[j + 1] - start
                n_full = 0
            full[n_full] = <uint8_t>(few + c - h)
            n_full += full[n_full] < g.n_bins[j] and is_full(few + c)
    if j >= 0 and is_open(g, state, j):
        find_in_column(g, &search, &node.sums, h, full, n_full, j, found)
    clear_column(g, j, h)


cdef inline void clear_column(const Growth* g, Py_ssize_t j, Cell* h) noexcept nogil:
    if j >= 0:
        memset(h, 0, (g.n_bins[j] + g.stored.has_missing[j]) * sizeof(Cell))


cdef void search_stored(
    const Growth* g, const Task* task, const Cell* integers, Cell* tables, int thread, Found* found
) noexcept nogil:
    """The best cuts of two siblings over a block, as `search_some` finds them."""
    cdef const Node* node = g.nodes + task.node
    cdef const Node* small = g.nodes + node.smaller
    cdef const Node* large = g.nodes + (node.left + node.right - node.smaller)
    cdef const uint64_t* state = state_of(g, node.left)
    cdef const int32_t* rows = g.rows[small.rows_in] + small.start
    cdef Py_ssize_t m = small.stop - small.start, start, stop, c
    cdef int block = block_of(g, task.start)
    cdef Cell* part = NULL
    cdef Cell* whole
    cells_of_block(g, block, &start, &stop)
    if small.table != NO_NODE:
        part = tables + small.table * g.table_size
        memset(part + start, 0, (stop - start) * sizeof(Cell))
        add_stored(g, block, rows, m, integers, 1, part)
    if large.table != NO_NODE:
        whole = tables + large.table * g.table_size
        if part != NULL:
            for c in range(start, stop):
                subtract(whole + c, part[c])
        else:
            add_stored(g, block, rows, m, integers, -1, whole)
        find_in_stored(g, large, state, whole, task.start, task.stop, &found[1])
    elif large.may_be_cut:
        find_in_few_stored(g, large, state, integers, block, thread, &found[1])
    if part != NULL:
        find_in_stored(g, small, state, part, task.start, task.stop, &found[0])
    elif small.may_be_cut:
        find_in_few_stored(g, small, state, integers, block, thread, &found[0])


cdef Py_ssize_t first_from(
    const int32_t* rows, Py_ssize_t a, Py_ssize_t z, Py_ssize_t least
) noexcept nogil:
    """The first place from a on, before z, of a row that is at least this; z where there is none."""
    cdef Py_ssize_t middle
    while a < z:
        middle = (a + z) // 2
        if rows[middle] < least:
            a = middle + 1
        else:
            z = middle
    return a


cdef const uint8_t* unpacked(
    const Growth* g, Py_ssize_t j, const int32_t* rows, Py_ssize_t start, Py_ssize_t stop,
    int thread
) noexcept nogil:
    """The codes of column j at some rows, which are in the order of their indices or its reverse.

    O(rows + stored values), or O(rows log(stored values)) where that is less.
    """
    cdef uint8_t* to = g.stored.unpacked + thread * g.n
    cdef const int32_t* own = g.stored.rows
    cdef Py_ssize_t a = g.stored.starts[j], z = g.stored.starts[j + 1], k, e, low, high
    if start >= stop:
        return to
    low = rows[start] if rows != NULL else start
    high = rows[stop - 1] if rows != NULL else stop - 1
    a = first_from(own, a, z, min(low, high))
    z = first_from(own, a, z, max(low, high) + 1)
    for k in range(start, stop):
        to[rows[k] if rows != NULL else k] = g.stored.zero[j]
    if z - a <= SEARCHED * (stop - start):
        for e in range(a, z):
            to[own[e]] = g.stored.codes[e]
        return to
    for k in range(start, stop):
        low = rows[k] if rows != NULL else k
        e = first_from(own, a, z, low)
        if e < z and own[e] == low:
            to[low] = g.stored.codes[e]
    return to


# --- rows of nodes -------------------------------------------------------------------------------


cdef inline Py_ssize_t goes_left(uint8_t code, int cut, Py_ssize_t missing_left) noexcept nogil:
    return missing_left if code == MISSING else code <= cut


cdef inline const uint8_t* column_of(
    const Growth* g, const Node* node, const int32_t* rows, Py_ssize_t start, Py_ssize_t stop,
    int thread
) noexcept nogil:
    """The codes that a cut compares; for a set 0 for the rows on its left, and 1 for the others.

    So the loops that part rows know of no sets. No two nodes are asked for the same row at once.
    """
    cdef const uint8_t* column
    cdef Py_ssize_t i, k
    if g.codes != NULL:
        column = g.codes + node.feature * g.n
    else:
        column = unpacked(g, node.feature, rows, start, stop, thread)
    if not node.is_set:
        return column
    for k in range(start, stop):
        i = rows[k] if rows != NULL else k
        g.sides[i] = not set_sends_left(&node.sets, column[i], node.missing_left == 1)
    return g.sides


cdef inline int other_array(int rows_in) noexcept nogil:
    """Where the rows of children are: not in the array of their parent's."""
    return SECOND if rows_in == FIRST else FIRST


cdef inline const int32_t* rows_of(const Growth* g, const Node* node) noexcept nogil:
    """The rows of a node from place `start` to `stop`; NULL for the places themselves."""
    return g.rows[node.rows_in] if node.rows_in != ALL else NULL


cdef Py_ssize_t count_left(const Growth* g, const Task* task, int thread) noexcept nogil:
    """How many rows go to the left."""
    cdef const Node* node = g.nodes + task.node
    cdef const int32_t* rows = rows_of(g, node)
    cdef const uint8_t* column = column_of(g, node, rows, task.start, task.stop, thread)
    cdef Py_ssize_t k, n_left = 0
    for k in range(task.start, task.stop):
        n_left += goes_left(column[rows[k] if rows != NULL else k], node.code,
                            node.missing_left == 1)
    return n_left


cdef Py_ssize_t part(
    const Growth* g, const Node* node, int rows_in, Py_ssize_t start, Py_ssize_t stop,
    Py_ssize_t a, Py_ssize_t z, int thread
) noexcept nogil:
    """Write rows to the other array: of the left child from a upwards, the others from z downwards.

    Rows stay in the order of their indices, or in its reverse; sums do not depend on it. There is
    one write in every step, and no branch to be predicted. Returns the end of those on the left.
    """
    cdef const int32_t* rows = g.rows[rows_in] if rows_in != ALL else NULL
    cdef const uint8_t* column = column_of(g, node, rows, start, stop, thread)
    cdef int32_t* to = g.rows[other_array(rows_in)]
    cdef Py_ssize_t k, left, missing_left = node.missing_left == 1
    cdef int cut = node.code
    cdef int32_t i
    if rows == NULL:
        for k in range(start, stop):
            left = goes_left(column[k], cut, missing_left)
            to[z + left * (a - z)] = <int32_t>k
            a += left
            z -= 1 - left
    else:
        for k in range(start, stop):
            i = rows[k]
            left = goes_left(column[i], cut, missing_left)
            to[z + left * (a - z)] = i
            a += left
            z -= 1 - left
    return a


cdef bint all_equal(const Growth* g, const Node* node) noexcept nogil:
    """Whether all gradients of a node are equal."""
    cdef const int32_t* rows = rows_of(g, node)
    cdef Py_ssize_t k
    cdef double first = g.gradient[rows[node.start] if rows != NULL else node.start]
    for k in range(node.start + 1, node.stop):
        if g.gradient[rows[k] if rows != NULL else k] != first:
            return False
    return True


cdef void fill_leaf(const Growth* g, Task* task, Leaf* leaf) noexcept nogil:
    """Write the number of a leaf for some of its rows; add up what they are, in their order."""
    cdef const Node* node = g.nodes + task.node
    cdef const int32_t* rows = rows_of(g, node)
    cdef Leaf number = <Leaf>g.number[task.node]
    cdef double total = 0.0, moment = 0.0, square = 0.0, x, w
    cdef Py_ssize_t i, k
    for k in range(task.start, task.stop):
        i = rows[k] if rows != NULL else k
        leaf[i] = number
        x, w = g.gradient[i], weight_of(g, i)
        total += w
        moment += w * x
        square += w * x * x
    task.totals[0] = LeafTotals(total, moment, square, task.stop - task.start)


cdef void fill_leaves(const Growth* g, Task* task, Leaf* leaf, int thread) noexcept nogil:
    """The same for two leaves whose rows have not been parted.

    Without a branch, which could not be predicted. Not by differences from the sums of both, in
    which the digits of a leaf of little weight are lost.
    """
    cdef const Node* node = g.nodes + task.node
    cdef const int32_t* rows = rows_of(g, node)
    cdef const uint8_t* column = column_of(g, node, rows, task.start, task.stop, thread)
    cdef Leaf right_number = <Leaf>g.number[node.right]
    cdef Leaf difference = <Leaf>(g.number[node.left] - g.number[node.right])
    cdef double left_weight = 0.0, left_moment = 0.0, left_square = 0.0
    cdef double right_weight = 0.0, right_moment = 0.0, right_square = 0.0, x, w, v
    cdef Py_ssize_t i, k, left, n_left = 0, missing_left = node.missing_left == 1
    for k in range(task.start, task.stop):
        i = rows[k] if rows != NULL else k
        left = goes_left(column[i], node.code, missing_left)
        leaf[i] = <Leaf>(right_number + left * difference)
        n_left += left
        x, w = g.gradient[i], weight_of(g, i)
        v = w * <double>(1 - left)
        right_weight += v
        right_moment += v * x
        right_square += v * x * x
        w *= <double>left
        left_weight += w
        left_moment += w * x
        left_square += w * x * x
    task.totals[0] = LeafTotals(left_weight, left_moment, left_square, n_left)
    task.totals[1] = LeafTotals(
        right_weight, right_moment, right_square, task.stop - task.start - n_left)


cdef void fill(const Growth* g, Task* task, Leaf* leaf, int thread) noexcept nogil:
    """Fill a leaf, or two that are siblings, where the node has the rows."""
    if g.nodes[task.node].left == NO_NODE:
        fill_leaf(g, task, leaf)
    else:
        fill_leaves(g, task, leaf, thread)


cdef void add_totals(Node* leaf, const LeafTotals* part) noexcept nogil:
    leaf.weight += part.weight
    leaf.moment += part.moment
    leaf.square += part.square
    leaf.n_rows += part.n_rows


cdef void list_others(Growth* g) noexcept nogil:
    """List the rows that were not drawn, in the first array."""
    cdef Py_ssize_t i, k = 0
    cdef int32_t* others = g.rows[FIRST]
    for i in range(g.n):
        others[i - k] = <int32_t>i
        k += k < g.n_rows and g.drawn[k] == i


cdef void send_down(
    const Growth* g, int at, int rows_in, Py_ssize_t start, Py_ssize_t stop, Leaf* leaf,
    int thread
) noexcept nogil:
    """Write the leaves of rows that the tree was not grown on. O(depth) for each."""
    cdef const Node* node = g.nodes + at
    cdef const int32_t* rows = g.rows[rows_in]
    cdef Py_ssize_t k, middle
    cdef Leaf number = <Leaf>g.number[at]
    if start == stop:
        return
    if node.left == NO_NODE:
        for k in range(start, stop):
            leaf[rows[k]] = number
        return
    middle = part(g, node, rows_in, start, stop, start, stop - 1, thread)
    send_down(g, node.left, other_array(rows_in), start, middle, leaf, thread)
    send_down(g, node.right, other_array(rows_in), middle, stop, leaf, thread)


# --- the tree ------------------------------------------------------------------------------------


cdef void do_task(void* growth, Py_ssize_t index, int thread) noexcept nogil:
    cdef Growth* g = <Growth*>growth
    cdef Task* task = g.tasks + index
    cdef Node* node = g.nodes + task.node
    cdef int k
    cdef bint is_packed = g.packing.form == PACKED
    for k in range(2):
        task.found[k].feature, task.found[k].score = -1, -INFINITY
    if task.step == ADD_SIZES:
        task.size = sum_of_sizes(g, task)
    elif task.step == COUNT_LEFT:
        task.n_left = count_left(g, task, thread)
    elif task.step == PART:
        task.n_left = part(g, node, node.rows_in, task.start, task.stop, task.to,
                           task.downwards_to, thread) - task.to
    elif task.step == FILL or task.step == SEND_DOWN:
        if g.leaf_size == 1:
            if task.step == FILL:
                fill(g, task, <uint8_t*>g.leaf, thread)
            else:
                send_down(g, 0, FIRST, task.start, task.stop, <uint8_t*>g.leaf, thread)
        elif task.step == FILL:
            fill(g, task, <uint16_t*>g.leaf, thread)
        else:
            send_down(g, 0, FIRST, task.start, task.stop, <uint16_t*>g.leaf, thread)
    elif is_packed:
        do_with_cells(
            g, task, <int64_t*>g.integers, <int64_t*>g.values, <int64_t*>g.tables, thread)
    else:
        do_with_cells(g, task, <Pair*>g.integers, <Pair*>g.values, <Pair*>g.tables, thread)


cdef void do_with_cells(
    Growth* g, Task* task, Cell* integers, Cell* values, Cell* tables, int thread
) noexcept nogil:
    cdef int k
    cdef const Node* node = g.nodes + task.node
    cdef Py_ssize_t first = task.start, last
    if task.step == ROUND:
        round_rows(g, task, integers, values)
    elif task.step == GATHER:
        gather(g.rows[node.rows_in] + task.start, task.stop - task.start, integers,
               values + node.values + (task.start - node.start))
    elif g.codes == NULL:
        if task.step == SEARCH:
            search_stored(g, task, integers, tables, thread, task.found)
        elif task.step == COUNT:
            k = block_of(g, first)
            cells_of_block(g, k, &first, &last)
            memset(tables + first, 0, (last - first) * sizeof(Cell))
            add_stored(g, k, rows_of(g, node), node.stop, integers, 1, tables)
        else:
            find_in_stored(g, node, NULL, tables, task.start, task.stop, &task.found[0])
    elif task.step == SEARCH:
        search_children(g, task, integers, values, tables)
    else:
        last = open_range(g, NULL, &first, task.stop)
        while first < last:
            if task.step == COUNT:
                count_part(g, task, integers, values, tables, first, last)
            elif task.step == MERGE:
                for k in range(1, node.n_parts):
                    add_cells(g, table_of(g, node, tables, 0), table_of(g, node, tables, k),
                              first, last)
            else:
                find_in_table(g, node, tables, first, last, &task.found[0])
            first = last
            last = open_range(g, NULL, &first, task.stop)


cdef inline Cell* table_of(const Growth* g, const Node* node, Cell* tables, int part) noexcept nogil:
    """The histograms of a part of the rows of a node."""
    return tables + (node.table if part == 0 else node.more_tables + part - 1) * g.table_size


cdef void count_part(
    const Growth* g, const Task* task, const Cell* integers, const Cell* values, Cell* tables,
    Py_ssize_t first, Py_ssize_t last
) noexcept nogil:
    """Count a part of the rows of a node for some features."""
    cdef const Node* node = g.nodes + task.node
    cdef Py_ssize_t m = node.stop - node.start
    cdef Py_ssize_t start = start_of_part(task.part, m, node.n_parts)
    cdef Py_ssize_t stop = start_of_part(task.part + 1, m, node.n_parts)
    cdef Cell* to = table_of(g, node, tables, task.part)
    if node.rows_in == ALL:
        # Codes of the part are those from row `start` on.
        count(g.codes + start, g.n, g.n_bins, NULL, integers + start, stop - start, to, first,
              last)
    else:
        count(g.codes, g.n, g.n_bins, g.rows[node.rows_in] + node.start + start,
              values + node.values + start, stop - start, to, first, last)


cdef Pair total_of_rows(const Growth* g, const Cell* integers, const Cell* table) noexcept nogil:
    """The sums of all rows, from the histogram of the first feature that was drawn."""
    cdef Pair total = Pair(0, 0)
    cdef Py_ssize_t c, first = 0
    if g.codes == NULL:  # without the rows that have a 0 there
        for c in range(g.n_rows):
            add_cell(&total, integers + (g.drawn[c] if g.drawn != NULL else c))
        return total
    open_range(g, NULL, &first, g.p)
    table += first * CELLS
    for c in range(g.n_bins[first]):
        add_cell(&total, table + c)
    add_cell(&total, table + MISSING)
    return total


cdef void start_node(
    const Growth* g, Node* node, Pair sums, int depth, double low, double high
) noexcept nogil:
    """Make a leaf, without rows, and see whether the rules allow that it is cut."""
    cdef Sums total = unpack(g.packing, sums.q, sums.r)
    memset(node, 0, sizeof(Node))
    node.sums, node.depth, node.low, node.high = sums, depth, low, high
    node.left = node.right = node.table = NO_NODE
    node.n_parts = 1
    node.feature = -2
    node.code = -2
    node.rows_in = UNPARTED
    node.may_be_cut = (
        depth < g.max_depth
        and total.rows >= g.min_samples_split
        and total.rows >= 2 * g.rules.min_samples_leaf
        and total.weight >= 2 * g.rules.min_weight_leaf)


cdef bint take_cut(const Growth* g, Node* node, const Found* found) noexcept nogil:
    """Store the best cut of a node, if it gains enough."""
    cdef Sums total = unpack(g.packing, node.sums.q, node.sums.r)
    cdef Sums left = unpack(g.packing, found.left.q, found.left.r)
    cdef double l2 = g.rules.l2, rest, before, size
    if found.feature < 0:
        return False
    rest = node_score(total.target - left.target, total.weight - left.weight, SQUARED_ERROR, l2)
    before = node_score(total.target, total.weight, SQUARED_ERROR, l2)
    size = node_score(total.target, total.weight, SQUARED_ERROR, 0.0)
    node.decrease = node_score(left.target, left.weight, SQUARED_ERROR, l2) + rest - before
    node.decrease *= found.share
    if node.decrease + 1e-15 * size < g.least_gain or (l2 > 0 and node.decrease <= 0):
        return False
    if not node.decrease > SUSPICIOUS * size and all_equal(g, node):
        return False
    node.feature, node.code, node.missing_left = found.feature, found.code, found.missing_left
    node.is_set = found.is_set
    if found.is_set:
        node.sets = found.sets
    node.left_sums = found.left
    return True


cdef void add_children(Growth* g, int parent) noexcept nogil:
    """Make the two children of a leaf, without their rows."""
    cdef Node* node = g.nodes + parent
    cdef Node* left = g.nodes + g.n_nodes
    cdef Node* right = left + 1
    cdef Pair rest = Pair(node.sums.q - node.left_sums.q, node.sums.r - node.left_sums.r)
    cdef int sign = g.constraints[node.feature]
    cdef double low = node.low, high = node.high, middle, l2 = g.rules.l2
    cdef Sums a, b
    start_node(g, left, node.left_sums, node.depth + 1, low, high)
    start_node(g, right, rest, node.depth + 1, low, high)
    node.left, node.right = g.n_nodes, g.n_nodes + 1
    if g.paths != NULL:
        follow(&g.path_rules, state_of(g, parent), node.feature, state_of(g, node.left))
        follow(&g.path_rules, state_of(g, parent), node.feature, state_of(g, node.right))
    g.n_nodes += 2
    g.n_leaves += 1
    if sign != 0 and g.bounded:
        a = unpack(g.packing, left.sums.q, left.sums.r)
        b = unpack(g.packing, right.sums.q, right.sums.r)
        middle = 0.5 * (a.target / (a.weight + l2) + b.target / (b.weight + l2))
        if sign > 0:
            left.high = right.low = middle
        else:
            left.low = right.high = middle


cdef void place_children(Growth* g, Node* node, Py_ssize_t n_left) noexcept nogil:
    """Where the rows of the children are: after each other, in the other array."""
    cdef Node* left = g.nodes + node.left
    cdef Node* right = g.nodes + node.right
    left.start, left.stop = node.start, node.start + n_left
    right.start, right.stop = left.stop, node.stop
    left.rows_in = right.rows_in = other_array(node.rows_in)


cdef void choose_tables(Growth* g, Node* node) noexcept nogil:
    """Where the histograms of the children will be; of two equal ones the left is the smaller.

    Only where both have many rows a new one is needed.
    """
    cdef Node* left = g.nodes + node.left
    cdef Node* right = g.nodes + node.right
    cdef bint left_is_smaller = left.stop - left.start <= right.stop - right.start
    cdef Node* small = left if left_is_smaller else right
    cdef Node* large = right if left_is_smaller else left
    node.smaller = node.left if left_is_smaller else node.right
    if large.may_be_cut and large.stop - large.start > g.few_rows:
        large.table = node.table
    if small.may_be_cut and small.stop - small.start > g.few_rows:
        small.table = node.table
        if large.table != NO_NODE:
            small.table = g.n_tables
            g.n_tables += 1


cdef const Found* best_found(
    const Growth* g, const Task* tasks, Py_ssize_t n, int k
) noexcept nogil:
    """The best of the cuts that n tasks have found for block after block of the features."""
    cdef const Found* best = &tasks[0].found[k]
    cdef const Found* other
    cdef Py_ssize_t b
    for b in range(1, n):
        other = &tasks[b].found[k]
        if other.feature >= 0 and (other.score > best.score or (
                other.score == best.score and g.rank != NULL
                and g.rank[other.feature] < g.rank[best.feature])):
            best = other
    return best


cdef void number_nodes(Growth* g, int* stack) noexcept nogil:
    """As scikit-learn numbers them: best first as they are made, else from the left."""
    cdef int node, n_stack = 1, new = 0
    if g.max_leaf_nodes > 0:
        for node in range(g.n_nodes):
            g.number[node] = node
        return
    stack[0] = 0
    while n_stack > 0:
        n_stack -= 1
        node = stack[n_stack]
        g.number[node] = new
        new += 1
        if g.nodes[node].left != NO_NODE:
            stack[n_stack], stack[n_stack + 1] = g.nodes[node].right, g.nodes[node].left
            n_stack += 2


cdef void sum_up(Growth* g) noexcept nogil:
    """The sums over the rows of nodes that are no leaves; where missing values go by them."""
    cdef Node* node
    cdef Node* left
    cdef Node* right
    cdef int i
    for i in range(g.n_nodes - 1, -1, -1):
        node = g.nodes + i
        if node.left == NO_NODE:
            continue
        left, right = g.nodes + node.left, g.nodes + node.right
        node.weight = left.weight + right.weight
        node.moment = left.moment + right.moment
        node.square = left.square + right.square
        node.n_rows = left.n_rows + right.n_rows
        if node.missing_left == UNKNOWN:
            node.missing_left = 2 * left.n_rows > node.n_rows


cdef struct Fields:
    int32_t* left
    int32_t* right
    int32_t* feature
    int16_t* code
    uint8_t* missing_left
    double* impurity
    int64_t* n_rows
    double* weight
    double* value
    uint8_t* left_bins  # NULL where no feature is categorical


cdef empty_fields(Py_ssize_t m, bint has_sets):
    """Arrays for m nodes."""
    sets = {"left_bins": np.zeros((m, SET_BYTES), np.uint8)} if has_sets else {}
    return sets | {
        "left": np.empty(m, np.int32), "right": np.empty(m, np.int32),
        "feature": np.empty(m, np.int32), "code": np.empty(m, np.int16),
        "missing_left": np.empty(m, np.uint8), "impurity": np.empty(m),
        "n_rows": np.empty(m, np.int64), "weight": np.empty(m), "value": np.empty((m, 1))}


cdef Fields pointers(fields):
    cdef int32_t[::1] left = fields["left"], right = fields["right"], feature = fields["feature"]
    cdef int16_t[::1] code = fields["code"]
    cdef uint8_t[::1] missing_left = fields["missing_left"]
    cdef double[::1] impurity = fields["impurity"], weight = fields["weight"]
    cdef int64_t[::1] n_rows = fields["n_rows"]
    cdef double[:, ::1] value = fields["value"]
    cdef uint8_t[:, ::1] sets = fields.get("left_bins")
    cdef uint8_t* first_set = NULL
    if sets is not None:
        first_set = &sets[0, 0]
    return Fields(&left[0], &right[0], &feature[0], &code[0], &missing_left[0], &impurity[0],
                  &n_rows[0], &weight[0], &value[0, 0], first_set)


cdef int write_fields(const Growth* g, const Fields* to, Py_ssize_t first, double l2) noexcept nogil:
    """Write the nodes in the order of their numbers, from place `first` on; the tree's depth.

    Of the rows themselves: integers are rounded.
    """
    cdef const Node* node
    cdef Py_ssize_t i, k
    cdef int depth = 0
    cdef double mean, excess, unit = g.scale * (1.0 / g.weight_scale)
    for i in range(g.n_nodes):
        node, k = g.nodes + i, first + g.number[i]
        to.left[k] = to.right[k] = NO_NODE
        to.feature[k] = to.code[k] = -2
        to.missing_left[k] = 0
        if node.left != NO_NODE:
            to.left[k], to.right[k] = g.number[node.left], g.number[node.right]
            to.feature[k], to.code[k] = node.feature, <int16_t>node.code
            to.missing_left[k] = <uint8_t>node.missing_left
            if node.is_set:
                to.code[k] = SET_CODE
                write_set(&node.sets, node.missing_left == 1, to.left_bins + k * SET_BYTES)
        depth = max(depth, node.depth)
        mean = node.moment / node.weight
        to.n_rows[k], to.weight[k] = node.n_rows, node.weight
        # Cuts of features without a constraint may lead outside of the bounds, as in
        # scikit-learn. The impurity is that of the value.
        to.value[k] = min(max(node.moment / (node.weight + l2), node.low / unit),
                          node.high / unit)
        excess = to.value[k] - node.moment / (node.weight + l2)
        to.impurity[k] = max(node.square / node.weight - mean * mean, 0.0) + excess * excess
    return depth


cdef int set_leaf_steps(
    const Fields* to, Py_ssize_t first, Py_ssize_t m, const LossRows* rows, Py_ssize_t score,
    const double* target, const uint16_t* leaf, double* sums, double l2, double rate,
    double longest
) except -1 nogil:
    """Leaves get the steps of the loss; regularised ones shrink as means do.

    There is room for 4 m sums.
    """
    cdef Py_ssize_t i, k
    cdef double* steps = sums + 3 * m
    leaf_steps(rows, score, target, leaf, 2, m, rate, longest, sums, steps)
    for i in range(m):
        k = first + i
        if to.left[k] == NO_NODE:
            to.value[k] = steps[i] * (to.weight[k] / (to.weight[k] + l2)) if l2 != 0 else steps[i]
    return 0


cdef void* allocated(Py_ssize_t size, Py_ssize_t item) except NULL:
    cdef void* memory = PyMem_RawMalloc(size * item)
    if memory == NULL:
        raise MemoryError()
    return memory


cdef Py_ssize_t most_leaves_of(options, Py_ssize_t n) except -1:
    most = max(min(2 ** min(options.max_depth, 30), n), 1)
    return min(most, options.max_leaf_nodes) if options.max_leaf_nodes else most


cdef class StoredCodes:
    """The codes in columns most of whose values are 0: those of the other values.

    Parameters
    ----------
    n : int
        Rows.
    starts : int64 array of shape (p + 1,)
        Where the columns begin in `rows` and `codes`; the last one is their length.
    rows : int32 array
        Increasing in each column.
    codes : uint8 array
        Below the number of bins of the column, or 255 for missing values; not that of 0.
    zero : uint8 array of shape (p,)
        The code of 0.
    n_bins : intp array of shape (p,)
    has_missing : uint8 array of shape (p,)
        Whether missing values are among the codes.
    """

    cdef Py_ssize_t n, p
    cdef readonly tuple shape
    cdef const int64_t[::1] starts
    cdef const int32_t[::1] rows
    cdef const uint8_t[::1] codes, zero, has_missing
    cdef const Py_ssize_t[::1] n_bins

    def __init__(
        self, Py_ssize_t n, const int64_t[::1] starts not None, const int32_t[::1] rows not None,
        const uint8_t[::1] codes not None, const uint8_t[::1] zero not None,
        const Py_ssize_t[::1] n_bins not None, const uint8_t[::1] has_missing not None
    ):
        cdef Py_ssize_t p = zero.shape[0], j, e
        cdef bint fits
        require(0 < n < 2**31 - 1 and p > 0 and starts.shape[0] == p + 1 and starts[0] == 0)
        require(n_bins.shape[0] == p and has_missing.shape[0] == p)
        require(starts[p] == rows.shape[0] == codes.shape[0])
        for j in range(p):
            fits = (starts[j] <= starts[j + 1] <= starts[p] and 0 < n_bins[j] <= MISSING
                    and zero[j] < n_bins[j])
            require(fits)
            for e in range(starts[j], starts[j + 1]):
                fits &= 0 <= rows[e] < n and (e == starts[j] or rows[e - 1] < rows[e])
                fits &= (codes[e] < n_bins[j] and codes[e] != zero[j]) or (
                    codes[e] == MISSING and has_missing[j])
            require(fits)
        self.n, self.p, self.shape = n, p, (n, p)
        self.starts, self.rows, self.codes = starts, rows, codes
        self.zero, self.n_bins, self.has_missing = zero, n_bins, has_missing


cdef class BoostedTrees:
    """Grows trees on the same columns again and again; one at a time.

    Parameters
    ----------
    codes : uint8 array of shape (p, n), or StoredCodes
        The columns in bins, one after the other. Codes of feature j are below n_bins[j], or 255 for
        missing values. That is not looked at; other codes would be left out of the histograms.
    n_bins : intp array of shape (p,)
    options : GrowthOptions
        With the squared error, without draws of features. Those of later trees may differ, but
        neither in the constraints nor allow more leaves.
    n_threads : int
    categorical : uint8 array of shape (p,), default=None
        1 for features whose codes are categories.

    Notes
    -----
    Memory: 20 bytes a row, 32 with real weights; and, for each feature and each leaf of many rows,
    2 KB, 4 KB with real weights.
    """

    cdef Growth g
    cdef const uint8_t[:, ::1] codes
    cdef StoredCodes stored
    cdef const Py_ssize_t[::1] n_bins
    cdef const int8_t[::1] constraints
    cdef const uint64_t[:, ::1] groups
    cdef const uint8_t[::1] categorical
    cdef int* waiting
    cdef int* ready
    cdef Py_ssize_t n_tasks, most_leaves, most_tables, more_tables, n_values, n_unchecked, row_size
    cdef int n_waiting, n_ready, n_threads, n_more
    # Fewer values of the columns are read by one thread; after so many values the driver looks
    # whether the user wants to stop.
    cdef public Py_ssize_t least_shared, checked
    cdef bint shared, is_growing

    def __init__(
        self, codes not None, const Py_ssize_t[::1] n_bins not None, options, int n_threads,
        const uint8_t[::1] categorical=None
    ):
        cdef Growth* g = &self.g
        cdef Py_ssize_t n, p, j, most_bins = 0, width
        if isinstance(codes, StoredCodes):
            self.stored = codes
            n, p = self.stored.n, self.stored.p
            require(np.array_equal(self.stored.n_bins, n_bins))
        else:
            self.codes = codes
            n, p = self.codes.shape[1], self.codes.shape[0]
        require(g.n == 0 and 0 < n < 2**31 - 1 and p > 0 and n_bins.shape[0] == p)
        for j in range(p):
            require(0 < n_bins[j] <= MISSING)
            most_bins = max(most_bins, n_bins[j])
        self.constraints = options.constraints(p)
        self.most_leaves = most_leaves_of(options, n)
        # The number of a leaf has two bytes.
        require(self.constraints.shape[0] == p and 0 < self.most_leaves < 2**15)
        self.n_bins, self.n_threads = n_bins, min(max(n_threads, 1), 256)
        self.least_shared, self.checked = 2**16, 2**26
        g.n, g.p, g.n_bins = n, p, &n_bins[0]
        g.constraints, g.bounded = &self.constraints[0], options.bounded
        if categorical is not None:
            require(categorical.shape[0] == p)
            self.categorical = categorical
            g.categorical = &self.categorical[0]
            g.sides = <uint8_t*>allocated(n, sizeof(uint8_t))
        if options.interactions is not None:
            self.groups = options.interactions.words()
            width = (p + 63) // 64
            require(self.groups.shape[0] > 0 and self.groups.shape[1] == width)
            g.path_rules = PathRules(
                &self.groups[0, 0], self.groups.shape[0], width, options.interactions.most)
            g.paths = <uint64_t*>allocated(4 * self.most_leaves * width, sizeof(uint64_t))
            memset(g.paths, 0xFF, width * sizeof(uint64_t))
            memset(g.paths + width, 0, width * sizeof(uint64_t))
        g.packing.form = -1
        if self.stored is None:
            g.codes, g.table_size, self.row_size = &self.codes[0, 0], p * CELLS, p
            g.few_rows = <int>min(FEW_ROWS, most_bins // 4)
            self.more_tables = 4 * self.n_threads // p + 1
        else:
            self.list_by_row()
        # Leaves of many rows are disjoint.
        self.most_tables = min(self.most_leaves, max(n // (g.few_rows + 1), 1))
        # Blocks of features or parts of rows for each thread, or chunks of rows: a leaf that has
        # several has at most two more than rows by their number.
        width = (max(self.most_leaves, self.n_threads) + 2) * self.n_threads
        width = max(width, self.most_leaves + n // (CHUNK_ROWS // 2) + 1)
        g.tasks = <Task*>allocated(width, sizeof(Task))
        self.waiting = <int*>allocated(2 * self.most_leaves, sizeof(int))
        self.ready = <int*>allocated(2 * self.most_leaves, sizeof(int))
        g.nodes = <Node*>allocated(2 * self.most_leaves, sizeof(Node))
        g.number = <int*>allocated(2 * self.most_leaves, sizeof(int))
        g.rows[FIRST] = <int32_t*>allocated(n, sizeof(int32_t))
        g.rows[SECOND] = <int32_t*>allocated(n, sizeof(int32_t))

    cdef int list_by_row(self) except -1:
        """The stored codes as cells of a histogram, by row: in a block of columns for each thread.

        The blocks have about equally many cells and stored codes.
        """
        cdef Growth* g = &self.g
        cdef Stored* to = &g.stored
        cdef StoredCodes given = self.stored
        cdef Py_ssize_t n = g.n, p = g.p, i, j, e, c, work = 0, size, n_before = 0
        cdef Py_ssize_t n_codes = given.codes.shape[0]
        cdef int b = 0, n_blocks = <int>min(self.n_threads, p)
        cdef int64_t* starts
        to.starts, to.zero, to.has_missing = &given.starts[0], &given.zero[0], &given.has_missing[0]
        if n_codes > 0:
            to.rows, to.codes = &given.rows[0], &given.codes[0]
        to.first_cell = <Py_ssize_t*>allocated(p + 1, sizeof(Py_ssize_t))
        to.first_column = <Py_ssize_t*>allocated(n_blocks + 1, sizeof(Py_ssize_t))
        for j in range(p):
            work += g.n_bins[j] + given.has_missing[j]
        work = (work + n_codes) // n_blocks + 1  # of a block
        size = c = 0
        to.first_column[0] = 0
        for j in range(p):
            if size >= work and b + 1 < n_blocks:
                b, size, c = b + 1, 0, (c + 63) & ~63
                to.first_column[b] = j
            to.first_cell[j] = c
            c += g.n_bins[j] + given.has_missing[j]
            size += g.n_bins[j] + given.has_missing[j] + given.starts[j + 1] - given.starts[j]
        c = (c + 63) & ~63
        require(c < 1 << 32)
        to.n_blocks, to.n_cells, to.first_column[b + 1], to.first_cell[p] = b + 1, c, p, c
        g.table_size = c
        to.column_of = <uint32_t*>allocated(c, sizeof(uint32_t))
        for j in range(p):
            for c in range(to.first_cell[j], to.first_cell[j + 1]):
                to.column_of[c] = <uint32_t>j
        to.cells = <uint32_t*>allocated(max(n_codes, 1), sizeof(uint32_t))
        to.row_starts = <int64_t*>allocated(to.n_blocks * (n + 1), sizeof(int64_t))
        memset(to.row_starts, 0, to.n_blocks * (n + 1) * sizeof(int64_t))
        for b in range(to.n_blocks):
            starts = to.row_starts + b * (n + 1)
            for e in range(given.starts[to.first_column[b]], given.starts[to.first_column[b + 1]]):
                starts[to.rows[e] + 1] += 1
            starts[0] = n_before
            for i in range(n):
                starts[i + 1] += starts[i]
            for j in range(to.first_column[b], to.first_column[b + 1]):
                for e in range(given.starts[j], given.starts[j + 1]):
                    i, c = to.rows[e], to.codes[e]
                    c = g.n_bins[j] if c == MISSING else c
                    to.cells[starts[i]] = <uint32_t>(to.first_cell[j] + c)
                    starts[i] += 1
            # Each row now has the start of the next one.
            for i in range(n, 0, -1):
                starts[i] = starts[i - 1]
            starts[0], n_before = n_before, starts[n]
            size = to.first_cell[to.first_column[b + 1]] - to.first_cell[to.first_column[b]]
            to.most_cells = max(to.most_cells, size)
        to.full = <uint64_t*>allocated(self.n_threads * (to.most_cells // 64), sizeof(uint64_t))
        memset(to.full, 0, self.n_threads * (to.most_cells // 8))
        to.unpacked = <uint8_t*>allocated(self.n_threads * n, sizeof(uint8_t))
        # Rows with a quarter as many stored values as there are cells are no longer few.
        self.row_size = n_codes // n + 1
        g.few_rows = <int>max(min(to.n_cells // (4 * self.row_size), n), 1)
        return 0

    def __dealloc__(self):
        PyMem_RawFree(self.g.stored.first_cell)
        PyMem_RawFree(self.g.stored.first_column)
        PyMem_RawFree(self.g.stored.column_of)
        PyMem_RawFree(self.g.stored.cells)
        PyMem_RawFree(self.g.stored.row_starts)
        PyMem_RawFree(self.g.stored.full)
        PyMem_RawFree(self.g.stored.unpacked)
        PyMem_RawFree(self.g.tasks)
        PyMem_RawFree(self.waiting)
        PyMem_RawFree(self.ready)
        PyMem_RawFree(self.g.nodes)
        PyMem_RawFree(self.g.number)
        PyMem_RawFree(self.g.rows[FIRST])
        PyMem_RawFree(self.g.rows[SECOND])
        PyMem_RawFree(self.g.sides)
        PyMem_RawFree(self.g.paths)
        self.free_cells()

    cdef void free_cells(self) noexcept:
        PyMem_RawFree(self.g.integers)
        PyMem_RawFree(self.g.values)
        PyMem_RawFree(self.g.tables)
        PyMem_RawFree(self.g.stored.few)
        self.g.integers = self.g.values = self.g.tables = self.g.stored.few = NULL

    def grow(
        self, const double[::1] gradient not None, const double[::1] weight or None,
        const Py_ssize_t[::1] rows or None, const Py_ssize_t[::1] rank or None, options, units
    ):
        """Grow a tree. O(n p) for each level of the tree.

        Parameters
        ----------
        gradient, weight : float64 arrays of shape (n,); no weight where all are 1
        rows : intp array of shape (m,) or None
            Those that the tree is grown on, increasing; None for all.
        rank : intp array of shape (p,) or None
            Of equally good cuts the one of the feature of the lowest rank is taken; None is their
            order.
        options : GrowthOptions
        units : WeightUnits

        Returns
        -------
        fields : dict
            Those of `TreeArrays`, but the thresholds.
        leaf : uint8 or uint16 array of shape (n,)
            The leaf of every one of the n rows.
        """
        cdef Growth* g = &self.g
        cdef Py_ssize_t k
        cdef int depth
        cdef double l2 = options.l2_regularization
        cdef bint fits
        cdef uint8_t[::1] memory
        cdef Fields to
        require(not self.is_growing)
        require(gradient.shape[0] == g.n and (weight is None or weight.shape[0] == g.n))
        require(rank is None or rank.shape[0] == g.p)
        g.n_rows = g.n
        if rows is not None:
            g.n_rows = rows.shape[0]
            require(0 < g.n_rows <= g.n)
            fits = 0 <= rows[0] and rows[g.n_rows - 1] < g.n
            for k in range(1, g.n_rows):
                fits &= rows[k - 1] < rows[k]
            require(fits)
        g.gradient = &gradient[0]
        g.weight = &weight[0] if weight is not None else NULL
        g.drawn = &rows[0] if rows is not None else NULL
        g.rank = &rank[0] if rank is not None else NULL
        self.shared = self.is_worth_sharing(g.n_rows)
        self.is_growing = True
        try:
            self.set_units(units)
            self.set_options(options, units)
            with nogil:
                self.grow_nodes()
                number_nodes(g, self.waiting)
            leaf = np.empty(g.n, np.uint8 if g.n_nodes <= 256 else np.uint16)
            memory = leaf.view(np.uint8)
            fields = empty_fields(g.n_nodes, g.categorical != NULL)
            to = pointers(fields)
            with nogil:
                self.find_leaves(&memory[0], 1 if g.n_nodes <= 256 else 2)
                depth = write_fields(g, &to, 0, l2)
            return {**fields, "depth": depth}, leaf
        finally:
            self.is_growing = False

    cdef int set_units(self, units) except -1:
        """The form of the integers and the arrays for them; the units of weights and gradients."""
        cdef Growth* g = &self.g
        cdef int form = PACKED if units.is_packed else WIDE, bits = units.bits
        cdef Py_ssize_t item = sizeof(int64_t) if form == PACKED else sizeof(Pair), k
        cdef Py_ssize_t n_values = max(g.n // 2 + 1, g.n_rows if g.drawn != NULL else 0)
        cdef double size = 0.0
        require(0 < bits < 60 and (form == PACKED or g.weight != NULL))
        if form != g.packing.form or n_values > self.n_values:
            self.free_cells()
            g.packing.form = -1
            g.integers = allocated(g.n, item)
            g.values = allocated(n_values, item)
            g.tables = allocated((self.most_tables + self.more_tables) * g.table_size, item)
            if g.codes == NULL:
                k = self.n_threads * g.stored.most_cells
                g.stored.few = allocated(k, item)
                memset(g.stored.few, 0, k * item)
            self.n_values = n_values
        g.packing = Packing(form, bits)
        g.weight_scale = units.scale
        self.n_tasks = 0
        self.add_parts(ADD_SIZES, 0, 0, g.n_rows, n_row_chunks(g.n_rows))
        self.run(self.shared)
        for k in range(self.n_tasks):
            size += self.g.tasks[k].size
        g.scale = integer_scale(size, SUM_BITS - bits if form == PACKED else SUM_BITS)
        for k in range(self.n_tasks):
            self.g.tasks[k].step = ROUND
        self.run(self.shared)
        return 0

    cdef int set_options(self, options, units) except -1:
        """The options in units of the integers."""
        cdef Growth* g = &self.g
        cdef double unit = 1.0 / g.weight_scale, least = options.min_impurity_decrease
        cdef double total = units.total, min_weight = options.min_weight_leaf
        require(0 < most_leaves_of(options, g.n) <= self.most_leaves)
        g.max_depth, g.max_leaf_nodes = options.max_depth, options.max_leaf_nodes
        g.min_samples_split = options.min_samples_split
        g.n_drawn = options.features_per_tree or g.p
        require(0 < g.n_drawn <= g.p and (g.n_drawn == g.p or g.rank != NULL))
        g.rules.criterion = SQUARED_ERROR
        g.rules.l2 = options.l2_regularization / unit
        g.cat_smooth = options.cat_smooth / unit
        g.rules.min_samples_leaf = options.min_samples_leaf
        # Rounding upwards would refuse a leaf of exactly this weight.
        g.rules.min_weight_leaf = nextafter(min_weight, 0.0) / unit
        # The scale may have no finite square where gradients are tiny.
        g.least_gain = least * total * g.scale * g.scale * unit if least != 0 else 0.0
        return 0

    # --- tasks --------------------------------------------------------------------------------

    cdef bint is_worth_sharing(self, Py_ssize_t n_rows) noexcept nogil:
        """Whether threads take less time than they lose by waiting for each other."""
        return self.n_threads > 1 and n_rows * self.row_size >= self.least_shared

    cdef void add_task(
        self, Step step, int node, Py_ssize_t start, Py_ssize_t stop
    ) noexcept nogil:
        cdef Task* task = self.g.tasks + self.n_tasks
        self.n_tasks += 1
        task.step, task.node, task.start, task.stop = step, node, start, stop

    cdef void add_parts(
        self, Step step, int node, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t n_parts
    ) noexcept nogil:
        """A range in parts of about equal size."""
        cdef Py_ssize_t k, n = stop - start
        n_parts = max(1, min(n, n_parts))
        for k in range(n_parts):
            self.add_task(step, node, start + start_of_part(k, n, n_parts),
                          start + start_of_part(k + 1, n, n_parts))

    cdef Py_ssize_t add_blocks(self, Step step, int node, bint shared) noexcept nogil:
        """All features, for threads in blocks of pairs, which are counted together."""
        cdef Py_ssize_t k, p = self.g.p, pairs = (p + 1) // 2
        cdef Py_ssize_t n_blocks = max(1, min(pairs, self.n_threads)) if shared else 1
        if self.g.codes == NULL:
            for k in range(self.g.stored.n_blocks):
                self.add_task(step, node, self.g.stored.first_column[k],
                              self.g.stored.first_column[k + 1])
            return self.g.stored.n_blocks
        for k in range(n_blocks):
            self.add_task(step, node, 2 * (k * pairs // n_blocks),
                          min(2 * ((k + 1) * pairs // n_blocks), p))
        return n_blocks

    cdef void choose_parts(self, Node* node, Py_ssize_t n_nodes, bint shared) noexcept nogil:
        """In how many parts the rows of one of some nodes are counted, so that no thread waits.

        In one, where each thread has features of its own.
        """
        cdef Py_ssize_t n = 1
        if shared and self.g.codes != NULL:
            n = 2 * self.n_threads // (n_nodes * ((self.g.p + 1) // 2))
            n = max(1, min(n, (node.stop - node.start) // CHUNK_ROWS))
        node.n_parts, node.more_tables = <int>n, self.n_more
        self.n_more += <int>n - 1

    cdef void count_parts(self, const int* nodes, int n_nodes, bint shared) noexcept nogil:
        """Count the rows of nodes in parts, and add up the histograms of these."""
        cdef int q, k
        cdef Py_ssize_t i
        self.n_tasks = 0
        for q in range(n_nodes):
            for k in range(self.g.nodes[nodes[q]].n_parts):
                i = self.n_tasks
                self.add_blocks(COUNT, nodes[q], shared)
                for i in range(i, self.n_tasks):
                    self.g.tasks[i].part = k
        self.run(shared)
        self.n_tasks = 0
        for q in range(n_nodes):
            if self.g.nodes[nodes[q]].n_parts > 1:
                self.add_blocks(MERGE, nodes[q], shared)
        self.run(shared)

    cdef void run(self, bint shared) noexcept nogil:
        """Do the tasks, by several threads where it is worth it."""
        do_in_threads(do_task, &self.g, self.n_tasks, self.n_threads if shared else 1)

    # --- the driver ---------------------------------------------------------------------------

    cdef int grow_nodes(self) except -1 nogil:
        """Grow the tree; its nodes are in the order in which they are made."""
        cdef Growth* g = &self.g
        cdef Node* root = g.nodes
        cdef Pair total
        cdef int first = 0
        memset(root, 0, sizeof(Node))
        root.stop, root.rows_in = g.n_rows, FIRST if g.drawn != NULL else ALL
        self.n_more = <int>self.most_tables
        self.choose_parts(root, 1, self.shared)
        self.count_parts(&first, 1, self.shared)
        if g.packing.form == PACKED:
            total = total_of_rows(g, <int64_t*>g.integers, <int64_t*>g.tables)
        else:
            total = total_of_rows(g, <Pair*>g.integers, <Pair*>g.tables)
        start_node(g, root, total, 0, -INFINITY, INFINITY)
        root.stop, root.table, root.rows_in = g.n_rows, 0, FIRST if g.drawn != NULL else ALL
        g.n_nodes = g.n_leaves = g.n_tables = 1
        self.n_waiting = 0
        if root.may_be_cut:
            self.n_tasks = 0
            self.add_blocks(FIND_ROOT, 0, self.shared)
            self.run(self.shared)
            self.consider(0, best_found(g, self.g.tasks, self.n_tasks, 0))
        while self.n_waiting > 0 and (g.max_leaf_nodes == 0 or g.n_leaves < g.max_leaf_nodes):
            self.choose_ready()
            self.cut_ready()
        return 0

    cdef void consider(self, int node, const Found* found) noexcept nogil:
        """Let a leaf wait to be cut, if its best cut is worth it."""
        if take_cut(&self.g, self.g.nodes + node, found):
            self.waiting[self.n_waiting] = node
            self.n_waiting += 1

    cdef void choose_ready(self) noexcept nogil:
        """The leaves to be cut next: the one that gains most; the oldest; for threads, all.

        All leaves of a level are cut together, so that threads meet a few times for each level. The
        tree is the same as by one thread, which cuts leaf after leaf.
        """
        cdef const Node* nodes = self.g.nodes
        cdef int k, at = 0
        cdef double a, b
        if self.shared and self.g.max_leaf_nodes == 0:
            self.waiting, self.ready = self.ready, self.waiting
            self.n_ready, self.n_waiting = self.n_waiting, 0
            return
        for k in range(1, self.n_waiting if self.g.max_leaf_nodes > 0 else 0):
            a, b = nodes[self.waiting[k]].decrease, nodes[self.waiting[at]].decrease
            if a > b or (a == b and self.waiting[k] < self.waiting[at]):
                at = k
        self.ready[0], self.n_ready = self.waiting[at], 1
        self.n_waiting -= 1
        for k in range(at, self.n_waiting):
            self.waiting[k] = self.waiting[k + 1]

    cdef int cut_ready(self) except -1 nogil:
        """Cut leaves, and let those of their children wait that can be cut in turn."""
        cdef Growth* g = &self.g
        cdef const Node* node
        cdef Py_ssize_t n_rows = 0
        cdef int k, n_parents = 0
        cdef bint shared
        for k in range(self.n_ready):
            add_children(g, self.ready[k])
            node = g.nodes + self.ready[k]
            if g.nodes[node.left].may_be_cut or g.nodes[node.right].may_be_cut:
                self.ready[n_parents] = self.ready[k]
                n_parents += 1
                n_rows += node.stop - node.start
        self.n_ready = n_parents
        self.n_unchecked += n_rows * self.row_size
        if self.n_unchecked >= self.checked:
            self.n_unchecked = 0
            with gil:
                PyErr_CheckSignals()
        if n_parents > 0 and (g.max_leaf_nodes == 0 or g.n_leaves < g.max_leaf_nodes):
            shared = self.is_worth_sharing(n_rows)
            self.part_rows(shared)
            self.search(shared)
        return 0

    cdef void part_rows(self, bint shared) noexcept nogil:
        """Part the rows of the nodes, in parts where there are fewer nodes than threads."""
        cdef Growth* g = &self.g
        cdef Node* node
        cdef Task* task
        cdef bint in_parts = shared and self.n_ready < self.n_threads
        cdef Py_ssize_t a, z, k = 0, n_left
        cdef int q
        self.n_tasks = 0
        for q in range(self.n_ready):
            node = g.nodes + self.ready[q]
            self.add_parts(COUNT_LEFT, self.ready[q], node.start, node.stop,
                           self.n_threads if in_parts else 1)
        if in_parts:
            self.run(shared)
        for q in range(self.n_ready):
            node = g.nodes + self.ready[q]
            a, z = node.start, node.stop - 1
            while k < self.n_tasks and self.g.tasks[k].node == self.ready[q]:
                task = self.g.tasks + k
                task.step, task.to, task.downwards_to = PART, a, z
                if in_parts:
                    a += task.n_left
                    z -= task.stop - task.start - task.n_left
                k += 1
        self.run(shared)
        k = 0
        for q in range(self.n_ready):
            n_left = 0
            while k < self.n_tasks and self.g.tasks[k].node == self.ready[q]:
                n_left += self.g.tasks[k].n_left
                k += 1
            place_children(g, g.nodes + self.ready[q], n_left)

    cdef void search(self, bint shared) noexcept nogil:
        """Find the best cuts of the children of the nodes."""
        cdef Growth* g = &self.g
        cdef Node* node
        cdef Node* small
        cdef Py_ssize_t n_values = 0, n_blocks = 1, n_parts = 1
        cdef int q, large, left_place, n_counted = 0
        cdef int* counted = self.waiting + self.n_waiting  # free up to the end
        self.n_more = <int>self.most_tables
        if shared and self.n_ready < self.n_threads:
            n_parts = self.n_threads
        self.n_tasks = 0
        for q in range(self.n_ready):
            node = g.nodes + self.ready[q]
            choose_tables(g, node)
            small, large = g.nodes + node.smaller, node.left + node.right - node.smaller
            small.values = n_values
            if g.codes != NULL and small.stop - small.start > g.few_rows and (
                    small.table != NO_NODE or g.nodes[large].table != NO_NODE):
                n_values += small.stop - small.start
                self.add_parts(GATHER, node.smaller, small.start, small.stop, n_parts)
            if small.table != NO_NODE:
                self.choose_parts(small, self.n_ready, shared)
                if small.n_parts > 1:
                    counted[n_counted] = node.smaller
                    n_counted += 1
        self.run(shared)
        if n_counted > 0:
            self.count_parts(counted, n_counted, shared)
        self.n_tasks = 0
        for q in range(self.n_ready):
            n_blocks = self.add_blocks(SEARCH, self.ready[q], shared)
        self.run(shared)
        for q in range(self.n_ready):
            node = g.nodes + self.ready[q]
            left_place = node.smaller != node.left
            if g.nodes[node.left].may_be_cut:
                self.consider(node.left, best_found(
                    g, self.g.tasks + q * n_blocks, n_blocks, left_place))
            if g.nodes[node.right].may_be_cut:
                self.consider(node.right, best_found(
                    g, self.g.tasks + q * n_blocks, n_blocks, 1 - left_place))

    # --- the result ---------------------------------------------------------------------------

    cdef void find_leaves(self, void* leaf, int leaf_size) noexcept nogil:
        """The leaf of every row. What is known of the rows of each node is added up on the way."""
        cdef Growth* g = &self.g
        cdef const Node* node
        cdef const Task* task
        cdef Py_ssize_t k
        cdef int i
        g.leaf, g.leaf_size = leaf, leaf_size
        self.n_tasks = 0
        for i in range(g.n_nodes):
            node = g.nodes + i
            # A leaf with its rows, or the parent of two leaves which has their rows.
            if node.rows_in != UNPARTED and (
                    node.left == NO_NODE or g.nodes[node.left].rows_in == UNPARTED):
                self.add_parts(
                    FILL, i, node.start, node.stop, n_row_chunks(node.stop - node.start))
        self.run(self.shared)
        for k in range(self.n_tasks):
            task = g.tasks + k
            node = g.nodes + task.node
            if node.left == NO_NODE:
                add_totals(g.nodes + task.node, &task.totals[0])
            else:
                add_totals(g.nodes + node.left, &task.totals[0])
                add_totals(g.nodes + node.right, &task.totals[1])
        sum_up(g)
        if g.n_rows < g.n:
            list_others(g)
            self.n_tasks = 0
            self.add_parts(SEND_DOWN, 0, 0, g.n - g.n_rows, self.n_threads)
            self.run(self.shared)

    # --- rounds -------------------------------------------------------------------------------

    def boost(
        self, Loss loss not None, y, const double[::1] loss_weight not None,
        double[::1] scores not None, double[::1] target not None, const double[::1] weight or None,
        const Py_ssize_t[:, :, ::1] rank not None, double length, double rate,
        double longest, double stop_at,
        bint reoptimises, options, units
    ):
        """Rounds of gradient boosting: a tree for each score, and a step along its outputs.

        A round is what `grow` and the functions of losses do one after the other, to the bit.

        Parameters
        ----------
        loss : Loss
        y, loss_weight
            Targets and weights as the loss takes them.
        scores : float64 array of shape (n K,)
            Of row after row; changed in place.
        target : float64 array of shape (n K,)
            The negative gradient there; changed in place.
        weight : float64 array of shape (n,) or None
            Of the rows in the growth of trees.
        rank : intp array of shape (n_rounds, K, p)
            As in `grow`, for each tree.
        length : float
            By which the outputs are multiplied before they are added to the scores.
        rate, longest : float
            As for `Loss.leaf_steps`.
        stop_at : float
            A round after which the risk is not below this is the last one.
        reoptimises : bool
            Whether leaves get the steps of the loss; otherwise they keep the means.
        options, units
            As in `grow`.

        Returns
        -------
        fields : dict
            Those of `grow` for all nodes, one tree after the other, without the depth.
        sizes : list of (n_nodes, depth)
            Of each tree.
        risks : list of float
            After each round.
        leaf : uint16 array of shape (K, n)
            The leaves in the trees of the last round.

        Notes
        -----
        O(n p) for each level of a tree.
        """
        cdef Growth* g = &self.g
        cdef Py_ssize_t n = g.n, K = rank.shape[1], n_rounds = rank.shape[0], t, first = 0
        cdef Py_ssize_t most_nodes = 2 * self.most_leaves - 1
        cdef int k, depth
        cdef double risk, l2 = options.l2_regularization
        cdef LossRows rows
        cdef uint16_t[:, ::1] leaf
        cdef Py_ssize_t[::1] start
        cdef double[::1] gradient, sums
        cdef Fields to
        cdef Scores passes
        require(not self.is_growing and n_rounds > 0 and K > 0 and rank.shape[2] == g.p)
        require(target.shape[0] == n * K and (weight is None or weight.shape[0] == n))
        self.shared = self.is_worth_sharing(n)
        rows = loss.rows(y, scores, loss_weight, self.n_threads if self.shared else 1)
        require(rows.n == n and rows.K == K)
        fields = empty_fields(n_rounds * K * most_nodes, g.categorical != NULL)
        to = pointers(fields)
        leaf, start = np.empty((K, n), np.uint16), np.empty(K, np.intp)
        gradient, sums = np.empty(n if K > 1 else 1), np.empty(4 * most_nodes)
        sizes, risks = [], []
        g.n_rows, g.drawn = n, NULL
        g.weight = &weight[0] if weight is not None else NULL
        g.gradient = &target[0] if K == 1 else &gradient[0]
        passes = Scores(n, K, n_row_chunks(n), 0, &target[0], &gradient[0], &scores[0], to.value,
                        &leaf[0, 0], &start[0], length)
        self.is_growing = True
        try:
            for t in range(n_rounds):
                # The trees of a round lower the risk from the same scores.
                for k in range(K):
                    start[k] = first
                    g.rank = &rank[t, k, 0]
                    if K > 1:
                        passes.k = k
                        do_in_threads(take_gradient, &passes, passes.n_chunks, rows.n_threads)
                    self.set_units(units)
                    self.set_options(options, units)
                    with nogil:
                        self.grow_nodes()
                        number_nodes(g, self.waiting)
                        self.find_leaves(&leaf[k, 0], 2)
                        depth = write_fields(g, &to, first, l2)
                        if reoptimises:
                            set_leaf_steps(
                                &to, first, g.n_nodes, &rows, k, g.gradient, &leaf[k, 0], &sums[0],
                                l2, rate, longest)
                    sizes.append((g.n_nodes, depth))
                    first += g.n_nodes
                with nogil:
                    do_in_threads(add_outputs, &passes, passes.n_chunks, rows.n_threads)
                    risk = sum_losses(&rows, &target[0])
                risks.append(risk)
                PyErr_CheckSignals()
                if not risk < stop_at:
                    break
        finally:
            self.is_growing = False
        return {name: field[:first].copy() for name, field in fields.items()}, sizes, risks, (
            np.asarray(leaf))


cdef struct Scores:
    # What the chunks of passes over the rows of a round share.
    Py_ssize_t n, K, n_chunks
    int k
    const double* target
    double* gradient
    double* scores
    const double* value
    const uint16_t* leaf
    const Py_ssize_t* start  # of the trees of the round
    double length


cdef void take_gradient(void* context, Py_ssize_t chunk, int thread) noexcept nogil:
    """The targets of one class, side by side."""
    cdef const Scores* to = <const Scores*>context
    cdef Py_ssize_t i
    for i in range(start_of_part(chunk, to.n, to.n_chunks),
                   start_of_part(chunk + 1, to.n, to.n_chunks)):
        to.gradient[i] = to.target[i * to.K + to.k]


cdef void add_outputs(void* context, Py_ssize_t chunk, int thread) noexcept nogil:
    """Add the outputs of the trees to the scores."""
    cdef const Scores* to = <const Scores*>context
    cdef const double* value
    cdef const uint16_t* leaf
    cdef Py_ssize_t i, k
    for k in range(to.K):
        value, leaf = to.value + to.start[k], to.leaf + k * to.n
        for i in range(start_of_part(chunk, to.n, to.n_chunks),
                       start_of_part(chunk + 1, to.n, to.n_chunks)):
            to.scores[i * to.K + k] += to.length * value[leaf[i]]
