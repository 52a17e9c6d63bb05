"""Checks of the arguments of bounds."""

import math
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["as_result", "check_number", "checked_integers", "checked_numbers"]


def check_number(
    name: str,
    value: Any,
    low: float,
    high: float = math.inf,
    *,
    integral: bool = False,
    open_low: bool = False,
) -> None:
    """Raise a ValueError unless the value is a finite number (an integer) from low to high."""
    number: Any = value if isinstance(value, Integral if integral else Real) else math.nan
    above_low = low < number if open_low else low <= number
    if not (above_low and number <= high and math.isfinite(number)):
        noun = "an integer" if integral else "a number"
        above = "above" if open_low else "of at least"
        below = "" if high == math.inf else f" and at most {high}"
        raise ValueError(f"{name} must be finite, {noun} {above} {low}{below}, got {value!r}.")


def checked_numbers(
    name: str,
    value: ArrayLike,
    low: float = -math.inf,
    high: float = math.inf,
    *,
    open_low: bool = False,
    open_high: bool = False,
) -> np.ndarray:
    """A number or an array of numbers as floats; a ValueError unless all are finite and inside."""
    try:
        numbers = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            f"{name} must be a number or an array of numbers, got {value!r}."
        ) from None
    above = numbers > low if open_low else numbers >= low
    below = numbers < high if open_high else numbers <= high
    if not np.all(above & below & np.isfinite(numbers)):
        left = f"{'(' if open_low or low == -math.inf else '['}{low}"
        right = f"{high}{')' if open_high or high == math.inf else ']'}"
        raise ValueError(f"{name} must be finite and in {left}, {right}, got {value!r}.")
    return numbers


def as_result(values: ArrayLike) -> Any:
    """A float for numbers, an array for arrays."""
    values = np.asarray(values, dtype=np.float64)
    return values if values.ndim else float(values)


def checked_integers(
    name: str, value: ArrayLike, low: float = -math.inf, high: float = math.inf
) -> np.ndarray:
    """Whole numbers as floats; a ValueError unless all are whole and from low to high."""
    numbers = checked_numbers(name, value, low, high)
    if not np.all(numbers == np.floor(numbers)):
        raise ValueError(f"{name} must be an integer or an array of integers, got {value!r}.")
    return numbers
