"""Bounds on Rademacher complexities and by them [Shah, §2.4, §2.5 and §3.4]."""

import numpy as np
from numpy.typing import ArrayLike

from sklearn_ensemble_theory.bounds._arguments import as_result, checked_numbers, in_floats

__all__ = [
    "finite_behaviours_rademacher_bound",
    "rademacher_contraction_bound",
    "rademacher_excess_risk_bound",
    "rademacher_union_bound",
    "symmetrization_bound",
    "uniform_deviation_bound",
]


def symmetrization_bound(complexity: ArrayLike) -> float | np.ndarray:
    """Bound on the expected largest deviation of means from expectations over a class.

    The expectation of sup_f (1/n) sum_i (f(Z_i) - E f(Z_i)) is at most 2 R_n(F), twice the
    Rademacher complexity, for independent Z_i of one distribution [Shah, theorem 10].

    Parameters
    ----------
    complexity : float or array-like
        Rademacher complexity R_n(F), at least 0: the expectation over the Z_i of
        `empirical_rademacher_complexity`.

    Returns
    -------
    bound : float or ndarray
        The bound, in units of the functions.

    Raises
    ------
    ValueError
        If `complexity` is negative or not finite.

    See Also
    --------
    uniform_deviation_bound : A bound that holds with a given probability.

    References
    ----------
    R. D. Shah. *Mathematics of Machine Learning*, lecture notes. University of Cambridge.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import symmetrization_bound
    >>> symmetrization_bound(0.1)
    0.2
    """
    with np.errstate(over="ignore"):
        return as_result(2 * checked_numbers("complexity", complexity, 0))


def uniform_deviation_bound(
    complexity: ArrayLike,
    n_samples: ArrayLike,
    delta: ArrayLike = 0.05,
    *,
    loss_bound: ArrayLike = 1.0,
    empirical: bool = False,
) -> float | np.ndarray:
    """Bound on risk minus empirical risk, for all functions of a class at once.

    For losses in [0, M] and n independent rows, with probability at least 1 - delta,

        sup_h {R(h) - empirical R(h)} <= 2 R_n(F) + M sqrt(log(1/delta) / (2n)),

    by [Shah, theorem 10] and the bounded differences inequality [Shah, theorem 7]. With the
    empirical complexity, which the rows themselves give, the second term is
    3 M sqrt(log(2/delta) / (2n)). All parameters broadcast.

    Parameters
    ----------
    complexity : float or array-like
        Rademacher complexity of the losses, at least 0.

    n_samples : int or array-like
        Number n of rows, at least 1.

    delta : float or array-like, default=0.05
        Probability that the bound does not hold, above 0 and at most 1.

    loss_bound : float or array-like, default=1.0
        Bound M on the loss, at least 0.

    empirical : bool, default=False
        Whether `complexity` is the empirical one, of the losses on the same rows.

    Returns
    -------
    bound : float or ndarray
        The bound, in units of the loss.

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    See Also
    --------
    rademacher_excess_risk_bound : The same for the excess risk of the minimiser.

    Notes
    -----
    The empirical complexity has itself bounded differences M/n, so that it is above
    R_n(F) - M sqrt(log(2/delta) / (2n)) with probability 1 - delta/2.

    References
    ----------
    R. D. Shah. *Mathematics of Machine Learning*, lecture notes. University of Cambridge.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import uniform_deviation_bound
    >>> round(uniform_deviation_bound(0.02, 10_000), 4)
    0.0522
    """
    complexity = checked_numbers("complexity", complexity, 0)
    n = checked_numbers("n_samples", n_samples, 1)
    delta = checked_numbers("delta", delta, 0, 1, open_low=True)
    M = checked_numbers("loss_bound", loss_bound, 0)
    times, events = (3, 2) if empirical else (1, 1)
    with np.errstate(over="ignore"):
        return as_result(
            2 * complexity + times * M * np.sqrt((np.log(events) - np.log(delta)) / (2 * n))
        )


@in_floats
def rademacher_excess_risk_bound(
    complexity: ArrayLike,
    n_samples: ArrayLike,
    delta: ArrayLike = 0.05,
    *,
    loss_bound: ArrayLike = 1.0,
    lipschitz: ArrayLike = 1.0,
) -> float | np.ndarray:
    """Bound on the excess risk of empirical risk minimisation by the Rademacher complexity.

    For losses in [0, M] and n independent rows, with probability at least 1 - delta, the risk of
    the function with the least empirical risk exceeds the least risk of the class by at most

        2 L R_n + M sqrt(2 log(2/delta) / n)

    where R_n is the Rademacher complexity of the losses and L = 1 [Shah, theorem 11], or that of
    the functions h and L a Lipschitz constant of phi, for losses phi(y h(x))
    [Shah, corollary 20]. All parameters broadcast.

    Parameters
    ----------
    complexity : float or array-like
        Rademacher complexity, at least 0.

    n_samples : int or array-like
        Number n of rows, at least 1.

    delta : float or array-like, default=0.05
        Probability that the bound does not hold, above 0 and at most 1.

    loss_bound : float or array-like, default=1.0
        Bound M on the loss, at least 0: phi(-r) for a phi that does not increase and |h| <= r.

    lipschitz : float or array-like, default=1.0
        Lipschitz constant L of phi on [-r, r], at least 0.

    Returns
    -------
    bound : float or ndarray
        The bound, in units of the loss.

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    See Also
    --------
    finite_class_bound : For finitely many functions.
    l1_ball_excess_risk_bound : For linear functions.

    References
    ----------
    R. D. Shah. *Mathematics of Machine Learning*, lecture notes. University of Cambridge.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import rademacher_excess_risk_bound
    >>> round(rademacher_excess_risk_bound(0.02, 10_000), 4)
    0.0672
    """
    complexity = checked_numbers("complexity", complexity, 0)
    n = checked_numbers("n_samples", n_samples, 1)
    delta = checked_numbers("delta", delta, 0, 1, open_low=True)
    M = checked_numbers("loss_bound", loss_bound, 0)
    L = checked_numbers("lipschitz", lipschitz, 0)
    return as_result(2 * L * complexity + M * np.sqrt(2 * (np.log(2) - np.log(delta)) / n))


@in_floats
def finite_behaviours_rademacher_bound(
    n_samples: ArrayLike, log_n_behaviours: ArrayLike, value_bound: ArrayLike = 1.0
) -> float | np.ndarray:
    """Bound on the empirical Rademacher complexity by the number of behaviours.

    It is B sqrt(2 log(N) / n) for N behaviours on n points with values of at most B in absolute
    value [Shah, lemma 12]. All parameters broadcast.

    Parameters
    ----------
    n_samples : int or array-like
        Number n of points, at least 1.

    log_n_behaviours : float or array-like
        Natural logarithm of the number N, at least 0.

    value_bound : float or array-like, default=1.0
        Bound B on the absolute values, or on the root mean squares of all behaviours, at least 0.

    Returns
    -------
    bound : float or ndarray
        The bound, in units of the values.

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    See Also
    --------
    n_behaviours : The number.
    sauer_shelah_bound : A bound on the number.

    Notes
    -----
    For misclassification losses, 0 and 1, the bound holds with B = 1/2: subtracting 1/2 from all of
    them does not change the complexity.

    References
    ----------
    R. D. Shah. *Mathematics of Machine Learning*, lecture notes. University of Cambridge.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_ensemble_theory.bounds import finite_behaviours_rademacher_bound
    >>> round(finite_behaviours_rademacher_bound(1_000, np.log(2_000)), 4)
    0.1233
    """
    n = checked_numbers("n_samples", n_samples, 1)
    log_n_behaviours = checked_numbers("log_n_behaviours", log_n_behaviours, 0)
    B = checked_numbers("value_bound", value_bound, 0)
    return as_result(B * np.sqrt(2 * log_n_behaviours / n))


def rademacher_contraction_bound(complexity: ArrayLike, lipschitz: ArrayLike) -> float | np.ndarray:
    """Bound on the Rademacher complexity of losses by that of the functions.

    For losses phi(y h(x)), labels -1 and 1, |h| <= r and a Lipschitz constant L of phi on [-r, r],
    the complexity of the losses is at most L times that of the functions, on any points
    [Shah, lemma 19]. Parameters broadcast.

    Parameters
    ----------
    complexity : float or array-like
        Rademacher complexity of the functions, empirical or expected, at least 0.

    lipschitz : float or array-like
        Lipschitz constant L, at least 0.

    Returns
    -------
    bound : float or ndarray
        The bound, in units of the loss. It is attained by a linear phi.

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    See Also
    --------
    rademacher_excess_risk_bound : What follows for the excess risk.

    References
    ----------
    R. D. Shah. *Mathematics of Machine Learning*, lecture notes. University of Cambridge.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import rademacher_contraction_bound
    >>> rademacher_contraction_bound(0.1, lipschitz=2.0)
    0.2
    """
    complexity = checked_numbers("complexity", complexity, 0)
    with np.errstate(over="ignore"):
        return as_result(complexity * checked_numbers("lipschitz", lipschitz, 0))


def rademacher_union_bound(
    complexities: ArrayLike, n_samples: ArrayLike, value_bound: ArrayLike = 1.0
) -> float | np.ndarray:
    """Bound on the Rademacher complexity of a union of classes.

    For m classes of functions with values in [0, M], or in [-M, M], it is
    max_j R_n(F_j) + M sqrt(2 log(m) / n) [Shah, §2.4], for empirical and for expected complexities.

    Parameters
    ----------
    complexities : array-like of shape (..., m)
        Rademacher complexities R_n(F_j) of the classes, at least 0; the maximum is over the last
        axis.

    n_samples : int or array-like
        Number n of points, at least 1. It broadcasts against the maxima.

    value_bound : float or array-like, default=1.0
        Bound M on the absolute values of the functions, at least 0.

    Returns
    -------
    bound : float or ndarray
        The bound, in units of the functions.

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    Notes
    -----
    Each supremum changes by at most 2 M / n with one point and its sign, so that it is sub-Gaussian
    with parameter M / sqrt(n), and `sub_gaussian_maximum_bound` bounds the largest deviation.

    References
    ----------
    R. D. Shah. *Mathematics of Machine Learning*, lecture notes. University of Cambridge.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import rademacher_union_bound
    >>> round(rademacher_union_bound([0.05, 0.07], 10_000), 4)
    0.0818
    """
    complexities = checked_numbers("complexities", complexities, 0)
    if not complexities.ndim or not complexities.size:
        raise ValueError("complexities must have a last axis with at least one number.")
    n = checked_numbers("n_samples", n_samples, 1)
    M = checked_numbers("value_bound", value_bound, 0)
    m = complexities.shape[-1]
    with np.errstate(over="ignore"):
        return as_result(complexities.max(axis=-1) + M * np.sqrt(2 * np.log(m) / n))
