"""Empirical risk minimisers over simple classes of functions: stumps, rectified linear units."""

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
