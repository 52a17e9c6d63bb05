"""Gradient boosting with ``step="newton"``: Newton steps under curvatures as weights."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import expit, log_softmax, softmax
from sklearn.datasets import load_digits, load_wine
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor

from sklearn_ensemble_theory import (
    DecisionStumpRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
)
from sklearn_ensemble_theory.boosting import losses
from sklearn_ensemble_theory.boosting.steps import NewtonStep
from sklearn_ensemble_theory.trees import BinnedTreeRegressor

from ..trees.reference_growth import reference_trees
from .engine import EmpiricalRisk, SecondOrderRisk
from .loss_cases import without_loops

LEAST = 1e-3


def problem(n=300, seed=0, n_classes=2, missing=False):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4)).round(1)
    score = X[:, 0] + np.sin(2 * X[:, 1]) * X[:, 2] + 0.5 * rng.standard_normal(n)
    y = np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


def model_of(**options):
    options = {"n_estimators": 15, "random_state": 0, **options}
    return GradientBoostingClassifier(**{"step": "newton", **options})


# --- against other implementations ----------------------------------------------------------------


def tree_of(X, z, h):
    share = LEAST / h.sum()
    tree = DecisionTreeRegressor(max_depth=3, min_weight_fraction_leaf=share, random_state=0)
    return tree.fit(X, z, sample_weight=h)


def two_class_risks(X, y, w, rounds, rate):
    share = np.average(y, weights=w)
    u, risks = np.full(len(y), np.log(share / (1 - share))), []
    for _ in range(rounds):
        p = expit(u)
        h = p * (1 - p)
        u = u + rate * tree_of(X, (y - p) / h, w * h).predict(X)
        risks.append(np.average(np.logaddexp(0, np.where(y == 1, -u, u)), weights=w))
    return risks


def many_class_risks(X, y, w, rounds, rate):
    hot = np.eye(y.max() + 1)[y]
    shares = np.log(np.average(hot, axis=0, weights=w))
    u, risks = np.tile(shares - shares.mean(), (len(y), 1)), []
    for _ in range(rounds):
        p = softmax(u, axis=1)
        h = p * (1 - p)
        z = (hot - p) / h
        trees = [tree_of(X, z[:, k], w * h[:, k]) for k in range(hot.shape[1])]
        u = u + rate * np.column_stack([tree.predict(X) for tree in trees])
        risks.append(-np.average((hot * log_softmax(u, axis=1)).sum(axis=1), weights=w))
    return risks


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_risks_are_those_of_a_loop_over_weighted_trees(n_classes, weighted):
    X, y = problem(400, n_classes=n_classes)
    w = np.random.default_rng(1).uniform(0.5, 2, 400) if weighted else np.ones(400)
    rate = 0.3 if n_classes == 2 else 0.1  # with long steps leaves would be bounded
    risks = (two_class_risks if n_classes == 2 else many_class_risks)(X, y, w, 12, rate)
    for estimator in (None, DecisionTreeRegressor(max_depth=3)):
        model = model_of(estimator=estimator, n_estimators=12, learning_rate=rate)
        model.fit(X, y, sample_weight=w if weighted else None)
        np.testing.assert_allclose(model.train_scores_, risks, rtol=1e-7)


def test_sparse_data_have_the_model_of_dense_data():
    X, y = problem(n_classes=3)
    exact = model_of(estimator=DecisionTreeRegressor(max_depth=3)).fit(X, y)
    sparse = model_of().fit(sp.csr_matrix(X), y)
    np.testing.assert_allclose(sparse.train_scores_, exact.train_scores_, rtol=1e-9)


@pytest.mark.parametrize("estimator", [DecisionStumpRegressor(), LinearRegression()])
def test_other_learners_are_fitted_to_the_same_targets(estimator):
    """LogitBoost of stumps, and of linear functions: there it is Newton's method of regression."""
    X, y = problem(seed=3)
    model = model_of(estimator=estimator, init="zero", n_estimators=8, learning_rate=1.0)
    u, risks = np.zeros(len(y)), []
    for _ in range(8):
        p = expit(u)
        h = p * (1 - p)
        learner = LinearRegression()
        if not isinstance(estimator, LinearRegression):
            learner = DecisionTreeRegressor(max_depth=1)
        u += learner.fit(X, (y - p) / h, sample_weight=h).predict(X)
        risks.append(np.mean(np.logaddexp(0, np.where(y == 1, -u, u))))
    np.testing.assert_allclose(model.fit(X, y).train_scores_, risks, rtol=1e-8)


def test_the_gradient_of_the_state_is_that_of_the_first_order():
    y = problem(n_classes=3)[1]
    u = np.random.default_rng(0).standard_normal((len(y), 3)) * 5
    w = np.random.default_rng(1).integers(1, 4, len(y)).astype(float)
    psi = np.random.default_rng(2).standard_normal(u.shape)
    first = EmpiricalRisk(losses.MultinomialLoss(), y, w).at(u)
    second = SecondOrderRisk(losses.MultinomialLoss(), y, w).at(u)
    assert first.value == second.value
    gradient = second.scale * second.weight * second.target
    np.testing.assert_allclose(gradient, first.weight[:, None] * first.target, rtol=1e-12)
    gain = second.scale * second.first_order_gain(psi)
    np.testing.assert_allclose(gain, first.first_order_gain(psi), rtol=1e-12)


def test_targets_are_bounded_where_the_curvature_vanishes():
    """A row on the wrong side has a step of 1/p, which is infinite in the end."""
    y = np.r_[np.ones(500), -np.ones(500)]
    u = np.where(np.arange(1000) == 7, -800.0, y * 2.0)
    state = SecondOrderRisk(losses.LogisticLoss(), y).at(u)
    first = EmpiricalRisk(losses.LogisticLoss(), y).at(u)
    assert np.all(state.weight > 0)
    assert np.abs(state.target).max() <= 1.1e4 * np.average(
        np.abs(state.target), weights=state.weight
    )
    gradient = state.scale * state.weight * state.target
    np.testing.assert_allclose(gradient, first.weight * first.target, rtol=1e-12)
    # The others have their own Newton steps.
    others = np.arange(1000) != 7
    np.testing.assert_allclose(state.target[others], (y * (1 + np.exp(-2)))[others])


@pytest.mark.parametrize("drawn", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3, 40])
def test_loops_and_methods_have_the_same_rounds(n_classes, weighted, drawn):
    """Far from the targets too, where second derivatives vanish, and of more rows than a chunk."""
    rng = np.random.default_rng(n_classes)
    n, many = 20_000, n_classes > 2
    y = rng.integers(0, n_classes, n) if many else rng.choice([-1.0, 1.0], n)
    u = rng.normal(0, 3, (n, n_classes) if many else n)
    u[:5] *= 300
    w = rng.uniform(0.1, 2, n) if weighted else None
    loss = losses.MultinomialLoss() if many else losses.LogisticLoss()
    plain, risk, other = (
        SecondOrderRisk(each, y, w, n_threads)
        for each, n_threads in ((without_loops(loss), 1), (loss, 1), (loss, 3))
    )
    a, b, c = (each.at(u) for each in (plain, risk, other))
    for name in ("value", "target", "weight"):
        np.testing.assert_allclose(getattr(b, name), getattr(a, name), rtol=1e-9, atol=1e-9)
        np.testing.assert_array_equal(getattr(b, name), getattr(c, name))
    score = 1 if many else None
    column = ... if score is None else np.s_[:, score]
    leaf, values = rng.integers(0, 300, n), rng.normal(0, 4, 300)
    values[::9] *= 300
    rows = np.flatnonzero(rng.random(n) < 0.7) if drawn else None
    found = [
        each.lowering_values(u, a.target[column], a.weight[column], leaf, values, rows, score)
        for each in (plain, risk, other)
    ]
    assert 0 < (found[0] != values).sum() < 300
    np.testing.assert_array_equal(found[1], found[0])
    np.testing.assert_array_equal(found[2], found[0])


@pytest.mark.parametrize("u", [0.0, 1e200, -1e200])
def test_states_without_curvature(u):
    y, scores = np.array([0, 1, 2, 0]), np.zeros((4, 3))
    scores[:, 0] = u
    loss = losses.MultinomialLoss()
    states = [SecondOrderRisk(each, y).at(scores) for each in (loss, without_loops(loss))]
    for name in ("value", "target", "weight"):
        a, b = (getattr(state, name) for state in states)
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-290)


# --- what it shares with the first order ----------------------------------------------------------


def test_the_squared_loss_has_the_same_model():
    X, _ = problem()
    y = X[:, 0] ** 2 + X[:, 1]
    first = GradientBoostingRegressor(random_state=0, n_estimators=20).fit(X, y)
    second = GradientBoostingRegressor(random_state=0, n_estimators=20, step="newton")
    second.fit(X, y)
    np.testing.assert_allclose(second.train_scores_, first.train_scores_, rtol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("estimator", [None, DecisionTreeRegressor(max_depth=3)])
def test_integer_weights_are_repeated_rows(estimator, n_classes):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((150, 3))
    y = (X[:, 0] + X[:, 1] * X[:, 2] > 0) + (n_classes == 3) * (X[:, 1] > 1)
    w = rng.integers(0, 4, len(y))
    weighted = model_of(estimator=estimator).fit(X, y, sample_weight=w)
    repeated = model_of(estimator=estimator).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), rtol=1e-6, atol=1e-9
    )


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"n_classes": 3},
        {"missing": True},
        {"subsample": 0.5},
        {"estimator": BinnedTreeRegressor(max_depth=2, l2_regularization=1.0)},
        {"estimator": BinnedTreeRegressor(max_leaf_nodes=6, min_weight_fraction_leaf=0.05)},
        {"estimator": BinnedTreeRegressor(max_depth=3, monotonic_cst=[1, 0, 0, 0])},
        {"loss": "exponential"},
        {"step": NewtonStep(line_search=True)},
    ],
)
def test_the_model_is_that_of_trees_of_the_reference(options):
    n_classes, missing = options.pop("n_classes", 2), options.pop("missing", False)
    X, y = problem(600, 2, n_classes, missing)
    fast = model_of(**options).fit(X, y)
    with reference_trees():
        plain = model_of(**options).fit(X, y)
    np.testing.assert_allclose(fast.train_scores_, plain.train_scores_, rtol=1e-6)
    assert fast.train_scores_[-1] < fast.train_scores_[0]


def test_warm_start_continues_and_threads_change_nothing():
    X, y = problem(n_classes=3)
    whole = model_of(n_estimators=10).fit(X, y)
    parts = model_of(n_estimators=4, warm_start=True).fit(X, y)
    parts.set_params(n_estimators=10).fit(X, y)
    np.testing.assert_array_equal(parts.decision_function(X), whole.decision_function(X))


def test_threads_change_no_bit():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((110_000, 20))  # so many that they are shared out
    y = X[:, 0] * X[:, 1] + rng.standard_normal(len(X)) > 0
    one, two = (model_of(n_estimators=3, n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one.train_scores_, two.train_scores_)
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))


def test_early_stopping_follows_the_risk():
    X, y = problem(500)
    model = model_of(n_estimators=400, n_iter_no_change=5, learning_rate=0.5).fit(X, y)
    assert model.stop_reason_ == "early stopping"
    assert len(model.validation_scores_) == model.n_estimators_ < 400


def test_monotonic_constraints_hold():
    X, y = problem(500, 4)
    tree = BinnedTreeRegressor(max_depth=4, monotonic_cst=[1, -1, 0, 0])
    model = model_of(estimator=tree, n_estimators=40).fit(X, y)
    rows = np.tile(X[:40], (30, 1))
    for column, sign in ((0, 1), (1, -1)):
        moved = rows.copy()
        moved[:, column] = np.repeat(np.linspace(-3, 3, 30), 40)
        scores = model.decision_function(moved).reshape(30, 40)
        assert np.all(sign * np.diff(scores, axis=0) >= -1e-12)


@pytest.mark.parametrize("estimator", [None, DecisionTreeRegressor(max_depth=3)])
def test_leaves_have_curvature(estimator):
    """Without the bound a step of one row, 1/p, can be of any size."""
    X, y = problem(300, 6)
    X = np.c_[X, np.arange(300)]
    model = model_of(estimator=estimator, n_estimators=60, learning_rate=0.5).fit(X, y)
    risk = SecondOrderRisk(losses.LogisticLoss(), 2.0 * y - 1)
    u = np.full(len(y), model.initial_scores_)
    for (member,), step in zip(model.estimators_, model.steps_):
        leaf = member.apply(X)
        mass = np.bincount(leaf, risk.at(u).weight)
        assert len(np.unique(leaf)) == 1 or mass[np.unique(leaf)].min() >= LEAST * (1 - 1e-6)
        u += step * member.predict(X)
    assert np.abs(u).max() < 50


def test_poisson_steps_are_weighted_means():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 3)).round(1)
    y = rng.poisson(np.exp(X[:, 0])).astype(float)
    u, risks = np.full(400, np.log(y.mean())), []
    for _ in range(10):
        h = np.exp(u)
        u = u + 0.1 * tree_of(X, (y - h) / h, h).predict(X)
        risks.append(np.mean(np.exp(u) - y * u))
    model = GradientBoostingRegressor(
        loss="poisson", n_estimators=10, step="newton", random_state=0
    )
    model.fit(X, y)
    np.testing.assert_allclose(model.train_scores_, risks, rtol=1e-7)


def test_a_newton_step_of_the_poisson_loss_that_would_raise_the_risk_is_exact():
    X = np.arange(200.0)[:, None]
    y = np.r_[np.zeros(199), 1000.0]
    constant = y.mean() * (1 - np.log(y.mean()))
    options = {"loss": "poisson", "n_estimators": 1, "random_state": 0}
    assert GradientBoostingRegressor(**options).fit(X, y).train_scores_[0] < constant
    second = GradientBoostingRegressor(step="newton", **options).fit(X, y)
    assert second.train_scores_[0] < constant
    leaf = X[:, 0] == 199
    # log(1 + G / H) is log of the events over those that were expected.
    value = second.estimators_[0, 0].predict(X[leaf])
    np.testing.assert_allclose(value, np.log(1000 / y.mean()), rtol=1e-5)


def test_tiny_weights_have_no_leaf_of_enough_curvature():
    X, y = problem()
    model = model_of(n_estimators=3).fit(X, y, sample_weight=np.full(len(y), 1e-6))
    assert all(member.get_n_leaves() == 1 for member in model.estimators_.ravel())


def test_it_is_better_where_classes_are_easy():
    """The first order divides by the number of rows in a leaf, also of those that are right."""
    for load, margin in ((load_wine, 0.02), (load_digits, 0.005)):
        X, y = load(return_X_y=True)
        parts = train_test_split(X, y, train_size=0.5, stratify=y, random_state=0)
        X_train, X_test, y_train, y_test = parts
        second = model_of(n_estimators=40).fit(X_train, y_train)
        first = GradientBoostingClassifier(n_estimators=40, random_state=0).fit(X_train, y_train)
        assert second.score(X_test, y_test) >= first.score(X_test, y_test) + margin


# --- errors ---------------------------------------------------------------------------------------


class Cauchy:
    """It is not convex, and its second derivative is right."""

    def value(self, y, u):
        return np.log1p((20 * (y - u)) ** 2) / 800

    def gradient(self, y, u):
        return (u - y) / (1 + (20 * (y - u)) ** 2)

    def hessian(self, y, u):
        return (1 - (20 * (y - u)) ** 2) / (1 + (20 * (y - u)) ** 2) ** 2


class WithSecond:
    """The squared loss of an object, with a second derivative of this size."""

    def __init__(self, size):
        self.size = size

    def value(self, y, u):
        return 0.5 * (y - u) ** 2

    def gradient(self, y, u):
        return u - y

    def hessian(self, y, u):
        return np.full(u.shape, self.size)


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        ("absolute_error", "step='newton'.*AbsoluteLoss has none"),
        ("huber", "step='newton'.*HuberLoss has none"),
        (losses.QuantileLoss(0.7), "step='newton'.*QuantileLoss has none"),
        (WithSecond(-1.0), "the hessian of WithSecond has the opposite sign of the difference"),
        (Cauchy(), "step='newton'.*convex.*Cauchy is negative"),
        (WithSecond(np.nan), "step='newton'.*WithSecond is negative or NaN"),
    ],
)
def test_losses_without_second_derivative_raise(loss, message):
    X, y = problem()
    model = GradientBoostingRegressor(loss=loss, step="newton")
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    assert not hasattr(model, "estimators_")


def test_what_it_cannot_be_combined_with_raises():
    X, y = problem()
    with pytest.raises(ValueError, match=r"step='newton'.*HingeLoss has none"):
        model_of(loss="hinge").fit(X, y)
    with pytest.raises(ValueError, match="step='newton': estimator=KNeighborsRegressor"):
        model_of(estimator=KNeighborsRegressor()).fit(X, y)


def test_a_loss_of_the_user():
    X, _ = problem()
    y = X[:, 0] ** 2
    options = {"step": "newton", "n_estimators": 10, "random_state": 0}
    own = GradientBoostingRegressor(loss=WithSecond(1.0), **options).fit(X, y)
    known = GradientBoostingRegressor(**options).fit(X, y)
    np.testing.assert_allclose(own.train_scores_, known.train_scores_, rtol=1e-9)


@pytest.mark.parametrize("scale", [1e-150, 1e149])
def test_targets_of_extreme_size(scale):
    X, _ = problem()
    y = X[:, 0] ** 2 + X[:, 1]
    options = {"step": "newton", "n_estimators": 10, "random_state": 0}
    usual = GradientBoostingRegressor(**options).fit(X, y)
    extreme = GradientBoostingRegressor(**options).fit(X, scale * y)
    np.testing.assert_allclose(extreme.predict(X) / scale, usual.predict(X), rtol=1e-6)
