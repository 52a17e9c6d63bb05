"""The law of the random weights that bagging gives to the rows, as an interface.

Each member of a bagged ensemble is fitted to weights v_1, ..., v_n >= 0 of the rows, drawn anew for
each member [Bach, §10.1.2]. A scheme is the law of v. It draws weights, has the two moments of
them that the infinitesimal jackknife uses, turns `max_samples` into its size, and raises the errors
of that. The rest of the package uses nothing but the interface of `SamplingScheme`: a new scheme is
one class and its name in `SCHEMES`.

What is drawn are *units*, of which the theory of standard errors is: the rows, or groups or blocks
of rows.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from numbers import Integral
from typing import ClassVar, Self
from warnings import warn

import numpy as np
import scipy.sparse as sp

__all__ = ["PLAIN", "SamplingDesign", "SamplingScheme", "distinct_rows"]


def distinct_rows(indices: np.ndarray, n_samples: int) -> tuple[np.ndarray, np.ndarray]:
    """The distinct rows in increasing order and how often each was drawn.

    O(min(s log s, n)): a small sample of many rows is sorted, a large one is counted.
    """
    if len(indices) * 16 < n_samples:
        return np.unique(indices, return_counts=True)
    counts = np.bincount(indices, minlength=n_samples)
    rows = np.flatnonzero(counts)
    return rows, counts[rows]


LARGEST_SIZE = 2**30


@dataclass(frozen=True)
class SamplingDesign:
    """What a fit knows of its rows besides their weights.

    Parameters
    ----------
    groups : int array of shape (n,) or None
        The groups 0 ... G-1 that the rows belong to.

    strata : int array of shape (n,) or None
        The classes 0 ... K-1 of the rows; None for regression.

    block_length : int or None
        The parameter of that name.

    unit : str
        What the rows are, for messages.
    """

    groups: np.ndarray | None = None
    strata: np.ndarray | None = None
    block_length: int | None = None
    unit: str = "samples"


PLAIN = SamplingDesign()


@dataclass(frozen=True)
class SamplingScheme(ABC):
    """A law of random weights v on n rows.

    Parameters
    ----------
    n_samples : int
        The number n of rows.

    size : int or float
        The number s of rows that a member draws; for some schemes the probability q of a row.

    sample_weight : ndarray of shape (n_samples,), default=None
        Weights of the rows before any draw.

    cumulative_weight : ndarray of shape (n_samples,), default=None
        Their cumulative sums, divided by the total: a weighted draw costs O(s log n), not O(n).
    """

    n_samples: int
    size: int | float
    sample_weight: np.ndarray | None = None
    cumulative_weight: np.ndarray | None = None

    # The value of the parameter `bootstrap` that selects the scheme.
    bootstrap: ClassVar[bool | str]
    # Whether members differ in their rows.
    is_random: ClassVar[bool] = True
    # Whether the mean of v_i is proportional to the weight of row i.
    mean_follows_weight: ClassVar[bool] = True
    # Whether groups can be drawn in place of rows; a reason if they cannot.
    takes_groups: ClassVar[bool] = True
    no_groups: ClassVar[str] = ""
    # Whether `block_length` is a parameter of the scheme.
    takes_block_length: ClassVar[bool] = False
    # Whether members without a unit are as those of a fit without it, as a jackknife needs.
    leaves_units_out: ClassVar[bool] = True

    @classmethod
    def of(
        cls,
        n_samples: int,
        max_samples: int | float | None,
        sample_weight: np.ndarray | None = None,
        design: SamplingDesign = PLAIN,
    ) -> Self:
        """The scheme on `n_samples` rows, of the size that `max_samples` stands for.

        Raises
        ------
        ValueError
            If `max_samples` does not fit the rows, or no weight is positive.
        """
        size = cls.size_from(max_samples, n_samples, sample_weight, design.unit)
        if sample_weight is None:
            return cls(n_samples, size)
        with np.errstate(over="ignore"):
            total = sample_weight.sum()
        if not (np.isfinite(total) and total > 0):
            raise ValueError(f"The sum of sample_weight must be positive and finite, got {total}.")
        cumulative = np.cumsum(sample_weight / total)
        cumulative /= cumulative[-1]
        return cls(n_samples, size, sample_weight, cumulative)

    @classmethod
    def size_from(
        cls,
        max_samples: int | float | None,
        n_samples: int,
        sample_weight: np.ndarray | None,
        unit: str = "samples",
    ) -> int | float:
        """The number of rows s that `max_samples` stands for; None is as many as there are.

        A fraction is a fraction of the total weight, so that integer weights are equivalent to
        repeating rows. It must be below 2^30 draws.
        """
        if max_samples is None:
            return n_samples
        if isinstance(max_samples, Integral):
            return int(max_samples)
        if sample_weight is None:
            total, whose = n_samples, f"the number of {unit}"
        else:
            with np.errstate(over="ignore"):
                total, whose = sample_weight.sum(), "the total sum of sample weights"
        if max_samples * total >= LARGEST_SIZE:
            raise ValueError(
                f"max_samples={max_samples} of {whose}, {total:.3g}, is {LARGEST_SIZE:,} draws or "
                "more; scale sample_weight, or pass `max_samples` as an integer."
            )
        size = max(int(max_samples * total), 1)
        if size < max(10, n_samples ** (1 / 3)):
            warn(
                f"Using the fractional value max_samples={max_samples} when {whose} is {total} "
                f"results in a low number ({size}) of bootstrap {unit}. "
                "We recommend passing `max_samples` as an integer instead.",
                stacklevel=8,
            )
        return size

    @abstractmethod
    def indices(self, rng: np.random.RandomState) -> np.ndarray:
        """Rows in the order drawn, a row as often as it was drawn.

        Where the weights are not counts, each row of positive weight once.
        """

    def draw(self, rng: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
        """The rows of positive weight, in increasing order, and their weights v."""
        return distinct_rows(self.indices(rng), self.n_samples)

    @property
    def leaves_rows_out(self) -> bool:
        """Whether some rows get weight 0 in a member, so that out-of-bag estimates exist."""
        return True

    @property
    def draws_counts(self) -> bool:
        """Whether every v_i is an integer, so that rows can be repeated instead of weighted."""
        return True

    @property
    @abstractmethod
    def noise(self) -> float:
        """sum_i Var(v_i - mean of v), for unweighted rows.

        Where the total of v is fixed its mean is constant; where the v_i are independent,
        subtracting their mean reduces the variance by the factor 1 - 1/n.
        """

    @property
    @abstractmethod
    def jackknife_scale(self) -> float:
        """c in Var = c sum_i Cov(v_i, t)², which turns covariances into influences of the rows.

        Infinite where every member has the same weights, which tell nothing about the influences.
        With weights of the rows it holds for what `influence_draws` returns.
        """

    def influence_draws(self, weights: sp.csr_array) -> sp.csr_array:
        """The draws whose covariances with predictions are the influences of the rows.

        Parameters
        ----------
        weights : sparse matrix of shape (B, n)
            The weights v of B draws.

        Raises
        ------
        ValueError
            If the influences of rows of different weights are not known.
        """
        return weights

    # ------------------------------------------------------------------------------------- Units

    @property
    def n_units(self) -> int:
        """The number of units: rows, groups or blocks of rows."""
        return self.n_samples

    @property
    def unit_of_row(self) -> np.ndarray | None:
        """The group that each row belongs to; None where the rows are drawn by themselves."""
        return None

    def draw_units(self, rng: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
        """The units of positive weight, in increasing order, and their weights, as `draw` does."""
        return self.draw(rng)

    @property
    def unit_shares(self) -> np.ndarray | None:
        """p_i, the share of a unit of the total weight; None for 1/n."""
        weight = self.sample_weight
        return None if weight is None else weight / weight.sum()

    @property
    def noise_is_known(self) -> bool:
        """Whether `noise` is that of the units; it is not for rows that are drawn by weight."""
        return self.sample_weight is None

    def is_outside(self, rows: np.ndarray) -> np.ndarray:
        """Whether each row is out of bag in a member that is fitted to `rows`."""
        outside = np.ones(self.n_samples, dtype=bool)
        outside[rows] = False
        return outside

    def error_of_mean(self, values: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Standard error of means over rows, whose units are drawn from a population.

        Parameters
        ----------
        values : array of shape (p, m)
            Of p quantities at m rows.
        rows : int array of shape (m,)
            Which rows, in increasing order.

        Returns
        -------
        error : array of shape (p,)
            nan for fewer than 2 units.
        """
        m = values.shape[1]
        if m < 2:
            return np.full(len(values), np.nan)
        return values.std(axis=1, ddof=1) / np.sqrt(m)

    def _with_replacement(self, size: int, rng: np.random.RandomState) -> np.ndarray:
        if self.cumulative_weight is None:
            return rng.randint(0, self.n_samples, size)
        return np.searchsorted(self.cumulative_weight, rng.random_sample(size), side="right")
