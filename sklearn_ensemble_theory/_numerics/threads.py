"""Linear algebra whose last bits do not depend on how many processes share the work."""

from contextlib import AbstractContextManager, nullcontext

from sklearn_ensemble_theory._compat import threadpool_controller

__all__ = ["one_blas_thread", "threads_for_size"]

# Up to this size several threads gain little in a decomposition, and lose much (20 times the time
# was measured) when other processes keep the cores busy, as in a search with n_jobs=-1.
_ONE_THREAD_SIZE = 1000


def one_blas_thread() -> AbstractContextManager:
    """A context in which BLAS and LAPACK use one thread.

    joblib gives its worker processes fewer BLAS threads than the main process has, and the
    rounding errors of a decomposition depend on the number of threads. Tasks that run in this
    context, in whatever process, return the same bits. It costs a few microseconds.
    """
    return threadpool_controller().limit(limits=1, user_api="blas")


def threads_for_size(n: int) -> AbstractContextManager:
    """A context for decompositions of an n x n matrix: one thread of BLAS where n is small."""
    return one_blas_thread() if n <= _ONE_THREAD_SIZE else nullcontext()
