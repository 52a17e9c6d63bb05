"""Binned trees as weak learners of boosting and as members of bagged ensembles."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeRegressor

from sklearn_ensemble_theory import (
    AdaBoostClassifier,
    FrankWolfeClassifier,
    GradientBoostingRegressor,
)
from sklearn_ensemble_theory.trees import BinnedTreeClassifier, BinnedTreeRegressor

from ..surroundings import ClassTask, LeastSquaresTask, prepare_rounds
from .engine import BinnedMembers, binned_equivalent


class Inherited(BinnedTreeClassifier):
    """Has the methods of the binned tree but none of its fast paths."""


def data(n=400, n_classes=2, seed=0, values=60):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, values, (n, 5)).astype(float)
    score = X[:, 0] + X[:, 1] * (X[:, 2] > values / 2) + 20 * rng.normal(size=n)
    return X, np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_leaves_from_codes(missing):
    """The margins of a round, read from the codes, are those of the member's predictions."""
    X, y = data()
    X[np.random.default_rng(1).random(X.shape) < missing] = np.nan
    task = ClassTask(y, np.unique(y))
    rounds = prepare_rounds(BinnedTreeClassifier(max_bins=20), X, None, task)
    member, margins = rounds.best(None, np.full(len(y), 1 / len(y)))
    np.testing.assert_array_equal(margins, np.where(member.predict(X) == y, 1, -1))
    assert (margins > 0).mean() > 0.9


@pytest.mark.parametrize(("n_classes", "variant"), [(2, "discrete"), (2, "real"), (3, "auto")])
def test_adaboost_equals_clones(n_classes, variant):
    X, y = data(n_classes=n_classes)
    options = {"n_estimators": 6, "variant": variant, "random_state": 0}
    tree = BinnedTreeClassifier(max_depth=3)
    fast = AdaBoostClassifier(tree, **options).fit(X, y)
    slow = AdaBoostClassifier(Inherited(max_depth=3), **options).fit(X, y)
    assert type(fast.estimators_[0]) is BinnedTreeClassifier
    np.testing.assert_allclose(fast.decision_function(X), slow.decision_function(X), rtol=1e-7)
    np.testing.assert_allclose(fast.estimator_weights_, slow.estimator_weights_, rtol=1e-7)
    np.testing.assert_array_equal(fast.predict(X[:1]), fast.predict(X)[:1])
    member = fast.estimators_[-1]
    assert member.get_params() == tree.get_params()
    assert member.predict(X).shape == y.shape


def test_frank_wolfe_over_binned_trees():
    X, y = data()
    model = FrankWolfeClassifier(
        estimator=BinnedTreeClassifier(max_depth=2), n_estimators=10, random_state=0
    )
    other = clone(model).set_params(estimator=Inherited(max_depth=2))
    np.testing.assert_allclose(
        model.fit(X, y).decision_function(X), other.fit(X, y).decision_function(X), rtol=1e-6
    )


def test_no_fast_path():
    X, y = data(50)
    task = ClassTask(y, np.unique(y))
    for params in (
        {"splitter": "random"},
        {"max_features": 2},
        {"ccp_alpha": 0.1},
    ):
        assert prepare_rounds(BinnedTreeClassifier(**params), X, None, task) is None
    for params in ({"max_features": 2, "random_state": 0}, {"class_weight": "balanced"}):
        model = AdaBoostClassifier(BinnedTreeClassifier(max_depth=2, **params), n_estimators=3)
        assert model.fit(X, y).score(X, y) > 0.6


@pytest.mark.parametrize("features", [None, np.array([3, 0, 0])])
@pytest.mark.parametrize("weighted", [True, False])
def test_members_are_fitted_trees(features, weighted):
    X, y = data(n_classes=4)
    rng = np.random.default_rng(2)
    rows = np.flatnonzero(rng.random(len(X)) < 0.5)
    rows = rows[y[rows] != 1]  # a class that the member does not know
    weights = rng.integers(1, 4, len(rows)).astype(float) if weighted else None
    X_rows = X[rows] if features is None else X[rows][:, features]
    for tree in (
        BinnedTreeClassifier(max_leaf_nodes=20, class_weight="balanced"),
        BinnedTreeRegressor(max_depth=4, ccp_alpha=0.001),
    ):
        member = BinnedMembers(tree, X, None).fit(clone(tree), rows, y[rows], weights, features)
        alone = clone(tree).fit(X_rows, y[rows], weights)
        np.testing.assert_allclose(member.predict(X_rows), alone.predict(X_rows))
        assert member.n_features_in_ == X_rows.shape[1]
        assert member.get_n_leaves() == alone.get_n_leaves()
    classifier = BinnedMembers(BinnedTreeClassifier(), X, None).fit(
        BinnedTreeClassifier(), rows, y[rows], weights, features
    )
    np.testing.assert_array_equal(classifier.classes_, [0, 2, 3])


def test_equivalents_of_scikit_learns_trees():
    tree = DecisionTreeRegressor(max_depth=3, ccp_alpha=0.1, monotonic_cst=[1], random_state=1)
    binned = binned_equivalent(tree, 100)
    assert type(binned) is BinnedTreeRegressor
    others = {"categorical_features": "from_dtype", "cat_smooth": 10.0, "interaction_cst": None}
    own = {"max_bins": 100, "l2_regularization": 0.0, "quantile": 0.5, **others}
    own |= dict.fromkeys(("min_weight_leaf", "features_per_tree", "target_components"))
    assert binned.get_params() == {**tree.get_params(), **own}
    tree = DecisionTreeClassifier(criterion="entropy", class_weight="balanced", max_features=0.5)
    binned = binned_equivalent(tree, 255)
    assert type(binned) is BinnedTreeClassifier
    assert binned.get_params() == {**tree.get_params(), "max_bins": 255, **others}
    for other in (
        ExtraTreeRegressor(),
        DecisionTreeRegressor(criterion="absolute_error", monotonic_cst=[1]),
        DecisionTreeRegressor(splitter="random"),
        BinnedTreeRegressor(),
        "tree",
    ):
        assert binned_equivalent(other, 255) is None


MANY_BINS = [
    ({"max_depth": 2}, {}),
    ({"max_leaf_nodes": 7, "min_samples_leaf": 5}, {}),
    ({"max_depth": 4, "min_samples_leaf": 8, "min_impurity_decrease": 0.01}, {}),
    ({"max_depth": 4, "min_samples_leaf": 8, "max_features": 3}, {}),
    ({"max_depth": 3, "min_weight_fraction_leaf": 0.05}, {"loss": "huber"}),
]


@pytest.mark.parametrize(("params", "others"), MANY_BINS, ids=str)
def test_boosting_of_trees_of_many_bins(params, others):
    """With a bin for each value they are scikit-learn's trees."""
    X, y = data(600, values=400)
    assert max(len(np.unique(x)) for x in X.T) > 255
    rng = np.random.default_rng(1)
    target, weight = X[:, 0] + 10 * y + rng.normal(size=600), rng.uniform(0.5, 2, 600)
    binned, exact = (
        GradientBoostingRegressor(tree, n_estimators=5, random_state=0, **others).fit(
            X, target, weight
        )
        for tree in (
            BinnedTreeRegressor(max_bins=400, **params),
            DecisionTreeRegressor(**params),
        )
    )
    assert prepare_rounds(binned.estimator, X, weight, LeastSquaresTask()) is not None
    np.testing.assert_allclose(binned.predict(X), exact.predict(X))
    np.testing.assert_allclose(binned.train_scores_, exact.train_scores_)


def test_boosting_of_trees_of_many_bins_by_drawn_features():
    """Each tree is cut by the drawn features only, and not the same in every round."""
    X, y = data(600, values=400)
    tree = BinnedTreeRegressor(max_bins=400, max_depth=4, features_per_tree=2)
    model = GradientBoostingRegressor(tree, n_estimators=8, random_state=0)
    model.fit(X, X[:, 0] + 10 * y)
    used = [frozenset(member.tree_.feature) - {-2} for member in model.estimators_.ravel()]
    assert max(map(len, used)) == 2
    assert len(set(used)) > 2
    residual = X[:, 0] + 10 * y - model.predict(X)
    assert np.mean(residual**2) / 2 == pytest.approx(model.train_scores_[-1])


def test_adaboost_of_trees_of_many_bins():
    """The codes are kept for all rounds."""
    X, y = data(600, values=400)
    binned, exact = (
        AdaBoostClassifier(tree, n_estimators=5, random_state=0).fit(X, y)
        for tree in (
            BinnedTreeClassifier(max_bins=400, max_depth=2),
            DecisionTreeClassifier(max_depth=2, random_state=0),
        )
    )
    np.testing.assert_allclose(binned.decision_function(X), exact.decision_function(X))
