"""Rademacher complexities: those of given points, bounds on them, and what they bound.

The empirical complexity of a class on n points is the expectation over independent signs of the
supremum over the class of sum_i sign_i f(x_i) / n, and the complexity its mean over the points
[Shah, §2.4].
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import xlog1py

from sklearn_ensemble_theory._typing import ArrayLike, RandomStateLike

from ._arguments import (
    NORMS,
    as_result,
    check_integer,
    check_number,
    check_option,
    checked_generator,
    checked_numbers,
    checked_rows,
    in_floats,
    is_sharp,
    power_near_largest,
)
from ._concentration import hoeffding_deviation, sub_gaussian_maximum_bound

# All 2^n vectors of signs are enumerated up to this number of points.
MOST_ENUMERATED = 16
# Numbers in the largest array of a chunk of sign vectors.
CHUNK = 1 << 22
# Of an interval, until it is as short as rounding errors.
HALVINGS = 60


def empirical_rademacher_complexity(
    behaviours: ArrayLike,
    *,
    n_draws: int = 10_000,
    random_state: RandomStateLike = None,
    return_std: bool = False,
) -> Any:
    """Empirical Rademacher complexity of finitely many behaviours on given points.

    It is the expectation of max_f (1/n) sum_i e_i f(z_i) over independent signs e_i
    [Shah, eq. (2.8)]: how well some function of the class agrees with random labels. Up to 16
    points it is computed exactly, over all signs. For more points it is the mean over random signs.
    The misclassification losses of classifiers with values -1 and 1 have half their complexity. The
    cost is O(n k) for each draw or vector of signs, with k functions; the memory is bounded.

    Parameters
    ----------
    behaviours : array-like of shape (n_functions, n_points)
        The values (f(z_1), ..., f(z_n)), a row for each function. The values of an infinite class
        may be replaced by those whose convex hull they are in [Shah, lemma 21].
    %(n_draws)s
    %(random_signs)s

    Returns
    -------
    complexity : float
        The complexity, in units of the functions; a simulated mean below 0 is replaced by 0.
    %(std)s

    %(raises)s

    See Also
    --------
    finite_behaviours_rademacher_bound : A bound by the number of behaviours.
    stump_rademacher_complexity : Of decision stumps, without a list of their behaviours.

    Examples
    --------
    Two points that are shattered, and then only two of the four behaviours:

    >>> from sklearn_ensemble_theory.bounds import empirical_rademacher_complexity
    >>> empirical_rademacher_complexity([[-1, -1], [-1, 1], [1, -1], [1, 1]])
    1.0
    >>> empirical_rademacher_complexity([[-1, -1], [1, 1]])
    0.5
    """
    rows = checked_rows("behaviours", behaviours)
    n, scale = rows.shape[1], power_near_largest(rows)

    def supremum(signs: np.ndarray) -> np.ndarray:
        return np.asarray((signs @ (rows / scale).T).max(axis=1) / n * scale)

    return _expected_supremum(supremum, n, len(rows), n_draws, random_state, return_std)


def stump_rademacher_complexity(
    X: ArrayLike,
    *,
    n_draws: int = 10_000,
    random_state: RandomStateLike = None,
    return_std: bool = False,
) -> Any:
    """Empirical Rademacher complexity of decision stumps on given points.

    The stumps are sgn(x_j - a) and sgn(a - x_j), for all features j and thresholds a [Shah, §4.2].
    For each vector of signs the supremum over them is exact: it is the largest absolute value of S
    - 2 C over all cumulative sums C of the signs sorted by a feature, where S is their sum, divided
    by n. It is also the complexity of the convex hull, the votes of stumps with weights of sum at
    most 1 [Shah, lemma 21]. D times it is the complexity of boosted stumps of variation norm at
    most D [Bach, eq. (10.14)]. The cost is O(n p) for each draw, after a sort of each feature.

    Parameters
    ----------
    %(points)s
    %(n_draws)s
    %(random_signs)s

    Returns
    -------
    complexity : float
        The complexity, from 0 to 1.
    %(std)s

    %(raises)s

    See Also
    --------
    behaviours : The list of the behaviours.
    finite_behaviours_rademacher_bound : A bound by their number, with ``method="sharp"``.
    vc_rademacher_bound : A bound for any points, by `stump_vc_dimension`.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import stump_rademacher_complexity
    >>> round(stump_rademacher_complexity([[1.0], [2.0], [3.0], [4.0]]), 4)
    0.75
    """
    X = checked_rows("X", X)
    n = len(X)
    order = np.argsort(X, axis=0, kind="stable")
    columns = []
    for j, rows in enumerate(order.T):
        x = X[rows, j]
        columns.append((rows, np.flatnonzero(np.append(x[1:] > x[:-1], True))))

    def supremum(signs: np.ndarray) -> np.ndarray:
        # A stump is +1 on one side of a cut and -1 on the other: from the sum of the signs at its
        # left, for all cuts of a feature at once. `best` begins with the constant functions.
        total = signs.sum(axis=1)
        best = np.abs(total)
        for rows, ends in columns:
            sums = np.cumsum(signs[:, rows], axis=1)[:, ends]
            best = np.maximum(best, np.abs(total[:, None] - 2 * sums).max(axis=1))
        return np.asarray(best / n)

    return _expected_supremum(supremum, n, n, n_draws, random_state, return_std)


def ball_rademacher_complexity(
    X: ArrayLike,
    radius: float = 1.0,
    *,
    norm: str = "l2",
    n_draws: int = 10_000,
    random_state: RandomStateLike = None,
    return_std: bool = False,
) -> Any:
    """Empirical Rademacher complexity of linear functions of bounded norm on given points.

    The functions are x'beta with a norm of beta of at most lambda. The complexity is (lambda/n) E
    ||sum_i e_i x_i|| in the dual norm: the Euclidean one for the l2 ball [Shah, §3.5], and the
    largest absolute value for the l1 ball, whose 2p vertices attain it [Shah, §3.6]. With the
    outputs of weak learners as columns, that of the l1 ball is the complexity of boosted functions
    of variation norm at most lambda [Bach, eq. (10.14)]. For the l2 norm it is at most lambda
    sqrt(sum_i ||x_i||²) / n, and at least 1 / sqrt(2) of that, by the inequality of Khintchine and
    Kahane. The cost is O(n p) for each draw.

    Parameters
    ----------
    %(points)s
    %(radius_of_a_ball)s
    %(norm)s
    %(n_draws)s
    %(random_signs)s

    Returns
    -------
    complexity : float
        The complexity, in units of x'beta.
    %(std)s

    %(raises)s

    See Also
    --------
    ball_rademacher_bound : A bound that needs no points.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import ball_rademacher_complexity
    >>> X = [[1.0, 2.0], [1.0, 0.0]]
    >>> ball_rademacher_complexity(X, radius=3.0, norm="l1")
    3.0
    >>> round(ball_rademacher_complexity(X, radius=3.0), 4)
    3.6213
    """
    X = checked_rows("X", X)
    check_number("radius", radius, 0)
    check_option("norm", norm, NORMS)
    (n, p), scale, dual_norm = X.shape, power_near_largest(X), 2 if norm == "l2" else np.inf

    def supremum(signs: np.ndarray) -> np.ndarray:
        norms = np.linalg.norm(signs @ (X / scale), dual_norm, axis=1)
        with np.errstate(over="ignore"):
            return np.asarray(norms / n * scale * radius)

    return _expected_supremum(supremum, n, p, n_draws, random_state, return_std)


def _expected_supremum(
    supremum: Callable[[np.ndarray], np.ndarray],
    n: int,
    width: int,
    n_draws: int,
    random_state: RandomStateLike,
    return_std: bool,
) -> Any:
    """The mean of a function of n independent signs, for rows of signs; with its standard error.

    `width` is the number of columns of the largest array that the function makes.
    """
    check_integer("n_draws", n_draws, 2)
    rng = checked_generator(random_state)
    exact = n <= MOST_ENUMERATED
    n_rows = 2**n if exact else n_draws
    size = max(1, CHUNK // max(n, width))
    values = []
    for start in range(0, n_rows, size):
        stop = min(start + size, n_rows)
        if exact:  # the binary digits of 0, 1, ..., 2^n - 1
            bits = np.arange(start, stop)[:, None] >> np.arange(n) & 1
        else:
            bits = rng.randint(0, 2, (stop - start, n))
        values.append(supremum(2.0 * bits - 1.0))
    found = np.concatenate(values)
    if np.isinf(found).any():
        return (np.inf, np.inf) if return_std else np.inf
    scale = power_near_largest(found)
    # Rounding, or the draws, may leave a mean below 0.
    mean = max(0.0, float((found / scale).mean() * scale))
    std = 0.0 if exact else float((found / scale).std(ddof=1) * scale / np.sqrt(n_rows))
    return (mean, std) if return_std else mean


@in_floats
def finite_behaviours_rademacher_bound(
    n_samples: ArrayLike,
    log_n_behaviours: ArrayLike,
    value_bound: ArrayLike = 1.0,
    *,
    method: str = "source",
) -> float | np.ndarray:
    """Bound on the empirical Rademacher complexity by the number of behaviours.

    It is B sqrt(2 log(N) / n) for N behaviours on n points with values of at most B in absolute
    value [Shah, lemma 12]. All parameters broadcast. For misclassification losses, 0 and 1, the
    bound holds with B = 1/2: subtracting 1/2 from all of them does not change the complexity.

    ``method="sharp"`` is B times the smaller one of sqrt((N - 1) / n) and of the x in [0, 1] with

        ((1 + x) ln(1 + x) + (1 - x) ln(1 - x)) / 2 = ln(N) / n,

    which is 1 from N = 2^n on. It uses the moment generating function of signs, cosh^n, instead of
    a bound on it as in the source. It equals the complexity for two opposite points, n = 1, and for
    all 2^n behaviours. As ln cosh is a concave function of the square, a root mean square of B is
    enough here as well. The other number is from `sub_gaussian_maximum_bound`.

    %(of_points)s
    log_n_behaviours : float or array-like
        Natural logarithm of the number N, at least 0.
    value_bound : float or array-like, default=1.0
        Bound B on the absolute values, or on the root mean squares of all behaviours, at least 0.
    %(method)s

    Returns
    -------
    bound : float or ndarray
        The bound, in units of the values; at most B.

    %(raises)s

    See Also
    --------
    shattering_coefficient : The number.
    sauer_shelah_bound : A bound on the number.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_ensemble_theory.bounds import finite_behaviours_rademacher_bound
    >>> round(finite_behaviours_rademacher_bound(1_000, np.log(2_000)), 4)
    0.1233

    A hundred behaviours of ten points:

    >>> n, log_N = 10, np.log(100)
    >>> round(finite_behaviours_rademacher_bound(n, log_N), 4)
    0.9597
    >>> round(finite_behaviours_rademacher_bound(n, log_N, method="sharp"), 4)
    0.8759
    """
    n = checked_numbers("n_samples", n_samples, 1)
    log_n_behaviours = checked_numbers("log_n_behaviours", log_n_behaviours, 0)
    B = checked_numbers("value_bound", value_bound, 0)
    return as_result(B * _of_finitely_many(log_n_behaviours, n, method))


@in_floats
def rademacher_contraction_bound(complexity: ArrayLike, lipschitz: ArrayLike) -> float | np.ndarray:
    """Bound on the Rademacher complexity of losses by that of the functions.

    The losses are phi(y h(x)), with labels -1 and 1, |h| <= r and a Lipschitz constant L of phi on
    [-r, r]. On any points, the complexity of the losses is at most L times the complexity of the
    functions [Shah, lemma 19]. Parameters broadcast.

    Parameters
    ----------
    complexity : float or array-like
        Rademacher complexity of the functions, empirical or expected, at least 0.
    lipschitz : float or array-like
        Lipschitz constant L, at least 0.

    Returns
    -------
    bound : float or ndarray
        The bound, in units of the loss. It is attained by a linear phi.

    %(raises)s

    See Also
    --------
    rademacher_excess_risk_bound : What follows for the excess risk.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import rademacher_contraction_bound
    >>> rademacher_contraction_bound(0.1, lipschitz=2.0)
    0.2
    """
    complexity = checked_numbers("complexity", complexity, 0)
    return as_result(complexity * checked_numbers("lipschitz", lipschitz, 0))


@in_floats
def rademacher_union_bound(
    complexities: ArrayLike,
    n_samples: ArrayLike,
    value_bound: ArrayLike = 1.0,
    *,
    method: str = "source",
) -> float | np.ndarray:
    """Bound on the Rademacher complexity of a union of classes.

    For m classes of functions with values in [0, M], or in [-M, M], it is max_j R_n(F_j) + M sqrt(2
    log(m) / n) [Shah, §2.4], for empirical and for expected complexities. Each supremum changes by
    at most 2 M / n with one point and its sign. It is therefore sub-Gaussian with parameter M /
    sqrt(n), and `sub_gaussian_maximum_bound` bounds the largest deviation. With ``method="sharp"``
    the smaller form of that bound is used, for m = 2 and m = 3. For values in [0, M], pass M/2:
    subtracting M/2 from all functions does not change a complexity.

    Parameters
    ----------
    complexities : array-like of shape (..., m)
        Rademacher complexities R_n(F_j) of the classes, at least 0; the maximum is over the last
        axis.
    n_samples : int or array-like
        Number n of points, at least 1. It broadcasts against the maxima.
    value_bound : float or array-like, default=1.0
        Bound M on the absolute values of the functions, at least 0.
    %(method)s

    Returns
    -------
    bound : float or ndarray
        The bound, in units of the functions; at most M.

    %(raises)s

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import rademacher_union_bound
    >>> round(rademacher_union_bound([0.05, 0.07], 10_000), 4)
    0.0818
    >>> round(rademacher_union_bound([0.05, 0.07], 10_000, method="sharp"), 4)
    0.08
    """
    complexities = checked_numbers("complexities", complexities, 0)
    if not complexities.ndim or not complexities.size:
        raise ValueError("complexities must have a last axis with at least one number.")
    n = checked_numbers("n_samples", n_samples, 1)
    M = checked_numbers("value_bound", value_bound, 0)
    m = complexities.shape[-1]
    largest = sub_gaussian_maximum_bound(m, M / np.sqrt(n), method=method)
    return as_result(np.minimum(complexities.max(axis=-1) + largest, M))


@in_floats
def distance_features_rademacher_bound(
    n_samples: ArrayLike,
    diameter: ArrayLike,
    cover_radius: ArrayLike,
    log_covering_number: ArrayLike,
    *,
    lipschitz: ArrayLike = 1.0,
    value_bound: ArrayLike | None = None,
    method: str = "source",
) -> float | np.ndarray:
    """Bound on the Rademacher complexity of functions of the distance to a point.

    In a metric space of diameter D the functions are sigma(d(x, w)) for all points w of the space
    and one sigma with Lipschitz constant L on [0, D]. If N of them, the centres, are such that
    every point of the space is within r of a centre, the complexity is at most

        L r + (L D / 2) sqrt(2 log(N) / n),

    a solution of [Bach, exercise 10.7]. For the functions sigma(d(x, w)) and -sigma(d(x, w)), if
    |sigma| <= B, it is at most L r + B sqrt(2 log(2N) / n). All parameters broadcast; each r gives
    a bound, and the smallest one can be taken. With the centre nearest to w in the place of w the
    functions change by at most L r. The values of the N functions are in an interval of length L D.
    Its middle can be subtracted from all of them, because signs have mean 0; the rest is [Shah,
    lemma 12]. For functions of both signs the middle cannot be subtracted. ``method="sharp"`` takes
    `finite_behaviours_rademacher_bound` with this method for the N.

    %(of_points)s
    diameter : float or array-like
        Diameter D, at least 0.
    cover_radius : float or array-like
        Radius r of the balls, at least 0.
    log_covering_number : float or array-like
        Natural logarithm of the number N of balls of radius r that cover the space, at least 0. A
        set of diameter D in Euclidean space of dimension d has N <= (1 + 2 D / r)^d; a finite space
        of m points has N = m for r = 0.
    lipschitz : float or array-like, default=1.0
        Lipschitz constant L, at least 0.
    value_bound : float or array-like, default=None
        Bound B on the absolute values of sigma, at least 0. If it is given, the bound is that for
        the functions of both signs, as for weak learners.
    %(method)s

    Returns
    -------
    bound : float or ndarray
        The bound, in units of sigma; at most L D / 2, or B.

    %(raises)s

    See Also
    --------
    greedy_boosting_risk_bound : What the complexity bounds.

    Examples
    --------
    The unit square:

    >>> import numpy as np
    >>> from sklearn_ensemble_theory.bounds import distance_features_rademacher_bound
    >>> r, D = np.geomspace(1e-3, 1, 100), np.sqrt(2)
    >>> bound = distance_features_rademacher_bound(10_000, D, r, 2 * np.log1p(2 * D / r))
    >>> round(float(bound.min()), 3)
    0.04
    >>> few = dict(n_samples=20, diameter=1.0, cover_radius=0.1, log_covering_number=np.log(50))
    >>> [round(distance_features_rademacher_bound(**few, method=m), 3) for m in ("source", "sharp")]
    [0.413, 0.402]
    """
    n = checked_numbers("n_samples", n_samples, 1)
    D = checked_numbers("diameter", diameter, 0)
    r = checked_numbers("cover_radius", cover_radius, 0)
    log_number = checked_numbers("log_covering_number", log_covering_number, 0)
    L = checked_numbers("lipschitz", lipschitz, 0)
    if value_bound is None:
        bound = L * (r + D / 2 * _of_finitely_many(log_number, n, method))
        return as_result(np.minimum(bound, L * D / 2))
    B = checked_numbers("value_bound", value_bound, 0)
    bound = L * r + B * _of_finitely_many(log_number + np.log(2), n, method)
    return as_result(np.minimum(bound, B))


@in_floats
def symmetrization_bound(complexity: ArrayLike) -> float | np.ndarray:
    """Bound on the expected largest deviation of means from expectations over a class.

    The expectation of sup_f (1/n) sum_i (f(Z_i) - E f(Z_i)) is at most 2 R_n(F), twice the
    Rademacher complexity, for independent Z_i of one distribution [Shah, theorem 10].

    Parameters
    ----------
    complexity : float or array-like
        Rademacher complexity R_n(F), at least 0: the expectation over the Z_i of
        `empirical_rademacher_complexity`.

    %(bound_in_functions)s

    See Also
    --------
    uniform_deviation_bound : A bound that holds with a given probability.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import symmetrization_bound
    >>> symmetrization_bound(0.1)
    0.2
    """
    return as_result(2 * checked_numbers("complexity", complexity, 0))


@in_floats
def uniform_deviation_bound(
    complexity: ArrayLike,
    n_samples: ArrayLike,
    delta: ArrayLike = 0.05,
    *,
    loss_bound: ArrayLike = 1.0,
    empirical: bool = False,
    method: str = "source",
) -> float | np.ndarray:
    """Bound on risk minus empirical risk, for all functions of a class at once.

    For losses in [0, M] and n independent rows, with probability at least 1 - delta,

        sup_h {R(h) - empirical R(h)} <= 2 R_n(F) + M sqrt(log(1/delta) / (2n)),

    by [Shah, theorem 10] and the bounded differences inequality [Shah, theorem 7]. With the
    empirical complexity, which the rows themselves give, the second term is 3 M sqrt(log(2/delta) /
    (2n)). All parameters broadcast. The empirical complexity itself has bounded differences M/n. It
    is therefore above R_n(F) - M sqrt(log(2/delta) / (2n)) with probability 1 - delta/2.

    With ``method="sharp"`` the deviation is `mcdiarmid_deviation` with this method. The deviation
    of the empirical complexity has delta instead of delta/2. The supremum minus twice the empirical
    complexity has an expectation of at most 0 and bounded differences 3 M/n, so one inequality is
    enough for both.

    Parameters
    ----------
    complexity : float or array-like
        Rademacher complexity of the losses, at least 0.
    %(n_points)s
    %(deltas)s
    loss_bound : float or array-like, default=1.0
        Bound M on the loss, at least 0.
    empirical : bool, default=False
        Whether `complexity` is the empirical one, of the losses on the same rows.
    %(method)s

    %(bound_at_most_M)s

    See Also
    --------
    rademacher_excess_risk_bound : The same for the excess risk of the minimiser.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import uniform_deviation_bound
    >>> round(uniform_deviation_bound(0.02, 10_000), 4)
    0.0522
    >>> [round(uniform_deviation_bound(0.02, 10_000, empirical=True, method=m), 4)
    ...  for m in ("source", "sharp")]
    [0.0807, 0.0767]
    """
    complexity = checked_numbers("complexity", complexity, 0)
    n = checked_numbers("n_samples", n_samples, 1)
    delta = checked_numbers("delta", delta, 0, 1, open_low=True)
    M = checked_numbers("loss_bound", loss_bound, 0)
    times, events = (3, 2) if empirical else (1, 1)
    if is_sharp(method):
        deviation = times * np.asarray(hoeffding_deviation(n, delta, method=method)) * M
    else:
        deviation = times * M * np.sqrt((np.log(events) - np.log(delta)) / (2 * n))
    return as_result(np.minimum(2 * complexity + deviation, M))


@in_floats
def rademacher_excess_risk_bound(
    complexity: ArrayLike,
    n_samples: ArrayLike,
    delta: ArrayLike = 0.05,
    *,
    loss_bound: ArrayLike = 1.0,
    lipschitz: ArrayLike = 1.0,
    method: str = "source",
) -> float | np.ndarray:
    """Bound on the excess risk of empirical risk minimisation by the Rademacher complexity.

    The losses are in [0, M], and the n rows are independent. With probability at least 1 - delta,
    the risk of the function with the least empirical risk exceeds the least risk of the class by at
    most

        2 L R_n + M sqrt(2 log(2/delta) / n)

    where R_n is the Rademacher complexity of the losses and L = 1 [Shah, theorem 11], or that of
    the functions h and L a Lipschitz constant of phi, for losses phi(y h(x))
    [Shah, corollary 20]. All parameters broadcast.

    ``method="sharp"`` has log(1/delta), or what `mcdiarmid_deviation` with this method makes of it,
    in the place of log(2/delta). The source bounds the supremum and the empirical risk of the best
    function h* one after the other. But the supremum of R(h) - R(h*) minus the difference of the
    empirical risks has one expectation, at most 2 L R_n, and the bounded differences 2 M/n.

    Parameters
    ----------
    complexity : float or array-like
        Rademacher complexity, at least 0.
    %(n_points)s
    %(deltas)s
    loss_bound : float or array-like, default=1.0
        Bound M on the loss, at least 0: phi(-r) for a phi that does not increase and |h| <= r.
    lipschitz : float or array-like, default=1.0
        Lipschitz constant L of phi on [-r, r], at least 0.
    %(method)s

    %(bound_at_most_M)s

    See Also
    --------
    finite_class_bound : For finitely many functions.
    ball_excess_risk_bound : For linear functions.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import rademacher_excess_risk_bound
    >>> round(rademacher_excess_risk_bound(0.02, 10_000), 4)
    0.0672
    >>> round(rademacher_excess_risk_bound(0.02, 10_000, method="sharp"), 4)
    0.0645
    """
    complexity = checked_numbers("complexity", complexity, 0)
    n = checked_numbers("n_samples", n_samples, 1)
    delta = checked_numbers("delta", delta, 0, 1, open_low=True)
    M = checked_numbers("loss_bound", loss_bound, 0)
    L = checked_numbers("lipschitz", lipschitz, 0)
    if is_sharp(method):
        deviation = 2 * np.asarray(hoeffding_deviation(n, delta, method=method)) * M
    else:
        deviation = M * np.sqrt(2 * (np.log(2) - np.log(delta)) / n)
    return as_result(np.minimum(2 * L * complexity + deviation, M))


def _of_finitely_many(log_number: np.ndarray, n: np.ndarray, method: str) -> np.ndarray:
    """The largest complexity of exp(log_number) behaviours on n points, of root mean squares 1."""
    log_mean = log_number / n
    low, high = np.zeros(log_mean.shape), np.minimum(np.sqrt(2 * log_mean), 1.0)
    if not is_sharp(method):
        return np.asarray(high)
    # ((1 + x) log(1 + x) + (1 - x) log(1 - x)) / 2, the divergence of a sign of mean x from a fair
    # one, is at least x²/2.
    for _ in range(HALVINGS):
        x = (low + high) / 2
        is_below = (xlog1py(1 + x, x) + xlog1py(1 - x, -x)) / 2 < log_mean
        low, high = np.where(is_below, x, low), np.where(is_below, high, x)
    return np.asarray(np.minimum(high, np.sqrt(np.expm1(log_number) / n)))
