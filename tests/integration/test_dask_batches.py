"""Batches give the model of a Dask collection with these chunks, bit for bit."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_classifier

from ..estimators import estimator_classes, make

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

BATCHED = [cls for cls in estimator_classes() if hasattr(cls, "fit_batches")]
# Levels of a sum of eight: one, two, and three with a batch alone in the last one.
CHUNKS = {"five": (40, 1, 0, 39, 40), "many": (3,) * 40, "more": (2,) * 65}
# As they are by default: folds, smoothing rounds, pairs.
DEFAULTS = ("AdditiveBoostingRegressor", "L2BoostingRegressor", "LogitBoostClassifier")


@pytest.mark.parametrize("cls", BATCHED, ids=lambda c: c.__name__)
@pytest.mark.parametrize("chunks", CHUNKS)
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
def test_the_bits_of_a_dask_collection(cls, chunks, weighted):
    lengths = CHUNKS[chunks]
    rng, n = np.random.default_rng(0), sum(lengths)
    X = rng.random((n, 1 if cls.__name__ == "SmoothingSplineRegressor" else 4))
    y = np.sin(6 * X[:, 0]) + X[:, -1] + 0.1 * rng.standard_normal(n)
    y = (y > 1).astype(int) if is_classifier(make(cls)) else y
    given = [X, y, rng.integers(0, 4, n).astype(float)] if weighted else [X, y]
    ends = np.cumsum(lengths)[:-1]
    lazy = [da.from_array(one, chunks=(lengths, *one.shape[1:])) for one in given]
    model, expected = (
        cls() if cls.__name__ in DEFAULTS and chunks == "five" else make(cls) for _ in range(2)
    )
    for one in (model, expected):
        if "random_state" in one.get_params():
            one.set_params(random_state=0)
    with dask.config.set(scheduler="synchronous"):
        expected.fit(*lazy)
    model.fit_batches(list(zip(*(np.split(one, ends) for one in given))))
    np.testing.assert_array_equal(model.predict(X), expected.predict(X))


@pytest.mark.parametrize("cls", BATCHED, ids=lambda c: c.__name__)
def test_weights_of_classes(cls):
    if "class_weight" not in make(cls).get_params():
        return
    X = np.random.default_rng(1).random((60, 3))
    y = np.where(X[:, 0] + X[:, 1] > 1.2, "high", "low").astype(object)
    lazy = [da.from_array(one, chunks=(20, *one.shape[1:])) for one in (X, y)]
    expected = make(cls, class_weight="balanced").fit(*lazy)
    model = make(cls, class_weight="balanced")
    model.fit_batches(lambda: zip(np.split(X, 3), np.split(y, 3)))
    name = next(n for n in ("decision_function", "predict_proba") if hasattr(model, n))
    np.testing.assert_array_equal(getattr(model, name)(X), getattr(expected, name)(X))


def test_data_frames_with_categories():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(rng.random((90, 2)), columns=["a", "b"])
    frame["kind"] = pd.Categorical(rng.choice(["first", "second"], 90))
    frame.loc[::7, "a"] = np.nan
    y = frame["b"] + (frame["kind"] == "first")
    cls = next(cls for cls in BATCHED if cls.__name__ == "L2BoostingRegressor")
    parts = [slice(0, 30), slice(30, 60), slice(60, 90)]
    expected = make(cls).fit(dd.from_pandas(frame, npartitions=3), dd.from_pandas(y, npartitions=3))
    model = make(cls).fit_batches([(frame[part], y[part]) for part in parts])
    np.testing.assert_array_equal(model.predict(frame), expected.predict(frame))
    assert model.feature_names_in_.tolist() == expected.feature_names_in_.tolist()
