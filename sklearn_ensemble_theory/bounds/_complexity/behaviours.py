"""Behaviours of a class of functions on given points: their number, and shattering [Shah, §2.5]."""

import itertools

import numpy as np
from numpy.typing import ArrayLike

from sklearn_ensemble_theory.bounds._arguments import check_number, checked_rows

__all__ = ["n_behaviours", "shattering_coefficient", "vc_dimension"]


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

    References
    ----------
    R. D. Shah. *Mathematics of Machine Learning*, lecture notes. University of Cambridge.

    Examples
    --------
    Intervals on five points:

    >>> from sklearn_ensemble_theory.bounds import interval_behaviours, n_behaviours
    >>> n_behaviours(interval_behaviours([1, 2, 3, 4, 5]))
    16
    """
    return len(distinct(checked_rows("behaviours", behaviours)))


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

    References
    ----------
    R. D. Shah. *Mathematics of Machine Learning*, lecture notes. University of Cambridge.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import interval_behaviours, shattering_coefficient
    >>> shattering_coefficient(interval_behaviours([1, 2, 3, 4, 5]), 3)
    7
    """
    rows = distinct(checked_rows("behaviours", behaviours))
    check_number("n_points", n_points, 0, rows.shape[1], integral=True)
    choices = itertools.combinations(range(rows.shape[1]), n_points)
    return max(len(distinct(rows[:, list(chosen)])) for chosen in choices)


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

    References
    ----------
    R. D. Shah. *Mathematics of Machine Learning*, lecture notes. University of Cambridge.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import stump_behaviours, vc_dimension
    >>> vc_dimension(stump_behaviours([[1.0], [2.0], [3.0], [4.0]]))
    2
    """
    rows = checked_rows("behaviours", behaviours)
    if len(np.unique(rows)) > 2:
        raise ValueError("behaviours must have at most two different values.")
    bits = distinct((rows == rows.max()).astype(np.int64))
    n = bits.shape[1]
    # Shattered sets of one size, with the codes of the behaviours on each of them.
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


def distinct(rows: np.ndarray) -> np.ndarray:
    """The different rows of an array, in lexicographic order."""
    if not rows.shape[1]:
        return rows[:1]
    # Adding 0 turns -0.0 into 0.0.
    return np.unique(rows + 0, axis=0)
