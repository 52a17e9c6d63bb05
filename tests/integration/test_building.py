"""What whoever changes the package runs: the lines of the contributing page, and the build."""

import os
import re
import runpy
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

pytest.importorskip("setuptools", "77")
pytest.importorskip("Cython", "3.1")

ROOT = Path(__file__).parents[2]
NATIVE = Path("sklearn_ensemble_theory", "_native")
PAGE = (ROOT / "docs" / "contributing.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)
LINES = [line.split("#")[0].strip() for line in BLOCKS[1].splitlines()]
NO_COMPILER = re.compile(
    r"No C compiler works here \(.+\), and there is no ziglang, the wheel that contains one: "
    r"install a compiler .*, or a released wheel of sklearn-ensemble-theory, which needs none\."
)


def run(command, folder, *, commands=None, **variables):
    """A command of the shell in which `python` is this one; `commands` has the other commands."""
    environment = {**os.environ, **variables}
    path = os.environ["PATH"] if commands is None else str(commands)
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{path}"
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


def test_the_page_has_six_lines_and_ci_runs_those_of_other_tools():
    assert len(LINES) == 6
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    begun = re.findall(r"\$\(line '?([^')]+)'?\)", script)
    for line in LINES[3:]:
        assert sum(line.startswith(words) for words in begun) == 1, line


def test_the_parts_of_some_commits_are_all_files():
    part = runpy.run_path(str(ROOT / ".ci" / "part.py"))["part"]
    files = [path.relative_to(ROOT) for path in (ROOT / "tests").rglob("test_*.py")]
    parts = [part(files, 3, f"commit {k}") for k in range(30)]
    assert set().union(*parts) == {path.as_posix() for path in files}
    assert all(0.2 < len(some) / len(files) < 0.47 for some in parts)
    assert part(files, 3, "commit 0") == parts[0] != parts[1]
    assert part(files[:1], 1000, "") == [files[0].as_posix()]


@pytest.mark.parametrize("line", [LINES[1] + " -n 0", LINES[2]])
def test_the_lines_for_one_file_of_tests_and_for_some_of_them(line):
    done = run(line, ROOT)
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
    code = "from _record import read; print(sorted(read()['modules']), read()['sources'])"
    done = run([sys.executable, "-c", code], checkout / NATIVE)
    left = ["_memoryviews", "threads"]
    assert done.stdout.strip() == f"{[f'sklearn_ensemble_theory._native.{m}' for m in left]} {{}}"
    # As it was before, with its old time: what failed is compiled again, and nothing else.
    shutil.copy2(ROOT / NATIVE / "relu.pyx", source)
    assert run(LINES[0], checkout).returncode == 0
    third = built()
    assert {name for name in second if second[name] != third[name]} == {"relu"}
    # Other options of the compiler change every module.
    done = run(LINES[0], checkout, SKLEARN_ENSEMBLE_THEORY_SANITIZE="1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert all(third[name] != time for name, time in built().items())


HOOK = """
import setup
print(setup.get_requires_for_build_{kind}())
"""


@pytest.mark.parametrize("kind", ["wheel", "editable"])
def test_the_build_requires_a_compiler_where_none_works(checkout, tmp_path, kind):
    code = HOOK.format(kind=kind)
    with_one = run([sys.executable, "-c", code], checkout)
    assert with_one.returncode == 0, with_one.stderr
    assert "ziglang" not in with_one.stdout.splitlines()[-1]
    if os.name == "nt":
        return  # setuptools finds the Build Tools by itself
    code = code.replace("print", "setup.index_lacks_zig = lambda: False\nprint")
    compiler = tmp_path / sysconfig.get_config_var("CC").split()[0]
    for script in (None, "exit 1"):  # no command, and one that fails
        if script:
            compiler.write_text(f"#!/bin/sh\n{script}\n")
            compiler.chmod(0o755)
        without = run([sys.executable, "-c", code], checkout, commands=tmp_path, CC="")
        assert without.stdout.splitlines()[-1].startswith("['ziglang'"), without.stderr
    for wrong in ("/nonexistent", "false", "gcc 'x"):
        done = run([sys.executable, "-c", code], checkout, CC=wrong)
        message = f"The C compiler that the variable CC names does not work: {wrong}"
        assert done.stderr.strip().splitlines()[-1] == message


@pytest.mark.skipif(os.name == "nt", reason="setuptools finds the Build Tools by itself")
def test_one_sentence_where_there_is_no_compiler_to_be_had(checkout, tmp_path):
    # An index without any wheel.
    empty = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(checkout), "PIP_CONFIG_FILE": os.devnull}
    code = HOOK.format(kind="wheel")
    done = run([sys.executable, "-c", code], checkout, commands=tmp_path, CC="", **empty)
    assert NO_COMPILER.fullmatch(done.stderr.strip().splitlines()[-1]), done.stderr
    # Where the index cannot be reached, nothing is known of it: pip may be given another one.
    away = {**empty, "PIP_NO_INDEX": "0", "PIP_INDEX_URL": "http://127.0.0.1:9/simple"}
    done = run([sys.executable, "-c", code], checkout, commands=tmp_path, CC="", **away)
    assert done.stdout.splitlines()[-1].startswith("['ziglang'"), done.stderr
    done = run(LINES[0], checkout, commands=tmp_path, CC="")
    assert NO_COMPILER.fullmatch(done.stderr.strip().splitlines()[-1]), done.stderr
