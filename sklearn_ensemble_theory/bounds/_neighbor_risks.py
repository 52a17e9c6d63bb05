"""Weighted means of nearest neighbours: bagged ones, averages over data sets, consistency.

The mean over subsamples of the nearest neighbour is a mean of all targets, weighted by the rank of
their distance [Bach, §10.1.2]. Its variance is the sum of the squared weights, and Stone's
conditions on them decide whether it is consistent [Ghoshdastidar, theorem En.2].
"""

import math
from functools import partial

import numpy as np
from scipy.special import xlog1py

from sklearn_ensemble_theory._typing import ArrayLike

from ._arguments import (
    check_integer,
    check_integer_or_inf,
    check_number,
    checked_numbers,
    in_floats,
    is_sharp,
)


def bagged_neighbors_variance(
    n_samples: int,
    max_samples: int | float,
    noise_variance: float = 1.0,
    bootstrap: bool | str = False,
) -> float:
    """Variance of the bagged nearest neighbour over the noise of the targets, exactly.

    sigma^2 sum_i V_i^2 with the weights V_i of
    :func:`~sklearn_ensemble_theory.averaging.bagged_nearest_neighbors_weights`. The sum is the
    probability that the nearest rows of two independent subsamples are the same, and thus the
    correlation of two members over the noise.

    %(of_n_samples)s
    max_samples : int or float
        Number s of rows drawn, an int; at most n without replacement. With
        `bootstrap="bernoulli"` the probability q of each row: a float q, or an int s for q = s/n.
    noise_variance : float, default=1.0
        Variance sigma^2 of the targets around their mean. With 1 the result is the sum of V_i^2.
    %(bootstrap)s

    Returns
    -------
    variance : float
        In units of y squared, given the inputs of the rows.

    %(raises)s

    See Also
    --------
    bagged_neighbors_variance_bound : Bounds of a simple form.

    Notes
    -----
    Without replacement [Bach, §10.1.2] it is E[C / (2s - C)], where C is the number of rows that
    two subsamples share, a hypergeometric variable. The nearest of the 2s - C rows of both
    subsamples has to be one of the C. In O(s).

    With replacement it is sum_i ((1 - (i-1)/n)^s - (1 - i/n)^s)^2, an exercise of [Bach, §10.1.2].
    In O(min(n, 46 n/s)); terms below 1e-40 of the sum are left out.

    For Bernoulli draws [Ghoshdastidar, theorem En.2] it is q (1 - (1-q)^(2n)) / (2 - q). An empty
    draw predicts 0 there. The estimators of this package predict the overall mean instead, which
    adds p (2 - p)/n times sigma^2, with p = (1-q)^n.

    The mean of m members instead of infinitely many has the variance that
    :func:`~sklearn_ensemble_theory.bounds.correlated_average_variance` gives for this correlation,
    if no draw is empty.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import bagged_neighbors_variance
    >>> [round(bagged_neighbors_variance(1000, 50, bootstrap=b), 5) for b in (False, True)]
    [0.02589, 0.02525]
    """
    size = _checked_size(n_samples, max_samples, noise_variance, bootstrap)
    n = int(n_samples)
    if bootstrap == "bernoulli":
        # At q = 1 the logarithm is -inf.
        total = size * -math.expm1(float(xlog1py(2 * n, -size))) / (2 - size)
    elif bootstrap:
        total = _sum_with_replacement(n, int(size))
    else:
        total = _sum_without_replacement(n, int(size))
    return float(noise_variance * total)


def _sum_without_replacement(n: int, s: int) -> float:
    """E[C / (2s - C)], C the overlap of two sets of s of n rows."""
    shared = np.arange(max(0, 2 * s - n), s + 1.0)
    # P(C = c + 1) / P(C = c), which needs no large factorials.
    c = shared[:-1]
    log_ratios = np.log((s - c) ** 2 / ((c + 1) * (n - 2 * s + c + 1)))
    log_pmf = np.concatenate([[0.0], np.cumsum(log_ratios)])
    pmf = np.exp(log_pmf - log_pmf.max())
    return float(pmf @ (shared / (2 * s - shared)) / pmf.sum())


def _sum_with_replacement(n: int, s: int) -> float:
    """The sum of squares of V_i = (1 - (i-1)/n)^s (1 - (1 - 1/(n-i+1))^s), without cancellation."""
    # i - 1 rows are nearer than the i-th; beyond 46 n/s of them (1 - (i-1)/n)^s is below 1e-20.
    nearer = np.arange(0.0, min(n, math.ceil(46 * n / s)))
    beyond = np.exp(xlog1py(s, -nearer / n))
    weights = beyond * -np.expm1(xlog1py(s, -1 / (n - nearer)))
    return float(weights @ weights)


@in_floats
def bagged_neighbors_variance_bound(
    n_samples: int,
    max_samples: int | float,
    noise_variance: float = 1.0,
    bootstrap: bool | str = False,
) -> float:
    """Bound on the variance of the bagged nearest neighbour over the noise of the targets.

    The prediction is a weighted mean of the targets with the weights V_i of
    :func:`~sklearn_ensemble_theory.averaging.bagged_nearest_neighbors_weights`; noise of variance
    sigma^2 in the targets gives it the variance sigma^2 sum_i V_i^2. For s of n rows, sum_i V_i^2
    is at most

    - (s/n) / (1 + 1/n - s/n)^2 for draws without replacement;
    - s^2 / (n (2s - 1)), which is at most s/n, for draws with replacement;
    - q / (2 - q) for Bernoulli draws with probability q.

    %(of_n_samples)s
    max_samples : int or float
        Number s of rows drawn for each fit, an int; at most n without replacement. With
        `bootstrap="bernoulli"` the probability q of each row: a float q, or an int s for q = s/n.
    noise_variance : float, default=1.0
        Variance sigma^2 of the targets around their mean. With 1 the bound is on sum_i V_i^2.
    %(bootstrap)s

    %(bound_in_squares)s

    See Also
    --------
    bagged_neighbors_variance : The exact variance.

    Notes
    -----
    [Bach, §10.1.2] for draws without replacement; the factor sigma^2 is missing from the overall
    bound printed there. That bound is loose near s = n, where it is n^2 sigma^2 and the variance is
    sigma^2.

    With replacement V_i is the integral of s (1 - t)^(s-1) over ((i-1)/n, i/n), and its square is
    at most 1/n times the integral of the square. For Bernoulli draws the bound is the exact
    variance without the factor 1 - (1-q)^(2n).

    Examples
    --------
    >>> from sklearn_ensemble_theory.averaging import bagged_nearest_neighbors_weights
    >>> from sklearn_ensemble_theory.bounds import bagged_neighbors_variance_bound
    >>> round(float((bagged_nearest_neighbors_weights(1000, 50) ** 2).sum()), 4)
    0.0259
    >>> round(bagged_neighbors_variance_bound(1000, 50), 4)
    0.0553
    >>> round(bagged_neighbors_variance_bound(1000, 50, bootstrap=True), 4)
    0.0253
    """
    size = _checked_size(n_samples, max_samples, noise_variance, bootstrap)
    if bootstrap == "bernoulli":
        return float(noise_variance * size / (2 - size))
    if bootstrap:
        return float(noise_variance * (size / (2 * size - 1)) * (size / n_samples))
    share = size / n_samples
    return float(noise_variance * share / (1 + 1 / n_samples - share) ** 2)


def _checked_size(
    n_samples: int, max_samples: int | float, noise_variance: float, bootstrap: bool | str
) -> float:
    """The number of draws, or the probability of a row."""
    check_integer("n_samples", n_samples, 1)
    check_number("noise_variance", noise_variance, 0)
    if not isinstance(bootstrap, bool | np.bool_ | str) or bootstrap not in (
        False,
        True,
        "bernoulli",
    ):
        raise ValueError(f'bootstrap must be False, True or "bernoulli", got {bootstrap!r}.')
    if bootstrap == "bernoulli" and isinstance(max_samples, float | np.floating):
        check_number("max_samples", max_samples, 0, 1, open_low=True)
        return float(max_samples)
    high = n_samples if bootstrap in (False, "bernoulli") else math.inf
    check_integer("max_samples", max_samples, 1, high)
    return float(max_samples / n_samples if bootstrap == "bernoulli" else max_samples)


@in_floats
def bagged_neighbors_risk_bound(
    n_samples: int,
    max_samples: int,
    n_features: int,
    *,
    lipschitz: float = 1.0,
    diameter: float = 1.0,
    noise_variance: float = 1.0,
    method: str = "source",
) -> float:
    """Bound on the excess risk of the bagged nearest neighbour without replacement.

    4 B^2 diam^2 s^(-2/d) + sigma^2 (s/n) / (1 + 1/n - s/n)^2: the squared distance to the nearest
    of s rows, and the variance bound of
    :func:`~sklearn_ensemble_theory.bounds.bagged_neighbors_variance_bound`. From [Bach, §10.1.2],
    with the factor sigma^2 that is missing from the printed variance term. ``method="sharp"`` has
    the exact `bagged_neighbors_variance`, about half of its bound for s much smaller than n.

    %(of_n_samples)s
    max_samples : int
        Number s of rows drawn for each fit, at most n.
    %(dimension)s
    %(lipschitz_of_f)s
    %(diameter)s
    %(noise_bound)s
    %(method)s

    %(bound_in_squares)s

    See Also
    --------
    bagged_neighbors_optimal_max_samples : The s that minimises it.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import bagged_neighbors_risk_bound
    >>> round(bagged_neighbors_risk_bound(10_000, 100, 2), 4)
    0.0502
    >>> round(bagged_neighbors_risk_bound(10_000, 100, 2, method="sharp"), 4)
    0.0451
    """
    check_integer("n_features", n_features, 2)
    check_number("lipschitz", lipschitz, 0)
    check_number("diameter", diameter, 0)
    of_noise = bagged_neighbors_variance if is_sharp(method) else bagged_neighbors_variance_bound
    variance = of_noise(n_samples, max_samples, noise_variance)
    return float(4 * (lipschitz * diameter) ** 2 * max_samples ** (-2 / n_features) + variance)


@in_floats
def bagged_neighbors_optimal_max_samples(
    n_samples: int,
    n_features: int,
    *,
    lipschitz: float = 1.0,
    diameter: float = 1.0,
    noise_variance: float = 1.0,
    method: str = "source",
) -> int:
    """Return the subsample size s that minimises the bound on the bagged nearest neighbour.

    The bound is :func:`~sklearn_ensemble_theory.bounds.bagged_neighbors_risk_bound`. The optimal s
    grows as n^(d/(d+2)), up to rounding, with a constant that depends on the problem: (8 B^2 diam^2
    / (d sigma^2))^(d/(d+2)) where s is small compared with n. The bound is that of [Bach, §10.1.2].
    It is convex in s, so bisection on its differences finds the minimum in O(log n);
    ``method="sharp"`` minimises the sharp form, in O(n log n).

    %(of_n_samples)s
    %(dimension)s
    %(lipschitz_of_f)s
    %(diameter)s
    %(noise_bound)s
    %(method)s

    Returns
    -------
    max_samples : int
        The size, from 1 to n; the smaller one if two are equally good.

    %(raises)s

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import bagged_neighbors_optimal_max_samples
    >>> bagged_neighbors_optimal_max_samples(10_000, 2)
    192
    >>> bagged_neighbors_optimal_max_samples(10_000, 2, method="sharp")
    279
    """

    bound = partial(
        bagged_neighbors_risk_bound,
        n_samples,
        n_features=n_features,
        lipschitz=lipschitz,
        diameter=diameter,
        noise_variance=noise_variance,
        method=method,
    )
    bound(1)  # checks the arguments
    # It falls and then increases.
    low, high = 1, int(n_samples)
    while low < high:
        middle = (low + high) // 2
        if bound(middle + 1) < bound(middle):
            low = middle + 1
        else:
            high = middle
    return low


@in_floats
def independent_neighbors_risk_bound(
    n_samples: int,
    n_neighbors: int,
    n_features: int,
    n_estimators: int | float = 1,
    *,
    lipschitz: float = 1.0,
    diameter: float = 1.0,
    noise_variance: float = 1.0,
) -> float:
    """Bound on the excess risk of k-NN averaged over m independent data sets.

    sigma^2 / (k m) + 8 B^2 diam^2 (2k/n)^(2/d): averaging m independent fits divides the variance
    by m and does not change the bias. From [Bach, §10.1.1]. The printed bound has the variance term
    sigma^2 / k; the text (variance divided by m) and the optimal k derived there correspond to
    sigma^2 / (k m), as here.

    %(of_rows_of_a_data_set)s
    n_neighbors : int
        Number k of neighbours, at most n.
    %(dimension)s
    %(n_data_sets)s
    %(lipschitz_of_f)s
    %(diameter)s
    %(noise_bound)s

    %(bound_in_squares)s

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import independent_neighbors_risk_bound
    >>> round(independent_neighbors_risk_bound(1000, 5, 2, n_estimators=4), 3)
    0.13
    """
    check_integer("n_samples", n_samples, 1)
    check_integer("n_neighbors", n_neighbors, 1, n_samples)
    check_integer("n_features", n_features, 2)
    check_integer_or_inf("n_estimators", n_estimators, 1)
    check_number("lipschitz", lipschitz, 0)
    check_number("diameter", diameter, 0)
    check_number("noise_variance", noise_variance, 0)
    bias = 8 * (lipschitz * diameter) ** 2 * (2 * n_neighbors / n_samples) ** (2 / n_features)
    return float(noise_variance / (n_neighbors * n_estimators) + bias)


@in_floats
def independent_neighbors_optimal_n_neighbors(
    n_samples: int,
    n_features: int,
    n_estimators: int = 1,
    *,
    lipschitz: float = 1.0,
    diameter: float = 1.0,
    noise_variance: float = 1.0,
) -> int:
    """Return the number of neighbours that minimises the bound on averages over m data sets.

    The bound is :func:`~sklearn_ensemble_theory.bounds.independent_neighbors_risk_bound`. The
    optimal k grows as n^(2/(d+2)) m^(-d/(d+2)), up to rounding. It is one from m = d sigma^2
    (n/2)^(2/d) / (16 B^2 diam^2) data sets on, and more of them then no longer reduce the bound at
    the rate of n m rows. The bound is that of [Bach, §10.1.1], with the variance divided by m. It
    decreases up to the k with k^(1 + 2/d) = d sigma^2 (n/2)^(2/d) / (16 m B^2 diam^2) and increases
    from there. O(1).

    %(of_rows_of_a_data_set)s
    %(dimension)s
    %(n_data_sets)s
    %(lipschitz_of_f)s
    %(diameter)s
    %(noise_bound)s

    Returns
    -------
    n_neighbors : int
        The number k, from 1 to n. With one data set, it is also the largest number of blocks of
        its rows, with one neighbour in each, that have the smallest bound.

    %(raises)s

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import independent_neighbors_optimal_n_neighbors
    >>> [independent_neighbors_optimal_n_neighbors(10_000, 2, m) for m in (1, 4, 100)]
    [25, 13, 3]
    """

    bound = partial(
        independent_neighbors_risk_bound,
        n_samples,
        n_features=n_features,
        n_estimators=n_estimators,
        lipschitz=lipschitz,
        diameter=diameter,
        noise_variance=noise_variance,
    )
    bound(1)  # checks the arguments
    # It is convex in k: the best whole number is beside the root of its derivative.
    n, d = int(n_samples), n_features
    slope = 16 * (lipschitz * diameter) ** 2 * n_estimators
    if slope == 0:
        return n if noise_variance > 0 else 1
    best = (d * noise_variance / slope * (n / 2) ** (2 / d)) ** (d / (d + 2))
    low = math.floor(min(n, max(1.0, best)))
    return min((low, min(n, low + 1)), key=bound)


@in_floats
def independent_neighbors_vote_bound(
    n_samples: int,
    n_neighbors: int,
    n_features: int,
    n_estimators: int | float = 1,
    *,
    n_classes: int = 2,
    lipschitz: float = 1.0,
    diameter: float = 1.0,
) -> float:
    """Bound on the excess error of a vote of k-NN over m independent data sets.

    The bound is sqrt(2 v) with v = (1 - 1/C) / (k m) + 8 B^2 diam^2 (2k/n)^(2/d). v bounds the mean
    squared distance between the shares of the m k neighbours in the C classes and the class
    probabilities. The class of the largest share has an error of at most sqrt(2 v) above the
    smallest possible. For [Bach, exercise 10.1], with the bound of [Bach, §10.1.1] on squared
    errors: the indicators of the classes have a total variance of at most 1 - 1/C. It depends on m
    and k by m k and by k/n only. It is a vote of all m k neighbours; the vote of the m majorities
    is the same for k = 1.

    %(of_rows_of_a_data_set)s
    n_neighbors : int
        Number k of neighbours in each, at most n.
    %(dimension)s
    %(n_data_sets)s
    %(n_classes)s
    %(lipschitz_of_classes)s
    %(diameter)s

    Returns
    -------
    bound : float
        On a probability, at most 1, where it says nothing.

    %(raises)s

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import independent_neighbors_vote_bound
    >>> round(independent_neighbors_vote_bound(10_000, 1, 2, n_estimators=50), 3)
    0.152
    """
    check_integer("n_classes", n_classes, 2)
    squared = independent_neighbors_risk_bound(
        n_samples,
        n_neighbors,
        n_features,
        n_estimators,
        lipschitz=lipschitz,
        diameter=diameter,
        noise_variance=1 - 1 / n_classes,
    )
    return min(1.0, math.sqrt(2 * squared))


@in_floats
def neighbors_vote_n_blocks(
    n_samples: int,
    n_features: int,
    *,
    n_classes: int = 2,
    lipschitz: float = 1.0,
    diameter: float = 1.0,
) -> int:
    """Best number of blocks of n rows for a majority vote of nearest neighbours, one in each.

    Blocks of n/m rows with k neighbours each have the bound of
    :func:`~sklearn_ensemble_theory.bounds.independent_neighbors_vote_bound`, which depends on K = m
    k only. Every m up to the best K, with k = K/m, is equally good; the largest one, m = K with k =
    1, is returned. It costs least, and the vote of majorities is then the vote of all neighbours.
    More blocks are worse, because one neighbour in each already smooths too much. This answers
    [Bach, exercise 10.1], in O(1): the bound on the squared error, a/K + 8 B^2 diam^2 (2K/n)^(2/d)
    with a = 1 - 1/C, has its minimum where K^(1 + 2/d) = a d (n/2)^(2/d) / (16 B^2 diam^2).

    Parameters
    ----------
    %(rows_of_all_blocks)s
    %(dimension)s
    %(n_classes)s
    %(lipschitz_of_classes)s
    %(diameter)s

    Returns
    -------
    n_blocks : int
        From 1 to n; it grows as n^(2/(d+2)).

    %(raises)s

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import neighbors_vote_n_blocks
    >>> neighbors_vote_n_blocks(10_000, 2), neighbors_vote_n_blocks(1_000_000, 2)
    (18, 177)
    """
    check_integer("n_classes", n_classes, 2)
    return independent_neighbors_optimal_n_neighbors(
        n_samples,
        n_features,
        lipschitz=lipschitz,
        diameter=diameter,
        noise_variance=1 - 1 / n_classes,
    )


def divide_and_conquer_n_blocks(n_samples: int, n_features: int) -> int:
    """Largest number of blocks of n rows for which nearest neighbours keep the optimal rate.

    m = n^(2/(d+2)), rounded down: blocks of n' = n^(d/(d+2)) rows, which are n'^(2/d) in number.
    With more blocks the best number of neighbours in each would be below one [Bach, §10.1.1]. For
    an estimator of cost O(n^b), m blocks cost m^(1-b) times one fit to all rows. This decreases
    with m for every b > 1, so the largest m is also the best [Bach, exercise 10.2].

    Parameters
    ----------
    %(rows_of_all_blocks)s
    %(dimension)s

    Returns
    -------
    n_blocks : int
        From 1 to n.

    %(raises)s

    See Also
    --------
    neighbors_vote_n_blocks : With the constants of the bound, for classification.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import divide_and_conquer_n_blocks
    >>> divide_and_conquer_n_blocks(10_000, 2), divide_and_conquer_n_blocks(10_000, 10)
    (100, 4)
    """
    check_integer("n_samples", n_samples, 1)
    check_integer("n_features", n_features, 1)
    # 8 ** (2 / 3) is below 4 by rounding only.
    return max(1, math.floor(n_samples ** (2 / (n_features + 2)) * (1 + 1e-12)))


def stone_conditions(
    weights: ArrayLike,
    distances: ArrayLike | None = None,
    *,
    radius: float | None = None,
    n_nearest: int | None = None,
) -> tuple[float, float, float]:
    """Return the three quantities of Stone's theorem for weights by rank of distance.

    A rule predicts by sum_i w_i y_(i)(x), with the i-th nearest of n rows. It is universally
    consistent if, for n to infinity, the first quantity stays bounded and the other two tend to 0
    (the second for every radius):

    (i) the sum of the least weights that do not increase with the rank and are at least w_i, which
    is sum_i max_{j >= i} w_j; (ii) the expected weight of the rows that are farther away than the
    radius; (iii) the largest weight. The conditions of [Ghoshdastidar, theorem En.2], the first one
    in the form that its proof uses. They are about limits: values at one n prove nothing.
    O(n_ranks), and the size of `distances`.

    Parameters
    ----------
    weights : array-like of shape (n_ranks,)
        w_1, w_2, ...: the weights of the nearest row, the second nearest and so on, not negative
        and with a sum of at most 1. Rows beyond them have the weight 0. What is missing to 1 is the
        weight of a constant prediction and counts in (iii).
    distances : array-like of shape (n_queries, n_samples), default=None
        Distances of the n rows from points x that are drawn like the rows, in any order. (ii) is
        the mean over these points.
    radius : float, default=None
        The radius for `distances`, positive.
    n_nearest : int, default=None
        Instead of distances, a number k of rows: (ii) is then the weight beyond the k nearest rows.
        If it tends to 0 for some k with k/n to 0, the second condition holds for every radius and
        every distribution, because the distance of the k-th nearest row tends to 0.

    Returns
    -------
    constant : float
        (i). For any f >= 0, E[sum_i w_i f(x_(i))] is at most this times E[f(x)] times the constant
        of Stone's lemma, see :func:`~sklearn_ensemble_theory.bounds.stone_lemma_constant`.
    far_weight : float
        (ii).
    largest_weight : float
        (iii), with the weight of the constant prediction.

    Raises
    ------
    ValueError
        If the weights are negative or have a sum above 1, if an array has the wrong shape, or if
        not exactly one of `n_nearest` and `distances` with `radius` is given.

    References
    ----------
    C. J. Stone (1977). "Consistent nonparametric regression". *Annals of Statistics* 5.

    Examples
    --------
    Bagged nearest neighbours with a number of drawn rows that grows as the square root of n:

    >>> from sklearn_ensemble_theory.averaging import bagged_nearest_neighbors_weights
    >>> from sklearn_ensemble_theory.bounds import stone_conditions
    >>> for n in (100, 10_000, 1_000_000):
    ...     weights = bagged_nearest_neighbors_weights(n, int(n**0.5))
    ...     values = stone_conditions(weights, n_nearest=int(n**0.75))
    ...     print([round(value, 3) for value in values])
    [1.0, 0.02, 0.1]
    [1.0, 0.0, 0.01]
    [1.0, 0.0, 0.001]
    """
    w = checked_numbers("weights", weights, 0)
    if w.ndim != 1 or not w.size:
        raise ValueError(f"weights must be a vector, got an array of shape {w.shape}.")
    total = float(w.sum())
    if total > 1 + 1e-9:
        raise ValueError(f"weights must have a sum of at most 1, got {total!r}.")
    if (distances is None) != (radius is None) or (distances is None) == (n_nearest is None):
        raise ValueError("Either n_nearest or both distances and radius must be given.")
    if distances is None:
        check_integer("n_nearest", n_nearest, 0)
        near = np.array([n_nearest])
    else:
        check_number("radius", radius, 0, open_low=True)
        d = checked_numbers("distances", distances, 0)
        if d.ndim != 2 or not d.size or d.shape[1] < w.size:
            raise ValueError(
                f"distances must be of shape (n_queries, n_samples) with at least {w.size} rows, "
                f"the number of weights, got {d.shape}."
            )
        near = np.count_nonzero(d <= radius, axis=1)
    # The weight beyond the r nearest rows, r = 0, 1, ...
    beyond = np.append(np.cumsum(w[::-1])[::-1], 0.0)
    # max_{j >= i} w_j, from the last i to the first.
    majorant = np.maximum.accumulate(w[::-1])
    far = float(np.mean(beyond[np.minimum(near, w.size)]))
    return float(majorant.sum()), far, max(float(w.max()), 1 - total)


def stone_lemma_constant(n_features: int, *, method: str = "source") -> float:
    """Bound on the constant of Stone's lemma: (1 + 2 / sqrt(2 - sqrt(3)))^d - 1.

    A point is among the k nearest neighbours of at most k times this many of n other points, for
    the Euclidean distance in d dimensions and without ties. Therefore, for f >= 0 and independent
    points of one distribution, the sum of E[f] over the k nearest of n points is at most k times
    this constant times E[f(x)]. Stone's lemma is a step of [Ghoshdastidar, theorem En.2]; the
    number is from Devroye, Györfi and Lugosi (1996), chapter 5. O(1). ``method="sharp"`` counts the
    cones of one and two dimensions: 2 half-lines, and 6 sectors of an angle of pi/3, each without
    one of its two sides. Of two points in a cone, the farther one is nearer to the other than to
    the tip.

    Parameters
    ----------
    n_features : int
        Dimension d of the points.
    %(method)s

    Returns
    -------
    bound : float
        A number of cones of angle pi/6 that cover the space; at d = 1 it is 3.9, where two
        are enough. Infinity if it is too large for a float.

    %(raises)s

    References
    ----------
    L. Devroye, L. Györfi and G. Lugosi (1996). *A Probabilistic Theory of Pattern Recognition*.
    Springer.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import stone_lemma_constant
    >>> round(stone_lemma_constant(2), 1)
    22.7
    >>> stone_lemma_constant(2, method="sharp")
    6.0
    """
    check_integer("n_features", n_features, 1)
    if is_sharp(method) and n_features <= 2:
        return 2.0 if n_features == 1 else 6.0
    logarithm = n_features * math.log1p(2 / math.sqrt(2 - math.sqrt(3)))
    return math.expm1(logarithm) if logarithm < 700 else math.inf
