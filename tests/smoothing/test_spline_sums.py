"""The sums over rows that splines and boosting by the best feature read, by different ways."""

import tracemalloc

import numpy as np
import pytest

from sklearn_ensemble_theory import LinearL2BoostingRegressor, SmoothingSplineRegressor
from sklearn_ensemble_theory.boosting import CVChoice
from sklearn_ensemble_theory.smoothing import _best_feature
from sklearn_ensemble_theory.smoothing._best_feature import (
    FeatureSmoothers,
    GramSums,
    RowSums,
    squared_errors,
)
from sklearn_ensemble_theory.smoothing._spline_basis import (
    AdditiveDesign,
    SplineBasis,
    demmler_reinsch,
)
from sklearn_ensemble_theory.smoothing._splines import (
    MemorySums,
    PenaltySpec,
    one_feature_forms,
    spectral_form,
)

from ..local_blocks import LocalBlocks
from ..surroundings import ChunkedRows, RowChecks, folds_by_hash

N = 150


def rows():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.random(N), rng.integers(0, 3, N), np.ones(N)])
    return X, X[:, 0] + rng.standard_normal(N), rng.integers(1, 4, N).astype(float)


def in_chunks(cuts, *arrays):
    parts = zip(*(np.split(a, cuts) for a in arrays))
    given = LocalBlocks([(number, *part) for number, part in enumerate(parts)])
    return ChunkedRows(given, RowChecks(3, False), arrays[0][:0])


def sums_of(cuts, n_splits=4):
    learner = SmoothingSplineRegressor(df=4, max_knots=8)
    sums = learner.linear_smoother().sums_of_blocks(
        in_chunks(cuts, *rows()), "best_feature", n_splits
    )
    smoothers = FeatureSmoothers(one_feature_forms(sums, sums.spec), sums.spec.df)
    return learner, sums, GramSums.of_blocks(smoothers, sums)


def assert_same_sums(found, expected):
    for name in ("weight", "y_sum", "squares", "functions", "moments"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), atol=1e-11)
    for j in range(3):
        np.testing.assert_allclose(found.own(j), expected.own(j), atol=1e-11)
        np.testing.assert_allclose(found.columns(j), expected.columns(j), atol=1e-11)


@pytest.mark.parametrize("cuts", [[], [50, 100], [1, 1, 2, 140]])
def test_sums_of_splines_and_of_rows(cuts):
    learner, sums, found = sums_of(cuts)
    X, y, w = rows()
    y = y / sums.scale - sums.mean[0]
    for one, other in zip(found.smoothers.forms, learner.linear_smoother().feature_forms(X, w)[0]):
        np.testing.assert_allclose(one.gamma, other.gamma, atol=1e-11)
    expected = RowSums(found.smoothers, X, y, w)
    assert_same_sums(found, expected)
    fold = folds_by_hash(np.arange(N), 4)
    splits = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(4)]
    trained, held = zip(*found.of_splits([]), strict=True)
    rests, others = zip(*expected.of_splits(splits), strict=True)
    assert len(held) == len(others) == 4
    for one, other, (train, _) in zip(trained, rests, splits):
        plain = RowSums(found.smoothers, X[train], y[train], w[train])
        assert_same_sums(one, plain)
        assert_same_sums(other, plain)
    rng = np.random.default_rng(1)
    B, constants = rng.standard_normal((found.smoothers.n_functions, 5)), rng.standard_normal(5)
    B[found.smoothers.slices[1], 1:] = 0.0
    for one, other in [(found, expected), *zip(held, others)]:
        assert_same_sums(one, other)
        errors = squared_errors(other, B, constants)
        np.testing.assert_allclose(squared_errors(one, B, constants), errors, rtol=1e-9)
        fitted = found.smoothers.design.evaluate(other.X, found.smoothers.in_splines(B)) + constants
        np.testing.assert_allclose(errors, other.w @ (other.y[:, None] - fitted) ** 2, rtol=1e-9)


@pytest.mark.slow
def test_folds_without_rows_in_a_chunk_or_in_all():
    *_, one = sums_of([], n_splits=100)
    *_, other = sums_of(list(range(1, N, 3)), n_splits=100)
    held = [fold for _, fold in other.of_splits([])]
    assert len(held) == len(one.folds) == len(np.unique(folds_by_hash(np.arange(N), 100))) < 100
    np.testing.assert_allclose(sum(fold.weight for fold in held), rows()[2].sum())
    for first, (_, second) in zip(held, one.of_splits([])):
        np.testing.assert_allclose(first.moments, second.moments, atol=1e-11)


def test_sums_by_either_way():
    """Sums over rows in one pass, a pass for each feature, or from the functions at the rows."""
    X, y, _ = rows()
    learner, fits = SmoothingSplineRegressor(df=4, max_knots=8), []
    for together, dense in ((1200, 0), (0, 0), (0, 10**9)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_best_feature, "_TOGETHER", together)
            patch.setattr(_best_feature, "_DENSE_VALUES", dense)
            model = LinearL2BoostingRegressor(
                learner, variant="best_feature", learning_rate=0.1, time=CVChoice([0, 1, 2, 4])
            )
            fits.append(model.fit(X, y))
    for other in fits[1:]:
        np.testing.assert_allclose(
            other.cv_results_["mean_score"], fits[0].cv_results_["mean_score"], rtol=1e-11
        )
        np.testing.assert_allclose(other.predict(X), fits[0].predict(X), rtol=1e-11)


def test_held_out_errors_from_rows_and_from_sums():
    X, y, _ = rows()
    learner = SmoothingSplineRegressor(df=4, max_knots=8)
    parts = FeatureSmoothers(*learner.linear_smoother().feature_forms(X, np.ones(N)))
    coefficients = np.random.default_rng(0).standard_normal((parts.n_functions, 3))
    constants = np.array([0.0, 1.0, -2.0])
    fitted = parts.design.evaluate(X, parts.in_splines(coefficients)) + constants
    for n in (parts.n_functions - 2, N):  # fewer and more rows than functions
        sums = RowSums(parts, X[:n], y[:n], np.full(n, 2.0))
        expected = 2.0 * ((y[:n, None] - fitted[:n]) ** 2).sum(axis=0)
        found = squared_errors(sums, coefficients, constants)
        np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_gram_route_equals_stacked_route():
    """Beyond 4,000 distinct values the decomposition starts from the Gram matrix."""
    rng = np.random.default_rng(14)
    X = rng.uniform(size=(4001, 1))
    values = np.sort(X[:, 0])
    basis = SplineBasis.from_values(values, 2, 100, True)
    direct = demmler_reinsch(basis, values, np.ones(4001), theta=1.0)
    product = demmler_reinsch(
        basis, None, None, gram=AdditiveDesign((basis,)).gram(X, np.ones(4001)), theta=1.0
    )
    np.testing.assert_allclose(product.gamma, direct.gamma, rtol=1e-7)


def test_the_average_over_features_needs_room_for_two_matrices_of_all_functions():
    rng = np.random.default_rng(0)
    X, w = rng.random((300, 4)), rng.random(300)
    tracemalloc.start()
    try:
        form = spectral_form(MemorySums(X, w), PenaltySpec(5.0, "gcv", 2, 200, True), True)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 3 * 8 * len(form.eigenvalues) ** 2
    # What it is made of: products of the functions are the eigenvalues.
    U = form.design.matrix(X) @ form.coefficients
    np.testing.assert_allclose(U.T @ (w[:, None] * U), np.diag(form.eigenvalues), atol=1e-12)
    D = form.design.matrix(X).toarray()
    np.testing.assert_allclose(form.design.gram(X, w), D.T @ (w[:, None] * D), atol=1e-12)
