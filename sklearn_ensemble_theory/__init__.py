"""Ensemble methods whose theory is part of the code, as scikit-learn estimators."""

from sklearn_ensemble_theory._version import __version__
from sklearn_ensemble_theory.smoothing import NadarayaWatsonRegressor, SmoothingSplineRegressor

__all__ = ["NadarayaWatsonRegressor", "SmoothingSplineRegressor", "__version__"]
