"""The extensions of the documentation site, in docs/_ext, as far as they need no Sphinx."""

import ast
import importlib
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree
from zipfile import ZipFile

import pytest

import sklearn_ensemble_theory as package
from sklearn_ensemble_theory import bounds

from .estimators import estimator_classes
from .test_docs import PUBLIC

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
SCRIPTS = sorted([*DOCS.glob("examples/*/plot_*.py"), *DOCS.glob("lectures/plot_*.py")])


@pytest.fixture(scope="module", autouse=True)
def extensions():
    """The folder of the extensions on the path."""
    sys.path.insert(0, str(DOCS / "_ext"))
    yield
    sys.path.remove(str(DOCS / "_ext"))


def extension(name):
    return importlib.import_module(name)


def texts_of(script):
    """The docstring of a script of the gallery, and its blocks of comments, without their signs."""
    source = script.read_text(encoding="utf-8")
    yield ast.get_docstring(ast.parse(source))
    for block in re.findall(r"^# %%\n((?:#.*\n)+)", source, re.MULTILINE):
        yield re.sub(r"^# ?", "", block, flags=re.MULTILINE)


# The theorems


def test_every_function_of_bounds_has_its_theorem_in_a_formula():
    theorems = extension("theorems")
    assert set(theorems.FORMULAS) == set(bounds.__all__)
    rows = [(name, row) for name, rows in theorems.FORMULAS.items() for row in rows]
    for name, (title, formula, where, source) in rows:
        assert title, name
        assert where, name
        assert source, name
        assert formula.count("{") == formula.count("}"), name
    assert set(theorems.PAGES) == set(theorems.THEOREMS)
    pages = {path.stem.removeprefix("theory_") for path in DOCS.glob("user_guide/theory_*.md")}
    assert set(theorems.PAGES.values()) == pages
    for page in pages:
        text = (DOCS / "user_guide" / f"theory_{page}.md").read_text(encoding="utf-8")
        assert f"generated/theorems_{page}.txt" in text


def test_tests_of_results_are_links():
    theorems, source = (
        extension("theorems"),
        ["| a | b | `tests/x.py::test_a`, `tests/y.py::test_b` |"],
    )
    theorems.tests_as_links(None, "user_guide/theory_boosting", source)
    root = extension("source_links").repository()
    assert source == [f"| a | b | [1]({root}/tests/x.py), [2]({root}/tests/y.py) |"]


# The map


def ends_of_the_map():
    module = extension("estimator_map")
    for ends in module.MAP.values():
        for _, name, kinds in ends:
            yield from module.estimators(name, kinds)


def test_the_map_has_every_estimator():
    assert set(ends_of_the_map()) == {cls.__name__ for cls in estimator_classes()}


def test_every_node_of_the_map_is_a_link_to_a_page():
    module = extension("estimator_map")
    drawing = ElementTree.fromstring(module.drawing())
    svg = "{http://www.w3.org/2000/svg}"
    links = [link.get("href") for link in drawing.iter(f"{svg}a")]
    addresses = [address for address, _ in PUBLIC]
    pages = {f"generated/{address}.html" for address in addresses}
    guide = {f"user_guide/{page.stem}.html" for page in (DOCS / "user_guide").glob("*.md")}
    assert set(links) <= pages | guide
    for name in ends_of_the_map():
        assert module.address(name) in links
        assert f"{{class}}`~{module.full_name(name)}`" in module.listing()
    for _, page in module.MAP:
        assert f"user_guide/{page}.html" in links


def test_text_of_the_map_fits_into_its_boxes():
    module = extension("estimator_map")
    for (question, _), ends in module.MAP.items():
        lines = module.lines_of(question, module.QUESTION[1], module.BOLD)
        assert 20 + 16 * len(lines) <= module.ROW * len(ends)
        for condition, name, kinds in ends:
            assert len(module.lines_of(condition, module.CONDITION[1])) <= 2
            room = module.ESTIMATOR[1] - 20 - (172 if len(kinds) > 1 else 0)
            assert len(name) * module.LETTER <= room


# The guide


def test_every_public_name_links_to_a_section_of_the_guide():
    writer = extension("write_pages")
    stems = {re.sub("(Classifier|Regressor)$", "", cls.__name__) for cls in estimator_classes()}
    assert stems <= set(writer.SECTIONS) <= stems | {cls.__name__ for cls in estimator_classes()}
    for address, member in PUBLIC:
        name = address.rsplit(".", 1)[1]
        page, anchor = writer.section(name)
        assert anchor in writer.headings(page)
        assert name in (DOCS / "user_guide" / f"{page}.md").read_text(encoding="utf-8")
        assert f"<../user_guide/{page}.html" in writer.page(address, member)


def test_the_contents_of_the_guide_have_every_page_once():
    pages = {page.stem for page in (DOCS / "user_guide").glob("*.md")} - {"index"}
    index = (DOCS / "user_guide" / "index.md").read_text(encoding="utf-8")
    trees = re.findall(r"```{toctree}\n:hidden:\n:caption: (.*)\n\n([^`]*)```", index)
    assert [caption for caption, _ in trees] == re.findall("^## (.*)$", index, re.MULTILINE)
    assert sorted("".join(names for _, names in trees).split()) == sorted(pages)
    assert set(re.findall(r"\]\((\w+)\.md\)", index)) == pages


def test_pages_link_to_the_gallery_and_have_their_search_words():
    sources = extension("page_sources")
    link, page = "[an example](../examples/averaging/plot_sketches.py)", "user_guide/groups"
    lectures = "[all](../lectures/README.rst), [one](../lectures/plot_bach.py)"
    source = [f"# Title\n\n{link}, [code](../conf.py), {lectures}\n"]
    sources.complete_source(None, page, source)
    assert "(../auto_examples/averaging/plot_sketches.rst), [code](../conf.py)" in source[0]
    assert "(../auto_lectures/index.rst), [one](../auto_lectures/plot_bach.rst)" in source[0]
    assert re.match(r"# Title\n\n```\{index\} ! GroupKFold, ! .*\n```\n\n\[an", source[0])
    example = "```pycon\n>>> 1\n{}```\n\n```text\n\n```\n"
    source = [example.format("\n")]
    sources.complete_source(None, "design", source)
    assert source == [example.format("")]
    assert all((DOCS / f"{name}.md").exists() for name in sources.WORDS)
    index = {"docnames": list(sources.WORDS), "indexentries": {}}
    for number, words in enumerate(sources.WORDS.values()):
        index["indexentries"] |= {word.lower(): [[number, "", True]] for word in words}
    assert list(sources.misled(index, sources.WORDS)) == []
    index["indexentries"]["gam"] = [[0, "", True]]
    assert len(list(sources.misled(index, sources.WORDS))) == 1
    assert list(sources.misled(index, {"getting_started"})) == []


def test_figures_of_the_gallery_have_a_script_and_a_caption():
    names = {path.relative_to(DOCS).with_suffix("").as_posix() for path in SCRIPTS}
    for page in DOCS.rglob("*.md"):
        text = page.read_text(encoding="utf-8")
        for name, caption in re.findall(r"^```\{gallery-figure\} (\S+).*\n(.*)$", text, re.M):
            assert {f"examples/{name}", name} & names, (page.name, name)
            assert re.match(r"\w|\[", caption), (page.name, name)


def test_a_row_of_a_table_is_one_line():
    for page in [*DOCS.rglob("*.md"), ROOT / "README.md", ROOT / "CHANGELOG.md"]:
        text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
        for row in re.findall(r"^\|.*", text, re.MULTILINE):
            assert row.rstrip().endswith("|"), (page.name, row)


# Narrow screens


def test_long_names_may_break_and_cells_are_legible():
    fitted = extension("narrow_screens").fitted

    def code(name):
        return f'<code><span class="pre">{name}</span></code>'

    assert fitted(code("max_bins")) == code("max_<wbr>bins")
    assert fitted(code("KNeighborsRegressor")) == code("KNeighbors<wbr>Regressor")
    assert fitted(code("__init__")) == code("__init__")
    assert fitted(code("fit(offset=...)")) == code("fit(<wbr>offset=...)")
    long = "HistGradientBoostingClassifier"
    broken = "Hist<wbr class=long>Gradient<wbr class=long>Boosting<wbr class=long>Classifier"
    assert fitted(code(long)) == code(broken)
    assert fitted(code("a_b" * 15)) == code("a_<wbr class=line>b" * 15)
    assert fitted(f"<h1>{long}<a") == f"<h1>{broken}<a"
    assert fitted("<td>≈ 0.3 ± 0.1</td>") == '<td class="short">≈&#160;0.3&#160;±&#160;0.1</td>'
    assert fitted("<td>≈ 0.3 of all rows</td>") == "<td>≈&#160;0.3 of all rows</td>"
    assert fitted("<p>≈ 0.3</p>") == "<p>≈ 0.3</p>"
    assert fitted(f"<td>{'a ' * 40}</td>").startswith('<td class="sentence">a a')
    assert fitted(f"<td><math>{'a ' * 40}</math></td>").startswith('<td class="short"><math>')
    signature = '<span class="sig-name descname">f</span><span class="sig-paren">(</span>'
    assert fitted(signature) == f"<wbr>{signature}<wbr>"


# The notebooks of the gallery


def test_roles_are_links_in_notebooks(tmp_path):
    notebooks = extension("notebooks")
    before = (
        ":class:`~sklearn_ensemble_theory.BaggingClassifier` and :func:`~a.bounds.gauge`, the "
        ":doc:`errata </errata>`, `the\nchapter <sphx_glr_auto_lectures_plot_bach.py>`, "
        '`sphx_glr_auto_examples_boosting_plot_steps.py`, `step="joint"`, $x_1$'
    )
    site = notebooks.DOCUMENTATION
    after = (
        "[`BaggingClassifier`]"
        f"({site}/generated/sklearn_ensemble_theory.BaggingClassifier.html) and "
        f"[`gauge`]({site}/generated/a.bounds.gauge.html), the [errata]({site}/errata.html), "
        f"[the\nchapter]({site}/auto_lectures/plot_bach.html), "
        f'[plot_steps]({site}/auto_examples/boosting/plot_steps.html), `step="joint"`, $x_1$'
    )
    code = {"cell_type": "code", "source": ["x = ':func:`~a.b`'"]}
    path = tmp_path / "plot_x.ipynb"
    text = {"cell_type": "markdown", "source": [before[:9], before[9:]]}
    path.write_text(json.dumps({"cells": [text, code], "nbformat": 4}), encoding="utf-8")
    path.with_suffix(".py").write_text("x = 1\n", encoding="utf-8")
    for _ in range(2):
        notebooks.rewrite(path)
        found = json.loads(path.read_text(encoding="utf-8"))
        assert found["nbformat"] == 4
        assert "".join(found["cells"][0]["source"]) == after
        assert found["cells"][1] == code
        with ZipFile(tmp_path / "plot_x.zip") as archive:
            assert archive.namelist() == ["plot_x.py", "plot_x.ipynb"]
            assert json.loads(archive.read("plot_x.ipynb")) == found


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_scripts_have_only_markup_that_notebooks_show(script):
    """What Sphinx-Gallery converts, and the roles that become links, to pages that exist."""
    notebooks = extension("notebooks")
    names = {path.stem for path in SCRIPTS}
    pages = {path.relative_to(DOCS).with_suffix("").as_posix() for path in DOCS.rglob("*.md")}
    addresses = {address for address, _ in PUBLIC}
    text = "\n".join(texts_of(script))
    text = re.sub(r":math:`[^`]+`|^\.\. math::", "", text, flags=re.MULTILINE)
    text = text.replace(":ref:`", "`")  # Sphinx-Gallery does that
    assert set(notebooks.OBJECT.findall(text)) <= addresses
    assert {page for _, page in notebooks.PAGE.findall(text)} <= pages
    assert {name for *_, name in notebooks.SCRIPT.findall(text)} <= names
    assert re.findall(r":[\w:]+:`|^\.\. |`_|sphx_glr", notebooks.markdown(text), re.MULTILINE) == []


# The published site


def test_pages_have_a_preview_and_the_site_a_map():
    published = extension("published")
    text = published.shortened("A forest\nwith\tbands. " * 20)
    assert text.startswith("A forest with bands. A")
    assert len(text) <= published.LONGEST + 2
    assert text.endswith(" forest …")
    tags = published.tags('The "best" & more', "A < B", "https://x/a.html", "https://x/p.png")
    found = ElementTree.fromstring(f"<head>{tags}</head>")
    by_name = {e.get("property") or e.get("name"): e.get("content") for e in found}
    assert by_name["og:title"] == 'The "best" & more'
    assert by_name["description"] == by_name["og:description"] == "A < B"
    assert by_name["og:url"] == "https://x/a.html"
    assert "description" not in published.tags("a", "", "b", "c")
    assert (DOCS / published.PREVIEW).is_file()
    places = ElementTree.fromstring(published.sitemap(["https://x/b", "https://x/a"]).encode())
    assert [url[0].text for url in places] == ["https://x/a", "https://x/b"]


def test_only_published_builds_have_a_menu_of_versions():
    published = extension("published")
    assert published.theme_options(None) == published.theme_options("") == {}
    options = published.theme_options("0.1")
    assert options["switcher"]["version_match"] == "0.1"
    assert options["switcher"]["json_url"].startswith("https://")
    assert options["check_switcher"] is False


def test_versions_of_the_published_site(tmp_path):
    """The development version is at the root until the first release, and then the newest one."""
    published, built, site = extension("published"), tmp_path / "built", tmp_path / "site"
    site.mkdir()

    def publish(version):
        built.mkdir()
        (built / "index.html").write_text(version)
        (built / f"only_{version}").mkdir()
        entries = published.arrange(built, site, version)
        assert entries == json.loads((site / published.SWITCHER).read_text())
        for path in (built / "index.html", built / f"only_{version}"):
            path.unlink() if path.is_file() else path.rmdir()
        built.rmdir()
        root = (site / "index.html").read_text()
        assert {path.name for path in site.glob("only*")} == {f"only_{root}"}
        preferred = [entry["version"] for entry in entries if entry.get("preferred")]
        assert preferred == ([] if "dev" in root else [published.folder_of(root)])
        return root, [entry["version"] for entry in entries]

    assert publish("0.1.0.dev0") == ("0.1.0.dev0", ["dev"])
    assert publish("0.1.0") == ("0.1.0", ["dev", "0.1"])
    assert publish("0.2.0.dev0") == ("0.1.0", ["dev", "0.1"])
    assert publish("0.10.0") == ("0.10.0", ["dev", "0.10", "0.1"])
    assert publish("0.9.3") == ("0.10.0", ["dev", "0.10", "0.9", "0.1"])
    assert publish("0.10.1") == ("0.10.1", ["dev", "0.10", "0.9", "0.1"])
    assert (site / "dev" / "index.html").read_text() == "0.2.0.dev0"
    assert (site / "0.10" / "index.html").read_text() == "0.10.1"
    assert (site / ".nojekyll").exists()


@pytest.mark.skipif(os.name == "nt", reason="a script of the shell")
def test_the_site_goes_to_a_branch_of_one_commit(tmp_path):
    def git(*arguments, folder="clone"):
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments]
        return subprocess.run(
            command, cwd=tmp_path / folder, check=True, capture_output=True, text=True
        ).stdout

    git("init", "-q", "--bare", "origin.git", folder=".")
    git("clone", "-q", "origin.git", "clone", folder=".")
    needed = (
        "pyproject.toml",
        ".ci/publish",
        "docs/_ext/published.py",
        "docs/_ext/source_links.py",
    )
    for name in (*needed, "sklearn_ensemble_theory/_version.py"):
        (tmp_path / "clone" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / "clone" / name)
    git("add", ".")
    git("commit", "-q", "-m", "all")
    (tmp_path / "built").mkdir()
    for text in ("first", "second"):
        (tmp_path / "built" / "index.html").write_text(text)
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        command = [tmp_path / "clone" / ".ci" / "publish", "built"]
        done = subprocess.run(
            command, cwd=tmp_path, env={**os.environ, "PATH": path}, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        assert git("show", "gh-pages:dev/index.html", folder="origin.git") == text
        assert git("rev-list", "--count", "gh-pages", folder="origin.git") == "1\n"
    assert git("status", "--porcelain", "--untracked-files=no") == ""


# Links to the source and to other projects


@pytest.mark.parametrize(("address", "member"), PUBLIC, ids=[a for a, _ in PUBLIC])
def test_source_links_lead_to_the_definition(address, member):
    module = extension("source_links")
    folder, name = address.rsplit(".", 1)
    info = {"module": folder, "fullname": name}
    link = module.linkcode_resolve("py", info)
    path, first, last = re.fullmatch(r".*/blob/[^/]+/(.*)#L(\d+)-L(\d+)", link).groups()
    lines = (ROOT / path).read_text(encoding="utf-8").splitlines()[int(first) - 1 : int(last)]
    keyword = "class" if inspect.isclass(member) else "def"
    assert any(re.match(rf"{keyword} {name}\b", line) for line in lines)
    assert inspect.cleandoc(member.__doc__).splitlines()[0] in "\n".join(lines)


def test_source_links_of_methods():
    module = extension("source_links")

    def file_of(name):
        link = module.linkcode_resolve("py", {"module": package.__name__, "fullname": name})
        return link and link.split("/blob/")[1].split("/", 1)[1].split("#")[0]

    for name in ["RandomForestRegressor.standard_error", "StackingClassifier.predict_proba"]:
        method = name.split(".")[1]
        assert f"def {method}(" in (ROOT / file_of(name)).read_text(encoding="utf-8")
    assert file_of("RandomForestRegressor.get_params") is None  # scikit-learn's
    assert file_of("RandomForestRegressor.estimators_") is None  # of fitted models


def test_other_projects_names_are_in_the_stored_inventories():
    """Roles and See Also sections of this package; `stored_inventories.py` adds what is missing."""
    module = extension("stored_inventories")
    stored = {name for project in module.PROJECTS for name in module.stored(project)}
    missing = {name for name in module.written() if name not in stored}
    assert missing == set()
    assert set(module.TYPES.values()) <= stored


def test_stored_addresses_are_those_of_pages():
    module = extension("stored_inventories")
    for project in module.mapping():
        for name, (kind, page) in module.stored(project).items():
            assert name.startswith(f"{project}.")
            assert kind in {"class", "function", "exception", "method", "attribute", "data", "mod"}
            assert re.fullmatch(r"[\w./]+\.html", page)


# Built pages


def page_of(tmp_path, body):
    path = tmp_path / "page.html"
    path.write_text(f"<html><body>{body}</body></html>", encoding="utf-8")
    return list(extension("page_checks").faults(path))


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ("<h1>a</h1><h3>b</h3>", "headings h1 -> h3"),
        ("<h1>a</h1><h1>b</h1>", "2 headings of level 1"),
        ("<h1>a</h1><a href='other.html'>", "broken link other.html"),
        ("<h1>a</h1><a href='#part'>", "broken link #part"),
        ("<h1>a</h1><img src='a.png'>", "picture without a text: a.png"),
        ("<h1>a</h1><script src='https://cdn.example/a.js'></script>", "loads https://cdn"),
        ("<h1>a</h1><pre>Text(0.5, 1.0, 'b')</pre>", "shows a representation"),
        ("<h1>a</h1><pre>[&lt;matplotlib.lines.Line2D", "shows a representation"),
    ],
)
def test_faults_of_pages_are_found(tmp_path, body, fault):
    found = page_of(tmp_path, body)
    assert len(found) == 1
    assert found[0].startswith(fault)


def test_a_page_without_faults(tmp_path):
    body = (
        "<h1 id='a'>a</h1><h2>b</h2><h3>c</h3><h2>d</h2><a href='page.html#a'><img alt='' src='x'>"
    )
    assert page_of(tmp_path, body + "<a href='https://example.org/x'>") == []
