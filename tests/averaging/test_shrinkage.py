"""Hierarchical shrinkage: ridge regression on a tree's splits, after the fit."""

import pickle
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone, is_classifier
from sklearn.datasets import make_friedman1
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from sklearn_ensemble_theory import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    export,
)
from sklearn_ensemble_theory.averaging import Bernoulli
from sklearn_ensemble_theory.inspection import (
    compact,
    forget_training_rows,
    shrink,
    stability,
    unbiased_feature_importances,
)
from sklearn_ensemble_theory.trees import BinnedTreeClassifier, BinnedTreeRegressor
from sklearn_ensemble_theory.trees._shrinkage import with_shrunk_values

GRID = [0.0, 0.5, 4.0, 30.0]


def data(n=120, classes=0, seed=0):
    X, y = make_friedman1(n, 6, noise=2.0, random_state=seed)
    return X, np.digitize(y, np.quantile(y, np.arange(1, classes) / classes)) if classes else y


def targets_of(tree, y):
    """The targets as columns of numbers: 0 and 1 for classes."""
    y = y.reshape(len(y), -1)
    if not is_classifier(tree):
        return y
    classes = tree.classes_ if isinstance(tree.classes_, list) else [tree.classes_]
    columns = [np.equal(c[:, None], labels) for c, labels in zip(y.T, classes)]
    return np.hstack(columns).astype(float)


def predictions(tree, X):
    if not is_classifier(tree):
        return tree.predict(X).reshape(len(X), -1)
    found = tree.predict_proba(X)
    return np.hstack(found) if isinstance(found, list) else found


def ridge_on_splits(tree, X, Y, weight, reg_param, X_new):
    """The theorem: ridge regression, with a free intercept, on a feature for each inner node."""
    links = tree.tree_
    inner = np.flatnonzero(links.children_left >= 0)
    passed = [tree.decision_path(rows).toarray().astype(bool) for rows in (X, X_new)]
    left = [paths[:, links.children_left[inner]] for paths in passed]
    right = [paths[:, links.children_right[inner]] for paths in passed]
    n_left, n_right = weight @ left[0], weight @ right[0]
    psi, psi_new = (
        (n_right * a - n_left * b) / np.sqrt(n_left * n_right) for a, b in zip(left, right)
    )
    mean = np.average(Y, axis=0, weights=weight)
    gram = psi.T @ (weight[:, None] * psi) + reg_param * np.eye(len(inner))
    return mean + psi_new @ np.linalg.solve(gram, psi.T @ (weight[:, None] * (Y - mean)))


TREES = {
    "numbers": (BinnedTreeRegressor(max_leaf_nodes=12), 0),
    "full": (BinnedTreeRegressor(), 0),
    "exact": (DecisionTreeRegressor(max_leaf_nodes=20, random_state=0), 0),
    "poisson": (BinnedTreeRegressor(criterion="poisson", max_depth=4), 0),
    "two classes": (BinnedTreeClassifier(max_depth=4), 2),
    "three classes": (BinnedTreeClassifier(max_leaf_nodes=12), 3),
    "exact classes": (DecisionTreeClassifier(max_depth=5, random_state=0), 3),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", TREES)
def test_a_shrunk_tree_is_ridge_regression_on_its_splits(name, weighted):
    tree, classes = TREES[name]
    (X, y), X_new = data(classes=classes), data(seed=1)[0]
    y = np.abs(y) if name == "poisson" else y
    weight = np.random.default_rng(0).uniform(0.2, 3.0, len(y)) if weighted else np.ones(len(y))
    fitted = clone(tree).fit(X, y, sample_weight=weight)
    Y = targets_of(fitted, y)
    for reg_param in GRID[1:]:
        expected = ridge_on_splits(fitted, X, Y, weight, reg_param, X_new)
        np.testing.assert_allclose(
            predictions(with_shrunk_values(fitted, reg_param), X_new), expected, atol=1e-10
        )


@pytest.mark.parametrize("kind", [BinnedTreeRegressor, BinnedTreeClassifier])
def test_trees_of_several_outputs_shrink_by_the_same_ridge(kind):
    X, y = data()
    Y = np.column_stack([y, X[:, 0]])
    if kind is BinnedTreeClassifier:
        Y = np.column_stack([y > 14, np.digitize(y, [11, 16])]).astype(int)
    tree = kind(max_leaf_nodes=9).fit(X, Y)
    expected = ridge_on_splits(tree, X, targets_of(tree, Y), np.ones(len(X)), 7.0, X)
    np.testing.assert_allclose(predictions(tree.shrink(7.0), X), expected, atol=1e-10)
    path = tree.shrink("cv", X, Y, reg_params=GRID).shrinkage_path_
    assert path["loss"].shape == (4,)


@pytest.mark.parametrize("max_bins", [None, 63])
def test_each_tree_of_a_forest_is_shrunk_by_the_rows_that_it_drew(max_bins):
    X, y = data()
    forest = RandomForestRegressor(3, max_bins=max_bins, max_features=3, random_state=0).fit(X, y)
    shrunk = shrink(forest, 5.0)
    for tree, before, rows in zip(shrunk, forest, forest.estimators_samples_):
        weight = np.bincount(rows, minlength=len(y)).astype(float)
        expected = ridge_on_splits(before, X, y[:, None], weight, 5.0, X)
        np.testing.assert_allclose(tree.predict(X), expected[:, 0], atol=1e-10)
    np.testing.assert_allclose(shrunk.predict(X), np.mean([t.predict(X) for t in shrunk], axis=0))


@pytest.mark.parametrize("max_bins", [None, 63])
def test_honest_trees_are_shrunk_by_the_rows_in_their_leaves(max_bins):
    X, y = data()
    forest = RandomForestRegressor(3, max_bins=max_bins, honesty=True, random_state=0).fit(X, y)
    for tree, before, seed in zip(shrink(forest, 5.0), forest, forest.ensemble_.seeds):
        rows, weights = forest.ensemble_.draws.draw_parts(seed)[1]
        weight = np.bincount(rows, weights, minlength=len(y))
        expected = ridge_on_splits(before, X, y[:, None], weight, 5.0, X)
        np.testing.assert_allclose(tree.predict(X), expected[:, 0], atol=1e-10)


def test_nothing_and_everything_is_shrunk_at_the_ends():
    X, y = data()
    tree, forest = BinnedTreeRegressor(), RandomForestRegressor(5, random_state=0)
    for model, shrunk in (
        (tree, tree.fit(X, y).shrink),
        (forest, partial(shrink, forest.fit(X, y))),
    ):
        np.testing.assert_array_equal(shrunk(0).predict(X), model.predict(X))
        assert np.ptp(shrunk(1e12).predict(X)) < 1e-7
    np.testing.assert_allclose(tree.shrink(1e12).predict(X), y.mean())


def test_integer_weights_are_repeated_rows():
    X, y = data()
    times = np.random.default_rng(0).integers(0, 4, len(y))
    weighted = BinnedTreeRegressor(max_depth=4).fit(X, y, sample_weight=times)
    repeated = BinnedTreeRegressor(max_depth=4).fit(X.repeat(times, 0), y.repeat(times))
    np.testing.assert_allclose(weighted.shrink(3.0).predict(X), repeated.shrink(3.0).predict(X))


@pytest.mark.parametrize("max_bins", [None, 63])
def test_monotonic_forests_stay_monotonic(max_bins):
    X, y = data(300)
    forest = RandomForestRegressor(
        5, monotonic_cst=[1, 0, 0, -1, 0, 0], max_bins=max_bins, random_state=0
    ).fit(X, y)
    for reg_param in (1.0, 10.0, 100.0):
        shrunk = shrink(forest, reg_param)
        for column, sign in [(0, 1), (3, -1)]:
            grid = np.repeat(X[:40], 30, axis=0)
            grid[:, column] = np.tile(np.linspace(0, 1, 30), 40)
            steps = np.diff(shrunk.predict(grid).reshape(40, 30))
            assert (sign * steps).min() >= -1e-12


def test_missing_values_and_categories_go_the_same_ways():
    X, y = data(200)
    X[:, 0] = np.floor(8 * X[:, 0])
    X[np.random.default_rng(0).random(len(X)) < 0.2, 3] = np.nan
    forest = RandomForestRegressor(4, categorical_features=[0], random_state=0).fit(X, y)
    shrunk = shrink(forest, 4.0)
    np.testing.assert_array_equal(shrunk.apply(X), forest.apply(X))
    tree, links = shrunk[0], forest[0].tree_
    paths = forest[0].decision_path(X).toarray().astype(bool)
    for row, path in enumerate(paths[:20]):  # the formula, node by node
        node, found = 0, links.value[0, 0, 0]
        while links.children_left[node] >= 0:
            left = links.children_left[node]
            child = left if path[left] else links.children_right[node]
            step = links.value[child, 0, 0] - links.value[node, 0, 0]
            found += step / (1 + 4.0 / links.weighted_n_node_samples[node])
            node = child
        assert tree.predict(X[[row]])[0] == pytest.approx(found)


# --- the choice ----------------------------------------------------------------------------------

ENSEMBLES = {
    "regression": (RandomForestRegressor(), 0),
    "exact": (RandomForestRegressor(max_bins=None), 0),
    "bagging": (BaggingRegressor(max_features=0.6, bootstrap_features=True), 0),
    "without replacement": (ExtraTreesRegressor(bootstrap=False, max_samples=0.5), 0),
    "empty draws": (BaggingRegressor(bootstrap=Bernoulli("mean"), max_samples=0.02), 0),
    "classes": (RandomForestClassifier(), 3),
    "balanced": (RandomForestClassifier(class_weight="balanced"), 2),
    "votes": (RandomForestClassifier(voting="hard", max_depth=4), 3),
    "bagged classes": (BaggingClassifier(BinnedTreeClassifier(max_depth=4), max_features=0.6), 3),
}


def fitted(name, **params):
    model, classes = ENSEMBLES[name]
    X, y = data(classes=classes)
    params = {"n_estimators": 40, "oob_score": True, "random_state": 0} | params
    return clone(model).set_params(**params).fit(X, y), X, y


def loss_by_hand(model, X, y, weight):
    """The loss of B members: the squares of the mean error less what fewer members add."""
    Y, squares, used = targets_of(model, y), [], []
    spec = model.ensemble_.draws
    rows_of = [spec.draw(seed)[1] for seed in model.ensemble_.seeds]
    codes = np.arange(Y.shape[1])
    for i in range(len(y)):
        errors = []
        for tree, features, rows in zip(model, model.estimators_features_, rows_of):
            if i in rows:
                continue
            x = X[[i]][:, features]
            if not is_classifier(model):
                found = tree.predict(x)
            elif model.voting == "hard":
                found = tree.predict(x) == codes
            else:
                found = np.zeros(len(codes))
                found[tree.classes_.astype(int)] = tree.predict_proba(x)[0]
            errors.append(found - Y[i])
        c = len(errors)
        if c > 1:
            extra = np.var(errors, axis=0, ddof=1) * (1 / c - 1 / len(model))
            squares.append(np.sum(np.mean(errors, axis=0) ** 2 - extra))
            used.append(i)
    weight = weight[used]
    loss = np.average(squares, weights=weight)
    return loss if is_classifier(model) else loss / np.cov(y[used], aweights=weight, ddof=0)


@pytest.mark.parametrize("name", ENSEMBLES)
def test_the_path_is_the_out_of_bag_loss_of_each_parameter(name):
    model, X, y = fitted(name, n_estimators=8, oob_score=False)
    shrunk = shrink(model, "cv", reg_params=GRID)
    weight = model.ensemble_.draws.scheme.sample_weight
    weight = np.ones(len(y)) if weight is None else weight
    losses = [loss_by_hand(shrink(model, reg_param), X, y, weight) for reg_param in GRID]
    np.testing.assert_array_equal(shrunk.shrinkage_path_["reg_param"], GRID)
    np.testing.assert_allclose(shrunk.shrinkage_path_["loss"], losses)
    assert shrunk.shrinkage_ == GRID[np.argmin(losses)]
    np.testing.assert_array_equal(shrink(model, shrunk.shrinkage_).predict(X), shrunk.predict(X))


def test_the_loss_is_that_of_all_members():
    """The mean over the few members outside of a row errs more than that of all members."""
    X, y = data(400)
    test_X, test_y = data(2000, seed=1)
    found, out_of_bag, truth = [], [], []
    for seed in range(20):
        forest = RandomForestRegressor(6, random_state=seed, max_bins=63).fit(X, y)
        found.append(shrink(forest, reg_params=[0.0]).shrinkage_path_["loss"][0])
        truth.append(1 - forest.score(test_X, test_y))
        with pytest.warns(UserWarning, match="do not have OOB"):
            forest.set_params(oob_score=True).fit(X, y)
        out_of_bag.append(1 - forest.oob_score_)
    assert np.mean(found) == pytest.approx(np.mean(truth), rel=0.05)
    assert np.mean(out_of_bag) > 1.15 * np.mean(truth)


def test_weights_of_rows_are_weights_of_their_losses():
    X, y = data()
    weight = np.random.default_rng(0).uniform(0.0, 2.0, len(y))
    weight[:10] = 0.0
    forest = RandomForestRegressor(10, max_depth=4, random_state=0)
    forest.fit(X, np.where(weight > 0, y, 1e6), sample_weight=weight)
    found = shrink(forest, "cv", reg_params=[3.0]).shrinkage_path_["loss"]
    assert found[0] == pytest.approx(loss_by_hand(shrink(forest, 3.0), X, y, weight))


def test_a_row_of_a_group_is_held_out_with_its_group():
    X, y = data()
    groups = np.arange(len(y)) // 4
    forest = RandomForestRegressor(8, random_state=0).fit(X, y, groups=groups)
    found = shrink(forest, "cv", reg_params=[2.0]).shrinkage_path_["loss"]
    assert found[0] == pytest.approx(loss_by_hand(shrink(forest, 2.0), X, y, np.ones(len(y))))


@pytest.mark.parametrize("classes", [0, 3])
def test_a_tree_is_chosen_by_folds(classes):
    X, y = data(classes=classes)
    weight = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    tree = (BinnedTreeClassifier if classes else BinnedTreeRegressor)(min_samples_leaf=2)
    tree.fit(X, y, sample_weight=weight)
    found = tree.shrink("cv", X, y, weight, reg_params=GRID, cv=4)
    losses = []
    for reg_param in GRID:
        held_out = np.zeros((len(y), max(1, classes)))
        for train, test in (StratifiedKFold if classes else KFold)(4).split(X, y):
            fold = clone(tree).fit(X[train], y[train], sample_weight=weight[train])
            held_out[test] = predictions(fold.shrink(reg_param), X[test])
        Y = targets_of(tree, y)
        loss = np.average(((held_out - Y) ** 2).sum(axis=1), weights=weight)
        losses.append(loss if classes else loss / np.cov(y, aweights=weight, ddof=0))
    np.testing.assert_allclose(found.shrinkage_path_["loss"], losses)
    assert found.shrinkage_ == GRID[np.argmin(losses)]


def test_a_fold_may_lack_a_class():
    X, y = data(classes=2)
    y[:3] = 2
    tree = BinnedTreeClassifier().fit(X, y)
    splits = [(np.arange(3, 60), np.arange(60, 120)), (np.arange(60, 120), np.arange(60))]
    assert np.isfinite(tree.shrink("cv", X, y, cv=splits).shrinkage_path_["loss"]).all()


def test_shrinkage_pays_where_noise_is_large_and_trees_are_few():
    X, y = make_friedman1(1300, 10, noise=5.0, random_state=0)
    forest = RandomForestRegressor(10, random_state=0).fit(X[:300], y[:300])
    gain = shrink(forest).score(X[300:], y[300:]) - forest.score(X[300:], y[300:])
    assert gain > 0.02
    tree = BinnedTreeRegressor().fit(X[:300], y[:300])
    assert tree.shrink("cv", X[:300], y[:300]).score(X[300:], y[300:]) > 0.2
    assert tree.score(X[300:], y[300:]) < 0.0


# --- the ensemble that is returned ---------------------------------------------------------------


@pytest.mark.parametrize("name", ["regression", "exact", "classes"])
def test_the_rest_of_the_ensemble_is_that_of_the_shrunk_trees(name):
    model, X, _ = fitted(name)
    before = pickle.dumps(model)
    shrunk = shrink(model, 6.0)
    assert pickle.dumps(model) == before
    assert shrunk.shrinkage_ == 6.0
    assert not hasattr(shrunk, "shrinkage_path_")
    assert str(shrunk.get_params()) == str(model.get_params())
    # Importances rest on impurities, and on rows.
    np.testing.assert_array_equal(shrunk.feature_importances_, model.feature_importances_)
    found = unbiased_feature_importances(shrunk)
    np.testing.assert_array_equal(found, unbiased_feature_importances(model))
    same = pickle.loads(pickle.dumps(shrunk))
    for other in (same, export.sklearn(shrunk)):
        np.testing.assert_allclose(predictions(other, X), predictions(shrunk, X))
    np.testing.assert_array_equal(predictions(compact(same), X), predictions(shrunk, X))
    if not is_classifier(model):
        np.testing.assert_array_equal(shrunk.predict_quantiles(X), model.predict_quantiles(X))
        assert shrunk.standard_error(X).mean() < model.standard_error(X).mean()
        lower, upper = shrunk.predict_interval(X[:5]).T
        assert (lower < upper).all()
        # Without `oob_score=True` intervals make the same out-of-bag predictions.
        plain = fitted("regression" if model.max_bins == "auto" else "exact", oob_score=False)[0]
        np.testing.assert_allclose(shrink(plain, 6.0).predict_interval(X[:5])[:, 0], lower)
    else:
        assert shrunk.predict_set(X).any(axis=1).all()
        np.testing.assert_allclose(shrunk.predict_proba(X).sum(axis=1), 1.0)


def test_stability_is_that_of_members_of_their_own_rows():
    model = fitted("regression")[0]
    assert stability(shrink(model, 3.0)) == stability(model)
    with pytest.raises(ValueError, match="all rows have chosen the shrinkage"):
        _ = stability(shrink(model, "cv"))


def test_out_of_bag_predictions_are_removed_with_the_rows():
    model = forget_training_rows(fitted("regression")[0])
    assert not hasattr(shrink(model, 1.0), "oob_score_")
    assert hasattr(model, "oob_score_")


def test_a_new_fit_forgets_and_a_warm_start_refuses():
    model, X, y = fitted("regression", warm_start=True)
    shrunk = shrink(model)
    with pytest.raises(ValueError, match="warm_start=True requires the values before shrinkage"):
        shrunk.set_params(n_estimators=50).fit(X, y)
    assert shrunk.shrinkage_path_
    shrunk.set_params(warm_start=False).fit(X, y)
    assert not {"shrinkage_", "shrinkage_path_"} & set(vars(shrunk))
    tree = BinnedTreeRegressor().fit(X, y).shrink(1.0)
    assert not hasattr(tree.fit(X, y), "shrinkage_")


def test_the_last_step_of_a_pipeline_is_replaced():
    X, y = data()
    pipeline = make_pipeline(StandardScaler(), RandomForestRegressor(5, random_state=0)).fit(X, y)
    expected = shrink(pipeline[-1], 5.0).predict(pipeline[:-1].transform(X))
    pipeline.set_params(randomforestregressor=shrink(pipeline[-1], 5.0))
    np.testing.assert_array_equal(pipeline.predict(X), expected)


@pytest.mark.parametrize("exponent", [-150, 150, 308])
def test_units_of_y_do_not_matter(exponent):
    X, y = data()
    y = (y - y.mean()) / np.abs(y - y.mean()).max()
    forest = RandomForestRegressor(30, max_bins=63, random_state=0)
    expected = shrink(forest.fit(X, y))
    found = shrink(forest.fit(X, y * 10.0**exponent))
    np.testing.assert_allclose(
        found.shrinkage_path_["loss"], expected.shrinkage_path_["loss"], rtol=1e-6
    )
    np.testing.assert_allclose(found.predict(X) / 10.0**exponent, expected.predict(X), rtol=1e-6)


# --- errors --------------------------------------------------------------------------------------


def test_what_cannot_be_shrunk_is_named():
    X, y = data()
    with pytest.raises(ValueError, match="not fitted"):
        shrink(RandomForestRegressor(), 1.0)
    with pytest.raises(ValueError, match="not fitted"):
        BinnedTreeRegressor().shrink(1.0)
    forest = RandomForestRegressor(5, random_state=0).fit(X, y)
    for wrong in (-1.0, np.nan, np.inf, None):
        with pytest.raises(ValueError, match="reg_param must be"):
            shrink(forest, wrong)
    with pytest.raises(ValueError, match="reg_param must be a number of at least 0 or 'cv'"):
        shrink(forest, "oob")
    with pytest.raises(ValueError, match="reg_params must be finite"):
        shrink(forest, reg_params=[1.0, -2.0])
    with pytest.raises(ValueError, match="reg_params must have a value"):
        shrink(forest, reg_params=[])
    with pytest.raises(ValueError, match=r"has been shrunk by reg_param=1"):
        shrink(shrink(forest, 1.0), 2.0)
    with pytest.raises(ValueError, match="call shrink before compact"):
        shrink(compact(clone(forest).fit(X, y)), 1.0)
    with pytest.raises(ValueError, match="requires the training rows, which were removed"):
        shrink(forget_training_rows(clone(forest).fit(X, y)))
    with pytest.raises(ValueError, match="members that are trees, got KNeighborsRegressor"):
        shrink(BaggingRegressor(KNeighborsRegressor()).fit(X, y), 1.0)
    with pytest.raises(ValueError, match="those of criterion='absolute_error' hold quantiles"):
        shrink(RandomForestRegressor(2, criterion="absolute_error").fit(X, y), 1.0)
    with pytest.raises(ValueError, match="fitted to every row"):
        shrink(ExtraTreesRegressor(2).fit(X, y))
    with pytest.raises(ValueError, match="requires X and y"):
        BinnedTreeRegressor().fit(X, y).shrink("cv")
    assert shrink(ExtraTreesRegressor(2).fit(X, y), 1.0).shrinkage_ == 1.0


def test_the_rows_of_folds_are_those_of_the_fit():
    X, y = data()
    tree = BinnedTreeRegressor().fit(X, y)
    with pytest.raises(ValueError, match="X has 5 features"):
        tree.shrink("cv", X[:, :5], y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        tree.shrink("cv", X, y[:50])
    with pytest.raises(ValueError, match="y must have 1 columns"):
        tree.shrink("cv", X, np.column_stack([y, y]))
    labels = np.where(y > 14, "a", "b")
    with pytest.raises(ValueError, match="labels to which the tree was not fitted"):
        BinnedTreeClassifier().fit(X, labels).shrink("cv", X, np.where(y > 14, "a", "c"))


def test_data_frames_with_categories_and_sparse_matrices():
    pandas = pytest.importorskip("pandas")
    X, y = data(200)
    frame = pandas.DataFrame(X[:, :3], columns=["a", "b", "c"])
    frame["kind"] = pandas.Categorical(np.array(list("uvwxyz"))[(6 * X[:, 3]).astype(int)])
    for model in (BinnedTreeRegressor(), RandomForestRegressor(10, random_state=0)):
        model.fit(frame, y)
        rows = (frame, y) if isinstance(model, BinnedTreeRegressor) else ()
        shrunk = shrink(model, "cv") if not rows else model.shrink("cv", *rows)
        assert shrunk.shrinkage_ > 0
        np.testing.assert_allclose(shrunk.predict(frame).mean(), model.predict(frame).mean(), 0.02)
    sparse = sp.csr_matrix(np.where(X > 0.5, X, 0.0))
    forest = RandomForestRegressor(6, random_state=0).fit(sparse, y)
    found = shrink(forest, reg_params=[3.0]).shrinkage_path_["loss"][0]
    expected = loss_by_hand(shrink(forest, 3.0), sparse.toarray(), y, np.ones(len(y)))
    assert found == pytest.approx(expected)


def test_one_member_of_all_rows_has_no_out_of_bag_rows():
    X, y = data(2)
    bags = (BaggingRegressor(n_estimators=1, random_state=seed) for seed in range(50))
    bag = next(bag for bag in bags if len(set(bag.fit(X, y).estimators_samples_[0])) == 2)
    with pytest.raises(ValueError, match="all members are fitted to all 2 rows"):
        shrink(bag)
