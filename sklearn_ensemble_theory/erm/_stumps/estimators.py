"""Decision stumps as exact empirical risk minimisers, and as weak learners of the boosting loop."""

import math
from collections.abc import Sequence
from numbers import Integral
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import Bunch, Tags, check_array
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._blocks import by_chunks
from sklearn_ensemble_theory._compat import Interval
from sklearn_ensemble_theory._documentation import documented
from sklearn_ensemble_theory._door import CLASS_WEIGHT, ReadsOnce, fit_context
from sklearn_ensemble_theory._learners import (
    ClassTask,
    LeastSquaresTask,
    PreparedRounds,
    Task,
    register,
)
from sklearn_ensemble_theory._rows import are_wrong, kept_rows, validate_data
from sklearn_ensemble_theory._scores import ClassifierMixin, RegressorMixin
from sklearn_ensemble_theory._typing import ArrayLike
from sklearn_ensemble_theory.bounds import stump_generalization_bound
from sklearn_ensemble_theory.bounds._arguments import check_option

from .hamming import side_values
from .split_search import Split
from .stump_rounds import (
    Side,
    StumpClasses,
    SummedStumps,
    best_stump,
    prepare_stumps,
    rows_of_sides,
    stumps_of_sums,
)

MAX_BINS = 2**16 - 1
LARGEST_DIFFERENCE = np.finfo(np.float64).max / 4


TEXTS = {
    "max_bins": """
        max_bins : int, default=None
            If None, all thresholds between two distinct values are considered. If an integer, each
            feature is first cut into at most `max_bins` bins of about equal weight, and only the
            edges of the bins are considered.
        """,
    "split": """
        feature_ : int
            The feature of the threshold.
        threshold_ : float
            The threshold, a midpoint of two neighbouring values; inf for a constant stump.
        """,
    "sides": """
        sides_ : ndarray of shape (2, 3)
            Of the two sides: the number of rows, the share of the weight, and the impurity (of
            classes 0, as it follows from the shares). Members of some ensembles do not have it.
        feature_importances_ : ndarray of shape (n_features,)
            1 for `feature_` and 0 for others; all 0 for a constant stump.
        %(names_in_fit)s
        """,
}


class _Stump(ReadsOnce, BaseEstimator):
    """Base of the two stumps: the parameter, the side of a row, and the tree of depth one.

    `sides_` is what a tree states of the two sides beyond their values: the number of rows, the
    share of the weight, and the impurity; for classes the last follows from the shares, and is 0
    here. Members of ensembles that do not keep it have no such attribute.
    """

    _parameter_constraints: ClassVar[dict] = {
        "max_bins": [Interval(Integral, 2, MAX_BINS, closed="both"), None],
    }
    n_features_in_: int
    feature_: int
    threshold_: float
    sides_: np.ndarray

    def __init__(self, max_bins: int | None = None) -> None:
        self.max_bins = max_bins

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "threshold_")

    @property
    def feature_importances_(self) -> np.ndarray:
        """1 for the feature of the threshold and 0 for others; all 0 for a constant stump."""
        check_is_fitted(self)
        return np.where(
            (np.arange(self.n_features_in_) == self.feature_) & np.isfinite(self.threshold_),
            1.0,
            0.0,
        )

    def _left(self, X: ArrayLike) -> np.ndarray:
        check_is_fitted(self)
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        return rows_left(self, X)


def rows_left(stump: _Stump, X: np.ndarray) -> np.ndarray:
    """Rows of a validated X at or below the threshold, compared in double precision."""
    return X[:, stump.feature_] <= np.array([stump.threshold_])


def sides_of(
    rows: tuple[int, int], left_weight: float, impurities: Sequence[float] = (0.0, 0.0)
) -> np.ndarray:
    """`_Stump.sides_`: the rows, the share of the weight and the impurity of each side, (2, 3)."""
    weights = left_weight, 1.0 - left_weight
    return np.array(list(zip(rows, weights, impurities)), dtype=np.float64)


def sides_of_targets(on_left: np.ndarray, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """`sides_of` for real targets: the impurity is the variance of the targets of a side."""
    impurities, scale = [], np.max(np.abs(y), initial=0.0)
    for side in (on_left, ~on_left):
        w = weight[side]
        if not w.sum() > 0 or scale == 0:
            impurities.append(0.0)
            continue
        t = y[side] / scale  # squares of large targets overflow
        t = t - np.average(t, weights=w)
        with np.errstate(over="ignore", under="ignore"):
            impurities.append(float(np.average(t**2, weights=w) * scale * scale))
    return sides_of(rows_of_sides(on_left), float(weight[on_left].sum()), impurities)


def log_n_stumps(n_samples: int, n_features: int) -> float:
    """Logarithm of a bound on the number of different stumps on some rows, up to their sign."""
    return math.log(n_features * (n_samples - 1) + 1)


@documented(TEXTS)
class DecisionStumpClassifier(ClassifierMixin, _Stump):
    """Decision stump with the fewest (weighted) errors over all features and thresholds.

    A decision stump predicts one class where ``x[feature] <= threshold`` and one class elsewhere.
    A tree of depth one chooses the split with the largest decrease of the Gini index. The stump
    minimises the (weighted) number of errors itself, as the theory of AdaBoost assumes. It is
    constant if no threshold has fewer errors.

    Parameters
    ----------
    %(max_bins)s
    %(class_weight)s

    %(classes_attribute)s
    n_classes_ : int
        The number of classes.
    %(split)s
    left_class_, right_class_ : int
        Index in `classes_` of the prediction where the feature is at most the threshold, and where
        it is above.
    left_proba_, right_proba_ : ndarray of shape (n_classes,)
        Weighted shares of the classes on the two sides.
    training_error_ : float
        Weighted share of errors on the training rows.
    %(sides)s

    See Also
    --------
    AdaBoostClassifier : Boosting of decision stumps.
    DecisionStumpRegressor : The stump with the least residual sum of squares.

    Notes
    -----
    Sorting takes O(n p log n) operations, the search O(n p) [Shah, §4.2]. Ties go to the first
    feature, the lowest threshold and the first class. For ``n > 2048`` the exact search sums the
    weights over coarse bins first and searches only those bins that can contain the best
    threshold; the result is the same. With `max_bins` and many rows the sums are of weights in
    single precision: thresholds whose errors differ by less than 2^-22 count as equally good.

    %(references_Shah)s

    Examples
    --------
    >>> from sklearn_ensemble_theory import DecisionStumpClassifier
    >>> stump = DecisionStumpClassifier().fit([[1], [2], [3], [4]], ["a", "a", "b", "b"])
    >>> stump.threshold_, stump.training_error_
    (2.5, 0.0)
    """

    classes_: np.ndarray
    left_class_: int
    right_class_: int
    left_proba_: np.ndarray
    right_proba_: np.ndarray

    _parameter_constraints: ClassVar[dict] = {
        **_Stump._parameter_constraints,
        "class_weight": CLASS_WEIGHT,
    }

    def __init__(
        self,
        max_bins: int | None = None,
        *,
        class_weight: dict | Literal["balanced"] | None = None,
    ) -> None:
        super().__init__(max_bins)
        self.class_weight = class_weight

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Find the best stump.

        %(of_dense_X)s
        %(y_classification)s
        %(sample_weight)s

        %(returns_self)s
        """
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32])
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
        rows = kept_rows(X, codes, sample_weight)
        X, codes, weight = rows.X, rows.y, rows.shares()

        task = ClassTask(codes, classes)
        split, left, right = best_stump(X, None, weight, task, self.max_bins, STUMPS)
        on_left = X[:, split.feature] <= np.array([split.threshold])  # in double precision
        chosen = np.where(on_left, left, right)
        shares = [np.bincount(codes[s], weight[s], len(classes)) for s in (on_left, ~on_left)]
        overall = np.bincount(codes, weight, len(classes))
        shares = [s / s.sum() if s.sum() > 0 else overall for s in shares]
        error, left_weight = float(weight[chosen != codes].sum()), float(weight[on_left].sum())
        given = classes, X.shape[1], split, (int(left), int(right)), shares, left_weight, error
        set_labels(self, *given, rows_of_sides(on_left))
        return self

    @by_chunks
    def predict(self, X: ArrayLike) -> np.ndarray:
        """Predict the class of each row.

        %(rows_to_predict)s

        %(returns_predictions)s
        """
        left = self._left(X)
        return self.classes_.take(np.where(left, self.left_class_, self.right_class_))

    @by_chunks
    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """Predict the class probabilities, the weighted shares of the classes on the row's side.

        %(rows_to_predict)s

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            Class probabilities, in the order of `classes_`.
        """
        return np.where(self._left(X)[:, None], self.left_proba_, self.right_proba_)

    def error_bound(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        method: Literal["vc"] = "vc",
        delta: float = 0.05,
    ) -> float:
        """Bound on the error on new rows by the training error and the number of stumps.

        With probability at least 1 - delta over the rows, if these are independent and have the
        distribution of new rows. The bound holds for all stumps at once: the stump may have been
        fitted to the rows, with any weights.

        %(of_dense_X)s
        y : array-like of shape (n_samples,)
            Their labels.
        method : {"vc"}, default="vc"
            The bound is by the number of stumps that differ on the rows.
        delta : float, default=0.05
            Probability of failure, above 0 and at most 1.

        Returns
        -------
        bound : float
            The share of errors on the rows plus
            :func:`~sklearn_ensemble_theory.bounds.stump_generalization_bound`; at most
            1, where it says nothing.

        Raises
        ------
        ValueError
            If there are more than two classes, for which the stumps are not counted, or delta is
            outside its range.
        """
        check_is_fitted(self)
        check_option("method", method, ("vc",))
        if len(self.classes_) > 2:
            raise ValueError("error_bound needs two classes.")
        wrong = are_wrong(y, self.predict(X), self.classes_)
        bound = stump_generalization_bound(len(wrong), self.n_features_in_, delta=delta)
        return min(1.0, float(wrong.mean()) + bound)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        # One threshold does not reach the scores that scikit-learn's checks require.
        tags.classifier_tags.poor_score = True
        return tags


@documented(TEXTS)
class DecisionStumpRegressor(RegressorMixin, _Stump):
    """Decision stump with the least (weighted) squared error over all features and thresholds.

    A decision stump predicts one value where ``x[feature] <= threshold`` and another elsewhere.
    Among all features, thresholds and values, the fit is the one with the least weighted residual
    sum of squares [DS-GA 1003, lecture 8; Shah, eq. (4.6)].

    Parameters
    ----------
    %(max_bins)s

    Attributes
    ----------
    %(split)s
    left_value_, right_value_ : float
        Weighted means of the targets on the two sides, in units of y. Members of an
        `AdaBoostClassifier` for several classes have arrays of shape (n_classes,) here: one value
        for each class.
    %(sides)s

    See Also
    --------
    DecisionStumpClassifier : The stump with the least weighted error.
    GradientBoostingRegressor : Boosting of any regressor.

    Notes
    -----
    Sorting takes O(n p log n) operations, the search O(n p). Gradient boosting sorts once for all
    rounds. Ties go to the first feature and the lowest threshold.

    References
    ----------
    *DS-GA 1003: Machine Learning*, lecture 8, "Boosting and 'classical ML' review". New York
    University.

    %(Shah)s

    Examples
    --------
    >>> from sklearn_ensemble_theory import DecisionStumpRegressor
    >>> stump = DecisionStumpRegressor().fit([[1], [2], [3], [4]], [0.0, 0.0, 3.0, 5.0])
    >>> stump.threshold_, stump.left_value_, stump.right_value_
    (2.5, 0.0, 4.0)
    """

    left_value_: float | np.ndarray
    right_value_: float | np.ndarray

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Find the best stump.

        %(fit_targets)s
        """
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32], y_numeric=True)
        y = np.asarray(y, dtype=np.float64)
        rows = kept_rows(X, y, sample_weight)
        X, y, weight = rows.X, rows.y, rows.shares()
        del rows  # its weights are not needed any more
        # Differences of numbers near the largest float are infinite: then y is in units of 4.
        unit = 4.0 if np.abs(y).max() > LARGEST_DIFFERENCE else 1.0

        target = y / unit if unit > 1 else y
        task = LeastSquaresTask()
        split, left, right = best_stump(X, target, weight, task, self.max_bins, STUMPS)
        if unit > 1:  # means exceed the largest target by rounding
            left, right = unit * np.clip([left, right], y.min() / unit, y.max() / unit)
        set_values(self, split, left, right)
        self.sides_ = sides_of_targets(rows_left(self, X), y, weight)
        return self

    @by_chunks
    def predict(self, X: ArrayLike) -> np.ndarray:
        """Predict the value on the side of each row.

        %(rows_to_predict)s

        Returns
        -------
        y : ndarray of shape (n_samples,), or (n_samples, n_classes) for one value for each class
            Predictions.
        """
        return side_values(self, self._left(X))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        # One threshold does not reach the scores that scikit-learn's checks require.
        tags.regressor_tags.poor_score = True
        return tags


def set_labels(
    stump: DecisionStumpClassifier,
    classes: np.ndarray,
    n_features: int,
    split: Split,
    sides: tuple[int, int],
    shares: list[np.ndarray],
    left_weight: float,
    error: float,
    rows: tuple[int, int],
) -> None:
    """Make the stump that of a split with these numbers of rows on its two sides."""
    stump.classes_, stump.n_classes_, stump.n_features_in_ = classes, len(classes), n_features
    stump.feature_, stump.threshold_ = split.feature, split.threshold
    stump.left_class_, stump.right_class_ = sides
    stump.left_proba_, stump.right_proba_ = shares
    stump.training_error_ = error
    stump.sides_ = sides_of(rows, left_weight)


def stump_of_labels(*found: Any) -> DecisionStumpClassifier:
    """A fitted stump from a search that is already done, with the arguments of `set_labels`."""
    stump = DecisionStumpClassifier.__new__(DecisionStumpClassifier)
    stump.max_bins = stump.class_weight = None
    set_labels(stump, *found)
    return stump


def set_values(stump: DecisionStumpRegressor, split: Split, left: Side, right: Side) -> None:
    """Make the stump that of a split; the values are numbers, or arrays of one for each class."""
    right = left if split.threshold == np.inf else right
    stump.feature_, stump.threshold_ = split.feature, split.threshold
    stump.left_value_ = left if np.ndim(left) else float(left)
    stump.right_value_ = right if np.ndim(right) else float(right)


def stump_of_values(
    n_features: int, split: Split, left: Side, right: Side
) -> DecisionStumpRegressor:
    """A fitted stump from a search that is already done."""
    stump = DecisionStumpRegressor.__new__(DecisionStumpRegressor)
    stump.max_bins, stump.n_features_in_ = None, n_features
    set_values(stump, split, left, right)
    return stump


STUMPS = StumpClasses(stump_of_labels, stump_of_values)


def rounds_of_stumps(
    stump: DecisionStumpClassifier | DecisionStumpRegressor,
    X: np.ndarray,
    weight: np.ndarray | None,
    task: Task,
) -> PreparedRounds | None:
    return prepare_stumps(X, weight, task, stump.max_bins, STUMPS)


def sums_of_stumps(
    stump: DecisionStumpClassifier | DecisionStumpRegressor, task: Task
) -> SummedStumps | None:
    return stumps_of_sums(task, stump.max_bins, STUMPS)


def codes_of_rows(stump: DecisionStumpClassifier, X: np.ndarray) -> np.ndarray:
    return np.where(rows_left(stump, X), stump.left_class_, stump.right_class_)


def values_of_rows(stump: DecisionStumpRegressor, X: np.ndarray) -> np.ndarray:
    return side_values(stump, rows_left(stump, X))


register(
    DecisionStumpClassifier,
    prepare_rounds=rounds_of_stumps,
    prepare_sums=sums_of_stumps,
    predict_codes=codes_of_rows,
)
register(
    DecisionStumpRegressor,
    prepare_rounds=rounds_of_stumps,
    prepare_sums=sums_of_stumps,
    predict_validated=values_of_rows,
)


@documented()
def stump_dictionary(X: ArrayLike, *, constant: bool = True) -> Bunch:
    """All decision stumps with outputs -1 and +1 that differ on the given rows.

    There are infinitely many thresholds, but on n rows the stumps of p features take at most p (n -
    1) different outputs up to their sign, and the constant. They are the dictionary of boosting
    with `DecisionStumpClassifier` [Bach, §10.3.1].

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The rows.
    constant : bool, default=True
        Whether the constant is one of the stumps, as it is for `DecisionStumpClassifier`.

    Returns
    -------
    Bunch
        `outputs`, a float array of shape (n_samples, m): +1 where the feature is at most the
        threshold and -1 elsewhere, one column for each stump. The negative of a stump is not
        listed, and of stumps with the same outputs up to the sign only the first is.
        `features` and `thresholds`, of shape (m,): the stumps. Thresholds are midpoints of
        neighbouring values, in the order of the features; inf for the constant, which comes first.

    Raises
    ------
    ValueError
        If X is not finite, or has no stump because all rows are equal and `constant` is False.

    See Also
    --------
    sklearn_ensemble_theory.bounds.gauge : The variation norm of a function on these rows.

    Notes
    -----
    The cost in time and memory is O(n² p) at most: n rows and m <= p (n - 1) + 1 stumps.

    %(references_Bach)s

    Examples
    --------
    The variation norm of a function of one variable over stumps is half its total variation plus
    the absolute mean of its two ends:

    >>> from sklearn_ensemble_theory.bounds import gauge
    >>> from sklearn_ensemble_theory.erm import stump_dictionary
    >>> stumps = stump_dictionary([[0.0], [1.0], [2.0], [3.0]])
    >>> stumps.thresholds
    array([inf, 0.5, 1.5, 2.5])
    >>> round(gauge(stumps.outputs, [0.0, 3.0, 1.0, 2.0]).value, 6)
    4.0
    """
    with np.errstate(over="ignore", invalid="ignore"):  # of sums of large numbers
        X = check_array(X, dtype=[np.float64, np.float32])
    n, p = X.shape
    left, features, thresholds = (
        [np.ones((1, n), dtype=bool)],
        [np.zeros(1, int)],
        [np.full(1, np.inf)],
    )
    for j in range(p):
        values = np.unique(X[:, j]).astype(np.float64)
        below, above = values[:-1], values[1:]
        middle = 0.5 * below + 0.5 * above  # the sum first could overflow
        middle = np.where((below <= middle) & (middle < above), middle, below)
        left.append(X[:, j] <= middle[:, None])
        features.append(np.full(len(middle), j))
        thresholds.append(middle)
    sides = np.concatenate(left)
    # Equal up to the sign: the same rows on the side of the first row.
    _, first = np.unique(np.packbits(sides == sides[:, :1], axis=1), axis=0, return_index=True)
    first = np.sort(first)[0 if constant else 1 :]
    if not len(first):
        raise ValueError("X: all rows are equal, so the only stump is the constant.")
    return Bunch(
        outputs=np.where(sides[first].T, 1.0, -1.0),
        features=np.concatenate(features)[first],
        thresholds=np.concatenate(thresholds)[first],
    )
