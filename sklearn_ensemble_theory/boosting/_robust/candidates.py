"""The learners of the loop: which move a round makes.

Each wraps the rounds of weak classifiers, whose outputs are the margins -1 and +1 of votes. The
state of `PotentialRisk` gives them the distribution over the rows as weights and the density of the
measure as targets. Where no move is worth it they return None and set `stop_reason`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.dummy import DummyClassifier

from sklearn_ensemble_theory._learners import ClassTask, PreparedRounds, prepare_rounds
from sklearn_ensemble_theory._rows import positive_rows
from sklearn_ensemble_theory.boosting._robust.moves import ALL, SHRINK, UNCONFIDENT, Move
from sklearn_ensemble_theory.boosting._robust.potentials import PotentialRisk, vote_product
from sklearn_ensemble_theory.boosting._weak_learners import Clones

# An edge below this is rounding.
SMALLEST_EDGE = 1e-12


class VoteOptions(NamedTuple):
    """How clones are fitted: their seed, and what is passed to every `fit`."""

    random_state: Any = None
    fit_params: dict | None = None


class VoteClones(Clones):
    """Classifiers fitted to the rows of positive weight; weights have the mean 1."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.y = self.task.classes.take(self.task.codes)

    def best(
        self, target: Any, weight: np.ndarray, scores: np.ndarray | None = None
    ) -> tuple[Any, np.ndarray]:
        rows = positive_rows(weight)
        y, weight = self.y[rows], weight[rows]
        if (y == y[0]).all():
            member = DummyClassifier(strategy="most_frequent").fit(self.X[rows], y)
        else:
            weight = weight / weight.mean()
            member = self.fitted(self.X[rows], y, sample_weight=weight)
        return member, np.where(member.predict(self.X) == self.y, 1.0, -1.0)


def vote_rounds(
    estimator: Any, X: Any, weight: np.ndarray, task: ClassTask, options: VoteOptions
) -> PreparedRounds:
    """The estimator's fast path, or clones."""
    task = replace(task, random_state=options.random_state)
    rounds = None if options.fit_params else prepare_rounds(estimator, X, weight, task)
    return VoteClones(estimator, X, None, task, options.fit_params) if rounds is None else rounds


class RelabelledRounds:
    """A weak learner of relabelled rows, exactly: each row twice, with both labels.

    The row's own label has the weight w (1 + M)/2 and the other one w (1 - M)/2: the mean of
    drawing the label, where the distribution over X stays that of w. The correlation of a
    classifier with the drawn labels is then sum w M y h. A learner that maximises it exactly
    finds the same under the weights w M, so only others are fitted to the 2n rows.

    Parameters
    ----------
    estimator : estimator
    rows : BinaryRows
    options : VoteOptions
    risk : PotentialRisk
    """

    is_exact = False
    has_scale = True

    def __init__(
        self, estimator: Any, rows: Any, options: VoteOptions, risk: PotentialRisk
    ) -> None:
        X, self.n, self.weight, self.risk = rows.X, len(rows.codes), rows.weight, risk
        twice = sp.vstack([X, X], format="csr") if sp.issparse(X) else np.concatenate([X, X])
        both = ClassTask(np.concatenate([rows.codes, 1 - rows.codes]), rows.labels)
        self.rounds = vote_rounds(estimator, twice, np.tile(rows.weight / 2, 2), both, options)

    def best(
        self, target: Any, weight: np.ndarray, scores: np.ndarray | None = None
    ) -> tuple[Any, np.ndarray] | None:
        assert scores is not None
        half = 0.5 * self.weight
        extra = half * self.risk.measure(scores)
        found = self.rounds.best(None, np.concatenate([half + extra, half - extra]))
        return None if found is None else (found[0], found[1][: self.n])


# --- the learners --------------------------------------------------------------------------------


class WeakVotes:
    """SmoothBoost: the weak learner's vote, as long as the measure is dense and there is an edge.

    Parameters
    ----------
    rounds : PreparedRounds
    kappa : float
        The loop ends where the density is below this.
    """

    stop_reason = "n_estimators"

    def __init__(self, rounds: PreparedRounds, kappa: float) -> None:
        self.rounds, self.kappa = rounds, kappa

    def best(
        self, target: Any, weight: np.ndarray, scores: np.ndarray | None = None
    ) -> tuple[Move, np.ndarray] | None:
        density = float(target[0])
        if density < self.kappa:
            self.stop_reason = "density"
            return None
        found = self.rounds.best(None, weight, scores)
        edge = 0.0 if found is None else 0.5 * vote_product(weight, found[1])
        if found is None or edge <= SMALLEST_EDGE:
            self.stop_reason = "no edge"
            return None
        return Move(found[0], ALL, edge, density), found[1]


class VotesOrOpposite:
    """Agnostic boosting: the weak learner's vote, or -sign(H), whichever is more correlated.

    Parameters
    ----------
    rounds : PreparedRounds
        Votes that are correlated with the relabelled rows.
    signs : float array of shape (n,)
        y in -1 and +1.
    tol : float
        The loop ends where neither correlation is above this.
    """

    stop_reason = "n_estimators"

    def __init__(self, rounds: PreparedRounds, signs: np.ndarray, tol: float) -> None:
        self.rounds, self.signs, self.tol = rounds, signs, tol

    def best(
        self, target: Any, weight: np.ndarray, scores: np.ndarray | None = None
    ) -> tuple[Move, np.ndarray] | None:
        assert scores is not None
        density = float(target[0])
        found = self.rounds.best(None, weight, scores)
        gain, edge = -np.inf, np.nan
        if found is not None:
            edge = 0.5 * vote_product(weight, found[1])
            gain = 2 * density * edge
        opposite = self.opposite(scores)
        shrink = density * vote_product(weight, opposite)
        if max(gain, shrink) <= max(self.tol, SMALLEST_EDGE * density):
            self.stop_reason = "no gain"
            return None
        if found is None or shrink > gain:
            return Move(None, SHRINK, np.nan, density), opposite
        return Move(found[0], ALL, edge, density), found[1]

    def opposite(self, margins: np.ndarray) -> np.ndarray:
        """The margins of the vote -sign(H), where a score of 0 predicts the first class."""
        right = margins > 0
        ties = margins == 0
        if ties.any():
            right |= ties & (self.signs < 0)
        return np.int8(1) - np.int8(2) * right.astype(np.int8)


class VotesOfTheUnconfident:
    """Massart boosting: the weak learner sees the rows alone whose score is below the threshold.

    Its vote is added to all scores if this lowers the potential, otherwise to theirs alone. Where
    too many confident rows are wrong, their scores move towards 0.

    Parameters
    ----------
    rounds : PreparedRounds
    threshold : float
    kappa : float
        The weak learner is not asked where the density of the measure is below this.
    tol : float
        The loop ends where no move gains more than this.
    """

    stop_reason = "n_estimators"

    def __init__(self, rounds: PreparedRounds, threshold: float, kappa: float, tol: float) -> None:
        self.rounds, self.threshold = rounds, threshold
        self.kappa, self.tol = kappa, tol

    def best(
        self, target: Any, weight: np.ndarray, scores: np.ndarray | None = None
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
            found = self.rounds.best(None, mass, scores)
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
