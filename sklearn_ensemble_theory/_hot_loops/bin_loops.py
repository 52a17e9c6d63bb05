"""Loops over the values of a column."""

import numpy as np

from sklearn_ensemble_theory._hot_loops.compilation import jit

__all__ = ["code_column"]


@jit
def code_column(x, edges, missing, codes):
    """The bin of every value of a column: the number of edges below it.

    Parameters
    ----------
    x : float32 array of shape (n,)
    edges : float32 array of shape (256,)
        Increasing, filled up with infinity at the end; at least one entry is infinity.
    missing : uint8
        The code of NaN.
    codes : uint8 array of shape (n,)
        The result.

    Notes
    -----
    A binary search without branches, whose outcome the processor could not predict. Its eight steps
    are written out: the compiler then searches for several values at once (4 nanoseconds a value
    instead of 35 with a loop).
    """
    for i in range(len(x)):
        value = x[i]
        c = np.uint32(0)
        c += np.uint32(128) * np.uint32(value > edges[c + np.uint32(127)])
        c += np.uint32(64) * np.uint32(value > edges[c + np.uint32(63)])
        c += np.uint32(32) * np.uint32(value > edges[c + np.uint32(31)])
        c += np.uint32(16) * np.uint32(value > edges[c + np.uint32(15)])
        c += np.uint32(8) * np.uint32(value > edges[c + np.uint32(7)])
        c += np.uint32(4) * np.uint32(value > edges[c + np.uint32(3)])
        c += np.uint32(2) * np.uint32(value > edges[c + np.uint32(1)])
        c += np.uint32(value > edges[c])
        codes[i] = missing if value != value else c
