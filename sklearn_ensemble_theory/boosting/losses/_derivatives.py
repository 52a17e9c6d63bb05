"""Are the derivatives of a user's loss those of its value?"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ._base import Array, Loss, UserLoss, loss_name

# The steps of the differences, in units of the distance of a score from its target, of 1, of the
# score and of the target: whether a loss is one of distances or has a link is not known. Each row
# has one of them, and few rows have several.
STEPS = (1e-3, 1e-5)
N_SCALES = 4
ENOUGH_ROWS = 64
# A difference tells a derivative if what is uncertain about it, by its curvature, a kink or
# rounding, is less than the first share of it; a derivative is wrong if it is off by more than the
# second. Derivatives below the third share of the largest may be rounded to 0.
CERTAIN, WRONG, NEGLIGIBLE = 0.1, 0.05, 1e-6
# Steps that seem to tell of a wrong derivative are shortened up to this power of 10.
LEAST_POWER = -14


def check_derivatives(loss: Loss, y: Array, u: Array | None = None) -> None:
    """Refuse a user's loss whose derivatives are not those of its value; others are not looked at.

    The gradient at the scores is compared with the differences of the value on both sides, between
    which it is for every convex loss, also at a kink. The second derivative may be an estimate, but
    must not be negative where the gradient rises. The scores are those of the start of a fit; None
    are those from which the best constant is searched, 0, unless the loss knows it itself. O(n),
    some evaluations of the loss.
    """
    if not is_of_the_user(loss):
        return
    if u is None:
        if _knows_start(loss):
            return
        u = np.zeros(len(y))
    name, u = loss_name(loss), np.array(u, dtype=float)
    with np.errstate(all="ignore"):
        value, slope = np.asarray(loss.value(y, u)), np.asarray(loss.gradient(y, u))
        second = loss.hessian(y, u)
        second = None if second is None else np.asarray(second)
        for method, found, shape in [
            ("value", value, u.shape[:1]),
            ("gradient", slope, u.shape),
            ("hessian", second, u.shape),
        ]:
            if found is not None and found.shape != shape:
                raise ValueError(
                    f"loss: {name}.{method}(y, u) must have shape {shape}, got {found.shape}."
                )
        check_numbers(loss, y, u, value, slope)
        for moves in _moves(y, u):
            _check_slopes(loss, name, y, u, value, slope, moves)
            if second is not None:
                _check_curvatures(loss, name, y, u, second, moves)


def is_of_the_user(loss: Loss) -> bool:
    """Whether a loss is no class of this package."""
    given = loss.loss if isinstance(loss, UserLoss) else loss
    return type(given).__module__.partition(".")[0] != __package__.partition(".")[0]


def _knows_start(loss: Loss) -> bool:
    if isinstance(loss, UserLoss):
        return any(hasattr(loss.loss, name) for name in ("initial_scores", "optimal_constant"))
    own = type(loss)
    return (
        own.initial_scores is not Loss.initial_scores
        or own.optimal_constant is not Loss.optimal_constant
    )


def check_numbers(loss: Loss, y: Array, u: Array, value: Array, gradient: Array) -> None:
    """Refuse a loss of which a value or a derivative is no number, though the score is one."""
    known, is_finite = ~np.isnan(u), np.isfinite(value)
    rows = known if u.ndim == 1 else known.all(axis=1)
    # Both may overflow, far from the targets.
    infinite = np.isinf(gradient) & (is_finite if u.ndim == 1 else is_finite[:, None])
    for method, found, wrong in [
        ("value", value, np.isnan(value) & rows),
        ("gradient", gradient, (np.isnan(gradient) & known) | infinite),
    ]:
        if wrong.any():
            at = tuple(np.argwhere(wrong)[0])
            scores = np.array2string(u[at] if u.ndim == len(at) else u[at[0]], precision=6)
            raise ValueError(
                f"loss: {loss_name(loss)}.{method}(y, u) returns "
                f"{'NaN' if np.isnan(found[at]) else 'infinity'} for y={y[at[0]]:.6g}, u={scores}."
            )


class _Moves(NamedTuple):
    """A step of each row in one of its scores."""

    column: Array
    length: Array

    def of(self, values: Array) -> Array:
        """The values in the scores that are moved."""
        return values if values.ndim == 1 else values[np.arange(len(values)), self.column]

    def moved(self, u: Array, length: Array) -> Array:
        out = u.copy()
        if u.ndim == 1:
            out += length
        else:
            out[np.arange(len(u)), self.column] += length
        return out


def _moves(y: Array, u: Array) -> list[_Moves]:
    n = len(y)
    n_scores = 1 if u.ndim == 1 else u.shape[1]
    kinds = len(STEPS) * N_SCALES * n_scores
    first = np.random.RandomState(0).randint(kinds, size=n)
    found = []
    for k in range(min(-(-ENOUGH_ROWS // n), kinds)):
        kind, column = np.divmod((first + k) % kinds, n_scores)
        at = _Moves(column, np.empty(0)).of(u)
        scales = np.stack([np.abs(y - at), np.ones(n), np.abs(at), np.abs(y)])
        scale = scales[kind % N_SCALES, np.arange(n)]
        length = np.array(STEPS)[kind // N_SCALES] * np.where(scale > 0, scale, 1.0)
        found.append(_Moves(column, length))
    return found


class _Differences(NamedTuple):
    """Difference quotients of values by a step to each side, and the error of each by rounding."""

    left: Array
    right: Array
    noise: Array

    @classmethod
    def of(cls, step: Array, values: list[Array], moved: Array, slope: Array) -> _Differences:
        """Of the values before, at and after a place; `moved` is the size of what is subtracted."""
        before, at, after = values
        left, right = (at - before) / step, (after - at) / step
        is_single = np.array_equal(after, after.astype(np.float32), equal_nan=True)
        eps = np.finfo(np.float32 if is_single else np.float64).eps
        size = np.max(np.abs([left, right, slope]), axis=0)
        # Losses have terms of the size of 1, such as the probability beside which one vanishes.
        terms = 1 + np.abs(before) + np.abs(at) + np.abs(after)
        return cls(left, right, 8 * eps * (terms + moved * size) / step)

    @property
    def middle(self) -> Array:
        return (self.left + self.right) / 2

    def told(self, slope: Array) -> tuple[Array, Array]:
        """Where rounding lets the differences tell a slope, and where it is certainly another."""
        low, high = np.minimum(self.left, self.right), np.maximum(self.left, self.right)
        size = np.max(np.abs([low, high, slope]), axis=0)
        told = (self.noise <= CERTAIN * size) & np.isfinite(size)
        told &= size > NEGLIGIBLE * np.max(np.abs(slope), initial=0.0)
        is_certain = (high - low) + self.noise <= CERTAIN * size
        outside = np.maximum(low - slope, slope - high)
        return told, told & is_certain & (outside > WRONG * size + self.noise)


class _Curve(NamedTuple):
    """A function of the scores, one value a row, along the moves of the rows, and its slopes."""

    function: Callable[[Array], Array]
    y: Array
    u: Array
    moves: _Moves
    slope: Array

    def differences(self, share: float = 1.0) -> _Differences:
        """With this share of the steps."""
        at = self.moves.of(self.u)
        step = (at + share * self.moves.length) - at  # what the scores are moved by, to the bit
        values = [self.function(self.moves.moved(self.u, sign * step)) for sign in (-1, 0, 1)]
        return _Differences.of(step, values, np.abs(at) + np.abs(self.y), self.slope)

    def wrong(self) -> tuple[Array, _Differences]:
        """The rows whose slopes are none of the differences."""
        found = self.differences()
        wrong = suspected = found.told(self.slope)[1]
        power = 0
        while suspected.any() and power > LEAST_POWER:
            power -= 1
            told, off = self.differences(10.0**power).told(self.slope)
            suspected = suspected & told
            wrong = np.where(suspected, off, wrong)
        return wrong, found


def _check_slopes(
    loss: Loss, name: str, y: Array, u: Array, value: Array, slope: Array, moves: _Moves
) -> None:
    g = moves.of(slope)
    wrong, found = _Curve(lambda at: np.asarray(loss.value(y, at)), y, u, moves, g).wrong()
    if not wrong.any():
        return
    # A loss of lists, whose value at a row depends on other rows, is right in the sum of all.
    step = np.where(wrong, np.sign(g - found.middle) * moves.length, 0.0)
    sums = [
        np.sum(loss.value(y, moves.moved(u, sign * step)), keepdims=True) for sign in (-1, 0, 1)
    ]
    expected = np.array([step @ g])
    total = _Differences.of(np.ones(1), sums, np.full(1, float(len(y))), expected)
    if not total.told(expected)[1].any():
        return
    i = int(np.argmax(np.where(wrong, np.abs(g - found.middle), -1.0)))
    gap = np.abs(g + found.middle)
    opposite = (gap <= WRONG * np.abs(g) + found.noise)[wrong].all()
    what = "has the opposite sign of the difference" if opposite else "is not the difference"
    raise ValueError(
        f"loss: the gradient of {name} {what} of its value: for y={y[i]:.6g}, "
        f"u={moves.of(u)[i]:.6g} it is {g[i]:.6g}, and the difference {found.middle[i]:.6g}. "
        "gradient(y, u) must be the derivative of value(y, u) in the scores u, its second argument."
    )


def _check_curvatures(
    loss: Loss, name: str, y: Array, u: Array, second: Array, moves: _Moves
) -> None:
    h = moves.of(second)
    if not (h < 0).any():
        return
    curve = _Curve(lambda at: moves.of(np.asarray(loss.gradient(y, at))), y, u, moves, h)
    wrong, found = curve.wrong()
    wrong &= (h < 0) & (found.left > 0) & (found.right > 0)
    if wrong.any():
        i = int(np.argmax(wrong))
        raise ValueError(
            f"loss: the hessian of {name} has the opposite sign of the difference of its gradient: "
            f"for y={y[i]:.6g}, u={moves.of(u)[i]:.6g} it is {h[i]:.6g}, and the difference "
            f"{found.middle[i]:.6g}."
        )
