"""Rounds of AdaBoost: weights and votes of rows, and searches for the best stump of two classes."""

from libc.limits cimport INT_MAX
from libc.math cimport INFINITY, exp, fabs, log, log1p
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint16_t
from libc.stdlib cimport free, malloc, qsort
from libc.string cimport memset

import numpy as np

from .arrays cimport require
from .binning cimport EdgeTable, code_doubles_2

cdef extern from "stumps.h" nogil:
    const int BLOCK_ROWS
    double exponentials(const double*, int, const double*, double, double, double*)
    double sum_of_votes(const double*, const int8_t*, int)
    void add_times(double*, const int8_t*, Py_ssize_t, double)
    double least_after(double*, const int8_t*, Py_ssize_t, double)
    void scale_by(double*, Py_ssize_t, double)
    void votes_of_stump(
        const uint16_t*, Py_ssize_t, uint16_t, uint16_t, uint16_t, int8_t*)
    void whole_numbers(const double*, int, double, int64_t*)
    void add_move_1(const uint8_t*, int, int, double, double, double*)
    void add_move_2(const uint16_t*, int, int, double, double, double*)
    void are_below(const uint16_t*, Py_ssize_t, uint16_t, uint8_t*)
    int largest_code_1(const uint8_t*, int)
    int largest_code_2(const uint16_t*, int)

# Codes of bins.
ctypedef fused Code:
    uint8_t
    uint16_t

ctypedef fused Sum:
    int64_t
    double

cdef enum:
    # So many rows are summed for all columns before the next: their weights stay in the cache.
    ROWS_AT_A_TIME = 1 << 14
    # Codes are twice the bin plus the side, in two bytes.
    MOST_BINS = 1 << 15


# --- weights and votes ----------------------------------------------------------------------------


def exponential_weights(start, const double[::1] u, double shift, double[::1] weight):
    """Write exp(start - u - shift) to `weight` and return the sum. O(n).

    Sums of blocks of 2048 rows are added in their order.

    Parameters
    ----------
    start : float, or float64 array of shape (n,)
    u : float64 array of shape (n,)
    shift : float
        At least the largest start - u. Exponents below -700 count as -700.
    weight : float64 array of shape (n,)
    """
    cdef Py_ssize_t n = u.shape[0]
    cdef Starts given = starts_of(start, n)
    cdef double total
    require(weight.shape[0] == n)
    if n == 0:
        return 0.0
    with nogil:
        total = fill_weights(given, &u[0], n, shift, &weight[0])
    return total


# The logarithms of the weights before the first round: of every row, or (NULL) the same of all.
cdef struct Starts:
    const double* of_rows
    double same


cdef Starts starts_of(start, Py_ssize_t n) except *:
    """As `exponential_weights` takes them; the caller keeps the array."""
    cdef const double[::1] rows
    if isinstance(start, float):
        return Starts(NULL, start)
    rows = start
    require(rows.shape[0] == n)
    return Starts(&rows[0], 0.0) if n > 0 else Starts(NULL, 0.0)


cdef double fill_weights(
    Starts start, const double* u, Py_ssize_t n, double shift, double* weight
) noexcept nogil:
    cdef Py_ssize_t i = 0, m
    cdef double total = 0.0
    while i < n:
        m = min(n - i, BLOCK_ROWS)
        total += exponentials(
            u + i, <int>m, start.of_rows + i if start.of_rows else <const double*>NULL, start.same,
            shift, weight + i)
        i += m
    return total


def weighted_votes(const double[::1] weight, const int8_t[::1] votes):
    """weight'votes, summed as in `exponential_weights`. O(n)."""
    cdef double total
    require(weight.shape[0] == votes.shape[0])
    if weight.shape[0] == 0:
        return 0.0
    with nogil:
        total = product_of_votes(&weight[0], &votes[0], votes.shape[0])
    return total


cdef double product_of_votes(
    const double* weight, const int8_t* votes, Py_ssize_t n
) noexcept nogil:
    cdef Py_ssize_t i = 0, m
    cdef double total = 0.0
    while i < n:
        m = min(n - i, BLOCK_ROWS)
        total += sum_of_votes(weight + i, votes + i, <int>m)
        i += m
    return total


def add_votes(double[::1] u, const int8_t[::1] votes, double b):
    """u <- u + b votes, in place. O(n)."""
    require(votes.shape[0] == u.shape[0])
    if u.shape[0]:
        with nogil:
            add_times(&u[0], &votes[0], u.shape[0], b)


# --- rounds over rows in blocks -------------------------------------------------------------------

# Rounds of stumps: in a round, rows whose code of a feature is at most the cut are on the left, and
# the scores of a slot move by one number on the left and by another on the right. A slot is a kind
# of weight that is summed by itself; each class of rows has m of them.
cdef struct Moves:
    Py_ssize_t n_rounds, n_slots, n_rows
    const int64_t* feature
    const int64_t* cut
    const double* move  # (n_rounds, n_slots, 2)


def moved_scores(
    const Code[:, ::1] codes,
    const int64_t[::1] starts,
    const int64_t[:, ::1] slots,
    const double[:, ::1] scores,
    const int64_t[::1] features,
    const int64_t[::1] cuts,
    const double[:, :, ::1] moves,
    double[:, ::1] moved,
):
    """Write the scores of rows after T moves, added in their order, to `moved`. O(n m T).

    Parameters
    ----------
    codes : uint8 or uint16 array of shape (p, n)
        The bins of rows, class by class.
    starts : int64 array of shape (K + 1,)
        Where the rows of each class begin.
    slots : int64 array of shape (K, m)
        The slot of each class of rows and score.
    scores : float64 array of shape (m, n)
    features, cuts : int64 arrays of shape (T,)
        Rows whose code of the feature is at most the cut are on the left.
    moves : float64 array of shape (T, n_slots, 2)
        What to add to the scores of a slot, left of a threshold and right of it.
    moved : float64 array of shape (m, n)
    """
    cdef Py_ssize_t c, k, i, begin
    cdef int n
    cdef Moves given = checked_moves(codes, starts, slots, scores, features, cuts, moves)
    require(moved.shape[0] == scores.shape[0] and moved.shape[1] == scores.shape[1])
    with nogil:
        for c in range(slots.shape[0]):
            begin = starts[c]
            while begin < starts[c + 1]:
                n = <int>min(starts[c + 1] - begin, BLOCK_ROWS)
                for k in range(slots.shape[1]):
                    for i in range(begin, begin + n):
                        moved[k, i] = scores[k, i]
                    add_moves(&given, &codes[0, begin], n, slots[c, k], &moved[k, begin])
                begin += n


def moved_sums(
    const Code[:, ::1] codes,
    const int64_t[::1] starts,
    const int64_t[:, ::1] slots,
    const double[:, ::1] scores,
    const int64_t[::1] features,
    const int64_t[::1] cuts,
    const double[:, :, ::1] moves,
    double shift,
    double unit,
    int64_t[:, :, ::1] sums,
):
    """Add the weights of rows after T moves to the sums of the bins. O(n m (p + T)).

    The weight of a score is exp(-score - shift), times `unit` and rounded: the sums are those of
    integers, which do not depend on the order of the rows. Exponents below -700 count as -700.

    Parameters
    ----------
    codes, starts, slots, scores, features, cuts, moves : as in `moved_scores`
    shift, unit : float
    sums : int64 array of shape (n_slots, p, B)
    """
    cdef Py_ssize_t c, k, i, j, begin, slot, p = codes.shape[0], n_bins = sums.shape[2]
    cdef int n
    cdef bint fits = True
    cdef double score[BLOCK_ROWS]
    cdef double weight[BLOCK_ROWS]
    cdef int64_t whole[BLOCK_ROWS]
    cdef Moves given = checked_moves(codes, starts, slots, scores, features, cuts, moves)
    require(sums.shape[0] == given.n_slots and sums.shape[1] == p)
    with nogil:
        for c in range(slots.shape[0]):
            begin = starts[c]
            while begin < starts[c + 1]:
                n = <int>min(starts[c + 1] - begin, BLOCK_ROWS)
                for j in range(p):
                    if Code is uint8_t:
                        fits = fits and largest_code_1(&codes[j, begin], n) < n_bins
                    else:
                        fits = fits and largest_code_2(&codes[j, begin], n) < n_bins
                if not fits:
                    break
                for k in range(slots.shape[1]):
                    slot = slots[c, k]
                    for i in range(n):
                        score[i] = scores[k, begin + i]
                    add_moves(&given, &codes[0, begin], n, slot, score)
                    exponentials(score, n, NULL, 0.0, shift, weight)
                    whole_numbers(weight, n, unit, whole)
                    for j in range(0, p - 1, 2):
                        add_two_columns(
                            &codes[j, begin], &codes[j + 1, begin], n, <const int64_t*>whole,
                            &sums[slot, j, 0], &sums[slot, j + 1, 0])
                    if p % 2:
                        add_column(&codes[p - 1, begin], n, <const int64_t*>whole,
                                   &sums[slot, p - 1, 0])
                begin += n
    require(fits)


cdef Moves checked_moves(
    const Code[:, ::1] codes,
    const int64_t[::1] starts,
    const int64_t[:, ::1] slots,
    const double[:, ::1] scores,
    const int64_t[::1] features,
    const int64_t[::1] cuts,
    const double[:, :, ::1] moves,
) except *:
    cdef Py_ssize_t i, k, K = slots.shape[0], T = features.shape[0], n = scores.shape[1]
    cdef Moves given
    require(codes.shape[1] == n and scores.shape[0] == slots.shape[1] and cuts.shape[0] == T
            and moves.shape[0] == T and moves.shape[2] == 2 and starts.shape[0] == K + 1
            and 0 <= starts[0] and starts[K] <= n)
    for i in range(T):
        require(0 <= features[i] < codes.shape[0])
    for i in range(K):
        require(starts[i] <= starts[i + 1])
        for k in range(slots.shape[1]):
            require(0 <= slots[i, k] < moves.shape[1])
    given.n_rounds, given.n_slots, given.n_rows = T, moves.shape[1], n
    given.feature, given.cut, given.move = NULL, NULL, NULL
    if T > 0 and given.n_slots > 0:
        given.feature, given.cut, given.move = &features[0], &cuts[0], &moves[0, 0, 0]
    return given


cdef void add_moves(
    const Moves* moves, const Code* codes, int n, Py_ssize_t slot, double* score
) noexcept nogil:
    """Add all moves of a slot to the scores of some rows, the first of which has codes[0]."""
    cdef Py_ssize_t t
    cdef const double* move
    cdef const Code* code
    cdef int cut
    for t in range(moves.n_rounds):
        move = moves.move + 2 * (t * moves.n_slots + slot)
        code = codes + moves.feature[t] * moves.n_rows
        cut = <int>max(-1, min(moves.cut[t], 1 << 16))
        if Code is uint8_t:
            add_move_1(code, n, cut, move[0], move[1], score)
        else:
            add_move_2(code, n, cut, move[0], move[1], score)


cdef inline void add_two_columns(
    const Code* first, const Code* second, Py_ssize_t n, const Sum* row, Sum* firsts, Sum* seconds
) noexcept nogil:
    """Add numbers of rows to the sums of their codes, in the order of the rows.

    Two columns at a time read the numbers once, and two rows at a time need not wait for one
    another.
    """
    cdef Py_ssize_t i, a, b, next_a, next_b
    cdef Sum here, after
    for i in range(0, n - 1, 2):
        here, a, b = row[i], first[i], second[i]
        after, next_a, next_b = row[i + 1], first[i + 1], second[i + 1]
        firsts[a] += here
        seconds[b] += here
        firsts[next_a] += after
        seconds[next_b] += after
    if n % 2:
        firsts[first[n - 1]] += row[n - 1]
        seconds[second[n - 1]] += row[n - 1]


cdef inline void add_column(
    const Code* codes, Py_ssize_t n, const Sum* row, Sum* sums
) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        sums[codes[i]] += row[i]


# --- the search for a stump -----------------------------------------------------------------------

# A bin that may hold the best threshold: a bound of the gains there, later the largest of them.
cdef struct NearBin:
    double gain
    Py_ssize_t place  # in an array of shape (p, B)

# The weights of both sides at or below a threshold.
cdef struct Masses:
    double minus, plus

# A threshold: after a place of the sorted column inside a bin, or (-1) at the end of the bin.
cdef struct Cut:
    Py_ssize_t feature, bin, position
    double threshold, gain
    Masses left


cdef int compare_gains(const void* first, const void* second) noexcept nogil:
    """The order of bins: larger gains first, equal ones by place."""
    cdef const NearBin* a = <const NearBin*>first
    cdef const NearBin* b = <const NearBin*>second
    if a.gain != b.gain:
        return -1 if a.gain > b.gain else 1
    return -1 if a.place < b.place else 1


cdef inline double gain_of(Masses left, double total) noexcept nogil:
    return fabs(left.plus - left.minus) + fabs(total - (left.plus - left.minus))


cdef class SideSearch:
    """Searches for the best stump of two classes, for weights that change from one to the next.

    Every row has a side, 0 or 1 (its class, or the sign of its target), and a weight that is not
    negative. The code of a row in a column is twice its bin plus its side, so that one addition
    puts its weight where it belongs. With P and N the weights of sides 1 and 0 at or below a
    threshold, S = P - N, and T the same over all rows, the gain is |S| + |T - S|. Among thresholds
    within rounding of the best the first is taken, by feature and then from the left.

    While a threshold moves through a bin, S stays between its value at the lower end less the bin's
    weight of side 0, and that value plus the weight of side 1. The gain is convex in S, so that the
    sums of a bin bound the gains inside it. Only bins whose bound reaches the best gain at an edge
    are sorted, once for all searches, and searched row by row.

    Every column must be coded before the first search, which takes O(p (n + B)) for B bins.

    Parameters
    ----------
    n, p, n_bins : int
    X : float32 or float64 array of shape (n, p), default=None
        For all thresholds between two values. None: only those at the ends of the bins.
    """

    cdef Py_ssize_t n, p, n_bins
    cdef bint is_exact, is_single
    cdef const float[:, :] singles
    cdef const double[:, :] doubles
    cdef uint16_t[:, ::1] codes
    # Whether there is a threshold at the end of a bin, which one, and whether others may be in it.
    cdef uint8_t[:, ::1] is_edge
    cdef double[:, ::1] ends
    cdef uint8_t[:, ::1] has_more
    # Where the bins begin in a sorted column; its rows, in columns that are placed; whether their
    # values differ from the next, in bins that are sorted.
    cdef int64_t[:, ::1] starts
    cdef int32_t[:, ::1] order
    cdef uint8_t[:, ::1] is_cut
    cdef uint8_t[::1] is_placed
    cdef uint8_t[:, ::1] is_sorted
    # Of one search: weights of both sides in each bin and below it, (p, 2 B); gains at the ends of
    # the bins and bounds inside them, (p, B), -inf where there is no threshold.
    cdef double[:, ::1] sums
    cdef double[:, ::1] low
    cdef double[:, ::1] gains
    cdef double[:, ::1] bounds
    # Work.
    cdef int64_t[::1] counts
    cdef double[::1] values
    cdef NearBin* near

    def __init__(self, Py_ssize_t n, Py_ssize_t p, Py_ssize_t n_bins, X=None):
        require(0 < n <= INT_MAX and p > 0 and 0 < n_bins <= MOST_BINS and self.near == NULL)
        self.n, self.p, self.n_bins, self.is_exact = n, p, n_bins, X is not None
        self.codes = np.zeros((p, n), np.uint16)
        self.is_edge, self.has_more = np.zeros((2, p, n_bins), np.uint8)
        self.ends = np.full((p, n_bins), np.inf)
        self.sums, self.low = np.empty((2, p, 2 * n_bins))
        self.gains, self.bounds = np.empty((2, p, n_bins))
        self.counts = np.empty(n_bins, np.int64)
        self.starts = np.zeros((p, n_bins + 1), np.int64)
        if not self.is_exact:
            return
        require(X.shape == (n, p))
        self.is_single = X.dtype == np.float32
        if self.is_single:
            self.singles = X
        else:
            self.doubles = X
        # Memory that is never written to is never taken.
        self.order, self.is_cut = np.empty((p, n), np.int32), np.empty((p, n), np.uint8)
        self.values = np.empty(n)
        self.is_placed, self.is_sorted = np.zeros(p, np.uint8), np.zeros((p, n_bins), np.uint8)
        self.near = <NearBin*>malloc(p * n_bins * sizeof(NearBin))
        if self.near == NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self.near)

    def code_column(
        self,
        Py_ssize_t j,
        const double[::1] column,
        const double[::1] edges,
        const uint8_t[::1] side,
    ):
        """Put the values of column j into the bins between increasing edges. O(n)."""
        cdef Py_ssize_t i, c
        cdef EdgeTable table = EdgeTable(edges, 0)
        cdef uint16_t* codes
        cdef int64_t* counts = &self.counts[0]
        require(0 <= j < self.p and column.shape[0] == self.n and side.shape[0] == self.n
                and edges.shape[0] < self.n_bins)
        codes = &self.codes[j, 0]
        with nogil:
            code_doubles_2(&column[0], self.n, &table.cells, 0, codes)
            for c in range(self.n_bins):
                counts[c] = 0
            for i in range(self.n):
                counts[codes[i]] += 1
                codes[i] = <uint16_t>(2 * codes[i] + (side[i] != 0))
            self.take_bins(j, table.cells.edges, edges.shape[0])

    cdef void take_bins(self, Py_ssize_t j, const double* edges, Py_ssize_t m) noexcept nogil:
        """Note where the bins of a column begin and which thresholds they have."""
        cdef Py_ssize_t c
        for c in range(self.n_bins):
            self.is_edge[j, c] = c < m
            self.ends[j, c] = edges[c] if c < m else INFINITY
            self.starts[j, c + 1] = self.starts[j, c] + self.counts[c]
        if self.is_exact:
            self.is_placed[j] = False
            for c in range(self.n_bins):
                self.is_edge[j, c] = self.counts[c] > 0 and self.starts[j, c + 1] < self.n
                self.has_more[j, c] = self.counts[c] > 1
                self.is_sorted[j, c] = False

    def set_sides(self, const uint8_t[::1] side):
        """Give the rows other sides. O(n p)."""
        cdef Py_ssize_t i, j
        cdef uint16_t* codes
        require(side.shape[0] == self.n)
        with nogil:
            for j in range(self.p):
                codes = &self.codes[j, 0]
                for i in range(self.n):
                    codes[i] = <uint16_t>((codes[i] & 0xFFFE) | (side[i] != 0))

    def best(self, const double[::1] weight, double slack):
        """The best threshold; gains that differ by at most `slack` count as equal.

        Returns
        -------
        feature, bin, position : int
            Where the threshold is: after a place of the sorted column inside a bin, or (-1) at the
            end of the bin.
        threshold, gain : float
            The threshold is infinite, that of the constant, where no other has a larger gain.
        left, total : pairs of float
            The weights of sides 0 and 1 at or below the threshold, and of all rows.
        """
        cdef Cut cut
        cdef Masses total
        require(weight.shape[0] == self.n)
        with nogil:
            total = self.sum_sides(&weight[0])
            cut = self.best_cut(&weight[0], total, slack)
        return (cut.feature, cut.bin, cut.position, cut.threshold, cut.gain,
                (cut.left.minus, cut.left.plus), (total.minus, total.plus))

    def rows_left(
        self, Py_ssize_t feature, Py_ssize_t bin, Py_ssize_t position, uint8_t[::1] is_left
    ):
        """Mark the rows at or below a threshold, which `best` has found. O(n)."""
        cdef Py_ssize_t i
        require(0 <= feature < self.p and 0 <= bin < self.n_bins and is_left.shape[0] == self.n)
        require(position < 0 or self.is_exact and self.is_placed[feature] and position < self.n)
        with nogil:
            are_below(&self.codes[feature, 0], self.n, <uint16_t>(2 * (bin + (position < 0))),
                      &is_left[0])
            if position >= 0:
                for i in range(self.starts[feature, bin], position + 1):
                    is_left[self.order[feature, i]] = True

    def boost(
        self,
        double[::1] weight,
        double[::1] u,
        start,
        double largest,
        double rate,
        limits,
        double slack,
        double[:, ::1] found,
    ):
        """Make rounds of discrete AdaBoost; how many were made.

        A round takes the best stump for the weights, moves the margins by its votes, +1 where it is
        right and -1 elsewhere, times b = rate log((1 - error) / error) / 2, and computes the weights
        anew. Sums and their order are those of `weighted_votes` and `exponential_weights`. The last
        round made is the one before an error outside of its limits, or the one after which other
        figures are: both are rare, and need more care than there is here.

        Parameters
        ----------
        weight : float64 array of shape (n,)
            Of sum 1, at the margins u; changed, of no use after the last round.
        u : float64 array of shape (n,)
            The margins; changed to those after the rounds.
        start : float, or float64 array of shape (n,)
            As in `exponential_weights`.
        largest : float
            The largest start.
        rate : float
        limits : tuple of float
            The smallest and the largest error, the smallest sum of weights whose largest possible
            value is 1, and the largest risk and b.
        slack : float
            As in `best`.
        found : float64 array of shape (T, 12)
            For each round made: feature, threshold, the weights of sides 0 and 1 on the left and on
            the right, the number of rows on the left, weight'votes, error, 2 b, b, and the risk.
        """
        cdef double least_error, most_error, least_total, most
        least_error, most_error, least_total, most = limits
        cdef Starts given = starts_of(start, self.n)
        cdef int8_t[::1] votes = np.empty(self.n, np.int8)
        cdef Py_ssize_t t = 0
        cdef Cut cut
        cdef Masses total, right
        cdef bint left_side, right_side
        cdef double gain, error, alpha, b, top, whole, risk = 0.0
        require(weight.shape[0] == self.n and u.shape[0] == self.n and found.shape[1] == 12)
        with nogil:
            while t < found.shape[0]:
                total = self.sum_sides(&weight[0])
                cut = self.best_cut(&weight[0], total, slack)
                right = Masses(max(total.minus - cut.left.minus, 0.0),
                               max(total.plus - cut.left.plus, 0.0))
                left_side = cut.left.plus - cut.left.minus > 0
                right_side = left_side if cut.threshold == INFINITY else right.plus - right.minus > 0
                self.vote(cut, left_side, right_side, &votes[0])
                gain = product_of_votes(&weight[0], &votes[0], self.n)
                error = (1.0 - gain) / 2.0
                if not least_error < error < most_error:
                    break
                alpha = rate * (log1p(-error) - log(error))
                b = alpha / 2.0
                top = largest - least_after(&u[0], &votes[0], self.n, b)
                whole = fill_weights(given, &u[0], self.n, top, &weight[0])
                scale_by(&weight[0], self.n, 1.0 / whole)
                risk = top + log(whole)
                risk = exp(risk) if risk < 709 else INFINITY
                found[t, 0], found[t, 1] = cut.feature, cut.threshold
                found[t, 2], found[t, 3] = cut.left.minus, cut.left.plus
                found[t, 4], found[t, 5] = right.minus, right.plus
                found[t, 6] = self.n_left(cut)
                found[t, 7], found[t, 8], found[t, 9] = gain, error, alpha
                found[t, 10], found[t, 11] = b, risk
                t += 1
                if not (whole > least_total and risk < most and fabs(b) < most):
                    break
        return t

    cdef Py_ssize_t n_left(self, Cut cut) noexcept nogil:
        """How many rows are at or below a threshold."""
        if cut.position >= 0:
            return cut.position + 1
        return self.starts[cut.feature, cut.bin + 1]

    cdef void vote(self, Cut cut, bint left, bint right, int8_t* votes) noexcept nogil:
        """Whether the stump with these sides is right in each row: +1 or -1. O(n)."""
        cdef Py_ssize_t i
        cdef int32_t row
        cdef const uint16_t* codes = &self.codes[cut.feature, 0]
        votes_of_stump(codes, self.n, <uint16_t>min(2 * (cut.bin + (cut.position < 0)), 0xFFFF),
                       left, right, votes)
        if cut.position >= 0:
            for i in range(self.starts[cut.feature, cut.bin], cut.position + 1):
                row = self.order[cut.feature, i]
                votes[row] = 1 if (codes[row] & 1) == left else -1

    cdef Masses sum_sides(self, const double* weight) noexcept nogil:
        """Fill `sums`, and return those of all rows."""
        cdef Py_ssize_t j, c, n, begin = 0
        cdef Masses total = Masses(0.0, 0.0)
        memset(&self.sums[0, 0], 0, self.p * 2 * self.n_bins * sizeof(double))
        while begin < self.n:
            n = min(self.n - begin, ROWS_AT_A_TIME)
            for j in range(0, self.p - 1, 2):
                add_two_columns(
                    <const uint16_t*>&self.codes[j, begin],
                    <const uint16_t*>&self.codes[j + 1, begin], n, weight + begin,
                    &self.sums[j, 0], &self.sums[j + 1, 0])
            if self.p % 2:
                add_column(<const uint16_t*>&self.codes[self.p - 1, begin], n, weight + begin,
                           &self.sums[self.p - 1, 0])
            begin += n
        for c in range(self.n_bins):
            total.minus += self.sums[0, 2 * c]
            total.plus += self.sums[0, 2 * c + 1]
        return total

    cdef double scan_bins(self) noexcept nogil:
        """Fill `low`, `gains` and `bounds`; the largest gain at an edge, -inf if there is none."""
        cdef Py_ssize_t j, c
        cdef double total = 0.0, best = -INFINITY, gain, bound, most, least
        cdef Masses left
        cdef const double* sums
        for c in range(self.n_bins):
            total += self.sums[0, 2 * c + 1] - self.sums[0, 2 * c]
        for j in range(self.p):
            left = Masses(0.0, 0.0)
            for c in range(self.n_bins):
                sums = &self.sums[j, 2 * c]
                self.low[j, 2 * c], self.low[j, 2 * c + 1] = left.minus, left.plus
                bound = gain = -INFINITY
                if self.has_more[j, c]:
                    most = left.plus + sums[1] - left.minus
                    least = left.plus - left.minus - sums[0]
                    bound = max(fabs(most) + fabs(total - most), fabs(least) + fabs(total - least))
                left.minus += sums[0]
                left.plus += sums[1]
                if self.is_edge[j, c]:
                    gain = gain_of(left, total)
                    best = max(best, gain)
                self.gains[j, c], self.bounds[j, c] = gain, bound
        return best

    cdef Cut best_cut(self, const double* weight, Masses all_rows, double slack) noexcept nogil:
        cdef Py_ssize_t k, at, place = 0, n_near = 0
        cdef double total = all_rows.plus - all_rows.minus, best = self.scan_bins(), wanted
        cdef const double* gains = &self.gains[0, 0]
        # The constant: all rows are on the left.
        cdef Cut cut = Cut(0, self.n_bins - 1, -1, INFINITY, fabs(total), all_rows)
        cdef bint is_inside = False
        if self.is_exact:
            # No bin whose bound is the constant's gain holds a threshold that is better. Where the
            # constant is the best, these may be all bins.
            n_near = self.find_near(max(cut.gain + 0.5 * slack, best - 2 * slack))
            best = max(cut.gain, best)
            # The most promising come first: the best that they reach may rule out the others.
            for k in range(n_near):
                if self.near[k].gain < best - 2 * slack:
                    n_near = k
                    break
                self.near[k].gain = self.gain_inside(self.near[k].place, weight, total)
                best = max(best, self.near[k].gain)
        if not best > cut.gain + slack:
            return cut
        wanted = best - slack
        while place < self.p * self.n_bins and not gains[place] >= wanted:
            place += 1
        for k in range(n_near):  # thresholds inside a bin come before the one at its end
            if self.near[k].gain >= wanted and self.near[k].place <= place:
                place, is_inside = self.near[k].place, True
        cut.feature, cut.bin = place // self.n_bins, place % self.n_bins
        if is_inside:
            self.find_inside(&cut, weight, total, wanted)
        else:
            at = 2 * cut.bin
            cut.left.minus = self.low[cut.feature, at] + self.sums[cut.feature, at]
            cut.left.plus = self.low[cut.feature, at + 1] + self.sums[cut.feature, at + 1]
        cut.gain = gain_of(cut.left, total) if self.is_exact else gains[place]
        cut.threshold = self.threshold(cut)
        return cut

    cdef Py_ssize_t find_near(self, double wanted) noexcept nogil:
        """Sort the bins whose bound is at least `wanted`; how many they are."""
        cdef Py_ssize_t k, place, n_near = 0
        cdef const double* bounds = &self.bounds[0, 0]
        for place in range(self.p * self.n_bins):
            self.near[n_near].gain, self.near[n_near].place = bounds[place], place
            n_near += bounds[place] >= wanted
        for k in range(n_near):
            self.sort_bin(self.near[k].place // self.n_bins, self.near[k].place % self.n_bins)
        qsort(self.near, n_near, sizeof(NearBin), compare_gains)
        return n_near

    cdef double gain_inside(
        self, Py_ssize_t place, const double* weight, double total
    ) noexcept nogil:
        """The largest gain inside a sorted bin; -inf where it has one value only."""
        cdef Py_ssize_t i, j = place // self.n_bins, c = place % self.n_bins
        cdef double best = -INFINITY
        cdef Masses left = Masses(self.low[j, 2 * c], self.low[j, 2 * c + 1])
        for i in range(self.starts[j, c], self.starts[j, c + 1] - 1):
            self.move_left(j, i, weight, &left)
            if self.is_cut[j, i]:
                best = max(best, gain_of(left, total))
        return best

    cdef void find_inside(
        self, Cut* cut, const double* weight, double total, double wanted
    ) noexcept nogil:
        """The first threshold inside the bin that reaches a gain."""
        cdef Py_ssize_t i, j = cut.feature, c = cut.bin
        cut.left = Masses(self.low[j, 2 * c], self.low[j, 2 * c + 1])
        for i in range(self.starts[j, c], self.starts[j, c + 1] - 1):
            self.move_left(j, i, weight, &cut.left)
            cut.position = i
            if self.is_cut[j, i] and gain_of(cut.left, total) >= wanted:
                break

    cdef inline void move_left(
        self, Py_ssize_t j, Py_ssize_t i, const double* weight, Masses* left
    ) noexcept nogil:
        cdef int32_t row = self.order[j, i]
        if self.codes[j, row] & 1:
            left.plus += weight[row]
        else:
            left.minus += weight[row]

    cdef inline double value(self, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
        return self.singles[i, j] if self.is_single else self.doubles[i, j]

    cdef double threshold(self, Cut cut) noexcept nogil:
        """Halfway to the next value, in the bin or in the next one that has rows."""
        cdef Py_ssize_t i, j = cut.feature, after = cut.bin + 1
        cdef double below = -INFINITY, above = INFINITY, middle
        if not self.is_exact:
            return self.ends[j, cut.bin]
        if cut.position >= 0:
            below = self.value(self.order[j, cut.position], j)
            above = self.value(self.order[j, cut.position + 1], j)
        else:
            self.place_rows(j)
            while self.starts[j, after] == self.starts[j, after + 1]:
                after += 1
            for i in range(self.starts[j, cut.bin], self.starts[j, cut.bin + 1]):
                below = max(below, self.value(self.order[j, i], j))
            for i in range(self.starts[j, after], self.starts[j, after + 1]):
                above = min(above, self.value(self.order[j, i], j))
        middle = 0.5 * below + 0.5 * above  # the sum first could overflow
        return middle if below <= middle < above else below

    cdef void place_rows(self, Py_ssize_t j) noexcept nogil:
        """Have the rows of a column bin by bin."""
        cdef Py_ssize_t i, c
        if self.is_placed[j]:
            return
        for c in range(self.n_bins):
            self.counts[c] = self.starts[j, c]
        for i in range(self.n):
            c = self.codes[j, i] >> 1
            self.order[j, self.counts[c]] = <int32_t>i
            self.counts[c] += 1
        self.is_placed[j] = True

    cdef void sort_bin(self, Py_ssize_t j, Py_ssize_t c) noexcept nogil:
        """Have the rows of a bin by their values, and where these change."""
        cdef Py_ssize_t i, at, m = self.starts[j, c + 1] - self.starts[j, c], gap = 1
        cdef double x
        cdef int32_t row
        cdef double* values = &self.values[0]
        cdef int32_t* rows = &self.order[j, self.starts[j, c]]
        cdef uint8_t* is_cut = &self.is_cut[j, self.starts[j, c]]
        if self.is_sorted[j, c]:
            return
        self.place_rows(j)
        for i in range(m):
            values[i] = self.value(rows[i], j)
        while gap < m // 3:
            gap = 3 * gap + 1
        while gap > 0:  # Shell's sort: bins are small
            for i in range(gap, m):
                x, row, at = values[i], rows[i], i
                while at >= gap and values[at - gap] > x:
                    values[at], rows[at] = values[at - gap], rows[at - gap]
                    at -= gap
                values[at], rows[at] = x, row
            gap //= 3
        self.has_more[j, c] = False
        for i in range(m - 1):
            is_cut[i] = values[i] != values[i + 1]
            self.has_more[j, c] |= is_cut[i]
        self.is_sorted[j, c] = True
