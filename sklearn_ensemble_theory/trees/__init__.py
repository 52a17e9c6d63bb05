"""Decision trees that are grown on binned columns."""

from sklearn_ensemble_theory._addresses import publish
from sklearn_ensemble_theory.trees._binned_tree import (
    BinnedTreeClassifier,
    BinnedTreeRegressor,
)

__all__ = ["BinnedTreeClassifier", "BinnedTreeRegressor"]

publish(__name__, globals(), __all__)
