"""Classification trees of several outputs: against scikit-learn's, and trees of one output."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.metrics import log_loss
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import get_tags

from sklearn_ensemble_theory import export
from sklearn_ensemble_theory.trees import BinnedTreeClassifier, BinnedTreeRegressor

N = 1000


def labels(seed=0):
    """Columns of few values, and two outputs of text, of two and three classes."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.standard_normal((N, 4)), 1).astype(np.float32)
    two = np.where(X[:, 0] + 0.3 * rng.standard_normal(N) > 0, "yes", "no")
    three = np.digitize(X[:, 1] + 0.5 * rng.standard_normal(N), [-0.7, 0.7])
    return X, np.column_stack([two, np.array([*"abc"])[three]]), rng.random(N) + 0.1


GIVEN = [
    {"max_depth": 4},
    {"max_leaf_nodes": 9},
    {"min_impurity_decrease": 0.01},
    {"max_depth": 4, "class_weight": "balanced"},
    {"max_depth": 4, "class_weight": [{"yes": 3.0}, {"a": 0.5, "c": 2.0}]},
    {"max_depth": 5, "max_features": 2, "random_state": 4},
    {"ccp_alpha": 0.01},
    {"min_weight_fraction_leaf": 0.1},
]


@pytest.mark.parametrize("given", GIVEN, ids=str)
@pytest.mark.parametrize("criterion", ["gini", "entropy", "log_loss"])
@pytest.mark.parametrize("weighs", [False, True])
def test_a_tree_of_several_outputs_is_that_of_scikit_learn(given, criterion, weighs):
    X, Y, weight = labels()
    weight = weight if weighs else None
    given = {"min_samples_leaf": 25, **given}  # in large nodes no two cuts are equally good
    tree = BinnedTreeClassifier(criterion=criterion, **given).fit(X, Y, weight)
    expected = DecisionTreeClassifier(criterion=criterion, **{"random_state": 0, **given}).fit(
        X, Y, weight
    )
    assert expected.tree_.node_count > 5
    assert_array_equal(tree.predict(X), expected.predict(X))
    for found, right in zip(tree.predict_proba(X), expected.predict_proba(X)):
        assert_allclose(found, right, atol=1e-12)
    for found, shares in zip(tree.predict_log_proba(X), tree.predict_proba(X)):
        assert_allclose(np.exp(found), shares)
    for found, right in zip(tree.classes_, expected.classes_):
        assert_array_equal(found, right)
    assert_array_equal(tree.n_classes_, expected.n_classes_)
    assert tree.n_outputs_ == 2
    assert_allclose(tree.tree_.impurity, expected.tree_.impurity, atol=1e-12)
    assert_allclose(tree.tree_.value, expected.tree_.value, atol=1e-12)
    assert_allclose(tree.feature_importances_, expected.feature_importances_, atol=1e-10)
    assert_array_equal(tree.apply(X), expected.apply(X))
    again = export.sklearn(tree)
    assert_array_equal(again.predict(X), tree.predict(X))
    assert_allclose(np.hstack(again.predict_proba(X)), np.hstack(tree.predict_proba(X)))
    # A copy, from a pickle or fitted anew, is the same.
    proba = np.hstack(tree.predict_proba(X))
    for copy in (pickle.loads(pickle.dumps(tree)), clone(tree).fit(X, Y, weight)):
        assert_array_equal(np.hstack(copy.predict_proba(X)), proba)


@pytest.mark.parametrize("kind", [BinnedTreeClassifier, BinnedTreeRegressor])
def test_pruning_paths_are_those_of_scikit_learn(kind):
    X, Y, _ = labels(1)
    other = DecisionTreeClassifier if kind is BinnedTreeClassifier else DecisionTreeRegressor
    if kind is BinnedTreeRegressor:
        Y = np.column_stack([Y[:, 0] == "yes", (Y[:, 1] == "c") * 2.0])
    given = {"max_depth": 4, "min_samples_leaf": 25}
    path = kind(**given).cost_complexity_pruning_path(X, Y)
    expected = other(random_state=0, **given).cost_complexity_pruning_path(X, Y)
    assert_allclose(path.ccp_alphas, expected.ccp_alphas, atol=1e-12, rtol=1e-6)
    assert_allclose(path.impurities, expected.impurities)
    alpha = float(path.ccp_alphas[len(path.ccp_alphas) // 2]) * (1 + 1e-9)
    tree = kind(ccp_alpha=alpha, **given).fit(X, Y)
    assert_array_equal(tree.apply(X), other(ccp_alpha=alpha, **given).fit(X, Y).apply(X))


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("splitter", ["best", "random"])
def test_an_output_twice_is_one_output(criterion, missing, splitter):
    X, Y, weight = labels(2)
    if missing:
        X[::7, 1] = np.nan
    given = {"criterion": criterion, "max_depth": 4, "splitter": splitter, "random_state": 1}
    y = Y[:, 1]
    one = BinnedTreeClassifier(**given).fit(X, y, weight)
    tree = BinnedTreeClassifier(**given).fit(X, y[:, None][:, [0, 0]], weight)
    first, second = tree.predict_proba(X)
    assert_array_equal(first, second)
    if splitter == "random":  # the draws are others
        assert abs(log_loss(y, first) - log_loss(y, one.predict_proba(X))) < 0.3
        return
    assert_allclose(first, one.predict_proba(X), atol=1e-12)
    assert_allclose(tree.tree_.impurity, one.tree_.impurity, atol=1e-12)


def test_pure_leaves_have_whole_shares_under_real_weights():
    X, Y, weight = labels(3)
    X = np.column_stack([X, rankdata(X[:, 0], method="ordinal")])
    for criterion in ("gini", "entropy"):
        tree = BinnedTreeClassifier(criterion=criterion).fit(X, Y, weight)
        for shares in tree.predict_proba(X):
            assert_array_equal(np.sort(shares, axis=1)[:, -1], 1.0)
        assert tree.tree_.impurity[tree.tree_.children_left < 0].max() == 0.0
        # No pure node is split.
        inner = tree.tree_.children_left >= 0
        assert tree.tree_.impurity[inner].min() > 0


def test_labels_of_any_kind_and_rows_of_weight_zero():
    X, Y, weight = labels(4)
    numbers = np.column_stack([10 * (Y[:, 0] == "yes"), np.searchsorted([*"abc"], Y[:, 1]) - 1])
    weight[:100] = 0.0
    numbers[:100] = 77
    tree = BinnedTreeClassifier(max_depth=3).fit(X, numbers, weight)
    alone = BinnedTreeClassifier(max_depth=3).fit(X[100:], numbers[100:], weight[100:])
    assert [found.tolist() for found in alone.classes_] == [[0, 10], [-1, 0, 1]]
    assert_array_equal(tree.predict(X), alone.predict(X))
    assert tree.predict(X).dtype == numbers.dtype
    constant = BinnedTreeClassifier().fit(X, np.column_stack([numbers[:, 0] * 0, numbers[:, 1]]))
    assert [part.shape[1] for part in constant.predict_proba(X)] == [1, 4]
    only = BinnedTreeClassifier().fit(X, np.zeros((N, 2), dtype=int))
    assert only.get_n_leaves() == 1
    assert_array_equal(only.predict(X), np.zeros((N, 2)))


def test_tags_and_what_is_refused():
    X, Y, _ = labels(5)
    tags = get_tags(BinnedTreeClassifier())
    assert tags.target_tags.multi_output
    assert tags.classifier_tags.multi_label
    assert not get_tags(BinnedTreeRegressor(criterion="poisson")).target_tags.multi_output
    for given, message in [
        ({"max_bins": 300}, "max_bins=300 requires y of one column"),
        ({"interaction_cst": [[0], [1]]}, "y of several columns requires trees without inter"),
        ({"class_weight": {"yes": 2.0}}, "class_weight must be 'balanced' or a list of 2 dicts"),
        ({"class_weight": [{"yes": 2.0}]}, "class_weight must be 'balanced' or a list of 2 dicts"),
    ]:
        with pytest.raises(ValueError, match=message):
            BinnedTreeClassifier(**given).fit(X, Y)
    with pytest.raises(ValueError, match="y of several columns requires trees without mono"):
        BinnedTreeClassifier(monotonic_cst=[1, 0, 0, 0]).fit(X, Y[:, [0, 0]])


@pytest.mark.parametrize("max_features", [None, 3])
@pytest.mark.parametrize("kind", [BinnedTreeRegressor, BinnedTreeClassifier])
def test_a_seed_decides_between_equally_good_cuts(kind, max_features):
    """Copies of a column are cut equally often, as in scikit-learn; without a seed the first is."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal(60)
    X, y = np.column_stack([x] * 4), np.column_stack([x > 0, x > 1]).astype(int)
    first = kind(max_depth=1).fit(X, y).tree_.feature[0]
    assert first == 0
    roots = [
        kind(max_depth=1, max_features=max_features, random_state=seed).fit(X, y).tree_.feature[0]
        for seed in range(200)
    ]
    # The chance of a count this far from 50 is below 1e-5.
    assert np.abs(np.bincount(roots, minlength=4) - 50).max() < 28
    again = kind(max_depth=1, max_features=max_features, random_state=7).fit(X, y)
    assert again.tree_.feature[0] == roots[7]
