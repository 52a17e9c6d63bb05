"""Targets in units in which squares and sums of squares neither overflow nor vanish; scales."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

# Squares of numbers between 2**-200 and 2**200, and sums of them, are safe.
SAFE_EXPONENT = 200
# Impurities are multiplied by powers of two up to this one, which leaves room for weights.
LARGEST_SHIFT = 920
# Deviations from the mean below this share of it are rounding: the target is constant.
CONSTANT_TO_ROUNDING = 1e-14
LARGEST = float(np.finfo(np.float64).max)
# Targets are centred where their mean is more standard deviations away from 0.
FAR_FROM_ZERO = 1e4
# Of a scale whose power is calibrated.
LARGEST_POWER = 2.0


@dataclass
class TargetScale:
    """The map ``scaled = (y - mean) / scale`` to the target's size; of a constant 1."""

    mean: float | np.ndarray
    scale: float | np.ndarray
    is_constant: bool | np.ndarray = False

    @classmethod
    def in_powers_of_two(
        cls, y: np.ndarray, sample_weight: np.ndarray | None = None
    ) -> "TargetScale":
        """In units of a power of 2 near the largest deviation from the mean: an exact division."""
        size = power_of_two(np.abs(y).max())
        mean = np.average(y / size, weights=sample_weight)
        with np.errstate(over="ignore"):
            mean = float(within_range(np.asarray(mean * size)))
        return cls.of_range(mean, y.min(), y.max())

    @classmethod
    def of_range(cls, mean: float, low: float, high: float) -> "TargetScale":
        """That of `in_powers_of_two` for targets of this mean and this range."""
        size = power_of_two(max(abs(low), abs(high)))
        mean = mean / size
        deviation = max(high / size - mean, mean - low / size)
        if deviation * (size / 2) > LARGEST / 2:
            raise ValueError("y has differences beyond the largest float; scale y.")
        return cls(mean * size, size * power_of_two(deviation))

    @classmethod
    def about(cls, y: np.ndarray, mean: float | np.ndarray) -> "TargetScale":
        """About a given mean, in units of the largest deviation."""
        with np.errstate(over="ignore"):
            size = np.abs(y - mean).max(axis=0)
        if not np.isfinite(size).all():
            raise ValueError("y has differences beyond the largest float; scale y.")
        constant = size <= CONSTANT_TO_ROUNDING * np.abs(mean)
        scale = np.where(constant, 1.0, size)
        return (
            cls(mean, scale, constant)
            if y.ndim > 1
            else cls(float(mean), float(scale), bool(constant))
        )

    def __call__(self, y: np.ndarray) -> np.ndarray:
        return np.where(self.is_constant, 0.0, (y - self.mean) / self.scale)

    def squares_in_units(self, squares: np.ndarray) -> np.ndarray:
        """Squares in units of y; inf or 0 beyond the range of floats, without a warning."""
        with np.errstate(over="ignore", under="ignore"):
            return squares * self.scale * self.scale


def largest_magnitude(y: np.ndarray) -> float:
    """The largest absolute value; 1 where all values are 0 (or there are none)."""
    return float(np.max(np.abs(y), initial=0.0)) or 1.0


def largest_entry(X: Any) -> float:
    """The largest absolute value of a dense or sparse matrix, without a copy of it."""
    return float(max(X.max(), -X.min()))


def power_of_two(x: float) -> float:
    """The largest power of two not above x > 0; 1 for x = 0."""
    return float(np.ldexp(1.0, np.frexp(x)[1] - 1)) if x > 0 else 1.0


def within_range(mean: np.ndarray) -> np.ndarray:
    """Means of floats; those that rounding has taken beyond the largest float are the largest."""
    return np.clip(mean, -LARGEST, LARGEST)


def shifted_by(values: np.ndarray, exponent: int) -> np.ndarray:
    """Means times 2**exponent, the units that they were taken in; see `within_range`."""
    with np.errstate(over="ignore"):
        return within_range(np.ldexp(values, exponent))


def impurities_shifted_by(impurity: np.ndarray, exponent: int) -> np.ndarray:
    """Impurities of nodes times 2**exponent where that leaves them floats, also times a weight.

    Others stay in the units of the divided targets: their ratios say what each feature gains, of
    which infinite ones, or zeros, would leave nothing.
    """
    return np.ldexp(impurity, exponent) if abs(exponent) <= LARGEST_SHIFT else impurity


def range_exponent(values: np.ndarray) -> int:
    """0 for numbers of ordinary size; otherwise the exponent of two of the largest of them."""
    largest = max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))
    exponent = int(np.frexp(largest)[1])
    return exponent if abs(exponent) > SAFE_EXPONENT else 0


def far_mean(y: np.ndarray) -> Any:
    """The means of columns of y that are far from 0 for their spread; 0.0 where none is.

    The squared error of a node is a difference of squares, which loses all digits where the mean of
    y is 10^8 times its spread. Trees for targets of ordinary size stay as they are, bit by bit. A
    mean is rounded to a multiple of a power of two below the spread, so that differences of equal
    targets remain equal, and the targets' grid is that of the differences.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        mean = y.mean(axis=0, dtype=np.float64)
        spread = np.sqrt(((y - mean) ** 2).mean(axis=0))
        far = (spread > 0) & (np.abs(mean) > FAR_FROM_ZERO * spread) & np.isfinite(mean)
        unit = np.ldexp(1.0, np.frexp(spread)[1] - 1)
        mean = np.round(mean / unit) * unit
    return np.where(far, mean, 0.0)[()] if far.any() else 0.0


def mean_from_first(y: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
    """The weighted mean of each column, from differences to the first row: exact for constants."""
    with np.errstate(over="ignore", invalid="ignore"):
        difference = y - y[0]
        if weight is not None and y.ndim == 2:  # what `np.average` computes, without its checks
            weights = weight[:, None]
            mean = y[0] + (difference * weights).sum(axis=0) / weights.sum(axis=0)
        else:
            mean = y[0] + np.average(difference, axis=0, weights=weight)
        if not np.isfinite(mean).all():
            unit = power_of_two(largest_magnitude(y))
            mean = within_range(np.average(y / unit, axis=0, weights=weight) * unit)
    return np.asarray(mean)


def feature_ranges(X: np.ndarray) -> np.ndarray:
    """The range of each feature; ValueError where one is not finite."""
    with np.errstate(over="ignore"):
        return finite_ranges(X.max(axis=0) - X.min(axis=0))


def finite_ranges(ranges: np.ndarray) -> np.ndarray:
    """These ranges of features; ValueError where one is not finite."""
    if not np.isfinite(ranges).all():
        raise ValueError("The range of a feature of X overflows; scale X.")
    return ranges


def calibrated_power(
    size: np.ndarray, scale: np.ndarray, weight: np.ndarray | None
) -> tuple[float, float]:
    """c and b in [1, LARGEST_POWER] for which exp(c) scale^b is the likeliest scale of the sizes.

    The likelihood is that of the gamma loss, mean(log s + size / s), in which c has a closed form.
    """
    logs = np.log(scale)
    centre = float(np.average(logs, weights=weight))
    logs = logs - centre

    def log_ratio(b: float) -> float:
        with np.errstate(over="ignore"):  # infinitely unlikely
            return float(np.log(np.average(size * np.exp(-b * logs), weights=weight)))

    # The mean of b logs is 0. The function is convex.
    if not size.any() or not log_ratio(1 + 1e-3) < log_ratio(1.0):
        return 0.0, 1.0
    b = minimize_scalar(log_ratio, bounds=(1.0, LARGEST_POWER), method="bounded").x
    return log_ratio(b) - b * centre, float(b)
