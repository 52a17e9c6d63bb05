"""Least squares after random projections of the rows or of the variables, and distances.

Sketches of the rows [Bach, §10.2.1] have an exact risk. For projections of the variables
[Bach, §10.2.2] bounds follow from two moments of the projection, which are exact for Gaussian and
coordinate projections. Last the lemma of Johnson and Lindenstrauss [Bach, lemma 10.1].
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh
from scipy.special import chdtr, chdtrc, xlog1py
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_consistent_length

from sklearn_ensemble_theory._typing import ArrayLike, MatrixLike

from ._arguments import (
    as_result,
    check_integer,
    check_integer_or_inf,
    check_number,
    check_option,
    checked_integers,
    checked_numbers,
    checked_rows,
    in_floats,
    is_sharp,
    power_near_largest,
)

PROJECTIONS = ("gaussian", "coordinate")


def gaussian_sketch_risk(
    n_samples: int,
    n_features: int,
    sketch_size: int,
    n_estimators: int | float = 1,
    noise_variance: float = 1.0,
) -> float:
    """Expected excess risk of averaged least squares on Gaussian sketches, exactly.

    The risk is sigma^2 d/n + sigma^2 d (n-d) / (n m (s-d-1)), for y = X w + noise with n fixed rows
    of rank d and no intercept. It is the risk of the average of m least-squares fits to S X and S
    y, where S has s rows of independent normal elements. It is the mean squared error of the
    predictions of these n rows. From [Bach, §10.2.1]. It is at most twice the risk of least
    squares, sigma^2 d/n, from m = (n-d) / (s-d-1) sketches on.

    %(of_n_samples)s
    %(rank)s
    sketch_size : int
        Number s of rows of a sketch, at least d.
    n_estimators : int or inf, default=1
        Number m of sketches; inf is the limit.
    %(noise_variance)s

    Returns
    -------
    risk : float
        In units of y squared; inf for s = d and s = d + 1 if d < n.

    %(raises)s

    See Also
    --------
    gaussian_sketch_n_estimators : The number of sketches for a risk near that of least squares.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import gaussian_sketch_risk
    >>> gaussian_sketch_risk(1000, 10, 101, n_estimators=11)
    0.02
    """
    check_integer("n_samples", n_samples, 1)
    check_integer("n_features", n_features, 1, n_samples)
    check_integer("sketch_size", sketch_size, n_features)
    check_integer_or_inf("n_estimators", n_estimators, 1)
    check_number("noise_variance", noise_variance, 0)
    n, d, s = n_samples, n_features, sketch_size
    least_squares = noise_variance * d / n
    if n == d or noise_variance == 0:
        return float(least_squares)
    if s <= d + 1:
        return math.inf
    return float(least_squares * (1 + (n - d) / (n_estimators * (s - d - 1))))


def gaussian_sketch_n_estimators(
    n_samples: int, n_features: int, sketch_size: int, excess: float = 1.0
) -> int:
    """Smallest number of Gaussian sketches with a risk near that of least squares.

    The smallest m for which :func:`~sklearn_ensemble_theory.bounds.gaussian_sketch_risk` is at most
    1 + `excess` times the risk of least squares, sigma^2 d/n: (n-d) / (excess (s-d-1)), rounded up.
    From [Bach, §10.2.1] has m = (n-d) / (s-d-1), about n/s, for a factor of 2.

    %(of_n_samples)s
    %(rank)s
    sketch_size : int
        Number s of rows of a sketch, at least d + 2, or d where n = d.
    excess : float, default=1.0
        Relative excess over the risk of least squares, positive. With 1 the risk is at most twice
        that of least squares.

    Returns
    -------
    n_estimators : int
        m, at least 1.

    Raises
    ------
    ValueError
        If a parameter is outside its range; for s = d and s = d + 1 < n + 1 the risk is infinite
        for every m.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import gaussian_sketch_n_estimators
    >>> gaussian_sketch_n_estimators(1000, 10, 101)
    11
    """
    check_integer("n_samples", n_samples, 1)
    check_integer("n_features", n_features, 1, n_samples)
    check_number("excess", excess, 0, open_low=True)
    if n_samples == n_features:  # every fit is through all rows
        check_integer("sketch_size", sketch_size, n_features)
        return 1
    check_integer("sketch_size", sketch_size, n_features + 2)
    needed = (n_samples - n_features) / (sketch_size - n_features - 1) / float(excess)
    if needed == math.inf:
        raise ValueError(f"excess is too small, got {excess!r}.")
    # 90 / 9 / 0.1 may be above 100 by rounding only.
    return max(1, math.ceil(needed * (1 - 1e-12)))


@in_floats
def projection_risk_bound(
    n_samples: float,
    n_components: int,
    size: float,
    squared_norm: float,
    noise_variance: float = 1.0,
    *,
    projection: str = "gaussian",
    method: str = "source",
) -> float:
    """Bound on the excess risk of averaged least squares on random projections of the variables.

    Let y = Phi theta + noise be fitted by least squares on the s columns of Phi S. For any number
    of averaged projections, the expected mean squared error of the fitted values is at most

        sigma^2 s/n + (2/n) `size` ||theta||^2 / (s + 1)   for independent standard Gaussian S,
        sigma^2 s/n + `size` ||theta||^2 / (n s)           for s variables drawn at random.

    ``method="sharp"`` has 2 / (s + 2) in the place of 2 / (s + 1), and 1 / (sqrt(s) + 1)^2 in the
    place of 1/s: the largest values of `projection_bias_bound` over all Phi and theta.

    Parameters
    ----------
    %(n_projected_rows)s
    n_components : int
        Number s of projected variables, or of variables drawn, at least 1.
    size : float
        For "gaussian" it is the sum of squares of Phi, tr(Phi'Phi) = tr(K) with the kernel matrix K
        = Phi Phi'. For "coordinate" it is d max_j ||Phi_j||^2, the number of variables times the
        largest sum of squares of one variable.
    squared_norm : float
        ||theta||^2; for kernels, f'K^{-1}f with the means f of the targets.
    %(noise_variance)s
    %(projection)s
    %(method)s

    %(bound_in_squares)s

    See Also
    --------
    projection_bias_bound : A bound that needs the moments of the projection.
    random_features_bound : For random features of a kernel.

    Notes
    -----
    "gaussian": [Bach, eq. (10.1)], in the fixed design, and the bound for features drawn from
    N(0, K) [Bach, §10.2.2]. For entries of S of mean 0, variance 1 and fourth moment q instead
    of 3, the bound holds with `size` tr(Phi'Phi) + max(q - 3, 0) max_j ||Phi_j||^2.

    "coordinate": [Bach, exercise 10.4], for draws with replacement; draws without replacement span
    at least as much. A direction of eigenvalue a `size` has a bias of at most
    `size` a (1 - a) / (1 + (s-1) a) <= `size` / s, by `projection_moments`, which is largest at
    a = 1 / (sqrt(s) + 1). For "gaussian" it is `size` a (1 + a) / (1 + (s+1) a), largest at a = 1.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import projection_risk_bound
    >>> round(projection_risk_bound(100, 19, size=100.0, squared_norm=1.0), 4)
    0.29
    >>> round(projection_risk_bound(100, 20, 100.0, 1.0, projection="coordinate"), 4)
    0.25
    >>> sharp = projection_risk_bound(
    ...     100, 20, 100.0, 1.0, projection="coordinate", method="sharp"
    ... )
    >>> round(sharp, 4)
    0.2334
    """
    _check_risk(n_samples, n_components, squared_norm, noise_variance)
    check_number("size", size, 0)
    check_option("projection", projection, PROJECTIONS)
    noise = noise_variance * n_components / n_samples
    if projection == "gaussian":
        share = 2 / (n_components + 1 + is_sharp(method))
    else:
        share = _largest_bias(n_components, method)
    return float(noise + size * squared_norm / n_samples * share)


@in_floats
def random_features_bound(
    n_samples: float,
    n_components: int,
    squared_radius: float,
    squared_norm: float,
    noise_variance: float = 1.0,
    *,
    method: str = "source",
) -> float:
    """Bound on the excess risk of averaged least squares on random features of a kernel.

    sigma^2 s/n + R^2 f'K^{-1}f / s, for s features phi(x, v) with independent v,
    E[phi(x, v) phi(x', v)] = k(x, x') and |phi| <= R. From [Bach, §10.2.2]; the factor printed
    there, 2 R^2 / (n (s+1)), is too small by about n/2. ``method="sharp"`` has (sqrt(s) + 1)^2 in
    the place of s. With `random_features_moment_bound`, a direction in which K has the share a of
    its largest possible eigenvalue n R^2 has a bias of R^2 a (1 - a) / (1 + (s-1) a).

    %(of_n_samples)s
    %(n_random_features)s
    squared_radius : float
        R^2, the largest square of a feature at the rows; the largest mean square over the rows is
        enough.
    squared_norm : float
        f'K^{-1}f, with the means f of the targets and the kernel matrix K at the rows.
    %(noise_variance)s
    %(method)s

    %(bound_in_squares)s

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import random_features_bound
    >>> round(random_features_bound(100, 20, squared_radius=2.0, squared_norm=1.0), 4)
    0.3
    >>> round(random_features_bound(100, 20, 2.0, 1.0, method="sharp"), 4)
    0.2668
    """
    _check_risk(n_samples, n_components, squared_norm, noise_variance)
    check_number("squared_radius", squared_radius, 0)
    noise = noise_variance * n_components / n_samples
    return float(noise + squared_radius * squared_norm * _largest_bias(n_components, method))


def _largest_bias(n_components: int, method: str) -> float:
    """1/s, or the largest a (1 - a) / (1 + (s - 1) a) over a."""
    return 1 / ((math.sqrt(n_components) + 1) ** 2 if is_sharp(method) else n_components)


def _check_risk(
    n_samples: float, n_components: int, squared_norm: float, noise_variance: float
) -> None:
    check_number("n_samples", n_samples, 0, open_low=True)
    check_integer("n_components", n_components, 1)
    check_number("squared_norm", squared_norm, 0)
    check_number("noise_variance", noise_variance, 0)


@in_floats
def projection_moments(
    gram: ArrayLike, n_components: int, *, projection: str = "gaussian"
) -> tuple[np.ndarray, np.ndarray]:
    """First and second moment of a random d x s projection S of the variables, exactly.

    For independent standard Gaussian entries

        E[S S'] = s I,   E[S S' G S S'] = s (s+1) G + s tr(G) I,

    and for columns that are independent draws from the d canonical basis vectors

        E[S S'] = (s/d) I,   E[S S' G S S'] = s (s-1)/d^2 G + (s/d) diag(G).

    From [Bach, §10.2.2] and [Bach, exercise 10.4]: two different columns of S are independent, and
    one column e_j has e_j e_j' G e_j e_j' = G_jj e_j e_j'. O(d^2).

    %(of_Phi)s
    n_components : int
        Number s of projected variables, or of variables drawn with replacement, at least 1.
    %(projection)s

    Returns
    -------
    first, second : ndarray of shape (n_features, n_features)
        E[S S'] and E[S S' G S S'].

    %(raises)s

    See Also
    --------
    projection_bias_bound : The bound on the bias that follows.
    projection_risk_bound : A bound on the risk that needs a single number of G.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import projection_moments
    >>> first, second = projection_moments([[2.0, 1.0], [1.0, 3.0]], 2)
    >>> second
    array([[22.,  6.],
           [ 6., 28.]])
    """
    G = _checked_symmetric("gram", gram)
    check_integer("n_components", n_components, 1)
    check_option("projection", projection, PROJECTIONS)
    s, d, eye = n_components, len(G), np.eye(len(G))
    if projection == "gaussian":
        return s * eye, s * (s + 1) * G + s * np.trace(G) * eye
    return s / d * eye, s * (s - 1) / d**2 * G + s / d * np.diag(np.diag(G))


@in_floats
def random_features_moment_bound(
    kernel: ArrayLike, n_components: int, squared_radius: float
) -> np.ndarray:
    """Bound on the second moment of random features: s (s-1) K^2 + n s R^2 K.

    Let P be an n x s matrix of s independent features of a kernel at n rows, with E[P P'] = s K and
    elements of at most R in absolute value. E[P P' P P'] is at most this in the order of symmetric
    matrices: the difference has no negative eigenvalue. From [Bach, §10.2.2], with K^2 where K is
    printed. O(n^3).

    Parameters
    ----------
    kernel : array-like of shape (n_samples, n_samples)
        The kernel matrix K at the rows, symmetric.
    %(n_random_features)s
    squared_radius : float
        R^2, the largest square of a feature.

    Returns
    -------
    bound : ndarray of shape (n_samples, n_samples)
        The matrix. It is the moment itself if every feature has the absolute value R everywhere.

    %(raises)s

    See Also
    --------
    random_features_bound : The bound on the risk that follows.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import random_features_moment_bound
    >>> random_features_moment_bound([[1.0, 0.5], [0.5, 1.0]], 2, squared_radius=1.0)
    array([[6.5, 4. ],
           [4. , 6.5]])
    """
    K = _checked_symmetric("kernel", kernel)
    check_integer("n_components", n_components, 1)
    check_number("squared_radius", squared_radius, 0)
    s = n_components
    return np.asarray(s * (s - 1) * K @ K + len(K) * s * squared_radius * K)


@in_floats
def projection_bias_bound(
    gram: ArrayLike,
    coefficients: ArrayLike,
    first: ArrayLike,
    second: ArrayLike,
    n_samples: int,
) -> float:
    """Bound on the bias of averaged least squares on random projections, from two moments.

    (1/n) (theta' G theta - theta' G A B^{-1} A G theta) with A = E[S S'] and B = E[S S' G S S'].
    With the noise sigma^2 s/n it bounds the expected mean squared error of the fitted values, for
    any number of averaged projections. From [Bach, §10.2.2]; the bound of [Bach, eq. (10.1)]
    follows from it. O(d^3).

    %(of_Phi)s
    coefficients : array-like of shape (n_features,)
        theta; Phi theta are the means of the targets.
    first : array-like of shape (n_features, n_features)
        A = E[S S'], symmetric.
    second : array-like of shape (n_features, n_features)
        B = E[S S' G S S'], symmetric and without negative eigenvalues.
    %(n_samples)s

    Returns
    -------
    bound : float
        In units of y squared.

    %(raises)s

    See Also
    --------
    projection_moments : The moments.
    projection_risk_bound : A bound that needs the trace of G and the norm of theta only.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import projection_bias_bound, projection_moments
    >>> gram = [[4.0, 0.0], [0.0, 1.0]]
    >>> round(projection_bias_bound(gram, [1, 1], *projection_moments(gram, 3), 10), 4)
    0.2381
    """
    G = _checked_symmetric("gram", gram)
    A, B = _checked_symmetric("first", first), _checked_symmetric("second", second)
    theta = checked_numbers("coefficients", coefficients)
    check_integer("n_samples", n_samples, 1)
    for name, found, shape in (
        ("first", A.shape, G.shape),
        ("second", B.shape, G.shape),
        ("coefficients", theta.shape, G.shape[:1]),
    ):
        if found != shape:
            raise ValueError(f"{name} must have the shape {shape}, got {found}.")
    mean = G @ theta
    eigenvalues, vectors = eigh(B)
    # Directions that no projection contains have the eigenvalue 0, and explain nothing.
    kept = eigenvalues > len(B) * np.finfo(float).eps * max(eigenvalues[-1], 0.0)
    explained = np.sum((vectors.T @ (A @ mean))[kept] ** 2 / eigenvalues[kept])
    return max(0.0, float(theta @ mean - explained)) / n_samples


@in_floats
def averaged_projection_risk(
    projection: ArrayLike,
    mean: ArrayLike,
    n_estimators: ArrayLike = 1,
    noise_variance: ArrayLike = 1.0,
) -> float | np.ndarray:
    """Expected excess risk of averaged least squares on random projections, exactly.

    The risk is (sigma^2/n) (1 - 1/m) tr(D^2) + sigma^2 tr(D) / (n m) + (1/n) f'(I - D - (1 - 1/m)
    (D - D^2)) f for m independent members. Each member maps targets to fitted values by a random
    orthogonal projection with the expectation D. It is the mean squared error at the n rows. From
    [Bach, §10.2.2]. It decreases with m, and at m = 1 it is sigma^2 s/n + f'(I - D) f / n. O(n^2),
    and O(n^3) for the eigenvalues of D.

    Parameters
    ----------
    projection : array-like of shape (n_samples, n_samples)
        D, symmetric with eigenvalues in [0, 1]; its trace is the expected dimension, s.
    mean : array-like of shape (n_samples,)
        The means f of the targets.
    n_estimators : int, array-like of int or inf, default=1
        Number m of projections; inf is the limit.
    %(noise_variances)s

    Returns
    -------
    risk : float or ndarray of float
        In units of y squared; of the shape to which the last two arguments are broadcast.

    %(raises)s

    See Also
    --------
    sklearn_ensemble_theory.RandomProjectionRegressor.expected_projection : An estimate of D.

    Examples
    --------
    One of two variables, each with probability 1/2, in a design of orthogonal columns:

    >>> from sklearn_ensemble_theory.bounds import averaged_projection_risk
    >>> averaged_projection_risk([[0.5, 0.0], [0.0, 0.5]], [1.0, 1.0], [1, 2, 10]).round(3)
    array([1.  , 0.75, 0.55])
    """
    D = _checked_symmetric("projection", projection)
    f = checked_numbers("mean", mean)
    if f.shape != D.shape[:1]:
        raise ValueError(f"mean must have the shape {D.shape[:1]}, got {f.shape}.")
    m = checked_integers("n_estimators", n_estimators, 1, or_inf=True)
    variance = checked_numbers("noise_variance", noise_variance, 0)
    eigenvalues = eigh(D, eigvals_only=True)
    if eigenvalues[0] < -1e-8 or eigenvalues[-1] > 1 + 1e-8:
        raise ValueError(
            "projection must have eigenvalues in [0, 1], got values from "
            f"{eigenvalues[0]:.6g} to {eigenvalues[-1]:.6g}."
        )
    n, fitted, squares = len(D), D @ f, np.sum(D**2)
    # The risk of the mean projection, and what the draws of m projections add to it.
    limit = variance * squares + np.sum((f - fitted) ** 2)
    drawn = variance * (np.trace(D) - squares) + f @ fitted - fitted @ fitted
    return as_result((limit + drawn / m) / n)


def _checked_symmetric(name: str, value: ArrayLike) -> np.ndarray:
    """A symmetric matrix of finite numbers; a ValueError otherwise."""
    matrix = checked_numbers(name, value)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size:
        raise ValueError(f"{name} must be a square matrix, got an array of shape {matrix.shape}.")
    if not np.allclose(matrix, matrix.T, rtol=1e-8, atol=1e-12 * np.abs(matrix).max()):
        raise ValueError(f"{name} must be symmetric.")
    return matrix


@in_floats
def johnson_lindenstrauss_dimension(
    n_samples: int, eps: float = 0.1, delta: float = 0.05, *, method: str = "source"
) -> int:
    """Dimension in which a Gaussian projection keeps all distances between n points.

    For a d x s matrix S of independent standard Gaussian variables and

        s >= (6 / eps^2) log(n^2 / delta),

    all squared distances between the points S'x / sqrt(s) are within the factors 1 - eps and 1 +
    eps of those between the points x, with probability at least 1 - delta. From [Bach, lemma 10.1].
    :func:`sklearn.random_projection.johnson_lindenstrauss_min_dim` has no `delta`: its 4 log(n) /
    (eps^2/2 - eps^3/3) is the dimension for a probability of about 1/n. ``method="sharp"`` is an s
    for which the sharp form of `johnson_lindenstrauss_tail_bound` is at most delta, and for s - 1
    is not.

    Parameters
    ----------
    n_samples : int
        Number n of points.
    eps : float, default=0.1
        Largest relative error of a squared distance, above 0 and below 1/2.
    delta : float, default=0.05
        Probability that a distance has a larger error, above 0 and below 1.
    %(method)s

    Returns
    -------
    n_components : int
        The dimension s, rounded up. It does not depend on the dimension d of the points.

    %(raises)s

    See Also
    --------
    johnson_lindenstrauss_distortion : The error of a given projection, measured on data.
    johnson_lindenstrauss_tail_bound : The probability of an error for a given dimension.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import johnson_lindenstrauss_dimension
    >>> johnson_lindenstrauss_dimension(1_000, eps=0.25, delta=0.05)
    1614
    >>> [johnson_lindenstrauss_dimension(20, 0.4, delta=0.1, method=m) for m in ("source", "sharp")]
    [312, 166]
    """
    check_integer("n_samples", n_samples, 1)
    check_number("eps", eps, 0, open_low=True)
    check_number("delta", delta, 0, open_low=True)
    if not eps < 0.5:
        raise ValueError(f"eps must be below 1/2, got {eps!r}.")
    if not delta < 1:
        raise ValueError(f"delta must be below 1, got {delta!r}.")
    most = math.ceil(6 / eps**2 * (2 * math.log(n_samples) - math.log(delta)))
    if not is_sharp(method) or n_samples == 1:
        return most
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        bound = johnson_lindenstrauss_tail_bound(middle, eps, n_samples, method=method)
        low, high = (low, middle) if bound <= delta else (middle, high)
    return high


def johnson_lindenstrauss_tail_bound(
    n_components: ArrayLike,
    eps: ArrayLike,
    n_samples: ArrayLike = 2,
    *,
    method: str = "source",
) -> float | np.ndarray:
    """Bound on the probability that a Gaussian projection changes a distance by more than eps.

    The bound is n (n-1)/2 times ((1 - eps) e^eps)^(s/2) + ((1 + eps) e^(-eps))^(s/2), at most 1. It
    is a union bound over the pairs of n points. Each pair has the two tails of a chi-square
    variable with s degrees of freedom. The proof of [Bach, lemma 10.1]. For eps <= 1/2 it is at
    most n (n-1) exp(-s eps^2 / 6). ``method="sharp"`` has the two tails themselves: for one pair it
    is the probability.

    Parameters
    ----------
    n_components : int or array-like of int
        Dimension s of the projection, at least 1.
    eps : float or array-like of float
        Relative error of a squared distance, from 0 to 1.
    n_samples : int or array-like of int, default=2
        Number n of points, at least 2. With 2 points it is one distance, or the squared norm of one
        vector.
    %(method)s

    Returns
    -------
    bound : float or ndarray of float
        On the probability that a squared distance has a relative error of `eps` or more.

    %(raises)s

    See Also
    --------
    johnson_lindenstrauss_dimension : The dimension for a given probability, from a weaker bound.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import johnson_lindenstrauss_tail_bound
    >>> round(johnson_lindenstrauss_tail_bound(1614, 0.25, n_samples=1_000), 4)
    0.0002
    >>> [round(johnson_lindenstrauss_tail_bound(166, 0.4, n_samples=20, method=m), 3)
    ...  for m in ("source", "sharp")]
    [0.994, 0.1]
    """
    s = checked_integers("n_components", n_components, 1)
    e = checked_numbers("eps", eps, 0, 1)
    n = checked_integers("n_samples", n_samples, 2)
    if is_sharp(method):
        with np.errstate(over="ignore", divide="ignore"):
            log_pair = np.log(chdtr(s, s * (1 - e)) + chdtrc(s, s * (1 + e)))
    else:  # in logarithms: (1 - eps) e^eps to the power s/2 underflows
        lower, upper = s / 2 * (xlog1py(1, -e) + e), s / 2 * (np.log1p(e) - e)
        log_pair = np.logaddexp(lower, upper)
    log_bound = np.log(n / 2) + np.log(n - 1) + log_pair
    return as_result(np.exp(np.minimum(0.0, log_bound)))


@in_floats
def johnson_lindenstrauss_distortion(X: MatrixLike, projected: MatrixLike) -> float:
    """Largest relative error of the squared distances between projected points.

    The largest | ||z_i - z_j||^2 / ||x_i - x_j||^2 - 1 | over all pairs of different points x_i,
    x_j with the projections z_i, z_j: the eps of [Bach, eq. (10.2)]. O(n^2 (d + s)) operations, by
    blocks of rows. Distances that are small compared with the norms of the points are computed
    again from the differences.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The points.
    projected : {array-like, sparse matrix} of shape (n_samples, n_components)
        Their projections, in the scale in which distances are to be compared: S'x / sqrt(s) for a
        matrix S of standard Gaussian variables, or the output of a transformer of
        :mod:`sklearn.random_projection`.

    Returns
    -------
    distortion : float
        The largest relative error; 0 if there are no two different points. Infinity if equal points
        have different projections.

    %(raises)s

    See Also
    --------
    johnson_lindenstrauss_dimension : A dimension that keeps this error small.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_ensemble_theory.bounds import johnson_lindenstrauss_distortion
    >>> rng = np.random.default_rng(0)
    >>> X, S = rng.standard_normal((50, 2_000)), rng.standard_normal((2_000, 500))
    >>> round(johnson_lindenstrauss_distortion(X, X @ S / np.sqrt(500)), 2)
    0.21
    """
    X, Z = checked_rows("X", X, sparse=True), checked_rows("projected", projected, sparse=True)
    check_consistent_length(X, Z)
    # Powers of 2, so that squares neither overflow nor vanish.
    size_of_X, size_of_Z = power_near_largest(X), power_near_largest(Z)
    X, Z = X / size_of_X, Z / size_of_Z
    scale = np.square(np.float64(size_of_Z) / size_of_X)
    largest = 0.0
    rows_of_X, rows_of_Z = _distances_to_later_rows(X), _distances_to_later_rows(Z)
    # The distances of all pairs, without an array of n² of them.
    for rows in gen_batches(X.shape[0], max(1, (1 << 22) // X.shape[0])):
        before, after = rows_of_X(rows), rows_of_Z(rows)
        apart = before > 0
        if (after[~apart] > 0).any():
            return math.inf
        if apart.any():
            after, before = after[apart], before[apart]
            ratios = np.multiply(scale, after / before, out=np.zeros_like(after), where=after > 0)
            largest = max(largest, float(np.abs(ratios - 1).max()))
    return largest


def _distances_to_later_rows(X: Any) -> Callable[[slice], np.ndarray]:
    """The squared distances of the rows of a batch from all later rows, as one array."""
    norms = _squared_norms(X)

    def distances(batch: slice) -> np.ndarray:
        squared = euclidean_distances(X[batch], X[batch.start :], squared=True)
        sizes = norms[batch][:, None] + norms[None, batch.start :]
        # A distance far below the norms has lost its digits: it is taken from the difference.
        near = np.argwhere(np.triu(squared < 1e-6 * sizes, 1))
        size = max(1, (1 << 20) // X.shape[1])
        for start in range(0, len(near), size):
            i, j = near[start : start + size].T
            squared[i, j] = _squared_norms(X[batch.start + i] - X[batch.start + j])
        i, j = np.triu_indices(squared.shape[0], 1, squared.shape[1])
        return np.asarray(squared[i, j])

    return distances


def _squared_norms(X: Any) -> np.ndarray:
    """The squared norms of the rows, dense or sparse."""
    if sp.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return np.asarray(np.einsum("ij,ij->i", X, X))
