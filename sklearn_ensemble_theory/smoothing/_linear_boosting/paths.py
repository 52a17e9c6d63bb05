"""Boosting a linear learner as a motion in time: fitted values, errors, expectations.

Both classes work in coordinates in which the weighted rows have equal noise, r~ = sqrt(w) r: there

    residuals R~_t = E_t J Y~      with E_t = exp(-t S~) or (I - lambda S~)^floor(t / lambda),

J = I - qq' when boosting starts from the weighted mean (q the unit vector along sqrt(w)) and J = I
when it starts from zero. `DenseDynamics` holds S~ itself; `LowRankDynamics` holds the functions
u_j with S = 1 1'W / sum(w) + U U'W and U'W U = diag(mu), and nothing that is as long as the data.
"""

import numpy as np
import scipy.linalg

from sklearn_ensemble_theory.smoothing._linear_boosting.operators import operator
from sklearn_ensemble_theory.smoothing._linear_boosting.spectral import (
    residual_filter,
    weight_filter,
)
from sklearn_ensemble_theory.smoothing._linear_boosting.stability import stability
from sklearn_ensemble_theory.smoothing._spline.additive import AdditiveDesign, chunks

__all__ = ["DenseDynamics", "LowRankDynamics", "random_coordinate_form"]


class LowRankDynamics:
    """Boosting an additive spline learner: everything is a sum over the functions u_j.

    Parameters
    ----------
    design : AdditiveDesign
    T : coefficients of the u_j, centred on the training rows
    mu : their eigenvalues
    X, y, w : the training rows
    """

    symmetric = True

    def __init__(self, design, T, mu, X, y, w, init_mean, learning_rate):
        self.design, self.T, self.mu = design, T, mu
        self.init_mean, self.learning_rate = init_mean, learning_rate
        self.n_rows, self.n = len(y), float(w.sum())
        self.mean = float(w @ y / self.n)
        centred = y - self.mean
        self.total = float(w @ centred**2)
        self.z = self._project(X, w, centred)
        self._rows = (X, y, w)
        self.eigenvalues = np.r_[1.0, np.sort(mu)[::-1]]

    def keep_rows(self, keep):
        """Own copies of the training rows, or none: only expectations ask for them later."""
        self._rows = tuple(a.copy() for a in self._rows) if keep else None

    def stability(self):
        return stability(None, self.eigenvalues, True, self.learning_rate)

    def _project(self, X, w, y):
        z = self.T.T @ self.design.moments(X, w, y[:, None])[:, 0]
        # Functions that vanish on the data have no moments but rounding errors, which time
        # would multiply.
        return np.where(self.mu > 1e-14, z, 0.0)

    def _filters(self, times):
        e = residual_filter(self.mu, times, self.learning_rate)
        h = weight_filter(self.mu, times, self.learning_rate)
        return e, h, residual_filter(np.ones(1), times, self.learning_rate)[0]

    def summary(self, times):
        """Residual sum of squares and degrees of freedom at each time."""
        e, h, e1 = self._filters(times)
        rss = self._rss(self.z, self.total, e, h)
        df = (1.0 - e).sum(axis=0) + 1.0
        if not self.init_mean:
            rss, df = rss + self.n * (self.mean * e1) ** 2, df - e1
        return rss, df

    def squared_residuals(self, times):
        return self.summary(times)[0]

    def degrees_of_freedom(self, times):
        return self.summary(times)[1]

    @staticmethod
    def _rss(z, total, e, h):
        # |y - U h z|^2 = |y|^2 - sum h (1 + e) z^2, since mu h = 1 - e.
        return np.maximum(total - (z**2) @ (h * (1.0 + e)), 0.0)

    def loo_error(self, times):
        X, y, w = self._rows
        _, h, e1 = self._filters(times)
        constant = 1.0 if self.init_mean else 1.0 - e1
        error = np.zeros(len(times))
        for rows in chunks(len(y)):
            U = self.design.matrix(X[rows]) @ self.T
            r = y[rows, None] - self.mean * constant - U @ (h * self.z[:, None])
            leverage = w[rows, None] * (constant / self.n + U**2 @ h)
            error += _loo_sum(r, leverage, w[rows])
        return error / self.n

    def predictor(self, times):
        _, h, e1 = self._filters(times)
        constant = np.ones(len(times)) if self.init_mean else 1.0 - e1
        coefficients = self.T @ (h * self.z[:, None])
        return AdditivePredictor(self.design, coefficients, self.mean * constant)

    def coefficients(self, times):
        """What the boosting operator makes of each eigenvector, counted as in `eigenvalues`."""
        filtered = 1.0 - residual_filter(self.eigenvalues, times, self.learning_rate)
        if self.init_mean:
            filtered[0] = 1.0  # the mean is there from the start
        return filtered

    def eigenvectors(self, indices):
        """The training rows, and eigenvectors of S on them, counted as in `eigenvalues`."""
        if self._rows is None:
            raise ValueError("The model was fitted to too many rows to keep them.")
        X = self._rows[0]
        U = self.design.evaluate(X, self.T)[:, np.argsort(-self.mu, kind="stable")]
        U = np.column_stack([np.ones(len(X)), U])[:, indices]
        return X, U / np.linalg.norm(U, axis=0)

    def expected_errors(self, f, times):
        """Squared norms of E J f and of E J, (I - E) J, for f on the training rows."""
        X, _, w = self._rows
        e, h, e1 = self._filters(times)
        f_mean = float(w @ f / self.n)
        centred = f - f_mean
        bias = self._rss(self._project(X, w, centred), float(w @ centred**2), e, h)
        live = self.mu > 1e-14
        rank = np.count_nonzero(live)
        train = self.n_rows - 1 - rank + (e[live] ** 2).sum(axis=0)
        test = ((1.0 - e[live]) ** 2).sum(axis=0)
        if not self.init_mean:
            bias, train, test = (
                bias + self.n * (f_mean * e1) ** 2,
                train + e1**2,
                test + (1 - e1) ** 2,
            )
        return bias, train, test

    def new_point_errors(self, X_new, f, f_new, times):
        """Mean squared bias, and variance in units of sigma^2, at new points."""
        X, _, w = self._rows
        _, h, e1 = self._filters(times)
        constant = np.ones(len(times)) if self.init_mean else 1.0 - e1
        f_mean = float(w @ f / self.n)
        z = self._project(X, w, f - f_mean)
        spread = h**2 * self.mu[:, None]
        bias, variance = np.zeros(len(times)), np.zeros(len(times))
        for rows in chunks(len(X_new)):
            U = self.design.matrix(X_new[rows]) @ self.T
            gap = f_new[rows, None] - f_mean * constant - U @ (h * z[:, None])
            bias += (gap**2).sum(axis=0)
            variance += (U**2 @ spread).sum(axis=0)
        return bias / len(X_new), variance / len(X_new) + constant**2 / self.n


def random_coordinate_form(forms, X, w):
    """The average of one-feature smoothers, S-bar = (1/p) sum_j S_j (002, example 3.3).

    Each S_j = 11'W/sum(w) + Psi_j Psi_j'W. The eigenvalues of the average beside the constant's are
    those of the cross products of all Psi_j / sqrt(p).
    """
    design = AdditiveDesign(tuple(form.design.bases[0] for form in forms))
    blocks = [form.T * np.sqrt(form.shrinkage(1.0) / len(forms)) for form in forms]
    gram = design.gram(X, w)
    columns = design.slices
    C = np.block(
        [[a.T @ gram[i, j] @ b for b, j in zip(blocks, columns)] for a, i in zip(blocks, columns)]
    )
    mu, V = scipy.linalg.eigh((C + C.T) / 2, check_finite=False, overwrite_a=True)
    ends = np.cumsum([0, *(b.shape[1] for b in blocks)])
    T = np.vstack([b @ V[s:e] for b, s, e in zip(blocks, ends[:-1], ends[1:])])
    return design, T, np.clip(mu, 0.0, 1.0)


class AdditivePredictor:
    """constant + design(x) @ coefficients, one column a time."""

    def __init__(self, design, coefficients, constants):
        self.design, self.coefficients, self.constants = design, coefficients, constants

    def predict(self, X):
        return self.design.evaluate(X, self.coefficients) + self.constants

    def component(self, j, x):
        """Feature j's part at x, shape (len(x), number of times)."""
        block = self.coefficients[self.design.slices[j]]
        return AdditiveDesign((self.design.bases[j],)).evaluate(x[:, None], block)


class DenseDynamics:
    """Boosting any linear learner through its n x n matrix."""

    def __init__(self, bank, S, metric, y, w, init_mean, learning_rate):
        self.bank, self.y, self.w = bank, y, w
        self.init_mean, self.learning_rate = init_mean, learning_rate
        self.n_rows, self.n = len(y), float(w.sum())
        self.mean = float(w @ y / self.n)
        self.root = np.sqrt(w)
        scaled = S * self.root[:, None] / self.root
        self.operator = operator(scaled, learning_rate, None if metric is None else metric / w)
        self.S = None if self.operator.symmetric else scaled
        self.symmetric = self.operator.symmetric
        self.eigenvalues = self.operator.mu
        self.q = self.root / np.sqrt(self.n) if init_mean else None
        self.start = self.root * (y - self.mean if init_mean else y)
        self.total = float(self.start @ self.start)

    def keep_rows(self, keep):
        """The bank owns the rows; predictions at other times need them."""

    def stability(self):
        return stability(self.S, self.eigenvalues, self.symmetric, self.learning_rate)

    def summary(self, times):
        return self.squared_residuals(times), self.degrees_of_freedom(times)

    def squared_residuals(self, times):
        return self.operator.squared_residuals(self.start, times)

    def degrees_of_freedom(self, times):
        with np.errstate(over="ignore", invalid="ignore"):
            df = self.n_rows - self.operator.trace(times)
            if self.init_mean:
                df = df + self.operator.form(self.q, times)  # 1 - q'(I - E)q
        return df

    def loo_error(self, times):
        residuals = self.operator.residuals(self.start, times) / self.root[:, None]
        with np.errstate(over="ignore", invalid="ignore"):
            leverage = 1.0 - self.operator.diagonal(times)
            if self.init_mean:
                moved = self.q[:, None] - self.operator.residuals(self.q, times)
                leverage = leverage + self.q[:, None] ** 2 - moved * self.q[:, None]
        return _loo_sum(residuals, leverage, self.w) / self.n

    def predictor(self, times):
        weights = self.operator.weights(self.start, times) / self.root[:, None]
        if not np.isfinite(weights).all():
            raise ValueError("The learner is unstable and its weights overflow at these times.")
        constant = self.mean if self.init_mean else 0.0
        return BankPredictor(self.bank.fit(weights), constant)

    def coefficients(self, times):
        return 1.0 - residual_filter(self.eigenvalues, times, self.learning_rate)

    def eigenvectors(self, indices):
        right = getattr(self.operator, "right", None)
        if right is None:
            raise ValueError("The learner's matrix has no basis of eigenvectors.")
        U = right[:, indices].real / self.root[:, None]
        return self.bank.X, U / np.linalg.norm(U, axis=0)

    def expected_errors(self, f, times):
        start = self.root * (f - self.w @ f / self.n if self.init_mean else f)
        bias = self.operator.squared_residuals(start, times)
        return bias, *self.operator.squared_norms(times, self.q)

    def new_point_errors(self, X_new, f, f_new, times):
        G = self.bank.hat(X_new) / self.root
        f_mean = self.w @ f / self.n if self.init_mean else 0.0
        start = self.root * (f - f_mean)
        bias, variance = np.empty(len(times)), np.empty(len(times))
        for k, rows in enumerate(self.operator.prediction_rows(G, times, self.q)):
            bias[k] = np.mean((f_new - f_mean - rows @ start) ** 2)
            variance[k] = np.mean((rows**2).sum(axis=1))
        return bias, variance + (1.0 / self.n if self.init_mean else 0.0)


class BankPredictor:
    """constant + the average of fitted learners, one column a time."""

    def __init__(self, fitted, constant):
        self.fitted, self.constant = fitted, constant

    def predict(self, X):
        return self.constant + self.fitted.predict(X)

    def component(self, j, x):
        """Feature j's part at x: its learner's output over the number of features."""
        learner, _ = self.fitted.fitted[j]
        return learner.predict(x[:, None]) / len(self.fitted.fitted)


def _loo_sum(residuals, leverage, w):
    room = 1.0 - leverage
    usable = room > 1e-8
    with np.errstate(over="ignore", invalid="ignore"):
        deleted = np.where(usable, residuals, np.inf) / np.where(usable, room, 1.0)
        return w @ deleted**2
