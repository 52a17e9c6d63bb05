"""Additive logistic regression against loops over the rows, and its interface."""

import warnings

import numpy as np
import pytest
from scipy.special import expit, softmax
from sklearn.base import clone
from sklearn.metrics import log_loss
from sklearn.model_selection import PredefinedSplit, StratifiedKFold

from sklearn_ensemble_theory import LogitBoostClassifier
from sklearn_ensemble_theory.boosting import CVRounds

from .additive_data import cv_path
from .engine import refresh_at
from .l2_boosting_data import PLAIN

EDGES = [np.linspace(-1, 1, 5)] * 3


def logistic_data(n=250, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    score = 1.5 * np.sin(2 * X[:, 0]) + X[:, 1]
    if n_classes == 2:
        return X, (rng.random(n) < expit(score)).astype(int)
    scores = np.column_stack([score, -score, X[:, 2]])
    noise = rng.gumbel(size=(n, 3))
    return X, (scores + noise).argmax(axis=1)


def plain_logit_boost(X, y, rate, n_rounds, weight, n_classes=2, *, joint=True):
    """Gradients and second derivatives again in every round; the scores after it.

    With `joint` the constant is fitted before the step, otherwise each stump has two constants of
    its own, times the rate [Friedman, Hastie and Tibshirani 2000].
    """
    left = np.column_stack([X[:, j] <= e for j, edges in enumerate(EDGES) for e in edges])
    left = left.astype(float)
    targets = np.column_stack([y == k for k in range(n_classes)]).astype(float)
    share = np.average(targets, axis=0, weights=weight)
    log = np.log(share)
    scores = np.tile(log - log.mean(), (len(y), 1))
    factor = n_classes / (n_classes - 1)
    if n_classes == 2:
        targets, factor = targets[:, 1:], 1.0
        scores = np.tile(log[1:] - log[:1], (len(y), 1))
    for _ in range(n_rounds):
        p = softmax(scores, axis=1) if n_classes > 2 else expit(scores)
        change = np.zeros_like(scores)
        for k in range(scores.shape[1]):
            w = weight * np.maximum(factor * p[:, k] * (1 - p[:, k]), 1e-5)
            residual = weight * (targets[:, k] - p[:, k]) / w
            if joint:
                change[:, k] = np.average(residual, weights=w)
                residual = residual - change[0, k]
            mass = w @ left
            sums, total = (w * residual) @ left, w @ residual
            gains = sums**2 / mass + (total - sums) ** 2 / (w.sum() - mass)
            best = gains.argmax()
            a, b = sums[best] / mass[best], (total - sums[best]) / (w.sum() - mass[best])
            change[:, k] += rate * np.where(left[:, best] == 1, a, b)
        scores = scores + change
    return scores[:, 0] if n_classes == 2 else scores - scores.mean(axis=1, keepdims=True)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_rounds_are_those_of_the_loop_over_rows(n_classes, monkeypatch):
    refresh_at(monkeypatch, 1e-9)
    X, y = logistic_data(n_classes=n_classes)
    weight = np.random.default_rng(1).exponential(size=len(y))
    model = LogitBoostClassifier(150, learning_rate=0.01, max_bins=EDGES, **PLAIN)
    model.fit(X, y, sample_weight=weight)
    exact = plain_logit_boost(X, y, 0.01, 150, weight, n_classes)
    np.testing.assert_allclose(model.decision_function(X), exact, rtol=0, atol=1e-8)
    assert model.n_refreshes_ == 150
    if n_classes == 2:  # of more classes, each moves the constants of the others
        usual = plain_logit_boost(X, y, 0.01, 150, weight, joint=False)
        assert np.abs(exact - usual).max() < 1e-3


@pytest.mark.parametrize("n_classes", [2, 3])
def test_fewer_refreshes_change_little(n_classes, monkeypatch):
    X, y = logistic_data(n_classes=n_classes)
    exact = plain_logit_boost(X, y, 0.01, 400, np.ones(len(y)), n_classes)
    off, passes = [], []
    for tol in (1.0, 0.5, 0.05, 0.0125):
        refresh_at(monkeypatch, tol)
        model = LogitBoostClassifier(400, max_bins=EDGES, **PLAIN).fit(X, y)
        off.append(np.abs(model.decision_function(X) - exact).max())
        passes.append(model.n_refreshes_)
    assert off[1] < 0.15 * np.abs(exact).max()  # the default
    assert off[3] < 0.015
    assert off[3] < off[2] < off[0]
    assert passes[1] < 40
    assert passes == sorted(passes)


def test_the_limit_is_the_maximum_of_the_likelihood(monkeypatch):
    """The score equations of the maximum: in each bin probabilities add up to frequencies."""
    X, y = logistic_data(n_classes=3)
    for rate, tol in [(0.2, 0.02), (1.0, 0.2)]:
        refresh_at(monkeypatch, tol)
        model = LogitBoostClassifier(3000, learning_rate=rate, max_bins=EDGES, **PLAIN)
        model.fit(X, y)
        p = model.predict_proba(X)
        for j in range(3):
            for edge in EDGES[j]:
                left = X[:, j] <= edge
                for k in range(3):
                    assert p[left, k].sum() == pytest.approx((y[left] == k).sum(), abs=0.03)
        assert model.train_scores_[-1] == pytest.approx(log_loss(y, p), abs=1e-5)


def test_full_steps_on_two_groups_end_at_their_frequencies():
    X = np.repeat([[0.0], [1.0]], 50, axis=0)
    y = np.arange(100) % 10 < np.where(X[:, 0] > 0, 9, 3)
    model = LogitBoostClassifier(100, learning_rate=1.0, **PLAIN).fit(X, y)
    np.testing.assert_allclose(model.predict_proba([[0], [1]])[:, 1], [0.3, 0.9], atol=1e-10)
    assert model.n_estimators_ < 100


def test_a_score_that_needs_no_rounds(monkeypatch):
    """The frequency of the first class does not depend on x: its rounds end at once."""
    X = np.repeat([[0.0], [1.0]], 30, axis=0)
    y = np.concatenate([np.tile([0, 1, 1], 10), np.tile([0, 2, 2], 10)])
    refresh_at(monkeypatch, 0.2)
    model = LogitBoostClassifier(20, learning_rate=0.5, **PLAIN).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X)[:, 0], 1 / 3, atol=0.01)
    assert model.stump_left_.shape == (model.n_estimators_, 3)
    np.testing.assert_array_equal(model.stump_left_[:, 0], 0)
    stages = list(model.staged_decision_function(X))
    np.testing.assert_allclose(stages[-1], model.decision_function(X), atol=1e-12)


def test_coefficients_of_the_true_log_odds():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (40_000, 2)).astype(float)
    effects = np.array([[-1.0, 0.5, 0.0, 0.5], [0.3, 0.3, -0.6, 0.0]])
    score = 0.4 + effects[0][X[:, 0].astype(int)] + effects[1][X[:, 1].astype(int)]
    y = rng.random(len(X)) < expit(score)
    model = LogitBoostClassifier(300, learning_rate=0.1, categorical_features=[1], **PLAIN).fit(
        X, y
    )
    assert model.intercept_ == pytest.approx(0.4, abs=0.05)
    for (_, values), effect in zip(model.shape_functions_, effects):
        np.testing.assert_allclose(values[:4], effect, atol=0.08)


@pytest.mark.parametrize("rate", [0.05, 1.0])
def test_separable_classes_have_finite_scores(rate):
    x = np.linspace(-1, 1, 300)[:, None]
    for y in ((x[:, 0] > 0).astype(int), np.digitize(x[:, 0], [-0.5, 0.5])):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = LogitBoostClassifier(400, learning_rate=rate, **PLAIN).fit(x, y)
            log = model.predict_log_proba(np.vstack([x, [[1e30]]]))
        assert np.isfinite(log).all()
        assert np.isfinite(model.decision_function(x)).all()
        assert (model.predict(x) == y).all()
        np.testing.assert_allclose(np.exp(log[:-1]), model.predict_proba(x), atol=1e-12)
        np.testing.assert_allclose(model.predict_proba(x).sum(axis=1), 1)
        assert (np.diff(model.train_scores_) <= 1e-6).all()
        assert model.train_scores_[-1] < 0.02


@pytest.mark.parametrize("n_classes", [2, 3])
def test_held_out_losses_are_those_of_the_refits(n_classes, monkeypatch):
    refresh_at(monkeypatch, 0.01)
    X, y = logistic_data(n_classes=n_classes)
    folds = np.arange(len(y)) % 3 - 1  # the first third is never held out
    model = LogitBoostClassifier(
        CVRounds(PredefinedSplit(folds), max_estimators=60),
        learning_rate=0.05,
        max_bins=EDGES,
        smoothing_rounds=0,
    ).fit(X, y)
    for fold in range(2):
        own = clone(model).set_params(n_estimators=60).fit(X[folds != fold], y[folds != fold])
        held = folds == fold
        losses = [log_loss(y[held], p) for p in own.staged_predict_proba(X[held])]
        # the rounds on folds have the weights of the model of all rows: other steps, the same aim
        np.testing.assert_allclose(cv_path(model)[1:, fold], losses, atol=0.01)
    assert model.n_estimators_ == cv_path(model).mean(axis=1).argmin()


def test_a_class_that_a_fold_lacks():
    X, y = logistic_data(n_classes=3)
    y = np.where(y == 2, 1, y)
    y[:4] = 2  # all in the first fold of consecutive rows
    cv = PredefinedSplit(np.repeat([0, 1, 2, 3, 4], 50))
    model = LogitBoostClassifier(CVRounds(cv, max_estimators=50), learning_rate=0.1).fit(X, y)
    assert np.isfinite(cv_path(model)).all()
    assert model.predict_proba(X).shape == (250, 3)
    later = LogitBoostClassifier(50, max_bins=EDGES, **PLAIN).partial_fit(
        X, y == 1, classes=[0, 1, 2]
    )
    assert (later.predict_proba(X)[:, 2] < 0.02).all()


def test_weights():
    X, y = logistic_data()
    weight = np.random.default_rng(2).integers(0, 4, len(y))
    for interactions in (0, 1):
        model = LogitBoostClassifier(
            100, learning_rate=0.1, max_bins=8, interactions=interactions, smoothing_rounds=0
        )
        weighted = clone(model).fit(X, y, sample_weight=weight)
        scores = weighted.decision_function(X)
        if not interactions:
            repeated = clone(model).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
            np.testing.assert_allclose(repeated.decision_function(X), scores, rtol=0, atol=1e-8)
        for scale in (1e-200, 0.3):
            scaled = clone(model).fit(X, y, sample_weight=scale * weight).decision_function(X)
            np.testing.assert_allclose(scaled, scores, rtol=0, atol=1e-8)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_partial_fit_is_fit_on_all_chunks(n_classes):
    X, y = logistic_data(n_classes=n_classes)
    weight = np.random.default_rng(3).integers(1, 9, len(y)) * np.where(
        np.arange(len(y)) < 90, 1, 6
    )
    model = LogitBoostClassifier(100, learning_rate=0.1, max_bins=EDGES, **PLAIN)
    for w in (None, weight, np.where(np.arange(len(y)) < 90, 1.0, 5.0)):
        whole = clone(model).fit(X, y, sample_weight=w)
        chunks = clone(model)
        for rows in (slice(0, 90), slice(90, 100), slice(100, None)):
            own = None if w is None else w[rows]
            chunks.partial_fit(
                X[rows], y[rows], np.arange(n_classes), sample_weight=own, refit=rows.stop is None
            )
        expected = whole.decision_function(X)
        np.testing.assert_allclose(chunks.decision_function(X), expected, rtol=0, atol=1e-10)
    with pytest.raises(ValueError, match="labels that are not in classes"):
        chunks.partial_fit(X[:9], np.full(9, 7))
    with pytest.raises(ValueError, match="differ from those of the first call"):
        chunks.partial_fit(X[:9], y[:9], classes=[0, 9])
    with pytest.raises(ValueError, match="classes must be given"):
        clone(model).partial_fit(X, y)


@pytest.mark.parametrize("labels", [["no", "yes"], [-1, 1], [False, True], [3.0, 2.0]])
def test_labels_of_any_type(labels):
    X, y = logistic_data()
    named = np.array(labels)[y]
    model = LogitBoostClassifier(30, learning_rate=0.2, **PLAIN).fit(X, named)
    np.testing.assert_array_equal(model.classes_, np.unique(named))
    assert model.classes_.dtype == named.dtype
    sign = 1 if labels[0] < labels[1] else -1
    scores = LogitBoostClassifier(30, learning_rate=0.2, **PLAIN).fit(X, y).decision_function(X)
    np.testing.assert_allclose(model.decision_function(X), sign * scores, atol=1e-8)
    np.testing.assert_array_equal(model.predict(X), np.array(labels)[(scores > 0).astype(int)])
    np.testing.assert_array_equal(list(model.staged_predict(X))[-1], model.predict(X))


def test_refusals():
    X, y = logistic_data()
    with pytest.raises(ValueError, match="at least two classes; y has one class"):
        LogitBoostClassifier().fit(X, np.ones(len(y)))
    with pytest.raises(ValueError, match="at least two classes"):
        LogitBoostClassifier().fit(X, y, sample_weight=y)
    with pytest.raises(ValueError, match=r"Unknown label type|continuous"):
        LogitBoostClassifier().fit(X, X[:, 0])
    for bad in ({"learning_rate": 0}, {"max_bins": 1}, {"interactions": -1}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            LogitBoostClassifier(**bad).fit(X, y)


def test_smoothing_rounds_help_smooth_log_odds():
    X, y = logistic_data(n=600, seed=5)
    new, truth = np.random.default_rng(9).standard_normal((2000, 3)), None
    truth = 1.5 * np.sin(2 * new[:, 0]) + new[:, 1]
    errors = {}
    for rounds in ("auto", 0):
        model = LogitBoostClassifier(
            CVRounds(max_estimators=300), learning_rate=0.1, smoothing_rounds=rounds
        )
        model.set_params(n_estimators__cv=StratifiedKFold(4, shuffle=True, random_state=0))
        model.fit(X, y)
        errors[rounds] = np.mean((model.decision_function(new) - truth) ** 2)
        if rounds == "auto":
            best = model.smoothing_results_["mean_score"].argmin()
            assert model.n_smoothing_rounds_ == best > 0
    assert errors["auto"] < errors[0] < 0.6 * np.mean(truth**2)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("learning_rate", [0.1, 1.0])
def test_long_steps_do_not_raise_the_loss(learning_rate, n_classes):
    """Rare classes in half of the rows of a bin: the first round has a step of 1 / (2 share)."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 200, (4000, 2)) / 200
    y = np.where(X[:, 0] == 0.995, rng.integers(0, n_classes, 4000), 0)
    y[:40] = np.arange(40) % n_classes
    model = LogitBoostClassifier(n_estimators=30, learning_rate=learning_rate, **PLAIN).fit(X, y)
    share = np.bincount(y) / len(y)
    constant = -share @ np.log(share)
    assert model.train_scores_.max() <= 1.001 * constant
    p = model.predict_proba(X)
    assert -np.log(p[np.arange(len(y)), y]).mean() < 0.9 * constant
