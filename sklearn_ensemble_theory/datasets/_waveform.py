"""Breiman's waveform problem of three classes, with its Bayes rule and error."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_ndtr
from sklearn.utils import check_random_state

from sklearn_ensemble_theory._typing import RandomStateLike
from sklearn_ensemble_theory.datasets._sizes import check_size

PLACES = np.arange(1, 22)
# Three triangles of height 6 around 11, 15 and 7.
WAVES = np.stack([np.maximum(6.0 - np.abs(PLACES - centre), 0.0) for centre in (11, 15, 7)])
# The two waves of which the rows of a class are mixtures.
PAIRS = ((0, 1), (0, 2), (1, 2))


def make_waveform(
    n_samples: int = 300, *, random_state: RandomStateLike = None
) -> tuple[np.ndarray, np.ndarray]:
    """Generate Breiman's waveform problem: three classes, 21 features.

    A row is u h + (1 - u) h' plus standard normal noise, where u is uniform on [0, 1] and h and h'
    are two of three triangular waves, which depend on the class.

    Parameters
    ----------
    n_samples : int, default=300
        Number of rows.

    random_state : int, RandomState instance or None, default=None
        Seed.

    Returns
    -------
    X : ndarray of shape (n_samples, 21)
        Inputs.

    y : int ndarray of shape (n_samples,)
        Classes 0, 1 and 2, with equal probability.

    Raises
    ------
    ValueError
        If `n_samples` is not a positive int.

    References
    ----------
    L. Breiman, J. Friedman, R. Olshen and C. Stone (1984). *Classification and Regression Trees*.
    Wadsworth.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_ensemble_theory.datasets import make_waveform, waveform_bayes_rule
    >>> X, y = make_waveform(1_000, random_state=0)
    >>> float(np.mean(waveform_bayes_rule(X) != y))
    0.141
    """
    check_size("n_samples", n_samples)
    rng = check_random_state(random_state)
    y = rng.randint(3, size=n_samples)
    u = rng.uniform(size=(n_samples, 1))
    first, second = np.array(PAIRS).T
    mean = u * WAVES[first[y]] + (1 - u) * WAVES[second[y]]
    return mean + rng.standard_normal(mean.shape), y


def waveform_bayes_rule(X: ArrayLike) -> np.ndarray:
    """The classes of least error for `make_waveform`.

    Parameters
    ----------
    X : array-like of shape (n_samples, 21)
        Inputs.

    Returns
    -------
    y : int ndarray of shape (n_samples,)
        Classes 0, 1 and 2.

    Raises
    ------
    ValueError
        If X does not have 21 columns.

    Notes
    -----
    The density of a class is the integral of a normal density along the segment between two waves,
    which is a difference of two normal distribution functions.

    Examples
    --------
    >>> from sklearn_ensemble_theory.datasets import make_waveform, waveform_bayes_rule
    >>> X, y = make_waveform(4, random_state=0)
    >>> y, waveform_bayes_rule(X)
    (array([0, 1, 0, 1]), array([0, 1, 0, 2]))
    """
    X = np.asarray(X, dtype=float)
    if X.ndim != 2 or X.shape[1] != len(PLACES):
        raise ValueError(f"X must have {len(PLACES)} columns, got an array of shape {X.shape}.")
    return np.argmax(_log_densities(X, WAVES), axis=1)


def waveform_bayes_error() -> float:
    """The error of `waveform_bayes_rule`.

    Returns
    -------
    error : float
        By numerical integration, with an absolute error below 1e-6.

    Notes
    -----
    The classes differ in the plane of the three waves alone, so that two dimensions remain.

    Examples
    --------
    >>> from sklearn_ensemble_theory.datasets import waveform_bayes_error
    >>> round(waveform_bayes_error(), 4)
    0.1329
    """
    # Orthonormal coordinates of the plane, and those of the waves.
    basis = np.linalg.qr((WAVES[1:] - WAVES[0]).T)[0]
    waves = (WAVES - WAVES[0]) @ basis
    step = 0.05
    low, high = waves.min(axis=0) - 9.0, waves.max(axis=0) + 9.0
    axes = [np.arange(a, b, step) for a, b in zip(low, high)]
    correct = 0.0
    for x in axes[0]:
        points = np.column_stack([np.full(len(axes[1]), x), axes[1]])
        correct += float(np.exp(_log_densities(points, waves).max(axis=1)).sum())
    return 1.0 - correct * step**2 / 3.0


def _log_densities(X: np.ndarray, waves: np.ndarray) -> np.ndarray:
    """The logarithms of the densities of the classes, shape (n, 3)."""
    found = []
    for i, j in PAIRS:
        direction = waves[i] - waves[j]
        length = float(np.linalg.norm(direction))
        along = (X - waves[j]) @ direction / length
        beside = ((X - waves[j]) ** 2).sum(axis=1) - along**2
        # log of Phi(length - along) - Phi(-along), from the side where both are small
        turned = along < length / 2
        upper = np.where(turned, along, length - along)
        lower = np.where(turned, along - length, -along)
        log_upper, log_lower = log_ndtr(upper), log_ndtr(lower)
        log_mass = log_upper + np.log1p(-np.exp(log_lower - log_upper))
        found.append(log_mass - np.log(length) - beside / 2)
    return np.stack(found, axis=1) - (waves.shape[1] - 1) / 2 * np.log(2 * np.pi)
