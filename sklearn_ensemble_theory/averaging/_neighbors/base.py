"""What bagged nearest neighbours for regression and for classification share.

The rows around a point, in order of distance, get weights that do not depend on the data (000
section 10.1.2): one neighbour query and one product with the weights give what bagging converges to
as the number of replications grows. Nothing is resampled.
"""

import itertools
import warnings
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, MultiOutputMixin
from sklearn.neighbors import VALID_METRICS
from sklearn.utils.validation import check_is_fitted, validate_data

from sklearn_ensemble_theory._compat import Interval, RealNotInt, StrOptions
from sklearn_ensemble_theory.averaging._neighbors.leave_one_out import (
    check_grid,
    choose,
    default_grid,
    loo_errors,
    loo_weights,
    rate_max_samples,
)
from sklearn_ensemble_theory.averaging._neighbors.rank_weights import (
    rank_weights,
    resolve_max_samples,
)
from sklearn_ensemble_theory.averaging._neighbors.ranked_targets import merge_equal_rows
from sklearn_ensemble_theory.averaging._neighbors.search import NeighborSearch, index_points

# Metrics that only scale when X does: their X is brought into a range where squares neither
# overflow nor vanish, by a power of two, which changes no digit.
_HOMOGENEOUS = {
    *("minkowski", "p", "euclidean", "l2", "sqeuclidean"),
    *("manhattan", "l1", "cityblock", "chebyshev", "infinity"),
}
_SAFE_EXPONENT = 200
# Metrics that may be fitted to the training rows, so that merging equal rows would change them.
_DATA_DEPENDENT = {"seuclidean", "mahalanobis"}


class BaseBaggedNearestNeighbors(MultiOutputMixin, BaseEstimator):
    """What the regressor and the classifier share: targets are columns of numbers here."""

    _parameter_constraints: ClassVar[dict] = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "max_samples": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="right"),
            StrOptions({"rate", "loo"}),
        ],
        "max_samples_grid": ["array-like", None],
        "bootstrap": ["boolean", StrOptions({"bernoulli"})],
        "weight_tol": [Interval(Real, 0, 1, closed="left")],
        "algorithm": [StrOptions({"auto", "ball_tree", "kd_tree", "brute"})],
        "leaf_size": [Interval(Integral, 1, None, closed="left")],
        "p": [Interval(Real, 0, None, closed="right"), None],
        "metric": [StrOptions(set(itertools.chain(*VALID_METRICS.values()))), callable],
        "metric_params": [dict, None],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        n_neighbors=1,
        *,
        max_samples="rate",
        max_samples_grid=None,
        bootstrap=False,
        weight_tol=1e-12,
        algorithm="auto",
        leaf_size=30,
        p=2,
        metric="minkowski",
        metric_params=None,
        n_jobs=None,
    ):
        self.n_neighbors = n_neighbors
        self.max_samples = max_samples
        self.max_samples_grid = max_samples_grid
        self.bootstrap = bootstrap
        self.weight_tol = weight_tol
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.p = p
        self.metric = metric
        self.metric_params = metric_params
        self.n_jobs = n_jobs

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.metric == "precomputed"
        tags.input_tags.positive_only = tags.input_tags.pairwise
        tags.input_tags.allow_nan = self.metric == "nan_euclidean"
        return tags

    def __sklearn_is_fitted__(self):
        return hasattr(self, "weights_")

    def _validation(self):
        allow_nan = "allow-nan" if self.metric == "nan_euclidean" else True
        return {
            "accept_sparse": "csr",
            "dtype": np.float64,
            "order": "C",
            "ensure_all_finite": allow_nan,
        }

    def _fit_targets(self, X, targets):
        """Fit to `targets`, an array of shape (n_outputs, n_samples); sets the attributes last."""
        n, k, bootstrap, tol = X.shape[0], self.n_neighbors, self.bootstrap, self.weight_tol
        if k > n:
            raise ValueError(f"n_neighbors={k} must be at most n_samples={n}.")
        grid = self._grid(X) if self.max_samples == "loo" else None
        drawn = None if grid else self._drawn(X)

        exponent = 0
        if self.metric in _HOMOGENEOUS:
            exponent = range_exponent(X.data if sp.issparse(X) else X)
            X = _rescale(X, exponent)
        points, counts, point_of_row, point_sums = self._merge(X, targets)

        loo_path = None
        if grid:
            sizes, truncated = grid
            W = loo_weights(n, sizes, k, bootstrap, tol)
            search = self._build_search(points, counts, len(W) + 2)
            errors = loo_errors(search, X, point_of_row, targets, point_sums, W)
            loo_path = {"max_samples": np.array(sizes), "error": errors}
            best = choose(errors)
            drawn = sizes[best]
            if best == 0 and truncated:
                warnings.warn(
                    f"The leave-one-out error is smallest at the smallest max_samples tried, "
                    f"{drawn}; give smaller ones as max_samples_grid (they look at more neighbors "
                    "and take longer).",
                    UserWarning,
                    stacklevel=4,
                )

        weights = rank_weights(n, drawn, k, bootstrap, tol)
        search = self._build_search(points, counts, len(weights) + 1)

        if loo_path is not None:
            self.loo_path_ = loo_path
        elif hasattr(self, "loo_path_"):
            del self.loo_path_
        self._neighbor_search, self._exponent = search, exponent
        self._point_sums, self._means = point_sums, targets.mean(axis=1)
        self.n_samples_fit_ = n
        self.max_samples_ = drawn
        self.mean_weight_ = max(0.0, float(1 - weights.sum()))
        self.weights_ = weights
        return self

    def _drawn(self, X):
        """The number of rows drawn, or their probability, where no search decides it."""
        n, k = X.shape[0], self.n_neighbors
        size = self.max_samples
        if size == "rate":
            if self.metric == "precomputed":
                raise ValueError(
                    "max_samples='rate' needs the number of features, which precomputed distances "
                    "do not tell: give an int or a float, or 'loo'."
                )
            size = rate_max_samples(n, X.shape[1], k)
        return resolve_max_samples(n, size, k, self.bootstrap)

    def _grid(self, X):
        n, k = X.shape[0], self.n_neighbors
        if k > n - 1:
            raise ValueError(
                f"max_samples='loo' leaves n_samples - 1 = {n - 1} rows for n_neighbors={k}."
            )
        if self.max_samples_grid is not None:
            return check_grid(self.max_samples_grid, n, k, self.bootstrap), False
        n_features = None if self.metric == "precomputed" else X.shape[1]
        return default_grid(n, k, self.bootstrap, self.weight_tol, n_features)

    def _merge(self, X, targets):
        """Distinct points, rows at each (None: one), the point of each row, sums of the targets."""
        merged = None
        if not sp.issparse(X) and self.metric not in {"precomputed", *_DATA_DEPENDENT}:
            first, merged = merge_equal_rows(X)
        if merged is None:
            return X, None, np.arange(X.shape[0]), targets
        sums = np.array([np.bincount(merged, target) for target in targets])
        return X[first], np.bincount(merged), merged, sums

    def _build_search(self, points, counts, n_neighbors):
        n_points = points.shape[0]
        nearest = index_points(
            points,
            min(n_neighbors, n_points),
            algorithm=self.algorithm,
            leaf_size=self.leaf_size,
            metric=self.metric,
            p=self.p,
            metric_params=self.metric_params,
            n_jobs=self.n_jobs,
        )
        return NeighborSearch(nearest, n_points, counts)

    def _average(self, X):
        """The weighted averages of the targets, an array of shape (n_outputs, n_queries)."""
        check_is_fitted(self)
        X = _rescale(validate_data(self, X, reset=False, **self._validation()), self._exponent)
        averages = np.empty((len(self._point_sums), X.shape[0]))
        for rows, block in self._neighbor_search.blocks(X, len(self.weights_)):
            for average, sums in zip(averages, self._point_sums):
                average[rows] = block.targets(sums) @ self.weights_
        averages += (self.mean_weight_ * self._means)[:, None]
        return averages


def range_exponent(values):
    """0 for numbers of an ordinary size; else the power of two that the largest stands for."""
    largest = max(values.max(initial=0.0), -values.min(initial=0.0))
    exponent = int(np.frexp(largest)[1])
    return exponent if abs(exponent) > _SAFE_EXPONENT else 0


def _rescale(X, exponent):
    if not exponent:
        return X
    with np.errstate(over="ignore"):  # an infinite distance is reported where it is found
        if sp.issparse(X):
            X = X.copy()
            X.data = np.ldexp(X.data, -exponent)
            return X
        return np.ldexp(X, -exponent)
