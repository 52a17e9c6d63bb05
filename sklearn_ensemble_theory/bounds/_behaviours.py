"""Behaviours of classes of functions on given points, and how many points they shatter.

A behaviour is the vector of values of one function at the points, a row of an array; the growth
function and the VC dimension of a class are counts of its behaviours [Shah, §2.5]. All of them are
enumerated, for classes in which that is possible.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from scipy.optimize import linprog

from sklearn_ensemble_theory._typing import ArrayLike

from ._arguments import check_integer, check_option, checked_numbers, checked_rows


def behaviours(classifiers: str, X: ArrayLike) -> np.ndarray:
    """All behaviours of a class of classifiers on given points.

    The costs are O(n^3 log n) for intervals and O(p n^2 log(p n)) for stumps. For orthants they are
    O(p n^2) times the number of behaviours, up to logarithms. Half-spaces take a linear program of
    n rows for each behaviour, and are meant for some tens of points in few dimensions. Indicator
    functions, with values 0 and 1, have half the Rademacher complexity.

    Parameters
    ----------
    classifiers : str
        The class:

        - "intervals": 1 in an interval [a, b) and -1 outside, on the line [Shah, §2.5]. On n
          different points there are n (n + 1) / 2 + 1 behaviours; the VC dimension is 2.
        - "signed_intervals": these and their negatives, as in [Ghoshdastidar]. There are
          n (n - 1) + 2 behaviours; the VC dimension is 3.
        - "stumps": sgn(x_j - a) and sgn(a - x_j), for all features j and thresholds a
          [Shah, §4.2]. There are at most 2 p (n - 1) + 2 behaviours; the VC dimension is
          `stump_vc_dimension`.
        - "orthants": 1 in a product of intervals (-inf, a_j] and -1 outside [Shah, §2.5]. There are
          at most (n + 1)^p behaviours; the VC dimension is p.
        - "halfspaces": sgn(x'beta + b) with sgn(0) = -1 [Shah, eq. (2.9)]. The VC dimension d is
          p + 1, by [Shah, proposition 14] no larger and by the standard basis and 0 no smaller.
          On points in general position there are 2 sum_{i < d} (n - 1 choose i) behaviours, twice
          ``sauer_shelah_bound(n - 1, d - 1)``, and on no points more [Cover, 1965].
        - "linear_halfspaces": the same without the intercept b, and d = p.
    X : array-like of shape (n_points, n_features)
        The points; for intervals also of shape (n_points,). Further columns, such as products, make
        of half-spaces the classifiers of a vector space of functions.

    Returns
    -------
    behaviours : ndarray of shape (n_behaviours, n_points)
        The different behaviours, -1 and 1.

    %(raises)s

    See Also
    --------
    vote_behaviours : Of majority votes of such classifiers.
    shattering_coefficient : The number of behaviours.
    stump_rademacher_complexity : That of stumps, without a list of their behaviours.

    References
    ----------
    T. M. Cover (1965). "Geometrical and statistical properties of systems of linear inequalities
    with applications in pattern recognition". *IEEE Transactions on Electronic Computers*.

    Examples
    --------
    Four points in the plane have all labels but the two of the exclusive or:

    >>> from sklearn_ensemble_theory.bounds import behaviours
    >>> len(behaviours("halfspaces", [[0, 0], [0, 1], [1, 0], [1, 1]]))
    14
    >>> behaviours("intervals", [0.2, 0.7])
    array([[-1., -1.],
           [-1.,  1.],
           [ 1., -1.],
           [ 1.,  1.]])
    """
    check_option("classifiers", classifiers, CLASSES)
    if classifiers.endswith("intervals") and np.ndim(X) == 1:
        X = checked_numbers("X", X)[:, None]
    return CLASSES[classifiers](checked_rows("X", X))


def _intervals(X: np.ndarray, *, signed: bool = False) -> np.ndarray:
    if X.shape[1] != 1:
        raise ValueError(f"X must have one column for intervals, got {X.shape[1]}.")
    points = X[:, 0]
    # Points from one threshold on that are not from another one on.
    above = points >= np.append(np.unique(points), np.inf)[:, None]
    inside = (above[:, None] & ~above[None, :]).reshape(-1, len(points))
    return _as_signs(np.vstack([inside, ~inside]) if signed else inside)


def _stumps(X: np.ndarray) -> np.ndarray:
    above = np.vstack([x > np.append(np.unique(x), -np.inf)[:, None] for x in X.T])
    return _as_signs(np.vstack([above, ~above]))


def _orthants(X: np.ndarray) -> np.ndarray:
    inside = np.ones((1, len(X)), dtype=bool)
    for x in X.T:
        below = x <= np.append(np.unique(x), -np.inf)[:, None]
        inside = _distinct((inside[:, None] & below[None, :]).reshape(-1, len(X)).astype(int)) > 0
    return _as_signs(inside)


def _halfspaces(X: np.ndarray, *, fit_intercept: bool = True) -> np.ndarray:
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
            # x'beta >= 1 where the sign is 1, and x'beta <= 0 elsewhere.
            result = linprog(
                np.zeros(X.shape[1]),
                A_ub=-np.where(other > 0, 1.0, -1.0)[:, None] * X[: i + 1],
                b_ub=np.where(other > 0, -1.0, 0.0),
                bounds=(None, None),
                method="highs",
            )
            if result.status == 0:
                extended.append((other, np.asarray(result.x)))
        found = extended
    return _distinct(np.array([signs for signs, _ in found]))


CLASSES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "intervals": _intervals,
    "signed_intervals": partial(_intervals, signed=True),
    "stumps": _stumps,
    "orthants": _orthants,
    "halfspaces": _halfspaces,
    "linear_halfspaces": partial(_halfspaces, fit_intercept=False),
}


def shattering_coefficient(behaviours: ArrayLike, n_points: int | None = None) -> int:
    """Largest number of behaviours of a class on some of the given points, or on all of them.

    The behaviour of a function h on points x_1, ..., x_n is (h(x_1), ..., h(x_n))
    [Shah, definition 4]. This is the largest number of different behaviours over all choices of
    `n_points` of the points. It is a lower bound on the shattering coefficient s(H, n_points) of
    the class [Shah, definition 5], and equal to it if some choice of the points attains it. All
    choices are tried; for k functions the cost of each is O(n k log k).

    Parameters
    ----------
    %(list_of_behaviours)s
    n_points : int, default=None
        Number of points that are chosen, from 0 to all. None counts the behaviours on all points.

    Returns
    -------
    coefficient : int
        The largest number.

    %(raises)s

    See Also
    --------
    sauer_shelah_bound : A bound by the VC dimension.

    Examples
    --------
    >>> import sklearn_ensemble_theory.bounds as bounds
    >>> intervals = bounds.behaviours("intervals", [1, 2, 3, 4, 5])
    >>> bounds.shattering_coefficient(intervals), bounds.shattering_coefficient(intervals, 3)
    (16, 7)
    """
    rows = _distinct(checked_rows("behaviours", behaviours))
    if n_points is None:
        return len(rows)
    check_integer("n_points", n_points, 0, rows.shape[1])
    choices = itertools.combinations(range(rows.shape[1]), n_points)
    return max(len(_distinct(rows[:, list(chosen)])) for chosen in choices)


def vc_dimension(behaviours: ArrayLike) -> int:
    """Largest number of the given points that a class of classifiers shatters.

    Points are shattered if the class has all 2^n behaviours on them. The number is a lower bound on
    the VC dimension of the class [Shah, definition 5], and equal to it if the points contain as
    many as it has that are shattered. A set of points is only tried if it is without its last point
    a shattered one. For dimension d the cost is O(n^(d+1) k) with k the number of behaviours.

    Parameters
    ----------
    behaviours : array-like of shape (n_functions, n_points)
        A row for each classifier of the class, its values on the points. There are at most two
        different values.

    Returns
    -------
    dimension : int
        The largest number of points that are shattered; 0 if there is one behaviour only.

    %(raises)s

    See Also
    --------
    voting_vc_dimension_bound : A bound for votes of several classifiers.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import behaviours, vc_dimension
    >>> vc_dimension(behaviours("stumps", [[1.0], [2.0], [3.0], [4.0]]))
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


def stump_vc_dimension(n_features: int) -> int:
    """VC dimension of decision stumps over p features.

    It is the largest N for which (N choose floor(N/2)) is at most 2p [Gey, 2018]: 2, 3, 4, 4, 5 for
    p = 1 to 5, and about log2(p) for large p. The stumps are those of [Shah, §4.2]. It cannot be
    larger. There are at most two ways in which the stumps of a feature label floor(N/2) of N points
    1 and the others -1: the points with the smallest or the largest values.

    Parameters
    ----------
    n_features : int
        Number p of features, at least 1.

    Returns
    -------
    dimension : int
        The dimension.

    %(raises)s

    See Also
    --------
    voting_vc_dimension_bound : A bound for votes of stumps.

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


def vote_behaviours(members: Sequence[ArrayLike], weights: ArrayLike | None = None) -> np.ndarray:
    """Behaviours of majority votes of classifiers, one from each of given classes.

    The vote is sgn(sum_t w_t h_t), with sgn(0) = -1, for all choices of h_t from class t
    [Ghoshdastidar]. The sums are formed member by member, and equal sums are removed. For equal
    weights there are therefore fewer than products of the numbers of behaviours.

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

    Examples
    --------
    Three stumps on the line have any labels with at most three changes:

    >>> from sklearn_ensemble_theory.bounds import behaviours, vc_dimension, vote_behaviours
    >>> stumps = behaviours("stumps", [[1], [2], [3], [4], [5]])
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
