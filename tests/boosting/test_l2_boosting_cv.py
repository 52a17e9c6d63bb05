"""L2-boosting of stumps: the number of rounds by cross-validation."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    PredefinedSplit,
    ShuffleSplit,
    TimeSeriesSplit,
    cross_val_score,
)

from sklearn_ensemble_theory import L2BoostingRegressor

from .l2_boosting_data import additive_data, quantile_edges


def test_cv_path_is_that_of_refits():
    X, y = additive_data()
    edges = quantile_edges(X, 16)
    folds = KFold(4, shuffle=True, random_state=0)
    model = L2BoostingRegressor(
        "cv",
        cv=folds,
        max_estimators=400,
        learning_rate=0.1,
        bin_edges=edges,
        smoothing_rounds=0,
    ).fit(X, y)
    assert model.cv_path_.shape == (401, 4)
    for n_rounds in (1, 2, 50, model.n_estimators_, 400):
        refit = clone(model).set_params(n_estimators=n_rounds)
        scores = cross_val_score(refit, X, y, cv=folds, scoring="neg_mean_squared_error")
        np.testing.assert_allclose(model.cv_path_[n_rounds], -scores, rtol=1e-9)
    assert model.n_estimators_ == model.cv_path_.mean(axis=1).argmin()
    alone = clone(model).set_params(n_estimators=model.n_estimators_).fit(X, y)
    np.testing.assert_allclose(model.predict(X), alone.predict(X), atol=1e-12)
    for fold, (train, test) in enumerate(folds.split(X)):
        variance = np.mean((y[test] - y[train].mean()) ** 2)
        assert model.cv_path_[0, fold] == pytest.approx(variance)
    assert not hasattr(alone, "cv_path_")
    assert not hasattr(model.set_params(n_estimators=3).fit(X, y), "cv_path_")


def test_weighted_cv_path_with_rows_never_held_out():
    X, y = additive_data()
    rng = np.random.default_rng(7)
    weight = rng.exponential(size=len(y)) * (rng.random(len(y)) < 0.8)
    number = rng.integers(-1, 3, len(y))
    model = L2BoostingRegressor(
        "cv",
        cv=PredefinedSplit(number),
        max_estimators=200,
        learning_rate=0.1,
        bin_edges=quantile_edges(X, 10),
        smoothing_rounds=0,
    ).fit(X, y, weight)
    for fold in range(3):
        train, test = number != fold, number == fold
        refit = clone(model).set_params(n_estimators=200)
        refit.fit(X[train], y[train], weight[train])
        for n_rounds, prediction in zip(range(1, 201), refit.staged_predict(X[test])):
            error = np.average((y[test] - prediction) ** 2, weights=weight[test])
            assert model.cv_path_[n_rounds, fold] == pytest.approx(error, rel=1e-9)


def test_path_of_a_fold_that_is_learned_before_the_end():
    X = np.tile(np.arange(6.0), 4)[:, None]
    y = (X[:, 0] > 2.5).astype(float)
    model = L2BoostingRegressor(
        "cv", learning_rate=1.0, max_estimators=50, cv=4, smoothing_rounds=0
    )
    path = model.fit(X, y).cv_path_
    assert path.shape == (51, 4)
    np.testing.assert_allclose(path[1:], 0, atol=1e-14)
    assert model.n_estimators_ == 1


def test_an_integer_does_not_shuffle_and_a_splitter_may():
    X, y = additive_data(n=120)
    model = L2BoostingRegressor("cv", max_estimators=100, learning_rate=0.1)
    by_count = clone(model).set_params(cv=4).fit(X, y).cv_path_
    np.testing.assert_array_equal(clone(model).set_params(cv=KFold(4)).fit(X, y).cv_path_, by_count)
    shuffled = KFold(4, shuffle=True, random_state=1)
    assert not np.array_equal(clone(model).set_params(cv=shuffled).fit(X, y).cv_path_, by_count)


def test_rows_of_weight_0_are_in_no_fold_of_an_integer():
    X, y = additive_data(n=120)
    weight = np.random.default_rng(3).integers(0, 3, len(y)).astype(float)
    weight[:40] = 0  # a whole fold of all the rows
    kept = np.flatnonzero(weight)
    model = L2BoostingRegressor("cv", max_estimators=50, learning_rate=0.1, cv=3)
    weighted = clone(model).fit(X, y, sample_weight=weight)
    dropped = clone(model).fit(X[kept], y[kept], sample_weight=weight[kept])
    np.testing.assert_allclose(weighted.cv_path_, dropped.cv_path_, rtol=1e-12)
    np.testing.assert_allclose(weighted.predict(X), dropped.predict(X), rtol=1e-12)


def test_folds_by_groups():
    X, y = additive_data(n=120)
    model = L2BoostingRegressor("cv", max_estimators=100, learning_rate=0.1)
    groups = np.arange(120) // 10
    splits = list(GroupKFold(4).split(X, y, groups))
    by_group = clone(model).set_params(cv=splits).fit(X, y)
    number = np.zeros(120, dtype=int)
    for fold, (_, test) in enumerate(splits):
        number[test] = fold
    predefined = clone(model).set_params(cv=PredefinedSplit(number)).fit(X, y)
    np.testing.assert_array_equal(by_group.cv_path_, predefined.cv_path_)


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        (TimeSeriesSplit(3), "must train on exactly the rows that it does not test on"),
        (ShuffleSplit(20, random_state=0), "must not test on a row in more than one split"),
        ([([0, 1], [2, 999])], "out of bounds for X with 40 rows"),
        (41, "n_splits=41"),
        (PredefinedSplit([0] * 20 + [-1] * 20), "has no weight to train or to test on"),
    ],
)
def test_bad_folds_are_refused(cv, message):
    X, y = additive_data(n=40)
    weight = None
    if isinstance(cv, PredefinedSplit):  # which then trains on no row
        weight = (np.arange(40) < 20).astype(float)
    model = L2BoostingRegressor("cv", cv=cv)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y, weight)
    with pytest.raises(NotFittedError):
        model.predict(X)
