"""Laws of the weight of the i-th nearest neighbour in infinitely many bagged k-NN fits.

Bagging k-nearest neighbours draws rows at random, averages the targets of the k nearest rows drawn,
and averages that over replications. In the limit of infinitely many replications the i-th nearest
of the n training rows gets a weight V_i that depends on n, on the number s of rows drawn and on k
only: not on the data, not on the point [Bach, §10.1.2]. A law is one way to draw the rows; with N_r
the number of draws that fall on the r nearest rows, the weights beyond rank r sum to
E[(k - N_r)_+] / k, less the same at r = n.

Every probability is a sum of k positive terms, each kept as a logarithm: nothing cancels and
nothing under- or overflows on the way, for any n. The rest of the package uses nothing but the
interface of `RankLaw`: a new law is one class and its name in `RANK_LAWS`.
"""

import numbers
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import special


@dataclass(frozen=True)
class RankLaw(ABC):
    """Weights by rank of one way to draw rows.

    Parameters
    ----------
    n_samples : int
        The number n of training rows.

    size : int or float
        The number s of rows drawn; for some laws the probability q of a row.

    n_neighbors : int
        The number k of neighbours that each fit averages.
    """

    n_samples: int
    size: int | float
    n_neighbors: int

    # The value of the parameter `bootstrap` that selects the law.
    bootstrap: ClassVar[bool | str]

    @classmethod
    def size_from(cls, max_samples: int | float, n_samples: int, n_neighbors: int) -> int | float:
        """The size that an int or a float `max_samples` stands for.

        Raises
        ------
        ValueError
            If it does not fit the rows and neighbours.
        """
        if isinstance(max_samples, numbers.Integral):
            size = int(max_samples)
        else:
            size = max(1, int(max_samples * n_samples))
        if n_neighbors > size:
            raise ValueError(
                f"n_neighbors={n_neighbors} must be at most the number of rows drawn, {size} "
                f"(max_samples={max_samples}, n_samples={n_samples})."
            )
        return size

    @classmethod
    def size_without_a_row(cls, size: int | float, n_samples: int, n_neighbors: int) -> int | float:
        """The same share of one row less: s (n-1)/n to the nearest int.

        So s = n, no subsampling, is all of the n-1 rows. Rounding changes s by at most one.
        """
        return max(n_neighbors, round(size * (n_samples - 1) / n_samples))

    @classmethod
    def splits_rows(cls, n_neighbors: int) -> bool:
        """Whether a part of a row has a meaning, so that weights can be any numbers."""
        return False

    def filled_share(self, mass: np.ndarray, total: float | np.ndarray) -> np.ndarray:
        """The share of the k places that the nearest rows fill, 1 - E[(k - N)_+] / k.

        For rows of the weight `mass` among rows of the weight `total`, N of the draws from which
        are among the nearest.
        """
        raise NotImplementedError(f"{type(self).__name__} does not split rows.")

    @abstractmethod
    def weights(self, n_ranks: int) -> np.ndarray:
        """V_1, ..., V_R for R = `n_ranks`, up to rounding."""

    @abstractmethod
    def log_probabilities(self, r: int) -> tuple[np.ndarray, np.ndarray]:
        """(b, log P(N_r = b)) for the possible b = 0, ..., k-1."""

    def empty_places(self, r: int) -> float:
        """E[(k - N_r)_+] / k: the share of the k places that the r nearest rows leave empty."""
        b, log_pmf = self.log_probabilities(r)
        return float(np.sum((self.n_neighbors - b) * np.exp(log_pmf)) / self.n_neighbors)


class WithoutReplacement(RankLaw):
    """V_i = (s / (k n)) P(fewer than k of the other s-1 rows drawn are nearer).

    A hypergeometric tail; C(n-i, s-1) / C(n, s) for k = 1 [Bach, §10.1.2].
    """

    size: int
    bootstrap = False

    @classmethod
    def size_from(cls, max_samples: int | float, n_samples: int, n_neighbors: int) -> int | float:
        if isinstance(max_samples, numbers.Integral) and max_samples > n_samples:
            raise ValueError(
                f"max_samples={max_samples} must be at most n_samples={n_samples} without "
                "replacement."
            )
        return super().size_from(max_samples, n_samples, n_neighbors)

    def weights(self, n_ranks: int) -> np.ndarray:
        """(s / (k n)) sum_{b<k} P(b of the i-1 nearer rows are among the other s-1 drawn).

        For each b the probability C(i-1, b) C(n-i, s-1-b) / C(n-1, s-1) is computed from rank to
        rank by its ratio, i (n-i-s+1+b) / ((i-b) (n-i)): differences of log-gamma values near 10^8
        would lose eight digits at n = 10^7, the logarithms of the ratios lose almost none.
        """
        n, s, k = self.n_samples, self.size, self.n_neighbors
        tail = np.zeros(n_ranks)
        log_start = 0.0  # log of the probability at rank b+1, where all nearer rows are drawn
        for b in range(k):
            others = s - 1 - b  # drawn rows that are farther
            last = min(n_ranks, n - others)
            if last > b:
                i = np.arange(b + 1.0, last)
                steps = np.log1p(-others / (n - i))
                if b:
                    steps -= np.log1p(-b / i)
                tail[b] += np.exp(log_start)
                tail[b + 1 : last] += np.exp(log_start + _cumsum(steps))
            if others > 0:
                log_start += np.log(others / (n - 1 - b))
        return tail * (s / (k * n))

    def log_probabilities(self, r: int) -> tuple[np.ndarray, np.ndarray]:
        n, s = self.n_samples, self.size
        b = np.arange(self.n_neighbors, dtype=float)
        b = b[(b <= r) & (s - b <= n - r)]
        ways = _log_choose(r, b) + _log_choose(n - r, s - b)
        return b, ways - _log_choose(float(n), float(s))


class WithReplacement(RankLaw):
    """V_i = E[min(k, N_i) - min(k, N_{i-1})] / k: a row counts as often as it was drawn.

    N_i ~ Bin(s, i/n) counts the draws among the i nearest rows; (1-(i-1)/n)^s - (1-i/n)^s for
    k = 1.
    """

    size: int
    bootstrap = True

    def weights(self, n_ranks: int) -> np.ndarray:
        """(1/k) sum_{b<k} P(b draws are nearer) E[min(c, k-b)], c ~ Bin(s-b, 1/(n-i+1)) of row i.

        Differences of the tails at i-1 and i would cancel where s is far below n; these terms are
        all positive.
        """
        n, s, k = self.n_samples, self.size, self.n_neighbors
        i = np.arange(1.0, n_ranks + 1)
        nearer, share = (i - 1) / n, 1 / (n - i + 1)
        log_choose = 0.0
        weights = np.zeros(n_ranks)
        for b in range(min(k, s)):
            if b:
                log_choose += np.log((s - b + 1) / b)
            log_pmf = log_choose + special.xlogy(b, nearer) + special.xlog1py(s - b, -nearer)
            weights += np.exp(log_pmf) * _mean_of_capped_binomial(s - b, share, k - b)
        return weights / k

    def log_probabilities(self, r: int) -> tuple[np.ndarray, np.ndarray]:
        b = np.arange(self.n_neighbors, dtype=float)
        return b, _log_binomial_pmf(b, float(self.size), r / self.n_samples)

    @classmethod
    def splits_rows(cls, n_neighbors: int) -> bool:
        """Draws have probabilities in proportion to any weights."""
        return True

    def filled_share(self, mass: np.ndarray, total: float | np.ndarray) -> np.ndarray:
        """E[min(k, N)] / k for N ~ Bin(s, mass / total); 1 - (1 - mass / total)^s for k = 1."""
        s, k = self.size, self.n_neighbors
        p = np.asarray(mass / total)
        if k == 1:
            return -np.expm1(special.xlog1py(s, -p))
        empty = np.zeros(p.shape)
        for b in range(min(k, s + 1)):
            log_pmf = _log_choose(s, b) + special.xlogy(b, p) + special.xlog1py(s - b, -p)
            empty += (k - b) / k * np.exp(log_pmf)
        return 1 - empty


class IndependentRows(RankLaw):
    """V_i = (q / k) P(Bin(i-1, q) < k): each row by itself with probability q.

    q (1-q)^(i-1) for k = 1 [Ghoshdastidar, theorem En.2]. Fewer than k rows may be drawn; the
    weights then sum to one less E[(k - M)_+] / k, with M ~ Bin(n, q) the number of rows drawn.
    """

    bootstrap = "bernoulli"

    @classmethod
    def size_from(cls, max_samples: int | float, n_samples: int, n_neighbors: int) -> float:
        """The probability q; an int stands for q = s / n."""
        integral = isinstance(max_samples, numbers.Integral)
        q = max_samples / n_samples if integral else max_samples
        if q > 1:
            raise ValueError(f"max_samples={max_samples} must be at most n_samples={n_samples}.")
        if n_neighbors > n_samples:
            raise ValueError(f"n_neighbors={n_neighbors} must be at most n_samples={n_samples}.")
        return float(q)

    @classmethod
    def size_without_a_row(cls, size: float, n_samples: int, n_neighbors: int) -> float:
        """The same probability."""
        return size

    @classmethod
    def splits_rows(cls, n_neighbors: int) -> bool:
        """A row of weight w is drawn with probability 1 - (1-q)^w; its copies are not counted."""
        return n_neighbors == 1

    def filled_share(self, mass: np.ndarray, total: float | np.ndarray) -> np.ndarray:
        """1 - (1-q)^mass, the probability that one of the rows is drawn."""
        return -np.expm1(special.xlog1py(mass, -self.size))

    def weights(self, n_ranks: int) -> np.ndarray:
        """(q / k) sum_{b<k} P(Bin(i-1, q) = b)."""
        q, k = self.size, self.n_neighbors
        nearer = np.arange(0.0, n_ranks)
        log_choose = np.zeros(n_ranks)
        tail = np.zeros(n_ranks)
        for b in range(min(k, n_ranks)):
            if b:
                log_choose[b:] += np.log((nearer[b:] - b + 1) / b)
            farther = nearer[b:] - b
            log_pmf = log_choose[b:] + special.xlogy(b, q) + special.xlog1py(farther, -q)
            tail[b:] += np.exp(log_pmf)
        return tail * (q / k)

    def log_probabilities(self, r: int) -> tuple[np.ndarray, np.ndarray]:
        b = np.arange(self.n_neighbors, dtype=float)
        return b, _log_binomial_pmf(b, float(r), self.size)


RANK_LAWS: dict[bool | str, type[RankLaw]] = {
    law.bootstrap: law for law in (WithoutReplacement, WithReplacement, IndependentRows)
}


def _log_choose(a: Any, b: Any) -> Any:
    """Logarithm of the binomial coefficient."""
    return special.gammaln(a + 1) - special.gammaln(b + 1) - special.gammaln(a - b + 1)


def _log_binomial_pmf(b: np.ndarray, m: float, p: float) -> np.ndarray:
    """log P(Bin(m, p) = b) for the scalars m and p; -inf where b > m."""
    log_pmf = np.full(len(b), -np.inf)
    b = b[b <= m]
    log_pmf[: len(b)] = _log_choose(m, b) + special.xlogy(b, p) + special.xlog1py(m - b, -p)
    return log_pmf


def _cumsum(x: np.ndarray) -> np.ndarray:
    """Cumulative sum in blocks: rounding grows with the square root of the length."""
    block = int(np.sqrt(len(x))) + 1
    padded = np.zeros(-(-len(x) // block) * block)
    padded[: len(x)] = x
    sums = np.cumsum(padded.reshape(-1, block), axis=1)
    sums[1:] += np.cumsum(sums[:-1, -1])[:, None]
    return sums.ravel()[: len(x)]


def _mean_of_capped_binomial(m: int, p: np.ndarray, cap: int) -> np.ndarray:
    """E[min(c, cap)] for c ~ Bin(m, p), an array of p."""
    if cap >= m:
        return m * p
    if cap == 1:
        return -np.expm1(special.xlog1py(m, -p))
    # E[c; c <= cap] = m p P(Bin(m-1, p) < cap), by the tail at p: 1 - p would round a small p away.
    below = m * p * (1 - special.betainc(cap, m - cap, p))
    return np.minimum(below + cap * special.betainc(cap + 1, m - cap, p), cap)
