"""Both routes of a fit: the compiled loops, where numba is installed, and NumPy."""

from sklearn_ensemble_theory._hot_loops.compilation import numba_disabled, uses_numba

__all__ = ["numba_disabled", "uses_numba"]
