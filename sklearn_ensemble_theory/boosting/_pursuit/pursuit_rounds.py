"""Matching pursuit on the correlations of the columns [Bach, §10.3.3 and exercise 10.5].

With columns of mean square 1 and c_j = psi_j'W(y - u), a plain round takes the k with the largest
|c_k|, adds b psi_k with b = nu c_k to u, and lowers the mean squared residual by nu (2 - nu) c_k².

This is the boosting loop of `boosting._loop` with the squared loss, columns and a line search,
written again for speed: a round there costs O(n d), here it adds one row of the Gram matrix to the
d correlations.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.blas import daxpy, idamax

from sklearn_ensemble_theory.boosting._dictionary import BLOCK, GramRows
from sklearn_ensemble_theory.boosting._pursuit.likely_columns import likely_columns

# Correlations below this share of the residual's norm at the start are rounding errors.
EXHAUSTED = 1e-13
# A column whose part outside the span of the active ones has a mean square below this would make
# the normal equations as ill conditioned as rounding allows.
DEPENDENT = 1e-10
# With fewer columns, or values of X, the rows of the Gram matrix that are likely to be needed are
# not guessed by a pursuit among some of the columns.
GUESSED_COLUMNS, GUESSED_VALUES = 384, 2**20


class PursuitPath(NamedTuple):
    """The rounds of a pursuit, T in number, in units of the normalised columns.

    Attributes
    ----------
    chosen : int array of shape (T,)
        The column of each round.
    steps : float array of shape (T,)
        b of each plain round; empty for an orthogonal path.
    coefs : list of T float arrays
        Orthogonal: the coefficients of the columns chosen so far after each round; else empty.
    squares : float array of shape (T + 1,)
        Mean squared residual after 0, 1, ..., T rounds.
    skipped : int array
        Columns that were skipped because they depend linearly on the active ones.
    stop_reason : {"n_iterations", "tol", "exhausted", "callback"}
    """

    chosen: np.ndarray
    steps: np.ndarray
    coefs: list
    squares: np.ndarray
    skipped: np.ndarray
    stop_reason: str

    def first_rounds(self, n_rounds):
        """The path up to a number of rounds."""
        if n_rounds >= len(self.chosen):
            return self
        return PursuitPath(
            self.chosen[:n_rounds],
            self.steps[:n_rounds],
            self.coefs[:n_rounds],
            self.squares[: n_rounds + 1],
            self.skipped,
            "early_stopping",
        )

    def coefficients(self, d):
        """Coefficients of all columns at the end: (d,)."""
        if self.coefs:
            coefficients = np.zeros(d)
            coefficients[self.chosen] = self.coefs[-1]
            return coefficients
        if len(self.chosen) == 0:
            return np.zeros(d)
        return np.bincount(self.chosen, self.steps, d)


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
    """Plain and weak matching pursuit.

    Parameters
    ----------
    rows : GramRows
        Of columns with mean square 1.
    correlations : float array of shape (d,)
        psi_j'Wy.
    square : float
        y'Wy.
    n_rounds : int
    learning_rate : float in (0, 1]
    weakness : float in (0, 1]
        Below 1: an active column with at least this share of the best correlation is preferred to
        a new one.
    tol : float
        Ends when the residual's norm has fallen to this share of y's.
    end_round : callable, default=None
        ``end_round(residual, so_far)`` after each round, with the share of the norm of y that
        is left, and a function that returns the path until then; True ends the path.

    Returns
    -------
    PursuitPath
    """
    c = correlations.copy()
    floor = EXHAUSTED * np.sqrt(square)
    target = min(tol, 1.0) ** 2 * square
    chosen: list[int] = []
    active: list[int] = []
    steps: list[float] = []
    squares = [square]
    is_active = np.zeros(len(c), dtype=bool)
    reason = "n_iterations"

    def so_far() -> PursuitPath:
        return PursuitPath(
            np.array(chosen, dtype=np.intp),
            np.array(steps, dtype=float),
            [],
            np.array(squares),
            np.array([], dtype=np.intp),
            reason,
        )

    item, views, decrease = c.item, rows.views, (2 - learning_rate) / learning_rate
    for _ in range(n_rounds):
        if tol > 0 and square <= target:
            reason = "tol"
            break
        k = idamax(c)
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
    if reason == "n_iterations" and tol > 0 and square <= target:
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

    [Bach, exercise 10.5]. Each round adds one row to the Cholesky factor of the active columns'
    Gram matrix. Parameters as for `pursuit_on_gram`.
    """
    d = len(correlations)
    n_rounds = min(n_rounds, d)
    is_guessed = d >= GUESSED_COLUMNS and rows.dictionary.n * d >= GUESSED_VALUES
    floor, target = EXHAUSTED * np.sqrt(square), tol**2 * square
    L = np.zeros((n_rounds, n_rounds), order="F")
    gram = np.empty((n_rounds, d))
    z = np.empty(n_rounds)
    available = np.ones(d, dtype=bool)
    c = correlations.copy()
    chosen: list[int] = []
    coefs: list[np.ndarray] = []
    skipped: list[int] = []
    squares = [square]
    reason = "n_iterations"

    def so_far() -> PursuitPath:
        return PursuitPath(
            np.array(chosen, dtype=np.intp),
            np.array([]),
            list(coefs),
            np.array(squares),
            np.array(skipped, dtype=np.intp),
            reason,
        )

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
        if row is None and not is_guessed:
            row = rows.load(k, c, chosen)
        elif row is None:
            n_most = min(n_rounds - t, 2 * BLOCK - 1)
            n_kept = int(np.count_nonzero(rows.is_kept))
            likely = likely_columns(rows.dictionary, c, L[:t, :t], gram[:t], n_most, n_kept)
            row = rows.compute(k, likely, chosen)
        inner = _solve(L[:t, :t], row[chosen])
        outside = row[k] - inner @ inner
        available[k] = False
        if outside <= DEPENDENT:
            skipped.append(k)
            c[k] = 0.0
            continue
        L[t, :t], L[t, t] = inner, np.sqrt(outside)
        gram[t] = row
        z[t] = (correlations[k] - inner @ z[:t]) / L[t, t]
        chosen.append(k)
        square = max(square - z[t] ** 2, 0.0)
        t += 1
        beta = _solve(L[:t, :t], z[:t], trans="T")
        # From the start again every time, so that rounding errors do not add up along the path.
        c = np.where(available, correlations - beta @ gram[:t], 0.0)
        coefs.append(beta)
        squares.append(square)
        if end_round is not None and end_round(_share_left(squares), so_far):
            reason = "callback"
            break
    if reason == "n_iterations" and tol > 0 and square <= target:
        reason = "tol"
    return so_far()


def _share_left(squares):
    """The norm of the residual as a share of that of y."""
    return float(np.sqrt(squares[-1] / squares[0])) if squares[0] > 0 else 0.0


def _solve(L, b, trans="N"):
    """L^-1 b or L'^-1 b; LAPACK refuses systems of size 0."""
    if len(b) == 0:
        return b
    return solve_triangular(L, b, trans=trans, lower=True, check_finite=False)


def held_out_squares_of_products(
    path: PursuitPath, gram: np.ndarray, correlations: np.ndarray, square: float
) -> np.ndarray:
    """`held_out_squares` from the mean products over the other rows.

    Errors below 1e-15 of the square of y are rounding. A plain round costs O(columns chosen), an
    orthogonal one O(t²).

    Parameters
    ----------
    path : PursuitPath
    gram : float array of shape (d, d)
        Products of the columns, as `path` has them.
    correlations : float array of shape (d,)
        Products of the columns and y.
    square : float
        Of y.

    Returns
    -------
    float array of shape (T + 1,)
    """
    used, code = np.unique(path.chosen, return_inverse=True)
    errors = np.empty(len(path.chosen) + 1)
    errors[0] = square
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


def held_out_squares(path, dictionary, X, y, scale, weight):
    """Weighted mean of the squared errors on other rows after 0, 1, ..., T rounds.

    A plain round costs O(rows), an orthogonal one O(rows t).

    Parameters
    ----------
    path : PursuitPath
    dictionary : ColumnDictionary
        Of the training rows.
    X, y, weight : the other rows, y centred as in training
    scale : float
        What the training targets were divided by, and `y` is not.
    """
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
