"""What the guide and the docstrings say: smoothing rounds, refined bins, stages, formats."""

import numpy as np
import pytest
from sklearn.base import clone

from sklearn_ensemble_theory import L2BoostingRegressor, LogitBoostClassifier
from sklearn_ensemble_theory.boosting import CVRounds
from sklearn_ensemble_theory.boosting._additive.bins import jumps_of

from .additive_data import cv_path
from .engine import refresh_at
from .l2_boosting_data import PLAIN, additive_data


@pytest.mark.parametrize("degree", [1, 2, 3, 4])
def test_a_smoothing_round_shrinks_legendre_polynomials(degree):
    """By 1/(d (d + 1)) for the degree d in the ranks [Anderson and Darling, 1952]."""
    x = (np.arange(6400) + 0.5) / 6400
    y = np.polynomial.legendre.Legendre.basis(degree)(2 * x - 1)
    model = L2BoostingRegressor(
        1, learning_rate=1e-12, smoothing_rounds=1, max_bins=256, interactions=0
    )
    fitted = model.fit(x[:, None], y).predict(x[:, None])
    assert fitted @ y / (y @ y) == pytest.approx(1 / (degree * (degree + 1)), rel=0.02)


def test_smoothing_rounds_are_nearer_to_smooth_functions():
    def mean(X):
        return 2 * np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + X[:, 2]

    errors = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X, new = rng.uniform(-1, 1, (300, 6)), rng.uniform(-1, 1, (2000, 6))
        y = mean(X) + rng.standard_normal(300)
        models = [
            L2BoostingRegressor("cv", learning_rate=0.1, smoothing_rounds=n).fit(X, y)
            for n in ("auto", 0)
        ]
        errors.append([np.mean((m.predict(new) - mean(new)) ** 2) for m in models])
    smooth, plain = np.mean(errors, axis=0)
    assert smooth < 0.8 * plain


def test_the_search_ends_without_a_new_minimum():
    X, y = additive_data(300)
    model = L2BoostingRegressor(CVRounds(max_estimators=5000), learning_rate=0.1).fit(X, y)
    last = model.n_estimators_ + 10 / model.learning_rate + 60  # rounds are run by the dozen
    assert len(cv_path(model)) <= last
    plain = L2BoostingRegressor(
        CVRounds(max_estimators=1000), learning_rate=0.1, smoothing_rounds=0
    ).fit(X, y)
    assert np.unique(cv_path(plain)[:, 0]).size == 1001


def test_bins_have_an_edge_at_a_jump():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(12_000, 2))
    y = np.sin(6 * X[:, 1]) + (X[:, 0] > 0.12345) + 0.5 * rng.standard_normal(12_000)
    model = L2BoostingRegressor(CVRounds(2, max_estimators=20)).fit(X, y)
    ranks = np.abs(X[:, :1] - 0.12345) < np.abs(model.bin_edges_[0] - 0.12345).min()
    assert ranks.sum() <= 12
    assert len(model.bin_edges_[1]) + 1 >= 64


@pytest.mark.slow
def test_stages_are_near_the_exact_path(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(4000, 6))
    log_odds = 2 * np.sin(3 * X[:, 0]) + 2 * (X[:, 1] > 0.3) + X[:, 2]
    y = rng.uniform(size=4000) < 1 / (1 + np.exp(-log_odds))
    model = LogitBoostClassifier(500, learning_rate=0.1, max_bins=32, **PLAIN)
    staged = clone(model).fit(X, y)
    refresh_at(monkeypatch, 0.005)
    exact = clone(model).fit(X, y)
    assert staged.n_refreshes_ <= 8 < 400 < exact.n_refreshes_
    assert np.abs(exact.predict_proba(X) - staged.predict_proba(X)).max() < 0.03
    assert np.abs(exact.train_scores_ - staged.train_scores_).max() < 0.02


@pytest.fixture(scope="module")
def mixed():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(240, 4))
    X[:, 2] = rng.integers(4, size=240)
    X[::7, 1] = np.nan
    y = X[:, 0] + np.isnan(X[:, 1]) + (X[:, 2] == 1) + 2 * X[:, 0] * X[:, 3]
    return X, y + 0.2 * rng.standard_normal(240)


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_formats_of_the_terms(mixed, n_classes):
    X, y = mixed
    cls = LogitBoostClassifier if n_classes else L2BoostingRegressor
    if n_classes:
        y = np.argsort(np.argsort(y)) * n_classes // len(y)
    settings = {"learning_rate": 0.1, "max_bins": 8}
    pairs = [(0, 3), (1, 2)]
    model = cls(
        CVRounds(3, max_estimators=60), categorical_features=[2], interactions=pairs, **settings
    ).fit(X, y)
    assert model.term_features_ == [(0,), (1,), (2,), (3,), *pairs]
    assert model.term_names_[-1] == "x1 & x2"
    np.testing.assert_array_equal(model.missing_bins_, [False, True, True, False])
    classes = (3,) if n_classes == 3 else ()
    sizes = [(8,), (9,), (5,), (8,), (8, 8), (9, 5)]
    for size, (edges, values), errors, weight in zip(
        sizes, model.shape_functions_, model.shape_standard_errors_, model.bin_weights_
    ):
        assert values.shape == errors.shape == (*size, *classes)
        assert weight.shape == size
        inner = (edges,) if len(size) == 1 else edges
        assert [len(e) for e in inner] == [{8: 7, 9: 7, 5: 4}[n] for n in size]
        axes = tuple(range(len(size)))
        each = weight.reshape(*size, *(1 for _ in classes)) * values
        assert np.abs(each.sum(axis=axes)).max() < 1e-9
        for axis in axes if len(size) == 2 else ():
            assert np.abs(each.sum(axis=axis)).max() < 1e-9
    scores = model.decision_function(X) if n_classes else model.predict(X)
    np.testing.assert_allclose(scores.mean(axis=0), model.intercept_, rtol=0, atol=1e-9)
    new = np.array([[np.nan, 0.0, 9.0, np.nan]])  # an unknown category, and no bins for NaN
    assert not model.predict_terms(new)[0, [0, 2, 3]].any()
    assert model.n_smoothing_rounds_ == model.smoothing_results_["mean_score"].argmin()
    assert model.n_estimators_ == cv_path(model).mean(axis=1).argmin()


def test_stumps_sum_to_the_functions(mixed):
    """Thresholds add nothing to missing values; one cut separates these from the others."""
    X, y = mixed
    model = L2BoostingRegressor(
        80, learning_rate=0.2, max_bins=8, categorical_features=[2], **PLAIN
    )
    model.fit(X, y)
    assert model.n_smoothing_rounds_ == 0
    total = np.full(len(X), y.mean())
    kinds = set()
    for j, cut, left, right in zip(
        model.stump_features_, model.stump_cuts_, model.stump_left_, model.stump_right_
    ):
        x = X[:, j]
        if j == 2:
            kinds.add("set")
            members = model.categories_[j][model.category_sets_[j][cut]]
            total += np.where(np.isin(x, members), left, right)
        elif cut == len(model.bin_edges_[j]):
            kinds.add("missing")
            total += np.where(np.isnan(x), right, left)
        else:
            kinds.add("threshold")
            step = np.where(x <= model.bin_edges_[j][cut], left, right)
            total += np.where(np.isnan(x), 0, step)
    assert kinds == {"set", "missing", "threshold"}
    np.testing.assert_allclose(model.predict(X), total, rtol=0, atol=1e-10)


@pytest.mark.parametrize("seed", range(4))
def test_jumps_beneath_the_noise_of_narrow_windows(seed):
    # Windows of two bins of 500 rows: the jump explains 90 variances of the noise there, and a line
    # most of these.
    rng = np.random.default_rng(seed)
    x, noise = rng.uniform(size=20_000), rng.standard_normal(20_000)
    edges = np.quantile(x, np.arange(1, 40) / 40)
    found = jumps_of(x, np.sin(3 * x) + 0.6 * (x > 0.371) + noise, None, edges)
    assert len(found) == 1
    assert abs(found[0] - 0.371) < 0.01
    # From afar a steep slope is a jump as well.
    for width in (0.05, 0.2):
        slope = np.tanh((x - 0.371) / width)
        assert not len(jumps_of(x, np.sin(3 * x) + slope + 0.2 * noise, None, edges))
