"""Members of single chunks: a warning where these are no random samples of the rows."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.stats import f_oneway

from sklearn_ensemble_theory import (
    DivideAndConquerRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn_ensemble_theory.averaging._learner_blocks import ChunkSpread, share_of_labels

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

N, CHUNKS = 800, 4
FOREST = {"n_estimators": 8, "random_state": 0}


def rows(by=None):
    """The rows, in the order of a column, or at random."""
    rng = np.random.default_rng(0)
    X = rng.random((N, 3))
    y = 4 * X[:, 0] + X[:, 1] + rng.standard_normal(N) / 4
    order = np.arange(N) if by is None else np.argsort(y if by == "y" else X[:, by])
    return X[order], y[order]


def chunks(*arrays):
    return [da.from_array(one, chunks=(N // CHUNKS, *one.shape[1:])) for one in arrays]


def parts(columns):
    return [ChunkSpread.of(part) for part in np.split(columns, CHUNKS)]


def test_spread_is_that_of_an_analysis_of_variance():
    X, _ = rows(by=0)
    found = sum(parts(X)[1:], parts(X)[0])
    of_all = X.var(axis=0) * N
    means = np.array([part.mean(axis=0) for part in np.split(X, CHUNKS)])
    np.testing.assert_allclose(found.between, N * means.var(axis=0), rtol=1e-12)
    np.testing.assert_allclose(found.within + found.between, of_all, rtol=1e-12)
    statistic = f_oneway(*np.split(X, CHUNKS)).statistic
    by_f = found.between / found.within * (N - CHUNKS) / (CHUNKS - 1)
    np.testing.assert_allclose(by_f, statistic, rtol=1e-10)
    assert found.shares()[0] > 0.9
    assert not found.shares()[1:].any()  # by chance


def test_spread_of_missing_values_sparse_rows_and_equal_values():
    X, _ = rows(by=0)
    X = np.where(X > 0.3, X, 0.0)
    sparse = ChunkSpread.of(sp.csr_array(X)) + ChunkSpread.of(sp.csr_matrix(X[::-1]))
    dense = ChunkSpread.of(X) + ChunkSpread.of(X[::-1])
    np.testing.assert_allclose(sparse.within, dense.within, rtol=1e-12)
    with_missing = X.copy()
    with_missing[::3, 1] = np.nan
    found = ChunkSpread.of(with_missing)
    np.testing.assert_allclose(found.within, np.nanvar(with_missing, axis=0) * found.n, rtol=1e-12)
    equal = ChunkSpread.of(np.full((7, 1), 0.1)) + ChunkSpread.of(np.full((9, 1), 0.1))
    assert equal.shares() == 0
    none = ChunkSpread.of(np.full((7, 1), np.nan)) + ChunkSpread.of(np.full((9, 1), np.nan))
    assert none.shares() == 0


def test_share_of_labels_is_tau():
    counts = np.array([[30.0, 10.0], [10.0, 50.0]])
    p = counts.sum(axis=0) / counts.sum()
    own = counts / counts.sum(axis=1, keepdims=True)
    weight = counts.sum(axis=1) / counts.sum()
    tau = 1 - (1 - weight @ (own**2).sum(axis=1)) / (1 - (p**2).sum())
    assert share_of_labels(counts) == pytest.approx(tau, rel=1e-12)
    assert share_of_labels(np.array([[5.0, 6.0], [6.0, 5.0]])) == 0.0
    assert share_of_labels(np.array([[5.0, 6.0]])) == 0.0
    assert share_of_labels(np.array([[50.0, 0.0], [0.0, 50.0]])) == 1.0


@pytest.mark.parametrize("by", [0, 2, "y"])
@pytest.mark.parametrize("cls", [RandomForestRegressor, DivideAndConquerRegressor])
def test_sorted_rows_are_warned_of(by, cls):
    X, y = rows(by)
    params = FOREST if cls is RandomForestRegressor else {"random_state": 0}
    what = "y" if by == "y" else f"feature {by}"
    with pytest.warns(UserWarning, match=rf"\d\d% of the variance of {what} .*Shuffle") as found:
        cls(**params).fit(*chunks(X, y))
    assert ("poisson" in str(found[0].message)) == (cls is RandomForestRegressor)


def test_sorted_labels_and_named_columns_are_warned_of():
    X, y = rows()
    label = np.sort(y > np.median(y))
    with pytest.warns(UserWarning, match="variance of y is between chunks"):
        RandomForestClassifier(**FOREST).fit(*chunks(X, label))
    X, y = rows(by=1)
    frame = dd.from_pandas(pd.DataFrame(X, columns=list("abc")), npartitions=CHUNKS)
    target = dd.from_pandas(pd.Series(y), npartitions=CHUNKS)
    with pytest.warns(UserWarning, match="variance of feature 'b' is"):
        RandomForestRegressor(**FOREST).fit(frame, target)


@pytest.mark.parametrize("n_chunks", [1, 4, 80])
def test_random_chunks_are_not(n_chunks):
    X, y = rows()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(5):
            order = np.random.default_rng().permutation(N)
            size = N // n_chunks
            lazy = [
                da.from_array(one[order], chunks=(size, *one.shape[1:]))
                for one in (X, y, (y > 2).astype(int))
            ]
            RandomForestRegressor(80, max_depth=1, random_state=0).fit(*lazy[:2])
            RandomForestClassifier(80, max_depth=1, random_state=0).fit(lazy[0], lazy[2])


def test_the_lines_of_the_guide_shuffle():
    X, y = rows(by=0)
    table = pd.DataFrame(X, columns=list("abc")).assign(y=y)
    table = dd.from_pandas(table, npartitions=CHUNKS)

    def places(part):
        rng = np.random.default_rng()
        return pd.Series(rng.integers(1_000_000, size=len(part)), index=part.index)

    table["place"] = table.map_partitions(places, meta=("place", int))
    table = table.shuffle("place").persist()
    X_test, y_test = rows()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        forest = RandomForestRegressor(**FOREST).fit(table[list("abc")], table["y"])
        order = np.random.default_rng().permutation(N)
        own = chunks(X, y)
        other = RandomForestRegressor(**FOREST).fit(*(one[order] for one in own))
    with pytest.warns(UserWarning, match="random samples"):
        sorted_rows = RandomForestRegressor(**FOREST).fit(*own)
    frame = pd.DataFrame(X_test, columns=list("abc"))
    worst = sorted_rows.score(X_test, y_test)
    assert min(forest.score(frame, y_test), other.score(X_test, y_test)) > worst + 0.1
