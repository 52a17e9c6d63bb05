"""Tasks for several threads, and the chunks of rows that are tasks."""

cdef enum:
    # At most so many rows make a chunk, and fewer than LEAST_ROWS are one.
    CHUNK_ROWS = 16384
    LEAST_ROWS = 32768

ctypedef void (*TaskFunction)(void* context, Py_ssize_t task, int thread) noexcept nogil

cdef void do_in_threads(
    TaskFunction function, void* context, Py_ssize_t n_tasks, int n_threads) noexcept nogil


cdef inline Py_ssize_t n_row_chunks(Py_ssize_t n) noexcept nogil:
    """In how many chunks of about equal size n rows are: one, or an even number.

    Sums are taken inside chunks and then over the chunks in their order, which makes them
    independent of the number of threads.
    """
    return 1 if n <= LEAST_ROWS else 2 * ((n + 2 * CHUNK_ROWS - 1) // (2 * CHUNK_ROWS))


cdef inline Py_ssize_t start_of_part(Py_ssize_t k, Py_ssize_t n, Py_ssize_t n_parts) noexcept nogil:
    """Where part k of n things begins, and part k - 1 ends."""
    return k * n // n_parts
