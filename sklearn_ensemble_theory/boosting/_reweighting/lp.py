"""LPBoost: the vote of the largest soft margin, by columns of a linear programme."""

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import linprog

from sklearn_ensemble_theory._compat import Interval

from .._loop import BoostingRounds, boost
from .._risk import RiskState
from .._steps import Step, StepResult
from .binary import BinaryBooster, BinaryProblem, CorrectedVotes, Move, VotesWithEdge, by_class


class SoftMargin(Step):
    """Risk and step: minus the soft margin of the members so far, whose dual weighs the rows."""

    def __init__(self, weight: np.ndarray, nu: float) -> None:
        super().__init__()
        self.cap, self.dual, self.margin = weight / nu, weight, -np.inf
        self.group, self.margins = np.zeros(len(weight), dtype=np.intp), np.empty((0, 1))

    def at(self, u: np.ndarray) -> RiskState:
        value = -self.margin if self.margins.size else 0.0
        return RiskState(value, np.broadcast_to(1.0, len(u)), self.dual)

    def __call__(
        self, t: int, risk: Any, u: np.ndarray, psi: np.ndarray, state: Any, gain: float
    ) -> StepResult:
        # Rows that all members treat alike share one variable by their caps: the programme is
        # small, and does not depend on the order of the rows, nor on whether they are repeated.
        code = 2 * self.group + (psi > 0)
        kept = np.flatnonzero(np.bincount(code))
        self.group = np.searchsorted(kept, code)
        self.margins = np.vstack([self.margins[:, kept // 2], 2.0 * (kept % 2) - 1.0])
        cap = np.bincount(self.group, self.cap)
        found = linprog(
            np.append(np.zeros(len(cap)), 1.0),
            A_ub=np.column_stack([self.margins, -np.ones(t + 1)]),
            b_ub=np.zeros(t + 1),
            A_eq=[np.append(np.ones(len(cap)), 0.0)],
            b_eq=[1.0],
            bounds=np.column_stack([np.append(0.0 * cap, -np.inf), np.append(cap, np.inf)]),
        )
        if found.x is None:
            raise ValueError(f"nu: the linear programme has not been solved. {found.message}")
        self.margin, mass = found.fun, np.clip(found.x[:-1], 0.0, cap)
        self.dual = self.cap * (mass / cap)[self.group]
        self.dual /= self.dual.sum()
        alphas = np.maximum(-found.ineqlin.marginals, 0.0)
        return StepResult(alphas[-1], alphas / alphas.sum())

    def move(self, u: np.ndarray, psi: np.ndarray, b: float) -> None:
        """The weights come from the dual solution, not from the scores."""


class ViolatedVotes(VotesWithEdge):
    """The weak learner's vote, as long as it adds to the soft margin."""

    def __init__(self, problem: BinaryProblem, risk: SoftMargin, tol: float) -> None:
        super().__init__(problem.weak_learner())
        self.risk, self.tol = risk, tol

    def best(
        self, target: np.ndarray, weight: np.ndarray, scores: np.ndarray | None = None
    ) -> tuple[Move, np.ndarray] | None:
        found = super().best(target, weight, scores)
        if found is not None and 2 * found[0].edge <= self.risk.margin + self.tol:
            self.stop_reason = "optimal"
            return None
        return found


class LPBoostClassifier(BinaryBooster):
    """LPBoost: the vote with the largest soft margin of all votes of a class of weak learners.

    Each round fits the weak learner under the dual solution of a linear programme and solves it
    again with the new member, so that all coefficients change (Demiriz, Bennett and Shawe-Taylor
    2002). It ends with a certificate: no vote of weak learners is better by more than `tol`.

    Parameters
    ----------
    estimator : object, default=None
        The weak learner, a classifier whose `fit` supports `sample_weight`. If None, it is
        ``DecisionStumpClassifier()``.
    n_estimators : int, default=100
        The maximum number of rounds.
    nu : float, default=0.2
        In (0, 1): at most this share of the weight has margins below the one that is maximised. The
        weight of a row is at most its share divided by `nu`. Where labels are wrong, take at least
        twice the share of these.
    tol : float, default=1e-4
        Boosting ends when no weak learner has an edge 2 gamma of more than the soft margin + `tol`.
    n_jobs : int, default=None
        The number of threads for more than two classes, which are fitted one against the rest.
    random_state : int, RandomState instance or None, default=None
        Seed of the weak learners that have a `random_state`.
    verbose : int, default=0
        1 prints progress every few seconds, 2 after every round.

    Attributes
    ----------
    classes_, n_classes_ : ndarray of shape (n_classes,), int
        The class labels, and their number.
    estimator_ : estimator
        The weak learner that was cloned in each round.
    estimators_ : list of estimators
        The fitted weak learners. For more than two classes, this and the following attributes are
        lists of one entry for each class, which is told from the rest.
    n_estimators_ : int
        The number of rounds.
    steps_ : ndarray of shape (n_rounds,)
        The coefficients after the last round, of sum 1; those of many members are 0.
    soft_margin_ : float
        The largest rho - sum w_i xi_i / nu with margins y_i f(x_i) >= rho - xi_i and xi >= 0.
    edges_ : ndarray of shape (n_rounds,)
        1/2 minus the error of each weak learner under the weights of its round. If the learner is
        exact, as stumps are, no vote has a soft margin above twice the least of them.
    gains_, densities_, moves_ : ndarray of shape (n_rounds,)
        Twice the edges, 1 and "all" in every round.
    train_scores_ : ndarray of shape (n_rounds,)
        Minus the soft margin after each round.
    stop_reason_ : {"n_estimators", "optimal", "no edge", "callback", "one class"}
        Why there were no more rounds.
    feature_importances_ : ndarray of shape (n_features,)
        Mean of the weak learners' importances, weighted by their coefficients.
    n_features_in_, feature_names_in_ : int, ndarray of shape (n_features,)
        Of the features seen during `fit`: their number, and their names where these are strings.

    See Also
    --------
    SmoothBoostClassifier : Bounded weights in closed form, and equal votes.
    AdaBoostClassifier : Coefficients that stay, for the exponential risk.

    Notes
    -----
    A round costs one fit of the weak learner and one linear programme of as many variables as there
    are rows that the members treat differently. A prediction costs O(n_rounds) for each row.

    References
    ----------
    A. Demiriz, K. P. Bennett and J. Shawe-Taylor (2002). "Linear programming boosting via column
    generation". *Machine Learning* 46, 225-254.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_ensemble_theory import LPBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LPBoostClassifier(nu=0.2).fit(X, y)
    >>> model.stop_reason_, round(model.soft_margin_, 2)
    ('optimal', 0.28)
    """

    n_iter_no_change = None
    _parameter_constraints: ClassVar[dict] = {
        **BinaryBooster._parameter_constraints,
        "nu": [Interval(Real, 0, 1, closed="neither")],
        "tol": [Interval(Real, 0, None, closed="left")],
    }
    del _parameter_constraints["n_iter_no_change"], _parameter_constraints["validation_fraction"]

    def __init__(
        self,
        estimator: Any | None = None,
        *,
        n_estimators: int = 100,
        nu: float = 0.2,
        tol: float = 1e-4,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: bool | int = 0,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.nu = nu
        self.tol = tol
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _start(self, problem: BinaryProblem, setting: Any) -> tuple[BoostingRounds, CorrectedVotes]:
        margin = SoftMargin(problem.weight, self.nu)
        learner = ViolatedVotes(problem, margin, self.tol)
        rounds = boost(margin, learner, margin, np.zeros(len(problem.rows)))
        return rounds, CorrectedVotes(problem.labels)

    def _attributes(self, fitted: list) -> dict:
        soft = by_class(-votes.risks[-1] for votes in fitted)
        return {**super()._attributes(fitted), "soft_margin_": soft}
