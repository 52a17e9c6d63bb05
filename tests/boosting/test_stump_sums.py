"""Sums over rows in bins: by blocks and routes, against their definition."""

from contextlib import nullcontext
from itertools import pairwise

import numpy as np
import pytest

from sklearn_ensemble_theory._hot_loops.compilation import numba_disabled
from sklearn_ensemble_theory.boosting._additive import sums
from sklearn_ensemble_theory.boosting._additive.sums import CutLayout, StumpSums

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


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("folded", [False, True])
@pytest.mark.parametrize("n_bins", [(4, 1, 3, 5), (1, 6), (1, 1), (2, 3)])
def test_definition(n_bins, folded, weighted, compiled):
    last = np.arange(len(n_bins)) == len(n_bins) - 1
    layout = CutLayout(np.array(n_bins), missing=last, categorical=last & (n_bins[-1] == 5))
    data = rows(n_bins, folded, weighted)
    n_groups = 3 if folded else 1
    cuts = (0, 100, 101, 350, N)
    blocks = [[a if a is None else a[i:j] for a in data] for i, j in pairwise(cuts)]
    with nullcontext() if compiled else numba_disabled():
        first, *others = blocks
        found = StumpSums.of([first], layout, n_groups) + StumpSums.of(others, layout, n_groups)
    codes, y, weight, folds = data
    left, w = indicators(codes, layout), np.ones(N) if weight is None else weight
    gram = found.gram()
    for fold in range(n_groups):
        own = np.full(N, True) if folds is None else folds == fold
        part, wy = left[own], (w * y)[own]
        sums = found.sums.of_fold(fold)
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
