"""Predictive distributions of rows, from predictions and what was observed out of fold.

A law is SciPy's, frozen with one set of parameters for each row, so that it has all of SciPy's
methods: mean, std, cdf, sf, ppf, pdf, logpdf, rvs, interval, ... Only the law of residuals without
a parametric form, `SmoothedLaw`, is defined here, and frozen by SciPy like the others.
"""

from typing import Any

import numpy as np
from scipy import stats
from scipy.optimize import brentq, minimize, minimize_scalar
from scipy.special import digamma, gammaln

LOCATION_SCALE_FAMILIES = ("normal", "student-t", "laplace", "lognormal", "empirical")
MEAN_FAMILIES = ("gamma", "poisson", "negative-binomial")
# What the targets of a family have to be; the others take any numbers.
SUPPORTS = {
    "lognormal": ("positive", lambda y: y > 0),
    "gamma": ("positive", lambda y: y > 0),
    "poisson": ("non-negative integers", lambda y: (y >= 0) & (y == np.floor(y))),
    "negative-binomial": ("non-negative integers", lambda y: (y >= 0) & (y == np.floor(y))),
}
# Residuals that are all 0 have the law of a point, which has no density: a law as narrow as this,
# in units of the scale, stands for it.
LEAST_SPREAD = 1e-8
# Degrees of freedom: with fewer there is hardly a variance, with more the law is normal.
FREEDOM = 2.1, 1e3
OFFSETS = 8  # histograms of which a smoothed law is the mean


def check_family(family: str, families: tuple[str, ...]) -> None:
    """ValueError that names the families, unless this is one of them."""
    if not isinstance(family, str) or family not in families:
        raise ValueError(f"family must be one of {sorted(families)}, got {family!r}.")


def check_support(family: str, y: np.ndarray) -> None:
    """ValueError unless the targets are values that the family can have."""
    if family in SUPPORTS:
        what, fits = SUPPORTS[family]
        wrong = np.flatnonzero(~fits(np.asarray(y)))
        if len(wrong):
            raise ValueError(
                f"family={family!r} is for targets that are {what}; y has "
                f"{float(y[wrong[0]]):g}. 'normal', 'student-t', 'laplace' and 'empirical' take "
                "any numbers."
            )


# --- location, scale and the law of residuals -----------------------------------------------------


def frozen_location_scale(
    family: str,
    location: np.ndarray,
    scale: np.ndarray,
    z: np.ndarray,
    weight: np.ndarray | None = None,
) -> Any:
    """The laws, frozen by SciPy, of location + scale Z, with the law of Z fitted to residuals.

    Z has the location 0, so that the median of a symmetric law is the prediction; its spread and
    shape have the largest likelihood of the z = (y - location) / scale (n,), of rows that were
    predicted out of fold. "empirical" is the smoothed law of the z as they are, whose mean need not
    be 0; "lognormal" has the location and the scale of log y. These are of shape (m,), of the rows
    to predict.
    """
    check_family(family, LOCATION_SCALE_FAMILIES)
    z, weight = _weighted_rows(weight, z)
    scale = np.asarray(scale, dtype=float)
    if family == "empirical":
        return smoothed_law(z, weight)(loc=location, scale=scale)
    if family == "student-t":
        freedom, spread = fitted_student_t(z, weight)
        return stats.t(freedom, loc=location, scale=scale * spread)
    if family == "laplace":
        spread = max(float(np.average(np.abs(z), weights=weight)), LEAST_SPREAD)
        return stats.laplace(loc=location, scale=scale * spread)
    spread = max(float(np.sqrt(np.average(z**2, weights=weight))), LEAST_SPREAD)
    if family == "lognormal":
        with np.errstate(over="ignore"):
            return stats.lognorm(scale * spread, scale=np.exp(location))
    return stats.norm(loc=location, scale=scale * spread)


def _weighted_rows(weight: np.ndarray | None, *columns: Any) -> list[np.ndarray]:
    """The columns without rows of weight 0, and the weights, which sum to 1."""
    arrays = [np.asarray(column, dtype=float) for column in columns]
    share = np.ones(len(arrays[0])) if weight is None else np.asarray(weight, dtype=float)
    kept = share > 0
    share = share[kept] / share.max()
    return [*(column[kept] for column in arrays), share / share.sum()]


def fitted_student_t(z: np.ndarray, share: np.ndarray) -> tuple[float, float]:
    """Degrees of freedom and scale of the largest likelihood of a Student t law around 0."""
    size = float(np.sqrt(share @ z**2))
    if size < LEAST_SPREAD:
        return FREEDOM[1], LEAST_SPREAD
    squares = (z / size) ** 2

    def loss(logs):
        log_scale, nu = logs[0], np.exp(logs[1])
        q = squares * np.exp(-2 * log_scale) / nu
        log_q = share @ np.log1p(q)
        inside = (nu + 1) * (share @ (q / (1 + q)))
        constant = gammaln((nu + 1) / 2) - gammaln(nu / 2) - np.log(nu) / 2
        by_nu = (digamma((nu + 1) / 2) - digamma(nu / 2) - 1 / nu - log_q + inside / nu) / 2
        value = constant - log_scale - (nu + 1) / 2 * log_q
        return -value, np.array([1 - inside, -nu * by_nu])

    # Where most of the z are 0, the likelihood grows without bound as the scale goes to 0.
    bounds = [(np.log(1e-6), np.log(10.0)), tuple(np.log(FREEDOM))]
    start = np.array([np.log(0.6) / 2, np.log(5.0)])  # five degrees, with this variance
    found = minimize(loss, start, jac=True, bounds=bounds, method="L-BFGS-B", tol=1e-12)
    return float(np.exp(found.x[1])), max(size * float(np.exp(found.x[0])), LEAST_SPREAD)


class SmoothedLaw(stats.rv_continuous):
    """A distribution function that is linear between increasing knots, with exponential tails.

    `levels` are its values at the knots, in (0, 1), and `tails` the means of the exponential laws
    below the first and above the last knot.
    """

    def __init__(self, knots, levels, tails, **options) -> None:
        self.knots, self.levels, self.tails = knots, levels, tails
        self.low, self.high = levels[0], 1.0 - levels[-1]  # masses of the tails
        # The density of each part, tails first and last, at the knot where it begins.
        parts = np.diff(levels) / np.diff(knots)
        self.densities = np.concatenate([[self.low / tails[0]], parts, [self.high / tails[1]]])
        # The integral of the distribution function from the first knot on.
        areas = np.diff(knots) * (levels[1:] + levels[:-1]) / 2
        self.areas = np.concatenate([[0.0], np.cumsum(areas)])
        super().__init__(**options)

    def _updated_ctor_param(self):
        own = {"knots": self.knots, "levels": self.levels, "tails": self.tails}
        return {**super()._updated_ctor_param(), **own}

    def _beyond(self, x):
        """How far x is below the first and above the last knot, in means of the tails."""
        with np.errstate(over="ignore"):
            below = np.minimum(x - self.knots[0], 0.0) / self.tails[0]
            return below, np.maximum(x - self.knots[-1], 0.0) / self.tails[1]

    def _cdf(self, x):
        below, above = self._beyond(x)
        inside = np.interp(x, self.knots, self.levels)
        # Each tail is 1 - (1 - F) or F itself, so that small probabilities keep their digits.
        return np.where(above > 0, 1.0 - self.high * np.exp(-above), inside * np.exp(below))

    def _sf(self, x):
        below, above = self._beyond(x)
        inside = 1.0 - np.interp(x, self.knots, self.levels)
        return np.where(below < 0, 1.0 - self.low * np.exp(below), inside * np.exp(-above))

    def _logpdf(self, x):
        below, above = self._beyond(x)
        part = np.searchsorted(self.knots, x, side="right")
        return np.log(self.densities[part]) + below - above

    def _pdf(self, x):
        return np.exp(self._logpdf(x))

    def _ppf(self, q):
        inside = np.interp(q, self.levels, self.knots)
        below = self.tails[0] * np.log(np.minimum(q / self.low, 1.0))
        return inside + below - self.tails[1] * np.log(np.minimum((1.0 - q) / self.high, 1.0))

    def _isf(self, q):
        inside = np.interp(1.0 - q, self.levels, self.knots)
        below = self.tails[0] * np.log(np.minimum((1.0 - q) / self.low, 1.0))
        return inside + below - self.tails[1] * np.log(np.minimum(q / self.high, 1.0))

    def _stats(self):
        # Around the median, so that a law far from 0 keeps the digits of its variance.
        centre = float(np.interp(0.5, self.levels, self.knots))
        x, mass, (a, b) = self.knots - centre, np.diff(self.levels), self.tails
        mean = mass @ (x[1:] + x[:-1]) / 2 + self.low * (x[0] - a) + self.high * (x[-1] + b)
        square = mass @ (x[1:] ** 2 + x[1:] * x[:-1] + x[:-1] ** 2) / 3
        square += self.low * (x[0] ** 2 - 2 * a * x[0] + 2 * a**2)
        square += self.high * (x[-1] ** 2 + 2 * b * x[-1] + 2 * b**2)
        return centre + mean, square - mean**2, None, None

    def _entropy(self):
        masses = np.concatenate([[self.low], np.diff(self.levels), [self.high]])
        return self.low + self.high - masses @ np.log(self.densities)

    def _crps(self, x):
        """The CRPS of values x; its derivative is 2 F - 1, which is integrated part by part."""
        x = np.asarray(x, dtype=float)
        knots, F, widths = self.knots, self.levels, np.diff(self.knots)
        G = 1.0 - F
        first = self.tails[0] * self.low**2 / 2 + self.tails[1] * self.high**2 / 2
        first += widths @ (G[1:] ** 2 + G[1:] * G[:-1] + G[:-1] ** 2) / 3  # at the first knot
        inner = np.clip(x, knots[0], knots[-1])
        j = np.minimum(np.searchsorted(knots, inner, side="right") - 1, len(knots) - 1)
        level = np.interp(inner, knots, F)
        area = self.areas[j] + (inner - knots[j]) * (F[j] + level) / 2
        below, above = self._beyond(x)
        beyond = self.tails[0] * (-below + 2 * self.low * np.expm1(below))
        beyond += self.tails[1] * (above + 2 * self.high * np.expm1(-above))
        return first + 2 * area - (inner - knots[0]) + beyond


def smoothed_law(z: np.ndarray, share: np.ndarray) -> SmoothedLaw:
    """The law of residuals: a mean of histograms with bins of equal mass, with exponential tails.

    Between neighbours in the order of the z the distribution function would be right, but its
    density would not: at a new value its logarithm is too small by .42 on average for any number of
    rows, as gaps around it are longer than most. A bin has therefore the mass n^(-1/3), and the
    distribution function is the mean of those of eight histograms, moved by an eighth of a bin.
    Beyond the lowest and the highest half of a bin the tail has the mean excess of its residuals.
    `share` are weights that sum to 1: with unequal ones n is the effective number, 1 / sum of
    squares.
    """
    values, places = np.unique(z, return_inverse=True)
    mass = np.bincount(places.ravel(), share)
    positions = np.cumsum(mass) - mass / 2  # of Hazen: half of the mass of a value is below it
    bin_mass = min(float(share @ share) ** (1 / 3), 0.5)
    low, high = max(bin_mass / 2, positions[0]), min(1.0 - bin_mass / 2, positions[-1])
    step = bin_mass / OFFSETS
    levels = np.append(np.arange(low, high - step / 2, step), high)
    knots, kept = np.unique(np.interp(levels, positions, values), return_index=True)
    levels = levels[kept]
    smooth = np.zeros(len(levels))
    for first in range(OFFSETS):
        edges = np.unique(np.r_[0, np.arange(first, len(levels), OFFSETS), len(levels) - 1])
        smooth += np.interp(knots, knots[edges], levels[edges]) / OFFSETS
    tails = []
    # The upper tail of the z, and that of -z, which is the lower one.
    for sign, end, level in ((-1, knots[0], 1.0 - levels[0]), (1, knots[-1], levels[-1])):
        excess = sign * (z - end)
        beyond = excess > 0
        if beyond.any():
            mean = float(np.average(excess[beyond], weights=share[beyond]))
        else:  # the length in which an exponential tail doubles is log 2 of its means
            q = 2 * level - 1.0
            inner = np.interp(q if sign > 0 else 1.0 - q, positions, values)
            mean = float(sign * (end - inner) / np.log(2.0))
        tails.append(max(mean, LEAST_SPREAD))
    return SmoothedLaw(knots, smooth, tuple(tails), name="smoothed")


# --- means ----------------------------------------------------------------------------------------


def frozen_of_mean(
    family: str,
    mean: np.ndarray,
    y_out_of_fold: np.ndarray,
    mean_out_of_fold: np.ndarray,
    weight: np.ndarray | None = None,
) -> Any:
    """The laws of the given means, with the dispersion of the largest likelihood out of fold.

    The variance of "gamma" is mu^2 / a, of "poisson" mu, of "negative-binomial" mu + alpha mu^2;
    the last one is the Poisson law where the counts are not more dispersed than that. The means are
    positive, of shape (m,); those out of fold, and their targets, of shape (n,).
    """
    check_family(family, MEAN_FAMILIES)
    y, mu, share = _weighted_rows(weight, y_out_of_fold, mean_out_of_fold)
    check_support(family, y)
    mean = np.asarray(mean, dtype=float)
    if family == "gamma":
        shape = gamma_shape(y, mu, share)
        return stats.gamma(shape, scale=mean / shape)
    alpha = overdispersion(y, mu, share) if family == "negative-binomial" else 0.0
    if alpha == 0:
        return stats.poisson(mean)
    return stats.nbinom(1 / alpha, 1 / (1 + alpha * mean))


def gamma_shape(y: np.ndarray, mu: np.ndarray, share: np.ndarray) -> float:
    """The shape a of the largest likelihood: log a - digamma(a) is half the mean deviance D.

    The left side is between 1 / (2 a) and 1 / a, so that a is between 1 / (2 D) and 1 / D.
    """
    ratio = y / mu
    # Above 1e12 the difference of log a and digamma(a) has no digits left.
    half_deviance = max(float(share @ (ratio - 1.0 - np.log(ratio))), 1e-12)
    ends = 0.5 / half_deviance, 1.0 / half_deviance
    if ends[0] > 1e6:
        return ends[0]  # where 1 / (2 a) is the left side up to 1 / (12 a^2)
    return float(brentq(lambda a: np.log(a) - digamma(a) - half_deviance, *ends))


def overdispersion(y: np.ndarray, mu: np.ndarray, share: np.ndarray) -> float:
    """The alpha of the largest likelihood of counts of variance mu + alpha mu^2; 0 for Poisson's.

    0 where the derivative of the likelihood at 0, half the mean of (y - mu)^2 - y, is not positive.
    """
    if share @ ((y - mu) ** 2 - y) <= 0:
        return 0.0

    def loss(log_alpha):
        alpha = np.exp(log_alpha)
        r, odds = 1 / alpha, alpha * mu
        value = gammaln(y + r) - gammaln(r) - (r + y) * np.log1p(odds) + y * np.log(odds)
        return -(share @ value)

    bounds = np.log(1e-6 / float(share @ mu)), np.log(1e6)
    found = minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 1e-8})
    return float(np.exp(found.x))
