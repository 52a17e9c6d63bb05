"""The fit of AdaBoost.R2: rows drawn by weights, which errors of the learners increase."""

from collections.abc import Callable, Iterator
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, MetaEstimatorMixin, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._blocks import by_chunks
from sklearn_ensemble_theory._compat import (
    CallbackSupportMixin,
    HasMethods,
    Interval,
    StrOptions,
    check_method_params,
)
from sklearn_ensemble_theory._fitting import fit_context
from sklearn_ensemble_theory._learners import is_tree, prepare_members
from sklearn_ensemble_theory._rows import rows_of_positive_weight, validate_data
from sklearn_ensemble_theory.boosting._adaboost.counterpart import BoostedCounterpart
from sklearn_ensemble_theory.boosting._adaboost.weighted_median import (
    staged_weighted_medians,
    weighted_median,
)
from sklearn_ensemble_theory.boosting._loop import RoundReports, rows_for_callbacks
from sklearn_ensemble_theory.boosting._weak_classifiers import (
    MOST_DENSE_VALUES,
    WeakLearnersMixin,
)
from sklearn_ensemble_theory.boosting._weak_learners import seeded_clone
from sklearn_ensemble_theory.trees._sklearn_trees import single_precision_if_finite

# Of the errors divided by the largest one.
LOSSES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "linear": lambda error: error,
    "square": np.square,
    "exponential": lambda error: 1.0 - np.exp(-error),
}
SMALLEST_WEIGHT = np.finfo(np.float64).eps
# Rows that are converted to single precision at a time.
BLOCK_ROWS = 2**13


class _Round(NamedTuple):
    """What a fitted model keeps of a round."""

    member: Any
    alpha: float
    error: float


class DrawnLearners:
    """Learners fitted to rows drawn with replacement, and their predictions for all rows.

    Parameters
    ----------
    estimator : estimator
    X : {array, sparse matrix} of shape (n, p)
    y : array of shape (n,)
    fit_params : dict
        Passed to every `fit`.

    Notes
    -----
    scikit-learn's trees get the drawn rows in single precision, converted some rows at a time: the
    trees are the same. A learner with `_prepare_members` gets the columns prepared once, and each
    distinct row with its number of draws.
    """

    def __init__(self, estimator: Any, X: Any, y: np.ndarray, fit_params: dict) -> None:
        self.estimator, self.X, self.y, self.fit_params = estimator, X, y, fit_params
        self.prepared, self.unchecked = None, False
        if sp.issparse(X) and is_tree(estimator) and np.prod(X.shape) <= MOST_DENSE_VALUES:
            # A sparse and a dense tree break ties in other ways, and later rounds depend on it.
            X = self.X = X.toarray()
        if fit_params or sp.issparse(X) or X.dtype.kind not in "fiub" or X.ndim != 2:
            return
        self.prepared = prepare_members(estimator, X, None)
        # Without its check of X a tree does not check the targets of this criterion either.
        if self.prepared is None and is_tree(estimator) and estimator.criterion != "poisson":
            blocks = (single_precision_if_finite(X[rows]) for rows in self._blocks())
            self.unchecked = all(block is not None for block in blocks)
        if self.unchecked:
            self.y = np.asarray(y, dtype=np.float64)

    def _blocks(self) -> Iterator[slice]:
        """All rows, some at a time."""
        n = len(self.y)
        return (slice(start, start + BLOCK_ROWS) for start in range(0, n, BLOCK_ROWS))

    def fit(self, member: Any, rows: np.ndarray) -> Any:
        """The member, fitted to rows of which some are repeated."""
        if self.prepared is not None:
            distinct, counts = np.unique(rows, return_counts=True)
            return self.prepared.fit(member, distinct, self.y[distinct], counts, None)
        params = check_method_params(self.X, self.fit_params, indices=rows)
        if not self.unchecked:
            member.fit(self.X[rows], self.y[rows], **params)
            return member
        drawn = np.empty((len(rows), self.X.shape[1]), dtype=np.float32)
        for block in self._blocks():
            drawn[block] = self.X[rows[block]]
        return member.fit(drawn, self.y[rows], check_input=False, **params)

    def predict(self, member: Any) -> np.ndarray:
        """Its predictions for all rows."""
        if not self.unchecked:
            return np.asarray(member.predict(self.X), dtype=np.float64).reshape(len(self.y))
        predictions = np.empty(len(self.y))
        for rows in self._blocks():
            block = np.ascontiguousarray(self.X[rows], dtype=np.float32)
            predictions[rows] = member.predict(block, check_input=False)
        return predictions


class BaseAdaBoostRegressor(
    BoostedCounterpart,
    WeakLearnersMixin,
    RegressorMixin,
    CallbackSupportMixin,
    MetaEstimatorMixin,
    BaseEstimator,
):
    """`fit` and the predictions of :class:`AdaBoostRegressor`; not for direct use."""

    estimators_: list[Any]
    estimator_weights_: np.ndarray

    _parameter_constraints: ClassVar[dict] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "loss": [StrOptions(set(LOSSES))],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def _boosted_learner(self) -> Any:
        return DecisionTreeRegressor(max_depth=3) if self.estimator is None else self.estimator

    def _data_checks(self) -> dict:
        # The learner validates X itself, as in scikit-learn.
        return {"accept_sparse": ["csr", "csc"], "allow_nd": True, "dtype": None}

    @fit_context(prefer_skip_nested_validation=False)
    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, **fit_params: Any
    ) -> Self:
        """Boost the weak learner.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The training rows. Sparse matrices are accepted if the weak learner accepts them, as
            the default does. For scikit-learn's trees they become dense arrays where they have at
            most 2**28 values, so that the model is the same as for the dense array.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Initial weights, the probabilities of the rows in the first round; only their ratios
            matter. Rows of weight 0 are left out.
        **fit_params : dict
            Passed to the `fit` of the weak learners if metadata routing is enabled.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If the targets are so large that their differences overflow.
        """
        routed = self._routed(fit_params)
        estimator = self._boosted_learner()
        given = X
        X, all_y = validate_data(self, X, y, y_numeric=True, **self._data_checks())
        kept = rows_of_positive_weight(sample_weight, X)
        X, y = kept.take(X, all_y)
        if not np.abs(y).max() < np.finfo(np.float64).max / 4:
            raise ValueError("y is so large that differences of its values overflow; scale y.")
        found: list[_Round] = []

        def attributes() -> dict:
            return {
                "estimator_": estimator,
                "estimators_": [one.member for one in found],
                "estimator_weights_": np.array([one.alpha for one in found]),
                "estimator_errors_": np.array([one.error for one in found]),
            }

        reports = RoundReports(
            self,
            self.n_estimators,
            data=lambda: rows_for_callbacks(given, all_y, kept, sample_weight is not None),
            attributes=attributes,
        )
        with np.errstate(all="ignore"):  # no warnings from the arithmetic of the weak learner
            learners = DrawnLearners(estimator, X, y, routed)
            reason = self._boosted(learners, kept.normalised, found, reports)
        vars(self).update(attributes(), stop_reason_=reason)
        reports.finish(reason)
        return self

    def _boosted(
        self,
        learners: DrawnLearners,
        weight: np.ndarray,
        found: list[_Round],
        reports: RoundReports,
    ) -> str:
        """Fill in the rounds to keep; why there were no more."""
        rng = check_random_state(self.random_state)
        loss, n = LOSSES[self.loss], len(weight)
        for _ in range(self.n_estimators):
            weight = np.maximum(weight, SMALLEST_WEIGHT)
            member = seeded_clone(learners.estimator, rng)
            member = learners.fit(member, rng.choice(n, n, p=weight))
            error = np.abs(learners.predict(member) - learners.y)
            largest = error.max()
            losses = loss(error / largest if largest > 0 else error)
            mean_loss = float((weight * losses).sum())
            if not np.isfinite(mean_loss):
                raise ValueError(
                    f"estimator: {type(learners.estimator).__name__} predicts values that are not "
                    "finite."
                )
            if mean_loss <= 0:
                found.append(_Round(member, 1.0, 0.0))
                reports.end_round(loss=0.0)
                return "perfect"
            if mean_loss >= 0.5:
                if not found:  # the only learner is kept, whatever its loss is
                    found.append(_Round(member, 1.0, mean_loss))
                return "no edge"
            beta = mean_loss / (1.0 - mean_loss)
            alpha = self.learning_rate * np.log(1.0 / beta)
            found.append(_Round(member, float(alpha), mean_loss))
            if reports.end_round(loss=mean_loss):
                return "callback"
            weight = weight * np.power(beta, (1.0 - losses) * self.learning_rate)
            if not weight.sum() > 0:  # a learning rate of some hundreds
                return "no weight"
            weight /= weight.sum()
        return "n_estimators"

    # --- predictions ------------------------------------------------------------------------

    def _predictions(self, X: Any) -> Iterator[np.ndarray]:
        """The predictions of each learner."""
        converted = None
        if isinstance(X, np.ndarray) and X.ndim == 2 and is_tree(self.estimator_):
            converted = single_precision_if_finite(X)
        options: dict[str, Any] = {}
        if converted is not None:
            X, options = np.ascontiguousarray(converted), {"check_input": False}
        for member in self.estimators_:
            with np.errstate(over="ignore", invalid="ignore"):  # trees check X after a cast
                predictions = member.predict(X, **options)
            yield np.asarray(predictions, dtype=float).reshape(X.shape[0])

    @by_chunks
    def predict(self, X: Any) -> np.ndarray:
        """The weighted median of the learners' predictions.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Predictions.
        """
        X = self._check_X(X)
        return weighted_median(np.column_stack([*self._predictions(X)]), self.estimator_weights_)

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """The predictions after each round.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to predict.

        Yields
        ------
        y : ndarray of shape (n_samples,)
            Predictions after the round.
        """
        X = self._check_X(X)
        yield from staged_weighted_medians(self._predictions(X), self.estimator_weights_)

    def staged_score(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Iterator[float]:
        """The coefficient of determination R² after each round.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows with known targets.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; equal weights by default.

        Yields
        ------
        score : float
            R² after the round.
        """
        for prediction in self.staged_predict(X):
            yield r2_score(y, prediction, sample_weight=sample_weight)

    @property
    def feature_importances_(self) -> np.ndarray:
        """The weak learners' importances, averaged with their coefficients as weights."""
        check_is_fitted(self)
        return self._mean_importances()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.estimator is None or self._takes_sparse()
        return tags
