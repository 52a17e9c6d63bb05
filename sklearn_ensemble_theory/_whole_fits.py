"""A fit that fails or is interrupted leaves the estimator as it was."""

from collections.abc import Callable
from copy import deepcopy
from functools import wraps
from typing import Any

from sklearn_ensemble_theory._data.fit_inputs import checked_arguments

__all__ = ["whole"]


def whole(fit: Callable[..., Any]) -> Callable[..., Any]:
    """Run `fit` on a twin of the estimator, whose attributes the estimator takes over at the end.

    Until then nothing of the estimator changes: an exception of any kind, KeyboardInterrupt
    included, leaves its parameters, the earlier model and `n_features_in_` as they were. The
    exchange is one assignment, so that of two threads that fit one estimator, the later one's model
    wins as a whole. Estimator and twin then share one dictionary of attributes: what a callback has
    kept of the twin remains the estimator's state.

    The twin shares the attributes, except lists and dictionaries, which it copies, and those that
    the class names in `_running_state`, which `partial_fit` changes in place. Memory: the earlier
    model exists until the new one is complete.
    """

    @wraps(fit)
    def fit_twin(estimator: Any, *args: Any, **kwargs: Any) -> Any:
        # Not in a wrapper of its own: warnings count the calls up to the user's.
        args, kwargs = checked_arguments(estimator, args, kwargs)
        fresh = twin(estimator, continued=fit.__name__ == "partial_fit")
        result = fit(fresh, *args, **kwargs)
        estimator.__dict__ = fresh.__dict__
        return estimator if result is fresh else result

    return fit_twin


def twin(estimator: Any, *, continued: bool) -> Any:
    """Another object with the same attributes; see `whole`."""
    fresh = object.__new__(type(estimator))
    running = getattr(estimator, "_running_state", ()) if continued else ()
    for name, value in estimator.__dict__.items():
        if name in running:
            value = deepcopy(value)
        elif type(value) in (list, dict) and name.endswith("_"):
            value = value.copy()
        fresh.__dict__[name] = value
    return fresh
