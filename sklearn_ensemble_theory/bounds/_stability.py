"""Stability of bagging: how much a prediction changes if one training row is left out.

With f_r the prediction at a point of a member that is fitted to the rows r, f is the mean of f_r
over draws, and f^(-i) that over draws without row i, which is bagging of the other rows. Therefore

    f - f^(-i) = Cov(f_r, 1{i in r}) / (1 - p),    p = P(i in r).

For any learner whatever, as many as K rows can only have a change of more than epsilon if a sum of
K indicators with signs has a variance large enough, which is at most K (p (1 - p) + q) with q =
-Cov(1{i in r}, 1{j in r}); and outputs in a range R have a variance of at most R²/4. This gives
K epsilon² <= R²/4 (p/(1 - p) + q/(1 - p)²) [Soloff, Barber and Willett, 2024].
"""

import math
from typing import Any

from scipy.optimize import minimize_scalar

from ._arguments import check_integer, check_number, in_floats

# The draws in which all rows are alike, and a fit without a row is one of those without it.
LAWS_BY_ROWS = (True, False, "bernoulli", "poisson")


@in_floats
def bagging_stability(
    n_samples: int,
    max_samples: int | float,
    n_estimators: int | None = None,
    *,
    bootstrap: bool | str = True,
    output_range: float = 1.0,
    delta: float = 0.05,
) -> float:
    """Bound on the change of a bagged prediction if a training row is left out, for any learner.

    Leave out one of n training rows. At any point, the mean of infinitely many members changes by
    more than the bound for at most the share `delta` of the rows [Soloff, Barber and Willett,
    2024]:

        bound = R sqrt((p/(1 - p) + q/(1 - p)²) / (4 n delta)),

    with R the range of the outputs, p the probability that a row is drawn for a member, and -q the
    covariance of this event for two rows. For s rows without replacement p = s/n and q = p (1 -
    p)/(n - 1). Nothing is assumed of the rows or of the learner.

    Parameters
    ----------
    n_samples : int
        Number n of training rows, or of groups of them where groups are drawn; at least 2.
    max_samples : int or float
        Number s of rows that are drawn for each member, an int; or a float, the fraction s/n,
        which for draws without replacement is less than 1.
    n_estimators : int, default=None
        Number B of members. None is the mean of infinitely many. For B members the bound is on the
        change from one fit to a second fit without the row, with new draws. It holds with
        probability 1 - `delta` over these draws and a row drawn at random.
    bootstrap : {True, False, "bernoulli", "poisson"}, default=True
        How rows are drawn, as in :class:`~sklearn_ensemble_theory.BaggingRegressor`. The fit to
        n - 1 rows draws as many rows (`True`, `False`), or each with the same probability.
    output_range : float, default=1.0
        Range R of the members' outputs, in their units: 1 for probabilities and votes; for trees
        that predict means of their rows' targets the largest minus the smallest target.
    %(share_delta)s

    Returns
    -------
    epsilon : float
        The bound, in the units of `output_range`, at most R, by which any two outputs differ.

    Raises
    ------
    ValueError
        If an argument is outside its range, or every row is drawn for every member.

    See Also
    --------
    bagging_stable_max_samples : The largest number of rows with a given bound.

    Notes
    -----
    For finite B, the difference of the two means depends on 2 B independent outputs. By Hoeffding's
    inequality it is off by more than R sqrt(ln(2/b)/B) with probability at most b at any row.
    `delta` is divided into a + b such that the sum of the two bounds is least. The paper bounds the
    two means one after the other, by sqrt(2 ln(4/b)/B). For draws without replacement no bound of
    this form has a constant that is smaller by more than a factor; see the paper. The change at the
    worst row, as opposed to a share of the rows, cannot be bounded in such generality.

    R²/4 is the largest variance of outputs in the range. At a point where the standard deviation
    of a member over draws, given the rows, is known to be sigma, `output_range` may be 2 sigma.

    The cost is O(1).

    %(references_Soloff)s

    Examples
    --------
    The votes of infinitely many, and of 1,000 members on halves of 10,000 rows:

    >>> from sklearn_ensemble_theory.bounds import bagging_stability
    >>> round(bagging_stability(10_000, 0.5, bootstrap=False), 4)
    0.0224
    >>> round(bagging_stability(10_000, 0.5, 1000, bootstrap=False), 3)
    0.097
    """
    size = _checked_size(n_samples, max_samples, bootstrap)
    return _stability(n_samples, size, n_estimators, bootstrap, output_range, delta)


@in_floats
def bagging_stable_max_samples(
    n_samples: int,
    stability: float,
    n_estimators: int | None = None,
    *,
    bootstrap: bool | str = True,
    output_range: float = 1.0,
    delta: float = 0.05,
) -> int:
    """Largest number of rows for each member with which bagging of any learner is stable.

    The largest s <= n for which :func:`bagging_stability` is at most `stability`. The cost is O(log
    n).

    Parameters
    ----------
    n_samples : int
        Number n of training rows, or of groups; at least 2.
    stability : float
        The change epsilon asked for, positive, in the units of `output_range`.
    n_estimators : int, default=None
        Number of members; None is infinitely many.
    bootstrap : {True, False, "bernoulli", "poisson"}, default=True
        How rows are drawn. With "bernoulli" and "poisson" s is the expected number.
    output_range : float, default=1.0
        Range of the members' outputs.
    %(share_delta)s

    Returns
    -------
    max_samples : int
        s, at least 1.

    Raises
    ------
    ValueError
        If an argument is outside its range, or if the bound is larger even for s = 1: the message
        says whether more members or more rows are needed.

    See Also
    --------
    bagging_stability : The bound.

    %(references_Soloff)s

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import bagging_stable_max_samples
    >>> bagging_stable_max_samples(1000, 0.05), bagging_stable_max_samples(1000, 0.05, 5000)
    (404, 48)
    """
    check_number("stability", stability, 0, open_low=True)

    def bound(size: int) -> float:
        return _stability(n_samples, size, n_estimators, bootstrap, output_range, delta)

    most = n_samples if bootstrap in (True, "poisson") else n_samples - 1
    _checked_size(n_samples, 1, bootstrap)
    if bound(1) > stability:
        cure = "a larger stability, or more rows"
        if n_estimators is not None:
            endless = _stability(n_samples, 1, None, bootstrap, output_range, delta)
            if endless < stability:
                cure = f"a larger stability than {bound(1):.3g}, or more members"
        raise ValueError(
            f"stability={stability:g} is not guaranteed even if one row is drawn for each of "
            f"{'infinitely many' if n_estimators is None else n_estimators} members, with "
            f"n_samples={n_samples}, delta={delta:g} and outputs of a range of {output_range:g}; "
            f"use {cure}."
        )
    # The bound grows with the number of rows.
    low, high = 1, most + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if bound(middle) <= stability else (low, middle)
    return low


def _stability(
    n: int,
    size: float,
    n_estimators: int | None,
    bootstrap: bool | str,
    output_range: float,
    delta: float,
) -> float:
    check_number("output_range", output_range, 0)
    check_number("delta", delta, 0, 1, open_low=True)
    if delta == 1:
        raise ValueError(f"delta must be less than 1, got {delta!r}.")
    if n_estimators is not None:
        check_integer("n_estimators", n_estimators, 1)
    p, q = _drawn_and_covariance(n, size, bootstrap)
    if p == 1:  # to rounding: nothing is known of a fit without the row
        return output_range
    of_draws = (p / (1 - p) + q / (1 - p) ** 2) / (4 * n)
    if n_estimators is None:
        return output_range * min(1.0, math.sqrt(of_draws / delta))

    def total(share: float) -> float:
        mean = math.sqrt(of_draws / (delta * (1 - share)))
        return mean + math.sqrt(math.log(2 / (delta * share)) / n_estimators)

    # The sum is least at an inner share, on either side of which it grows.
    found = minimize_scalar(total, bounds=(1e-9, 1 - 1e-9), method="bounded")
    return output_range * min(1.0, float(found.fun))


def _drawn_and_covariance(n: int, size: float, bootstrap: bool | str) -> tuple[float, float]:
    """p, the probability that a row is drawn, and q, minus the covariance for two rows."""
    if bootstrap is True:  # (1 - p)² is the probability that neither of two rows is drawn, or more
        without_one, without_two = math.log1p(-1 / n), -math.inf if n == 2 else math.log1p(-2 / n)
        p = -math.expm1(size * without_one)
        return p, math.exp(2 * size * without_one) - math.exp(size * without_two)
    p = -math.expm1(-size / n) if bootstrap == "poisson" else size / n
    if bootstrap is False:
        return p, p * (1 - p) / (n - 1)
    # Draws of no rows are drawn again.
    none = math.exp(-size) if bootstrap == "poisson" else (1 - p) ** n
    return p / (1 - none), p**2 * none / (1 - none) ** 2


def _checked_size(n_samples: int, max_samples: Any, bootstrap: Any) -> float:
    """The number of rows of a member; an error where it is all of them in every member."""
    check_integer("n_samples", n_samples, 2)
    if not isinstance(bootstrap, bool | str) or bootstrap not in LAWS_BY_ROWS:
        raise ValueError(f"bootstrap must be one of {list(LAWS_BY_ROWS)}, got {bootstrap!r}.")
    if isinstance(max_samples, float):
        check_number("max_samples", max_samples, 0, 1, open_low=True)
        size = max_samples * n_samples
        if bootstrap in (True, False):
            size = max(int(size), 1)
    else:
        check_integer("max_samples", max_samples, 1)
        size = max_samples
    if bootstrap in (False, "bernoulli") and size >= n_samples:
        raise ValueError(
            f"max_samples={max_samples!r} of {n_samples} rows with bootstrap={bootstrap!r} is all "
            "of them, so no row is left out of a member; use fewer."
        )
    return size
