"""What the rounds on sums share: the state of one model, and the rows of products that it needs."""

from collections.abc import Sequence

import numpy as np

from sklearn_ensemble_theory.boosting._additive._tables.normalized_cuts import NormalizedCuts
from sklearn_ensemble_theory.boosting._dictionary import RowCache

# Cuts that separate the same rows, in two features, tie in every round, and rounding would choose
# among them. So that the first is taken, the correlation of each cut is multiplied by a little less
# than that of the cut before it; over all cuts the factor falls by this share.
_TIE = 1e-10


class TableState:
    """The residuals of one model, as their products with all cuts.

    Parameters
    ----------
    cuts : NormalizedCuts
    max_cuts : int or None
        Of how many cuts the rows of products are kept.
    tables : sequence of ndarray or None, default=None
        The functions that the model has already, one table a feature.
    rows : CutRows, default=None
        The rows of products, where another state has computed them with the same weights.

    Attributes
    ----------
    values : ndarray of shape (P,) or (2 P,)
        z'Wr for every cut over the training rows, times `preference`; then, if a fold is held out,
        z'Wr over its rows.
    preference : ndarray of shape (P,)
        1, 1 - tie, 1 - 2 tie, ...
    rows : CutRows
    """

    by_rows = False

    def __init__(
        self,
        cuts: NormalizedCuts,
        max_cuts: int | None = None,
        tables: Sequence[np.ndarray | None] | None = None,
        rows: "CutRows | None" = None,
    ) -> None:
        self.cuts = cuts
        self.n_cuts = n_cuts = cuts.n_cuts
        self.preference = tie_factors(n_cuts)
        self.values = cuts.start()
        self.values[:n_cuts] *= self.preference
        self.rows = CutRows(cuts, self.preference, max_cuts) if rows is None else rows
        self.has_held = cuts.fold is not None
        self.start_squares = cuts.squares
        self.start_held = cuts.held_squares if self.has_held else 0.0
        if tables is not None:
            self._subtract(cuts.coefficients_of(tables))

    def subtract(self, own, step):
        """Subtract ``sum_k step[k] z[own[k]]``, of cuts of one feature, from the residuals."""
        self.values -= step @ self._products(own)

    def _products(self, own):
        if not isinstance(own, slice) and len(own) == 1:
            row = self.rows.views[own[0]]
            return (self.rows.load(int(own[0])) if row is None else row)[None]
        first = own.start if isinstance(own, slice) else int(own[0])
        layout = self.cuts.layout
        j = layout.feature_of(first)
        whole, start = self.rows.of_feature(j), layout.cuts_of(j).start
        if isinstance(own, slice):
            return whole[own.start - start : own.stop - start]
        return whole[own - start]

    def _subtract(self, coefficients):
        layout = self.cuts.layout
        correlations = self.values[: self.n_cuts] / self.preference
        held = self.values[self.n_cuts :].copy()
        before = self.values.copy()
        for j in range(len(layout.n_bins)):
            own = coefficients[layout.cuts_of(j)]
            if own.any():
                self.values -= own @ self.rows.of_feature(j)
        moved = (before - self.values)[: self.n_cuts] / self.preference
        # |r - Zb|^2 = |r|^2 - 2 b'c + b'Qb
        self.start_squares += coefficients @ moved - 2 * coefficients @ correlations
        if self.has_held:
            moved = (before - self.values)[self.n_cuts :]
            self.start_held += coefficients @ moved - 2 * coefficients @ held


def tie_factors(n_cuts: int) -> np.ndarray:
    """1, 1 - tie, 1 - 2 tie, ...: the factors by which the first of equal cuts is preferred."""
    return 1 - _TIE * np.arange(n_cuts) / max(n_cuts, 1)


class CutRows(RowCache):
    """`NormalizedCuts.rows` by cut: products over the training rows, then the held-out ones."""

    def __init__(self, cuts, preference, max_cuts):
        super().__init__(len(preference), max_cuts)
        self.cuts, self.preference = cuts, preference
        self.of_group: dict[int, np.ndarray] = {}

    def load(self, k, recent=()):
        """The row of cut k, computed with its group; `recent` are the cuts of the rounds before."""
        self._load_group(self.cuts.gram.group_for(k), recent)
        return self.views[k]

    def of_feature(self, j):
        """The rows of all cuts of feature j: (m_j, P) or (m_j, 2 P)."""
        group = self.cuts.gram.whole(j)
        if group not in self.groups:
            self._load_group(group)
        return self.of_group[group]

    def _load_group(self, group, recent=()):
        gram = self.cuts.gram
        rows = self.cuts.rows(group)
        rows[:, : len(self.preference)] *= self.preference
        cuts = gram.cuts_of(group)
        self.make_room(len(rows), recent)
        for number in [g for g in self.of_group if g not in self.groups]:
            del self.of_group[number]
        self.keep(group, range(cuts.start, cuts.stop), rows)
        self.of_group[group] = rows
