"""SmoothBoost: its theorem, ten lines of NumPy, and what all boosters for noisy labels share."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits, load_iris, make_classification
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from sklearn_ensemble_theory import (
    AdaBoostClassifier,
    DecisionStumpClassifier,
    SmoothBoostClassifier,
)
from sklearn_ensemble_theory.boosting._reweighting import binary_rounds
from sklearn_ensemble_theory.bounds import smooth_boosting_error_bound, smooth_boosting_n_rounds
from sklearn_ensemble_theory.datasets import add_label_noise, make_twonorm
from sklearn_ensemble_theory.trees import BinnedTreeClassifier

from ..erm.stump_search import without_side_search


def noisy(n=300, p=4, seed=0, flips=0.15):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    y = np.where(X[:, 0] + X[:, 1] > 0, 1, -1)
    return X, np.where(rng.random(n) < flips, -y, y)


def interval(n=300, seed=0):
    """Some stump errs on at most one of three intervals: every edge is at least 1/6."""
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(size=n))
    return x[:, None], np.where((x > 0.3) & (x < 0.6), 1, -1)


def by_hand(X, y, weight, gamma, n_rounds):
    """Servedio's variant as he prints it: the distribution of each round, and the stumps."""
    N, least = np.zeros(len(y)), 0.5
    for _ in range(n_rounds):
        g = least if gamma is None else gamma
        M = weight * np.where(N < 0, 1.0, (1 - g) ** (N / 2))
        stump = DecisionStumpClassifier().fit(X, y, sample_weight=M)
        votes = y * stump.predict(X)
        yield M / M.sum(), M.sum() / weight.sum(), stump
        least = min(least, M @ votes / M.sum() / 2)
        g = least if gamma is None else gamma
        N = N + votes - g / (2 + g)


@pytest.mark.parametrize("gamma", [None, 0.05, 0.3])
def test_equals_the_algorithm_as_printed(gamma):
    X, y = noisy()
    weight = np.random.default_rng(1).uniform(0.2, 2.0, len(y))
    model = SmoothBoostClassifier(
        n_estimators=40, edge="adaptive" if gamma is None else gamma, smoothness=0.02
    ).fit(X, y, sample_weight=weight)
    smoothest = 0.0
    for t, (D, density, stump) in enumerate(by_hand(X, y, weight, gamma, 40)):
        ours = model.estimators_[t]
        assert (ours.feature_, ours.threshold_) == (stump.feature_, stump.threshold_)
        assert model.edges_[t] == pytest.approx(0.5 - D @ (stump.predict(X) != y), abs=1e-12)
        assert model.densities_[t] == pytest.approx(density, rel=1e-10)
        smoothest = max(smoothest, (D / (weight / weight.sum())).max())
        assert smoothest <= 1 / model.smoothness
    assert model.largest_weight_ == pytest.approx(smoothest, rel=1e-9)
    votes = np.mean([stump.predict(X) for stump in model.estimators_], axis=0)
    np.testing.assert_allclose(model.decision_function(X), votes, atol=1e-12)


@pytest.mark.parametrize(("kappa", "seed"), [(0.3, 0), (0.1, 1), (0.02, 2)])
def test_theorem_of_servedio(kappa, seed):
    """All edges >= gamma: error < kappa within 2 / (kappa gamma² sqrt(1 - gamma)) rounds."""
    X, y = interval(seed=seed)
    weight = np.random.default_rng(seed).uniform(0.5, 1.5, len(y))
    for gamma in (1 / 6, 0.1, "adaptive"):
        model = SmoothBoostClassifier(n_estimators=100_000, edge=gamma, smoothness=kappa)
        model.fit(X, y, sample_weight=weight)
        assert model.edges_.min() >= 1 / 6 - 1e-12
        assert model.stop_reason_ == "density"
        assumed = min(0.5, *model.edges_) if gamma == "adaptive" else gamma
        assert model.n_estimators_ < smooth_boosting_n_rounds(kappa, min(assumed, 1 / 6))
        assert model.largest_weight_ <= 1 / kappa
        # The share of margins of at most theta is below kappa, not only that of errors.
        theta = assumed / (2 + assumed) if gamma != "adaptive" else 0.0
        small = y * model.decision_function(X) <= theta + 1e-12
        assert weight[small].sum() / weight.sum() < kappa


@pytest.mark.parametrize("gamma", [0.02, 0.2, 0.5])
def test_lemma_behind_the_number_of_rounds(gamma):
    """Phi(N + d) - Phi(N) >= M(N) (d - gamma |d| / 2) where |d| <= 1 + theta."""
    c, theta = -np.log1p(-gamma) / 2, gamma / (2 + gamma)
    N, d = np.meshgrid(np.linspace(-3, 40, 1300), np.array([1 - theta, -1 - theta]))
    M = np.where(N < 0, 1.0, (1 - gamma) ** (N / 2))

    def phi(z):
        return np.where(z < 0, z, -np.expm1(-c * np.maximum(z, 0)) / c)

    assert (phi(N + d) - phi(N) >= M * (d - gamma * np.abs(d) / 2) - 1e-12).all()
    # Each round then gains at least gamma for each unit of the measure.
    assert 2 * gamma - theta - gamma / 2 * (1 + theta) == pytest.approx(gamma)
    assert 1 / (c * 0.1 * gamma) < smooth_boosting_n_rounds(0.1, gamma)


def test_noisy_rows_never_have_large_weights():
    """With a tenth of the labels wrong AdaBoost gives single rows 50 times the mean weight."""
    X, y = noisy(seed=3)
    model = SmoothBoostClassifier(n_estimators=200, smoothness=0.2).fit(X, y)
    assert model.largest_weight_ <= 5
    assert min(model.densities_) >= 0.2


@pytest.mark.parametrize("name", ["twonorm", "digits"])
def test_beats_adaboost_with_a_fifth_of_wrong_labels(name):
    """Paired over seeds, by more than 2 standard errors; 30 seeds: benchmarks/noisy_labels.py."""
    errors = []
    for seed in range(6):
        if name == "twonorm":
            X, y = make_twonorm(2300, random_state=seed)
        else:
            X, y = load_digits(return_X_y=True)
            rows = np.random.default_rng(seed).permutation(len(y))
            X, y = X[rows], y[rows] % 2
        X_new, y_new, X, y = X[300:], y[300:], X[:300], y[:300]
        y, _ = add_label_noise(y, 0.2, random_state=seed)
        models = [
            SmoothBoostClassifier(n_estimators=150),
            AdaBoostClassifier(n_estimators=150),
            AdaBoostClassifier(n_estimators=150, variant="real"),
        ]
        errors.append([1 - model.fit(X, y).score(X_new, y_new) for model in models])
    ours, *theirs = np.transpose(errors)
    for peer in theirs:
        gap = peer - ours
        assert gap.mean() > 2 * gap.std(ddof=1) / np.sqrt(len(gap))


def test_many_rows_have_the_same_model(monkeypatch):
    X, y = noisy(n=9000)
    model = SmoothBoostClassifier(n_estimators=10).fit(X, y)
    monkeypatch.setattr(binary_rounds, "FEW_ROWS", 10_000)
    without_side_search(monkeypatch)
    plain = clone(model).fit(X, y)
    assert [s.threshold_ for s in plain.estimators_] == [s.threshold_ for s in model.estimators_]
    np.testing.assert_allclose(plain.edges_, model.edges_, rtol=1e-9)


# --- what the three classes share ----------------------------------------------------------------


def test_stages():
    X, y = noisy()
    model = SmoothBoostClassifier(n_estimators=12).fit(X, y)
    stages = list(model.staged_decision_function(X))
    assert len(stages) == 12
    np.testing.assert_array_equal(stages[-1], model.decision_function(X))
    np.testing.assert_array_equal(list(model.staged_predict(X))[-1], model.predict(X))
    short = clone(model).set_params(n_estimators=5).fit(X, y)
    np.testing.assert_array_equal(stages[4], short.decision_function(X))
    assert list(model.staged_score(X, y))[4] == short.score(X, y)


def test_many_classes_are_told_from_the_rest():
    X, y = load_iris(return_X_y=True)
    names = np.array(["a", "b", "c"])[y]
    model = SmoothBoostClassifier(n_estimators=30, n_jobs=2).fit(X, names)
    assert model.score(X, names) > 0.93
    for k in range(3):
        one = SmoothBoostClassifier(n_estimators=30).fit(X, y == k)
        np.testing.assert_allclose(model.decision_function(X)[:, k], one.decision_function(X))
        np.testing.assert_allclose(model.edges_[k], one.edges_)
        assert model.stop_reason_[k] == one.stop_reason_
    stages = list(model.staged_decision_function(X))
    assert len(stages) == max(model.n_estimators_)
    np.testing.assert_array_equal(stages[-1], model.decision_function(X))


def test_early_stopping_keeps_the_best_round():
    X, y = noisy(n=500, flips=0.3)
    model = SmoothBoostClassifier(n_estimators=500, n_iter_no_change=15, validation_fraction=0.3)
    model.fit(X, y)
    assert model.stop_reason_ == "early stopping"
    errors = model.validation_scores_
    assert model.n_estimators_ == len(model.estimators_) == np.argmin(errors) + 1
    assert len(errors) == model.n_estimators_ + 15
    assert np.unique(np.round(errors * 150, 9) % 1).size == 1  # 150 rows


LEARNERS = [
    DecisionTreeClassifier(max_depth=2),
    BinnedTreeClassifier(max_depth=2),
    DecisionStumpClassifier(max_bins=32),
    LogisticRegression(),
    GaussianNB(),
]


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda one: type(one).__name__)
def test_any_classifier_is_a_weak_learner(learner):
    X, y = noisy()
    model = SmoothBoostClassifier(learner, n_estimators=10).fit(X, y)
    assert model.score(X, y) > 0.65
    again = clone(model).fit(X, y)
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


def test_learners_that_cannot_be_boosted():
    X, y = noisy()
    with pytest.raises(ValueError, match="classifier"):
        SmoothBoostClassifier(Ridge()).fit(X, y)
    X, y = make_classification(60, weights=[0.5], flip_y=0, random_state=0)
    with pytest.raises(ValueError, match="guessing"):
        SmoothBoostClassifier(DummyClassifier()).fit(X, y)


def test_nothing_to_learn():
    constant = SmoothBoostClassifier().fit(np.zeros((4, 1)), [0, 1, 0, 1])
    assert constant.n_estimators_ == 1
    assert constant.stop_reason_ == "no edge"
    one = SmoothBoostClassifier().fit([[0.0], [1.0]], ["a", "a"])
    assert one.predict([[5.0]]) == ["a"]
    assert one.stop_reason_ == "one class"


def test_probabilities_are_refused_and_can_be_calibrated():
    X, y = noisy(n=600)
    model = SmoothBoostClassifier(n_estimators=20).fit(X, y)
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError, match="predict_proba") as refused:
        model.predict_proba(X)
    assert "CalibratedClassifierCV" in str(refused.value.__cause__)
    X_new, y_new = noisy(n=4000, seed=1)
    proba = CalibratedClassifierCV(model, cv=3).fit(X, y).predict_proba(X_new)[:, 1]
    for low, high in [(0.0, 0.3), (0.3, 0.7), (0.7, 1.0)]:
        inside = (proba >= low) & (proba < high)
        assert np.mean(y_new[inside] == 1) == pytest.approx(proba[inside].mean(), abs=0.08)


def test_importances_are_of_the_features_that_matter():
    X, y = noisy(n=600)
    model = SmoothBoostClassifier(n_estimators=40).fit(X, y)
    assert model.feature_importances_[:2].sum() > 0.7
    assert model.feature_importances_.sum() == pytest.approx(1)
    with pytest.raises(AttributeError, match="GaussianNB"):
        _ = SmoothBoostClassifier(GaussianNB(), n_estimators=2).fit(X, y).feature_importances_


def least_errors(y, weight):
    """Of the intervals and of the stumps, of both signs, for rows in order and weights of sum 1."""
    agreement = np.append(0.0, np.cumsum(weight * y))  # of the labels +1 on the rows before
    inside = np.triu(agreement[None, :] - agreement[:, None])  # of +1 on a block of rows
    intervals = np.abs(2 * inside - agreement[-1]).max()
    stumps = np.abs(2 * agreement - agreement[-1]).max()
    return (1 - intervals) / 2, (1 - stumps) / 2


def test_stumps_are_weak_agnostic_learners_of_intervals():
    """At most 1/3 above the least error of the intervals, for any labels and any weights."""
    rng = np.random.default_rng(0)
    gaps = []
    for _ in range(300):
        n = rng.integers(3, 30)
        weight = rng.dirichlet(np.full(n, rng.choice([0.1, 1.0])))
        by_interval, by_stump = least_errors(rng.choice([-1.0, 1.0], n), weight)
        gaps.append(by_stump - by_interval)
    assert min(gaps) >= -1e-12
    assert max(gaps) <= 1 / 3 + 1e-12
    by_interval, by_stump = least_errors(np.array([-1.0, 1.0, -1.0]), np.full(3, 1 / 3))
    assert (by_interval, by_stump) == pytest.approx((0, 1 / 3))


@pytest.mark.parametrize("n_wrong", [2, 6, 10])
def test_training_error_with_a_weak_agnostic_learner(n_wrong):
    """An interval with wrong labels: edges of 1/6 - opt/density, and an error below kappa."""
    rng = np.random.default_rng(n_wrong)
    X = np.arange(300.0)[:, None]
    y = np.where((X[:, 0] > 90) & (X[:, 0] < 190), 1, -1)
    y[rng.choice(300, n_wrong, replace=False)] *= -1
    optimum, _ = least_errors(y.astype(float), np.full(300, 1 / 300))
    assert 0 < optimum <= n_wrong / 300 + 1e-12
    edge = 0.08
    kappa = smooth_boosting_error_bound(optimum, slack=1 / 3, edge=edge)
    most = int(smooth_boosting_n_rounds(kappa, edge)) + 1
    model = SmoothBoostClassifier(n_estimators=most, edge=edge, smoothness=kappa).fit(X, y)
    assert model.stop_reason_ == "density"
    assert (model.edges_ >= 1 / 6 - optimum / model.densities_ - 1e-12).all()
    assert model.edges_.min() >= edge
    assert np.mean(model.predict(X) != y) < kappa


def test_a_slack_and_an_edge_of_a_half_are_refused():
    with pytest.raises(ValueError, match="slack"):
        smooth_boosting_error_bound(0.1, slack=0.4, edge=0.1)
    assert smooth_boosting_error_bound(0.3, slack=0.2, edge=0.1) == 1
