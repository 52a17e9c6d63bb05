"""Loops compiled by numba: when it is imported, how it is switched off, what is kept on disk."""

import importlib
import importlib.util
import os
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import sklearn_ensemble_theory as package
from sklearn_ensemble_theory import _hot_loops, show_versions
from sklearn_ensemble_theory._hot_loops import compilation

ROOT = Path(__file__).parents[1]
VARIABLE = compilation.NUMBA_VARIABLE
HAS_NUMBA = importlib.util.find_spec("numba") is not None
needs_numba = pytest.mark.skipif(
    not compilation.uses_numba(), reason="numba is not installed or switched off"
)

# Every module of compiled loops, by its name inside `_hot_loops`.
PREFIX = f"{_hot_loops.__name__}."
LOOPS = [
    m.name.removeprefix(PREFIX)
    for m in pkgutil.walk_packages(_hot_loops.__path__, PREFIX)
    if m.name.endswith("_loops") and not m.name.endswith("array_loops")
]


def python(code, **variables):
    """What a new process prints that runs this code; a variable of None is removed."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **variables}
    environment = {name: value for name, value in environment.items() if value is not None}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, encoding="utf-8"
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_importing_the_package_does_not_import_numba():
    """Neither does the import of any of its modules, except those of compiled loops."""
    code = f"""
import importlib, pkgutil, sys
import {package.__name__} as package
assert "numba" not in sys.modules
for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
    if module.name.removeprefix({PREFIX!r}) not in {LOOPS}:
        importlib.import_module(module.name)
print("numba" in sys.modules)
"""
    assert python(code) == "False"


@pytest.mark.parametrize("value", ["0", "off", " False "])
def test_the_variable_switches_numba_off(value):
    code = """
import sys
from sklearn_ensemble_theory._hot_loops import compilation
print(compilation.uses_numba(), compilation.jit(len) is len, "numba" in sys.modules)
print(compilation.why_not_compiled())
"""
    assert python(code, **{VARIABLE: value}).splitlines() == [
        "False True False",
        f"numba is switched off by {VARIABLE}={value.strip()}",
    ]


@pytest.mark.parametrize("value", [None, "1"])
def test_numba_is_used_where_it_is_installed(value):
    code = """
from sklearn_ensemble_theory._hot_loops import compilation
print(compilation.uses_numba(), compilation.why_not_compiled() == "")
"""
    assert python(code, **{VARIABLE: value}) == f"{HAS_NUMBA} {HAS_NUMBA}"


@pytest.mark.parametrize(
    ("numba", "reason"),
    [
        ("raise ModuleNotFoundError('numba', name='numba')", "numba is not installed"),
        (
            "raise ModuleNotFoundError('no llvmlite', name='llvmlite')",
            "numba cannot be imported: ModuleNotFoundError: no llvmlite",
        ),
        (
            "raise RuntimeError('needs another NumPy')",
            "numba cannot be imported: RuntimeError: needs another NumPy",
        ),
    ],
)
def test_a_numba_that_cannot_be_imported_is_not_used(tmp_path, numba, reason):
    (tmp_path / "numba.py").write_text(numba, encoding="utf-8")
    code = f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
import sklearn_ensemble_theory as package
from sklearn_ensemble_theory._hot_loops import compilation
assert not compilation.uses_numba()
package.GradientBoostingRegressor(n_estimators=1).fit([[0.0], [1.0]], [0.0, 1.0])
package.show_versions()
"""
    last = python(code, **{VARIABLE: None}).splitlines()[-1]
    assert last.strip() == f"loops: NumPy and scikit-learn ({reason})"


def test_numba_disabled():
    before = compilation.uses_numba()
    with compilation.numba_disabled():
        assert not compilation.uses_numba()
        with compilation.numba_disabled():
            assert not compilation.uses_numba()
        assert not compilation.uses_numba()
        assert compilation.why_not_compiled()
    assert compilation.uses_numba() == before
    with pytest.raises(KeyError), compilation.numba_disabled():
        raise KeyError
    assert compilation.uses_numba() == before


def test_show_versions(capsys):
    show_versions()
    lines = capsys.readouterr().out.splitlines()
    shown = dict(line.strip().split(": ", 1) for line in lines)
    assert shown["sklearn_ensemble_theory"] == package.__version__
    assert set(shown) > {"python", "numpy", "scipy", "scikit-learn", "joblib", "numba"}
    assert (shown["numba"] == "not installed") == (not HAS_NUMBA)
    assert (lines[-1].strip() == "loops: compiled by numba") == compilation.uses_numba()
    with compilation.numba_disabled():
        show_versions()
    assert "loops: NumPy and scikit-learn (" in capsys.readouterr().out


# --- the code on disk -------------------------------------------------------------------------

DOUBLE = """
from sklearn_ensemble_theory._hot_loops.compilation import jit

@jit
def double(x):
    return 2 * x
"""


@needs_numba
@pytest.mark.skipif(sys.platform == "win32", reason="its cache folder is not set by a variable")
def test_loops_are_compiled_where_no_folder_can_be_written(tmp_path):
    (tmp_path / "doubling.py").write_text(DOUBLE, encoding="utf-8")
    # Files where numba would make its folders; permissions would not stop the superuser.
    (tmp_path / "__pycache__").touch()
    (tmp_path / "home").touch()
    code = f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
from doubling import double
print(double(1.5), type(double._cache).__name__)
"""
    home = str(tmp_path / "home")
    printed = python(
        code, NUMBA_CACHE_DIR=None, HOME=home, XDG_CACHE_HOME=home, PYTHONDONTWRITEBYTECODE="1"
    )
    assert printed == "3.0 NullCache"


@needs_numba
def test_a_later_process_loads_what_an_earlier_one_compiled(tmp_path):
    (tmp_path / "doubling.py").write_text(DOUBLE, encoding="utf-8")
    code = f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
from doubling import double
double(1.5)
print(sum(double.stats.cache_hits.values()), sum(double.stats.cache_misses.values()))
"""
    folder = str(tmp_path / "cache")
    assert [python(code, NUMBA_CACHE_DIR=folder) for _ in range(2)] == ["0 1", "1 0"]


@needs_numba
def test_what_is_kept_is_compiled_again_if_any_file_of_loops_changes():
    """A compiled loop holds the code of those that it calls, which may be in another file."""
    stamps = set()
    for name in LOOPS:
        module = importlib.import_module(f"{_hot_loops.__name__}.{name}")
        for member in vars(module).values():
            if hasattr(member, "py_func") and hasattr(member._cache, "_cache_file"):
                stamps.add(str(member._cache._cache_file._source_stamp))
    assert len(stamps) <= 1
    assert all(name.rsplit(".", 1)[-1] + ".py" in stamp for name in LOOPS for stamp in stamps)


@needs_numba
def test_loops_release_the_interpreter_and_divide_as_numpy_does():
    @compilation.jit
    def ratio(a, b):
        return a / b

    assert ratio(1.0, 0.0) == float("inf")
    assert ratio.targetoptions["nogil"]
    assert ratio.py_func(1.0, 2.0) == 0.5
