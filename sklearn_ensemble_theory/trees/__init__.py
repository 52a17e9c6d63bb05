"""Decision trees that are grown on binned columns."""

from sklearn_ensemble_theory.trees._binned.estimators import (
    BinnedTreeClassifier,
    BinnedTreeRegressor,
)

__all__ = ["BinnedTreeClassifier", "BinnedTreeRegressor"]
