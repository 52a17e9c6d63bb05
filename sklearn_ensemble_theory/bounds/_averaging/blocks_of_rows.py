"""Averages over independent data sets and over disjoint blocks of the rows: number and cost."""

import math

import numpy as np
from numpy.typing import ArrayLike

from sklearn_ensemble_theory.bounds._arguments import (
    as_result,
    check_number,
    checked_integers,
    checked_numbers,
    in_floats,
)
from sklearn_ensemble_theory.bounds._averaging.bagged_neighbors import (
    independent_neighbors_risk_bound,
)

__all__ = [
    "divide_and_conquer_cost",
    "divide_and_conquer_n_blocks",
    "independent_neighbors_optimal_n_neighbors",
    "independent_neighbors_vote_bound",
    "neighbors_vote_n_blocks",
]


def divide_and_conquer_cost(
    n_samples: ArrayLike, n_blocks: ArrayLike, exponent: ArrayLike
) -> float | np.ndarray:
    """Cost of fits to m blocks of n/m rows, for an estimator of cost n^b: n^b m^(1-b).

    It decreases with m if b > 1 and is n for one row in each block. The best number of blocks is
    therefore the largest one whose average still has the error that is aimed at.

    Parameters
    ----------
    n_samples : int or array-like of int
        Number n of rows of all blocks together.

    n_blocks : int or array-like of int
        Number m of blocks, from 1 to n.

    exponent : float or array-like of float
        Exponent b of the cost of a fit, at least 1; for example 3 for kernel ridge regression by a
        decomposition of the kernel matrix.

    Returns
    -------
    cost : float or ndarray of float
        In units of the cost of a fit to one row. One fit to all rows costs n^b. Of m processes that
        fit one block each, every one takes the m-th part.

    Raises
    ------
    ValueError
        If an argument is outside its range.

    See Also
    --------
    divide_and_conquer_n_blocks : The largest number of blocks for nearest neighbours.

    Notes
    -----
    The first answer to [Bach, exercise 10.2].

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import divide_and_conquer_cost
    >>> divide_and_conquer_cost(1000, [1, 10], exponent=3) / 1e9
    array([1.  , 0.01])
    """
    n = checked_integers("n_samples", n_samples, 1)
    m = checked_integers("n_blocks", n_blocks, 1)
    b = checked_numbers("exponent", exponent, 1)
    if np.any(m > n):
        raise ValueError(f"n_blocks must be at most n_samples={n_samples!r}, got {n_blocks!r}.")
    with np.errstate(over="ignore"):  # to inf
        return as_result(m * (n / m) ** b)


def divide_and_conquer_n_blocks(n_samples: int, n_features: int) -> int:
    """Largest number of blocks of n rows for which nearest neighbours keep the optimal rate.

    m = n^(2/(d+2)), rounded down: blocks of n' = n^(d/(d+2)) rows, which are n'^(2/d) in number.
    With more blocks the best number of neighbours in each would be below one [Bach, §10.1.1]. For
    an estimator of cost O(n^b), m blocks cost m^(1-b) times one fit to all rows, which decreases
    with m for every b > 1, so the largest m is also the best one [Bach, exercise 10.2].

    Parameters
    ----------
    n_samples : int
        Number n of rows of all blocks together.

    n_features : int
        Dimension d of the inputs.

    Returns
    -------
    n_blocks : int
        From 1 to n.

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    See Also
    --------
    neighbors_vote_n_blocks : With the constants of the bound, for classification.

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import divide_and_conquer_n_blocks
    >>> divide_and_conquer_n_blocks(10_000, 2), divide_and_conquer_n_blocks(10_000, 10)
    (100, 4)
    """
    check_number("n_samples", n_samples, 1, integral=True)
    check_number("n_features", n_features, 1, integral=True)
    return max(1, math.floor(n_samples ** (2 / (n_features + 2)) * (1 + 1e-12)))


@in_floats
def independent_neighbors_optimal_n_neighbors(
    n_samples: int,
    n_features: int,
    n_estimators: int = 1,
    *,
    lipschitz: float = 1.0,
    diameter: float = 1.0,
    noise_variance: float = 1.0,
) -> int:
    """Return the number of neighbours that minimises the bound on averages over m data sets.

    The bound is :func:`~sklearn_ensemble_theory.bounds.independent_neighbors_risk_bound`. The
    optimal k grows as n^(2/(d+2)) m^(-d/(d+2)), up to rounding. It is one from
    m = d sigma^2 (n/2)^(2/d) / (16 B^2 diam^2) data sets on, and more of them then no longer reduce
    the bound at the rate of n m rows.

    Parameters
    ----------
    n_samples : int
        Number n of rows of each data set.

    n_features : int
        Dimension d of the inputs, at least 2.

    n_estimators : int, default=1
        Number m of data sets.

    lipschitz : float, default=1.0
        Lipschitz constant B of the regression function.

    diameter : float, default=1.0
        Diameter of the set that the inputs come from.

    noise_variance : float, default=1.0
        Bound sigma^2 on the variance of y given x.

    Returns
    -------
    n_neighbors : int
        The number k, from 1 to n. With one data set, it is also the largest number of blocks of
        its rows, with one neighbour in each, that have the smallest bound.

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    Notes
    -----
    The bound is that of [Bach, §10.1.1], with the variance divided by m. It decreases up to the k
    with k^(1 + 2/d) = d sigma^2 (n/2)^(2/d) / (16 m B^2 diam^2) and increases from there. O(1).

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import independent_neighbors_optimal_n_neighbors
    >>> [independent_neighbors_optimal_n_neighbors(10_000, 2, m) for m in (1, 4, 100)]
    [25, 13, 3]
    """

    def bound(k: int) -> float:
        return independent_neighbors_risk_bound(
            n_samples,
            k,
            n_features,
            n_estimators,
            lipschitz=lipschitz,
            diameter=diameter,
            noise_variance=noise_variance,
        )

    bound(1)  # checks the arguments
    n, d = int(n_samples), n_features
    slope = 16 * (lipschitz * diameter) ** 2 * n_estimators
    if slope == 0:
        return n if noise_variance > 0 else 1
    best = (d * noise_variance / slope * (n / 2) ** (2 / d)) ** (d / (d + 2))
    low = math.floor(min(n, max(1.0, best)))
    return min((low, min(n, low + 1)), key=bound)


@in_floats
def independent_neighbors_vote_bound(
    n_samples: int,
    n_neighbors: int,
    n_features: int,
    n_estimators: int = 1,
    *,
    n_classes: int = 2,
    lipschitz: float = 1.0,
    diameter: float = 1.0,
) -> float:
    """Bound on the excess error of a vote of k-NN over m independent data sets.

    sqrt(2 v) with v = (1 - 1/C) / (k m) + 8 B^2 diam^2 (2k/n)^(2/d), a bound on the mean squared
    distance between the shares of the m k neighbours in the C classes and the class probabilities.
    The class of the largest share has an error of at most sqrt(2 v) above the smallest possible.

    Parameters
    ----------
    n_samples : int
        Number n of rows of each data set.

    n_neighbors : int
        Number k of neighbours in each, at most n.

    n_features : int
        Dimension d of the inputs, at least 2.

    n_estimators : int, default=1
        Number m of data sets.

    n_classes : int, default=2
        Number C of classes, at least 2.

    lipschitz : float, default=1.0
        Lipschitz constant B of the vector of class probabilities, in the Euclidean norm.

    diameter : float, default=1.0
        Diameter of the set that the inputs come from.

    Returns
    -------
    bound : float
        On a probability; it may exceed 1.

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    Notes
    -----
    For [Bach, exercise 10.1], with the bound of [Bach, §10.1.1] on squared errors: the indicators
    of the classes have a total variance of at most 1 - 1/C. It depends on m and k by m k and by k/n
    only. It is a vote of all m k neighbours; the vote of the m majorities is the same for k = 1.

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import independent_neighbors_vote_bound
    >>> round(independent_neighbors_vote_bound(10_000, 1, 2, n_estimators=50), 3)
    0.152
    """
    check_number("n_classes", n_classes, 2, integral=True)
    squared = independent_neighbors_risk_bound(
        n_samples,
        n_neighbors,
        n_features,
        n_estimators,
        lipschitz=lipschitz,
        diameter=diameter,
        noise_variance=1 - 1 / n_classes,
    )
    return math.sqrt(2 * squared)


@in_floats
def neighbors_vote_n_blocks(
    n_samples: int,
    n_features: int,
    *,
    n_classes: int = 2,
    lipschitz: float = 1.0,
    diameter: float = 1.0,
) -> int:
    """Best number of blocks of n rows for a majority vote of nearest neighbours, one in each.

    Blocks of n/m rows with k neighbours each have the bound of
    :func:`~sklearn_ensemble_theory.bounds.independent_neighbors_vote_bound`, which depends on
    K = m k only. Every m up to the best K, with k = K/m, is equally good; the largest one, m = K
    with k = 1, is returned. It costs least, and the vote of majorities is then that of all
    neighbours. More blocks are worse, because one neighbour in each already smooths too much.

    Parameters
    ----------
    n_samples : int
        Number n of rows of all blocks together.

    n_features : int
        Dimension d of the inputs, at least 2.

    n_classes : int, default=2
        Number C of classes, at least 2.

    lipschitz : float, default=1.0
        Lipschitz constant B of the vector of class probabilities.

    diameter : float, default=1.0
        Diameter of the set that the inputs come from.

    Returns
    -------
    n_blocks : int
        From 1 to n; it grows as n^(2/(d+2)).

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    Notes
    -----
    The answer to [Bach, exercise 10.1], in O(1): the bound on the squared error,
    a/K + 8 B^2 diam^2 (2K/n)^(2/d) with a = 1 - 1/C, has its minimum where
    K^(1 + 2/d) = a d (n/2)^(2/d) / (16 B^2 diam^2).

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import neighbors_vote_n_blocks
    >>> neighbors_vote_n_blocks(10_000, 2), neighbors_vote_n_blocks(1_000_000, 2)
    (18, 177)
    """
    check_number("n_classes", n_classes, 2, integral=True)
    return independent_neighbors_optimal_n_neighbors(
        n_samples,
        n_features,
        lipschitz=lipschitz,
        diameter=diameter,
        noise_variance=1 - 1 / n_classes,
    )
