"""Threads for loops that release the interpreter lock.

A round of boosting lasts milliseconds, and a pool of threads that is made for it, or one that
hands over futures, would cost more than it saves. Here the threads of the process wait for work on
one queue, and a call costs some ten microseconds.
"""

import os
import threading
from collections import deque
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import Any

from joblib import effective_n_jobs

# At most so many rows make a chunk, and fewer rows than LEAST_ROWS are one. Sums are taken inside
# chunks and then over the chunks in order, which makes them independent of the number of threads.
CHUNK_ROWS = 2**16
LEAST_ROWS = 2**17


class _Helpers:
    """The waiting threads of the process, which all teams share."""

    def __init__(self) -> None:
        self.inbox: SimpleQueue[_Job] = SimpleQueue()
        self.lock = threading.Lock()
        self.n_threads = 0

    def ensure(self, n_threads: int) -> None:
        """Start threads until there are so many."""
        if self.n_threads >= n_threads:
            return
        with self.lock:
            while self.n_threads < n_threads:
                self.n_threads += 1
                name = f"ensemble-helper-{self.n_threads}"
                threading.Thread(target=_serve, args=(self.inbox,), name=name, daemon=True).start()


class _Job:
    """The tasks of one call; every thread takes the next one until none is left."""

    def __init__(self, function: Callable[..., Any], tasks: Sequence[tuple]) -> None:
        self.function = function
        self.tasks = deque(enumerate(tasks))
        self.results: list[Any] = [None] * len(tasks)
        self.errors: dict[int, BaseException] = {}
        self.finished: SimpleQueue[int] = SimpleQueue()

    def work(self) -> int:
        """Do tasks until none is left; how many this thread has done."""
        done = 0
        while True:
            try:
                index, arguments = self.tasks.popleft()
            except IndexError:
                return done
            try:
                self.results[index] = self.function(*arguments)
            except BaseException as error:  # raised again in the thread that called
                self.errors[index] = error
            done += 1


def _serve(inbox: "SimpleQueue[_Job]") -> None:
    """The life of a helper."""
    while True:
        job = inbox.get()
        done = job.work()
        if done:
            job.finished.put(done)
        del job  # its arrays must not live until the next one comes


_helpers = _Helpers()


def _forget_helpers() -> None:
    """After a fork: threads do not survive it, and a lock may have been held."""
    global _helpers
    _helpers = _Helpers()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_helpers)


class ThreadTeam:
    """Run a function that releases the interpreter lock for several arguments at a time.

    Teams need not be closed, and several may work at once: the threads belong to the process. The
    calling thread works too, and never waits for a helper that has not begun, so a call ends even
    where every helper is busy.

    Parameters
    ----------
    n_threads : int
        At least 1.

    Examples
    --------
    >>> from sklearn_ensemble_theory._threads import ThreadTeam
    >>> ThreadTeam(2).run(divmod, [(7, 2), (9, 4)])
    [(3, 1), (2, 1)]
    """

    def __init__(self, n_threads: int) -> None:
        self.n_threads = n_threads

    @classmethod
    def of(cls, n_jobs: int | None) -> "ThreadTeam":
        """The team of an estimator's parameter `n_jobs`, with scikit-learn's meaning."""
        return cls(effective_n_jobs(n_jobs))

    def run(self, function: Callable[..., Any], argument_tuples: Sequence[tuple]) -> list[Any]:
        """The results of ``function(*arguments)`` in the order of the arguments.

        The first exception, in that order, is raised once no thread is at work any more.
        """
        n_helpers = min(self.n_threads, len(argument_tuples)) - 1
        if n_helpers < 1:
            return [function(*arguments) for arguments in argument_tuples]
        helpers = _helpers
        helpers.ensure(n_helpers)
        job = _Job(function, argument_tuples)
        for _ in range(n_helpers):
            helpers.inbox.put(job)
        try:
            left = len(argument_tuples) - job.work()
            while left > 0:
                left -= job.finished.get()
        finally:
            job.tasks.clear()  # after an interruption nothing new is begun
        if job.errors:
            raise job.errors[min(job.errors)]
        return job.results


def row_chunks(n_rows: int) -> list[tuple[int, int]]:
    """(start, stop) of the chunks of the rows, an even number of about the same size."""
    if n_rows <= LEAST_ROWS:
        return [(0, n_rows)] if n_rows else []
    return shares(n_rows, 2 * -(-n_rows // (2 * CHUNK_ROWS)))


def shares(n: int, n_parts: int) -> list[tuple[int, int]]:
    """n things in at most n_parts contiguous parts of about equal size: (start, stop) of each."""
    n_parts = max(1, min(n, n_parts))
    return [(k * n // n_parts, (k + 1) * n // n_parts) for k in range(n_parts)]
