"""Parallel tasks whose results arrive in order while later ones still run."""

from collections.abc import Iterable, Iterator
from typing import Any

from sklearn.utils.parallel import Parallel


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
