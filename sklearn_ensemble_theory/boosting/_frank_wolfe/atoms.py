"""The atoms of a weak learner: its outputs on the rows, in a symmetric dictionary."""

from typing import Any, NamedTuple

import numpy as np

from sklearn_ensemble_theory._hot_loops.array_loops import inner
from sklearn_ensemble_theory.boosting._loop import WeakLearner

# Squares of larger outputs could overflow.
LARGEST_OUTPUT = 1e140
# Outputs that are normalised count as 0 below this: their inverse could overflow.
SMALLEST_OUTPUT = 1e-290


class Atom(NamedTuple):
    """psi = factor * (the member's outputs - offset); offsets cancel against the intercept."""

    member: Any
    factor: float
    offset: float


class Atoms:
    """Turns the members of a weak learner into atoms of a symmetric dictionary.

    Parameters
    ----------
    learner : PreparedRounds
    centre : bool
        Subtract the mean of the outputs; the intercept compensates for it.

    Attributes
    ----------
    is_exact : bool
        Whether the best atom is found exactly, so that the dual gap is a bound.
    normalise : bool
        Whether outputs are divided by their root mean square, because the learner's outputs have
        no scale: then the least-squares fit is the best atom, wherever the class of predictors is
        closed under multiplication.
    """

    def __init__(self, learner: WeakLearner, centre: bool):
        self.learner, self.centre = learner, centre
        self.is_exact, self.normalise = learner.is_exact, not learner.has_scale

    def best(self, target, weight, scores=None):
        """The best atom and its outputs, of positive inner product with weight * target.

        None if the outputs of the learner are 0.
        """
        found = self.learner.best(target, weight, scores)
        if found is None:
            return None
        member, outputs = found
        largest = np.max(np.abs(outputs), initial=0.0)
        if largest <= (SMALLEST_OUTPUT if self.normalise else 0.0):
            return None
        if not largest < LARGEST_OUTPUT and not self.normalise:
            raise ValueError(
                f"The outputs of a weak learner are as large as {largest:.1e}; scale the features "
                "of X."
            )
        size = largest * np.sqrt(inner(weight, (outputs / largest) ** 2)) if self.normalise else 1.0
        sign = -1.0 if inner(weight * target, outputs / largest) < 0 else 1.0
        factor = sign / size
        offset = inner(weight, outputs) if self.centre else 0.0
        return Atom(member, factor, offset), factor * (outputs - offset)
