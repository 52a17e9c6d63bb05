"""The lemma of Johnson and Lindenstrauss: distances of points after a random projection."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.special import xlog1py
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_consistent_length

from sklearn_ensemble_theory._typing import MatrixLike
from sklearn_ensemble_theory.bounds._arguments import (
    as_result,
    check_number,
    checked_integers,
    checked_numbers,
    checked_rows,
    in_floats,
    power_near_largest,
)

__all__ = [
    "johnson_lindenstrauss_dimension",
    "johnson_lindenstrauss_distortion",
    "johnson_lindenstrauss_tail_bound",
]


@in_floats
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
    johnson_lindenstrauss_tail_bound : The probability of an error for a given dimension.

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


def johnson_lindenstrauss_tail_bound(
    n_components: ArrayLike, eps: ArrayLike, n_samples: ArrayLike = 2
) -> float | np.ndarray:
    """Bound on the probability that a Gaussian projection changes a distance by more than eps.

    n (n-1)/2 times ((1 - eps) e^eps)^(s/2) + ((1 + eps) e^(-eps))^(s/2), at most 1: a union bound
    over the pairs of n points, and for each of them the two tails of a chi-square variable with s
    degrees of freedom.

    Parameters
    ----------
    n_components : int or array-like of int
        Dimension s of the projection, at least 1.

    eps : float or array-like of float
        Relative error of a squared distance, above 0 and at most 1.

    n_samples : int or array-like of int, default=2
        Number n of points, at least 2. With 2 points it is one distance, or the squared norm of one
        vector.

    Returns
    -------
    bound : float or ndarray of float
        On the probability that a squared distance has a relative error of `eps` or more.

    Raises
    ------
    ValueError
        If an argument is outside its range.

    See Also
    --------
    johnson_lindenstrauss_dimension : The dimension for a given probability, from a weaker bound.

    Notes
    -----
    The proof of [Bach, lemma 10.1]. For eps <= 1/2 it is at most n (n-1) exp(-s eps^2 / 6).

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import johnson_lindenstrauss_tail_bound
    >>> round(johnson_lindenstrauss_tail_bound(1614, 0.25, n_samples=1_000), 4)
    0.0002
    """
    s = checked_integers("n_components", n_components, 1)
    e = checked_numbers("eps", eps, 0, 1, open_low=True)
    n = checked_integers("n_samples", n_samples, 2)
    lower, upper = s / 2 * (xlog1py(1, -e) + e), s / 2 * (np.log1p(e) - e)
    log_bound = np.log(n / 2) + np.log(n - 1) + np.logaddexp(lower, upper)
    return as_result(np.exp(np.minimum(0.0, log_bound)))


@in_floats
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
    X, Z = checked_rows("X", X, sparse=True), checked_rows("projected", projected, sparse=True)
    check_consistent_length(X, Z)
    # Powers of 2, so that squares neither overflow nor vanish.
    size_of_X, size_of_Z = power_near_largest(X), power_near_largest(Z)
    X, Z = X / size_of_X, Z / size_of_Z
    scale = np.square(np.float64(size_of_Z) / size_of_X)
    largest = 0.0
    rows_of_X, rows_of_Z = _distances_to_later_rows(X), _distances_to_later_rows(Z)
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
