"""Generators of simulated data, with Bayes rules and errors, and of noise in labels."""

import math
from collections.abc import Callable
from numbers import Integral
from typing import Literal, overload

import numpy as np
from scipy.integrate import quad
from scipy.special import log_ndtr
from scipy.stats import ncx2, norm
from sklearn.preprocessing import PolynomialFeatures

from sklearn_ensemble_theory._running import called
from sklearn_ensemble_theory.bounds import matching_pursuit_exponent
from sklearn_ensemble_theory.bounds._arguments import (
    checked_generator,
    checked_numbers,
    checked_rows,
)

from ._addresses import publish
from ._documentation import documented
from ._typing import ArrayLike, RandomStateLike

__all__ = [
    "add_label_noise",
    "add_malicious_rows",
    "add_massart_noise",
    "make_polynomial",
    "make_ringnorm",
    "make_sine_regression",
    "make_slow_pursuit",
    "make_tent",
    "make_threenorm",
    "make_twonorm",
    "make_waveform",
    "ringnorm_bayes_error",
    "ringnorm_bayes_rule",
    "threenorm_bayes_error",
    "threenorm_bayes_rule",
    "twonorm_bayes_error",
    "twonorm_bayes_rule",
    "waveform_bayes_error",
    "waveform_bayes_rule",
]


# Of a standard deviation, a distance or a number of periods: no product overflows.
LARGEST = 1e150
# What the docstrings of several functions say.
TEXTS = {
    "n_samples": """
        n_samples : int, default=300
            Number of rows.
        """,
    "n_features": """
        n_features : int, default=20
            d, the number of features.
        """,
    "of_n_features": """
        Parameters
        ----------
        %(n_features)s
        """,
    "of_samples": """
        Parameters
        ----------
        %(n_samples)s
        %(n_features)s
        %(random_state)s
        """,
    "inputs": """
        X : ndarray of shape (n_samples, n_features)
            Inputs.
        """,
    "given_inputs": """
        X : array-like of shape (n_samples, n_features)
            Inputs.
        """,
    "of_inputs": """
        Parameters
        ----------
        %(given_inputs)s
        """,
    "two_classes": """
        y : int ndarray of shape (n_samples,)
            Classes -1 and +1.
        """,
    "returns_labels": """
        Returns
        -------
        %(two_classes)s
        """,
    "returns_rows_and_labels": """
        Returns
        -------
        %(inputs)s
        %(two_classes)s
        """,
    "targets": """
        y : ndarray of shape (n_samples,)
            Targets.
        """,
    "labels": """
        y : array-like of shape (n_samples,)
            Labels of at least two classes.
        """,
    "noisy_labels": """
        Returns
        -------
        y : ndarray of shape (n_samples,)
            Labels with noise.
        flipped : bool ndarray of shape (n_samples,)
            Which labels were replaced.
        """,
    "raises_sizes": """
        Raises
        ------
        ValueError
            If `n_samples` or `n_features` is not a positive int.
        """,
    "Breiman_1998": """
        References
        ----------
        L. Breiman (1998). "Arcing classifiers". *The Annals of Statistics* 26, 801-849.
        """,
}


def _check_size(name: str, value: int) -> None:
    if not isinstance(value, Integral) or value < 1:
        raise ValueError(f"{name} must be a positive int, got {value!r}.")


def _check_size_and_noise(n_samples: int, noise: float) -> None:
    _check_size("n_samples", n_samples)
    if not 0 <= noise <= LARGEST:
        raise ValueError(f"noise must be in [0, {LARGEST:g}], got {noise!r}.")


# --- regression problems on a curve, of the experiments of the sources ----------------------------


@overload
def make_sine_regression(
    n_samples: int = ...,
    *,
    periods: float = ...,
    noise: float = ...,
    return_mean: Literal[False] = ...,
    random_state: RandomStateLike = ...,
) -> tuple[np.ndarray, np.ndarray]: ...


@overload
def make_sine_regression(
    n_samples: int = ...,
    *,
    periods: float = ...,
    noise: float = ...,
    return_mean: Literal[True],
    random_state: RandomStateLike = ...,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]: ...


def make_sine_regression(
    n_samples: int = 200,
    *,
    periods: float = 1.5,
    noise: float = 0.3,
    return_mean: bool = False,
    random_state: RandomStateLike = None,
) -> tuple[np.ndarray, ...]:
    """Generate a regression problem on a sine wave with one feature, for local averaging.

    x is uniform on [0, 1] and y = sin(2 pi `periods` x) plus Gaussian noise. A single nearest
    neighbour fits the noise; an average over too many neighbours is nearly constant. The experiment
    of [Bach, figure 10.1]; the text gives neither the function nor its constants, so they are
    chosen here.

    Parameters
    ----------
    n_samples : int, default=200
        Number of rows.
    periods : float, default=1.5
        Number of periods of the wave on [0, 1].
    noise : float, default=0.3
        Standard deviation of the noise.
    return_mean : bool, default=False
        Whether to also return the mean of y given x.
    %(random_state)s

    Returns
    -------
    X : ndarray of shape (n_samples, 1)
        Inputs, in increasing order.
    %(targets)s
    mean : ndarray of shape (n_samples,)
        The mean of y given x, sin(2 pi `periods` x). Only returned with `return_mean=True`.

    Raises
    ------
    ValueError
        If `n_samples` is not a positive int, if `noise` is not in [0, 1e150], or if `periods`
        is beyond it.

    %(references_Bach)s

    Examples
    --------
    >>> from sklearn_ensemble_theory.datasets import make_sine_regression
    >>> X, y = make_sine_regression(50, random_state=0)
    >>> X.shape, y.shape
    ((50, 1), (50,))
    """
    _check_size_and_noise(n_samples, noise)
    if not abs(periods) <= LARGEST:
        raise ValueError(f"periods must be at most {LARGEST:g}, got {periods!r}.")
    rng = checked_generator(random_state)
    x = np.sort(rng.uniform(size=n_samples))
    mean = np.sin(2 * np.pi * periods * x)
    y = mean + noise * rng.standard_normal(n_samples)
    return (x[:, None], y, mean) if return_mean else (x[:, None], y)


def make_tent(
    n_samples: int = 100,
    *,
    noise: float = 0.5,
    random_state: RandomStateLike = None,
) -> tuple[np.ndarray, np.ndarray]:
    r"""Generate a regression problem with one feature and a piecewise linear mean with two peaks.

    X is uniform on [-1, 1] and y = f(X) + noise, where

    .. math:: f(x) = 1 - \big| 2 |x| - 1 \big| .

    Parameters
    ----------
    n_samples : int, default=100
        Number of rows.
    noise : float, default=0.5
        Standard deviation of the Gaussian noise.
    random_state : int, RandomState instance or None, default=None
        Seed of X and of the noise.

    Returns
    -------
    X : ndarray of shape (n_samples, 1)
        Inputs, in the order drawn.
    y : ndarray of shape (n_samples,)
        Targets.

    Raises
    ------
    ValueError
        If `n_samples` is not a positive int, or if `noise` is not in [0, 1e150].

    Notes
    -----
    The experiment of [Dombry and Esstafa, eq. (26)], with noise of variance 1/4, after [Zhang and
    Yu, 2005].

    References
    ----------
    C. Dombry and Y. Esstafa. "Behavior of linear L2-boosting algorithms in the vanishing learning
    rate asymptotic".

    T. Zhang and B. Yu (2005). "Boosting with early stopping: convergence and consistency". *Annals
    of Statistics* 33(4).

    Examples
    --------
    >>> from sklearn_ensemble_theory.datasets import make_tent
    >>> X, y = make_tent(3, noise=0.0, random_state=0)
    >>> X[:, 0].round(2), y.round(2)
    (array([0.1 , 0.43, 0.21]), array([0.2 , 0.86, 0.41]))
    """
    _check_size_and_noise(n_samples, noise)
    rng = checked_generator(random_state)
    X = rng.uniform(-1.0, 1.0, size=(n_samples, 1))
    f = 1.0 - np.abs(2.0 * np.abs(X[:, 0]) - 1.0)
    return X, f + noise * rng.standard_normal(n_samples)


@overload
def make_polynomial(
    n_samples: int = ...,
    n_features: int = ...,
    *,
    degree: int = ...,
    noise: float = ...,
    return_mean: Literal[False] = ...,
    random_state: RandomStateLike = ...,
) -> tuple[np.ndarray, np.ndarray]: ...


@overload
def make_polynomial(
    n_samples: int = ...,
    n_features: int = ...,
    *,
    degree: int = ...,
    noise: float = ...,
    return_mean: Literal[True],
    random_state: RandomStateLike = ...,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]: ...


def make_polynomial(
    n_samples: int = 100,
    n_features: int = 20,
    *,
    degree: int = 2,
    noise: float = 1.0,
    return_mean: bool = False,
    random_state: RandomStateLike = None,
) -> tuple[np.ndarray, ...]:
    """Generate a regression problem whose mean is a random polynomial in several features.

    X is uniform on [-1, 1]. The mean of y is a polynomial with independent Gaussian coefficients of
    all monomials of positive degree, scaled to mean 0 and variance 1 over the rows. The default has
    230 monomials of 20 features: more than rows. The experiment of [Bach, figure 10.2]; the text
    gives neither the distribution of X nor the coefficients, so they are chosen here.

    Parameters
    ----------
    n_samples : int, default=100
        Number of rows. For a test set of the same polynomial, draw more rows and split them.
    n_features : int, default=20
        Number of features.
    degree : int, default=2
        Largest degree of the monomials.
    noise : float, default=1.0
        Standard deviation of the Gaussian noise.
    return_mean : bool, default=False
        Whether to also return the mean of y given X.
    %(random_state)s

    Returns
    -------
    %(inputs)s
    %(targets)s
    mean : ndarray of shape (n_samples,)
        The mean of y given X. Only returned with `return_mean=True`.

    Raises
    ------
    ValueError
        If `n_samples`, `n_features` or `degree` is not a positive int, or if `noise` is not
        in [0, 1e150].

    %(references_Bach)s

    Examples
    --------
    >>> from sklearn_ensemble_theory.datasets import make_polynomial
    >>> X, y, mean = make_polynomial(return_mean=True, random_state=0)
    >>> X.shape, round(float(mean.std()), 6)
    ((100, 20), 1.0)
    """
    _check_size_and_noise(n_samples, noise)
    _check_size("n_features", n_features)
    _check_size("degree", degree)
    rng = checked_generator(random_state)
    X = rng.uniform(-1.0, 1.0, size=(n_samples, n_features))
    monomials = PolynomialFeatures(degree, include_bias=False).fit_transform(X)
    mean = monomials @ rng.standard_normal(monomials.shape[1])
    mean -= mean.mean()
    mean /= mean.std() or 1.0
    y = mean + noise * rng.standard_normal(n_samples)
    return (X, y, mean) if return_mean else (X, y)


# --- a dictionary on which matching pursuit is slow -----------------------------------------------

# Of `make_slow_pursuit`: the square of y in units of the first gauge, which sets the speed of the
# first rounds, and how far correlations that need not be the largest stay below it.
FIRST_SQUARE, SLACK = 1.5, 0.003


def make_slow_pursuit(n_rounds: int = 200) -> tuple[np.ndarray, np.ndarray]:
    """Make a dictionary and a target on which matching pursuit is as slow as it can be.

    Plain matching pursuit without an intercept selects column 0, 1, 2, ... of X in turn, and its
    mean squared residual after t rounds decreases as t^(-0.3656), with the worst exponent of all,
    :func:`~sklearn_ensemble_theory.bounds.matching_pursuit_exponent`. It is 0.3 times
    :func:`~sklearn_ensemble_theory.bounds.matching_pursuit_bound`, although y is the mean of two
    columns. Learning rates below 1, and least squares over the chosen columns, find them soon. The
    data are not random. The cost is O(n_rounds³).

    Parameters
    ----------
    n_rounds : int, default=200
        Number T of rounds in which pursuit is slow.

    Returns
    -------
    X : ndarray of shape (n_rounds + 2, n_rounds + 2)
        Independent columns of mean square 1.
    y : ndarray of shape (n_rounds + 2,)
        The mean of the last two columns; its gauge gamma(y) is 1.

    Raises
    ------
    ValueError
        If `n_rounds` is not a positive int, or above 5,000.

    See Also
    --------
    sklearn_ensemble_theory.MatchingPursuitRegressor : The algorithm.

    Notes
    -----
    That such dictionaries exist is a result of Klusowski and Siegel (2025). This one is built from
    the proof of the bound, in which all inequalities have to be nearly equalities; see
    :ref:`rate-of-matching-pursuit` in the user guide. It was checked for up to 1,000 rounds.

    References
    ----------
    J. M. Klusowski and J. W. Siegel (2025). "Sharp convergence rates for matching pursuit".
    *IEEE Transactions on Information Theory* 71, 5556-5569.

    Examples
    --------
    >>> from sklearn_ensemble_theory import MatchingPursuitRegressor
    >>> from sklearn_ensemble_theory.datasets import make_slow_pursuit
    >>> X, y = make_slow_pursuit(100)
    >>> model = MatchingPursuitRegressor(100, fit_intercept=False).fit(X, y)
    >>> (model.residual_norms_[[1, 10, 100]] ** 2).round(3)
    array([0.184, 0.087, 0.038])
    """
    _check_size("n_rounds", n_rounds)
    if n_rounds > 5_000:
        raise ValueError(f"n_rounds must be at most 5_000, got {n_rounds!r}.")
    T, p = int(n_rounds), matching_pursuit_exponent()
    G = 2 * p / (1 - p)
    # The square a of the residual is FIRST_SQUARE b^-G for the bound b on its gauge, which a round
    # of correlation d increases by d: d² is the decrease of a.
    d, b = np.empty(T + 1), 1.0
    for t in range(T + 1):
        last, d[t] = 0.0, FIRST_SQUARE * G * b ** (-G - 1)
        while abs(d[t] - last) > 1e-15 * last:
            last = d[t]
            d[t] = -FIRST_SQUARE * b**-G * np.expm1(-G * np.log1p(last / b)) / last
        b += d[t]
    # The products of the columns. Column t was as correlated with the residuals of the rounds
    # before as the columns of these; those of long ago become correlated with the opposite sign,
    # as much as the column of each round is.
    most = (1 - SLACK) * (1 - d[1:] / d[:-1])
    gram, with_y, with_residual = np.eye(T), np.empty(T), np.zeros(T)
    for t in range(T):
        product = np.minimum(most[:t], (with_residual[:t] + (1 - SLACK) * d[t + 1]) / d[t])
        gram[:t, t] = gram[t, :t] = product
        with_y[t] = d[t] + d[:t] @ product
        with_residual[:t] -= d[t] * product
    # Columns and a target with these products, and two columns whose mean is the target in such
    # units that their correlation, that of the target, is never the largest.
    of_target = FIRST_SQUARE - np.append(0.0, np.cumsum(d[: T - 1] * with_y[:-1]))
    gauge = (1 + SLACK) * np.max(of_target / d[:T])
    X = np.zeros((T + 2, T + 2))
    X[:T, :T] = np.linalg.cholesky(gram).T
    y = np.zeros(T + 2)
    y[:T] = np.linalg.solve(X[:T, :T].T, with_y)
    y[T] = np.sqrt(FIRST_SQUARE - y[:T] @ y[:T])
    y /= gauge
    X[:, T:] = y[:, None]
    X[T + 1, T:] = np.array([1, -1]) * np.sqrt(1 - y @ y)
    scale = np.sqrt(T + 2)
    return scale * X, scale * y


# --- two classes of normal variables, by Breiman --------------------------------------------------
# In all of them a = (2/sqrt(d), ..., 2/sqrt(d)), a vector of length 2. Breiman (1998) prints
# 1/sqrt(d) for ringnorm; with 2/sqrt(d), as in the two other problems, its least error is 1.2 %,
# near the 1.3 % that he states, and with 1/sqrt(d) it is 1.5 %.


def make_twonorm(
    n_samples: int = 300, *, n_features: int = 20, random_state: RandomStateLike = None
) -> tuple[np.ndarray, np.ndarray]:
    """Generate Breiman's twonorm: two normal classes of the same shape.

    Row x has the distribution N(y a, I), where y is -1 or +1 with equal probability and a has the
    coordinates 2/sqrt(d).

    %(of_samples)s

    %(returns_rows_and_labels)s

    %(raises_sizes)s

    %(Breiman_1998)s

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_ensemble_theory.datasets import make_twonorm, twonorm_bayes_rule
    >>> X, y = make_twonorm(1_000, random_state=0)
    >>> float(np.mean(twonorm_bayes_rule(X) != y))
    0.024
    """
    _, y, X = _classes_and_noise(n_samples, n_features, random_state)
    return X + y[:, None] * _shift(n_features), y


def twonorm_bayes_rule(X: ArrayLike) -> np.ndarray:
    """The classes of least error for `make_twonorm`: the sign of the sum of the features.

    %(of_inputs)s

    %(returns_labels)s

    Examples
    --------
    >>> from sklearn_ensemble_theory.datasets import twonorm_bayes_rule
    >>> twonorm_bayes_rule([[1.0, -0.5], [-1.0, 0.5]])
    array([ 1, -1])
    """
    return _two_classes(_moderate(checked_rows("X", X)).sum(axis=1))


def twonorm_bayes_error() -> float:
    """The error of `twonorm_bayes_rule`, for any number of features: Phi(-2).

    Returns
    -------
    error : float

    Examples
    --------
    >>> from sklearn_ensemble_theory.datasets import twonorm_bayes_error
    >>> round(twonorm_bayes_error(), 5)
    0.02275
    """
    return float(norm.cdf(-2.0))


def make_threenorm(
    n_samples: int = 300, *, n_features: int = 20, random_state: RandomStateLike = None
) -> tuple[np.ndarray, np.ndarray]:
    """Generate Breiman's threenorm: one class with two centres, and one between them.

    Rows of class -1 have the distribution N(a, I) or N(-a, I), with equal probability; rows of
    class +1 have N(b, I), where b has the coordinates 2/sqrt(d) and -2/sqrt(d) in turn.

    %(of_samples)s

    %(returns_rows_and_labels)s

    %(raises_sizes)s

    %(Breiman_1998)s

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_ensemble_theory.datasets import make_threenorm, threenorm_bayes_rule
    >>> X, y = make_threenorm(1_000, random_state=0)
    >>> float(np.mean(threenorm_bayes_rule(X) != y))
    0.106
    """
    rng, y, X = _classes_and_noise(n_samples, n_features, random_state)
    side = 2 * rng.randint(2, size=n_samples) - 1
    a = _shift(n_features)
    return X + np.where(y[:, None] > 0, _alternating(n_features) * a, side[:, None] * a), y


def threenorm_bayes_rule(X: ArrayLike) -> np.ndarray:
    """The classes of least error for `make_threenorm`: -1 where cosh(a'x) > exp(b'x).

    %(of_inputs)s

    %(returns_labels)s

    Examples
    --------
    >>> from sklearn_ensemble_theory.datasets import threenorm_bayes_rule
    >>> threenorm_bayes_rule([[1.0, 1.0], [1.0, -1.0]])
    array([-1,  1])
    """
    X = _moderate(checked_rows("X", X))
    d = X.shape[1]
    a = _shift(d)
    return _two_classes(a * (X @ _alternating(d)) - _log_cosh(a * X.sum(axis=1)))


def threenorm_bayes_error(n_features: int = 20) -> float:
    """The error of `threenorm_bayes_rule`.

    a'x and b'x are normal with variance 4. Their correlation is 0 for even d, and 1/d for odd d, so
    one integral over a'x remains.

    %(of_n_features)s

    Returns
    -------
    error : float
        By numerical integration, with an absolute error below 1e-8.

    Examples
    --------
    >>> from sklearn_ensemble_theory.datasets import threenorm_bayes_error
    >>> round(threenorm_bayes_error(), 4)
    0.1046
    """
    _check_size("n_features", n_features)
    rho = (n_features % 2) / n_features
    spread = 2.0 * math.sqrt(1.0 - rho**2)

    def chosen(u: float, u_mean: float, v_mean: float) -> float:
        """The density of u = a'x times the probability of class +1 given u."""
        middle = v_mean + rho * (u - u_mean)
        gap = middle - float(_log_cosh(np.array(u)))
        right = norm.cdf(gap / spread) if spread > 0 else float(gap > 0)
        return float(norm.pdf((u - u_mean) / 2.0) / 2.0 * right)

    def integral(u_mean: float, v_mean: float) -> float:
        limits = u_mean - 20.0, u_mean + 20.0
        return float(quad(chosen, *limits, args=(u_mean, v_mean), epsabs=1e-10, limit=200)[0])

    # By symmetry N(a, I) and N(-a, I) only differ in the sign of b'x = 4 rho, where rho > 0.
    first = 0.5 * (integral(4.0, 4.0 * rho) + integral(-4.0, -4.0 * rho))
    return 0.5 * (first + 1.0 - integral(4.0 * rho, 4.0))


def make_ringnorm(
    n_samples: int = 300, *, n_features: int = 20, random_state: RandomStateLike = None
) -> tuple[np.ndarray, np.ndarray]:
    """Generate Breiman's ringnorm: a narrow normal class inside a wide one.

    Rows of class -1 have the distribution N(0, 4 I), rows of class +1 have N(a, I), where a has the
    coordinates 2/sqrt(d).

    %(of_samples)s

    %(returns_rows_and_labels)s

    %(raises_sizes)s

    %(Breiman_1998)s

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_ensemble_theory.datasets import make_ringnorm, ringnorm_bayes_rule
    >>> X, y = make_ringnorm(1_000, random_state=0)
    >>> float(np.mean(ringnorm_bayes_rule(X) != y))
    0.012
    """
    _, y, X = _classes_and_noise(n_samples, n_features, random_state)
    return np.where(y[:, None] > 0, X + _shift(n_features), 2.0 * X), y


def ringnorm_bayes_rule(X: ArrayLike) -> np.ndarray:
    """The classes of least error for `make_ringnorm`: +1 inside a ball around 4a/3.

    %(of_inputs)s

    %(returns_labels)s

    Examples
    --------
    >>> from sklearn_ensemble_theory.datasets import ringnorm_bayes_rule
    >>> ringnorm_bayes_rule([[1.5, 1.5], [4.0, -4.0]])
    array([ 1, -1])
    """
    X = checked_rows("X", X)
    d = X.shape[1]
    with np.errstate(over="ignore"):
        distance = ((X - 4 / 3 * _shift(d)) ** 2).sum(axis=1)
    return _two_classes(_squared_radius(d) - distance)


def ringnorm_bayes_error(n_features: int = 20) -> float:
    """The error of `ringnorm_bayes_rule`.

    The squared distance to the centre of the ball has a noncentral chi-squared distribution, for
    both classes.

    %(of_n_features)s

    Returns
    -------
    error : float

    Examples
    --------
    >>> from sklearn_ensemble_theory.datasets import ringnorm_bayes_error
    >>> round(ringnorm_bayes_error(), 4)
    0.0124
    """
    _check_size("n_features", n_features)
    r = _squared_radius(n_features)
    outside = ncx2.sf(r, n_features, 4 / 9)
    inside = ncx2.cdf(r / 4, n_features, 16 / 9)
    return float(0.5 * (outside + inside))


def _classes_and_noise(
    n_samples: int, n_features: int, random_state: RandomStateLike
) -> tuple[np.random.RandomState, np.ndarray, np.ndarray]:
    _check_size("n_samples", n_samples)
    _check_size("n_features", n_features)
    rng = checked_generator(random_state)
    y = 2 * rng.randint(2, size=n_samples) - 1
    return rng, y, rng.standard_normal((n_samples, n_features))


def _shift(d: int) -> float:
    return 2.0 / math.sqrt(d)


def _alternating(d: int) -> np.ndarray:
    return np.where(np.arange(d) % 2 == 0, 1.0, -1.0)


def _log_cosh(u: np.ndarray) -> np.ndarray:
    return np.abs(u) + np.log1p(np.exp(-2 * np.abs(u))) - math.log(2)


def _squared_radius(d: int) -> float:
    return 4 / 3 * (2 * d * math.log(2) + 4 / 3)


def _moderate(X: np.ndarray) -> np.ndarray:
    """Rows of which sums do not overflow, and have the same sign."""
    largest = np.abs(X).max()
    return X / (largest / 1e150) if largest > 1e150 else X


def _two_classes(score: np.ndarray) -> np.ndarray:
    return np.where(score > 0, 1, -1)


# --- Breiman's waveform problem of three classes --------------------------------------------------


PLACES = np.arange(1, 22)
# Three triangles of height 6 around 11, 15 and 7.
WAVES = np.stack([np.maximum(6.0 - np.abs(PLACES - centre), 0.0) for centre in (11, 15, 7)])
# The two waves of which the rows of a class are mixtures.
PAIRS = ((0, 1), (0, 2), (1, 2))


def make_waveform(
    n_samples: int = 300, *, random_state: RandomStateLike = None
) -> tuple[np.ndarray, np.ndarray]:
    """Generate Breiman's waveform problem: three classes, 21 features.

    A row is u h + (1 - u) h' plus standard normal noise, where u is uniform on [0, 1]. The class
    says which two of three triangular waves h and h' are.

    Parameters
    ----------
    %(n_samples)s
    %(random_state)s

    Returns
    -------
    X : ndarray of shape (n_samples, 21)
        Inputs.
    y : int ndarray of shape (n_samples,)
        Classes 0, 1 and 2, with equal probability.

    Raises
    ------
    ValueError
        If `n_samples` is not a positive int.

    References
    ----------
    L. Breiman, J. Friedman, R. Olshen and C. Stone (1984). *Classification and Regression Trees*.
    Wadsworth.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_ensemble_theory.datasets import make_waveform, waveform_bayes_rule
    >>> X, y = make_waveform(1_000, random_state=0)
    >>> float(np.mean(waveform_bayes_rule(X) != y))
    0.141
    """
    _check_size("n_samples", n_samples)
    rng = checked_generator(random_state)
    y = rng.randint(3, size=n_samples)
    u = rng.uniform(size=(n_samples, 1))
    first, second = np.array(PAIRS).T
    mean = u * WAVES[first[y]] + (1 - u) * WAVES[second[y]]
    return mean + rng.standard_normal(mean.shape), y


def waveform_bayes_rule(X: ArrayLike) -> np.ndarray:
    """The classes of least error for `make_waveform`.

    The density of a class is the integral of a normal density along the segment between two waves,
    which is a difference of two normal distribution functions.

    Parameters
    ----------
    X : array-like of shape (n_samples, 21)
        Inputs.

    Returns
    -------
    y : int ndarray of shape (n_samples,)
        Classes 0, 1 and 2.

    Raises
    ------
    ValueError
        If X does not have 21 columns.

    Examples
    --------
    >>> from sklearn_ensemble_theory.datasets import make_waveform, waveform_bayes_rule
    >>> X, y = make_waveform(4, random_state=0)
    >>> y, waveform_bayes_rule(X)
    (array([0, 1, 0, 1]), array([0, 1, 0, 2]))
    """
    X = np.clip(checked_rows("X", X), -1e6, 1e6)  # beyond which no class has rows
    if X.shape[1] != len(PLACES):
        raise ValueError(f"X must have {len(PLACES)} columns, got an array of shape {X.shape}.")
    return np.argmax(_log_densities(X, WAVES), axis=1)


def waveform_bayes_error() -> float:
    """The error of `waveform_bayes_rule`.

    The classes differ only in the plane of the three waves, so two dimensions remain.

    Returns
    -------
    error : float
        By numerical integration, with an absolute error below 1e-6.

    Examples
    --------
    >>> from sklearn_ensemble_theory.datasets import waveform_bayes_error
    >>> round(waveform_bayes_error(), 4)
    0.1329
    """
    # Orthonormal coordinates of the plane, and those of the waves.
    basis = np.linalg.qr((WAVES[1:] - WAVES[0]).T)[0]
    waves = (WAVES - WAVES[0]) @ basis
    step = 0.05
    low, high = waves.min(axis=0) - 9.0, waves.max(axis=0) + 9.0
    axes = [np.arange(a, b, step) for a, b in zip(low, high)]
    correct = 0.0
    for x in axes[0]:
        points = np.column_stack([np.full(len(axes[1]), x), axes[1]])
        correct += float(np.exp(_log_densities(points, waves).max(axis=1)).sum())
    return 1.0 - correct * step**2 / 3.0


def _log_densities(X: np.ndarray, waves: np.ndarray) -> np.ndarray:
    """The logarithms of the densities of the classes, shape (n, 3)."""
    found = []
    for i, j in PAIRS:
        direction = waves[i] - waves[j]
        length = float(np.linalg.norm(direction))
        along = (X - waves[j]) @ direction / length
        beside = ((X - waves[j]) ** 2).sum(axis=1) - along**2
        # log of Phi(length - along) - Phi(-along), from the side where both are small
        turned = along < length / 2
        upper = np.where(turned, along, length - along)
        lower = np.where(turned, along - length, -along)
        log_upper, log_lower = log_ndtr(upper), log_ndtr(lower)
        log_mass = log_upper + np.log1p(-np.exp(log_lower - log_upper))
        found.append(log_mass - np.log(length) - beside / 2)
    return np.stack(found, axis=1) - (waves.shape[1] - 1) / 2 * np.log(2 * np.pi)


# --- noise in the labels of given data ------------------------------------------------------------


def add_label_noise(
    y: ArrayLike, noise_rate: float, *, random_state: RandomStateLike = None
) -> tuple[np.ndarray, np.ndarray]:
    """Replace each label by another class with the same probability: random classification noise.

    Parameters
    ----------
    %(labels)s
    noise_rate : float
        The probability of a wrong label, in [0, 1]. All other classes are equally likely.
    %(random_state)s

    %(noisy_labels)s

    Raises
    ------
    ValueError
        If `noise_rate` is not in [0, 1], or y has one class.

    Examples
    --------
    >>> from sklearn_ensemble_theory.datasets import add_label_noise
    >>> y, flipped = add_label_noise(["a", "b"] * 500, 0.2, random_state=0)
    >>> float(flipped.mean())
    0.2
    """
    if not 0 <= noise_rate <= 1:
        raise ValueError(f"noise_rate must be in [0, 1], got {noise_rate!r}.")
    y = _checked_labels(y)
    return _flipped(y, np.full(len(y), float(noise_rate)), random_state)


def add_massart_noise(
    X: ArrayLike,
    y: ArrayLike,
    eta: ArrayLike | Callable[[np.ndarray], ArrayLike],
    *,
    random_state: RandomStateLike = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Replace each label with a probability that depends on x and is below 1/2: Massart noise.

    %(of_inputs)s
    %(labels)s
    eta : callable or array-like of shape (n_samples,)
        The probability of a wrong label for each row, or a function of X that returns it; in
        [0, 1/2).
    %(random_state)s

    %(noisy_labels)s

    Raises
    ------
    ValueError
        If a value of `eta` is not in [0, 1/2), there is not one for each row, or y has one class.

    References
    ----------
    P. Massart and E. Nedelec (2006). "Risk bounds for statistical learning". *The Annals of
    Statistics* 34, 2326-2366.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_ensemble_theory.datasets import add_massart_noise
    >>> X = np.linspace(-1, 1, 1_000)[:, None]
    >>> y, flipped = add_massart_noise(X, X[:, 0] > 0, lambda X: 0.4 * (X[:, 0] > 0.5))
    >>> int(flipped[:750].sum())
    0
    """
    y = _checked_labels(y)
    rates = called("eta", eta, np.asarray(X)) if callable(eta) else eta
    rates = checked_numbers("eta", rates, 0, 0.5, open_high=True)
    if rates.shape != (len(y),):
        raise ValueError(f"eta must have one value for each row, got the shape {rates.shape}.")
    return _flipped(y, rates, random_state)


def add_malicious_rows(
    X: ArrayLike,
    y: ArrayLike,
    fraction: float,
    *,
    distance: float = 1.0,
    random_state: RandomStateLike = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Replace a share of the rows by copies of other rows, moved outwards, with a wrong label.

    Malicious noise replaces whole rows by any others. Here each of them is m + c (x - m), where x
    is a row drawn at random, m the mean of all rows and c the `distance`. Its class differs from
    the class of x.

    %(of_inputs)s
    %(labels)s
    fraction : float
        The share of rows to replace, in [0, 1]; rounded to a whole number of rows.
    distance : float, default=1.0
        c. With 1 the rows are copies; larger values give outliers.
    %(random_state)s

    Returns
    -------
    %(inputs)s
    y : ndarray of shape (n_samples,)
        Labels.
    malicious : bool ndarray of shape (n_samples,)
        Which rows were replaced.

    Raises
    ------
    ValueError
        If `fraction` is not in [0, 1], `distance` is beyond 1e150, or y has one class.

    References
    ----------
    M. Kearns and M. Li (1993). "Learning in the presence of malicious errors". *SIAM Journal on
    Computing* 22, 807-837.

    Examples
    --------
    >>> from sklearn_ensemble_theory.datasets import add_malicious_rows
    >>> X, y, malicious = add_malicious_rows([[0.0], [1.0]] * 50, [0, 1] * 50, 0.1, random_state=0)
    >>> int(malicious.sum())
    10
    """
    if not 0 <= fraction <= 1:
        raise ValueError(f"fraction must be in [0, 1], got {fraction!r}.")
    if not abs(distance) <= LARGEST:
        raise ValueError(f"distance must be at most {LARGEST:g}, got {distance!r}.")
    rng = checked_generator(random_state)
    X, y = checked_rows("X", X).copy(), _checked_labels(y).copy()
    n = len(y)
    if len(X) != n:
        raise ValueError(f"X has {len(X)} rows, but y has {n}.")
    malicious = np.zeros(n, dtype=bool)
    malicious[rng.permutation(n)[: round(fraction * n)]] = True
    source = rng.randint(n, size=int(malicious.sum()))
    centre = X.mean(axis=0)
    moved = centre + distance * (X[source] - centre) if distance != 1 else X[source]
    y[malicious] = _other_classes(y, y[source], rng)
    X[malicious] = moved
    return X, y, malicious


def _checked_labels(y: ArrayLike) -> np.ndarray:
    try:
        labels = np.asarray(y)
        np.unique(labels)
    except (TypeError, ValueError) as error:
        raise ValueError(f"y must have labels that can be ordered: {error}") from None
    if labels.ndim != 1:
        raise ValueError(f"y must have one dimension; got the shape {labels.shape}.")
    return labels


def _flipped(
    y: np.ndarray, rates: np.ndarray, random_state: RandomStateLike
) -> tuple[np.ndarray, np.ndarray]:
    rng = checked_generator(random_state)
    flipped = rng.uniform(size=len(y)) < rates
    noisy = y.copy()
    noisy[flipped] = _other_classes(y, y[flipped], rng)
    return noisy, flipped


def _other_classes(y: np.ndarray, labels: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    """For each of `labels` another class of y, drawn with equal probabilities."""
    classes = np.unique(y)
    K = len(classes)
    if K < 2:
        raise ValueError("y must have at least two classes.")
    steps = rng.randint(1, K, size=len(labels))
    return classes[(np.searchsorted(classes, labels) + steps) % K]


publish(__name__, globals(), __all__)
for _name in __all__:
    documented(TEXTS)(globals()[_name])
