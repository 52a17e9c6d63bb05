"""Candidates that are the same learner, which is then fitted once."""

from typing import Any

import numpy as np
from numpy.random import RandomState

__all__ = ["distinct_members"]

PLAIN = (type(None), bool, int, float, complex, str, bytes)


def distinct_members(members: list[Any]) -> tuple[list[int], list[int]]:
    """(positions of the distinct members, for each member the position of its own among these).

    Two members are the same if they are one object, or of one class with equal parameters and no
    randomness of their own: every `random_state` is a number.
    """
    known: dict[Any, int] = {}
    first: list[int] = []
    place: list[int] = []
    for position, member in enumerate(members):
        key = _identity(member)
        if key not in known:
            known[key] = len(first)
            first.append(position)
        place.append(known[key])
    return first, place


def _identity(value: Any) -> Any:
    """Equal for values that give the same fits; hashable."""
    if type(value) in PLAIN or isinstance(value, np.generic):
        return type(value), repr(value)
    if type(value) in (tuple, list):
        return type(value), tuple(_identity(item) for item in value)
    if type(value) is np.ndarray and value.dtype != object:
        return value.dtype.str, value.shape, value.tobytes()
    if hasattr(value, "get_params") and not isinstance(value, type):
        params = value.get_params(deep=False)
        random = params.get("random_state", 0)
        if random is not None and not isinstance(random, RandomState):
            return type(value), tuple((name, _identity(params[name])) for name in sorted(params))
    return "object", id(value)
