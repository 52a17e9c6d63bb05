"""Sketches of rows in chunks: the same law as in memory, sums about any shifts, refinements."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from sklearn_ensemble_theory import SketchedLinearRegression
from sklearn_ensemble_theory._rows import ChunkedRows, RowChecks
from sklearn_ensemble_theory.averaging._sketching.chunked_sketches import sketches_of_chunks
from sklearn_ensemble_theory.averaging._sketching.sketches import SKETCHES

from ..local_blocks import LocalBlocks

CUTS = (1, 1, 7)  # chunks of 1, 0, 6 and the other rows


def in_chunks(X, y, weight=None, cuts=CUTS):
    parts = [None] * (len(cuts) + 1) if weight is None else np.split(weight, cuts)
    given = zip(range(len(cuts) + 1), np.split(X, cuts), np.split(y, cuts), parts)
    checks = RowChecks(X.shape[1], is_classifier=False, multi_output=True)
    return ChunkedRows(LocalBlocks(list(given)), checks, X[:0])


def fitted(model, X, y, weight=None, cuts=CUTS):
    model._fit_chunks(in_chunks(X, y, weight, cuts))
    model.n_features_in_ = X.shape[1]
    return model


def matrices(kind, n, size, n_draws):
    """S of every draw, from the rows of the identity: shape (n_draws, s, n)."""
    rows = in_chunks(np.eye(n), np.zeros(n))
    sums = sketches_of_chunks(rows, kind, size, list(range(n_draws)), False)
    assert (sums.n_rows, sums.weight) == (n, n)
    return [sketch.result()[0] for sketch in sums.sketches]


@pytest.mark.parametrize("kind", SKETCHES)
def test_squared_norms_are_kept_on_average(kind):
    n, n_draws = 12, 200 if kind == "srht" else 1000
    grams = np.array([S.T @ S for S in matrices(kind, n, 5, n_draws)])
    error = grams.std(axis=0) / n_draws**0.5
    assert (np.abs(grams.mean(axis=0) - np.eye(n)) <= 4.5 * error + 1e-12).all()


def test_a_subsample_has_distinct_rows_of_all_chunks_uniformly():
    n, size, n_draws = 12, 5, 1500
    S = np.array(matrices("subsample", n, size, n_draws))
    np.testing.assert_allclose((S**2).sum(axis=2), n / size)
    taken = (S != 0).sum(axis=1)
    assert set(np.unique(taken)) == {0, 1}
    frequency, p = taken.mean(axis=0), size / n
    assert (np.abs(frequency - p) < 4 * (p * (1 - p) / n_draws) ** 0.5).all()


@pytest.mark.parametrize("kind", ["countsketch", "gaussian", "rademacher", "srht", "subsample"])
def test_sums_are_about_the_shifts_of_the_first_chunk(kind):
    """Chunks have shifts and units of their own; together they are S (X - 1 shift')."""
    rng = np.random.default_rng(0)
    n, size, seeds = 40, 9, [3, 4]
    X = rng.standard_normal((n, 3)) + [0, 1000, 0]
    X[:7] += [50, 0, 0]
    y = np.column_stack([rng.standard_normal(n), np.r_[np.full(7, 5.0), rng.standard_normal(33)]])
    S = sketches_of_chunks(in_chunks(np.eye(n), np.zeros(n)), kind, size, seeds, False)
    sums = sketches_of_chunks(in_chunks(X, y), kind, size, seeds, True)
    np.testing.assert_array_equal(sums.shift, X[0])
    for identity, sketch in zip(S.sketches, sums.sketches):
        matrix, found = identity.result()[0], sketch.result()
        np.testing.assert_allclose(found[0], matrix @ (X - sums.shift), rtol=0, atol=1e-10)
        targets = np.column_stack([np.ones(n), (y - sums.y_shift) / sums.y_unit])
        np.testing.assert_allclose(found[1], matrix @ targets, rtol=0, atol=1e-10)
    np.testing.assert_allclose(sums.x_sum, (X - sums.shift).sum(axis=0))
    np.testing.assert_allclose(sums.y_sum * sums.y_unit, (y - sums.y_shift).sum(axis=0))


def problem(n=600, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * [1, 5, 0.1, 1] + [0, 3, 100, 0]
    Y = X @ rng.standard_normal((d, 2)) + 0.3 * rng.standard_normal((n, 2))
    return X, Y, rng.integers(0, 3, n).astype(float)


@pytest.mark.parametrize("kind", SKETCHES)
@pytest.mark.parametrize(("alpha", "fit_intercept"), [(0.0, True), (2.0, False)])
def test_refinements_give_the_fit_of_all_rows(kind, alpha, fit_intercept):
    X, Y, weight = problem()
    options = {"alpha": alpha, "fit_intercept": fit_intercept, "sketch": kind, "sketch_size": 60}
    model = SketchedLinearRegression(2, n_refinements=12, random_state=0, **options)
    fitted(model, X, Y, weight)
    expected = Ridge(alpha, fit_intercept=fit_intercept, solver="svd").fit(X, Y, weight)
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=0, atol=1e-10)
    np.testing.assert_allclose(model.predict(X), expected.predict(X), rtol=0, atol=1e-9)
    assert model.n_samples_seen_ == (weight > 0).sum()


def test_refinement_of_ill_conditioned_columns_is_as_accurate_as_in_memory():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((500, 3))
    X[:, 2] = X[:, 0] + 1e-5 * X[:, 2]
    y = X @ [1.0, 2.0, 3.0] + rng.standard_normal(500)
    options = {"n_refinements": 15, "sketch_size": 80, "random_state": 0}
    model = fitted(SketchedLinearRegression(**options), X, y)
    memory = SketchedLinearRegression(**options).fit(X, y)
    np.testing.assert_allclose(model.predict(X), memory.predict(X), rtol=0, atol=1e-8)
    np.testing.assert_allclose(model.coef_, memory.coef_, rtol=0, atol=1e-4)


@pytest.mark.parametrize("kind", SKETCHES)
def test_large_sketches_are_close_to_least_squares_and_risks_to_those_in_memory(kind):
    X, _, _ = problem(300)
    Xc = X - X.mean(axis=0)
    noise = np.random.default_rng(2).standard_normal((300, 40))
    noise -= noise.mean(axis=0)
    options = {"sketch": kind, "sketch_size": 40, "random_state": 1}
    risks = []
    for fit in (fitted, lambda model, X, y, **_: model.fit(X, y)):
        model = fit(SketchedLinearRegression(30, **options), X, noise, cuts=(90, 200))
        fits = np.einsum("id,mqd->mqi", Xc, model.coefs_)
        risks.append((fits**2).sum(axis=2).mean(axis=1))
    ratio = np.mean(risks[0]) / np.mean(risks[1])
    spread = np.hypot(*(np.std(r) / np.mean(r) / 30**0.5 for r in risks))
    assert abs(ratio - 1) < 4 * spread + 0.02
    assert spread < 0.12


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_units_of_y_and_chunks_of_equal_targets(scale):
    X, Y, _ = problem()
    y = Y[:, 0].copy()
    y[:7] = 0.0
    options = {"n_refinements": 8, "sketch_size": 60, "random_state": 0}
    model = fitted(SketchedLinearRegression(**options), X, y)
    scaled = fitted(SketchedLinearRegression(**options), X, scale * y)
    np.testing.assert_allclose(scaled.coef_ / scale, model.coef_, rtol=1e-9)
    constant = fitted(SketchedLinearRegression(**options), X, np.full(len(y), 3.0))
    np.testing.assert_allclose(constant.coef_, 0, atol=1e-14)
    assert constant.intercept_ == 3.0
