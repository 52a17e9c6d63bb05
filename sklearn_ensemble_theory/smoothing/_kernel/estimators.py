"""The Nadaraya-Watson estimator: a local average with kernel weights (002, example 2.3)."""

from numbers import Real
from typing import ClassVar

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.validation import check_is_fitted, validate_data

from sklearn_ensemble_theory._compat import Interval, StrOptions, check_sample_weight, fit_context
from sklearn_ensemble_theory.smoothing._kernel.kernel_functions import (
    COMPACT_KERNELS,
    KERNELS,
    compact_weights,
    gaussian_weights,
    kernel_value,
    scott_bandwidth,
)

__all__ = ["NadarayaWatsonRegressor"]

DENSE_ROWS = 5000
"""Above this many rows no n x n matrix is built."""

_CHUNK = 2_000_000
"""Numbers in one block of weights."""

_LOO_ROWS = 1000
"""The bandwidth's leave-one-out error is measured at this many rows, evenly spread, at most."""


class NadarayaWatsonRegressor(RegressorMixin, BaseEstimator):
    r"""Kernel regression: the average of y over the neighbourhood of x, weighted by a kernel.

    .. math:: L(x) = \frac{\sum_i w_i K(|(x - x_i) / h|) Y_i}{\sum_i w_i K(|(x - x_i) / h|)}

    (002, example 2.3), with a bandwidth h a feature. It is linear in y, and its matrix is similar
    to a symmetric one, so `LinearL2BoostingRegressor` boosts it in closed form.

    Outside the range of the training points, the prediction continues linearly from the nearest
    point of their bounding box, with the slope that the average has there.

    Parameters
    ----------
    bandwidth : "scott", "loo", float or array-like of shape (n_features,), default="scott"
        In the units of X. `"scott"`: n^(-1/(p+4)) standard deviations a feature. `"loo"`: Scott's
        bandwidths times the factor between 1/16 and 4 (in steps of 2^(1/4)) whose leave-one-out
        squared error is smallest; measured at 1,000 rows when there are more.
    kernel : {"gaussian", "epanechnikov", "tricube", "uniform"}, default="gaussian"
        As a function of the distance in bandwidths. The last three vanish beyond one bandwidth:
        only neighbours within it are looked at, and a point without any takes its nearest ones'
        mean.

    Attributes
    ----------
    bandwidth_ : ndarray of shape (n_features,)
        The bandwidths used; infinite for a feature that is constant in training, which then has
        no say.
    degrees_of_freedom_ : float
        The trace of the smoother matrix, computed when first asked for.
    loo_factors_, loo_errors_ : ndarray
        With `bandwidth="loo"`: the factors tried and their mean squared leave-one-out errors.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)

    Raises
    ------
    ValueError
        If a bandwidth is so small beside the range of X that squared distances overflow.

    See Also
    --------
    SmoothingSplineRegressor : faster on many rows, one feature or an additive model.

    Notes
    -----
    Prediction costs O(n p) a point with the Gaussian kernel; with a compact kernel, a tree query
    and its neighbours. Weights count repetitions: a weight of 2 is a row written twice.

    References
    ----------
    Nadaraya (1964) and Watson (1964), as in C. Dombry and Y. Esstafa, "Behavior of linear
    L2-boosting algorithms in the vanishing learning rate asymptotic", example 2.3.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_ensemble_theory import NadarayaWatsonRegressor
    >>> X = np.linspace(0, 1, 50)[:, None]
    >>> y = np.sin(6 * X[:, 0])
    >>> model = NadarayaWatsonRegressor(bandwidth=0.05).fit(X, y)
    >>> model.predict([[0.25]]).round(2)
    array([0.95])
    >>> float(round(model.degrees_of_freedom_, 1))
    8.6
    """

    _parameter_constraints: ClassVar[dict] = {
        "bandwidth": [
            Interval(Real, 0, None, closed="neither"),
            StrOptions({"scott", "loo"}),
            "array-like",
        ],
        "kernel": [StrOptions(set(KERNELS))],
    }

    def __init__(self, bandwidth="scott", *, kernel="gaussian"):
        self.bandwidth = bandwidth
        self.kernel = kernel

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_targets")

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Keep the data and settle the bandwidth.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        self
        """
        X, y = validate_data(
            self, X, y, dtype=np.float64, order="C", multi_output=True, y_numeric=True
        )
        w = check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if not w.any():
            raise ValueError("sample_weight is zero for every row.")
        if not w.all():
            X, y, w = X[w > 0], y[w > 0], w[w > 0]
        y = y.astype(np.float64, copy=False)
        with np.errstate(over="ignore"):
            spread = X.max(axis=0) - X.min(axis=0)
        if not np.isfinite(spread).all():
            raise ValueError("The range of a feature of X overflows; scale X.")
        bandwidth = self._initial_bandwidth(X, w)
        if (spread > 1e150 * bandwidth).any():
            raise ValueError(
                "bandwidth is too small for the range of X: squared distances in bandwidths "
                "overflow."
            )
        origin = X[0].copy()
        Z = (X - origin) / bandwidth
        targets = y.reshape(len(y), -1)
        if isinstance(self.bandwidth, str) and self.bandwidth == "loo":
            factors = 2.0 ** np.arange(-4.0, 2.01, 0.25)
            errors, best = _loo_errors(self.kernel, Z, targets, w, factors)
            bandwidth, Z = bandwidth * best, Z / best
            self.loo_factors_, self.loo_errors_ = factors, errors
        self.bandwidth_ = bandwidth
        self._origin, self._Z, self._weights = origin, Z, w
        self._low, self._high = Z.min(axis=0), Z.max(axis=0)
        self._index = NearestNeighbors().fit(Z) if self.kernel in COMPACT_KERNELS else None
        self._trace = None
        self._flat = y.ndim == 1
        self._targets = targets
        return self

    def _initial_bandwidth(self, X, w):
        if isinstance(self.bandwidth, str):
            return scott_bandwidth(X, w)
        bandwidth = np.asarray(self.bandwidth, dtype=np.float64)
        if bandwidth.ndim and bandwidth.shape != (X.shape[1],):
            raise ValueError(
                f"bandwidth has shape {bandwidth.shape}; X has {X.shape[1]} features, and one "
                "number a feature is needed."
            )
        if not (np.isfinite(bandwidth).all() and (bandwidth > 0).all()):
            raise ValueError("bandwidth must be positive and finite, for every feature.")
        return np.full(X.shape[1], bandwidth)

    def predict(self, X):
        """Weighted averages of y.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, order="C", reset=False)
        out = np.empty((len(X), self._targets.shape[1]))
        for rows in self._chunks(len(X)):
            inside, shift = self._clipped(X[rows])
            outside = shift.any(axis=1)  # only these need slopes
            block = out[rows]
            block[~outside] = self._at(inside[~outside]) @ self._targets
            if outside.any():
                block[outside] = self._at(inside[outside], shift[outside]) @ self._targets
        return out[:, 0] if self._flat else out

    def smoother_matrix(self, X=None):
        """The matrix that maps the training targets to predictions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), default=None
            Where to predict; the training rows by default.

        Returns
        -------
        S : ndarray or sparse matrix of shape (n_samples, n_training_rows)
            Sparse (CSR) for the compact kernels. Training rows of weight zero do not appear.

        Raises
        ------
        ValueError
            If a dense matrix would have more than 5,000 rows and columns.
        """
        check_is_fitted(self)
        if X is None:
            X = self._origin + self._Z * np.where(np.isfinite(self.bandwidth_), self.bandwidth_, 0)
        else:
            X = validate_data(self, X, dtype=np.float64, order="C", reset=False)
        if self._index is None and len(X) > DENSE_ROWS < len(self._Z):
            raise ValueError(
                f"The Gaussian kernel's matrix on {len(X)} rows is dense; above {DENSE_ROWS} rows "
                "use a compact kernel, whose matrix is sparse."
            )
        return self._rows(X)

    @property
    def degrees_of_freedom_(self):
        """Trace of the smoother matrix on the training rows."""
        check_is_fitted(self)
        if self._trace is None:
            total = 0.0
            for rows in self._chunks(len(self._Z)):
                L = self._at(self._Z[rows])
                total += L.diagonal(rows.start).sum()
            self._trace = float(total)
        return self._trace

    def _chunks(self, n_rows):
        step = max(1, _CHUNK // len(self._Z)) if self._index is None else 20_000
        return [slice(i, min(i + step, n_rows)) for i in range(0, n_rows, step)]

    def _rows(self, X):
        """Weights at rows of X, extrapolated outside the box of the training points."""
        inside, shift = self._clipped(X)
        return self._at(inside, shift if shift.any() else None)

    def _clipped(self, X):
        """Scaled rows of X moved into the box of the training points, and the rest of the way."""
        # An infinite bandwidth times zero would be no number; such a feature is left out.
        varies = np.isfinite(self.bandwidth_)
        Z = np.zeros_like(X)
        Z[:, varies] = (X[:, varies] - self._origin[varies]) / self.bandwidth_[varies]
        inside = np.clip(Z, self._low, self._high)
        return inside, Z - inside

    def _at(self, Z, shift=None):
        if not len(Z):
            return np.empty((0, len(self._Z)))
        if self._index is None:
            return gaussian_weights(Z, self._Z, self._weights, shift)
        return compact_weights(self.kernel, self._index, Z, self._Z, self._weights, shift)

    def _check_linear(self):
        """Refuse to be taken for linear in y where it is not."""
        if isinstance(self.bandwidth, str) and self.bandwidth == "loo":
            raise ValueError(
                "NadarayaWatsonRegressor with bandwidth='loo' is not linear in y: the bandwidth "
                "depends on y. Give bandwidth a number or 'scott'."
            )

    def _metric_form(self):
        """S and the diagonal metric m in which it is symmetric: m_i S_ij = m_j S_ji.

        S = D^-1 K W with K symmetric and D = diag(K w), so W D S = W K W is symmetric.
        """
        S = self.smoother_matrix()
        S = S if isinstance(S, np.ndarray) else S.toarray()
        totals = kernel_value(self.kernel, np.zeros(1)) * self._weights / S.diagonal()
        return S, self._weights * totals


def _loo_errors(kernel, Z, Y, w, factors):
    """Mean squared leave-one-out error for bandwidths times each factor, and the best factor.

    One unit of weight is left out of row i (the whole row where it weighs less), and the rest is
    averaged. A row without neighbours takes the mean of the nearest ones.
    """
    n = len(Z)
    scale = np.abs(Y).max() or 1.0  # squares of 1e150 sum to infinity
    Y = Y / scale
    rows = np.arange(n) if n <= _LOO_ROWS else np.linspace(0, n - 1, _LOO_ROWS).astype(int)
    errors = np.zeros(len(factors))
    step = max(1, _CHUNK // n)
    for start in range(0, len(rows), step):
        block = rows[start : start + step]
        u2 = cdist(Z[block], Z, "sqeuclidean")
        weights = np.broadcast_to(w, u2.shape).copy()
        own = (np.arange(len(block)), block)
        weights[own] -= np.minimum(1.0, w[block])
        others = np.where(weights > 0, u2, np.inf)
        nearest = others.min(axis=1, keepdims=True)
        alone = ~np.isfinite(nearest[:, 0])  # a single row: nothing to compare with
        nearest[alone] = 0.0
        for k, factor in enumerate(factors):
            if kernel == "gaussian":
                K = np.exp(-0.5 * np.maximum(u2 - nearest, 0.0) / factor**2) * weights
            else:
                K = kernel_value(kernel, u2 / factor**2) * weights
                lost = K.sum(axis=1) <= 0
                K[lost] = (others[lost] <= nearest[lost] * (1 + 1e-12)) * weights[lost]
            total = K.sum(axis=1, keepdims=True)
            total[total == 0] = 1.0
            residual = Y[block] - (K / total) @ Y
            errors[k] += (w[block, None] * residual**2)[~alone].sum()
    with np.errstate(over="ignore", under="ignore"):
        return errors / w[rows].sum() * scale * scale, factors[np.argmin(errors)]
