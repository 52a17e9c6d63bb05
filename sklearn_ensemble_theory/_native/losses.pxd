"""What rounds of boosting take of losses."""

cdef extern from "loss_options.h" nogil:
    ctypedef enum LossKind:
        SQUARED, HUBER, KINK, POISSON, TWEEDIE, BINOMIAL, LOGISTIC, EXPONENTIAL, MULTINOMIAL
    ctypedef struct Kink:
        double left, right
    ctypedef struct LossOptions:
        LossKind kind
        double delta, power
        Kink above, below


# Rows with K scores each.
cdef struct LossRows:
    const LossOptions* options
    const void* y  # doubles; 64-bit codes of classes for MULTINOMIAL
    const double* u
    const double* each  # weights; NULL where all rows have the one below
    double same
    Py_ssize_t n, K
    int n_threads


cdef class Loss:
    cdef LossOptions options

    cdef LossRows rows(
        self, y, const double[::1] u, const double[::1] weight, int n_threads) except *


cdef double sum_losses(const LossRows* rows, double* target) except? -1 nogil
cdef void second_derivatives(
    const LossRows* rows, const double* target, double* second) noexcept nogil
cdef int leaf_steps(
    const LossRows* rows, Py_ssize_t score, const double* target, const void* leaf, int leaf_size,
    Py_ssize_t n_leaves, double rate, double longest, double* sums, double* steps) except -1 nogil
