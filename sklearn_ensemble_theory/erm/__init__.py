"""Empirical risk minimisers over simple classes: stumps, histograms, linear functions, units."""

from sklearn_ensemble_theory._addresses import publish

from ._ball.balls import project_l1_ball, project_l2_ball, project_simplex
from ._ball.descent import projected_gradient_descent
from ._ball.estimator import BallConstrainedClassifier
from ._best_column import BestColumnRegressor
from ._histogram import HistogramClassifier, HistogramRegressor
from ._relu import ReLUNetwork, ReLUUnitRegressor
from ._stumps.estimators import (
    DecisionStumpClassifier,
    DecisionStumpRegressor,
    stump_dictionary,
)

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
    "projected_gradient_descent",
    "stump_dictionary",
]

publish(__name__, globals(), __all__)
