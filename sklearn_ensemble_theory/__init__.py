"""Ensemble methods as scikit-learn estimators, with closed forms and guarantees from theory."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sklearn_ensemble_theory._addresses import ROOMS, room_of
from sklearn_ensemble_theory._native._record import refuse_stale_modules
from sklearn_ensemble_theory._version import __version__ as __version__
from sklearn_ensemble_theory._version import show_versions

refuse_stale_modules()

if TYPE_CHECKING:
    # ruff: noqa: F403
    from sklearn_ensemble_theory import bounds as bounds
    from sklearn_ensemble_theory import datasets as datasets
    from sklearn_ensemble_theory import inspection as inspection
    from sklearn_ensemble_theory import metrics as metrics
    from sklearn_ensemble_theory import trees as trees
    from sklearn_ensemble_theory import uncertainty as uncertainty
    from sklearn_ensemble_theory.averaging import *
    from sklearn_ensemble_theory.boosting import *
    from sklearn_ensemble_theory.combining import *
    from sklearn_ensemble_theory.erm import *
    from sklearn_ensemble_theory.smoothing import *

__all__ = sorted(["__version__", "show_versions", *" ".join(ROOMS.values()).split()])

show_versions.__module__ = __name__


def __getattr__(name: str) -> Any:
    """A room, or what a room exports: it is imported when it is first asked for."""
    if name in ROOMS:
        return import_module(f"{__name__}.{name}")
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    member = getattr(import_module(f"{__name__}.{room_of(name)}"), name)
    globals()[name] = member  # the next time it is there
    return member


def __dir__() -> list[str]:
    return sorted({*globals(), *ROOMS, *__all__})
