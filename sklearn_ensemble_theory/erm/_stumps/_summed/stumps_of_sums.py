"""Stumps chosen by the weights of the classes in the bins of all columns, without the rows.

The rows of one class on one side of a threshold are alike: they get the same answer. So each group
(side, class) takes the place of a row, and the objectives of `rounds` and the criteria of `hamming`
are those of a fit in memory.

A *slot* is a kind of weight that is summed by itself: that of the rows of a class or, with a weight
for each row and class, those of the class's own rows and those of all others.
"""

from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from sklearn_ensemble_theory._learners import ClassTask, HammingTask
from sklearn_ensemble_theory.erm._stumps.hamming import (
    HAMMING_CRITERIA,
    HammingIndex,
    Masses,
    stump_of_split,
)
from sklearn_ensemble_theory.erm._stumps.rounds import OBJECTIVES, ClassObjective, StumpClasses
from sklearn_ensemble_theory.erm._stumps.split_search import ColumnIndex, Split

Array = NDArray[np.float64]
# Bins of the columns for stumps that know every value in memory.
DEFAULT_BINS = 255


class SummedStump(NamedTuple):
    """A stump, and what it does with the rows of each slot on both sides.

    Attributes
    ----------
    member : fitted stump
    feature, code : int
        Rows with at most this code are on the left.
    margins : array of shape (n_slots, 2)
        The outputs on the left and on the right.
    masses : array of shape (n_slots, 2)
        The shares of the weight there.
    n_rows : int array of shape (n_slots, 2)
    """

    member: Any
    feature: int
    code: int
    margins: Array
    masses: Array
    n_rows: NDArray[np.int64]


class SummedStumps:
    """Base of the stumps from sums.

    Parameters
    ----------
    task : ClassTask or HammingTask
        With one row of each class.
    stumps : StumpClasses
    max_bins : int or None
        That of the stump, for what counts as equally good.

    Attributes
    ----------
    max_bins : int
        How many bins a column should have at most.
    slots : int64 array of shape (K, m)
        Where the weights of a row of each class belong.
    n_slots : int
    """

    slots: NDArray[np.int64]
    n_slots: int

    def __init__(self, task: Any, stumps: StumpClasses, max_bins: int | None) -> None:
        self.task, self.stumps = task, stumps
        self.is_fine = max_bins is None
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

    def _search(self, masses: Array) -> tuple[Any, ...]:
        """The split, and more for `_member`."""
        raise NotImplementedError

    def _member(
        self, split: Split, answers: Any, masses: Array, n_rows: NDArray[np.int64]
    ) -> tuple[Any, Array]:
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
        nothing = np.zeros(n)
        return self.objective.search(self.index, None, nothing, None)

    def _member(self, split, answers, masses, n_rows):
        own = self.slots[:, 0]
        weight = masses[own].T.ravel()
        member, outputs = self.objective.member(self.index, weight, split, *answers)
        if "_sides" in vars(member):
            member._sides[:, 0] = n_rows
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
        p = len(self.edges)
        member = stump_of_split(self.criterion, split, self.stumps.regressor, p)
        values = np.stack([member.left_value_, member.right_value_], axis=1)
        return member, np.concatenate([values, -values])

    def _in_slots(self, n_rows):
        return np.concatenate([n_rows, n_rows.sum(axis=0) - n_rows])


def stumps_of_sums(task: Any, max_bins: int | None, stumps: StumpClasses) -> SummedStumps | None:
    """Stumps from sums for a task; None where there are none."""
    if task.kind in HAMMING_CRITERIA:
        return HammingStumps(task, stumps, max_bins)
    if not task.kind.startswith("class_"):
        return None
    return ClassStumps(task, stumps, max_bins)


def _of_sides(tables: NDArray[np.int64], split: Split) -> NDArray[np.int64]:
    """The sums of tables (m, p, B) on both sides of a split: (m, 2)."""
    column = tables[:, split.feature]
    end = split.code + 1 if np.isfinite(split.threshold) else column.shape[1]
    return np.stack([column[:, :end].sum(axis=1), column[:, end:].sum(axis=1)], axis=1)


def _is_edge(edges: list[Array], n_bins: int) -> NDArray[np.bool_]:
    return np.arange(n_bins - 1) < np.array([len(e) for e in edges])[:, None]


class _GroupIndex(ColumnIndex):
    """Columns of which the masses of the classes in the bins are known."""

    def __init__(self, masses: Array, edges: Any, n_groups: int, is_fine: bool) -> None:
        self.known, self.edges, self.n, self.is_fine = masses, edges, n_groups, is_fine
        _, self.p, self.n_bins = masses.shape
        self.is_edge = _is_edge(edges, self.n_bins)
        self.exact, self.binned = False, True

    def class_masses(self, weight):
        return self.known

    def best(self, criterion, columns, masses=None, size=None, rough=False):
        return super().best(criterion, columns, self.known, 1.0, rough and not self.is_fine)

    def is_left(self, split):
        """Of groups: those on the left come first."""
        return np.arange(self.n) < (self.n if split.threshold == np.inf else self.n // 2)


class _HammingGroups(HammingIndex):
    """The same for weights of rows and classes."""

    def __init__(self, masses: Array, edges: list[Array]) -> None:
        n_slots, self.p, self.n_bins = masses.shape
        self.n_classes, self.n, self.edges = n_slots // 2, n_slots, edges
        self.is_edge = _is_edge(edges, self.n_bins)
        self.exact, self.has_cuts_inside = False, False

    def masses(self, weight):
        K = self.n_classes
        return Masses(
            *(np.ascontiguousarray(m.transpose(1, 2, 0)) for m in (weight[:K], weight[K:]))
        )
