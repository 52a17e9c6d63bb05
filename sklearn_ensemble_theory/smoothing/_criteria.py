"""The choice of the time at which boosting stops: criteria, and the times that they compare."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sklearn_ensemble_theory._typing import ArrayLike, CVLike
from sklearn_ensemble_theory.bounds._spectral_filters import n_rounds

from ._paths import BoostingPath

_MOST_ROUNDS = 100_000
"""More rounds are not run one by one."""


TIES = 1e-10
"""Criteria that differ by this share are equal up to rounding."""


def check_number_of_rounds(number: int, learning_rate: float, time: float) -> int:
    """Return the number of rounds to be run one by one; ValueError where there are too many."""
    if number > _MOST_ROUNDS:
        raise ValueError(
            f"learning_rate={learning_rate:g} and time={time:g} make {number:.3g} rounds, more "
            f"than {_MOST_ROUNDS:,}. Use a larger learning_rate, or 0, the limit of small ones "
            'with variant="all_features" or "random_feature".'
        )
    return number


# Functions of residual sums of squares and degrees of freedom at several times, of n observations
# and of the sum of squares at the start, to be minimised over the times.


def gcv(rss: np.ndarray, df: np.ndarray, n: float, total: float) -> np.ndarray:
    """Generalised cross-validation, (rss / n) / (1 - df / n)^2."""
    return rss / n / (1.0 - df / n) ** 2


def aicc(rss: np.ndarray, df: np.ndarray, n: float, total: float) -> np.ndarray:
    """Corrected Akaike criterion of Hurvich, Simonoff and Tsai (1998)."""
    room = n - df - 2.0
    penalty = 2.0 * (df + 1.0) / np.where(room > 0, room, 1.0)
    return np.where(room > 0, np.log(rss / n) + 1.0 + penalty, np.inf)


def bic(rss: np.ndarray, df: np.ndarray, n: float, total: float) -> np.ndarray:
    """Bayesian information criterion, log(rss / n) + log(n) df / n."""
    return np.log(rss / n) + np.log(n) * df / n


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


CRITERIA = {"gcv": gcv, "aicc": aicc, "bic": bic, "gmdl": gmdl}

# The values of `time` that are names.
NAMES_OF_CRITERIA = (*CRITERIA, "loo", "cv")


def checked_times(times: ArrayLike, name: str = "times") -> np.ndarray:
    """Return the times as an array; ValueError unless they are finite, non-negative numbers."""
    try:
        if np.iscomplexobj(times):
            raise TypeError("they are complex")
        times = np.atleast_1d(np.asarray(times, dtype=np.float64))
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name} must be finite, non-negative numbers: {error}.") from None
    if times.ndim != 1 or not len(times) or not np.isfinite(times).all() or (times < 0).any():
        raise ValueError(f"{name} must be finite, non-negative numbers.")
    return times


@dataclass(frozen=True)
class TimePlan:
    """When boosting stops: at a given time, or where the criterion is least over the times.

    - times: to compare, in increasing order; None for the usual ones.
    - noise_level: for "discrepancy", in units of y.
    - cv: for "cv".
    """

    time: float | None = None
    criterion: str | None = None
    times: np.ndarray | None = None
    noise_level: float | None = None
    cv: CVLike = 5


def criterion_path(
    name: str, path: BoostingPath, times: np.ndarray, within_ties: float, noise_level: float | None
) -> np.ndarray:
    """The criterion at each time; `within_ties` is the sum of squares within equal rows of X."""
    if name == "loo":
        errors = path.loo_error(times)
        return np.where(np.isfinite(errors), errors, np.inf)
    if name == "discrepancy":
        # Morozov's principle, as a number to be minimised: 0 at the first time at which the
        # training error is at most the noise, or else at the last time.
        assert noise_level is not None
        error = (path.squared_residuals(times) + within_ties) / path.total_weight
        reached = np.flatnonzero(error <= noise_level**2)
        first = reached[0] if len(reached) else len(error) - 1
        return np.abs(np.arange(len(error)) - first).astype(np.float64)
    rss, df = path.summary(times)
    # Each row counts with the average weight.
    n, unit = path.n_rows, path.n_rows / path.total_weight
    rss, total = rss * unit, path.total * unit
    if total == 0:
        return np.zeros_like(df)  # y is constant, and every time is as good
    # Fits with more than 99 % of n degrees of freedom are not considered, and zero residuals with
    # fewer of them are replaced by a small positive number.
    usable = np.isfinite(rss) & (df <= 0.99 * n)
    safe = np.maximum(np.where(usable, rss, 1.0), 1e-30 * total)
    criterion = CRITERIA[name](safe, np.where(usable, df, 0.0), n, total)
    return np.where(usable & ~np.isnan(criterion), criterion, np.inf)


def default_times(path: BoostingPath) -> np.ndarray:
    """0 and 200 times in geometric progression, in units of the inverse of the largest |mu|.

    Or all rounds, where each is computed anyway.
    """
    if path.default_rounds is not None:
        return np.arange(path.default_rounds + 1) * path.learning_rate
    mu = path.eigenvalues
    unit = np.abs(mu).max() or 1.0
    times = np.r_[0.0, np.geomspace(1e-2, 1e6, 200) / unit]
    # The fit of an unstable learner grows exponentially: the times end before that part dominates.
    growth = -mu.real.min()
    if path.learning_rate > 0:
        rate = path.learning_rate
        growth = np.log(max(np.abs(1.0 - rate * mu).max(), 1e-300)) / rate
    return times[growth * times <= 20.0] if growth > 0 else times


def chosen_time(
    path: BoostingPath,
    plan: TimePlan,
    *,
    within_ties: float,
    scale: float,
    splits: Sequence[tuple[np.ndarray, np.ndarray]] = (),
    cross_validate: Callable[[np.ndarray], np.ndarray] | None = None,
) -> tuple[float, dict[str, np.ndarray] | None]:
    """Return the time, and the times tried with the criterion there.

    The path is of y divided by `scale`, while the noise level and the criterion are in units of y.
    `cross_validate` refits the folds, where the path does not have their errors.
    """
    if plan.criterion is None:
        assert plan.time is not None
        return plan.time, None
    times = default_times(path) if plan.times is None else plan.times
    if path.learning_rate > 0:  # whole numbers of rounds
        times = np.unique(n_rounds(times, path.learning_rate)) * path.learning_rate
    if plan.criterion == "cv":
        criterion = path.held_out_error(times, splits)
        if criterion is None:
            assert cross_validate is not None
            criterion = cross_validate(times)
    else:
        noise = None if plan.noise_level is None else plan.noise_level / scale
        criterion = criterion_path(plan.criterion, path, times, within_ties, noise)
    # The first of the times that tie: if all functions shrink alike, GCV is the same at all times.
    least = criterion.min()
    best = float(times[np.argmax(criterion <= least + TIES * abs(least))])
    if plan.criterion in ("gcv", "loo", "cv"):
        with np.errstate(over="ignore"):
            criterion = criterion * scale * scale
    return best, {"time": times, "mean_score": criterion}
