"""Boosting a linear learner at all times: fitted values, errors, expectations.

`BoostingPath` is the interface. It has one class for each form in which a learner's matrix S is
known (`smoothing._smoothers`): `SpectralPath` here and `MatrixPath` in `matrix_path`. Both use
coordinates in which the weighted rows have equal noise, r~ = sqrt(w) r, so that

    residuals R~_t = E_t J Y~      with E_t = exp(-t S~) or (I - lambda S~)^floor(t / lambda),

J = I - qq' when boosting starts from the weighted mean (q the unit vector along sqrt(w)) and J = I
when it starts from zero. With w_t the weights of the learner's outputs and mu an eigenvalue of S
[Dombry and Esstafa, propositions 2.2 and 2.5],

    learning rate 0       R_t ~ exp(-t mu)            w_t ~ t phi_1(-t mu)
    learning rate lambda  R_t ~ (1 - lambda mu)^m     w_t ~ (1 - (1 - lambda mu)^m) / mu

where m = floor(t / lambda). Both weights are t (lambda m) at mu = 0, and both satisfy
mu w_t = 1 - R_t.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from sklearn.utils import Bunch

from sklearn_ensemble_theory.bounds._spectral_filters import (
    residual_filter,
    weight_filter,
)
from sklearn_ensemble_theory.smoothing._smoothers import SpectralForm, Totals
from sklearn_ensemble_theory.smoothing._spline.additive_design import AdditivePredictor, chunks

_MOST_ROUNDS = 100_000
"""More rounds are not run one by one."""

_MAX_KEPT_ROWS = 100_000
"""Up to this many training rows are stored in a fitted spline model, for `bias_variance`."""


def check_number_of_rounds(number: int, learning_rate: float, time: float) -> int:
    """The number of rounds to be run one by one; ValueError where there are too many."""
    if number > _MOST_ROUNDS:
        raise ValueError(
            f"learning_rate={learning_rate:g} and time={time:g} make {number:.3g} rounds, more "
            f"than {_MOST_ROUNDS:,}. Use a larger learning_rate, or 0, the limit of small ones "
            'with coordinates="all" or "random".'
        )
    return number


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
    totals : Totals
    start : Start

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
    last_time: float = math.inf  # the end of the path, where there is one
    default_rounds: int | None = None  # how many are compared by default; None: other times

    def __init__(self, totals: Totals, start: Start):
        self.at_mean, self.learning_rate = start
        self.n_rows, self.total_weight, self.mean, _ = totals

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

    def held_out_error(self, times: np.ndarray, splits: Sequence[Any]) -> np.ndarray | None:
        """The cross-validated error at each time; None where the folds have to be refitted."""
        return None

    def selection(self, time: float) -> tuple[np.ndarray, np.ndarray]:
        """The feature of each round, and the shares of the features in the decrease of errors."""
        raise AttributeError("Features are selected with coordinates='best' only.")

    @abstractmethod
    def predictor(self, times: np.ndarray) -> Any:
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

    Parameters
    ----------
    form : SpectralForm
    totals : Totals
    moments : ndarray of shape (n_basis_functions,)
        D'W (y - mean), for the functions of `form.design`.
    start : Start
    sample : Sample or None
        The rows, where they are in memory.
    """

    def __init__(
        self,
        form: SpectralForm,
        totals: Totals,
        moments: np.ndarray,
        start: Start,
        sample: Sample | None = None,
    ):
        super().__init__(totals, start)
        self.design, self.T, self.mu = form.design, form.coefficients, form.eigenvalues
        self.centred_total = self.total = totals.squares
        if not self.at_mean:
            self.total += self.total_weight * self.mean**2
        self.z = self._coordinates(moments)
        self._sample = sample
        self.eigenvalues = np.r_[1.0, np.sort(self.mu)[::-1]]

    @classmethod
    def of_rows(cls, form: SpectralForm, sample: Sample, start: Start) -> "SpectralPath":
        X, y, w = sample
        totals = Totals.of(y, w)
        moments = form.design.moments(X, w, (y - totals.mean)[:, None])[:, 0]
        return cls(form, totals, moments, start, sample)

    def keep_rows(self) -> None:
        if self._sample is not None:
            # Copies: the arrays may be the user's own.
            keep = self.n_rows <= _MAX_KEPT_ROWS
            self._sample = Sample(*(a.copy() for a in self._sample)) if keep else None

    @property
    def X(self) -> np.ndarray:
        return self._kept_sample().X

    @property
    def weight(self) -> np.ndarray:
        return self._kept_sample().weight

    def _kept_sample(self) -> Sample:
        if self._sample is None:
            raise ValueError(
                "This method needs the training rows, which are stored for at most "
                f"{_MAX_KEPT_ROWS} rows in memory."
            )
        return self._sample

    def stability(self) -> tuple[bool, str]:
        return stability(None, self.eigenvalues, True, self.learning_rate)

    def _project(self, X: np.ndarray, w: np.ndarray, y: np.ndarray) -> np.ndarray:
        return self._coordinates(self.design.moments(X, w, y[:, None])[:, 0])

    def _coordinates(self, moments: np.ndarray) -> np.ndarray:
        z = self.T.T @ moments
        # The moments of functions that vanish on the data are rounding errors, which time
        # would multiply.
        return np.where(self.mu > 1e-14, z, 0.0)

    def _filters(self, times: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        e = residual_filter(self.mu, times, self.learning_rate)
        h = weight_filter(self.mu, times, self.learning_rate)
        return e, h, residual_filter(np.ones(1), times, self.learning_rate)[0]

    def summary(self, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        e, h, e1 = self._filters(times)
        rss = self._rss(self.z, self.centred_total, e, h)
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
        for rows in chunks(*X.shape):
            U = self.design.matrix(X[rows]) @ self.T
            r = y[rows, None] - self.mean * constant - U @ (h * self.z[:, None])
            leverage = w[rows, None] * (constant / self.total_weight + U**2 @ h)
            error += loo_sum(r, leverage, w[rows])
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
        for rows in chunks(*X_new.shape):
            U = self.design.matrix(X_new[rows]) @ self.T
            gap = f_new[rows, None] - f_mean * constant - U @ (h * z[:, None])
            bias += (gap**2).sum(axis=0)
            variance += (U**2 @ spread).sum(axis=0)
        return bias / len(X_new), variance / len(X_new) + constant**2 / self.total_weight


def stability(
    S: np.ndarray | None,
    mu: np.ndarray,
    symmetric: bool,
    learning_rate: float = 0.0,
    tol: float = 1e-6,
) -> tuple[bool, str]:
    """Whether the fitted values stay bounded for every y as time grows.

    [Dombry and Esstafa, definition 2.9 and proposition 2.11]. In the limit: no eigenvalue has a
    negative real part, and those with real part zero have Jordan blocks of size one. With learning
    rate lambda: the same for |1 - lambda mu| <= 1.

    The proof of the proposition would bound the weights w_t as well; for an eigenvalue zero they
    grow like t while the fitted values do not change. The result here is about the fitted values.

    Parameters
    ----------
    S : ndarray of shape (n, n) or None
        Unused when `symmetric`.
    mu : ndarray of shape (n,)
        The eigenvalues of S.
    symmetric : bool
        Whether S is similar to a symmetric matrix, so that all blocks have size one.
    tol : float
        In units of the largest |mu|: real parts above -tol count as zero unless S is symmetric,
        where -1e-10 is the limit; eigenvalues closer than sqrt(tol) to each other count as one,
        and couplings above tol between them as a Jordan block.

    Returns
    -------
    is_stable : bool
    reason : str
        Empty when stable.
    """
    scale = np.abs(mu).max() if len(mu) else 0.0
    if scale == 0.0:
        scale = np.abs(S).max() if S is not None else 0.0
        if scale == 0.0:
            return True, ""
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
    critical = np.flatnonzero(margin <= slack)
    while len(critical):
        centre = mu[critical[0]]
        radius = np.sqrt(tol) * scale
        coupled = _coupling(S, centre, radius)
        if coupled > tol * scale:
            return False, (
                f"the eigenvalue {_formatted(centre)} is on the boundary and has a Jordan block of "
                "size above one"
            )
        critical = critical[np.abs(mu[critical] - centre) > radius]
    return True, ""


def _coupling(S: np.ndarray, centre: complex, radius: float) -> float:
    """Largest entry above the diagonal of the Schur form's block of eigenvalues near `centre`."""
    T, _, size = scipy.linalg.schur(
        S.astype(np.complex128), output="complex", sort=lambda z: abs(z - centre) <= radius
    )
    return np.abs(np.triu(T[:size, :size], 1)).max() if size > 1 else 0.0


def _formatted(mu: complex) -> str:
    return f"{mu.real:.3g}" if abs(mu.imag) <= 1e-12 * abs(mu) else f"{mu:.3g}"


def loo_sum(residuals: np.ndarray, leverage: np.ndarray, w: np.ndarray) -> np.ndarray:
    room = 1.0 - leverage
    usable = room > 1e-8
    with np.errstate(over="ignore", invalid="ignore"):
        deleted = np.where(usable, residuals, np.inf) / np.where(usable, room, 1.0)
        return w @ deleted**2
