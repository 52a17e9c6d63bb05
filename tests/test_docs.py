"""Checks of the documentation that do not need a build of the site."""

import ast
import builtins
import doctest
import importlib.util
import inspect
import keyword
import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.utils.fixes import parse_version

import sklearn_ensemble_theory as package

from .estimators import SKLEARN_VERSION, estimator_classes, make

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
# The sources of docs/sources.md: how text cites them, and their entry in a References section.
REFERENCES = {
    "Bach": "F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.",
    "Ghoshdastidar": "D. Ghoshdastidar. *Statistical Foundations of Learning*, lecture "
    '"Ensemble methods". Technical University of Munich.',
    "Dombry and Esstafa": 'C. Dombry and Y. Esstafa. "Behavior of linear L2-boosting algorithms in '
    'the vanishing learning rate asymptotic".',
    "Shah": "R. D. Shah. *Mathematics of Machine Learning*, lecture notes. University of "
    "Cambridge.",
    "DS-GA 1003": "*DS-GA 1003: Machine Learning*, lecture 8, \"Boosting and 'classical ML' "
    'review". New York University.',
}
AUTHORS = "|".join(map(re.escape, REFERENCES))
# [Bach, §10.3.4], [Shah, eq. (3.4) and (3.6)], [Bach, §10.1; Shah, §4.5], and in the same brackets
# other works by year, [Ghoshdastidar, theorem En.3; Larsen, 2023].
KINDS = "|".join(
    ["algorithm", "corollary", "definition", "example", "exercise", "figure", "footnote", "lecture"]
    + ["lemma", "proposition", "remark", "theorem"]
)
NUMBER = r"(?:En\.)?\d+(?:\.\d+)*"
PLACE = rf"(?:§{NUMBER}|eq\. \({NUMBER}\)|\({NUMBER}\)|(?:{KINDS})s? {NUMBER}(?: i+\))?|{NUMBER})"
PLACES = rf"(?!{NUMBER}|\(){PLACE}(?:(?:, | and | to ){PLACE})*(?:, \"[^\"]+\")?"
WORK = rf"(?:(?:{AUTHORS})(?:, {PLACES})?|[A-Z][\w., ]+, \d{{4}})"
CITATION = re.compile(rf"\[(?:{AUTHORS})(?:, {PLACES})?(?:; {WORK})*\]")
# A source by number: 000 to 004 by itself, not a part of 0.001 or of 1,000.
SOURCE_NUMBER = re.compile(r"(?<![\d.,_e-])00[0-4](?![\d.,_%]*\d)\b")
# A line that stands for a text which several docstrings share.
SHARED = re.compile(r"^[ \t]*%\(\w+\)s[ \t]*$", flags=re.M)
every_estimator = pytest.mark.parametrize("cls", estimator_classes(), ids=lambda c: c.__name__)


def load_page_writer():
    path = DOCS / "_ext" / "write_pages.py"
    spec = importlib.util.spec_from_file_location("write_pages", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


write_pages = load_page_writer()
PUBLIC = [pair for names in write_pages.public_names().values() for pair in names]
EXPORTED = [name for name in package.__all__ if not name.startswith("__")]
FUNCTIONS = [(address, member) for address, member in PUBLIC if inspect.isfunction(member)]


def read(path):
    return path.read_text(encoding="utf-8")


def names_missing_in(text, names):
    words = set(re.findall(r"\w+", text))
    return sorted(name for name in names if name not in words)


def sections(docstring):
    """`{title: text}` of a numpydoc docstring; what comes before the first section is ""."""
    parts = re.split(r"^(\w[\w ]*)\n-{3,}\n", inspect.cleandoc(docstring), flags=re.MULTILINE)
    return {"": parts[0], **dict(zip(parts[1::2], parts[2::2]))}


def words_of(text):
    """The text on one line."""
    return " ".join(text.split())


def cited(text):
    """The authors that a text cites as [author, place]."""
    works = [w for m in CITATION.finditer(words_of(text)) for w in m.group()[1:-1].split("; ")]
    return {author for author in REFERENCES for work in works if re.match(author, work)}


def described(section):
    """The names that a Parameters or Attributes section describes, in order."""
    heads = re.findall(r"^(\*{0,2}\w[\w, *]*) : ", section, flags=re.MULTILINE)
    return [name.lstrip("*") for head in heads for name in head.split(", ")]


def test_every_public_name_belongs_to_one_folder():
    addresses = [address for address, _ in PUBLIC]
    assert len(addresses) == len(set(addresses))
    exported = {f"{package.__name__}.{name}" for name in EXPORTED}
    assert exported <= set(addresses)


def test_every_public_name_is_in_the_user_guide():
    guide = "\n".join(map(read, (DOCS / "user_guide").glob("*.md")))
    assert names_missing_in(guide, [address.rsplit(".", 1)[1] for address, _ in PUBLIC]) == []


def test_every_public_name_is_in_the_changelog():
    assert names_missing_in(read(ROOT / "CHANGELOG.md"), EXPORTED) == []


def test_every_public_name_has_a_page_and_a_line_in_its_table():
    tables = write_pages.tables(write_pages.public_names())
    for address, member in PUBLIC:
        name = address.rsplit(".", 1)[1]
        assert f"   ~{address}\n" in tables
        assert f"   {name} <generated/{address}>\n" in tables
        page = write_pages.page(address, member)
        assert page.startswith(f"{name}\n{'=' * len(name)}\n")
        assert f":: {name}\n" in page


def test_links_of_the_pages_exist_in_a_clone():
    for path in [*files_of("docs", "*.md"), ROOT / "CHANGELOG.md"]:
        text = re.sub(r"^```.*?^```", "", read(path), flags=re.MULTILINE | re.DOTALL)
        for target in re.findall(r"\]\(([^)#\s]+)", text):
            assert "://" in target or (path.parent / target).exists(), f"{path}: {target}"


INCLUDE = re.compile(r"```{literalinclude} (\S+)\n((?::\S+: .*\n)*)```")


@pytest.mark.parametrize("path", sorted(DOCS.glob("*.md")), ids=lambda path: path.stem)
def test_included_code_is_in_the_repository(path):
    """Before Sphinx does: what a page shows of a file of code was not moved or renamed."""
    for name, options in INCLUDE.findall(read(path)):
        source = path.parent / name
        assert source.exists(), f"{path.name} includes {name}"
        given = dict(re.findall(r'^:(\S+): "?(.*?)"?$', options, flags=re.M))
        assert "#" not in "".join(given.values())  # a comment, to MyST
        if "pyobject" in given:
            names = {node.name for node in definitions_of_module(ast.parse(read(source)))}
            assert given["pyobject"] in names, f"{path.name} includes {given['pyobject']} of {name}"
        for option in ("start-after", "start-at", "end-before"):
            found = given.get(option, "") in read(source)
            assert found, f"{path.name} includes {name} {option} {given.get(option)!r}"


def test_recipes_name_files_that_exist():
    """Paths in the page for contributors; those of the package are given from its folder."""
    page = re.sub(r"^```.*?^```", "", read(DOCS / "contributing.md"), flags=re.M | re.S)
    roots = (ROOT, ROOT / package.__name__, DOCS, ROOT / "docs" / "examples")
    paths = re.findall(r"`((?:[\w.]+/)+(?:[\w.]+\.(?:py|pyx|md|yml|pxd))?)`", page)
    gone = [path for path in paths if not any((root / path).exists() for root in roots)]
    assert gone == [], "docs/contributing.md names these: write where they are now"
    assert len(paths) > 20


def test_code_on_the_pages_is_80_characters_wide():
    for path in [*files_of("docs/user_guide", "*.md"), DOCS / "getting_started.md"]:
        for block in re.findall(r"^```(?:python|pycon|sh)\n(.*?)^```$", read(path), re.M | re.S):
            assert [line for line in block.split("\n") if len(line) > 80] == [], path


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("See :ref:`the guide <metadata_routing>`, :term:`fit`.", "See the guide, fit."),
        (
            "importances_ : ndarray of shape (n_features_in_,)",
            r"importances_ : ... (n_features_in\_,)",
        ),
        (".. [2] L. Breiman, 1996.", r".. [2] \L. Breiman, 1996."),
        ("    R. D. Shah. *Notes*.", r"    \R. D. Shah. *Notes*."),
        (
            "The absolute loss |y - u|, as `|y|` has it.",
            r"The absolute loss \|y - u\|, as `|y|` has it.",
        ),
        ("(n_iter_, p), see [2]_ for `n_iter_`", r"(n_iter\_, p), see [2]_ for `n_iter_`"),
        ("coef_", "coef_"),
        ("||y - u||^2", r"\|\|y - u\|\|^2"),
        ("| a_ | b |", "| a_ | b |"),
        (">>> abs(a_ | b_) # |a|", ">>> abs(a_ | b_) # |a|"),
        (".. math:: |x| + |y_|", ".. math:: |x| + |y_|"),
    ],
)
def test_what_looks_like_markup_in_a_docstring(line, expected):
    expected = expected.replace("...", "ndarray of shape")
    assert list(write_pages.plain([line])) == [expected]


def test_formulas_end_where_their_indentation_does():
    lines = ["A.", "", ".. math::", "", "   |x|", "", "   |y|", "", "Then |z|."]
    assert list(write_pages.plain(lines)) == [*lines[:-1], r"Then \|z\|."]


@every_estimator
def test_docstring_has_all_its_parts(cls):
    found = sections(cls.__doc__)
    assert {"Parameters", "Attributes", "References", "Examples"} <= set(found)
    assert found["References"].strip(), "no source"
    assert "O(" in cls.__doc__, "no cost"
    assert len(found[""].split("\n\n")[0].split("\n")) == 1, "the summary is one line"
    assert ">>> " in found["Examples"]


@every_estimator
def test_docstring_describes_the_parameters_in_order(cls):
    assert described(sections(cls.__doc__)["Parameters"]) == list(inspect.signature(cls).parameters)


@every_estimator
def test_docstring_describes_the_fitted_attributes(cls):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3))
    y = X[:, 0] + 0.1 * rng.standard_normal(40)
    estimator = make(cls)
    estimator.fit(X, (y > 0).astype(int) if is_classifier(estimator) else y)
    fitted = {n for n in vars(estimator) if n.endswith("_") and not n.startswith("_")}
    missing = fitted - set(described(sections(cls.__doc__)["Attributes"]))
    assert missing == set()


@pytest.mark.parametrize(("address", "function"), FUNCTIONS, ids=[a for a, _ in FUNCTIONS])
def test_docstring_of_a_function(address, function):
    found = sections(function.__doc__)
    assert {"Returns", "Examples"} <= set(found)
    parameters = list(inspect.signature(function).parameters)
    assert described(found.get("Parameters", "")) == parameters


def files_of(folder, *patterns):
    found = {path for pattern in patterns for path in (ROOT / folder).rglob(pattern)}
    generated = {"_build", "generated", "auto_examples", "auto_lectures"}
    return sorted(path for path in found if not generated & set(path.parts))


PROSE = [ROOT / "README.md", ROOT / "CHANGELOG.md", *files_of("docs", "*.md", "*.rst", "*.py")]
CODE = [*files_of(package.__name__, "*.py"), *files_of("benchmarks", "*.py")]


def name_of(path):
    return path.relative_to(ROOT).as_posix()


def test_no_source_is_cited_by_number():
    """[Bach, §10.3.4] and not a number, in prose, docstrings, comments and error messages."""
    found = [
        f"{name_of(path)}:{number}: {line.strip()}"
        for path in PROSE + CODE
        for number, line in enumerate(read(path).splitlines(), 1)
        if SOURCE_NUMBER.search(line)
    ]
    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        "[Bach, §10.3.4]",
        "[Bach, eq. (10.9)]",
        "[Bach, §10.3.3 to §10.3.6]",
        "[Dombry and Esstafa, proposition 2.13 ii)]",
        "[Dombry and Esstafa, propositions 2.12, 2.13 and 2.15]",
        "[Bach, §10.1; Shah, §4.5]",
        "[Ghoshdastidar, theorem En.3; Larsen, 2023]",
        "[Shah, eq. (3.4) and (3.6)]",
        "[Shah, algorithm 3]",
        "[Ghoshdastidar, theorem En.4]",
        "[DS-GA 1003, lecture 8]",
    ],
)
def test_format_of_citations(text):
    assert CITATION.fullmatch(text)
    assert not SOURCE_NUMBER.search(text)


def test_sources_page_has_every_reference():
    page = words_of(read(DOCS / "sources.md"))
    assert [entry for entry in REFERENCES.values() if entry not in page] == []


def test_numbers_that_are_no_sources():
    for text in ["0.001", "1,000 rows", "10_000", "1e-004", "0.004,"]:
        assert not SOURCE_NUMBER.search(text)
    for text in ["000 section 10.3.4", "[001, theorem En.4]", "(003 section 4.2)", "of 000."]:
        assert SOURCE_NUMBER.search(text)


def test_citations_have_one_format():
    found = []
    for path in PROSE + CODE:
        text = re.sub(r"\s*\n\s*(#:? )?", " ", read(path))  # a citation may go over two lines
        for match in re.finditer(rf"\[({AUTHORS})\b[^\]]*\]", text):
            if not CITATION.fullmatch(match.group()):
                found.append(f"{name_of(path)}: {match.group()}")
    assert found == []


def public_members(member):
    """The public methods and properties that a class of the package defines or inherits."""
    for base in inspect.getmro(member):
        if base.__module__.startswith(package.__name__):
            for name, value in vars(base).items():
                if not name.startswith("_") and inspect.getdoc(value):
                    yield f"{base.__name__}.{name}", value


@pytest.mark.parametrize(("address", "member"), PUBLIC, ids=[a for a, _ in PUBLIC])
def test_citations_have_their_references(address, member):
    """A class's own docstring has the references of its methods, if they have none themselves.

    The page of a function has those of its module too, which stand there once.
    """
    doc = inspect.getdoc(member) or ""
    if inspect.isfunction(member):
        doc = "\n".join(write_pages.with_references(doc.split("\n"), member))
    references = words_of(sections(doc).get("References", ""))
    needed = cited(doc)
    for _, method in public_members(member) if inspect.isclass(member) else ():
        needed |= cited(inspect.getdoc(method))
        references += words_of(sections(inspect.getdoc(method)).get("References", ""))
    missing = sorted(author for author in needed if REFERENCES[author] not in references)
    assert missing == []


@pytest.mark.parametrize(
    ("citation", "expected"),
    [
        ("[Bach, §10.1;\nShah, §4.5]", ["Bach", "Shah"]),
        ("[Dombry and Esstafa, §2]", ["Esstafa"]),
        ("[Larsen, 2023]", []),
    ],
)
def test_a_page_has_the_works_of_its_module_that_are_cited(citation, expected):
    def probe():
        pass

    probe.__module__ = f"{package.__name__}.bounds"
    own, examples = "References\n----------\nAn own one.\n", "Examples\n--------\n>>> 1\n"
    for rest in ("", own, examples, f"{own}\n{examples}"):
        lines = f"As in {citation}.\n\n{rest}".split("\n")
        page = sections("\n".join(write_pages.with_references(lines, probe)))
        found = page.get("References", "")
        assert [n for n in ("Bach", "Ghosh", "Shah", "Esstafa") if n in found] == expected
        assert ("An own one." in found) == (own in rest)
        assert page.get("Examples", "").strip() == (">>> 1" if examples in rest else "")


def definitions_of_module(node):
    """The classes and functions of a module, those that stand in for a missing import included."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef | ast.FunctionDef):
            yield child
        elif isinstance(child, ast.Try | ast.ExceptHandler | ast.If):
            yield from definitions_of_module(child)


def has_in_order(parts, text):
    """Whether `text` is the parts with something between each two of them."""
    first, *middle, last = parts
    if not (text.startswith(first) and text.endswith(last)):
        return False
    place = len(first)
    for part in middle:
        place = text.find(part, place + 1)
        if place < 0:
            return False
        place += len(part)
    return place < len(text) - len(last)


def test_shared_text_is_between_the_parts():
    assert has_in_order(["a\n", "\nb\n", ""], "a\nshared\nb\nmore")
    assert has_in_order(["", "x", "y"], "0x1y")
    assert not has_in_order(["a\n", "\nb\n", ""], "a\nb\nshared")
    assert not has_in_order(["a", "b", "c"], "a1bc")
    assert not has_in_order(["a", "b"], "ab")


def test_docstrings_are_in_the_source():
    """Static tools read what `help` prints, but for shared texts, whose names are written."""
    files = sorted((ROOT / package.__name__).rglob("*.py"))
    # Of overloads the last definition counts.
    definitions = {
        node.name: node for path in files for node in definitions_of_module(ast.parse(read(path)))
    }
    # Of functions with one name in two files, the one of the public function's own file.
    by_file = {
        (str(path), node.name): node
        for path in files
        for node in definitions_of_module(ast.parse(read(path)))
    }
    owners = set()
    for _, member in PUBLIC:
        if inspect.isclass(member):
            owners.update(inspect.getmro(member))
        elif inspect.isfunction(member):
            owners.add(member)
    wrong = []
    for owner in owners:
        if not owner.__module__.startswith(package.__name__):
            continue
        definition = definitions[owner.__name__]
        if inspect.isfunction(owner):
            file = inspect.unwrap(owner).__code__.co_filename
            definition = by_file.get((file, owner.__name__), definition)
        pairs = [(owner.__name__, definition, owner.__doc__)]
        for node in definition.body:
            if inspect.isclass(owner) and isinstance(node, ast.FunctionDef):
                value = inspect.getattr_static(owner, node.name)
                pairs.append((f"{owner.__name__}.{node.name}", node, value.__doc__))
        for name, node, doc in pairs:
            if name.split(".")[-1][0] == "_":
                continue
            written, doc = ast.get_docstring(node), doc and inspect.cleandoc(doc)
            if written and re.search(SHARED, written):  # the lines around shared texts
                assert "%(" not in doc
                written = doc if has_in_order(re.split(SHARED, written), doc) else None
            if written != doc:
                wrong.append(f"{owner.__module__}: {name}")
    assert sorted(wrong) == []


def test_errata_and_their_tests_name_each_other():
    page = read(DOCS / "errata.md")
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", page)
    assert len(named) == len(set(named)) == page.count("\n### ")
    for path, name in named:
        functions = [n.name for n in ast.walk(ast.parse(read(ROOT / path))) if hasattr(n, "name")]
        assert name in functions, f"{path}::{name} is named in docs/errata.md and does not exist"
    for path in (ROOT / "tests").glob("test_errata*.py"):
        tests = re.findall(r"^def (test_\w+)", read(path), flags=re.MULTILINE)
        assert set(tests) <= {name for _, name in named}


def test_left_out_tests_of_scikit_learn_have_a_reason():
    left_out = []
    for path in (ROOT / "tests").rglob("test_sklearn_*.py"):
        for node in ast.walk(ast.parse(read(path))):
            if isinstance(node, ast.keyword) and node.arg == "left_out":
                left_out += ast.literal_eval(node.value)
    rows = re.findall(r"^\| `(test_\w+)` \| (.+) \|$", read(DOCS / "scikit_learn_tests.md"), re.M)
    assert sorted(left_out) == sorted(name for name, _ in rows)


@pytest.mark.parametrize(
    "script", [*files_of("docs/examples", "*.py"), *files_of("docs/lectures", "*.py")], ids=name_of
)
def test_scripts_of_the_galleries(script):
    """A name that runs, titles and public names; the nightly build runs them."""
    assert script.name.startswith("plot_")
    assert (script.parent / "README.rst").exists()
    tree = ast.parse(read(script))
    assert ast.get_docstring(tree).split("\n")[1].startswith("===")
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module.startswith(package.__name__):
            module = importlib.import_module(node.module)
            assert all(hasattr(module, alias.name) for alias in node.names)


def pages_with_sessions():
    pages = [page for page in DOCS.rglob("*.md") if "_build" not in page.parts]
    return sorted(page for page in pages if "```pycon" in read(page))


@pytest.mark.skipif(
    parse_version("1.9") > SKLEARN_VERSION, reason="the pages show what scikit-learn 1.9 prints"
)
@pytest.mark.parametrize("page", pages_with_sessions(), ids=lambda page: page.stem)
def test_sessions_on_the_pages_print_what_they_say(page):
    sessions = re.findall(r"^```pycon\n(.*?)^```$", read(page), flags=re.MULTILINE | re.DOTALL)
    test = doctest.DocTestParser().get_doctest("\n".join(sessions), {}, page.name, str(page), 0)
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    results = doctest.DocTestRunner(optionflags=flags).run(test)
    assert results.attempted > 0
    assert results.failed == 0


# --- names in the text ----------------------------------------------------------------------------

# Names of other projects and of the language, and examples of names.
OF_OTHERS = """
CalibrationDisplay colsample_bytree DaskLGBMRegressor FixedThresholdClassifier HSTreeRegressorCV
initializer IterativeImputer KNNImputer liblinear multi_output_tree ParallelPostFit percentiles
proximity_counts QuantileTransformer TableVectorizer TunedThresholdClassifierCV
"""
OF_ONE_NAME = {address.rsplit(".", 1)[1]: member for address, member in PUBLIC}


def written_names():
    """The words of all code, without its docstrings."""
    found = {*OF_OTHERS.split(), *dir(builtins), *keyword.kwlist}
    for folder in (package.__name__, "tests", "docs", ".ci"):
        for path in files_of(folder, "*.py", "*.pyx", "*.h"):
            code = re.sub(r'r?""".*?"""', "", read(path), flags=re.DOTALL)
            found |= {path.stem, path.parent.name, *re.findall(r"[A-Za-z_]\w*", code)}
    return found


def texts_with_code():
    for path in [*files_of("docs", "*.md"), ROOT / "README.md"]:
        if path.stem not in ("changelog", "scikit_learn_tests"):
            yield path.name, re.sub(r"^```.*?^```", "", read(path), flags=re.M | re.S)
    for path in files_of("sklearn_ensemble_theory", "*.py"):
        for node in definitions_of_module(ast.parse(read(path))):
            yield path.name, ast.get_docstring(node) or ""


def names_that_do_not_exist(code, words):
    """Parameters and attributes of public names, calls and single words of an expression."""

    def is_new(name):  # letters of formulas, and __all__, are no names of ours
        return len(name) > 3 and not name.startswith("__") and name.split("__")[0] not in words

    try:
        tree = ast.parse(code.strip().lstrip("~"), mode="eval").body
    except SyntaxError:  # a formula, a path, a command
        return
    if isinstance(tree, ast.Name) and is_new(tree.id):
        yield tree.id
    for node in ast.walk(tree):
        owner = None
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            owner = OF_ONE_NAME.get(node.value.id)
            if inspect.isclass(owner) and node.attr not in names_of_class(owner):
                yield f"{node.value.id}.{node.attr}"
        if isinstance(node, ast.Call):
            called = node.func
            if isinstance(called, ast.Name):
                if is_new(called.id):
                    yield called.id
                owner = OF_ONE_NAME.get(called.id)
            elif isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name):
                owner = getattr(OF_ONE_NAME.get(called.value.id), called.attr, None)
            known = inspect.signature(owner).parameters if callable(owner) else {}
            given = [k.arg.split("__")[0] for k in node.keywords if k.arg and known]
            if not any(p.kind is p.VAR_KEYWORD for p in known.values()):
                yield from (
                    f"{ast.unparse(called)}({name}=)" for name in given if name not in known
                )


def names_of_class(cls):
    return {*dir(cls), *inspect.signature(cls).parameters, *re.findall(r"\w+", cls.__doc__ or "")}


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("L2BoostingRegressor.n_rounds_of_old", ["L2BoostingRegressor.n_rounds_of_old"]),
        ("L2BoostingRegressor.learning_rate", []),
        ("L2BoostingRegressor(rate_of_old=1)", ["L2BoostingRegressor(rate_of_old=)"]),
        ("export.frame(model)", []),
        ("name_of_old", ["name_of_old"]),
        ("loss.name_of_old(y)", []),  # of an object that is not known
        ("sum_i w_i x_i", []),
    ],
)
def test_what_is_a_name_that_does_not_exist(code, found):
    words = {"model", "export", "L2BoostingRegressor"}
    assert list(names_that_do_not_exist(code, words)) == found


def test_code_in_the_text_names_what_exists():
    words, found = written_names(), []
    for place, text in texts_with_code():
        for _, code in re.findall(r"(?<!`)(`{1,2})(?!`)([^`\n]+)\1(?!`)", text):
            found += [f"{place}: {name}" for name in names_that_do_not_exist(code, words)]
    assert found == []
