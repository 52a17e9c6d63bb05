"""Gradient boosting of binned trees: threads, weights, missing values, quality, and what it shares
with gradient boosting of scikit-learn's exact trees."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, make_friedman1, make_regression
from sklearn.ensemble import GradientBoostingClassifier as ExactClassifier
from sklearn.ensemble import GradientBoostingRegressor as ExactRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils import get_tags

from sklearn_ensemble_theory import GradientBoostingClassifier, GradientBoostingRegressor
from sklearn_ensemble_theory.boosting import losses
from sklearn_ensemble_theory.boosting.steps import FixedStep, SmoothStep
from sklearn_ensemble_theory.trees import BinnedTreeRegressor

from ..trees.reference_growth import reference_trees

EXACT = DecisionTreeRegressor(max_depth=3)


def targets(X, kind, rng):
    score = X[:, 0] + np.sin(X[:, 1]) * X[:, 2] + 0.3 * rng.standard_normal(len(X))
    if kind == "two":
        return np.where(score > np.median(score), "yes", "no")
    if kind == "three":
        return np.digitize(score, np.quantile(score, [0.3, 0.7]))
    if kind in ("poisson", "gamma", "tweedie"):
        positive = np.exp(score / score.std())
        return positive if kind == "gamma" else np.floor(positive)
    return score


def model_for(kind, **options):
    if kind in ("two", "three"):
        return GradientBoostingClassifier(random_state=0, **options)
    loss = losses.QuantileLoss(0.8) if kind == "quantile" else kind
    return GradientBoostingRegressor(loss=loss, random_state=0, **options)


every_kind = pytest.mark.parametrize(
    "kind", ["squared_error", "huber", "quantile", "absolute_error", "two", "three"]
)


# The base learner


def test_the_default_is_a_binned_tree_and_a_deep_one_of_large_sparse_data_is_exact(monkeypatch):
    module = "sklearn_ensemble_theory.boosting._gradient_boosting.fit"
    monkeypatch.setattr(f"{module}.MOST_DENSE_VALUES", 100)
    X, y = make_regression(60, 4, random_state=0)
    dense = GradientBoostingRegressor(n_estimators=3, max_depth=9).fit(X, y)
    assert type(dense.estimator_) is type(dense.estimators_[0, 0]) is BinnedTreeRegressor
    sparse = GradientBoostingRegressor(n_estimators=3, max_depth=9).fit(sp.csr_matrix(X), y)
    assert type(sparse.estimator_) is type(sparse.estimators_[0, 0]) is DecisionTreeRegressor
    # A model of one kind predicts rows of the other.
    for model in (dense, sparse):
        expected = model.predict(X)
        np.testing.assert_allclose(model.predict(sp.csr_matrix(X)), expected)
        np.testing.assert_allclose(list(model.staged_predict(sp.csc_matrix(X)))[-1], expected)
    np.testing.assert_allclose(dense.predict(X), sparse.predict(X))


# Without the absolute loss: its gradients are -1 and +1, so that many splits are equally good.
@pytest.mark.parametrize("kind", ["squared_error", "huber", "quantile", "two", "three"])
def test_few_values_a_column_give_the_model_of_exact_trees(kind):
    rng = np.random.default_rng(1)
    X = rng.integers(0, 40, (400, 3)) / 7
    y = targets(X, kind, rng)
    binned = model_for(kind, n_estimators=15).fit(X, y)
    exact = model_for(kind, n_estimators=15, estimator=EXACT).fit(X, y)
    np.testing.assert_allclose(binned.train_scores_, exact.train_scores_, rtol=1e-7)
    if kind in ("two", "three"):
        np.testing.assert_allclose(binned.predict_proba(X), exact.predict_proba(X), rtol=1e-6)
    else:
        np.testing.assert_allclose(binned.predict(X), exact.predict(X), rtol=1e-6, atol=1e-9)
    # Where splits of different features are equally good, each model draws for itself.
    rtol = 0.01 if kind in ("quantile", "three") else 1e-6
    np.testing.assert_allclose(binned.feature_importances_, exact.feature_importances_, rtol=rtol)


@every_kind
def test_the_model_is_that_of_trees_of_the_reference(kind):
    rng = np.random.default_rng(2)
    X = rng.standard_normal((700, 3))
    X[rng.random(X.shape) < 0.1] = np.nan
    y = targets(np.nan_to_num(X), kind, rng)
    model = model_for(kind, n_estimators=12).fit(X, y)
    with reference_trees():
        other = model_for(kind, n_estimators=12).fit(X, y)
    np.testing.assert_allclose(model.train_scores_, other.train_scores_, rtol=1e-9)
    scores = "decision_function" if kind in ("two", "three") else "predict"
    np.testing.assert_allclose(getattr(model, scores)(X), getattr(other, scores)(X), rtol=1e-6)


@every_kind
@pytest.mark.parametrize("subsample", [1.0, 0.6])
def test_the_number_of_jobs_changes_no_bit(kind, subsample):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((2**14 + 3000, 3))
    y = targets(X, kind, rng)
    weight = rng.uniform(0.5, 2, len(y))
    models = [
        model_for(kind, n_estimators=3, subsample=subsample, n_jobs=n_jobs).fit(X, y, weight)
        for n_jobs in (None, 2, 4)
    ]
    for model in models[1:]:
        np.testing.assert_array_equal(model.train_scores_, models[0].train_scores_)
        for mine, first in zip(model.estimators_.ravel(), models[0].estimators_.ravel()):
            np.testing.assert_array_equal(mine.tree_.threshold, first.tree_.threshold)
            np.testing.assert_array_equal(mine.tree_.value, first.tree_.value)


def test_the_number_of_jobs_must_not_be_zero():
    with pytest.raises(ValueError, match="n_jobs"):
        GradientBoostingRegressor(n_jobs=0).fit(np.arange(4.0)[:, None], np.arange(4.0))


@every_kind
def test_integer_weights_are_repeated_rows(kind):
    rng = np.random.default_rng(4)
    X = rng.standard_normal((120, 3))
    y, weight = targets(X, kind, rng), rng.integers(0, 4, 120)
    weighted = model_for(kind, n_estimators=10).fit(X, y, weight)
    repeated = model_for(kind, n_estimators=10).fit(X.repeat(weight, axis=0), y.repeat(weight))
    np.testing.assert_allclose(weighted.train_scores_, repeated.train_scores_, rtol=1e-9)
    if kind in ("two", "three"):
        np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-7)
    else:
        np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-7, atol=1e-9)


# What works with binned trees


@pytest.mark.parametrize("kind", ["squared_error", "three"])
def test_a_warm_start_gives_the_model_of_one_fit(kind):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((200, 3))
    y = targets(X, kind, rng)
    whole = model_for(kind, n_estimators=9).fit(X, y)
    parts = model_for(kind, n_estimators=4, warm_start=True).fit(X, y)
    parts.set_params(n_estimators=9).fit(X, y)
    np.testing.assert_allclose(parts.train_scores_, whole.train_scores_, rtol=1e-12)


@pytest.mark.parametrize("step", ["fixed", "line_search", "quadratic_bound", SmoothStep(2.0)])
@pytest.mark.parametrize("estimator", [None, BinnedTreeRegressor(max_leaf_nodes=6), EXACT])
def test_step_rules_lower_the_risk(step, estimator):
    rng = np.random.default_rng(6)
    X = rng.integers(0, 30, (300, 3)) / 10
    y = targets(X, "two", rng)
    model = GradientBoostingClassifier(estimator, step=step, n_estimators=12, random_state=0)
    model.fit(X, y)
    assert (np.diff(model.train_scores_) <= 1e-12).all()
    assert model.train_scores_[-1] < 0.98 * model.loss_.risk(*_start(model, y))


def _start(model, y):
    signs = np.where(y == model.classes_[1], 1.0, -1.0)
    return signs, np.full(len(y), model.initial_scores_)


def test_early_stopping_validation_rows_and_importances():
    X, y = make_friedman1(400, noise=1.0, random_state=0)
    X, X_val, y, y_val = train_test_split(X, y, random_state=0)
    model = GradientBoostingRegressor(n_iter_no_change=5, n_estimators=300, learning_rate=0.3)
    model.fit(X, y, X_val=X_val, y_val=y_val)
    assert model.stop_reason_ == "early stopping"
    found = 0.5 * np.mean((y_val - model.predict(X_val)) ** 2)
    assert model.validation_scores_[-1] == pytest.approx(found)
    assert model.feature_importances_.sum() == pytest.approx(1)
    assert model.feature_importances_[:5].sum() > 0.85
    held_out = clone(model).set_params(random_state=0).fit(X, y)
    assert len(held_out.validation_scores_) == held_out.n_estimators_ < 300


def test_monotonic_constraints_and_drawn_features_reach_the_trees():
    rng = np.random.default_rng(7)
    X = rng.uniform(-2, 2, (500, 2))
    y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(500)
    for loss in ("squared_error", "absolute_error", losses.QuantileLoss(0.7)):
        tree = BinnedTreeRegressor(max_depth=3, monotonic_cst=[1, 0])
        model = GradientBoostingRegressor(tree, loss=loss, n_estimators=20).fit(X, y)
        line = np.column_stack([np.linspace(-2, 2, 200), np.full(200, 0.3)])
        assert (np.diff(model.predict(line)) >= -1e-12).all()
    tree = BinnedTreeRegressor(max_depth=1, max_features=1)
    model = GradientBoostingRegressor(tree, n_estimators=40, random_state=0).fit(X, y)
    chosen = {member.tree_.feature[0] for member in model.estimators_[:, 0]}
    assert chosen == {0, 1}


class LogCosh:
    """A user's loss, in NumPy."""

    def value(self, y, u):
        r = np.abs(y - u)
        return r + np.log1p(np.exp(-2 * r)) - np.log(2)

    def gradient(self, y, u):
        return np.tanh(u - y)


class OwnSquare:
    def value(self, y, u):
        return (y - u) ** 2 / 2

    def gradient(self, y, u):
        return u - y

    def hessian(self, y, u):
        return np.ones_like(u)


def test_losses_of_the_user():
    X, y = make_friedman1(300, random_state=1)
    own = GradientBoostingRegressor(loss=OwnSquare(), n_estimators=20).fit(X, y)
    ours = GradientBoostingRegressor(n_estimators=20).fit(X, y)
    np.testing.assert_allclose(own.predict(X), ours.predict(X), rtol=1e-8)
    model = GradientBoostingRegressor(loss=LogCosh(), n_estimators=50).fit(X, y)
    assert model.train_scores_[-1] < 0.4 * model.train_scores_[0]


# Missing values


@pytest.mark.parametrize("n_classes", [0, 2])
def test_missing_values_as_in_hist_gradient_boosting(n_classes):
    ours, theirs = [], []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X, y = make_friedman1(1200, noise=1.0, random_state=seed)
        # Missing at random, and more often where the value is large.
        X[(rng.random(X.shape) < 0.1) | (rng.random(X.shape) < 0.2 * X)] = np.nan
        if n_classes:
            y = (y > np.median(y)).astype(int)
        X, X_test, y, y_test = train_test_split(X, y, random_state=seed)
        kind = GradientBoostingClassifier if n_classes else GradientBoostingRegressor
        peer = HistGradientBoostingClassifier if n_classes else HistGradientBoostingRegressor
        ours.append(kind().fit(X, y).score(X_test, y_test))
        options = {"max_depth": 3, "min_samples_leaf": 1, "early_stopping": False}
        theirs.append(peer(**options).fit(X, y).score(X_test, y_test))
    assert np.mean(ours) > np.mean(theirs) - 0.02


def test_missing_values_are_accepted_where_the_base_learner_accepts_them():
    X = np.array([[0.0, 1], [1, np.nan], [2, 2], [np.nan, 3], [4, np.nan], [5, 5]])
    y = np.arange(6.0)
    for estimator in (None, EXACT):
        model = GradientBoostingRegressor(estimator, n_estimators=200)
        assert get_tags(model).input_tags.allow_nan
        np.testing.assert_allclose(model.fit(X, y).predict(X), y, atol=1e-3)
        np.testing.assert_allclose(list(model.staged_predict(X))[-1], model.predict(X))
    model = GradientBoostingRegressor(LinearRegression())
    assert not get_tags(model).input_tags.allow_nan
    with pytest.raises(ValueError, match="NaN"):
        model.fit(X, y)
    with pytest.raises(ValueError, match="infinity"):
        GradientBoostingRegressor().fit(np.where(X == 5, np.inf, X), y)


@pytest.mark.parametrize("estimator", [None, EXACT])
def test_values_beyond_single_precision(estimator):
    X, y = np.array([[1.0, 2], [3, np.nan], [1e39, 4]]), np.arange(3.0)
    assert GradientBoostingRegressor(estimator).fit(X, y).score(X, y) > 0.9
    model = GradientBoostingRegressor(estimator).fit(X[:2], y[:2])
    np.testing.assert_array_equal(model.predict(X), model.predict(np.minimum(X, 1e30)))


# Quality and memory


@pytest.mark.slow
@pytest.mark.parametrize("data", ["friedman1", "diabetes", "breast_cancer"])
def test_quality_is_that_of_exact_trees(data):
    ours, theirs = [], []
    for seed in range(4):
        if data == "friedman1":
            X, y = make_friedman1(500, noise=1.0, random_state=seed)
        else:
            X, y = (load_diabetes if data == "diabetes" else load_breast_cancer)(return_X_y=True)
        X, X_test, y, y_test = train_test_split(X, y, random_state=seed)
        mine, peer = GradientBoostingRegressor, ExactRegressor
        if data == "breast_cancer":
            mine, peer = GradientBoostingClassifier, ExactClassifier
        ours.append(mine().fit(X, y).score(X_test, y_test))
        theirs.append(peer(random_state=seed).fit(X, y).score(X_test, y_test))
    assert np.mean(ours) > np.mean(theirs) - 0.02


def test_memory_is_a_few_numbers_a_row():
    """In addition to X and its codes; without the allocations of compiled loops."""
    rng = np.random.default_rng(0)
    n, p = 200_000, 4
    X = rng.standard_normal((n, p))
    y = X[:, 0] + X[:, 1] ** 2
    model = GradientBoostingRegressor(n_estimators=2)
    model.fit(X[:5000], y[:5000])
    tracemalloc.start()
    try:
        model.fit(X, y)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak / n < p + 64


def test_whole_weights_are_repeated_rows_where_many_splits_are_equally_good():
    """Few rows, few values of y: if errors of 1e-16 broke ties, 5 % of these would differ."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        n = rng.integers(8, 60)
        X = rng.standard_normal((n, 8)) if seed % 2 else rng.integers(0, 6, (n, 8)) * 1.0
        weight = rng.integers(0, 5, n).astype(float)
        rows = np.repeat(np.arange(n), weight.astype(int))
        for kind, y in [
            ("two", rng.integers(0, 2, n)),
            ("three", np.arange(n) % 3),
            ("squared_error", rng.integers(0, 4, n) * 1.0),
        ]:
            if len(np.unique(y[rows])) == 1:
                continue
            weighted = model_for(kind, n_estimators=10).fit(X, y, sample_weight=weight)
            repeated = model_for(kind, n_estimators=10).fit(X[rows], y[rows])
            name = "predict" if kind == "squared_error" else "decision_function"
            a, b = getattr(weighted, name)(X), getattr(repeated, name)(X)
            np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-7)


# Rounds that nobody looks at are made in one piece


@pytest.mark.parametrize(
    "kind", ["squared_error", "huber", "quantile", "poisson", "gamma", "tweedie", "two", "three"]
)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"estimator": BinnedTreeRegressor(max_leaf_nodes=9, l2_regularization=2.0)},
        {"estimator": BinnedTreeRegressor(max_depth=2, monotonic_cst=[1, 0, 0, -1])},
        {"min_impurity_decrease": 0.01, "min_weight_fraction_leaf": 0.05},
        {"step": FixedStep(reoptimize_leaves=False)},
        {"subsample": 0.5},
        {"learning_rate": lambda t: 1 / (2 + t)},
        {"learning_rate": 1e6, "n_estimators": 14},  # beyond some round all risks are large
    ],
)
def test_watched_rounds_are_the_same(kind, weighted, options):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 4))
    X[rng.random(X.shape) < 0.1] = np.nan
    y = targets(np.nan_to_num(X), kind, rng)
    weight = rng.random(150) if weighted else None
    if kind in ("poisson", "gamma", "tweedie") and options.get("learning_rate") == 1e6:
        options = {**options, "n_estimators": 1}  # further scores overflow, which is refused
    models, drawn = [], []
    for monitor in (None, lambda *_: False):
        generator = np.random.RandomState(0)
        model = model_for(kind, **{"n_estimators": 12, **options})
        model.set_params(random_state=generator).fit(X, y, weight, monitor)
        models.append(model)
        drawn.append(generator.randint(10**9))
    unwatched, watched = models
    assert drawn[0] == drawn[1]
    np.testing.assert_array_equal(unwatched.train_scores_, watched.train_scores_)
    np.testing.assert_array_equal(unwatched.steps_, watched.steps_)
    for a, b in zip(unwatched.estimators_.flat, watched.estimators_.flat, strict=True):
        assert a.random_state == b.random_state
        np.testing.assert_array_equal(a.tree_.threshold, b.tree_.threshold)
        np.testing.assert_array_equal(a.tree_.value, b.tree_.value)
        assert a.tree_.max_depth == b.tree_.max_depth
