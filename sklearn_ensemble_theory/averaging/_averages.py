"""What a mean of the members' predictions predicts: numbers, or classes of one or several outputs.

Of several outputs, the codes of each follow those of the one before. A member that is fitted to
such codes names by its `classes_` the columns that its shares belong to, and every sum over the
members is one of arrays whose columns are the classes of all outputs.
"""

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar, Protocol

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import Tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._blocks import by_chunks
from sklearn_ensemble_theory._compat import raise_for_params, routing_enabled
from sklearn_ensemble_theory._documentation import documented
from sklearn_ensemble_theory._learners import largest_column
from sklearn_ensemble_theory._rows import (
    are_wrong,
    checked_weights,
    codes_of_labels,
    one_column,
    rows_of,
)
from sklearn_ensemble_theory._scores import ClassifierMixin, RegressorMixin
from sklearn_ensemble_theory._typing import ArrayLike, MatrixLike, Predictor
from sklearn_ensemble_theory.averaging._bagging_texts import AVERAGES
from sklearn_ensemble_theory.averaging._out_of_bag import (
    first_codes,
    labels_by_output,
    split_outputs,
)
from sklearn_ensemble_theory.bounds import held_out_voting_error_bound
from sklearn_ensemble_theory.ensembles._certificates import (
    BY_MEMBERS,
    LOSSES,
    held_out_bound,
    out_of_bag_bound,
)
from sklearn_ensemble_theory.ensembles._certificates import TEXTS as TEXTS_OF_CERTIFICATES
from sklearn_ensemble_theory.ensembles._ensemble import Ensemble
from sklearn_ensemble_theory.ensembles._intervals import one_of


def check_learner(owner: object, estimator: Predictor) -> None:
    """A ValueError where an average of classifiers gets a regressor."""
    if isinstance(owner, ClassifierMixin) and not is_classifier(estimator):
        raise ValueError(
            f"estimator must be a classifier, got {type(estimator).__name__}, whose predictions "
            "are not labels."
        )


@documented(AVERAGES)
class AveragedRegressor(RegressorMixin):
    """A mean of real predictions.

    The class that it completes has the methods `_validate_X(X)` and `_mean_prediction(X, method,
    params)`.
    """

    _several_outputs: Any = True

    def _encode_y(self, y: np.ndarray) -> tuple[np.ndarray, dict]:
        y = one_column(y) if y.ndim == 1 or y.shape[1] == 1 else y
        return y, {"n_outputs_": 1 if y.ndim == 1 else y.shape[1]}

    def _prediction_method(self, estimator: Predictor) -> str:
        return "predict"

    @by_chunks
    def predict(self, X: MatrixLike, **params: object) -> np.ndarray:
        """Mean of the members' predictions.

        Parameters
        ----------
        %(X_predicted)s
        %(members_params)s

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Predictions, in the units of y.

        %(cost_of_members)s
        """
        raise_for_params(params, self, "predict")
        check_is_fitted(self)
        params = member_params(self, params, "predict")
        return self._mean_prediction(self._validate_X(X), "predict", params)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self._several_outputs
        return tags


@documented(AVERAGES, TEXTS_OF_CERTIFICATES)
class AveragedClassifier(ClassifierMixin):
    """A mean of class probabilities, or of votes.

    The class that it completes has the methods `_validate_X(X)` and `_mean_prediction(X, method,
    params)` and the parameter `voting`.
    """

    # Whether y may have several outputs, as for the trees of a forest.
    _several_outputs: ClassVar[bool] = False

    def _encode_y(self, y: np.ndarray) -> tuple[np.ndarray, dict]:
        several = self._several_outputs and y.ndim == 2 and y.shape[1] > 1
        y = y if several else one_column(y)
        check_classification_targets(y)
        if not several:
            classes, codes = np.unique(y, return_inverse=True)
            target = {"classes_": classes, "n_classes_": len(classes)}
            return codes, {**target, "n_outputs_": 1} if self._several_outputs else target
        pairs = [np.unique(column, return_inverse=True) for column in y.T]
        outputs = [labels for labels, _ in pairs]
        codes = np.column_stack([inverse.ravel() for _, inverse in pairs])
        return codes + first_codes(outputs), {
            "classes_": outputs,
            "n_classes_": [len(labels) for labels in outputs],
            "n_outputs_": len(outputs),
        }

    def _prediction_method(self, estimator: Predictor) -> str:
        soft = self.voting == "soft" and hasattr(estimator, "predict_proba")
        return "predict_proba" if soft else "vote"

    @by_chunks
    def predict(self, X: MatrixLike, **params: object) -> np.ndarray:
        """The class of the largest mean probability, or of the most votes.

        %(of_classified_rows)s

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Labels. Of equal classes the first or last in `classes_`, as `ties` says.

        %(cost_of_members)s
        """
        raise_for_params(params, self, "predict")
        proba = self._mean_proba(X, member_params(self, params, "predict"))
        if isinstance(self.classes_, list):
            parts = split_outputs(proba, self.classes_)
            return labels_by_output(parts, self.classes_, self.ties)
        return self.classes_.take(largest_column(proba, self.ties))

    @by_chunks
    def predict_proba(self, X: MatrixLike, **params: object) -> np.ndarray:
        """Mean of the members' class probabilities; shares of their votes if `voting="hard"`.

        %(of_classified_rows)s

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes), or list of them
            A list, of each output, if y had several. Columns in the order of `classes_`. A member
            without `predict_proba` gives its vote; a member whose rows lacked a class gives that
            class probability 0.

        %(cost_of_members)s
        """
        raise_for_params(params, self, "predict_proba")
        proba = self._mean_proba(X, member_params(self, params, "predict_proba"))
        return split_outputs(proba, self.classes_)

    @by_chunks
    def predict_log_proba(self, X: MatrixLike, **params: object) -> np.ndarray:
        """Logarithm of the probabilities of `predict_proba`, -inf for 0.

        %(of_classified_rows)s

        Returns
        -------
        log_proba : ndarray of shape (n_samples, n_classes), or list of them
            A list, of each output, if y had several. Natural logarithms of the mean probabilities.
            They are computed from the members' logarithms if the members have `predict_log_proba`:
            very small probabilities do not underflow to 0.

        %(cost_of_members)s
        """
        raise_for_params(params, self, "predict_log_proba")
        check_is_fitted(self)
        params = member_params(self, params, "predict_log_proba")
        if self.voting == "soft" and hasattr(self.estimator_, "predict_log_proba"):
            log_proba = self._mean_prediction(self._validate_X(X), "predict_log_proba", params)
        else:
            with np.errstate(divide="ignore"):
                log_proba = np.log(self._mean_proba(X, params))
        return split_outputs(log_proba, self.classes_)

    def _mean_proba(self, X: MatrixLike, params: dict) -> np.ndarray:
        """The mean probabilities, or shares of votes, of the classes of all outputs."""
        check_is_fitted(self)
        method = self._prediction_method(self.estimator_)
        return self._mean_prediction(self._validate_X(X), method, params)

    def error_bound(
        self,
        X: MatrixLike | None = None,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        delta: float | None = None,
        method: str = "markov",
    ) -> float:
        """Bound on the error of the ensemble, from held-out rows or from the rows out of bag.

        The loss of a member on a row is 1 where it errs; with `voting="soft"` it is 1 - p, with p
        the probability that it gives to the label. The ensemble errs only where the mean loss of
        its members is at least 1/2.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), default=None
            Rows that were not used in `fit`, or in its choice. None for the training rows, each
            for the members that it was not drawn for: no rows need to be held out. `"markov"` and
            `"binomial"` need held-out rows.
        y : array-like of shape (n_samples,), default=None
            Their labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, for `method="markov"`.
        delta : float, default=None
            `None` bounds the error on the given rows. A number in (0, 1] bounds the probability
            of an error on a new row, with probability 1 - delta over the given rows, which must be
            independent draws from the same distribution. Without X it must be given.
        method : str, default="markov"
            What the bound is computed from:

            %(bounds_by_members)s
            - `"binomial"`: the errors of the ensemble itself on held-out rows. See
              :func:`~sklearn_ensemble_theory.bounds.held_out_error_bound`.

        Returns
        -------
        bound : float
            At most 1.

        Raises
        ------
        ValueError
            If there are several outputs, a parameter is outside its range, or rows have weights
            that the method does not take. Without X and y also if some pair of members has no
            out-of-bag rows, or if the members are not trees. Also after `forget_training_rows`, and
            for rows that are not independent of the draws.

        Notes
        -----
        With enough held-out rows `"binomial"` is the smallest bound, as it has no factor. The
        others are for ensembles that are fitted to all rows: each member, and each pair of members,
        has independent rows outside. They hold for members that do not depend on other rows than
        those drawn. For many rows, the bins of the columns depend on X of all rows; with
        `max_bins=None` the bounds are exact. Of an ensemble fitted with `groups` they are for a row
        of a new group. Which bound is the smallest when is said in :ref:`certificates-of-votes` in
        the user guide.

        Cost: one call of each member. For pairs of B members in addition O(n B²) in products of
        matrices, by blocks of rows, kept for further calls without X.

        %(references_Ghoshdastidar)s

        A. R. Masegosa, S. S. Lorenzen, C. Igel and Y. Seldin (2020). "Second order PAC-Bayesian
        bounds for the weighted majority vote". *Advances in Neural Information Processing Systems*
        33.
        """
        check_is_fitted(self)
        one_of("method", method, ("markov", "binomial", *BY_MEMBERS))
        if not isinstance(self.classes_, np.ndarray):
            raise ValueError("error_bound needs a single output; y of the fit has several.")
        if X is None and y is None:
            if sample_weight is not None:
                raise ValueError("sample_weight is for held-out rows: give X and y with it.")
            ensemble: Ensemble | None = getattr(self, "ensemble_", None)
            if ensemble is None:
                raise ValueError(
                    f"{type(self).__name__} does not keep its training rows; error_bound needs "
                    "held-out rows X and y."
                )
            return out_of_bag_bound(ensemble, method, delta)
        if X is None or y is None:
            raise ValueError("error_bound needs both of X and y, or neither of them.")
        weight = None if sample_weight is None else checked_weights(sample_weight, X)
        if method != "markov":
            is_direct = method == "binomial"
            wrong = are_wrong(y, self.predict(X), self.classes_) if is_direct else None
            blocks = self._member_losses(X, y)
            return held_out_bound(method, wrong, blocks, self._vote_weights(), weight, delta)
        proba = self.predict_proba(X)
        code, known = codes_of_labels(y, self.classes_, len(proba))
        shares = np.clip(proba[np.arange(len(proba)), code], 0.0, 1.0) * known
        return held_out_voting_error_bound(shares, weight, delta)

    def _vote_weights(self) -> np.ndarray:
        return np.full(len(self.estimators_), 1 / len(self.estimators_))

    @abstractmethod
    def _each_prediction(self, X: MatrixLike, method: str) -> Iterator[np.ndarray]:
        """The predictions of the members, one after the other."""

    def _member_losses(self, X: MatrixLike, y: ArrayLike) -> Iterator[np.ndarray]:
        """The losses of all members, of shape (m, B), for consecutive blocks of rows."""
        X, method = self._validate_X(X), self._prediction_method(self.estimator_)
        codes, known = codes_of_labels(y, self.classes_, X.shape[0])
        step = max(1, LOSSES // len(self.estimators_))
        for start in range(0, X.shape[0], step):
            part = slice(start, start + step)
            own = codes[part]
            columns = [
                found[np.arange(len(own)), own] * known[part]
                for found in self._each_prediction(rows_of(X, part), method)
            ]
            yield np.clip(1 - np.column_stack(columns), 0.0, 1.0)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        if self._several_outputs:
            tags.classifier_tags.multi_label = True
            tags.target_tags.multi_output = True
        return tags


# --- metadata of members --------------------------------------------------------------------------


class Routed(Protocol):
    def get_metadata_routing(self) -> MetadataRouter: ...


def member_params(caller: Routed, params: dict, method: str) -> dict:
    """The metadata for the members' method that `method` of the caller calls."""
    if not routing_enabled():
        return {}
    # Several of the members' methods may serve one of ours; all but one are empty.
    routed = process_routing(caller, method, **params)["estimator"]
    return {name: value for kwargs in routed.values() for name, value in kwargs.items()}


def member_router(owner: Routed, learner: Any, own_metadata: Any) -> MetadataRouter:
    """The routing to the base learner's method that serves each of the ensemble's."""
    proba = "predict_proba" if hasattr(learner, "predict_proba") else "predict"
    log_proba = "predict_log_proba" if hasattr(learner, "predict_log_proba") else proba
    mapping = MethodMapping()
    for caller, callee in [
        ("fit", "fit"),
        ("decision_function", "decision_function"),
        ("predict", proba),
        ("predict_proba", proba),
        ("predict_log_proba", log_proba),
    ]:
        mapping.add(caller=caller, callee=callee)
    router = MetadataRouter(owner=owner).add_self_request(own_metadata)
    return router.add(estimator=learner, method_mapping=mapping)
