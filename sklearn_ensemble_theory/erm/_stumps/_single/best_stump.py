"""The best stump by a single search, which holds a few sorted columns at a time."""

from collections.abc import Callable
from typing import Any

import numpy as np

from sklearn_ensemble_theory._learners import Task
from sklearn_ensemble_theory.erm._stumps.rounds import OBJECTIVES, StumpClasses
from sklearn_ensemble_theory.erm._stumps.split_search import PLAIN_ROWS, TIE_TOLERANCE, Split

# Columns that are sorted at a time.
SEARCH_COLUMNS = 4
# Rows that tell which columns are sorted first.
SAMPLE_ROWS = 1024


def best_stump(
    X: np.ndarray,
    target: np.ndarray | None,
    weight: np.ndarray,
    task_of: Callable[[slice], Task],
    max_bins: int | None,
    stumps: StumpClasses,
) -> tuple[Split, Any, Any]:
    """The best split and what its two sides return (classes as codes): a single search.

    A few columns at a time are sorted, so that the memory does not grow with their number. The
    codes and positions of the split are those among these columns.

    Parameters
    ----------
    X : float array of shape (n, p)
    target : float array of shape (n,) or None
        At most about 1 in size about its mean; None for classes.
    weight : float array of shape (n,)
        Positive, of sum 1.
    task_of : callable
        ``task_of(rows)`` is the `LeastSquaresTask` or `ClassTask` over a slice of the rows.
    max_bins : int or None
    stumps : StumpClasses
    """
    task = task_of(slice(None))
    objective = OBJECTIVES[task.kind](task, stumps)
    n, p = X.shape
    if n <= PLAIN_ROWS or max_bins is not None:  # binned columns take little memory
        return objective.search(objective.index(X, weight, max_bins), target, weight, None)
    # The most promising columns first: the others are then hardly searched, only sorted.
    columns = _most_promising_first(X, target, weight, task_of, stumps)
    found, least = [], -np.inf
    for first in range(0, p, SEARCH_COLUMNS):
        chosen = np.sort(columns[first : first + SEARCH_COLUMNS])
        index = objective.index(np.asfortranarray(X[:, chosen]), weight, None)
        index.least_gain = least
        split, left, right = objective.search(index, target, weight, None)
        found.append((split._replace(feature=int(chosen[split.feature])), left, right))
        least = max(least, split.gain)
        del index  # before the next one takes its memory
    # The first feature among those as good as the best up to rounding; the constant is the first.
    near = [one for one in found if one[0].gain >= least - TIE_TOLERANCE]
    constant = [one for one in near if not np.isfinite(one[0].threshold)]
    if constant:
        split, left, right = constant[0]
        return split._replace(feature=0), left, right
    return min(near, key=lambda one: one[0].feature)


def _most_promising_first(
    X: np.ndarray,
    target: np.ndarray | None,
    weight: np.ndarray,
    task_of: Callable[[slice], Task],
    stumps: StumpClasses,
) -> np.ndarray:
    """The columns of X, ordered by the gains of the best stumps for a few of the rows."""
    rows = slice(None, None, len(X) // SAMPLE_ROWS)
    X, weight = np.asfortranarray(X[rows]), weight[rows] / weight[rows].sum()
    target = None if target is None else target[rows]
    task = task_of(rows)
    few = OBJECTIVES[task.kind](task, stumps)
    gains = []
    for j in range(X.shape[1]):
        index = few.index(X[:, j : j + 1], None, None)
        gains.append(few.search(index, target, weight, None)[0].gain)
    return np.argsort(-np.array(gains), kind="stable")
