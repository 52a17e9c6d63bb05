"""Decision stumps as exact empirical risk minimisers, and as weak learners of the boosting loop."""

from collections.abc import Sequence
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._blocks import by_chunks
from sklearn_ensemble_theory._compat import Interval
from sklearn_ensemble_theory._fitting import fit_context
from sklearn_ensemble_theory._hot_loops.array_loops import two_valued
from sklearn_ensemble_theory._learners import (
    ClassTask,
    LeastSquaresTask,
    PreparedRounds,
    Task,
)
from sklearn_ensemble_theory._rows import rows_of_positive_weight, validate_data
from sklearn_ensemble_theory.erm._stumps._single.best_stump import best_stump
from sklearn_ensemble_theory.erm._stumps._summed.stumps_of_sums import SummedStumps, stumps_of_sums
from sklearn_ensemble_theory.erm._stumps.rounds import StumpClasses, prepare_stumps
from sklearn_ensemble_theory.erm._stumps.split_search import Split
from sklearn_ensemble_theory.erm._stumps.stump_outputs import StumpBoundMixin
from sklearn_ensemble_theory.erm._stumps.stump_trees import (
    StumpTree,
    gini,
    sides_of,
    sides_of_targets,
)

MAX_BINS = 2**16 - 1


class _Stump(StumpTree, BaseEstimator):
    """Base of the two stumps: the parameter, and the side of a row."""

    _parameter_constraints: ClassVar[dict] = {
        "max_bins": [Interval(Integral, 2, MAX_BINS, closed="both"), None],
    }

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
        return self._left_of(X)

    def _left_of(self, X: np.ndarray) -> np.ndarray:
        """Rows of a validated X at or below the threshold, compared in double precision."""
        return X[:, self.feature_] <= np.array([self.threshold_])


LARGEST_DIFFERENCE = np.finfo(np.float64).max / 4


class DecisionStumpClassifier(StumpBoundMixin, ClassifierMixin, _Stump):
    """Decision stump with the smallest weighted 0-1 error over all features and thresholds.

    A decision stump predicts one class where ``x[feature] <= threshold`` and one class elsewhere.
    A tree of depth one chooses the split with the largest decrease of the Gini index; the stump
    minimises the (weighted) number of errors itself, as the theory of AdaBoost assumes of a weak
    learner. A constant prediction is chosen if no threshold has fewer errors.

    Parameters
    ----------
    max_bins : int, default=None
        If None, all thresholds between two distinct values are considered. If an integer, each
        feature is first cut into at most `max_bins` bins of about equal weight, and only the edges
        of the bins are considered.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    n_classes_ : int
        The number of classes.
    feature_ : int
        The feature of the threshold.
    threshold_ : float
        The threshold, a midpoint of two neighbouring values; inf for a constant stump.
    left_class_, right_class_ : int
        Index in `classes_` of the prediction where the feature is at most the threshold, and where
        it is above.
    left_proba_, right_proba_ : ndarray of shape (n_classes,)
        Weighted shares of the classes on the two sides.
    training_error_ : float
        Weighted share of errors on the training rows.
    feature_importances_ : ndarray of shape (n_features,)
        1 for `feature_` and 0 for others; all 0 for a constant stump.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of features seen during `fit`, where they are all strings.

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

    References
    ----------
    R. D. Shah. *Mathematics of Machine Learning*, lecture notes. University of Cambridge.

    Examples
    --------
    >>> from sklearn_ensemble_theory import DecisionStumpClassifier
    >>> stump = DecisionStumpClassifier().fit([[1], [2], [3], [4]], ["a", "a", "b", "b"])
    >>> stump.threshold_, stump.training_error_
    (2.5, 0.0)
    """

    _sklearn_class = DecisionTreeClassifier
    left_class_: int
    right_class_: int
    left_proba_: np.ndarray
    right_proba_: np.ndarray

    @classmethod
    def _of_labels(
        cls,
        classes: np.ndarray,
        n_features: int,
        split: Split,
        sides: tuple[int, int],
        shares: Sequence[np.ndarray],
        error: float,
        sides_of_rows: np.ndarray,
    ) -> Self:
        """A fitted stump from a search that is already done."""
        stump = cls.__new__(cls)
        stump.__dict__.update(
            max_bins=None,
            classes_=classes,
            n_classes_=len(classes),
            n_features_in_=n_features,
            feature_=split.feature,
            threshold_=split.threshold,
            left_class_=sides[0],
            right_class_=sides[1],
            left_proba_=shares[0],
            right_proba_=shares[1],
            training_error_=error,
            _sides=sides_of_rows,
        )
        return stump

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Find the best stump.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Class labels.
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
        kept = rows_of_positive_weight(sample_weight, X)
        (X, codes), weight = kept.take(X, codes), kept.normalised

        def task_of(rows: slice) -> ClassTask:
            return ClassTask(codes[rows], classes)

        split, left, right = best_stump(X, None, weight, task_of, self.max_bins, STUMPS)
        on_left = X[:, split.feature] <= np.array([split.threshold])  # in double precision
        chosen = np.where(on_left, left, right)
        shares = [np.bincount(codes[s], weight[s], len(classes)) for s in (on_left, ~on_left)]
        overall = np.bincount(codes, weight, len(classes))
        shares = [s / s.sum() if s.sum() > 0 else overall for s in shares]
        self.__dict__.update(
            vars(
                self._of_labels(
                    classes,
                    X.shape[1],
                    split,
                    (left, right),
                    shares,
                    float(weight[chosen != codes].sum()),
                    sides_of(on_left, float(weight[on_left].sum())),
                )
            )
            | {"max_bins": self.max_bins}
        )
        return self

    @by_chunks
    def predict(self, X: ArrayLike) -> np.ndarray:
        """Predict the class of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Predictions.
        """
        left = self._left(X)
        return self.classes_.take(np.where(left, self.left_class_, self.right_class_))

    def _leaf_values(self) -> np.ndarray:
        values = np.stack([self.left_proba_, self.right_proba_])
        for shares, chosen in zip(values, (self.left_class_, self.right_class_)):
            if shares.argmax() != chosen:  # a tie up to rounding
                shares[chosen] = np.nextafter(shares.max(), 2.0)
        return values

    def _impurities(self, values: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return gini(np.vstack([weights @ values, values]))

    def _predict_codes(self, X: np.ndarray) -> np.ndarray:
        return np.where(self._left_of(X), self.left_class_, self.right_class_)

    def _prepare_rounds(
        self, X: np.ndarray, weight: np.ndarray | None, task: Task
    ) -> PreparedRounds | None:
        return prepare_stumps(X, weight, task, self.max_bins, STUMPS)

    def _prepare_sums(self, task: Task) -> SummedStumps | None:
        return stumps_of_sums(task, self.max_bins, STUMPS)

    @by_chunks
    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """Predict the class probabilities, the weighted shares of the classes on the row's side.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            Class probabilities, in the order of `classes_`.
        """
        return np.where(self._left(X)[:, None], self.left_proba_, self.right_proba_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # One threshold does not reach the scores that scikit-learn's checks require.
        tags.classifier_tags.poor_score = True
        return tags


class DecisionStumpRegressor(RegressorMixin, _Stump):
    """Decision stump with the smallest weighted residual sum of squares.

    A decision stump predicts one value where ``x[feature] <= threshold`` and another elsewhere.
    Among all features, thresholds and values, the fit is the one with the least weighted residual
    sum of squares [DS-GA 1003, lecture 8; Shah, eq. (4.6)].

    Parameters
    ----------
    max_bins : int, default=None
        If None, all thresholds between two distinct values are considered. If an integer, each
        feature is first cut into at most `max_bins` bins of about equal weight, and only the edges
        of the bins are considered.

    Attributes
    ----------
    feature_ : int
        The feature of the threshold.
    threshold_ : float
        The threshold, a midpoint of two neighbouring values; inf for a constant stump.
    left_value_, right_value_ : float
        Weighted means of the targets on the two sides, in units of y. Members of an
        `AdaBoostClassifier` for several classes have arrays of shape (n_classes,) here: one value
        for each class.
    feature_importances_ : ndarray of shape (n_features,)
        1 for `feature_` and 0 for others; all 0 for a constant stump.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of features seen during `fit`, where they are all strings.

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

    R. D. Shah. *Mathematics of Machine Learning*, lecture notes. University of Cambridge.

    Examples
    --------
    >>> from sklearn_ensemble_theory import DecisionStumpRegressor
    >>> stump = DecisionStumpRegressor().fit([[1], [2], [3], [4]], [0.0, 0.0, 3.0, 5.0])
    >>> stump.threshold_, stump.left_value_, stump.right_value_
    (2.5, 0.0, 4.0)
    """

    _sklearn_class = DecisionTreeRegressor
    left_value_: Any
    right_value_: Any

    @classmethod
    def _of_values(cls, n_features: int, split: Split, left: Any, right: Any) -> Self:
        """A fitted stump from a search that is already done."""
        stump = cls.__new__(cls)
        stump.__dict__.update(
            max_bins=None,
            n_features_in_=n_features,
            feature_=split.feature,
            threshold_=split.threshold,
            left_value_=_number_or_array(left),
            right_value_=_number_or_array(left if split.threshold == np.inf else right),
        )
        return stump

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Find the best stump.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights. Rows of weight 0 are ignored.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32], y_numeric=True)
        y = np.asarray(y, dtype=np.float64)
        kept = rows_of_positive_weight(sample_weight, X)
        (X, y), weight = kept.take(X, y), kept.normalised
        del kept  # its weights are not needed any more
        # Differences of numbers near the largest float are infinite: then y is in units of 4.
        unit = 4.0 if np.abs(y).max() > LARGEST_DIFFERENCE else 1.0

        def task_of(rows: slice) -> LeastSquaresTask:
            return LeastSquaresTask()

        target = y / unit if unit > 1 else y
        split, left, right = best_stump(X, target, weight, task_of, self.max_bins, STUMPS)
        if unit > 1:  # means exceed the largest target by rounding
            left, right = unit * np.clip([left, right], y.min() / unit, y.max() / unit)
        found = self._of_values(X.shape[1], split, left, right)
        self.__dict__.update(vars(found) | {"max_bins": self.max_bins})
        self._sides = sides_of_targets(self._left_of(X), y, weight)
        return self

    @by_chunks
    def predict(self, X: ArrayLike) -> np.ndarray:
        """Predict the value on the side of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        y : ndarray of shape (n_samples,), or (n_samples, n_classes) for one value for each class
            Predictions.
        """
        return self._side_values(self._left(X))

    def _predict_validated(self, X: np.ndarray) -> np.ndarray:
        return self._side_values(self._left_of(X))

    def _side_values(self, left: np.ndarray) -> np.ndarray:
        if np.ndim(self.left_value_):
            return np.where(left[:, None], self.left_value_, self.right_value_)
        return two_valued(left, self.left_value_, self.right_value_)

    def _leaf_values(self) -> np.ndarray:
        return np.array([[self.left_value_], [self.right_value_]])

    def _impurities(self, values: np.ndarray, weights: np.ndarray) -> np.ndarray:
        within = self._sides[:, 2]
        gap = values[0, 0] - values[1, 0]
        return np.array([weights @ within + weights[0] * weights[1] * gap**2, *within])

    def _prepare_rounds(
        self, X: np.ndarray, weight: np.ndarray | None, task: Task
    ) -> PreparedRounds | None:
        return prepare_stumps(X, weight, task, self.max_bins, STUMPS)

    def _prepare_sums(self, task: Task) -> SummedStumps | None:
        return stumps_of_sums(task, self.max_bins, STUMPS)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # One threshold does not reach the scores that scikit-learn's checks require.
        tags.regressor_tags.poor_score = True
        return tags


def _number_or_array(value: Any) -> Any:
    return value if np.ndim(value) else float(value)


STUMPS = StumpClasses(DecisionStumpClassifier, DecisionStumpRegressor)
