"""Odd arguments of public functions and of methods after a fit are refused by name, or do no harm.

A hundred calls of each kind in each run, a thousand more in the daily one, and three thousand with
`pytest -m fuzz`. The seed of the last is the environment variable FUZZ_SEED (default: 0).
"""

import inspect
import os

import numpy as np
import pytest
from sklearn import config_context
from sklearn.linear_model import Ridge

from sklearn_ensemble_theory import (
    BaggingRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
    bounds,
    datasets,
)
from sklearn_ensemble_theory._signatures import OTHERS, with_checked_arguments
from tests.estimators import estimator_classes, make

from . import odd_calls

KINDS = ("functions", "methods")


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path, monkeypatch):
    """An odd text may be the name of a file that a method writes."""
    monkeypatch.chdir(tmp_path)


# Of 3,000 calls, and of each thousand of them.
WHOLE, PART = 3000, 750


def check(kind, seed, numbers):
    _, violations = odd_calls.run(kind, seed, numbers)
    assert not violations, "\n".join(odd_calls.described(*each) for each in violations)


@pytest.mark.parametrize("kind", KINDS)
def test_odd_calls(kind):
    check(kind, 1, range(PART))


@pytest.mark.fuzz
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("start", range(0, WHOLE, PART))
def test_many_odd_calls(kind, start):
    check(kind, int(os.environ.get("FUZZ_SEED", "0")), range(start, start + PART))


@pytest.mark.filterwarnings("ignore::sklearn_ensemble_theory.averaging.StandardErrorWarning")
@pytest.mark.parametrize("name", odd_calls.CALLS)
def test_the_valid_calls_are_valid(name):
    if name == "export.onnx":
        pytest.importorskip("onnx")
    function = odd_calls.functions()[name.partition(":")[0]]
    assert not odd_calls.has_nan(odd_calls.call(function, odd_calls.CALLS[name]()))


REFUSED = {
    "a bool for a count": (lambda: datasets.make_tent(True), "n_samples must be an integer"),
    "a number for a switch": (
        lambda: datasets.make_sine_regression(3, return_mean=1),
        "return_mean must be True or False; got 1",
    ),
    "a time for a count": (
        lambda: datasets.make_tent(np.timedelta64(3, "D")),
        "n_samples must be an integer",
    ),
    "a number for rows": (lambda: datasets.twonorm_bayes_rule(3.0), "2D array"),
    "an integer beyond all floats": (
        lambda: datasets.ringnorm_bayes_error(10**400),
        r"n_features must be below 2\*\*1023",
    ),
    "a sum that takes too long": (
        lambda: bounds.voting_vc_dimension_bound(2**64 - 1),
        "vc_dimensions must add up to at most 10_000_000",
    ),
    "complex numbers": (lambda: bounds.adaboost_coefficient(0.1j), "error must be a number"),
    "text": (lambda: bounds.adaboost_coefficient("0.1"), "error must be a number"),
    "a bool for a number": (lambda: bounds.adaboost_coefficient(True), "error must be a number"),
    "text for a seed": (
        lambda: datasets.make_tent(3, random_state="0"),
        "random_state must be an integer, a RandomState or None; got '0'",
    ),
    "shapes": (
        lambda: bounds.uniform_deviation_bound([0.1, 0.2], [3, 4, 5]),
        "complexity, n_samples.* do not fit",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case):
    call, message = REFUSED[case]
    with pytest.raises(ValueError, match=message):
        call()


def test_scalars_of_numpy_do_not_overflow():
    for name in (np.uint8, np.int16, np.uint64):
        assert bounds.stump_vc_dimension(name(200)) == bounds.stump_vc_dimension(200)
    found = bounds.adaboost_generalization_bound(np.uint32(10**6), np.uint8(20), np.int8(2))
    assert found == bounds.adaboost_generalization_bound(10**6, 20, 2)


def test_the_door_of_a_function():
    def function(n: int, share: float = 0.5, *, quick: bool = False, other: str = "a"):
        return n, share, quick, other

    checked = with_checked_arguments(function)
    assert checked(np.int8(3), 1, quick=np.True_) == (3, 1, True, "a")
    assert type(checked(np.int8(3), np.float32(0.5))[1]) is float
    for call in (
        lambda: checked(3.0),
        lambda: checked(n=False),
        lambda: checked(3, "a"),
        lambda: checked(3, quick=0),
        lambda: checked(3, quick=None),
    ):
        with pytest.raises(TypeError, match="must be"):
            call()
    with pytest.raises(TypeError, match="missing"):
        checked()
    assert with_checked_arguments(checked) is checked
    assert with_checked_arguments(test_scalars_of_numpy_do_not_overflow) is (
        test_scalars_of_numpy_do_not_overflow
    )


ROWS = np.random.default_rng(0).random((40, 2))
UNKNOWN = {
    "of another library": (
        lambda: RandomForestRegressor(5).fit(ROWS, ROWS[:, 0]).predict_interval(ROWS, alpha=0.1),
        r"RandomForestRegressor.predict_interval\(\) .* 'alpha'; use coverage, which is 1 - alpha",
    ),
    "of no library": (
        lambda: RandomForestRegressor(5).fit(ROWS, ROWS[:, 0]).standard_error(ROWS, how="a"),
        r"RandomForestRegressor.standard_error\(\) .* 'how'; it has X, method",
    ),
    "fit": (
        lambda: HistGradientBoostingRegressor().fit(ROWS, ROWS[:, 0], eval_set=[]),
        r"HistGradientBoostingRegressor.fit\(\) .* 'eval_set'; use X_val and y_val",
    ),
    "fit with keywords of the base learner": (
        lambda: GradientBoostingRegressor().fit(ROWS, ROWS[:, 0], exposure=ROWS[:, 0]),
        r"GradientBoostingRegressor.fit\(\) .* 'exposure'; use offset=np.log\(exposure\)",
    ),
}


@pytest.mark.parametrize("case", UNKNOWN)
def test_unknown_keywords_are_refused_by_the_name_of_the_class(case):
    call, message = UNKNOWN[case]
    with pytest.raises(TypeError, match=message):
        call()


def test_keywords_of_a_base_learner_are_routed():
    model = BaggingRegressor(Ridge(), 3, random_state=0)
    with pytest.raises(ValueError, match="enable_metadata_routing"):
        model.fit(ROWS, ROWS[:, 0], alpha=1)
    with config_context(enable_metadata_routing=True), pytest.raises(TypeError, match="alpha"):
        model.fit(ROWS, ROWS[:, 0], alpha=1)


@pytest.mark.parametrize("cls", estimator_classes(), ids=lambda cls: cls.__name__)
def test_every_method_refuses_an_unknown_keyword(cls):
    model = make(cls)
    for name, member in inspect.getmembers(cls, callable):
        if name.startswith(OTHERS) or not hasattr(model, name):
            continue
        if not member.__module__.startswith("sklearn_ensemble_theory"):
            continue
        parameters = inspect.signature(getattr(model, name)).parameters.values()
        if any(one.kind is one.VAR_KEYWORD for one in parameters):
            continue  # they are routed
        with pytest.raises(TypeError, match=rf"^{cls.__name__}\.{name}\(\) got .* 'how'; it has "):
            getattr(model, name)(
                *([ROWS] if "X" in [one.name for one in parameters] else []), how=1
            )
