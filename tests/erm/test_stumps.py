"""Stumps against brute force, and every way of searching against the others."""

import itertools

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from sklearn_ensemble_theory import DecisionStumpClassifier, DecisionStumpRegressor
from sklearn_ensemble_theory._hot_loops.array_loops import (
    bin_masses,
    has_signed_sums,
    pack_columns,
    ranges,
    signed_sums,
)
from sklearn_ensemble_theory._learners import (
    ClassTask,
    LeastSquaresTask,
    SignTask,
    prepare_rounds,
)
from sklearn_ensemble_theory.erm._stumps.split_criteria import (
    ClassSquares,
    LeastSquares,
    PartitionFunction,
    SignedZeroOne,
    ZeroOne,
)
from sklearn_ensemble_theory.erm._stumps.split_search import ColumnIndex


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


def columns_of(criterion, y, w, rng):
    """(rows' masses for the gain, for the bound) of each criterion."""
    by_class = np.where(y == np.arange(y.max() + 1)[:, None], w, 0.0)
    if criterion is SignedZeroOne:
        return (by_class[1:] - by_class[:1]), by_class
    if criterion is LeastSquares:
        t = rng.standard_normal(len(y)) + 0.7 * y
        t = t - w @ t / w.sum()
        t /= np.abs(t).max()
        three = np.stack([np.maximum(w * t, 0), np.maximum(-w * t, 0), w])
        return three, three
    return by_class, by_class


CRITERIA = [ZeroOne, SignedZeroOne, PartitionFunction, ClassSquares, LeastSquares]


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("signal", [0.0, 1.0])
@pytest.mark.parametrize("search_rows", [700, 2**16])
def test_bound_and_search_finds_what_the_plain_search_finds(
    criterion, seed, signal, search_rows, monkeypatch
):
    monkeypatch.setattr("sklearn_ensemble_theory.erm._stumps.split_search.SEARCH_ROWS", search_rows)
    rng = np.random.default_rng(seed)
    n, p = 3000, 4
    X = rng.standard_normal((n, p))
    X[:, 1] = np.round(X[:, 1], 1)  # ties inside and across bins
    X[:, 2] = rng.integers(0, 2, n)
    K = 3 if criterion is ZeroOne and seed % 2 else 2
    y = np.searchsorted([0.0, 0.8][: K - 1], signal * X[:, seed % 2] + rng.standard_normal(n))
    w = rng.exponential(size=n) ** 3
    columns, masses = columns_of(criterion, y, w, rng)
    plain = ColumnIndex(X, search_bins=0).best(criterion, columns)
    for bins in (4, 128):
        index = ColumnIndex(X, search_bins=bins)
        split = index.best(criterion, columns, index.column_masses(masses))
        assert (split.feature, split.threshold) == (plain.feature, plain.threshold)
        assert split.gain == pytest.approx(plain.gain, rel=1e-10)
        left = X[:, split.feature] <= split.threshold
        np.testing.assert_array_equal(index.is_left(split), left)
        np.testing.assert_allclose(split.left, columns[:, left].sum(axis=1), atol=1e-9)
        np.testing.assert_allclose(split.right, columns[:, ~left].sum(axis=1), atol=1e-9)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_bounds_hold_inside_every_bin(criterion):
    """And are bounds worth having: they decide against most bins."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4000, 3))
    y = (X[:, 0] + rng.standard_normal(4000) > 0).astype(int)
    columns, masses = columns_of(criterion, y, rng.exponential(size=4000), rng)
    decided = 0
    for j in range(3):
        order = np.argsort(X[:, j])
        inside = np.cumsum(columns[:, order], axis=1)
        gains = criterion.gain(inside, columns.sum(axis=1)[:, None])
        running = np.cumsum(masses[:, order], axis=1)
        for start in range(0, 4000, 50):
            low = running[:, start - 1] if start else np.zeros(len(masses))
            high = running[:, start + 49]
            bound = criterion.bound(low[:, None], high[:, None], masses.sum(axis=1)[:, None])[0]
            assert gains[start : start + 50].max() <= bound + 1e-9
            decided += bound < gains.max()
    assert decided > 0.6 * 240


def test_class_masses_equal_column_masses():
    rng = np.random.default_rng(0)
    X, y, w = rng.standard_normal((2500, 3)), rng.integers(0, 3, 2500), rng.random(2500)
    index = ColumnIndex(X, classes=y, n_classes=3, search_bins=32)
    expected = ColumnIndex(X, search_bins=32).column_masses(
        np.where(y == np.arange(3)[:, None], w, 0)
    )
    np.testing.assert_allclose(index.class_masses(w), expected, atol=1e-12)


@pytest.mark.parametrize("n_bins", [2, 7, 40, 300])
def test_packed_histograms_equal_one_bincount_a_column(n_bins):
    rng = np.random.default_rng(0)
    codes, w = rng.integers(0, n_bins, (5, 400)), rng.standard_normal(400)
    out = np.empty((5, n_bins))
    bin_masses(pack_columns(codes, n_bins), slice(None), w, n_bins, out)
    for j in range(5):
        np.testing.assert_allclose(out[j], np.bincount(codes[j], w, n_bins), atol=1e-12)
    half = slice(100, 300)
    bin_masses(pack_columns(codes, n_bins), half, w[half], n_bins, out)
    np.testing.assert_allclose(out[3], np.bincount(codes[3][half], w[half], n_bins), atol=1e-12)


def test_sums_by_scikit_learn_are_those_by_bincount():
    rng = np.random.default_rng(0)
    codes = np.asfortranarray(rng.integers(0, 200, (2**14, 3)).astype(np.uint8))
    values = rng.standard_normal(2**14) / 2**14
    assert not has_signed_sums(codes[:-1])  # few rows
    if not has_signed_sums(codes):
        pytest.skip("this scikit-learn keeps its histograms elsewhere")
    sums = signed_sums(codes, values, 200, np.arange(2**14, dtype=np.uint32))
    for j in range(3):
        # Doubles, not the single precision that goes in: 1e-16 of the largest sum.
        np.testing.assert_allclose(sums[j], np.bincount(codes[:, j], values, 200), atol=1e-17)
    rough = signed_sums(codes, values, 200, np.arange(2**14, dtype=np.uint32), rough=True)
    assert 0 < np.abs(rough - sums).max() <= 2**-24 * np.abs(values).sum()


def test_binned_stumps_are_the_same_without_scikit_learn_s_histograms(monkeypatch):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((2**14, 3))
    target, weight = X[:, 1] + rng.standard_normal(2**14), rng.exponential(size=2**14)
    weight /= weight.sum()
    tasks, stump = (SignTask(), LeastSquaresTask()), DecisionStumpRegressor(max_bins=64)
    found = [prepare_rounds(stump, X, None, task).best(target, weight) for task in tasks]
    monkeypatch.setattr("sklearn_ensemble_theory._hot_loops.array_loops.HistogramBuilder", None)
    again = [prepare_rounds(stump, X, None, task).best(target, weight) for task in tasks]
    for (a, psi_a), (b, psi_b) in zip(found, again):
        assert (a.feature_, a.threshold_) == (b.feature_, b.threshold_)
        np.testing.assert_allclose(psi_a, psi_b, rtol=1e-11)


def test_ranges():
    positions, first = ranges(np.array([3, 0, 7]), np.array([5, 0, 10]))
    assert positions.tolist() == [3, 4, 7, 8, 9]
    assert first.tolist() == [0, 2, 2]


@pytest.mark.parametrize("max_bins", [2, 5, 64])
def test_binned_stump_is_the_best_over_its_edges(max_bins):
    rng = np.random.default_rng(1)
    X = np.round(rng.standard_normal((400, 3)), 2)
    y = (X[:, 1] + rng.standard_normal(400) > 0.3).astype(int)
    w = rng.uniform(0.5, 2, 400)
    stump = DecisionStumpClassifier(max_bins=max_bins)
    learner = prepare_rounds(stump, X, w, ClassTask(y, np.arange(2)))
    stump.fit(X, y, w)
    errors = []
    for j, edges in enumerate(learner.index.edges):
        assert len(edges) <= max_bins - 1
        for threshold in edges:
            left = X[:, j] <= threshold
            errors.append(1 - sum(np.bincount(y[s], w[s]).max() for s in (left, ~left)) / w.sum())
    assert stump.training_error_ == pytest.approx(min(errors), abs=1e-12)
    assert stump.training_error_ >= DecisionStumpClassifier().fit(X, y, w).training_error_ - 1e-12


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


def test_sign_and_mean_stumps_as_weak_learners():
    rng = np.random.default_rng(4)
    for n in (50, 2500):
        X, w = rng.standard_normal((n, 3)), rng.uniform(0.5, 2, n)
        target = X[:, 1] + 0.5 * rng.standard_normal(n)
        learner = prepare_rounds(DecisionStumpClassifier(), X, None, SignTask())
        stump, psi = learner.best(target, w)
        np.testing.assert_array_equal(stump.predict(X), psi)
        assert set(np.unique(psi)) <= {-1.0, 1.0}
        if n == 50:
            reference = max(
                abs((w * target) @ np.where(X[:, j] <= c, 1, -1)) for j, c in questions(X)
            )
            assert (w * target) @ psi == pytest.approx(reference)
        stump, psi = prepare_rounds(DecisionStumpRegressor(), X, None, LeastSquaresTask()).best(
            target, w
        )
        alone = DecisionStumpRegressor().fit(X, target, w)
        np.testing.assert_allclose(psi, alone.predict(X), rtol=1e-12)
        np.testing.assert_allclose(stump.predict(X), psi, rtol=1e-12)


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
