"""Second moments of columns and targets, which add up over chunks of rows."""

from dataclasses import dataclass

import numpy as np

from sklearn_ensemble_theory._chunks.row_checks import CheckedChunk
from sklearn_ensemble_theory._numerics.scaling import (
    CONSTANT_TO_ROUNDING,
    TargetScale,
    power_of_two,
)
from sklearn_ensemble_theory.boosting._core.column_dictionary import CHUNK_BYTES, SMALLEST_SPREAD

__all__ = ["ColumnMoments", "MomentDictionary", "check_columns", "moments_of_chunk"]

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
        one, two = self.unit / unit, other.unit / unit
        change = other.mean * two - self.mean * one
        gram = self.gram * one * one[:, None] + other.gram * two * two[:, None]
        # about the mean of both
        gram += (self.weight * (other.weight / weight)) * np.multiply.outer(change, change)
        return ColumnMoments(
            self.n_rows + other.n_rows,
            weight,
            unit,
            self.mean * one + (other.weight / weight) * change,
            gram,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            self.single,
        )


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
        self.n, self.d = moments.n_rows, d
        mean, unit = moments.mean, moments.unit
        gram = moments.gram / moments.weight
        spread = np.sqrt(gram.diagonal())[:d]
        usable = spread > SMALLEST_SPREAD * np.abs(mean[:d])
        usable &= spread * unit[:d] > 1e-300
        self.offset = mean[:d] * unit[:d]
        self.scale = np.where(usable, spread * unit[:d], 1.0)
        factor = np.where(usable, 1 / np.where(usable, spread, 1.0), 0.0)
        self.target = _target_scale(moments, d)
        y_factor = np.where(self.target.is_constant, 0.0, unit[d:] / self.target.scale)
        self.correlations = gram[d:, :d] * factor * y_factor[:, None]
        self.squares = gram.diagonal()[d:] * y_factor**2
        self._gram = gram[:d, :d] * factor * factor[:, None]

    def gram_rows(self, chosen: np.ndarray) -> np.ndarray:
        """The chosen rows of the Gram matrix of the normalised columns."""
        return self._gram[chosen]

    def gram(self) -> np.ndarray:
        return self._gram


def _target_scale(moments: ColumnMoments, d: int) -> TargetScale:
    """That of `TargetScale.about` the means."""
    mean = moments.mean[d:] * moments.unit[d:]
    with np.errstate(over="ignore"):
        size = np.maximum(moments.high[d:] - mean, mean - moments.low[d:])
    if not np.isfinite(size).all():
        raise ValueError("y has differences beyond the largest float; scale y.")
    constant = size <= CONSTANT_TO_ROUNDING * np.abs(mean)
    return TargetScale(mean, np.where(constant, 1.0, size), constant)


def check_columns(d: int) -> None:
    """Refuse a Gram matrix that is too large for the workers that add it up."""
    if d > MOST_COLUMNS:
        raise ValueError(
            f"X has {d} features; with Dask collections at most {MOST_COLUMNS} are possible, "
            "because each chunk sends the products of all pairs of columns."
        )


def moments_of_chunk(chunk: CheckedChunk, centre: bool) -> ColumnMoments:
    """The moments of one chunk."""
    return ColumnMoments.of(chunk.X, chunk.y, chunk.weight, centre)
