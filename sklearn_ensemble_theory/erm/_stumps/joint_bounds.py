"""Bounds of the maxima of sums of concave functions, for the joint search (see `joint`)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_ensemble_theory._roots import (
    MAX_EXPANSIONS,
    VANISHING_SLOPE,
    expanded,
)
from sklearn_ensemble_theory.erm._stumps.split_search import ColumnIndex

Array = NDArray[Any]


class RowFalls:
    """What the loss of each row falls by as b is added to its score.

    Parameters
    ----------
    loss : Loss
    y, u, weight : arrays of shape (n,)
    """

    def __init__(self, loss: Any, y: Array, u: Array, weight: Array) -> None:
        self.loss, self.y, self.u, self.weight = loss, y, u, weight
        self.start = loss.value(y, u)
        self.size = float(weight @ np.abs(self.start))
        self.slopes_at_zero = -weight * loss.gradient(y, u)

    def slopes(self, b: Any) -> Array:
        """The slopes in b of the falls."""
        return -self.weight * self.loss.gradient(self.y, self.u + b)

    def at(self, b: Any, rows: Any = slice(None)) -> tuple[Array, Array]:
        """The falls of some rows and their slopes in b."""
        y, u, weight = self.y[rows], self.u[rows] + b, self.weight[rows]
        falls = weight * (self.start[rows] - self.loss.value(y, u))
        return falls, -weight * self.loss.gradient(y, u)

    def rough_grid(self) -> tuple[list[float], Array]:
        """Values of b, of which the outermost are those beyond which no row gains.

        Also the most that each row can fall by there, from above.
        """
        s = self.slopes_at_zero
        first = min(1.0, float(np.max(np.abs(self.loss.gradient(self.y, self.u)), initial=0.0)))
        grid, most = [0.0], np.zeros(len(s))
        for sign in (-1.0, 1.0):
            gaining = sign * s > 0
            enough = VANISHING_SLOPE * float(np.abs(s[gaining]).sum())
            before, falls, slopes, b = 0.0, np.zeros(len(s)), s, sign * first
            for tried in range(MAX_EXPANSIONS if gaining.any() else 0):
                with np.errstate(over="ignore", invalid="ignore"):
                    new_falls, new_slopes = self.at(b)
                if not (np.isfinite(new_falls).all() and np.isfinite(new_slopes).all()):
                    break
                grid.append(b)
                turned = gaining & (sign * new_slopes <= 0)
                top = meeting(before, falls, slopes, b, new_falls, new_slopes)[1]
                most[turned] = np.maximum(top, new_falls)[turned]
                gaining &= ~turned
                before, falls, slopes = b, new_falls, new_slopes
                if np.abs(slopes[gaining]).sum() <= enough:
                    break
                b = expanded(b, tried)
            most[gaining] = falls[gaining]
        return grid, most


def meeting(a: Any, value_a: Any, slope_a: Any, b: Any, value_b: Any, slope_b: Any) -> Any:
    """Where two tangents of a concave function meet, and the height there."""
    gap = slope_a - slope_b
    flat = gap == 0
    along = np.where(flat, 0.0, (value_b - value_a - slope_b * (b - a)) / np.where(flat, 1.0, gap))
    place = np.clip(a + along, np.minimum(a, b), np.maximum(a, b))
    return place, value_a + slope_a * (place - a)


class Maxima:
    """Bounds of the maxima of concave functions, from the two points next to each maximum.

    Parameters
    ----------
    low, high : arrays of shape (3, ...)
        Place, value and slope at the last point before the maximum and the first one after it.
        The same point twice for a maximum at an end of the grid.
    interval : int array, default=None
        The number of the grid's interval that holds the maximum; -1 and M - 1 are its ends.
    """

    def __init__(self, low: Array, high: Array, interval: Any = None) -> None:
        self.low, self.high, self.interval = low, high, interval

    @classmethod
    def on_grid(cls, grid: Array, values: Array, slopes: Array, tilt: Any = 0.0) -> Maxima:
        """Those of f(b) + tilt b, for values and slopes of f of shape (M, ...)."""
        b = grid.reshape(-1, *[1] * (values.ndim - 1))
        values, slopes = values + tilt * b, slopes + tilt
        after = np.count_nonzero(slopes > 0, axis=0)
        ends = []
        for at in (np.maximum(after - 1, 0), np.minimum(after, len(grid) - 1)):
            parts = (np.take_along_axis(part, at[None], axis=0)[0] for part in (values, slopes))
            ends.append(np.stack([grid[at], *parts]))
        return cls(ends[0], ends[1], after - 1)

    @property
    def lower(self) -> Array:
        """The larger of the two values."""
        return np.maximum(self.low[1], self.high[1])

    @property
    def place(self) -> Array:
        """Where the tangents meet."""
        return meeting(*self.low, *self.high)[0]

    @property
    def upper(self) -> Array:
        """The height at which the tangents meet."""
        return np.maximum(meeting(*self.low, *self.high)[1], self.lower)

    def take(self, which: Array) -> Maxima:
        """Those of some of the functions."""
        return Maxima(self.low[:, which], self.high[:, which])

    def insert(self, b: float, values: Array, slopes: Array) -> None:
        """Use a further point of every function."""
        new = np.stack([np.full_like(values, b), values, slopes])
        inside = (self.low[0] < b) & (b < self.high[0])
        self.low = np.where(inside & (slopes > 0), new, self.low)
        self.high = np.where(inside & (slopes <= 0), new, self.high)


class Sums(NamedTuple):
    """Falls and slopes of sets of rows on the grid: arrays of shape (M, p, B + 1)."""

    falls: Array
    slopes: Array

    def maxima(self, grid: Array, tilt: Any = 0.0, at: Any = np.s_[:]) -> Maxima:
        return Maxima.on_grid(grid, self.falls[:, :, at], self.slopes[:, :, at], tilt)


class Cells:
    """Sums over the rows on the two sides of each edge of a cell, on a grid of b that grows.

    Attributes
    ----------
    grid : array of shape (M,)
    before, after : Sums
        Summed from either end of a column: at a large b a row that loses may outweigh all others,
        and the sums over sets without it must not contain its rounding errors.
    """

    def __init__(self, index: ColumnIndex, rows: RowFalls) -> None:
        self.index, self.rows = index, rows
        empty = np.empty((0, index.p, index.n_bins + 1))
        self.grid = np.empty(0)
        self.before = self.after = Sums(empty, empty)
        grid, most = rows.rough_grid()
        self.add(grid)
        up = rows.slopes_at_zero > 0
        s = np.abs(rows.slopes_at_zero)
        parts = self._sums([np.where(side, part, 0.0) for side in (up, ~up) for part in (s, most)])
        # Slopes at 0 and most falls of the rows that gain by b > 0, and of those that do by b < 0.
        self.rise_slope, self.rise_most, self.sink_slope, self.sink_most = parts

    def _sums(self, columns: list[Array]) -> Array:
        scales = [float(np.max(np.abs(c), initial=0.0)) or 1.0 for c in columns]
        sums = self.index.column_masses([c / scale for c, scale in zip(columns, scales)])
        return sums * np.reshape(scales, (-1, 1, 1))

    def add(self, points: list[float]) -> None:
        """Let the grid have further points."""
        shape = (2, len(points), self.index.p, self.index.n_bins + 1)
        before, after = np.zeros(shape), np.zeros(shape)
        for m, b in enumerate(points):
            sums = self._sums(list(self.rows.at(b)))
            np.cumsum(sums, axis=2, out=before[:, m, :, 1:])
            np.cumsum(sums[:, :, ::-1], axis=2, out=after[:, m, :, -2::-1])
        grid = np.concatenate([self.grid, points])
        order = np.argsort(grid)
        self.grid = grid[order]
        self.before, self.after = (
            Sums(*(np.concatenate([old, new])[order] for old, new in zip(known, found)))
            for known, found in ((self.before, before), (self.after, after))
        )

    def sides(self) -> tuple[Maxima, Maxima]:
        """The maxima of D over the rows before and after each edge: of shape (p, B + 1)."""
        return self.before.maxima(self.grid), self.after.maxima(self.grid)

    def bounds(self, left: Maxima, right: Maxima) -> tuple[Array, list[Maxima]]:
        """What no threshold inside each cell exceeds, and the maxima that it is made of."""
        tilted, bounds = [], []
        for sums, at, side in (
            (self.before, np.s_[:-1], left.upper[:, :-1]),
            (self.after, np.s_[1:], right.upper[:, 1:]),
        ):
            for tilt, most in (
                (self.rise_slope, self.rise_most),
                (-self.sink_slope, self.sink_most),
            ):
                tilted.append(sums.maxima(self.grid, tilt, at))
                bounds.append(np.minimum(tilted[-1].upper, side + most))
        return np.maximum(bounds[0] + bounds[3], bounds[1] + bounds[2]), tilted
