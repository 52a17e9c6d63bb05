"""Passes over the rows for tables of pairs of columns."""

import numpy as np

from sklearn_ensemble_theory._hot_loops.compilation import jit, jit_lean

# The coarse codes of so many rows stay in the processor's cache while all pairs are counted.
BLOCK_ROWS = 2**13


@jit
def add_pair_tables(codes, maps, n_bins, pairs, starts, values, tables):
    """Sum three values of the rows in every cell of many pairs of columns.

    Parameters
    ----------
    codes : unsigned array of shape (p, n)
    maps : uint16 array of shape (p, m)
        The coarse bin of each code of each column.
    n_bins : int array of shape (p,)
        Numbers of coarse bins.
    pairs : int array of shape (P, 2)
    starts : int array of shape (P + 1,)
        Where the cells of each pair begin.
    values : tuple of three float arrays of shape (n,)
    tables : float array of shape (starts[P], 3)
        Added to: row ``starts[t] + a * n_bins[b] + b`` of pair t.
    """
    p, n = codes.shape
    first, second, third = values
    coarse = np.empty((p, BLOCK_ROWS), dtype=np.uint16)
    for begin in range(0, n, BLOCK_ROWS):
        m = min(BLOCK_ROWS, n - begin)
        for j in range(p):
            code, found, lookup = codes[j, begin : begin + m], coarse[j], maps[j]
            for i in range(m):
                found[i] = lookup[np.uint64(code[i])]
        u, v, w = first[begin:], second[begin:], third[begin:]
        for t in range(len(pairs)):
            a, b = coarse[pairs[t, 0]], coarse[pairs[t, 1]]
            table = tables[starts[t] : starts[t + 1]]
            stride = np.uint64(n_bins[pairs[t, 1]])
            for i in range(m):
                cell = np.uint64(a[i]) * stride + np.uint64(b[i])
                table[cell, 0] += u[i]
                table[cell, 1] += v[i]
                table[cell, 2] += w[i]


@jit_lean
def sum_cells(values, weight, group, held, a, b, sums):
    """Sum weighted values in the cells of one pair, rows held out apart from the others.

    Parameters
    ----------
    values, weight : float arrays of shape (n,)
        An empty `weight` means weights of 1.
    group : unsigned array of shape (n,)
    held : int
        The rows of this group are held out.
    a, b : unsigned arrays of shape (n,)
        Bins.
    sums : float array of shape (A, B, 2)
        Added to: sums over the other rows, then over those held out.
    """
    flat, stride = sums.reshape(-1), np.uint64(sums.shape[1])
    is_weighted = len(weight) > 0
    for i in range(len(values)):
        cell = np.uint64(a[i]) * stride + np.uint64(b[i])
        value = values[i] * weight[i] if is_weighted else values[i]
        flat[np.uint64(2) * cell + np.uint64(group[i] == held)] += value


@jit_lean
def subtract_cells(values, a, b, table):
    """Subtract from the value of each row the entry of its cell in a table of shape (A, B)."""
    flat, stride = table.reshape(-1), np.uint64(table.shape[1])
    for i in range(len(values)):
        values[i] -= flat[np.uint64(a[i]) * stride + np.uint64(b[i])]
