"""How the mean of the members' predictions becomes a prediction: of numbers, or of classes."""

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_classifier
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from sklearn_ensemble_theory._blocks import by_chunks
from sklearn_ensemble_theory._compat import check_sample_weight, raise_for_params
from sklearn_ensemble_theory._scaling import range_exponent
from sklearn_ensemble_theory._typing import ArrayLike, MatrixLike
from sklearn_ensemble_theory.averaging._bagging.out_of_bag import Score
from sklearn_ensemble_theory.averaging._inference.intervals import (
    PredictionIntervalsMixin,
    PredictionSetsMixin,
)
from sklearn_ensemble_theory.bounds import held_out_voting_error_bound


def check_score(oob_score: Any) -> None:
    """Raise an error if `oob_score` is callable, but no function of two arguments."""
    if not callable(oob_score):
        return
    try:
        inspect.signature(oob_score).bind(None, None)
        of_two = not inspect.isclass(oob_score)
    except TypeError:
        of_two = False
    except ValueError:  # a compiled function that does not tell its arguments
        of_two = True
    if not of_two:
        raise ValueError(
            "oob_score must be a bool or a function of y and of the predictions, got "
            f"{oob_score!r}."
        )


class RegressorPredictionMixin(PredictionIntervalsMixin, RegressorMixin):
    """A mean of real predictions."""

    oob_score: bool | Callable[..., float]

    def _check_learner(self, estimator: BaseEstimator) -> None:
        super()._check_learner(estimator)
        check_score(getattr(self, "oob_score", False))

    def _encode_y(self, y: np.ndarray) -> tuple[np.ndarray, dict[str, Any]]:
        y = column_or_1d(y, warn=True) if y.ndim == 1 or y.shape[1] == 1 else y
        return y, {"n_outputs_": 1 if y.ndim == 1 else y.shape[1]}

    def _prediction_method(self, estimator: BaseEstimator) -> str:
        return "predict"

    def _oob_scorer(self, y: np.ndarray, classes: Any) -> Score:
        metric = self.oob_score if callable(self.oob_score) else r2_score
        if metric is not r2_score:
            return lambda rows, mean: metric(y[rows], mean)
        exponent = range_exponent(y)  # squares of the targets should not overflow

        def score(rows, mean):
            if len(rows) < 2:  # too few for a coefficient of determination
                return np.nan
            if exponent:
                return r2_score(np.ldexp(y[rows], -exponent), np.ldexp(mean, -exponent))
            return r2_score(y[rows], mean)

        return score

    def _oob_attributes(self, mean: np.ndarray, score: float) -> dict[str, Any]:
        return {"oob_prediction_": mean, "oob_score_": score}

    @by_chunks
    def predict(self, X: MatrixLike, **params: Any) -> np.ndarray:
        """Mean of the members' predictions.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to predict.

        **params : dict
            Routed to the members' `predict` where metadata routing is enabled.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Predictions, in the units of y.

        Notes
        -----
        Cost: one prediction of each member.
        """
        raise_for_params(params, self, "predict")
        check_is_fitted(self)
        return self._mean_prediction(self._validate_X(X), "predict", self._route(params, "predict"))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


class ClassifierPredictionMixin(PredictionSetsMixin, ClassifierMixin):
    """A mean of class probabilities, or of votes."""

    oob_score: bool | Callable[..., float]
    voting: str
    classes_: np.ndarray
    estimator_: BaseEstimator

    def _check_learner(self, estimator: BaseEstimator) -> None:
        super()._check_learner(estimator)
        check_score(getattr(self, "oob_score", False))
        if not is_classifier(estimator):
            raise ValueError(
                f"estimator must be a classifier, got {type(estimator).__name__}, whose "
                "predictions are no labels."
            )

    def _encode_y(self, y: np.ndarray) -> tuple[np.ndarray, dict[str, Any]]:
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
        return codes, {"classes_": classes, "n_classes_": len(classes)}

    def _obstacles(self) -> Iterator[str]:
        yield from super()._obstacles()
        if self.voting == "hard" and hasattr(self.estimator_, "predict_proba"):
            yield "voting='hard' counts votes, where it averages probabilities."

    def _prediction_method(self, estimator: BaseEstimator) -> str:
        soft = self.voting == "soft" and hasattr(estimator, "predict_proba")
        return "predict_proba" if soft else "vote"

    def _oob_scorer(self, y: np.ndarray, classes: Any) -> Score:
        metric = self.oob_score if callable(self.oob_score) else accuracy_score
        labels = classes[y]

        def score(rows, mean):
            return metric(labels[rows], classes[mean.argmax(axis=1)])

        return score

    def _oob_attributes(self, mean: np.ndarray, score: float) -> dict[str, Any]:
        return {"oob_decision_function_": mean, "oob_score_": score}

    def _labels(self, proba: np.ndarray) -> np.ndarray:
        """The label of the largest probability."""
        return self.classes_.take(proba.argmax(axis=1))

    def _by_output(self, columns: np.ndarray) -> Any:
        """Columns of the classes as users get them: one output has them all."""
        return columns

    @by_chunks
    def predict(self, X: MatrixLike, **params: Any) -> np.ndarray:
        """The class of the largest mean probability, or of the most votes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to classify.

        **params : dict
            Routed to the members' method where metadata routing is enabled.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Labels. Ties go to the class that comes first in `classes_`.

        Notes
        -----
        Cost: one prediction of each member.
        """
        raise_for_params(params, self, "predict")
        return self._labels(self._mean_proba(X, self._route(params, "predict")))

    @by_chunks
    def predict_proba(self, X: MatrixLike, **params: Any) -> np.ndarray:
        """Mean of the members' class probabilities; shares of their votes if `voting="hard"`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to classify.

        **params : dict
            Routed to the members' method where metadata routing is enabled.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            Columns in the order of `classes_`. A member without `predict_proba` gives its vote;
            a member whose rows lacked a class gives that class probability 0.

        Notes
        -----
        Cost: one prediction of each member.
        """
        raise_for_params(params, self, "predict_proba")
        return self._by_output(self._mean_proba(X, self._route(params, "predict_proba")))

    def _mean_proba(self, X: MatrixLike, params: dict[str, Any]) -> np.ndarray:
        check_is_fitted(self)
        method = self._prediction_method(self.estimator_)
        return self._mean_prediction(self._validate_X(X), method, params)

    def _staged_margin_scores(self, X: MatrixLike) -> Iterator[np.ndarray]:
        """The mean probabilities, or shares of votes, of the first 1, 2, ... members."""
        check_is_fitted(self)
        method = self._prediction_method(self.estimator_)
        total = np.zeros(1)
        for t, found in enumerate(self._each_prediction(self._validate_X(X), method), 1):
            total = total + found
            yield total / t

    @by_chunks
    def predict_log_proba(self, X: MatrixLike, **params: Any) -> np.ndarray:
        """Logarithm of the probabilities of `predict_proba`, -inf for 0.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to classify.

        **params : dict
            Routed to the members' method where metadata routing is enabled.

        Returns
        -------
        log_proba : ndarray of shape (n_samples, n_classes)
            Natural logarithms of the mean probabilities. They are computed from the members'
            logarithms where the members have `predict_log_proba`, so that very small probabilities
            do not underflow to 0.

        Notes
        -----
        Cost: one prediction of each member.
        """
        raise_for_params(params, self, "predict_log_proba")
        check_is_fitted(self)
        params = self._route(params, "predict_log_proba")
        if self.voting == "soft" and hasattr(self.estimator_, "predict_log_proba"):
            log_proba = self._mean_prediction(self._validate_X(X), "predict_log_proba", params)
        else:
            with np.errstate(divide="ignore"):
                log_proba = np.log(self._mean_proba(X, params))
        return self._by_output(log_proba)

    def error_bound(
        self,
        X: MatrixLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        delta: float | None = None,
    ) -> float:
        """Bound on the error of the ensemble by twice the mean error of its members.

        The ensemble errs only where members with at least half of the votes do, with
        `voting="soft"` where the mean probability of the label is at most 1/2.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows that were not used in `fit`, or in its choice.

        y : array-like of shape (n_samples,)
            Their labels.

        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        delta : float, default=None
            `None` bounds the error on the given rows. A number in (0, 1] bounds the probability
            of an error on a new row, with probability 1 - delta over the given rows, which must be
            independent draws from the same distribution.

        Returns
        -------
        bound : float
            At most 1; see :func:`~sklearn_ensemble_theory.bounds.held_out_voting_error_bound`.

        Raises
        ------
        ValueError
            If there are several outputs, or delta is outside its range.

        Notes
        -----
        [Ghoshdastidar, theorem En.1], step 3.1 of its proof. Out-of-bag votes do not give such a
        bound: they depend on each other. Cost: one call of each member.

        References
        ----------
        D. Ghoshdastidar. *Statistical Foundations of Learning*, lecture "Ensemble methods".
        Technical University of Munich.
        """
        check_is_fitted(self)
        if not isinstance(self.classes_, np.ndarray):
            raise ValueError("error_bound needs a single output; y of the fit has several.")
        y, proba = column_or_1d(y), self.predict_proba(X)
        code = np.clip(np.searchsorted(self.classes_, y), 0, len(self.classes_) - 1)
        shares = np.clip(proba[np.arange(len(y)), code], 0.0, 1.0) * (self.classes_[code] == y)
        weight = None if sample_weight is None else check_sample_weight(sample_weight, proba)
        return held_out_voting_error_bound(shares, weight, delta)
