"""What the growth of boosted trees and that of forest trees share: sums of rows, scores of cuts.

Rows enter as integers, whose sums depend neither on the order of the rows nor on what is left out
or subtracted. A sum of these integers has two parts, q and r, and one of three forms:

- PACKED: q holds the weighted target in its upper bits and the weight in its `bits` lower ones; one
  addition sums both. r is 0. For integer weights, each of which counts as one row.
- WIDE: q is the weighted target; r holds the weight in its upper bits and the number of rows in its
  `bits` lower ones.
- CLASSES: r is that of WIDE, summed for each class; there is no q.

Codes of bins: rows with at most the code of a cut go to its left, those with a higher one to its
right. Missing values have a code above all others, and go where the cut says.
"""

from libc.math cimport INFINITY, frexp, ldexp, log
from libc.stdint cimport int64_t, uint64_t

cdef extern from *:
    """
    #if defined(_MSC_VER)
    #include <intrin.h>
    static inline int lowest_bit(uint64_t word)
    {
        unsigned long place;
        _BitScanForward64(&place, word);
        return (int)place;
    }
    #else
    #define lowest_bit(word) __builtin_ctzll(word)
    #endif
    """
    # The place of the lowest bit of a word that is not 0.
    int lowest_bit(uint64_t) noexcept nogil

cdef enum Form:
    PACKED
    WIDE
    CLASSES

# With S the weighted sum of the targets and W the weight of a node, a cut maximises the sum over
# both children of  S² / (W + l2),  S log(S / W),  sum_k S_k² / W  or  sum_k S_k log(S_k / W).
cdef enum Criterion:
    SQUARED_ERROR
    POISSON
    GINI
    LOG_LOSS

# Where the node has no missing value: they would go where most of its rows go.
cdef enum:
    UNKNOWN = 2


cdef struct Packing:
    int form
    int bits


# Of some rows, in the units of their integers.
cdef struct Sums:
    double target
    double weight
    int64_t rows


# What a cut must leave on both sides, and how it is scored; weights in the units of the integers.
cdef struct Rules:
    int criterion
    double l2
    int64_t min_samples_leaf
    double min_weight_leaf


# The monotonic constraint of a feature (1, -1 or 0), and the bounds of the node's value, a mean.
cdef struct Constraint:
    int sign
    double low
    double high


cdef inline double integer_scale(double total, int bits) noexcept nogil:
    """The largest power of two that takes sums of at most `total` to integers below 2^bits."""
    cdef int exponent
    if not total > 0:
        return 1.0
    frexp(total, &exponent)
    return ldexp(1.0, min(bits - 1 - exponent, 1000))


cdef inline Sums unpack(Packing packing, int64_t q, int64_t r) noexcept nogil:
    """The numbers in a sum of integers, for PACKED and WIDE."""
    cdef int64_t low = ((<int64_t>1) << packing.bits) - 1
    if packing.form == PACKED:
        return Sums(<double>(q >> packing.bits), <double>(q & low), q & low)
    return Sums(<double>q, <double>(r >> packing.bits), r & low)


cdef inline double x_log_x(double x) noexcept nogil:
    return x * log(x) if x > 0 else 0.0


cdef inline double node_score(double s, double w, int criterion, double l2) noexcept nogil:
    """What a cut maximises in sum over both children; -inf where a child must not be.

    Of two classes, s is the weight of the second one.
    """
    if criterion == SQUARED_ERROR or criterion == GINI:
        # Of two classes: (s² + (w - s)²) / w is twice this, less what all cuts have in common.
        return s * s / (w + l2)
    if criterion == POISSON:
        return s * log(s / w) if s > 0 else -INFINITY
    return x_log_x(s) + x_log_x(w - s) - x_log_x(w)


cdef inline double cut_score(
    Sums left, const Sums* total, const Rules* rules, const Constraint* constraint
) noexcept nogil:
    """The score of a cut of a node, from what is to its left; -inf where a rule forbids it."""
    cdef double s = left.target, w = left.weight, s2 = total.target - s, w2 = total.weight - w
    cdef double a, b
    if (left.rows < rules.min_samples_leaf or total.rows - left.rows < rules.min_samples_leaf
            or w < rules.min_weight_leaf or w2 < rules.min_weight_leaf):
        return -INFINITY
    if constraint.sign != 0:
        a, b = s / (w + rules.l2), s2 / (w2 + rules.l2)
        if (a - b) * constraint.sign > 0:
            return -INFINITY
        if min(a, b) < constraint.low or max(a, b) > constraint.high:
            return -INFINITY
    return (node_score(s, w, rules.criterion, rules.l2)
            + node_score(s2, w2, rules.criterion, rules.l2))


cdef inline double comparable(double score) noexcept nogil:
    """A score rounded to 33 bits, so that rounding errors break no tie; -inf becomes NaN."""
    cdef double above = (2.0**20 + 1) * score  # Veltkamp's splitting
    return above - (above - score)
