"""Boosting: learners fitted in sequence, each to the remaining error.

Every algorithm consists of a loss, a weak learner and a step rule [Bach, §10.3].
"""

from sklearn_ensemble_theory._addresses import publish
from sklearn_ensemble_theory._cv_choice import CVChoice, CVRounds
from sklearn_ensemble_theory.boosting import losses, steps
from sklearn_ensemble_theory.boosting._additive.base import smooth_term
from sklearn_ensemble_theory.boosting._additive.logit_boost import LogitBoostClassifier
from sklearn_ensemble_theory.boosting._additive.merging import merge_additive_models
from sklearn_ensemble_theory.boosting._additive.regressors import (
    AdditiveBoostingRegressor,
    L2BoostingRegressor,
)
from sklearn_ensemble_theory.boosting._frank_wolfe import (
    FrankWolfeClassifier,
    FrankWolfeRegressor,
)
from sklearn_ensemble_theory.boosting._gradient_boosting.gradient_boosting import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
)
from sklearn_ensemble_theory.boosting._gradient_boosting.histogram import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn_ensemble_theory.boosting._pursuit import MatchingPursuitRegressor
from sklearn_ensemble_theory.boosting._reweighting.adaboost import AdaBoostClassifier
from sklearn_ensemble_theory.boosting._reweighting.adaboost_regressor import AdaBoostRegressor
from sklearn_ensemble_theory.boosting._reweighting.agnostic import AgnosticBoostClassifier
from sklearn_ensemble_theory.boosting._reweighting.lp import LPBoostClassifier
from sklearn_ensemble_theory.boosting._reweighting.massart import MassartBoostClassifier
from sklearn_ensemble_theory.boosting._reweighting.smooth import SmoothBoostClassifier

__all__ = [
    "AdaBoostClassifier",
    "AdaBoostRegressor",
    "AdditiveBoostingRegressor",
    "AgnosticBoostClassifier",
    "CVChoice",
    "CVRounds",
    "FrankWolfeClassifier",
    "FrankWolfeRegressor",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "HistGradientBoostingClassifier",
    "HistGradientBoostingRegressor",
    "L2BoostingRegressor",
    "LPBoostClassifier",
    "LogitBoostClassifier",
    "MassartBoostClassifier",
    "MatchingPursuitRegressor",
    "SmoothBoostClassifier",
    "losses",
    "merge_additive_models",
    "smooth_term",
    "steps",
]

publish(__name__, globals(), __all__)
