"""The sums of vectors in bins, and the best cut of a node, for trees whose leaves hold vectors.

A row has D numbers: its weight, 1, its q weighted targets, perhaps a weight for each target, and
zeros up to a multiple of 4. They are multiples of powers of 2 whose sums are exact as doubles
(`trees._vector_growth.RowVectors`), so that no sum depends on the order of the rows, and what
remains of a node without one child is exactly the other.
"""

from libc.math cimport INFINITY, fabs, log, rint
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from .arrays cimport require
from .growth cimport Category, Sums, comparable, lowest_bit, sort_categories
from .threads cimport do_in_threads, start_of_part

cdef extern from "vector_trees.h" nogil:
    void add_8_numbers(const uint8_t*, const uint8_t*, int, const int32_t*, Py_ssize_t, Py_ssize_t,
                       const double*, double*, double*, Py_ssize_t)
    void add_4_numbers(const uint8_t*, const uint8_t*, int, const int32_t*, Py_ssize_t, Py_ssize_t,
                       const double*, double*, double*, Py_ssize_t)

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

# What is left of a category's distance from the node by rounding, and the steps of its places in
# the order: the same as in `trees._vector_growth`.
cdef double NO_DISTANCE = 2.0**-40, PLACES = 2.0**32, LARGE_PART = 0.7


cdef struct Search:
    # The columns.
    Py_ssize_t n, p, n_bins
    int last  # the cell of missing values; all codes above the others
    bint has_missing
    const uint8_t* codes  # column after column
    # The rows: all where `rows` is NULL.
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
    const uint8_t* categorical  # of each column; NULL for none
    const double* draws  # two numbers in [0, 1) for each column, of a random cut; NULL for the best
    double* work  # `room` numbers for each thread
    Py_ssize_t room
    double* score  # output
    int64_t* place  # output: (n_bins) times the direction of missing values, plus the code
    double* share  # output for categories, and their order; the place has the last one on the left
    uint8_t* order


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
    cdef const int32_t* rows
    cdef double* cells
    memset(s.table + first * size, 0, (stop - first) * size * sizeof(double))
    while d < s.D:
        start = 0
        while start < s.m:
            n_rows = min(<Py_ssize_t>ROWS_AT_A_TIME, s.m - start)
            rows = s.rows + start if s.rows != NULL else NULL
            for j in range(first, stop, 2):
                column, cells = s.codes + j * s.n, s.table + j * size + d
                other = column + s.n if j + 1 < stop else NULL
                if d + 8 <= s.D:
                    add_8_numbers(column, other, s.last, rows, start, n_rows, s.values + d, cells,
                                  cells + size, s.D)
                else:
                    add_4_numbers(column, other, s.last, rows, start, n_rows, s.values + d, cells,
                                  cells + size, s.D)
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


cdef inline double score_of_node(const Search* s) noexcept nogil:
    cdef double score = 0.0, x
    cdef Py_ssize_t k
    for k in range(s.q):
        x = s.total[FIRST + k]
        if s.by_entropy:
            score += x * log(x / s.total[WEIGHT]) if x > 0 else 0.0
        else:
            score += x * x / (weight_of(s, s.total, k) + s.l2)
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
    cdef bint is_turned
    cdef double dot, size
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
        for k in range(s.q):
            a[k] = b[k] / size
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

    Parameters
    ----------
    bins : list of the bins of values that hold rows, increasing
        Categories are sorted.
    """
    cdef const double* missing = h + s.last * s.D
    cdef bint misses = s.has_missing and missing[COUNT] > 0
    cdef bint is_set = s.categorical != NULL and s.categorical[j]
    cdef bint shrinks = is_set and s.cat_smooth > 0
    cdef int search, k, after = 0, to = 0
    cdef double best = -INFINITY, score, n_left, before = 0.0, share = 1.0
    cdef double* all_shifts = left + s.D
    cdef double* shift = all_shifts + s.q
    cdef double* z = shift + s.q
    s.score[j], s.place[j] = -INFINITY, 0
    if is_set:
        order_categories(s, h, bins, n_full, z, all_shifts, shift)
        for k in range(n_full):
            s.order[j * s.n_bins + k] = bins[k]
    if shrinks:
        memset(all_shifts, 0, s.q * sizeof(double))
        for k in range(n_full):
            add_distance(s, h + bins[k] * s.D, z, all_shifts)
        if misses:
            add_distance(s, missing, z, all_shifts)
        before = score_of_node(s)
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
                best = s.score[j] = score
                s.place[j] = search * s.n_bins + (k if is_set else bins[k])
                if is_set:
                    s.share[j] = share


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
        s.score[j], s.place[j] = -INFINITY, 0
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
        i = k if s.rows == NULL else s.rows[k]
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


# --- what the growth calls -----------------------------------------------------------------------


cdef Search of_rows(
    const uint8_t[:, ::1] codes, Py_ssize_t n_bins, bint has_missing, const int32_t[::1] rows,
    const double[:, ::1] values
) except *:
    cdef Search s
    cdef Py_ssize_t k
    cdef int32_t low = 0, high = 0
    memset(&s, 0, sizeof(s))
    s.n, s.p, s.D = codes.shape[1], codes.shape[0], values.shape[1]
    require(s.p > 0 and s.n > 0 and values.shape[0] == s.n and s.D > FIRST and s.D % 4 == 0)
    require(0 < n_bins and n_bins + has_missing <= MOST_BINS)
    s.codes, s.values = &codes[0, 0], &values[0, 0]
    s.n_bins, s.has_missing, s.last = n_bins, has_missing, <int>n_bins - 1 + has_missing
    s.m = s.n
    if rows is not None:
        s.m = rows.shape[0]
        require(s.m > 0)
        for k in range(s.m):
            low, high = min(low, rows[k]), max(high, rows[k])
        require(low == 0 and high < s.n)
        s.rows = &rows[0]
    return s


def count_vectors(
    const uint8_t[:, ::1] codes not None, Py_ssize_t n_bins, bint has_missing,
    const int32_t[::1] rows or None, const double[:, ::1] values not None,
    double[:, :, ::1] table not None, int n_threads
):
    """Write the sums of the vectors of some rows in each bin of each column. O(m p D).

    Parameters
    ----------
    codes : uint8 array of shape (p, n)
    n_bins : int
        Codes of values are below this; the others are those of missing values.
    has_missing : bool
        Whether there is one more cell, for these.
    rows : int32 array of shape (m,) or None
        None for all rows.
    values : float64 array of shape (n, D)
    table : float64 array of shape (p, n_bins + has_missing, D)
        Output.
    n_threads : int
    """
    cdef Search s = of_rows(codes, n_bins, has_missing, rows, values)
    require(table.shape[0] == s.p and table.shape[1] == s.last + 1 and table.shape[2] == s.D)
    require(n_threads > 0)
    s.table = &table[0, 0, 0]
    s.n_parts = min(<Py_ssize_t>n_threads, s.p)
    with nogil:
        do_in_threads(count_part, &s, s.n_parts, n_threads)


def best_cuts(
    const uint8_t[:, ::1] codes not None, Py_ssize_t n_bins, bint has_missing,
    const int32_t[::1] rows or None, const double[:, ::1] values not None,
    double[:, :, ::1] table or None, const double[::1] total not None,
    Py_ssize_t n_targets, bint weighs_targets, rules, const uint8_t[::1] allowed or None,
    const uint8_t[::1] categorical or None, const double[:, ::1] draws or None,
    double[::1] score not None, int64_t[::1] place not None, double[::1] share not None,
    uint8_t[:, ::1] order or None, int n_threads
):
    """The best cut of each column. O(p bins D) from a table, O(m p D) from rows.

    Parameters
    ----------
    codes, n_bins, has_missing, rows, values
        As for `count_vectors`.
    table : float64 array or None
        The sums of the node, or None, where its rows are counted here.
    total : float64 array of shape (D,)
        The sum of all rows of the node.
    n_targets : int
        q.
    weighs_targets : bool
        Whether each target has a weight of its own.
    rules : trees._vector_growth.CutRules
    allowed : uint8 array of shape (p,) or None
        The columns to search; None for all.
    categorical : uint8 array of shape (p,) or None
        Whether the codes are numbers of categories; at most 255.
    draws : float64 array of shape (p, 2) or None
        Numbers in [0, 1), by which the one cut of each column is drawn; None for the best cuts.
    score : float64 array of shape (p,)
        Output, rounded for comparisons; -inf where there is no cut.
    place : int64 array of shape (p,)
        Output: the code, plus `n_bins` where missing values go to the left. Of categories, the
        place in their order.
    share : float64 array of shape (p,)
        Output for categories: the share of the gain that counts.
    order : uint8 array of shape (p, n_bins) or None
        Output, where there are categories: those of the node in their order.
    n_threads : int
    """
    cdef Search s = of_rows(codes, n_bins, has_missing, rows, values)
    cdef Py_ssize_t width = s.last + 1, n = max(n_threads, 1)
    cdef double* work
    require(score.shape[0] == s.p and place.shape[0] == s.p and total.shape[0] == s.D)
    require(share.shape[0] == s.p)
    require(n_targets > 0 and FIRST + n_targets * (1 + weighs_targets) <= s.D)
    if table is not None:
        require(table.shape[0] == s.p and table.shape[1] == width and table.shape[2] == s.D)
        s.table = &table[0, 0, 0]
    if allowed is not None:
        require(allowed.shape[0] == s.p)
        s.allowed = &allowed[0]
    s.q, s.weighs_targets, s.l2, s.by_entropy = n_targets, weighs_targets, rules.l2, rules.by_entropy
    s.room = s.D + 2 * s.q
    if categorical is not None:
        require(categorical.shape[0] == s.p and order.shape[0] == s.p)
        require(order.shape[1] == n_bins)
        s.categorical, s.order = &categorical[0], &order[0, 0]
        s.room += MOST_BINS * s.q
    if draws is not None:
        require(draws.shape[0] == s.p and draws.shape[1] == 2)
        s.draws = &draws[0, 0]
    s.least_weight, s.least_rows = rules.least_weight, rules.least_rows
    s.cat_smooth = rules.cat_smooth
    s.total, s.score, s.place, s.share = &total[0], &score[0], &place[0], &share[0]
    work = <double*>malloc(n * (s.room + (s.D * width if table is None else 0)) * sizeof(double))
    if work == NULL:
        raise MemoryError
    s.work, s.tables_of_threads = work, work + n * s.room
    with nogil:
        if table is None:
            memset(s.tables_of_threads, 0, n * s.D * width * sizeof(double))
        do_in_threads(search_column, &s, s.p, <int>n)
        free(work)
