"""Rounds of boosting on the products of residuals with all cuts: smoothing rounds, and stumps.

With the columns z of `NormalizedCuts`, the least-squares stump at cut k is ``(z_k'Wr) z_k``.
Boosting with learning rate nu is matching pursuit [Bach, §10.3.3]: take the cut with the largest
``|z'Wr|``, and ``r <- r - nu (z'Wr) z``. All that the next round needs is ``z'Wr`` for every cut,
and that changes by a row of the Gram matrix ``Q = Z'WZ``:

    c <- c - nu c[k] Q[k]

A round costs O(P) for P cuts, independent of the number of rows. The constant need not be fitted
again: every z has mean zero. This is the boosting loop of `boosting._loop`, written again for
speed: a risk, a weak learner and a step rule there work on arrays as long as the rows, here a round
is two BLAS calls on an array as long as the cuts.

A *smoothing round* on feature j adds the mean of the stumps over its m_j cuts,

    f_j <- f_j + (1/m_j) sum_k (z_k'Wr) z_k:

the expected step of boosting with a random cut. It is a linear smoother. With bins of equal weight
and many of them, its matrix is the kernel of the statistic of Anderson and Darling, whose
eigenfunctions are the Legendre polynomials of the feature's ranks, of degrees d = 1, 2, ..., with
eigenvalues 1 / (d (d + 1)) [Anderson and Darling 1952]: each round takes half of what is linear in
the ranks, a sixth of what is quadratic, and so on. So a few rounds fit smooth functions with less
variance than single stumps, and stumps are left for what is not smooth.

A stump of a categorical feature separates a set of its categories from the others. The best set
consists of those with the lowest or the highest mean residuals [Fisher 1958; Breiman et al. 1984],
so that the categories are ordered by these in each round, at a cost of O(K log K). Its column is a
sum of columns of single categories.
"""

from typing import NamedTuple

import numpy as np

from ..._native.additive import best_smoothing, boost_stumps
from ..._running import Progress
from .cuts import NormalizedCuts, RowState, TableState
from .sums import CutLayout

# If no correlation is above this share of the length of y, the residuals are orthogonal to all
# stumps up to rounding, and the rounds end.
_EXHAUSTED = 1e-14
# The share of its shrunken mean residual by which a category moves in a smoothing round.
_CATEGORY_RATE = 0.2
# Rounds between two reports of the progress.
_ROUNDS_AT_ONCE = 2**14
# Rows of products with sets of categories that are kept.
_MAX_SETS_KEPT = 256


# --- smoothing rounds -----------------------------------------------------------------------------


class SmoothingPath(NamedTuple):
    """T smoothing rounds.

    Attributes
    ----------
    cuts : list of T slices or int arrays
        The cuts of each round.
    steps : list of T ndarrays
        The coefficients of their z.
    falls : list of T floats
        By how much each round lowered the sum of squares over the training rows.
    """

    cuts: list
    steps: list
    falls: list

    def until(self, n_rounds: int) -> "SmoothingPath":
        """The first rounds."""
        return SmoothingPath(*(part[:n_rounds] for part in self))

    def times(self, share: float) -> "SmoothingPath":
        """The same rounds with shorter steps."""
        return self._replace(steps=[share * step for step in self.steps])

    def falls_by_feature(self, layout: CutLayout) -> np.ndarray:
        """Sum the decrease of the squared error by feature."""
        first = [own.start if isinstance(own, slice) else own[0] for own in self.cuts]
        features = layout.feature[np.array(first, dtype=np.intp)]
        return np.bincount(features, np.array(self.falls), minlength=len(layout.n_bins))

    def coefficients(self, cuts: NormalizedCuts) -> np.ndarray:
        """Sum all rounds as coefficients of the z: (P,)."""
        total = np.zeros(cuts.n_cuts)
        for own, step in zip(self.cuts, self.steps):
            total[own] += step
        return total


class SmoothingRounds:
    """Smoothing rounds on the state of a model, which they change.

    Each round takes the feature with the largest mean of ``(z_k'Wr)^2``, the first-order decrease
    of the squared error. Jumps that are known beforehand are candidates too, as features with one
    cut, and so is the cut between missing and present values. A round on a categorical feature
    moves all categories towards their mean residuals, those of little weight less.

    Parameters
    ----------
    state : TableState or RowState
    jumps : int array, default=()
        Cuts that are candidates of their own.
    monotonic : int array of shape (p,), default=None
        Features with a constraint, not 0, have no smoothing rounds.

    Attributes
    ----------
    path : SmoothingPath
    falls, held_changes : list of T floats
        By how much each round lowered the sum of squares over the training rows, and changed that
        over the held-out rows.
    n_run : int
    exhausted : bool
        Whether no round lowers the squared error any further.
    """

    def __init__(
        self,
        state: TableState | RowState,
        jumps: np.ndarray | tuple = (),
        monotonic: np.ndarray | None = None,
    ) -> None:
        self.state = state
        cuts, layout = state.cuts, state.cuts.layout
        free = np.ones(len(layout.n_bins), bool) if monotonic is None else monotonic == 0
        # Candidates: features with thresholds, single cuts, categorical features.
        counted = np.concatenate([[0], np.cumsum(cuts.scale > 0)])
        stops = layout.offsets[1:] - (layout.missing & ~layout.categorical)
        n_used = counted[stops] - counted[layout.offsets[:-1]]
        ordered = np.flatnonzero(free & ~layout.categorical & (n_used > 0))
        self.starts, self.stops = layout.offsets[ordered], stops[ordered]
        self.n_used = n_used[ordered].astype(float)
        of_valid = layout.offsets[1:][layout.missing & ~layout.categorical] - 1
        jumps = [k for k in np.asarray(jumps, dtype=np.intp) if free[layout.feature[k]]]
        self.single = np.concatenate([np.array(jumps, dtype=np.intp), of_valid])
        self.categories: list[np.ndarray] = []
        self.shrink: list[np.ndarray] = []
        factors = []
        for j in np.flatnonzero(free & layout.categorical):
            span = layout.spans[j]
            own = span.start + np.flatnonzero(cuts.scale[span])
            if not len(own):
                continue
            # Means are shrunk as those of groups of which the average one has as much weight as
            # the prior: a category of that weight moves half as far as one of great weight.
            weight = cuts.raw_left[own]
            shrunk = weight + weight.mean()
            self.categories.append(own)
            self.shrink.append(1 / (cuts.scale[own] ** 2 * shrunk))
            factors.append(self.shrink[-1] / max((weight / shrunk).sum(), 1.0))
        none = np.empty(0)
        # Where each feature begins, the cuts of the categories, and the factors of their squares.
        self.of_categories = (
            np.cumsum([0, *map(len, self.categories)], dtype=np.intp),
            np.concatenate([none, *self.categories]).astype(np.intp),
            np.concatenate([none, *factors]),
        )
        self.floor = _EXHAUSTED**2 * cuts.squares
        self.n_run, self.exhausted = 0, False
        self.falls: list[float] = []
        self.held_changes: list[float] = []
        self.path = SmoothingPath([], [], self.falls)

    def run(self, n_rounds: int) -> None:
        """At most `n_rounds` more rounds."""
        state, has_held = self.state, self.state.has_held
        values, n_all, n_spans = state.values, state.n_cuts, len(self.starts)
        candidates = self.starts, self.stops, self.n_used, self.single, *self.of_categories
        for _ in range(0 if self.exhausted else n_rounds):
            best = best_smoothing(values, *candidates, self.floor)
            if best < 0:
                self.exhausted = True
                return
            own: slice | np.ndarray
            if best < n_spans:
                own = slice(self.starts[best], self.stops[best])
                step = values[own] / self.n_used[best]
            elif best < n_spans + len(self.single):
                best -= n_spans
                own = self.single[best : best + 1]
                step = values[own]
            else:
                best -= n_spans + len(self.single)
                own = self.categories[best]
                step = _CATEGORY_RATE * values[own] * self.shrink[best]
            before = values[own].copy()
            held_before = values[n_all:][own].copy() if has_held else before
            state.subtract(own, step)
            # |r - Zb|^2 = |r|^2 - 2 b'c + b'Qb
            fall = step @ (before + values[own])
            held = -(step @ (held_before + values[n_all:][own])) if has_held else 0.0
            for part, entry in zip((*self.path, self.held_changes), (own, step, fall, held)):
                part.append(entry)
            self.n_run += 1


# --- stumps ---------------------------------------------------------------------------------------


class CategorySet(NamedTuple):
    """A stump of a categorical feature: `cuts` are those of the categories on its left side."""

    feature: int
    cuts: np.ndarray
    scale: float
    share: float


class StumpPath(NamedTuple):
    """The rounds of L2-boosting, T in number.

    Attributes
    ----------
    chosen : int32 ndarray of shape (T,)
        The cut of each round; P + i for the set number i of categories. T is below the number of
        rounds that was required where the residuals became orthogonal to all z.
    steps : float64 ndarray of shape (T,)
        What was added is ``steps[t] * z[chosen[t]]``.
    held : float64 ndarray of shape (T,)
        ``z[chosen[t]]'W(y - f)`` over the held-out rows before round t; empty without a fold.
    sets : list of CategorySet
    learning_rate : float
    """

    chosen: np.ndarray
    steps: np.ndarray
    held: np.ndarray
    sets: list
    learning_rate: float

    def until(self, n_rounds: int) -> "StumpPath":
        """The first rounds."""
        return self._replace(
            chosen=self.chosen[:n_rounds], steps=self.steps[:n_rounds], held=self.held[:n_rounds]
        )

    def times(self, share: float) -> "StumpPath":
        """The same rounds with shorter steps."""
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
        sums = np.zeros(n_cuts + len(self.sets))
        np.add.at(sums, self.chosen, self.steps)
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

    Parameters
    ----------
    state : TableState
    learning_rate : float in (0, 1]
    monotonic : int array of shape (p,), default=None
        1 or -1 for features with an increasing or decreasing function, 0 for the others.

    Attributes
    ----------
    n_run : int
    exhausted : bool
        Whether no stump lowers the squared error any further.
    """

    def __init__(
        self,
        state: TableState,
        learning_rate: float,
        monotonic: np.ndarray | None = None,
    ) -> None:
        self.state, self.learning_rate = state, learning_rate
        self.rate = np.append(learning_rate / state.cuts.preference, learning_rate)
        self.floor = learning_rate * _EXHAUSTED * np.sqrt(state.cuts.squares)
        layout = state.cuts.layout
        # Cuts of categories are found as sets, and z is higher on the left of a threshold.
        self.sets = CategorySets(state.cuts) if layout.categorical.any() else None
        self.signs = None
        if monotonic is None:
            monotonic = np.zeros(len(layout.n_bins), dtype=int)
        if self.sets is not None or monotonic.any():
            self.signs = np.array([np.ones(state.n_cuts), -np.ones(state.n_cuts)])
            self.signs[:, layout.categorical[layout.feature]] = 0.0
            for j in np.flatnonzero(monotonic):
                self.signs[:, layout.thresholds_of(j)] = [[-monotonic[j]], [0.0]]
        self.rows_of_sets: dict[int, np.ndarray] = {}
        self.chosen = np.empty(0, dtype=np.int32)
        self.parts: list = []
        self.n_run, self.exhausted = 0, state.n_cuts == 0

    def run(self, n_rounds: int, progress: Progress | None = None) -> None:
        """At most `n_rounds` more rounds."""
        state, done = self.state, 0
        while done < n_rounds and not self.exhausted:
            count = min(_ROUNDS_AT_ONCE, n_rounds - done)
            self.chosen = chosen = np.full(count, -1, dtype=np.int32)
            part = chosen, np.empty(count), np.empty(count)
            given = state.values, self._row, self.rate, self.signs, self.sets, self.floor
            made = boost_stumps(*given, *part)
            self.exhausted = made < count
            self.parts.append(tuple(each[:made] for each in part))
            done += made
            if progress is not None:
                progress.advance(steps=made)
        self.n_run += done
        if progress is not None and done < n_rounds:
            progress.finish("no stump lowers the error any further")

    def _row(self, k: int) -> np.ndarray:
        """Products of the column of cut k, or of a set of categories, with all others."""
        cuts, rows = self.state.cuts, self.state.rows
        if k < cuts.n_cuts:
            row = rows.views[k]
            if row is None:
                recent = self.chosen[(self.chosen >= 0) & (self.chosen < cuts.n_cuts)]
                row = rows.load(k, recent.tolist())
            return row
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

    @property
    def path(self) -> StumpPath:
        """All rounds so far."""
        empty = (np.empty(0, dtype=np.int32), np.empty(0), np.empty(0))
        chosen, steps, held = (np.concatenate(part) for part in zip(empty, *self.parts))
        if not self.state.has_held:
            held = held[:0]
        sets = [] if self.sets is None else self.sets.found
        return StumpPath(chosen, steps, held, sets, self.learning_rate)

    @property
    def falls(self) -> np.ndarray:
        """By how much each round lowered the sum of squares over the training rows."""
        return (2 / self.learning_rate - 1) * self.path.steps**2

    @property
    def held_changes(self) -> np.ndarray:
        """By how much each round changed the sum of squares over the held-out rows."""
        cuts, path = self.state.cuts, self.path
        # |z|^2 = s^2 (w'L (1 - 2a) + a^2 w'V) over these rows, where all sums are known: of every
        # cut, and of the sets of categories.
        present = cuts.valid_cut >= 0
        a = np.where(present, cuts.valid_share, cuts.share)
        total = np.where(present, cuts.held_raw[cuts.valid_cut], cuts.held_weight)
        of_cuts = cuts.scale**2 * (cuts.held_raw * (1 - 2 * a) + a**2 * total)
        of_sets = []
        for each in path.sets:
            left = cuts.held_raw[each.cuts].sum()
            share = each.share
            length = left * (1 - 2 * share) + share**2 * cuts.held_weight
            of_sets.append(each.scale**2 * length)
        # |r - bz|^2 - |r|^2 = b (b |z|^2 - 2 z'r), with all sums over the held-out rows.
        lengths = np.concatenate([of_cuts, of_sets])
        return path.steps * (path.steps * lengths[path.chosen] - 2 * path.held)


class CategorySets:
    """The sets of categories that rounds of stumps choose among, features one after the other.

    Attributes
    ----------
    offsets : int array of shape (q + 1,)
        Where the categories of each feature begin.
    cuts, unit, scale, weight : arrays of shape (K,)
        The cut of each category, the product with its column where its residuals have the sum 1,
        the scale of that column, and its weight.
    rest : array of shape (q,)
        The weight of the rows without a category, or 0.
    numbers : list of q dicts
        The numbers of the sets that are known, P, P + 1, ..., by their members as bytes.
    found : list of CategorySet
        In the order of these numbers.
    """

    def __init__(self, cuts: NormalizedCuts) -> None:
        layout = cuts.layout
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
