"""The fit of bagged nearest neighbours, and their weighted averages.

The rows around a point, in order of distance, get weights that do not depend on the data
[Bach, §10.1.2]: one neighbour query and one product with the weights compute the limit of bagging
as the number of replications grows. Nothing is resampled.
"""

import itertools
import warnings
from abc import ABCMeta, abstractmethod
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, MultiOutputMixin
from sklearn.neighbors import VALID_METRICS
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from sklearn_ensemble_theory._compat import Interval, RealNotInt, StrOptions, fit_context
from sklearn_ensemble_theory._typing import ArrayLike, MatrixLike
from sklearn_ensemble_theory.averaging._neighbors.leave_one_out import (
    best_size,
    default_grid,
    grid_from_user,
    loo_errors,
    loo_weights,
    rate_max_samples,
)
from sklearn_ensemble_theory.averaging._neighbors.rank_laws import RANK_LAWS, RankLaw
from sklearn_ensemble_theory.averaging._neighbors.rank_weights import rank_weights
from sklearn_ensemble_theory.averaging._neighbors.ranked_targets import TrainingPoints
from sklearn_ensemble_theory.averaging._neighbors.search import NeighborSearch, index_points

# Metrics for which distances scale with X: their X is brought into a range where squares neither
# overflow nor vanish, by a power of two, which is exact.
_HOMOGENEOUS = {
    *("minkowski", "p", "euclidean", "l2", "sqeuclidean"),
    *("manhattan", "l1", "cityblock", "chebyshev", "infinity"),
}
_SAFE_EXPONENT = 200
# Metrics without merged rows: precomputed distances, and those that may be fitted to the training
# rows, so that merging equal rows would change them.
_UNMERGED = {"precomputed", "seuclidean", "mahalanobis"}


class EncodedTargets(NamedTuple):
    """Targets as columns of numbers.

    Attributes
    ----------
    columns : ndarray of shape (n_outputs, n_samples)
        The targets times ``2 ** -exponent``.
    exponent : int
    attributes : dict
        The fitted attributes that describe them.
    """

    columns: np.ndarray
    exponent: int
    attributes: dict[str, Any]


class BaseBaggedNearestNeighbors(MultiOutputMixin, BaseEstimator, metaclass=ABCMeta):
    """Base of the regressor and the classifier; not for direct use."""

    _parameter_constraints: ClassVar[dict] = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "max_samples": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="right"),
            StrOptions({"rate", "loo"}),
        ],
        "max_samples_grid": ["array-like", None],
        "bootstrap": ["boolean", StrOptions({name for name in RANK_LAWS if isinstance(name, str)})],
        "weight_tol": [Interval(Real, 0, 1, closed="left")],
        "algorithm": [StrOptions({"auto", "ball_tree", "kd_tree", "brute"})],
        "leaf_size": [Interval(Integral, 1, None, closed="left")],
        "p": [Interval(Real, 0, None, closed="right"), None],
        "metric": [StrOptions(set(itertools.chain(*VALID_METRICS.values()))), callable],
        "metric_params": [dict, None],
        "n_jobs": [Integral, None],
    }
    # Options of `validate_data` for y.
    _target_validation: ClassVar[dict[str, Any]] = {}

    def __init__(
        self,
        n_neighbors: int = 1,
        *,
        max_samples: int | float | Literal["rate", "loo"] = "rate",
        max_samples_grid: ArrayLike | None = None,
        bootstrap: bool | str = False,
        weight_tol: float = 1e-12,
        algorithm: Literal["auto", "ball_tree", "kd_tree", "brute"] = "auto",
        leaf_size: int = 30,
        p: float | None = 2,
        metric: str | Callable[..., float] = "minkowski",
        metric_params: dict[str, Any] | None = None,
        n_jobs: int | None = None,
    ) -> None:
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

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.metric == "precomputed"
        tags.input_tags.positive_only = tags.input_tags.pairwise
        tags.input_tags.allow_nan = self.metric == "nan_euclidean"
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "weights_")

    @abstractmethod
    def _encode_targets(self, y: np.ndarray) -> EncodedTargets:
        """The targets as columns of numbers."""

    def _validation(self) -> dict[str, Any]:
        allow_nan = "allow-nan" if self.metric == "nan_euclidean" else True
        return {
            "accept_sparse": "csr",
            "dtype": np.float64,
            "order": "C",
            "ensure_all_finite": allow_nan,
        }

    # ----------------------------------------------------------------------------------- Fit

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: MatrixLike, y: ArrayLike) -> Self:
        """Compute the weights and index the training rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows; (n_samples, n_samples) distances with `metric="precomputed"`.

        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets, or class labels.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If a parameter cannot be used with the data; the message names the parameter.
        """
        X, y = validate_data(
            self, X, y, multi_output=True, **self._target_validation, **self._validation()
        )
        targets = self._encode_targets(y)
        n, k = X.shape[0], self.n_neighbors
        if k > n:
            raise ValueError(f"n_neighbors={k} must be at most n_samples={n}.")
        law = RANK_LAWS[self.bootstrap]
        by_loo = self.max_samples == "loo"
        grid, truncated = self._grid(law, X) if by_loo else ([self._size(law, X)], False)

        exponent = 0
        if self.metric in _HOMOGENEOUS:
            exponent = range_exponent(X.data if sp.issparse(X) else X)
            X = _rescale(X, exponent)
        points = TrainingPoints.of(X, targets.columns, self.metric not in _UNMERGED)

        best, loo_path = 0, None
        if by_loo:
            W = loo_weights(law, grid, n, k, self.weight_tol)
            search = self._build_search(points, len(W) + 2)
            errors = loo_errors(search, X, targets.columns, points, W)
            best = best_size(errors)
            if best == 0 and truncated:
                warnings.warn(
                    "The leave-one-out error is smallest at the smallest max_samples compared, "
                    f"{grid[0]}. Pass smaller values as max_samples_grid to include them; they "
                    "need more neighbors and more time.",
                    UserWarning,
                    stacklevel=3,
                )
            if targets.exponent:
                with np.errstate(over="ignore"):
                    errors = np.ldexp(errors, 2 * targets.exponent)
            loo_path = {"max_samples": np.array(grid), "error": errors}

        weights = rank_weights(law(n, grid[best], k), self.weight_tol)
        search = self._build_search(points, len(weights) + 1)

        # Everything has been computed: from here on nothing fails.
        if loo_path is not None:
            self.loo_path_ = loo_path
        elif hasattr(self, "loo_path_"):
            del self.loo_path_
        for name, value in targets.attributes.items():
            setattr(self, name, value)
        self._neighbor_search, self._exponent = search, exponent
        self._point_sums, self._means = points.sums, targets.columns.mean(axis=1)
        self._target_exponent = targets.exponent
        self.n_samples_fit_ = n
        self.max_samples_ = grid[best]
        self.mean_weight_ = max(0.0, float(1 - weights.sum()))
        self.weights_ = weights
        return self

    def _size(self, law: type[RankLaw], X: Any) -> int | float:
        """The number of rows drawn, or their probability, as `max_samples` gives it."""
        n, k = X.shape[0], self.n_neighbors
        max_samples: Any = self.max_samples
        if max_samples == "rate":
            if self.metric == "precomputed":
                raise ValueError(
                    "max_samples='rate' requires the number of features, which is unknown for "
                    "precomputed distances: pass an int, a float or 'loo'."
                )
            max_samples = rate_max_samples(n, X.shape[1], k)
        return law.size_from(max_samples, n, k)

    def _grid(self, law: type[RankLaw], X: Any) -> tuple[list[int | float], bool]:
        """(The sizes to compare, whether smaller ones were left out for their cost)."""
        n, k = X.shape[0], self.n_neighbors
        if k > n - 1:
            raise ValueError(
                f"max_samples='loo' leaves n_samples - 1 = {n - 1} rows for n_neighbors={k}."
            )
        if self.max_samples_grid is not None:
            return grid_from_user(law, self.max_samples_grid, n, k), False
        n_features = None if self.metric == "precomputed" else X.shape[1]
        return default_grid(law, n, k, self.weight_tol, n_features)

    def _build_search(self, points: TrainingPoints, n_neighbors: int) -> NeighborSearch:
        n_points = points.X.shape[0]
        nearest = index_points(
            points.X,
            min(n_neighbors, n_points),
            algorithm=self.algorithm,
            leaf_size=self.leaf_size,
            metric=self.metric,
            p=self.p,
            metric_params=self.metric_params,
            n_jobs=self.n_jobs,
        )
        return NeighborSearch(nearest, n_points, points.counts)

    # ------------------------------------------------------------------------------- Predict

    def _average(self, X: MatrixLike) -> np.ndarray:
        """The weighted averages of the target columns, of shape (n_outputs, n_queries)."""
        check_is_fitted(self)
        X = _rescale(validate_data(self, X, reset=False, **self._validation()), self._exponent)
        averages = np.empty((len(self._point_sums), X.shape[0]))
        for rows, block in self._neighbor_search.blocks(X, len(self.weights_)):
            for average, sums in zip(averages, self._point_sums):
                average[rows] = block.targets(sums) @ self.weights_
        averages += (self.mean_weight_ * self._means)[:, None]
        return averages


def range_exponent(values: np.ndarray) -> int:
    """0 for numbers of ordinary size; otherwise the exponent of two of the largest of them."""
    largest = max(values.max(initial=0.0), -values.min(initial=0.0))
    exponent = int(np.frexp(largest)[1])
    return exponent if abs(exponent) > _SAFE_EXPONENT else 0


def _rescale(X: Any, exponent: int) -> Any:
    """X times ``2 ** -exponent``."""
    if not exponent:
        return X
    with np.errstate(over="ignore"):  # infinite distances are reported by the search
        if sp.issparse(X):
            X = X.copy()
            X.data = np.ldexp(X.data, -exponent)
            return X
        return np.ldexp(X, -exponent)
