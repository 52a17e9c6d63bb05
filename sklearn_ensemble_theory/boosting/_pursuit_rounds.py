"""The rounds of matching pursuit on sums of products [Bach, §10.3.3 and exercise 10.5].

With columns psi_j of mean square 1 and c_j = psi_j'W(y - u), a plain round takes the k with the
largest |c_k|, adds b psi_k with b = nu c_k to u, and lowers the mean squared residual by
nu (2 - nu) c_k². It then changes the d correlations by row k of the Gram matrix, in O(d): this is
the boosting loop of `boosting._loop` with the squared loss, columns and a line search, written
again for speed, because a round there costs O(n d).

All that the rounds read of the rows are the products psi_j'Wy, y'Wy and rows of the Gram matrix.
They come from the rows themselves, or of a Dask collection from sums over its blocks
(`_column_moments`); everything after that is the same.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.blas import daxpy, dtrsv, idamax

from sklearn_ensemble_theory._cv_choice import results_of_choice
from sklearn_ensemble_theory._scaling import TargetScale, mean_from_first, power_of_two

from ._column_moments import MomentDictionary, Split
from ._dictionary import BLOCK, ColumnDictionary, GramRows

# Correlations below this share of the residual's norm at the start are rounding errors.
EXHAUSTED = 1e-13
# A column whose part outside the span of the active ones has a mean square below this would make
# the normal equations as ill conditioned as rounding allows.
DEPENDENT = 1e-10
# Orthogonal pursuit has room for so many active columns at first.
ROOM_AT_FIRST = 16
# With fewer columns, or values of X, the rows of the Gram matrix that are likely to be needed are
# not guessed by a pursuit among some of the columns.
GUESSED_COLUMNS, GUESSED_VALUES = 384, 2**19


# --- plan and problem -----------------------------------------------------------------------------


@dataclass(frozen=True)
class PursuitPlan:
    """What is done with the products; a `weakness` of 1 prefers no column."""

    n_rounds: int
    orthogonal: bool
    learning_rate: float
    weakness: float
    tol: float
    fit_intercept: bool


class Products(NamedTuple):
    """All that the rounds read of the rows: `correlations` psi_j'Wy and `squares` y'Wy by target.

    The targets are in the units of `target`, the columns those of the dictionary of `gram`.
    """

    gram: GramRows
    target: TargetScale
    correlations: np.ndarray
    squares: np.ndarray

    @classmethod
    def of_rows(cls, plan: PursuitPlan, dictionary: ColumnDictionary, Y: np.ndarray) -> "Products":
        """Those of the rows of a dictionary with the targets Y."""
        weight = dictionary.weight
        mean = mean_from_first(Y, weight) if plan.fit_intercept else np.zeros(Y.shape[1])
        target = TargetScale.about(Y, mean)
        scaled = target(Y)
        rows = GramRows(dictionary, plan.n_rounds)
        return cls(rows, target, dictionary.products(scaled.T), weight @ scaled**2)

    @classmethod
    def of_moments(cls, plan: PursuitPlan, dictionary: MomentDictionary) -> "Products":
        """Those of sums over rows, where the whole Gram matrix is there already."""
        rows = GramRows(dictionary, plan.n_rounds)
        rows.load_all()
        return cls(rows, dictionary.target, dictionary.correlations, dictionary.squares)


def pursue(
    plan: PursuitPlan,
    products: Products,
    limits: Sequence[int] | None = None,
    end_round: "EndRound | None" = None,
) -> list["PursuitPath"]:
    """The rounds of each target, of which there may be a limit for each."""
    # One target after the other: rows of the Gram matrix that one needs are there for the next.
    paths = []
    for k, (c, square) in enumerate(zip(products.correlations, products.squares)):
        n_rounds = plan.n_rounds if limits is None else limits[k]
        given = products.gram, c, float(square), n_rounds
        if plan.orthogonal:
            path = orthogonal_pursuit_on_gram(*given, plan.tol, end_round=end_round)
        else:
            path = pursuit_on_gram(
                *given,
                learning_rate=plan.learning_rate,
                weakness=plan.weakness,
                tol=plan.tol,
                end_round=end_round,
            )
        paths.append(path)
    return paths


# --- the number of rounds by held-out errors ------------------------------------------------------


@dataclass(frozen=True)
class ChosenRounds:
    """The number of rounds of each target, and the held-out errors by which it was chosen."""

    limits: list[int]
    results: list[dict[str, Any]]


def rounds_by_rows(
    plan: PursuitPlan,
    X: Any,
    Y: np.ndarray,
    weight: np.ndarray,
    splits: list[tuple[np.ndarray, np.ndarray]],
    rule: str,
) -> ChosenRounds:
    """The numbers of rounds of least error on the rows that splits hold out.

    Columns are normalised anew on the training rows of each split: the path must not know the rows
    held out.
    """
    # Squares of the targets themselves might overflow or vanish; powers of two are exact.
    units = [power_of_two(size) for size in np.abs(Y).max(axis=0)]
    scaled, by_split = Y / units, []
    for rest, held in splits:
        w = weight[rest] / weight[rest].sum()
        columns = ColumnDictionary(X[rest], w, plan.fit_intercept)
        products = Products.of_rows(plan, columns, scaled[rest])
        target = products.target
        centred, scales = scaled[held] - target.mean, np.asarray(target.scale)
        by_split.append(
            [
                held_out_squares(path, columns, X[held], t, s, weight[held])
                for path, t, s in zip(pursue(plan, products), centred.T, scales)
            ]
        )
    return chosen_rounds(by_split, units, rule)


def rounds_by_moments(
    plan: PursuitPlan, d: int, units: np.ndarray, splits: Iterable[Split], rule: str
) -> ChosenRounds:
    """The same, with errors from sums over the rows of blocks; `units` are those of the targets."""
    by_split = []
    for parts in splits:
        train, held = (part.of_targets_over(units) for part in parts)
        columns = MomentDictionary(train, d)
        gram, correlations, squares = columns.of_other_rows(held)
        errors = [
            held_out_squares_of_products(path, gram, c, float(square))
            for path, c, square in zip(
                pursue(plan, Products.of_moments(plan, columns)), correlations, squares
            )
        ]
        scales = np.asarray(columns.target.scale)
        by_split.append([s**2 * each for s, each in zip(scales, errors)])
    return chosen_rounds(by_split, units, rule)


def chosen_rounds(
    by_split: list[list[np.ndarray]], units: Sequence[float] | np.ndarray, rule: str
) -> ChosenRounds:
    """Choose by the errors after 0, 1, ... rounds, in units of y; paths stay where they ended."""
    limits, results = [], []
    for unit, paths in zip(units, zip(*by_split)):
        length = max(map(len, paths))
        padded = np.array([np.append(p, np.full(length - len(p), p[-1])) for p in paths])
        mean = np.mean(padded, axis=0)
        best = int(np.argmin(mean))
        rounds = np.arange(length)
        if rule == "one_standard_error":
            error = results_of_choice("n_estimators", rounds, padded.T)["standard_error"][best]
            best = int(np.argmax(mean <= mean[best] + np.nan_to_num(error)))
        limits.append(best)
        in_units = TargetScale(0.0, unit).squares_in_units(padded.T)
        results.append(results_of_choice("n_estimators", rounds, in_units))
    return ChosenRounds(limits, results)


# --- the rounds -----------------------------------------------------------------------------------


class PursuitPath(NamedTuple):
    """The T rounds of a pursuit, in units of the normalised columns.

    - chosen: the column of each round.
    - steps: b of each plain round; empty for an orthogonal path.
    - coefs: orthogonal: the coefficients of the columns chosen so far after each round; else empty.
    - squares: mean squared residual after 0, 1, ..., T rounds.
    - skipped: columns that were skipped because they depend linearly on the active ones.
    """

    chosen: np.ndarray
    steps: np.ndarray
    coefs: list
    squares: np.ndarray
    skipped: np.ndarray
    stop_reason: str

    def coefficients(self, d: int) -> np.ndarray:
        """Coefficients of all columns at the end: (d,)."""
        if self.coefs:
            coefficients = np.zeros(d)
            coefficients[self.chosen] = self.coefs[-1]
            return coefficients
        if len(self.chosen) == 0:
            return np.zeros(d)
        return np.bincount(self.chosen, self.steps, d)


# Called with the share of the norm of y that is left, and a function that returns the path until
# then; True ends the path.
EndRound = Callable[[float, Callable[[], PursuitPath]], bool]


def pursuit_on_gram(
    rows: GramRows,
    correlations: np.ndarray,
    square: float,
    n_rounds: int,
    *,
    learning_rate: float = 1.0,
    weakness: float = 1.0,
    tol: float = 0.0,
    end_round: EndRound | None = None,
) -> PursuitPath:
    """Plain and weak matching pursuit of y, with correlations psi_j'Wy and square y'Wy.

    With `weakness` below 1, an active column with at least this share of the best correlation is
    preferred to a new one. The rounds end when the residual's norm has fallen to the share `tol`
    of y's.
    """
    c = correlations.copy()
    floor = EXHAUSTED * np.sqrt(square)
    target = min(tol, 1.0) ** 2 * square
    chosen: list[int] = []
    active: list[int] = []
    steps: list[float] = []
    squares = [square]
    is_active = np.zeros(len(c), dtype=bool)
    reason = "n_estimators"

    def so_far() -> PursuitPath:
        return PursuitPath(
            np.array(chosen, dtype=np.intp),
            np.array(steps, dtype=float),
            [],
            np.array(squares),
            np.array([], dtype=np.intp),
            reason,
        )

    # In a round of O(d) with few columns, attribute look-ups would be most of the time.
    item, views, decrease = c.item, rows.views, (2 - learning_rate) / learning_rate
    for _ in range(n_rounds):
        if tol > 0 and square <= target:
            reason = "tol"
            break
        k = idamax(c)
        # A column that is active costs no new row of the Gram matrix, and no new coefficient.
        if weakness < 1 and active and not is_active[k]:
            inner = np.abs(c[active])
            at = int(inner.argmax())
            k = active[at] if inner[at] >= weakness * abs(item(k)) else k
        b = learning_rate * item(k)
        if abs(b) <= learning_rate * floor:
            reason = "exhausted"
            break
        row = views[k]
        if row is None:
            row = rows.load(k, c, chosen)
        # With b = nu c_k the square falls by nu (2 - nu) c_k²: no residual is needed.
        daxpy(row, c, a=-b)
        square = max(square - decrease * b * b, 0.0)
        if not is_active[k]:
            is_active[k] = True
            active.append(k)
        chosen.append(k)
        steps.append(b)
        squares.append(square)
        if end_round is not None and end_round(_share_left(squares), so_far):
            reason = "callback"
            break
    if reason == "n_estimators" and tol > 0 and square <= target:
        reason = "tol"
    return so_far()


def orthogonal_pursuit_on_gram(
    rows: GramRows,
    correlations: np.ndarray,
    square: float,
    n_rounds: int,
    tol: float = 0.0,
    *,
    end_round: EndRound | None = None,
) -> PursuitPath:
    """Orthogonal matching pursuit: least squares over all columns chosen so far.

    [Bach, exercise 10.5]. Each round adds one row to the Cholesky factor L of the active columns'
    Gram matrix; with L z = the correlations of the active columns, z_t² is what round t explains.
    """
    d = len(correlations)
    n_rounds = min(n_rounds, d)
    # The columns to guess from, where rows of the Gram matrix cost more than a guess.
    is_guessed = d >= GUESSED_COLUMNS and rows.dictionary.n * d >= GUESSED_VALUES
    columns = rows.dictionary if is_guessed else None
    floor, target = EXHAUSTED * np.sqrt(square), min(tol, 1.0) ** 2 * square
    # Columns beyond the number of rows depend linearly on the others.
    size = min(n_rounds, rows.dictionary.n)
    # There is room for more columns than are active: BLAS solves with the whole of L, whose other
    # columns are those of the identity, and with zeros there.
    room = min(size, ROOM_AT_FIRST)
    L = np.eye(room, order="F")
    gram = np.empty((size, d))
    z, active, known = np.zeros(room), np.empty(size, dtype=np.intp), np.empty(d, dtype=np.intp)
    c = correlations.copy()
    n_known = 0  # columns that are active or skipped: the active ones are `chosen`
    chosen: list[int] = []
    coefs: list[np.ndarray] = []
    skipped: list[int] = []
    squares = [square]
    reason = "n_estimators"

    def so_far() -> PursuitPath:
        return PursuitPath(
            np.array(chosen, dtype=np.intp),
            np.array([]),
            list(coefs),
            np.array(squares),
            np.array(skipped, dtype=np.intp),
            reason,
        )

    # A round solves two triangular systems, O(t²), and changes d correlations, O(d t).
    while len(chosen) < n_rounds:
        if tol > 0 and square <= target:
            reason = "tol"
            break
        k = idamax(c)
        if abs(c[k]) <= floor:
            reason = "exhausted"
            break
        t = len(chosen)
        row = rows.views[k]
        if row is None and isinstance(columns, ColumnDictionary):
            n_most = min(n_rounds - t, 2 * BLOCK - 1)
            n_kept = int(np.count_nonzero(rows.is_kept))
            likely = likely_columns(columns, c, L[:t, :t], gram[:t], n_most, n_kept)
            row = rows.compute(k, likely, chosen)
        elif row is None:
            row = rows.load(k, c, chosen)
        # The column's part outside the span of the active ones, which is what is left to explain
        # with: without one, no coefficient of it is determined.
        if t == room < size:
            room = min(2 * room, size)
            L, smaller = np.eye(room, order="F"), L
            L[:t, :t] = smaller
            z = np.append(z, np.zeros(room - t))
        inner = np.zeros(room)
        inner[:t] = row[active[:t]]
        inner = dtrsv(L, inner, lower=1, overwrite_x=1)
        outside = row[k] - inner @ inner
        known[n_known] = k
        n_known += 1
        if outside <= DEPENDENT or t == size:
            skipped.append(k)
            c[k] = 0.0
            continue
        explained = (correlations[k] - inner @ z) / math.sqrt(outside)
        L[t, :t], L[t, t] = inner[:t], math.sqrt(outside)
        gram[t], z[t], active[t] = row, explained, k
        chosen.append(k)
        square = max(square - explained**2, 0.0)
        t += 1
        beta = dtrsv(L, z, lower=1, trans=1)[:t]
        # From the start again every time, so that rounding errors do not add up along the path.
        c = correlations - beta @ gram[:t]
        c[known[:n_known]] = 0.0
        coefs.append(beta)
        squares.append(square)
        if end_round is not None and end_round(_share_left(squares), so_far):
            reason = "callback"
            break
    if reason == "n_estimators" and tol > 0 and square <= target:
        reason = "tol"
    return so_far()


def _share_left(squares: list[float]) -> float:
    """Divide the norm of the residual by that of y."""
    return float(np.sqrt(squares[-1] / squares[0])) if squares[0] > 0 else 0.0


# Pursuit among so many columns costs a fifth of the rows of the Gram matrix that it selects.
MOST_CANDIDATES = 256
COLUMNS_PER_CANDIDATE = 8
# Fewer rows of the Gram matrix at a time cost as much, because X is read as a whole; later, when
# the residuals change less from round to round, more are worth their cost.
FEWEST, FEWEST_LATER = 16, 64
DEPENDENT_CANDIDATE = 1e-5


def likely_columns(
    dictionary: ColumnDictionary,
    correlations: np.ndarray,
    factor: np.ndarray,
    rows: np.ndarray,
    n_most: int,
    n_kept: int,
) -> np.ndarray:
    """Columns in the order in which pursuit among those of large correlation chooses them.

    Nothing depends on whether the guess is right but the time. `correlations` are those with the
    residuals, 0 for columns that must not be chosen; `factor` (t, t) is the Cholesky factor of the
    active columns' Gram matrix and `rows` (t, d) are their rows of it. At most `n_most` columns are
    found; `n_kept` rows of the Gram matrix are known already.
    """
    size, d = np.abs(correlations), len(correlations)
    n_candidates = min(MOST_CANDIDATES, max(d // COLUMNS_PER_CANDIDATE, 1))
    order = np.argpartition(-size, n_candidates)[: n_candidates + 1]
    order = order[np.argsort(-size[order], kind="stable")]
    candidates, outside = order[:-1], size[order[-1]]
    # Single precision is twice as fast and errs in the order of near ties only.
    psi = dictionary.columns(candidates)
    psi *= np.sqrt(dictionary.weight)
    psi = psi.astype(np.float32)
    gram = (psi @ psi.T).astype(np.float64)
    if len(factor):  # of the candidates' parts outside the span of the active columns
        inner = solve_triangular(factor, rows[:, candidates], lower=True, check_finite=False)
        gram -= inner.T @ inner
    c, free = correlations[candidates], np.ones(n_candidates, dtype=bool)
    chosen: list[int] = []
    steps = np.empty((min(n_most, n_candidates), n_candidates))
    fewest = min(FEWEST + n_kept, FEWEST_LATER)
    # Gram-Schmidt among the candidates: the rows of `steps` are their products with orthonormal
    # directions, and c stays the correlation with what least squares leaves.
    while len(chosen) < len(steps) and free.any():
        k, t = int(np.abs(c).argmax()), len(chosen)
        # Below `outside`, columns that are no candidates had larger correlations.
        if c[k] == 0 or (t >= fewest and not abs(c[k]) > outside):
            break
        free[k] = False
        step = gram[k] - steps[:t, k] @ steps[:t]
        if step[k] > DEPENDENT_CANDIDATE:
            steps[t] = step / np.sqrt(step[k])
            c = c - steps[t] * (c[k] / np.sqrt(step[k]))
            chosen.append(k)
        c[~free] = 0.0
    return candidates[chosen]


# --- held-out errors ----------------------------------------------------------------------------


def held_out_squares(
    path: PursuitPath,
    dictionary: ColumnDictionary,
    X: Any,
    y: np.ndarray,
    scale: float,
    weight: np.ndarray,
) -> np.ndarray:
    """Weighted mean of the squared errors on other rows after 0, 1, ... rounds.

    `dictionary` is that of the training rows; y is centred as in training, but not divided by
    `scale` as the training targets were. A plain round costs O(rows), an orthogonal one O(rows t).
    """
    # Only the columns that were chosen are normalised on the other rows.
    used, code = np.unique(path.chosen, return_inverse=True)
    psi = dictionary.columns(used, X)
    total = weight.sum()
    residual = y.copy()
    errors = np.empty(len(path.chosen) + 1)
    errors[0] = weight @ residual**2
    # Rows far from those of training have squares beyond the largest float: infinite errors.
    with np.errstate(over="ignore", invalid="ignore"):
        for t, k in enumerate(code):
            if path.coefs:
                residual = y - (scale * path.coefs[t]) @ psi[code[: t + 1]]
            else:
                residual -= (scale * path.steps[t]) * psi[k]
            errors[t + 1] = weight @ residual**2
    return np.where(np.isnan(errors), np.inf, errors / total)


def held_out_squares_of_products(
    path: PursuitPath, gram: np.ndarray, correlations: np.ndarray, square: float
) -> np.ndarray:
    """`held_out_squares` from the mean products over the other rows.

    `gram` (d, d) has those of the columns, as the path has them, `correlations` (d,) those with y,
    and `square` that of y. Errors below 1e-15 of the square of y are rounding. A plain round costs
    O(columns chosen), an orthogonal one O(t²).
    """
    used, code = np.unique(path.chosen, return_inverse=True)
    errors = np.empty(len(path.chosen) + 1)
    errors[0] = square
    # |y - Psi b|² = y'y - 2 b'c + b'Gb; a plain step changes the products with the residual only.
    with np.errstate(over="ignore", invalid="ignore"):  # columns far beyond those of training
        c, gram = correlations[used], gram[np.ix_(used, used)]
        for t, k in enumerate(code):
            if path.coefs:
                b, active = path.coefs[t], code[: t + 1]
                errors[t + 1] = square - b @ (2 * c[active] - gram[np.ix_(active, active)] @ b)
            else:
                step = path.steps[t]
                errors[t + 1] = errors[t] - step * (2 * c[k] - step * gram[k, k])
                c -= step * gram[k]
    return np.maximum(np.where(np.isnan(errors), np.inf, errors), 0.0)
