"""Sampling schemes: the laws of the random weights that bagging gives to the rows.

Each member of a bagged ensemble is fitted to weights v_1, ..., v_n >= 0 of the rows, drawn anew for
each member [Bach, §10.1.2]. A scheme is the law of v. It draws weights, has the two moments of
them that the infinitesimal jackknife uses, turns `max_samples` into its size, and raises the errors
of that. The rest of the package uses nothing but the interface of `SamplingScheme`: a new scheme is
one class and its name in `SCHEMES`.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from numbers import Integral
from typing import ClassVar, Self
from warnings import warn

import numpy as np
from sklearn.utils.random import sample_without_replacement

__all__ = [
    "SCHEMES",
    "AllRows",
    "Bernoulli",
    "Bootstrap",
    "Dirichlet",
    "Poisson",
    "SamplingScheme",
    "Subsample",
]


def distinct_rows(indices: np.ndarray, n_samples: int) -> tuple[np.ndarray, np.ndarray]:
    """The distinct rows in increasing order and how often each was drawn.

    O(min(s log s, n)): a small sample of many rows is sorted, a large one is counted.
    """
    if len(indices) * 16 < n_samples:
        return np.unique(indices, return_counts=True)
    counts = np.bincount(indices, minlength=n_samples)
    rows = np.flatnonzero(counts)
    return rows, counts[rows]


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

    @classmethod
    def of(
        cls,
        n_samples: int,
        max_samples: int | float | None,
        sample_weight: np.ndarray | None = None,
    ) -> Self:
        """The scheme on `n_samples` rows, of the size that `max_samples` stands for.

        Raises
        ------
        ValueError
            If `max_samples` does not fit the rows, or no weight is positive.
        """
        size = cls.size_from(max_samples, n_samples, sample_weight)
        if sample_weight is None:
            return cls(n_samples, size)
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
    ) -> int | float:
        """The number of rows s that `max_samples` stands for; None is as many as there are.

        A fraction is a fraction of the total weight, so that integer weights are equivalent to
        repeating rows.
        """
        if max_samples is None:
            return n_samples
        if isinstance(max_samples, Integral):
            return int(max_samples)
        if sample_weight is None:
            total, whose = n_samples, "the number of samples"
        else:
            total, whose = sample_weight.sum(), "the total sum of sample weights"
        size = max(int(max_samples * total), 1)
        if size < max(10, n_samples ** (1 / 3)):
            warn(
                f"Using the fractional value max_samples={max_samples} when {whose} is {total} "
                f"results in a low number ({size}) of bootstrap samples. "
                "We recommend passing `max_samples` as an integer instead.",
                stacklevel=6,
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
        """

    def _with_replacement(self, size: int, rng: np.random.RandomState) -> np.ndarray:
        if self.cumulative_weight is None:
            return rng.randint(0, self.n_samples, size)
        return np.searchsorted(self.cumulative_weight, rng.random_sample(size), side="right")


class Bootstrap(SamplingScheme):
    """Counts of s draws with replacement: v is multinomial, Var(v_i) = s/n (1 - 1/n)."""

    size: int
    bootstrap = True

    def indices(self, rng: np.random.RandomState) -> np.ndarray:
        return self._with_replacement(self.size, rng)

    @property
    def noise(self) -> float:
        return self.size * (1 - 1 / self.n_samples)

    @property
    def jackknife_scale(self) -> float:
        # Cov(v_i, t) is the derivative of the ensemble in the weight of row i [Efron, 2014].
        return 1.0


class Subsample(SamplingScheme):
    """s rows without replacement: v_i is 0 or 1, Var(v_i) = q (1 - q) with q = s/n."""

    size: int
    bootstrap = False
    # A row cannot be drawn twice, however large its weight.
    mean_follows_weight = False

    @classmethod
    def of(
        cls,
        n_samples: int,
        max_samples: int | float | None,
        sample_weight: np.ndarray | None = None,
    ) -> Self:
        scheme = super().of(n_samples, max_samples, sample_weight)
        if scheme.size > n_samples:
            raise ValueError(
                f"Effective max_samples={scheme.size} must be <= n_samples={n_samples} to be able "
                "to sample without replacement."
            )
        n_positive = n_samples if sample_weight is None else np.count_nonzero(sample_weight)
        if scheme.size > n_positive:
            raise ValueError(
                f"Effective max_samples={scheme.size} must be <= {n_positive}, the number of rows "
                "with a positive sample_weight, to be able to sample without replacement."
            )
        return scheme

    def indices(self, rng: np.random.RandomState) -> np.ndarray:
        if self.sample_weight is None:
            return sample_without_replacement(self.n_samples, self.size, random_state=rng)
        p = self.sample_weight / self.sample_weight.sum()
        return rng.choice(self.n_samples, self.size, replace=False, p=p)

    @property
    def leaves_rows_out(self) -> bool:
        return self.size < self.n_samples

    @property
    def noise(self) -> float:
        return self.size * (1 - self.size / self.n_samples)

    @property
    def jackknife_scale(self) -> float:
        # A row that is drawn leaves less room for the others, which the factor (n - 1)/n (1 - q)^-2
        # corrects [Wager and Athey, 2018].
        n, s = self.n_samples, self.size
        return (n - 1) / n * (1 - s / n) ** -2.0 if s < n else np.inf


class Poisson(SamplingScheme):
    """Independent Poisson counts: Var(v_i) = s/n, their mean."""

    bootstrap = "poisson"

    def indices(self, rng: np.random.RandomState) -> np.ndarray:
        # A Poisson number of draws with replacement makes the counts independent Poisson. A draw of
        # no rows is repeated, as there is nothing to fit.
        size = 0
        while size == 0:
            size = rng.poisson(self.size)
        return self._with_replacement(size, rng)

    @property
    def noise(self) -> float:
        return (self.n_samples - 1) * self.size / self.n_samples

    @property
    def jackknife_scale(self) -> float:
        return 1.0


class Dirichlet(SamplingScheme):
    """s times a Dirichlet(1, ..., 1) vector: Var(v_i) = (s/n)² (n - 1)/(n + 1)."""

    bootstrap = "bayesian"

    def draw(self, rng: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
        n = self.n_samples
        concentration = np.ones(n) if self.sample_weight is None else self.sample_weight
        gamma = rng.standard_gamma(concentration)
        total = gamma.sum()
        if total == 0:  # all concentrations near 0, where a Dirichlet puts all on one row
            return self._with_replacement(1, rng), np.array([float(self.size)])
        rows = np.flatnonzero(gamma)
        return rows, gamma[rows] * (self.size / total)

    def indices(self, rng: np.random.RandomState) -> np.ndarray:
        return self.draw(rng)[0]

    @property
    def leaves_rows_out(self) -> bool:
        return False

    @property
    def draws_counts(self) -> bool:
        return False

    @property
    def noise(self) -> float:
        n, s = self.n_samples, self.size
        return n * (s / n) ** 2 * (n - 1) / (n + 1)

    @property
    def jackknife_scale(self) -> float:
        # Cov(v_i, mean of y) = s/(n (n + 1)) (y_i - mean): the variance of the mean is exact.
        return ((self.n_samples + 1) / self.size) ** 2


class RowsWithTheirWeights(SamplingScheme):
    """Base of the schemes in which a row that is drawn keeps its own weight."""

    def draw(self, rng: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
        rows = self.indices(rng)
        own = self.sample_weight
        return rows, np.ones(len(rows)) if own is None else own[rows]

    @property
    def draws_counts(self) -> bool:
        return self.sample_weight is None


class Bernoulli(RowsWithTheirWeights):
    """Each row by itself with probability q, the size: Var(v_i) = q (1 - q)."""

    bootstrap = "bernoulli"

    @classmethod
    def size_from(
        cls,
        max_samples: int | float | None,
        n_samples: int,
        sample_weight: np.ndarray | None,
    ) -> float:
        """The probability q that `max_samples` stands for; None is 1/2."""
        if max_samples is None:
            return 0.5
        if not isinstance(max_samples, Integral):
            return float(max_samples)
        if max_samples > n_samples:
            raise ValueError(
                f"max_samples={max_samples} must be <= n_samples={n_samples} with "
                "bootstrap='bernoulli', where max_samples / n_samples is a probability."
            )
        return max_samples / n_samples

    def indices(self, rng: np.random.RandomState) -> np.ndarray:
        # A binomial number of rows without replacement has the law of independent draws and costs
        # O(q n). A draw of no rows is repeated, as there is nothing to fit.
        if self.sample_weight is None:
            candidates, n = None, self.n_samples
        else:
            candidates = np.flatnonzero(self.sample_weight)
            n = len(candidates)
        size = 0
        while size == 0:
            size = rng.binomial(n, self.size)
        rows = np.sort(sample_without_replacement(n, size, random_state=rng))
        return rows if candidates is None else candidates[rows]

    @property
    def leaves_rows_out(self) -> bool:
        return self.size < 1

    @property
    def noise(self) -> float:
        return (self.n_samples - 1) * self.size * (1 - self.size)

    @property
    def jackknife_scale(self) -> float:
        return (1 - self.size) ** -2.0 if self.size < 1 else np.inf


class AllRows(RowsWithTheirWeights):
    """Every row in every member, as in forests with `bootstrap=False`."""

    bootstrap = False
    is_random = False

    @classmethod
    def of(
        cls,
        n_samples: int,
        max_samples: int | float | None = None,
        sample_weight: np.ndarray | None = None,
    ) -> Self:
        if sample_weight is not None and not sample_weight.any():
            raise ValueError("sample_weight must be positive for at least one row.")
        return cls(n_samples, n_samples, sample_weight)

    def indices(self, rng: np.random.RandomState) -> np.ndarray:
        if self.sample_weight is None:
            return np.arange(self.n_samples)
        return np.flatnonzero(self.sample_weight)

    @property
    def leaves_rows_out(self) -> bool:
        return False

    @property
    def noise(self) -> float:
        return 0.0

    @property
    def jackknife_scale(self) -> float:
        return np.inf


SCHEMES: dict[bool | str, type[SamplingScheme]] = {
    scheme.bootstrap: scheme for scheme in (Bootstrap, Subsample, Bernoulli, Dirichlet, Poisson)
}
