"""Prediction intervals, from predictions out of bag or out of fold.

Each training row is predicted by the members that are not fitted to it; how far these predictions
are off says how far that of a new row will be. Rows that come in G groups of n_1, ..., n_G rows are
compared group by group: a row of group g counts 1/((G + 1) n_g), and the new one, of a new group,
1/(G + 1) [Lee, Barber and Willett, 2023].
"""

import math
from numbers import Real
from typing import Any

import numpy as np

from sklearn_ensemble_theory._features import column_of
from sklearn_ensemble_theory._rows import rows_of
from sklearn_ensemble_theory._running import warn_user
from sklearn_ensemble_theory._scaling import range_exponent
from sklearn_ensemble_theory.ensembles._ensemble import (
    Ensemble,
    check_one_output,
    fitted_rows,
    groups_of,
    kept_rows,
    kept_X,
    outside_group_masks,
    outside_masks,
)
from sklearn_ensemble_theory.ensembles._leave_one_out_ranks import order_statistics
from sklearn_ensemble_theory.ensembles._predictions import (
    PREDICTIONS,
    mean_prediction,
    out_of_bag_mean,
    prediction_columns,
    tree_input,
)
from sklearn_ensemble_theory.ensembles._quantiles import rows_of_leaves
from sklearn_ensemble_theory.ensembles._scales import residual_scales
from sklearn_ensemble_theory.ensembles._training_rows import (
    OutsideMasks,
)

# Entries of the masks that are held as numbers at once: 64 MB.
MASK = 2**23
METHODS = ("jackknife+", "conformal", "normalized", "quantile")
# Of the range in which an end is looked for: twice the bits of a float's fraction.
HALVINGS = 104


# --- of a fitted ensemble -------------------------------------------------------------------------


def prediction_interval(
    ensemble: Ensemble, X, coverage: float, method: str, side: str, by: Any
) -> np.ndarray:
    """Return the lower and upper ends at the rows X, an array of shape (m, 2)."""
    coverage = checked_coverage(coverage)
    one_of("method", method, METHODS)
    one_of("side", side, ("both", "lower", "upper"))
    check_one_output(ensemble, "predict_interval")
    rows = fitted_rows(ensemble, "Prediction intervals")
    y = kept_rows(ensemble, "predict_interval").y
    rows = np.arange(len(y)) if rows is None else rows
    groups = groups_of(ensemble, rows)
    parts = _parts(ensemble, X, rows, by)

    # How far targets are beyond the predictions out of bag, in units of the scale. Residuals of
    # huge targets are beyond the largest float; the ends need not be.
    exponent = range_exponent(y)
    (low, high, scale), at_new = _predictions(ensemble, X, rows, exponent, method, coverage, side)
    y = np.ldexp(y[rows], -exponent)
    below, above = (low - y) / scale, (y - high) / scale
    if side == "both":
        below = above = np.maximum(below, above)
    # Nothing is known of a row that all members are fitted to.
    below, above = (np.where(np.isnan(low), np.inf, distance) for distance in (below, above))

    ends = np.empty((X.shape[0], 2))
    ends[:] = -np.inf, np.inf
    unbounded: list[tuple[str, str]] = []
    for training, new, value in parts:
        own = below[training], above[training]
        own_groups = None if groups is None else groups[training]
        few = too_few(np.isfinite(own[side != "lower"]), own_groups, coverage)
        if few is not None:
            unbounded.append((few, str(value)))
            continue
        if method == "jackknife+":
            lower, upper = _jackknife_plus(
                ensemble,
                rows_of(X, new),
                rows,
                training,
                own[side != "lower"],
                own_groups,
                coverage,
                exponent,
            )
        else:
            low_new, high_new, scale_new = (values[new] for values in at_new)
            limits = (conformal_limit(distances, coverage, own_groups) for distances in own)
            limit_below, limit_above = limits
            lower, upper = low_new - scale_new * limit_below, high_new + scale_new * limit_above
        if side != "upper":
            ends[new, 0] = lower
        if side != "lower":
            ends[new, 1] = upper
    if unbounded:
        few, first = unbounded[0]
        others = f" and of {len(unbounded) - 1} other values" if len(unbounded) > 1 else ""
        of_value = "" if by is None else f" of the value {first} of by{others}"
        warn_of_few(few, coverage, f"the intervals{of_value} are infinite")
    if side == "both":  # where residuals are small the ends may cross
        ends.sort(axis=1)
    with np.errstate(over="ignore"):  # an end beyond the largest float is infinite
        return np.ldexp(ends, exponent)


def _predictions(
    ensemble: Ensemble,
    X,
    rows: np.ndarray,
    exponent: int,
    method: str,
    coverage: float,
    side: str,
) -> tuple[tuple[np.ndarray, ...], tuple[np.ndarray, ...]]:
    """Lower and upper predictions and their scales: out of bag, NaN where unknown, and at X.

    The jackknife+ has other predictions at X for each training row.
    """
    one, ones = np.ones(len(rows)), np.ones(X.shape[0])
    if method == "quantile":
        # A single end has all of alpha.
        alpha = 1 - coverage
        levels = {"both": (alpha / 2, 1 - alpha / 2), "lower": (alpha, alpha)}
        at = np.array(levels.get(side, (coverage, coverage)))
        leaf_rows = rows_of_leaves(ensemble, "method='quantile'")
        kept = kept_X(ensemble, "method='quantile'")
        # Where a tree has all of its rows in its leaves, they need not be drawn again.
        drawn = None if ensemble.draws.honest else leaf_rows.drawn
        masks = outside_masks(ensemble, rows, drawn)
        outside = kept_rows(ensemble, "method='quantile'").derived(
            f"quantiles {at.tolist()} out of bag",
            ensemble.members,
            lambda: leaf_rows.quantiles_outside(tree_input(ensemble, kept), rows, masks, at),
        )
        found = leaf_rows.quantiles(tree_input(ensemble, X), at)
        return (*np.ldexp(outside, -exponent).T, one), (*np.ldexp(found, -exponent).T, ones)
    mean = np.ldexp(out_of_bag_mean(ensemble, "predict"), -exponent)
    if method == "jackknife+":
        return (mean[rows], mean[rows], one), ()
    new = np.ldexp(mean_prediction(ensemble, X, "predict"), -exponent)
    if method == "conformal" or np.isnan(mean[rows]).all():
        return (mean[rows], mean[rows], one), (new, new, ones)
    y = np.ldexp(kept_rows(ensemble, "method='normalized'").y, -exponent)
    scales = residual_scales(ensemble, np.abs(y - mean))
    at_new = scales.at(tree_input(ensemble, X), ensemble.n_jobs)
    return (mean[rows], mean[rows], scales.out_of_bag[rows]), (new, new, at_new)


def _jackknife_plus(
    ensemble: Ensemble,
    X,
    rows: np.ndarray,
    training: slice | np.ndarray,
    distances: np.ndarray,
    groups: np.ndarray | None,
    coverage: float,
    exponent: int,
) -> tuple[np.ndarray, np.ndarray]:
    """The lower and upper ends at X, as far from predictions as some of the training rows are."""
    lower, upper = np.empty(X.shape[0]), np.empty(X.shape[0])
    rank = conformal_rank(len(distances), coverage)
    if groups is None:
        masks = outside_masks(ensemble, rows)
        masks = masks if isinstance(training, slice) else masks.of_rows(training)
        step = max(1, PREDICTIONS // masks.n_members)
    else:
        masks = outside_group_masks(ensemble)
        step = max(1, PREDICTIONS // max(masks.n_members, len(groups)))
    for start in range(0, X.shape[0], step):
        part = slice(start, start + step)
        predictions = prediction_columns(ensemble, rows_of(X, part))
        if exponent:
            predictions = np.ldexp(predictions, -exponent)
        if groups is None:
            upper[part], lower[part] = order_statistics(masks, predictions, distances, rank)
        else:
            ends = group_ends(masks, predictions, distances, groups, coverage)
            upper[part], lower[part] = ends
    return lower, upper


def _parts(ensemble: Ensemble, X, rows: np.ndarray, by: Any) -> list[tuple]:
    """The training rows and rows of X that belong together, all for None; their value of `by`."""
    if by is None:
        return [(slice(None), slice(None), None)]
    n, m = len(kept_rows(ensemble, "by").y), X.shape[0]
    if isinstance(by, tuple) and len(by) == 2:
        known, new = map(np.asarray, by)
    elif np.ndim(by) > 0:
        raise ValueError(
            "by must be a feature, a function, or a tuple of two arrays: the values of the "
            "training rows and those of the rows of X."
        )
    else:
        kept = kept_X(ensemble, "by", "give a tuple of two arrays, the values of both")
        # In single precision, as training rows are kept: values have to be equal.
        both = [tree_input(ensemble, each) for each in (kept, X)]
        if callable(by):
            try:
                known, new = (np.asarray(by(each)) for each in both)
            except (TypeError, ValueError) as error:
                raise ValueError(f"by must be a function of rows; it raises {error!r}.") from error
        else:
            column = ensemble.table.place(by, "by")
            known, new = (column_of(each, column) for each in both)
    for each, size, name in ((known, n, "training rows"), (new, m, "rows of X")):
        if each.shape != (size,):
            raise ValueError(
                f"by must have a value for each of the {size} {name}; got the shape {each.shape}."
            )
    try:
        labels, codes = np.unique(np.concatenate([known, new]), return_inverse=True)
    except TypeError:
        raise ValueError("by must have numbers or strings, which can be sorted.") from None
    known_codes, new_codes = codes[:n][rows], codes[n:]
    return [
        (np.flatnonzero(known_codes == code), np.flatnonzero(new_codes == code), labels[code])
        for code in np.unique(new_codes)
    ]


def checked_coverage(coverage: float) -> float:
    is_number = isinstance(coverage, Real) and not isinstance(coverage, bool)
    if not (is_number and 0 < coverage < 1):
        raise ValueError(f"coverage must be a number between 0 and 1, got {coverage!r}.")
    return float(coverage)


def one_of(name: str, given: Any, known: tuple[str, ...]) -> str:
    """A ValueError unless the argument is one of the values it can have."""
    if not isinstance(given, str) or given not in known:
        raise ValueError(f"{name} must be one of {list(known)}, got {given!r}.")
    return given


# --- too few rows ---------------------------------------------------------------------------------


def too_few(known: np.ndarray, groups: np.ndarray | None, coverage: float) -> str | None:
    """Why no known score bounds that of a new row with this probability; None if one does."""
    unit, n, n_known = "held-out rows", len(known), int(np.count_nonzero(known))
    if groups is None:
        is_enough = n_known >= conformal_rank(n, coverage)
    else:
        unit = "groups of held-out rows"
        n, n_known = len(np.unique(groups)), len(np.unique(groups[known]))
        is_enough = hierarchical_shares(groups)[known].sum() >= coverage - 1e-9
    if is_enough:
        return None
    # The least n with ceil((n + 1) coverage) <= n.
    needed = max(math.ceil(coverage / (1 - coverage) - 1e-9), 1)
    if n < needed:
        return f"needs at least {needed} {unit}, and there are {n}"
    return (
        f"needs predictions of {conformal_rank(n, coverage)} of the {n} {unit} by members that are "
        f"not fitted to them, and there are {n_known}; more members leave out more"
    )


def warn_of_few(few: str, coverage: float, result: str) -> None:
    """The one warning of all intervals and sets that too few rows can tell nothing of."""
    warn_user(f"coverage={coverage:g} {few}: {result}.")


# --- of arrays ------------------------------------------------------------------------------------


def conformal_rank(n: int, coverage: float) -> int:
    """ceil((n + 1) coverage), the rank of the score that bounds a new one; above n for few."""
    return max(math.ceil((n + 1) * coverage - 1e-9), 1)


def conformal_limit(scores: np.ndarray, coverage: float, groups: np.ndarray | None) -> float:
    """Return the number below which the score of a new row is with this probability."""
    if groups is not None:
        return float(weighted_ranks(scores[None], hierarchical_shares(groups), coverage)[0])
    rank = conformal_rank(len(scores), coverage)
    return np.inf if rank > len(scores) else float(np.partition(scores, rank - 1)[rank - 1])


def hierarchical_shares(groups: np.ndarray) -> np.ndarray:
    """1/((G + 1) n_g) for each row, from the codes of the groups."""
    sizes = np.bincount(groups)
    return 1 / (sizes[groups] * (np.count_nonzero(sizes) + 1))


def weighted_ranks(values: np.ndarray, shares: np.ndarray, level: float) -> np.ndarray:
    """Return the smallest value of each row up to which the shares sum to `level`, inf if none."""
    # Shares that fall short of the level by rounding reach it.
    order = np.argsort(values, axis=1)
    reached = np.cumsum(shares[order], axis=1) >= level - 1e-9
    place = reached.argmax(axis=1)[:, None]
    found = np.take_along_axis(values, np.take_along_axis(order, place, axis=1), axis=1)[:, 0]
    return np.where(reached[:, -1], found, np.inf)


def group_ends(
    masks: OutsideMasks,
    predictions: np.ndarray,
    residuals: np.ndarray,
    groups: np.ndarray,
    coverage: float,
) -> tuple[np.ndarray, np.ndarray]:
    """The upper and lower ends (q,) of the jackknife+ by the members outside of each group.

    `predictions` are (q, B), `residuals` and `groups` (n,); residuals are infinite for the rows of
    a group that all members are fitted to.
    """
    # Without the mean, which is added at the end, sums lose fewer digits.
    centre = predictions.mean(axis=1, keepdims=True)
    centred = predictions - centre
    means = np.empty((len(predictions), len(masks)))
    step = max(1, MASK // masks.n_members)
    for start in range(0, len(masks), step):
        part = slice(start, start + step)
        means[:, part] = centred @ masks.numbers(part).T
    means /= np.maximum(masks.counts, 1)
    of_rows, shares = means[:, groups], hierarchical_shares(groups)
    upper = weighted_ranks(of_rows + residuals, shares, coverage)
    lower = -weighted_ranks(residuals - of_rows, shares, coverage)
    return upper + centre[:, 0], lower + centre[:, 0]


# --- by folds -------------------------------------------------------------------------------------


class FoldScores:
    """Scores of the training rows, each by the model that its fold, 0 to K - 1, is left out of.

    With the model of fold k in the place of those without row i the jackknife+ becomes the CV+
    [Barber, Candès, Ramdas and Tibshirani, 2021].
    """

    def __init__(self, scores: np.ndarray, fold: np.ndarray, groups: np.ndarray | None) -> None:
        n = len(scores)
        shares = np.full(n, 1 / (n + 1)) if groups is None else hierarchical_shares(groups)
        self.sorted: list[np.ndarray] = []
        self.reached: list[np.ndarray] = []
        for k in range(int(fold.max()) + 1):
            own = np.flatnonzero(fold == k)
            order = own[np.argsort(scores[own])]
            self.sorted.append(scores[order])
            self.reached.append(np.append(0.0, np.cumsum(shares[order])))

    def share_up_to(self, values: np.ndarray) -> np.ndarray:
        """The share of the rows with a score of at most the value for their fold, of (m, K)."""
        total = np.zeros(len(values))
        for k, (scores, reached) in enumerate(zip(self.sorted, self.reached)):
            total += reached[np.searchsorted(scores, values[:, k], "right")]
        return total

    def _own_ends(self, coverage: float) -> list[float]:
        """For each fold its smallest score with the share of `coverage` among all rows."""
        share = min(coverage / sum(float(reached[-1]) for reached in self.reached), 1.0)
        return [
            float(scores[np.searchsorted(reached[1:-1], share * reached[-1])])
            for scores, reached in zip(self.sorted, self.reached)
        ]

    def upper_ends(
        self, centre: np.ndarray, scale: np.ndarray | None, coverage: float
    ) -> np.ndarray:
        """The smallest t with a share of `coverage` of centre_k + scale_k score_i <= t.

        Centres and scales are of shape (m, K). O(m K log n) for each of some 60 halvings, where
        sorting takes O(m n).
        """
        factor = np.ones_like(centre) if scale is None else scale
        # The end of all is between those of each fold alone. From the largest score, which may be
        # huge, halving would not come down to the others.
        own_ends = centre + factor * self._own_ends(coverage - 1e-9)
        low, high = own_ends.min(axis=1), own_ends.max(axis=1)
        # Halving until no number is between.
        for _ in range(HALVINGS):
            middle = low + (high - low) / 2
            if not ((low < middle) & (middle < high)).any():
                break
            enough = self.share_up_to((middle[:, None] - centre) / factor) >= coverage - 1e-9
            high, low = np.where(enough, middle, high), np.where(enough, low, middle)
        return high


def interval_by_folds(
    distances: tuple[np.ndarray, np.ndarray],
    fold: np.ndarray,
    groups: np.ndarray | None,
    predictions: tuple[np.ndarray, np.ndarray],
    scale: np.ndarray | None,
    coverage: float,
    side: str,
    support: tuple[float, float] = (-np.inf, np.inf),
) -> np.ndarray:
    """The ends of the CV+, an array of shape (m, 2).

    - distances: how far each target is below the lower and above the upper prediction out of fold,
      negative on the other side of it; in units of its scale.
    - fold, groups: see `FoldScores`.
    - predictions: the lower and the upper ones, (m, K), of the models of the folds; they may be the
      same.
    - scale: (m, K), by the models of the folds.
    - side: an end that there is not is infinite.
    - support: what targets can be. Ends are inside; of too few rows they are its ends, with a
      warning.
    """
    (below, above), (low, high) = distances, predictions
    if side == "both":
        below = above = np.maximum(below, above)
    ends = np.empty((len(low), 2))
    ends[:] = -np.inf, np.inf
    few = too_few(np.isfinite(above if side == "upper" else below), groups, coverage)
    if few is not None:
        is_bounded = np.isfinite(support).any()
        every = "have all values that a target can have" if is_bounded else "are infinite"
        warn_of_few(few, coverage, f"the intervals {every}")
    if side != "upper":
        if few is None:
            ends[:, 0] = -FoldScores(below, fold, groups).upper_ends(-low, scale, coverage)
        ends[:, 0] = ends[:, 0].clip(*support)
    if side != "lower":
        if few is None:
            ends[:, 1] = FoldScores(above, fold, groups).upper_ends(high, scale, coverage)
        ends[:, 1] = ends[:, 1].clip(*support)
    if side == "both":  # where residuals are small, or quantiles cross, the ends may too
        ends.sort(axis=1)
    return ends
