"""Bagging of k-nearest neighbours with infinitely many replications, in closed form.

Around any point the training rows, in order of distance, get weights that do not depend on the data
[Bach, §10.1.2]: one neighbour query and one product with the weights compute the limit of bagging
as the number of replications grows. Nothing is resampled.
"""

from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.exceptions import DataConversionWarning
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets

from sklearn_ensemble_theory._blocks import by_chunks
from sklearn_ensemble_theory._progress import warn_user
from sklearn_ensemble_theory._scaling import shifted_by
from sklearn_ensemble_theory._typing import MatrixLike
from sklearn_ensemble_theory.averaging._neighbors.base import (
    BaseBaggedNearestNeighbors,
    EncodedTargets,
    range_exponent,
)


class BaggedNearestNeighborsRegressor(RegressorMixin, BaseBaggedNearestNeighbors):
    """Bagged k-nearest-neighbour regression with infinitely many replications.

    The limit of bagging `KNeighborsRegressor(n_neighbors)` as the number of replications grows,
    computed without resampling: the i-th nearest training row of a point has a weight that
    depends on its rank only, given by
    :func:`~sklearn_ensemble_theory.bagged_nearest_neighbors_weights`, so a prediction is one
    neighbour query and one scalar product. `max_samples` controls the smoothness of the fit: at
    s = n it is the k nearest neighbours' mean (low bias, high variance), at s = n_neighbors the
    mean of all rows.

    Parameters
    ----------
    n_neighbors : int, default=1
        Number k of neighbours that each bagged fit averages.

    max_samples : int, float, "rate" or "loo", default="rate"
        Number s of rows that are drawn for each bagged fit.

        - int: s itself. At most the number of rows where `bootstrap` is not True.
        - float in (0, 1]: a share of the rows, s = max(1, int(share * n_samples)).
        - "rate": s = int(n_samples ** (d / (d + 2))) for d features, which balances bias and
          variance in the bound of [Bach, §10.1.2] up to a constant.
        - "loo": the size with the smallest leave-one-out error on a grid; see `loo_path_`.

        With `bootstrap="bernoulli"` a float is the probability q of each row, and the other values
        give q = s / n_samples.

    max_samples_grid : array-like of int or float, default=None
        The sizes that `max_samples="loo"` compares, with the meaning of `max_samples`. If None,
        about 32 sizes in geometric progression up to n_samples, and the size of "rate". The
        progression starts at `n_neighbors`, or, for more than 1,000 rows, at the size for which
        1,000 neighbours have the weight, because smaller sizes need more neighbours.

    bootstrap : bool or "bernoulli", default=False
        How rows are drawn: False, without replacement, the scheme analysed in [Bach, §10.1.2];
        True, s draws with replacement, where a row drawn c times counts as c neighbours;
        "bernoulli", each row independently with probability q.

    weight_tol : float, default=1e-12
        Neighbours beyond the rank after which the weights sum to at most this are not used; their
        weight is given to the overall mean. About n_neighbors (n/s) log(1/weight_tol) neighbours
        are used.

    algorithm : {"auto", "ball_tree", "kd_tree", "brute"}, default="auto"
        Algorithm of the neighbour query, as in :class:`sklearn.neighbors.NearestNeighbors`.

    leaf_size : int, default=30
        Leaf size of the trees.

    p : float, default=2
        Power of the Minkowski metric.

    metric : str or callable, default="minkowski"
        Any metric of :class:`sklearn.neighbors.NearestNeighbors`. With "precomputed", X contains
        distances to the training rows, as a dense array or as the sparse graph of a
        :class:`sklearn.neighbors.KNeighborsTransformer` with enough neighbours.

    metric_params : dict, default=None
        Additional keyword arguments of the metric.

    n_jobs : int, default=None
        Number of threads of the neighbour query. The predictions do not depend on it.

    Attributes
    ----------
    max_samples_ : int or float
        The number of rows drawn, s; the probability q with `bootstrap="bernoulli"`.

    weights_ : ndarray of shape (n_ranks,)
        Weight of the i-th nearest training row, never increasing with i.

    mean_weight_ : float
        Weight of the overall mean: one minus the sum of `weights_`.

    loo_path_ : dict of ndarray
        With `max_samples="loo"`: "max_samples", the sizes compared, ascending, and "error", the
        mean squared leave-one-out error of each, summed over the outputs.

    n_samples_fit_ : int
        Number of training rows, without those of weight 0 (with them for precomputed distances).

    n_features_in_ : int
        Number of features.

    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X has feature names that are all strings.

    Raises
    ------
    ValueError
        If a parameter is outside its range; if `n_neighbors` is above the number of rows drawn; if
        distances are not finite; if a precomputed graph contains fewer neighbours than the
        weights require.

    See Also
    --------
    BaggedNearestNeighborsClassifier : The same for class labels.
    bagged_nearest_neighbors_weights : The weights by rank.
    bounds.bagged_neighbors_risk_bound : The bound that "rate" balances.

    Notes
    -----
    *Ties.* Rows at equal distance share their weights, so a prediction does not depend on the order
    of the rows (up to rounding): it is the average over all orders of tied rows. Two neighbours
    are tied when their distances differ by less than 1e-10 of the larger. Equal rows of a dense X
    are merged before the search, so duplicates reduce the cost of the search.

    *Fewer than k rows.* Bernoulli sampling may draw fewer than k rows. The empty places are filled
    by the overall mean of y, with (1-q)^n of the weight for k = 1. In expectation that equals
    averaging the rows that were drawn, as these are then a uniformly random set. (In
    [Ghoshdastidar, theorem En.2] the empty draw predicts 0.)

    *Leave-one-out.* A size s for n rows stands for the same share of the n-1 remaining rows,
    s (n-1)/n to the nearest int, so that s = n is plain nearest neighbours in both. The errors are
    exact up to `weight_tol` and come from one query of the training rows among themselves. If the
    errors of several sizes agree up to rounding, the smallest size is selected.

    *Cost.* `fit` builds the search tree, O(d n log n). `predict` finds the R = `len(weights_)`
    nearest neighbours of each query, R log R each at best, plus R per output. "loo" finds the R
    neighbours of the smallest size for all n training rows and multiplies by all sizes' weights,
    O(n R (log R + sizes x outputs)). Memory beyond the data is bounded by blocks of 2^19 neighbours
    (about 15 MB), more only where a single row has more tied neighbours than that.

    *Weights.* A row whose `sample_weight` is the whole number w is w equal rows, for every scheme
    and k, so n is the sum of the weights. In the leave-one-out errors one of the w rows is left
    out. Weights that are not whole numbers, and weights of a sum above 2^40, count by their ratios
    only: equal ones are as no weights, others are divided by their mean. With `bootstrap=True` row
    i has the probability w_i / sum w of each draw, as in bagging `KNeighborsRegressor` with these
    weights: up to the j-th nearest row N ~ Bin(s, p) draws are among rows of the share p of the
    weight, and they fill the share E[min(k, N)] / k of the k places. With `bootstrap="bernoulli"`
    and k = 1 a row of weight w is drawn with probability 1 - (1-q)^w. In all other cases a part of
    a row cannot be drawn, and such weights are an error. A row that is left out is then left out
    with all of its weight. For draws without replacement `BaggingRegressor` has another law, by
    which a row of any weight is drawn once at most; it has no closed form.

    With unequal weights the weights by rank depend on the point. `weights_` are those of whole
    numbers, where a row of weight w has w successive ranks, and otherwise those of rows of weight
    1. A prediction finds the neighbours of the weight that `weight_tol` requires.

    The rate of convergence is studied in [Biau, Cérou and Guyader, 2010].

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    D. Ghoshdastidar. *Statistical Foundations of Learning*, lecture "Ensemble methods". Technical
    University of Munich.

    G. Biau, F. Cérou and A. Guyader (2010). "On the rate of convergence of the bagged nearest
    neighbor estimate". *Journal of Machine Learning Research* 11.

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

    _target_validation: ClassVar[dict[str, Any]] = {"y_numeric": True}

    def _encode_targets(self, y: np.ndarray) -> EncodedTargets:
        y = np.asarray(y, dtype=np.float64)
        # Squares of errors should neither overflow nor vanish; a power of two is exact.
        exponent = range_exponent(y)
        columns = np.ldexp(y.reshape(len(y), -1).T, -exponent)
        return EncodedTargets(
            np.ascontiguousarray(columns), exponent, {"_target_shape": y.shape[1:]}
        )

    @by_chunks
    def predict(self, X: MatrixLike) -> np.ndarray:
        """Predict the weighted average of the targets around each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_queries, n_features)
            Rows to predict; (n_queries, n_samples_fit) distances with `metric="precomputed"`.

        Returns
        -------
        y : ndarray of shape (n_queries,) or (n_queries, n_outputs)
            Predicted targets.
        """
        averages = self._average(X)
        means = shifted_by(averages.T, self._target_exponent)
        return means.reshape(-1, *self._target_shape)


class BaggedNearestNeighborsClassifier(ClassifierMixin, BaseBaggedNearestNeighbors):
    """Bagged k-nearest-neighbour classification with infinitely many replications.

    The limit of bagging `KNeighborsClassifier(n_neighbors)` and averaging the class probabilities,
    as the number of replications grows, computed without resampling: the i-th nearest
    training row of a point gives its class a weight that depends on its rank only, given by
    :func:`~sklearn_ensemble_theory.bagged_nearest_neighbors_weights`. For `n_neighbors=1` it is
    also the limit of the majority vote, and universally consistent where s/n -> 0 and s -> infinity
    [Ghoshdastidar, theorem En.2], which a single nearest neighbour is not.

    Parameters
    ----------
    n_neighbors : int, default=1
        Number k of neighbours that each bagged fit averages.

    max_samples : int, float, "rate" or "loo", default="rate"
        Number s of rows that are drawn for each bagged fit.

        - int: s itself. At most the number of rows where `bootstrap` is not True.
        - float in (0, 1]: a share of the rows, s = max(1, int(share * n_samples)).
        - "rate": s = int(n_samples ** (d / (d + 2))) for d features.
        - "loo": the size with the smallest leave-one-out Brier score on a grid; see `loo_path_`.

        With `bootstrap="bernoulli"` a float is the probability q of each row, and the other values
        give q = s / n_samples.

    max_samples_grid : array-like of int or float, default=None
        The sizes that `max_samples="loo"` compares, with the meaning of `max_samples`. If None,
        about 32 sizes in geometric progression up to n_samples, and the size of "rate". The
        progression starts at `n_neighbors`, or, for more than 1,000 rows, at the size for which
        1,000 neighbours have the weight, because smaller sizes need more neighbours.

    bootstrap : bool or "bernoulli", default=False
        How rows are drawn: False, without replacement; True, s draws with replacement, where a row
        drawn c times counts as c neighbours; "bernoulli", each row independently with probability
        q, the scheme of [Ghoshdastidar, theorem En.2].

    weight_tol : float, default=1e-12
        Neighbours beyond the rank after which the weights sum to at most this are not used; their
        weight is given to the class frequencies. About n_neighbors (n/s) log(1/weight_tol)
        neighbours are used.

    algorithm : {"auto", "ball_tree", "kd_tree", "brute"}, default="auto"
        Algorithm of the neighbour query, as in :class:`sklearn.neighbors.NearestNeighbors`.

    leaf_size : int, default=30
        Leaf size of the trees.

    p : float, default=2
        Power of the Minkowski metric.

    metric : str or callable, default="minkowski"
        Any metric of :class:`sklearn.neighbors.NearestNeighbors`. With "precomputed", X contains
        distances to the training rows, as a dense array or as the sparse graph of a
        :class:`sklearn.neighbors.KNeighborsTransformer` with enough neighbours.

    metric_params : dict, default=None
        Additional keyword arguments of the metric.

    n_jobs : int, default=None
        Number of threads of the neighbour query. The predictions do not depend on it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,) or list of such
        The class labels, sorted; a list of arrays if y has several columns.

    max_samples_ : int or float
        The number of rows drawn, s; the probability q with `bootstrap="bernoulli"`.

    weights_ : ndarray of shape (n_ranks,)
        Weight of the i-th nearest training row, never increasing with i.

    mean_weight_ : float
        Weight of the class frequencies: one minus the sum of `weights_`.

    loo_path_ : dict of ndarray
        With `max_samples="loo"`: "max_samples", the sizes compared, ascending, and "error", the
        leave-one-out Brier score of each (below), summed over the outputs.

    n_samples_fit_ : int
        Number of training rows, without those of weight 0 (with them for precomputed distances).

    n_features_in_ : int
        Number of features.

    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X has feature names that are all strings.

    Raises
    ------
    ValueError
        If a parameter is outside its range; if `n_neighbors` is above the number of rows drawn; if
        distances are not finite; if a precomputed graph contains fewer neighbours than the
        weights require.

    See Also
    --------
    BaggedNearestNeighborsRegressor : The same for real targets; ties, leave-one-out sizes, cost and
        memory are described there.
    bagged_nearest_neighbors_weights : The weights by rank.

    Notes
    -----
    *The score of "loo"* is Brier's, the mean over the rows of sum_c (p_c - 1{y = c})^2. It is
    strictly proper, as the log loss is, but stays finite where a large s gives the true class
    probability 0; the error rate is constant over ranges of s and would not determine s.

    *Bernoulli sampling* gives (1-q)^n of the weight (k = 1) to no row; it is given to the class
    frequencies. (In [Ghoshdastidar, theorem En.2] the empty draw predicts class 0.)

    *Predicted class.* The first class whose probability is within 1e-12 of the largest, so that a
    tie is not decided by rounding.

    *Weights* are described with the regressor.

    *Cost* is the regressor's with the classes as outputs: O(d n log n) to fit, R log R at best and
    R x classes for each prediction. The class indicators of the training rows are n_samples x
    n_classes numbers in memory. The weights without replacement are those of [Bach, §10.1.2]; their
    rate of convergence is studied in [Biau, Cérou and Guyader, 2010].

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    D. Ghoshdastidar. *Statistical Foundations of Learning*, lecture "Ensemble methods". Technical
    University of Munich.

    G. Biau, F. Cérou and A. Guyader (2010). "On the rate of convergence of the bagged nearest
    neighbor estimate". *Journal of Machine Learning Research* 11.

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

    classes_: np.ndarray | list[np.ndarray]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def _encode_targets(self, y: np.ndarray) -> EncodedTargets:
        check_classification_targets(y)
        if y.ndim == 2 and y.shape[1] == 1:
            warn_user(
                "A column-vector y was passed when a 1d array was expected; y.ravel() is used.",
                DataConversionWarning,
            )
            y = y.ravel()
        columns = y.reshape(len(y), -1).T
        classes = [np.unique(column) for column in columns]
        targets = [column == label for column, labels in zip(columns, classes) for label in labels]
        attributes = {"classes_": classes if y.ndim == 2 else classes[0]}
        return EncodedTargets(np.array(targets, dtype=np.float64), 0, attributes)

    @by_chunks
    def predict_proba(self, X: MatrixLike) -> np.ndarray | list[np.ndarray]:
        """Predict the class probabilities, the weight of each class around each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_queries, n_features)
            Rows to predict; (n_queries, n_samples_fit) distances with `metric="precomputed"`.

        Returns
        -------
        probabilities : ndarray of shape (n_queries, n_classes) or list of such
            Class probabilities in the order of `classes_`; if y has several columns, a list
            with one array per output.
        """
        averages = self._average(X)
        single = not isinstance(self.classes_, list)
        sizes = [len(labels) for labels in ([self.classes_] if single else self.classes_)]
        parts = np.split(averages, np.cumsum(sizes)[:-1])
        probabilities = [np.ascontiguousarray((part / part.sum(axis=0)).T) for part in parts]
        return probabilities[0] if single else probabilities

    @by_chunks
    def predict(self, X: MatrixLike) -> np.ndarray:
        """Predict the class of the largest weight around each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_queries, n_features)
            Rows to predict; (n_queries, n_samples_fit) distances with `metric="precomputed"`.

        Returns
        -------
        y : ndarray of shape (n_queries,) or (n_queries, n_outputs)
            Predicted labels.
        """
        probabilities: Any = self.predict_proba(X)
        if not isinstance(self.classes_, list):
            return _most_likely(self.classes_, probabilities)
        columns = [_most_likely(*pair) for pair in zip(self.classes_, probabilities)]
        return np.column_stack(columns)


def _most_likely(classes: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    best = probabilities.max(axis=1, keepdims=True)
    return classes[np.argmax(probabilities >= best - 1e-12, axis=1)]
