"""How a fit runs and what it tells: tasks, threads of BLAS, draws, progress, warnings."""

import os
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any
from warnings import warn

import joblib
import numpy as np
import sklearn
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


_of_thread = threading.local()


def seeded(seed: int) -> np.random.RandomState:
    """`RandomState(seed)`, valid until the next call in the same thread.

    A new generator is first filled from the system's entropy, which takes 50 times as long as
    seeding the one of the thread again.
    """
    rng = getattr(_of_thread, "rng", None)
    if rng is None:
        rng = _of_thread.rng = np.random.RandomState()
    rng.seed(seed)
    return rng


class Progress:
    """Counts the finished parts of a fit and prints them to standard output, as scikit-learn does.

    Parameters
    ----------
    name : str
        What is reported on, usually the name of the estimator's class.
    total : int
        Number of parts.
    verbose : int
        0 prints nothing, 1 a line every `every` seconds and one at the end, 2 a line a part.
    unit : str, default="members"
        What the parts are.
    every : float, default=2.0
        Seconds between two lines.
    """

    def __init__(
        self, name: str, total: int, verbose: int, unit: str = "members", every: float = 2.0
    ):
        self.name, self.total, self.unit = name, total, unit
        self.verbose = int(verbose)
        self.every = every
        self.done = 0
        self.start = self.last = time.monotonic()

    def advance(self, note: str = "", steps: int = 1):
        """Count `steps` more parts; `note` is added to the line where one is printed."""
        self.done += steps
        if not self.verbose:
            return
        now = time.monotonic()
        if self.done < self.total and self.verbose < 2 and now - self.last < self.every:
            return
        self.last = now
        self._print_count(now - self.start, note, self.done == self.total)

    def finish(self, note: str = ""):
        """Report the end of a fit, where it ended before all parts were done."""
        if self.verbose and self.done < self.total:
            self._print_count(time.monotonic() - self.start, note, True)

    def message(self, text: str):
        """Print another message than a count."""
        if self.verbose:
            self._print(text)

    def _print_count(self, elapsed, note, ended):
        times = f"{elapsed:.1f} s"
        if not ended:
            left = elapsed / self.done * (self.total - self.done)
            times += f", about {left:.1f} s left"
        note = f", {note}" if note else ""
        self._print(f"{self.done}/{self.total} {self.unit}, {times}{note}")

    def _print(self, text):
        print(f"{self.name}: {text}", flush=True)


# Files whose frames are not the user's.
_INSIDE = tuple(
    str(Path(file).parent) + os.sep for file in (__file__, sklearn.__file__, joblib.__file__)
)


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line outside of this package and scikit-learn that led here."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_INSIDE):
        frame, level = frame.f_back, level + 1
    warn(message, category, stacklevel=level)
