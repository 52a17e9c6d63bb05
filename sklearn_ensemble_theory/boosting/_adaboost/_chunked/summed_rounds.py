"""The rounds of AdaBoost from sums over chunks: one pass over the codes of the rows a round.

All that a round needs of the rows is the weight of each slot (see `erm._stumps._summed`) on both
sides of the threshold: the outputs of the stump are the same within it. So the risk, the step and
the next sum of the weights are those of a few groups.
"""

import math
from typing import Any

import numpy as np
from scipy.special import logsumexp

from sklearn_ensemble_theory._blocks import Blocks, added
from sklearn_ensemble_theory.boosting._adaboost._chunked.weighted_chunks import (
    UNIT_BITS,
    ScoreMoves,
    moved_scores_of,
    moved_sums_of,
    slot_masses,
    slot_tops,
)
from sklearn_ensemble_theory.boosting._loop import Round
from sklearn_ensemble_theory.boosting._risk import MarginRisk
from sklearn_ensemble_theory.boosting._steps import Step

# Masses below this share are summed again, in units of their own.
SMALL_MASS = 1e-5
# After so many rounds the scores are computed anew; a pass adds those since then to the last ones.
KEPT_ROUNDS = 8
FEW_CHUNKS = 8
LOG_2 = math.log(2.0)


class SummedRounds:
    """Iterator of `Round` records like `loop.BoostingRounds`; the outputs are those of the groups.

    Parameters
    ----------
    chunks : Blocks of CodedRows
    scores : Blocks of arrays of shape (m, n)
        Minus the logarithms of the weights.
    stumps : SummedStumps
    step : Step
    start : array of shape (n_slots,)
        What the scores of each slot get before the first round.
    shift : float
        The logarithm of the sum of the weights after that, about.

    Attributes
    ----------
    member : fitted stump or None
        The one that was found last.
    stop_details : object
        As of `loop.BoostingRounds`.
    """

    def __init__(
        self,
        chunks: Blocks,
        scores: Blocks,
        stumps: Any,
        step: Step,
        start: np.ndarray,
        shift: float,
    ) -> None:
        self.chunks, self.scores, self.stumps, self.step = chunks, scores, stumps, step
        self.n_bins = stumps.counts.shape[2]
        # The rounds that the scores do not have yet, and the sum of the weights after them, about.
        self.since = [(0, 0, np.column_stack([start, start]))]
        self.shift = shift
        self.index = 0
        self.log_start: float | None = None
        self.member: Any = None
        self.stop_details: Any = None
        self._ended = False

    def __iter__(self) -> "SummedRounds":
        return self

    def __next__(self) -> Round:
        if self._ended:
            raise StopIteration
        if len(self.since) > KEPT_ROUNDS:
            self._keep_scores()
        moves = self._moves(*self.since)
        given = moved_sums_of, self.scores, moves, self.shift, self.n_bins
        # Of few chunks the sums come as they are: a task that adds them would wait for all.
        few = len(self.chunks) <= FEW_CHUNKS
        sums = added(self.chunks.each(*given)) if few else self.chunks.sum(*given)
        log_total = self.shift + math.log(int(sums[:, 0].sum())) - UNIT_BITS * LOG_2
        if self.log_start is None:
            self.log_start = log_total
        found = self.stumps.best(sums)
        self.member = found.member
        here = found.n_rows > 0
        psi = found.margins[here]
        risk = GroupRisk(self._log_masses(found, log_total)[here])
        zero = np.zeros(len(psi))
        state = risk.at(zero)
        gain = state.first_order_gain(psi)
        b, details = self.step(self.index, risk, zero, psi, state, gain)
        if b is None:
            self._ended, self.stop_details = True, details
            raise StopIteration
        self.shift = log_total + risk.log_value(b * psi)
        self.since.append((found.feature, found.code, b * found.margins))
        self.index += 1
        value = self.shift - self.log_start
        value = math.exp(value) if value < 709 else math.inf
        return Round(self.index - 1, found.member, b, value, gain, psi, details)

    def _moves(self, *rounds: tuple[int, int, np.ndarray]) -> ScoreMoves:
        """Rounds (feature, code, moves) as chunks take them."""
        shape = (len(rounds), self.stumps.n_slots, 2)
        features, codes = (np.array([one[i] for one in rounds], np.int64) for i in (0, 1))
        moves = np.array([one[2] for one in rounds]).reshape(shape)
        return ScoreMoves(features, codes, moves, self.stumps.slots)

    def _keep_scores(self) -> None:
        """Compute the scores after all rounds so far; the earlier ones are not needed any more."""
        self.scores = self.chunks.map(moved_scores_of, self.scores, self._moves(*self.since))
        self.since = []

    def _log_masses(self, found: Any, log_total: float) -> np.ndarray:
        """The logarithms of the shares of the groups.

        Where the mistakes have almost no weight, the logarithm of their mass is that of a sum of
        its own: two more passes over the chunks, for two numbers of each group.
        """
        mistakes = (found.margins < 0) & (found.n_rows > 0)
        with np.errstate(divide="ignore"):
            logs = np.log(found.masses)
        if not mistakes.any() or found.masses[mistakes].sum() > SMALL_MASS:
            return logs
        self._keep_scores()
        here = self._moves((found.feature, found.code, found.margins))
        each = self.chunks.each(slot_tops, self.scores, here)
        tops = np.max([one for one in each if one is not None], axis=0)
        bits = UNIT_BITS - int(found.n_rows.sum()).bit_length()
        masses = self.chunks.sum(slot_masses, self.scores, here, tops, bits)
        with np.errstate(divide="ignore"):
            exact = np.log(masses) - bits * LOG_2 + tops - log_total
        return np.where(mistakes, exact, logs)


class GroupRisk(MarginRisk):
    """The exponential risk of groups of rows, given the logarithms of their shares."""

    def __init__(self, log_weight: np.ndarray) -> None:
        super().__init__(np.exp(log_weight))
        self._log_start = log_weight - logsumexp(log_weight)
