"""Boosting a linear learner at all times: fitted values, errors, expectations.

`BoostingPath` is the interface. `SpectralPath` and `MatrixPath` are its two classes, one for each
form in which a learner's matrix S is known (`smoothing._smoothers`). Both use coordinates in which
the weighted rows have equal noise, r~ = sqrt(w) r, so that

    residuals R~_t = E_t J Y~      with E_t = exp(-t S~) or (I - lambda S~)^floor(t / lambda),

J = I - qq' when boosting starts from the weighted mean (q the unit vector along sqrt(w)) and J = I
when it starts from zero.
"""

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np
from sklearn.utils import Bunch

from sklearn_ensemble_theory.smoothing._linear_boosting.learners import (
    AveragedLearner,
    FittedAverage,
)
from sklearn_ensemble_theory.smoothing._linear_boosting.operators import (
    operator,
    residual_filter,
    stability,
    weight_filter,
)
from sklearn_ensemble_theory.smoothing._smoothers import MatrixForm, SpectralForm
from sklearn_ensemble_theory.smoothing._spline.base import AdditivePredictor, chunks

__all__ = ["PATHS", "BoostingPath", "MatrixPath", "Sample", "SpectralPath", "Start"]

_MAX_KEPT_ROWS = 100_000
"""Up to this many training rows are stored in a fitted spline model, for `bias_variance`."""

_SAME = 1e-8
"""Eigenvalues this close, relative to the largest, are equal; so is S q to a multiple of q."""


class Sample(NamedTuple):
    """Training rows of positive weight."""

    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray

    def take(self, rows: np.ndarray) -> "Sample":
        return Sample(self.X[rows], self.y[rows], self.weight[rows])


class Start(NamedTuple):
    """Where boosting starts, and its learning rate (0 for the limit)."""

    at_mean: bool
    learning_rate: float


class BoostingPath(ABC):
    """A boosted linear learner at all times.

    Parameters
    ----------
    form : SpectralForm or MatrixForm
        The learner's matrix S on the sample.
    sample : Sample
    start : Start
    learner : AveragedLearner
        The learner itself, for predictions where the form alone does not give them.

    Attributes
    ----------
    eigenvalues : ndarray
        Of S, in decreasing order of their real parts.
    n_rows : int
    total_weight, mean : float
        The sum of the weights, and the weighted mean of y.
    total : float
        The weighted sum of squares of y about the start.
    """

    eigenvalues: np.ndarray
    total: float

    def __init__(self, sample: Sample, start: Start):
        self.at_mean, self.learning_rate = start
        _, y, w = sample
        self.n_rows, self.total_weight = len(y), float(w.sum())
        self.mean = float(w @ y / self.total_weight)

    @abstractmethod
    def stability(self) -> tuple[bool, str]:
        """Whether the fitted values stay bounded, and the reason where they do not."""

    @abstractmethod
    def squared_residuals(self, times: np.ndarray) -> np.ndarray:
        """The weighted residual sum of squares at each time."""

    @abstractmethod
    def degrees_of_freedom(self, times: np.ndarray) -> np.ndarray:
        """The trace of the boosting operator at each time."""

    def summary(self, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Residual sum of squares and degrees of freedom at each time."""
        return self.squared_residuals(times), self.degrees_of_freedom(times)

    @abstractmethod
    def loo_error(self, times: np.ndarray) -> np.ndarray:
        """The mean squared deleted residual at each time."""

    @abstractmethod
    def predictor(self, times: np.ndarray) -> "AdditivePredictor | AveragePredictor":
        """An object with `predict(X)` and `component(j, x)`, one column for each time."""

    @abstractmethod
    def coefficients(self, times: np.ndarray) -> np.ndarray:
        """The diagonal of the boosting operator in the basis of `eigenvectors`.

        Shape (n_eigenvalues, n_times); each column sums to the degrees of freedom. When boosting
        starts from zero, or the constant is an eigenvector of S, the operator is diagonal and these
        are its eigenvalues [Dombry and Esstafa, eq. (27)]: 1 for the constant (from the mean) and
        1 - exp(-mu t) for the others. Otherwise the mean has a part in every eigenvector, whose
        coefficient is 1 - exp(-mu t) (1 - c) with c the share of the mean; the c sum to 1.
        """

    @abstractmethod
    def eigenvectors(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The training rows, and eigenvectors of S on them by their index in `eigenvalues`."""

    @property
    @abstractmethod
    def X(self) -> np.ndarray:
        """The training rows; ValueError where they were not kept."""

    @abstractmethod
    def keep_rows(self) -> None:
        """Called at the end of a fit: store the rows that later calls use, and release the rest."""

    @abstractmethod
    def expected_errors(
        self, f: np.ndarray, times: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Squared norms of E J f, E J and (I - E) J, for f on the training rows."""

    @abstractmethod
    def new_point_errors(
        self, X_new: np.ndarray, f: np.ndarray, f_new: np.ndarray, times: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Mean squared bias, and variance in units of sigma^2, at new points."""

    def bias_variance(self, f: np.ndarray, sigma: float, times: np.ndarray) -> Bunch:
        """Expected errors on the training rows [Dombry and Esstafa, propositions 2.12, 2.13]."""
        squares, train, test = self.expected_errors(f, times)
        n, noise = self.total_weight, sigma**2
        of_the_mean = noise / n if self.at_mean else 0.0
        out = Bunch(bias2=squares / n)
        out.variance_train = noise * (train + n - self.n_rows) / n
        out.variance_test = noise + of_the_mean + noise * test / n
        out.train, out.test = out.bias2 + out.variance_train, out.bias2 + out.variance_test
        return out


class SpectralPath(BoostingPath):
    """Boosting a learner whose eigenfunctions u_j are known; see `SpectralForm`.

    Everything is a sum over the functions u_j, and no array is as long as the data.
    """

    def __init__(self, form: SpectralForm, sample: Sample, start: Start, learner: AveragedLearner):
        super().__init__(sample, start)
        self.design, self.T, self.mu = form.design, form.coefficients, form.eigenvalues
        X, y, w = sample
        centred = y - self.mean
        self.total = float(w @ centred**2)
        self.z = self._project(X, w, centred)
        self._sample: Sample | None = sample
        self.eigenvalues = np.r_[1.0, np.sort(self.mu)[::-1]]

    def keep_rows(self) -> None:
        # Copies: the arrays may be the user's own.
        keep = self.n_rows <= _MAX_KEPT_ROWS
        self._sample = Sample(*(a.copy() for a in self._sample)) if keep else None

    @property
    def X(self) -> np.ndarray:
        return self._kept_sample().X

    def _kept_sample(self) -> Sample:
        if self._sample is None:
            raise ValueError(
                f"This needs the training rows, which are stored for up to {_MAX_KEPT_ROWS} rows."
            )
        return self._sample

    def stability(self) -> tuple[bool, str]:
        return stability(None, self.eigenvalues, True, self.learning_rate)

    def _project(self, X: np.ndarray, w: np.ndarray, y: np.ndarray) -> np.ndarray:
        z = self.T.T @ self.design.moments(X, w, y[:, None])[:, 0]
        # The moments of functions that vanish on the data are rounding errors, which time
        # would multiply.
        return np.where(self.mu > 1e-14, z, 0.0)

    def _filters(self, times: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        e = residual_filter(self.mu, times, self.learning_rate)
        h = weight_filter(self.mu, times, self.learning_rate)
        return e, h, residual_filter(np.ones(1), times, self.learning_rate)[0]

    def summary(self, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        e, h, e1 = self._filters(times)
        rss = self._rss(self.z, self.total, e, h)
        df = (1.0 - e).sum(axis=0) + 1.0
        if not self.at_mean:
            rss, df = rss + self.total_weight * (self.mean * e1) ** 2, df - e1
        return rss, df

    def squared_residuals(self, times: np.ndarray) -> np.ndarray:
        return self.summary(times)[0]

    def degrees_of_freedom(self, times: np.ndarray) -> np.ndarray:
        return self.summary(times)[1]

    @staticmethod
    def _rss(z: np.ndarray, total: float, e: np.ndarray, h: np.ndarray) -> np.ndarray:
        # |y - U h z|^2 = |y|^2 - sum h (1 + e) z^2, since mu h = 1 - e.
        return np.maximum(total - (z**2) @ (h * (1.0 + e)), 0.0)

    def _constant(self, e1: np.ndarray) -> np.ndarray:
        """The share of the mean that is fitted at each time."""
        return np.ones(len(e1)) if self.at_mean else 1.0 - e1

    def loo_error(self, times: np.ndarray) -> np.ndarray:
        X, y, w = self._kept_sample()
        _, h, e1 = self._filters(times)
        constant = 1.0 if self.at_mean else 1.0 - e1
        error = np.zeros(len(times))
        for rows in chunks(len(y)):
            U = self.design.matrix(X[rows]) @ self.T
            r = y[rows, None] - self.mean * constant - U @ (h * self.z[:, None])
            leverage = w[rows, None] * (constant / self.total_weight + U**2 @ h)
            error += _loo_sum(r, leverage, w[rows])
        return error / self.total_weight

    def predictor(self, times: np.ndarray) -> AdditivePredictor:
        _, h, e1 = self._filters(times)
        coefficients = self.T @ (h * self.z[:, None])
        return AdditivePredictor(self.design, coefficients, self.mean * self._constant(e1))

    def coefficients(self, times: np.ndarray) -> np.ndarray:
        fitted = 1.0 - residual_filter(self.eigenvalues, times, self.learning_rate)
        if self.at_mean:
            fitted[0] = 1.0
        return fitted

    def eigenvectors(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        X = self.X
        U = self.design.evaluate(X, self.T)[:, np.argsort(-self.mu, kind="stable")]
        U = np.column_stack([np.ones(len(X)), U])[:, indices]
        return X, U / np.linalg.norm(U, axis=0)

    def expected_errors(
        self, f: np.ndarray, times: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        X, _, w = self._kept_sample()
        e, h, e1 = self._filters(times)
        f_mean = float(w @ f / self.total_weight)
        centred = f - f_mean
        bias = self._rss(self._project(X, w, centred), float(w @ centred**2), e, h)
        live = self.mu > 1e-14
        rank = np.count_nonzero(live)
        train = self.n_rows - 1 - rank + (e[live] ** 2).sum(axis=0)
        test = ((1.0 - e[live]) ** 2).sum(axis=0)
        if not self.at_mean:
            bias, train, test = (
                bias + self.total_weight * (f_mean * e1) ** 2,
                train + e1**2,
                test + (1 - e1) ** 2,
            )
        return bias, train, test

    def new_point_errors(
        self, X_new: np.ndarray, f: np.ndarray, f_new: np.ndarray, times: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        X, _, w = self._kept_sample()
        _, h, e1 = self._filters(times)
        constant = self._constant(e1)
        f_mean = float(w @ f / self.total_weight)
        z = self._project(X, w, f - f_mean)
        spread = h**2 * self.mu[:, None]
        bias, variance = np.zeros(len(times)), np.zeros(len(times))
        for rows in chunks(len(X_new)):
            U = self.design.matrix(X_new[rows]) @ self.T
            gap = f_new[rows, None] - f_mean * constant - U @ (h * z[:, None])
            bias += (gap**2).sum(axis=0)
            variance += (U**2 @ spread).sum(axis=0)
        return bias / len(X_new), variance / len(X_new) + constant**2 / self.total_weight


class MatrixPath(BoostingPath):
    """Boosting any linear learner through its n x n matrix; see `MatrixForm`."""

    def __init__(self, form: MatrixForm, sample: Sample, start: Start, learner: AveragedLearner):
        super().__init__(sample, start)
        _, y, w = sample
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
            if self.at_mean:
                df = df + self.operator.form(self.q, times)  # 1 - q'(I - E)q
        return df

    def loo_error(self, times: np.ndarray) -> np.ndarray:
        residuals = self.operator.residuals(self.start, times) / self.root[:, None]
        with np.errstate(over="ignore", invalid="ignore"):
            leverage = 1.0 - self.operator.diagonal(times)
            if self.at_mean:
                moved = self.q[:, None] - self.operator.residuals(self.q, times)
                leverage = leverage + self.q[:, None] ** 2 - moved * self.q[:, None]
        return _loo_sum(residuals, leverage, self.weight) / self.total_weight

    def predictor(self, times: np.ndarray) -> "AveragePredictor":
        weights = self.operator.weights(self.start, times) / self.root[:, None]
        if not np.isfinite(weights).all():
            raise ValueError("The learner is unstable and its weights overflow at these times.")
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
        if not self.at_mean:
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


class AveragePredictor:
    """constant + the average of fitted learners, with one column for each time."""

    def __init__(self, fitted: FittedAverage, constant: float):
        self.fitted, self.constant = fitted, constant

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self.constant + self.fitted.predict(X)

    def component(self, j: int, x: np.ndarray) -> np.ndarray:
        """The part of feature j at x."""
        return self.fitted.component(j, x)


PATHS: dict[str, type[BoostingPath]] = {"spectral": SpectralPath, "matrix": MatrixPath}
"""The path of each kind of form."""


def _loo_sum(residuals: np.ndarray, leverage: np.ndarray, w: np.ndarray) -> np.ndarray:
    room = 1.0 - leverage
    usable = room > 1e-8
    with np.errstate(over="ignore", invalid="ignore"):
        deleted = np.where(usable, residuals, np.inf) / np.where(usable, room, 1.0)
        return w @ deleted**2
