"""Decision trees that are grown on binned columns."""

from sklearn_ensemble_theory._addresses import publish
from sklearn_ensemble_theory._category_options import Categories
from sklearn_ensemble_theory.trees._binned_tree import (
    BinnedTreeClassifier,
    BinnedTreeRegressor,
)

__all__ = ["BinnedTreeClassifier", "BinnedTreeRegressor", "Categories"]

publish(__name__, globals(), __all__)
