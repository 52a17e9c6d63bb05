"""The search for thresholds: every way of searching against the others, and the weak learners."""

import itertools

import numpy as np
import pytest

from sklearn_ensemble_theory import DecisionStumpClassifier, DecisionStumpRegressor
from sklearn_ensemble_theory._arrays import (
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
from sklearn_ensemble_theory.erm._stumps import hamming, split_search
from sklearn_ensemble_theory.erm._stumps.split_search import (
    ClassSquares,
    ColumnIndex,
    LeastSquares,
    PartitionFunction,
    SignedZeroOne,
    ZeroOne,
)


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
    monkeypatch.setattr(split_search, "SEARCH_ROWS", search_rows)
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
    monkeypatch.setattr("sklearn_ensemble_theory._arrays.HistogramBuilder", None)
    again = [prepare_rounds(stump, X, None, task).best(target, weight) for task in tasks]
    for (a, psi_a), (b, psi_b) in zip(found, again):
        assert (a.feature_, a.threshold_) == (b.feature_, b.threshold_)
        np.testing.assert_allclose(psi_a, psi_b, rtol=1e-11)


def test_ranges():
    positions, first = ranges(np.array([3, 0, 7]), np.array([5, 0, 10]))
    assert positions.tolist() == [3, 4, 7, 8, 9]
    assert first.tolist() == [0, 2, 2]


def test_only_columns_that_a_search_looks_into_are_kept(monkeypatch):
    rng = np.random.default_rng(6000)
    X = rng.standard_normal((6000, 20))
    codes = (X[:, 0] + np.sin(2 * X[:, 1]) + 0.5 * rng.standard_normal(6000) > 0.2).astype(int)
    masses = (codes == np.arange(2)[:, None]) / len(codes)
    eager = ColumnIndex(X, classes=codes, n_classes=2)
    expected = eager.best(ZeroOne, masses, eager.class_masses(masses.sum(axis=0)), size=1.0)
    assert eager.is_sorted.all()
    monkeypatch.setattr(split_search, "KEPT_VALUES", 0)
    index = ColumnIndex(X, classes=codes, n_classes=2)
    assert not index.is_sorted.any()
    found = index.best(ZeroOne, masses, index.class_masses(masses.sum(axis=0)), size=1.0)
    assert found.threshold == expected.threshold
    np.testing.assert_array_equal(found.left, expected.left)
    np.testing.assert_array_equal(index.is_left(found), eager.is_left(expected))
    assert index.is_sorted[0]  # the column of the split
    assert np.count_nonzero(index.is_sorted) <= 3
    # Joint codes of two columns take two bytes a row.
    assert sum(joint.nbytes for _, joint in index.packs) == X.size


def test_several_classes_keep_no_matrices_of_large_data(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 20))
    codes = np.digitize(X[:, 0] + rng.standard_normal(20_000), [-0.5, 0.5])
    eager = hamming.HammingIndex(X, None, None, codes, 3)
    kept = sum(own.indices.nbytes + others.indices.nbytes for _, own, others in eager.kept_sums)
    assert kept == X.nbytes
    monkeypatch.setattr(hamming, "KEPT_VALUES", 0)
    monkeypatch.setattr(split_search, "KEPT_VALUES", 0)
    index = hamming.HammingIndex(X, None, None, codes, 3)
    assert index.kept_sums is None
    weight = np.full((len(X), 3), 1 / (3 * len(X)))
    for found, expected in zip(index.masses(weight), eager.masses(weight)):
        np.testing.assert_array_equal(found, expected)


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
                abs((w * target) @ np.where(X[:, j] <= c, 1, -1)) for j, c in thresholds(X)
            )
            assert (w * target) @ psi == pytest.approx(reference)
        stump, psi = prepare_rounds(DecisionStumpRegressor(), X, None, LeastSquaresTask()).best(
            target, w
        )
        alone = DecisionStumpRegressor().fit(X, target, w)
        np.testing.assert_allclose(psi, alone.predict(X), rtol=1e-12)
        np.testing.assert_allclose(stump.predict(X), psi, rtol=1e-12)


def thresholds(X):
    """Every (feature, threshold) between distinct values, and the constant."""
    yield 0, np.inf
    for j in range(X.shape[1]):
        for low, high in itertools.pairwise(np.unique(X[:, j])):
            yield j, low + (high - low) / 2
