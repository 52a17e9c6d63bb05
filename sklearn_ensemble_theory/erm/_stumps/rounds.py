"""Stumps as weak learners: columns sorted or binned once, one search in each round.

`StumpRounds` holds the columns and an `Objective`, which states for one kind of task which masses
of the rows a search needs, what the two sides return, and which outputs and member follow. A new
objective is one class and one line in `OBJECTIVES`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from sklearn_ensemble_theory._hot_loops.array_loops import inner, two_valued
from sklearn_ensemble_theory._learners import (
    ClassTask,
    JointTask,
    PreparedRounds,
    Task,
    half_log_odds,
)
from sklearn_ensemble_theory._scaling import CONSTANT_TO_ROUNDING
from sklearn_ensemble_theory.erm._stumps.hamming import HAMMING_CRITERIA, HammingRounds
from sklearn_ensemble_theory.erm._stumps.joint import JointSearch, cells_of
from sklearn_ensemble_theory.erm._stumps.joint_bounds import RowFalls
from sklearn_ensemble_theory.erm._stumps.side_search import side_index
from sklearn_ensemble_theory.erm._stumps.split_criteria import (
    ClassSquares,
    LeastSquares,
    PartitionFunction,
    SignedZeroOne,
    ZeroOne,
)
from sklearn_ensemble_theory.erm._stumps.split_search import ColumnIndex, Split
from sklearn_ensemble_theory.erm._stumps.stump_trees import sides_of


class StumpClasses(NamedTuple):
    """The public classes of which members are made."""

    classifier: Any
    regressor: Any


class StumpRounds:
    """Stumps over columns sorted or binned once (see `_weak_learners.PreparedRounds`).

    Parameters
    ----------
    X : float array of shape (n, p)
    weight : array of shape (n,) or None
        For the quantiles of the bins.
    max_bins : int or None
    objective : Objective
    """

    is_exact = True

    def __init__(
        self,
        X: np.ndarray,
        weight: np.ndarray | None,
        max_bins: int | None,
        objective: "Objective",
    ) -> None:
        self.objective = objective
        self.has_scale, self.outputs_bound = objective.has_scale, objective.outputs_bound
        index = objective.compiled_index(X, weight, max_bins)
        self.index = objective.index(X, weight, max_bins) if index is None else index

    def best(
        self, target: np.ndarray | None, weight: np.ndarray, scores: np.ndarray | None = None
    ) -> tuple[Any, np.ndarray]:
        """The best stump and its outputs."""
        split, left, right = self.objective.search(self.index, target, weight, scores)
        return self.objective.member(self.index, weight, split, left, right)


def prepare_stumps(
    X: np.ndarray, weight: np.ndarray | None, task: Any, max_bins: int | None, stumps: StumpClasses
) -> PreparedRounds | None:
    """Stumps for a task; None where there is neither an objective nor a criterion for it."""
    if task.kind in HAMMING_CRITERIA:
        return HammingRounds(X, weight, task, max_bins, stumps.regressor)
    if task.kind not in OBJECTIVES:
        return None
    return StumpRounds(X, weight, max_bins, OBJECTIVES[task.kind](task, stumps))


class Objective:
    """What a search for a stump optimises; base of the objectives.

    Attributes
    ----------
    codes : int array of shape (n,) or None
        The class of each row where classes stay the same in all rounds (see `ColumnIndex`).
    n_classes : int or None
    has_scale : bool
    outputs_bound : float or None
        See `_weak_learners.PreparedRounds`.
    """

    codes: np.ndarray | None = None
    n_classes: int | None = None
    has_scale = True
    outputs_bound: float | None = None

    def search_bins(self, n: int) -> int | None:
        """Coarse bins of the exact search over n rows (see `ColumnIndex`)."""
        return None

    def index(self, X: np.ndarray, weight: np.ndarray | None, max_bins: int | None) -> ColumnIndex:
        """The columns, sorted or binned."""
        bins = self.search_bins(len(X))
        return ColumnIndex(X, max_bins, weight, self.codes, self.n_classes, bins)

    def compiled_index(self, X: np.ndarray, weight: np.ndarray | None, max_bins: int | None) -> Any:
        """The columns for compiled searches; None where there are none."""
        return None

    def search(
        self,
        index: Any,
        target: np.ndarray | None,
        weight: np.ndarray,
        scores: np.ndarray | None,
    ) -> tuple[Split, Any, Any]:
        """The best split and what its two sides return."""
        raise NotImplementedError

    def member(
        self, index: Any, weight: np.ndarray, split: Split, left: Any, right: Any
    ) -> tuple[Any, np.ndarray]:
        """The fitted stump and its outputs on the rows."""
        raise NotImplementedError


# --- real targets --------------------------------------------------------------------------------


class RealObjective(Objective):
    """Objectives whose sides return numbers, with targets that change in each round."""

    def __init__(self, task: Task, stumps: StumpClasses) -> None:
        self.regressor = stumps.regressor

    def member(self, index, weight, split, left, right):
        stump = self.regressor._of_values(index.p, split, left, right)
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

    def compiled_index(self, X, weight, max_bins):
        return side_index(X, weight, max_bins, np.zeros(len(X), dtype=bool))


def _moment(masses: np.ndarray) -> float:
    """S of one side, from the masses of `SignedZeroOne` or from those of both sides."""
    return float(masses[0] if len(masses) == 1 else masses[1] - masses[0])


class MeanObjective(RealObjective):
    """The least residual sum of squares: each side returns its mean [Shah, eq. (4.6)]."""

    has_scale = False

    def search(self, index, target, weight, scores):
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
        del moment, centred
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
        self.loss, self.y = task.loss, task.y
        self.least_squares = MeanObjective(task, stumps)

    def search_bins(self, n):
        return cells_of(n)

    def search(self, index, target, weight, scores):
        if self.loss.is_quadratic:
            return self.least_squares.search(index, self.y - scores, weight, scores)
        split = JointSearch(index, RowFalls(self.loss, self.y, scores, weight)).best()
        left = index.is_left(split)
        side, n_sides = (None, 1) if left.all() else ((~left).astype(np.intp), 2)
        values = self.loss.line_search(self.y, scores, np.ones(len(left)), weight, side, n_sides)
        return split, float(values[0]), float(values[-1])


# --- classes -------------------------------------------------------------------------------------


class ClassObjective(Objective):
    """Objectives for classes that stay the same; outputs are margins."""

    codes: np.ndarray
    n_classes: int

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
        self.classes, self.classifier = task.classes, stumps.classifier
        self.right, self.wrong = task.vote_values

    def search(self, index, target, weight, scores):
        masses = index.class_masses(weight) if index.binned else None
        split = index.best(ZeroOne, self.by_class(weight), masses, size=1.0)
        left, right = int(split.left.argmax()), int(split.right.argmax())
        return split, left, left if split.threshold == np.inf else right

    def member(self, index, weight, split, left, right):
        on_left = index.is_left(split)
        correct = self.correct(on_left, left, right)
        stump = self.classifier._of_labels(
            self.classes,
            index.p,
            split,
            (left, right),
            self.shares(weight, on_left, split),
            inner(weight, ~correct),
            sides_of(on_left, self.left_weight(weight, on_left, split)),
        )
        return stump, two_valued(correct, self.right, self.wrong)

    def correct(self, on_left: np.ndarray, left: int, right: int) -> np.ndarray:
        """Which rows are classified correctly."""
        return np.where(on_left, self.codes == left, self.codes == right)

    def left_weight(self, weight: np.ndarray, on_left: Any, split: Split) -> float:
        """The share of the weight on the left, from the masses of the classes."""
        left = split.left.sum()
        return float(left / (left + np.maximum(split.right, 0.0).sum()))

    def shares(self, weight: np.ndarray, on_left: Any, split: Split) -> list:
        """The classes' shares of the weight on each side."""
        sides = split.left, np.maximum(split.right, 0.0)
        return [side / side.sum() if side.sum() > 0 else sum(sides) for side in sides]


class TwoClassErrorObjective(ErrorObjective):
    """The same for two classes, from one signed mass for each row."""

    def __init__(self, task: ClassTask, stumps: StumpClasses) -> None:
        super().__init__(task, stumps)
        self.signs, self.second = task.signs, task.codes == 1

    def compiled_index(self, X, weight, max_bins):
        return side_index(X, weight, max_bins, self.second)

    def search(self, index, target, weight, scores):
        if index.by_sides:
            split = index.best(weight)
        else:
            masses = index.class_masses(weight) if index.exact and index.binned else None
            columns = (self.signs * weight)[None]
            split = index.best(SignedZeroOne, columns, masses, size=1.0, rough=True)
        left, right = int(_moment(split.left) > 0), int(_moment(split.right) > 0)
        return split, left, left if split.threshold == np.inf else right

    def member(self, index, weight, split, left, right):
        if not index.by_sides:
            return super().member(index, weight, split, left, right)
        # The masses of the classes are known, so no pass over the rows is needed for them.
        on_left = index.is_left(split)
        stump = self.classifier._of_labels(
            self.classes,
            index.p,
            split,
            (left, right),
            ErrorObjective.shares(self, weight, None, split),
            float(split.left[1 - left] + split.right[1 - right]),
            sides_of(on_left, ErrorObjective.left_weight(self, weight, on_left, split)),
        )
        correct = self.correct(on_left, left, right)
        return stump, correct.astype(np.int8) * np.int8(2) - np.int8(1)

    def correct(self, on_left: np.ndarray, left: int, right: int) -> np.ndarray:
        if left == right:
            return super().correct(on_left, left, right)
        return np.equal(on_left, self.second if left else ~self.second)

    def left_weight(self, weight: np.ndarray, on_left: Any, split: Split) -> float:
        return min(inner(weight, on_left), 1.0)

    def shares(self, weight: np.ndarray, on_left: Any, split: Split) -> list:
        left = inner(weight, on_left)
        right = 1.0 - left
        if right < 1e-6:  # the difference is mostly rounding, or there are no rows on this side
            right = inner(weight, ~on_left)
        moments = split.left[0], split.right[0]
        everywhere = 0.5 * (1 + sum(moments))
        return [
            _two_shares(0.5 * (m + s) / m if m > 0 else everywhere)
            for m, s in zip((left, right), moments)
        ]


def _two_shares(second: float) -> np.ndarray:
    second = min(max(float(second), 0.0), 1.0)
    return np.array([1.0 - second, second])


class ConfidenceObjective(ClassObjective):
    """Objectives for two classes whose sides return numbers, by `criterion` and `value`."""

    criterion: Any

    def __init__(self, task: ClassTask, stumps: StumpClasses) -> None:
        super().__init__(task, stumps)
        self.signs, self.regressor = task.signs, stumps.regressor
        if self.n_classes < 2:  # a single class counts as the second of two
            self.codes, self.n_classes = np.ones_like(self.codes), 2

    def value(self, share: float) -> float:
        """What a side returns, from the share of the second class in its weight."""
        raise NotImplementedError

    def search(self, index, target, weight, scores):
        masses = index.class_masses(weight) if index.binned else None
        split = index.best(self.criterion, self.by_class(weight), masses)
        values = []
        for minus, plus in (split.left, np.maximum(split.right, 0.0)):
            mass = minus + plus
            values.append(self.value(plus / mass if mass > 0 else 0.5))
        return split, *values

    def member(self, index, weight, split, left, right):
        stump = self.regressor._of_values(index.p, split, left, right)
        outputs = two_valued(index.is_left(split), stump.left_value_, stump.right_value_)
        return stump, self.signs * outputs


class LogOddsObjective(ConfidenceObjective):
    """Minimises Z = 2 sum sqrt(W+ W-); sides return half their log-odds (real AdaBoost)."""

    criterion = PartitionFunction

    def value(self, share: float) -> float:
        return float(half_log_odds(share))


class ClassMeanObjective(ConfidenceObjective):
    """Least squares to -1 and +1; sides return their mean (gentle AdaBoost)."""

    criterion = ClassSquares

    def value(self, share: float) -> float:
        return 2 * share - 1


def _error_objective(task: ClassTask, stumps: StumpClasses) -> Objective:
    kind = TwoClassErrorObjective if task.n_classes == 2 else ErrorObjective
    return kind(task, stumps)


OBJECTIVES: dict[str, Callable[[Any, StumpClasses], Objective]] = {
    "joint": JointObjective,
    "least_squares": MeanObjective,
    "reweighted_least_squares": MeanObjective,
    "signs": SignObjective,
    "class_error": _error_objective,
    "class_log_odds": LogOddsObjective,
    "class_least_squares": ClassMeanObjective,
}
