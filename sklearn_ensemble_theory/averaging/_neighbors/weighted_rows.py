"""Rows of different weights: the law of the nearest rows by their cumulative weight.

A row of weight w is w equal rows. Around a point, the rows up to the j-th nearest, of the weight M
in all, fill a share G(M) of the k places, and the j-th row has the weight G(M_j) - G(M_{j-1}).
For whole numbers G is the sum of the weights by rank. Other weights count by their ratios only, and
need a law in which a part of a row has a meaning (`RankLaw.filled_share`).
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from sklearn_ensemble_theory._rows import normalised_weights, rows_of_positive_weight
from sklearn_ensemble_theory._typing import ArrayLike
from sklearn_ensemble_theory.averaging._neighbors.rank_laws import RankLaw
from sklearn_ensemble_theory.averaging._neighbors.rank_weights import rank_weights
from sklearn_ensemble_theory.averaging._neighbors.ranked_targets import (
    TrainingPoints,
    new_distances,
)
from sklearn_ensemble_theory.averaging._neighbors.search import BLOCK_ENTRIES, NeighborSearch

# Beyond this sum, whole numbers count by their ratios only, like others.
MOST_COPIES = 2**40


class RowWeights(NamedTuple):
    """The weights of the rows to fit.

    Attributes
    ----------
    rows : slice or int array
        The rows of positive weight.
    weight : ndarray of shape (n_kept,) or None
        Whole numbers, or numbers whose mean is 1; None if all rows count alike.
    n_rows : int
        The number of rows that they stand for.
    whole : bool
    """

    rows: slice | np.ndarray
    weight: np.ndarray | None
    n_rows: int
    whole: bool

    @classmethod
    def of(
        cls, sample_weight: ArrayLike | None, X: Any, law: type[RankLaw], n_neighbors: int
    ) -> Self:
        """Check `sample_weight`.

        Raises
        ------
        ValueError
            If a weight is negative or not finite, none is positive, or the law has no meaning for
            a part of a row.
        """
        if sample_weight is None:
            return cls(slice(None), None, X.shape[0], True)
        rows, weight, _ = rows_of_positive_weight(sample_weight, X)
        small = weight.max() <= MOST_COPIES and weight.sum() <= MOST_COPIES
        if small and (weight == np.rint(weight)).all():
            return cls(rows, weight if (weight > 1).any() else None, int(weight.sum()), True)
        if np.ptp(weight) == 0:
            return cls(rows, None, len(weight), True)
        if not law.splits_rows(n_neighbors):
            raise ValueError(
                f"sample_weight must be whole numbers, or all equal, with "
                f"bootstrap={law.bootstrap!r} and n_neighbors={n_neighbors}, where a part of a row "
                "cannot be drawn; use bootstrap=True."
            )
        return cls(rows, normalised_weights(weight, len(weight)) * len(weight), len(weight), False)

    def of_all(self, n_samples: int) -> np.ndarray:
        """The weights of all rows, 0 where they are not fitted."""
        weight = np.zeros(n_samples)
        weight[self.rows] = 1.0 if self.weight is None else self.weight
        return weight


class FilledShare(Protocol):
    """The share of the k places that the nearest rows fill, by their cumulative weight."""

    def __call__(self, mass: np.ndarray, total: float | np.ndarray) -> np.ndarray:
        """The share, for rows of this weight among rows of the weight `total`."""

    def enough(self, total: float) -> float:
        """The weight of the nearest rows that leave at most `weight_tol` to others."""


class ShareByRank:
    """The sums of the weights by rank, for weights that are whole numbers."""

    def __init__(self, weights: np.ndarray) -> None:
        self.sums = np.concatenate([[0.0], np.cumsum(weights)])

    def __call__(self, mass: np.ndarray, total: float | np.ndarray) -> np.ndarray:
        return self.sums[np.minimum(np.rint(mass), len(self.sums) - 1).astype(np.intp)]

    def enough(self, total: float) -> float:
        return float(len(self.sums) - 1)


class ShareByWeight:
    """The same for any weights."""

    def __init__(self, law: RankLaw, tol: float) -> None:
        self.law, self.tol = law, tol

    def __call__(self, mass: np.ndarray, total: float | np.ndarray) -> np.ndarray:
        return self.law.filled_share(np.minimum(mass, total), total)

    def enough(self, total: float) -> float:
        low, high = 0.0, total
        limit = float(self(np.array(total), total)) - self.tol
        while high - low > 1e-3 * high:
            middle = (low + high) / 2
            low, high = (low, middle) if self(np.array(middle), total) >= limit else (middle, high)
        return high


def filled_share(law: RankLaw, weights: RowWeights, tol: float) -> FilledShare:
    return ShareByRank(rank_weights(law, tol)) if weights.whole else ShareByWeight(law, tol)


class WeightedBlock:
    """The neighbours of a block of rows, in groups of equal distance.

    Parameters
    ----------
    distances, points : arrays of shape (rows, k)
    weights : ndarray of shape (n_points,)
    own, left : arrays of shape (rows,), optional
        The point of each row, and the weight that is left out there.
    """

    def __init__(
        self,
        distances: np.ndarray,
        points: np.ndarray,
        weights: np.ndarray,
        own: np.ndarray | None = None,
        left: np.ndarray | None = None,
    ) -> None:
        self.points, self.starts = points, new_distances(distances)
        self.mass = weights[points]
        self.left = np.zeros(0)
        if own is not None and left is not None:
            self.left = np.where(points == own[:, None], left[:, None], 0.0)
            self.mass = np.maximum(self.mass - self.left, 0.0)
        self.cumulative = np.cumsum(self.mass, axis=1)
        # The weight before the last group, of which neighbours may be missing.
        last = points.shape[1] - 1 - np.argmax(self.starts[:, ::-1], axis=1)
        before = self.cumulative - self.mass
        self.known = np.take_along_axis(before, last[:, None], axis=1)[:, 0]

    def take(self, mask: np.ndarray) -> Self:
        """The block of the rows in `mask`."""
        if mask.all():
            return self
        block = object.__new__(type(self))
        for name in ("points", "starts", "mass", "cumulative", "known"):
            setattr(block, name, getattr(self, name)[mask])
        block.left = self.left[mask] if len(self.left) else self.left
        return block

    def weights(self, share: FilledShare, total: float | np.ndarray) -> "GroupWeights":
        """The weights of the groups; `total` is a number, or one for each row."""
        n_columns = self.points.shape[1]
        heads = np.flatnonzero(self.starts)
        ends = np.append(heads[1:], self.starts.size) - 1
        each = total[heads // n_columns] if isinstance(total, np.ndarray) else total
        filled = share(self.cumulative.ravel()[ends], each)
        first = np.flatnonzero(heads % n_columns == 0)
        weight = np.diff(filled, prepend=0.0)
        weight[first] = filled[first]
        mass = np.add.reduceat(self.mass.ravel(), heads)
        return GroupWeights(heads, first, np.maximum(weight, 0.0), mass)

    def averages(
        self,
        groups: "GroupWeights",
        sums: np.ndarray,
        mean: float | np.ndarray,
        own_targets: np.ndarray | None = None,
    ) -> np.ndarray:
        """The weighted averages of a target, whose mean gets what the weights leave.

        Parameters
        ----------
        groups : GroupWeights
        sums : ndarray of shape (n_points,)
            Sums of the weighted targets of each point.
        mean : float or ndarray of shape (rows,)
        own_targets : ndarray of shape (rows,), optional
            Targets of the rows that are left out.
        """
        values = sums[self.points]
        if own_targets is not None:
            values = values - self.left * own_targets[:, None]
        means = np.add.reduceat(values.ravel(), groups.heads)
        positive = groups.mass > 0
        np.divide(means, groups.mass, out=means, where=positive)
        means[~positive] = 0.0
        averages = np.add.reduceat(groups.weight * means, groups.first)
        return averages + (1 - np.add.reduceat(groups.weight, groups.first)) * mean


class GroupWeights(NamedTuple):
    """Groups of neighbours at equal distance, row after row.

    Attributes
    ----------
    heads : int array of shape (n_groups,)
        Where each group starts, in the flattened neighbours.
    first : int array of shape (rows,)
        The first group of each row.
    weight, mass : arrays of shape (n_groups,)
        The weight in the average, and the sum of the weights of the training rows.
    """

    heads: np.ndarray
    first: np.ndarray
    weight: np.ndarray
    mass: np.ndarray


class WeightedSearch(NeighborSearch):
    """Neighbours among points of different weights.

    Parameters
    ----------
    nearest : sklearn.neighbors.NearestNeighbors or MinkowskiTree
    n_points : int
    weights : ndarray of shape (n_points,)
    """

    def __init__(self, nearest: Any, n_points: int, weights: np.ndarray) -> None:
        super().__init__(nearest, n_points)
        self.weights = weights

    def weighted_blocks(
        self,
        X: Any,
        enough: float,
        own: np.ndarray | None = None,
        left: np.ndarray | None = None,
    ) -> Iterator[tuple[np.ndarray, WeightedBlock]]:
        """Yield (rows, WeightedBlock) with neighbours of the weight `enough` for every row of X.

        `own` and `left` are the point of each row and the weight that is left out there.
        """
        limit = self._available(X)
        wanted = int(min(enough / self.weights.mean(), self.n_points)) + 2 + (own is not None)
        pending = [(np.arange(X.shape[0]), min(wanted, limit))]
        while pending:
            rows, k = pending.pop()
            step, unfinished = max(1, BLOCK_ENTRIES // k), []
            for start in range(0, len(rows), step):
                part = rows[start : start + step]
                distances, points = self._query(X, part, k)
                place = (None, None) if own is None or left is None else (own[part], left[part])
                block = WeightedBlock(distances, points, self.weights, *place)
                done = (block.known >= enough) | (k == self.n_points)
                if not done.all():
                    if k == limit:
                        raise ValueError(
                            f"X contains only {limit} precomputed neighbors of some row, whose "
                            f"weights sum to less than the {enough:.6g} that are required. Store "
                            "more neighbors, or increase max_samples or weight_tol."
                        )
                    unfinished.append(part[~done])
                if done.any():
                    yield part[done], block.take(done)
            if unfinished:
                pending.append((np.concatenate(unfinished), min(2 * k, limit)))


def weighted_loo_errors(
    search: WeightedSearch,
    X: Any,
    targets: np.ndarray,
    points: TrainingPoints,
    weights: tuple[np.ndarray, bool],
    shares: Sequence[FilledShare],
) -> np.ndarray:
    """Weighted mean over the rows of the squared leave-one-out error, summed over the outputs.

    A row that stands for several is left out once; other weights are left out as a whole.

    Parameters
    ----------
    search : WeightedSearch
    X : {ndarray, sparse matrix} of shape (n_samples, n_features)
    targets : ndarray of shape (n_outputs, n_samples)
    points : TrainingPoints
        With the sums of the weighted targets.
    weights : tuple (ndarray of shape (n_samples,), whether they are whole numbers)
    shares : sequence of FilledShare
        One for each of the sizes.

    Returns
    -------
    errors : ndarray of shape (n_sizes,)
    """
    weight, whole = weights
    kept = np.flatnonzero(weight)
    weight = weight[kept]
    left = np.ones(len(kept)) if whole else weight
    total = weight.sum()
    remaining = total - left
    enough = max(share.enough(remaining.max()) for share in shares)
    errors = np.zeros(len(shares))
    sums = points.sums.sum(axis=1)
    blocks = search.weighted_blocks(X[kept], enough, points.of_row[kept], left)
    for rows, block in blocks:
        for j, share in enumerate(shares):
            groups = block.weights(share, remaining[rows])
            for target, point_sums, all_targets in zip(targets, points.sums, sums):
                own = target[kept[rows]]
                mean = (all_targets - left[rows] * own) / remaining[rows]
                prediction = block.averages(groups, point_sums, mean, own)
                errors[j] += weight[rows] @ (prediction - own) ** 2
    return errors / total
