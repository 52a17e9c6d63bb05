"""Averages over disjoint blocks of the rows and over sketches of them."""

import math

from sklearn_ensemble_theory.bounds._arguments import check_number
from sklearn_ensemble_theory.bounds._averaging.bagged_neighbors import (
    independent_neighbors_risk_bound,
)

__all__ = [
    "divide_and_conquer_n_blocks",
    "gaussian_sketch_risk",
    "independent_neighbors_vote_bound",
    "neighbors_vote_n_blocks",
]


def gaussian_sketch_risk(
    n_samples: int,
    n_features: int,
    sketch_size: int,
    n_estimators: int = 1,
    noise_variance: float = 1.0,
) -> float:
    """Expected excess risk of averaged least squares on Gaussian sketches, exactly.

    sigma^2 d/n + sigma^2 d (n-d) / (n m (s-d-1)) for y = X w + noise with n fixed rows of rank d,
    no intercept, and the average of m least-squares fits to S X and S y, where S has s rows of
    independent normal elements. It is the mean squared error of the predictions of these n rows.

    Parameters
    ----------
    n_samples : int
        Number n of rows.

    n_features : int
        Number d of features, or the rank of X if it is smaller; at most n.

    sketch_size : int
        Number s of rows of a sketch, at least d.

    n_estimators : int, default=1
        Number m of sketches.

    noise_variance : float, default=1.0
        Variance sigma^2 of the noise.

    Returns
    -------
    risk : float
        In units of y squared; inf for s = d and s = d + 1 if d < n.

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    Notes
    -----
    [Bach, §10.2.1]. It is at most twice the risk of least squares, sigma^2 d/n, from
    m = (n-d) / (s-d-1) sketches on.

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import gaussian_sketch_risk
    >>> gaussian_sketch_risk(1000, 10, 101, n_estimators=11)
    0.02
    """
    check_number("n_samples", n_samples, 1, integral=True)
    check_number("n_features", n_features, 1, n_samples, integral=True)
    check_number("sketch_size", sketch_size, n_features, integral=True)
    check_number("n_estimators", n_estimators, 1, integral=True)
    check_number("noise_variance", noise_variance, 0)
    n, d, s = n_samples, n_features, sketch_size
    least_squares = noise_variance * d / n
    if n == d or noise_variance == 0:
        return least_squares
    if s <= d + 1:
        return math.inf
    return least_squares * (1 + (n - d) / (n_estimators * (s - d - 1)))


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
    check_number("n_samples", n_samples, 1, integral=True)
    check_number("n_features", n_features, 2, integral=True)
    check_number("n_classes", n_classes, 2, integral=True)
    check_number("lipschitz", lipschitz, 0)
    check_number("diameter", diameter, 0, open_low=True)
    n, d = n_samples, n_features

    def bound(total: int) -> float:
        return independent_neighbors_risk_bound(
            n,
            total,
            d,
            lipschitz=lipschitz,
            diameter=diameter,
            noise_variance=1 - 1 / n_classes,
        )

    if lipschitz == 0:
        return n
    slope = (1 - 1 / n_classes) * d / (16 * (lipschitz * diameter) ** 2)
    best = (slope * (n / 2) ** (2 / d)) ** (d / (d + 2))
    low = min(n, max(1, math.floor(best)))
    return min((low, min(n, low + 1)), key=bound)
