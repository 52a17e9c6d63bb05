"""Boosting any linear learner through its n x n matrix, and exp(-tS) or (I - lambda S)^m of it.

`operator` takes one decomposition for all times: orthogonal when S is symmetric in a diagonal
metric, eigenvectors when they are well conditioned, and repeated squaring otherwise, which applies
to defective and singular matrices too.
"""

from collections.abc import Iterator

import numpy as np
import scipy.linalg
import scipy.special

from sklearn_ensemble_theory.bounds._spectral_filters import n_rounds
from sklearn_ensemble_theory.smoothing._linear_boosting.averaged_learners import (
    AveragedLearner,
    AveragePredictor,
)
from sklearn_ensemble_theory.smoothing._linear_boosting.paths import (
    BoostingPath,
    Sample,
    Start,
    loo_sum,
    residual_filter,
    stability,
    weight_filter,
)
from sklearn_ensemble_theory.smoothing._smoothers import MatrixForm, Totals

_MAX_CONDITION = 1e6
"""A basis of eigenvectors with a larger condition number is not used."""

_TAYLOR = 16
"""Order of the Taylor polynomials of the exponential."""

_SAME = 1e-8
"""Eigenvalues this close, relative to the largest, are equal; so is S q to a multiple of q."""

# Steps of a squared operator, as integers of 64 bits.
MOST_STEPS = 2.0**62


class MatrixPath(BoostingPath):
    """Boosting any linear learner through its n x n matrix.

    Parameters
    ----------
    form : MatrixForm
    sample : Sample
    start : Start
    learner : AveragedLearner
        The learner itself, for predictions at other points.
    """

    def __init__(self, form: MatrixForm, sample: Sample, start: Start, learner: AveragedLearner):
        _, y, w = sample
        super().__init__(Totals.of(y, w), start)
        self.learner, self.weight = learner, w
        self.root = np.sqrt(w)
        scaled = form.matrix * self.root[:, None] / self.root
        metric = None if form.metric is None else form.metric / w
        self.operator = operator(scaled, self.learning_rate, metric)
        self.S = None if self.operator.symmetric else scaled
        self.eigenvalues = self.operator.mu
        self.q = self.root / np.sqrt(self.total_weight) if self.at_mean else None
        self.start = self.root * (y - self.mean if self.at_mean else y)
        self.total = float(self.start @ self.start)

    @property
    def X(self) -> np.ndarray:
        return self.learner.X

    def keep_rows(self) -> None:
        """The learner keeps the rows, for predictions at other times."""

    def stability(self) -> tuple[bool, str]:
        return stability(self.S, self.eigenvalues, self.operator.symmetric, self.learning_rate)

    def squared_residuals(self, times: np.ndarray) -> np.ndarray:
        return self.operator.squared_residuals(self.start, times)

    def degrees_of_freedom(self, times: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore", invalid="ignore"):
            df = self.n_rows - self.operator.trace(times)
            if self.q is not None:
                df = df + self.operator.form(self.q, times)  # 1 - q'(I - E)q
        return df

    def loo_error(self, times: np.ndarray) -> np.ndarray:
        residuals = self.operator.residuals(self.start, times) / self.root[:, None]
        with np.errstate(over="ignore", invalid="ignore"):
            leverage = 1.0 - self.operator.diagonal(times)
            if self.q is not None:
                moved = self.q[:, None] - self.operator.residuals(self.q, times)
                leverage = leverage + self.q[:, None] ** 2 - moved * self.q[:, None]
        return loo_sum(residuals, leverage, self.weight) / self.total_weight

    def predictor(self, times: np.ndarray) -> AveragePredictor:
        weights = self.operator.weights(self.start, times) / self.root[:, None]
        if not np.isfinite(weights).all():
            raise ValueError("estimator is unstable, and its weights overflow at these times.")
        return AveragePredictor(self.learner.fit(weights), self.mean if self.at_mean else 0.0)

    def _constant_indices(self) -> np.ndarray:
        """The indices of the constant's eigenvalue; empty where it is not an eigenvector of S.

        More than one where the eigenvalue is repeated: the first is taken for the constant's.
        """
        q = self.root / np.linalg.norm(self.root)
        image = self.operator.apply(q)
        mu, size = q @ image, np.abs(self.eigenvalues).max()
        if np.abs(image - mu * q).max() > _SAME * size:
            return np.empty(0, dtype=np.intp)
        return np.flatnonzero(np.abs(self.eigenvalues - mu) <= _SAME * size)

    def coefficients(self, times: np.ndarray) -> np.ndarray:
        e = residual_filter(self.eigenvalues, times, self.learning_rate)
        if self.q is None:
            return 1.0 - e
        constant = self._constant_indices()
        if len(constant):
            fitted = 1.0 - e
            fitted[constant[0]] = 1.0
            return fitted
        # The diagonal of the operator I - E (I - qq').
        with np.errstate(over="ignore", invalid="ignore"):
            return 1.0 - e * (1.0 - self.operator.diagonal_product(self.q))[:, None]

    def eigenvectors(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        U = self.operator.eigenvectors()
        constant = self._constant_indices()
        if len(constant) > 1:  # rotated, so that the first one is the constant
            cluster = U[:, constant]
            q = np.linalg.lstsq(cluster, self.root, rcond=None)[0]
            rotation = np.linalg.qr(np.column_stack([q, np.eye(len(q))]))[0]
            U = U.copy()
            U[:, constant] = cluster @ rotation
        U = U[:, indices].real / self.root[:, None]
        return self.X, U / np.linalg.norm(U, axis=0)

    def expected_errors(
        self, f: np.ndarray, times: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        f_mean = self.weight @ f / self.total_weight if self.at_mean else 0.0
        bias = self.operator.squared_residuals(self.root * (f - f_mean), times)
        return bias, *self.operator.squared_norms(times, self.q)

    def new_point_errors(
        self, X_new: np.ndarray, f: np.ndarray, f_new: np.ndarray, times: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        G = self.learner.outputs(X_new) / self.root
        f_mean = self.weight @ f / self.total_weight if self.at_mean else 0.0
        start = self.root * (f - f_mean)
        bias, variance = np.empty(len(times)), np.empty(len(times))
        for k, rows in enumerate(self.operator.prediction_rows(G, times, self.q)):
            bias[k] = np.mean((f_new - f_mean - rows @ start) ** 2)
            variance[k] = np.mean((rows**2).sum(axis=1))
        return bias, variance + (1.0 / self.total_weight if self.at_mean else 0.0)


def started(A: np.ndarray, J: np.ndarray | None) -> np.ndarray:
    """A J for a matrix J, A (I - qq') for a vector J = q, and A for None."""
    if J is None:
        return A
    return A @ J if J.ndim == 2 else A - np.outer(A @ J, J)


def operator(
    S: np.ndarray, learning_rate: float = 0.0, metric: np.ndarray | None = None
) -> "EigenbasisOperator | SquaringOperator":
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
        return EigenbasisOperator(
            mu, right, left, learning_rate, symmetric=True, orthogonal=orthogonal
        )
    mu, right = scipy.linalg.eig(S, check_finite=False)
    order = np.argsort(-mu.real, kind="stable")
    mu, right = mu[order], right[:, order]
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
        """The eigenvectors, as columns."""
        return self.right

    def diagonal_product(self, q: np.ndarray) -> np.ndarray:
        """The diagonal of qq' in the basis of eigenvectors."""
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
            self.delta = 2.0 ** np.floor(-np.log2(norm) - 1.0)
            self.first = scipy.linalg.expm(-self.delta * S)

    def apply(self, y: np.ndarray) -> np.ndarray:
        """S y."""
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
        if not (m < MOST_STEPS).all():
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
