"""Sample weights as the algorithms need them."""

import numpy as np


def normalised_weights(sample_weight, n):
    """Weights that sum to 1; divided by the largest first, so that 1e300 does not overflow.

    Raises
    ------
    ValueError
        If no weight is positive.
    """
    if sample_weight is None:
        return np.full(n, 1.0 / n)
    top = np.max(sample_weight)
    if not top > 0:
        raise ValueError("sample_weight must be positive for at least one row.")
    weight = sample_weight / top
    return weight / weight.sum()


def positive_rows(weight):
    """The rows that count: a slice of all, or an index; a row of weight 0 is as good as absent."""
    positive = weight > 0
    return slice(None) if positive.all() else np.flatnonzero(positive)
