"""Random projections: the dimension that keeps distances, and bounds on the risk of averages."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_array, check_consistent_length

from sklearn_ensemble_theory._typing import MatrixLike
from sklearn_ensemble_theory.bounds._arguments import check_number

__all__ = [
    "coordinate_projection_bound",
    "gaussian_projection_bound",
    "johnson_lindenstrauss_dimension",
    "johnson_lindenstrauss_distortion",
    "random_features_bound",
]


def johnson_lindenstrauss_dimension(n_samples: int, eps: float = 0.1, delta: float = 0.05) -> int:
    """Dimension in which a Gaussian projection keeps all distances between n points.

    For a d x s matrix S of independent standard Gaussian variables and

        s >= (6 / eps^2) log(n^2 / delta),

    all squared distances between the points S'x / sqrt(s) are within the factors 1 - eps and
    1 + eps of those between the points x, with probability at least 1 - delta.

    Parameters
    ----------
    n_samples : int
        Number n of points.

    eps : float, default=0.1
        Largest relative error of a squared distance, above 0 and below 1/2.

    delta : float, default=0.05
        Probability that a distance has a larger error, above 0 and below 1.

    Returns
    -------
    n_components : int
        The dimension s, rounded up. It does not depend on the dimension d of the points.

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    See Also
    --------
    johnson_lindenstrauss_distortion : The error of a given projection, measured on data.

    Notes
    -----
    [Bach, lemma 10.1]. :func:`sklearn.random_projection.johnson_lindenstrauss_min_dim` has no
    `delta`: its 4 log(n) / (eps^2/2 - eps^3/3) is the dimension for a probability of about 1/n.

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import johnson_lindenstrauss_dimension
    >>> johnson_lindenstrauss_dimension(1_000, eps=0.25, delta=0.05)
    1614
    """
    check_number("n_samples", n_samples, 1, integral=True)
    check_number("eps", eps, 0, open_low=True)
    check_number("delta", delta, 0, open_low=True)
    if not eps < 0.5:
        raise ValueError(f"eps must be below 1/2, got {eps!r}.")
    if not delta < 1:
        raise ValueError(f"delta must be below 1, got {delta!r}.")
    return math.ceil(6 / eps**2 * (2 * math.log(n_samples) - math.log(delta)))


def johnson_lindenstrauss_distortion(X: MatrixLike, projected: MatrixLike) -> float:
    """Largest relative error of the squared distances between projected points.

    The largest | ||z_i - z_j||^2 / ||x_i - x_j||^2 - 1 | over all pairs of different points x_i,
    x_j with the projections z_i, z_j.

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

    Raises
    ------
    ValueError
        If the two have different numbers of rows, or a value is not finite.

    See Also
    --------
    johnson_lindenstrauss_dimension : A dimension that keeps this error small.

    Notes
    -----
    O(n^2 (d + s)) operations, by blocks of rows. Distances that are small compared with the norms
    of the points are computed again from the differences.

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_ensemble_theory.bounds import johnson_lindenstrauss_distortion
    >>> rng = np.random.default_rng(0)
    >>> X, S = rng.standard_normal((50, 2_000)), rng.standard_normal((2_000, 500))
    >>> round(johnson_lindenstrauss_distortion(X, X @ S / np.sqrt(500)), 2)
    0.21
    """
    X = check_array(X, accept_sparse="csr", dtype=np.float64)
    Z = check_array(projected, accept_sparse="csr", dtype=np.float64, input_name="projected")
    check_consistent_length(X, Z)
    largest = 0.0
    rows_of_X, rows_of_Z = _distances_to_later_rows(X), _distances_to_later_rows(Z)
    for rows in gen_batches(X.shape[0], max(1, (1 << 22) // X.shape[0])):
        before, after = rows_of_X(rows), rows_of_Z(rows)
        apart = before > 0
        if (after[~apart] > 0).any():
            return math.inf
        if apart.any():
            largest = max(largest, float(np.abs(after[apart] / before[apart] - 1).max()))
    return largest


def _distances_to_later_rows(X: Any) -> Callable[[slice], np.ndarray]:
    """The squared distances of the rows of a batch from all later rows, as one array."""
    norms = _squared_norms(X)

    def distances(batch: slice) -> np.ndarray:
        squared = euclidean_distances(X[batch], X[batch.start :], squared=True)
        sizes = norms[batch][:, None] + norms[None, batch.start :]
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


def gaussian_projection_bound(
    n_samples: float,
    n_components: int,
    trace: float,
    squared_norm: float,
    noise_variance: float = 1.0,
) -> float:
    """Bound on the excess risk of averaged least squares on Gaussian projections.

    For y = Phi theta + noise, fitted by least squares on the s columns of Phi S with independent
    standard Gaussian entries of S, the expected mean squared error of the fitted values is at most

        sigma^2 s/n + (2/n) tr(Phi'Phi) ||theta||^2 / (s + 1),

    for any number of averaged projections.

    Parameters
    ----------
    n_samples : float
        Number n of rows.

    n_components : int
        Number s of projected variables.

    trace : float
        The sum of squares of Phi, tr(Phi'Phi) = tr(K) with the kernel matrix K = Phi Phi'.

    squared_norm : float
        ||theta||^2; for kernels, f'K^{-1}f with the means f of the targets.

    noise_variance : float, default=1.0
        Variance sigma^2 of the noise.

    Returns
    -------
    bound : float
        The bound, in units of y squared.

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    Notes
    -----
    [Bach, eq. (10.1)], in the fixed design: the error at the training rows. The columns of Phi S
    are Gaussian with covariance K, so that this is also the bound for features drawn from N(0, K)
    [Bach, §10.2.2].

    For independent entries of mean 0, variance 1 and fourth moment q instead of 3, the bound
    holds with tr(Phi'Phi) + max(q - 3, 0) max_j ||Phi_j||^2 for the trace, where Phi_j are the
    columns.

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import gaussian_projection_bound
    >>> round(gaussian_projection_bound(100, 19, trace=100.0, squared_norm=1.0), 4)
    0.29
    """
    _check_risk(n_samples, n_components, squared_norm, noise_variance)
    check_number("trace", trace, 0)
    noise = noise_variance * n_components / n_samples
    return noise + 2 * trace * squared_norm / (n_samples * (n_components + 1))


def coordinate_projection_bound(
    n_samples: float,
    n_components: int,
    size: float,
    squared_norm: float,
    noise_variance: float = 1.0,
) -> float:
    """Bound on the excess risk of averaged least squares on random subsets of the variables.

    sigma^2 s/n + d max_j ||Phi_j||^2 ||theta||^2 / (n s), with the d columns Phi_j of Phi, of which
    s are drawn with or without replacement.

    Parameters
    ----------
    n_samples : float
        Number n of rows.

    n_components : int
        Number s of variables drawn.

    size : float
        d max_j ||Phi_j||^2: the number of variables times the largest sum of squares of one.

    squared_norm : float
        ||theta||^2.

    noise_variance : float, default=1.0
        Variance sigma^2 of the noise.

    Returns
    -------
    bound : float
        The bound, in units of y squared.

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    Notes
    -----
    [Bach, exercise 10.4], for draws with replacement. E[S S'] = (s/d) I and
    E[S S' G S S'] = s (s-1)/d^2 G + (s/d) diag(G) with G = Phi'Phi, so that a direction of
    eigenvalue a D, where D is `size`, has a bias of at most D a (1 - a) / (1 + (s-1) a) <= D/s.
    Draws without replacement span at least as much.

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import coordinate_projection_bound
    >>> round(coordinate_projection_bound(100, 20, size=100.0, squared_norm=1.0), 4)
    0.25
    """
    _check_risk(n_samples, n_components, squared_norm, noise_variance)
    check_number("size", size, 0)
    noise = noise_variance * n_components / n_samples
    return noise + size * squared_norm / (n_samples * n_components)


def random_features_bound(
    n_samples: float,
    n_components: int,
    squared_radius: float,
    squared_norm: float,
    noise_variance: float = 1.0,
) -> float:
    """Bound on the excess risk of averaged least squares on random features of a kernel.

    sigma^2 s/n + R^2 f'K^{-1}f / s, for s features phi(x, v) with independent v,
    E[phi(x, v) phi(x', v)] = k(x, x') and |phi| <= R.

    Parameters
    ----------
    n_samples : float
        Number n of rows.

    n_components : int
        Number s of features.

    squared_radius : float
        R^2, the largest square of a feature at the rows; the largest mean square over the rows is
        enough.

    squared_norm : float
        f'K^{-1}f, with the means f of the targets and the kernel matrix K at the rows.

    noise_variance : float, default=1.0
        Variance sigma^2 of the noise.

    Returns
    -------
    bound : float
        The bound, in units of y squared.

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    Notes
    -----
    [Bach, §10.2.2]; the factor printed there, 2 R^2 / (n (s+1)), is too small by about n/2.

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import random_features_bound
    >>> round(random_features_bound(100, 20, squared_radius=2.0, squared_norm=1.0), 4)
    0.3
    """
    _check_risk(n_samples, n_components, squared_norm, noise_variance)
    check_number("squared_radius", squared_radius, 0)
    noise = noise_variance * n_components / n_samples
    return noise + squared_radius * squared_norm / n_components


def _check_risk(
    n_samples: float, n_components: int, squared_norm: float, noise_variance: float
) -> None:
    check_number("n_samples", n_samples, 0, open_low=True)
    check_number("n_components", n_components, 1, integral=True)
    check_number("squared_norm", squared_norm, 0)
    check_number("noise_variance", noise_variance, 0)
