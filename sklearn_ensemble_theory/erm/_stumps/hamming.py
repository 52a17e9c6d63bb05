"""Stumps for several classes at once: one threshold, one value for each side and class.

The weights are those of the cells (row, class) (Schapire and Singer 1999): D of shape (n, K), of
sum 1. With Y = +1 for a row's own class and -1 for the others, let

    a_k = sum of D(i, k) over the rows of class k on the left,
    b_k = sum of D(i, k) over the rows of other classes on the left,

A_k and B_k the same over all rows. Every criterion is a sum over the classes of one convex function
of (a_k, b_k), and so is the gain of a threshold.

*Bound of a bin.* While a threshold moves through a bin of neighbouring rows, (a_k, b_k) stays in a
box, because both grow. A convex function on a box is at most its largest value on the four corners;
so the sum over the classes of the largest corner values is at least the gain of every threshold in
the bin. A bin whose bound is below a gain that is reached elsewhere holds no better threshold.

*Values.* A column with few distinct values gets one bin for each, which holds no threshold inside:
the sums by bin are then the whole search. Only the other bins are searched row by row.

References
----------
R. E. Schapire and Y. Singer (1999). "Improved boosting algorithms using confidence-rated
predictions". *Machine Learning* 37, 297-336.

B. Kégl and R. Busa-Fekete (2009). "Boosting products of base classifiers". *Proceedings of the 26th
International Conference on Machine Learning*, 497-504.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from sklearn_ensemble_theory._arrays import ranges, two_valued
from sklearn_ensemble_theory._learners import HammingTask, half_log_odds

from .split_search import (
    KEPT_VALUES,
    SEARCH_BINS,
    TIE_TOLERANCE,
    ColumnIndex,
    Split,
    moment_squares,
)

Array = NDArray[np.float64]
# The gains are at most 1.
SLACK = TIE_TOLERANCE
# So many cells (row, class) are searched at a time: their masses stay in the processor's cache.
SEARCH_CELLS = 2**17
# So many (row, column) pairs are summed by bin at a time: their indices share one array of ones.
PAIRS_AT_ONCE = 2**20


class Masses(NamedTuple):
    """Weights by class, the classes on the last axis: of a row's own class, and of others."""

    own: Array
    others: Array


# --- criteria ------------------------------------------------------------------------------------


class HammingCriterion:
    """What a threshold is chosen by; one line of `HAMMING_CRITERIA`."""

    def gains(self, left: Masses, total: Masses) -> Array:
        """The gain of each class, convex in (left.own, left.others); to be summed."""
        raise NotImplementedError

    def value(self, share: Array) -> Array:
        """What a side returns for a class, by the share of the class in its weight."""
        raise NotImplementedError

    def values(self, left: Masses, total: Masses) -> tuple[Array, Array]:
        """What the two sides return, for each class."""
        shares = []
        for side in (left, _beyond(left, total)):
            mass = side.own + side.others
            shares.append(np.where(mass > 0, side.own, 1.0) / np.where(mass > 0, mass, 2.0))
        return self.value(shares[0]), self.value(shares[1])


class HammingVotes(HammingCriterion):
    """Votes v_k phi with phi = +1 on the left and -1 on the right (Kégl and Busa-Fekete 2009).

    The gain is the edge, sum_k |sum_i D(i, k) Y_ik phi(x_i)|, the largest over the signs v_k.
    """

    def gains(self, left: Masses, total: Masses) -> Array:
        moment = left.own - left.others
        moment *= 2.0
        moment -= total.own - total.others
        return np.abs(moment, out=moment)

    def values(self, left: Masses, total: Masses) -> tuple[Array, Array]:
        moment = 2 * (left.own - left.others) - (total.own - total.others)
        votes = np.where(moment >= -SLACK, 1.0, -1.0)  # not by rounding
        return votes, -votes


class HammingLogOdds(HammingCriterion):
    """Minimises Z = 2 sum sqrt(W+ W-) over sides and classes; the gain is -Z/2.

    Sides return half their log-odds (Schapire and Singer 1999). -sqrt(ab) is convex.
    """

    def gains(self, left: Masses, total: Masses) -> Array:
        right = _beyond(left, total)
        return -(np.sqrt(left.own * left.others) + np.sqrt(right.own * right.others))

    def value(self, share: Array) -> Array:
        return half_log_odds(share)


class HammingSquares(HammingCriterion):
    """Least squares to -1 and +1; sides return their means. (a-b)²/(a+b) is convex."""

    def gains(self, left: Masses, total: Masses) -> Array:
        right = _beyond(left, total)
        return moment_squares(left.own - left.others, left.own + left.others) + moment_squares(
            right.own - right.others, right.own + right.others
        )

    def value(self, share: Array) -> Array:
        return 2.0 * share - 1.0


HAMMING_CRITERIA: dict[str, HammingCriterion] = {
    "hamming_error": HammingVotes(),
    "hamming_log_odds": HammingLogOdds(),
    "hamming_least_squares": HammingSquares(),
}


def _beyond(left: Masses, total: Masses) -> Masses:
    return Masses(*(np.maximum(t - m, 0.0) for m, t in zip(left, total)))


def gain(criterion: HammingCriterion, left: Masses, total: Masses) -> Array:
    """The gain of thresholds: the sum over the classes."""
    return criterion.gains(left, total).sum(axis=-1)


def bound(criterion: HammingCriterion, low: Masses, high: Masses, total: Masses) -> Array:
    """At least the gain of every threshold with masses between `low` and `high`."""
    corners = (low, high, Masses(low.own, high.others), Masses(high.own, low.others))
    most = criterion.gains(corners[0], total)
    for corner in corners[1:]:
        np.maximum(most, criterion.gains(corner, total), out=most)
    return most.sum(axis=-1)


# --- the search ----------------------------------------------------------------------------------


class _Threshold(NamedTuple):
    gain: float
    place: int
    left: Masses


class _Thresholds(NamedTuple):
    """Thresholds and their gains; `places` are positions in the flattened `ColumnIndex.order`."""

    gains: Array
    places: NDArray[np.integer]
    left: Masses

    def near(self, least: float) -> _Thresholds:
        """Those with at least this gain."""
        at = np.flatnonzero(self.gains >= least)
        return _Thresholds(self.gains[at], self.places[at], Masses(*(m[at] for m in self.left)))

    def first(self, least: float) -> _Threshold:
        """The first place of these."""
        near = self.near(least)
        if not len(near.gains):
            return _Threshold(-np.inf, np.iinfo(np.int64).max, self.left)
        at = int(np.argmin(near.places))
        left = Masses(*(m[at] for m in near.left))
        return _Threshold(float(near.gains[at]), int(near.places[at]), left)


class HammingIndex(ColumnIndex):
    """Columns sorted and binned once, for the weights of cells (row, class).

    The columns of `ColumnIndex`, and the class of each row. A column with few distinct values has a
    bin for each of them.
    """

    classes: np.ndarray

    def __init__(
        self,
        X: np.ndarray,
        max_bins: int | None,
        sample_weight: np.ndarray | None,
        codes: np.ndarray,
        n_classes: int,
        search_bins: int = SEARCH_BINS,
    ) -> None:
        super().__init__(X, max_bins, sample_weight, codes, n_classes, search_bins)
        self.has_cuts_inside = False
        if self.exact:
            # No column needs as many bins as were asked for where values are few.
            self.n_bins = int(self.is_edge.sum(axis=1).max(initial=0)) + 1
            self.starts = self.starts[:, : self.n_bins + 1]
            self.n_cuts = self.n_cuts[:, : self.n_bins]
            self.is_edge = self.is_edge[:, : self.n_bins - 1]
            # Bins that hold a threshold other than their upper end.
            self.cuts_inside = self.n_cuts > np.pad(self.is_edge, ((0, 0), (0, 1)))
            self.has_cuts_inside = bool(self.cuts_inside.any())
        self.is_own = codes[:, None] == np.arange(n_classes)
        # The matrices take 8 n p bytes: those of large X are made again in every round.
        self.kept_sums = list(self._sums_by_bin()) if self.n * self.p <= KEPT_VALUES else None

    def _bin_ends(self, values: Array, is_cut: np.ndarray, search_bins: int) -> np.ndarray:
        """One bin for each distinct value where they are few."""
        if np.count_nonzero(is_cut) < search_bins:
            return np.flatnonzero(is_cut) + 1
        return super()._bin_ends(values, is_cut, search_bins)

    def _sums_by_bin(self) -> Iterator[tuple[slice, sp.csc_matrix, sp.csc_matrix]]:
        """(rows, own, others): matrices that sum values of these rows, some rows at a time.

        `others` sums over the bins, `own` over the bins and classes.
        """
        p, K, size = self.p, self.n_classes, self.p * self.n_bins
        index = np.int32 if size * K < 2**31 else np.int64
        offsets = np.arange(p, dtype=index) * self.n_bins
        at_once = max(1, PAIRS_AT_ONCE // p)
        ones = np.ones(p * min(at_once, self.n))
        for start in range(0, self.n, at_once):
            rows = slice(start, min(start + at_once, self.n))
            bins = (self.codes.T[rows] + offsets).astype(index)
            n_rows = len(bins)
            ends = np.arange(0, n_rows * p + 1, p, dtype=index)
            cells = bins * index(K) + self.classes[rows, None].astype(index)
            yield (
                rows,
                sp.csc_matrix((ones[: n_rows * p], cells.ravel(), ends), (size * K, n_rows)),
                sp.csc_matrix((ones[: n_rows * p], bins.ravel(), ends), (size, n_rows)),
            )

    def masses(self, weight: Array) -> Masses:
        """The weights of cells (row, class), by bin: (p, B, K)."""
        own_weight = weight[np.arange(self.n), self.classes]
        weight = np.where(self.is_own, 0.0, weight)
        found: list = [0.0, 0.0]
        for rows, own, others in self.kept_sums or self._sums_by_bin():
            found[0] = found[0] + own @ own_weight[rows]
            found[1] = found[1] + others @ weight[rows]
        return Masses(*(m.reshape(self.p, self.n_bins, -1) for m in found))

    def best_split(self, criterion: HammingCriterion, weight: Array) -> Split:
        """The best split for weights (n, K) of sum 1; its masses have shape (2, K)."""
        high = Masses(*(np.cumsum(m, axis=1) for m in self.masses(weight)))
        total = Masses(*(m[0, -1] for m in high))
        base = float(gain(criterion, total, total))
        edges = Masses(*(m[:, :-1] for m in high))
        gains = gain(criterion, edges, total)
        gains[~self.is_edge] = -np.inf
        best = max(base, float(np.max(gains, initial=-np.inf)))
        found = self._inside(criterion, weight, high, total, best) if self.has_cuts_inside else []
        best = max([best, *(float(some.gains.max()) for some in found)])
        if not best > base + SLACK:
            whole = np.stack(total)
            return Split(0, np.inf, whole, np.zeros_like(whole), base, -1, self.n - 1)
        # The first threshold within rounding of the best, by feature and then from the left.
        feature, code = np.nonzero(gains >= best - SLACK)
        if not self.exact:
            j, c = int(feature[0]), int(code[0])
            left = Masses(*(m[j, c] for m in edges))
            sides = np.stack(left), np.stack(_beyond(left, total))
            return Split(j, float(self.edges[j][c]), *sides, float(gains[j, c]), c, -1)
        found.append(
            _Thresholds(
                gains[feature, code],
                feature * self.n + self.starts[feature, code + 1] - 1,
                Masses(*(m[feature, code] for m in edges)),
            )
        )
        first = min((some.first(best - SLACK) for some in found), key=lambda one: one.place)
        j, position = divmod(first.place, self.n)
        sides = np.stack(first.left), np.stack(_beyond(first.left, total))
        return Split(j, self.middle(j, position), *sides, first.gain, -1, position)

    def _inside(
        self, criterion: HammingCriterion, weight: Array, high: Masses, total: Masses, best: float
    ) -> list[_Thresholds]:
        """The best thresholds inside the bins that can hold a better one than `best`."""
        feature, code = np.nonzero(self.cuts_inside)
        upper = Masses(*(m[feature, code] for m in high))
        lower = Masses(*(np.where(code[:, None] > 0, m[feature, code - 1], 0.0) for m in high))
        bounds = bound(criterion, lower, upper, total)
        wanted = np.flatnonzero(bounds >= best - 2 * SLACK)
        # The most promising first: the best that they reach may rule out others.
        wanted = wanted[np.argsort(-bounds[wanted], kind="stable")]
        sizes = np.diff(self.starts)[feature[wanted], code[wanted]]
        part = np.cumsum(sizes) // max(1, SEARCH_CELLS // self.n_classes)
        found = []
        for block in range(int(part[-1]) + 1 if len(part) else 0):
            bins = wanted[(part == block) & (bounds[wanted] >= best - 2 * SLACK)]
            if not len(bins):
                continue
            some = self._row_by_row(
                criterion,
                weight,
                (feature[bins], code[bins]),
                Masses(*(m[bins] for m in lower)),
                total,
            )
            best = max(best, float(some.gains.max()))
            found.append(some.near(best - SLACK))
        return [some for some in found if len(some.gains)]

    def _row_by_row(
        self,
        criterion: HammingCriterion,
        weight: Array,
        bins: tuple[np.ndarray, np.ndarray],
        lower: Masses,
        total: Masses,
    ) -> _Thresholds:
        """Every threshold in some bins."""
        feature, code = bins
        starts, stops = self.starts[feature, code], self.starts[feature, code + 1]
        positions, first = ranges(starts, stops)
        places = positions + np.repeat(feature * self.n, stops - starts)
        self.sort_columns(feature)
        rows = self.order.ravel().take(places)
        cells, is_own = weight.take(rows, axis=0), self.is_own.take(rows, axis=0)
        lengths = stops - starts
        is_cut = self.is_cut.ravel().take(places)
        sums = []
        both = np.where(is_own, cells, 0.0), np.where(is_own, 0.0, cells)
        for masses, start in zip(both, lower):
            run = np.cumsum(masses, axis=0)
            before = np.where(first[:, None] > 0, run[first - 1], 0.0)
            run += np.repeat(start - before, lengths, axis=0)
            sums.append(run[is_cut])
        left = Masses(*sums)
        return _Thresholds(gain(criterion, left, total), places[is_cut], left)


# --- the weak learner ----------------------------------------------------------------------------


def side_values(stump: Any, left: np.ndarray) -> np.ndarray:
    """The values of a regression stump on the rows of its two sides, (n,) or (n, n_classes)."""
    if np.ndim(stump.left_value_):
        return np.where(left[:, None], stump.left_value_, stump.right_value_)
    return two_valued(left, stump.left_value_, stump.right_value_)


def stump_of_split(
    criterion: HammingCriterion, split: Split, of_values: Callable[..., Any], p: int
) -> Any:
    """The member that `of_values` makes of a split of `HammingIndex.best_split`."""
    total = Masses(*(split.left + split.right))
    left, right = criterion.values(Masses(*split.left), total)
    return of_values(p, split, left, right)


class HammingRounds:
    """Stumps for several classes (see `_learners.PreparedRounds`)."""

    is_exact = True
    has_scale = True

    def __init__(
        self,
        X: np.ndarray,
        weight: np.ndarray | None,
        task: HammingTask,
        max_bins: int | None,
        of_values: Callable[..., Any],
    ) -> None:
        self.criterion = HAMMING_CRITERIA[task.kind]
        self.signs, self.of_values = task.signs.astype(np.int8), of_values
        self.index = HammingIndex(X, max_bins, weight, task.codes, task.n_classes)

    def best(
        self, target: np.ndarray | None, weight: np.ndarray, scores: np.ndarray | None = None
    ) -> tuple[BaseEstimator, np.ndarray]:
        """The best stump for weights of shape (n, K), and its margins of the same shape."""
        split = self.index.best_split(self.criterion, weight)
        stump = stump_of_split(self.criterion, split, self.of_values, self.index.p)
        outputs = side_values(stump, self.index.is_left(split))
        outputs *= self.signs
        return stump, outputs
