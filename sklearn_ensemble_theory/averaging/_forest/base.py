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

from sklearn_ensemble_theory._compat import Interval, RealNotInt
from sklearn_ensemble_theory._typing import ArrayLike, MatrixLike
from sklearn_ensemble_theory.averaging._bagging.base import BaseBagging
from sklearn_ensemble_theory.averaging._bagging.members import MemberSpec, member_input
from sklearn_ensemble_theory.averaging._sampling import AllRows, SamplingScheme

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
# Unlike bagging, forests draw more rows than there are by a fraction above 1.
SHARED_CONSTRAINTS["max_samples"] = [
    None,
    Interval(Integral, 1, None, closed="left"),
    Interval(RealNotInt, 0, None, closed="neither"),
]


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


class BaseForest(BaseBagging):
    """Base of the two forests; not for direct use."""

    monotonic_cst: ArrayLike | None
    _tree_class: type[BaseEstimator]
    _validation: ClassVar[dict[str, Any]] = {"accept_sparse": "csr", "ensure_all_finite": False}

    def _get_estimator(self) -> BaseEstimator:
        return self._tree_class(**{name: getattr(self, name) for name in TREE_PARAMETERS})

    def _check_learner(self, estimator: BaseEstimator) -> None:
        super()._check_learner(estimator)
        given: Any = self.monotonic_cst
        if given is not None and np.ndim(given) != 1:
            raise ValueError(
                f"monotonic_cst must be an array-like of shape (n_features,), got {given!r}."
            )

    @property
    def estimator(self) -> BaseEstimator:
        """The unfitted tree with the parameters of the forest; not a parameter itself."""
        return self._get_estimator()

    _counterpart_attributes = ("n_outputs_",)

    def _counterpart_changes(self) -> dict[str, Any]:
        return {}

    # Names under which scikit-learn's tests and other packages read the draws.

    @property
    def _n_samples_bootstrap(self) -> int | float:
        return self._member_spec.scheme.size

    @property
    def _sample_weight(self) -> np.ndarray | None:
        return self._member_spec.scheme.sample_weight

    def _scheme_class(self) -> type[SamplingScheme]:
        """As in scikit-learn's forests, `bootstrap=False` without `max_samples` is all rows."""
        if not self.bootstrap and self.max_samples is None:
            return AllRows
        return super()._scheme_class()

    def _weights_of_rows(
        self, y: np.ndarray, sample_weight: np.ndarray | None, classes: Any, grouped: bool
    ) -> np.ndarray | None:
        weight = self._class_weights(y, sample_weight, classes)
        if weight is None or sample_weight is None:
            return sample_weight if weight is None else weight
        return sample_weight * weight

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
