"""Ensemble methods whose theory is part of the code, as scikit-learn estimators."""

from sklearn_ensemble_theory._version import __version__
from sklearn_ensemble_theory.smoothing import NadarayaWatsonRegressor

__all__ = ["NadarayaWatsonRegressor", "__version__"]
