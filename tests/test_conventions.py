"""Where the sources differ, the package does what the table of docs/sources.md states."""

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.tree import DecisionTreeRegressor

from sklearn_ensemble_theory import (
    AdaBoostClassifier,
    BaggingClassifier,
    DecisionStumpClassifier,
    DecisionStumpRegressor,
    FrankWolfeRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    L2BoostingRegressor,
    LinearL2BoostingRegressor,
    MatchingPursuitRegressor,
    SmoothingSplineRegressor,
    bounds,
)
from sklearn_ensemble_theory.boosting.losses import LogisticLoss


@pytest.fixture
def regression():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (60, 2))
    return X, 3 + X[:, 0] + np.abs(X[:, 1]) + 0.1 * rng.standard_normal(60)


def test_learning_rate_of_the_squared_loss_without_one_half(regression):
    """[DS-GA 1003, lecture 8] fits 2 (y - f) and starts from 0; its rate nu is 2 nu here."""
    X, y = regression
    tree = DecisionTreeRegressor(max_depth=2, random_state=0)
    score = np.zeros(60)
    for _ in range(5):
        score += 0.1 * tree.fit(X, 2 * (y - score)).predict(X)
    model = GradientBoostingRegressor(tree, learning_rate=0.2, init="zero", n_estimators=5)
    model.fit(X, y)
    np.testing.assert_allclose(model.predict(X), score, atol=1e-8)
    assert model.train_scores_[-1] == pytest.approx(np.mean((y - score) ** 2) / 2)


def test_starts_of_boosting(regression):
    X, y = regression
    mean = pytest.approx(y.mean())
    labels = (X[:, 0] > 0).astype(int)

    def first_risk(**params):
        """The risk after a round that changes nothing."""
        constant = DummyRegressor(strategy="constant", constant=0.0)
        model = GradientBoostingRegressor(constant, n_estimators=1, **params).fit(X, y)
        return model.train_scores_[0]

    assert first_risk() == pytest.approx(np.var(y) / 2)
    assert first_risk(init="zero") == pytest.approx(np.mean(y**2) / 2)
    assert L2BoostingRegressor(1).fit(X, y).intercept_ == mean
    spline = SmoothingSplineRegressor(df=3)
    assert LinearL2BoostingRegressor(spline, time=0).fit(X, y).predict(X)[0] == mean
    zero = LinearL2BoostingRegressor(spline, time=0, init="zero").fit(X, y)
    assert zero.predict(X)[0] == 0
    pursuit = MatchingPursuitRegressor(1).fit(X, y)
    assert pursuit.residual_norms_[0] ** 2 == pytest.approx(np.var(y))
    pursuit = MatchingPursuitRegressor(1, fit_intercept=False).fit(X, y)
    assert pursuit.residual_norms_[0] ** 2 == pytest.approx(np.mean(y**2))
    # AdaBoost starts from 0, where all weights are equal: its first error is unweighted.
    stump = DecisionStumpClassifier().fit(X, labels ^ (X[:, 1] > 0.5))
    model = AdaBoostClassifier(n_estimators=1).fit(X, labels ^ (X[:, 1] > 0.5))
    assert model.estimator_errors_[0] == pytest.approx(
        np.mean(stump.predict(X) != (labels ^ (X[:, 1] > 0.5)))
    )
    tiny = FrankWolfeRegressor(radius=1e-9, n_estimators=1).fit(X, y)
    assert tiny.predict(X) == pytest.approx(np.full(60, y.mean()), abs=1e-6)


def test_adaboost_coefficients_are_twice_those_of_the_sources(regression):
    X, y = regression
    labels = y > 3.5
    model = AdaBoostClassifier(n_estimators=4).fit(X, labels)
    error = model.estimator_errors_
    np.testing.assert_allclose(model.estimator_weights_, np.log((1 - error) / error))
    # With the halves of them as coefficients, the exponential risk is `training_error_bounds_`.
    sign = np.where(labels, 1.0, -1.0)
    votes = [np.where(h.predict(X) == h.classes_[1], 1.0, -1.0) for h in model.estimators_]
    score = 0.5 * model.estimator_weights_ @ votes
    assert np.mean(np.exp(-sign * score)) == pytest.approx(model.training_error_bounds_[-1])


def test_ties_of_votes_go_to_the_first_class():
    X = np.array([[0.0], [0.0], [1.0], [1.0]])
    y = np.array(["b", "a", "b", "a"])
    for voting in ("soft", "hard"):
        bag = BaggingClassifier(
            DummyClassifier(strategy="prior"), 2, bootstrap=False, voting=voting, random_state=0
        )
        assert set(bag.fit(X, y).predict(X)) == {"a"}
    assert set(GradientBoostingClassifier(n_estimators=1).fit(X, y).predict(X)) == {"a"}


def test_logarithms_are_natural():
    assert LogisticLoss().value(1.0, 0.0) == pytest.approx(np.log(2))
    for n in (100, 1000):
        assert bounds.bagging_pac_n_estimators(n, 0.05) == np.ceil(18 * np.log(2 * n / 0.05))
    with_default = bounds.greedy_boosting_risk_bound(10, 1000, 1.0)
    assert with_default == bounds.greedy_boosting_risk_bound(10, 1000, 1.0, loss_at_zero=np.log(2))


def test_rows_at_the_threshold_are_on_the_left():
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    stump = DecisionStumpRegressor().fit(X, [0.0, 0.0, 1.0, 1.0])
    assert stump.predict([[stump.threshold_]])[0] == 0.0


def test_kappa_is_at_most_one_over_the_root_of_the_rank():
    rng = np.random.default_rng(0)
    for d, rank in [(3, 3), (8, 8), (8, 5), (20, 6), (40, 30)]:
        columns = rng.standard_normal((50, rank)) @ rng.standard_normal((rank, d))
        columns /= np.sqrt(np.mean(columns**2, axis=0))
        gram = columns.T @ columns / 50
        assert bounds.matching_pursuit_kappa(gram) <= (1 + 1e-12) / np.sqrt(rank)
    for d in (4, 20):
        assert bounds.matching_pursuit_kappa(np.eye(d)) == pytest.approx(1 / np.sqrt(d))
    # Every column twice: more than 1/sqrt(d), the number of columns.
    assert bounds.matching_pursuit_kappa(np.kron(np.eye(2), np.ones((2, 2)))) > 0.7
    # Three columns in a plane, at 60 degrees: a larger kappa than 1/sqrt(2) is valid.
    angles = np.pi / 3 * np.arange(3)
    plane = np.array([np.cos(angles), np.sin(angles)])
    v = np.array([np.cos(t := np.linspace(0, np.pi, 1001)), np.sin(t)])
    assert np.abs(plane.T @ v).max(axis=0).min() == pytest.approx(np.cos(np.pi / 6), abs=1e-4)
