"""The histogram classifier: one prediction for each cell of a partition of a box [Shah, §2.2]."""

import math
from collections.abc import Callable
from functools import partial
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._blocks import by_chunks
from sklearn_ensemble_theory._fitting import fit_context
from sklearn_ensemble_theory._rows import validate_data
from sklearn_ensemble_theory.bounds import finite_class_bound
from sklearn_ensemble_theory.erm._histogram.base import BaseHistogram
from sklearn_ensemble_theory.erm._histogram.cell_tables import ClassTable


class HistogramClassifier(ClassifierMixin, BaseHistogram):
    """Histogram classifier: the majority class in each cell of a partition of a box.

    Each feature is cut into m intervals of equal length, which divides a box of p features into
    m^p cells. The prediction is the class with the largest weight in the cell of a row. It has the
    fewest errors on the training rows among all classifiers that are constant on each cell
    [Shah, §2.2]; as there are finitely many of them, `excess_risk_bound` bounds the excess risk.

    Parameters
    ----------
    n_bins : int or "rate", default="rate"
        Number m of intervals of each feature. ``"rate"`` is the smallest m with
        ``m ** (n_features + 1) >= n_samples``. For two features it is n^(1/3) as in [Shah, §2.2];
        the exponent 1/(p + 1) for p features is the extension for which m grows and the number of
        cells for each row, m^p/n, vanishes. At most 2^27 in all features. With `sample_weight`,
        n_samples is `effective_n_samples_`; with `partial_fit`, the first call determines m.
    box : array-like of shape (2,) or (n_features, 2), default=None
        Lower and upper ends of the box, for all features or for each one, in units of X. If None,
        they are the smallest and the largest value of each feature in the training rows (with
        `partial_fit`, in those of the first call). Values outside the box, in `fit` as in
        `predict`, belong to the nearest cell of its boundary.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    n_bins_ : int
        The number m of intervals of each feature.
    bin_edges_ : ndarray of shape (n_features, n_bins_ + 1)
        The ends of the intervals of each feature. An interval contains its lower end. A feature
        that is constant in the training rows has one interval, from -inf to inf, if `box` is None.
    cells_ : ndarray of shape (n_cells, n_features)
        The cells with training rows, in lexicographic order: the number of the interval of each
        feature, from 0 to ``n_bins_ - 1``.
    cell_proba_ : ndarray of shape (n_cells, n_classes)
        Weighted shares of the classes in each of these cells.
    cell_shares_ : ndarray of shape (n_cells,)
        Share of the weight of the training rows in each of these cells.
    class_prior_ : ndarray of shape (n_classes,)
        Weighted shares of the classes among all training rows; the prediction in empty cells.
    training_error_ : float
        Weighted share of errors on the training rows.
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
    HistogramRegressor : The mean of the targets in each cell.
    BinnedTreeClassifier : A partition that is chosen by the labels.
    bounds.finite_class_bound : The bound of `excess_risk_bound`.

    Notes
    -----
    A fit takes O(n p log m + n log n) operations, and O(n log n) more each time that the numbers of
    the cells exceed 63 bits. Only cells with training rows are stored, at most n of the m^p. A call
    of `partial_fit` costs O(n_cells p) in addition.

    Dask collections are read twice: for the range of the features, the number of rows and the
    labels, and for the cells. A chunk sends the cells that hold its rows, p numbers of bins and the
    weights of the classes. The model is that of all rows in memory.

    Ties go to the first class. In cells without training rows all labels have the same empirical
    risk; the prediction is the most frequent class of all rows.

    Integer weights are equivalent to repeated rows if `n_bins` is an int. In the number n of
    ``"rate"`` and of the bound, repeated rows would count as further observations.

    References
    ----------
    R. D. Shah. *Mathematics of Machine Learning*, lecture notes. University of Cambridge.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_ensemble_theory import HistogramClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(1000, 2))
    >>> y = (X[:, 0] > X[:, 1]).astype(int)
    >>> model = HistogramClassifier(box=(0, 1)).fit(X, y)
    >>> model.n_bins_, len(model.cells_)
    (10, 100)
    >>> model.predict([[0.9, 0.2], [0.2, 0.9]])
    array([1, 0])
    """

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Find the majority class of each cell.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows, or a Dask array or data frame.
        y : array-like of shape (n_samples,)
            Class labels; a Dask collection where X is one.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights. Rows of weight 0 are ignored.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32])
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
        return self._learn_codes(X, codes, sample_weight, classes, first=True)

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Add training rows.

        The first call determines the box and the number of intervals, unless `box` and `n_bins`
        are given. After that, the result is that of one `fit` to all rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Class labels.
        classes : array-like of shape (n_classes,), default=None
            All labels that will occur. Required in the first call.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights. Rows of weight 0 are ignored.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If `classes` is missing in the first call or differs from that of an earlier one, or if
            `y` has other labels.
        """
        first = not self.__sklearn_is_fitted__()
        if first and classes is None:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        known = np.unique(np.asarray(classes)) if classes is not None else self.classes_
        if not first and not np.array_equal(known, self.classes_):
            raise ValueError(
                f"classes={classes!r} must be the same as in the first call, {self.classes_!r}."
            )
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32], reset=first)
        check_classification_targets(y)
        unknown = np.setdiff1d(y, known)
        if len(unknown):
            raise ValueError(f"y has the labels {unknown.tolist()}, which are not in classes.")
        return self._learn_codes(X, np.searchsorted(known, y), sample_weight, known, first=first)

    def _learn_codes(
        self,
        X: np.ndarray,
        codes: np.ndarray,
        sample_weight: ArrayLike | None,
        classes: np.ndarray,
        *,
        first: bool,
    ) -> Self:
        table_of = self._table_of(classes)
        table = self._learn(X, codes, sample_weight, first=first, table_of=table_of)
        return self._learned(table, classes)

    def _table_of(self, classes: np.ndarray) -> Callable[..., ClassTable]:
        return partial(ClassTable.of, K=len(classes))

    def _learned(self, table: ClassTable, classes: np.ndarray) -> Self:
        self.classes_ = classes
        self.cell_proba_, self.class_prior_ = table.means, table.overall
        errors = table.weight - table.sums.max(axis=1)
        self.training_error_ = float(errors.sum() / table.weight.sum())
        return self

    @by_chunks
    def predict(self, X: ArrayLike) -> np.ndarray:
        """Predict the majority class of the cell of each row.

        O(p log n_bins + log n_cells) operations a row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Predictions. In cells without training rows, the most frequent class of all.
        """
        proba = self._proba(X)  # which raises NotFittedError, before `classes_` is looked for
        return self.classes_.take(proba.argmax(axis=1))

    @by_chunks
    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """Predict the class probabilities, the weighted shares of the classes in the row's cell.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            Class probabilities, in the order of `classes_`. In cells without training rows, the
            shares among all rows.
        """
        return self._proba(X)

    def _proba(self, X: ArrayLike) -> np.ndarray:
        cell = self._cell_of(X)
        proba = self.cell_proba_[cell]
        proba[cell < 0] = self.class_prior_
        return proba

    def excess_risk_bound(self, delta: float = 0.05) -> float:
        """Bound on the excess risk over the best classifier that is constant on the cells.

        With probability at least 1 - delta over the training rows, the probability of an error on
        a new row exceeds that of the best of the K^(m^p) classifiers, for K classes, by at most

            sqrt(2 (m^p log K + log(1/delta)) / n)

        [Shah, theorem 6]. The partition must not depend on the data, so `box` must be given, and
        `n_bins` must not be chosen by the same rows. The rows must be independent, with the
        distribution of new ones. With weights, which must not depend on the rows, n is
        `effective_n_samples_`: for weights w_i that sum to 1, Hoeffding's inequality has the sum
        of the w_i^2 in place of 1/n, and the proof is otherwise the same.

        Parameters
        ----------
        delta : float, default=0.05
            Probability that the bound does not hold, above 0 and at most 1.

        Returns
        -------
        bound : float
            The bound; it says nothing where it is 1 or more.

        Raises
        ------
        ValueError
            If `delta` is outside its range, or `box` is None.
        """
        check_is_fitted(self)
        if self.box is None:
            raise ValueError(
                "box must be given for the bound, which is for a partition that does not depend "
                "on the data; got box=None."
            )
        K, log_size = len(self.classes_), 0.0
        if K > 1:  # m^p log K, but no more than floats hold
            log_log = self.n_features_in_ * math.log(self.n_bins_) + math.log(math.log(K))
            log_size = math.exp(min(log_log, 700.0))
        return finite_class_bound(self.effective_n_samples_, log_size, delta)
