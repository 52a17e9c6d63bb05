"""Weight of the i-th nearest neighbour in infinitely many bagged k-NN fits [000, section 10.1.2].

Bagging k-nearest neighbours draws rows at random, averages the targets of the k nearest rows drawn,
and averages that over replications. In the limit of infinitely many replications the i-th nearest
of the n training rows enters with a weight V_i that depends on n, on the number s of rows drawn and
on k alone: not on the data, not on the point. Per scheme, with N_i the number of draws that fall on
the i nearest rows:

=====================  ============================================================================
without replacement    V_i = (s / (k n)) P(fewer than k of the other s-1 draws are nearer), a
                       hypergeometric tail; C(n-i, s-1) / C(n, s) for k = 1
with replacement       V_i = E[min(k, N_i) - min(k, N_{i-1})] / k, N_i ~ Bin(s, i/n): a row drawn
                       c times counts c times; (1-(i-1)/n)^s - (1-i/n)^s for k = 1
Bernoulli(q)           V_i = (q / k) P(Bin(i-1, q) < k); q (1-q)^(i-1) for k = 1
=====================  ============================================================================

The first two sum to one. Under Bernoulli sampling fewer than k rows may be drawn; the sum is then
short of one by E[(k - M)_+] / k, with M ~ Bin(n, q) the number of rows drawn (see
:func:`bagged_nearest_neighbors_weights`).

Every probability is a sum of k positive terms, each kept as a logarithm: nothing cancels and
nothing under- or overflows on the way, whatever n.
"""

import numbers

import numpy as np
from scipy import special

SCHEMES = (False, True, "bernoulli")


def bagged_nearest_neighbors_weights(
    n_samples, max_samples, n_neighbors=1, bootstrap=False, weight_tol=1e-12
):
    """Weights by rank of distance that bagging gives to the nearest neighbours of any point.

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
        - False: s rows without replacement, the scheme that [1]_ analyses.
        - True: s draws with replacement. A row drawn c times counts as c neighbours, as it does in
          a k-NN fit on the repeated rows.
        - "bernoulli": every row by itself with probability q [2]_.

    weight_tol : float, default=1e-12
        The weights stop at the first rank beyond which all the others have at most this sum.

    Returns
    -------
    weights : ndarray of shape (n_ranks,)
        Positive weights of ranks 1 to `n_ranks`; about k (n/s) log(1/weight_tol) of them when s is
        large. They sum to one, less what was cut (at most `weight_tol`) and, under Bernoulli
        sampling, less the expected share of the k places that stay empty, E[(k - M)_+] / k with
        M ~ Bin(n, q); for k = 1 that is (1 - q)^n.

    Raises
    ------
    TypeError, ValueError
        When a parameter has the wrong type or lies outside its range, naming it.

    Notes
    -----
    Cost O(k n_ranks) in time, O(n_ranks) in memory. The relative error of a weight stays below
    1e-10 at n = 10^7.

    The estimators give the missing mass to the overall mean of the targets. Under the Bernoulli
    scheme this is exact for either reading of "fewer than k rows were drawn", the empty places
    filled by the mean or the average over the M < k rows that were drawn: given M, those rows are a
    uniformly random set, so both readings predict the overall mean in expectation.

    References
    ----------
    .. [1] [000] section 10.1.2.
    .. [2] [001] theorem En.2, for Bernoulli sampling.
    .. [3] G. Biau, F. Cérou, A. Guyader, "On the rate of convergence of the bagged nearest neighbor
       estimate", JMLR 11 (2010).

    Examples
    --------
    >>> from sklearn_ensemble_theory import bagged_nearest_neighbors_weights
    >>> bagged_nearest_neighbors_weights(5, 2).round(12).tolist()
    [0.4, 0.3, 0.2, 0.1]
    >>> len(bagged_nearest_neighbors_weights(10**7, 10**5))
    2749
    """
    _check_arguments(n_samples, max_samples, n_neighbors, bootstrap, weight_tol)
    drawn = resolve_max_samples(n_samples, max_samples, n_neighbors, bootstrap)
    return rank_weights(n_samples, drawn, n_neighbors, bootstrap, weight_tol)


def _check_arguments(n_samples, max_samples, n_neighbors, bootstrap, weight_tol):
    for name, value in (("n_samples", n_samples), ("n_neighbors", n_neighbors)):
        if not isinstance(value, numbers.Integral) or isinstance(value, (bool, np.bool_)):
            raise TypeError(f"{name} must be an int, got {value!r}.")
        if value < 1:
            raise ValueError(f"{name} must be at least 1, got {value}.")
    if not isinstance(max_samples, numbers.Real) or isinstance(max_samples, (bool, np.bool_)):
        raise TypeError(f"max_samples must be an int or a float, got {max_samples!r}.")
    if isinstance(max_samples, numbers.Integral):
        if max_samples < 1:
            raise ValueError(f"max_samples must be at least 1, got {max_samples}.")
    elif not 0 < max_samples <= 1:
        raise ValueError(f"A float max_samples must lie in (0, 1], got {max_samples}.")
    if not isinstance(bootstrap, (bool, np.bool_)) and bootstrap != "bernoulli":
        raise ValueError(f"bootstrap must be one of {SCHEMES}, got {bootstrap!r}.")
    if not isinstance(weight_tol, numbers.Real):
        raise TypeError(f"weight_tol must be a float, got {weight_tol!r}.")
    if not 0 <= weight_tol < 1:
        raise ValueError(f"weight_tol must lie in [0, 1), got {weight_tol}.")


def resolve_max_samples(n, max_samples, k, bootstrap):
    """The int s, or the Bernoulli scheme's probability q, that an int or a float stands for."""
    if bootstrap == "bernoulli":
        drawn = max_samples / n if isinstance(max_samples, numbers.Integral) else max_samples
        if drawn > 1:
            raise ValueError(f"max_samples={max_samples} must be at most n_samples={n}.")
        if k > n:
            raise ValueError(f"n_neighbors={k} must be at most n_samples={n}.")
        return float(drawn)
    if isinstance(max_samples, numbers.Integral):
        drawn = int(max_samples)
    else:
        drawn = max(1, int(max_samples * n))
    if not bootstrap and drawn > n:
        raise ValueError(
            f"max_samples={max_samples} must be at most n_samples={n} without replacement."
        )
    if k > drawn:
        raise ValueError(
            f"n_neighbors={k} must be at most the number of rows drawn, {drawn} "
            f"(max_samples={max_samples}, n_samples={n})."
        )
    return drawn


def rank_weights(n, drawn, k, bootstrap, tol):
    """V_1 .. V_R, R the first rank beyond which the weights sum to at most `tol`."""
    n_ranks = count_ranks(n, drawn, k, bootstrap, tol)
    if bootstrap == "bernoulli":
        weights = _bernoulli(n_ranks, drawn, k)
    elif bootstrap:
        weights = _with_replacement(n, n_ranks, drawn, k)
    else:
        weights = _without_replacement(n, n_ranks, drawn, k)
    # They never increase; the first ones of k > 1 agree to the last digit and may round upwards.
    return np.minimum.accumulate(weights)


def count_ranks(n, drawn, k, bootstrap, tol):
    """The smallest R >= 1 such that the weights beyond rank R sum to at most `tol`.

    Ranks beyond R hold E[(k - N_R)_+] / k of the mass (less the same at n, that nobody gets).
    """
    nobody = _empty_places(n, n, drawn, k, bootstrap)
    low, high = 0, n
    while high - low > 1:
        middle = (low + high) // 2
        if _empty_places(middle, n, drawn, k, bootstrap) - nobody <= tol:
            high = middle
        else:
            low = middle
    return high


def _empty_places(r, n, drawn, k, bootstrap):
    """E[(k - N_r)_+] / k, with N_r the number of draws among the r nearest rows."""
    b = np.arange(k, dtype=float)
    if bootstrap == "bernoulli":
        log_pmf = _log_binomial_pmf(b, float(r), drawn)
    elif bootstrap:
        log_pmf = _log_binomial_pmf(b, float(drawn), r / n)
    else:
        possible = (b <= r) & (drawn - b <= n - r)
        b = b[possible]
        log_pmf = (
            _log_choose(r, b) + _log_choose(n - r, drawn - b) - _log_choose(float(n), float(drawn))
        )
    return float(np.sum((k - b) * np.exp(log_pmf)) / k)


def _log_choose(a, b):
    return special.gammaln(a + 1) - special.gammaln(b + 1) - special.gammaln(a - b + 1)


def _log_binomial_pmf(b, m, p):
    """log P(Bin(m, p) = b) for the scalars m and p; -inf where b > m."""
    log_pmf = np.full(len(b), -np.inf)
    b = b[b <= m]
    log_pmf[: len(b)] = _log_choose(m, b) + special.xlogy(b, p) + special.xlog1py(m - b, -p)
    return log_pmf


def _without_replacement(n, n_ranks, s, k):
    """(s / (k n)) sum_{b<k} P(b of the i-1 nearer rows are among the other s-1 drawn).

    For each b the probability C(i-1, b) C(n-i, s-1-b) / C(n-1, s-1) is followed from rank to rank
    by its ratio, i (n-i-s+1+b) / ((i-b) (n-i)): differences of log-gamma values near 10^8 would
    lose eight digits at n = 10^7, the logarithms of the ratios lose next to none.
    """
    tail = np.zeros(n_ranks)
    log_start = 0.0  # the logarithm of the probability at rank b+1, where all nearer rows are drawn
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


def _cumsum(x):
    """Cumulative sum in blocks: rounding grows with the square root of the length."""
    block = int(np.sqrt(len(x))) + 1
    padded = np.zeros(-(-len(x) // block) * block)
    padded[: len(x)] = x
    sums = np.cumsum(padded.reshape(-1, block), axis=1)
    sums[1:] += np.cumsum(sums[:-1, -1])[:, None]
    return sums.ravel()[: len(x)]


def _with_replacement(n, n_ranks, s, k):
    """(1/k) sum_{b<k} P(b draws are nearer) E[min(c, k-b)], c ~ Bin(s-b, 1/(n-i+1)) draws of row i.

    Differences of the tails at i-1 and i would cancel where s is far below n; these terms are all
    positive.
    """
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


def _mean_of_capped_binomial(m, p, cap):
    """E[min(c, cap)] for c ~ Bin(m, p), an array of p."""
    if cap >= m:
        return m * p
    if cap == 1:
        return -np.expm1(special.xlog1py(m, -p))
    # E[c; c <= cap] = m p P(Bin(m-1, p) < cap), by the tail at p: 1 - p would round a small p away.
    below = m * p * (1 - special.betainc(cap, m - cap, p))
    return np.minimum(below + cap * special.betainc(cap + 1, m - cap, p), cap)


def _bernoulli(n_ranks, q, k):
    """(q / k) sum_{b<k} P(Bin(i-1, q) = b)."""
    nearer = np.arange(0.0, n_ranks)
    log_choose = np.zeros(n_ranks)
    tail = np.zeros(n_ranks)
    for b in range(min(k, n_ranks)):
        if b:
            log_choose[b:] += np.log((nearer[b:] - b + 1) / b)
        farther = nearer[b:] - b
        tail[b:] += np.exp(log_choose[b:] + special.xlogy(b, q) + special.xlog1py(farther, -q))
    return tail * (q / k)
