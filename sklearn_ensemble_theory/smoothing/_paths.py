"""Boosting a linear learner at all times: fitted values, errors, expectations.

`BoostingPath` is the interface. `SpectralPath` has the eigenfunctions of the learner, `MatrixPath`
its n x n matrix S (`_smoothers` says which learner offers what), and `InitialFitPath` starts from
the fit of another estimator; `_best_feature` has the path of rounds that choose a feature. All use
coordinates in which the weighted rows have equal noise, r~ = sqrt(w) r, so that

    residuals R~_t = E_t J Y~      with E_t = exp(-t S~) or (I - lambda S~)^floor(t / lambda),

J = I - qq' when boosting starts from the weighted mean (q the unit vector along sqrt(w)), J = I
when it starts from zero, and J = I - S_0 from the fit of an estimator with matrix S_0. With w_t the
weights of the learner's outputs and mu an eigenvalue of S [Dombry and Esstafa, propositions 2.2 and
2.5],

    learning rate 0       R_t ~ exp(-t mu)            w_t ~ t phi_1(-t mu)
    learning rate lambda  R_t ~ (1 - lambda mu)^m     w_t ~ (1 - (1 - lambda mu)^m) / mu

where m = floor(t / lambda). Both weights are t (lambda m) at mu = 0, and both satisfy
mu w_t = 1 - R_t.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, NoReturn, Protocol

import numpy as np
from sklearn.utils import Bunch

from sklearn_ensemble_theory._learners import checked_outputs, fitted_clone
from sklearn_ensemble_theory._rows import Rows
from sklearn_ensemble_theory._running import threads_for
from sklearn_ensemble_theory.bounds._spectral_filters import residual_filter, weight_filter

from ._averaged_learners import AveragedLearner, AveragePredictor, RoundsPredictor
from ._operators import operator, stability
from ._smoothers import (
    MatrixForm,
    NotLinearError,
    Regressor,
    SpectralForm,
    Totals,
    check_dense_rows,
    check_linear,
)
from ._spline_basis import AdditivePredictor, row_blocks

_MAX_KEPT_ROWS = 100_000
"""Up to this many training rows are stored in a fitted spline model, for `bias_variance`."""

_SAME = 1e-8
"""Eigenvalues this close, relative to the largest, are equal; so is S q to a multiple of q."""

_SAME_FIT = 1e-6
"""S_0 y and the initial fit may differ by this share of the largest |y|."""


class Start(NamedTuple):
    """Where boosting starts, and its learning rate (0 for the limit)."""

    at_mean: bool
    learning_rate: float


class Predictor(Protocol):
    """A model at one or several times, one column for each."""

    def predict(self, X: np.ndarray) -> np.ndarray: ...

    def component(self, j: int, x: np.ndarray) -> np.ndarray:
        """Return the term of feature j at x."""
        ...

    @property
    def is_centred(self) -> bool:
        """Whether each term has mean zero over the training rows."""
        ...

    @property
    def constant(self) -> float: ...


class BoostingPath:
    """A boosted learner at all times.

    Every path has the methods down to `predictor`. Those below are of learners that are linear in
    y: a path of another one refuses them. `mean` is the weighted mean of y.
    """

    eigenvalues: np.ndarray  # of S, in decreasing order of their real parts
    total: float  # the weighted sum of squares of y about the start
    last_time: float = math.inf  # the end of the path, where there is one
    default_rounds: int | None = None  # how many are compared by default; None: other times

    def __init__(self, totals: Totals, start: Start) -> None:
        self.at_mean, self.learning_rate = start
        self.n_rows, self.total_weight, self.mean, _ = totals

    def stability(self) -> tuple[bool, str]:
        """Tell whether the fitted values stay bounded, and the reason where they do not."""
        raise NotImplementedError

    def squared_residuals(self, times: np.ndarray) -> np.ndarray:
        """Return the weighted residual sum of squares at each time."""
        raise NotImplementedError

    def degrees_of_freedom(self, times: np.ndarray) -> np.ndarray:
        """Return the trace of the boosting operator at each time."""
        raise NotImplementedError

    def summary(self, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Residual sum of squares and degrees of freedom at each time."""
        return self.squared_residuals(times), self.degrees_of_freedom(times)

    def held_out_error(
        self, times: np.ndarray, splits: Sequence[tuple[np.ndarray, np.ndarray]]
    ) -> np.ndarray | None:
        """The cross-validated error at each time; None where the folds have to be refitted."""
        return None

    def selection(self, time: float) -> tuple[np.ndarray, np.ndarray]:
        """The feature of each round, and the shares of the features in the decrease of errors."""
        raise AttributeError("Features are selected with variant='best_feature' only.")

    def keep_rows(self) -> None:
        """Called at the end of a fit: store the rows that later calls use, and release the rest."""

    def predictor(self, times: np.ndarray) -> Predictor:
        raise NotImplementedError

    # What only a model that is linear in y has.

    def _refuse(self, what: str) -> NoReturn:
        raise ValueError(
            f"There are no {what} with variant='best_feature', which chooses features by y and is "
            "not linear in y."
        )

    def rows(self) -> Rows:
        """Return the training rows; ValueError where they were not kept."""
        self._refuse("expected errors")

    def loo_error(self, times: np.ndarray) -> np.ndarray:
        """Return the mean squared deleted residual at each time."""
        self._refuse("deleted residuals")

    def coefficients(self, times: np.ndarray) -> np.ndarray:
        """Return the diagonal of the boosting operator in the basis of `eigenvectors`.

        Shape (n_eigenvalues, n_times); each column sums to the degrees of freedom. From zero, or
        where the constant is an eigenvector of S, these are the eigenvalues of the operator [Dombry
        and Esstafa, eq. (27)]: 1 for the constant (from the mean) and 1 - exp(-mu t) for the
        others. Otherwise the mean has a part in every eigenvector, whose coefficient is 1 - exp(-mu
        t) (1 - c) with c the share of the mean; the c sum to 1.
        """
        self._refuse("eigenvalues")

    def eigenvectors(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The training rows, and eigenvectors of S on them by their index in `eigenvalues`."""
        self._refuse("eigenvectors")

    def expected_errors(
        self, f: np.ndarray, times: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Squared norms of E J f, E J and (I - E) J, for f on the training rows."""
        self._refuse("expected errors")

    def new_point_errors(
        self, X_new: np.ndarray, f: np.ndarray, f_new: np.ndarray, times: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Mean squared bias, and variance in units of sigma^2, at new points."""
        self._refuse("expected errors")

    def bias_variance(self, f: np.ndarray, sigma: float, times: np.ndarray) -> Bunch:
        """Expected errors on the training rows [Dombry and Esstafa, propositions 2.12, 2.13]."""
        squares, train, test = self.expected_errors(f, times)
        n, noise = self.total_weight, sigma**2
        of_the_mean = noise / n if self.at_mean else 0.0
        out = Bunch(bias2=squares / n)
        # A weight above 1 is that of several observations at one row, whose deviations from their
        # mean no model fits: noise of n - n_rows observations.
        out.variance_train = noise * (train + n - self.n_rows) / n
        out.variance_test = noise + of_the_mean + noise * test / n
        out.train, out.test = out.bias2 + out.variance_train, out.bias2 + out.variance_test
        return out


def _copied(rows: Rows) -> Rows:
    """Return copies, because the arrays may be the user's own."""
    X, y, weight = rows.X.copy(), rows.y.copy(), rows.weights().copy()
    return replace(rows, X=X, y=y, weight=weight, numbers=as_array(rows.numbers))


def as_array(numbers: range | np.ndarray) -> np.ndarray:
    """Return row numbers as an array: a saved model holds no type that its readers must trust."""
    return np.arange(len(numbers)) if isinstance(numbers, range) else numbers


def loo_sum(residuals: np.ndarray, leverage: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return the weighted sum of squares of r_i / (1 - h_i), infinite where h_i is 1."""
    room = 1.0 - leverage
    # Below this the residual and its divisor are both rounding errors.
    usable = room > 1e-8
    with np.errstate(over="ignore", invalid="ignore"):
        deleted = np.where(usable, residuals, np.inf) / np.where(usable, room, 1.0)
        return w @ deleted**2


class SpectralPath(BoostingPath):
    """Boosting a learner whose eigenfunctions u_j are known; see `SpectralForm`.

    Everything is a sum over the functions u_j, and no array is as long as the data.

    `moments` are D'W (y - mean) for the functions of `form.design`; `rows` are None where they are
    not in memory.
    """

    def __init__(
        self,
        form: SpectralForm,
        totals: Totals,
        moments: np.ndarray,
        start: Start,
        rows: Rows | None = None,
    ) -> None:
        super().__init__(totals, start)
        self.design, self.T, self.mu = form
        self.centred_total = self.total = totals.squares
        if not self.at_mean:
            self.total += self.total_weight * self.mean**2
        self.z = self._coordinates(moments)
        self._rows = rows
        self.eigenvalues = np.r_[1.0, np.sort(self.mu)[::-1]]

    def _coordinates(self, moments: np.ndarray) -> np.ndarray:
        # The moments of functions that vanish on the data are rounding errors, which time
        # would multiply.
        return np.where(self.mu > 1e-14, self.T.T @ moments, 0.0)

    def keep_rows(self) -> None:
        if self._rows is not None and self.n_rows > _MAX_KEPT_ROWS:
            self._rows = None
        elif self._rows is not None:
            self._rows = _copied(self._rows)

    def rows(self) -> Rows:
        if self._rows is None:
            raise ValueError(
                "This method needs the training rows, which are stored for at most "
                f"{_MAX_KEPT_ROWS} rows in memory."
            )
        return self._rows

    def stability(self) -> tuple[bool, str]:
        return stability(None, self.eigenvalues, True, self.learning_rate)

    def _filters(self, times: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """R_t and w_t for each function, and the share of the mean that is not fitted."""
        e = residual_filter(self.mu, times, self.learning_rate)
        h = weight_filter(self.mu, times, self.learning_rate)
        if self.at_mean:
            return e, h, np.zeros(len(times))
        return e, h, residual_filter(np.ones(1), times, self.learning_rate)[0]

    def summary(self, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        e, h, left = self._filters(times)
        rss = self._rss(self.z, self.centred_total, e, h)
        rss = rss + self.total_weight * (self.mean * left) ** 2
        return rss, (1.0 - e).sum(axis=0) + 1.0 - left

    def squared_residuals(self, times: np.ndarray) -> np.ndarray:
        return self.summary(times)[0]

    def degrees_of_freedom(self, times: np.ndarray) -> np.ndarray:
        return self.summary(times)[1]

    @staticmethod
    def _rss(z: np.ndarray, total: float, e: np.ndarray, h: np.ndarray) -> np.ndarray:
        # |y - U h z|^2 = |y|^2 - sum h (1 + e) z^2, since mu h = 1 - e.
        return np.maximum(total - (z**2) @ (h * (1.0 + e)), 0.0)

    def loo_error(self, times: np.ndarray) -> np.ndarray:
        known = self.rows()
        X, y, w = known.X, known.y, known.weights()
        _, h, left = self._filters(times)
        constant = 1.0 - left
        error = np.zeros(len(times))
        # The functions at all rows together would be as long as the data.
        for rows in row_blocks(*X.shape):
            U = self.design.matrix(X[rows]) @ self.T
            r = y[rows, None] - self.mean * constant - U @ (h * self.z[:, None])
            leverage = w[rows, None] * (constant / self.total_weight + U**2 @ h)
            error += loo_sum(r, leverage, w[rows])
        return error / self.total_weight

    def predictor(self, times: np.ndarray) -> AdditivePredictor:
        _, h, left = self._filters(times)
        coefficients = self.T @ (h * self.z[:, None])
        return AdditivePredictor(self.design, coefficients, self.mean * (1.0 - left))

    def coefficients(self, times: np.ndarray) -> np.ndarray:
        fitted = 1.0 - residual_filter(self.eigenvalues, times, self.learning_rate)
        if self.at_mean:
            fitted[0] = 1.0
        return fitted

    def eigenvectors(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        X = self.rows().X
        # In the order of `eigenvalues`, of which the constant's is the first.
        U = self.design.evaluate(X, self.T)[:, np.argsort(-self.mu, kind="stable")]
        U = np.column_stack([np.ones(len(X)), U])[:, indices]
        return X, U / np.linalg.norm(U, axis=0)

    def expected_errors(
        self, f: np.ndarray, times: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        known = self.rows()
        X, w = known.X, known.weights()
        e, h, left = self._filters(times)
        f_mean = float(w @ f / self.total_weight)
        centred = f - f_mean
        z = self._coordinates(self.design.moments(X, w, centred[:, None])[:, 0])
        bias = self._rss(z, float(w @ centred**2), e, h)
        live = self.mu > 1e-14
        rank = np.count_nonzero(live)
        # What no function fits keeps its noise at all times.
        train = self.n_rows - 1 - rank + (e[live] ** 2).sum(axis=0)
        test = ((1.0 - e[live]) ** 2).sum(axis=0)
        bias = bias + self.total_weight * (f_mean * left) ** 2
        if not self.at_mean:  # the mean is one more function
            train, test = train + left**2, test + (1.0 - left) ** 2
        return bias, train, test

    def new_point_errors(
        self, X_new: np.ndarray, f: np.ndarray, f_new: np.ndarray, times: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        known = self.rows()
        X, w = known.X, known.weights()
        _, h, left = self._filters(times)
        constant = 1.0 - left
        f_mean = float(w @ f / self.total_weight)
        z = self._coordinates(self.design.moments(X, w, (f - f_mean)[:, None])[:, 0])
        # The noise of z has variance mu sigma^2, as the squared length of its function is mu.
        spread = h**2 * self.mu[:, None]
        bias, variance = np.zeros(len(times)), np.zeros(len(times))
        for rows in row_blocks(*X_new.shape):
            U = self.design.matrix(X_new[rows]) @ self.T
            gap = f_new[rows, None] - f_mean * constant - U @ (h * z[:, None])
            bias += (gap**2).sum(axis=0)
            variance += (U**2 @ spread).sum(axis=0)
        return bias / len(X_new), variance / len(X_new) + constant**2 / self.total_weight


class MatrixPath(BoostingPath):
    """Boosting any linear learner through its n x n matrix.

    The learner itself is for predictions at other points.
    """

    def __init__(
        self, form: MatrixForm, rows: Rows, start: Start, learner: AveragedLearner
    ) -> None:
        y, w = rows.y, rows.weights()
        super().__init__(Totals.of(y, w), start)
        self._rows = replace(rows, numbers=as_array(rows.numbers))
        self.learner, self.weight = learner, w
        # In coordinates with equal noise; a metric of S is one of S~ when divided by the weights.
        self.root = np.sqrt(w)
        scaled = form.matrix * self.root[:, None] / self.root
        metric = None if form.metric is None else form.metric / w
        self.operator = operator(scaled, self.learning_rate, metric)
        # Only the Jordan blocks of a matrix that is not symmetric are looked for in it.
        self.S = None if self.operator.symmetric else scaled
        self.eigenvalues = self.operator.mu
        self.q = self.root / np.sqrt(self.total_weight) if self.at_mean else None
        self.start = self.root * (y - self.mean if self.at_mean else y)
        self.total = float(self.start @ self.start)

    def rows(self) -> Rows:
        return self._rows

    def stability(self) -> tuple[bool, str]:
        return stability(self.S, self.eigenvalues, self.operator.symmetric, self.learning_rate)

    def squared_residuals(self, times: np.ndarray) -> np.ndarray:
        return self.operator.squared_residuals(self.start, times)

    def degrees_of_freedom(self, times: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore", invalid="ignore"):
            # The trace of I - E (I - qq').
            df = self.n_rows - self.operator.trace(times)
            if self.q is not None:
                df = df + self.operator.form(self.q, times)  # 1 - q'(I - E)q
        return df

    def loo_error(self, times: np.ndarray) -> np.ndarray:
        residuals = self.operator.residuals(self.start, times) / self.root[:, None]
        with np.errstate(over="ignore", invalid="ignore"):
            leverage = 1.0 - self.operator.diagonal(times)
            if self.q is not None:
                # The diagonal of qq' less that of (I - E) qq': what the mean adds to the leverage.
                moved = self.q[:, None] - self.operator.residuals(self.q, times)
                leverage = leverage + self.q[:, None] ** 2 - moved * self.q[:, None]
        return loo_sum(residuals, leverage, self.weight) / self.total_weight

    def predictor(self, times: np.ndarray) -> AveragePredictor:
        # The sum over rounds of the residuals times the learning rate: as the learner is linear,
        # one fit to it has the outputs of all rounds.
        weights = self.operator.weights(self.start, times) / self.root[:, None]
        if not np.isfinite(weights).all():
            raise ValueError("estimator is unstable, and its weights overflow at these times.")
        return AveragePredictor(self.learner, weights, self.mean if self.at_mean else 0.0)

    def _constant_indices(self) -> np.ndarray:
        """The indices of the constant's eigenvalue; empty where it is not an eigenvector of S.

        More than one where the eigenvalue is repeated: the first is taken for the constant's.
        """
        q = self.root / np.linalg.norm(self.root)
        # The constant is q in these coordinates; most smoothers reproduce it.
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
            # Gram-Schmidt from q on spans the same eigenspace, with q as its first vector.
            rotation = np.linalg.qr(np.column_stack([q, np.eye(len(q))]))[0]
            U = U.copy()
            U[:, constant] = cluster @ rotation
        U = U[:, indices].real / self.root[:, None]
        return self._rows.X, U / np.linalg.norm(U, axis=0)

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
        # One time at a time: the rows of all times together would be a cube.
        for k, rows in enumerate(self.operator.prediction_rows(G, times, self.q)):
            bias[k] = np.mean((f_new - f_mean - rows @ start) ** 2)
            variance[k] = np.mean((rows**2).sum(axis=1))
        return bias, variance + (1.0 / self.total_weight if self.at_mean else 0.0)


# --- from the fit of an estimator -----------------------------------------------------------------


class InitialFit(NamedTuple):
    """The estimator that boosting starts from, not fitted.

    `weight_keyword` is the parameter by which it takes weights, None where it gets none; `n_jobs`
    is for the fits to unit vectors.
    """

    estimator: Any
    weight_keyword: str | None
    n_jobs: int | None

    def params(self, rows: Rows) -> dict[str, np.ndarray]:
        return {} if self.weight_keyword is None else {self.weight_keyword: rows.weights()}

    def residuals(self, rows: Rows) -> tuple[Any, Rows]:
        """Return a fitted clone, and the rows with its residuals as targets."""
        with threads_for(len(rows) ** 3):  # what a smoother costs at most
            fitted = fitted_clone(self.estimator, rows.X, rows.y, **self.params(rows))
        return fitted, replace(rows, y=rows.y - outputs_of(fitted, rows.X))

    def matrix(self, rows: Rows, X: np.ndarray | None = None) -> np.ndarray:
        """S_0, its outputs on the unit vectors, at the rows or at those of X."""
        keyword, everything = self.weight_keyword, [(None, None)]
        weight = np.ones(len(rows.y)) if keyword is None else rows.weights()
        learner = AveragedLearner(self.estimator, rows.X, weight, keyword, everything, self.n_jobs)
        return learner.outputs(X)


def outputs_of(fitted: Regressor, X: np.ndarray) -> np.ndarray:
    """The predictions of the initial estimator; a ValueError unless they are finite numbers."""
    values = np.asarray(checked_outputs(fitted.predict(X), fitted, X), np.float64).reshape(-1)
    if values.shape != (len(X),) or not np.isfinite(values).all():
        raise ValueError(
            f"init={type(fitted).__name__} must predict one finite number for each row."
        )
    return values


class InitialFitPredictor:
    """The initial fit plus boosting from zero, in units of `scale`; a column for each time."""

    def __init__(self, boosted: Predictor, fitted: Regressor, scale: float) -> None:
        self.boosted, self.fitted, self.scale = boosted, fitted, scale

    def after(self, rounds: Sequence[int]) -> "InitialFitPredictor":
        """Return the same after other numbers of random rounds."""
        assert isinstance(self.boosted, RoundsPredictor)
        return InitialFitPredictor(self.boosted.after(rounds), self.fitted, self.scale)

    def predict(self, X: np.ndarray) -> np.ndarray:
        start = outputs_of(self.fitted, X) / self.scale
        return start[:, None] + self.boosted.predict(X)

    def component(self, j: int, x: np.ndarray) -> np.ndarray:
        """Return what boosting adds in feature j."""
        return self.boosted.component(j, x)

    @property
    def is_centred(self) -> bool:
        self._refuse()

    @property
    def constant(self) -> float:
        self._refuse()

    @staticmethod
    def _refuse() -> NoReturn:
        raise AttributeError(
            "With an estimator as init, predictions are not a constant plus the terms of the "
            "features; `component` returns what boosting adds to init_."
        )


class InitialFitPath(BoostingPath):
    """The path from an initial fit [Dombry and Esstafa, theorem 2.7].

    With Z_0 the initial fit, F_t = Z_0 + (`boosted`, the path from zero for the residuals y - Z_0).
    Fitted values, errors and predictions need no more than that. If Z_0 is linear in y, with matrix
    S_0, the operator that maps y to the fitted values is I - E_t J with J = I - S_0, the form that
    the path from the mean has for J = I - qq'. Degrees of freedom, deleted residuals and expected
    errors follow from it. J is dense, so that they need the n x n matrix of the learner: `dense`
    makes `boosted` with it when one of them is first asked for; it is None where there is none.

    `fitted` is in units of y, `residuals`, the rows of `boosted`, in units of `scale`.
    """

    def __init__(
        self,
        boosted: BoostingPath,
        initial: InitialFit,
        fitted: Regressor,
        residuals: Rows,
        scale: float,
        dense: Callable[[], MatrixPath] | None,
    ) -> None:
        start = outputs_of(fitted, residuals.X) / scale
        rows = replace(residuals, y=residuals.y + start)
        totals = Totals.of(rows.y, rows.weights())
        super().__init__(totals, Start(False, boosted.learning_rate))
        self.boosted, self.initial, self.fitted = boosted, initial, fitted
        self.scale, self.dense, self._rows = scale, dense, rows
        self.eigenvalues, self.total = boosted.eigenvalues, boosted.total
        self.default_rounds = boosted.default_rounds
        self._started: tuple[MatrixPath, np.ndarray] | None = None

    # What follows from the path for the residuals.

    def stability(self) -> tuple[bool, str]:
        return self.boosted.stability()

    def squared_residuals(self, times: np.ndarray) -> np.ndarray:
        return self.boosted.squared_residuals(times)

    def predictor(self, times: np.ndarray) -> InitialFitPredictor:
        return InitialFitPredictor(self.boosted.predictor(times), self.fitted, self.scale)

    def selection(self, time: float) -> tuple[np.ndarray, np.ndarray]:
        return self.boosted.selection(time)

    def eigenvectors(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.boosted.eigenvectors(indices)

    def rows(self) -> Rows:
        return self.boosted.rows()

    def keep_rows(self) -> None:
        self.boosted.keep_rows()
        if self.dense is not None:
            self._rows = _copied(self._rows)

    # What needs the operator I - E J.

    def _operator(self) -> tuple[MatrixPath, np.ndarray]:
        """Return the learner's matrix path, and J for rows times the roots of their weights."""
        if self.dense is None:
            raise ValueError(
                "With variant='best_feature' and an estimator as init there are no degrees of "
                "freedom and no expected errors. Use time='cv', time=Discrepancy(noise_level) or a "
                "number as time."
            )
        if self._started is None:
            check_dense_rows(self.n_rows, f"from init={type(self.initial.estimator).__name__}")
            rows, estimator = self._rows, self.initial.estimator
            start = outputs_of(self.fitted, rows.X) / self.scale
            refusal = (
                f"init={type(estimator).__name__} is not linear in y, so that degrees of freedom, "
                "deleted residuals and expected errors are not defined. Use time='cv', "
                "time=Discrepancy(noise_level) or a number as time."
            )
            try:
                check_linear(estimator, rows.X, self.initial.params(rows))
            except NotLinearError as error:
                raise ValueError(refusal) from error
            S0 = self.initial.matrix(rows)
            # A regressor that passed may still draw random parts, so that S_0 is not the matrix of
            # this fit.
            gap = np.abs(S0 @ rows.y - start).max()
            if not gap <= _SAME_FIT * np.abs(rows.y).max():
                raise ValueError(refusal)
            path = self.dense()
            self._started = path, np.eye(len(start)) - S0 * path.root[:, None] / path.root
        return self._started

    def degrees_of_freedom(self, times: np.ndarray) -> np.ndarray:
        path, J = self._operator()
        with np.errstate(over="ignore", invalid="ignore"):
            return self.n_rows - path.operator.trace(times, J)

    def loo_error(self, times: np.ndarray) -> np.ndarray:
        path, J = self._operator()
        residuals = path.operator.residuals(path.start, times) / path.root[:, None]
        with np.errstate(over="ignore", invalid="ignore"):
            leverage = 1.0 - path.operator.diagonal(times, J)
        return loo_sum(residuals, leverage, path.weight) / self.total_weight

    def coefficients(self, times: np.ndarray) -> np.ndarray:
        raise ValueError(
            "With an estimator as init the boosting operator is not diagonal in the eigenvectors "
            "of the learner."
        )

    def expected_errors(
        self, f: np.ndarray, times: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        path, J = self._operator()
        bias = path.operator.squared_residuals(J @ (path.root * f), times)
        left = path.operator.squared_norms(times, J)[0]
        with np.errstate(over="ignore", invalid="ignore"):
            # |I - E J|^2: the noise of the initial fit is in it.
            fitted = self.n_rows - 2.0 * path.operator.trace(times, J) + left
        return bias, left, fitted

    def new_point_errors(
        self, X_new: np.ndarray, f: np.ndarray, f_new: np.ndarray, times: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        path, J = self._operator()
        G = path.learner.outputs(X_new) / path.root
        G0 = self.initial.matrix(self._rows, X_new) / path.root
        bias, variance = np.empty(len(times)), np.empty(len(times))
        # A prediction is the initial fit's row plus that of boosting its residuals, which J takes
        # of y.
        for k, boosted in enumerate(path.operator.prediction_rows(G, times, J)):
            rows = G0 + boosted
            bias[k] = np.mean((f_new - rows @ (path.root * f)) ** 2)
            variance[k] = np.mean((rows**2).sum(axis=1))
        return bias, variance
