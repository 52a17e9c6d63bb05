"""Boosting with Massart noise: labels are wrong with a bounded probability [Ghoshdastidar]."""

from numbers import Real
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from sklearn_ensemble_theory._compat import Interval, StrOptions
from sklearn_ensemble_theory._folds import splits_of_rows
from sklearn_ensemble_theory._learners import PreparedRounds
from sklearn_ensemble_theory._rows import Rows
from sklearn_ensemble_theory._typing import CVLike
from sklearn_ensemble_theory.bounds import massart_confidence_threshold

from .._loop import BoostingRounds, boost
from .binary import (
    SMALLEST_EDGE,
    BinaryBooster,
    BinaryProblem,
    BinaryVotes,
    CappedExponentialRisk,
    CorrelationStep,
    Move,
    VotesWithEdge,
    by_class,
)
from .votes import ALL, SHRINK, UNCONFIDENT, vote_product

# What noise_rate="auto" chooses from.
NOISE_RATES = (0.02, 0.05, 0.1, 0.2, 0.3, 0.4)
# Steps are at most this part of the threshold, so that no row becomes confident at once.
LONGEST_STEP = 1 / 8


class NoiseRate(NamedTuple):
    """A noise rate, and the mean potentials on test rows that it was chosen by."""

    value: float
    cv_potentials: dict


class VotesOfTheUnconfident(VotesWithEdge):
    """Massart boosting: the weak learner sees the rows alone whose score is below the threshold.

    Its vote is added to all scores if this lowers the potential, otherwise to theirs alone. Where
    too many confident rows are wrong, their scores move towards 0.

    Parameters
    ----------
    weak : PreparedRounds
    threshold : float
    kappa : float
        The weak learner is not asked where the density of the measure is below this.
    tol : float
        The loop ends where no move gains more than this.
    """

    def __init__(self, weak: PreparedRounds, threshold: float, kappa: float, tol: float) -> None:
        super().__init__(weak)
        self.threshold, self.kappa, self.tol = threshold, kappa, tol

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
        sparse = density < self.kappa or share <= 0
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


class MassartBoostClassifier(BinaryBooster):
    """Boosting for labels that are wrong with a probability of at most `noise_rate` at every x.

    In this model, Massart noise, the label of x is flipped with an unknown probability eta(x) <=
    eta < 1/2 [Ghoshdastidar]. Rows whose score G is confident are left out of the distribution of
    the weak learner, so that it sees labels of which less than half are wrong, and boosting reaches
    an error of eta (1 + O(alpha)) (Diakonikolas et al. 2021).

    Parameters
    ----------
    estimator : object, default=None
        The weak learner, a classifier whose `fit` supports `sample_weight`. If None, it is
        ``DecisionStumpClassifier()``, which sorts the features once for all rounds.

    n_estimators : int, default=100
        The maximum number of rounds.

    noise_rate : float or "auto", default=0.2
        eta, the largest probability of a wrong label, in (0, 1/2 - alpha). "auto" chooses from
        0.02, 0.05, 0.1, 0.2, 0.3 and 0.4, as far as `alpha` allows, by the potential on the test
        rows of a cross-validation.

    alpha : float, default=0.02
        The margin: among the rows that the weak learner sees, labels are wrong with a probability
        of less than 1/2 - alpha.

    kappa : float, default=0.01
        Boosting ends when the density of the rows that are not confident falls below this and no
        move of confident scores towards 0 gains more than `tol`.

    tol : float, default=1e-4
        Boosting ends when no move has a larger gain. Votes are added to the scores of all rows
        where this gains more.

    learning_rate : float, default=1.0
        Factor of each coefficient, in (0, 1].

    cv : int, cross-validation generator, iterable or None, default=3
        The splits for ``noise_rate="auto"``. None is 5.

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
    noise_rate_ : float
        eta, as given or chosen. For more than two classes, this and the following attributes are
        lists of one entry for each class, which is told from the rest.
    confidence_threshold_ : float
        s; rows with abs(G) >= s are confident.
    cv_potentials_ : dict
        The mean potential on the test rows for each noise rate; only with ``noise_rate="auto"``.
    estimator_ : estimator
        The weak learner that was cloned.
    estimators_ : list of estimators
        The fitted weak learners, of the rounds that are not "shrink".
    n_estimators_ : int
        The number of rounds.
    moves_ : ndarray of shape (n_rounds,)
        "all" where a weak learner's vote was added to the scores of all rows, "unconfident" where
        it was added to those below the threshold alone, "shrink" where the confident scores were
        moved towards 0.
    steps_ : ndarray of shape (n_rounds,)
        The coefficient of each round.
    gains_ : ndarray of shape (n_rounds,)
        By how much a unit of the move lowers the potential, to first order.
    edges_ : ndarray of shape (n_rounds,)
        1/2 minus the error of each weak learner on the distribution that it was fitted to; nan for
        "shrink".
    densities_ : ndarray of shape (n_rounds,)
        The density of the measure of the rows that are not confident.
    train_scores_ : ndarray of shape (n_rounds,)
        The potential after each round.
    validation_errors_ : ndarray
        The error on the rows held out after each round; only with `n_iter_no_change`.
    stop_reason_ : {"n_estimators", "density", "no gain", "early stopping", "callback", "one class"}
        Why there were no more rounds. The guarantee below is for ``"density"``.
    feature_importances_ : ndarray of shape (n_features,)
        Mean of the weak learners' importances, weighted by their coefficients.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of features seen during `fit`, where they are all strings.

    See Also
    --------
    SmoothBoostClassifier : An average of votes, in which no row has a large weight.
    AgnosticBoostClassifier : For labels of any kind.
    bounds.massart_boosting_error_bound : The guarantee below as a function.
    bounds.massart_boosting_n_rounds : The number of rounds until then.

    Notes
    -----
    The measure of a row is mu = min(1, exp(-y G(x))), and 0 where abs(G(x)) >= s. The threshold s =
    log((1 - eta)/eta) - log((1 + 2 alpha)/(1 - 2 alpha)) is such that a label is wrong with a
    probability below 1/2 - alpha under mu, given x. On the training rows this holds for
    expectations: a score that has adapted to their wrong labels may exceed it.

    A round adds the weak learner's vote to the scores of all rows if this lowers the potential, at
    a rate of more than `tol`, and otherwise to the scores that are not confident alone. If moving
    the confident scores towards 0 lowers it more than the latter, too many of them are wrong, and
    the round does that. The potential is the mean of phi(y G), phi(z) = 1 - z for z <= 0 and
    exp(-z) for z > 0. Steps are at most s/8.

    When boosting ends with ``stop_reason_="density"``, the error on the training rows is at most
    eta (1 + 2 alpha)/(1 - 2 alpha (1 - 2 eta)) + kappa + tol. If all edges are at least gamma, this
    happens within the rounds of `bounds.massart_boosting_n_rounds`. Without the moves towards 0
    neither the rounds nor the error would have a bound.

    For n rows and p features a round of stumps costs O(n p) operations after O(n p log n) once. A
    prediction costs O(n_rounds) for each row.

    References
    ----------
    D. Ghoshdastidar. *Statistical Foundations of Learning*, lecture "Ensemble methods". Technical
    University of Munich.

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
        **BinaryBooster._parameter_constraints,
        "noise_rate": [StrOptions({"auto"}), Interval(Real, 0, 0.5, closed="neither")],
        "alpha": [Interval(Real, 0, 0.5, closed="left")],
        "kappa": [Interval(Real, 0, 1, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "learning_rate": [Interval(Real, 0, 1, closed="right")],
        "cv": ["cv_object"],
    }

    def __init__(
        self,
        estimator: Any | None = None,
        *,
        n_estimators: int = 100,
        noise_rate: float | Literal["auto"] = 0.2,
        alpha: float = 0.02,
        kappa: float = 0.01,
        tol: float = 1e-4,
        learning_rate: float = 1.0,
        cv: CVLike | None = 3,
        n_iter_no_change: int | None = None,
        validation_fraction: float = 0.1,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: bool | int = 0,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.noise_rate = noise_rate
        self.alpha = alpha
        self.kappa = kappa
        self.tol = tol
        self.learning_rate = learning_rate
        self.cv = cv
        self.n_iter_no_change = n_iter_no_change
        self.validation_fraction = validation_fraction
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _noise_rates(self) -> list[float]:
        """The noise rates to choose from."""
        if not isinstance(self.noise_rate, str):
            return [float(self.noise_rate)]
        return [rate for rate in NOISE_RATES if rate + self.alpha < 0.5]

    def _check_parameters(self) -> None:
        if not self._noise_rates():
            raise ValueError(f"alpha={self.alpha!r} leaves no noise_rate to choose from.")
        massart_confidence_threshold(self._noise_rates()[0], self.alpha)

    def _start(
        self, problem: BinaryProblem, setting: NoiseRate
    ) -> tuple[BoostingRounds, BinaryVotes]:
        s = massart_confidence_threshold(setting.value, self.alpha)
        learner = VotesOfTheUnconfident(problem.weak_learner(), s, self.kappa, self.tol)
        step = CorrelationStep(self.learning_rate, LONGEST_STEP * s)
        risk = CappedExponentialRisk(problem.weight)
        rounds = boost(risk, learner, step, np.zeros(len(problem.rows)))
        return rounds, BinaryVotes(problem.labels, threshold=s)

    def _splits(
        self, X: Any, codes: np.ndarray, rows: Rows, groups: np.ndarray | None
    ) -> list | None:
        if self.noise_rate != "auto":
            return None
        return splits_of_rows(self.cv, X, codes, rows.numbers, True, groups=groups)

    def _setting(self, problem: BinaryProblem, splits: list | None) -> NoiseRate:
        """The noise rate as given, or that of the least potential on the test rows."""
        rates = self._noise_rates()
        if splits is None:
            return NoiseRate(rates[0], {})
        found = dict.fromkeys(rates, 0.0)
        for train, test in splits:
            fitted, tested = problem.take(train), problem.take(test)
            for rate in rates:
                votes = self._boosted(fitted, NoiseRate(rate, {}))
                margins = tested.signs * votes.decision(tested.rows.X)
                found[rate] += CappedExponentialRisk(tested.weight).value(margins) / len(splits)
        return NoiseRate(min(rates, key=found.__getitem__), found)

    def _attributes(self, fitted: list[BinaryVotes]) -> dict:
        found = super()._attributes(fitted)
        found["noise_rate_"] = by_class(votes.setting.value for votes in fitted)
        found["confidence_threshold_"] = by_class(votes.threshold for votes in fitted)
        if self.noise_rate == "auto":
            found["cv_potentials_"] = by_class(votes.setting.cv_potentials for votes in fitted)
        return found
