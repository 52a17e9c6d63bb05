"""Columns cut into bins: the bin of each value."""

from libc.math cimport INFINITY
from libc.stdint cimport uint8_t, uint16_t, uint32_t
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
