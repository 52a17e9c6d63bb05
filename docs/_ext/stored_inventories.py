"""The addresses of what the pages mention of other projects' documentation, stored with the pages.

Sphinx reads the files in `docs/_inventories/` instead of asking the projects' sites, so that a
build needs no network. They hold the names that the pages, the docstrings and the gallery mention,
and their addresses. A name of our own text that is not there fails tests/test_site.py. To add it:

    python docs/_ext/stored_inventories.py

downloads the projects' inventories and writes the files again. `NAME=PATH` reads the inventory of
one project, and no other, from a file. Names that an inventory does not have keep their lines.
"""

import ast
import importlib
import inspect
import io
import re
import sys
import urllib.request
from pathlib import Path

DOCS = Path(__file__).parents[1]
FOLDER = DOCS / "_inventories"
PROJECTS = {
    "numpy": "https://numpy.org/doc/stable/",
    "pandas": "https://pandas.pydata.org/docs/",
    "scipy": "https://docs.scipy.org/doc/scipy/",
    "sklearn": "https://scikit-learn.org/stable/",
}
HEADER = "# Sphinx inventory version 1\n# Project: {name}\n# Version: stable\n"
ROLE = re.compile(r"[{:](?:class|func|meth|mod|exc|obj|data|attr)[}:]`(?:[^`<]*<)?~?([\w.]+)>?`")
SEE_ALSO = re.compile(r"^ *(\w+(?:\.\w+)+) : ", re.MULTILINE)
# Types of parameters that numpydoc links (see `numpydoc_xref_aliases` in conf.py).
TYPES = {
    "ndarray": "numpy.ndarray",
    "RandomState": "numpy.random.RandomState",
    "DataFrame": "pandas.DataFrame",
    "Bunch": "sklearn.utils.Bunch",
}


def mapping():
    """What `intersphinx_mapping` of conf.py is: the projects that something is mentioned of."""
    return {n: (url, f"_inventories/{n}.txt") for n, url in PROJECTS.items() if stored(n)}


def stored(name):
    """`{object: (type, address)}` of one project."""
    path = FOLDER / f"{name}.txt"
    lines = path.read_text(encoding="utf-8").splitlines()[3:] if path.exists() else []
    return {word[0]: (word[1], word[2]) for word in map(str.split, lines)}


def imported(tree):
    """The names of other projects that the code of an example uses."""
    known = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            known |= {a.asname or a.name: a.name for a in node.names}
        elif isinstance(node, ast.ImportFrom):
            known |= {a.asname or a.name: f"{node.module}.{a.name}" for a in node.names}
    for node in ast.walk(tree):
        names, part = [], node
        while isinstance(part, ast.Attribute):
            names.append(part.attr)
            part = part.value
        if isinstance(part, ast.Name) and part.id in known:
            yield ".".join([known[part.id], *reversed(names)])


def scripts():
    """Those of the gallery and of the pages of the lectures."""
    return [*DOCS.glob("examples/*/*.py"), *DOCS.glob("lectures/*.py")]


def written():
    """The names of objects of the projects in roles and See Also sections of our own text."""
    package, found = DOCS.parent / "sklearn_ensemble_theory", set()
    for path in [*DOCS.rglob("*.md"), *package.rglob("*.py"), *scripts()]:
        if "_build" not in path.parts:
            text = path.read_text(encoding="utf-8")
            found.update(ROLE.findall(text), SEE_ALSO.findall(text))
    return {name for name in found if name.split(".")[0] in PROJECTS}


def mentioned():
    """All names: those, types of parameters, peers, inherited docstrings and code of examples."""
    ours, theirs = map(importlib.import_module, ("sklearn_ensemble_theory", "sklearn.ensemble"))
    rooms = [ours, *(getattr(ours, room) for room in ("averaging", "boosting", "trees"))]
    found = written() | set(TYPES.values())
    found.update(f"sklearn.ensemble.{name}" for name in {*ours.__all__} & {*theirs.__all__})
    for member in (getattr(room, name) for room in rooms for name in room.__all__):
        for method in dir(member) if isinstance(member, type) else ():
            found.update(ROLE.findall(inspect.getdoc(getattr(member, method)) or ""))
    for path in scripts():
        found.update(imported(ast.parse(path.read_text(encoding="utf-8"))))
    return {name for name in found if name.split(".")[0] in PROJECTS}


def read_inventory(content):
    """`{object: (type, address)}` of the Python objects in the content of an `objects.inv`."""
    from sphinx.util.inventory import InventoryFile

    kinds = InventoryFile.load(io.BytesIO(content), "", lambda _, address: address)
    return {
        # Before Sphinx 8.2 an item was a tuple.
        name: (
            kind.removeprefix("py:"),
            (item[2] if type(item) is tuple else item.uri).split("#")[0],
        )
        for kind, items in kinds.items()
        if kind.startswith("py:") and kind != "py:module"
        for name, item in items.items()
    }


def main(arguments):
    sys.path.insert(0, str(DOCS.parent))
    FOLDER.mkdir(exist_ok=True)
    paths = dict(argument.split("=") for argument in arguments)
    names = mentioned()
    for project in paths or PROJECTS:
        if project in paths:
            full = read_inventory(Path(paths[project]).read_bytes())
        else:
            with urllib.request.urlopen(f"{PROJECTS[project]}objects.inv") as answer:
                full = read_inventory(answer.read())
        known = stored(project) | full
        wanted = sorted(name for name in names if name.split(".")[0] == project)
        lines = [f"{n} {known[n][0]} {known[n][1]}\n" for n in wanted if n in known]
        text = HEADER.format(name=project) + "".join(lines)
        if lines:
            (FOLDER / f"{project}.txt").write_text(text, encoding="utf-8")
        print(project, len(lines), "names; not found:", *(n for n in wanted if n not in known))


if __name__ == "__main__":
    main(sys.argv[1:])
