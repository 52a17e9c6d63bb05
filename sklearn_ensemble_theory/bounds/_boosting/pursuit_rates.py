"""Rates of matching pursuit [Bach, §10.3.3].

gamma is the gauge of the dictionary: gamma(u) is the least l1 norm of coefficients that give u, for
columns of mean square 1.
"""

from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sklearn_ensemble_theory.bounds._arguments import (
    as_result,
    check_number,
    checked_numbers,
    in_floats,
)

__all__ = [
    "matching_pursuit_bound",
    "matching_pursuit_kappa",
    "orthogonal_matching_pursuit_bound",
]

# 2^(d-1) sign vectors are enumerated for the exact constant of d independent columns.
MAX_SIGN_VECTORS = 12


@in_floats
def matching_pursuit_bound(
    t: ArrayLike, gauge: float, learning_rate: float = 1.0, weakness: float = 1.0
) -> Any:
    """Bound on the mean squared residual after t rounds of matching pursuit.

    It is at most

        gamma(y)² (1 + nu (2 - nu) theta² t)^(-q / (2 + q)),   q = (2 - nu) theta.

    With learning rate nu = 1 and weakness theta = 1 this is gamma(y)² (1 + t)^(-1/3), which is
    below the gamma(y)² t^(-1/3) of [Bach, §10.3.3]; with nu = 1 alone it is Temlyakov's bound for
    weak greedy algorithms. Shrinkage improves the exponent, up to 1/2, and worsens the constant.

    Parameters
    ----------
    t : array-like
        Numbers of rounds.
    gauge : float
        gamma(y), for columns of mean square 1.
    learning_rate : float in (0, 1], default=1.0
        nu, the factor of each step.
    weakness : float in (0, 1], default=1.0
        theta: each round's column has at least this share of the largest correlation.

    Returns
    -------
    bound : float or ndarray of the shape of t
        The bound after each number of rounds.

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    Notes
    -----
    With a_t the mean squared residual and g_t >= gamma of it, a round with |c| >= theta a/g gives
    a' = a - nu (2 - nu) c² and g' = g + nu |c|. So a g^q never increases, because (1 + x)^q (1 - q
    x) <= 1, and z = a/g² decreases at least as z' <= z - nu (2 - nu) theta² z². The bound is a^(2 +
    q) = (a g^q)² z^q.

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import matching_pursuit_bound
    >>> matching_pursuit_bound([0, 7, 26], gauge=2.0).round(3)
    array([4.   , 2.   , 1.333])
    """
    nu, theta, t = learning_rate, weakness, checked_numbers("t", t, 0.0)
    check_number("gauge", gauge, 0)
    check_number("learning_rate", nu, 0, 1, open_low=True)
    check_number("weakness", theta, 0, 1, open_low=True)
    q = (2 - nu) * theta
    return as_result(gauge**2 * (1 + nu * (2 - nu) * theta**2 * t) ** (-q / (2 + q)))


@in_floats
def orthogonal_matching_pursuit_bound(t: ArrayLike, gauge: float) -> Any:
    """Bound on the mean squared residual after t rounds of orthogonal matching pursuit.

    It is at most gamma(y)² / (1 + t); [Bach, exercise 10.5] states gamma(y)² / t. Least squares
    over the chosen columns makes y'r = r'r, so the largest correlation is at least r'r/gamma(y),
    whichever columns were chosen.

    Parameters
    ----------
    t : array-like
        Numbers of rounds.
    gauge : float
        gamma(y), for columns of mean square 1.

    Returns
    -------
    bound : float or ndarray of the shape of t
        The bound after each number of rounds.

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import orthogonal_matching_pursuit_bound
    >>> orthogonal_matching_pursuit_bound([0, 1, 3], gauge=2.0)
    array([4., 2., 1.])
    """
    check_number("gauge", gauge, 0)
    return as_result(gauge**2 / (1 + checked_numbers("t", t, 0.0)))


def matching_pursuit_kappa(gram: ArrayLike) -> float:
    """The constant kappa of the exponential rate (1 - kappa²)^t [Bach, §10.3.3].

    kappa |v| <= max_j |psi_j'v| for every v in the span of the columns, in the norm of mean
    squares, for columns of mean square 1. The value returned is at most 1/sqrt(r), where r is the
    rank of the columns; it is less than the largest possible kappa where the notes say so.

    Parameters
    ----------
    gram : array-like of shape (d, d)
        Mean products of the columns.

    Returns
    -------
    kappa : float
        The constant; 0 if all columns are 0.

    Raises
    ------
    ValueError
        If `gram` is not a square matrix of finite numbers.

    Notes
    -----
    For at most 12 linearly independent columns this is the largest kappa: 1/kappa² is the largest
    s'G^-1 s over sign vectors s, whose mean over all s is the trace of G^-1, at least d. So kappa
    is at most 1/sqrt(d), and r = d.

    Otherwise it is computed from the eigenvalues: kappa² = lambda/d with lambda the smallest
    positive eigenvalue, which is at most d/r. That is a valid constant but not always the largest:
    many columns in few dimensions can have a kappa close to 1.

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_ensemble_theory.bounds import matching_pursuit_kappa
    >>> round(matching_pursuit_kappa(np.eye(4)), 6)  # orthonormal: 1/sqrt(rank)
    0.5
    >>> round(matching_pursuit_kappa(np.kron(np.eye(4), np.ones((2, 2)))), 6)  # each column twice
    0.5
    """
    gram = checked_numbers("gram", gram)
    if gram.ndim != 2 or gram.shape[0] != gram.shape[1]:
        raise ValueError(f"gram must be a square matrix, got shape {gram.shape}.")
    gram = gram[:, np.diag(gram) > 0][np.diag(gram) > 0]
    d = len(gram)
    if d == 0:
        return 0.0
    values, vectors = np.linalg.eigh(gram)
    positive = values > d * np.finfo(float).eps * values[-1]
    if d <= MAX_SIGN_VECTORS and positive.all():
        signs = np.array([(1.0, *s) for s in product((-1.0, 1.0), repeat=d - 1)])
        return float(1 / np.sqrt(np.max(((signs @ vectors) ** 2) @ (1 / values))))
    return float(np.sqrt(values[positive][0] / d))
