"""The compiled modules: that those of a checkout are there and belong to its sources."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import sklearn_ensemble_theory as package
from sklearn_ensemble_theory import show_versions

PACKAGE = Path(package.__file__).parent
# A fit that calls compiled code.
FIT = f"""
import {package.__name__} as package
package.GradientBoostingRegressor(n_estimators=1).fit([[0.0], [1.0]], [0.0, 1.0])
print(package.__file__)
"""


def run(code, path=None):
    """A new process that runs this code, with this folder before all others on its path."""
    folders = os.pathsep.join(map(str, filter(None, [path, *sys.path])))
    environment = {**os.environ, "PYTHONPATH": folders}
    return subprocess.run(
        [sys.executable, "-c", code],
        env=environment,
        cwd=path,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def copied(tmp_path, *ignored):
    """A copy of the package in a folder whose name has a space, without these files."""
    checkout = tmp_path / "a checkout"
    ignored = shutil.ignore_patterns("__pycache__", *ignored)
    shutil.copytree(PACKAGE, checkout / PACKAGE.name, ignore=ignored)
    return checkout


def refusal(checkout):
    """The error of an import in this checkout, its last line."""
    done = run(FIT, checkout)
    assert done.returncode == 1
    kind, message = done.stderr.strip().splitlines()[-1].split(": ", 1)
    assert kind == "ImportError"
    return message


is_a_checkout = pytest.mark.skipif(
    not (PACKAGE / "_native" / "growth.pxd").exists(), reason="an installed package has no sources"
)


@is_a_checkout
@pytest.mark.parametrize("missing", ["*", "relu.*", "_memoryviews.*"])
def test_a_checkout_that_is_not_compiled_is_refused(tmp_path, missing):
    checkout = copied(tmp_path, f"{missing}.so", f"{missing}.pyd")
    assert refusal(checkout) == (
        f"sklearn_ensemble_theory was found in {checkout}, a checkout that is not compiled for "
        "this Python: run `python -m pip install -e .` there, or start Python in another folder to "
        "import an installed copy."
    )


@is_a_checkout
@pytest.mark.parametrize("name", ["relu.pyx", "growth.pxd", "several_rows.h", "a_new_one.h"])
def test_compiled_modules_of_other_sources_are_refused(tmp_path, name):
    """Whatever the times of the files say."""
    checkout = copied(tmp_path)
    source = checkout / PACKAGE.name / "_native" / name
    original = source.read_bytes() if source.exists() else None
    source.write_bytes((original or b"") + b"\n")
    os.utime(source, (0, 0))
    assert refusal(checkout) == (
        f"{name} of {source.parent} changed after the last compilation: run `python setup.py "
        f"build_ext --inplace` in {checkout}, which needs the extra dev, or `python -m pip install "
        "-e .`."
    )
    source.unlink() if original is None else source.write_bytes(original)
    assert run(FIT, checkout).stdout.strip() == str(checkout / PACKAGE.name / "__init__.py")


@is_a_checkout
def test_a_record_that_was_not_written_to_its_end_is_none(tmp_path):
    checkout = copied(tmp_path)
    (record,) = (checkout / PACKAGE.name / "_native").glob("_record.*.json")
    record.write_text(record.read_text()[:-9])
    assert "is not compiled for this Python" in refusal(checkout)


@is_a_checkout
def test_files_of_editors_are_no_sources(tmp_path):
    checkout = copied(tmp_path)
    (checkout / PACKAGE.name / "_native" / ".#relu.pyx").write_text("a lock")
    assert run(FIT, checkout).returncode == 0


@is_a_checkout
def test_many_changes_are_counted(tmp_path):
    checkout = copied(tmp_path)
    for source in (checkout / PACKAGE.name / "_native").glob("[t-v]*.pyx"):
        source.unlink()
    for k in range(9):
        (checkout / PACKAGE.name / "_native" / f"new_{k}.h").touch()
    assert refusal(checkout).startswith("11 sources of ")


def test_an_installed_package_has_no_sources(tmp_path):
    installed = copied(tmp_path, "*.pyx", "*.pxd", "*.h", "_record.*.json")
    assert run(FIT, installed).stdout.strip() == str(installed / PACKAGE.name / "__init__.py")


def test_show_versions(capsys):
    show_versions()
    lines = capsys.readouterr().out.splitlines()
    shown = dict(line.strip().split(": ", 1) for line in lines)
    assert shown["sklearn_ensemble_theory"] == package.__version__
    assert set(shown) > {"python", "numpy", "scipy", "scikit-learn", "joblib"}


def test_importing_the_package_imports_no_compiled_module_and_no_large_library():
    code = f"""
import sys
import sklearn.ensemble
before = set(sys.modules)
import {package.__name__}
late = {{"scipy.stats", "pandas", "matplotlib", "multiprocessing.pool", "dask"}}
print(sorted(late & (set(sys.modules) - before)))
own = {{name for name in sys.modules if name.startswith("{package.__name__}._native.")}}
print(own - {{"{package.__name__}._native._record"}})
"""
    done = run(code)
    assert done.stdout.splitlines() == ["[]", "set()"], done.stderr
