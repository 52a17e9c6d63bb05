"""Intervals and sets of additive models against fits to each fold's training rows by hand."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, PredefinedSplit, ShuffleSplit

from sklearn_ensemble_theory import (
    AdditiveBoostingRegressor,
    L2BoostingRegressor,
    LogitBoostClassifier,
)
from sklearn_ensemble_theory.boosting import CVRounds

from ..conformal import conformal_rank, end_of_groups
from .additive_data import cv_path, fold_scores
from .engine import refresh_at
from .l2_boosting_data import additive_data, quantile_edges

X, Y = additive_data(n=120)
NEW = additive_data(n=40, seed=1)[0]
FAST = {"learning_rate": 0.1, "held_out": "cv"}
FOLDED = L2BoostingRegressor(CVRounds(max_estimators=150), **FAST)


def fold_numbers_of(splits, n):
    fold = np.full(n, -1)
    for k, (_, test) in enumerate(splits):
        fold[test] = k
    return fold


def ends_by_sorting(at, below, above, fold, coverage):
    rank = conformal_rank(len(fold), coverage)
    lower = np.sort(at[:, fold] - below, axis=1)[:, -rank]
    upper = np.sort(at[:, fold] + above, axis=1)[:, rank - 1]
    return np.column_stack([lower, upper])


@pytest.mark.parametrize("coverage", [0.5, 0.9, 0.95])
def test_cv_plus_of_refits(coverage):
    edges = quantile_edges(X, 16)
    splits = list(KFold(6, shuffle=True, random_state=0).split(X))
    model = (
        clone(FOLDED)
        .set_params(n_estimators__cv=splits, max_bins=edges, smoothing_rounds=0)
        .fit(X, Y)
    )
    fold, at, own = fold_numbers_of(splits, len(Y)), [], np.empty(len(Y))
    for train, test in splits:
        one = clone(model).set_params(n_estimators=model.n_estimators_, held_out=None)
        one.fit(X[train], Y[train])
        own[test] = one.predict(X[test])
        at.append(one.predict(NEW))
    at, off = np.column_stack(at), Y - own
    size = np.abs(off)
    expected = ends_by_sorting(at, size, size, fold, coverage)
    np.testing.assert_allclose(model.predict_interval(NEW, coverage), expected, rtol=1e-9)
    expected = ends_by_sorting(at, -off, off, fold, coverage)
    for side, other in [("lower", np.inf), ("upper", -np.inf)]:
        found = model.predict_interval(NEW, coverage, side=side)
        column = int(side == "upper")
        np.testing.assert_allclose(found[:, column], expected[:, column], rtol=1e-9)
        assert (found[:, 1 - column] == other).all()
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_interval(NEW), model.predict_interval(NEW))


def mixed_columns():
    x = X.copy()
    x[::7, 1] = np.nan
    x[:, 3] = np.arange(len(x)) % 4
    return x


@pytest.mark.parametrize(
    "params",
    [
        {"categorical_features": [3]},
        {"interactions": [(0, 1), (3, 4)], "categorical_features": [3], "max_bins": 12},
        {"interactions": 2, "monotonic_cst": [0, 0, -1, 0, 0], "max_bins": 12},
        {"n_estimators__cv": PredefinedSplit(np.arange(len(Y)) % 4 - 1)},
    ],
)
def test_residuals_are_those_of_the_path(params):
    """Of missing values, categories and pairs, whose folds' losses the rounds have computed."""
    model = clone(FOLDED).set_params(**params).fit(mixed_columns(), Y)
    rows, path = model.model_.folds.rows, cv_path(model)[model.n_estimators_]
    off = model.model_.folds.scale * rows.scores
    squares = [np.mean(off[rows.fold == k] ** 2) for k in range(len(path))]
    np.testing.assert_allclose(squares, path, rtol=1e-9)
    assert len(rows.scores) == (90 if "n_estimators__cv" in params else 120)
    # The residuals are of the models that predict new rows.
    if "n_estimators__cv" not in params:
        at = fold_scores(model, mixed_columns())
        own = model.model_.folds.scale * at[np.arange(len(Y)), rows.fold] + model.model_.folds.mean
        np.testing.assert_allclose(Y - own, off, rtol=0, atol=1e-12)
    # A bin without training rows of the fold, here that of missing values, has the value 0.
    assert np.isfinite(model.predict_interval(np.full((1, 5), np.nan))).all()


def test_one_split_is_split_conformal():
    model = (
        clone(FOLDED).set_params(n_estimators__cv=[(np.arange(60), np.arange(60, 120))]).fit(X, Y)
    )
    low, high = model.predict_interval(NEW, 0.8).T
    off = model.model_.folds.scale * model.model_.folds.rows.scores
    size = np.sort(np.abs(off))[conformal_rank(60, 0.8) - 1]
    np.testing.assert_allclose(high - low, 2 * size)


def test_groups_are_of_new_groups():
    groups = np.repeat(np.arange(24), 5)
    shuffled = np.random.default_rng(0).permutation(groups)
    weight = np.where(shuffled == 3, 0.0, 1.0)
    model = clone(FOLDED).fit(X, Y, weight, groups=shuffled)
    rows = model.model_.folds.rows
    assert len(rows.scores) == 115
    assert all(len(np.unique(rows.fold[rows.groups == g])) == 1 for g in range(23))
    at, size = fold_scores(model, NEW), np.abs(rows.scores)
    upper = np.array([end_of_groups(a[rows.fold] + size, rows.groups, 0.8) for a in at])
    np.testing.assert_allclose(
        model.predict_interval(NEW, 0.8)[:, 1],
        model.model_.folds.scale * upper + model.model_.folds.mean,
        rtol=1e-12,
    )
    with pytest.warns(UserWarning, match="at least 33 groups of held-out rows, and there are 23"):
        assert np.isinf(model.predict_interval(NEW, 0.97)).all()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_sets_of_classes_by_counting(n_classes, monkeypatch):
    """The folds are nearly refits, whose second derivatives are their own; sets are counts."""
    refresh_at(monkeypatch, 0.02)
    y = np.digitize(Y, [0.5, 1.8][: n_classes - 1])
    labels = np.array([*"abc"])[y]
    splits = list(KFold(5, shuffle=True, random_state=0).split(X))
    model = LogitBoostClassifier(
        CVRounds(splits, max_estimators=150), max_bins=quantile_edges(X, 8), **FAST
    ).fit(X, labels)
    found = model.predict_set(NEW, 0.8)
    fold = fold_numbers_of(splits, len(y))
    scores = fold_scores(model, NEW)
    # The softmax of 0 and a log-odds is that of two classes.
    u = scores if n_classes == 3 else np.stack([0 * scores, scores], axis=2)
    at = np.exp(u) / np.exp(u).sum(axis=2, keepdims=True)
    own = model.model_.folds.rows.scores[:, 0]
    for k, (train, test) in enumerate(splits):
        one = clone(model).set_params(
            n_estimators=max(model.n_estimators_, 1),
            smoothing_rounds=model.n_smoothing_rounds_,
            held_out=None,
        )
        refit = one.fit(X[train], labels[train])
        assert np.abs(refit.predict_proba(NEW) - at[:, k]).mean() < 0.04
        by_refit = refit.predict_proba(X[test])[np.arange(len(test)), y[test]]
        assert np.abs(own[test] - by_refit).mean() < 0.04
        loss = cv_path(model)[model.n_estimators_, k]
        assert -np.log(own[test]).mean() == pytest.approx(loss, rel=1e-2)
    below = (1 - own[:, None, None] < 1 - at[:, fold].swapaxes(0, 1) - 1e-12).sum(axis=0)
    np.testing.assert_array_equal(found, below < 0.8 * 121 - 1e-9)
    # The rows of all calls are kept in bins, and so are their folds.
    monkeypatch.undo()
    chunks = clone(model).set_params(n_estimators__cv=5)
    chunks.partial_fit(X[:60], labels[:60], classes=np.unique(labels))
    chunks.partial_fit(X[60:], labels[60:])
    assert len(chunks.model_.folds.rows.scores) == 120
    assert chunks.predict_set(NEW).shape == (40, n_classes)


@pytest.mark.parametrize("noise", ["normal", "gamma"])
def test_intervals_cover(noise):
    found = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        x = rng.random((1500, 5))
        e = rng.standard_normal(1500) if noise == "normal" else rng.gamma(1.0, size=1500) - 1
        y = 2 * np.sin(6 * x[:, 0]) + 2 * (x[:, 1] > 0.5) + (0.3 + 1.4 * x[:, 3]) * e
        model = L2BoostingRegressor(learning_rate=0.1, held_out="cv").fit(x[:500], y[:500])
        ends = [model.predict_interval(x[500:], side=side) for side in ("both", "lower", "upper")]
        found.append([np.mean((a <= y[500:]) & (y[500:] <= b)) for a, b in (e.T for e in ends)])
    mean = np.mean(found, axis=0)
    assert np.all((mean > 0.885) & (mean < 0.93)), mean


def test_sets_contain_the_class():
    found = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        x = rng.random((1500, 4))
        u = np.column_stack([np.zeros(1500), 3 * x[:, 0] - 1.5, np.sin(6 * x[:, 1])])
        y = (u + rng.gumbel(size=u.shape)).argmax(axis=1)
        model = LogitBoostClassifier(learning_rate=0.1, held_out="cv").fit(x[:500], y[:500])
        found.append(model.predict_set(x[500:])[np.arange(1000), y[500:]].mean())
    assert 0.885 < np.mean(found) < 0.93


@pytest.mark.parametrize("unit", [1e-300, 1e-150, 1e150, 2e307])
def test_units_of_y(unit):
    model, other = clone(FOLDED).fit(X, Y), clone(FOLDED).fit(X, Y * unit)
    np.testing.assert_allclose(
        other.predict_interval(NEW) / unit, model.predict_interval(NEW), rtol=1e-8
    )


def test_a_constant_target():
    model = clone(FOLDED).fit(X, np.full(120, 3.0))
    np.testing.assert_allclose(model.predict_interval(NEW), 3.0)


def test_what_is_refused():
    model = L2BoostingRegressor(20).fit(X, Y)
    assert not hasattr(model, "predict_interval")
    with pytest.raises(AttributeError, match="predict_interval") as error:
        model.predict_interval(NEW)
    assert "held_out" in str(error.value.__cause__)
    model = clone(FOLDED).fit(X, Y)
    with pytest.raises(ValueError, match=r"method must be one of \['cv\+'\], got 'cqr'"):
        model.predict_interval(NEW, method="cqr")
    with pytest.raises(ValueError, match="side must be one of"):
        model.predict_interval(NEW, side="left")
    with pytest.raises(ValueError, match="coverage must be a number between 0 and 1, got 1"):
        model.predict_interval(NEW, 1)
    with pytest.warns(UserWarning, match=r"coverage=0\.995 needs at least 199 held-out rows"):
        assert np.isinf(model.predict_interval(NEW, 0.995)).all()
    with pytest.raises(ValueError, match="X has 4 features"):
        model.predict_interval(NEW[:, :4])
    with pytest.raises(ValueError, match="held_out requires rows in memory in one call"):
        clone(FOLDED).partial_fit(X, Y)
    assert not hasattr(LogitBoostClassifier(5).fit(X, Y > 1), "predict_set")
    for params, message in (
        ({"held_out": 3}, "already has folds: use held_out='cv'"),
        ({"n_estimators": 5, "cv": 4, "held_out": 3}, "already has folds: use held_out='cv'"),
        ({"n_estimators": CVRounds(prediction="mean")}, "prediction='refit'"),
        ({"n_estimators": CVRounds(scoring="r2")}, "scoring='loss'"),
    ):
        with pytest.raises(ValueError, match=message):
            L2BoostingRegressor(**params).fit(X, Y)


PASSED_BACK = {
    "squares": (L2BoostingRegressor(), Y),
    "significant pairs": (L2BoostingRegressor(interactions="auto", learning_rate=0.1), Y),
    "no smoothing": (L2BoostingRegressor(smoothing_rounds=0, learning_rate=0.1), Y),
    "counts": (AdditiveBoostingRegressor(loss="poisson", learning_rate=0.1), np.round(Y**2)),
    "absolute": (
        AdditiveBoostingRegressor(loss="absolute_error", learning_rate=0.1, interactions=1),
        Y,
    ),
    "two classes": (LogitBoostClassifier(learning_rate=0.3, interactions=1), Y > 1),
    "three classes": (LogitBoostClassifier(learning_rate=0.1), np.digitize(Y, [0.5, 1.8])),
}


@pytest.mark.parametrize("kind", PASSED_BACK)
def test_the_number_of_rounds_passed_back_gives_the_same_model(kind):
    """With the same folds, also of pairs, smoothing rounds, standard errors and intervals."""
    model, y = PASSED_BACK[kind]
    model = clone(model).set_params(held_out="cv").fit(X, y)
    same = clone(model).set_params(n_estimators=model.n_estimators_, held_out=5).fit(X, y)
    assert same.term_features_ == model.term_features_
    for one, other in zip(same.shape_functions_, model.shape_functions_, strict=True):
        np.testing.assert_array_equal(one[1], other[1])
    for one, other in zip(same.shape_standard_errors_, model.shape_standard_errors_, strict=True):
        np.testing.assert_array_equal(one, other)
    unseen = "predict_set" if hasattr(model, "classes_") else "predict_interval"
    np.testing.assert_array_equal(getattr(same, unseen)(NEW), getattr(model, unseen)(NEW))


def test_fewest_rounds_within_a_standard_error():
    model = L2BoostingRegressor(
        CVRounds(rule="one_standard_error"), learning_rate=0.1, smoothing_rounds=0
    ).fit(X, Y)
    results = model.cv_results_
    best = results["mean_score"].argmin()
    bound = results["mean_score"][best] + results["standard_error"][best]
    assert model.n_estimators_ == np.flatnonzero(results["mean_score"] <= bound)[0] < best
    search = GridSearchCV(
        model, {"n_estimators__rule": ["minimum", "one_standard_error"]}, cv=2
    ).fit(X, Y)
    assert search.best_params_["n_estimators__rule"] in ("minimum", "one_standard_error")
    assert pickle.loads(pickle.dumps(model)).n_estimators_ == model.n_estimators_


@pytest.mark.parametrize(
    ("held_out", "words"),
    [
        ([], "held_out must yield at least one split"),
        (GroupKFold(3), "held_out=GroupKFold splits by groups"),
        (ShuffleSplit(3, random_state=0), "held_out must not test on a row in more than one split"),
        ([(np.arange(5), np.arange(5, 9))], "Split 0 of held_out must train on"),
        (300, "held_out=300 is more folds than there are rows of positive weight, 120"),
    ],
    ids=["none", "groups", "shuffled", "rest", "many"],
)
def test_messages_name_held_out(held_out, words):
    with pytest.raises(ValueError, match=words):
        L2BoostingRegressor(1, held_out=held_out).fit(X, Y)


def test_intervals_of_a_fit_without_folds_say_what_to_do():
    model = L2BoostingRegressor(1).fit(X, Y).set_params(held_out="cv")
    with pytest.raises(ValueError, match="set held_out='cv' and fit again"):
        model.predict_interval(NEW)
