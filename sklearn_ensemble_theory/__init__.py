"""Ensemble methods whose theory is part of the code, as scikit-learn estimators."""

from sklearn_ensemble_theory._version import __version__
from sklearn_ensemble_theory.smoothing import (
    LinearL2BoostingRegressor,
    NadarayaWatsonRegressor,
    SmoothingSplineRegressor,
    stochastic_variance_bound,
)

__all__ = [
    "LinearL2BoostingRegressor",
    "NadarayaWatsonRegressor",
    "SmoothingSplineRegressor",
    "__version__",
    "stochastic_variance_bound",
]
