"""Weight of the i-th nearest neighbour in infinitely many bagged k-NN fits [Bach, §10.1.2]."""

import numbers
from typing import Any

import numpy as np

from sklearn_ensemble_theory.averaging._neighbors.rank_laws import RANK_LAWS, RankLaw


def bagged_nearest_neighbors_weights(
    n_samples: int,
    max_samples: int | float,
    n_neighbors: int = 1,
    bootstrap: bool | str = False,
    weight_tol: float = 1e-12,
) -> np.ndarray:
    """Weights by rank of distance that bagging gives to the nearest neighbours of any point.

    ``weights[i - 1]`` is the weight of the i-th nearest of `n_samples` rows in the average of
    infinitely many k-nearest-neighbour fits, each on rows drawn at random. The weights do not
    depend on the data and never increase with the rank.

    Parameters
    ----------
    n_samples : int
        Number n of training rows.

    max_samples : int or float
        Number s of rows drawn (int), or their share of `n_samples` (float in (0, 1], then
        s = max(1, int(share * n))). With `bootstrap="bernoulli"`, the probability q of each row: a
        float is q itself, an int s stands for q = s / n.

    n_neighbors : int, default=1
        Number k of neighbours that each fit averages; at most the number of rows drawn.

    bootstrap : bool or "bernoulli", default=False
        - False: s rows without replacement, the scheme analysed in [Bach, §10.1.2].
        - True: s draws with replacement. A row drawn c times counts as c neighbours, as it does in
          a k-NN fit on the repeated rows.
        - "bernoulli": every row independently with probability q [Ghoshdastidar, theorem En.2].

    weight_tol : float, default=1e-12
        The weights are cut off at the first rank beyond which the others sum to at most this.

    Returns
    -------
    weights : ndarray of shape (n_ranks,)
        Positive weights of ranks 1 to `n_ranks`; about k (n/s) log(1/weight_tol) of them when s is
        large. They sum to one, minus what was cut off (at most `weight_tol`) and, with Bernoulli
        sampling, minus the expected share of the k places that stay empty, E[(k - M)_+] / k with
        M ~ Bin(n, q); for k = 1 that is (1 - q)^n.

    Raises
    ------
    TypeError, ValueError
        If a parameter has the wrong type or is outside its range; the message names the parameter.

    Notes
    -----
    Cost O(k n_ranks) in time, O(n_ranks) in memory. The relative error of a weight stays below
    1e-10 at n = 10^7.

    The estimators give the missing weight to the overall mean of the targets. Where M < k rows are
    drawn under Bernoulli sampling, filling the empty places by the overall mean and averaging the M
    rows that were drawn are the same in expectation: given M, those rows are a uniformly random
    set. The rate of convergence of the bagged nearest neighbour is studied in [Biau, Cérou and
    Guyader, 2010].

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    D. Ghoshdastidar. *Statistical Foundations of Learning*, lecture "Ensemble methods". Technical
    University of Munich.

    G. Biau, F. Cérou and A. Guyader (2010). "On the rate of convergence of the bagged nearest
    neighbor estimate". *Journal of Machine Learning Research* 11.

    Examples
    --------
    >>> from sklearn_ensemble_theory import bagged_nearest_neighbors_weights
    >>> bagged_nearest_neighbors_weights(5, 2).round(12).tolist()
    [0.4, 0.3, 0.2, 0.1]
    >>> len(bagged_nearest_neighbors_weights(10**7, 10**5))
    2749
    """
    _check_arguments(n_samples, max_samples, n_neighbors, bootstrap, weight_tol)
    law = RANK_LAWS[bootstrap]
    size = law.size_from(max_samples, n_samples, n_neighbors)
    return rank_weights(law(n_samples, size, n_neighbors), weight_tol)


def _check_arguments(
    n_samples: Any, max_samples: Any, n_neighbors: Any, bootstrap: Any, weight_tol: Any
) -> None:
    for name, value in (("n_samples", n_samples), ("n_neighbors", n_neighbors)):
        if not isinstance(value, numbers.Integral) or isinstance(value, (bool, np.bool_)):
            raise TypeError(f"{name} must be an int, got {value!r}.")
        if value < 1:
            raise ValueError(f"{name} must be at least 1, got {value}.")
    if not isinstance(max_samples, numbers.Real) or isinstance(max_samples, (bool, np.bool_)):
        raise TypeError(f"max_samples must be an int or a float, got {max_samples!r}.")
    if isinstance(max_samples, numbers.Integral):
        if max_samples < 1:
            raise ValueError(f"max_samples must be at least 1, got {max_samples}.")
    elif not 0 < float(max_samples) <= 1:
        raise ValueError(f"max_samples must be in (0, 1] if it is a float, got {max_samples}.")
    if not isinstance(bootstrap, (bool, np.bool_, str)) or bootstrap not in RANK_LAWS:
        raise ValueError(f"bootstrap must be one of {tuple(RANK_LAWS)}, got {bootstrap!r}.")
    if not isinstance(weight_tol, numbers.Real):
        raise TypeError(f"weight_tol must be a float, got {weight_tol!r}.")
    if not 0 <= float(weight_tol) < 1:
        raise ValueError(f"weight_tol must be in [0, 1), got {weight_tol}.")


def rank_weights(law: RankLaw, tol: float) -> np.ndarray:
    """V_1, ..., V_R, with R the first rank beyond which the weights sum to at most `tol`."""
    # They never increase; the first ones of k > 1 agree to the last digit and may round upwards.
    return np.minimum.accumulate(law.weights(count_ranks(law, tol)))


def count_ranks(law: RankLaw, tol: float) -> int:
    """The smallest R >= 1 such that the weights beyond rank R sum to at most `tol`."""
    unassigned = law.empty_places(law.n_samples)
    low, high = 0, law.n_samples
    while high - low > 1:
        middle = (low + high) // 2
        if law.empty_places(middle) - unassigned <= tol:
            high = middle
        else:
            low = middle
    return high
