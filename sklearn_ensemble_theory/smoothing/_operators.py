"""The operators of boosting with an n x n matrix S: exp(-tS), or (I - lambda S)^m.

`operator` takes one decomposition for all times: orthogonal when S is symmetric in a diagonal
metric, eigenvectors when they are well conditioned, and repeated squaring otherwise, which applies
to defective and singular matrices too. `stability` says whether E_t y stays bounded.

In what follows E_t is the operator that maps y to the residuals at time t, and P_t the one that
maps it to the weights of the learner's outputs: E_t = I - S P_t.
"""

from collections.abc import Iterator

import numpy as np
import scipy.linalg
import scipy.special

from sklearn_ensemble_theory._running import threads_for
from sklearn_ensemble_theory.bounds._spectral_filters import (
    n_rounds,
    residual_filter,
    weight_filter,
)

_MAX_CONDITION = 1e6
"""A basis of eigenvectors with a larger condition number is not used."""

_TAYLOR = 16
"""Order of the Taylor polynomials of the exponential."""

# Steps of a squared operator, as integers of 64 bits.
_MOST_STEPS = 2.0**62


def started(A: np.ndarray, J: np.ndarray | None) -> np.ndarray:
    """Return A J for a matrix J, A (I - qq') for a vector J = q, and A for None."""
    if J is None:
        return A
    return A @ J if J.ndim == 2 else A - np.outer(A @ J, J)


def operator(
    S: np.ndarray, learning_rate: float = 0.0, metric: np.ndarray | None = None
) -> "EigenbasisOperator | SquaringOperator":
    """The operator of S; `metric` is a positive vector m with m_i S_ij = m_j S_ji, if known."""
    if metric is None:
        # A matrix that is symmetric up to rounding has orthogonal eigenvectors, the safest of all
        # bases.
        gap = np.abs(S - S.T).max()
        if gap <= 1e-10 * np.abs(S).max():
            metric = np.ones(len(S))
    if metric is not None:
        root = np.sqrt(metric)
        # With m_i S_ij = m_j S_ji, M^(1/2) S M^(-1/2) is symmetric; the eigenvectors are turned
        # back afterwards.
        A = S * root[:, None] / root
        with threads_for(len(S) ** 3):
            mu, U = scipy.linalg.eigh((A + A.T) / 2, check_finite=False)
        mu, U = mu[::-1], U[:, ::-1]
        right, left = U / root[:, None], (U * root[:, None]).T
        orthogonal = metric.min() == metric.max()
        return EigenbasisOperator(
            mu, right, left, learning_rate, symmetric=True, orthogonal=orthogonal
        )
    with threads_for(len(S) ** 3):
        mu, right = scipy.linalg.eig(S, check_finite=False)
    order = np.argsort(-mu.real, kind="stable")
    mu, right = mu[order], right[:, order]
    # Rounding errors in this basis are multiplied by its condition number.
    condition = np.linalg.cond(right)
    if condition <= _MAX_CONDITION:
        return EigenbasisOperator(mu, right, np.linalg.inv(right), learning_rate, symmetric=False)
    return SquaringOperator(S, mu, learning_rate)


class EigenbasisOperator:
    """S = right @ diag(mu) @ left with left @ right = I."""

    def __init__(
        self,
        mu: np.ndarray,
        right: np.ndarray,
        left: np.ndarray,
        learning_rate: float,
        *,
        symmetric: bool,
        orthogonal: bool = False,
    ):
        self.mu, self.right, self.left = mu, right, left
        self.learning_rate, self.symmetric = learning_rate, symmetric
        self.orthogonal = orthogonal

    def apply(self, y: np.ndarray) -> np.ndarray:
        """S y."""
        out = self.right @ (self.mu * (self.left @ y))
        return out.real if np.iscomplexobj(out) else out

    def eigenvectors(self) -> np.ndarray:
        """Return the eigenvectors, as columns."""
        return self.right

    def diagonal_product(self, q: np.ndarray) -> np.ndarray:
        """Return the diagonal of qq' in the basis of eigenvectors."""
        return (q @ self.right) * (self.left @ q)

    def residuals(self, y: np.ndarray, times: np.ndarray) -> np.ndarray:
        """E_t y, shape (n, n_times)."""
        e = residual_filter(self.mu, times, self.learning_rate)
        return _combine(self.right, e, self.left @ y)

    def squared_residuals(self, y: np.ndarray, times: np.ndarray) -> np.ndarray:
        """|E_t y|^2 at each time; at O(n) for each time when the eigenvectors are orthogonal."""
        if not self.orthogonal:
            return _column_squares(self.residuals(y, times))
        e = residual_filter(self.mu, times, self.learning_rate)
        with np.errstate(over="ignore", invalid="ignore"):
            norms = (self.right**2).sum(axis=0)  # a constant metric scales them
            return (norms * (self.left @ y) ** 2) @ e**2

    def form(self, q: np.ndarray, times: np.ndarray) -> np.ndarray:
        """q'E_t q at each time."""
        e = residual_filter(self.mu, times, self.learning_rate)
        with np.errstate(over="ignore", invalid="ignore"):
            return (self.diagonal_product(q) @ e).real

    def weights(self, y: np.ndarray, times: np.ndarray) -> np.ndarray:
        """w_t for the target y, shape (n, n_times)."""
        h = weight_filter(self.mu, times, self.learning_rate)
        return _combine(self.right, h, self.left @ y)

    def trace(self, times: np.ndarray, J: np.ndarray | None = None) -> np.ndarray:
        """Trace of E_t J; J as in `started`."""
        e = residual_filter(self.mu, times, self.learning_rate)
        if J is None:
            return e.sum(axis=0).real
        return ((started(self.left, J).T * self.right).sum(axis=0) @ e).real

    def diagonal(self, times: np.ndarray, J: np.ndarray | None = None) -> np.ndarray:
        """Diagonal of E_t J, shape (n, n_times)."""
        e = residual_filter(self.mu, times, self.learning_rate)
        return _combine(self.right * started(self.left, J).T, e)

    def squared_norms(
        self, times: np.ndarray, J: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Squared Frobenius norms of E_t J and (I - E_t) J.

        |R e L J|^2 = e* (R*R o (LJ)(LJ)*) e: one n x n matrix for all times.
        """
        # The norms of all times share the products of eigenvectors; a time then costs O(n^2).
        L = started(self.left, J)
        M = (self.right.conj().T @ self.right) * (L @ L.conj().T).T
        e = residual_filter(self.mu, times, self.learning_rate)
        with np.errstate(over="ignore", invalid="ignore"):
            kept, fitted = ((v.conj() * (M @ v)).sum(axis=0).real for v in (e, 1.0 - e))
        return kept, fitted

    def prediction_rows(
        self, G: np.ndarray, times: np.ndarray, J: np.ndarray | None
    ) -> Iterator[np.ndarray]:
        """Rows g(x)' P_t J with P_t y = w_t: yields (len(G), n) at each time."""
        # The filters are all that differs between times.
        A, L = G @ self.right, started(self.left, J)
        h = weight_filter(self.mu, times, self.learning_rate)
        for k in range(len(times)):
            yield ((A * h[:, k]) @ L).real


def _combine(
    vectors: np.ndarray, filters: np.ndarray, coefficients: np.ndarray | None = None
) -> np.ndarray:
    """vectors @ (filters * coefficients), real; it may overflow for an unstable learner."""
    with np.errstate(over="ignore", invalid="ignore"):
        out = vectors @ (filters if coefficients is None else filters * coefficients[:, None])
    return out.real if np.iscomplexobj(out) else out


class SquaringOperator:
    """E at times delta, 2 delta, 4 delta, ... by repeated squaring; any time is a sum of those.

    With learning rate lambda the step delta is lambda and E_delta = I - lambda S. In the limit it
    is short enough for a Taylor polynomial to be accurate at any time below it.
    """

    symmetric = False

    def __init__(self, S: np.ndarray, mu: np.ndarray, learning_rate: float):
        self.S, self.mu, self.learning_rate = S, mu, learning_rate
        if learning_rate > 0:
            self.delta = learning_rate
            self.first = np.eye(len(S)) - learning_rate * S
        else:
            norm = max(np.abs(S).sum(axis=0).max(), 1e-300)
            # The norm of delta S is at most 1/2, and multiples of a power of two are exact.
            self.delta = 2.0 ** np.floor(-np.log2(norm) - 1.0)
            self.first = scipy.linalg.expm(-self.delta * S)

    def apply(self, y: np.ndarray) -> np.ndarray:
        return self.S @ y

    def eigenvectors(self) -> np.ndarray:
        raise ValueError("The matrix of estimator has no well-conditioned basis of eigenvectors.")

    def diagonal_product(self, q: np.ndarray) -> np.ndarray:
        return self.eigenvectors()

    def _split(self, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        times = np.asarray(times, dtype=np.float64)
        if self.learning_rate > 0:
            return n_rounds(times, self.learning_rate), np.zeros(len(times))
        with np.errstate(over="ignore"):
            m = np.floor(times / self.delta)
        if not (m < _MOST_STEPS).all():
            raise ValueError(
                "The matrix of the estimator is so large that powers of it overflow: a "
                "sample_weight may be far above the others, or a time too long."
            )
        return m.astype(np.int64), times - m * self.delta

    def _apply_powers(
        self, vectors: np.ndarray, m: np.ndarray, shift: np.ndarray | None = None
    ) -> np.ndarray:
        """Apply E_delta^m to each column; with a `shift` y also accumulate its weights."""
        E, bit = self.first, 0
        with np.errstate(over="ignore", invalid="ignore"):
            # Binary powers: the columns whose number of steps has this bit are multiplied by
            # E^(2^bit), so that all times share at most 62 squarings.
            while (m >> bit).any():
                chosen = np.flatnonzero((m >> bit) & 1)
                if len(chosen):
                    vectors[:, chosen] = E @ vectors[:, chosen]
                    if shift is not None:
                        vectors[:, chosen] += shift[:, None]
                if shift is not None:
                    shift = shift + E @ shift
                bit += 1
                if (m >> bit).any():
                    E = E @ E
        return vectors

    def _powers(self, y: np.ndarray) -> np.ndarray:
        """S^k y for k below the order of the Taylor polynomial."""
        columns = [y]
        with np.errstate(over="ignore", invalid="ignore"):
            for _ in range(_TAYLOR - 1):
                columns.append(self.S @ columns[-1])
        return np.stack(columns, axis=1)

    def residuals(self, y: np.ndarray, times: np.ndarray) -> np.ndarray:
        m, rest = self._split(times)
        # The rest of a time is below delta, where 16 terms of the series are accurate to rounding.
        k = np.arange(_TAYLOR)[:, None]
        coefficients = (-rest) ** k / _factorials(k)
        with np.errstate(over="ignore", invalid="ignore"):
            first = self._powers(y) @ coefficients
        return self._apply_powers(first, m)

    def squared_residuals(self, y: np.ndarray, times: np.ndarray) -> np.ndarray:
        return _column_squares(self.residuals(y, times))

    def form(self, q: np.ndarray, times: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore", invalid="ignore"):
            return q @ self.residuals(q, times)

    def weights(self, y: np.ndarray, times: np.ndarray) -> np.ndarray:
        m, rest = self._split(times)
        k = np.arange(_TAYLOR)[:, None]
        coefficients = (-1.0) ** k * rest ** (k + 1) / _factorials(k + 1)
        powers = self._powers(y)
        with np.errstate(over="ignore", invalid="ignore"):
            if self.learning_rate > 0:
                shift = self.delta * y
            else:
                j = np.arange(_TAYLOR)
                shift = powers @ ((-1.0) ** j * self.delta ** (j + 1) / _factorials(j + 1))
            first = powers @ coefficients
        return self._apply_powers(first, m, shift)

    def matrices(self, times: np.ndarray) -> Iterator[np.ndarray]:
        """E_t for each time in turn."""
        m, rest = self._split(times)
        squares = [self.first]
        with np.errstate(over="ignore", invalid="ignore"):
            # The squares are kept, since each matrix is a product of some of them.
            for _ in range(int(m.max()).bit_length() - 1):
                squares.append(squares[-1] @ squares[-1])
            for steps, r in zip(m.tolist(), rest.tolist()):
                E = scipy.linalg.expm(-r * self.S) if r else np.eye(len(self.S))
                for bit in range(steps.bit_length()):
                    if steps >> bit & 1:
                        E = squares[bit] @ E
                yield E

    def trace(self, times: np.ndarray, J: np.ndarray | None = None) -> np.ndarray:
        if J is not None:
            return self.diagonal(times, J).sum(axis=0)
        # The computed eigenvalues are those of a matrix within rounding errors of S. Each of a
        # defective cluster may be far from its exact value; their sum is not.
        return residual_filter(self.mu, times, self.learning_rate).sum(axis=0).real

    def diagonal(self, times: np.ndarray, J: np.ndarray | None = None) -> np.ndarray:
        return np.stack([started(E, J).diagonal() for E in self.matrices(times)], axis=1)

    def squared_norms(
        self, times: np.ndarray, J: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        norms = np.empty((2, len(times)))
        for k, E in enumerate(self.matrices(times)):
            for row, A in enumerate((E, np.eye(len(E)) - E)):
                norms[row, k] = np.sum(started(A, J) ** 2)
        return norms[0], norms[1]

    def prediction_rows(
        self, G: np.ndarray, times: np.ndarray, J: np.ndarray | None
    ) -> Iterator[np.ndarray]:
        """g'P_t = (P_t' g)': the weights of the transposed operator for the targets g."""
        transposed = SquaringOperator(self.S.T, self.mu, self.learning_rate)
        columns = [transposed.weights(g, times) for g in G]
        for k in range(len(times)):
            yield started(np.stack([c[:, k] for c in columns]), J)


def _column_squares(columns: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore", invalid="ignore"):
        return (columns**2).sum(axis=0)


def _factorials(k: np.ndarray) -> np.ndarray:
    return scipy.special.factorial(k, exact=False)


def stability(
    S: np.ndarray | None,
    mu: np.ndarray,
    symmetric: bool,
    learning_rate: float = 0.0,
    tol: float = 1e-6,
) -> tuple[bool, str]:
    """Tell whether the fitted values stay bounded for every y as time grows.

    [Dombry and Esstafa, definition 2.9 and proposition 2.11]. In the limit: no eigenvalue has a
    negative real part, and those with real part zero have Jordan blocks of size one. With learning
    rate lambda: the same for |1 - lambda mu| <= 1.

    The proof of the proposition would bound the weights w_t as well; for an eigenvalue zero they
    grow like t while the fitted values do not change. The result here is about the fitted values.

    S is unused when it is similar to a symmetric matrix (`symmetric`), so that all blocks have size
    one. `tol` is in units of the largest |mu|: real parts above -tol count as zero unless S is
    symmetric, where -1e-10 is the limit; eigenvalues closer than sqrt(tol) to each other count as
    one, and couplings above tol between them as a Jordan block. The second result is the reason,
    empty when stable.
    """
    scale = np.abs(mu).max() if len(mu) else 0.0
    if scale == 0.0:
        scale = np.abs(S).max() if S is not None else 0.0
        if scale == 0.0:
            return True, ""
    # The eigenvalues of a matrix that is not symmetric move by more than rounding.
    slack = (1e-10 if symmetric else tol) * scale
    if learning_rate == 0:
        margin = mu.real
    else:
        margin = (1.0 - np.abs(1.0 - learning_rate * mu)) / learning_rate
    worst = int(np.argmin(margin))
    if margin[worst] < -slack:
        what = "a negative real part" if learning_rate == 0 else "|1 - learning_rate * mu| > 1"
        return False, f"the eigenvalue {_formatted(mu[worst])} has {what}"
    if symmetric:
        return True, ""
    assert S is not None
    # Those of a Jordan block are split by rounding like the root of the error: hence the square
    # root for the radius of one cluster.
    critical, radius = np.flatnonzero(margin <= slack), np.sqrt(tol) * scale
    # One cluster of eigenvalues at a time, each about the first one left.
    while len(critical):
        centre = mu[critical[0]]
        if _coupling(S, centre, radius) > tol * scale:
            return False, (
                f"the eigenvalue {_formatted(centre)} is on the boundary and has a Jordan block of "
                "size above one"
            )
        critical = critical[np.abs(mu[critical] - centre) > radius]
    return True, ""


def _coupling(S: np.ndarray, centre: complex, radius: float) -> float:
    """Largest entry above the diagonal of the Schur form's block of eigenvalues near `centre`."""
    # A Jordan block is recognised by the couplings above the diagonal, as its eigenvectors cannot
    # be computed reliably.
    T, _, size = scipy.linalg.schur(
        S.astype(np.complex128), output="complex", sort=lambda z: abs(z - centre) <= radius
    )
    return np.abs(np.triu(T[:size, :size], 1)).max() if size > 1 else 0.0


def _formatted(mu: complex) -> str:
    return f"{mu.real:.3g}" if abs(mu.imag) <= 1e-12 * abs(mu) else f"{mu:.3g}"
