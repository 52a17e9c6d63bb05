"""Empirical risk minimisers over simple classes: stumps, histograms, linear functions, units."""

from sklearn_ensemble_theory.erm._ball.estimators import BallConstrainedClassifier
from sklearn_ensemble_theory.erm._ball.projections import (
    project_l1_ball,
    project_l2_ball,
    project_simplex,
)
from sklearn_ensemble_theory.erm._columns.estimators import BestColumnRegressor
from sklearn_ensemble_theory.erm._histogram.estimators import HistogramClassifier
from sklearn_ensemble_theory.erm._histogram.mean_histogram import HistogramRegressor
from sklearn_ensemble_theory.erm._relu.estimators import ReLUNetwork, ReLUUnitRegressor
from sklearn_ensemble_theory.erm._stumps.estimators import (
    DecisionStumpClassifier,
    DecisionStumpRegressor,
)
from sklearn_ensemble_theory.erm._stumps.stump_outputs import stump_dictionary

__all__ = [
    "BallConstrainedClassifier",
    "BestColumnRegressor",
    "DecisionStumpClassifier",
    "DecisionStumpRegressor",
    "HistogramClassifier",
    "HistogramRegressor",
    "ReLUNetwork",
    "ReLUUnitRegressor",
    "project_l1_ball",
    "project_l2_ball",
    "project_simplex",
    "stump_dictionary",
]
