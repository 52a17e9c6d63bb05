"""Criteria of a threshold: functions of the masses on its two sides, to be maximised.

A criterion takes the masses left of a threshold and in total, one row for each kind of mass (the
weight of each class, say), and returns a gain. Each gain is a sum of one convex function of the
masses on each side; so, while the threshold moves through a bin and each mass left of it grows
from `low` to `high`, the gain stays below its largest value on the corners of that box. A bin whose
bound is below the best gain found elsewhere need not be searched.
"""

import numpy as np


class _Criterion:
    @staticmethod
    def merge(masses):
        """The masses that `gain` needs, from those that `bound` needs: shape (m, ...)."""
        return masses


class ZeroOne(_Criterion):
    """Mass classified correctly when each side predicts its heaviest class [Shah, §4.2].

    Masses: the weight of each class, shape (K, ...).
    """

    @staticmethod
    def gain(left, total):
        return left.max(axis=0) + (total - left).max(axis=0)

    @staticmethod
    def bound(low, high, total):
        # The left side is heaviest at the bin's right end, the right side at its left end.
        return high.max(axis=0) + (total - low).max(axis=0)


class SignedZeroOne(_Criterion):
    """The same for two classes, from the one mass S = W+ - W-: |S_left| + |S_right|.

    Twice the mass classified correctly, less the total mass.
    """

    @staticmethod
    def merge(masses):
        return masses[1:] - masses[:1]

    @staticmethod
    def gain(left, total):
        return np.abs(left[0]) + np.abs(total[0] - left[0])

    @staticmethod
    def bound(low, high, total):
        # The gain is convex in S, which lies between these two in the bin.
        most, least, whole = high[1] - low[0], low[1] - high[0], total[1] - total[0]
        return np.maximum(
            np.abs(most) + np.abs(whole - most), np.abs(least) + np.abs(whole - least)
        )


class _TwoClasses(_Criterion):
    """Criteria of the masses of two classes: the bound is the largest of four corners."""

    @classmethod
    def bound(cls, low, high, total):
        mixed = [np.stack([low[0], high[1]]), np.stack([high[0], low[1]])]
        return np.max([cls.gain(corner, total) for corner in (low, high, *mixed)], axis=0)


class PartitionFunction(_TwoClasses):
    """-Z / 2, where Z = 2 sum over the sides of sqrt(W+ W-), of confidence-rated stumps.

    sqrt(ab) is concave, so the gain is convex. Masses: W- and W+.
    """

    @staticmethod
    def gain(left, total):
        right = np.maximum(total - left, 0.0)
        return -(np.sqrt(left[0] * left[1]) + np.sqrt(right[0] * right[1]))


class ClassSquares(_TwoClasses):
    """Reduction of the weighted squared error of targets -1 and +1. Masses: W- and W+."""

    @staticmethod
    def gain(left, total):
        return moment_squares(left[1] - left[0], left[1] + left[0]) + moment_squares(
            total[1] - total[0] - (left[1] - left[0]),
            np.maximum(total.sum(axis=0) - left.sum(axis=0), 0.0),
        )


def moment_squares(moment, mass):
    """moment² / mass, 0 where there is no mass."""
    empty = mass <= 0
    return np.where(empty, 0.0, moment**2 / np.where(empty, 1.0, mass))


class LeastSquares(_Criterion):
    """Reduction of the residual sum of squares [Shah, eq. (4.6)].

    For targets t in [-1, 1] of weighted mean 0. Masses: sum w t+, sum w t-, sum w.
    """

    @staticmethod
    def gain(left, total):
        moment = left[0] - left[1]
        rest = total[0] - total[1] - moment
        return moment_squares(moment, left[2]) + moment_squares(
            rest, np.maximum(total[2] - left[2], 0.0)
        )

    @classmethod
    def bound(cls, low, high, total):
        # Two bounds, each good where the other is not. Analysis of variance: at most the two
        # outer parts by themselves and all the squares inside, |t| <= 1 of them.
        inside = (high[0] - low[0]) + (high[1] - low[1])
        parts = moment_squares(low[0] - low[1], low[2]) + inside
        beyond = np.maximum(total - high, 0.0)
        parts = parts + moment_squares(beyond[0] - beyond[1], beyond[2])
        # The box: (moment, mass) -> moment²/mass is convex, and infinite at mass 0 only.
        rise, fall = high[0] - low[1], low[0] - high[1]
        moment = np.maximum(np.abs(rise), np.abs(fall))
        offset = total[0] - total[1]
        rest = np.maximum(np.abs(offset - rise), np.abs(offset - fall))
        outer = np.maximum(total[2] - high[2], 0.0)
        closed = (low[2] > 0) & (outer > 0)
        box = np.where(closed, moment_squares(moment, low[2]) + moment_squares(rest, outer), np.inf)
        return np.minimum(parts, box)
