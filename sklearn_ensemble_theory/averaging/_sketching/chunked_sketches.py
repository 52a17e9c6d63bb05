"""Sketches of rows in chunks, and the products with all rows that the refinement needs."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sklearn_ensemble_theory._rows import ChunkedRows, Rows
from sklearn_ensemble_theory.averaging._bagging.members import MAX_SEED
from sklearn_ensemble_theory.averaging._sketching.leverage import (
    UNIFORM_SHARE,
    inverse_root,
    leverage_scores,
    leverage_sketch,
)
from sklearn_ensemble_theory.averaging._sketching.row_chunks import CentredRows, RowChunks
from sklearn_ensemble_theory.averaging._sketching.sketch_sums import NO_SPREAD, SketchSums
from sklearn_ensemble_theory.averaging._sketching.sketches import SKETCHES, RowSketch, Sketch


def sketches_of_chunks(
    rows: ChunkedRows, kind: str, size: int, seeds: Sequence[int], fit_intercept: bool
) -> SketchSums:
    """The sums over all chunks, in one pass over them; in three passes for leverage scores.

    Parameters
    ----------
    rows : ChunkedRows
    kind : str
        A key of `SKETCHES`.
    size : int
    seeds : sequence of int
        One for each sketch; a chunk's random numbers are those of the seed and its number.
    fit_intercept : bool
    """
    if SKETCHES[kind].oblivious:
        return rows.sum(_sketches_of_chunk, kind, size, seeds, fit_intercept)
    return rows.sum(_drawn_rows, _LeverageDraws(rows, size, seeds, fit_intercept))


def _sketches_of_chunk(
    chunk: Rows, kind: str, size: int, seeds: Sequence[int], fit_intercept: bool
) -> SketchSums:
    q = chunk.y.reshape(len(chunk.y), -1).shape[1]
    make: Any = SKETCHES[kind]
    sketches = [make([seed, chunk.block], size, chunk.X.shape[1], q + 1) for seed in seeds]
    return _added_rows(chunk, sketches, fit_intercept)


def _added_rows(
    chunk: Rows, sketches: list[Sketch], fit_intercept: bool, y: np.ndarray | None = None
) -> SketchSums:
    """The sketches of this chunk; with other targets than its own if they are given."""
    y = chunk.y if y is None else y
    sums = SketchSums.of(sketches, chunk.X, y, fit_intercept, NO_SPREAD)
    sums.add(sums.chunks(chunk.X, y, _roots(chunk)), 1)
    sums.close()
    return sums


def _roots(chunk: Rows) -> np.ndarray | None:
    return None if chunk.weight is None else np.sqrt(chunk.weight)


class _LeverageDraws:
    """How many rows each sketch draws from each chunk, and with which probabilities there.

    Parameters
    ----------
    rows : ChunkedRows
        They are read twice: for a count sketch, and for the sum of the scores of each chunk.
    size, seeds, fit_intercept : as for `sketches_of_chunks`
    """

    def __init__(
        self, rows: ChunkedRows, size: int, seeds: Sequence[int], fit_intercept: bool
    ) -> None:
        self.size, self.seeds, self.fit_intercept = size, seeds, fit_intercept
        seed = int(np.random.default_rng(seeds[0]).integers(MAX_SEED))
        sums = rows.sum(_count_sketch, seed, fit_intercept)
        self.shift = sums.shift
        self.x_mean, _ = sums.means(fit_intercept)
        self.M = inverse_root(sums.sketches[0], self.x_mean, seed)
        found = rows.each(_sum_of_scores, self)
        totals = np.array([(0.0, 0) if one is None else one for one in found])
        self.total, self.n_rows = totals.sum(axis=0)
        self.shares = self.mixed(*totals.T)
        draws = [np.random.default_rng(seed).multinomial(size, self.shares) for seed in seeds]
        self.counts = np.array(draws)

    def mixed(self, scores: np.ndarray, n_rows: Any = 1) -> np.ndarray:
        """Probabilities, among all rows, of rows with these (sums of) scores."""
        uniform = np.asarray(n_rows) / self.n_rows
        if self.total <= 0:
            return np.broadcast_to(uniform, scores.shape)
        return scores / self.total * (1 - UNIFORM_SHARE) + uniform * UNIFORM_SHARE

    def scores(self, chunk: Rows) -> np.ndarray:
        empty = np.empty((len(chunk.y), 0))
        chunks = RowChunks(chunk.X, empty, _roots(chunk), self.shift)
        return leverage_scores(chunks, self.x_mean, self.M)


def _count_sketch(chunk: Rows, seed: int, fit_intercept: bool) -> SketchSums:
    sketch = leverage_sketch([seed, chunk.block], chunk.X.shape[1])
    return _added_rows(chunk, [sketch], fit_intercept, np.empty((len(chunk.y), 0)))


def _sum_of_scores(chunk: Rows, draws: _LeverageDraws) -> tuple[float, int]:
    return float(draws.scores(chunk).sum()), len(chunk.y)


def _drawn_rows(chunk: Rows, draws: _LeverageDraws) -> SketchSums:
    q = chunk.y.reshape(len(chunk.y), -1).shape[1]
    share = draws.shares[chunk.block]
    probability = draws.mixed(draws.scores(chunk)) / share
    sketches: list[Sketch] = []
    for seed, count in zip(draws.seeds, draws.counts[:, chunk.block]):
        sketch = RowSketch([seed, chunk.block], draws.size, chunk.X.shape[1], q + 1)
        sketch.draw_some(probability, int(count), share)
        sketches.append(sketch)
    return _added_rows(chunk, sketches, draws.fit_intercept)


class ChunkedCentredRows:
    """What `refined` needs of `CentredRows`, in one pass for the start and one for each step.

    A pass has the residuals at the coefficients so far, so that rounding errors of the steps do not
    add up.

    Parameters
    ----------
    rows : ChunkedRows
    frame : SketchSums
        The shifts and units.
    x_mean, y_mean : float arrays of shape (d,) and (q,)
    """

    def __init__(
        self, rows: ChunkedRows, frame: SketchSums, x_mean: np.ndarray, y_mean: np.ndarray
    ) -> None:
        self.rows, self.common = rows, (frame, x_mean, y_mean)
        self.theta = self.direction = self.gradient = self.change = np.empty(0)

    def start(self, theta: np.ndarray) -> np.ndarray:
        self.theta = theta
        return self.rows.sum(_first_gradient, *self.common, theta)

    def squares(self, direction: np.ndarray) -> np.ndarray:
        sums = self.rows.sum(_products_along, *self.common, self.theta, direction)
        self.direction, d = direction, len(direction)
        self.gradient, self.change = sums[:d], sums[d : 2 * d]
        return sums[-1]

    def step(self, length: np.ndarray) -> np.ndarray:
        self.theta = self.theta + length * self.direction
        return self.gradient - length * self.change


def _centred(chunk: Rows, frame: SketchSums, x_mean: np.ndarray, y_mean: np.ndarray) -> CentredRows:
    return CentredRows(frame.chunks(chunk.X, chunk.y, _roots(chunk)), x_mean, y_mean)


def _first_gradient(
    chunk: Rows,
    frame: SketchSums,
    x_mean: np.ndarray,
    y_mean: np.ndarray,
    theta: np.ndarray,
) -> np.ndarray:
    return _centred(chunk, frame, x_mean, y_mean).start(theta)


def _products_along(
    chunk: Rows,
    frame: SketchSums,
    x_mean: np.ndarray,
    y_mean: np.ndarray,
    theta: np.ndarray,
    direction: np.ndarray,
) -> np.ndarray:
    """Phi'(y - Phi theta), Phi'Phi direction and the squares of Phi direction, in one array."""
    rows = _centred(chunk, frame, x_mean, y_mean)
    gradient = rows.start(theta)
    squares = rows.squares(direction)
    return np.vstack([gradient, rows.transposed_times(rows.moved), squares])
