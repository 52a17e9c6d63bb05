"""What the two forests share: the bagging of `_base` with trees that draw features at splits."""

import math
from numbers import Integral

import numpy as np
import scipy.sparse as sp
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted, validate_data

from sklearn_ensemble_theory._trees import single_precision_if_finite
from sklearn_ensemble_theory.averaging._bagging.base import BaseBagging
from sklearn_ensemble_theory.averaging._bagging.members import Plan
from sklearn_ensemble_theory.averaging._bagging.sampling import Resampling

# Parameters that are handed to every tree as they are.
TREE_PARAMETERS = (
    "criterion",
    "max_depth",
    "min_samples_split",
    "min_samples_leaf",
    "min_weight_fraction_leaf",
    "max_features",
    "max_leaf_nodes",
    "min_impurity_decrease",
    "ccp_alpha",
    "monotonic_cst",
)
SHARED_CONSTRAINTS = {
    name: constraint
    for name, constraint in BaseBagging._parameter_constraints.items()
    if name not in ("estimator", "max_features", "bootstrap_features")
}


class BaseForest(BaseBagging):
    """Base of the two forests; not for direct use."""

    _tree_class: type

    def _get_estimator(self):
        return self._tree_class(**{name: getattr(self, name) for name in TREE_PARAMETERS})

    def _validate_X_y(self, X, y):
        return validate_data(
            self, X, y, accept_sparse="csr", ensure_all_finite=False, multi_output=True
        )

    def _validate_X(self, X):
        return validate_data(self, X, accept_sparse="csr", ensure_all_finite=False, reset=False)

    def _resampling(self, y, sample_weight, classes):
        weight = self._class_weights(y, sample_weight, classes)
        if weight is not None:
            sample_weight = weight if sample_weight is None else sample_weight * weight
        if self.bootstrap is False and self.max_samples is None:
            # The trees differ by the features that they draw only.
            return Resampling.everything(len(y), sample_weight)
        return Resampling.build(self.bootstrap, len(y), self.max_samples, sample_weight)

    def _class_weights(self, y, sample_weight, classes):
        return None

    def _plan(self, *, estimator, resampling, **shared):
        # scikit-learn's forests mean a fraction of all rows, a tree means one of the rows it sees.
        n_samples = resampling.n_samples
        for name, least in [("min_samples_split", 2), ("min_samples_leaf", 1)]:
            fraction = getattr(self, name)
            if not isinstance(fraction, Integral):
                rows = max(least, math.ceil(fraction * n_samples))
                estimator.set_params(**{name: rows})
        return Plan(
            estimator=estimator,
            resampling=resampling,
            max_features=shared["n_features"],
            bootstrap_features=False,
            forest=True,
            balance_classes=getattr(self, "class_weight", None) == "balanced_subsample",
            **shared,
        )

    def apply(self, X):
        """The leaf of each tree that a row falls into.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        leaves : ndarray of shape (n_samples, n_estimators)
            Indices of nodes.

        Notes
        -----
        Cost: O(depth) a row and tree.
        """
        check_is_fitted(self)
        X = self._validate_X(X)
        return np.column_stack(self._each_tree("apply", X))

    def decision_path(self, X):
        """The nodes of each tree that a row passes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        indicator : sparse matrix of shape (n_samples, n_nodes)
            1 where the row passes the node; the nodes of all trees side by side.

        n_nodes_ptr : ndarray of shape (n_estimators + 1,)
            Columns n_nodes_ptr[i]:n_nodes_ptr[i + 1] are those of tree i.

        Notes
        -----
        Cost: O(depth) a row and tree.
        """
        check_is_fitted(self)
        paths = self._each_tree("decision_path", self._validate_X(X))
        return sp.hstack(paths).tocsr(), np.cumsum([0] + [path.shape[1] for path in paths])

    def _each_tree(self, method, X):
        X_checked = single_precision_if_finite(X)
        checked = X_checked is not None
        return Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(getattr(tree, method))(X_checked if checked else X, check_input=not checked)
            for tree in self.estimators_
        )
