"""Intervals are weakly learned by decision stumps [Ghoshdastidar]."""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sklearn_ensemble_theory.bounds._arguments import (
    as_result,
    check_number,
    checked_numbers,
    in_floats,
)
from sklearn_ensemble_theory.bounds._complexity.vote_complexity import voting_generalization_bound

__all__ = ["interval_stump_edge_bound", "interval_stump_error"]


@in_floats
def interval_stump_error(left: ArrayLike, middle: ArrayLike, right: ArrayLike) -> Any:
    """The least error of a decision stump whose labels are those of an interval.

    The labels are b inside (s, t) and -b outside. A stump is constant on both sides of one
    threshold, so that it errs on one of the three parts of the line, and the best stump on the
    part of least probability: the error is min(left, middle, right), at most 1/3 [Ghoshdastidar].

    Parameters
    ----------
    left, middle, right : array-like
        Probabilities of the parts of the line before, in and after the interval, or weights of
        their rows. Not negative; they need not sum to 1.

    Returns
    -------
    error : float or ndarray
        The least share of a part, at most 1/3.

    Raises
    ------
    ValueError
        If a probability is negative, or if all three are 0.

    See Also
    --------
    interval_stump_edge_bound : The edge of the stump that is found on a sample.

    Notes
    -----
    The edge 1/2 - error of the best stump is at least 1/6 for any weights of the rows. By
    `adaboost_n_rounds`, boosting these stumps makes no error on n rows after 18 ln n rounds; a vote
    of three stumps, with the thresholds s and t and a constant, is the interval.

    References
    ----------
    D. Ghoshdastidar. *Statistical Foundations of Learning*, lecture "Ensemble methods". Technical
    University of Munich.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import interval_stump_error
    >>> interval_stump_error(0.5, 0.3, 0.2)
    0.2
    """
    parts = np.broadcast_arrays(
        checked_numbers("left", left, 0.0),
        checked_numbers("middle", middle, 0.0),
        checked_numbers("right", right, 0.0),
    )
    largest = np.max(parts, axis=0)
    if not np.all(largest > 0):
        raise ValueError("left, middle and right must not all be 0.")
    return as_result(np.min(parts, axis=0) / largest / np.sum(parts / largest, axis=0))


def interval_stump_edge_bound(n_samples: int, delta: float = 0.05) -> float:
    """Bound on the edge of the stump with the least training error, for labels of an interval.

    With probability at least 1 - delta over n independent rows, the error of that stump on new rows
    is at most 1/2 minus

        1/6 - 2 sqrt(2 (ln Phi_2(2n) + ln(4/delta)) / n) - sqrt(ln(2/delta) / (2n)).

    Parameters
    ----------
    n_samples : int
        Number n of rows.
    delta : float, default=0.05
        Probability of failure, in (0, 1].

    Returns
    -------
    edge : float
        The edge, below 1/6. It says nothing where it is 0 or less, as it is for 5,000 rows.

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    See Also
    --------
    interval_stump_error : The least error of a stump, at most 1/3.

    Notes
    -----
    [Ghoshdastidar] takes so many rows that the error of the stump found is within 1/12 of the
    least, which leaves an edge of 1/12. Here that difference is bounded: the
    stumps of both signs have VC dimension 2 (`voting_generalization_bound` at delta/2), and the
    training error of the best stump exceeds its error by what Hoeffding's inequality allows.

    References
    ----------
    D. Ghoshdastidar. *Statistical Foundations of Learning*, lecture "Ensemble methods". Technical
    University of Munich.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import interval_stump_edge_bound
    >>> round(interval_stump_edge_bound(100_000), 4)
    0.115
    """
    check_number("n_samples", n_samples, 1, integral=True)
    check_number("delta", delta, 0, 1, open_low=True)
    deviation = voting_generalization_bound(n_samples, 2, delta / 2.0)
    return 1.0 / 6.0 - deviation - math.sqrt(math.log(2.0 / delta) / (2.0 * n_samples))
