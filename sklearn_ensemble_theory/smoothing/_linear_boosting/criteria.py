"""The criteria by which the time of boosting is chosen, and the times that they compare."""

from collections.abc import Callable

import numpy as np

from sklearn_ensemble_theory.bounds._spectral_filters import n_rounds
from sklearn_ensemble_theory.smoothing._linear_boosting.paths import BoostingPath

# Criteria. Each takes arrays over times and returns an array to be minimised. Fits with more than
# 99 % of n degrees of freedom get infinity; a path without residuals at the start (constant y) is
# constant.

Criterion = Callable[[np.ndarray, np.ndarray, float, float], np.ndarray]


def _guarded(criterion: Criterion) -> Criterion:
    def guarded(rss, df, n, total):
        if total == 0:
            return np.zeros_like(df)
        usable = np.isfinite(rss) & (df <= 0.99 * n)
        # Zero residuals with fewer degrees of freedom are replaced by a small positive number.
        safe = np.maximum(np.where(usable, rss, 1.0), 1e-30 * total)
        values = criterion(safe, np.where(usable, df, 0.0), n, total)
        return np.where(usable, values, np.inf)

    guarded.__doc__ = criterion.__doc__
    guarded.__name__ = criterion.__name__
    return guarded


@_guarded
def gcv(rss: np.ndarray, df: np.ndarray, n: float, total: float) -> np.ndarray:
    """Generalised cross-validation, (rss / n) / (1 - df / n)^2."""
    return rss / n / (1.0 - df / n) ** 2


@_guarded
def aicc(rss: np.ndarray, df: np.ndarray, n: float, total: float) -> np.ndarray:
    """Corrected Akaike criterion of Hurvich, Simonoff and Tsai (1998)."""
    room = n - df - 2.0
    penalty = 2.0 * (df + 1.0) / np.where(room > 0, room, 1.0)
    return np.where(room > 0, np.log(rss / n) + 1.0 + penalty, np.inf)


@_guarded
def bic(rss: np.ndarray, df: np.ndarray, n: float, total: float) -> np.ndarray:
    """Bayesian information criterion, log(rss / n) + log(n) df / n."""
    return np.log(rss / n) + np.log(n) * df / n


@_guarded
def gmdl(rss: np.ndarray, df: np.ndarray, n: float, total: float) -> np.ndarray:
    """Minimum description length with a g-prior (Hansen and Yu, 2001), times 2 / n.

    Where the fit explains a smaller share of the total sum of squares than df / n, their form for
    a model that explains nothing.
    """
    S = rss / (n - df)
    explained = np.maximum(total - rss, 0.0)
    F = explained / np.maximum(df, 1e-300) / S
    some = np.log(S) + df / n * np.log(np.maximum(F, 1e-300)) + 2.0 * np.log(n) / n
    nothing = np.log(total / n) + np.log(n) / n
    return np.where(explained / total >= df / n, some, nothing)


def discrepancy(training_error: np.ndarray, noise_level: float) -> np.ndarray:
    """0 at the first time at which the training error is at most the noise, positive elsewhere.

    Morozov's principle: the residuals should be as large as the noise. Without such a time, 0 is at
    the last one.
    """
    reached = np.flatnonzero(training_error <= noise_level**2)
    first = reached[0] if len(reached) else len(training_error) - 1
    return np.abs(np.arange(len(training_error)) - first).astype(np.float64)


CRITERIA = {"gcv": gcv, "aicc": aicc, "bic": bic, "gmdl": gmdl}

TIME_CRITERIA = (*CRITERIA, "loo", "discrepancy", "cv")


def criterion_path(
    name: str, path: BoostingPath, times: np.ndarray, within_ties: float, noise_level: float | None
) -> np.ndarray:
    """The criterion at each time; `within_ties` is the sum of squares within equal rows of X."""
    if name == "loo":
        errors = path.loo_error(times)
        return np.where(np.isfinite(errors), errors, np.inf)
    if name == "discrepancy":
        assert noise_level is not None
        rss = path.squared_residuals(times)
        return discrepancy((rss + within_ties) / path.total_weight, noise_level)
    rss, df = path.summary(times)
    # Each row counts with the average weight.
    unit = path.n_rows / path.total_weight
    criterion = CRITERIA[name](rss * unit, df, path.n_rows, path.total * unit)
    return np.where(np.isnan(criterion), np.inf, criterion)


def default_times(path: BoostingPath) -> np.ndarray:
    """0 and 200 times in geometric progression, in units of the inverse of the largest |mu|.

    Or all rounds, where each is computed anyway.

    The fit of an unstable learner grows exponentially: the times end before that part dominates.
    """
    if path.default_rounds is not None:
        return np.arange(path.default_rounds + 1) * path.learning_rate
    mu = path.eigenvalues
    unit = np.abs(mu).max() or 1.0
    times = np.r_[0.0, np.geomspace(1e-2, 1e6, 200) / unit]
    growth = -mu.real.min()
    if path.learning_rate > 0:
        rate = path.learning_rate
        growth = np.log(max(np.abs(1.0 - rate * mu).max(), 1e-300)) / rate
    return times[growth * times <= 20.0] if growth > 0 else times


def whole_rounds(times: np.ndarray, learning_rate: float) -> np.ndarray:
    """The times that are a whole number of rounds of `learning_rate`, below each of `times`."""
    return np.unique(n_rounds(times, learning_rate)) * learning_rate
