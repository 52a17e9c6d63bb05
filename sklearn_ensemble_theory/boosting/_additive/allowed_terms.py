"""The terms that an additive model may have: the parameters `exclude` and `include`.

A feature stands for its function and its pairs, a pair for itself. An excluded feature has a single
bin, in all phases of a fit: nothing can be fitted to it. Excluded pairs are not candidates.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from ..._features import Features
from .pair_tables import Pair


@dataclass(frozen=True)
class AllowedTerms:
    """The features that have functions, and which pairs of them may.

    Attributes
    ----------
    features : bool array of shape (p,)
    together : bool array of shape (p,)
        The features that may be in pairs with each other.
    also : frozenset of tuples (a, b), a < b
        Pairs that are allowed beside those.
    without : frozenset of tuples (a, b), a < b
        Pairs that are not.
    """

    features: np.ndarray
    together: np.ndarray
    also: frozenset[Pair]
    without: frozenset[Pair]

    def allows(self, pair: Pair) -> bool:
        return (self._joins(pair) or pair in self.also) and pair not in self.without

    def n_pairs(self) -> int:
        """How many pairs are allowed."""
        n = int(np.count_nonzero(self.together))
        others = sum(self.allows(pair) - self._joins(pair) for pair in self.also | self.without)
        return n * (n - 1) // 2 + others

    def pairs(self, among: np.ndarray | None = None) -> list[Pair]:
        """All pairs that are allowed, of all features or of some, in order; O(number of pairs)."""
        here = self.together.copy()
        if among is not None:
            here &= np.isin(np.arange(len(here)), among)
        found = list(combinations(np.flatnonzero(here).tolist(), 2))
        if self.also or self.without:
            found = sorted({*found, *self.also} - self.without)
        return found

    def _joins(self, pair: Pair) -> bool:
        return bool(self.together[list(pair)].all())


def allowed_terms(exclude: Any, include: Any, features: Features) -> AllowedTerms:
    """Read `exclude` and `include`, sequences of features and of pairs of features, or None.

    Raises
    ------
    ValueError
        If a member is neither, or no feature of X.
    """
    mains, pairs = np.ones(features.n, dtype=bool), frozenset[Pair]()
    together = mains.copy()
    if include is not None:
        named, pairs = _members(include, features, "include")
        together = np.isin(np.arange(features.n), named)
        # A pair is fitted beside the functions of its features, and has no part of these.
        mains = together | np.isin(np.arange(features.n), [j for pair in pairs for j in pair])
    dropped, without = _members([] if exclude is None else exclude, features, "exclude")
    mains[dropped] = together[dropped] = False
    also = frozenset((a, b) for a, b in pairs if mains[a] and mains[b])
    return AllowedTerms(mains, together, also, without)


def _members(given: Any, features: Features, name: str) -> tuple[list[int], frozenset[Pair]]:
    """The features and the pairs among the members of a parameter."""
    if isinstance(given, str) or not isinstance(given, Collection | np.ndarray):
        raise ValueError(f"{name} must be a sequence of features and pairs; got {given!r}.")
    mains, pairs = [], set()
    for k, one in enumerate(given):
        if isinstance(one, str) or not isinstance(one, Sequence | np.ndarray):
            mains.append(features.place(one, name))
            continue
        pair = sorted({features.place(j, name) for j in one})
        if len(pair) != 2 or len(one) != 2:
            raise ValueError(f"{name}[{k}] must be a feature or a pair of two; got {one!r}.")
        pairs.add((pair[0], pair[1]))
    return mains, frozenset(pairs)
