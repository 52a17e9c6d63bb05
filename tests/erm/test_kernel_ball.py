"""Kernel machines in a ball of the RKHS: the representer identity, feature maps, certificates."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.metrics.pairwise import pairwise_kernels, polynomial_kernel, rbf_kernel
from sklearn.svm import SVC

from sklearn_ensemble_theory import BallConstrainedClassifier
from sklearn_ensemble_theory.bounds import (
    ball_rademacher_bound,
    ball_rademacher_complexity,
    surrogate_risk,
)
from sklearn_ensemble_theory.erm._ball.kernels import KernelFeatures

LOSSES = ("hinge", "logistic", "exponential")


def circles(n=60, seed=0):
    """Two classes that no line separates."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 2))
    return X, np.where((X**2).sum(axis=1) + 0.2 * rng.standard_normal(n) > 0.6, 1, -1)


def risk(model, X, y, weight=None):
    return surrogate_risk(model.loss, y, model.decision_function(X), weight)


def rkhs_norm(model, K):
    return np.sqrt(model.dual_coef_ @ K @ model.dual_coef_.T).item()


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("solver", ["auto", "gd", "sgd"])
def test_a_linear_kernel_is_the_linear_classifier(loss, solver):
    """In all solvers: the steps in the space are those of the coefficients."""
    X, y = circles()
    options = {"loss": loss, "solver": solver, "random_state": 0}
    if solver == "auto":
        options["tol"] = 1e-9
    linear = BallConstrainedClassifier(2.0, **options).fit(X, y)
    model = BallConstrainedClassifier(2.0, kernel="precomputed", **options).fit(X @ X.T, y)
    rows = np.random.default_rng(1).standard_normal((7, 2))
    scores = model.decision_function(rows @ X.T)
    np.testing.assert_allclose(scores, linear.decision_function(rows), atol=1e-4)
    np.testing.assert_allclose(model.dual_coef_ @ X, linear.coef_, atol=1e-4)
    assert model.feature_bound_ == pytest.approx(linear.feature_bound_)
    assert model.intercept_bound_ == pytest.approx(linear.intercept_bound_)
    assert model.suboptimality_bound_ == pytest.approx(linear.suboptimality_bound_, abs=1e-6)
    by_function = BallConstrainedClassifier(2.0, kernel=np.dot, **options).fit(X, y)
    np.testing.assert_allclose(by_function.decision_function(rows), scores, atol=1e-4)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_polynomial_kernel_is_its_feature_map(loss):
    """(x'z + 1)² has the features x1², x2², sqrt(2) x1 x2, sqrt(2) x1, sqrt(2) x2, 1."""
    X, y = circles(80)
    weight = np.random.default_rng(2).uniform(0.2, 2, 80)

    def features(X):
        a, b = X.T
        root = np.sqrt(2)
        return np.column_stack([a * a, b * b, root * a * b, root * a, root * b, np.ones(len(X))])

    np.testing.assert_allclose(features(X) @ features(X).T, (X @ X.T + 1) ** 2)
    explicit = BallConstrainedClassifier(3.0, loss=loss, tol=1e-7).fit(features(X), y, weight)
    model = BallConstrainedClassifier(
        3.0, loss=loss, tol=1e-7, kernel="poly", gamma=1.0, degree=2
    ).fit(X, y, weight)
    rows, _ = circles(20, seed=3)
    np.testing.assert_allclose(
        model.decision_function(rows), explicit.decision_function(features(rows)), atol=1e-3
    )
    # The coefficients of the features are Phi'alpha, with the same norm: [Shah, eq. (3.4), (3.6)].
    np.testing.assert_allclose(model.dual_coef_ @ features(X), explicit.coef_, atol=1e-3)
    assert rkhs_norm(model, polynomial_kernel(X, degree=2, gamma=1.0)) == pytest.approx(
        np.linalg.norm(explicit.coef_), rel=1e-4
    )
    assert model.error_bound() == pytest.approx(explicit.error_bound(), rel=1e-6)


def test_the_kernel_of_the_lecture():
    """All x_j and x_j x_k have the kernel (x'z + 1/2)² - 1/4 [Shah, §3.5]."""
    X, y = circles(30)

    def kernel(x, z, half=0.5):
        return (x @ z + half) ** 2 - half**2

    features = np.column_stack([X, X[:, [0]] * X, X[:, [1]] * X])
    explicit = BallConstrainedClassifier(2.0, tol=1e-9, fit_intercept=False).fit(features, y)
    model = BallConstrainedClassifier(
        2.0, tol=1e-9, fit_intercept=False, kernel=kernel, kernel_params={"half": 0.5}
    ).fit(X, y)
    np.testing.assert_allclose(
        model.decision_function(X), explicit.decision_function(features), atol=1e-5
    )


@pytest.mark.parametrize("radius", [0.5, 3.0])
def test_no_function_of_the_space_is_better(radius):
    """The representer theorem: also sums over other points do not beat those over the rows."""
    X, y = circles(25)
    others = np.vstack([X, np.random.default_rng(4).uniform(-1.5, 1.5, (8, 2))])
    K = rbf_kernel(others, gamma=1.0) + 1e-10 * np.eye(33)
    model = BallConstrainedClassifier(radius, kernel="rbf", gamma=1.0, tol=1e-7).fit(X, y)
    assert rkhs_norm(model, rbf_kernel(X, gamma=1.0)) <= radius * (1 + 1e-7)
    root = np.linalg.cholesky(K)  # h = root v at the points, of norm |v|

    def value(v):
        m = y * (root[:25] @ v[:-1] + v[-1])
        slope = -y / (1 + np.exp(m)) / 25
        return np.mean(np.logaddexp(0, -m)), np.append(root[:25].T @ slope, slope.sum())

    found = minimize(
        value,
        np.full(34, 1e-3),
        jac=True,
        method="SLSQP",
        constraints={
            "type": "ineq",
            "fun": lambda v: radius**2 - v[:-1] @ v[:-1],
            "jac": lambda v: np.append(-2 * v[:-1], 0.0),
        },
        options={"ftol": 1e-12, "maxiter": 500},
    )
    assert risk(model, X, y) == pytest.approx(found.fun, abs=1e-5)
    # The best function is a sum over the rows: its coefficients of the other points are 0.
    alpha = np.linalg.solve(root.T, found.x[:-1])
    assert np.abs(K[:25, 25:] @ alpha[25:]).max() < 1e-2 * np.abs(K[:25, :25] @ alpha[:25]).max()


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("norm_bound", [0.3, 5.0])
def test_the_gap_is_small_and_the_ball_is_kept(loss, norm_bound):
    X, y = circles(80)
    model = BallConstrainedClassifier(norm_bound, loss=loss, kernel="rbf", gamma=2.0).fit(X, y)
    assert model.dual_gap_ <= 1e-6
    assert rkhs_norm(model, rbf_kernel(X, gamma=2.0)) <= norm_bound * (1 + 1e-7)
    assert model.feature_bound_ == pytest.approx(1.0)
    # |h(x)| <= lambda sqrt(k(x, x)), also for other rows.
    rows, _ = circles(200, seed=5)
    reach = np.abs(model.decision_function(rows) - model.intercept_[0])
    assert reach.max() <= norm_bound * (1 + 1e-7)


def test_steps_in_the_space_keep_the_bounds_of_their_theorems():
    X, y = circles(50)
    options = {"loss": "hinge", "kernel": "rbf", "gamma": 2.0}
    best = BallConstrainedClassifier(2.0, tol=1e-7, **options).fit(X, y)
    least = risk(best, X, y) - best.dual_gap_
    model = BallConstrainedClassifier(2.0, solver="gd", max_iter=200, **options).fit(X, y)
    excess = risk(model, X, y) - least
    assert 0 <= excess <= model.dual_gap_ <= model.suboptimality_bound_
    by_rows = BallConstrainedClassifier(2.0, solver="sgd", max_iter=300, **options)
    mean = np.mean([risk(by_rows.set_params(random_state=s).fit(X, y), X, y) for s in range(5)])
    assert 0 <= mean - least <= by_rows.suboptimality_bound_


def test_support_vector_machine_is_the_penalised_form():
    X, y = circles(150)
    K = rbf_kernel(X, gamma=1.0)
    peer = SVC(kernel="rbf", gamma=1.0, C=1.0, tol=1e-8).fit(X, y)
    dual = np.zeros(150)
    dual[peer.support_] = peer.dual_coef_[0]
    radius = float(np.sqrt(dual @ K @ dual))
    model = BallConstrainedClassifier(radius, loss="hinge", kernel="rbf", gamma=1.0, tol=1e-8)
    model.fit(X, y)
    expected = surrogate_risk("hinge", y, peer.decision_function(X))
    assert risk(model, X, y) == pytest.approx(expected, abs=1e-6)
    rows, _ = circles(40, seed=6)
    np.testing.assert_allclose(
        model.decision_function(rows), peer.decision_function(rows), atol=5e-3
    )


def test_complexity_of_the_ball_is_that_of_the_features():
    """The suprema over the ball are lambda sqrt(s'K s) / n, and lambda C / sqrt(n) bounds them."""
    X, _ = circles(40)
    K = rbf_kernel(X, gamma=2.0)
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (4000, 40))
    suprema = 2.0 * np.sqrt(np.einsum("ij,jk,ik->i", signs, K, signs)) / 40
    values, vectors = np.linalg.eigh(K)
    Z = vectors * np.sqrt(np.maximum(values, 0.0))
    complexity = ball_rademacher_complexity(Z, radius=2.0, random_state=0)
    value = complexity[0] if isinstance(complexity, tuple) else complexity
    assert value == pytest.approx(suprema.mean(), rel=0.03)
    assert value <= ball_rademacher_bound(40, 2.0, 1.0)


def test_weights_repeat_rows_and_rows_of_weight_0_count_for_nothing():
    X, y = circles(30)
    weight = np.random.default_rng(0).integers(0, 3, 30)
    options = {"radius": 2.0, "tol": 1e-9}
    rows, _ = circles(10, seed=7)
    repeated = np.repeat(np.arange(30), weight)
    expected = (
        BallConstrainedClassifier(kernel="rbf", gamma=1.0, **options)
        .fit(X[repeated], y[repeated])
        .decision_function(rows)
    )
    model = BallConstrainedClassifier(kernel="rbf", gamma=1.0, **options).fit(X, y, weight)
    np.testing.assert_allclose(model.decision_function(rows), expected, atol=1e-4)
    assert len(model.X_fit_) == model.dual_coef_.shape[1] == (weight > 0).sum()
    given = BallConstrainedClassifier(kernel="precomputed", **options)
    given.fit(rbf_kernel(X, gamma=1.0), y, weight)
    assert given.dual_coef_.shape == (1, 30)
    np.testing.assert_array_equal(given.dual_coef_[0, weight == 0], 0.0)
    np.testing.assert_allclose(
        given.decision_function(rbf_kernel(rows, X, gamma=1.0)), expected, atol=1e-4
    )


def test_several_classes_and_sparse_rows():
    X, y = circles(60)
    y = np.where(X[:, 0] > 0.4, 2, y)
    model = BallConstrainedClassifier(3.0, kernel="rbf").fit(X, y)
    assert model.dual_coef_.shape == (3, 60)
    sparse = BallConstrainedClassifier(3.0, kernel="rbf").fit(sp.csr_matrix(X), y)
    np.testing.assert_allclose(
        sparse.predict_proba(sp.csr_matrix(X)), model.predict_proba(X), atol=1e-6
    )
    assert model.score(X, y) > 0.8


@pytest.mark.parametrize("kernel", ["chi2", "cosine", "laplacian", "poly", "polynomial", "rbf"])
def test_kernels_by_name_are_those_of_scikit_learn(kernel):
    X, y = circles(40)
    X = np.abs(X) + 0.1
    model = BallConstrainedClassifier(2.0, kernel=kernel).fit(X, y)
    K = pairwise_kernels(X, X[:9], metric=kernel)
    expected = model.dual_coef_[0] @ K + model.intercept_
    np.testing.assert_allclose(model.decision_function(X[:9]), expected, rtol=1e-10, atol=1e-12)
    assert rkhs_norm(model, pairwise_kernels(X, metric=kernel)) <= 2 * (1 + 1e-7)


def test_predictions_in_blocks(monkeypatch):
    X, y = circles(40)
    model = BallConstrainedClassifier(kernel="rbf").fit(X, y)
    expected = model.decision_function(X)
    monkeypatch.setattr("sklearn_ensemble_theory.erm._ball.kernels.BLOCK", 7 * 40)
    np.testing.assert_allclose(model.decision_function(X), expected)


def test_a_fit_with_another_kernel_leaves_nothing_of_the_earlier_one():
    X, y = circles(20)
    model = BallConstrainedClassifier(kernel="rbf").fit(X, y)
    model.set_params(kernel="linear").fit(X, y)
    assert not hasattr(model, "dual_coef_")
    assert not hasattr(model, "X_fit_")
    model.set_params(kernel="rbf").fit(X, y)
    assert not hasattr(model, "coef_")


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"kernel": "rbf", "norm": "l1"}, "norm='l2'"),
        ({"kernel": "precomputed"}, "square"),
        ({"kernel": "unknown"}, "kernel"),
        ({"kernel": "rbf", "gamma": -1.0}, "gamma"),
        ({"kernel": "sigmoid", "gamma": 5.0, "coef0": -3.0}, "semi-definite"),
        ({"kernel": lambda x, z: x[0] * z[0] - 1.0}, "semi-definite"),
        ({"kernel": "poly", "degree": 2000, "coef0": 1e9}, "finite"),
    ],
)
def test_bad_kernels(options, match):
    X, y = circles(20)
    with pytest.raises(ValueError, match=match):
        BallConstrainedClassifier(**options).fit(X, y)


def test_too_many_rows_are_refused_before_the_matrix_is_made():
    X = np.zeros((5001, 1))
    y = np.arange(5001) % 2
    with pytest.raises(ValueError, match="at most 5000 rows"):
        BallConstrainedClassifier(kernel="rbf").fit(X, y)
    assert not hasattr(BallConstrainedClassifier(kernel="rbf", solver="sgd"), "partial_fit")
    with pytest.raises(ValueError, match="symmetric"):
        BallConstrainedClassifier(kernel="precomputed").fit(np.tri(20), np.arange(20) % 2)


@pytest.mark.parametrize("size", [1e-300, 1e300])
def test_a_kernel_of_any_size_separates_what_it_can(size):
    K = size * np.eye(6)
    y = np.array([0, 1, 1, 0, 1, 0])
    model = BallConstrainedClassifier(
        1 / np.sqrt(size), kernel="precomputed", fit_intercept=False, tol=1e-8
    ).fit(K, y)
    # Of beta in the unit ball, which the minimum divides equally among the rows.
    scores = model.decision_function(K)
    np.testing.assert_allclose(scores, np.where(y == 1, 1, -1) / np.sqrt(6), rtol=1e-3)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "poly", "linear"])
def test_pivots_and_eigenvalues_are_the_same_machine(kernel):
    X = circles(60)[0]
    X = np.vstack([X, X[:5]])  # repeated rows: the rank is smaller
    K = pairwise_kernels(X, metric=kernel, filter_params=True, degree=2)
    by_pivots = KernelFeatures._by_pivots(K, np.abs(K).max())
    by_eigenvalues = KernelFeatures._by_eigenvalues(K, np.abs(K).max())
    beta = by_pivots.Z.T @ np.random.default_rng(0).standard_normal((65, 2))
    rounding = 65 * np.finfo(float).eps * np.abs(K).max()
    for each in (by_pivots, by_eigenvalues):
        np.testing.assert_allclose(each.Z @ each.Z.T, K, atol=8 * rounding)
    alpha = by_pivots.dual(beta.T)
    assert (alpha != 0).any(axis=0).sum() <= by_pivots.Z.shape[1] <= 60
    # K alpha = Z beta, and the norm of the function is that of beta.
    near = np.sqrt(rounding) * np.linalg.norm(beta)
    np.testing.assert_allclose(K @ alpha.T, by_pivots.Z @ beta, atol=near)
    np.testing.assert_allclose(alpha @ K @ alpha.T, beta.T @ beta, rtol=1e-6)


def test_errors_of_a_matrix_beyond_rounding_are_left_to_eigenvalues():
    X, y = circles(60)
    K = rbf_kernel(X)
    noise = 1e-10 * np.random.default_rng(0).standard_normal(K.shape)
    noisy = K + noise + noise.T
    assert KernelFeatures._by_pivots(noisy, 1.0) is None
    fits = [
        BallConstrainedClassifier(2.0, kernel="precomputed").fit(each, y) for each in (K, noisy)
    ]
    scores = [model.decision_function(K) for model in fits]
    np.testing.assert_allclose(scores[1], scores[0], atol=1e-4)


def test_predictions_ask_only_for_the_rows_with_a_coefficient():
    X, y = circles(300)
    asked = []

    def kernel(x, z):
        asked.append(1)
        return (x @ z) ** 2

    model = BallConstrainedClassifier(2.0, kernel=kernel).fit(X, y)
    assert np.count_nonzero(model.dual_coef_) == 3  # the dimension of the space
    asked.clear()
    scores = model.decision_function(X[:10])
    assert len(asked) == 30
    expected = (X[:10] @ X.T) ** 2 @ model.dual_coef_[0] + model.intercept_
    np.testing.assert_allclose(scores, expected)


@pytest.mark.parametrize("n_features", [30, 50, 70])
def test_systems_of_rows_and_of_columns_have_the_same_optimum(n_features, monkeypatch):
    """The hinge in 80 rows: from half as many columns on, systems of rows."""
    rng = np.random.default_rng(n_features)
    X = rng.standard_normal((80, n_features))
    y = rng.choice([-1, 1], 80)
    options = {"loss": "hinge", "tol": 1e-9}
    model = BallConstrainedClassifier(0.3, **options).fit(X, y)
    monkeypatch.setattr("sklearn_ensemble_theory.erm._ball.interior_point.SHARE_OF_ROWS", np.inf)
    by_columns = BallConstrainedClassifier(0.3, **options).fit(X, y)
    np.testing.assert_allclose(model.coef_, by_columns.coef_, atol=1e-5)
    assert risk(model, X, y) == pytest.approx(risk(by_columns, X, y), abs=2e-9)
