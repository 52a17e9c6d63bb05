"""Matching pursuit as a walk among correlations (000 section 10.3.3 and exercise 10.5).

With columns of mean square 1 and c_j = psi_j'W(y - u), a plain round takes the k with the largest
|c_k|, adds b psi_k with b = nu c_k to u, and lowers the mean squared residual by nu (2 - nu) c_k².
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.blas import daxpy, idamax

# Correlations below this share of the residual's first norm are rounding.
EXHAUSTED = 1e-13
# A column whose part outside the span of the active ones has a mean square below this would make
# the normal equations as ill conditioned as rounding allows.
DEPENDENT = 1e-10


class PursuitPath(NamedTuple):
    """What a pursuit did, in units of the normalised columns.

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
        Columns passed over because they depend on the active ones.
    stop_reason : {"n_iterations", "tol", "exhausted"}
    """

    chosen: np.ndarray
    steps: np.ndarray
    coefs: list
    squares: np.ndarray
    skipped: np.ndarray
    stop_reason: str

    def cut(self, n_rounds):
        """The first rounds of the path."""
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

    def coefficient_path(self, d):
        """Coefficients after 0, 1, ..., T rounds: (T + 1, d)."""
        path = np.zeros((len(self.chosen) + 1, d))
        if self.coefs:
            for t, coefs in enumerate(self.coefs, start=1):
                path[t, self.chosen[:t]] = coefs
            return path
        path[np.arange(1, len(path)), self.chosen] = self.steps
        return np.cumsum(path, axis=0, out=path)


def pursue(rows, correlations, square, n_rounds, learning_rate=1.0, weakness=1.0, tol=0.0):
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

    Returns
    -------
    PursuitPath
    """
    c = correlations.copy()
    floor = EXHAUSTED * np.sqrt(square)
    target = tol**2 * square
    chosen, steps, squares = [], [], [square]
    active, is_active = [], np.zeros(len(c), dtype=bool)
    reason = "n_iterations"
    item, fall = c.item, (2 - learning_rate) / learning_rate
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
        row = rows.get(k, c)
        daxpy(row, c, a=-b)
        square = max(square - fall * b * b, 0.0)
        if not is_active[k]:
            is_active[k] = True
            active.append(k)
        chosen.append(k)
        steps.append(b)
        squares.append(square)
    if reason == "n_iterations" and tol > 0 and square <= target:
        reason = "tol"
    return PursuitPath(
        np.array(chosen, dtype=np.intp),
        np.array(steps, dtype=float),
        [],
        np.array(squares),
        np.array([], dtype=np.intp),
        reason,
    )


def pursue_orthogonally(rows, correlations, square, n_rounds, tol=0.0):
    """Orthogonal matching pursuit: least squares over all columns chosen so far (exercise 10.5).

    One row is added to the Cholesky factor of the active columns' Gram matrix a round. Parameters
    as for `pursue`.
    """
    d = len(correlations)
    n_rounds = min(n_rounds, d)
    floor, target = EXHAUSTED * np.sqrt(square), tol**2 * square
    L = np.zeros((n_rounds, n_rounds), order="F")
    gram = np.empty((n_rounds, d))
    z = np.empty(n_rounds)
    available = np.ones(d, dtype=bool)
    c = correlations.copy()
    chosen, coefs, squares, skipped = [], [], [square], []
    reason = "n_iterations"
    while len(chosen) < n_rounds:
        if tol > 0 and square <= target:
            reason = "tol"
            break
        k = idamax(c)
        if abs(c[k]) <= floor:
            reason = "exhausted"
            break
        row, t = rows.get(k, c), len(chosen)
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
        # From the start again every time: rounding does not add up along the path.
        c = np.where(available, correlations - beta @ gram[:t], 0.0)
        coefs.append(beta)
        squares.append(square)
    if reason == "n_iterations" and tol > 0 and square <= target:
        reason = "tol"
    return PursuitPath(
        np.array(chosen, dtype=np.intp),
        np.array([]),
        coefs,
        np.array(squares),
        np.array(skipped, dtype=np.intp),
        reason,
    )


def _solve(L, b, trans="N"):
    """L^-1 b or L'^-1 b; LAPACK refuses systems of size 0."""
    if len(b) == 0:
        return b
    return solve_triangular(L, b, trans=trans, lower=True, check_finite=False)


def held_out_squares(path, dictionary, X, y, weight):
    """Weighted mean of the squared errors on other rows after 0, 1, ..., T rounds.

    O(rows) a plain round, O(rows t) an orthogonal one.

    Parameters
    ----------
    path : PursuitPath
    dictionary : ColumnDictionary
        Of the training rows.
    X, y, weight : the other rows, y centred as in training
    """
    used, code = np.unique(path.chosen, return_inverse=True)
    psi = dictionary.columns(used, X)
    total = weight.sum()
    residual = y.copy()
    errors = np.empty(len(path.chosen) + 1)
    errors[0] = weight @ residual**2
    for t, k in enumerate(code):
        if path.coefs:
            residual = y - path.coefs[t] @ psi[code[: t + 1]]
        else:
            residual -= path.steps[t] * psi[k]
        errors[t + 1] = weight @ residual**2
    return errors / total
