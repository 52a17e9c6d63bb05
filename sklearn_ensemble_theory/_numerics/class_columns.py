"""Columns for the classes of one learner as columns for those of an ensemble."""

import numpy as np

__all__ = ["aligned_columns"]


def aligned_columns(
    values: np.ndarray, places: np.ndarray, n_classes: int, fill: float = 0.0
) -> np.ndarray:
    """Columns for some of the classes as columns for all of them.

    Parameters
    ----------
    values : array of shape (n, k)
    places : int array of shape (k,)
        The positions of the columns among the classes, increasing.
    n_classes : int
    fill : float, default=0.0
        The value for the other classes.
    """
    if len(places) == n_classes:  # both are sorted
        return values
    aligned = np.full((len(values), n_classes), fill, dtype=values.dtype)
    aligned[:, np.asarray(places, dtype=np.intp)] = values
    return aligned
