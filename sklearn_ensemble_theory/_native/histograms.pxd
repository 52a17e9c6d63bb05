"""Cells of histograms, and rows that are added to them."""

from libc.stdint cimport int32_t, int64_t, uint8_t

cdef enum:
    CELLS = 256


# Sums of integers of the form WIDE; for PACKED, r is 0.
ctypedef struct Pair:
    int64_t q
    int64_t r


# A cell of a histogram, and the integers of a row: q alone for PACKED, and a pair for WIDE.
ctypedef fused Cell:
    int64_t
    Pair


cdef inline void add(Cell* cell, Cell value) noexcept nogil:
    if Cell is int64_t:
        cell[0] += value
    else:
        cell.q += value.q
        cell.r += value.r


cdef inline void count_features(
    const uint8_t* codes, Py_ssize_t n, const int32_t* rows, const Cell* values, Py_ssize_t m,
    Cell* h, int n_features
) noexcept nogil:
    """Add rows to the histograms of some neighbouring features."""
    cdef Py_ssize_t k, i
    cdef int j
    cdef Cell value
    if rows == NULL:
        for k in range(m):
            value = values[k]
            for j in range(n_features):
                add(h + j * CELLS + codes[j * n + k], value)
    else:
        for k in range(m):
            i, value = rows[k], values[k]
            for j in range(n_features):
                add(h + j * CELLS + codes[j * n + i], value)


cdef inline void count_range(
    const uint8_t* codes, Py_ssize_t n, const int32_t* rows, const Cell* values, Py_ssize_t m,
    Cell* table, Py_ssize_t first, Py_ssize_t last
) noexcept nogil:
    """Add m rows, the first ones where `rows` is NULL, to the histograms of a range of features.

    The rows and their integers are read once for four features.
    """
    cdef Py_ssize_t j
    for j in range(first, last - 3, 4):
        count_features(codes + j * n, n, rows, values, m, table + j * CELLS, 4)
    j = last - (last - first) % 4
    if last - j >= 2:
        count_features(codes + j * n, n, rows, values, m, table + j * CELLS, 2)
        j += 2
    if j < last:
        count_features(codes + j * n, n, rows, values, m, table + j * CELLS, 1)
