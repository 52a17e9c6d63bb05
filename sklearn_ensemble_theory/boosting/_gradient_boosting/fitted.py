"""A fitted model of gradient boosting: its predictions, its members and its tags."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._compat import fitted_loss
from sklearn_ensemble_theory._conversion import (
    copy_attributes,
    shared_parameters,
    sklearn_member,
    to_sklearn,
)
from sklearn_ensemble_theory._learners import is_tree, reads_single_precision
from sklearn_ensemble_theory._typing import MatrixLike, available_if
from sklearn_ensemble_theory.boosting._gradient_boosting.default_trees import TREE_DEFAULTS
from sklearn_ensemble_theory.boosting._gradient_boosting.ensemble import AdditiveModel
from sklearn_ensemble_theory.boosting._gradient_boosting.reading import (
    Reading,
    accepts_sparse,
    input_tag,
)
from sklearn_ensemble_theory.trees._sklearn_trees import single_precision, with_scaled_values


def _members_are_trees(model: Any) -> bool:
    """For `available_if`: whether the base learner is a tree.

    Raises
    ------
    AttributeError
        If it is not.
    """
    learner = model._base_learner()
    if not (is_tree(learner) or reads_single_precision(learner)):
        raise AttributeError(f"{type(learner).__name__} is not a tree.")
    return True


class FittedRounds(Reading):
    """What the estimators of gradient boosting do after the fit; a part of them."""

    estimators_: np.ndarray
    estimator_: Any
    n_features_in_: int
    _start: Any
    _dummy_init: Any
    _sklearn_class: Any

    to_sklearn = to_sklearn

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimators_")

    def __len__(self) -> int:
        """Number of rounds."""
        return len(self.estimators_)

    def __getitem__(self, index: int) -> np.ndarray:
        """The members of this round."""
        return self.estimators_[index]

    def __iter__(self) -> Iterator[np.ndarray]:
        """Iterate over the members of the rounds."""
        return iter(self.estimators_)

    def _check_X(self, X: Any) -> Any:
        check_is_fitted(self)
        return self._validate(X, reset=False)

    def _raw(self, X: Any) -> np.ndarray:
        """The scores of each row."""
        X = self._check_X(X)
        return AdditiveModel.of(self).scores(X)

    def _staged_raw(self, X: Any) -> Iterator[np.ndarray]:
        """The scores after each round, in one array that changes."""
        X = self._check_X(X)
        return islice(AdditiveModel.of(self).staged_scores(X), 1, None)

    @property
    def init_(self) -> Any:
        """The fitted estimator that predicts what the scores start from, or "zero"."""
        check_is_fitted(self)
        if hasattr(self._start, "predict") or isinstance(self._start, str):
            return self._start
        return self._dummy_init(self._start)

    @property
    def initial_scores_(self) -> Any:
        """The constant scores before the first round; None where `init` is an estimator."""
        check_is_fitted(self)
        if hasattr(self._start, "predict"):
            return None
        return 0.0 if isinstance(self._start, str) else self._start

    @property
    def max_features_(self) -> int:
        """The number of features that the trees consider at each node."""
        check_is_fitted(self)
        first: Any = next(iter(self.estimators_.flat), None)
        return int(first.max_features_)

    @property
    def feature_importances_(self) -> np.ndarray:
        """Mean importance of each feature over the members, of sum 1.

        Trees are weighted by the reduction of the squared error by their splits, as in
        scikit-learn. Other members with importances have equal weights.
        """
        check_is_fitted(self)
        total = np.zeros(self.n_features_in_)
        try:
            for member in self.estimators_.ravel():
                if is_tree(member) or getattr(member, "_reads_single_precision", False):
                    total += member.tree_.compute_feature_importances(normalize=False)
                else:
                    total += member.feature_importances_
        except AttributeError as error:
            raise AttributeError(
                f"feature_importances_ is not available, because {type(self.estimator_).__name__} "
                "does not have it."
            ) from error
        return total / total.sum() if total.any() else total

    # Without effect here; the default has changed its name.
    _other_meaning = frozenset({"criterion"})

    def _obstacles(self) -> Iterator[str]:
        losses = self._sklearn_class._parameter_constraints["loss"][0].options
        if not isinstance(self.loss, str) or self.loss not in losses:
            yield f"loss={self.loss!r} is none of its losses, {', '.join(sorted(losses))}."
        if not reads_single_precision(self.estimator_):
            yield (
                f"estimator={type(self.estimator_).__name__} is not a regression tree, the only "
                "base learner there."
            )
        if hasattr(self._start, "predict") and not is_tree(self.estimator_):
            yield (
                f"init={type(self._start).__name__} gets X in single precision there, and binned "
                "trees start from its predictions for X itself. max_bins=None has a counterpart."
            )
        if not len(self.estimators_):
            yield "the model has no rounds."

    def _counterpart(self) -> Any:
        steps = self.steps_
        same = bool((steps == steps[0]).all())
        rate = float(steps[0]) if same else 1.0
        changes = {name: getattr(self.estimator_, name) for name in TREE_DEFAULTS}
        model = self._sklearn_class(**shared_parameters(self, learning_rate=rate, **changes))
        model.estimators_ = np.empty(self.estimators_.shape, dtype=object)
        for at, member in np.ndenumerate(self.estimators_):
            tree = sklearn_member(member)
            model.estimators_[at] = tree if same else with_scaled_values(tree, steps[at[0]])
        copy_attributes(self, model, "classes_", "n_classes_", "init_", "max_features_")
        copy_attributes(self, model, "train_score_", "oob_improvement_", "oob_scores_")
        copy_attributes(self, model, "oob_score_", "n_estimators_", "n_trees_per_iteration_")
        model._loss = fitted_loss(model)
        return model

    def _leaves(self, X: Any) -> np.ndarray:
        """The leaf of every row in every tree, of shape (n, n_rounds, K)."""
        X = self._check_X(X)
        X = single_precision(X) if sp.issparse(X) else np.ascontiguousarray(X, dtype=np.float32)
        leaves = np.empty((X.shape[0], *self.estimators_.shape), dtype=np.int64)
        for t, members in enumerate(self.estimators_):
            for k, member in enumerate(members):
                leaves[:, t, k] = member.tree_.apply(X)
        return leaves

    @available_if(_members_are_trees)
    def apply(self, X: MatrixLike) -> np.ndarray:
        """The leaf of each tree that a row falls into; for trees as base learners only.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        leaves : ndarray of shape (n_samples, n_rounds) or (n_samples, n_rounds, K)
            Indices of nodes. The third axis, for classifiers, has the length of that of
            `estimators_`.

        Notes
        -----
        Cost: O(depth) a row and tree.
        """
        return self._leaves(X)

    def get_metadata_routing(self) -> MetadataRouter:
        """Get the metadata routing of this estimator and of its base learner.

        Returns
        -------
        routing : MetadataRouter
            Routing information.
        """
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(
                estimator=self._base_learner(),
                method_mapping=MethodMapping().add(caller="fit", callee="fit"),
            )
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        estimator = self._base_learner()
        # The default is an exact tree for sparse X.
        tags.input_tags.sparse = self.estimator is None or accepts_sparse(estimator)
        tags.input_tags.allow_nan = input_tag(estimator, "allow_nan")
        return tags
