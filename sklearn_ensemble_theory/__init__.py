"""Ensemble methods whose theory is part of the code, as scikit-learn estimators."""

from sklearn_ensemble_theory._version import __version__

__all__ = ["__version__"]
