"""Ensemble methods as scikit-learn estimators, with closed forms and guarantees from theory."""

from sklearn_ensemble_theory._version import __version__, show_versions
from sklearn_ensemble_theory.averaging import (
    BaggedNearestNeighborsClassifier,
    BaggedNearestNeighborsRegressor,
    BaggingClassifier,
    BaggingRegressor,
    DivideAndConquerClassifier,
    DivideAndConquerRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    SketchedLinearRegression,
    bagged_nearest_neighbors_weights,
)
from sklearn_ensemble_theory.boosting import (
    AdaBoostClassifier,
    FrankWolfeClassifier,
    FrankWolfeRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    L2BoostingRegressor,
    MatchingPursuitRegressor,
)
from sklearn_ensemble_theory.erm import (
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
    "BaggedNearestNeighborsClassifier",
    "BaggedNearestNeighborsRegressor",
    "BaggingClassifier",
    "BaggingRegressor",
    "BinnedTreeClassifier",
    "BinnedTreeRegressor",
    "DecisionStumpClassifier",
    "DecisionStumpRegressor",
    "DivideAndConquerClassifier",
    "DivideAndConquerRegressor",
    "FrankWolfeClassifier",
    "FrankWolfeRegressor",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "HistogramClassifier",
    "HistogramRegressor",
    "L2BoostingRegressor",
    "LinearL2BoostingRegressor",
    "MatchingPursuitRegressor",
    "NadarayaWatsonRegressor",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "ReLUUnitRegressor",
    "SketchedLinearRegression",
    "SmoothingSplineRegressor",
    "__version__",
    "bagged_nearest_neighbors_weights",
    "show_versions",
]
