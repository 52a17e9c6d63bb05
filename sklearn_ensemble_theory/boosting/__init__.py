"""Learned in sequence, each on what the others left: one loop, many wirings (000 section 10.3)."""

from sklearn_ensemble_theory.boosting import losses
from sklearn_ensemble_theory.boosting._adaboost.estimators import AdaBoostClassifier
from sklearn_ensemble_theory.boosting._frank_wolfe.estimators import (
    FrankWolfeClassifier,
    FrankWolfeRegressor,
)
from sklearn_ensemble_theory.boosting._gradient_boosting.estimators import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
)
from sklearn_ensemble_theory.boosting._l2_boosting.estimators import L2BoostingRegressor
from sklearn_ensemble_theory.boosting._pursuit.estimators import MatchingPursuitRegressor

__all__ = [
    "AdaBoostClassifier",
    "FrankWolfeClassifier",
    "FrankWolfeRegressor",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "L2BoostingRegressor",
    "MatchingPursuitRegressor",
    "losses",
]
