"""The fit of random forests: bagging of trees that draw features at their splits."""

import math
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._typing import MatrixLike
from sklearn_ensemble_theory.averaging._bagging.base import BaseBagging
from sklearn_ensemble_theory.averaging._bagging.members import MemberSpec, member_input
from sklearn_ensemble_theory.averaging._bagging.sampling import SCHEMES, AllRows, SamplingScheme

# Parameters that are passed to every tree as they are.
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


def balanced_weights(codes: np.ndarray, weights: np.ndarray | None, n_classes: int) -> np.ndarray:
    """Weights of the rows that give every class that occurs the same total."""
    totals = np.bincount(codes, weights=weights, minlength=n_classes)
    with np.errstate(divide="ignore"):
        return (totals.sum() / (n_classes * totals))[codes]


@dataclass(frozen=True, kw_only=True)
class ForestMemberSpec(MemberSpec):
    """Trees that are fitted to all features, with the member's seed as their own."""

    @property
    def all_features(self) -> bool:
        return True

    def draw_features(self, rng: np.random.RandomState) -> np.ndarray:
        return np.arange(self.n_features)

    def unfitted_member(self, seed: int) -> BaseEstimator:
        member = self._copied()
        member.random_state = seed
        return member


@dataclass(frozen=True, kw_only=True)
class BalancedForestMemberSpec(ForestMemberSpec):
    """Trees for which all classes weigh the same among the rows drawn."""

    def fit_weights(self, weights: np.ndarray, y_rows: np.ndarray) -> np.ndarray:
        return weights * balanced_weights(y_rows, weights, self.n_classes)


class BaseForest(BaseBagging):
    """Base of the two forests; not for direct use."""

    _tree_class: type[BaseEstimator]
    _validation: ClassVar[dict[str, Any]] = {"accept_sparse": "csr", "ensure_all_finite": False}

    def _get_estimator(self) -> BaseEstimator:
        return self._tree_class(**{name: getattr(self, name) for name in TREE_PARAMETERS})

    def _scheme_class(self) -> type[SamplingScheme]:
        """As in scikit-learn's forests, `bootstrap=False` without `max_samples` is all rows."""
        if not self.bootstrap and self.max_samples is None:
            return AllRows
        return SCHEMES[self.bootstrap]

    def _make_scheme(
        self, y: np.ndarray, sample_weight: np.ndarray | None, classes: Any
    ) -> SamplingScheme:
        weight = self._class_weights(y, sample_weight, classes)
        if weight is not None:
            sample_weight = weight if sample_weight is None else sample_weight * weight
        return self._scheme_class().of(len(y), self.max_samples, sample_weight)

    def _class_weights(
        self, y: np.ndarray, sample_weight: np.ndarray | None, classes: Any
    ) -> np.ndarray | None:
        """Weights of the rows by their classes, before any draw."""
        return None

    def _member_spec_class(self) -> type[ForestMemberSpec]:
        return ForestMemberSpec

    def _make_member_spec(self, **shared: Any) -> MemberSpec:
        # In scikit-learn's forests a fraction is one of all rows, in a tree one of the rows that it
        # is fitted to.
        estimator, n_samples = shared["estimator"], shared["scheme"].n_samples
        for name, least in [("min_samples_split", 2), ("min_samples_leaf", 1)]:
            fraction = getattr(self, name)
            if not isinstance(fraction, Integral):
                rows = max(least, math.ceil(fraction * n_samples))
                estimator.set_params(**{name: rows})
        return self._member_spec_class()(**shared)

    def apply(self, X: MatrixLike) -> np.ndarray:
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
        return np.column_stack(self._of_each_tree("apply", self._validate_X(X)))

    def decision_path(self, X: MatrixLike) -> tuple[sp.csr_matrix, np.ndarray]:
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
        paths = self._of_each_tree("decision_path", self._validate_X(X))
        return sp.hstack(paths).tocsr(), np.cumsum([0] + [path.shape[1] for path in paths])

    def _of_each_tree(self, method: str, X: Any) -> list[Any]:
        X, checked = member_input(self.estimator_, X)
        return Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(getattr(tree, method))(X, check_input=not checked) for tree in self.estimators_
        )
