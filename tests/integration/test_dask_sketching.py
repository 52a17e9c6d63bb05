"""Sketched linear regression of Dask collections."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

from sklearn_ensemble_theory import SketchedLinearRegression

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
dask = pytest.importorskip("dask")


def rows(n=400):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 3)).astype(np.float32)
    return X, X @ [1.0, 2.0, 3.0] + rng.standard_normal(n)


@pytest.mark.parametrize("sketch", ["countsketch", "leverage", "subsample"])
def test_the_model_is_that_of_the_seed_and_the_chunks(sketch):
    X, y = rows()
    lazy = da.from_array(X, chunks=((1, 0, 99, 300), 3)), da.from_array(y, chunks=100)
    options = {"sketch": sketch, "sketch_size": 50, "random_state": 3}
    one, two = (SketchedLinearRegression(4, **options).fit(*lazy) for _ in range(2))
    np.testing.assert_array_equal(one.coefs_, two.coefs_)
    np.testing.assert_array_equal(one.intercept_, two.intercept_)
    assert one.n_samples_seen_ == len(y)
    other = SketchedLinearRegression(4, **options | {"random_state": 4}).fit(*lazy)
    assert np.abs(one.coefs_ - other.coefs_).max() > 1e-6


def test_data_frames_of_unknown_lengths_and_refinements():
    X, y = rows()
    frame = dd.from_pandas(pd.DataFrame(X, columns=list("abc")), npartitions=4)
    target = dd.from_pandas(pd.Series(y), npartitions=4)
    keep = frame["a"] > 0
    model = SketchedLinearRegression(sketch_size=40, n_refinements=10, random_state=0)
    model.fit(frame[keep], target[keep])
    kept = X[:, 0] > 0
    expected = LinearRegression().fit(X[kept].astype(float), y[kept])
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=0, atol=1e-10)
    assert list(model.feature_names_in_) == list("abc")
    np.testing.assert_allclose(model.predict(frame).compute(), expected.predict(X), atol=1e-5)


PASSES = [("countsketch", 0, 1), ("srht", 3, 5), ("leverage", 0, 3), ("leverage", 2, 6)]


@pytest.mark.parametrize(("sketch", "n_refinements", "passes"), PASSES)
def test_passes_over_the_rows(sketch, n_refinements, passes):
    X, y = rows()
    seen = []

    def read(block):
        seen.append(len(block))
        return block

    lazy = da.from_array(X, chunks=(100, 3)).map_blocks(read, meta=X[:0])
    model = SketchedLinearRegression(sketch=sketch, n_refinements=n_refinements, random_state=0)
    with dask.config.set(scheduler="synchronous"):
        model.fit(lazy, da.from_array(y, chunks=100))
    assert sum(seen) == passes * len(y)


def test_too_small_sketches_are_refused_before_the_rows_are_read():
    X, y = rows()
    lazy = da.from_array(X, chunks=(100, 3)).map_blocks(pytest.fail, meta=X[:0])
    with pytest.raises(ValueError, match="sketch_size=2"):
        SketchedLinearRegression(sketch_size=2).fit(lazy, da.from_array(y, chunks=100))
