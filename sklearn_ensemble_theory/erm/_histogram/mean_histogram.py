"""The histogram regressor: one mean for each cell of a partition of a box [Shah, §2.2]."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin

from sklearn_ensemble_theory._blocks import by_chunks
from sklearn_ensemble_theory._fitting import fit_context
from sklearn_ensemble_theory._rows import validate_data
from sklearn_ensemble_theory.erm._histogram.base import BaseHistogram
from sklearn_ensemble_theory.erm._histogram.cell_tables import MeanTable


def _table_of_targets(
    cell: np.ndarray, n_cells: int, y: np.ndarray, weight: np.ndarray
) -> MeanTable:
    return MeanTable.of(cell, n_cells, y.reshape(len(y), -1), weight)


class HistogramRegressor(RegressorMixin, BaseHistogram):
    """Histogram regression: the mean of the targets in each cell of a partition of a box.

    Each feature is cut into m intervals of equal length, which divides a box of p features into
    m^p cells. The prediction is the weighted mean of the targets in the cell of a row. It has the
    least residual sum of squares among all functions that are constant on each cell of the
    partition of [Shah, §2.2].

    Parameters
    ----------
    n_bins : int or "rate", default="rate"
        Number m of intervals of each feature. ``"rate"`` is the smallest m with
        ``m ** (n_features + 1) >= n_samples``, as for `HistogramClassifier`.
    box : array-like of shape (2,) or (n_features, 2), default=None
        Lower and upper ends of the box, for all features or for each one, in units of X. If None,
        they are the smallest and the largest value of each feature in the training rows (with
        `partial_fit`, in those of the first call). Values outside the box, in `fit` as in
        `predict`, belong to the nearest cell of its boundary.

    Attributes
    ----------
    n_bins_ : int
        The number m of intervals of each feature.
    bin_edges_ : ndarray of shape (n_features, n_bins_ + 1)
        The ends of the intervals of each feature. An interval contains its lower end. A feature
        that is constant in the training rows has one interval, from -inf to inf, if `box` is None.
    cells_ : ndarray of shape (n_cells, n_features)
        The cells with training rows, in lexicographic order: the number of the interval of each
        feature, from 0 to ``n_bins_ - 1``.
    cell_values_ : ndarray of shape (n_cells,) or (n_cells, n_outputs)
        Weighted means of the targets in each of these cells, in units of y.
    cell_shares_ : ndarray of shape (n_cells,)
        Share of the weight of the training rows in each of these cells.
    mean_ : float or ndarray of shape (n_outputs,)
        Weighted mean of all targets; the prediction in empty cells.
    n_outputs_ : int
        Number of outputs.
    n_samples_seen_ : int
        Number of training rows of positive weight, over all calls of `partial_fit`.
    effective_n_samples_ : float
        The square of the sum of the weights divided by the sum of their squares: the number of
        training rows if their weights are equal, and less otherwise.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of features seen during `fit`, where they are all strings.

    See Also
    --------
    HistogramClassifier : The majority class in each cell.
    BinnedTreeRegressor : A partition that is chosen by the targets.
    NadarayaWatsonRegressor : Means over neighbourhoods that move with the row.

    Notes
    -----
    The cost is that of `HistogramClassifier`: O(n p log m + n log n) operations for a fit, and
    memory for the cells with training rows only.

    Dask collections are read twice, or once where `box` and an int `n_bins` are given. A chunk
    sends the cells that hold its rows, p numbers of bins, the weight and the means. The model is
    that of all rows in memory up to rounding.

    Integer weights are equivalent to repeated rows if `n_bins` is an int.

    References
    ----------
    R. D. Shah. *Mathematics of Machine Learning*, lecture notes. University of Cambridge.

    Examples
    --------
    >>> from sklearn_ensemble_theory import HistogramRegressor
    >>> model = HistogramRegressor(n_bins=2).fit([[0], [1], [2], [3]], [0.0, 1.0, 4.0, 5.0])
    >>> model.bin_edges_
    array([[0. , 1.5, 3. ]])
    >>> model.cell_values_
    array([0.5, 4.5])
    >>> model.predict([[-1], [1.5]])
    array([0.5, 4.5])
    """

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Find the mean of each cell.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows, or a Dask array or data frame.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets; a Dask collection where X is one.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights. Rows of weight 0 are ignored.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        return self._learn_targets(X, y, sample_weight, first=True)

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Add training rows.

        The first call determines the box and the number of intervals, unless `box` and `n_bins`
        are given. After that, the result is that of one `fit` to all rows, up to rounding.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights. Rows of weight 0 are ignored.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If `y` has another number of outputs than in the first call.
        """
        return self._learn_targets(X, y, sample_weight, first=not self.__sklearn_is_fitted__())

    def _learn_targets(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None, *, first: bool
    ) -> Self:
        checks = {"dtype": [np.float64, np.float32], "multi_output": True, "y_numeric": True}
        X, y = validate_data(self, X, y, reset=first, **checks)
        y = np.asarray(y, dtype=np.float64)
        if not first and y.shape[1:] != self.cell_values_.shape[1:]:
            raise ValueError(
                f"y must have the number of outputs of the first call, {self.n_outputs_}, got "
                f"the shape {y.shape}."
            )
        no_classes = np.empty(0)
        table_of = self._table_of(no_classes)
        table = self._learn(X, y, sample_weight, first=first, table_of=table_of)
        return self._learned(table, no_classes)

    def _table_of(self, classes: np.ndarray) -> Callable[..., MeanTable]:
        return _table_of_targets

    def _learned(self, table: MeanTable, classes: np.ndarray) -> Self:
        single = self._cell_sums.target_ndim == 1
        self.n_outputs_ = table.means.shape[1]
        self.cell_values_ = table.means[:, 0] if single else table.means
        self.mean_ = float(table.overall[0]) if single else table.overall
        return self

    @by_chunks
    def predict(self, X: ArrayLike) -> np.ndarray:
        """Predict the mean of the cell of each row.

        O(p log n_bins + log n_cells) operations a row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Predictions. In cells without training rows, the mean of all targets.
        """
        cell = self._cell_of(X)
        values = self.cell_values_[cell]
        values[cell < 0] = self.mean_
        return values

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
