"""The growth of a tree by histograms in one thread; see `histogram_loops` for its arrays."""

import numpy as np

from sklearn_ensemble_theory._hot_loops._growth.cut_loops import PACKED, SQUARED_ERROR, node_score
from sklearn_ensemble_theory._hot_loops._growth.histogram_loops import (
    CUT_AT,
    DEPTH,
    FEATURE,
    LEFT,
    RIGHT,
    START,
    STOP,
    TABLE,
    WHICH,
    count_all,
    count_rows,
    find_cuts,
    gather,
    part_rows,
)
from sklearn_ensemble_theory._hot_loops.compilation import jit_lean, jit_part

NO_LEAF = -1
NONE, TAKEN, DOUBTFUL = 0, 1, 2
# Only a gain below this share of the score can be one between equal targets.
SUSPICIOUS = 1e-11


@jit_lean
def may_be_cut(span, sums, limits, rules):
    """Whether the rules allow that a leaf is cut, before its cuts are known."""
    max_depth, _, min_split = limits
    return (
        span[DEPTH] < max_depth
        and sums[2] >= min_split
        and sums[2] >= 2 * rules[2]
        and float(sums[1]) >= 2 * rules[3]
    )


@jit_part
def decrease_of(sums, left, rules):
    """By how much a cut with these sums on its left increases the score of a leaf."""
    s, w, l2 = float(left[0]), float(left[1]), rules[1]
    rest = node_score(float(sums[0]) - s, float(sums[1]) - w, SQUARED_ERROR, l2)
    before = node_score(float(sums[0]), float(sums[1]), SQUARED_ERROR, l2)
    return node_score(s, w, SQUARED_ERROR, l2) + rest - before


@jit_lean
def take_cut(node, nodes, found, least, rules, rank):
    """Store the best of the cuts that were found for blocks of features.

    Among equal scores the feature of the lowest rank is taken.

    Returns NONE, TAKEN, or DOUBTFUL for a gain that may be the rounding error of equal targets.

    Parameters
    ----------
    found : (int64 (blocks, 6), float64 (blocks, 1)) arrays
        See `find_cuts`.
    least : float
        The least increase of the score.
    """
    spans, sums, reals, lefts = nodes
    cuts, scores = found
    best = 0
    for block in range(1, cuts.shape[0]):
        if scores[block, 0] > scores[best, 0] or (
            scores[block, 0] == scores[best, 0]
            and cuts[block, 0] >= 0
            and rank[cuts[block, 0]] < rank[cuts[best, 0]]
        ):
            best = block
    if cuts[best, 0] < 0:
        return NONE
    decrease = decrease_of(sums[node], cuts[best, 3:5], rules)
    size = node_score(float(sums[node, 0]), float(sums[node, 1]), SQUARED_ERROR, 0.0)
    if decrease + 1e-15 * size < least or (rules[1] > 0 and decrease <= 0):
        return NONE
    spans[node, FEATURE] = cuts[best, 0]
    spans[node, CUT_AT] = cuts[best, 1] * 4 + cuts[best, 2]
    reals[node, 2] = decrease
    for k in range(3):
        lefts[node, k] = cuts[best, 3 + k]
    return TAKEN if decrease > SUSPICIOUS * size else DOUBTFUL


@jit_lean
def all_equal(node, nodes, rows, gradient):
    """Whether all targets of a leaf are equal."""
    spans = nodes[0]
    start, stop, here = spans[node, START], spans[node, STOP], rows[spans[node, WHICH]]
    first = gradient[here[start] if here.size > 1 else start]
    k = start + 1
    while k < stop and gradient[here[k] if here.size > 1 else k] == first:
        k += 1
    return k == stop


@jit_lean
def add_children(node, n_nodes, nodes, constraints, rules):
    """Make the two children of a leaf, without their rows."""
    spans, sums, reals, lefts = nodes
    low, high = reals[node, 0], reals[node, 1]
    for side in range(2):
        child = n_nodes + side
        spans[node, LEFT + side] = child
        for k in range(3):
            sums[child, k] = lefts[node, k] if side == 0 else sums[node, k] - lefts[node, k]
        spans[child, DEPTH] = spans[node, DEPTH] + 1
        spans[child, LEFT], spans[child, RIGHT], spans[child, FEATURE] = NO_LEAF, NO_LEAF, NO_LEAF
        spans[child, START], spans[child, STOP], spans[child, TABLE] = 0, 0, NO_LEAF
        reals[child, 0], reals[child, 1] = low, high
    constraint = constraints[spans[node, FEATURE]]
    if constraint != 0:
        a, b = n_nodes, n_nodes + 1
        middle = 0.5 * (
            float(sums[a, 0]) / (float(sums[a, 1]) + rules[1])
            + float(sums[b, 0]) / (float(sums[b, 1]) + rules[1])
        )
        if constraint < 0:
            a, b = b, a
        reals[a, 1], reals[b, 0] = middle, middle


@jit_lean
def other_array(which):
    """Where the rows of the children are: not in the array of their parent's."""
    return 1 if which == 0 else 0


@jit_lean
def place_children(node, n_left, nodes):
    """Where the rows of the children will be: after each other, in the other array."""
    spans = nodes[0]
    start, stop = spans[node, START], spans[node, STOP]
    left, right = spans[node, LEFT], spans[node, RIGHT]
    spans[left, START], spans[left, STOP] = start, start + n_left
    spans[right, START], spans[right, STOP] = start + n_left, stop
    for child in (left, right):
        spans[child, WHICH] = other_array(spans[node, WHICH])


@jit_lean
def smaller_child(node, nodes):
    """The child of fewer rows; the left one of two equal ones."""
    spans = nodes[0]
    left, right = spans[node, LEFT], spans[node, RIGHT]
    n_left = spans[left, STOP] - spans[left, START]
    return left if n_left <= spans[right, STOP] - spans[right, START] else right


@jit_lean
def search_children(small, large, data, tables, nodes, values, rows, plan, wanted, rules, block):
    """Count the smaller child, subtract it from its parent, and find the cuts of both.

    Parameters
    ----------
    values : (int64, int64) arrays
        The integers of the rows of the smaller child, in their order.
    rows : int32 array
        The rows of the smaller child.
    wanted : (bool, bool)
        Whether the smaller and the larger one may be cut.
    block : (int first, int last, found of the smaller child, found of the larger one)
        The features to do, and where the cuts are written (see `histogram_loops.find_cuts`).
    """
    first, last, found_small, found_large = block
    spans = nodes[0]
    part, whole = spans[small, TABLE], spans[large, TABLE]
    n_forms = tables.shape[1]
    for form in range(n_forms):
        count_rows(data[0], rows, values[form], tables[part, form], first, last)
    if wanted[0]:
        find_cuts(data, tables, nodes, small, plan, rules, first, last, found_small)
    if wanted[1]:
        for form in range(n_forms):
            for j in range(first, last):
                a, b = tables[whole, form, j], tables[part, form, j]
                for c in range(256):
                    a[c] -= b[c]
        find_cuts(data, tables, nodes, large, plan, rules, first, last, found_large)


@jit_part
def next_leaf(waiting, n_waiting, reals, best_first):
    """The place in `waiting` of the leaf to be cut: the one that gains most, or the first."""
    best = 0
    if best_first:
        for k in range(1, n_waiting):
            a, b = waiting[k], waiting[best]
            if reals[a, 2] > reals[b, 2] or (reals[a, 2] == reals[b, 2] and a < b):
                best = k
    return best


@jit_lean
def start_tree(nodes, totals, n_rows, is_all):
    """Make the root."""
    spans, sums, reals, _ = nodes
    for k in range(spans.shape[1]):
        spans[0, k] = 0
    spans[0, STOP], spans[0, WHICH] = n_rows, 2 if is_all else 0
    spans[0, LEFT], spans[0, RIGHT], spans[0, FEATURE] = NO_LEAF, NO_LEAF, NO_LEAF
    for k in range(3):
        sums[0, k] = totals[k]
    reals[0, 0], reals[0, 1] = -np.inf, np.inf


@jit_lean
def total_of_table(tables, n_bins, plan, totals):
    """The sums of the root, from the histogram of the first feature."""
    form, bits = plan
    q = r = 0
    for c in range(256):
        q += tables[0, 0, 0, c]
        r += tables[0, tables.shape[1] - 1, 0, c]
    low = (1 << bits) - 1
    if form == PACKED:
        totals[0], totals[1], totals[2] = q >> bits, q & low, q & low
    else:
        totals[0], totals[1], totals[2] = q, r >> bits, r & low


@jit_lean
def grow_by_histograms(data, targets, buffers, rows, n_rows, tables, nodes, options):
    """Grow a tree.

    Parameters
    ----------
    data, rows, tables, nodes :
        See `histogram_loops`.
    targets : (int64 q, int64 r, float64 gradient) arrays of shape (n,)
        The integers of the rows (see there), and what they are made of.
    buffers : (values, cuts, scores, waiting)
        values : (int64, int64) arrays, for the integers of the rows of smaller children
        cuts, scores : int64 (2, 1, 6), float64 (2, 1, 1) arrays, see `histogram_loops.find_cuts`
        waiting : int64 array of shape (leaves + 1,)
    n_rows : int
        Of the root: rows[0][:n_rows], or all rows where it is 0.
    options : (plan, limits, rules, float least increase of the score)
        plan : (int form, int bits)
        limits : (int max_depth, int max_leaf_nodes or 0, int min_samples_split)
        rules : see `cut_loops.cut_score`

    Returns
    -------
    n_nodes : int
    """
    plan, limits, rules, least = options
    integers, gradient = (targets[0], targets[1]), targets[2]
    codes, n_bins, constraints, rank = data
    spans, sums, reals, _ = nodes
    p, n_forms = codes.shape[0], tables.shape[1]
    values, cuts, scores, waiting = buffers
    found = (cuts, scores)
    # Not literals, for which numba would compile what is called once more.
    root = first = np.int64(0)
    is_all = n_rows == 0
    if is_all:
        n_rows = integers[0].size
        for form in range(n_forms):
            count_all(codes, integers[form], tables[0, form], first, p)
    else:
        for form in range(n_forms):
            gather(integers[form], rows[0], first, n_rows, values[form])
            count_rows(codes, rows[0][:n_rows], values[form][:n_rows], tables[0, form], first, p)
    total_of_table(tables, n_bins, plan, cuts[0, 0])
    start_tree(nodes, cuts[0, 0], n_rows, is_all)
    n_nodes, n_tables, n_waiting, n_leaves = np.int64(1), np.int64(1), 0, 1
    best_first = limits[1] > 0
    if may_be_cut(spans[0], sums[0], limits, rules):
        find_cuts(
            data, tables, nodes, root, plan, rules, first, p, (found[0][0, 0], found[1][0, 0])
        )
        status = take_cut(root, nodes, (found[0][0], found[1][0]), least, rules, rank)
        if status == TAKEN or (status == DOUBTFUL and not all_equal(root, nodes, rows, gradient)):
            waiting[0], n_waiting = 0, 1
    while n_waiting > 0 and (not best_first or n_leaves < limits[1]):
        at = next_leaf(waiting, n_waiting, reals, best_first)
        node = waiting[at]
        n_waiting -= 1
        for k in range(at, n_waiting):
            waiting[k] = waiting[k + 1]
        add_children(node, n_nodes, nodes, constraints, rules)
        left, right = n_nodes, n_nodes + 1
        n_nodes += 2
        n_leaves += 1
        cut_left = may_be_cut(spans[left], sums[left], limits, rules)
        cut_right = may_be_cut(spans[right], sums[right], limits, rules)
        if not (cut_left or cut_right) or (best_first and n_leaves >= limits[1]):
            continue
        start, stop, which = spans[node, START], spans[node, STOP], spans[node, WHICH]
        to = other_array(which)
        cut, column = spans[node, CUT_AT], codes[spans[node, FEATURE]]
        place = part_rows(
            column, cut >> 2, default_side(cut), rows[which], start, stop, rows[to], start, stop - 1
        )
        place_children(node, place - start, nodes)
        small = smaller_child(node, nodes)
        large = left + right - small
        spans[small, TABLE], spans[large, TABLE] = n_tables, spans[node, TABLE]
        n_tables += 1
        a, b = spans[small, START], spans[small, STOP]
        for form in range(n_forms):
            gather(integers[form], rows[to], a, b, values[form])
        wanted = (cut_left, cut_right) if small == left else (cut_right, cut_left)
        search_children(
            small,
            large,
            data,
            tables,
            nodes,
            values,
            rows[to][a:b],
            plan,
            wanted,
            rules,
            (first, p, (found[0][0, 0], found[1][0, 0]), (found[0][1, 0], found[1][1, 0])),
        )
        for child in (left, right):
            k = 0 if child == small else 1
            if not wanted[k]:
                continue
            status = take_cut(child, nodes, (found[0][k], found[1][k]), least, rules, rank)
            if status == TAKEN or (
                status == DOUBTFUL and not all_equal(child, nodes, rows, gradient)
            ):
                waiting[n_waiting] = child
                n_waiting += 1
    return n_nodes


@jit_part
def default_side(cut):
    """Where missing values go in the rows that the tree is grown on: there may be none."""
    return 1 if cut & 3 == 1 else 0


@jit_lean
def number_nodes(nodes, n_nodes, stack, number):
    """Number the nodes from the left, parents before their children: number[old] = new.

    `stack` is an int64 array of shape (n_nodes + 1,).
    """
    spans = nodes[0]
    stack[0] = 0
    n_stack, new = 1, 0
    while n_stack > 0:
        n_stack -= 1
        node = stack[n_stack]
        number[node] = new
        new += 1
        if spans[node, LEFT] != NO_LEAF:
            stack[n_stack], stack[n_stack + 1] = spans[node, RIGHT], spans[node, LEFT]
            n_stack += 2
