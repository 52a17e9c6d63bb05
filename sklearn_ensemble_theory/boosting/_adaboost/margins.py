"""The exponential risk of margins by compiled loops, where numba is installed."""

from __future__ import annotations

import math

import numpy as np

from sklearn_ensemble_theory._hot_loops.compilation import uses_numba
from sklearn_ensemble_theory.boosting._risk import Array, MarginRisk, RiskState

# Below so many margins NumPy's passes cost as little.
FEW_MARGINS = 2**13
# The sum of the weights divided by their largest possible value; below it they may be rounded to 0.
SMALLEST_TOTAL = 1e-50


def margin_risk(weight: Array) -> MarginRisk:
    """The risk for initial weights of shape (n,) or (n, K)."""
    compiled = weight.size >= FEW_MARGINS and uses_numba()
    return CompiledMarginRisk(weight) if compiled else MarginRisk(weight)


def is_votes(psi: np.ndarray) -> bool:
    """Whether outputs are votes of one byte, as compiled searches return them."""
    return psi.dtype == np.int8


class CompiledMarginRisk(MarginRisk):
    """The same risk in one pass over the rows. O(n)."""

    def __init__(self, sample_weight: Array) -> None:
        super().__init__(sample_weight)
        start = self._log_start.ravel()
        self._largest = float(start.max())
        self._start = start[:1] if start.min() == self._largest else start

    def at(self, u: Array) -> RiskState:
        from sklearn_ensemble_theory._hot_loops._stumps import vote_loops

        weight = np.empty_like(u)
        top = self._largest - float(u.min())
        total = vote_loops.exponential_weights(self._start, u.ravel(), top, weight.ravel())
        if not total > SMALLEST_TOTAL:  # the largest start and the smallest score are far apart
            return super().at(u)
        weight *= 1.0 / total
        value = top + math.log(total)
        value = math.exp(value) if value < 709 else math.inf
        return _VoteState(value, self.y, weight, scale=value)


class _VoteState(RiskState):
    def first_order_gain(self, psi: Array) -> float:
        from sklearn_ensemble_theory._hot_loops._stumps import vote_loops

        if is_votes(psi):
            return vote_loops.weighted_votes(self.weight.ravel(), psi.ravel())
        return float(np.einsum("i,i->", self.weight.ravel(), psi.ravel()))
