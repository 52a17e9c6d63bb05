"""What a fit of an additive model does, in numbers of columns: which terms, how many rounds.

A feature that is allowed stands for its function and its pairs, a pair for itself. A feature that
is not has a single bin, in all phases of a fit: nothing can be fitted to it. Pairs that are not
allowed are no candidates.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import combinations
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np

from ..._features import Features
from ..._running import Progress
from .pair_rounds import Pair

# Smoothing rounds: how many at most, and how many without a new minimum before they end.
MAX_SMOOTHING_ROUNDS, SMOOTHING_PATIENCE = 2000, 40
# Numbers of stumps that are compared before pairs are fitted, if the fit has a number of its own.
MOST_ROUNDS = 10_000

# What reports some number of rounds, and messages.
Report = Callable[[int], Progress]


@dataclass(frozen=True)
class Plan:
    """What is fitted, and by which rounds.

    - n_rounds: how many stumps are added, or how many numbers of them are compared.
    - rule: how the folds choose the number of stumps; None for all of them.
    - smoothing_rounds: "auto" for as many as the folds choose.
    - edges: given thresholds of each feature.
    - pairs: from `resolve_interactions`.
    - pairs_by_folds: whether pairs stay only if held-out rows are predicted better with them.
    - signs: 1 or -1 for features whose function increases or decreases; None without constraints.
    - memory: for sums over pairs of cuts, in MiB.
    - keeps_folds: whether the models of the folds are kept.
    """

    n_rounds: int
    rule: Literal["minimum", "one_standard_error"] | None
    learning_rate: float
    smoothing_rounds: int | Literal["auto"]
    max_bins: int | Literal["auto"]
    edges: list[np.ndarray] | None
    pairs: int | Literal["auto"] | list[Pair]
    pairs_by_folds: bool
    allowed: "AllowedTerms"
    signs: np.ndarray | None
    memory: float
    keeps_folds: bool = False

    @property
    def fits_pairs(self) -> bool:
        return self.pairs not in (0, [])

    @property
    def has_folds(self) -> bool:
        """Whether folds choose anything, or are kept."""
        chooses = self.rule is not None or self.smoothing_rounds == "auto" or self.fits_pairs
        return chooses or self.keeps_folds

    @property
    def keeps_bins_for_pairs(self) -> bool:
        """Whether pairs are fitted to rows in blocks, of which the folds do not choose any."""
        return self.fits_pairs and not self.pairs_by_folds


@dataclass(frozen=True)
class AllowedTerms:
    """A mask of the features that have functions, and the pairs (a, b), a < b, that have none."""

    features: np.ndarray
    without: frozenset[Pair]

    def allows(self, pair: Pair) -> bool:
        return bool(self.features[list(pair)].all()) and pair not in self.without

    def n_pairs(self) -> int:
        n = int(np.count_nonzero(self.features))
        return n * (n - 1) // 2 - sum(bool(self.features[list(p)].all()) for p in self.without)

    def pairs(self, among: np.ndarray | None = None) -> list[Pair]:
        """All pairs that are allowed, of all features or of some, in order; O(number of pairs)."""
        here = self.features.copy()
        if among is not None:
            here &= np.isin(np.arange(len(here)), among)
        found = combinations(np.flatnonzero(here).tolist(), 2)
        return [pair for pair in found if pair not in self.without]


def allowed_terms(exclude: Any, features: Features) -> AllowedTerms:
    """Read `exclude`, a sequence of features and of pairs of features, or None."""
    allowed = np.ones(features.n, dtype=bool)
    dropped, without = _members([] if exclude is None else exclude, features)
    allowed[dropped] = False
    return AllowedTerms(allowed, without)


def _members(given: Any, features: Features) -> tuple[list[int], frozenset[Pair]]:
    """The features and the pairs among the members of a parameter."""
    if isinstance(given, str) or not isinstance(given, Collection | np.ndarray):
        raise ValueError(f"exclude must be a sequence of features and pairs; got {given!r}.")
    mains, pairs = [], set()
    for k, one in enumerate(given):
        if isinstance(one, str) or not isinstance(one, Sequence | np.ndarray):
            mains.append(features.place(one, "exclude"))
            continue
        pair = sorted({features.place(j, "exclude") for j in one})
        if len(pair) != 2 or len(one) != 2:
            raise ValueError(f"exclude[{k}] must be a feature or a pair of two; got {one!r}.")
        pairs.add((pair[0], pair[1]))
    return mains, frozenset(pairs)


def resolve_interactions(
    interactions: Any,
    n_features: int,
    names: tuple[str, ...] | None = None,
    allowed: AllowedTerms | None = None,
) -> int | Literal["auto"] | list[Pair]:
    """The number of pairs, "auto", or the pairs themselves, as tuples (a, b) with a < b.

    - int: so many pairs, or all if there are fewer.
    - float: a multiple of the number of features, rounded up, and at most all pairs.
    - pairs of numbers or names of features: these, in this order.

    Pairs that are not `allowed` do not count, and are left out.

    >>> from sklearn_ensemble_theory.boosting._additive.additive_plan import resolve_interactions
    >>> resolve_interactions(0.9, 20), resolve_interactions(100, 4)
    (18, 6)
    >>> resolve_interactions([(3, 1)], 4)
    [(1, 3)]
    """
    n_all, n_allowed = n_features * (n_features - 1) // 2, n_features
    if allowed is not None:
        n_all, n_allowed = allowed.n_pairs(), np.count_nonzero(allowed.features)
    refused = (
        "interactions must be a non-negative number of pairs, a non-negative multiple of the "
        "number of features, 'auto', 'cv' or a sequence of pairs of features; got "
        f"{interactions!r}."
    )
    if isinstance(interactions, str):
        if interactions != "auto":
            raise ValueError(refused)
        return "auto" if n_all else 0
    if isinstance(interactions, bool | np.bool_):
        raise TypeError(refused)
    if isinstance(interactions, Integral):
        if interactions < 0:
            raise ValueError(refused)
        return min(int(interactions), n_all)
    if isinstance(interactions, Real):
        if not 0 <= float(interactions) < np.inf:
            raise ValueError(refused)
        # A little less, so that a product that is whole up to rounding is not rounded up.
        wanted = np.ceil(float(interactions) * n_allowed * (1 - 1e-12))
        return int(min(wanted, n_all))
    if not isinstance(interactions, Sequence | np.ndarray):
        raise TypeError(refused)
    checked: list[Pair] = []
    features = Features(n_features, names)
    for k, pair in enumerate(interactions):
        members = list(pair) if isinstance(pair, Sequence | np.ndarray) else []
        if not isinstance(pair, str) and len(members) == 2:
            members = [
                features.number(j, "interactions") if isinstance(j, str) else j for j in members
            ]
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
            raise ValueError(f"interactions names the pair {features.labels(a, b)} twice.")
        checked.append((a, b))
    return [pair for pair in checked if allowed is None or allowed.allows(pair)]
