"""When predictions load numba."""

import sys

from sklearn_ensemble_theory._hot_loops.compilation import uses_numba

__all__ = ["uses_compiled_loops"]

# Rows times trees that the other routes predict in the time in which numba is loaded.
WORTH_LOADING = 2**20


def uses_compiled_loops(work: int | None) -> bool:
    """Whether the compiled loops predict `work` rows times trees; None for many.

    A process that loads a model and predicts a few rows is done before numba would be loaded.
    """
    if work is not None and work < WORTH_LOADING and "numba" not in sys.modules:
        return False
    return uses_numba()
