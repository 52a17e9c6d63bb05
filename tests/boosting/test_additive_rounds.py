"""Rounds on tables against rounds over the rows; stages of other losses, of blocks and of rows."""

import numpy as np
import pytest
from numpy.polynomial import legendre

from sklearn_ensemble_theory._blocks import PassCount
from sklearn_ensemble_theory.boosting._additive.bins import FeatureBins
from sklearn_ensemble_theory.boosting._additive.risk import (
    NewtonLossOfBlocks,
    NewtonLossOfRows,
    PointwiseLogistic,
    PointwiseOf,
    SquaredError,
)
from sklearn_ensemble_theory.boosting._additive.rounds import (
    BinnedRows,
    SmoothingRounds,
    TableStumps,
)
from sklearn_ensemble_theory.boosting._additive.sums import CutLayout
from sklearn_ensemble_theory.boosting.losses import HuberLoss, PoissonLoss, QuantileLoss

from ..local_blocks import LocalBlocks
from .additive_data import RowRounds, mixed_data


def states_of(codes, layout, weight, y, folds=None, n_splits=0, max_memory=1024, by_rows=False):
    rows = BinnedRows(codes, layout, y, weight, folds, n_splits)
    risk = SquaredError.of_rows(rows, max_memory)
    return [own[0] for own in risk.open(risk.start(), by_rows=by_rows).states]


def fit_at_rows(rounds, codes):
    cuts = rounds.state.cuts
    tables = cuts.tables(rounds.path.coefficients(cuts))
    return sum(t[codes[:, j]] for j, t in enumerate(tables) if t is not None)


@pytest.mark.slow
@pytest.mark.parametrize("by_rows", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_all_rounds_are_those_over_the_rows(weighted, by_rows):
    codes, layout, weight, y, folds = mixed_data()
    weight = weight if weighted else np.ones(len(y))
    y = y + 1.5 * (codes[:, 0] > 3) + 1.0 * (codes[:, 1] == 6)
    jumps = [int(layout.offsets[0]) + 3]
    states = states_of(codes, layout, weight if weighted else None, y, folds, 3, by_rows=by_rows)
    for number, state in enumerate(states):
        train = np.ones(len(y), bool) if number == 0 else folds != number - 1
        plain = RowRounds(codes, layout, weight, y, train)
        fitted = y - plain.residual
        smooth = SmoothingRounds(state, jumps)
        held, errors = state.start_held, [weight[~train] @ plain.residual[~train] ** 2]
        square = weight[train] @ plain.residual[train] ** 2
        assert state.start_squares == pytest.approx(square)
        taken = []
        for _ in range(40):
            smooth.run(1)
            plain.smooth(jumps=[(0, 3)])
            errors.append(weight[~train] @ plain.residual[~train] ** 2)
            taken.append(int(smooth.path.chosen[-1]))
            expected = y - plain.residual
            got = fitted + fit_at_rows(smooth, codes)
            np.testing.assert_allclose(got, expected, rtol=0, atol=1e-8)
        assert len(set(taken)) == 5  # both ordered features, the jump, the missing, the categories
        if number:
            path = held + np.concatenate([[0], np.cumsum(smooth.held_changes)])
            np.testing.assert_allclose(path, errors, rtol=1e-8)
            held = path[-1]
        if by_rows:  # which smoothing rounds alone can have
            continue
        fitted = y - plain.residual
        stumps, start = TableStumps(state, 0.2), weight[train] @ plain.residual[train] ** 2
        stumps.run(30)
        errors, squares = [weight[~train] @ plain.residual[~train] ** 2], [start]
        for _ in range(30):
            plain.stump(0.2)
            errors.append(weight[~train] @ plain.residual[~train] ** 2)
            squares.append(weight[train] @ plain.residual[train] ** 2)
        got = fitted + fit_at_rows(stumps, codes)
        np.testing.assert_allclose(got, y - plain.residual, rtol=0, atol=1e-8)
        np.testing.assert_allclose(start - np.cumsum(stumps.falls), squares[1:], rtol=1e-9)
        assert stumps.sets
        if number:
            path = held + np.concatenate([[0], np.cumsum(stumps.held_changes)])
            np.testing.assert_allclose(path, errors, rtol=1e-8)


@pytest.mark.parametrize("degree", [1, 2, 3, 4])
def test_eigenvalues_of_a_smoothing_round(degree):
    """1/(d (d + 1)), for the Legendre polynomials of the ranks [Anderson and Darling 1952]."""
    n_bins = 400
    codes = np.asfortranarray(np.arange(n_bins, dtype=np.uint16)[:, None])
    rank = (2 * np.arange(n_bins) + 1) / n_bins - 1
    y = legendre.Legendre.basis(degree)(rank)
    (state,) = states_of(codes, CutLayout([n_bins]), None, y)
    rounds = SmoothingRounds(state)
    rounds.run(1)
    fitted = fit_at_rows(rounds, codes)
    ratio = fitted @ y / (y @ y)
    assert ratio == pytest.approx(1 / (degree * (degree + 1)), rel=0.005)
    assert np.linalg.norm(fitted - ratio * y) < 0.01 * np.linalg.norm(fitted)


def test_the_best_set_is_the_best_of_all():
    rng = np.random.default_rng(0)
    layout = CutLayout([6], [True], [True])
    for seed in range(20):
        codes = np.asfortranarray(rng.integers(0, 6 - seed % 2, (60, 1)).astype(np.uint8))
        weight, y = rng.exponential(size=60), rng.standard_normal(60)
        (state,) = states_of(codes, layout, weight, y)
        rounds = TableStumps(state, 1.0, row_weight=0.0)  # means as they are
        rounds.run(1)
        plain = RowRounds(codes, layout, weight, y, np.ones(60, bool))
        plain.stump(1.0, cat_smooth=0.0)
        got = fit_at_rows(rounds, codes) + np.average(y, weights=weight)
        np.testing.assert_allclose(got, y - plain.residual, atol=1e-11)


def test_constrained_features_have_no_smoothing_rounds_and_no_jumps():
    rng = np.random.default_rng(0)
    codes = np.asfortranarray(rng.integers(0, 8, (300, 2)).astype(np.uint8))
    y = -2.0 * (codes[:, 0] > 3) + 0.1 * codes[:, 1]
    (state,) = states_of(codes, CutLayout([8, 8]), None, y)
    rounds = SmoothingRounds(state, jumps=[3], monotonic=np.array([1, 0]))
    rounds.run(20)
    assert set(rounds.candidates.starts[rounds.path.chosen]) == {7}
    assert set(rounds.path.widths) == {7}


def test_missing_values_of_a_feature_without_thresholds_are_smoothed():
    codes = np.asfortranarray((np.arange(40)[:, None] % 4 == 0).astype(np.uint8))
    y = np.where(codes[:, 0] == 1, 3.0, -1.0)
    (state,) = states_of(codes, CutLayout([2], [True]), None, y)
    rounds = SmoothingRounds(state)
    rounds.run(3)
    np.testing.assert_allclose(fit_at_rows(rounds, codes) + y.mean(), y, atol=1e-12)
    assert rounds.n_run == 1
    assert rounds.exhausted


def test_rows_of_products_that_do_not_fit_into_memory_are_computed_again():
    steps = np.empty(0)
    codes, layout, weight, y, folds = mixed_data()
    # 3 groups, products of 4 models: 10 arrays of 18 cuts
    each = (3 + 1 + 2 * 3) * layout.n_cuts * 8 / 2**20
    for max_cuts in (layout.n_cuts, 6):
        states = states_of(codes, layout, weight, y, folds, 3, max_memory=each * (max_cuts + 0.5))
        rounds = TableStumps(states[2], 0.1)
        rounds.run(100)
        if max_cuts == 6:
            np.testing.assert_allclose(rounds.path.steps, steps, atol=1e-12)
        steps = rounds.path.steps
    with pytest.raises(ValueError, match="working_memory"):
        states_of(codes, layout, weight, y, folds, 3, max_memory=each / 2)


# --- losses that are not squared, of rows in blocks -----------------------------------------------

N_BINS = 6


def binned(n=300, n_classes=3, weighted=True, n_splits=3):
    rng = np.random.default_rng(1)
    X = rng.random((n, 3))
    X[:40, 1] = np.nan
    edges = [np.linspace(0.2, 0.8, N_BINS - 1)] * 3
    bins = FeatureBins(edges, np.isnan(X).any(axis=0), [None] * 3)
    weight = rng.integers(1, 4, n).astype(float) if weighted else None
    folds = rng.integers(0, n_splits, n).astype(np.uint8) if n_splits else None
    y = np.sort(rng.integers(0, n_classes, n))  # blocks without some classes
    return BinnedRows(bins.codes(X), bins.layout(), y, weight, folds, n_splits)


def cut(rows, starts):
    """Blocks of the rows, the first of them without any."""
    parts = [np.split(a, starts) for a in (rows.codes, rows.y)]
    optional = [
        [None] * len(parts[0]) if a is None else np.split(a, starts)
        for a in (rows.weight, rows.folds)
    ]
    blocks = [
        BinnedRows(codes, rows.layout, y, weight, folds, rows.n_splits)
        for codes, y, weight, folds in zip(*parts, *optional)
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


LOSSES = {
    "two classes": PointwiseLogistic(2),
    "three classes": PointwiseLogistic(3),
    "Poisson": PointwiseOf(PoissonLoss()),
    "quantile": PointwiseOf(QuantileLoss(0.701)),
    "Huber": PointwiseOf(HuberLoss(0.8)),
}


@pytest.mark.parametrize("kind", LOSSES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_splits", [0, 3])
def test_stages_are_those_of_all_rows(kind, weighted, n_splits):
    loss = LOSSES[kind]
    is_of_classes = isinstance(loss, PointwiseLogistic)
    rows = binned(300, loss.n_classes if is_of_classes else 5, weighted, n_splits)
    if not is_of_classes:
        rows.y = rows.y + (kind != "Poisson") * np.random.default_rng(3).random(len(rows.y))
    whole = NewtonLossOfRows(rows, loss)
    blocks, count = cut(rows, [1, 130, 131]), PassCount()
    parts = NewtonLossOfBlocks(blocks, rows.layout, loss, n_splits, count)
    models = parts.start()
    for one, other in zip(models, whole.start(), strict=True):
        np.testing.assert_allclose(one.intercepts, other.intercepts, rtol=1e-12)
    np.testing.assert_allclose(parts.per_square, whole.per_square, rtol=1e-13)
    passes = [count.n]
    # The second stage keeps the second derivatives of the first one, the third has its own.
    for size, tolerance in ((0.0, 0.1), (0.01, 0.1), (2.0, 0.1)):
        models = moved(models, size)
        stage, expected = parts.open(models, tolerance), whole.open(models, tolerance)
        np.testing.assert_allclose(stage.losses, expected.losses, rtol=1e-12)
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
    if is_of_classes:
        assert np.diff(passes).tolist() == [1 + parts.n_scores, 1, 1 + parts.n_scores]


def test_weight_by_bin():
    rows = binned()
    parts = NewtonLossOfBlocks(cut(rows, [100]), rows.layout, PointwiseLogistic(3), 3, PassCount())
    for j, found in enumerate(parts.bin_weights):
        for fold, own in enumerate(found):
            here, n_bins = rows.folds == fold, rows.layout.n_bins[j]
            expected = np.bincount(rows.codes[here, j], rows.weight[here], n_bins)
            np.testing.assert_allclose(own, expected)


def test_a_fold_without_rows_is_refused():
    rows = binned()
    rows.folds[rows.folds == 2] = 1
    with pytest.raises(ValueError, match="weight in its test set"):
        NewtonLossOfBlocks(cut(rows, [100]), rows.layout, PointwiseLogistic(3), 3, PassCount())
