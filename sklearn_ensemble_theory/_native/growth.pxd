"""What the growth of boosted trees and that of forest trees share: sums of rows, scores of cuts.

Rows enter as integers, whose sums depend neither on the order of the rows nor on what is left out
or subtracted. A sum of these integers has two parts, q and r, and one of three forms:

- PACKED: q holds the weighted target in its upper bits and the weight in its `bits` lower ones; one
  addition sums both. r is 0. For integer weights, each of which counts as one row.
- WIDE: q is the weighted target; r holds the weight in its upper bits and the number of rows in its
  `bits` lower ones.
- CLASSES: r is that of WIDE, summed for each class; there is no q.

Codes of bins: rows with at most the code of a cut go to its left, those with a higher one to its
right. Missing values have a code above all others, and go where the cut says. A cut of categories
sends a set of codes to the left; categories without rows in the node go with the missing values.
"""

from libc.math cimport INFINITY, frexp, ldexp, log
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

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
# both children of  S² / (W + l2),  S log(S / W),  sum_k S_k² / W  or  sum_k S_k log(S_k / W); for
# quantiles see order_statistics.pxd.
cdef enum Criterion:
    SQUARED_ERROR
    POISSON
    GINI
    LOG_LOSS
    QUANTILE

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


cdef inline double nearly(double best) noexcept nogil:
    """What is below this is below `best` too, after all errors of sums and of `comparable`."""
    return best * (1 - 2.0**-31)


# --- interactions --------------------------------------------------------------------------------

# Which features may be cut on one path, see `Interactions` of _features.py: sets of features are
# words of bits. The state of a path is the set of those that may follow, and that of those on it.
cdef struct PathRules:
    const uint64_t* groups  # NULL where all features may follow all others
    Py_ssize_t n_groups, n_words, most


cdef inline bint may_follow(const uint64_t* state, Py_ssize_t feature) noexcept nogil:
    return state == NULL or state[feature >> 6] >> (feature & 63) & 1


cdef inline void follow(
    const PathRules* rules, const uint64_t* before, Py_ssize_t feature, uint64_t* after
) noexcept nogil:
    """The state of a path after a cut of a feature. O(G p / 64), and less where it is on the path.

    Those may follow that are in a group with all features of the path.
    """
    cdef Py_ssize_t n = rules.n_words, size = 0, k, w
    cdef uint64_t* path = after + n
    cdef const uint64_t* group
    cdef uint64_t rest, outside
    memcpy(after, before, 2 * n * sizeof(uint64_t))
    if may_follow(path, feature):
        return
    path[feature >> 6] |= <uint64_t>1 << (feature & 63)
    for w in range(n):
        rest = path[w]
        while rest != 0:
            rest &= rest - 1
            size += 1
    memset(after, 0, n * sizeof(uint64_t))
    for k in range(rules.n_groups):
        group, outside = rules.groups + k * n, 0
        for w in range(n):
            outside |= path[w] & ~group[w]
        for w in range(n if outside == 0 else 0):
            after[w] |= group[w]
    for w in range(n if size >= rules.most else 0):
        after[w] = path[w]


# --- drawing of features -------------------------------------------------------------------------

# Features, and those known to be constant, as in scikit-learn's splitter.
cdef struct Features:
    int32_t* order
    int32_t* constants
    Py_ssize_t p
    Py_ssize_t n_drawn  # at a node
    uint32_t state


# Of the features those before n_constant are constant in the node, those before n_known in its
# parent already, and those from `end` on have been searched, or may not be.
cdef struct Draw:
    Py_ssize_t end, n_constant, n_known
    Py_ssize_t n_visited, n_found, n_drawn  # features; new constants; known constants drawn again
    Py_ssize_t n_passed  # known constants that may not be searched
    const uint64_t* state  # of the path; NULL where all features may be searched


cdef inline uint32_t next_random(Features* features) noexcept nogil:
    """scikit-learn's generator: xorshift of 32 bits, without the sign."""
    cdef uint32_t x = features.state if features.state != 0 else 1
    x ^= x << 13
    x ^= x >> 17
    x ^= x << 5
    features.state = x
    return x & 0x7FFFFFFF


cdef inline Draw new_draw(
    const Features* features, Py_ssize_t n_known, const uint64_t* state
) noexcept nogil:
    return Draw(features.p, n_known, n_known, 0, 0, 0, 0, state)


cdef inline Py_ssize_t next_place(Features* features, Draw* d) noexcept nogil:
    """The place of the next feature to be searched; -1 where no more is drawn.

    Features that may not be searched do not count among those drawn.
    """
    cdef Py_ssize_t at
    cdef int32_t* order = features.order
    cdef bint counts
    while d.end > d.n_constant and (
            d.n_visited < features.n_drawn
            or d.n_visited + d.n_passed <= d.n_found + d.n_drawn):
        at = d.n_drawn + next_random(features) % <uint32_t>(d.end - d.n_found - d.n_drawn)
        if at >= d.n_known:
            at += d.n_found
            if may_follow(d.state, order[at]):
                d.n_visited += 1
                return at
            d.end -= 1
            order[at], order[d.end] = order[d.end], order[at]
            continue
        counts = may_follow(d.state, order[at])
        d.n_visited += counts
        d.n_passed += not counts
        order[d.n_drawn], order[at] = order[at], order[d.n_drawn]
        d.n_drawn += 1
    return -1


cdef inline void put_away(
    Features* features, Draw* d, Py_ssize_t at, bint is_constant
) noexcept nogil:
    """Put the feature at this place, which has been searched, with its like."""
    cdef Py_ssize_t to
    if is_constant:
        to = d.n_constant
        d.n_found += 1
        d.n_constant += 1
    else:
        d.end -= 1
        to = d.end
    features.order[at], features.order[to] = features.order[to], features.order[at]


cdef inline void end_draw(Features* features, const Draw* d) noexcept nogil:
    """Known constants come first and in one order in every node; keep the new ones."""
    cdef Py_ssize_t k
    for k in range(d.n_known):
        features.order[k] = features.constants[k]
    for k in range(d.n_known, d.n_constant):
        features.constants[k] = features.order[k]


# --- sets of categories --------------------------------------------------------------------------

cdef enum:
    # So many categories are sorted by insertion alone.
    FEW_CATEGORIES = 14
    # Of 256 codes, the last of which stands for missing values.
    SET_BYTES = 32
    NO_CATEGORY = 255
    # The code of a node that has a set.
    SET_CODE = -3


# The codes of a node's categories on both sides of a cut.
cdef struct Sets:
    uint8_t left[SET_BYTES]
    uint8_t right[SET_BYTES]


# A category of a node, and the mean of its targets about that of the node, shrunk.
cdef struct Category:
    double mean
    Sums sums
    int code


# A cut of categories in the order of their means.
cdef struct CategoryCut:
    double score
    double share  # of the gain that counts
    int n_left
    int missing_left


# The cut after a place in this order, and where missing values go; any cut where `after` is -1.
cdef struct OneCut:
    int after
    bint missing_left


cdef inline bint is_in(const uint8_t* members, int code) noexcept nogil:
    return members[code >> 3] >> (code & 7) & 1


cdef inline void put_in(uint8_t* members, int code) noexcept nogil:
    members[code >> 3] |= <uint8_t>(1 << (code & 7))


cdef inline bint set_sends_left(const Sets* sets, int code, bint missing_left) noexcept nogil:
    code = min(code, NO_CATEGORY)
    return is_in(sets.left, code) or (missing_left and not is_in(sets.right, code))


cdef inline void write_set(const Sets* sets, bint missing_left, uint8_t* to) noexcept nogil:
    """All codes that go to the left."""
    cdef int b
    for b in range(SET_BYTES):
        to[b] = <uint8_t>(~sets.right[b]) if missing_left else sets.left[b]


cdef inline void divide_categories(
    const Category* some, int n, int n_left, Sets* sets
) noexcept nogil:
    cdef int k
    memset(sets, 0, sizeof(Sets))
    for k in range(n):
        if k < n_left:
            put_in(sets.left, some[k].code)
        else:
            put_in(sets.right, some[k].code)


cdef inline void sort_categories(Category* some, int n) noexcept nogil:
    """Sort categories by their means; equal ones stay in their order.

    Many are first shared out among as many intervals of the same length. Few are then out of their
    places, so that insertion takes O(n), unless most means are close together beside others.
    """
    cdef Category other[8 * SET_BYTES]
    cdef uint8_t interval[8 * SET_BYTES]
    cdef int start[8 * SET_BYTES + 1]
    cdef Category one
    cdef double low = INFINITY, high = -INFINITY, scale, at
    cdef int k, i
    if n <= FEW_CATEGORIES:
        memcpy(other, some, n * sizeof(Category))
    else:
        for k in range(n):
            low, high = min(low, some[k].mean), max(high, some[k].mean)
        scale = (n - 1) / (high - low) if high - low > 0 else 0.0
        memset(start, 0, (n + 1) * sizeof(int))
        for k in range(n):
            at = (some[k].mean - low) * scale
            interval[k] = <uint8_t>at if 0 < at < n else 0
            start[interval[k] + 1] += 1
        for k in range(n):
            start[k + 1] += start[k]
        for k in range(n):
            other[start[interval[k]]] = some[k]
            start[interval[k]] += 1
    for k in range(n):
        one, i = other[k], k
        while i > 0 and some[i - 1].mean > one.mean:
            some[i] = some[i - 1]
            i -= 1
        some[i] = one


cdef inline double shrunk_mean(Sums one, double mean, double smooth) noexcept nogil:
    return comparable((one.target - mean * one.weight) / (one.weight + smooth))


cdef inline bint cut_categories(
    Category* some, int n, Sums missing, const Sums* total, const Rules* rules, double smooth,
    bint rounded, OneCut only, double best, CategoryCut* found
) noexcept nogil:
    """The best cut of n categories, if its score is above `best`. O(n log n).

    Sorted by the means of their targets, the best two sets are a beginning and a rest, for every
    score that is convex in the sums of a child (Breiman et al. 1984, theorem 4.5): with l2 too.
    The mean of a category about that of the node is multiplied by W / (W + smooth), and of the
    gain of a cut the share counts that these means have. Missing values, if `missing` has weight,
    are first on the right and then on the left. `only` may name the one cut that is looked at.
    Categories are given in the order of their codes, and are sorted.

    The score, which takes up to 7 divisions, is only computed where it comes near to the best.
    """
    cdef Constraint free = Constraint(0, 0.0, 0.0)
    cdef Sums left
    cdef bint has_missing = missing.weight > 0, is_better = False, looks_before
    cdef int k, search
    cdef double mean = total.target / total.weight, all_shifts = 0.0, of_missing = 0.0
    cdef double shift, rest, score, share = 1.0, before = 0.0, true_shift, w, w2, gain
    cdef double lightest = total.weight
    for k in range(n):
        some[k].mean = shrunk_mean(some[k].sums, mean, smooth)
        all_shifts += some[k].mean * some[k].sums.weight
        lightest = min(lightest, some[k].sums.weight)
    if has_missing:
        of_missing = shrunk_mean(missing, mean, smooth) * missing.weight
        lightest = min(lightest, missing.weight)
    all_shifts += of_missing
    sort_categories(some, n)
    # Of squares, without l2, the gain is at most the sum of both shrunk shifts' squares over their
    # weights. A difference from the mean loses at most half of the digits by which weights differ.
    looks_before = (rules.criterion == SQUARED_ERROR or rules.criterion == GINI) and (
        rules.l2 == 0 and lightest > 2.0**-30 * total.weight)
    if smooth > 0 or looks_before:
        before = node_score(total.target, total.weight, rules.criterion, rules.l2)
    for search in range(1 + has_missing):
        left, shift = Sums(0.0, 0.0, 0), 0.0
        if search == 1:
            left, shift = missing, of_missing
        for k in range(n if has_missing and search == 0 else n - 1):
            left.target += some[k].sums.target
            left.weight += some[k].sums.weight
            left.rows += some[k].sums.rows
            shift += some[k].mean * some[k].sums.weight
            if only.after >= 0 and (only.after != k or only.missing_left != search):
                continue
            w, w2, rest = left.weight, total.weight - left.weight, all_shifts - shift
            true_shift = left.target - mean * w
            if looks_before:
                if smooth > 0:
                    gain = shift * shift * w2 + rest * rest * w
                else:
                    gain = true_shift * true_shift * total.weight
                if gain < (nearly(best) - before) * (w * w2):
                    continue
            score = cut_score(left, total, rules, &free)
            if smooth > 0:
                share = true_shift * true_shift * (1 / w + 1 / w2)
                if share > 0:
                    share = min((shift * shift / w + rest * rest / w2) / share, 1.0)
                score = before + share * (score - before)
            if rounded:
                score = comparable(score)
            if score > best:
                best = score
                found.score, found.share, found.n_left, is_better = score, share, k + 1, True
                found.missing_left = search if has_missing else UNKNOWN
    return is_better
