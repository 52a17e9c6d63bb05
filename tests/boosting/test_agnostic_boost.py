"""Agnostic boosting against the best stump by brute force, and against the algorithm as printed."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.tree import DecisionTreeClassifier

from sklearn_ensemble_theory import AgnosticBoostClassifier, DecisionStumpClassifier
from sklearn_ensemble_theory.bounds import agnostic_boosting_error_bound
from sklearn_ensemble_theory.trees import BinnedTreeClassifier

from ..surroundings import register


def phi(z):
    return np.where(z <= 0, 1 - z, np.exp(-np.maximum(z, 0)))


def adversarial(kind, seed, n=40):
    """Labels that a stump predicts badly: next to its threshold, in blocks, or at random."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 2)).round(2)
    y = np.where(X[:, 0] > 0, 1, -1)
    if kind == "near":
        y[np.argsort(np.abs(X[:, 0]))[: n // 4]] *= -1
    elif kind == "block":
        y[(X[:, 1] > 0.4) & (X[:, 0] > 0)] *= -1
    else:
        y = rng.choice([-1, 1], n)
    return X, y


def least_error_of_stumps(X, y, weight):
    """Every feature, every threshold, every pair of sides."""
    best = min(weight[y > 0].sum(), weight[y < 0].sum())
    for column in X.T:
        for threshold in np.unique(column):
            error = weight[np.where(column <= threshold, -1, 1) != y].sum()
            best = min(best, error, 1 - error)
    return best


@pytest.mark.parametrize("kind", ["near", "block", "random"])
@pytest.mark.parametrize("learning_rate", [1.0, 0.5])
def test_error_is_at_most_that_of_the_best_stump_plus_the_gain(kind, learning_rate):
    for seed in range(4):
        X, y = adversarial(kind, seed)
        weight = np.random.default_rng(seed).uniform(0.5, 1.5, len(y))
        weight /= weight.sum()
        opt = least_error_of_stumps(X, y, weight)
        model = AgnosticBoostClassifier(n_estimators=300, tol=0, learning_rate=learning_rate)
        model.fit(X, y, sample_weight=weight)
        stages = [np.full(len(y), -1), *model.staged_predict(X)]
        errors = np.array([weight[stage != y].sum() for stage in stages])
        assert (errors[:-1] <= opt + model.gains_ + 1e-12).all()
        assert opt - 1e-12 <= errors.max()
        for n_rounds in (1, 10, len(model.gains_)):
            bound = agnostic_boosting_error_bound(n_rounds, opt, learning_rate=learning_rate)
            assert errors[:n_rounds].min() <= bound
        # The potential falls by at least nu (1 - nu/2) gain², the step of the proof.
        before = np.concatenate([[1.0], model.train_scores_[:-1]])
        least = learning_rate * (1 - learning_rate / 2) * model.gains_**2
        assert (before - model.train_scores_ >= least - 1e-12).all()


def test_the_last_round_when_nothing_is_gained():
    X, y = adversarial("near", 0)
    model = AgnosticBoostClassifier(n_estimators=5000, tol=0.02).fit(X, y)
    assert model.stop_reason_ == "no gain"
    opt = least_error_of_stumps(X, y, np.full(len(y), 1 / len(y)))
    assert np.mean(model.predict(X) != y) <= opt + 0.02


def test_equals_the_algorithm_as_printed():
    """Each row twice, with both labels; the stump, or -sign(H), of the larger correlation."""
    X, y = adversarial("random", 5, n=120)
    model = AgnosticBoostClassifier(n_estimators=60, tol=0).fit(X, y)
    H, twice = np.zeros(len(y)), np.concatenate([X, X])
    for t, score in enumerate(model.staged_decision_function(X)):
        w = np.where(y * H <= 0, 1.0, np.exp(-np.maximum(y * H, 0)))
        stump = DecisionStumpClassifier().fit(
            twice, np.concatenate([y, -y]), np.concatenate([1 + w, 1 - w])
        )
        h, opposite = stump.predict(X), np.where(H > 0, -1.0, 1.0)
        correlations = np.mean(w * y * h), np.mean(w * y * opposite)
        H += max(correlations) * (h if correlations[0] >= correlations[1] else opposite)
        assert model.gains_[t] == pytest.approx(max(correlations), abs=1e-12)
        np.testing.assert_allclose(score, H, atol=1e-9)
        assert model.train_scores_[t] == pytest.approx(phi(y * H).mean(), rel=1e-12)


def test_relabelling_by_weights_is_the_mean_of_drawing_labels():
    X, y = adversarial("random", 1, n=60)
    rng = np.random.default_rng(0)
    weight = rng.uniform(0.5, 1.5, 60)
    weight /= weight.sum()
    scores = rng.normal(0.5, 1.0, 60)  # margins
    M = np.where(scores <= 0, 1.0, np.exp(-np.maximum(scores, 0)))
    h = DecisionStumpClassifier().fit(X, y).predict(X)
    kept = rng.random((40_000, 60)) < (1 + M) / 2
    drawn = np.where(kept, y, -y) @ (weight * h)
    exact = np.sum(weight * M * y * h)
    assert abs(drawn.mean() - exact) < 3 * drawn.std() / 200
    assert drawn.std() / 200 < 0.02 * abs(exact)  # a wrong factor of 5 % would be seen
    # The same with both labels of each row.
    both = np.concatenate([(1 + M) / 2, (1 - M) / 2]) * np.tile(weight, 2)
    assert both.sum() == pytest.approx(1)
    assert both @ (np.concatenate([y, -y]) * np.tile(h, 2)) == pytest.approx(exact)


@pytest.mark.parametrize("learner", [DecisionTreeClassifier, BinnedTreeClassifier])
def test_trees_are_fitted_to_both_labels(learner):
    X, y = adversarial("block", 2, n=200)
    tree = learner(max_depth=2, random_state=0)
    model = AgnosticBoostClassifier(tree, n_estimators=20, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.95
    assert set(model.moves_[:5]) == {"all"}
    H = np.zeros(200)
    for member, score in zip(model.estimators_[:5], model.staged_decision_function(X)):
        M = np.where(y * H <= 0, 1.0, np.exp(-np.maximum(y * H, 0)))
        direct = clone(member).fit(
            np.concatenate([X, X]), np.concatenate([y, -y]), np.concatenate([1 + M, 1 - M])
        )
        np.testing.assert_array_equal(member.predict(X), direct.predict(X))
        H = score


class Misled(ClassifierMixin, BaseEstimator):
    """A weak learner with the least useful stump of a correlation of at least `least`, if any."""

    def __init__(self, least=0.005):
        self.least = least

    def fit(self, X, y, sample_weight=None):
        return self

    def predict(self, X):
        return np.zeros(len(X))


def rounds_that_mislead(learner, X, weight, task):
    return MisledRounds(X, task.signs, learner.least)


register(Misled, prepare_rounds=rounds_that_mislead)


class MisledRounds:
    is_exact, has_scale = True, True  # so that it is used as it is

    def __init__(self, X, y, least):
        self.y, self.least = y, least
        self.stumps = []
        for j in range(X.shape[1]):
            for cut in np.quantile(X[:, j], np.linspace(0.05, 0.95, 12)):
                for sign in (-1, 1):
                    half = np.where(X[:, j] <= cut, -sign, sign)
                    self.stumps.append((DecisionStumpClassifier().fit(X, half), half))

    def best(self, target, weight, scores=None):
        gains = np.array([weight @ (self.y * half) for _, half in self.stumps])
        able = np.flatnonzero(gains >= self.least)
        if not len(able):
            return None
        stump, half = self.stumps[able[gains[able].argmin()]]
        return stump, self.y * half.astype(float)


def test_members_and_shrinking_replay_the_margins():
    """Rounds of both kinds: the potential of the predictions is that of the fit."""
    X, y = adversarial("near", 2, n=100)
    model = AgnosticBoostClassifier(Misled(), n_estimators=400, tol=0).fit(X, y)
    stages = list(model.staged_decision_function(X))
    risks = [phi(y * score).mean() for score in stages]
    np.testing.assert_allclose(risks, model.train_scores_, rtol=1e-10)
    assert len(model.estimators_) == np.sum(model.moves_ == "all")
    assert np.sum(model.moves_ == "shrink") > 10
    assert np.isnan(model.edges_[model.moves_ == "shrink"]).all()
    # A score that is large and wrong for too many rows moves back, by the correlation of -sign(H).
    for before, after, kind, step in zip(stages, stages[1:], model.moves_[1:], model.steps_[1:]):
        if kind == "shrink":
            opposite = np.where(before > 0, -1, 1)
            w = np.where(y * before <= 0, 1.0, np.exp(-np.maximum(y * before, 0)))
            np.testing.assert_allclose(after, before + step * opposite)
            assert step == pytest.approx(np.mean(w * y * opposite))


def test_minus_the_sign_of_no_score_is_the_second_class():
    X, y = np.zeros((5, 1)), np.array([-1, -1, 1, 1, 1])
    model = AgnosticBoostClassifier(Misled(least=2), n_estimators=1).fit(X, y)
    assert model.moves_.tolist() == ["shrink"]
    np.testing.assert_allclose(model.decision_function(X), 0.2)
