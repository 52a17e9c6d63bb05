"""Every command of the README, of the pages and of the templates is run, or says why it is not.

Commands of seconds are run here. The words of others are held to the file that runs them, and
benchmarks have to know the arguments that they are called with. The workflow of the night sets
FRESH=1: the commands for users and contributors are then run word for word in a fresh environment
and a clone.
"""

import fnmatch
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WRITTEN = {"_build", "generated", "auto_examples", "auto_lectures"}
PAGES = [
    ROOT / "README.md",
    *(
        path
        for folder in ("docs", ".github")
        for path in sorted((ROOT / folder).rglob("*.md"))
        if not WRITTEN & set(path.parts)
    ),
]
BLOCK = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FIRST_WORDS = r"(?:python|git|pip|sphinx-build|pytest|pre-commit|ruff|mypy)(?: |$)|\.ci/"
INLINE = re.compile(rf"(?<!`)`((?:{FIRST_WORDS})[^`]*)`(?!`)")
# Names of programs and files, not commands.
NAMES = {"git", "mypy", "pip", "pre-commit", "pytest", "ruff"}
NAMES |= {".ci/installed.py", ".ci/machine", ".ci/run", ".ci/sanitized"}

NAME = "sklearn-ensemble-theory"
SECONDS, ARGUMENTS, SPEED = "run here", "arguments are checked here", "cases are looked up here"
FRESH = "run in a fresh environment"
CI, SITE, NETWORK = ".ci/run", ".github/workflows/site.yml", "its download takes too long"
RELEASE = "only after the first release"
MINUTES = "takes minutes, or changes files"
# The first pattern that a command matches says where it is run.
WHERE = [
    (r"git clone https://github\.com/sklearn.*|python -m pip install \./.*", FRESH),
    (r'python -m pip install "(\./.*|\.)\[plot\]"( && python benchmarks/compare\.py)?', FRESH),
    (r'python -m pip install -e "\.\[test,docs,dev\]"|pre-commit install', FRESH),
    (r"python -m build && python -m twine check --strict dist/\*", FRESH),
    (r"python -m pip install -i https://test\.pypi\.org/simple .*", NETWORK),
    (r"python -m pip install sklearn-ensemble-theory", RELEASE),
    (r"python setup\.py build_ext --inplace|python -m pytest (-n 0 )?tests/trees/\S+.*", FRESH),
    (r'python -m pip install -e "\.\[test\]" && python -m pytest', CI),
    (r"ruff check .*|mypy|python -m sphinx .*plot_gallery.*", CI),
    (r"python -m pytest tests/integration|\.ci/machine stranger", CI),
    (r'python -m pip install -e "\.\[docs\]" && python -m sphinx .*', SITE),
    (r"python -m pytest -n 0 tests/integration/test_\*_in_browser\.py", SITE),
    (r"python -m pytest -n 0 \S+(_margins|test_new_loss)\.py.*", SECONDS),
    (r"python benchmarks/speed\.py.*", SPEED),
    (r"python benchmarks/(?!judging|measuring)\w+\.py.*", ARGUMENTS),
    (r"python -m (sklearn_ensemble_theory\.compare|tests\.reliability\.fuzzing).*", ARGUMENTS),
    (r"(python -m )?pytest( -m .*)?", MINUTES),
    (r"python -m pytest tests/(test_docs\.py|.* -k Your\w+)", MINUTES),
    (r"python docs/(_ext|pictures)/\w+\.py", MINUTES),
    (r'python -m pip install "\.\[(benchmark|test,integration)\]".*', NETWORK),
    (r"for name in .*; done", NETWORK),
]


def lines_of(block):
    """The commands of a block: without comments, each with the lines that belong to it."""
    text = re.sub(r" *\\\n *", " ", re.sub(r" +#.*$", "", block, flags=re.MULTILINE))
    return re.sub(r"\n(?=do )", "; ", text).splitlines()


def blocks_of(path):
    for language, block in BLOCK.findall(path.read_text(encoding="utf-8")):
        if language == "sh" or (not language and re.match(FIRST_WORDS, block)):
            yield lines_of(block)


def commands_of(path):
    for block in blocks_of(path):
        yield from block
    text = BLOCK.sub("", path.read_text(encoding="utf-8"))
    yield from (found for found in INLINE.findall(text) if found not in NAMES)


def where(command):
    return next((place for pattern, place in WHERE if re.fullmatch(pattern, command)), None)


COMMANDS = {command: path for path in PAGES for command in commands_of(path)}


def run(command, folder, scripts=Path(sys.executable).parent, **variables):
    """What a command of the shell prints; `scripts` is the first folder of the path."""
    path = f"{scripts}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command,
        shell=True,
        cwd=folder,
        env={**os.environ, "PATH": path, **variables},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


def of(*places):
    return pytest.mark.parametrize("command", [c for c in COMMANDS if where(c) in places])


def test_every_command_says_where_it_is_run():
    assert len(COMMANDS) > 50
    assert {c: str(page) for c, page in COMMANDS.items() if where(c) is None} == {}
    for pattern, _ in WHERE:
        assert any(re.fullmatch(pattern, command) for command in COMMANDS), pattern


@of(CI, SITE)
def test_the_file_has_the_words_of_the_command(command):
    text = (ROOT / where(command)).read_text(encoding="utf-8")
    # `.ci/run` takes the lines of the contributing page from it, by their first words.
    begun = re.findall(r"\$\(line '?([^')]+)'?\)", text)
    words = re.sub(r"[.\[\]]", r"\\\g<0>", command)  # as in its expression of the README
    assert command in text or words in text or any(map(command.startswith, begun))


@of(SECONDS)
def test_commands_of_seconds(command):
    run(command, ROOT)


def test_speed_knows_the_names_of_cases():
    known = run("python benchmarks/speed.py --list", ROOT).split()
    for command in COMMANDS:
        for name in command.split()[2:] if "benchmarks/speed.py" in command else ():
            assert name[:2] == "--" or fnmatch.filter(known, name.strip("'")), command


@pytest.mark.slow
@of(ARGUMENTS)
def test_benchmarks_know_their_arguments(command):
    assert "usage" in run(f"{command} --help", ROOT)


@pytest.mark.skipif(os.environ.get("FRESH") != "1", reason="compiles the package several times")
@pytest.mark.slow
def test_a_fresh_environment_and_a_clone(tmp_path):
    """The commands in the order of the pages; what is cloned is this repository."""
    run("python -m venv fresh", tmp_path)
    scripts = tmp_path / "fresh" / ("Scripts" if os.name == "nt" else "bin")
    variables = {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.{ROOT.as_uri()}.insteadOf",
        "GIT_CONFIG_VALUE_0": f"https://github.com/{NAME}/{NAME}",
        "PYTHONPATH": "",
    }
    for command in COMMANDS:
        if where(command) == FRESH:
            folder = tmp_path if NAME in command else tmp_path / NAME
            run(command, folder, scripts, **variables)
        if command == f"python -m pip install ./{NAME}":
            text = (ROOT / "README.md").read_text(encoding="utf-8")
            lines, printed = re.search(
                r"```python\n(.*?)```\n\n```text\n(.*?)```", text, re.S
            ).groups()
            (tmp_path / "ten_lines.py").write_text(lines, encoding="utf-8")
            assert run("python ten_lines.py", tmp_path, scripts, **variables) == printed
