"""Conditional gradients over the ball {|beta|_1 <= D} of a finite dictionary [Bach, §10.3.6].

The ball is the convex hull of 2d vertices ±D e_j; 0 is counted as one more point. beta itself gives
its convex combination: the vertex sign(beta_j) D e_j has weight |beta_j|/D and 0 the rest, so
that no list of atoms is kept and opposite vertices cancel.

The algorithm needs the correlations c_j = -F'(u)'psi_j only. They also give its dual gap:
F(u) - min F <= D max|c| - c'beta.

For the squared loss this is the boosting loop of `boosting._loop` with `FrankWolfeStep`,
written again for speed: `QuadraticBall` changes the d correlations by rows of the Gram matrix, at a
cost independent of the number of rows. The steps are compiled, those of other losses where the loss
is (`_native/balls`); what is written here is for losses of Python, and for single steps that need a
search other than Newton's.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.linalg.blas import daxpy, idamax

from .._native.balls import (
    ROUNDS,
    ROW,
    STALLED,
    TOL,
    UPDATE,
    GramSteps,
    RowSteps,
    Steps,
    direction_of,
    settle,
)
from ._dictionary import ColumnDictionary, GramRows, RowCache
from ._risk import RiskState

# An inner problem of the fully corrective variant is solved to this share of the gap around it.
INNER_SHARE = 0.05
INNER_ROUNDS = 10_000
# A gap below this share of the risk at 0 is rounding.
SMALLEST_GAP = 1e-15
# Gaps and risks are kept for so many steps at first.
STEPS_AT_FIRST = 200


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


# What a round does; see `SolverOptions`. The compiled steps know the first three, and the rules of
# `STEP_SIZES`, by their numbers.
VARIANTS = ("plain", "away", "pairwise", "fully_corrective")
RULES = ("line_search", "open_loop", "short")


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


@dataclass(frozen=True, eq=False)
class Rounds:
    """Steps that are asked for, from number `start` until there are `stop` of them.

    They end where the dual gap is at most `end`; with `allowed` the gap is that of these columns.
    The gaps and risks before each step and at the end are written to `gaps` and `risks`.
    """

    radius: float
    end: float
    start: int
    stop: int
    gaps: np.ndarray | None = None
    risks: np.ndarray | None = None
    allowed: np.ndarray | None = None


class Ball(Protocol):
    """A point beta of the ball, its risk, and its correlations c_j = -F'(u)'psi_j."""

    beta: np.ndarray
    c: np.ndarray
    risk_at_zero: float

    def start(self, beta: np.ndarray) -> None:
        """Go to a point."""

    def advance(self, rounds: Rounds, options: SolverOptions) -> tuple[str, int]:
        """Make rounds; the number of steps made, and "tol", "stalled" or "" for all of them."""
        ...


ENDS = {ROUNDS: "", TOL: "tol", STALLED: "stalled"}


def _make_rounds(
    steps: Steps, rounds: Rounds, options: SolverOptions, start: int
) -> tuple[int, int]:
    numbers = VARIANTS.index(options.variant), RULES.index(options.step)
    arrays = rounds.gaps, rounds.risks, rounds.allowed
    code, t = steps.run(rounds.radius, rounds.end, *numbers, start, rounds.stop, *arrays)
    return code, t


class QuadraticBall:
    """F(u) = mean of (y - u)²/2, by rows of the Gram matrix: a step costs O(d)."""

    def __init__(self, rows: GramRows, correlations: np.ndarray, square: float):
        self.rows, self.at_zero = rows, np.ascontiguousarray(correlations)
        self.risk_at_zero = square / 2
        self.steps = GramSteps(self.at_zero, square, rows.views)

    def start(self, beta: np.ndarray) -> None:
        self.beta = beta
        self._refresh()

    def _refresh(self) -> None:
        self.c = self.at_zero.copy()
        for j in np.flatnonzero(self.beta):
            daxpy(self.rows.get(int(j), self.c), self.c, a=-self.beta[j])
        self.steps.start(self.beta, self.c)

    def advance(self, rounds: Rounds, options: SolverOptions) -> tuple[str, int]:
        code, t = _make_rounds(self.steps, rounds, options, rounds.start)
        while code not in ENDS:
            if code == ROW:
                self.rows.load(self.steps.needed, self.c)
                self.steps.forget_rows()
            else:
                self._refresh()
            code, t = _make_rounds(self.steps, rounds, options, t)
        return ENDS[code], t


class Dictionary(Protocol):
    """Scores psi_1 ... psi_d on the rows, under weights that sum to 1 and are the risk's."""

    d: int

    def columns(self, chosen: np.ndarray) -> np.ndarray:
        """The chosen psi, as an array of shape (k, n)."""

    def products(self, values: np.ndarray) -> np.ndarray:
        """psi_j'W v for all j, for v of shape (n,)."""


class RiskWithIntercept(Protocol):
    """An `EmpiricalRisk` with the `intercept` that was found last."""

    intercept: float
    weight: np.ndarray

    def at(self, u: np.ndarray) -> RiskState: ...

    def line_search(
        self, u: np.ndarray, psi: np.ndarray, state: RiskState, longest: float
    ) -> float: ...

    def curvature(self, psi: np.ndarray) -> float: ...


class RowsBall:
    """Any smooth loss, by its scores on the rows: a step costs O(n d)."""

    def __init__(self, risk: RiskWithIntercept, dictionary: Dictionary):
        self.risk_of, self.dictionary = risk, dictionary
        self.known = RowCache(dictionary.d)
        self._along: Direction | None = None
        self.steps: RowSteps | None = None
        self.start(np.zeros(dictionary.d))
        self.risk_at_zero = self.state.value
        self.steps = _row_steps(risk, dictionary, self.u, self.state.target)

    def start(self, beta: np.ndarray) -> None:
        self.beta = beta
        active = np.flatnonzero(beta)
        self.u = beta[active] @ self.dictionary.columns(active)
        if self.steps is None:
            self._update()
        elif not self._hand_over():
            self._update()
            self._hand_over_known()

    def _hand_over(self) -> bool:
        """Leave the point to the compiled steps; whether they find the risk there."""
        assert self.steps is not None
        self.c, self.target = np.empty(self.dictionary.d), np.empty(len(self.u))
        arrays = self.beta, self.c, self.u, self.target
        is_found: bool = self.steps.start(*arrays, self.risk_of.intercept)
        self._take_over()
        return is_found

    def _take_over(self) -> None:
        """Take the point that the compiled steps have reached."""
        assert self.steps is not None
        self._along, self.risk_of.intercept = None, self.steps.intercept
        self.state = RiskState(self.steps.value, self.target.copy(), self.risk_of.weight)

    def _update(self) -> None:
        self._along, self._change = None, self.u
        self.state = self.risk_of.at(self.u)
        self.c = self.dictionary.products(self.state.target)

    def advance(self, rounds: Rounds, options: SolverOptions) -> tuple[str, int]:
        if self.steps is None:
            return _advance_by_methods(self, rounds, options)
        t = rounds.start
        while True:
            code, t = _make_rounds(self.steps, rounds, options, t)
            self._take_over()
            if code in ENDS:
                return ENDS[code], t
            # Newton's method has failed, for the length of a step or for the intercept after it.
            ended = ""
            if code == UPDATE:
                self._update()
            else:
                one = replace(rounds, start=t, stop=t + 1)
                ended, t = _advance_by_methods(self, one, options)
            self._hand_over_known()
            if ended:
                return ended, t

    def _hand_over_known(self) -> None:
        assert self.steps is not None
        self.target = self.state.target.copy()
        arrays = self.beta, self.c, self.u, self.target
        self.steps.go_on(*arrays, self.state.value, self.risk_of.intercept)

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


def _row_steps(
    risk: Any, dictionary: Dictionary, u: np.ndarray, target: np.ndarray
) -> RowSteps | None:
    """The compiled steps, of dense columns and a compiled loss with second derivatives."""
    arrays = risk.arrays(u, target)
    takes = isinstance(dictionary, ColumnDictionary) and dictionary.is_plain
    if arrays is None or not takes or risk.second_derivatives(u, target) is None:
        return None
    assert isinstance(dictionary, ColumnDictionary)
    return RowSteps(
        dictionary.X,
        dictionary.offset,
        dictionary.scale,
        dictionary.usable.view(np.uint8),
        arrays.loss,
        arrays.y,
        arrays.weight,
        float(risk.loss.smoothness),
        risk.has_intercept,
    )


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
    is_corrective = options.variant == "fully_corrective"
    n_most = options.n_rounds
    size = 1 + min(n_most, STEPS_AT_FIRST)
    gaps, risks = np.empty(size), np.empty(size)
    t, stop, reason = 0, 0, "n_estimators"

    def so_far() -> BallPath:
        return BallPath(ball.beta.copy(), gaps[: t + 1].copy(), risks[: t + 1].copy(), reason)

    def share_of_gap() -> float:
        return float(gaps[t] / ball.risk_at_zero)

    # The gap is known before a step only, so that the end has one more gap and risk than steps.
    while True:
        before = t
        rounds = Rounds(radius, end, t, stop, gaps, risks)
        ended, t = _correct(ball, rounds) if is_corrective else ball.advance(rounds, options)
        if t > before and end_round is not None and end_round(share_of_gap(), so_far):
            reason = "callback"
        elif ended:
            reason = ended
        elif t < n_most:
            if t + 1 == len(gaps):
                gaps, risks = np.resize(gaps, 2 * t + 2), np.resize(risks, 2 * t + 2)
            stop = min(t + 1 if end_round is not None else len(gaps) - 1, n_most)
            continue
        return so_far()


def _correct(ball: Ball, rounds: Rounds) -> tuple[str, int]:
    """The rounds of the fully corrective variant.

    Each minimises over the ball of the active atoms and the best one, by pairwise steps.
    """
    t = rounds.start
    assert rounds.gaps is not None
    while True:
        ended, _ = ball.advance(replace(rounds, start=t, stop=t), INNER_OPTIONS)
        if ended or t == rounds.stop:
            return ended, t
        allowed = np.union1d(np.flatnonzero(ball.beta), [idamax(ball.c)]).astype(np.intp)
        target = INNER_SHARE * float(rounds.gaps[t])
        inner = Rounds(rounds.radius, target, 0, INNER_ROUNDS, allowed=allowed)
        if ball.advance(inner, INNER_OPTIONS)[1] == 0:
            return "stalled", t
        t += 1


def _advance_by_methods(ball: RowsBall, rounds: Rounds, options: SolverOptions) -> tuple[str, int]:
    """`Ball.advance` for losses of Python."""
    t, allowed = rounds.start, rounds.allowed
    while True:
        c = ball.c
        k = idamax(c) if allowed is None else int(allowed[np.abs(c[allowed]).argmax()])
        gap = rounds.radius * abs(c.item(k)) - ball.inside
        if rounds.gaps is not None and rounds.risks is not None:
            rounds.gaps[t], rounds.risks[t] = max(gap, 0.0), ball.risk
        if gap <= rounds.end:
            return "tol", t
        if t == rounds.stop:
            return "", t
        if not _take_step(ball, rounds.radius, k, gap, options, t):
            return "stalled", t
        t += 1


def _take_step(
    ball: RowsBall, radius: float, k: int, gap: float, options: SolverOptions, t: int
) -> bool:
    """Make a step to the best atom k; False where none lowers the risk any more."""
    variant = VARIANTS.index(options.variant)
    direction = Direction(*direction_of(ball.c, ball.beta, radius, k, gap, variant))
    gamma = STEP_SIZES[options.step](t, ball, direction)
    if gamma == 0:
        return False
    ball.move_along(direction, gamma)
    last = direction.atoms[-1] if direction.atoms else -1
    settle(ball.beta, radius, last, gamma, direction.longest)
    return True
