"""Splits of `cv` that no estimator can use, and folds by a hash of the row's number."""

import numpy as np
import pytest
from scipy import stats
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GroupKFold, ShuffleSplit

from sklearn_ensemble_theory import (
    FrankWolfeRegressor,
    GradientBoostingRegressor,
    L2BoostingRegressor,
    LinearL2BoostingRegressor,
    MatchingPursuitRegressor,
    StackingRegressor,
    VotingRegressor,
)
from sklearn_ensemble_theory.boosting import CVChoice, CVRounds

from .surroundings import folds_by_hash

X = np.linspace(-1.0, 1.0, 12)[:, None]
y = X[:, 0] ** 2
ESTIMATORS = [
    FrankWolfeRegressor(radius=CVChoice()),
    L2BoostingRegressor(CVRounds()),
    LinearL2BoostingRegressor(time=CVChoice()),
    MatchingPursuitRegressor(CVRounds()),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
@pytest.mark.parametrize(
    ("splits", "message"),
    [
        ([], "cv must yield at least one split"),
        ([([0, 1, 2], [])], "has no weight to train or to test on"),
        ([([0, 1, 2], [12])], "out of bounds for X with 12 rows"),
    ],
)
def test_unusable_splits_are_refused(estimator, splits, message):
    names = {"radius__cv", "time__cv", "n_estimators__cv", "cv"} & set(estimator.get_params())
    estimator.set_params(**dict.fromkeys(names, splits))
    with pytest.raises(ValueError, match=message):
        estimator.fit(X, y)
    assert not estimator.__sklearn_is_fitted__()


def of_votes(splits):
    return VotingRegressor([("line", LinearRegression())], held_out=splits)


def of_boosting(splits):
    return GradientBoostingRegressor(n_estimators=2, held_out=splits)


@pytest.mark.parametrize("model", [of_votes, of_boosting])
@pytest.mark.parametrize(
    ("splits", "message"),
    [
        (13, "held_out"),
        ([], "held_out must yield at least one split"),
        (GroupKFold(3), "held_out=GroupKFold splits by groups"),
        ([([0, 1, 2], [12])], "Split 0 of held_out has row indices that are out of bounds"),
        ([([0, 1, 2], [])], "Split 0 of held_out has no weight"),
        ([([0, 1, 2],)], "held_out must"),
    ],
)
def test_the_message_names_the_parameter_of_the_splits(model, splits, message):
    with pytest.raises(ValueError, match=message):
        model(splits).fit(X, y)


@pytest.mark.parametrize(
    ("splits", "message"),
    [
        (ShuffleSplit(3, random_state=0), "held_out requires splits that test on each row once"),
        ([(np.arange(6), np.arange(6, 12))], "held_out requires splits that test on each row once"),
        (
            [(np.arange(5), np.arange(6, 12)), (np.arange(6, 12), np.arange(6))],
            "Split 0 of held_out must train on exactly the rows",
        ),
    ],
)
def test_boosting_needs_a_partition_and_votes_do_not(splits, message):
    with pytest.raises(ValueError, match=message):
        of_boosting(splits).fit(X, y)
    of_votes(splits).fit(X, y)


@pytest.mark.parametrize(
    "estimator",
    [
        VotingRegressor([("line", LinearRegression())], held_out="prefit"),
        StackingRegressor([("line", LinearRegression())], cv="prefit"),
    ],
)
def test_a_member_that_is_not_fitted_is_named(estimator):
    with pytest.raises(NotFittedError, match="=\"prefit\" takes fitted members, and 'line'"):
        estimator.fit(X, y)


# Folds by a hash


def test_folds_are_uniform_and_unrelated_to_those_of_neighbours():
    folds = folds_by_hash(np.arange(50_000), 5).astype(int)
    assert stats.chisquare(np.bincount(folds)).pvalue > 1e-3
    for lag in (1, 2, 5):
        pairs = np.bincount(5 * folds[lag:] + folds[:-lag], minlength=25)
        assert stats.chisquare(pairs).pvalue > 1e-3


def test_folds_depend_on_the_number_of_the_row_alone():
    rows = np.arange(1000)
    parts = [folds_by_hash(rows[a:b], 7) for a, b in ((0, 10), (10, 700), (700, 1000))]
    np.testing.assert_array_equal(np.concatenate(parts), folds_by_hash(rows, 7))
