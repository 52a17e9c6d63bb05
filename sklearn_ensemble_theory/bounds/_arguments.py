"""Checks of the arguments of bounds, and their values as numbers."""

import functools
import math
from collections.abc import Callable, Collection
from numbers import Integral, Real
from typing import Any, ParamSpec, TypeVar

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array

from sklearn_ensemble_theory._scaling import power_of_two
from sklearn_ensemble_theory._typing import ArrayLike

# Of coefficients of linear functions.
NORMS = ("l1", "l2")
# The form of the source, and the smallest that is known here.
METHODS = ("source", "sharp")
# What the docstrings of several functions say.
TEXTS = {
    "bootstrap": """
        bootstrap : bool or "bernoulli", default=False
            How rows are drawn: False without and True with replacement, or each row independently
            with probability q.
        """,
    "curvature": """
        curvature : float
            L C²; see `greedy_boosting_bound`.
        """,
    "of_rounds_and_curvature": """
        %(of_rounds)s
        %(curvature)s
        """,
    "diameter": """
        diameter : float, default=1.0
            Diameter of the set that the inputs come from, at least 0.
        """,
    "differences": """
        differences : array-like of shape (..., n)
            The L_i, at least 0.
        """,
    "dimension": """
        n_features : int
            Dimension d of the inputs, at least 2.
        """,
    "eigenvalue_scale": """
        eigenvalue_scale : float, default=1.0
            C, positive.
        """,
    "gauge_of_f": """
        gauge : float
            R gamma_1(f): the competitor's variation norm times the bound R on the weak learners.
        """,
    "gauge_of_y": """
        gauge : float
            gamma(y), for columns of mean square 1.
        """,
    "of_rounds_and_gauge": """
        %(of_rounds)s
        %(gauge_of_y)s
        """,
    "gram_of_columns": """
        gram : array-like of shape (d, d)
            Mean products of the columns.
        """,
    "of_columns": """
        Parameters
        ----------
        %(gram_of_columns)s
        """,
    "interval": """
        low, high : float or array-like, default=0.0 and 1.0
            Ends of the interval of the variables, low at most high.
        """,
    "lipschitz_of_classes": """
        lipschitz : float, default=1.0
            Lipschitz constant B of the vector of class probabilities, in the Euclidean norm.
        """,
    "lipschitz_of_f": """
        lipschitz : float, default=1.0
            Lipschitz constant B of the regression function, in units of y per unit of x.
        """,
    "loss_at_zero": """
        loss_at_zero : float, default=None
            G0, the largest loss at score 0; None is log 2 (natural logarithm).
        """,
    "loss_constants": """
        smoothness, lipschitz : float
            The constants G2 and G1 of the loss.
        """,
    "margins": """
        margins : array-like of shape (n_samples,)
            Margins of the training rows, in [-1, 1].
        """,
    "of_margins": """
        Parameters
        ----------
        %(margins)s
        """,
    "n_classes": """
        n_classes : int, default=2
            Number C of classes, at least 2.
        """,
    "method": """
        method : {"source", "sharp"}, default="source"
            The bound of the source, or the smaller one that the text above gives.
        """,
    "n_data_sets": """
        n_estimators : int or inf, default=1
            Number m of data sets; inf is the limit.
        """,
    "n_random_features": """
        n_components : int
            Number s of features.
        """,
    "n_rounds": """
        n_rounds : int or array-like
            Number t of rounds.
        """,
    "of_candidates": """
        Parameters
        ----------
        n_candidates : int
            Number K of candidates, at least 1.
        """,
    "of_rounds": """
        Parameters
        ----------
        %(n_rounds)s
        """,
    "of_n_samples": """
        Parameters
        ----------
        %(n_samples)s
        """,
    "n_samples": """
        n_samples : int
            Number n of rows, at least 1.
        """,
    "noise_bound": """
        noise_variance : float, default=1.0
            Bound sigma^2 on the variance of y given x.
        """,
    "noise_sigma": """
        sigma : float, default=1.0
            Standard deviation of the noise.
        """,
    "penalty": """
        penalty : float or array-like of float
            lambda, positive; `alpha / n` for the `alpha` of :class:`sklearn.linear_model.Ridge`.
        """,
    "rank": """
        n_features : int
            Number d of features, or the rank of X if it is smaller; at most n.
        """,
    "references_of_pursuit": """
        References
        ----------
        A. V. Sil'nichenko (2004). "Rate of convergence of greedy algorithms". *Mathematical Notes*
        76, 582-586.

        J. M. Klusowski and J. W. Siegel (2025). "Sharp convergence rates for matching pursuit".
        *IEEE Transactions on Information Theory* 71, 5556-5569.
        """,
    "rho": """
        rademacher : float, default=1.0
            The constant rho of the Rademacher complexity in [Bach, eq. (10.15)].
        """,
    "rows_of_a_data_set": """
        n_samples : int
            Number n of rows of each data set.
        """,
    "of_rows_of_a_data_set": """
        Parameters
        ----------
        %(rows_of_a_data_set)s
        """,
    "rows_of_all_blocks": """
        n_samples : int
            Number n of rows of all blocks together.
        """,
    "sharp_votes": """
        %(method)s
        training_error : float, default=None
            With "sharp", a number e in [0, 1]: the bound is for votes with a training error of at
            most e, and much smaller for small e. None is for any training error.
        """,
    "notes_on_sharp_votes": """
        Notes
        -----
        With S(N) the number of labellings of N rows, ``method="sharp"`` is

            x + deviation,  ((1 + x) ln(1 + x) + (1 - x) ln(1 - x)) / 2 = ln S(n) / n,

        with x below sqrt(2 ln S(n) / n): by symmetrisation, Chernoff's bound for signs and
        `mcdiarmid_deviation`, about sqrt(ln(1/delta) / (2n)). For a training error of at most e it
        is the smallest of that and

        - 2 A + 2 sqrt(A (A + e)), A = (ln S(2n) + ln(4/delta)) / n, from relative deviations
          [Bousquet, Boucheron and Lugosi, 2004];
        - 2 (log2 S(2n) + log2(2/delta)) / n for e = 0, as in `pac_n_samples_upper_bound`.

        e has to be fixed before the rows, as 0 is. For a training error that was observed pass
        delta/3: each of the three forms then fails with at most this probability.
        """,
    "share_delta": """
        delta : float, default=0.05
            Share of the rows that may change the prediction by more, in (0, 1).
        """,
    "two_sided": """
        two_sided : bool, default=False
            Whether deviations to both sides count; the probability is then doubled.
        """,
    "vc_dimension": """
        vc_dimension : int or array-like
            VC dimension d of the class, at least 0.
        """,
    "bound_after_rounds": """
        Returns
        -------
        bound : float or ndarray of the shape of n_rounds
            The bound after each number of rounds.

        %(raises)s
        """,
    "bound_in_squares": """
        Returns
        -------
        bound : float
            The bound, in units of y squared.

        %(raises)s
        """,
    "bound_on_probability": """
        Returns
        -------
        bound : float or ndarray
            The bound on the probability, at most 1.

        %(raises)s
        """,
    "bound_at_most_1": """
        Returns
        -------
        bound : float
            The bound, at most 1.

        %(raises)s
        """,
    "bound_on_difference": """
        Returns
        -------
        bound : float
            The bound on the difference, at most 1, where it says nothing.

        %(raises)s
        """,
    "rows_rounded_up": """
        Returns
        -------
        n_samples : int
            The number of rows, rounded up.

        %(raises)s
        """,
    "bound_in_functions": """
        Returns
        -------
        bound : float or ndarray
            The bound, in units of the functions.

        %(raises)s
        """,
    "bound_at_most_M": """
        Returns
        -------
        bound : float or ndarray
            The bound, in units of the loss; at most M, where it says nothing.

        %(raises)s
        """,
    "raises": """
        Raises
        ------
        ValueError
            If a parameter is outside its range, or an array not finite or of another shape.
        """,
    "raises_unstable": """
        Raises
        ------
        ValueError
            If a parameter is outside its range, or if the matrix is unstable and overflows.
        """,
    "raises_no_points": """
        Raises
        ------
        ValueError
            If a parameter is outside its range, or the points are not a finite array of two
            dimensions.
        """,
    "delta": """
        delta : float, default=0.05
            Probability of failure, in (0, 1).
        """,
    "deltas": """
        delta : float or array-like, default=0.05
            Probability of failure, above 0 and at most 1.
        """,
    "n_rows": """
        n_samples : float
            Number n of independent rows, at least 1.
        """,
    "n_points": """
        n_samples : int or array-like
            Number n of rows or points, at least 1.
        """,
    "of_points": """
        Parameters
        ----------
        %(n_points)s
        """,
    "points": """
        X : array-like of shape (n_points, n_features)
            The points.
        """,
    "list_of_behaviours": """
        behaviours : array-like of shape (n_functions, n_points)
            A row for each function of the class, its values on all points.
        """,
    "n_draws": """
        n_draws : int, default=10_000
            Number of draws of the signs for more than 16 points, at least 2; up to 16 points all
            signs are enumerated.
        """,
    "random_signs": """
        random_state : int, RandomState instance or None, default=None
            Seed of the draws.
        return_std : bool, default=False
            Whether the standard error of the mean over the draws is returned too; 0 for the exact
            value.
        """,
    "std": """
        std : float
            The standard error, if `return_std` is True.
        """,
    "radius_of_a_ball": """
        radius : float, default=1.0
            The largest norm lambda, at least 0.
        """,
    "feature_bound": """
        feature_bound : float, default=1.0
            C, at least 0: for the l2 norm the largest length of a row, sqrt(p) for p features in
            [-1, 1]; for the l1 norm the largest absolute value of a feature.
        """,
    "n_features_of_l1": """
        n_features : int or None, default=None
            Number p of features, at least 1; for the l1 norm only, which needs it.
        """,
    "feature_bounds": """
        feature_bound : float or array-like, default=1.0
            C, at least 0: for the l2 norm the largest length of a row, sqrt(p) for p features in
            [-1, 1]; for the l1 norm the largest absolute value of a feature.
        """,
    "n_features_of_l1_balls": """
        n_features : int or array-like, default=None
            Number p of features, at least 1; for the l1 norm only, which needs it.
        """,
    "norm": """
        norm : {"l1", "l2"}, default="l2"
            The norm of the coefficients: the sum of their absolute values, or the Euclidean one.
        """,
    "n_projected_rows": """
        n_samples : float
            Number n of rows.
        """,
    "noise_variance": """
        noise_variance : float, default=1.0
            Variance sigma^2 of the noise.
        """,
    "noise_variances": """
        noise_variance : float or array-like, default=1.0
            Variance sigma^2 of the noise.
        """,
    "projection": """
        projection : {"gaussian", "coordinate"}, default="gaussian"
            Independent Gaussian directions, or random subsets of the variables.
        """,
    "gram_of_Phi": """
        gram : array-like of shape (n_features, n_features)
            G = Phi'Phi, symmetric.
        """,
    "of_Phi": """
        Parameters
        ----------
        %(gram_of_Phi)s
        """,
    "eigenvalues": """
        eigenvalues : array-like
            Eigenvalues mu of the matrix S of the learner, real.
        """,
    "times": """
        times : float or array-like
            Times t of boosting, not negative.
        """,
    "limit_rate": """
        learning_rate : float in [0, 1], default=0.0
            lambda; 0 is the limit of small learning rates.
        """,
    "matrix_of_S": """
        matrix : array-like of shape (n, n)
            S, which maps y to the fitted values of the learner.
        """,
    "of_S": """
        Parameters
        ----------
        %(matrix_of_S)s
        """,
    "array_of_times": """
        times : array-like of shape (n_times,)
            Times of boosting.
        """,
    "boosted_model": """
        sigma : float, default=1.0
            Standard deviation of the noise.
        %(limit_rate)s
        %(init)s
        """,
    "init": """
        init : {"mean", "zero"}, default="mean"
            Where boosting starts.
        """,
}
P = ParamSpec("P")
R = TypeVar("R")


def in_floats(function: Callable[P, R]) -> Callable[P, R]:
    """A function of numbers that computes without warnings, and never returns NaN.

    Arguments that are valid but so large or so small that the value is not a floating-point number
    raise a ValueError: a power that overflows in Python, a division by a number that underflowed,
    or a NaN. A value that overflows to inf in NumPy is returned as such.
    """

    @functools.wraps(function)
    def computed(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            with np.errstate(all="ignore"):
                value = function(*args, **kwargs)
            parts: Any = value if isinstance(value, tuple) else (value,)
            is_number = not any(np.isnan(part).any() for part in parts)
        except ArithmeticError:
            is_number = False
        if not is_number:
            raise ValueError(
                f"The value of {function.__name__} is not a floating-point number for these "
                "arguments, of which some are too large or too small."
            )
        return value

    return computed


def check_number(
    name: str,
    value: Any,
    low: float,
    high: float = math.inf,
    *,
    open_low: bool = False,
    integral: bool = False,
) -> None:
    """Raise a ValueError unless the value is a finite number (an integer) from low to high."""
    is_one = isinstance(value, Integral if integral else Real)
    number: Any = value if is_one and not (integral and isinstance(value, bool)) else math.nan
    try:
        finite = math.isfinite(number)
    except OverflowError:  # an integer that is larger than any float
        finite = False
    above_low = low < number if open_low else low <= number
    if not (above_low and number <= high and finite):
        noun = "an integer" if integral else "a number"
        above = "above" if open_low else "of at least"
        below = "" if high == math.inf else f" and at most {high}"
        raise ValueError(f"{name} must be finite, {noun} {above} {low}{below}, got {value!r}.")


def check_integer(name: str, value: Any, low: int, high: float = math.inf) -> None:
    """Raise a ValueError unless the value is an integer from low to high."""
    check_number(name, value, low, high, integral=True)


def check_integer_or_inf(name: str, value: Any, low: int) -> None:
    """Raise a ValueError unless the value is an integer of at least low, or infinity."""
    if not (isinstance(value, Real) and value == math.inf):
        check_integer(name, value, low)


def check_option(name: str, value: Any, options: Collection[str]) -> None:
    """Raise a ValueError unless the value is one of the names."""
    if not (isinstance(value, str) and value in options):
        raise ValueError(f"{name} must be one of {', '.join(map(repr, options))}, got {value!r}.")


def is_sharp(method: Any) -> bool:
    """Whether the smaller form of a bound is asked for."""
    check_option("method", method, METHODS)
    return bool(method == "sharp")


def checked_numbers(
    name: str,
    value: ArrayLike,
    low: float = -math.inf,
    high: float = math.inf,
    *,
    open_low: bool = False,
    open_high: bool = False,
    or_inf: bool = False,
) -> np.ndarray:
    """A number or an array of numbers as floats; a ValueError unless all are finite and inside."""
    try:
        given = np.asarray(value)
        if given.dtype.kind not in "iufO":  # text, complex, dates, and bools, which are no numbers
            raise TypeError
        numbers = given.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            f"{name} must be a number or an array of numbers, got {value!r}."
        ) from None
    above = numbers > low if open_low else numbers >= low
    below = numbers < high if open_high else numbers <= high
    finite = np.isfinite(numbers) | (or_inf & (numbers == np.inf))
    if not np.all(above & below & finite):
        left = f"{'(' if open_low or low == -math.inf else '['}{low}"
        right = f"{high}{')' if open_high or high == math.inf else ']'}"
        raise ValueError(f"{name} must be finite and in {left}, {right}, got {value!r}.")
    return numbers


def checked_integers(
    name: str,
    value: ArrayLike,
    low: float = -math.inf,
    high: float = math.inf,
    *,
    or_inf: bool = False,
) -> np.ndarray:
    """Whole numbers as floats; a ValueError unless all are whole and from low to high."""
    numbers = checked_numbers(name, value, low, high, or_inf=or_inf)
    if not np.all(numbers == np.floor(numbers)):
        raise ValueError(f"{name} must be an integer or an array of integers, got {value!r}.")
    return numbers


def checked_generator(random_state: Any, name: str = "random_state") -> np.random.RandomState:
    """The generator of an argument; a ValueError that names it."""
    try:
        return check_random_state(random_state)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name}: {error}") from None


def checked_rows(name: str, rows: Any, *, sparse: bool = False) -> Any:
    """A finite array of floats with two dimensions, or a sparse one; a ValueError otherwise."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # of sums, and of long doubles
            return check_array(
                rows, accept_sparse="csr" if sparse else False, dtype=np.float64, input_name=name
            )
    except (TypeError, OverflowError):
        raise ValueError(f"{name} must be an array of numbers with two dimensions.") from None


def as_result(values: ArrayLike) -> Any:
    """A float for numbers, an array for arrays."""
    values = np.asarray(values, dtype=np.float64)
    return values if values.ndim else float(values)


def power_near_largest(rows: Any) -> float:
    """A power of 2 near the largest absolute value: sums of the quotients do not overflow."""
    largest = float(abs(rows).max())
    return power_of_two(largest) if largest < np.inf else 1.0
