"""Additive models whose rounds are chosen by splits that are no folds: of series, or shuffled."""

import numpy as np
import pytest
from scipy.sparse import csc_array
from sklearn.base import clone
from sklearn.model_selection import GroupShuffleSplit, KFold, ShuffleSplit, TimeSeriesSplit

from sklearn_ensemble_theory import (
    AdditiveBoostingRegressor,
    L2BoostingRegressor,
    LogitBoostClassifier,
)
from sklearn_ensemble_theory.boosting import CVRounds

from .additive_data import cv_path

N = 240


def rows():
    rng = np.random.default_rng(0)
    X = rng.random((N, 3))
    score = np.sin(6 * X[:, 0]) + X[:, 1]
    return X, score + 0.3 * rng.standard_normal(N), rng.random(N)


def target_of(model, y):
    if isinstance(model, LogitBoostClassifier):
        return np.digitize(y, [0.2, 1.0] if model.exclude is not None else [0.6])
    return np.floor(np.exp(y)) if model.loss == "poisson" else y


MODELS = {
    "squares": L2BoostingRegressor(max_bins=16),
    "counts": AdditiveBoostingRegressor(loss="poisson", max_bins=16),
    "medians": AdditiveBoostingRegressor(loss="absolute_error", max_bins=16),
    "two classes": LogitBoostClassifier(max_bins=16),
    "three classes": LogitBoostClassifier(max_bins=16, exclude=[2]),
}
every_model = pytest.mark.parametrize("name", MODELS)


def by(model, cv, **options):
    rounds = CVRounds(cv, max_estimators=60)
    return clone(model).set_params(n_estimators=rounds, learning_rate=0.1, **options)


@every_model
@pytest.mark.parametrize("weighted", [False, True])
def test_folds_that_are_repeated_choose_what_they_choose_once(name, weighted):
    """Each split by itself, and all folds from the same sums, are two ways to the same losses."""
    X, y, weight = rows()
    model = MODELS[name]
    y, weight = target_of(model, y), weight if weighted else None
    splits = list(KFold(4, shuffle=True, random_state=0).split(X))
    once = by(model, splits, interactions=0).fit(X, y, weight)
    twice = by(model, [*splits, *splits]).fit(X, y, weight)
    assert cv_path(twice).shape[1] == 8
    np.testing.assert_allclose(cv_path(twice)[:, :4], cv_path(once), rtol=1e-7)
    np.testing.assert_allclose(cv_path(twice)[:, 4:], cv_path(once), rtol=1e-7)
    assert twice.n_estimators_ == once.n_estimators_
    assert twice.n_smoothing_rounds_ == once.n_smoothing_rounds_
    scores = "predict" if hasattr(model, "loss") else "decision_function"
    np.testing.assert_allclose(getattr(twice, scores)(X), getattr(once, scores)(X), rtol=1e-6)


@every_model
@pytest.mark.parametrize("cv", [TimeSeriesSplit(3), ShuffleSplit(3, random_state=0)], ids=str)
def test_a_number_passed_back_gives_the_model(name, cv):
    X, y, _ = rows()
    model = MODELS[name]
    y = target_of(model, y)
    chosen = by(model, cv).fit(X, y)
    assert chosen.n_estimators_ == cv_path(chosen).mean(axis=1).argmin()
    again = clone(model).set_params(n_estimators=chosen.n_estimators_, learning_rate=0.1, cv=cv)
    again.fit(X, y)
    np.testing.assert_array_equal(again.predict(X), chosen.predict(X))
    sparse = by(model, cv).fit(csc_array(X), y)
    np.testing.assert_array_equal(sparse.predict(X), chosen.predict(X))


def test_later_rows_decide_nothing_of_a_split():
    """A split of a series does not see the rows after those that it tests on."""
    X, y, _ = rows()
    edges = [np.linspace(0.1, 0.9, 9)] * 3
    model = by(L2BoostingRegressor(max_bins=edges, smoothing_rounds=0), TimeSeriesSplit(3))
    path = cv_path(model.fit(X, y))
    y[-1] += 100.0
    changed = cv_path(model.fit(X, y))
    np.testing.assert_allclose(changed[:, :2], path[:, :2], rtol=1e-9)
    assert changed[0, 2] > path[0, 2] + 1


def test_rows_of_weight_0_and_shuffled_groups():
    X, y, weight = rows()
    weight[::3] = 0
    kept, groups = np.flatnonzero(weight), np.arange(N) // 8
    cv = GroupShuffleSplit(4, random_state=0)
    splits = list(cv.split(X, y, groups))
    place = np.cumsum(weight > 0) - 1
    own = [tuple(place[part[weight[part] > 0]] for part in split) for split in splits]
    model = L2BoostingRegressor(max_bins=16)
    by_groups = by(model, cv).fit(X, y, weight, groups=groups)
    by_splits = by(model, own).fit(X[kept], y[kept], weight[kept])
    np.testing.assert_allclose(cv_path(by_groups), cv_path(by_splits), rtol=1e-9)


def test_what_needs_folds():
    X, y, _ = rows()
    splits = TimeSeriesSplit(3)
    plain = by(L2BoostingRegressor(), splits).fit(X, y)
    assert all(len(term) == 1 for term in plain.term_features_)
    for interactions in (1, "auto", [(0, 1)]):
        with pytest.raises(ValueError, match=r"interactions=.* requires splits that train on"):
            by(L2BoostingRegressor(), splits, interactions=interactions).fit(X, y)
    with pytest.raises(ValueError, match="Split 0 of cv must train on exactly the rows"):
        by(L2BoostingRegressor(), splits, held_out="cv").fit(X, y)
    for model in (L2BoostingRegressor(), LogitBoostClassifier()):
        target = target_of(model, y) if isinstance(model, LogitBoostClassifier) else y
        given = {"classes": [0, 1]} if isinstance(model, LogitBoostClassifier) else {}
        with pytest.raises(ValueError, match="partial_fit requires splits that train on exactly"):
            by(model, splits).partial_fit(X, target, **given)
