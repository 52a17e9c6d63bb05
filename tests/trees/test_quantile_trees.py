"""Trees and forests whose nodes have medians and quantiles of their targets."""

import warnings

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.metrics import mean_pinball_loss
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.fixes import parse_version

from sklearn_ensemble_theory import (
    BaggingRegressor,
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    RandomForestRegressor,
    export,
)
from sklearn_ensemble_theory.averaging import StandardErrorWarning
from sklearn_ensemble_theory.trees import BinnedTreeRegressor

from .engine import LEAF, BinnedColumns, nodes_of


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
    """At a quantile; y increases."""
    cumulated = np.cumsum(weight)
    at = y[np.searchsorted(cumulated, tau * cumulated[-1] * (1 - 1e-14))]
    return pinball(y, weight, at, tau)


def test_the_least_loss_is_that_of_a_quantile():
    rng = np.random.default_rng(0)
    for tau in (0.05, 0.5, 0.77):
        for n in (1, 2, 7, 40):
            y, weight = np.sort(rng.normal(size=n).round(1)), rng.random(n)
            brute = min(pinball(y, weight, at, tau) for at in y)
            assert least_loss(y, weight, tau) == pytest.approx(brute, abs=1e-12)


def quantile(y, weight, tau):
    """The middle of all minimisers."""
    losses = np.array([pinball(y, weight, at, tau) for at in np.sort(y)])
    best = np.sort(y)[np.isclose(losses, losses.min(), rtol=1e-11, atol=1e-12)]
    return (best[0] + best[-1]) / 2


def check_tree(tree, X, y, weight):
    """Values, impurities and cuts of all nodes, by loops over all cuts and all constants.

    Of drawn features only the cuts by the one of a node are compared, and of random cuts none.
    """
    if weight is not None:
        X, y, weight = (a[weight > 0] for a in (X, y, weight))
    order = np.argsort(y, kind="stable")
    X, y = X[order], y[order]
    weight = np.ones(len(y)) if weight is None else weight[order]
    nodes = nodes_of(tree.fit(X, y, weight))
    columns = BinnedColumns.of(X, tree.max_bins, weight, two_bytes=True)
    is_random, total = tree.splitter == "random", weight.sum()
    is_median = tree.criterion == "absolute_error"
    tau, factor = (0.5, 2.0) if is_median else (tree.quantile, 1.0)
    least_weight = tree.min_weight_fraction_leaf * total

    def loss_of(rows, left):
        """Of both sides; infinite where the cut is not allowed."""
        sides = rows[left], rows[~left]
        if min(map(len, sides)) < tree.min_samples_leaf:
            return np.inf
        if min(weight[side].sum() for side in sides) < least_weight * (1 - 1e-12):
            return np.inf
        return sum(least_loss(y[side], weight[side], tau) for side in sides)

    def best_loss(rows, features):
        best = np.inf
        for j in features:
            codes = columns.codes[rows, j]
            misses = codes == columns.missing
            for missing_left in (False, True)[: 1 + misses.any()]:
                for code in np.unique(codes[~misses]):
                    left = np.where(misses, missing_left, codes <= code)
                    best = min(best, loss_of(rows, left))
        return best

    gains, frontier = np.zeros(len(nodes)), []
    stack = [(0, np.arange(len(y)), 0)]
    while stack:
        i, rows, depth = stack.pop()
        here, w = y[rows], weight[rows]
        assert nodes.n_rows[i] == len(rows)
        assert nodes.weight[i] == pytest.approx(w.sum())
        assert nodes.value[i, 0] == pytest.approx(quantile(here, w, tau), rel=1e-12)
        loss = least_loss(here, w, tau)
        assert nodes.impurity[i] == pytest.approx(factor * loss / w.sum(), rel=1e-9, abs=1e-12)
        is_leaf = nodes.left[i] == LEAF
        may_split = (
            (tree.max_depth is None or depth < tree.max_depth)
            and len(rows) >= tree.min_samples_split
            and np.ptp(here) > 0
        )
        features = range(X.shape[1]) if tree.max_features is None else [nodes.feature[i]]
        best = np.inf
        if may_split and not is_random and (tree.max_features is None or not is_leaf):
            best = best_loss(rows, features)
        gains[i] = factor * (loss - best) / total
        if is_leaf:
            frontier.append(i)
            continue
        assert may_split
        assert is_random or gains[i] >= tree.min_impurity_decrease - 1e-12
        codes = columns.codes[rows, nodes.feature[i]]
        misses = codes == columns.missing
        left = np.where(misses, nodes.missing_left[i] == 1, codes <= nodes.code[i])
        assert loss_of(rows, left) < np.inf
        if not is_random:
            assert loss_of(rows, left) == pytest.approx(best, rel=1e-9, abs=1e-12)
        parts = zip((nodes.left[i], nodes.right[i]), (rows[left], rows[~left]))
        stack += [(child, part, depth + 1) for child, part in parts]
    inner = nodes.left != LEAF
    if tree.max_leaf_nodes is None or len(frontier) < tree.max_leaf_nodes:
        # A cut that gains nothing is made too, in spite of rounding.
        least = tree.min_impurity_decrease or -np.inf
        assert all(gains[i] < least or gains[i] == -np.inf for i in frontier)
    if tree.max_leaf_nodes is not None:  # the best leaf is always the next to be cut
        leaves = {0}
        for first in range(1, len(nodes), 2):
            (parent,) = np.flatnonzero(nodes.left == first)
            assert tree.max_features or gains[parent] >= max(gains[list(leaves)]) - 1e-12
            leaves = leaves - {parent} | {first, first + 1}
    assert inner.sum() >= 5


CASES = [
    ({"min_samples_leaf": 4}, {"weights": "whole", "missing": 0.2}),
    ({"quantile": 0.9}, {"whole": True}),
    ({"quantile": 0.1}, {"weights": "real", "missing": 0.2}),
    ({"quantile": 0.37}, {"weights": "whole", "whole": True}),
    ({"min_samples_leaf": 9}, {"weights": "real"}),
    ({"min_weight_fraction_leaf": 0.1}, {"missing": 0.4}),
    ({}, {"n": 300}),
    ({"splitter": "random"}, {"n": 200, "missing": 0.2, "weights": "zero"}),
    ({"splitter": "random", "max_features": 2, "min_samples_leaf": 3}, {"n": 150, "whole": True}),
    ({"max_features": 1, "min_samples_leaf": 5}, {"n": 300, "missing": 0.1, "weights": "real"}),
    ({"max_leaf_nodes": 9}, {"n": 300, "whole": True, "weights": "zero"}),
    ({"max_leaf_nodes": 9, "max_features": 2}, {"n": 300, "whole": True, "weights": "zero"}),
    ({"max_depth": 4, "min_impurity_decrease": 0.003}, {"n": 300, "weights": "whole"}),
    ({"min_weight_fraction_leaf": 0.05, "min_samples_split": 30}, {"n": 300, "missing": 0.3}),
    # More rows than 64²: three levels of words.
    ({"max_depth": 3, "max_bins": 2047}, {"n": 6_000, "weights": "zero", "missing": 0.05}),
]


@pytest.mark.parametrize("criterion", ["absolute_error", "quantile"])
@pytest.mark.parametrize("case", range(len(CASES)))
def test_all_cuts_of_all_nodes(case, criterion):
    params, kind = CASES[case]
    X, y, weight = problem(case, **{"n": 70, **kind})
    params = {"criterion": criterion, "quantile": 0.8, **params}
    check_tree(BinnedTreeRegressor(random_state=case, **params), X, y, weight)


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_random_cuts_are_those_of_means(missing):
    """With one feature the criterion chooses nothing."""
    X, y, _ = problem(0, 200, p=1, missing=missing)
    for seed in range(20):
        roots = []
        for criterion in ("squared_error", "absolute_error"):
            tree = BinnedTreeRegressor(criterion=criterion, splitter="random", random_state=seed)
            nodes = nodes_of(tree.set_params(max_depth=1).fit(X, y))
            roots.append((nodes.code[0], nodes.missing_left[0], nodes.n_rows[1]))
        assert roots[0] == roots[1]


@pytest.mark.parametrize("max_leaf_nodes", [None, 40])
@pytest.mark.parametrize("seed", range(10, 20))
def test_a_cut_that_gains_nothing_is_made(seed, max_leaf_nodes):
    """Rounding does not refuse it where weights are not whole and many targets are equal."""
    X, y, weight = problem(seed, 60, whole=True, weights="real")
    tree = BinnedTreeRegressor(criterion="quantile", quantile=0.9, max_bins=16, min_samples_leaf=3)
    tree.set_params(max_leaf_nodes=max_leaf_nodes, random_state=0)
    check_tree(tree, X, 1e3 * y, weight)


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


def test_the_middle_of_quantiles_in_spite_of_rounding():
    """0.55 of 100 rows are 55 rows, though 0.55 * 100 > 55; and 0.7 * 90 < 63."""
    assert 0.55 * 100 > 55
    assert 0.7 * 90 < 63
    for tau, n, middle in ((0.55, 100, 54.5), (0.7, 90, 62.5), (0.5, 10, 4.5), (0.3, 3, 0.0)):
        tree = BinnedTreeRegressor(criterion="quantile", quantile=tau, max_depth=1)
        X, y = np.zeros((n, 1)), np.arange(float(n))
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
def test_what_forests_offer(Forest):
    X, y, _ = problem(5, 150)
    forest = Forest(20, criterion="absolute_error", bootstrap=True, random_state=0)
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
    np.testing.assert_allclose(export.sklearn(forest).predict(X), forest.predict(X), rtol=1e-12)


def test_quantiles_of_forests_and_bagged_quantile_trees():
    """Both have a smaller loss than means."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(1_200, 3))
    y = X[:, 0] + rng.exponential(1 + X[:, 1])
    forest = RandomForestRegressor(15, min_samples_leaf=15, random_state=0).fit(X[:800], y[:800])
    means = forest.predict(X[800:])
    for tau in (0.1, 0.5, 0.9):
        tree = BinnedTreeRegressor(criterion="quantile", quantile=tau, min_samples_leaf=15)
        bag = BaggingRegressor(tree, 15, random_state=0).fit(X[:800], y[:800])
        for found in (bag.predict(X[800:]), forest.predict_quantiles(X[800:], tau)):
            loss = mean_pinball_loss(y[800:], found, alpha=tau)
            assert loss < mean_pinball_loss(y[800:], means, alpha=tau)
            assert np.mean(y[800:] <= found) == pytest.approx(tau, abs=0.07)


@pytest.mark.parametrize("Forest", FORESTS)
def test_forests_have_no_criterion_of_quantiles(Forest):
    """The mean over pure leaves of the level 0.9 was above half of new targets."""
    X, y, _ = problem(7, 40)
    with pytest.raises(ValueError, match="'criterion' parameter"):
        Forest(2, criterion="quantile").fit(X, y)


def test_when_medians_are_in_bins(monkeypatch):
    """Above fewer rows than means, where nothing asks for exact trees."""
    X, y, _ = problem(6, 60)
    median = RandomForestRegressor(2, criterion="absolute_error", random_state=0)
    assert type(median.fit(X, y).estimator_) is DecisionTreeRegressor
    monkeypatch.setattr("sklearn_ensemble_theory.averaging._bags.MEDIAN_ROWS", 50)
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
