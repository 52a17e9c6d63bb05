"""Calibration of predictions and distributions: what was observed against what they say."""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from scipy.special import betaincinv, stdtrit
from scipy.stats import binom
from sklearn.base import is_classifier

from sklearn_ensemble_theory._rows import checked_weights
from sklearn_ensemble_theory._typing import ArrayLike, MatrixLike
from sklearn_ensemble_theory.metrics import check_rows, checked_values, predicted_distribution

from ._plotting import COLORS, GREY, few_ticks, pyplot, shortened

LEVELS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)


# --- numbers --------------------------------------------------------------------------------------


def pit_ends(y: np.ndarray, distribution: Any) -> tuple[np.ndarray, np.ndarray]:
    """The distribution functions below and at the values y; the same where there is a density."""
    check_rows(distribution, y)
    upper = np.asarray(distribution.cdf(y))
    is_discrete = hasattr(getattr(distribution, "dist", distribution), "pmf")
    lower = np.asarray(distribution.cdf(np.ceil(y) - 1)) if is_discrete else upper
    if upper.shape != y.shape:
        raise ValueError(
            f"distribution must have parameters for the {len(y)} values of y, or one for all; its "
            f"probabilities are of shape {upper.shape}."
        )
    if np.isnan(upper).any():
        row = int(np.flatnonzero(np.isnan(upper))[0])
        raise ValueError(f"distribution has parameters outside of their range in row {row}.")
    return lower, upper


def share_up_to(
    u: np.ndarray, lower: np.ndarray, upper: np.ndarray, share: np.ndarray
) -> np.ndarray:
    """The mean over the rows of the distribution function of their PIT, uniform on its interval.

    At each of the levels u, of which the last is 1 at most. An interval that is a point counts in
    whole from there on.
    """
    found = np.empty(len(u))
    width = upper - lower
    for k, level in enumerate(u):  # few levels, many rows
        part = np.divide(level - lower, width, out=np.ones(len(lower)), where=width > 0)
        found[k] = share @ np.where(level >= upper, 1.0, np.where(level < lower, 0.0, part))
    return found


def shares_of(sample_weight: ArrayLike | None, y: np.ndarray) -> tuple[np.ndarray, float]:
    """Weights that sum to 1, and the number of rows of equal weights with the same precision."""
    weight = np.ones(len(y)) if sample_weight is None else checked_weights(sample_weight, y)
    if not weight.any():
        raise ValueError("sample_weight must not be all 0.")
    share = weight / weight.max()
    share /= share.sum()
    return share, 1 / float(share @ share)


def binomial_interval(
    share: np.ndarray, n: float | np.ndarray, confidence: float
) -> tuple[np.ndarray, np.ndarray]:
    """The interval of Clopper and Pearson for probabilities of which shares of n were observed."""
    alpha, k = (1 - confidence) / 2, share * n
    tiny = np.finfo(float).tiny  # in the place of 0 rows
    lower = np.where(k > 0, betaincinv(np.maximum(k, tiny), n - k + 1, alpha), 0.0)
    upper = np.where(k < n, betaincinv(k + 1, np.maximum(n - k, tiny), 1 - alpha), 1.0)
    return lower, upper


def _check_between_0_and_1(name: str, value: float) -> None:
    if not 0 < value < 1:
        raise ValueError(f"{name} must be between 0 and 1, got {value!r}.")


def _checked_levels(levels: Any) -> np.ndarray:
    found = np.asarray(levels, dtype=float)
    if found.ndim != 1 or not len(found) or not np.all((found > 0) & (found < 1)):
        raise ValueError(f"levels must be numbers between 0 and 1, got {levels!r}.")
    if not np.all(np.diff(found) > 0):
        raise ValueError(f"levels must increase, got {levels!r}.")
    return found


@dataclass(frozen=True)
class ReliabilityCurve:
    """Groups of rows by their predictions.

    Attributes
    ----------
    label : str
        The class that is predicted, or "".
    predicted, observed : ndarray of shape (n_groups,)
        Weighted means of the predictions and of the observed values.
    intervals : ndarray of shape (n_groups, 2)
        Confidence intervals of the observed means; NaN for groups of a single value.
    share : ndarray of shape (n_groups,)
        The weights of the groups, which sum to 1.
    """

    label: str
    predicted: np.ndarray
    observed: np.ndarray
    intervals: np.ndarray
    share: np.ndarray


def reliability_curve(
    label: str,
    y: np.ndarray,
    predicted: np.ndarray,
    share: np.ndarray,
    n_bins: int,
    confidence: float,
    is_probability: bool,
) -> ReliabilityCurve:
    """Means of groups of about equal weight, in which rows of equal predictions stay together."""
    _, place = np.unique(predicted, return_inverse=True)
    weight = np.bincount(place, weights=share)
    # The group that the middle of the weight of a value falls into.
    middle = np.cumsum(weight) - 0.5 * weight
    _, group = np.unique(
        np.minimum((n_bins * middle).astype(int), n_bins - 1)[place], return_inverse=True
    )
    total = np.bincount(group, weights=share)
    own = share / total[group]  # sums to 1 in each group
    mean = np.bincount(group, weights=own * predicted)
    observed = np.bincount(group, weights=own * y)
    n = 1 / np.bincount(group, weights=own**2)  # rows of equal weight with the same precision
    if is_probability:
        observed = np.clip(observed, 0.0, 1.0)  # sums of shares may end beside 1
        intervals = np.column_stack(binomial_interval(observed, n, confidence))
    else:
        # Student's interval of a mean; of one row it has no end.
        square = np.bincount(group, weights=own * (y - observed[group]) ** 2)
        free = np.where(n > 1.5, n - 1, np.nan)
        half = stdtrit(free, 0.5 + confidence / 2) * np.sqrt(square / free)
        intervals = np.column_stack([observed - half, observed + half])
    return ReliabilityCurve(label, mean, observed, intervals, total)


# --- figures --------------------------------------------------------------------------------------


class PITDisplay:
    r"""A histogram of the probability integral transform of observed values.

    If F is the distribution of a row, F(y) is uniform on [0, 1]. The heights of the histogram of
    the :math:`F_i(y_i)` are then about 1. Distributions that are too narrow have high bars at both
    ends, too wide ones in the middle, and a slope shows that the values are above or below what was
    predicted. A uniform histogram is necessary but not sufficient: the distribution of all y
    together, as the prediction for each row, has one too [Gneiting and Raftery, 2007].

    For counts the transform of a value y is spread evenly over the interval from :math:`F(y - 1)`
    to :math:`F(y)`, which gives a uniform histogram without random numbers
    (Czado, Gneiting and Held 2009).

    Use `from_estimator` or `from_predictions` to create a display; the constructor stores its
    arguments. The rows have to be new ones: of the training rows any model knows too much.

    Parameters
    ----------
    lower, upper : ndarray of shape (n_samples,)
        The distribution function below and at the observed values, which are the same for laws with
        a density.
    share : ndarray of shape (n_samples,)
        Weights of the rows, which sum to 1.

    Attributes
    ----------
    heights_ : ndarray of shape (n_bins,)
        The heights of the bars, whose mean is 1, after `plot`.
    band_ : tuple of floats
        The heights that a uniform sample stays in, after `plot`.
    ax_ : matplotlib.axes.Axes
        The axes, after `plot`.
    figure_ : matplotlib.figure.Figure
        The figure, after `plot`.

    See Also
    --------
    QuantileReliabilityDisplay : Levels of quantiles and the shares of values below them.
    sklearn_ensemble_theory.metrics.crps : A score that also rewards narrow distributions.

    References
    ----------
    C. Czado, T. Gneiting and L. Held (2009). "Predictive model assessment for count data".
    *Biometrics* 65, 1254-1261.

    T. Gneiting and A. E. Raftery (2007). "Strictly proper scoring rules, prediction, and
    estimation". *Journal of the American Statistical Association* 102, 359-378.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.stats import norm
    >>> from sklearn_ensemble_theory.inspection import PITDisplay
    >>> y = np.random.default_rng(0).standard_normal(500)
    >>> display = PITDisplay.from_predictions(y, norm(0.0, 0.7), n_bins=5)
    >>> display.heights_.round(2)  # too narrow
    array([1.45, 0.83, 0.64, 0.68, 1.4 ])
    >>> print(*np.round(display.band_, 1))  # of uniform samples, for all bars together
    0.8 1.2
    """

    def __init__(self, lower: np.ndarray, upper: np.ndarray, share: np.ndarray) -> None:
        self.lower = lower
        self.upper = upper
        self.share = share

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: MatrixLike,
        y: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        n_bins: int = 10,
        confidence: float = 0.95,
        ax: Any = None,
        **options: Any,
    ) -> "PITDisplay":
        """Draw the histogram for the distributions that a fitted estimator predicts.

        Parameters
        ----------
        estimator : estimator
            A fitted estimator with `predict_distribution`.
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows that the estimator was not fitted to.
        y : array-like of shape (n_samples,)
            Their observed values.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; equal weights by default.
        n_bins : int, default=10
            Number of bars.
        confidence : float, default=0.95
            Probability with which all bars of a uniform sample are in the band, at least.
        ax : matplotlib.axes.Axes, default=None
            Axes to draw on; a new figure by default.
        **options : dict
            Arguments of `predict_distribution`, for instance `family="student-t"`.

        Returns
        -------
        display : PITDisplay
            The display, drawn.

        Raises
        ------
        TypeError
            If the estimator has no `predict_distribution`.
        ValueError
            If a parameter is outside its range, or y does not fit to X.
        """
        return cls.from_predictions(
            y,
            predicted_distribution(estimator, X, options),
            sample_weight=sample_weight,
            n_bins=n_bins,
            confidence=confidence,
            ax=ax,
        )

    @classmethod
    def from_predictions(
        cls,
        y: ArrayLike,
        distribution: Any,
        *,
        sample_weight: ArrayLike | None = None,
        n_bins: int = 10,
        confidence: float = 0.95,
        ax: Any = None,
    ) -> "PITDisplay":
        """Draw the histogram for given distributions.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Observed values.
        distribution : frozen distribution
            Distributions of scipy.stats with parameters of shape (n_samples,), or for all rows the
            same; or another object with `cdf`.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; equal weights by default.
        n_bins : int, default=10
            Number of bars.
        confidence : float, default=0.95
            Probability with which all bars of a uniform sample are in the band, at least.
        ax : matplotlib.axes.Axes, default=None
            Axes to draw on; a new figure by default.

        Returns
        -------
        display : PITDisplay
            The display, drawn.

        Raises
        ------
        ValueError
            If a parameter is outside its range, or y does not fit to the distribution.
        """
        values = checked_values(y)
        share, _ = shares_of(sample_weight, values)
        return cls(*pit_ends(values, distribution), share).plot(
            ax, n_bins=n_bins, confidence=confidence
        )

    def plot(self, ax: Any = None, *, n_bins: int = 10, confidence: float = 0.95) -> "PITDisplay":
        """Draw the histogram and the band of uniform samples.

        The band is binomial, at the level (1 - `confidence`) / `n_bins` for each bar, so that all
        of them stay in it with the probability `confidence`. Bars of counts vary less.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            Axes to draw on; a new figure by default.
        n_bins : int, default=10
            Number of bars.
        confidence : float, default=0.95
            Probability with which all bars of a uniform sample are in the band, at least.

        Returns
        -------
        self : PITDisplay
            The display, drawn.
        """
        plt = pyplot(type(self).__name__)
        if not isinstance(n_bins, Integral) or n_bins < 2:
            raise ValueError(f"n_bins must be an int of at least 2, got {n_bins!r}.")
        _check_between_0_and_1("confidence", confidence)
        edges = np.arange(n_bins + 1) / n_bins
        below = share_up_to(edges, self.lower, self.upper, self.share)
        below[0] = 0.0  # a transform of exactly 0 belongs to the first bar
        self.heights_ = n_bins * np.diff(below)
        n, tail = round(1 / float(self.share @ self.share)), (1 - confidence) / (2 * n_bins)
        counts = binom.ppf([tail, 1 - tail], n, 1 / n_bins)
        self.band_ = float(counts[0] * n_bins / n), float(counts[1] * n_bins / n)
        if ax is None:
            _, ax = plt.subplots(layout="constrained")
        ax.stairs(self.heights_, edges, fill=True, color=COLORS[0], alpha=0.35)
        ax.stairs(self.heights_, edges, color=COLORS[0])
        label = f"uniform, {100 * confidence:g} % of samples of {n:,}"
        ax.axhspan(*self.band_, color=GREY, alpha=0.25, linewidth=0, label=label, zorder=0)
        ax.axhline(1.0, color=GREY, linewidth=0.8)
        ax.set(xlabel="distribution function at the observed value", ylabel="density")
        top = max(self.heights_.max(), self.band_[1])
        ax.set(xlim=(0, 1), ylim=(0, 1.25 * top))  # with room for the legend
        ax.legend(loc="upper center", fontsize="small")
        self.ax_, self.figure_ = ax, ax.figure
        return self


class QuantileReliabilityDisplay:
    """Levels of predicted quantiles, and the shares of observed values up to them.

    Points on the diagonal are right. A point below it at a low level and above it at a high level
    belongs to quantiles that are too far apart, the opposite to quantiles that are too close; all
    points above the diagonal to quantiles that are too large. The bars are binomial intervals, one
    for each level, for independent rows. The points are not independent of each other.

    Use `from_estimator` or `from_predictions` to create a display; the constructor stores its
    arguments. The rows have to be new ones: of the training rows any model knows too much.

    Parameters
    ----------
    levels : ndarray of shape (n_levels,)
        Levels, increasing.
    observed : ndarray of shape (n_levels,)
        Shares of the values up to the quantile of each level.
    n : float
        Number of rows; of unequal weights the number of rows with the same precision.

    Attributes
    ----------
    intervals_ : ndarray of shape (n_levels, 2)
        Binomial intervals of the shares, after `plot`.
    ax_ : matplotlib.axes.Axes
        The axes, after `plot`.
    figure_ : matplotlib.figure.Figure
        The figure, after `plot`.

    See Also
    --------
    PITDisplay : The same of whole distributions, level by level.

    References
    ----------
    C. J. Clopper and E. S. Pearson (1934). "The use of confidence or fiducial limits illustrated in
    the case of the binomial". *Biometrika* 26, 404-413.

    C. Czado, T. Gneiting and L. Held (2009). "Predictive model assessment for count data".
    *Biometrics* 65, 1254-1261.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_ensemble_theory import RandomForestRegressor
    >>> from sklearn_ensemble_theory.inspection import QuantileReliabilityDisplay
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = RandomForestRegressor(100, random_state=0).fit(X[:300], y[:300])
    >>> display = QuantileReliabilityDisplay.from_estimator(
    ...     forest, X[300:], y[300:], levels=[0.1, 0.5, 0.9]
    ... )
    >>> display.observed.round(1)
    array([0.1, 0.5, 0.9])
    """

    def __init__(self, levels: np.ndarray, observed: np.ndarray, n: float) -> None:
        self.levels = levels
        self.observed = observed
        self.n = n

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: MatrixLike,
        y: ArrayLike,
        *,
        levels: Sequence[float] = LEVELS,
        sample_weight: ArrayLike | None = None,
        confidence: float = 0.95,
        ax: Any = None,
        **options: Any,
    ) -> "QuantileReliabilityDisplay":
        """Draw the shares for the quantiles that a fitted estimator predicts.

        Parameters
        ----------
        estimator : estimator
            A fitted estimator with `predict_quantiles`, such as a forest, or with
            `predict_distribution`.
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows that the estimator was not fitted to.
        y : array-like of shape (n_samples,)
            Their observed values.
        levels : sequence of float, default=(0.05, 0.1, 0.2, ..., 0.9, 0.95)
            Levels of the quantiles, increasing, between 0 and 1.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; equal weights by default.
        confidence : float, default=0.95
            Of the binomial intervals.
        ax : matplotlib.axes.Axes, default=None
            Axes to draw on; a new figure by default.
        **options : dict
            Arguments of `predict_quantiles`; with `family` of `predict_distribution`.

        Returns
        -------
        display : QuantileReliabilityDisplay
            The display, drawn.

        Raises
        ------
        TypeError
            If the estimator has neither of the methods.
        ValueError
            If a parameter is outside its range, or y does not fit to X.
        """
        given = _checked_levels(levels)
        if hasattr(estimator, "predict_quantiles") and "family" not in options:
            found = estimator.predict_quantiles(X, given, **options)
        else:
            found = predicted_distribution(estimator, X, options)
        return cls.from_predictions(
            y, found, levels=given, sample_weight=sample_weight, confidence=confidence, ax=ax
        )

    @classmethod
    def from_predictions(
        cls,
        y: ArrayLike,
        predictions: Any,
        *,
        levels: ArrayLike = LEVELS,
        sample_weight: ArrayLike | None = None,
        confidence: float = 0.95,
        ax: Any = None,
    ) -> "QuantileReliabilityDisplay":
        """Draw the shares for given quantiles or distributions.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Observed values.
        predictions : array-like of shape (n_samples, n_levels) or frozen distribution
            The quantiles, or distributions of scipy.stats for the rows. A value counts up to its
            quantile; with distributions of counts for the part of its probability that is below
            the level, as in `PITDisplay`, so that the points of a true law are on the diagonal.
        levels : sequence of float, default=(0.05, 0.1, 0.2, ..., 0.9, 0.95)
            Levels of the quantiles, increasing, between 0 and 1.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; equal weights by default.
        confidence : float, default=0.95
            Of the binomial intervals.
        ax : matplotlib.axes.Axes, default=None
            Axes to draw on; a new figure by default.

        Returns
        -------
        display : QuantileReliabilityDisplay
            The display, drawn.

        Raises
        ------
        ValueError
            If a parameter is outside its range, or y does not fit to the predictions.
        """
        given, values = _checked_levels(levels), checked_values(y)
        share, n = shares_of(sample_weight, values)
        if hasattr(predictions, "cdf"):
            observed = share_up_to(given, *pit_ends(values, predictions), share)
        else:
            quantiles = np.asarray(predictions, dtype=float)
            if quantiles.shape != (len(values), len(given)):
                raise ValueError(
                    "predictions must have a row for each value of y and a column for each level, "
                    f"({len(values)}, {len(given)}); got {quantiles.shape}."
                )
            observed = share @ (values[:, None] <= quantiles)
        return cls(given, observed, n).plot(ax, confidence=confidence)

    def plot(self, ax: Any = None, *, confidence: float = 0.95) -> "QuantileReliabilityDisplay":
        """Draw the points with their binomial intervals.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            Axes to draw on; a new figure by default.
        confidence : float, default=0.95
            Of the binomial intervals.

        Returns
        -------
        self : QuantileReliabilityDisplay
            The display, drawn.
        """
        plt = pyplot(type(self).__name__)
        _check_between_0_and_1("confidence", confidence)
        observed = np.clip(self.observed, 0.0, 1.0)  # sums of shares may end beside 1
        lower, upper = binomial_interval(observed, self.n, confidence)
        self.intervals_ = np.column_stack([lower, upper])
        if ax is None:
            _, ax = plt.subplots(figsize=(4.8, 4.8), layout="constrained")
        ax.plot([0, 1], [0, 1], color=GREY, linewidth=0.8, label="calibrated")
        half = np.abs(np.stack([observed - lower, upper - observed]))
        label = f"observed, {100 * confidence:g} % intervals"
        look = {"fmt": "o", "color": COLORS[0], "markersize": 5, "capsize": 2, "label": label}
        ax.errorbar(self.levels, observed, yerr=half, **look)
        ax.set(xlabel="level of the predicted quantile", ylabel="share of values up to it")
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
        ax.legend(loc="upper left", fontsize="small")
        self.ax_, self.figure_ = ax, ax.figure
        return self


class MeanReliabilityDisplay:
    """Means of predictions against means of what was observed, in groups of equal weight.

    The rows are put in the order of their predictions and divided into groups. Points on the
    diagonal are right on average; points below it belong to predictions that are too large. A line
    that is flatter than the diagonal says that the predictions vary too much, as those of a model
    that was fitted too closely, a steeper one that they vary too little. For classifiers the
    predictions are probabilities and the observed means shares of the class, with the binomial
    intervals of Clopper and Pearson; for regressors the intervals are Student's. The grey
    histogram is the distribution of the predictions.

    Use `from_estimator` or `from_predictions` to create a display; the constructor stores its
    arguments. The rows have to be new ones: of the training rows any model knows too much.

    Parameters
    ----------
    curves : list of ReliabilityCurve
        The groups: one curve, or one for each class.
    predictions : list of ndarray of shape (n_samples,)
        The predictions of each curve, for the histogram.
    share : ndarray of shape (n_samples,)
        Weights of the rows, which sum to 1.
    is_probability : bool, default=False
        Whether the predictions are probabilities.
    confidence : float, default=0.95
        Of the intervals, for the label.

    Attributes
    ----------
    calibration_error_ : float
        The weighted mean of the absolute differences of the two means; of all curves. It is larger
        than 0 by chance for the true probabilities too.
    ax_ : matplotlib.axes.Axes
        The axes, after `plot`.
    figure_ : matplotlib.figure.Figure
        The figure, after `plot`.

    See Also
    --------
    QuantileReliabilityDisplay : The same of quantiles.

    References
    ----------
    A. H. Murphy and R. L. Winkler (1977). "Reliability of subjective probability forecasts of
    precipitation and temperature". *Applied Statistics* 26, 41-47.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_ensemble_theory import L2BoostingRegressor
    >>> from sklearn_ensemble_theory.inspection import MeanReliabilityDisplay
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = L2BoostingRegressor("cv").fit(X[:300], y[:300])
    >>> display = MeanReliabilityDisplay.from_estimator(model, X[300:], y[300:], n_bins=4)
    >>> len(display.curves[0].observed)
    4
    """

    def __init__(
        self,
        curves: Sequence[ReliabilityCurve],
        predictions: Sequence[np.ndarray],
        share: np.ndarray,
        is_probability: bool = False,
        confidence: float = 0.95,
    ) -> None:
        self.curves = curves
        self.predictions = predictions
        self.share = share
        self.is_probability = is_probability
        self.confidence = confidence

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: MatrixLike,
        y: ArrayLike,
        *,
        target: Any = None,
        sample_weight: ArrayLike | None = None,
        n_bins: int = 10,
        confidence: float = 0.95,
        ax: Any = None,
        **options: Any,
    ) -> "MeanReliabilityDisplay":
        """Draw the groups for a fitted estimator.

        Parameters
        ----------
        estimator : estimator
            A fitted regressor, or a fitted classifier with `predict_proba`.
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows that the estimator was not fitted to.
        y : array-like of shape (n_samples,)
            Their observed values or classes.
        target : label, default=None
            The class of a classifier; by default the second of two classes, and all of more.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; equal weights by default.
        n_bins : int, default=10
            Number of groups, at most: rows of equal predictions are in one.
        confidence : float, default=0.95
            Of the intervals.
        ax : matplotlib.axes.Axes, default=None
            Axes to draw on; a new figure by default.
        **options : dict
            Arguments of `predict` or `predict_proba`, for instance `offset`.

        Returns
        -------
        display : MeanReliabilityDisplay
            The display, drawn.

        Raises
        ------
        ValueError
            If a parameter is outside its range, or y does not fit to X.
        """
        found: dict[str, Any] = {
            "sample_weight": sample_weight,
            "n_bins": n_bins,
            "confidence": confidence,
        }
        if not is_classifier(estimator):
            if target is not None:
                raise ValueError("target is for classifiers; it must be None for a regressor.")
            return cls.from_predictions(y, estimator.predict(X, **options), **found, ax=ax)
        classes, labels = estimator.classes_, np.asarray(y)
        unknown = [c for c in np.unique(labels).tolist() if c not in classes.tolist()]
        if unknown:
            raise ValueError(f"y has labels that are not classes of the estimator: {unknown}.")
        wanted = classes[1:] if len(classes) == 2 else classes
        if target is not None:
            wanted = classes[classes == target]
            if len(wanted) != 1:
                raise ValueError(f"target must be one of {classes.tolist()}; got {target!r}.")
        chances = np.asarray(estimator.predict_proba(X, **options))
        displays = []
        for c in wanted:
            own = chances[:, np.argmax(classes == c)]
            displays.append(cls._of(str(c), (labels == c) * 1.0, own, **found, binary=True))
        return cls(
            [d.curves[0] for d in displays],
            [d.predictions[0] for d in displays],
            displays[0].share,
            True,
            confidence,
        ).plot(ax)

    @classmethod
    def from_predictions(
        cls,
        y: ArrayLike,
        predicted: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        n_bins: int = 10,
        confidence: float = 0.95,
        ax: Any = None,
    ) -> "MeanReliabilityDisplay":
        """Draw the groups for given predictions.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Observed values: numbers, or 0 and 1.
        predicted : array-like of shape (n_samples,)
            Predictions; probabilities, if they are in [0, 1] and all y are 0 or 1.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; equal weights by default.
        n_bins : int, default=10
            Number of groups, at most: rows of equal predictions are in one.
        confidence : float, default=0.95
            Of the intervals.
        ax : matplotlib.axes.Axes, default=None
            Axes to draw on; a new figure by default.

        Returns
        -------
        display : MeanReliabilityDisplay
            The display, drawn.

        Raises
        ------
        ValueError
            If a parameter is outside its range, or the arrays do not fit to each other.
        """
        return cls._of("", y, predicted, sample_weight, n_bins, confidence, None).plot(ax)

    @classmethod
    def _of(cls, label, y, predicted, sample_weight, n_bins, confidence, binary):
        if not isinstance(n_bins, Integral) or n_bins < 1:
            raise ValueError(f"n_bins must be an int of at least 1, got {n_bins!r}.")
        _check_between_0_and_1("confidence", confidence)
        values = checked_values(y)
        found = np.asarray(predicted, dtype=float)
        if found.shape != values.shape or not np.isfinite(found).all():
            raise ValueError(
                f"predicted must be {len(values)} finite numbers, one for each value of y; it has "
                f"the shape {found.shape}."
            )
        share, _ = shares_of(sample_weight, values)
        if binary is None:
            in_range = found.min() >= 0 and found.max() <= 1
            binary = bool(in_range and np.isin(values, [0.0, 1.0]).all())
        # Rows without weight are in no group.
        values, found, share = (a[share > 0] for a in (values, found, share))
        curve = reliability_curve(label, values, found, share, n_bins, confidence, binary)
        return cls([curve], [found], share, binary, confidence)

    def plot(self, ax: Any = None) -> "MeanReliabilityDisplay":
        """Draw the points with their intervals.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            Axes to draw on; a new figure by default.

        Returns
        -------
        self : MeanReliabilityDisplay
            The display, drawn.
        """
        plt = pyplot(type(self).__name__)
        if ax is None:
            _, ax = plt.subplots(figsize=(4.8, 4.8), layout="constrained")
        gaps = [float(c.share @ np.abs(c.predicted - c.observed)) for c in self.curves]
        self.calibration_error_ = float(np.mean(gaps))
        drawn = [np.ravel(a) for c in self.curves for a in (c.predicted, c.observed, c.intervals)]
        ends = np.concatenate(drawn)
        low, high = float(np.nanmin(ends)), float(np.nanmax(ends))
        if self.is_probability:
            low, high = 0.0, 1.0
        gap = 0.03 * (high - low) or 0.5
        low, high = low - gap, high + gap
        handles = [ax.plot([low, high], [low, high], color=GREY, linewidth=0.8)[0]]
        names = ["calibrated"]
        for c, (curve, predictions) in enumerate(zip(self.curves, self.predictions)):
            color = COLORS[c % len(COLORS)]
            half = np.abs(curve.intervals - curve.observed[:, None]).T
            look = {"color": color, "markersize": 4, "linewidth": 1, "elinewidth": 1, "capsize": 2}
            handles.append(ax.errorbar(curve.predicted, curve.observed, half, fmt="o-", **look))
            names.append(shortened(curve.label) if len(self.curves) > 1 else "observed")
            heights, edges = np.histogram(predictions, 40, (low, high), weights=self.share)
            heights = 0.12 * heights / max(heights.max(), np.finfo(float).tiny)
            fill = {"color": GREY if len(self.curves) == 1 else color, "alpha": 0.5, "zorder": 0}
            ax.stairs(heights, edges, fill=True, transform=ax.get_xaxis_transform(), **fill)
        intervals = f"{100 * self.confidence:g} % intervals"
        if len(self.curves) == 1:
            names[1] += f", {intervals}"
        ax.legend(handles, names, loc="upper left", fontsize="small")
        ax.set(xlim=(low, high), ylim=(low, high), aspect="equal")
        label = self.curves[0].label
        if self.is_probability:
            of = f" of {shortened(label)}" if len(self.curves) == 1 and label else ""
            ax.set(xlabel=f"predicted probability{of}", ylabel=f"observed share{of}")
        else:
            few_ticks(ax, "x")
            few_ticks(ax, "y")
            ax.set(xlabel="mean prediction of the group", ylabel="mean of the observed values")
        self.ax_, self.figure_ = ax, ax.figure
        return self
