"""Finds the lines of the source of a documented object, for the [source] links of the reference.

The public `__module__` of a class is not the file that it is in, so classes are looked up by name
in the files of the package, where their names are unique. Functions know their file.
"""

import ast
import functools
import importlib
import inspect
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = "sklearn_ensemble_theory"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
SOURCE = PROJECT["urls"]["Source"]


@functools.cache
def lines_of_classes():
    """`{class: (path, first line, last line)}` of all classes of the package."""
    found = {}
    for path in sorted((ROOT / PACKAGE).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
                found[node.name] = (path, first, node.end_lineno)
    return found


def lines_of(member):
    """(path, first line, last line) of a class or function; None if it is not of the package."""
    if inspect.isclass(member):
        return lines_of_classes().get(member.__name__)
    member = member.fget if isinstance(member, property) else getattr(member, "fn", member)
    member = inspect.unwrap(member)
    code = getattr(member, "__code__", None)
    if code is None or ROOT / PACKAGE not in Path(code.co_filename).resolve().parents:
        return None
    lines, first = inspect.getsourcelines(code)
    return Path(code.co_filename).resolve(), first, first + len(lines) - 1


def repository():
    """The address of the repository's files: those of the tag of a release, or of main."""
    version = importlib.import_module(PACKAGE).__version__
    return f"{SOURCE}/blob/{'main' if 'dev' in version else f'v{version}'}"


def linkcode_resolve(domain, info):
    """The address of a documented object's source, as `sphinx.ext.linkcode` asks for it."""
    if domain != "py" or not info["module"].startswith(PACKAGE):
        return None
    member = importlib.import_module(info["module"])
    for name in info["fullname"].split("."):
        try:
            member = inspect.getattr_static(member, name)
        except AttributeError:  # an attribute of fitted models
            return None
    found = lines_of(member)
    if found is None:
        return None
    path, first, last = found
    return f"{repository()}/{path.relative_to(ROOT).as_posix()}#L{first}-L{last}"
