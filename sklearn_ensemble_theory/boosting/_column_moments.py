"""Second moments of columns and targets, which add up over blocks of rows.

Matching pursuit of a Dask collection reads them once: the Gram matrix of the normalised columns,
the correlations and the held-out errors of every round follow from them. They are kept in units
that are powers of two, so that no square overflows or vanishes and a change of units is exact.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from operator import add

import numpy as np

from sklearn_ensemble_theory._blocks import added
from sklearn_ensemble_theory._folds import (
    first_rows_of,
    folds_by_hash,
    sums_by_fold,
)
from sklearn_ensemble_theory._rows import ChunkedRows, Rows
from sklearn_ensemble_theory._scaling import CONSTANT_TO_ROUNDING, TargetScale, power_of_two

from ._dictionary import CHUNK_BYTES, SMALLEST_SPREAD

# The Gram matrix of so many columns takes 512 MiB, and a few of them are added at a time.
MOST_COLUMNS = 8192
# The unit of columns of zeros.
NO_SIZE = float(np.finfo(np.float64).tiny)


@dataclass
class ColumnMoments:
    """Sums over rows of products of the k columns Z = (X, y), about their means.

    - unit: powers of two, about the largest value of each column: squares in these units neither
      overflow nor vanish.
    - mean, gram: (k,) and (k, k) in these units; the means are 0 where nothing is centred.
    - low, high: the range of each column, in its own units.
    - single: y had no axis of targets.
    """

    n_rows: int
    weight: float
    unit: np.ndarray
    mean: np.ndarray
    gram: np.ndarray
    low: np.ndarray
    high: np.ndarray
    single: bool

    @classmethod
    def of(cls, rows: Rows, centre: bool) -> "ColumnMoments":
        """Sum over some rows, O(n k²), with a few rows at a time in double precision."""
        X, Y, single = rows.X, rows.y.reshape(len(rows.y), -1), rows.y.ndim == 1
        low = np.concatenate([X.min(axis=0), Y.min(axis=0)]).astype(np.float64)
        high = np.concatenate([X.max(axis=0), Y.max(axis=0)]).astype(np.float64)
        # Where other rows have numbers other than 0, theirs is larger.
        units = (power_of_two(x) if x > 0 else NO_SIZE for x in np.maximum(-low, high))
        unit = np.array(list(units))
        w = rows.weights()
        total = float(w.sum())
        step = max(1, CHUNK_BYTES // (8 * len(unit)))
        parts = [slice(start, start + step) for start in range(0, len(X), step)]
        # The means first, in a pass of their own: squares about them lose no digits to the offset.
        mean = np.zeros(len(unit))
        if centre:
            for part in parts:
                mean += w[part] @ (np.hstack([X[part], Y[part]]) / unit)
            mean /= total
        gram = np.zeros((len(unit), len(unit)))
        for part in parts:
            block = np.hstack([X[part], Y[part]]) / unit
            block -= mean
            block *= np.sqrt(w[part])[:, None]
            gram += block.T @ block
        return cls(len(X), total, unit, mean, gram, low, high, single)

    def __add__(self, other: "ColumnMoments") -> "ColumnMoments":
        weight = self.weight + other.weight
        unit = np.maximum(self.unit, other.unit)
        one, two = self.in_units(unit), other.in_units(unit)
        change = two.mean - one.mean
        gram = one.gram + two.gram
        # Products about the mean of both parts: those about their own, and of the means' difference
        # [Chan, Golub and LeVeque 1983].
        gram += (self.weight * (other.weight / weight)) * np.multiply.outer(change, change)
        return ColumnMoments(
            self.n_rows + other.n_rows,
            weight,
            unit,
            one.mean + (other.weight / weight) * change,
            gram,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            self.single,
        )

    def in_units(self, unit: np.ndarray) -> "ColumnMoments":
        """Change to units that are powers of two, none of them smaller than here."""
        share = self.unit / unit
        if (share == 1).all():
            return self
        gram = self.gram * share
        gram *= share[:, None]
        return replace(self, unit=unit, mean=self.mean * share, gram=gram)

    def of_targets_over(self, sizes: np.ndarray) -> "ColumnMoments":
        """Divide each of the last columns, the targets, by a power of two."""
        d = len(self.unit) - len(sizes)
        size = np.concatenate([np.ones(d), sizes])
        return replace(self, unit=self.unit / size, low=self.low / size, high=self.high / size)


class MomentDictionary:
    """What `GramRows` reads of a `ColumnDictionary`, from the moments of d columns and q targets.

    `correlations` (q, d) are Psi'W times the scaled targets, `squares` (q,) their mean squares.
    """

    def __init__(self, moments: ColumnMoments, d: int) -> None:
        self.n, self.d, self._mean = moments.n_rows, d, moments.mean
        mean, unit = moments.mean, moments.unit
        gram = moments.gram / moments.weight
        spread = np.sqrt(gram.diagonal())[:d]
        usable = spread > SMALLEST_SPREAD * np.abs(mean[:d])
        usable &= spread * unit[:d] > 1e-300
        self.offset = mean[:d] * unit[:d]
        self.scale = np.where(usable, spread * unit[:d], 1.0)
        factor = np.where(usable, 1 / np.where(usable, spread, 1.0), 0.0)
        # That of `TargetScale.about` the means: an end of the range deviates most.
        centre = mean[d:] * unit[d:]
        with np.errstate(over="ignore"):
            size = np.maximum(moments.high[d:] - centre, centre - moments.low[d:])
        if not np.isfinite(size).all():
            raise ValueError("y has differences beyond the largest float; scale y.")
        constant = size <= CONSTANT_TO_ROUNDING * np.abs(centre)
        self.target = TargetScale(centre, np.where(constant, 1.0, size), constant)
        self._factors = np.concatenate([factor, unit[d:] / self.target.scale])
        y_factor = np.where(self.target.is_constant, 0.0, self._factors[d:])
        self.correlations = gram[d:, :d] * factor * y_factor[:, None]
        self.squares = gram.diagonal()[d:] * y_factor**2
        self._gram = gram[:d, :d] * factor * factor[:, None]

    def gram_rows(self, chosen: np.ndarray) -> np.ndarray:
        """The chosen rows of the Gram matrix of the normalised columns."""
        return self._gram[chosen]

    def gram(self) -> np.ndarray:
        return self._gram

    def of_other_rows(self, other: ColumnMoments) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Mean products over other rows, whose moments are in the same units."""
        d, factors = self.d, self._factors
        # About the means of the training rows, and not about those of these rows.
        change = other.mean - self._mean
        with np.errstate(over="ignore", invalid="ignore"):  # held-out errors are checked
            products = (other.gram / other.weight + np.multiply.outer(change, change)) * factors
            products *= factors[:, None]
        return products[:d, :d], products[d:, :d], products.diagonal()[d:]


Split = tuple[ColumnMoments, ColumnMoments]


def moments_of_splits(
    rows: ChunkedRows, centre: bool, n_splits: int = 0
) -> tuple[ColumnMoments, Iterable[Split] | None]:
    """The moments of all rows, and those of (training, held-out) rows of each fold; None without.

    Folds without rows make no split, and a ValueError says if none is left, or if X has too many
    columns. All moments are in the same units. One pass over the rows; with folds one more, for
    their numbers.
    """
    n_folds = n_splits or 1
    d, most = rows.n_features, int(MOST_COLUMNS / np.sqrt(n_folds))
    if d > most:
        by_fold = f" for each of {n_folds} parts" if n_folds > 1 else ""
        raise ValueError(
            f"X has {d} features; with Dask collections at most {most} are possible, "
            f"because each chunk sends the products of all pairs of columns{by_fold}."
        )
    if n_folds == 1:
        return rows.sum(ColumnMoments.of, centre), None
    # Folds are a hash of the row's number in the collection, and that needs the lengths of blocks.
    lengths = {number: n for number, n in enumerate(rows.each(len)) if n is not None}
    rows = rows.knowing(first_rows=first_rows_of(lengths))
    fold_of = partial(folds_by_hash, n_splits=n_splits)
    folds = rows.sum(sums_by_fold, n_folds, fold_of, ColumnMoments.of, centre).folds
    folds = [moments for moments in folds if moments is not None]
    if len(folds) < 2:
        raise ValueError(
            f"cv={n_splits} of {folds[0].n_rows} rows leaves no row to train or to validate on."
        )
    unit = np.max([moments.unit for moments in folds], axis=0)
    folds = [moments.in_units(unit) for moments in folds]
    return added(folds), _splits(folds)


def _splits(folds: Sequence[ColumnMoments]) -> Iterator[Split]:
    """Yield (the others, this one) for each fold; sums, because differences would lose digits."""
    # Running sums from both ends: two additions for a fold, however many there are.
    before = [None, *accumulate(folds[:-1], add)]
    after = [*accumulate(folds[:0:-1], add)][::-1] + [None]
    for first, held, last in zip(before, folds, after):
        yield added([first, last]), held
