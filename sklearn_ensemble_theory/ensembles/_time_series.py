"""Prediction intervals for time series, from a window of residuals that slides.

EnbPI [Xu and Xie, 2021; 2023]: the window begins with the residuals of the training rows out of
bag, in the order of time. When targets become known, the residuals of their predictions push out
the oldest ones; the ensemble is not fitted again. An interval is a prediction plus quantiles of the
residuals in the window.
"""

from copy import copy
from numbers import Integral
from typing import TypeVar

import numpy as np
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._rows import one_column
from sklearn_ensemble_theory._scaling import range_exponent
from sklearn_ensemble_theory._typing import ArrayLike, MatrixLike
from sklearn_ensemble_theory.ensembles._intervals import (
    checked_coverage,
    conformal_limit,
    conformal_rank,
    one_of,
)
from sklearn_ensemble_theory.ensembles._members import FittedEnsemble, mean_prediction
from sklearn_ensemble_theory.ensembles._training_rows import (
    check_one_output,
    exchangeable_rows,
    groups_of,
    kept_rows,
    out_of_bag_mean,
)

Ensemble = TypeVar("Ensemble", bound=FittedEnsemble)


def narrowest_ends(errors: np.ndarray, coverage: float) -> tuple[float, float]:
    """Order statistics of the errors k = ceil((n + 1) coverage) apart, the nearest to each other.

    The levels of these quantiles are beta and 1 - alpha + beta, for the best of all beta. Infinite
    where there are too few errors.
    """
    rank, errors = conformal_rank(len(errors), coverage), np.sort(errors)
    if rank >= len(errors):
        return -np.inf, np.inf
    first = int(np.argmin(errors[rank:] - errors[:-rank]))
    return float(errors[first]), float(errors[first + rank])


def residuals_in_window(ensemble: FittedEnsemble, what: str) -> np.ndarray:
    """Targets minus predictions, oldest first, in units of 2^exponent of the training targets.

    Those of the fit are without the rows that all members are fitted to.
    """
    check_one_output(ensemble, what)
    kept = kept_rows(ensemble, what)
    if kept.window is not None:
        return kept.window
    rows = exchangeable_rows(ensemble, "Residuals out of bag")
    if groups_of(ensemble, rows) is not None:
        raise ValueError(
            f"{what} of a time series needs an ensemble that was fitted without groups."
        )
    exponent = range_exponent(kept.y)
    mean = out_of_bag_mean(ensemble, "predict")
    residuals = np.ldexp(kept.y, -exponent) - np.ldexp(mean, -exponent)
    residuals = residuals if rows is None else residuals[rows]
    return residuals[~np.isnan(residuals)]


def window_interval(
    ensemble: FittedEnsemble, X, coverage: float, method: str, side: str = "both"
) -> np.ndarray:
    """Return the lower and upper ends at the rows X, an array of shape (m, 2)."""
    check_is_fitted(ensemble)
    coverage = checked_coverage(coverage)
    one_of("side", side, ("both", "lower", "upper"))
    X = ensemble._validate_X(X)
    errors = residuals_in_window(ensemble, "predict_interval")
    low, high = -np.inf, np.inf
    if side == "both" and method == "enbpi":
        low, high = narrowest_ends(errors, coverage)
    elif side == "both":
        high = conformal_limit(np.abs(errors), coverage, None)
        low = -high
    elif side == "lower":
        low = -conformal_limit(-errors, coverage, None)
    else:
        high = conformal_limit(errors, coverage, None)
    exponent = range_exponent(kept_rows(ensemble, "predict_interval").y)
    mean = np.ldexp(mean_prediction(ensemble, X, "predict"), -exponent)
    with np.errstate(over="ignore"):  # an end beyond the largest float is infinite
        return np.ldexp(np.column_stack([mean + low, mean + high]), exponent)


def update_residuals(
    self: Ensemble, X: MatrixLike, y: ArrayLike, window: int | None = None
) -> Ensemble:
    """Slide the window of residuals on, for `predict_interval` with ``method="enbpi"``.

    The members stay as they are. The residuals of these rows are appended to those of the window,
    at first the training rows out of bag, and as many of the oldest are dropped.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows that follow those of `fit`, or of the last call, in time; not training rows, whose
        residuals would be too small.

    y : array-like of shape (n_samples,)
        Their targets.

    window : int, default=None
        How many residuals are kept, the newest. `None` is as many as before, at first about as many
        as training rows. A short window follows a change of the noise sooner, and knows quantiles
        less well.

    Returns
    -------
    self : object
        The ensemble.

    Raises
    ------
    ValueError
        If X or y is not valid, `window` is not a positive integer, y of the fit had several
        columns, there are no out-of-bag rows, or after `forget_training_rows`. The window is then
        as before.

    Notes
    -----
    A new fit begins with a new window. The other methods of `predict_interval` do not read it. The
    window is part of a pickle.

    Cost: a prediction of the rows.

    References
    ----------
    C. Xu and Y. Xie (2023). "Conformal prediction for time series". *IEEE Transactions on Pattern
    Analysis and Machine Intelligence* 45(10).
    """
    check_is_fitted(self)
    is_integer = isinstance(window, Integral) and not isinstance(window, bool)
    if window is not None and not (is_integer and window >= 1):
        raise ValueError(f"window must be an integer of at least 1 or None, got {window!r}.")
    X = self._validate_X(X)
    y = check_array(one_column(y), ensure_2d=False, dtype=np.float64, input_name="y")
    check_consistent_length(X, y)
    known = residuals_in_window(self, "update_residuals")
    kept = kept_rows(self, "update_residuals")
    exponent = range_exponent(kept.y)
    predicted = np.ldexp(mean_prediction(self, X, "predict"), -exponent)
    with np.errstate(over="ignore"):
        residuals = np.ldexp(y, -exponent) - predicted
    if not np.isfinite(residuals).all():
        raise ValueError("y has values too far from those of the fit for their residuals.")
    found = np.concatenate([known, residuals])
    length = len(known) if window is None else int(window)
    # What was derived from the members stays known.
    updated = copy(kept)
    updated._members, updated._derived = kept._members, kept._derived
    updated.window = found[-length:]
    self._training = updated
    return self
