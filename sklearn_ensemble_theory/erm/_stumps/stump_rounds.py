"""Stumps as weak learners: columns sorted or binned once, one search in each round.

An `Objective` states for one kind of task which masses of the rows a search needs, what the two
sides return, and which outputs and member follow; a new one is one class and one line in
`OBJECTIVES`. It is used in three ways:

- `StumpRounds` holds all columns for the rounds of boosting.
- `best_stump` is a single search that holds a few sorted columns at a time.
- `SummedStumps` chooses stumps by the weights of the classes in the bins of all columns, without
  the rows. The rows of one class on one side of a threshold are alike: they get the same answer. So
  each group (side, class) takes the place of a row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from sklearn_ensemble_theory._arrays import inner, two_valued
from sklearn_ensemble_theory._learners import (
    ClassTask,
    HammingTask,
    JointTask,
    PreparedRounds,
    Task,
    half_log_odds,
)
from sklearn_ensemble_theory._scaling import CONSTANT_TO_ROUNDING

from .hamming import HAMMING_CRITERIA, HammingIndex, HammingRounds, Masses, stump_of_split
from .joint import JointSearch, RowFalls, cells_of
from .split_search import (
    PLAIN_ROWS,
    TIE_TOLERANCE,
    ClassSquares,
    ColumnIndex,
    Criterion,
    LeastSquares,
    PartitionFunction,
    SideIndex,
    SignedZeroOne,
    Split,
    ZeroOne,
    edge_places,
    side_index,
)

Array = NDArray[np.float64]
Index = ColumnIndex | SideIndex
# What a side returns: the code of a class, a number, or a number for each class.
Side = int | float | np.ndarray
# Columns that a single search sorts at a time, and rows that tell which columns come first.
SEARCH_COLUMNS, SAMPLE_ROWS = 4, 1024
# Bins of the columns in sums for stumps that know every value in memory.
DEFAULT_BINS = 255


class StumpClasses(NamedTuple):
    """What makes members of splits: stumps of the public classes, whose file imports this one."""

    of_labels: Callable[..., Any]
    of_values: Callable[..., Any]


# --- many rounds ----------------------------------------------------------------------------------


class StumpRounds:
    """Stumps over columns sorted or binned once (see `_learners.PreparedRounds`)."""

    is_exact = True

    def __init__(
        self, X: np.ndarray, weight: np.ndarray | None, max_bins: int | None, objective: Objective
    ) -> None:
        self.objective = objective
        self.has_scale, self.outputs_bound = objective.has_scale, objective.outputs_bound
        index = objective.index_by_sides(X, weight, max_bins)
        self.index = objective.index(X, weight, max_bins) if index is None else index
        # Whether there is `vote_rounds`.
        self.boosts = index is not None and isinstance(objective, TwoClassErrorObjective)

    def best(
        self, target: np.ndarray | None, weight: np.ndarray, scores: np.ndarray | None = None
    ) -> tuple[BaseEstimator, np.ndarray]:
        """The best stump and its outputs."""
        split, left, right = self.objective.search(self.index, target, weight, scores)
        return self.objective.member(self.index, weight, split, left, right)

    def vote_rounds(self, n_rounds: int, *given: Any) -> Iterator[tuple[Any, list[float]]]:
        """The stumps of rounds of discrete AdaBoost, and weight'votes, error, 2 b, b and risk.

        `given` are arguments of `SideSearch.boost`, which says when there are less than `n_rounds`.
        """
        index, objective = cast(SideIndex, self.index), cast(TwoClassErrorObjective, self.objective)
        for split, n_left, figures in index.boost(n_rounds, *given):
            rows = n_left, index.n - n_left
            yield objective.stump(index.p, split, *objective.sides(split), rows), figures


def prepare_stumps(
    X: np.ndarray, weight: np.ndarray | None, task: Task, max_bins: int | None, stumps: StumpClasses
) -> PreparedRounds | None:
    """Stumps for a task; None where there is neither an objective nor a criterion for it."""
    if task.kind in HAMMING_CRITERIA:
        return HammingRounds(X, weight, cast(HammingTask, task), max_bins, stumps.of_values)
    if task.kind not in OBJECTIVES:
        return None
    return StumpRounds(X, weight, max_bins, OBJECTIVES[task.kind](task, stumps))


# --- one search -----------------------------------------------------------------------------------


def best_stump(
    X: np.ndarray,
    target: np.ndarray | None,
    weight: np.ndarray,
    task: Task,
    max_bins: int | None,
    stumps: StumpClasses,
) -> tuple[Split, Side, Side]:
    """The best split and what its two sides return, classes as codes.

    A few columns at a time are sorted, so that the memory does not grow with their number; the
    positions of the split are those among these columns. Targets are at most about 1 in size about
    their mean, None for classes, and the weights positive, of sum 1.
    """
    objective = OBJECTIVES[task.kind](task, stumps)
    n, p = X.shape
    if n <= PLAIN_ROWS or max_bins is not None:  # binned columns take little memory
        return objective.search(objective.index(X, weight, max_bins), target, weight, None)
    # The most promising columns first: the others are then hardly searched, only sorted.
    columns = np.argsort(-_gains_of_few_rows(X, target, weight, task, stumps), kind="stable")
    found, least = [], -np.inf
    for first in range(0, p, SEARCH_COLUMNS):
        chosen = np.sort(columns[first : first + SEARCH_COLUMNS])
        index = objective.index(np.asfortranarray(X[:, chosen]), weight, None)
        index.least_gain = least
        split, left, right = objective.search(index, target, weight, None)
        found.append((split.of_feature(int(chosen[split.feature])), left, right))
        least = max(least, split.gain)
        del index  # before the next one takes its memory
    # The first feature among those as good as the best up to rounding; the constant is the first.
    near = [one for one in found if one[0].gain >= least - TIE_TOLERANCE]
    constant = [one for one in near if not np.isfinite(one[0].threshold)]
    if constant:
        split, left, right = constant[0]
        return split.of_feature(0), left, right
    return min(near, key=lambda one: one[0].feature)


def _gains_of_few_rows(
    X: np.ndarray, target: np.ndarray | None, weight: np.ndarray, task: Task, stumps: StumpClasses
) -> np.ndarray:
    """The gains of the best stumps of the columns for every so many-th row."""
    rows = slice(None, None, len(X) // SAMPLE_ROWS)
    X, weight = np.asfortranarray(X[rows]), weight[rows] / weight[rows].sum()
    target = None if target is None else target[rows]
    if isinstance(task, ClassTask):
        task = replace(task, codes=task.codes[rows])
    objective = OBJECTIVES[task.kind](task, stumps)
    gains = []
    for j in range(X.shape[1]):
        index = objective.index(X[:, j : j + 1], None, None)
        gains.append(objective.search(index, target, weight, None)[0].gain)
    return np.array(gains)


# --- objectives -----------------------------------------------------------------------------------


class Objective:
    """What a search for a stump optimises; base of the objectives.

    `codes` is the class of each row where classes stay the same in all rounds (see `ColumnIndex`),
    `has_scale` and `outputs_bound` are as of `_learners.PreparedRounds`.
    """

    codes: np.ndarray | None = None
    n_classes = 0
    has_scale = True
    outputs_bound: float | None = None

    def index(self, X: np.ndarray, weight: np.ndarray | None, max_bins: int | None) -> ColumnIndex:
        """The columns, sorted or binned."""
        return ColumnIndex(X, max_bins, weight, self.codes, self.n_classes)

    def index_by_sides(
        self, X: np.ndarray, weight: np.ndarray | None, max_bins: int | None
    ) -> SideIndex | None:
        """The columns by sides; None where those of `index` serve."""
        return None

    def search(
        self,
        index: Index,
        target: np.ndarray | None,
        weight: np.ndarray,
        scores: np.ndarray | None,
    ) -> tuple[Split, Side, Side]:
        """The best split and what its two sides return."""
        raise NotImplementedError

    def member(
        self, index: Index, weight: np.ndarray, split: Split, left: Side, right: Side
    ) -> tuple[BaseEstimator, np.ndarray]:
        """The fitted stump and its outputs on the rows."""
        raise NotImplementedError


class RealObjective(Objective):
    """Objectives whose sides return numbers, with targets that change in each round."""

    def __init__(self, task: Task, stumps: StumpClasses) -> None:
        self.of_values = stumps.of_values

    def member(self, index, weight, split, left, right):
        stump = self.of_values(index.p, split, left, right)
        return stump, two_valued(index.is_left(split), stump.left_value_, stump.right_value_)


class SignObjective(RealObjective):
    """Outputs -1 and +1 with the largest inner product: the dictionary of [Bach, §10.3.4]."""

    outputs_bound = 1.0

    def search(self, index, target, weight, scores):
        moment = weight * target
        size = np.abs(moment).sum()
        if size > 0:
            moment = moment / size
        if index.by_sides:
            index.set_sides(moment > 0)
            split = index.best(np.abs(moment))
        else:
            masses = None
            if index.exact and index.binned:
                masses = index.column_masses([np.maximum(-moment, 0.0), np.maximum(moment, 0.0)])
            split = index.best(SignedZeroOne, moment[None], masses, size=1.0, rough=True)
        left, right = (1.0 if _moment(side) > 0 else -1.0 for side in (split.left, split.right))
        return split, left, right

    def index_by_sides(self, X, weight, max_bins):
        return side_index(X, weight, max_bins, np.zeros(len(X), dtype=bool))


def _moment(masses: np.ndarray) -> float:
    """S of one side, from the masses of `SignedZeroOne` or from those of both sides."""
    return float(masses[0] if len(masses) == 1 else masses[1] - masses[0])


class MeanObjective(RealObjective):
    """The least residual sum of squares: each side returns its mean [Shah, eq. (4.6)]."""

    has_scale = False

    def search(self, index, target, weight, scores):
        # About the mean and in units of the largest deviation: no square overflows or vanishes.
        mean = float(np.dot(weight, target - target[0]) / weight.sum() + target[0])
        centred = target - mean
        scale = np.max(np.abs(centred), initial=0.0)
        if scale <= CONSTANT_TO_ROUNDING * abs(mean):
            scale = 0.0
        moment = np.divide(centred, scale, out=centred) if scale > 0 else np.zeros_like(centred)
        moment *= weight
        columns = np.empty((3, len(moment)))
        np.maximum(moment, 0.0, out=columns[0])
        np.maximum(np.negative(moment, out=moment), 0.0, out=columns[1])
        columns[2] = weight
        del moment, centred  # before the search takes its memory
        split = index.best(LeastSquares, columns, size=columns.sum())
        means = [
            mean + scale * float(side[0] - side[1]) / float(side[2]) if side[2] > 0 else mean
            for side in (split.left, split.right)
        ]
        return split, *means


class JointObjective(RealObjective):
    """The least risk over the split and its two values together, for any convex loss."""

    has_scale = False

    def __init__(self, task: JointTask, stumps: StumpClasses) -> None:
        super().__init__(task, stumps)
        self.risk = task.risk
        self.least_squares = MeanObjective(task, stumps)

    def index(self, X, weight, max_bins):
        return ColumnIndex(X, max_bins, weight, search_bins=cells_of(len(X)))

    def search(self, index, target, weight, scores):
        loss, y = self.risk.loss, self.risk.y
        if loss.is_quadratic:
            return self.least_squares.search(index, y - scores, weight, scores)
        split = JointSearch(index, RowFalls(loss, y, scores, weight)).best()
        left = index.is_left(split)
        side, n_sides = (None, 1) if left.all() else ((~left).astype(np.intp), 2)
        values = loss.line_search(y, scores, np.ones(len(left)), weight, side, n_sides)
        return split, float(values[0]), float(values[-1])


class ClassObjective(Objective):
    """Objectives for classes that stay the same; outputs are margins."""

    codes: np.ndarray

    def __init__(self, task: ClassTask, stumps: StumpClasses) -> None:
        self.codes, self.n_classes = task.codes, task.n_classes
        self._class_rows: np.ndarray | None = None

    def by_class(self, weight: np.ndarray) -> np.ndarray:
        """The rows' weights by class: (K, n)."""
        if self._class_rows is None:
            self._class_rows = self.codes == np.arange(self.n_classes)[:, None]
        return np.where(self._class_rows, weight, 0.0)


class ErrorObjective(ClassObjective):
    """The least weighted 0-1 error, for any number of classes. Sides return classes."""

    outputs_bound = 1.0

    def __init__(self, task: ClassTask, stumps: StumpClasses) -> None:
        super().__init__(task, stumps)
        self.classes, self.of_labels = task.classes, stumps.of_labels
        self.right, self.wrong = task.vote_values

    def search(self, index, target, weight, scores):
        masses = index.class_masses(weight) if index.binned else None
        split = index.best(ZeroOne, self.by_class(weight), masses, size=1.0)
        left, right = int(split.left.argmax()), int(split.right.argmax())
        return split, left, left if split.threshold == np.inf else right

    def member(self, index, weight, split, left, right):
        on_left = index.is_left(split)
        correct = np.where(on_left, self.codes == left, self.codes == right)
        shares, left_weight = self.shares_of_masses(split)
        known = shares, left_weight, inner(weight, ~correct), rows_of_sides(on_left)
        stump = self.of_labels(self.classes, index.p, split, (left, right), *known)
        return stump, two_valued(correct, self.right, self.wrong)

    def shares_of_masses(self, split: Split) -> tuple[list[np.ndarray], float]:
        """The classes' shares of the weight on each side, and the share of the left in the weight.

        From the masses of the classes.
        """
        left, right = split.left, np.maximum(split.right, 0.0)
        sums = left.sum(), right.sum()
        shares = [s / m if m > 0 else left + right for s, m in zip((left, right), sums)]
        return shares, float(sums[0] / (sums[0] + sums[1]))


class TwoClassErrorObjective(ErrorObjective):
    """That for two classes, from one signed mass for each row."""

    def __init__(self, task: ClassTask, stumps: StumpClasses) -> None:
        super().__init__(task, stumps)
        self.signs, self.second = task.signs, task.codes == 1

    def index_by_sides(self, X, weight, max_bins):
        return side_index(X, weight, max_bins, self.second)

    def search(self, index, target, weight, scores):
        if index.by_sides:
            split = index.best(weight)
        else:
            masses = index.class_masses(weight) if index.exact and index.binned else None
            columns = (self.signs * weight)[None]
            split = index.best(SignedZeroOne, columns, masses, size=1.0, rough=True)
        return split, *self.sides(split)

    def sides(self, split: Split) -> tuple[int, int]:
        """The classes that have more weight on the two sides."""
        left, right = int(_moment(split.left) > 0), int(_moment(split.right) > 0)
        return left, left if split.threshold == np.inf else right

    def member(self, index, weight, split, left, right):
        on_left = index.is_left(split)
        if left == right:
            correct = np.where(on_left, self.codes == left, self.codes == right)
        else:
            correct = np.equal(on_left, self.second if left else ~self.second)
        rows = rows_of_sides(on_left)
        if index.by_sides:  # the masses of both classes are known: no pass over the rows for them
            stump = self.stump(index.p, split, left, right, rows)
            return stump, correct.astype(np.int8) * np.int8(2) - np.int8(1)
        # Of a side's weight W and signed mass S the second class has (W + S) / 2.
        weights = [inner(weight, on_left)]
        weights.append(1.0 - weights[0])
        if weights[1] < 1e-6:  # the difference is mostly rounding, or this side has no rows
            weights[1] = inner(weight, ~on_left)
        moments = split.left[0], split.right[0]
        shares = []
        for mass, signed in zip(weights, moments):
            second = 0.5 * (mass + signed) / mass if mass > 0 else 0.5 * (1 + sum(moments))
            second = min(max(float(second), 0.0), 1.0)
            shares.append(np.array([1.0 - second, second]))
        given = self.classes, index.p, split, (left, right), shares, min(weights[0], 1.0)
        stump = self.of_labels(*given, inner(weight, ~correct), rows)
        return stump, two_valued(correct, self.right, self.wrong)

    def stump(
        self, p: int, split: Split, left: int, right: int, rows: tuple[int, int]
    ) -> BaseEstimator:
        """The fitted stump of a search by sides, with the numbers of rows on its two sides."""
        shares, left_weight = self.shares_of_masses(split)
        error = float(split.left[1 - left] + split.right[1 - right])
        given = self.classes, p, split, (left, right), shares, left_weight, error, rows
        return self.of_labels(*given)


def rows_of_sides(on_left: np.ndarray) -> tuple[int, int]:
    n_left = int(np.count_nonzero(on_left))
    return n_left, len(on_left) - n_left


def _error_objective(task: ClassTask, stumps: StumpClasses) -> Objective:
    kind = TwoClassErrorObjective if task.n_classes == 2 else ErrorObjective
    return kind(task, stumps)


# The criterion, and what a side returns by the share of the second class in its weight.
CONFIDENCES: dict[str, tuple[type[Criterion], Callable[[float], float]]] = {
    # Z = 2 sum sqrt(W+ W-) and half the log-odds (real AdaBoost).
    "log_odds": (PartitionFunction, lambda share: float(half_log_odds(share))),
    # The least squares to -1 and +1 and their mean (gentle AdaBoost).
    "least_squares": (ClassSquares, lambda share: 2 * share - 1),
}


class ConfidenceObjective(ClassObjective):
    """Objectives for two classes whose sides return numbers; see `CONFIDENCES`."""

    def __init__(self, task: ClassTask, stumps: StumpClasses) -> None:
        super().__init__(task, stumps)
        self.kind, self.signs, self.of_values = task.criterion, task.signs, stumps.of_values
        if self.n_classes < 2:  # a single class counts as the second of two
            self.codes, self.n_classes = np.ones_like(self.codes), 2

    def search(self, index, target, weight, scores):
        masses = index.class_masses(weight) if index.binned else None
        criterion, value = CONFIDENCES[self.kind]
        split = index.best(criterion, self.by_class(weight), masses)
        values = []
        for minus, plus in (split.left, np.maximum(split.right, 0.0)):
            mass = minus + plus
            values.append(value(plus / mass if mass > 0 else 0.5))
        return split, *values

    def member(self, index, weight, split, left, right):
        stump = self.of_values(index.p, split, left, right)
        outputs = two_valued(index.is_left(split), stump.left_value_, stump.right_value_)
        return stump, self.signs * outputs


OBJECTIVES: dict[str, Callable[[Any, StumpClasses], Objective]] = {
    "joint": JointObjective,
    "least_squares": MeanObjective,
    "reweighted_least_squares": MeanObjective,
    "signs": SignObjective,
    "class_error": _error_objective,
    "class_log_odds": ConfidenceObjective,
    "class_least_squares": ConfidenceObjective,
}


# --- sums by bin, without the rows ----------------------------------------------------------------
# A *slot* is a kind of weight that is summed by itself: that of the rows of a class or, with a
# weight for each row and class, those of the class's own rows and those of all others.


class SummedStump(NamedTuple):
    """A stump, and what it does with the rows of each slot on both sides.

    - feature, code: rows with at most this code are on the left.
    - margins: the outputs on the left and on the right, (n_slots, 2).
    - masses, n_rows: the shares of the weight, and the numbers of rows, there.
    """

    member: BaseEstimator
    feature: int
    code: int
    margins: Array
    masses: Array
    n_rows: NDArray[np.int64]


class SummedStumps:
    """Base of the stumps from sums; the task has one row of each class.

    Columns should have at most `max_bins` bins. `slots` (K, m) are where the weights of a row of
    each class belong.
    """

    slots: NDArray[np.int64]
    n_slots: int

    def __init__(
        self, task: ClassTask | HammingTask, stumps: StumpClasses, max_bins: int | None
    ) -> None:
        self.task, self.stumps = task, stumps
        self.is_fine = max_bins is None  # for what counts as equally good
        self.max_bins = DEFAULT_BINS if max_bins is None else max_bins

    def set_columns(self, edges: list[Array], counts: NDArray[np.int64]) -> None:
        """Tell the edges of the bins, and the numbers of rows of each class in them: (K, p, B)."""
        self.edges, self.counts = edges, counts

    def start_scores(self) -> Array:
        """Minus the logarithms of a row's first weights, by slot; for a row of weight 1."""
        weight = self.task.initial_weights(np.ones(self.task.n_classes))
        scores = np.zeros(self.n_slots)
        scores[self.slots] = -np.log(weight.reshape(self.slots.shape))
        return scores

    def best(self, sums: NDArray[np.int64]) -> SummedStump:
        """The best stump by the weights of the slots in all bins: (n_slots, p, B)."""
        total = int(sums[:, 0].sum())
        split, *answers = self._search(sums / total)
        masses = _of_sides(sums, split) / total
        n_rows = _of_sides(self.counts, split)
        member, margins = self._member(split, answers, masses, n_rows.sum(axis=0))
        code = split.code if np.isfinite(split.threshold) else self.counts.shape[2]
        return SummedStump(member, split.feature, code, margins, masses, self._in_slots(n_rows))

    def _search(self, masses: Array) -> tuple[Split, *tuple[Side, ...]]:
        """The split, and more for `_member`."""
        raise NotImplementedError

    def _member(
        self, split: Split, answers: list[Side], masses: Array, n_rows: NDArray[np.int64]
    ) -> tuple[BaseEstimator, Array]:
        """The stump and its margins, from the masses of the slots and the rows on both sides."""
        raise NotImplementedError

    def _in_slots(self, n_rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """The rows of the slots, from those of the classes: the first axis."""
        raise NotImplementedError


class ClassStumps(SummedStumps):
    """One weight for each row: a slot is a class."""

    def __init__(self, task: ClassTask, stumps: StumpClasses, max_bins: int | None) -> None:
        super().__init__(task, stumps, max_bins)
        groups = ClassTask(np.tile(np.arange(task.n_classes), 2), task.classes, task.criterion)
        self.objective = cast(ClassObjective, OBJECTIVES[task.kind](groups, stumps))
        # A single class may count as the second of two.
        self.slots = self.objective.codes[: task.n_classes, None].astype(np.int64)
        self.n_slots = self.objective.n_classes

    def _search(self, masses):
        n = len(self.objective.codes)
        self.index = _GroupIndex(masses, self.edges, n, self.is_fine)
        return self.objective.search(self.index, None, np.zeros(n), None)

    def _member(self, split, answers, masses, n_rows):
        own = self.slots[:, 0]
        weight = masses[own].T.ravel()
        member, outputs = self.objective.member(self.index, weight, split, *answers)
        if hasattr(member, "sides_"):
            member.sides_[:, 0] = n_rows
        margins = np.zeros((self.n_slots, 2))
        margins[own] = outputs.reshape(2, -1).T
        return member, margins

    def _in_slots(self, n_rows):
        found = np.zeros((self.n_slots, 2), dtype=np.int64)
        found[self.slots[:, 0]] = n_rows
        return found


class HammingStumps(SummedStumps):
    """A weight for each row and class: a slot is a class and whether the row is of this class."""

    def __init__(self, task: HammingTask, stumps: StumpClasses, max_bins: int | None) -> None:
        super().__init__(task, stumps, max_bins)
        K = len(task.classes)
        self.criterion = HAMMING_CRITERIA[task.kind]
        self.slots = np.arange(K) + K * (1 - np.eye(K, dtype=np.int64))
        self.n_slots = 2 * K

    def _search(self, masses):
        index = _HammingGroups(masses, self.edges)
        return (index.best_split(self.criterion, masses),)

    def _member(self, split, answers, masses, n_rows):
        member = stump_of_split(self.criterion, split, self.stumps.of_values, len(self.edges))
        values = np.stack([member.left_value_, member.right_value_], axis=1)
        return member, np.concatenate([values, -values])

    def _in_slots(self, n_rows):
        return np.concatenate([n_rows, n_rows.sum(axis=0) - n_rows])


def stumps_of_sums(task: Task, max_bins: int | None, stumps: StumpClasses) -> SummedStumps | None:
    """Stumps from sums for a task; None where there are none."""
    if task.kind in HAMMING_CRITERIA:
        return HammingStumps(cast(HammingTask, task), stumps, max_bins)
    if not task.kind.startswith("class_"):
        return None
    return ClassStumps(cast(ClassTask, task), stumps, max_bins)


def _of_sides(tables: NDArray[np.int64], split: Split) -> NDArray[np.int64]:
    """The sums of tables (m, p, B) on both sides of a split: (m, 2)."""
    column = tables[:, split.feature]
    end = split.code + 1 if np.isfinite(split.threshold) else column.shape[1]
    return np.stack([column[:, :end].sum(axis=1), column[:, end:].sum(axis=1)], axis=1)


class _GroupIndex(ColumnIndex):
    """Columns of which the masses of the classes in the bins are known."""

    def __init__(self, masses: Array, edges: list, n_groups: int, is_fine: bool) -> None:
        self.known, self.edges, self.n, self.is_fine = masses, edges, n_groups, is_fine
        _, self.p, self.n_bins = masses.shape
        self.is_edge = edge_places(edges, self.n_bins)
        self.exact, self.binned = False, True

    def class_masses(self, weight):
        return self.known

    def best(self, criterion, columns, masses=None, size=None, rough=False):
        return super().best(criterion, columns, self.known, 1.0, rough and not self.is_fine)

    def is_left(self, split):
        """Of groups: those on the left come first."""
        return np.arange(self.n) < (self.n if split.threshold == np.inf else self.n // 2)


class _HammingGroups(HammingIndex):
    """Columns of which the weights of the slots in the bins are known."""

    def __init__(self, masses: Array, edges: list) -> None:
        n_slots, self.p, self.n_bins = masses.shape
        self.n_classes, self.n, self.edges = n_slots // 2, n_slots, edges
        self.is_edge = edge_places(edges, self.n_bins)
        self.exact, self.has_cuts_inside = False, False

    def masses(self, weight):
        K = self.n_classes
        return Masses(
            *(np.ascontiguousarray(m.transpose(1, 2, 0)) for m in (weight[:K], weight[K:]))
        )
