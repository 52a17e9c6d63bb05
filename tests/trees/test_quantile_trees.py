"""Trees and forests whose nodes have medians and quantiles of their targets."""

import warnings
from contextlib import nullcontext
from dataclasses import fields

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.metrics import mean_pinball_loss
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.fixes import parse_version

from sklearn_ensemble_theory import (
    BaggingRegressor,
    BinnedTreeRegressor,
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn_ensemble_theory.averaging import StandardErrorWarning
from sklearn_ensemble_theory.trees._order_statistics import in_units, lowest_sums
from sklearn_ensemble_theory.trees._tree_arrays import LEAF

from ..routes import native_disabled


def problem(seed, n, p=3, missing=0.0, whole=False, weights=None):
    """(X, y, weight), with ties in some columns and heavy tails in y."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    X[:, 1:] = X[:, 1:].round(1)
    X = X.astype(np.float32).astype(float)
    y = X[:, 0] + rng.standard_t(3, n)
    X[rng.random(X.shape) < missing] = np.nan
    weight = {
        None: None,
        "whole": rng.integers(1, 4, n).astype(float),
        "zero": rng.poisson(1.0, n).astype(float),
        "real": rng.random(n) + 0.01,
    }[weights]
    return X, y.round() if whole else y, weight


def pinball(y, weight, at, tau):
    return float(weight @ np.maximum(tau * (y - at), (tau - 1) * (y - at)))


def least_loss(y, weight, tau):
    return min(pinball(y, weight, at, tau) for at in np.unique(y))


def quantile(y, weight, tau):
    """The middle of all minimisers."""
    losses = np.array([pinball(y, weight, at, tau) for at in np.sort(y)])
    best = np.sort(y)[np.isclose(losses, losses.min(), rtol=1e-11, atol=1e-12)]
    return (best[0] + best[-1]) / 2


CASES = [
    ({"criterion": "absolute_error"}, {}),
    ({"criterion": "absolute_error", "min_samples_leaf": 4}, {"weights": "whole", "missing": 0.2}),
    ({"criterion": "quantile", "quantile": 0.9}, {"whole": True}),
    ({"criterion": "quantile", "quantile": 0.1}, {"weights": "real", "missing": 0.2}),
    ({"criterion": "quantile", "quantile": 0.37}, {"weights": "whole", "whole": True}),
    ({"criterion": "quantile", "min_samples_leaf": 9}, {"weights": "real"}),
    ({"criterion": "quantile", "min_weight_fraction_leaf": 0.1}, {"missing": 0.4}),
]


@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize("case", range(len(CASES)))
def test_all_cuts_of_all_nodes(case, native):
    """Values, impurities and the loss of every cut, by loops over all cuts and all constants."""
    params, kind = CASES[case]
    X, y, given = problem(case, 70, **kind)
    tree = BinnedTreeRegressor(random_state=case, **params)
    if native:
        nodes = tree.fit(X, y, given)._nodes()
    else:
        with native_disabled():
            nodes = tree.fit(X, y, given)._nodes()
    weight = np.ones(len(y)) if given is None else given
    is_median = tree.criterion == "absolute_error"
    tau, factor = (0.5, 2.0) if is_median else (tree.quantile, 1.0)
    least_weight = tree.min_weight_fraction_leaf * weight.sum()
    stack, n_cuts = [(0, np.arange(len(y)))], 0
    while stack:
        i, rows = stack.pop()
        here, w = y[rows], weight[rows]
        assert nodes.n_rows[i] == len(rows)
        assert nodes.weight[i] == pytest.approx(w.sum())
        assert nodes.value[i, 0] == pytest.approx(quantile(here, w, tau), rel=1e-12)
        loss = least_loss(here, w, tau)
        assert nodes.impurity[i] == pytest.approx(factor * loss / w.sum(), rel=1e-9, abs=1e-12)
        best = np.inf
        for column in X[rows].T:
            misses = np.isnan(column)
            for missing_left in (False, True)[: 1 + misses.any()]:
                for at in np.unique(column[~misses]):
                    left = np.where(misses, missing_left, column <= at)
                    few = min(left.sum(), (~left).sum()) < tree.min_samples_leaf
                    if (
                        few
                        or min(w[left].sum(), w[~left].sum()) < least_weight
                        or np.ptp(here) == 0
                    ):
                        continue
                    sides = (least_loss(here[s], w[s], tau) for s in (left, ~left))
                    best = min(best, sum(sides))
        if nodes.left[i] == LEAF:
            assert best == np.inf
            continue
        n_cuts += 1
        column = X[rows, nodes.feature[i]]
        left = np.where(np.isnan(column), nodes.missing_left[i] == 1, column <= nodes.threshold[i])
        sides = [least_loss(here[s], w[s], tau) for s in (left, ~left)]
        assert sum(sides) == pytest.approx(best, rel=1e-9)
        stack += [(nodes.left[i], rows[left]), (nodes.right[i], rows[~left])]
    assert n_cuts >= 5


ROUTES = [
    ({}, {"n": 300}),
    ({"splitter": "random"}, {"n": 200, "missing": 0.2, "weights": "zero"}),
    ({"splitter": "random", "max_features": 2, "min_samples_leaf": 3}, {"n": 150, "whole": True}),
    ({"max_features": 1, "min_samples_leaf": 5}, {"n": 300, "missing": 0.1, "weights": "real"}),
    ({"max_leaf_nodes": 9, "max_features": 2}, {"n": 300, "whole": True, "weights": "zero"}),
    ({"max_depth": 4, "min_impurity_decrease": 0.003}, {"n": 300, "weights": "whole"}),
    ({"min_weight_fraction_leaf": 0.05, "min_samples_split": 30}, {"n": 300, "missing": 0.3}),
    # More rows than 64²: three levels of words.
    ({"max_depth": 3, "max_bins": 2047}, {"n": 6_000, "weights": "zero", "missing": 0.05}),
]


@pytest.mark.parametrize("criterion", ["absolute_error", "quantile"])
@pytest.mark.parametrize("case", range(len(ROUTES)))
def test_both_routes_grow_the_same_tree(case, criterion):
    params, kind = ROUTES[case]
    X, y, weight = problem(case, **kind)
    tree = BinnedTreeRegressor(criterion=criterion, quantile=0.8, random_state=case, **params)
    ours = clone(tree).fit(X, y, weight)._nodes()
    with native_disabled():
        theirs = clone(tree).fit(X, y, weight)._nodes()
    assert len(ours.left) > 5
    for field in fields(ours):
        a, b = getattr(ours, field.name), getattr(theirs, field.name)
        if field.name == "missing_left":
            a, b = a[ours.left != LEAF], b[ours.left != LEAF]
        if field.name == "impurity":
            np.testing.assert_allclose(a, b, rtol=1e-12)
        else:
            assert np.array_equal(a, b), field.name


@pytest.mark.parametrize("max_leaf_nodes", [None, 40])
@pytest.mark.parametrize("seed", range(10, 20))
def test_both_routes_make_a_cut_that_gains_nothing(seed, max_leaf_nodes):
    """Rounding does not refuse it where weights are not whole and many targets are equal."""
    X, y, weight = problem(seed, 60, whole=True, weights="real")
    tree = BinnedTreeRegressor(criterion="quantile", quantile=0.9, max_bins=16, min_samples_leaf=3)
    tree.set_params(max_leaf_nodes=max_leaf_nodes, random_state=0)
    ours = clone(tree).fit(X, 1e3 * y, weight)._nodes()
    with native_disabled():
        theirs = clone(tree).fit(X, 1e3 * y, weight)._nodes()
    assert np.array_equal(ours.threshold, theirs.threshold)


def test_lowest_sums_against_loops():
    rng = np.random.default_rng(0)
    rows = in_units(np.sort(rng.normal(size=50).round(1)), rng.integers(1, 5, 50).astype(float))
    order = rng.permutation(50)
    start = rng.integers(0, 40, 30)
    stop = start + rng.integers(1, 10, 30)
    for tau in (0.05, 0.5, 0.77):
        found = lowest_sums(order, start, stop, rows, tau)
        for a, b, value in zip(start, stop, found):
            part = np.sort(order[a:b])
            w, t = rows.w[part], rows.t[part]
            losses = [pinball(t, w, at, tau) for at in t]
            assert tau * (w @ t) - value == pytest.approx(min(losses), rel=1e-9, abs=1e-3)


@pytest.mark.parametrize("seed", range(4))
def test_against_exact_trees(seed):
    """Each value has its own bin, so that cuts and medians are those of scikit-learn.

    Its impurities of weighted rows are those of medians since release 1.8 only.
    """
    weights = (
        "whole" if seed % 2 and parse_version(sklearn.__version__) >= parse_version("1.8") else None
    )
    X, y, weight = problem(seed, 200, weights=weights)
    params = {"criterion": "absolute_error", "max_depth": 3, "min_samples_leaf": 12}
    ours = BinnedTreeRegressor(**params, random_state=0).fit(X, y, weight)
    theirs = DecisionTreeRegressor(**params, random_state=0).fit(X, y, weight)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-12)
    np.testing.assert_allclose(ours.tree_.impurity, theirs.tree_.impurity, rtol=1e-9)
    np.testing.assert_allclose(
        ours.feature_importances_, theirs.feature_importances_, rtol=1e-9, atol=1e-12
    )


def test_a_quantile_of_one_half_is_a_median():
    X, y, weight = problem(1, 150, weights="real")
    median = BinnedTreeRegressor(criterion="absolute_error", random_state=0).fit(X, y, weight)
    half = BinnedTreeRegressor(criterion="quantile", random_state=0).fit(X, y, weight)
    assert np.array_equal(median.predict(X), half.predict(X))
    np.testing.assert_allclose(median.tree_.impurity, 2 * half.tree_.impurity)


def test_whole_weights_are_repeated_rows():
    X, y, weight = problem(2, 120, weights="zero")
    rows = np.repeat(np.arange(120), weight.astype(int))
    params = {"criterion": "quantile", "quantile": 0.3, "random_state": 0, "max_depth": 5}
    weighted = BinnedTreeRegressor(**params).fit(X, y, weight)
    repeated = BinnedTreeRegressor(**params).fit(X[rows], y[rows])
    assert np.array_equal(weighted.tree_.threshold, repeated.tree_.threshold)
    assert np.array_equal(weighted.predict(X), repeated.predict(X))


@pytest.mark.parametrize("native", [True, False])
def test_the_middle_of_quantiles_in_spite_of_rounding(native):
    """0.55 of 100 rows are 55 rows, though 0.55 * 100 > 55; and 0.7 * 90 < 63."""
    assert 0.55 * 100 > 55
    assert 0.7 * 90 < 63
    for tau, n, middle in ((0.55, 100, 54.5), (0.7, 90, 62.5), (0.5, 10, 4.5), (0.3, 3, 0.0)):
        tree = BinnedTreeRegressor(criterion="quantile", quantile=tau, max_depth=1)
        X, y = np.zeros((n, 1)), np.arange(float(n))
        with nullcontext() if native else native_disabled():
            assert tree.fit(X, y).predict(X[:1]) == middle
            assert tree.fit(X, y, np.full(n, 3.0)).predict(X[:1]) == middle


@pytest.mark.parametrize("power", [-900, -60, 60, 900])
def test_units_of_the_targets(power):
    X, y, _ = problem(3, 150)
    tree = BinnedTreeRegressor(criterion="absolute_error", random_state=0).fit(X, y)
    scaled = clone(tree).fit(X, np.ldexp(y, power))
    assert np.array_equal(scaled.predict(X), np.ldexp(tree.predict(X), power))
    np.testing.assert_allclose(scaled.tree_.impurity, np.ldexp(tree.tree_.impurity, power))
    far = clone(tree).fit(X, y + 2.0**20)
    np.testing.assert_allclose(far.predict(X) - 2.0**20, tree.predict(X), atol=1e-9)


def test_pruning_reduces_the_mean_loss():
    X, y, _ = problem(4, 200)
    tree = BinnedTreeRegressor(criterion="absolute_error", random_state=0)
    alphas = tree.cost_complexity_pruning_path(X, y).ccp_alphas
    pruned = clone(tree).set_params(ccp_alpha=float(alphas[-2])).fit(X, y)
    assert 1 < pruned.tree_.n_leaves < tree.fit(X, y).tree_.n_leaves


# ------------------------------------------------------------------------------- Forests

FORESTS = (RandomForestRegressor, ExtraTreesRegressor)


@pytest.mark.parametrize("Forest", FORESTS)
@pytest.mark.parametrize("criterion", ["absolute_error", "quantile"])
def test_what_forests_offer(Forest, criterion):
    X, y, _ = problem(5, 150)
    forest = Forest(20, criterion=criterion, quantile=0.8, bootstrap=True, random_state=0)
    forest.set_params(max_bins=64, min_samples_leaf=3, n_jobs=2, warm_start=True).fit(X, y)
    forest.set_params(n_estimators=40, oob_score=True).fit(X, y)
    alone = clone(forest).set_params(n_jobs=1, warm_start=False).fit(X, y)
    assert np.array_equal(forest.predict(X), alone.predict(X))
    assert np.array_equal(forest.oob_prediction_, alone.oob_prediction_)
    assert {type(tree) for tree in forest.estimators_} == {BinnedTreeRegressor}
    assert np.isfinite(forest.oob_prediction_).all()
    assert forest.feature_importances_.sum() == pytest.approx(1.0)
    low, high = forest.predict_quantiles(X, [0.1, 0.9]).T
    assert (low <= high).all()
    with warnings.catch_warnings():  # of few trees
        warnings.simplefilter("ignore", StandardErrorWarning)
        assert (forest.standard_error(X[:5]) >= 0).all()
    np.testing.assert_allclose(forest.to_sklearn().predict(X), forest.predict(X), rtol=1e-12)


@pytest.mark.parametrize("Forest", FORESTS)
def test_forests_predict_quantiles(Forest):
    """The loss that they minimise is smaller than that of means."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(1_200, 3))
    y = X[:, 0] + rng.exponential(1 + X[:, 1])
    params = {"n_estimators": 15, "min_samples_leaf": 15, "random_state": 0}
    means = Forest(**params).fit(X[:800], y[:800]).predict(X[800:])
    for tau in (0.1, 0.5, 0.9):
        forest = Forest(criterion="quantile", quantile=tau, **params).fit(X[:800], y[:800])
        found = forest.predict(X[800:])
        loss = mean_pinball_loss(y[800:], found, alpha=tau)
        assert loss < mean_pinball_loss(y[800:], means, alpha=tau)
        assert np.mean(y[800:] <= found) == pytest.approx(tau, abs=0.07)


def test_when_medians_are_in_bins(monkeypatch):
    """Above fewer rows than means, where nothing asks for exact trees."""
    X, y, _ = problem(6, 60)
    median = RandomForestRegressor(2, criterion="absolute_error", random_state=0)
    assert type(median.fit(X, y).estimator_) is DecisionTreeRegressor
    monkeypatch.setattr("sklearn_ensemble_theory.averaging._members.MEDIAN_ROWS", 50)
    assert median.fit(X, y).estimator_.max_bins == 2047
    bagged = BaggingRegressor(DecisionTreeRegressor(criterion="absolute_error"), 2, random_state=0)
    assert bagged.fit(X, y).estimator_.max_bins == 2047
    for params, targets in (
        ({"max_bins": None}, y),
        ({"monotonic_cst": [1, 0, 0]}, y),
        ({}, np.column_stack([y, y])),
    ):
        exact = clone(median).set_params(**params).fit(X, targets)
        assert type(exact.estimator_) is DecisionTreeRegressor


REFUSED = [
    ({"max_bins": None}, "max_bins other than None"),
    ({"monotonic_cst": [1, 0, 0]}, "monotonic_cst=None"),
    ({"categorical_features": [1]}, "without categorical features"),
    ({"quantile": 1.0}, "'quantile' parameter"),
    ({"quantile": [0.1]}, "'quantile' parameter"),
]


@pytest.mark.parametrize("Forest", FORESTS)
@pytest.mark.parametrize(("params", "message"), REFUSED)
def test_what_forests_refuse(Forest, params, message):
    X, y, _ = problem(7, 40)
    with pytest.raises(ValueError, match=message):
        Forest(2, criterion="quantile", **params).fit(X, y)


@pytest.mark.parametrize("Forest", FORESTS)
def test_forests_of_quantiles_refuse_sparse_rows_and_several_outputs(Forest):
    X, y, _ = problem(7, 40)
    for rows, targets in ((sp.csr_matrix(X), y), (X, np.column_stack([y, y]))):
        with pytest.raises(ValueError, match="dense X of numbers, not a sparse one, and a single"):
            Forest(2, criterion="quantile").fit(rows, targets)


@pytest.mark.parametrize("criterion", ["absolute_error", "quantile"])
def test_what_trees_refuse(criterion):
    X, y, _ = problem(8, 40)
    for params, message in (
        ({"monotonic_cst": [1, 0, 0]}, "monotonic_cst=None"),
        ({"l2_regularization": 1.0}, "l2_regularization requires"),
        ({"categorical_features": [1]}, "without categorical features"),
    ):
        with pytest.raises(ValueError, match=message):
            BinnedTreeRegressor(criterion=criterion, **params).fit(np.abs(X.round()), y)


def test_gradient_boosting_has_its_own_medians():
    """Its trees fit gradients, by the squared error unless the tree says otherwise."""
    X, y, _ = problem(9, 100)
    model = GradientBoostingRegressor(loss="absolute_error", n_estimators=3).fit(X, y)
    assert model.estimators_[0][0].criterion == "squared_error"
