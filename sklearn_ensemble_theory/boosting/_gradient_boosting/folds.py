"""The number of rounds by cross-validation: all folds are boosted side by side until it is known.

Each fold is a fit to its training rows whose validation rows follow the rounds. Some rounds are
made in all folds, then the mean of the folds' curves says whether more are needed: no fold makes
rounds that the choice does not wait for.
"""

from collections.abc import Sequence
from itertools import islice
from typing import Any

import numpy as np

from ..._running import Progress, in_threads
from .._loop import BoostingRounds
from .ensemble import AdditiveModel, HeldOut

# The minimum is waited for by so many rounds, and by this share of those until it.
PATIENCE, PATIENCE_SHARE = 20, 0.2
# Rounds that are made in one piece, at least, and as a share of those made.
AT_ONCE, AT_ONCE_SHARE = 10, 0.1


class Fold:
    """The rounds of one fold, and the score of its validation rows after 0, 1, ... of them."""

    def __init__(self, model: AdditiveModel, rounds: BoostingRounds, held_out: HeldOut) -> None:
        self.model, self.rounds, self.held_out = model, rounds, held_out
        self.path = [held_out.score()]

    @property
    def weight(self) -> float:
        """The weight of its validation rows."""
        rows = self.held_out.rows
        return float(len(rows) if rows.weight is None else rows.weight.sum())

    def add(self, n_rounds: int) -> None:
        """Make so many rounds; where the learner has no more, the score stays as it is."""
        length = len(self.path) + n_rounds
        self.rounds.allow(n_rounds)
        model, made = self.model, []
        risk: Any = self.rounds.risk
        for record in islice(self.rounds, n_rounds):
            members = [record.predictor] if model.n_scores == 1 else record.predictor
            model.members.append(members)
            model.steps.append(record.step)
            model.loss = risk.scored_loss
            made.append((members, record.step, model.loss))
        self.path += self.held_out.scores_after(made)
        self.path += [self.path[-1]] * (length - len(self.path))


def boost_folds(
    folds: Sequence[Fold], most: int, sign: float, n_threads: int, progress: Progress
) -> tuple[int, np.ndarray]:
    """The number of rounds of the least mean score, and the scores of the folds, (rounds + 1, K).

    Parameters
    ----------
    folds : sequence of K Fold
    most : int
        The largest number of rounds.
    sign : float
        1 where the score is a risk, -1 where greater is better.
    n_threads : int
        Folds that are boosted at the same time.
    progress : Progress
    """
    weights = np.array([fold.weight for fold in folds])
    weights /= weights.sum()
    n_rounds = 0
    while True:
        step = min(max(AT_ONCE, int(AT_ONCE_SHARE * n_rounds)), most - n_rounds)
        for k in range(0, len(folds), n_threads):
            in_threads(Fold.add, [(fold, step) for fold in folds[k : k + n_threads]])
        n_rounds += step
        path = np.array([fold.path for fold in folds]).T
        # The model without rounds is none of those that a fit can have.
        mean = sign * (path @ weights)
        best = 1 + int(np.argmin(mean[1:]))
        progress.advance(f"mean validation score {sign * mean[best]:.4g} of {best} rounds", step)
        if n_rounds == most or n_rounds - best >= PATIENCE + PATIENCE_SHARE * best:
            progress.finish(f"{best} rounds are chosen")
            return best, path
