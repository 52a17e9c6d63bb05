"""Variance of an ensemble by its number of members: from one fit, or from repeated draws.

An ensemble answers by `variance_decomposition(X)` and by `_predictions_in_chunks(X)`, which yields
the predictions of all members, of shape (B, rows, ...).
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils import Bunch
from sklearn.utils.parallel import delayed

from sklearn_ensemble_theory._parallel import in_order
from sklearn_ensemble_theory.inspection._risks.repeated_fits import (
    drawn,
    fitted_clone,
    jackknife_error,
    variance_over_draws,
)

# Groups of members, at least, whose means are compared.
LEAST_GROUPS = 4


def check_ensemble(estimator: Any) -> None:
    """Raise a TypeError for an estimator without `variance_decomposition`."""
    if not hasattr(estimator, "variance_decomposition"):
        raise TypeError(
            "estimator must be a bagging ensemble or a forest of this package, with the method "
            f"variance_decomposition; got {type(estimator).__name__}."
        )


def numbers_of_members(n_members: int) -> np.ndarray:
    """1, 2, 5, 10, 20, 50, ... and the number itself."""
    steps = [k * 10**e for e in range(len(str(n_members))) for k in (1, 2, 5)]
    return np.array([*(b for b in steps if b < n_members), n_members])


def member_predictions_at(estimator: Any, X: Any) -> np.ndarray:
    """The predictions of the members, of shape (B, rows times outputs or classes)."""
    chunks = estimator._predictions_in_chunks(estimator._check_uncertainty(X))
    return np.concatenate([part.reshape(len(part), -1) for part in chunks], axis=1)


def variance_of_one_fit(estimator: Any, X: Any) -> Bunch:
    """sigma², rho and variances by number of members, from one fitted ensemble.

    The variance over training sets, rho sigma², is that of `variance_decomposition`. To it the
    measured points add the variance between the means of disjoint groups of b members.
    """
    if len(getattr(estimator, "estimators_", range(LEAST_GROUPS))) < LEAST_GROUPS:
        raise ValueError(f"estimator must have at least {LEAST_GROUPS} members.")
    parts = estimator.variance_decomposition(X)
    sigma2, limit = float(parts.sigma2.mean()), float((parts.rho * parts.sigma2).mean())
    predictions = member_predictions_at(estimator, X)
    numbers = numbers_of_members(len(predictions))
    numbers = numbers[numbers <= len(predictions) // LEAST_GROUPS]
    variance, errors = [], []
    for b in numbers:
        groups = len(predictions) // b
        means = predictions[: groups * b].reshape(groups, b, -1).mean(axis=1)
        spread, without = variance_over_draws(means)
        variance.append(limit + spread.mean())
        errors.append(jackknife_error(without))
    return Bunch(
        sigma2=sigma2,
        rho=limit / sigma2 if sigma2 > 0 else 0.0,
        n_members=numbers,
        variance=np.array(variance),
        standard_error=np.array(errors),
        largest=len(predictions),
    )


def variance_by_draws(
    estimator: Any, make_data: Callable[..., Any], X_test: Any, seeds: np.ndarray, n_jobs: Any
) -> Bunch:
    """The same from fits to independent training sets.

    With the predictions of B members for each of R sets, the variance between the sets of the mean
    of the first b members is unbiased for rho sigma² + (1 - rho) sigma² / b, and the mean variance
    within the sets for (1 - rho) sigma².
    """
    tasks = (
        delayed(_means_of_one_draw)(estimator, make_data, X_test, tuple(pair))
        for pair in seeds.tolist()
    )
    found = list(in_order(tasks, n_jobs=n_jobs))
    numbers = found[0][0]
    by_number = np.stack([means for _, means, _ in found], axis=1)  # (numbers, R, m)
    within = float(np.mean([spread for *_, spread in found]))
    variance, errors = [], []
    for means in by_number:
        between, without = variance_over_draws(means)
        variance.append(between.mean())
        errors.append(jackknife_error(without))
    largest = int(numbers[-1])
    limit = float(variance[-1] - within / largest)
    sigma2 = limit + within
    return Bunch(
        sigma2=sigma2,
        rho=limit / sigma2 if sigma2 > 0 else 0.0,
        n_members=numbers,
        variance=np.array(variance),
        standard_error=np.array(errors),
        largest=largest,
    )


def _means_of_one_draw(
    estimator: Any, make_data: Any, X_test: Any, seeds: tuple[int, int]
) -> tuple[np.ndarray, np.ndarray, float]:
    """(numbers b, means of the first b members, mean variance between the members)."""
    X, y, _ = drawn(make_data, seeds[0])
    predictions = member_predictions_at(fitted_clone(estimator, X, y, seeds[1]), X_test)
    numbers = numbers_of_members(len(predictions))
    means = np.cumsum(predictions, axis=0)[numbers - 1] / numbers[:, None]
    return numbers, means, float(predictions.var(axis=0, ddof=1).mean())
