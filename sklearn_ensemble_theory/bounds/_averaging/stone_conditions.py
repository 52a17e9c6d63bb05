"""Stone's conditions for the consistency of weighted means of neighbours."""

import math

import numpy as np
from numpy.typing import ArrayLike

from sklearn_ensemble_theory.bounds._arguments import check_number, checked_numbers

__all__ = ["stone_conditions", "stone_lemma_constant"]


def stone_conditions(
    weights: ArrayLike,
    distances: ArrayLike | None = None,
    *,
    radius: float | None = None,
    n_nearest: int | None = None,
) -> tuple[float, float, float]:
    """Return the three quantities of Stone's theorem for weights by rank of distance.

    A rule that predicts by sum_i w_i y_(i)(x), with the i-th nearest of n rows, is universally
    consistent if for n to infinity the first quantity stays bounded and the other two, the second
    for every radius, tend to 0:

    (i) the sum of the least weights that do not increase with the rank and are at least w_i, which
    is sum_i max_{j >= i} w_j;
    (ii) the expected weight of the rows that are farther away than the radius;
    (iii) the largest weight.

    Parameters
    ----------
    weights : array-like of shape (n_ranks,)
        w_1, w_2, ...: the weights of the nearest row, the second nearest and so on, not negative
        and with a sum of at most 1. Rows beyond them have the weight 0. What is missing to 1 is the
        weight of a constant prediction and counts in (iii).

    distances : array-like of shape (n_queries, n_samples), default=None
        Distances of the n rows from points x that are drawn like the rows, in any order. (ii) is
        the mean over these points.

    radius : float, default=None
        The radius for `distances`, positive.

    n_nearest : int, default=None
        Instead of distances, a number k of rows: (ii) is then the weight beyond the k nearest rows.
        If it tends to 0 for some k with k/n to 0, the second condition holds for every radius and
        every distribution, because the distance of the k-th nearest row tends to 0.

    Returns
    -------
    constant : float
        (i). For any f >= 0, E[sum_i w_i f(x_(i))] is at most this times E[f(x)] times the constant
        of Stone's lemma, see :func:`~sklearn_ensemble_theory.bounds.stone_lemma_constant`.

    far_weight : float
        (ii).

    largest_weight : float
        (iii), with the weight of the constant prediction.

    Raises
    ------
    ValueError
        If the weights are negative or have a sum above 1, if an array has the wrong shape, or if
        not exactly one of `n_nearest` and `distances` with `radius` is given.

    Notes
    -----
    The conditions of [Ghoshdastidar, theorem En.2], the first one in the form that its proof uses.
    They are about limits: values at one n prove nothing. O(n_ranks), and the size of `distances`.

    References
    ----------
    D. Ghoshdastidar. *Statistical Foundations of Learning*, lecture "Ensemble methods". Technical
    University of Munich.

    C. J. Stone (1977). "Consistent nonparametric regression". *Annals of Statistics* 5.

    Examples
    --------
    Bagged nearest neighbours with a number of drawn rows that grows as the square root of n:

    >>> from sklearn_ensemble_theory import bagged_nearest_neighbors_weights
    >>> from sklearn_ensemble_theory.bounds import stone_conditions
    >>> for n in (100, 10_000, 1_000_000):
    ...     weights = bagged_nearest_neighbors_weights(n, int(n**0.5))
    ...     values = stone_conditions(weights, n_nearest=int(n**0.75))
    ...     print([round(value, 3) for value in values])
    [1.0, 0.02, 0.1]
    [1.0, 0.0, 0.01]
    [1.0, 0.0, 0.001]
    """
    w = checked_numbers("weights", weights, 0)
    if w.ndim != 1 or not w.size:
        raise ValueError(f"weights must be a vector, got an array of shape {w.shape}.")
    total = float(w.sum())
    if total > 1 + 1e-9:
        raise ValueError(f"weights must have a sum of at most 1, got {total!r}.")
    if (distances is None) != (radius is None) or (distances is None) == (n_nearest is None):
        raise ValueError("Either n_nearest or both distances and radius must be given.")
    if distances is None:
        check_number("n_nearest", n_nearest, 0, integral=True)
        near = np.array([n_nearest])
    else:
        check_number("radius", radius, 0, open_low=True)
        d = checked_numbers("distances", distances, 0)
        if d.ndim != 2 or not d.size or d.shape[1] < w.size:
            raise ValueError(
                f"distances must be of shape (n_queries, n_samples) with at least {w.size} rows, "
                f"the number of weights, got {d.shape}."
            )
        near = np.count_nonzero(d <= radius, axis=1)
    # The weight beyond the r nearest rows, r = 0, 1, ...
    beyond = np.append(np.cumsum(w[::-1])[::-1], 0.0)
    majorant = np.maximum.accumulate(w[::-1])
    far = float(np.mean(beyond[np.minimum(near, w.size)]))
    return float(majorant.sum()), far, max(float(w.max()), 1 - total)


def stone_lemma_constant(n_features: int) -> float:
    """Bound on the constant of Stone's lemma: (1 + 2 / sqrt(2 - sqrt(3)))^d - 1.

    A point is among the k nearest neighbours of at most k times this many of n other points, for
    the Euclidean distance in d dimensions and without ties. Therefore, for f >= 0 and independent
    points of one distribution, the sum of E[f] over the k nearest of n points is at most k times
    this constant times E[f(x)].

    Parameters
    ----------
    n_features : int
        Dimension d of the points.

    Returns
    -------
    bound : float
        A number of cones of angle pi/6 that cover the space; at d = 1 it is 3.9, where two
        are enough. Infinity if it is too large for a float.

    Raises
    ------
    ValueError
        If `n_features` is not an integer of at least 1.

    Notes
    -----
    Stone's lemma is a step of [Ghoshdastidar, theorem En.2]; the number is from Devroye, Györfi and
    Lugosi (1996), chapter 5. O(1).

    References
    ----------
    D. Ghoshdastidar. *Statistical Foundations of Learning*, lecture "Ensemble methods". Technical
    University of Munich.

    L. Devroye, L. Györfi and G. Lugosi (1996). *A Probabilistic Theory of Pattern Recognition*.
    Springer.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import stone_lemma_constant
    >>> round(stone_lemma_constant(2), 1)
    22.7
    """
    check_number("n_features", n_features, 1, integral=True)
    logarithm = n_features * math.log1p(2 / math.sqrt(2 - math.sqrt(3)))
    return math.expm1(logarithm) if logarithm < 700 else math.inf
