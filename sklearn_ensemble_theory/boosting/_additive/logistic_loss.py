"""The logistic loss by Newton steps, as sums over bins: of rows in memory, and of rows in blocks.

The residuals are working residuals g/w, with the gradient g = y - p at the scores of the model and
weights w, the second derivatives p (1 - p) [Friedman, Hastie and Tibshirani 2000]; rounds of a
stage lower the quadratic that has this gradient and these weights. A stage ends when the scores
have moved by a given amount, and the next one computes gradients and weights again. The weights of
all models are those of the model of all rows: the tables of pairs of cuts are then counted once for
all folds, while every gradient is exact. Weights that have changed little since the stage before,
on average by no more than a given share, are kept, and with them all products of cuts: only
gradients are summed again.

In memory the scores of all models at all rows are kept, and change from stage to stage by the
tables that have changed. Of rows in blocks they are computed again from the tables, where the rows
are: one pass over the bins sums gradients and losses, and how far the second derivatives are from
those that the products of cuts have. Only if that is too far, a second one counts the products
again.
"""

import copy
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit

from ..._blocks import Blocks, PassCount, SummedFields
from .cuts import CutRows, NormalizedCuts, RowState, TableState
from .pairs import PairTerms, WorkingResiduals, weight_by_bin
from .phases import BinnedRows, Stage, TableModel
from .sums import CountedGram, CutLayout, CutSums, StoredGram, StumpSums, cut_sums

# Second derivatives are bounded from below by this: a row whose probability is 0 or 1 to rounding
# has a gradient of that size too.
_MIN_CURVATURE = 1e-5


# --- the loss -------------------------------------------------------------------------------------


def probabilities_of(scores: np.ndarray) -> np.ndarray:
    """Return the probability of the second class, or of all: (n, n_scores)."""
    if scores.shape[1] == 1:
        return expit(scores)
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    return odds / odds.sum(axis=1, keepdims=True)


def curvature_of(probability: np.ndarray, n_scores: int) -> np.ndarray:
    """The second derivatives of the loss by one score: (n,)."""
    curvature = probability * (1 - probability)
    if n_scores > 1:  # as in the multinomial LogitBoost, steps times (K - 1) / K
        curvature *= n_scores / (n_scores - 1)
    return np.maximum(curvature, _MIN_CURVATURE)


def is_of_class(y: np.ndarray, score: int, n_scores: int) -> np.ndarray:
    """Whether each row is of the class whose probability rises with a score."""
    return y == (1 if n_scores == 1 else score)


def logistic_losses(scores: np.ndarray, y: np.ndarray) -> np.ndarray:
    if scores.shape[1] == 1:
        return np.logaddexp(0, scores[:, 0]) - y * scores[:, 0]
    scores = scores - scores.max(axis=1, keepdims=True)
    return np.log(np.exp(scores).sum(axis=1)) - scores[np.arange(len(y)), y]


def class_weights(rows: BinnedRows, n_classes: int) -> np.ndarray:
    """Sum the weight of each class in each fold: (n_groups, n_classes)."""
    cell = rows.y if rows.folds is None else rows.y + n_classes * rows.folds.astype(np.intp)
    total = np.bincount(cell, weights=rows.weight, minlength=rows.n_groups * n_classes)
    return total.reshape(rows.n_groups, n_classes).astype(float)


def _scores(rows, model, pairs, number):
    """Add up a model, with its pairs if there are any: (n, n_scores)."""
    scores = model.scores(rows.codes)
    return scores if pairs is None else scores + pairs.scores(rows.codes, number)


# --- stages, wherever the rows are ----------------------------------------------------------------


@dataclass
class KnownWeights:
    """The weights of a stage for one score, and what depends on nothing else.

    Attributes
    ----------
    gram : CountedGram or StoredGram
        The products of cuts.
    sums : CutSums
        Of which those without the target are used.
    rows, cuts : list of CutRows or None, and of NormalizedCuts or None
        Products of columns, and these, by model.
    curvature, weight : array of shape (n,) or None
        The second derivatives, and those times the sample weights, of rows in memory.
    model : TableModel or None
        The model of the second derivatives, of rows in blocks.
    """

    gram: CountedGram | StoredGram
    sums: CutSums
    rows: list[CutRows | None]
    cuts: list[NormalizedCuts | None]
    curvature: np.ndarray | None = None
    weight: np.ndarray | None = None
    model: TableModel | None = None


class LogisticLoss(ABC):
    """The risk of two classes, one score, or of K classes, K scores.

    Parameters
    ----------
    layout : CutLayout
    class_weight : array of shape (n_groups, n_classes)
        The weight of each class in each fold.
    mean_weight : float
        Of a row.
    n_splits : int
    max_cuts : int or None
        Of how many cuts each model keeps the rows of products.

    Attributes
    ----------
    n_refreshes : int
        How many stages have been opened.
    """

    is_quadratic = False
    rows: BinnedRows | None = None

    def __init__(
        self,
        layout: CutLayout,
        class_weight: np.ndarray,
        mean_weight: float,
        n_splits: int,
        max_cuts: int | None = None,
    ) -> None:
        self.layout, self.class_weight, self.mean_weight = layout, class_weight, mean_weight
        self.n_splits, self.max_cuts = n_splits, max_cuts
        self.held_out = [None, *range(n_splits)]
        n_classes = class_weight.shape[1]
        self.n_scores = 1 if n_classes == 2 else n_classes
        self.n_refreshes = 0
        self.known: list[KnownWeights | None] = [None] * self.n_scores
        weights = np.array([class_weight.sum(), *class_weight[:n_splits].sum(axis=1)])
        if not (weights > 0).all():
            raise ValueError("Every split of cv must have weight in its test set.")
        self.per_square = 0.5 / weights

    def start(self) -> list[TableModel]:
        """Begin with the class frequencies, of the rows that each model is fitted to."""
        models = []
        for fold in self.held_out:
            groups = self.class_weight
            share = (groups if fold is None else np.delete(groups, fold, axis=0)).sum(axis=0)
            # a class that is absent from the training rows has not the probability 0
            share = np.maximum(share, 0.5 * self.mean_weight)
            log = np.log(share / share.sum())
            intercepts = log[1:] - log[0] if self.n_scores == 1 else log - log.mean()
            p = len(self.layout.n_bins)
            models.append(TableModel(intercepts, [[None] * p for _ in range(self.n_scores)]))
        return models

    def open(
        self, models: list[TableModel], tolerance: float = 0.0, by_rows: bool = False
    ) -> Stage:
        """The next stage.

        Parameters
        ----------
        models : list of TableModel
        tolerance : float, default=0
            The weights of the stage before are kept if they have changed by no more than this share
            on average.
        by_rows : bool, default=False
            Whether the states are those of rows.
        """
        self.n_refreshes += 1
        self._read(models)
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
        return Stage(states, models, self._losses(), self.per_square)

    def losses(self, models: list[TableModel]) -> np.ndarray:
        """The mean losses of models, as in the `Stage` that they would open."""
        self._read(models)
        return self._losses()

    @abstractmethod
    def given(self, pairs: PairTerms) -> "LogisticLoss":
        """The risk of main effects that are added to pairs."""

    @abstractmethod
    def _read(self, models: Sequence[TableModel]) -> None:
        """Compute what the other methods need of the models at the rows."""

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
    def _losses(self) -> np.ndarray:
        """The mean losses of the first model over all rows, and of each over its held-out rows."""


def logistic_work(
    rows: BinnedRows,
    models: Sequence[TableModel],
    pairs: PairTerms | None,
    scores: Sequence[int],
) -> list[WorkingResiduals]:
    """Compute working residuals of some of the scores, with the weights of the first model."""
    n_scores = len(models[0].tables)
    weight = np.ones(len(rows.y)) if rows.weight is None else rows.weight
    probabilities = [
        probabilities_of(_scores(rows, model, pairs, number)) for number, model in enumerate(models)
    ]
    works = []
    for score in scores:
        curvature = curvature_of(probabilities[0][:, score], n_scores)
        target = is_of_class(rows.y, score, n_scores)
        residuals = [(target - p[:, score]) / curvature for p in probabilities]
        works.append(WorkingResiduals(weight * curvature, weight, residuals))
    return works


# --- rows in memory -------------------------------------------------------------------------------


class LogisticLossOfRows(LogisticLoss):
    """The logistic loss of rows in memory, whose scores are kept from stage to stage."""

    rows: BinnedRows

    def __init__(
        self,
        rows: BinnedRows,
        n_classes: int,
        max_cuts: int | None = None,
        pairs: PairTerms | None = None,
    ) -> None:
        self.weight = np.ones(len(rows.y)) if rows.weight is None else rows.weight
        by_class = class_weights(rows, n_classes)
        super().__init__(rows.layout, by_class, self.weight.mean(), rows.n_splits, max_cuts)
        self.rows, self.pairs = rows, pairs
        self.scores: list = []  # of each model at all rows: (n, n_scores)
        self.scored: list = []  # the models of these scores
        self.probabilities: list = []

    def given(self, pairs: PairTerms) -> "LogisticLossOfRows":
        return LogisticLossOfRows(self.rows, self.class_weight.shape[1], self.max_cuts, pairs)

    def _read(self, models):
        """Change the scores of all rows from those of the models of the stage before."""
        codes = self.rows.codes
        if not self.scores:
            self.scores = [np.tile(m.intercepts, (len(codes), 1)) for m in models]
            if self.pairs is not None:
                for number, scores in enumerate(self.scores):
                    scores += self.pairs.scores(codes, number)
            self.scored = [None] * len(models)
        # Tables that are the same objects have not changed since the stage before.
        for number, (model, scores) in enumerate(zip(models, self.scores)):
            before = self.scored[number]
            for score in range(self.n_scores):
                if before is not None:
                    scores[:, score] += model.intercepts[score] - before.intercepts[score]
                for j, table in enumerate(model.tables[score]):
                    known = None if before is None else before.tables[score][j]
                    if table is None or table is known:
                        change = None if known is None or table is known else -known
                    else:
                        change = table if known is None else table - known
                    if change is not None:
                        scores[:, score] += change.take(codes[:, j])
            self.scored[number] = TableModel(
                model.intercepts.copy(), [list(own) for own in model.tables]
            )
        self.probabilities = [probabilities_of(scores) for scores in self.scores]

    def _change(self, score):
        curvature = curvature_of(self.probabilities[0][:, score], self.n_scores)
        change = self.weight @ np.abs(curvature - self.known[score].curvature)
        return change, self.weight @ curvature

    def _counted(self, score):
        curvature = curvature_of(self.probabilities[0][:, score], self.n_scores)
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
        target = is_of_class(self.rows.y, score, self.n_scores)
        residual = (target - self.probabilities[number][:, score]) / known.curvature
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
        losses, rows = [], self.rows
        for scores, fold in zip(self.scores, self.held_out):
            kept = slice(None) if fold is None else np.flatnonzero(rows.folds == fold)
            loss = logistic_losses(scores[kept], rows.y[kept])
            losses.append(np.average(loss, weights=self.weight[kept]))
        return np.array(losses)


# --- rows in blocks -------------------------------------------------------------------------------


@dataclass
class _RowTotals(SummedFields):
    """Sums over rows that no model changes."""

    n_rows: int
    class_weight: np.ndarray  # (k, n_classes)
    bin_weight: np.ndarray  # (k, n_bins of all features)


@dataclass
class _GradientSums(SummedFields):
    """Sums over rows at the models of a stage, of K scores, M models and k folds.

    Attributes
    ----------
    y : array of shape (K, M, k)
        Gradients w (t - p).
    left_y : array of shape (K, M, k, P)
        The same left of each cut.
    squares, new_squares : array of shape (K, M, k)
        w (t - p)^2, divided by the second derivatives that are known, and by those of the stage.
    change, total : array of shape (K,)
        Absolute differences of these, and those of the stage.
    losses : array of shape (M, k)
    """

    y: np.ndarray
    left_y: np.ndarray
    squares: np.ndarray
    new_squares: np.ndarray
    change: np.ndarray
    total: np.ndarray
    losses: np.ndarray


class LogisticLossOfBlocks(LogisticLoss):
    """The logistic loss of `BinnedRows` in blocks: each stage is one pass over them, or more.

    Attributes
    ----------
    bin_weights : list of p arrays of shape (k, B)
        The weight of the rows of each fold in each bin.
    """

    def __init__(
        self, blocks: Blocks, layout: CutLayout, n_classes: int, n_splits: int, passes: PassCount
    ) -> None:
        passes.n += 1
        totals = blocks.sum(_row_totals, n_classes)
        by_class = totals.class_weight
        super().__init__(layout, by_class, by_class.sum() / totals.n_rows, n_splits)
        self.blocks, self.passes = blocks, passes
        self.bin_weights = np.split(totals.bin_weight, np.cumsum(layout.n_bins)[:-1], axis=1)
        self.models: Sequence[TableModel] = []
        self.pairs: PairTerms | None = None
        self.found: _GradientSums

    def given(self, pairs: PairTerms) -> "LogisticLossOfBlocks":
        other = copy.copy(self)
        other.pairs, other.known, other.n_refreshes = pairs, [None] * self.n_scores, 0
        return other

    def _read(self, models):
        self.models = models
        self.passes.n += 1
        known = [None if each is None else each.model for each in self.known]
        self.found = self.blocks.sum(_gradient_sums, models, known, self.pairs)

    def _change(self, score):
        return self.found.change[score], self.found.total[score]

    def _counted(self, score):
        # One score at a time: these sums are the largest.
        self.passes.n += 1
        counted = self.blocks.sum(_weight_sums, self.models[0], score, self.pairs)
        # The squares of residuals with the new weights came with the gradients, for this case.
        self.found.squares[score] = self.found.new_squares[score]
        gram = StoredGram(counted.gram(), self.layout)
        rows_of, cuts_of = ([None] * len(self.held_out) for _ in range(2))
        model = self.models[0].copy()
        return KnownWeights(gram, counted.sums, rows_of, cuts_of, model=model)

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
        total, of_fold = self.found.losses.sum(axis=1), self.class_weight.sum(axis=1)
        held = [self.found.losses[1 + fold, fold] / of_fold[fold] for fold in range(self.n_splits)]
        return np.array([total[0] / of_fold.sum(), *held])


def _row_totals(rows: BinnedRows, n_classes: int) -> _RowTotals:
    groups = class_weights(rows, n_classes)
    return _RowTotals(len(rows.y), groups, weight_by_bin(rows, rows.weight))


def _curvatures(rows, model, pairs):
    """Compute the second derivatives at the scores of a model of all rows: (n, n_scores)."""
    probabilities = probabilities_of(_scores(rows, model, pairs, 0))
    n_scores = probabilities.shape[1]
    return np.column_stack([curvature_of(p, n_scores) for p in probabilities.T])


def _gradient_sums(
    rows: BinnedRows,
    models: Sequence[TableModel],
    known: Sequence[TableModel | None],
    pairs: PairTerms | None,
) -> _GradientSums:
    """Sum over one block; `known` has the model of each score's second derivatives."""
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
    curvature = _curvatures(rows, models[0], pairs)
    of_model = {id(models[0]): curvature}
    before = np.empty_like(curvature)
    for score, model in enumerate(known):
        if model is None:
            model = models[0]
        elif id(model) not in of_model:
            of_model[id(model)] = _curvatures(rows, model, pairs)
        before[:, score] = of_model[id(model)][:, score]
    of_model.clear()
    found.change[:] = weight @ np.abs(curvature - before)
    found.total[:] = weight @ curvature
    none = np.zeros((n_groups, n_cuts))
    for number, model in enumerate(models):
        scores = _scores(rows, model, pairs, number)
        found.losses[number] = by_fold(weight * logistic_losses(scores, rows.y))
        gradient = -probabilities_of(scores)
        for score in range(n_scores):
            own = gradient[:, score] + is_of_class(rows.y, score, n_scores)
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
    rows: BinnedRows, model: TableModel, score: int, pairs: PairTerms | None
) -> StumpSums:
    """Sum with two cuts over one block, with the second derivatives at a model."""
    weight = _curvatures(rows, model, pairs)[:, score]
    if rows.weight is not None:
        weight = weight * rows.weight
    else:
        weight = np.ascontiguousarray(weight)
    block = rows.codes, np.zeros(len(weight)), weight, rows.folds
    return StumpSums.of([block], rows.layout, rows.n_groups)
