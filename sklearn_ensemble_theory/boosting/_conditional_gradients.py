"""Conditional gradients over the ball {|beta|_1 <= D} of a finite dictionary [Bach, §10.3.6].

The ball is the convex hull of 2d vertices ±D e_j; 0 is counted as one more point. beta itself gives
its convex combination: the vertex sign(beta_j) D e_j has weight |beta_j|/D and 0 the rest, so
that no list of atoms is kept and opposite vertices cancel.

The algorithm needs the correlations c_j = -F'(u)'psi_j only. They also give its dual gap:
F(u) - min F <= D max|c| - c'beta.

For the squared loss this is the boosting loop of `boosting._loop` with `FrankWolfeStep`,
written again for speed: `QuadraticBall` changes the d correlations by rows of the Gram matrix, at a
cost independent of the number of rows.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from scipy.linalg.blas import dasum, daxpy, ddot, dscal, idamax

from ._dictionary import GramRows, RowCache
from ._risk import EmpiricalRisk

# Correlations are computed from the start again after so many steps: rounding must not add up.
REFRESH = 500
# An inner problem of the fully corrective variant is solved to this share of the gap around it.
INNER_SHARE = 0.05
INNER_ROUNDS = 10_000
# A gap below this share of the risk at 0 is rounding.
SMALLEST_GAP = 1e-15
# After an exact pairwise step its two atoms are equally good, and rounding must not choose between
# them: the first of the atoms wins that are as good up to this share, and to this part of the gap.
TIE_SHARE = 1e-9
TIE_OF_GAP = 1e-3
# A smaller weight of the point 0 is rounding.
SMALLEST_SHARE = 1e-14


# --- directions and step sizes --------------------------------------------------------------------


class Direction(NamedTuple):
    """A step of size gamma along it makes beta

    beta - gamma shrink beta + gamma sum_i values[i] e_{atoms[i]}. `longest` is the largest gamma
    that stays in the ball, `gain` the first-order gain -F'(u)' direction.
    """

    shrink: float
    atoms: tuple
    values: tuple
    longest: float
    gain: float


class Place(Protocol):
    """Where a step starts: the best step sizes from there along a direction."""

    def line_search(self, direction: Direction) -> float: ...

    def short_step(self, direction: Direction) -> float: ...


def open_loop(t: int, place: Place, direction: Direction) -> float:
    """2 / (t + 2), whatever the risk."""
    return 2.0 / (t + 2)


def line_search(t: int, place: Place, direction: Direction) -> float:
    """The step with the least risk, among those that stay in the ball."""
    return min(max(place.line_search(direction), 0.0), direction.longest)


def short_step(t: int, place: Place, direction: Direction) -> float:
    """The minimum of the quadratic upper bound of the risk [Bach, eq. (10.8)], in the ball."""
    return min(max(place.short_step(direction), 0.0), direction.longest)


# How far to go along a direction in round t. A new rule is a function and a line.
STEP_SIZES: dict[str, Callable[[int, Place, Direction], float]] = {
    "open_loop": open_loop,
    "line_search": line_search,
    "short": short_step,
}


# What a round does; see `SolverOptions`.
VARIANTS = ("plain", "away", "pairwise", "fully_corrective")


@dataclass(frozen=True)
class SolverOptions:
    """How a problem over a ball is solved: `step` is a key of `STEP_SIZES`.

    `variant` is one of `VARIANTS`: towards the best atom; or away from the worst one, or from the
    worst to the best one; or to the minimum over the ball of all atoms found. The rounds end when
    the dual gap is at most the share `tol` of the risk at 0.
    """

    step: str
    variant: str
    n_rounds: int
    tol: float

    def smallest_gap(self, risk_at_zero: float) -> float:
        return max(self.tol, SMALLEST_GAP) * risk_at_zero


INNER_OPTIONS = SolverOptions("line_search", "pairwise", INNER_ROUNDS, 0.0)


# --- the ball: a point, its risk and its correlations ---------------------------------------------


class Ball(Place, Protocol):
    """A point beta of the ball, its risk, and how both change by a step; c are -F'(u)'psi_j."""

    beta: np.ndarray
    c: np.ndarray
    risk_at_zero: float

    @property
    def risk(self) -> float: ...

    @property
    def inside(self) -> float:
        """c'beta, the part of the dual gap that does not depend on the radius."""
        ...

    def start(self, beta: np.ndarray) -> None: ...

    def move_along(self, direction: Direction, gamma: float) -> None: ...


class QuadraticBall:
    """F(u) = mean of (y - u)²/2, by rows of the Gram matrix: a step costs O(d)."""

    def __init__(self, rows: GramRows, correlations: np.ndarray, square: float):
        self.rows, self.at_zero, self.square = rows, correlations, square
        self._products: tuple[float, float] | None = None
        self.risk_at_zero = square / 2

    def start(self, beta: np.ndarray) -> None:
        self.beta = beta
        self._refresh()

    def _refresh(self) -> None:
        self.n_steps, self._products = 0, None
        self.c = self.at_zero.copy()
        for j in np.flatnonzero(self.beta):
            daxpy(self.rows.get(int(j), self.c), self.c, a=-self.beta[j])

    def _products_with_beta(self) -> tuple[float, float]:
        """c'beta, and the same at 0, found once between two steps."""
        if self._products is None:
            self._products = ddot(self.c, self.beta), ddot(self.at_zero, self.beta)
        return self._products

    @property
    def inside(self) -> float:
        return self._products_with_beta()[0]

    @property
    def risk(self) -> float:
        inside, at_zero = self._products_with_beta()
        return max((self.square - inside - at_zero) / 2, 0.0)

    def line_search(self, direction: Direction) -> float:
        """The gamma that minimises the risk along a direction."""
        at_zero, c, curvature = self.at_zero, self.c, 0.0
        if direction.shrink:
            inside, at_zero_inside = self._products_with_beta()
            curvature = direction.shrink**2 * (at_zero_inside - inside)
        for j, a in zip(direction.atoms, direction.values):
            curvature -= 2 * direction.shrink * a * (at_zero.item(j) - c.item(j))
            row = self.rows.get(j, c)
            for k, b in zip(direction.atoms, direction.values):
                curvature += a * b * row.item(k)
        return direction.gain / curvature if curvature > 0 else np.inf

    short_step = line_search  # the quadratic upper bound is the risk itself

    def move_along(self, direction: Direction, gamma: float) -> None:
        c, beta = self.c, self.beta
        if direction.shrink:
            s = gamma * direction.shrink
            dscal(1 - s, c)
            daxpy(self.at_zero, c, a=s)
            dscal(1 - s, beta)
        for j, a in zip(direction.atoms, direction.values):
            daxpy(self.rows.get(j, c), c, a=-gamma * a)
            beta[j] += gamma * a
        self._products = None
        self.n_steps += 1
        if self.n_steps == REFRESH:
            self._refresh()


class Dictionary(Protocol):
    """Scores psi_1 ... psi_d on the rows, under weights that sum to 1 and are the risk's."""

    d: int

    def columns(self, chosen: np.ndarray) -> np.ndarray:
        """The chosen psi, as an array of shape (k, n)."""

    def products(self, values: np.ndarray) -> np.ndarray:
        """psi_j'W v for all j, for v of shape (n,)."""


class RowsBall:
    """Any smooth loss, by its scores on the rows: a step costs O(n d)."""

    def __init__(self, risk: EmpiricalRisk, dictionary: Dictionary):
        self.risk_of, self.dictionary = risk, dictionary
        self.known = RowCache(dictionary.d)
        self._along: Direction | None = None
        self.start(np.zeros(dictionary.d))
        self.risk_at_zero = self.state.value

    def start(self, beta: np.ndarray) -> None:
        self.beta = beta
        active = np.flatnonzero(beta)
        self.u = beta[active] @ self.dictionary.columns(active)
        self._update()

    def _update(self) -> None:
        self._along, self._change = None, self.u
        self.state = self.risk_of.at(self.u)
        self.c = self.dictionary.products(self.state.target)

    @property
    def risk(self) -> float:
        return self.state.value

    @property
    def inside(self) -> float:
        return float(self.c @ self.beta)

    def _column(self, j: int) -> np.ndarray:
        if self.known.views[j] is None:
            self.known.keep(j, [j], self.dictionary.columns(np.array([j])))
        return self.known.views[j]

    def _scores(self, direction: Direction) -> np.ndarray:
        """The change of the scores along a direction."""
        if self._along is direction:  # that a line search has gone along just now
            return self._change
        change = -direction.shrink * self.u
        for j, a in zip(direction.atoms, direction.values):
            change += a * self._column(j)
        self._along, self._change = direction, change
        return change

    def line_search(self, direction: Direction) -> float:
        change = self._scores(direction)
        return self.risk_of.line_search(self.u, change, self.state, direction.longest)

    def short_step(self, direction: Direction) -> float:
        curvature = self.risk_of.curvature(self._scores(direction))
        return direction.gain / curvature if curvature > 0 else np.inf

    def move_along(self, direction: Direction, gamma: float) -> None:
        self.u += gamma * self._scores(direction)
        self.beta *= 1 - gamma * direction.shrink
        for j, a in zip(direction.atoms, direction.values):
            self.beta[j] += gamma * a
        self._update()


# --- the rounds -----------------------------------------------------------------------------------


class BallPath(NamedTuple):
    """The T steps to `beta`; `gaps` and `risks` (T + 1,) are before each step and at the end."""

    beta: np.ndarray
    gaps: np.ndarray
    risks: np.ndarray
    stop_reason: str


def conditional_gradients(
    ball: Ball,
    radius: float,
    beta: np.ndarray,
    options: SolverOptions,
    end_round: Callable[[float, Callable[[], BallPath]], bool] | None = None,
) -> BallPath:
    """Minimise the risk over the ball by conditional gradients.

    They start from the point `beta` of the ball, which is not changed. `end_round(gap, so_far)` is
    called after each step with the dual gap as a share of the risk at 0, and a function that
    returns the path until then; True ends the path.
    """
    ball.start(beta.copy())
    end = options.smallest_gap(ball.risk_at_zero)
    gaps: list[float] = []
    risks: list[float] = []
    reason = "n_estimators"

    def so_far() -> BallPath:
        return BallPath(ball.beta.copy(), np.array(gaps), np.array(risks), reason)

    # The gap is known before a step only, so that the end has one more gap and risk than steps.
    for t in range(options.n_rounds + 1):
        c = ball.c
        k = idamax(c)
        gap = radius * abs(c.item(k)) - ball.inside
        gaps.append(max(gap, 0.0))
        risks.append(ball.risk)
        if end_round is not None and t > 0 and end_round(gap / ball.risk_at_zero, so_far):
            reason = "callback"
            break
        if gap <= end:
            reason = "tol"
            break
        if t == options.n_rounds:
            break
        if options.variant == "fully_corrective":
            moved = _minimise_over_active(ball, radius, k, INNER_SHARE * gap)
        else:
            moved = _take_step(ball, radius, k, gap, options, t)
        if not moved:
            reason = "stalled"
            break
    return so_far()


def _take_step(
    ball: Ball, radius: float, k: int, gap: float, options: SolverOptions, t: int
) -> bool:
    """Make a step to the best atom k; False where none lowers the risk any more."""
    value = radius if ball.c.item(k) > 0 else -radius
    direction = Direction(1.0, (k,), (value,), 1.0, gap)
    if options.variant != "plain":
        # The first atom that ties with the best one; its correlation is smaller by `lost`.
        size = np.abs(ball.c)
        top = size.item(k)
        k = int((size >= top - min(TIE_SHARE * top, TIE_OF_GAP * (gap / radius))).argmax())
        lost = top - size.item(k)
        value = radius if ball.c.item(k) > 0 else -radius
        direction = Direction(1.0, (k,), (value,), 1.0, gap - radius * lost)
        direction = _with_worst_atom(ball, radius, direction, options.variant)
    gamma = STEP_SIZES[options.step](t, ball, direction)
    if gamma == 0:
        return False
    ball.move_along(direction, gamma)
    # What rounding does to the atom that leaves, and to the norm, is undone.
    beta = ball.beta
    if gamma == direction.longest and len(direction.atoms):
        last = direction.atoms[-1]
        if abs(beta[last]) <= 1e-14 * radius:
            beta[last] = 0.0
    norm = dasum(beta)
    if norm > radius:
        beta *= radius / norm * (1 - 1e-16)
    return True


def _with_worst_atom(ball: Ball, radius: float, towards: Direction, variant: str) -> Direction:
    """Turn the direction towards the best atom into that of an away step or of a pairwise step.

    "away" moves away from the worst active atom where the first-order gain of that is larger;
    "pairwise" moves weight from the worst active atom to the best one.
    """
    c, beta, gap = ball.c, ball.beta, towards.gain
    active = np.flatnonzero(beta)
    if len(active) == 0:
        return towards
    # The worst active atom has the least merit, D sign(beta_j) c_j; the point 0 has merit 0 and the
    # weight that the atoms leave. Of atoms that tie up to rounding the first is taken.
    values = beta[active]
    size = np.abs(values)
    merits = radius * np.sign(values) * c[active]
    inside = float(c[active] @ values)
    lowest = merits.min()
    slack = min(TIE_SHARE * (gap + inside), TIE_OF_GAP * (gap + inside - lowest))
    worst = int((merits <= lowest + slack).argmax())
    at_zero = 1 - size.sum() / radius
    atom, share, merit = int(active[worst]), size[worst] / radius, merits[worst]
    atoms, away = (atom,), (-radius * np.sign(values[worst]),)
    if at_zero > SMALLEST_SHARE and merit > -slack:
        atoms, away, share, merit = (), (), at_zero, 0.0
    if variant == "pairwise":
        best = towards.atoms[0]
        gain = gap + inside - merit
        if best in atoms:  # from -D e_k to D e_k: the same coordinate twice
            return Direction(0.0, (best,), (2 * towards.values[0],), share, gain)
        return Direction(0.0, towards.atoms + atoms, towards.values + away, share, gain)
    if gap >= inside - merit or share >= 1:
        return towards
    return Direction(-1.0, atoms, away, share / (1 - share), inside - merit)


def _minimise_over_active(ball: Ball, radius: float, k: int, target: float) -> bool:
    """Minimise over the ball of the active atoms and k, by pairwise steps; False if none moved."""
    allowed = np.union1d(np.flatnonzero(ball.beta), [k])
    moved = False
    for _ in range(INNER_OPTIONS.n_rounds):
        c = ball.c[allowed]
        j = int(allowed[np.abs(c).argmax()])
        gap = radius * abs(ball.c.item(j)) - ball.inside
        if gap <= target:
            break
        if not _take_step(ball, radius, j, gap, INNER_OPTIONS, 0):
            break
        moved = True
    return moved
