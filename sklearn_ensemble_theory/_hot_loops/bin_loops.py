"""Loops over the values of a column, and over the codes of a row."""

import numpy as np

from sklearn_ensemble_theory._hot_loops.compilation import jit_lean

__all__ = ["code_column", "leaf_numbers"]


@jit_lean
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


@jit_lean
def leaf_numbers(codes, links, thresholds, missing, leaves):
    """The leaf of every row.

    Parameters
    ----------
    codes : uint8 array of shape (n, p)
    links : tuple of three int32 arrays of shape (m,)
        Left children (negative in leaves), right children, features.
    thresholds : tuple of an int16 and a uint8 array of shape (m,)
        The largest code that goes to the left, and whether missing values do.
    missing : uint8
        The code of a missing value.
    leaves : int32 array of shape (n,)
        The result.
    """
    left, right, feature = links
    code, missing_left = thresholds
    for i in range(len(codes)):
        node = 0
        while left[node] >= 0:
            c = codes[i, feature[node]]
            goes_left = missing_left[node] != 0 if c == missing else c <= code[node]
            node = left[node] if goes_left else right[node]
        leaves[i] = node
