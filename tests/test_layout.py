"""The rules of docs/design.md that can be read off the source: sizes, imports, names, switches."""

import ast
import re
import sys
import tomllib
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NAME = "sklearn_ensemble_theory"
PACKAGE = ROOT / NAME
MAX_LINES = 450
MAX_MODULES = 10
MAX_POSITIONAL = 8
# Compiled loops: numba has no arguments by keyword only, and counts references to every array of a
# tuple.
MAX_POSITIONAL_OF_LOOPS = 12
RUNTIME = {"numpy", "scipy", "sklearn", "joblib", NAME}

# Imports go one way: a module imports from its own folder and from the lines above its own.
TOP = "the private modules at the top"
LAYERS = (
    (TOP, "_chunks", "_conversion", "_data", "_hot_loops", "_numerics")
    + ("bounds", "datasets", "smoothing._smoothers"),
    ("erm", "smoothing._kernel", "smoothing._spline", "trees._binned", "trees._packed"),
    ("averaging._inference", "averaging._sampling", "trees._estimators"),
    ("averaging._bagging", "averaging._neighbors", "boosting.losses", "smoothing._linear_boosting"),
    (
        "averaging._blocks",
        "averaging._forest",
        "averaging._projections",
        "averaging._sketching",
        "boosting._core",
        "boosting._pairs",
    ),
    (
        "boosting._adaboost",
        "boosting._additive",
        "boosting._frank_wolfe",
        "boosting._gradient_boosting",
        "boosting._pursuit",
        "boosting._robust",
    ),
    ("combining",),
    ("inspection",),
)
LAYER = {folder: rank for rank, folders in enumerate(LAYERS) for folder in folders}

# One convention in every family, so these names come again.
CONVENTIONAL_FILES = {"__init__", "base", "estimators"}
# Names that stand in two files, and why.
SHARED_NAMES: dict[str, str] = {}
# Where a class of the package is asked for by its type: (function, class), and why.
TYPE_QUESTIONS = {
    ("as_loss", "Loss"): "a user's loss is an object, perhaps without the base class's defaults",
    ("_checked", "LinearL2BoostingRegressor"): "the displays of one class refuse others by name",
}


def dotted(path):
    """`a/b/c.py` of the package as `a.b.c`; a folder's `__init__` is the folder."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


PATHS = sorted(PACKAGE.rglob("*.py"))
TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in PATHS}
# Modules by their dotted names, and the classes that they define.
MODULES = {dotted(path): path for path in PATHS}
OUR_CLASSES = {n.name for tree in TREES.values() for n in tree.body if isinstance(n, ast.ClassDef)}
every_file = pytest.mark.parametrize("path", PATHS, ids=lambda p: dotted(p) or NAME)


def imported(tree):
    """(line, module, name or None) of all imports, those inside functions too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: a relative import"
            yield from ((node.lineno, node.module, alias.name) for alias in node.names)


def at_import(node):
    """The nodes that run when the module is imported: all but the bodies of functions."""
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from at_import(child)


def names_in(node):
    """All identifiers of an expression, the last part of dotted ones included."""
    found = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    return found | {n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)}


def functions(tree, inside=""):
    """(qualified name, node) of every function."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            name = f"{inside}{node.name}"
            if isinstance(node, ast.FunctionDef):
                yield name, node
            yield from functions(node, f"{name}.")
        else:
            yield from functions(node, inside)


# Sizes


@every_file
def test_no_file_is_long(path):
    n_lines = len(path.read_text(encoding="utf-8").splitlines())
    assert n_lines <= MAX_LINES


def test_no_file_of_tests_is_long():
    """A file is about one subject; data that several files use are in a module of their own."""
    lengths = {
        path.relative_to(ROOT).as_posix(): len(path.read_text(encoding="utf-8").splitlines())
        for path in (ROOT / "tests").rglob("*.py")
    }
    assert {name: n for name, n in lengths.items() if n > MAX_LINES} == {}


def test_no_folder_holds_many_modules():
    modules = defaultdict(list)
    for path in PATHS:
        if path.stem != "__init__":
            modules[str(path.parent.relative_to(ROOT))].append(path.stem)
    assert {folder: m for folder, m in modules.items() if len(m) > MAX_MODULES} == {}


@every_file
def test_no_function_takes_many_arguments_by_position(path):
    """Nine numbers in a row are read by nobody: by keyword, or as one small object."""
    long = {}
    most = MAX_POSITIONAL_OF_LOOPS if path.stem.endswith("_loops") else MAX_POSITIONAL
    for name, node in functions(TREES[path]):
        positional = [a.arg for a in [*node.args.posonlyargs, *node.args.args]]
        if len([a for a in positional if a not in ("self", "cls")]) > most:
            long[name] = positional
    assert long == {}


# Imports


@every_file
def test_private_names_of_scikit_learn_are_imported_in_compat_only(path):
    if dotted(path) == "_compat":
        return
    private = [
        (line, module, name)
        for line, module, name in imported(TREES[path])
        if module.split(".")[0] == "sklearn"
        and any(re.match(r"_(?!_)", part) for part in [*module.split("."), name or ""])
    ]
    assert private == []


@every_file
def test_optional_packages_are_imported_where_they_are_used(path):
    modules = [
        alias.name if isinstance(node, ast.Import) else node.module
        for node in at_import(TREES[path])
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    ]
    roots = {module.split(".")[0] for module in modules}
    assert roots - RUNTIME - sys.stdlib_module_names == set()


def folder_of(module):
    """The entry of LAYERS that a module of the package belongs to."""
    entries = [e for e in LAYER if module == e or module.startswith(f"{e}.")]
    if entries:
        return max(entries, key=len)
    assert re.fullmatch(r"_\w+", module), f"{module} is in no line of LAYERS"
    return TOP


def is_chapter(module):
    """Whether it is a folder of families (averaging, boosting, smoothing), a place of exports."""
    return any(entry.startswith(f"{module}.") for entry in LAYER)


@every_file
def test_imports_go_one_way(path):
    module = dotted(path)
    ours = [
        (line, source.removeprefix(NAME).lstrip("."), name)
        for line, source, name in imported(TREES[path])
        if source.split(".")[0] == NAME
    ]
    if module == "":  # the package exports from everywhere
        return
    if is_chapter(module):
        assert [i for i in ours if i[1].split(".")[0] != module] == []
        return
    own = folder_of(module)
    wrong = []
    for line, source, name in ours:
        # `from package.folder import module` is an import of the module.
        source = f"{source}.{name}".lstrip(".") if f"{source}.{name}" in MODULES else source
        if is_chapter(source):
            entries = [entry for entry in LAYER if entry.startswith(f"{source}.")]
            allowed = max(LAYER[entry] for entry in entries) < LAYER[own]
        else:
            found = folder_of(source)
            allowed = found == own or LAYER[found] < LAYER[own] or LAYER[own] == LAYER[found] == 0
        if not allowed:
            wrong.append((line, source))
    assert wrong == []


# Names


def test_no_two_files_share_a_name():
    files = defaultdict(list)
    for path in PATHS:
        if path.stem not in CONVENTIONAL_FILES:
            files[path.stem].append(dotted(path))
    assert {name: paths for name, paths in files.items() if len(paths) > 1} == {}


def test_no_two_files_define_one_name():
    definers = defaultdict(set)
    for path, tree in TREES.items():
        for node in tree.body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                definers[node.name].add(dotted(path))
    twice = {name: sorted(files) for name, files in definers.items() if len(files) > 1}
    assert {name: files for name, files in twice.items() if name not in SHARED_NAMES} == {}
    assert set(SHARED_NAMES) <= set(twice), "names that no longer need an exception"


# Switches


def classes_asked_for(node, constants):
    """Classes of the package in an isinstance, an issubclass, a comparison of type(...), a case."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        if node.func.id not in ("isinstance", "issubclass"):
            return set()
        names = names_in(node.args[1])
    elif isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
        is_type = [isinstance(s, ast.Call) and names_in(s.func) == {"type"} for s in sides]
        if not any(is_type):
            return set()
        names = set().union(*(names_in(side) for side in sides))
    elif isinstance(node, ast.MatchClass):
        names = names_in(node.cls)
    else:
        return set()
    for name in names & set(constants):
        names = names | names_in(constants[name])
    return names & OUR_CLASSES


@every_file
def test_parts_answer_for_themselves(path):
    """No isinstance or type(...) on a class of ours: an attribute or a method of the class."""
    constants = {
        target.id: node.value
        for tree in TREES.values()
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    found = [
        (node.lineno, name, cls)
        for name, function in functions(TREES[path])
        for node in ast.walk(function)
        for cls in sorted(classes_asked_for(node, constants))
        if (name.rsplit(".", 1)[-1], cls) not in TYPE_QUESTIONS
    ]
    assert found == []


# Tools


def test_pre_commit_runs_the_versions_of_the_dev_extra():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    dev = dict(
        r.split("==") for r in project["project"]["optional-dependencies"]["dev"] if "==" in r
    )
    text = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    hooks = dict(re.findall(r"repo: \S+/(\S+)\n\s+rev: v(\S+)", text))
    assert hooks["ruff-pre-commit"] == dev["ruff"]
    assert hooks["codespell"] == dev["codespell"]
