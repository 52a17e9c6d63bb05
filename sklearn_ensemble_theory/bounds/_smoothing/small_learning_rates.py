"""How fast boosting converges as its learning rate vanishes [Dombry and Esstafa, §2.2]."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sklearn_ensemble_theory.bounds._arguments import as_result, check_number, checked_numbers
from sklearn_ensemble_theory.bounds._smoothing.spectral_filters import n_rounds

__all__ = ["vanishing_learning_rate_residual_bound", "vanishing_learning_rate_weight_bound"]


def vanishing_learning_rate_weight_bound(
    t: ArrayLike, learning_rate: ArrayLike, matrix_norm: ArrayLike
) -> Any:
    """Bound on the distance of the weights of boosting from their limit of small learning rates.

    For any norm of vectors and the norm s of S that it induces,

        |w - w_t| <= lambda (1 + t s / 2) exp(t s) |Y~|,

    where w are the weights after floor(t / lambda) rounds with the learning rate lambda and w_t
    their limit: the convergence of [Dombry and Esstafa, proposition 2.5] is of order lambda.

    Parameters
    ----------
    t : array-like
        Times, not negative.
    learning_rate : array-like of numbers in (0, 1]
        lambda.
    matrix_norm : array-like
        s, for instance the largest absolute sum of a row of S for the maximum norm.

    Returns
    -------
    bound : float or ndarray
        Of |w - w_t| / |Y~|, with Y~ the targets less their mean.

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    See Also
    --------
    vanishing_learning_rate_residual_bound : For symmetric S, without a factor that grows with t.

    Notes
    -----
    Up to the last whole round the difference of the power series is at most lambda (t s / 2)
    exp(t s), since 1 - prod_{k<j} (1 - k lambda / t) <= j (j - 1) lambda / (2 t). The proof in the
    source has a larger factor there, lambda (1 + t s) exp(t s). The rest of the time, less than
    lambda, changes the weights by at most lambda exp(t s).

    References
    ----------
    C. Dombry and Y. Esstafa. "Behavior of linear L2-boosting algorithms in the vanishing learning
    rate asymptotic".

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import vanishing_learning_rate_weight_bound
    >>> vanishing_learning_rate_weight_bound(1.0, [0.1, 0.01], matrix_norm=1.0).round(4)
    array([0.4077, 0.0408])
    """
    t = checked_numbers("t", t, 0.0)
    rate = checked_numbers("learning_rate", learning_rate, 0.0, 1.0, open_low=True)
    norm = checked_numbers("matrix_norm", matrix_norm, 0.0)
    with np.errstate(over="ignore"):
        return as_result(rate * (1.0 + t * norm / 2.0) * np.exp(t * norm))


def vanishing_learning_rate_residual_bound(t: ArrayLike, learning_rate: float) -> Any:
    """Bound on the distance of the fitted values from their limit, for a symmetric S.

    It is 1/(e m) for m = floor(t / lambda) rounds, about lambda/(e t), if all eigenvalues of S are
    in [0, 1/lambda]: the convergence of [Dombry and Esstafa, proposition 2.5] is slow for small
    times only, and is the same for all such smoothers.

    Parameters
    ----------
    t : array-like
        Times, not negative.
    learning_rate : float in (0, 1]
        lambda.

    Returns
    -------
    bound : float or ndarray of the shape of t
        Of |F - F_t| / |Y~| in the Euclidean norm over the training rows, with Y~ the targets less
        their mean. It is 1 before the first round.

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    Notes
    -----
    The distance is max_mu |exp(-t mu) - (1 - lambda mu)^m|. At t = lambda m, with x = lambda mu,
    the difference exp(-m x) - (1 - x)^m is not negative. Where its derivative is zero it is x
    exp(-m x) <= 1/(e m), and at x = 1 it is exp(-m), which is no larger. A time beyond the last
    whole round lowers exp(-t mu) by at most 1/(e m). The bound is attained for m = 1 and mu =
    1/lambda. The source observes this in its figure 2 and gives no rate.

    References
    ----------
    C. Dombry and Y. Esstafa. "Behavior of linear L2-boosting algorithms in the vanishing learning
    rate asymptotic".

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import vanishing_learning_rate_residual_bound
    >>> vanishing_learning_rate_residual_bound([1, 10, 100], learning_rate=0.1).round(4)
    array([0.0368, 0.0037, 0.0004])
    """
    t = checked_numbers("t", t, 0.0)
    check_number("learning_rate", learning_rate, 0, 1, open_low=True)
    m = n_rounds(t, learning_rate)
    return as_result(np.where(m > 0, np.exp(-1.0) / np.maximum(m, 1), 1.0))
