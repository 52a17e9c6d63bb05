"""The linear programme of LPBoost, solved again after each new member from the last solution.

Over weights d of groups of rows, of sum 1 and at most `cap`, the largest edge gamma of the members
so far is minimised:

    min gamma    s.t.  A d <= gamma 1,    1'd = 1,    0 <= d <= cap.

A new member is one more row, under which the last solution remains dual feasible: the dual simplex
method goes on from it (Demiriz, Bennett and Shawe-Taylor 2002 go on by columns of the primal one).
The basis has as many columns as there are members, not rows.
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog

# Costs of the groups, so small that they only decide between solutions that tie: an edge moves by
# less than this.
TIES = 1e-10
# A weight may be out of its range by this share of its cap, and an edge above the largest by this.
OUTSIDE = 1e-9
ABOVE = 1e-12
SMALLEST_PIVOT = 1e-9
# A solution is accepted if no vote can have a margin that is larger by more than this.
ACCEPTED = 1e-9
MOST_PIVOTS = 10_000
"""In all for one member; ten or so are usual."""


class Solution(NamedTuple):
    """The largest edge, the weights d, and the coefficients of the members."""

    edge: float
    mass: np.ndarray
    alphas: np.ndarray


class EdgeProgramme:
    """The programme and its last basis; O(T^2 + T G) a pivot for T members and G groups of rows.

    Variables are numbered d_1 ... d_G, gamma, then the slack of each member. `inverse` is that of
    the basis, `x` has the values of its variables, between `lower` and `upper`. `z` and `z_slack`
    are the reduced costs of the others, of which the groups in `at_cap` are at their caps and all
    the rest at 0; those of the slacks are the coefficients of the members.
    """

    A: np.ndarray
    cap: np.ndarray
    inverse: np.ndarray
    x: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    z: np.ndarray
    z_slack: np.ndarray
    at_cap: np.ndarray
    is_basic: np.ndarray

    def __init__(self) -> None:
        self.A = np.empty((0, 1))
        self.cost = np.full(1, TIES)
        self.basis = np.empty(0, dtype=np.intp)

    def add(self, parent: np.ndarray, votes: np.ndarray, cap: np.ndarray) -> Solution:
        """Solve with one more member, which is wrong (-1) or right (1) in each of G groups.

        `parent` is the group before that each group is a part of; the parts of a group are
        neighbours. `cap` is the largest weight of each group.
        """
        (T, before), G = self.A.shape, len(parent)
        first = np.searchsorted(parent, np.arange(before))
        keeps = np.zeros(G, dtype=bool)
        keeps[first] = True
        # A part that is split off has a cost of its own; the other one keeps its place in the
        # basis.
        own = TIES * (0.5 + (0.618033988749895 * np.arange(1, G + 1) + 0.377 * T) % 0.5)
        self.cost = np.where(keeps, self.cost[parent], own)
        self.A = np.vstack([self.A[:, parent], votes])
        self.cap = np.minimum(cap, 1.0)
        if T == 0:
            # The basis of one member: rows that it gets wrong are at their caps, up to a sum of 1.
            order = np.argsort(votes + self.cost, kind="stable")
            last = min(int(np.searchsorted(np.cumsum(self.cap[order]), 1.0)), G - 1)
            self.basis = np.array([order[last], G])
        else:
            moved, groups = self.basis + (G - before), self.basis < before
            moved[groups] = first[self.basis[groups]]
            self.basis = np.append(moved, G + 1 + T)
        if self._start() and self._pivot_until_feasible():
            found = self._solution()
            # The largest edge minus the soft margin of the vote, which bounds it from below.
            if found.edge - soft_margin(found.alphas @ self.A, cap) <= ACCEPTED:
                return found
        return by_highs(self.A, cap)

    def _start(self) -> bool:
        """What belongs to the basis, which is dual feasible; False where it has no inverse."""
        (T, G), basis = self.A.shape, self.basis
        try:
            self.inverse = np.linalg.inv(np.column_stack([self._column(int(j)) for j in basis]))
        except np.linalg.LinAlgError:
            return False
        groups = basis < G
        self.upper, self.lower = np.full(T + 1, np.inf), np.where(basis == G, -np.inf, 0.0)
        self.upper[groups] = self.cap[basis[groups]]
        costs = np.where(basis == G, 1.0, 0.0)
        costs[groups] = self.cost[basis[groups]]
        prices = costs @ self.inverse
        self.z, self.z_slack = self.cost - self._times(prices), np.maximum(-prices[1:], 0.0)
        self.is_basic = np.zeros(G + 1 + T, dtype=bool)
        self.is_basic[basis] = True
        self.z[self.is_basic[:G]] = 0.0
        self.z_slack[self.is_basic[G + 1 :]] = 0.0
        # A group is dual feasible at one of its bounds.
        self.at_cap = self.z < 0
        right = -self._sum_of_columns(self.at_cap, self.cap[self.at_cap])
        right[0] += 1.0
        self.x = self.inverse @ right
        return True

    def _column(self, j: int) -> np.ndarray:
        """The column of a variable: its part of the sum of the weights, then of each edge."""
        T, G = self.A.shape
        column = np.zeros(T + 1)
        if j < G:
            column[0], column[1:] = 1.0, self.A[:, j]
        elif j == G:
            column[1:] = -1.0
        else:
            column[j - G] = 1.0
        return column

    def _times(self, row: np.ndarray) -> np.ndarray:
        """The row times the columns of all groups."""
        return row[0] + row[1:] @ self.A

    def _sum_of_columns(self, groups: np.ndarray, values: np.ndarray) -> np.ndarray:
        return np.append(values.sum(), self.A[:, groups] @ values)

    def _pivot_until_feasible(self) -> bool:
        """Pivot until all variables are within their bounds; False where rounding prevents it."""
        for _ in range(MOST_PIVOTS):
            # The one that is furthest outside, in units of the length of its row of the inverse.
            outside = np.maximum(self.lower - self.x, self.x - self.upper)
            far = outside > np.where(self.upper < np.inf, OUTSIDE * self.upper, ABOVE)
            if not far.any():
                return True
            squares = np.einsum("ij,ij->i", self.inverse, self.inverse)
            r = int(np.where(far, outside**2 / squares, 0.0).argmax())
            if not self._pivot(r, float(outside[r])):
                return False
        return False

    def _pivot(self, r: int, outside: float) -> bool:
        """The variable in row r of the basis leaves it for the bound that it is beyond."""
        G, is_above = self.A.shape[1], self.x[r] > self.upper[r]
        row = self.inverse[r]
        pivots, slack_pivots = self._times(row), row[1:]
        # Those whose reduced costs fall to 0, the first one first.
        sign = 1.0 if is_above else -1.0
        towards, slack_towards = np.where(self.at_cap, -sign, sign) * pivots, sign * slack_pivots
        groups = ((towards > SMALLEST_PIVOT) & ~self.is_basic[:G]).nonzero()[0]
        slacks = ((slack_towards > SMALLEST_PIVOT) & ~self.is_basic[G + 1 :]).nonzero()[0]
        ratios = np.abs(self.z[groups]) / towards[groups]
        ratios = np.append(ratios, self.z_slack[slacks] / slack_towards[slacks])
        order = np.argsort(ratios)
        # The step goes on beyond a group, which moves to its other bound, as long as the variable
        # remains outside.
        falls = np.append(towards[groups] * self.cap[groups], np.full(len(slacks), np.inf))
        place = int(np.searchsorted(np.cumsum(falls[order]), outside))
        if place == len(order):
            return False
        passed, chosen = groups[order[:place]], int(order[place])
        if len(passed):
            change = np.where(self.at_cap[passed], -self.cap[passed], self.cap[passed])
            self.x -= self.inverse @ self._sum_of_columns(passed, change)
            self.at_cap[passed] ^= True
        start = 0.0
        if chosen < len(groups):
            j = int(groups[chosen])
            step = self.z[j] / pivots[j]
            start = self.cap[j] if self.at_cap[j] else 0.0
        else:
            t = int(slacks[chosen - len(groups)])
            j, step = G + 1 + t, self.z_slack[t] / slack_pivots[t]
        self.z -= step * pivots
        self.z_slack -= step * slack_pivots
        bound = self.upper[r] if is_above else self.lower[r]
        self._exchange(r, j, start, bound, -step)
        if self.basis[r] < G:
            self.at_cap[j], self.z[j] = False, 0.0
        else:
            self.z_slack[j - G - 1] = 0.0
        return True

    def _exchange(self, r: int, j: int, start: float, bound: float, cost: float) -> None:
        """Variable j takes row r of the basis from its bound `start`, and the one there leaves.

        It leaves for `bound`, with the reduced cost `cost`.
        """
        G, leaves = self.A.shape[1], int(self.basis[r])
        column = self.inverse @ self._column(j)
        length = (self.x[r] - bound) / column[r]
        self.x -= length * column
        self.x[r] = start + length
        self.inverse[r] /= column[r]
        column[r] = 0.0
        self.inverse -= column[:, None] * self.inverse[r]
        self.basis[r], self.is_basic[leaves], self.is_basic[j] = j, False, True
        self.upper[r], self.lower[r] = self.cap[j] if j < G else np.inf, 0.0
        if leaves < G:
            self.at_cap[leaves], self.z[leaves] = bound > 0, cost
        else:
            self.z_slack[leaves - G - 1] = cost

    def _solution(self) -> Solution:
        mass = np.where(self.at_cap, self.cap, 0.0)
        groups = self.basis < len(mass)
        mass[self.basis[groups]] = np.clip(self.x[groups], 0.0, self.upper[groups])
        mass /= mass.sum()
        alphas = np.maximum(self.z_slack, 0.0)
        return Solution(float((self.A @ mass).max()), mass, alphas / alphas.sum())


def soft_margin(margins: np.ndarray, cap: np.ndarray) -> float:
    """The mean of the smallest margins of rows of these largest weights, up to a sum of 1."""
    order = np.argsort(margins, kind="stable")
    mass = np.diff(np.minimum(np.cumsum(cap[order]), 1.0), prepend=0.0)
    return float(mass @ margins[order])


def by_highs(A: np.ndarray, cap: np.ndarray) -> Solution:
    """The solution from nothing, where rounding spoils a basis. A ValueError if there is none."""
    T, G = A.shape
    bound, sum_of_weights = np.append(np.zeros(G), 1.0), np.append(np.ones(G), 0.0)
    edges = np.column_stack([A, -np.ones(T)])
    limits = np.column_stack([np.append(np.zeros(G), -np.inf), np.append(cap, np.inf)])
    # A third of HiGHS's time goes into presolving, which finds nothing to leave out.
    programme = bound, edges, np.zeros(T), [sum_of_weights], [1.0], limits
    found = linprog(*programme, method="highs-ds", options={"presolve": False})
    if found.x is None:
        raise ValueError(f"nu: the linear programme has not been solved. {found.message}")
    alphas = np.maximum(-found.ineqlin.marginals, 0.0)
    return Solution(float(found.fun), np.clip(found.x[:-1], 0.0, cap), alphas / alphas.sum())
