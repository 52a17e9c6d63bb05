"""The growth of one tree by one thread, over binned columns.

Features are drawn as scikit-learn's splitter draws them, and nodes are numbered as its builders
number them, so that the tree is the one that scikit-learn grows on the codes, up to ties.
"""

import numpy as np

from sklearn_ensemble_theory._hot_loops._growth.cut_loops import CLASSES, CUT, UNKNOWN, score_before
from sklearn_ensemble_theory._hot_loops._growth.node_loops import (
    EPSILON,
    LEAF,
    NO_FEATURE,
    bounds_of_children,
    find_cut,
    node_totals,
    split_rows,
)
from sklearn_ensemble_theory._hot_loops._growth.small_node_loops import SMALL_ROWS, grow_small
from sklearn_ensemble_theory._hot_loops.compilation import jit_inside, jit_lean


@jit_inside
def visit(node, start, stop, depth, n_known, bounds, shared, out):
    """Describe a node, find its cut and bring its rows in order.

    Returns
    -------
    place : int
        The first place of the right child; `stop` for a leaf.
    feature, code, missing_left : int
    decrease : float
        Of the impurity, relative to the weight of all rows.
    middle : float
        Of the means of the children, where the feature has a monotonic constraint.
    n_constants : int
        Number of features known to be constant.
    """
    data, part, targets, options, work, spare, drawing, _ = shared
    plan, limits, rules, units, constraints = options
    form, bits, criterion = plan[0], plan[1], plan[2]
    links, stats, values = out
    masses, root_impurity = work[5][0], drawing[3]
    total, mean, impurity = node_totals(part, targets, start, stop, form, bits, criterion, masses)
    if node == 0:
        root_impurity[0] = impurity
    links[node, 0], links[node, 1], links[node, 2], links[node, 3] = LEAF, LEAF, NO_FEATURE, 0
    links[node, 4], stats[node, 0] = stop - start, impurity
    if stats.shape[1] > 1:
        stats[node, 1] = total[1] * units[1]
    two_classes = form != CLASSES and values.shape[1] == 2
    if form == CLASSES:
        for k in range(masses.size):
            values[node, k] = masses[k] / total[1]
    else:
        mean *= total[1] / (total[1] + rules[1])
        mean = min(max(mean, bounds[0]), bounds[1])
        if two_classes:
            values[node, 0], values[node, 1] = 1.0 - mean, mean
        else:
            values[node, 0] = mean
    nothing = (stop, 0, 0, 0, 0.0, 0.0, n_known)
    if (
        depth >= limits[0]
        or stop - start < limits[2]
        or total[2] < 2 * rules[2]
        or total[1] < 2 * rules[3]
        or impurity <= EPSILON * root_impurity[0]
    ):
        return nothing
    # The mean of a node is this times the ratio of its integers.
    unit = 1.0 if two_classes else units[0] / units[1]
    found, score, j, code, to_left, n_constants = find_cut(
        data,
        start,
        stop,
        part,
        plan,
        total,
        work,
        (rules, constraints, (bounds[0] / unit, bounds[1] / unit), drawing, n_known),
    )
    if found != CUT:
        return nothing
    decrease = (score - score_before(total, masses, criterion, rules[1], form)) * units[2]
    if decrease + EPSILON < units[3] or (rules[1] > 0 and decrease <= 0):
        return nothing
    place = split_rows(data[1][j], plan[5], code, to_left, start, stop, part, spare)
    if to_left == UNKNOWN:
        to_left = 1 if 2 * place > start + stop else 0
    middle = 0.0
    if constraints[j] != 0:
        s, w = node_totals(part, targets, start, place, form, bits, criterion, masses)[0][:2]
        s2, w2 = total[0] - s, total[1] - w
        middle = 0.5 * unit * (s / (w + rules[1]) + s2 / (w2 + rules[1]))
    links[node, 2], links[node, 3] = j, code * 2 + to_left
    return place, j, code, to_left, decrease, middle, n_constants


@jit_lean
def grow_nodes(shared, order, out):
    """Grow a tree; its nodes are numbered from the left, parents before their children.

    With `max_leaf_nodes` the leaf whose cut reduces the impurity most is always the next to be cut,
    and the nodes are numbered as they are made.

    Parameters
    ----------
    shared : (data, part, targets, options, and four tuples of arrays to work in)
        See below. The last four are: histograms, copy of `part`, drawing, small nodes; of any
        content, of the shapes in `compiled_growth`.
    data : (uint16 (n p,), uint16 (p, n)) arrays
        The codes by row and by column.
    part : (int32 rows, int64 q, int64 r, int32 label) arrays
        The rows and their integers (see `cut_loops`), changed in place; arrays of one element where
        the form has none.
    targets : (float64 y (n,), float64 weight (n,)) arrays
        For means and impurities of regression; arrays of one element where they are not needed, or
        where all weights are 1.
    options : (plan, limits, rules, units, constraints)
        plan : (int form, int bits, int criterion, int max_features, int random_splits, int missing,
            int n_cells)
            `missing` is the code of a missing value; other codes are below `n_cells`.
        limits : (int max_depth, int max_leaf_nodes, int min_samples_split, int seed)
        rules : see `cut_loops.cut_score`
        units : (float target, float weight, float gain, float least decrease)
            What one unit of the integers is; of the gain relative to the whole weight.
        constraints : int8 array of shape (p,)
    order : (int64 (k, 6), float64 (k, 2), int64 (l, 5), float64 (l, 4)) arrays
        Nodes to visit, and the leaves that may be cut best first.
    out : (int32 (m, 5), float64 (m, 1 or 2), float64 (m, K)) arrays
        For each node (left, right, feature, code * 2 + missing_left, rows), (impurity, weight) and
        the value. Without the weight it is not written, for weights of 1.

    Returns
    -------
    (number of nodes, depth)
    """
    options, drawing = shared[3], shared[6]
    # `waiting`: start, stop, depth, parent, is right child, constants
    waiting, bounds, leaves, reals = order
    features, state = drawing[0], drawing[2]
    constraints, links, random_splits = options[4], out[0], options[0][4] != 0
    max_leaf_nodes = options[1][1]
    best_first = max_leaf_nodes > 0
    state[0] = options[1][3]
    for j in range(features.size):
        features[j] = j
    # Not literals, for which numba would compile what is called once more.
    n_waiting, n_nodes, deepest, n_leaves = 1, np.int64(0), np.int64(0), 0
    for k in range(6):
        waiting[0, k] = 0
    waiting[0, 1], waiting[0, 3] = shared[1][0].size, -1
    bounds[0, 0], bounds[0, 1] = -np.inf, np.inf
    while True:
        if n_waiting > 0:
            # Visit a node.
            n_waiting -= 1
            start, stop, depth = waiting[n_waiting, 0], waiting[n_waiting, 1], waiting[n_waiting, 2]
            parent, side = waiting[n_waiting, 3], waiting[n_waiting, 4]
            n_known = waiting[n_waiting, 5]
            low, high = bounds[n_waiting, 0], bounds[n_waiting, 1]
            if stop - start <= SMALL_ROWS and not random_splits and not best_first:
                n_nodes, deepest = grow_small(
                    (start, stop, depth, parent, side, n_known),
                    low,
                    high,
                    n_nodes,
                    deepest,
                    shared,
                    out,
                )
                continue
            node = n_nodes
            n_nodes += 1
            deepest = max(deepest, depth)
            if parent >= 0:
                links[parent, side] = node
            place, j, _, _, decrease, middle, n_known = visit(
                node, start, stop, depth, n_known, (low, high), shared, out
            )
            if best_first:
                leaves[n_leaves, 0], leaves[n_leaves, 1] = node, start
                leaves[n_leaves, 2], leaves[n_leaves, 3] = stop, depth
                leaves[n_leaves, 4] = place
                reals[n_leaves, 0], reals[n_leaves, 1] = low, high
                reals[n_leaves, 2], reals[n_leaves, 3] = decrease, middle
                n_leaves += 1
                continue
            if place == stop:
                continue
        else:
            # Cut the best leaf.
            best = -1
            for k in range(n_leaves):
                if leaves[k, 4] < leaves[k, 2] and (best < 0 or reals[k, 2] > reals[best, 2]):
                    best = k
            if best < 0 or n_leaves >= max_leaf_nodes:
                break
            node, start, stop = leaves[best, 0], leaves[best, 1], leaves[best, 2]
            depth, place, n_known = leaves[best, 3], leaves[best, 4], 0
            low, high, middle = reals[best, 0], reals[best, 1], reals[best, 3]
            j = links[node, 2]
            n_leaves -= 1
            for k in range(5):
                leaves[best, k] = leaves[n_leaves, k]
            for k in range(4):
                reals[best, k] = reals[n_leaves, k]
        a, b, c, d = bounds_of_children(constraints[j], low, high, middle)
        for side in range(1, -1, -1):
            waiting[n_waiting, 0] = place if side == 1 else start
            waiting[n_waiting, 1] = stop if side == 1 else place
            waiting[n_waiting, 2], waiting[n_waiting, 3] = depth + 1, node
            waiting[n_waiting, 4], waiting[n_waiting, 5] = side, n_known
            bounds[n_waiting, 0] = c if side == 1 else a
            bounds[n_waiting, 1] = d if side == 1 else b
            n_waiting += 1
    for k in range(n_leaves):  # those that could have been cut
        links[leaves[k, 0], 2], links[leaves[k, 0], 3] = NO_FEATURE, 0
    return n_nodes, deepest
