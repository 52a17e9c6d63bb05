"""Decision trees that are grown on binned columns."""

from sklearn_ensemble_theory.trees._binned_tree import (
    BinnedTreeClassifier,
    BinnedTreeRegressor,
)

__all__ = ["BinnedTreeClassifier", "BinnedTreeRegressor"]
