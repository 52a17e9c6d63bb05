"""Sampling schemes: the laws of the weights with which members are fitted to rows.

Each member of a bagged ensemble is fitted to weights v_1, ..., v_n >= 0 of the rows, drawn anew for
each member [Bach, §10.1.2]. A scheme is the law of v. It draws weights, has the two moments of
them that the infinitesimal jackknife uses, turns `max_samples` into its size, and raises the errors
of that. The rest of the package uses nothing but the interface of `SamplingScheme`: a new scheme is
one class and its name in `SCHEMES`, at the end of the file.

What is drawn are *units*, of which the theory of standard errors is: the rows, or groups or blocks
of rows.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from numbers import Integral
from typing import ClassVar, NamedTuple, Protocol, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils.random import sample_without_replacement

from sklearn_ensemble_theory._running import seeded, warn_user

# A fraction of the rows is fewer draws than this.
LARGEST_SIZE = 2**30


def distinct_rows(indices: np.ndarray, n_samples: int) -> tuple[np.ndarray, np.ndarray]:
    """The distinct rows in increasing order and how often each was drawn."""
    # O(min(s log s, n)): a small sample of many rows is sorted, a large one is counted.
    if len(indices) * 16 < n_samples:
        return np.unique(indices, return_counts=True)
    counts = np.bincount(indices, minlength=n_samples)
    rows = np.flatnonzero(counts)
    return rows, counts[rows]


@dataclass(frozen=True)
class SamplingDesign:
    """What a fit knows of its rows besides their weights.

    `groups` are 0 ... G-1, `strata` the classes 0 ... K-1 of the rows, None for regression;
    `block_length` is the `length` of `MovingBlock`; `unit` says what the rows are, for messages.
    """

    groups: np.ndarray | None = None
    strata: np.ndarray | None = None
    block_length: int | None = None
    unit: str = "samples"


PLAIN = SamplingDesign()


@dataclass(frozen=True)
class SamplingScheme(ABC):
    """A law of random weights v on n rows.

    `size` is the number s of rows that a member draws; for some schemes the probability q of a row.
    `sample_weight` are the weights of the rows before any draw, `cumulative_weight` their
    cumulative sums, divided by the total: a weighted draw costs O(s log n), not O(n).
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
    # Whether members without a unit are as those of a fit without it, as a jackknife needs.
    leaves_units_out: ClassVar[bool] = True
    # Whether each row is drawn by itself, whatever the others are, and has a weight for it alone.
    draws_each_row: ClassVar[bool] = False
    # Whether a unit may have several weights beside 0, as by draws with replacement.
    repeats_units: ClassVar[bool] = True

    @classmethod
    def of(
        cls,
        n_samples: int,
        max_samples: int | float | None,
        sample_weight: np.ndarray | None = None,
        design: SamplingDesign = PLAIN,
    ) -> Self:
        """The scheme on `n_samples` rows, of the size that `max_samples` stands for."""
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
        """The number of rows s that `max_samples` stands for; None is as many as there are."""
        if max_samples is None:
            return n_samples
        if isinstance(max_samples, Integral):
            return int(max_samples)
        # A fraction is one of the total weight, so that integer weights are as repeated rows.
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
            warn_user(
                f"Using the fractional value max_samples={max_samples} when {whose} is {total} "
                f"results in a low number ({size}) of bootstrap {unit}. "
                "We recommend passing `max_samples` as an integer instead."
            )
        return size

    @abstractmethod
    def indices(self, rng: np.random.RandomState) -> np.ndarray:
        """Rows in the order drawn, as often as drawn; each once if the weights are no counts."""

    def draw(self, rng: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
        """The rows of positive weight, in increasing order, and their weights v."""
        return distinct_rows(self.indices(rng), self.n_samples)

    @property
    def group_size(self) -> int:
        """The number of members that are drawn together, with disjoint rows."""
        return 1

    def seeds_of_members(self, seeds: np.ndarray) -> np.ndarray:
        """The seeds of members 0, 1, ..., from as many independent ones."""
        return seeds

    def of_member(
        self, seed: int, rng: np.random.RandomState
    ) -> tuple[Self, np.random.RandomState]:
        """The law and the generator from which the rows of the member of this seed are drawn."""
        return self, rng

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

        `weights`, of shape (B, n), are the weights v of B draws. An error where the influences of
        rows of different weights are not known.
        """
        return weights

    # Units.

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
        """Standard error of p means over rows, whose units are drawn from a population: (p,).

        `values`, (p, m), are those at the m increasing `rows`. NaN for fewer than 2 units.
        """
        m = values.shape[1]
        if m < 2:
            return np.full(len(values), np.nan)
        return values.std(axis=1, ddof=1) / np.sqrt(m)

    def _with_replacement(self, size: int, rng: np.random.RandomState) -> np.ndarray:
        if self.cumulative_weight is None:
            return rng.randint(0, self.n_samples, size)
        return np.searchsorted(self.cumulative_weight, rng.random_sample(size), side="right")


# --- rows by themselves: with and without replacement, or independently ---------------------------


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
    bootstrap: ClassVar[bool | str] = False
    # A row cannot be drawn twice, however large its weight.
    mean_follows_weight = False
    repeats_units = False

    @classmethod
    def of(
        cls,
        n_samples: int,
        max_samples: int | float | None,
        sample_weight: np.ndarray | None = None,
        design: SamplingDesign = PLAIN,
    ) -> Self:
        scheme = super().of(n_samples, max_samples, sample_weight, design)
        n_positive = scheme.n_positive
        if max_samples is None:  # all rows that can be drawn, which are not those of weight 0
            return replace(scheme, size=n_positive)
        if scheme.size > n_samples:
            raise ValueError(
                f"Effective max_samples={scheme.size} must be <= n_samples={n_samples} to be able "
                "to sample without replacement."
            )
        if scheme.size > n_positive:
            raise ValueError(
                f"Effective max_samples={scheme.size} must be <= {n_positive}, the number of rows "
                "with a positive sample_weight, to be able to sample without replacement."
            )
        return scheme

    @property
    def n_positive(self) -> int:
        """How many rows may be drawn."""
        weight = self.sample_weight
        return self.n_samples if weight is None else int(np.count_nonzero(weight))

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
        return self.size < self.n_positive

    @property
    def noise(self) -> float:
        return self.size * (1 - self.size / self.n_positive)

    @property
    def jackknife_scale(self) -> float:
        # A row that is drawn leaves less room for the others, which the factor (n - 1)/n (1 - q)^-2
        # corrects [Wager and Athey, 2018].
        n, s = self.n_positive, self.size
        return (n - 1) / n * (1 - s / n) ** -2.0 if s < n else np.inf


@dataclass(frozen=True)
class DisjointSubsamples(Subsample):
    """s <= n/2 rows without replacement; the floor(n/s) members of a group have disjoint rows.

    Two members with disjoint rows are independent, and tell the variance of a member over fresh
    data, where members that are drawn by themselves share rows.
    """

    bootstrap = "disjoint"
    mean_follows_weight = True  # as only equal weights are taken
    # The place of a member in its group, by which its rows are chosen.
    place: int = 0

    @classmethod
    def of(
        cls,
        n_samples: int,
        max_samples: int | float | None,
        sample_weight: np.ndarray | None = None,
        design: SamplingDesign = PLAIN,
    ) -> Self:
        weight, n_positive = sample_weight, n_samples
        if weight is not None:
            positive = weight[weight > 0]
            n_positive = len(positive)
            if np.ptp(positive) > 0:
                raise ValueError(
                    "bootstrap='disjoint' is for rows of equal weight; use bootstrap=False for "
                    "rows of different sample_weight or class_weight."
                )
        if max_samples is None:
            max_samples = max(n_positive // 2, 1)
        scheme = super().of(n_samples, max_samples, weight, design)
        if 2 * scheme.size > n_positive:
            raise ValueError(
                f"Effective max_samples={scheme.size} must be at most half of the {n_positive} "
                f"{design.unit} with bootstrap='disjoint', so that two members are disjoint."
            )
        return scheme

    @property
    def _positive(self) -> np.ndarray:
        if self.sample_weight is None:
            return np.arange(self.n_samples)
        return np.flatnonzero(self.sample_weight)

    @property
    def group_size(self) -> int:
        return len(self._positive) // int(self.size)

    def seeds_of_members(self, seeds: np.ndarray) -> np.ndarray:
        # The first seed of a group, and the place in it, make the seed of a member.
        M, place = self.group_size, np.arange(len(seeds)) % self.group_size
        first = seeds[np.arange(len(seeds)) - place]
        return first - first % M + place

    def of_member(
        self, seed: int, rng: np.random.RandomState
    ) -> tuple[Self, np.random.RandomState]:
        M = self.group_size
        return replace(self, place=seed % M), seeded(seed - seed % M)

    def indices(self, rng: np.random.RandomState) -> np.ndarray:
        # One permutation for the whole group, of which each member has a part.
        start = self.place * self.size
        return rng.permutation(self._positive)[start : start + self.size]

    @property
    def unit_shares(self) -> np.ndarray | None:
        return None


class Poisson(SamplingScheme):
    """Independent Poisson counts v_i: their variance s/n is their mean."""

    bootstrap = "poisson"
    draws_each_row = True

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
    """Base of the schemes by which a row that is drawn keeps its own weight."""

    repeats_units = False

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


class IndependentRows(RowsWithTheirWeights):
    """Each row by itself with probability q, the size: Var(v_i) = q (1 - q)."""

    bootstrap = "bernoulli"
    draws_each_row = True
    # Whether a draw of no rows is repeated, as there is nothing to fit.
    redraws: ClassVar[bool] = True

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
        # O(q n).
        if self.sample_weight is None:
            candidates, n = None, self.n_samples
        else:
            candidates = np.flatnonzero(self.sample_weight)
            n = len(candidates)
        size, n_tries = rng.binomial(n, self.size), 1
        while self.redraws and size == 0 and n_tries < 100:
            size, n_tries = rng.binomial(n, self.size), n_tries + 1
        if self.redraws and size == 0:
            size = self._positive_size(n, rng)
        rows = np.sort(sample_without_replacement(n, size, random_state=rng))
        return rows if candidates is None else candidates[rows]

    def _positive_size(self, n: int, rng: np.random.RandomState) -> int:
        """A number of rows by its law given that it is not 0, in one draw."""
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


class IndependentRowsOrNone(IndependentRows):
    """The same law, where some draws are of no rows."""

    redraws = False


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


# --- rows of classes, and blocks of consecutive rows ----------------------------------------------


def apportioned(total: int, weight: np.ndarray) -> np.ndarray:
    """Whole numbers of this total in proportion to the weights, by the largest remainders."""
    exact = total * weight / weight.sum()
    parts = np.floor(exact).astype(np.intp)
    remainders = np.argsort(parts - exact, kind="stable")
    parts[remainders[: total - parts.sum()]] += 1
    return parts


@dataclass(frozen=True, kw_only=True)
class Stratified(SamplingScheme):
    """s_k draws with replacement from the n_k rows of class k, s_k in proportion to n_k.

    Var(v_i) = s_k/n_k (1 - 1/n_k). With weights of the rows they replace the numbers n_k. `counts`
    are the K numbers s_k.
    """

    size: int
    strata: np.ndarray
    counts: np.ndarray

    bootstrap = "stratified"

    @classmethod
    def of(
        cls,
        n_samples: int,
        max_samples: int | float | None,
        sample_weight: np.ndarray | None = None,
        design: SamplingDesign = PLAIN,
    ) -> Self:
        if design.strata is None:
            raise ValueError(
                'bootstrap="stratified" draws within each class and requires a classifier; for '
                "regression use for instance bootstrap=True."
            )
        if (design.strata < 0).any():
            raise ValueError(
                'bootstrap="stratified" with groups requires that the rows of a group are all of '
                "the same class."
            )
        size = int(cls.size_from(max_samples, n_samples, sample_weight, design.unit))
        weight = np.bincount(design.strata, sample_weight)
        if not (np.isfinite(weight.sum()) and weight.sum() > 0):
            raise ValueError(f"The sum of sample_weight must be positive, got {weight.sum()}.")
        counts = apportioned(size, weight)
        lacking = np.flatnonzero((counts == 0) & (weight > 0))
        if len(lacking):
            raise ValueError(
                f'bootstrap="stratified" shares out {size} draws in proportion to the '
                f"classes, which leaves none for {len(lacking)} of them; increase max_samples."
            )
        return cls(
            n_samples=n_samples,
            size=size,
            sample_weight=sample_weight,
            strata=design.strata,
            counts=counts,
        )

    def _rows_of_strata(self) -> list[np.ndarray]:
        order = np.argsort(self.strata, kind="stable")
        if self.sample_weight is not None:
            order = order[self.sample_weight[order] > 0]
        ends = np.cumsum(np.bincount(self.strata[order], minlength=len(self.counts)))
        return np.split(order, ends[:-1])

    def indices(self, rng: np.random.RandomState) -> np.ndarray:
        drawn = []
        for rows, size in zip(self._rows_of_strata(), self.counts):
            if size == 0:
                continue
            if self.sample_weight is None:
                places = rng.randint(0, len(rows), size)
            else:
                cumulative = np.cumsum(self.sample_weight[rows])
                uniform = rng.random_sample(size) * cumulative[-1]
                places = np.searchsorted(cumulative, uniform, side="right")
                places = np.minimum(places, len(rows) - 1)
            drawn.append(rows[places])
        return np.concatenate(drawn)

    def _sizes(self) -> np.ndarray:
        """The numbers n_k of rows of positive weight."""
        rows = slice(None) if self.sample_weight is None else self.sample_weight > 0
        return np.bincount(self.strata[rows], minlength=len(self.counts))

    @property
    def leaves_rows_out(self) -> bool:
        return bool((self._sizes() > 1).any())

    @property
    def unit_shares(self) -> np.ndarray:
        """Shares of the row's own class: the number of rows of each class is fixed."""
        total = np.bincount(self.strata, self.sample_weight, minlength=len(self.counts))
        weight = np.ones(self.n_samples) if self.sample_weight is None else self.sample_weight
        own = total[self.strata]
        return np.divide(weight, own, out=np.zeros(self.n_samples), where=own > 0)

    @property
    def noise(self) -> float:
        n = np.maximum(self._sizes(), 1)
        return float(np.sum(self.counts * (1 - 1 / n)))

    @property
    def jackknife_scale(self) -> float:
        # As for the bootstrap, in each class: the mean of class k has the share s_k/s = n_k/n.
        return 1.0 if self.leaves_rows_out else np.inf


def default_block_length(n_samples: int) -> int:
    """ceil(n^(1/3)), the rate at which the error of the variance is least [Künsch, 1989]."""
    return math.ceil(np.cbrt(n_samples) - 1e-9)


@dataclass(frozen=True, kw_only=True)
class MovingBlocks(SamplingScheme):
    """Blocks of l consecutive rows, drawn with replacement until there are s rows.

    The units are the N = n - l + 1 blocks, of which K = ceil(s/l) are drawn; of the last one only
    the rows up to s are taken. A row that is drawn keeps its own weight: a row of weight 0 has its
    place in time, but no member is fitted to it.
    """

    size: int
    block_length: int

    bootstrap = "moving_block"
    takes_groups = False
    no_groups = "blocks are of consecutive rows, whatever group they belong to"
    leaves_units_out = False

    @classmethod
    def of(
        cls,
        n_samples: int,
        max_samples: int | float | None,
        sample_weight: np.ndarray | None = None,
        design: SamplingDesign = PLAIN,
    ) -> Self:
        """The scheme; a fraction is one of the number of rows, whatever they weigh."""
        if sample_weight is not None and not sample_weight.any():
            raise ValueError("sample_weight must be positive for at least one row.")
        size = int(cls.size_from(max_samples, n_samples, None, design.unit))
        length = design.block_length
        most = min(size, n_samples)
        if length is None:
            length = min(default_block_length(n_samples), most)
        if length > most:
            raise ValueError(
                f"bootstrap=MovingBlock({length}): length must be at most {most}, the number of "
                f"rows of X and of the rows that are drawn, max_samples={max_samples}."
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


# --- whole groups of rows, by any scheme for rows -------------------------------------------------


def _strata_of_groups(strata: np.ndarray | None, codes: np.ndarray, n: int) -> np.ndarray | None:
    """The class of each group, -1 if its rows have several."""
    if strata is None:
        return None
    low = np.full(n, np.iinfo(np.intp).max, dtype=np.intp)
    high = np.full(n, -1, dtype=np.intp)
    np.minimum.at(low, codes, strata)
    np.maximum.at(high, codes, strata)
    return np.where(low == high, low, -1)


@dataclass(frozen=True, kw_only=True)
class GroupDraws(SamplingScheme):
    """A scheme that draws groups; every row has the weight of its group, times its own.

    Groups are drawn as rows of equal weight are. `sample_weight` multiplies the weight of a row
    where its group is drawn, so that integer weights are equivalent to repeating rows within their
    groups. A group without rows of positive weight does not exist: its rows have the code -1. The
    rows of positive weight of group g are order[starts[g]:starts[g + 1]].
    """

    inner: SamplingScheme
    codes: np.ndarray
    order: np.ndarray
    starts: np.ndarray

    @classmethod
    def by(
        cls,
        scheme: type[SamplingScheme],
        n_samples: int,
        max_samples: int | float | None,
        sample_weight: np.ndarray | None,
        design: SamplingDesign,
    ) -> Self:
        assert design.groups is not None
        positive = np.arange(n_samples)
        if sample_weight is not None:
            positive = np.flatnonzero(sample_weight)
            if not len(positive):
                raise ValueError("sample_weight must be positive for at least one row.")
        known, own = np.unique(design.groups[positive], return_inverse=True)
        n_groups = len(known)
        if n_groups < 2:
            raise ValueError("groups must contain at least 2 groups of rows of positive weight.")
        codes = np.full(n_samples, -1, dtype=np.intp)
        place = np.searchsorted(known, design.groups)
        exists = known[np.minimum(place, n_groups - 1)] == design.groups
        codes[exists] = place[exists]
        strata = design.strata if design.strata is None else design.strata[positive]
        of_groups = _strata_of_groups(strata, own.reshape(-1), n_groups)
        try:
            inner = scheme.of(
                n_groups, max_samples, None, SamplingDesign(strata=of_groups, unit="groups")
            )
        except ValueError as error:
            raise ValueError(
                f"With groups, the {n_groups} groups are drawn in place of rows: {error}"
            ) from error
        order = positive[np.argsort(codes[positive], kind="stable")]
        starts = np.concatenate([[0], np.cumsum(np.bincount(codes[positive]))])
        return cls(
            n_samples,
            inner.size,
            sample_weight,
            inner=inner,
            codes=codes,
            order=order,
            starts=starts,
        )

    @property
    def bootstrap(self) -> bool | str:  # type: ignore[override]
        return self.inner.bootstrap

    @property
    def repeats_units(self) -> bool:  # type: ignore[override]
        return self.inner.repeats_units

    @property
    def group_size(self) -> int:
        return self.inner.group_size

    def seeds_of_members(self, seeds: np.ndarray) -> np.ndarray:
        return self.inner.seeds_of_members(seeds)

    def of_member(
        self, seed: int, rng: np.random.RandomState
    ) -> tuple[Self, np.random.RandomState]:
        inner, rng = self.inner.of_member(seed, rng)
        return replace(self, inner=inner), rng

    def _rows(self, groups: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(the rows of these groups, one after the other, the numbers of rows)."""
        first, sizes = self.starts[groups], self.starts[groups + 1] - self.starts[groups]
        ends = np.cumsum(sizes)
        places = np.arange(sizes.sum()) + np.repeat(first - (ends - sizes), sizes)
        return self.order[places], sizes

    def indices(self, rng: np.random.RandomState) -> np.ndarray:
        if not self.draws_counts:
            return self.draw(rng)[0]
        return self._rows(self.inner.indices(rng))[0]

    def draw(self, rng: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
        groups, weights = self.inner.draw(rng)
        rows, sizes = self._rows(groups)
        order = np.argsort(rows)
        rows, weights = rows[order], np.repeat(weights, sizes)[order]
        return rows, weights if self.sample_weight is None else weights * self.sample_weight[rows]

    @property
    def n_units(self) -> int:
        return self.inner.n_samples

    @property
    def unit_of_row(self) -> np.ndarray:
        return self.codes

    def draw_units(self, rng: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
        return self.inner.draw(rng)

    @property
    def unit_shares(self) -> np.ndarray | None:
        return self.inner.unit_shares

    @property
    def noise_is_known(self) -> bool:
        return True

    def is_outside(self, rows: np.ndarray) -> np.ndarray:
        """Rows of groups that are not drawn; a row of weight 0 is in its group."""
        drawn = np.zeros(self.n_units + 1, dtype=bool)
        drawn[self.codes[rows]] = True
        return ~drawn[self.codes]  # -1 is the last place, which is never drawn

    def error_of_mean(self, values: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """From the sums over groups, as the rows of a group are correlated."""
        known, codes = np.unique(self.codes[rows], return_inverse=True)
        n_groups = len(known)
        if n_groups < 2:
            return np.full(len(values), np.nan)
        centred = values - values.mean(axis=1, keepdims=True)
        sums = np.stack([np.bincount(codes.reshape(-1), row) for row in centred])
        return np.sqrt((sums**2).sum(axis=1) * n_groups / (n_groups - 1)) / values.shape[1]

    @property
    def draws_counts(self) -> bool:
        return self.inner.draws_counts and self.sample_weight is None

    @property
    def leaves_rows_out(self) -> bool:
        return self.inner.leaves_rows_out

    @property
    def noise(self) -> float:
        return self.inner.noise

    @property
    def jackknife_scale(self) -> float:
        return self.inner.jackknife_scale


# --- the scheme of a fit --------------------------------------------------------------------------


def scheme_of_rows(
    scheme: type[SamplingScheme],
    n_samples: int,
    max_samples: int | float | None,
    sample_weight: np.ndarray | None,
    design: SamplingDesign,
) -> SamplingScheme:
    if design.groups is None:
        return scheme.of(n_samples, max_samples, sample_weight, design)
    if not scheme.takes_groups:
        raise ValueError(
            f"groups cannot be used with bootstrap={scheme.bootstrap!r}: {scheme.no_groups}."
        )
    return GroupDraws.by(scheme, n_samples, max_samples, sample_weight, design)


def same_law(one: SamplingScheme, other: SamplingScheme) -> bool:
    """Whether both draw the same rows from the same seed."""
    if type(one) is not type(other):
        return False
    pairs = [(getattr(one, f.name), getattr(other, f.name)) for f in fields(one)]
    return all(
        same_law(a, b) if isinstance(a, SamplingScheme) else np.array_equal(a, b) for a, b in pairs
    )


# --- the values of the parameter `bootstrap` ------------------------------------------------------

SCHEMES: dict[bool | str, type[SamplingScheme]] = {
    scheme.bootstrap: scheme
    for scheme in (
        Bootstrap,
        Subsample,
        DisjointSubsamples,
        IndependentRows,
        Dirichlet,
        Poisson,
        Stratified,
        MovingBlocks,
    )
}


class Draws(NamedTuple):
    """What the parameter `bootstrap` stands for."""

    scheme: type[SamplingScheme]
    block_length: int | None = None
    empty: str = "redraw"


class HasDraws(Protocol):
    """A value of the parameter that has options."""

    def draws(self) -> Draws: ...


def draws_of(bootstrap: bool | str | HasDraws) -> Draws:
    # NumPy's bools are hashed as those of Python.
    return bootstrap.draws() if hasattr(bootstrap, "draws") else Draws(SCHEMES[bootstrap])
