"""LPBoost: the vote of the largest soft margin, by columns of a linear programme."""

from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from sklearn_ensemble_theory._compat import Interval
from sklearn_ensemble_theory._documentation import documented
from sklearn_ensemble_theory._running import warn_user

from .._loop import BoostingRounds
from .._risk import RiskState
from ..steps import Step, StepResult
from .binary import CONSTRAINTS, BinaryBooster
from .binary_rounds import (
    BinaryPlan,
    BinaryProblem,
    BinaryVotes,
    CorrectedVotes,
    VotesWithEdge,
    by_class,
)
from .lp_simplex import EdgeProgramme
from .votes import TEXTS


class SoftMargin(Step):
    """Risk and step: minus the soft margin of the members so far, whose dual weighs the rows."""

    def __init__(self, weight: np.ndarray, nu: float, tol: float) -> None:
        super().__init__()
        # The margin of a member without an edge, which is kept alone where no round is made.
        self.cap, self.tol, self.dual, self.margin = weight / nu, tol, weight, 1 - min(1 / nu, 2.0)
        self.group, self.programme = np.zeros(len(weight), dtype=np.int32), EdgeProgramme()

    def at(self, u: np.ndarray) -> RiskState:
        return RiskState(-self.margin, np.broadcast_to(1.0, len(u)), self.dual)

    def __call__(
        self, t: int, risk: Any, u: np.ndarray, psi: np.ndarray, state: Any, gain: float
    ) -> StepResult:
        # The certificate: twice the edge of an exact learner is above the margin of every vote.
        if t > 0 and gain <= self.margin + self.tol:
            return StepResult(None, "optimal")
        # Rows that all members treat alike share one variable by their caps: small programmes.
        code = 2 * self.group + (psi > 0)
        kept = np.flatnonzero(np.bincount(code))
        self.group = np.searchsorted(kept, code).astype(np.int32)
        cap = np.bincount(self.group, self.cap)
        found = self.programme.add(kept // 2, 2.0 * (kept % 2) - 1.0, cap)
        self.margin = found.edge
        self.dual = self.cap * (found.mass / cap)[self.group]
        self.dual /= self.dual.sum()
        return StepResult(found.alphas[-1], found.alphas)


@dataclass(frozen=True, kw_only=True)
class LPPlan(BinaryPlan):
    """Columns of a linear programme, until none of them is better by more than `tol`."""

    nu: float
    tol: float

    def start(self, problem: BinaryProblem) -> tuple[BoostingRounds, BinaryVotes]:
        margin = SoftMargin(problem.weight, max(self.nu, 1e-300), self.tol)  # finite caps
        learner = VotesWithEdge(problem.weak_learner())
        rounds = BoostingRounds(margin, learner, margin, np.zeros(len(problem.rows)))
        return rounds, CorrectedVotes(problem.labels)


@documented(TEXTS)
class LPBoostClassifier(BinaryBooster):
    """LPBoost for two classes: the weighted vote with the largest soft margin.

    Each round fits the weak learner with the dual solution of a linear programme as weights, and
    solves the programme again with the new member. All coefficients change in a round (Demiriz,
    Bennett and Shawe-Taylor 2002). With an exact learner, such as stumps, it ends with a
    certificate: no vote has a soft margin that is larger by more than `tol`. A round costs a fit of
    the weak learner and a linear programme with as many variables as there are rows that the
    members treat differently. A prediction costs O(t).

    %(of_classifier)s
    nu : float, default=0.5
        The share of the weight, in (0, 1), that may have margins below the one that is maximised;
        no row has more than its share over `nu`. Take more than twice the error of a good vote.
    tol : float, default=1e-4
        Boosting ends when no weak learner has an edge 2 gamma of more than the soft margin + `tol`.
    %(several_classes)s

    %(votes_of_two_classes)s
    steps_ : ndarray of shape (n_rounds,)
        The coefficients after the last round, of sum 1; many of them are 0.
    soft_margin_ : float
        The largest rho - sum w_i xi_i / nu with margins y_i f(x_i) >= rho - xi_i and xi >= 0.
    edges_, gains_, densities_, moves_ : ndarrays of shape (n_rounds,)
        1/2 minus the error of each member in its round, twice this, 1, "all". The potential is
        -`soft_margin_`.
    stop_reason_ : {"n_estimators", "optimal", "no edge", "callback", "one class"}
        Why there were no more rounds.

    See Also
    --------
    SmoothBoostClassifier : Bounded weights in closed form, and equal votes.
    AdaBoostClassifier : Coefficients that stay, for the exponential risk.

    References
    ----------
    A. Demiriz, K. P. Bennett and J. Shawe-Taylor (2002). "Linear programming boosting via column
    generation". *Machine Learning* 46, 225-254.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_ensemble_theory import LPBoostClassifier
    >>> model = LPBoostClassifier(nu=0.1).fit(*load_breast_cancer(return_X_y=True))
    >>> model.stop_reason_, round(model.soft_margin_, 2)
    ('optimal', 0.17)
    """

    _parameter_constraints: ClassVar[dict] = {
        **CONSTRAINTS,
        "nu": [Interval(Real, 0, 1, closed="neither")],
        "tol": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        estimator: Any | None = None,
        *,
        n_estimators: int = 100,
        nu: float = 0.5,
        tol: float = 1e-4,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: bool | int = 0,
    ) -> None:
        self.estimator, self.n_estimators, self.nu, self.tol = estimator, n_estimators, nu, tol
        self.n_jobs, self.random_state, self.verbose = n_jobs, random_state, verbose

    def _plans(self) -> list[LPPlan]:
        return [LPPlan(n_rounds=self.n_estimators, nu=self.nu, tol=self.tol)]

    def _attributes(self, fitted: list[BinaryVotes]) -> dict:
        margins = [-votes.risks[-1] for votes in fitted]
        if min(margins, default=1.0) <= 0.0:
            warn_user(f"Soft margin {min(margins):.2g}: rows may tie. Raise nu or n_estimators.")
        return super()._attributes(fitted) | {"soft_margin_": by_class(margins)}
