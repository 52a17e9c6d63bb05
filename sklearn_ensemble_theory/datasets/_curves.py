"""Regression problems on a curve, of the experiments of the sources."""

from typing import Literal, overload

import numpy as np
from sklearn.preprocessing import PolynomialFeatures
from sklearn.utils import check_random_state

from sklearn_ensemble_theory._typing import RandomStateLike
from sklearn_ensemble_theory.datasets._sizes import check_size


@overload
def make_sine_regression(
    n_samples: int = ...,
    *,
    periods: float = ...,
    noise: float = ...,
    return_mean: Literal[False] = ...,
    random_state: RandomStateLike = ...,
) -> tuple[np.ndarray, np.ndarray]: ...


@overload
def make_sine_regression(
    n_samples: int = ...,
    *,
    periods: float = ...,
    noise: float = ...,
    return_mean: Literal[True],
    random_state: RandomStateLike = ...,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]: ...


def make_sine_regression(
    n_samples: int = 200,
    *,
    periods: float = 1.5,
    noise: float = 0.3,
    return_mean: bool = False,
    random_state: RandomStateLike = None,
) -> tuple[np.ndarray, ...]:
    """Generate a regression problem on a sine wave with one feature, for local averaging.

    x is uniform on [0, 1] and y = sin(2 pi `periods` x) plus Gaussian noise. A single nearest
    neighbour fits the noise; an average over too many neighbours is nearly constant.

    Parameters
    ----------
    n_samples : int, default=200
        Number of rows.

    periods : float, default=1.5
        Number of periods of the wave on [0, 1].

    noise : float, default=0.3
        Standard deviation of the noise.

    return_mean : bool, default=False
        Whether to also return the mean of y given x.

    random_state : int, RandomState instance or None, default=None
        Seed of x and of the noise.

    Returns
    -------
    X : ndarray of shape (n_samples, 1)
        Inputs, in increasing order.

    y : ndarray of shape (n_samples,)
        Targets.

    mean : ndarray of shape (n_samples,)
        The mean of y given x, sin(2 pi `periods` x). Only returned with `return_mean=True`.

    Raises
    ------
    ValueError
        If `n_samples` is not a positive int, if `noise` is negative or not finite, or if `periods`
        is not finite.

    Notes
    -----
    The experiment of [Bach, figure 10.1]; the text gives neither the function nor its constants, so
    they are chosen here.

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    Examples
    --------
    >>> from sklearn_ensemble_theory.datasets import make_sine_regression
    >>> X, y = make_sine_regression(50, random_state=0)
    >>> X.shape, y.shape
    ((50, 1), (50,))
    """
    _check_size_and_noise(n_samples, noise)
    if not np.isfinite(periods):
        raise ValueError(f"periods must be finite, got {periods!r}.")
    rng = check_random_state(random_state)
    x = np.sort(rng.uniform(size=n_samples))
    mean = np.sin(2 * np.pi * periods * x)
    y = mean + noise * rng.standard_normal(n_samples)
    return (x[:, None], y, mean) if return_mean else (x[:, None], y)


def make_tent(
    n_samples: int = 100,
    *,
    noise: float = 0.5,
    random_state: RandomStateLike = None,
) -> tuple[np.ndarray, np.ndarray]:
    r"""Generate a regression problem with one feature and a piecewise linear mean with two peaks.

    X is uniform on [-1, 1] and y = f(X) + noise, where

    .. math:: f(x) = 1 - \big| 2 |x| - 1 \big| .

    Parameters
    ----------
    n_samples : int, default=100
        Number of rows.

    noise : float, default=0.5
        Standard deviation of the Gaussian noise.

    random_state : int, RandomState instance or None, default=None
        Seed of X and of the noise.

    Returns
    -------
    X : ndarray of shape (n_samples, 1)
        Inputs, in the order drawn.

    y : ndarray of shape (n_samples,)
        Targets.

    Raises
    ------
    ValueError
        If `n_samples` is not a positive int, or if `noise` is negative or not finite.

    Notes
    -----
    The experiment of [Dombry and Esstafa, eq. (26)], with noise of variance 1/4, after [Zhang and
    Yu, 2005].

    References
    ----------
    C. Dombry and Y. Esstafa. "Behavior of linear L2-boosting algorithms in the vanishing learning
    rate asymptotic".

    T. Zhang and B. Yu (2005). "Boosting with early stopping: convergence and consistency". *Annals
    of Statistics* 33(4).

    Examples
    --------
    >>> from sklearn_ensemble_theory.datasets import make_tent
    >>> X, y = make_tent(3, noise=0.0, random_state=0)
    >>> X[:, 0].round(2), y.round(2)
    (array([0.1 , 0.43, 0.21]), array([0.2 , 0.86, 0.41]))
    """
    _check_size_and_noise(n_samples, noise)
    rng = check_random_state(random_state)
    X = rng.uniform(-1.0, 1.0, size=(n_samples, 1))
    f = 1.0 - np.abs(2.0 * np.abs(X[:, 0]) - 1.0)
    return X, f + noise * rng.standard_normal(n_samples)


def _check_size_and_noise(n_samples: int, noise: float) -> None:
    check_size("n_samples", n_samples)
    if not (np.isfinite(noise) and noise >= 0):
        raise ValueError(f"noise must be non-negative and finite, got {noise!r}.")


@overload
def make_polynomial(
    n_samples: int = ...,
    n_features: int = ...,
    *,
    degree: int = ...,
    noise: float = ...,
    return_mean: Literal[False] = ...,
    random_state: RandomStateLike = ...,
) -> tuple[np.ndarray, np.ndarray]: ...


@overload
def make_polynomial(
    n_samples: int = ...,
    n_features: int = ...,
    *,
    degree: int = ...,
    noise: float = ...,
    return_mean: Literal[True],
    random_state: RandomStateLike = ...,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]: ...


def make_polynomial(
    n_samples: int = 100,
    n_features: int = 20,
    *,
    degree: int = 2,
    noise: float = 1.0,
    return_mean: bool = False,
    random_state: RandomStateLike = None,
) -> tuple[np.ndarray, ...]:
    """Generate a regression problem whose mean is a random polynomial in several features.

    X is uniform on [-1, 1]. The mean of y is a polynomial with independent Gaussian coefficients
    of all monomials of positive degree, scaled to mean 0 and variance 1 over the rows. The default
    has 230 monomials of 20 features: more than rows.

    Parameters
    ----------
    n_samples : int, default=100
        Number of rows. For a test set of the same polynomial, draw more rows and split them.

    n_features : int, default=20
        Number of features.

    degree : int, default=2
        Largest degree of the monomials.

    noise : float, default=1.0
        Standard deviation of the Gaussian noise.

    return_mean : bool, default=False
        Whether to also return the mean of y given X.

    random_state : int, RandomState instance or None, default=None
        Seed of X, of the coefficients and of the noise.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Inputs.

    y : ndarray of shape (n_samples,)
        Targets.

    mean : ndarray of shape (n_samples,)
        The mean of y given X. Only returned with `return_mean=True`.

    Raises
    ------
    ValueError
        If `n_samples`, `n_features` or `degree` is not a positive int, or if `noise` is negative
        or not finite.

    Notes
    -----
    The experiment of [Bach, figure 10.2]; the text gives neither the distribution of X nor the
    coefficients, so they are chosen here.

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    Examples
    --------
    >>> from sklearn_ensemble_theory.datasets import make_polynomial
    >>> X, y, mean = make_polynomial(return_mean=True, random_state=0)
    >>> X.shape, round(float(mean.std()), 6)
    ((100, 20), 1.0)
    """
    _check_size_and_noise(n_samples, noise)
    check_size("n_features", n_features)
    check_size("degree", degree)
    rng = check_random_state(random_state)
    X = rng.uniform(-1.0, 1.0, size=(n_samples, n_features))
    monomials = PolynomialFeatures(degree, include_bias=False).fit_transform(X)
    mean = monomials @ rng.standard_normal(monomials.shape[1])
    mean -= mean.mean()
    mean /= mean.std() or 1.0
    y = mean + noise * rng.standard_normal(n_samples)
    return (X, y, mean) if return_mean else (X, y)
