"""Calibration: what was observed against what predictions, quantiles and distributions say."""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal, Protocol, cast

import numpy as np
from scipy.special import betaincinv, stdtrit
from scipy.stats import binom
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._rows import checked_weights
from sklearn_ensemble_theory._typing import ArrayLike, FittedClassifier, FittedPredictor, MatrixLike
from sklearn_ensemble_theory.metrics import check_rows, checked_values
from sklearn_ensemble_theory.uncertainty import predict_distribution

from ._plotting import AXES, COLORS, GREY, documented, few_ticks, own_axes, shortened

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


def _check_at_least(n_bins: int, least: int) -> None:
    if not isinstance(n_bins, Integral) or n_bins < least:
        raise ValueError(f"n_bins must be an int of at least {least}, got {n_bins!r}.")


# --- means, quantiles, distributions --------------------------------------------------------------


class Reliability(Protocol):
    """What a display draws."""

    def draw(self, ax: Any) -> None: ...


@dataclass(frozen=True)
class ReliabilityCurve:
    """Groups of rows by their predictions of the class `label`, "" for no class.

    `predicted` and `observed` are weighted means, `intervals` (n_groups, 2) confidence intervals of
    the observed ones, NaN for groups of a single value. The weights `share` sum to 1.
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


@dataclass(frozen=True)
class MeanReliability:
    """Means of predictions against means of what was observed, in groups of equal weight."""

    curves: Sequence[ReliabilityCurve]
    predictions: Sequence[np.ndarray]
    share: np.ndarray
    is_probability: bool
    confidence: float

    @property
    def calibration_error(self) -> float:
        """The weighted mean of the absolute differences of the two means; above 0 by chance too."""
        gaps = [float(c.share @ np.abs(c.predicted - c.observed)) for c in self.curves]
        return float(np.mean(gaps))

    def draw(self, ax: Any) -> None:
        """Draw the points with their intervals, and the distribution of the predictions."""
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
        if len(self.curves) == 1:
            names[1] += f", {100 * self.confidence:g} % intervals"
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


def mean_reliability(
    label: str,
    y: ArrayLike,
    predicted: ArrayLike,
    sample_weight: ArrayLike | None,
    n_bins: int,
    confidence: float,
    is_probability: bool | None = None,
) -> MeanReliability:
    """The groups of one kind of prediction; None: probabilities, if they and y can be."""
    _check_at_least(n_bins, 1)
    values = checked_values(y)
    found = np.asarray(predicted, dtype=float)
    if found.shape != values.shape or not np.isfinite(found).all():
        raise ValueError(
            f"predicted must be {len(values)} finite numbers, one for each value of y; it has the "
            f"shape {found.shape}."
        )
    share, _ = shares_of(sample_weight, values)
    if is_probability is None:
        in_range = found.min() >= 0 and found.max() <= 1
        is_probability = bool(in_range and np.isin(values, [0.0, 1.0]).all())
    # Rows without weight are in no group.
    values, found, share = (a[share > 0] for a in (values, found, share))
    curve = reliability_curve(label, values, found, share, n_bins, confidence, is_probability)
    return MeanReliability([curve], [found], share, is_probability, confidence)


def _of_classes(
    estimator: FittedClassifier,
    X: MatrixLike,
    y: ArrayLike,
    target: Any,
    options: dict,
    **given: Any,
) -> MeanReliability:
    """The probabilities of one class of a classifier, or of all."""
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
    parts = [
        mean_reliability(
            str(c),
            (labels == c) * 1.0,
            chances[:, np.argmax(classes == c)],
            is_probability=True,
            **given,
        )
        for c in wanted
    ]
    return MeanReliability(
        [part.curves[0] for part in parts],
        [part.predictions[0] for part in parts],
        parts[0].share,
        True,
        given["confidence"],
    )


@dataclass(frozen=True)
class QuantileReliability:
    """Levels of quantiles against the shares of the values up to them.

    Levels increase; `n` is the number of rows, of unequal weights that with the same precision.
    `intervals` are binomial, of Clopper and Pearson.
    """

    levels: np.ndarray
    observed: np.ndarray
    n: float
    intervals: np.ndarray
    confidence: float

    def draw(self, ax: Any) -> None:
        """Draw the points with their binomial intervals."""
        ax.plot([0, 1], [0, 1], color=GREY, linewidth=0.8, label="calibrated")
        half = np.abs(self.intervals - self.observed[:, None]).T
        label = f"observed, {100 * self.confidence:g} % intervals"
        look = {"fmt": "o", "color": COLORS[0], "markersize": 5, "capsize": 2, "label": label}
        ax.errorbar(self.levels, self.observed, yerr=half, **look)
        ax.set(xlabel="level of the predicted quantile", ylabel="share of values up to it")
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
        ax.legend(loc="upper left", fontsize="small")


def quantile_reliability(
    y: ArrayLike,
    predictions: Any,
    levels: ArrayLike,
    sample_weight: ArrayLike | None,
    confidence: float,
) -> QuantileReliability:
    """Of quantiles, one column for each level, or of distributions."""
    given, values = _checked_levels(levels), checked_values(y)
    share, n = shares_of(sample_weight, values)
    if hasattr(predictions, "cdf"):
        observed = share_up_to(given, *pit_ends(values, predictions), share)
    else:
        quantiles = np.asarray(predictions, dtype=float)
        if quantiles.shape != (len(values), len(given)):
            raise ValueError(
                "predicted must have a row for each value of y and a column for each level, "
                f"({len(values)}, {len(given)}); got {quantiles.shape}."
            )
        observed = share @ (values[:, None] <= quantiles)
    observed = np.clip(observed, 0.0, 1.0)  # sums of shares may end beside 1
    intervals = np.column_stack(binomial_interval(observed, n, confidence))
    return QuantileReliability(given, observed, n, intervals, confidence)


@dataclass(frozen=True)
class PITHistogram:
    """The histogram of the distribution functions at the observed values.

    `lower` and `upper` are the function below and at the values, the same for laws with a density.
    The mean of `heights` is 1, and a uniform sample stays in `band`, in all bars together, with at
    least the probability `confidence`. `n` is as of `QuantileReliability`.
    """

    lower: np.ndarray
    upper: np.ndarray
    heights: np.ndarray
    band: tuple[float, float]
    n: int
    confidence: float

    def draw(self, ax: Any) -> None:
        """Draw the histogram and the band of uniform samples."""
        edges = np.arange(len(self.heights) + 1) / len(self.heights)
        ax.stairs(self.heights, edges, fill=True, color=COLORS[0], alpha=0.35)
        ax.stairs(self.heights, edges, color=COLORS[0])
        label = f"uniform, {100 * self.confidence:g} % of samples of {self.n:,}"
        ax.axhspan(*self.band, color=GREY, alpha=0.25, linewidth=0, label=label, zorder=0)
        ax.axhline(1.0, color=GREY, linewidth=0.8)
        ax.set(xlabel="distribution function at the observed value", ylabel="density")
        top = max(self.heights.max(), self.band[1])
        ax.set(xlim=(0, 1), ylim=(0, 1.25 * top))  # with room for the legend
        ax.legend(loc="upper center", fontsize="small")


def pit_histogram(
    y: ArrayLike,
    distribution: Any,
    sample_weight: ArrayLike | None,
    n_bins: int,
    confidence: float,
) -> PITHistogram:
    """The histogram of n_bins bars, with a band that is binomial at the level of a single bar.

    The level is (1 - confidence) / n_bins, so that all bars of a uniform sample stay in the band
    with the probability `confidence`. Bars of counts vary less.
    """
    _check_at_least(n_bins, 2)
    values = checked_values(y)
    share, _ = shares_of(sample_weight, values)
    lower, upper = pit_ends(values, distribution)
    below = share_up_to(np.arange(n_bins + 1) / n_bins, lower, upper, share)
    below[0] = 0.0  # a transform of exactly 0 belongs to the first bar
    heights = n_bins * np.diff(below)
    n, tail = round(1 / float(share @ share)), (1 - confidence) / (2 * n_bins)
    counts = binom.ppf([tail, 1 - tail], n, 1 / n_bins)
    band = float(counts[0] * n_bins / n), float(counts[1] * n_bins / n)
    return PITHistogram(lower, upper, heights, band, n, confidence)


# --- the display ----------------------------------------------------------------------------------

Method = Literal["mean", "quantiles", "pit"]
OPTIONS = {"mean": {"n_bins", "target"}, "quantiles": {"levels"}, "pit": {"n_bins"}}
TEXTS = {
    **AXES,
    "options": """
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; equal weights by default.
        n_bins : int, default=None
            Number of groups of "mean", at most, because rows of equal predictions are in one; or of
            bars of "pit". None is 10.
        levels : sequence of float, default=None
            Levels of "quantiles", increasing, between 0 and 1; None is .05, .1, .2, ..., .9, .95.
        confidence : float, default=0.95
            Of the intervals; of "pit" the probability with which all bars of a uniform sample are
            in the band, at least.
        """,
}


def _checked_options(method: str, confidence: float, **given: Any) -> None:
    if method not in OPTIONS:
        raise ValueError(f"method must be 'mean', 'quantiles' or 'pit'; got {method!r}.")
    _check_between_0_and_1("confidence", confidence)
    for name, value in given.items():
        if value is not None and name not in OPTIONS[method]:
            owners = " or ".join(repr(each) for each, own in OPTIONS.items() if name in own)
            raise ValueError(f"{name} is for method={owners}; it must be None for {method!r}.")


@documented(TEXTS)
@dataclass(eq=False, repr=False)
class ReliabilityDisplay:
    r"""Reliability diagram: observations against predicted means, quantiles or distributions.

    `method` says which:

    - "mean": the mean of the observations against the mean prediction, in groups of about equal
      weight in the order of the predictions, with Student's intervals. For classifiers the
      predictions are probabilities, with the intervals of Clopper and Pearson. The grey histogram
      is the distribution of the predictions [Murphy and Winkler, 1977].
    - "quantiles": the share of the values up to their predicted quantile against its level, with
      the binomial intervals of Clopper and Pearson.
    - "pit": the histogram of the probability integral transform. If F is the distribution of a row,
      F(y) is uniform on [0, 1], so the heights are about 1. That is necessary but not sufficient:
      the distribution of all y together, as the prediction of each row, has a uniform histogram too
      [Gneiting and Raftery, 2007]. For counts, the transform of a value is spread evenly from
      :math:`F(y - 1)` to :math:`F(y)` [Czado, Gneiting and Held, 2009].

    How to read them is said in :ref:`calibration` in the user guide.

    Use `from_estimator` or `from_predictions` to create a display; the constructor stores its
    argument. Give new rows: on its training rows any model looks better than it is.

    Parameters
    ----------
    reliability : record
        What is drawn. The attributes depend on `method`: `curves` (each with `predicted`,
        `observed`, `intervals`, `share`) and `calibration_error`; or `levels`, `observed`,
        `intervals` and `n`; or `heights`, `band`, `lower`, `upper` and `n`.

    %(attributes_drawn)s

    See Also
    --------
    sklearn_ensemble_theory.metrics.crps : A score that also rewards narrow distributions.

    References
    ----------
    C. Czado, T. Gneiting and L. Held (2009). "Predictive model assessment for count data".
    *Biometrics* 65, 1254-1261.

    T. Gneiting and A. E. Raftery (2007). "Strictly proper scoring rules, prediction, and
    estimation". *Journal of the American Statistical Association* 102, 359-378.

    A. H. Murphy and R. L. Winkler (1977). "Reliability of subjective probability forecasts of
    precipitation and temperature". *Applied Statistics* 26, 41-47.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_ensemble_theory import RandomForestRegressor
    >>> from sklearn_ensemble_theory.inspection import ReliabilityDisplay
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = RandomForestRegressor(100, random_state=0).fit(X[:300], y[:300])
    >>> display = ReliabilityDisplay.from_estimator(
    ...     forest, X[300:], y[300:], method="quantiles", levels=[0.1, 0.5, 0.9]
    ... )
    >>> display.reliability.observed.round(1)
    array([0.1, 0.5, 0.9])
    >>> means = ReliabilityDisplay.from_estimator(forest, X[300:], y[300:], n_bins=4)
    >>> len(means.reliability.curves[0].observed)
    4
    """

    reliability: Reliability

    @classmethod
    def from_estimator(
        cls,
        estimator: FittedPredictor,
        X: MatrixLike,
        y: ArrayLike,
        *,
        method: Method = "mean",
        target: Any = None,
        sample_weight: ArrayLike | None = None,
        n_bins: int | None = None,
        levels: Sequence[float] | None = None,
        confidence: float = 0.95,
        ax: Any = None,
        **options: Any,
    ) -> "ReliabilityDisplay":
        """Draw what a fitted estimator predicts.

        Parameters
        ----------
        estimator : estimator
            Fitted. For "mean" a regressor, or a classifier with `predict_proba`; for "quantiles"
            one with `predict_quantiles`, such as a forest, or with `predict_distribution`; for
            "pit" one with `predict_distribution`.
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows that the estimator was not fitted to.
        y : array-like of shape (n_samples,)
            Their observed values or classes.
        method : {"mean", "quantiles", "pit"}, default="mean"
            What is compared.
        target : label, default=None
            The class of a classifier, for "mean"; by default the second of two classes, and all of
            more.
        %(options)s
        %(ax)s
        **options : dict
            Arguments of the estimator's method, for example `offset` of `predict`, or
            `family="student-t"` of `predict_distribution`.

        %(returns_display)s

        Raises
        ------
        TypeError
            If the estimator lacks the method whose predictions are compared.
        ValueError
            If an option belongs to another method or is outside its range, or y does not fit to X.
        """
        _checked_options(method, confidence, n_bins=n_bins, levels=levels, target=target)
        check_is_fitted(estimator)
        given: dict[str, Any] = {"sample_weight": sample_weight, "confidence": confidence}
        if method == "mean" and is_classifier(estimator):
            bins = 10 if n_bins is None else n_bins
            return cls(
                _of_classes(
                    cast(FittedClassifier, estimator), X, y, target, options, n_bins=bins, **given
                )
            ).plot(ax)
        if target is not None:
            raise ValueError("target is for classifiers; it must be None for a regressor.")
        if method == "quantiles":
            levels = LEVELS if levels is None else levels
        if method == "mean":
            found = estimator.predict(X, **options)
        elif method == "quantiles" and (
            hasattr(estimator, "predict_quantiles") and "family" not in options
        ):
            found = estimator.predict_quantiles(X, _checked_levels(levels), **options)
        else:
            found = predict_distribution(estimator, X, **options)
        return cls.from_predictions(
            y, found, method=method, n_bins=n_bins, levels=levels, **given, ax=ax
        )

    @classmethod
    def from_predictions(
        cls,
        y: ArrayLike,
        predicted: Any,
        *,
        method: Method = "mean",
        sample_weight: ArrayLike | None = None,
        n_bins: int | None = None,
        levels: Sequence[float] | None = None,
        confidence: float = 0.95,
        ax: Any = None,
    ) -> "ReliabilityDisplay":
        """Draw given predictions.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Observed values: numbers, or 0 and 1.
        predicted : array-like or frozen distribution
            For "mean" numbers of shape (n_samples,); they are probabilities if they are in [0, 1]
            and all y are 0 or 1. For "quantiles" numbers of shape (n_samples, n_levels). For "pit",
            and for "quantiles" too, distributions of scipy.stats with parameters of shape
            (n_samples,), or the same for all rows, or another object with `cdf`. With distributions
            of counts a value counts for the part of its probability that is below the level, so
            the points of a true law are on the diagonal.
        method : {"mean", "quantiles", "pit"}, default="mean"
            What is compared.
        %(options)s
        %(ax)s

        %(returns_display)s

        Raises
        ------
        ValueError
            If an option belongs to another method or is outside its range, or y does not fit to the
            predictions.
        """
        _checked_options(method, confidence, n_bins=n_bins, levels=levels)
        bins = 10 if n_bins is None else n_bins
        found: Reliability
        if method == "mean":
            found = mean_reliability("", y, predicted, sample_weight, bins, confidence)
        elif method == "quantiles":
            levels = LEVELS if levels is None else levels
            found = quantile_reliability(y, predicted, levels, sample_weight, confidence)
        else:
            found = pit_histogram(y, predicted, sample_weight, bins, confidence)
        return cls(found).plot(ax)

    def plot(self, ax: Any = None) -> "ReliabilityDisplay":
        """Draw the comparison.

        %(of_plot)s
        """
        size = {} if isinstance(self.reliability, PITHistogram) else {"figsize": (4.8, 4.8)}
        ax = own_axes(self, ax, **size)
        self.reliability.draw(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self
