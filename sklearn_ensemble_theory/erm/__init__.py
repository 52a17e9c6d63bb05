"""Empirical risk minimisers over simple classes: stumps, histograms, rectified linear units."""

from sklearn_ensemble_theory.erm._histogram.estimators import (
    HistogramClassifier,
    HistogramRegressor,
)
from sklearn_ensemble_theory.erm._relu.estimators import ReLUNetwork, ReLUUnitRegressor
from sklearn_ensemble_theory.erm._stumps.estimators import (
    DecisionStumpClassifier,
    DecisionStumpRegressor,
)

__all__ = [
    "DecisionStumpClassifier",
    "DecisionStumpRegressor",
    "HistogramClassifier",
    "HistogramRegressor",
    "ReLUNetwork",
    "ReLUUnitRegressor",
]
