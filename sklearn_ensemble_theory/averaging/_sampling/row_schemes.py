"""Schemes that draw rows by themselves: with and without replacement, or independently."""

from numbers import Integral
from typing import Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils.random import sample_without_replacement

from sklearn_ensemble_theory.averaging._sampling.schemes import (
    PLAIN,
    SamplingDesign,
    SamplingScheme,
)

__all__ = ["AllRows", "Bernoulli", "Bootstrap", "Dirichlet", "Poisson", "Subsample"]


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
        design: SamplingDesign = PLAIN,
    ) -> Self:
        scheme = super().of(n_samples, max_samples, sample_weight, design)
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

    def influence_draws(self, weights: sp.csr_array) -> sp.csr_array:
        if self.sample_weight is not None:
            raise ValueError(
                "The infinitesimal jackknife is not defined for draws without replacement of rows "
                'of different weights; use method="jackknife".'
            )
        return weights

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
        # Cov(v_i, mean of y) = s/(n (n + 1)) (y_i - mean): the variance of the mean is exact. With
        # concentrations instead of ones, n is their sum.
        weight = self.sample_weight
        total = self.n_samples if weight is None else float(weight.sum())
        return ((total + 1) / self.size) ** 2


class RowsWithTheirWeights(SamplingScheme):
    """Base of the schemes in which a row that is drawn keeps its own weight."""

    def draw(self, rng: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
        rows = self.indices(rng)
        own = self.sample_weight
        return rows, np.ones(len(rows)) if own is None else own[rows]

    def influence_draws(self, weights: sp.csr_array) -> sp.csr_array:
        # Whether a row is drawn; its weight is the same each time.
        drawn = weights.copy()
        drawn.data = np.ones_like(drawn.data)
        return drawn

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
        unit: str = "samples",
    ) -> float:
        """The probability q that `max_samples` stands for; None is 1/2."""
        if max_samples is None:
            return 0.5
        if not isinstance(max_samples, Integral):
            if max_samples > 1:
                raise ValueError(
                    f"max_samples={max_samples} must be at most 1 with bootstrap='bernoulli', "
                    "where it is a probability."
                )
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
        size, n_tries = 0, 0
        while size == 0 and n_tries < 100:
            size, n_tries = rng.binomial(n, self.size), n_tries + 1
        if size == 0:
            size = self._positive_size(n, rng)
        rows = np.sort(sample_without_replacement(n, size, random_state=rng))
        return rows if candidates is None else candidates[rows]

    def _positive_size(self, n: int, rng: np.random.RandomState) -> int:
        """A number of rows by its law given that it is not 0, in one draw.

        The first row drawn has a geometric law on the n rows, and those behind it are independent.
        """
        log_out = np.log1p(-self.size)
        some = -np.expm1(n * log_out)
        first = int(np.log1p(-rng.uniform() * some) / log_out) if some > 0 else 0
        first = min(first, n - 1)
        return 1 + int(rng.binomial(n - 1 - first, self.size))

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
    takes_groups = False
    no_groups = "every tree is fitted to all rows, and groups would have no effect"

    @classmethod
    def of(
        cls,
        n_samples: int,
        max_samples: int | float | None = None,
        sample_weight: np.ndarray | None = None,
        design: SamplingDesign = PLAIN,
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
