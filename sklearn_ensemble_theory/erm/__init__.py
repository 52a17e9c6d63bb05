"""Empirical risk minimisers over one class of functions."""

from sklearn_ensemble_theory.erm._relu import ReLUNetwork, ReLUUnitRegressor
from sklearn_ensemble_theory.erm._stumps import DecisionStumpClassifier, DecisionStumpRegressor

__all__ = [
    "DecisionStumpClassifier",
    "DecisionStumpRegressor",
    "ReLUNetwork",
    "ReLUUnitRegressor",
]
