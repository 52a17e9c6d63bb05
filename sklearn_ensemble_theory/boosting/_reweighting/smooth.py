"""SmoothBoost: an average of votes under weights that no row has too much of (Servedio 2003)."""

import math
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, Literal

import numpy as np

from sklearn_ensemble_theory._compat import Interval, StrOptions
from sklearn_ensemble_theory._documentation import documented
from sklearn_ensemble_theory._learners import PreparedRounds

from .._loop import BoostingRounds
from ..steps import StepResult
from .binary import CONSTRAINTS, EARLY_STOPPING, BinaryBooster
from .binary_rounds import (
    BinaryPlan,
    BinaryProblem,
    BinaryVotes,
    CappedExponentialRisk,
    Move,
    VotesWithEdge,
)
from .votes import TEXTS, VoteStep


class DenseVotes(VotesWithEdge):
    """The weak learner's vote, as long as the measure has a density of at least `smoothness`."""

    def __init__(self, weak: PreparedRounds, smoothness: float) -> None:
        super().__init__(weak)
        self.smoothness = smoothness

    def best(
        self, target: np.ndarray, weight: np.ndarray, scores: np.ndarray | None = None
    ) -> tuple[Move, np.ndarray] | None:
        # The training error is below the density: rows that are misclassified have the measure 1.
        if target[0] < self.smoothness:
            self.stop_reason = "density"
            return None
        return super().best(target, weight, scores)


class EqualVotesStep(VoteStep):
    """N_t = N_{t-1} + y h_t - theta, where theta = gamma / (2 + gamma).

    The details of a round are the largest weight of a row divided by its weight in the data. The
    rate of `risk` is set to -log(1 - gamma) / 2; gamma is None for the least edge so far.
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


@dataclass(frozen=True, kw_only=True)
class SmoothPlan(BinaryPlan):
    """Equal votes under smooth weights; `edge` None is the least edge so far."""

    edge: float | None
    smoothness: float

    def start(self, problem: BinaryProblem) -> tuple[BoostingRounds, BinaryVotes]:
        risk = CappedExponentialRisk(problem.weight)
        learner = DenseVotes(problem.weak_learner(), self.smoothness)
        step = EqualVotesStep(risk, self.edge)
        rounds = BoostingRounds(risk, learner, step, np.zeros(len(problem.rows)))
        return rounds, BinaryVotes(problem.labels, by_mean=True)


@documented(TEXTS)
class SmoothBoostClassifier(BinaryBooster):
    """SmoothBoost for noisy labels: boosting in which no row ever gets a large weight.

    AdaBoost's weights exp(-margin) concentrate on the rows that are always misclassified, for
    instance those with a wrong label [DS-GA 1003, lecture 8]. SmoothBoost (Servedio 2003) bounds
    the weight of every row, at 1/(smoothness n) for n rows of equal weight, and all rounds have the
    same vote.

    %(of_classifier)s
    edge : "adaptive" or float, default="adaptive"
        The edge gamma that is assumed of every weak learner, in (0, 1/2]. A small value needs more
        rounds and uses more equal weights. "adaptive" is the least edge so far.
    smoothness : float, default=0.05
        kappa, the training error to aim at, in (0, 1): no row has more than 1/(smoothness n) of the
        weight. Boosting ends when the density of the measure falls below it; the weighted training
        error is then below it, too.
    %(early_stopping)s
    %(several_classes)s

    %(votes_of_two_classes)s
    largest_weight_ : float
        The largest weight of a row in any round, divided by its weight in the data; for equal
        weights, n times the largest weight. At most 1/smoothness.
    edges_ : ndarray of shape (n_rounds,)
        1/2 minus the error of each weak learner under the weights of its round.
    densities_ : ndarray of shape (n_rounds,)
        The density in each round, the mean of the measure of the rows.
    gains_ : ndarray of shape (n_rounds,)
        The correlation of each vote with the labels under the measure, 2 edge density.
    moves_ : ndarray of shape (n_rounds,)
        "all" in every round: votes count for all rows.
    steps_ : ndarray of shape (n_rounds,)
        1 in every round.
    %(validation_scores_)s
    stop_reason_ : {"n_estimators", "density", "no edge", "early stopping", "callback", "one class"}
        Why there were no more rounds. ``"density"``: the density fell below `smoothness`. ``"no
        edge"``: the weak learner was no better than guessing.

    See Also
    --------
    AdaBoostClassifier : Fewer rounds, for labels without noise.
    AgnosticBoostClassifier : Weights that compare with the best weak learner.
    MassartBoostClassifier : For a known bound on the noise of each label.
    bounds.smooth_boosting_n_rounds : The number of rounds that reach a training error.

    Notes
    -----
    The weights are proportional to a measure of the rows, whose mean is the density. A row that the
    vote misclassifies has the measure 1, so the training error is below the density. If every edge
    is at least gamma, there are fewer than 2 / (kappa gamma² sqrt(1 - gamma)) rounds until the
    density is below kappa (Servedio 2003). With labels of noise rate eta the edges become small
    before the density reaches a kappa much below eta, and boosting goes on to `n_estimators`. The
    measure is in :ref:`boosters-for-noisy-labels` in the user guide.

    %(cost)s

    %(references_DSGA)s

    R. A. Servedio (2003). "Smooth boosting and learning with malicious noise". *Journal of Machine
    Learning Research* 4, 633-648.

    Examples
    --------
    >>> from sklearn.datasets import make_hastie_10_2
    >>> from sklearn_ensemble_theory import SmoothBoostClassifier
    >>> X, y = make_hastie_10_2(1_000, random_state=0)
    >>> model = SmoothBoostClassifier(n_estimators=50).fit(X, y)
    >>> bool(model.largest_weight_ <= 1 / model.smoothness)
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        **CONSTRAINTS,
        **EARLY_STOPPING,
        "edge": [
            StrOptions({"adaptive"}),
            # Of smaller ones the weights of rows cannot be distinguished.
            Interval(Real, np.finfo(float).tiny, 0.5, closed="both"),
        ],
        "smoothness": [Interval(Real, 0, 1, closed="neither")],
    }

    def __init__(
        self,
        estimator: Any | None = None,
        *,
        n_estimators: int = 100,
        edge: float | Literal["adaptive"] = "adaptive",
        smoothness: float = 0.05,
        n_iter_no_change: int | None = None,
        validation_fraction: float = 0.1,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: bool | int = 0,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.edge = edge
        self.smoothness = smoothness
        self.n_iter_no_change = n_iter_no_change
        self.validation_fraction = validation_fraction
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _plans(self) -> list[SmoothPlan]:
        plan = SmoothPlan(
            n_rounds=self.n_estimators,
            patience=self.n_iter_no_change,
            validation_fraction=self.validation_fraction,
            edge=None if isinstance(self.edge, str) else self.edge,
            smoothness=self.smoothness,
        )
        return [plan]

    def _attributes(self, fitted: list[BinaryVotes]) -> dict:
        found = super()._attributes(fitted)
        found["largest_weight_"] = max((max([1.0, *v.details]) for v in fitted), default=1.0)
        return found
