"""Targets brought to a size at which squares and sums of squares are harmless."""

from dataclasses import dataclass

import numpy as np

__all__ = ["Standardized", "power_of_two"]


@dataclass
class Standardized:
    """y less about its mean, in units of about its largest deviation, so that squares are harmless.

    The unit is a power of 2: dividing by it is exact.
    """

    mean: float
    scale: float

    @classmethod
    def of(cls, y, sample_weight):
        size = power_of_two(np.abs(y).max())
        mean = np.average(y / size, weights=sample_weight)
        deviation = np.abs(y / size - mean).max()
        return cls(mean * size, size * power_of_two(deviation))

    def __call__(self, y):
        return (y - self.mean) / self.scale

    def squares_in_units(self, squares):
        """Squares in units of y; beyond the range of floats inf or 0, without a word."""
        with np.errstate(over="ignore", under="ignore"):
            return squares * self.scale * self.scale


def power_of_two(x):
    """The largest power of two not above x > 0; 1 for x = 0."""
    return float(np.ldexp(1.0, np.frexp(x)[1] - 1)) if x > 0 else 1.0
