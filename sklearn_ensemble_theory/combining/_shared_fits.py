"""Candidates that are the same learner, or contain it, which is fitted once to the same rows.

An ensemble of named members answers for its parts by two methods: `_learners_of_all_rows` are the
members that `fit` fits to the rows it is given, and `_fit_sharing` takes those that are known.
"""

from typing import Any

import numpy as np
from numpy.random import RandomState

__all__ = ["KnownFits", "distinct_members", "sharing_groups"]

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


def sharing_groups(members: list[Any]) -> list[list[int]]:
    """The positions of the members in groups: those of different groups have no common learner."""
    groups: list[tuple[list[int], set[Any]]] = []
    for position, member in enumerate(members):
        parts: list[Any] = getattr(member, "_learners_of_all_rows", list)()
        together, keys = [position], {_identity(learner) for learner in [member, *parts]}
        apart = []
        for group in groups:
            if keys.isdisjoint(group[1]):
                apart.append(group)
            else:
                together, keys = group[0] + together, keys | group[1]
        groups = [*apart, (sorted(together), keys)]
    return sorted(positions for positions, _ in groups)


class KnownFits:
    """Learners that have been fitted to the same rows with the same parameters of `fit`."""

    def __init__(self, X: Any, y: np.ndarray) -> None:
        self._X, self._y = X, y
        self._fits: dict[Any, tuple[Any, Any]] = {}

    def find(self, learner: Any, X: Any, y: np.ndarray) -> Any:
        """The fitted learner, or None if it is not known for these rows and targets."""
        if X is not self._X or not np.array_equal(y, self._y):
            return None
        return self._fits.get(_identity(learner), (None, None))[1]

    def add(self, learner: Any, fitted: Any, X: Any, y: np.ndarray) -> None:
        """Keep a fitted learner; one for other rows or targets is left out."""
        if X is self._X and np.array_equal(y, self._y):
            # The learner is kept as well: its parts may be identified by their addresses.
            self._fits[_identity(learner)] = learner, fitted


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
