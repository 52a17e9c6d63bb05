"""Step sizes of Frank-Wolfe: how far to go along a direction.

A step size is a function ``size(t, place, direction)`` of the round t, of a place with the methods
``line_search(direction)`` and ``short_step(direction)``, and of a direction with the attribute
`longest`. A new one is a function and a line in `STEP_SIZES`.
"""

from collections.abc import Callable
from typing import Any


def open_loop(t: int, place: Any, direction: Any) -> float:
    """2 / (t + 2), whatever the risk."""
    return 2.0 / (t + 2)


def line_search(t: int, place: Any, direction: Any) -> float:
    """The step with the least risk, among those that stay in the ball."""
    return min(max(place.line_search(direction), 0.0), direction.longest)


def short_step(t: int, place: Any, direction: Any) -> float:
    """The minimum of the quadratic upper bound of the risk [Bach, eq. (10.8)], in the ball."""
    return min(max(place.short_step(direction), 0.0), direction.longest)


STEP_SIZES: dict[str, Callable[[int, Any, Any], float]] = {
    "open_loop": open_loop,
    "line_search": line_search,
    "short": short_step,
}
