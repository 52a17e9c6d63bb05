"""The door of public functions and methods: arguments have the types of their annotations.

`_addresses.publish` puts it before all that a room exports, as the constraints of an estimator
stand before its `fit`. A number is no bool, and a switch is one; scalars of NumPy become numbers of
Python, which do not overflow. Ranges, arrays and options by name are checked by the function.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from inspect import Parameter
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin

import numpy as np

from sklearn_ensemble_theory._compat import InvalidParameterError, routing_enabled

# Methods that are not checked here: `fit` has constraints, and requests of metadata are
# scikit-learn's.
OTHERS = ("_", "fit", "partial_fit", "set_")
BOOLS = (bool, np.bool_)
MOST_BITS = 1023  # of integers that are not larger than all floats
COUNT_BITS = 31  # of the counts of methods
LARGE_NUMBER = 10_000
# Of NumPy, where shapes do not fit.
OF_SHAPES = ("broadcast together", "shape mismatch")
KEYWORD_ONLY = Parameter.KEYWORD_ONLY
NO_PLACE = 2**31  # of arguments that have a name only


# Arguments of other libraries: what a method that has the second name calls them.
NAMES_ELSEWHERE = {
    "alpha": ("coverage", "coverage, which is 1 - alpha"),
    "confidence_level": ("coverage", "coverage"),
    "eval_set": ("X_val", "X_val and y_val"),
    "exposure": ("offset", "offset=np.log(exposure)"),
    "init_score": ("offset", "offset"),
    "base_margin": ("offset", "offset"),
}


class Kind(NamedTuple):
    """What values of one type are called, and whether a value is one."""

    noun: str
    accepts: Callable[[Any], bool]


def _is_number(value: Any, kind: type) -> bool:
    return isinstance(value, kind) and not isinstance(value, (bool, np.timedelta64))


def _can_be_listed(value: Any) -> bool:
    return hasattr(value, "__iter__") and not (isinstance(value, np.ndarray) and value.ndim == 0)


KINDS = {
    NoneType: Kind("None", lambda value: value is None),
    bool: Kind("True or False", lambda value: isinstance(value, BOOLS)),
    int: Kind("an integer", lambda value: _is_number(value, Integral)),
    float: Kind("a number", lambda value: _is_number(value, Real)),
    str: Kind("a text", lambda value: isinstance(value, str)),
    Mapping: Kind("a dict", lambda value: isinstance(value, Mapping)),
    dict: Kind("a dict", lambda value: isinstance(value, dict)),
    Sequence: Kind("a list", lambda value: _can_be_listed(value)),
    np.random.RandomState: Kind(
        "a RandomState", lambda value: isinstance(value, np.random.RandomState)
    ),
}


def kinds_of(annotation: Any) -> list[Kind] | None:
    """The kinds of values that an annotation allows; None where it says nothing of them."""
    if get_origin(annotation) in (Union, UnionType):
        parts = [kinds_of(part) for part in get_args(annotation)]
        return None if None in parts else [kind for part in parts for kind in part or []]
    origin = get_origin(annotation)
    if origin is Literal and all(isinstance(one, str) for one in get_args(annotation)):
        texts = ", ".join(map(repr, get_args(annotation)))
        # Of another text the function says what it has instead.
        return [Kind(f"one of {texts}", KINDS[str].accepts)]
    if origin in (dict, Mapping, Sequence):
        annotation = origin
    kind = KINDS.get(annotation) if isinstance(annotation, type) else None
    return None if kind is None else [kind]


def annotations_of(function: Callable[..., Any]) -> dict[str, Any]:
    """The annotations; those that are written as strings, and can be evaluated, as objects."""
    found, inner = {}, inspect.unwrap(function)
    for name, annotation in inspect.get_annotations(inner).items():
        if isinstance(annotation, str):
            try:
                annotation = eval(annotation, inner.__globals__)
            except NameError:  # of type checkers only
                continue
        found[name] = annotation
    return found


def refuse_unknown(owner: Any, name: str, known: Mapping[str, Any], given: Iterable[str]) -> None:
    """A TypeError for keywords that a method does not have, with the class that the user called."""
    unknown = [key for key in given if key not in known]
    place, cure = NAMES_ELSEWHERE.get(unknown[0], ("", ""))
    is_open = any(one.kind is Parameter.VAR_KEYWORD for one in known.values())
    if is_open and routing_enabled():
        return  # they may be of a base learner
    if place in known:
        cure = f"use {cure}"
    elif is_open:
        return
    else:
        cure = f"it has {', '.join([*known][1:]) or 'no arguments'}"
    call = f"{type(owner).__name__}.{name}()"
    raise TypeError(f"{call} got an unexpected keyword argument {unknown[0]!r}; {cure}.")


def with_checked_arguments(
    function: Callable[..., Any], most_bits: int = MOST_BITS
) -> Callable[..., Any]:
    """The function, which refuses arguments of other types than its annotations; or itself.

    A method refuses unknown keywords by the class of its object. Errors of shapes that do not fit
    name the arrays, and those of memory and of numbers beyond all floats name the large numbers.
    Counts, as those of estimators, are at most 2^31 - 1 in methods.
    """
    annotations, checks = annotations_of(function), []
    arrays = [name for name, each in annotations.items() if "ArrayLike" in repr(each)]
    parameters = inspect.signature(function).parameters
    is_method = next(iter(parameters), None) == "self"
    for place, (name, parameter) in enumerate(parameters.items()):
        kinds = kinds_of(annotations.get(name))
        if kinds is not None and parameter.kind in (Parameter.POSITIONAL_OR_KEYWORD, KEYWORD_ONLY):
            checks.append((NO_PLACE if parameter.kind is KEYWORD_ONLY else place, name, kinds))
    needs_door = is_method or checks or len(arrays) > 1
    if not needs_door or hasattr(function, "checks_arguments"):
        return function

    @wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        if is_method and args and not kwargs.keys() <= parameters.keys():
            refuse_unknown(args[0], function.__name__, parameters, kwargs)
        given, numbers = list(args), {}
        for place, name, kinds in checks:
            if place < len(given):
                numbers[name] = given[place] = _checked(name, given[place], kinds, most_bits)
            elif name in kwargs:
                numbers[name] = kwargs[name] = _checked(name, kwargs[name], kinds, most_bits)
        try:
            return function(*given, **kwargs)
        except (MemoryError, OverflowError) as error:
            large = [f"{k}={v!r}" for k, v in numbers.items() if _is_large(v)]
            if not large:
                raise
            if isinstance(error, OverflowError):
                raise ValueError(f"Too large: {', '.join(large)}.") from error
            message = f"{', '.join(large)} needs more memory than there is: {error}"
            raise MemoryError(message) from error
        except ValueError as error:
            if len(arrays) < 2 or not any(text in str(error) for text in OF_SHAPES):
                raise
            raise ValueError(f"Shapes of {', '.join(arrays)} do not fit: {error}") from error

    found: Any = checked
    found.checks_arguments = True
    # The name in tracebacks, and where scikit-learn looks for the caller of a member.
    found.__code__ = found.__code__.replace(co_name=function.__name__)
    return found


def _is_large(value: Any) -> bool:
    return isinstance(value, (int, float)) and abs(value) >= LARGE_NUMBER


def _checked(name: str, value: Any, kinds: list[Kind], most_bits: int) -> Any:
    """A value of one of the kinds, as an object of Python."""
    if not any(kind.accepts(value) for kind in kinds):
        *first, last = (kind.noun for kind in kinds)
        nouns = f"{', '.join(first)} or {last}" if first else last
        raise InvalidParameterError(f"{name} must be {nouns}; got {value!r:.100}.")
    if isinstance(value, np.generic) and not isinstance(value, np.floating):
        value = value.item()
    if isinstance(value, int):
        if name == "random_state":
            if not 0 <= value < 2**32:
                raise InvalidParameterError(
                    f"random_state must be from 0 to 2**32 - 1; got {value!r:.100}."
                )
        elif value.bit_length() > most_bits:
            raise InvalidParameterError(
                f"{name} must be below 2**{most_bits} in absolute value; got an integer of "
                f"{value.bit_length()} bits."
            )
        return value
    return float(value) if isinstance(value, np.floating) else value


def check_methods(cls: type, package: str) -> None:
    """Put the door before the public methods of a class and of its bases in the package."""
    for base in cls.__mro__:
        if base.__module__.partition(".")[0] != package:
            continue
        for name, member in list(vars(base).items()):
            if name.startswith(OTHERS):
                continue
            if inspect.isfunction(member):
                setattr(base, name, with_checked_arguments(member, COUNT_BITS))
            elif isinstance(member, (classmethod, staticmethod)):
                function = with_checked_arguments(member.__func__, COUNT_BITS)
                setattr(base, name, type(member)(function))
            elif inspect.isfunction(getattr(member, "fn", None)):  # of `available_if`
                member.fn = with_checked_arguments(member.fn, COUNT_BITS)
