"""Gradient boosting: the step rules and their bounds, and the leaf values of trees."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeRegressor

from sklearn_ensemble_theory import (
    AdaBoostClassifier,
    DecisionStumpRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    ReLUUnitRegressor,
    bounds,
)
from sklearn_ensemble_theory.boosting import losses
from sklearn_ensemble_theory.boosting.steps import FixedStep, SmoothStep
from sklearn_ensemble_theory.trees import BinnedTreeClassifier, BinnedTreeRegressor

from ..surroundings import register
from ..trees.engine import on_grid
from .gradient_boosting_data import BestColumn
from .loss_cases import BINARY, REGRESSION, LogCosh

# Algorithm 3 of [Shah].
AS_FITTED = FixedStep(reoptimize_leaves=False)


@pytest.mark.parametrize("init", [None, "zero"])
def test_stumps_with_line_search_are_forward_stagewise_modelling(regression, init):
    """L2-boosting of [DS-GA 1003, lecture 8]: each stump fits the residuals, with step 1."""
    X, y, *_ = regression
    model = GradientBoostingRegressor(
        DecisionStumpRegressor(), init=init, step="line_search", learning_rate=1.0, n_estimators=15
    ).fit(X, y)
    np.testing.assert_allclose(model.steps_, 1, rtol=1e-9)
    residual = y if init else y - y.mean()
    for member in model.estimators_[:, 0]:
        by_hand = DecisionStumpRegressor().fit(X, residual)
        assert (by_hand.feature_, by_hand.threshold_) == (member.feature_, member.threshold_)
        residual = residual - by_hand.predict(X)
    np.testing.assert_allclose(y - model.predict(X), residual, atol=1e-10)


def test_prepared_stumps_equal_refitted_ones(binary):
    """The same model whether the columns are sorted once or by each fit."""

    class Refitted(DecisionStumpRegressor):
        pass

    X, y, X_new, _ = binary
    w = np.random.default_rng(0).uniform(0.5, 2, len(y))
    once = GradientBoostingClassifier(DecisionStumpRegressor(), n_estimators=15).fit(X, y, w)
    often = GradientBoostingClassifier(Refitted(), n_estimators=15).fit(X, y, w)
    np.testing.assert_allclose(
        once.decision_function(X_new), often.decision_function(X_new), rtol=1e-9
    )


def test_quadratic_bound_step_is_the_minimum_of_10_8(binary):
    X, y, *_ = binary
    model = GradientBoostingClassifier(
        Ridge(), step="quadratic_bound", learning_rate=1.0, n_estimators=5, init="zero"
    ).fit(X, y)
    signs, u = 2.0 * y - 1, np.zeros(len(y))
    loss = losses.LogisticLoss()
    for member, b in zip(model.estimators_[:, 0], model.steps_):
        psi, gradient = member.predict(X), loss.gradient(signs, u) / len(y)
        L, C2 = 0.25 / len(y), psi @ psi
        assert b == pytest.approx(-(gradient @ psi) / (L * C2), rel=1e-10)
        u += b * psi


class BestColumnOfKnownSize(BestColumn):
    """The same with a fast path, which knows the largest root mean square."""


def rounds_of_known_size(learner, X, weight, task):
    class Rounds:
        is_exact = has_scale = True
        outputs_bound = np.sqrt(np.mean(X**2, axis=0).max())

        def best(self, target, weight, scores=None):
            member = clone(learner).fit(X, target)
            return member, member.predict(X)

    return Rounds()


register(BestColumnOfKnownSize, prepare_rounds=rounds_of_known_size)


def l1_norm(model):
    """The l1 norm of the coefficients on the columns: at least the gauge of the scores."""
    coef = np.zeros(model.n_features_in_)
    for member, b in zip(model.estimators_[:, 0], model.steps_):
        coef[member.column_] += member.sign_ * b
    return np.abs(coef).sum()


def orthogonal_columns(norms, n=16):
    """Orthogonal columns of given root mean squares."""
    q = np.linalg.qr(np.random.default_rng(0).standard_normal((n, len(norms))))[0]
    return q * np.sqrt(n) * norms


@pytest.mark.parametrize("loss", ["squared_error", losses.HuberLoss(0.5)], ids=str)
@pytest.mark.parametrize("norms", [(1.0, 0.02), (1.0,) * 6, (2.0, 0.3, 1.0, 0.1, 0.5)], ids=str)
def test_smooth_step_obeys_the_gauge_bound(loss, norms):
    """Proposition 10.1 of [Bach]; with the norm of each round's own psi (1.0, 0.02) breaks it."""
    X = orthogonal_columns(norms)
    y = (X / norms) @ np.ones(len(norms))
    settings = {"loss": loss, "learning_rate": 1.0, "init": "zero", "n_estimators": 60}
    model = GradientBoostingRegressor(BestColumn(), step=SmoothStep(max(norms)), **settings).fit(
        X, y
    )
    known = GradientBoostingRegressor(BestColumnOfKnownSize(), step="smooth", **settings).fit(X, y)
    np.testing.assert_allclose(known.steps_, model.steps_, rtol=1e-12, atol=1e-14)
    curvature = max(norms) ** 2  # L C² with G2 = 1
    start = model.loss_.risk(y, np.zeros(len(y)))
    for t in (1, 2, 5, 20, 60):
        model.set_params(n_estimators=t).fit(X, y)
        fall = start - model.train_scores_[-1]
        assert l1_norm(model) <= bounds.greedy_boosting_gauge_bound(t, curvature, fall) * (1 + 1e-9)
        excess = bounds.greedy_boosting_bound(t, curvature, np.sum(1 / np.array(norms)), start)
        assert model.train_scores_[-1] <= excess
    u = np.zeros(len(y))
    for member, b in zip(model.estimators_[:, 0], model.steps_):
        psi, gradient = member.predict(X), model.loss_.gradient(y, u) / len(y)
        assert b == pytest.approx(-(gradient @ psi) / ((1 / len(y)) * len(y) * max(norms) ** 2))
        u += b * psi
    if norms == (1.0, 0.02):
        own = GradientBoostingRegressor(BestColumn(), step="quadratic_bound", **settings)
        own.set_params(n_estimators=20).fit(X, y)
        fall = start - own.train_scores_[-1]
        assert l1_norm(own) > 3 * bounds.greedy_boosting_gauge_bound(20, curvature, fall)


def test_quadratic_bound_step_obeys_the_gauge_bound_of_normalised_outputs():
    """(10.9) over the outputs divided by their root mean square: C²/n = 1."""
    norms = np.array([1.0, 0.02, 0.3])
    X = orthogonal_columns(norms)
    y = (X / norms) @ np.array([1.0, 2.0, -1.0])
    model = GradientBoostingRegressor(
        BestColumn(), step="quadratic_bound", learning_rate=1.0, init="zero", n_estimators=4
    ).fit(X, y)
    weights = [
        b * np.sqrt(np.mean(member.predict(X) ** 2))
        for member, b in zip(model.estimators_[:, 0], model.steps_)
    ]
    fall = np.mean(y**2) / 2 - model.train_scores_[-1]
    assert np.abs(weights).sum() <= bounds.greedy_boosting_gauge_bound(4, 1.0, fall) * (1 + 1e-9)


def test_smooth_step_needs_a_bound_on_the_outputs(regression):
    X, y, *_ = regression
    with pytest.raises(ValueError, match="step='smooth' requires output_bound"):
        GradientBoostingRegressor(step="smooth").fit(X, y)
    with pytest.raises(ValueError, match=r"output_bound=0\.01 is too small: the outputs"):
        GradientBoostingRegressor(step=SmoothStep(output_bound=0.01)).fit(X, y)
    relu = GradientBoostingRegressor(
        ReLUUnitRegressor("inner_product"), step="smooth", learning_rate=1.0, n_estimators=30
    ).fit(X, y)
    assert (np.diff(relu.train_scores_) <= 0).all()
    given = GradientBoostingRegressor(
        ReLUUnitRegressor("inner_product"),
        step=SmoothStep(max(1.0, np.ptp(X, axis=0).max())),
        learning_rate=1.0,
        n_estimators=30,
    ).fit(X, y)
    np.testing.assert_array_equal(relu.steps_, given.steps_)


@pytest.mark.parametrize("loss", [*REGRESSION, *BINARY])
def test_algorithm_3_leaves_the_trees_as_they_were_fitted(regression, binary, loss):
    """Algorithm 3 of [Shah]: least-squares trees of the negative gradient, with every loss."""
    tree = DecisionTreeRegressor(max_depth=2, min_samples_leaf=5, random_state=0)
    settings = {"n_estimators": 5, "learning_rate": 0.5, "random_state": 0}
    settings["loss"] = losses.HuberLoss() if loss == "huber" else loss
    if loss in BINARY:
        X, y, *_ = binary
        model = GradientBoostingClassifier(tree, step=AS_FITTED, **settings).fit(X, y)
        y = 2.0 * y - 1
    else:
        X, y, *_ = regression
        y = y / y.max() if loss == "binomial" else y
        model = GradientBoostingRegressor(tree, step=AS_FITTED, **settings).fit(X, y)
    u = np.full(len(y), model.loss_.optimal_constant(y))
    for member in model.estimators_[:, 0]:
        seed = member.random_state
        target = on_grid(-model.loss_.gradient(y, u))
        plain = clone(tree).set_params(random_state=seed).fit(X, target)
        np.testing.assert_array_equal(member.tree_.value, plain.tree_.value)
        np.testing.assert_array_equal(member.tree_.threshold, plain.tree_.threshold)
        u += 0.5 * plain.predict(X)

    def scores():
        if loss in BINARY:
            return model.decision_function(X)
        return model.loss_.scores_from(model.predict(X))

    np.testing.assert_allclose(scores(), u, rtol=1e-12)
    np.testing.assert_array_equal(model.steps_, 0.5)
    if loss != "squared_error":
        model.set_params(step="fixed").fit(X, y)
        assert np.abs(scores() - u).max() > 1e-3


def test_algorithm_3_with_several_classes():
    X, y = load_iris(return_X_y=True)
    model = GradientBoostingClassifier(
        DecisionTreeRegressor(max_depth=3),
        step=AS_FITTED,
        learning_rate=1.0,
        n_estimators=2,
        random_state=0,
    ).fit(X, y)
    target = on_grid((y == 1) - 1 / 3)
    plain = clone(model.estimators_[0, 1]).fit(X, target)
    np.testing.assert_allclose(model.estimators_[0, 1].tree_.value, plain.tree_.value, rtol=1e-9)
    assert model.score(X, y) > 0.95


def test_line_search_minimises_along_the_outputs(binary):
    X, y, *_ = binary
    model = GradientBoostingClassifier(
        Ridge(), step="line_search", learning_rate=1.0, n_estimators=3
    ).fit(X, y)
    signs = 2.0 * y - 1
    u = np.full(len(y), model.initial_scores_)
    for member, b in zip(model.estimators_[:, 0], model.steps_):
        psi = member.predict(X)
        risks = [model.loss_.risk(signs, u + c * psi) for c in b * np.linspace(0, 2, 201)]
        assert np.argmin(risks) == 100
        u += b * psi


def test_targets_on_a_grid_are_the_targets_but_for_rounding():
    rng = np.random.default_rng(0)
    for scale in (1e-150, 1.0, 1e150):
        t = scale * rng.standard_normal(100)
        assert np.abs(on_grid(t) - t).max() <= np.abs(t).max() * 2**-36
        sums = [np.sum(on_grid(t)[rng.permutation(100)]) for _ in range(5)]
        assert len(set(sums)) == 1
    assert on_grid(np.zeros(3)).tolist() == [0, 0, 0]


@pytest.mark.parametrize("loss", [*REGRESSION, *BINARY])
@pytest.mark.parametrize("max_bins", [255, None], ids=["binned", "exact"])
def test_joint_trees_minimise_over_their_leaves(regression, binary, loss, max_bins):
    """After a round the risk is the least over the values of the leaves, and it never rises."""
    X, y, *_ = binary if loss in BINARY else regression
    kind = GradientBoostingClassifier if loss in BINARY else GradientBoostingRegressor
    if loss in ("poisson", "tweedie"):
        y = np.floor(np.exp(np.clip(y, -3, 2)))
    y = y / y.max() if loss == "binomial" else y
    w = np.random.default_rng(0).uniform(0.2, 2, len(y))
    settings = {"loss": loss, "max_bins": max_bins, "max_depth": 2, "random_state": 0}
    settings.update(learning_rate=1.0, n_estimators=4, min_samples_leaf=10)
    model = kind(step="joint", **settings).fit(X, y, w)
    signs = 2.0 * y - 1 if loss in BINARY else y
    u = np.full(len(y), model.initial_scores_)
    risks, leaf = [], model.apply(X).reshape(len(y), -1)
    before = losses.HuberLoss(quantile=0.9)
    for t, member in enumerate(model.estimators_[:, 0]):
        each = before.adapted(signs, u, w) if loss == "huber" else model.loss_
        least = 0.0
        for node in np.unique(leaf[:, t]):
            rows = leaf[:, t] == node

            def risk(b, rows=rows, each=each, u=u):
                return w[rows] @ each.value(signs[rows], u[rows] + b)

            size = np.abs(signs - u).max() + 4
            places = np.linspace(-size, size, 201)
            at = places[np.argmin([risk(b) for b in places])]
            step = 2 * size / 200
            found = minimize_scalar(risk, bounds=(at - step, at + step), method="bounded")
            least += min(found.fun, risk(at))
        psi = member.predict(X)
        after = w @ each.value(signs, u + psi)
        assert least - 1e-4 * abs(least) <= after <= least + 1e-7 * abs(least)  # rough at kinks
        assert after <= w @ each.value(signs, u) + 1e-12
        u += psi
        risks.append(after / w.sum())
    np.testing.assert_allclose(model.train_scores_, risks, rtol=1e-9)
    np.testing.assert_array_equal(model.steps_, 1)
    # The first tree is split by G²/H where there is a second derivative.
    if model.loss_.hessian(signs[:1], u[:1]) is not None:
        newton = kind(**settings, step="newton").fit(X, y, w)
        one, other = model.estimators_[0, 0].tree_, newton.estimators_[0, 0].tree_
        np.testing.assert_array_equal(one.feature, other.feature)
        np.testing.assert_array_equal(one.threshold, other.threshold)


def test_joint_trees_of_the_squared_loss_are_plain_boosting(regression):
    X, y, X_new, _ = regression
    settings = {"learning_rate": 1.0, "n_estimators": 10, "random_state": 0}
    joint = GradientBoostingRegressor(step="joint", **settings).fit(X, y)
    plain = GradientBoostingRegressor(**settings).fit(X, y)
    np.testing.assert_array_equal(joint.predict(X_new), plain.predict(X_new))


@pytest.mark.parametrize("depth", [1, 2])
def test_joint_trees_of_the_exponential_loss_are_real_adaboost(binary, depth):
    """Trees by the Gini impurity split as least squares does, their values are half log-odds."""
    X, y, X_new, _ = binary
    y = np.where(np.random.default_rng(0).random(len(y)) < 0.2, 1 - y, y)
    shape = {"max_depth": depth, "min_samples_leaf": 15}
    joint = GradientBoostingClassifier(
        BinnedTreeRegressor(**shape),
        loss="exponential",
        step="joint",
        learning_rate=1.0,
        init="zero",
        n_estimators=5,
    ).fit(X, y)
    real = AdaBoostClassifier(BinnedTreeClassifier(**shape), variant="real", n_estimators=5)
    real.fit(X, y)
    np.testing.assert_allclose(
        joint.decision_function(X_new), real.decision_function(X_new), rtol=1e-6
    )


def test_joint_stumps_have_the_best_split_too(binary):
    X, y, *_ = binary
    settings = {"step": "joint", "learning_rate": 1.0, "n_estimators": 1, "init": "zero"}
    for loss in BINARY:
        stump = GradientBoostingClassifier(DecisionStumpRegressor(), loss=loss, **settings)
        tree = GradientBoostingClassifier(BinnedTreeRegressor(max_depth=1), loss=loss, **settings)
        least, other = (model.fit(X, y).train_scores_[0] for model in (stump, tree))
        assert least <= other * (1 + 1e-9)


def test_joint_trees_of_a_loss_of_the_user(regression):
    """A second derivative that is wrong moves the splits, and no leaf away from its minimum."""
    X, y, *_ = regression
    y = np.round(10 * y)
    settings = {"step": "joint", "learning_rate": 1.0, "n_estimators": 5, "random_state": 0}
    for share in (None, 1.0, 1e-3):
        model = GradientBoostingRegressor(loss=LogCosh(share), **settings).fit(X, y)
        assert (np.diff(model.train_scores_) <= 0).all()
        u = model.predict(X)
        slopes = np.bincount(model.apply(X)[:, -1], np.tanh(u - y))
        assert np.abs(slopes).max() < 1e-7 * len(y)
    with pytest.raises(ValueError, match="the hessian of LogCosh has the opposite sign"):
        GradientBoostingRegressor(loss=LogCosh(-1.0), **settings).fit(X, y)
