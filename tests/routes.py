"""What tests ask of the process: the routes of a fit, and what this scikit-learn does.

The routes are the compiled modules, where they are installed, and NumPy.
"""

from contextlib import contextmanager

from sklearn_ensemble_theory import _native
from sklearn_ensemble_theory._compat import TREES_TRY_BOTH_SIDES
from sklearn_ensemble_theory._hot_loops.compilation import numba_disabled
from sklearn_ensemble_theory._native import uses_native

__all__ = ["TREES_TRY_BOTH_SIDES", "native_disabled", "uses_native"]


@contextmanager
def native_disabled():
    """A context in which NumPy and scikit-learn do what compiled loops would."""
    with _native.native_disabled(), numba_disabled():
        yield
