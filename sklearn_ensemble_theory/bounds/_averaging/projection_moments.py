"""Exact moments of random projections, and risks that follow from them."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import eigh

from sklearn_ensemble_theory.bounds._arguments import (
    as_result,
    check_number,
    checked_integers,
    checked_numbers,
    in_floats,
)

__all__ = [
    "averaged_projection_risk",
    "coordinate_projection_moments",
    "gaussian_projection_moments",
    "projection_bias_bound",
    "random_features_moment_bound",
]


@in_floats
def gaussian_projection_moments(
    gram: ArrayLike, n_components: int
) -> tuple[np.ndarray, np.ndarray]:
    """First and second moment of a Gaussian projection, exactly.

    E[S S'] = s I and E[S S' G S S'] = s (s+1) G + s tr(G) I for a d x s matrix S of independent
    standard Gaussian variables.

    Parameters
    ----------
    gram : array-like of shape (n_features, n_features)
        G = Phi'Phi, symmetric.

    n_components : int
        Number s of projected variables.

    Returns
    -------
    first : ndarray of shape (n_features, n_features)
        E[S S'].

    second : ndarray of shape (n_features, n_features)
        E[S S' G S S'].

    Raises
    ------
    ValueError
        If `gram` is not symmetric and finite, or `n_components` not an integer of at least 1.

    See Also
    --------
    projection_bias_bound : The bound on the bias that follows.
    coordinate_projection_moments : The same for random subsets of the variables.

    Notes
    -----
    [Bach, §10.2.2]. O(d^2).

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import gaussian_projection_moments
    >>> first, second = gaussian_projection_moments([[2.0, 1.0], [1.0, 3.0]], 2)
    >>> second
    array([[22.,  6.],
           [ 6., 28.]])
    """
    G = _checked_symmetric("gram", gram)
    check_number("n_components", n_components, 1, integral=True)
    s, eye = n_components, np.eye(len(G))
    return s * eye, s * (s + 1) * G + s * np.trace(G) * eye


@in_floats
def coordinate_projection_moments(
    gram: ArrayLike, n_components: int
) -> tuple[np.ndarray, np.ndarray]:
    """First and second moment of a random choice of variables, exactly.

    E[S S'] = (s/d) I and E[S S' G S S'] = s (s-1)/d^2 G + (s/d) diag(G) for a d x s matrix S whose
    columns are independent draws from the d canonical basis vectors.

    Parameters
    ----------
    gram : array-like of shape (n_features, n_features)
        G = Phi'Phi, symmetric.

    n_components : int
        Number s of variables drawn, with replacement.

    Returns
    -------
    first : ndarray of shape (n_features, n_features)
        E[S S'].

    second : ndarray of shape (n_features, n_features)
        E[S S' G S S'].

    Raises
    ------
    ValueError
        If `gram` is not symmetric and finite, or `n_components` not an integer of at least 1.

    See Also
    --------
    projection_bias_bound : The bound on the bias that follows.
    coordinate_projection_bound : A bound on the risk that needs the largest column only.

    Notes
    -----
    [Bach, exercise 10.4]: two different columns of S are independent, and one column e_j has
    e_j e_j' G e_j e_j' = G_jj e_j e_j'. O(d^2).

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import coordinate_projection_moments
    >>> first, second = coordinate_projection_moments([[2.0, 1.0], [1.0, 3.0]], 2)
    >>> second
    array([[3. , 0.5],
           [0.5, 4.5]])
    """
    G = _checked_symmetric("gram", gram)
    check_number("n_components", n_components, 1, integral=True)
    s, d = n_components, len(G)
    return s / d * np.eye(d), s * (s - 1) / d**2 * G + s / d * np.diag(np.diag(G))


@in_floats
def random_features_moment_bound(
    kernel: ArrayLike, n_components: int, squared_radius: float
) -> np.ndarray:
    """Bound on the second moment of random features: s (s-1) K^2 + n s R^2 K.

    For an n x s matrix P of s independent features of a kernel at n rows, with E[P P'] = s K and
    elements of at most R in absolute value, E[P P' P P'] is at most this in the order of symmetric
    matrices: the difference has no negative eigenvalue.

    Parameters
    ----------
    kernel : array-like of shape (n_samples, n_samples)
        The kernel matrix K at the rows, symmetric.

    n_components : int
        Number s of features.

    squared_radius : float
        R^2, the largest square of a feature.

    Returns
    -------
    bound : ndarray of shape (n_samples, n_samples)
        The matrix. It is the moment itself if every feature has the absolute value R everywhere.

    Raises
    ------
    ValueError
        If `kernel` is not symmetric and finite, or another argument is outside its range.

    See Also
    --------
    random_features_bound : The bound on the risk that follows.

    Notes
    -----
    [Bach, §10.2.2], with K^2 where K is printed. O(n^3).

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import random_features_moment_bound
    >>> random_features_moment_bound([[1.0, 0.5], [0.5, 1.0]], 2, squared_radius=1.0)
    array([[6.5, 4. ],
           [4. , 6.5]])
    """
    K = _checked_symmetric("kernel", kernel)
    check_number("n_components", n_components, 1, integral=True)
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
    any number of averaged projections.

    Parameters
    ----------
    gram : array-like of shape (n_features, n_features)
        G = Phi'Phi, symmetric.

    coefficients : array-like of shape (n_features,)
        theta; Phi theta are the means of the targets.

    first : array-like of shape (n_features, n_features)
        A = E[S S'], symmetric.

    second : array-like of shape (n_features, n_features)
        B = E[S S' G S S'], symmetric and without negative eigenvalues.

    n_samples : int
        Number n of rows.

    Returns
    -------
    bound : float
        In units of y squared.

    Raises
    ------
    ValueError
        If an array has the wrong shape, is not symmetric or not finite.

    See Also
    --------
    gaussian_projection_moments : The moments of Gaussian projections.
    coordinate_projection_moments : The moments of random subsets of the variables.
    gaussian_projection_bound : A bound that needs the trace of G and the norm of theta only.

    Notes
    -----
    [Bach, §10.2.2]; the bound of [Bach, eq. (10.1)] follows from it. O(d^3).

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import (
    ...     gaussian_projection_moments,
    ...     projection_bias_bound,
    ... )
    >>> gram = [[4.0, 0.0], [0.0, 1.0]]
    >>> round(projection_bias_bound(gram, [1, 1], *gaussian_projection_moments(gram, 3), 10), 4)
    0.2381
    """
    G = _checked_symmetric("gram", gram)
    A, B = _checked_symmetric("first", first), _checked_symmetric("second", second)
    theta = checked_numbers("coefficients", coefficients)
    check_number("n_samples", n_samples, 1, integral=True)
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

    (sigma^2/n) (1 - 1/m) tr(D^2) + sigma^2 tr(D) / (n m) + (1/n) f'(I - D - (1 - 1/m) (D - D^2)) f
    for m independent projections, of which each maps targets to fitted values by a random
    orthogonal projection with the expectation D. It is the mean squared error at the n rows.

    Parameters
    ----------
    projection : array-like of shape (n_samples, n_samples)
        D, symmetric with eigenvalues in [0, 1]; its trace is the expected dimension, s.

    mean : array-like of shape (n_samples,)
        The means f of the targets.

    n_estimators : int or array-like of int, default=1
        Number m of projections.

    noise_variance : float or array-like of float, default=1.0
        Variance sigma^2 of the noise.

    Returns
    -------
    risk : float or ndarray of float
        In units of y squared; of the shape to which the last two arguments are broadcast.

    Raises
    ------
    ValueError
        If an argument is outside its range or an array has the wrong shape.

    See Also
    --------
    sklearn_ensemble_theory.RandomProjectionRegressor.expected_projection : An estimate of D.

    Notes
    -----
    [Bach, §10.2.2]. It decreases with m, and at m = 1 it is sigma^2 s/n + f'(I - D) f / n.
    O(n^2), and O(n^3) for the eigenvalues of D.

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

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
    m = checked_integers("n_estimators", n_estimators, 1)
    variance = checked_numbers("noise_variance", noise_variance, 0)
    eigenvalues = eigh(D, eigvals_only=True)
    if eigenvalues[0] < -1e-8 or eigenvalues[-1] > 1 + 1e-8:
        raise ValueError(
            "projection must have eigenvalues in [0, 1], got values from "
            f"{eigenvalues[0]:.6g} to {eigenvalues[-1]:.6g}."
        )
    n, fitted, squares = len(D), D @ f, np.sum(D**2)
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
