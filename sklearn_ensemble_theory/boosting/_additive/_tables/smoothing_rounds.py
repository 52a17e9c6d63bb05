"""Rounds that add the mean of all stumps of a feature, without the rows.

With the columns z of `NormalizedCuts`, the least-squares stump at cut k is ``(z_k'Wr) z_k``. A
smoothing round on feature j adds the mean of these over its m_j cuts,

    f_j <- f_j + (1/m_j) sum_k (z_k'Wr) z_k:

the expected step of boosting with a random cut. It is a linear smoother. With bins of equal weight
and many of them, its matrix is the kernel of the statistic of Anderson and Darling, whose
eigenfunctions are the Legendre polynomials of the feature's ranks, of degrees d = 1, 2, ..., with
eigenvalues 1 / (d (d + 1)) [Anderson and Darling 1952]: each round takes half of what is linear in
the ranks, a sixth of what is quadratic, and so on. So a few rounds fit smooth functions with less
variance than single stumps, and stumps are left for what is not smooth.

Each round takes the feature with the largest mean of ``(z_k'Wr)^2``, the first-order decrease of
the squared error. Jumps that are known beforehand are candidates too, as features with one cut, and
so is the cut between missing and present values. A round on a categorical feature moves all
categories towards their mean residuals, those of little weight less.

A round costs O(m_j P), independent of the number of rows.
"""

from typing import NamedTuple

import numpy as np

from sklearn_ensemble_theory.boosting._additive._tables.table_state import TableState

# The share of its shrunken mean residual by which a category moves in a round.
_CATEGORY_RATE = 0.2


class SmoothingPath(NamedTuple):
    """T smoothing rounds.

    Attributes
    ----------
    cuts : list of T slices or int arrays
        The cuts of each round.
    steps : list of T ndarrays
        The coefficients of their z.
    falls, held_changes : ndarray of shape (T,)
        By how much each round lowered the sum of squares over the training rows, and changed that
        over the held-out rows (0 without a fold).
    """

    cuts: list
    steps: list
    falls: np.ndarray
    held_changes: np.ndarray

    def until(self, n_rounds: int) -> "SmoothingPath":
        """The first rounds."""
        return SmoothingPath(
            self.cuts[:n_rounds],
            self.steps[:n_rounds],
            self.falls[:n_rounds],
            self.held_changes[:n_rounds],
        )

    def falls_by_feature(self, layout) -> np.ndarray:
        """The decrease of the squared error in the rounds of each feature."""
        first = [own.start if isinstance(own, slice) else own[0] for own in self.cuts]
        features = np.searchsorted(layout.offsets, np.array(first, dtype=np.intp), "right") - 1
        return np.bincount(features, self.falls, minlength=len(layout.n_bins))

    def coefficients(self, cuts) -> np.ndarray:
        """The sum of all rounds as coefficients of the z: (P,)."""
        total = np.zeros(cuts.n_cuts)
        for own, step in zip(self.cuts, self.steps):
            total[own] += step
        return total


class SmoothingRounds:
    """Smoothing rounds on a `TableState`, which they change.

    Parameters
    ----------
    state : TableState
    jumps : int array, default=()
        Cuts that are candidates of their own.
    monotonic : int array of shape (p,), default=None
        Features with a constraint, not 0, have no smoothing rounds.
    """

    def __init__(self, state: TableState, jumps=(), monotonic=None) -> None:
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
        jumps = [k for k in np.asarray(jumps, dtype=np.intp) if free[layout.feature_of(k)]]
        self.single = np.concatenate([np.array(jumps, dtype=np.intp), of_valid])
        self.categories = [_Categories(cuts, j) for j in np.flatnonzero(free & layout.categorical)]
        self.categories = [each for each in self.categories if len(each.cuts)]
        self.floor = (1e-14**2) * cuts.squares
        self.exhausted = False
        self.parts: tuple[list, list, list, list] = ([], [], [], [])

    def run(self, n_rounds: int) -> None:
        """At most `n_rounds` more rounds."""
        state = self.state
        values, n_all = state.values, state.n_cuts
        for _ in range(0 if self.exhausted else n_rounds):
            own, step = self._best_step()
            if own is None:
                self.exhausted = True
                return
            before = values[own].copy()
            held_before = values[n_all:][own].copy() if state.has_held else before
            state.subtract(own, step)
            # |r - Zb|^2 = |r|^2 - 2 b'c + b'Qb
            falls = step @ (before + values[own])
            held = 0.0
            if state.has_held:
                held = -(step @ (held_before + values[n_all:][own]))
            for part, entry in zip(self.parts, (own, step, falls, held)):
                part.append(entry)

    @property
    def n_run(self) -> int:
        return len(self.parts[0])

    @property
    def falls(self) -> np.ndarray:
        return np.array(self.parts[2])

    @property
    def held_changes(self) -> np.ndarray:
        return np.array(self.parts[3])

    @property
    def path(self) -> SmoothingPath:
        """All rounds so far."""
        cuts, steps, falls, held = self.parts
        return SmoothingPath(list(cuts), list(steps), np.array(falls), np.array(held))

    def _best_step(self):
        """The cuts of the best round and the coefficients of their z; None if nothing is left."""
        values = self.state.values[: self.state.n_cuts]
        squares = values**2
        cumulated = np.concatenate([[0.0], np.cumsum(squares)])
        means = (cumulated[self.stops] - cumulated[self.starts]) / self.n_used
        gains = np.concatenate(
            [means, squares[self.single], [each.gain(values) for each in self.categories]]
        )
        if not len(gains):
            return None, None
        best = int(gains.argmax())
        if not gains[best] > self.floor:
            return None, None
        if best < len(means):
            own = self.spans[best][0]
            return own, values[own] / self.n_used[best]
        best -= len(means)
        if best < len(self.single):
            own = self.single[best : best + 1]
            return own, values[own]
        each = self.categories[best - len(self.single)]
        return each.cuts, each.step(values)


class _Categories:
    """The step of all categories of one feature at once."""

    def __init__(self, cuts, j):
        own = cuts.layout.cuts_of(j)
        self.cuts = np.arange(own.start, own.stop)[cuts.scale[own] > 0]
        self.scale = cuts.scale[self.cuts]
        weight = cuts.raw_left[self.cuts]
        # Means are shrunk as those of groups of which the average one has as much weight as the
        # prior: a category of that weight moves half as far as one of great weight.
        prior = weight.mean() if len(weight) else 1.0
        self.weight = weight + prior
        self.degrees = max((weight / self.weight).sum(), 1.0)

    def gain(self, values):
        sums = values[self.cuts] / self.scale
        return (sums**2 / self.weight).sum() / self.degrees

    def step(self, values):
        return _CATEGORY_RATE * values[self.cuts] / (self.scale**2 * self.weight)
