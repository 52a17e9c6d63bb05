"""Pairs of features of Dask collections: found and fitted as in memory with the same bins."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import PredefinedSplit

from sklearn_ensemble_theory import L2BoostingRegressor, LogitBoostClassifier
from sklearn_ensemble_theory.boosting import CVRounds

from ..boosting.additive_data import cv_path
from ..local_blocks import hashed_folds
from ..surroundings import _blocks as blocks

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

CHUNKS = {"even": (300,) * 4, "uneven": (1, 0, 900, 299)}
MODELS = {
    "values": L2BoostingRegressor(40, learning_rate=0.2, max_bins=12),
    "folds": L2BoostingRegressor(CVRounds(3, max_estimators=30), learning_rate=0.2, max_bins=12),
    "labels": LogitBoostClassifier(20, learning_rate=0.3, max_bins=8),
    "classes": LogitBoostClassifier(
        CVRounds(3, max_estimators=8), learning_rate=0.3, max_bins=6, smoothing_rounds=3
    ),
}


def rows(kind, n=1200, seed=0):
    """A product of features 0 and 1, a quadrant of 2 and 3; missing values in 2."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 5))
    score = 3 * X[:, 0] * X[:, 1] + 2 * ((X[:, 2] > 0) & (X[:, 3] > 0.2)) + np.sin(3 * X[:, 0])
    X[rng.random(n) < 0.1, 2] = np.nan
    score += 0.4 * rng.logistic(size=n)
    y = score
    if kind in ("labels", "classes"):
        y = np.digitize(score, np.quantile(score, [0.5] if kind == "labels" else [0.3, 0.6]))
    return X, y, rng.integers(0, 4, n).astype(float)


def in_memory(model, X, y, weight=None):
    kept = slice(None) if weight is None else weight > 0
    parameters = model.get_params(deep=False) | {"max_bins": model.bin_edges_}
    rounds = CVRounds.of(model.n_estimators)
    n_folds = 5 if rounds is None else rounds.cv
    if rounds is not None:  # its folds are given by `cv`
        parameters["n_estimators"] = clone(rounds).set_params(cv=CVRounds().cv)
    parameters["cv"] = PredefinedSplit(hashed_folds(len(y[kept]), n_folds))
    return type(model)(**parameters).fit(X[kept], y[kept], None if weight is None else weight[kept])


def assert_same(model, expected, X):
    assert model.term_features_ == expected.term_features_
    assert len(model.term_features_) > X.shape[1]
    assert model.n_estimators_ == expected.n_estimators_
    assert model.n_smoothing_rounds_ == expected.n_smoothing_rounds_
    assert any(np.abs(table).max() > 0.01 for _, table in model.shape_functions_[X.shape[1] :])
    np.testing.assert_allclose(model.train_scores_, expected.train_scores_, rtol=0, atol=1e-10)
    terms, others = model.predict_terms(X), expected.predict_terms(X)
    np.testing.assert_allclose(terms, others, rtol=0, atol=1e-10)
    np.testing.assert_allclose(model.intercept_, expected.intercept_, rtol=0, atol=1e-10)
    for name in ("bin_weights_", "shape_standard_errors_"):
        for one, other in zip(getattr(model, name, []), getattr(expected, name, [])):
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-10)
    if hasattr(expected, "cv_results_"):
        np.testing.assert_allclose(cv_path(model), cv_path(expected), rtol=0, atol=1e-10)


def lazy(chunks, *arrays):
    return [da.from_array(a, chunks=(chunks, *a.shape[1:])) for a in arrays]


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize(
    ("chunks", "weighted", "interactions"),
    [("even", False, 2), ("uneven", True, [(3, 2), (0, 1), (1, 4)]), ("uneven", False, "auto")],
)
def test_model_in_memory(kind, chunks, weighted, interactions):
    X, y, weight = rows(kind)
    model = clone(MODELS[kind]).set_params(interactions=interactions)
    parts = lazy(CHUNKS[chunks], X, y, weight)
    model.fit(*(parts if weighted else parts[:2]))
    assert (0, 1) in model.term_features_
    assert_same(model, in_memory(model, X, y, weight if weighted else None), X)


@pytest.mark.parametrize("kind", ["folds", "labels"])
def test_data_frames_with_categories_and_a_monotonic_function(kind):
    X, y, _ = rows(kind)
    frame = pd.DataFrame(X, columns=list("abcde"))
    place = np.array(["north", "south", "west", None], dtype=object)
    frame["place"] = pd.Categorical(place[np.arange(1200) // 20 % 4])
    sign = np.where(frame["place"] == "south", 1, -1)
    y = np.where(sign * X[:, 3] > 0.4, y.max(), y)
    # The strongest pair has a constrained feature.
    model = clone(MODELS[kind]).set_params(interactions=2, monotonic_cst={"a": 1})
    model.fit(dd.from_pandas(frame, npartitions=3), dd.from_pandas(pd.Series(y), npartitions=3))
    assert "d & place" in model.term_names_
    assert any(0 in pair for pair in model.term_features_[6:])
    assert_same(model, in_memory(model, frame, y), frame)


@pytest.mark.parametrize("kind", ["values", "labels"])
def test_many_bins_and_chunks_of_unknown_lengths(kind):
    """More bins than the tables of pairs have; their tables come in several passes."""
    X, y, weight = rows(kind, n=3000)
    (lX, ly, lw), keep = lazy(800, X, y, weight), X[:, 4] > -0.5
    lkeep = lX[:, 4] > -0.5
    model = clone(MODELS[kind]).set_params(interactions=2, max_bins=100)
    model.fit(lX[lkeep], ly[lkeep], lw[lkeep])
    assert max(map(len, model.bin_edges_)) == 99
    assert max(table.shape[0] for _, table in model.shape_functions_[5:]) <= 81
    assert_same(model, in_memory(model, X[keep], y[keep], weight[keep]), X)


def test_tables_of_few_pairs_at_a_time(monkeypatch):
    X, y, _ = rows("labels")
    parts = lazy(400, X, y)
    model = clone(MODELS["labels"]).set_params(interactions="auto").fit(*parts)
    cells = "sklearn_ensemble_theory.boosting._additive.pairs._CELLS_OF_A_PASS"
    monkeypatch.setattr(cells, 200)
    again = clone(model).fit(*parts)
    assert again.n_passes_ > model.n_passes_
    assert again.term_features_ == model.term_features_
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


@pytest.mark.parametrize("kind", ["folds", "labels"])
def test_no_pair_is_found_in_additive_data(kind):
    X, y, _ = rows(kind)
    score = X[:, 0] + X[:, 3] ** 2 + np.random.default_rng(0).logistic(size=len(X))
    y = score if kind == "folds" else (score > 0).astype(int)
    model = clone(MODELS[kind]).set_params(interactions="auto").fit(*lazy(500, X, y))
    assert len(model.term_features_) == 5
    plain = clone(model).set_params(interactions=0).fit(*lazy(500, X, y))
    np.testing.assert_allclose(model.predict(X), plain.predict(X), rtol=0, atol=1e-12)
    assert model.n_passes_ > plain.n_passes_


@pytest.mark.parametrize("kind", ["values", "folds", "labels"])
def test_every_pass_over_the_rows_is_counted(kind, monkeypatch):
    X, y, _ = rows(kind)
    passes, applied = Counter(), blocks.applied

    def counting(function, shared, *given):
        passes[function.__name__] += 1
        return applied(function, shared, *given)

    monkeypatch.setattr(blocks, "applied", counting)
    model = clone(MODELS[kind]).set_params(interactions=2).fit(*lazy(300, X, y))
    assert model.n_passes_ == sum(passes.values()) / 4
    assert passes["of_checked"] == 2 * 4  # the rows themselves
    assert passes["_residuals_of_members"] == (12 if kind == "labels" else 4)
    # residuals, for the tables of pairs and for weights with second derivatives
    assert passes["_with_work"] == (8 if kind == "labels" else 4)
    assert 4 <= passes["_moved_and_summed"] < 4 * 60
    assert not hasattr(model.fit(X, y), "n_passes_")


@pytest.mark.parametrize("kind", ["values", "labels"])
def test_given_pairs_are_refused_before_rows_are_read(kind):
    X, y, _ = rows(kind)

    def refuse(block):
        assert not len(block), "rows were read"
        return block

    parts = lazy(300, X, y)
    model = clone(MODELS[kind]).set_params(interactions=[(1, 5)])
    with pytest.raises(ValueError, match="the features are 0 to 4"):
        model.fit(parts[0].map_blocks(refuse, dtype=float), parts[1])
