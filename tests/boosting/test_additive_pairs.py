"""Pairs of features in the additive models, and the models in scikit-learn's tools."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, PredefinedSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_ensemble_theory import L2BoostingRegressor, LogitBoostClassifier
from sklearn_ensemble_theory.boosting import CVRounds

from . import pairs_data
from .additive_data import cv_path


def interacting_data(n=800, seed=0):
    """A product of features 0 and 3 (categorical 1 or 0 or missing); values missing in 0."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 4))
    X[:, 3] = rng.integers(0, 3, n)
    score = 3 * X[:, 0] * (X[:, 3] - 1) + np.sin(3 * X[:, 1]) + X[:, 0]
    X[rng.random(n) < 0.1, 0] = np.nan
    X[rng.random(n) < 0.1, 3] = np.nan
    return X, np.nan_to_num(score), rng


def fitted(kind, **params):
    X, score, rng = interacting_data()
    options = {"categorical_features": [3], "learning_rate": 0.2, "max_bins": 24} | params
    if kind == "values":
        model, y = L2BoostingRegressor(100), score + 0.3 * rng.standard_normal(len(X))
    elif kind == "classes":
        noise = rng.gumbel(size=(len(X), 3))
        y = (np.column_stack([score, -score, X[:, 2]]) + noise).argmax(axis=1)
        model = LogitBoostClassifier(60)
    else:
        model, y = LogitBoostClassifier(100), (rng.random(len(X)) < expit(score)).astype(int)
    return model.set_params(**options).fit(X, y), X, y


@pytest.mark.parametrize("kind", ["values", "labels", "classes"])
@pytest.mark.parametrize("weighted", [False, True])
def test_tables_of_pairs_have_no_main_effects(kind, weighted):
    model, X, y = fitted(kind, interactions=2)
    if weighted:
        weight = np.random.default_rng(0).exponential(size=len(y))
        model = clone(model).fit(X, y, sample_weight=weight)
    assert (0, 3) in model.term_features_[4:]
    assert len(model.term_features_) == 6
    total = len(y) if not weighted else model.bin_weights_[0].sum()
    for (a, b), (edges, table), weight in zip(
        model.term_features_[4:], model.shape_functions_[4:], model.bin_weights_[4:]
    ):
        sums = weight if table.ndim == 2 else weight[..., None]
        for axis in (0, 1):
            margin = (sums * table).sum(axis=axis) / total
            np.testing.assert_allclose(margin, 0, atol=1e-10)
        assert weight.shape == table.shape[:2]
        for j, own, n in zip((a, b), edges, table.shape):
            assert n == len(own) + (j != 3) + (j == 0) + (j == 3)
    np.testing.assert_allclose(model.bin_weights_[4].sum(), total)
    terms = model.predict_terms(X)
    np.testing.assert_allclose(terms.sum(axis=1) + model.intercept_, model._scores(X), atol=1e-10)
    if kind == "classes":
        np.testing.assert_allclose(terms.sum(axis=2), 0, atol=1e-10)


def test_the_model_with_pairs_is_as_good_as_its_rounds_say():
    """Training errors of the rounds are those of predictions with purified terms."""
    model, X, y = fitted("values", interactions=1)
    for n_rounds, prediction in zip((0, 50, 100), model.predict_path(X, [0, 50, 100])):
        # the pair of the rounds is there from the beginning
        error = np.mean((y - prediction) ** 2)
        assert error == pytest.approx(model.train_scores_[n_rounds], rel=1e-9)
    assert model.train_scores_[-1] < 0.25 * np.var(y)


@pytest.mark.parametrize("kind", ["values", "labels"])
def test_pairs_that_are_asked_for(kind):
    found = {}
    for wanted in (1, 0.25, "auto", [(3, 0)], 0):
        model, X, _ = fitted(kind, interactions=wanted)
        found[str(wanted)] = model.term_features_[4:]
    assert found["1"] == found["0.25"] == found["[(3, 0)]"] == [(0, 3)]
    assert (0, 3) in found["auto"]
    assert found["0"] == []
    frame = pd.DataFrame(X, columns=list("abcd"))
    y = X[:, 1] > 0 if kind == "labels" else X[:, 1]
    named = clone(model).set_params(interactions=[("d", "a"), ["b", 2]]).fit(frame, y)
    assert named.term_features_[4:] == [(0, 3), (1, 2)]
    assert named.term_names_[4:] == ["a & d", "b & c"]
    refused = [
        ([("a", "z")], "the name 'z'"),
        ([("a", "b", "c"), ("a", "b")], "pair of two features"),
        (["ab"], "pair of two features"),
        ([("a", "a")], "with itself"),
        ([("a", "b"), (1, 0)], "twice"),
        ([(0, 4)], "the features are 0 to 3"),
    ]
    for pairs, message in refused:
        with pytest.raises(ValueError, match=message):
            clone(model).set_params(interactions=pairs).fit(frame, y)
    for bad in (-1, -0.5, "all"):
        with pytest.raises(ValueError, match="interactions"):
            clone(model).set_params(interactions=bad).fit(X, y)
    with pytest.raises(ValueError, match="interactions"):
        clone(model).set_params(interactions=[("a", "b")]).fit(X, y)


@pytest.mark.parametrize("kind", ["labels", "classes"])
def test_an_interaction_lowers_the_log_loss(kind):
    X, score, rng = interacting_data(1600, seed=1)
    y = (rng.random(len(X)) < expit(score)).astype(int)
    if kind == "classes":
        y[rng.random(len(X)) < 0.2] = 2
    train, test = slice(0, 800), slice(800, None)
    losses = []
    for interactions in (0, 1):
        model, _, _ = fitted(kind, interactions=interactions)
        model.fit(X[train], y[train])
        losses.append(log_loss(y[test], model.predict_proba(X[test])))
    assert losses[1] < losses[0] - 0.03


def test_tables_have_the_bins_in_which_they_were_fitted(monkeypatch):
    """Merged bins have equal weight by rows: second derivatives change from step to step."""
    used, run = [], pairs_data.pairs.boost_rows

    def spied(columns, state, pairs, bins):
        used.append(bins.maps)
        return run(columns, state, pairs, bins)

    monkeypatch.setattr(pairs_data.pairs, "boost_rows", spied)
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (1500, 2))
    y = (rng.random(1500) < expit(2 + 9 * X[:, 0] + 9 * X[:, 0] * X[:, 1] ** 3)).astype(int)
    model = LogitBoostClassifier(20, learning_rate=0.2, max_bins=100, interactions=1).fit(X, y)
    assert len(used) == 3
    for maps in used:
        assert len(np.unique(maps[0])) == 80
        for one, other in zip(maps, model.model_.terms.pair_maps, strict=True):
            np.testing.assert_array_equal(one, other[:-1])


@pytest.mark.parametrize("of_classes", [False, True])
def test_pairs_are_found_in_any_unit_of_the_weights(of_classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 4))
    y = X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=500)
    model, y = (LogitBoostClassifier(), y > 0) if of_classes else (L2BoostingRegressor(), y)
    weight = rng.integers(1, 4, 500).astype(float)
    model.set_params(interactions="auto").fit(X, y, weight)
    expected = model.term_features_
    for unit in (1.1, 1.9, 3.3, 1e10):
        assert model.fit(X, y, weight * unit).term_features_ == expected
    assert (1, 2) in expected


def test_pairs_with_rows_that_no_fold_holds_out():
    X, score, rng = interacting_data(400)
    y = score + 0.3 * rng.standard_normal(len(X))
    cv = PredefinedSplit(np.arange(len(X)) % 4 - 1)
    model = L2BoostingRegressor(CVRounds(cv, max_estimators=200), learning_rate=0.1)
    model.set_params(interactions=1, categorical_features=[3]).fit(X, y)
    assert model.term_features_[4:] == [(0, 3)]
    without = clone(model).set_params(interactions=0).fit(X, y)
    assert model.score(X, y) > 0.75 > 0.5 > without.score(X, y)
    assert [s.shape for s in model.shape_standard_errors_] == [
        v.shape for _, v in model.shape_functions_
    ]


@pytest.mark.slow
def test_search_over_interactions_and_rates():
    X, score, rng = interacting_data(400)
    y = score + 0.3 * rng.standard_normal(len(X))
    grid = {"interactions": [0, 1, [(1, 2)]], "learning_rate": [0.05, 0.3]}
    model = L2BoostingRegressor(60, smoothing_rounds=0, max_bins=16, categorical_features=[3])
    search = GridSearchCV(model, grid, cv=3).fit(X, y)
    assert search.best_params_ == {"interactions": 1, "learning_rate": 0.3}
    labels = GridSearchCV(
        LogitBoostClassifier(60, max_bins=16), grid, cv=2, scoring="neg_log_loss"
    ).fit(X, score > 0)
    assert labels.best_params_["interactions"] == 1


@pytest.mark.parametrize("model", [L2BoostingRegressor, LogitBoostClassifier])
def test_pipelines_of_frames_clones_and_pickles(model):
    X, score, _ = interacting_data(300)
    y = score if model is L2BoostingRegressor else np.where(score > 0, "yes", "no")
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["d"] = pd.Categorical(
        np.array(["u", "v", "w", None], dtype=object)[
            np.where(np.isnan(X[:, 3]), 3, np.nan_to_num(X[:, 3])).astype(int)
        ]
    )
    prepare = make_column_transformer(
        (StandardScaler(), ["a", "b"]), remainder="passthrough", verbose_feature_names_out=False
    ).set_output(transform="pandas")
    inner = model(CVRounds(3, max_estimators=100), learning_rate=0.2, interactions=[("a", "d")])
    pipeline = make_pipeline(prepare, inner).fit(frame, y)
    assert pipeline[-1].categories_[3].tolist() == ["u", "v", "w"]
    assert pipeline.score(frame, y) > 0.8
    again = pickle.loads(pickle.dumps(pipeline))
    np.testing.assert_array_equal(again.predict(frame), pipeline.predict(frame))
    same = clone(pipeline).fit(frame, y)
    np.testing.assert_array_equal(same.predict(frame), pipeline.predict(frame))


def test_pairs_of_classes_that_are_told_apart_where_labels_are_wrong():
    """Newton steps on rows with probabilities near 0 or 1 are thousands long."""
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, size=(1500, 3))
    X[:, 1] = np.exp(2 * X[:, 1])
    score = 18 * X[:, 0] + 36 * X[:, 0] * X[:, 1] + 24 * (X[:, 2] > 0)
    y = (score + rng.logistic(size=1500) > 0) ^ (rng.uniform(size=1500) < 0.01)
    train, test = slice(0, 1000), slice(1000, 1500)
    losses = []
    for interactions in (0, 2):
        model = LogitBoostClassifier("cv", interactions=interactions).fit(X[train], y[train])
        assert (cv_path(model) > 0).all()
        # Of integers: scikit-learn 1.6 is wrong for labels that are bool.
        losses.append(log_loss(y[test].astype(int), model.predict_proba(X[test])))
    assert max(np.abs(values).max() for _, values in model.shape_functions_) < 50
    assert losses[1] < 0.9 * losses[0]
