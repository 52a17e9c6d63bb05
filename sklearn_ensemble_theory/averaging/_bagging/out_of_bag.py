"""Out-of-bag estimates along the number of members.

A row is predicted by the members that are not fitted to it. The sums below take one member at a
time, so the score of every smaller ensemble costs no more than scoring it.
"""

from collections.abc import Callable
from typing import Self

import numpy as np

Score = Callable[[np.ndarray, np.ndarray], float]


class OutOfBag:
    """Running means of the members' predictions on the rows that they are not fitted to.

    Parameters
    ----------
    shape : tuple
        Shape of the predictions on all training rows, (n,) or (n, k).

    score : callable
        `score(rows, predictions)`: the score on rows that have an estimate; NaN if None.
    """

    def __init__(self, shape: tuple[int, ...], score: Score | None) -> None:
        self.total = np.zeros(shape)
        self.n_predictions = np.zeros(shape[0], dtype=np.intp)
        self.score = score
        self.scores: list[float] = []

    def continued(self, score: Score | None) -> Self:
        """A copy to add members to; the original stays as it is should the fit fail."""
        copy = type(self)(self.total.shape, score)
        copy.total[:] = self.total
        copy.n_predictions[:] = self.n_predictions
        copy.scores = list(self.scores)
        return copy

    def add(self, outside: tuple[np.ndarray, np.ndarray] | None) -> None:
        """Add a member, then score: the rows that it is not fitted to, and its predictions on them.

        None for a member that is fitted to all rows.
        """
        if outside is not None:
            rows, predictions = outside
            self.total[rows] += predictions
            self.n_predictions[rows] += 1
        known = np.flatnonzero(self.n_predictions)
        score = np.nan
        if self.score is not None and len(known):
            score = self.score(known, self.mean(known))
        self.scores.append(float(score))

    def mean(self, rows: slice | np.ndarray = slice(None)) -> np.ndarray:
        """Mean predictions; NaN for a row that all members are fitted to."""
        counts = self.n_predictions[rows].reshape(-1, *[1] * (self.total.ndim - 1))
        mean = np.full_like(self.total[rows], np.nan)
        return np.divide(self.total[rows], counts, out=mean, where=counts > 0)
