"""The growth of one tree by one thread, over columns in bins.

Features are drawn as scikit-learn's splitter draws them, and nodes are numbered as its builders
number them, so that the tree is the one that scikit-learn grows on the codes, up to ties. What is
added up are the integers of the rows (see growth.pxd).

In a node of many rows the integers are added up in cells, one for each bin. There may be far more
cells than rows: those that hold rows are listed first, and emptied at the end, so that a search
takes as long as there are rows. In nodes of few rows, rows are sorted by their codes.
"""

from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree, PyMem_RawMalloc, PyMem_RawRealloc
from libc.math cimport INFINITY, fabs, ldexp, log, nextafter, rint
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint16_t, uint64_t
from libc.string cimport memcpy, memset

from .arrays cimport require
from .growth cimport (
    CLASSES, GINI, LOG_LOSS, NO_CATEGORY, PACKED, POISSON, QUANTILE, SET_BYTES, SET_CODE,
    SQUARED_ERROR, UNKNOWN, WIDE, Category, CategoryCut, Constraint, Draw, Features, OneCut,
    Packing, PathRules, Rules, Sets, Sums, comparable, cut_categories, cut_score, divide_categories,
    end_draw, follow, integer_scale, lowest_bit, new_draw, next_place, next_random, node_score,
    put_away, set_sends_left, sort_categories, unpack, write_set, x_log_x)
from .order_statistics cimport (
    LEVELS, Places, Ranked, RankedSides, lowest_sum, make_set, move_places, move_row, n_words,
    next_candidate, put_places, start_sides, weight_of)

import numpy as np

cdef extern from "forest_trees.h" nogil:
    void sort_few(const int32_t*, Py_ssize_t, int32_t*)
    bint may_score(const double*, const double*, Py_ssize_t, double, double, double)

cdef enum:
    LEAF = -1
    NO_FEATURE = -2
    # Nodes of at most so many rows are small. Their rows are sorted by keys: a code times 64 plus
    # the row's place.
    SMALL_ROWS = 40
    PLACES = 63
    PLACE_BITS = 6
    # With fewer rows than a quarter of the cells, those that hold rows are marked in words of bits.
    SHARE_OF_CELLS = 4
    # So many cuts are compared with the best one together.
    BLOCK = 128
    # Of the power method.
    POWER_STEPS = 20
    # Sums of the integers stay below 2^62; for quantiles below 2^52, so that doubles hold them.
    SUM_BITS = 62
    RANKED_BITS = 52
    # Room for nodes that wait to be visited, at first.
    WAITING = 64

# What the search of a feature finds. CONSTANT: all rows of the node have the same code.
cdef enum Status:
    CONSTANT, NO_CUT, CUT

cdef double RANDOM_MAX = 0x7FFFFFFF
cdef double LOG_2 = log(2.0)
# Impurities below it count as 0, as in scikit-learn.
cdef double EPSILON = 2.220446049250313e-16
# A cut whose score, computed without a division, is below the best by more than this is worse.
cdef double NEARLY = 1 - 1e-12

_CRITERIA = {
    "squared_error": SQUARED_ERROR, "poisson": POISSON, "gini": GINI, "log_loss": LOG_LOSS,
    "absolute_error": QUANTILE, "quantile": QUANTILE}


cdef struct Cut:
    double score
    int code
    int missing_left  # 1, 0 or UNKNOWN
    bint is_set  # of categories; its code is then 0


# The rows of the tree, those of a node next to each other; NULL for what the form does not have.
cdef struct Rows:
    int32_t* row
    int64_t* q
    int64_t* r
    int32_t* label


# A node to be visited.
cdef struct Task:
    Py_ssize_t start, stop, depth, parent
    Py_ssize_t n_known  # features that are constant in its parent
    bint is_right
    double low, high  # bounds of its mean


# How a node may be cut.
cdef struct Split:
    Py_ssize_t place  # the first row on the right; the end of the node where there is no cut
    int feature
    Cut cut
    double decrease  # of the impurity, relative to the weight of all rows
    double middle  # of the means of the children, where the feature has a constraint


# A leaf that may be cut, where trees are grown best first.
cdef struct OpenLeaf:
    Task task
    Py_ssize_t node
    Split split


# See `TreeArrays`.
cdef struct Nodes:
    int32_t* left
    int32_t* right
    int32_t* feature
    int32_t* code
    uint8_t* missing_left
    int64_t* n_rows
    double* impurity
    double* weight
    double* value
    uint8_t* left_bins  # NULL where no feature is categorical
    Py_ssize_t n_values, count, depth


# The sums of a node, and those of its rows up to its quantile, which is row `place`.
cdef struct RankedSums:
    double s, w, below_s, below_w
    Py_ssize_t place


cdef struct Growth:
    # The data.
    Py_ssize_t n, p, m
    const uint16_t* by_column
    const uint16_t* by_row
    int missing, n_cells
    const double* y  # by row; NULL for classes
    const double* weight  # by row; NULL where all are 1
    Rows rows, spare
    Packing packing
    # The options, and what one unit of the integers is.
    Rules rules
    Py_ssize_t n_classes, max_depth, max_leaf_nodes, min_samples_split
    double least_decrease
    const int8_t* monotonic_cst  # NULL for none
    bint bounded
    PathRules path_rules
    uint64_t* paths  # states of paths: that of the root, and of the children of each node
    const uint8_t* categorical  # whether a feature is; NULL where none is
    double cat_smooth
    Sets sets  # of the best cut of categories so far
    uint16_t* sides  # of rows at a cut of categories
    bint random_splits
    bint plain  # S²/W alone is to be maximal, and a leaf may be a single row
    double total_weight, target_unit, weight_unit, gain_unit
    Features features
    # Cells and words are 0 between searches.
    int64_t* cell_q
    int64_t* cell_r
    int64_t* cell_classes  # of any content
    int32_t* cells  # codes of the cells that hold rows
    uint64_t* words
    # The weights of the classes: in the node, and on both sides of a cut.
    double* whole
    double* left
    double* right
    # The shares of the classes about those of the node, times weights and shrunk: of the categories
    # on the left, and of all.
    double* shifts
    double* all_shifts
    # For quantiles, where rows are in the order of their targets: the targets by row, in units; the
    # rows of the node; the sums of the node's lowest targets, and what the sides of a cut start from.
    double tau, loss_factor, lowest
    double slack  # more than the rounding errors of the bounds of the node's scores
    double* t
    Ranked* ranked
    RankedSides ranked_sides
    RankedSums node_sums
    # Rows sorted by their codes.
    int32_t* places
    uint16_t* codes
    # The tree.
    Nodes nodes
    # Of the node that was described last, at its own mean or shares; and of the root.
    double impurity, root_impurity
    Task* waiting
    Py_ssize_t n_waiting, room_for_waiting
    OpenLeaf* leaves


# --- scores --------------------------------------------------------------------------------------

# sum_k f(S_k) over the classes, on both sides of a cut.
cdef struct Sides:
    double left, right


cdef inline double moved(
    int criterion, double mass, double sums, double w, int direction
) noexcept nogil:
    """sum_k f(S_k) of one side after weight w of a class with S_k = mass has moved."""
    cdef double after = mass + direction * w
    if criterion == GINI:
        return sums + after * after - mass * mass
    return sums + x_log_x(after) - x_log_x(mass)


cdef inline Sides sides_of(Growth* g) noexcept nogil:
    """The sums where `left` is to the left; what remains is written to `right`."""
    cdef Sides f = Sides(0.0, 0.0)
    cdef Py_ssize_t k
    for k in range(g.n_classes):
        g.right[k] = g.whole[k] - g.left[k]
        f.left = moved(g.rules.criterion, 0.0, f.left, g.left[k], 1)
        f.right = moved(g.rules.criterion, 0.0, f.right, g.right[k], 1)
    return f


cdef inline Sides all_on_the_right(Growth* g) noexcept nogil:
    memset(g.left, 0, g.n_classes * sizeof(double))
    return sides_of(g)


cdef inline void move_left(Growth* g, Sides* f, Py_ssize_t k, double w) noexcept nogil:
    """Move weight w of class k."""
    f.left = moved(g.rules.criterion, g.left[k], f.left, w, 1)
    f.right = moved(g.rules.criterion, g.right[k], f.right, w, -1)
    g.left[k] += w
    g.right[k] -= w


cdef inline double class_score(
    const Rules* rules, Sides f, double w, int64_t n, const Sums* total
) noexcept nogil:
    """As `cut_score`, where weight w and n rows are to the left."""
    cdef double w2 = total.weight - w
    if (n < rules.min_samples_leaf or total.rows - n < rules.min_samples_leaf
            or w < rules.min_weight_leaf or w2 < rules.min_weight_leaf):
        return -INFINITY
    if rules.criterion == GINI:
        return f.left / w + f.right / w2
    return f.left + f.right - x_log_x(w) - x_log_x(w2)


cdef inline double decrease_by(Growth* g, double score, const Sums* total) noexcept nogil:
    """By how much a cut of this score reduces the impurity."""
    cdef double before
    if g.rules.criterion == QUANTILE:
        before = min(g.lowest, score)  # rounding alone makes the score of a cut the lower one
    elif g.packing.form == CLASSES:
        before = all_on_the_right(g).right
        before = (before / total.weight if g.rules.criterion == GINI
                  else before - x_log_x(total.weight))
    else:
        before = node_score(total.target, total.weight, g.rules.criterion, g.rules.l2)
    return (score - before) * g.gain_unit


cdef inline bint is_too_little(const Growth* g, double decrease) noexcept nogil:
    return decrease + EPSILON < g.least_decrease or (g.rules.l2 > 0 and decrease <= 0)


cdef inline bint improves(double s, double w, const Sums* total, Cut* best) noexcept nogil:
    """Whether a cut has more S²/W than the best one; the best one then has its score.

    A division takes far longer than what shows that most cuts are worse.
    """
    cdef double s2 = total.target - s, w2 = total.weight - w, score
    if s * s * w2 + s2 * s2 * w >= best.score * (w * w2) * NEARLY:
        score = s * s / w + s2 * s2 / w2
        if score > best.score:
            best.score = score
            return True
    return False


# --- drawing of features -------------------------------------------------------------------------

cdef inline uint64_t* state_after(const Growth* g, Py_ssize_t node) noexcept nogil:
    """The state of the path of a node's children; -1 stands for what is above the root."""
    return g.paths + (node + 1) * 2 * g.path_rules.n_words if g.paths != NULL else NULL


cdef inline Draw draw_for(const Growth* g, const Task* task) noexcept nogil:
    return new_draw(&g.features, task.n_known, state_after(g, task.parent))


# --- nodes ---------------------------------------------------------------------------------------

cdef inline Py_ssize_t new_node(Growth* g, const Task* task) noexcept nogil:
    """A leaf, of which only its place in the tree and its rows are known."""
    cdef Nodes* nodes = &g.nodes
    cdef Py_ssize_t node = nodes.count
    nodes.count += 1
    nodes.depth = max(nodes.depth, task.depth)
    if task.parent >= 0:
        (nodes.right if task.is_right else nodes.left)[task.parent] = <int32_t>node
    nodes.left[node] = nodes.right[node] = LEAF
    nodes.feature[node] = nodes.code[node] = NO_FEATURE
    nodes.missing_left[node] = 0
    nodes.n_rows[node] = task.stop - task.start
    return node


cdef inline bint may_be_cut(
    const Growth* g, const Task* task, const Sums* total, double impurity
) noexcept nogil:
    return not (
        task.depth >= g.max_depth
        or task.stop - task.start < g.min_samples_split
        or total.rows < 2 * g.rules.min_samples_leaf
        or total.weight < 2 * g.rules.min_weight_leaf
        or impurity <= EPSILON * g.root_impurity)


cdef inline int sign_of(const Growth* g, Py_ssize_t feature) noexcept nogil:
    return 0 if g.monotonic_cst == NULL else g.monotonic_cst[feature]


cdef inline bint is_categorical(const Growth* g, Py_ssize_t feature) noexcept nogil:
    return g.categorical != NULL and g.categorical[feature]


cdef inline double unit_of_mean(const Growth* g) noexcept nogil:
    """The mean of a node is this times the ratio of its integers."""
    return 1.0 if g.n_classes == 2 else g.target_unit / g.weight_unit


cdef inline Constraint constraint_of(
    const Growth* g, Py_ssize_t feature, const Task* task
) noexcept nogil:
    cdef double unit = unit_of_mean(g)
    return Constraint(sign_of(g, feature), task.low / unit, task.high / unit)


cdef inline double middle_of_means(
    const Growth* g, const Sums* left, const Sums* total
) noexcept nogil:
    cdef double l2 = g.rules.l2, a = left.target / (left.weight + l2)
    cdef double b = (total.target - left.target) / (total.weight - left.weight + l2)
    return 0.5 * unit_of_mean(g) * (a + b)


cdef inline bint missing_goes_left(const Task* task, const Split* split) noexcept nogil:
    """Where there are none, they will go where most rows go."""
    if split.cut.missing_left != UNKNOWN:
        return split.cut.missing_left == 1
    return 2 * split.place > task.start + task.stop


cdef inline void cut_node(
    Growth* g, Py_ssize_t node, const Task* task, const Split* split, Task* children
) noexcept nogil:
    """The children: the right one, and then the left one, which is visited first."""
    cdef Task* right = children
    cdef Task* left = children + 1
    cdef int sign = sign_of(g, split.feature)
    if g.paths != NULL:
        follow(&g.path_rules, state_after(g, task.parent), split.feature, state_after(g, node))
    g.nodes.feature[node] = split.feature
    g.nodes.code[node] = SET_CODE if split.cut.is_set else split.cut.code
    g.nodes.missing_left[node] = <uint8_t>missing_goes_left(task, split)
    right[0] = task[0]
    right.depth, right.parent = task.depth + 1, node
    left[0] = right[0]
    left.stop = right.start = split.place
    left.is_right, right.is_right = False, True
    if sign > 0 and g.bounded:
        left.high = right.low = split.middle
    elif sign < 0 and g.bounded:
        left.low = right.high = split.middle


# --- what a node is before it is cut -------------------------------------------------------------

# Of the targets themselves: sums of weights, of weighted targets, of their squares (Poisson:
# y log y), and their range.
cdef struct Moments:
    double weight, sum, squares, lowest, highest


cdef inline void add_target(Moments* a, double y, double w, int criterion) noexcept nogil:
    a.weight += w
    a.sum += w * y
    a.squares += w * (x_log_x(y) if criterion == POISSON else y * y)
    a.lowest = min(a.lowest, y)
    a.highest = max(a.highest, y)


cdef inline double mean_of_targets(
    const Moments* a, int criterion, double* impurity
) noexcept nogil:
    """The mean; the impurity is 0 where all targets are equal."""
    cdef double mean = a.sum / a.weight
    if a.lowest == a.highest:
        impurity[0] = 0.0
        return a.lowest
    if criterion != POISSON:
        impurity[0] = max(a.squares / a.weight - mean * mean, 0.0)
    elif mean > 0:
        impurity[0] = max((a.squares - a.sum * log(mean)) / a.weight, 0.0)
    else:
        impurity[0] = INFINITY
    return mean


cdef inline void describe_classes(
    Growth* g, Py_ssize_t node, double weight
) noexcept nogil:
    """Write the shares of the classes, which are in `whole`, and their impurity."""
    cdef double impurity = 1.0 if g.rules.criterion == GINI else 0.0, share
    cdef Py_ssize_t k
    for k in range(g.n_classes):
        share = g.whole[k] / weight
        g.nodes.value[node * g.n_classes + k] = share
        impurity -= share * share if g.rules.criterion == GINI else x_log_x(share) / LOG_2
    g.impurity = g.nodes.impurity[node] = impurity
    g.nodes.weight[node] = weight * g.weight_unit


cdef inline double excess_of(const Growth* g, double mean, double value) noexcept nogil:
    """By how much the impurity at another value is above that at the mean."""
    if value == mean:
        return 0.0
    if g.n_classes == 0 and g.rules.criterion == POISSON:
        return value - mean + (mean * log(mean / value) if mean > 0 else 0.0)
    if g.n_classes == 0:
        return (value - mean) * (value - mean)
    if g.rules.criterion == GINI:
        return 2.0 * (value - mean) * (value - mean)
    return ((mean * log(mean / value) if mean > 0 else 0.0)
            + ((1.0 - mean) * log((1.0 - mean) / (1.0 - value)) if mean < 1 else 0.0)) / LOG_2


cdef inline void describe_mean(
    Growth* g, Py_ssize_t node, const Task* task, const Sums* total, const Moments* moments
) noexcept nogil:
    """Write the mean and the impurity of the targets, or of two classes.

    A mean outside of its bounds moves, and the impurity is that of the value. Whether the node is
    pure does not depend on it.
    """
    cdef double mean, clipped, impurity, weight = total.weight
    cdef double* value = g.nodes.value + node * g.nodes.n_values
    if g.n_classes == 0:
        mean = mean_of_targets(moments, g.rules.criterion, &impurity)
    else:
        mean = total.target / weight
        if g.rules.criterion == GINI:
            impurity = 2.0 * mean * (1.0 - mean)
        else:
            impurity = -(x_log_x(mean) + x_log_x(1.0 - mean)) / LOG_2
    mean *= weight / (weight + g.rules.l2)
    clipped = min(max(mean, task.low), task.high)
    g.impurity, g.nodes.weight[node] = impurity, weight * g.weight_unit
    g.nodes.impurity[node] = impurity + excess_of(g, mean, clipped)
    if g.n_classes == 0:
        value[0] = clipped
    else:
        value[0], value[1] = 1.0 - clipped, clipped


cdef inline double weight_below(const Growth* g, double w) noexcept nogil:
    """That of the rows up to the quantile, of rows of the weight w.

    0.55 of 100 is just above 55: what rounding alone keeps from a whole number is this number.
    """
    cdef double least = g.tau * w
    return rint(least) if fabs(least - rint(least)) <= EPSILON * w else least


cdef inline Py_ssize_t describe_loss(
    Growth* g, Py_ssize_t node, const Ranked* ranked, const int32_t* order, Py_ssize_t size,
    bint is_pure
) noexcept nogil:
    """Write the mean loss of rows in the order of their targets, and the node as a side.

    `order` has the places of the rows in `ranked`; NULL: all from 0 on. Returns which row is the
    quantile.
    """
    cdef RankedSums* whole = &g.node_sums
    cdef Py_ssize_t k, i
    cdef double least, loss
    whole.s = whole.w = whole.below_s = whole.below_w = g.slack = 0.0
    for k in range(size):
        i = k if order == NULL else order[k]
        whole.s += ranked[i].s
        g.slack += fabs(ranked[i].s)
        whole.w += ranked[i].w
    g.slack *= 1 - NEARLY
    least = weight_below(g, whole.w)
    for k in range(size):
        i = k if order == NULL else order[k]
        whole.below_s += ranked[i].s
        whole.below_w += ranked[i].w
        if whole.below_w >= least:
            break
    whole.place = i
    g.lowest = whole.below_s + ranked[i].t * (least - whole.below_w)
    loss = 0.0 if is_pure else max(g.tau * whole.s - g.lowest, 0.0)
    g.impurity = loss / whole.w * g.gain_unit * g.total_weight / g.weight_unit
    g.nodes.impurity[node] = g.impurity
    g.nodes.weight[node] = whole.w * g.weight_unit
    return k


cdef inline double quantile_of(const Growth* g, double y, double after) noexcept nogil:
    """Where all values between two targets are quantiles, the middle, as in scikit-learn."""
    cdef bint is_middle = g.node_sums.below_w == weight_below(g, g.node_sums.w)
    return 0.5 * y + 0.5 * after if is_middle else y


cdef Sums describe_quantile(Growth* g, Py_ssize_t node, const Task* task) noexcept nogil:
    """As `describe`, with the rows of the node in `ranked`."""
    cdef const int32_t* row = g.rows.row + task.start
    cdef Py_ssize_t size = task.stop - task.start, k
    cdef Sums one
    for k in range(size):
        one = unpack(g.packing, g.rows.q[task.start + k], g.rows.r[task.start + k])
        g.ranked[k] = Ranked(one.target, one.weight, g.t[row[k]])
    k = describe_loss(g, node, g.ranked, NULL, size, g.y[row[0]] == g.y[row[size - 1]])
    g.nodes.value[node] = quantile_of(g, g.y[row[k]], g.y[row[min(k + 1, size - 1)]])
    return Sums(g.node_sums.s, g.node_sums.w, size)


cdef Sums sums_of_rows(const Growth* g, Py_ssize_t start, Py_ssize_t stop) noexcept nogil:
    """For PACKED and WIDE."""
    cdef Py_ssize_t k
    cdef int64_t q = 0, r = 0
    for k in range(start, stop):
        q += g.rows.q[k]
    if g.packing.form == WIDE:
        for k in range(start, stop):
            r += g.rows.r[k]
    return unpack(g.packing, q, r)


cdef Sums describe(Growth* g, Py_ssize_t node, const Task* task) noexcept nogil:
    """Write what a node is; its sums, with those of the classes in `whole`. O(rows)."""
    cdef const int32_t* row = g.rows.row
    cdef Sums total
    cdef Moments moments
    cdef Py_ssize_t k
    cdef int32_t i
    if g.rules.criterion == QUANTILE:
        return describe_quantile(g, node, task)
    if g.packing.form == CLASSES:
        total = Sums(0.0, 0.0, task.stop - task.start)
        memset(g.whole, 0, g.n_classes * sizeof(double))
        for k in range(task.start, task.stop):
            g.whole[g.rows.label[k]] += <double>(g.rows.r[k] >> g.packing.bits)
        for k in range(g.n_classes):
            total.weight += g.whole[k]
        describe_classes(g, node, total.weight)
        return total
    total = sums_of_rows(g, task.start, task.stop)
    if g.n_classes == 0:
        i = row[task.start]
        moments = Moments(0.0, 0.0, 0.0, g.y[i], g.y[i])
        for k in range(task.start, task.stop):
            i = row[k]
            add_target(&moments, g.y[i], 1.0 if g.weight == NULL else g.weight[i],
                       g.rules.criterion)
    describe_mean(g, node, task, &total, &moments)
    return total


# --- cuts of a node of many rows -----------------------------------------------------------------

cdef inline void mark(uint64_t* words, uint16_t code) noexcept nogil:
    words[code >> 6] |= <uint64_t>1 << (code & 63)


cdef Py_ssize_t marked_cells(Growth* g) noexcept nogil:
    """List the marked codes in increasing order, and clear the marks; the number of codes."""
    cdef int32_t* cells = g.cells
    cdef uint64_t* words = g.words
    cdef Py_ssize_t n_full = 0, k
    cdef uint64_t word
    for k in range((g.n_cells + 63) >> 6):
        word = words[k]
        words[k] = 0
        while word != 0:
            cells[n_full] = <int32_t>(k << 6) + lowest_bit(word)
            n_full += 1
            word &= word - 1
    if words[g.missing >> 6] != 0:
        words[g.missing >> 6] = 0
        cells[n_full] = g.missing
        n_full += 1
    return n_full


cdef Py_ssize_t full_cells(Growth* g) noexcept nogil:
    """The same from the cells themselves, for PACKED, without a branch."""
    cdef const int64_t* q = g.cell_q
    cdef int32_t* cells = g.cells
    cdef Py_ssize_t n_full = 0
    cdef int32_t c
    for c in range(g.n_cells):
        cells[n_full] = c
        n_full += q[c] != 0
    if q[g.missing] != 0:
        cells[n_full] = g.missing
        n_full += 1
    return n_full


cdef bint plain_cut_of_cells(
    Growth* g, Py_ssize_t n_full, const Sums* total, Cut* best
) noexcept nogil:
    """`cut_of_cells` for packed integers, no missing value and no rule."""
    cdef int64_t* h = g.cell_q
    cdef const int32_t* cells = g.cells
    cdef Py_ssize_t first = 0, k, size
    cdef int64_t q = 0
    cdef double s[BLOCK]
    cdef double w[BLOCK]
    cdef Sums left
    cdef bint found = False
    while first < n_full - 1:
        size = min(n_full - 1 - first, BLOCK)
        for k in range(size):
            q += h[cells[first + k]]
            h[cells[first + k]] = 0
            left = unpack(g.packing, q, 0)
            s[k], w[k] = left.target, left.weight
        if may_score(s, w, size, total.target, total.weight, best.score * NEARLY):
            for k in range(size):
                if improves(s[k], w[k], total, best):
                    best.code, found = (cells[first + k] + cells[first + k + 1]) // 2, True
        first += size
    h[cells[n_full - 1]] = 0
    if found:
        best.missing_left = UNKNOWN
    return found


cdef bint cut_of_cells(
    Growth* g, Py_ssize_t n_full, const Sums* total, Constraint constraint, Cut* best
) noexcept nogil:
    """The best cut of the cells, of which at least two hold rows, if it beats `best`."""
    cdef int64_t* h = g.cell_q
    cdef int64_t* r_cells = g.cell_r
    cdef const int32_t* cells = g.cells
    cdef int missing = g.missing, search
    cdef bint has_missing = cells[n_full - 1] == missing, found = False
    cdef Py_ssize_t n_known = n_full - has_missing, k
    cdef int64_t q, r
    cdef double score
    if g.plain and g.packing.form == PACKED and not has_missing:
        return plain_cut_of_cells(g, n_full, total, best)
    for search in range(1 + has_missing):
        # With missing values on the left, they come first. With them on the right, the last cut
        # is between all values and them.
        q = r = 0
        if search == 1:
            q, r = h[missing], r_cells[missing]
        for k in range(n_known if search < has_missing else n_known - 1):
            q += h[cells[k]]
            r += r_cells[cells[k]]
            score = cut_score(unpack(g.packing, q, r), total, &g.rules, &constraint)
            if score > best.score:
                best.score, found = score, True
                best.code = missing - 1 if k + 1 == n_known else (cells[k] + cells[k + 1]) // 2
                best.missing_left = search if has_missing else UNKNOWN
    for k in range(n_full):
        h[cells[k]] = r_cells[cells[k]] = 0
    return found


cdef void read_category(
    const Growth* g, int code, Category* category
) noexcept nogil:
    category.code = code
    category.sums = unpack(g.packing, g.cell_q[code], g.cell_r[code])


cdef inline OneCut cut_to_try(Growth* g, int n, bint has_missing) noexcept nogil:
    """A random cut of n categories in their order, where cuts are random: all places are equal."""
    if not g.random_splits:
        return OneCut(-1, False)
    if n < 2:
        return OneCut(0, False)
    return OneCut((next_random(&g.features) >> 8) % (n - 1), has_missing and next_random(&g.features) >> 8 & 1)


cdef bint cut_of_categories(
    Growth* g, Py_ssize_t n_full, const Sums* total, Cut* best
) noexcept nogil:
    """The best cut of the categories whose cells hold rows, if it beats `best`."""
    cdef Category some[NO_CATEGORY + 1]
    cdef CategoryCut cut
    cdef int missing = g.cells[n_full - 1] == g.missing, n = <int>n_full - missing, k
    cdef bint found
    for k in range(<int>n_full):
        read_category(g, g.cells[k], some + k)
    found = cut_categories(
        some, n, some[n].sums if missing else Sums(0.0, 0.0, 0), total, &g.rules, g.cat_smooth,
        False, cut_to_try(g, n, missing), best.score, &cut)
    if found:
        best[0] = Cut(cut.score, 0, cut.missing_left, True)
        divide_categories(some, n, cut.n_left, &g.sets)
    for k in range(<int>n_full):
        g.cell_q[g.cells[k]] = g.cell_r[g.cells[k]] = 0
    return found


cdef Status search_numbers(
    Growth* g, Py_ssize_t feature, const Task* task, const Sums* total, Cut* best
) noexcept nogil:
    """The best cut by a feature, if it beats `best`, for PACKED and WIDE. O(rows), or O(cells)."""
    cdef const uint16_t* column = g.by_column + feature * g.n
    cdef const int32_t* row = g.rows.row
    cdef const int64_t* q = g.rows.q
    cdef const int64_t* r = g.rows.r
    cdef int64_t* h = g.cell_q
    cdef int64_t* r_cells = g.cell_r
    cdef uint64_t* words = g.words
    cdef Py_ssize_t k, n_full
    cdef uint16_t code
    if g.packing.form == WIDE:
        for k in range(task.start, task.stop):
            code = column[row[k]]
            mark(words, code)
            h[code] += q[k]
            r_cells[code] += r[k]
        n_full = marked_cells(g)
    elif (task.stop - task.start) * SHARE_OF_CELLS >= g.n_cells:
        for k in range(task.start, task.stop):
            h[column[row[k]]] += q[k]
        n_full = full_cells(g)
    else:
        for k in range(task.start, task.stop):
            code = column[row[k]]
            mark(words, code)
            h[code] += q[k]
        n_full = marked_cells(g)
    if n_full == 1:
        h[g.cells[0]] = r_cells[g.cells[0]] = 0
        return CONSTANT
    if is_categorical(g, feature):
        return CUT if cut_of_categories(g, n_full, total, best) else NO_CUT
    return CUT if cut_of_cells(
        g, n_full, total, constraint_of(g, feature, task), best) else NO_CUT


cdef Status search_class_cells(Growth* g, const Sums* total, Cut* best) noexcept nogil:
    """The best cut for K classes, from the weights of the classes in each cell. O(cells K)."""
    cdef int search, bits = g.packing.bits
    cdef Py_ssize_t K = g.n_classes, k, c, before, n_bins = 0
    cdef int64_t sum_r, low_bits = (<int64_t>1 << bits) - 1
    cdef const int64_t* missing = g.cell_classes + g.missing * K
    cdef const int64_t* cell
    cdef bint has_missing = False, found = False, after_all, any_row
    cdef double score
    cdef Sides f
    for k in range(K):
        has_missing |= missing[k] != 0
    for search in range(1 + has_missing):
        # With missing values on the left, they come first.
        sum_r = n_bins = 0
        for k in range(K):
            g.left[k] = <double>(missing[k] >> bits) if search == 1 else 0.0
            sum_r += missing[k] if search == 1 else 0
        f = sides_of(g)
        before = -1
        for c in range(g.n_cells + 1):
            after_all = c == g.n_cells
            if after_all and search == has_missing:
                break
            cell = missing if after_all else g.cell_classes + c * K
            any_row = after_all
            for k in range(K):
                any_row |= cell[k] != 0
            if not any_row:
                continue
            if before >= 0:
                score = class_score(
                    &g.rules, f, <double>(sum_r >> bits), sum_r & low_bits, total)
                if score > best.score:
                    best.score, found = score, True
                    best.code = <int>(g.missing - 1 if after_all else (before + c) // 2)
                    best.missing_left = search if has_missing else UNKNOWN
            if after_all:
                break
            n_bins += 1
            before = c
            for k in range(K):
                if cell[k] != 0:
                    move_left(g, &f, k, <double>(cell[k] >> bits))
                    sum_r += cell[k]
    if n_bins == 0 or (n_bins == 1 and not has_missing):
        return CONSTANT
    return CUT if found else NO_CUT


cdef void order_of_classes(Growth* g, Category* some, int n, const Sums* total) noexcept nogil:
    """Sort categories by the first principal component of their shares of the classes.

    Cuts in this order are no worse than in any other order by a linear function of the shares,
    and for two classes the best of all (Coppersmith, Hong and Hosking 1999). The component is
    that of the shares about those of the node, shrunk and weighted by W; by the power method.
    """
    cdef Py_ssize_t K = g.n_classes, k
    cdef int i, step, bits = g.packing.bits
    cdef const int64_t* cell
    cdef double w, size, dot
    cdef double* a = g.left
    cdef double* b = g.right
    for i in range(n):
        some[i].mean = 0.0
    for k in range(K):  # starts from variances, with signs that differ
        a[k] = 0.0
        for i in range(n):
            w = some[i].sums.weight
            size = (<double>(g.cell_classes[some[i].code * K + k] >> bits)
                    - g.whole[k] / total.weight * w) / (w + g.cat_smooth)
            a[k] += w * size * size
    for k in range(1, K, 2):
        a[k] = -a[k]
    for step in range(POWER_STEPS + 1):
        size = 0.0
        for k in range(K):
            size = max(size, fabs(a[k]))
        if not size > 0:
            break
        for k in range(K):
            a[k] /= size
            b[k] = 0.0
        for i in range(n):
            cell, w = g.cell_classes + some[i].code * K, some[i].sums.weight
            dot = 0.0
            for k in range(K):
                dot += a[k] * (<double>(cell[k] >> bits) - g.whole[k] / total.weight * w)
            some[i].mean = dot / (w + g.cat_smooth)
            for k in range(K):
                b[k] += some[i].mean * w / (w + g.cat_smooth) * (
                    <double>(cell[k] >> bits) - g.whole[k] / total.weight * w)
        for k in range(K):
            a[k] = b[k]
    for i in range(n):
        some[i].mean = comparable(some[i].mean)
    sort_categories(some, n)


cdef inline void add_shifts(
    const Growth* g, const int64_t* cell, const Sums* total, double* shifts
) noexcept nogil:
    """Add the shifts of the classes by a category."""
    cdef Py_ssize_t k
    cdef double w = 0.0
    for k in range(g.n_classes):
        w += <double>(cell[k] >> g.packing.bits)
    for k in range(g.n_classes):
        shifts[k] += w / (w + g.cat_smooth) * (
            <double>(cell[k] >> g.packing.bits) - g.whole[k] / total.weight * w)


cdef inline double share_of_shifts(
    const Growth* g, double w, const Sums* total
) noexcept nogil:
    """The share of the gain that counts (see `cut_categories`), with weight w on the left."""
    cdef double shrunk = 0.0, whole = 0.0, w2 = total.weight - w, shift, rest, full
    cdef Py_ssize_t k
    for k in range(g.n_classes):
        shift, rest = g.shifts[k], g.all_shifts[k] - g.shifts[k]
        full = g.left[k] - g.whole[k] / total.weight * w
        shrunk += shift * shift / w + rest * rest / w2
        whole += full * full * (1 / w + 1 / w2)
    return min(shrunk / whole, 1.0) if whole > 0 else 1.0


cdef Status search_categories(
    Growth* g, Py_ssize_t feature, const Task* task, const Sums* total, Cut* best
) noexcept nogil:
    """The best cut by a feature of categories for K classes. O(rows + categories K)."""
    cdef const uint16_t* column = g.by_column + feature * g.n
    cdef int64_t* table = g.cell_classes
    cdef Category some[NO_CATEGORY + 1]
    cdef int64_t sum_r, low_bits = (<int64_t>1 << g.packing.bits) - 1
    cdef const int64_t* missing = table + g.missing * g.n_classes
    cdef Py_ssize_t K = g.n_classes, k, n_cells = min(g.n_cells, NO_CATEGORY), c
    cdef int n = 0, i, search, bits = g.packing.bits
    cdef bint has_missing = False, found = False
    cdef double score, before
    cdef OneCut only
    cdef Sides f
    memset(table, 0, n_cells * K * sizeof(int64_t))
    memset(table + g.missing * K, 0, K * sizeof(int64_t))
    for k in range(task.start, task.stop):
        table[column[g.rows.row[k]] * K + g.rows.label[k]] += g.rows.r[k]
    for c in range(n_cells + 1):
        sum_r = 0
        for k in range(K):
            sum_r += table[(c if c < n_cells else g.missing) * K + k]
        if c == n_cells:
            has_missing = sum_r != 0
        elif sum_r != 0:
            some[n].code, some[n].sums.weight, n = <int>c, <double>(sum_r >> bits), n + 1
    if n == 0 or (n == 1 and not has_missing):
        return CONSTANT
    order_of_classes(g, some, n, total)
    only = cut_to_try(g, n, has_missing)
    memset(g.all_shifts, 0, K * sizeof(double))
    for i in range(n):
        add_shifts(g, table + some[i].code * K, total, g.all_shifts)
    if has_missing:
        add_shifts(g, missing, total, g.all_shifts)
    f = all_on_the_right(g)
    before = f.right / total.weight if g.rules.criterion == GINI else (
        f.right - x_log_x(total.weight))
    for search in range(1 + has_missing):
        # With missing values on the left, they come first.
        f, sum_r = all_on_the_right(g), 0
        memset(g.shifts, 0, K * sizeof(double))
        if search == 1:
            add_shifts(g, missing, total, g.shifts)
            for k in range(K):
                move_left(g, &f, k, <double>(missing[k] >> bits))
                sum_r += missing[k]
        for i in range(n if has_missing and search == 0 else n - 1):
            for k in range(K):
                move_left(g, &f, k, <double>(table[some[i].code * K + k] >> bits))
                sum_r += table[some[i].code * K + k]
            score = class_score(&g.rules, f, <double>(sum_r >> bits), sum_r & low_bits, total)
            if g.cat_smooth > 0:
                add_shifts(g, table + some[i].code * K, total, g.shifts)
            if only.after >= 0 and (only.after != i or only.missing_left != search):
                continue
            if g.cat_smooth > 0:
                score = before + share_of_shifts(g, <double>(sum_r >> bits), total) * (
                    score - before)
            if score > best.score:
                best[0] = Cut(score, 0, search if has_missing else UNKNOWN, True)
                divide_categories(some, n, i + 1, &g.sets)
                found = True
    return CUT if found else NO_CUT


cdef bint cut_of_sorted_classes(
    Growth* g, Py_ssize_t m, const Sums* total, Cut* best
) noexcept nogil:
    """The best cut for K classes, from m rows sorted by their codes. O(m + K)."""
    cdef const int64_t* r = g.rows.r
    cdef const uint16_t* codes = g.codes
    cdef int search, bits = g.packing.bits
    cdef Py_ssize_t n_known = m, k, i, step
    cdef int64_t sum_r, low_bits = (<int64_t>1 << bits) - 1
    cdef bint has_missing, found = False, last
    cdef double score
    cdef Sides f
    while n_known > 0 and codes[n_known - 1] == g.missing:
        n_known -= 1
    has_missing = n_known < m
    for search in range(1 + has_missing):
        f = all_on_the_right(g)
        sum_r = 0
        # With missing values on the left they are moved first, without a cut after them.
        for step in range(n_known - m if search == 1 else 0, n_known):
            k = step if step >= 0 else step + m
            i = g.places[k]
            move_left(g, &f, g.rows.label[i], <double>(r[i] >> bits))
            sum_r += r[i]
            last = k + 1 == n_known
            if step < 0 or (codes[k + 1] == codes[k] if not last else search == has_missing):
                continue
            score = class_score(&g.rules, f, <double>(sum_r >> bits), sum_r & low_bits, total)
            if score > best.score:
                best.score, found = score, True
                best.code = g.missing - 1 if last else (<int>codes[k] + <int>codes[k + 1]) // 2
                best.missing_left = search if has_missing else UNKNOWN
    return found


cdef bint sort_by_codes(Growth* g, const uint16_t* column, const Task* task) noexcept nogil:
    """Sort the rows of a node into `places` and `codes`; False if all codes are equal. O(rows)."""
    cdef const int32_t* row = g.rows.row
    cdef int64_t* counts = g.cell_q
    cdef int64_t* starts = g.cell_r
    cdef Py_ssize_t k, n_full, place = 0
    cdef uint16_t code
    for k in range(task.start, task.stop):
        code = column[row[k]]
        mark(g.words, code)
        counts[code] += 1
    n_full = marked_cells(g)
    if n_full == 1:
        counts[g.cells[0]] = 0
        return False
    for k in range(n_full):
        starts[g.cells[k]] = place
        place += counts[g.cells[k]]
        counts[g.cells[k]] = 0
    for k in range(task.start, task.stop):
        code = column[row[k]]
        g.places[starts[code]], g.codes[starts[code]] = <int32_t>k, code
        starts[code] += 1
    for k in range(n_full):
        starts[g.cells[k]] = 0
    return True


cdef Status search_classes(
    Growth* g, Py_ssize_t feature, const Task* task, const Sums* total, Cut* best
) noexcept nogil:
    """The best cut by a feature for K classes: by cells of all classes, or by sorted rows."""
    cdef const uint16_t* column = g.by_column + feature * g.n
    cdef const int32_t* row = g.rows.row
    cdef const int32_t* label = g.rows.label
    cdef const int64_t* r = g.rows.r
    cdef int64_t* table = g.cell_classes
    cdef Py_ssize_t size = task.stop - task.start, K = g.n_classes, k
    if size * SHARE_OF_CELLS >= g.n_cells * K:
        memset(table, 0, g.n_cells * K * sizeof(int64_t))
        memset(table + g.missing * K, 0, K * sizeof(int64_t))
        for k in range(task.start, task.stop):
            table[column[row[k]] * K + label[k]] += r[k]
        return search_class_cells(g, total, best)
    if not sort_by_codes(g, column, task):
        return CONSTANT
    return CUT if cut_of_sorted_classes(g, size, total, best) else NO_CUT


cdef void make_sets(
    RankedSides* sides, const int32_t* order, Py_ssize_t size, Py_ssize_t room
) noexcept nogil:
    """All rows of the node on the right side: those with the numbers `order`, NULL for all."""
    make_set(&sides.left, room, False)
    make_set(&sides.right, room, order == NULL)
    if order != NULL:
        put_places(&sides.right, order, size)


cdef bint cut_of_ranked(
    Growth* g, const Ranked* ranked, Py_ssize_t size, const int32_t* order, Py_ssize_t room,
    const Sums* total, Cut* best
) noexcept nogil:
    """The best cut by the loss of quantiles, of rows sorted by their codes. O(size).

    `places` has the numbers of the rows, below `room`, in the order of their targets. Both sides
    start with the quantile of the node as their place; rows are put into the sets of the sides when
    a place has to move, which most cuts, worse by a bound, do not need.
    """
    cdef const int32_t* places = g.places
    cdef const uint16_t* codes = g.codes
    cdef RankedSides sides = g.ranked_sides
    cdef Py_ssize_t n_known = size, leaf = g.rules.min_samples_leaf, k, i, before, stop, n_moved
    cdef int search
    cdef bint has_missing, found = False
    cdef double score
    while n_known > 0 and codes[n_known - 1] == g.missing:
        n_known -= 1
    has_missing = n_known < size
    for search in range(1 + has_missing):
        start_sides(
            &sides, g.node_sums.s, g.node_sums.w, g.node_sums.below_s, g.node_sums.below_w,
            g.node_sums.place, ranked + g.node_sums.place)
        before = 0
        if search == 1:
            # With missing values on the left they are moved first, without a cut after them.
            before = size - n_known
            for i in range(n_known, size):
                move_row(&sides, places[i], ranked + places[i])
        n_moved = -1  # no sets yet
        stop = min(n_known - (search == has_missing), size - leaf - before)
        k = -1
        while True:
            k = next_candidate(
                &sides, ranked, places, codes, k + 1, leaf - 1 - before, stop, g.tau,
                best.score - g.slack)
            if k >= stop:
                break
            if (weight_of(&sides, 0) < g.rules.min_weight_leaf
                    or weight_of(&sides, 1) < g.rules.min_weight_leaf):
                continue
            if n_moved < 0:
                make_sets(&sides, order, size, room)
                n_moved = 0
                move_places(&sides.right, &sides.left, places + n_known, before)
            move_places(&sides.right, &sides.left, places + n_moved, k + 1 - n_moved)
            n_moved = k + 1
            score = lowest_sum(&sides, 0, ranked, g.tau) + lowest_sum(&sides, 1, ranked, g.tau)
            if score > best.score:
                best.score, found = score, True
                best.code = g.missing - 1 if k + 1 == n_known else (
                    (<int>codes[k] + <int>codes[k + 1]) // 2)
                best.missing_left = search if has_missing else UNKNOWN
    return found


cdef Status search_quantiles(
    Growth* g, Py_ssize_t feature, const Task* task, const Sums* total, Cut* best
) noexcept nogil:
    """The best cut by a feature for quantiles. O(rows)."""
    cdef Py_ssize_t size = task.stop - task.start, k
    if not sort_by_codes(g, g.by_column + feature * g.n, task):
        return CONSTANT
    for k in range(size):
        g.places[k] -= <int32_t>task.start
    return CUT if cut_of_ranked(g, g.ranked, size, NULL, size, total, best) else NO_CUT


cdef double random_score(
    Growth* g, const uint16_t* column, const Task* task, int at, bint missing_left, Py_ssize_t n,
    const Sums* total
) noexcept nogil:
    """The score for quantiles of a cut with n rows on the left. O(rows)."""
    cdef const int32_t* row = g.rows.row + task.start
    cdef Py_ssize_t size = task.stop - task.start, k
    cdef double w[2]
    cdef double least[2]
    cdef double below_s[2]
    cdef double below_w[2]
    cdef double t[2]
    cdef int side
    cdef uint16_t code
    w[0] = w[1] = 0.0
    for k in range(size):
        code = column[row[k]]
        side = not (missing_left if code == g.missing else code <= at)
        w[side] += g.ranked[k].w
    if (n < g.rules.min_samples_leaf or size - n < g.rules.min_samples_leaf
            or w[0] < g.rules.min_weight_leaf or w[1] < g.rules.min_weight_leaf):
        return -INFINITY
    for side in range(2):
        least[side] = g.tau * w[side]
        below_s[side] = below_w[side] = t[side] = 0.0
    for k in range(size):
        code = column[row[k]]
        side = not (missing_left if code == g.missing else code <= at)
        if below_w[side] < least[side]:
            below_s[side] += g.ranked[k].s
            below_w[side] += g.ranked[k].w
            t[side] = g.ranked[k].t
    return (below_s[0] + t[0] * (least[0] - below_w[0])
            + (below_s[1] + t[1] * (least[1] - below_w[1])))


cdef Status random_cut(
    Growth* g, Py_ssize_t feature, const Task* task, const Sums* total, Cut* best
) noexcept nogil:
    """One random cut by a feature, as in extremely randomised trees. O(rows)."""
    cdef const uint16_t* column = g.by_column + feature * g.n
    cdef Rows rows = g.rows
    cdef int low = g.missing, high = -1, code, at, missing_left, bits = g.packing.bits
    cdef Py_ssize_t n_missing = 0, n = 0, k
    cdef int64_t sum_q = 0, sum_r = 0
    cdef double threshold, score
    cdef Constraint constraint = constraint_of(g, feature, task)
    for k in range(task.start, task.stop):
        code = column[rows.row[k]]
        if code == g.missing:
            n_missing += 1
        else:
            low, high = min(low, code), max(high, code)
    if high < 0 or (low == high and n_missing == 0):
        return CONSTANT
    threshold = (high - low) * <double>next_random(&g.features) / RANDOM_MAX + low
    at = low if threshold == high else <int>threshold
    missing_left = next_random(&g.features) % 2 if n_missing > 0 else 0
    if g.packing.form == CLASSES:
        memset(g.left, 0, g.n_classes * sizeof(double))
    for k in range(task.start, task.stop):
        code = column[rows.row[k]]
        if missing_left == 1 if code == g.missing else code <= at:
            n += 1
            if rows.q != NULL:
                sum_q += rows.q[k]
            if rows.r != NULL:
                sum_r += rows.r[k]
            if rows.label != NULL:
                g.left[rows.label[k]] += <double>(rows.r[k] >> bits)
    if n == 0 or n == task.stop - task.start:
        return NO_CUT
    if g.packing.form == CLASSES:
        score = class_score(&g.rules, sides_of(g), <double>(sum_r >> bits), n, total)
    elif g.rules.criterion == QUANTILE:
        score = random_score(g, column, task, at, missing_left == 1, n, total)
    else:
        score = cut_score(unpack(g.packing, sum_q, sum_r), total, &g.rules, &constraint)
    if not score > best.score:
        return NO_CUT
    best[0] = Cut(score, at, missing_left if n_missing > 0 else UNKNOWN, False)
    return CUT


cdef int find_cut(Growth* g, Task* task, const Sums* total, Cut* best) noexcept nogil:
    """The feature of the best cut over the features drawn; NO_FEATURE where there is no cut.

    `n_known` of the task becomes the number of features that are constant in the node.
    """
    cdef Draw draw = draw_for(g, task)
    cdef Py_ssize_t at = next_place(&g.features, &draw)
    cdef int feature = NO_FEATURE, one
    cdef bint is_set
    cdef Status status
    while at >= 0:
        one = g.features.order[at]
        is_set = is_categorical(g, one)
        if g.random_splits and not is_set:
            status = random_cut(g, one, task, total, best)
        elif g.packing.form == CLASSES and is_set:
            status = search_categories(g, one, task, total, best)
        elif g.packing.form == CLASSES:
            status = search_classes(g, one, task, total, best)
        elif g.rules.criterion == QUANTILE:
            status = search_quantiles(g, one, task, total, best)
        else:
            status = search_numbers(g, one, task, total, best)
        if status == CUT:
            feature, best.is_set = one, is_set
        put_away(&g.features, &draw, at, status == CONSTANT)
        at = next_place(&g.features, &draw)
    end_draw(&g.features, &draw)
    task.n_known = draw.n_constant
    return feature


cdef inline bint goes_left(const Growth* g, Cut cut, int code) noexcept nogil:
    return cut.missing_left == 1 if code == g.missing else code <= cut.code


cdef Py_ssize_t part_rows(Growth* g, const Task* task, int feature, Cut cut) noexcept nogil:
    """Bring the rows of the left child before those of the right one, both in their order.

    Returns the first place on the right. Both sides are written in every step, so that no branch
    has to be predicted.
    """
    cdef const uint16_t* column = g.by_column + feature * g.n
    cdef Rows rows = g.rows, spare = g.spare
    cdef Py_ssize_t a = task.start, z = 0, k
    cdef int64_t value
    cdef int32_t i
    cdef bint left
    if cut.is_set:  # 0 on the left, so that the loop below knows of no sets
        for k in range(task.start, task.stop):
            i = rows.row[k]
            g.sides[i] = not set_sends_left(
                &g.sets, NO_CATEGORY if column[i] == g.missing else column[i],
                cut.missing_left == 1)
        column = g.sides
    for k in range(task.start, task.stop):
        i = rows.row[k]
        left = goes_left(g, cut, column[i])
        rows.row[a] = spare.row[z] = i
        if rows.q != NULL:
            value = rows.q[k]
            rows.q[a] = spare.q[z] = value
        if rows.r != NULL:
            value = rows.r[k]
            rows.r[a] = spare.r[z] = value
        if rows.label != NULL:
            i = rows.label[k]
            rows.label[a] = spare.label[z] = i
        a += left
        z += not left
    memcpy(rows.row + a, spare.row, z * sizeof(int32_t))
    if rows.q != NULL:
        memcpy(rows.q + a, spare.q, z * sizeof(int64_t))
    if rows.r != NULL:
        memcpy(rows.r + a, spare.r, z * sizeof(int64_t))
    if rows.label != NULL:
        memcpy(rows.label + a, spare.label, z * sizeof(int32_t))
    return a


cdef Split visit(Growth* g, Py_ssize_t node, Task* task) noexcept nogil:
    """Describe a node, find its cut and bring its rows in order; the node stays a leaf."""
    cdef Split split = Split(task.stop, NO_FEATURE, Cut(-INFINITY, 0, 0, False), 0.0, 0.0)
    cdef Sums total = describe(g, node, task), left
    if node == 0:
        g.root_impurity = g.impurity
    if not may_be_cut(g, task, &total, g.impurity):
        return split
    split.feature = find_cut(g, task, &total, &split.cut)
    if split.feature == NO_FEATURE:
        return split
    split.decrease = decrease_by(g, split.cut.score, &total)
    if is_too_little(g, split.decrease):
        return split
    split.place = part_rows(g, task, split.feature, split.cut)
    if split.cut.is_set:
        write_set(&g.sets, missing_goes_left(task, &split), g.nodes.left_bins + node * SET_BYTES)
    if sign_of(g, split.feature) != 0:
        left = sums_of_rows(g, task.start, split.place)
        split.middle = middle_of_means(g, &left, &total)
    return split


# --- all that is below a node of few rows --------------------------------------------------------
#
# Most nodes of a full tree have two or three rows: their cuts take less time than a call that finds
# all arrays of the tree. So one call grows all that is below a node of at most SMALL_ROWS rows. It
# has these rows in a few arrays that stay in the processor's first cache.

cdef struct SmallRows:
    double s[SMALL_ROWS]  # the integers
    double w[SMALL_ROWS]
    double y[SMALL_ROWS]
    double weight[SMALL_ROWS]
    Ranked ranked[SMALL_ROWS]
    const uint16_t* codes[SMALL_ROWS]  # of the row
    int32_t label[SMALL_ROWS]
    int32_t order[SMALL_ROWS]  # the rows of a node are next to each other
    int32_t spare[SMALL_ROWS]
    int32_t unsorted[SMALL_ROWS]
    int32_t keys[SMALL_ROWS]


cdef void read_rows(const Growth* g, const Task* task, SmallRows* rows) noexcept nogil:
    cdef Py_ssize_t k, at
    cdef int32_t i
    cdef Sums one
    for k in range(task.stop - task.start):
        at = task.start + k
        i = g.rows.row[at]
        one = unpack(g.packing, 0 if g.rows.q == NULL else g.rows.q[at],
                     0 if g.rows.r == NULL else g.rows.r[at])
        rows.s[k], rows.w[k] = one.target, one.weight
        rows.y[k] = 0.0 if g.y == NULL else g.y[i]
        rows.weight[k] = 1.0 if g.weight == NULL else g.weight[i]
        if g.t != NULL:
            rows.ranked[k] = Ranked(one.target, one.weight, g.t[i])
        rows.label[k] = 0 if g.rows.label == NULL else g.rows.label[at]
        rows.codes[k] = g.by_row + i * g.p
        rows.order[k] = <int32_t>k


cdef Sums describe_small_quantile(
    Growth* g, Py_ssize_t node, const SmallRows* rows, const Task* task
) noexcept nogil:
    cdef const int32_t* order = rows.order + task.start
    cdef Py_ssize_t size = task.stop - task.start, k
    k = describe_loss(
        g, node, &rows.ranked[0], order, size, rows.y[order[0]] == rows.y[order[size - 1]])
    g.nodes.value[node] = quantile_of(
        g, rows.y[order[k]], rows.y[order[min(k + 1, size - 1)]])
    return Sums(g.node_sums.s, g.node_sums.w, size)


cdef inline Sums describe_small(
    Growth* g, Py_ssize_t node, const SmallRows* rows, const Task* task
) noexcept nogil:
    """As `describe`."""
    cdef Sums total = Sums(0.0, 0.0, task.stop - task.start)
    cdef int32_t i = rows.order[task.start]
    cdef Moments moments = Moments(0.0, 0.0, 0.0, rows.y[i], rows.y[i])
    cdef Py_ssize_t k
    if g.rules.criterion == QUANTILE:
        return describe_small_quantile(g, node, rows, task)
    if g.packing.form == CLASSES:
        memset(g.whole, 0, g.n_classes * sizeof(double))
        for k in range(task.start, task.stop):
            i = rows.order[k]
            g.whole[rows.label[i]] += rows.w[i]
            total.weight += rows.w[i]
        describe_classes(g, node, total.weight)
        return total
    for k in range(task.start, task.stop):
        i = rows.order[k]
        total.target += rows.s[i]
        total.weight += rows.w[i]
    if g.n_classes == 0:
        for k in range(task.start, task.stop):
            i = rows.order[k]
            add_target(&moments, rows.y[i], rows.weight[i], g.rules.criterion)
    if g.packing.form == PACKED:
        total.rows = <int64_t>total.weight
    describe_mean(g, node, task, &total, &moments)
    return total


cdef inline bint sort_keys(SmallRows* rows, int feature, const Task* task) noexcept nogil:
    """Sort the rows of a node by their codes; False if all codes are equal."""
    cdef const int32_t* order = rows.order + task.start
    cdef Py_ssize_t k, size = task.stop - task.start
    cdef uint16_t code, first = rows.codes[order[0]][feature]
    cdef bint varies = False
    for k in range(size):
        code = rows.codes[order[k]][feature]
        varies |= code != first
        rows.unsorted[k] = (<int32_t>code << PLACE_BITS) | order[k]
    if varies:
        sort_few(rows.unsorted, size, rows.keys)
    return varies


cdef inline bint plain_cut_of_keys(
    const SmallRows* rows, Py_ssize_t size, const Sums* total, Cut* best
) noexcept nogil:
    """`cut_of_keys` for S²/W, no missing value and no rule."""
    cdef double s = 0.0, w = 0.0
    cdef int32_t key = rows.keys[0], after
    cdef Py_ssize_t k
    cdef bint found = False
    for k in range(1, size):
        s += rows.s[key & PLACES]
        w += rows.w[key & PLACES]
        after = rows.keys[k]
        if after >> PLACE_BITS != key >> PLACE_BITS and improves(s, w, total, best):
            best.code, found = ((key >> PLACE_BITS) + (after >> PLACE_BITS)) // 2, True
        key = after
    if found:
        best.missing_left = UNKNOWN
    return found


cdef bint cut_of_keys(
    Growth* g, const SmallRows* rows, Py_ssize_t size, const Sums* total, Constraint constraint,
    Cut* best
) noexcept nogil:
    """The best cut of the sorted rows, if it beats `best`."""
    cdef const int32_t* keys = &rows.keys[0]
    cdef int missing = g.missing, search, code, after
    cdef Py_ssize_t n_known = size, step, k
    cdef int32_t i
    cdef bint has_missing, found = False, last
    cdef double score
    cdef Sums left
    cdef Sides f
    while n_known > 0 and keys[n_known - 1] >> PLACE_BITS == missing:
        n_known -= 1
    has_missing = n_known < size
    for search in range(1 + has_missing):
        left = Sums(0.0, 0.0, 0)
        if g.packing.form == CLASSES:
            f = all_on_the_right(g)
        # With missing values on the left, these come first.
        for step in range(n_known - size if search == 1 else 0, n_known):
            k = step if step >= 0 else step + size
            i = keys[k] & PLACES
            left.weight += rows.w[i]
            # A packed integer counts a row as often as its weight.
            left.rows = <int64_t>left.weight if g.packing.form == PACKED else left.rows + 1
            if g.packing.form == CLASSES:
                move_left(g, &f, rows.label[i], rows.w[i])
            else:
                left.target += rows.s[i]
            last = k + 1 == n_known
            if step < 0 or (last and search == has_missing):
                continue
            code = keys[k] >> PLACE_BITS
            after = missing if last else keys[k + 1] >> PLACE_BITS
            if after == code:
                continue
            if g.packing.form == CLASSES:
                score = class_score(&g.rules, f, left.weight, left.rows, total)
            else:
                score = cut_score(left, total, &g.rules, &constraint)
            if score > best.score:
                best.score, found = score, True
                best.code = missing - 1 if last else (code + after) // 2
                best.missing_left = search if has_missing else UNKNOWN
    return found


cdef bint ranked_cut_of_keys(
    Growth* g, const SmallRows* rows, const Task* task, const Sums* total, Cut* best
) noexcept nogil:
    """`cut_of_keys` for quantiles."""
    cdef Py_ssize_t size = task.stop - task.start, k
    for k in range(size):
        g.places[k] = rows.keys[k] & PLACES
        g.codes[k] = <uint16_t>(rows.keys[k] >> PLACE_BITS)
    return cut_of_ranked(
        g, &rows.ranked[0], size, rows.order + task.start, SMALL_ROWS, total, best)


cdef inline int find_small_cut(
    Growth* g, SmallRows* rows, Task* task, const Sums* total, Cut* best
) noexcept nogil:
    """As `find_cut`."""
    cdef Draw draw = draw_for(g, task)
    cdef Py_ssize_t at = next_place(&g.features, &draw), size = task.stop - task.start
    cdef int feature = NO_FEATURE, one
    cdef bint varies, found
    while at >= 0:
        one = g.features.order[at]
        varies = found = sort_keys(rows, one, task)
        put_away(&g.features, &draw, at, not varies)
        if varies and g.plain and rows.keys[size - 1] >> PLACE_BITS != g.missing:
            # All cuts of two rows are equally good.
            found = (size > 2 or feature == NO_FEATURE) and (
                plain_cut_of_keys(rows, size, total, best))
        elif varies and g.rules.criterion == QUANTILE:
            # All cuts of two rows are equally good.
            found = (size > 2 or feature == NO_FEATURE or rows.keys[1] >> PLACE_BITS == g.missing
                     ) and ranked_cut_of_keys(g, rows, task, total, best)
        elif varies:
            found = cut_of_keys(g, rows, size, total, constraint_of(g, one, task), best)
        if found:
            feature = one
        at = next_place(&g.features, &draw)
    end_draw(&g.features, &draw)
    task.n_known = draw.n_constant
    return feature


cdef inline Py_ssize_t part_small(
    const Growth* g, SmallRows* rows, const Task* task, int feature, Cut cut, Sums* left
) noexcept nogil:
    """As `part_rows`, with the sums on the left."""
    cdef int32_t* order = rows.order
    cdef Py_ssize_t a = task.start, z = 0, k
    cdef int32_t i
    cdef bint on_left
    left[0] = Sums(0.0, 0.0, 0)
    for k in range(task.start, task.stop):
        i = order[k]
        on_left = goes_left(g, cut, rows.codes[i][feature])
        order[a] = rows.spare[z] = i
        a += on_left
        z += not on_left
        if on_left:
            left.target += rows.s[i]
            left.weight += rows.w[i]
    memcpy(order + a, rows.spare, z * sizeof(int32_t))
    return a


cdef void grow_small(Growth* g, const Task* first) noexcept nogil:
    """Grow all that is below a node of at most SMALL_ROWS rows."""
    cdef SmallRows rows
    cdef Task waiting[SMALL_ROWS + 1]
    cdef Task task
    cdef Split split
    cdef Sums total, left
    cdef Py_ssize_t n_waiting = 1, node
    read_rows(g, first, &rows)
    waiting[0] = first[0]
    waiting[0].start, waiting[0].stop = 0, first.stop - first.start
    while n_waiting > 0:
        n_waiting -= 1
        task = waiting[n_waiting]
        node = new_node(g, &task)
        total = describe_small(g, node, &rows, &task)
        if node == 0:
            g.root_impurity = g.impurity
        if not may_be_cut(g, &task, &total, g.impurity):
            continue
        split.cut = Cut(-INFINITY, 0, 0, False)
        split.feature = find_small_cut(g, &rows, &task, &total, &split.cut)
        if split.feature == NO_FEATURE:
            continue
        if (g.least_decrease > 0 or g.rules.l2 > 0) and (
                is_too_little(g, decrease_by(g, split.cut.score, &total))):
            continue
        split.place = part_small(g, &rows, &task, split.feature, split.cut, &left)
        if sign_of(g, split.feature) != 0:
            split.middle = middle_of_means(g, &left, &total)
        cut_node(g, node, &task, &split, waiting + n_waiting)
        n_waiting += 2


# --- the tree ------------------------------------------------------------------------------------

cdef int push_children(
    Growth* g, Py_ssize_t node, const Task* task, const Split* split
) noexcept nogil:
    """Cut a node; its children wait to be visited. -1 without memory."""
    cdef Py_ssize_t room = g.room_for_waiting
    cdef void* more
    if g.n_waiting + 2 > room:
        more = PyMem_RawRealloc(g.waiting, 2 * room * sizeof(Task))
        if more == NULL:
            return -1
        g.waiting, g.room_for_waiting = <Task*>more, 2 * room
    cut_node(g, node, task, split, g.waiting + g.n_waiting)
    g.n_waiting += 2
    return 0


cdef int grow_depth_first(Growth* g) noexcept nogil:
    """Nodes are numbered from the left, parents before their children. -1 without memory."""
    cdef Task task
    cdef Split split
    cdef Py_ssize_t node
    while g.n_waiting > 0:
        g.n_waiting -= 1
        task = g.waiting[g.n_waiting]
        if task.stop - task.start <= SMALL_ROWS and not g.random_splits and g.categorical == NULL:
            grow_small(g, &task)
            continue
        node = new_node(g, &task)
        split = visit(g, node, &task)
        if split.place < task.stop and push_children(g, node, &task, &split) < 0:
            return -1
    return 0


cdef int grow_best_first(Growth* g) noexcept nogil:
    """The leaf whose cut reduces the impurity most is always the next to be cut.

    Nodes are numbered as they are made. -1 without memory.
    """
    cdef OpenLeaf* leaves = g.leaves
    cdef OpenLeaf leaf
    cdef Py_ssize_t n_leaves = 0, best, k
    while True:
        while g.n_waiting > 0:
            g.n_waiting -= 1
            leaf.task = g.waiting[g.n_waiting]
            leaf.node = new_node(g, &leaf.task)
            leaf.split = visit(g, leaf.node, &leaf.task)
            # The features of the next node are those of another branch.
            leaf.task.n_known = 0
            leaves[n_leaves] = leaf
            n_leaves += 1
        best = -1
        for k in range(n_leaves):
            if leaves[k].split.place < leaves[k].task.stop and (
                    best < 0 or leaves[k].split.decrease > leaves[best].split.decrease):
                best = k
        if best < 0 or n_leaves >= g.max_leaf_nodes:
            return 0
        leaf = leaves[best]
        n_leaves -= 1
        leaves[best] = leaves[n_leaves]
        if push_children(g, leaf.node, &leaf.task, &leaf.split) < 0:
            return -1


# --- the integers of the rows --------------------------------------------------------------------

cdef int bit_length(int64_t x) noexcept nogil:
    cdef int bits = 0
    while x > 0:
        x >>= 1
        bits += 1
    return bits


cdef void choose_form(Growth* g, const double* weight) noexcept nogil:
    """The form of the rows' integers, and the unit of their weight. O(m)."""
    cdef double total = <double>g.m, w
    cdef bint whole = True
    cdef int bits, form
    cdef Py_ssize_t k
    if weight != NULL:
        total = 0.0
        for k in range(g.m):
            w = weight[k]
            total += w
            whole = whole and w < 2.0**40 and w == <double><int64_t>w
        # They share an integer of WIDE with the number of rows.
        whole = whole and total < ldexp(1.0, min(40, SUM_BITS - bit_length(g.m)))
    bits = bit_length(<int64_t>total if whole else g.m)
    if g.rules.criterion == QUANTILE:
        form = WIDE
        # Real weights too have sums that doubles hold.
        if not whole:
            g.packing = Packing(form, bit_length(g.m))
            g.weight_unit = 1.0 / integer_scale(total, min(RANKED_BITS, SUM_BITS - g.packing.bits))
            g.total_weight = total
            return
    elif g.n_classes != 0 and g.n_classes != 2:
        form = CLASSES
    elif whole and bits <= 24 and (
            # A packed integer counts a row as often as its weight.
            weight == NULL or (g.rules.min_samples_leaf == 1 and g.min_samples_split <= 2)):
        form = PACKED
    else:
        form = WIDE
    if form != PACKED:
        bits = bit_length(g.m)
    g.packing = Packing(form, bits)
    g.weight_unit = 1.0 if whole else 1.0 / integer_scale(total, SUM_BITS - bits)
    g.total_weight = total


cdef void write_ranked(Growth* g, const double* target, const double* weight) noexcept nogil:
    """As `write_integers`, for quantiles; targets are about their middle, and increase.

    With whole weights the weighted target of a row is exactly its target times its weight.
    """
    cdef Py_ssize_t k
    cdef bint whole = g.weight_unit == 1.0
    cdef double centre = target[g.m // 2], size = 0.0, scale, w, d
    cdef int64_t mass
    for k in range(g.m):
        size += fabs(target[k] - centre) * (1.0 if weight == NULL else weight[k])
    scale = integer_scale(size, RANKED_BITS)
    for k in range(g.m):
        w = 1.0 if weight == NULL else weight[k]
        d = (target[k] - centre) * scale
        mass = max(<int64_t>rint(w / g.weight_unit), 1)
        g.rows.r[k] = (mass << g.packing.bits) + 1
        if whole:
            d = rint(d)
            g.rows.q[k] = <int64_t>d * mass
        else:
            g.rows.q[k] = <int64_t>rint(d * w)
            d *= g.weight_unit
        g.t[g.rows.row[k]] = d
    g.target_unit = 1.0 / scale
    g.gain_unit = g.loss_factor / scale / g.total_weight


cdef void write_integers(
    Growth* g, const double* target, const int64_t* classes, const double* weight
) noexcept nogil:
    """Write the integers of the rows, and what one unit of them is. O(m)."""
    cdef Rows rows = g.rows
    cdef int form = g.packing.form, bits = g.packing.bits
    cdef int64_t mass, one = <int64_t>1 << bits
    cdef double size = 0.0, scale = 1.0, w
    cdef Py_ssize_t k
    if g.rules.criterion == QUANTILE:
        write_ranked(g, target, weight)
        return
    if g.n_classes == 0:
        for k in range(g.m):
            size += fabs(target[k] if weight == NULL else target[k] * weight[k])
        scale = integer_scale(size, SUM_BITS - bits if form == PACKED else SUM_BITS)
    for k in range(g.m):
        w = 1.0 if weight == NULL else weight[k]
        # Where weights are whole, this is the weight.
        mass = max(<int64_t>rint(w / g.weight_unit), 1)
        if form == PACKED and g.n_classes == 0:
            rows.q[k] = <int64_t>rint(target[k] * scale) * mass * one + mass
        elif form == PACKED:
            rows.q[k] = (mass if classes[k] == 1 else 0) * one + mass
        else:
            rows.r[k] = mass * one + 1
            if form == CLASSES:
                rows.label[k] = <int32_t>classes[k]
            elif g.n_classes == 0:
                rows.q[k] = <int64_t>rint(target[k] * w * scale)
            else:
                rows.q[k] = mass if classes[k] == 1 else 0
    # The gain of S = target s and W = weight w is S²/W, or S log(S/W) up to a multiple of S.
    g.target_unit = g.gain_unit = g.weight_unit
    if g.n_classes == 0:
        g.target_unit = g.gain_unit = 1.0 / scale
        if g.rules.criterion == SQUARED_ERROR:
            g.gain_unit = g.target_unit * g.target_unit / g.weight_unit
    elif g.rules.criterion == LOG_LOSS:
        g.gain_unit = g.weight_unit / LOG_2
    elif form != CLASSES:  # half the Gini index is summed, see `node_score`
        g.gain_unit = 2.0 * g.weight_unit
    g.gain_unit /= g.total_weight


# --- the door ------------------------------------------------------------------------------------

# Everything that is allocated for one tree.
cdef struct Memory:
    void* pieces[40]
    int n_pieces


cdef void* room(Memory* memory, Py_ssize_t count, size_t size, bint zero=False) except NULL:
    """Room for some elements, until `release`."""
    cdef void* piece
    piece = PyMem_RawCalloc(count, size) if zero else PyMem_RawMalloc(count * size)
    if piece == NULL:
        raise MemoryError()
    memory.pieces[memory.n_pieces] = piece
    memory.n_pieces += 1
    return piece


cdef void release(Memory* memory) noexcept:
    cdef int k
    for k in range(memory.n_pieces):
        PyMem_RawFree(memory.pieces[k])


cdef int room_for_rows(Memory* memory, const Growth* g, Rows* rows) except -1:
    rows.row = <int32_t*>room(memory, g.m, sizeof(int32_t))
    if g.packing.form != CLASSES:
        rows.q = <int64_t*>room(memory, g.m, sizeof(int64_t))
    if g.packing.form != PACKED:
        rows.r = <int64_t*>room(memory, g.m, sizeof(int64_t))
    if g.packing.form == CLASSES:
        rows.label = <int32_t*>room(memory, g.m, sizeof(int32_t))
    return 0


cdef int room_for_places(Memory* memory, Places* places, Py_ssize_t n) except -1:
    cdef int level
    for level in range(LEVELS):
        places.words[level] = <uint64_t*>room(memory, n_words(n), sizeof(uint64_t))
        n = (n + 63) >> 6
    return 0


cdef const double* by_row_of(Memory* memory, const Growth* g, const double* values) except? NULL:
    """Values of the rows of the tree at their places among all n."""
    cdef double* placed
    cdef Py_ssize_t k
    if values == NULL:
        return NULL
    placed = <double*>room(memory, g.n, sizeof(double))
    for k in range(g.m):
        placed[g.rows.row[k]] = values[k]
    return placed


cdef int prepare(Memory* memory, Growth* g, const int32_t* rows) except -1:
    """Allocate all that the growth works with."""
    cdef Py_ssize_t k, n_cells = g.missing + 1, n_path_words
    room_for_rows(memory, g, &g.rows)
    room_for_rows(memory, g, &g.spare)
    for k in range(g.m):
        g.rows.row[k] = <int32_t>k if rows == NULL else rows[k]
    if g.n_classes > 0:
        g.y = g.weight = NULL
    elif rows != NULL:
        g.y, g.weight = by_row_of(memory, g, g.y), by_row_of(memory, g, g.weight)
    g.features.order = <int32_t*>room(memory, g.p, sizeof(int32_t))
    g.features.constants = <int32_t*>room(memory, g.p, sizeof(int32_t))
    for k in range(g.p):
        g.features.order[k] = <int32_t>k
    g.cell_q = <int64_t*>room(memory, n_cells, sizeof(int64_t), True)
    g.cell_r = <int64_t*>room(memory, n_cells, sizeof(int64_t), True)
    g.cells = <int32_t*>room(memory, n_cells + 1, sizeof(int32_t))
    if g.categorical != NULL:
        g.sides = <uint16_t*>room(memory, g.n, sizeof(uint16_t))
    g.words = <uint64_t*>room(memory, n_cells // 64 + 1, sizeof(uint64_t), True)
    if g.packing.form == CLASSES:
        g.whole = <double*>room(memory, g.n_classes, sizeof(double))
        g.left = <double*>room(memory, g.n_classes, sizeof(double))
        g.right = <double*>room(memory, g.n_classes, sizeof(double))
        g.places = <int32_t*>room(memory, g.m, sizeof(int32_t))
        g.codes = <uint16_t*>room(memory, g.m, sizeof(uint16_t))
        if g.categorical != NULL:
            g.shifts = <double*>room(memory, g.n_classes, sizeof(double))
            g.all_shifts = <double*>room(memory, g.n_classes, sizeof(double))
        g.cell_classes = <int64_t*>room(memory, n_cells * g.n_classes, sizeof(int64_t))
    if g.path_rules.groups != NULL:
        n_path_words = g.path_rules.n_words
        g.paths = <uint64_t*>room(
            memory, (most_nodes(g) + 1) * 2 * n_path_words, sizeof(uint64_t))
        memset(g.paths, 0xFF, n_path_words * sizeof(uint64_t))
        memset(g.paths + n_path_words, 0, n_path_words * sizeof(uint64_t))
    if g.rules.criterion == QUANTILE:
        g.places = <int32_t*>room(memory, max(g.m, SMALL_ROWS), sizeof(int32_t))
        g.codes = <uint16_t*>room(memory, max(g.m, SMALL_ROWS), sizeof(uint16_t))
        g.t = <double*>room(memory, g.n, sizeof(double))
        g.ranked = <Ranked*>room(memory, g.m, sizeof(Ranked))
        room_for_places(memory, &g.ranked_sides.left, max(g.m, SMALL_ROWS))
        room_for_places(memory, &g.ranked_sides.right, max(g.m, SMALL_ROWS))
    if g.max_leaf_nodes > 0:
        g.leaves = <OpenLeaf*>room(memory, min(g.max_leaf_nodes, g.m) + 1, sizeof(OpenLeaf))
    g.waiting = <Task*>PyMem_RawMalloc(WAITING * sizeof(Task))
    if g.waiting == NULL:
        raise MemoryError()
    g.waiting[0] = Task(0, g.m, 0, -1, 0, False, -INFINITY, INFINITY)
    g.n_waiting, g.room_for_waiting = 1, WAITING
    return 0


cdef Py_ssize_t most_nodes(const Growth* g) noexcept nogil:
    cdef Py_ssize_t m = max(g.m // g.rules.min_samples_leaf, 1)
    if g.max_leaf_nodes > 0:
        m = min(m, g.max_leaf_nodes)
    if g.max_depth < 30:
        m = min(m, <Py_ssize_t>1 << g.max_depth)
    return 2 * m - 1


cdef dict arrays_for(Growth* g):
    """The fields of `TreeArrays`, for the largest tree; memory that is not written costs nothing."""
    cdef Py_ssize_t m = most_nodes(g)
    fields = {
        "left": np.empty(m, np.int32), "right": np.empty(m, np.int32),
        "feature": np.empty(m, np.int32), "code": np.empty(m, np.int32),
        "missing_left": np.empty(m, np.uint8), "impurity": np.empty(m),
        "n_rows": np.empty(m, np.int64), "weight": np.empty(m),
        "value": np.empty((m, max(g.n_classes, 1)))}
    cdef int32_t[::1] left = fields["left"], right = fields["right"]
    cdef int32_t[::1] feature = fields["feature"], code = fields["code"]
    cdef uint8_t[::1] missing_left = fields["missing_left"]
    cdef int64_t[::1] n_rows = fields["n_rows"]
    cdef double[::1] impurity = fields["impurity"], weight = fields["weight"]
    cdef double[:, ::1] value = fields["value"]
    cdef uint8_t[:, ::1] sets
    g.nodes = Nodes(
        &left[0], &right[0], &feature[0], &code[0], &missing_left[0], &n_rows[0], &impurity[0],
        &weight[0], &value[0, 0], NULL, value.shape[1], 0, 0)
    if g.categorical != NULL:
        fields["left_bins"] = np.zeros((m, SET_BYTES), np.uint8)
        sets = fields["left_bins"]
        g.nodes.left_bins = &sets[0, 0]
    return fields


cdef uint16_t largest_code(const uint16_t* codes, Py_ssize_t size) noexcept nogil:
    cdef uint16_t largest = 0
    cdef Py_ssize_t k
    for k in range(size):
        largest = max(largest, codes[k])
    return largest


cdef uint16_t largest_category(
    const uint16_t* codes, Py_ssize_t size, int missing
) noexcept nogil:
    cdef uint16_t largest = 0
    cdef Py_ssize_t k
    for k in range(size):
        if codes[k] != missing:
            largest = max(largest, codes[k])
    return largest


def grow_tree(
    const uint16_t[:, ::1] by_column not None,
    const uint16_t[:, ::1] by_row not None,
    int missing,
    int n_bins,
    const int32_t[::1] rows or None,
    const double[::1] target or None,
    const int64_t[::1] classes or None,
    const double[::1] weight or None,
    options,
    const uint8_t[::1] categorical=None,
):
    """Grow a tree, without the interpreter lock.

    O(m p depth) at most. Beside the result it takes 24 to 40 bytes a row, and 16 more where rows
    are chosen for numbers as targets.

    Parameters
    ----------
    by_column, by_row : uint16 arrays of shape (p, n) and (n, p)
        The codes. Where a node is small those of a row are read together.
    missing, n_bins : int
        The code of a missing value; other codes are below `n_bins`.
    rows : int32 array of shape (m,) or None
        The rows that the tree is grown on; None for all.
    target : float64 array of shape (m,) or None
        In increasing order for the criteria "absolute_error" and "quantile".
    classes : int64 array of shape (m,) or None
        The classes 0 ... K-1; one of `target` and `classes` is given.
    weight : float64 array of shape (m,) or None
        Positive; None where all weights are 1.
    options : GrowthOptions
    categorical : uint8 array of shape (p,), default=None
        1 for features whose codes, at most 254, are categories.

    Returns
    -------
    dict
        The fields of `TreeArrays`, without the thresholds. Nodes are numbered from the left,
        parents before their children; with `max_leaf_nodes` as they are made.
    """
    cdef Growth g
    cdef Memory memory
    cdef Py_ssize_t n = by_row.shape[0], p = by_row.shape[1], k
    cdef Py_ssize_t m = n if rows is None else rows.shape[0]
    cdef int64_t n_classes = options.n_classes
    cdef bint is_number = n_classes == 0
    cdef const int8_t[::1] constraints = None
    cdef const uint64_t[:, ::1] groups = None
    cdef double l2 = options.l2_regularization, min_weight_leaf = options.min_weight_leaf
    cdef const double* targets = NULL
    cdef const int64_t* codes = NULL
    cdef const double* weights = NULL
    cdef const int32_t* chosen = NULL
    cdef uint16_t largest
    cdef int failed
    if options.monotonic_cst is not None:
        constraints = options.constraints(p)
    if options.interactions is not None:
        groups = options.interactions.words()
        require(groups.shape[0] > 0 and groups.shape[1] == (p + 63) // 64)
    require(0 < m < 2**30 and n < 2**31 and 0 < p < 2**31 and 0 < n_bins <= missing < 2**16)
    require(by_column.shape[0] == p and by_column.shape[1] == n)
    require((target is not None) == is_number and (classes is None) == is_number)
    require(target is None or target.shape[0] == m)
    require(classes is None or classes.shape[0] == m)
    require(weight is None or weight.shape[0] == m)
    require(options.criterion in _CRITERIA and n_classes >= 0)
    require((options.criterion not in ("gini", "log_loss")) == is_number)
    require(constraints is None or (constraints.shape[0] == p and n_classes in (0, 2)))
    for k in range(0 if rows is None else m):
        require(0 <= rows[k] < n)
    for k in range(0 if classes is None else m):
        require(0 <= classes[k] < n_classes)
    for k in range(0 if weight is None else m):
        require(0 < weight[k] < INFINITY)
    # Codes are places of cells. This takes a tenth of the time of a level of the tree.
    with nogil:
        largest = largest_code(&by_column[0, 0], n * p)
    require(largest <= missing)

    memset(&g, 0, sizeof(g))
    g.n, g.p, g.m, g.missing, g.n_cells = n, p, m, missing, n_bins
    g.by_column, g.by_row = &by_column[0, 0], &by_row[0, 0]
    g.n_classes, g.max_depth, g.max_leaf_nodes = (
        n_classes, options.max_depth, options.max_leaf_nodes)
    g.min_samples_split = options.min_samples_split
    g.least_decrease, g.random_splits = options.min_impurity_decrease, options.random_splits
    g.features.p, g.features.n_drawn = p, options.max_features or p
    g.features.state = options.seed
    g.rules = Rules(_CRITERIA[options.criterion], 0.0, options.min_samples_leaf, 0.0)
    require(g.max_depth >= 0 and g.max_leaf_nodes >= 0 and g.rules.min_samples_leaf > 0)
    if target is not None:
        targets = &target[0]
    if classes is not None:
        codes = &classes[0]
    if weight is not None:
        weights = &weight[0]
    if rows is not None:
        chosen = &rows[0]
    if categorical is not None:
        require(categorical.shape[0] == p)
        g.categorical = &categorical[0]
        for k in range(p):
            require(not categorical[k] or (
                largest_category(&by_column[k, 0], n, missing) < NO_CATEGORY))
    if constraints is not None:
        g.monotonic_cst, g.bounded = &constraints[0], options.bounded
    if groups is not None:
        g.path_rules = PathRules(
            &groups[0, 0], groups.shape[0], groups.shape[1], options.interactions.most)
    g.y, g.weight = targets, weights
    if g.rules.criterion == QUANTILE:
        g.tau, g.loss_factor = options.quantile, 1.0
        if options.criterion == "absolute_error":
            g.tau, g.loss_factor = 0.5, 2.0
        require(0 < g.tau < 1 and l2 == 0 and constraints is None and categorical is None)
        for k in range(m - 1):
            require(targets[k] <= targets[k + 1])
    choose_form(&g, weights)
    g.rules.l2 = l2 / g.weight_unit
    g.cat_smooth = <double>options.cat_smooth / g.weight_unit
    # Rounding upwards would refuse a leaf of exactly this weight.
    g.rules.min_weight_leaf = nextafter(min_weight_leaf, 0.0) / g.weight_unit
    g.plain = (
        g.packing.form != CLASSES and g.rules.criterion in (SQUARED_ERROR, GINI) and l2 == 0
        and g.rules.min_samples_leaf == 1 and min_weight_leaf <= 0 and constraints is None)
    fields = arrays_for(&g)
    memory.n_pieces = 0
    try:
        prepare(&memory, &g, chosen)
        with nogil:
            write_integers(&g, targets, codes, weights)
            failed = grow_best_first(&g) if g.max_leaf_nodes > 0 else grow_depth_first(&g)
        if failed:
            raise MemoryError()
    finally:
        release(&memory)
        PyMem_RawFree(g.waiting)
    # Copied: what large arrays give back when they shrink is of no use to the next tree.
    for name in fields:
        fields[name] = fields[name][:g.nodes.count].copy()
    return {**fields, "depth": g.nodes.depth}
