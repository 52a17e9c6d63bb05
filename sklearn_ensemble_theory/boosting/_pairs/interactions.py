"""Which pairs the parameter `interactions` asks for."""

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np


def resolve_interactions(interactions: Any, n_features: int) -> int | str | list[tuple[int, int]]:
    """The number of pairs, "auto", or the pairs themselves.

    Parameters
    ----------
    interactions : int, float, "auto" or sequence of pairs of int
        - int: so many pairs; all pairs, if there are fewer.
        - float: the number of pairs as a multiple of the number of features, rounded up, and at
          most all pairs: 0.9 of 20 features are 18 pairs.
        - "auto": as many as are found to be significant.
        - pairs of numbers of features: these, in this order.
    n_features : int

    Returns
    -------
    int, "auto" or list of tuples (a, b) with a < b

    Raises
    ------
    TypeError or ValueError
        If `interactions` is none of these.

    Examples
    --------
    >>> from sklearn_ensemble_theory.boosting._pairs.interactions import resolve_interactions
    >>> resolve_interactions(0.9, 20), resolve_interactions(100, 4)
    (18, 6)
    >>> resolve_interactions([(3, 1)], 4)
    [(1, 3)]
    """
    n_all = n_features * (n_features - 1) // 2
    if isinstance(interactions, str):
        if interactions != "auto":
            raise ValueError(_message(interactions))
        return "auto" if n_all else 0
    if isinstance(interactions, bool | np.bool_):
        raise TypeError(_message(interactions))
    if isinstance(interactions, Integral):
        if interactions < 0:
            raise ValueError(_message(interactions))
        return min(int(interactions), n_all)
    if isinstance(interactions, Real):
        interactions = float(interactions)
        if not 0 <= interactions < np.inf:
            raise ValueError(_message(interactions))
        # A little less, so that a product that is whole up to rounding is not rounded up.
        wanted = np.ceil(interactions * n_features * (1 - 1e-12))
        return int(min(wanted, n_all))
    if not isinstance(interactions, Sequence | np.ndarray):
        raise TypeError(_message(interactions))
    return _checked_pairs(interactions, n_features)


def _checked_pairs(pairs, n_features):
    checked = []
    for k, pair in enumerate(pairs):
        members = list(pair) if isinstance(pair, Sequence | np.ndarray) else []
        whole = [isinstance(j, Integral) and not isinstance(j, bool) for j in members]
        if isinstance(pair, str) or len(members) != 2 or not all(whole):
            raise ValueError(f"interactions[{k}] must be a pair of two features; got {pair!r}.")
        a, b = sorted(int(j) for j in members)
        if a < 0 or b >= n_features:
            raise ValueError(
                f"interactions[{k}] is {pair!r}, but the features are 0 to {n_features - 1}."
            )
        if a == b:
            raise ValueError(f"interactions[{k}] is a feature with itself: {pair!r}.")
        if (a, b) in checked:
            raise ValueError(f"interactions names the pair ({a}, {b}) twice.")
        checked.append((a, b))
    return checked


def _message(interactions):
    return (
        "interactions must be a non-negative number of pairs, a non-negative multiple of the "
        f"number of features, 'auto' or a sequence of pairs of features; got {interactions!r}."
    )
