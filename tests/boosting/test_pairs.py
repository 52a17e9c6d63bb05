"""Pairs of features: which are asked for, their bins, detection and purification."""

import numpy as np
import pytest

from . import pairs_data
from .pairs_data import (
    AdditiveFit,
    additive_rest,
    coarse_bins,
    correlated_weight,
    detect_pairs,
    interaction_gains,
    isotonic_table,
    ordered_bins,
    product_data,
    purify,
    resolve_interactions,
    uniform_codes,
)

# --- the parameter ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("interactions", "n_features", "found"),
    [
        (0, 5, 0),
        (3, 5, 3),
        (11, 5, 10),
        (np.int64(2), 5, 2),
        (0.9, 20, 18),
        (0.35, 20, 7),
        (1.01, 20, 21),
        (50.0, 20, 190),
        ("auto", 5, "auto"),
        ("auto", 1, 0),
        (4, 1, 0),
        ([(1, 0), (2, 4)], 5, [(0, 1), (2, 4)]),
        (np.array([[3, 2]]), 5, [(2, 3)]),
        ([], 5, []),
    ],
)
def test_interactions_that_are_asked_for(interactions, n_features, found):
    assert resolve_interactions(interactions, n_features) == found


@pytest.mark.parametrize(
    ("interactions", "error", "message"),
    [
        (-1, ValueError, "non-negative number of pairs"),
        (-0.5, ValueError, "non-negative number of pairs"),
        (np.nan, ValueError, "non-negative number of pairs"),
        (np.inf, ValueError, "non-negative number of pairs"),
        (True, TypeError, "non-negative number of pairs"),
        ("all", ValueError, "got 'all'"),
        (None, TypeError, "got None"),
        ([(0, 1, 2)], ValueError, r"interactions\[0\] must be a pair"),
        ([(0, 1), "ab"], ValueError, r"interactions\[1\] must be a pair"),
        ([(0, 1.0)], ValueError, r"interactions\[0\] must be a pair"),
        ([(0, 5)], ValueError, "the features are 0 to 4"),
        ([(-1, 2)], ValueError, "the features are 0 to 4"),
        ([(2, 2)], ValueError, "with itself"),
        ([(0, 2), (2, 0)], ValueError, "twice"),
    ],
)
def test_interactions_that_are_refused(interactions, error, message):
    with pytest.raises(error, match=message):
        resolve_interactions(interactions, 5)


# --- coarse bins ------------------------------------------------------------------------------


def test_coarse_bins_have_about_the_same_weight():
    codes = uniform_codes(5000, 2, 200)
    weight = np.random.default_rng(0).exponential(size=5000) * (1 + codes[:, 0])
    bins = coarse_bins(codes, np.array([200, 200]), 10, weight)
    np.testing.assert_array_equal(bins.n_bins, [10, 10])
    for j in range(2):
        assert (np.diff(bins.maps[j].astype(int)) >= 0).all()
        share = np.bincount(bins.maps[j][codes[:, j]], weight) / weight.sum()
        np.testing.assert_allclose(share, 0.1, atol=0.02)


def test_missing_values_and_categories_keep_their_bins():
    codes = uniform_codes(3000, 4, 40)
    flags = {"missing": np.array([1, 0, 1, 0], bool), "categorical": np.array([0, 0, 1, 1], bool)}
    bins = coarse_bins(codes, np.full(4, 40), 8, **flags)
    np.testing.assert_array_equal(bins.n_bins, [9, 8, 40, 40])
    assert bins.maps[0][-1] == 8
    assert bins.maps[0][:-1].max() == 7
    np.testing.assert_array_equal(bins.maps[2], np.arange(40))
    np.testing.assert_array_equal(bins.unordered, flags["categorical"])
    few = coarse_bins(codes, np.full(4, 40), 64, **flags)
    assert all((m == np.arange(40)).all() for m in few.maps)


def test_a_heavy_bin_stays_alone_and_empty_ones_are_merged():
    codes = np.asfortranarray(np.repeat([0, 3, 6, 9], [10, 1000, 10, 10])[:, None].astype(np.uint8))
    (lookup,) = coarse_bins(codes, np.array([10]), 4).maps
    assert len(np.unique(lookup[[0, 3, 6]])) == 3
    assert (np.diff(lookup.astype(int)) >= 0).all()


# --- purification -----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["correlated", "product", "blocks", "diagonal", "one"])
def test_purified_tables_have_no_margins_and_the_same_sum(kind):
    weight = {
        "correlated": correlated_weight(),
        "product": np.outer(np.arange(1, 8), np.arange(1, 6)) * 1e-3,
        "blocks": np.kron(np.eye(2), np.ones((3, 2))),
        "diagonal": np.eye(6)[:, :5] + 1e-6,
        "one": np.eye(1),
    }[kind]
    table = np.random.default_rng(1).standard_normal(weight.shape) * 100
    pure = purify(table, weight)
    total = pure.constant + pure.row[:, None] + pure.column + pure.table
    np.testing.assert_allclose(total, table, rtol=0, atol=1e-11 * np.abs(table).max())
    scale = np.abs(table).max() * weight.sum()
    for axis in (0, 1):
        margin = (pure.table * weight).sum(axis=axis)
        np.testing.assert_allclose(margin, 0, atol=1e-10 * scale)
        own = weight.sum(axis=axis)
        means = np.divide(margin, own, out=np.zeros(len(own)), where=own > 0)
        np.testing.assert_allclose(means, 0, atol=1e-10 * np.abs(table).max())
    assert pure.row @ weight.sum(axis=1) == pytest.approx(0, abs=1e-10 * scale)
    assert pure.column @ weight.sum(axis=0) == pytest.approx(0, abs=1e-10 * scale)


def test_purification_is_the_limit_of_subtracting_means():
    weight = correlated_weight() + 0.5
    table = np.random.default_rng(2).standard_normal(weight.shape)
    rest = table.copy()
    for _ in range(5000):
        rest -= np.average(rest, axis=1, weights=weight)[:, None]
        rest -= np.average(rest, axis=0, weights=weight)
    np.testing.assert_allclose(purify(table, weight).table, rest, atol=1e-10)


def test_rows_and_columns_without_weight():
    weight = correlated_weight() + 1
    weight[2], weight[:, 3] = 0, 0
    table = np.random.default_rng(3).standard_normal(weight.shape)
    pure = purify(table, weight)
    total = pure.constant + pure.row[:, None] + pure.column + pure.table
    np.testing.assert_allclose(total, table, atol=1e-12)
    assert pure.table[2] @ weight.sum(axis=0) == pytest.approx(0, abs=1e-10)
    # The other rows and columns are purified as if the empty ones were not there.
    kept = np.ix_(np.arange(7) != 2, np.arange(5) != 3)
    np.testing.assert_allclose(
        pure.table[kept], purify(table[kept], weight[kept]).table, atol=1e-12
    )
    with pytest.raises(ValueError, match="weight must be positive"):
        purify(table, np.zeros_like(weight))


def test_additive_fit_is_least_squares():
    weight = correlated_weight()
    targets = np.random.default_rng(4).standard_normal((3, *weight.shape))
    a, b = weight.shape
    design = np.column_stack(
        [np.repeat(np.eye(a), b, axis=0), np.tile(np.eye(b), (a, 1))]
    ) * np.sqrt(weight).reshape(-1, 1)
    rows, columns = AdditiveFit(weight)(targets * weight)
    for target, row, column in zip(targets, rows, columns):
        best = np.linalg.lstsq(design, (np.sqrt(weight) * target).ravel(), rcond=None)[0]
        fitted = (row[:, None] + column)[weight > 0]
        np.testing.assert_allclose(fitted, (best[:a, None] + best[a:])[weight > 0], atol=1e-10)
        rest = additive_rest(target * weight, weight)
        np.testing.assert_allclose(
            rest[weight > 0], (weight * (target - row[:, None] - column))[weight > 0], atol=1e-9
        )


def test_the_rest_of_many_tables_is_that_of_each():
    weight = np.array([correlated_weight(), np.ones(correlated_weight().shape)])
    weight[1, :, 3], weight[1, 2] = 0, 0  # an empty row and an empty column
    weight = np.concatenate(
        [weight, [np.kron(np.eye(2), np.ones((8, 8)))[: weight.shape[1], : weight.shape[2]]]]
    )
    sums = weight * np.random.default_rng(0).standard_normal(weight.shape)
    for rest, own, of_table in zip(additive_rest(sums, weight), sums, weight):
        np.testing.assert_allclose(rest, additive_rest(own[None], of_table)[0], atol=1e-9)
        np.testing.assert_allclose(rest.sum(axis=0), 0, atol=1e-9)
        np.testing.assert_allclose(rest.sum(axis=1), 0, atol=1e-9)


# --- detection --------------------------------------------------------------------------------


def brute_force_gain(x, z, residual, weight, min_share=0.005):
    """The best quadrants on the residuals of the additive least-squares fit, over the rows."""
    root = np.sqrt(weight)
    design = np.column_stack([np.eye(x.max() + 1)[x], np.eye(z.max() + 1)[z]])
    effects = np.linalg.lstsq(design * root[:, None], residual * root, rcond=None)[0]
    rest = residual - design @ effects
    best = 0.0
    for i in range(x.max()):
        for j in range(z.max()):
            quadrant = 2 * (x > i) + (z > j)
            mass = np.bincount(quadrant, weight, 4)
            if mass.min() >= min_share * weight.sum():
                best = max(best, np.sum(np.bincount(quadrant, weight * rest, 4) ** 2 / mass))
    return best


@pytest.mark.parametrize("weighted", [False, True])
def test_gains_are_those_of_brute_force(weighted):
    rng = np.random.default_rng(0)
    codes, residual = product_data(400, p=4, strength=0.3, n_bins=6)
    codes[:, 2] = np.minimum(codes[:, 0] + rng.integers(3, size=400), 5)  # correlated
    residual += 0.5 * codes[:, 3]  # a main effect that is left over
    weight = rng.exponential(size=400) if weighted else None
    found = detect_pairs(codes, np.full(4, 6), residual, 6, weight)
    w = np.ones(400) if weight is None else weight
    by_pair = dict(zip(found.pairs, found.gains))
    assert len(by_pair) == 6
    for (a, b), gain in by_pair.items():
        assert gain == pytest.approx(brute_force_gain(codes[:, a], codes[:, b], residual, w))
    assert found.pairs[0] == (0, 1)
    assert (np.diff(found.gains) <= 0).all()


def test_gain_is_a_bound_on_the_joint_fit():
    """The fall of the squares by quadrants fitted jointly with any additive function."""
    rng = np.random.default_rng(0)
    weight = rng.poisson(30 * np.exp(-8 * np.subtract.outer(np.arange(6), np.arange(5)) ** 2 / 25))
    weight = weight + 1.0
    sums = weight * rng.standard_normal((20, 6, 5))
    gains = interaction_gains(sums, weight)
    falls = np.zeros(20)
    pure = additive_rest(sums, weight)
    for i in range(5):
        for j in range(4):
            quadrant = np.zeros((6, 5))
            quadrant[: i + 1, : j + 1] = 1
            own = additive_rest(quadrant * weight, weight) / weight
            falls = np.maximum(
                falls, (pure * quadrant).sum(axis=(1, 2)) ** 2 / (weight * own**2).sum()
            )
    assert (gains <= falls * (1 + 1e-12)).all()
    independent = np.outer(np.arange(1, 7), np.arange(1, 6))  # there both are the same
    sums = independent * rng.standard_normal((6, 5))
    quadrant = np.zeros((6, 5))
    quadrant[:3, :2] = 1
    pure = purify(sums / independent, independent).table * independent
    own = purify(quadrant, independent).table
    fall = (pure * quadrant).sum() ** 2 / (independent * own**2).sum()
    means = [
        pure[rows, columns].sum() ** 2 / independent[rows, columns].sum()
        for rows in (slice(0, 3), slice(3, 6))
        for columns in (slice(0, 2), slice(2, 5))
    ]
    assert sum(means) == pytest.approx(fall)


def test_rows_are_counted_in_coarse_bins():
    codes, residual = product_data(3000, p=5, strength=0.2, n_bins=40)
    flags = {"missing": np.array([1, 0, 0, 1, 0], bool), "categorical": np.arange(5) == 4}
    bins = coarse_bins(codes, np.full(5, 40), 8, **flags)
    merged = np.column_stack([m[column] for m, column in zip(bins.maps, codes.T)])
    merged = np.asfortranarray(merged.astype(np.uint8))
    for n in (10, "auto"):
        found = detect_pairs(codes, np.full(5, 40), residual, n, max_bins=8, **flags)
        expected = detect_pairs(merged, bins.n_bins, residual, n, **flags)
        assert found.pairs == expected.pairs
        np.testing.assert_allclose(found.gains, expected.gains, rtol=1e-9)
        np.testing.assert_allclose(found.p_values, expected.p_values, rtol=1e-9)


def test_groups_of_pairs_do_not_matter(monkeypatch):
    codes, residual = product_data(2000, p=6, strength=0.3)
    sizes = np.full(6, 16)
    once = detect_pairs(codes, sizes, residual, "auto", random_state=0)
    monkeypatch.setattr(pairs_data.pairs, "_CELLS_AT_ONCE", 1000)
    often = detect_pairs(codes, sizes, residual, "auto", random_state=0)
    assert once.pairs == often.pairs == [(0, 1)]
    np.testing.assert_array_equal(once.gains, often.gains)
    np.testing.assert_array_equal(once.p_values, often.p_values)


@pytest.mark.parametrize(("n", "strength"), [(500, 1.0), (3000, 0.3), (15_000, 0.1)])
def test_true_pairs_are_found_and_few_others(n, strength):
    chosen = []
    for seed in range(20):
        codes, residual = product_data(n, p=6, strength=strength, seed=seed)
        found = detect_pairs(codes, np.full(6, 16), residual, "auto", random_state=seed)
        assert found.pairs[:1] == [(0, 1)]
        chosen.append(len(found.pairs))
    assert sum(chosen) <= 20 + 4  # at 5 % each: 5 or more with a probability of 0.3 %


@pytest.mark.parametrize("noise", ["normal", "heavy", "unequal"])
def test_no_pair_is_found_where_there_is_none(noise):
    n_found = 0
    for seed in range(24):
        rng = np.random.default_rng(seed)
        codes = uniform_codes(1500, 5, seed=seed)
        codes[:, 1] = np.minimum(codes[:, 0] // 2 + codes[:, 1] // 2, 15)  # correlated
        residual = {
            "normal": rng.standard_normal(1500),
            "heavy": rng.standard_t(3, 1500),
            "unequal": rng.standard_normal(1500) * (1 + codes[:, 2]) * (1 + codes[:, 3]),
        }[noise]
        residual = residual + codes[:, 1] / 4  # additive parts do not count
        found = detect_pairs(codes, np.full(5, 16), residual, "auto", random_state=seed)
        n_found += len(found.pairs) > 0
    assert n_found <= 4  # at 5 % each: 5 or more with a probability of 0.6 %


def test_auto_chooses_at_most_nine_tenths_of_the_features():
    codes = uniform_codes(3000, 5)
    residual = np.prod(codes - 7.5, axis=1) / 1e3
    for a in range(5):
        for b in range(a + 1, 5):
            residual += (codes[:, a] - 7.5) * (codes[:, b] - 7.5)
    assert len(detect_pairs(codes, np.full(5, 16), residual, "auto", random_state=0).pairs) == 4
    assert len(detect_pairs(codes, np.full(5, 16), residual, 10).pairs) == 10


def test_a_row_is_one_draw_whatever_its_weight():
    """Gains that are found by chance stay rare: copies of a row are no evidence."""
    n_found = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        codes, residual = uniform_codes(1500, 4, seed=seed), rng.standard_normal(1500)
        weight = rng.integers(1, 6, 1500).astype(float)
        found = detect_pairs(codes, np.full(4, 16), residual, "auto", weight, random_state=0)
        n_found += len(found.pairs) > 0
    assert n_found <= 4
    codes, residual = product_data(1500, strength=0.15, seed=3)
    weight = np.random.default_rng(0).integers(1, 4, size=1500)
    plain, scaled = (
        detect_pairs(codes, np.full(6, 16), residual, "auto", unit * weight, random_state=0)
        for unit in (1.0, 3.3)
    )
    assert plain.pairs == scaled.pairs == [(0, 1)]
    np.testing.assert_allclose(plain.p_values, scaled.p_values, rtol=1e-6)


def test_weights_of_newton_steps_count_no_rows():
    """Residuals gradient / weight: their variances are 1 / weight, not the same for all."""
    n_found = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        codes = uniform_codes(2000, 4, seed=seed)
        probability = 1 / (1 + np.exp(-(codes[:, 0] - 12) / 2))
        weight = probability * (1 - probability)
        residual = ((rng.random(2000) < probability) - probability) / weight
        options = {"random_state": seed}
        found = detect_pairs(codes, np.full(4, 16), residual, "auto", weight, **options)
        n_found += len(found.pairs) > 0
    assert n_found <= 4


def test_nothing_to_find():
    codes, residual = uniform_codes(100, 3), np.zeros(100)
    assert detect_pairs(codes[:, :1], np.array([16]), residual, "auto").pairs == []
    assert detect_pairs(codes, np.full(3, 16), residual, 0).pairs == []
    assert detect_pairs(codes, np.full(3, 16), residual, "auto", random_state=0).pairs == []
    constant = np.asfortranarray(np.zeros((100, 3), np.uint8))
    assert detect_pairs(constant, np.ones(3, int), residual + 1, "auto", random_state=0).pairs == []
    assert len(detect_pairs(constant, np.ones(3, int), residual + 1, 2).pairs) == 2


def test_categories_are_ordered_by_the_best_product():
    rng = np.random.default_rng(0)
    f, g = rng.standard_normal(12), rng.standard_normal(9)
    sums, weight = np.outer(f, g) * 10.0, np.full((12, 9), 10.0)
    for order, values in zip(ordered_bins(sums, weight, (True, True)), (f, g)):
        steps = np.diff(values[order])
        assert (steps >= 0).all() or (steps <= 0).all()
    rows, columns = ordered_bins(sums, weight, (False, True))
    np.testing.assert_array_equal(rows, np.arange(12))
    assert (np.diff(g[columns]) >= 0).all() or (np.diff(g[columns]) <= 0).all()
    # An interaction of categories in a random order is found as well as in the best one.
    codes, residual = product_data(1000, p=4, strength=0.4)
    shuffled = np.asfortranarray(rng.permutation(16).astype(np.uint8)[codes])
    options = {"random_state": 0, "categorical": np.ones(4, bool)}
    found = detect_pairs(shuffled, np.full(4, 16), residual, "auto", **options)
    assert found.pairs == [(0, 1)]
    again = detect_pairs(codes, np.full(4, 16), residual, "auto", **options)
    np.testing.assert_allclose(found.gains, again.gains, rtol=1e-9)


def test_monotonic_tables():
    """No other monotonic table is nearer, by the inequalities of an optimum."""
    rng = np.random.default_rng(0)
    table, weight = rng.standard_normal((6, 5)), rng.uniform(0.1, 2.0, (6, 5))
    weight[2, 3] = 0.0
    for signs in ([1, 0], [0, -1], [1, -1]):
        found = isotonic_table(table, weight, signs, [6, 4])
        for axis, sign in enumerate(signs):
            inner = found if axis == 0 else found[:, :4]
            assert not sign or (sign * np.diff(inner, axis=axis) >= 0).all()
        np.testing.assert_array_equal(found[:, 4] == table[:, 4], signs[0] == 0)
        # the projection on a cone: <table - found, other - found> <= 0 for all others in it
        for _ in range(20):
            other = rng.standard_normal((6, 5)).cumsum(axis=0)
            other = isotonic_table(3 * other, weight, signs, [6, 4])
            excess = np.sum(weight * (table - found) * (other - found))
            assert excess <= 2e-2 * np.sum(weight * np.abs(table - found) * np.abs(other - found))
