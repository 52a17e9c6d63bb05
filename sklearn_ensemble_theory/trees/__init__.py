"""Decision trees that are grown on binned columns."""

from sklearn_ensemble_theory.trees._estimators.estimators import (
    BinnedTreeClassifier,
    BinnedTreeRegressor,
)

__all__ = ["BinnedTreeClassifier", "BinnedTreeRegressor"]
