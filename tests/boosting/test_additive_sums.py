"""Sums over rows in bins: by blocks, against their definition; when they are counted."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone

from sklearn_ensemble_theory import L2BoostingRegressor
from sklearn_ensemble_theory.boosting import CVRounds
from sklearn_ensemble_theory.boosting._additive import sums
from sklearn_ensemble_theory.boosting._additive.sums import (
    CountedGram,
    CutLayout,
    StumpSums,
    cut_sums,
)

from .l2_boosting_data import PLAIN, additive_data, left_of_cuts, quantile_edges

N = 500


def rows(n_bins, folded, weighted):
    rng = np.random.default_rng(0)
    codes = np.asfortranarray(np.column_stack([rng.integers(0, b, N) for b in n_bins]), np.uint8)
    weight = rng.uniform(0.5, 2, N) if weighted else None
    return codes, rng.standard_normal(N), weight, rng.integers(0, 3, N) if folded else None


def indicators(codes, layout):
    left = np.zeros((len(codes), layout.n_cuts))
    for j, n_bins in enumerate(layout.n_bins):
        for k in range(n_bins - 1):
            is_left = codes[:, j] == k if layout.categorical[j] else codes[:, j] <= k
            left[:, layout.offsets[j] + k] = is_left
    return left


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("folded", [False, True])
@pytest.mark.parametrize("n_bins", [(4, 1, 3, 5), (1, 6), (1, 1), (2, 3)])
def test_definition(n_bins, folded, weighted):
    last = np.arange(len(n_bins)) == len(n_bins) - 1
    layout = CutLayout(np.array(n_bins), missing=last, categorical=last & (n_bins[-1] == 5))
    data = rows(n_bins, folded, weighted)
    n_groups = 3 if folded else 1
    cuts = (0, 100, 101, 350, N)
    blocks = [[a if a is None else a[i:j] for a in data] for i, j in pairwise(cuts)]
    first, *others = blocks
    found = StumpSums.of([first], layout, n_groups) + StumpSums.of(others, layout, n_groups)
    codes, y, weight, folds = data
    left, w = indicators(codes, layout), np.ones(N) if weight is None else weight
    gram = found.gram()
    for fold in range(n_groups):
        own = np.full(N, True) if folds is None else folds == fold
        part, wy = left[own], (w * y)[own]
        sums = found.sums.split(fold)[1]
        for one, expected in (
            (sums.weight, w[own].sum()),
            (sums.y, wy.sum()),
            (sums.yy, wy @ y[own]),
            (sums.left_weight, part.T @ w[own]),
            (sums.left_y, part.T @ wy),
            (gram[fold], part.T @ (w[own][:, None] * part)),
        ):
            np.testing.assert_allclose(one, expected, rtol=1e-12, atol=1e-12)
    assert found.tables.dtype == (np.int32 if weight is None else np.float64)


def test_counts_that_need_more_bytes(monkeypatch):
    layout = CutLayout(np.array([2, 2]))
    codes, y, *_ = rows((2, 2), False, False)
    few = StumpSums.of([(codes, y, None, None)], layout, 1)
    many = few
    for _ in range(23):
        many = many + many
    assert many.tables.dtype == np.int64
    assert many.tables.sum() == N * 2**23 > 2**31
    weighted = StumpSums.of([(codes, y, np.ones(N), None)], layout, 1)
    assert (few + weighted).tables.dtype == np.float64
    np.testing.assert_array_equal((few + weighted).gram(), 2 * few.gram())
    assert sums._kind_of(2**31 - 1, True) == np.int32


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_folds", [1, 3])
def test_counted_by_feature_by_cut_and_over_rows(n_folds, weighted):
    rng = np.random.default_rng(10)
    X = np.column_stack([rng.standard_normal((80, 3)), np.ones(80), rng.random(80) < 0.3])
    edges = [*quantile_edges(X[:, :3], 6), *quantile_edges(X[:, 3:], 9)]
    edges[1] = edges[1][:2]
    weight = rng.exponential(size=80) if weighted else None
    folds = rng.integers(0, n_folds, 80) if n_folds > 1 else None
    codes = np.column_stack([np.searchsorted(e, x) for e, x in zip(edges, X.T)])
    codes = np.asfortranarray(codes.astype(np.uint8))
    layout = CutLayout([len(e) + 1 for e in edges])
    rows = {"sample_weight": weight, "folds": folds}
    y = rng.standard_normal(80)
    sums = cut_sums(codes, layout, y, n_folds=n_folds, **rows)
    left, _ = left_of_cuts(X, edges)
    for fold in range(n_folds):
        w = np.ones(80) if weight is None else weight
        w = w if folds is None else w * (folds == fold)
        np.testing.assert_allclose(sums.left_weight[fold], w @ left, rtol=1e-12)
        np.testing.assert_allclose(sums.left_y[fold], (w * y) @ left, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(
            [sums.weight[fold], sums.y[fold], sums.yy[fold]], [w.sum(), w @ y, w @ y**2]
        )
        gram = CountedGram(codes, layout, sums.left_weight, **rows)
        products = left.T @ (w[:, None] * left)
        for group in range(layout.n_cuts + len(edges)):
            expected, found = products[layout.cuts_of(group)], gram.block(group)[fold]
            np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)
            assert found.flags.c_contiguous  # compiled loops read rows


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_folds", [1, 3])
def test_more_bins_than_a_byte_holds(weighted, n_folds):
    rng = np.random.default_rng(0)
    n, n_cuts = 500, np.array([3, 0, 7, 300])
    codes = np.asfortranarray(rng.integers(n_cuts + 1, size=(n, 4)).astype(np.uint16))
    layout = CutLayout(n_cuts + 1)
    y, weight = rng.standard_normal(n), rng.random(n) if weighted else None
    folds = rng.integers(n_folds, size=n, dtype=np.uint8) if n_folds > 1 else None
    rows = {"sample_weight": weight, "folds": folds}
    sums = cut_sums(codes, layout, y, n_folds=n_folds, **rows)
    gram = CountedGram(codes, layout, sums.left_weight, **rows)
    left = indicators(codes, layout)
    blocks = {j: gram.block(layout.n_cuts + j) for j in (0, 3, 2)}
    for fold in range(n_folds):
        w = np.ones(n) if weight is None else weight
        w = w if folds is None else w * (folds == fold)
        np.testing.assert_allclose(sums.left_weight[fold], w @ left, rtol=1e-12)
        np.testing.assert_allclose(sums.left_y[fold], (w * y) @ left, rtol=1e-10, atol=1e-12)
        products = left.T @ (w[:, None] * left)
        for j, block in blocks.items():
            expected = products[layout.spans[j]]
            np.testing.assert_allclose(block[fold], expected, rtol=1e-10, atol=1e-12)


@pytest.fixture
def counted(monkeypatch):
    """The groups that have been counted, in order."""
    groups = []
    by_cut, by_feature = CountedGram._count_cut, CountedGram._count_feature

    def count_cut(self, k, *groups_of_rows):
        groups.append(k)
        return by_cut(self, k, *groups_of_rows)

    def count_feature(self, j):
        groups.append(self.layout.n_cuts + j)
        return by_feature(self, j)

    monkeypatch.setattr(CountedGram, "_count_cut", count_cut)
    monkeypatch.setattr(CountedGram, "_count_feature", count_feature)
    return groups


@pytest.mark.parametrize("n_estimators", [500, "cv"])
@pytest.mark.parametrize("cuts_kept", [1, 20, 40])
def test_little_memory_makes_the_same_model(n_estimators, cuts_kept, counted):
    X, y = additive_data(p=6)
    rounds = CVRounds(3, max_estimators=500) if n_estimators == "cv" else n_estimators
    model = L2BoostingRegressor(
        rounds, learning_rate=0.1, max_bins=16, smoothing_rounds=0, interactions=0
    )
    ample = clone(model).fit(X, y)
    # A cut of few rows is counted once for each model, and a whole feature once for all of them.
    times = Counter(counted)
    assert max(times.values()) <= (1 if n_estimators == 500 else 4)
    assert all(times[group] == 1 for group in times if group >= 90)
    once = len(counted)
    copies = 2 if n_estimators == 500 else 3 + 1 + 2 * 3
    with config_context(working_memory=(cuts_kept + 0.5) * copies * 90 * 8 / 2**20):
        tight = clone(model).fit(X, y)
        with pytest.raises(ValueError, match="sums over all pairs of the 96 cuts"):
            clone(model).partial_fit(X, y)
    if n_estimators == 500:  # with folds, rows are summed where memory is short
        assert len(counted) > 2 * once + 5
    np.testing.assert_array_equal(tight.stump_cuts_, ample.stump_cuts_)
    np.testing.assert_allclose(tight.predict(X), ample.predict(X), rtol=0, atol=1e-12)
    message = r"working_memory=0\.001 MiB .* is less than"
    with config_context(working_memory=0.001), pytest.raises(ValueError, match=message):
        clone(model).fit(X, y)


def test_whole_features_are_counted_once_that_pays(counted):
    X, y = additive_data(n=20_000, p=10)
    left, right = (
        L2BoostingRegressor(n, learning_rate=0.1, max_bins=255, **PLAIN) for n in (3, 2000)
    )
    left.fit(X, y)
    assert counted
    assert all(group < 2540 for group in counted)
    counted.clear()
    right.fit(X, y)
    whole = [group - 2540 for group in counted if group >= 2540]
    assert set(whole) & {0, 1, 2}
    for j in whole:  # no cut of its own after that
        after = counted[counted.index(2540 + j) + 1 :]
        assert not any(254 * j <= group < 254 * (j + 1) for group in after)


def test_features_that_are_never_chosen_are_never_counted(counted):
    rng = np.random.default_rng(9)
    X = rng.standard_normal((400, 10))
    y = 10 * X[:, 3] + rng.standard_normal(400)
    L2BoostingRegressor(20, learning_rate=0.1, max_bins=16, **PLAIN).fit(X, y)
    assert counted == [150 + 3]
