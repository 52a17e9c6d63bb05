"""Decision stumps as exact empirical risk minimisers, and as weak learners of the boosting loop."""

from numbers import Integral
from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from sklearn_ensemble_theory._compat import Interval, fit_context
from sklearn_ensemble_theory._numerics.hot_loops import two_valued
from sklearn_ensemble_theory._weak_learners import ClassTask, LeastSquaresTask
from sklearn_ensemble_theory._weights import rows_of_positive_weight
from sklearn_ensemble_theory.erm._stumps.rounds import StumpClasses, prepare_stumps

MAX_BINS = 2**16 - 1


class _Stump(BaseEstimator):
    """What the two stumps share: the split, its index, the side of a row."""

    _parameter_constraints: ClassVar[dict] = {
        "max_bins": [Interval(Integral, 2, MAX_BINS, closed="both"), None],
    }

    def __init__(self, max_bins=None):
        self.max_bins = max_bins

    def __sklearn_is_fitted__(self):
        return hasattr(self, "threshold_")

    def _set_split(self, split, n_features):
        self.feature_, self.threshold_ = split.feature, split.threshold
        self.n_features_in_ = n_features

    @property
    def feature_importances_(self):
        """1 for the feature that the stump asks about; all 0 for a constant stump."""
        check_is_fitted(self)
        return np.where(
            (np.arange(self.n_features_in_) == self.feature_) & np.isfinite(self.threshold_),
            1.0,
            0.0,
        )

    def _left(self, X):
        check_is_fitted(self)
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        return self._left_of(X)

    def _left_of(self, X):
        """Rows of a validated X that answer yes; the threshold is compared in double precision."""
        return X[:, self.feature_] <= np.array([self.threshold_])


class DecisionStumpClassifier(ClassifierMixin, _Stump):
    """The stump with the least weighted 0-1 error over all features and thresholds.

    A stump answers one question, ``x[feature] <= threshold``, with one class on each side. Unlike
    a tree of depth one, which splits where the Gini index falls most, it minimises the
    (weighted) number of errors itself, as the theory of AdaBoost asks of a weak learner. Constant
    stumps belong to the class: one is chosen where no question has fewer errors.

    Parameters
    ----------
    max_bins : int, default=None
        None looks at every threshold between two distinct values. An integer cuts each feature
        into at most so many bins of equal weight first and looks at their edges only.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_classes_ : int
    feature_ : int
        The feature that the question is about.
    threshold_ : float
        Midpoint of two neighbouring values; inf for a constant stump.
    left_class_, right_class_ : int
        Index in `classes_` of the answer where the feature is <= threshold, and where it is above.
    left_proba_, right_proba_ : ndarray of shape (n_classes,)
        Weighted shares of the classes on the two sides.
    training_error_ : float
        Weighted share of errors on the training rows.
    feature_importances_ : ndarray of shape (n_features,)
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    Notes
    -----
    O(n p log n) for the sort, O(n p) for the search (003 section 4.2). Ties go to the first
    feature, the lowest threshold and the first class. For ``n > 2048`` the exact search counts
    coarse bins first and looks inside those that can still hold the best threshold; the result is
    the same. With `max_bins` and many rows the counts are of weights in single precision:
    thresholds whose errors differ by less than 2^-22 count as equally good.

    Examples
    --------
    >>> from sklearn_ensemble_theory import DecisionStumpClassifier
    >>> stump = DecisionStumpClassifier().fit([[1], [2], [3], [4]], ["a", "a", "b", "b"])
    >>> stump.threshold_, stump.training_error_
    (2.5, 0.0)
    """

    @classmethod
    def _of_labels(cls, classes, n_features, split, sides, shares, error):
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
        )
        return stump

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Find the best stump.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Not negative. Rows of weight 0 are left out, and their values are no thresholds.

        Returns
        -------
        self
        """
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32])
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
        kept = rows_of_positive_weight(sample_weight, X)
        (X, codes), weight = kept.take(X, codes), kept.normalised
        rounds = prepare_stumps(X, weight, ClassTask(codes, classes), self.max_bins, STUMPS)
        split, left, right = rounds.search(None, weight)
        on_left = rounds.index.is_left(split)
        chosen = np.where(on_left, left, right)
        shares = [np.bincount(codes[s], weight[s], len(classes)) for s in (on_left, ~on_left)]
        shares = [s / s.sum() if s.sum() > 0 else np.bincount(codes, weight) for s in shares]
        self.__dict__.update(
            vars(
                self._of_labels(
                    classes,
                    X.shape[1],
                    split,
                    (left, right),
                    shares,
                    float(weight[chosen != codes].sum()),
                )
            )
            | {"max_bins": self.max_bins}
        )
        return self

    def predict(self, X):
        """The class of each row: array of shape (n_samples,)."""
        left = self._left(X)
        return self.classes_.take(np.where(left, self.left_class_, self.right_class_))

    def _predict_codes(self, X):
        return np.where(self._left_of(X), self.left_class_, self.right_class_)

    def _prepare_rounds(self, X, weight, task):
        return prepare_stumps(X, weight, task, self.max_bins, STUMPS)

    def predict_proba(self, X):
        """The class shares on the row's side: array of shape (n_samples, n_classes).

        The largest share belongs to the predicted class.
        """
        return np.where(self._left(X)[:, None], self.left_proba_, self.right_proba_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        # One question does not reach the scores that scikit-learn's checks ask for.
        tags.classifier_tags.poor_score = True
        return tags


class DecisionStumpRegressor(RegressorMixin, _Stump):
    """The stump with the least weighted residual sum of squares (004, 003 equation 4.6).

    h(x) = a where x[feature] <= threshold and b elsewhere, over all features, thresholds, a and b.

    Parameters
    ----------
    max_bins : int, default=None
        None looks at every threshold between two distinct values. An integer cuts each feature
        into at most so many bins of equal weight first and looks at their edges only.

    Attributes
    ----------
    feature_ : int
    threshold_ : float
        Midpoint of two neighbouring values; inf for a constant stump.
    left_value_, right_value_ : float
        Weighted means of the targets on the two sides, in units of y.
    feature_importances_ : ndarray of shape (n_features,)
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    Notes
    -----
    O(n p log n) for the sort, O(n p) for the search. In gradient boosting the sort is done once
    for all rounds. Ties go to the first feature and the lowest threshold.

    Examples
    --------
    >>> from sklearn_ensemble_theory import DecisionStumpRegressor
    >>> stump = DecisionStumpRegressor().fit([[1], [2], [3], [4]], [0.0, 0.0, 3.0, 5.0])
    >>> stump.threshold_, stump.left_value_, stump.right_value_
    (2.5, 0.0, 4.0)
    """

    @classmethod
    def _of_values(cls, n_features, split, left, right):
        """A fitted stump from a search that is already done."""
        stump = cls.__new__(cls)
        stump.__dict__.update(
            max_bins=None,
            n_features_in_=n_features,
            feature_=split.feature,
            threshold_=split.threshold,
            left_value_=float(left),
            right_value_=float(left if split.threshold == np.inf else right),
        )
        return stump

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Find the best stump.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None
            Not negative. Rows of weight 0 are left out, and their values are no thresholds.

        Returns
        -------
        self
        """
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32], y_numeric=True)
        y = np.asarray(y, dtype=np.float64)
        kept = rows_of_positive_weight(sample_weight, X)
        (X, y), weight = kept.take(X, y), kept.normalised
        rounds = prepare_stumps(X, weight, LeastSquaresTask(), self.max_bins, STUMPS)
        split, left, right = rounds.search(y, weight)
        found = self._of_values(X.shape[1], split, left, right)
        self.__dict__.update(vars(found) | {"max_bins": self.max_bins})
        return self

    def predict(self, X):
        """The value of the row's side: array of shape (n_samples,)."""
        return two_valued(self._left(X), self.left_value_, self.right_value_)

    def _predict_validated(self, X):
        return two_valued(self._left_of(X), self.left_value_, self.right_value_)

    def _prepare_rounds(self, X, weight, task):
        return prepare_stumps(X, weight, task, self.max_bins, STUMPS)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        # One question does not reach the scores that scikit-learn's checks ask for.
        tags.regressor_tags.poor_score = True
        return tags


STUMPS = StumpClasses(DecisionStumpClassifier, DecisionStumpRegressor)
