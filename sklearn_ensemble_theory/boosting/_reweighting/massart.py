"""Boosting with Massart noise: labels are wrong with a bounded probability [Ghoshdastidar]."""

from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, Literal

import numpy as np

from sklearn_ensemble_theory._compat import Interval, StrOptions
from sklearn_ensemble_theory._cv_choice import CVChoice, results_of_choice
from sklearn_ensemble_theory._documentation import documented
from sklearn_ensemble_theory._learners import PreparedRounds
from sklearn_ensemble_theory._typing import ArrayLike
from sklearn_ensemble_theory.bounds import massart_confidence_threshold

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
    by_class,
)
from .votes import ALL, SHRINK, TEXTS, UNCONFIDENT, vote_product

# What noise_rate="cv" chooses from.
NOISE_RATES = (0.02, 0.05, 0.1, 0.2, 0.3, 0.4)
# Steps are at most this part of the threshold, so that no row becomes confident at once.
LONGEST_STEP = 1 / 8


class VotesOfTheUnconfident(VotesWithEdge):
    """Massart boosting: the weak learner sees the rows alone whose score is below the threshold.

    Its vote is added to all scores if this lowers the potential, otherwise to theirs alone. Where
    too many confident rows are wrong, their scores move towards 0. The weak learner is not asked
    where the density of the measure is below `smoothness`; the loop ends where no move gains more
    than `tol`.
    """

    def __init__(
        self, weak: PreparedRounds, threshold: float, smoothness: float, tol: float
    ) -> None:
        super().__init__(weak)
        self.threshold, self.smoothness, self.tol = threshold, smoothness, tol

    def best(
        self, target: np.ndarray, weight: np.ndarray, scores: np.ndarray | None = None
    ) -> tuple[Move, np.ndarray] | None:
        assert scores is not None
        whole = float(target[0])
        right, wrong = scores >= self.threshold, scores <= -self.threshold
        confident = right | wrong
        any_confident = bool(confident.any())
        mass, share, overconfident = weight, 1.0, -np.inf
        if any_confident:
            outwards = right.astype(np.int8) - wrong.astype(np.int8)
            overconfident = -whole * vote_product(weight, outwards)
            mass = np.where(confident, 0.0, weight)
            share = float(mass.sum())
        density = whole * share
        found, gain, edge = None, -np.inf, np.nan
        sparse = density < self.smoothness or share <= 0
        if not sparse:
            mass = mass / share if any_confident else mass
            found = self.weak.best(None, mass, scores)
        if found is not None:
            edge = 0.5 * vote_product(mass, found[1])
            gain = 2 * density * edge
        if max(gain, overconfident) <= max(self.tol, SMALLEST_EDGE * whole):
            self.stop_reason = "density" if sparse else "no gain"
            return None
        if found is None or overconfident > gain:
            return Move(None, SHRINK, np.nan, density), -outwards
        member, psi = found
        moved = whole * vote_product(weight, psi) if any_confident else gain
        if moved > self.tol or not any_confident:
            return Move(member, ALL, edge, density), psi
        return Move(member, UNCONFIDENT, edge, density), psi * ~confident


@dataclass(frozen=True, kw_only=True)
class MassartPlan(BinaryPlan):
    """Votes for the rows that are not confident, for a known noise rate."""

    noise_rate: float
    margin: float
    smoothness: float
    tol: float
    learning_rate: float

    def start(self, problem: BinaryProblem) -> tuple[BoostingRounds, BinaryVotes]:
        s = massart_confidence_threshold(self.noise_rate, self.margin)
        learner = VotesOfTheUnconfident(problem.weak_learner(), s, self.smoothness, self.tol)
        step = CorrelationStep(self.learning_rate, LONGEST_STEP * s)
        risk = CappedExponentialRisk(problem.weight)
        rounds = BoostingRounds(risk, learner, step, np.zeros(len(problem.rows)))
        return rounds, BinaryVotes(problem.labels, threshold=s)


@documented(TEXTS)
class MassartBoostClassifier(BinaryBooster):
    """Boosting for noisy labels: each label is wrong with a probability of at most `noise_rate`.

    In this model, Massart noise, the label of x is flipped with an unknown probability eta(x) <=
    eta < 1/2 [Ghoshdastidar]. Rows with a confident score G are left out of the distribution of the
    weak learner. Fewer than half of the labels that it sees are then wrong, and boosting reaches an
    error of eta (1 + O(margin)) (Diakonikolas et al. 2021).

    %(of_classifier)s
    noise_rate : float, array-like, "cv" or CVChoice, default=0.2
        eta, the largest probability of a wrong label, in (0, 1/2 - margin). A list, "cv" or
        :class:`~sklearn_ensemble_theory.boosting.CVChoice` chooses the candidate with the least
        potential on held-out rows; "cv" compares 0.02, 0.05, 0.1, 0.2, 0.3 and 0.4, as far as
        `margin` allows, by 3 folds.
    margin : float, default=0.02
        Among the rows that the weak learner sees, labels are wrong with a probability of less than
        1/2 - margin: the alpha of the source.
    smoothness : float, default=0.01
        The kappa of the source. Boosting ends when the density of the rows that are not confident
        falls below it and no move of confident scores towards 0 gains more than `tol`.
    tol : float, default=1e-4
        Boosting ends when no move has a larger gain. Votes are added to the scores of all rows
        where this gains more.
    learning_rate : float, default=1.0
        Factor of each coefficient, in (0, 1].
    %(early_stopping)s
    %(several_classes)s

    %(votes_of_two_classes)s
    noise_rate_ : float
        eta, as given or chosen.
    confidence_threshold_ : float
        s; rows with abs(G) >= s are confident.
    cv_results_ : dict of ndarrays of shape (n_rates,)
        Only if the noise rate was chosen: the candidates "noise_rate", their potentials on the
        held-out rows "split0_score", ..., the "mean_score" and its "standard_error".
    moves_ : ndarray of shape (n_rounds,)
        "all" if a weak learner's vote was added to the scores of all rows, "unconfident" if only to
        scores below the threshold, and "shrink" if the confident scores were moved towards 0.
    steps_ : ndarray of shape (n_rounds,)
        The coefficient of each round.
    gains_ : ndarray of shape (n_rounds,)
        By how much a unit of the move lowers the potential, to first order.
    edges_ : ndarray of shape (n_rounds,)
        1/2 minus the error of each weak learner on the distribution that it was fitted to; nan for
        "shrink".
    densities_ : ndarray of shape (n_rounds,)
        The density of the measure of the rows that are not confident.
    %(validation_scores_)s
    stop_reason_ : {"n_estimators", "density", "no gain", "early stopping", "callback", "one class"}
        Why there were no more rounds. The guarantee below is for ``"density"``.

    See Also
    --------
    SmoothBoostClassifier : An average of votes, in which no row has a large weight.
    AgnosticBoostClassifier : For labels of any kind.
    bounds.massart_boosting_error_bound : The guarantee below as a function.
    bounds.massart_boosting_n_rounds : The number of rounds until then.

    Notes
    -----
    The measure of a row is mu = min(1, exp(-y G(x))), and 0 where abs(G(x)) >= s, the
    `confidence_threshold_`. :ref:`boosters-for-noisy-labels` in the user guide says how s follows
    from `noise_rate` and `margin`, and which move a round makes.

    When boosting ends with ``stop_reason_="density"``, the error on the training rows is at most
    eta (1 + 2 margin)/(1 - 2 margin (1 - 2 eta)) + smoothness + tol. If all edges are at least
    gamma, this happens within the rounds of `bounds.massart_boosting_n_rounds`. Without the moves
    towards 0, there would be no bound on the rounds or the error.

    %(cost)s

    %(references_Ghoshdastidar)s

    I. Diakonikolas, R. Impagliazzo, D. M. Kane, R. Lei, J. Sorrell and C. Tzamos (2021). "Boosting
    in the presence of Massart noise". *Proceedings of the 34th Conference on Learning Theory*,
    1585-1644.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_ensemble_theory import MassartBoostClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (2_000, 1))
    >>> clean = np.abs(X[:, 0]) < 0.5
    >>> flipped = rng.random(2_000) < np.where(X[:, 0] > 0, 0.3, 0.0)
    >>> model = MassartBoostClassifier(noise_rate=0.3).fit(X, clean ^ flipped)
    >>> model.score(X, clean) > 0.98
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        **CONSTRAINTS,
        **EARLY_STOPPING,
        "noise_rate": [
            Interval(Real, 0, 0.5, closed="neither"),
            StrOptions({"cv"}),
            CVChoice,
            "array-like",
        ],
        "margin": [Interval(Real, 0, 0.5, closed="left")],
        "smoothness": [Interval(Real, 0, 1, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "learning_rate": [Interval(Real, 0, 1, closed="right")],
    }

    def __init__(
        self,
        estimator: Any | None = None,
        *,
        n_estimators: int = 100,
        noise_rate: float | ArrayLike | Literal["cv"] | CVChoice = 0.2,
        margin: float = 0.02,
        smoothness: float = 0.01,
        tol: float = 1e-4,
        learning_rate: float = 1.0,
        n_iter_no_change: int | None = None,
        validation_fraction: float = 0.1,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: bool | int = 0,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.noise_rate = noise_rate
        self.margin = margin
        self.smoothness = smoothness
        self.tol = tol
        self.learning_rate = learning_rate
        self.n_iter_no_change = n_iter_no_change
        self.validation_fraction = validation_fraction
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    _chosen = "noise_rate"

    def _choice(self) -> CVChoice | None:
        return CVChoice.of(self.noise_rate)

    def _plans(self) -> list[MassartPlan]:
        choice = self._choice()
        if choice is None:
            rates = [float(self.noise_rate)]  # type: ignore[arg-type]
        elif choice.values is None:
            rates = [rate for rate in NOISE_RATES if rate + self.margin < 0.5]
        else:
            rates = list(map(float, choice.candidates("noise_rate")))  # type: ignore[arg-type]
        if not rates:
            raise ValueError(f"margin={self.margin!r} leaves no noise_rate to choose from.")
        if not max(rates) + self.margin < 0.5:
            raise ValueError(
                f"margin={self.margin!r} must be below 1/2 - noise_rate, with "
                f"noise_rate={max(rates)!r}; choose a smaller value for one of the two."
            )
        return [
            MassartPlan(
                n_rounds=self.n_estimators,
                patience=self.n_iter_no_change,
                validation_fraction=self.validation_fraction,
                noise_rate=rate,
                margin=self.margin,
                smoothness=self.smoothness,
                tol=self.tol,
                learning_rate=self.learning_rate,
            )
            for rate in rates
        ]

    def _attributes(self, fitted: list[BinaryVotes]) -> dict:
        found = super()._attributes(fitted)
        found["noise_rate_"] = by_class(votes.plan.noise_rate for votes in fitted)
        found["confidence_threshold_"] = by_class(votes.threshold for votes in fitted)
        if self._choice() is not None:
            rates = np.array([plan.noise_rate for plan in self._plans()])
            found["cv_results_"] = by_class(
                results_of_choice("noise_rate", rates, votes.potentials)
                for votes in fitted
                if votes.potentials is not None
            )
        return found
