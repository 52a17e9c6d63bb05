"""The README: its programs print what it shows, and its names, links and versions are right."""

import contextlib
import io
import re
import tomllib
from pathlib import Path

import sklearn_ensemble_theory as package

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)


def test_the_programs_print_what_the_readme_says():
    namespace, checked = {}, 0
    for (language, code), (following, expected) in zip(BLOCKS, [*BLOCKS[1:], ("", "")]):
        if language != "python":
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, "README.md", "exec"), namespace)
        if following == "text":
            assert printed.getvalue() == expected
            checked += 1
    assert checked >= 1


def test_the_two_commands_stand_alone():
    commands = [code.strip() for language, code in BLOCKS if not language]
    assert 'python -m pip install ".[plot]" && python benchmarks/compare.py' in commands
    assert 'python -m pip install -e ".[test]" && python -m pytest' in commands
    extras = {name for command in commands for name in re.findall(r"[\w,]+(?=\])", command)}
    named = {name for group in extras for name in group.split(",")}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert named <= set(project["optional-dependencies"])


def test_every_extra_is_described():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    install = README[README.index("## Install") : README.index("## Compare")]
    described = set(re.findall(r"`(\w+)`", install))
    assert set(project["optional-dependencies"]) <= described


def test_the_address_of_the_repository_is_that_of_the_project():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for path in ("README.md", "docs/getting_started.md", ".github/CITATION.cff"):
        found = re.findall(r"https://github\.com/[\w/-]+", (ROOT / path).read_text("utf-8"))
        assert found, path
        known = {project["urls"]["Source"], project["urls"]["Issues"]}
        known.add(f"{project['urls']['Source']}/actions/workflows/ci")
        assert set(found) <= known, path


def test_the_badges_are_true():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    prefix = "Programming Language :: Python :: 3."
    minors = [int(c[len(prefix) :]) for c in project["classifiers"] if c.startswith(prefix)]
    assert f"badge/python-3.{min(minors)}%20to%203.{max(minors)}-" in README
    assert project["requires-python"] == f">=3.{min(minors)}"
    assert project["license"] == "BSD-3-Clause"
    assert "badge/licence-BSD%203--clause-" in README


def test_the_recipe_for_conda_forge_has_the_requirements():
    found = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    recipe = (ROOT / ".github" / "conda-forge.yaml").read_text(encoding="utf-8")
    for section, wanted in (
        ("host", {*found["build-system"]["requires"], "pip"}),
        ("run", set(found["project"]["dependencies"])),
    ):
        block = re.search(rf"^  {section}:\n((?:    .*\n)+)", recipe, re.MULTILINE)[1]
        stated = {line.strip("- ").replace(" ", "") for line in block.splitlines()} - {"python"}
        assert stated == {requirement.replace("Cython", "cython") for requirement in wanted}
    assert found["project"]["urls"]["Documentation"] in recipe
    assert f"summary: {found['project']['description']}" in recipe
    assert recipe.count(f"name: {found['project']['name']}") == 1
    assert f'version: "{package.__version__.split(".dev")[0]}"' in recipe


def test_the_first_page_is_the_readme_and_its_pictures():
    page = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    start, end = re.findall(r":(?:start-after|end-before): \"(.*)\"", page)
    assert README.count(end) == 1
    assert README.count(start) == 1
    assert page.splitlines()[0] == README.splitlines()[0]
    assert README.split(start)[1].startswith("\n\n**")
    drawn = re.findall(
        r"^def (\w+)\(axis\)", (ROOT / "docs/pictures/draw.py").read_text("utf-8"), re.M
    )
    assert set(re.findall(r"pictures/(\w+)\.png", page)) < set(drawn)
    assert set(drawn) == {path.stem for path in (ROOT / "docs" / "pictures").glob("*.png")}


def test_the_readme_is_short():
    assert README.count("\n") <= 150


def test_links_lead_somewhere():
    for target in re.findall(r"\]\(([^)#]+)", README):
        assert target.startswith("https://") or (ROOT / target).exists(), target


def test_the_citation_has_the_current_version():
    (entry,) = [code for language, code in BLOCKS if language == "bibtex"]
    assert f"version = {{{package.__version__}}}" in entry
