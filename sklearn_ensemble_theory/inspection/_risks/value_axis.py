"""An axis for the values of a parameter, which need not be numbers."""

import math
from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np

FEW_VALUES = 8  # all of them get a tick


def _are_numbers(values: Sequence[Any]) -> bool:
    return all(isinstance(v, Real) and not isinstance(v, bool) and math.isfinite(v) for v in values)


def places_of(values: Sequence[Any]) -> np.ndarray:
    """The values themselves, or 0, 1, ... where one is no finite number."""
    return np.asarray(values, dtype=float) if _are_numbers(values) else np.arange(len(values)) * 1.0


def set_value_axis(ax: Any, values: Sequence[Any], name: str) -> None:
    """Label the horizontal axis; logarithmic where the values grow by factors.

    As in scikit-learn's validation curves, that is where the largest difference of neighbours is
    more than five times the smallest one.
    """
    ax.set_xlabel(name)
    if not _are_numbers(values):
        ax.set_xticks(np.arange(len(values)), [str(v) for v in values])
        return
    ordered = np.sort(np.asarray(values, dtype=float))
    gaps = np.diff(np.unique(ordered))
    if len(gaps) > 1 and ordered[0] > 0 and gaps.max() > 5 * gaps.min():
        ax.set_xscale("log")
    if len(ordered) <= FEW_VALUES:
        ax.set_xticks(ordered, [f"{v:g}" for v in ordered])
        ax.minorticks_off()
