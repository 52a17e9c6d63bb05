"""What whoever changes the package runs: the lines of the contributing page, and the build."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("setuptools", "77")
pytest.importorskip("Cython", "3.1")

ROOT = Path(__file__).parents[2]
NATIVE = Path("sklearn_ensemble_theory", "_native")
PAGE = (ROOT / "docs" / "contributing.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)
LINES = [line.split("#")[0].strip() for line in BLOCKS[1].splitlines()]
NO_COMPILER = (
    "No C compiler works here (/nonexistent), and there is no ziglang, the wheel that contains one:"
)


def run(command, folder, **variables):
    """A command of the shell, in which `python` is this one."""
    environment = {**os.environ, **variables}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        command,
        shell=isinstance(command, str),
        cwd=folder,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


@pytest.fixture
def checkout(tmp_path):
    """A small one: what is built, with two modules, in a folder whose name has a space."""
    folder = tmp_path / "a checkout"
    (folder / NATIVE).mkdir(parents=True)
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    shutil.copy(ROOT / NATIVE.parent / "_version.py", folder / NATIVE.parent)
    sources = [p for p in (ROOT / NATIVE).iterdir() if p.suffix in (".py", ".pxd", ".h")]
    for path in (*sources, ROOT / NATIVE / "threads.pyx", ROOT / NATIVE / "relu.pyx"):
        shutil.copy(path, folder / NATIVE)
    return folder


def test_the_page_has_five_lines_and_ci_runs_those_of_other_tools():
    assert len(LINES) == 5
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    begun = re.findall(r"\$\(line '?([^')]+)'?\)", script)
    for line in LINES[2:]:
        assert sum(line.startswith(words) for words in begun) == 1, line


def test_the_line_for_one_file_of_tests():
    done = run(LINES[1] + " -n 0", ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout or "100%" in done.stdout


def test_the_line_that_compiles_takes_what_has_changed(checkout):
    def built():
        return {path.name.split(".")[0]: path.stat().st_mtime_ns for path in modules()}

    def modules():
        return [p for p in (checkout / NATIVE).iterdir() if p.suffix in (".so", ".pyd")]

    done = run(LINES[0], checkout)
    assert done.returncode == 0, done.stdout + done.stderr
    first = built()
    assert set(first) == {"_memoryviews", "relu", "threads"}
    # Nothing has changed.
    assert run(LINES[0], checkout).returncode == 0
    assert built() == first
    # A header that one of them includes by way of another, older than what was compiled of it.
    header = checkout / NATIVE / "several_rows.h"
    header.write_bytes(header.read_bytes() + b"\n")
    os.utime(header, (0, 0))
    assert run(LINES[0], checkout).returncode == 0
    second = built()
    assert {name for name in first if first[name] != second[name]} == {"relu"}
    # An error of the compiler ends the build, and what was compiled before is not taken for new.
    source = checkout / NATIVE / "relu.pyx"
    source.write_text(source.read_text(encoding="utf-8") + "\nnot Cython\n", encoding="utf-8")
    assert run(LINES[0], checkout).returncode != 0
    code = "from _sources import changed; print(changed())"
    done = run([sys.executable, "-c", code], checkout / NATIVE)
    assert done.stdout.strip() == "['relu.pyx']"


HOOK = """
import setup
print(setup.get_requires_for_build_{kind}())
"""


@pytest.mark.parametrize("kind", ["wheel", "editable"])
def test_the_build_requires_a_compiler_where_none_works(checkout, kind):
    code = HOOK.format(kind=kind)
    with_one = run([sys.executable, "-c", code], checkout)
    assert with_one.returncode == 0, with_one.stderr
    assert "ziglang" not in with_one.stdout.splitlines()[-1]
    if os.name == "nt":
        return  # setuptools finds the Build Tools by itself
    code = code.replace("print", "setup.index_lacks_zig = lambda: False\nprint")
    for missing in ("/nonexistent", "false"):  # no command, and one that fails
        without = run([sys.executable, "-c", code], checkout, CC=missing)
        assert without.stdout.splitlines()[-1].startswith("['ziglang'"), without.stderr


@pytest.mark.skipif(os.name == "nt", reason="setuptools finds the Build Tools by itself")
def test_one_sentence_where_there_is_no_compiler_to_be_had(checkout):
    # An index without any wheel.
    empty = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(checkout), "PIP_CONFIG_FILE": os.devnull}
    code = HOOK.format(kind="wheel")
    done = run([sys.executable, "-c", code], checkout, CC="/nonexistent", **empty)
    assert done.returncode != 0
    assert done.stderr.strip().splitlines()[-1].startswith(NO_COMPILER)
    done = run(LINES[0], checkout, CC="/nonexistent")
    assert done.returncode != 0
    assert done.stderr.strip().splitlines()[-1].startswith(NO_COMPILER)
