"""The growth of what is below a node of few rows.

Most nodes of a full tree have two or three rows, and a call with the arrays of a whole tree costs
more than their cuts. One call therefore grows all that is below a node of at most SMALL_ROWS rows.
It has these rows in a few arrays that stay in the processor's first cache, and sorts rows by their
codes instead of counting them in cells.
"""

from math import log

import numpy as np

from sklearn_ensemble_theory._hot_loops._growth.cell_loops import NEARLY
from sklearn_ensemble_theory._hot_loops._growth.cut_loops import (
    CLASSES,
    CUT,
    GINI,
    LOG_LOSS,
    NO_CUT,
    PACKED,
    POISSON,
    SQUARED_ERROR,
    UNKNOWN,
    class_score,
    cut_score,
    moved,
    score_before,
    x_log_x,
)
from sklearn_ensemble_theory._hot_loops._growth.node_loops import (
    EPSILON,
    LEAF,
    LOG_2,
    NO_FEATURE,
    bounds_of_children,
    drawn_place,
    restore,
)
from sklearn_ensemble_theory._hot_loops.compilation import jit_inside, jit_part

# Nodes of at most so many rows are small.
SMALL_ROWS = 40
# A key is a code times 64 plus the row's place.
PLACES, PLACE_BITS = 63, 6


@jit_inside
def sort_keys(by_row, j, order, start, stop, places, keys):
    """Sort the rows of a node by their codes of feature j; False if all codes are equal."""
    shift = np.uint64(j)
    first = by_row[places[order[start]] + shift]
    differs = False
    for k in range(stop - start):
        i = order[start + k]
        code = by_row[places[i] + shift]
        differs |= code != first
        key = (np.int32(code) << PLACE_BITS) | i
        at = k
        while at > 0 and keys[at - 1] > key:
            keys[at] = keys[at - 1]
            at -= 1
        keys[at] = key
    return differs


@jit_part
def cut_of_keys(keys, size, missing, rows, form, total, masses, rules, constraint, best):
    """The best cut of the sorted rows, if it beats `best`; see `cell_loops.cut_of_cells`."""
    s, w, label = rows
    criterion = rules[0]
    n_known = size
    while n_known > 0 and keys[n_known - 1] >> PLACE_BITS == missing:
        n_known -= 1
    has_missing = n_known < size
    whole, left, right = masses
    found, at, to_left = NO_CUT, 0, 0
    for search in range(2 if has_missing else 1):
        s1 = w1 = f_left = f_right = 0.0
        n1 = 0
        if form == CLASSES:
            for k in range(whole.size):
                left[k] = 0.0
                right[k] = whole[k]
                f_right = moved(0.0, f_right, criterion, whole[k], 1)
        # With missing values on the left, these come first.
        for step in range(size):
            k = step
            if search == 1:
                k = n_known + step if step < size - n_known else step - (size - n_known)
            if search == 0 and k >= n_known:
                break
            i = keys[k] & PLACES
            n1 += 1
            w1 += w[i]
            if form == CLASSES:
                c = label[i]
                f_left = moved(left[c], f_left, criterion, w[i], 1)
                f_right = moved(right[c], f_right, criterion, w[i], -1)
                left[c] += w[i]
                right[c] -= w[i]
            else:
                s1 += s[i]
            if k >= n_known:
                continue
            code = keys[k] >> PLACE_BITS
            after = missing if k + 1 == n_known else keys[k + 1] >> PLACE_BITS
            if after == code:
                continue
            if k + 1 == n_known and (search == 1 or not has_missing):
                break
            # A packed integer counts a row as often as its weight.
            n = int(w1) if form == PACKED else n1
            if form == CLASSES:
                score = class_score(f_left, f_right, w1, n, total, rules)
            else:
                score = cut_score(s1, w1, n, total, rules, constraint)
            if score > best:
                best, found = score, CUT
                at = missing - 1 if after == missing else (code + after) // 2
                to_left = search if has_missing else UNKNOWN
    return found, best, at, to_left


@jit_inside
def least_squares_cut(keys, size, s, w, s_all, w_all, best):
    """The most frequent case: squared error or two classes, no missing value, no rule."""
    found, at = NO_CUT, 0
    s1 = w1 = 0.0
    key = keys[0]
    for k in range(1, size):
        i = key & PLACES
        s1 += s[i]
        w1 += w[i]
        after = keys[k]
        if after >> PLACE_BITS != key >> PLACE_BITS:
            s2, w2 = s_all - s1, w_all - w1
            if s1 * s1 * w2 + s2 * s2 * w1 >= best * (w1 * w2) * NEARLY:
                score = s1 * s1 / w1 + s2 * s2 / w2
                if score > best:
                    best, found = score, CUT
                    at = ((key >> PLACE_BITS) + (after >> PLACE_BITS)) // 2
        key = after
    return found, best, at, UNKNOWN


@jit_part
def grow_small(first, low, high, n_nodes, deepest, shared, out):
    """Grow what is below a node, depth first, as `tree_loops.grow_nodes` does.

    Parameters
    ----------
    first : (int start, stop, depth, parent, is right child, constant features)
    low, high : float
        Bounds of the mean.
    n_nodes, deepest : int
        Of the tree so far.

    Returns
    -------
    (n_nodes, deepest)
    """
    data, part, targets, options, work, _, drawing, buffers = shared
    plan, limits, rules, units, constraints = options
    form, bits, criterion, max_features, missing = plan[0], plan[1], plan[2], plan[3], plan[5]
    by_row, masses = data[0], work[5]
    whole = masses[0]
    links, stats, values = out
    features, constants, state, root_impurity = drawing
    p, n_values = constraints.size, values.shape[1]
    max_depth, min_split, min_leaf, min_weight = limits[0], limits[2], rules[2], rules[3]
    least_impurity = EPSILON * root_impurity[0] if n_nodes > 0 else 0.0
    two_classes = form != CLASSES and n_values == 2
    unit = 1.0 if two_classes else units[0] / units[1]
    constrained = False
    for j in range(p):
        constrained |= constraints[j] != 0
    plain = (
        form != CLASSES
        and criterion in (SQUARED_ERROR, GINI)
        and rules[1] == 0
        and min_leaf == 1
        and min_weight <= 0
        and not constrained
    )

    size = first[1] - first[0]
    # `waiting`: start, stop, depth, parent, is right child, constant features
    places, reals, whole_numbers, waiting, bounds = buffers
    s, w, t, v = reals[0], reals[1], reals[2], reals[3]
    label, order, spare, keys = (
        whole_numbers[0],
        whole_numbers[1],
        whole_numbers[2],
        whole_numbers[3],
    )
    for k in range(size):
        order[k], label[k] = k, 0
        i, at = part[0][first[0] + k], first[0] + k
        places[k] = np.uint64(i) * np.uint64(p)
        if form == PACKED:
            s[k] = float(part[1][at] >> bits)
            w[k] = float(part[1][at] & ((1 << bits) - 1))
        else:
            s[k] = 0.0 if form == CLASSES else float(part[1][at])
            w[k] = float(part[2][at] >> bits)
        if form == CLASSES:
            label[k] = part[3][at]
        t[k] = targets[0][i] if targets[0].size > 1 else 0.0
        v[k] = targets[1][i] if targets[1].size > 1 else 1.0
    waiting[0, 0], waiting[0, 1] = 0, size
    waiting[0, 2], waiting[0, 3], waiting[0, 4], waiting[0, 5] = (
        first[2],
        first[3],
        first[4],
        first[5],
    )
    bounds[0, 0], bounds[0, 1] = low, high
    n_waiting = 1
    while n_waiting > 0:
        n_waiting -= 1
        start, stop, depth = waiting[n_waiting, 0], waiting[n_waiting, 1], waiting[n_waiting, 2]
        parent, side, n_known = waiting[n_waiting, 3], waiting[n_waiting, 4], waiting[n_waiting, 5]
        low, high = bounds[n_waiting, 0], bounds[n_waiting, 1]
        size = stop - start
        node = n_nodes
        n_nodes += 1
        deepest = max(deepest, depth)
        if parent >= 0:
            links[parent, side] = node

        # What the node is.
        s_all = w_all = mean = impurity = 0.0
        if form == CLASSES:
            for k in range(whole.size):
                whole[k] = 0.0
            for k in range(start, stop):
                whole[label[order[k]]] += w[order[k]]
                w_all += w[order[k]]
            impurity = 1.0 if criterion == GINI else 0.0
            for k in range(whole.size):
                share = whole[k] / w_all
                values[node, k] = share
                impurity -= share * share if criterion == GINI else x_log_x(share) / LOG_2
        else:
            v_all = t_all = square = 0.0
            least = largest = t[order[start]]
            for k in range(start, stop):
                i = order[k]
                s_all += s[i]
                w_all += w[i]
                v_all += v[i]
                t_all += v[i] * t[i]
                square += v[i] * (x_log_x(t[i]) if criterion == POISSON else t[i] * t[i])
                least, largest = min(least, t[i]), max(largest, t[i])
            if criterion == GINI:
                mean = s_all / w_all
                impurity = 2.0 * mean * (1.0 - mean)
            elif criterion == LOG_LOSS:
                mean = s_all / w_all
                impurity = -(x_log_x(mean) + x_log_x(1.0 - mean)) / LOG_2
            elif least == largest:
                mean = least
            else:
                mean = t_all / v_all
                if criterion == POISSON:
                    impurity = np.inf
                    if mean > 0:
                        impurity = max((square - t_all * log(mean)) / v_all, 0.0)
                else:
                    impurity = max(square / v_all - mean * mean, 0.0)
            mean *= w_all / (w_all + rules[1])
            mean = min(max(mean, low), high)
            if two_classes:
                values[node, 0], values[node, 1] = 1.0 - mean, mean
            else:
                values[node, 0] = mean
        if node == 0:
            least_impurity = EPSILON * impurity
        n_all = int(w_all) if form == PACKED else size
        links[node, 0], links[node, 1], links[node, 2], links[node, 3] = LEAF, LEAF, NO_FEATURE, 0
        links[node, 4], stats[node, 0] = size, impurity
        if stats.shape[1] > 1:
            stats[node, 1] = w_all * units[1]
        if (
            depth >= max_depth
            or size < min_split
            or n_all < 2 * min_leaf
            or w_all < 2 * min_weight
            or impurity <= least_impurity
        ):
            continue

        # Its best cut; see `node_loops.find_cut`.
        found, best, feature, cut, to_left = NO_CUT, -np.inf, 0, 0, 0
        f_i, n_visited, n_found, n_drawn, n_total = p, 0, 0, 0, n_known
        while f_i > n_total and (n_visited < max_features or n_visited <= n_found + n_drawn):
            n_visited += 1
            f_j = drawn_place(features, state, f_i, n_found, n_drawn, n_known)
            if f_j < 0:
                n_drawn += 1
                continue
            j = features[f_j]
            differs = sort_keys(by_row, j, order, start, stop, places, keys)
            if not differs:
                features[f_j], features[n_total] = features[n_total], features[f_j]
                n_found += 1
                n_total += 1
                continue
            f_i -= 1
            features[f_i], features[f_j] = features[f_j], features[f_i]
            if plain and keys[size - 1] >> PLACE_BITS != missing:
                # All cuts of two rows are equally good.
                if size > 2 or found != CUT:
                    one = least_squares_cut(keys, size, s, w, s_all, w_all, best)
                    if one[0] == CUT:
                        found, best, cut, to_left = one
                        feature = j
                continue
            total, constraint = (
                (s_all, w_all, n_all),
                (int(constraints[j]), low / unit, high / unit),
            )
            one = cut_of_keys(
                keys, size, missing, (s, w, label), form, total, masses, rules, constraint, best
            )
            if one[0] == CUT:
                found, best, cut, to_left = one
                feature = j
        restore(features, constants, n_known, n_total)
        if found != CUT:
            continue
        if units[3] > 0 or rules[1] > 0:
            total = (s_all, w_all, n_all)
            decrease = (best - score_before(total, whole, criterion, rules[1], form)) * units[2]
            if decrease + EPSILON < units[3] or (rules[1] > 0 and decrease <= 0):
                continue

        # Bring its rows in order.
        a, z, s_left, w_left = start, 0, 0.0, 0.0
        for k in range(start, stop):
            i = order[k]
            code = by_row[places[i] + np.uint64(feature)]
            left = (to_left == 1) if code == missing else code <= cut
            order[a] = i
            spare[z] = i
            a += left
            z += not left
            if left:
                s_left += s[i]
                w_left += w[i]
        for k in range(z):
            order[a + k] = spare[k]
        if to_left == UNKNOWN:
            to_left = 1 if 2 * a > start + stop else 0
        links[node, 2], links[node, 3] = feature, cut * 2 + to_left
        middle = 0.0
        if constraints[feature] != 0:
            right = (s_all - s_left) / (w_all - w_left + rules[1])
            middle = 0.5 * unit * (s_left / (w_left + rules[1]) + right)
        low, high, low_right, high_right = bounds_of_children(
            constraints[feature], low, high, middle
        )
        for side in range(1, -1, -1):
            waiting[n_waiting, 0] = a if side == 1 else start
            waiting[n_waiting, 1] = stop if side == 1 else a
            waiting[n_waiting, 2], waiting[n_waiting, 3] = depth + 1, node
            waiting[n_waiting, 4], waiting[n_waiting, 5] = side, n_total
            bounds[n_waiting, 0] = low_right if side == 1 else low
            bounds[n_waiting, 1] = high_right if side == 1 else high
            n_waiting += 1
    return n_nodes, deepest
