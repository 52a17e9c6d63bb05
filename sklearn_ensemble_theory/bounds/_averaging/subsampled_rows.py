"""Rows drawn at random: how many distinct ones, and the variance of the nearest of them."""

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import xlog1py

from sklearn_ensemble_theory.bounds._arguments import (
    as_result,
    check_number,
    checked_integers,
    checked_numbers,
    in_floats,
)

__all__ = [
    "bagged_neighbors_variance",
    "bagged_neighbors_variance_bound",
    "bootstrap_distinct_fraction",
    "bootstrap_distinct_fraction_limit",
]


def bootstrap_distinct_fraction(
    n_samples: ArrayLike, n_draws: ArrayLike | None = None
) -> float | np.ndarray:
    """Expected fraction of n rows that are among s draws with replacement, exactly.

    1 - (1 - 1/n)^s; for a bootstrap sample, s = n.

    Parameters
    ----------
    n_samples : int or array-like of int
        Number n of rows.

    n_draws : int or array-like of int, default=None
        Number s of draws, at least 0; n if None.

    Returns
    -------
    fraction : float or ndarray of float
        In [0, 1]. The rows that are out of bag are 1 minus this fraction.

    Raises
    ------
    ValueError
        If an argument is outside its range.

    See Also
    --------
    bootstrap_distinct_fraction_limit : The limit for many rows.

    Notes
    -----
    [Bach, exercise 10.3]: a row is missed by all draws with probability (1 - 1/n)^s.

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import bootstrap_distinct_fraction
    >>> bootstrap_distinct_fraction([1, 2, 10, 1000]).round(4).tolist()
    [1.0, 0.75, 0.6513, 0.6323]
    """
    n = checked_integers("n_samples", n_samples, 1)
    s = n if n_draws is None else checked_integers("n_draws", n_draws, 0)
    return as_result(-np.expm1(xlog1py(s, -1 / n)))


def bootstrap_distinct_fraction_limit(ratio: ArrayLike = 1.0) -> float | np.ndarray:
    """Limit of the fraction of distinct rows for many rows: 1 - exp(-ratio).

    Parameters
    ----------
    ratio : float or array-like of float, default=1.0
        The limit of s/n, the number of draws with replacement for each row; 1 for the bootstrap.

    Returns
    -------
    fraction : float or ndarray of float
        In [0, 1); 1 - 1/e for the bootstrap. The fraction at any n is larger.

    Raises
    ------
    ValueError
        If `ratio` is negative or not finite.

    See Also
    --------
    bootstrap_distinct_fraction : The fraction for a given number of rows.

    Notes
    -----
    [Bach, exercise 10.3].

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import bootstrap_distinct_fraction_limit
    >>> round(bootstrap_distinct_fraction_limit(), 4)
    0.6321
    """
    return as_result(-np.expm1(-checked_numbers("ratio", ratio, 0)))


def bagged_neighbors_variance(
    n_samples: int,
    max_samples: int | float,
    noise_variance: float = 1.0,
    bootstrap: bool | str = False,
) -> float:
    """Variance of the bagged nearest neighbour over the noise of the targets, exactly.

    sigma^2 sum_i V_i^2 with the weights V_i of
    :func:`~sklearn_ensemble_theory.bagged_nearest_neighbors_weights`. The sum is the probability
    that the nearest rows of two independent subsamples are the same, and thus the correlation of
    two members over the noise.

    Parameters
    ----------
    n_samples : int
        Number n of training rows.

    max_samples : int or float
        Number s of rows drawn, an int; at most n without replacement. With
        `bootstrap="bernoulli"` the probability q of each row: a float q, or an int s for q = s/n.

    noise_variance : float, default=1.0
        Variance sigma^2 of the targets around their mean. With 1 the result is the sum of V_i^2.

    bootstrap : bool or "bernoulli", default=False
        How rows are drawn: False without and True with replacement, or each row independently with
        probability q.

    Returns
    -------
    variance : float
        In units of y squared, given the inputs of the rows.

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    See Also
    --------
    bagged_neighbors_variance_bound : Bounds of a simple form.

    Notes
    -----
    Without replacement [Bach, §10.1.2] it is E[C / (2s - C)], where C is the number of rows that
    two subsamples share, a hypergeometric variable: the nearest of the 2s - C rows of both has to
    be one of the C. In O(s).

    With replacement it is sum_i ((1 - (i-1)/n)^s - (1 - i/n)^s)^2, an exercise of [Bach, §10.1.2].
    In O(min(n, 46 n/s)); terms below 1e-40 of the sum are left out.

    For Bernoulli draws [Ghoshdastidar, theorem En.2] it is q (1 - (1-q)^(2n)) / (2 - q). An empty
    draw predicts 0 there. The estimators of this package predict the overall mean instead, which
    adds p (2 - p)/n times sigma^2, with p = (1-q)^n.

    The mean of m members instead of infinitely many has the variance that
    :func:`~sklearn_ensemble_theory.bounds.correlated_average_variance` gives for this correlation,
    if no draw is empty.

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    D. Ghoshdastidar. *Statistical Foundations of Learning*, lecture "Ensemble methods". Technical
    University of Munich.

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
    :func:`~sklearn_ensemble_theory.bagged_nearest_neighbors_weights`; noise of variance sigma^2 in
    the targets gives it the variance sigma^2 sum_i V_i^2. For s of n rows, sum_i V_i^2 is at most

    - (s/n) / (1 + 1/n - s/n)^2 for draws without replacement;
    - s^2 / (n (2s - 1)), which is at most s/n, for draws with replacement;
    - q / (2 - q) for Bernoulli draws with probability q.

    Parameters
    ----------
    n_samples : int
        Number n of training rows.

    max_samples : int or float
        Number s of rows drawn for each fit, an int; at most n without replacement. With
        `bootstrap="bernoulli"` the probability q of each row: a float q, or an int s for q = s/n.

    noise_variance : float, default=1.0
        Variance sigma^2 of the targets around their mean. With 1 the bound is on sum_i V_i^2.

    bootstrap : bool or "bernoulli", default=False
        How rows are drawn: False without and True with replacement, or each row independently with
        probability q.

    Returns
    -------
    bound : float
        The bound, in units of y squared.

    Raises
    ------
    ValueError
        If a parameter is outside its range.

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

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    Examples
    --------
    >>> from sklearn_ensemble_theory import bagged_nearest_neighbors_weights
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
    check_number("n_samples", n_samples, 1, integral=True)
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
    check_number("max_samples", max_samples, 1, high, integral=True)
    return float(max_samples / n_samples if bootstrap == "bernoulli" else max_samples)
