"""The sums over rows that splines and boosting by the best feature read, by different ways."""

import tracemalloc

import numpy as np
import pytest

from sklearn_ensemble_theory import LinearL2BoostingRegressor, SmoothingSplineRegressor
from sklearn_ensemble_theory.boosting import CVChoice
from sklearn_ensemble_theory.smoothing import _best_feature, _splines
from sklearn_ensemble_theory.smoothing._best_feature import (
    FeatureSmoothers,
    GramSums,
    RowSums,
    squared_errors,
)
from sklearn_ensemble_theory.smoothing._spline_basis import (
    AdditiveDesign,
    SplineBasis,
    asymptotic_penalty,
    demmler_reinsch,
    factor_for_df,
)
from sklearn_ensemble_theory.smoothing._splines import (
    MemorySums,
    PenaltySpec,
    joint_form,
    one_feature_forms,
    penalised_form,
    single_form,
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
    X, w = rng.random((900, 4)), rng.random(900)  # more rows than functions
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


def hard_rows(kind, n=60, p=5):
    rng = np.random.default_rng(3)
    X, w = rng.standard_normal((n, p)), rng.integers(1, 4, n).astype(float)
    if kind == "copies":  # of a feature and, up to the sign, of another
        X = np.column_stack([X, X[:, 0], -2.0 * X[:, 1]])
    if kind == "tails":
        X = rng.standard_t(1.5, size=(n, p))
    if kind == "ties":
        X[:, 0], X[:, 1], X[n // 2 :] = 1.0, X[:, 1] > 0, X[: n // 2]
    return X, w, np.column_stack([np.sin(2 * X[:, -1]), X[:, 2]]) + rng.standard_normal((n, 2))


@pytest.mark.parametrize("kind", ["easy", "copies", "tails", "ties"])
@pytest.mark.parametrize("df", [2.0, 4.0, 9.0])
def test_smoothers_of_fewer_rows_than_functions(kind, df, monkeypatch):
    """By n rows, by Gram matrices of all functions, and by least squares on stacked roots."""
    X, w, _ = hard_rows(kind)
    sums, spec = MemorySums(X, w), PenaltySpec(df, "gcv", 2, 50, True)
    new = np.random.default_rng(4).uniform(X.min(0), X.max(0), size=(20, X.shape[1]))
    for each in (False, True):
        found = []
        for has_rows in (True, False):
            if not has_rows:
                monkeypatch.setattr(MemorySums, "short_root", lambda self, design: None)
            form = spectral_form(sums, spec, each)
            U = form.design.matrix(X) @ form.coefficients
            values = form.design.matrix(np.vstack([X, new])) @ form.coefficients
            # Orthogonal functions, of which the eigenvalues are the squared lengths.
            np.testing.assert_allclose(
                U.T @ (w[:, None] * U), np.diag(form.eigenvalues), rtol=0, atol=1e-11
            )
            assert not has_rows or kind == "tails" or len(form.eigenvalues) < len(X)
            found.append((values @ U.T * w, np.sort(form.eigenvalues)[::-1][: len(X) - 1]))
        monkeypatch.undo()
        np.testing.assert_allclose(found[0][0], found[1][0], rtol=0, atol=1e-10)
        k = len(found[0][1])
        np.testing.assert_allclose(found[0][1], found[1][1][:k], rtol=0, atol=1e-11)
    # The normal equations that a fit solves, as a stack of roots; copies share a line.
    factors = sums.factors(spec)
    singles = [single_form(f, spec.on_unit_interval(f, j)) for j, f in enumerate(factors)]
    keep = [np.isfinite(form.roughness) for form in singles]
    Phi = np.hstack(
        [form.design.matrix(x[:, None]) @ form.T[:, k] for form, x, k in zip(singles, X.T, keep)]
    )
    roughness = np.concatenate([form.roughness[k] for form, k in zip(singles, keep)])
    root = np.sqrt(w)[:, None]
    stack = np.vstack([root * Phi, np.diag(np.sqrt(roughness))])
    target = np.vstack([np.diag(root[:, 0]), np.zeros((Phi.shape[1], len(X)))])
    expected = Phi @ np.linalg.lstsq(stack, target, rcond=1e-9)[0]
    form = spectral_form(sums, spec, False)
    U = form.design.matrix(X) @ form.coefficients
    np.testing.assert_allclose(U @ U.T * w, expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize("kind", ["easy", "copies", "tails", "ties"])
@pytest.mark.parametrize("n_knots", [5, 50])
def test_a_chosen_penalty_rescales_the_functions(kind, n_knots):
    """A second decomposition, at the penalty that cross-validation has chosen, is the same fit."""
    X, w, Y = hard_rows(kind)
    sums, spec = MemorySums(X, w, Y - w @ Y / w.sum()), PenaltySpec(None, "gcv", 2, n_knots, True)
    form, _, moments = penalised_form(sums, spec)
    factors = sums.factors(spec)
    pilot = [spec.on_unit_interval(f, j) for j, f in enumerate(factors)]
    first = joint_form(factors, pilot, sums)
    kappa = _splines.gcv_factor(first, first.T.T @ sums.moments(first.design), *sums.observations())
    again = joint_form(factors, [nu * kappa for nu in pilot], sums)
    fits = [
        each.design.evaluate(X, each.T @ (each.shrinkage(1.0)[:, None] * z))
        for each, z in ((form, moments), (again, again.T.T @ sums.moments(again.design)))
    ]
    np.testing.assert_allclose(*fits, rtol=0, atol=1e-9)


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("law", ["random", "standard_normal", "standard_exponential"])
def test_the_first_penalty_is_near_that_of_the_degrees_of_freedom(order, law):
    values = np.sort(getattr(np.random.default_rng(0), law)(300))
    basis = SplineBasis.from_values(values, order, 60, True)
    for df in (order + 1.0, 8.0):
        theta = asymptotic_penalty(basis, 300.0, df)
        factors = demmler_reinsch(basis, values, np.ones(300), theta=theta)
        right = factor_for_df(factors.gamma, factors.roughness, df)
        assert abs(np.log(right)) < 2.0 * order


def test_unpenalised_functions_that_fit_every_row():
    """As many lines as rows: no function is left over, and GCV is the same at all times."""
    rng = np.random.default_rng(0)
    X, y, w = rng.random((9, 30)), rng.standard_normal(9), rng.integers(1, 5, 9).astype(float)
    form = spectral_form(MemorySums(X, w), PenaltySpec(5.0, "gcv", 2, 10, True), False)
    np.testing.assert_allclose(form.eigenvalues, np.ones(8), rtol=1e-12)
    model = LinearL2BoostingRegressor(SmoothingSplineRegressor(5)).fit(X, y, w)
    scores = model.cv_results_["mean_score"]
    np.testing.assert_allclose(scores[np.isfinite(scores)], scores[0], rtol=1e-10)
    assert model.time_ == 0.0
    order = np.repeat(rng.permutation(9), 2)  # rows that count twice, in another order
    other = LinearL2BoostingRegressor(SmoothingSplineRegressor(5)).fit(X[order], y[order])
    assert other.time_ == 0.0
