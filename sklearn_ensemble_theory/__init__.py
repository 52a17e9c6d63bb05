"""Ensemble methods whose theory is part of the code, as scikit-learn estimators."""

from sklearn_ensemble_theory._version import __version__
from sklearn_ensemble_theory.averaging import (
    BaggingClassifier,
    BaggingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn_ensemble_theory.boosting import (
    AdaBoostClassifier,
    FrankWolfeClassifier,
    FrankWolfeRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    MatchingPursuitRegressor,
)
from sklearn_ensemble_theory.erm import (
    DecisionStumpClassifier,
    DecisionStumpRegressor,
    ReLUUnitRegressor,
)

__all__ = [
    "AdaBoostClassifier",
    "BaggingClassifier",
    "BaggingRegressor",
    "DecisionStumpClassifier",
    "DecisionStumpRegressor",
    "FrankWolfeClassifier",
    "FrankWolfeRegressor",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "MatchingPursuitRegressor",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "ReLUUnitRegressor",
    "__version__",
]
