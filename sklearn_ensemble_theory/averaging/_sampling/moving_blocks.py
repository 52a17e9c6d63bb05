"""Draws of blocks of consecutive rows, for time series."""

import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from sklearn_ensemble_theory.averaging._sampling.schemes import (
    PLAIN,
    SamplingDesign,
    SamplingScheme,
    distinct_rows,
)

__all__ = ["MovingBlocks", "default_block_length"]


def default_block_length(n_samples: int) -> int:
    """ceil(n^(1/3)), the rate at which the error of the variance is least [Künsch, 1989]."""
    return math.ceil(np.cbrt(n_samples) - 1e-9)


@dataclass(frozen=True, kw_only=True)
class MovingBlocks(SamplingScheme):
    """Blocks of l consecutive rows, drawn with replacement until there are s rows.

    The units are the N = n - l + 1 blocks, of which K = ceil(s/l) are drawn; of the last one only
    the rows up to s are taken. A row that is drawn keeps its own weight: a row of weight 0 has its
    place in time, but no member is fitted to it.

    Parameters
    ----------
    block_length : int
        l.
    """

    size: int
    block_length: int

    bootstrap = "moving_block"
    takes_groups = False
    no_groups = "blocks are of consecutive rows, whatever group they belong to"
    takes_block_length = True
    leaves_units_out = False

    @classmethod
    def of(
        cls,
        n_samples: int,
        max_samples: int | float | None,
        sample_weight: np.ndarray | None = None,
        design: SamplingDesign = PLAIN,
    ) -> Self:
        """The scheme, as in the base class; a fraction is one of the number of rows.

        Raises
        ------
        ValueError
            In addition if a block is longer than the sample.
        """
        if sample_weight is not None and not sample_weight.any():
            raise ValueError("sample_weight must be positive for at least one row.")
        size = int(cls.size_from(max_samples, n_samples, None, design.unit))
        length = design.block_length
        most = min(size, n_samples)
        if length is None:
            length = min(default_block_length(n_samples), most)
        if length > most:
            raise ValueError(
                f"block_length={length} must be at most {most}, the number of rows of X and of "
                f"the rows that are drawn, max_samples={max_samples}."
            )
        return cls(n_samples=n_samples, size=size, sample_weight=sample_weight, block_length=length)

    @property
    def n_units(self) -> int:
        return self.n_samples - self.block_length + 1

    @property
    def _n_drawn(self) -> int:
        return -(-self.size // self.block_length)

    def _blocks(self, rng: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
        """(first rows of the blocks drawn, their rows of positive weight)."""
        while True:  # a draw of rows of weight 0 only is repeated
            starts = rng.randint(0, self.n_units, self._n_drawn)
            rows = (starts[:, None] + np.arange(self.block_length)).ravel()[: self.size]
            if self.sample_weight is not None:
                rows = rows[self.sample_weight[rows] > 0]
            if len(rows):
                return starts, rows

    def indices(self, rng: np.random.RandomState) -> np.ndarray:
        rows = self._blocks(rng)[1]
        return rows if self.draws_counts else np.unique(rows)

    def draw(self, rng: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
        rows, counts = distinct_rows(self._blocks(rng)[1], self.n_samples)
        own = self.sample_weight
        return rows, counts if own is None else counts * own[rows]

    def draw_units(self, rng: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
        """The first rows of the blocks drawn, and how often each was drawn."""
        return distinct_rows(self._blocks(rng)[0], self.n_units)

    @property
    def unit_shares(self) -> None:
        return None

    @property
    def noise_is_known(self) -> bool:
        return True

    @property
    def draws_counts(self) -> bool:
        return self.sample_weight is None

    @property
    def leaves_rows_out(self) -> bool:
        return self.n_units > 1

    @property
    def noise(self) -> float:
        return self._n_drawn * (1 - 1 / self.n_units)

    @property
    def jackknife_scale(self) -> float:
        # With f_j the influence of block j, N times its covariance, the variance is l/n times the
        # mean of f_j²: N blocks that overlap tell as much as n/l that do not. The centre of the
        # blocks is estimated as well, which takes away the share l/n.
        n, length = self.n_samples, self.block_length
        return self.n_units * length / (n - length) if length < n else np.inf

    def error_of_mean(self, values: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """From the sums over all blocks of consecutive rows, which are correlated."""
        n, length, m = self.n_samples, self.block_length, values.shape[1]
        if m < 2 or length == n:
            return np.full(len(values), np.nan)
        sums = np.zeros((len(values), n + 1))
        sums[:, rows + 1] = values - values.mean(axis=1, keepdims=True)
        sums = np.cumsum(sums, axis=1)
        squares = np.mean((sums[:, length:] - sums[:, :-length]) ** 2, axis=1)
        return np.sqrt(squares / length * n / (1 - length / n)) / m
