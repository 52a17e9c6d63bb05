"""Smoothing splines, one feature or an additive model (002, example 2.4)."""

import math
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from scipy.optimize import brentq
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from sklearn_ensemble_theory._compat import Interval, StrOptions, check_sample_weight, fit_context
from sklearn_ensemble_theory._numerics.ties import collapse_rows
from sklearn_ensemble_theory.smoothing._spline.additive import (
    feature_factors,
    joint_form,
    single_form,
)
from sklearn_ensemble_theory.smoothing._spline.basis import penalty_for_df

__all__ = ["SmoothingSplineRegressor"]

DENSE_ROWS = 5000
"""Above this many rows no n x n matrix is built."""

_PILOT_DF = 5.0
"""With several features and `penalty="gcv"`, their penalties keep the ratio that gives every
feature's own spline this many degrees of freedom; their common factor is chosen."""


class SmoothingSplineRegressor(RegressorMixin, BaseEstimator):
    r"""Smoothing splines: least squares with a penalty on the r-th derivative.

    Minimises, over f = constant + f_1(x_1) + ... + f_p(x_p),

    .. math:: \sum_i w_i (Y_i - f(x_i))^2 + \sum_j \nu_j \int f_j^{(r)}(u)^2 \, du

    (002, example 2.4, for one feature). The f_j are splines of degree 2r - 1 with a knot at every
    distinct value, or at quantiles of the distinct values when those are many. Outside the range
    of the training data each f_j continues linearly (as a constant for r = 1).

    Parameters
    ----------
    df : float, default=None
        Degrees of freedom of each feature's own spline, the constant included: between `order` (a
        polynomial of degree `order` - 1) and the number of distinct values (an interpolation);
        numbers above the latter mean the latter. When given, it sets the penalty.
    penalty : "gcv" or float, default="gcv"
        Used when `df` is None. A number is the nu of the formula, the same for all features, in
        units of weight times (units of the feature)^(2r-1). `"gcv"` minimises the generalised
        cross-validation score over one factor common to all features; the rows that share all
        their features count as one observation there, their weighted mean.
    order : int, default=2
        The r of the formula; 2 is the cubic spline.
    max_knots : "auto" or int, default="auto"
        Most knots a feature. `"auto"`: 200 for up to 3 features, 600 / n_features for more, never
        fewer than 20.

    Attributes
    ----------
    penalties_ : ndarray of shape (n_features,)
        The nu of each feature, in the units above.
    degrees_of_freedom_ : float
        The trace of the smoother matrix.
    eigenvalues_ : ndarray
        The eigenvalues of the smoother matrix that are not zero, largest first. The first one is
        the constant's.
    intercept_ : float or ndarray of shape (n_outputs,)
        The weighted mean of y; the f_j have mean zero over the training rows.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)

    Raises
    ------
    ValueError
        If `df` is below `order`, or the range of a feature overflows.

    See Also
    --------
    NadarayaWatsonRegressor : local averages in any dimension, with interactions.
    LinearL2BoostingRegressor : boosts this one in closed form.

    Notes
    -----
    With K knots in all: O(n log n) to sort, O(n) products of r-th order B-splines, and O(K^3) for
    one decomposition. No matrix has n rows and columns.

    References
    ----------
    C. Dombry and Y. Esstafa, "Behavior of linear L2-boosting algorithms in the vanishing learning
    rate asymptotic", example 2.4; A. Demmler and C. Reinsch (1975) for the basis.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_ensemble_theory import SmoothingSplineRegressor
    >>> X = np.linspace(0, 1, 100)[:, None]
    >>> y = np.sin(6 * X[:, 0])
    >>> model = SmoothingSplineRegressor(df=8).fit(X, y)
    >>> float(round(model.degrees_of_freedom_, 6))
    8.0
    >>> model.predict([[0.25]]).round(2)
    array([0.99])
    """

    _parameter_constraints: ClassVar[dict] = {
        "df": [Interval(Real, 1, None, closed="left"), None],
        "penalty": [Interval(Real, 0, None, closed="left"), StrOptions({"gcv"})],
        "order": [Interval(Integral, 1, 5, closed="both")],
        "max_knots": [Interval(Integral, 2, None, closed="left"), StrOptions({"auto"})],
    }

    def __init__(self, df=None, *, penalty="gcv", order=2, max_knots="auto"):
        self.df = df
        self.penalty = penalty
        self.order = order
        self.max_knots = max_knots

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_coefficients")

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Fit the splines.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), default=None
            A weight of 2 is a row written twice.

        Returns
        -------
        self
        """
        if self.df is not None and self.df < self.order:
            raise ValueError(
                f"df={self.df} is below order={self.order}, the degrees of freedom of a "
                "polynomial that is not penalised at all."
            )
        X, y = validate_data(self, X, y, dtype=np.float64, multi_output=True, y_numeric=True)
        w = check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if not w.any():
            raise ValueError("sample_weight is zero for every row.")
        if not w.all():
            X, y, w = X[w > 0], y[w > 0], w[w > 0]
        flat, Y = y.ndim == 1, y.astype(np.float64, copy=False).reshape(len(y), -1)
        # In units of the largest |y|, so that squares neither overflow nor vanish.
        scale = np.abs(Y).max() or 1.0
        Y = Y / scale
        mean = w @ Y / w.sum()
        Y -= mean
        form, penalties, z = self._diagonalise(X, w, Y)
        s = form.shrinkage(1.0)
        self.penalties_ = penalties
        self.eigenvalues_ = np.r_[1.0, np.sort(form.gamma * s)[::-1]]
        self.degrees_of_freedom_ = float(self.eigenvalues_.sum())
        self.intercept_ = mean[0] * scale if flat else mean * scale
        self._design, self._flat = form.design, flat
        small = len(X) <= DENSE_ROWS
        self._training = (X, w, form) if small else None
        self._coefficients = form.T @ (s[:, None] * z) * scale
        return self

    def _diagonalise(self, X, w, Y=None):
        """The form at the chosen penalties (factor 1), the penalties, and the moments of Y."""
        with np.errstate(over="ignore"):
            if not np.isfinite(X.max(axis=0) - X.min(axis=0)).all():
                raise ValueError("The range of a feature of X overflows; scale X.")
        p = X.shape[1]
        max_knots = self.max_knots
        if max_knots == "auto":
            max_knots = 200 if p <= 3 else max(20, min(200, 600 // p))
        target = self.df if self.df is not None else _PILOT_DF
        factors = [feature_factors(X[:, j], w, self.order, max_knots, target) for j in range(p)]
        if self.df is not None or self.penalty == "gcv":
            scaled = [penalty_for_df(f, target) for f in factors]
        else:
            scaled = [_on_unit_interval(self.penalty, f.basis) for f in factors]
        chosen = self.df is None and self.penalty == "gcv"
        if chosen:  # a penalty of zero or infinity has no multiples to choose among
            scaled = [nu if 0 < nu < math.inf else f.theta for nu, f in zip(scaled, factors)]
        if p == 1:
            form = single_form(factors[0], w, scaled[0])
        else:
            form = joint_form(factors, scaled, X, w)
        z = None if Y is None else form.project(X, w, Y)
        if chosen:
            distinct, means, weights, _ = collapse_rows(X, Y, w)
            total = float((weights[:, None] * means**2).sum())
            kappa = gcv_factor(form, z, total, len(distinct))
            scaled = [nu * kappa for nu in scaled]
            if p == 1:
                form = single_form(factors[0], w, scaled[0])
            else:  # once more, because the numbers are most accurate at a factor near 1
                form = joint_form(factors, scaled, X, w)
                z = form.project(X, w, Y)
        penalties = [_in_own_units(nu, f.basis) for nu, f in zip(scaled, factors)]
        return form, np.array(penalties), z

    def predict(self, X):
        """Evaluate the splines.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        out = self._design.evaluate(X, self._coefficients) + self.intercept_
        return out[:, 0] if self._flat else out

    def smoother_matrix(self, X=None):
        """The matrix that maps the training targets to predictions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), default=None
            Where to predict; the training rows by default.

        Returns
        -------
        S : ndarray of shape (n_samples, n_training_rows)
            Training rows of weight zero do not appear.

        Raises
        ------
        ValueError
            If there were more than 5,000 training rows.
        """
        check_is_fitted(self)
        if self._training is None:
            raise ValueError(f"The smoother matrix is built for at most {DENSE_ROWS} rows.")
        X_train, w, form = self._training
        if X is None:
            X = X_train
        else:
            X = validate_data(self, X, dtype=np.float64, reset=False)
        right = form.design.evaluate(X_train, form.T * form.shrinkage(1.0))
        S = form.design.evaluate(X, form.T) @ (w[:, None] * right).T
        return S + w / w.sum()

    def _check_linear(self):
        """Refuse to be taken for linear in y where it is not."""
        if self.df is None and self.penalty == "gcv":
            raise ValueError(
                "SmoothingSplineRegressor with penalty='gcv' is not linear in y: the penalty "
                "depends on y. Give df or penalty a number."
            )
        if self.df is not None and self.df < self.order:
            raise ValueError(f"df={self.df} is below order={self.order}.")

    def _centred_form(self, X, sample_weight):
        """What boosting needs to know: S = 1 1'W / sum(w) + Phi diag(s) Phi'W, without y."""
        return self._diagonalise(X, sample_weight)[0]


def _on_unit_interval(penalty, basis):
    """nu for a feature mapped to [0, 1]: integrals of squared r-th derivatives scale so."""
    if basis.knots is None or penalty == 0:
        return 0.0
    with np.errstate(over="ignore", under="ignore"):
        return float(
            np.exp(np.log(np.float64(penalty)) - (2 * basis.order - 1) * np.log(basis.width))
        )


def _in_own_units(penalty, basis):
    if basis.knots is None or penalty == 0:
        return 0.0
    with np.errstate(over="ignore", under="ignore"):
        return float(
            np.exp(np.log(np.float64(penalty)) + (2 * basis.order - 1) * np.log(basis.width))
        )


def gcv_factor(form, z, total, n):
    """The factor of the penalty that minimises generalised cross-validation.

    The n observations are the distinct rows, each the mean of its copies with their total weight:
    else weights, or rows written twice, would pass for proof that there is no noise.

    A grid finds the valley and a root of the derivative the bottom of it. Fits with more than
    99 % of n degrees of freedom, where the score is 0/0, are not considered.
    """
    live = (form.gamma > 0) & (form.roughness > 0)
    gamma, rho = form.gamma[live], form.roughness[live]
    if not len(gamma) or total == 0.0:
        return math.inf
    explained = (z**2).sum(axis=1)
    # Residual of the unpenalised fit: what no penalty can reach.
    reach = np.divide(explained, form.gamma, out=np.zeros_like(explained), where=form.gamma > 0)
    floor = max(total - reach.sum(), 0.0)
    weight = reach[live]
    base_df = 1.0 + np.count_nonzero(form.gamma) - len(gamma)

    def parts(log_kappa):
        ratio = np.exp(log_kappa) * rho
        left = ratio / (gamma + ratio)  # 1 - gamma s
        rss = floor + (weight * left**2).sum()
        df = base_df + (1.0 - left).sum()
        slope = left * (1.0 - left)  # d left / d log kappa
        return rss, df, 2.0 * (weight * left * slope).sum(), -slope.sum()

    def score(log_kappa):
        rss, df, _, _ = parts(log_kappa)
        return rss / (n - df) ** 2 if df <= 0.99 * n else math.inf

    def derivative(log_kappa):
        rss, df, d_rss, d_df = parts(log_kappa)
        return d_rss * (n - df) + 2.0 * rss * d_df

    odds = np.log(gamma) - np.log(rho)
    grid = np.linspace(max(odds.min() - 5.0, -60.0), min(odds.max() + 10.0, 60.0), 200)
    scores = np.array([score(g) for g in grid])
    if not np.isfinite(scores).any():
        return math.inf
    best = int(np.argmin(scores))
    if 0 < best < len(grid) - 1 and derivative(grid[best - 1]) < 0 < derivative(grid[best + 1]):
        return math.exp(brentq(derivative, grid[best - 1], grid[best + 1], xtol=1e-13))
    return math.exp(grid[best])
