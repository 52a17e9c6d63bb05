"""Guarantees of prediction intervals."""

from numbers import Real

__all__ = ["jackknife_plus_coverage_bound"]


def jackknife_plus_coverage_bound(alpha: float) -> float:
    """Bound on the coverage of the jackknife+ after bootstrap, for any distribution of the data.

    An interval from the floor(alpha (n + 1))-th smallest mu_i(x) - R_i to the
    ceil((1 - alpha) (n + 1))-th smallest mu_i(x) + R_i, where mu_i is the mean of the members that
    are not fitted to row i and R_i the absolute residual of row i from it, covers the target of a
    new row with a probability of at least 1 - 2 alpha.

    Parameters
    ----------
    alpha : float
        One minus the coverage aimed at, in (0, 1).

    Returns
    -------
    coverage : float
        The bound, max(0, 1 - 2 alpha): over draws of the training rows, of the members and of the
        new row.

    Raises
    ------
    ValueError
        If `alpha` is not in (0, 1).

    Notes
    -----
    The training rows and the new row have to be exchangeable, the learner has to treat its rows
    alike, and the number of members has to be drawn from a binomial distribution: of any number of
    trials, with the probability that a row is not among those of a member on n + 1 rows, which is
    (1 - 1/(n + 1))^s for s draws with replacement and 1 - s/(n + 1) without. With a fixed number,
    which is usual, the bound holds approximately if there are many members. In practice the
    coverage is close to 1 - alpha; there are distributions where it is close to the bound
    [Barber, Candès, Ramdas and Tibshirani, 2021]. The cost is O(1).

    References
    ----------
    B. Kim, C. Xu and R. F. Barber (2020). "Predictive inference is free with the jackknife+ after
    bootstrap". *Advances in Neural Information Processing Systems* 33.

    R. F. Barber, E. J. Candès, A. Ramdas and R. J. Tibshirani (2021). "Predictive inference with
    the jackknife+". *Annals of Statistics* 49.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import jackknife_plus_coverage_bound
    >>> jackknife_plus_coverage_bound(0.1)
    0.8
    """
    if not isinstance(alpha, Real) or not 0 < alpha < 1:
        raise ValueError(f"alpha must be a number in (0, 1), got {alpha!r}.")
    return max(0.0, 1.0 - 2.0 * float(alpha))
