"""The Nadaraya-Watson estimator [Dombry and Esstafa, example 2.3]."""

from numbers import Real
from typing import ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._compat import Interval, StrOptions, fit_context
from sklearn_ensemble_theory._data.validation import finite_predictions, validate_data
from sklearn_ensemble_theory._numerics.scaling import feature_ranges
from sklearn_ensemble_theory._weights import rows_of_positive_weight
from sklearn_ensemble_theory.smoothing._kernel.compact_sums import (
    compact_averages,
    compact_weights,
    kernel_totals,
    query_blocks,
)
from sklearn_ensemble_theory.smoothing._kernel.kernel_functions import (
    BLOCK_SIZE,
    COMPACT_KERNELS,
    KERNELS,
    gaussian_weights,
    kernel_value,
    loo_errors_of_factors,
    scott_bandwidth,
)
from sklearn_ensemble_theory.smoothing._kernel.points_within import index_rows
from sklearn_ensemble_theory.smoothing._smoothers import (
    DENSE_ROWS,
    MatrixForm,
    check_dense_rows,
)

__all__ = ["NadarayaWatsonRegressor"]

TOO_NARROW = "bandwidth is too small for the range of X: squared distances in bandwidths overflow."


class NadarayaWatsonRegressor(RegressorMixin, BaseEstimator):
    r"""Kernel regression: the average of y over the neighbourhood of x, weighted by a kernel.

    .. math:: L(x) = \frac{\sum_i w_i K(|(x - x_i) / h|) Y_i}{\sum_i w_i K(|(x - x_i) / h|)}

    [Dombry and Esstafa, example 2.3], with one bandwidth h for each feature. It is linear in y, and
    its matrix is similar to a symmetric one, so `LinearL2BoostingRegressor` boosts it in closed
    form.

    Outside the range of the training points, the prediction continues linearly from the nearest
    point of their bounding box, with the slope of the average at that point.

    Parameters
    ----------
    bandwidth : "scott", "loo", float or array-like of shape (n_features,), default="scott"
        Bandwidth of each feature, in the units of X. `"scott"`: n^(-1/(p+4)) standard deviations of
        each feature. `"loo"`: Scott's bandwidths times the factor between 1/16 and 4 (in steps of
        2^(1/4)) with the smallest leave-one-out squared error, computed at 1,000 rows when there
        are more.
    kernel : {"gaussian", "epanechnikov", "tricube", "uniform"}, default="gaussian"
        The kernel, as a function of the distance in bandwidths. All but the Gaussian kernel are
        zero beyond one bandwidth:
        only neighbours within it are used, and the prediction at a point without neighbours is the
        mean over the training points nearest to it.

    Attributes
    ----------
    bandwidth_ : ndarray of shape (n_features,)
        The bandwidths used; infinite for a feature that is constant in the training data, which is
        then ignored.
    degrees_of_freedom_ : float
        The trace of the smoother matrix, computed at the first access.
    loo_factors_ : ndarray of shape (n_factors,)
        The factors compared; only with `bandwidth="loo"`.
    loo_errors_ : ndarray of shape (n_factors,)
        The mean squared leave-one-out error of each factor; only with `bandwidth="loo"`.
    n_features_in_ : int
        Number of features seen during :term:`fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of features seen during :term:`fit`. Defined only when X has feature names that are
        all strings.

    Raises
    ------
    ValueError
        If a bandwidth is so small in comparison with the range of X that squared distances
        overflow.

    See Also
    --------
    SmoothingSplineRegressor : Smoothing splines, for one feature or an additive model.
    LinearL2BoostingRegressor : Boosts this estimator in closed form.

    Notes
    -----
    The prediction of a point costs O(n p) with the Gaussian kernel. With the other kernels it is a
    query of a tree and a sum over the neighbours found, as many points at a time as scikit-learn's
    `working_memory` has room for. For one feature it costs O(log n) with these kernels, however
    large the bandwidth: they are polynomials, and their sums follow from moments of the sorted rows
    in cells of about one bandwidth, with rounding errors of about 1e-14 of the sums. Windows of at
    most 64 rows, and those with most of their weight at the edge, where errors would be relatively
    larger, are summed row by row.

    References
    ----------
    C. Dombry and Y. Esstafa. "Behavior of linear L2-boosting algorithms in the vanishing learning
    rate asymptotic".

    E. A. Nadaraya (1964). "On estimating regression". Theory of Probability & Its Applications
    9(1), 141-142.

    G. S. Watson (1964). "Smooth regression analysis". Sankhya: The Indian Journal of Statistics,
    Series A 26(4), 359-372.

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

    def __init__(
        self,
        bandwidth: float | ArrayLike | Literal["scott", "loo"] = "scott",
        *,
        kernel: Literal["gaussian", "epanechnikov", "tricube", "uniform"] = "gaussian",
    ) -> None:
        self.bandwidth = bandwidth
        self.kernel = kernel

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_targets")

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> "NadarayaWatsonRegressor":
        """Store the data and choose the bandwidth.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows. Integer weights are equivalent to repeating rows.

        Returns
        -------
        self : NadarayaWatsonRegressor
            The fitted estimator.
        """
        X, y = validate_data(
            self, X, y, dtype=np.float64, order="C", multi_output=True, y_numeric=True
        )
        rows = rows_of_positive_weight(sample_weight, X)
        (X, y), w = rows.take(X, y), rows.weight
        y = np.ascontiguousarray(y, dtype=np.float64)  # products round by the order in memory
        ranges = feature_ranges(X)
        bandwidth = self._initial_bandwidth(X, w)
        if (ranges / 1e150 > bandwidth).any() or not (bandwidth > 0).all():
            raise ValueError(TOO_NARROW)
        origin = X[0].copy()
        Z = X - origin
        Z /= bandwidth
        targets = y.reshape(len(y), -1)
        if isinstance(self.bandwidth, str) and self.bandwidth == "loo":
            factors = 2.0 ** np.arange(-4.0, 2.01, 0.25)
            errors, best = loo_errors_of_factors(self.kernel, Z, targets, w, factors)
            bandwidth = bandwidth * best
            if not (bandwidth > 0).all():
                raise ValueError(TOO_NARROW)
            Z /= best
            self.loo_factors_, self.loo_errors_ = factors, errors
        self.bandwidth_ = bandwidth
        self._origin, self._Z, self._weights = origin, Z, w
        self._low, self._high = Z.min(axis=0), Z.max(axis=0)
        self._index = index_rows(Z) if self.kernel in COMPACT_KERNELS else None
        self._trace: float | None = None
        self._is_1d = y.ndim == 1
        self._targets = targets
        return self

    def _initial_bandwidth(self, X: np.ndarray, w: np.ndarray) -> np.ndarray:
        if isinstance(self.bandwidth, str):
            return scott_bandwidth(X, w)
        try:
            bandwidth = np.asarray(self.bandwidth, dtype=np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise ValueError(f"bandwidth must have numbers: {error}.") from None
        if bandwidth.ndim and bandwidth.shape != (X.shape[1],):
            raise ValueError(
                f"bandwidth must be a number or an array of shape ({X.shape[1]},), one for each "
                f"feature of X; got shape {bandwidth.shape}."
            )
        if not (np.isfinite(bandwidth).all() and (bandwidth > 0).all()):
            raise ValueError("bandwidth must be positive and finite for every feature.")
        return np.full(X.shape[1], bandwidth)

    @finite_predictions
    def predict(self, X: ArrayLike) -> np.ndarray:
        """Return the weighted averages of y.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            The predictions.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, order="C", reset=False)
        out = np.empty((len(X), self._targets.shape[1]))
        blocks = self._dense_blocks(len(X)) if self._index is None else query_blocks(self._index, X)
        for rows in blocks:
            inside, shift = self._clipped(X[rows])
            outside = shift.any(axis=1)  # slopes are computed for these only
            block = np.empty((len(inside), out.shape[1]))
            block[~outside] = self._averages(inside[~outside])
            if outside.any():
                block[outside] = self._averages(inside[outside], shift[outside])
            out[rows] = block
        return out[:, 0] if self._is_1d else out

    def _averages(self, Z: np.ndarray, shift: np.ndarray | None = None) -> np.ndarray:
        """Averages of the targets at scaled points, extrapolated by `shift`."""
        if self._index is None:
            return self._at(Z, shift) @ self._targets
        rows = (self._index, self._Z, self._weights)
        return compact_averages(self.kernel, rows, self._targets, Z, shift)

    def smoother_matrix(self, X: ArrayLike | None = None) -> np.ndarray | sp.csr_matrix:
        """Return the matrix that maps the training targets to predictions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), default=None
            Rows to predict; the training rows by default.

        Returns
        -------
        S : ndarray or sparse matrix of shape (n_samples, n_training_rows)
            The matrix; sparse (CSR) for all kernels but the Gaussian. Training rows of weight zero
            are left out.

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
                f"The matrix of kernel='gaussian' on {len(X)} rows is dense. For more than "
                f"{DENSE_ROWS} rows, use another kernel, whose matrix is sparse."
            )
        return self._rows(X)

    @property
    def degrees_of_freedom_(self) -> float:
        """Trace of the smoother matrix on the training rows."""
        check_is_fitted(self)
        if self._trace is None:
            if self._index is not None:
                totals = kernel_totals(self.kernel, self._index, self._Z, self._weights)
                self._trace = float((self._weights / totals).sum())  # K(0) = 1
            else:
                blocks = self._dense_blocks(len(self._Z))
                self._trace = float(
                    sum(self._at(self._Z[rows]).diagonal(rows.start).sum() for rows in blocks)
                )
        return self._trace

    def _dense_blocks(self, n_rows: int) -> list[slice]:
        step = max(1, BLOCK_SIZE // len(self._Z))
        return [slice(i, i + step) for i in range(0, n_rows, step)]

    def _rows(self, X: np.ndarray) -> np.ndarray | sp.csr_matrix:
        """Weights at rows of X, extrapolated outside the box of the training points."""
        inside, shift = self._clipped(X)
        return self._at(inside, shift if shift.any() else None)

    def _clipped(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Scaled rows of X projected on the box of the training points, and the shift back."""
        # An infinite bandwidth times zero is NaN; such a feature is left out.
        Z = X - self._origin
        Z[:, ~np.isfinite(self.bandwidth_)] = 0.0
        Z /= self.bandwidth_
        inside = np.clip(Z, self._low, self._high)
        Z -= inside
        return inside, Z

    def _at(self, Z: np.ndarray, shift: np.ndarray | None = None) -> np.ndarray | sp.csr_matrix:
        if not len(Z):
            return np.empty((0, len(self._Z)))
        if self._index is None:
            return gaussian_weights(Z, self._Z, self._weights, shift)
        return compact_weights(self.kernel, self._index, Z, self._Z, self._weights, shift)

    def _check_linear(self) -> None:
        """Raise where the outputs are not linear in y; see `smoothing._smoothers`."""
        if isinstance(self.bandwidth, str) and self.bandwidth == "loo":
            raise ValueError(
                "NadarayaWatsonRegressor with bandwidth='loo' is not linear in y, because the "
                "bandwidth depends on y. Set bandwidth to a number or 'scott'."
            )

    def _linear_form(
        self, X: np.ndarray, weight: np.ndarray, one_feature_each: bool
    ) -> MatrixForm | None:
        """S and the diagonal metric in which it is symmetric; see `smoothing._smoothers`.

        S = D^-1 K W with K symmetric and D = diag(K w), so W D S = W K W is symmetric.
        """
        if one_feature_each:
            return None  # an average of such matrices is symmetric in no diagonal metric
        check_dense_rows(len(X), type(self).__name__)
        fitted = clone(self).fit(X, np.zeros(len(X)), weight)
        S = fitted.smoother_matrix()
        S = S if isinstance(S, np.ndarray) else S.toarray()
        totals = kernel_value(self.kernel, np.zeros(1)) * weight / S.diagonal()
        return MatrixForm(S, weight * totals)
