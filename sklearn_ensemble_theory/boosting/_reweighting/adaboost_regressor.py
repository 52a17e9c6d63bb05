"""AdaBoost.R2: regressors of rows drawn by weights, which the errors of the regressors increase."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.metrics import r2_score
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils import check_random_state

from sklearn_ensemble_theory._blocks import by_chunks
from sklearn_ensemble_theory._categories import fitted_encoder, numbered_learner
from sklearn_ensemble_theory._compat import Interval, StrOptions, check_method_params
from sklearn_ensemble_theory._documentation import documented
from sklearn_ensemble_theory._door import fit_context
from sklearn_ensemble_theory._learners import (
    BinnedTree,
    is_tree,
    numbers_of,
    prepare_members,
)
from sklearn_ensemble_theory._rows import (
    checked_target,
    checked_weights,
    kept_rows,
    normalised_weights,
    one_column,
    validate_data,
)
from sklearn_ensemble_theory._scaling import range_exponent
from sklearn_ensemble_theory._scores import RegressorMixin
from sklearn_ensemble_theory._typing import ArrayLike
from sklearn_ensemble_theory.trees._binned_tree import told_apart
from sklearn_ensemble_theory.trees._sklearn_trees import (
    RankedMembers,
    add_to_outputs,
    fitted_in_units,
    single_precision_if_finite,
    target_offset,
)

from .._base_learners import seeded_clone
from .._loop import RoundReports, rows_for_callbacks
from .votes import CONSTRAINTS, MOST_DENSE_VALUES, TEXTS, ReweightedEnsemble

# Of the errors divided by the largest one.
LOSSES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "linear": lambda error: error,
    "square": np.square,
    "exponential": lambda error: 1.0 - np.exp(-error),
}
SMALLEST_WEIGHT = np.finfo(np.float64).eps
# Rows that are converted to single precision at a time.
BLOCK_ROWS = 2**13


class KeptRound(NamedTuple):
    """What a fitted model keeps of a round."""

    member: Any
    alpha: float
    error: float


class DrawnLearners:
    """Learners fitted to rows drawn with replacement, and their predictions for all rows.

    scikit-learn's trees get the drawn rows as ranks, or in single precision, converted some rows at
    a time: the trees are the same. Another learner with `prepare_members` gets the columns prepared
    once, and each distinct row with its number of draws.
    """

    def __init__(self, learner: Any, X: Any, y: np.ndarray, fit_params: dict) -> None:
        self.learner, self.X, self.y, self.fit_params = learner, X, y, fit_params
        self.prepared, self.unchecked = None, False
        # Trees are grown about the offset, which goes back into their leaves.
        self.offset = target_offset(learner, y)
        if issparse(X) and is_tree(learner) and np.prod(X.shape) <= MOST_DENSE_VALUES:
            # A sparse and a dense tree break ties in other ways, and later rounds depend on it.
            X = self.X = X.toarray()
        if fit_params or X.dtype.kind not in "fiub" or X.ndim != 2:
            return
        if issparse(X) and not isinstance(learner, BinnedTree):
            return
        self.prepared = prepare_members(learner, X, None)
        # Without its check of X a tree does not check the targets of this criterion either.
        if is_tree(learner) and learner.criterion != "poisson":
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
        if not self.offset:
            return self._fitted(member, rows, self.y)
        member = self._fitted(member, rows, self.y - self.offset)
        add_to_outputs(member, self.offset)
        return member

    def _fitted(self, member: Any, rows: np.ndarray, y: np.ndarray) -> Any:
        if isinstance(self.prepared, RankedMembers):
            return self.prepared.fit_drawn(member, rows, y[rows])
        if self.prepared is not None:
            distinct, counts = np.unique(rows, return_counts=True)
            return self.prepared.fit(member, distinct, y[distinct], counts, None)
        params = check_method_params(self.X, self.fit_params, indices=rows)
        if not self.unchecked:
            return fitted_in_units(member, self.X[rows], y[rows], **params)
        drawn = np.empty((len(rows), self.X.shape[1]), dtype=np.float32)
        for block in self._blocks():
            drawn[block] = self.X[rows[block]]
        return fitted_in_units(member, drawn, y[rows], check_input=False, **params)

    def predict(self, member: Any) -> np.ndarray:
        if not self.unchecked:
            return numbers_of(member.predict(self.X), member, self.X).astype(np.float64)
        predictions = np.empty(len(self.y))
        for rows in self._blocks():
            block = np.ascontiguousarray(self.X[rows], dtype=np.float32)
            predictions[rows] = member.predict(block, check_input=False)
        return predictions


def weighted_median(predictions: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The smallest prediction of a row up to which the learners have half of all weight: (n,)."""
    order = np.argsort(predictions, axis=1)
    # The weights are added up in the order of the predictions, as in scikit-learn.
    reached = np.cumsum(weights[order], axis=1)
    first = (reached >= 0.5 * reached[:, -1:]).argmax(axis=1)
    rows = np.arange(len(predictions))
    return predictions[rows, order[rows, first]]


@dataclass(frozen=True)
class DrawnPlan:
    """Rounds of AdaBoost.R2; `loss` is a key of `LOSSES`."""

    n_rounds: int
    learning_rate: float
    loss: str


def drawn_rounds(
    plan: DrawnPlan,
    learners: DrawnLearners,
    weight: np.ndarray,
    rng: np.random.RandomState,
    found: list[KeptRound],
    end_round: Callable[..., bool],
) -> str:
    """Append the rounds to keep to `found`, and return why there were no more."""
    loss, n = LOSSES[plan.loss], len(weight)
    for _ in range(plan.n_rounds):
        weight = np.maximum(weight, SMALLEST_WEIGHT)
        member = seeded_clone(learners.learner, rng)
        member = learners.fit(member, rng.choice(n, n, p=weight))
        error = np.abs(learners.predict(member) - learners.y)
        largest = error.max()
        losses = loss(error / largest if largest > 0 else error)
        mean_loss = float((weight * losses).sum())
        if not np.isfinite(mean_loss):
            raise ValueError(
                f"estimator: {type(learners.learner).__name__} predicts values that are not finite."
            )
        if mean_loss <= 0:
            found.append(KeptRound(member, 1.0, 0.0))
            end_round(loss=0.0)
            return "perfect"
        if mean_loss >= 0.5:
            if not found:  # the only learner is kept, whatever its loss is
                found.append(KeptRound(member, 1.0, mean_loss))
            return "no edge"
        beta = mean_loss / (1.0 - mean_loss)
        alpha = plan.learning_rate * np.log(1.0 / beta)
        found.append(KeptRound(member, float(alpha), mean_loss))
        if end_round(loss=mean_loss):
            return "callback"
        weight = weight * np.power(beta, (1.0 - losses) * plan.learning_rate)
        if not weight.sum() > 0:  # a learning rate of some hundreds
            return "no weight"
        weight /= weight.sum()
    return "n_estimators"


@documented(TEXTS)
class AdaBoostRegressor(RegressorMixin, ReweightedEnsemble):
    """AdaBoost.R2 for regression: resample the rows with large errors, predict a weighted median.

    Each round draws n rows with replacement, with the weights as probabilities, and fits the weak
    learner to them. Rows with a small error then get less weight, so later rounds see the difficult
    rows more often (Drucker 1997). This is a drop-in replacement for
    :class:`sklearn.ensemble.AdaBoostRegressor`, with the same results for the same `random_state`.

    Parameters
    ----------
    estimator : object, default=None
        The weak learner, any regressor. If None, it is ``DecisionTreeRegressor(max_depth=3)``.
        ``BinnedTreeRegressor(max_depth=3)`` cuts the columns into bins once for all rounds, which
        is faster for many rows.
    n_estimators : int, default=50
        The maximum number of rounds.
    learning_rate : float, default=1.0
        Factor of each coefficient, and exponent of the change of the weights.
    loss : {"linear", "square", "exponential"}, default="linear"
        What a round loses by an error e, divided by the largest error: e, e² or 1 - exp(-e).
    %(seed)s
    %(progress)s

    Attributes
    ----------
    estimator_ : estimator
        The weak learner that was cloned in each round.
    estimators_ : list of estimators
        The fitted weak learner of each round.
    estimator_weights_ : ndarray of shape (n_rounds,)
        The coefficients, log((1 - L) / L) times the learning rate, for a mean loss L. Each enters
        the weighted median as it is.
    estimator_errors_ : ndarray of shape (n_rounds,)
        The mean loss L of each weak learner under the weights of its round.
    stop_reason_ : {"n_estimators", "perfect", "no edge", "no weight", "callback"}
        Why there were no more rounds. ``"perfect"``: a weak learner made no error. ``"no edge"``:
        its mean loss was 1/2 or more; it is kept only if it is the first one. ``"no weight"``: all
        weights vanished, with a large learning rate.
    feature_importances_ : ndarray of shape (n_features,)
        Mean of the weak learners' importances, weighted by their coefficients.
    %(names_in_fit)s

    See Also
    --------
    GradientBoostingRegressor : Boosting that minimises a loss.
    BaggingRegressor : The mean of regressors fitted to rows drawn with equal probabilities.
    AdaBoostClassifier : AdaBoost for classes [Bach, §10.3.4].

    Notes
    -----
    The losses are relative to the largest error, so a single outlier of y makes all other losses
    small. AdaBoost.R2 minimises no risk, and no bound on its training error is known, unlike for
    two classes [Bach, §10.3.4].

    A round costs one fit and one prediction of the weak learner, and O(n log n) for the draw. A
    prediction costs one prediction of each weak learner, and O(n T log T) for the medians of T weak
    learners.

    %(references_Bach)s

    H. Drucker (1997). "Improving regressors using boosting techniques". *Proceedings of the 14th
    International Conference on Machine Learning*, 107-115.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_ensemble_theory import AdaBoostRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = AdaBoostRegressor(loss="square", random_state=0).fit(X[:350], y[:350])
    >>> print(f"{len(model.estimators_)} rounds, R² of {model.score(X[350:], y[350:]):.2f}")
    50 rounds, R² of 0.46
    """

    _parameter_constraints: ClassVar[dict] = {
        **CONSTRAINTS,
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "loss": [StrOptions(set(LOSSES))],
    }

    def __init__(
        self,
        estimator: Any | None = None,
        *,
        n_estimators: int = 50,
        learning_rate: float = 1.0,
        loss: Literal["linear", "square", "exponential"] = "linear",
        random_state: int | np.random.RandomState | None = None,
        verbose: bool | int = 0,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.loss = loss
        self.random_state = random_state
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=False)
    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, **fit_params: Any
    ) -> Self:
        """Boost the weak learner.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The training rows. Sparse matrices are accepted if the weak learner accepts them, as
            the default does. For scikit-learn's trees they become dense arrays if they have at most
            2**28 values; the model is then the same as for the dense array. A dense X may have
            missing values (NaN) where the weak learner takes them, as the default does.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Initial weights, the probabilities of the rows in the first round; only their ratios
            matter. Rows of weight 0 are left out.
        %(learner_params)s

        %(returns_self)s

        Raises
        ------
        ValueError
            If the targets are so large that their differences overflow, or X has missing values
            that the weak learner does not take.
        """
        routed = self._routed(fit_params)
        learner = self._boosted_learner()
        given = X
        X, all_y = validate_data(self, X, y, y_numeric=True, **self._data_checks())
        learner = numbered_learner(learner, fitted_encoder(self))
        rows = kept_rows(X, all_y, sample_weight)
        routed = rows.params_of(X, routed)
        X, y = rows.X, rows.y
        if not routed:
            learner = told_apart(learner, X, y)
        if not np.abs(y).max() < np.finfo(np.float64).max / 4:
            raise ValueError("y is so large that differences of its values overflow; scale y.")
        found: list[KeptRound] = []

        def attributes() -> dict:
            return {
                "estimator_": learner,
                "estimators_": [one.member for one in found],
                "estimator_weights_": np.array([one.alpha for one in found]),
                "estimator_errors_": np.array([one.error for one in found]),
            }

        reports = RoundReports(
            self,
            self.n_estimators,
            data=lambda: rows_for_callbacks(given, all_y, rows, sample_weight is not None),
            attributes=attributes,
        )
        with np.errstate(all="ignore"):  # no warnings from the arithmetic of the weak learner
            reason = drawn_rounds(
                DrawnPlan(self.n_estimators, self.learning_rate, self.loss),
                DrawnLearners(learner, X, y, routed),
                rows.shares(),
                check_random_state(self.random_state),
                found,
                reports.end_round,
            )
        self.__dict__.update(attributes(), stop_reason_=reason)
        reports.finish(reason)
        return self

    # --- predictions ------------------------------------------------------------------------

    def _boosted_learner(self) -> Any:
        return DecisionTreeRegressor(max_depth=3) if self.estimator is None else self.estimator

    def _takes_sparse(self) -> bool:
        return self.estimator is None or super()._takes_sparse()

    def _predictions(self, X: Any) -> Iterator[np.ndarray]:
        options: dict[str, Any] = {}
        if isinstance(X, np.ndarray) and X.ndim == 2 and is_tree(self.estimator_):
            X, options = np.ascontiguousarray(X, dtype=np.float32), {"check_input": False}
        for member in self.estimators_:
            with np.errstate(over="ignore", invalid="ignore"):  # trees check X after a cast
                predictions = numbers_of(member.predict(X, **options), member, X)
            yield np.asarray(predictions, dtype=float).reshape(X.shape[0])

    @by_chunks
    def predict(self, X: Any) -> np.ndarray:
        """The weighted median of the learners' predictions.

        %(sparse_rows_to_predict)s

        %(returns_predictions)s
        """
        X = self._check_X(X)
        return weighted_median(np.column_stack([*self._predictions(X)]), self.estimator_weights_)

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """The predictions after each round.

        %(sparse_rows_to_predict)s

        %(yields_predictions)s
        """
        X, weights = self._check_X(X), self.estimator_weights_
        known: np.ndarray | None = None
        for t, one in enumerate(self._predictions(X), 1):
            # One array for all rounds, of which a round sorts the columns so far. O(n T) a round.
            if known is None:
                known = np.empty((len(one), len(weights)))
            known[:, t - 1] = one
            yield weighted_median(known[:, :t], weights[:t])

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
        %(weights_or_equal)s

        Yields
        ------
        score : float
            R² after the round.
        """
        y = one_column(checked_target(y, is_real=True)).astype(np.float64, copy=False)
        exponent = range_exponent(y)
        y = np.ldexp(y, -exponent)
        weight = sample_weight
        if weight is not None:
            weight = normalised_weights(checked_weights(weight, X), 0)
        for prediction in self.staged_predict(X):
            yield r2_score(y, np.ldexp(prediction, -exponent), sample_weight=weight)
