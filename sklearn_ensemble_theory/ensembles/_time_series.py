"""Prediction intervals for time series, from a window of residuals that slides.

EnbPI [Xu and Xie, 2021; 2023]: the window begins with the residuals of the training rows out of
bag, in the order of time. When targets become known, the residuals of their predictions push out
the oldest ones; the ensemble is not fitted again. An interval is a prediction plus quantiles of the
residuals in the window.
"""

import math

import numpy as np

from sklearn_ensemble_theory._scaling import range_exponent
from sklearn_ensemble_theory.ensembles._ensemble import (
    Ensemble,
    check_one_output,
    fitted_rows,
    groups_of,
    kept_rows,
)
from sklearn_ensemble_theory.ensembles._intervals import (
    conformal_limit,
    conformal_rank,
    warn_of_few,
)
from sklearn_ensemble_theory.ensembles._predictions import (
    out_of_bag_mean,
)


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


def residuals_of_fit(ensemble: Ensemble) -> np.ndarray:
    """Targets minus predictions out of bag in the order of time, in units of 2^exponent.

    Without the rows that all members are fitted to. The exponent is that of the training targets.
    """
    check_one_output(ensemble, "SeriesIntervals")
    y = kept_rows(ensemble, "SeriesIntervals").y
    rows = fitted_rows(ensemble, "Residuals out of bag")
    if groups_of(ensemble, rows) is not None:
        raise ValueError("SeriesIntervals needs an ensemble that was fitted without groups.")
    exponent = range_exponent(y)
    mean = out_of_bag_mean(ensemble, "predict")
    residuals = np.ldexp(y, -exponent) - np.ldexp(mean, -exponent)
    residuals = residuals if rows is None else residuals[rows]
    return residuals[~np.isnan(residuals)]


def residual_limits(
    residuals: np.ndarray, coverage: float, method: str, side: str
) -> tuple[float, float]:
    """What is added to a prediction for the lower and the upper end; infinite for too few."""
    low, high = -np.inf, np.inf
    # One more on either side of the narrowest interval.
    margin = int(side == "both" and method == "narrowest")
    needed = max(math.ceil((coverage + margin) / (1 - coverage) - 1e-9), 1)
    if len(residuals) < needed:
        few = f"needs at least {needed} residuals, and there are {len(residuals)}"
        warn_of_few(few, coverage, "the intervals are infinite")
        return low, high
    if side == "both" and method == "narrowest":
        low, high = narrowest_ends(residuals, coverage)
    elif side == "both":
        high = conformal_limit(np.abs(residuals), coverage, None)
        low = -high
    elif side == "lower":
        low = -conformal_limit(-residuals, coverage, None)
    else:
        high = conformal_limit(residuals, coverage, None)
    return low, high
