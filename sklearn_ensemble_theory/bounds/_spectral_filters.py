"""What L2-boosting of a linear learner does, on the eigenvalues of its matrix and as matrices.

The residuals of boosting with learning rate lambda are E = (I - lambda S)^m applied to Y~ after m
rounds, and E = exp(-t S) at time t = lambda m in the limit of small rates. The weights of the
learner's outputs are P Y~ with E = I - S P [Dombry and Esstafa, §2]. Both are functions of the
eigenvalues mu of S. The bounds and the estimators of `smoothing` compute with them.
"""

from collections.abc import Iterator

import numpy as np
import scipy.linalg

from sklearn_ensemble_theory._typing import ArrayLike

# Of rounds: a power of 2 that is an int64.
LARGEST_NUMBER = 2.0**62


def n_rounds(times: ArrayLike, learning_rate: float | np.ndarray) -> np.ndarray:
    """floor(t / lambda) as integers, for t and lambda written in decimals: 0.3 / 0.1 is 3."""
    with np.errstate(over="ignore"):
        ratio = np.minimum(np.asarray(times, dtype=np.float64) / learning_rate, LARGEST_NUMBER)
    # A quotient that is a whole number but for rounding counts as that number.
    return np.floor(ratio * (1.0 + 4e-16) + 1e-12 * np.minimum(ratio, 1.0)).astype(np.int64)


def phi_1(z: ArrayLike) -> np.ndarray:
    """(exp(z) - 1) / z, and 1 at z = 0."""
    z = np.asarray(z)
    return np.divide(np.expm1(z), z, out=np.ones_like(z), where=z != 0)


def residual_filter(mu: np.ndarray, times: ArrayLike, learning_rate: float = 0.0) -> np.ndarray:
    """exp(-t mu) or (1 - lambda mu)^m: shape (len(mu), len(times))."""
    mu, times = np.asarray(mu)[:, None], np.asarray(times, dtype=np.float64)[None, :]
    with np.errstate(over="ignore", under="ignore"):
        if learning_rate == 0:
            return np.exp(-mu * times)
        return (1.0 - learning_rate * mu) ** n_rounds(times, learning_rate).astype(np.float64)


def weight_filter(mu: np.ndarray, times: ArrayLike, learning_rate: float = 0.0) -> np.ndarray:
    """(1 - residual_filter) / mu without cancellation: shape (len(mu), len(times))."""
    mu, times = np.asarray(mu)[:, None], np.asarray(times, dtype=np.float64)[None, :]
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        if learning_rate == 0:
            return times * phi_1(-mu * times)
        m = n_rounds(times, learning_rate).astype(np.float64)
        step = learning_rate * mu
        small = np.abs(step) < 0.5
        # m log(1 - lambda mu), and powers where the logarithm is inaccurate or does not exist.
        near = -np.expm1(m * _log1p(-np.where(small, step, 0.0)))
        far = 1.0 - (1.0 - step) ** m
        numerator = np.where(small, near, far)
        return np.divide(numerator, mu, out=m * learning_rate + 0 * numerator, where=mu != 0)


def _log1p(z: np.ndarray) -> np.ndarray:
    """log(1 + z); for complex z NumPy's log1p rounds 1 + z first."""
    if not np.iscomplexobj(z):
        return np.log1p(z)
    x, y = z.real, z.imag
    return 0.5 * np.log1p(x * (2.0 + x) + y * y) + 1j * np.arctan2(y, 1.0 + x)


def boosting_operators(
    S: np.ndarray, t: np.ndarray, learning_rate: float, weights: bool
) -> Iterator[np.ndarray]:
    """E_t, or with `weights` P_t, at each time."""
    n = len(S)
    if np.abs(S - S.T).max() <= 1e-10 * np.abs(S).max():
        mu, U = scipy.linalg.eigh((S + S.T) / 2, check_finite=False)
        for values in (weight_filter if weights else residual_filter)(mu, t, learning_rate).T:
            yield (U * values) @ U.T
        return
    # [E, P; 0, I] is an exponential, or a power, of one matrix.
    step = np.zeros((2 * n, 2 * n)) if weights else -S
    if weights:
        step[:n, :n], step[:n, n:] = -S, np.eye(n)
    for time, m in zip(t, n_rounds(t, learning_rate or 1.0)):
        if learning_rate == 0:
            both = scipy.linalg.expm(time * step)
        else:
            both = np.linalg.matrix_power(np.eye(len(step)) + learning_rate * step, int(m))
        yield both[:n, n:] if weights else both
