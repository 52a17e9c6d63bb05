"""Loops over the values of a column, and over the codes of a row."""

import numpy as np

from sklearn_ensemble_theory._hot_loops.compilation import jit_lean


@jit_lean
def code_by_cells(x, first, scale, n_before, edge_in_cell, missing, codes):
    """The bin of every value of a column, by a grid with at most one edge in a cell.

    Parameters
    ----------
    x : float64 array of shape (n,)
    first, scale : float
        The cell of a value is ``(x - first) * scale``, rounded down.
    n_before : unsigned array of shape (m,)
        The number of edges in lower cells.
    edge_in_cell : float64 array of shape (m,)
        Infinity where there is none.
    missing : unsigned integer
        The code of NaN.
    codes : unsigned array of shape (n,)
        The result.
    """
    last = np.float64(len(edge_in_cell) - 1)
    for i in range(len(x)):
        value = x[i]
        place = (value - first) * scale
        place = place if place > 0.0 else 0.0  # NaN too
        place = place if place < last else last
        cell = np.int64(place)
        c = n_before[cell] + np.uint8(value > edge_in_cell[cell])
        codes[i] = missing if value != value else c


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
def code_finely(x, edges, missing, codes):
    """The same for up to 65,535 edges: codes of two bytes.

    Parameters
    ----------
    x : float32 array of shape (n,)
    edges : float32 array of shape (m,)
        m is a power of 2 from 256 to 65,536, and the last entry is infinite.
    missing : int
    codes : uint16 array of shape (n,)
        The result.
    """
    m = len(edges)
    for i in range(len(x)):
        value = x[i]
        c = np.uint32(0)
        if m > 4096:
            if m > 32768:
                c += np.uint32(32768) * np.uint32(value > edges[c + np.uint32(32767)])
            if m > 16384:
                c += np.uint32(16384) * np.uint32(value > edges[c + np.uint32(16383)])
            if m > 8192:
                c += np.uint32(8192) * np.uint32(value > edges[c + np.uint32(8191)])
            c += np.uint32(4096) * np.uint32(value > edges[c + np.uint32(4095)])
        if m > 2048:
            c += np.uint32(2048) * np.uint32(value > edges[c + np.uint32(2047)])
        if m > 1024:
            c += np.uint32(1024) * np.uint32(value > edges[c + np.uint32(1023)])
        if m > 512:
            c += np.uint32(512) * np.uint32(value > edges[c + np.uint32(511)])
        if m > 256:
            c += np.uint32(256) * np.uint32(value > edges[c + np.uint32(255)])
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
    codes : uint16 array of shape (n, p)
    links : tuple of three int32 arrays of shape (m,)
        Left children (negative in leaves), right children, features.
    thresholds : tuple of an int32 and a uint8 array of shape (m,)
        The largest code that goes to the left, and whether missing values do.
    missing : int
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
