"""The threads of all compiled modules: one pool for a process."""

cdef extern from "threads.h" nogil:
    void do_tasks(TaskFunction, void*, Py_ssize_t, int)
    void prepare_for_forks()

prepare_for_forks()


cdef void do_in_threads(
    TaskFunction function, void* context, Py_ssize_t n_tasks, int n_threads
) noexcept nogil:
    """Do all tasks, by this thread and at most n_threads - 1 others of the pool."""
    do_tasks(function, context, n_tasks, n_threads)
