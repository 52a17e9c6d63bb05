"""The compiled modules: how they are found and switched off, and what is said without them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import sklearn_ensemble_theory as package
from sklearn_ensemble_theory import _native, show_versions

from .routes import native_disabled, uses_native

FOLDER = Path(_native.__file__).parent
needs_native = pytest.mark.skipif(not uses_native(), reason="nothing is compiled")


def python(code, **variables):
    """What a new process prints that runs this code; a variable of None is removed."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **variables}
    environment = {name: value for name, value in environment.items() if value is not None}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, encoding="utf-8"
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@needs_native
def test_every_module_was_compiled_after_its_last_change():
    for source in FOLDER.glob("*.pyx"):
        built = [p for p in FOLDER.glob(f"{source.stem}.*") if p.suffix in (".so", ".pyd")]
        assert built, f"{source.name} is not compiled: pip install -e ."
        age = max(path.stat().st_mtime for path in built)
        for part in (source, *FOLDER.glob(f"{source.stem}.h")):
            assert part.stat().st_mtime <= age, f"{part.name} has changed: pip install -e ."


@pytest.mark.parametrize("value", ["0", "off", " False "])
def test_the_variable_switches_compiled_code_off(value):
    code = """
import sklearn_ensemble_theory as package
from sklearn_ensemble_theory._native import uses_native, why_not_native
print(package.native_code, uses_native())
print(why_not_native())
"""
    assert python(code, SKLEARN_ENSEMBLE_THEORY_NATIVE=value).splitlines() == [
        "None False",
        f"switched off by SKLEARN_ENSEMBLE_THEORY_NATIVE={value.strip()}",
    ]


@needs_native
@pytest.mark.parametrize("value", [None, "1"])
def test_compiled_code_is_used_where_it_is_installed(value):
    code = """
import sklearn_ensemble_theory as package
package.show_versions()
"""
    last = python(code, SKLEARN_ENSEMBLE_THEORY_NATIVE=value).splitlines()[-1]
    assert last.strip() == f"loops: compiled ({package.native_code})"


def test_the_other_route_where_nothing_is_compiled(tmp_path):
    """All estimators work in a copy of the package without its compiled files."""
    copy = tmp_path / package.__name__
    for path in Path(package.__file__).parent.rglob("*.py"):
        to = copy / path.relative_to(Path(package.__file__).parent)
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_bytes(path.read_bytes())
    code = f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
import sklearn_ensemble_theory as package
assert package.__file__.startswith({str(tmp_path)!r}), package.__file__
assert package.native_code is None
package.GradientBoostingRegressor(n_estimators=1).fit([[0.0], [1.0]], [0.0, 1.0])
package.show_versions()
"""
    last = python(code, SKLEARN_ENSEMBLE_THEORY_NATIVE=None).splitlines()[-1]
    why = "nothing was compiled when the package was installed"
    assert last.strip() == f"loops: NumPy and scikit-learn: {why}"


def test_native_disabled():
    before = uses_native()
    with native_disabled():
        assert not uses_native()
        with native_disabled():
            assert not uses_native()
        assert not uses_native()
        assert _native.why_not_native()
    assert uses_native() == before
    with pytest.raises(KeyError), native_disabled():
        raise KeyError
    assert uses_native() == before


def test_show_versions(capsys):
    show_versions()
    lines = capsys.readouterr().out.splitlines()
    shown = dict(line.strip().split(": ", 1) for line in lines)
    assert shown["sklearn_ensemble_theory"] == package.__version__
    assert set(shown) > {"python", "numpy", "scipy", "scikit-learn", "joblib"}
    assert (lines[-1].strip() == "loops: compiled (cython)") == uses_native()
    with native_disabled():
        show_versions()
    assert "loops: NumPy and scikit-learn: " in capsys.readouterr().out


def test_importing_the_package_imports_no_compiled_module_and_no_large_library():
    code = f"""
import sys
import sklearn.ensemble
before = set(sys.modules)
import {package.__name__}
late = {{"scipy.stats", "pandas", "matplotlib", "multiprocessing.pool", "dask"}}
print(sorted(late & (set(sys.modules) - before)))
print([name for name in sys.modules if name.startswith("{package.__name__}._native.")])
"""
    assert python(code).splitlines() == ["[]", "[]"]
