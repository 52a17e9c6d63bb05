"""Gradient boosting as a drop-in for scikit-learn's: parameters, draws, scores and attributes."""

import inspect

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_classification
from sklearn.ensemble import GradientBoostingClassifier as SklearnClassifier
from sklearn.ensemble import GradientBoostingRegressor as SklearnRegressor
from sklearn.inspection import partial_dependence
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.tree import DecisionTreeRegressor

from sklearn_ensemble_theory import GradientBoostingClassifier, GradientBoostingRegressor
from sklearn_ensemble_theory.boosting import losses
from sklearn_ensemble_theory.trees import BinnedTreeRegressor

from ..estimators import SKLEARN_VERSION, parse_version
from ..trees.engine import drawn_rows, selected_rows

# scikit-learn's own default where it has one criterion only; before 1.9 it has to be asked for.
CRITERION = {} if parse_version("1.9") <= SKLEARN_VERSION else {"criterion": "squared_error"}
PEERS = [
    (GradientBoostingRegressor, SklearnRegressor),
    (GradientBoostingClassifier, SklearnClassifier),
]


def scores(model, X):
    return model.decision_function(X) if hasattr(model, "classes_") else model.predict(X)


@pytest.mark.parametrize(("ours", "theirs"), PEERS)
def test_parameters_have_scikit_learn_s_order_and_defaults(ours, theirs):
    own, peer = (inspect.signature(cls).parameters for cls in (ours, theirs))
    assert [name for name in own if name in peer] == list(peer)
    for name in set(peer) - {"criterion"}:
        assert own[name].default == peer[name].default, name
    order = list(inspect.signature(theirs.fit).parameters)
    assert list(inspect.signature(ours.fit).parameters)[: len(order)] == order


# Leaves of several rows: in small ones two features often split alike, and scikit-learn's rounding
# errors decide.
@pytest.mark.parametrize("kind", ["real", "two", "exponential", "three"])
@pytest.mark.parametrize(
    "settings",
    [
        {"subsample": 0.5, "min_samples_leaf": 0.15},
        {"max_features": 2, "max_depth": None, "max_leaf_nodes": 5, "min_samples_leaf": 9},
        {"n_iter_no_change": 2, "n_estimators": 60, "min_samples_leaf": 9, "learning_rate": 0.3},
        {"ccp_alpha": 1e-3, "min_weight_fraction_leaf": 0.05, "min_impurity_decrease": 1e-3},
    ],
    ids=lambda settings: next(iter(settings)),
)
def test_exact_trees_give_scikit_learn_s_model(kind, settings):
    n_classes = 3 if kind == "three" else 2
    X, y = make_classification(
        200, 6, n_informative=4, n_classes=n_classes, flip_y=0.1, random_state=2
    )
    w = np.random.default_rng(0).uniform(0.5, 2, 200)
    if kind == "real":
        y = X[:, 0] + np.sin(X[:, 1]) * X[:, 2] + 0.1 * w
    own, peer = PEERS[kind != "real"]
    settings = {"n_estimators": 15, "random_state": 3, **settings}
    if kind == "exponential":
        settings["loss"] = kind
    ours = own(max_bins=None, **settings).fit(X, y, w)
    theirs = peer(**settings, **CRITERION).fit(X, y, w)
    np.testing.assert_allclose(scores(ours, X), scores(theirs, X), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(ours.train_score_, theirs.train_score_, rtol=1e-6, atol=1e-10)
    for name in ("n_estimators_", "n_trees_per_iteration_", "max_features_"):
        assert getattr(ours, name) == getattr(theirs, name)
    np.testing.assert_array_equal(ours.apply(X), theirs.apply(X))
    if "subsample" in settings:
        for name in ("oob_scores_", "oob_improvement_", "oob_score_"):
            np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), atol=1e-8)
    else:
        assert not hasattr(ours, "oob_scores_")


def test_rows_are_drawn_as_by_the_loop_and_all_sets_are_as_likely():
    rng, again = np.random.RandomState(0), np.random.RandomState(0)
    for n, m in [(1, 1), (7, 3), (7, 7), (100, 99)]:
        rows = drawn_rows(rng, n, m)
        np.testing.assert_array_equal(rows, selected_rows(again.uniform(size=n), m))
        assert len(set(rows.tolist())) == m
    counts = np.zeros((5, 5))
    for _ in range(5000):
        counts[tuple(drawn_rows(rng, 5, 2))] += 1
    pairs = counts[np.triu_indices(5, 1)]  # of mean 500 and standard deviation 21
    assert pairs.sum() == 5000
    assert np.abs(pairs - 500).max() < 85


def test_scores_of_drawn_rows_by_hand(regression):
    X, y, *_ = regression
    model = GradientBoostingRegressor(subsample=0.4, n_estimators=6, random_state=5).fit(X, y)
    rng, n = np.random.RandomState(5), len(y)
    previous = np.full(n, model.initial_scores_)
    for t, prediction in enumerate(model.staged_predict(X)):
        inside = np.isin(np.arange(n), drawn_rows(rng, n, int(0.4 * n)))
        rng.randint(np.iinfo(np.int32).max)  # the seed of the tree
        errors = (y - prediction) ** 2
        assert model.train_score_[t] == pytest.approx(errors[inside].mean())
        assert model.oob_scores_[t] == pytest.approx(errors[~inside].mean())
        before = model.oob_scores_[t - 1] if t else ((y - previous) ** 2)[~inside].mean()
        assert model.oob_improvement_[t] == pytest.approx(before - model.oob_scores_[t])
    assert model.oob_score_ == model.oob_scores_[-1]
    np.testing.assert_allclose(
        model.train_scores_[-1], np.mean((y - model.predict(X)) ** 2) / 2, rtol=1e-10
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_depth", 5),
        ("max_depth", None),
        ("min_samples_split", 3),
        ("min_samples_leaf", 0.1),
        ("min_weight_fraction_leaf", 0.1),
        ("min_impurity_decrease", 0.1),
        ("max_features", "sqrt"),
        ("max_leaf_nodes", 8),
        ("ccp_alpha", 0.1),
        ("max_bins", None),
    ],
)
def test_tree_parameters_are_passed_on_or_refused(regression, name, value):
    X, y, *_ = regression
    model = GradientBoostingRegressor(n_estimators=2, **{name: value}).fit(X, y)
    if name != "max_bins":
        assert all(getattr(member, name) == value for member in model.estimators_.flat)
    for learner in (Ridge(), DecisionTreeRegressor()):
        model.set_params(estimator=learner)
        with pytest.raises(ValueError, match=rf"{name}=.*{type(learner).__name__}"):
            model.fit(X, y)


def test_criterion_has_no_effect(regression):
    X, y, *_ = regression
    model = GradientBoostingRegressor(n_estimators=3, random_state=0).fit(X, y)
    for criterion in ("friedman_mse", "squared_error"):
        other = GradientBoostingRegressor(n_estimators=3, random_state=0, criterion=criterion)
        with pytest.warns(FutureWarning, match="criterion"):
            other.fit(X, y)
        np.testing.assert_array_equal(other.predict(X), model.predict(X))


# Losses of the parameter alpha


@pytest.mark.parametrize("weighted", [False, True])
def test_huber_s_delta_follows_the_residuals(regression, weighted):
    X, y, *_ = regression
    w = np.random.default_rng(1).integers(1, 4, len(y)) if weighted else None
    model = GradientBoostingRegressor(loss="huber", alpha=0.7, n_estimators=8, random_state=0)
    model.fit(X, y, w)
    repeated = np.repeat(np.arange(len(y)), 1 if w is None else w)
    assert model.initial_scores_ == pytest.approx(np.median(y[repeated]))
    *_, before, last = model.staged_predict(X)
    residuals = np.sort(np.abs(y - before)[repeated])
    place = int(np.ceil(0.7 * len(residuals))) - 1
    assert model.loss_.delta == pytest.approx(residuals[place], rel=1e-9)
    values = losses.HuberLoss(model.loss_.delta).value(y, last)
    assert model.train_score_[-1] == pytest.approx(np.average(values, weights=w))


def test_huber_overfits_few_rows():
    y = np.arange(10)
    X = np.c_[np.minimum(y, 5), np.minimum(-y, -5)]
    model = GradientBoostingRegressor(loss="huber", alpha=0.8, random_state=0).fit(X, y)
    assert model.loss_.delta < 2e-4
    np.testing.assert_allclose(model.predict(X), y, atol=0.01)
    assert (model.train_score_[-10:] < 3e-7).all()
    constant = GradientBoostingRegressor(loss="huber", n_estimators=3).fit(X, np.ones(10))
    assert constant.loss_.delta == 0
    np.testing.assert_array_equal(constant.predict(X), 1)


def test_quantile_of_alpha(regression):
    X, y, *_ = regression
    model = GradientBoostingRegressor(loss="quantile", n_estimators=30, random_state=0).fit(X, y)
    same = GradientBoostingRegressor(loss=losses.QuantileLoss(0.9), n_estimators=30, random_state=0)
    np.testing.assert_array_equal(model.predict(X), same.fit(X, y).predict(X))
    with pytest.raises(ValueError, match="quantile must be strictly between"):
        GradientBoostingRegressor(loss=losses.HuberLoss(quantile=1)).fit(X, y)


# Attributes


def test_init_is_an_estimator(regression, binary):
    X, y, *_ = regression
    model = GradientBoostingRegressor(n_estimators=2).fit(X, y)
    np.testing.assert_allclose(model.init_.predict(X[:3]), np.full(3, y.mean()))
    assert model.set_params(init="zero").fit(X, y).init_ == "zero"
    assert model.initial_scores_ == 0
    model.set_params(init=Ridge()).fit(X, y)
    np.testing.assert_allclose(model.init_.predict(X), Ridge().fit(X, y).predict(X), rtol=1e-5)
    assert model.initial_scores_ is None
    X, y, *_ = binary
    for labels in (y, np.where(X[:, 0] > 1, 2, y)):
        model = GradientBoostingClassifier(n_estimators=2).fit(X, labels)
        shares = np.unique(labels, return_counts=True)[1] / len(y)
        np.testing.assert_allclose(model.init_.predict_proba(X[:2]), [shares, shares])
    model = GradientBoostingClassifier(n_estimators=2, loss="hinge").fit(
        X, np.where(X[:, 0] > 1, 7, 8)
    )
    assert model.init_.predict(X[:1]) == [8]
    with pytest.raises(ValueError, match="init=Pipe: The initial estimator Pipe does not support"):
        GradientBoostingClassifier(init=Pipe()).fit(X, y, np.ones(len(y)))


class Pipe(LogisticRegression):
    """A classifier whose `fit` takes no weights."""

    def fit(self, X, y):
        return super().fit(X, y)


def test_leaves_and_rounds_of_the_model(binary):
    X, y, *_ = binary
    model = GradientBoostingClassifier(n_estimators=3, random_state=0).fit(X, y)
    leaves = model.apply(X)
    assert leaves.shape == (len(y), 3, 1)
    for t, (member,) in enumerate(model):
        np.testing.assert_array_equal(leaves[:, t, 0], member.apply(X.astype(np.float32)))
        assert model[t][0] is member
    np.testing.assert_array_equal(model.apply(sp.csc_matrix(X)), leaves)
    assert len(model) == model.n_estimators_ == 3
    ridge = GradientBoostingClassifier(Ridge(), n_estimators=2).fit(X, y)
    assert not hasattr(ridge, "apply")
    assert not hasattr(ridge, "max_features_")


def test_small_sparse_data_give_the_model_of_dense_data(binary, monkeypatch):
    X, y, *_ = binary
    X = np.where(np.abs(X) > 0.7, X, 0)
    settings = {"n_estimators": 4, "subsample": 0.6, "random_state": 0}
    dense = GradientBoostingClassifier(**settings).fit(X, y)
    sparse = GradientBoostingClassifier(**settings).fit(sp.coo_matrix(X), y)
    assert isinstance(sparse.estimator_, BinnedTreeRegressor)
    expected = dense.decision_function(X)
    np.testing.assert_array_equal(sparse.decision_function(sp.csc_matrix(X)), expected)
    module = "sklearn_ensemble_theory.boosting._gradient_boosting.fit"
    monkeypatch.setattr(f"{module}.MOST_DENSE_VALUES", 10)
    # Rows that stay sparse, for trees that were binned, and the other way round.
    np.testing.assert_allclose(sparse.decision_function(sp.csr_matrix(X)), expected)
    exact = GradientBoostingClassifier(**settings, max_depth=9).fit(sp.csr_matrix(X), y)
    assert type(exact.estimator_) is DecisionTreeRegressor
    whole = exact.decision_function(sp.csr_matrix(X))
    np.testing.assert_allclose(exact.decision_function(X), whole)
    np.testing.assert_allclose(exact.decision_function(X[:2]), whole[:2])


def test_a_class_of_weight_zero_is_no_class(binary):
    X, y, *_ = binary
    with pytest.raises(ValueError, match="y contains 1 class after sample_weight trimmed"):
        GradientBoostingClassifier().fit(X, y, sample_weight=y.astype(float))
    three = np.where(X[:, 0] > 1, 2, y)
    model = GradientBoostingClassifier(n_estimators=2).fit(X, three, (three != 2).astype(float))
    assert model.predict_proba(X)[:, 2].max() < 1e-10


def test_partial_dependence(regression):
    X, y, *_ = regression
    model = GradientBoostingRegressor(n_estimators=5, random_state=0).fit(X, y)
    found = partial_dependence(model, X, [0], grid_resolution=4)
    for value, mean in zip(found["grid_values"][0], found["average"][0]):
        moved = X.copy()
        moved[:, 0] = value
        assert mean == pytest.approx(model.predict(moved).mean())
    with pytest.raises(ValueError, match="recursion"):
        partial_dependence(model, X, [0], method="recursion")


@pytest.mark.parametrize("tree", [DecisionTreeRegressor, BinnedTreeRegressor])
def test_the_poisson_criterion_refuses_gradients(regression, tree):
    X, y, *_ = regression
    model = GradientBoostingRegressor(tree(criterion="poisson"), loss="poisson")
    with pytest.raises(ValueError, match="criterion='poisson'"):
        model.fit(X, np.abs(y))
