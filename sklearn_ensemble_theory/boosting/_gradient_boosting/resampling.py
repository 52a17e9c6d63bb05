"""Fits to halves and to folds of the training rows: how a model would change, how far it is off.

*Halves.* Of P splits of the rows into halves, let f and f' be the fits to both, Z = (f + f')/2 and
D = (f - f')²/4. The halves are disjoint, so that E D = Var(f)/2 = Var(Z), and for any learner

    V = mean D - (1 - 1/P) var Z

is an unbiased estimate of the variance of the mean of all fits over training sets [Wang and
Lindsay, 2014]. mean D is one that is too large, and never negative. Everything that a fit finds in
the rows, the bins of the columns too, has to be found within its half: shared bins put the same
edges beside a jump in all of them.

*Folds.* Each row is predicted by the model that its fold is left out of. What these predictions
are off gives intervals, and a model of its size gives distributions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from ..._cv_choice import CVRounds
from ..._folds import drawn_splits
from ..._rows import Rows, group_codes, is_frame
from ..._running import Progress
from ..._scaling import calibrated_power
from ...ensembles._distributions import (
    LOCATION_SCALE_FAMILIES,
    MEAN_FAMILIES,
    check_family,
    check_support,
    frozen_location_scale,
    frozen_of_mean,
)
from ...ensembles._intervals import interval_by_folds
from ...ensembles._prediction_sets import ClassPlaces, SetRule, set_by_folds
from ...trees._packed import PackedCache
from ..losses import GammaLoss, Loss, QuantileLoss, SquaredLoss
from ..losses._losses import LogLinkLoss
from ..steps import FixedStep
from .choosing_rounds import MemoryFolds, boost_folds, folds_of
from .memory import fits_to_parts
from .model import AdditiveModel
from .plan import Plan, Problem

# The ratio of the two variances of halves is that of their means over so many points.
N_POINTS, LEAST_RATIO = 500, 0.1
# Scales: leaves of at least so many rows, absolute residuals of at least this share of their mean.
SCALE_ROWS, LEAST_RESIDUAL = 10, 1e-3
# Residuals are noisy: smaller steps, which need more rounds, are no more accurate.
SCALE_ROUNDS, SCALE_RATE = CVRounds(max_estimators=1000), 0.2


@dataclass
class FoldModels:
    """The models of K folds, and the predictions of the rows by those that they are left out of.

    Rows of no fold have the fold -1, and NaN as predictions.
    """

    models: list[AdditiveModel]
    fold: np.ndarray
    out_of_fold: np.ndarray

    @classmethod
    def of(cls, models: list[AdditiveModel], fold: np.ndarray, rows: Rows) -> Self:
        found: Any = None
        for k, model in enumerate(models):
            own = np.flatnonzero(fold == k)
            predicted = values_of(model, rows.take(own))
            if found is None:
                found = np.full((len(fold), *predicted.shape[1:]), np.nan)
            found[own] = predicted
        return cls(models, fold, found)

    @property
    def loss(self) -> Loss:
        return self.models[0].loss

    def at(self, rows: Rows) -> np.ndarray:
        """The predictions of all models, (m, K) or (m, K, n_classes)."""
        return np.stack([values_of(model, rows) for model in self.models], axis=1)


def values_of(model: AdditiveModel, rows: Rows) -> np.ndarray:
    """What is predicted: numbers, probabilities of classes, or scores where there are none."""
    u, loss = model.scores_of(rows), model.loss
    if not model.of_classes:
        return np.asarray(loss.inverse_link(u))
    return loss.class_probabilities(u) if loss.probability else u


class Resampling:
    """Fits to halves and folds of the training rows, made when they are first asked for."""

    def __init__(self, plan: Plan, problem: Problem, seed: int, fold: np.ndarray) -> None:
        self.plan, self.seed, self.fold = plan, seed, fold
        self.problem: Problem | None = problem
        self.made: dict[Any, Any] = {}

    @classmethod
    def of(
        cls,
        plan: Plan,
        problem: Problem,
        seed: int,
        fold: np.ndarray,
        folds: MemoryFolds | None,
    ) -> Self:
        """Of a fit that ends; `folds` are those that have chosen its rounds, if there are any."""
        rows = problem.rows
        # The user may change the arrays that were given to `fit`. polars' frames do not change.
        X = rows.X.copy() if hasattr(rows.X, "copy") else rows.X
        given = {name: getattr(rows, name) for name in ("y", "weight", "groups", "offset")}
        own: dict[str, Any] = {k: None if a is None else a.copy() for k, a in given.items()}
        rows = replace(rows, X=X, **own)
        plan = replace(plan, init=clone(plan.init, safe=False), choice=None)
        found = cls(plan, replace(problem, rows=rows), seed, fold)
        if folds is not None:
            models = FoldModels.of(folds.models(plan.n_rounds), fold, rows)
            found.made["folds", None] = models
        return found

    def without_rows(self) -> Self:
        """A copy that has only the fits made so far."""
        found = copy(self)
        found.problem, found.made = None, dict(self.made)
        return found

    def fitted(self, key: Any, what: str, make: Callable[[Problem], Any]) -> Any:
        """What `make` returns, made once."""
        if key not in self.made:
            if self.problem is None:
                raise ValueError(
                    f"{what} requires the training rows, which were removed; fit again."
                )
            self.made[key] = make(self.problem)
        return self.made[key]

    # --- halves -----------------------------------------------------------------------------------

    def variance(self, at: Rows, method: str, n_pairs: int) -> tuple[np.ndarray, np.ndarray]:
        """The mean of the fits to halves, and a variance over training sets."""
        models, ratio = self.fitted(
            ("halves", n_pairs),
            "standard_error",
            lambda problem: self._fit_halves(problem, n_pairs),
        )
        pairs = predictions_of_pairs(models, at)
        mean, spread = pairs.mean(axis=(0, 1)), mean_of_squares(pairs)
        if method == "single":
            return mean, pairs.reshape(-1, *pairs.shape[2:]).var(axis=0, ddof=1)
        return mean, spread if method == "conservative" else ratio * spread

    def _fit_halves(self, problem: Problem, n_pairs: int) -> tuple[list[AdditiveModel], np.ndarray]:
        rows, rng = problem.rows, np.random.RandomState(self.seed)
        codes = codes_of_groups(rows)
        n_units = len(rows) if codes is None else int(codes.max()) + 1
        if n_units < 4:
            raise ValueError(
                f"Standard errors require at least 4 rows, or groups of rows; got {n_units}."
            )
        halves = []
        for _ in range(n_pairs):
            order = rng.permutation(n_units)
            if problem.classes is not None and codes is None:
                # Both halves have about equally many rows of each class.
                order = order[np.argsort(rows.y[order], kind="stable")]
                order = np.concatenate([order[::2], order[1::2]])
                middle = (n_units + 1) // 2
                order = np.delete(order, rng.randint(middle)) if n_units % 2 else order
            m = n_units // 2
            for half in (order[:m], order[-m:]):
                halves.append(
                    np.sort(half) if codes is None else np.flatnonzero(np.isin(codes, half))
                )
        models = fits_to_parts(self.plan, problem, halves, self.seed)
        # V is noisy at a point, and may be negative; its ratio to mean D differs little between
        # points. Training rows are no points like others: one half of a pair has seen them.
        points = with_shuffled_columns(rows, rng)
        pairs = predictions_of_pairs(models, points)
        spread = mean_of_squares(pairs)
        between = pairs.mean(axis=1).var(axis=0, ddof=1)
        total = spread.sum(axis=0)
        ratio = 1 - (1 - 1 / n_pairs) * between.sum(axis=0) / np.where(total > 0, total, 1.0)
        return models, np.maximum(ratio, LEAST_RATIO)

    # --- folds ------------------------------------------------------------------------------------

    def folds(self, transform: str | None = None) -> FoldModels:
        """The models of the folds; of the logarithm of y with "log"."""

        def make(problem: Problem) -> FoldModels:
            if transform == "log":
                logs = replace(problem.rows, y=np.log(problem.rows.y))
                problem = replace(problem, rows=logs, loss=SquaredLoss())
            return self._fit_folds(self.plan, problem)

        return self.fitted(("folds", transform), "Another fit", make)

    def _fit_folds(self, plan: Plan, problem: Problem) -> FoldModels:
        trains = [train for train, _ in splits_of_folds(self.fold)]
        models = fits_to_parts(plan, problem, trains, self.seed)
        return FoldModels.of(models, self.fold, problem.rows)

    def deviation(self, mean: np.ndarray, transform: str | None = None) -> np.ndarray:
        """The unit of residuals: the loss's standard deviation, to the likeliest power."""
        folds = self.folds(transform)

        def make(problem: Problem) -> float:
            y = np.log(problem.rows.y) if transform == "log" else problem.rows.y
            unit = folds.loss.deviation(folds.out_of_fold)
            return calibrated_power(np.abs(y - folds.out_of_fold), unit, problem.rows.weight)[1]

        return folds.loss.deviation(mean) ** self.fitted(("power", transform), "Another fit", make)

    def scales(self, transform: str | None = None) -> tuple[FoldModels, np.ndarray]:
        """The models of the size of the residuals, and the residuals divided by theirs.

        Residuals are in units of `deviation`. The size is fitted to the absolute residuals out of
        fold by the gamma loss, the likelihood of Laplace's distribution; those of the fits
        themselves are too small. Its rounds are the choice of the same folds, and may be none.
        Models that stop early have sizes that differ too little: a power of them is taken, by the
        same likelihood out of fold.
        """
        location = self.folds(transform)
        return self.fitted(
            ("scales", transform),
            "Another fit",
            lambda problem: self._fit_scales(problem, location, transform),
        )

    def _fit_scales(
        self, problem: Problem, location: FoldModels, transform: str | None
    ) -> tuple[FoldModels, np.ndarray]:
        rows, fold = problem.rows, location.fold
        y = np.log(rows.y) if transform == "log" else rows.y
        deviation = self.deviation(location.out_of_fold, transform)
        residual = (y - location.out_of_fold) / deviation
        size = np.abs(residual)
        # Of equal targets the scale is as small as their rounding; of zeros that of 1.
        largest = float(np.abs(y / deviation).max()) or 1.0
        mean = max(float(size.mean()), float(np.finfo(float).eps) * largest)
        y = np.maximum(size, LEAST_RESIDUAL * mean)
        plan, problem = for_other_targets(self.plan, problem, y, GammaLoss())
        plan = replace(plan, learning_rate=SCALE_RATE)
        folds = folds_of(plan, problem, splits_of_folds(fold), np.random.RandomState(self.seed))
        most = SCALE_ROUNDS.max_estimators
        progress = Progress("scales", most, plan.verbose, unit="rounds")
        n_rounds, path = boost_folds(folds, SCALE_ROUNDS, progress)
        mean_path = path @ folds.shares
        n_rounds = 0 if mean_path[0] <= mean_path[n_rounds] else n_rounds
        models = folds.models(n_rounds)
        found = FoldModels.of(models, fold, problem.rows)
        c, power = calibrated_power(size, found.out_of_fold, rows.weight)
        if power > 1:
            for model in models:
                model.init = c + power * model.init
                model.steps = [power * b for b in model.steps]
                model.packed = PackedCache()
            # In logarithms: a power alone could vanish.
            found.out_of_fold = np.exp(c + power * np.log(found.out_of_fold))
        return found, residual / found.out_of_fold

    def quantiles(self, levels: tuple[float, ...]) -> list[FoldModels]:
        """The models of the folds by the quantile losses of these levels."""

        def make(level: float) -> Callable[[Problem], FoldModels]:
            loss = QuantileLoss(level)
            return lambda problem: self._fit_folds(
                *for_other_targets(self.plan, problem, problem.rows.y, loss, same_trees=True)
            )

        return [self.fitted(("quantile", level), "Another fit", make(level)) for level in levels]

    # --- intervals, sets, distributions -----------------------------------------------------------

    def interval(self, at: Rows, coverage: float, method: str, side: str) -> np.ndarray:
        """The ends of the intervals of these rows, an array of shape (m, 2)."""
        problem = self._kept("Prediction intervals")
        rows, support = problem.rows, problem.loss.support
        groups = codes_of_groups(rows)
        y, scale = rows.y, None
        alpha = (1 - coverage) / 2 if side == "both" else 1 - coverage
        if method == "cqr":
            if rows.offset is not None:
                raise ValueError(
                    "method='cqr' fits quantiles, which have no offset; use method='normalized'."
                )
            levels = (alpha, 1 - alpha)
            lower, upper = self.quantiles(levels)
            low, high = lower.at(at), upper.at(at)
            below, above, fold = lower.out_of_fold - y, y - upper.out_of_fold, upper.fold
        else:
            folds = self.folds()
            low = high = folds.at(at)
            scale, fold = self.deviation(low), folds.fold
            above = (y - folds.out_of_fold) / self.deviation(folds.out_of_fold)
            below = -above
        if method == "normalized":
            scales, _ = self.scales()
            scale = scale * scales.at(replace(at, offset=None))
            below, above = below / scales.out_of_fold, above / scales.out_of_fold
        given = (below, above), fold, groups, (low, high), scale, coverage, side, support
        return interval_by_folds(*given)

    def prediction_set(self, at: Rows, rule: SetRule) -> np.ndarray:
        """Whether each class is in the set of each of these rows, a bool array of shape (m, K)."""
        rows = self._kept("Prediction sets").rows
        folds = self.folds()
        # Two classes are -1 and +1.
        codes = (rows.y > 0 if folds.out_of_fold.shape[1] == 2 else rows.y).astype(np.intp)
        own, groups = ClassPlaces.of_own(folds.out_of_fold, codes), codes_of_groups(rows)
        return set_by_folds(own, codes, folds.fold, groups, folds.at(at), rule)

    def _kept(self, what: str) -> Problem:
        if self.problem is None:
            raise ValueError(f"{what} require the training rows, which were removed; fit again.")
        return self.problem

    def distribution(self, at: Rows, family: str) -> Any:
        problem = self.problem
        check_family(family, LOCATION_SCALE_FAMILIES + MEAN_FAMILIES)
        if problem is not None:
            check_support(family, problem.rows.y)
        if family in MEAN_FAMILIES:
            folds = self.folds()
            if not isinstance(folds.models[0].loss, LogLinkLoss):
                raise ValueError(
                    f"family={family!r} requires predictions above 0, those of loss='poisson', "
                    f"'gamma' or 'tweedie'; got {type(folds.models[0].loss).__name__}."
                )
            y, weight = self._targets()
            mean = folds.at(at).mean(axis=1)
            return frozen_of_mean(family, mean, y, folds.out_of_fold, weight)
        transform = "log" if family == "lognormal" else None
        has_offset = problem is not None and problem.rows.offset is not None
        if problem and transform and has_offset and not isinstance(problem.loss, LogLinkLoss):
            raise ValueError(
                "family='lognormal' fits log y, whose offset is that of a loss with logarithmic "
                f"link, which {type(problem.loss).__name__} does not have."
            )
        scales, z = self.scales(transform)
        means, sizes = self.folds(transform).at(at), scales.at(replace(at, offset=None))
        scale = (self.deviation(means, transform) * sizes).mean(axis=1)
        _, weight = self._targets()
        return frozen_location_scale(family, means.mean(axis=1), scale, z, weight)

    def _targets(self) -> tuple[np.ndarray, np.ndarray | None]:
        """The targets and their weights, which stay when the rows are forgotten."""
        return self.fitted(
            "targets", "predict_distribution", lambda problem: (problem.rows.y, problem.rows.weight)
        )


# --- parts of the rows ----------------------------------------------------------------------------


def splits_of_folds(fold: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """The rows to train on and those left out, for each fold, from the fold of each row."""
    numbers = range(int(fold.max()) + 1)
    return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in numbers]


def codes_of_groups(rows: Rows) -> np.ndarray | None:
    """The groups as numbers 0 ... G-1; None where rows come by themselves."""
    return None if rows.groups is None else group_codes(rows.groups, rows.X)


def fold_of_rows(
    splits: Sequence[tuple[np.ndarray, np.ndarray]], n_rows: int, each_row: bool = True
) -> np.ndarray:
    """The fold of each row, from splits that test on each row once, or on some never (-1)."""
    fold = np.full(n_rows, -1)
    for k, (_, test) in enumerate(splits):
        fold[test] = k
    if each_row and (sum(len(test) for _, test in splits) != n_rows or (fold < 0).any()):
        raise ValueError(
            "held_out='cv' requires splits that test on each row once, as KFold has; give held_out "
            "a number of folds. For a time series use averaging.SeriesIntervals of bagging or a "
            "forest: its rows are not exchangeable."
        )
    return fold


def drawn_folds(most: int, problem: Problem) -> np.ndarray:
    """The fold of each row, of at most so many folds: no more than rows, groups or rows a class."""
    rows, classes = problem.rows, problem.classes
    n_folds = min(most, len(rows))
    if rows.groups is not None:
        n_folds = min(n_folds, len(np.unique(rows.groups)))
    elif classes is not None:
        codes, counts = np.unique(rows.y, return_counts=True)
        n_folds = min(n_folds, int(counts.min()))
        if n_folds < 2:
            rare = codes[counts.argmin()]
            # Two classes are -1 and +1.
            label = classes[int(rare > 0 if len(classes) == 2 else rare)]
            raise ValueError(f"Folds require two rows of each class; {label!s} has only one.")
    if n_folds < 2:
        raise ValueError("Folds require at least two rows, or two groups.")
    y = rows.y if rows.y.ndim == 1 else rows.y[:, 0]
    splits = drawn_splits(n_folds, rows.X, y, slice(None), classes is not None, rows.groups)
    return fold_of_rows(splits, len(rows))


def for_other_targets(
    plan: Plan, problem: Problem, y: np.ndarray, loss: Loss, *, same_trees: bool = False
) -> tuple[Plan, Problem]:
    """Fits of something else than the mean, which has neither its constraints nor its start."""
    learner = clone(plan.learner)
    named = learner.get_params(deep=False)
    if "monotonic_cst" in named:
        learner.set_params(monotonic_cst=None)
    least = named.get("min_samples_leaf")
    if not same_trees and isinstance(least, int) and len(y) >= 10 * SCALE_ROWS:
        learner.set_params(min_samples_leaf=max(least, SCALE_ROWS))
    step = FixedStep(reoptimize_leaves=vars(plan.step).get("reoptimize_leaves", True))
    plan = replace(plan, learner=learner, init=None, step=step, newton="no")
    return plan, replace(problem, rows=replace(problem.rows, y=y, offset=None), loss=loss)


def with_shuffled_columns(rows: Rows, rng: np.random.RandomState) -> Rows:
    """Points whose features are those of different rows."""
    points = rows.take(rng.randint(len(rows), size=min(N_POINTS, len(rows))))
    X = points.X
    if is_frame(X):
        return points  # ratios are larger at training rows: errors on the safe side
    columns = X.toarray().T if sp.issparse(X) else X.T
    mixed = np.column_stack([rng.permutation(column) for column in columns])
    return replace(points, X=sp.csr_array(mixed) if sp.issparse(X) else mixed)


def predictions_of_pairs(models: list[AdditiveModel], rows: Rows) -> np.ndarray:
    """Of 2P models the predictions by pairs, of shape (P, 2, m) or (P, 2, m, K)."""
    found = np.stack([values_of(model, rows) for model in models])
    return found.reshape(-1, 2, *found.shape[1:])


def mean_of_squares(pairs: np.ndarray) -> np.ndarray:
    """The mean of D = (f - f')²/4 over the pairs."""
    return ((pairs[:, 0] - pairs[:, 1]) ** 2).mean(axis=0) / 4
