"""Random sketches S of the rows of a matrix, S Phi with S of shape (s, n), added up over chunks.

Every sketch has E[S'S] = I. The columns of S are drawn in the order of the rows, from a generator
of its own, so that the result does not depend on how the rows are cut into chunks. No more of S
than the columns of a few rows is ever in memory.
"""

from abc import ABC, abstractmethod
from copy import copy
from typing import Any, ClassVar, Self

import numpy as np
import scipy.fft
import scipy.sparse as sp

# Numbers of S, dense, that are in memory at a time: 8 MB.
MAX_DENSE = 2**20


class Sketch(ABC):
    """The sums S Phi and S T over the rows seen, of one random S.

    Parameters
    ----------
    seed : int or list of int
    size : int
        The number s of rows of S.
    n_features, n_targets : int
        Columns of Phi and of T.
    """

    # Whether the rows of S are orthogonal, up to their number of elements.
    orthogonal: ClassVar[bool] = False
    # Whether S is drawn without a look at the rows, so that chunks can be added.
    oblivious: ClassVar[bool] = True

    def __init__(self, seed: int | list[int], size: int, n_features: int, n_targets: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.size = size
        self.phi = np.zeros((size, n_features))
        self.targets = np.zeros((size, n_targets))

    @abstractmethod
    def add(self, phi: Any, targets: np.ndarray) -> None:
        """Add a chunk of rows.

        Parameters
        ----------
        phi : C-contiguous float array or CSR matrix of shape (c, n_features)
        targets : float array of shape (c, n_targets)
        """

    def result(self) -> tuple[np.ndarray, np.ndarray]:
        """(S Phi, S T) of the rows added so far, in arrays of their own."""
        return self.phi.copy(), self.targets.copy()

    def closed(self) -> Self:
        """The sketch of these rows without more to come, which can be added to others."""
        return self

    def __add__(self, other: Self) -> Self:
        """The sketch of the rows of both, which are closed and have columns of their own in S."""
        total = copy(self)
        total.phi, total.targets = self.phi + other.phi, self.targets + other.targets
        return total

    def mapped(self, x_change: np.ndarray, y_factor: np.ndarray, y_change: np.ndarray) -> Self:
        """The closed sketch of rows x + x_change with targets y * y_factor + y_change.

        The first column of the targets has the square roots of the weights.
        """
        ones, y = self.targets[:, :1], self.targets[:, 1:]
        total = copy(self)
        total.phi = self.phi + ones * x_change if x_change.any() else self.phi
        total.targets = np.hstack([ones, y * y_factor + ones * y_change])
        return total


class _DenseSketch(Sketch):
    """Independent elements of mean 0 and variance 1/s."""

    @abstractmethod
    def _columns(self, n_rows: int) -> np.ndarray:
        """The next columns of sqrt(s) S, transposed: shape (n_rows, s)."""

    def add(self, phi, targets):
        step = max(1, MAX_DENSE // self.size)
        for start in range(0, phi.shape[0], step):
            part = phi[start : start + step]
            columns = self._columns(part.shape[0])
            self.phi += (part.T @ columns).T
            self.targets += columns.T @ targets[start : start + step]

    def result(self):
        scale = self.size**-0.5
        return self.phi * scale, self.targets * scale


class GaussianSketch(_DenseSketch):
    """Standard normal elements: O(s d) a row."""

    def _columns(self, n_rows):
        return self.rng.standard_normal((n_rows, self.size))


class RademacherSketch(_DenseSketch):
    """Random signs, 64 of them from each number of the generator: O(s d) a row."""

    def _columns(self, n_rows):
        words = -(-self.size // 64)
        raw = self.rng.bit_generator.random_raw(n_rows * words)
        bits = np.unpackbits(raw.view(np.uint8).reshape(n_rows, 8 * words), axis=1)
        columns = bits[:, : self.size].astype(np.float64)
        columns *= 2
        columns -= 1
        return columns


class CountSketch(Sketch):
    """Each row is added to one row of the sketch, drawn at random, with a random sign: O(d)."""

    def add(self, phi, targets):
        n_rows = phi.shape[0]
        drawn = self.rng.integers(2 * self.size, size=n_rows)
        signs = np.where(drawn < self.size, 1.0, -1.0)
        # One element a column: the product reads phi once, row by row, and nothing is sorted.
        S = sp.csc_matrix(
            (signs, drawn % self.size, np.arange(n_rows + 1)), shape=(self.size, n_rows)
        )
        product = S @ phi
        self.phi += product.toarray() if sp.issparse(product) else product
        self.targets += S @ targets


class TrigonometricSketch(Sketch):
    """Blocks of rows with random signs, their cosine transform, and s of its rows: O(d log B).

    A subsampled randomized transform of each block of B >= s rows, B a power of two, and the sum
    over the blocks. As every block has the rows of an orthogonal matrix, S has orthogonal rows.
    The last block is filled up with zeros.
    """

    orthogonal = True

    def __init__(self, seed, size, n_features, n_targets):
        super().__init__(seed, size, n_features, n_targets)
        self.block = max(256, 1 << (size - 1).bit_length())
        self.rows = np.empty((0, 0))  # the block, from the first row on
        self.n_rows = 0

    def add(self, phi, targets):
        if not self.rows.size:
            self.rows = np.zeros((self.block, self.phi.shape[1] + self.targets.shape[1]))
        start = 0
        while start < phi.shape[0]:
            stop = min(phi.shape[0], start + self.block - self.n_rows)
            place = slice(self.n_rows, self.n_rows + stop - start)
            part = phi[start:stop]
            self.rows[place, : phi.shape[1]] = part.toarray() if sp.issparse(part) else part
            self.rows[place, phi.shape[1] :] = targets[start:stop]
            self.n_rows += stop - start
            start = stop
            if self.n_rows == self.block:
                chosen = self._transformed(self.rows, self.rng)
                self.phi += chosen[:, : phi.shape[1]]
                self.targets += chosen[:, phi.shape[1] :]
                self.n_rows = 0

    def _transformed(self, rows, rng):
        """s of the rows of the transform, which overwrites `rows`."""
        rows *= np.where(rng.integers(2, size=self.block), 1.0, -1.0)[:, None]
        turned = scipy.fft.dct(rows, axis=0, norm="ortho", overwrite_x=True)
        return turned[rng.permutation(self.block)[: self.size]] * (self.block / self.size) ** 0.5

    def result(self):
        phi, targets = super().result()
        if self.n_rows:
            rows = self.rows.copy()
            rows[self.n_rows :] = 0
            rng = np.random.default_rng()
            rng.bit_generator.state = self.rng.bit_generator.state  # more rows may come
            chosen = self._transformed(rows, rng)
            phi += chosen[:, : phi.shape[1]]
            targets += chosen[:, phi.shape[1] :]
        return phi, targets

    def closed(self):
        total = copy(self)
        total.phi, total.targets = self.result()
        total.rows, total.n_rows = np.empty((0, 0)), 0
        return total


class SubsampleSketch(Sketch):
    """s rows without replacement: those of the smallest of independent uniform keys."""

    orthogonal = True

    def __init__(self, seed, size, n_features, n_targets):
        super().__init__(seed, size, n_features, n_targets)
        self.keys = np.full(size, np.inf)
        self.n_rows = 0

    def add(self, phi, targets):
        keys = self.rng.random(phi.shape[0])
        self.n_rows += len(keys)
        rows = np.flatnonzero(keys < self.keys.max())
        all_keys = np.concatenate([self.keys, keys[rows]])
        kept = np.sort(np.argpartition(all_keys, self.size - 1)[: self.size])
        old = kept[kept < self.size]
        new = rows[kept[len(old) :] - self.size]
        replaced = np.setdiff1d(np.arange(self.size), old, assume_unique=True)
        part = phi[new]
        self.phi[replaced] = part.toarray() if sp.issparse(part) else part
        self.targets[replaced] = targets[new]
        self.keys[replaced] = keys[new]

    def __add__(self, other):
        total = copy(self)
        keys = np.concatenate([self.keys, other.keys])
        kept = np.argsort(keys, kind="stable")[: self.size]
        total.keys, total.n_rows = keys[kept], self.n_rows + other.n_rows
        total.phi = np.concatenate([self.phi, other.phi])[kept]
        total.targets = np.concatenate([self.targets, other.targets])[kept]
        return total

    def result(self):
        # In the order of the keys, which does not depend on the chunks.
        order = np.argsort(self.keys)[: self.n_rows]
        scale = (self.n_rows / len(order)) ** 0.5
        return self.phi[order] * scale, self.targets[order] * scale


class RowSketch(Sketch):
    """Given rows with given factors: those that `draw_leverage_rows` drew."""

    oblivious = False

    def __init__(self, seed, size, n_features, n_targets):
        super().__init__(seed, size, n_features, n_targets)
        self.n_rows = 0
        self.n_filled = 0
        self.rows, self.factors = np.empty(0, dtype=np.intp), np.empty(0)

    def draw(self, probability: np.ndarray) -> None:
        """Draw s rows with replacement; a row drawn c times has the factor sqrt(c / (s p))."""
        self.rows, self.factors = draw_leverage_rows(self.rng, probability, self.size)

    def draw_some(self, probability: np.ndarray, count: int, share: float) -> None:
        """Draw `count` of the s rows, from some that have this share of the probability of all."""
        self.rows, self.factors = draw_leverage_rows(self.rng, probability, count)
        self.factors *= (count / (self.size * share)) ** 0.5

    def add(self, phi, targets):
        first, last = np.searchsorted(self.rows, [self.n_rows, self.n_rows + phi.shape[0]])
        rows, factors = self.rows[first:last] - self.n_rows, self.factors[first:last, None]
        part = phi[rows]
        place = slice(self.n_filled, self.n_filled + len(rows))
        self.phi[place] = (part.toarray() if sp.issparse(part) else part) * factors
        self.targets[place] = targets[rows] * factors
        self.n_filled += len(rows)
        self.n_rows += phi.shape[0]

    def closed(self):
        total = copy(self)
        total.phi, total.targets = self.phi[: self.n_filled], self.targets[: self.n_filled]
        total.rows, total.factors = self.rows[:0], self.factors[:0]
        return total

    def __add__(self, other):
        total = copy(self)
        total.phi = np.concatenate([self.phi, other.phi])
        total.targets = np.concatenate([self.targets, other.targets])
        return total


def draw_leverage_rows(
    rng: np.random.Generator, probability: np.ndarray, size: int
) -> tuple[np.ndarray, np.ndarray]:
    """(the distinct rows of `size` draws with replacement, increasing; their factors)."""
    cumulated = np.cumsum(probability)
    drawn = np.searchsorted(cumulated, rng.random(size) * cumulated[-1], side="right")
    rows, counts = np.unique(np.minimum(drawn, len(probability) - 1), return_counts=True)
    return rows, np.sqrt(counts / (size * probability[rows] / cumulated[-1]))


SKETCHES: dict[str, type[Sketch]] = {
    "countsketch": CountSketch,
    "gaussian": GaussianSketch,
    "leverage": RowSketch,
    "rademacher": RademacherSketch,
    "srht": TrigonometricSketch,
    "subsample": SubsampleSketch,
}
