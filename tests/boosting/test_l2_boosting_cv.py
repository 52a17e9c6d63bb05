"""L2-boosting of stumps: the number of rounds by cross-validation."""

import numpy as np
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    PredefinedSplit,
    RepeatedKFold,
    ShuffleSplit,
    TimeSeriesSplit,
    cross_val_score,
)

from sklearn_ensemble_theory import L2BoostingRegressor, LogitBoostClassifier
from sklearn_ensemble_theory.boosting import CVRounds

from ..surroundings import fold_numbers
from .additive_data import cv_path
from .l2_boosting_data import PLAIN, additive_data, quantile_edges


@pytest.mark.parametrize(
    "folds",
    [
        KFold(4, shuffle=True, random_state=0),
        TimeSeriesSplit(4),
        ShuffleSplit(4, random_state=0),
        RepeatedKFold(n_splits=2, n_repeats=2, random_state=0),
    ],
    ids=lambda cv: type(cv).__name__,
)
def test_cv_path_is_that_of_refits(folds):
    X, y = additive_data()
    edges = quantile_edges(X, 16)
    model = L2BoostingRegressor(
        CVRounds(folds, max_estimators=400),
        learning_rate=0.1,
        max_bins=edges,
        **PLAIN,
    ).fit(X, y)
    assert cv_path(model).shape == (401, 4)
    for n_rounds in (1, 2, 50, model.n_estimators_, 400):
        refit = clone(model).set_params(n_estimators=n_rounds)
        scores = cross_val_score(refit, X, y, cv=folds, scoring="neg_mean_squared_error")
        np.testing.assert_allclose(cv_path(model)[n_rounds], -scores, rtol=1e-9)
    assert model.n_estimators_ == cv_path(model).mean(axis=1).argmin()
    alone = clone(model).set_params(n_estimators=model.n_estimators_).fit(X, y)
    np.testing.assert_allclose(model.predict(X), alone.predict(X), atol=1e-12)
    for fold, (train, test) in enumerate(folds.split(X)):
        variance = np.mean((y[test] - y[train].mean()) ** 2)
        assert cv_path(model)[0, fold] == pytest.approx(variance)
    assert not hasattr(alone, "cv_results_")
    assert not hasattr(model.set_params(n_estimators=3).fit(X, y), "cv_results_")


def test_weighted_cv_path_with_rows_never_held_out():
    X, y = additive_data()
    rng = np.random.default_rng(7)
    weight = rng.exponential(size=len(y)) * (rng.random(len(y)) < 0.8)
    number = rng.integers(-1, 3, len(y))
    model = L2BoostingRegressor(
        CVRounds(PredefinedSplit(number), max_estimators=200),
        learning_rate=0.1,
        max_bins=quantile_edges(X, 10),
        smoothing_rounds=0,
    ).fit(X, y, weight)
    for fold in range(3):
        train, test = number != fold, number == fold
        refit = clone(model).set_params(n_estimators=200)
        refit.fit(X[train], y[train], weight[train])
        for n_rounds, prediction in zip(range(1, 201), refit.staged_predict(X[test])):
            error = np.average((y[test] - prediction) ** 2, weights=weight[test])
            assert cv_path(model)[n_rounds, fold] == pytest.approx(error, rel=1e-9)


def test_path_of_a_fold_that_is_learned_before_the_end():
    X = np.tile(np.arange(6.0), 4)[:, None]
    y = (X[:, 0] > 2.5).astype(float)
    model = L2BoostingRegressor(
        CVRounds(4, max_estimators=50), learning_rate=1.0, smoothing_rounds=0
    )
    path = cv_path(model.fit(X, y))
    assert path.shape == (51, 4)
    np.testing.assert_allclose(path[1:], 0, atol=1e-14)
    assert model.n_estimators_ == 1


@pytest.mark.parametrize("classify", [False, True])
def test_an_integer_draws_folds_and_a_splitter_is_taken_as_it_is(classify):
    """The same for a table in any order of its rows, as far as y tells these apart."""
    X, y = additive_data(n=120)
    model = LogitBoostClassifier if classify else L2BoostingRegressor
    model = model(
        CVRounds(max_estimators=30), learning_rate=0.1, max_bins=16, interactions=[(0, 1)]
    )
    target = np.where(y > 1, "yes", "no") if classify else y
    fitted = clone(model).set_params(n_estimators__cv=4).fit(X, target)
    again = clone(fitted).fit(X, target)
    np.testing.assert_array_equal(cv_path(again), cv_path(fitted))
    for order in (np.argsort(y), np.argsort(X[:, 0])):
        other = clone(fitted).fit(X[order], target[order])
        if classify:  # rows of a class are told apart by their order alone
            change = other.predict_proba(X) - fitted.predict_proba(X)
            assert 0 < np.abs(change).mean() < 0.05
            continue
        np.testing.assert_allclose(other.predict(X), fitted.predict(X), rtol=0, atol=1e-10)
        for one, two in zip(other.shape_standard_errors_, fitted.shape_standard_errors_):
            np.testing.assert_allclose(one, two, rtol=0, atol=1e-10)
    # The folds are those of a list, of about the same size, and not those of consecutive rows.
    folds, n_splits = fold_numbers(4, X, target, classifier=classify)
    listed = [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(n_splits)]
    assert np.ptp([len(test) for _, test in listed]) <= 1
    by_list = cv_path(clone(model).set_params(n_estimators__cv=listed).fit(X, target))
    np.testing.assert_array_equal(by_list, cv_path(fitted))
    consecutive = clone(model).set_params(n_estimators__cv=KFold(4)).fit(X, target)
    assert not np.array_equal(cv_path(consecutive), cv_path(fitted))


def test_drawn_folds_are_unrelated_to_x_and_y_and_stratify_classes():
    rng = np.random.default_rng(0)
    y = np.sort(rng.standard_normal(5000))
    folds, _ = fold_numbers(5, y[:, None], y)
    for lag in (1, 2, 5):
        pairs = np.bincount(5 * folds[lag:].astype(int) + folds[:-lag], minlength=25)
        assert stats.chisquare(pairs).pvalue > 1e-3
    labels = np.repeat(["a", "b", "c"], [7, 100, 893])
    folds, _ = fold_numbers(5, y[:1000, None], labels, classifier=True)
    for label in "abc":
        assert np.ptp(np.bincount(folds[labels == label])) <= 1
    with pytest.raises(ValueError, match="n_splits=5 greater than the number of samples"):
        fold_numbers(5, y[:3, None], y[:3])


def test_rows_of_weight_0_are_in_no_fold_of_an_integer():
    X, y = additive_data(n=120)
    weight = np.random.default_rng(3).integers(0, 3, len(y)).astype(float)
    weight[:40] = 0  # a whole fold of all the rows
    kept = np.flatnonzero(weight)
    model = L2BoostingRegressor(CVRounds(3, max_estimators=50), learning_rate=0.1)
    weighted = clone(model).fit(X, y, sample_weight=weight)
    dropped = clone(model).fit(X[kept], y[kept], sample_weight=weight[kept])
    np.testing.assert_allclose(cv_path(weighted), cv_path(dropped), rtol=1e-12)
    np.testing.assert_allclose(weighted.predict(X), dropped.predict(X), rtol=1e-12)


def test_folds_by_groups():
    X, y = additive_data(n=120)
    model = L2BoostingRegressor(CVRounds(max_estimators=100), learning_rate=0.1)
    groups = np.arange(120) // 10
    splits = list(GroupKFold(4).split(X, y, groups))
    by_group = clone(model).set_params(n_estimators__cv=splits).fit(X, y)
    number = np.zeros(120, dtype=int)
    for fold, (_, test) in enumerate(splits):
        number[test] = fold
    predefined = clone(model).set_params(n_estimators__cv=PredefinedSplit(number)).fit(X, y)
    np.testing.assert_array_equal(cv_path(by_group), cv_path(predefined))


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        ([([0, 1], [2, 999])], "out of bounds for X with 40 rows"),
        (PredefinedSplit([0] * 20 + [-1] * 20), "has no weight to train or to test on"),
    ],
)
def test_bad_folds_are_refused(cv, message):
    X, y = additive_data(n=40)
    weight = None
    if isinstance(cv, PredefinedSplit):  # which then trains on no row
        weight = (np.arange(40) < 20).astype(float)
    model = L2BoostingRegressor(CVRounds(cv))
    with pytest.raises(ValueError, match=message):
        model.fit(X, y, weight)
    with pytest.raises(NotFittedError):
        model.predict(X)


@pytest.mark.parametrize("n_rows", [1, 2, 3, 7])
def test_few_rows_have_few_folds(n_rows):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((n_rows, 2)), rng.standard_normal(n_rows)
    model = L2BoostingRegressor().fit(X, y)
    assert hasattr(model, "cv_results_") == (n_rows > 1)
    if n_rows > 1:
        assert cv_path(model).shape[1] == min(n_rows, 5)
    same = L2BoostingRegressor().fit(X, np.full(n_rows, 3.0))
    np.testing.assert_allclose(same.predict(X), 3.0)
    if n_rows > 2:  # a class of a single row
        labels = np.minimum(np.arange(n_rows), 2)
        p = LogitBoostClassifier().fit(X, labels).predict_proba(X)
        np.testing.assert_allclose(p.sum(axis=1), 1)


@pytest.mark.parametrize("size", [1, 2, 3, 20])
def test_chunks_of_few_rows_fill_all_folds(size):
    X, y = additive_data(n=40)
    for model, target in (
        (L2BoostingRegressor(n_estimators=CVRounds(max_estimators=50), learning_rate=0.1), y),
        (LogitBoostClassifier(n_estimators=CVRounds(max_estimators=50), learning_rate=0.1), y > 0),
    ):
        classes = {} if isinstance(model, L2BoostingRegressor) else {"classes": [False, True]}
        for start in range(0, 40, size):
            chunk = slice(start, start + size)
            model.partial_fit(X[chunk], target[chunk], refit=start + size >= 40, **classes)
        assert cv_path(model).shape[1] == 5


def test_folds_are_those_of_one_of_both():
    X, y = additive_data(n=60)
    model = L2BoostingRegressor(CVRounds(cv=3, max_estimators=20), learning_rate=0.1)
    assert cv_path(clone(model).fit(X, y)).shape[1] == 3
    assert cv_path(clone(model).set_params(cv=3).fit(X, y)).shape[1] == 3
    assert cv_path(clone(model).set_params(n_estimators="cv", cv=4).fit(X, y)).shape[1] == 4
    again = clone(model).set_params(n_estimators=model.fit(X, y).n_estimators_, cv=3).fit(X, y)
    np.testing.assert_allclose(again.predict(X), model.predict(X), rtol=1e-9)
    with pytest.raises(ValueError, match=r"cv=7 and n_estimators=CVRounds\(cv=3\) are different"):
        model.set_params(cv=7).fit(X, y)
