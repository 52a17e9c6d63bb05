"""Averages of learners that are fitted independently [Bach, §10.1; Shah, §4.5]."""

from sklearn_ensemble_theory._addresses import publish
from sklearn_ensemble_theory.averaging._bagged_ridge import bagged_ridge_gcv
from sklearn_ensemble_theory.averaging._bagging import BaggingClassifier, BaggingRegressor
from sklearn_ensemble_theory.averaging._divide_and_conquer import (
    DivideAndConquerClassifier,
    DivideAndConquerRegressor,
)
from sklearn_ensemble_theory.averaging._draw_options import (
    Bernoulli,
    MovingBlock,
    PACMembers,
    StableSamples,
)
from sklearn_ensemble_theory.averaging._forest import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn_ensemble_theory.averaging._forest_distributions import ForestDistribution
from sklearn_ensemble_theory.averaging._neighbor_weights import (
    bagged_nearest_neighbors_weights,
)
from sklearn_ensemble_theory.averaging._neighbors import (
    BaggedNearestNeighborsClassifier,
    BaggedNearestNeighborsRegressor,
)
from sklearn_ensemble_theory.averaging._random_projections import (
    ExpectedProjection,
    RandomProjectionRegressor,
)
from sklearn_ensemble_theory.averaging._series_intervals import SeriesIntervals
from sklearn_ensemble_theory.averaging._sketching import SketchedLinearRegression
from sklearn_ensemble_theory.ensembles._jackknife import StandardErrorWarning

__all__ = [
    "BaggedNearestNeighborsClassifier",
    "BaggedNearestNeighborsRegressor",
    "BaggingClassifier",
    "BaggingRegressor",
    "Bernoulli",
    "DivideAndConquerClassifier",
    "DivideAndConquerRegressor",
    "ExpectedProjection",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "ForestDistribution",
    "MovingBlock",
    "PACMembers",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "RandomProjectionRegressor",
    "SeriesIntervals",
    "SketchedLinearRegression",
    "StableSamples",
    "StandardErrorWarning",
    "bagged_nearest_neighbors_weights",
    "bagged_ridge_gcv",
]

publish(__name__, globals(), __all__)
