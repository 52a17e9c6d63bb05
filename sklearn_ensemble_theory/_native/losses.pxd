"""What rounds of boosting take of losses."""

from libc.stdint cimport int32_t


# Rows of a chunk, with K scores each.
cdef struct LossRows:
    const void* y  # doubles, or 64-bit codes of classes
    const double* u
    const double* each  # weights; NULL where all rows have the one below
    double same
    Py_ssize_t n, K


cdef class Loss:
    cdef const void* targets(self, y, Py_ssize_t n, Py_ssize_t K) except NULL
    cdef double sum_losses(self, const LossRows* rows, double* target) except? -1 nogil
    cdef const double* terms(
        self, const LossRows* rows, Py_ssize_t score, const double* target, Py_ssize_t start,
        Py_ssize_t m, double* second) noexcept nogil
    cdef int add_sums(
        self, const LossRows* rows, Py_ssize_t score, const double* target, const int32_t* leaf,
        Py_ssize_t n_leaves, double* sums) except -1 nogil
    cdef double share_of_free_scores(self, Py_ssize_t K) noexcept nogil
