"""Columns cut into bins: the bin of each value."""

from libc.math cimport INFINITY, NAN
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t
from libc.stdlib cimport calloc, free, malloc

from .arrays cimport require

cdef enum:
    CELLS_PER_EDGE = 4
    MOST_EDGES = (1 << 16) - 1

ctypedef fused Value:
    float
    double

ctypedef fused Code:
    uint8_t
    uint16_t


cdef class EdgeTable:
    """The edges of a column's bins, laid out to find the bins of many values. O(m) for m edges.

    The bin of a value is the number of edges below it.

    Parameters
    ----------
    edges : float64 array of shape (m,)
        Increasing; m < 65,536.
    missing : int
        The code of NaN.
    """

    def __init__(self, const double[:] edges, Py_ssize_t missing):
        cdef Py_ssize_t c, k, m = edges.shape[0], last = CELLS_PER_EDGE * m, most = 0
        cdef Cells* cells = &self.cells
        cdef double span
        require(m <= MOST_EDGES and 0 <= missing <= MOST_EDGES and cells.first == NULL)
        self.largest, self.missing = max(m, missing), missing
        if m:
            span = edges[m - 1] - edges[0]
            cells.low, cells.last = edges[0], last
            cells.scale = last / span if 0.0 < span < INFINITY else 0.0
        cells.first = <uint16_t*>calloc(last + 2, sizeof(uint16_t))
        # As many more as the search of a cell may look at.
        cells.edges = <double*>malloc((2 * m + 1) * sizeof(double))
        if cells.first == NULL or cells.edges == NULL:
            raise MemoryError
        with nogil:
            for c in range(m):
                cells.edges[c] = edges[c]
                cells.first[cell_of(edges[c], cells) + 1] += 1
            for k in range(last + 1):
                most = max(most, cells.first[k + 1])
                cells.first[k + 1] += cells.first[k]
            for c in range(m, 2 * m + 1):
                cells.edges[c] = INFINITY
            while 2 * cells.half <= most:
                cells.half = max(1, 2 * cells.half)

    def __dealloc__(self):
        free(self.cells.first)
        free(self.cells.edges)

    def code(self, const Value[::1] x, Code[::1] codes):
        """Write the bins of values to `codes`. O(n), and O(log m) more where edges are crowded.

        Parameters
        ----------
        x : float32 or float64 array of shape (n,)
        codes : uint8 or uint16 array of shape (n,)
        """
        cdef Code missing = <Code>self.missing
        require(codes.shape[0] == x.shape[0] and self.largest < 1 << 8 * sizeof(Code))
        if x.shape[0] == 0:
            return
        with nogil:
            if Value is float and Code is uint8_t:
                code_floats_1(&x[0], x.shape[0], &self.cells, missing, &codes[0])
            elif Value is float:
                code_floats_2(&x[0], x.shape[0], &self.cells, missing, &codes[0])
            elif Code is uint8_t:
                code_doubles_1(&x[0], x.shape[0], &self.cells, missing, &codes[0])
            else:
                code_doubles_2(&x[0], x.shape[0], &self.cells, missing, &codes[0])


def sorted_floats(const float[::1] x, float[::1] out):
    """Write the values in increasing order, NaN last. O(n)."""
    cdef Py_ssize_t n = x.shape[0]
    cdef uint32_t* keys
    require(out.shape[0] == n)
    if n == 0:
        return
    keys = <uint32_t*>malloc(2 * n * sizeof(uint32_t))
    if keys == NULL:
        raise MemoryError
    with nogil:
        sort_by_digits(&x[0], n, keys, &out[0])
        free(keys)


def are_told_apart(const double[:] x, const float[::1] single):
    """Whether each of these numbers of single precision stands for one value of x. O(n + m).

    Parameters
    ----------
    x : float64 array of shape (n,)
    single : float32 array of shape (m,)
        Without NaN.
    """
    cdef Py_ssize_t i = 0, n = x.shape[0], m = single.shape[0], size = 16
    cdef int shift = 28
    cdef Standing* table
    cdef Standing* place
    cdef bint found
    while i < n and (<double><float>x[i] == x[i] or x[i] != x[i]):
        i += 1
    if i == n or m == 0:  # single precision has all of them
        return True
    require(m < (<Py_ssize_t>1 << 27))
    while size < 16 * m:
        size, shift = 2 * size, shift - 1
    table = <Standing*>malloc(size * sizeof(Standing))
    if table == NULL:
        raise MemoryError
    with nogil:
        for i in range(size):
            table[i].value, table[i].is_used = NAN, False
        for i in range(m):
            place = place_of(bits_of(single[i]), shift, table)
            place.bits, place.is_used = bits_of(single[i]), True
        found = all_are_told_apart(<const char*>&x[0], n, x.strides[0], shift, table)
        free(table)
    return found


def code_different(
    const double[::1] values not None, const int64_t[::1] starts not None, Py_ssize_t n,
    uint8_t missing, double[::1] different not None, int64_t[::1] ends not None,
    uint8_t[::1] codes not None, uint8_t[::1] absent not None
):
    """Number the different values of sparse columns; those above 255 begin again at 0. O(m + p).

    Parameters
    ----------
    values : float64 array of shape (m,)
        What is stored of each column, in increasing order: not 0, and NaN last.
    starts : int64 array of shape (p + 1,)
        Where the columns begin; the last one is m.
    n : int
        Values of a column, with those that are 0.
    missing : int
        The code of NaN.
    different : float64 array of shape (m + p,)
        Output: the different numbers of each column, in increasing order, 0 too where it is one.
    ends : int64 array of shape (p + 1,)
        Output: where they begin in `different`, and last where they end.
    codes : uint8 array of shape (m,)
        Output: their places among those of the column.
    absent : uint8 array of shape (p,)
        Output: the place of 0; 0 where there is none.
    """
    cdef Py_ssize_t p = absent.shape[0], m = values.shape[0], j, e, first, k = 0
    cdef bint placed
    cdef double x
    require(starts.shape[0] == p + 1 and ends.shape[0] == p + 1 and codes.shape[0] == m)
    require(different.shape[0] == m + p and starts[0] == 0 and starts[p] == m)
    for j in range(p):
        require(starts[j] <= starts[j + 1])
    with nogil:
        for j in range(p):
            first, placed = k, starts[j + 1] - starts[j] == n
            absent[j] = 0
            for e in range(starts[j], starts[j + 1]):
                x = values[e]
                if not placed and not x < 0:
                    different[k], absent[j], placed = 0.0, <uint8_t>(k - first), True
                    k += 1
                if x == x and (k == first or x != different[k - 1]):
                    different[k] = x
                    k += 1
                codes[e] = <uint8_t>(k - 1 - first) if x == x else missing
            if not placed:
                different[k], absent[j] = 0.0, <uint8_t>(k - first)
                k += 1
            ends[j + 1] = k
        ends[0] = 0
