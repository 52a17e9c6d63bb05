"""L2-boosting of Dask collections: the model of the same rows in memory with the same edges."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics import r2_score
from sklearn.model_selection import PredefinedSplit

from sklearn_ensemble_theory import L2BoostingRegressor
from sklearn_ensemble_theory.boosting import CVRounds

from ..boosting.additive_data import cv_path
from ..local_blocks import hashed_folds

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

CHUNKS = {"even": (500,) * 6, "uneven": (1, 0, 2500, 499)}


def rows(seed=0, n=3000):
    rng = np.random.default_rng(seed)
    X = rng.random((n, 4))
    X[rng.random(n) < 0.1, 2] = np.nan
    y = np.sin(6 * X[:, 0]) + X[:, 1] + 0.5 * rng.standard_normal(n)
    return X, y, rng.integers(0, 4, n).astype(float)


def in_memory(model, X, y, weight=None):
    kept = slice(None) if weight is None else weight > 0
    cv = PredefinedSplit(hashed_folds(len(y[kept]), 5))
    same = L2BoostingRegressor(CVRounds(cv, max_estimators=500), max_bins=model.bin_edges_)
    return same.fit(X[kept], y[kept], None if weight is None else weight[kept])


@pytest.mark.parametrize("chunks", CHUNKS)
@pytest.mark.parametrize("weighted", [False, True])
def test_model_in_memory(chunks, weighted):
    X, y, weight = rows()
    lazy = [da.from_array(a, chunks=(CHUNKS[chunks], *a.shape[1:])) for a in (X, y, weight)]
    model = L2BoostingRegressor(CVRounds(max_estimators=500))
    model.fit(lazy[0], lazy[1].rechunk(700), lazy[2] if weighted else None)
    expected = in_memory(model, X, y, weight if weighted else None)
    assert model.n_smoothing_rounds_ == expected.n_smoothing_rounds_ > 0
    np.testing.assert_allclose(model.predict(X), expected.predict(X), rtol=0, atol=1e-10)
    np.testing.assert_allclose(cv_path(model), cv_path(expected), rtol=1e-10)


def test_same_bits_whatever_the_chunks_up_to_sums_of_targets():
    X, y, _ = rows()
    models = [
        L2BoostingRegressor(200).fit(da.from_array(X, chunks=(c, 2)), da.from_array(y, chunks=c))
        for c in CHUNKS.values()
    ]
    for edges, others in zip(models[0].bin_edges_, models[1].bin_edges_):
        np.testing.assert_array_equal(edges, others)
    np.testing.assert_allclose(models[0].predict(X), models[1].predict(X), rtol=0, atol=1e-12)


def test_the_first_example_of_the_guide(tmp_path):
    pytest.importorskip("pyarrow", exc_type=ImportError)  # a new one refuses an old NumPy
    rng = np.random.default_rng(0)
    site = rng.choice(["north", "south", "west"], 300)
    table = pd.DataFrame({"age": rng.integers(20, 80, 300), "dose": rng.random(300), "site": site})
    table["response"] = table["age"] / 50 + (site == "south") + 0.1 * rng.standard_normal(300)
    for number in range(3):  # no file has all sites
        own = table[table["site"] != ["north", "south", "west"][number]]
        own[number::3].to_parquet(tmp_path / f"{number}.parquet")
    rows = dd.read_parquet(str(tmp_path / "*.parquet"))
    X, y = rows[["age", "dose", "site"]], rows["response"]
    model = L2BoostingRegressor("cv", categorical_features=["site"]).fit(X, y)
    predictions = model.predict(X)
    assert isinstance(predictions, da.Array)

    whole, target = X.compute(), y.compute()
    np.testing.assert_array_equal(predictions.compute(), model.predict(whole))
    assert model.categories_[2].tolist() == ["north", "south", "west"]
    assert model.score(X, y) == pytest.approx(model.score(whole, target), rel=1e-12)
    assert r2_score(target, predictions.compute()) == model.score(whole, target) > 0.9
    with pytest.raises(ValueError, match=r"'site'.*categorical_features.*in chunk"):
        L2BoostingRegressor("cv").fit(X, y)


def test_data_frames_with_categories_and_missing_values_in_some_chunks():
    X, y, _ = rows()
    frame = pd.DataFrame(X, columns=list("abcd"))
    kind = np.where(np.arange(len(y)) < 1500, "first", "second").astype(object)
    kind[:1000] = None
    frame["kind"] = pd.Categorical(kind, categories=["never", "second", "first"])
    y = y + (frame["kind"] == "second")
    frame.loc[1500:, "c"] = np.nan
    X = dd.from_pandas(frame, npartitions=3)
    model = L2BoostingRegressor(CVRounds(max_estimators=500)).fit(
        X, dd.from_pandas(y, npartitions=3)
    )
    expected = in_memory(model, frame, y)
    assert list(model.feature_names_in_) == ["a", "b", "c", "d", "kind"]
    assert model.categories_[4].tolist() == expected.categories_[4].tolist() == ["first", "second"]
    lazy = model.predict(X)
    assert isinstance(lazy, da.Array)
    np.testing.assert_allclose(lazy.compute(), expected.predict(frame), rtol=0, atol=1e-10)


def test_given_edges_and_unknown_lengths():
    X, y, _ = rows()
    edges = [np.linspace(0.1, 0.9, 9)] * 4
    lazy = da.from_array(X, chunks=(400, 4))
    keep = lazy[:, 0] > 0.2  # chunks of unknown lengths
    plain = L2BoostingRegressor(300, smoothing_rounds=0, interactions=0, max_bins=edges)
    model = clone(plain)
    model.fit(lazy[keep], da.from_array(y, chunks=400)[keep])
    kept = X[:, 0] > 0.2
    expected = plain.fit(X[kept], y[kept])
    np.testing.assert_allclose(model.predict(X), expected.predict(X), rtol=0, atol=1e-10)


def test_intervals_need_rows_in_memory_and_predict_lazily():
    X, y, _ = rows(n=1000)
    lazy = da.from_array(X, chunks=(300, 4))
    model = L2BoostingRegressor(CVRounds(max_estimators=100), held_out="cv")
    with pytest.raises(ValueError, match="held_out requires rows in memory"):
        model.fit(lazy, da.from_array(y, chunks=300))
    model.fit(X, y)
    found = model.predict_interval(lazy, coverage=0.8)
    assert found.shape == (1000, 2)
    np.testing.assert_array_equal(found.compute(), model.predict_interval(X, coverage=0.8))
