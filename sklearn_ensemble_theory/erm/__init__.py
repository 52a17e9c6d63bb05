"""Empirical risk minimisers over one class of functions."""

from sklearn_ensemble_theory.erm._relu.estimators import ReLUNetwork, ReLUUnitRegressor
from sklearn_ensemble_theory.erm._stumps.estimators import (
    DecisionStumpClassifier,
    DecisionStumpRegressor,
)

__all__ = [
    "DecisionStumpClassifier",
    "DecisionStumpRegressor",
    "ReLUNetwork",
    "ReLUUnitRegressor",
]
