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
from scipy.linalg.blas import daxpy, idamax

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
        ordered = free & ~layout.categorical
        spans = [layout.thresholds_of(j) for j in np.flatnonzero(ordered)]
        n_used = [np.count_nonzero(cuts.scale[s]) for s in spans]
        self.spans = [(s, n) for s, n in zip(spans, n_used) if n > 0]
        self.starts = np.array([s.start for s, _ in self.spans], dtype=np.intp)
        self.stops = np.array([s.stop for s, _ in self.spans], dtype=np.intp)
        self.n_used = np.array([n for _, n in self.spans], dtype=float)
        of_valid = layout.offsets[1:][layout.missing & ~layout.categorical] - 1
        jumps = [k for k in np.asarray(jumps, dtype=np.intp) if free[layout.feature[k]]]
        self.single = np.concatenate([np.array(jumps, dtype=np.intp), of_valid])
        self.categories = [_Categories(cuts, j) for j in np.flatnonzero(free & layout.categorical)]
        self.categories = [each for each in self.categories if len(each.cuts)]
        self.floor = _EXHAUSTED**2 * cuts.squares
        self.n_run, self.exhausted = 0, False
        self.falls: list[float] = []
        self.held_changes: list[float] = []
        self.path = SmoothingPath([], [], self.falls)

    def run(self, n_rounds: int) -> None:
        """At most `n_rounds` more rounds."""
        state, has_held = self.state, self.state.has_held
        values, n_all = state.values, state.n_cuts
        for _ in range(0 if self.exhausted else n_rounds):
            # The gain of every candidate: features, whose sums are differences of cumulated
            # squares, single cuts, categorical features.
            squares = values[:n_all] ** 2
            cumulated = np.concatenate([[0.0], np.cumsum(squares)])
            means = (cumulated[self.stops] - cumulated[self.starts]) / self.n_used
            of_categories = [each.gain(values) for each in self.categories]
            gains = np.concatenate([means, squares[self.single], of_categories])
            best = int(gains.argmax()) if len(gains) else 0
            if not len(gains) or not gains[best] > self.floor:
                self.exhausted = True
                return
            if best < len(means):
                own, n_used = self.spans[best]
                step = values[own] / n_used
            elif best < len(means) + len(self.single):
                best -= len(means)
                own = self.single[best : best + 1]
                step = values[own]
            else:
                each = self.categories[best - len(means) - len(self.single)]
                own, step = each.cuts, each.step(values)
            before = values[own].copy()
            held_before = values[n_all:][own].copy() if has_held else before
            state.subtract(own, step)
            # |r - Zb|^2 = |r|^2 - 2 b'c + b'Qb
            fall = step @ (before + values[own])
            held = -(step @ (held_before + values[n_all:][own])) if has_held else 0.0
            for part, entry in zip((*self.path, self.held_changes), (own, step, fall, held)):
                part.append(entry)
            self.n_run += 1


class _Categories:
    """The step of all categories of one feature at once."""

    def __init__(self, cuts: NormalizedCuts, j: int | np.integer) -> None:
        own = cuts.layout.spans[j]
        self.cuts = np.arange(own.start, own.stop)[cuts.scale[own] > 0]
        self.scale = cuts.scale[self.cuts]
        weight = cuts.raw_left[self.cuts]
        # Means are shrunk as those of groups of which the average one has as much weight as the
        # prior: a category of that weight moves half as far as one of great weight.
        prior = weight.mean() if len(weight) else 1.0
        self.weight = weight + prior
        self.degrees = max((weight / self.weight).sum(), 1.0)

    def gain(self, values: np.ndarray) -> float:
        sums = values[self.cuts] / self.scale
        return (sums**2 / self.weight).sum() / self.degrees

    def step(self, values: np.ndarray) -> np.ndarray:
        return _CATEGORY_RATE * values[self.cuts] / (self.scale**2 * self.weight)


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
    state : TableState or RowState
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
        state: TableState | RowState,
        learning_rate: float,
        monotonic: np.ndarray | None = None,
    ) -> None:
        self.state, self.learning_rate = state, learning_rate
        self.rate = (learning_rate / state.cuts.preference).tolist()
        self.floor = learning_rate * _EXHAUSTED * np.sqrt(state.cuts.squares)
        layout = state.cuts.layout
        self.signs = None
        self.categorical = [_BestSet(state, j) for j in np.flatnonzero(layout.categorical)]
        self.single = np.flatnonzero(layout.categorical[layout.feature])
        if monotonic is not None and np.any(monotonic):
            self.signs = np.zeros(state.n_cuts)
            for j in np.flatnonzero(monotonic):  # z is higher on the left
                self.signs[layout.thresholds_of(j)] = -monotonic[j]
        self.sets: list[CategorySet] = []
        self.number_of_set: dict[bytes, int] = {}
        self.rows_of_sets: dict[int, np.ndarray] = {}
        self.parts: list = []
        self.n_run, self.exhausted = 0, state.n_cuts == 0

    def run(self, n_rounds: int, progress: Progress | None = None) -> None:
        """At most `n_rounds` more rounds."""
        plain = not (self.categorical or self.signs is not None or self.state.by_rows)
        take = self._take_plain if plain else self._take_any
        done = 0
        while done < n_rounds and not self.exhausted:
            ks, bs, ds = take(min(_ROUNDS_AT_ONCE, n_rounds - done))
            self.parts.append((np.array(ks, dtype=np.int32), np.array(bs), np.array(ds)))
            done += len(ks)
            if progress is not None:
                progress.advance(steps=len(ks))
        self.n_run += done
        if progress is not None and done < n_rounds:
            progress.finish("no stump lowers the error any further")

    @property
    def path(self) -> StumpPath:
        """All rounds so far."""
        empty = (np.empty(0, dtype=np.int32), np.empty(0), np.empty(0))
        chosen, steps, held = (np.concatenate(part) for part in zip(empty, *self.parts))
        return StumpPath(chosen, steps, held, self.sets, self.learning_rate)

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

    def _take_plain(self, count):
        """Make rounds of two BLAS calls: their cuts, steps and products with held-out residuals.

        The values are never replaced: daxpy adds to them where they are.
        """
        # What the loop reads stands in local names: a round takes a few microseconds.
        ks, bs, ds = [], [], []
        values, views, n_all = self.state.values, self.state.rows.views, self.state.n_cuts
        rate, floor, item, n_values = self.rate, self.floor, values.item, len(values)
        with_held = n_values > n_all
        for _ in range(count):
            k = idamax(values, n_all)  # of the training rows: the held-out products come after
            b = rate[k] * item(k)
            if -floor <= b <= floor:
                self.exhausted = True
                break
            row = views[k]
            if row is None:
                row = self.state.rows.load(k, ks)
            if with_held:
                ds.append(item(n_all + k))
            daxpy(row, values, n_values, -b)
            ks.append(k)
            bs.append(b)
        return ks, bs, ds

    def _take_any(self, count):
        """Make rounds where cuts have a required sign or are sets of categories, or by rows."""
        ks, bs, ds = [], [], []
        state, values, n_all = self.state, self.state.values, self.state.n_cuts
        with_held, n_values = len(values) > n_all, len(values)
        signs = self.signs
        constrained = None if signs is None else np.flatnonzero(signs)
        for _ in range(count):
            size = np.abs(values[:n_all])
            if constrained is not None:
                size[constrained] = np.maximum(signs[constrained] * values[constrained], 0.0)
            size[self.single] = 0.0  # of categories; found as sets below
            k = int(size.argmax())
            best, found = size[k], None
            for feature in self.categorical:
                value, members = feature.best()
                if abs(value) > best:
                    best, found = abs(value), (feature, value, members)
            if found is None:
                b = self.rate[k] * values[k]
            else:
                feature, value, members = found
                key = feature.key(members)
                if key not in self.number_of_set:
                    self.number_of_set[key] = len(self.sets)
                    self.sets.append(feature.category_set(members))
                k = n_all + self.number_of_set[key]
                b = self.learning_rate * value
            if -self.floor <= b <= self.floor or not best > 0:
                self.exhausted = True
                break
            if k < n_all:
                if with_held:
                    ds.append(float(values[n_all + k]))
                if state.by_rows:
                    state.subtract(np.array([k]), np.array([b]))
                else:
                    row = state.rows.views[k]
                    if row is None:
                        row = state.rows.load(k, [i for i in ks if i < n_all])
                    daxpy(row, values, n_values, -b)
            else:  # the column of a set is a sum of those of its categories
                of_set = self.sets[k - n_all]
                own = of_set.cuts
                weights = of_set.scale / state.cuts.scale[own]
                if with_held:
                    ds.append(float(weights @ values[n_all + own]))
                if state.by_rows:
                    state.subtract(own, b * of_set.scale / state.cuts.scale[own])
                else:
                    if k not in self.rows_of_sets:
                        first = state.cuts.layout.spans[of_set.feature].start
                        row = weights @ state.rows.of_feature(of_set.feature)[own - first]
                        while len(self.rows_of_sets) >= _MAX_SETS_KEPT:
                            self.rows_of_sets.pop(next(iter(self.rows_of_sets)))
                        self.rows_of_sets[k] = row
                    daxpy(self.rows_of_sets[k], values, n_values, -b)
            ks.append(k)
            bs.append(b)
        return ks, bs, ds


class _BestSet:
    """The set of categories of one feature that lowers the squared error most."""

    def __init__(self, state: TableState | RowState, j: int | np.integer) -> None:
        self.state, self.feature = state, int(j)
        cuts = state.cuts
        own = cuts.layout.spans[j]
        self.cuts = np.arange(own.start, own.stop)[cuts.scale[own] > 0]
        self.scale = cuts.scale[self.cuts]
        self.preference = cuts.preference[self.cuts]
        weight = cuts.raw_left[self.cuts]
        rest = max(cuts.weight - weight.sum(), 0.0)  # of missing values, and none
        self.has_rest = rest > 1e-12 * cuts.weight
        self.weight = np.append(weight, rest) if self.has_rest else weight
        self.total = self.weight.sum()

    def best(self) -> tuple[float, np.ndarray | None]:
        """Find the best set: its z'Wr, and its members among the categories, a bool array."""
        # Sums of residuals in the categories, from the products with their columns; those of all
        # rows have the sum 0.
        sums = self.state.values[self.cuts] / (self.scale * self.preference)
        if self.has_rest:
            sums = np.append(sums, -sums.sum())
        if len(sums) < 2:
            return 0.0, None
        order = np.argsort(sums / self.weight, kind="stable")
        left = np.cumsum(self.weight[order])[:-1]
        product = left * (self.total - left)
        with np.errstate(divide="ignore", invalid="ignore"):
            values = np.cumsum(sums[order])[:-1] * np.sqrt(self.total / product)
        values = np.where(product > 0, values, 0.0)
        at = int(np.abs(values).argmax())
        members = np.zeros(len(sums), dtype=bool)
        members[order[: at + 1]] = True
        value = values[at]
        if (members[-1] and self.has_rest) or (not self.has_rest and members[0]):
            members, value = ~members, -value  # one name for a set and its complement
        return value, members[: len(self.cuts)]

    def key(self, members: np.ndarray) -> bytes:
        return self.feature.to_bytes(8, "little") + np.packbits(members).tobytes()

    def category_set(self, members: np.ndarray) -> CategorySet:
        weight = self.weight[: len(self.cuts)][members].sum()
        scale = np.sqrt(self.total / (weight * (self.total - weight)))
        return CategorySet(self.feature, self.cuts[members], scale, weight / self.total)
