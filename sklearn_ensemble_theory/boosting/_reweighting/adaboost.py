"""AdaBoost for classes [Bach, §10.3.4]: the exponential risk of margins, and the step of votes.

Rows in memory have exact thresholds and a weight each; rows in blocks (`adaboost_blocks.py`) have
bins whose weights are sums of integers. Both share the step, the loop's records and `_learn`.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from numbers import Real
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from scipy.sparse import issparse
from scipy.special import expit, log_expit, logsumexp
from sklearn.base import is_classifier, is_regressor
from sklearn.utils import Tags, get_tags
from sklearn.utils.extmath import softmax
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from sklearn_ensemble_theory._arrays import inner
from sklearn_ensemble_theory._blocks import by_chunks
from sklearn_ensemble_theory._categories import fitted_encoder, numbered_learner
from sklearn_ensemble_theory._compat import Interval, StrOptions
from sklearn_ensemble_theory._door import fit_context
from sklearn_ensemble_theory._learners import (
    ClassTask,
    HammingTask,
    has_fast_path,
    prepare_rounds,
    prepare_sums,
)
from sklearn_ensemble_theory._native.stumps import exponential_weights
from sklearn_ensemble_theory._rows import (
    ChunkedRows,
    are_wrong,
    codes_of_labels,
    kept_rows,
    validate_data,
)
from sklearn_ensemble_theory._typing import ArrayLike
from sklearn_ensemble_theory.bounds import (
    finite_behaviours_rademacher_bound,
    rademacher_margin_bound,
    stump_generalization_bound,
    vc_rademacher_bound,
    weighted_voting_generalization_bound,
)
from sklearn_ensemble_theory.erm._stumps.estimators import DecisionStumpClassifier
from sklearn_ensemble_theory.trees._packed import PackedCache

from .._loop import LARGE, BoostingRounds, Round, RoundReports, rows_for_callbacks
from .._risk import Array, MarginRisk, MarginState, RiskState
from .._steps import LearningRate, Step, StepResult
from .._weak_learners import clone_learner
from .adaboost_blocks import SummedRounds, rounds_of_blocks, summary_of_blocks
from .votes import MOST_DENSE_VALUES, Votes, VoteStep, WeightedVotes, vote_product

# What the weak learner minimises in each algorithm, as `ClassTask` names it.
CRITERION_OF = {
    "discrete": "error",
    "mh": "error",
    "real": "log_odds",
    "gentle": "least_squares",
}
# What the members return in each algorithm, as `Votes` names it.
OUTPUTS_OF = {"discrete": "votes", "mh": "values", "real": "log_odds", "gentle": "values"}
# The algorithms whose weak learners vote; the others return confidences.
VOTING = ("discrete", "mh")
# Coefficients times a smaller learning rate vanish.
SMALLEST_RATE = 1e-290
# An edge below this is rounding: after a step the learner's own edge is 0 up to 1e-16.
SMALLEST_EDGE = 1e-12
# Errors that are not above this are computed from logarithms.
SMALL_ERROR = 1e-6
# Below so many margins NumPy's passes cost as little as the compiled loops, unless these make whole
# rounds; these look after so many values whether the user has interrupted them.
FEW_MARGINS = 2**13
UNINTERRUPTED_VALUES = 2**25
# The sum of the weights divided by their largest possible value; below it they may be rounded to 0.
SMALLEST_TOTAL = 1e-50


# --- the risk and the steps -----------------------------------------------------------------------


class OnePassMarginRisk(MarginRisk):
    """The same risk in one pass over the rows. O(n)."""

    def __init__(self, sample_weight: Array) -> None:
        super().__init__(sample_weight)
        start = self.log_start.ravel()
        self.largest = float(start.max())
        self.start: float | Array = self.largest if start.min() == self.largest else start

    def at(self, u: Array) -> MarginState:
        weight = np.empty_like(u)
        top = self.largest - float(u.min())
        total = exponential_weights(self.start, u.ravel(), top, weight.ravel())
        if not total > SMALLEST_TOTAL:  # the largest start and the smallest score are far apart
            return super().at(u)
        weight *= 1.0 / total
        value = top + math.log(total)
        value = math.exp(value) if value < 709 else math.inf
        return VoteState(value, self.target, weight, scale=value)


class VoteState(MarginState):
    """The state of a `OnePassMarginRisk`, for votes of one byte too."""

    def first_order_gain(self, psi: Array) -> float:
        return vote_product(self.weight, psi)


def margin_risk(weight: Array, learner: Any = None) -> MarginRisk:
    """The risk for initial weights of shape (n,) or (n, K), and the learner of all rounds."""
    many = weight.size >= FEW_MARGINS or getattr(learner, "boosts", False)
    return OnePassMarginRisk(weight) if many else MarginRisk(weight)


class VoteDetails(NamedTuple):
    """Details of a round of AdaBoost.

    Attributes
    ----------
    error : float
        eps, the weighted error.
    alpha : float
        The coefficient in scikit-learn's scale; 0 where the loop ends without a step.
    stop_reason : {"perfect", "no edge"} or None
        "perfect": no row is misclassified, so that only this learner is kept.
    """

    error: float
    alpha: float
    stop_reason: str | None = None


class KeptRound(NamedTuple):
    """What a fitted model keeps of a round."""

    member: Any
    alpha: float
    error: float
    risk: float
    reach: float  # the largest output


PERFECT = StepResult(1.0, VoteDetails(0.0, 1.0, "perfect"))


class VotingStep(VoteStep):
    """The exact line search for votes: b = (K-1)²/K alpha, alpha = log((1-eps)/eps) + log(K-1).

    K is the number of answers of a vote, two for a vote for or against each class; b is then
    alpha/2 = log((1+g)/(1-g))/2, where g = 1 - 2 eps (Schapire and Singer 1999).

    Parameters
    ----------
    learning_rate : float
    task : ClassTask or HammingTask
    """

    def __init__(self, learning_rate: LearningRate, task: ClassTask | HammingTask) -> None:
        super().__init__(learning_rate)
        self.K = task.n_answers
        self.right, self.wrong = task.vote_values

    def __call__(
        self,
        t: int,
        risk: MarginRisk,
        u: np.ndarray,
        psi: np.ndarray,
        state: RiskState,
        gain: float,
    ) -> StepResult:
        error = (self.right - gain) / (self.right - self.wrong)
        if error >= 1 - 1 / self.K - SMALLEST_EDGE:
            return StepResult(None, VoteDetails(error, 0.0, "no edge"))
        if error > SMALL_ERROR:
            log_error = math.log(error)
        else:  # too small for a difference, perhaps for a float
            mistakes = psi < 0
            if not mistakes.any():
                return PERFECT
            error = float(state.weight[mistakes].sum())
            log_error = float(logsumexp(risk.log_weight(u)[mistakes])) - risk.log_value(u)
        alpha = math.log1p(-error) - log_error + math.log(self.K - 1)
        alpha = self.rate(t) * alpha
        return StepResult(alpha * (self.K - 1) ** 2 / self.K, VoteDetails(error, alpha))


class VotingRounds(BoostingRounds):
    """Rounds of votes; those that nobody looks at are made in one piece where the learner can."""

    def _make_several(self) -> bool:
        risk, step, u = self.risk, self.step, self.u
        learner: Any = self.learner
        if self.unseen < 2 or not getattr(learner, "boosts", False):
            return False
        assert isinstance(risk, OnePassMarginRisk)
        if self.state is None:
            self.state = risk.at(u)
        at_once = max(UNINTERRUPTED_VALUES // (learner.index.n * learner.index.p), 2)
        n_rounds = min(self.unseen, at_once)
        limits = SMALL_ERROR, 0.5 - SMALLEST_EDGE, SMALLEST_TOTAL, LARGE
        given = self.state.weight, u, risk.start, risk.largest, step.rate(self.index), limits
        for stump, (gain, error, alpha, b, value) in learner.vote_rounds(n_rounds, *given):
            details = VoteDetails(error, alpha)
            self._made.append(Round(self.index, stump, b, value, gain, None, details))
            self.index += 1
        self.state = None
        if not self._made:  # the general loop makes this round and those after it
            self.unseen = 0
            return False
        self.unseen -= len(self._made)
        # The last value may be one that needs logarithms.
        with np.errstate(over="ignore", invalid="ignore"):
            self.state = risk.at(u)
        last = self._made[-1] = self._made[-1]._replace(risk=self.state.value)
        if not (last.risk < LARGE and abs(last.step) < LARGE):
            self._check_scores(0.0, last.index)
        return True


class ConfidenceStep(Step):
    """Outputs that are confidences already: b is the learning rate."""

    def __call__(
        self,
        t: int,
        risk: MarginRisk,
        u: np.ndarray,
        psi: np.ndarray,
        state: RiskState,
        gain: float,
    ) -> StepResult:
        wrong = psi <= 0
        if not wrong.any():
            return PERFECT
        # A row with output 0 counts as half an error, like a vote by the toss of a coin.
        weight = state.weight.ravel()
        error = inner(weight, wrong.ravel()) - 0.5 * inner(weight, psi.ravel() == 0)
        if not gain > SMALLEST_EDGE:
            return StepResult(None, VoteDetails(error, 0.0, "no edge"))
        alpha = self.rate(t)
        return StepResult(alpha, VoteDetails(error, alpha))


# --- the estimator --------------------------------------------------------------------------------


class AdaBoostClassifier(WeightedVotes):
    """AdaBoost with decision stumps or any classifier: discrete, real, gentle and AdaBoost.MH.

    Each round fits a weak learner to the training rows under weights proportional to exp(-margin)
    and adds it with the coefficient that minimises the exponential risk. This is a drop-in
    replacement for :class:`sklearn.ensemble.AdaBoostClassifier`: parameters and attributes keep
    their meaning. Two defaults differ. The weak learner is the stump with the least weighted error
    instead of the tree of depth one with the least Gini index. With stumps and more than two
    classes the algorithm is AdaBoost.MH; ``algorithm="discrete"`` gives SAMME.

    Parameters
    ----------
    estimator : object, default=None
        The weak learner; for one whose `fit` does not support `sample_weight`, see `resample`. If
        None, it is ``DecisionStumpClassifier()``, which sorts the features once for all rounds;
        ``DecisionStumpClassifier(max_bins=255)`` bins them once. It must be a classifier for
        ``algorithm="discrete"``, a classifier with `predict_proba` for ``"real"``, and a regressor
        (of -1 and +1) for ``"gentle"``. Decision stumps can be used with all algorithms. For more
        than two classes ``"mh"``, ``"real"`` and ``"gentle"`` need them: they have a weight for
        each row and class.

    n_estimators : int, default=50
        The maximum number of rounds.

    learning_rate : float, default=1.0
        Factor of each coefficient.

    algorithm : {"auto", "discrete", "mh", "real", "gentle"}, default="auto"
        - ``"discrete"``: a weighted vote; the exact line search gives the coefficient
          alpha = log((1 - eps) / eps) [Ghoshdastidar, theorem En.4; Shah, §4.2; Bach, §10.3.4].
          For K > 2 classes this is SAMME, with coefficient alpha + log(K - 1).
        - ``"mh"``: AdaBoost.MH, which separates each class from the rest, with a weight for each
          row and class (Schapire and Singer 1999). A stump has one threshold and votes for or
          against each class on its left, and the opposite on its right (Kégl and Busa-Fekete 2009).
          For two classes this is ``"discrete"``.
        - ``"real"``: a sum of confidences. Stumps minimise Z = 2 sum sqrt(W+ W-) and return half
          the log-odds of each side (Schapire and Singer 1999).
        - ``"gentle"``: a sum of least-squares fits to -1 and +1, which are Newton steps of the
          exponential loss (Friedman, Hastie and Tibshirani 2000). The outputs of stumps are in
          [-1, 1], while half log-odds can be large.
        - ``"auto"``: ``"mh"`` for more than two classes if the weak learner is a decision stump,
          otherwise ``"discrete"``.

        For more than two classes ``"real"`` and ``"gentle"`` have the weights of ``"mh"``, and
        stumps return a value for each side and class.

    resample : bool or "auto", default="auto"
        If True, each weak learner is fitted to n rows drawn with replacement, with the weights of
        the round as probabilities, instead of to all rows under these weights (Freund and Schapire
        1996). Its error and coefficient are those on all rows. ``"auto"`` does so only if the `fit`
        of the weak learner does not support `sample_weight`; with False this is an error.

    random_state : int, RandomState instance or None, default=None
        Seed of the weak learners that have a `random_state`, and of the rows drawn.

    verbose : int, default=0
        1 prints progress every few seconds, 2 after every round. Callbacks of `sklearn.callback`
        (scikit-learn 1.9) are set by `set_callbacks`; `ScoringMonitor` records the
        score on the training rows after each round.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    n_classes_ : int
        The number of classes.
    algorithm_ : {"discrete", "mh", "real", "gentle"}
        The algorithm that was used.
    estimator_ : estimator
        The weak learner that was cloned in each round.
    estimators_ : list of estimators
        The fitted weak learner of each round. Stumps are `DecisionStumpClassifier` objects for
        ``"discrete"`` and `DecisionStumpRegressor` objects for the others; for more than two
        classes their `predict` returns an array of shape (n_samples, n_classes).
    estimator_weights_ : ndarray of shape (n_rounds,)
        The coefficients alpha_t in scikit-learn's scale (for two classes twice the b_t of the
        literature); the learning rate for ``"real"`` and ``"gentle"``.
    estimator_errors_ : ndarray of shape (n_rounds,)
        eps_t, the error of each weak learner under the weights of its round: those of rows, or of
        rows and classes.
    edges_ : ndarray of shape (n_rounds,)
        gamma_t = 1/2 - eps_t.
    training_error_bounds_ : ndarray of shape (n_rounds,)
        The exponential risk F(u_t) after each round, an upper bound on the (weighted) training
        error for two classes. For ``"discrete"`` with ``learning_rate=1`` it is the running
        product of 2 sqrt(eps_t (1 - eps_t)) [Ghoshdastidar, theorem En.4]. For K > 2 classes and
        ``"mh"``, ``"real"`` or ``"gentle"`` it bounds the Hamming loss, the weight of the rows and
        classes with the wrong sign (Schapire and Singer 1999); sqrt(K - 1) times it bounds the
        training error. For ``"mh"`` it is the same product.
    stop_reason_ : {"n_estimators", "perfect", "no edge", "callback"}
        Why there were no more rounds. ``"perfect"``: a weak learner made no error, and only that
        learner is kept. ``"no edge"``: the weak learner was no better than guessing; the earlier
        ones are kept.
    feature_importances_ : ndarray of shape (n_features,)
        Mean of the weak learners' importances, weighted by their coefficients.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of features seen during `fit`, where they are all strings.

    See Also
    --------
    DecisionStumpClassifier : The default weak learner.
    GradientBoostingClassifier : Boosting for other losses, with any regressor.

    Notes
    -----
    Weights are computed from their logarithms, so that they neither overflow nor all vanish after
    many rounds. Rows of weight 0 are ignored.

    Decision stumps need O(n p log n) operations once and at most O(n p) in each round, and O(n p K)
    with a weight for each row and class. `BinnedTreeClassifier` as weak learner of "discrete" and
    "real" is binned once and needs O(n p) for each level of a tree. A prediction costs O(n_rounds)
    for each row.

    The decision function of ``"discrete"`` is the weighted mean of the votes, and twice that for
    two classes, as in scikit-learn; `margins` uses the scale of the literature. Of ``"mh"`` it is
    the weighted mean of the votes for (+1) and against (-1) each class; of ``"real"`` and
    ``"gentle"`` the sum of the confidences, an estimate of half the log-odds, for more than two
    classes of each class against the others, weighted so that both have the same prior weight.

    With a weight for each row and class, half of a row's weight is that of its own class at the
    start, and the other half is shared by the K - 1 other classes.

    With Dask collections `fit` reads the rows twice: for the classes and the quantiles of the
    columns, and for the numbers of the bins, which stay where the rows are, with one score for each
    row (or row and class). A round then passes over these: the weights are summed in bins, as
    integers, so that the model is the same, bit for bit, however the rows are cut into chunks with
    the same bins; with these bins it is that of rows in memory up to rounding. Stumps without
    `max_bins` have 255 bins then, which is the exact search for columns with fewer values. The
    quantiles are those of samples where a chunk has more than 32,768 rows. Other weak learners,
    resampling and callbacks, which need all rows at once, are refused.

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    D. Ghoshdastidar. *Statistical Foundations of Learning*, lecture "Ensemble methods". Technical
    University of Munich.

    R. D. Shah. *Mathematics of Machine Learning*, lecture notes. University of Cambridge.

    Y. Freund and R. E. Schapire (1996). "Experiments with a new boosting algorithm". *Proceedings
    of the 13th International Conference on Machine Learning*, 148-156.

    J. Friedman, T. Hastie and R. Tibshirani (2000). "Additive logistic regression: a statistical
    view of boosting". *The Annals of Statistics* 28, 337-407.

    R. E. Schapire and Y. Singer (1999). "Improved boosting algorithms using confidence-rated
    predictions". *Machine Learning* 37, 297-336.

    B. Kégl and R. Busa-Fekete (2009). "Boosting products of base classifiers". *Proceedings of the
    26th International Conference on Machine Learning*, 497-504.

    J. Zhu, H. Zou, S. Rosset and T. Hastie (2009). "Multi-class AdaBoost". *Statistics and Its
    Interface* 2, 349-360.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_ensemble_theory import AdaBoostClassifier
    >>> X = np.arange(9.0)[:, None]  # an interval: three stumps are needed
    >>> y = np.array([0, 0, 0, 1, 1, 1, 0, 0, 0])
    >>> model = AdaBoostClassifier(n_estimators=3).fit(X, y)
    >>> model.score(X, y)
    1.0
    >>> model.edges_.round(3)
    array([0.167, 0.25 , 0.333])

    More than two classes:

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = AdaBoostClassifier(n_estimators=20).fit(X, y)
    >>> model.algorithm_, model.decision_function(X).shape
    ('mh', (150, 3))
    """

    algorithm_: str
    edges_: np.ndarray
    training_error_bounds_: np.ndarray
    _reaches: np.ndarray
    _packed: PackedCache

    _parameter_constraints: ClassVar[dict] = {
        **WeightedVotes._parameter_constraints,
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "algorithm": [StrOptions({"auto", "discrete", "mh", "real", "gentle"})],
        "resample": ["boolean", StrOptions({"auto"})],
    }

    def __init__(
        self,
        estimator: Any | None = None,
        *,
        n_estimators: int = 50,
        learning_rate: float = 1.0,
        algorithm: Literal["auto", "discrete", "mh", "real", "gentle"] = "auto",
        resample: bool | Literal["auto"] = "auto",
        random_state: int | np.random.RandomState | None = None,
        verbose: bool | int = 0,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.algorithm = algorithm
        self.resample = resample
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
            The training rows. For decision stumps and binned trees, sparse matrices become dense
            arrays of at most 2**28 values. Or a Dask array or data frame, for decision stumps only.
            A dense X may have missing values (NaN) where the weak learner takes them.
        y : array-like of shape (n_samples,)
            Class labels; or a Dask collection.
        sample_weight : array-like of shape (n_samples,), default=None
            Initial weights; only their ratios matter. Or a Dask collection.
        **fit_params : dict
            Passed to the `fit` of the weak learners if metadata routing is enabled.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If the weak learner cannot be used with the algorithm, does not take the missing values
            of X, or is a given one that is no better than guessing in the first round. With Dask
            collections also for other learners than decision stumps, for ``resample=True`` and for
            callbacks.
        """
        routed = self._routed(fit_params)
        estimator = self._boosted_learner()
        given = X
        X, y = validate_data(self, X, y, **self._data_checks())
        estimator = numbered_learner(estimator, fitted_encoder(self))
        X = self._as_learner_takes_it(X)
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
        rows = kept_rows(X, codes, sample_weight)
        routed = rows.params_of(X, routed)
        X, codes, weight = rows.X, rows.y, rows.shares()

        # Rows are drawn by the weights where the learner does not take these.
        resample = bool(self.resample)
        if self.resample == "auto":
            resample = not has_fit_parameter(estimator, "sample_weight")
        algorithm, task = self._task(codes, classes)
        learner = None if resample else prepare_rounds(estimator, X, weight, task)
        if learner is None and task.kind.startswith("hamming"):
            # A weight for each row and class is for fast paths only: "auto" takes SAMME instead.
            if self.algorithm != "auto":
                name = type(estimator).__name__
                has = "rows are drawn" if resample else f"{name} has one weight for each row"
                raise ValueError(
                    f"estimator: algorithm={algorithm!r} with more than two classes (y has "
                    f"{len(classes)}) requires a weak learner with a weight for each "
                    f"row and class, such as DecisionStumpClassifier, and no resampling; {has}. "
                    "Use algorithm='discrete' (SAMME), or OneVsRestClassifier around "
                    "this estimator."
                )
            algorithm, task = "discrete", ClassTask(codes, classes, "error", self.random_state)
            learner = None if resample else prepare_rounds(estimator, X, weight, task)
        if learner is None:
            self._check_estimator(estimator, resample)
            learner = clone_learner(estimator, X, None, task, routed, resample)
        self.algorithm_ = algorithm

        weight = task.initial_weights(weight)
        risk, step = margin_risk(weight, learner), self._step(task)
        rounds = VotingRounds(risk, learner, step, np.zeros(weight.shape), 0)
        self._learn(
            rounds,
            estimator,
            classes,
            lambda: learner.best(None, weight) if learner.is_exact else None,
            lambda: rows_for_callbacks(given, y, rows, sample_weight is not None),
        )
        return self

    def _fit_chunks(self, rows: ChunkedRows) -> None:
        """`fit` of rows in blocks, which are read twice; a round passes over their codes."""
        estimator = self._boosted_learner()
        # What needs all rows in memory is refused before any pass over them.
        if prepare_sums(estimator, ClassTask(np.arange(2), np.arange(2))) is None:
            raise ValueError(
                f"estimator: {type(estimator).__name__} cannot be fitted to rows in chunks; use "
                "DecisionStumpClassifier, or rows in memory."
            )
        if self.resample is True:
            raise ValueError("resample=True draws rows, which must be in memory for it.")
        if getattr(self, "_skl_callbacks", None):
            raise ValueError(
                "Callbacks (set_callbacks) are given all rows, which must be in memory."
            )
        summary, rows = summary_of_blocks(rows)
        self.algorithm_, task = self._task(np.arange(len(summary.classes)), summary.classes)
        stumps = prepare_sums(estimator, task)
        rounds = rounds_of_blocks(rows, summary, stumps, self._step(task))
        self._learn(rounds, estimator, summary.classes, lambda: (rounds.member, None))

    def _learn(
        self,
        rounds: BoostingRounds | SummedRounds,
        estimator: Any,
        classes: np.ndarray,
        first: Callable[[], tuple[Any, Any] | None],
        data: Callable[[], dict] | None = None,
    ) -> None:
        """Take the rounds and set what is learned.

        `first()` is what the weak learner finds in the first round, None if it is not exact;
        `data()` the rows for callbacks.
        """
        found: list[KeptRound] = []

        def attributes() -> dict:
            errors = np.array([one.error for one in found])
            return {
                "classes_": classes,
                "n_classes_": len(classes),
                "estimator_": estimator,
                "estimator_weights_": np.array([one.alpha for one in found]),
                "estimator_errors_": errors,
                "edges_": 0.5 - errors,
                "training_error_bounds_": np.array([one.risk for one in found]),
                "estimators_": [one.member for one in found],
                "_reaches": np.array([one.reach for one in found]),
                "_packed": PackedCache(),
            }

        reports = RoundReports(self, self.n_estimators, data=data, attributes=attributes)
        if reports.is_silent and isinstance(rounds, BoostingRounds):
            rounds.unseen = self.n_estimators
        stop_reason = "no edge"
        # A perfect learner ends the rounds: its coefficient would be infinite.
        for record in islice(rounds, self.n_estimators):
            error, alpha, reason = record.details
            if reason is not None:  # only this learner is kept
                found[:] = [KeptRound(record.predictor, 1.0, 0.0, 0.0, 1.0)]
                reports.end_round(error=0.0, bound=0.0)
                stop_reason = reason
                break
            votes = self.algorithm_ in VOTING
            reach = 1.0 if votes else float(np.abs(record.outputs).max())
            found.append(KeptRound(record.predictor, alpha, error, record.risk, reach))
            if reports.end_round(error=error, bound=record.risk):
                stop_reason = "callback"
                break
        else:
            if len(found) == self.n_estimators:
                stop_reason = "n_estimators"
        if not found:
            # No round at all: only the constant is kept, if the learner was the best of its class.
            best, stopped = first(), rounds.stop_details
            if stopped is None or best is None:
                error = "" if stopped is None else f" (weighted error {stopped.error:.3g})"
                raise ValueError(
                    f"estimator: in the first round {type(self.estimator).__name__} is as bad as "
                    f"or worse than random guessing{error}, so there is nothing to boost."
                )
            found.append(KeptRound(best[0], 1.0, stopped.error, 1.0, 1.0))
        self.__dict__.update(attributes(), stop_reason_=stop_reason)
        reports.finish(stop_reason)

    def _task(self, codes: np.ndarray, classes: np.ndarray) -> tuple[str, ClassTask | HammingTask]:
        """The algorithm, and what a weak learner with weights of rows and classes is fitted to."""
        if len(classes) > 2 and self.algorithm != "discrete":
            algorithm = "mh" if self.algorithm == "auto" else self.algorithm
            return algorithm, HammingTask(codes, classes, CRITERION_OF[algorithm])
        algorithm = "discrete" if self.algorithm in ("auto", "mh") else self.algorithm
        return algorithm, ClassTask(codes, classes, CRITERION_OF[algorithm], self.random_state)

    def _step(self, task: ClassTask | HammingTask) -> Step:
        if self.learning_rate < SMALLEST_RATE:
            raise ValueError(
                f"learning_rate must be at least {SMALLEST_RATE}, below which the coefficients "
                f"vanish; got {self.learning_rate!r}."
            )
        if self.algorithm_ in VOTING:
            return VotingStep(self.learning_rate, task)
        return ConfidenceStep(self.learning_rate)

    def _check_estimator(self, estimator: Any, resample: bool) -> None:
        """Raise a ValueError where clones of the estimator cannot be used with the algorithm."""
        name = type(estimator).__name__
        if not resample and not has_fit_parameter(estimator, "sample_weight"):
            raise ValueError(
                f"estimator: {name} doesn't support sample_weight, which resample=False requires."
            )
        if self.algorithm == "gentle":
            needed, fits = "regressor", is_regressor(estimator)
        else:
            needed, fits = "classifier", is_classifier(estimator) or not is_regressor(estimator)
        if not fits:
            raise ValueError(
                f"estimator: algorithm={self.algorithm!r} requires a {needed}; {name} is not a "
                f"{needed}."
            )
        if self.algorithm == "real" and not hasattr(estimator, "predict_proba"):
            raise ValueError(
                f"estimator: algorithm='real' requires predict_proba, which {name} does not have."
            )

    def _takes_sparse(self) -> bool:
        return self._becomes_dense() or super()._takes_sparse()

    def _becomes_dense(self) -> bool:
        """Whether a sparse X becomes dense: for fast paths, which store all values anyway."""
        learner = self._boosted_learner()
        return has_fast_path(learner) and not get_tags(learner).input_tags.sparse

    def _as_learner_takes_it(self, X: Any) -> Any:
        if not issparse(X) or not self._becomes_dense():
            return X
        n, p = X.shape
        if n * p > MOST_DENSE_VALUES:
            raise ValueError(
                f"X is sparse of shape {(n, p)}, too large for the dense array that "
                f"{type(self._boosted_learner()).__name__} needs. Use a learner that takes sparse "
                "X, such as estimator=DecisionTreeClassifier(max_depth=1), or fewer rows at once."
            )
        return X.toarray()

    def _check_X(self, X: Any) -> Any:
        return self._as_learner_takes_it(super()._check_X(X))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = (
            self.algorithm in ("auto", "discrete")
            or self.estimator is None
            or has_fast_path(self.estimator)
        )
        return tags

    # --- predictions ------------------------------------------------------------------------

    @property
    def _votes(self) -> Sequence[Votes]:
        K, alphas = self.n_classes_, self.estimator_weights_
        divisors = np.ones(len(alphas))
        if self.algorithm_ in VOTING:
            # As in scikit-learn, the scores of two classes are added up and lie in [-2, 2].
            divisors = np.cumsum(alphas) / (2.0 if K == 2 else 1.0)
            largest = 2.0 if self.algorithm_ == "mh" else K / max(K - 1, 1)
            gaps = np.full(len(alphas), largest)
        else:
            reach = np.maximum(np.cumsum(alphas * self._reaches), np.finfo(float).tiny)
            gaps = reach * (1.0 if K == 2 else 2.0)
        outputs = OUTPUTS_OF[self.algorithm_]
        return [
            Votes(
                self.classes_,
                self.estimators_,
                alphas,
                outputs=outputs,
                divisors=divisors,
                gaps=gaps,
                packed=vars(self).get("_packed"),
            )
        ]

    def _to_proba(self, score: np.ndarray, norm: float) -> np.ndarray:
        K = self.n_classes_
        if K == 1:
            return np.ones((len(score), 1))
        if self.algorithm_ == "discrete":
            if K == 2:
                return softmax(np.column_stack([-score, score]) / 2, copy=False)
            return softmax(score / (K - 1), copy=False)
        if K == 2:
            return np.column_stack([expit(-2 * score), expit(2 * score)])
        # The exponential risk over rows and classes is least at F_k = log((K-1) P_k/(1-P_k))/2.
        twice = score * norm if self.algorithm_ == "mh" else 2 * score
        return softmax(log_expit(twice - np.log(K - 1)), copy=False)

    @by_chunks
    def predict_proba(self, X: Any) -> np.ndarray:
        """Class probabilities of each row.

        For ``"real"`` and ``"gentle"`` these are 1 / (1 + exp(-2 F)), the inverse link of the
        exponential loss. For ``"discrete"`` they are scikit-learn's softmax of the normalised
        votes, which orders the rows as the decision function does and is not calibrated. For more
        than two classes and any algorithm but ``"discrete"`` they are 1 / (1 + (K-1) exp(-2 F_k)),
        the inverse link for each class, divided by their sum.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            Class probabilities, in the order of `classes_`.
        """
        return self._to_proba(self.decision_function(X), self._votes[0].divisors()[-1])

    def staged_predict_proba(self, X: Any) -> Iterator[np.ndarray]:
        """The class probabilities after each round.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to predict.

        Yields
        ------
        proba : ndarray of shape (n_samples, n_classes)
            Class probabilities after the round, in the order of `classes_`.
        """
        divisors = self._votes[0].divisors()
        for score, norm in zip(self.staged_decision_function(X), divisors):
            yield self._to_proba(score, norm)

    @by_chunks
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithms of the class probabilities.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        log_proba : ndarray of shape (n_samples, n_classes)
            Logarithms of the class probabilities, in the order of `classes_`.
        """
        return np.log(np.maximum(self.predict_proba(X), np.finfo(float).tiny))

    def margins(self, X: Any, y: ArrayLike) -> np.ndarray:
        """The normalised margin of each row, in [-1, 1]; positive where it is classified correctly.

        For two classes it is y f(x), divided by the sum of the coefficients (for confidences, times
        the largest outputs of the learners). For more classes it is the score of y minus the
        largest score of another class, divided by the largest possible difference; with
        ``"discrete"`` this is the share of votes for y minus the largest share of another class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows with known classes.
        y : array-like of shape (n_samples,)
            True classes, among `classes_`.

        Returns
        -------
        margins : ndarray of shape (n_samples,)
            Margins.
        """
        score = self.decision_function(X)
        codes, known = codes_of_labels(y, self.classes_, len(score))
        if not known.all():
            raise ValueError("y must contain one of `classes_` for each row of X.")
        K = self.n_classes_
        if K == 1:
            return np.ones(len(score))
        if K == 2:
            gap = (2.0 * codes - 1.0) * score
        else:
            own = score[np.arange(len(score)), codes]
            gap = own - np.where(codes[:, None] == np.arange(K), -np.inf, score).max(axis=1)
        return np.clip(gap / self._votes[0].gaps()[-1], -1.0, 1.0)

    def vc_error_bound(
        self,
        X: ArrayLike,
        y: ArrayLike,
        vc_dimension: int | None = None,
        delta: float = 0.05,
    ) -> float:
        """Bound on the error on new rows by the training error [Ghoshdastidar, theorem En.5].

        With probability at least 1 - delta over the rows, if these are independent and have the
        distribution of new rows. It holds for all votes of `n_estimators` members with any weights
        at once. `n_estimators` must not be chosen by the same rows; a fit with fewer rounds counts
        as one with the others of weight 0.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The training rows.
        y : array-like of shape (n_samples,)
            Their labels.
        vc_dimension : int, default=None
            VC dimension of the class of the weak learners. None for decision stumps, whose number
            on the rows is known.
        delta : float, default=0.05
            Probability of failure, above 0 and at most 1.

        Returns
        -------
        bound : float
            The share of errors on the rows plus
            :func:`~sklearn_ensemble_theory.bounds.stump_generalization_bound` or
            :func:`~sklearn_ensemble_theory.bounds.weighted_voting_generalization_bound`. It says
            nothing where it is 1 or more.

        Raises
        ------
        ValueError
            Where the theorem does not apply: if there are more than two classes, if the algorithm
            is not "discrete", whose members vote for a class, or if there is no `vc_dimension` for
            other weak learners than decision stumps.

        Notes
        -----
        The theorem has an unknown constant; this bound has none. It is below 1 for far more rows
        than rounds only.
        """
        check_is_fitted(self)
        if self.algorithm_ != "discrete" or len(self.classes_) > 2:
            raise ValueError("vc_error_bound needs algorithm='discrete' and two classes.")
        wrong = are_wrong(y, self.predict(X), self.classes_)
        n, T = len(wrong), max(self.n_estimators, len(self.estimators_))
        if vc_dimension is not None:
            bound = weighted_voting_generalization_bound(n, T, vc_dimension, delta)
        elif isinstance(self.estimator_, DecisionStumpClassifier):
            bound = stump_generalization_bound(n, self.n_features_in_, T, delta)
        else:
            raise ValueError(
                f"vc_dimension must be given for {type(self.estimator_).__name__}; that of "
                "decision stumps is not needed."
            )
        return float(wrong.mean()) + bound

    def margin_error_bound(
        self,
        X: ArrayLike,
        y: ArrayLike,
        vc_dimension: int | None = None,
        delta: float = 0.05,
    ) -> float:
        """Bound on the error on new rows by the margins of the training rows.

        With probability at least 1 - delta over the rows, if these are independent and have the
        distribution of new rows. It holds for votes of any number of members at once, which may
        have been chosen by the same rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The training rows.
        y : array-like of shape (n_samples,)
            Their labels, among `classes_`.
        vc_dimension : int, default=None
            VC dimension of the class of the weak learners. None for decision stumps, whose number
            on the rows is known.
        delta : float, default=0.05
            Probability of failure, above 0 and at most 1.

        Returns
        -------
        bound : float
            :func:`~sklearn_ensemble_theory.bounds.rademacher_margin_bound`, at most 1.

        Raises
        ------
        ValueError
            Where the theorem does not apply: as in `vc_error_bound`.

        Notes
        -----
        `vc_error_bound` grows with the number of rounds, and this bound does not: for 20,000 rows
        of two features it was the smaller one from some 10 to 50 rounds on. Cost: a prediction.

        References
        ----------
        V. Koltchinskii and D. Panchenko (2002). "Empirical margin distributions and bounding the
        generalization error of combined classifiers". *Annals of Statistics* 30.
        """
        check_is_fitted(self)
        if self.algorithm_ != "discrete" or len(self.classes_) != 2:
            raise ValueError("margin_error_bound needs algorithm='discrete' and two classes.")
        margins = self.margins(X, y)
        n = len(margins)
        if vc_dimension is not None:
            complexity = vc_rademacher_bound(n, vc_dimension)
        elif isinstance(self.estimator_, DecisionStumpClassifier):
            # p (n - 1) + 1 stumps that differ on n rows, and as many of the other sign.
            log_stumps = math.log(2 * (self.n_features_in_ * (n - 1) + 1))
            complexity = finite_behaviours_rademacher_bound(n, log_stumps)
        else:
            raise ValueError(
                f"vc_dimension must be given for {type(self.estimator_).__name__}; that of "
                "decision stumps is not needed."
            )
        return rademacher_margin_bound(margins, float(complexity), delta)
