"""Units, order and names do not matter, except where `equivariances.TABLE` says why they do."""

import re

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

import sklearn_ensemble_theory as package

from ..estimators import estimator_classes, make, named
from .equivariances import (
    CLOSE,
    EXACT,
    EXCEPTIONS,
    TABLE,
    Changes,
    claims_of,
    data_for,
    distance,
    outputs,
)

CLASSES = estimator_classes()
# The weights of members that are nearly the same have a flat optimum: rounding moves them further.
WITH_FLAT_OPTIMUM = dict.fromkeys(["SuperLearnerClassifier", "SuperLearnerRegressor"], 1e-7)
# Data sets on which a relation that is said not to hold is tried: one is enough to break it.
SEEDS = range(10)


@pytest.mark.parametrize("cls", CLASSES, ids=lambda c: c.__name__)
def test_equivariances(cls):
    claims = claims_of(cls.__name__, make(cls))
    changes = Changes(cls, {}, SEEDS[0])
    wrong = []
    for transformation, claim in claims.items():
        try:
            worst = max(map(distance, changes.of(transformation)))
        except (TypeError, ValueError, UserWarning) as error:  # by name: not the same predictions
            assert re.search("sample_weight|Sparse data was passed|rows are copies", str(error))
            worst = np.inf
        if claim in (EXACT, CLOSE):
            close = WITH_FLAT_OPTIMUM.get(cls.__name__, 1e-10)
            if worst > (0.0 if claim == EXACT else close):
                wrong.append(f"{transformation}: {worst:.0e}, but the table says {claim}")
        elif worst < 1e-10 and not _breaks_elsewhere(cls, transformation):
            wrong.append(f"{transformation}: holds, but the table says {claim!r}")
    assert not wrong, wrong


@pytest.mark.slow
@pytest.mark.parametrize("cls", CLASSES, ids=lambda c: c.__name__)
def test_equivariances_of_more_data(cls):
    claims = claims_of(cls.__name__, make(cls))
    limits = {EXACT: 0.0, CLOSE: 1e-9}  # of some fits in ten
    for seed in range(3, 10):
        changes = Changes(cls, {}, seed)
        for transformation in (name for name, claim in claims.items() if claim in limits):
            worst = max(map(distance, changes.of(transformation)))
            assert worst <= limits[claims[transformation]], (seed, transformation, worst)


def _breaks_elsewhere(cls, transformation):
    others = (Changes(cls, {}, seed).of(transformation) for seed in SEEDS[1:])
    return any(distance(change) > 1e-10 for each in others for change in each)


def test_the_table_has_no_other_entries():
    assert list(TABLE) == [cls.__name__ for cls in CLASSES]
    assert EXCEPTIONS.keys() <= TABLE.keys()


def test_an_estimator_without_an_entry():
    with pytest.raises(AssertionError, match=r"Add TABLE\['Unknown'\].*rows_permuted.*reason"):
        claims_of("Unknown", package.DecisionStumpRegressor())


# The relations that defaults break hold with these parameters.
TIES = ["columns_permuted", "rows_permuted", "repeated_rows"]
WHERE_THEY_HOLD = [
    ("BinnedTreeRegressor", {"max_leaf_nodes": 6}, TIES),
    ("GradientBoostingRegressor", {"max_depth": 1}, TIES),
    ("GradientBoostingClassifier", {"max_depth": 1}, TIES),
    ("HistogramClassifier", {"n_bins": 3}, ["repeated_rows"]),
    ("HistogramRegressor", {"n_bins": 3}, ["repeated_rows"]),
    (
        "RandomForestRegressor",
        {"bootstrap": False, "max_features": None, "max_depth": 2},
        [*TIES, "unit_weights"],
    ),
    (
        "StackingRegressor",
        {"final_estimator": LinearRegression()},
        ["y_times_4", "y_times_3", "weights_by_powers", "weights_times_3"],
    ),
]


@pytest.mark.parametrize(("name", "params", "relations"), WHERE_THEY_HOLD)
def test_parameters_with_which_they_hold(name, params, relations):
    changes = Changes(named(name), params, 0)
    for transformation in relations:
        assert max(map(distance, changes.of(transformation))) < 1e-10, transformation
        assert TABLE[name][transformation] not in (EXACT, CLOSE) or transformation in TIES


@pytest.mark.parametrize("factor", [4.0, 0.3])
def test_the_radius_of_a_ball_is_in_units_of_y(factor):
    data = data_for(package.FrankWolfeRegressor(), 0)
    expected = outputs(package.FrankWolfeRegressor(radius=2.0), data)[0]
    scaled = data._replace(y=factor * data.y)
    found = outputs(package.FrankWolfeRegressor(radius=2.0 * factor), scaled)[0]
    np.testing.assert_allclose(found, factor * expected, rtol=1e-10, atol=1e-10)
