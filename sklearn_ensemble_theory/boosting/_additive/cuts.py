"""Cuts as columns of length 1, and the residuals of a model as their products with all of them.

Least squares on the residuals r by a stump with a given cut is, once r has mean zero, a regression
on one column, the indicator L of the cut, centred and scaled to length 1:

    z = s (L - a),   a = w'L / w'1,   s = 1 / sqrt(w'1 a (1 - a)).

Where the feature has missing values, a threshold separates the present values only: its column is

    z = s (L - a V),   a = w'L / w'V,   s = 1 / sqrt(w'V a (1 - a)),

which is 0 for missing values, and the cut V alone separates them from the others. The effect of a
missing value is therefore that of no value. Every z has mean zero over the training rows.

Rounds of boosting need ``z'Wr`` for every cut and nothing else of the rows. `TableState` changes
these products by rows of the Gram matrix ``Z'WZ``: O(P) a step for P cuts, whatever the number of
rows. `RowState` sums the residuals of n rows again in all bins, O(n p + P): with few rows and many
cuts that is less, and no products of cuts are counted or kept.
"""

import copy
from collections.abc import Sequence

import numpy as np

from sklearn_ensemble_theory._native.additive import scale_cut_products, sum_over_cuts

from .._dictionary import RowCache
from .sums import CountedGram, CutSums, StoredGram

# A cut that leaves less than this share of the weight on one side is ignored: its correlations
# would be rounding errors.
_MIN_SHARE = 1e-12
# Cuts that separate the same rows, in two features, tie in every round, and rounding would choose
# among them. So that the first is taken, the correlation of each cut is multiplied by a little less
# than that of the cut before it; over all cuts the factor falls by this share.
_TIE = 1e-10

Tables = Sequence[np.ndarray | None]  # of each feature: its value in each bin, None for 0


class NormalizedCuts:
    """The columns z over one training set, and their products, from the sums over its rows.

    Parameters
    ----------
    sums : CutSums
        By fold.
    gram : CountedGram or StoredGram
    fold : int or None
        The fold held out; None trains on all rows.
    known : NormalizedCuts, default=None
        Those of another target with the same weights.

    Attributes
    ----------
    products : ndarray of shape (P,) or (2 P,)
        z'W(y - mean) over the training rows; then, if a fold is held out, over its rows.
    preference : ndarray of shape (P,)
        1, 1 - tie, 1 - 2 tie, ...: the factors by which the first of equal cuts is preferred.
    """

    def __init__(
        self,
        sums: CutSums,
        gram: CountedGram | StoredGram,
        fold: int | None = None,
        known: "NormalizedCuts | None" = None,
    ) -> None:
        train, held = sums.split(fold)
        if known is None:
            self.gram, self.layout, self.fold = gram, gram.layout, fold
            self._set_columns(train)
        else:
            vars(self).update(vars(known))
        self.mean = train.y / train.weight
        self.squares = max(train.yy - train.y * self.mean, 0.0)
        self.products = self.scale * (self._sums_of_columns(train.left_y) - self.share * train.y)
        if held is not None:
            if known is None:
                self.held_weight, self.held_raw = held.weight, held.left_weight
                self.held_left = self._sums_of_columns(self.held_raw)
            # The same columns, and the same mean of y, over rows that have not made them.
            held_products = self.scale * (
                self._sums_of_columns(held.left_y)
                - self.share * held.y
                - self.mean * (self.held_left - self.share * held.weight)
            )
            self.products = np.concatenate([self.products, held_products])
            self.held_squares = held.yy - 2 * self.mean * held.y + self.mean**2 * held.weight

    def _set_columns(self, train: CutSums) -> None:
        self.n_cuts = self.layout.n_cuts
        self.preference = 1 - _TIE * np.arange(self.n_cuts) / max(self.n_cuts, 1)
        self.valid_cut = self.layout.valid_cut
        self.weight, self.raw_left = train.weight, train.left_weight
        left, total, of_valid = self.raw_left, train.weight, 1.0
        present = self.valid_cut >= 0
        self.has_present = bool(present.any())
        if self.has_present:
            of_valid = left[self.valid_cut]
            total = np.where(present, of_valid, train.weight)
        # The share among the present values, 0 for cuts that also separate the missing ones.
        self.valid_share = np.where(present, left / np.where(of_valid > 0, of_valid, 1.0), 0.0)
        right = total - left
        product = left * right
        # the weight of a fold may be too small for products
        valid = (np.minimum(left, right) > _MIN_SHARE * train.weight) & (product > 0)
        product = np.where(valid, product, 1.0)
        self.scale = np.where(valid, np.sqrt(np.where(valid, total, 1.0) / product), 0.0)
        self.left_weight = np.where(present, 0.0, left)  # w'u, where z = s (u - share)
        self.share = self.left_weight / train.weight

    def _sums_of_columns(self, sums: np.ndarray) -> np.ndarray:
        """Sums with u = L - a V, from those with L."""
        return sums - self.valid_share * sums[self.valid_cut] if self.has_present else sums

    def without_products(self) -> "NormalizedCuts":
        """Keep only what makes tables of coefficients, for rounds that are over."""
        kept = copy.copy(self)
        for name in ("gram", "products", "preference", "held_left", "held_raw"):
            vars(kept).pop(name, None)
        return kept

    def rows(self, group: int) -> np.ndarray:
        """Multiply the z of a group of cuts with every z: training rows, then held-out ones."""
        cuts, n_all = self.layout.cuts_of(group), self.n_cuts
        total = self._products_of_indicators(group, None)
        out = np.empty((len(total), n_all if self.fold is None else 2 * n_all))
        held, held_weight, held_left = None, 0.0, None
        if self.fold is not None:
            held = self._products_of_indicators(group, self.fold)
            held_weight, held_left = self.held_weight, self.held_left
        left, scale = self.left_weight, self.scale
        given = total, held, self.weight, held_weight, left, scale, held_left, cuts.start
        scale_cut_products(*given, out)
        return out

    def _products_of_indicators(self, group, fold):
        """u'Wu* of the cuts of a group with all cuts, over all rows or those of a fold: (g, P)."""

        def counted(group):
            return self.gram.total(group) if fold is None else self.gram.block(group)[fold]

        # u = L - a V for thresholds of features with missing values, on both sides of the product.
        block = counted(group)
        if not self.has_present:
            return block
        cuts = self.layout.cuts_of(group)
        valid = self.valid_cut[cuts]
        if (valid >= 0).any():
            own = int(valid.max())
            if cuts.start <= own < cuts.stop:
                of_valid = block[own - cuts.start]
            else:
                other = self.gram.group_for(own)
                of_valid = counted(other)[own - self.layout.cuts_of(other).start]
            block = block - self.valid_share[cuts, None] * of_valid
        columns = np.flatnonzero(self.valid_cut >= 0)
        corrected = block.copy()
        corrected[:, columns] -= self.valid_share[columns] * block[:, self.valid_cut[columns]]
        return corrected

    def tables(self, coefficients: np.ndarray) -> list[np.ndarray | None]:
        """Tabulate sum_k coefficients[k] z_k, of mean 0 over the training rows."""
        moved = np.zeros(len(self.layout.spans), dtype=bool)
        moved[self.layout.feature[coefficients != 0]] = True
        return [
            self.table_of(j, coefficients[span]) if moved[j] else None
            for j, span in enumerate(self.layout.spans)
        ]

    def table_of(self, j: int, coefficients: np.ndarray) -> np.ndarray:
        """Tabulate one feature, from the coefficients of its z."""
        cuts = self.layout.spans[j]
        own = coefficients * self.scale[cuts]
        if self.layout.categorical[j]:
            table = np.append(own, 0.0)
        else:
            # bin b lies left of the cuts b, b + 1, ...
            table = np.zeros(len(own) + 1)
            own[::-1].cumsum(out=table[-2::-1])
            if self.layout.missing[j]:  # the cuts below V are 0 for missing values
                table[:-1] -= own[:-1] @ self.valid_share[cuts][:-1]
        return table - own @ self.share[cuts]

    def coefficients_of(self, tables: Tables) -> np.ndarray:
        """Find the coefficients of the z of which `tables` are the sum, up to constants."""
        jumps = np.zeros(self.n_cuts)
        for j, table in enumerate(tables):
            if table is None or len(table) < 2:
                continue
            cuts = self.layout.spans[j]
            if self.layout.categorical[j]:
                jumps[cuts] = table[:-1] - table[-1]
                continue
            jumps[cuts] = table[:-1] - table[1:]
            if self.layout.missing[j]:
                last = cuts.stop - 1
                share = self.valid_share[cuts.start : last]
                jumps[last] = table[-2] + jumps[cuts.start : last] @ share - table[-1]
        positive = self.scale > 0
        return np.where(positive, jumps / np.where(positive, self.scale, 1.0), 0.0)


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
        z'Wr for every cut over the training rows, times `cuts.preference`; then, if a fold is held
        out, z'Wr over its rows. It is changed in place only.
    rows : CutRows
    start_squares, start_held : float
        The sums of squares of the residuals over the training rows and over the held-out ones.
    """

    by_rows = False

    def __init__(
        self,
        cuts: NormalizedCuts,
        max_cuts: int | None = None,
        tables: Tables | None = None,
        rows: "CutRows | None" = None,
    ) -> None:
        self.cuts = cuts
        self.n_cuts = n_cuts = cuts.n_cuts
        self.values = cuts.products.copy()
        self.values[:n_cuts] *= cuts.preference
        self.rows = CutRows(cuts, max_cuts) if rows is None else rows
        self.has_held = cuts.fold is not None
        self.start_squares = cuts.squares
        self.start_held = cuts.held_squares if self.has_held else 0.0
        if tables is None:
            return
        # The model's own functions are subtracted, each as a sum of columns.
        coefficients = cuts.coefficients_of(tables)
        correlations = self.values[:n_cuts] / cuts.preference
        held, before = self.values[n_cuts:].copy(), self.values.copy()
        for j, span in enumerate(cuts.layout.spans):
            if coefficients[span].any():
                self.values -= coefficients[span] @ self.rows.of_feature(j)
        moved = (before - self.values)[:n_cuts] / cuts.preference
        # |r - Zb|^2 = |r|^2 - 2 b'c + b'Qb
        self.start_squares += coefficients @ moved - 2 * coefficients @ correlations
        if self.has_held:
            moved = (before - self.values)[n_cuts:]
            self.start_held += coefficients @ moved - 2 * coefficients @ held

    def subtract(self, own: slice | np.ndarray, step: np.ndarray) -> None:
        """Subtract ``sum_k step[k] z[own[k]]``, of cuts of one feature, from the residuals."""
        if not isinstance(own, slice) and len(own) == 1:
            # A single cut may be counted without the others of its feature.
            row = self.rows.views[own[0]]
            products = (self.rows.load(int(own[0])) if row is None else row)[None]
        else:
            layout = self.cuts.layout
            j = int(layout.feature[own.start if isinstance(own, slice) else own[0]])
            first = layout.spans[j].start
            whole = self.rows.of_feature(j)
            if isinstance(own, slice):
                products = whole[own.start - first : own.stop - first]
            else:
                products = whole[own - first]
        self.values -= step @ products


class CutRows(RowCache):
    """`NormalizedCuts.rows` by cut: products over the training rows, then the held-out ones."""

    def __init__(self, cuts: NormalizedCuts, max_cuts: int | None) -> None:
        super().__init__(cuts.n_cuts, max_cuts)
        self.cuts = cuts
        self.of_group: dict[int, np.ndarray] = {}

    def load(self, k: int, recent: Sequence[int] = ()) -> np.ndarray:
        """Compute the row of cut k with its group; `recent` are the cuts of the rounds before."""
        self._load_group(self.cuts.gram.group_for(k), recent)
        return self.views[k]

    def of_feature(self, j: int) -> np.ndarray:
        """The rows of all cuts of feature j: (m_j, P) or (m_j, 2 P)."""
        group = self.cuts.n_cuts + j
        if group not in self.groups:
            self._load_group(group)
        return self.of_group[group]

    def _load_group(self, group, recent=()):
        # The values of a state have these factors, and so must what is subtracted from them.
        rows = self.cuts.rows(group)
        rows[:, : self.cuts.n_cuts] *= self.cuts.preference
        cuts = self.cuts.layout.cuts_of(group)
        self.make_room(len(rows), recent)
        for number in [g for g in self.of_group if g not in self.groups]:
            del self.of_group[number]
        self.keep(group, range(cuts.start, cuts.stop), rows)
        self.of_group[group] = rows


class RowState:
    """The residuals of one model at the rows; the interface of `TableState`.

    Parameters
    ----------
    cuts : NormalizedCuts
    codes : unsigned integer array of shape (n, p), in Fortran order
    residual : float64 array of shape (n,)
        With weighted mean 0 over the training rows. It is changed in place.
    weight : array of shape (n,) or None
    is_held : bool array of shape (n,) or None
        The rows of the fold that is held out.
    """

    by_rows = True

    def __init__(
        self,
        cuts: NormalizedCuts,
        codes: np.ndarray,
        residual: np.ndarray,
        weight: np.ndarray | None,
        is_held: np.ndarray | None,
    ) -> None:
        self.cuts, self.codes, self.residual = cuts, codes, residual
        self.n_cuts = cuts.n_cuts
        self.has_held = is_held is not None
        n = len(residual)
        self.weight = np.ones(n) if weight is None else weight
        self.group = np.zeros(n, np.uint8) if is_held is None else is_held.astype(np.uint8)
        squares = np.bincount(self.group, self.weight * residual**2, minlength=2)
        self.start_squares, self.start_held = float(squares[0]), float(squares[1])
        self.values = np.empty(self.n_cuts * (1 + self.has_held))
        self._sum()

    def subtract(self, own: slice | np.ndarray, step: np.ndarray) -> None:
        """Subtract ``sum_k step[k] z[own[k]]``, of cuts of one feature, from the residuals."""
        layout = self.cuts.layout
        j = int(layout.feature[own.start if isinstance(own, slice) else own[0]])
        cuts = layout.spans[j]
        coefficients = np.zeros(cuts.stop - cuts.start)
        if isinstance(own, slice):
            coefficients[own.start - cuts.start : own.stop - cuts.start] = step
        else:
            coefficients[own - cuts.start] = step
        self.residual -= self.cuts.table_of(j, coefficients).take(self.codes[:, j])
        self._sum()

    def _sum(self):
        """Sum z'Wr for every cut from the residuals."""
        cuts, layout = self.cuts, self.cuts.layout
        weighted = self.weight * self.residual
        sums = np.empty((1 + self.has_held, self.n_cuts))
        given = self.codes.T, self.group if self.has_held else None, weighted
        sum_over_cuts(*given, layout.offsets, layout.categorical, sums)
        if cuts.has_present:
            valid = cuts.valid_cut
            sums = sums - cuts.valid_share * sums[:, valid] * (valid >= 0)
        n_all = self.n_cuts
        np.multiply(cuts.scale, sums[0], out=self.values[:n_all])
        self.values[:n_all] *= cuts.preference
        if self.has_held:
            total = weighted[self.group == 1].sum()
            np.multiply(cuts.scale, sums[1] - cuts.share * total, out=self.values[n_all:])
