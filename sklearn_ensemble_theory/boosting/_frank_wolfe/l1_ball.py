"""Conditional gradients over the ball {|beta|_1 <= D} of a finite dictionary.

The ball is the hull of 2d vertices ±D e_j; 0 is counted as one more point. beta itself says how it
is a convex combination of them: the vertex sign(beta_j) D e_j has weight |beta_j|/D and 0 the rest,
so that no list of atoms is kept and opposite vertices cancel.

The algorithm asks for the correlations c_j = -F'(u)'psi_j only. They give its certificate as well:
F(u) - min F <= D max|c| - c'beta, the dual gap.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg.blas import daxpy, idamax

# Correlations are computed from the start again after so many updates: rounding must not add up.
REFRESH = 500
# An inner problem of the fully corrective variant is solved to this share of the gap around it.
INNER_SHARE = 0.05
INNER_ROUNDS = 10_000
# A gap below this share of the risk at 0 is rounding.
SMALLEST_GAP = 1e-15


class Move(NamedTuple):
    """A direction: beta <- beta - gamma shrink beta + gamma sum values[i] e_{atoms[i]}."""

    shrink: float
    atoms: tuple
    values: tuple
    longest: float  # gamma at most
    slope: float  # -F'(u)' direction


class QuadraticBall:
    """F(u) = mean of (y - u)²/2 over columns whose Gram rows are known: O(d) a move.

    Parameters
    ----------
    rows : GramRows, or any object with ``get(j, c)``
    correlations : float array of shape (d,)
        psi_j'Wy.
    square : float
        y'Wy.
    """

    def __init__(self, rows, correlations, square):
        self.rows, self.at_zero, self.square = rows, correlations, square
        self.risk_at_zero = square / 2

    def start(self, beta):
        self.beta = beta
        self._refresh()

    def _refresh(self):
        self.moves = 0
        self.c = self.at_zero.copy()
        for j in np.flatnonzero(self.beta):
            daxpy(self.rows.get(int(j), self.c), self.c, a=-self.beta[j])

    @property
    def risk(self):
        active = np.flatnonzero(self.beta)
        explained = self.beta[active] @ (self.at_zero[active] + self.c[active])
        return max((self.square - explained) / 2, 0.0)

    def length(self, move):
        """The gamma that minimises the risk along a direction."""
        active = np.flatnonzero(self.beta)
        gram_beta = self.at_zero - self.c
        curvature = move.shrink**2 * (self.beta[active] @ gram_beta[active])
        for j, a in zip(move.atoms, move.values):
            curvature -= 2 * move.shrink * a * gram_beta[j]
            row = self.rows.get(j, self.c)
            curvature += a * sum(b * row[k] for k, b in zip(move.atoms, move.values))
        return move.slope / curvature if curvature > 0 else np.inf

    short = length

    def go(self, move, gamma):
        c, beta = self.c, self.beta
        if move.shrink:
            s = gamma * move.shrink
            c *= 1 - s
            daxpy(self.at_zero, c, a=s)
            beta *= 1 - s
        for j, a in zip(move.atoms, move.values):
            daxpy(self.rows.get(j, c), c, a=-gamma * a)
            beta[j] += gamma * a
        self.moves += 1
        if self.moves == REFRESH:
            self._refresh()


class RowsBall:
    """Any smooth loss, by its scores on the rows: O(n d) a move.

    Parameters
    ----------
    risk : ProfiledRisk or EmpiricalRisk
    dictionary : ColumnDictionary
        With weights that sum to 1 and are the risk's.
    """

    def __init__(self, risk, dictionary):
        self.risk_of, self.dictionary = risk, dictionary
        self.known = {}
        self.start(np.zeros(dictionary.d))
        self.risk_at_zero = self.here.value

    def start(self, beta):
        self.beta = beta
        active = np.flatnonzero(beta)
        self.u = beta[active] @ self.dictionary.columns(active)
        self._look()

    def _look(self):
        self.here = self.risk_of.at(self.u)
        self.c = self.dictionary.products(self.here.target)

    @property
    def risk(self):
        return self.here.value

    def _column(self, j):
        if j not in self.known:
            self.known[j] = self.dictionary.columns(np.array([j]))[0]
        return self.known[j]

    def _direction(self, move):
        direction = -move.shrink * self.u
        for j, a in zip(move.atoms, move.values):
            direction += a * self._column(j)
        return direction

    def length(self, move):
        return self.risk_of.line_search(self.u, self._direction(move), self.here)

    def short(self, move):
        curvature = self.risk_of.curvature(self._direction(move))
        return move.slope / curvature if curvature > 0 else np.inf

    def go(self, move, gamma):
        self.u += gamma * self._direction(move)
        self.beta *= 1 - gamma * move.shrink
        for j, a in zip(move.atoms, move.values):
            self.beta[j] += gamma * a
        self._look()


class BallPath(NamedTuple):
    """What was reached and how.

    Attributes
    ----------
    beta : float array of shape (d,)
    gaps : float array of shape (T + 1,)
        The dual gap before each move, and at the end.
    risks : float array of shape (T + 1,)
        F likewise.
    stop_reason : {"tol", "n_estimators", "stalled"}
    """

    beta: np.ndarray
    gaps: np.ndarray
    risks: np.ndarray
    stop_reason: str


def descend(ball, radius, beta, rule, variant, n_rounds, tol):
    """Conditional gradients from beta.

    Parameters
    ----------
    ball : QuadraticBall or RowsBall
    radius : float
        D.
    beta : float array of shape (d,)
        A point of the ball to start from; not changed.
    rule : {"open_loop", "line_search", "short"}
    variant : {"plain", "away", "pairwise", "corrective"}
    n_rounds : int
    tol : float
        Ends when the gap is at most this share of the risk at 0.

    Returns
    -------
    BallPath
    """
    ball.start(beta.copy())
    end = max(tol, SMALLEST_GAP) * ball.risk_at_zero
    gaps, risks = [], []
    reason = "n_estimators"
    for t in range(n_rounds + 1):
        c = ball.c
        k = idamax(c)
        gap = radius * abs(c.item(k)) - _inner(c, ball.beta)
        gaps.append(max(gap, 0.0))
        risks.append(ball.risk)
        if gap <= end:
            reason = "tol"
            break
        if t == n_rounds:
            break
        if variant == "corrective":
            moved = _correct(ball, radius, k, INNER_SHARE * gap)
        else:
            moved = _step(ball, radius, k, gap, rule, variant, t)
        if not moved:
            reason = "stalled"
            break
    return BallPath(ball.beta, np.array(gaps), np.array(risks), reason)


def _inner(c, beta):
    active = np.flatnonzero(beta)
    return float(c[active] @ beta[active])


def _towards(ball, radius, k, gap):
    value = radius if ball.c.item(k) > 0 else -radius
    return Move(1.0, (k,), (value,), 1.0, gap)


def _step(ball, radius, k, gap, rule, variant, t):
    """One move; False where none lowers the risk any more."""
    move = _towards(ball, radius, k, gap)
    if variant != "plain":
        move = _with_away(ball, radius, move, gap, variant)
    if rule == "open_loop":
        gamma = 2.0 / (t + 2)
    else:
        gamma = ball.length(move) if rule == "line_search" else ball.short(move)
        gamma = min(max(gamma, 0.0), move.longest)
    if gamma == 0:
        return False
    _go(ball, radius, move, gamma)
    return True


def _with_away(ball, radius, towards, gap, variant):
    """The away step where it promises more, or the exchange of the worst atom for the best."""
    c, beta = ball.c, ball.beta
    active = np.flatnonzero(beta)
    if len(active) == 0:
        return towards
    values = beta[active]
    size = np.abs(values)
    merits = radius * np.sign(values) * c[active]
    worst = int(merits.argmin())
    at_zero = 1 - size.sum() / radius
    atom, share, merit = int(active[worst]), size[worst] / radius, merits[worst]
    atoms, away = (atom,), (-radius * np.sign(values[worst]),)
    if at_zero > 1e-15 and merit > 0:
        atoms, away, share, merit = (), (), at_zero, 0.0
    inside = float(c[active] @ values)
    if variant == "pairwise":
        best = towards.atoms[0]
        slope = gap + inside - merit
        if best in atoms:  # from -D e_k to D e_k: the same coordinate twice
            return Move(0.0, (best,), (2 * towards.values[0],), share, slope)
        return Move(0.0, towards.atoms + atoms, towards.values + away, share, slope)
    if gap >= inside - merit or share >= 1:
        return towards
    return Move(-1.0, atoms, away, share / (1 - share), inside - merit)


def _go(ball, radius, move, gamma):
    ball.go(move, gamma)
    beta = ball.beta
    if gamma == move.longest and len(move.atoms):
        # The atom that gave way is gone; what is left of it is rounding.
        last = move.atoms[-1]
        if abs(beta[last]) <= 1e-14 * radius:
            beta[last] = 0.0
    norm = np.abs(beta).sum()
    if norm > radius:  # by rounding
        beta *= radius / norm * (1 - 1e-16)


def _correct(ball, radius, k, target):
    """Minimise over the ball of the active atoms and k, by pairwise steps."""
    allowed = np.union1d(np.flatnonzero(ball.beta), [k])
    moved = False
    for _ in range(INNER_ROUNDS):
        c = ball.c[allowed]
        j = int(allowed[np.abs(c).argmax()])
        gap = radius * abs(ball.c.item(j)) - _inner(ball.c, ball.beta)
        if gap <= target:
            break
        if not _step(ball, radius, j, gap, "line_search", "pairwise", 0):
            break
        moved = True
    return moved
