"""Every public signature is annotated, and its annotations say what `fit` accepts.

mypy checks that the annotations are right (`.ci/run`); here is checked that they are there.
"""

import importlib
import inspect
import pkgutil
import re
import types
import typing

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils._param_validation import StrOptions

import sklearn_ensemble_theory as package

NAME = package.__name__


def public_members():
    """`{address: member}` of the classes and functions that the package and its folders export."""
    folders = [m.name for m in pkgutil.iter_modules(package.__path__) if m.name[0] != "_"]
    modules = [package, *(importlib.import_module(f"{NAME}.{folder}") for folder in folders)]
    found = {}
    for module in modules:  # grows by the modules that are exported themselves
        for name in getattr(module, "__all__", []):
            member = getattr(module, name)
            if inspect.ismodule(member):
                modules.append(member)
            elif inspect.isclass(member) or inspect.isfunction(member):
                found[f"{member.__module__}.{name}"] = member
    return found


def function_of(member):
    """The function of ours behind a method, property or descriptor of scikit-learn's, or None."""
    if isinstance(member, property):
        member = member.fget
    member = getattr(member, "__func__", getattr(member, "fn", member))  # available_if keeps `fn`
    member = inspect.unwrap(member) if callable(member) else None
    ours = inspect.isfunction(member) and member.__module__.startswith(NAME)
    return member if ours else None


def public_functions():
    """`{address: function}`: functions, constructors, public methods that the package defines."""
    found = {}
    for address, member in public_members().items():
        if inspect.isfunction(member):
            found[address] = member
            continue
        for cls in member.__mro__:
            if cls.__module__.startswith(NAME):
                for name, value in vars(cls).items():
                    function = function_of(value)
                    if function and (name in ("__init__", "__call__") or name[0] != "_"):
                        found[f"{cls.__module__}.{cls.__qualname__}.{name}"] = function
    return found


FUNCTIONS = public_functions()
ESTIMATORS = {
    address: member
    for address, member in public_members().items()
    if inspect.isclass(member) and issubclass(member, BaseEstimator)
}


def not_annotated(function):
    """Parameters without an annotation; "return" for the value."""
    names = list(inspect.signature(function).parameters)
    if "." in function.__qualname__:
        names = [name for name in names if name not in ("self", "cls")]
    return [name for name in [*names, "return"] if name not in function.__annotations__]


@pytest.mark.parametrize("address", FUNCTIONS)
def test_public_signatures_are_annotated(address):
    assert not_annotated(FUNCTIONS[address]) == []
    assert typing.get_type_hints(FUNCTIONS[address])  # every name in them can be resolved


@pytest.mark.parametrize("address", FUNCTIONS)
def test_help_shows_types_by_name(address):
    """Before 3.13 Python writes a signature into one line: each parameter of it has to be short."""
    function = FUNCTIONS[address]
    parameters = inspect.signature(function).parameters.values()
    assert max((len(str(p)) for p in parameters), default=0) < 110
    assert all(len(line) <= 100 for line in (inspect.getdoc(function) or "").splitlines())


def members_of(hint):
    """The types of a union."""
    is_union = typing.get_origin(hint) in (typing.Union, types.UnionType)
    return typing.get_args(hint) if is_union else [hint]


# By word of a docstring: of these types one must be in the annotation.
TYPES = {"int": {int, float}, "float": {float}, "bool": {bool}, "None": {types.NoneType}}
TYPES |= {word: set() for word in ("array", "list", "str", "dict")}


@pytest.mark.parametrize("address", FUNCTIONS)
def test_what_docstrings_allow_is_not_refused(address):
    """Arguments that are not of the annotated types are refused before the function runs."""
    hints = typing.get_type_hints(FUNCTIONS[address])
    doc = inspect.getdoc(FUNCTIONS[address]) or ""
    for names, text in re.findall(r"^([\w, ]+) : (.*?)(?:, default=.*)?$", doc, re.MULTILINE):
        for name in names.split(", "):
            allowed = set(members_of(hints.get(name, object)))
            if allowed <= {int, float, bool, np.random.RandomState, types.NoneType}:
                words = set(re.findall(r"\w+", text)) & set(TYPES)
                assert all(TYPES[word] & allowed for word in words), f"{name} : {text}"


@pytest.mark.parametrize("address", ESTIMATORS)
def test_constructors_are_annotated_with_what_fit_accepts(address):
    """Strings and None of an annotation are those of the parameter's constraints."""
    cls = ESTIMATORS[address]
    hints = typing.get_type_hints(cls.__init__)
    for name, constraints in getattr(cls, "_parameter_constraints", {}).items():
        if constraints == "no_validation" or name not in hints:
            continue
        parts = members_of(hints[name])
        accepts_none = any(c is None or c in ("random_state", "cv_object") for c in constraints)
        assert (type(None) in parts) == accepts_none, name
        if "array-like" in constraints:  # a string is an array-like for NumPy's types
            continue
        options = {o for c in constraints if isinstance(c, StrOptions) for o in c.options}
        literals = [part for part in parts if typing.get_origin(part) is typing.Literal]
        named = {value for literal in literals for value in typing.get_args(literal)}
        # Names that come from a registry are `str`.
        assert named <= options, name
        assert (str in parts) == (named != options), name


@pytest.mark.parametrize("address", ESTIMATORS)
def test_help_lists_the_values_of_a_parameter(address):
    """Also where another class has the same parameter; not the names of all metrics and scores."""
    cls = ESTIMATORS[address]
    doc = inspect.getdoc(cls)
    for name, constraints in getattr(cls, "_parameter_constraints", {}).items():
        options = {o for c in constraints if isinstance(c, StrOptions) for o in c.options}
        head = rf"^[\w, ]*\b{name}\b[\w, ]* : "
        found = re.search(rf"{head}.*?(?=^\S|\Z)", doc, flags=re.MULTILINE | re.DOTALL)
        assert found, name
        assert not re.search(r"as (in|for) (:class:)?`~?\w+(Regressor|Classifier)`", found.group())
        if issubclass(cls, RegressorMixin):
            options -= {"stratified"}  # refused by name, for it needs classes
        missing = {option for option in options if option not in found.group()}
        assert not missing or len(options) > 10, name


if __name__ == "__main__":  # what is missing, a line a function
    for address, function in FUNCTIONS.items():
        if missing := not_annotated(function):
            print(address, *missing)
