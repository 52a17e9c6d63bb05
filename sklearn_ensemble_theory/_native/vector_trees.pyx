"""The growth of trees whose leaves hold vectors, by the sums of vectors in bins.

A row has D numbers: its weight, 1, its q weighted targets, perhaps a weight for each target, and
zeros up to a multiple of 4. They are multiples of powers of 2 whose sums are exact as doubles
(`trees._vector_growth.RowVectors`), so that no sum depends on the order of the rows, and what
remains of a node without one child is exactly the other.

A node of many rows has a table: the sums of the rows in all bins of all columns. Of two children
the smaller one is counted, and the other has what remains of their parent. The rows of smaller nodes
are counted where a cut is sought, column by column.
"""

from libc.math cimport INFINITY, fabs, log, rint
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from .arrays cimport require
from .growth cimport (
    SET_BYTES, SET_CODE, UNKNOWN, Category, Draw, Features, Sets, Sums, comparable, end_draw, is_in,
    lowest_bit, new_draw, next_place, next_random, put_away, put_in, sort_categories, write_set)
from .threads cimport do_in_threads, start_of_part

import numpy as np

cdef extern from "vector_trees.h" nogil:
    void add_8_numbers(const uint8_t*, const uint8_t*, int, const int32_t*, Py_ssize_t,
                       const double*, double*, double*, Py_ssize_t)
    void add_4_numbers(const uint8_t*, const uint8_t*, int, const int32_t*, Py_ssize_t,
                       const double*, double*, double*, Py_ssize_t)
    double* new_table(size_t)
    void free_table(double*)

cdef enum:
    MOST_BINS = 256
    # So many rows are added to one column after the other while they are in the cache.
    ROWS_AT_A_TIME = 512
    # The places of a row's numbers.
    WEIGHT = 0
    COUNT = 1
    FIRST = 2
    # Of the power method, as in forest_trees.pyx.
    POWER_STEPS = 20
    LEAF = -1
    NO_FEATURE = -2

# What is left of a category's distance from the node by rounding, and the steps of its places in
# the order.
cdef double NO_DISTANCE = 2.0**-40, PLACES = 2.0**32, LARGE_PART = 0.7
# Targets that differ by less than this share of their mean size are equal.
cdef double SAME = 2.0**-36
# A gain is the difference of sums with this relative error.
cdef double ROUNDING = 1e-15
# Only a gain below this share of the sums can be one between equal targets.
cdef double SUSPICIOUS = 1e-11


# The best cut of a column.
cdef struct Cut:
    double score  # rounded for comparisons; -INFINITY where there is no cut
    double share  # of the gain of categories that counts
    int code
    int missing_left  # 1, 0 or UNKNOWN
    Sets sets  # of categories


cdef struct Search:
    # The columns.
    Py_ssize_t n, p, n_bins
    int last  # the cell of missing values; all codes above the others
    bint has_missing
    int missing  # the code of missing values
    const uint8_t* codes  # column after column
    const uint8_t* categorical  # of each column; NULL for none
    # The rows of the node.
    const int32_t* rows
    Py_ssize_t m
    const double* values
    Py_ssize_t D
    Py_ssize_t n_parts
    # For each column `last` + 1 cells; NULL where the rows are counted anew for each column.
    double* table
    double* tables_of_threads
    # What is looked for.
    Py_ssize_t q
    bint weighs_targets, by_entropy
    double l2, least_weight, least_rows, cat_smooth
    const double* total
    const uint8_t* allowed  # of each column; NULL for all
    const double* draws  # two numbers in [0, 1) for each column, of a random cut; NULL for the best
    double* work  # `room` numbers for each thread
    Py_ssize_t room
    Cut* cuts  # output, of each column
    double* lefts  # output: the sums on the left of each cut


# --- sums in bins --------------------------------------------------------------------------------


cdef inline void add_8(double* to, const double* some) noexcept nogil:
    # All are read before any is written, so that the compiler may take several at a time.
    cdef double a = to[0] + some[0], b = to[1] + some[1], c = to[2] + some[2], d = to[3] + some[3]
    cdef double e = to[4] + some[4], f = to[5] + some[5], g = to[6] + some[6], h = to[7] + some[7]
    to[0], to[1], to[2], to[3], to[4], to[5], to[6], to[7] = a, b, c, d, e, f, g, h


cdef inline void add_4(double* to, const double* some) noexcept nogil:
    cdef double a = to[0] + some[0], b = to[1] + some[1], c = to[2] + some[2], d = to[3] + some[3]
    to[0], to[1], to[2], to[3] = a, b, c, d


cdef inline void add_vector(double* to, const double* some, Py_ssize_t D) noexcept nogil:
    cdef Py_ssize_t d = 0
    while d + 8 <= D:
        add_8(to + d, some + d)
        d += 8
    if d < D:
        add_4(to + d, some + d)


cdef void count_part(void* context, Py_ssize_t part, int thread) noexcept nogil:
    """The cells of some columns, 8 numbers of all rows at a time: these cells are few lines."""
    cdef const Search* s = <const Search*>context
    cdef Py_ssize_t first = start_of_part(part, s.p, s.n_parts)
    cdef Py_ssize_t stop = start_of_part(part + 1, s.p, s.n_parts)
    cdef Py_ssize_t j, start, n_rows, d = 0, size = (s.last + 1) * s.D
    cdef const uint8_t* column
    cdef const uint8_t* other
    cdef double* cells
    memset(s.table + first * size, 0, (stop - first) * size * sizeof(double))
    while d < s.D:
        start = 0
        while start < s.m:
            n_rows = min(<Py_ssize_t>ROWS_AT_A_TIME, s.m - start)
            for j in range(first, stop, 2):
                column, cells = s.codes + j * s.n, s.table + j * size + d
                other = column + s.n if j + 1 < stop else NULL
                if d + 8 <= s.D:
                    add_8_numbers(column, other, s.last, s.rows + start, n_rows, s.values + d,
                                  cells, cells + size, s.D)
                else:
                    add_4_numbers(column, other, s.last, s.rows + start, n_rows, s.values + d,
                                  cells, cells + size, s.D)
            start += n_rows
        d += 8


# --- the best cut --------------------------------------------------------------------------------


cdef inline double score_of_cut(const Search* s, const double* left) noexcept nogil:
    """The scores of both children; with four sums, in the order in which NumPy adds."""
    cdef double a[4]
    cdef double b[4]
    cdef double w1 = left[WEIGHT] + s.l2, w2 = s.total[WEIGHT] - left[WEIGHT] + s.l2, x, y
    cdef const double* one = left + FIRST
    cdef const double* all_ = s.total + FIRST
    cdef const double* h1 = one + s.q
    cdef const double* h = all_ + s.q
    cdef Py_ssize_t k = 0, i
    for i in range(4):
        a[i], b[i] = 0.0, 0.0
    if s.by_entropy:
        for k in range(s.q):
            x, y = one[k], all_[k] - one[k]
            if x > 0:
                a[k & 3] += x * log(x / w1)
            if y > 0:
                b[k & 3] += y * log(y / w2)
        return ((a[0] + a[1]) + (a[2] + a[3])) + ((b[0] + b[1]) + (b[2] + b[3]))
    if s.weighs_targets:
        for k in range(s.q):
            x, y = one[k], all_[k] - one[k]
            a[k & 3] += x * x / (h1[k] + s.l2) + y * y / (h[k] - h1[k] + s.l2)
        return (a[0] + a[1]) + (a[2] + a[3])
    while k + 4 <= s.q:
        for i in range(4):
            x, y = one[k + i], all_[k + i] - one[k + i]
            a[i] += x * x
            b[i] += y * y
        k += 4
    while k < s.q:
        x, y = one[k], all_[k] - one[k]
        a[k & 3] += x * x
        b[k & 3] += y * y
        k += 1
    return ((a[0] + a[1]) + (a[2] + a[3])) / w1 + ((b[0] + b[1]) + (b[2] + b[3])) / w2


cdef inline double weight_of(const Search* s, const double* sums, Py_ssize_t k) noexcept nogil:
    """The weight of target k."""
    return sums[FIRST + s.q + k] if s.weighs_targets else sums[WEIGHT]


cdef inline double score_of_node(const Search* s, const double* sums) noexcept nogil:
    cdef double score = 0.0, x
    cdef Py_ssize_t k
    for k in range(s.q):
        x = sums[FIRST + k]
        if s.by_entropy:
            score += x * log(x / sums[WEIGHT]) if x > 0 else 0.0
        else:
            score += x * x / (weight_of(s, sums, k) + s.l2)
    return score


cdef inline void write_distance(const Search* s, const double* cell, double* z) noexcept nogil:
    """The means of a category about those of the node, shrunk."""
    cdef Py_ssize_t k
    cdef double w, x
    for k in range(s.q):
        w = weight_of(s, cell, k)
        x = cell[FIRST + k] - s.total[FIRST + k] / weight_of(s, s.total, k) * w
        z[k] = x / (w + s.cat_smooth) if fabs(x) > NO_DISTANCE * fabs(cell[FIRST + k]) else 0.0


cdef void order_categories(
    const Search* s, const double* h, uint8_t* bins, int n, double* z, double* a, double* b
) noexcept nogil:
    """Sort categories by the first principal component of their distances, by the power method.

    Cuts in this order are no worse than in any other order by a linear function of the means, and
    the best of all where these lie on a line (Coppersmith, Hong and Hosking 1999). Categories and
    targets count by their weights. O(n q) a step.
    """
    cdef Category some[MOST_BINS]
    cdef Py_ssize_t k
    cdef int i, step
    cdef bint is_turned, moves
    cdef double dot, size, after
    cdef const double* x
    for i in range(n):
        write_distance(s, h + bins[i] * s.D, z + i * s.q)
    for k in range(s.q):  # in no direction that data have by their design
        a[k] = 1.0 + k * 0.6180339887498949 % 1.0
    for step in range(POWER_STEPS):
        memset(b, 0, s.q * sizeof(double))
        for i in range(n):
            x, dot = z + i * s.q, 0.0
            for k in range(s.q):
                dot += a[k] * x[k]
            dot *= h[bins[i] * s.D + WEIGHT] / s.total[WEIGHT]
            for k in range(s.q):
                b[k] += dot * x[k]
        size = 0.0
        for k in range(s.q):
            b[k] *= weight_of(s, s.total, k) / s.total[WEIGHT]
            size = max(size, fabs(b[k]))
        if not size > 0:
            break
        moves = False
        for k in range(s.q):
            after = b[k] / size
            moves |= after != a[k]
            a[k] = after
        if not moves:
            break
    k = s.q - 1
    while k > 0 and fabs(a[k]) <= LARGE_PART:
        k -= 1
    # The last large part is positive: of two classes both are equal up to rounding.
    is_turned, size = a[k] < 0, 0.0
    for i in range(n):
        x, dot = z + i * s.q, 0.0
        for k in range(s.q):
            dot += a[k] * x[k]
        some[i] = Category(-dot if is_turned else dot, Sums(0.0, 0.0, 0), bins[i])
        size = max(size, fabs(dot))
    for i in range(n if size > 0 else 0):  # what differs by rounding has one place
        some[i].mean = rint(some[i].mean / size * PLACES)
    sort_categories(some, n)
    for i in range(n):
        bins[i] = <uint8_t>some[i].code


cdef inline void add_distance(
    const Search* s, const double* cell, double* z, double* shift
) noexcept nogil:
    cdef Py_ssize_t k
    write_distance(s, cell, z)
    for k in range(s.q):
        shift[k] += z[k] * weight_of(s, cell, k)


cdef double share_of_gain(
    const Search* s, const double* left, const double* shift, const double* all_shifts
) noexcept nogil:
    """The share of the gain that shrunk means have (see `cut_categories` of growth.pxd)."""
    cdef double shrunk = 0.0, whole = 0.0, w, w2, x, rest
    cdef Py_ssize_t k
    for k in range(s.q):
        w = weight_of(s, left, k)
        w2 = weight_of(s, s.total, k) - w
        rest = all_shifts[k] - shift[k]
        shrunk += shift[k] * shift[k] / w + rest * rest / w2
        x = left[FIRST + k] - s.total[FIRST + k] / weight_of(s, s.total, k) * w
        whole += x * x * (1 / w + 1 / w2)
    return min(shrunk / whole, 1.0) if whole > 0 else 1.0


cdef void search_cells(
    const Search* s, const double* h, uint8_t* bins, int n_full, Py_ssize_t j, double* left
) noexcept nogil:
    """The best cut of one column: missing values on the right first, then the lowest code.

    A cut of numbers is in the middle of the gap to the next bin with rows.

    Parameters
    ----------
    bins : list of the bins of values that hold rows, increasing
        Categories are sorted.
    """
    cdef const double* missing = h + s.last * s.D
    cdef bint misses = s.has_missing and missing[COUNT] > 0
    cdef bint is_set = s.categorical != NULL and s.categorical[j]
    cdef bint shrinks = is_set and s.cat_smooth > 0
    cdef int search, k, after = 0, to = 0, place = -1
    cdef Cut* cut = s.cuts + j
    cdef double best = -INFINITY, score, n_left, before = 0.0, share = 1.0
    cdef double* all_shifts = left + s.D
    cdef double* shift = all_shifts + s.q
    cdef double* z = shift + s.q
    cut.score, cut.share = -INFINITY, 1.0
    if n_full + misses < 2:
        return
    if is_set:
        order_categories(s, h, bins, n_full, z, all_shifts, shift)
    if shrinks:
        memset(all_shifts, 0, s.q * sizeof(double))
        for k in range(n_full):
            add_distance(s, h + bins[k] * s.D, z, all_shifts)
        if misses:
            add_distance(s, missing, z, all_shifts)
        before = score_of_node(s, s.total)
    if s.draws != NULL and n_full > 1:
        if is_set:
            after = <int>(s.draws[2 * j] * (n_full - 1))
        else:
            k = bins[0] + <int>(s.draws[2 * j] * (bins[n_full - 1] - bins[0]))
            while bins[after + 1] <= k:
                after += 1
        to = misses and s.draws[2 * j + 1] >= 0.5
    for search in range(1 + misses):
        memset(left, 0, s.D * sizeof(double))
        memset(shift, 0, s.q * sizeof(double))
        if search == 1:
            add_vector(left, missing, s.D)
            if shrinks:
                add_distance(s, missing, z, shift)
        for k in range(n_full if misses and search == 0 else n_full - 1):
            add_vector(left, h + bins[k] * s.D, s.D)
            if shrinks:
                add_distance(s, h + bins[k] * s.D, z, shift)
            n_left = left[COUNT]
            if (n_left < s.least_rows or s.total[COUNT] - n_left < s.least_rows
                    or left[WEIGHT] < s.least_weight
                    or s.total[WEIGHT] - left[WEIGHT] < s.least_weight
                    or (s.draws != NULL and (k != after or search != to))):
                continue
            score = score_of_cut(s, left)
            if shrinks:
                share = share_of_gain(s, left, shift, all_shifts)
                score = before + share * (score - before)
            score = comparable(score)
            if score > best:
                best, place = score, k
                cut.share, cut.missing_left = share, search
                memcpy(s.lefts + j * s.D, left, s.D * sizeof(double))
    if place < 0:
        return
    cut.score = best
    if not misses:
        cut.missing_left = UNKNOWN
    if is_set:
        cut.code = SET_CODE
        memset(&cut.sets, 0, sizeof(Sets))
        for k in range(n_full):
            put_in(&cut.sets.left[0] if k <= place else &cut.sets.right[0], bins[k])
    elif place + 1 < n_full:
        cut.code = (bins[place] + bins[place + 1]) // 2
    else:
        cut.code = s.missing - 1  # only missing values are on the right


cdef void search_column(void* context, Py_ssize_t j, int thread) noexcept nogil:
    cdef const Search* s = <const Search*>context
    cdef uint8_t bins[MOST_BINS]
    cdef uint64_t words[4]
    cdef uint64_t word
    cdef int n_full = 0, c, b
    cdef Py_ssize_t k, i
    cdef const uint8_t* column
    cdef double* h
    cdef double* left = s.work + thread * s.room
    if s.allowed != NULL and not s.allowed[j]:
        s.cuts[j].score = -INFINITY
        return
    if s.table != NULL:
        h = s.table + j * (s.last + 1) * s.D
        for c in range(<int>s.n_bins):
            bins[n_full] = <uint8_t>c
            n_full += h[c * s.D + COUNT] > 0
        search_cells(s, h, bins, n_full, j, left)
        return
    # Few rows: a bit for each bin that holds some, and afterwards only their cells are cleared.
    column, h = s.codes + j * s.n, s.tables_of_threads + thread * (s.last + 1) * s.D
    memset(words, 0, sizeof(words))
    for k in range(s.m):
        i = s.rows[k]
        c = min(<int>column[i], s.last)
        words[c >> 6] |= <uint64_t>1 << (c & 63)
        add_vector(h + c * s.D, s.values + i * s.D, s.D)
    for b in range(4):
        word = words[b]
        while word != 0:
            c = 64 * b + lowest_bit(word)
            bins[n_full] = <uint8_t>c
            n_full += 1
            word &= word - 1
    if n_full and s.has_missing and bins[n_full - 1] == s.last:
        search_cells(s, h, bins, n_full - 1, j, left)
    else:
        search_cells(s, h, bins, n_full, j, left)
    for b in range(n_full):
        memset(h + bins[b] * s.D, 0, s.D * sizeof(double))


# --- one tree ------------------------------------------------------------------------------------


cdef struct Node:
    Py_ssize_t start, stop  # of its rows
    int32_t left  # its left child, which the right one follows; LEAF
    int32_t feature, code
    int missing_left
    Py_ssize_t depth, n_known  # features that are constant in its parent
    double gain  # of its best cut
    double* table  # NULL where it has none
    uint8_t on_left[SET_BYTES]  # the codes of categories that go to the left


cdef struct Growth:
    Search search
    # The rows of the tree, those of a node next to each other, in their order.
    int32_t* rows
    int32_t* spare
    Node* nodes
    Py_ssize_t n_nodes
    double* sums  # of each node 2 D numbers: of its rows, and of those on the left of its best cut
    double* right  # D numbers
    int32_t* waiting  # nodes that are to be visited, or leaves that have a cut
    # The options.
    Py_ssize_t max_depth, max_leaf_nodes, n_threads
    double least_rows, few_rows, least_gain
    const int64_t* order  # the columns; of equal cuts that of the first one is taken
    bint draws_features, random_splits, draws_ties
    Features features
    Features ties  # a generator of its own: the features that are drawn do not depend on ties
    uint8_t* allowed
    double* draws
    # The range of the targets tells whether a node is pure.
    const double* target
    const double* sizes


cdef inline double* sums_of(const Growth* g, Py_ssize_t i) noexcept nogil:
    return g.sums + 2 * g.search.D * i


cdef bint is_pure(const Growth* g, const Node* node) noexcept nogil:
    """Whether its rows have the same targets, up to rounding."""
    cdef Py_ssize_t q = g.search.q, k, i
    cdef double low, high, x
    for k in range(q):
        low = high = g.target[g.rows[node.start] * q + k]
        for i in range(node.start + 1, node.stop if g.sizes[k] > 0 else 0):
            x = g.target[g.rows[i] * q + k]
            if low <= x <= high:
                continue
            low, high = min(low, x), max(high, x)
            if (high - low) / g.sizes[k] > SAME:
                return False
    return True


cdef inline bint is_constant(const Growth* g, const Node* node, Py_ssize_t feature) noexcept nogil:
    cdef const uint8_t* column = g.search.codes + feature * g.search.n
    cdef Py_ssize_t k
    for k in range(node.start + 1, node.stop):
        if column[g.rows[k]] != column[g.rows[node.start]]:
            return False
    return True


cdef void draw_features(Growth* g, Node* node) noexcept nogil:
    """Allow the columns that are drawn; `n_known` becomes the number of those constant here."""
    cdef Draw draw = new_draw(&g.features, node.n_known, NULL)
    cdef Py_ssize_t at = next_place(&g.features, &draw)
    cdef int32_t feature
    cdef bint varies
    memset(g.allowed, 0, g.search.p)
    while at >= 0:
        feature = g.features.order[at]
        varies = not is_constant(g, node, feature)
        g.allowed[feature] = varies
        put_away(&g.features, &draw, at, not varies)
        at = next_place(&g.features, &draw)
    end_draw(&g.features, &draw)
    node.n_known = draw.n_constant


cdef inline void look_at(Growth* g, const Node* node) noexcept nogil:
    """Make the node that of the search."""
    g.search.rows, g.search.m = g.rows + node.start, node.stop - node.start
    g.search.table = node.table


cdef bint find_cut(Growth* g, Py_ssize_t i) noexcept nogil:
    """Write the best cut of a node into it; False where there is none that is worth it."""
    cdef Search* s = &g.search
    cdef Node* node = g.nodes + i
    cdef Py_ssize_t j, k, best = -1
    cdef uint32_t n_tied = 1
    cdef double* left = sums_of(g, i) + s.D
    cdef double before, after, above
    cdef const Cut* cut
    look_at(g, node)
    s.total = sums_of(g, i)
    if g.draws_features:
        # As in scikit-learn, no features are drawn for a pure node.
        if is_pure(g, node):
            return False
        draw_features(g, node)
    for k in range(2 * s.p if g.random_splits else 0):
        g.draws[k] = next_random(&g.features) * 2.0**-31
    # Threads would take longer to begin with few rows.
    do_in_threads(search_column, s, s.p, <int>g.n_threads if s.table != NULL else 1)
    for k in range(s.p):
        j = g.order[k]
        if s.cuts[j].score > (s.cuts[best].score if best >= 0 else -INFINITY):
            best, n_tied = j, 1
        elif g.draws_ties and best >= 0 and s.cuts[j].score == s.cuts[best].score:
            # Each of the columns whose cuts are equally good is taken with the same probability.
            n_tied += 1
            if next_random(&g.ties) % n_tied == 0:
                best = j
    if best < 0:
        return False
    cut = s.cuts + best
    memcpy(left, s.lefts + best * s.D, s.D * sizeof(double))
    for k in range(s.D):
        g.right[k] = s.total[k] - left[k]
    before = score_of_node(s, s.total)
    after = score_of_node(s, left) + score_of_node(s, g.right)
    after = before + cut.share * (after - before)
    node.gain = after - before
    # Entropies are negative; with as much added to both, rounding is relative to the rows.
    above = s.q * s.total[WEIGHT] if s.by_entropy else 0.0
    before, after = before + above, after + above
    if after - before + ROUNDING * after < g.least_gain:
        return False
    # A gain this small may be the rounding of equal targets, which only their range tells.
    if not g.draws_features and not after - before > SUSPICIOUS * after and is_pure(g, node):
        return False
    node.feature, node.code, node.missing_left = <int32_t>best, cut.code, cut.missing_left
    if cut.missing_left == UNKNOWN:  # they go where most rows go
        node.missing_left = 2 * left[COUNT] > s.total[COUNT]
    if cut.code == SET_CODE:
        write_set(&cut.sets, node.missing_left, node.on_left)
    return True


cdef inline bint goes_left(const Growth* g, const Node* node, uint8_t code) noexcept nogil:
    if node.code == SET_CODE:
        return is_in(node.on_left, code)
    return code <= node.code or (node.missing_left and code == g.search.missing)


cdef Py_ssize_t part_rows(Growth* g, const Node* node) noexcept nogil:
    """Put the rows of both children next to each other; the first one of the right child."""
    cdef const uint8_t* column = g.search.codes + node.feature * g.search.n
    cdef Py_ssize_t k, a = node.start, z = 0
    cdef int32_t row
    cdef bint on_left
    for k in range(node.start, node.stop):
        row = g.rows[k]
        on_left = goes_left(g, node, column[row])
        g.rows[a] = g.spare[z] = row
        a += on_left
        z += not on_left
    memcpy(g.rows + a, g.spare, z * sizeof(int32_t))
    return a


cdef inline void new_node(
    Growth* g, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t depth, Py_ssize_t n_known
) noexcept nogil:
    cdef Node* node = g.nodes + g.n_nodes
    g.n_nodes += 1
    node.start, node.stop, node.depth, node.n_known = start, stop, depth, n_known
    node.left, node.feature, node.code, node.missing_left = LEAF, NO_FEATURE, NO_FEATURE, False
    node.table = NULL


cdef bint may_be_cut(const Growth* g, Py_ssize_t i) noexcept nogil:
    cdef const double* sums = sums_of(g, i)
    return (g.nodes[i].depth < g.max_depth and sums[COUNT] >= g.least_rows
            and sums[WEIGHT] >= 2 * g.search.least_weight)


cdef Py_ssize_t cut_node(Growth* g, Py_ssize_t i) noexcept nogil:
    """Make two children of a node; the left one."""
    cdef Node* node = g.nodes + i
    cdef Py_ssize_t place = part_rows(g, node), k, left = g.n_nodes, D = g.search.D
    # The features of the next node are those of another branch where trees are grown best first.
    cdef Py_ssize_t n_known = 0 if g.max_leaf_nodes > 0 else node.n_known
    cdef const double* sums = sums_of(g, i)
    node.left = <int32_t>left
    new_node(g, node.start, place, node.depth + 1, n_known)
    new_node(g, place, node.stop, node.depth + 1, n_known)
    for k in range(D):
        sums_of(g, left)[k] = sums[D + k]
        sums_of(g, left + 1)[k] = sums[k] - sums[D + k]
    return left


cdef int count_table(Growth* g, Node* node) noexcept nogil:
    """Give a node its table. -1 without memory."""
    cdef Search* s = &g.search
    node.table = new_table(s.p * (s.last + 1) * s.D * sizeof(double))
    if node.table == NULL:
        return -1
    look_at(g, node)
    do_in_threads(count_part, s, s.n_parts, <int>g.n_threads)
    return 0


cdef void drop_table(Node* node) noexcept nogil:
    free_table(node.table)
    node.table = NULL


cdef int hand_table_down(Growth* g, Py_ssize_t i) noexcept nogil:
    """Give the table of a node to its children, as far as they need one. -1 without memory."""
    cdef Node* node = g.nodes + i
    cdef Node* small = g.nodes + node.left
    cdef Node* large = small + 1
    cdef bint needs_small, needs_large
    cdef Py_ssize_t k
    if node.table == NULL:
        return 0
    if small.stop - small.start > large.stop - large.start:
        small, large = large, small
    needs_small = small.stop - small.start > g.few_rows and may_be_cut(g, small - g.nodes)
    needs_large = large.stop - large.start > g.few_rows and may_be_cut(g, large - g.nodes)
    if needs_small or needs_large:
        if count_table(g, small) < 0:
            return -1
        if needs_large:
            for k in range(g.search.p * (g.search.last + 1) * g.search.D):
                node.table[k] -= small.table[k]
            large.table, node.table = node.table, NULL
        if not needs_small:
            drop_table(small)
    drop_table(node)
    return 0


cdef int grow_depth_first(Growth* g) noexcept nogil:
    """-1 without memory."""
    cdef Py_ssize_t n_waiting = 1, i, left, k
    g.waiting[0] = 0
    while n_waiting > 0:
        n_waiting -= 1
        i = g.waiting[n_waiting]
        if not may_be_cut(g, i):
            continue
        if not find_cut(g, i):
            drop_table(g.nodes + i)
            continue
        left = cut_node(g, i)
        if hand_table_down(g, i) < 0:
            return -1
        for k in range(2):
            g.waiting[n_waiting + k] = <int32_t>(left + 1 - k)
        n_waiting += 2
    return 0


cdef int grow_best_first(Growth* g) noexcept nogil:
    """The leaf whose cut gains most, or the oldest of these, is the next to be cut.

    -1 without memory.
    """
    cdef Py_ssize_t n_open = 0, n_leaves = 1, first = 0, i, k, best
    while n_leaves < g.max_leaf_nodes:
        for i in range(first, g.n_nodes):
            if may_be_cut(g, i) and find_cut(g, i):
                g.waiting[n_open], n_open = <int32_t>i, n_open + 1
            else:
                drop_table(g.nodes + i)
        if n_open == 0:
            break
        best = 0
        for k in range(1, n_open):
            if g.nodes[g.waiting[k]].gain > g.nodes[g.waiting[best]].gain:
                best = k
        i = g.waiting[best]
        n_open -= 1
        for k in range(best, n_open):  # from the oldest to the youngest
            g.waiting[k] = g.waiting[k + 1]
        first = cut_node(g, i)
        n_leaves += 1
        if hand_table_down(g, i) < 0:
            return -1
    return 0


# --- the door ------------------------------------------------------------------------------------


cdef void number_nodes(const Growth* g, int32_t* order, int32_t* number) noexcept nogil:
    """The nodes in scikit-learn's order, and the number in it of each.

    Best first that is the order in which they were made; otherwise a node, what is on its left,
    and then what is on its right.
    """
    cdef Py_ssize_t n_waiting = 1, k
    cdef int32_t i
    g.waiting[0] = 0
    for k in range(g.n_nodes):
        i = <int32_t>k
        if g.max_leaf_nodes == 0:
            n_waiting -= 1
            i = g.waiting[n_waiting]
            if g.nodes[i].left != LEAF:
                g.waiting[n_waiting], g.waiting[n_waiting + 1] = (
                    g.nodes[i].left + 1, g.nodes[i].left)
                n_waiting += 2
        order[k], number[i] = i, <int32_t>k


cdef dict fields_of(
    const Growth* g, const double[:, ::1] values, const double[::1] squares, int32_t[::1] leaf
):
    """What `grow_vectors` returns."""
    cdef Py_ssize_t m = g.n_nodes, D = values.shape[1], k, r, depth = 0
    cdef int32_t[::1] order = np.empty(m, np.int32), number = np.empty(m, np.int32)
    cdef const Node* node
    cdef bint any_set = False
    for k in range(m):
        any_set |= g.nodes[k].left != LEAF and g.nodes[k].code == SET_CODE
    fields = {
        "left": np.empty(m, np.int32), "right": np.empty(m, np.int32),
        "feature": np.empty(m, np.int32), "code": np.empty(m, np.int32),
        "missing_left": np.empty(m, np.uint8), "n_rows": np.empty(m, np.int64),
        "left_bins": np.zeros((m if any_set else 0, SET_BYTES), np.uint8)}
    sums_of_nodes, squares_of_nodes = np.zeros((m, D)), np.zeros(m)
    cdef int32_t[::1] left = fields["left"], right = fields["right"]
    cdef int32_t[::1] feature = fields["feature"], code = fields["code"]
    cdef uint8_t[::1] missing_left = fields["missing_left"]
    cdef int64_t[::1] n_rows = fields["n_rows"]
    cdef uint8_t[:, ::1] left_bins = fields["left_bins"]
    cdef double[:, ::1] sums = sums_of_nodes
    cdef double[::1] square = squares_of_nodes
    with nogil:
        number_nodes(g, &order[0], &number[0])
        for k in range(m):
            node = g.nodes + order[k]
            depth = max(depth, node.depth)
            left[k], right[k], n_rows[k] = LEAF, LEAF, node.stop - node.start
            feature[k] = code[k] = NO_FEATURE
            missing_left[k] = 0
            if node.left != LEAF:
                left[k], right[k] = number[node.left], number[node.left + 1]
                feature[k], code[k] = node.feature, node.code
                missing_left[k] = <uint8_t>node.missing_left
                if node.code == SET_CODE:
                    memcpy(&left_bins[k, 0], node.on_left, SET_BYTES)
                continue
            for r in range(node.start, node.stop):
                leaf[g.rows[r]] = <int32_t>k
                add_vector(&sums[k, 0], &values[g.rows[r], 0], D)
                square[k] += squares[g.rows[r]]
        for k in range(m - 1, -1, -1):
            if left[k] != LEAF:
                add_vector(&sums[k, 0], &sums[left[k], 0], D)
                add_vector(&sums[k, 0], &sums[right[k], 0], D)
                square[k] = square[left[k]] + square[right[k]]
    if not any_set:
        fields["left_bins"] = None
    return {"fields": {**fields, "depth": depth}, "sums": sums_of_nodes, "squares": squares_of_nodes}


def grow_vectors(
    const uint8_t[:, ::1] codes not None, Py_ssize_t n_bins, bint has_missing, int missing,
    const uint8_t[::1] categorical or None, int32_t[::1] rows not None,
    const double[:, ::1] values not None, bint weighs_targets, double least_weight,
    const double[:, ::1] target not None, const double[::1] sizes not None,
    const double[:, ::1] leaf_values not None, const double[::1] squares not None, options,
    double least_gain, const int64_t[::1] order not None, bint draws_ties, double few_rows,
    int n_threads
):
    """Grow a tree of vectors, without the interpreter lock. O(m p D) for each of its levels.

    Parameters
    ----------
    codes : uint8 array of shape (p, n)
    n_bins : int
        Codes of values are below this; the others are those of missing values.
    has_missing : bool
        Whether there is one more cell, for these.
    missing : int
        The code of a missing value.
    categorical : uint8 array of shape (p,) or None
        Whether the codes are numbers of categories; at most 255.
    rows : int32 array of shape (m,)
        The rows that the tree is grown on; they are put into the order of the leaves.
    values : float64 array of shape (n, D)
        The vectors whose sums are compared.
    weighs_targets : bool
        Whether each of the q targets has a weight of its own.
    least_weight : float
        Of a child.
    target : float64 array of shape (n, q)
        What the vectors were made from.
    sizes : float64 array of shape (q,)
        Targets of a node that differ by less than 2^-36 times this are equal.
    leaf_values : float64 array of shape (n, D')
        The vectors that are summed for the result.
    squares : float64 array of shape (n,)
        Summed too.
    options : GrowthOptions
        Of a regression tree with the squared error, or, for indicators, with the criterion
        "log_loss".
    least_gain : float
    order : int64 array of shape (p,)
        The columns; of equally good cuts that of the first of them is taken.
    draws_ties : bool
        Whether one of equally good cuts is drawn instead, by the seed of the options.
    few_rows : float
        Nodes of more rows have a table.
    n_threads : int

    Returns
    -------
    dict
        "fields" has those of `TreeArrays` that are known here, "sums" (nodes, D') and "squares"
        (nodes,) the sums of the nodes, and "leaf" (n,) the leaf of each row of the tree, 0 for the
        others. Nodes are numbered as by `forest_trees.grow_tree`.
    """
    cdef Growth g
    cdef Search* s = &g.search
    cdef Py_ssize_t n = codes.shape[1], p = codes.shape[0], m = rows.shape[0], D = values.shape[1]
    cdef Py_ssize_t q = target.shape[1], k, most
    cdef int failed = 0
    memset(&g, 0, sizeof(g))
    require(p > 0 and n > 0 and values.shape[0] == n and D > FIRST and D % 4 == 0)
    require(0 < n_bins <= missing < MOST_BINS and n_bins + has_missing <= MOST_BINS)
    require(categorical is None or categorical.shape[0] == p)
    require(0 < m and n < 2**30 and order.shape[0] == p and n_threads > 0)
    require(q > 0 and FIRST + q * (1 + weighs_targets) <= D)
    require(target.shape[0] == n and sizes.shape[0] == q and squares.shape[0] == n)
    require(leaf_values.shape[0] == n and leaf_values.shape[1] % 4 == 0)
    for k in range(m):
        require(0 <= rows[k] < n)
    for k in range(p):
        require(0 <= order[k] < p)
    s.n, s.p, s.n_bins, s.has_missing, s.missing = n, p, n_bins, has_missing, missing
    s.last, s.codes, s.values, s.D = <int>n_bins - 1 + has_missing, &codes[0, 0], &values[0, 0], D
    s.n_parts = min(<Py_ssize_t>n_threads, p)
    s.q, s.weighs_targets, s.by_entropy = q, weighs_targets, options.criterion == "log_loss"
    s.l2, s.cat_smooth, s.least_weight = (
        options.l2_regularization, options.cat_smooth, least_weight)
    s.least_rows = options.min_samples_leaf
    s.room = D + (2 + (MOST_BINS if categorical is not None else 0)) * q
    if categorical is not None:
        s.categorical = &categorical[0]
    g.max_depth, g.max_leaf_nodes = options.max_depth, options.max_leaf_nodes
    g.least_rows = max(options.min_samples_split, 2 * options.min_samples_leaf)
    g.least_gain, g.few_rows, g.n_threads, g.order = least_gain, few_rows, n_threads, &order[0]
    g.features.p, g.features.n_drawn, g.features.state = p, options.max_features, options.seed
    g.draws_features, g.random_splits = options.max_features > 0, options.random_splits
    g.draws_ties, g.ties.state = draws_ties, options.seed
    g.target, g.sizes, g.rows = &target[0, 0], &sizes[0], &rows[0]

    most = max(m // max(<Py_ssize_t>options.min_samples_leaf, 1), 1)
    if g.max_leaf_nodes > 0:
        most = min(most, g.max_leaf_nodes)
    if g.max_depth < 30:
        most = min(most, <Py_ssize_t>1 << g.max_depth)
    most = 2 * most - 1
    # Memory that is not written costs nothing.
    cdef uint8_t[::1] nodes = np.empty(most * sizeof(Node), np.uint8)
    cdef uint8_t[::1] cuts = np.empty(p * sizeof(Cut), np.uint8)
    cdef double[::1] sums = np.empty(2 * D * most), lefts = np.empty(p * D + D)
    cdef double[::1] work = np.empty(n_threads * s.room)
    cdef double[::1] cells = np.zeros(n_threads * (s.last + 1) * D)
    cdef int32_t[::1] spare = np.empty(m, np.int32), waiting = np.empty(most + 1, np.int32)
    cdef int32_t[:, ::1] drawn = np.empty((2, p), np.int32)
    cdef double[::1] draws = np.empty(2 * p)
    cdef uint8_t[::1] allowed = np.zeros(p, np.uint8)
    g.nodes, s.cuts = <Node*>&nodes[0], <Cut*>&cuts[0]
    g.sums, s.lefts, g.right = &sums[0], &lefts[0], &lefts[p * D]
    s.work, s.tables_of_threads = &work[0], &cells[0]
    g.spare, g.waiting = &spare[0], &waiting[0]
    if g.draws_features:
        g.allowed = &allowed[0]
        s.allowed = g.allowed
        g.features.order, g.features.constants = &drawn[0, 0], &drawn[1, 0]
        for k in range(p):
            drawn[0, k] = <int32_t>k
    if g.random_splits:
        g.draws = &draws[0]
        s.draws = g.draws
    with nogil:
        new_node(&g, 0, m, 0, 0)
        memset(g.sums, 0, D * sizeof(double))
        for k in range(m):
            add_vector(g.sums, s.values + rows[k] * D, D)
        if m > few_rows and may_be_cut(&g, 0):
            failed = count_table(&g, g.nodes)
        if not failed:
            failed = grow_best_first(&g) if g.max_leaf_nodes > 0 else grow_depth_first(&g)
        for k in range(g.n_nodes):
            drop_table(g.nodes + k)
    if failed:
        raise MemoryError
    leaf = np.zeros(n, np.int32)
    return {**fields_of(&g, leaf_values, squares, leaf), "leaf": leaf}
