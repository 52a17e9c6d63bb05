"""The expected projection, the risk of averages of m members, and bounds on it, by simulation."""

import itertools

import numpy as np
import pytest
from sklearn.kernel_approximation import RBFSampler
from sklearn.preprocessing import PolynomialFeatures

from sklearn_ensemble_theory import RandomProjectionRegressor
from sklearn_ensemble_theory.datasets import make_polynomial

LINEAR = ["gaussian", "sparse", "coordinate"]
KINDS = [*LINEAR, "fourier", "relu"]
N, D, SIGMA = 24, 40, 0.8


@pytest.fixture(scope="module")
def design():
    rng = np.random.default_rng(0)
    return rng.standard_normal((N, D)) * np.arange(1, D + 1) ** -0.5


def regressor(projection, n_components=6, n_estimators=1, **params):
    return RandomProjectionRegressor(
        n_estimators, n_components=n_components, projection=projection, **params
    )


@pytest.mark.slow
def test_all_subsets_of_the_columns(design):
    """Delta and the risk for "coordinate", from all subsets of the columns."""
    Phi = design[:, :5]
    f = Phi @ np.ones(5)
    exact = regressor("coordinate", 2, fit_intercept=False, random_state=0)
    estimate = exact.expected_projection(Phi, 4_000)
    every = [Phi[:, J] @ np.linalg.pinv(Phi[:, J]) for J in itertools.combinations(range(5), 2)]
    Delta = np.mean(every, axis=0)
    np.testing.assert_allclose(estimate.matrix, Delta, atol=0.02)
    assert np.trace(estimate.matrix) == pytest.approx(2.0)
    for m in (1, 3, np.inf):
        square, spread = Delta @ Delta, Delta - Delta @ Delta
        risk = np.sum((f - Delta @ f) ** 2) + SIGMA**2 * np.trace(square)
        risk += (f @ spread @ f + SIGMA**2 * np.trace(spread)) / m
        assert estimate.risk(f, SIGMA, m) == pytest.approx(risk / N, rel=0.02)


@pytest.mark.slow
@pytest.mark.parametrize(("projection", "alpha"), [*((k, 0.0) for k in KINDS), ("gaussian", 0.3)])
def test_risk_of_the_average_falls_in_m_as_the_formula_says(design, projection, alpha):
    """[Bach, §10.2.2]: fits of the estimator to new noise, with new projections."""
    rng = np.random.default_rng(1)
    f = 1.0 + 2 * np.tanh(design[:, 0]) + design[:, 1]
    model = regressor(projection, alpha=alpha, random_state=0)
    expected = model.expected_projection(design, 4_000)
    risks = [expected.risk(f, SIGMA, m) for m in (1, 2, 4, 8, 100, np.inf)]
    assert (np.diff(risks) < 0).all()
    for m, n_fits in ((1, 200), (8, 40)):
        errors = []
        for _ in range(n_fits):  # the same projections for forty noises: targets of one fit
            Y = f[:, None] + SIGMA * rng.standard_normal((N, 40))
            model.set_params(n_estimators=m, random_state=int(rng.integers(2**31)))
            fitted = model.fit(design, Y).predict(design)
            errors.append(np.mean((fitted - f[:, None]) ** 2))
        standard_error = np.std(errors, ddof=1) / np.sqrt(n_fits)
        assert abs(np.mean(errors) - expected.risk(f, SIGMA, m)) < 3 * standard_error
        assert standard_error < 0.05 * np.mean(errors)


def kernel_and_radius(projection, X):
    if projection == "fourier":
        gamma = 1 / (X.shape[1] * X.var())
        return np.exp(-gamma * ((X[:, None] - X) ** 2).sum(axis=2)), 2.0
    Z = X - X.mean(axis=0)
    Z = np.c_[Z / np.sqrt((Z**2).sum(axis=1).mean()), np.ones(len(X))]
    norms = np.linalg.norm(Z, axis=1)
    angle = np.arccos(np.clip(Z @ Z.T / np.outer(norms, norms), -1, 1))
    K = np.outer(norms, norms) * (np.sin(angle) + (np.pi - angle) * np.cos(angle)) / np.pi
    return K, 4 * (X.shape[1] + 1)


@pytest.mark.parametrize("n_components", [2, 6, 15])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("projection", KINDS)
def test_bounds_hold_for_the_worst_target(design, projection, intercept, n_components):
    """sup of the bias over all means of norm 1, and the noise, at m = 1."""
    model = regressor(projection, n_components, fit_intercept=intercept, random_state=0)
    matrix = model.expected_projection(design, 600).matrix
    noise = SIGMA**2 * np.trace(matrix) / N
    if projection in LINEAR:
        root = design - design.mean(axis=0) * intercept
    else:
        K, squared_radius = kernel_and_radius(projection, design)
        root = np.linalg.cholesky(K + 1e-12 * np.eye(N))
    worst = np.linalg.eigvalsh(root.T @ (np.eye(N) - matrix) @ root / N)[-1]
    bound = model.fit(design, design[:, 0]).error_bound(1.0, SIGMA)
    assert worst + noise <= bound
    # The constants of the worst case are far from these data where single entries can be large.
    tightness = {"gaussian": 0.2, "fourier": 0.1, "coordinate": 0.03, "sparse": 0.03}
    assert worst + noise > tightness.get(projection, 0.002) * bound
    # Some draws have fewer dimensions: columns without an entry, units that are 0 at all rows.
    expected = SIGMA**2 * (n_components + intercept) / N
    assert 0.94 * expected < noise <= expected * (1 + 1e-9)
    if projection == "fourier":  # the printed form of the bias is too small
        assert worst > (2 / N) * squared_radius / (n_components + 1)
        assert model.error_bound(1.0, 0.0) == pytest.approx(2 / n_components)


def test_kernel_sketch(design):
    """Columns drawn from N(0, K): a Gaussian projection of a root of K."""
    K, _ = kernel_and_radius("fourier", design)
    root = np.linalg.cholesky(K + 1e-12 * np.eye(N))
    model = regressor("gaussian", 4, fit_intercept=False, random_state=0).fit(root, root[:, 0])
    assert model.error_bound(1.0, 0.0) == pytest.approx(2 / N * np.trace(K) / 5)
    rng = np.random.default_rng(0)
    Delta = np.zeros((N, N))
    for _ in range(1_500):
        Q, _ = np.linalg.qr(rng.multivariate_normal(np.zeros(N), K, 4).T)
        Delta += Q @ Q.T / 1_500
    ours = model.expected_projection(root, 1_500).matrix
    np.testing.assert_allclose(ours, Delta, atol=0.05)
    f = root @ np.ones(N)
    assert model.expected_projection(root, 1_500).risk(f, 0.0) == pytest.approx(
        f @ (np.eye(N) - Delta) @ f / N, rel=0.02
    )


def test_bound_takes_the_coefficients_or_their_norm(design):
    theta = np.arange(D, dtype=float)
    model = regressor("gaussian").fit(design, design @ theta)
    assert model.error_bound(theta) == pytest.approx(model.error_bound(np.linalg.norm(theta)))
    for bad in (theta[:-1], np.ones((2, D)), np.inf):
        with pytest.raises(ValueError, match="theta"):
            model.error_bound(bad)
    with pytest.raises(ValueError, match="sigma"):
        model.error_bound(1.0, -1.0)
    with pytest.raises(ValueError, match="theta"):
        regressor("relu").fit(design, theta[:N]).error_bound(theta)
    with pytest.raises(ValueError, match="alpha"):
        regressor("gaussian", alpha=1.0).fit(design, theta[:N]).error_bound(1.0)
    with pytest.raises(ValueError, match="transformer"):
        regressor(RBFSampler()).fit(design, theta[:N]).error_bound(1.0)


def test_all_components_leave_nothing_to_draw(design):
    expected = regressor("gaussian", 100).expected_projection(design, 50)
    assert expected.n_draws == 1
    np.testing.assert_allclose(expected.matrix, np.eye(N), atol=1e-9)
    f = design[:, 0]
    for m in (1, 10):
        assert expected.risk(f, 2.0, m) == pytest.approx(4.0)


def test_bad_arguments(design):
    model = regressor("gaussian")
    for bad in (0, 2.5):
        with pytest.raises(ValueError, match="n_draws"):
            model.expected_projection(design, bad)
    with pytest.raises(ValueError, match="sample_weight"):
        model.expected_projection(design, 2, np.r_[0.0, np.ones(N - 1)])
    expected = model.expected_projection(design, 2)
    for match, arguments in [
        ("mean", (np.ones(3),)),
        ("sigma", (np.ones(N), -1.0)),
        ("n_estimators", (np.ones(N), 1.0, 0)),
    ]:
        with pytest.raises(ValueError, match=match):
            expected.risk(*arguments)


def test_weighted_rows_are_repeated_rows(design):
    w = np.random.default_rng(0).integers(1, 4, N)
    repeated = np.repeat(np.arange(N), w)
    for projection in KINDS:
        model = regressor(projection, random_state=0)
        f = design[:, 0]
        ours = model.expected_projection(design, 20, w).risk(f, SIGMA, 3)
        other = model.expected_projection(design[repeated], 20).risk(f[repeated], SIGMA, 3)
        assert ours == pytest.approx(other)


def test_averages_of_projections_approach_ridge_regression():
    """[Bach, figure 10.2]: all 231 monomials, the constant among them, in 100 rows.

    The best risk over s falls with m; for m = 100 it is that of the best ridge regression, whose
    risk is known from the singular values. Fits of the estimator have the risk of the formula.
    """
    inputs, _, f = make_polynomial(100, 20, return_mean=True, random_state=0)
    Phi = PolynomialFeatures(2).fit_transform(inputs)
    assert Phi.shape == (100, 231)
    assert (Phi[:, 0] == 1).all()
    U, values, _ = np.linalg.svd(Phi, full_matrices=False)
    kept = values**2 / (values**2 + np.geomspace(1, 1e3, 40)[:, None])
    ridge = np.mean(((1 - kept) * (U.T @ f)) ** 2 + kept**2, axis=1).min()

    models = [regressor("gaussian", s, fit_intercept=False, random_state=0) for s in (30, 45, 60)]
    expected = [model.expected_projection(Phi, 100) for model in models]
    best = {m: min(one.risk(f, 1.0, m) for one in expected) for m in (1, 10, 100)}
    assert best[1] > 1.5 * best[10] > 1.5 * best[100]
    assert best[100] == pytest.approx(ridge, rel=0.03)
    rng, errors = np.random.default_rng(0), []
    for seed in range(8):
        Y = f[:, None] + rng.standard_normal((100, 100))
        fit = models[1].set_params(n_estimators=10, random_state=seed).fit(Phi, Y)
        errors.append(np.mean((fit.predict(Phi) - f[:, None]) ** 2))
    assert np.mean(errors) == pytest.approx(expected[1].risk(f, 1.0, 10), rel=0.04)


def rows_of_many_variables(seed):
    """120 rows of 200 variables, and the mean squared error of coefficients on new ones."""
    rng = np.random.RandomState(seed)
    sizes = np.arange(1, 201) ** -0.5
    X = rng.standard_normal((120, 200)) * sizes
    coefficients = rng.standard_normal(200)
    coefficients /= np.linalg.norm(coefficients * sizes)
    y = X @ coefficients + rng.standard_normal(120)
    return X, y, lambda model: 1 + np.sum(((model.coef_ - coefficients) * sizes) ** 2)


@pytest.mark.parametrize(("projection", "m"), [("coordinate", 1), ("coordinate", 8), ("sparse", 8)])
def test_generalised_cross_validation_is_close_to_the_error_on_new_rows(projection, m):
    estimates, errors = [], []
    for seed in range(12):
        X, y, error = rows_of_many_variables(seed)
        for s in (10, 30, 60):
            model = RandomProjectionRegressor(
                m, n_components=s, projection=projection, fit_intercept=False, random_state=seed
            ).fit(X, y)
            estimates.append(model.expected_projection(X, m).gcv(y))
            errors.append(error(model))
    found, expected = (
        np.reshape(estimates, (12, 3)).mean(axis=0),
        np.reshape(errors, (12, 3)).mean(axis=0),
    )
    np.testing.assert_allclose(found, expected, rtol=0.12)


@pytest.mark.parametrize("alpha", [0.0, 2.0])
def test_generalised_cross_validation_by_the_predictions(alpha):
    """The trace by the predictions of unit vectors; weights count rows."""
    X, y, _ = rows_of_many_variables(0)
    X, y, weight = X[:30, :8], y[:30] + 3, np.r_[np.full(10, 3.0), np.ones(20)]
    model = RandomProjectionRegressor(4, n_components=5, alpha=alpha, random_state=0)
    traces = [model.fit(X, unit, weight).predict(X)[i] for i, unit in enumerate(np.eye(30))]
    residuals = y - model.fit(X, y, weight).predict(X)
    expected = np.average(residuals**2, weights=weight) / (1 - np.sum(traces) / 50) ** 2
    found = model.expected_projection(X, 4, weight).gcv(y)
    assert found == pytest.approx(expected, rel=1e-9)
    with pytest.raises(ValueError, match="y must have shape"):
        model.expected_projection(X, 4).gcv(y[:-1])


def test_generalised_cross_validation_of_fits_through_all_rows():
    X, y, _ = rows_of_many_variables(0)
    model = RandomProjectionRegressor(4, n_components=150, random_state=0)
    assert model.expected_projection(X, 4).gcv(y) == np.inf
