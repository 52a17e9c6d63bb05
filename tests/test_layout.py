"""The imports of the package: without circles, in one direction, and private names by one door."""

import ast
import re
import sys
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NAME = "sklearn_ensemble_theory"
RUNTIME = {"numpy", "scipy", "sklearn", "joblib", NAME}
# A module imports from its own room and from those before it; private modules at the top of the
# package are before all rooms.
ROOMS = (
    "bounds",
    "datasets",
    "uncertainty",
    "metrics",
    "trees",
    "ensembles",
    "erm",
    "smoothing",
    "averaging",
    "boosting",
    "combining",
    "inspection",
    "export",
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
        assert room in rank or room[0] == "_", (
            f"{module} is in no room: write {room!r} into ROOMS in tests/test_layout.py, after the "
            "rooms that it imports from, and into ROOMS of _addresses.py, GROUPS of "
            "docs/_ext/write_pages.py and the list of rooms in docs/design.md"
        )
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


# --- private names stay where they are -----------------------------------------------------------

# Reads of another object's private name, as in `model._rounds`, by room; none in other rooms. A
# number may only fall. The line between two rooms keeps changes of both from being a conflict.
PRIVATE_READS = {
    # what surrounds every fit, and the other private modules at the top
    "": 11,
    # stumps
    "erm._stumps": 1,
    # bagging, forests, nearest neighbours, blocks of rows, sketches
    "averaging": 5,
    # the loop of boosting, its risk, steps and learners; pursuit, Frank-Wolfe
    "boosting": 3,
    # losses
    "boosting.losses": 1,
    # gradient boosting
    "boosting._gradient_boosting": 9,
    # additive models of boosted stumps
    "boosting._additive": 5,
    # displays
    "inspection": 2,
}


def room_of(module):
    return ".".join(module.split(".")[1 : None if trees()[module][1] else -1])


def private_reads(tree):
    """(line, expression) of reads of private names, but of `self`, `cls`, `super()`, `type()`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and re.match(r"_(?!_)", node.attr):
            of = node.value.func if isinstance(node.value, ast.Call) else node.value
            known = ("super", "type") if isinstance(node.value, ast.Call) else ("self", "cls")
            if not (isinstance(of, ast.Name) and of.id in (*known, "np", "sp")):
                yield node.lineno, ast.unparse(node)


def test_private_names_of_others_are_not_read():
    """What another object has to offer is public, or an argument."""
    found = {}
    for module, (tree, _) in trees().items():
        reads = [f"{module}:{line} {read}" for line, read in private_reads(tree)]
        found.setdefault(room_of(module), []).extend(reads)
    more = {
        f"{room}: {len(reads)} instead of {PRIVATE_READS.get(room, 0)}": reads
        for room, reads in found.items()
        if len(reads) > PRIVATE_READS.get(room, 0)
    }
    assert more == {}, (
        "These rooms read private names of other objects more often than before. Make what is read "
        "public in its private module, or pass it as an argument."
    )
    fewer = {
        room: len(found.get(room, ()))
        for room, n in PRIVATE_READS.items()
        if len(found.get(room, ())) < n or n == 0
    }
    assert fewer == {}, (
        "These rooms read fewer private names than PRIVATE_READS says: write the new numbers, and "
        "delete a room that has none, with the comment above it."
    )


def test_names_of_modules_occur_once():
    """Who looks for a name finds one file."""
    rooms = {}
    for module, (_, is_folder) in trees().items():
        if not is_folder and module.count("."):
            rooms.setdefault(module.split(".")[-1], set()).add(room_of(module))
    shared = {name: sorted(found) for name, found in rooms.items() if len(found) > 1}
    assert shared == {}, "Give one of the modules another name."


# --- engines -------------------------------------------------------------------------------------

# Modules with algorithms, which see plans, problems and arrays. An engine imports no module that
# defines an estimator, and nothing that imports one.
ENGINES = {
    # trees: from codes of bins to nodes
    *("trees._draws", "trees._growth", "trees._histogram_growth", "trees._histograms"),
    # trees of several outputs
    *("trees._vector_growth", "trees._vector_rounds"),
    # nodes of trees and predictions of many
    *("trees._isotonic", "trees._options", "trees._tree_arrays"),
    # trees of rows in blocks
    *("trees._forest_growth", "trees._row_summary"),
    # functions of a fitted ensemble
    *("ensembles._intervals", "ensembles._jackknife", "ensembles._quantiles"),
    *("ensembles._ensemble", "ensembles._predictions", "ensembles._forest_weights"),
    # exact minimisers
    *("erm._hinges", "erm._stumps.joint", "erm._stumps.split_search"),
    # linear functions in a ball
    *("erm._ball.balls", "erm._ball.descent", "erm._ball.interior_point", "erm._ball.problem"),
    *("erm._ball.fits", "erm._ball.kernels", "erm._ball.solvers"),
    # linear smoothers
    *("smoothing._criteria", "smoothing._operators", "smoothing._paths"),
    # draws of rows
    *("averaging._sampling",),
    # sketches and projections
    *("averaging._linear_projections", "averaging._sketched_least_squares"),
    # additive models: from codes of bins to sums and rounds
    *("boosting._additive.additive_plan", "boosting._additive.sums", "boosting._additive.rounds"),
    *("boosting._additive.pairs", "boosting._additive.pair_rounds"),
    # weights of members
    *("combining._aggregation", "combining._member_fits", "combining._stack"),
    "combining._super_learning",
    "ensembles._held_out",
}

# Engines that read objects of options, such as losses, steps or `CVRounds`. These are descendants
# of `BaseEstimator` for their `get_params`, and are no estimators: they have no `fit`.
ENGINES_WITH_OPTIONS = {
    # the loop of boosting
    *("boosting._loop", "boosting._risk"),
    # gradient boosting
    *("boosting._gradient_boosting.plan", "boosting._gradient_boosting.choosing_rounds"),
    *("boosting._gradient_boosting.memory", "boosting._gradient_boosting.model"),
    # Frank-Wolfe and matching pursuit
    *("boosting._conditional_gradients", "boosting._pursuit_rounds"),
    # additive models
    "boosting._additive.additive_fit",
}


# Objects of options of the trees in bins, which are base learners that engines may import.
OPTIONS_OF_TREES = {"_category_options"}

# Estimators of scikit-learn that classes of the package inherit from.
SKLEARN_TREES = {"DecisionTreeRegressor", "DecisionTreeClassifier"}


@cache
def modules_of_estimators(with_fit=False):
    """Modules that define a class with scikit-learn's `BaseEstimator` among its ancestors.

    By `with_fit` only those of a class that has a `fit`, its own or that of an ancestor.
    """
    bases = [
        (module, node.name, {re.split(r"[\[(]", ast.unparse(base))[0] for base in node.bases})
        for module, (tree, _) in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    ]
    estimators, n = {"BaseEstimator"} | (SKLEARN_TREES if with_fit else set()), 0
    while len(estimators) > n:
        n = len(estimators)
        estimators |= {name for _, name, above in bases if above & estimators}
    if with_fit:
        known = {
            node.name
            for tree, _ in trees().values()
            for node in ast.walk(tree)
            if isinstance(node, ast.ClassDef)
            and any(isinstance(each, ast.FunctionDef) and each.name == "fit" for each in node.body)
        }
        known |= SKLEARN_TREES
        n = 0
        while len(known) > n:
            n = len(known)
            known |= {name for _, name, above in bases if above & known}
        bases = [each for each in bases if each[1] in known]
    found = {module for module, _, above in bases if above & estimators}
    return found - {f"{NAME}.{each}" for each in OPTIONS_OF_TREES}


@pytest.mark.parametrize(
    ("some", "with_fit"), [(ENGINES, False), (ENGINES_WITH_OPTIONS, True)], ids=["all", "options"]
)
def test_engines_import_no_estimator(some, with_fit):
    estimators = modules_of_estimators(with_fit)

    def way_to_estimator(module, seen):
        for _, found in arrows(module):
            if found in estimators:
                return [module, found]
            if found in trees() and found not in seen:  # compiled modules import none
                seen.add(found)
                if way := way_to_estimator(found, seen):
                    return [module, *way]
        return None

    engines = {f"{NAME}.{engine}" for engine in some}
    assert engines - set(trees()) == set(), "ENGINES has the old name of a module."
    both = engines & estimators
    assert both == set(), "An engine is functions; its estimator belongs into another file."
    ways = [way_to_estimator(engine, set()) for engine in sorted(engines)]
    assert [" imports ".join(way) for way in ways if way] == []


ENTRIES = {f"{NAME}.trees": "tests/trees/engine.py", f"{NAME}._native": "tests/native/loops.py"}


def test_tests_name_the_internals_of_a_family_in_one_file():
    """A private name that moves is changed in one place: the entry of its family."""
    root = Path(__file__).parents[1]
    found = []
    for path in sorted((root / "tests").glob("**/*.py")):
        here = path.relative_to(root).as_posix()
        if here.split("/")[1] not in ("trees", "native", "reliability") and here.count("/") > 1:
            continue
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            module = node.module or "" if isinstance(node, ast.ImportFrom) else ""
            names = [*module.split("."), *(alias.name for alias in getattr(node, "names", []))]
            for family, entry in ENTRIES.items():
                within = f"{module}.".startswith(f"{family}.")
                if within and here != entry and any(name.startswith("_") for name in names):
                    found.append(f"{here}: import {module} from {entry}")
    assert found == []
