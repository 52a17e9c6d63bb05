"""Predictions of all trees of an ensemble in one pass, compared with the trees' own."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)

from sklearn_ensemble_theory import (
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn_ensemble_theory.ensembles._predictions import tree_sums
from sklearn_ensemble_theory.trees import BinnedTreeClassifier, BinnedTreeRegressor

from .engine import (
    AddedTrees,
    CodedTrees,
    DeepTrees,
    LooseTrees,
    PackedCache,
    SmallTrees,
    add_in_threads,
    each_tree,
    member_nodes,
    nodes_of,
    packed_places,
    packed_trees,
    single_precision_cuts,
)


def data(n=400, p=6, missing=0.0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    y = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + 0.2 * rng.normal(size=n)
    X[rng.random(X.shape) < missing] = np.nan
    return X, y


def trees_fitted(kind, X, y, n_trees=9, **params):
    rows = [np.random.default_rng(t).integers(0, len(X), len(X)) for t in range(n_trees)]
    return [kind(random_state=t, **params).fit(X[r], y[r]) for t, r in enumerate(rows)]


def sum_in_order(members, scale, X, width):
    total = np.zeros((len(X), width))
    for t, member in enumerate(members):
        total[:, t % width] += scale[t] * member.predict(X)
    return total


# The sums


@pytest.mark.parametrize("kind", [DecisionTreeRegressor, ExtraTreeRegressor, BinnedTreeRegressor])
@pytest.mark.parametrize("depth", [1, 2, 3, 4, 7, None])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_sums_are_those_of_the_trees_predictions_in_order(kind, depth, missing):
    X, y = data(missing=missing)
    members = trees_fitted(kind, X, y, max_depth=depth)
    scale = np.linspace(-0.3, 1, len(members))
    rows = data(n=1043, missing=missing, seed=1)[0]
    expected = sum_in_order(members, scale, rows, width=3)
    sums = packed_trees(members, width=3, scale=scale)
    for n in [1, 2, 15, 40, len(rows)]:
        for given in [
            rows[:n],
            np.asfortranarray(rows[:n]),
            rows[:n].astype(np.float32),
            np.repeat(rows[:n], 2, axis=1)[:, ::2],
        ]:
            out = np.zeros((n, 3))
            sums.add(given, out)
            np.testing.assert_array_equal(out, expected[:n])
    out = np.zeros_like(expected)
    stages = [u.copy() for u in sums.rounds(rows, out)]
    np.testing.assert_array_equal(stages[-1], expected)
    np.testing.assert_array_equal(stages[1], sum_in_order(members[:6], scale, rows, width=3))


# Loops take 8, 512, 1024 and 2048 rows at a time.
ENDS_OF_BLOCKS = [b + k for b in (8, 512, 1024, 2048) for k in (-1, 0, 1)]


@pytest.mark.parametrize("depth", [4, 8])
def test_the_last_rows_of_blocks(depth):
    X, y = data(missing=0.1)
    rows = data(n=2049, missing=0.1, seed=1)[0].astype(np.float32)
    regressors = trees_fitted(DecisionTreeRegressor, X, y, max_depth=depth)
    labels = np.digitize(y, [-0.5, 0.5])
    classifiers = trees_fitted(DecisionTreeClassifier, X, labels, max_depth=depth)
    shares = sum(member.predict_proba(rows) for member in classifiers)
    for members, expected, given in [
        (regressors, sum_in_order(regressors, np.ones(9), rows, 1), {}),
        (classifiers, shares, {"width": 3, "leaf_outputs": lambda t, value: value}),
    ]:
        sums = packed_trees(members, **given)
        assert type(sums) is (SmallTrees if depth == 4 else DeepTrees)
        for n in ENDS_OF_BLOCKS:
            out = np.zeros((n + 1, expected.shape[1]))
            sums.add(rows[:n], out[:n])
            np.testing.assert_array_equal(out[:n], expected[:n])
            assert not out[n:].any()


@pytest.mark.parametrize("kind", [BinnedTreeRegressor, ExtraTreeRegressor])
@pytest.mark.parametrize("depth", [0, 3, None])
def test_sparse_rows_have_the_sums_of_dense_ones(kind, depth):
    rng = np.random.default_rng(0)
    X, y = data(n=2500, p=9, missing=0.1)
    X *= rng.random(X.shape) < [0.05, 0.1, 0.3, 1, 0.1, 0.2, 0.01, 0.5, 0]
    if kind is BinnedTreeRegressor:
        X[:, 4] = np.where(X[:, 4] != 0, 1e9 + rng.integers(0, 5, len(X)), 0)  # needs doubles
    columns = [rng.permutation(9)[: 4 + t] for t in range(5)]
    options = {"max_depth": depth, "random_state": 0} if depth else {"max_leaf_nodes": 2}
    members = [kind(**options).fit(X[:500, own], y[:500]) for own in columns]
    given = {"width": 1, "scale": np.linspace(-1, 1, 5), "features": columns}
    thin = sp.csr_array(X)
    for n_rows in (1, None):  # trees as they are, and laid out
        dense = packed_trees(members, n_rows=n_rows, **given)
        sparse = packed_trees(members, n_rows=n_rows, for_sparse=True, **given)
        assert type(sparse) is type(dense)
        for n in (1, 7, 2500):
            expected, found, again = (np.zeros((n, 1)) for _ in range(3))
            dense.add(X[:n], expected)
            sparse.add(thin[:n], found)
            np.testing.assert_array_equal(found, expected)
            for _ in sparse.rounds(thin[:n].tocsc(), again):
                pass
            np.testing.assert_array_equal(again, expected)
    if isinstance(sparse, DeepTrees):
        places = np.empty((2, 2500, 5), dtype=np.int64)
        dense.leaves(X, places[0])
        sparse.leaves(thin, places[1])
        np.testing.assert_array_equal(*places)


def test_leaves_of_deep_trees():
    X, y = data(missing=0.1)
    members = trees_fitted(DecisionTreeRegressor, X, y, n_trees=3)
    trees = member_nodes(members)
    packed = DeepTrees(AddedTrees(trees=trees))
    rows = data(n=2049, missing=0.1, seed=1)[0].astype(np.float32)
    expected = np.column_stack(
        [
            start + packed_places(tree.left, tree.right)[member.apply(rows)]
            for start, tree, member in zip(packed.starts, trees, members)
        ]
    )
    for n in ENDS_OF_BLOCKS:
        out = np.full((n + 1, 3), -1)
        packed.leaves(rows[:n], out[:n])
        np.testing.assert_array_equal(out[:n], expected[:n])
        assert (out[n] == -1).all()


@pytest.mark.parametrize("n_leaves", [2, 17, 31, 32, 33, 64])
@pytest.mark.parametrize("width", [1, 4])
def test_trees_of_few_and_of_many_leaves(n_leaves, width):
    """32 leaves are the bits of a word; trees of more are walked."""
    X, y = data(n=600, missing=0.1)
    members = trees_fitted(DecisionTreeRegressor, X, y, max_leaf_nodes=n_leaves)
    assert {member.get_n_leaves() for member in members} == {n_leaves}
    rows = data(n=900, missing=0.1, seed=1)[0]
    out, expected = np.zeros((2, len(rows), width))
    packed_trees(members, width=width).add(rows, out)
    np.testing.assert_array_equal(out, sum_in_order(members, np.ones(9), rows, width))

    def of_powers(t, value):
        return value ** (1 + np.arange(width)) / (1 + t)

    out[:] = 0
    for t, member in enumerate(members):
        expected += of_powers(t, member.predict(rows)[:, None])
    packed_trees(members, width=width, leaf_outputs=of_powers).add(rows, out)
    np.testing.assert_array_equal(out, expected)


def test_trees_of_one_leaf():
    X, y = data(n=20)
    members = [DecisionTreeRegressor(max_depth=d).fit(X, y * 0 + d) for d in (1, 5)]
    out = np.zeros((20, 1))
    packed_trees(members).add(X, out)
    np.testing.assert_array_equal(out, 6.0)


@pytest.mark.parametrize("depth", [3, None])
def test_features_of_a_tree_are_columns_of_X(depth):
    X, y = data()
    features = [np.array([5, 2, 0]), np.array([1, 1, 3]), np.array([4, 0, 2])]
    members = [DecisionTreeRegressor(max_depth=depth).fit(X[:, f], y) for f in features]
    out = np.zeros((len(X), 1))
    packed_trees(members, features=features).add(X, out)
    expected = np.zeros(len(X))
    for member, f in zip(members, features):
        expected += member.predict(X[:, f])
    np.testing.assert_array_equal(out[:, 0], expected)


@pytest.mark.parametrize("depth", [2, None])
def test_values_at_the_thresholds(depth):
    """Where a value is within a rounding of a threshold, X is rounded first, as in the trees."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 5, (200, 2)) / 3.0
    y = X[:, 0] + X[:, 1] ** 2 + rng.normal(size=200)
    members = trees_fitted(DecisionTreeRegressor, X, y, max_depth=depth)
    cuts = np.unique(np.concatenate([m.tree_.threshold for m in members]))
    near = np.concatenate(
        [cuts, np.nextafter(cuts, 9), np.nextafter(cuts, -9), cuts * (1 + 3e-8), cuts * (1 - 3e-8)]
    )
    rows = np.stack(np.meshgrid(near, near), axis=-1).reshape(-1, 2)
    out = np.zeros((len(rows), 1))
    packed_trees(members).add(rows, out)
    np.testing.assert_array_equal(out, sum_in_order(members, np.ones(9), rows, width=1))


def test_cuts_in_single_precision():
    cuts = np.array([0.1, 1 / 3, -0.1, 1e300, -1e300, np.inf, -np.inf, 1e-320, -1e-320, 2.0])
    found = single_precision_cuts(cuts)
    assert found.dtype == np.float32
    assert np.all(found <= cuts)
    with np.errstate(over="ignore"):
        above = np.nextafter(found, np.float32(np.inf))
    assert np.all((above > cuts) | (found == np.inf))


def test_members_that_are_no_trees_of_one_output():
    class Shifted(DecisionTreeRegressor):
        def predict(self, X, check_input=True):
            return super().predict(X) + 1

    X, y = data()
    assert packed_trees([]) is None
    assert packed_trees([Shifted().fit(X, y)]) is None
    assert packed_trees([DecisionTreeRegressor().fit(X, np.stack([y, y], axis=1))]) is None


def test_few_rows_are_predicted_from_the_trees_themselves():
    X, y = data()
    members = trees_fitted(DecisionTreeRegressor, X, y)
    assert type(packed_trees(members, n_rows=1)) is LooseTrees


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_few_rows_of_binned_trees_need_no_tree_of_scikit_learn(missing):
    X, y = data(missing=missing)
    members = trees_fitted(BinnedTreeRegressor, X, y)
    sums = packed_trees(members, n_rows=1)
    out = np.zeros((30, 1))
    sums.add(X[:30], out)
    assert type(sums) is LooseTrees
    assert not any(nodes_of(member).is_built for member in members)
    np.testing.assert_array_equal(out, sum_in_order(members, np.ones(9), X[:30], width=1))


# The ensembles


def boosted(members, steps, X, init):
    u = np.broadcast_to(init, (len(X), members.shape[1])).copy()
    for row, b in zip(members, steps):
        for k, member in enumerate(row):
            u[:, k] += b * member.predict(X)
    return u


@pytest.mark.parametrize("tree", [DecisionTreeRegressor, BinnedTreeRegressor])
@pytest.mark.parametrize("depth", [2, 5])
@pytest.mark.parametrize("n_classes", [0, 2, 4])
def test_gradient_boosting(tree, depth, n_classes):
    X, y = data()
    rows = data(n=700, seed=1)[0].astype(np.float32)
    estimator = tree(max_depth=depth)
    if n_classes:
        y = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
        model = GradientBoostingClassifier(estimator, n_estimators=7).fit(X, y)
        predict, staged = model.decision_function, model.staged_decision_function
    else:
        model = GradientBoostingRegressor(estimator, n_estimators=7).fit(X, y)
        predict, staged = model.predict, model.staged_predict
    expected = boosted(model.estimators_, model.steps_, rows, model.initial_scores_)
    for _ in range(3):  # laid out at some call
        np.testing.assert_array_equal(predict(rows[:1]).ravel(), expected[0])
    np.testing.assert_array_equal(predict(rows), expected.reshape(predict(rows).shape))
    stages = list(staged(rows))
    assert len(stages) == 7
    np.testing.assert_array_equal(stages[-1], predict(rows))
    shorter = boosted(model.estimators_[:3], model.steps_, rows, model.initial_scores_)
    np.testing.assert_array_equal(stages[2], shorter.reshape(stages[2].shape))
    if depth == 2:
        sparse = predict(sp.csr_matrix(rows)) if tree is DecisionTreeRegressor else predict(rows)
        np.testing.assert_array_equal(sparse, predict(rows))


def test_gradient_boosting_continues_from_what_is_laid_out():
    X, y = data()
    model = GradientBoostingRegressor(n_estimators=5, warm_start=True, random_state=0).fit(X, y)
    model.predict(X)
    model.set_params(n_estimators=9).fit(X, y)
    whole = GradientBoostingRegressor(n_estimators=9, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), whole.predict(X))
    # A list of members that the user shortens.
    whole.predict(X)
    whole.estimators_, whole.steps_ = whole.estimators_[:4], whole.steps_[:4]
    *_, last = GradientBoostingRegressor(n_estimators=4, random_state=0).fit(X, y).staged_predict(X)
    np.testing.assert_array_equal(whole.predict(X), last)


def test_validation_scores_are_those_of_the_staged_predictions():
    X, y = data()
    X_val, y_val = data(n=100, seed=2)
    model = GradientBoostingRegressor(n_estimators=6).fit(X, y, X_val=X_val, y_val=y_val)
    risks = [model.loss_.value(y_val, u).mean() for u in model.staged_predict(X_val)]
    np.testing.assert_allclose(model.validation_scores_, risks, rtol=1e-12)


def mean_of(members, features, X, method):
    total = 0.0
    for member, columns in zip(members, features):
        total = total + getattr(member, method)(X[:, columns])
    return total / len(members)


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("depth", [3, None])
def test_means_of_regression_trees(missing, depth):
    X, y = data(missing=missing)
    rows = data(n=300, missing=missing, seed=1)[0]
    forest = RandomForestRegressor(70, max_depth=depth, random_state=0).fit(X, y)
    bag = BaggingRegressor(DecisionTreeRegressor(max_depth=depth), 12, max_features=0.5)
    extra = BaggingRegressor(ExtraTreeRegressor(max_depth=depth), 12, bootstrap_features=True)
    for model in [forest, bag.fit(X, y), extra.fit(X, y)]:
        assert tree_sums(model.ensemble_, rows, "predict") is not None or missing
        expected = mean_of(model.estimators_, model.estimators_features_, rows, "predict")
        for _ in range(2):
            np.testing.assert_allclose(model.predict(rows), expected, rtol=1e-13, atol=1e-15)
            np.testing.assert_allclose(model.predict(rows[:1]), expected[:1], rtol=1e-13)


@pytest.mark.parametrize("depth", [2, None])
@pytest.mark.parametrize("n_classes", [2, 5])
def test_means_of_classification_trees(depth, n_classes):
    X, y = data(n=150)
    y = np.array(list("eabdc"))[np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))]
    rows = data(n=300, seed=1)[0]
    models = [
        RandomForestClassifier(15, max_depth=depth, random_state=0),
        BaggingClassifier(BinnedTreeClassifier(max_depth=depth), 9, random_state=0),
        # Draws that lack classes.
        BaggingClassifier(
            ExtraTreeClassifier(max_depth=depth), 30, max_samples=6, max_features=3, random_state=0
        ),
    ]
    for model in models:
        model.fit(X, y)
        expected = np.zeros((300, n_classes))
        for member, columns in zip(model.estimators_, model.estimators_features_):
            expected[:, member.classes_.astype(int)] += member.predict_proba(rows[:, columns])
        expected /= len(model)
        for n in [1, 2, 300]:
            np.testing.assert_array_equal(model.predict_proba(rows[:n]), expected[:n])
        labels = model.classes_[expected.argmax(axis=1)]
        np.testing.assert_array_equal(model.predict(rows), labels)
    lacking = [m for m in models[2].estimators_ if len(m.classes_) < n_classes]
    assert lacking or n_classes == 2


def test_votes_of_trees():
    X, y = data(n=150)
    y = np.digitize(y, [-0.5, 0.5])
    tree = DecisionTreeClassifier(max_depth=4)
    model = BaggingClassifier(tree, 20, voting="hard", max_samples=9, random_state=0).fit(X, y)
    rows = data(n=200, seed=1)[0]
    votes = np.stack([member.predict(rows) for member in model.estimators_]).astype(int)
    shares = (votes[:, :, None] == np.arange(3)).mean(axis=0)
    np.testing.assert_allclose(model.predict_proba(rows), shares, rtol=1e-13)


def test_classifiers_bagged_as_regressors():
    X, y = data(n=100)
    labels = np.digitize(y, [0.0])
    as_numbers = BaggingRegressor(DecisionTreeClassifier(max_depth=3), 5).fit(X, labels)
    expected = np.mean([m.predict(X) for m in as_numbers.estimators_], axis=0)
    np.testing.assert_allclose(as_numbers.predict(X), expected)
    with pytest.raises(ValueError, match="must be a classifier, got DecisionTreeRegressor"):
        BaggingClassifier(DecisionTreeRegressor(), 5).fit(X, labels)


def test_input_that_the_trees_refuse():
    X, y = data()
    bag = BaggingRegressor(DecisionTreeRegressor(max_depth=3), 5).fit(X, y)
    bad = X.copy()
    bad[3, 2] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        bag.predict(bad)
    bad[3, 2] = 1e200  # beyond all thresholds
    np.testing.assert_array_equal(bag.predict(bad), bag.predict(np.minimum(bad, 1e30)))
    with pytest.raises(ValueError, match="minimum of 1 is required"):
        bag.predict(X[:0])
    large = X.copy()
    large[:, 5] = 3e38  # finite, but not the sum
    np.testing.assert_array_equal(bag.predict(large), bag.predict(large.astype(np.float32)))


@pytest.mark.parametrize("depth", [3, None])
def test_threads_and_rows_do_not_change_the_sums(depth):
    X, y = data()
    members = trees_fitted(DecisionTreeRegressor, X, y, n_trees=64, max_depth=depth)
    sums = packed_trees(members)
    sums.parallel_size = 2**15
    rows = data(n=700, seed=1)[0]
    one = add_in_threads(sums, rows, np.zeros((len(rows), 1)), None)
    for n_jobs in (2, 3):
        out = add_in_threads(sums, rows, np.zeros((len(rows), 1)), n_jobs)
        np.testing.assert_array_equal(out, one)
    out = np.zeros((511, 1))
    sums.add(rows[3:514], out)
    np.testing.assert_array_equal(one[3:514], out)


# What is kept


def test_what_is_laid_out_is_neither_copied_nor_pickled():
    X, y = data()
    model = GradientBoostingRegressor(n_estimators=5).fit(X, y)
    size = len(pickle.dumps(model))
    expected = model.predict(X)
    assert model._packed._kept
    assert len(pickle.dumps(model)) == size
    for other in [pickle.loads(pickle.dumps(model)), copy.deepcopy(model)]:
        assert not other._packed._kept
        np.testing.assert_array_equal(other.predict(X), expected)
    model.fit(X, y)
    assert not model._packed._kept


def test_several_threads_lay_out_once():
    X, y = data()
    members = trees_fitted(DecisionTreeRegressor, X, y)
    cache, built = PackedCache(), []

    def build(n_rows):
        built.append(n_rows)
        return packed_trees(members)

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: cache.get("a", members, 10, build), range(8)))
    assert all(one is found[0] for one in found)
    assert built == [10]
    assert cache.get("a", members[:3], 10, build) is not found[0]


@pytest.mark.parametrize("tree", [DecisionTreeClassifier, BinnedTreeClassifier])
@pytest.mark.parametrize("depth", [2, 5])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_adaboost_of_trees(tree, depth, n_classes):
    X, y = data()
    rows = data(n=200, seed=1)[0]
    labels = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
    labels = np.array(["x", "v", "w"])[labels]
    model = AdaBoostClassifier(tree(max_depth=depth, random_state=0), n_estimators=6)
    model.fit(X, labels)
    K = n_classes
    total = np.zeros((200, K))
    stages = []
    for member, alpha in zip(model.estimators_, model.estimator_weights_):
        vote = member.predict(rows)[:, None] == model.classes_
        total += np.where(vote, alpha, -alpha / (K - 1))
        stages.append(total.copy())
    norms = np.cumsum(model.estimator_weights_)
    for stage, scores, norm in zip(stages, model.staged_decision_function(rows), norms):
        stage = stage[:, 1] * 2 if K == 2 else stage
        np.testing.assert_allclose(scores, stage / norm, rtol=1e-12, atol=1e-14)
    for _ in range(3):
        np.testing.assert_array_equal(model.decision_function(rows), scores)
        np.testing.assert_array_equal(model.decision_function(rows[:2]), scores[:2])


@pytest.mark.parametrize("variant", ["real", "gentle"])
@pytest.mark.parametrize("depth", [2, 5])
def test_adaboost_of_trees_by_confidences(variant, depth):
    X, y = data()
    rows = data(n=200, seed=1)[0]
    kind = DecisionTreeClassifier if variant == "real" else DecisionTreeRegressor
    tree = kind(max_depth=depth, min_samples_leaf=5, random_state=0)
    model = AdaBoostClassifier(tree, n_estimators=6, variant=variant).fit(X, y > 0)
    total = 0.0
    for member, alpha in zip(model.estimators_, model.estimator_weights_):
        if variant == "gentle":
            total = total + alpha * member.predict(rows)
        else:
            share = np.clip(member.predict_proba(rows)[:, 1], 1e-4, 1 - 1e-4)
            total = total + alpha * 0.5 * np.log(share / (1 - share))
    np.testing.assert_allclose(model.decision_function(rows), total, rtol=1e-12, atol=1e-12)
    *_, last = model.staged_decision_function(rows)
    np.testing.assert_array_equal(last, model.decision_function(rows))


# Trees of at most 256 leaves over codes of a byte


def coded(members, **given):
    sums = packed_trees(members, n_rows=10**6, **given)
    assert type(sums) is CodedTrees
    return sums


@pytest.mark.parametrize("leaves", [2, 8, 9, 31, 33, 255, 256])
@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("width", [1, 3])
def test_trees_over_codes_have_the_sums_of_the_trees_in_order(leaves, missing, width):
    X, y = data(n=3000, p=12, missing=missing)
    X = X.round(2).clip(-1.2, 1.2)  # at most 241 values
    members = trees_fitted(BinnedTreeRegressor, X, y, n_trees=6, max_leaf_nodes=leaves)
    assert max(tree.get_n_leaves() for tree in members) == leaves
    rows = data(n=1100, p=12, missing=missing, seed=1)[0]
    rows[:3] = [[1e30], [-1e30], [np.nan if missing else 0.0]]
    scale = np.linspace(-0.3, 1, len(members))
    start = np.random.default_rng(0).normal(size=(len(rows), width))
    laid_out = packed_trees(members, scale=scale, width=width)
    sums = coded(members, scale=scale, width=width)
    for n in [1, 255, 256, 511, 512, 513, 1024, 1025, len(rows)]:
        out, expected = start.copy(), start.copy()
        sums.add(rows[:n], out[:n])
        laid_out.add(rows[:n], expected[:n])
        np.testing.assert_array_equal(out, expected)
        own = start[:n].copy()
        for t, member in enumerate(members):
            own[:, t % width] += scale[t] * member.predict(rows[:n])
        np.testing.assert_array_equal(out[:n], own)
    stages = [u.copy() for u in sums.rounds(rows, start.copy())]
    others = [u.copy() for u in laid_out.rounds(rows, start.copy())]
    np.testing.assert_array_equal(stages, others)
    apart = np.zeros((len(rows), len(members)))
    each_tree(sums).add(rows, apart)
    of_trees = np.column_stack([f * m.predict(rows) for f, m in zip(scale, members)])
    np.testing.assert_array_equal(apart, of_trees)


@pytest.mark.parametrize("n_values", [255, 256])
def test_codes_have_a_byte(n_values):
    """A column of 255 values has 254 cuts; with one more, another layout takes the trees."""
    x = np.arange(n_values, dtype=float)
    X = np.column_stack([np.tile(x, 4), np.zeros(4 * n_values)])
    y = np.random.default_rng(0).normal(size=len(X))
    tree = DecisionTreeRegressor().fit(X, y)
    sums = packed_trees([tree], n_rows=10**6)
    assert type(sums) is (CodedTrees if n_values == 255 else DeepTrees)
    out = np.zeros((len(X), 1))
    sums.add(X, out)
    np.testing.assert_array_equal(out[:, 0], tree.predict(X))


def test_codes_of_timestamps_and_of_sparse_rows():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 9, size=(1500, 5)).astype(float)
    y = X[:, 0] + X[:, 1] * X[:, 2]
    stamps = X.copy()
    stamps[:, 0] = 1.7e9 + 5 * X[:, 0]
    members = trees_fitted(BinnedTreeRegressor, stamps, y, max_depth=5)
    out = np.zeros((len(X), 1))
    coded(members).add(stamps, out)
    np.testing.assert_array_equal(out, sum_in_order(members, np.ones(9), stamps, 1))
    assert len(np.unique(out)) > 50
    members = trees_fitted(BinnedTreeRegressor, X, y, max_depth=5)
    sparse, out = coded(members, for_sparse=True), np.zeros((len(X), 1))
    sparse.add(sp.csr_matrix(X), out)
    np.testing.assert_array_equal(out, sum_in_order(members, np.ones(9), X, 1))
    with pytest.raises(ValueError):
        coded(members).add(X[:, :2], out)


def test_trees_that_are_leaves_have_codes():
    X = np.zeros((600, 2))
    members = [DecisionTreeRegressor().fit(X, np.full(600, 2.0 + t)) for t in range(3)]
    out = np.zeros((600, 1))
    coded(members).add(X, out)
    assert np.unique(out).tolist() == [9.0]


def test_nodes_without_a_parent_have_no_codes():
    X, y = data()
    members = trees_fitted(DecisionTreeRegressor, X.round(1), y, max_depth=5)
    for member in members:
        for node in member.tree_.children_left[0], member.tree_.children_right[0] + 2:
            member.tree_.children_left[node] = member.tree_.children_right[node] = -1
    out = np.zeros((len(X), 1))
    coded(members).add(X, out)
    np.testing.assert_array_equal(out, sum_in_order(members, np.ones(9), X, 1))


@pytest.mark.parametrize("kind", [GradientBoostingRegressor, GradientBoostingClassifier])
def test_models_that_predict_many_rows_get_codes(kind):
    X, y = data(n=1500)
    rows = data(n=4000, seed=1)[0]
    y = y if kind is GradientBoostingRegressor else np.digitize(y, [0, 1])
    model = kind(n_estimators=5, max_leaf_nodes=40, max_depth=None, max_bins=255, random_state=0)
    model.fit(X, y)
    few = [model.predict(rows[i : i + 100]) for i in range(0, 2000, 100)]
    ((_, kept),) = model._packed._kept.values()
    assert type(kept) is not CodedTrees
    many = model.predict(rows)
    ((_, kept),) = model._packed._kept.values()
    assert type(kept) is CodedTrees
    np.testing.assert_array_equal(many[:2000], np.concatenate(few))
    np.testing.assert_array_equal(model.predict(rows[:3]), many[:3])
