"""scikit-learn's mixins of regressors and classifiers, with scores that no unit makes NaN.

Sums of weights of 1e308, and squares of targets of 1e160, overflow in scikit-learn's metrics. A
score is the same in any unit.
"""

from typing import Any

import numpy as np
import sklearn.base
from scipy.sparse import issparse
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import check_array

from sklearn_ensemble_theory._rows import checked_weights, in_usual_units
from sklearn_ensemble_theory._scaling import range_exponent
from sklearn_ensemble_theory._typing import ArrayLike, MatrixLike


def coefficient_of_determination(y: Any, predicted: Any, sample_weight: Any) -> float:
    """R², the mean over several targets."""
    targets = np.asarray(y)
    if targets.dtype == object:
        try:
            y = targets = targets.astype(np.float64)
        except (OverflowError, TypeError, ValueError) as error:
            raise ValueError(f"y must hold numbers that are floats: {error}.") from None
    if targets.dtype.kind == "f" and (exponent := range_exponent(targets)):
        with np.errstate(over="ignore", under="ignore"):
            y, predicted = np.ldexp(targets, -exponent), np.ldexp(predicted, -exponent)
    with np.errstate(over="ignore"):  # of predictions that are far from the targets: -inf
        weight = weights_of_score(sample_weight, predicted)
        try:
            return float(r2_score(y, predicted, sample_weight=weight))
        except (TypeError, ValueError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(f"y must have a finite number for each row: {error}") from error


def accuracy(y: Any, predicted: Any, sample_weight: Any) -> float:
    """The share of right labels; with several outputs, of rows of right labels."""
    with np.errstate(invalid="ignore"):  # of labels beyond integers
        try:
            if np.ndim(predicted) == 2 and not issparse(y):
                y = rows_of_right_labels(y, predicted)
                predicted = np.ones(len(y), dtype=bool)
            weight = weights_of_score(sample_weight, predicted)
            return float(accuracy_score(y, predicted, sample_weight=weight))
        except TypeError as error:
            raise TypeError(f"y must have labels like those of the fit: {error}.") from error


def rows_of_right_labels(y: Any, predicted: Any) -> np.ndarray:
    """Whether all labels of each row are predicted, a bool array; y has several columns.

    scikit-learn's accuracy takes such columns only if their labels are 0 and 1. Missing labels, and
    labels that cannot be compared with those predicted, are errors.
    """
    try:
        labels = check_array(y, dtype=None, ensure_2d=False, input_name="y")
    except ValueError as error:
        raise ValueError(f"y must have labels: {error}.") from error
    if labels.shape != np.shape(predicted):
        raise ValueError(
            f"y must have a label for each row and each of the {np.shape(predicted)[1]} columns of "
            f"y in the fit, the shape {np.shape(predicted)}; got {labels.shape}."
        )
    labels, found = labels.astype(object), np.asarray(predicted).astype(object)
    for known, own in zip(found.T, labels.T):
        np.union1d(known, own)  # a TypeError for numbers and text
    return np.all(np.asarray(labels == found, dtype=bool), axis=1)


def weights_of_score(sample_weight: Any, predicted: Any) -> Any:
    """The weights, as `fit` takes them, in units in which their sum does not overflow or vanish."""
    if sample_weight is None:
        return None
    return in_usual_units(checked_weights(sample_weight, np.asarray(predicted)))


class RegressorMixin(sklearn.base.RegressorMixin):
    """scikit-learn's, with this `score`."""

    def score(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the coefficient of determination R² of the predictions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Their targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        score : float
            1 for perfect predictions, 0 for the mean of y; the mean over several targets.
        """
        return coefficient_of_determination(y, self.predict(X), sample_weight)


class ClassifierMixin(sklearn.base.ClassifierMixin):
    """scikit-learn's, with this `score`."""

    def score(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the share of rows whose label is predicted.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Their labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        score : float
            The accuracy; with several outputs a row counts if all its labels are right.
        """
        return accuracy(y, self.predict(X), sample_weight)
