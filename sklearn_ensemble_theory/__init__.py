"""Ensemble methods as scikit-learn estimators, with closed forms and guarantees from theory."""

import sys

from sklearn_ensemble_theory._addresses import give_addresses
from sklearn_ensemble_theory._version import __version__, show_versions
from sklearn_ensemble_theory.averaging import (
    BaggedNearestNeighborsClassifier,
    BaggedNearestNeighborsRegressor,
    BaggingClassifier,
    BaggingRegressor,
    DivideAndConquerClassifier,
    DivideAndConquerRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    RandomProjectionRegressor,
    SketchedLinearRegression,
    bagged_nearest_neighbors_weights,
)
from sklearn_ensemble_theory.boosting import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    AgnosticBoostClassifier,
    FrankWolfeClassifier,
    FrankWolfeRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    L2BoostingRegressor,
    LogitBoostClassifier,
    MassartBoostClassifier,
    MatchingPursuitRegressor,
    SmoothBoostClassifier,
)
from sklearn_ensemble_theory.combining import (
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn_ensemble_theory.erm import (
    BallConstrainedClassifier,
    BestColumnRegressor,
    DecisionStumpClassifier,
    DecisionStumpRegressor,
    HistogramClassifier,
    HistogramRegressor,
    ReLUUnitRegressor,
)
from sklearn_ensemble_theory.smoothing import (
    LinearL2BoostingRegressor,
    NadarayaWatsonRegressor,
    SmoothingSplineRegressor,
)
from sklearn_ensemble_theory.trees import BinnedTreeClassifier, BinnedTreeRegressor

__all__ = [
    "AdaBoostClassifier",
    "AdaBoostRegressor",
    "AgnosticBoostClassifier",
    "BaggedNearestNeighborsClassifier",
    "BaggedNearestNeighborsRegressor",
    "BaggingClassifier",
    "BaggingRegressor",
    "BallConstrainedClassifier",
    "BestColumnRegressor",
    "BinnedTreeClassifier",
    "BinnedTreeRegressor",
    "DecisionStumpClassifier",
    "DecisionStumpRegressor",
    "DivideAndConquerClassifier",
    "DivideAndConquerRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "FrankWolfeClassifier",
    "FrankWolfeRegressor",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "HistogramClassifier",
    "HistogramRegressor",
    "L2BoostingRegressor",
    "LinearL2BoostingRegressor",
    "LogitBoostClassifier",
    "MassartBoostClassifier",
    "MatchingPursuitRegressor",
    "NadarayaWatsonRegressor",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "RandomProjectionRegressor",
    "ReLUUnitRegressor",
    "SketchedLinearRegression",
    "SmoothBoostClassifier",
    "SmoothingSplineRegressor",
    "StackingClassifier",
    "StackingRegressor",
    "VotingClassifier",
    "VotingRegressor",
    "__version__",
    "bagged_nearest_neighbors_weights",
    "show_versions",
]

give_addresses(sys.modules[__name__])
del give_addresses, sys
