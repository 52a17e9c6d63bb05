"""The fit of bagged nearest neighbours, and their weighted averages.

The rows around a point, in order of distance, get weights that do not depend on the data
[Bach, §10.1.2]: one neighbour query and one product with the weights compute the limit of bagging
as the number of replications grows. Nothing is resampled.
"""

import inspect
import itertools
from abc import ABCMeta, abstractmethod
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, MultiOutputMixin
from sklearn.neighbors import VALID_METRICS
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._compat import Interval, RealNotInt, StrOptions
from sklearn_ensemble_theory._fitting import fit_context
from sklearn_ensemble_theory._progress import warn_user
from sklearn_ensemble_theory._rows import validate_data
from sklearn_ensemble_theory._scaling import range_exponent
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
from sklearn_ensemble_theory.averaging._neighbors.weighted_rows import (
    RowWeights,
    WeightedSearch,
    filled_share,
    weighted_loo_errors,
)

# Metrics for which distances scale with X: their X is brought into a range where squares neither
# overflow nor vanish, by a power of two, which is exact.
_HOMOGENEOUS = {
    *("minkowski", "p", "euclidean", "l2", "sqeuclidean"),
    *("manhattan", "l1", "cityblock", "chebyshev", "infinity"),
}
# Metrics without merged rows: precomputed distances, and those that may be fitted to the training
# rows, so that merging equal rows would change them.
_FITTED = {"seuclidean", "mahalanobis"}
_UNMERGED = {"precomputed", *_FITTED}


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
    def fit(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Compute the weights and index the training rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows; (n_samples, n_samples) distances with `metric="precomputed"`.

        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets, or class labels.

        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights. Whole numbers count rows: weight w is w equal rows, with any
            `bootstrap`. Other numbers count by their ratios and are divided by their mean; with
            `bootstrap=True` the probability of a draw is proportional to the weight, and with
            `bootstrap="bernoulli"` and `n_neighbors=1` a row of weight w is drawn with probability
            1 - (1-q)^w. Rows of weight 0 are dropped.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If a parameter cannot be used with the data; the message names the parameter. If
            weights are neither whole numbers nor equal where a part of a row cannot be drawn.
        """
        X, y = validate_data(
            self, X, y, multi_output=True, **self._target_validation, **self._validation()
        )
        if inspect.isclass(self.metric):
            raise ValueError(f"metric must be a name or a function of two rows, got {self.metric}.")
        n_given, k = X.shape[0], self.n_neighbors
        law = RANK_LAWS[self.bootstrap]
        rows = RowWeights.of(sample_weight, X, law, k)
        dropped = not isinstance(rows.rows, slice)
        targets = self._encode_targets(y[rows.rows])
        columns, weight, n = targets.columns, rows.weight, rows.n_rows
        if dropped and self.metric == "precomputed":
            # Distances are given to all rows, also later.
            weight = rows.of_all(n_given)
            columns = np.zeros((len(columns), n_given))
            columns[:, rows.rows] = targets.columns
        elif dropped:
            X = X[rows.rows]
        if k > n:
            whose = "" if sample_weight is None else ", as many as sample_weight counts"
            raise ValueError(f"n_neighbors={k} must be at most n_samples={n}{whose}.")
        if weight is not None and self.metric in _FITTED and not self.metric_params:
            raise ValueError(
                f"metric={self.metric!r} with sample_weight requires metric_params: the metric is "
                "otherwise fitted to rows of equal weight."
            )
        by_loo = self.max_samples == "loo"
        grid, truncated = self._grid(law, n, X) if by_loo else ([self._size(law, n, X)], False)

        exponent = 0
        if self.metric in _HOMOGENEOUS:
            exponent = range_exponent(X.data if sp.issparse(X) else X)
            X = _rescale(X, exponent)
        points = TrainingPoints.of(X, columns, self.metric not in _UNMERGED, weight)

        best, loo_path = 0, None
        if by_loo:
            errors = self._loo_errors(X, columns, points, weight, rows, law, grid)
            best = best_size(errors)
            if best == 0 and truncated:
                warn_user(
                    "The leave-one-out error is smallest at the smallest max_samples compared, "
                    f"{grid[0]}. Pass smaller values as max_samples_grid to include them; they "
                    "need more neighbors and more time.",
                    UserWarning,
                )
            if targets.exponent:
                with np.errstate(over="ignore"):
                    errors = np.ldexp(errors, 2 * targets.exponent)
            loo_path = {"max_samples": np.array(grid), "error": errors}

        best_law = law(n, grid[best], k)
        weights = rank_weights(best_law, self.weight_tol)
        search = self._build_search(points, len(weights) + 1, weight is not None)

        # Everything has been computed: from here on nothing fails.
        if loo_path is not None:
            self.loo_path_ = loo_path
        elif hasattr(self, "loo_path_"):
            del self.loo_path_
        for name, value in targets.attributes.items():
            setattr(self, name, value)
        self._neighbor_search, self._exponent = search, exponent
        self._share = None if weight is None else filled_share(best_law, rows, self.weight_tol)
        self._point_sums, self._total = points.sums, n
        self._means = points.sums.sum(axis=1) / n
        self._target_exponent = targets.exponent
        self.n_samples_fit_ = X.shape[0]
        self.max_samples_ = grid[best]
        self.mean_weight_ = max(0.0, float(1 - weights.sum()))
        self.weights_ = weights
        return self

    def _loo_errors(
        self,
        X: Any,
        columns: np.ndarray,
        points: TrainingPoints,
        weight: np.ndarray | None,
        rows: RowWeights,
        law: type[RankLaw],
        grid: list[int | float],
    ) -> np.ndarray:
        """The leave-one-out errors of the sizes of the grid."""
        n, k, tol = rows.n_rows, self.n_neighbors, self.weight_tol
        if weight is None:
            W = loo_weights(law, grid, n, k, tol)
            return loo_errors(self._build_search(points, len(W) + 2), X, columns, points, W)
        laws = [law(n - 1, law.size_without_a_row(size, n, k), k) for size in grid]
        shares = [filled_share(one, rows, tol) for one in laws]
        search = self._build_search(points, n, weighted=True)
        return weighted_loo_errors(search, X, columns, points, (weight, rows.whole), shares)

    def _size(self, law: type[RankLaw], n: int, X: Any) -> int | float:
        """The number of rows drawn, or their probability, as `max_samples` gives it."""
        k = self.n_neighbors
        max_samples: Any = self.max_samples
        if max_samples == "rate":
            if self.metric == "precomputed":
                raise ValueError(
                    "max_samples='rate' requires the number of features, which is unknown for "
                    "precomputed distances: pass an int, a float or 'loo'."
                )
            max_samples = rate_max_samples(n, X.shape[1], k)
        return law.size_from(max_samples, n, k)

    def _grid(self, law: type[RankLaw], n: int, X: Any) -> tuple[list[int | float], bool]:
        """(The sizes to compare, whether smaller ones were left out for their cost)."""
        k = self.n_neighbors
        if k > n - 1:
            raise ValueError(
                f"max_samples='loo' leaves n_samples - 1 = {n - 1} rows for n_neighbors={k}."
            )
        if self.max_samples_grid is not None:
            return grid_from_user(law, self.max_samples_grid, n, k), False
        n_features = None if self.metric == "precomputed" else X.shape[1]
        return default_grid(law, n, k, self.weight_tol, n_features)

    def _build_search(
        self, points: TrainingPoints, n_neighbors: int, weighted: bool = False
    ) -> Any:
        """A `NeighborSearch`, or a `WeightedSearch`, among the points."""
        n_points = points.X.shape[0]
        try:  # what a query would refuse is refused by the fit
            with np.errstate(over="ignore", invalid="ignore"):
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
                nearest.kneighbors(points.X[:1], 1)
        except (TypeError, AttributeError, ValueError) as error:
            raise ValueError(
                f"metric={self.metric!r} cannot be used with algorithm={self.algorithm!r}, "
                f"p={self.p!r} and metric_params={self.metric_params!r}: {error}."
            ) from error
        if weighted and points.counts is not None:
            return WeightedSearch(nearest, n_points, points.counts)
        return NeighborSearch(nearest, n_points, points.counts)

    # ------------------------------------------------------------------------------- Predict

    def _average(self, X: MatrixLike) -> np.ndarray:
        """The weighted averages of the target columns, of shape (n_outputs, n_queries)."""
        check_is_fitted(self)
        X = _rescale(validate_data(self, X, reset=False, **self._validation()), self._exponent)
        averages = np.empty((len(self._point_sums), X.shape[0]))
        if self._share is not None:
            enough = self._share.enough(self._total)
            for rows, near in self._neighbor_search.weighted_blocks(X, enough):
                groups = near.weights(self._share, self._total)
                for average, sums, mean in zip(averages, self._point_sums, self._means):
                    average[rows] = near.averages(groups, sums, mean)
            return averages
        for rows, block in self._neighbor_search.blocks(X, len(self.weights_)):
            for average, sums in zip(averages, self._point_sums):
                average[rows] = block.targets(sums) @ self.weights_
        averages += (self.mean_weight_ * self._means)[:, None]
        return averages


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
