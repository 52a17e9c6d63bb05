"""HistGradientBoosting* of Dask collections: the model of the same rows in memory."""

import numpy as np
import pandas as pd
import pytest

from sklearn_ensemble_theory import (
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn_ensemble_theory.trees import BinnedTreeRegressor
from tests.boosting.gradient_boosting_data import assert_same_rounds
from tests.boosting.loss_cases import LogCosh

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
dask = pytest.importorskip("dask")

LENGTHS = (1, 0, 700, 299)


@pytest.fixture(autouse=True)
def one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


def rows(n=1000):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 4))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.standard_normal(n)
    X[n // 2 :, 1][rng.random(n - n // 2) < 0.3] = np.nan
    return X, y, rng.integers(0, 3, n) * 1.0


def lazily(*arrays):
    return [da.from_array(one, chunks=(LENGTHS, *one.shape[1:])) for one in arrays]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"max_leaf_nodes": None, "max_depth": 4},
        {"max_leaf_nodes": 6, "l2_regularization": 3.0, "min_samples_leaf": 5},
        {"max_leaf_nodes": 5, "monotonic_cst": [1, 0, 0, 0], "interaction_cst": "pairwise"},
        {"max_leaf_nodes": 7, "max_features": 0.3, "random_state": 1},
        {"max_leaf_nodes": 4, "max_bins": 16, "learning_rate": 0.3, "random_state": 3},
    ],
    ids=str,
)
def test_the_model_is_that_of_memory(params, weighted):
    X, y, weight = rows()
    weights = (weight,) if weighted else ()
    model = HistGradientBoostingRegressor(max_iter=4, early_stopping=False, **params)
    expected = HistGradientBoostingRegressor(**model.get_params()).fit(X, y, *weights)
    model.fit(*lazily(X, y, *weights))
    assert_same_rounds(model, expected)
    np.testing.assert_allclose(model.predict(X), expected.predict(X), rtol=0, atol=1e-10)
    assert (model.n_iter_, model.do_early_stopping_) == (4, False)
    assert model.train_score_.shape == model.validation_score_.shape == (0,)


def test_it_is_gradient_boosting_of_the_same_trees():
    X, y, _ = rows()
    model = HistGradientBoostingRegressor(max_iter=3, max_leaf_nodes=6).fit(*lazily(X, y))
    trees = BinnedTreeRegressor(max_leaf_nodes=6, min_samples_leaf=20, max_bins=255)
    other = GradientBoostingRegressor(n_estimators=3, estimator=trees, random_state=0)
    other.fit(*lazily(X, y))
    np.testing.assert_allclose(model.predict(X), other.predict(X), rtol=0, atol=1e-12)


@pytest.mark.parametrize("chunks", [LENGTHS, (100,) * 10, (1000,)], ids=len)
def test_early_stopping_does_not_depend_on_the_chunks(chunks):
    X, y, weight = rows()
    options = {"early_stopping": True, "n_iter_no_change": 2, "random_state": 0, "max_bins": 32}
    model = HistGradientBoostingRegressor(learning_rate=0.5, **options)
    expected = HistGradientBoostingRegressor(**model.get_params()).fit(*lazily(X, y, weight))
    model.fit(*(da.from_array(one, chunks=(chunks, *one.shape[1:])) for one in (X, y, weight)))
    assert_same_rounds(model, expected)
    np.testing.assert_allclose(model.validation_score_, expected.validation_score_, rtol=1e-12)
    assert model.n_iter_ + 1 == len(model.validation_score_) < 100


def test_categories_of_all_chunks():
    X, y, _ = rows()
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["kind"] = pd.Categorical(np.where(y > 0, "x", "z"))
    frame.loc[900:, "kind"] = "x"
    lazy = dd.from_pandas(frame, npartitions=4)
    model = HistGradientBoostingRegressor(max_iter=3, max_leaf_nodes=4, early_stopping=False)
    expected = HistGradientBoostingRegressor(**model.get_params()).fit(frame, y)
    model.fit(lazy, dd.from_pandas(pd.Series(y), npartitions=4))
    np.testing.assert_allclose(model.predict(lazy).compute(), expected.predict(frame), atol=1e-10)
    np.testing.assert_array_equal(model.is_categorical_, [False] * 4 + [True])


@pytest.mark.parametrize(
    "params",
    [
        {"scoring": "r2"},
        {"loss": LogCosh()},
        {"max_leaf_nodes": None},
    ],
    ids=lambda params: next(iter(params)),
)
def test_what_needs_all_rows_is_refused_before_they_are_read(params):
    X, y, _ = rows()

    def refuse(block):
        assert not len(block), "rows were read"
        return block

    X, y = lazily(X, y)
    X = X.map_blocks(refuse, dtype=float, meta=np.empty((0, 0)))
    name = "max_depth" if "max_leaf_nodes" in params else next(iter(params))
    with pytest.raises(ValueError, match=rf"{name}.*Dask"):
        HistGradientBoostingRegressor(**params).fit(X, y)


@pytest.mark.parametrize("class_weight", [None, "balanced"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes(n_classes, class_weight):
    X, y, weight = rows()
    labels = np.array([*"bac"])[np.digitize(y, [0.0, 1.0][: n_classes - 1])]
    options = {"max_iter": 4, "early_stopping": False, "class_weight": class_weight}
    model = HistGradientBoostingClassifier(**options)
    expected = HistGradientBoostingClassifier(**options).fit(X, labels, weight)
    lazy = lazily(X, labels, weight)
    assert_same_rounds(model.fit(*lazy), expected)
    proba = model.predict_proba(lazy[0]).compute()
    np.testing.assert_allclose(proba, expected.predict_proba(X), rtol=0, atol=1e-10)
    assert model.classes_.tolist() == sorted([*"bac"][:n_classes])
