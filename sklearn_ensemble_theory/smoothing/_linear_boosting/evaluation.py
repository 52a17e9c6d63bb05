"""What a fitted `LinearL2BoostingRegressor` computes from its path: errors, df, components."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._rows import finite_predictions, validate_data
from sklearn_ensemble_theory.bounds._spectral_filters import n_rounds
from sklearn_ensemble_theory.smoothing._linear_boosting.paths import BoostingPath


def checked_times(times: ArrayLike) -> np.ndarray:
    try:
        times = np.atleast_1d(np.asarray(times, dtype=np.float64))
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"times must be finite, non-negative numbers: {error}.") from None
    if times.ndim != 1 or not len(times) or not np.isfinite(times).all() or (times < 0).any():
        raise ValueError("times must be finite, non-negative numbers.")
    return times


class PathEvaluationMixin:
    """Methods of an estimator that has a fitted path.

    Attributes
    ----------
    _path : BoostingPath
        For y in units of `_scale`.
    _predictor : object with `predict` and `component`
        At the chosen time.
    _within_ties : float
        The sum of squares of y within equal rows, in units of the scale squared.
    _row_of : ndarray of int
        The rows passed to `fit`, `_n_samples` of them, that the path has.
    _is_stochastic : bool
        Whether the rounds were run one by one.
    """

    _path: BoostingPath
    _predictor: Any
    _scale: float
    _within_ties: float
    _row_of: np.ndarray
    _n_samples: int
    _is_stochastic: bool
    learning_rate: float
    time_: float
    n_rounds_: int | None
    n_features_in_: int

    @finite_predictions
    def predict_path(self, X: ArrayLike, times: ArrayLike) -> np.ndarray:
        """Predict at several times.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.
        times : array-like of shape (n_times,)
            Times. They may exceed `time_`, unless the rounds were run one by one; with
            `coordinates="best"` they may not exceed the largest of `times_`.

        Returns
        -------
        y : ndarray of shape (n_samples, n_times)
            The predictions, one column for each time.

        Raises
        ------
        ValueError
            If the rounds were run one by one and a time is later than the last one.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, order="C", reset=False)
        checked = checked_times(times)
        if not self._is_stochastic:
            return self._path.predictor(checked).predict(X) * self._scale
        rounds = n_rounds(checked, self.learning_rate).tolist()
        if max(rounds) > (self.n_rounds_ or 0):
            raise ValueError(
                f"times must be at most {self.time_}: only {self.n_rounds_} rounds were run."
            )
        return self._scale * self._predictor.after(rounds).predict(X)

    def degrees_of_freedom(self, times: ArrayLike) -> np.ndarray:
        """Return the trace of the operator that maps y to the fitted values.

        Parameters
        ----------
        times : array-like of shape (n_times,)
            Times of boosting.

        Returns
        -------
        df : ndarray of shape (n_times,)
            The degrees of freedom; 1 at time 0 with `init="mean"`, 0 with `init="zero"`.
        """
        check_is_fitted(self)
        return self._path.degrees_of_freedom(checked_times(times))

    def training_error(self, times: ArrayLike) -> np.ndarray:
        """Return the weighted mean squared residual [Dombry and Esstafa, eq. (15)].

        Parameters
        ----------
        times : array-like of shape (n_times,)
            Times of boosting.

        Returns
        -------
        errors : ndarray of shape (n_times,)
            The errors.
        """
        check_is_fitted(self)
        rss = self._path.squared_residuals(checked_times(times)) + self._within_ties
        with np.errstate(over="ignore"):
            return rss / self._path.total_weight * self._scale * self._scale

    def component(self, j: int, x: ArrayLike) -> np.ndarray:
        """Return the term of one feature; `predict` is `init_` plus the sum of all terms.

        With `init="zero"` and splines, `predict` also contains a fitted constant, which is not part
        of any term.

        Parameters
        ----------
        j : int
            Index of the feature.
        x : array-like of shape (n_samples,)
            Values of the feature.

        Returns
        -------
        values : ndarray of shape (n_samples,)
            The term of the feature at x.

        Raises
        ------
        AttributeError
            If the model is not additive, that is, with `coordinates="all"` and a learner other than
            splines.
        """
        check_is_fitted(self)
        if not 0 <= j < self.n_features_in_:
            raise ValueError(
                f"j must be the index of one of {self.n_features_in_} features; got {j}."
            )
        x = np.asarray(x, dtype=np.float64).reshape(-1)
        return self._predictor.component(j, x)[:, 0] * self._scale

    def predict_terms(self, X: ArrayLike) -> np.ndarray:
        """Return the term of each feature; the prediction is their sum plus `intercept_`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        terms : ndarray of shape (n_samples, n_features)
            The terms at the chosen time, one column for each feature. Each has a weighted mean of
            zero over the training rows.

        Raises
        ------
        AttributeError
            If the model is not additive; see `component`.
        ValueError
            With random rounds and more than 100,000 training rows, which are not stored.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, order="C", reset=False)
        terms = [self._predictor.component(j, x)[:, 0] for j, x in enumerate(X.T)]
        return (np.column_stack(terms) - self._term_means()) * self._scale

    def _term_means(self) -> np.ndarray:
        """The means of the uncentred terms over the training rows, in units of the scale."""
        if self._predictor.is_centred:
            return np.zeros(self.n_features_in_)
        X, w = self._path.X, self._path.weight
        terms = (self._predictor.component(j, x)[:, 0] for j, x in enumerate(X.T))
        return np.array([np.average(term, weights=w) for term in terms])

    @property
    def intercept_(self) -> float:
        """The mean of the predictions over the training rows, for additive models."""
        check_is_fitted(self)
        return (self._predictor.constant + float(self._term_means().sum())) * self._scale

    @property
    def selected_features_(self) -> np.ndarray:
        """The feature of each round, with `coordinates="best"`."""
        check_is_fitted(self)
        return self._path.selection(self.time_)[0]

    @property
    def feature_importances_(self) -> np.ndarray:
        """Shares of the features in the decrease of the errors, with `coordinates="best"`."""
        check_is_fitted(self)
        return self._path.selection(self.time_)[1]

    def bias_variance(
        self,
        f: Callable[[np.ndarray], ArrayLike] | ArrayLike,
        sigma: float,
        times: ArrayLike,
        X_new: ArrayLike | None = None,
    ) -> Bunch:
        """Return expected errors for y = f(x) + noise of standard deviation sigma, at each time.

        On the training rows by [Dombry and Esstafa, propositions 2.12 and 2.13, remark 2.14]
        (corrected: the noise of the test observation is added once more, and the variance from a
        zero start is that of the fitted values); at new points by [Dombry and Esstafa, proposition
        2.15], averaged over `X_new`.

        Parameters
        ----------
        f : callable or array-like of shape (n_samples,)
            The regression function, or its values at the rows passed to `fit`. Called with an
            array of shape (n, n_features).
        sigma : float
            Standard deviation of the noise.
        times : array-like of shape (n_times,)
            Times of boosting.
        X_new : array-like of shape (n_new, n_features), default=None
            A sample of new points; `f` must be callable.

        Returns
        -------
        errors : Bunch of ndarrays of shape (n_times,)
            `bias2`, `variance_train`, `variance_test`, `train` and `test` (their sums), and with
            `X_new` also `bias2_new`, `variance_new`, `test_new`. The variances of the test errors
            include the noise of the test observation.
        """
        check_is_fitted(self)
        times, X = checked_times(times), self._path.X
        values = np.asarray(f(X) if callable(f) else f, dtype=np.float64)
        if not callable(f):
            if values.shape != (self._n_samples,):
                raise ValueError(
                    "f must be a callable or an array with one value for each row passed to fit."
                )
            values = values[self._row_of]
        out = self._path.bias_variance(values, sigma, times)
        if X_new is not None:
            if not callable(f):
                raise ValueError("f must be a callable if X_new is given.")
            X_new = validate_data(self, X_new, dtype=np.float64, order="C", reset=False)
            f_new = np.asarray(f(X_new), dtype=np.float64)
            bias, variance = self._path.new_point_errors(X_new, values, f_new, times)
            out.bias2_new, out.variance_new = bias, sigma**2 * (1.0 + variance)
            out.test_new = out.bias2_new + out.variance_new
        return out
