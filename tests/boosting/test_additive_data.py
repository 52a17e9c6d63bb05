"""Additive boosting of data as they come: missing values, categories, frames, constraints."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from sklearn_ensemble_theory import L2BoostingRegressor, LogitBoostClassifier
from sklearn_ensemble_theory.boosting import CVRounds

MODELS = [L2BoostingRegressor, LogitBoostClassifier]


def target(model, values):
    """Values for a regressor, classes for a classifier."""
    return values if model is L2BoostingRegressor else (values > np.median(values)).astype(int)


def categorical_data(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.standard_normal((n, 2)), rng.integers(0, 5, n)])
    values = X[:, 0] + np.abs(X[:, 1]) + np.array([1, -1, 0, 2, 0])[X[:, 2].astype(int)]
    values += 0.5 * rng.standard_normal(n)
    X[rng.random(n) < 0.15, 1] = np.nan
    return X, values


@pytest.mark.parametrize("interactions", [0, 1])
@pytest.mark.parametrize("kind", [*MODELS, "classes"])
def test_terms_and_stages_end_at_the_scores(kind, interactions):
    X, values = categorical_data()
    model, y = L2BoostingRegressor, values
    if kind != L2BoostingRegressor:
        model, y = LogitBoostClassifier, np.digitize(values, [0.0] if kind != "classes" else [0, 1])
    model = model(80, learning_rate=0.2, categorical_features=[2], interactions=interactions)
    model.fit(X, y)
    new = np.vstack([X, [[np.nan, 0, 1], [0, np.nan, 2], [0, 0, 17], [0, 0, np.nan], [9, -9, 3]]])
    scores = model._scores(new)
    terms = model.predict_terms(new)
    assert terms.shape[1] == 3 + interactions
    np.testing.assert_allclose(terms.sum(axis=1) + model.intercept_, scores, atol=1e-12)
    if kind == L2BoostingRegressor:
        stages = list(model.staged_predict(new))
        np.testing.assert_allclose(model.predict_path(new, [3, 40]), [stages[2], stages[39]])
    else:
        stages = list(model.staged_decision_function(new))
    assert len(stages) == model.n_estimators_
    np.testing.assert_allclose(stages[-1], scores, rtol=0, atol=1e-10)
    # nothing is known of values that were never missing
    np.testing.assert_array_equal(terms[-5, 0], np.zeros_like(terms[-5, 0]))
    np.testing.assert_array_equal(terms[-3, 2], np.zeros_like(terms[-3, 2]))
    np.testing.assert_array_equal(terms[-2, 2], terms[-3, 2])
    assert np.abs(terms[-4, 1]).max() > 0 or interactions  # missing in training
    if kind == "classes":
        np.testing.assert_allclose(scores.sum(axis=1), 0, atol=1e-12)
        np.testing.assert_allclose(terms.sum(axis=2), 0, atol=1e-12)


def test_values_above_all_rows_are_those_of_the_last_rows():
    x = np.linspace(-2, 2, 100)[:, None]
    model = L2BoostingRegressor(100, learning_rate=0.1, max_bins=[[-1, 0, 1, 50]]).fit(x, x[:, 0])
    assert model.predict([[60.0]]) == model.predict([[2.0]]) == pytest.approx(1.5, abs=0.05)
    np.testing.assert_allclose(list(model.staged_predict([[60.0]]))[-1], model.predict([[60.0]]))


def test_missing_values_that_mean_something():
    rng = np.random.default_rng(0)
    X, missing = rng.standard_normal((400, 2)), rng.random(400) < 0.3
    y = np.where(missing, 2.0, np.sign(X[:, 0])) + 0.1 * rng.standard_normal(400)
    X[missing, 0] = np.nan
    model = L2BoostingRegressor(2000, learning_rate=0.05, max_bins=[[0.0], [0.0]]).fit(X, y)
    for rows in (missing, X[:, 0] <= 0, X[:, 0] > 0):
        assert model.predict(X[rows]).mean() == pytest.approx(y[rows].mean(), abs=1e-4)
    assert model.missing_bins_.tolist() == [True, False]
    classes = LogitBoostClassifier(2000, learning_rate=0.05, max_bins=[[0.0], [0.0]])
    labels = y + rng.standard_normal(400) > 0.5
    classes.fit(X, labels)
    for rows in (missing, X[:, 0] <= 0, X[:, 0] > 0):
        share = classes.predict_proba(X[rows])[:, 1].mean()
        assert share == pytest.approx(labels[rows].mean(), abs=5e-3)


def assert_monotonic(model, X, signs):
    """On a grid of values of one feature, at the rows of X for the others."""
    size = np.abs(model._scores(X)).max()
    for j in np.flatnonzero(signs):
        rows, n = np.tile(X, (150, 1)), len(X)
        rows[:, j] = np.repeat(np.linspace(-1.1, 1.1, 150), n)
        steps = np.diff(model._scores(rows).reshape(150, n), axis=0)
        assert (steps * signs[j] >= -1e-13 * size).all()


@pytest.mark.parametrize("model", MODELS)
def test_pairs_with_monotonic_features(model):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (600, 3))
    values = 2 * X[:, 0] * (1.2 + X[:, 1]) - X[:, 2] * (X[:, 0] + 1)
    X[rng.random(600) < 0.1, 1] = np.nan
    y = target(model, values + 0.3 * rng.standard_normal(600))
    scores = {}
    for cst in ([1, 0, -1], [1, 1, 0], None):
        fitted = model(60, learning_rate=0.3, interactions=[(0, 1), (0, 2)], monotonic_cst=cst)
        scores[str(cst)] = fitted.fit(X, y).score(X, y)
        if cst is not None:
            assert_monotonic(fitted, X[:40], cst)
    # the first signs are nearly those of the truth
    assert scores["[1, 0, -1]"] > 0.95 * scores["None"]


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    "rounds", [{"n_estimators": 200}, {"n_estimators": CVRounds(3, max_estimators=200)}]
)
def test_monotonic_shapes(model, rounds):
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, (300, 3))
    X[rng.random(300) < 0.1, 1] = np.nan
    values = np.sin(3 * X[:, 0]) - np.nan_to_num(X[:, 1]) ** 3 + X[:, 2] ** 2 + X[:, 0] * X[:, 2]
    y = target(model, values + 0.3 * rng.standard_normal(300))
    options = {"learning_rate": 0.1, "monotonic_cst": [1, -1, 0]}
    fitted = model(interactions=0, **options, **rounds).fit(X, y)
    shapes = [v for _, v in fitted.shape_functions_]
    assert (np.diff(shapes[0]) >= -1e-12).all()
    assert np.ptp(shapes[0]) > 0.5
    assert (np.diff(shapes[1][:-1]) <= 1e-12).all()
    assert np.ptp(shapes[1][:-1]) > 0.1
    assert np.diff(shapes[2]).min() < 0 < np.diff(shapes[2]).max()
    frame = pd.DataFrame(X, columns=list("abc"))
    named = clone(fitted).set_params(monotonic_cst={"a": 1, "b": -1}).fit(frame, y)
    np.testing.assert_array_equal(named._scores(frame), fitted._scores(X))
    # with pairs, the sum of all terms is monotonic at all values of the others
    pairs = clone(fitted).set_params(interactions=3).fit(X, y)
    assert len(pairs.term_features_) == 6
    assert_monotonic(pairs, X, [1, -1, 0])


def test_monotonic_refusals():
    X, y = np.random.default_rng(0).standard_normal((30, 3)), np.arange(30) % 3
    for given, message in [
        ([1, 0], "shape"),
        ([2, 0, 0], "entries -1, 0 and 1"),
        ({"a": 1}, "no feature names"),
    ]:
        with pytest.raises(ValueError, match=message):
            L2BoostingRegressor(5, monotonic_cst=given).fit(X, y)
    with pytest.raises(ValueError, match="has the name 'z'"):
        L2BoostingRegressor(5, monotonic_cst={"z": 1}).fit(pd.DataFrame(X, columns=list("abc")), y)
    with pytest.raises(ValueError, match="feature 1, which is categorical"):
        L2BoostingRegressor(5, monotonic_cst=[0, 1, 0], categorical_features=[1]).fit(X, y)
    with pytest.raises(ValueError, match="two classes only"):
        LogitBoostClassifier(5, monotonic_cst=[1, 0, 0]).fit(X, y)


@pytest.mark.parametrize("model", MODELS)
def test_a_thousand_categories(model):
    rng = np.random.default_rng(2)
    X = rng.integers(0, 1000, (2500, 2)).astype(float)
    X[:, 1] = rng.standard_normal(2500)
    effect = rng.standard_normal(1000)
    values = 2 * effect[X[:, 0].astype(int)] + X[:, 1]
    y = target(model, values)
    plain = {"smoothing_rounds": 0, "interactions": 0, "max_bins": 16}
    fitted = model(25, learning_rate=0.6, categorical_features=[True, False], **plain).fit(X, y)
    found, own = fitted.shape_functions_[0]
    assert len(own) == len(found) + 1 == len(fitted.categories_[0]) + 1
    assert np.corrcoef(own[:-1], effect[found.astype(int)])[0, 1] > 0.75
    assert all(len(s) == len(found) for s in fitted.category_sets_[0])


def frames(n=200):
    """The same rows as numbers, and as frames of pandas and polars; the target."""
    pl = pytest.importorskip("polars")
    rng = np.random.default_rng(3)
    color = rng.choice(["red", "green", "blue"], n)
    size = rng.integers(0, 4, n)
    x, small = rng.standard_normal(n), rng.integers(0, 9, n)
    y = x + 2.0 * (color == "red") - size % 2 + 0.3 * small + 0.1 * rng.standard_normal(n)
    number = np.searchsorted(["blue", "green", "red"], color).astype(float)
    number[:20] = np.nan
    x[5] = np.nan
    X = np.column_stack([number, x, size, small])
    labels = [None if i < 20 else c for i, c in enumerate(color)]
    pandas = pd.DataFrame(
        {
            "color": pd.Categorical(labels),
            "x": x,
            "size": pd.Categorical(size),
            "small": pd.array(small, dtype="Int64"),
        }
    )
    polars = pl.DataFrame(
        {
            "color": pl.Series(labels, dtype=pl.Categorical),
            "x": x,
            "size": pl.Series(size.astype(str), dtype=pl.Enum(["0", "1", "2", "3"])),
            "small": small,
        }
    )
    return X, pandas, polars, y


@pytest.mark.parametrize("model", MODELS)
def test_categories_of_arrays_and_frames(model):
    X, pandas, polars, values = frames()
    y = target(model, values)
    new = X[:30]
    expected = model(60, learning_rate=0.2, categorical_features=[0, 2]).fit(X, y)
    scores = expected._scores(new)
    assert len(expected.category_sets_[0]) > 0
    for given in ([True, False, True, False], [0, -2], np.array([2, 0])):
        other = clone(expected).set_params(categorical_features=given).fit(X, y)
        np.testing.assert_array_equal(other._scores(new), scores)
    for frame in (pandas, polars):
        head = frame.head(30)
        by_dtype = clone(expected).set_params(categorical_features="from_dtype").fit(frame, y)
        np.testing.assert_allclose(by_dtype._scores(head), scores, atol=1e-12)
        if frame is pandas:  # scikit-learn 1.6 finds no names in frames of the newest polars
            assert by_dtype.term_names_ == ["color", "x", "size", "small"]
        assert list(by_dtype.categories_[0]) == ["blue", "green", "red"]
        by_name = clone(expected).set_params(categorical_features=["color", "size"])
        np.testing.assert_allclose(by_name.fit(frame, y)._scores(head), scores, atol=1e-12)
    strings = pandas.astype({"color": object, "size": object})
    named = clone(expected).set_params(categorical_features=["color", "size"]).fit(strings, y)
    np.testing.assert_allclose(named._scores(strings.head(30)), scores, atol=1e-12)
    # a category of another frame that training had not is missing
    unseen = pandas.head(3).assign(color=pd.Categorical(["violet", None, "blue"]))
    terms = named.predict_terms(unseen)
    assert terms[0, 0] == terms[1, 0] != terms[2, 0]


def test_category_refusals():
    X, pandas, _, y = frames()
    for given, message in [
        ([True], "has 1 entries"),
        ([4], "out of bounds"),
        (["color"], "no feature names"),
        ([0.5], "bool, int or str"),
        ([[0]], "one dimension"),
    ]:
        with pytest.raises(ValueError, match=message):
            L2BoostingRegressor(5, categorical_features=given).fit(X, y)
    with pytest.raises(ValueError, match="'colour', which is no feature"):
        L2BoostingRegressor(5, categorical_features=["colour"]).fit(pandas, y)
    with pytest.raises(ValueError, match="Feature 'color': could not convert"):
        L2BoostingRegressor(5, categorical_features=["size"]).fit(pandas, y)


@pytest.mark.parametrize("model", MODELS)
def test_layouts_types_and_constant_columns(model):
    X, values = categorical_data()
    X = np.round(X, 2)
    X = np.column_stack([X, np.full(len(X), 7.0), np.full(len(X), np.nan)])
    y = target(model, values)
    fitted = model(50, learning_rate=0.3, max_bins=20).fit(X, y)
    scores = fitted._scores(X)
    strided = np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)[::2, ::2]
    for same in (np.asfortranarray(X), strided, X.tolist()):
        np.testing.assert_array_equal(clone(fitted).fit(same, y)._scores(same), scores)
    single = X.astype(np.float32)
    np.testing.assert_allclose(clone(fitted).fit(single, y)._scores(single), scores, atol=1e-6)
    np.testing.assert_array_equal(fitted.predict_terms(X)[:, 3:], 0)
    one = clone(fitted).fit(X[:, :1], y)
    assert np.ptp(one._scores(X[:, :1])) > 0.5
    flat = clone(fitted).fit(X[:, 3:], y)
    assert np.ptp(flat._scores(X[:, 3:])) == 0
    assert flat.n_estimators_ == 0
