"""Additive logistic regression of Dask collections: the model in memory with the same edges."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import PredefinedSplit

from sklearn_ensemble_theory import LogitBoostClassifier
from sklearn_ensemble_theory.boosting import CVRounds
from sklearn_ensemble_theory.boosting._additive.bins import ClassLabels

from ..boosting.additive_data import cv_path
from ..local_blocks import hashed_folds
from ..surroundings import _blocks as blocks

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

CHUNKS = {"even": (300,) * 4, "uneven": (1, 0, 900, 299)}
EDGES = [np.linspace(0.1, 0.9, 9)] * 4


def rows(n_classes=2, n=1200):
    rng = np.random.default_rng(0)
    X = rng.random((n, 4))
    X[rng.random(n) < 0.1, 2] = np.nan
    score = 2 * np.sin(6 * X[:, 0]) + X[:, 1] + 2 * (X[:, 3] > 0.37) + 0.5 * rng.logistic(size=n)
    y = np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))
    return X, y, rng.integers(0, 4, n).astype(float)


def in_memory(model, X, y, weight=None):
    kept = slice(None) if weight is None else weight > 0
    parameters = model.get_params(deep=False) | {"max_bins": model.bin_edges_}
    rounds = CVRounds.of(model.n_estimators)
    n_folds = 5 if rounds is None else rounds.cv
    if rounds is not None:  # its folds are given by `cv`
        parameters["n_estimators"] = clone(rounds).set_params(cv=CVRounds().cv)
    if parameters["interactions"] == "cv":  # looks for none in Dask collections
        parameters["interactions"] = 0
    parameters["cv"] = PredefinedSplit(hashed_folds(len(y[kept]), n_folds))
    same = LogitBoostClassifier(**parameters)
    return same.fit(X[kept], y[kept], None if weight is None else weight[kept])


def assert_same(model, expected, X):
    assert model.classes_.tolist() == expected.classes_.tolist()
    assert model.n_estimators_ == expected.n_estimators_
    assert model.n_smoothing_rounds_ == expected.n_smoothing_rounds_
    assert model.n_estimators_ + model.n_smoothing_rounds_ > 0
    assert model.n_refreshes_ == expected.n_refreshes_
    found, scores = model.decision_function(X), expected.decision_function(X)
    np.testing.assert_allclose(found, scores, rtol=0, atol=1e-10)
    np.testing.assert_allclose(model.train_scores_, expected.train_scores_, rtol=0, atol=1e-10)
    for name in ("bin_weights_", "shape_standard_errors_"):
        for one, other in zip(getattr(model, name, []), getattr(expected, name, [])):
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-10)
    if hasattr(expected, "cv_results_"):
        np.testing.assert_allclose(cv_path(model), cv_path(expected), rtol=0, atol=1e-10)


@pytest.mark.parametrize("chunks", CHUNKS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_model_in_memory(chunks, weighted, n_classes):
    X, y, weight = rows(n_classes)
    lazy = [da.from_array(a, chunks=(CHUNKS[chunks], *a.shape[1:])) for a in (X, y, weight)]
    parameters = {"smoothing_rounds": 5, "learning_rate": 0.2}
    model = LogitBoostClassifier(CVRounds(3, max_estimators=20), max_bins=8, **parameters)
    model.fit(lazy[0], lazy[1].rechunk(700), lazy[2] if weighted else None)
    assert_same(model, in_memory(model, X, y, weight if weighted else None), X)


def test_labels_as_strings_and_a_class_that_most_chunks_lack():
    X, y, weight = rows()
    labels = np.array(["no", "maybe"])[y].astype(object)
    labels[300:350] = "certainly"
    weight[:1] = 0
    labels[0] = "of weight 0"
    lazy = [da.from_array(a, chunks=(300, *a.shape[1:])) for a in (X, labels, weight)]
    model = LogitBoostClassifier(100, learning_rate=0.05, max_bins=EDGES).fit(*lazy)
    assert model.classes_.tolist() == ["certainly", "maybe", "no"]
    assert_same(model, in_memory(model, X, labels, weight), X)
    predicted = model.predict(lazy[0])
    assert isinstance(predicted, da.Array)
    np.testing.assert_array_equal(predicted.compute(), model.predict(X))


def test_data_frames_with_categories_and_missing_values_in_some_chunks():
    X, y, _ = rows()
    frame = pd.DataFrame(X, columns=list("abcd"))
    kind = np.where(np.arange(len(y)) < 600, "first", "second").astype(object)
    kind[:420] = None
    frame["kind"] = pd.Categorical(kind, categories=["never", "second", "first"])
    frame.loc[600:, "c"] = np.nan
    target = pd.Series(np.where((frame["kind"] == "second") & (y == 0), 1, y), name="target")
    X = dd.from_pandas(frame, npartitions=3)
    model = LogitBoostClassifier(CVRounds(3, max_estimators=20), learning_rate=0.2, max_bins=8)
    model.fit(X, dd.from_pandas(target, npartitions=3))
    assert model.categories_[4].tolist() == ["first", "second"]
    assert model.n_smoothing_rounds_ > 0
    assert_same(model, in_memory(model, frame, target), frame)


def test_chunks_of_other_types_and_unknown_lengths():
    X, y, _ = rows()
    X = X.astype(np.float32)
    parts = [X[:500], X[500:800].astype(float), X[800:]]
    targets = [y[:500].astype(bool), y[500:800].astype(np.int8), y[800:].astype(float)]
    lazy = da.concatenate([da.from_array(part) for part in parts])
    keep = lazy[:, 0] > 0.2  # chunks of unknown lengths
    target = da.concatenate([da.from_array(part) for part in targets])[keep]
    model = LogitBoostClassifier(100, max_bins=EDGES).fit(lazy[keep], target)
    kept = X[:, 0] > np.float32(0.2)
    assert_same(model, in_memory(model, X[kept], y[kept]), X)


def test_monotonic_functions():
    X, y, _ = rows()
    X[:, 2] = np.nan_to_num(X[:, 2])
    model = LogitBoostClassifier(200, max_bins=EDGES, monotonic_cst=[0, -1, 0, 1])
    model.fit(da.from_array(X, chunks=(500, 4)), da.from_array(y, chunks=500))
    assert (np.diff(model.shape_functions_[1][1]) <= 1e-12).all()
    assert_same(model, in_memory(model, X, y), X)


def test_every_pass_over_the_rows_is_counted(monkeypatch):
    X, y, _ = rows()
    passes, applied = Counter(), blocks.applied

    def counting(function, shared, *given):
        passes[function.__name__] += 1
        return applied(function, shared, *given)

    monkeypatch.setattr(blocks, "applied", counting)
    model = LogitBoostClassifier(1500, max_bins=EDGES)
    model.fit(da.from_array(X, chunks=(300, 4)), da.from_array(y, chunks=300))
    assert passes["of_checked"] == 2 * 4  # the rows themselves, for the bins
    assert passes["_row_totals"] == 4
    assert passes["_gradient_sums"] == model.n_refreshes_ * 4
    assert 0 < passes["_weight_sums"] < passes["_gradient_sums"]
    assert model.n_passes_ == sum(passes.values()) / 4 < 30
    assert not hasattr(model.fit(X, y), "n_passes_")


REFUSED = {
    "pairs": ({"interactions": [(0, 4)]}, "interactions"),
    "splits": ({"n_estimators": CVRounds(PredefinedSplit([0, 1]))}, "cv must be an integer"),
    "monotonic": ({"monotonic_cst": [1, 0]}, "monotonic_cst"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_parameters_are_refused_before_rows_are_read(kind):
    X, y, _ = rows()
    parameters, message = REFUSED[kind]

    def refuse(block):
        assert not len(block), "rows were read"
        return block

    lazy = da.from_array(X, chunks=(300, 4)).map_blocks(refuse, dtype=float)
    with pytest.raises(ValueError, match=message):
        LogitBoostClassifier(**parameters).fit(lazy, da.from_array(y, chunks=300))


ODD = {
    "one class": (lambda y: y * 0, ValueError, "at least two classes"),
    "numbers": (lambda y: y + 0.5 * (y > 0) * np.arange(len(y)), ValueError, "continuous"),
}


@pytest.mark.parametrize("kind", ODD)
def test_labels_that_are_refused(kind):
    X, y, _ = rows()
    change, error, message = ODD[kind]
    target = da.from_array(change(y), chunks=300)
    with pytest.raises(error, match=message):
        LogitBoostClassifier(5).fit(da.from_array(X, chunks=(300, 4)), target)


def test_labels_of_two_kinds():
    numbers, text = np.array([0, 1]), np.array(["a", "b"], dtype=object)
    with pytest.raises(ValueError, match="both strings and numbers"):
        ClassLabels.of(numbers, None) + ClassLabels.of(text, None)
    both = ClassLabels.of(text, None) + ClassLabels.of(np.array(["aa"]), None)
    assert both.labels.tolist() == ["a", "aa", "b"]


def test_memory_of_the_sums_is_bounded():
    X, y, _ = rows()
    lazy = da.from_array(X, chunks=(300, 4)), da.from_array(y, chunks=300)
    message = r"working_memory=0\.1 MiB .* is less than the"
    with config_context(working_memory=0.1), pytest.raises(ValueError, match=message):
        LogitBoostClassifier(5).fit(*lazy)


def test_sets_need_rows_in_memory_and_predict_lazily():
    X, y, _ = rows(3, n=600)
    lazy = da.from_array(X, chunks=(200, 4))
    model = LogitBoostClassifier(
        CVRounds(max_estimators=20), max_bins=8, learning_rate=0.2, held_out="cv"
    )
    with pytest.raises(ValueError, match="held_out requires rows in memory"):
        model.fit(lazy, da.from_array(y, chunks=200))
    model.fit(X, y)
    found = model.predict_set(lazy, coverage=0.8)
    np.testing.assert_array_equal(found.compute(), model.predict_set(X, coverage=0.8))
