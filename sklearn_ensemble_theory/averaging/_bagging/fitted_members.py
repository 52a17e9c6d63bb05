"""The fitted members of an ensemble: their mean prediction, their rows, their importances."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._conversion import (
    copy_attributes,
    shared_parameters,
    sklearn_learner,
    sklearn_member,
    to_sklearn,
)
from sklearn_ensemble_theory._learners import aligned_columns
from sklearn_ensemble_theory._rows import names_checked
from sklearn_ensemble_theory._scaling import within_range
from sklearn_ensemble_theory.averaging._bagging.members import (
    MemberSpec,
    member_blocks,
    member_input,
    member_predictions,
    summed_predictions,
)
from sklearn_ensemble_theory.trees._packed import (
    LeafFunction,
    PackedCache,
    TreeSums,
    add_in_threads,
    packed_trees,
)


def class_shares(members: Sequence[Any], n_classes: int) -> LeafFunction:
    """The shares of the ensemble's classes in a leaf; a class that a member lacks has 0."""

    def outputs(t: int, value: np.ndarray) -> np.ndarray:
        return aligned_columns(value, members[t].classes_.astype(np.intp), n_classes)

    return outputs


def class_votes(members: Sequence[Any], n_classes: int) -> LeafFunction:
    """1 for the class that a leaf predicts."""

    def outputs(t: int, value: np.ndarray) -> np.ndarray:
        chosen = members[t].classes_.take(value.argmax(axis=1))
        return np.equal(chosen[:, None], np.arange(n_classes)).astype(float)

    return outputs


def no_outputs(members: Sequence[Any], n_classes: int) -> LeafFunction | None:
    """Trees of one target add their value."""
    return None


# By the method of the members whose mean is predicted.
LEAF_OUTPUTS: dict[str, Callable[[Sequence[Any], int], LeafFunction | None]] = {
    "predict": no_outputs,
    "predict_proba": class_shares,
    "vote": class_votes,
}


# Out-of-bag estimates, where the fit made them.
OUT_OF_BAG = ("oob_score_", "oob_prediction_", "oob_decision_function_")


class FittedMembersMixin:
    """What needs the fitted members only.

    `fit` sets `estimators_`, `estimators_features_`, the members' seeds `_seeds` and the
    `_member_spec` that repeats their draws.
    """

    estimator_: BaseEstimator
    estimators_: list[BaseEstimator]
    estimators_features_: list[np.ndarray]
    n_features_in_: int
    n_jobs: int | None
    bootstrap: bool | str
    max_samples: int | float | None
    oob_score: bool | Callable[..., float]
    _seeds: np.ndarray
    _member_spec: MemberSpec
    _sklearn_class: Any

    to_sklearn = to_sklearn

    def _mean_prediction(
        self, X: Any, method: str, params: dict[str, Any] | None = None
    ) -> np.ndarray:
        """Mean of the members' predictions; of log-probabilities the logarithm of the mean."""
        trees = None if params else self._tree_sums(X, method)
        if trees is not None:
            total = add_in_threads(trees, X, np.zeros((len(X), trees.width)), self.n_jobs)
            total /= len(self.estimators_)
            if method != "predict":
                return total
            return total[:, 0] if np.isfinite(total).all() else self._safe_mean(X)
        X, checked = member_input(self.estimator_, X)
        features = self._features_or_all()
        with names_checked(self._member_spec.frames, X):
            sums = Parallel(n_jobs=self.n_jobs, prefer="threads")(
                delayed(summed_predictions)(
                    self.estimators_[block],
                    features[block],
                    method,
                    X,
                    n_classes=self._member_spec.n_classes,
                    checked=checked,
                    params=params,
                )
                for block in member_blocks(len(self.estimators_))
            )
        logs = method == "predict_log_proba"
        total = sums[0]
        with np.errstate(over="ignore", invalid="ignore"):
            for part in sums[1:]:
                total = np.logaddexp(total, part) if logs else total + part
        n_members = len(self.estimators_)
        if logs:
            return total - np.log(n_members)
        overflow = method == "predict" and not params and not np.isfinite(total).all()
        return self._safe_mean(X) if overflow else total / n_members

    def _safe_mean(self, X: Any) -> np.ndarray:
        """The mean of the members' predictions where their sum overflows."""
        share = 1.0 / len(self.estimators_)
        with np.errstate(over="ignore"):  # by rounding, where all are the largest float
            parts = [share * part for part in self._each_prediction(X, "predict")]
            return within_range(np.sum(parts, axis=0))

    def _tree_sums(self, X: Any, method: str) -> TreeSums | None:
        """The sums of the members' predictions in one pass, where they are trees and X is dense."""
        leaf_outputs = LEAF_OUTPUTS.get(method)
        members = self.estimators_
        if leaf_outputs is None or not isinstance(X, np.ndarray) or X.dtype.kind not in "fiub":
            return None
        if hasattr(members[0], "classes_") == (method == "predict") or not self._trees_take(X):
            return None
        n_classes = self._member_spec.n_classes
        cache = vars(self).get("_packed") or PackedCache()
        return cache.get(
            method,
            members,
            len(X),
            lambda n_rows: packed_trees(
                members,
                width=max(1, n_classes),
                features=self._features_or_all(),
                leaf_outputs=leaf_outputs(members, n_classes),
                n_rows=n_rows,
            ),
        )

    def _each_prediction(self, X: Any, method: str) -> Iterator[np.ndarray]:
        """The predictions of the members, one after the other, in memory that is used again."""
        trees = self._tree_sums(X, method)
        if trees is not None:
            out = np.zeros((len(X), trees.width))
            for _ in trees.rounds(X, out):
                yield out[:, 0] if method == "predict" else out
                out[:] = 0.0
            return
        X, checked = member_input(self.estimator_, X)
        for member, columns in zip(self.estimators_, self._features_or_all()):
            with names_checked(self._member_spec.frames, X):
                predictions = member_predictions(
                    member,
                    method,
                    X,
                    features=columns,
                    n_classes=self._member_spec.n_classes,
                    checked=checked,
                )
            yield predictions

    def _tree_input(self, X: Any) -> Any:
        """X in single precision, as a tree would take it.

        Raises
        ------
        ValueError
            From a member that refuses missing or infinite values, or sparse X.
        """
        rows, checked = member_input(self.estimator_, X)
        if not checked and hasattr(self.estimators_[0], "apply"):
            features = self._features_or_all()[0]
            self.estimators_[0].apply(X if features is None else X[:, features])
            rows = X.tocsr() if sp.issparse(X) else X
        return rows.astype(np.float32) if rows.dtype != np.float32 else rows

    def _trees_take(self, X: np.ndarray) -> bool:
        """Whether the members, if they are trees, can predict X.

        Raises
        ------
        ValueError
            From a member that refuses missing or infinite values.
        """
        with np.errstate(all="ignore"):
            if np.isfinite(np.sum(X, dtype=np.float32)):
                return True
            first = self.estimators_[0]
            if not self._member_spec.all_features or not hasattr(first, "apply"):
                return False
            first.apply(X)
            return True

    def _obstacles(self) -> Iterator[str]:
        if isinstance(self.bootstrap, str):
            yield f"bootstrap={self.bootstrap!r} weights the rows in a way that it does not have."

    def _counterpart(self) -> Any:
        changes = {"n_estimators": len(self.estimators_), **self._counterpart_changes()}
        model = self._sklearn_class(**shared_parameters(self, **changes))
        model.estimator_ = sklearn_learner(self.estimator_)
        model.estimators_ = [self._counterpart_member(member) for member in self.estimators_]
        copy_attributes(self, model, "classes_", "n_classes_", *OUT_OF_BAG)
        copy_attributes(self, model, *self._counterpart_attributes)
        return model

    _counterpart_attributes: ClassVar[tuple[str, ...]] = ("estimators_features_",)

    def _counterpart_changes(self) -> dict[str, Any]:
        """The parameters that have another value in scikit-learn's class."""
        given = getattr(self, "estimator", None)
        return {
            "estimator": None if given is None else sklearn_learner(given),
            "max_samples": 1.0 if self.max_samples is None else self.max_samples,
            "oob_score": bool(self.oob_score),
        }

    def _counterpart_member(self, member: Any) -> Any:
        return sklearn_member(member)

    def _features_or_all(self) -> Sequence[np.ndarray | None]:
        """The columns of X that each member takes; None for all of them."""
        if self._member_spec.all_features:
            return [None] * len(self.estimators_)
        return self.estimators_features_

    @property
    def _max_samples(self) -> int | float:
        """The size of the draws, which scikit-learn's tests read under this name."""
        return self._member_spec.scheme.size

    @property
    def estimators_samples_(self) -> list[np.ndarray]:
        """The rows drawn for each member, in the order drawn, repeated as often as drawn.

        They are not stored, but drawn again from the members' seeds at each access, O(s) a member.
        """
        check_is_fitted(self)
        spec = self._member_spec
        # As in scikit-learn, where row numbers fit.
        dtype = np.int32 if spec.scheme.n_samples <= np.iinfo(np.int32).max else np.intp
        return [spec.indices(seed)[1].astype(dtype, copy=False) for seed in self._seeds]

    @property
    def feature_importances_(self) -> np.ndarray:
        """Mean importance of each feature over the members, of sum 1 (0 where no member splits).

        Only where the base learner has `feature_importances_`. A member that is not fitted to a
        feature gives it 0.
        """
        check_is_fitted(self)
        importances = []
        for member, columns in zip(self.estimators_, self.estimators_features_):
            own = member.feature_importances_
            if own.any():
                full = np.zeros(self.n_features_in_)
                np.add.at(full, columns, own)
                importances.append(full)
        if not importances:
            return np.zeros(self.n_features_in_)
        mean = np.mean(importances, axis=0, dtype=np.float64)
        return mean / mean.sum()

    def __len__(self) -> int:
        """Number of fitted members."""
        return len(self.estimators_)

    def __getitem__(self, index: int) -> BaseEstimator:
        """The fitted member of this index."""
        return self.estimators_[index]

    def __iter__(self) -> Iterator[BaseEstimator]:
        """Iterate over the fitted members."""
        return iter(self.estimators_)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimators_")
