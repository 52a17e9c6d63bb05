"""Linear classifiers in a ball: the optimum, its certificates, and the inequalities of theory."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog, minimize
from scipy.special import expit
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from sklearn_ensemble_theory import BallConstrainedClassifier
from sklearn_ensemble_theory.bounds import surrogate_risk

from ..local_blocks import rows_in_blocks

LOSSES, NORMS = ("hinge", "logistic", "exponential"), ("l1", "l2")
loss_and_norm = pytest.mark.parametrize(
    ("loss", "norm"), [(loss, norm) for loss in LOSSES for norm in NORMS]
)


def sample(n=60, p=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) * np.linspace(1, 2, p)
    return X, np.where(X[:, 0] - X[:, 1] + rng.standard_normal(n) > 0.4, 1, -1)


def risk(model, X, y, weight=None):
    return surrogate_risk(model.loss, y, model.decision_function(X), weight)


def by_a_general_solver(X, y, weight, loss, norm, radius, fit_intercept=True):
    """The minimum by SLSQP. beta = a - b with a, b >= 0 for l1; slack variables for the hinge."""
    n, p = X.shape
    k = 2 * p if norm == "l1" else p
    w = weight / weight.sum()

    def beta(v):
        return v[:p] - v[p : 2 * p] if norm == "l1" else v[:p]

    def margins(v):
        return y * (X @ beta(v) + fit_intercept * v[k])

    def limit(v):
        return radius - v[:k].sum() if norm == "l1" else radius**2 - v[:k] @ v[:k]

    constraints = [{"type": "ineq", "fun": limit}]
    bounds = [(0, None) if norm == "l1" else (None, None)] * k + [(None, None)]
    start = np.full(k + 1, 1e-2)
    if loss == "hinge":
        constraints.append({"type": "ineq", "fun": lambda v: margins(v) - 1 + v[k + 1 :]})
        start = np.append(start, np.ones(n))
        bounds += [(0, None)] * n
        objective = lambda v: w @ v[k + 1 :]  # noqa: E731
    elif loss == "logistic":
        objective = lambda v: w @ np.logaddexp(0, -margins(v))  # noqa: E731
    else:
        objective = lambda v: w @ np.exp(-margins(v))  # noqa: E731
    options = {"maxiter": 1000, "ftol": 1e-12}
    found = minimize(
        objective, start, method="SLSQP", bounds=bounds, constraints=constraints, options=options
    )
    return found.fun


@loss_and_norm
@pytest.mark.parametrize("radius", [0.2, 1.0, 50.0])
def test_optimum_equals_that_of_a_general_solver(loss, norm, radius):
    X, y = sample(40, 3)
    weight = np.random.default_rng(1).uniform(0.2, 2, 40)
    for fit_intercept in (True, False):
        model = BallConstrainedClassifier(
            radius, loss=loss, norm=norm, fit_intercept=fit_intercept, tol=1e-7
        ).fit(X, y, weight)
        expected = by_a_general_solver(X, y, weight, loss, norm, radius, fit_intercept)
        value = risk(model, X, y, weight)
        assert value == pytest.approx(expected, abs=2e-6)
        assert value <= expected + model.dual_gap_ + 1e-9
        size = np.abs(model.coef_).sum() if norm == "l1" else np.linalg.norm(model.coef_)
        assert size <= radius * (1 + 1e-12)
        assert abs(model.intercept_[0]) <= model.intercept_bound_[0]


@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_logistic_regression_is_the_penalised_form(penalty):
    X, y = sample(200, 12)
    peer = LogisticRegression(C=0.05, tol=1e-10, max_iter=20_000, random_state=0)
    peer.set_params(solver="saga" if penalty == "l1" else "lbfgs")
    if peer.penalty == "l2":  # the default until scikit-learn 1.8
        peer.set_params(penalty=penalty)
    else:
        peer.set_params(l1_ratio=1.0 if penalty == "l1" else 0.0)
    peer.fit(X, y)
    size = np.abs(peer.coef_).sum() if penalty == "l1" else np.linalg.norm(peer.coef_)
    model = BallConstrainedClassifier(size, norm=penalty, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-4)
    np.testing.assert_allclose(model.intercept_, peer.intercept_, atol=1e-4)
    np.testing.assert_allclose(model.predict_proba(X), peer.predict_proba(X), atol=1e-4)


@pytest.mark.parametrize("in_blocks", [False, True])
def test_gap_falls_where_the_risk_is_flat_up_to_rounding(in_blocks):
    """A gap of 1e-10 is a distance of 1e-10 from the optimum, and a risk of 1e-20 above it."""
    X, y = sample(200, 12)
    rows = rows_in_blocks(X, y, cuts=[90], is_classifier=True)
    for radius in np.linspace(1.2, 1.25, 24):
        model = BallConstrainedClassifier(radius, norm="l1", tol=1e-12)
        with warnings.catch_warnings():
            warnings.simplefilter("error", ConvergenceWarning)
            model._fit_chunks(rows) if in_blocks else model.fit(X, y)
        assert model.dual_gap_ <= 1e-12


def test_support_vector_classifier_is_the_penalised_form():
    X, y = sample(300, 5)
    peer = SVC(kernel="linear", C=0.05, tol=1e-8).fit(X, y)
    model = BallConstrainedClassifier(np.linalg.norm(peer.coef_), loss="hinge", tol=1e-7)
    model.fit(X, y)
    assert risk(model, X, y) == pytest.approx(
        surrogate_risk("hinge", y, peer.decision_function(X)), abs=1e-6
    )
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=2e-3)


def test_hinge_in_the_l1_ball_is_a_linear_program():
    """In its primal form, with more features than enter the first program."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 250))
    y = np.where(X[:, 0] + X[:, 1] + 0.5 * rng.standard_normal(80) > 0, 1, -1)
    Z = y[:, None] * X
    A = np.block([[-Z, Z, -y[:, None], -np.eye(80)], [np.ones((1, 500)), np.zeros((1, 81))]])
    cost = np.append(np.zeros(501), np.full(80, 1 / 80))
    bounds = [(0, None)] * 500 + [(None, None)] + [(0, None)] * 80
    expected = linprog(cost, A_ub=A, b_ub=np.append(-np.ones(80), 2.0), bounds=bounds).fun
    model = BallConstrainedClassifier(2.0, loss="hinge", norm="l1", tol=1e-9).fit(X, y)
    assert risk(model, X, y) == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("loss", LOSSES)
def test_many_features_by_gradient_steps(loss):
    """More features than rows and than Newton's method takes; the gap is the certificate."""
    rng = np.random.default_rng(0)
    X = sp.random(60, 1600, density=0.05, random_state=0, format="csr")
    y = np.where(rng.standard_normal(60) > 0, 1, -1)
    model = BallConstrainedClassifier(0.5, loss=loss, tol=1e-4).fit(X, y)
    assert model.dual_gap_ <= 1e-4
    dense = BallConstrainedClassifier(0.5, loss=loss, tol=1e-4).fit(X.toarray(), y)
    assert risk(dense, X, y) == pytest.approx(risk(model, X, y), abs=1e-4)


@loss_and_norm
def test_gradient_descent_keeps_the_bound_of_its_theorem(loss, norm):
    X, y = sample(50, 3)
    X /= np.abs(X).max()
    best = BallConstrainedClassifier(1.0, loss=loss, norm=norm, tol=1e-7).fit(X, y)
    least = risk(best, X, y) - best.dual_gap_
    for k in (1, 10, 100, 1000):
        model = BallConstrainedClassifier(1.0, loss=loss, norm=norm, solver="gd", max_iter=k)
        model.fit(X, y)
        excess = risk(model, X, y) - least
        # The gap of the mean dual variables lies between the excess and the bound.
        assert excess <= model.dual_gap_ + 1e-9
        assert model.dual_gap_ <= model.suboptimality_bound_ + 1e-12
        assert model.n_iter_ == k


def test_the_bound_of_gradient_descent_is_computed_on_the_data():
    X, y = sample(50, 3)
    model = BallConstrainedClassifier(0.5, loss="hinge", solver="gd", max_iter=25).fit(X, y)
    norms = np.sqrt((X**2).sum(axis=1))
    B = 1 + 0.5 * norms.max()
    assert model.intercept_bound_ == pytest.approx([B])
    expected = 2 * np.sqrt(norms**2 + 1).mean() * np.hypot(0.5, B) / 5
    assert model.suboptimality_bound_ == pytest.approx(expected)
    flat = BallConstrainedClassifier(
        0.5, loss="logistic", solver="sgd", max_iter=25, fit_intercept=False, random_state=0
    ).fit(X, y)
    L = expit(0.5 * norms.max()) * np.sqrt(np.mean(norms**2))
    assert flat.suboptimality_bound_ == pytest.approx(2 * L * 0.5 / 5)


@loss_and_norm
def test_stochastic_descent_keeps_the_bound_of_its_theorem(loss, norm):
    """In the mean over seeds, which is what the theorem states."""
    X, y = sample(40, 3)
    X /= np.abs(X).max()
    weight = np.random.default_rng(3).uniform(0.2, 2, 40)
    best = BallConstrainedClassifier(1.0, loss=loss, norm=norm, tol=1e-7).fit(X, y, weight)
    least = risk(best, X, y, weight) - best.dual_gap_
    model = BallConstrainedClassifier(1.0, loss=loss, norm=norm, solver="sgd", max_iter=200)
    excess = []
    for seed in range(10):
        model.set_params(random_state=seed).fit(X, y, weight)
        excess.append(risk(model, X, y, weight) - least)
        assert excess[-1] <= model.dual_gap_ + 1e-9
    assert 0 <= np.mean(excess) <= model.suboptimality_bound_


def test_partial_fit_converges_and_keeps_its_bound():
    X, y = sample(4000, 3)
    model = BallConstrainedClassifier(1.0, solver="sgd")
    for start in range(0, 4000, 500):
        rows = slice(start, start + 500)
        model.partial_fit(sp.csr_matrix(X[rows]), y[rows], classes=[-1, 1])
    assert model.n_iter_ == 4000
    X_new, y_new = sample(20_000, 3, seed=1)
    best = BallConstrainedClassifier(1.0).fit(X_new, y_new)
    excess = risk(model, X_new, y_new) - risk(best, X_new, y_new)
    assert excess <= min(model.suboptimality_bound_, 0.02)
    dense = BallConstrainedClassifier(1.0, solver="sgd").partial_fit(X[:500], y[:500], [-1, 1])
    for start in range(500, 4000, 500):
        dense.partial_fit(X[start : start + 500], y[start : start + 500])
    np.testing.assert_allclose(dense.coef_, model.coef_, rtol=1e-8)


def test_partial_fit_goes_on_from_fit():
    X, y = sample(300, 3)
    model = BallConstrainedClassifier(1.0, solver="sgd", random_state=0).fit(X, y)
    before = model.coef_.copy()
    model.partial_fit(X[:50], y[:50])
    assert model.n_iter_ == 350
    assert not hasattr(model, "dual_gap_")
    np.testing.assert_allclose(model.coef_, before, atol=0.2)
    with pytest.raises(ValueError, match="not in classes"):
        model.partial_fit(X[:2], [5, 5])
    with pytest.raises(ValueError, match="differs"):
        model.partial_fit(X[:2], y[:2], classes=[1, 2])
    with pytest.raises(AttributeError, match="partial_fit"):
        BallConstrainedClassifier().partial_fit  # noqa: B018


@pytest.mark.slow
@pytest.mark.parametrize(("loss", "norm"), [("hinge", "l2"), ("logistic", "l1")])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_excess_risk_bound_holds(loss, norm, fit_intercept):
    """A half-space on a finite set of rows with known probabilities: all risks are exact.

    Without the factor sqrt(2) in the tail and the 2 of the complexity, the bound is still far from
    the excess, so that its value is checked against the formula as well.
    """
    rng = np.random.default_rng(0)
    points = rng.uniform(-1, 1, (40, 3))
    eta = expit(4 * points[:, 0] - 2 * points[:, 1])
    X_all, y_all = np.vstack([points, points]), np.repeat([1, -1], 40)
    mass = np.append(eta, 1 - eta) / 40
    model = BallConstrainedClassifier(
        1.0, loss=loss, norm=norm, fit_intercept=fit_intercept, tol=1e-3
    )
    best = risk(model.fit(X_all, y_all, mass), X_all, y_all, mass)
    C = model.feature_bound_
    n, failures = 60, 0
    for _ in range(500):
        rows = rng.choice(80, n, p=mass)
        model.fit(X_all[rows], y_all[rows])
        failures += risk(model, X_all, y_all, mass) - best > model.error_bound(
            delta=0.1, feature_bound=C, intercept_bound=6.0 if fit_intercept else None
        )
    assert failures <= 50
    B = 6.0 if fit_intercept else 0.0
    L = 1.0 if loss == "hinge" else expit(C + B)
    M = 1 + C + B if loss == "hinge" else np.logaddexp(0, C + B)
    complexity = C * (np.sqrt(2 * np.log(6) / n) if norm == "l1" else np.sqrt(1 / n))
    expected = 2 * L * (complexity + B / np.sqrt(n)) + M * np.sqrt(2 * np.log(2 / 0.1) / n)
    bound = model.error_bound(
        delta=0.1, feature_bound=C, intercept_bound=B if fit_intercept else None
    )
    assert bound == pytest.approx(expected + model.dual_gap_)


def test_excess_risk_bound_refuses_what_is_no_bound():
    X, y = sample()
    model = BallConstrainedClassifier().fit(X, y)
    with pytest.raises(ValueError, match="delta"):
        model.error_bound(delta=1.0)
    with pytest.raises(ValueError, match="feature_bound"):
        model.error_bound(feature_bound=model.feature_bound_ / 2)
    with pytest.raises(ValueError, match="intercept_bound"):
        model.error_bound(intercept_bound=abs(model.intercept_[0]) / 2)
    assert model.error_bound(delta=0.01) > model.error_bound(delta=0.1)


def test_several_classes_are_one_against_the_rest():
    X, y = load_iris(return_X_y=True)
    model = BallConstrainedClassifier(5.0).fit(X, y)
    assert model.score(X, y) > 0.9
    for k in range(3):
        one = BallConstrainedClassifier(5.0).fit(X, y == k)
        np.testing.assert_allclose(model.coef_[k], one.coef_[0])
        np.testing.assert_allclose(model.decision_function(X)[:, k], one.decision_function(X))


@loss_and_norm
def test_weights_are_repeated_rows(loss, norm):
    X, y = sample(30, 3)
    weight = np.random.default_rng(0).integers(0, 4, 30)
    a = BallConstrainedClassifier(loss=loss, norm=norm, tol=1e-8).fit(X, y, weight)
    b = BallConstrainedClassifier(loss=loss, norm=norm, tol=1e-8)
    b.fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert risk(a, X, y, weight) == pytest.approx(risk(b, X, y, weight), abs=3e-8)


def test_a_fit_that_is_too_short_warns():
    X, y = sample()
    with pytest.warns(ConvergenceWarning, match="duality gap"):
        BallConstrainedClassifier(max_iter=1, tol=1e-9).fit(X, y)


@pytest.mark.parametrize("solver", ["gd", "sgd"])
def test_steps_that_would_be_0_are_refused(solver):
    X, y = sample()
    with pytest.raises(ValueError, match="overflows"):
        BallConstrainedClassifier(1e4, loss="exponential", solver=solver).fit(X, y)


def test_hinge_gives_no_probabilities():
    assert not hasattr(BallConstrainedClassifier(loss="hinge"), "predict_proba")
    assert hasattr(BallConstrainedClassifier(loss="exponential"), "predict_log_proba")
