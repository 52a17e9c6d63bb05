"""Random weights v on the rows: the five ways in which bagging makes a new data set.

[000, section 10.1.2] takes a data set apart into weights v_1, ..., v_n >= 0, drawn anew for each
member. A scheme is known here by the law of v; everything else in the package (fitting, out-of-bag
scores, the infinitesimal jackknife) asks it for `draw` and for the two moments below.

==================  ============================================  ==========================
`bootstrap`         law of v                                      Var(v_i), unweighted rows
==================  ============================================  ==========================
True                multinomial counts of s draws                 s/n (1 - 1/n)
False               s rows without replacement, v in {0, 1}       q (1 - q), q = s/n
"bernoulli"         independent, P(v_i = 1) = q                   q (1 - q)
"bayesian"          s times Dirichlet(1, ..., 1)                  (s/n)² (n - 1)/(n + 1)
"poisson"           independent Poisson(s/n)                      s/n
==================  ============================================  ==========================
"""

from dataclasses import dataclass
from numbers import Integral
from warnings import warn

import numpy as np
from sklearn.utils.random import sample_without_replacement


def n_draws(scheme, n_samples, max_samples, sample_weight=None):
    """How many rows s a member draws, or for "bernoulli" the probability q of each row.

    A fraction is a fraction of the total weight, so that an integer weight means the same as a row
    written that many times. `None` is every row, and half of them for "bernoulli", where q = 1
    would leave nothing to chance.
    """
    if scheme == "bernoulli":
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
    if max_samples is None:
        size = n_samples
    elif isinstance(max_samples, Integral):
        size = int(max_samples)
    else:
        if sample_weight is None:
            total, whose = n_samples, "the number of samples"
        else:
            total = sample_weight.sum()
            whose = "the total sum of sample weights"
        size = max(int(max_samples * total), 1)
        if size < max(10, n_samples ** (1 / 3)):
            warn(
                f"Using the fractional value max_samples={max_samples} when {whose} is {total} "
                f"results in a low number ({size}) of bootstrap samples. "
                "We recommend passing `max_samples` as an integer instead.",
                stacklevel=5,
            )
    if scheme is False and size > n_samples:
        raise ValueError(
            f"Effective max_samples={size} must be <= n_samples={n_samples} to be able to sample "
            "without replacement."
        )
    return size


def distinct(indices, n_samples):
    """The distinct rows in increasing order and how often each was drawn.

    O(min(s log s, n)): a small sample of many rows is sorted, a large one is counted.
    """
    if len(indices) * 16 < n_samples:
        return np.unique(indices, return_counts=True)
    counts = np.bincount(indices, minlength=n_samples)
    rows = np.flatnonzero(counts)
    return rows, counts[rows]


@dataclass(frozen=True)
class Resampling:
    """One scheme on n rows; `size` is s, or q for "bernoulli" (see `n_draws`).

    `Resampling.everything` shows all rows to all members, as forests without bootstrap do.
    """

    scheme: bool | str
    n_samples: int
    size: int | float
    sample_weight: np.ndarray | None = None
    # sample_weight.cumsum() / sum, so that a weighted draw costs O(s log n) and not O(n).
    cumulative_weight: np.ndarray | None = None

    @classmethod
    def build(cls, scheme, n_samples, max_samples, sample_weight=None):
        size = n_draws(scheme, n_samples, max_samples, sample_weight)
        cumulative = None
        if sample_weight is not None:
            total = sample_weight.sum()
            if not (np.isfinite(total) and total > 0):
                raise ValueError(
                    f"sample_weight must have a positive finite sum to draw rows from, got {total}."
                )
            cumulative = np.cumsum(sample_weight / total)
            cumulative /= cumulative[-1]
            n_positive = np.count_nonzero(sample_weight)
            if scheme is False and size > n_positive:
                raise ValueError(
                    f"Effective max_samples={size} must be <= {n_positive}, the number of rows "
                    "with a positive sample_weight, to be able to sample without replacement."
                )
        return cls(scheme, n_samples, size, sample_weight, cumulative)

    @classmethod
    def everything(cls, n_samples, sample_weight=None):
        return cls("all", n_samples, n_samples, sample_weight)

    @property
    def leaves_rows_out(self):
        """Whether some rows stay out of a member's bag, so that out-of-bag estimates exist."""
        if self.scheme in ("all", "bayesian"):
            return False
        if self.scheme == "bernoulli":
            return self.size < 1
        return self.scheme is not False or self.size < self.n_samples

    @property
    def draws_counts(self):
        """Whether every v_i is an integer, so that rows can be repeated in place of weights."""
        if self.scheme in ("all", "bernoulli"):
            return self.sample_weight is None
        return self.scheme != "bayesian"

    def indices(self, rng):
        """Rows in the order drawn, a row as often as it was drawn; for schemes of counts."""
        n = self.n_samples
        if self.scheme == "all":
            return np.arange(n)
        if self.scheme is False:
            if self.sample_weight is None:
                return sample_without_replacement(n, self.size, random_state=rng)
            p = self.sample_weight / self.sample_weight.sum()
            return rng.choice(n, self.size, replace=False, p=p)
        if self.scheme == "bernoulli":
            return self._bernoulli_rows(rng)
        size = self.size
        if self.scheme == "poisson":
            # A Poisson number of draws with replacement makes the counts independent Poisson;
            # a bag of no rows has nothing to fit and is drawn again.
            size = 0
            while size == 0:
                size = rng.poisson(self.size)
        if self.sample_weight is None:
            return rng.randint(0, n, size)
        return np.searchsorted(self.cumulative_weight, rng.random_sample(size), side="right")

    def draw(self, rng):
        """The rows of positive weight, in increasing order, and their weights v."""
        if self.scheme == "bayesian":
            return self._dirichlet(rng)
        if self.scheme in ("all", "bernoulli"):
            # Here the weights are not probabilities: a row that is there has its own.
            if self.scheme == "bernoulli":
                rows = self._bernoulli_rows(rng)
            elif self.sample_weight is None:
                rows = np.arange(self.n_samples)
            else:
                rows = np.flatnonzero(self.sample_weight)
            own = self.sample_weight
            return rows, np.ones(len(rows)) if own is None else own[rows]
        return distinct(self.indices(rng), self.n_samples)

    def _bernoulli_rows(self, rng):
        # A binomial number of rows without replacement has the law of independent coins and
        # costs O(q n); an empty bag has nothing to fit and is drawn again.
        if self.sample_weight is None:
            candidates = None
            n = self.n_samples
        else:
            candidates = np.flatnonzero(self.sample_weight)
            n = len(candidates)
        size = 0
        while size == 0:
            size = rng.binomial(n, self.size)
        rows = np.sort(sample_without_replacement(n, size, random_state=rng))
        return rows if candidates is None else candidates[rows]

    def _dirichlet(self, rng):
        n = self.n_samples
        concentration = np.ones(n) if self.sample_weight is None else self.sample_weight
        gamma = rng.standard_gamma(concentration)
        total = gamma.sum()
        if total == 0:  # all concentrations near 0, where a Dirichlet puts all on one row
            row = np.searchsorted(self.cumulative_weight, rng.random_sample(), side="right")
            return np.array([row]), np.array([float(self.size)])
        rows = np.flatnonzero(gamma)
        return rows, gamma[rows] * (self.size / total)

    @property
    def noise(self):
        """sum_i Var(v_i - mean of v), for unweighted rows: the module's table, summed.

        Where the total of v is fixed its mean is constant; where the v_i are independent, taking
        their mean out takes one n-th of the variance with it.
        """
        n, s = self.n_samples, self.size
        if self.scheme is True:
            return s * (1 - 1 / n)
        if self.scheme is False:
            return s * (1 - s / n)
        if self.scheme == "bernoulli":
            return (n - 1) * s * (1 - s)
        if self.scheme == "bayesian":
            return n * (s / n) ** 2 * (n - 1) / (n + 1)
        return (n - 1) * s / n

    @property
    def jackknife_scale(self):
        """c in Var = c sum_i Cov(v_i, t)²: what the covariance with v_i says of row i's influence.

        With replacement the covariance is the derivative of the ensemble in the weight of row i
        [Efron 2014]; without, a row that is in a bag leaves less room for the others, which the
        factor (n - 1)/n (1 - q)^-2 undoes [Wager and Athey 2018]; for a Dirichlet,
        Cov(v_i, v_i) = (s/n)² n/(n + 1) is what makes the mean of y come out exactly.
        """
        n, s = self.n_samples, self.size
        if self.scheme in (True, "poisson"):
            return 1.0
        if self.scheme == "bayesian":
            return ((n + 1) / s) ** 2
        if self.scheme == "bernoulli":
            return (1 - s) ** -2.0 if s < 1 else np.inf
        if self.scheme == "all":
            return np.inf
        return (n - 1) / n * (1 - s / n) ** -2.0 if s < n else np.inf
