"""Parallel work: tasks whose results arrive in order, and the threads of BLAS."""

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from sklearn.utils.parallel import Parallel

from sklearn_ensemble_theory._compat import threadpool_controller


def in_order(tasks: Iterable[Any], *, n_jobs: int | None, prefer: str | None = None) -> Iterator:
    """Iterate over the results of `delayed` tasks, in their order, as soon as each is available.

    A caller can report progress, add a result to a running sum without keeping it, or stop early.
    A joblib backend without support for this returns all results at once.
    """
    try:
        parallel = Parallel(n_jobs=n_jobs, prefer=prefer, return_as="generator")
    except ValueError:
        parallel = Parallel(n_jobs=n_jobs, prefer=prefer)
    return iter(parallel(tasks))


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
