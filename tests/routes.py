"""What tests ask of the process: the routes of a fit, and what this scikit-learn does.

The routes are the compiled loops, where numba is installed, and NumPy.
"""

from sklearn_ensemble_theory._compat import TREES_TRY_BOTH_SIDES
from sklearn_ensemble_theory._hot_loops.compilation import numba_disabled, uses_numba

__all__ = ["TREES_TRY_BOTH_SIDES", "numba_disabled", "uses_numba"]
