"""Averages of members: variance, ridge regressions, blocks and bootstrap samples of the rows.

The noise of a mean of m members falls by m where they are independent, and to the share that their
correlation leaves where they are not [Bach, §10.1.1; Shah, §4.5]; the bias stays.
"""

import math
from numbers import Real

import numpy as np
from scipy.special import beta, xlog1py, xlogy

from sklearn_ensemble_theory._typing import ArrayLike

from ._arguments import as_result, check_number, checked_integers, checked_numbers, in_floats


def correlated_average_variance(
    n_estimators: ArrayLike, correlation: ArrayLike = 0.0, member_variance: ArrayLike = 1.0
) -> float | np.ndarray:
    """Variance of the mean of B members of which any two have the same correlation, exactly.

    rho sigma^2 + (1 - rho) sigma^2 / B for members of variance sigma^2 and correlation rho. From
    [Shah, §4.5], with rho = 0 [Bach, §10.1.1]. The bias is that of one member, for every B.

    Parameters
    ----------
    n_estimators : int, array-like of int or inf
        Number B of members, at least 1; inf is the limit.
    correlation : float or array-like of float, default=0.0
        Correlation rho of two members, from -1/(B-1), below which there are no such members, to 1.
        With 0, as for fits to independent data sets, the variance is sigma^2 / B.
    member_variance : float or array-like of float, default=1.0
        Variance sigma^2 of a member.

    Returns
    -------
    variance : float or ndarray of float
        In units of y squared; a float if all arguments are numbers. The shape is that to which the
        arguments are broadcast.

    %(raises)s

    See Also
    --------
    correlated_average_n_estimators : The number of members for a variance near the limit.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import correlated_average_variance
    >>> correlated_average_variance([1, 10, 100], correlation=0.5).round(3).tolist()
    [1.0, 0.55, 0.505]
    """
    members = checked_integers("n_estimators", n_estimators, 1, or_inf=True)
    rho = checked_numbers("correlation", correlation, -1, 1)
    variance = checked_numbers("member_variance", member_variance, 0)
    # Divided by B, so that B may be infinite: then rho is at least 0.
    if np.any(rho * (1 - 1 / members) < (-1 - 1e-12) / members):
        raise ValueError(
            "correlation must be at least -1/(n_estimators - 1), got "
            f"correlation={correlation!r} and n_estimators={n_estimators!r}."
        )
    return as_result(np.maximum(0.0, rho + (1 - rho) / members) * variance)


def correlated_average_n_estimators(
    excess: float, correlation: float = 0.0, member_variance: float = 1.0
) -> int:
    """Smallest number of members with which the variance of their mean is near its limit.

    The smallest B with (1 - rho) sigma^2 / B <= `excess`: the variance of the mean is then at most
    rho sigma^2, that of the mean of infinitely many members, plus `excess`. The inverse of the
    formula of [Shah, §4.5].

    Parameters
    ----------
    excess : float
        Largest variance above the limit, positive, in units of y squared.
    correlation : float, default=0.0
        Correlation rho of two members, from 0 to 1.
    member_variance : float, default=1.0
        Variance sigma^2 of a member.

    Returns
    -------
    n_estimators : int
        B, at least 1.

    %(raises)s

    See Also
    --------
    correlated_average_variance : The variance for any number of members.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import correlated_average_n_estimators
    >>> correlated_average_n_estimators(0.01, correlation=0.5)
    50
    """
    check_number("excess", excess, 0, open_low=True)
    check_number("correlation", correlation, 0, 1)
    check_number("member_variance", member_variance, 0)
    needed = (1 - float(correlation)) * float(member_variance) / float(excess)
    if needed == math.inf:
        raise ValueError(f"excess is too small for member_variance={member_variance!r}: {excess!r}")
    # 0.9 / 0.3 is above 3 by rounding only.
    return max(1, math.ceil(needed * (1 - 1e-12)))


@in_floats
def averaged_ridge_risk(
    eigenvalues: ArrayLike,
    coefficients: ArrayLike,
    penalty: ArrayLike,
    n_samples: ArrayLike,
    n_estimators: ArrayLike = 1,
    noise_variance: ArrayLike = 1.0,
) -> float | np.ndarray:
    """Expected excess risk of averaged ridge regressions on independent targets, exactly.

    The risk is the mean squared error of the predictions of n rows, for the mean of m fits to data
    sets with these rows and independent noise: sum_j (lambda / (mu_j + lambda))^2 b_j^2 +
    sigma^2/(n m) sum_j (mu_j / (mu_j + lambda))^2. Each fit minimises (1/n) ||y - Phi theta||^2 +
    lambda
    ||theta||^2, without an intercept. With lambda = 0 it is least squares, whose eigenvalues 0 keep
    nothing. From [Bach, §10.1.1], where the two terms are given up to
    constants. O(n_eigenvalues) for a number.

    Parameters
    ----------
    eigenvalues : array-like of shape (n_eigenvalues,)
        The eigenvalues mu_j of Phi Phi'/n, or of K/n with a kernel matrix K; at most n of them,
        and 0 for those that are left out.
    coefficients : array-like of shape (n_eigenvalues,)
        b_j = u_j'f / sqrt(n) with the eigenvectors u_j and the means f of the targets. The sum of
        the b_j^2 is then the mean of the f^2. Where f has a part outside of the eigenvectors, an
        eigenvalue 0 whose coefficient is the root mean square of this part completes the risk.
    penalty : float or array-like of float
        lambda, at least 0; `alpha / n` for the `alpha` of :class:`sklearn.linear_model.Ridge`.
    %(rows_of_a_data_set)s
    %(n_data_sets)s
    %(noise_variances)s

    Returns
    -------
    risk : float or ndarray of float
        In units of y squared; of the shape to which the last four arguments are broadcast.

    %(raises)s

    See Also
    --------
    averaged_ridge_risk_bound : A bound without the single eigenvalues.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import averaged_ridge_risk
    >>> averaged_ridge_risk([1.0, 0.25], [1.0, 1.0], 0.25, 100, n_estimators=[1, 10]).round(4)
    array([0.2989, 0.2909])
    """
    mu = checked_numbers("eigenvalues", eigenvalues, 0)
    b = checked_numbers("coefficients", coefficients)
    if mu.ndim != 1 or mu.shape != b.shape:
        raise ValueError(
            "eigenvalues and coefficients must be vectors of one length, got the shapes "
            f"{mu.shape} and {b.shape}."
        )
    lam = checked_numbers("penalty", penalty, 0)
    n = checked_integers("n_samples", n_samples, 1)
    m = checked_integers("n_estimators", n_estimators, 1, or_inf=True)
    variance = checked_numbers("noise_variance", noise_variance, 0)
    # The share of each eigenvector's component that ridge regression keeps.
    kept = np.where(mu > 0, mu / (mu + lam[..., None]), 0.0)
    bias = np.sum(((1 - kept) * b) ** 2, axis=-1)
    return as_result(bias + variance / n / m * np.sum(kept**2, axis=-1))


@in_floats
def averaged_ridge_risk_bound(
    n_samples: ArrayLike,
    penalty: ArrayLike,
    n_estimators: ArrayLike = 1,
    *,
    eigenvalue_decay: float,
    source_exponent: float = 1.0,
    eigenvalue_scale: float = 1.0,
    source_norm: float = 1.0,
    noise_variance: float = 1.0,
) -> float | np.ndarray:
    """Bound on the risk of averaged ridge regressions, for eigenvalues that decay as a power.

    sigma^2/(n m) c_a (C/lambda)^(1/a) + R^2 k_r lambda^r, for eigenvalues mu_j <= C j^(-a) and
    sum_j b_j^2 mu_j^(-r) <= R^2, in the notation of
    :func:`~sklearn_ensemble_theory.bounds.averaged_ridge_risk`. The constants are c_a = Beta(1/a, 2
    - 1/a) / a and k_r = r^r (2-r)^(2-r) / 4, at most 1. From [Bach, §10.1.1] has the two powers of
    lambda without constants. The variance follows from sum_j (1 + lambda j^a / C)^(-2), which is
    below the integral over j, and the bias from max_x x^r / (1 + x)^2 = k_r. At its minimum over
    lambda it depends on n and m by their product only: m data sets of n rows are as good as one of
    n m rows.

    %(of_rows_of_a_data_set)s
    %(penalty)s
    %(n_data_sets)s
    eigenvalue_decay : float
        The power a of the decay, above 1/2.
    source_exponent : float, default=1.0
        The exponent r of the source condition, above 0 and at most 2; t/s in [Bach, §10.1.1]. With
        r = 1, R is the norm of the function in the space of the kernel.
    %(eigenvalue_scale)s
    source_norm : float, default=1.0
        R.
    %(noise_variance)s

    Returns
    -------
    bound : float or ndarray of float
        In units of y squared; of the shape to which the first three arguments are broadcast.

    %(raises)s

    See Also
    --------
    averaged_ridge_optimal_penalty : The penalty that minimises it.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import averaged_ridge_risk_bound
    >>> round(averaged_ridge_risk_bound(1000, 0.01, eigenvalue_decay=2.0), 4)
    0.0104
    """
    n = checked_integers("n_samples", n_samples, 1)
    lam = checked_numbers("penalty", penalty, 0, open_low=True)
    m = checked_integers("n_estimators", n_estimators, 1, or_inf=True)
    variance, bias = _power_terms(
        eigenvalue_decay, source_exponent, eigenvalue_scale, source_norm, noise_variance
    )
    # A finite power, so that it is 0 for a variance of 0.
    power = np.minimum(lam ** (-1 / eigenvalue_decay), np.finfo(np.float64).max)
    return as_result(variance * power / n / m + bias * lam**source_exponent)


@in_floats
def averaged_ridge_optimal_penalty(
    n_samples: ArrayLike,
    n_estimators: ArrayLike = 1,
    *,
    eigenvalue_decay: float,
    source_exponent: float = 1.0,
    eigenvalue_scale: float = 1.0,
    source_norm: float = 1.0,
    noise_variance: float = 1.0,
) -> float | np.ndarray:
    """Return the penalty that minimises the bound on averaged ridge regressions.

    The bound is :func:`~sklearn_ensemble_theory.bounds.averaged_ridge_risk_bound`. The penalty is
    proportional to (n m)^(-1/(r + 1/a)), and thus smaller than for one fit to n rows. The minimum
    of A lambda^(-1/a) + D lambda^r [Bach, §10.1.1] is (A / (a r D))^(1 / (r + 1/a)).

    %(of_rows_of_a_data_set)s
    %(n_data_sets)s
    eigenvalue_decay : float
        The power a of the decay of the eigenvalues, above 1/2.
    source_exponent : float, default=1.0
        The exponent r of the source condition, above 0 and at most 2.
    %(eigenvalue_scale)s
    source_norm : float, default=1.0
        R, positive.
    %(noise_variance)s

    Returns
    -------
    penalty : float or ndarray of float
        lambda; times n it is the `alpha` of :class:`sklearn.linear_model.Ridge`. 0 without noise.

    %(raises)s

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import averaged_ridge_optimal_penalty
    >>> averaged_ridge_optimal_penalty(1000, [1, 8], eigenvalue_decay=2.0).round(4).tolist()
    [0.0135, 0.0034]
    """
    n = checked_integers("n_samples", n_samples, 1)
    m = checked_integers("n_estimators", n_estimators, 1, or_inf=True)
    check_number("source_norm", source_norm, 0, open_low=True)
    variance, bias = _power_terms(
        eigenvalue_decay, source_exponent, eigenvalue_scale, source_norm, noise_variance
    )
    ratio = variance / (eigenvalue_decay * source_exponent * bias) / n / m
    return as_result(ratio ** (1 / (source_exponent + 1 / eigenvalue_decay)))


def _power_terms(
    decay: float, source: float, scale: float, norm: float, noise_variance: float
) -> tuple[float, float]:
    """sigma^2 c_a C^(1/a) and R^2 k_r, the factors of the powers of lambda."""
    check_number("eigenvalue_decay", decay, 0.5, open_low=True)
    check_number("source_exponent", source, 0, 2, open_low=True)
    check_number("eigenvalue_scale", scale, 0, open_low=True)
    check_number("source_norm", norm, 0)
    check_number("noise_variance", noise_variance, 0)
    # The integral of (1 + j^a)^-2 over j, and the largest x^r / (1 + x)^2.
    kept = float(beta(1 / decay, 2 - 1 / decay)) / decay
    lost = math.exp(float(xlogy(source, source) + xlogy(2 - source, 2 - source))) / 4
    return noise_variance * kept * scale ** (1 / decay), norm * norm * lost


@in_floats
def divide_and_conquer_cost(
    n_samples: ArrayLike, n_blocks: ArrayLike, exponent: ArrayLike
) -> float | np.ndarray:
    """Cost of fits to m blocks of n/m rows, for an estimator of cost n^b: n^b m^(1-b).

    It decreases with m if b > 1 and is n for one row in each block. The best number of blocks is
    therefore the largest one whose average still has the error that is aimed at. This is the first
    answer to [Bach, exercise 10.2].

    Parameters
    ----------
    %(rows_of_all_blocks)s
    n_blocks : int or array-like of int
        Number m of blocks, from 1 to n.
    exponent : float or array-like of float
        Exponent b of the cost of a fit, at least 1; for example 3 for kernel ridge regression by a
        decomposition of the kernel matrix.

    Returns
    -------
    cost : float or ndarray of float
        In units of the cost of a fit to one row. One fit to all rows costs n^b. Of m processes that
        fit one block each, every one takes the m-th part.

    %(raises)s

    See Also
    --------
    divide_and_conquer_n_blocks : The largest number of blocks for nearest neighbours.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import divide_and_conquer_cost
    >>> divide_and_conquer_cost(1000, [1, 10], exponent=3) / 1e9
    array([1.  , 0.01])
    """
    n = checked_integers("n_samples", n_samples, 1)
    m = checked_integers("n_blocks", n_blocks, 1)
    b = checked_numbers("exponent", exponent, 1)
    if np.any(m > n):
        raise ValueError(f"n_blocks must be at most n_samples={n_samples!r}, got {n_blocks!r}.")
    return as_result(m * (n / m) ** b)


def bootstrap_distinct_fraction(
    n_samples: ArrayLike = math.inf, ratio: ArrayLike = 1.0
) -> float | np.ndarray:
    """Expected fraction of n rows that are among s draws with replacement, exactly.

    1 - (1 - 1/n)^s, and 1 - exp(-ratio) in the limit of many rows, for `ratio` draws a row. From
    [Bach, exercise 10.3]: a row is missed by all draws with probability (1 - 1/n)^s. The fraction
    decreases with n to its limit, 1 - 1/e for the bootstrap.

    Parameters
    ----------
    n_samples : int, array-like of int or inf, default=inf
        Number n of rows, at least 1; inf is the limit.
    ratio : float or array-like of float, default=1.0
        Draws for each row, at least 0: s is `ratio` n, rounded. 1 for a bootstrap sample.

    Returns
    -------
    fraction : float or ndarray of float
        In [0, 1]. The rows that are out of bag are 1 minus this fraction.

    %(raises)s

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import bootstrap_distinct_fraction
    >>> bootstrap_distinct_fraction([1, 2, 10, 1000, float("inf")]).round(4).tolist()
    [1.0, 0.75, 0.6513, 0.6323, 0.6321]
    """
    n = checked_integers("n_samples", n_samples, 1, or_inf=True)
    share = checked_numbers("ratio", ratio, 0)
    with np.errstate(over="ignore", invalid="ignore"):
        draws = np.rint(share * n)
        is_limit = np.isinf(n) | np.isinf(draws)
        missed = xlog1py(np.where(is_limit, 1, draws), -1 / n)
    return as_result(-np.expm1(np.where(is_limit, -share, missed)))


def jackknife_plus_coverage_bound(coverage: float) -> float:
    """Bound on the coverage of the jackknife+ after bootstrap, for any distribution of the data.

    Let mu_i be the mean of the members that are not fitted to row i, and R_i the absolute residual
    of row i from it. The interval is from the floor(alpha (n + 1))-th smallest mu_i(x) - R_i to the
    ceil((1 - alpha) (n + 1))-th smallest mu_i(x) + R_i. It covers the target of a new row with a
    probability of at least 1 - 2 alpha.

    Parameters
    ----------
    coverage : float
        The coverage aimed at, 1 - alpha, in (0, 1).

    Returns
    -------
    coverage : float
        The bound, max(0, 1 - 2 alpha): over draws of the training rows, of the members and of the
        new row.

    %(raises)s

    Notes
    -----
    The training rows and the new row have to be exchangeable, and the learner has to treat its rows
    alike. The number of members has to be drawn from a binomial distribution with any number of
    trials. Its probability is that of a row not being drawn for a member on n + 1 rows: (1 - 1/(n +
    1))^s for s draws with replacement, and 1 - s/(n + 1) without. With a fixed number, which is
    usual, the bound holds approximately if there are many members. In practice the coverage is
    close to 1 - alpha; there are distributions where it is close to the bound [Barber, Candès,
    Ramdas and Tibshirani, 2021]. The cost is O(1).

    References
    ----------
    B. Kim, C. Xu and R. F. Barber (2020). "Predictive inference is free with the jackknife+ after
    bootstrap". *Advances in Neural Information Processing Systems* 33.

    R. F. Barber, E. J. Candès, A. Ramdas and R. J. Tibshirani (2021). "Predictive inference with
    the jackknife+". *Annals of Statistics* 49.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import jackknife_plus_coverage_bound
    >>> jackknife_plus_coverage_bound(0.9)
    0.8
    """
    if not isinstance(coverage, Real) or not 0 < coverage < 1:
        raise ValueError(f"coverage must be a number in (0, 1), got {coverage!r}.")
    return max(0.0, 2.0 * float(coverage) - 1.0)
