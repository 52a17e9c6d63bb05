"""L2-boosting of a linear learner with matrix S, in closed form [Dombry and Esstafa, §2].

First what it does to the eigenvectors of S, then its expected errors [Dombry and Esstafa, §2.3],
then how close boosting with a small learning rate is to the limit [Dombry and Esstafa, §2.2].

In the expected errors the targets are f(x_i) plus independent noise of standard deviation sigma.
E_t = exp(-t S) is the operator of the residuals, or (I - lambda S)^m; J = I - 11'/n if boosting
starts from the mean of y, and J = I if it starts from 0.
"""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import scipy.linalg

from sklearn_ensemble_theory._typing import ArrayLike

from ._arguments import as_result, check_number, check_option, checked_numbers, in_floats
from ._spectral_filters import boosting_operators, n_rounds, residual_filter, weight_filter

Init = Literal["mean", "zero"]
FILTERS = {"residuals": residual_filter, "weights": weight_filter}


def l2_boosting_filter(
    eigenvalues: ArrayLike, times: ArrayLike, learning_rate: float = 0.0, *, of: str = "residuals"
) -> Any:
    """What boosting makes of an eigenvector's component of y, in residuals or weights.

    In the residuals it is multiplied by e = (1 - lambda mu)^m with m = floor(t / lambda) rounds
    [Dombry and Esstafa, proposition 2.2], and by e = exp(-t mu) in the limit of small learning
    rates [Dombry and Esstafa, proposition 2.5]. The boosted function is the mean plus sum_i w_i
    g_i, with g_i the learner's fit to the unit vector i; in the weights w the factor is (1 - e)/mu
    [Dombry and Esstafa, corollary 2.6]. S need not be symmetric, but diagonalisable. For the
    weights there is no cancellation for small mu. The cost is O(n_eigenvalues * n_times).

    Parameters
    ----------
    %(eigenvalues)s
    %(times)s
    %(limit_rate)s
    of : {"residuals", "weights"}, default="residuals"
        Where the component is multiplied by the factor.

    Returns
    -------
    factor : float or ndarray of shape eigenvalues.shape + times.shape
        The factor. 1 minus that of the residuals is the coefficient of the smoothed projection
        [Dombry and Esstafa, eq. (27)]. That of the weights at mu = 0 is the limit, t or
        lambda floor(t / lambda).

    %(raises)s

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import l2_boosting_filter
    >>> l2_boosting_filter([1.0, 0.1], [0, 1, 10], learning_rate=0.5).round(4)
    array([[1.    , 0.25  , 0.    ],
           [1.    , 0.9025, 0.3585]])
    >>> l2_boosting_filter([1.0, 0.0], [1, 10], of="weights").round(4)
    array([[ 0.6321,  1.    ],
           [ 1.    , 10.    ]])
    """
    check_number("learning_rate", learning_rate, 0, 1)
    check_option("of", of, FILTERS)
    mu, t = checked_numbers("eigenvalues", eigenvalues), checked_numbers("times", times, 0.0)
    values = FILTERS[of](mu.ravel(), t.ravel(), learning_rate)
    return as_result(values.reshape(mu.shape + t.shape))


def l2_boosting_decay_rate(matrix: ArrayLike) -> float:
    """The exponential rate at which the training error of boosting decreases for the worst y.

    It is r = 2 min Re(mu) over the eigenvalues mu of S: the largest training error over y of a
    given length is exp(-r t), up to powers of t. The training error tends to 0 for every y if and
    only if r is positive [Dombry and Esstafa, proposition 2.12 i)]. Powers of t up to 2 (s - 1)
    come with a Jordan block of size s. The eigenvalues of smoothers decrease fast, so r is often so
    small that the limit is never seen. The cost is O(n³).

    %(of_S)s

    Returns
    -------
    rate : float
        r, per unit of time. Negative for an unstable learner, whose training error grows.

    %(raises)s

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import l2_boosting_decay_rate
    >>> l2_boosting_decay_rate([[0.75, 0.25], [0.25, 0.75]])  # eigenvalues 1 and 1/2
    1.0
    """
    S = _square_matrix("matrix", matrix)
    return 2.0 * float(scipy.linalg.eigvals(S, check_finite=False).real.min())


@in_floats
def l2_boosting_training_error_bound(
    eigenvalues: ArrayLike, times: ArrayLike, learning_rate: float = 0.0
) -> Any:
    """Bound on the share of the training error that is left, for a symmetric S.

    It is max_j exp(-2 t mu_j), or max_j (1 - lambda mu_j)^(2 m), for the training error as for its
    expectation [Dombry and Esstafa, proposition 2.12 iii)]. It is attained where y is its mean plus
    an eigenvector of the least eigenvalue.

    Parameters
    ----------
    eigenvalues : array-like of shape (n,)
        All eigenvalues of S, real.
    times : array-like
        Times t of boosting, not negative.
    %(limit_rate)s

    Returns
    -------
    bound : float or ndarray of the shape of times
        Of the training error divided by that at time 0.

    %(raises)s

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import l2_boosting_training_error_bound
    >>> l2_boosting_training_error_bound([1.0, 0.5, 6e-6], [1, 50]).round(4)
    array([1.    , 0.9994])
    """
    mu = checked_numbers("eigenvalues", eigenvalues)
    if mu.ndim != 1 or not mu.size:
        raise ValueError("eigenvalues must be one-dimensional, and at least one.")
    filters = np.asarray(l2_boosting_filter(mu, times, learning_rate))
    return as_result(np.max(filters**2, axis=0))


@in_floats
def l2_boosting_squared_bias(
    matrix: ArrayLike,
    f: ArrayLike,
    times: ArrayLike,
    *,
    learning_rate: float = 0.0,
    init: Init = "mean",
) -> np.ndarray:
    """The mean squared bias of boosting on the training rows, |E_t J f|² / n.

    [Dombry and Esstafa, proposition 2.12 ii)]; it is part of the training error and of the test
    error at the same points alike. The cost is O(n³) once for symmetric matrices, and for each time
    for other matrices.

    %(of_S)s
    f : array-like of shape (n,)
        Values of the regression function at the training rows.
    %(array_of_times)s
    %(limit_rate)s
    %(init)s

    Returns
    -------
    bias2 : ndarray of shape (n_times,)
        The squared bias.

    %(raises_unstable)s

    See Also
    --------
    LinearL2BoostingRegressor : `bias_variance` computes the errors for a fitted learner.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_ensemble_theory.bounds import l2_boosting_squared_bias
    >>> S = np.array([[0.75, 0.25], [0.25, 0.75]])
    >>> l2_boosting_squared_bias(S, [0.0, 2.0], [0, 1]).round(4)  # exp(-t)
    array([1.    , 0.3679])
    """
    S = _square_matrix("matrix", matrix)
    values = _checked_values("f", f, len(S))
    start = values - values.mean() if _from_mean(init) else values
    return _over_times(S, times, learning_rate, lambda E: np.mean((E @ start) ** 2))


@in_floats
def l2_boosting_variance(
    matrix: ArrayLike,
    times: ArrayLike,
    *,
    error: str = "test",
    sigma: float = 1.0,
    learning_rate: float = 0.0,
    init: Init = "mean",
) -> np.ndarray:
    """The part of an expected error at the training points that is due to the noise.

    Of the test error, with new targets at the same points, it is

        sigma² + sigma²/n + sigma² tr((I - E_t) J (I - E_t)') / n,

    without sigma²/n if boosting starts from 0 [Dombry and Esstafa, proposition 2.13, remark 2.14],
    and of the training error sigma² tr(E_t J E_t') / n [Dombry and Esstafa, proposition 2.12 ii)].
    The expected error is its sum with `l2_boosting_squared_bias`. Part i) of proposition 2.13 is
    printed without the first sigma², the noise of the new targets, and remark 2.14 with another
    sum; see the errata. The cost is O(n³) for each time.

    %(of_S)s
    %(array_of_times)s
    error : {"test", "training"}, default="test"
        The error of which it is a part.
    %(boosted_model)s

    Returns
    -------
    variance : ndarray of shape (n_times,)
        In units of y squared. If S is symmetric and positive definite, that of the test error
        increases to 2 sigma²; that of the training error is sigma² (1 - 1/n) at time 0 with
        `init="mean"`.

    %(raises_unstable)s

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_ensemble_theory.bounds import l2_boosting_variance
    >>> S = np.array([[0.75, 0.25], [0.25, 0.75]])
    >>> l2_boosting_variance(S, [0, 1, 100]).round(4)
    array([1.5   , 1.5774, 2.    ])
    >>> l2_boosting_variance(S, [0, 1], error="training").round(4)  # exp(-t) / 2
    array([0.5   , 0.1839])
    """
    S = _square_matrix("matrix", matrix)
    check_number("sigma", sigma, 0)
    check_option("error", error, ("test", "training"))
    J, n = _centring(len(S), init), len(S)
    of_the_mean = 1.0 / n if _from_mean(init) else 0.0

    def variance(E: np.ndarray) -> float:
        if error == "training":
            return float(sigma**2 * np.sum((E @ J) ** 2) / n)
        return float(sigma**2 * (1.0 + of_the_mean + np.sum((J - E @ J) ** 2) / n))

    return _over_times(S, times, learning_rate, variance)


@in_floats
def l2_boosting_new_point_error(
    matrix: ArrayLike,
    outputs: ArrayLike,
    f: ArrayLike,
    f_new: ArrayLike,
    times: ArrayLike,
    *,
    sigma: float = 1.0,
    learning_rate: float = 0.0,
    init: Init = "mean",
) -> np.ndarray:
    """The expected squared error at new points, averaged over them.

    With g(x) the outputs of the learner at x for each unit vector, and the weights w = P_t J y,

        (1 + 1/n) sigma² + mean over x of (f(x) - f-bar - g(x)' P_t J f)² + sigma² |J P_t' g(x)|²

    [Dombry and Esstafa, proposition 2.15], where P_t = (I - E_t) S^-1; without f-bar and sigma²/n
    if boosting starts from 0. S need not be invertible: P_t is the integral of E_s from 0 to t, or
    lambda times the sum of the powers of I - lambda S. The cost is O(n³ + n² n_new) for each time.

    %(of_S)s
    outputs : array-like of shape (n_new, n)
        g_j(x) at each new point x and for each training row j.
    f, f_new : array-like of shapes (n,) and (n_new,)
        Values of the regression function at the training rows and at the new points.
    %(array_of_times)s
    %(noise_sigma)s
    %(limit_rate)s
    %(init)s

    Returns
    -------
    error : ndarray of shape (n_times,)
        In units of y squared, with the noise of the new targets.

    %(raises_unstable)s

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_ensemble_theory.bounds import l2_boosting_new_point_error
    >>> S = np.array([[0.75, 0.25], [0.25, 0.75]])
    >>> middle = [[0.5, 0.5]]  # a new point where the learner is the mean
    >>> l2_boosting_new_point_error(S, middle, [0.0, 2.0], [1.0], [0, 5])
    array([1.5, 1.5])
    """
    S = _square_matrix("matrix", matrix)
    n = len(S)
    G = checked_numbers("outputs", outputs)
    if G.ndim != 2 or G.shape[1] != n:
        raise ValueError(f"outputs must have shape (n_new, {n}), got {G.shape}.")
    values, new = _checked_values("f", f, n), _checked_values("f_new", f_new, len(G))
    check_number("sigma", sigma, 0)
    mean = values.mean() if _from_mean(init) else 0.0
    of_the_mean = 1.0 / n if _from_mean(init) else 0.0
    J = _centring(n, init)

    def error(P: np.ndarray) -> float:
        rows = G @ P @ J
        bias2 = np.mean((new - mean - rows @ values) ** 2)
        return bias2 + sigma**2 * (1.0 + of_the_mean + np.sum(rows**2) / len(G))

    return _over_times(S, times, learning_rate, error, weights=True)


def _over_times(
    S: np.ndarray,
    times: ArrayLike,
    learning_rate: float,
    quantity: Callable[[np.ndarray], float],
    *,
    weights: bool = False,
) -> np.ndarray:
    """A quantity of E_t, or of P_t, at each time."""
    t = np.atleast_1d(checked_numbers("times", times, 0.0))
    check_number("learning_rate", learning_rate, 0, 1)
    if t.ndim != 1:
        raise ValueError(f"times must be one-dimensional, got shape {t.shape}.")
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        values = np.array([quantity(M) for M in boosting_operators(S, t, learning_rate, weights)])
    if not np.isfinite(values).all():
        raise ValueError("matrix is unstable, and its powers overflow at these times.")
    return values


def _from_mean(init: str) -> bool:
    check_option("init", init, ("mean", "zero"))
    return init == "mean"


def _centring(n: int, init: str) -> np.ndarray:
    """J, which maps y to what boosting starts with."""
    return np.eye(n) - (1.0 / n if _from_mean(init) else 0.0)


def _square_matrix(name: str, value: ArrayLike) -> np.ndarray:
    """A square matrix of finite numbers; a ValueError otherwise."""
    matrix = checked_numbers(name, value)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size:
        raise ValueError(f"{name} must be a square matrix, got shape {matrix.shape}.")
    return matrix


def _checked_values(name: str, value: ArrayLike, n: int) -> np.ndarray:
    values = checked_numbers(name, value)
    if values.shape != (n,):
        raise ValueError(f"{name} must have shape ({n},), got {values.shape}.")
    return values


@in_floats
def vanishing_learning_rate_bound(
    times: ArrayLike, learning_rate: ArrayLike, matrix_norm: ArrayLike | None = None
) -> Any:
    """Bound on the distance of boosting from its limit of small learning rates.

    With the norm s of S that a norm of vectors induces, it is in that norm for the weights w after
    floor(t / lambda) rounds, and their limit w_t,

        |w - w_t| / |Y~| <= lambda (1 + t s / 2) exp(t s).

    Without a norm it is for the fitted values of a symmetric S with eigenvalues in [0, 1/lambda],
    in the Euclidean norm over the training rows,

        |F - F_t| / |Y~| <= 1 / (e m),   m = floor(t / lambda) rounds,

    about lambda/(e t), and 1 - exp(-t/lambda) before the first round. So the convergence of
    [Dombry and Esstafa, proposition 2.5] is of order lambda, and slow for small times only. The
    user guide has the proofs: :ref:`vanishing-rates`. For m = 1 and mu = 1/lambda the second bound
    is attained.

    Parameters
    ----------
    %(times)s
    learning_rate : float or array-like of numbers in [0, 1]
        lambda; 0 is the limit itself, whose distance is 0.
    matrix_norm : float or array-like, default=None
        s, for instance the largest absolute sum of a row of S for the maximum norm. None bounds the
        distance of the fitted values.

    Returns
    -------
    bound : float or ndarray
        Of the distance divided by |Y~|, with Y~ the targets less their mean.

    %(raises)s

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import vanishing_learning_rate_bound
    >>> vanishing_learning_rate_bound(1.0, [0.1, 0.01], matrix_norm=1.0).round(4)
    array([0.4077, 0.0408])
    >>> vanishing_learning_rate_bound([1, 10, 100], learning_rate=0.1).round(4)
    array([0.0368, 0.0037, 0.0004])
    """
    t = checked_numbers("times", times, 0.0)
    rate = checked_numbers("learning_rate", learning_rate, 0.0, 1.0)
    if matrix_norm is None:
        m = n_rounds(t, np.where(rate > 0, rate, 1.0))
        before = -np.expm1(-t / np.where(rate > 0, rate, 1.0))
        bound = np.where(m > 0, np.exp(-1.0) / np.maximum(m, 1), before)
        return as_result(np.where(rate > 0, bound, 0.0))
    norm = checked_numbers("matrix_norm", matrix_norm, 0.0)
    return as_result(rate * (1.0 + t * norm / 2.0) * np.exp(t * norm))
