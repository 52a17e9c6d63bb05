"""What boosting does to one eigenvalue of a linear learner, as functions of time.

With R_t the residuals, w_t the weights of the learner's outputs and mu an eigenvalue of S:

    learning rate 0       R_t ~ exp(-t mu)            w_t ~ t phi_1(-t mu)              (002, 2.5)
    learning rate lambda  R_t ~ (1 - lambda mu)^m     w_t ~ (1 - (1 - lambda mu)^m)/mu  (002, 2.2)

where m = floor(t / lambda). Both weights are t (lambda m) at mu = 0, and both satisfy
mu w_t = 1 - R_t.
"""

import numpy as np

__all__ = ["n_rounds", "phi_1", "residual_filter", "weight_filter"]


def n_rounds(times, learning_rate):
    """floor(t / lambda) as integers, for t and lambda written in decimals: 0.3 / 0.1 is 3."""
    ratio = np.asarray(times, dtype=np.float64) / learning_rate
    return np.floor(ratio * (1.0 + 4e-16) + 1e-12 * np.minimum(ratio, 1.0)).astype(np.int64)


def phi_1(z):
    """(exp(z) - 1) / z, and 1 at z = 0."""
    z = np.asarray(z)
    return np.divide(np.expm1(z), z, out=np.ones_like(z), where=z != 0)


def residual_filter(mu, times, learning_rate=0.0):
    """exp(-t mu) or (1 - lambda mu)^m: shape (len(mu), len(times))."""
    mu, times = np.asarray(mu)[:, None], np.asarray(times, dtype=np.float64)[None, :]
    with np.errstate(over="ignore", under="ignore"):
        if learning_rate == 0:
            return np.exp(-mu * times)
        return (1.0 - learning_rate * mu) ** n_rounds(times, learning_rate).astype(np.float64)


def weight_filter(mu, times, learning_rate=0.0):
    """(1 - residual_filter) / mu without cancellation: shape (len(mu), len(times))."""
    mu, times = np.asarray(mu)[:, None], np.asarray(times, dtype=np.float64)[None, :]
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        if learning_rate == 0:
            return times * phi_1(-mu * times)
        m = n_rounds(times, learning_rate).astype(np.float64)
        step = learning_rate * mu
        small = np.abs(step) < 0.5
        # m log(1 - lambda mu), and powers where the logarithm would lose or not exist.
        near = -np.expm1(m * _log1p(-np.where(small, step, 0.0)))
        far = 1.0 - (1.0 - step) ** m
        numerator = np.where(small, near, far)
        return np.divide(numerator, mu, out=m * learning_rate + 0 * numerator, where=mu != 0)


def _log1p(z):
    """log(1 + z); NumPy's own rounds 1 + z first when z is complex."""
    if not np.iscomplexobj(z):
        return np.log1p(z)
    x, y = z.real, z.imag
    return 0.5 * np.log1p(x * (2.0 + x) + y * y) + 1j * np.arctan2(y, 1.0 + x)
