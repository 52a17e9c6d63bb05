"""Addresses of classes that do not depend on the files that the classes are in.

A pickle or a skops file names the classes of a model by module and name, and scikit-learn links the
HTML view of an estimator to a page of that address. Everything public has the address that it is
documented under, and private classes, of which fitted models hold many, are found in this module.
A file of the package can therefore be moved without breaking saved models. The names of classes are
unique in the package; a class that is renamed is listed in `RENAMED`.
"""

import inspect
import sys
from importlib import import_module
from types import ModuleType
from typing import Any

__all__ = ["DOCUMENTATION", "RENAMED", "give_addresses"]

# Where the site of `docs` is published.
DOCUMENTATION = "https://sklearn-ensemble-theory.github.io/sklearn-ensemble-theory"
FOLDERS = (
    "averaging",
    "boosting",
    "boosting.losses",
    "bounds",
    "combining",
    "datasets",
    "erm",
    "inspection",
    "smoothing",
    "trees",
)
# Private classes of earlier releases: the name in saved models -> the name now.
RENAMED: dict[str, str] = {}


def give_addresses(package: ModuleType) -> None:
    """Set the addresses of what the package and its folders export, and of all private classes.

    Parameters
    ----------
    package : module
        The package, when everything else has been imported.
    """
    prefix = f"{package.__name__}."
    done: set[int] = set()
    for module in [package, *(import_module(prefix + name) for name in FOLDERS)]:
        for name in module.__all__:
            member = getattr(module, name)
            if id(member) in done or not (inspect.isclass(member) or inspect.isfunction(member)):
                continue
            done.add(id(member))
            member.__module__ = module.__name__
            if hasattr(member, "_doc_link_module"):
                _link_to_its_page(member, package.__name__)
    for where, module in list(sys.modules.items()):
        if not where.startswith(prefix) or where == __name__:
            continue
        for member in list(vars(module).values()):
            if inspect.isclass(member) and member.__module__ == where and id(member) not in done:
                member.__module__ = __name__
                globals()[member.__name__] = member
    for old, new in RENAMED.items():
        globals()[old] = globals()[new]


def _link_to_its_page(estimator: Any, package: str) -> None:
    """The page that the HTML view of an estimator links to; a subclass of a user has none."""
    estimator._doc_link_module = package
    estimator._doc_link_template = (
        f"{DOCUMENTATION}/generated/{{estimator_module}}.{{estimator_name}}.html"
    )
