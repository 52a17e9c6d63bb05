"""Stages of the logistic loss from sums over chunks are those of all rows."""

import numpy as np
import pytest

from sklearn_ensemble_theory._blocks import PassCount
from sklearn_ensemble_theory.boosting._additive.bins import FeatureBins
from sklearn_ensemble_theory.boosting._additive.logistic_loss import (
    ChunkedLogisticFits,
    LogisticFits,
)
from sklearn_ensemble_theory.boosting._additive.phases import (
    BinnedRows,
    LabelledRows,
)

from ..local_blocks import LocalBlocks

N_BINS = 6


def binned(n=300, n_classes=3, weighted=True, n_splits=3):
    rng = np.random.default_rng(1)
    X = rng.random((n, 3))
    X[:40, 1] = np.nan
    edges = [np.linspace(0.2, 0.8, N_BINS - 1)] * 3
    bins = FeatureBins.of(edges, np.isnan(X).any(axis=0), [None] * 3)
    weight = rng.integers(1, 4, n).astype(float) if weighted else None
    folds = rng.integers(0, n_splits, n).astype(np.uint8) if n_splits else None
    rows = BinnedRows(bins.codes(X), bins.layout(), weight, folds, n_splits)
    return rows, np.sort(rng.integers(0, n_classes, n))  # chunks without some classes


def cut(rows, y, starts):
    """Blocks of the rows, the first of them without any."""
    parts = [np.split(a, starts) for a in (rows.codes, y)]
    optional = [
        [None] * len(parts[0]) if a is None else np.split(a, starts)
        for a in (rows.weight, rows.folds)
    ]
    blocks = [
        LabelledRows(BinnedRows(codes, rows.layout, weight, folds, rows.n_splits), own)
        for codes, own, weight, folds in zip(*parts, *optional)
    ]
    return LocalBlocks([None, *blocks])


def moved(models, size):
    """Models with other functions."""
    rng = np.random.default_rng(2)
    models = [model.copy() for model in models]
    for model in models:
        for score in range(len(model.tables)):
            model.add(score, [size * rng.standard_normal(N_BINS), None, None])
    return models


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_splits", [0, 3])
def test_stages_are_those_of_all_rows(n_classes, weighted, n_splits):
    rows, y = binned(300, n_classes, weighted, n_splits)
    whole = LogisticFits(rows, y, n_classes)
    blocks, count = cut(rows, y, [1, 130, 131]), PassCount()
    parts = ChunkedLogisticFits(blocks, rows.layout, n_classes, n_splits, count)
    models = parts.start()
    for one, other in zip(models, whole.start(), strict=True):
        np.testing.assert_allclose(one.intercepts, other.intercepts, rtol=1e-13)
    np.testing.assert_allclose(parts.per_square, whole.per_square, rtol=1e-13)
    passes = [count.n]
    # The second stage keeps the second derivatives of the first one, the third has its own.
    for size, tolerance in ((0.0, 0.1), (0.01, 0.1), (2.0, 0.1)):
        models = moved(models, size)
        stage, expected = parts.open(models, tolerance), whole.open(models, tolerance)
        np.testing.assert_allclose(stage.train_loss, expected.train_loss, rtol=1e-12)
        np.testing.assert_allclose(stage.held_losses, expected.held_losses, rtol=1e-12)
        for one, other in zip(stage.models, expected.models, strict=True):
            np.testing.assert_allclose(one.intercepts, other.intercepts, rtol=0, atol=1e-12)
        for own, theirs in zip(stage.states, expected.states, strict=True):
            for state, same in zip(own, theirs, strict=True):
                np.testing.assert_allclose(state.values, same.values, rtol=0, atol=1e-10)
                np.testing.assert_allclose(state.start_squares, same.start_squares, rtol=1e-11)
                np.testing.assert_allclose(state.start_held, same.start_held, rtol=1e-11)
                found, products = state.rows.of_feature(1), same.rows.of_feature(1)
                np.testing.assert_allclose(found, products, rtol=0, atol=1e-11)
        passes.append(count.n)
    assert np.diff(passes).tolist() == [1 + parts.n_scores, 1, 1 + parts.n_scores]


def test_weight_by_bin():
    rows, y = binned()
    parts = ChunkedLogisticFits(cut(rows, y, [100]), rows.layout, 3, 3, PassCount())
    for j, found in enumerate(parts.bin_weights):
        np.testing.assert_allclose(
            found, np.bincount(rows.codes[:, j], rows.weight, rows.layout.n_bins[j])
        )


def test_a_fold_without_rows_is_refused():
    rows, y = binned()
    rows.folds[rows.folds == 2] = 1
    with pytest.raises(ValueError, match="weight in its test set"):
        ChunkedLogisticFits(cut(rows, y, [100]), rows.layout, 3, 3, PassCount())
