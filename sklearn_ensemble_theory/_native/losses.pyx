"""Losses in one pass over the rows: value, negative gradient, and what leaf values need.

Rows are shared out among threads in chunks. Sums are taken in the order of the rows of a chunk,
several in turn where one would wait for the other, and then in the order of the chunks: the number
of threads changes no bit. Where all rows weigh the same, `weight` has one entry.
"""

from libc.math cimport INFINITY, copysign, exp, expm1, fabs, log, log1p
from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from .arrays cimport require
from .threads cimport do_in_threads, n_row_chunks, start_of_part

cdef extern from "losses.h" nogil:
    enum:
        BLOCK
    double MAX_EXPONENT
    double smaller(double, double)
    double larger(double, double)
    double sum_losses_of_rows(
        const LossOptions*, const double*, const double*, const double*, double, Py_ssize_t,
        double*)
    double sum_losses_of_classes(
        const int64_t*, const double*, Py_ssize_t, const double*, double, Py_ssize_t, double*,
        double*)
    void exp_of_both_terms(
        const LossOptions*, const double*, Py_ssize_t, double*, double*)
    void curvatures_of_rows(
        const LossOptions*, const double*, const double*, Py_ssize_t, double*)
    void huber_terms(
        const double*, const double*, const int32_t*, const double*, Py_ssize_t, double, double*)
    bint leaves_are_below(const int32_t*, Py_ssize_t, Py_ssize_t)
    bint classes_are_below(const int64_t*, Py_ssize_t, Py_ssize_t)
    double class_curvature(double)
    void curvatures_of_class(
        const int64_t*, const double*, Py_ssize_t, Py_ssize_t, const double*, Py_ssize_t, double*)
    void curvatures_and_sizes(const double*, Py_ssize_t, Py_ssize_t, double*, double*)
    void newton_targets_of_class(
        const double*, Py_ssize_t, Py_ssize_t, double, double, const double*, double*, double*)
    ctypedef struct WeightedSum:
        double[4] sums
        const double* each
        double same
    void add_block(WeightedSum*, double*, Py_ssize_t, Py_ssize_t)
    double result(const WeightedSum*)

KINDS = {
    "squared": SQUARED, "huber": HUBER, "kink": KINK, "poisson": POISSON, "tweedie": TWEEDIE,
    "binomial": BINOMIAL, "logistic": LOGISTIC, "exponential": EXPONENTIAL,
    "multinomial": MULTINOMIAL,
}

# Numbers of leaves: those of rounds in native code, and of others.
ctypedef fused Leaf:
    uint16_t
    int32_t

cdef enum:
    # With more leaves than this, neighbouring rows are mostly in different ones.
    MANY_LEAVES = 256
    # Rows of a leaf are counted in so many intervals; those of one interval are looked at closely.
    N_INTERVALS = 512
    # At most so many intervals in all leaves together: their tables must stay in the cache.
    MAX_INTERVALS = 131072
    # With more leaves their sums are taken over all rows at once: a table a chunk would be too large.
    MAX_CHUNKED_LEAVES = 1024

# Of a probability this far from 1 the distance from 1 has ten digits.
cdef double LOST = 1e-6
# An expected number of events below this is none (as in `log_ratio_steps`), or has lost its digits.
cdef double SMALLEST_RATE = 1e-290
# One kink more or less by rounding would move the minimum by a whole gap. As in `root_of_jumps`.
cdef double JUMP_TOLERANCE = 1e-12, ROUNDING = 2.3e-16


cdef class Loss:
    """A loss, by its name.

    Parameters
    ----------
    kind : str
        One of `KINDS`; "multinomial" has a score for each class, the others have one.
    delta : float, default=0.0
        Of "huber": the residual at which the square turns into a line.
    power : float, default=1.5
        Of "tweedie": above 1, at most 2.
    above, below : tuple of two floats
        Of "kink": the slopes on its left and right, for y > 0 and for other y.
    """

    def __init__(
        self, kind, *, double delta=0.0, double power=1.5, above=(0.0, 0.0), below=(0.0, 0.0)
    ):
        require(kind in KINDS and 1.0 < power <= 2.0)
        self.options.kind = KINDS[kind]
        self.options.delta, self.options.power = delta, power
        self.options.above.left, self.options.above.right = above
        self.options.below.left, self.options.below.right = below

    cdef LossRows rows(
        self, y, const double[::1] u, const double[::1] weight, int n_threads
    ) except *:
        """The rows, whose arrays must be held meanwhile."""
        cdef const double[::1] targets
        cdef const int64_t[::1] codes
        cdef LossRows rows
        rows.options, rows.u, rows.n_threads = &self.options, NULL, n_threads
        if self.options.kind == MULTINOMIAL:
            codes = y
            rows.n = codes.shape[0]
            require(rows.n > 0 and u.shape[0] > 0 and u.shape[0] % rows.n == 0)
            rows.K = u.shape[0] // rows.n
            require(classes_are_below(&codes[0], rows.n, rows.K))
            rows.y = &codes[0]
        else:
            targets = y
            rows.n, rows.K = targets.shape[0], 1
            require(rows.n > 0 and u.shape[0] == rows.n)
            rows.y = &targets[0]
        require(weight.shape[0] == rows.n or weight.shape[0] == 1)
        rows.u, rows.same, rows.each = &u[0], weight[0], each_of(weight)
        return rows

    def value(
        self, y, const double[::1] u, const double[::1] weight, double[::1] target, int n_threads
    ):
        """The weighted sum of the losses; fills in the target, the negative gradient. O(n K).

        Parameters
        ----------
        y : float64 array of shape (n,); int64 codes of classes for "multinomial"
        u, target : float64 arrays of shape (n K,)
            The K scores of row after row.
        weight : float64 array of shape (n,), or (1,) where all rows weigh the same
        n_threads : int
        """
        cdef LossRows rows
        cdef double total
        if len(y) == 0:
            require(u.shape[0] == 0 and target.shape[0] == 0)
            return 0.0
        rows = self.rows(y, u, weight, n_threads)
        require(target.shape[0] == u.shape[0])
        with nogil:
            total = sum_losses(&rows, &target[0])
        return total

    def curvatures(
        self, const double[::1] u, const double[::1] target, double[::1] second, int n_threads
    ):
        """Fill in the second derivatives, of losses with one score that have them. O(n).

        Parameters
        ----------
        u, target, second : float64 arrays of shape (n,)
            The scores and the negative gradients; what is filled in.
        n_threads : int
        """
        cdef Curvatures to = Curvatures(&self.options, NULL, NULL, NULL, u.shape[0], 0)
        require(self.options.kind not in (HUBER, KINK, MULTINOMIAL)
                and target.shape[0] == to.n and second.shape[0] == to.n)
        if to.n == 0:
            return
        to.u, to.target, to.second, to.n_chunks = &u[0], &target[0], &second[0], n_row_chunks(to.n)
        with nogil:
            do_in_threads(curvatures_of_chunk, &to, to.n_chunks, n_threads)

    def add_leaf_sums(
        self, y, const double[::1] u, const double[::1] weight, const double[::1] target,
        const int32_t[::1] leaf, Py_ssize_t score, double[:, ::1] sums, int n_threads
    ):
        """Add the sums of the two terms of `Loss.leaf_terms`, and of the weights. O(n + n_leaves).

        For classes O(K) more for a row whose probability has lost its digits.

        Parameters
        ----------
        y, u, weight, n_threads
            As for `value`.
        target : float64 array of shape (n,)
            The negative gradient in this score.
        leaf : int32 array of shape (n,)
        score : int
            0 where there is one.
        sums : float64 array of shape (n_leaves, 3)
            Changed in place.
        """
        cdef LossRows rows
        if len(y) == 0:
            return
        rows = self.rows(y, u, weight, n_threads)
        require(target.shape[0] == rows.n and leaf.shape[0] == rows.n and sums.shape[1] == 3
                and 0 <= score < rows.K and leaves_are_below(&leaf[0], rows.n, sums.shape[0]))
        with nogil:
            add_leaf_sums(
                &rows, score, &target[0], &leaf[0], sizeof(int32_t), sums.shape[0], &sums[0, 0])

    def leaf_steps(
        self, y, const double[::1] u, const double[::1] weight, const double[::1] target,
        const int32_t[::1] leaf, Py_ssize_t score, double[::1] steps, double rate, double longest,
        int n_threads
    ):
        """The steps of leaves by which boosting lowers the loss. O(n + n_leaves).

        Newton steps, or the exact minima of losses with a logarithmic link or a kink; not of
        "huber", whose derivative has two kinks.

        Parameters
        ----------
        y, u, weight, target, leaf, score, n_threads
            As for `add_leaf_sums`.
        steps : float64 array of shape (n_leaves,)
            Output; 0 for a leaf without rows.
        rate, longest : float
            The share of the steps that is taken; steps of at most this length raise no loss.
        """
        cdef LossRows rows
        cdef double* sums
        if len(y) == 0:
            steps[:] = 0.0
            return
        rows = self.rows(y, u, weight, n_threads)
        require(self.options.kind != HUBER and target.shape[0] == rows.n
                and leaf.shape[0] == rows.n and 0 <= score < rows.K
                and leaves_are_below(&leaf[0], rows.n, steps.shape[0]))
        sums = <double*>malloc(3 * steps.shape[0] * sizeof(double))
        if sums == NULL:
            raise MemoryError
        try:
            with nogil:
                leaf_steps(
                    &rows, score, &target[0], &leaf[0], sizeof(int32_t), steps.shape[0], rate,
                    longest, sums, &steps[0])
        finally:
            free(sums)

    def shorten_steps(
        self, y, const double[::1] u, const double[::1] weight, const double[::1] target,
        const int32_t[::1] leaf, Py_ssize_t score, double[::1] steps, double rate, double longest,
        int n_threads
    ):
        """Shorten steps that would raise the loss of a leaf, of losses of classes. O(n + n_leaves).

        For a row whose probability has lost its digits O(K) more. Steps may be those of regularised
        leaves, and rows of weight 0 do not count.

        Parameters
        ----------
        y, u, weight, target, leaf, score, rate, longest, n_threads
            As for `leaf_steps`.
        steps : float64 array of shape (n_leaves,)
            Changed in place.
        """
        cdef LossRows rows = self.rows(y, u, weight, n_threads)
        require(target.shape[0] == rows.n and leaf.shape[0] == rows.n and 0 <= score < rows.K
                and leaves_are_below(&leaf[0], rows.n, steps.shape[0]))
        with nogil:
            shorten_steps(&rows, score, &target[0], &leaf[0], sizeof(int32_t), steps.shape[0],
                          &steps[0], rate, longest)


def mean_curvature(
    const double[:, ::1] first not None, const double[::1] weight not None, int n_threads
):
    """The means over rows and classes of the second derivatives and of the sizes of the first ones.

    Parameters
    ----------
    first : float64 array of shape (n, K)
        Negative gradients of the losses of classes.
    weight : float64 array of shape (n,) or (1,)
        Of the rows, as for `Loss.value`.
    n_threads : int
    """
    cdef NewtonRows to = newton_rows(first, weight)
    cdef Py_ssize_t k
    cdef double second = 0.0, size = 0.0
    to.sums = <double*>malloc(2 * to.n_chunks * sizeof(double))
    if to.sums == NULL:
        raise MemoryError
    with nogil:
        do_in_threads(add_curvatures, &to, to.n_chunks, n_threads)
        for k in range(to.n_chunks):
            second += to.sums[2 * k]
            size += to.sums[2 * k + 1]
        free(to.sums)
    return second / to.K, size / to.K


def newton_targets(
    const double[:, ::1] first not None, const double[::1] given or None, double ratio,
    double least, double[:, ::1] target not None, double[:, ::1] weight not None, int n_threads
):
    """Newton's steps of the rows in the scores of classes, and their weights. O(n K).

    Parameters
    ----------
    first, n_threads
        As for `mean_curvature`.
    given : float64 array of shape (n,) or None
        By which the weights are multiplied; None for 1.
    ratio, least : float
        Second derivatives are at least `least`, and `ratio` times the size of the first one.
    target, weight : float64 arrays of shape (K, n)
        Output: the rows of a class are side by side.
    """
    cdef NewtonRows to = newton_rows(first, None)
    require(given is None or given.shape[0] == to.n)
    require(target.shape[0] == to.K and target.shape[1] == to.n)
    require(weight.shape[0] == to.K and weight.shape[1] == to.n)
    to.each = &given[0] if given is not None else NULL
    to.ratio, to.least, to.target, to.weight = ratio, least, &target[0, 0], &weight[0, 0]
    with nogil:
        do_in_threads(write_newton_targets, &to, to.n_chunks, n_threads)


cdef inline const double* each_of(const double[::1] weight) noexcept nogil:
    """The weights of the rows; NULL where all have the first one."""
    if weight.shape[0] == 1:
        return NULL
    return &weight[0]


# --- sums of losses -------------------------------------------------------------------------------


cdef struct Values:
    # What the chunks of a sum of losses share.
    const LossRows* rows
    double* target
    double* sums  # of each chunk
    double* shares  # of classes: room for each thread
    Py_ssize_t n_chunks


cdef double sum_losses(const LossRows* rows, double* target) except? -1 nogil:
    """The weighted sum of the losses; fills in the target. O(n K)."""
    cdef Py_ssize_t n_chunks = n_row_chunks(rows.n), k
    cdef double total = 0.0
    cdef Values values = Values(rows, target, NULL, NULL, n_chunks)
    cdef int n_threads = <int>max(min(rows.n_threads, n_chunks), 1)
    cdef Py_ssize_t n_shares = 0
    if rows.options.kind == MULTINOMIAL:
        n_shares = n_threads * rows.K * BLOCK
    values.sums = <double*>malloc((n_chunks + n_shares) * sizeof(double))
    if values.sums == NULL:
        raise MemoryError
    values.shares = values.sums + n_chunks
    do_in_threads(sum_losses_of_chunk, &values, n_chunks, n_threads)
    for k in range(n_chunks):
        total += values.sums[k]
    free(values.sums)
    return total


cdef void sum_losses_of_chunk(void* context, Py_ssize_t k, int thread) noexcept nogil:
    cdef const Values* v = <const Values*>context
    cdef const LossRows* rows = v.rows
    cdef Py_ssize_t start = start_of_part(k, rows.n, v.n_chunks), K = rows.K
    cdef Py_ssize_t n = start_of_part(k + 1, rows.n, v.n_chunks) - start
    cdef const double* each = rows.each + start if rows.each != NULL else NULL
    if rows.options.kind == MULTINOMIAL:
        v.sums[k] = sum_losses_of_classes(
            <const int64_t*>rows.y + start, rows.u + start * K, K, each, rows.same, n,
            v.target + start * K, v.shares + thread * K * BLOCK)
    else:
        v.sums[k] = sum_losses_of_rows(
            rows.options, <const double*>rows.y + start, rows.u + start, each, rows.same, n,
            v.target + start)


# --- second derivatives ---------------------------------------------------------------------------


# What the chunks of second derivatives share.
cdef struct Curvatures:
    const LossOptions* options
    const double* u
    const double* target
    double* second
    Py_ssize_t n, n_chunks


cdef void curvatures_of_chunk(void* context, Py_ssize_t k, int thread) noexcept nogil:
    cdef const Curvatures* to = <const Curvatures*>context
    cdef Py_ssize_t i = start_of_part(k, to.n, to.n_chunks), m
    cdef Py_ssize_t stop = start_of_part(k + 1, to.n, to.n_chunks)
    cdef double[BLOCK] second
    while i < stop:
        m = min(<Py_ssize_t>BLOCK, stop - i)
        curvatures_of_rows(to.options, to.u + i, to.target + i, m, second)
        memcpy(to.second + i, second, m * sizeof(double))
        i += m


cdef void second_derivatives(
    const LossRows* rows, const double* target, double* second
) noexcept nogil:
    """Those of losses with one score that have them, from the negative gradients. O(n)."""
    cdef Curvatures to = Curvatures(rows.options, rows.u, target, second, rows.n, 0)
    cdef Py_ssize_t i
    if rows.options.kind == LOGISTIC:
        for i in range(rows.n):
            second[i] = class_curvature(target[i])
        return
    to.n_chunks = n_row_chunks(rows.n)
    do_in_threads(curvatures_of_chunk, &to, to.n_chunks, rows.n_threads)


# What the chunks of Newton's steps of rows share.
cdef struct NewtonRows:
    const double* first
    const double* each  # weights; NULL where all rows have the one below
    double same
    Py_ssize_t n, K, n_chunks
    double* sums  # of each chunk: of second derivatives, and of sizes of gradients
    double ratio, least
    double* target
    double* weight


cdef NewtonRows newton_rows(const double[:, ::1] first, const double[::1] weight) except *:
    cdef NewtonRows to
    to.n, to.K, to.n_chunks = first.shape[0], first.shape[1], n_row_chunks(first.shape[0])
    require(to.n > 0 and to.K > 0)
    to.first, to.each, to.same = &first[0, 0], NULL, 1.0
    if weight is not None:
        require(weight.shape[0] == to.n or weight.shape[0] == 1)
        to.each, to.same = each_of(weight), weight[0]
    return to


cdef void add_curvatures(void* context, Py_ssize_t chunk, int thread) noexcept nogil:
    cdef const NewtonRows* to = <const NewtonRows*>context
    cdef Py_ssize_t start = start_of_part(chunk, to.n, to.n_chunks), i = 0, m
    cdef Py_ssize_t n = start_of_part(chunk + 1, to.n, to.n_chunks) - start
    cdef const double* each = to.each + start if to.each != NULL else NULL
    cdef WeightedSum seconds = WeightedSum([0.0, 0.0, 0.0, 0.0], each, to.same)
    cdef WeightedSum sizes = seconds
    cdef double[BLOCK] second, size
    while i < n:
        m = min(<Py_ssize_t>BLOCK, n - i)
        curvatures_and_sizes(to.first + (start + i) * to.K, m, to.K, second, size)
        add_block(&seconds, second, i, m)
        add_block(&sizes, size, i, m)
        i += m
    to.sums[2 * chunk], to.sums[2 * chunk + 1] = result(&seconds), result(&sizes)


cdef void write_newton_targets(void* context, Py_ssize_t chunk, int thread) noexcept nogil:
    """Blocks of rows, which are in the cache for all classes."""
    cdef const NewtonRows* to = <const NewtonRows*>context
    cdef Py_ssize_t i = start_of_part(chunk, to.n, to.n_chunks), m, k
    cdef Py_ssize_t stop = start_of_part(chunk + 1, to.n, to.n_chunks)
    while i < stop:
        m = min(<Py_ssize_t>BLOCK, stop - i)
        for k in range(to.K):
            newton_targets_of_class(
                to.first + i * to.K + k, m, to.K, to.ratio, to.least,
                to.each + i if to.each != NULL else NULL, to.target + k * to.n + i,
                to.weight + k * to.n + i)
        i += m


# --- sums in the leaves ---------------------------------------------------------------------------


# Sums over the rows of a leaf: of weight times two numbers of a row, and of the weight.
cdef struct LeafSums:
    double first
    double second
    double weight


# What the chunks of sums in leaves share.
cdef struct LeafTables:
    const LossRows* rows
    Py_ssize_t score
    const double* target
    const void* leaf
    int leaf_size  # bytes of a leaf's number: 2 or 4
    LeafSums* tables  # of chunk after chunk
    Py_ssize_t n_leaves, n_chunks
    int n_tables  # of a chunk


cdef int add_leaf_sums(
    const LossRows* rows, Py_ssize_t score, const double* target, const void* leaf, int leaf_size,
    Py_ssize_t n_leaves, double* sums
) except -1 nogil:
    """Add the sums of both terms and of the weights in each leaf. O(n + n_leaves).

    Parameters
    ----------
    target : n doubles
        The negative gradient in this score.
    leaf : n numbers of `leaf_size` bytes
        Below `n_leaves`; that is not looked at.
    sums : 3 n_leaves doubles
    """
    cdef LeafTables to = LeafTables(
        rows, score, target, leaf, leaf_size, NULL, n_leaves, 1, 1)
    cdef const LeafSums* own
    cdef Py_ssize_t c, k
    to.n_chunks = n_row_chunks(rows.n) if n_leaves <= MAX_CHUNKED_LEAVES else 1
    to.n_tables = 4 if n_leaves <= MANY_LEAVES else 1
    to.tables = <LeafSums*>calloc(to.n_chunks * to.n_tables * n_leaves, sizeof(LeafSums))
    if to.tables == NULL:
        raise MemoryError
    do_in_threads(add_chunk, &to, to.n_chunks, rows.n_threads)
    for c in range(to.n_chunks):
        own = to.tables + c * to.n_tables * n_leaves
        for k in range(n_leaves):
            sums[3 * k] += own[k].first
            sums[3 * k + 1] += own[k].second
            sums[3 * k + 2] += own[k].weight
    free(to.tables)
    return 0


cdef void add_chunk(void* context, Py_ssize_t chunk, int thread) noexcept nogil:
    cdef const LeafTables* to = <const LeafTables*>context
    if to.leaf_size == 2:
        fill_tables(to, chunk, <const uint16_t*>to.leaf)
    else:
        fill_tables(to, chunk, <const int32_t*>to.leaf)


cdef void fill_tables(const LeafTables* to, Py_ssize_t chunk, const Leaf* leaf) noexcept nogil:
    """The sums over a chunk of rows, in its first table.

    Up to then they are in four tables in turn: one sum must not wait for the other where
    neighbouring rows are in the same leaf. With many leaves the four are one.
    """
    cdef const LossRows* rows = to.rows
    cdef LeafSums* tables[4]
    cdef LeafSums* total = to.tables + chunk * to.n_tables * to.n_leaves
    cdef Py_ssize_t i = start_of_part(chunk, rows.n, to.n_chunks)
    cdef Py_ssize_t stop = start_of_part(chunk + 1, rows.n, to.n_chunks), m, k
    cdef int table
    cdef double[BLOCK] second, events
    cdef const double* first
    cdef const double* y = <const double*>rows.y  # not of MULTINOMIAL
    cdef LeafSums sums
    cdef double scale = rows.same if rows.each == NULL else 1.0
    for table in range(4):
        tables[table] = total + table % to.n_tables * to.n_leaves
    while i < stop:
        m = min(<Py_ssize_t>BLOCK, stop - i)
        first = to.target + i
        if rows.options.kind == MULTINOMIAL:
            curvatures_of_class(
                <const int64_t*>rows.y + i, rows.u + i * rows.K, rows.K, to.score, first, m, second)
        elif rows.options.kind == TWEEDIE:
            exp_of_both_terms(rows.options, rows.u + i, m, second, events)
            for k in range(m):
                events[k] *= y[i + k]
            first = events
        else:
            curvatures_of_rows(rows.options, rows.u + i, first, m, second)
            if rows.options.kind == POISSON:
                first = y + i
        add_rows(tables, first, second, leaf + i, rows.each + i if rows.each != NULL else NULL, m)
        i += m
    for k in range(to.n_leaves):
        sums = LeafSums(0.0, 0.0, 0.0)
        for table in range(to.n_tables):
            sums.first += scale * tables[table][k].first
            sums.second += scale * tables[table][k].second
            sums.weight += scale * tables[table][k].weight
        total[k] = sums


cdef inline void add_rows(
    LeafSums** tables, const double* first, const double* second, const Leaf* leaf,
    const double* each, Py_ssize_t m
) noexcept nogil:
    """Add a block of m rows, of which the first is a multiple of 4 in its chunk."""
    cdef Py_ssize_t i
    if each == NULL:
        for i in range(0, m - 3, 4):
            add_row(&tables[0][leaf[i]], first[i], second[i], 1.0)
            add_row(&tables[1][leaf[i + 1]], first[i + 1], second[i + 1], 1.0)
            add_row(&tables[2][leaf[i + 2]], first[i + 2], second[i + 2], 1.0)
            add_row(&tables[3][leaf[i + 3]], first[i + 3], second[i + 3], 1.0)
        for i in range(m - m % 4, m):
            add_row(&tables[i & 3][leaf[i]], first[i], second[i], 1.0)
    else:
        for i in range(m):
            add_row(&tables[i & 3][leaf[i]], first[i], second[i], each[i])


cdef inline void add_row(LeafSums* to, double first, double second, double w) noexcept nogil:
    to.first += w * first
    to.second += w * second
    to.weight += w


# --- steps of leaves ------------------------------------------------------------------------------


cdef int leaf_steps(
    const LossRows* rows, Py_ssize_t score, const double* target, const void* leaf, int leaf_size,
    Py_ssize_t n_leaves, double rate, double longest, double* sums, double* steps
) except -1 nogil:
    """The steps of leaves by which boosting lowers the loss: `EmpiricalRisk.leaf_values`.

    Newton steps, or the exact minima of losses with a logarithmic link or a kink. O(n + n_leaves).

    Parameters
    ----------
    target, leaf, leaf_size, n_leaves
        As for `add_leaf_sums`.
    rate, longest
        As for `shorten_steps`.
    sums : 3 n_leaves doubles
        Room for sums.
    steps : n_leaves doubles
        Output.
    """
    cdef Py_ssize_t k
    cdef double share = 1.0
    if rows.options.kind == KINK:
        return kink_steps(rows, leaf, leaf_size, n_leaves, steps)
    memset(sums, 0, 3 * n_leaves * sizeof(double))
    add_leaf_sums(rows, score, target, leaf, leaf_size, n_leaves, sums)
    if rows.options.kind in (POISSON, TWEEDIE):
        for k in range(n_leaves):
            steps[k] = log_ratio_step(sums[3 * k], sums[3 * k + 1])
        return 0
    if rows.options.kind == MULTINOMIAL:  # scores of classes that move together change nothing
        share = <double>(rows.K - 1) / <double>rows.K
    for k in range(n_leaves):
        steps[k] = share * newton_step(sums[3 * k], sums[3 * k + 1], sums[3 * k + 2])
    return shorten_steps(rows, score, target, leaf, leaf_size, n_leaves, steps, rate, longest)


cdef inline double newton_step(double first, double second, double total) noexcept nogil:
    """As `newton_steps` of the losses in Python."""
    return 0.0 if second <= 1e-150 * total else first / second


cdef inline double log_ratio_step(double events, double expected) noexcept nogil:
    """As `log_ratio_steps` of the losses in Python."""
    cdef double ratio
    if not expected > SMALLEST_RATE:
        return 0.0
    if not events > 0:
        return -1.0
    ratio = events / expected
    return log(ratio) if 0 < ratio < INFINITY else log(events) - log(expected)


# --- steps that would raise the loss of a leaf ----------------------------------------------------


# What the chunks of the changes of leaves share.
cdef struct Changes:
    const LossRows* rows
    Py_ssize_t score
    const double* target
    const void* leaf
    int leaf_size
    const double* steps  # 0 for leaves that are not looked at
    double* tables  # of chunk after chunk
    Py_ssize_t n_leaves, n_chunks
    bint of_losses


cdef int shorten_steps(
    const LossRows* rows, Py_ssize_t score, const double* target, const void* leaf, int leaf_size,
    Py_ssize_t n_leaves, double* steps, double rate, double longest
) except -1 nogil:
    """Shorten the steps of leaves whose losses they would raise: see `lowering_steps`.

    Of the classes' losses alone: steps of the exponential loss are at most 1. A pass over the rows
    where a step is long, which finds the leaves with rows of both sides of the step; one more over
    these.

    Parameters
    ----------
    score, target, leaf, leaf_size, n_leaves
        As for `add_leaf_sums`.
    steps : n_leaves doubles
        Changed in place.
    rate, longest
        The share of the steps that is taken; steps of at most this length raise no loss.
    """
    cdef Changes to = Changes(
        rows, score, target, leaf, leaf_size, NULL, NULL, n_leaves, 1, False)
    cdef double* long_ones
    cdef Py_ssize_t c, k, n_long = 0
    cdef int looks
    if rows.options.kind not in (BINOMIAL, LOGISTIC, MULTINOMIAL):
        return 0
    for k in range(n_leaves):
        n_long += fabs(steps[k]) > longest
    if n_long == 0:
        return 0
    to.n_chunks = n_row_chunks(rows.n) if n_leaves <= MAX_CHUNKED_LEAVES else 1
    long_ones = <double*>malloc((1 + to.n_chunks) * n_leaves * sizeof(double))
    if long_ones == NULL:
        raise MemoryError
    to.steps, to.tables = long_ones, long_ones + n_leaves
    for k in range(n_leaves):
        long_ones[k] = rate * steps[k] if fabs(steps[k]) > longest else 0.0
    for looks in range(2):
        to.of_losses = looks == 1
        for k in range(to.n_chunks * n_leaves):
            to.tables[k] = 0.0
        do_in_threads(add_changes, &to, to.n_chunks, rows.n_threads)
        for c in range(1, to.n_chunks):
            for k in range(n_leaves):
                to.tables[k] += to.tables[c * n_leaves + k]
        for k in range(n_leaves):
            if long_ones[k] != 0 and to.tables[k] <= 0:
                long_ones[k] = 0.0  # no row of the other side, or a loss that falls
                n_long -= 1
        if n_long == 0:
            break
    for k in range(n_leaves):
        if long_ones[k] != 0:
            steps[k] = copysign(log1p(fabs(steps[k])), steps[k])
    free(long_ones)
    return 0


cdef void add_changes(void* context, Py_ssize_t chunk, int thread) noexcept nogil:
    cdef const Changes* to = <const Changes*>context
    if to.leaf_size == 2:
        add_changes_of(to, chunk, <const uint16_t*>to.leaf)
    else:
        add_changes_of(to, chunk, <const int32_t*>to.leaf)


cdef void add_changes_of(const Changes* to, Py_ssize_t chunk, const Leaf* leaf) noexcept nogil:
    """The number of rows of the other side of the step, or the changes of the losses of all rows.

    From log(1 + e^-m) the step d towards the row's class leads to log(1 + a (e^-d - 1)) more, where
    a = |target| is the probability of the other classes. A row with the share y of successes is y
    rows of one class and 1 - y of the other; so is a row of many classes whose target has lost the
    digits of the probability, or where that underflows.
    """
    cdef const LossRows* rows = to.rows
    cdef double* table = to.tables + chunk * to.n_leaves
    cdef double d, a, y, u
    cdef LossKind kind = rows.options.kind
    cdef Py_ssize_t i
    for i in range(start_of_part(chunk, rows.n, to.n_chunks),
                   start_of_part(chunk + 1, rows.n, to.n_chunks)):
        d = to.steps[leaf[i]]
        if d == 0:
            continue
        if kind == BINOMIAL:
            y = (<const double*>rows.y)[i]
        elif kind == LOGISTIC:
            y = (<const double*>rows.y)[i] > 0
        else:
            y = (<const int64_t*>rows.y)[i] == to.score
        if not to.of_losses:
            table[leaf[i]] += y < 1 if d > 0 else y > 0
            continue
        a = fabs(to.target[i])
        if kind == BINOMIAL:
            d = change_of_share(y, rows.u[i], d)
        elif kind == MULTINOMIAL and (a > 1 - LOST or a < (LOST if y == 1 else SMALLEST_RATE)):
            d = change_of_share(y, log_odds(rows.u + i * rows.K, rows.K, to.score), d)
        else:
            # Of a probability of 1 to rounding the distance from 1 is not known.
            d = change_of_log(smaller(a, 1.0 - 1.2e-16), -d if y == 1 else d)
        table[leaf[i]] += d * (rows.same if rows.each == NULL else rows.each[i])


cdef inline double log_odds(const double* u, Py_ssize_t K, Py_ssize_t score) noexcept nogil:
    """u_score minus the logarithm of the sum of exp(u_k) over the others."""
    cdef double top = -INFINITY, total = 0.0
    cdef Py_ssize_t k
    for k in range(K):
        if k != score:
            top = larger(top, u[k])
    for k in range(K):
        if k != score:
            total += exp(u[k] - top)
    return u[score] - top - log(total)


cdef inline double change_of_log(double a, double d) noexcept nogil:
    """log(1 + a (e^d - 1)), beyond the range of the exponential function too."""
    return log1p(a * expm1(d)) if d < MAX_EXPONENT else larger(log(a) + d, 0.0)


cdef inline double change_of_share(double y, double u, double d) noexcept nogil:
    """log(1 + e^(u + d)) - y (u + d) minus the same for d = 0."""
    cdef double rare
    if u > 0:  # by the rarer outcome, whose probability has all digits
        y, u, d = 1.0 - y, -u, -d
    if d > 1:
        return log1p_exp(u + d) - log1p_exp(u) - y * d
    rare = exp(u)
    return log1p(rare / (1.0 + rare) * expm1(d)) - y * d


cdef inline double log1p_exp(double u) noexcept nogil:
    return larger(u, 0.0) + log1p(exp(-fabs(u)))


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
    const double[::1] y, const double[::1] u, const double[::1] weight, const int32_t[::1] leaf,
    double delta, const double[::1] steps, double[:, ::1] sums, int n_threads
):
    """Derivatives of Huber's risk along each leaf's step. O(n), in the order of the rows.

    Parameters
    ----------
    steps : float64 array of shape (n_leaves,)
    sums : float64 array of shape (n_leaves, 2)
        To these are added: the first derivative at the leaf's step, and the weight of the rows
        that are within delta there.
    """
    cdef Py_ssize_t n = y.shape[0], n_leaves = steps.shape[0], c, k
    cdef Slopes to
    require(u.shape[0] == n and leaf.shape[0] == n and sums.shape[0] == n_leaves
            and sums.shape[1] == 2 and (weight.shape[0] == n or weight.shape[0] == 1))
    if n == 0:
        return
    require(leaves_are_below(&leaf[0], n, n_leaves))
    to = Slopes(&y[0], &u[0], each_of(weight), weight[0], &leaf[0], delta, &steps[0], NULL, n, n_leaves, 1)
    to.n_leaves, to.n_chunks = n_leaves, n_row_chunks(n) if n_leaves <= MAX_CHUNKED_LEAVES else 1
    to.tables = <double*>calloc(2 * to.n_chunks * n_leaves, sizeof(double))
    if to.tables == NULL:
        raise MemoryError
    with nogil:
        do_in_threads(add_slopes, &to, to.n_chunks, n_threads)
        for c in range(to.n_chunks):
            for k in range(2 * n_leaves):
                (&sums[0, 0])[k] += to.tables[2 * c * n_leaves + k]
        free(to.tables)


cdef struct Slopes:
    # What the chunks of Huber's derivatives share.
    const double* y
    const double* u
    const double* each  # weights; NULL where all rows have the one below
    double same
    const int32_t* leaf
    double delta
    const double* steps
    double* tables
    Py_ssize_t n, n_leaves, n_chunks


cdef void add_slopes(void* context, Py_ssize_t chunk, int thread) noexcept nogil:
    cdef const Slopes* to = <const Slopes*>context
    cdef Py_ssize_t i = start_of_part(chunk, to.n, to.n_chunks)
    cdef Py_ssize_t stop = start_of_part(chunk + 1, to.n, to.n_chunks), j, m
    cdef double* table = to.tables + 2 * chunk * to.n_leaves
    cdef double* own
    cdef double[2 * BLOCK] terms
    cdef double w = to.same
    while i < stop:
        m = min(<Py_ssize_t>BLOCK, stop - i)
        huber_terms(to.y + i, to.u + i, to.leaf + i, to.steps, m, to.delta, terms)
        for j in range(m):
            if to.each != NULL:
                w = to.each[i + j]
            own = table + 2 * to.leaf[i + j]
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


cdef int kink_steps(
    const LossRows* rows, const void* leaf, int leaf_size, Py_ssize_t n_leaves, double* steps
) except -1 nogil:
    """The step that minimises the risk in each leaf, for a loss with one kink at y.

    It is a weighted quantile of y - u: where the derivative, which jumps up at each of these,
    passes 0; where it is 0 on an interval, its middle; 0 for a leaf without rows that jump.

    Two passes over the rows count the jumps in intervals, and the rows of the interval in which the
    derivative passes 0 are partitioned further: O(n) on average.
    """
    if leaf_size == 2:
        return kink_steps_of(rows, <const uint16_t*>leaf, n_leaves, steps)
    return kink_steps_of(rows, <const int32_t*>leaf, n_leaves, steps)


cdef int kink_steps_of(
    const LossRows* rows, const Leaf* leaf, Py_ssize_t n_leaves, double* steps
) except -1 nogil:
    cdef Py_ssize_t n = rows.n, k
    cdef Py_ssize_t n_intervals = max(2, min(N_INTERVALS, MAX_INTERVALS // max(n_leaves, 1)))
    cdef const double* y = <const double*>rows.y
    cdef const LossOptions* options = rows.options
    # By how much the derivative jumps up at a row with y <= 0, and with y > 0.
    cdef double[2] jump = [options.below.right - options.below.left,
                           options.above.right - options.above.left]
    cdef KinkLeaf* leaves = <KinkLeaf*>malloc((n_leaves + 1) * sizeof(KinkLeaf))
    # Of each interval; apart, as the jumps of those without rows are not looked at.
    cdef int32_t* counts = <int32_t*>calloc(n_leaves * n_intervals, sizeof(int32_t))
    cdef double* totals = <double*>calloc(n_leaves * n_intervals, sizeof(double))
    cdef Jump* jumps = NULL
    try:
        if leaves == NULL or counts == NULL or totals == NULL:
            raise MemoryError
        describe_leaves(
            options, jump, y, rows.u, rows.each, leaf, n, leaves, n_leaves, n_intervals)
        count_jumps(jump, y, rows.u, rows.each, leaf, n, leaves, counts, totals, n_intervals)
        choose_intervals(leaves, n_leaves, counts, totals, n_intervals)
        jumps = <Jump*>malloc(max(leaves[n_leaves].first, 1) * sizeof(Jump))
        if jumps == NULL:
            raise MemoryError
        collect_jumps(jump, y, rows.u, rows.each, leaf, n, leaves, n_intervals, jumps)
        for k in range(n_leaves):
            steps[k] = 0.0
            if leaves[k].first < leaves[k + 1].first:
                steps[k] = quantile_of_leaf(
                    &leaves[k], jumps + leaves[k].first, leaves[k + 1].first - leaves[k].first)
    finally:
        free(leaves)
        free(counts)
        free(totals)
        free(jumps)
    return 0


cdef void describe_leaves(
    const LossOptions* options, const double* jump, const double* y, const double* u,
    const double* each, const Leaf* leaf, Py_ssize_t n, KinkLeaf* leaves, Py_ssize_t n_leaves,
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
    const Leaf* leaf, Py_ssize_t n, const KinkLeaf* leaves, int32_t* counts, double* totals,
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
    const Leaf* leaf, Py_ssize_t n, KinkLeaf* leaves, Py_ssize_t n_intervals, Jump* jumps
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
