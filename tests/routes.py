"""What tests ask of the process: the routes of a fit, and what this scikit-learn does.

The routes are the compiled modules, where they are installed, and NumPy.
"""

from contextlib import nullcontext

import pytest

from sklearn_ensemble_theory._compat import TREES_TRY_BOTH_SIDES
from sklearn_ensemble_theory._native import native_disabled, uses_native

__all__ = ["ROUTES", "TREES_TRY_BOTH_SIDES", "both_routes", "native_disabled", "uses_native"]

# Where nothing is compiled, there is one route.
ROUTES = {"this": nullcontext, **({"numpy": native_disabled} if uses_native() else {})}
both_routes = pytest.mark.parametrize("route", ROUTES.values(), ids=[*ROUTES])
