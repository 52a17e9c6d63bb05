"""The weights of training rows at a query, and the quantiles of their targets."""

import numpy as np

from sklearn_ensemble_theory._hot_loops.compilation import jit

# A query whose leaves hold fewer than n / SORTED rows sorts them; otherwise all n are walked.
SORTED = 16


@jit
def leaf_quantiles(leaves, first, rank, share, n, levels, out):
    """The rank of the target at which the shares of a query's rows reach each level.

    Parameters
    ----------
    leaves : int64 array of shape (m, T)
        Nodes over the whole ensemble.
    first : int64 array of shape (n_nodes + 1,)
        The rows of node k are first[k] ... first[k + 1] - 1.
    rank : int32 array
        Ranks of the targets of the rows.
    share : float64 array of the same shape
    n : int
        Number of training rows.
    levels : float64 array of shape (k,)
        In increasing order.
    out : int64 array of shape (m, k)
        Output.
    """
    m, T = leaves.shape
    most = 0
    for i in range(m):
        size = 0
        for t in range(T):
            size += first[leaves[i, t] + 1] - first[leaves[i, t]]
        most = max(most, size)
    keys = np.empty(most, dtype=np.int64)
    shares = np.empty(most, dtype=np.float64)
    sums = np.zeros(n, dtype=np.float64)
    for i in range(m):
        size = 0
        for t in range(T):
            node = leaves[i, t]
            for at in range(first[node], first[node + 1]):
                # The rank, and in the low bits where its share is.
                keys[size] = (np.int64(rank[at]) << 32) | size
                shares[size] = share[at]
                size += 1
        reached, found, last = 0.0, 0, np.int64(0)
        if size * SORTED < n:
            own = keys[:size]
            own.sort()
            for at in range(size):
                reached += shares[own[at] & 0xFFFFFFFF]
                last = own[at] >> 32
                while found < len(levels) and reached >= levels[found]:
                    out[i, found] = last
                    found += 1
                if found == len(levels):
                    break
        else:
            for at in range(size):
                sums[keys[at] >> 32] += shares[at]
            for row in range(n):
                if sums[row] == 0:
                    continue
                reached += sums[row]
                last = row
                while found < len(levels) and reached >= levels[found]:
                    out[i, found] = last
                    found += 1
                if found == len(levels):
                    break
            for at in range(size):
                sums[keys[at] >> 32] = 0.0
        while found < len(levels):  # the shares sum to 1 up to rounding
            out[i, found] = last
            found += 1
