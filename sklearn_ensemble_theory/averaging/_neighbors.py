"""Bagging of k-nearest neighbours with infinitely many replications, in closed form.

Around any point the training rows, in order of distance, get weights that do not depend on the data
[Bach, §10.1.2]: one neighbour query and one product with the weights compute the limit of bagging
as the number of replications grows. Nothing is resampled.

Leaving row i out leaves n-1 rows, whose order around x_i is the order of all n rows without x_i
itself. One query of the training rows among themselves therefore gives the targets by rank for
every i, and the leave-one-out predictions of all sizes s at once are these n x R targets times an
R x sizes matrix of weights.
"""

import inspect
import itertools
from collections.abc import Callable, Iterator, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, MultiOutputMixin
from sklearn.neighbors import VALID_METRICS
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._blocks import by_chunks
from sklearn_ensemble_theory._compat import Interval, RealNotInt, StrOptions
from sklearn_ensemble_theory._copies import warn_of_copies
from sklearn_ensemble_theory._documentation import documented
from sklearn_ensemble_theory._door import ReadsOnce, fit_context
from sklearn_ensemble_theory._folds import Split
from sklearn_ensemble_theory._learners import GROUPS_ON_REQUEST, largest_column
from sklearn_ensemble_theory._rows import (
    group_codes,
    normalised_weights,
    one_column,
    positive_weights,
    validate_data,
)
from sklearn_ensemble_theory._running import warn_user
from sklearn_ensemble_theory._scaling import range_exponent, shifted_by
from sklearn_ensemble_theory._scores import ClassifierMixin, RegressorMixin
from sklearn_ensemble_theory._typing import ArrayLike, MatrixLike

from ._draw_options import Bernoulli
from ._neighbor_search import (
    LeftOut,
    LeftOutGroups,
    LeftOutRows,
    NeighborSearch,
    TrainingPoints,
)
from ._neighbor_weights import (
    RANK_LAWS,
    RankLaw,
    count_ranks,
    filled_share,
    rank_weights,
)
from ._sampling import draws_of

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

# Beyond this sum, whole numbers of sample weights count by their ratios only, like others.
MOST_COPIES = 2**40
# Neighbours beyond the rank after which the weights sum to at most this are not used.
WEIGHT_TOL = 1e-12
# Draws of at least a row with a smaller probability are not told apart by averages over all draws.
SMALLEST_DRAWN = 1e-8
GRID_SIZE = 32
# The default grid of large problems starts where this many ranks carry the weight: smaller sizes
# need more ranks, up to all n rows at s = 1, and the cost of the query is in proportion.
GRID_RANKS = 1000
# Where rows count as several, they have as many ranks, each a number in memory for every size.
MOST_EACH = 100

CONSTRAINTS: dict[str, list] = {
    "n_neighbors": [Interval(Integral, 1, None, closed="left")],
    "max_samples": [
        Interval(Integral, 1, None, closed="left"),
        Interval(RealNotInt, 0, 1, closed="right"),
        StrOptions({"rate", "loo"}),
        "array-like",
    ],
    "bootstrap": ["boolean", StrOptions({"bernoulli"}), Bernoulli],
    "algorithm": [StrOptions({"auto", "ball_tree", "kd_tree", "brute"})],
    "leaf_size": [Interval(Integral, 1, None, closed="left")],
    "p": [Interval(Real, 0, None, closed="right"), None],
    "metric": [StrOptions(set(itertools.chain(*VALID_METRICS.values()))), callable],
    "metric_params": [dict, None],
    "n_jobs": [Integral, None],
}

NEIGHBORS_TEXTS = {
    "parameters": """
        Parameters
        ----------
        n_neighbors : int, default=1
            Number k of neighbours that each bagged fit averages.
        max_samples : int, float, "rate", "loo" or array-like, default="rate"
            Number s of rows that are drawn for each bagged fit.

            - int: s itself. At most the number of rows, but with `bootstrap=True`.
            - float in (0, 1]: a share of the rows, s = max(1, int(share * n_samples)).
            - "rate": s = int(n_samples ** (d / (d + 2))) for d features, which balances bias and
              variance in the bound of [Bach, §10.1.2] up to a constant.
            - a list of int or of float: the one with the smallest leave-one-out error; see
              `cv_results_`.
            - "loo": the same for about 32 sizes in geometric progression up to n_samples, and the
              size of "rate". It starts at `n_neighbors`, or, for more than 1,000 rows, at the size
              for which 1,000 neighbours have the weight, because smaller sizes need more.

            With `bootstrap="bernoulli"` a float is the probability q of each row, and the other
            values give q = s / n_samples.
        bootstrap : bool, "bernoulli" or Bernoulli, default=False
            How rows are drawn. False: without replacement [Bach, §10.1.2]. True: s draws with
            replacement, where a row drawn c times counts as c neighbours. "bernoulli": each row
            independently with probability q [Ghoshdastidar, theorem En.2]. A draw of no rows, of
            probability (1-q)^n, is repeated; :class:`~sklearn_ensemble_theory.averaging.Bernoulli`
            has other rules in its parameter `empty`.
        algorithm : {"auto", "ball_tree", "kd_tree", "brute"}, default="auto"
            How neighbours are found: by a ball tree, a k-d tree, or the distances to all rows.
            `"auto"` chooses by the metric and the rows.
        leaf_size : int, default=30
            Leaf size of the trees.
        p : float, default=2
            Power of the Minkowski metric.
        metric : str or callable, default="minkowski"
            Any metric of :class:`sklearn.neighbors.NearestNeighbors`. With "precomputed", X
            contains distances to the training rows, as a dense array or as the sparse graph of a
            :class:`sklearn.neighbors.KNeighborsTransformer` with enough neighbours.
        metric_params : dict, default=None
            Additional keyword arguments of the metric.
        n_jobs : int, default=None
            Number of threads of the neighbour query. The predictions do not depend on it.
        """,
    "of_queries": """
        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_queries, n_features)
            Rows to predict; (n_queries, n_samples_fit) distances with `metric="precomputed"`.
        """,
    "attributes": """
        max_samples_ : int or float
            The number of rows drawn, s; the probability q with `bootstrap="bernoulli"`.
        weights_ : ndarray of shape (n_ranks,)
            Weight of the i-th nearest training row, never increasing with i.
        mean_weight_ : float
            Weight of the overall mean, of y or of the class indicators: one minus the sum of
            `weights_`.
        cv_results_ : dict of arrays
            With "loo" or a list: "max_samples", the sizes compared, ascending, and "mean_score",
            the leave-one-out error of each, summed over the outputs. It is the mean squared error,
            or for classes the Brier score, the mean of sum_c (p_c - 1{y = c})^2.
        n_samples_fit_ : int
            Number of training rows, without rows of weight 0 (with them for precomputed distances).
        %(names_in_fit)s
        """,
    "raises": """
        Raises
        ------
        ValueError
            If a parameter is outside its range, or `n_neighbors` is above the number of rows drawn.
            If distances are not finite. If a precomputed graph contains fewer neighbours than the
            weights require.
        """,
    "references": """
        References
        ----------
        %(Bach)s

        D. Ghoshdastidar. *Statistical Foundations of Learning*, lecture "Ensemble methods".
        Technical University of Munich.

        G. Biau, F. Cérou and A. Guyader (2010). "On the rate of convergence of the bagged nearest
        neighbor estimate". *Journal of Machine Learning Research* 11.
        """,
}
"""Text that the two classes share."""


class RankedRows(NamedTuple):
    """Bagged neighbours as tables, in the units of X and y."""

    points: np.ndarray  # (n, p): the training rows, equal ones after each other
    targets: np.ndarray  # (n, K): the targets, or shares of the classes, their means of equal rows
    weights: np.ndarray  # (R,): of the nearest row, the second, ...
    rest: np.ndarray  # (K,): what is added for all other rows


class BaseBaggedNearestNeighbors(MultiOutputMixin, ReadsOnce, BaseEstimator):
    """The fit and the weighted averages of regressor and classifier; not for direct use."""

    classes_: np.ndarray | list[np.ndarray]

    _parameter_constraints: ClassVar[dict] = CONSTRAINTS

    def __init__(
        self,
        n_neighbors: int = 1,
        *,
        max_samples: int | float | Literal["rate", "loo"] | ArrayLike = "rate",
        bootstrap: bool | Literal["bernoulli"] | Bernoulli = False,
        algorithm: Literal["auto", "ball_tree", "kd_tree", "brute"] = "auto",
        leaf_size: int = 30,
        p: float | None = 2,
        metric: str | Callable[..., float] = "minkowski",
        metric_params: dict[str, Any] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.max_samples = max_samples
        self.bootstrap = bootstrap
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

    def _validation(self) -> dict[str, Any]:
        allow_nan = "allow-nan" if self.metric == "nan_euclidean" else True
        return {
            "accept_sparse": "csr",
            "dtype": np.float64,
            "order": "C",
            "ensure_all_finite": allow_nan,
        }

    __metadata_request__fit = GROUPS_ON_REQUEST

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Compute the weights and index the training rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows; (n_samples, n_samples) distances with `metric="precomputed"`.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets, or class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights. Whole numbers count rows: weight w is w equal rows, with any
            `bootstrap`. Other numbers count by their ratios and are divided by their mean. With
            `bootstrap=True` the probability of a draw is proportional to the weight. With
            `bootstrap="bernoulli"` and `n_neighbors=1` a row of weight w is drawn with probability
            1 - (1-q)^w. Rows of weight 0 are dropped. The leave-one-out error leaves out a row with
            its whole weight.
        groups : array-like of shape (n_samples,), default=None
            Which rows belong together, such as copies of a row or the visits of a patient. The
            leave-one-out error, by which "loo" and lists choose `max_samples`, then leaves out each
            row with its whole group. Other values of `max_samples` make no use of them.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If a parameter cannot be used with the data; the message names the parameter. If
            weights are neither whole numbers nor equal where a part of a row cannot be drawn. If
            there is only one group, or too few rows outside of the largest group.
        """
        is_regressor = isinstance(self, RegressorMixin)
        X, y = validate_data(
            self, X, y, multi_output=True, y_numeric=is_regressor, **self._validation()
        )
        if inspect.isclass(self.metric):
            raise ValueError(f"metric must be a name or a function of two rows, got {self.metric}.")
        n_given, k, draws = X.shape[0], self.n_neighbors, draws_of(self.bootstrap)
        codes = None if groups is None else group_codes(groups, X)
        law = RANK_LAWS[draws.scheme.bootstrap]
        self._empty = draws.empty
        kept, weight, n, is_whole = _counted_rows(sample_weight, X, law, k)
        y, exponent = y if isinstance(kept, range) else y[kept], 0
        if is_regressor:
            y = np.asarray(y, dtype=np.float64)
            # Squares of errors should neither overflow nor vanish; a power of two is exact.
            exponent = range_exponent(y)
            targets = np.ascontiguousarray(np.ldexp(y.reshape(len(y), -1).T, -exponent))
            self._target_shape = y.shape[1:]
        else:
            targets, self.classes_ = _class_indicators(y)
        if not isinstance(kept, range) and self.metric == "precomputed":
            # Distances are given to all rows, also later: rows of weight 0 stay, without weight.
            some_weight, some_targets = weight, targets
            weight, targets = np.zeros(n_given), np.zeros((len(targets), n_given))
            weight[kept] = 1.0 if some_weight is None else some_weight
            targets[:, kept] = some_targets
        elif not isinstance(kept, range):
            X = X[kept]
            codes = None if codes is None else codes[kept]
        if k > n:
            whose = "" if sample_weight is None else ", as many as sample_weight counts"
            raise ValueError(f"n_neighbors={k} must be at most n_samples={n}{whose}.")
        if weight is not None and self.metric in _FITTED and not self.metric_params:
            raise ValueError(
                f"metric={self.metric!r} with sample_weight requires metric_params: the metric is "
                "otherwise fitted to rows of equal weight."
            )
        n_features = None if self.metric == "precomputed" else X.shape[1]
        sizes, truncated = self._sizes(law, n, len(kept), n_features)

        self._exponent = 0
        if self.metric in _HOMOGENEOUS:
            self._exponent = range_exponent(X.data if sp.issparse(X) else X)
            X = _rescale(X, self._exponent)
        self._zeros = np.zeros(len(targets))
        if not is_regressor:  # the first class of each output
            several = self.classes_ if isinstance(self.classes_, list) else [self.classes_]
            self._zeros[np.cumsum([0, *map(len, several[:-1])])] = 1.0
        points = TrainingPoints.of(X, targets, self.metric not in _UNMERGED, weight)

        self.__dict__.pop("cv_results_", None)  # of an earlier fit
        best, given = 0, (X, targets, points, weight, codes, is_whole, n, law)
        if self._is_chosen:
            if codes is None:
                warn_of_copies(X, targets.T)
            share = normalised_weights(weight, targets.shape[1])
            errors = np.zeros(len(sizes))
            for rows, output, found in self._left_out_averages(*given, sizes):
                errors += share[rows] @ (found - targets[output, rows][:, None]) ** 2
            best = best_size(errors)
            if best == 0 and truncated:
                warn_user(
                    "The leave-one-out error is smallest at the smallest max_samples compared, "
                    f"{sizes[0]}. Pass a list with smaller values as max_samples to include them; "
                    "they need more neighbors and more time.",
                    UserWarning,
                )
            if exponent:
                with np.errstate(over="ignore"):
                    errors = np.ldexp(errors, 2 * exponent)
            self.cv_results_ = {"max_samples": np.array(sizes), "mean_score": errors}

        if self.__dict__.pop("_keeps_left_out", False):
            self._left_out = np.full(targets.shape, np.nan)
            for rows, output, found in self._left_out_averages(*given, [sizes[best]]):
                self._left_out[output, rows] = found[:, 0]

        best_law = law(n, sizes[best], k)
        weights = rank_weights(best_law, WEIGHT_TOL)
        self._by_rank, self._empty_share = weights, float(best_law.empty_share(n))
        self._neighbor_search = self._search(points, len(weights) + 1)
        self._share = None if weight is None else filled_share(best_law, is_whole, WEIGHT_TOL)
        self._point_sums, self._total = points.sums, n
        self._means = points.sums.sum(axis=1) / n
        self._target_exponent = exponent
        self.n_samples_fit_ = X.shape[0]
        self.max_samples_ = sizes[best]
        # The weights of rows, where no draw is empty, and that of the mean, by the same rule.
        mean_weight = max(0.0, float(1 - weights.sum()))
        self.weights_ = without_empty_draws(weights, 0.0, 0.0, self._empty_share, self._empty)
        self.mean_weight_ = max(
            0.0, float(without_empty_draws(mean_weight, 1.0, 0.0, self._empty_share, self._empty))
        )
        return self

    def __held_out_predictions__(
        self, X: Any, y: Any, splits: list[Split], **params: Any
    ) -> np.ndarray | None:
        """Each row by the others, in closed form, or by those of other groups; by no splits."""
        if np.ndim(y) > 1 or self.metric == "precomputed" or len(y) <= self.n_neighbors:
            return None
        self._keeps_left_out = True
        try:
            self.fit(X, y, **params)
        finally:
            self.__dict__.pop("_keeps_left_out", None)
        found = self.__dict__.pop("_left_out")
        if isinstance(self, RegressorMixin):
            return shifted_by(found[0], self._target_exponent)
        found = np.maximum(found, 0.0)
        return np.ascontiguousarray((found / found.sum(axis=0)).T)

    def __ranked_rows__(self) -> RankedRows | None:
        """The fit as tables, for Euclidean distances and rows that count 1 each; None otherwise."""
        check_is_fitted(self)
        search, p = self._neighbor_search, 2 if self.metric == "euclidean" else self.p
        is_euclidean = self.metric in ("euclidean", "minkowski") and p == 2
        several = isinstance(getattr(self, "classes_", None), list)
        if self._share is not None or self._empty_share or sp.issparse(search.X) or several:
            return None
        if not is_euclidean or self.metric_params:
            return None
        exponent = self._target_exponent
        counts = np.ones(search.n_points) if search.counts is None else search.counts
        row = np.repeat(np.arange(search.n_points), counts.astype(np.intp))
        means = np.ldexp(self._point_sums / counts, exponent).T
        rest = max(0.0, 1 - self._by_rank.sum()) * np.ldexp(self._means, exponent)
        return RankedRows(np.ldexp(search.X, self._exponent)[row], means[row], self._by_rank, rest)

    def _left_out_averages(
        self,
        X: Any,
        targets: np.ndarray,
        points: TrainingPoints,
        weight: np.ndarray | None,
        groups: np.ndarray | None,
        is_whole: bool,
        n: int,
        law: type[RankLaw],
        sizes: Sequence[int | float],
    ) -> Iterator[tuple[np.ndarray, int, np.ndarray]]:
        """Yield (rows, output, predictions of each size) without each row, or with its group."""
        k, empty, zeros = self.n_neighbors, self._empty, self._zeros

        def laws_without(count):
            return [law(n - count, law.size_without(count, size, n, k), k) for size in sizes]

        if weight is None and groups is None:
            laws = laws_without(1)
            W = weights_by_rank_and_size(laws, WEIGHT_TOL)
            search = self._search(points, len(W) + 2)
            yield from left_out_averages(search, X, targets, points, W, laws, empty, zeros)
            return
        # How many rows are left out with each row, on which the weights by rank depend.
        n_rows = targets.shape[1]
        kept, counts = np.arange(n_rows), np.ones(n_rows)
        left_out: LeftOut | None = None
        if groups is not None:
            groups = np.unique(groups, return_inverse=True)[1].reshape(-1)
            counts = np.bincount(groups)[groups]
        if weight is None:
            points = TrainingPoints.of(X, targets, False, None)
        elif groups is None:
            # A row that stands for several is left out with all of them.
            kept, left_out = np.flatnonzero(weight), LeftOutRows(points.of_row, weight, targets)
        else:
            kept, left_out = (
                np.flatnonzero(weight),
                LeftOutGroups(points.of_row, groups, weight, targets),
            )
        if left_out is not None and is_whole:
            counts = left_out.total()
        if n - counts[kept].max() < k:
            of_rows = "sample_weight has a row that counts as"
            what = of_rows if groups is None else "groups has a group of"
            raise ValueError(
                f"{what} {counts[kept].max():.0f} of {n} rows; the others must be at least "
                f"n_neighbors={k}."
            )
        search = self._search(points, n)
        if left_out is not None:
            counts = _few_counts(counts, n)
        for count in np.unique(counts[kept]).astype(int).tolist():
            laws, rows = laws_without(count), kept[counts[kept] == count]
            if weight is None or left_out is None:
                W = weights_by_rank_and_size(laws, WEIGHT_TOL)
                yield from left_out_averages(
                    search, X, targets, points, W, laws, empty, zeros, groups=groups, rows=rows
                )
            else:
                given = targets, points, weight, is_whole, left_out, rows, laws, empty, zeros
                yield from weighted_left_out_averages(search, X, *given)

    @property
    def _is_chosen(self) -> bool:
        """Whether `max_samples` is chosen by the leave-one-out error."""
        given = self.max_samples
        return given == "loo" if isinstance(given, str) else np.ndim(given) > 0

    def _sizes(
        self, law: type[RankLaw], n: int, n_rows: int, n_features: int | None
    ) -> tuple[list[int | float], bool]:
        """The numbers of rows drawn to compare, or the only one, and whether some were left out."""
        k = self.n_neighbors
        max_samples: Any = self.max_samples
        if self._is_chosen:
            if k > n - 1:
                raise ValueError(
                    f"max_samples={max_samples!r} leaves n_samples - 1 = {n - 1} rows for "
                    f"n_neighbors={k}."
                )
            if not isinstance(max_samples, str):
                return grid_from_user(law, max_samples, n, k), False
            return default_grid(law, n, k, WEIGHT_TOL, n_features, n / n_rows)
        if isinstance(max_samples, str):  # "rate"
            if n_features is None:
                raise ValueError(
                    "max_samples='rate' requires the number of features, which is unknown for "
                    "precomputed distances: pass an int, a float or 'loo'."
                )
            max_samples = rate_max_samples(n, n_features, k)
        return [law.size_from(max_samples, n, k)], False

    def _search(self, points: TrainingPoints, n_neighbors: int) -> NeighborSearch:
        return NeighborSearch(
            points,
            n_neighbors,
            algorithm=self.algorithm,
            leaf_size=self.leaf_size,
            metric=self.metric,
            p=self.p,
            metric_params=self.metric_params,
            n_jobs=self.n_jobs,
        )

    def _average(self, X: MatrixLike) -> np.ndarray:
        """The weighted averages of the target columns, of shape (n_outputs, n_queries)."""
        check_is_fitted(self)
        X = _rescale(validate_data(self, X, reset=False, **self._validation()), self._exponent)
        search, averages = self._neighbor_search, np.empty((len(self._point_sums), X.shape[0]))
        if self._share is not None:
            # With unequal weights the weights by rank depend on the point.
            enough = self._share.enough(self._total)
            for rows, near in search.weighted_blocks(X, enough):
                filled = near.filled(self._share, self._total, enough)
                for average, sums, mean in zip(averages, self._point_sums, self._means):
                    average[rows] = near.means(sums).averaged(filled, mean)
        else:
            for rows, block in search.ranked_blocks(X, len(self._by_rank)):
                for average, sums in zip(averages, self._point_sums):
                    average[rows] = block.targets(sums) @ self._by_rank
            averages += (max(0.0, 1 - self._by_rank.sum()) * self._means)[:, None]
        means, zeros = self._means[:, None], self._zeros[:, None]
        return without_empty_draws(averages, means, zeros, self._empty_share, self._empty)


@documented(NEIGHBORS_TEXTS)
class BaggedNearestNeighborsRegressor(RegressorMixin, BaseBaggedNearestNeighbors):
    """Bagged nearest-neighbour regressor, averaged over infinitely many subsamples in closed form.

    This is the limit of bagging `KNeighborsRegressor(n_neighbors)` as the number of replications
    grows. It is computed without resampling: the i-th nearest training row of a point has a weight
    that depends only on its rank i, given by
    :func:`~sklearn_ensemble_theory.averaging.bagged_nearest_neighbors_weights`. A prediction is one
    neighbour query and one scalar product. `max_samples` controls the smoothness of the fit. At s =
    n it is the mean of the k nearest neighbours (low bias, high variance); at s = n_neighbors it is
    the mean of all rows.

    %(parameters)s

    Attributes
    ----------
    %(attributes)s

    %(raises)s

    See Also
    --------
    BaggedNearestNeighborsClassifier : The same for class labels.
    bagged_nearest_neighbors_weights : The weights by rank.
    bounds.bagged_neighbors_risk_bound : The bound that "rate" balances.

    Notes
    -----
    Rows at equal distance share their weights, so a prediction does not depend on the order of the
    rows. A row whose `sample_weight` is the whole number w counts as w equal rows; other weights
    count by their ratios, if the scheme can draw a part of a row. If several sizes have the same
    error up to rounding, the smallest is chosen. :ref:`weights-by-rank` in the user guide has the
    formulas.

    *Cost.* `fit` builds the search tree, O(d n log n). `predict` finds the R = `len(weights_)`
    nearest neighbours of each query, R log R each at best, plus R per output. R is about
    n_neighbors (n/s) log(1e12): the weights beyond sum to at most 1e-12. "loo" finds the R
    neighbours of the smallest size for all n training rows and multiplies by all sizes' weights,
    O(n R (log R + sizes x outputs)). Memory beyond the data is bounded by blocks of 2^19 neighbours
    (about 15 MB). It is larger only if a single row has more tied neighbours than that.

    %(references)s

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_ensemble_theory import BaggedNearestNeighborsRegressor
    >>> X = np.arange(6.0).reshape(-1, 1)
    >>> y = np.array([0.0, 1.0, 4.0, 9.0, 16.0, 25.0])
    >>> model = BaggedNearestNeighborsRegressor(max_samples=3).fit(X, y)
    >>> model.weights_.round(3).tolist()
    [0.5, 0.3, 0.15, 0.05]
    >>> model.predict([[0.2], [4.9]]).round(3).tolist()
    [1.35, 18.85]
    """

    @by_chunks
    def predict(self, X: MatrixLike) -> np.ndarray:
        """Predict the weighted average of the targets around each row.

        %(of_queries)s

        Returns
        -------
        y : ndarray of shape (n_queries,) or (n_queries, n_outputs)
            Predicted targets.
        """
        averages = self._average(X)
        means = shifted_by(averages.T, self._target_exponent)
        return means.reshape(-1, *self._target_shape)


@documented(NEIGHBORS_TEXTS)
class BaggedNearestNeighborsClassifier(ClassifierMixin, BaseBaggedNearestNeighbors):
    """Bagged nearest-neighbour classifier, averaged over infinitely many subsamples in closed form.

    This is the limit of bagging `KNeighborsClassifier(n_neighbors)` and averaging the class
    probabilities, as the number of replications grows. It is computed without resampling: the i-th
    nearest training row of a point gives its class a weight that depends only on its rank i, given
    by :func:`~sklearn_ensemble_theory.averaging.bagged_nearest_neighbors_weights`. For
    `n_neighbors=1` it is also the limit of the majority vote. It is universally consistent if s/n
    -> 0 and s -> infinity [Ghoshdastidar, theorem En.2], unlike a single nearest neighbour.

    %(parameters)s
    ties : {"first", "last"}, default="first"
        Which of several classes with the same, largest probability (within 1e-12) is
        predicted: the first one in `classes_`, as in scikit-learn, or the last one. Of two classes
        "last" is 1{mean >= 1/2} [Ghoshdastidar].

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,) or list of such
        The class labels, sorted; a list of arrays if y has several columns.
    %(attributes)s

    %(raises)s

    See Also
    --------
    BaggedNearestNeighborsRegressor : The same for real targets; ties, weights, cost and memory are
        described there.
    bagged_nearest_neighbors_weights : The weights by rank.

    Notes
    -----
    *The score of "loo"* is the Brier score. It is strictly proper, like the log loss, but stays
    finite if a large s gives the true class the probability 0. The error rate is constant over
    ranges of s and would not determine s.

    *Predicted class.* The first class (with `ties="last"` the last) whose probability is within
    1e-12 of the largest: rounding does not decide a tie.

    *Cost.* As for the regressor with the classes as outputs: O(d n log n) to fit, R log R at best
    and R x classes for each prediction. The class indicators of the training rows take n_samples x
    n_classes numbers of memory. The weights without replacement are from [Bach, §10.1.2]; [Biau,
    Cérou and Guyader, 2010] study their rate of convergence.

    %(references)s

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_ensemble_theory import BaggedNearestNeighborsClassifier
    >>> X = np.arange(6.0).reshape(-1, 1)
    >>> model = BaggedNearestNeighborsClassifier(max_samples=3).fit(X, list("aababb"))
    >>> model.predict([[1.8], [3.9]]).tolist()
    ['a', 'b']
    >>> model.predict_proba([[1.8], [3.9]]).round(3).tolist()
    [[0.5, 0.5], [0.3, 0.7]]
    """

    _parameter_constraints: ClassVar[dict] = {
        **CONSTRAINTS,
        "ties": [StrOptions({"first", "last"})],
    }

    def __init__(
        self,
        n_neighbors: int = 1,
        *,
        max_samples: int | float | Literal["rate", "loo"] | ArrayLike = "rate",
        bootstrap: bool | Literal["bernoulli"] | Bernoulli = False,
        algorithm: Literal["auto", "ball_tree", "kd_tree", "brute"] = "auto",
        leaf_size: int = 30,
        p: float | None = 2,
        metric: str | Callable[..., float] = "minkowski",
        metric_params: dict[str, Any] | None = None,
        n_jobs: int | None = None,
        ties: Literal["first", "last"] = "first",
    ) -> None:
        super().__init__(
            n_neighbors,
            max_samples=max_samples,
            bootstrap=bootstrap,
            algorithm=algorithm,
            leaf_size=leaf_size,
            p=p,
            metric=metric,
            metric_params=metric_params,
            n_jobs=n_jobs,
        )
        self.ties = ties

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    @by_chunks
    def predict_proba(self, X: MatrixLike) -> np.ndarray | list[np.ndarray]:
        """Predict the class probabilities, the weight of each class around each row.

        %(of_queries)s

        Returns
        -------
        probabilities : ndarray of shape (n_queries, n_classes) or list of such
            Class probabilities in the order of `classes_`; if y has several columns, a list
            with one array per output.
        """
        averages = np.maximum(self._average(X), 0.0)  # by rounding, without empty draws
        single = not isinstance(self.classes_, list)
        sizes = [len(labels) for labels in ([self.classes_] if single else self.classes_)]
        parts = np.split(averages, np.cumsum(sizes)[:-1])
        probabilities = [np.ascontiguousarray((part / part.sum(axis=0)).T) for part in parts]
        return probabilities[0] if single else probabilities

    @by_chunks
    def predict(self, X: MatrixLike) -> np.ndarray:
        """Predict the class of the largest weight around each row.

        %(of_queries)s

        Returns
        -------
        y : ndarray of shape (n_queries,) or (n_queries, n_outputs)
            Predicted labels.
        """
        probabilities: Any = self.predict_proba(X)
        if not isinstance(self.classes_, list):
            return _most_likely(self.classes_, probabilities, self.ties)
        columns = [_most_likely(*pair, self.ties) for pair in zip(self.classes_, probabilities)]
        return np.column_stack(columns)


def _most_likely(classes: np.ndarray, probabilities: np.ndarray, ties: str) -> np.ndarray:
    best = probabilities.max(axis=1, keepdims=True)
    return classes[largest_column(probabilities >= best - 1e-12, ties)]


def without_empty_draws(average: Any, mean: Any, zero: Any, share: Any, empty: str) -> Any:
    """An average, to which draws of no rows contribute what `empty` says."""
    if empty == "mean" or not np.any(share):
        return average
    if empty == "zero":
        return average + share * (zero - mean)
    drawn = 1 - share
    # Draws so small that rounding hides the others are of one row, whose average is the mean.
    is_told = drawn > SMALLEST_DRAWN
    return mean + np.where(is_told, (average - mean) / np.where(is_told, drawn, 1.0), 0.0)


def _counted_rows(
    sample_weight: ArrayLike | None, X: Any, law: type[RankLaw], n_neighbors: int
) -> tuple[range | np.ndarray, np.ndarray | None, int, bool]:
    """The rows of positive weight, their weights, how many rows these stand for, if all are whole.

    Weights are None if all rows count alike; otherwise whole numbers, or numbers whose mean is 1.
    """
    if sample_weight is None:
        return range(X.shape[0]), None, X.shape[0], True
    rows, weight = positive_weights(sample_weight, X)
    small = weight.max() <= MOST_COPIES and weight.sum() <= MOST_COPIES
    if small and (weight == np.rint(weight)).all():
        return rows, weight if (weight > 1).any() else None, int(weight.sum()), True
    if np.ptp(weight) == 0:
        return rows, None, len(weight), True
    if not law.splits_rows(n_neighbors):
        raise ValueError(
            f"sample_weight must be whole numbers, or all equal, with bootstrap={law.bootstrap!r} "
            f"and n_neighbors={n_neighbors}, where a part of a row cannot be drawn; use "
            "bootstrap=True."
        )
    return rows, normalised_weights(weight, len(weight)) * len(weight), len(weight), False


# Each number of rows that are left out has weights by rank of its own, for every size.
MOST_COUNTS, SHARE_OF_COUNTS = 30, 1e-3


def _few_counts(counts: np.ndarray, n: int) -> np.ndarray:
    """The numbers of rows that are left out; many of them in steps of n / 1000, rounded up."""
    if len(np.unique(counts)) <= MOST_COUNTS:
        return counts
    number = np.unique(np.ceil(counts / (SHARE_OF_COUNTS * n)), return_inverse=True)[1]
    largest = np.zeros(number.max() + 1)
    np.maximum.at(largest, number, counts)
    return largest[number]


def _class_indicators(y: np.ndarray) -> tuple[np.ndarray, np.ndarray | list[np.ndarray]]:
    """(indicators of the classes of all outputs, of shape (n_indicators, n); the classes)."""
    check_classification_targets(y)
    if y.ndim == 2 and y.shape[1] == 1:
        y = one_column(y)
    columns = y.reshape(len(y), -1).T
    classes = [np.unique(column) for column in columns]
    targets = [column == label for column, labels in zip(columns, classes) for label in labels]
    return np.array(targets, dtype=np.float64), classes if y.ndim == 2 else classes[0]


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


# --- sizes and their leave-one-out errors ---------------------------------------------------------


def rate_max_samples(n: int, n_features: int, k: int) -> int:
    """s = n^(d/(d+2)), which balances the bound of [Bach, §10.1.2]; no less than k."""
    return min(n, max(k, int(n ** (n_features / (n_features + 2)))))


def default_grid(
    law: type[RankLaw],
    n: int,
    k: int,
    tol: float,
    n_features: int | None = None,
    n_each: float = 1.0,
) -> tuple[list[int | float], bool]:
    """About 32 sizes up to n, and that of the theory's rate; whether small ones are left out.

    A row counts as `n_each` of the n in the mean.
    """
    most = GRID_RANKS * min(n_each, MOST_EACH)

    def affordable(s):
        return count_ranks(law(n - 1, law.size_from(s, n, k), k), tol) <= most

    # The smallest affordable size by bisection: smaller ones need ever more ranks.
    low, high = k - 1, n  # at n few ranks carry the weight
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if affordable(middle) else (middle, high)
    sizes = np.round(np.geomspace(high, n, GRID_SIZE)).astype(int).tolist()
    if n_features is not None and (rate := rate_max_samples(n, n_features, k)) >= high:
        sizes.append(rate)
    return [law.size_from(s, n, k) for s in sorted(set(sizes))], high > k


def grid_from_user(law: type[RankLaw], grid: ArrayLike, n: int, k: int) -> list[int | float]:
    """The sizes of a user's grid, resolved as `max_samples` is, sorted and each once."""
    grid = np.asarray(grid)
    if grid.ndim != 1 or len(grid) == 0 or grid.dtype.kind not in "iuf":
        raise ValueError("max_samples must be a number, a name or a list of numbers.")
    integral = grid.dtype.kind in "iu"
    if not (grid > 0).all() or (not integral and not (grid <= 1).all()):
        raise ValueError(
            "max_samples must have ints of at least 1 or floats in (0, 1] as a list, "
            f"got {grid.tolist()}."
        )
    try:
        return sorted({law.size_from(size, n, k) for size in grid.tolist()})
    except ValueError as error:
        raise ValueError(f"max_samples has a size that cannot be compared: {error}") from error


def weights_by_rank_and_size(laws: Sequence[RankLaw], tol: float) -> np.ndarray:
    columns = [rank_weights(law, tol) for law in laws]
    W = np.zeros((max(map(len, columns)), len(laws)))
    for j, column in enumerate(columns):
        W[: len(column), j] = column
    return W


def left_out_averages(
    search: NeighborSearch,
    X: Any,
    targets: np.ndarray,
    points: TrainingPoints,
    W: np.ndarray,
    laws: Sequence[RankLaw],
    empty: str,
    zeros: np.ndarray,
    *,
    groups: np.ndarray | None = None,
    rows: np.ndarray | None = None,
) -> Iterator[tuple[np.ndarray, int, np.ndarray]]:
    """Yield (rows, output, predictions of each size without the row itself, or its group).

    - X: training rows, or their distances where those are precomputed.
    - targets, W: of shapes (n_outputs, n_samples) and (n_ranks, n_sizes).
    - points: with `groups` one for each row.
    - laws: one for each of the sizes, for the rows that are left.
    - zeros: what draws of no rows predict for each output if `empty` is "zero".
    - groups: the groups 0, ..., G-1 that are left out; a row by default.
    - rows: rows in groups of one size; all rows by default.
    """
    n_left = laws[0].n_samples
    mean_weights = np.maximum(0.0, 1 - W.sum(axis=0))
    totals = targets.sum(axis=1)
    none = np.array([law.empty_share(n_left) for law in laws])
    left_out = targets
    if groups is not None:
        left_out = np.array([np.bincount(groups, target)[groups] for target in targets])
    own_points = points.of_row if groups is None else None
    for part, block in search.ranked_blocks(X, len(W), own_points, groups, rows):
        outputs = zip(targets, left_out, points.sums, totals, zeros)
        for number, (target, left, sums, total, zero) in enumerate(outputs):
            mean = (total - left[part]) / n_left
            prediction = block.targets(sums, target[part]) @ W
            prediction += np.multiply.outer(mean, mean_weights)
            yield part, number, without_empty_draws(prediction, mean[:, None], zero, none, empty)


def weighted_left_out_averages(
    search: NeighborSearch,
    X: Any,
    targets: np.ndarray,
    points: TrainingPoints,
    weight: np.ndarray,
    is_whole: bool,
    left_out: LeftOut,
    rows: np.ndarray,
    laws: Sequence[RankLaw],
    empty: str,
    zeros: np.ndarray,
) -> Iterator[tuple[np.ndarray, int, np.ndarray]]:
    """Yield (rows, output, predictions of each size without what is left out with a row).

    The arguments are those of `left_out_averages`; `points` have the sums of the weighted targets,
    and with each of the `rows`, of positive weight, as many rows are left out.
    """
    remaining = weight.sum() - left_out.total()
    shares = [filled_share(law, is_whole, WEIGHT_TOL) for law in laws]
    enough = [share.enough(remaining[rows].max()) for share in shares]
    totals = points.sums.sum(axis=1)
    # The neighbours of a block serve all sizes; only the shares that they fill depend on the size,
    # and how many of the neighbours have some.
    for part, block in search.weighted_blocks(X, max(enough), left_out, rows):
        found = np.empty((len(targets), len(part), len(laws)))
        means = [
            block.means(sums, left_out.sums(output, part, block.places))
            for output, sums in enumerate(points.sums)
        ]
        for j, (share, law) in enumerate(zip(shares, laws)):
            filled = block.filled(share, remaining[part], enough[j])
            none = law.empty_share(remaining[part])
            for output, zero in enumerate(zeros):
                mean = (totals[output] - left_out.total_target(output, part)) / remaining[part]
                prediction = means[output].averaged(filled, mean)
                found[output, :, j] = without_empty_draws(prediction, mean, zero, none, empty)
        yield from ((part, output, predictions) for output, predictions in enumerate(found))


def best_size(errors: np.ndarray) -> int:
    """Index of the smallest error; of the smallest size where others agree up to rounding."""
    return int(np.flatnonzero(errors <= errors.min() * (1 + 1e-12))[0])
