"""Approximation, estimation and optimisation error over nested classes, by repeated draws."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import Bunch
from sklearn.utils.parallel import delayed

from sklearn_ensemble_theory._parallel import in_order
from sklearn_ensemble_theory.inspection._risks.repeated_fits import (
    LARGEST,
    drawn,
    fitted_clone,
    stacked_draws,
)


def _squared(predictions: np.ndarray, y: np.ndarray, target: np.ndarray) -> np.ndarray:
    # The noise of y has the same effect on all risks, so that it need not be drawn.
    difference = predictions.astype(float) - target.astype(float)
    if not np.all(np.abs(difference) < LARGEST):
        raise ValueError(f"predictions and target must be finite and below {LARGEST:g}.")
    return np.asarray(difference**2)


def _zero_one(predictions: np.ndarray, y: np.ndarray, target: np.ndarray) -> np.ndarray:
    return (predictions != y).astype(float) - (target != y)


# The loss of each row minus that of the target, from (predictions, y, target).
RISKS: dict[str, Callable[..., np.ndarray]] = {"squared": _squared, "zero_one": _zero_one}


def excess_risks(
    minimizers: Sequence[BaseEstimator],
    algorithms: Sequence[BaseEstimator] | None,
    make_data: Callable[..., Any],
    *,
    target: Callable[[Any], Any],
    loss: str,
    approximation: np.ndarray | None,
    n_reference: int,
    n_test: int,
    seeds: tuple[int, np.ndarray],
    n_jobs: int | None,
) -> Bunch:
    """The three errors of each class, with their standard errors.

    Parameters
    ----------
    minimizers, algorithms : sequences of estimators
        The empirical risk minimiser of each class, and the algorithm that is used instead of it.
    approximation : array of shape (n_classes,) or None
        Excess risks of the best of each class, or None to find it by a fit to many rows.
    seeds : tuple of int and array of shape (R, 2)
    """
    test_seed, repeated = seeds
    X_test, y_test = stacked_draws(make_data, n_test, test_seed)
    optimal = _targets(target, X_test)

    def excess(model: Any) -> np.ndarray:
        predictions = np.asarray(model.predict(X_test))
        if predictions.shape != optimal.shape:
            raise ValueError(
                "estimator must predict one number or label for each row; got the shape "
                f"{predictions.shape}."
            )
        return RISKS[loss](predictions, y_test, optimal)

    approximation_error = np.zeros(len(minimizers))
    if approximation is None:
        X, y = stacked_draws(make_data, n_reference, test_seed + 1)
        # For the squared loss the best of the class is the same without noise.
        y = _targets(target, X) if loss == "squared" else y
        found = [excess(fitted_clone(m, X, y, test_seed)) for m in minimizers]
        approximation = np.array([losses.mean() for losses in found])
        scale = np.sqrt(len(y_test))
        approximation_error = np.array([losses.std() / scale for losses in found])
    tasks = (
        delayed(_risks_of_one_draw)(minimizers, algorithms, make_data, excess, tuple(pair))
        for pair in repeated.tolist()
    )
    risks = np.stack(list(in_order(tasks, n_jobs=n_jobs, prefer="threads")))  # (R, 2, n_classes)
    R = len(risks)
    gap = risks[:, 1] - risks[:, 0]
    return Bunch(
        approximation=approximation,
        estimation=risks[:, 0].mean(axis=0) - approximation,
        optimization=None if algorithms is None else gap.mean(axis=0),
        standard_error=Bunch(
            approximation=approximation_error,
            estimation=risks[:, 0].std(axis=0, ddof=1) / np.sqrt(R),
            optimization=None if algorithms is None else gap.std(axis=0, ddof=1) / np.sqrt(R),
            total=risks[:, 1].std(axis=0, ddof=1) / np.sqrt(R),
        ),
    )


def _targets(target: Callable[[Any], Any], X: Any) -> np.ndarray:
    found = np.asarray(target(X))
    if found.shape != (len(X),):
        raise ValueError(f"target must return a value for each row of X; got {found.shape}.")
    return found


def _risks_of_one_draw(
    minimizers: Sequence[Any],
    algorithms: Sequence[Any] | None,
    make_data: Any,
    excess: Callable[[Any], np.ndarray],
    seeds: tuple[int, int],
) -> np.ndarray:
    """Excess risks of the minimisers and of the algorithms, fitted to one training set."""
    X, y, _ = drawn(make_data, seeds[0])

    def of(models: Sequence[Any]) -> list[float]:
        return [float(excess(fitted_clone(m, X, y, seeds[1])).mean()) for m in models]

    exact = of(minimizers)
    return np.array([exact, exact if algorithms is None else of(algorithms)])
