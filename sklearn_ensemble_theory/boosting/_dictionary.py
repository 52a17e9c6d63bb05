"""The columns of X as a dictionary psi_1 ... psi_d: centred, scaled, and their Gram matrix.

Greedy algorithms for the squared loss need the products psi_j'W(y - u) only, and a step along psi_k
changes them by row k of the Gram matrix. Its rows are computed when they are first needed and kept
while there is memory. Matching pursuit, Frank-Wolfe over columns and L2-boosting by stumps share
this cache; what they compute at a time, and how, is their own.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from sklearn_ensemble_theory._running import SHARED_WORK, threads_for
from sklearn_ensemble_theory._scaling import LARGEST, feature_ranges

# Columns worked on together: enough that the product runs from the processor's cache.
BLOCK = 64
# Rows of X centred at a time.
CHUNK_BYTES = 2**20
# A column whose root mean square is below this share of its largest value is rounding.
SMALLEST_SPREAD = 1e-13
# Once this share of the rows was needed, the rest is computed in one go.
SHARE_BEFORE_ALL = 0.25
# With so few multiplications the whole matrix takes no longer than the search for what is likely;
# with so few, no longer than a second and a third part of it.
FEW_PRODUCTS, FEW_MORE_PRODUCTS = 10**6, 2 * 10**7
# Memory for rows, where X itself is smaller (bytes).
MIN_MEMORY = 2**28
# Rounds that are looked back on to find the rows that were used least recently.
RECENT_ROUNDS = 1000


class ColumnDictionary:
    """psi_j = (x_j - offset_j) / scale_j under weights that sum to 1; nothing of X is copied.

    With `centre` the offsets are the weighted means. The scale is by default the root mean squares,
    so that every psi_j has mean square 1. Columns that are zero, or constant when centred, are not
    `usable`: their psi is 0.
    """

    def __init__(
        self, X: Any, weight: np.ndarray, centre: bool, scale: np.ndarray | None = None
    ) -> None:
        self.sparse = sp.issparse(X)
        self.X = X.tocsc() if self.sparse else X
        self.weight = weight
        self.n, self.d = X.shape
        # By halves, which are exact: the mean of the largest floats may round to more.
        half = np.asarray(self.X.T @ (0.5 * weight)) if centre else np.zeros(self.d)
        self.offset = 2 * np.clip(half, -0.5 * LARGEST, 0.5 * LARGEST)
        spread = self._spread()
        self.usable = (spread > SMALLEST_SPREAD * np.abs(self.offset)) & (spread > 1e-300)
        self.scale = np.where(self.usable, spread if scale is None else scale, 1.0)
        # A power of two, exact, by which sums of columns near the largest float do not overflow.
        self._unit = 2.0**-30 if np.max(self.scale, initial=0.0) > 1e290 else 1.0

    @property
    def is_plain(self) -> bool:
        """Whether sums over dense columns, divided by `scale`, are all there is to products."""
        return not self.sparse and self._unit == 1.0 and self.X.flags.c_contiguous

    def _chunks(self, work: float = 0.0) -> Iterator[Any]:
        """Slices of the rows, for products of so many multiplications in all."""
        rows = max(1, CHUNK_BYTES // (8 * max(self.d, 1)))
        if work >= SHARED_WORK:  # threads that share a product need a large one
            rows = max(rows, self.n // 16)
        for first in range(0, self.n, rows):
            yield slice(first, first + rows)

    def _spread(self) -> np.ndarray:
        """Root mean squares about the offsets."""
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            squares = self._squares(np.ones(self.d))
        rough = ~((squares > 1e-200) & (squares < 1e200))
        if not rough.any():
            return np.sqrt(squares)
        if not self.sparse:
            feature_ranges(self.X)
        # Constant columns, or numbers whose squares overflow or vanish: divide them first.
        largest = self._largest()
        return largest * np.sqrt(self._squares(largest))

    def _largest(self) -> np.ndarray:
        if self.sparse:
            largest = abs(self.X).max(axis=0).toarray().ravel()
        else:
            largest = np.maximum(self.X.max(axis=0), -self.X.min(axis=0))
        return np.where(largest > 1e-300, largest, 1.0)

    def _squares(self, size: np.ndarray) -> np.ndarray:
        """Weighted mean squares about the offsets of the columns divided by `size`."""
        offset = self.offset / size
        if self.sparse:
            scaled = self.X.multiply(1 / size).tocsc()
            scaled.data = scaled.data**2
            return np.maximum(scaled.T @ self.weight - offset**2, 0.0)
        squares, rescale = np.zeros(self.d), (size != 1).any()
        for rows in self._chunks():
            block = self.X[rows] / size if rescale else self.X[rows] - offset
            if rescale:
                block -= offset
            np.square(block, out=block)
            squares += self.weight[rows] @ block
        return squares

    def columns(self, chosen: np.ndarray, X: Any = None) -> np.ndarray:
        """psi of the chosen columns, as an array of shape (k, n); on the rows of X if given."""
        X = self.X if X is None else X
        block = X[:, chosen].toarray().T if sp.issparse(X) else X[:, chosen].T
        with np.errstate(over="ignore", invalid="ignore"):  # predictions are checked
            if self._unit != 1.0:
                block = block * self._unit
            block = block - self.offset[chosen, None] * self._unit
            block /= self.scale[chosen, None] * self._unit
        block[~self.usable[chosen]] = 0.0
        return block

    def products(self, values: np.ndarray) -> np.ndarray:
        """psi_j'W v for all j: (d,) for v of shape (n,), (k, d) for shape (k, n)."""
        unit = self._unit
        weighted = values * (self.weight * unit)
        sums = weighted.sum(axis=-1)
        products = np.asarray(self.X.T @ weighted.T).T - np.multiply.outer(sums, self.offset)
        return np.where(self.usable, products / (self.scale * unit), 0.0)

    def gram_rows(self, chosen: np.ndarray) -> np.ndarray:
        """The chosen rows of Psi'W Psi: (k, d). A chunk of rows of X at a time where X is dense."""
        if self.sparse:
            return self.products(self.columns(chosen))
        sums = np.zeros((len(chosen), self.d))
        totals = np.zeros(len(chosen))
        work = float(self.n) * sums.size
        with threads_for(work):
            for rows in self._chunks(work):
                X = self.X[rows]
                block = self.columns(chosen, X)
                block *= self.weight[rows]
                sums += block @ X
                totals += block.sum(axis=1)
        sums -= np.multiply.outer(totals, self.offset)
        return np.where(self.usable, sums / self.scale, 0.0)

    def gram(self) -> np.ndarray:
        """Psi'W Psi: (d, d). O(n d²), a chunk of rows at a time."""
        if self.sparse:
            blocks = np.array_split(np.arange(self.d), max(1, self.d // BLOCK))
            return np.concatenate([self.products(self.columns(block)) for block in blocks])
        factor = np.where(self.usable, 1 / self.scale, 0.0)
        root = np.sqrt(self.weight)
        gram = np.zeros((self.d, self.d))
        work = float(self.n) * gram.size
        with threads_for(work):
            for rows in self._chunks(work):
                block = self.X[rows] - self.offset
                block *= factor
                block *= root[rows, None]
                gram += block.T @ block
        return gram


def coefficients_in_units(coefficients: np.ndarray, scale: float | np.ndarray) -> np.ndarray:
    """coefficients / scale; a ValueError where the quotient is not finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        found = coefficients / scale
    if not np.isfinite(found).all():
        raise ValueError("X is so small, or y so large, that coefficients overflow; scale them.")
    return found


# --- rows of the Gram matrix ----------------------------------------------------------------------


class RowCache:
    """Rows by number, computed in groups and forgotten in groups; at most `most`, None for all.

    `views` has each row where it is kept, None elsewhere. It is changed in place only, so that an
    inner loop may hold it and do nothing but index it. `groups` has the numbers in each group that
    is kept, oldest group first.
    """

    def __init__(self, n: int, most: int | None = None) -> None:
        self.most = most
        self.views: list = [None] * n
        self.is_kept = np.zeros(n, dtype=bool)
        self.groups: dict[int, Sequence[int]] = {}

    def keep(self, group: int, members: Sequence[int], rows: np.ndarray) -> None:
        """Keep the rows of a group: ``rows[i]`` is the row with number ``members[i]``."""
        self.groups[group] = members
        for number, row in zip(members, rows):
            self.views[number] = row
        self.is_kept[members] = True

    def make_room(self, n_new: int, recent: Sequence[int] = ()) -> None:
        """Forget groups until `n_new` more rows fit.

        The groups whose rows were used least recently go first, those of the same age in the
        order in which they came. Inner loops keep no account of use: `recent` are the rows used in
        the rounds before, in order.
        """
        if self.most is None:
            return
        n_kept = sum(map(len, self.groups.values()))
        if n_kept + n_new <= self.most:
            return
        recent = np.array(recent[-RECENT_ROUNDS:], dtype=np.intp)
        last_use = np.full(len(self.views), -1)
        last_use[recent] = np.arange(len(recent))
        for group in sorted(self.groups, key=lambda g: last_use[self.groups[g]].max()):
            members = self.groups.pop(group)
            for number in members:
                self.views[number] = None
            self.is_kept[members] = False
            n_kept -= len(members)
            if n_kept + n_new <= self.most:
                return


class Columns(Protocol):
    """A dictionary of n rows and d columns, as `GramRows` needs it."""

    n: int
    d: int
    offset: np.ndarray
    scale: np.ndarray

    def gram_rows(self, chosen: np.ndarray) -> np.ndarray: ...

    def gram(self) -> np.ndarray: ...


class GramRows(RowCache):
    """Rows of the Gram matrix of a dictionary of columns: ``rows.get(j, c)``.

    A row is computed together with those of the columns that are likely to be needed next, `block`
    of them, or fewer where fewer will ever be needed; once `SHARE_BEFORE_ALL` of them were needed,
    all the others follow at once, those of a small matrix with the first row. So a greedy step
    costs O(d), and at most about twice the products of the cheapest plan are computed.
    """

    def __init__(self, dictionary: Columns, block: int = BLOCK) -> None:
        d = dictionary.d
        memory = max(MIN_MEMORY, 8 * dictionary.n * d)
        super().__init__(d, max(2 * BLOCK, memory // (8 * d)))
        self.dictionary = dictionary
        self.block = min(block, BLOCK, d)
        self.all_fit = 8 * d * d <= memory
        is_dense = isinstance(dictionary, ColumnDictionary) and not dictionary.sparse
        self.n_products = dictionary.n * d * d if is_dense else math.inf

    def get(self, j: int, correlations: np.ndarray, recent: Sequence[int] = ()) -> np.ndarray:
        """Row j; see `load` for the other arguments."""
        row = self.views[j]
        return self.load(j, correlations, recent) if row is None else row

    def load(self, j: int, correlations: np.ndarray, recent: Sequence[int] = ()) -> np.ndarray:
        """Compute row j, which is not kept, and others."""
        if self.all_fit and (
            self.n_products <= (FEW_MORE_PRODUCTS if self.groups else FEW_PRODUCTS)
            or np.count_nonzero(self.is_kept) >= SHARE_BEFORE_ALL * len(self.views)
        ):
            self.load_all()
            return self.views[j]
        size = np.abs(correlations)
        size[self.is_kept] = -1.0
        size[j] = np.inf
        likely = np.argpartition(-size, self.block - 1)[: self.block]
        return self.compute(j, likely[size[likely] > 0], recent)

    def compute(self, j: int, likely: np.ndarray, recent: Sequence[int] = ()) -> np.ndarray:
        """Compute row j and those of `likely` that are not kept; see `load`."""
        wanted = np.zeros(len(self.views), dtype=bool)
        wanted[likely] = True
        wanted[self.is_kept] = False
        wanted[j] = True
        likely = np.flatnonzero(wanted)
        self.make_room(len(likely), recent)
        rows = self.dictionary.gram_rows(likely)
        self.keep(j, likely.tolist(), rows)
        return self.views[j]

    def load_all(self) -> None:
        """Compute the whole Gram matrix."""
        self.groups.clear()
        self.keep(0, range(len(self.views)), self.dictionary.gram())
