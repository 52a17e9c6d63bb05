"""Behaviours of classes of functions on given points, and how many points they shatter.

A behaviour is the vector of values of one function at the points, a row of an array; the growth
function and the VC dimension of a class are counts of its behaviours [Shah, §2.5]. All of them are
enumerated, for classes in which that is possible.
"""

import itertools
import math
from collections.abc import Sequence

import numpy as np
from scipy.optimize import linprog

from sklearn_ensemble_theory._typing import ArrayLike

from ._arguments import check_integer, checked_numbers, checked_rows


def n_behaviours(behaviours: ArrayLike) -> int:
    """Number of different behaviours of a class on given points.

    The behaviour of a function h on the points x_1, ..., x_n is (h(x_1), ..., h(x_n))
    [Shah, definition 4].

    Parameters
    ----------
    behaviours : array-like of shape (n_functions, n_points)
        A row for each function of the class, with repetitions or without.

    Returns
    -------
    n_behaviours : int
        The number of different rows.

    Raises
    ------
    ValueError
        If `behaviours` is not a finite array of two dimensions.

    See Also
    --------
    shattering_coefficient : The largest number on some of the points.

    Notes
    -----
    For k functions the cost is O(n k log k).

    Examples
    --------
    Intervals on five points:

    >>> from sklearn_ensemble_theory.bounds import interval_behaviours, n_behaviours
    >>> n_behaviours(interval_behaviours([1, 2, 3, 4, 5]))
    16
    """
    return len(_distinct(checked_rows("behaviours", behaviours)))


def shattering_coefficient(behaviours: ArrayLike, n_points: int) -> int:
    """Largest number of behaviours of a class on some of the given points.

    It is the maximum, over all choices of `n_points` of the points, of the number of different
    behaviours, a lower bound on the shattering coefficient s(H, n_points) of the class
    [Shah, definition 5], and equal to it if the points contain a choice that attains it.

    Parameters
    ----------
    behaviours : array-like of shape (n_functions, n_all_points)
        A row for each function of the class, its values on all points.

    n_points : int
        Number of points that are chosen, from 0 to `n_all_points`.

    Returns
    -------
    coefficient : int
        The largest number.

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    See Also
    --------
    sauer_shelah_bound : A bound by the VC dimension.

    Notes
    -----
    All choices are tried; there are n_all_points over n_points of them.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import interval_behaviours, shattering_coefficient
    >>> shattering_coefficient(interval_behaviours([1, 2, 3, 4, 5]), 3)
    7
    """
    rows = _distinct(checked_rows("behaviours", behaviours))
    check_integer("n_points", n_points, 0, rows.shape[1])
    choices = itertools.combinations(range(rows.shape[1]), n_points)
    return max(len(_distinct(rows[:, list(chosen)])) for chosen in choices)


def vc_dimension(behaviours: ArrayLike) -> int:
    """Largest number of the given points that a class of classifiers shatters.

    Points are shattered if the class has all 2^n behaviours on them. The number is a lower bound on
    the VC dimension of the class [Shah, definition 5], and equal to it if the points contain as
    many as it has that are shattered.

    Parameters
    ----------
    behaviours : array-like of shape (n_functions, n_points)
        A row for each classifier of the class, its values on the points. There are at most two
        different values.

    Returns
    -------
    dimension : int
        The largest number of points that are shattered; 0 if there is one behaviour only.

    Raises
    ------
    ValueError
        If `behaviours` is not a finite array of two dimensions, or has more than two values.

    See Also
    --------
    voting_vc_dimension_bound : A bound for votes of several classifiers.

    Notes
    -----
    A set of points is only tried if it is without its last point a shattered one. For dimension d
    the cost is O(n^(d+1) k) with k the number of behaviours.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import stump_behaviours, vc_dimension
    >>> vc_dimension(stump_behaviours([[1.0], [2.0], [3.0], [4.0]]))
    2
    """
    rows = checked_rows("behaviours", behaviours)
    if len(np.unique(rows)) > 2:
        raise ValueError("behaviours must have at most two different values.")
    bits = _distinct((rows == rows.max()).astype(np.int64))
    n = bits.shape[1]
    # Shattered sets of one size, with the codes of the behaviours on each of them. Each subset of a
    # shattered set is shattered, so that larger ones are found by adding a point to smaller ones.
    shattered = [((), np.zeros(len(bits), dtype=np.int64))]
    size = 0
    while shattered and 2 ** (size + 1) <= len(bits):
        larger = []
        for points, codes in shattered:
            for new in range(points[-1] + 1 if points else 0, n):
                extended = 2 * codes + bits[:, new]
                if np.bincount(extended, minlength=2 ** (size + 1)).all():
                    larger.append(((*points, new), extended))
        if not larger:
            break
        shattered, size = larger, size + 1
    return size


def interval_behaviours(x: ArrayLike, *, signed: bool = False) -> np.ndarray:
    """Behaviours of intervals on points of the line.

    The classifiers are 1 in an interval [a, b) and -1 outside [Shah, §2.5]; with `signed`, also
    their negatives, as in [Ghoshdastidar]. On n different points there are n (n + 1) / 2 + 1
    behaviours, and n (n - 1) + 2 with `signed`; the VC dimension is 2, and 3 with `signed`.

    Parameters
    ----------
    x : array-like of shape (n_points,)
        The points.

    signed : bool, default=False
        Whether the negatives of the classifiers belong to the class.

    Returns
    -------
    behaviours : ndarray of shape (n_behaviours, n_points)
        The different behaviours, -1 and 1.

    Raises
    ------
    ValueError
        If `x` is not a finite array of one dimension, with at least one point.

    Notes
    -----
    The cost is O(n^3 log n). Indicator functions of the intervals, with values 0 and 1, have half
    the Rademacher complexity.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import interval_behaviours
    >>> interval_behaviours([0.2, 0.7])
    array([[-1., -1.],
           [-1.,  1.],
           [ 1., -1.],
           [ 1.,  1.]])
    """
    points = checked_numbers("x", x)
    if points.ndim != 1 or not points.size:
        raise ValueError(f"x must have one dimension and at least one point, got {x!r}.")
    # Points from one threshold on that are not from another one on.
    above = points >= np.append(np.unique(points), np.inf)[:, None]
    inside = (above[:, None] & ~above[None, :]).reshape(-1, len(points))
    return _as_signs(np.vstack([inside, ~inside]) if signed else inside)


def stump_behaviours(X: ArrayLike) -> np.ndarray:
    """Behaviours of decision stumps on given points.

    The stumps are sgn(x_j - a) and sgn(a - x_j), for all features j and thresholds a
    [Shah, §4.2]. On n points without ties there are at most 2 p (n - 1) + 2 behaviours.

    Parameters
    ----------
    X : array-like of shape (n_points, n_features)
        The points.

    Returns
    -------
    behaviours : ndarray of shape (n_behaviours, n_points)
        The different behaviours, -1 and 1.

    Raises
    ------
    ValueError
        If `X` is not a finite array of two dimensions.

    See Also
    --------
    stump_rademacher_complexity : Their Rademacher complexity, without a list of them.
    stump_vc_dimension : Their VC dimension.

    Notes
    -----
    The cost is O(p n^2 log(p n)).

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import stump_behaviours
    >>> stump_behaviours([[1.0], [2.0], [3.0]]).shape
    (6, 3)
    """
    X = checked_rows("X", X)
    above = np.vstack([x > np.append(np.unique(x), -np.inf)[:, None] for x in X.T])
    return _as_signs(np.vstack([above, ~above]))


def stump_vc_dimension(n_features: int) -> int:
    """VC dimension of decision stumps over p features.

    It is the largest N for which (N choose floor(N/2)) is at most 2p [Gey, 2018]: 2, 3, 4, 4, 5 for
    p = 1 to 5, and about log2(p) for large p. The stumps are those of [Shah, §4.2].

    Parameters
    ----------
    n_features : int
        Number p of features, at least 1.

    Returns
    -------
    dimension : int
        The dimension.

    Raises
    ------
    ValueError
        If `n_features` is not an integer of at least 1.

    See Also
    --------
    voting_vc_dimension_bound : A bound for votes of stumps.

    Notes
    -----
    It cannot be larger: the stumps of a feature label floor(N/2) of N points 1 and the others -1 in
    at most two ways, those with the smallest and those with the largest values.

    References
    ----------
    S. Gey (2018). "Vapnik-Chervonenkis dimension of axis-parallel cuts". *Communications in
    Statistics - Theory and Methods*.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import stump_vc_dimension
    >>> stump_vc_dimension(1), stump_vc_dimension(100), stump_vc_dimension(10_000)
    (2, 9, 16)
    """
    check_integer("n_features", n_features, 1)
    dimension = 1
    while math.comb(dimension + 1, (dimension + 1) // 2) <= 2 * n_features:
        dimension += 1
    return dimension


def orthant_behaviours(X: ArrayLike) -> np.ndarray:
    """Behaviours of lower orthants on given points.

    The classifiers are 1 in a product of intervals (-inf, a_j] and -1 outside. The VC dimension is
    the number of features p [Shah, §2.5].

    Parameters
    ----------
    X : array-like of shape (n_points, n_features)
        The points.

    Returns
    -------
    behaviours : ndarray of shape (n_behaviours, n_points)
        The different behaviours, -1 and 1.

    Raises
    ------
    ValueError
        If `X` is not a finite array of two dimensions.

    Notes
    -----
    There are at most (n + 1)^p behaviours, and the cost is O(p n^2) times their number, up to
    logarithms.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import orthant_behaviours, vc_dimension
    >>> vc_dimension(orthant_behaviours([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]]))
    3
    """
    X = checked_rows("X", X)
    inside = np.ones((1, len(X)), dtype=bool)
    for x in X.T:
        below = x <= np.append(np.unique(x), -np.inf)[:, None]
        inside = _distinct((inside[:, None] & below[None, :]).reshape(-1, len(X)).astype(int)) > 0
    return _as_signs(inside)


def halfspace_behaviours(X: ArrayLike, *, fit_intercept: bool = True) -> np.ndarray:
    """Behaviours of half-spaces on given points.

    The classifiers are sgn(x'beta + b), or sgn(x'beta) without an intercept, with sgn(0) = -1
    [Shah, eq. (2.9)]. The VC dimension is p + 1 with an intercept and p without one, by
    [Shah, proposition 14] no larger and by the standard basis and 0 no smaller.

    Parameters
    ----------
    X : array-like of shape (n_points, n_features)
        The points. Further columns, such as products, give the classifiers of a vector space of
        functions.

    fit_intercept : bool, default=True
        Whether there is an intercept.

    Returns
    -------
    behaviours : ndarray of shape (n_behaviours, n_points)
        The different behaviours, -1 and 1.

    Raises
    ------
    ValueError
        If `X` is not a finite array of two dimensions.

    See Also
    --------
    halfspace_shattering_coefficient : Their number for points in general position.

    Notes
    -----
    The points are added one after the other. For each behaviour on the points so far one linear
    program decides whether the next point may have the other label, so that the cost is a linear
    program of n rows for each behaviour. It is meant for some tens of points in few dimensions.

    Examples
    --------
    Four points in the plane have all labels but the two of the exclusive or:

    >>> from sklearn_ensemble_theory.bounds import halfspace_behaviours
    >>> len(halfspace_behaviours([[0, 0], [0, 1], [1, 0], [1, 1]]))
    14
    """
    X = checked_rows("X", X)
    if fit_intercept:
        X = np.column_stack([X, np.ones(len(X))])
    # The length of a row does not matter for the sign.
    largest = np.abs(X).max(axis=1, keepdims=True)
    X = X / np.where(largest > 0, largest, 1.0)
    # Point after point: each behaviour, of which beta is a witness, goes on with the sign that beta
    # gives to the new point, and with the other one where a linear program finds a witness of it.
    found = [(np.zeros(0), np.zeros(X.shape[1]))]
    for i, x in enumerate(X):
        extended = []
        for signs, beta in found:
            here = 1.0 if x @ beta > 0 else -1.0
            extended.append((np.append(signs, here), beta))
            other = np.append(signs, -here)
            solution = _separating(X[: i + 1], other)
            if solution is not None:
                extended.append((other, solution))
        found = extended
    return _distinct(np.array([signs for signs, _ in found]))


def _separating(X: np.ndarray, signs: np.ndarray) -> np.ndarray | None:
    """A beta with x'beta >= 1 where the sign is 1 and x'beta <= 0 elsewhere, if there is one."""
    result = linprog(
        np.zeros(X.shape[1]),
        A_ub=-np.where(signs > 0, 1.0, -1.0)[:, None] * X,
        b_ub=np.where(signs > 0, -1.0, 0.0),
        bounds=(None, None),
        method="highs",
    )
    return np.asarray(result.x) if result.status == 0 else None


def vote_behaviours(members: Sequence[ArrayLike], weights: ArrayLike | None = None) -> np.ndarray:
    """Behaviours of majority votes of classifiers, one from each of given classes.

    The vote is sgn(sum_t w_t h_t), with sgn(0) = -1, for all choices of h_t from class t
    [Ghoshdastidar].

    Parameters
    ----------
    members : sequence of arrays of shape (n_behaviours_t, n_points)
        The behaviours of each class, -1 and 1; a class from which several members come is in the
        sequence as often.

    weights : array-like of shape (n_members,), default=None
        The w_t, at least 0. None are equal weights.

    Returns
    -------
    behaviours : ndarray of shape (n_behaviours, n_points)
        The different behaviours of the votes, -1 and 1.

    Raises
    ------
    TypeError
        If `members` is not a sequence.

    ValueError
        If the behaviours are not -1 and 1, on different numbers of points, or the weights are
        negative or of another number.

    See Also
    --------
    voting_vc_dimension_bound : A bound on the VC dimension of votes.

    Notes
    -----
    The sums are formed member by member, and equal ones are removed, so that for equal weights
    there are fewer than products of the numbers of behaviours.

    Examples
    --------
    Three stumps on the line have any labels with at most three changes:

    >>> from sklearn_ensemble_theory.bounds import stump_behaviours, vc_dimension
    >>> from sklearn_ensemble_theory.bounds import vote_behaviours
    >>> stumps = stump_behaviours([[1], [2], [3], [4], [5]])
    >>> vc_dimension(stumps), vc_dimension(vote_behaviours([stumps] * 3))
    (2, 4)
    """
    if not isinstance(members, Sequence | np.ndarray):
        raise TypeError(f"members must be a sequence of arrays, got {members!r}.")
    classes = [checked_rows("members", member) for member in members]
    if len({rows.shape[1] for rows in classes}) != 1 or any(
        not np.isin(rows, (-1.0, 1.0)).all() for rows in classes
    ):
        raise ValueError("members must be arrays of -1 and 1 with the same number of columns.")
    w = checked_numbers("weights", np.ones(len(classes)) if weights is None else weights, 0)
    if w.shape != (len(classes),):
        raise ValueError(f"weights must be one for each member, got {weights!r}.")
    # Equal partial sums are merged after each member: there are far fewer of them than of tuples.
    sums = np.zeros((1, classes[0].shape[1]))
    for weight, rows in zip(w, classes):
        rows = _distinct(rows)
        sums = _distinct((sums[:, None] + weight * rows).reshape(-1, rows.shape[1]))
    return _as_signs(sums > 0)


def _distinct(rows: np.ndarray) -> np.ndarray:
    """The different rows of an array, in lexicographic order."""
    if not rows.shape[1]:
        return rows[:1]
    # Adding 0 turns -0.0 into 0.0.
    return np.unique(rows + 0, axis=0)


def _as_signs(positive: np.ndarray) -> np.ndarray:
    """The different rows of a boolean array, as -1 and 1."""
    return 2.0 * _distinct(positive.astype(int)) - 1.0
