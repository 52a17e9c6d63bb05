"""Medians of the learners' predictions, weighted by the learners' coefficients."""

from collections.abc import Iterator

import numpy as np


def weighted_median(predictions: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The smallest prediction of a row up to which the learners have half of all weight.

    Parameters
    ----------
    predictions : array of shape (n, T)
    weights : array of shape (T,)

    Returns
    -------
    medians : array of shape (n,)
    """
    order = np.argsort(predictions, axis=1)
    # The weights are added up in the order of the predictions, as in scikit-learn.
    reached = np.cumsum(weights[order], axis=1)
    first = (reached >= 0.5 * reached[:, -1:]).argmax(axis=1)
    rows = np.arange(len(predictions))
    return predictions[rows, order[rows, first]]


def staged_weighted_medians(
    predictions: Iterator[np.ndarray], weights: np.ndarray
) -> Iterator[np.ndarray]:
    """The medians of the first 1, 2, ..., T learners. O(n T) a round, with one array of (n, T).

    Parameters
    ----------
    predictions : iterator of T arrays of shape (n,)
    weights : array of shape (T,)
    """
    known: np.ndarray | None = None
    for t, one in enumerate(predictions, 1):
        if known is None:
            known = np.empty((len(one), len(weights)))
        known[:, t - 1] = one
        yield weighted_median(known[:, :t], weights[:t])
