"""How a round changes the scores, in the fit and again for every prediction.

A weak learner's vote is added to the scores of all rows, or of those alone that are not confident
yet; or, without a weak learner, scores move towards 0. All of them are odd functions of the scores,
so that margins y G and scores G move in the same way.
"""

from collections.abc import Iterator
from copy import copy
from typing import Any, NamedTuple

import numpy as np

from sklearn_ensemble_theory._learners import predict_codes

ALL, UNCONFIDENT, SHRINK = "all", "unconfident", "shrink"


class Move(NamedTuple):
    """What the learner of a round decided.

    Attributes
    ----------
    member : fitted classifier, or None for "shrink"
    kind : {"all", "unconfident", "shrink"}
    edge : float
        1/2 minus the member's error under the distribution that it was fitted to; nan for "shrink".
    density : float
        The density of the measure that this distribution is proportional to.
    """

    member: Any
    kind: str
    edge: float
    density: float


def signs_of(scores: np.ndarray) -> np.ndarray:
    """The predictions -1 and +1; a score of 0 predicts the first class."""
    return np.where(scores > 0, 1.0, -1.0)


class BinaryVotes:
    """The rounds of a problem of two classes.

    Parameters
    ----------
    labels : array of shape (2,)
        The classes of the members.
    threshold : float
        Scores of at least this size are confident.
    by_mean : bool
        Whether the decision function is the mean of the votes instead of their sum.

    Attributes
    ----------
    moves : list of Move
    steps, gains, risks : lists of float
        The coefficient of each round, its first-order gain, and the potential after it.
    held_out_errors : list of float
    smoothness : float
        The largest weight of a row in any round, divided by its weight in the data.
    setting : object
        What was chosen by the data before the rounds.
    stop_reason : str
    """

    def __init__(self, labels: np.ndarray, threshold: float, by_mean: bool) -> None:
        self.labels, self.threshold, self.by_mean = labels, threshold, by_mean
        self.moves: list[Move] = []
        self.steps: list[float] = []
        self.gains: list[float] = []
        self.risks: list[float] = []
        self.held_out_errors: list[float] = []
        self.smoothness = 1.0
        self.setting: Any = None
        self.stop_reason = "n_estimators"

    def keep(self, n_rounds: int) -> None:
        """Forget the rounds after the first `n_rounds`."""
        for kept in (self.moves, self.steps, self.gains, self.risks):
            del kept[n_rounds:]

    def copy(self) -> "BinaryVotes":
        """The rounds so far, to which later ones are not added."""
        other = copy(self)
        for name in ("moves", "steps", "gains", "risks", "held_out_errors"):
            setattr(other, name, list(getattr(self, name)))
        return other

    @property
    def members(self) -> list:
        return [move.member for move in self.moves if move.kind != SHRINK]

    def advance(self, scores: np.ndarray, X: Any, move: Move, step: float) -> None:
        """Add a round to the scores of the rows of X, in place."""
        if move.kind == SHRINK:
            scores -= step * signs_of(scores) * (np.abs(scores) >= self.threshold)
            return
        second = predict_codes(move.member, X, self.labels) == 1
        votes = np.where(second, step, -step)
        if move.kind == UNCONFIDENT:
            votes *= np.abs(scores) < self.threshold
        scores += votes

    def staged_scores(self, X: Any) -> Iterator[np.ndarray]:
        """The decision function after each round; the array is the caller's."""
        scores = np.zeros(X.shape[0])
        for t, (move, step) in enumerate(zip(self.moves, self.steps), 1):
            self.advance(scores, X, move, step)
            yield scores / t if self.by_mean else scores.copy()

    def reaches(self) -> np.ndarray:
        """The largest possible decision function after each round, positive."""
        if self.by_mean:
            return np.ones(len(self.steps))
        return np.maximum(np.cumsum(np.abs(self.steps)), np.finfo(float).tiny)

    def scores(self, X: Any) -> np.ndarray:
        """The decision function after the last round."""
        scores = np.zeros(X.shape[0])
        for move, step in zip(self.moves, self.steps):
            self.advance(scores, X, move, step)
        return scores / len(self.moves) if self.by_mean else scores
