"""Boosting over pairs on tables against the plain loop, which touches the rows in every step."""

import numpy as np
import pytest

from .pairs_data import (
    LEARNING_RATES,
    MIN_SHARE,
    AdditiveFit,
    PairBoost,
    correlated_weight,
    inverse_weights,
    product_data,
    purify,
    quadrant_steps,
    uniform_codes,
)

PAIRS = [(0, 1), (2, 3), (1, 2)]


def plain_step(kind, x, z, residual, weight, shape):
    """One step, by loops over all cuts; what it predicts for all cells."""
    total = weight.sum()
    fits, gains = [], []
    for i in range(shape[0] - 1):
        for j in range(shape[1] - 1):
            quadrant = 2 * (x > i) + (z > j)
            mass = np.bincount(quadrant, weight, 4)
            if mass.min() <= 0 or mass.min() < MIN_SHARE * total:
                continue
            sums = np.bincount(quadrant, weight * residual, 4)
            values = sums / mass
            fits.append(values[2 * (np.arange(shape[0]) > i)[:, None] + (np.arange(shape[1]) > j)])
            gains.append(values @ sums)
    fit = np.mean(fits, axis=0) if kind == "averaged" else fits[int(np.argmax(gains))]
    return LEARNING_RATES[kind] * fit


def additive_part(x, z, residual, weight, n_bins):
    """The predictions of least squares by dummies of both features."""
    design = np.column_stack([np.eye(n_bins)[x], np.eye(n_bins)[z]])
    root = np.sqrt(weight)
    return design @ np.linalg.lstsq(design * root[:, None], residual * root, rcond=None)[0]


def plain_visits(codes, residuals, weights, schedule, n_bins):
    """The tables of all members; `residuals` are changed in every step."""
    tables = [np.zeros((len(residuals), n_bins, n_bins)) for _ in PAIRS]
    for visit in schedule:
        x, z = (codes[:, j].astype(int) for j in PAIRS[visit.pair])
        for k, (residual, weight) in enumerate(zip(residuals, weights)):
            train = weight > 0
            rows = x[train], z[train]
            target, w = residual[train], weight[train]
            target = target - additive_part(*rows, target, w, n_bins)
            for _ in range(visit.n_steps):
                step = plain_step(visit.kind, *rows, target, w, (n_bins, n_bins))
                target = target - step[rows]
                residual -= step[x, z]
                tables[visit.pair][k] += step
    return tables


def residuals_of_folds(residual, n_folds, seed=0):
    """Residuals of different models of main effects, and folds."""
    rng = np.random.default_rng(seed)
    shifts = 0.05 * rng.standard_normal((n_folds, len(residual)))
    return residual + shifts, rng.integers(n_folds, size=len(residual)).astype(np.uint8)


@pytest.mark.parametrize("coarse", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_path_is_that_of_the_plain_loop(weighted, coarse):
    codes, residual = product_data(600, p=4, n_bins=6)
    residual = residual + (codes[:, 2] > 2) * (codes[:, 3] > 3)
    weight = np.random.default_rng(5).exponential(size=600) if weighted else None
    residuals, folds = residuals_of_folds(residual, 3)
    plain = residuals.copy()
    if coarse:  # each bin is one of seven fine ones
        within = np.random.default_rng(6).integers(7, size=codes.shape)
        fine = np.asfortranarray(7 * codes + within, np.uint16)
        boost = PairBoost(fine, np.full(4, 42), PAIRS, weight, max_bins=6)
        codes = np.column_stack([m[column] for m, column in zip(boost.bins.maps, fine.T)])
    else:
        boost = PairBoost(codes, np.full(4, 6), PAIRS, weight)
    path = boost.run(residuals, folds, max_sweeps=6)
    kinds = {visit.kind for visit in path.schedule}
    assert kinds == {"averaged", "best"}
    w = np.ones(600) if weight is None else weight
    train = [w * (folds != k) for k in range(3)]
    before = plain.copy()
    tables = plain_visits(codes, plain, train, path.schedule, 6)
    for found, expected in zip(path.tables, tables):
        np.testing.assert_allclose(found, expected, atol=1e-12)
    np.testing.assert_allclose(residuals, plain, atol=1e-12)
    held = [w * (folds == k) for k in range(3)]
    for errors, weights in [(path.train_path, train), (path.held_path, held)]:
        for row, rest in [(0, before), (-1, residuals)]:
            expected = [np.average(r**2, weights=v) for r, v in zip(rest, weights)]
            np.testing.assert_allclose(errors[row], expected, rtol=1e-10)


@pytest.mark.parametrize("kind", LEARNING_RATES)
@pytest.mark.parametrize("shape", [(7, 5), (1, 5), (5, 1), (2, 2), (6, 21)])
def test_steps_on_one_table_are_those_of_the_plain_loop(kind, shape):
    weight = correlated_weight(shape)
    sums = np.random.default_rng(0).standard_normal(shape) * np.sqrt(weight)
    inverse = inverse_weights(weight)
    found, expected = quadrant_steps(kind, sums, weight, inverse, 5), np.zeros(shape)
    if inverse.any():
        # Every cell is a row, whose residual is the mean of the cell.
        x, z = np.indices(shape).reshape(2, -1)
        mean = np.divide(sums, weight, out=np.zeros(shape), where=weight > 0)
        for _ in range(5):
            rest = (mean - expected).ravel()
            expected += plain_step(kind, x, z, rest, weight.ravel(), shape)
    np.testing.assert_allclose(found, expected, atol=1e-13)
    assert found.any() == inverse.any()


def test_averaged_step_is_the_expected_step_by_a_random_cut():
    weight = correlated_weight() + 1
    sums = np.random.default_rng(1).standard_normal(weight.shape) * weight
    fits = []
    for i in range(weight.shape[0] - 1):
        for j in range(weight.shape[1] - 1):
            fit = np.empty(weight.shape)
            for rows in (slice(0, i + 1), slice(i + 1, None)):
                for columns in (slice(0, j + 1), slice(j + 1, None)):
                    fit[rows, columns] = sums[rows, columns].sum() / weight[rows, columns].sum()
            fits.append(fit)
    step = quadrant_steps("averaged", sums, weight, inverse_weights(weight), 1)
    np.testing.assert_allclose(step, np.mean(fits, axis=0), atol=1e-13)


def test_squares_never_rise_on_the_training_rows():
    """The means over cuts of projections: steps by all of it do not overshoot."""
    weight = correlated_weight() + 0.1
    sums = np.random.default_rng(2).standard_normal(weight.shape) * weight
    inverse, fall = inverse_weights(weight), []
    for n_steps in range(1, 60):
        added = quadrant_steps("averaged", sums, weight, inverse, n_steps)
        fall.append(np.sum(added * (weight * added - 2 * sums)))
    assert (np.diff(fall) <= 1e-12).all()


def test_integer_weights_are_repeated_rows():
    codes, residual = product_data(800, p=4, strength=0.5, n_bins=12)
    counts = np.random.default_rng(0).integers(1, 4, size=800)
    rows = np.repeat(np.arange(800), counts)
    residuals, folds = residuals_of_folds(residual, 3)
    again = np.ascontiguousarray(residuals[:, rows])
    weighted = PairBoost(codes, np.full(4, 12), PAIRS, counts.astype(float), max_bins=6)
    one = weighted.run(residuals, folds, max_sweeps=5)
    repeated = PairBoost(np.asfortranarray(codes[rows]), np.full(4, 12), PAIRS, max_bins=6)
    other = repeated.run(again, folds[rows], max_sweeps=5)
    assert one.schedule == other.schedule
    for a, b in zip(one.tables, other.tables):
        np.testing.assert_allclose(a, b, atol=1e-11)
    np.testing.assert_allclose(residuals[:, rows], again, atol=1e-11)
    for t in range(3):
        np.testing.assert_allclose(weighted.cell_weights(t), repeated.cell_weights(t))


def test_held_out_error_never_rises_and_noise_gets_few_steps():
    codes, residual = product_data(5000, p=8, strength=0.7)
    residuals, folds = residuals_of_folds(residual, 5)
    pairs = [(0, 1), (2, 3), (4, 5), (6, 7)]
    path = PairBoost(codes, np.full(8, 16), pairs).run(residuals, folds)
    mean = path.held_path.mean(axis=1)
    assert (np.diff(mean) <= 0).all()
    assert mean[0] - mean[-1] > 0.9 * 0.49
    tables = [table.mean(axis=0) for table in path.tables]
    product = np.outer(np.arange(16) - 7.5, np.arange(16) - 7.5)
    product *= 0.7 / product.std()
    assert np.mean((tables[0] - product) ** 2) < 0.02  # a mean in each cell has 256 / 5000 = 0.05
    assert max(np.mean(table**2) for table in tables[1:]) < 0.005


def test_a_jump_and_a_product_get_different_steps():
    codes = uniform_codes(20_000, 4)
    noise = np.random.default_rng(1).standard_normal(20_000)
    jump = np.sign(codes[:, 0] - 7.5) * np.sign(codes[:, 1] - 4.5)
    product = (codes[:, 2] - 7.5) * (codes[:, 3] - 7.5) / 21.25
    residuals, folds = residuals_of_folds(noise + jump + product, 3)
    path = PairBoost(codes, np.full(4, 16), [(0, 1), (2, 3)]).run(residuals, folds)
    n_steps = {(t, kind): 0 for t in range(2) for kind in LEARNING_RATES}
    for visit in path.schedule:
        n_steps[visit.pair, visit.kind] += visit.n_steps
    assert n_steps[0, "best"] > n_steps[0, "averaged"]
    assert n_steps[1, "averaged"] > n_steps[1, "best"]


def test_tables_are_looked_up_by_the_maps():
    codes, residual = product_data(3000, p=4, n_bins=100)
    residuals, folds = residuals_of_folds(residual, 3)
    before = residuals.copy()
    boost = PairBoost(codes, np.full(4, 100), PAIRS, max_bins=8)
    path = boost.run(residuals, folds, max_sweeps=3)
    maps = boost.bins.maps
    for k in range(3):
        predicted = sum(
            table[k][maps[a][codes[:, a]], maps[b][codes[:, b]]]
            for (a, b), table in zip(PAIRS, path.tables)
        )
        np.testing.assert_allclose(before[k] - predicted, residuals[k], atol=1e-12)


def test_members_need_rows_on_both_sides():
    codes, residual = product_data(50, p=4)
    boost = PairBoost(codes, np.full(4, 16), PAIRS)
    with pytest.raises(ValueError, match="Member 0 has no row"):
        boost.run(np.stack([residual, residual]), np.zeros(50, np.uint8))


def test_features_with_one_bin_are_left_alone():
    codes = uniform_codes(200, 2)
    codes[:, 0] = 0
    residual = np.random.default_rng(0).standard_normal((2, 200))
    left = residual.copy()
    path = PairBoost(codes, np.array([1, 16]), [(0, 1)]).run(left, np.arange(200) % 2)
    assert path.schedule == []
    np.testing.assert_array_equal(left, residual)


def test_main_effects_stay_in_the_residuals():
    """In a pair without an interaction, of features whose main effects are left over."""
    codes = uniform_codes(4000, 2, 12)
    noise = np.random.default_rng(0).standard_normal(4000)
    residual = noise + (codes[:, 0] - 5.5) / 3 + (codes[:, 1] > 7)
    residuals, folds = residuals_of_folds(residual, 4)
    boost = PairBoost(codes, np.full(2, 12), [(0, 1)])
    path = boost.run(residuals, folds)
    table, weight = path.tables[0].mean(axis=0), boost.cell_weights(0)
    row, column = AdditiveFit(weight)(table * weight)
    size = np.average((row[:, None] + column) ** 2, weights=weight)
    assert size < 0.01


def test_purified_pairs_give_the_same_predictions():
    """With main effects on finer bins than those of the table."""
    codes, residual = product_data(2000, p=3, n_bins=60)
    codes[:, 1] = np.minimum(codes[:, 0] // 2 + codes[:, 1] // 2, 59)  # correlated
    residuals, folds = residuals_of_folds(residual, 3)
    boost = PairBoost(codes, np.full(3, 60), [(0, 1)], max_bins=10)
    table = boost.run(residuals, folds).tables[0].mean(axis=0) + np.arange(10)[:, None] ** 2
    first, second = (boost.bins.maps[j][codes[:, j]] for j in (0, 1))
    pure = purify(table, boost.cell_weights(0))
    main = [effect[boost.bins.maps[j]] for j, effect in enumerate([pure.row, pure.column])]
    parts = [pure.constant, main[0][codes[:, 0]], main[1][codes[:, 1]], pure.table[first, second]]
    np.testing.assert_allclose(sum(parts), table[first, second], atol=1e-12)
    for part in parts[1:]:
        assert part.mean() == pytest.approx(0, abs=1e-12)
    for margin in (first, second):
        sums = np.bincount(margin, parts[3])
        np.testing.assert_allclose(sums, 0, atol=1e-10 * np.abs(table).max() * len(codes))
