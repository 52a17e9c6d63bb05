"""Generators of the literature's experiments."""

import numpy as np
from sklearn.utils import check_random_state

__all__ = ["make_tent"]


def make_tent(n_samples=100, *, noise=0.5, random_state=None):
    r"""Two tents under Gaussian noise, one feature (002, (26); after Zhang and Yu, 2005).

    X is uniform on [-1, 1] and y = f(X) + noise, where

    .. math:: f(x) = 1 - \big| 2 |x| - 1 \big| .

    Parameters
    ----------
    n_samples : int, default=100
    noise : float, default=0.5
        Standard deviation of the Gaussian noise; the source's variance is 1/4.
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    X : ndarray of shape (n_samples, 1)
    y : ndarray of shape (n_samples,)

    Raises
    ------
    ValueError
        If `n_samples` is not positive or `noise` is negative.

    Examples
    --------
    >>> from sklearn_ensemble_theory.datasets import make_tent
    >>> X, y = make_tent(3, noise=0.0, random_state=0)
    >>> X[:, 0].round(2), y.round(2)
    (array([0.1 , 0.43, 0.21]), array([0.2 , 0.86, 0.41]))
    """
    if n_samples < 1:
        raise ValueError(f"n_samples={n_samples} must be positive.")
    if noise < 0:
        raise ValueError(f"noise={noise} must not be negative.")
    rng = check_random_state(random_state)
    X = rng.uniform(-1.0, 1.0, size=(n_samples, 1))
    f = 1.0 - np.abs(2.0 * np.abs(X[:, 0]) - 1.0)
    return X, f + noise * rng.standard_normal(n_samples)
