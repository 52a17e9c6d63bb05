"""Scores of predictive distributions, which are smaller for better ones, and scorers made of them.

References
----------
T. Gneiting and A. E. Raftery (2007). "Strictly proper scoring rules, prediction, and estimation".
*Journal of the American Statistical Association* 102, 359-378.

A. Jordan, F. Krüger and S. Lerch (2019). "Evaluating probabilistic forecasts with scoringRules".
*Journal of Statistical Software* 90(12).
"""

from collections.abc import Callable
from typing import Any, Literal, overload

import numpy as np
from scipy.special import betaln, gammainc, hyp2f1, ive, log_ndtr, ndtr
from scipy.stats import nbinom, poisson
from scipy.stats import t as student_t
from sklearn.utils import check_array

from sklearn_ensemble_theory._running import called
from sklearn_ensemble_theory._typing import FittedPredictor

from ._addresses import publish
from ._rows import checked_weights
from ._typing import ArrayLike, MatrixLike
from .uncertainty import predict_distribution

__all__ = ["crps", "log_score", "make_distribution_scorer"]


# --- scores ---------------------------------------------------------------------------------------


@overload
def crps(
    y: ArrayLike,
    distribution: Any,
    *,
    sample_weight: ArrayLike | None = ...,
    per_row: Literal[False] = ...,
) -> float: ...


@overload
def crps(
    y: ArrayLike,
    distribution: Any,
    *,
    sample_weight: ArrayLike | None = ...,
    per_row: Literal[True],
) -> np.ndarray: ...


def crps(
    y: ArrayLike,
    distribution: Any,
    *,
    sample_weight: ArrayLike | None = None,
    per_row: bool = False,
) -> float | np.ndarray:
    r"""The continuous ranked probability score of predictive distributions, in closed form.

    It is the squared distance between the distribution function F and the step function at the
    observed value,

    .. math:: \int (F(t) - 1\{y \le t\})^2 \, dt = E|Y - y| - E|Y - Y'| / 2,

    for independent Y and Y' of the law F. The expected score is smallest for the true law
    [Gneiting and Raftery, 2007]. It has the units of y, and is the absolute error if the
    distribution is a single point. It is also twice the mean, over all levels, of the pinball loss
    of the quantiles.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Observed values.
    distribution : frozen distribution
        Distributions of scipy.stats with parameters of shape (n_samples,), or the same for all
        rows: `norm`, `t`, `laplace`, `lognorm`, `gamma`, `poisson` or `nbinom`. Or the result of
        `predict_distribution` of an estimator of the package.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows in the mean; equal weights by default.
    per_row : bool, default=False
        Whether to return the score of each row.

    Returns
    -------
    score : float or ndarray of shape (n_samples,)
        The mean, or the scores of the rows. Infinite for a Student t law without a mean.

    Raises
    ------
    TypeError
        If no closed form is known for the distribution.
    ValueError
        If y or the weights are not finite numbers for the rows of the distribution, or its
        parameters are outside of their range.

    See Also
    --------
    log_score : Minus the logarithm of the density.
    make_distribution_scorer : For `scoring=` in scikit-learn.

    Notes
    -----
    The formulas are from [Jordan, Krüger and Lerch, 2019]. For the negative binomial law the
    relative error is about 1e-10, and 1e-8 if its first parameter is above 1e4. Cost: O(1) for a
    row.

    Examples
    --------
    >>> from scipy.stats import norm
    >>> from sklearn_ensemble_theory.metrics import crps
    >>> y = [0.1, 1.2, 3.0]
    >>> round(crps(y, norm([0.0, 1.0, 2.0], 1.0)), 3)
    0.363
    >>> crps(y, norm([0.0, 1.0, 2.0], 1.0), per_row=True).round(3)
    array([0.238, 0.25 , 0.602])
    """
    y = checked_values(y)
    check_rows(distribution, y)
    law = getattr(distribution, "dist", None)
    name = getattr(law, "name", None)
    standard = getattr(law, "_crps", STANDARD_CRPS.get(str(name)))
    if standard is None:
        raise TypeError(
            "crps has closed forms for frozen distributions of scipy.stats by the names "
            f"{sorted(STANDARD_CRPS)}, and for what predict_distribution returns; got "
            f"{name or type(distribution).__name__!r}."
        )
    shapes, location, scale = _parameters(distribution)
    with np.errstate(all="ignore"):  # far values overflow to an infinite score
        scores = scale * standard((y - location) / scale, *shapes)
        # SciPy's own check of the parameters.
        scores = np.where(np.isnan(distribution.cdf(y)), np.nan, scores)
    return _mean_of(scores, y, sample_weight, per_row)


@overload
def log_score(
    y: ArrayLike,
    distribution: Any,
    *,
    sample_weight: ArrayLike | None = ...,
    per_row: Literal[False] = ...,
) -> float: ...


@overload
def log_score(
    y: ArrayLike,
    distribution: Any,
    *,
    sample_weight: ArrayLike | None = ...,
    per_row: Literal[True],
) -> np.ndarray: ...


def log_score(
    y: ArrayLike,
    distribution: Any,
    *,
    sample_weight: ArrayLike | None = None,
    per_row: bool = False,
) -> float | np.ndarray:
    """Minus the logarithm of the predictive density, or probability, of the observed values.

    The expected score is smallest for the true law, and its excess is the Kullback-Leibler
    divergence [Gneiting and Raftery, 2007]. Other units of y add a constant. A single value in a
    tail that is too thin may decide; `crps` is more robust. Cost: one density, O(1) for a row.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Observed values.
    distribution : frozen distribution
        Any frozen distribution of scipy.stats, with parameters of shape (n_samples,) or for all
        rows the same, or what `predict_distribution` returns.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows in the mean; equal weights by default.
    per_row : bool, default=False
        Whether to return the score of each row.

    Returns
    -------
    score : float or ndarray of shape (n_samples,)
        The mean, or the scores of the rows; infinite for a value that the law cannot have.

    Raises
    ------
    TypeError
        If the distribution has neither `logpdf` nor `logpmf`.
    ValueError
        If y or the weights are not finite numbers for the rows of the distribution, or its
        parameters are outside of their range.

    See Also
    --------
    crps : The continuous ranked probability score.

    Examples
    --------
    >>> from scipy.stats import norm
    >>> from sklearn_ensemble_theory.metrics import log_score
    >>> round(log_score([0.1, 1.2, 3.0], norm([0.0, 1.0, 2.0], 1.0)), 3)
    1.094
    """
    y = checked_values(y)
    check_rows(distribution, y)
    # SciPy's frozen discrete distributions have no density.
    is_discrete = hasattr(getattr(distribution, "dist", distribution), "pmf")
    log_density = getattr(distribution, "logpmf" if is_discrete else "logpdf", None)
    if log_density is None:
        raise TypeError(
            "distribution must have the method logpdf or logpmf, as the frozen distributions of "
            f"scipy.stats; got {type(distribution).__name__}."
        )
    with np.errstate(all="ignore"):  # log 0
        scores = -np.asarray(log_density(y))
    return _mean_of(scores, y, sample_weight, per_row)


def checked_values(y: ArrayLike) -> np.ndarray:
    try:
        found: np.ndarray = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
    except OverflowError as error:
        raise ValueError(f"y must have numbers that are floats: {error}.") from None
    if found.ndim != 1:
        raise ValueError(f"y must have one dimension; got the shape {found.shape}.")
    return found


def check_rows(distribution: Any, y: np.ndarray) -> None:
    """Raise a ValueError unless the parameters are for the values of y, or one for all."""
    given = [*getattr(distribution, "args", ()), *getattr(distribution, "kwds", {}).values()]
    shapes = {np.shape(parameter) for parameter in given} - {(), (1,), y.shape}
    if shapes:
        raise ValueError(
            f"distribution must have parameters for the {len(y)} values of y, or one for all; it "
            f"has some of the shape {shapes.pop()}."
        )


def _mean_of(
    scores: np.ndarray, y: np.ndarray, sample_weight: ArrayLike | None, per_row: bool
) -> float | np.ndarray:
    """The mean of the rows' scores, or the scores; rows of weight 0 take no part in a mean."""
    if scores.shape != y.shape:
        raise ValueError(
            f"distribution must have parameters for the {len(y)} values of y, or one for all; its "
            f"scores are of shape {scores.shape}."
        )
    if np.isnan(scores).any():
        row = int(np.flatnonzero(np.isnan(scores))[0])
        raise ValueError(f"distribution has parameters outside of their range in row {row}.")
    weight = None if sample_weight is None else checked_weights(sample_weight, y)
    if weight is not None and not weight.any():
        raise ValueError("sample_weight must not be all 0.")
    if per_row:
        return scores
    if weight is None:
        return float(np.mean(scores))
    kept = weight > 0
    return float(np.average(scores[kept], weights=weight[kept] / weight.max()))


# --- closed forms ---------------------------------------------------------------------------------


def _parameters(distribution: Any) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    """The shape parameters, the location and the scale of a frozen distribution of SciPy."""
    shapes = (distribution.dist.shapes or "").replace(",", " ").split()
    given = {**dict(zip([*shapes, "loc", "scale"], distribution.args)), **distribution.kwds}
    numbers = {name: np.asarray(value, dtype=float) for name, value in given.items()}
    location, scale = numbers.get("loc", np.zeros(())), numbers.get("scale", np.ones(()))
    return [numbers[name] for name in shapes], location, scale


def _normal(x: np.ndarray) -> np.ndarray:
    density = np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)
    return x * (2 * ndtr(x) - 1) + 2 * density - 1 / np.sqrt(np.pi)


def _student(x: np.ndarray, nu: np.ndarray) -> np.ndarray:
    half_difference = 2 * np.sqrt(nu) * np.exp(betaln(0.5, nu - 0.5) - 2 * betaln(0.5, nu / 2))
    density = (nu + x**2) * student_t.pdf(x, nu)
    found = x * (2 * student_t.cdf(x, nu) - 1) + (2 * density - half_difference) / (nu - 1)
    return np.where(nu <= 1, np.inf, found)


def _laplace(x: np.ndarray) -> np.ndarray:
    return np.abs(x) + np.exp(-np.abs(x)) - 0.75


def _lognormal(x: np.ndarray, s: np.ndarray) -> np.ndarray:
    u = np.log(np.maximum(x, 0.0)) / s  # -inf where the distribution function is 0
    # Products of the mean exp(s^2 / 2), which overflows before they do.
    half_difference, part = (np.exp(s**2 / 2 + log_ndtr(v)) for v in (-s / np.sqrt(2), u - s))
    return x * (2 * ndtr(u) - 1) + 2 * (half_difference - part)


def _gamma(x: np.ndarray, a: np.ndarray) -> np.ndarray:
    above = np.maximum(x, 0.0)
    level, next_level = gammainc(a, above), gammainc(a + 1, above)
    return x * (2 * level - 1) - a * (2 * next_level - 1) - np.exp(-betaln(0.5, a))


def _poisson(y: np.ndarray, mu: np.ndarray) -> np.ndarray:
    level, probability = poisson.cdf(y, mu), poisson.pmf(np.floor(y), mu)
    half_difference = mu * (ive(0, 2 * mu) + ive(1, 2 * mu))
    return (y - mu) * (2 * level - 1) + 2 * mu * probability - half_difference


def _negative_binomial(y: np.ndarray, r: np.ndarray, p: np.ndarray) -> np.ndarray:
    level, next_level = nbinom.cdf(y, r, p), nbinom.cdf(y - 1, r + 1, p)
    # 2F1(r + 1, 1/2; 2; -A), A = 4 (1 - p) / p^2, is the integral of (4 / pi) cos^2 (1 + A sin^2)^
    # -(r + 1) over [0, pi / 2]. SciPy's function fails for large r and A. Pfaff's transformation
    # has an argument in [0, 1); for the largest r Bessel functions are the first two terms in 1/r.
    many = 1e4
    series = hyp2f1(1 - np.minimum(r, many), 0.5, 2, 4 * (1 - p) / (2 - p) ** 2) / (2 - p)
    A = 4 * (1 - p) / p**2
    b = np.maximum((r + 1) * A / 2, np.finfo(float).tiny)
    first, second = ive(0, b), ive(1, b)
    limit = (first + second + A / 4 * (2 * second / b - first + second)) / p
    integral = np.where(r > many, limit, series)
    return y * (2 * level - 1) - r * (1 - p) / p * (2 * next_level - 1 + integral)


# By SciPy's names: of location 0 and scale 1, and then of the shape parameters in SciPy's order.
STANDARD_CRPS: dict[str, Callable[..., np.ndarray]] = {
    "gamma": _gamma,
    "laplace": _laplace,
    "lognorm": _lognormal,
    "nbinom": _negative_binomial,
    "norm": _normal,
    "poisson": _poisson,
    "t": _student,
}


# --- scorers --------------------------------------------------------------------------------------


class _DistributionScorer:
    """scorer(estimator, X, y): minus the score of the estimator's predictive distributions."""

    def __init__(self, score: Callable[..., Any], options: dict[str, Any]) -> None:
        self.score, self.options = score, options

    def __call__(
        self,
        estimator: FittedPredictor,
        X: MatrixLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        found = predict_distribution(estimator, X, **self.options)
        weight = {} if sample_weight is None else {"sample_weight": sample_weight}
        return -float(called("score", self.score, y, found, **weight))

    def __repr__(self) -> str:
        options = "".join(f", {name}={value!r}" for name, value in self.options.items())
        return f"make_distribution_scorer({getattr(self.score, '__name__', self.score)}{options})"


def make_distribution_scorer(score: Callable[..., Any], **options: Any) -> Callable[..., float]:
    """Make a scikit-learn scorer (`scoring=`) from a score of predictive distributions.

    Parameters
    ----------
    score : callable
        `crps`, `log_score` or another function score(y, distribution), smaller for better ones;
        with the argument `sample_weight` if the scorer is called with weights.
    **options : dict
        Arguments of `predict_distribution`, for instance `family="student-t"`.

    Returns
    -------
    scorer : callable
        scorer(estimator, X, y, sample_weight=None) returns minus the score of
        :func:`~sklearn_ensemble_theory.uncertainty.predict_distribution` of the estimator, X and
        the options, as scikit-learn's scorers are larger for better models. The estimator may be a
        pipeline or a search.

    Raises
    ------
    TypeError
        If `score` cannot be called; when the scorer is called, if the estimator has no
        `predict_distribution`.

    See Also
    --------
    sklearn.metrics.make_scorer : For scores of predictions.

    Examples
    --------
    >>> from scipy.stats import norm
    >>> from sklearn.linear_model import BayesianRidge
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn_ensemble_theory.metrics import crps, make_distribution_scorer
    >>> class NormalRidge(BayesianRidge):
    ...     def predict_distribution(self, X):
    ...         return norm(*self.predict(X, return_std=True))
    >>> X, y = load_diabetes(return_X_y=True)
    >>> scorer = make_distribution_scorer(crps)
    >>> cross_val_score(NormalRidge(), X, y, scoring=scorer).round(1)
    array([-30.2, -31.3, -32.5, -30.8, -30.8])
    """
    if not callable(score):
        raise TypeError(f"score must be a function of y and distributions; got {score!r}.")
    return _DistributionScorer(score, options)


publish(__name__, globals(), __all__)
