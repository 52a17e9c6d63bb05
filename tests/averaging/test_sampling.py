"""The laws of the random weights: of rows, of blocks of consecutive rows, and within classes."""

import pickle

import numpy as np
import pytest
import sklearn.ensemble
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from sklearn_ensemble_theory import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn_ensemble_theory.averaging import Bernoulli, MovingBlock
from sklearn_ensemble_theory.averaging._sampling import (
    SCHEMES,
    AllRows,
    SamplingDesign,
    SamplingScheme,
    apportioned,
    default_block_length,
    distinct_rows,
)
from sklearn_ensemble_theory.ensembles._jackknife import infinitesimal_jackknife, jackknife_variance
from sklearn_ensemble_theory.inspection import oob_permutation_importances

from .test_group_draws import Mean

LAWS = [
    (True, 12),
    (True, 30),
    (False, 12),
    ("disjoint", 7),
    ("bernoulli", 0.4),
    ("bayesian", 20),
    ("poisson", 9),
]


# Schemes of classes and of blocks have moments of their own, in the tests named so.
OTHER_LAWS = {"stratified", "moving_block"}


def test_every_scheme_has_a_law():
    assert {scheme for scheme, _ in LAWS} | OTHER_LAWS == set(SCHEMES)


def dense_draws(scheme, n_draws, seed=0):
    rng = np.random.RandomState(seed)
    weights = np.zeros((n_draws, scheme.n_samples))
    for row in weights:
        rows, v = scheme.draw(rng)
        assert (np.diff(rows) > 0).all()
        assert (v > 0).all()
        row[rows] = v
    return weights


# The first number always: with either of them an error of 5 % would be noticed.
N_DRAWS = [4000, pytest.param(20_000, marks=pytest.mark.slow)]


@pytest.mark.parametrize("n_draws", N_DRAWS)
@pytest.mark.parametrize(("scheme", "size"), LAWS)
def test_mean_and_noise_of_the_weights(scheme, size, n_draws):
    n = 20
    resampling = SCHEMES[scheme](n, size)
    weights = dense_draws(resampling, n_draws)
    expected = size if scheme == "bernoulli" else size / n
    np.testing.assert_allclose(weights.mean(), expected, rtol=0.02)
    np.testing.assert_allclose(
        weights.mean(axis=0), expected, rtol=0.05 * (20_000 / n_draws) ** 0.5
    )
    centred = weights - weights.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(centred.var(axis=0).sum(), resampling.noise, rtol=0.025)
    if scheme in (True, False, "disjoint", "bayesian"):
        np.testing.assert_allclose(weights.sum(axis=1), size)


@pytest.mark.parametrize("n_draws", N_DRAWS)
@pytest.mark.parametrize("scheme", [True, "bayesian", "poisson"])
def test_a_weight_of_two_has_the_law_of_a_row_written_twice(scheme, n_draws):
    """Means, variances and the chance of staying out, of the row's total weight."""
    weight, wider = np.array([1.0, 2.0, 1.0, 0.0]), (20_000 / n_draws) ** 0.5
    weighted = dense_draws(SCHEMES[scheme].of(4, 5, weight), n_draws)
    written = dense_draws(SCHEMES[scheme].of(4, 5), n_draws)  # rows 0, 1, 1, 2
    twice = np.column_stack([written[:, 0], written[:, 1] + written[:, 2], written[:, 3]])
    assert not weighted[:, 3].any()
    np.testing.assert_allclose(weighted[:, :3].mean(0), twice.mean(0), rtol=0.04)
    np.testing.assert_allclose(weighted[:, :3].var(0), twice.var(0), rtol=0.05 * wider)
    np.testing.assert_allclose(
        (weighted[:, :3] == 0).mean(0), (twice == 0).mean(0), atol=0.012 * wider
    )


def test_poisson_counts_are_independent():
    weights = dense_draws(SCHEMES["poisson"](6, 6), 20_000)
    np.testing.assert_allclose(np.corrcoef(weights.T), np.eye(6), atol=0.03)
    np.testing.assert_allclose(weights.var(axis=0), 1, rtol=0.05)


def test_bernoulli_weight_is_that_of_the_row_where_it_is_drawn():
    weights = dense_draws(SCHEMES["bernoulli"].of(3, 0.5, np.array([0.0, 0.3, 2.0])), 4000)
    assert set(np.unique(weights[:, 1])) == {0.0, 0.3}
    assert set(np.unique(weights[:, 2])) == {0.0, 2.0}
    assert not weights[:, 0].any()


def test_a_bag_is_never_empty():
    for scheme, size in [("bernoulli", 0.01), ("poisson", 0.02)]:
        weights = dense_draws(SCHEMES[scheme](5, size), 500)
        assert (weights.sum(axis=1) > 0).all()


def test_dirichlet_with_concentrations_that_vanish_puts_all_on_one_row():
    weights = dense_draws(SCHEMES["bayesian"].of(3, 3, np.array([1e-300, 3e-300, 0.0])), 4000)
    assert ((weights > 0).sum(axis=1) == 1).all()
    np.testing.assert_allclose((weights > 0).mean(axis=0), [0.25, 0.75, 0], atol=0.03)


@pytest.mark.parametrize("n", [50, 5000])
def test_distinct_rows_and_counts(n):
    indices = np.random.default_rng(0).integers(0, n, 40)
    rows, counts = distinct_rows(indices, n)
    np.testing.assert_array_equal(np.repeat(rows, counts), np.sort(indices))


@pytest.mark.parametrize("scheme", [True, False])
@pytest.mark.parametrize("max_samples", [None, 0.5, 30])
def test_the_draws_and_trees_are_those_of_scikit_learn(scheme, max_samples):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 5))
    y = X[:, 0] + rng.standard_normal(80)
    max_samples = max_samples or 1.0  # what None means, in every supported scikit-learn
    params = {"n_estimators": 4, "max_features": 0.6}
    params |= {"max_samples": max_samples, "bootstrap": scheme}
    ours = BaggingRegressor(**params, random_state=3).fit(X, y)
    theirs = sklearn.ensemble.BaggingRegressor(**params, random_state=3).fit(X, y)
    for a, b in zip(ours.estimators_samples_, theirs.estimators_samples_):
        np.testing.assert_array_equal(a, b)
    for a, b in zip(ours.estimators_features_, theirs.estimators_features_):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-12)


@pytest.mark.parametrize("n_draws", N_DRAWS)
@pytest.mark.parametrize(("scheme", "size"), LAWS)
def test_jackknife_of_a_mean_is_its_textbook_standard_error(scheme, size, n_draws):
    """A mean is linear in the weights: every scheme's scale must give sd / sqrt(n).

    For many y at once, so that few draws suffice. Of a random size the sum is divided by its
    expectation, and y is centred: that is the linear part of the mean.
    """
    Y = np.random.default_rng(1).standard_normal((20, 400))
    Y -= Y.mean(axis=0)
    resampling = SCHEMES[scheme](20, size)
    weights = dense_draws(resampling, n_draws)
    means = weights @ Y / (20 * size if scheme == "bernoulli" else size)
    variance = infinitesimal_jackknife(
        weights, means, scale=resampling.jackknife_scale, noise=resampling.noise
    )
    # Without replacement the estimate is unbiased, with n - 1; the others divide by n.
    textbook = Y.var(axis=0, ddof=1 if scheme in (False, "disjoint") else 0) / 20
    np.testing.assert_allclose(np.mean(variance / textbook), 1.0, atol=0.025)


class Block(SamplingScheme):
    """A scheme that only this file knows: s consecutive rows, the first row follows the last."""

    bootstrap = "block"

    def indices(self, rng):
        return (rng.randint(self.n_samples) + np.arange(self.size)) % self.n_samples

    @property
    def noise(self):
        return self.size * (1 - self.size / self.n_samples)

    @property
    def jackknife_scale(self):
        return 1.0


def test_a_new_scheme_is_a_class_and_an_entry_of_the_registry(monkeypatch):
    constraint = BaggingRegressor._parameter_constraints["bootstrap"][1]
    assert constraint.options == {name for name in SCHEMES if isinstance(name, str)}
    monkeypatch.setitem(SCHEMES, "block", Block)
    monkeypatch.setattr(constraint, "options", {*constraint.options, "block"})
    X = np.arange(20.0).reshape(-1, 1)
    params = {"bootstrap": "block", "max_samples": 8, "oob_score": True, "random_state": 0}
    for cls in (BaggingRegressor, RandomForestRegressor):
        bag = cls(n_estimators=50, **params).fit(X, X[:, 0])
        for tree, rows in zip(bag.estimators_, bag.estimators_samples_):
            np.testing.assert_array_equal(np.diff(rows) % 20, 1)
            assert tree.tree_.n_node_samples[0] == len(rows) == 8
        assert np.isfinite(bag.standard_error(X)).all()


@pytest.mark.parametrize("cls", [BaggingRegressor, RandomForestRegressor])
@pytest.mark.parametrize("bootstrap", [True, False])
def test_booleans_of_numpy_are_booleans(cls, bootstrap):
    X, y = np.random.default_rng(0).random((2, 40, 1))
    params = {"n_estimators": 5, "max_samples": 12, "random_state": 0}
    ours = cls(bootstrap=np.bool_(bootstrap), **params).fit(X, y[:, 0])
    expected = cls(bootstrap=bootstrap, **params).fit(X, y[:, 0])
    for a, b in zip(ours.estimators_samples_, expected.estimators_samples_):
        np.testing.assert_array_equal(a, b)
        assert bootstrap or len(np.unique(a)) == 12


@pytest.mark.parametrize("factor", [0.01, 1.0, 2.0])
@pytest.mark.filterwarnings("ignore:When fitting Bagging:UserWarning")
def test_all_rows_without_replacement_are_those_of_positive_weight(factor):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 3)), np.arange(300) % 2
    weight = np.zeros(300)
    weight[40:50] = factor
    params = {"n_estimators": 3, "bootstrap": False, "random_state": 0}
    model = BaggingClassifier(**params).fit(X, y, weight)
    for rows in model.estimators_samples_:
        assert sorted(rows) == list(range(40, 50))
    expected = BaggingClassifier(**params).fit(X[40:50], y[40:50])
    np.testing.assert_array_equal(model.predict_proba(X), expected.predict_proba(X))
    with pytest.raises(ValueError, match="every member is fitted to every row"):
        BaggingClassifier(oob_score=True, **params).fit(X, y, weight)
    with pytest.raises(ValueError, match="max_samples=100 must be <= 10"):
        BaggingClassifier(max_samples=100, **params).fit(X, y, weight)


def test_rows_of_schemes_that_draw_weights_are_those_of_positive_weight():
    weight = np.array([0.0, 2.0, 0.5, 0.0, 1.0])
    for scheme in (SCHEMES["bayesian"], SCHEMES["bernoulli"], AllRows):
        drawn = scheme.of(5, None, weight)
        rows, v = drawn.draw(np.random.RandomState(0))
        np.testing.assert_array_equal(drawn.indices(np.random.RandomState(0)), rows)
        assert set(rows) <= {1, 2, 4}
        assert not drawn.draws_counts
        assert len(v) == len(rows)
    np.testing.assert_array_equal(AllRows.of(5, None, weight).draw(None)[1], [2.0, 0.5, 1.0])
    assert AllRows.of(5).noise == 0
    assert AllRows.of(5).jackknife_scale == np.inf


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
    with pytest.raises(ValueError, match=r"MovingBlock\(21\): length must be at most 20"):
        blocks(20, None, 21)
    with pytest.raises(ValueError, match=r"MovingBlock\(6\): length must be at most 5"):
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
        by_blocks.append(jackknife_variance(bag.fit(X, y).ensemble_, X[:1])[0])
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
    params = {"bootstrap": MovingBlock(6), "random_state": 0}
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
    assert (oob_permutation_importances(model, random_state=0).standard_error > 0).any()
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


def test_objects_in_place_of_names():
    X = np.zeros((20, 1))
    for given, message in ((MovingBlock(0), "length"), (Bernoulli("none"), "empty")):
        with pytest.raises(ValueError, match=message):
            RandomForestRegressor(bootstrap=given).fit(X, X[:, 0])
    with pytest.raises(ValueError, match="empty must be 'redraw' for forests"):
        RandomForestRegressor(bootstrap=Bernoulli("mean")).fit(X, X[:, 0])
    X, y = np.random.default_rng(0).standard_normal((2, 40, 2))
    for name, given in (("moving_block", MovingBlock()), ("bernoulli", Bernoulli())):
        first, second = (
            RandomForestRegressor(5, bootstrap=b, random_state=0).fit(X, y[:, 0])
            for b in (name, clone(pickle.loads(pickle.dumps(given))))
        )
        np.testing.assert_array_equal(first.predict(X), second.predict(X))
    lengths = {"bootstrap__length": [1, 8]}
    bag = RandomForestRegressor(5, bootstrap=MovingBlock(), random_state=0)
    found = GridSearchCV(bag, lengths, cv=2).fit(X, y[:, 0]).best_estimator_
    assert found.bootstrap.length in (1, 8)
    X = np.zeros((20, 1))
    bag = BaggingRegressor(bootstrap=MovingBlock(20)).fit(X, X[:, 0])
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
    assert np.isfinite(jackknife_variance(model.ensemble_, X[:2])[0]).all()


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
