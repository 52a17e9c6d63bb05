"""Learned in sequence, each on what the others left: one loop, many wirings (000 section 10.3)."""

from sklearn_ensemble_theory.boosting import losses
from sklearn_ensemble_theory.boosting._adaboost import AdaBoostClassifier
from sklearn_ensemble_theory.boosting._frank_wolfe_estimators import (
    FrankWolfeClassifier,
    FrankWolfeRegressor,
)
from sklearn_ensemble_theory.boosting._gradient_boosting_estimators import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
)
from sklearn_ensemble_theory.boosting._l2_boosting import L2BoostingRegressor
from sklearn_ensemble_theory.boosting._matching_pursuit import MatchingPursuitRegressor

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
