"""Noise in the labels of given data."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from sklearn_ensemble_theory._typing import RandomStateLike


def add_label_noise(
    y: ArrayLike, noise_rate: float, *, random_state: RandomStateLike = None
) -> tuple[np.ndarray, np.ndarray]:
    """Replace each label by another class with the same probability: random classification noise.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels of at least two classes.

    noise_rate : float
        The probability of a wrong label, in [0, 1]. All other classes are equally likely.

    random_state : int, RandomState instance or None, default=None
        Seed.

    Returns
    -------
    y : ndarray of shape (n_samples,)
        Labels with noise.

    flipped : bool ndarray of shape (n_samples,)
        Which labels were replaced.

    Raises
    ------
    ValueError
        If `noise_rate` is not in [0, 1], or y has one class.

    Examples
    --------
    >>> from sklearn_ensemble_theory.datasets import add_label_noise
    >>> y, flipped = add_label_noise(["a", "b"] * 500, 0.2, random_state=0)
    >>> float(flipped.mean())
    0.2
    """
    if not 0 <= noise_rate <= 1:
        raise ValueError(f"noise_rate must be in [0, 1], got {noise_rate!r}.")
    y = np.asarray(y)
    return _flipped(y, np.full(len(y), float(noise_rate)), random_state)


def add_massart_noise(
    X: ArrayLike,
    y: ArrayLike,
    eta: ArrayLike | Callable[[np.ndarray], ArrayLike],
    *,
    random_state: RandomStateLike = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Replace each label with a probability that depends on x and is below 1/2: Massart noise.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Inputs.

    y : array-like of shape (n_samples,)
        Labels of at least two classes.

    eta : callable or array-like of shape (n_samples,)
        The probability of a wrong label for each row, or a function of X that returns it; in
        [0, 1/2).

    random_state : int, RandomState instance or None, default=None
        Seed.

    Returns
    -------
    y : ndarray of shape (n_samples,)
        Labels with noise.

    flipped : bool ndarray of shape (n_samples,)
        Which labels were replaced.

    Raises
    ------
    ValueError
        If a value of `eta` is not in [0, 1/2), there is not one for each row, or y has one class.

    References
    ----------
    P. Massart and E. Nedelec (2006). "Risk bounds for statistical learning". *The Annals of
    Statistics* 34, 2326-2366.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_ensemble_theory.datasets import add_massart_noise
    >>> X = np.linspace(-1, 1, 1_000)[:, None]
    >>> y, flipped = add_massart_noise(X, X[:, 0] > 0, lambda X: 0.4 * (X[:, 0] > 0.5))
    >>> int(flipped[:750].sum())
    0
    """
    X, y = np.asarray(X), np.asarray(y)
    rates = np.asarray(eta(X) if callable(eta) else eta, dtype=float)
    if rates.shape != (len(y),):
        raise ValueError(f"eta must have one value for each row, got the shape {rates.shape}.")
    if not ((rates >= 0) & (rates < 0.5)).all():
        raise ValueError("eta must be in [0, 1/2) for every row.")
    return _flipped(y, rates, random_state)


def add_malicious_rows(
    X: ArrayLike,
    y: ArrayLike,
    fraction: float,
    *,
    distance: float = 1.0,
    random_state: RandomStateLike = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Replace a share of the rows by copies of other rows, moved outwards, with a wrong label.

    Malicious noise replaces whole rows by any others. Here each one is m + c (x - m), where x is a
    row drawn at random, m the mean of all rows and c the `distance`, with a class that is not that
    of x.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Inputs.

    y : array-like of shape (n_samples,)
        Labels of at least two classes.

    fraction : float
        The share of rows to replace, in [0, 1]; rounded to a whole number of rows.

    distance : float, default=1.0
        c. With 1 the rows are copies; larger values give outliers.

    random_state : int, RandomState instance or None, default=None
        Seed.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Inputs.

    y : ndarray of shape (n_samples,)
        Labels.

    malicious : bool ndarray of shape (n_samples,)
        Which rows were replaced.

    Raises
    ------
    ValueError
        If `fraction` is not in [0, 1], `distance` is not finite, or y has one class.

    References
    ----------
    M. Kearns and M. Li (1993). "Learning in the presence of malicious errors". *SIAM Journal on
    Computing* 22, 807-837.

    Examples
    --------
    >>> from sklearn_ensemble_theory.datasets import add_malicious_rows
    >>> X, y, malicious = add_malicious_rows([[0.0], [1.0]] * 50, [0, 1] * 50, 0.1, random_state=0)
    >>> int(malicious.sum())
    10
    """
    if not 0 <= fraction <= 1:
        raise ValueError(f"fraction must be in [0, 1], got {fraction!r}.")
    if not np.isfinite(distance):
        raise ValueError(f"distance must be finite, got {distance!r}.")
    rng = check_random_state(random_state)
    X, y = np.array(X, dtype=float), np.array(y)
    n = len(y)
    malicious = np.zeros(n, dtype=bool)
    malicious[rng.permutation(n)[: round(fraction * n)]] = True
    source = rng.randint(n, size=int(malicious.sum()))
    centre = X.mean(axis=0)
    moved = centre + distance * (X[source] - centre) if distance != 1 else X[source]
    y[malicious] = _other_classes(y, y[source], rng)
    X[malicious] = moved
    return X, y, malicious


def _flipped(
    y: np.ndarray, rates: np.ndarray, random_state: RandomStateLike
) -> tuple[np.ndarray, np.ndarray]:
    rng = check_random_state(random_state)
    flipped = rng.uniform(size=len(y)) < rates
    noisy = y.copy()
    noisy[flipped] = _other_classes(y, y[flipped], rng)
    return noisy, flipped


def _other_classes(y: np.ndarray, labels: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    """For each of `labels` another class of y, drawn with equal probabilities."""
    classes = np.unique(y)
    K = len(classes)
    if K < 2:
        raise ValueError("y must have at least two classes.")
    steps = rng.randint(1, K, size=len(labels))
    return classes[(np.searchsorted(classes, labels) + steps) % K]
