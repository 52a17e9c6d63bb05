"""Stumps against brute force, and every way of searching against the others."""

import itertools

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from sklearn_ensemble_theory import DecisionStumpClassifier, DecisionStumpRegressor


def questions(X):
    """Every (feature, threshold) between distinct values, and the constant."""
    yield 0, np.inf
    for j in range(X.shape[1]):
        values = np.unique(X[:, j])
        for low, high in itertools.pairwise(values):
            yield j, low + (high - low) / 2


def least_error(X, y, w):
    best = np.inf
    for j, threshold in questions(X):
        left = X[:, j] <= threshold
        right_mass = sum(max(np.bincount(y[s], w[s], 9)) for s in (left, ~left))
        best = min(best, w.sum() - right_mass)
    return best / w.sum()


def least_squares(X, y, w):
    best = np.inf
    for j, threshold in questions(X):
        left = X[:, j] <= threshold
        rss = 0.0
        for side in (left, ~left):
            if side.any():
                rss += w[side] @ (y[side] - np.average(y[side], weights=w[side])) ** 2
        best = min(best, rss)
    return best


def data(seed, n=25, p=3, ties=True, K=2):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, (n, p)).astype(float) if ties else rng.standard_normal((n, p))
    X[:, rng.integers(p)] = 2.5 if seed % 3 == 0 else X[:, 0]  # a constant or repeated column
    y = rng.integers(0, K, n)
    y[:K] = np.arange(K)
    return X, y, rng.uniform(0.1, 2, n) if seed % 2 else rng.integers(1, 4, n).astype(float)


@pytest.mark.parametrize("K", [2, 3, 5])
@pytest.mark.parametrize("ties", [True, False])
@pytest.mark.parametrize("seed", range(8))
def test_classifier_against_brute_force(seed, ties, K):
    X, y, w = data(seed, ties=ties, K=K)
    stump = DecisionStumpClassifier().fit(X, y, w)
    assert stump.training_error_ == pytest.approx(least_error(X, y, w), abs=1e-12)
    assert np.average(stump.predict(X) != y, weights=w) == pytest.approx(stump.training_error_)
    np.testing.assert_array_equal(stump.predict_proba(X).argmax(axis=1), stump.predict(X))


@pytest.mark.parametrize("ties", [True, False])
@pytest.mark.parametrize("seed", range(8))
def test_regressor_against_brute_force(seed, ties):
    X, _, w = data(seed, ties=ties)
    y = np.random.default_rng(seed).standard_normal(len(X)) + 100
    stump = DecisionStumpRegressor().fit(X, y, w)
    assert w @ (y - stump.predict(X)) ** 2 == pytest.approx(least_squares(X, y, w), rel=1e-9)
    tree = DecisionTreeRegressor(max_depth=1).fit(X, y, w)
    assert w @ (y - tree.predict(X)) ** 2 == pytest.approx(least_squares(X, y, w), rel=1e-9)


def test_many_bins_are_exact():
    rng = np.random.default_rng(2)
    X, y = np.round(rng.standard_normal((500, 3)), 1), rng.integers(0, 3, 500)
    exact = DecisionStumpClassifier().fit(X, y)
    binned = DecisionStumpClassifier(max_bins=500).fit(X, y)
    assert (exact.feature_, exact.threshold_) == (binned.feature_, binned.threshold_)


@pytest.mark.parametrize("max_bins", [None, 16])
@pytest.mark.parametrize("n", [60, 3000])
def test_weight_of_two_is_a_row_twice_and_zero_is_no_row(max_bins, n):
    rng = np.random.default_rng(3)
    X = rng.integers(0, 40, (n, 4)).astype(float)
    y = X[:, 2] + 20 * rng.standard_normal(n)
    w = rng.integers(0, 3, n)
    for cls, target in ((DecisionStumpRegressor, y), (DecisionStumpClassifier, y > 20)):
        weighted = cls(max_bins=max_bins).fit(X, target, w)
        repeated = cls(max_bins=max_bins).fit(np.repeat(X, w, 0), np.repeat(target, w))
        assert (weighted.feature_, weighted.threshold_) == (repeated.feature_, repeated.threshold_)
        np.testing.assert_allclose(
            weighted.predict(X).astype(float), repeated.predict(X).astype(float), rtol=1e-12
        )


def test_zero_one_stump_beats_the_gini_stump_where_the_literature_says_so():
    """A tree of depth one minimises the Gini index, not the error."""
    X = np.arange(10.0)[:, None]
    y = np.array([0, 0, 0, 0, 0, 0, 1, 0, 1, 0])
    w = np.array([1, 1, 1, 1, 1, 1, 1, 1, 2, 1.0])
    stump = DecisionStumpClassifier().fit(X, y, w)
    tree = DecisionTreeClassifier(max_depth=1).fit(X, y, w)
    assert stump.training_error_ == pytest.approx(2 / 11)
    assert np.average(tree.predict(X) != y, weights=w) >= stump.training_error_
    rng = np.random.default_rng(0)
    better = 0
    for _ in range(30):
        X, y = rng.standard_normal((50, 4)), rng.integers(0, 2, 50)
        tree = DecisionTreeClassifier(max_depth=1).fit(X, y)
        better += DecisionStumpClassifier().fit(X, y).training_error_ < 1 - tree.score(X, y) - 1e-12
    assert better > 10


def test_constant_stumps():
    X = np.ones((6, 2))
    stump = DecisionStumpClassifier().fit(X, [0, 1, 1, 1, 0, 1])
    assert stump.threshold_ == np.inf
    assert stump.predict(X).tolist() == [1] * 6
    assert stump.feature_importances_.tolist() == [0, 0]
    stump = DecisionStumpRegressor().fit(X, np.arange(6.0))
    assert stump.predict([[9.0, 9.0]]) == 2.5
    stump = DecisionStumpRegressor().fit(np.arange(12.0).reshape(6, 2), np.full(6, 0.1))
    assert stump.threshold_ == np.inf
    assert DecisionStumpClassifier(max_bins=4).fit(X, [0, 1, 1, 1, 0, 1]).threshold_ == np.inf


def test_neighbouring_floats_and_huge_values_have_thresholds_between_them():
    for low, high in [(1.0, np.nextafter(1.0, 2)), (-1e308, 1e308), (0.0, 5e-324)]:
        for max_bins in (None, 4):
            stump = DecisionStumpClassifier(max_bins=max_bins).fit([[low], [high]], [0, 1])
            assert low <= stump.threshold_ < high
            assert stump.predict([[low], [high]]).tolist() == [0, 1]
    single = np.array([[1.0], [np.nextafter(np.float32(1), np.float32(2))]], dtype=np.float32)
    assert DecisionStumpClassifier().fit(single, [0, 1]).predict(single).tolist() == [0, 1]


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_targets_of_any_size(scale):
    X, y = np.arange(6.0)[:, None], scale * np.array([1, 1, 2, 8, 8, 9.0])
    stump = DecisionStumpRegressor().fit(X, y)
    assert stump.threshold_ == 2.5
    np.testing.assert_allclose(stump.predict(X[[0, 5]]) / scale, [4 / 3, 25 / 3])


@pytest.mark.parametrize("weight", [1e-300, 1e300])
def test_weights_of_any_size(weight):
    X, y = np.arange(6.0)[:, None], np.array([0, 0, 0, 1, 1, 0])
    stump = DecisionStumpClassifier().fit(X, y, np.full(6, weight))
    assert stump.threshold_ == 2.5
    assert stump.training_error_ == pytest.approx(1 / 6)
    both = np.array([1e-300, 1e-300, 1e300, 1e300, 1e300, 1e300])
    assert DecisionStumpClassifier().fit(X, y, both).training_error_ == pytest.approx(0.25)


@pytest.mark.parametrize("cls", [DecisionStumpClassifier, DecisionStumpRegressor])
def test_bad_data_is_refused_by_name(cls):
    X, y = np.arange(6.0)[:, None], np.array([0, 0, 0, 1, 1, 0])
    for bad in (np.nan, np.inf):
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            cls().fit(np.where(X == 3, bad, X), y)
    with pytest.raises(ValueError, match="Negative values in data passed to `sample_weight`"):
        cls().fit(X, y, sample_weight=[-1, 1, 1, 1, 1, 1])
    with pytest.raises(ValueError, match="at least one"):
        cls().fit(X, y, sample_weight=np.zeros(6))
    with pytest.raises(ValueError, match="max_bins"):
        cls(max_bins=1).fit(X, y)
