"""What surrounds every fit: the door.

`fit_context` decorates `fit` and `partial_fit` of every estimator. A call passes these steps, each
of which is a function below:

1. *Twin.* Keywords that the method does not have are refused. The fit runs on a twin of the
   estimator, which gets the twin's attributes when everything has succeeded. A fit that fails or is
   interrupted leaves the estimator as it was.
2. *Numbers.* Scalars of NumPy among the parameters become numbers of Python, and constraints by
   names of columns those by their numbers (`_features.py`), until the fit has ended.
3. *Threads.* BLAS has one thread for small work, unless others' estimators are fitted.
4. *Parameters* that scikit-learn's constraints let through are checked.
5. *Rows.* A Dask collection goes to the estimator's `_fit_chunks`. Everything else goes to `fit`
   itself, with a checked target and weights of classes in `sample_weight`. There scikit-learn's
   constraints are checked, and `_rows.py` checks X, y and the weights.
6. *Text* that could not be predicted is refused.

`ReadsOnce`, a base of every estimator, is what surrounds the other methods: each runs on the fitted
state that it finds at its start. `reading_once` does the same for functions of fitted estimators.
"""

import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from functools import wraps
from numbers import Integral, Real
from traceback import walk_tb
from types import FunctionType
from typing import Any, TypeGuard, TypeVar, cast

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, RegressorMixin, clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.utils import assert_all_finite, column_or_1d
from sklearn.utils.validation import validate_data

from sklearn_ensemble_theory import _graphs
from sklearn_ensemble_theory._blocks import (
    DaskBlocks,
    GivenBlocks,
    any_collection,
    is_collection,
    memory_block,
    meta_of,
    row_blocks,
)
from sklearn_ensemble_theory._compat import (
    InvalidParameterError,
    StrOptions,
    check_constraints,
    constraints_of,
    sklearn_fit_context,
)
from sklearn_ensemble_theory._features import constraints_by_number, is_frame
from sklearn_ensemble_theory._learners import WeighsClasses
from sklearn_ensemble_theory._offsets import at_offset_zero
from sklearn_ensemble_theory._rows import (
    ChunkedRows,
    LabelTotals,
    RowChecks,
    checked_target,
    checked_weights,
    rows_of,
    weights_with_classes,
)
from sklearn_ensemble_theory._running import blas_threads_by_work, reworded
from sklearn_ensemble_theory._signatures import refuse_unknown
from sklearn_ensemble_theory._typing import Estimator, FitsChunks, HasClassWeight, Predictor
from sklearn_ensemble_theory._worker_memory import check_chunks

Function = TypeVar("Function", bound=Callable[..., Any])


def fit_context(
    *, prefer_skip_nested_validation: bool, running: tuple[str, ...] = ()
) -> Callable[[Function], Function]:
    """The decorator of `fit`: scikit-learn's of this name, and what the head of the file lists.

    `running` names attributes that a `partial_fit` changes in place.

    The twin's attributes become the estimator's by one assignment: of two threads that fit one
    estimator, the later one's model wins as a whole. The earlier model exists until then.
    """
    decorate = sklearn_fit_context(prefer_skip_nested_validation=prefer_skip_nested_validation)

    def decorated(method: Function) -> Function:
        fit, known = decorate(method), inspect.signature(method).parameters

        @wraps(fit)
        def fit_by_steps(estimator: Estimator, X: Any, y: Any = None, *args: Any, **kwargs: Any):
            if not kwargs.keys() <= known.keys():
                refuse_unknown(estimator, fit.__name__, known, kwargs)
            fresh = twin(estimator, running)
            changed = in_numbers(fresh, X, continued=fit.__name__ == "partial_fit")
            given = {name: fresh.__dict__[name] for name in changed}
            fresh.__dict__.update(changed)
            # Members that are not ours may warn, and have large products anywhere.
            is_ours = not fits_others(estimator)
            with blas_threads_by_work() if is_ours else np.errstate(all="ignore"):
                if any_collection(X, y, *args, *kwargs.values()):
                    result = fit_collections(fresh, fit, X, y, *args, **kwargs)
                else:
                    check_parameters(estimator)
                    y = checked_target(y, is_real=isinstance(estimator, RegressorMixin))
                    if weighs_classes(estimator):
                        args, kwargs = weighted_arguments(fresh, fit, X, y, *args, **kwargs)
                    try:
                        result = fit(fresh, X, y, *args, **kwargs)
                    except (MemoryError, OverflowError) as error:
                        raise naming_large_numbers(error, fresh) from None
                    check_text_is_predicted(fresh, X)
            fresh.__dict__.update(given)
            estimator.__dict__ = fresh.__dict__
            return estimator if result is fresh else result

        return cast(Function, fit_by_steps)

    return decorated


# --- twin -----------------------------------------------------------------------------------------


def twin(estimator: Estimator, running: tuple[str, ...] = ()) -> Any:
    """A shallow copy of the estimator, but for its lists, dicts and `running` attributes."""
    fresh = object.__new__(type(estimator))
    for name, value in estimator.__dict__.items():
        if name in running:
            value = deepcopy(value)
        elif type(value) in (list, dict) and name.endswith("_"):
            value = value.copy()
        fresh.__dict__[name] = value
    return fresh


# --- the fitted state -----------------------------------------------------------------------------

# Methods that change the estimator or return it: they need the estimator itself.
CHANGING = ("fit", "partial_fit", "set_", "get_")


class NeedsRows:
    """Not available: raises an AttributeError that says why."""

    def __get__(self, instance: Any, owner: type) -> Any:
        raise AttributeError(
            f"{owner.__name__} has no fit_batches, because it needs the rows in memory; the user "
            "guide, 'Larger than memory', lists the estimators that read batches."
        )


class ReadsOnce:
    """An estimator whose methods read its fitted state once.

    A fit in another thread gives the estimator other attributes, by one assignment of `__dict__`. A
    public method, or property, therefore runs on a view: an object with the `__dict__` that it
    found. What it keeps for later calls belongs to that state too.
    """

    fit_batches = NeedsRows()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for owner in cls.__mro__:
            if owner.__module__.partition(".")[0] != __package__:
                continue
            for name, member in list(vars(owner).items()):
                if name[0] == "_" or name.startswith(CHANGING):
                    continue
                if isinstance(member, FunctionType):
                    setattr(owner, name, on_view(member))
                elif isinstance(member, property) and member.fset is None:
                    setattr(owner, name, property(on_view(member.fget), doc=member.__doc__))
                elif isinstance(function := getattr(member, "fn", None), FunctionType):
                    member.fn = on_view(function)  # of `available_if`


def on_view(method: Any) -> Any:
    """The method on a view of the estimator; as it is where it already is one."""
    if hasattr(method, "runs_on_view"):
        return method
    new = object.__new__

    @wraps(method)
    def read(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        view = new(type(self))
        view.__dict__ = self.__dict__
        return method(view, *args, **kwargs)

    read.runs_on_view = True  # type: ignore[attr-defined]
    return read


def reading_once(function: Any) -> Any:
    """The function on views of the estimators among its arguments; as it is where it already is."""
    if hasattr(function, "runs_on_view"):
        return function

    def view_of(value: Any) -> Any:
        if not isinstance(value, ReadsOnce):
            return value
        view = object.__new__(type(value))
        view.__dict__ = value.__dict__
        return view

    @wraps(function)
    def read(*args: Any, **kwargs: Any) -> Any:
        given = {name: view_of(value) for name, value in kwargs.items()}
        return function(*map(view_of, args), **given)

    read.runs_on_view = True  # type: ignore[attr-defined]
    return read


# --- numbers --------------------------------------------------------------------------------------


def in_numbers(estimator: Estimator, X: Any, continued: bool) -> dict[str, Any]:
    """The parameters as numbers of Python, not of NumPy, which overflow; constraints by number."""
    params = vars(estimator)
    found = {
        name: value.item()
        for name, value in params.items()
        if isinstance(value, np.number) and not name.startswith("_") and name[-1] != "_"
    }
    found |= constraints_by_number(estimator, estimator, X, continued)
    learner = params.get("estimator")
    if learner is not None and (own := constraints_by_number(estimator, learner, X, continued)):
        found["estimator"] = clone(learner).set_params(**own)
    return found


# --- threads --------------------------------------------------------------------------------------


def fits_others(estimator: Estimator) -> bool:
    """Whether it fits estimators that are not of this package, or several members with names."""
    given = vars(estimator)
    parts = [given.get(name) for name in ("estimator", "init")]
    return given.get("estimators") is not None or any(
        type(each).__module__.partition(".")[0] != __package__ or fits_others(each)
        for each in parts
        if each is not None and hasattr(each, "fit")
    )


# --- parameters -----------------------------------------------------------------------------------

LARGE_NUMBER = 10_000
LARGEST_COUNT = 2**31 - 1
LARGEST_INTEGER = 2**63 - 1


def check_parameters(estimator: Estimator) -> None:
    """Refuse parameters that scikit-learn's constraints let through.

    An estimator given as a class, or without parameters to be cloned by (TypeError); a count above
    2^31 - 1, another integer above 2^63 - 1 in absolute value, a `cv` that is neither a splitter
    nor pairs of rows (ValueError).
    """
    # Every fit passes this loop: what cannot be wrong leaves it first.
    for name, value in estimator.__dict__.items():
        if value is None or isinstance(value, (bool, float, str)) or name[-1] == "_":
            continue
        if isinstance(value, (int, np.integer)):
            if not -LARGEST_COUNT <= value <= LARGEST_COUNT and name[0] != "_":
                _check_integer(estimator, name, value)
        elif name[0] != "_":
            _check_object(estimator, name, value)


def _check_integer(estimator: Estimator, name: str, value: Any) -> None:
    if name == "random_state":  # up to 2^32 - 1, by scikit-learn's own check
        return
    types = [getattr(one, "type", one) for one in constraints_of(estimator).get(name, ())]
    is_count = Integral in types and Real not in types
    largest, text = (LARGEST_COUNT, "2**31") if is_count else (LARGEST_INTEGER, "2**63")
    if abs(int(value)) > largest:
        remedy = "" if is_count else "; give larger numbers as floats"
        raise ValueError(
            f"{name} must be an integer below {text} in absolute value{remedy}. Got one of "
            f"{int(value).bit_length()} bits."
        )


def _check_object(estimator: Estimator, name: str, value: Any) -> None:
    if isinstance(value, np.ndarray) and value.ndim == 0:  # "array-like" for scikit-learn
        check_constraints(estimator)
        remedy = "its value is masked" if value is np.ma.masked else f"pass {value.item()!r:.100}"
        raise InvalidParameterError(f"{name} is an array without dimensions; {remedy}.")
    # The value, its members if it is a list, and the estimators of pairs (name, estimator) there.
    items = [value]
    if isinstance(value, (list, tuple)) and len(value) < 1000:
        for one in value:
            items.append(one)
            if isinstance(one, (list, tuple)) and len(one) == 2:
                items.append(one[1])
    for item in items:
        if isinstance(item, type) and hasattr(item, "fit"):
            check_constraints(estimator)  # scikit-learn's message, where it refuses the class too
            raise TypeError(
                f"{name} must have an estimator, not a class: got {item.__name__} instead of "
                f"{item.__name__}()."
            )
        if isinstance(item, type) and issubclass(item, BaseEstimator):  # options
            check_constraints(estimator)
            raise TypeError(
                f"{name}: {item.__name__} is a class; pass an instance, such as {item.__name__}()."
            )
        if "estimator" in name and hasattr(item, "fit") and not hasattr(item, "get_params"):
            raise TypeError(
                f"{name}: {type(item).__name__} has no get_params; learners inherit from "
                "sklearn.base.BaseEstimator."
            )
        if isinstance(item, int) and abs(item) > LARGEST_INTEGER:
            raise ValueError(
                f"{name} has an integer of {item.bit_length()} bits; give numbers of 2**63 and "
                "above as floats."
            )
    if name in ("cv", "held_out") and not _may_be_splits(value):
        raise ValueError(
            f"{name} must be an integer, a splitter or an iterable of pairs (train, test) of row "
            f"indices; got {value if isinstance(value, type) else type(value).__name__}."
        )
    if isinstance(value, (dict, set, frozenset, bytes, type)):
        # They have a length, which is enough for scikit-learn's "array-like".
        constraints = constraints_of(estimator).get(name, ())
        is_known = type(value) in constraints or (callable(value) and callable in constraints)
        if "array-like" in constraints and not is_known:
            given = "class" if isinstance(value, type) else type(value).__name__
            raise ValueError(f"{name} must be array-like, not a {given}.")


def _may_be_splits(cv: Any) -> bool:
    if issparse(cv) or isinstance(cv, (dict, set, frozenset, bytes)):
        return False
    if isinstance(cv, type):  # a class instead of an instance
        return False
    if isinstance(cv, np.ndarray):
        return cv.ndim > 1 or cv.dtype == object
    if isinstance(cv, (list, tuple)):
        return all(isinstance(one, Iterable) and len(list(one)) == 2 for one in cv[:1])
    return True  # scikit-learn judges what is neither a splitter nor an iterable


def naming_large_numbers(error: Exception, estimator: Estimator) -> Exception:
    """An error of memory, or of numbers beyond all floats, with the large parameters by name."""
    params = estimator.get_params(deep=False).items()
    numbers = [(k, v) for k, v in params if isinstance(v, (int, float)) and v >= LARGE_NUMBER]
    if not numbers:
        return error
    given = ", ".join(f"{name}={value!r}" for name, value in numbers)
    if isinstance(error, OverflowError):
        return ValueError(f"A fit with {given} needs numbers that are larger than all floats.")
    return MemoryError(f"A fit with {given} needs more memory than there is: {error}")


# --- rows: weights of classes ---------------------------------------------------------------------

# The parameter `class_weight`, but of trees and forests, which weigh each tree.
CLASS_WEIGHT = [dict, StrOptions({"balanced"}), None]


def weighs_classes(estimator: Estimator) -> TypeGuard[HasClassWeight]:
    """Whether the weights of classes become a part of `sample_weight` here."""
    given = getattr(estimator, "class_weight", None)
    if not (isinstance(given, dict | list) or (isinstance(given, str) and given == "balanced")):
        return False  # None, or what the check of the parameters refuses
    return not isinstance(estimator, WeighsClasses)


def weighted_arguments(
    estimator: HasClassWeight, fit: Callable[..., Any], X: Any, y: Any, *args: Any, **kwargs: Any
) -> tuple[tuple, dict[str, Any]]:
    """The arguments of `fit` after X and y, with the weights of the classes in `sample_weight`."""
    if y is None:
        return args, kwargs
    if fit.__name__ == "partial_fit" and isinstance(estimator.class_weight, str):
        raise ValueError(
            "class_weight='balanced' needs the classes of all rows, and partial_fit sees a part of "
            "them; give a dict {label: weight}."
        )
    check_constraints(estimator)
    call = inspect.signature(fit).bind(estimator, X, y, *args, **kwargs)
    call.arguments["sample_weight"] = weights_with_classes(
        estimator.class_weight, X, y, call.arguments.get("sample_weight")
    )
    return call.args[3:], call.kwargs


# --- rows: Dask collections -----------------------------------------------------------------------

DASK = ("dask", "distributed")


def fit_collections(
    estimator: Estimator, fit: Callable[..., Any], X: Any, y: Any, *args: Any, **kwargs: Any
) -> Any:
    """Call the estimator's `_fit_chunks` with the rows of Dask collections, instead of `fit`."""
    name = type(estimator).__name__
    if not isinstance(estimator, FitsChunks) or fit.__name__ != "fit":
        raise TypeError(
            f"{name}.{fit.__name__} needs all rows in memory and was given a Dask collection. "
            "Call .compute() on it if the rows fit into memory; the user guide, 'Larger than "
            "memory', lists the estimators that fit Dask collections."
        )
    given = inspect.signature(fit).bind(estimator, X, y, *args, **kwargs).arguments
    weight = given.pop("sample_weight", None)
    validation = ()
    if hasattr(estimator, "_takes_validation_chunks"):
        validation = tuple(given.pop(f"{name}_val", None) for name in ("X", "y", "sample_weight"))
    known = ("self", "X", "y")
    extra = [each for each in given if each not in known and given[each] is not None]
    extra = [*given.get("fit_params", ()), *extra]
    if extra:
        raise TypeError(f"{name}.fit takes no {extra[0]} with Dask collections.")
    if not is_collection(X):
        raise TypeError(
            f"X must be a Dask collection where y or sample_weight is one; got {type(X).__name__}. "
            "Make one by dask.array.from_array or dask.dataframe.from_pandas, or call .compute() "
            "on the others if they fit into memory."
        )
    if y is None:
        raise ValueError(f"{name} requires y to be passed, but the target y is None.")
    check_for_blocks(estimator)
    meta = meta_of(X)
    if isinstance(weight, Real):
        weight = float(checked_weights(float(weight), np.empty((1, 1)))[0])
    check_chunks(X)
    blocks = row_blocks(X, y, weight)
    with naming_unread_chunk(blocks):
        fit_blocks(estimator, blocks, meta, weight is not None, validation)
    return estimator


def check_for_blocks(estimator: Estimator) -> None:
    """Check the parameters, before rows in blocks are read."""
    check_parameters(estimator)
    check_constraints(estimator)


def fit_blocks(
    estimator: FitsChunks,
    blocks: GivenBlocks,
    meta: Any,
    has_weights: bool,
    validation: tuple[Any, ...] = (),
) -> None:
    """Call the estimator's `_fit_chunks` with blocks (number, X, y, weight).

    `meta` is like X, without rows; `validation` are X, y and the weights of validation rows.
    """
    continued = getattr(estimator, "warm_start", False) and hasattr(estimator, "estimators_")
    if not continued:
        vars(estimator).pop("_encoder", None)  # of an earlier fit
    if not isinstance(getattr(type(estimator), "n_features_in_", None), property):
        validate_data(estimator, meta, skip_check_array=True, reset=not continued)
    checks = RowChecks(
        meta.shape[1],
        is_classifier(estimator),
        takes_categories=hasattr(estimator, "categorical_features"),
    )
    given: Estimator = estimator
    if weighs_classes(given):
        totals, has_weights = blocks.sum(_label_totals), True
        factors = totals.factors(given.class_weight)
        blocks = blocks.lazily(_weighted_block, totals, factors)
    rows = [ChunkedRows(blocks, checks, meta, has_weights)]
    if any(each is not None for each in validation):
        rows.append(validation_rows(estimator, checks, *validation))
    estimator._fit_chunks(*rows)


def validation_rows(
    estimator: Estimator, checks: RowChecks, X: Any, y: Any, weight: Any
) -> ChunkedRows:
    """Validation rows with the columns of the rows that are fitted, in memory or in chunks."""
    for name, part, other in (("y_val", y, "X_val"), ("X_val", X, "y_val")):
        if part is None:
            raise ValueError(f"{other} is provided, but {name} was not provided.")
    try:
        chunked = is_collection(X)
        if not chunked and any_collection(y, weight):
            raise TypeError("it must be a Dask collection where y_val or its weights are one.")
        meta = meta_of(X) if chunked else X
        validate_data(estimator, meta, skip_check_array=True, reset=False)
        blocks = (row_blocks if chunked else memory_block)(X, y, weight)
    except (TypeError, ValueError) as error:
        raise reworded(error, f"X_val: {error}") from error
    return ChunkedRows(blocks, checks, meta, weight is not None)


@contextmanager
def fitted_twin(estimator: Estimator, X: Any) -> Iterator[Any]:
    """A twin to be fitted, whose attributes the estimator gets at the end; X has the columns."""
    fresh = twin(estimator)
    changed = in_numbers(fresh, X, continued=False)
    given = {name: fresh.__dict__[name] for name in changed}
    fresh.__dict__.update(changed)
    with blas_threads_by_work() if not fits_others(estimator) else np.errstate(all="ignore"):
        yield fresh
    fresh.__dict__.update(given)
    estimator.__dict__ = fresh.__dict__


@contextmanager
def naming_unread_chunk(blocks: DaskBlocks) -> Iterator[None]:
    """An error while Dask reads a chunk, such as of a damaged file, says which chunk it is.

    The chunk is found by reading them again, half by half: Dask does not say which task has failed.
    """
    try:
        yield
    except Exception as error:
        number = first_unread(blocks) if _is_of_reading(error) else None
        if number is None:
            raise
        words = (
            f"(in chunk {number} of the rows, which Dask could not read; compute "
            f"X.partitions[{number}] and y.partitions[{number}] to see why)"
        )
        found = reworded(error, f"{error} {words}")
        if type(found) is not type(error):  # of which another cannot be made
            error.add_note(words)
            raise
        raise found from error


def _is_of_reading(error: Exception) -> bool:
    """Whether a task of Dask has failed before it came to this package; not for lost workers."""
    if isinstance(error, MemoryError | TimeoutError) or _package(type(error).__module__) in DASK:
        return False
    modules = [frame.f_globals.get("__name__", "") for frame, _ in walk_tb(error.__traceback__)]
    # Chunks are also read in tasks of this package, whose frames of Dask are left out of errors.
    reads = [name == _graphs.__name__ or _package(name) in DASK for name in modules]
    last = max((place for place, is_reading in enumerate(reads) if is_reading), default=None)
    return last is not None and _package(__name__) not in map(_package, modules[last + 1 :])


def _package(module: str) -> str:
    return module.partition(".")[0]


def first_unread(blocks: DaskBlocks) -> int | None:
    """The number of the first chunk that cannot be read; None if all can be."""

    def is_unread(start: int, end: int) -> bool:
        try:
            blocks.taken(range(start, end)).each(_is_read)
        except Exception:
            return True
        return False

    start, end = 0, len(blocks)
    while end - start > 1:
        middle = (start + end) // 2
        start, end = (start, middle) if is_unread(start, middle) else (middle, end)
    return start if is_unread(start, end) else None


def _is_read(block: tuple[int, Any, Any, Any]) -> bool:
    return True


def _label_totals(block: tuple[int, Any, Any, Any]) -> LabelTotals:
    number, X, y, weight = block
    try:
        y = np.asarray(checked_target(y, is_real=False))
        if y.ndim == 2 and y.shape[1] > 1:
            raise ValueError(
                "class_weight is for one column of labels in Dask collections, and y has "
                f"{y.shape[1]} columns; give the weights of the rows as sample_weight."
            )
        if len(y):
            assert_all_finite(y, input_name="y")
            if weight is not None and np.any(np.asarray(weight)):
                weight = checked_weights(weight, X)
        return LabelTotals.of(column_or_1d(y), None if weight is None else np.asarray(weight))
    except (TypeError, ValueError) as error:
        raise reworded(error, f"{error} (in chunk {number} of the rows)") from error


def _weighted_block(
    block: tuple[int, Any, Any, Any], totals: LabelTotals, factors: np.ndarray
) -> tuple[int, Any, Any, Any]:
    number, X, y, weight = block
    by_class = totals.of_rows(np.asarray(y), factors)
    return number, X, y, by_class if weight is None else by_class * np.asarray(weight)


# --- text -----------------------------------------------------------------------------------------


def check_text_is_predicted(estimator: Predictor, X: Any) -> None:
    """Refuse X of text that the estimator's `predict` would refuse."""
    if issparse(X) or (isinstance(X, np.ndarray) and X.dtype.kind not in "OSU"):
        return
    X = X if is_frame(X) or isinstance(X, (list, tuple)) else np.asarray(X)
    first = rows_of(X, slice(1)) if hasattr(X, "shape") else X[:1]
    if np.asarray(first).dtype.kind not in "OSU":
        return
    try:
        at_offset_zero(estimator).predict(first)
    except NotFittedError:
        return  # a chunk that was only added to the others
    except (TypeError, ValueError) as error:
        raise ValueError(f"X has text, which is fitted but cannot be predicted: {error}") from error
