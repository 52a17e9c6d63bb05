"""AdaBoost: the exponential loss, weak classifiers, the exact step (000 section 10.3.4)."""

import math
from itertools import islice
from numbers import Integral, Real

import numpy as np
from scipy.special import logsumexp
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    MetaEstimatorMixin,
    is_classifier,
    is_regressor,
)
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    has_fit_parameter,
    validate_data,
)

from sklearn_ensemble_theory._compat import (
    HasMethods,
    Interval,
    StrOptions,
    check_sample_weight,
    fit_context,
    raise_for_params,
    routing_enabled,
)
from sklearn_ensemble_theory._weights import normalised_weights, positive_rows
from sklearn_ensemble_theory.boosting._adaboost.base import STUMPS, VotesMixin
from sklearn_ensemble_theory.boosting._adaboost.learners import (
    ConfidenceStumps,
    LabelEstimators,
    LabelStumps,
    MeanEstimators,
    ProbabilityEstimators,
    vote_values,
)
from sklearn_ensemble_theory.boosting._core.loop import boost
from sklearn_ensemble_theory.boosting._core.risk import MarginRisk, inner
from sklearn_ensemble_theory.boosting._core.steps import FixedStep
from sklearn_ensemble_theory.erm import DecisionStumpClassifier

# An edge below this is rounding: after a step the learner's own edge is 0 up to 1e-16.
SMALLEST_EDGE = 1e-12


class VotingStep(FixedStep):
    """The exact line search for votes: b = (K-1)²/K alpha, alpha = log((1-eps)/eps) + log(K-1).

    Keeps eps and alpha of the last round, and why it ended the loop.
    """

    def __init__(self, learning_rate, n_classes):
        super().__init__(learning_rate)
        self.K = max(n_classes, 2)
        self.ended = None

    def __call__(self, t, risk, u, psi, here, slope):
        right, wrong = vote_values(self.K)
        self.error = (right - slope) / (right - wrong)
        if self.error >= 1 - 1 / self.K - SMALLEST_EDGE:
            self.ended = "no edge"
            return None
        if self.error > 1e-6:
            log_error = math.log(self.error)
        else:  # too small for a difference, perhaps for a float
            mistakes = psi < 0
            if not mistakes.any():
                self.error, self.alpha, self.ended = 0.0, 1.0, "perfect"
                return 1.0
            self.error = float(here.weight[mistakes].sum())
            log_error = float(logsumexp(risk.log_weight(u)[mistakes])) - risk.log_value(u)
        alpha = math.log1p(-self.error) - log_error + math.log(self.K - 1)
        self.alpha = self.rate(t) * alpha
        return self.alpha * (self.K - 1) ** 2 / self.K


class ConfidenceStep(FixedStep):
    """Outputs that are confidences already: b is the learning rate."""

    def __init__(self, learning_rate):
        super().__init__(learning_rate)
        self.ended = None

    def __call__(self, t, risk, u, psi, here, slope):
        wrong = psi <= 0
        if not wrong.any():
            self.error, self.alpha, self.ended = 0.0, 1.0, "perfect"
            return 1.0
        # A row with output 0 is half wrong, as a vote thrown by a coin.
        self.error = inner(here.weight, wrong) - 0.5 * inner(here.weight, psi == 0)
        self.alpha = self.rate(t)
        if not slope > SMALLEST_EDGE:
            self.ended = "no edge"
            return None
        return self.alpha


class AdaBoostClassifier(VotesMixin, ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """AdaBoost with exact stumps, or any classifier, in three algorithms.

    Each round fits a weak learner to the rows under weights proportional to exp(-margin) and adds
    it with the coefficient that minimises the exponential risk. A drop-in for
    :class:`sklearn.ensemble.AdaBoostClassifier`, whose parameters and attributes keep their
    meaning; the default weak learner differs: the stump with the least weighted error instead of
    the tree of depth one with the least Gini index.

    Parameters
    ----------
    estimator : object, default=None
        The weak learner; its `fit` must take `sample_weight`. None is
        ``DecisionStumpClassifier()``, sorted once for all rounds; with
        ``DecisionStumpClassifier(max_bins=255)`` binned once. A classifier for
        ``algorithm="discrete"``, one with `predict_proba` for ``"real"``, a regressor (of -1 and
        +1) for ``"gentle"``; stumps serve all three.

    n_estimators : int, default=50
        The largest number of rounds.

    learning_rate : float, default=1.0
        Each coefficient is multiplied by it.

    algorithm : {"discrete", "real", "gentle"}, default="discrete"
        - ``"discrete"``: learners vote, with the exact line search
          alpha = log((1 - eps) / eps) (001, 003 section 4.2, 000 section 10.3.4); for K > 2
          classes SAMME, alpha + log(K - 1).
        - ``"real"``: confidence-rated stumps that minimise Z = 2 sum sqrt(W+ W-) and answer half
          the log-odds of each side (Schapire and Singer 1999); two classes.
        - ``"gentle"``: least squares to -1 and +1, Newton steps of the exponential loss
          (Friedman, Hastie and Tibshirani 2000); two classes. The least sensitive to wrong labels.

    random_state : int, RandomState instance or None, default=None
        Seeds the weak learners that have a `random_state`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_classes_ : int
    estimator_ : estimator
        The weak learner that was cloned in each round.
    estimators_ : list of estimators
        One a round; fitted stumps are `DecisionStumpClassifier` (discrete) or
        `DecisionStumpRegressor` (real, gentle).
    estimator_weights_ : ndarray of shape (n_rounds,)
        Coefficients alpha_t in scikit-learn's scale (twice the b_t of the literature for two
        classes); the learning rate for real and gentle.
    estimator_errors_ : ndarray of shape (n_rounds,)
        eps_t: error under the weights of the round.
    edges_ : ndarray of shape (n_rounds,)
        gamma_t = 1/2 - eps_t.
    training_error_bounds_ : ndarray of shape (n_rounds,)
        The exponential risk F(u_t) after each round, at least the (weighted) training error for
        two classes. For ``"discrete"`` with ``learning_rate=1`` it is the running product of
        2 sqrt(eps_t (1 - eps_t)) of theorem En.4 of 001.
    stop_reason_ : {"n_estimators", "perfect", "no edge"}
        Why there were no more rounds. ``"perfect"``: a learner without any error, which then
        decides alone. ``"no edge"``: no learner better than guessing; the earlier ones are kept.
    feature_importances_ : ndarray of shape (n_features,)
        Mean of the learners' importances, by their coefficients.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    Notes
    -----
    Weights are kept as logarithms: no number of rounds makes them overflow or all vanish. Rows of
    weight 0 are left out before anything else.

    With stumps O(n p log n) once and O(n p) a round at most; a prediction is O(n_rounds) a row.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_ensemble_theory import AdaBoostClassifier
    >>> X = np.arange(9.0)[:, None]  # an interval on the line: no stump has it, three have
    >>> y = np.array([0, 0, 0, 1, 1, 1, 0, 0, 0])
    >>> model = AdaBoostClassifier(n_estimators=3).fit(X, y)
    >>> model.score(X, y)
    1.0
    >>> model.edges_.round(3)
    array([0.167, 0.25 , 0.333])
    """

    _parameter_constraints: dict = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "algorithm": [StrOptions({"discrete", "real", "gentle"})],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator=None,
        *,
        n_estimators=50,
        learning_rate=1.0,
        algorithm="discrete",
        random_state=None,
    ):
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.algorithm = algorithm
        self.random_state = random_state

    def __sklearn_is_fitted__(self):
        return hasattr(self, "estimators_")

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, sample_weight=None, **fit_params):
        """Boost the weak learner.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Sparse where the weak learner takes it; stumps do not.
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None
            Weights to start from; only their ratios matter.
        **fit_params : dict
            Routed to the weak learners' `fit` where metadata routing is enabled.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If the weak learner does not fit the algorithm, or a given one is no better than
            guessing in the first round.
        """
        raise_for_params(fit_params, self, "fit")
        routed = {}
        if routing_enabled():
            routed = process_routing(self, "fit", **fit_params)["estimator"]["fit"]
        estimator = self._checked_estimator()
        X, y = validate_data(self, X, y, **self._data_checks())
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
        if len(classes) > 2 and self.algorithm != "discrete":
            raise ValueError(
                f"algorithm={self.algorithm!r} is for two classes, y has {len(classes)} classes; "
                "use algorithm='discrete' (SAMME), or OneVsRestClassifier around this one."
            )
        weight = check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        weight = normalised_weights(weight, len(y))
        rows = positive_rows(weight)
        if not isinstance(rows, slice):
            X, y, codes, weight = X[rows], y[rows], codes[rows], weight[rows]
        learner = self._learner(estimator, X, y, codes, classes, weight, routed)
        if self.algorithm == "discrete":
            step = VotingStep(self.learning_rate, len(classes))
        else:
            step = ConfidenceStep(self.learning_rate)
        rounds = self._rounds(learner, step, weight)
        if not rounds:
            rounds = self._without_edge(learner, step, weight)

        members, alphas, errors, risks, reaches = zip(*rounds)
        self.classes_, self.n_classes_ = classes, len(classes)
        self.estimator_ = estimator
        self.estimator_weights_ = np.array(alphas)
        self.estimator_errors_ = np.array(errors)
        self.edges_ = 0.5 - self.estimator_errors_
        self.training_error_bounds_ = np.array(risks)
        self._reaches = np.array(reaches)
        self.stop_reason_ = step.ended or "n_estimators"
        self.estimators_ = list(members)
        return self

    def _rounds(self, learner, step, weight):
        """(learner, alpha, eps, F, largest output) of each round, by the loop."""
        kept, n = [], len(weight)
        loop = boost(MarginRisk(weight), learner, step, np.zeros(n))
        for record in islice(loop, self.n_estimators):
            if step.ended == "perfect":
                return [(record.predictor, 1.0, 0.0, 0.0, 1.0)]
            reach = 1.0 if self.algorithm == "discrete" else float(np.abs(record.outputs).max())
            kept.append((record.predictor, step.alpha, step.error, record.risk, reach))
        return kept

    def _without_edge(self, learner, step, weight):
        """Not one round: the best constant alone, if the learner was the best of its class."""
        if not learner.is_exact:
            name = type(self.estimator).__name__
            raise ValueError(
                f"estimator: in the first round {name} is as bad as or worse than random guessing "
                f"(weighted error {step.error:.3g}), so there is nothing to boost."
            )
        member, _ = learner.best(None, weight)
        return [(member, 1.0, step.error, 1.0, 1.0)]

    def _checked_estimator(self):
        """The weak learner, or a ValueError that says why it does not serve the algorithm."""
        estimator = DecisionStumpClassifier() if self.estimator is None else self.estimator
        if type(estimator) in STUMPS:
            return estimator
        name = type(estimator).__name__
        if not has_fit_parameter(estimator, "sample_weight"):
            raise ValueError(f"estimator: {name} doesn't support sample_weight.")
        if self.algorithm == "gentle" and not is_regressor(estimator):
            raise ValueError(f"estimator: algorithm='gentle' fits regressors, {name} is none.")
        if self.algorithm != "gentle" and is_regressor(estimator) and not is_classifier(estimator):
            raise ValueError(
                f"estimator: algorithm={self.algorithm!r} fits classifiers, {name} is none."
            )
        if self.algorithm == "real" and not hasattr(estimator, "predict_proba"):
            raise ValueError(f"estimator: algorithm='real' needs predict_proba, {name} has none.")
        return estimator

    def _learner(self, estimator, X, y, codes, classes, weight, routed):
        rng, kind = self.random_state, self.algorithm
        if type(estimator) in STUMPS:
            if kind == "discrete":
                return LabelStumps(X, codes, classes, estimator.max_bins, weight)
            codes = codes if len(classes) == 2 else np.ones_like(codes)
            return ConfidenceStumps(X, codes, estimator.max_bins, weight, kind == "gentle")
        if kind == "discrete":
            return LabelEstimators(estimator, X, y, len(classes), rng, routed)
        if kind == "real":
            return ProbabilityEstimators(estimator, X, y, codes, classes, rng, routed)
        return MeanEstimators(estimator, X, codes, rng, routed)

    def _data_checks(self):
        if self.estimator is None or type(self.estimator) in STUMPS:
            return {"dtype": [np.float64, np.float32]}
        # A learner of one's own judges its X itself, as in scikit-learn.
        return {"accept_sparse": ["csr", "csc"], "allow_nd": True, "dtype": None}

    def get_metadata_routing(self):
        """Metadata asked for by this estimator and by its weak learner."""
        estimator = DecisionStumpClassifier() if self.estimator is None else self.estimator
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(
                estimator=estimator,
                method_mapping=MethodMapping().add(caller="fit", callee="fit"),
            )
        )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        learner = self.estimator if hasattr(self.estimator, "__sklearn_tags__") else None
        tags.input_tags.sparse = learner is not None and get_tags(learner).input_tags.sparse
        tags.classifier_tags.multi_class = self.algorithm == "discrete"
        return tags
