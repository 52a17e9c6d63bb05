"""Histograms of Dask collections: the model of the same rows in memory."""

import numpy as np
import pandas as pd
import pytest

from sklearn_ensemble_theory import HistogramClassifier, HistogramRegressor

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
dask = pytest.importorskip("dask")

CHUNKS = {"even": (100,) * 4, "uneven": (1, 0, 300, 99)}
SPECS = {"rate": {}, "int": {"n_bins": 4}, "box": {"n_bins": 4, "box": (-1, 2)}}
every_chunks = pytest.mark.parametrize("chunks", CHUNKS)
every_spec = pytest.mark.parametrize("spec", SPECS)


def rows(n=400):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 2)).astype(np.float32)
    y = np.array(list("cab"))[np.digitize(X[:, 0], [-0.5, 0.5])]
    y[:100] = "b"  # a class missing in chunks
    return X, y, np.c_[X[:, 0], X[:, 1] ** 2] + 1.0, rng.integers(0, 4, n).astype(float)


def lazily(chunks, *arrays):
    return [da.from_array(a, chunks=(CHUNKS[chunks], *a.shape[1:])) for a in arrays]


@every_chunks
@every_spec
def test_classifier_has_the_same_bits_as_in_memory(chunks, spec):
    X, y, _, weight = rows()
    model = HistogramClassifier(**SPECS[spec]).fit(*lazily(chunks, X, y, weight))
    expected = HistogramClassifier(**SPECS[spec]).fit(X, y, weight)
    for name in ("classes_", "bin_edges_", "cells_", "cell_proba_", "class_prior_"):
        np.testing.assert_array_equal(getattr(model, name), getattr(expected, name))
    for name in ("n_samples_seen_", "effective_n_samples_", "training_error_", "n_bins_"):
        assert getattr(model, name) == getattr(expected, name)
    lazy = model.predict(lazily(chunks, X)[0])
    np.testing.assert_array_equal(lazy.compute(), expected.predict(X))
    model.partial_fit(X[:9], y[:9])  # goes on from there
    assert model.n_samples_seen_ == expected.n_samples_seen_ + 9


@every_chunks
@every_spec
@pytest.mark.parametrize("n_outputs", [0, 1, 2])
def test_regressor_in_memory(chunks, spec, n_outputs):
    X, _, Y, weight = rows()
    y = Y[:, :n_outputs] if n_outputs else Y[:, 0]
    for w in (weight, None):
        lazy = [None if a is None else lazily(chunks, a)[0] for a in (X, y, w)]
        model = HistogramRegressor(**SPECS[spec]).fit(*lazy)
        expected = HistogramRegressor(**SPECS[spec]).fit(X, y, w)
        np.testing.assert_array_equal(model.bin_edges_, expected.bin_edges_)
        np.testing.assert_array_equal(model.cells_, expected.cells_)
        assert model.cell_values_.shape == expected.cell_values_.shape
        np.testing.assert_allclose(model.cell_values_, expected.cell_values_, rtol=1e-12)
        np.testing.assert_allclose(model.mean_, expected.mean_, rtol=1e-12)


def test_data_frames_of_unknown_lengths():
    X, y, _, _ = rows()
    frame = dd.from_pandas(pd.DataFrame(X, columns=["a", "b"]), npartitions=4)
    keep = frame["a"] > 0
    model = HistogramClassifier().fit(
        frame[keep], dd.from_pandas(pd.Series(y), npartitions=4)[keep]
    )
    kept = X[:, 0] > 0
    expected = HistogramClassifier().fit(X[kept], y[kept])
    np.testing.assert_array_equal(model.cell_proba_, expected.cell_proba_)


PASSES = [
    (HistogramClassifier, {"n_bins": 3, "box": (0, 1)}, 2),
    (HistogramRegressor, {"n_bins": 3, "box": (0, 1)}, 1),
    (HistogramRegressor, {"n_bins": 3}, 2),
    (HistogramRegressor, {"box": (0, 1)}, 2),
]


@pytest.mark.parametrize(("cls", "options", "passes"), PASSES)
def test_passes_over_the_rows(cls, options, passes):
    X, _, Y, _ = rows()
    seen = []

    def read(block):
        seen.append(len(block))
        return block

    lazy = da.from_array(X, chunks=(100, 2)).map_blocks(read, meta=X[:0])
    y = da.from_array((Y[:, 0] > 1).astype(int), chunks=100)
    with dask.config.set(scheduler="synchronous"):
        cls(**options).fit(lazy, y)
    assert sum(seen) == passes * len(X)


REFUSED = [({"box": (1, 0)}, "box must have"), ({"n_bins": 2**27, "box": (0, 1)}, "n_bins=")]


@pytest.mark.parametrize(("options", "message"), REFUSED)
def test_wrong_parameters_are_refused_before_the_rows_are_read(options, message):
    X, _, Y, _ = rows()
    lazy = da.from_array(X).map_blocks(pytest.fail, meta=X[:0])
    with pytest.raises(ValueError, match=message):
        HistogramRegressor(**options).fit(lazy, Y)
