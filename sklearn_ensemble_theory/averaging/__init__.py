"""Learned independently and in parallel, then averaged (000 section 10.1, 003 section 4.5)."""

from sklearn_ensemble_theory.averaging._bagged_neighbors import (
    BaggedNearestNeighborsClassifier,
    BaggedNearestNeighborsRegressor,
)
from sklearn_ensemble_theory.averaging._bagged_neighbors_weights import (
    bagged_nearest_neighbors_weights,
)
from sklearn_ensemble_theory.averaging._bagging import BaggingClassifier, BaggingRegressor
from sklearn_ensemble_theory.averaging._random_forest import (
    RandomForestClassifier,
    RandomForestRegressor,
)

__all__ = [
    "BaggedNearestNeighborsClassifier",
    "BaggedNearestNeighborsRegressor",
    "BaggingClassifier",
    "BaggingRegressor",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "bagged_nearest_neighbors_weights",
]
