"""Losses in one pass over the rows: value, negative gradient, and what leaf values need.

Every function takes the rows from `start` to `stop`, so that threads can share chunks of them out.
Sums are taken in the order of the rows, several in turn where one would wait for the other, and the
number of threads changes no bit. Where all rows weigh the same, `weight` has one entry.
"""

from libc.math cimport INFINITY, fabs
from libc.stdint cimport int32_t, int64_t, uint32_t
from libc.stdlib cimport calloc, free, malloc

from .arrays cimport require

cdef extern from "losses.h" nogil:
    enum:
        BLOCK
    ctypedef enum LossKind:
        SQUARED, HUBER, KINK, POISSON, LOGISTIC, EXPONENTIAL
    ctypedef struct Kink:
        double left, right
    ctypedef struct RowOptions:
        LossKind kind
        double delta
        Kink above, below
    double smaller(double, double)
    double larger(double, double)
    double sum_losses_of_rows(
        const RowOptions*, const double*, const double*, const double*, double, Py_ssize_t,
        double*)
    double sum_losses_of_classes(
        const int64_t*, const double*, Py_ssize_t, const double*, double, Py_ssize_t, double*,
        double*)
    void curvatures_of_rows(
        const RowOptions*, const double*, const double*, Py_ssize_t, double*)
    void huber_terms(
        const double*, const double*, const int32_t*, const double*, Py_ssize_t, double, double*)
    bint leaves_are_below(const int32_t*, Py_ssize_t, Py_ssize_t)
    bint classes_are_below(const int64_t*, Py_ssize_t, Py_ssize_t)
    void curvatures_of_class(
        const int64_t*, const double*, Py_ssize_t, Py_ssize_t, const double*, Py_ssize_t, double*)

KINDS = {
    "squared": SQUARED, "huber": HUBER, "kink": KINK, "poisson": POISSON, "logistic": LOGISTIC,
    "exponential": EXPONENTIAL,
}

cdef enum:
    # With more leaves than this, neighbouring rows are mostly in different ones.
    MANY_LEAVES = 256
    # Rows of a leaf are counted in so many intervals; those of one interval are looked at closely.
    N_INTERVALS = 512
    # At most so many intervals in all leaves together: their tables must stay in the cache.
    MAX_INTERVALS = 131072

# One kink more or less by rounding would move the minimum by a whole gap. As in `root_of_jumps`.
cdef double JUMP_TOLERANCE = 1e-12, ROUNDING = 2.3e-16


cdef class Loss:
    """What losses have in common: the sums in leaves, by the terms of their rows."""

    cdef const void* targets(self, y, Py_ssize_t n, Py_ssize_t K) except NULL:
        """The known targets of n rows with K scores; the array must be held meanwhile."""
        raise NotImplementedError

    cdef double sum_losses(self, const LossRows* rows, double* target) except? -1 nogil:
        """The weighted sum of the losses; fills in the target. O(n K)."""
        return 0.0

    cdef const double* terms(
        self, const LossRows* rows, Py_ssize_t score, const double* target, Py_ssize_t start,
        Py_ssize_t m, double* second
    ) noexcept nogil:
        """The two terms of `Loss.leaf_terms` of m rows from `start` on: returned, and filled in."""
        return target + start

    cdef double share_of_free_scores(self, Py_ssize_t K) noexcept nogil:
        """Newton steps are multiplied by it: scores of classes that move together change nothing."""
        return 1.0

    cdef int add_sums(
        self, const LossRows* rows, Py_ssize_t score, const double* target, const int32_t* leaf,
        Py_ssize_t n_leaves, double* sums
    ) except -1 nogil:
        """Add the sums of both terms and of the weights in each leaf. O(n + n_leaves).

        Parameters
        ----------
        target : n doubles
            The negative gradient in this score.
        leaf : n leaves
            Below `n_leaves`; that is not looked at.
        sums : 3 n_leaves doubles
        """
        cdef double[BLOCK] second
        cdef LeafTables tables
        cdef const double* first
        cdef Py_ssize_t i = 0, m
        allocate(&tables, n_leaves, rows)
        while i < rows.n:
            m = min(<Py_ssize_t>BLOCK, rows.n - i)
            first = self.terms(rows, score, target, i, m, second)
            add_rows(&tables, first, second, leaf + i, i, m)
            i += m
        add_tables(&tables, sums)
        free(tables.tables[0])
        return 0


cdef class RowLoss(Loss):
    """A loss with one score a row.

    Parameters
    ----------
    kind : str
        One of `KINDS`.
    delta : float, default=0.0
        Of "huber": the residual at which the square turns into a line.
    above, below : tuple of two floats
        Of "kink": the slopes on its left and right, for y > 0 and for other y.
    """

    cdef RowOptions options

    def __init__(self, kind, *, double delta=0.0, above=(0.0, 0.0), below=(0.0, 0.0)):
        require(kind in KINDS)
        self.options.kind = KINDS[kind]
        self.options.delta = delta
        self.options.above.left, self.options.above.right = above
        self.options.below.left, self.options.below.right = below

    cdef const void* targets(self, y, Py_ssize_t n, Py_ssize_t K) except NULL:
        cdef const double[::1] known = y
        require(known.shape[0] == n and n > 0 and K == 1)
        return &known[0]

    cdef double sum_losses(self, const LossRows* rows, double* target) except? -1 nogil:
        return sum_losses_of_rows(
            &self.options, <const double*>rows.y, rows.u, rows.each, rows.same, rows.n, target)

    cdef const double* terms(
        self, const LossRows* rows, Py_ssize_t score, const double* target, Py_ssize_t start,
        Py_ssize_t m, double* second
    ) noexcept nogil:
        curvatures_of_rows(&self.options, rows.u + start, target + start, m, second)
        return (<const double*>rows.y if self.options.kind == POISSON else target) + start

    def value(
        self,
        const double[::1] y,
        const double[::1] u,
        const double[::1] weight,
        double[::1] target,
        Py_ssize_t start,
        Py_ssize_t stop,
    ):
        """The weighted sum of the losses; fills in the target, the negative gradient. O(n)."""
        cdef Py_ssize_t n = y.shape[0]
        cdef LossRows rows
        cdef double total
        require(0 <= start <= stop <= n and u.shape[0] == n and target.shape[0] == n
                and (weight.shape[0] == n or weight.shape[0] == 1))
        if start == stop:
            return 0.0
        rows = LossRows(
            &y[start], &u[start], each_from(weight, start), weight[0], stop - start, 1)
        with nogil:
            total = self.sum_losses(&rows, &target[start])
        return total

    def add_leaf_sums(
        self,
        const double[::1] y,
        const double[::1] u,
        const double[::1] weight,
        const double[::1] target,
        const int32_t[::1] leaf,
        Py_ssize_t start,
        Py_ssize_t stop,
        double[:, ::1] sums,
    ):
        """Add the sums of the two terms of `Loss.leaf_terms`, and of the weights. O(n + n_leaves).

        Parameters
        ----------
        target : float64 array of shape (n,)
            The negative gradient at u.
        leaf : int32 array of shape (n,)
        sums : float64 array of shape (n_leaves, 3)
            Changed in place.
        """
        cdef Py_ssize_t n = y.shape[0]
        cdef LossRows rows
        require(0 <= start <= stop <= n and u.shape[0] == n and target.shape[0] == n
                and leaf.shape[0] == n and sums.shape[1] == 3
                and (weight.shape[0] == n or weight.shape[0] == 1))
        if start == stop:
            return
        require(leaves_are_below(&leaf[start], stop - start, sums.shape[0]))
        rows = LossRows(
            &y[start], &u[start], each_from(weight, start), weight[0], stop - start, 1)
        with nogil:
            self.add_sums(&rows, 0, &target[start], &leaf[start], sums.shape[0], &sums[0, 0])


cdef class ClassLoss(Loss):
    """The loss of K classes: y has their codes, and u K scores a row; see `MultinomialLoss`."""

    cdef const void* targets(self, y, Py_ssize_t n, Py_ssize_t K) except NULL:
        cdef const int64_t[::1] known = y
        require(known.shape[0] == n and n > 0 and classes_are_below(&known[0], n, K))
        return &known[0]

    cdef double sum_losses(self, const LossRows* rows, double* target) except? -1 nogil:
        cdef double total
        cdef double* shares = <double*>malloc(rows.K * BLOCK * sizeof(double))
        if shares == NULL:
            raise MemoryError
        total = sum_losses_of_classes(
            <const int64_t*>rows.y, rows.u, rows.K, rows.each, rows.same, rows.n, target, shares)
        free(shares)
        return total

    cdef const double* terms(
        self, const LossRows* rows, Py_ssize_t score, const double* target, Py_ssize_t start,
        Py_ssize_t m, double* second
    ) noexcept nogil:
        curvatures_of_class(
            <const int64_t*>rows.y + start, rows.u + start * rows.K, rows.K, score,
            target + start, m, second)
        return target + start

    cdef double share_of_free_scores(self, Py_ssize_t K) noexcept nogil:
        return <double>(K - 1) / <double>K

    def value(
        self,
        const int64_t[::1] y,
        const double[:, ::1] u,
        const double[::1] weight,
        double[:, ::1] target,
        Py_ssize_t start,
        Py_ssize_t stop,
    ):
        """The weighted sum of the losses; fills in the target, the negative gradient. O(n K)."""
        cdef Py_ssize_t n = y.shape[0], K = u.shape[1]
        cdef LossRows rows
        cdef double total
        require(0 <= start <= stop <= n and u.shape[0] == n and target.shape[0] == n
                and target.shape[1] == K and (weight.shape[0] == n or weight.shape[0] == 1))
        if start == stop:
            return 0.0
        require(classes_are_below(&y[start], stop - start, K))
        rows = LossRows(
            &y[start], &u[start, 0], each_from(weight, start), weight[0], stop - start, K)
        with nogil:
            total = self.sum_losses(&rows, &target[start, 0])
        return total

    def add_leaf_sums(
        self,
        const int64_t[::1] y,
        const double[:, ::1] u,
        const double[::1] weight,
        const double[::1] target,
        const int32_t[::1] leaf,
        Py_ssize_t score,
        Py_ssize_t start,
        Py_ssize_t stop,
        double[:, ::1] sums,
    ):
        """Add the sums of negative gradients and second derivatives in a score, and of the weights.

        As `RowLoss.add_leaf_sums`, with the negative gradient in that score. O(n + n_leaves); O(K)
        more for a row whose probability has lost its digits.
        """
        cdef Py_ssize_t n = y.shape[0], K = u.shape[1]
        cdef LossRows rows
        require(0 <= start <= stop <= n and u.shape[0] == n and target.shape[0] == n
                and leaf.shape[0] == n and sums.shape[1] == 3 and 0 <= score < K
                and (weight.shape[0] == n or weight.shape[0] == 1))
        if start == stop:
            return
        require(leaves_are_below(&leaf[start], stop - start, sums.shape[0]))
        rows = LossRows(
            &y[start], &u[start, 0], each_from(weight, start), weight[0], stop - start, K)
        with nogil:
            self.add_sums(&rows, score, &target[start], &leaf[start], sums.shape[0], &sums[0, 0])


cdef inline const double* each_from(const double[::1] weight, Py_ssize_t start) noexcept nogil:
    """The weights from a row on; NULL where all rows have the first one."""
    if weight.shape[0] == 1:
        return NULL
    return &weight[start]


# --- sums in the leaves ---------------------------------------------------------------------------


# Sums over the rows of a leaf: of weight times two numbers of a row, and of the weight.
cdef struct LeafSums:
    double first
    double second
    double weight


# The sums of all leaves, in four tables in turn: one sum must not wait for the other where
# neighbouring rows are in the same leaf. With many leaves the four are one.
cdef struct LeafTables:
    LeafSums* tables[4]
    int n_tables
    Py_ssize_t n_leaves
    const double* each  # weights; NULL where all rows have the one below
    double same


cdef int allocate(
    LeafTables* to, Py_ssize_t n_leaves, const LossRows* rows
) except -1 nogil:
    cdef int k
    to.n_leaves = n_leaves
    to.n_tables = 4 if n_leaves <= MANY_LEAVES else 1
    to.each, to.same = rows.each, rows.same
    to.tables[0] = <LeafSums*>calloc(to.n_tables * n_leaves, sizeof(LeafSums))
    if to.tables[0] == NULL:
        raise MemoryError
    for k in range(1, 4):
        to.tables[k] = to.tables[0] + k % to.n_tables * n_leaves
    return 0


cdef inline void add_rows(
    LeafTables* to, const double* first, const double* second, const int32_t* leaf,
    Py_ssize_t start, Py_ssize_t m
) noexcept nogil:
    """Add a block of m rows, of which the first is row `start` of the chunk, a multiple of 4."""
    cdef Py_ssize_t i
    if to.each == NULL:
        for i in range(0, m - 3, 4):
            add_row(&to.tables[0][leaf[i]], first[i], second[i], 1.0)
            add_row(&to.tables[1][leaf[i + 1]], first[i + 1], second[i + 1], 1.0)
            add_row(&to.tables[2][leaf[i + 2]], first[i + 2], second[i + 2], 1.0)
            add_row(&to.tables[3][leaf[i + 3]], first[i + 3], second[i + 3], 1.0)
        for i in range(m - m % 4, m):
            add_row(&to.tables[i & 3][leaf[i]], first[i], second[i], 1.0)
    else:
        for i in range(m):
            add_row(&to.tables[i & 3][leaf[i]], first[i], second[i], to.each[start + i])


cdef inline void add_row(LeafSums* to, double first, double second, double w) noexcept nogil:
    to.first += w * first
    to.second += w * second
    to.weight += w


cdef inline void add_tables(const LeafTables* found, double* sums) noexcept nogil:
    """sums[k] += what leaf k has in the tables, one after the other."""
    cdef Py_ssize_t k
    cdef int table
    cdef double scale = found.same if found.each == NULL else 1.0
    for table in range(found.n_tables):
        for k in range(found.n_leaves):
            sums[3 * k] += scale * found.tables[table][k].first
            sums[3 * k + 1] += scale * found.tables[table][k].second
            sums[3 * k + 2] += scale * found.tables[table][k].weight


def add_group_sums(
    const double[::1] values, const double[::1] weight, const int32_t[::1] group, double[::1] sums
):
    """sums[g] += the sum of weight * values in group g. O(n + n_groups)."""
    cdef Py_ssize_t i, k, n = values.shape[0], n_groups = sums.shape[0]
    cdef int table, n_tables = 4 if n_groups <= MANY_LEAVES else 1
    cdef double* tables[4]  # as in `LeafTables`
    cdef const double* v
    cdef const double* w
    cdef const int32_t* code
    require(weight.shape[0] == n and group.shape[0] == n)
    if n == 0:
        return
    v, w, code = &values[0], &weight[0], &group[0]
    require(leaves_are_below(code, n, n_groups))
    tables[0] = <double*>calloc(n_tables * n_groups, sizeof(double))
    if tables[0] == NULL:
        raise MemoryError
    with nogil:
        for table in range(1, 4):
            tables[table] = tables[0] + table % n_tables * n_groups
        for i in range(0, n - 3, 4):
            tables[0][code[i]] += w[i] * v[i]
            tables[1][code[i + 1]] += w[i + 1] * v[i + 1]
            tables[2][code[i + 2]] += w[i + 2] * v[i + 2]
            tables[3][code[i + 3]] += w[i + 3] * v[i + 3]
        for i in range(n - n % 4, n):
            tables[i & 3][code[i]] += w[i] * v[i]
        for table in range(n_tables):
            for k in range(n_groups):
                sums[k] += tables[table][k]
        free(tables[0])


# --- leaf values without second derivatives -------------------------------------------------------


def residual_ranges(
    const double[::1] y, const double[::1] u, const int32_t[::1] leaf, double[::1] low,
    double[::1] high
):
    """The smallest and the largest y - u of each leaf; inf and -inf for one without rows. O(n)."""
    cdef Py_ssize_t i, k, n = y.shape[0]
    cdef double r
    cdef const double* known
    cdef const double* scores
    cdef const int32_t* code
    cdef double* lowest
    cdef double* highest
    require(u.shape[0] == n and leaf.shape[0] == n and low.shape[0] == high.shape[0])
    low[:], high[:] = INFINITY, -INFINITY
    if n == 0:
        return
    require(leaves_are_below(&leaf[0], n, low.shape[0]))
    known, scores, code, lowest, highest = &y[0], &u[0], &leaf[0], &low[0], &high[0]
    with nogil:
        for i in range(n):
            r = known[i] - scores[i]
            k = code[i]
            lowest[k] = smaller(lowest[k], r)
            highest[k] = larger(highest[k], r)


def huber_slopes(
    const double[::1] y,
    const double[::1] u,
    const double[::1] weight,
    const int32_t[::1] leaf,
    double delta,
    const double[::1] steps,
    Py_ssize_t start,
    Py_ssize_t stop,
    double[:, ::1] sums,
):
    """Derivatives of Huber's risk along each leaf's step. O(n), in the order of the rows.

    Parameters
    ----------
    steps : float64 array of shape (n_leaves,)
    sums : float64 array of shape (n_leaves, 2)
        To these are added: the first derivative at the leaf's step, and the weight of the rows
        that are within delta there.
    """
    cdef Py_ssize_t i, j, m, n = y.shape[0]
    cdef double w
    cdef double[2 * BLOCK] terms
    cdef const double* each
    cdef const int32_t* code
    cdef double* own
    cdef double* to
    require(0 <= start <= stop <= n and u.shape[0] == n and leaf.shape[0] == n
            and sums.shape[0] == steps.shape[0] and sums.shape[1] == 2
            and (weight.shape[0] == n or weight.shape[0] == 1))
    if start == stop:
        return
    require(leaves_are_below(&leaf[start], stop - start, steps.shape[0]))
    code, to, each, w = &leaf[0], &sums[0, 0], each_from(weight, 0), weight[0]
    with nogil:
        i = start
        while i < stop:
            m = min(<Py_ssize_t>BLOCK, stop - i)
            huber_terms(&y[i], &u[i], &leaf[i], &steps[0], m, delta, terms)
            for j in range(m):
                if each != NULL:
                    w = each[i + j]
                own = to + 2 * code[i + j]
                own[0] += w * terms[2 * j]
                own[1] += w * terms[2 * j + 1]
            i += m


# A leaf of a loss with a kink.
cdef struct KinkLeaf:
    double low, high  # of y - u, over the rows with weight
    double[2] sums  # weights of the rows with y <= 0 and with y > 0
    int64_t n_rows
    double start  # the derivative at -inf, then at the first interval that is looked at
    double bound  # derivatives of at most this size are 0
    double scale  # intervals a unit
    int32_t chosen, last  # in these intervals the derivative rises above -bound and above +bound
    int64_t first, filled  # the places of its first row that is looked at, and of the next one


# A row at which the derivative jumps.
cdef struct Jump:
    double position
    double size


def kink_leaves(
    RowLoss loss not None,
    const double[::1] y,
    const double[::1] u,
    const double[::1] weight,
    const int32_t[::1] leaf,
    double[::1] steps,
):
    """The step that minimises the risk in each leaf, for a loss with one kink at y.

    It is a weighted quantile of y - u: where the derivative, which jumps up at each of these,
    passes 0. Where the derivative is 0 on an interval, its middle.

    Parameters
    ----------
    loss : RowLoss("kink", ...)
    y, u : float64 arrays of shape (n,)
    weight : float64 array of shape (n,) or (1,)
    leaf : int32 array of shape (n,)
    steps : float64 array of shape (n_leaves,)
        Output; 0 for a leaf without rows that jump.

    Notes
    -----
    Two passes over the rows count the jumps in intervals, and the rows of the interval in which the
    derivative passes 0 are partitioned further: O(n) on average.
    """
    cdef Py_ssize_t n = y.shape[0], n_leaves = steps.shape[0], k
    cdef Py_ssize_t n_intervals = max(2, min(N_INTERVALS, MAX_INTERVALS // max(n_leaves, 1)))
    cdef const double* each = NULL
    # By how much the derivative jumps up at a row with y <= 0, and with y > 0.
    cdef double[2] jump = [loss.options.below.right - loss.options.below.left,
                           loss.options.above.right - loss.options.above.left]
    cdef KinkLeaf* leaves = NULL
    # Of each interval; apart, as the jumps of those without rows are not looked at.
    cdef int32_t* counts = NULL
    cdef double* totals = NULL
    cdef Jump* jumps = NULL
    require(loss.options.kind == KINK and u.shape[0] == n and leaf.shape[0] == n
            and (weight.shape[0] == n or weight.shape[0] == 1))
    steps[:] = 0.0
    if n == 0:
        return
    require(leaves_are_below(&leaf[0], n, n_leaves))
    each = each_from(weight, 0)
    try:
        leaves = <KinkLeaf*>malloc((n_leaves + 1) * sizeof(KinkLeaf))
        counts = <int32_t*>calloc(n_leaves * n_intervals, sizeof(int32_t))
        totals = <double*>calloc(n_leaves * n_intervals, sizeof(double))
        if leaves == NULL or counts == NULL or totals == NULL:
            raise MemoryError
        with nogil:
            describe_leaves(
                &loss.options, jump, &y[0], &u[0], each, &leaf[0], n, leaves, n_leaves,
                n_intervals)
            count_jumps(
                jump, &y[0], &u[0], each, &leaf[0], n, leaves, counts, totals, n_intervals)
            choose_intervals(leaves, n_leaves, counts, totals, n_intervals)
        jumps = <Jump*>malloc(max(leaves[n_leaves].first, 1) * sizeof(Jump))
        if jumps == NULL:
            raise MemoryError
        with nogil:
            collect_jumps(jump, &y[0], &u[0], each, &leaf[0], n, leaves, n_intervals, jumps)
            for k in range(n_leaves):
                if leaves[k].first < leaves[k + 1].first:
                    steps[k] = quantile_of_leaf(
                        &leaves[k], jumps + leaves[k].first,
                        leaves[k + 1].first - leaves[k].first)
    finally:
        free(leaves)
        free(counts)
        free(totals)
        free(jumps)


cdef void describe_leaves(
    const RowOptions* options, const double* jump, const double* y, const double* u,
    const double* each, const int32_t* leaf, Py_ssize_t n, KinkLeaf* leaves, Py_ssize_t n_leaves,
    Py_ssize_t n_intervals
) noexcept nogil:
    """Ranges and weights of the leaves, and what follows from them."""
    cdef Py_ssize_t i, k
    cdef double r, w, width, total
    cdef KinkLeaf* own
    for k in range(n_leaves + 1):
        leaves[k] = KinkLeaf(low=INFINITY, high=-INFINITY, sums=[0.0, 0.0], n_rows=0,
                             start=0.0, bound=0.0, scale=0.0, chosen=-1, last=-1, first=0, filled=0)
    for i in range(n):
        w = 1.0 if each == NULL else each[i]
        own = &leaves[leaf[i]]
        own.sums[y[i] > 0] += w
        own.n_rows += 1
        if w > 0:
            r = y[i] - u[i]
            own.low = smaller(own.low, r)
            own.high = larger(own.high, r)
    for k in range(n_leaves):
        own = &leaves[k]
        own.start = own.sums[1] * options.above.left + own.sums[0] * options.below.left
        total = own.sums[1] * jump[1] + own.sums[0] * jump[0]
        own.bound = (JUMP_TOLERANCE + ROUNDING * own.n_rows) * (total + fabs(own.start))
        # One interval where this is no usable number.
        width = own.high - own.low
        own.scale = n_intervals / width if width > 0 else 0.0
        if not (own.scale < 1e300 and width < 1e300):
            own.scale = 0.0


cdef inline int32_t interval_of(
    double position, const KinkLeaf* leaf, Py_ssize_t n_intervals
) noexcept nogil:
    """The interval that a position is in: never decreasing in the position."""
    cdef double where = (position - leaf.low) * leaf.scale
    if not where > 0:
        return 0
    return <int32_t>where if where < n_intervals - 1 else <int32_t>(n_intervals - 1)


cdef void count_jumps(
    const double* jump, const double* y, const double* u, const double* each,
    const int32_t* leaf, Py_ssize_t n, const KinkLeaf* leaves, int32_t* counts, double* totals,
    Py_ssize_t n_intervals
) noexcept nogil:
    """How many rows each interval of each leaf has, and their jumps together."""
    cdef Py_ssize_t i, j
    cdef double w
    for i in range(n):
        w = 1.0 if each == NULL else each[i]
        if w > 0:
            j = leaf[i] * n_intervals + interval_of(y[i] - u[i], &leaves[leaf[i]], n_intervals)
            totals[j] += w * jump[y[i] > 0]
            counts[j] += 1


cdef void choose_intervals(
    KinkLeaf* leaves, Py_ssize_t n_leaves, const int32_t* counts, const double* totals,
    Py_ssize_t n_intervals
) noexcept nogil:
    """The intervals that hold the quantile, and the places of their rows, up to the last `first`."""
    cdef Py_ssize_t k, at
    cdef int64_t size, seen, total = 0
    cdef double so_far, before
    cdef KinkLeaf* own
    for k in range(n_leaves):
        own = &leaves[k]
        so_far = before = own.start
        size = seen = 0
        for at in range(k * n_intervals, (k + 1) * n_intervals):
            if seen == own.n_rows:
                break
            if counts[at] == 0:
                continue
            seen += counts[at]
            own.last = <int32_t>(at - k * n_intervals)
            if not so_far > -own.bound:
                own.chosen, before = own.last, so_far
                size = 0
            size += counts[at]
            so_far += totals[at]
            if so_far > own.bound:
                break
        own.start = before
        own.first = own.filled = total
        total += size
    leaves[n_leaves].first = total


cdef void collect_jumps(
    const double* jump, const double* y, const double* u, const double* each,
    const int32_t* leaf, Py_ssize_t n, KinkLeaf* leaves, Py_ssize_t n_intervals, Jump* jumps
) noexcept nogil:
    """The rows of the chosen intervals, leaf after leaf."""
    cdef Py_ssize_t i
    cdef int32_t j
    cdef double r, w
    cdef KinkLeaf* own
    for i in range(n):
        w = 1.0 if each == NULL else each[i]
        if w > 0:
            r = y[i] - u[i]
            own = &leaves[leaf[i]]
            j = interval_of(r, own, n_intervals)
            # chosen <= j <= last by one comparison, which the processor predicts: rarely true.
            if <uint32_t>(j - own.chosen) <= <uint32_t>(own.last - own.chosen):
                jumps[own.filled] = Jump(r, w * jump[y[i] > 0])
                own.filled += 1


cdef double quantile_of_leaf(const KinkLeaf* leaf, Jump* jumps, Py_ssize_t n) noexcept nogil:
    """Where the derivative passes 0; the middle where it is 0 between two jumps."""
    cdef double after, further
    cdef double step = passing_position(jumps, n, leaf.start, -leaf.bound, &after)
    if after > leaf.bound:
        return step
    further = passing_position(jumps, n, leaf.start, leaf.bound, &after)
    return 0.5 * step + 0.5 * further


cdef double passing_position(
    Jump* jumps, Py_ssize_t n, double start, double bound, double* after
) noexcept nogil:
    """The smallest position at which start plus the jumps so far exceeds the bound.

    The largest position where it never does. Reorders the n > 0 jumps; `after` gets the sum there.
    """
    cdef Py_ssize_t first = 0, last = n, i, k, m
    cdef double before = start, a, b, c, pivot, below, at
    cdef Jump jump
    while True:
        a, b, c = (jumps[first].position, jumps[(first + last) // 2].position,
                   jumps[last - 1].position)
        pivot = larger(smaller(a, b), smaller(larger(a, b), c))
        # below: [first, i), at the pivot: [i, k), above: [m, last)
        i = k = first
        m = last
        below = at = 0.0
        while k < m:
            jump = jumps[k]
            if jump.position < pivot:
                below += jump.size
                jumps[k], jumps[i] = jumps[i], jump
                i += 1
                k += 1
            elif jump.position > pivot:
                m -= 1
                jumps[k], jumps[m] = jumps[m], jump
            else:
                at += jump.size
                k += 1
        if i > first and before + below > bound:
            last = i
        elif before + below + at > bound or m == last:
            after[0] = before + below + at
            return pivot
        else:
            before += below + at
            first = m
