"""Sums of sketches over rows, and the small least-squares problems that they end in."""

import itertools
from copy import copy
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils.parallel import Parallel, delayed

from sklearn_ensemble_theory._scaling import power_of_two
from sklearn_ensemble_theory.averaging._sketching.row_chunks import RowChunks, first_shift
from sklearn_ensemble_theory.averaging._sketching.sketched_solutions import (
    SketchedGram,
    check_sums,
    sketched_solution,
)
from sklearn_ensemble_theory.averaging._sketching.sketches import Sketch

# Elements of a centred column below this share of what was subtracted are rounding.
CANCELLED = 1e-13
# The unit of targets that are all equal: any other one is larger.
NO_SPREAD = float(np.finfo(np.float64).tiny)


@dataclass
class SketchSums:
    """What `fit` accumulates: the sketches and the sums over the rows seen."""

    sketches: list[Sketch]
    shift: np.ndarray
    y_shift: np.ndarray
    y_unit: np.ndarray
    single: bool
    n_rows: int = 0
    weight: float = 0.0
    x_sum: np.ndarray = field(init=False)
    y_sum: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.x_sum = np.zeros_like(self.shift)
        self.y_sum = np.zeros_like(self.y_shift)

    @classmethod
    def of(
        cls,
        sketches: list[Sketch],
        X: Any,
        y: np.ndarray,
        fit_intercept: bool,
        smallest_unit: float = 1.0,
    ) -> "SketchSums":
        """Without rows as yet; about shifts and in units for rows like these.

        `smallest_unit` is that of targets that are all equal.
        """
        columns = y.reshape(len(y), -1)
        y_shift = first_shift(columns, fit_intercept)
        largest = np.abs(columns / 2 - y_shift / 2).max(axis=0)
        y_unit = np.array([power_of_two(2 * x) if x > 0 else smallest_unit for x in largest])
        return cls(sketches, first_shift(X, fit_intercept), y_shift, y_unit, y.ndim == 1)

    def chunks(self, X: Any, y: np.ndarray, root_weight: np.ndarray | None) -> RowChunks:
        y = (y.reshape(len(y), -1) - self.y_shift) / self.y_unit
        return RowChunks(X, y, root_weight, self.shift)

    def add(self, chunks: RowChunks, n_jobs: int | None) -> None:
        """Add the rows to all sums; the sketches in threads, a group of members each."""
        weight, x_sum, y_sum = chunks.sums()
        self.weight += weight
        self.x_sum += x_sum
        self.y_sum += y_sum
        self.n_rows += chunks.X.shape[0]
        in_groups(add_rows, self.sketches, n_jobs, chunks)

    def close(self) -> None:
        """Add no more rows, so that the sums can be added to others."""
        self.sketches = [sketch.closed() for sketch in self.sketches]

    def __add__(self, other: Self) -> "SketchSums":
        """The sums over the rows of both, which have been closed, about the shifts of the first."""
        with np.errstate(over="ignore"):
            gap = np.abs(other.y_shift - self.y_shift)
        if not np.isfinite(gap).all():
            raise ValueError("y has differences beyond the largest float; scale y.")
        gaps = [power_of_two(x) if x > 0 else NO_SPREAD for x in gap]
        unit = np.maximum(np.maximum(self.y_unit, other.y_unit), gaps)
        parts = self.about(self, unit), other.about(self, unit)
        total = SketchSums(
            [one + two for one, two in zip(parts[0].sketches, parts[1].sketches)],
            self.shift,
            self.y_shift,
            unit,
            self.single,
            self.n_rows + other.n_rows,
            self.weight + other.weight,
        )
        total.x_sum = parts[0].x_sum + parts[1].x_sum
        total.y_sum = parts[0].y_sum + parts[1].y_sum
        return total

    def about(self, first: "SketchSums", unit: np.ndarray) -> "SketchSums":
        """The same sums about the shifts of others, with y in another unit."""
        x_change = self.shift - first.shift
        y_change = (self.y_shift - first.y_shift) / unit
        y_factor = self.y_unit / unit
        moved = copy(self)
        moved.sketches = [one.mapped(x_change, y_factor, y_change) for one in self.sketches]
        moved.x_sum = self.x_sum + self.weight * x_change
        moved.y_sum = self.y_sum * y_factor + self.weight * y_change
        return moved

    def frame(self) -> "SketchSums":
        """The same without the sketches: the shifts and units."""
        frame = copy(self)
        frame.sketches = []
        return frame

    def means(self, fit_intercept: bool) -> tuple[np.ndarray, np.ndarray]:
        """Weighted means of X and y about their shifts; zero without an intercept."""
        if not fit_intercept:
            return np.zeros_like(self.x_sum), np.zeros_like(self.y_sum)
        return self.x_sum / self.weight, self.y_sum / self.weight


def in_groups(task: Any, sketches: list[Sketch], n_jobs: int | None, *args: Any) -> list[Any]:
    """The results of `task(group, *args)` for groups of sketches in threads, one after the other.

    The results do not depend on the groups; with one thread nothing is handed out.
    """
    n_groups = min(len(sketches), effective_n_jobs(n_jobs))
    if n_groups == 1:
        return task(sketches, *args)
    bounds = np.linspace(0, len(sketches), n_groups + 1).astype(int)
    groups = [sketches[a:b] for a, b in itertools.pairwise(bounds)]
    parallel = Parallel(n_jobs=n_groups, require="sharedmem")  # sketches are changed in place
    return list(itertools.chain(*parallel(delayed(task)(group, *args) for group in groups)))


def add_rows(sketches: list[Sketch], chunks: RowChunks) -> list[Any]:
    """Add the rows to these sketches, chunk by chunk, so that X is read once for all of them."""
    # The product with a chunk is as large as the sketch.
    with np.errstate(over="ignore", invalid="ignore"):
        for part in chunks.slices(2 * sketches[0].size):
            rows, targets = chunks.rows(part), chunks.targets(part)
            for sketch in sketches:
                sketch.add(rows, targets)
    return []


def member_solutions(
    sketches: list[Sketch],
    x_mean: np.ndarray,
    y_mean: np.ndarray,
    alpha: float,
    keeps_gram: bool,
) -> list[tuple[np.ndarray, int, SketchedGram | None]]:
    """(coefficients of shape (d, q), rank, what the refinement needs) of these members."""
    results = []
    for sketch in sketches:
        theta, gram = sketched_solution(*centred_sketch(sketch, x_mean, y_mean), alpha)
        results.append((theta, gram.rank, gram if keeps_gram else None))
    return results


def centred_sketch(
    sketch: Sketch, x_mean: np.ndarray, y_mean: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The sketch of the centred rows: S (X - 1 mean') = S X - (S 1) mean'."""
    with np.errstate(over="ignore"):
        A, B = sketch.result()
    check_sums(x_mean, y_mean, A, B)
    ones, B = B[:, :1], np.ascontiguousarray(B[:, 1:])
    if x_mean.any():
        A -= ones * x_mean
        cancelled = np.abs(A).max(axis=0) <= CANCELLED * np.abs(ones).max() * np.abs(x_mean)
        A[:, cancelled] = 0
    if y_mean.any():
        B -= ones * y_mean
    return A, B
