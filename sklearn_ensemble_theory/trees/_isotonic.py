"""Leaf values of monotonic trees: least squares under the order of the leaves.

A tree is monotonic in some features if no row has a higher value than one above it: the values of
its leaves must respect the partial order of their regions. When a tree has grown, the values under
this order that are next to the optimal ones of the leaves are those of an isotonic regression [van
de Kamp, Feelders and Barile 2009]. Bounds for all that grows below a cut, by the middle of the
means of its children, restrict the values more than the order does.

R. van de Kamp, A. Feelders and N. Barile (2009). "Isotonic classification trees". *Advances in
Intelligent Data Analysis VIII*, 405-416. Springer.
"""

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from ._tree_arrays import LEAF, Nodes

MOST_ORDERED = 64
"""Of larger trees leaves are not compared pair by pair."""
# Differences below this share of the largest value are rounding.
_ROUNDING = 1e-13


def monotonic_values(
    values: np.ndarray, weight: np.ndarray, tree: Nodes, signs: np.ndarray
) -> np.ndarray:
    """The values of a tree's nodes; those of leaves moved so that the tree is monotonic.

    The sum of weights times squares of the moves is the least possible, except in large trees. For
    k leaves and f features that are cut: O(k² f), and O(k³) at most for each pair of leaves that
    would be in the wrong order; in large trees O(k depth). `signs` are 1, -1 or 0 for each feature.
    """
    values = values.copy()
    leaves = np.flatnonzero(tree.left == LEAF)
    if not signs[tree.feature[tree.left != LEAF]].any():
        return values
    if len(leaves) > MOST_ORDERED:
        return _in_the_middle(values, tree, signs)
    order = leaf_order(tree, signs)
    values[leaves] = isotonic_regression(values[leaves], weight[leaves], order)
    return values


def _in_the_middle(values: np.ndarray, tree: Nodes, signs: np.ndarray) -> np.ndarray:
    """The values, changed so that every split of a constrained feature is monotonic.

    From the root downwards, what is on the wrong side of the middle between the largest value on
    one side and the smallest on the other moves there. Later changes stay between values that
    exist, so they keep what has been reached above. O(m depth).
    """
    m = len(tree)
    below: list[list[int]] = [[] for _ in range(m)]
    for i in range(m - 1, -1, -1):
        left, right = tree.left[i], tree.right[i]
        below[i] = [i] if left == LEAF else below[left] + below[right]
    for i in np.flatnonzero(tree.left != LEAF).tolist():
        sign = signs[tree.feature[i]]
        low, high = below[tree.left[i]], below[tree.right[i]]
        if sign < 0:
            low, high = high, low
        if sign and (top := values[low].max()) > (bottom := values[high].min()):
            middle = top / 2 + bottom / 2
            values[low] = np.minimum(values[low], middle)
            values[high] = np.maximum(values[high], middle)
    return values


def leaf_order(tree: Nodes, signs: np.ndarray) -> np.ndarray:
    """Which of the k leaves may not have a higher value than which others, (k, k).

    Leaf a stands below leaf b where a row of a and one of b are equal in all features without a
    constraint, and the second is not below the first in the others. Missing values are equal to
    each other only. As the tree is cut, no leaf is below itself by way of others.
    """
    m, inner = len(tree), np.flatnonzero(tree.left != LEAF)
    used = np.unique(tree.feature[inner])
    # What reaches a node: values in (low, high], missing ones, and sets of categories as bits.
    low, high = np.full((m, len(used)), -np.inf), np.full((m, len(used)), np.inf)
    missing = np.ones((m, len(used)), dtype=bool)
    sets = None if tree.left_bins is None else np.full((m, len(used), 32), 255, dtype=np.uint8)
    for i in inner.tolist():
        j = int(np.searchsorted(used, tree.feature[i]))
        left, right, cut = tree.left[i], tree.right[i], tree.threshold[i]
        low[[left, right]], high[[left, right]] = low[i], high[i]
        missing[[left, right]] = missing[i]
        if sets is not None:
            sets[[left, right]] = sets[i]
        if sets is not None and np.isnan(cut):
            sets[left, j] &= tree.left_bins[i]  # type: ignore[index]
            sets[right, j] &= ~tree.left_bins[i]  # type: ignore[index]
            continue
        high[left, j], low[right, j] = min(cut, high[i, j]), max(cut, low[i, j])
        missing[left, j] &= tree.missing_left[i] > 0
        missing[right, j] &= tree.missing_left[i] == 0
    leaves = np.flatnonzero(tree.left == LEAF)
    low, high, missing = low[leaves], high[leaves], missing[leaves]
    is_full = low < high
    # A value of leaf a that is below one of leaf b, and one that both have: axes a, b, feature.
    below = low[:, None] < high
    sign = signs[used]
    may = np.where(sign > 0, below, below.swapaxes(0, 1))
    may = np.where(sign == 0, below & below.swapaxes(0, 1), may)
    may &= is_full[:, None] & is_full
    may |= missing[:, None] & missing
    if sets is not None:
        sets = sets[leaves]
        may &= (sets[:, None] & sets).any(axis=-1)
    order = np.asarray(np.all(may, axis=-1))
    np.fill_diagonal(order, False)
    return order


def isotonic_regression(values: np.ndarray, weight: np.ndarray, order: np.ndarray) -> np.ndarray:
    """The numbers x next to `values` for which x[a] <= x[b] where ``order[a, b]``.

    They minimise the sum of ``weight * (x - values)²``: only pairs that are in the wrong order are
    looked at, with a multiplier for each [Lawson and Hanson 1974, chapter 23], until there are no
    others. The pairs with a multiplier above 0 link the values that become equal: their weighted
    mean. Its error is at most k rounding errors of the largest value if the weights are within 15
    decades, over which multipliers divided by weights lose all digits. If weights are farther
    apart, the result is in order but may not be the optimum.

    C. L. Lawson and R. J. Hanson (1974). *Solving Least Squares Problems*. Prentice-Hall.
    """
    x, order = values.copy(), _next_above(order)
    tolerance = _ROUNDING * np.max(np.abs(values), initial=0.0)
    low, high, z = np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp), np.empty(0)
    while True:
        wrong = np.argwhere(order & (x[:, None] > x + tolerance))
        if not len(wrong):
            break
        low, high = np.append(low, wrong[:, 0]), np.append(high, wrong[:, 1])
        # Of the pairs, e_low - e_high: the optimum is values - D' multipliers / weight.
        D = np.zeros((len(low), len(x)))
        D[np.arange(len(low)), low], D[np.arange(len(low)), high] = 1.0, -1.0
        start = np.append(z, np.zeros(len(wrong)))
        z = _multipliers(D / weight @ D.T, D @ values, start, tolerance)
        x = _pooled(values, weight, low[z > 0], high[z > 0])
        if len(low) > order.sum():  # rounding has brought a pair back
            break
    # Where rounding has left a pair in the wrong order, the upper one moves.
    while True:
        least = np.where(order, x[:, None], -np.inf).max(axis=0, initial=-np.inf)
        if (x >= least).all():
            return x
        x = np.maximum(x, least)


def _pooled(
    values: np.ndarray, weight: np.ndarray, low: np.ndarray, high: np.ndarray
) -> np.ndarray:
    """The weighted mean of the values that the pairs link with each other."""
    k = len(values)
    links = coo_array((np.ones(len(low)), (low, high)), shape=(k, k))
    n_pools, pool = connected_components(links, directed=False)
    # Shares: the sums neither overflow nor vanish.
    share = weight / np.bincount(pool, weight, n_pools)[pool]
    return np.asarray(np.bincount(pool, share * values, n_pools)[pool])


def _next_above(order: np.ndarray) -> np.ndarray:
    """The pairs with nothing between them, which imply all others."""
    above = order.astype(np.float32)  # products of numbers are faster than those of bool
    for _ in range(len(order).bit_length()):
        above = np.minimum(above + above @ above, 1.0)
    return (above > 0) & ~(above @ above > 0)


def _multipliers(
    gram: np.ndarray, c: np.ndarray, start: np.ndarray, tolerance: float
) -> np.ndarray:
    """The non-negative z that minimise ``z'gram z / 2 - c'z``, by the set of those above 0."""
    z, free = start, start > 0
    for _ in range(3 * len(c)):
        # Towards the minimum over the free ones; one that would be negative stops it, and is 0.
        while free.any():
            at, old = np.flatnonzero(free), z[free]
            try:
                new = np.linalg.solve(gram[np.ix_(at, at)], c[at])
            except np.linalg.LinAlgError:  # pairs that depend on each other
                new = np.linalg.lstsq(gram[np.ix_(at, at)], c[at], rcond=None)[0]
            negative = new <= 0
            if not negative.any():
                z[at] = new
                break
            # 0/0 where one is 0 and would stay 0, which stops it at once too.
            length = np.where(old > 0, old - new, 1.0)
            shares = old[negative] / length[negative]
            z[at] = old + shares.min() * (new - old)
            free[at[negative][shares <= shares.min()]] = False
            z[~free] = 0.0
        slope = np.where(free, -np.inf, c - gram @ z)
        if not slope.max() > tolerance:
            break
        free[slope.argmax()] = True
    return z
