"""Ensemble methods whose theory is part of the code, as scikit-learn estimators."""

from sklearn_ensemble_theory._version import __version__
from sklearn_ensemble_theory.averaging import (
    BaggingClassifier,
    BaggingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn_ensemble_theory.smoothing import (
    LinearL2BoostingRegressor,
    NadarayaWatsonRegressor,
    SmoothingSplineRegressor,
)

__all__ = [
    "BaggingClassifier",
    "BaggingRegressor",
    "LinearL2BoostingRegressor",
    "NadarayaWatsonRegressor",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "SmoothingSplineRegressor",
    "__version__",
]
