"""The theorems as pure functions."""

from sklearn_ensemble_theory.bounds._averaging import bagging_pac_n_estimators

__all__ = ["bagging_pac_n_estimators"]
