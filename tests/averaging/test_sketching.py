"""Sketched linear regression: the sketches as matrices, the fit, its risk."""

import tracemalloc
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LinearRegression, Ridge

from sklearn_ensemble_theory import SketchedLinearRegression
from sklearn_ensemble_theory.averaging._sketched_least_squares import (
    sketched_solution,
    sums_of_rows,
)
from sklearn_ensemble_theory.averaging._sketches import SKETCHES, draw_leverage_rows
from sklearn_ensemble_theory.bounds import gaussian_sketch_risk

from ..local_blocks import rows_in_blocks

KINDS = sorted(SKETCHES)
OBLIVIOUS = [kind for kind in KINDS if SKETCHES[kind].oblivious]
every_kind = pytest.mark.parametrize("kind", KINDS)


def problem(n=400, d=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * [1.0, 2.0, 0.1, 5.0, 1.0][:d] + 3.0
    return X, X @ rng.standard_normal(d) + rng.standard_normal(n) + 10


def matrix(kind, seed, s, n, cuts=()):
    """S, as the sketch of the unit matrix, added in chunks."""
    sketch = SKETCHES[kind](seed, s, n, 1)
    for rows in np.split(np.arange(n), cuts):
        sketch.add(np.eye(n)[rows], np.ones((len(rows), 1)))
    S, ones = sketch.result()
    np.testing.assert_allclose(S.sum(axis=1), ones[:, 0], atol=1e-12)
    return S


# The sketches


@pytest.mark.slow
@pytest.mark.parametrize("kind", OBLIVIOUS)
@pytest.mark.parametrize("s", [3, 12, 70])
def test_sketches_preserve_squared_norms_on_average(kind, s):
    n, draws = 40, 1500
    mean = np.zeros((n, n))
    for seed in range(draws):
        S = matrix(kind, seed, s, n)
        assert len(S) == s or (kind == "subsample" and len(S) == min(s, n))
        mean += S.T @ S / draws
    # Elements have standard deviations of at most sqrt(n/s) for "subsample", 1/sqrt(s) otherwise.
    spread = max(1.0, (n / s) ** 0.5) if kind == "subsample" else s**-0.5 * 1.5
    np.testing.assert_allclose(mean, np.eye(n), atol=5 * spread / draws**0.5)


@pytest.mark.parametrize("kind", OBLIVIOUS)
def test_sketches_do_not_depend_on_the_chunks(kind):
    n = 700
    whole = matrix(kind, 0, 20, n)
    assert not np.array_equal(whole, matrix(kind, 1, 20, n))
    np.testing.assert_allclose(matrix(kind, 0, 20, n, [1, 5, 5, 300, 301, 512]), whole, atol=1e-13)


def test_forms_of_the_sketches():
    n, s = 600, 20
    count = matrix("countsketch", 0, s, n)
    assert set(np.unique(count)) == {-1, 0, 1}
    assert (np.abs(count).sum(axis=0) == 1).all()
    signs = matrix("rademacher", 0, s, n) * s**0.5
    np.testing.assert_allclose(np.abs(signs), 1)
    assert abs(signs.mean()) < 4 / (n * s) ** 0.5
    rows = matrix("subsample", 0, s, n)
    assert ((rows > 0).sum(axis=1) == 1).all()
    assert (rows.max(axis=0) > 0).sum() == s
    srht = matrix("srht", 0, s, 512)  # two whole blocks: orthogonal rows
    np.testing.assert_allclose(srht @ srht.T, np.eye(s) * 512 / s, atol=1e-12)


def test_a_result_in_between_changes_nothing():
    for kind in OBLIVIOUS:
        once, twice = (SKETCHES[kind](0, 8, 3, 1) for _ in range(2))
        X = np.random.default_rng(0).standard_normal((300, 3))
        for part in (X[:130], X[130:]):
            once.add(part, part[:, :1])
            twice.add(part, part[:, :1])
            twice.result()
        np.testing.assert_array_equal(once.result()[0], twice.result()[0])


def test_draws_by_probability_are_unbiased():
    rng = np.random.default_rng(0)
    p = rng.random(30) ** 3
    x = rng.random(30)
    sums = []
    for _ in range(4000):
        rows, factors = draw_leverage_rows(rng, p, 10)
        sums.append((factors**2 * x[rows]).sum())
    assert abs(np.mean(sums) - x.sum()) < 4 * np.std(sums) / 4000**0.5


# The fit


@every_kind
@pytest.mark.parametrize("alpha", [0.0, 30.0])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_average_and_refinement_go_to_the_fit_on_all_rows(kind, alpha, fit_intercept):
    X, y = problem()
    y = np.column_stack([y, X[:, 0] ** 2])
    w = np.random.default_rng(1).integers(0, 3, len(y))
    peer = Ridge(alpha=alpha, fit_intercept=fit_intercept, solver="svd").fit(X, y, w)
    options = {"sketch": kind, "alpha": alpha, "fit_intercept": fit_intercept, "random_state": 0}
    model = SketchedLinearRegression(3, n_refinements=25, **options).fit(X, y, w)
    np.testing.assert_allclose(model.coef_, peer.coef_, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(model.predict(X), peer.predict(X), rtol=1e-7)
    assert model.coefs_.shape == (3, 2, 5)
    one, many = (
        SketchedLinearRegression(m, sketch_size=40.0, **options).fit(X, y, w) for m in (1, 100)
    )
    assert one.n_samples_seen_ == np.count_nonzero(w)
    error_of_one = np.mean((one.predict(X) - peer.predict(X)) ** 2)
    assert np.mean((many.predict(X) - peer.predict(X)) ** 2) < max(0.1 * error_of_one, 0.002)
    np.testing.assert_allclose(many.coef_, many.coefs_.mean(axis=0), rtol=1e-10)


@pytest.mark.parametrize("kind", OBLIVIOUS)
@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
def test_partial_fit_over_chunks_is_one_fit(kind, container):
    X, y = problem(700)
    X = container(np.where(np.abs(X) > 3, X, 0.0))
    w = np.random.default_rng(1).random(700)
    model = SketchedLinearRegression(3, sketch=kind, random_state=0)
    for rows in np.split(np.arange(700), [1, 7, 300, 400]):
        model.partial_fit(X[rows], y[rows], w[rows])
    whole = SketchedLinearRegression(3, sketch=kind, random_state=0, n_jobs=2).fit(X, y, w)
    np.testing.assert_allclose(model.coefs_, whole.coefs_, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(model.intercept_, whole.intercept_, rtol=1e-9)
    assert model.n_samples_seen_ == 700
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        model.partial_fit(X[:0], y[:0])
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(X[:5, :2], y[:5])
    with pytest.raises(ValueError, match="y must have as many columns"):
        model.partial_fit(X[:5], np.column_stack([y[:5], y[:5]]))
    np.testing.assert_allclose(model.coefs_, whole.coefs_, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("options", [{"sketch": "leverage"}, {"n_refinements": 1}])
def test_partial_fit_refuses_what_needs_all_rows(options):
    X, y = problem()
    with pytest.raises(ValueError, match="partial_fit sees a chunk once"):
        SketchedLinearRegression(**options).partial_fit(X, y)


@every_kind
def test_forms_of_X_give_one_model(kind):
    X, y = problem()
    X = np.where(X > 2, X, 0.0).astype(np.float32).astype(float)
    model = SketchedLinearRegression(2, sketch=kind, random_state=0)
    expected = model.fit(X, y).coef_
    for other in (np.asfortranarray(X), X.astype(np.float32), sp.csr_matrix(X), sp.csc_array(X)):
        np.testing.assert_allclose(model.fit(other, y).coef_, expected, rtol=1e-9, atol=1e-12)


def test_sizes_of_the_sketch():
    X, y = problem()
    with pytest.raises(ValueError, match="sketches of 4 rows, fewer than the 5 features"):
        SketchedLinearRegression(sketch_size=4).fit(X, y)
    ridge = SketchedLinearRegression(200, sketch_size=4, alpha=1.0, random_state=0).fit(X, y)
    assert ridge.sketch_size_ == 4
    assert np.isfinite(ridge.coef_).all()
    for s in (5, 6, 7, 1.0, 1.4):
        model = SketchedLinearRegression(sketch="gaussian", sketch_size=s).fit(X, y)
        assert model.sketch_size_ == (s if isinstance(s, int) else round(5 * s))
        assert np.isfinite(model.coef_).all()
        assert (model.excess_risk() == np.inf) == (model.sketch_size_ <= 6)


@every_kind
@pytest.mark.parametrize("alpha", [0.0, 2.0])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_no_more_rows_than_a_sketch_has_are_fitted_themselves(kind, alpha, fit_intercept):
    """Least squares or ridge regression, for weighted, sparse and far rows, and several targets."""
    X, y = problem(40, 5)
    Y, w = np.column_stack([y, 1e6 + X[:, 0] ** 2]), np.arange(40) % 4 + 1.0
    X[:, 1] += 1e3 * fit_intercept
    peer = (
        Ridge(alpha, fit_intercept=fit_intercept)
        if alpha
        else LinearRegression(fit_intercept=fit_intercept)
    )
    options = {"sketch": kind, "alpha": alpha, "fit_intercept": fit_intercept}
    for rows in (X, sp.csr_matrix(X)):
        model = SketchedLinearRegression(3, **options).fit(rows, Y, w)
        peer.fit(X, Y, w)
        np.testing.assert_allclose(model.coef_, peer.coef_, rtol=1e-7, atol=1e-7)
        np.testing.assert_allclose(model.predict(rows), peer.predict(X), rtol=1e-9)
        assert model.sketch_size_ == model.n_samples_seen_ == 40
        assert model.coefs_.shape == (3, 2, 5)
        np.testing.assert_array_equal(model.coefs_, np.repeat(model.coef_[None], 3, axis=0))
    if alpha == 0:
        assert model.excess_risk(2.0) == pytest.approx(4 * (5 + fit_intercept) / 40)
    # One row more than a sketch has is one too many.
    few = SketchedLinearRegression(sketch_size=39, random_state=0, **options).fit(X, Y)
    many = SketchedLinearRegression(sketch_size=40, **options).fit(X, Y)
    assert few.sketch_size_ == 39
    assert np.abs(few.coef_ - many.coef_).max() > 1e-9 * np.abs(many.coef_).max()


@every_kind
def test_rank_deficient_X(kind):
    X, y = problem()
    X = np.column_stack([X, X[:, 0] + X[:, 1], np.full(len(X), 7.0), np.zeros(len(X))])
    model = SketchedLinearRegression(3, sketch=kind, n_refinements=25, random_state=0).fit(X, y)
    peer = LinearRegression().fit(X, y)
    assert model.rank_ == 5
    np.testing.assert_allclose(model.predict(X), peer.predict(X), rtol=1e-7)
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-7)  # of the smallest norm


def test_fewer_rows_than_features_are_interpolated():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((6, 20)), rng.standard_normal(6)
    model = SketchedLinearRegression(random_state=0).fit(X, y)
    np.testing.assert_allclose(model.coef_, LinearRegression().fit(X, y).coef_, atol=1e-10)


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_units_do_not_matter(scale):
    X, y = problem()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plain = SketchedLinearRegression(2, n_refinements=2, random_state=0).fit(X, y)
        X = X * [1, scale, 1, 1 / scale, 1]
        model = SketchedLinearRegression(2, n_refinements=2, random_state=0).fit(X, y * scale)
    np.testing.assert_allclose(
        model.predict(X), plain.predict(X / [1, scale, 1, 1 / scale, 1]) * scale, rtol=1e-9
    )
    with pytest.raises(ValueError, match="so large that sums over rows overflow"):
        sketched_solution(np.array([[np.inf]]), np.ones((1, 1)), 0.0)


def test_columns_far_from_zero_lose_no_digits():
    X, y = problem()
    far = X + 1e9
    model = SketchedLinearRegression(2, random_state=0).fit(X, y)
    shifted = SketchedLinearRegression(2, random_state=0).fit(far, y)
    # X + 1e9 has 7 digits of X left; sums of squares about zero would have none.
    np.testing.assert_allclose(shifted.coef_, model.coef_, rtol=1e-5)


@pytest.mark.parametrize(
    "options", [{}, {"sketch": "srht"}, {"sketch": "leverage"}, {"n_refinements": 1}]
)
def test_memory_is_a_fraction_of_X(options):
    X = np.random.default_rng(0).standard_normal((60_000, 100))
    y = X[:, 0].copy()
    model = SketchedLinearRegression(random_state=0, **options).fit(X[:2000], y[:2000])
    tracemalloc.start()
    model.fit(X, y)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 0.3 * X.nbytes


# The risk


def spread_of(S_coefs, X):
    """(1/n) E ||X theta||^2 over the noise, for targets that are the unit vectors."""
    return np.einsum("mqd,de,mqe->m", S_coefs, X.T @ X, S_coefs) / len(X)


@pytest.mark.slow
def test_risk_of_gaussian_sketches_by_simulation():
    """Exactly over the noise (targets are the unit vectors), 5,000 simulated sketches."""
    n, d, s = 15, 3, 14
    X = problem(n, d)[0]
    draws = 5_000
    for fit_intercept in (False, True):
        model = SketchedLinearRegression(
            draws, sketch="gaussian", sketch_size=s, fit_intercept=fit_intercept, random_state=1
        ).fit(X, np.eye(n))
        centred = X - fit_intercept * X.mean(axis=0)
        for m in (1, 2, 5):
            coefs = model.coefs_.reshape(-1, m, n, d).mean(axis=1)
            risks = spread_of(coefs, centred) + fit_intercept / n
            model.n_estimators = m
            error = np.std(risks) / len(risks) ** 0.5
            assert abs(risks.mean() - model.excess_risk()) < 3 * error
            assert error < 0.005 * model.excess_risk()
            if not fit_intercept:
                assert model.excess_risk() == pytest.approx(gaussian_sketch_risk(n, d, s, m))


@every_kind
def test_risk_of_all_sketches_on_many_ordinary_rows(kind):
    """The limits without X against the simulation with X, on incoherent rows."""
    X = np.random.default_rng(0).standard_normal((600, 8))
    model = SketchedLinearRegression(2, sketch=kind, sketch_size=60, random_state=0)
    model.fit(X, X[:, 0])
    simulated = model.excess_risk(2.0, X, n_draws=600, random_state=0)
    assert simulated == pytest.approx(model.excess_risk(2.0), rel=0.12)


@pytest.mark.slow
def test_simulated_risk_is_right_for_least_squares():
    X = np.random.default_rng(0).standard_normal((300, 4))
    model = SketchedLinearRegression(n_refinements=12, random_state=0).fit(X, X[:, 0])
    risk = model.excess_risk(3.0, X, n_draws=2000, random_state=0)
    assert risk == pytest.approx(9 * 5 / 300, rel=0.05)
    with pytest.raises(ValueError, match="requires X"):
        model.excess_risk()
    with pytest.raises(ValueError, match="sigma"):
        model.excess_risk(-1.0)
    with pytest.raises(ValueError, match="alpha=0"):
        SketchedLinearRegression(alpha=1.0).fit(X, X[:, 0]).excess_risk()


def test_rows_of_large_leverage():
    """Five rows determine half of the coefficients: only a uniform subsample loses them."""
    rng = np.random.default_rng(0)
    X = np.zeros((2000, 10))
    X[:, :5] = rng.standard_normal((2000, 5))
    X[:5, 5:] = 1000 * (np.eye(5) + 1)
    y = X.sum(axis=1) + rng.standard_normal(2000)
    errors = {}
    for kind in KINDS:
        model = SketchedLinearRegression(
            4, sketch=kind, sketch_size=100, fit_intercept=False, random_state=0
        )
        errors[kind] = np.abs(model.fit(X, y).coef_[5:] - 1).max()
    assert errors.pop("subsample") > 0.5
    assert max(errors.values()) < 0.05


# Rows in chunks: the same law as in memory, sums about any shifts, refinements

CUTS = (1, 1, 7)  # chunks of 1, 0, 6 and the other rows


def in_chunks(X, y, weight=None, cuts=CUTS):
    return rows_in_blocks(X, y, weight, cuts=cuts, multi_output=True)


def fitted(model, X, y, weight=None, cuts=CUTS):
    model._fit_chunks(in_chunks(X, y, weight, cuts))
    model.n_features_in_ = X.shape[1]
    return model


def matrices(kind, n, size, n_draws):
    """S of every draw, from the rows of the identity: shape (n_draws, s, n)."""
    rows = in_chunks(np.eye(n), np.zeros(n))
    sums = sums_of_rows(rows, kind, size, list(range(n_draws)), False)
    assert (sums.n_rows, sums.weight) == (n, n)
    return [sketch.result()[0] for sketch in sums.sketches]


@pytest.mark.parametrize("kind", KINDS)
def test_squared_norms_are_kept_on_average_in_chunks(kind):
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


@pytest.mark.parametrize("kind", OBLIVIOUS)
def test_sums_are_about_the_shifts_of_the_first_chunk(kind):
    """Chunks have shifts and units of their own; together they are S (X - 1 shift')."""
    rng = np.random.default_rng(0)
    n, size, seeds = 40, 9, [3, 4]
    X = rng.standard_normal((n, 3)) + [0, 1000, 0]
    X[:7] += [50, 0, 0]
    y = np.column_stack([rng.standard_normal(n), np.r_[np.full(7, 5.0), rng.standard_normal(33)]])
    S = sums_of_rows(in_chunks(np.eye(n), np.zeros(n)), kind, size, seeds, False)
    sums = sums_of_rows(in_chunks(X, y), kind, size, seeds, True)
    np.testing.assert_array_equal(sums.frame.x_shift, X[0])
    for identity, sketch in zip(S.sketches, sums.sketches):
        matrix, found = identity.result()[0], sketch.result()
        np.testing.assert_allclose(found[0], matrix @ (X - sums.frame.x_shift), rtol=0, atol=1e-10)
        targets = np.column_stack([np.ones(n), (y - sums.frame.y_shift) / sums.frame.y_unit])
        np.testing.assert_allclose(found[1], matrix @ targets, rtol=0, atol=1e-10)
    np.testing.assert_allclose(sums.x_sum, (X - sums.frame.x_shift).sum(axis=0))
    np.testing.assert_allclose(sums.y_sum * sums.frame.y_unit, (y - sums.frame.y_shift).sum(axis=0))


def uneven_problem(n=600, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * [1, 5, 0.1, 1] + [0, 3, 100, 0]
    Y = X @ rng.standard_normal((d, 2)) + 0.3 * rng.standard_normal((n, 2))
    return X, Y, rng.integers(0, 3, n).astype(float)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("alpha", "fit_intercept"), [(0.0, True), (2.0, False)])
def test_refinements_give_the_fit_of_all_rows(kind, alpha, fit_intercept):
    X, Y, weight = uneven_problem()
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


@pytest.mark.parametrize("kind", KINDS)
def test_large_sketches_are_close_to_least_squares_and_risks_to_those_in_memory(kind):
    X, _, _ = uneven_problem(300)
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
    X, Y, _ = uneven_problem()
    y = Y[:, 0].copy()
    y[:7] = 0.0
    options = {"n_refinements": 8, "sketch_size": 60, "random_state": 0}
    model = fitted(SketchedLinearRegression(**options), X, y)
    scaled = fitted(SketchedLinearRegression(**options), X, scale * y)
    np.testing.assert_allclose(scaled.coef_ / scale, model.coef_, rtol=1e-9)
    constant = fitted(SketchedLinearRegression(**options), X, np.full(len(y), 3.0))
    np.testing.assert_allclose(constant.coef_, 0, atol=1e-14)
    assert constant.intercept_ == 3.0
