"""Checks of codes: numbers of bins, or of cells of a table."""

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t

cdef extern from "codes.h" nogil:
    uint8_t largest_of_8_bits(const uint8_t*, Py_ssize_t)
    uint16_t largest_of_16_bits(const uint16_t*, Py_ssize_t)
    uint32_t largest_of_32_bits(const uint32_t*, Py_ssize_t)

ctypedef fused AnyCode:
    uint8_t
    uint16_t
    uint32_t


cdef inline bint all_below(const AnyCode* codes, Py_ssize_t n, Py_ssize_t stop) noexcept nogil:
    """Whether n codes are less than `stop`."""
    cdef int64_t largest
    if n == 0:
        return True
    if AnyCode is uint8_t:
        largest = largest_of_8_bits(codes, n)
    elif AnyCode is uint16_t:
        largest = largest_of_16_bits(codes, n)
    else:
        largest = largest_of_32_bits(codes, n)
    return largest < stop
