"""Generators of the literature's experiments."""

import numbers

import numpy as np
from sklearn.utils import check_random_state

__all__ = ["make_sine_regression", "make_tent"]


def make_sine_regression(
    n_samples=200, *, periods=1.5, noise=0.3, return_mean=False, random_state=None
):
    """One-dimensional regression on a sine wave, as in the textbook's pictures of local averaging.

    x is uniform on [0, 1] and y = sin(2 pi `periods` x) plus Gaussian noise. The nearest neighbour
    alone follows the noise; an average over too many neighbours flattens the wave.

    Parameters
    ----------
    n_samples : int, default=200
        Number of rows.

    periods : float, default=1.5
        Number of periods of the wave on [0, 1].

    noise : float, default=0.3
        Standard deviation of the noise.

    return_mean : bool, default=False
        Whether to return the mean of y given x as well.

    random_state : int, RandomState instance or None, default=None
        Seed of x and of the noise.

    Returns
    -------
    X : ndarray of shape (n_samples, 1)
        Inputs, in increasing order.

    y : ndarray of shape (n_samples,)
        Targets.

    mean : ndarray of shape (n_samples,)
        sin(2 pi `periods` x), only with `return_mean=True`.

    Raises
    ------
    ValueError
        If `n_samples` is not a positive int, or `noise` is negative or not finite, or `periods` is
        not finite.

    Notes
    -----
    The experiment of [000, figure 10.1]; the text gives neither the function nor its constants, so
    they are chosen here.

    Examples
    --------
    >>> from sklearn_ensemble_theory.datasets import make_sine_regression
    >>> X, y = make_sine_regression(50, random_state=0)
    >>> X.shape, y.shape
    ((50, 1), (50,))
    """
    if not isinstance(n_samples, numbers.Integral) or n_samples < 1:
        raise ValueError(f"n_samples must be a positive int, got {n_samples!r}.")
    if not (np.isfinite(noise) and noise >= 0):
        raise ValueError(f"noise must be nonnegative and finite, got {noise!r}.")
    if not np.isfinite(periods):
        raise ValueError(f"periods must be finite, got {periods!r}.")
    rng = check_random_state(random_state)
    x = np.sort(rng.uniform(size=n_samples))
    mean = np.sin(2 * np.pi * periods * x)
    y = mean + noise * rng.standard_normal(n_samples)
    return (x[:, None], y, mean) if return_mean else (x[:, None], y)


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
