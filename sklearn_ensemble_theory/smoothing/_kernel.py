"""The Nadaraya-Watson estimator [Dombry and Esstafa, example 2.3].

In coordinates z = x / h, a row of non-negative weights with sum 1 for each point: dense for the
Gaussian kernel (`GaussianWeights`), sparse for those that vanish beyond one bandwidth
(`CompactWeights`).
"""

from numbers import Real
from typing import ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._compat import Interval, StrOptions
from sklearn_ensemble_theory._copies import warn_of_copies
from sklearn_ensemble_theory._documentation import documented
from sklearn_ensemble_theory._door import ReadsOnce, fit_context
from sklearn_ensemble_theory._learners import GROUPS_ON_REQUEST
from sklearn_ensemble_theory._rows import (
    checked_rows,
    finite_predictions,
    group_codes,
    number_of_rows,
    validate_data,
)
from sklearn_ensemble_theory._scaling import (
    LARGEST,
    feature_ranges,
    largest_magnitude,
    power_of_two,
)
from sklearn_ensemble_theory._scores import RegressorMixin
from sklearn_ensemble_theory._typing import ArrayLike

from ._bandwidth_errors import LOO_FACTORS, loo_errors_of_factors
from ._compact_kernels import FAR, LARGEST_RANGE, POLYNOMIALS, CompactWeights, shortened
from ._gaussian_sums import BEYOND, LARGEST_LOSS, MANY_ROWS, PAIRS_AT_A_TIME, GaussianSums
from ._smoothers import DENSE_ROWS, MatrixForm, NotLinearError, check_dense_rows

# Points of a prediction that share what is computed of the training rows.
POINTS_AT_A_TIME = 2**16
TOO_NARROW = "bandwidth is too small for the range of X: squared distances in bandwidths overflow."


def scott_bandwidth(X: np.ndarray, sample_weight: np.ndarray) -> np.ndarray:
    """Scott's rule: n^(-1/(p+4)) standard deviations of each feature, infinite for a constant one.

    With an infinite bandwidth the feature is ignored. Weights tell n by `number_of_rows`.
    """
    n, total, p = number_of_rows(sample_weight), sample_weight.sum(), X.shape[1]
    # Standard deviations of numbers near 1e150 overflow, so the range is the unit.
    low = X.min(axis=0)
    width = X.max(axis=0) - low
    safe = np.where(width > 0, width, 1.0)
    variance = np.empty(p)
    for j in range(p):  # one column at a time: no copy of X
        z = (X[:, j] - low[j]) / safe[j]
        mean = sample_weight @ z / total
        variance[j] = sample_weight @ (z - mean) ** 2 / total
    return np.where(width > 0, np.sqrt(variance) * safe * n ** (-1.0 / (p + 4)), np.inf)


class GaussianWeights:
    """The weights of training points Z at any point, for K(u) = exp(-u^2 / 2)."""

    is_sparse: ClassVar[Literal[False]] = False

    def __init__(self, Z: np.ndarray, sample_weight: np.ndarray) -> None:
        self.Z, self.sample_weight = Z, sample_weight
        self.box = Z.min(axis=0), Z.max(axis=0)
        # Many rows of one feature, in a range that cells can have numbers in: see `averages`.
        self.order: np.ndarray | None = None
        has_cells = Z.shape[1] == 1 and self.box[1][0] - self.box[0][0] < LARGEST_RANGE
        if has_cells and len(Z) >= MANY_ROWS:
            self.order = np.argsort(Z[:, 0], kind="stable")

    def blocks(self, X: np.ndarray) -> list[slice]:
        """Rows of X that are predicted together."""
        step = POINTS_AT_A_TIME
        return [slice(i, i + step) for i in range(0, len(X), step)]

    def at(self, Z: np.ndarray, shift: np.ndarray | None = None) -> np.ndarray:
        """Rows of weights at Z, dense (len(Z), n), extrapolated linearly by `shift`.

        `shift` has the vectors from the points of evaluation to those of prediction.
        """
        K = self._kernel(Z)
        K *= self.sample_weight
        K /= K.sum(axis=1, keepdims=True)
        if shift is None:
            return K
        # d/dz of K_i / sum K along the shift, with K'_i = -K_i (z - z_i).
        along = (Z * shift).sum(axis=1, keepdims=True) - shift @ self.Z.T
        along -= (K * along).sum(axis=1, keepdims=True)
        return K * (1.0 - along)

    def _kernel(self, Z: np.ndarray) -> np.ndarray:
        """K of the training points at Z, (len(Z), n), divided by that of the nearest one."""
        # |z - z_i|^2, less that to the nearest point c of the box of the training points: far away
        # nothing else would be left by rounding. All terms of |c - z_i|^2 + 2 (z - c)(c - z_i) are
        # positive.
        inside = np.clip(Z, *self.box)
        u2 = cdist(inside, self.Z, "sqeuclidean")
        for j in range(Z.shape[1]):
            beyond = 2.0 * (Z[:, j] - inside[:, j])
            rows = np.flatnonzero(beyond)
            if len(rows):
                gap = inside[rows, j, None] - self.Z[:, j]
                gap *= beyond[rows, None]
                u2[rows] += gap
        # Distances are relative to the nearest training point, so that a point far from all of
        # them gets the value of the nearest one instead of 0/0.
        u2 -= u2.min(axis=1, keepdims=True)
        u2 *= -0.5
        return np.exp(u2, out=u2)

    def averages(
        self, targets: np.ndarray, Z: np.ndarray, shift: np.ndarray | None = None
    ) -> np.ndarray:
        """Return `at(Z, shift) @ targets`, for targets of shape (n, n_outputs).

        Of many rows of one feature by sums over cells. Points without much weight near them, where
        the sums are not exact, are averaged over all pairs, as all are otherwise.
        """
        out = np.empty((len(Z), targets.shape[1]))
        rest = np.arange(len(Z))
        if self.order is not None and shift is None:
            rest = self._averages_by_cells(self.order, targets, Z, out)
        step = max(1, PAIRS_AT_A_TIME // len(self.Z))
        for start in range(0, len(rest), step):
            asked = rest[start : start + step]
            out[asked] = self.at(Z[asked], None if shift is None else shift[asked]) @ targets
        return out

    def _averages_by_cells(
        self, order: np.ndarray, targets: np.ndarray, Z: np.ndarray, out: np.ndarray
    ) -> np.ndarray:
        """Set averages of one feature; return the points left, for a sum over pairs."""
        (low,), (high,) = self.box
        asked = np.flatnonzero((Z[:, 0] >= low) & (Z[:, 0] <= high))
        weight = self.sample_weight[order] / power_of_two(self.sample_weight.max())
        sizes = np.array([power_of_two(largest_magnitude(y)) for y in targets.T])
        columns = [weight, *(weight * (y[order] / size) for y, size in zip(targets.T, sizes))]
        sums = GaussianSums(self.Z[order, 0]).at(Z[asked, 0], columns)
        lost = BEYOND * np.array([np.abs(column).sum() for column in columns])
        safe = (np.abs(sums) * LARGEST_LOSS >= lost[:, None]).all(axis=0)
        found = asked[safe]
        out[found] = (sums[1:, safe] / sums[0, safe]).T * sizes
        left = np.ones(len(Z), dtype=bool)
        left[found] = False
        return np.flatnonzero(left)

    def trace(self) -> float:
        """Return the sum of the weights of the training points at themselves."""
        weight, rest = self.sample_weight, np.arange(len(self.Z))
        found = 0.0
        if self.order is not None:
            sorted_weight = weight[self.order]
            (sums,) = GaussianSums(self.Z[self.order, 0]).at(self.Z[:, 0], [sorted_weight])
            safe = sums * LARGEST_LOSS >= BEYOND * weight.sum()
            found, rest = (weight[safe] / sums[safe]).sum(), np.flatnonzero(~safe)
        step = max(1, PAIRS_AT_A_TIME // len(self.Z))
        for start in range(0, len(rest), step):
            rows = rest[start : start + step]
            found += self.at(self.Z[rows])[np.arange(len(rows)), rows].sum()
        return float(found)


@documented()
class NadarayaWatsonRegressor(RegressorMixin, ReadsOnce, BaseEstimator):
    r"""Kernel regression (Nadaraya-Watson): the average of y around x, weighted by a kernel.

    .. math:: L(x) = \frac{\sum_i w_i K(|(x - x_i) / h|) Y_i}{\sum_i w_i K(|(x - x_i) / h|)}

    [Dombry and Esstafa, example 2.3], with one bandwidth h for each feature. It is linear in y, and
    its matrix is similar to a symmetric one, so `LinearL2BoostingRegressor` boosts it in closed
    form.

    The formula holds everywhere. Far from the training points it tends to the target of the nearest
    point.

    Parameters
    ----------
    bandwidth : "scott", "loo", float or array-like, default="scott"
        Bandwidth of each feature, in the units of X: a number, an array of shape (n_features,), or
        `"scott"`, n^(-1/(p+4)) standard deviations of each feature. An array of shape
        (n_bandwidths, 1) or (n_bandwidths, n_features) is a grid, of which the row with the
        smallest leave-one-out squared error is taken, computed at 1,000 rows when there are more.
        `"loo"` does so for Scott's bandwidths times the factors from 1/16 to 4, in steps of
        2^(1/4).
    kernel : {"gaussian", "epanechnikov", "tricube", "uniform"}, default="gaussian"
        The kernel, as a function of the distance in bandwidths. All but the Gaussian kernel are
        zero beyond one bandwidth and use only the neighbours within it. At a point without
        neighbours, the prediction is the mean over the training points nearest to it.
    extrapolation : {"formula", "linear"}, default="formula"
        Predictions outside the bounding box of the training points. By default the formula holds
        there too: predictions are means of y. `"linear"` continues by a line from the nearest point
        of the box, with the slope of the formula at that point, which may leave the range of y.
        Boosting fits the learner to subsamples where `subsample` is below 1, and predicts the rows
        outside of their boxes so.

    Attributes
    ----------
    bandwidth_ : ndarray of shape (n_features,)
        The bandwidths used; infinite for a feature that is constant in the training data, which is
        then ignored.
    degrees_of_freedom_ : float
        The trace of the smoother matrix, computed at the first access.
    cv_results_ : dict of ndarrays
        Only if the bandwidth was chosen: the candidates "bandwidth", of shape (n_bandwidths,
        n_features), and their mean squared leave-one-out errors "mean_score".
    %(names_in_fit)s

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
    With the Gaussian kernel, a prediction costs O(n p). With the other kernels it is a query of a
    tree and a sum over the neighbours found. scikit-learn's `working_memory` limits how many points
    are predicted at a time.

    For one feature, a prediction with these kernels costs O(log n), however large the bandwidth. It
    uses moments of the sorted rows, with rounding errors of about 1e-14 of the sums. From 3,000
    rows, the Gaussian kernel uses them too. See :ref:`costs-of-smoothers` in the user guide.

    %(references_Dombry)s

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
        "kernel": [StrOptions({"gaussian", *POLYNOMIALS})],
        "extrapolation": [StrOptions({"formula", "linear"})],
    }

    def __init__(
        self,
        bandwidth: float | ArrayLike | Literal["scott", "loo"] = "scott",
        *,
        kernel: Literal["gaussian", "epanechnikov", "tricube", "uniform"] = "gaussian",
        extrapolation: Literal["formula", "linear"] = "formula",
    ) -> None:
        self.bandwidth = bandwidth
        self.kernel = kernel
        self.extrapolation = extrapolation

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_targets")

    __metadata_request__fit = GROUPS_ON_REQUEST

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> "NadarayaWatsonRegressor":
        """Store the data and choose the bandwidth.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, of which only the ratios matter. In Scott's rule, weights that are
            whole multiples of the smallest weight count rows. For other weights n is Kish's
            effective number of rows, (sum w)^2 / sum w^2. The leave-one-out error leaves out rows
            with their whole weight.
        groups : array-like of shape (n_samples,), default=None
            Which rows belong together, such as copies of a row or the visits of a patient. The
            leave-one-out error, by which `bandwidth="loo"` and grids choose, then leaves out each
            row with its whole group. Other bandwidths make no use of them.

        Returns
        -------
        self : NadarayaWatsonRegressor
            The fitted estimator.

        Raises
        ------
        ValueError
            If there is only one group where the bandwidth is chosen.
        """
        rows = checked_rows(
            self,
            X,
            y,
            sample_weight,
            dtype=np.float64,
            order="C",
            multi_output=True,
            y_numeric=True,
        )
        codes = None if groups is None else rows.of(group_codes(groups, X))
        X, w = rows.X, rows.weights()
        y = np.ascontiguousarray(rows.y, dtype=np.float64)  # products round by the order in memory
        ranges = feature_ranges(X)
        factors = np.ones(1)
        if isinstance(self.bandwidth, str):
            candidates = scott_bandwidth(X, w)[None]
            factors = LOO_FACTORS if self.bandwidth == "loo" else factors
        else:
            candidates = self._given_bandwidths(X.shape[1])
        # The squares of distances up to 1e150 bandwidths are still finite.
        if (ranges / 1e150 > candidates).any() or not (candidates > 0).all():
            raise ValueError(TOO_NARROW)
        # Distances are of differences: far from zero, coordinates about a row of the data lose no
        # digits to their common part.
        origin = X[0].copy()
        targets = y.reshape(len(y), -1)
        bandwidth = candidates[0]
        Z = X - origin
        Z /= bandwidth
        self.__dict__.pop("cv_results_", None)
        if not self.has_given_bandwidth:
            if codes is not None and np.ptp(codes) == 0:
                raise ValueError(
                    "groups must contain at least 2 groups of rows of positive weight."
                )
            if codes is None:
                warn_of_copies(X, y)
            scores: list[np.ndarray] = []
            for one in candidates:
                z = Z if one is bandwidth else (X - origin) / one
                scores.append(loo_errors_of_factors(self.kernel, z, targets, w, codes, factors))
            best = int(np.argmin(np.concatenate(scores)))
            at, factor = best // len(factors), factors[best % len(factors)]
            bandwidth = candidates[at] * factor
            if not (bandwidth > 0).all():
                raise ValueError(TOO_NARROW)
            Z = Z if at == 0 else (X - origin) / candidates[at]
            Z /= factor
            self.cv_results_ = {
                "bandwidth": np.concatenate([one * factors[:, None] for one in candidates]),
                "mean_score": np.concatenate(scores),
            }
        self.bandwidth_ = bandwidth
        self._origin, self._is_linear = origin, self.extrapolation == "linear"
        is_gaussian = self.kernel == "gaussian"
        self._weights = GaussianWeights(Z, w) if is_gaussian else CompactWeights(self.kernel, Z, w)
        self._trace: float | None = None
        self._is_1d, self._targets = y.ndim == 1, targets
        return self

    @property
    def has_given_bandwidth(self) -> bool:
        """Whether the bandwidth does not depend on y."""
        if isinstance(self.bandwidth, str):
            return self.bandwidth != "loo"
        return np.ndim(self.bandwidth) < 2

    def _given_bandwidths(self, n_features: int) -> np.ndarray:
        """Positive numbers for each feature, in each row of an array; or a ValueError."""
        try:
            bandwidth = np.asarray(self.bandwidth, dtype=np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise ValueError(f"bandwidth must have numbers: {error}.") from None
        is_grid = bandwidth.ndim == 2 and len(bandwidth) and bandwidth.shape[1] in (1, n_features)
        if bandwidth.ndim and bandwidth.shape != (n_features,) and not is_grid:
            raise ValueError(
                f"bandwidth must be a number or an array of shape ({n_features},), one for each "
                f"feature of X, or an array of several such rows, or of numbers in one column, as "
                f"a grid; got shape {bandwidth.shape}."
            )
        if not (np.isfinite(bandwidth).all() and (bandwidth > 0).all()):
            raise ValueError("bandwidth must be positive and finite for every feature.")
        return np.array(
            np.broadcast_to(bandwidth, (max(len(np.atleast_2d(bandwidth)), 1), n_features))
        )

    @finite_predictions
    def predict(self, X: ArrayLike) -> np.ndarray:
        """Return the weighted averages of y.

        %(rows_to_predict)s

        %(returns_outputs)s
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, order="C", reset=False)
        out = np.empty((len(X), self._targets.shape[1]))
        for rows in self._weights.blocks(X):
            Z, shift = self._placed(X[rows])
            if shift is None:
                out[rows] = self._weights.averages(self._targets, Z)
                continue
            outside = shift.any(axis=1)  # slopes are computed for these only
            block = np.empty((len(Z), out.shape[1]))
            block[~outside] = self._weights.averages(self._targets, Z[~outside])
            if outside.any():
                block[outside] = self._weights.averages(self._targets, Z[outside], shift[outside])
            out[rows] = block
        return out[:, 0] if self._is_1d else out

    def _placed(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Points at which rows of X are weighed, and the shift from there if they move on a line.

        Without lines rows beyond `FAR` are weighed at it, in the same direction.
        """
        # An infinite bandwidth times zero is NaN; such a feature is left out.
        with np.errstate(over="ignore"):
            Z = X - self._origin
            Z[:, ~np.isfinite(self.bandwidth_)] = 0.0
            Z /= self.bandwidth_
        if not self._is_linear:
            return shortened(np.clip(Z, -LARGEST, LARGEST, out=Z), FAR), None
        inside = np.clip(Z, *self._weights.box)
        Z -= inside
        return inside, (Z if Z.any() else None)

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
        n_train = len(self._targets)
        if X is None:
            finite = np.where(np.isfinite(self.bandwidth_), self.bandwidth_, 0)
            X = self._origin + self._weights.Z * finite
        else:
            X = validate_data(self, X, dtype=np.float64, order="C", reset=False)
        if not self._weights.is_sparse and len(X) > DENSE_ROWS < n_train:
            raise ValueError(
                f"The matrix of kernel='gaussian' on {len(X)} rows is dense. For more than "
                f"{DENSE_ROWS} rows, use another kernel, whose matrix is sparse."
            )
        return self._weights.at(*self._placed(X))

    @property
    def degrees_of_freedom_(self) -> float:
        """Trace of the smoother matrix on the training rows."""
        check_is_fitted(self)
        if self._trace is None:
            self._trace = self._weights.trace()
        return self._trace

    def linear_smoother(self) -> "KernelSmoother":
        """The smoother that `LinearL2BoostingRegressor` boosts in closed form.

        Returns
        -------
        smoother : object
            With the methods `check` and `form`.
        """
        return KernelSmoother(self)


class KernelSmoother:
    """The smoother of a `NadarayaWatsonRegressor`; see `_smoothers.Smoother`."""

    def __init__(self, learner: NadarayaWatsonRegressor) -> None:
        self.learner = learner
        self.counts_rows = isinstance(learner.bandwidth, str)

    def check(self) -> None:
        if not self.learner.has_given_bandwidth:
            raise NotLinearError(
                "NadarayaWatsonRegressor with a bandwidth that is chosen by leave-one-out errors "
                "is not linear in y, because the bandwidth depends on y. Set bandwidth to a number "
                "or 'scott'."
            )

    def form(self, X: np.ndarray, weight: np.ndarray, one_feature_each: bool) -> MatrixForm | None:
        """S and the diagonal metric in which it is symmetric.

        S = D^-1 K W with K symmetric and D = diag(K w), so W D S = W K W is symmetric.
        """
        if one_feature_each:
            return None  # an average of such matrices is symmetric in no diagonal metric
        check_dense_rows(len(X), type(self.learner).__name__)
        fitted = clone(self.learner).fit(X, np.zeros(len(X)), weight)
        S = fitted.smoother_matrix()
        S = S if isinstance(S, np.ndarray) else S.toarray()
        totals = weight / S.diagonal()  # K(0) = 1
        return MatrixForm(S, weight * totals)
