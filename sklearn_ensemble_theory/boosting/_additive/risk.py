"""The squared error and other losses as sums over bins, of rows in memory and in blocks.

The squared error needs one pass over the rows, and another one given pairs. Other losses are
lowered by Newton steps on working residuals g/w, with the negative gradients g at the scores of the
model and weights w, the second derivatives [Friedman, Hastie and Tibshirani 2000]; rounds of a
stage lower the quadratic that has this gradient and these weights. A stage ends when the scores
have moved by a given amount, and the next one computes gradients and weights again. The weights of
all models are those of the model of all rows: the tables of pairs of cuts are then counted once for
all folds, while every gradient is exact. Weights that have changed little since the stage before,
on average by no more than a given share, are kept, and with them all products of cuts: only
gradients are summed again.

Where the second derivative of a row says little, another quadratic takes its place: the expected
one of losses with a logarithmic link (Fisher scoring), and for losses with a kink, and Huber's, the
parabola of the same slope that lies above the loss [Hunter and Lange 2000].

In memory the scores of all models at all rows are kept, and change from stage to stage by the
tables that have changed. Of rows in blocks they are computed again from the tables, where the rows
are: one pass over the bins sums gradients and losses, and how far the second derivatives are from
those that the products of cuts have. Only if that is too far, a second one counts the products
again.

References
----------
J. Friedman, T. Hastie and R. Tibshirani (2000). "Additive logistic regression: a statistical view
of boosting". The Annals of Statistics 28.

D. R. Hunter and K. Lange (2000). "Quantile regression via an MM algorithm". Journal of
Computational and Graphical Statistics 9.
"""

import copy
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Protocol, cast

import numpy as np
from scipy.integrate import trapezoid
from scipy.special import expit, ndtri

from ..._blocks import Blocks, PassCount, SummedFields
from ..._roots import root_of_increasing
from ..._rows import MemoryRows, Rows
from ..losses import BinomialLoss, HuberLoss, Loss
from ..losses._base import UserLoss, loss_name
from ..losses._derivatives import check_derivatives
from ..losses._losses import LogLinkLoss, PiecewiseLinearLoss
from .pairs import PairTerms, WorkingResiduals, WorkOf, weight_by_bin
from .rounds import BinnedRows, Stage, TableModel, add_tables_of_rows, cuts_in_memory
from .sums import (
    CountedGram,
    CutLayout,
    CutRows,
    CutSums,
    NormalizedCuts,
    RowState,
    StoredGram,
    StumpSums,
    TableState,
    cut_sums,
)

# --- the squared error ----------------------------------------------------------------------------


@dataclass
class _TargetSums(SummedFields):
    """The sums with the targets minus the pairs of each of M models, by fold."""

    y: np.ndarray  # (M, k)
    yy: np.ndarray  # (M, k)
    left_y: np.ndarray  # (M, k, P)


class SquaredError:
    """The risk of the squared error.

    - sums: of the target, or of that of each model.
    - max_cuts: of how many cuts each model keeps the rows of products.
    - blocks: of `BinnedRows`, where they can still be read.
    - pairs: what was subtracted from y in the sums of each model.
    """

    n_scores = 1
    is_quadratic = True
    is_rough = False
    has_link = False
    unit = 1.0

    def __init__(
        self,
        sums: CutSums | list[CutSums],
        gram: CountedGram | StoredGram,
        n_splits: int,
        max_cuts: int | None = None,
        blocks: MemoryRows | Blocks | None = None,
        passes: PassCount | None = None,
        pairs: PairTerms | None = None,
    ) -> None:
        self.held_out = [None, *range(n_splits)]
        self.sums = sums if isinstance(sums, list) else [sums] * len(self.held_out)
        self.cuts = [NormalizedCuts(own, gram, k) for own, k in zip(self.sums, self.held_out)]
        self.gram, self.n_splits, self.max_cuts = gram, n_splits, max_cuts
        self.layout = gram.layout
        self.blocks, self.pairs = blocks, pairs
        self.passes = PassCount() if passes is None else passes
        self.rows = blocks.block if isinstance(blocks, MemoryRows) else None
        self.products: list[CutRows | None] = [None] * len(self.held_out)
        # Mean losses: of the first model over all rows, of the others over those they leave out.
        weights = [self.cuts[0].weight, *(cuts.held_weight for cuts in self.cuts[1:])]
        self.per_square = 1.0 / np.array(weights)

    @classmethod
    def of_rows(cls, rows: BinnedRows, memory: float) -> "SquaredError":
        """Sum over rows in memory, whose products of cuts are counted when they are needed."""
        options = {"sample_weight": rows.weight, "folds": rows.folds}
        sums = cut_sums(rows.codes, rows.layout, rows.y, n_folds=rows.n_groups, **options)
        max_cuts = cuts_in_memory(memory, rows)
        gram = CountedGram(rows.codes, rows.layout, sums.left_weight, max_cuts=max_cuts, **options)
        blocks = MemoryRows(rows, rows.codes.shape[1])
        return cls(sums, gram, rows.n_splits, max_cuts, blocks)

    def start(self) -> list[TableModel]:
        p = len(self.gram.layout.n_bins)
        return [TableModel(np.array([cuts.mean]), [[None] * p]) for cuts in self.cuts]

    def open(
        self, models: list[TableModel], tolerance: float = 0.0, by_rows: bool = False
    ) -> Stage:
        """Open the only stage; `tolerance` has no meaning here."""
        states: list[TableState | RowState] = []
        for number, (cuts, model) in enumerate(zip(self.cuts, models)):
            rows, fold = self.rows, self.held_out[number]
            if rows is None:
                states.append(TableState(cuts, self.max_cuts, model.tables[0]))
                continue
            # Of rows in memory the residuals are summed again.
            residual = rows.y - model.scores(rows.codes)[:, 0]
            if self.pairs is not None:
                residual -= self.pairs.scores(rows.codes, number)[:, 0]
            if by_rows:
                is_held = None if fold is None else rows.folds == fold
                states.append(RowState(cuts, rows.codes, residual, rows.weight, is_held))
                continue
            if any(table is not None for table in model.tables[0]):
                sums = cut_sums(
                    rows.codes,
                    rows.layout,
                    residual,
                    sample_weight=rows.weight,
                    folds=rows.folds,
                    n_folds=rows.n_groups,
                    left_weight=self.sums[number].left_weight,
                )
                cuts = NormalizedCuts(sums, self.gram, fold)
            state = TableState(cuts, self.max_cuts, rows=self.products[number])
            self.products[number] = state.rows
            states.append(state)
        squares = np.array([states[0].start_squares, *(s.start_held for s in states[1:])])
        losses = np.maximum(squares, 0) * self.per_square
        return Stage([[state] for state in states], models, losses, self.per_square)

    def work(self) -> WorkOf:
        """What computes the residuals beside which pairs are fitted."""
        return squared_work

    def again(self) -> "SquaredError":
        """The same risk for other rounds."""
        return self

    def given(self, pairs: PairTerms) -> "SquaredError":
        """Subtract the pairs from the targets of the main effects; one pass."""
        assert self.blocks is not None
        self.passes.n += 1
        found = self.blocks.sum(_sums_minus_pairs, pairs, len(self.cuts))
        sums = [
            replace(own, y=y, yy=yy, left_y=left_y)
            for own, y, yy, left_y in zip(self.sums, found.y, found.yy, found.left_y)
        ]
        risk = SquaredError(
            sums, self.gram, self.n_splits, self.max_cuts, self.blocks, self.passes, pairs
        )
        risk.products = self.products  # which do not depend on the target
        return risk


def _sums_minus_pairs(rows: BinnedRows, pairs: PairTerms, n_models: int) -> _TargetSums:
    none = np.zeros((rows.n_groups, rows.layout.n_cuts))  # the weights are known
    each = [
        cut_sums(
            rows.codes,
            rows.layout,
            rows.y - pairs.scores(rows.codes, number)[:, 0],
            sample_weight=rows.weight,
            folds=rows.folds,
            n_folds=rows.n_groups,
            left_weight=none,
        )
        for number in range(n_models)
    ]
    return _TargetSums(*(np.array([getattr(s, n) for s in each]) for n in ("y", "yy", "left_y")))


def squared_work(
    rows: BinnedRows,
    models: Sequence[TableModel],
    pairs: PairTerms | None,
    scores: Sequence[int],
) -> list[WorkingResiduals]:
    """Compute the residuals of each model; `pairs` and `scores` have no meaning here."""
    residuals = [rows.y - model.scores(rows.codes)[:, 0] for model in models]
    return [WorkingResiduals(rows.weight, residuals)]


# --- other losses ---------------------------------------------------------------------------------

# Second derivatives of the logistic loss are bounded from below by this: a row whose probability is
# 0 or 1 to rounding has a gradient of that size too. Those of other losses by a share of their mean
# over the rows at the start.
_MIN_CURVATURE, _MIN_SHARE = 1e-5, 1e-8
# A kink is as wide as this share of the mean loss: the parabola of a row at its kink has no width.
_KINK_WIDTH = 0.1
# Within this share of it, the slope changes from one side to the other.
_ROUNDING = 1e-6
# A mean of shares above this is 1 but for rounding.
_ONE = 1 - 1e-12
# Scores that have changed by this, in units, are added up again.
_FAR = 1e3
# Of losses without a second derivative: that between scores this far on both sides, in units.
_SECANT = 0.5


# --- the derivatives of a loss --------------------------------------------------------------------


class PointwiseLoss(Protocol):
    """A loss of K scores as Newton steps read it: (n,) of values, (n, K) of derivatives."""

    @property
    def n_scores(self) -> int:
        """K."""

    def values(self, y: np.ndarray, scores: np.ndarray) -> np.ndarray:
        """The losses of the rows."""

    def derivatives(
        self, y: np.ndarray, scores: np.ndarray, second: bool = True
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Negative gradients, and second derivatives or what takes their place."""

    def totals(self, rows: BinnedRows) -> np.ndarray:
        """Sums by fold from which `constant` knows the start: (n_groups, m)."""

    def constant(
        self, totals: np.ndarray, of_all: np.ndarray, mean_weight: float
    ) -> np.ndarray | None:
        """The best constant scores (K,) for some of the rows; None where sums do not tell."""

    def search(self, y: np.ndarray, offset: np.ndarray | None, weight: np.ndarray) -> float:
        """The constant with the least loss beside an offset, for one score."""


@dataclass(frozen=True)
class PointwiseLogistic:
    """The logistic loss: two classes and one score, or K classes and K scores."""

    n_classes: int

    @property
    def n_scores(self) -> int:
        return 1 if self.n_classes == 2 else self.n_classes

    def values(self, y: np.ndarray, scores: np.ndarray) -> np.ndarray:
        if scores.shape[1] == 1:
            return np.logaddexp(0, scores[:, 0]) - y * scores[:, 0]
        scores = scores - scores.max(axis=1, keepdims=True)
        return np.log(np.exp(scores).sum(axis=1)) - scores[np.arange(len(y)), y]

    def derivatives(
        self, y: np.ndarray, scores: np.ndarray, second: bool = True
    ) -> tuple[np.ndarray, np.ndarray | None]:
        n_scores = scores.shape[1]
        if n_scores == 1:
            probability = expit(scores)
        else:
            odds = np.exp(scores - scores.max(axis=1, keepdims=True))
            probability = odds / odds.sum(axis=1, keepdims=True)
        curvature = None
        if second:
            curvature = probability * (1 - probability)
            if n_scores > 1:  # as in the multinomial LogitBoost, steps times (K - 1) / K
                curvature *= n_scores / (n_scores - 1)
            np.maximum(curvature, _MIN_CURVATURE, out=curvature)
        residual = np.negative(probability, out=probability)
        if n_scores == 1:
            residual[:, 0] += y
        else:
            residual[np.arange(len(y)), y] += 1
        return residual, curvature

    def totals(self, rows: BinnedRows) -> np.ndarray:
        return sums_by_fold(rows, [rows.y == k for k in range(self.n_classes)])

    def constant(self, totals: np.ndarray, of_all: np.ndarray, mean_weight: float) -> np.ndarray:
        # a class that is absent from the training rows has not the probability 0
        share = np.maximum(totals, 0.5 * mean_weight)
        log = np.log(share / share.sum())
        return log[1:] - log[0] if self.n_scores == 1 else log - log.mean()

    def search(self, y: np.ndarray, offset: np.ndarray | None, weight: np.ndarray) -> float:
        if offset is None:
            return float(BinomialLoss().optimal_constant(y, weight))
        return BinomialLoss().optimal_shift(y, offset, weight)


@dataclass(frozen=True)
class PointwiseOf:
    """Any loss of one score.

    - floor: a lower bound of second derivatives.
    - size: the mean loss of the first model before the stage.
    - unit: of the scores; see `NewtonLoss`.
    - is_safe: whether the parabola of a kink lies above the loss, for steps that nothing looks at.
    """

    loss: Loss
    floor: float = 0.0
    size: float = 1.0
    unit: float = 1.0
    is_safe: bool = False

    @property
    def n_scores(self) -> int:
        return 1

    @property
    def is_on_scale_of_y(self) -> bool:
        """Whether the score is the prediction."""
        loss = self.loss
        if isinstance(loss, UserLoss):
            return getattr(loss.loss, "inverse_link", None) is None
        return type(loss).inverse_link is Loss.inverse_link

    @property
    def is_rough(self) -> bool:
        """Whether steps are those of another curve than the loss, and have to be looked at."""
        loss = self.loss
        known = isinstance(loss, LogLinkLoss | HuberLoss) or np.isfinite(loss.smoothness)
        # Of a loss of the user it is not known how far its second derivatives hold.
        return not known and (
            isinstance(loss, UserLoss) or loss.hessian(np.ones(1), np.zeros(1)) is None
        )

    def values(self, y: np.ndarray, scores: np.ndarray) -> np.ndarray:
        return self.loss.value(y, scores[:, 0])

    def derivatives(
        self, y: np.ndarray, scores: np.ndarray, second: bool = True
    ) -> tuple[np.ndarray, np.ndarray | None]:
        u = scores[:, 0]
        if isinstance(self.loss, PiecewiseLinearLoss):
            # A row whose kink is at u to rounding, as one is at the start, is on neither side.
            at, left, right = self.loss.kinks(y)
            beyond = np.clip((u - at) / (_ROUNDING * self.size), -1, 1)
            residual = -(left + (right - left) * (1 + beyond) / 2)
        else:
            residual = -np.asarray(self.loss.gradient(y, u), dtype=float)
        if not second:
            return residual[:, None], None
        curvature = np.maximum(self._curvature(y, u), self.floor)
        return residual[:, None], curvature[:, None]

    def _curvature(self, y: np.ndarray, u: np.ndarray) -> np.ndarray:
        loss = self.loss
        if isinstance(loss, LogLinkLoss):
            # Linear in y: that of the mean is the expected one.
            return np.asarray(loss.hessian(loss.inverse_link(u), u))
        if isinstance(loss, PiecewiseLinearLoss):
            at, left, right = loss.kinks(y)
            width = _KINK_WIDTH * self.size
            share = 0.5 if self.is_safe else _kink_share(float(np.mean(-left / (right - left))))
            return (right - left) * share / (np.abs(at - u) + width)
        if isinstance(loss, HuberLoss):
            return loss.delta / np.maximum(np.abs(y - u), loss.delta)
        found = loss.hessian(y, u)
        if found is not None:
            return np.asarray(found)
        if np.isfinite(loss.smoothness):
            return np.full(len(u), loss.smoothness)
        step = _SECANT * self.unit
        return (loss.gradient(y, u + step) - loss.gradient(y, u - step)) / (2 * step)

    def sized(self, loss: float) -> "PointwiseOf":
        """The loss for a stage that begins with this mean loss."""
        return replace(self, size=loss) if loss > 0 else self

    def totals(self, rows: BinnedRows) -> np.ndarray:
        return sums_by_fold(rows, [np.ones(len(rows.y)), rows.y])

    def constant(
        self, totals: np.ndarray, of_all: np.ndarray, mean_weight: float
    ) -> np.ndarray | None:
        if not self.loss.constant_of_mean:
            return None
        weight, total = totals
        if total == 0 or (isinstance(self.loss, BinomialLoss) and total >= _ONE * weight):
            weight, total = of_all  # 0 has no logarithm, and 1 no log-odds
        return np.atleast_1d(self.loss.optimal_constant(np.array([total / weight])))

    def search(self, y: np.ndarray, offset: np.ndarray | None, weight: np.ndarray) -> float:
        if offset is None:
            return float(self.loss.initial_scores(y, weight, 0))
        return float(self.loss.optimal_shift(y, offset, weight))


@lru_cache
def _kink_share(q: float) -> float:
    """The factor of 1 / (abs(r) + width) that makes its mean the density at the q-quantile.

    For normal residuals, whose mean quantile loss is the density there: the integral over z of
    phi(z) / (abs(z - z_q) + width), on both sides of the quantile by the logarithm of the distance.
    """
    z = ndtri(q)
    density = np.exp(-z * z / 2) / np.sqrt(2 * np.pi)
    width = _KINK_WIDTH * density
    t = np.linspace(np.log(width), np.log(50.0), 2000)
    distance = np.exp(t) - width  # dz / (distance + width) = dt
    both = sum(np.exp(-((z + s * distance) ** 2) / 2) for s in (-1, 1)) / np.sqrt(2 * np.pi)
    return float(density / trapezoid(both, t))


def guide_of_bins(loss: PointwiseLoss, rows: Rows) -> tuple[np.ndarray | None, np.ndarray | None]:
    """A target that refined bins follow, and its weights where they are not those of the rows.

    The negative gradient at the start; of several scores none is taken. Rows with offsets differ in
    how much they tell, and have working residuals.
    """
    if loss.n_scores > 1:
        return None, None
    weight, n = rows.weights(), len(rows.y)
    if isinstance(loss, PointwiseOf):
        check_derivatives(loss.loss, rows.y, rows.offset)
    u = np.full((n, 1), loss.search(rows.y, rows.offset, weight))
    if isinstance(loss, PointwiseOf):
        start = u[:, 0] if rows.offset is None else u[:, 0] + rows.offset
        check_derivatives(loss.loss, rows.y, start)
    if rows.offset is None:
        return loss.derivatives(rows.y, u, second=False)[0][:, 0], None
    residual, curvature = loss.derivatives(rows.y, u + rows.offset[:, None])
    assert curvature is not None
    curvature = np.maximum(curvature, _floor(np.average(curvature[:, 0], weights=weight)))
    return (residual / curvature)[:, 0], weight * curvature[:, 0]


def _is_unbounded(pointwise: PointwiseLoss, y: np.ndarray) -> bool:
    """Whether the loss of targets is least for a score of infinite size."""
    loss = pointwise.loss if isinstance(pointwise, PointwiseOf) else BinomialLoss()
    if isinstance(loss, LogLinkLoss):
        return not y.any()
    ends = (-1, 1) if loss.margin else (0, 1)
    return (isinstance(loss, BinomialLoss) or loss.margin) and any((y == end).all() for end in ends)


def _floor(mean: float) -> float:
    """A lower bound of second derivatives with this mean; where that is not positive, of any."""
    return _MIN_SHARE * float(mean) if mean > 0 else _MIN_CURVATURE


def sums_by_fold(rows: BinnedRows, values: Sequence[np.ndarray]) -> np.ndarray:
    """Weighted sums of m values of the rows in each fold: (n_groups, m)."""
    folds = np.zeros(len(rows.y), np.intp) if rows.folds is None else rows.folds
    each = values if rows.weight is None else [rows.weight * v for v in values]
    return np.column_stack([np.bincount(folds, v, rows.n_groups) for v in each])


def _scores(
    rows: BinnedRows, model: TableModel, pairs: PairTerms | None, number: int
) -> np.ndarray:
    """Add up a model, with its pairs and the offset if there are any: (n, n_scores)."""
    scores = model.scores(rows.codes)
    if rows.offset is not None:
        scores += rows.offset[:, None]
    return scores if pairs is None else scores + pairs.scores(rows.codes, number)


# --- stages, wherever the rows are ----------------------------------------------------------------


@dataclass
class KnownWeights:
    """The weights of a stage for one score, and what depends on nothing else.

    - gram: the products of cuts.
    - sums: those without the target are used.
    - rows, cuts: products of columns, and these, by model.
    - curvature, weight: the second derivatives, and those times the sample weights, of rows in
      memory.
    - at: the loss and the model of the second derivatives, of rows in blocks.
    """

    gram: CountedGram | StoredGram
    sums: CutSums
    rows: list[CutRows | None]
    cuts: list[NormalizedCuts | None]
    curvature: np.ndarray | None = None
    weight: np.ndarray | None = None
    at: tuple[PointwiseLoss, TableModel] | None = None


class NewtonLoss(ABC):
    """The risk of a loss that is not quadratic.

    - weight: of the rows of each fold.
    - max_cuts: of how many cuts each model keeps the rows of products.
    - n_refreshes: how many stages have been opened.
    - unit: of the scores: for a loss of y - u the mean distance of y from the start, otherwise 1.
    """

    is_quadratic = False
    is_rough = False
    rows: BinnedRows | None = None
    unit = 1.0

    def __init__(
        self,
        loss: PointwiseLoss,
        layout: CutLayout,
        weight: np.ndarray,
        n_splits: int,
        max_cuts: int | None = None,
    ) -> None:
        self.loss, self.layout, self.group_weight = loss, layout, weight
        self.n_splits, self.max_cuts = n_splits, max_cuts
        self.held_out = [None, *range(n_splits)]
        self.n_scores, self.n_refreshes = loss.n_scores, 0
        self.known: list[KnownWeights | None] = [None] * self.n_scores
        weights = np.array([weight.sum(), *weight[:n_splits]])
        if not (weights > 0).all():
            raise ValueError("Every split of cv must have weight in its test set.")
        self.per_square = 0.5 / weights

    def start(self) -> list[TableModel]:
        """Begin with the best constants for the rows that each model is fitted to."""
        none = [None] * len(self.layout.n_bins)
        starts = self._constants()
        models = [TableModel(c, [list(none) for _ in range(self.n_scores)]) for c in starts]
        if isinstance(self.loss, PointwiseOf):
            if self.loss.is_on_scale_of_y:
                self.unit = self._mean_distance(models[0].intercepts[0]) or 1.0
            self.is_rough, self.loss = self.loss.is_rough, replace(self.loss, unit=self.unit)
            self._read(models)
            self.loss = self.loss.sized(float(self._losses()[0][0]))
            self._read(models)
            self._derive()
            _, total = self._change(0)
            if not np.isfinite([total, *self._losses()[0]]).all():
                raise ValueError(
                    f"loss: {loss_name(self.loss.loss)} has losses or derivatives that are not "
                    "finite, for the best constant score."
                )
            self.loss = replace(self.loss, floor=_floor(total / self.group_weight.sum()))
        return models

    def _constants(self) -> list[np.ndarray]:
        """The scores (K,) at which each model starts."""
        groups, mean_weight = self._totals()
        found = []
        for fold in self.held_out:
            own = groups if fold is None else np.delete(groups, fold, axis=0)
            constant = self.loss.constant(own.sum(axis=0), groups.sum(axis=0), mean_weight)
            if constant is None:
                return self._searched_constants()
            found.append(constant)
        return found

    def open(
        self, models: list[TableModel], tolerance: float = 0.0, by_rows: bool = False
    ) -> Stage:
        """The next stage, with states of rows or of tables.

        The weights of the stage before are kept if they have changed by no more than the share
        `tolerance` on average.
        """
        self.n_refreshes += 1
        self._read(models)
        self._derive()
        fitted_losses, losses = self._losses()
        # Products of cuts are counted again where the weights have changed too much.
        for score, known in enumerate(self.known):
            if known is not None and tolerance > 0:
                change, total = self._change(score)
                if change <= tolerance * total:
                    continue
            self.known[score] = self._counted(score)
        models = [model.copy() for model in models]
        states: list = [[] for _ in models]
        for score, known in enumerate(self.known):
            assert known is not None
            for number, model in enumerate(models):
                sums, residual = self._sums(score, number)
                fold = self.held_out[number]
                cuts = NormalizedCuts(sums, known.gram, fold, known.cuts[number])
                known.cuts[number] = cuts
                state: TableState | RowState
                if by_rows:
                    rows = self.rows
                    assert rows is not None
                    assert residual is not None  # in memory both are there
                    is_held = None if fold is None else rows.folds == fold
                    residual -= cuts.mean
                    state = RowState(cuts, rows.codes, residual, known.weight, is_held)
                else:
                    state = TableState(cuts, self.max_cuts, rows=known.rows[number])
                    known.rows[number] = state.rows
                # The columns have mean zero: what is constant in the residuals goes here.
                model.intercepts[score] += cuts.mean
                states[number].append(state)
        if self.n_scores > 1:
            for model in models:
                model.intercepts -= model.intercepts.mean()
        if isinstance(self.loss, PointwiseOf):  # for the next stage, wherever the rows are
            self.loss = self.loss.sized(float(losses[0]))
        return Stage(states, models, losses, self.per_square, fitted_losses)

    def losses(self, models: list[TableModel]) -> tuple[np.ndarray, np.ndarray]:
        """`fitted_losses` and `losses` of the `Stage` that models would open."""
        self._read(models)
        return self._losses()

    def work(self) -> WorkOf:
        """What computes the working residuals beside which pairs are fitted."""
        loss = self.loss
        return partial(
            newton_work, replace(loss, is_safe=True) if isinstance(loss, PointwiseOf) else loss
        )

    @property
    def has_link(self) -> bool:
        """Whether the score is another than the prediction."""
        return not (isinstance(self.loss, PointwiseOf) and self.loss.is_on_scale_of_y)

    def again(self) -> "NewtonLoss":
        return self.given(None)

    @abstractmethod
    def given(self, pairs: PairTerms | None) -> "NewtonLoss":
        """The risk of main effects that are added to pairs."""

    @abstractmethod
    def _totals(self) -> tuple[np.ndarray, float]:
        """`PointwiseLoss.totals`, and the mean weight of a row."""

    @abstractmethod
    def _searched_constants(self) -> list[np.ndarray]:
        """The best constants where sums do not tell them."""

    @abstractmethod
    def _mean_distance(self, start: float) -> float:
        """The weighted mean of the distances of targets from the start and the offset."""

    @abstractmethod
    def _read(self, models: Sequence[TableModel]) -> None:
        """Compute what the other methods need of the models at the rows."""

    @abstractmethod
    def _derive(self) -> None:
        """Compute derivatives there, which the losses do not need."""

    @abstractmethod
    def _change(self, score: int) -> tuple[float, float]:
        """The sums over all rows of the change of the weights, and of the weights."""

    @abstractmethod
    def _counted(self, score: int) -> KnownWeights:
        """Sum what depends on the present weights of a score alone."""

    @abstractmethod
    def _sums(self, score: int, number: int) -> tuple[CutSums, np.ndarray | None]:
        """The sums of working residuals with the weights that are known; and these, in memory."""

    @abstractmethod
    def _losses(self) -> tuple[np.ndarray, np.ndarray]:
        """`fitted_losses` and `losses` of a `Stage`."""


def newton_work(
    loss: PointwiseLoss,
    rows: BinnedRows,
    models: Sequence[TableModel],
    pairs: PairTerms | None,
    scores: Sequence[int],
) -> list[WorkingResiduals]:
    """Compute working residuals of some of the scores, with the weights of the first model."""
    weight = np.ones(len(rows.y)) if rows.weight is None else rows.weight
    found, curvatures = [], None
    for number, model in enumerate(models):
        at = _scores(rows, model, pairs, number)
        residuals, second = loss.derivatives(rows.y, at, second=number == 0)
        found.append(residuals)
        curvatures = second if number == 0 else curvatures
    assert curvatures is not None
    return [
        WorkingResiduals(
            weight * curvatures[:, score],
            [each[:, score] / curvatures[:, score] for each in found],
        )
        for score in scores
    ]


# --- rows in memory -------------------------------------------------------------------------------


class NewtonLossOfRows(NewtonLoss):
    """The risk of rows in memory, whose scores are kept from stage to stage."""

    rows: BinnedRows

    def __init__(
        self,
        rows: BinnedRows,
        loss: PointwiseLoss,
        max_cuts: int | None = None,
        pairs: PairTerms | None = None,
    ) -> None:
        self.weight = np.ones(len(rows.y)) if rows.weight is None else rows.weight
        by_fold = sums_by_fold(rows, [np.ones(len(rows.y))])[:, 0]
        super().__init__(loss, rows.layout, by_fold, rows.n_splits, max_cuts)
        self.rows, self.pairs = rows, pairs
        self.scores: list = []  # of each model at all rows: (n, n_scores)
        self.is_rounded = False  # whether these have to be added up again
        self.scored: list = []  # the models of these scores
        self.residuals: list = []  # negative gradients of each model
        self.curvatures = np.empty((0, 0))  # of the first model
        self.known_losses: tuple[np.ndarray, np.ndarray] | None = None  # with these scores

    def given(self, pairs: PairTerms | None) -> "NewtonLossOfRows":
        return NewtonLossOfRows(self.rows, self.loss, self.max_cuts, pairs)

    def _totals(self):
        return self.loss.totals(self.rows), self.weight.mean()

    def _constants(self):
        return super()._constants() if self.rows.offset is None else self._searched_constants()

    def _searched_constants(self):
        y, offset, found = self.rows.y, self.rows.offset, []
        for fold in self.held_out:
            own = slice(None) if fold is None else self.rows.folds != fold
            beside = None if offset is None else offset[own]
            if fold is not None and _is_unbounded(self.loss, y[own]):
                found.append(found[0])
                continue
            found.append(np.atleast_1d(self.loss.search(y[own], beside, self.weight[own])))
        return found

    def _mean_distance(self, start):
        scores = start if self.rows.offset is None else start + self.rows.offset
        return float(np.average(np.abs(self.rows.y - scores), weights=self.weight))

    def _read(self, models):
        """Change the scores of all rows from those of the models of the stage before."""
        codes = self.rows.codes
        if self.is_rounded:
            self.scores, self.is_rounded = [], False
        if not self.scores:
            self.known_losses = None
            self.scores = [np.tile(m.intercepts, (len(codes), 1)) for m in models]
            for number, scores in enumerate(self.scores):
                if self.rows.offset is not None:
                    scores += self.rows.offset[:, None]
                if self.pairs is not None:
                    scores += self.pairs.scores(codes, number)
            self.scored = [None] * len(models)
        # Tables that are the same objects have not changed since the stage before.
        for number, (model, scores) in enumerate(zip(models, self.scores)):
            before = self.scored[number]
            for score in range(self.n_scores):
                if before is not None:
                    shift = model.intercepts[score] - before.intercepts[score]
                    if shift != 0:
                        scores[:, score] += shift
                        self.known_losses = None
                    self.is_rounded |= not abs(shift) <= _FAR * self.unit
                own = model.tables[score]
                known = [None] * len(own) if before is None else before.tables[score]
                changes = [_change_of(table, old) for table, old in zip(own, known)]
                if any(change is not None for change in changes):
                    add_tables_of_rows(codes, changes, scores[:, score])
                    self.known_losses = None
                # Of scores that have been far away few digits are left.
                for change in changes:
                    if change is not None:
                        self.is_rounded |= not np.abs(change).max() <= _FAR * self.unit
            self.scored[number] = model.copy()

    def _derive(self):
        y = self.rows.y
        each = [self.loss.derivatives(y, u, k == 0) for k, u in enumerate(self.scores)]
        self.residuals, self.curvatures = [residual for residual, _ in each], each[0][1]

    def _change(self, score):
        known, curvature = self.known[score], self.curvatures[:, score]
        before = 0.0 if known is None else known.curvature
        return self.weight @ np.abs(curvature - before), self.weight @ curvature

    def _counted(self, score):
        curvature = self.curvatures[:, score].copy()
        weight, rows = self.weight * curvature, self.rows
        # w'L, which the sums of all models with these weights share.
        sums = self._sums_of(np.zeros(len(curvature)), weight, None)
        gram = CountedGram(
            rows.codes, rows.layout, sums.left_weight, weight, rows.folds, self.max_cuts
        )
        rows_of, cuts_of = ([None] * len(self.held_out) for _ in range(2))
        return KnownWeights(gram, sums, rows_of, cuts_of, curvature, weight)

    def _sums(self, score, number):
        known = self.known[score]
        residual = self.residuals[number][:, score] / known.curvature
        return self._sums_of(residual, known.weight, known.sums.left_weight), residual

    def _sums_of(self, residual, weight, left_weight):
        rows = self.rows
        return cut_sums(
            rows.codes,
            rows.layout,
            residual,
            sample_weight=weight,
            left_weight=left_weight,
            folds=rows.folds,
            n_folds=rows.n_groups,
        )

    def _losses(self):
        if self.known_losses is not None:
            return self.known_losses
        rows, found = self.rows, np.empty((2, len(self.scores)))
        for number, (scores, fold) in enumerate(zip(self.scores, self.held_out)):
            loss = self.weight * self.loss.values(rows.y, scores)
            if fold is None:
                found[:, number] = loss.sum() / self.group_weight.sum()
            else:
                by_fold = np.bincount(rows.folds, loss, rows.n_groups)
                found[:, number] = _in_and_out(by_fold, self.group_weight, fold)
        self.known_losses = found[0], found[1]
        return self.known_losses


def _change_of(table: np.ndarray | None, before: np.ndarray | None) -> np.ndarray | None:
    """What is added to a table; None for nothing."""
    if table is before:
        return None
    if table is None or before is None:
        return table if before is None else -before
    change = table - before
    return change if change.any() else None


# --- rows in blocks -------------------------------------------------------------------------------


@dataclass
class _RowTotals(SummedFields):
    """Sums over rows that no model changes."""

    n_rows: int
    weight: np.ndarray  # (k,)
    of_loss: np.ndarray  # (k, m), see `PointwiseLoss.totals`
    bin_weight: np.ndarray  # (k, n_bins of all features)


@dataclass
class _GradientSums(SummedFields):
    """Sums over rows at the models of a stage, of K scores, M models and k folds.

    - y: gradients w (t - p), (K, M, k).
    - left_y: the same left of each cut, (K, M, k, P).
    - squares, new_squares: w (t - p)^2, divided by the second derivatives that are known, and by
      those of the stage, (K, M, k).
    - change, total: absolute differences of these, and those of the stage, (K,).
    """

    y: np.ndarray
    left_y: np.ndarray
    squares: np.ndarray
    new_squares: np.ndarray
    change: np.ndarray
    total: np.ndarray
    losses: np.ndarray


class NewtonLossOfBlocks(NewtonLoss):
    """The risk of `BinnedRows` in blocks: each stage is one pass over them, or more.

    `bin_weights` (k, B) of each feature are those of the rows of each fold in each bin.
    """

    def __init__(
        self,
        blocks: Blocks,
        layout: CutLayout,
        loss: PointwiseLoss,
        n_splits: int,
        passes: PassCount,
    ) -> None:
        passes.n += 1
        self.totals = blocks.sum(_row_totals, loss)
        super().__init__(loss, layout, self.totals.weight, n_splits)
        self.blocks, self.passes = blocks, passes
        ends = np.cumsum(layout.n_bins)[:-1]
        self.bin_weights = np.split(self.totals.bin_weight, ends, axis=1)
        self.models: Sequence[TableModel] = []
        self.pairs: PairTerms | None = None
        self.found: _GradientSums

    def given(self, pairs: PairTerms | None) -> "NewtonLossOfBlocks":
        other = copy.copy(self)
        other.pairs, other.known, other.n_refreshes = pairs, [None] * self.n_scores, 0
        return other

    def _totals(self):
        return self.totals.of_loss, self.group_weight.sum() / self.totals.n_rows

    def _searched_constants(self):
        assert isinstance(self.loss, PointwiseOf)  # sums tell the start of the others
        loss = self.loss.loss

        def slope(constants: np.ndarray) -> np.ndarray:
            self.passes.n += 1
            found = self.blocks.sum(_slopes, loss, constants, self.held_out)
            return np.array(found)

        return list(root_of_increasing(slope, len(self.held_out))[:, None])

    def _mean_distance(self, start):
        self.passes.n += 1
        return self.blocks.sum(_distances, start) / self.group_weight.sum()

    def _read(self, models):
        self.models = models
        self.passes.n += 1
        known = [None if each is None else each.at for each in self.known]
        self.found = self.blocks.sum(_gradient_sums, self.loss, models, known, self.pairs)

    def _derive(self):
        """One pass has summed everything."""

    def _change(self, score):
        return self.found.change[score], self.found.total[score]

    def _counted(self, score):
        # One score at a time: these sums are the largest.
        self.passes.n += 1
        counted = self.blocks.sum(_weight_sums, self.loss, self.models[0], score, self.pairs)
        # The squares of residuals with the new weights came with the gradients, for this case.
        self.found.squares[score] = self.found.new_squares[score]
        gram = StoredGram(counted.gram(), self.layout)
        at = self.loss, self.models[0].copy()
        rows_of, cuts_of = ([None] * len(self.held_out) for _ in range(2))
        return KnownWeights(gram, counted.sums, rows_of, cuts_of, at=at)

    def _sums(self, score, number):
        found = self.found
        sums = replace(
            self.known[score].sums,
            y=found.y[score, number],
            yy=found.squares[score, number],
            left_y=found.left_y[score, number],
        )
        return sums, None

    def _losses(self):
        total = self.found.losses[0].sum() / self.group_weight.sum()
        of_folds = [
            _in_and_out(by_fold, self.group_weight, fold)
            for fold, by_fold in enumerate(self.found.losses[1:])
        ]
        fitted, losses = np.array([(total, total), *of_folds]).T
        return fitted, losses


def _in_and_out(sums: np.ndarray, weight: np.ndarray, fold: int) -> tuple[float, float]:
    """Means of all rows but those of a fold, and of these, from sums by fold."""
    return np.delete(sums, fold).sum() / np.delete(weight, fold).sum(), sums[fold] / weight[fold]


def _row_totals(rows: BinnedRows, loss: PointwiseLoss) -> _RowTotals:
    weight = sums_by_fold(rows, [np.ones(len(rows.y))])[:, 0]
    if isinstance(loss, PointwiseOf):
        check_derivatives(loss.loss, rows.y)
    return _RowTotals(len(rows.y), weight, loss.totals(rows), weight_by_bin(rows, rows.weight))


def _slopes(rows: BinnedRows, loss: Loss, constants: np.ndarray, held_out: list) -> np.ndarray:
    """The derivatives of the loss of each model by its constant, over the rows that it is for."""
    found = np.empty(len(constants))
    for number, (constant, fold) in enumerate(zip(constants, held_out)):
        slope = loss.gradient(rows.y, np.full(len(rows.y), constant))
        slope = slope if rows.weight is None else rows.weight * slope
        found[number] = slope.sum() if fold is None else slope[rows.folds != fold].sum()
    return found


def _distances(rows: BinnedRows, start: float) -> float:
    distances = np.abs(rows.y - start)
    return float(distances.sum() if rows.weight is None else rows.weight @ distances)


def _curvatures(
    rows: BinnedRows, loss: PointwiseLoss, model: TableModel, pairs: PairTerms | None
) -> np.ndarray:
    """Compute the second derivatives at the scores of a model of all rows: (n, n_scores)."""
    _, curvatures = loss.derivatives(rows.y, _scores(rows, model, pairs, 0))
    assert curvatures is not None
    return curvatures


def _gradient_sums(
    rows: BinnedRows,
    loss: PointwiseLoss,
    models: Sequence[TableModel],
    known: Sequence[tuple[PointwiseLoss, TableModel] | None],
    pairs: PairTerms | None,
) -> _GradientSums:
    """Sum over one block; `known` is where each score's second derivatives were computed."""
    n_scores, n_models = len(models[0].tables), len(models)
    n_groups, n_cuts = rows.n_groups, rows.layout.n_cuts
    weight = np.ones(len(rows.y)) if rows.weight is None else rows.weight
    found = _GradientSums(
        np.empty((n_scores, n_models, n_groups)),
        np.empty((n_scores, n_models, n_groups, n_cuts)),
        np.empty((n_scores, n_models, n_groups)),
        np.empty((n_scores, n_models, n_groups)),
        np.empty(n_scores),
        np.empty(n_scores),
        np.empty((n_models, n_groups)),
    )
    folds = np.zeros(len(rows.y), np.intp) if rows.folds is None else rows.folds

    def by_fold(values):
        return np.bincount(folds, weights=values, minlength=n_groups)

    # The second derivatives of this stage, and those of the model of each score that has some:
    # scores mostly share that model, and it is evaluated once.
    curvature = _curvatures(rows, loss, models[0], pairs)
    of_model = {id(models[0]): curvature}
    before = np.empty_like(curvature)
    for score, at in enumerate(known):
        own_loss, model = (loss, models[0]) if at is None else at
        if id(model) not in of_model:
            of_model[id(model)] = _curvatures(rows, own_loss, model, pairs)
        before[:, score] = of_model[id(model)][:, score]
    of_model.clear()
    found.change[:] = weight @ np.abs(curvature - before)
    found.total[:] = weight @ curvature
    none = np.zeros((n_groups, n_cuts))
    for number, model in enumerate(models):
        scores = _scores(rows, model, pairs, number)
        found.losses[number] = by_fold(weight * loss.values(rows.y, scores))
        gradient, _ = loss.derivatives(rows.y, scores, second=False)
        for score in range(n_scores):
            own = np.ascontiguousarray(gradient[:, score])
            sums = cut_sums(
                rows.codes,
                rows.layout,
                own,
                sample_weight=rows.weight,
                folds=rows.folds,
                n_folds=n_groups,
                left_weight=none,
            )
            found.y[score, number], found.left_y[score, number] = sums.y, sums.left_y
            squares = weight * own**2
            found.squares[score, number] = by_fold(squares / before[:, score])
            found.new_squares[score, number] = by_fold(squares / curvature[:, score])
    return found


def _weight_sums(
    rows: BinnedRows,
    loss: PointwiseLoss,
    model: TableModel,
    score: int,
    pairs: PairTerms | None,
) -> StumpSums:
    """Sum with two cuts over one block, with the second derivatives at a model."""
    weight = _curvatures(rows, loss, model, pairs)[:, score]
    if rows.weight is not None:
        weight = weight * rows.weight
    else:
        weight = np.ascontiguousarray(weight)
    block = rows.codes, np.zeros(len(weight)), weight, rows.folds
    return StumpSums.of([block], rows.layout, rows.n_groups)


# --- splits that are no folds ---------------------------------------------------------------------


class RiskOfSplits:
    """The risk of splits that are no folds: of all rows, and of the rows of each split by itself.

    Each split is a risk with one fold, its test rows. The first model of each is that of all rows,
    whose second derivatives all models share, and the second one that of the split.
    """

    def __init__(
        self, whole: SquaredError | NewtonLoss, parts: Sequence[SquaredError | NewtonLoss]
    ) -> None:
        self.whole, self.parts, self.n_splits = whole, parts, len(parts)
        self.is_quadratic, self.n_scores = whole.is_quadratic, whole.n_scores
        self.layout, self.max_cuts, self.rows = whole.layout, whole.max_cuts, whole.rows
        self.unit, self.is_rough = whole.unit, whole.is_rough
        self.fitted_weights = []
        for part in parts:
            assert part.rows is not None
            self.fitted_weights.append(
                float(sums_by_fold(part.rows, [np.ones(len(part.rows.y))])[1, 0])
            )

    @property
    def n_refreshes(self) -> int | None:
        return None if isinstance(self.whole, SquaredError) else self.whole.n_refreshes

    def start(self) -> list[TableModel]:
        models = self.whole.start() + [part.start()[1] for part in self.parts]
        self.unit, self.is_rough = self.whole.unit, self.whole.is_rough  # now known
        return models

    def open(
        self, models: list[TableModel], tolerance: float = 0.0, by_rows: bool = False
    ) -> Stage:
        """The next stage of all models; see `NewtonLoss.open`."""
        first = self.whole.open(models[:1], tolerance, by_rows)
        stages = [
            part.open([models[0], model], tolerance, by_rows)
            for part, model in zip(self.parts, models[1:])
        ]

        for stage, weight in zip(stages, self.fitted_weights):
            for state in stage.states[1]:
                state.cuts.fitted_weight = weight

        def joined(name: str) -> np.ndarray:
            return np.array([getattr(first, name)[0], *(getattr(s, name)[1] for s in stages)])

        return Stage(
            [first.states[0], *(stage.states[1] for stage in stages)],
            [first.models[0], *(stage.models[1] for stage in stages)],
            joined("losses"),
            joined("per_square"),
            None if first.fitted_losses is None else joined("fitted_losses"),
        )

    def losses(self, models: list[TableModel]) -> tuple[np.ndarray, np.ndarray]:
        found = [cast(NewtonLoss, self.whole).losses(models[:1])]
        for part, model in zip(self.parts, models[1:]):
            each = cast(NewtonLoss, part).losses([models[0], model])
            found.append((each[0][1:], each[1][1:]))
        fitted, held = zip(*found)
        return np.concatenate(fitted), np.concatenate(held)
