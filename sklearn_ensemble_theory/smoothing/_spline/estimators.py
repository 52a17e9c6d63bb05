"""Smoothing splines, for one feature or an additive model [Dombry and Esstafa, example 2.4]."""

from numbers import Integral, Real
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._compat import Interval, StrOptions
from sklearn_ensemble_theory._fitting import fit_context
from sklearn_ensemble_theory._rows import (
    ChunkedRows,
    finite_predictions,
    rows_of_positive_weight,
    validate_data,
)
from sklearn_ensemble_theory.smoothing._smoothers import DENSE_ROWS, SpectralForm
from sklearn_ensemble_theory.smoothing._spline.base import (
    PenaltySpec,
    RowsInMemory,
    SplineFit,
    fit_splines,
    form_at,
    spectral_form,
)
from sklearn_ensemble_theory.smoothing._spline.chunked_splines import (
    ChunkedSums,
    fit_splines_of_chunks,
    sums_of_chunks,
)
from sklearn_ensemble_theory.smoothing._spline.feature_sums import (
    FeatureSmoothers,
    feature_smoothers,
)


class SmoothingSplineRegressor(RegressorMixin, BaseEstimator):
    r"""Smoothing splines: least squares with a penalty on the r-th derivative.

    Minimises, over f = constant + f_1(x_1) + ... + f_p(x_p),

    .. math:: \sum_i w_i (Y_i - f(x_i))^2 + \sum_j \nu_j \int f_j^{(r)}(u)^2 \, du

    ([Dombry and Esstafa, example 2.4], for one feature). The f_j are splines of degree 2r - 1 with
    a knot at every distinct value, or at quantiles of the distinct values when there are more of
    them than `max_knots`. Outside the range of the training data each f_j continues linearly (as
    a constant for r = 1).

    Parameters
    ----------
    df : float, default=None
        Degrees of freedom of each feature's own spline, including the constant: between `order` (a
        polynomial of degree `order` - 1) and the number of distinct values (an interpolation);
        numbers above the latter are reduced to it. When given, it determines the penalty.
    penalty : "gcv" or float, default="gcv"
        Used when `df` is None. A number is the nu of the formula, the same for all features, in
        units of weight times (units of the feature)^(2r-1). `"gcv"` minimises the generalised
        cross-validation score over one factor common to all features; rows that are equal in all
        features count as one observation there, their weighted mean.
    order : int, default=2
        The r of the formula; 2 is the cubic spline.
    max_knots : "auto" or int, default="auto"
        Maximum number of knots for each feature. `"auto"`: 200 for up to 3 features,
        600 / n_features for more, and at least 20.

    Attributes
    ----------
    penalties_ : ndarray of shape (n_features,)
        The nu of each feature, in the units above.
    degrees_of_freedom_ : float
        The trace of the smoother matrix.
    eigenvalues_ : ndarray of shape (n_eigenvalues,)
        The nonzero eigenvalues of the smoother matrix, in decreasing order. The first one belongs
        to the constant.
    intercept_ : float or ndarray of shape (n_outputs,)
        The weighted mean of y; the f_j have mean zero over the training rows.
    n_features_in_ : int
        Number of features seen during :term:`fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of features seen during :term:`fit`. Defined only when X has feature names that are
        all strings.

    Raises
    ------
    ValueError
        If `df` is below `order`, or the range of a feature overflows.

    See Also
    --------
    NadarayaWatsonRegressor : Local averages in any dimension, with interactions.
    LinearL2BoostingRegressor : Boosts this estimator in closed form.

    Notes
    -----
    With K knots in total, the cost is O(n log n) to sort, O(n) for products of B-splines of order
    r, and O(K^3) for one decomposition. No n x n matrix is built.

    Dask collections are read twice: for the knots and the mean of y, and for the products of
    B-splines, of which a chunk sends K^2 numbers. With the same knots the model is that of all rows
    in memory up to rounding. The knots are the same, whatever the number of rows, for a feature of
    at most 4000 distinct values, and where no chunk has more than 32,768 rows and all together
    have at most 131,072; otherwise they are quantiles of the distinct values in a sample of the
    rows. With ``penalty="gcv"`` equal rows count as one observation only where there is a single
    feature of at most 4000 distinct values; otherwise each row counts as one.

    References
    ----------
    C. Dombry and Y. Esstafa. "Behavior of linear L2-boosting algorithms in the vanishing learning
    rate asymptotic".

    A. Demmler and C. Reinsch (1975). "Oscillation matrices with spline smoothing". Numerische
    Mathematik 24, 375-382.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_ensemble_theory import SmoothingSplineRegressor
    >>> X = np.linspace(0, 1, 100)[:, None]
    >>> y = np.sin(6 * X[:, 0])
    >>> model = SmoothingSplineRegressor(df=8).fit(X, y)
    >>> float(round(model.degrees_of_freedom_, 6))
    8.0
    >>> model.predict([[0.25]]).round(2)
    array([0.99])
    """

    _parameter_constraints: ClassVar[dict] = {
        "df": [Interval(Real, 1, None, closed="left"), None],
        "penalty": [Interval(Real, 0, None, closed="left"), StrOptions({"gcv"})],
        "order": [Interval(Integral, 1, 5, closed="both")],
        "max_knots": [Interval(Integral, 2, None, closed="left"), StrOptions({"auto"})],
    }

    def __init__(
        self,
        df: float | None = None,
        *,
        penalty: float | Literal["gcv"] = "gcv",
        order: int = 2,
        max_knots: int | Literal["auto"] = "auto",
    ) -> None:
        self.df = df
        self.penalty = penalty
        self.order = order
        self.max_knots = max_knots

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_coefficients")

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> "SmoothingSplineRegressor":
        """Fit the splines.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training data, or a Dask array or data frame.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets; a Dask collection where X is one.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows. Integer weights are equivalent to repeating rows.

        Returns
        -------
        self : SmoothingSplineRegressor
            The fitted estimator.
        """
        self._check_df()
        X, y = validate_data(self, X, y, dtype=np.float64, multi_output=True, y_numeric=True)
        rows = rows_of_positive_weight(sample_weight, X)
        X, y = rows.take(X, y)
        Y = y.astype(np.float64, copy=False).reshape(len(y), -1)
        self._learn(fit_splines(X, Y, rows.weight, self._penalty_spec()), y.ndim == 1)
        # Enough for the smoother matrix; the functions that it is made of are 1,000 times as large.
        few = len(X) <= DENSE_ROWS
        self._training = (X.copy(), rows.weight, self._penalty_spec()) if few else None
        return self

    def _fit_chunks(self, rows: ChunkedRows) -> None:
        """`fit` of rows in chunks, which are read twice."""
        self._check_df()
        self._learn(*fit_splines_of_chunks(rows, self._penalty_spec()))
        self._training = None

    def _learn(self, fitted: SplineFit, is_1d: bool) -> None:
        self.penalties_, self.eigenvalues_ = fitted.penalties, fitted.eigenvalues
        self.degrees_of_freedom_ = float(fitted.eigenvalues.sum())
        self.intercept_ = fitted.mean[0] if is_1d else fitted.mean
        self._design, self._is_1d = fitted.form.design, is_1d
        self._coefficients = fitted.coefficients

    @finite_predictions
    def predict(self, X: ArrayLike) -> np.ndarray:
        """Evaluate the splines.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            The predictions.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        out = self._design.evaluate(X, self._coefficients) + self.intercept_
        return out[:, 0] if self._is_1d else out

    def predict_terms(self, X: ArrayLike) -> np.ndarray:
        """Return the f_j of each feature; the prediction is `intercept_` plus their sum.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        terms : ndarray of shape (n_samples, n_features) or (n_samples, n_features, n_outputs)
            The terms, one column for each feature. Each has a weighted mean of zero over the
            training rows.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        out = self._design.terms(X, self._coefficients)
        return out[:, :, 0] if self._is_1d else out

    def smoother_matrix(self, X: ArrayLike | None = None) -> np.ndarray:
        """Return the matrix that maps the training targets to predictions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), default=None
            Rows to predict; the training rows by default.

        Returns
        -------
        S : ndarray of shape (n_samples, n_training_rows)
            The matrix. Training rows of weight zero are left out.

        Raises
        ------
        ValueError
            If there were more than 5,000 training rows, or a Dask collection of them.
        """
        check_is_fitted(self)
        if self._training is None:
            raise ValueError(
                f"The smoother matrix is available for at most {DENSE_ROWS} training rows in "
                "memory."
            )
        X_train, w, spec = self._training
        form = form_at(X_train, w, spec, self.penalties_)
        if X is None:
            X = X_train
        else:
            X = validate_data(self, X, dtype=np.float64, reset=False)
        right = form.design.evaluate(X_train, form.T * form.shrinkage(1.0))
        S = form.design.evaluate(X, form.T) @ (w[:, None] * right).T
        return S + w / w.sum()

    def _penalty_spec(self) -> PenaltySpec:
        return PenaltySpec(self.df, self.penalty, self.order, self.max_knots)

    def _check_df(self) -> None:
        if isinstance(self.order, bool):
            raise TypeError(f"order must be an integer from 1 to 5, got {self.order}.")
        if self.df is not None and self.df < self.order:
            raise ValueError(
                f"df={self.df} is below order={self.order}, the degrees of freedom of a "
                "polynomial of degree order - 1, which has no penalty."
            )

    def _check_linear(self) -> None:
        """Raise where the outputs are not linear in y; see `smoothing._smoothers`."""
        self._validate_params()
        if self._penalty_spec().is_chosen:
            raise ValueError(
                "SmoothingSplineRegressor with penalty='gcv' is not linear in y, because the "
                "penalty depends on y. Set df or penalty to a number."
            )
        self._check_df()

    def _linear_form(
        self, X: np.ndarray, weight: np.ndarray, one_feature_each: bool
    ) -> SpectralForm:
        """The functions and eigenvalues of the smoother matrix; see `smoothing._smoothers`."""
        return spectral_form(RowsInMemory(X, weight), self._penalty_spec(), one_feature_each)

    def _feature_smoothers(self, X: np.ndarray, weight: np.ndarray) -> FeatureSmoothers:
        """Each feature's own spline; see `smoothing._smoothers`."""
        return feature_smoothers(RowsInMemory(X, weight), self._penalty_spec())

    def _sums_of_chunks(self, rows: ChunkedRows, coordinates: str, n_splits: int) -> ChunkedSums:
        """Sums over rows in chunks, from which the above follow; see `smoothing._smoothers`."""
        spec = self._penalty_spec()
        if coordinates == "random":
            spec = spec.of_one_feature
        return sums_of_chunks(rows, spec, with_gram=coordinates != "all", n_splits=n_splits)
