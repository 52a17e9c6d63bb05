"""Parallel tasks whose results arrive in order while later ones still run."""

from sklearn.utils.parallel import Parallel


def in_order(tasks, *, n_jobs, prefer=None):
    """Iterate over the results of `delayed` tasks, in their order, as soon as each is there.

    So a caller can count progress, fold a result into a running sum and let it go, or stop early.
    A joblib backend that cannot do so (a few outside joblib cannot) gives all results at once.
    """
    try:
        parallel = Parallel(n_jobs=n_jobs, prefer=prefer, return_as="generator")
    except ValueError:
        parallel = Parallel(n_jobs=n_jobs, prefer=prefer)
    return iter(parallel(tasks))
