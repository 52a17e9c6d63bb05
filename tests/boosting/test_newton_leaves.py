"""Newton steps of leaves never raise the loss of their leaf, in every order."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import brentq, minimize_scalar
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.model_selection import train_test_split

from sklearn_ensemble_theory import (
    DecisionStumpRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
)
from sklearn_ensemble_theory.boosting import losses

from ..trees.reference_growth import reference_trees
from .engine import EmpiricalRisk, as_loss, longer_steps, safe_length
from .loss_cases import (
    CASES,
    OF_REALS,
    OF_USERS,
    Gamma,
    LogCosh,
    Probit,
    PseudoHuber,
    SoftAbsolute,
    far_problem,
)


def model_of(loss, kind, **options):
    options = {"n_estimators": 20, "random_state": 0, "max_depth": 2, **options}
    made = GradientBoostingRegressor if kind in OF_REALS else GradientBoostingClassifier
    return made(loss=loss, **options)


class Far:
    """Scores to start from, on the wrong side for half of the rows."""

    def __init__(self, score):
        self.score = score

    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.full(len(X), self.score)

    def get_params(self, deep=True):
        return {"score": self.score}


def check_never_rises(model, X, y):
    model.fit(X, y)
    risks = model.train_scores_
    assert np.isfinite(risks).all()
    assert (np.diff(risks) <= 1e-9 * np.abs(risks[:-1])).all()
    return model


# --- the bound ------------------------------------------------------------------------------------


@pytest.mark.parametrize("rate", [1e-300, 1e-3, 0.1, 0.5, 1.0])
def test_the_safe_length_is_the_root_of_the_bound(rate):
    def excess(x):  # of logarithms, which do not overflow
        return np.log(np.expm1(x) - x) - np.log(x) - np.log(x / rate)

    root = brentq(excess, 0.1, 709) / rate
    assert safe_length(losses.LogisticLoss(), rate) == pytest.approx(root, rel=1e-6)
    assert safe_length(losses.SquaredLoss(), rate) == np.inf
    assert safe_length(as_loss(LogCosh(1.0)), rate) == 0


@pytest.mark.parametrize("rate", [0.1, 0.5, 1.0])
def test_steps_within_the_bound_lower_the_losses_of_classes(rate):
    """Longer ones raise some: not of the exponential loss, whose Newton steps are at most 1."""
    rng = np.random.default_rng(0)
    n, leaf = 20_000, np.arange(20_000) % 2000
    u = rng.normal(rng.normal(0, 6, 2000)[leaf], 1)
    y, w = rng.choice([-1.0, 1.0], n), rng.random(n)
    for loss in (losses.LogisticLoss(), losses.ExponentialLoss()):
        first = np.bincount(leaf, -w * loss.gradient(y, u))
        newton = first / np.bincount(leaf, w * loss.hessian(y, u))

        def fall(steps, loss=loss):
            return np.bincount(leaf, w * (loss.value(y, u) - loss.value(y, u + steps[leaf])))

        longest = safe_length(loss, rate)
        assert (fall(rate * np.clip(newton, -longest, longest)) >= 0).all()
        assert (fall(np.sign(newton) * np.log1p(np.abs(newton))) >= 0).all()
        rises = fall(rate * newton) < 0
        assert rises.any() == isinstance(loss, losses.LogisticLoss)
        assert (np.abs(newton[rises]) > longest).all()


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("rate", [0.2, 1.0])
def test_steps_are_those_of_newton_where_no_loss_rises(rate, n_classes):
    rng = np.random.default_rng(1)
    n, leaf = 40_000, np.arange(40_000) % 300
    w, score = rng.random(n), None
    if n_classes == 2:
        loss, y = losses.LogisticLoss(), rng.choice([-1.0, 1.0], n)
        u = rng.normal(rng.normal(0, 3, 300)[leaf], 1)
        y[leaf < 50] = 1.0  # pure leaves, of steps of any length
    else:
        loss, y, score = losses.MultinomialLoss(), rng.integers(0, 4, n), 2
        u = rng.normal(rng.normal(0, 3, (300, 4))[leaf], 1)
    column = ... if score is None else np.s_[:, score]
    found = []
    for n_threads in (1, 3):
        risk = EmpiricalRisk(loss, y, w, n_threads)
        risk.rate = rate
        target = np.ascontiguousarray(risk.at(u).target[column])
        found.append(risk.leaf_values(u, target, leaf, 300, None, score))
    steps, other = found
    np.testing.assert_array_equal(steps, other)
    second = np.bincount(leaf, w * loss.hessian(y, u)[column])
    newton = np.bincount(leaf, w * target) / second * (1 if n_classes == 2 else 0.75)
    moved = u.copy()
    moved[column] += rate * newton[leaf]
    rises = np.bincount(leaf, w * (loss.value(y, moved) - loss.value(y, u))) > 0
    assert 10 < rises.sum() < 280
    assert (np.abs(newton[~rises]) > safe_length(loss, rate)).any()
    np.testing.assert_allclose(steps[~rises], newton[~rises], rtol=1e-9)
    bounded = np.sign(newton) * np.log1p(np.abs(newton))
    np.testing.assert_allclose(steps[rises], bounded[rises], rtol=1e-9)


def test_leaves_of_a_wrong_second_derivative_are_exact():
    rng = np.random.default_rng(2)
    y, w, leaf = 50 * rng.standard_normal(200), rng.random(200), np.arange(200) % 4
    for share in (0.01, 100.0, 0.0, -1.0, np.nan):
        risk = EmpiricalRisk(LogCosh(share), y, w)
        u = np.zeros(200)
        steps = risk.leaf_values(u, risk.at(u).target, leaf, 4)
        for k in range(4):
            own = leaf == k
            best = minimize_scalar(lambda s, own=own: w[own] @ LogCosh().value(y[own], s))
            at = [w[own] @ LogCosh().value(y[own], s) for s in (best.x, steps[k])]
            assert at[1] <= at[0] * (1 + 1e-9)


# --- whole fits -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("loss", "kind"), CASES + OF_USERS, ids=lambda case: type(case).__name__)
def test_no_round_raises_the_training_loss(loss, kind):
    X, y = far_problem(kind)
    has_second = as_loss(loss).hessian(y[:1], np.zeros((1, 4) if kind == "code" else 1))
    starts = [None]
    if kind in OF_REALS:
        starts += [Far(30.0 if kind == "count" else 1e4)]
    for init in starts:
        for step in ("fixed", "newton")[: 1 + (has_second is not None)]:
            options = {"step": step, "init": init}
            check_never_rises(model_of(loss, kind, **options), X, y)


@pytest.mark.parametrize(
    "loss",
    [*map(LogCosh, (1.0, 0.01, 100.0, 0.0)), PseudoHuber(), Gamma()],
    ids=lambda loss: type(loss).__name__,
)
def test_the_end_is_that_of_exact_leaves(loss):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 4))
    y = 30 * np.sin(2 * X[:, 0]) + 10 * X[:, 1] + rng.standard_normal(400)
    if isinstance(loss, Gamma):
        y = np.abs(y)
    y[:4] = 1e6
    options = {"n_estimators": 100, "random_state": 0}
    without = SimpleNamespace(value=loss.value, gradient=loss.gradient)
    exact = GradientBoostingRegressor(loss=without, **options).fit(X, y)
    start = loss.value(y, exact.initial_scores_).mean()
    guarded = GradientBoostingRegressor(loss=loss, **options).fit(X, y)
    fall, of_exact = (start - model.train_scores_[-1] for model in (guarded, exact))
    assert fall >= 0.99 * of_exact


@pytest.mark.slow
@pytest.mark.parametrize("rate", [0.1, 0.3])
@pytest.mark.parametrize("loss", [SoftAbsolute(), Probit()], ids=lambda loss: type(loss).__name__)
def test_steps_that_are_too_short_are_replaced(loss, rate):
    """The end is that of exact leaves, where these have a minimum: leaves of both classes.

    With the rate 1 more and more leaves have one class, and the fall is 1 to 2 % smaller.
    On average over samples: trees of one fit are not those of the other, from the second on.
    """
    kind = "sign" if isinstance(loss, Probit) else "real"
    options = {"n_estimators": 50, "learning_rate": rate, "min_samples_leaf": 20}
    without = SimpleNamespace(value=loss.value, gradient=loss.gradient, margin=kind == "sign")
    falls = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((400, 4))
        y = 30 * np.sin(2 * X[:, 0]) + 10 * X[:, 1] + rng.standard_normal(400)
        if kind == "sign":
            y = np.where(y + 20 * rng.standard_normal(400) > 0, 1.0, -1.0)
        exact = model_of(without, kind, **options).fit(X, y)
        start = loss.value(y, exact.initial_scores_).mean()
        guarded = check_never_rises(model_of(loss, kind, **options), X, y)
        falls.append([start - model.train_scores_[-1] for model in (guarded, exact)])
    fall, of_exact = np.mean(falls, axis=0)
    assert fall >= 0.99 * of_exact


def test_a_short_step_ends_at_the_minimum_of_a_cubic():
    G, H, T, s = 3.0, 2.0, -0.3, 1.5  # a Newton step, and the third derivative that it misses
    fall = G * s - H * s**2 / 2 - T * s**3 / 6
    assert 1.02 < fall / (G * s / 2) < 1.25
    (x,) = longer_steps(np.array([s]), np.array([G]), np.array([fall]), 1.0)
    assert x > s
    assert H * x + T * x**2 / 2 == pytest.approx(G)
    for factor, limit in ((1.01, 1.0), (1.24, 1.5), (1.3, 1.0), (0.8, 1.0)):
        (x,) = longer_steps(np.array([s]), np.array([G]), np.array([factor * G * s / 2]), 1.0)
        assert x == s * limit


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("rate", [0.3, 1.0])
def test_outputs_of_other_learners_have_a_line_search_where_they_would_raise_the_risk(
    rate, n_classes
):
    """Half of the rows of one side of a stump are of rare classes: its Newton step is huge."""
    rng = np.random.default_rng(0)
    X = rng.random((2000, 3)).round(3)
    y = np.where(X[:, 0] > 0.99, rng.integers(0, n_classes, 2000), 0)
    options = {"step": "newton", "learning_rate": rate, "n_estimators": 10, "random_state": 0}
    model = GradientBoostingClassifier(DecisionStumpRegressor(), **options)
    check_never_rises(model, X, y)
    assert model.steps_.min() < rate
    assert model.steps_.max() == rate or n_classes == 2


def test_rare_classes_have_the_probabilities_of_their_leaf():
    """A Newton step of 1 / (2 share) a round would leave probabilities of 0 and 1 only."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 200, (20_000, 2)) / 200
    hot = X[:, 0] == 0.995
    y = hot & (rng.random(len(X)) < 0.5)
    tree = {"max_depth": 1, "n_estimators": 100, "random_state": 0}
    model = check_never_rises(GradientBoostingClassifier(**tree), X, y)
    assert model.predict_proba(X[hot])[:, 1].mean() == pytest.approx(y[hot].mean(), abs=0.05)
    assert model.train_scores_[-1] < 0.01


def test_the_guide_s_loss_has_the_r2_of_the_guide():
    tables = load_diabetes(return_X_y=True), make_friedman1(1000, random_state=0)
    for table, expected in zip(tables, ((0.274, 0.282), (0.954, 0.950))):
        X, X_test, y, y_test = train_test_split(*table, random_state=0)
        for loss, r2 in zip((LogCosh(), LogCosh(1.0)), expected):
            model = GradientBoostingRegressor(loss=loss, random_state=0).fit(X, y)
            assert model.score(X_test, y_test) == pytest.approx(r2, abs=0.02)


def test_no_warning_where_a_step_leads_out_of_range():
    """cosh overflows at 710, where only Newton steps lead."""

    class Plain(LogCosh):
        def value(self, y, u):
            return np.log(np.cosh(u - y))

    X, _ = far_problem("sign")
    y = 20 * X[:, 0]
    check_never_rises(GradientBoostingRegressor(loss=Plain(1.0), random_state=0), X, y)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_rounds_in_one_piece_have_the_leaves_of_single_rounds(n_classes, weighted):
    """Bit for bit, where steps are bounded; and with trees of the reference up to rounding."""
    rng = np.random.default_rng(3)
    X = rng.integers(0, 100, (3000, 2)) / 100
    y = np.where(X[:, 0] == 0.99, rng.integers(0, n_classes, 3000), 0)
    w = rng.uniform(0.5, 2, 3000) if weighted else None
    options = {"n_estimators": 8, "max_depth": 2, "random_state": 0}
    several = GradientBoostingClassifier(**options).fit(X, y, w)
    single = GradientBoostingClassifier(**options).fit(X, y, w, monitor=lambda *_: False)
    np.testing.assert_array_equal(several.train_scores_, single.train_scores_)
    np.testing.assert_array_equal(several.decision_function(X), single.decision_function(X))
    assert (np.diff(several.train_scores_) < 0).all()
    with reference_trees():
        plain = GradientBoostingClassifier(**options).fit(X, y, w)
    np.testing.assert_allclose(plain.train_scores_, several.train_scores_, rtol=1e-9)
