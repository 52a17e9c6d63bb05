"""What tests ask of the process: the routes of a fit, and what this scikit-learn does.

The routes are the compiled modules, where they are installed, and NumPy.
"""

from sklearn_ensemble_theory._compat import TREES_TRY_BOTH_SIDES
from sklearn_ensemble_theory._native import native_disabled, uses_native

__all__ = ["TREES_TRY_BOTH_SIDES", "native_disabled", "uses_native"]
