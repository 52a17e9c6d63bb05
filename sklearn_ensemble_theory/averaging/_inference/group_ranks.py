"""Order statistics over the rows of groups, of which each group has the same share.

A row of a new group is to be compared with G groups of n_1, ..., n_G rows. If the groups are
exchangeable, the rows of group g count 1/((G + 1) n_g) each, and the new row 1/(G + 1)
[Lee, Barber and Willett, 2023].
"""

import numpy as np

from sklearn_ensemble_theory.averaging._inference.order_statistics import OutsideMasks

# Entries of the masks that are held as numbers at once: 64 MB.
ENTRIES = 2**23


def hierarchical_shares(groups: np.ndarray) -> np.ndarray:
    """1/((G + 1) n_g) for each row, from the codes of the groups."""
    sizes = np.bincount(groups)
    return 1 / (sizes[groups] * (np.count_nonzero(sizes) + 1))


def weighted_ranks(values: np.ndarray, shares: np.ndarray, level: float) -> np.ndarray:
    """The smallest value of each row of `values` up to which the shares sum to `level`.

    Parameters
    ----------
    values : array of shape (q, n)
    shares : array of shape (n,)
        Of sum below 1.
    level : float

    Returns
    -------
    found : array of shape (q,)
        inf where the sum of all shares is less.
    """
    order = np.argsort(values, axis=1)
    reached = np.cumsum(shares[order], axis=1) >= level - 1e-9
    place = reached.argmax(axis=1)[:, None]
    found = np.take_along_axis(values, np.take_along_axis(order, place, axis=1), axis=1)[:, 0]
    return np.where(reached[:, -1], found, np.inf)


def group_ends(
    masks: OutsideMasks,
    predictions: np.ndarray,
    residuals: np.ndarray,
    groups: np.ndarray,
    coverage: float,
) -> tuple[np.ndarray, np.ndarray]:
    """The upper and lower ends of the jackknife+ by the members outside of each group.

    Parameters
    ----------
    masks : OutsideMasks of G groups and B members
    predictions : float64 array of shape (q, B)
    residuals : float64 array of shape (n,)
        Infinite for the rows of a group that all members are fitted to.
    groups : int array of shape (n,)
    coverage : float

    Returns
    -------
    upper, lower : arrays of shape (q,)
    """
    centre = predictions.mean(axis=1, keepdims=True)
    centred = predictions - centre
    means = np.empty((len(predictions), len(masks)))
    step = max(1, ENTRIES // masks.n_members)
    for start in range(0, len(masks), step):
        part = slice(start, start + step)
        means[:, part] = centred @ masks.numbers(part).T
    means /= np.maximum(masks.counts, 1)
    of_rows, shares = means[:, groups], hierarchical_shares(groups)
    upper = weighted_ranks(of_rows + residuals, shares, coverage)
    lower = -weighted_ranks(residuals - of_rows, shares, coverage)
    return upper + centre[:, 0], lower + centre[:, 0]
