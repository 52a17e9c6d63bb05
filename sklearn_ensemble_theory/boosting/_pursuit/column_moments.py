"""Second moments of columns and targets, which add up over chunks of rows."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from sklearn_ensemble_theory._rows import Rows
from sklearn_ensemble_theory._scaling import (
    CONSTANT_TO_ROUNDING,
    TargetScale,
    power_of_two,
)
from sklearn_ensemble_theory.boosting._dictionary import CHUNK_BYTES, SMALLEST_SPREAD

# The Gram matrix of so many columns takes 512 MiB, and a few of them are added at a time.
MOST_COLUMNS = 8192
# The unit of columns of zeros.
NO_SIZE = float(np.finfo(np.float64).tiny)


@dataclass
class ColumnMoments:
    """Sums over rows of products of the columns Z = (X, y), about their means.

    Attributes
    ----------
    n_rows : int
    weight : float
    unit : float array of shape (k,)
        Powers of two, about the largest value of each column: squares in these units neither
        overflow nor vanish.
    mean : float array of shape (k,)
        In these units; zeros where nothing is centred.
    gram : float array of shape (k, k)
        In these units.
    low, high : float arrays of shape (k,)
        The range of each column, in its own units.
    single : bool
        Whether y had no axis of targets.
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
    def of(
        cls, X: np.ndarray, y: np.ndarray, weight: np.ndarray | None, centre: bool
    ) -> "ColumnMoments":
        """Of some rows; O(n k^2), with a few rows at a time in double precision.

        Parameters
        ----------
        X : float array of shape (n, d)
        y : float array of shape (n,) or (n, q)
        weight : float array of shape (n,) or None
        centre : bool
        """
        Y, single = y.reshape(len(y), -1), y.ndim == 1
        low = np.concatenate([X.min(axis=0), Y.min(axis=0)]).astype(np.float64)
        high = np.concatenate([X.max(axis=0), Y.max(axis=0)]).astype(np.float64)
        # Where other rows have numbers other than 0, theirs is larger.
        units = (power_of_two(x) if x > 0 else NO_SIZE for x in np.maximum(-low, high))
        unit = np.array(list(units))
        w = np.ones(len(X)) if weight is None else weight
        total = float(w.sum())
        step = max(1, CHUNK_BYTES // (8 * len(unit)))
        parts = [slice(start, start + step) for start in range(0, len(X), step)]
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
        # about the mean of both
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
        """The same in units that are powers of two, none of them smaller than here."""
        share = self.unit / unit
        if (share == 1).all():
            return self
        gram = self.gram * share
        gram *= share[:, None]
        return replace(self, unit=unit, mean=self.mean * share, gram=gram)

    def of_targets_over(self, sizes: np.ndarray) -> "ColumnMoments":
        """Those with each of the last columns, the targets, divided by a power of two."""
        d = len(self.unit) - len(sizes)
        size = np.concatenate([np.ones(d), sizes])
        return replace(self, unit=self.unit / size, low=self.low / size, high=self.high / size)


class OtherRows(NamedTuple):
    """Mean products over rows other than those of a dictionary, in its units.

    Attributes
    ----------
    gram : float array of shape (d, d)
        Of the columns.
    correlations : float array of shape (n_targets, d)
        Of the columns and the targets.
    squares : float array of shape (n_targets,)
        Of the targets.
    """

    gram: np.ndarray
    correlations: np.ndarray
    squares: np.ndarray


class MomentDictionary:
    """What `GramRows` reads of a `ColumnDictionary`, from moments.

    Parameters
    ----------
    moments : ColumnMoments
        Of d columns and some targets.
    d : int

    Attributes
    ----------
    offset, scale : float arrays of shape (d,)
    target : TargetScale
    correlations : float array of shape (n_targets, d)
        Psi'W times the scaled targets.
    squares : float array of shape (n_targets,)
        Mean squares of the scaled targets.
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
        self.target = _target_scale(moments, d)
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

    def of_other_rows(self, other: ColumnMoments) -> OtherRows:
        """The mean products over other rows, whose moments are in the same units.

        Columns and targets are centred and scaled as here.
        """
        d, factors = self.d, self._factors
        change = other.mean - self._mean
        with np.errstate(over="ignore", invalid="ignore"):  # held-out errors are checked
            products = (other.gram / other.weight + np.multiply.outer(change, change)) * factors
            products *= factors[:, None]
        return OtherRows(products[:d, :d], products[d:, :d], products.diagonal()[d:])


def _target_scale(moments: ColumnMoments, d: int) -> TargetScale:
    """That of `TargetScale.about` the means."""
    mean = moments.mean[d:] * moments.unit[d:]
    with np.errstate(over="ignore"):
        size = np.maximum(moments.high[d:] - mean, mean - moments.low[d:])
    if not np.isfinite(size).all():
        raise ValueError("y has differences beyond the largest float; scale y.")
    constant = size <= CONSTANT_TO_ROUNDING * np.abs(mean)
    return TargetScale(mean, np.where(constant, 1.0, size), constant)


def check_columns(d: int, n_folds: int = 1) -> None:
    """Refuse Gram matrices that are too large for the workers that add them up."""
    most = int(MOST_COLUMNS / np.sqrt(n_folds))
    if d > most:
        by_fold = f" for each of {n_folds} parts" if n_folds > 1 else ""
        raise ValueError(
            f"X has {d} features; with Dask collections at most {most} are possible, "
            f"because each chunk sends the products of all pairs of columns{by_fold}."
        )


def moments_of_chunk(chunk: Rows, centre: bool) -> ColumnMoments:
    """The moments of one chunk."""
    return ColumnMoments.of(chunk.X, chunk.y, chunk.weight, centre)
