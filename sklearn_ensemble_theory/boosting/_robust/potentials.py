"""The potential of all three algorithms, and the weights that are its slope.

    phi(z) = 1 - z for z <= 0, exp(-z) for z > 0

of the margin z is convex, its slope -phi' = min(1, exp(-z)) is at most 1, and its second derivative
is at most 1 (Kalai and Kanade 2009). A row of a wrong label has a weight of at most 1, however
large its negative margin, while its weight in AdaBoost is exp(-z). With a rate c, phi(c z) / c has
the slope min(1, exp(-c z)); the measure of SmoothBoost (Servedio 2003) is that of
c = -log(1 - gamma) / 2.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_ensemble_theory._hot_loops.array_loops import inner
from sklearn_ensemble_theory._hot_loops.compilation import uses_numba
from sklearn_ensemble_theory.boosting._risk import Array, RiskState

# Below so many rows NumPy's passes cost as little as the compiled loops.
FEW_ROWS = 2**12
ONE_START = np.zeros(1)


class PotentialState(RiskState):
    """The state of a `PotentialRisk`.

    `weight` is the distribution of the weak learner, w M / density, and every target is the density
    sum w M of the measure M, so that weight * target is -F'(u).
    """

    @property
    def density(self) -> float:
        return float(self.target[0])

    def first_order_gain(self, psi: Array) -> float:
        return self.density * vote_product(self.weight, psi)


class PotentialRisk:
    """The mean of phi(c u_i) / c over the rows, where u_i are margins.

    Parameters
    ----------
    weight : array of shape (n,)
        The weights of the rows, of sum 1.
    rate : float, default=1.0
        c, which may be changed between two rounds.
    """

    def __init__(self, weight: Array, rate: float = 1.0) -> None:
        self.weight, self.rate = weight, rate
        same = len(weight) > 0 and weight.min() == weight.max()
        self._common = float(weight[0]) if same else None

    def measure(self, u: Array) -> Array:
        """M = min(1, exp(-c u))."""
        z = np.maximum(u, 0.0)
        if self.rate != 1.0:
            z *= self.rate
        if len(u) < FEW_ROWS or not uses_numba():
            np.negative(z, out=z)
            return np.exp(z, out=z)
        from sklearn_ensemble_theory._hot_loops._stumps import vote_loops

        found = np.empty_like(z)
        vote_loops.exponential_weights(ONE_START, z, 0.0, found)
        return found

    def at(self, u: Array) -> PotentialState:
        """The value and the distribution at the margins u. O(n)."""
        mass = self.measure(u)
        if self._common is None:
            mass *= self.weight
            density = float(mass.sum())
            linear = inner(self.weight, np.minimum(u, 0.0))
        else:
            total = float(mass.sum())
            mass *= self._common
            density = self._common * total
            linear = self._common * float(np.minimum(u, 0.0).sum())
        value = density / self.rate - linear
        if density > 0:
            mass *= 1.0 / density
        target = np.broadcast_to(density, mass.shape)
        return PotentialState(value, target, mass)

    def value(self, u: Array) -> float:
        """F(u)."""
        return self.at(u).value


def vote_product(weight: Array, votes: NDArray) -> float:
    """weight'votes; votes of one byte by the compiled loop."""
    if votes.dtype == np.int8 and uses_numba():
        from sklearn_ensemble_theory._hot_loops._stumps import vote_loops

        return float(vote_loops.weighted_votes(weight, votes))
    return inner(weight, votes)
