"""SmoothBoost: an average of votes under weights that no row has too much of (Servedio 2003)."""

import math
from numbers import Real
from typing import Any, ClassVar, Literal

import numpy as np

from sklearn_ensemble_theory._compat import Interval, StrOptions
from sklearn_ensemble_theory._learners import PreparedRounds

from .._loop import BoostingRounds, boost
from .._steps import StepResult
from .binary import (
    BinaryBooster,
    BinaryProblem,
    BinaryVotes,
    CappedExponentialRisk,
    Move,
    VotesWithEdge,
    by_class,
)
from .votes import VoteStep


class DenseVotes(VotesWithEdge):
    """The weak learner's vote, as long as the measure has a density of at least kappa."""

    def __init__(self, weak: PreparedRounds, kappa: float) -> None:
        super().__init__(weak)
        self.kappa = kappa

    def best(
        self, target: np.ndarray, weight: np.ndarray, scores: np.ndarray | None = None
    ) -> tuple[Move, np.ndarray] | None:
        # The training error is below the density: rows that are misclassified have the measure 1.
        if target[0] < self.kappa:
            self.stop_reason = "density"
            return None
        return super().best(target, weight, scores)


class EqualVotesStep(VoteStep):
    """N_t = N_{t-1} + y h_t - theta, where theta = gamma / (2 + gamma).

    The details of a round are the largest weight of a row divided by its weight in the data.

    Parameters
    ----------
    risk : CappedExponentialRisk
        Its rate is set to -log(1 - gamma) / 2.
    gamma : float or None
        None for the least edge so far.
    """

    def __init__(self, risk: CappedExponentialRisk, gamma: float | None) -> None:
        super().__init__()
        self.risk, self.adaptive = risk, gamma is None
        self._set(0.5 if gamma is None else gamma)

    def _set(self, gamma: float) -> None:
        self.gamma = gamma
        self.risk.rate = -0.5 * math.log1p(-gamma)

    def __call__(
        self, t: int, risk: Any, u: np.ndarray, psi: np.ndarray, state: Any, gain: float
    ) -> StepResult:
        largest = math.exp(-risk.rate * max(float(u.min()), 0.0))
        smoothness = largest / state.density
        if self.adaptive:
            self._set(min(self.gamma, 0.5 * gain / state.density))
        return StepResult(1.0, smoothness)

    def move(self, u: np.ndarray, psi: np.ndarray, b: float) -> None:
        super().move(u, psi, b)
        u -= self.gamma / (2.0 + self.gamma)


class SmoothBoostClassifier(BinaryBooster):
    """SmoothBoost: an average of votes, in which no row ever has a large weight.

    AdaBoost's weights exp(-margin) concentrate on the rows that are always misclassified, for
    instance those with a wrong label [DS-GA 1003, lecture 8]. SmoothBoost (Servedio 2003) bounds
    the weight of every row, at 1/(kappa n) for n rows of equal weight, and all rounds have the same
    vote.

    Parameters
    ----------
    estimator : object, default=None
        The weak learner, a classifier whose `fit` supports `sample_weight`. If None, it is
        ``DecisionStumpClassifier()``, which sorts the features once for all rounds.

    n_estimators : int, default=100
        The maximum number of rounds.

    gamma : "adaptive" or float, default="adaptive"
        The edge that is assumed of every weak learner, in (0, 1/2]. A small value needs more
        rounds and uses more equal weights. "adaptive" is the least edge so far.

    kappa : float, default=0.05
        The training error to aim at, in (0, 1). Boosting ends when the density of the measure
        falls below it; the weighted training error is then below it, too.

    n_iter_no_change : int, default=None
        If given, a part of the rows is held out, boosting ends when their error has not decreased
        for so many rounds, and the rounds up to the least error are kept.

    validation_fraction : float, default=0.1
        The share of rows to hold out for `n_iter_no_change`.

    n_jobs : int, default=None
        The number of threads for more than two classes, which are fitted one against the rest.

    random_state : int, RandomState instance or None, default=None
        Seed of the weak learners that have a `random_state`, and of the rows held out.

    verbose : int, default=0
        1 prints progress every few seconds, 2 after every round. Callbacks of `sklearn.callback`
        (scikit-learn 1.9) are set by `set_callbacks`; they see the rounds of all classes.
        `ScoringMonitor` records the score on the rows fitted after each round; for more than two
        classes, which are fitted one after another, at the end of the fit only.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    n_classes_ : int
        The number of classes.
    estimator_ : estimator
        The weak learner that was cloned in each round.
    estimators_ : list of estimators
        The fitted weak learner of each round. For more than two classes, this and the following
        attributes are lists of one entry for each class.
    n_estimators_ : int
        The number of rounds.
    smoothness_ : float
        The largest weight of a row in any round, divided by its weight in the data; for equal
        weights, n times the largest weight. At most 1/kappa.
    edges_ : ndarray of shape (n_rounds,)
        1/2 minus the error of each weak learner under the weights of its round.
    gamma_ : float
        The edge assumed: `gamma`, or the least edge of all rounds, the last one included.
    densities_ : ndarray of shape (n_rounds,)
        The density of the measure in each round, the mean of M(i).
    gains_ : ndarray of shape (n_rounds,)
        The correlation of each vote with the labels under the measure, 2 edge density.
    moves_ : ndarray of shape (n_rounds,)
        "all" in every round: votes count for all rows.
    steps_ : ndarray of shape (n_rounds,)
        1 in every round.
    train_scores_ : ndarray of shape (n_rounds,)
        The potential after each round.
    validation_errors_ : ndarray
        The error on the rows held out after each round; only with `n_iter_no_change`.
    stop_reason_ : {"n_estimators", "density", "no edge", "early stopping", "callback", "one class"}
        Why there were no more rounds. ``"density"``: the density fell below `kappa`. ``"no edge"``:
        the weak learner was no better than guessing.
    feature_importances_ : ndarray of shape (n_features,)
        Mean of the weak learners' importances.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of features seen during `fit`, where they are all strings.

    See Also
    --------
    AdaBoostClassifier : Fewer rounds, for labels without noise.
    AgnosticBoostClassifier : Weights that compare with the best weak learner.
    MassartBoostClassifier : For a known bound on the noise of each label.
    bounds.smooth_boosting_n_rounds : The number of rounds that reach a training error.

    Notes
    -----
    With N_t(i) = sum_s (y_i h_s(x_i) - theta) and theta = gamma / (2 + gamma), the weights are
    proportional to the measure M_{t+1}(i) = 1 if N_t(i) < 0, and (1 - gamma)^(N_t(i)/2) otherwise.
    A row that the vote misclassifies has N < 0, so that the training error is below the density.
    If every edge is at least gamma, there are fewer than 2 / (kappa gamma² sqrt(1 - gamma)) rounds
    until the density is below kappa (Servedio 2003). With labels of noise rate eta the edges become
    small before the density reaches a kappa much below eta, and boosting goes on to `n_estimators`.

    For `gamma="adaptive"`, gamma is the least of the edges so far in both formulas. The smoothness
    and the training error have the same bounds.

    For n rows and p features a round of stumps costs O(n p) operations after O(n p log n) once. A
    prediction costs O(n_rounds) for each row.

    References
    ----------
    *DS-GA 1003: Machine Learning*, lecture 8, "Boosting and 'classical ML' review". New York
    University.

    R. A. Servedio (2003). "Smooth boosting and learning with malicious noise". *Journal of Machine
    Learning Research* 4, 633-648.

    Examples
    --------
    >>> from sklearn.datasets import make_hastie_10_2
    >>> from sklearn_ensemble_theory import SmoothBoostClassifier
    >>> X, y = make_hastie_10_2(1_000, random_state=0)
    >>> model = SmoothBoostClassifier(n_estimators=50).fit(X, y)
    >>> bool(model.smoothness_ <= 1 / model.kappa)
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        **BinaryBooster._parameter_constraints,
        "gamma": [
            StrOptions({"adaptive"}),
            # Of smaller ones the weights of rows cannot be distinguished.
            Interval(Real, np.finfo(float).tiny, 0.5, closed="both"),
        ],
        "kappa": [Interval(Real, 0, 1, closed="neither")],
    }

    def __init__(
        self,
        estimator: Any | None = None,
        *,
        n_estimators: int = 100,
        gamma: float | Literal["adaptive"] = "adaptive",
        kappa: float = 0.05,
        n_iter_no_change: int | None = None,
        validation_fraction: float = 0.1,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: bool | int = 0,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.gamma = gamma
        self.kappa = kappa
        self.n_iter_no_change = n_iter_no_change
        self.validation_fraction = validation_fraction
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _start(self, problem: BinaryProblem, setting: Any) -> tuple[BoostingRounds, BinaryVotes]:
        risk = CappedExponentialRisk(problem.weight)
        step = EqualVotesStep(risk, None if isinstance(self.gamma, str) else self.gamma)
        learner = DenseVotes(problem.weak_learner(), self.kappa)
        rounds = boost(risk, learner, step, np.zeros(len(problem.rows)))
        return rounds, BinaryVotes(problem.labels, by_mean=True)

    def _attributes(self, fitted: list[BinaryVotes]) -> dict:
        found = super()._attributes(fitted)
        found["smoothness_"] = max((max([1.0, *v.details]) for v in fitted), default=1.0)
        least = [min(0.5, *votes.edges) for votes in fitted]
        gammas = [self.gamma] * len(fitted) if isinstance(self.gamma, Real) else least
        found["gamma_"] = by_class(gammas)
        return found
