"""Every function of `bounds`: its arguments are checked, its value is known, it is on a page.

The table has a valid call of each function. Each of its numbers, or the first entry of each of its
arrays, is replaced here by something else. And would the tests notice a constant that is wrong by
5 %?
"""

import importlib
import inspect
import pkgutil
import re
from itertools import combinations, product

import numpy as np
import pytest

from sklearn_ensemble_theory import bounds
from tests.test_docs import cited
from tests.test_theory_pages import ROWS

from .table import TABLE

NOT_A_NUMBER = [float("nan"), float("inf"), -float("inf"), "text", 1j]
EXTREME = [1e200, 1e-200, 5e-324, 1.7e308, -1e200, 0, 1, 10**400]


def replaced(value, other):
    """The other value in place of a number or of the first entry of an array; or None."""
    if isinstance(value, bool | str) or callable(value):
        return None
    array = np.array(value, dtype=object)
    array[(0,) * array.ndim] = other
    return array.tolist()


def function_of(row):
    return getattr(bounds, row.partition(":")[0])


def numbers_of(name):
    """The arguments of a function that are numbers or arrays of numbers."""
    dtypes = {key: np.asarray(value).dtype.kind for key, value in TABLE[name].valid.items()}
    return [key for key, kind in dtypes.items() if kind in "if"]


def test_every_function_is_exported_and_has_a_row():
    """A file has bounds, all of them public, or what several files share, but not both."""
    assert sorted({row.partition(":")[0] for row in TABLE}) == bounds.__all__
    for found in pkgutil.iter_modules(bounds.__path__, f"{bounds.__name__}."):
        module = importlib.import_module(found.name)
        own = {
            name
            for name, member in vars(module).items()
            if inspect.isfunction(member)
            and inspect.unwrap(member).__globals__ is vars(module)
            and name[0] != "_"
        }
        assert own <= set(bounds.__all__) or not own & set(bounds.__all__), own


@pytest.mark.parametrize("name", bounds.__all__)
def test_a_result_of_a_source_is_on_a_page_of_the_theory(name):
    """Other functions say in their own References what they are from."""
    listed = {address.rpartition(".")[2] for _, objects, _ in ROWS for address in objects}
    doc = inspect.getdoc(getattr(bounds, name))
    assert name in listed if cited(doc) else name in listed or "\nReferences\n" in doc


@pytest.mark.parametrize("name", TABLE)
def test_what_is_not_a_number_is_refused(name):
    function, valid = function_of(name), TABLE[name].valid
    parameters = inspect.signature(function).parameters
    for key in numbers_of(name):
        others = [one for one in NOT_A_NUMBER if one != np.inf or key not in TABLE[name].infinite]
        if key not in TABLE[name].negative:
            others += [-1, -0.5]
        if parameters[key].default is not None:
            others.append(None)
        for other in others:
            with pytest.raises(ValueError):
                function(**{**valid, key: replaced(valid[key], other)})


def has_nan(value):
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, tuple) else ()
    if parts:
        return any(has_nan(part) for part in parts)
    return value is not None and bool(np.isnan(np.asarray(value, dtype=np.float64)).any())


@pytest.mark.parametrize("name", TABLE)
def test_extreme_numbers_give_a_number_or_a_value_error(name):
    """No NaN, no warning, and no error of another kind, for any two arguments at once."""
    function, valid = function_of(name), TABLE[name].valid
    keys = [key for key in numbers_of(name) if key not in TABLE[name].slow]
    calls = [({key: other}) for key in keys for other in EXTREME]
    for pair in combinations(keys, 2):
        calls += [dict(zip(pair, others)) for others in product(EXTREME, repeat=2)]
    for call in calls:
        changed = {key: replaced(valid[key], other) for key, other in call.items()}
        try:
            value = function(**{**valid, **changed})
        except ValueError:
            continue
        assert not has_nan(value), changed


def of_probabilities():
    """Rows whose functions say that they return at most 1: a probability, an error, a share."""
    for row in TABLE:
        returns = inspect.getdoc(function_of(row)).partition("Returns\n")[2].partition("\n\n")[0]
        if re.search(r"at most 1\b|in \[0, 1\]", returns):
            yield row


@pytest.mark.parametrize("row", of_probabilities())
def test_bounds_of_probabilities_are_at_most_1_where_they_say_nothing(row):
    """One rule for all: for few rows, small delta, many members, and any other extreme number."""
    function, valid = function_of(row), TABLE[row].valid
    keys = [key for key in numbers_of(row) if key not in TABLE[row].slow]
    for key, other in product(keys, [1, 2, 1e-6, 0.999, 50, 10**6, *EXTREME]):
        try:
            value = np.asarray(function(**{**valid, key: replaced(valid[key], other)}))
        except ValueError:
            continue
        assert np.all(value <= 1), (key, other)


def test_bounds_that_say_nothing():
    """Each of these exceeded 1, or was below the least edge, in the theorem's own formula."""
    assert bounds.interval_stump_edge_bound(3) == -0.5
    assert bounds.adaboost_generalization_bound(100, 50, 2) == 1
    assert bounds.voting_generalization_bound(100, [3]) == 1
    assert bounds.weighted_voting_generalization_bound(100, 3, 2) == 1
    assert bounds.stump_generalization_bound(10, 2) == 1
    np.testing.assert_array_equal(bounds.vc_excess_risk_bound([10, 20], 3), 1)
    assert bounds.histogram_class_bound(2.0, 1, 1, 0.5) == 1
    assert bounds.independent_neighbors_vote_bound(10, 1, 2, 1) == 1
    assert bounds.massart_boosting_error_bound(0.2, margin=0.01, smoothness=0.01, tol=9.0) == 1
    assert bounds.agnostic_boosting_error_bound(1, optimum=0.2) == 1
    assert len(list(of_probabilities())) > 20


@pytest.mark.parametrize("name", TABLE)
def test_arrays_are_refused_where_one_entry_is(name):
    """Where an argument broadcasts, an array with one bad entry is refused as the entry is."""
    function, valid = function_of(name), TABLE[name].valid
    for key in numbers_of(name):
        if np.ndim(valid[key]):
            continue
        try:
            function(**{**valid, key: [valid[key], valid[key]]})
        except ValueError:
            continue
        for other in NOT_A_NUMBER:
            if other == np.inf and key in TABLE[name].infinite:
                continue
            with pytest.raises(ValueError):
                function(**{**valid, key: [valid[key], other]})


NOTICED = [(name, test) for name, row in TABLE.items() for test in row.noticed_by]
BY_HAND = [name for name, row in TABLE.items() if row.value is not None]


@pytest.mark.parametrize("name", BY_HAND)
def test_the_value_of_the_call_is_the_one_worked_out_by_hand(name):
    value = function_of(name)(**TABLE[name].valid)
    np.testing.assert_allclose(value, TABLE[name].value, rtol=1e-9)


@pytest.mark.parametrize(("name", "test"), NOTICED, ids=[f"{n}-{test}" for n, test in NOTICED])
def test_a_constant_wrong_by_five_percent_is_noticed(name, test, monkeypatch):
    """A test that passes without the change calls the function as `bounds.name`, and fails."""
    function = function_of(name)
    calls = []

    def mutated(*args, **kwargs):
        calls.append(args)
        value = function(*args, **kwargs)
        if isinstance(value, tuple):
            return tuple(1.05 * np.asarray(part) for part in value)
        return 1.05 * np.asarray(value)

    monkeypatch.setattr(bounds, name.partition(":")[0], mutated)
    file, _, test_name = test.partition("::")
    with pytest.raises(AssertionError):
        getattr(importlib.import_module(f".{file}", __package__), test_name)()
    assert calls


def test_the_value_of_every_function_that_returns_numbers_is_known():
    others = {"gauge", "is_classification_calibrated", "matching_pursuit_kappa_bracket"}
    unknown = {name for name, row in TABLE.items() if not row.noticed_by and row.value is None}
    assert unknown == others
