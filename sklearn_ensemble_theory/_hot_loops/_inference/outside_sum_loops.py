"""Sums of the members' predictions outside of each row, eight members at a time.

A row has a byte for every eight members, whose bits are the members outside of it. For each byte
the 256 sums of predictions that it can stand for are written down once and then looked up for all
rows, for many queries at a time: an eighth of the additions, of integers of 16 bits.
"""

import numpy as np

from sklearn_ensemble_theory._hot_loops._inference.selection_loops import smallest
from sklearn_ensemble_theory._hot_loops.compilation import jit, jit_lean

# Queries whose sums are side by side, and bytes that are looked up in one pass over the rows: their
# tables, of 256 numbers for each query, stay in the processor's cache.
LANES = 128
BYTES = 4
# Rows whose sums are turned at once, from a column for each query to a line for each.
TURNED = 64


@jit
def byte_tables(t, unit, tables):
    """The sums that each byte stands for, in units, rounded.

    Parameters
    ----------
    t : float64 array of shape (8 G, LANES)
        Predictions of the members, the first of eight in the highest bit of a byte; 0 beyond the
        last.
    unit : float
    tables : int16 array of shape (G, 256, LANES)
        Output.
    """
    sums = np.zeros((256, LANES))
    inverse = 1.0 / unit
    for g in range(len(tables)):
        for bit in range(8):
            first = t[8 * g + 7 - bit]
            for code in range(1 << bit):
                source, target = sums[code], sums[code + (1 << bit)]
                for q in range(LANES):
                    target[q] = source[q] + first[q]
        for code in range(256):
            source, rounded = sums[code], tables[g, code]
            for q in range(LANES):
                # Shifted to positive numbers, where dropping the fraction rounds.
                rounded[q] = np.int16(np.int32(source[q] * inverse + 32768.5) - 32768)


@jit_lean
def add_tables(tables, codes, rows, first, last, sums):
    """Add to the sums of some rows what their bytes from `first` to `last` stand for.

    Parameters
    ----------
    tables : int16 array of shape (G, 256, LANES)
    codes : uint8 array of shape (G, n)
    rows : int64 array
    first, last : int
        Multiples of BYTES.
    sums : int16 array of shape (n, LANES)
    """
    for g in range(first, last, BYTES):
        for at in range(len(rows)):
            i = rows[at]
            a = tables[g, codes[g, i]]
            b = tables[g + 1, codes[g + 1, i]]
            c = tables[g + 2, codes[g + 2, i]]
            d = tables[g + 3, codes[g + 3, i]]
            total = sums[i]
            for q in range(LANES):
                total[q] += a[q] + b[q] + c[q] + d[q]


@jit_lean
def undecided(sums, rows, numbers, rest, bands, below):
    """Move the rows that may be inside of a band to the front; returns how many they are.

    Parameters
    ----------
    sums : int16 array of shape (n, LANES)
        Of the members so far.
    rows : int64 array
        Changed in place.
    numbers : tuple (unit, inverse, residuals)
    rest : tuple (up, down)
        What the other members can add, and take away, at most.
    bands : float64 array of shape (2, 2)
        From where to where: of mu_i + R_i, and of -mu_i + R_i.
    below : int64 array of shape (2,)
        The rows below the bands, of those left out, are added.
    """
    unit, inverse, residuals = numbers
    kept = 0
    for at in range(len(rows)):
        i = rows[at]
        line = sums[i]
        low, high = line[0], line[0]
        for q in range(LANES):
            low, high = min(low, line[q]), max(high, line[q])
        lowest, highest = (unit * low - rest[1]) * inverse[i], (unit * high + rest[0]) * inverse[i]
        first_below = highest + residuals[i] < bands[0, 0]
        second_below = residuals[i] - lowest < bands[1, 0]
        first_out = first_below or lowest + residuals[i] > bands[0, 1]
        second_out = second_below or residuals[i] - highest > bands[1, 1]
        if first_out and second_out:
            below[0] += first_below
            below[1] += second_below
        else:
            rows[kept] = i
            kept += 1
    return kept


@jit_lean
def turn(sums, rows, unit, out):
    """out[q, i] = unit sums[rows[i], q], of float32, for the first queries."""
    m, scale = len(rows), np.float32(unit)
    for start in range(0, m, TURNED):
        stop = min(start + TURNED, m)
        for q in range(len(out)):
            line = out[q]
            for i in range(start, stop):
                line[i] = scale * np.float32(sums[rows[i], q])


@jit
def exact_order_statistics(bits, t, numbers, near, ends):
    """The order statistics of sign mu_i + R_i, from the rows near each of them.

    Parameters
    ----------
    bits : uint8 array of shape (n, G)
    t : float64 array of shape (q, 8 G)
    numbers : tuple (signed, residuals, kept)
        sign over the number of members outside, and R_i, float64 arrays of shape (n,); the rows
        that `rows` of `near` are counted in, an int64 array.
    near : tuple (rows, count, rank)
        Int64 arrays of shape (q, most), (q,) and (q,): rows, how many there are, and which number
        of theirs is looked for, from 0 on. Queries without a row are passed over.
    ends : float64 array of shape (q,)
        Output.
    """
    signed, residuals, kept = numbers
    rows, count, rank = near
    half = np.zeros((2 * bits.shape[1], 16))
    value = np.empty(rows.shape[1])
    for j in range(len(t)):
        if count[j] == 0:
            continue
        for h in range(len(half)):
            for bit in range(4):
                for code in range(1 << bit):
                    half[h, code + (1 << bit)] = half[h, code] + t[j, 4 * h + 3 - bit]
        for at in range(count[j]):
            i = kept[rows[j, at]]
            total = 0.0
            for g in range(bits.shape[1]):
                code = bits[i, g]
                total += half[2 * g, code >> 4] + half[2 * g + 1, code & 15]
            value[at] = signed[i] * total + residuals[i]
        ends[j] = smallest(value, count[j], rank[j])
