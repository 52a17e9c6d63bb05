"""The loops over all rows, compiled when the package is installed, and whether they run.

The modules of this folder are imported where a fit first needs them, inside a function, and only
where `uses_native()` is true; every caller has another route, through NumPy and scikit-learn::

    if uses_native():
        from .._native import binning
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec

NATIVE_VARIABLE = "SKLEARN_ENSEMBLE_THEORY_NATIVE"

_disabled = 0


@cache
def _reason() -> str:
    """Why the compiled modules do not run in this process; empty where they do."""
    value = os.environ.get(NATIVE_VARIABLE, "1").strip()
    if value.lower() in ("0", "false", "no", "off"):
        return f"switched off by {NATIVE_VARIABLE}={value}"
    # Either all of them are installed or none.
    if find_spec(f"{__name__}.prediction") is None:
        return "nothing was compiled when the package was installed"
    return ""


# Of the compiled code; None where NumPy and scikit-learn do its work.
native_code: str | None = None if _reason() else "cython"


def uses_native() -> bool:
    """Whether the compiled modules run in this process."""
    return not _disabled and not _reason()


def why_not_native() -> str:
    """The reason why the compiled modules do not run now; empty where they do."""
    return "switched off by a context of a test" if _disabled else _reason()


@contextmanager
def native_disabled() -> Iterator[None]:
    """A context in which the other routes run; for tests, which compare both."""
    global _disabled
    _disabled += 1
    try:
        yield
    finally:
        _disabled -= 1
