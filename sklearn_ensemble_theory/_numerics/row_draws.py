"""Rows drawn without replacement, as scikit-learn's gradient boosting draws them."""

import numpy as np

from sklearn_ensemble_theory._compat import random_sample_mask

__all__ = ["drawn_rows"]


def drawn_rows(random_state: np.random.RandomState, n: int, m: int) -> np.ndarray:
    """m of n rows, every set of m rows with the same probability. O(n).

    Row i is drawn with probability (m - rows drawn so far) / (n - i): Knuth's algorithm S. The
    generator draws n numbers, so that the same seed gives the rows of scikit-learn's classes.

    Parameters
    ----------
    random_state : RandomState
    n, m : int
        m is at most n.

    Returns
    -------
    rows : int array of shape (m,)
        In increasing order.
    """
    if random_sample_mask is not None:
        return np.flatnonzero(random_sample_mask(n, m, random_state))
    return selected_rows(random_state.uniform(size=n), m)


def selected_rows(uniform: np.ndarray, m: int) -> np.ndarray:
    """The rows that algorithm S selects with these uniform numbers."""
    n = len(uniform)
    rows: list[int] = []
    for i, number in enumerate(uniform.tolist()):
        if number * (n - i) < m - len(rows):
            rows.append(i)
    return np.array(rows, dtype=np.intp)
