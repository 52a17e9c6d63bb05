"""What stacks of regressors and of classifiers do with y, and their predictions."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.preprocessing import LabelEncoder
from sklearn.utils import Tags, get_tags
from sklearn.utils.metadata_routing import process_routing
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._chunks.chunked_predictions import by_chunks
from sklearn_ensemble_theory._compat import fit_context, raise_for_params, routing_enabled
from sklearn_ensemble_theory._data.validation import finite_predictions
from sklearn_ensemble_theory._typing import ArrayLike, MatrixLike, available_if
from sklearn_ensemble_theory.combining._members import is_dropped
from sklearn_ensemble_theory.combining._outputs import checked_labels, checked_targets
from sklearn_ensemble_theory.combining._stacking.base import METHODS, BaseStacking, first_method

__all__ = ["StackedClasses", "StackedValues"]


def _final_has(name: str, with_weights: bool = True) -> Callable[[Any], bool]:
    """Whether the method is available: the final estimator has it, or the weights replace it."""

    def check(stack: Any) -> bool:
        if stack.weights is not None:
            if not with_weights:
                raise AttributeError(f"{name} is not available with learned weights")
            return True
        final = getattr(stack, "final_estimator_", stack.final_estimator)
        getattr(stack._default_final() if final is None else final, name)
        return True

    return check


def _predict_params(stack: Any, params: dict[str, Any]) -> dict[str, Any]:
    """The further arguments of the final estimator's `predict`."""
    if stack.weights is not None and params:
        raise TypeError(f"predict with learned weights has no arguments {sorted(params)}.")
    if routing_enabled():
        return dict(process_routing(stack, "predict", **params).final_estimator_["predict"])
    return params


class StackedValues(BaseStacking):
    """Stacks that predict numbers."""

    @fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        **fit_params: Any,
    ) -> Self:
        """Fit the members, and learn their combination from held-out predictions.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows, as the members accept them.

        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets; several outputs where the members accept them.

        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights of the rows, in the fits of the members (routed where metadata
            routing is enabled) and in the combination. Rows of weight 0 are left out.

        **fit_params : dict
            Routed to the `fit` of the members and the splitter where metadata routing is enabled.

        Returns
        -------
        self : object
            The fitted ensemble.

        Raises
        ------
        TypeError
            If weights are given and the `fit` of a member does not accept them.
        ValueError
            If parameters are not valid or cannot be used together. An error of a member names it
            and the split.

        Notes
        -----
        Cost: v + 1 fits of each member for v splits, and the combination.
        """
        raise_for_params(fit_params, self, "fit")
        return self._fit(X, checked_targets(y), sample_weight, fit_params)

    def transform(self, X: MatrixLike) -> np.ndarray:
        """Return the predictions of each member, with `passthrough` followed by X.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        predictions : ndarray or sparse matrix of shape (n_samples, n_columns)
            A column for each member and output.

        Notes
        -----
        Cost: a prediction of each member.
        """
        return self._transform(X)

    def _default_final(self) -> Any:
        return RidgeCV()

    def _checked_final(self) -> Any:
        final = super()._checked_final()
        if final is not None and not is_regressor(final):
            raise ValueError(f"'final_estimator' parameter should be a regressor. Got {final}")
        return final

    def _encode(self, y: np.ndarray) -> tuple[np.ndarray, dict[str, Any]]:
        return y, {}

    def _method_of(self, name: str, member: Any) -> str:
        return first_method(name, member, ["predict"])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        members = [m for _, m in self._pairs() or [] if not is_dropped(m)]
        tags.target_tags.multi_output = all(
            get_tags(member).target_tags.multi_output for member in members
        )
        return tags

    @available_if(_final_has("predict"))
    @finite_predictions
    def predict(self, X: MatrixLike, **predict_params: Any) -> np.ndarray:
        """Predict targets.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        **predict_params : dict
            Further arguments of the `predict` of the final estimator, routed where metadata routing
            is enabled; none with learned weights.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Predictions.

        Notes
        -----
        Cost: a prediction of each member, with learned weights of those with a weight other than 0.
        """
        check_is_fitted(self)
        params = _predict_params(self, predict_params)
        if self.weights is None:
            return self.final_estimator_.predict(self.transform(X), **params)
        mixed = self._mixed(X)
        return mixed[0] if len(mixed) == 1 else np.column_stack(mixed)


class StackedClasses(BaseStacking):
    """Stacks that predict classes."""

    @fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        **fit_params: Any,
    ) -> Self:
        """Fit the members, and learn their combination from held-out predictions.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows, as the members accept them.

        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Labels, or indicators of several labels where the members accept them.

        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights of the rows, in the fits of the members (routed where metadata
            routing is enabled) and in the combination. Rows of weight 0 are left out.

        **fit_params : dict
            Routed to the `fit` of the members and the splitter where metadata routing is enabled.

        Returns
        -------
        self : object
            The fitted ensemble.

        Raises
        ------
        TypeError
            If weights are given and the `fit` of a member does not accept them.
        ValueError
            If parameters are not valid or cannot be used together. An error of a member names it
            and the split.

        Notes
        -----
        Cost: v + 1 fits of each member for v splits, and the combination.
        """
        raise_for_params(fit_params, self, "fit")
        return self._fit(X, checked_labels(y), sample_weight, fit_params)

    def transform(self, X: MatrixLike) -> np.ndarray:
        """Return the predictions of each member, with `passthrough` followed by X.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        predictions : ndarray or sparse matrix of shape (n_samples, n_columns)
            A column for each member and score; of the probabilities of two classes the second.

        Notes
        -----
        Cost: a prediction of each member.
        """
        return self._transform(X)

    _members_of_own_kind = False  # regressors may be the input of a final classifier

    def _default_final(self) -> Any:
        return LogisticRegression()

    def _checked_final(self) -> Any:
        final = super()._checked_final()
        if final is not None and not is_classifier(final):
            raise ValueError(f"'final_estimator' parameter should be a classifier. Got {final}")
        return final

    def _encode(self, y: np.ndarray) -> tuple[np.ndarray, dict[str, Any]]:
        if y.ndim == 1:
            encoder = LabelEncoder().fit(y)
            description = {"_label_encoder": encoder, "classes_": encoder.classes_}
            return encoder.transform(y), description
        encoders = [LabelEncoder().fit(column) for column in y.T]
        codes = [encoder.transform(column) for encoder, column in zip(encoders, y.T)]
        classes = [encoder.classes_ for encoder in encoders]
        return np.array(codes).T, {"_label_encoder": encoders, "classes_": classes}

    def _method_of(self, name: str, member: Any) -> str:
        if self.weights is None:
            auto = list(METHODS)
        elif not is_classifier(member):
            raise ValueError(f"weights={self.weights!r} needs classifiers; {name!r} is none.")
        elif self.stack_method == "decision_function":
            raise ValueError(
                "stack_method='decision_function' has no weighted means of probabilities, as "
                f"weights={self.weights!r} needs them."
            )
        else:
            auto = ["predict_proba", "predict"]
        return first_method(
            name, member, auto if self.stack_method == "auto" else [self.stack_method]
        )

    @available_if(_final_has("predict"))
    @by_chunks
    def predict(self, X: MatrixLike, **predict_params: Any) -> np.ndarray:
        """Predict labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to classify.

        **predict_params : dict
            Further arguments of the `predict` of the final estimator, routed where metadata routing
            is enabled; none with learned weights.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Labels: with learned weights those of the largest weighted sum, of equal ones the first
            in `classes_`.

        Notes
        -----
        Cost: a prediction of each member, with learned weights of those with a weight other than 0.
        """
        check_is_fitted(self)
        params = _predict_params(self, predict_params)
        if self.weights is None:
            codes = self.final_estimator_.predict(self.transform(X), **params)
        else:
            winners = [np.argmax(scores, axis=1) for scores in self._mixed(X)]
            codes = np.column_stack(winners) if self._several_outputs else winners[0]
        if not self._several_outputs:
            return self._label_encoder.inverse_transform(codes)
        columns = [e.inverse_transform(code) for e, code in zip(self._label_encoder, codes.T)]
        return np.array(columns).T

    @available_if(_final_has("predict_proba"))
    @by_chunks
    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Predict probabilities of the classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes) or (n_samples, n_outputs)
            Those of the final estimator, or the weighted sums of the members' probabilities,
            divided by their sum over the classes (negative sums, which only negative weights can
            give, count as 0, and probabilities are equal where all are 0). With several outputs as
            in scikit-learn: the first column for each of them.

        Notes
        -----
        Cost: a prediction of each member, with learned weights of those with a weight other than 0.
        """
        check_is_fitted(self)
        proba: Any
        if self.weights is None:
            proba = self.final_estimator_.predict_proba(self.transform(X))
        else:
            tables = [_normalised(scores) for scores in self._mixed(X)]
            proba = tables if self._several_outputs else tables[0]
        if self._several_outputs:
            return np.array([table[:, 0] for table in proba]).T
        return proba

    @available_if(_final_has("decision_function", with_weights=False))
    @by_chunks
    def decision_function(self, X: MatrixLike) -> np.ndarray:
        """Scores of the final estimator; not with learned weights.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            The decision function of the final estimator.

        Notes
        -----
        Cost: a prediction of each member.
        """
        check_is_fitted(self)
        return self.final_estimator_.decision_function(self.transform(X))

    @property
    def _several_outputs(self) -> bool:
        return isinstance(self.classes_, list)


def _normalised(scores: np.ndarray) -> np.ndarray:
    """Scores as probabilities."""
    scores = np.maximum(scores, 0.0)
    total = scores.sum(axis=1, keepdims=True)
    equal = np.full_like(scores, 1.0 / scores.shape[1])
    return np.divide(scores, total, out=equal, where=total > 0)
