"""exp(-tS), or (I - lambda S)^m, of a dense matrix at many times: one decomposition each.

`operator` picks the decomposition: orthogonal when S is symmetric or becomes so in a diagonal
metric, eigenvectors when they are well conditioned, and otherwise a ladder of squarings, which
needs no eigenvectors and takes defective and singular matrices as they come.
"""

import numpy as np
import scipy.linalg
import scipy.special

from sklearn_ensemble_theory.smoothing._linear_boosting.spectral import (
    n_rounds,
    residual_filter,
    weight_filter,
)

__all__ = ["LadderOperator", "SpectralOperator", "operator"]

_MAX_CONDITION = 1e6
"""Eigenvectors worse conditioned than this lose more than ten digits of sixteen less six."""

_TAYLOR = 16


def operator(S, learning_rate=0.0, metric=None):
    """The operator of S; `metric` is a positive vector m with m_i S_ij = m_j S_ji, if known."""
    if metric is None:
        gap = np.abs(S - S.T).max()
        if gap <= 1e-10 * np.abs(S).max():
            metric = np.ones(len(S))
    if metric is not None:
        root = np.sqrt(metric)
        A = S * root[:, None] / root
        mu, U = scipy.linalg.eigh((A + A.T) / 2, check_finite=False)
        mu, U = mu[::-1], U[:, ::-1]
        right, left = U / root[:, None], (U * root[:, None]).T
        orthogonal = metric.min() == metric.max()
        return SpectralOperator(mu, right, left, learning_rate, True, orthogonal)
    mu, right = scipy.linalg.eig(S, check_finite=False)
    order = np.argsort(-mu.real, kind="stable")
    mu, right = mu[order], right[:, order]
    condition = np.linalg.cond(right)
    if condition <= _MAX_CONDITION:
        return SpectralOperator(mu, right, np.linalg.inv(right), learning_rate, False)
    return LadderOperator(S, mu, learning_rate)


class SpectralOperator:
    """S = right @ diag(mu) @ left with left @ right = I."""

    def __init__(self, mu, right, left, learning_rate, symmetric, orthogonal=False):
        self.mu, self.right, self.left = mu, right, left
        self.learning_rate, self.symmetric = learning_rate, symmetric
        self.orthogonal = orthogonal

    def residuals(self, y, times):
        """E_t y, shape (n, n_times)."""
        e = residual_filter(self.mu, times, self.learning_rate)
        return _combine(self.right, e, self.left @ y)

    def squared_residuals(self, y, times):
        """|E_t y|^2 at each time; of length n a time when the eigenvectors are orthogonal."""
        if not self.orthogonal:
            return _squares(self.residuals(y, times))
        e = residual_filter(self.mu, times, self.learning_rate)
        with np.errstate(over="ignore", invalid="ignore"):
            norms = (self.right**2).sum(axis=0)  # a constant metric scales them
            return (norms * (self.left @ y) ** 2) @ e**2

    def form(self, q, times):
        """q'E_t q at each time."""
        e = residual_filter(self.mu, times, self.learning_rate)
        with np.errstate(over="ignore", invalid="ignore"):
            return (((q @ self.right) * (self.left @ q)) @ e).real

    def weights(self, y, times):
        """w_t for the target y, shape (n, n_times)."""
        h = weight_filter(self.mu, times, self.learning_rate)
        return _combine(self.right, h, self.left @ y)

    def trace(self, times):
        """Trace of E_t."""
        return residual_filter(self.mu, times, self.learning_rate).sum(axis=0).real

    def diagonal(self, times):
        """Diagonal of E_t, shape (n, n_times)."""
        e = residual_filter(self.mu, times, self.learning_rate)
        return _combine(self.right * self.left.T, e)

    def squared_norms(self, times, q):
        """Squared Frobenius norms of E_t J and (I - E_t) J, J = I - qq' (q None: J = I).

        |R e L J|^2 = e* (R*R o (LJ)(LJ)*) e: one n x n matrix for all times.
        """
        L = self.left if q is None else self.left - np.outer(self.left @ q, q)
        M = (self.right.conj().T @ self.right) * (L @ L.conj().T).T
        e = residual_filter(self.mu, times, self.learning_rate)
        with np.errstate(over="ignore", invalid="ignore"):
            return tuple((v.conj() * (M @ v)).sum(axis=0).real for v in (e, 1.0 - e))

    def prediction_rows(self, G, times, q):
        """Rows g(x)' P_t J with P_t y = w_t: yields (len(G), n) at each time."""
        A = G @ self.right
        L = self.left if q is None else self.left - np.outer(self.left @ q, q)
        h = weight_filter(self.mu, times, self.learning_rate)
        for k in range(len(times)):
            yield ((A * h[:, k]) @ L).real


def _combine(vectors, filters, coefficients=None):
    """vectors @ (filters * coefficients), real; an unstable learner may overflow here."""
    with np.errstate(over="ignore", invalid="ignore"):
        out = vectors @ (filters if coefficients is None else filters * coefficients[:, None])
    return out.real if np.iscomplexobj(out) else out


class LadderOperator:
    """E at times delta, 2 delta, 4 delta, ... by squaring; any time is a sum of those.

    With learning rate lambda the step delta is lambda and E_delta = I - lambda S. In the limit it
    is so short that a Taylor polynomial reaches any time below it.
    """

    symmetric = False

    def __init__(self, S, mu, learning_rate):
        self.S, self.mu, self.learning_rate = S, mu, learning_rate
        if learning_rate > 0:
            self.delta = learning_rate
            self.first = np.eye(len(S)) - learning_rate * S
        else:
            norm = max(np.abs(S).sum(axis=0).max(), 1e-300)
            self.delta = 2.0 ** np.floor(-np.log2(norm) - 1.0)
            self.first = scipy.linalg.expm(-self.delta * S)

    def _split(self, times):
        times = np.asarray(times, dtype=np.float64)
        if self.learning_rate > 0:
            return n_rounds(times, self.learning_rate), np.zeros(len(times))
        m = np.floor(times / self.delta)
        return m.astype(np.int64), times - m * self.delta

    def _climb(self, vectors, m, shift=None):
        """Apply E_delta^m to each column; with a `shift` y also accumulate its weights."""
        E, bit = self.first, 0
        with np.errstate(over="ignore", invalid="ignore"):
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

    def _powers(self, y):
        """S^k y for k below the order of the Taylor polynomial."""
        columns = [y]
        for _ in range(_TAYLOR - 1):
            columns.append(self.S @ columns[-1])
        return np.stack(columns, axis=1)

    def residuals(self, y, times):
        m, rest = self._split(times)
        k = np.arange(_TAYLOR)[:, None]
        coefficients = (-rest) ** k / _factorials(k)
        return self._climb(self._powers(y) @ coefficients, m)

    def squared_residuals(self, y, times):
        return _squares(self.residuals(y, times))

    def form(self, q, times):
        with np.errstate(over="ignore", invalid="ignore"):
            return q @ self.residuals(q, times)

    def weights(self, y, times):
        m, rest = self._split(times)
        k = np.arange(_TAYLOR)[:, None]
        coefficients = (-1.0) ** k * rest ** (k + 1) / _factorials(k + 1)
        powers = self._powers(y)
        if self.learning_rate > 0:
            shift = self.delta * y
        else:
            j = np.arange(_TAYLOR)
            shift = powers @ ((-1.0) ** j * self.delta ** (j + 1) / _factorials(j + 1))
        return self._climb(powers @ coefficients, m, shift)

    def matrices(self, times):
        """E_t for each time in turn."""
        m, rest = self._split(times)
        ladder = [self.first]
        with np.errstate(over="ignore", invalid="ignore"):
            for _ in range(int(m.max()).bit_length() - 1):
                ladder.append(ladder[-1] @ ladder[-1])
            for steps, r in zip(m.tolist(), rest.tolist()):
                E = scipy.linalg.expm(-r * self.S) if r else np.eye(len(self.S))
                for bit in range(steps.bit_length()):
                    if steps >> bit & 1:
                        E = ladder[bit] @ E
                yield E

    def trace(self, times):
        # The computed eigenvalues are those of a matrix within rounding of S, however far each of
        # a defective cluster has moved; their sum is as good as that matrix.
        return residual_filter(self.mu, times, self.learning_rate).sum(axis=0).real

    def diagonal(self, times):
        return np.stack([E.diagonal() for E in self.matrices(times)], axis=1)

    def squared_norms(self, times, q):
        norms = np.empty((2, len(times)))
        for k, E in enumerate(self.matrices(times)):
            for row, A in enumerate((E, np.eye(len(E)) - E)):
                norms[row, k] = np.sum((A if q is None else A - np.outer(A @ q, q)) ** 2)
        return tuple(norms)

    def prediction_rows(self, G, times, q):
        """g'P_t = (P_t' g)': the weights of the transposed operator for the targets g."""
        transposed = LadderOperator(self.S.T, self.mu, self.learning_rate)
        columns = [transposed.weights(g, times) for g in G]
        for k in range(len(times)):
            rows = np.stack([c[:, k] for c in columns])
            yield rows if q is None else rows - np.outer(rows @ q, q)


def _squares(columns):
    with np.errstate(over="ignore", invalid="ignore"):
        return (columns**2).sum(axis=0)


def _factorials(k):
    return scipy.special.factorial(k, exact=False)
