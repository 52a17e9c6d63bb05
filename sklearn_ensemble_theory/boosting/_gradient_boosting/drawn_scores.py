"""Scores of the rounds on the rows that they were fitted to, and on the rows left out."""

import numpy as np

from sklearn_ensemble_theory.boosting._risk import EmpiricalRisk


class DrawnScores:
    """The risks of each round, for `train_score_` and the out-of-bag scores.

    Where rounds are fitted to drawn rows, both need the losses of all rows: O(n) a round.

    Parameters
    ----------
    risk : EmpiricalRisk
    u : array of shape (n,) or (n, K)
        The scores that change with the rounds.
    is_first : bool
        Whether the next round is the first of all.
    """

    def __init__(self, risk: EmpiricalRisk, u: np.ndarray, is_first: bool) -> None:
        self.risk, self.u = risk, u
        self.before = None
        if is_first:
            loss = risk.loss.adapted(risk.y, u, risk.weight)
            self.before = loss.value(risk.y, u)

    def after(self, rows: np.ndarray, previous: float) -> tuple[float, float, float]:
        """The risks on the rows and on the others, and how much the latter fell from `previous`."""
        risk = self.risk
        inside = np.zeros(len(risk.y), dtype=bool)
        inside[rows] = True
        values = risk.scored_loss.value(risk.y, self.u)
        if self.before is not None:
            previous, self.before = self.mean(self.before, ~inside), None
        out = self.mean(values, ~inside)
        return self.mean(values, inside), out, previous - out

    def mean(self, values: np.ndarray, part: np.ndarray) -> float:
        weight = self.risk.weight[part]
        return float(values[part] @ weight / weight.sum()) if weight.size else float("nan")
