"""Massart boosting: the noise that the weak learner sees, the bound, confident rows that move."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import StratifiedKFold

from sklearn_ensemble_theory import (
    AdaBoostClassifier,
    DecisionStumpClassifier,
    MassartBoostClassifier,
)
from sklearn_ensemble_theory.boosting import CVChoice
from sklearn_ensemble_theory.bounds import (
    massart_boosting_error_bound,
    massart_boosting_n_rounds,
    massart_confidence_threshold,
)

from ..surroundings import register


def phi(z):
    return np.where(z <= 0, 1 - z, np.exp(-np.maximum(z, 0)))


def measure(z):
    return np.where(z <= 0, 1.0, np.exp(-np.maximum(z, 0)))


def population(eta, n=80):
    """x, f(x) and the noise of an interval, each x with both labels and their probabilities."""
    x = np.linspace(0, 1, n)
    f = np.where((x > 0.3) & (x < 0.65), 1, -1)
    noise = np.where((x > 0.5) | (x < 0.1), eta, eta / 4)
    X, y = np.concatenate([x, x])[:, None], np.concatenate([f, -f])
    return X, y, np.concatenate([1 - noise, noise]), np.tile(f, 2)


def noise_under_measure(G, y, f, weight, s):
    """The share of wrong labels among the rows that the weak learner sees."""
    mass = weight * measure(y * G) * (np.abs(G) < s)
    return mass[y != f].sum() / mass.sum()


@pytest.mark.parametrize(("eta", "alpha"), [(0.1, 0.02), (0.3, 0.05), (0.4, 0.05)])
def test_the_weak_learner_sees_less_noise_than_one_half(eta, alpha):
    """At every round, exactly in the population, for every x that it sees, and no lower bound."""
    X, y, weight, f = population(eta)
    model = MassartBoostClassifier(noise_rate=eta, margin=alpha, n_estimators=150, smoothness=0)
    model.fit(X, y, sample_weight=weight)
    s, n = model.confidence_threshold_, len(y) // 2
    largest, seen = 0.0, 0
    for G in [np.zeros(len(y)), *model.staged_decision_function(X)]:
        if (np.abs(G) < s).any():
            assert noise_under_measure(G, y, f, weight, s) < 0.5 - alpha
            mass = (weight * measure(y * G)).reshape(2, n)
            share = (mass[1] / mass.sum(axis=0))[np.abs(G[:n]) < s]
            largest, seen = max(largest, share.max()), seen + 1
    assert seen > 5
    assert largest < 0.5 - alpha + 1e-12
    assert eta / (eta + (1 - eta) * np.exp(-s)) == pytest.approx(0.5 - alpha)  # where G -> s


def test_the_noise_of_new_rows_with_known_flips():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (6000, 3))
    f = np.where(np.abs(X[:, 0]) < 0.5, 1, -1)
    y = np.where(rng.random(6000) < np.where(X[:, 1] > 0, 0.3, 0.1), -f, f)
    model = MassartBoostClassifier(noise_rate=0.3, margin=0.05, n_estimators=60)
    model.fit(X[:3000], y[:3000])
    X, y, f = X[3000:], y[3000:], f[3000:]
    s = model.confidence_threshold_
    for G in model.staged_decision_function(X):
        assert noise_under_measure(G, y, f, np.ones(3000), s) < 0.45


@pytest.mark.parametrize(("eta", "kappa"), [(0.05, 0.1), (0.2, 0.05), (0.35, 0.02)])
def test_error_and_number_of_rounds(eta, kappa):
    X, y, weight, _ = population(eta)
    model = MassartBoostClassifier(noise_rate=eta, smoothness=kappa, tol=1e-3, n_estimators=20_000)
    model.fit(X, y, sample_weight=weight)
    assert model.stop_reason_ == "density"
    error = weight[model.predict(X) != y].sum() / weight.sum()
    assert error <= massart_boosting_error_bound(eta, model.margin, kappa, 1e-3)
    edge = np.nanmin(model.edges_)
    most = massart_boosting_n_rounds(eta, model.margin, edge, kappa, 1e-3)
    assert model.n_estimators_ <= most
    # The steps of the proof: b = min(gain, s/8), and the potential falls by b gain - b²/2.
    np.testing.assert_allclose(
        model.steps_, np.minimum(model.gains_, model.confidence_threshold_ / 8), rtol=1e-12
    )
    fall = -np.diff([1.0, *model.train_scores_])
    assert (fall >= model.steps_ * model.gains_ - model.steps_**2 / 2 - 1e-12).all()


class Adversary(ClassifierMixin, BaseEstimator):
    """A weak learner with an edge that pushes a fifth of the rows to the wrong side, if it can.

    Its outputs are margins: -1 on the first group, and on the second what an edge of 0.01 needs.
    Where this is impossible, and the first group has weight, it is right everywhere.
    """

    is_exact, has_scale = False, True

    def fit(self, X, y, sample_weight=None):
        return self

    def predict(self, X):
        return np.ones(len(X))

    def best(self, target, weight, scores=None):
        first, second = weight
        needed = (first + 0.02) / second if second > 0 else np.inf
        possible = first == 0 or needed <= 1
        psi = np.array([-1.0, needed if first > 0 else 1.0]) if possible else np.ones(2)
        return psi, psi  # its outputs in the place of the member


register(Adversary, prepare_rounds=lambda learner, X, weight, task: learner)


def test_confident_rows_must_be_able_to_move_back():
    """With every edge >= 0.01 the algorithm that only leaves out confident rows ends at 0.2."""
    eta, alpha, kappa, weight = 0.1, 0.01, 0.01, np.array([0.2, 0.8])
    s = massart_confidence_threshold(eta, alpha)
    bound = massart_boosting_error_bound(eta, alpha, kappa, 1e-3)
    assert bound < 0.12

    u = np.zeros(2)
    for _ in range(5000):
        mass = weight * measure(u) * (np.abs(u) < s)
        if mass.sum() < kappa:
            break
        psi = Adversary().best(None, mass / mass.sum())[1]
        assert mass @ psi / mass.sum() >= 0.02 - 1e-12
        u += 0.01 * psi * (np.abs(u) < s)
    assert mass.sum() < kappa
    assert weight[u <= 0].sum() == 0.2  # the first group, confident and wrong for ever

    model = MassartBoostClassifier(
        Adversary(), n_estimators=5000, noise_rate=eta, margin=alpha, smoothness=kappa, tol=1e-3
    )
    model.fit(np.eye(2), [0, 1], sample_weight=weight)  # the adversary returns margins
    assert "shrink" in model.moves_
    assert model.stop_reason_ == "density"
    u, outputs = np.zeros(2), iter(model.estimators_)
    for kind, step in zip(model.moves_, model.steps_):
        if kind == "shrink":
            u -= step * np.where(u > 0, 1, -1) * (np.abs(u) >= s)
        else:
            u += step * next(outputs) * ((np.abs(u) < s) | (kind == "all"))
    assert weight[u <= 0].sum() <= bound


def by_hand(X, y, model, n_rounds):
    """The algorithm in NumPy: scores and moves of each round."""
    s, G = model.confidence_threshold_, np.zeros(len(y))
    for _ in range(n_rounds):
        M, seen = measure(y * G), np.abs(G) < s
        # Thresholds may also lie between rows that are not seen.
        stump = DecisionStumpClassifier().fit(X, y, sample_weight=np.where(seen, M, 1e-200))
        h = stump.predict(X)
        gains = {
            "unconfident": np.mean(M * seen * y * h),
            "all": np.mean(M * y * h),
            "shrink": -np.mean(M * ~seen * y * np.where(G > 0, 1, -1)),
        }
        kind = "all" if gains["all"] > model.tol or seen.all() else "unconfident"
        kind = "shrink" if gains["shrink"] > gains["unconfident"] else kind
        move = {"unconfident": h * seen, "all": h, "shrink": -np.where(G > 0, 1, -1) * ~seen}
        G = G + min(gains[kind], s / 8) * move[kind]
        yield kind, G


@pytest.mark.parametrize("eta", [0.3, 0.4])
def test_equals_the_algorithm_by_hand(eta):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((150, 3))
    y = np.where(X[:, 0] + X[:, 1] > 0, 1, -1) * np.where(rng.random(150) < 0.3, -1, 1)
    model = MassartBoostClassifier(noise_rate=eta, n_estimators=80, smoothness=0).fit(X, y)
    steps = by_hand(X, y, model, 80)
    for (kind, G), score, ours in zip(steps, model.staged_decision_function(X), model.moves_):
        assert ours == kind
        np.testing.assert_allclose(score, G, atol=1e-9)
    assert set(model.moves_) >= {"all", "unconfident"}
    assert model.train_scores_[-1] == pytest.approx(phi(y * G).mean(), rel=1e-9)


def halfspace(rng, n):
    X = rng.standard_normal((n, 2))
    return X, np.where(X.sum(axis=1) > 0, 1, -1), np.where(X[:, 0] > X[:, 1], 0.3, 0.0)


def interval(rng, n):
    X = rng.uniform(-1, 1, (n, 5))
    return X, np.where(np.abs(X[:, 0]) < 0.5, 1, -1), np.where(X[:, 0] > 0, 0.3, 0.0)


@pytest.mark.parametrize("problem", [halfspace, interval])
def test_massart_noise(problem):
    """The excess over the least possible error; 30 seeds are in benchmarks/noisy_labels.py."""
    excess = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X, f, eta = problem(rng, 2000)
        y = np.where(rng.random(2000) < eta, -f, f)
        X_new, f_new, eta_new = problem(rng, 5000)
        ours = MassartBoostClassifier(noise_rate=0.3, n_estimators=200).fit(X, y)
        theirs = AdaBoostClassifier(n_estimators=200).fit(X, y)
        excess.append(
            [np.mean((1 - 2 * eta_new) * (m.predict(X_new) != f_new)) for m in (ours, theirs)]
        )
    ours, theirs = np.mean(excess, axis=0)
    assert ours < 0.03
    assert theirs > 1.5 * ours
    assert (np.diff(excess) > 0).all()


def test_noise_rate_by_cross_validation():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((240, 2))
    y = (X[:, 0] > 0) ^ (rng.random(240) < 0.25)
    weight = rng.uniform(0.5, 1.5, 240)
    folds = StratifiedKFold(3)
    model = MassartBoostClassifier(noise_rate=CVChoice(cv=folds), n_estimators=25)
    model.fit(X, y, sample_weight=weight)
    results = model.cv_results_
    found = dict(zip(results["noise_rate"].tolist(), results["mean_score"]))
    assert list(found) == [0.02, 0.05, 0.1, 0.2, 0.3, 0.4]
    for rate in (0.05, 0.3):
        one = MassartBoostClassifier(noise_rate=rate, n_estimators=25)
        potentials = []
        for train, test in folds.split(X, y):
            one.fit(X[train], y[train], sample_weight=weight[train])
            margins = np.where(y[test], 1, -1) * one.decision_function(X[test])
            potentials.append(np.average(phi(margins), weights=weight[test]))
        assert found[rate] == pytest.approx(np.mean(potentials), rel=1e-9)
    assert model.noise_rate_ == min(found, key=found.get)
    given = MassartBoostClassifier(noise_rate=model.noise_rate_, n_estimators=25)
    given.fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(given.decision_function(X), model.decision_function(X))
    assert not hasattr(given, "cv_results_")
    few = MassartBoostClassifier(noise_rate=[0.3, 0.1], n_estimators=5).fit(X, y)
    assert few.noise_rate_ in few.cv_results_["noise_rate"].tolist() == [0.1, 0.3]
    assert model.noise_rate_ >= 0.1


def test_parameters_that_do_not_fit():
    X, y = np.arange(6.0)[:, None], [0, 0, 0, 1, 1, 1]
    with pytest.raises(ValueError, match=r"margin=0\.1 must be below"):
        MassartBoostClassifier(noise_rate=0.45, margin=0.1).fit(X, y)
    with pytest.raises(ValueError, match=r"margin=0\.49 leaves no noise_rate"):
        MassartBoostClassifier(noise_rate="cv", margin=0.49).fit(X, y)
