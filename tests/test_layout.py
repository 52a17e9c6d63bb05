"""The imports of the package: without circles, in one direction, and private names by one door."""

import ast
import re
import sys
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[1]
NAME = "sklearn_ensemble_theory"
RUNTIME = {"numpy", "scipy", "sklearn", "joblib", NAME}
# A module imports from its own room and from those before it; private modules at the top of the
# package are before all rooms.
ROOMS = (
    "bounds",
    "datasets",
    "metrics",
    "trees",
    "ensembles",
    "erm",
    "smoothing",
    "averaging",
    "boosting",
    "combining",
    "inspection",
    "compare",
)


def dotted(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def trees():
    """The code of each module, and whether it is that of a folder."""
    return {
        dotted(path): (ast.parse(path.read_text(encoding="utf-8")), path.stem == "__init__")
        for path in sorted((ROOT / NAME).rglob("*.py"))
    }


def imported(module):
    """(line, module, name or None) of all imports, those inside functions too."""
    tree, is_folder = trees()[module]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = module.split(".") if is_folder else module.split(".")[:-1]
            base = base[: len(base) - node.level + 1] if node.level else []
            source = ".".join([*base, *([node.module] if node.module else [])])
            yield from ((node.lineno, source, alias.name) for alias in node.names)


def arrows(module):
    """(line, module of the package) of the imports of one module."""
    for line, source, name in imported(module):
        if source.split(".")[0] == NAME:
            whole = f"{source}.{name}"
            yield line, whole if whole in trees() else source


def test_imports_have_no_circle():
    """What a folder exports is imported from its files, so that the folder itself is no circle."""
    graph = {
        module: {found for _, found in arrows(module) if not module.startswith(f"{found}.")}
        for module in trees()
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        raise AssertionError(" <- ".join(error.args[1])) from None


def test_imports_go_one_way():
    rank = {room: number for number, room in enumerate(ROOMS, 1)}

    def rank_of(module):
        room = module.split(".")[1]
        assert room in rank or room[0] == "_", f"{module} is in no room"
        return rank.get(room, 0)

    upward = [
        f"{module}:{line} imports {found}"
        for module in trees()
        if module != NAME
        for line, found in arrows(module)
        if (found == NAME and module.split(".")[1] != "compare")
        or (found != NAME and rank_of(found) > rank_of(module))
    ]
    assert upward == []


def test_imports_from_outside():
    """Private names of scikit-learn only in `_compat`, optional packages only inside functions."""
    wrong = []
    for module, (tree, _) in trees().items():
        at_once = {id(node) for node in ast.walk(tree)}
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.Lambda):
                at_once -= {id(inner) for inner in ast.walk(node)}
        late = {
            node.lineno
            for node in ast.walk(tree)
            if id(node) not in at_once and isinstance(node, ast.Import | ast.ImportFrom)
        }
        for line, source, name in imported(module):
            root = source.split(".")[0]
            private = any(re.match(r"_(?!_)", part) for part in [*source.split("."), name or ""])
            if root == "sklearn" and private and module != f"{NAME}._compat":
                wrong.append(f"{module}:{line} imports {source}.{name}")
            if root not in RUNTIME | sys.stdlib_module_names and line not in late:
                wrong.append(f"{module}:{line} imports {root} when it is imported itself")
    assert wrong == []
