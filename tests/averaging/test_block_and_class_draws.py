"""Draws of blocks of consecutive rows, and draws within each class."""

import numpy as np
import pytest

from sklearn_ensemble_theory import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn_ensemble_theory.averaging._sampling import (
    SCHEMES,
    SamplingDesign,
    apportioned,
    default_block_length,
)
from sklearn_ensemble_theory.ensembles._jackknife import infinitesimal_jackknife, jackknife_variance
from tests.averaging.test_group_draws import Mean

rng = np.random.RandomState


def drawn(scheme, n_draws, units=False, seed=0):
    """Weights of the rows, or of the units, of shape (n_draws, n)."""
    weights = np.zeros((n_draws, scheme.n_units if units else scheme.n_samples))
    state = rng(seed)
    for row in weights:
        found, v = (scheme.draw_units if units else scheme.draw)(state)
        row[found] = v
    return weights


# Blocks


def blocks(n, size=None, length=None, weight=None):
    return SCHEMES["moving_block"].of(n, size, weight, SamplingDesign(block_length=length))


@pytest.mark.parametrize(("size", "length"), [(24, 4), (22, 5), (3, 3), (60, 7)])
def test_rows_are_blocks_until_there_are_enough(size, length):
    scheme = blocks(30, size, length)
    for seed in range(10):
        rows = scheme.indices(rng(seed))
        assert len(rows) == size
        starts = rows[::length]
        np.testing.assert_array_equal(
            rows, (starts[:, None] + np.arange(length)).ravel()[: len(rows)]
        )
        assert starts.min() >= 0
        assert starts.max() <= 30 - length
        found, counts = scheme.draw(rng(seed))
        np.testing.assert_array_equal(np.repeat(found, counts), np.sort(rows))
        first, counts = scheme.draw_units(rng(seed))
        np.testing.assert_array_equal(np.repeat(first, counts), np.sort(starts))
    weights = drawn(scheme, 3000, units=True)
    centred = weights - weights.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(centred.var(axis=0).sum(), scheme.noise, rtol=0.02)


def test_length_of_a_block():
    assert [default_block_length(n) for n in (1, 8, 9, 27, 28, 1000, 1001)] == [
        1,
        2,
        3,
        3,
        4,
        10,
        11,
    ]
    assert blocks(1000).block_length == 10
    assert blocks(1000, 5).block_length == 5
    assert blocks(1000, 0.5).size == 500
    with pytest.raises(ValueError, match=r"block_length=21 must be at most 20"):
        blocks(20, None, 21)
    with pytest.raises(ValueError, match=r"block_length=6 must be at most 5"):
        blocks(20, 5, 6)


@pytest.mark.parametrize("length", [1, 4])
@pytest.mark.parametrize("size", [24, 22])
def test_jackknife_of_a_mean_is_that_of_kuensch(length, size):
    """l/(n - l) times the variance of the means of all blocks [Künsch, 1989]."""
    y = np.random.default_rng(0).standard_normal(24).cumsum()
    scheme = blocks(24, size, length)
    means = drawn(scheme, 8_000) @ y / size
    found = infinitesimal_jackknife(
        drawn(scheme, 8_000, units=True),
        means[:, None],
        scale=scheme.jackknife_scale,
        noise=scheme.noise,
    )
    of_blocks = np.convolve(y, np.ones(length) / length, "valid")
    expected = length / (24 - length) * of_blocks.var()
    np.testing.assert_allclose(found, expected, rtol=0.08)


def moving_average(seed, n=400):
    noise = np.random.default_rng(seed).standard_normal(n + 1)
    return noise[1:] + 0.5 * noise[:-1]


def test_standard_error_against_its_closed_form_over_fresh_series():
    """Var(mean) = ((1 + 0.5)² - 2 * 0.5 / n) / n for e_t + 0.5 e_(t-1)."""
    n, by_blocks, by_rows = 400, [], []
    for seed in range(12):
        y = moving_average(seed, n)
        X = np.zeros((n, 1))
        bag = BaggingRegressor(Mean(), 200, bootstrap="moving_block", random_state=seed)
        by_blocks.append(jackknife_variance(bag.fit(X, y), X[:1])[0])
        by_rows.append(y.var() / n)
    true = np.sqrt((1.5**2 - 1 / n) / n)
    assert np.sqrt(np.mean(by_blocks)) == pytest.approx(true, rel=0.15)
    assert np.sqrt(np.mean(by_rows)) < 0.8 * true


def test_error_of_a_mean_over_a_series():
    y = moving_average(0)
    scheme = blocks(400, None, 8)
    of_blocks = np.convolve(y - y.mean(), np.ones(8), "valid")
    expected = np.sqrt(np.mean(of_blocks**2) / 8 / 400 / (1 - 8 / 400))
    found = scheme.error_of_mean(np.stack([y, -3 * y]), np.arange(400))
    np.testing.assert_allclose(found, [expected, 3 * expected])
    rows = np.flatnonzero(np.arange(400) % 5)
    assert scheme.error_of_mean(y[None, rows], rows)[0] == pytest.approx(expected, rel=0.2)
    assert np.isnan(scheme.error_of_mean(y[None, :1], np.arange(1))).all()


@pytest.mark.parametrize("cls", [BaggingRegressor, RandomForestRegressor])
def test_out_of_bag_rows_are_those_in_no_drawn_block(cls):
    y = moving_average(3, 120)
    X = np.column_stack([np.arange(120.0), np.roll(y, 1)])
    params = {"bootstrap": "moving_block", "block_length": 6, "random_state": 0}
    model = cls(n_estimators=30, oob_score=True, **params).fit(X, y)
    again = cls(n_estimators=30, oob_score=True, n_jobs=2, **params).fit(X, y)
    np.testing.assert_array_equal(model.oob_prediction_, again.oob_prediction_)
    row = 50
    outside = [
        tree.predict(X[[row]])[0]
        for tree, rows in zip(model.estimators_, model.estimators_samples_)
        if row not in rows
    ]
    assert model.oob_prediction_[row] == pytest.approx(np.mean(outside))
    assert np.isfinite(model.predict_interval(X[:3], 0.8)).all()
    assert (model.oob_permutation_importances(random_state=0).standard_error > 0).any()
    with pytest.raises(ValueError, match="not defined for bootstrap='moving_block'"):
        model.standard_error(X, method="jackknife")


def test_rows_of_weight_zero_keep_their_place_in_time():
    weight = np.ones(30)
    weight[10:25] = 0
    weight[:3] = 2.0
    scheme = blocks(30, 10, 5, weight)
    assert not scheme.draws_counts
    for seed in range(20):
        rows, v = scheme.draw(rng(seed))
        assert set(rows) <= {*range(10), *range(25, 30)}
        np.testing.assert_array_equal(np.sort(scheme.indices(rng(seed))), rows)
        assert (v[rows < 3] % 2 == 0).all()


def test_block_length_belongs_to_blocks():
    X = np.zeros((20, 1))
    with pytest.raises(ValueError, match="block_length=3 is a parameter of"):
        RandomForestRegressor(block_length=3).fit(X, X[:, 0])
    bag = BaggingRegressor(bootstrap="moving_block", block_length=20).fit(X, X[:, 0])
    with pytest.raises(ValueError, match="every member is fitted to every row"):
        bag.standard_error(X)


# Classes

CLASSES = np.repeat([0, 1, 2], [50, 13, 5])


def test_apportioned_by_the_largest_remainders():
    np.testing.assert_array_equal(apportioned(68, np.array([50.0, 13, 5])), [50, 13, 5])
    np.testing.assert_array_equal(apportioned(10, np.array([5.0, 3.0, 2.4])), [5, 3, 2])
    assert apportioned(7, np.array([1.0, 1.0, 1.0])).sum() == 7


@pytest.mark.parametrize("cls", [BaggingClassifier, RandomForestClassifier, ExtraTreesClassifier])
@pytest.mark.parametrize(("max_samples", "expected"), [(None, [50, 13, 5]), (0.5, [25, 6, 3])])
def test_every_member_has_the_classes_in_proportion(cls, max_samples, expected):
    X = np.random.default_rng(0).standard_normal((68, 2))
    labels = np.array(["a", "b", "c"])[CLASSES]
    model = cls(
        n_estimators=40,
        bootstrap="stratified",
        max_samples=max_samples,
        oob_score=True,
        random_state=0,
    ).fit(X, labels)
    for rows in model.estimators_samples_:
        counts = np.bincount(CLASSES[rows])
        assert np.abs(counts - expected).max() <= (max_samples is not None)
    assert 0 <= model.oob_score_ <= 1
    assert np.isfinite(jackknife_variance(model, X[:2])[0]).all()


def strata(size, weight=None):
    design = SamplingDesign(strata=CLASSES)
    return SCHEMES["stratified"].of(68, size, weight, design)


@pytest.mark.parametrize("size", [68, 34])
def test_jackknife_of_a_mean_within_classes_is_its_textbook_standard_error(size):
    """sum_k (n_k/n)² Var_k / n_k: the numbers of rows of the classes are not drawn."""
    y = np.random.default_rng(1).standard_normal(68) * np.array([1.0, 2, 4])[CLASSES] + 5 * CLASSES
    scheme = strata(size)
    weights = drawn(scheme, 8_000)
    np.testing.assert_allclose(weights.var(axis=0).sum(), scheme.noise, rtol=0.02)
    found = infinitesimal_jackknife(
        weights,
        (weights @ y / size)[:, None],
        scale=scheme.jackknife_scale,
        noise=scheme.noise,
    )
    textbook = sum(y[k == CLASSES].var() * n for k, n in enumerate([50, 13, 5])) / 68**2
    np.testing.assert_allclose(found, textbook, rtol=0.12)


def test_weights_are_those_of_the_draws_within_classes():
    weight = np.tile([1.0, 2.0], 34)
    scheme = strata(68, weight)
    weights = drawn(scheme, 3000)
    of_class = np.bincount(CLASSES, weight)
    expected = scheme.counts[CLASSES] * weight / of_class[CLASSES]
    np.testing.assert_allclose(weights.mean(axis=0), expected, rtol=0.12)
    np.testing.assert_allclose(np.bincount(CLASSES, scheme.unit_shares), 1)
    weight[CLASSES == 2] = 0
    assert strata(60, weight).counts[2] == 0
    assert not np.isin(strata(60, weight).indices(rng(0)), np.flatnonzero(CLASSES == 2)).any()


def test_groups_within_classes():
    groups = np.repeat(np.arange(34), 2)
    y = (groups < 10).astype(int)
    X = np.random.default_rng(0).standard_normal((68, 2))
    forest = RandomForestClassifier(5, bootstrap="stratified", random_state=0)
    for rows in forest.fit(X, y, groups=groups).estimators_samples_:
        assert np.bincount(y[rows]).tolist() == [48, 20]
    with pytest.raises(ValueError, match="rows of a group are all of the same class"):
        forest.fit(X, np.tile([0, 1], 34), groups=groups)


def test_what_draws_within_classes_cannot_do():
    X, y = np.zeros((68, 1)), CLASSES
    with pytest.raises(ValueError, match="requires a classifier"):
        RandomForestRegressor(bootstrap="stratified").fit(X, y)
    with pytest.raises(ValueError, match="leaves none for 1 of them"):
        BaggingClassifier(bootstrap="stratified", max_samples=4).fit(X, y)


def test_classes_of_several_outputs_are_drawn_by_their_combinations():
    X = np.random.default_rng(0).standard_normal((60, 2))
    y = np.column_stack([np.tile([0, 1], 30), np.tile([0, 0, 1], 20)])
    forest = RandomForestClassifier(3, bootstrap="stratified", random_state=0).fit(X, y)
    for rows in forest.estimators_samples_:
        assert np.bincount(2 * y[rows, 0] + y[rows, 1]).tolist() == [20, 10, 20, 10]
