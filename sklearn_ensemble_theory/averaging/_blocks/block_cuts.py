"""Disjoint blocks of rows, and the weights of the fits to them."""

import heapq

import numpy as np

# Risks below this share of the largest count as equal, so that no weight is infinite.
SMALLEST_RISK = 1e-9


def block_of_rows(
    n: int,
    n_blocks: int,
    rng: np.random.RandomState | None,
    *,
    strata: np.ndarray | None = None,
    groups: np.ndarray | None = None,
) -> np.ndarray:
    """The block of every row, from 0 to n_blocks - 1.

    Parameters
    ----------
    n : int
    n_blocks : int
    rng : RandomState or None
        None keeps the order of the rows: blocks are consecutive rows.
    strata : array of shape (n,), default=None
        Values that are spread over the blocks: of every n_blocks successive ones in their order,
        each block gets one.
    groups : array of shape (n,), default=None
        Rows of equal values go to the same block: the largest group first, each to the block that
        has the fewest rows.

    Returns
    -------
    int ndarray of shape (n,)

    Raises
    ------
    ValueError
        If there are fewer groups than blocks.
    """
    if groups is not None:
        return _blocks_of_groups(groups, n_blocks, rng)
    order = np.arange(n) if rng is None else rng.permutation(n)
    block = np.empty(n, dtype=np.intp)
    if strata is None:
        block[order] = np.arange(n) * n_blocks // n
        return block
    order = order[np.argsort(strata[order], kind="stable")]
    dealt = np.arange(n) % n_blocks
    if rng is not None:  # anew for every n_blocks rows, or block 0 would have the smallest
        keys = np.arange(n) // n_blocks + rng.random_sample(n)
        dealt = dealt[np.argsort(keys, kind="stable")]
    block[order] = dealt
    return block


def _blocks_of_groups(
    groups: np.ndarray, n_blocks: int, rng: np.random.RandomState | None
) -> np.ndarray:
    _, codes, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    if len(sizes) < n_blocks:
        raise ValueError(
            f"n_blocks={n_blocks} is larger than the number of groups, {len(sizes)}, and a group "
            "is never divided."
        )
    order = np.arange(len(sizes)) if rng is None else rng.permutation(len(sizes))
    order = order[np.argsort(-sizes[order], kind="stable")]
    loads = [(0, b) for b in range(n_blocks)]
    block_of_group = np.empty(len(sizes), dtype=np.intp)
    for group in order:
        load, block = heapq.heappop(loads)
        block_of_group[group] = block
        heapq.heappush(loads, (load + int(sizes[group]), block))
    return block_of_group[codes.ravel()]


def weights_by_risk(risks: np.ndarray) -> np.ndarray:
    """Weights in proportion to 1/risk: those of the smallest variance for independent errors."""
    top = risks.max()
    if not top > 0:
        return np.ones(len(risks))
    return 1 / np.maximum(risks / top, SMALLEST_RISK)
