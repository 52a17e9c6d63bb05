"""Out-of-bag estimates along the number of members.

A row is predicted by the members that have not seen it. The sums below take one member at a time,
so the score of every smaller ensemble comes with that of the whole at the price of scoring.
"""

import numpy as np


class OutOfBag:
    """Running means of the members' answers on the rows left out of their bags.

    Parameters
    ----------
    shape : tuple
        Shape of the answers on all training rows, (n,) or (n, k).
    score : callable
        `score(rows, answers)`: the score on rows that have an estimate.
    """

    def __init__(self, shape, score):
        self.total = np.zeros(shape)
        self.votes = np.zeros(shape[0], dtype=np.intp)
        self.score = score
        self.scores = []

    def continued(self, score):
        """A copy to go on with; the original stays as it is should the fit fail."""
        copy = OutOfBag(self.total.shape, score)
        copy.total[:] = self.total
        copy.votes[:] = self.votes
        copy.scores = list(self.scores)
        return copy

    def add(self, rows, answers):
        """One member's answers on the rows that it has not seen; the score after it."""
        self.total[rows] += answers
        self.votes[rows] += 1
        known = np.flatnonzero(self.votes)
        score = self.score(known, self.mean(known)) if len(known) else np.nan
        self.scores.append(float(score))

    def mean(self, rows=slice(None)):
        """Mean answers; NaN on a row that every member has seen."""
        votes = self.votes[rows].reshape(-1, *[1] * (self.total.ndim - 1))
        mean = np.full_like(self.total[rows], np.nan)
        return np.divide(self.total[rows], votes, out=mean, where=votes > 0)
