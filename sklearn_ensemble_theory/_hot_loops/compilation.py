"""Whether the loops are compiled, and their compilation.

The modules of loops are imported when a fit first needs them, inside a function, and only where
`uses_numba()` is true::

    if uses_numba():
        from sklearn_ensemble_theory._hot_loops import bin_loops

Importing the package therefore costs nothing more where numba is installed. Without numba a loop
is a plain Python function, which only tests call: every caller has another route.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

NUMBA_VARIABLE = "SKLEARN_ENSEMBLE_THEORY_NUMBA"

Function = TypeVar("Function", bound=Callable[..., Any])

_disabled = 0


@cache
def _found() -> tuple[Any, str]:
    """The module numba and ""; or None and the reason why it is not used."""
    value = os.environ.get(NUMBA_VARIABLE, "1").strip()
    if value.lower() in ("0", "false", "no", "off"):
        return None, f"numba is switched off by {NUMBA_VARIABLE}={value}"
    try:
        import numba
    except Exception as error:  # one that does not fit this NumPy raises more than ImportError
        if isinstance(error, ModuleNotFoundError) and error.name == "numba":
            return None, "numba is not installed"
        return None, f"numba cannot be imported: {type(error).__name__}: {error}"
    return numba, ""


def _numba() -> Any:
    """The module numba; None where it is not installed, fails to import or is switched off."""
    return _found()[0]


def uses_numba() -> bool:
    """Whether the loops run compiled in this process. The first call imports numba."""
    return not _disabled and _numba() is not None


def why_not_compiled() -> str:
    """The reason why the loops do not run compiled in this process; empty where they do."""
    return "numba is switched off by a context of a test" if _disabled else _found()[1]


@contextmanager
def numba_disabled() -> Iterator[None]:
    """A context in which the routes without numba run; for tests, which compare both."""
    global _disabled
    _disabled += 1
    try:
        yield
    finally:
        _disabled -= 1


def jit(function: Function) -> Function:
    """Compile a function for the types of its first call, without the interpreter lock.

    The machine code is kept on disk, beside the source or in the user's cache folder, where one of
    them can be written. Divisions by zero give inf and nan, as in NumPy.
    """
    return _compiled(function)


def jit_lean(function: Function) -> Function:
    """The same for a function that makes no array, nor calls one that does: less to compile.

    Its machine code does not count references.
    """
    return _compiled(function, _nrt=False)


def jit_part(function: Function) -> Function:
    """The same for a function that only compiled functions call."""
    return _compiled(function, _nrt=False, no_cpython_wrapper=True)


def _compiled(function, **further):
    numba = _numba()
    if numba is None:
        return function
    # No pointer for C is asked for.
    options = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True, **further}
    try:
        compiled = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # no folder can be written
        return numba.njit(**options)(function)
    # numba compares the time of the function's own file only, but loops call those of other files.
    with suppress(AttributeError):
        compiled._cache._cache_file._source_stamp = _stamp_of_all_loops()
    return compiled


@cache
def _stamp_of_all_loops() -> list[tuple[str, float, int]]:
    files = sorted(Path(__file__).parent.rglob("*_loops.py"))
    return [(file.name, file.stat().st_mtime, file.stat().st_size) for file in files]


def jit_inside(function: Function) -> Function:
    """Compile a function as a part of its caller.

    For functions with many arrays, of which a call would copy and count references to each.
    """
    numba = _numba()
    if numba is None:
        return function
    return numba.njit(inline="always", nogil=True, error_model="numpy")(function)
