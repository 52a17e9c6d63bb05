"""Quantiles of columns in chunks: exact ones of few rows, and the stated error of many."""

from pathlib import Path

import numpy as np
import pytest

from sklearn_ensemble_theory import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
)

from .surroundings import QuantileSketch, bin_edges_from_quantiles
from .surroundings import _bins as quantile_sketch


def sketch_of(X, weight, cuts):
    parts = zip(np.split(X, cuts), np.split(weight, cuts) if weight is not None else [None] * 99)
    sketches = [QuantileSketch.of(x, w, np.random.default_rng(k)) for k, (x, w) in enumerate(parts)]
    total = sketches[0]
    for one in sketches[1:]:
        total = total + one
    return total


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("max_bins", [5, 64])
def test_few_rows_give_the_edges_of_all_rows(weighted, max_bins):
    rng = np.random.default_rng(0)
    X = np.column_stack(
        [rng.standard_normal(3000), rng.integers(0, 4, 3000), np.round(rng.exponential(size=3000))]
    )
    X[rng.random(3000) < 0.1, 0] = np.nan
    weight = rng.integers(1, 4, 3000).astype(float) if weighted else None
    edges = sketch_of(X, weight, [5, 5, 1000, 2999]).edges(max_bins)
    for found, expected in zip(edges, bin_edges_from_quantiles(X, max_bins, weight)):
        np.testing.assert_array_equal(found, expected)


def test_samples_have_the_stated_error(monkeypatch):
    monkeypatch.setattr(quantile_sketch, "SAMPLE", 500)
    rng = np.random.default_rng(1)
    x = rng.standard_normal((20_000, 1))
    errors = []
    for seed in range(200):
        drawn = [
            QuantileSketch.of(part, None, np.random.default_rng([seed, k]))
            for k, part in enumerate(np.split(x, 10))
        ]
        total = sum(drawn[1:], drawn[0])
        below = np.searchsorted(np.sort(x[:, 0]), total.values[0], side="right") / len(x)
        share = np.cumsum(total.weights[0]) / total.weights[0].sum()
        errors.append(np.abs(share - below).max())
    bound = np.sqrt(np.log(2 / 0.1) / (2 * 5000))
    assert np.mean(np.array(errors) > bound) <= 0.1
    assert np.max(errors) > bound / 4  # the bound is of the right size


@pytest.mark.parametrize("weighted", [False, True])
def test_of_a_sample_so_many_points_are_kept(monkeypatch, weighted):
    monkeypatch.setattr(quantile_sketch, "SAMPLE", 4000)
    monkeypatch.setattr(quantile_sketch, "KEPT_OF_CHUNK", 100)
    rng = np.random.default_rng(3)
    x = rng.exponential(size=(4001, 1))
    weight = rng.uniform(0.5, 2, 4001) if weighted else None
    found = QuantileSketch.of(x, weight, rng)
    values, weights = found.values[0], found.weights[0]
    assert len(values) <= 102
    whole = np.ones(4001) if weight is None else weight
    assert weights.sum() == pytest.approx(whole.sum(), rel=1e-3)
    order = np.argsort(x[:, 0])
    share = np.cumsum(whole[order]) / whole.sum()
    exact = share[np.searchsorted(x[order, 0], values)]
    # All rows but one are in the sample.
    assert np.abs(np.cumsum(weights) / weights.sum() - exact).max() <= 1 / 100 + 2e-3


def test_reductions_move_ranks_by_their_share(monkeypatch):
    monkeypatch.setattr(quantile_sketch, "MOST", 2000)
    monkeypatch.setattr(quantile_sketch, "KEPT", 500)
    rng = np.random.default_rng(2)
    x = rng.exponential(size=(10_000, 1))
    weight = rng.uniform(0.5, 2, 10_000)
    total = sketch_of(x, weight, np.arange(1000, 10_000, 1000))
    assert len(total.values[0]) <= 2000
    assert total.weights[0].sum() == pytest.approx(weight.sum())
    order = np.argsort(x[:, 0])
    exact = np.cumsum(weight[order])[np.searchsorted(x[order, 0], total.values[0])]
    reductions = 5  # each time 2,000 points have come together
    error = np.abs(np.cumsum(total.weights[0]) - exact).max() / weight.sum()
    assert error <= reductions / 500


@pytest.mark.parametrize(
    ("estimator", "n_most"),
    [
        (GradientBoostingClassifier, ["SAMPLE", "MOST"]),
        (GradientBoostingRegressor, ["SAMPLE", "MOST"]),
    ],
)
def test_the_numbers_of_rows_that_docstrings_tell(estimator, n_most):
    for name in n_most:
        assert f"{getattr(quantile_sketch, name):,}" in estimator.__doc__


def test_the_numbers_of_rows_that_the_guide_tells():
    guide = Path(__file__).parents[1] / "docs" / "user_guide"
    page = (guide / "larger_than_memory.md").read_text(encoding="utf-8")
    assert f"{quantile_sketch.SAMPLE:,} rows of each chunk" in page
    of_splines = (guide / "smoothing.md").read_text(encoding="utf-8")
    assert f"no chunk has more than {quantile_sketch.SAMPLE:,} rows" in of_splines
    assert f"all together have at most {quantile_sketch.MOST:,}" in of_splines
