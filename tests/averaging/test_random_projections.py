"""Averages of fits on random projections, compared with explicit projections and scikit-learn."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.decomposition import PCA
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_ensemble_theory import RandomProjectionRegressor

LINEAR = ["gaussian", "sparse", "coordinate"]
KINDS = [*LINEAR, "fourier", "relu"]


def problem(n, d, seed=0, outputs=None):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + 2.0
    shape = d if outputs is None else (d, outputs)
    y = X @ rng.standard_normal(shape)
    return X, y + rng.standard_normal(y.shape) - 5.0


def regressor(projection, n_components=20, n_estimators=4, **params):
    return RandomProjectionRegressor(
        n_estimators,
        n_components=n_components,
        projection=projection,
        **{"random_state": 0, **params},
    )


# --- all variables ------------------------------------------------------------------------------


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("shape", [(60, 15), (20, 50), (30, 30)])
@pytest.mark.parametrize("projection", ["gaussian", "coordinate"])
def test_with_all_components_it_is_least_squares(projection, shape, intercept):
    X, y = problem(*shape)
    ours = regressor(projection, 60, fit_intercept=intercept).fit(X, y)
    peer = LinearRegression(fit_intercept=intercept).fit(X, y)
    np.testing.assert_allclose(ours.coef_, peer.coef_, atol=1e-10)
    assert ours.intercept_ == pytest.approx(peer.intercept_)


def test_rank_deficient_and_ill_conditioned_designs():
    X, y = problem(50, 20)
    X = np.c_[X, X[:, :5], X[:, :3].sum(axis=1), np.full(50, 1e6)]
    expected = LinearRegression().fit(X, y)
    for projection in ("gaussian", "coordinate"):
        ours = regressor(projection, 100).fit(X, y)
        np.testing.assert_allclose(ours.predict(X), expected.predict(X), rtol=1e-9)
        assert np.linalg.norm(ours.coef_) <= np.linalg.norm(expected.coef_) * (1 + 1e-6)
        assert ours.coef_[-1] == 0.0
    powers = np.vander(np.linspace(0, 1, 50), 9)
    exact = LinearRegression().fit(powers, y).predict(powers)
    np.testing.assert_allclose(regressor("gaussian").fit(powers, y).predict(powers), exact)


@pytest.mark.parametrize("projection", ["gaussian", "sparse", "coordinate"])
def test_penalty_has_the_units_of_ridge(projection):
    X, y = problem(60, 12)
    expected = Ridge(3.0).fit(X, y).coef_
    size = 12 if projection == "coordinate" else 40_000
    ours = regressor(projection, size, alpha=3.0).fit(X, y)
    np.testing.assert_allclose(ours.coef_, expected, atol=0.02 if size > 12 else 1e-12)


# --- explicit projections -----------------------------------------------------------------------


def explicit(model, X):
    """The projected rows of each member, from the draws of the fit."""
    weight = np.full(len(X), 1 / len(X))
    law, _ = model._projection_of(X, weight, float(len(X)))
    for seed in np.random.RandomState(0).randint(2**31 - 1, size=model.n_estimators):
        design, S = law.draw(seed)
        if model.projection == "gaussian":
            G = S / np.sqrt(model.n_components)
            yield X @ law.space.from_coordinates(G)
        elif model.projection == "sparse":
            yield X @ S
        elif model.projection == "coordinate":
            yield X[:, S] * np.sqrt(X.shape[1] / len(S))
        else:
            W, b, _ = S
            units = {"fourier": np.cos, "relu": lambda Z: np.maximum(Z, 0)}[model.projection]
            yield law.amplitude * units(X @ W + b)
        assert len(design) <= len(X)


@pytest.mark.parametrize("alpha", [0.0, 2.0])
@pytest.mark.parametrize("shape", [(70, 30), (30, 70)])
@pytest.mark.parametrize("projection", KINDS)
def test_average_of_ordinary_fits(projection, shape, alpha):
    X, y = problem(*shape, outputs=2)
    model = regressor(projection, alpha=alpha).fit(X, y)
    peer = Ridge(alpha) if alpha else LinearRegression()
    expected = np.mean([peer.fit(Z, y).predict(Z) for Z in explicit(model, X)], axis=0)
    np.testing.assert_allclose(model.predict(X), expected, atol=1e-8)


def test_laws_of_the_projections():
    X, _ = problem(50, 400)
    weight = np.full(50, 0.02)
    for projection in LINEAR:
        law, _ = regressor(projection, 5_000)._projection_of(X, weight, 50.0)
        A = (X - X.mean(axis=0)) * np.sqrt(weight)[:, None] / law.rows.scale
        if projection == "gaussian":  # S in the row space: n numbers instead of d
            assert law.space.rank == 49
            A = law.space.project(A)
            law.is_exhaustive = False
        design, _ = law.draw(0)
        # E[S S'] = I, with a relative error of about sqrt(2/s), more for few entries.
        np.testing.assert_allclose(np.diag(design @ design.T), np.diag(A @ A.T), rtol=0.12)
    law, _ = regressor("sparse", 5_000)._projection_of(X, weight, 50.0)
    S = law.draw(1)[1]
    assert S.nnz == pytest.approx(5_000 * 20, rel=0.01)
    assert np.unique(np.abs(S.data)) == pytest.approx([1 / np.sqrt(5_000 / 20)])
    per_row = np.bincount(S.indices, minlength=400)
    assert np.var(per_row) == pytest.approx(5_000 * 0.05 * 0.95, rel=0.25)


@pytest.mark.slow
def test_draws_in_the_row_space_have_the_law_of_explicit_ones():
    """The mean and the variance of the coefficients along X; the orthogonal part has mean 0."""
    X, y = problem(8, 12)
    X, y = X - X.mean(axis=0), y - y.mean()
    rng = np.random.default_rng(1)
    along = np.linalg.pinv(X) @ X
    explicit_coefs = []
    for _ in range(3_000):
        S = rng.standard_normal((12, 3))
        explicit_coefs.append(S @ np.linalg.lstsq(X @ S, y, rcond=None)[0])
    explicit_coefs = np.array(explicit_coefs)
    ours = np.array(
        [regressor("gaussian", 3, 1, random_state=k).fit(X, y).coef_ for k in range(3000)]
    )
    np.testing.assert_allclose(ours @ along, ours, atol=1e-10)
    for theirs in (explicit_coefs @ along, explicit_coefs):
        error = np.sqrt(ours.var(axis=0) / len(ours) + theirs.var(axis=0) / len(theirs))
        assert (np.abs(ours.mean(axis=0) - theirs.mean(axis=0)) < 3.5 * error).all()
    assert np.median(np.abs(ours)) == pytest.approx(
        np.median(np.abs(explicit_coefs @ along)), rel=0.05
    )


@pytest.mark.parametrize(
    "transformer",
    [RBFSampler(gamma=0.05, n_components=15), make_pipeline(StandardScaler(), Nystroem())],
)
def test_transformers(transformer):
    X, y = problem(120, 5)
    model = regressor(transformer, alpha=0.1).fit(X, y)
    expected = []
    for seed in np.random.RandomState(0).randint(2**31 - 1, size=4):
        name = "random_state" if isinstance(transformer, RBFSampler) else "nystroem__random_state"
        value = np.random.RandomState(seed).randint(2**31 - 1)
        member = make_pipeline(transformer.set_params(**{name: value}), Ridge(0.1))
        expected.append(member.fit(X, y).predict(X[:7]))
    np.testing.assert_allclose(model.predict(X[:7]), np.mean(expected, axis=0), atol=1e-9)
    with pytest.raises(ValueError, match="random_state"):
        regressor(StandardScaler()).fit(X, y)
    assert regressor(PCA(3)).fit(X, y).predict(X).shape == (120,)


def test_features_approach_the_kernel():
    """Many cosines with a penalty are kernel ridge regression about the means."""
    X, y = problem(30, 3)
    model = regressor("fourier", 40_000, 1, alpha=0.5).fit(X, y)
    H = np.eye(30) - 1 / 30
    gamma = model.gamma_
    assert gamma == pytest.approx(1 / (3 * X.var(axis=0).mean() + 3 * X.mean(axis=0).var()))
    kernels = {"fourier": np.exp(-gamma * ((X[:, None] - X) ** 2).sum(axis=2))}
    Z = X - X.mean(axis=0)
    Z = np.c_[Z / np.sqrt((Z**2).sum(axis=1).mean()), np.ones(30)]
    norms = np.linalg.norm(Z, axis=1)
    angle = np.arccos(np.clip(Z @ Z.T / np.outer(norms, norms), -1, 1))
    arc_cosine = np.outer(norms, norms) * (np.sin(angle) + (np.pi - angle) * np.cos(angle)) / np.pi
    kernels["relu"] = arc_cosine
    for projection, K in kernels.items():
        K = H @ K @ H
        expected = y.mean() + K @ np.linalg.solve(K + 0.5 * np.eye(30), y - y.mean())
        ours = regressor(projection, 40_000, 1, alpha=0.5).fit(X, y).predict(X)
        np.testing.assert_allclose(ours, expected, atol=0.05 * y.std())


def test_risk_has_a_peak_where_one_member_begins_to_interpolate():
    """Double descent, figure 1 of [DS-GA 1003, lecture 8]."""
    X, y = problem(1_050, 10, seed=1)
    error = {}
    for s in [12, 49, 1_000]:
        fits = [regressor("relu", s, 1, random_state=k).fit(X[:50], y[:50]) for k in range(5)]
        error[s] = np.mean([np.mean((f.predict(X[50:]) - y[50:]) ** 2) for f in fits])
        assert (np.mean((fits[0].predict(X[:50]) - y[:50]) ** 2) < 1e-10) == (s >= 49)
    assert error[49] > 3 * max(error[12], error[1_000])


# --- data ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(60, 20), (20, 60)])
@pytest.mark.parametrize("projection", KINDS)
def test_weights_and_sparse_rows(projection, shape):
    X, y = problem(*shape)
    w = np.random.default_rng(1).integers(0, 4, len(X))
    model = regressor(projection, 10).fit(X, y, w)
    repeated = np.repeat(np.arange(len(X)), w)
    other = regressor(projection, 10).fit(X[repeated], y[repeated])
    np.testing.assert_allclose(model.predict(X), other.predict(X), atol=1e-9)
    bound = [m.error_bound(1.0, 2.0) for m in (model, other)]
    assert bound[0] == pytest.approx(bound[1])
    sparse = regressor(projection, 10).fit(sp.csr_array(X), y, w)
    np.testing.assert_allclose(sparse.predict(sp.csr_array(X)), model.predict(X), atol=1e-9)
    assert sparse.error_bound(1.0) == pytest.approx(model.error_bound(1.0))


@pytest.mark.parametrize("projection", KINDS)
def test_units_of_the_data(projection):
    X, y = problem(40, 50)
    expected = regressor(projection).fit(X, y).predict(X)
    for x_unit, y_unit in [(2.0**400, 1.0), (2.0**-400, 2.0**-300), (1.0, 2.0**900)]:
        model = regressor(projection).fit(X * x_unit, y * y_unit)
        np.testing.assert_allclose(model.predict(X * x_unit) / y_unit, expected, rtol=1e-8)


def test_coefficients_that_overflow_are_refused():
    X, y = problem(40, 5)
    with pytest.raises(ValueError, match="coefficients overflow"):
        regressor("gaussian").fit(X * 1e-200, y * 1e200)
    with pytest.raises(ValueError, match="range of a feature"):
        regressor("gaussian").fit(1.7e308 * np.array([[-1.0], [1.0], [1.0]]), [0.0, 1.0, 2.0])


def test_one_column_more_components_than_rows_and_one_row():
    X, y = problem(10, 40)
    for projection in KINDS:
        np.testing.assert_allclose(
            regressor(projection, 3_000, 1).fit(X, y).predict(X), y, atol=1e-6
        )
        assert np.isfinite(regressor(projection, 1).fit(X, y).predict(X)).all()
        one = regressor(projection).fit(X[:1], y[:1])
        np.testing.assert_allclose(one.predict(X), y[0])
        equal = regressor(projection).fit(np.ones((10, 3)), y)
        np.testing.assert_allclose(equal.predict(np.ones((2, 3))), y.mean())


def test_refit_to_another_projection_removes_the_attributes_of_the_first():
    X, y = problem(40, 5)
    model = regressor("gaussian").fit(X, y)
    assert hasattr(model, "coef_")
    model.set_params(projection="fourier").fit(X, y)
    assert not hasattr(model, "coef_")
    assert not hasattr(model.set_params(projection="relu").fit(X, y), "gamma_")
