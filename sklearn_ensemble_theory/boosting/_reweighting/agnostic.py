"""Agnostic boosting: rows relabelled at random, and -sign(H) as a further candidate."""

from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from sklearn_ensemble_theory._compat import Interval
from sklearn_ensemble_theory._documentation import documented
from sklearn_ensemble_theory._learners import PreparedRounds

from .._loop import BoostingRounds
from .binary import CONSTRAINTS, EARLY_STOPPING, BinaryBooster
from .binary_rounds import (
    SMALLEST_EDGE,
    BinaryPlan,
    BinaryProblem,
    BinaryVotes,
    CappedExponentialRisk,
    CorrelationStep,
    Move,
    VotesWithEdge,
)
from .votes import ALL, SHRINK, TEXTS, vote_product


class RelabelledRounds:
    """A weak learner of relabelled rows, exactly: each row twice, with both labels.

    The row's own label has the weight w (1 + M)/2 and the other one w (1 - M)/2: the mean of
    drawing the label, where the distribution over X stays that of w. The correlation of a
    classifier with the drawn labels is then sum w M y h. A learner that maximises it exactly
    finds the same under the weights w M, so only others are fitted to the 2n rows.
    """

    is_exact = False
    has_scale = True

    def __init__(self, problem: BinaryProblem, risk: CappedExponentialRisk) -> None:
        self.weight, self.risk = problem.weight, risk
        self.weak = problem.weak_learner(both_labels=True)

    def best(
        self, target: Any, weight: np.ndarray, scores: np.ndarray | None = None
    ) -> tuple[Any, np.ndarray] | None:
        assert scores is not None
        half = 0.5 * self.weight
        extra = half * self.risk.measure(scores)
        found = self.weak.best(None, np.concatenate([half + extra, half - extra]))
        return None if found is None else (found[0], found[1][: len(self.weight)])


class VotesOrOpposite(VotesWithEdge):
    """The weak learner's vote, or -sign(H), whichever is more correlated with the relabelled rows.

    `signs` (n,) are y in -1 and +1; the loop ends where neither correlation is above `tol`.
    """

    def __init__(self, weak: PreparedRounds, signs: np.ndarray, tol: float) -> None:
        super().__init__(weak)
        self.signs, self.tol = signs, tol

    def best(
        self, target: np.ndarray, weight: np.ndarray, scores: np.ndarray | None = None
    ) -> tuple[Move, np.ndarray] | None:
        assert scores is not None
        density = float(target[0])
        found = self.weak.best(None, weight, scores)
        gain, edge = -np.inf, np.nan
        if found is not None:
            edge = 0.5 * vote_product(weight, found[1])
            gain = 2 * density * edge
        # The margins of the vote -sign(H), where a score of 0 predicts the first class.
        right, ties = scores > 0, scores == 0
        if ties.any():
            right |= ties & (self.signs < 0)
        opposite = np.int8(1) - np.int8(2) * right.astype(np.int8)
        shrink = density * vote_product(weight, opposite)
        if max(gain, shrink) <= max(self.tol, SMALLEST_EDGE * density):
            self.stop_reason = "no gain"
            return None
        if found is None or shrink > gain:
            return Move(None, SHRINK, np.nan, density), opposite
        return Move(found[0], ALL, edge, density), found[1]


@dataclass(frozen=True, kw_only=True)
class AgnosticPlan(BinaryPlan):
    """Weak learners, or -sign(H), with their correlations with the relabelled rows."""

    learning_rate: float
    tol: float

    def start(self, problem: BinaryProblem) -> tuple[BoostingRounds, BinaryVotes]:
        risk = CappedExponentialRisk(problem.weight)
        weak = problem.weak_learner()
        if not weak.is_exact:
            weak = RelabelledRounds(problem, risk)
        learner = VotesOrOpposite(weak, problem.signs, self.tol)
        rounds = BoostingRounds(
            risk, learner, CorrelationStep(self.learning_rate), np.zeros(len(problem.rows))
        )
        return rounds, BinaryVotes(problem.labels, threshold=0.0)


@documented(TEXTS)
class AgnosticBoostClassifier(BinaryBooster):
    """Agnostic boosting: nearly as few errors as the best of a class, without a model of the noise.

    No assumption is made on the labels [Ghoshdastidar]. Rows that the vote H classifies correctly
    are relabelled at random, more often if their margin is larger. The weak learner therefore sees
    the same distribution of X in every round. Each round adds a weak learner, or -sign(H), with a
    coefficient equal to its correlation with the relabelled rows (Kalai and Kanade 2009).

    Parameters
    ----------
    %(classifier)s
        Learners that are not exact are fitted to each row twice, with both labels.
    %(n_estimators)s
    learning_rate : float, default=1.0
        Factor of each coefficient, in (0, 1].
    tol : float, default=1e-4
        Boosting ends when neither the weak learner nor -sign(H) has a larger correlation.
    %(early_stopping)s
    %(several_classes)s

    %(votes_of_two_classes)s
    moves_ : ndarray of shape (n_rounds,)
        "all" where a weak learner was added to H, "shrink" where -sign(H) was.
    steps_ : ndarray of shape (n_rounds,)
        The coefficient of each round.
    gains_ : ndarray of shape (n_rounds,)
        The correlation of each round, of which the coefficient is a multiple.
    edges_ : ndarray of shape (n_rounds,)
        1/2 minus the error of each weak learner, with weights proportional to the weights of the
        rows in its round; nan for "shrink".
    densities_ : ndarray of shape (n_rounds,)
        The mean weight of the rows in each round.
    %(validation_scores_)s
    stop_reason_ : {"n_estimators", "no gain", "early stopping", "callback", "one class"}
        Why there were no more rounds.

    See Also
    --------
    SmoothBoostClassifier : An average of votes, in which no row has a large weight.
    MassartBoostClassifier : For a known bound on the noise of each label.
    bounds.agnostic_boosting_error_bound : The guarantee below as a function.

    Notes
    -----
    The potential is the mean of phi(y H), with phi(z) = 1 - z for z <= 0 and exp(-z) for z > 0. The
    weights are w = min(1, exp(-y H)). See :ref:`boosters-for-noisy-labels` in the user guide.

    After any round, the training error of sign(H) is at most that of any classifier h, plus half
    the sum of the correlations of h and of -sign(H). With exact stumps it is therefore at most the
    least error of a stump plus the correlation of the next round, `gains_`. This correlation is
    below sqrt(2 / n_rounds) in some round. For other learners see
    `bounds.agnostic_boosting_error_bound`. Kalai and Kanade choose the round by the error on
    held-out rows, as `n_iter_no_change` does.

    %(cost)s

    %(references_Ghoshdastidar)s

    S. Ben-David, P. M. Long and Y. Mansour (2001). "Agnostic boosting". *Proceedings of the 14th
    Annual Conference on Computational Learning Theory*, 507-516.

    A. T. Kalai and V. Kanade (2009). "Potential-based agnostic boosting". *Advances in Neural
    Information Processing Systems* 22, 880-888.

    Examples
    --------
    >>> from sklearn.datasets import make_hastie_10_2
    >>> from sklearn_ensemble_theory import AgnosticBoostClassifier
    >>> X, y = make_hastie_10_2(1_000, random_state=0)
    >>> model = AgnosticBoostClassifier(n_estimators=200).fit(X, y)
    >>> model.score(X, y) > 0.85
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        **CONSTRAINTS,
        **EARLY_STOPPING,
        "learning_rate": [Interval(Real, 0, 1, closed="right")],
        "tol": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        estimator: Any | None = None,
        *,
        n_estimators: int = 100,
        learning_rate: float = 1.0,
        tol: float = 1e-4,
        n_iter_no_change: int | None = None,
        validation_fraction: float = 0.1,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: bool | int = 0,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.validation_fraction = validation_fraction
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _plans(self) -> list[AgnosticPlan]:
        plan = AgnosticPlan(
            n_rounds=self.n_estimators,
            patience=self.n_iter_no_change,
            validation_fraction=self.validation_fraction,
            learning_rate=self.learning_rate,
            tol=self.tol,
        )
        return [plan]
