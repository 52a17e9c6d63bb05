"""Tables that find the bins of values, for the modules that cut columns into bins."""

from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t

cdef extern from "binning.h" nogil:
    ctypedef struct Cells:
        double low, scale, last
        uint16_t* first
        double* edges
        uint32_t half
    int32_t cell_of(double, const Cells*)
    void code_floats_1(const float*, Py_ssize_t, const Cells*, uint8_t, uint8_t*)
    void code_floats_2(const float*, Py_ssize_t, const Cells*, uint16_t, uint16_t*)
    void code_doubles_1(const double*, Py_ssize_t, const Cells*, uint8_t, uint8_t*)
    void code_doubles_2(const double*, Py_ssize_t, const Cells*, uint16_t, uint16_t*)
    ctypedef struct Standing:
        double value
        uint32_t bits
        int32_t is_used
    uint32_t bits_of(double)
    Standing* place_of(uint32_t, int, Standing*)
    bint all_are_told_apart(const char*, Py_ssize_t, Py_ssize_t, int, Standing*)
    void sort_by_digits(const float*, Py_ssize_t, uint32_t*, float*)

cdef class EdgeTable:
    cdef Py_ssize_t largest, missing
    cdef Cells cells
