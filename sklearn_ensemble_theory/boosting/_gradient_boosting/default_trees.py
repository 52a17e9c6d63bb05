"""The default base learner of gradient boosting, described by the parameters of scikit-learn's."""

import math
from numbers import Integral
from typing import Any, ClassVar

import scipy.sparse as sp
from sklearn.tree import DecisionTreeRegressor

from sklearn_ensemble_theory._compat import Interval
from sklearn_ensemble_theory.trees._binned_tree import BinnedTreeRegressor
from sklearn_ensemble_theory.trees._columns import MOST_BINS

# A sparse X of at most so many values, 16 MB in single precision, is binned as a dense one.
MOST_DENSE_VALUES = 2**22

# Parameters that describe the default trees, with their defaults.
TREE_DEFAULTS: dict[str, Any] = {
    "min_samples_split": 2,
    "min_samples_leaf": 1,
    "min_weight_fraction_leaf": 0.0,
    "max_depth": 3,
    "min_impurity_decrease": 0.0,
    "max_features": None,
    "max_leaf_nodes": None,
    "ccp_alpha": 0.0,
}


class DefaultTrees:
    """The parameters of the default trees; a part of the estimators of gradient boosting."""

    _parameter_constraints: ClassVar[dict] = {
        **{name: DecisionTreeRegressor._parameter_constraints[name] for name in TREE_DEFAULTS},
        "max_bins": [Interval(Integral, 2, MOST_BINS, closed="both"), None],
    }
    estimator: Any
    max_bins: int | None
    ccp_alpha: float
    subsample: float

    def _base_learner(self, X: Any = None) -> Any:
        """The base learner for X; binned trees are for data that may be dense, without pruning."""
        if self.estimator is not None:
            return self.estimator
        described = {name: getattr(self, name) for name in TREE_DEFAULTS}
        stays_sparse = sp.issparse(X) and X.shape[0] * X.shape[1] > MOST_DENSE_VALUES
        if self.max_bins is None or stays_sparse or self.ccp_alpha != 0:
            return DecisionTreeRegressor(**described)
        return BinnedTreeRegressor(max_bins=self.max_bins, **described)

    def _check_tree_parameters(self) -> None:
        """Raise a ValueError where parameters describe trees that are not used."""
        if self.estimator is None:
            return
        for name, default in {**TREE_DEFAULTS, "max_bins": 255}.items():
            value = getattr(self, name)
            if value is not default and value != default:
                raise ValueError(
                    f"{name}={value!r} describes the default trees, but the base learner is "
                    f"estimator={type(self.estimator).__name__}; set it there, or use "
                    "estimator=None."
                )

    def _of_all_rows(self, learner: Any, n_rows: int) -> Any:
        """A default tree whose shares of rows are those of all rows, and not of the rows drawn."""
        if self.estimator is not None or self.subsample == 1:
            return learner
        for name, least in [("min_samples_split", 2), ("min_samples_leaf", 1)]:
            share = getattr(learner, name)
            if not isinstance(share, Integral):
                setattr(learner, name, max(least, math.ceil(share * n_rows)))
        return learner
