"""Forests and bagging of trees on binned columns: when they are used, and that all else works."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_classification, make_friedman1
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeRegressor,
)

from sklearn_ensemble_theory import (
    BaggingClassifier,
    BaggingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn_ensemble_theory.inspection import ensemble_std, variance_decomposition
from sklearn_ensemble_theory.trees import BinnedTreeClassifier, BinnedTreeRegressor

AUTO_ROWS = "sklearn_ensemble_theory.averaging._bags.AUTO_ROWS"
ENSEMBLES = [RandomForestRegressor, RandomForestClassifier, BaggingRegressor, BaggingClassifier]
BINNED = {
    RandomForestRegressor: BinnedTreeRegressor,
    RandomForestClassifier: BinnedTreeClassifier,
    BaggingRegressor: BinnedTreeRegressor,
    BaggingClassifier: BinnedTreeClassifier,
}
EXACT = {
    RandomForestRegressor: DecisionTreeRegressor,
    RandomForestClassifier: DecisionTreeClassifier,
    BaggingRegressor: DecisionTreeRegressor,
    BaggingClassifier: DecisionTreeClassifier,
}
every_ensemble = pytest.mark.parametrize("Ensemble", ENSEMBLES)


def data(Ensemble, n=300):
    """Columns of more than 32 distinct values, and targets of the ensemble's kind."""
    X, y = make_friedman1(n, 6, noise=1.0, random_state=0)
    if EXACT[Ensemble] is DecisionTreeClassifier:
        y = np.array(["high", "low", "middle"])[np.digitize(y, np.quantile(y, [0.3, 0.7]))]
    return X, y


def is_classification(Ensemble):
    return EXACT[Ensemble] is DecisionTreeClassifier


def outputs(ensemble, X):
    """The mean of the members' predictions."""
    return getattr(ensemble, "predict_proba", ensemble.predict)(X)


# ------------------------------------------------------------------------------- When bins are used


@every_ensemble
def test_auto_bins_above_a_number_of_rows(Ensemble, monkeypatch):
    X, y = data(Ensemble, 60)
    monkeypatch.setattr(AUTO_ROWS, 60)
    exact = Ensemble(n_estimators=3, random_state=0).fit(X, y)
    assert {type(tree) for tree in exact.estimators_} == {EXACT[Ensemble]}
    assert type(exact.estimator_) is EXACT[Ensemble]
    none = clone(exact).set_params(max_bins=None).fit(X, y)
    assert np.array_equal(outputs(exact, X), outputs(none, X))

    monkeypatch.setattr(AUTO_ROWS, 59)
    binned = clone(exact).fit(X, y)
    assert {type(tree) for tree in binned.estimators_} == {BINNED[Ensemble]}
    assert type(binned.estimator_) is BINNED[Ensemble]
    assert all(isinstance(tree, EXACT[Ensemble]) for tree in binned.estimators_)
    assert binned.estimator_.max_bins == 2047
    none = clone(exact).set_params(max_bins=None).fit(X, y)
    assert type(none.estimator_) is EXACT[Ensemble]


def test_auto_has_2047_bins_above_ten_thousand_rows():
    X, y = data(RandomForestRegressor, 10_001)
    forest = RandomForestRegressor(1, max_depth=1, random_state=0)
    assert forest.fit(X, y).estimator_.max_bins == 2047
    assert not hasattr(forest.fit(X[1:], y[1:]).estimator_, "max_bins")


def cases_without_bins():
    """(ensemble, X, y) that trees on binned columns cannot serve, and why."""
    X, y = data(RandomForestRegressor, 60)
    yield "sparse", RandomForestRegressor(2), sp.csr_matrix(X), y
    yield "outputs", RandomForestRegressor(2), X, np.column_stack([y, -y])
    constrained = {"criterion": "absolute_error", "monotonic_cst": [1] * 6}
    yield "criterion", RandomForestRegressor(2, **constrained), X, y
    yield "sparse", BaggingRegressor(n_estimators=2), sp.csc_matrix(X), y
    yield "outputs", BaggingRegressor(n_estimators=2), X, np.column_stack([y, -y])
    yield "learner", BaggingRegressor(KNeighborsRegressor(), n_estimators=2), X, y
    yield "learner", BaggingRegressor(ExtraTreeRegressor(), n_estimators=2), X, y
    yield "own bins", BaggingRegressor(BinnedTreeRegressor(), n_estimators=2), X, y


@pytest.mark.parametrize(
    ("ensemble", "X", "y"), [pytest.param(*case[1:], id=case[0]) for case in cases_without_bins()]
)
def test_what_cannot_be_binned(ensemble, X, y, monkeypatch):
    """ "auto" is then as None, and a number is an error."""
    monkeypatch.setattr(AUTO_ROWS, 50)
    ensemble = ensemble.set_params(random_state=0)
    automatic = clone(ensemble).fit(X, y)
    exact = clone(ensemble).set_params(max_bins=None).fit(X, y)
    assert type(automatic.estimator_) is type(exact.estimator_)
    assert np.array_equal(automatic.predict(X), exact.predict(X))
    fresh = ensemble.set_params(max_bins=16)
    with pytest.raises(ValueError, match="max_bins=16"):
        fresh.fit(X, y)
    assert not hasattr(fresh, "estimators_")


@every_ensemble
@pytest.mark.parametrize("max_bins", [1, 65_536, "all", 2.5])
def test_values_of_max_bins(Ensemble, max_bins):
    X, y = data(Ensemble, 20)
    with pytest.raises(ValueError, match="max_bins"):
        Ensemble(max_bins=max_bins).fit(X, y)


def test_infinite_values():
    X, y = data(RandomForestRegressor, 40)
    X[3, 2] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        RandomForestRegressor(2, max_bins=16).fit(X, y)


# ------------------------------------------------------------------------------- The same trees


@every_ensemble
@pytest.mark.parametrize("max_leaf_nodes", [None, 12])
def test_members_are_the_learner_fitted_to_the_drawn_rows(Ensemble, max_leaf_nodes):
    """With few values the bins are those of any subset of the rows: a tree can be fitted alone."""
    X, y = data(Ensemble)
    X = np.round(4 * X)
    options = {"max_leaf_nodes": max_leaf_nodes, "max_features": 0.5, "min_samples_leaf": 3}
    if "Forest" not in Ensemble.__name__:
        options = {"estimator": EXACT[Ensemble](**options)}
    ensemble = Ensemble(n_estimators=3, max_bins=64, random_state=0, **options).fit(X, y)
    codes = np.unique(y, return_inverse=True)[1] if is_classification(Ensemble) else y
    for member, rows in zip(ensemble.estimators_, ensemble.estimators_samples_):
        distinct, counts = np.unique(rows, return_counts=True)
        alone = clone(member).fit(X[distinct], codes[distinct], sample_weight=counts)
        assert np.allclose(member.predict(X), alone.predict(X))
        assert member.tree_.node_count == alone.tree_.node_count


@every_ensemble
def test_few_values_give_the_impurity_of_exact_trees(Ensemble):
    X, y = data(Ensemble)
    X = np.round(4 * X)
    binned = Ensemble(n_estimators=3, max_bins=64, random_state=0).fit(X, y)
    exact = Ensemble(n_estimators=3, max_bins=None, random_state=0).fit(X, y)
    assert np.array_equal(binned.estimators_samples_, exact.estimators_samples_)
    scores = [e.score(X, y) for e in (binned, exact)]
    assert scores[0] == pytest.approx(scores[1], abs=0.02)


@every_ensemble
def test_quality_above_ten_thousand_rows(Ensemble):
    X, y = make_friedman1(13_000, 6, noise=1.0, random_state=0)
    if is_classification(Ensemble):
        y = (y > np.median(y)).astype(int)
    args = {"n_estimators": 4, "random_state": 0}
    binned = Ensemble(**args).fit(X[:12_000], y[:12_000])
    exact = Ensemble(max_bins=None, **args).fit(X[:12_000], y[:12_000])
    assert type(binned.estimators_[0]) is BINNED[Ensemble]
    held_out = X[12_000:], y[12_000:]
    assert binned.score(*held_out) == pytest.approx(exact.score(*held_out), abs=0.015)


@every_ensemble
def test_the_same_for_any_number_of_jobs(Ensemble):
    X, y = data(Ensemble)
    args = {"n_estimators": 5, "max_bins": 32, "oob_score": True, "random_state": 0}
    one = fitted_out_of_bag(Ensemble(**args), X, y)
    for n_jobs in (2, 4):
        more = fitted_out_of_bag(Ensemble(n_jobs=n_jobs, **args), X, y)
        assert np.array_equal(outputs(one, X), outputs(more, X))
        assert np.array_equal(one.oob_scores_, more.oob_scores_)


def fitted_out_of_bag(ensemble, X, y):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Some inputs do not have OOB scores")
        return ensemble.fit(X, y)


# --------------------------------------------------------------------------- All else as before


@every_ensemble
@pytest.mark.parametrize("bootstrap", [True, False, "bernoulli", "bayesian", "poisson"])
def test_sampling_schemes(Ensemble, bootstrap):
    X, y = data(Ensemble)
    size = None if bootstrap == "bayesian" else 0.6
    ensemble = Ensemble(
        n_estimators=6, max_bins=64, bootstrap=bootstrap, max_samples=size, random_state=0
    ).fit(X, y)
    # Out of the sample of some members: below the score of exact memory, but far above chance.
    assert ensemble.score(X, y) > 0.8
    weighted = clone(ensemble)
    if is_classification(Ensemble) and hasattr(ensemble, "class_weight"):
        weighted.set_params(class_weight="balanced")
    weight = np.random.default_rng(0).integers(1, 3, len(y))
    if bootstrap is False and "Bagging" in Ensemble.__name__:
        with pytest.warns(UserWarning, match="it is recommended to use bootstrap=True"):
            weighted.fit(X, y, sample_weight=weight)
    else:
        weighted.fit(X, y, sample_weight=weight)
    assert weighted.score(X, y) > 0.75


@every_ensemble
def test_out_of_bag_estimates(Ensemble):
    X, y = data(Ensemble)
    args = {"n_estimators": 30, "oob_score": True, "random_state": 0}
    binned = Ensemble(max_bins=32, **args).fit(X, y)
    values = getattr(binned, "oob_prediction_", getattr(binned, "oob_decision_function_", None))
    total, counts = np.zeros_like(values), np.zeros(len(X))
    for member, rows in zip(binned.estimators_, binned.estimators_samples_):
        outside = np.setdiff1d(np.arange(len(X)), rows)
        method = member.predict_proba if is_classification(Ensemble) else member.predict
        total[outside] += method(X[outside])
        counts[outside] += 1
    assert np.allclose(values.T, total.T / counts)
    assert len(binned.oob_scores_) == 30
    exact = Ensemble(max_bins=None, **args).fit(X, y)
    assert binned.oob_score_ == pytest.approx(exact.oob_score_, abs=0.08)


@pytest.mark.filterwarnings("ignore:Monte Carlo noise exceeds")
@every_ensemble
def test_uncertainty(Ensemble):
    X, y = data(Ensemble)
    results = []
    for max_bins in (64, None):
        ensemble = Ensemble(n_estimators=200, max_bins=max_bins, random_state=0).fit(X, y)
        parts = variance_decomposition(ensemble, X[:20])
        results.append((ensemble_std(ensemble, X[:20]).mean(), parts.sigma2.mean()))
        assert np.isfinite(parts.rho).all()
    assert results[0] == pytest.approx(results[1], rel=0.2)


@every_ensemble
def test_warm_start_continues(Ensemble):
    X, y = data(Ensemble)
    args = {"max_bins": 32, "random_state": 0, "oob_score": True}
    whole = Ensemble(n_estimators=25, **args).fit(X, y)
    parts = fitted_out_of_bag(Ensemble(n_estimators=8, warm_start=True, **args), X, y)
    parts.set_params(n_estimators=25).fit(X, y)
    assert np.array_equal(outputs(parts, X), outputs(whole, X))
    assert np.array_equal(parts.oob_scores_, whole.oob_scores_, equal_nan=True)


def test_warm_start_from_exact_to_binned_trees(monkeypatch):
    X, y = data(RandomForestRegressor)
    forest = RandomForestRegressor(3, warm_start=True, random_state=0).fit(X, y)
    forest.set_params(n_estimators=6, max_bins=32).fit(X, y)
    kinds = [type(tree) for tree in forest.estimators_]
    assert kinds == [DecisionTreeRegressor] * 3 + [BinnedTreeRegressor] * 3
    mean = np.mean([tree.predict(X) for tree in forest.estimators_], axis=0)
    assert np.allclose(forest.predict(X), mean)
    assert np.isfinite(ensemble_std(forest, X)).all()


@pytest.mark.parametrize("class_weight", ["balanced", "balanced_subsample", {0: 1.0, 1: 8.0}])
def test_class_weights(class_weight):
    X, y = make_classification(
        600, 8, n_informative=4, weights=[0.9], flip_y=0.05, class_sep=0.5, random_state=0
    )
    args = {"n_estimators": 20, "max_leaf_nodes": 8, "max_bins": 64, "random_state": 0}
    plain = RandomForestClassifier(**args).fit(X, y)
    weighted = RandomForestClassifier(class_weight=class_weight, **args).fit(X, y)
    exact = RandomForestClassifier(class_weight=class_weight, **args).set_params(max_bins=None)
    exact.fit(X, y)
    share = [f.predict_proba(X)[:, 1].mean() for f in (plain, weighted, exact)]
    assert share[1] > share[0] + 0.1
    assert share[1] == pytest.approx(share[2], abs=0.03)


def test_monotonic_constraints():
    X, y = data(RandomForestRegressor)
    forest = RandomForestRegressor(
        10, max_bins=32, monotonic_cst=[0, 0, 0, 1, 0, 0], random_state=0
    ).fit(X, y)
    grid = np.repeat(X[:20], 9, axis=0)
    grid[:, 3] = np.tile(np.linspace(0, 1, 9), 20)
    assert (np.diff(forest.predict(grid).reshape(20, 9), axis=1) >= -1e-12).all()


def test_missing_values():
    X, y = data(RandomForestRegressor)
    X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    scores = [
        RandomForestRegressor(30, max_bins=b, oob_score=True, random_state=0).fit(X, y).oob_score_
        for b in (64, None)
    ]
    assert scores[0] == pytest.approx(scores[1], abs=0.05)


@every_ensemble
def test_a_class_that_a_member_lacks_and_single_classes(Ensemble):
    X, y = data(Ensemble, 40)
    if is_classification(Ensemble):
        y = np.where(np.arange(40) < 2, "rare", "common")
    ensemble = Ensemble(n_estimators=10, max_bins=16, max_samples=8, random_state=0).fit(X, y)
    result = outputs(ensemble, X)
    assert np.isfinite(result).all()
    if is_classification(Ensemble):
        assert np.allclose(result.sum(axis=1), 1)
        assert np.isin(ensemble.predict(X), ["rare", "common"]).all()


@every_ensemble
def test_fitted_ensembles_can_be_pickled_and_inspected(Ensemble):
    X, y = data(Ensemble)
    ensemble = Ensemble(n_estimators=3, max_bins=32, random_state=0).fit(X, y)
    again = pickle.loads(pickle.dumps(ensemble))
    assert np.array_equal(outputs(again, X), outputs(ensemble, X))
    # Neither the rows nor their bins are kept.
    assert len(pickle.dumps(Ensemble(n_estimators=1, max_bins=4).fit(X[:, :1], y))) < 40_000
    assert ensemble.feature_importances_.sum() == pytest.approx(1)
    if "Forest" in Ensemble.__name__:
        leaves = ensemble.apply(X)
        assert leaves.shape == (len(X), 3)
        paths, starts = ensemble.decision_path(X)
        assert paths.shape == (len(X), starts[-1])
        assert np.array_equal(leaves[:, 1], ensemble.estimators_[1].apply(X))


@every_ensemble
def test_binned_trees_given_by_the_user_share_their_bins(Ensemble, monkeypatch):
    """As many rows as there are distinct values of X: the bins of all rows are not a member's."""
    if "Forest" in Ensemble.__name__:
        pytest.skip("forests have no base learner")
    X, y = data(Ensemble)
    given = Ensemble(BINNED[Ensemble](max_bins=32), n_estimators=3, random_state=0).fit(X, y)
    chosen = Ensemble(EXACT[Ensemble](), n_estimators=3, max_bins=32, random_state=0).fit(X, y)
    assert np.array_equal(outputs(given, X), outputs(chosen, X))


@every_ensemble
def test_columns_drawn_for_each_member(Ensemble):
    if "Forest" in Ensemble.__name__:
        pytest.skip("forests draw at the splits")
    X, y = data(Ensemble)
    for bootstrap_features in (False, True):
        ensemble = Ensemble(
            n_estimators=10,
            max_features=0.5,
            bootstrap_features=bootstrap_features,
            max_bins=32,
            oob_score=True,
            random_state=0,
        )
        fitted_out_of_bag(ensemble, X, y)
        assert all(tree.n_features_in_ == 3 for tree in ensemble.estimators_)
        assert ensemble.oob_score_ > 0.3
    mean = np.mean(
        [
            getattr(tree, "predict_proba", tree.predict)(X[:, columns])
            for tree, columns in zip(ensemble.estimators_, ensemble.estimators_features_)
        ],
        axis=0,
    )
    assert np.allclose(outputs(ensemble, X), mean)


def test_zero_weights_are_rows_left_out():
    """Rows of weight 0 change neither the bins nor the trees."""
    X, y = data(RandomForestRegressor)
    kept = np.arange(len(y)) % 3 > 0
    args = {"max_bins": 16, "bootstrap": False, "max_features": 0.5, "random_state": 0}
    whole = RandomForestRegressor(3, **args).fit(X, y, sample_weight=kept.astype(float))
    part = RandomForestRegressor(3, **args).fit(X[kept], y[kept])
    assert np.allclose(whole.predict(X), part.predict(X))


@pytest.mark.parametrize("Ensemble", [RandomForestRegressor, BaggingRegressor])
@pytest.mark.parametrize("max_bins", [None, 16])
def test_negative_counts(Ensemble, max_bins):
    X, y = data(Ensemble, 40)
    if Ensemble is RandomForestRegressor:
        ensemble = Ensemble(2, criterion="poisson", max_bins=max_bins)
    else:
        tree = DecisionTreeRegressor(criterion="poisson")
        ensemble = Ensemble(tree, n_estimators=2, max_bins=max_bins)
    for wrong in (-y, np.zeros_like(y)):
        with pytest.raises(ValueError, match="poisson"):
            ensemble.fit(X, wrong)
    ensemble.fit(X, np.round(y))


@pytest.mark.parametrize("max_bins", [None, 16])
def test_draws_without_any_event(max_bins):
    """As in scikit-learn, the sum of y must be positive over all rows, not in every draw."""
    X, y = data(RandomForestRegressor, 40)
    y = (np.arange(40) == 7).astype(float)
    forest = RandomForestRegressor(20, criterion="poisson", max_bins=max_bins, random_state=0)
    forest.fit(X, y)
    without = [7 not in rows for rows in forest.estimators_samples_]
    assert any(without)
    assert not forest.estimators_[without.index(True)].predict(X).any()
