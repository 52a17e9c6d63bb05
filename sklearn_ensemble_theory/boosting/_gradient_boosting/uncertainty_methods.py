"""How sure a fitted model is: methods of `GradientBoosting*` that ask fits to parts of its rows."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from numbers import Integral
from typing import Any, Literal, Protocol

import numpy as np
from scipy.stats import norm
from sklearn.utils.validation import check_is_fitted

from ..._blocks import by_chunks
from ..._documentation import documented
from ..._typing import ArrayLike, MatrixLike, RandomStateLike, available_if
from ...ensembles._intervals import checked_coverage, one_of
from ...ensembles._prediction_sets import SET_TEXTS, SetRule
from ..losses._losses import loss_gives_probabilities
from .resampling import Resampling, values_of
from .texts import TEXTS

Variance = Literal["single", "unbiased", "conservative"]


class KeepsRows(Protocol):
    """An estimator with the parameters `held_out` and `loss`."""

    held_out: Any
    loss: Any


def keeps_rows(door: KeepsRows) -> bool:
    """For `available_if`: whether the estimator keeps its training rows, or an AttributeError."""
    if door.held_out is None:
        raise AttributeError(
            "the training rows are not kept for it; set held_out to a number of folds, or with "
            'n_estimators="cv" to "cv".'
        )
    return True


def keeps_rows_of_classes(door: KeepsRows) -> bool:
    """For `available_if`: the same for classifiers whose loss gives probabilities."""
    return keeps_rows(door) and loss_gives_probabilities(door)


def _resampling(self: Any, what: str) -> Resampling:
    """The further fits of a fitted model, or a ValueError that says how to have them."""
    check_is_fitted(self)
    found: Resampling | None = vars(self).get("_resampling")
    if found is None:
        raise ValueError(f"{what} needs a fit with held_out={self.held_out!r}; fit again.")
    if self._n_scores > 1 and not hasattr(self, "classes_"):
        raise ValueError(f"{what} requires y of one column; it had {self._n_scores}.")
    return found


@available_if(keeps_rows)
def forget_training_rows(self: Any) -> Any:
    """A copy of the fitted model without the training rows that `held_out` has kept.

    The fits to parts of the rows that were made so far stay, and with them what was computed from
    them: standard errors, quantiles and distributions. Intervals and sets need the targets.

    Returns
    -------
    model : object
        The copy; this model keeps its rows.
    """
    check_is_fitted(self)
    found = copy(self)
    vars(found)["_resampling"] = vars(self)["_resampling"].without_rows()
    return found


@available_if(keeps_rows)
@documented(TEXTS)
@by_chunks
def standard_error(
    self: Any,
    X: MatrixLike,
    method: Variance = "single",
    n_pairs: int = 20,
    offset: ArrayLike | None = None,
) -> np.ndarray:
    """Compute standard errors of the predictions over training sets.

    The rows are split into halves `n_pairs` times, and the model is fitted to each half.

    - ``"single"``: of the fit to all rows, which `predict` returns, by the standard deviation of
      all fits to halves.
    - ``"unbiased"``: of the mean of these fits, by an estimate of its variance that is right on
      average for any learner and number of rows [Wang and Lindsay, 2014].
    - ``"conservative"``: of the same mean, by an estimate that is too large on average and never
      negative.

    The user guide, "How sure is the model?", has the formulas, and simulations of all three.

    %(of_X)s
    method : {"single", "unbiased", "conservative"}, default="single"
        Of what, and by which estimate.
    n_pairs : int, default=20
        The number of splits P, at least 2.
    %(offset_of_prediction)s

    Returns
    -------
    error : ndarray of shape (n_samples,) or (n_samples, n_classes)
        Standard errors in the units of y. For a classifier they are of the probabilities, or of the
        scores if the loss has no probabilities.

    Raises
    ------
    ValueError
        If there are fewer than four rows or groups, or if a half has no row of some class.

    Notes
    -----
    The bias of the model is not part of it. Rows have to be independent; with `groups` whole groups
    are drawn. With ``CVRounds(prediction="mean")``, which varies less than one fit, "single" is too
    large, and "conservative" is closer.

    Cost: the first call takes the time of about 25 fits for 20 pairs; each call makes 2 `n_pairs`
    predictions.

    References
    ----------
    Q. Wang and B. Lindsay (2014). "Variance estimation of a general U-statistic with application
    to cross-validation". *Statistica Sinica* 24(3), 1117-1141.
    """
    return np.sqrt(_mean_and_variance(self, X, offset, method, n_pairs, "standard_error")[1])


@available_if(keeps_rows)
@documented(TEXTS)
@by_chunks
def confidence_interval(
    self: Any,
    X: MatrixLike,
    coverage: float = 0.9,
    method: Variance = "single",
    n_pairs: int = 20,
    offset: ArrayLike | None = None,
) -> np.ndarray:
    """Compute normal intervals for the expectation of the prediction over training sets.

    %(of_X)s
    coverage : float, default=0.9
        The probability aimed at.
    method : {"single", "unbiased", "conservative"}, default="single"
        As in `standard_error`. With "single" the interval is about what the model predicts, and
        with the others about the mean of the fits to halves.
    n_pairs : int, default=20
        As in `standard_error`.
    %(offset_of_prediction)s

    Returns
    -------
    interval : ndarray of shape (n_samples, 2) or (n_samples, n_classes, 2)
        Lower and upper ends.

    Raises
    ------
    ValueError
        As in `standard_error`.

    Notes
    -----
    It is not an interval for new targets, which have noise (`predict_interval`), nor for the true
    mean, from which the expectation of a regularised fit differs by its bias.
    """
    z = norm.ppf((1 + checked_coverage(coverage)) / 2)
    centre, variance = _mean_and_variance(self, X, offset, method, n_pairs, "confidence_interval")
    width = z * np.sqrt(variance)
    return np.stack([centre - width, centre + width], axis=-1)


def _mean_and_variance(
    self: Any, X: Any, offset: Any, method: str, n_pairs: int, what: str
) -> tuple[np.ndarray, np.ndarray]:
    resampling = _resampling(self, what)
    one_of("method", method, ("single", "unbiased", "conservative"))
    if not isinstance(n_pairs, Integral) or isinstance(n_pairs, bool) or n_pairs < 2:
        raise ValueError(f"n_pairs must be an integer of at least 2, got {n_pairs!r}.")
    rows = self._rows_with(X, offset)
    mean, variance = resampling.variance(rows, method, int(n_pairs))
    if method == "single":
        mean = values_of(self._model(), rows)
    if variance.ndim == 2 and variance.shape[1] == 1:
        mean, variance = mean[:, 0], variance[:, 0]
    return mean, variance


@available_if(keeps_rows)
@documented(TEXTS)
@by_chunks
def predict_interval(
    self: Any,
    X: MatrixLike,
    coverage: float = 0.9,
    method: Literal["cv+", "normalized", "cqr"] = "cv+",
    side: Literal["both", "lower", "upper"] = "both",
    offset: ArrayLike | None = None,
) -> np.ndarray:
    """Predict intervals that contain the target of a new row with a given probability.

    The rows are split into the folds of `held_out`. Row i is predicted by the model f_k(i) that its
    fold is left out of. With alpha = 1 - `coverage`, the standard deviation d(f) of the loss at the
    prediction f, and the residuals R_i = abs(y_i - f_k(i)(x_i)) / d(f_k(i)(x_i)):

    - ``"cv+"``: from the floor(alpha (n + 1))-th smallest f_k(i)(x) - d(f_k(i)(x)) R_i to the
      ceil((1 - alpha) (n + 1))-th smallest f_k(i)(x) + d(f_k(i)(x)) R_i [Barber, Candès, Ramdas
      and Tibshirani, 2021].
    - ``"normalized"``: the same with residuals in units of a size s_k(i)(x) that is fitted to the
      residuals of other rows: wider where targets are noisier.
    - ``"cqr"``: the same with the distances of y_i below the alpha/2 and above the 1 - alpha/2
      quantiles that are fitted to the other folds [Romano, Patterson and Candès, 2019].

    d is 1 for most losses: intervals of "cv+" have about the same width everywhere. For counts and
    amounts it is a power of f: at least the square root for "poisson", f to the power p/2 for
    "tweedie", and f for "gamma". The power is the one with the largest likelihood of the residuals,
    since counts often vary more than the Poisson distribution says. Ends are values that a target
    can have: no count is below 0.

    %(of_X)s
    %(coverage)s
    method : {"cv+", "normalized", "cqr"}, default="cv+"
        How the interval is computed.
    side : {"both", "lower", "upper"}, default="both"
        Which ends there are; the other one is infinite. A single end has residuals with their sign.
    %(offset_of_prediction)s

    Returns
    -------
    interval : ndarray of shape (n_samples, 2)
        Lower and upper ends, in the units of y; infinite, with a warning, if (n + 1) `coverage` >
        n.

    Raises
    ------
    ValueError
        If y has several columns, or a parameter is not valid.

    Notes
    -----
    For exchangeable rows "cv+" and "cqr" cover with a probability of at least 1 - 2 alpha -
    sqrt(2/n), and usually about 1 - alpha. There is no such theorem for "normalized", or if the
    folds have chosen the number of rounds or the power of d. Coverage is an average over rows: with
    "cv+" it is smaller where the noise is large. With groups the intervals are for a row of a new
    group. The user guide, "How sure is the model?", compares the methods.

    Cost: the first call fits one model per fold (none with ``held_out="cv"``). "normalized" fits
    about as many again, and "cqr" twice as many at each coverage. Each call takes the predictions
    of all models and O(K log n) for each row.

    References
    ----------
    R. F. Barber, E. J. Candès, A. Ramdas and R. J. Tibshirani (2021). "Predictive inference with
    the jackknife+". *The Annals of Statistics* 49(1), 486-507.

    Y. Romano, E. Patterson and E. J. Candès (2019). "Conformalized quantile regression". *Advances
    in Neural Information Processing Systems* 32.
    """
    resampling = _resampling(self, "predict_interval")
    one_of("method", method, ("cv+", "normalized", "cqr"))
    one_of("side", side, ("both", "lower", "upper"))
    coverage = checked_coverage(coverage)
    return resampling.interval(self._rows_with(X, offset), coverage, method, side)


@available_if(keeps_rows)
@documented(TEXTS)
def predict_distribution(
    self: Any, X: MatrixLike, family: str = "empirical", offset: ArrayLike | None = None
) -> Any:
    """Predict the distribution of the targets.

    The distribution comes from the models of the folds of `held_out`. Their mean is the location.
    Models of the absolute residuals out of fold give the scale, in units of the loss's standard
    deviation as in `predict_interval`. The family describes the residuals in units of the scale:

    - ``"empirical"``: their own distribution, smoothed;
    - ``"normal"``, ``"student-t"``, ``"laplace"``: by the largest likelihood;
    - ``"lognormal"``: the normal one, of models of log y.

    For positive predictions, of a loss with logarithmic link, the mean of the folds' models is the
    mean of

    - ``"gamma"``, ``"negative-binomial"``: with the dispersion of the largest likelihood out of
      fold;
    - ``"poisson"``.

    %(of_X)s
    family : str, default="empirical"
        One of the names above.
    %(offset_of_prediction)s

    Returns
    -------
    distribution : frozen distribution of `scipy.stats`
        One distribution for each row: methods mean, std, var, median, cdf, sf, ppf, pdf (pmf of
        counts), logpdf, rvs and interval return arrays of shape (n_samples,) or broadcast with it.

    Raises
    ------
    ValueError
        If y has several columns or values that the family does not have, or if the loss does not
        predict positive numbers for a family that needs them.

    Notes
    -----
    The mean of a distribution is the mean of the folds' models. Its error is usually smaller than
    the error of `predict`. The user guide, "How sure is the model?", says which family is for what.

    Cost: the first call fits two models a fold; each call takes the predictions of all models.
    """
    resampling = _resampling(self, "predict_distribution")
    return resampling.distribution(self._rows_with(X, offset), family)


@available_if(keeps_rows)
@documented(TEXTS)
@by_chunks
def predict_quantiles(
    self: Any,
    X: MatrixLike,
    quantiles: float | Sequence[float] | ArrayLike = (0.05, 0.5, 0.95),
    offset: ArrayLike | None = None,
) -> np.ndarray:
    """Predict quantiles of the target, which do not cross.

    They are the quantiles of the "empirical" family of `predict_distribution`: location plus scale
    times the quantiles of the residuals out of fold in units of their scale. If a target cannot
    have such a value, for example a count below 0, the quantile is the nearest possible value.

    %(of_X)s
    quantiles : float or array-like of shape (n_quantiles,), default=(0.05, 0.5, 0.95)
        Levels between 0 and 1, in any order.
    %(offset_of_prediction)s

    Returns
    -------
    y : ndarray of shape (n_samples, n_quantiles) or (n_samples,)
        Quantiles, in the units of y; one dimension for a single number as `quantiles`.

    Raises
    ------
    ValueError
        As in `predict_distribution`, or if a level is not between 0 and 1.
    """
    levels = np.asarray(quantiles, dtype=float)
    if levels.ndim > 1 or not ((levels > 0) & (levels < 1)).all():
        raise ValueError(f"quantiles must be numbers between 0 and 1, got {quantiles!r}.")
    resampling = _resampling(self, "predict_quantiles")
    distribution = resampling.distribution(self._rows_with(X, offset), "empirical")
    found = distribution.ppf(levels.reshape(-1, 1)).T.clip(*self.loss_.support)
    return found[:, 0] if levels.ndim == 0 else found


@available_if(keeps_rows_of_classes)
@documented(TEXTS, SET_TEXTS)
@by_chunks
def predict_set(
    self: Any,
    X: MatrixLike,
    coverage: float = 0.9,
    offset: ArrayLike | None = None,
    *,
    method: Literal["lac", "aps", "raps"] = "lac",
    per_class: bool = False,
    randomized: bool = False,
    penalty: float = 0.05,
    k_reg: int = 1,
    random_state: RandomStateLike = None,
    empty: bool = True,
) -> np.ndarray:
    """Predict sets of classes that contain the class of a new row with a given probability.

    The sets are by the CV+ of classes [Romano, Sesia and Candès, 2020]. Let s_k(i) be the score of
    a class by the model that was not fitted to the fold of row i. A class c is in the set of x if
    fewer than `coverage` (n + 1) training rows have s_k(i)(y_i | x_i) below s_k(i)(c | x).

    %(of_X)s
    %(coverage)s
    %(offset_of_prediction)s
    %(set_method)s

    %(sets)s

    %(raises_parameters)s

    Notes
    -----
    For exchangeable rows a set contains the class with a probability of at least 1 - 2 alpha -
    sqrt(2/n), usually about 1 - alpha. The costs are as for `predict_interval`.

    %(references_of_sets)s
    """
    resampling = _resampling(self, "predict_set")
    rule = SetRule(coverage, method, per_class, randomized, penalty, k_reg, random_state, empty)
    return resampling.prediction_set(self._rows_with(X, offset), rule)
