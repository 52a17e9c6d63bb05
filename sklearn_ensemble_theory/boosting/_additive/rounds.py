"""Rounds of boosting on the products of residuals with all cuts: smoothing rounds, and stumps.

With the columns z of `NormalizedCuts`, the least-squares stump at cut k is ``(z_k'Wr) z_k``.
Boosting with learning rate nu is matching pursuit [Bach, §10.3.3]: take the cut with the largest
``|z'Wr|``, and ``r <- r - nu (z'Wr) z``. All that the next round needs is ``z'Wr`` for every cut,
and that changes by a row of the Gram matrix ``Q = Z'WZ``:

    c <- c - nu c[k] Q[k]

A round costs O(P) for P cuts, independent of the number of rows. The constant need not be fitted
again: every z has mean zero. This is the boosting loop of `boosting._loop`, written again for
speed: there a risk, a weak learner and a step rule work on arrays as long as the rows, here all
rounds of a stage are one compiled loop over an array as long as the cuts.

A *smoothing round* on feature j adds the mean of the stumps over its m_j cuts, (1/m_j) sum_k
(z_k'Wr) z_k: the expected step of boosting with a random cut, a linear smoother. Its spectrum is in
the user guide ("Smoothing rounds").

A stump of a categorical feature separates a set of its categories from the others. The best set
consists of those with the lowest or the highest mean residuals [Fisher 1958; Breiman et al. 1984],
so that the categories are ordered by these in each round, at a cost of O(K log K). Its column is a
sum of columns of single categories. For this search the mean of a category of weight w is shrunk by
the factor w / (w + `CAT_SMOOTH`), as in trees: with many small categories the best set of noise
would otherwise be better than the cuts of all other features, round after round. What the set adds
is not shrunk.

A *model* consists of one table a feature for each score, and of intercepts. The models of a fit are
that of all rows and, with cross-validation, one for each fold held out. A *risk*, that is what is
fitted (`risk.py`), *opens a stage*: for each model and each score it returns the state of the
residuals, from which rounds go on without it. A *phase* is made of stages: one for the squared
error, as many as gradients are computed for other losses.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, Protocol, cast

import numpy as np

from ..._native.additive import add_entries, boost_stumps, smooth
from ..._running import Progress
from .sums import CutLayout, NormalizedCuts, RowState, TableState

# If no correlation is above this share of the length of y, the residuals are orthogonal to all
# stumps up to rounding, and the rounds end.
_EXHAUSTED = 1e-14
# The share of its shrunken mean residual by which a category moves in a smoothing round.
_CATEGORY_RATE = 0.2
# See `cat_smooth` of binned trees.
CAT_SMOOTH = 10.0
# Rounds between two reports of the progress.
_ROUNDS_AT_ONCE = 2**14
# Smoothing rounds whose steps have room at a time.
_SMOOTHING_AT_ONCE = 2**8
# Rows of products with sets of categories that are kept.
_MAX_SETS_KEPT = 256


Rounds = tuple[np.ndarray, ...]


def joined(parts: list[Rounds]) -> Rounds:
    """The arrays of rounds that were made in parts, which become one part."""
    if len(parts) != 1:
        empty = (np.empty(0, np.int32), np.empty(0), np.empty(0), np.empty(0))
        parts[:] = [tuple(np.concatenate(part) for part in zip(empty, *parts))]
    return parts[0]


# --- smoothing rounds -----------------------------------------------------------------------------


class SmoothingCandidates:
    """What a smoothing round chooses among: neighbouring cuts of a feature.

    Features with thresholds, single cuts (`jumps`), categorical features, of those that are `free`.

    - starts, widths, features: the first cut of each candidate, the number of them, and its
      feature.
    - offsets: where its cuts begin in an array of those of all candidates.
    - gain, rate: of all these cuts, the factors of the squares of products, of which the sum
      decides, and those of the steps.
    """

    def __init__(self, cuts: NormalizedCuts, jumps: np.ndarray | tuple, free: np.ndarray) -> None:
        layout, used = cuts.layout, cuts.scale > 0
        counted = np.concatenate([[0], np.cumsum(used)])
        stops = layout.offsets[1:] - (layout.missing & ~layout.categorical)
        n_used = counted[stops] - counted[layout.offsets[:-1]]
        has_cuts = free & (n_used > 0)
        ordered = np.flatnonzero(has_cuts & ~layout.categorical)
        categorical = np.flatnonzero(has_cuts & layout.categorical)
        jumps = np.asarray(jumps, dtype=np.intp)
        of_valid = layout.offsets[1:][layout.missing & ~layout.categorical] - 1
        single = np.concatenate([jumps[free[layout.feature[jumps]]], of_valid])
        starts = layout.offsets[:-1]
        self.starts = np.concatenate([starts[ordered], single, starts[categorical]])
        ends = np.concatenate([stops[ordered], single + 1, stops[categorical]])
        self.features = np.concatenate([ordered, layout.feature[single], categorical])
        self.widths = ends - self.starts
        self.offsets = np.concatenate([[0], np.cumsum(self.widths)])
        one = np.concatenate([1 / n_used[ordered], np.ones(len(single))])
        gains = [np.repeat(one, self.widths[: len(one)])]
        rates = gains.copy()
        for j in categorical:
            # Means are shrunk as those of groups of which the average one has as much weight as
            # the prior: a category of that weight moves half as far as one of great weight.
            own = layout.spans[j]
            here, weight, shrink = used[own], cuts.raw_left[own], np.zeros(own.stop - own.start)
            shrunk = weight + weight[here].mean()
            shrink[here] = 1 / (cuts.scale[own][here] ** 2 * shrunk[here])
            gains.append(shrink / max((weight / shrunk)[here].sum(), 1.0))
            rates.append(_CATEGORY_RATE * shrink)
        self.gain, self.rate = np.concatenate(gains), np.concatenate(rates)


class SmoothingPath(NamedTuple):
    """T smoothing rounds.

    - chosen: the candidate of each round.
    - steps: the coefficients of the z of its cuts, one round after the other.
    - falls: by how much each round lowered the sum of squares over the training rows.
    """

    candidates: SmoothingCandidates
    chosen: np.ndarray
    steps: np.ndarray
    falls: np.ndarray

    @property
    def n_rounds(self) -> int:
        return len(self.chosen)

    @property
    def widths(self) -> np.ndarray:
        """How many cuts each round changes."""
        return self.candidates.widths[self.chosen]

    def until(self, n_rounds: int) -> "SmoothingPath":
        n_steps = int(self.widths[:n_rounds].sum())
        parts = self.chosen[:n_rounds], self.steps[:n_steps], self.falls[:n_rounds]
        return SmoothingPath(self.candidates, *parts)

    def times(self, share: float) -> "SmoothingPath":
        """The same rounds with shorter steps."""
        return self._replace(steps=share * self.steps)

    def falls_by_feature(self, layout: CutLayout) -> np.ndarray:
        """Sum the decrease of the squared error by feature."""
        features = self.candidates.features[self.chosen]
        return np.bincount(features, self.falls, minlength=len(layout.n_bins))

    def coefficients(self, cuts: NormalizedCuts) -> np.ndarray:
        """Sum all rounds as coefficients of the z: (P,)."""
        widths = self.widths
        first = self.candidates.starts[self.chosen] - np.cumsum(widths) + widths
        own = np.repeat(first, widths) + np.arange(len(self.steps))
        total = np.bincount(own, self.steps, minlength=cuts.n_cuts)
        return total.astype(float, copy=False)  # without a step they are integers


class SmoothingRounds:
    """Smoothing rounds on the state of a model, which they change.

    Each round takes the feature with the largest mean of ``(z_k'Wr)^2``, the first-order decrease
    of the squared error. Jumps that are known beforehand are candidates too, as features with one
    cut, and so is the cut between missing and present values. A round on a categorical feature
    moves all categories towards their mean residuals, those of little weight less. Features that
    are `monotonic`, not 0, have no smoothing rounds.

    - exhausted: whether no round lowers the squared error any further.
    - held_total: by how much all rounds changed the sum of squares over the held-out rows.
    - coefficients: the sum of all rounds, by cut.
    """

    def __init__(
        self,
        state: TableState | RowState,
        jumps: np.ndarray | tuple = (),
        monotonic: np.ndarray | None = None,
    ) -> None:
        self.state = state
        layout = state.cuts.layout
        free = np.ones(len(layout.n_bins), bool) if monotonic is None else monotonic == 0
        self.candidates = SmoothingCandidates(state.cuts, jumps, free)
        self.widest = int(self.candidates.widths.max(initial=0))
        self.floor = _EXHAUSTED**2 * state.cuts.squares
        self.n_run, self.exhausted, self.held_total = 0, False, 0.0
        self.coefficients = np.zeros(state.n_cuts)
        self.parts: list[Rounds] = []

    def run(self, n_rounds: int) -> None:
        """At most `n_rounds` more rounds."""
        of, done = self.candidates, 0
        candidates = of.starts, of.features, of.offsets, of.gain, of.rate
        while done < n_rounds and not self.exhausted:
            count = min(_SMOOTHING_AT_ONCE, n_rounds - done)
            chosen, steps = np.empty(count, np.int32), np.empty(count * self.widest)
            falls, held = np.empty(count), np.empty(count)
            given = self.state.residuals, *candidates, self.floor
            made = smooth(*given, chosen, steps, falls, held, self.coefficients)
            self.exhausted = made < count
            n_steps = int(of.widths[chosen[:made]].sum())
            self.parts.append((chosen[:made], steps[:n_steps].copy(), falls[:made], held[:made]))
            self.held_total += float(held[:made].sum())
            done += made
        self.n_run += done

    @property
    def path(self) -> SmoothingPath:
        """All rounds so far."""
        return SmoothingPath(self.candidates, *joined(self.parts)[:3])

    @property
    def falls(self) -> np.ndarray:
        """By how much each round lowered the sum of squares over the training rows."""
        return joined(self.parts)[2]

    @property
    def held_changes(self) -> np.ndarray:
        """By how much each round changed the sum of squares over the held-out rows."""
        return joined(self.parts)[3]


# --- stumps ---------------------------------------------------------------------------------------


class CategorySet(NamedTuple):
    """A stump of a categorical feature: `cuts` are those of the categories on its left side."""

    feature: int
    cuts: np.ndarray
    scale: float
    share: float


class StumpPath(NamedTuple):
    """The rounds of L2-boosting, T in number.

    - chosen: the cut of each round; P + i for the set number i of categories. T is below the number
      of rounds that was required where the residuals became orthogonal to all z.
    - steps: ``steps[t] * z[chosen[t]]`` was added.
    - held: ``z[chosen[t]]'W(y - f)`` over the held-out rows before round t; empty without a fold.
    """

    chosen: np.ndarray
    steps: np.ndarray
    held: np.ndarray
    sets: list
    learning_rate: float

    @property
    def n_rounds(self) -> int:
        return len(self.chosen)

    def until(self, n_rounds: int) -> "StumpPath":
        return self._replace(
            chosen=self.chosen[:n_rounds], steps=self.steps[:n_rounds], held=self.held[:n_rounds]
        )

    def times(self, share: float) -> "StumpPath":
        return self._replace(steps=share * self.steps)

    def falls_by_feature(self, layout: CutLayout) -> np.ndarray:
        """Sum the decrease of the squared error by feature, up to a factor."""
        features = np.searchsorted(layout.offsets, self.chosen, side="right") - 1
        for number, of_set in enumerate(self.sets):
            features[self.chosen == layout.n_cuts + number] = of_set.feature
        factor = 2 / self.learning_rate - 1
        return factor * np.bincount(features, self.steps**2, minlength=len(layout.n_bins))

    def coefficients(self, cuts: NormalizedCuts) -> np.ndarray:
        """Sum all rounds as coefficients of the z of single cuts: (P,)."""
        n_cuts = cuts.n_cuts
        # A set's column is a sum of those of its categories, each of which has a scale of its own.
        sums = np.bincount(self.chosen, self.steps, minlength=n_cuts + len(self.sets)).astype(float)
        coefficients = sums[:n_cuts]
        for total, of_set in zip(sums[n_cuts:], self.sets):
            coefficients[of_set.cuts] += total * of_set.scale / cuts.scale[of_set.cuts]
        return coefficients

    def sides(self, cuts: NormalizedCuts) -> tuple[np.ndarray, np.ndarray]:
        """What each round's stump adds on its left and on its right side.

        The values on the right are those of the present values, where the cut separates only these.
        """
        scale = np.concatenate([cuts.scale, [each.scale for each in self.sets]])
        share = np.where(cuts.valid_cut >= 0, cuts.valid_share, cuts.share)
        share = np.concatenate([share, [each.share for each in self.sets]])
        jump, share = self.steps * scale[self.chosen], share[self.chosen]
        return jump * (1 - share), -jump * share


class TableStumps:
    """Rounds of boosting by stumps on the state of a model, which they change.

    - monotonic: 1 or -1 for features with an increasing or decreasing function, 0 for the others.
    - row_weight: what a row of weight 1 weighs in `state`.
    - exhausted, held_total: as of `SmoothingRounds`.
    """

    def __init__(
        self,
        state: TableState | RowState,
        learning_rate: float,
        monotonic: np.ndarray | None = None,
        row_weight: float = 1.0,
    ) -> None:
        assert isinstance(state, TableState)
        self.state, self.learning_rate = state, learning_rate
        self.rate = np.append(learning_rate / state.cuts.preference, learning_rate)
        self.floor = learning_rate * _EXHAUSTED * np.sqrt(state.cuts.squares)
        layout = state.cuts.layout
        # Cuts of categories are found as sets, and z is higher on the left of a threshold.
        self.sets = None
        if layout.categorical.any():
            self.sets = CategorySets(state.cuts, CAT_SMOOTH * row_weight)
        self.signs = None
        if monotonic is None:
            monotonic = np.zeros(len(layout.n_bins), dtype=int)
        if self.sets is not None or monotonic.any():
            self.signs = np.array([np.ones(state.n_cuts), -np.ones(state.n_cuts)])
            self.signs[:, layout.categorical[layout.feature]] = 0.0
            for j in np.flatnonzero(monotonic):
                self.signs[:, layout.thresholds_of(j)] = [[-monotonic[j]], [0.0]]
        self.rows_of_sets: dict[int, np.ndarray] = {}
        # The sums of squares over held-out rows of the columns of cuts, then of sets.
        self.lengths = _held_lengths(state.cuts) if state.has_held else np.empty(0)
        self.chosen = np.empty(0, dtype=np.int32)
        self.parts: list[Rounds] = []
        self.n_run, self.exhausted, self.held_total = 0, state.n_cuts == 0, 0.0

    def run(self, n_rounds: int, progress: Progress | None = None) -> None:
        state, done = self.state, 0
        while done < n_rounds and not self.exhausted:
            count = min(_ROUNDS_AT_ONCE, n_rounds - done)
            self.chosen = chosen = np.full(count, -1, dtype=np.int32)
            part = chosen, np.empty(count), np.empty(count)
            given = state.values, state.rows.views, self._row, self.rate, self.signs, self.sets
            made = boost_stumps(*given, self.floor, *part)
            self.exhausted = made < count
            part = tuple(each[:made] for each in part)
            self.parts.append((*part, self._held_changes(*part)))
            self.held_total += float(self.parts[-1][-1].sum())
            done += made
            if progress is not None:
                progress.advance(steps=made)
        self.n_run += done
        if progress is not None and done < n_rounds:
            progress.finish("no stump lowers the error any further")

    def _row(self, k: int) -> np.ndarray:
        """Products of the column of a cut, or of a set of categories, with all others."""
        cuts, rows = self.state.cuts, self.state.rows
        if k < cuts.n_cuts:
            recent = self.chosen[(self.chosen >= 0) & (self.chosen < cuts.n_cuts)]
            return rows.load(k, recent.tolist())
        if k not in self.rows_of_sets:
            # The column of a set is a sum of those of its categories.
            assert self.sets is not None
            of_set = self.sets.found[k - cuts.n_cuts]
            own, first = of_set.cuts, cuts.layout.spans[of_set.feature].start
            whole = rows.of_feature(of_set.feature)
            while len(self.rows_of_sets) >= _MAX_SETS_KEPT:
                self.rows_of_sets.pop(next(iter(self.rows_of_sets)))
            self.rows_of_sets[k] = (of_set.scale / cuts.scale[own]) @ whole[own - first]
        return self.rows_of_sets[k]

    def _held_changes(self, chosen: np.ndarray, steps: np.ndarray, held: np.ndarray) -> np.ndarray:
        """By how much rounds changed the sum of squares over the held-out rows."""
        if not self.state.has_held:
            return np.zeros(len(steps))
        cuts = self.state.cuts
        sets = [] if self.sets is None else self.sets.found[len(self.lengths) - cuts.n_cuts :]
        if len(sets):
            left = np.array([cuts.held_raw[each.cuts].sum() for each in sets])
            scale, share = np.array([[each.scale, each.share] for each in sets]).T
            length = left * (1 - 2 * share) + share**2 * cuts.held_weight
            self.lengths = np.concatenate([self.lengths, scale**2 * length])
        # |r - bz|^2 - |r|^2 = b (b |z|^2 - 2 z'r), with all sums over the held-out rows.
        return steps * (steps * self.lengths[chosen] - 2 * held)

    @property
    def path(self) -> StumpPath:
        chosen, steps, held, _ = joined(self.parts)
        if not self.state.has_held:
            held = held[:0]
        sets = [] if self.sets is None else self.sets.found
        return StumpPath(chosen, steps, held, sets, self.learning_rate)

    @property
    def coefficients(self) -> np.ndarray:
        return self.path.coefficients(self.state.cuts)

    @property
    def falls(self) -> np.ndarray:
        return (2 / self.learning_rate - 1) * joined(self.parts)[1] ** 2

    @property
    def held_changes(self) -> np.ndarray:
        return joined(self.parts)[3]


def _held_lengths(cuts: NormalizedCuts) -> np.ndarray:
    """The sums of squares of the columns of cuts over the held-out rows: (P,)."""
    # |z|^2 = s^2 (w'L (1 - 2a) + a^2 w'V) over these rows, where all sums are known.
    present = cuts.valid_cut >= 0
    a = np.where(present, cuts.valid_share, cuts.share)
    total = np.where(present, cuts.held_raw[cuts.valid_cut], cuts.held_weight)
    return cuts.scale**2 * (cuts.held_raw * (1 - 2 * a) + a**2 * total)


class CategorySets:
    """The sets of categories that rounds of stumps choose among, features one after the other.

    - offsets: where the categories of each feature begin.
    - cuts, unit, scale, weight: the cut of each category, the product with its column where its
      residuals have the sum 1, the scale of that column, and its weight.
    - rest: the weight of the rows without a category, by feature.
    - smooth: half of the mean of a category of this weight counts in the search.
    - numbers: of the sets that are known, P, P + 1, ..., by feature and their members as bytes.
    - found: in the order of these numbers.
    """

    def __init__(self, cuts: NormalizedCuts, smooth: float) -> None:
        layout = cuts.layout
        self.smooth = smooth
        self.n_cuts, self.features = cuts.n_cuts, np.flatnonzero(layout.categorical)
        spans = [layout.spans[j] for j in self.features]
        own = [np.arange(s.start, s.stop)[cuts.scale[s] > 0] for s in spans]
        self.offsets = np.cumsum([0, *map(len, own)], dtype=np.intp)
        self.cuts = np.concatenate(own)
        self.scale = cuts.scale[self.cuts]
        self.unit = self.scale * cuts.preference[self.cuts]
        self.weight = cuts.raw_left[self.cuts]
        of_feature = np.array([cuts.raw_left[each].sum() for each in own])
        rest = np.maximum(cuts.weight - of_feature, 0.0)  # of missing values, and none
        self.rest = np.where(rest > 1e-12 * cuts.weight, rest, 0.0)
        self.order = np.zeros(len(self.cuts) + len(own), dtype=np.intp)
        self.sums = np.zeros(len(self.order))
        self.numbers: list[dict[bytes, int]] = [{} for _ in own]
        self.found: list[CategorySet] = []

    def add(self, q: int, members: bytes) -> int:
        """Give a number to a set."""
        own = slice(self.offsets[q], self.offsets[q + 1])
        within = np.frombuffer(members, dtype=bool)
        weight, total = self.weight[own][within].sum(), self.weight[own].sum() + self.rest[q]
        scale = np.sqrt(total / (weight * (total - weight)))
        j, cuts = int(self.features[q]), self.cuts[own][within]
        self.numbers[q][members] = number = self.n_cuts + len(self.found)
        self.found.append(CategorySet(j, cuts, scale, weight / total))
        return number


# --- phases: rounds of one kind for all models, and the best number -------------------------------

MIB = 2**20
# Rounds that are run at a time where the number is chosen with patience.
_ROUNDS_OF_PATIENCE = 16
# A movement within rounding of the limit has reached it: learning_rate=0.25 moves a leaf of one
# class by just 0.5, the default limit, if both classes have the same weight.
_SAME = 1 - 1e-9
# Stages that have moved a table or an intercept further are looked at again; see `_lowering`. A
# loss that changes by no more than this share has not risen.
SAFE_MOVE, MOST_HALVINGS, ROUNDING = 1.0, 60, 1e-13
# Where the model of all rows takes less than this of its steps, none is left that lowers its loss.
NO_SHARE = 1e-9
# Where no round is left, intercepts have further stages until they move by no more than this.
STILL, MOST_IDLE = 1e-9, 60

Rule = Literal["minimum", "one_standard_error"]


@dataclass
class BinnedRows:
    """Rows in bins with what is to be predicted, in memory or those of one block.

    - codes: (n, p), in Fortran order.
    - y: targets, or the numbers of classes.
    - folds: the fold that tests on the row; `n_splits` (0 without cross-validation) for rows that
      none tests on.
    - groups: codes of the groups that rows belong to.
    - offset: what is added to the scores; None for the squared error, whose targets are without it.
    """

    codes: np.ndarray
    layout: CutLayout
    y: np.ndarray
    weight: np.ndarray | None = None
    folds: np.ndarray | None = None
    n_splits: int = 0
    groups: np.ndarray | None = None
    offset: np.ndarray | None = None

    def of_split(self, train: np.ndarray, test: np.ndarray) -> "BinnedRows":
        """The rows of one split, of which the test rows are fold 0."""
        part = np.concatenate([test, train])
        weight, offset = (None if v is None else v[part] for v in (self.weight, self.offset))
        folds = (np.arange(len(part)) >= len(test)).astype(np.uint8)
        codes = np.asfortranarray(self.codes[part])
        return BinnedRows(codes, self.layout, self.y[part], weight, folds, 1, offset=offset)

    @cached_property
    def n_groups(self) -> int:
        """The number of groups of rows of which sums are kept."""
        if self.folds is None:
            return 1
        return self.n_splits + bool((self.folds == self.n_splits).any())


@dataclass
class TableModel:
    """Intercepts of the scores, and for each score a table (or None) of each feature."""

    intercepts: np.ndarray
    tables: list = field(default_factory=list)

    def copy(self) -> "TableModel":
        """The same tables, which nobody changes in place, in lists of its own."""
        return TableModel(self.intercepts.copy(), [list(own) for own in self.tables])

    def add(self, score: int, tables: Sequence[np.ndarray | None]) -> None:
        own = self.tables[score]
        for j, table in enumerate(tables):
            if table is not None:
                own[j] = table if own[j] is None else own[j] + table

    def scores(self, codes: np.ndarray) -> np.ndarray:
        """Add up the tables at rows in bins: (n, n_scores)."""
        scores = np.tile(self.intercepts, (len(codes), 1))
        for score, own in enumerate(self.tables):
            add_tables_of_rows(codes, own, scores[:, score])
        return scores


def add_tables_of_rows(
    codes: np.ndarray, tables: Sequence[np.ndarray | None], values: np.ndarray
) -> None:
    """Add the value of each row in the table of each feature that has one, feature by feature."""
    used = [j for j, table in enumerate(tables) if table is not None]
    if used:
        starts = np.cumsum([0, *(0 if table is None else len(table) for table in tables)])
        joined = np.concatenate([table for table in tables if table is not None])
        add_entries(codes.T, joined, starts, np.array(used, dtype=np.intp), values)


@dataclass
class Stage:
    """The state of all models at the beginning of some rounds.

    - states: by model and score.
    - models: with the intercepts of this stage.
    - losses: the mean loss of the first model over all rows, and of each other one over its
      held-out rows.
    - per_square: what a sum of squares counts in these.
    - fitted_losses: of each model over the rows that it is fitted to; not of the squared error.
    """

    states: list[list[TableState | RowState]]
    models: list[TableModel]
    losses: np.ndarray
    per_square: np.ndarray
    fitted_losses: np.ndarray | None = None


class Risk(Protocol):
    """What is fitted, as sums over the rows: the squared error, or another loss."""

    n_splits: int
    is_quadratic: bool  # whether one stage lasts for all rounds
    is_rough: bool  # whether every stage is looked at
    unit: float  # of the scores
    max_cuts: int | None  # of how many cuts each model keeps the rows of products; None for all
    rows: BinnedRows | None  # where they are in memory

    def start(self) -> list[TableModel]:
        """Models of intercepts alone."""

    def open(
        self, models: list[TableModel], tolerance: float = 0.0, by_rows: bool = False
    ) -> Stage:
        """The next stage: see `NewtonLoss.open`."""


def cuts_in_memory(memory: float, rows: BinnedRows, n_scores: int = 1) -> int | None:
    """Tell of how many cuts the sums with all cuts can be kept; None for all."""
    n_cuts, n_groups, n_splits = rows.layout.n_cuts, rows.n_groups, rows.n_splits
    # as counted, and as products of columns of each model, held-out rows apart
    copies = n_scores * (n_groups + 1 + 2 * n_splits)
    each = copies * n_cuts * 8 / MIB
    if each > memory:
        raise ValueError(
            f"working_memory={memory} MiB of sklearn.set_config is less than the {each:.2g} MiB of "
            f"the sums over one of the {n_cuts} cuts with all others; use fewer bins."
        )
    return None if each * n_cuts <= memory else int(memory / each)


@dataclass
class Segment:
    """The rounds of one stage: cuts and paths by model and score, and the models before them."""

    models: list[TableModel]
    cuts: list[list[NormalizedCuts]]
    paths: list[list[SmoothingPath | StumpPath]]
    n_rounds: int

    def models_after(self, n_rounds: int) -> list[TableModel]:
        found = []
        for model, cuts, paths in zip(self.models, self.cuts, self.paths):
            model = model.copy()
            for score, (own, path) in enumerate(zip(cuts, paths)):
                model.add(score, own.tables(path.until(n_rounds).coefficients(own)))
            found.append(model)
        return found


@dataclass
class PhaseResult:
    """The models after the best number of rounds of a phase.

    - n_rounds: the number with the least mean held-out loss, or without cross-validation all.
    - train_path, held_path: mean losses after 0, 1, ..., T rounds, (T + 1,) and (T + 1, n_splits).
    - segments: the stages of the first `n_rounds` rounds.
    """

    models: list[TableModel]
    n_rounds: int
    train_path: np.ndarray
    held_path: np.ndarray
    segments: list[Segment]


def run_phase(
    risk: Risk,
    models: list[TableModel],
    make_rounds: Callable[[TableState | RowState], SmoothingRounds | TableStumps],
    max_rounds: int,
    *,
    limit: float = np.inf,
    longest: float = np.inf,
    tolerance: float = 0.0,
    patience: int | None = None,
    rule: Rule | None = "minimum",
    whole_stages: bool = False,
    by_rows: bool = False,
    progress: Progress | None = None,
) -> PhaseResult:
    """Run rounds of one kind, and go back to the best number of them.

    - models: that of all rows, then those of the folds.
    - limit: the largest change of a table in one stage.
    - longest: the largest number of rounds of a stage, where `limit` is finite.
    - tolerance: see `NewtonLoss.open`.
    - patience: the phase ends when the mean held-out loss has had no new minimum for so many
      rounds.
    - rule: by which held-out losses choose the number of rounds; None for `max_rounds`.
    - whole_stages: whether stages, and the losses at their ends, are those of a fit with more
      rounds, of which the first ones are kept.
    - by_rows: whether the rounds sum residuals of rows and not products of cuts.
    """
    segments: list[Segment] = []
    start, shares = models, np.ones(len(models))
    train, held, done, exhausted, n_idle, at_start = [], [], 0, False, 0, None
    while not segments or (done < max_rounds and not exhausted):
        # The risk gives states of the residuals, and rounds change these until the stage is over.
        stage = risk.open(models, tolerance, by_rows)
        rounds = [[make_rounds(state) for state in own] for own in stage.states]
        most = max_rounds - done
        if not risk.is_quadratic:
            most = longest if whole_stages else min(most, longest)
        count, moved = _run_stage(rounds, int(most), limit, patience, progress)
        exhausted = all(each.exhausted for each in rounds[0])
        if not risk.is_quadratic:
            # What the end of a stage leaves, the next one may find, also where it has moved nothing
            # but the intercept.
            shift = [
                np.abs(m.intercepts - o.intercepts).max() for m, o in zip(stage.models, models)
            ]
            n_idle = 0 if count else n_idle + 1
            is_still = shift[0] <= STILL * risk.unit or n_idle > MOST_IDLE
            exhausted = exhausted and count == 0 and is_still
            moved = np.max([moved, *shift])
        # Mean losses after 0, ..., count rounds: of the first model, and of each on its fold.
        of_train = stage.losses[0] - stage.per_square[0] * _cumulated(rounds[0], "falls", count)
        of_held = np.empty((count + 1, len(rounds) - 1))
        for fold, own in enumerate(rounds[1:]):
            changes = _cumulated(own, "held_changes", count)
            of_held[:, fold] = stage.losses[1 + fold] + stage.per_square[1 + fold] * changes
        if risk.is_quadratic:  # not below 0 by rounding
            of_train, of_held = np.maximum(of_train, 0), np.maximum(of_held, 0)
        of_held[~np.isfinite(of_held)] = np.inf  # beyond the range of floats
        cuts = [[state.cuts.without_products() for state in own] for own in stage.states]
        paths = [[each.path for each in own] for own in rounds]
        segment, moved_models = Segment(stage.models, cuts, paths, count), None
        if risk.is_rough or not (risk.is_quadratic or moved <= SAFE_MOVE * risk.unit):
            first = np.minimum(4 * shares, 1.0)
            segment, shares, after, moved_models = _lowering(segment, risk, models, stage, first)
            exhausted = exhausted or bool(shares[0] < NO_SHARE)
            # What the quadratic says of the whole steps is not true of a share of them.
            for number, losses in enumerate((of_train, *of_held.T)):
                if shares[number] < 1:
                    losses[:] = np.linspace(stage.losses[number], after[number], count + 1)
        # A stage without rounds moves intercepts for the rounds after it. Fewer rounds are chosen
        # by the held-out losses before it, because their models are those before it.
        if whole_stages and at_start is not None:
            of_held[0] = at_start
        at_start = None if count else of_held[0]
        # The next stage begins with the losses after the last round, computed again.
        keep_last = exhausted or done + count >= max_rounds
        train.append(of_train if keep_last else of_train[:-1])
        held.append(of_held if keep_last else of_held[:-1])
        done += count
        segments.append(segment)
        models = segment.models_after(count) if moved_models is None else moved_models
        ends_here = done == max_rounds and count > 0 and not exhausted
        if whole_stages and ends_here and not risk.is_quadratic:
            _, losses = cast(Any, risk).losses(models)
            of_train[-1], of_held[-1] = losses[0], losses[1:]
        if patience is not None and not keep_last and done:
            so_far = np.concatenate(held).mean(axis=1)
            if len(so_far) - so_far.argmin() > patience:
                train.append(of_train[-1:])
                held.append(of_held[-1:])
                break
    train_path, held_path = (np.concatenate(path)[: max_rounds + 1] for path in (train, held))
    # Back to the best number of rounds: the stages until then, and the models after it.
    wanted = max_rounds if done > max_rounds or max_rounds == 0 else None
    if rule and held_path.shape[1]:
        wanted = _best(held_path, rule)
    if wanted is not None:
        left, kept = min(wanted, len(train_path) - 1), []
        for segment in segments if left else segments[:1]:
            count = min(left, segment.n_rounds)
            paths = [[path.until(count) for path in own] for own in segment.paths]
            # Without a round nothing changes, the intercept neither.
            kept.append(Segment(segment.models if left else start, segment.cuts, paths, count))
            left -= count
            if left == 0:
                break
        segments, models = kept, kept[-1].models_after(kept[-1].n_rounds)
    n_rounds = sum(max(path.n_rounds for path in s.paths[0]) for s in segments)
    return PhaseResult(models, n_rounds, train_path, held_path, segments)


def standard_errors(path: np.ndarray) -> np.ndarray:
    """Of the means over folds that are taken as independent; 0 with a single one."""
    n_folds = path.shape[1]
    if n_folds < 2:
        return np.zeros(len(path))
    with np.errstate(over="ignore", invalid="ignore"):
        return path.std(axis=1, ddof=1) / np.sqrt(n_folds)


def _best(path: np.ndarray, rule: Rule) -> int:
    """The number of rounds with the least mean, or the fewest within a standard error of it."""
    mean = path.mean(axis=1)
    best = int(mean.argmin())
    if rule == "minimum":
        return best
    return int((mean <= mean[best] + standard_errors(path)[best]).argmax())


def _run_stage(rounds, max_rounds, limit, patience, progress):
    """Run rounds of all models until the tables have moved by `limit`.

    Returns their number, and by how much the tables of any model have moved where there is a limit.
    The models of the folds follow the first one. With patience, and no limit, these run along, for
    the held-out loss.
    """
    done, best, best_at, moved = 0, np.inf, 0, 0.0
    steady = not np.isfinite(limit)
    at_once = 1
    if steady:
        at_once = max_rounds if patience is None else max(_ROUNDS_OF_PATIENCE, patience // 4)
    while done < max_rounds:
        count = min(at_once, max_rounds - done)
        for each in rounds[0]:
            each.run(count, progress) if progress is not None else each.run(count)
        done += count
        moved = 0.0 if steady else _moved(rounds[0])
        over = moved >= _SAME * limit or all(each.exhausted for each in rounds[0])
        if steady and patience is not None:
            for own in rounds[1:]:
                for each in own:
                    each.run(done - each.n_run)
            totals = [sum(each.held_total for each in own) for own in rounds[1:]]
            total = np.mean(totals or [0.0])
            if total < best:
                best, best_at = total, done
            over = over or done - best_at > patience
        if over:
            break
        if not steady:
            # As many rounds as would reach the limit at the present speed, at most four times
            # those that were made.
            per_round = max(moved / done, 1e-300)
            at_once = int(np.clip((limit - moved) / per_round, 1, 4 * done))
    if not steady and all(each.exhausted for each in rounds[0]):
        done = max(each.n_run for each in rounds[0])
    for own in rounds[1:]:
        for each in own:
            each.run(done - each.n_run)
    return done, 0.0 if steady else np.max([moved, *map(_moved, rounds[1:])])


def _moved(own):
    """The largest change of a table of a model by the rounds of a stage."""
    moved = [0.0]
    for each in own:
        cuts = each.state.cuts
        tables = cuts.values_in_bins(each.coefficients)
        moved.append(np.abs(tables).max(initial=0.0))
    return float(np.max(moved))


def _lowering(
    segment: Segment, risk: Any, before: list[TableModel], stage: Stage, first: np.ndarray
) -> tuple[Segment, np.ndarray, np.ndarray, list[TableModel]]:
    """The segment with the share of the steps of each model that does not raise its own loss.

    A stage of one round may go far beyond the limit where curvatures are small: those of the first
    model may be far too small for the models of folds. The `first` shares that are tried follow
    those of the stage before. Returns also the shares, the losses afterwards, as in `Stage`, and
    the models.
    """
    models, paths, shares = segment.models, segment.paths, first.copy()
    known = stage.fitted_losses
    assert known is not None
    most = known + ROUNDING * np.abs(known)
    for halvings in range(MOST_HALVINGS + 1):
        if (shares < 1).any():
            segment = replace(
                segment,
                models=[
                    TableModel(
                        old.intercepts + share * (new.intercepts - old.intercepts), new.tables
                    )
                    if share < 1
                    else new
                    for old, new, share in zip(before, models, shares)
                ],
                paths=[[path.times(share) for path in own] for own, share in zip(paths, shares)],
            )
        with np.errstate(over="ignore", invalid="ignore"):  # wherever the steps lead
            after = segment.models_after(segment.n_rounds)
            fitted, losses = risk.losses(after)
        above = ~(fitted <= most)
        if halvings == MOST_HALVINGS or not above.any():
            break
        shares[above] *= 0.5
    return segment, shares, losses, after


def _cumulated(own, name, count):
    """Cumulate the changes of all scores; a score whose rounds have ended changes no more."""
    total = np.zeros(count + 1)
    for each in own:
        changes = np.zeros(count)
        found = getattr(each, name)
        changes[: len(found)] = found
        total[1:] += np.cumsum(changes)
    return total
