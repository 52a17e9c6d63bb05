"""The weight of the i-th nearest neighbour in infinitely many bagged k-NN fits [Bach, §10.1.2].

Bagging k-nearest neighbours draws rows at random, averages the targets of the k nearest rows drawn,
and averages that over replications. In the limit of infinitely many replications the i-th nearest
of the n training rows gets a weight V_i that depends on n, on the number s of rows drawn and on k
only: not on the data, not on the point. A law is one way to draw the rows; with N_r the number of
draws that fall on the r nearest rows, the weights beyond rank r sum to E[(k - N_r)_+] / k, less the
same at r = n.

Every probability is a sum of k positive terms, each kept as a logarithm: nothing cancels and
nothing under- or overflows on the way, for any n. The rest of the package uses nothing but the
interface of `RankLaw`: a new law is one class and its name in `RANK_LAWS`.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from scipy import special


def bagged_nearest_neighbors_weights(
    n_samples: int,
    max_samples: int | float,
    n_neighbors: int = 1,
    bootstrap: bool | str = False,
    weight_tol: float = 1e-12,
) -> np.ndarray:
    """Compute the weights that bagging gives to the nearest neighbours of a point, by rank.

    ``weights[i - 1]`` is the weight of the i-th nearest of `n_samples` rows in the average of
    infinitely many k-nearest-neighbour fits, each on rows drawn at random. The weights do not
    depend on the data and never increase with the rank.

    Parameters
    ----------
    n_samples : int
        Number n of training rows.
    max_samples : int or float
        Number s of rows drawn (int), or their share of `n_samples` (float in (0, 1], then
        s = max(1, int(share * n))). With `bootstrap="bernoulli"`, the probability q of each row: a
        float is q itself, an int s stands for q = s / n.
    n_neighbors : int, default=1
        Number k of neighbours that each fit averages; at most the number of rows drawn.
    bootstrap : bool or "bernoulli", default=False
        - False: s rows without replacement, the scheme analysed in [Bach, §10.1.2].
        - True: s draws with replacement. A row drawn c times counts as c neighbours, as it does in
          a k-NN fit on the repeated rows.
        - "bernoulli": every row independently with probability q [Ghoshdastidar, theorem En.2].
    weight_tol : float, default=1e-12
        The weights are cut off at the first rank beyond which the others sum to at most this.

    Returns
    -------
    weights : ndarray of shape (n_ranks,)
        Positive weights of ranks 1 to `n_ranks`; about k (n/s) log(1/weight_tol) of them when s is
        large. They sum to one, minus the weight that was cut off (at most `weight_tol`). With
        Bernoulli sampling the expected share of the k places that stay empty is subtracted too:
        E[(k - M)_+] / k with M ~ Bin(n, q), which for k = 1 is (1 - q)^n.

    Raises
    ------
    TypeError, ValueError
        If a parameter has the wrong type or is outside its range; the message names the parameter.

    Notes
    -----
    Cost O(k n_ranks) in time, O(n_ranks) in memory. The relative error of a weight stays below
    1e-10 at n = 10^7. The estimators give the missing weight to the overall mean of the targets,
    unless `empty` sets another prediction for draws of no rows; see :ref:`weights-by-rank` in the
    user guide. The rate of convergence of the bagged nearest neighbour is studied in [Biau, Cérou
    and Guyader, 2010].

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    D. Ghoshdastidar. *Statistical Foundations of Learning*, lecture "Ensemble methods". Technical
    University of Munich.

    G. Biau, F. Cérou and A. Guyader (2010). "On the rate of convergence of the bagged nearest
    neighbor estimate". *Journal of Machine Learning Research* 11.

    Examples
    --------
    >>> from sklearn_ensemble_theory.averaging import bagged_nearest_neighbors_weights
    >>> bagged_nearest_neighbors_weights(5, 2).round(12).tolist()
    [0.4, 0.3, 0.2, 0.1]
    >>> len(bagged_nearest_neighbors_weights(10**7, 10**5))
    2749
    """
    for name, value in (("n_samples", n_samples), ("n_neighbors", n_neighbors)):
        if not isinstance(value, Integral) or isinstance(value, (bool, np.bool_)):
            raise TypeError(f"{name} must be an int, got {value!r}.")
        if value < 1:
            raise ValueError(f"{name} must be at least 1, got {value}.")
    if not isinstance(max_samples, Real) or isinstance(max_samples, (bool, np.bool_)):
        raise TypeError(f"max_samples must be an int or a float, got {max_samples!r}.")
    if isinstance(max_samples, Integral):
        if max_samples < 1:
            raise ValueError(f"max_samples must be at least 1, got {max_samples}.")
    elif not 0 < float(max_samples) <= 1:
        raise ValueError(f"max_samples must be in (0, 1] if it is a float, got {max_samples}.")
    if not isinstance(bootstrap, (bool, np.bool_, str)) or bootstrap not in RANK_LAWS:
        raise ValueError(f"bootstrap must be one of {tuple(RANK_LAWS)}, got {bootstrap!r}.")
    if not isinstance(weight_tol, Real):
        raise TypeError(f"weight_tol must be a float, got {weight_tol!r}.")
    if not 0 <= float(weight_tol) < 1:
        raise ValueError(f"weight_tol must be in [0, 1), got {weight_tol}.")
    law = RANK_LAWS[bootstrap]
    size = law.size_from(max_samples, n_samples, n_neighbors)
    return rank_weights(law(n_samples, size, n_neighbors), weight_tol)


def rank_weights(law: "RankLaw", tol: float) -> np.ndarray:
    """V_1, ..., V_R, with R the first rank beyond which the weights sum to at most `tol`."""
    # They never increase, but the first ones of k > 1 agree to the last digit and may round up.
    return np.minimum.accumulate(law.weights(count_ranks(law, tol)))


def count_ranks(law: "RankLaw", tol: float) -> int:
    """Return the smallest R >= 1 such that the weights beyond rank R sum to at most `tol`."""
    # What lies beyond rank r is a sum of k terms, so the rank is found by bisection, without the
    # weights of all n rows.
    unassigned = law.empty_places(law.n_samples)
    low, high = 0, law.n_samples
    while high - low > 1:
        middle = (low + high) // 2
        if law.empty_places(middle) - unassigned <= tol:
            high = middle
        else:
            low = middle
    return high


# --- laws -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RankLaw(ABC):
    """Weights by rank of one way to draw rows."""

    n_samples: int
    size: int | float  # the number s of rows drawn; for some laws the probability q of a row
    n_neighbors: int  # the number k of neighbours that each fit averages

    # The value of the parameter `bootstrap` that selects the law.
    bootstrap: ClassVar[bool | str]

    @classmethod
    def size_from(cls, max_samples: int | float, n_samples: int, n_neighbors: int) -> int | float:
        """Return the size that an int or a float `max_samples` stands for, or a ValueError."""
        if isinstance(max_samples, Integral):
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
    def size_without(
        cls, n_left_out: int, size: int | float, n_samples: int, n_neighbors: int
    ) -> int | float:
        """Return the same share of m rows less: s (n-m)/n to the nearest int."""
        return max(n_neighbors, round(size * (n_samples - n_left_out) / n_samples))

    @classmethod
    def splits_rows(cls, n_neighbors: int) -> bool:
        """Tell whether a part of a row has a meaning, so that weights can be any numbers."""
        return False

    def filled_share(self, mass: np.ndarray, total: float | np.ndarray) -> np.ndarray:
        """Return the share of the k places that the nearest rows fill, 1 - E[(k - N)_+] / k.

        For rows of the weight `mass` among rows of the weight `total`, N of the draws from which
        are among the nearest.
        """
        raise NotImplementedError(f"{type(self).__name__} does not split rows.")

    def empty_share(self, total: float | np.ndarray) -> float | np.ndarray:
        """P(M = 0), the probability of a draw of no rows from rows of the weight `total`."""
        return 0.0

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
    """V_i = (s / (k n)) P(fewer than k of the other s-1 rows drawn are nearer) [Bach, §10.1.2]."""

    size: int
    bootstrap = False

    @classmethod
    def size_from(cls, max_samples: int | float, n_samples: int, n_neighbors: int) -> int | float:
        if isinstance(max_samples, Integral) and max_samples > n_samples:
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
        p = np.array(mass / total)
        if k == 1:  # by NumPy's functions, which take several numbers at a time, in place
            with np.errstate(divide="ignore"):
                np.log1p(np.negative(p, out=p), out=p)
            p *= s
            return np.negative(np.expm1(p, out=p), out=p)
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
        """Return the probability q; an int stands for q = s / n."""
        integral = isinstance(max_samples, Integral)
        q = max_samples / n_samples if integral else max_samples
        if q > 1:
            raise ValueError(f"max_samples={max_samples} must be at most n_samples={n_samples}.")
        if n_neighbors > n_samples:
            raise ValueError(f"n_neighbors={n_neighbors} must be at most n_samples={n_samples}.")
        return float(q)

    @classmethod
    def size_without(cls, n_left_out: int, size: float, n_samples: int, n_neighbors: int) -> float:
        """Return the same probability."""
        return size

    def empty_share(self, total: float | np.ndarray) -> float | np.ndarray:
        return np.exp(special.xlog1py(total, -self.size))

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
        # The logarithm of the binomial coefficient follows from that of b - 1, for all ranks at
        # once.
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


def _log_choose(a, b):
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


# --- rows of different weights --------------------------------------------------------------------
# A row of weight w is w equal rows. Around a point, the rows up to the j-th nearest, of the weight
# M_j in all, fill a share G(M_j) of the k places, and the j-th row has the weight G(M_j) -
# G(M_{j-1}). For whole numbers G is the sum of the weights by rank. Other weights count by their
# ratios only, and need a law in which a part of a row has a meaning (`RankLaw.filled_share`).


class ShareByRank:
    """G for weights that are whole numbers, from the weights by rank."""

    def __init__(self, weights: np.ndarray) -> None:
        self.sums = np.concatenate([[0.0], np.cumsum(weights)])

    def __call__(self, mass: np.ndarray, total: float | np.ndarray) -> np.ndarray:
        """The share that the nearest rows fill, of the weight `mass` among rows of `total`."""
        return self.sums[np.minimum(np.rint(mass), len(self.sums) - 1).astype(np.intp)]

    def enough(self, total: float) -> float:
        """Return the weight of the nearest rows that leave at most `weight_tol` to others."""
        return float(len(self.sums) - 1)


class ShareByWeight:
    """G for any weights, by the law itself; the methods are those of `ShareByRank`."""

    def __init__(self, law: RankLaw, tol: float) -> None:
        self.law, self.tol = law, tol

    def __call__(self, mass: np.ndarray, total: float | np.ndarray) -> np.ndarray:
        return self.law.filled_share(np.minimum(mass, total), total)

    def enough(self, total: float) -> float:
        # Bisection to a thousandth: a little too much weight costs a little time, nothing else.
        # Where the nearest row fills all places, the ends of the interval become neighbours.
        low, high = 0.0, total
        limit = float(self(np.array(total), total)) - self.tol
        while high - low > 1e-3 * high and low < (middle := (low + high) / 2):
            low, high = (low, middle) if self(np.array(middle), total) >= limit else (middle, high)
        return high


FilledShare = ShareByRank | ShareByWeight


def filled_share(law: RankLaw, is_whole: bool, tol: float) -> FilledShare:
    return ShareByRank(rank_weights(law, tol)) if is_whole else ShareByWeight(law, tol)
