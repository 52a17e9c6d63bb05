"""Training sets drawn again and again, and estimators fitted to them.

`make_data(random_state=seed)` returns X and y, and optionally the noise-free targets of the rows.
It is called by keyword, so that `functools.partial` of a generator is one.
"""

from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone

from sklearn_ensemble_theory._running import called
from sklearn_ensemble_theory._typing import Predictor
from sklearn_ensemble_theory.bounds._arguments import checked_generator

from .._typing import RandomStateLike
from ..boosting._base_learners import seeded_clone

MAX_SEED = np.iinfo(np.int32).max

# Squares of larger numbers overflow.
LARGEST = 1e150


def check_arguments(make_data, **counts: tuple[Any, int]) -> None:
    """Raise an error unless `make_data` can be called and every count is an int of its least."""
    if not callable(make_data):
        raise TypeError(
            f"make_data must be a function of random_state, got {type(make_data).__name__}."
        )
    for name, (value, least) in counts.items():
        if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
            raise ValueError(f"{name} must be an int of at least {least}, got {value!r}.")


def parameter_values(
    estimator: Predictor, param_name: str, param_range: Sequence[Any]
) -> list[Any]:
    """Return the values of a parameter, as a list that is not empty."""
    if not hasattr(estimator, "get_params"):
        raise TypeError(f"estimator must have get_params; {type(estimator).__name__} does not.")
    if param_name not in estimator.get_params():
        raise ValueError(
            f"param_name must be a parameter of {type(estimator).__name__}, got {param_name!r}."
        )
    values = list(param_range)
    if not values:
        raise ValueError("param_range must have at least one value.")
    return values


def clone_with(estimator: Predictor, name: str, value) -> Any:
    return clone(estimator).set_params(**{name: value})


def seeds_of(n_repetitions: int, random_state: RandomStateLike) -> tuple[int, np.ndarray]:
    """(seed of the test set, seeds of the training sets and of the fits, of shape (R, 2))."""
    rng = checked_generator(random_state)
    return int(rng.randint(MAX_SEED)), rng.randint(MAX_SEED, size=(n_repetitions, 2))


def drawn(make_data: Callable[..., Any], seed: int) -> tuple[Any, np.ndarray, np.ndarray | None]:
    """(X, y, noise-free targets or None) of one draw."""
    # A Python int, which every generator of data takes for a seed.
    found = called("make_data", make_data, random_state=int(seed))
    if not isinstance(found, tuple | list) or len(found) not in (2, 3):
        raise ValueError(
            "make_data must return X and y, or X, y and the noise-free targets; got "
            f"{type(found).__name__}."
        )
    X, *targets = found
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    arrays = [np.asarray(t) for t in targets]
    for t in arrays:
        if t.shape != (n,):
            raise ValueError(
                f"make_data must return one target for each of {n} rows; got the shape {t.shape}."
            )
    return X, arrays[0], arrays[1] if len(arrays) == 2 else None


def stacked_draws(
    make_data: Callable[..., Any], n_draws: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """(X, y) of several draws, one below the other."""
    seeds = np.random.RandomState(seed).randint(MAX_SEED, size=n_draws)
    # A reference or test set has more rows than `make_data` draws at a time.
    pairs = [drawn(make_data, int(s))[:2] for s in seeds]
    return np.concatenate([X for X, _ in pairs]), np.concatenate([y for _, y in pairs])


def fitted_clone(estimator: Predictor, X, y, seed: int) -> Any:
    """Return a clone whose parameters `random_state` are set, fitted."""
    return seeded_clone(estimator, np.random.RandomState(seed)).fit(X, y)


def jackknife_error(left_out: np.ndarray) -> float:
    """Return the standard error of a statistic, from its values without each of the draws."""
    R = len(left_out)
    return float(np.sqrt((R - 1) / R * np.sum((left_out - left_out.mean()) ** 2)))


def variance_over_draws(predictions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(variance at each point, its mean without each draw) of (R, m) predictions."""
    R = len(predictions)
    squares = (predictions - predictions.mean(axis=0)) ** 2
    variance = squares.sum(axis=0) / (R - 1)
    # Without draw r the sum of squares is smaller by R / (R - 1) times the square of r.
    rest = (R - 1) * variance.mean() - R / (R - 1) * squares.mean(axis=1)
    return variance, rest / (R - 2)
