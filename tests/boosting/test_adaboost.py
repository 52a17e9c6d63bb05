"""AdaBoost: the theorems along its rounds, other ways to its numbers, its edges."""

from itertools import islice

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_classification, make_hastie_10_2
from sklearn.ensemble import AdaBoostClassifier as SklearnAdaBoost
from sklearn.linear_model import Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from sklearn_ensemble_theory import (
    AdaBoostClassifier,
    DecisionStumpClassifier,
    DecisionStumpRegressor,
)
from sklearn_ensemble_theory.boosting import losses
from sklearn_ensemble_theory.boosting.steps import LineSearchStep

from ..surroundings import SignTask, prepare_rounds
from .adaboost_data import VARIANTS, noisy
from .engine import BoostingRounds, EmpiricalRisk


def weights_along(model, X, y):
    """The normalised weights before each round and after the last, from the fitted members."""
    u = np.zeros(len(y))
    for member, alpha in zip(model.estimators_, model.estimator_weights_):
        pi = np.exp(-y * u)
        yield pi / pi.sum()
        u += alpha / 2 * member.predict(X)
    pi = np.exp(-y * u)
    yield pi / pi.sum()


def test_identities_of_every_round():
    """F(u_t) = F(u_{t-1}) sqrt(1 - e²), and h_t is a coin under the new weights."""
    X, y = noisy()
    model = AdaBoostClassifier(n_estimators=40).fit(X, y)
    F = np.concatenate([[1.0], model.training_error_bounds_])
    e = 2 * model.edges_
    np.testing.assert_allclose(F[1:], F[:-1] * np.sqrt(1 - e**2), rtol=1e-12)
    assert np.abs(F[1:] - F[:-1] * (1 - e**2)).min() > 1e-5  # as printed in [Bach, §10.3.4]
    eps = model.estimator_errors_
    np.testing.assert_allclose(F[1:], np.cumprod(2 * np.sqrt(eps * (1 - eps))), rtol=1e-12)
    np.testing.assert_allclose(model.estimator_weights_, np.log((1 - eps) / eps), rtol=1e-12)
    weights = list(weights_along(model, X, y))
    for t, member in enumerate(model.estimators_):
        assert weights[t] @ (member.predict(X) != y) == pytest.approx(eps[t], abs=1e-12)
        assert weights[t + 1] @ (member.predict(X) != y) == pytest.approx(0.5, abs=1e-12)
        assert member.training_error_ == pytest.approx(eps[t], abs=1e-12)


def test_training_error_stays_below_the_bounds_and_reaches_zero():
    """Error <= product <= exp(-2 gamma² T), 0 from ln n / (2 gamma²) rounds on.

    [Ghoshdastidar, theorem En.4]
    """
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = rng.uniform(-1, 1, (150, 2))
        y = np.sign(X[:, 0] + X[:, 1])
        model = AdaBoostClassifier(n_estimators=400).fit(X, y)
        gammas = np.minimum.accumulate(model.edges_)
        T = np.arange(1, len(gammas) + 1)
        error = 1 - np.array(list(model.staged_score(X, y)))
        assert (error <= model.training_error_bounds_ + 1e-12).all()
        assert (model.training_error_bounds_ <= np.exp(-2 * gammas**2 * T) + 1e-12).all()
        enough = np.flatnonzero(np.ceil(np.log(150) / (2 * gammas**2)) <= T)
        assert len(enough)
        assert (error[enough] == 0).all()
        assert error[0] > 0


def test_the_bound_needs_its_constant():
    """Half the exponent is no longer forced: with exp(-4 gamma² T) some run breaks the bound."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (150, 2))
    y = np.sign(X[:, 0] + X[:, 1])
    model = AdaBoostClassifier(n_estimators=30).fit(X, y)
    T = np.arange(1, 31)
    assert (model.training_error_bounds_ > np.exp(-4 * model.edges_.max() ** 2 * T)).any()


@pytest.mark.parametrize("seed", range(4))
def test_intervals_are_weakly_learned_by_stumps(seed):
    """Some stump errs on at most one of three intervals: every edge is >= 1/6 [Ghoshdastidar]."""
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(0, 1, 300))
    s, t = np.sort(rng.uniform(0.1, 0.9, 2))
    y = np.where((x > s) & (x < t), 1, -1) * rng.choice([-1, 1])
    model = AdaBoostClassifier(n_estimators=200).fit(x[:, None], y)
    assert model.edges_.min() >= 1 / 6 - 1e-12 > 1 / 6 - 1 / 12
    assert model.score(x[:, None], y) == 1
    fresh = rng.uniform(0, 1, 2000)
    truth = np.where((fresh > s) & (fresh < t), y[np.searchsorted(x, s)], -y[np.searchsorted(x, s)])
    assert model.score(fresh[:, None], truth) > 0.97


def test_is_forward_stagewise_modelling_with_the_exponential_loss():
    """The same stumps and twice the coefficients of the loop with +-1 stumps and exact steps."""
    X, y = noisy()
    model = AdaBoostClassifier(n_estimators=30).fit(X, y)
    u, before = np.zeros(len(y)), 1.0
    stumps = prepare_rounds(DecisionStumpClassifier(), X, None, SignTask())
    risk = EmpiricalRisk(losses.ExponentialLoss(), y.astype(float))
    rounds = BoostingRounds(risk, stumps, LineSearchStep(), u)
    for t, record in enumerate(islice(rounds, 30)):
        ours = model.estimators_[t]
        assert (ours.feature_, ours.threshold_) == (
            record.predictor.feature_,
            record.predictor.threshold_,
        )
        assert model.estimator_weights_[t] == pytest.approx(2 * record.step, rel=1e-9)
        assert model.edges_[t] == pytest.approx(record.first_order_gain / before / 2, rel=1e-9)
        before = record.risk
    np.testing.assert_allclose(
        model.decision_function(X), 4 * u / model.estimator_weights_.sum(), rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("learning_rate", [1.0, 0.4])
def test_equals_scikit_learn_with_the_same_learner(n_classes, learning_rate):
    X, y = make_classification(400, 6, n_informative=4, n_classes=n_classes, random_state=0)
    X_new = np.random.default_rng(1).standard_normal((100, 6))
    settings = {"n_estimators": 15, "learning_rate": learning_rate, "random_state": 3}
    tree = DecisionTreeClassifier(max_depth=2, max_features=3)
    ours = AdaBoostClassifier(tree, **settings).fit(X, y)
    theirs = SklearnAdaBoost(tree, **settings).fit(X, y)
    np.testing.assert_allclose(ours.estimator_weights_, theirs.estimator_weights_, rtol=1e-8)
    np.testing.assert_allclose(ours.estimator_errors_, theirs.estimator_errors_, rtol=1e-8)
    np.testing.assert_allclose(ours.decision_function(X_new), theirs.decision_function(X_new))
    np.testing.assert_allclose(ours.predict_proba(X_new), theirs.predict_proba(X_new))
    np.testing.assert_allclose(ours.feature_importances_, theirs.feature_importances_)
    for a, b in zip(ours.staged_predict_proba(X_new), theirs.staged_predict_proba(X_new)):
        np.testing.assert_allclose(a, b)


def test_seeds_differ_between_members():
    """What scikit-learn's test_iris checks on its default learner, here on trees."""
    X, y = load_iris(return_X_y=True)
    model = AdaBoostClassifier(DecisionTreeClassifier(max_depth=1)).fit(X, y)
    assert len({member.random_state for member in model.estimators_}) == len(model.estimators_) > 1
    stumps = AdaBoostClassifier().fit(X, y)
    assert stumps.score(X, y) > 0.9
    assert stumps.predict_proba(X).shape == stumps.decision_function(X).shape == (150, 3)


@pytest.mark.parametrize("n", [300, 3000])
def test_every_stump_is_at_least_as_good_as_the_gini_stump(n):
    X, y = noisy(n)
    model = AdaBoostClassifier(n_estimators=25).fit(X, y)
    better = 0
    for pi, eps in zip(weights_along(model, X, y), model.estimator_errors_):
        tree = DecisionTreeClassifier(max_depth=1).fit(X, y, pi)
        error = pi @ (tree.predict(X) != y)
        assert eps <= error + 1e-12
        better += eps < error - 1e-9
    assert better > 0


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["real", "gentle"])
def test_hastie_10_2(variant):
    """Friedman, Hastie and Tibshirani's ten-dimensional example."""
    X, y = make_hastie_10_2(12_000, random_state=1)
    model = AdaBoostClassifier(n_estimators=400, variant=variant).fit(X[:2000], y[:2000])
    assert 0.05 < 1 - model.score(X[2000:], y[2000:]) < 0.07


def test_real_adaboost_lowers_the_risk_by_its_partition_function():
    """F(u_t) = F(u_{t-1}) Z_t where no side is pure, and Z is 2 sum sqrt(W+ W-)."""
    X, y = noisy()
    model = AdaBoostClassifier(n_estimators=20, variant="real").fit(X, y)
    u, before = np.zeros(len(y)), 1.0
    for member, F in zip(model.estimators_, model.training_error_bounds_):
        pi = np.exp(-y * u) / np.exp(-y * u).sum()
        left = X[:, member.feature_] <= member.threshold_
        Z = 0.0
        for side, value in ((left, member.left_value_), (~left, member.right_value_)):
            plus, minus = pi[side & (y > 0)].sum(), pi[side & (y < 0)].sum()
            Z += plus * np.exp(-value) + minus * np.exp(value)
            if min(plus, minus) > 1e-4 * (plus + minus):
                assert value == pytest.approx(0.5 * np.log(plus / minus))
                assert plus * np.exp(-value) == pytest.approx(np.sqrt(plus * minus))
            else:  # a pure side answers as much as the smallest share that is believed
                assert abs(value) == pytest.approx(0.5 * np.log((1 - 1e-4) / 1e-4))
        assert before * Z == pytest.approx(F, rel=1e-10)
        u += member.predict(X)
        before = F
    np.testing.assert_allclose(model.decision_function(X), u, rtol=1e-12)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 1 / (1 + np.exp(-2 * u)))


def test_gentle_adaboost_is_least_squares_to_the_signs():
    X, y = noisy()
    model = AdaBoostClassifier(n_estimators=10, variant="gentle").fit(X, y)
    u = np.zeros(len(y))
    for member in model.estimators_:
        pi = np.exp(-y * u) / np.exp(-y * u).sum()
        best = DecisionStumpRegressor().fit(X, y, pi)
        assert (best.feature_, best.threshold_) == (member.feature_, member.threshold_)
        np.testing.assert_allclose(best.predict(X), member.predict(X), rtol=1e-9)
        u += member.predict(X)


def test_other_learners_of_real_and_gentle():
    X, y = noisy(600)
    real = AdaBoostClassifier(
        DecisionTreeClassifier(max_depth=2), variant="real", n_estimators=20, random_state=0
    ).fit(X[:400], y[:400])
    gentle = AdaBoostClassifier(
        DecisionTreeRegressor(max_depth=2), variant="gentle", n_estimators=20, random_state=0
    ).fit(X[:400], y[:400])
    for model in (real, gentle):
        assert model.score(X[400:], y[400:]) > 0.75
        assert (np.diff(model.training_error_bounds_) < 0).all()
        assert model.feature_importances_.sum() == pytest.approx(1)
    slower = AdaBoostClassifier(variant="real", learning_rate=0.1, n_estimators=3).fit(X, y)
    assert (
        slower.training_error_bounds_[0]
        > AdaBoostClassifier(variant="real").fit(X, y).training_error_bounds_[0]
    )


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("max_bins", [None, 16])
@pytest.mark.parametrize("n", [200, 2600])
def test_weight_of_two_is_a_row_twice_and_zero_is_no_row(variant, max_bins, n):
    rng = np.random.default_rng(0)
    X, y = noisy(n)
    X, w = np.round(X, 1), rng.integers(0, 3, n)
    model = AdaBoostClassifier(
        DecisionStumpClassifier(max_bins=max_bins), n_estimators=8, variant=variant
    )
    weighted = model.fit(X, y, w).decision_function(X)
    repeated = model.fit(np.repeat(X, w, 0), np.repeat(y, w)).decision_function(X)
    np.testing.assert_allclose(weighted, repeated, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_perfect_learner_decides_alone(variant):
    X, y = np.arange(8.0)[:, None], np.repeat(["a", "b"], 4)
    model = AdaBoostClassifier(variant=variant).fit(X, y)
    assert model.stop_reason_ == "perfect"
    assert len(model.estimators_) == 1
    assert model.estimator_errors_.tolist() == model.training_error_bounds_.tolist() == [0]
    assert model.score(X, y) == 1

    class Second(DecisionTreeClassifier):
        """A stump at first, a full tree once the weights are no longer equal."""

        def fit(self, X, y, sample_weight=None):
            self.max_depth = 1 if np.ptp(sample_weight) < 1e-12 else None
            return super().fit(X, y, sample_weight)

    if variant == "discrete":
        X, y = noisy(100)
        model = AdaBoostClassifier(Second()).fit(X, y)
        assert len(model.estimators_) == 1
        assert model.estimators_[0].get_depth() > 1
        assert model.score(X, y) == 1


def test_no_edge_keeps_the_earlier_rounds():
    """Labels of a fair coin on each value: after the first stump no stump is better than chance."""
    X = np.array([0, 0, 0, 1, 1, 1.0])[:, None]
    y = np.array([0, 0, 1, 0, 1, 1])
    model = AdaBoostClassifier().fit(X, y)
    assert model.stop_reason_ == "no edge"
    assert len(model.estimators_) == 1
    assert model.predict([[0.0], [1.0]]).tolist() == [0, 1]


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("max_bins", [None, 4])
def test_equal_features_two_rows_and_extreme_weights(variant, max_bins):
    model = AdaBoostClassifier(DecisionStumpClassifier(max_bins), variant=variant)
    for y in ([0, 0, 1, 1], [0, 1, 1, 1]):
        model.fit(np.ones((4, 2)), y)
        assert np.isfinite(model.decision_function(np.ones((2, 2)))).all()
        assert model.stop_reason_ == "no edge"
    assert model.predict(np.ones((1, 2))) == [1]
    model.fit([[0.0], [1.0]], ["no", "yes"])
    assert model.predict([[0.0], [1.0]]).tolist() == ["no", "yes"]
    X, y = noisy(60)
    rng = np.random.default_rng(0)
    for w in (np.full(60, 1e-300), np.full(60, 1e300), 10.0 ** rng.uniform(-300, 300, 60)):
        model.fit(X, y, w)
        assert np.isfinite(model.decision_function(X)).all()
        assert np.isfinite(model.predict_proba(X)).all()
        assert np.isfinite(model.training_error_bounds_).all()
        assert np.isfinite(model.feature_importances_).all()
    model.fit(X, np.zeros(60))
    assert model.predict(X).tolist() == [0] * 60


@pytest.mark.slow
def test_thirty_thousand_rounds_after_separation():
    x = np.arange(6.0)[:, None]
    y = np.array([0, 0, 1, 1, 0, 0])
    model = AdaBoostClassifier(n_estimators=30_000).fit(x, y)
    assert len(model.estimators_) == 30_000
    assert model.stop_reason_ == "n_estimators"
    assert np.isfinite(model.estimator_weights_).all()
    assert model.training_error_bounds_[-1] == 0  # far below the smallest float
    margins = model.margins(x, y)
    # AdaBoost's margin tends to at least half the largest possible, here 1/3.
    assert margins.min() > 1 / 6


def test_errors_too_small_for_a_float_have_finite_coefficients():
    """A learner whose one mistake has a weight of 1e-600: log eps is taken in logarithms."""

    class OnlyFirst(DecisionStumpClassifier):
        def fit(self, X, y, sample_weight=None):
            return super().fit(X, y, np.r_[sample_weight[:-1], 0.0])

    X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0, 1, 0])
    model = AdaBoostClassifier(OnlyFirst(), n_estimators=2, learning_rate=1.0)
    model.fit(X, y, [1.0, 1.0, 1e-300])
    assert model.estimator_weights_[0] == pytest.approx(np.log(2) + 300 * np.log(10))
    assert np.isfinite(model.decision_function(X)).all()


@pytest.mark.parametrize(
    ("estimator", "variant"),
    [(GaussianNB(), "discrete"), (GaussianNB(), "real"), (Ridge(), "gentle"), (None, "real")],
)
def test_one_class(estimator, variant):
    X, _ = noisy(20)
    model = AdaBoostClassifier(estimator, variant=variant).fit(X, np.full(20, "only"))
    assert model.predict(X).tolist() == ["only"] * 20
    assert model.predict_proba(X).tolist() == [[1.0]] * 20
    assert model.stop_reason_ == "perfect"
