"""Which pairs of features interact: FAST [Lou et al. 2013], from tables of coarse bins.

For each pair, the sums of the residuals in the cells of a table are freed of the two features'
own additive parts (`AdditiveFit`). What is left has sum zero over each row and column, so that the
four quadrants of a cut have the sums S, -S, -S, S. A constant in each of them lowers the squares by

    S^2 (1 / N_1 + 1 / N_2 + 1 / N_3 + 1 / N_4)

The largest value over all cuts is the *gain* of the pair: what the best cut explains beyond the
additive parts, also where these were not fitted to the end. The source ranks the pairs by the same
split of the residuals themselves, in which a main effect that is left over counts as well. The gain
is a lower bound on the fall of the squares when the quadrants are fitted jointly with any additive
function of both features, and equal to it for independent features.

How large gains are without an interaction is found by turning the signs of the residuals at random:
the sum in a cell is then normal with variance ``sum (w r)^2``, whatever the law of the noise, also
when its variance depends on the features. Such sums are drawn from the tables, not from the rows.

References
----------
Y. Lou, R. Caruana, J. Gehrke, G. Hooker (2013). "Accurate intelligible models with pairwise
interactions". KDD.

S. Coles (2001). *An Introduction to Statistical Modeling of Extreme Values*. Springer. The Gumbel
law of maxima.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from sklearn_ensemble_theory._hot_loops.compilation import uses_numba
from sklearn_ensemble_theory._hot_loops.teams import ThreadTeam
from sklearn_ensemble_theory.boosting._pairs.coarse_bins import CoarseBins, coarse_bins
from sklearn_ensemble_theory.boosting._pairs.purification import AdditiveFit
from sklearn_ensemble_theory.boosting._pairs.quadrant_steps import (
    inverse_weights,
    ordered_bins,
    quadrant_sums,
)

# Ordered bins of a feature in the tables.
DETECTION_BINS = 32
# Quadrants of less than this share of the weight are no evidence.
_MIN_SHARE = 0.005
# Draws of the signs: for each pair, and at least for all pairs together, since the scale of the
# gains is estimated from all of them.
_DRAWS_PER_PAIR, _DRAWS = 20, 400
# Chance that "auto" finds any pair where there is none.
_FALSE_ALARM = 0.05
# Most pairs that "auto" chooses, as a multiple of the number of features.
_MOST_PAIRS = 0.9
# The tables of so many pairs are in memory at a time, in cells.
_CELLS_AT_ONCE = 2**21


class DetectedPairs(NamedTuple):
    """Chosen pairs, the one with the largest gain first.

    Attributes
    ----------
    pairs : list of m tuples (a, b)
    gains : ndarray of shape (m,)
        By how much the best cut of each lowers the weighted sum of squares.
    p_values : ndarray of shape (m,)
        Bounds on the chance that any pair of features has such a gain without interactions; nan
        where the number of pairs was given.
    """

    pairs: list[tuple[int, int]]
    gains: np.ndarray
    p_values: np.ndarray


def detect_pairs(
    codes,
    n_bins,
    residual,
    n_pairs,
    sample_weight=None,
    *,
    frequency=None,
    features=None,
    max_bins=DETECTION_BINS,
    missing=None,
    categorical=None,
    random_state=None,
    n_threads=1,
):
    """The pairs with the largest gains, or those whose gains are significant.

    Parameters
    ----------
    codes : unsigned ndarray of shape (n, p), in Fortran order
    n_bins : int ndarray of shape (p,)
        The codes of feature j are below ``n_bins[j]``.
    residual : ndarray of shape (n,)
        Residuals of a model of main effects.
    n_pairs : int or "auto"
        "auto" chooses the pairs whose gain is larger than the largest of all pairs would be in
        95 % of the cases without interactions, and at most 0.9 p of them.
    sample_weight : ndarray of shape (n,), default=None
        Positive weights.
    frequency : ndarray of shape (n,), default=None
        How many rows each row stands for; `sample_weight` by default. In a Newton step, with
        weights that contain the second derivatives, the weights of the rows without them.
    features : int ndarray, default=None
        The features among which pairs are looked for, in increasing order; all by default.
    max_bins : int, default=32
        Ordered bins of a feature in the tables.
    missing, categorical : bool ndarray of shape (p,), default=None
        See `coarse_bins`.
    random_state : int, RandomState instance or None
        Used by "auto" only.
    n_threads : int, default=1
        The result does not depend on it.

    Returns
    -------
    DetectedPairs

    Notes
    -----
    O(n p^2) for the tables, by one pass over the rows for each group of pairs, and O(B^3) for each
    pair of features with B bins.
    """
    features = np.arange(len(n_bins)) if features is None else features
    bins = coarse_bins(
        codes, n_bins, max_bins, sample_weight, missing=missing, categorical=categorical
    )
    values = table_values(residual, sample_weight, frequency)
    return strongest_pairs(
        lambda pairs: pair_tables(codes, bins, pairs, values),
        bins,
        features,
        n_pairs,
        random_state=random_state,
        n_threads=n_threads,
    )


def table_values(
    residual: np.ndarray, sample_weight: np.ndarray | None, frequency: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What is summed in the cells: weighted residuals, weights, and the variances of the former."""
    weight = np.ones(len(residual)) if sample_weight is None else sample_weight
    sums = weight * residual
    # A row that stands for m rows, with sum m s in all, has variance m s^2.
    variance = sums * residual if frequency is None else sums**2 / frequency
    return sums, weight, variance


def strongest_pairs(
    tables_of: Callable[[list], Sequence],
    bins: CoarseBins,
    features: np.ndarray,
    n_pairs: Any,
    *,
    random_state: Any = None,
    n_threads: int = 1,
    cells_at_once: int = _CELLS_AT_ONCE,
) -> DetectedPairs:
    """`detect_pairs`, from the tables of the pairs.

    Parameters
    ----------
    tables_of : callable
        Of a list of pairs: the sums of `table_values` in the cells of each, (3, A, B). It is asked
        for each pair once.
    bins : CoarseBins
        Of all features.
    features : int array
        See `detect_pairs`, as for the following.
    n_pairs : int or "auto"
    random_state : int, RandomState instance or None
    n_threads : int, default=1
    cells_at_once : int
        The tables of so many cells are asked for at a time.
    """
    own = [int(j) for j in features]
    p = len(own)
    pairs = [(own[i], own[k]) for i in range(p) for k in range(i + 1, p)]
    is_auto = n_pairs == "auto"
    n_most = max(1, int(_MOST_PAIRS * p)) if is_auto else int(n_pairs)
    if not pairs or n_most == 0:
        return DetectedPairs([], np.empty(0), np.empty(0))
    n_draws = max(_DRAWS_PER_PAIR, -(-_DRAWS // len(pairs))) if is_auto else 0
    # One generator for each pair, so that the order in which they are counted does not matter.
    seeds = [None] * len(pairs)
    if is_auto:
        seeds = check_random_state(random_state).randint(np.iinfo(np.int32).max, size=len(pairs))

    def gains_of(group):
        tables = tables_of([pairs[t] for t in group])
        return [
            _gains(*table, bins, pairs[t], seeds[t], n_draws) for t, table in zip(group, tables)
        ]

    groups = _groups(pairs, bins, n_threads, cells_at_once)
    found = ThreadTeam(n_threads).run(gains_of, [(group,) for group in groups])
    gains, null = zip(*(result for group in found for result in group))
    gains = np.array(gains)
    p_values = _p_values(gains, np.array(null)) if is_auto else np.full(len(pairs), np.nan)
    order = np.argsort(-gains, kind="stable")[:n_most]
    if is_auto:
        order = order[p_values[order] <= _FALSE_ALARM]
    return DetectedPairs([pairs[t] for t in order], gains[order], p_values[order])


def _groups(pairs, bins, n_threads, cells_at_once):
    """Numbers of consecutive pairs whose tables are counted together."""
    cells = np.cumsum([bins.n_bins[a] * bins.n_bins[b] for a, b in pairs])
    size = max(1, min(cells_at_once, -(-int(cells[-1]) // n_threads)))
    group = (cells - 1) // size
    return [list(np.flatnonzero(group == g)) for g in np.unique(group)]


def pair_tables(codes, bins, pairs, values):
    """Sums of three values in the cells of each pair: a list of arrays of shape (3, A, B)."""
    shapes = [(int(bins.n_bins[a]), int(bins.n_bins[b])) for a, b in pairs]
    if uses_numba():
        from sklearn_ensemble_theory._hot_loops._pairs.pair_row_loops import add_pair_tables

        starts = np.concatenate([[0], np.cumsum([a * b for a, b in shapes])]).astype(np.intp)
        tables = np.zeros((starts[-1], 3))
        add_pair_tables(
            codes.T, bins.lookup(), bins.n_bins, np.array(pairs, np.intp), starts, values, tables
        )
        found = np.split(tables, starts[1:-1])
        return [np.ascontiguousarray(t.T).reshape(3, *s) for t, s in zip(found, shapes)]
    found = []
    for (a, b), shape in zip(pairs, shapes):
        cells = bins.maps[a].astype(np.intp).take(codes[:, a]) * shape[1]
        cells += bins.maps[b].take(codes[:, b])
        counted = [np.bincount(cells, v, shape[0] * shape[1]) for v in values]
        found.append(np.reshape(counted, (3, *shape)))
    return found


def _gains(sums, weight, variance, bins, pair, seed, n_draws):
    """The gain of a pair, and gains of as many draws without an interaction."""
    unordered = tuple(bins.unordered[j] for j in pair)
    gain = float(interaction_gains(sums, weight, unordered))
    if n_draws == 0:
        return gain, []
    draws = np.random.default_rng(seed).standard_normal((n_draws, *sums.shape))
    return gain, interaction_gains(draws * np.sqrt(variance), weight, unordered)


def interaction_gains(sums, weight, unordered=(False, False)):
    """The fall of the squares by the best cut into quadrants, beyond additive parts.

    Parameters
    ----------
    sums : ndarray of shape (..., A, B)
        Weighted sums of the residuals in the cells of one table or of several.
    weight : ndarray of shape (A, B)
        Weights of the cells.
    unordered : tuple of two bool
        Axes whose bins are put in the order of `ordered_bins`.

    Returns
    -------
    gains : ndarray of shape (...)
    """
    pure = AdditiveFit(weight).rest(sums)
    if any(unordered):
        gains = []
        for table in pure.reshape(-1, *weight.shape):
            order = np.ix_(*ordered_bins(table, weight, unordered))
            gains.append(_largest(table[order], weight[order]))
        return np.reshape(gains, pure.shape[:-2])
    return _largest(pure, weight)


def _largest(pure, weight):
    inverse = inverse_weights(weight, _MIN_SHARE).sum(axis=0)
    first = quadrant_sums(pure)[0]
    return np.max(first**2 * inverse, axis=(-2, -1), initial=0.0)


def _p_values(gains, null):
    """Bounds on the chance of each gain as the largest of all pairs, if there is no interaction.

    Largest values over many cuts follow nearly a Gumbel law. Its scale is estimated from all
    pairs, its place from each. [Coles 2001]
    """
    mean = null.mean(axis=1)
    relative = np.divide(null, mean[:, None], out=np.ones_like(null), where=mean[:, None] > 0)
    scale = mean * np.sqrt(6 * np.mean(np.var(relative, axis=1, ddof=1))) / np.pi
    z = np.where(scale > 0, (gains - mean) / np.where(scale > 0, scale, 1.0) + np.euler_gamma, 0.0)
    single = -np.expm1(-np.exp(-np.clip(z, -50, 700)))
    return np.where(scale > 0, np.minimum(single * len(gains), 1.0), np.where(gains > 0, 0.0, 1.0))
