"""Prediction intervals for time series, around a bagged ensemble that is not fitted again."""

from numbers import Integral
from typing import Literal, Self

import numpy as np
from sklearn.utils import check_array, check_consistent_length

from sklearn_ensemble_theory._rows import one_column
from sklearn_ensemble_theory._scaling import range_exponent
from sklearn_ensemble_theory._typing import ArrayLike, MatrixLike
from sklearn_ensemble_theory.ensembles._ensemble import HasEnsemble, kept_rows
from sklearn_ensemble_theory.ensembles._intervals import checked_coverage, one_of
from sklearn_ensemble_theory.ensembles._predictions import mean_prediction
from sklearn_ensemble_theory.ensembles._time_series import residual_limits, residuals_of_fit


class SeriesIntervals:
    """Prediction intervals for time series, from a sliding window of residuals (EnbPI).

    The window begins with the residuals of the training rows out of bag, in the order of time. As
    targets become known, `update` replaces the oldest residuals by the residuals of the new rows.
    An interval is the prediction plus two quantiles of the residuals in the window [Xu and Xie,
    2023].

    Parameters
    ----------
    model : fitted bagging regressor or forest
        Of one target and fitted without groups. Fit it with `bootstrap="moving_block"`, for
        residuals of rows that are not near to drawn ones.
    residuals : array-like of shape (n_residuals,), default=None
        The window: targets minus predictions, the oldest first. None takes the out-of-bag residuals
        of the training rows. That of other intervals is their `residuals_`.

    Attributes
    ----------
    model : fitted bagging regressor or forest
        The model, as it was given.
    residuals_ : ndarray of shape (n_residuals,)
        Targets minus predictions, the oldest first, in units of y.

    Raises
    ------
    TypeError
        If the model is no bagging regressor or forest of this package.
    ValueError
        If y of the fit had several columns or groups, there are no out-of-bag rows, or the training
        rows were removed.

    Notes
    -----
    Intervals cover asymptotically, if the errors of the series are stationary and strongly mixing
    and the predictions out of bag converge to the regression function. Of finitely many rows there
    is no guarantee. After a change of the noise they cover again when the window has passed it.

    Cost: the residuals once, then predictions.

    References
    ----------
    C. Xu and Y. Xie (2023). "Conformal prediction for time series". *IEEE Transactions on Pattern
    Analysis and Machine Intelligence* 45(10).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_ensemble_theory import RandomForestRegressor
    >>> from sklearn_ensemble_theory.averaging import SeriesIntervals
    >>> rng = np.random.default_rng(0)
    >>> X = np.arange(300.0)[:, None] % 25
    >>> y = np.sin(X[:, 0] / 4) + 0.1 * rng.standard_normal(300)
    >>> forest = RandomForestRegressor(bootstrap="moving_block", random_state=0)
    >>> series = SeriesIntervals(forest.fit(X[:200], y[:200]))
    >>> later = series.update(X[200:250], y[200:250])
    >>> later.predict_interval(X[250:]).shape
    (50, 2)
    """

    def __init__(self, model: HasEnsemble, residuals: ArrayLike | None = None) -> None:
        if not hasattr(type(model), "ensemble_"):
            raise TypeError(
                "model must be a fitted bagging regressor or forest of this package, such as "
                f"RandomForestRegressor; got {type(model).__name__}. For another model give "
                "BaggingRegressor(model)."
            )
        self.model = model
        ensemble = model.ensemble_
        # Sums with residuals are in units of this power of two, so that huge ones are finite.
        self._exponent = range_exponent(kept_rows(ensemble, "SeriesIntervals").y)
        if residuals is None:
            residuals = np.ldexp(residuals_of_fit(ensemble), self._exponent)
        self.residuals_ = np.array(residuals, dtype=np.float64)

    def _predict(self, X: MatrixLike) -> np.ndarray:
        ensemble = self.model.ensemble_
        mean = mean_prediction(ensemble, ensemble.check(X), "predict")
        return np.ldexp(mean, -self._exponent)

    def update(self, X: MatrixLike, y: ArrayLike, window: int | None = None) -> Self:
        """Move the window of residuals on to new rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows that follow the rows of `fit`, or of the last update, in time. Do not give training
            rows: their residuals would be too small.
        y : array-like of shape (n_samples,)
            Their targets.
        window : int, default=None
            How many residuals are kept, the newest. `None` is as many as before, at first about as
            many as training rows. A short window follows a change of the noise sooner, but
            estimates quantiles less well.

        Returns
        -------
        updated : SeriesIntervals
            Intervals around the same model from the new window. This object stays as it is.

        Raises
        ------
        ValueError
            If X or y is not valid, or `window` is not a positive integer.

        Notes
        -----
        Cost: a prediction of the rows.
        """
        is_integer = isinstance(window, Integral) and not isinstance(window, bool)
        if window is not None and not (is_integer and window >= 1):
            raise ValueError(f"window must be an integer of at least 1 or None, got {window!r}.")
        predicted = self._predict(X)
        y = check_array(one_column(y), ensure_2d=False, dtype=np.float64, input_name="y")
        check_consistent_length(predicted, y)
        with np.errstate(over="ignore"):
            residuals = np.ldexp(np.ldexp(y, -self._exponent) - predicted, self._exponent)
        if not np.isfinite(residuals).all():
            raise ValueError("y has values too far from those of the fit for their residuals.")
        length = len(self.residuals_) if window is None else int(window)
        return type(self)(self.model, np.concatenate([self.residuals_, residuals])[-length:])

    def predict_interval(
        self,
        X: MatrixLike,
        coverage: float = 0.9,
        method: Literal["narrowest", "symmetric"] = "narrowest",
        side: Literal["both", "lower", "upper"] = "both",
    ) -> np.ndarray:
        """Predict intervals that contain the target of a later row with a given probability.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to predict.
        coverage : float, default=0.9
            The probability 1 - alpha aimed at, on average over the rows.
        method : {"narrowest", "symmetric"}, default="narrowest"
            "narrowest" adds the quantiles of the residuals of levels beta and 1 - alpha + beta,
            with the beta of the narrowest interval. "symmetric" adds and subtracts a quantile of
            their absolute values, which covers somewhat more often.
        side : {"both", "lower", "upper"}, default="both"
            Which ends there are; the other one is infinite.

        Returns
        -------
        interval : ndarray of shape (n_samples, 2)
            Lower and upper ends, in the units of y; infinite, with a warning, if there are too few
            residuals.

        Raises
        ------
        ValueError
            If a parameter is outside its range.
        """
        coverage = checked_coverage(coverage)
        one_of("method", method, ("narrowest", "symmetric"))
        one_of("side", side, ("both", "lower", "upper"))
        residuals = np.ldexp(self.residuals_, -self._exponent)
        low, high = residual_limits(residuals, coverage, method, side)
        mean = self._predict(X)
        with np.errstate(over="ignore"):  # an end beyond the largest float is infinite
            return np.ldexp(np.column_stack([mean + low, mean + high]), self._exponent)

    def __repr__(self) -> str:
        return f"SeriesIntervals({self.model!r})"
