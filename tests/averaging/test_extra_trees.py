"""Extremely randomised trees: scikit-learn's where they are exact, and their binned form."""

import numpy as np
import pytest
import sklearn
import sklearn.ensemble
from scipy import stats

from sklearn_ensemble_theory import (
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestRegressor,
)
from sklearn_ensemble_theory.inspection import variance_decomposition
from sklearn_ensemble_theory.trees import BinnedTreeClassifier, BinnedTreeRegressor

BEFORE_1_9 = tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 9)
AUTO_ROWS = "sklearn_ensemble_theory.averaging._bags.AUTO_ROWS"
BINNED = {ExtraTreesRegressor: BinnedTreeRegressor, ExtraTreesClassifier: BinnedTreeClassifier}
every_class = pytest.mark.parametrize("Trees", list(BINNED))


def data_for(Trees, regression):
    X, y = regression
    return (X, y) if Trees is ExtraTreesRegressor else (X, np.digitize(y, [10.0, 15.0]))


def outputs(model, X):
    return getattr(model, "predict_proba", model.predict)(X)


def theirs(Trees):
    return getattr(sklearn.ensemble, Trees.__name__)


@every_class
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"bootstrap": True, "max_samples": 0.5},
        {"max_leaf_nodes": 6, "max_features": 0.4},
        {"min_samples_leaf": 0.05, "ccp_alpha": 0.01},
    ],
)
def test_exact_trees_are_those_of_scikit_learn(Trees, params, regression):
    X, y = data_for(Trees, regression)
    ours = Trees(6, random_state=2, **params).fit(X[:90], y[:90])
    expected = theirs(Trees)(6, random_state=2, **params).fit(X[:90], y[:90])
    np.testing.assert_allclose(outputs(ours, X), outputs(expected, X), atol=1e-12)
    np.testing.assert_allclose(ours.feature_importances_, expected.feature_importances_)


@pytest.mark.skipif(BEFORE_1_9, reason="missing values before release 1.9")
@every_class
def test_missing_values_and_weights_as_in_scikit_learn(Trees, regression):
    X, y = data_for(Trees, regression)
    X = X.copy()
    X[::4, 1] = np.nan
    weight = 1.0 + np.arange(len(X)) % 3
    ours = Trees(6, random_state=2).fit(X, y, weight)
    expected = theirs(Trees)(6, random_state=2).fit(X, y, weight)
    np.testing.assert_allclose(outputs(ours, X), outputs(expected, X), atol=1e-12)


def test_monotonic_trees_as_in_scikit_learn(regression):
    X, y = regression
    cst = np.zeros(X.shape[1], dtype=int)
    cst[3] = 1
    ours = ExtraTreesRegressor(6, monotonic_cst=cst, random_state=2).fit(X, y)
    expected = theirs(ExtraTreesRegressor)(6, monotonic_cst=cst, random_state=2).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), expected.predict(X))
    moved = X + np.eye(X.shape[1])[3]
    assert (ours.predict(moved) >= ours.predict(X)).all()


@every_class
def test_bins_above_a_number_of_rows(Trees, regression, monkeypatch):
    X, y = data_for(Trees, regression)
    monkeypatch.setattr(AUTO_ROWS, 100)
    model = Trees(3, random_state=0).fit(X, y)
    assert {type(tree) for tree in model.estimators_} == {BINNED[Trees]}
    assert (model.estimator_.splitter, model.estimator_.max_bins) == ("random", 2047)
    assert not hasattr(Trees(3, max_bins=None).fit(X, y).estimator_, "max_bins")
    assert not hasattr(Trees(3).fit(X[:100], y[:100]).estimator_, "max_bins")


@every_class
@pytest.mark.parametrize("bootstrap", [False, True])
def test_binned_trees_by_hand(Trees, bootstrap, regression):
    X, y = data_for(Trees, regression)
    args = {"max_features": 0.5, "max_bins": 24, "bootstrap": bootstrap, "random_state": 1}
    model = Trees(5, min_samples_leaf=3, **args).fit(X, y)
    tree = BINNED[Trees](splitter="random", max_bins=24, max_features=0.5, min_samples_leaf=3)
    by_hand = []
    for member, rows in zip(model.estimators_, model.estimators_samples_):
        counts = np.bincount(rows, minlength=len(X)).astype(float)
        tree.set_params(random_state=member.random_state).fit(X, y, counts)
        by_hand.append(outputs(tree, X))
    if not bootstrap:  # with it the bins of a tree by itself are those of its rows
        np.testing.assert_allclose(np.mean(by_hand, axis=0), outputs(model, X), atol=1e-12)
    else:
        assert np.mean(by_hand, axis=0).shape == outputs(model, X).shape


@pytest.mark.parametrize("max_bins", [None, 64])
def test_the_law_of_cuts(max_bins):
    """Uniform over values in exact trees, over bins in binned ones; 1,000 cuts of a root."""
    x = np.exp(np.linspace(0.0, 5.0, 65))
    model = ExtraTreesRegressor(1_000, max_depth=1, max_bins=max_bins, random_state=0)
    model.fit(x[:, None], np.arange(65.0))
    cuts = np.array([tree.tree_.threshold[0] for tree in model.estimators_])
    if max_bins is None:
        law = stats.kstest(cuts, stats.uniform(x[0], x[-1] - x[0]).cdf)
    else:
        # 64 bins of equal weight but for one: the 63 edges are drawn equally often.
        law = stats.chisquare(np.unique(cuts, return_counts=True)[1])
        assert len(np.unique(cuts)) == 63
    assert law.pvalue > 0.01


def test_trees_are_less_correlated_than_those_of_a_random_forest(regression):
    X, y = regression
    args = {"bootstrap": True, "min_samples_leaf": 3, "random_state": 0}
    rho = {
        Forest: variance_decomposition(Forest(400, **args).fit(X, y), X[:40]).rho.mean()
        for Forest in (ExtraTreesRegressor, RandomForestRegressor)
    }
    assert rho[ExtraTreesRegressor] < 0.9 * rho[RandomForestRegressor]


def test_standard_errors_and_out_of_bag_scores_need_draws(regression):
    X, y = regression
    model = ExtraTreesRegressor(20, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="bootstrap=False"):
        model.standard_error(X)
    with pytest.raises(ValueError, match="Out of bag"):
        ExtraTreesRegressor(20, oob_score=True).fit(X, y)
    drawn = ExtraTreesRegressor(
        200, bootstrap=False, max_samples=0.5, oob_score=True, random_state=0
    ).fit(X, y)
    assert (drawn.standard_error(X[:5]) > 0).any()
    outside = [np.setdiff1d(np.arange(len(X)), rows) for rows in drawn.estimators_samples_]
    total, count = np.zeros(len(X)), np.zeros(len(X))
    for tree, rows in zip(drawn.estimators_, outside):
        total[rows] += tree.predict(X[rows])
        count[rows] += 1
    np.testing.assert_allclose(drawn.oob_prediction_, total / count)


def test_what_has_no_bins(regression):
    X, y = regression
    with pytest.raises(ValueError, match="max_bins=16"):
        ExtraTreesRegressor(2, criterion="absolute_error", max_bins=16, monotonic_cst=[1] * 10).fit(
            X, y
        )
    with pytest.raises(ValueError, match="single output"):
        ExtraTreesRegressor(2, max_bins=16).fit(X, np.column_stack([y, y]))
    # Bagging leaves such a tree as it is: its user has chosen its cuts.
    tree = ExtraTreesRegressor().estimator
    with pytest.raises(ValueError, match="max_bins=16"):
        BaggingRegressor(tree, max_bins=16).fit(X, y)
