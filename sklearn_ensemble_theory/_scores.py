"""scikit-learn's mixins of regressors and classifiers, with scores that no unit makes NaN.

Sums of weights of 1e308, and squares of targets of 1e160, overflow in scikit-learn's metrics. A
score is the same in any unit.
"""

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import sklearn.base
from scipy.sparse import issparse
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import check_array

from sklearn_ensemble_theory._blocks import (
    SummedFields,
    any_collection,
    is_collection,
    meta_of,
    refuse_values_of_rows,
    row_blocks,
)
from sklearn_ensemble_theory._rows import (
    check_usual_units,
    checked_target,
    checked_weights,
    in_usual_units,
)
from sklearn_ensemble_theory._running import reworded, warn_user
from sklearn_ensemble_theory._scaling import range_exponent
from sklearn_ensemble_theory._typing import ArrayLike, MatrixLike, Predictor


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


# --- the score of a model, also of Dask collections -----------------------------------------------


def r2_of(
    model: Predictor, X: Any, y: Any, sample_weight: Any, offset: ArrayLike | None = None
) -> float:
    """R² of `predict`; of Dask collections from sums over the chunks, in one pass."""
    found = _sums_of_chunks(model, X, y, sample_weight, offset, SquaredErrors)
    if isinstance(found, SquaredErrors):
        return found.r2()
    y, sample_weight = found
    predicted = model.predict(X) if offset is None else model.predict(X, offset=offset)
    return coefficient_of_determination(y, predicted, sample_weight)


def accuracy_of(
    model: Predictor, X: Any, y: Any, sample_weight: Any, offset: ArrayLike | None = None
) -> float:
    """Accuracy of `predict`; of Dask collections from sums over the chunks, in one pass."""
    found = _sums_of_chunks(model, X, y, sample_weight, offset, RightLabels)
    if isinstance(found, RightLabels):
        return found.right / found.weight
    y, sample_weight = found
    predicted = model.predict(X) if offset is None else model.predict(X, offset=offset)
    return accuracy(y, predicted, sample_weight)


@dataclass
class SquaredErrors:
    """Sums of squares of targets and errors of weighted rows, for each target; they add up.

    All are in units of 2^exponent, so that squares do not overflow or vanish.

    - mean: of the targets.
    - spread: the weighted sum of squares of targets minus their mean.
    - errors: that of targets minus predictions.
    """

    n_rows: int
    weight: float
    exponent: int
    mean: np.ndarray
    spread: np.ndarray
    errors: np.ndarray

    @classmethod
    def of(cls, y: Any, predicted: np.ndarray, weight: np.ndarray) -> "SquaredErrors":
        y = checked_target(np.asarray(y), is_real=True)
        y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
        if y.size != predicted.size or len(y) != len(predicted):
            raise ValueError(
                f"y must have the shape of the predictions, {predicted.shape}; got {y.shape}."
            )
        exponent = range_exponent(y)
        with np.errstate(over="ignore", under="ignore"):
            y, predicted = (
                np.ldexp(each.reshape(len(y), -1), -exponent) for each in (y, predicted)
            )
            mean = np.average(y, axis=0, weights=weight)
            sums = weight @ (y - mean) ** 2, weight @ (y - predicted) ** 2
        return cls(len(y), float(weight.sum()), exponent, mean, *sums)

    def in_units(self, exponent: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        by = self.exponent - exponent
        squares = (np.ldexp(each, 2 * by) for each in (self.spread, self.errors))
        return np.ldexp(self.mean, by), *squares

    def __add__(self, other: "SquaredErrors") -> "SquaredErrors":
        """By the formula of Chan, Golub and LeVeque (1983) for sums of squares about means."""
        exponent, weight = max(self.exponent, other.exponent), self.weight + other.weight
        if weight == 0:
            return self
        mean, spread, errors = self.in_units(exponent)
        other_mean, other_spread, other_errors = other.in_units(exponent)
        share, step = other.weight / weight, other_mean - mean
        return SquaredErrors(
            self.n_rows + other.n_rows,
            weight,
            exponent,
            mean + share * step,
            spread + other_spread + self.weight * share * step**2,
            errors + other_errors,
        )

    def r2(self) -> float:
        """As in scikit-learn: targets without spread have 1 for no errors and 0 for any."""
        if self.n_rows < 2:
            warn_user("R² is not defined for fewer than two rows.", UndefinedMetricWarning)
            return float("nan")
        is_flat = self.spread == 0
        with np.errstate(over="ignore"):
            found = 1 - self.errors / np.where(is_flat, 1.0, self.spread)
        return float(np.where(is_flat, self.errors == 0, found).mean())


@dataclass
class RightLabels(SummedFields):
    """The weight of the rows whose labels are right, and that of all rows."""

    right: float
    weight: float

    @classmethod
    def of(cls, y: Any, predicted: np.ndarray, weight: np.ndarray) -> "RightLabels":
        total = float(weight.sum())
        return cls(accuracy(np.asarray(y), predicted, weight) * total, total)


def _sums_of_chunks(
    model: Predictor,
    X: Any,
    y: Any,
    sample_weight: Any,
    offset: Any,
    kind: type[SquaredErrors] | type[RightLabels],
) -> Any:
    """The sums over the chunks of X; y and the weights, in memory, where X is in memory."""
    if not is_collection(X):
        if any_collection(y, sample_weight):
            from dask import compute

            y, sample_weight = compute(y, sample_weight)
        return y, sample_weight
    if offset is not None and not isinstance(offset, Real):
        refuse_values_of_rows("offset", True)
    meta_of(X)
    found = row_blocks(X, y, sample_weight).sum(_sums_of_chunk, model, offset, kind)
    if found is None:
        raise ValueError("X has no rows of positive weight.")
    return found


def _sums_of_chunk(
    block: tuple[int, Any, Any, Any],
    model: Predictor,
    offset: Any,
    kind: type[SquaredErrors] | type[RightLabels],
) -> SquaredErrors | RightLabels | None:
    number, X, y, weight = block
    if X.shape[0] == 0:
        return None
    try:
        weight = np.ones(X.shape[0]) if weight is None else np.asarray(weight)
        if not weight.any():
            return None
        weight = checked_weights(weight, X)
        check_usual_units(weight)
        predicted = model.predict(X) if offset is None else model.predict(X, offset=offset)
        return kind.of(y, np.asarray(predicted), weight)
    except (TypeError, ValueError) as error:
        raise reworded(error, f"{error} (in chunk {number} of the rows)") from error


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
        return r2_of(self, X, y, sample_weight)


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
        return accuracy_of(self, X, y, sample_weight)
