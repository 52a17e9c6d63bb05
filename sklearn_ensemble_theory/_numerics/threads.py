"""Linear algebra whose last bits do not depend on how many processes share the work."""

from contextlib import AbstractContextManager

from sklearn_ensemble_theory._compat import threadpool_controller

__all__ = ["one_blas_thread"]


def one_blas_thread() -> AbstractContextManager:
    """A context in which BLAS and LAPACK use one thread.

    joblib gives its worker processes fewer BLAS threads than the main process has, and the
    rounding errors of a decomposition depend on the number of threads. Tasks that run in this
    context, in whatever process, return the same bits. It costs a few microseconds.
    """
    return threadpool_controller().limit(limits=1, user_api="blas")
