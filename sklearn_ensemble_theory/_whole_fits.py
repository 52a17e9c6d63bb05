"""A fit that fails or is interrupted leaves the estimator as it was."""

from collections.abc import Callable
from copy import deepcopy
from functools import wraps
from typing import Any

import numpy as np

from sklearn_ensemble_theory._chunks.dask_collections import any_collection

__all__ = ["whole"]


def whole(fit: Callable[..., Any], checked_y: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """Run `fit` on a twin of the estimator, whose attributes the estimator takes over at the end.

    `checked_y(estimator, y)` comes before and returns the y that is fitted: here, because another
    decorator would be another frame for the `stacklevel` of warnings to count.

    Until then nothing of the estimator changes: an exception of any kind, KeyboardInterrupt
    included, leaves its parameters, the earlier model and `n_features_in_` as they were. The
    exchange is one assignment, so that of two threads that fit one estimator, the later one's model
    wins as a whole. Estimator and twin then share one dictionary of attributes: what a callback has
    kept of the twin remains the estimator's state.

    A parameter that is a scalar of NumPy is a Python number during the fit: with np.uint8 or
    np.float16, sums and products of parameters would overflow or be rounded to their few digits.

    The twin shares the attributes, except lists and dictionaries, which it copies, and those that
    the class names in `_running_state`, which `partial_fit` changes in place. Memory: the earlier
    model exists until the new one is complete.
    """

    @wraps(fit)
    def fit_twin(estimator: Any, X: Any, y: Any = None, *args: Any, **kwargs: Any) -> Any:
        fresh = twin(estimator, continued=fit.__name__ == "partial_fit")
        given = _numpy_parameters(fresh)
        for name, value in given.items():
            fresh.__dict__[name] = value.item()
        if any_collection(X, y, *args, *kwargs.values()):
            # imported here, as it imports helpers that know scikit-learn's names
            from sklearn_ensemble_theory._chunks.chunked_fits import fit_collections

            result = fit_collections(fresh, fit, X, y, *args, **kwargs)
        else:
            y = checked_y(estimator, y)
            result = fit(fresh, X, y, *args, **kwargs)
        fresh.__dict__.update(given)
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


def _numpy_parameters(estimator: Any) -> dict[str, Any]:
    return {
        name: value
        for name, value in estimator.__dict__.items()
        if isinstance(value, np.number) and not name.startswith("_") and not name.endswith("_")
    }
