"""How a fit runs and what it tells: tasks, threads of BLAS, draws, progress, warnings."""

import contextlib
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from inspect import currentframe
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any
from warnings import warn

import joblib
import numpy as np
import sklearn
from sklearn.utils.parallel import Parallel

from sklearn_ensemble_theory._compat import threadpool_controller
from sklearn_ensemble_theory._typing import Estimator


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


def in_threads(function: Callable[..., Any], tasks: Sequence[tuple]) -> list[Any]:
    """The results of ``function(*task)``, each in a thread of its own; the first in this one.

    For milliseconds of work that releases the interpreter lock: joblib looks every ten of them
    whether tasks have ended.
    """
    if len(tasks) < 2:
        return [function(*task) for task in tasks]
    with ThreadPoolExecutor(len(tasks) - 1) as pool:
        others = [pool.submit(function, *task) for task in tasks[1:]]
        return [function(*tasks[0]), *(other.result() for other in others)]


def shares(n: int, n_parts: int) -> list[tuple[int, int]]:
    """n things in at most n_parts contiguous parts of about equal size: (start, stop) of each."""
    n_parts = min(n, n_parts)
    return [(k * n // n_parts, (k + 1) * n // n_parts) for k in range(n_parts)]


# --- threads of BLAS ------------------------------------------------------------------------------

# So many multiplications take one thread of BLAS about a second. Below, several take more time of
# the processors and often more time: those that wait for the next product spin for some 40 ms, and
# beside other busy processes they took up to 40 times one thread's time.
SHARED_WORK = 2e10


def one_blas_thread() -> AbstractContextManager:
    """A context in which BLAS and LAPACK use one thread.

    joblib gives its worker processes fewer BLAS threads than the main process has, and the
    rounding errors of a decomposition depend on the number of threads. Tasks that run in this
    context, in whatever process, return the same bits. It costs 20 microseconds, a nested one two.
    """
    return _limit.of_thread("one")


def blas_threads_by_work() -> Any:
    """A context, or decorator of a fit, in which BLAS has one thread except in `threads_for`."""
    return _limit.of_thread("by work")


def threads_for(work: float) -> AbstractContextManager:
    """A context for products and decompositions of about so many multiplications.

    From `SHARED_WORK` on they have all threads, unless this is part of a task that runs in
    `one_blas_thread`; below they have one. Other threads than the main one, of which several may
    fit at once, have one for any work: their results must not depend on when another fit ends.
    """
    in_main = threading.current_thread() is threading.main_thread()
    is_shared = work >= SHARED_WORK and in_main and not _limit.is_in_task()
    return _limit.of_thread("all" if is_shared else "by work")


class _BlasLimit:
    """One thread of BLAS as long as any thread of Python wants it.

    Contexts of threadpoolctl restore what they found. Of two that overlap in time, the later one
    finds one thread, and would leave it behind.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.wanted: dict[int, list[str]] = {}  # by each thread, in its contexts from the outer on
        self.limit: Any = None

    def is_in_task(self) -> bool:
        return "one" in self.wanted.get(threading.get_ident(), ())

    @contextmanager
    def of_thread(self, wanted: str) -> Iterator[None]:
        contexts = self.wanted.setdefault(threading.get_ident(), [])
        depth = len(contexts)
        try:
            contexts.append(wanted)
            self.apply()
            yield
        finally:
            del contexts[depth:]
            self.apply()

    def apply(self) -> None:
        """Set the limit or take it back; where an interrupt left that out, the next call does."""
        with self.lock:
            is_one = any(each and each[-1] != "all" for each in list(self.wanted.values()))
            if is_one == (self.limit is not None):
                return
            controller = threadpool_controller()
            # A thread that has set numbers is the only one that may, until a context of it ends:
            # one of no library, or that of the limit, which takes it back.
            context = controller.select(user_api="none").limit()
            if is_one:
                self.limit = controller.select(user_api="blas").limit(limits=1)
            else:
                context = self.limit
            with context:
                pass
            if not is_one:  # only now: an interrupt before leaves the limit to the next call
                self.limit = None


_limit = _BlasLimit()


# --- draws ----------------------------------------------------------------------------------------

_of_thread = threading.local()
MAX_SEED = np.iinfo(np.int32).max


def random_state_names(estimator: Estimator) -> list[str]:
    """Its `random_state` parameters, nested ones too, in a fixed order."""
    names = sorted(estimator.get_params(deep=True))
    return [n for n in names if n == "random_state" or n.endswith("__random_state")]


def seeded(seed: int) -> np.random.RandomState:
    """`RandomState(seed)`, valid until the next call in the thread, 50 times as fast."""
    rng = getattr(_of_thread, "rng", None)
    if rng is None:
        rng = _of_thread.rng = np.random.RandomState()
    rng.seed(seed)
    return rng


# --- what users are told --------------------------------------------------------------------------


# The time that is left is read off the last marks, in seconds at least so far apart.
MARKS, FEWEST_MARKS, BETWEEN_MARKS = 10, 4, 0.2


class Progress:
    """Counts the finished parts of a fit and prints them to standard output, as scikit-learn does.

    - name: what is reported on, usually the name of the estimator's class.
    - verbose: 0 prints nothing, 1 a line every `every` seconds and one at the end, 2 a line a part.
    - unit: what the parts are.
    """

    def __init__(
        self, name: str, total: int, verbose: int, unit: str = "members", every: float = 2.0
    ):
        self.name, self.total, self.unit = name, total, unit
        self.verbose = int(verbose)
        self.every = every
        self.done = 0
        self.start = self.last = time.monotonic()
        # (time, parts done) at moments a while apart, the first of them when the first part was
        # done: what was prepared before it is not done again.
        self._marks: deque[tuple[float, int]] = deque(maxlen=MARKS)

    def advance(self, note: str = "", steps: int = 1):
        """Count `steps` more parts; `note` is added to the line where one is printed."""
        self.done += steps
        if not self.verbose:
            return
        now = time.monotonic()
        if not self._marks or now - self._marks[-1][0] >= BETWEEN_MARKS:
            self._marks.append((now, self.done))
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
        if not ended and (rest := self._rest()) is not None:
            times += f", about {rest:.1f} s for the rest"
        note = f", {note}" if note else ""
        self._print(f"{self.done}/{self.total} {self.unit}, {times}{note}")

    def _rest(self):
        """Seconds for the parts that are left, by the median time of a part; None at the start."""
        marks = list(self._marks)
        if len(marks) < FEWEST_MARKS:
            return None
        pace = [(t - s) / (b - a) for (s, a), (t, b) in pairwise(marks)]
        return median(pace) * (self.total - self.done)

    def _print(self, text):
        print(f"{self.name}: {text}", flush=True)


# Files whose frames are not the user's.
_INSIDE = tuple(
    str(Path(file).parent) + os.sep for file in (__file__, sklearn.__file__, joblib.__file__)
) + (contextlib.__file__,)


def reworded(error: Exception, text: str) -> Exception:
    """The error with another text, of the same class if that is made of a text alone."""
    try:
        found = type(error)(text)
        if str(found) == text:
            vars(found).update(vars(error))
            return found
    except Exception:  # whatever the constructor of a class of the user's raises
        pass
    return ValueError(text) if isinstance(error, ValueError) else TypeError(text)


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line outside of this package and scikit-learn that led here."""
    here = currentframe()
    frame, level = here and here.f_back, 2
    while (
        frame is not None
        and frame.f_back is not None
        and frame.f_code.co_filename.startswith(_INSIDE)
    ):
        frame, level = frame.f_back, level + 1
    warn(message, category, stacklevel=level)


def called(name: str, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The result of a user's function; a note of its errors says which argument it was."""
    try:
        return function(*args, **kwargs)
    except Exception as error:
        text = getattr(function, "__qualname__", type(function).__name__)
        error.add_note(f"Raised by {name}, the function {text} that was given.")
        raise
