"""Gradient boosting of several targets, and of classes by one tree a round."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax
from sklearn.datasets import load_digits
from sklearn.inspection import partial_dependence
from sklearn.linear_model import LinearRegression
from sklearn.metrics import log_loss, r2_score
from sklearn.model_selection import train_test_split
from sklearn.multioutput import MultiOutputRegressor
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from sklearn_ensemble_theory import (
    BaggingRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    export,
)
from sklearn_ensemble_theory.boosting.losses import HuberLoss
from sklearn_ensemble_theory.trees import BinnedTreeRegressor

N, P, Q = 300, 5, 3
LOSSES = ["squared_error", "absolute_error", "huber", "quantile"]
each_loss = pytest.mark.parametrize("loss", LOSSES)
each_way = pytest.mark.parametrize("multi_output", ["one_tree", "separate"])


def targets(seed=0, n=N, noise=0.3):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, P))
    Y = np.column_stack([X[:, 0] + X[:, 1], X[:, 0] * X[:, 1], np.abs(X[:, 2])])
    return X, Y + noise * rng.standard_normal((n, Q))


def components(n, max_depth=3):
    return BinnedTreeRegressor(max_depth=max_depth, target_components=n)


def boosted(**given):
    return GradientBoostingRegressor(**{"n_estimators": 15, "random_state": 0, **given})


# --- against models of one target -----------------------------------------------------------------


@each_way
@each_loss
def test_equal_targets_have_the_model_of_one(loss, multi_output):
    X, Y = targets(1)
    X = X[:, :1]  # each tree draws which of equally good features it takes
    one = boosted(loss=loss).fit(X, Y[:, 0])
    model = boosted(loss=loss, multi_output=multi_output).fit(X, np.repeat(Y[:, :1], Q, axis=1))
    assert_allclose(model.predict(X), np.repeat(one.predict(X)[:, None], Q, axis=1), atol=1e-9)
    assert_allclose(model.train_scores_, Q * one.train_scores_)
    assert_allclose(model.train_score_, Q * one.train_score_)
    assert_allclose(model.initial_scores_, np.repeat(one.initial_scores_, Q))
    assert_allclose(model.feature_importances_, one.feature_importances_, atol=1e-9)


@each_loss
def test_separate_trees_are_a_model_for_each_target(loss):
    X, Y = targets(2)
    X = X[:, :1]
    model = boosted(loss=loss, multi_output="separate").fit(X, Y)
    assert model.estimators_.shape == (15, Q)
    assert model.n_trees_per_iteration_ == Q
    apart = MultiOutputRegressor(boosted(loss=loss)).fit(X, Y)
    assert_allclose(model.predict(X), apart.predict(X), atol=1e-9)


# --- leaves ---------------------------------------------------------------------------------------


@each_loss
@pytest.mark.parametrize("weighted", [False, True])
def test_leaves_minimise_the_loss_of_each_target(loss, weighted):
    X, Y = targets(3)
    weight = np.random.default_rng(0).random(N) if weighted else None
    model = boosted(loss=loss, n_estimators=1, learning_rate=1.0, init="zero")
    model.fit(X, Y, sample_weight=weight)
    assert model.estimators_.shape == (1, 1)
    assert model.n_trees_per_iteration_ == 1
    found = model.predict(X)
    weight = np.ones(N) if weight is None else weight
    for leaf in np.unique(model.apply(X)):
        rows = (model.apply(X) == leaf)[:, 0]
        for k in range(Q):
            one, value = model.loss_.losses[k], found[rows, k]
            assert (value == value[0]).all()
            # If it is the minimum, no other step is better. Huber's is a Newton step here.
            if loss != "huber":
                at = [one.risk(Y[rows, k], value + d, weight[rows]) for d in (-1e-3, 0.0, 1e-3)]
                assert at[1] <= min(at) + 1e-12


def test_the_delta_of_each_target_follows_its_residuals():
    X, Y = targets(4)
    Y = Y * np.array([1.0, 100.0, 0.01])
    model = boosted(loss="huber", alpha=0.9).fit(X, Y)
    residuals = np.abs(Y - list(model.staged_predict(X))[-2])
    deltas = [loss.delta for loss in model.loss_.losses]
    assert_allclose(deltas, np.quantile(residuals, 0.9, axis=0, method="inverted_cdf"))
    assert isinstance(boosted(loss=HuberLoss(2.0)).fit(X, Y).loss_.losses[1], HuberLoss)


@pytest.mark.parametrize("step", ["fixed", "newton"])
def test_one_tree_for_all_classes_has_newton_steps_in_its_leaves(step):
    X, Y = targets(5)
    y = np.digitize(Y[:, 0], [-1.0, 1.0])
    rate = 0.1
    model = GradientBoostingClassifier(
        multi_output="one_tree",
        step=step,
        n_estimators=2,
        learning_rate=rate,
        random_state=0,
    ).fit(X, y)
    assert model.estimators_.shape == (2, 1)
    before, after = (u.copy() for u in model.staged_decision_function(X))
    p = softmax(before, axis=1)
    first, second = (y[:, None] == np.arange(3)) - p, p * (1 - p)
    factor = 1.0 if step == "newton" else 2 / 3  # Friedman's (K - 1) / K
    for leaf in np.unique(model.apply(X)[:, 1, 0]):
        rows = model.apply(X)[:, 1, 0] == leaf
        step = rate * factor * first[rows].sum(axis=0) / second[rows].sum(axis=0)
        assert_allclose((after - before)[rows], np.tile(step, (rows.sum(), 1)), rtol=1e-6)


def test_one_tree_for_two_classes_is_the_usual_one():
    X, Y = targets(6)
    y = Y[:, 0] > 0
    one = GradientBoostingClassifier(n_estimators=5, random_state=0).fit(X, y)
    other = GradientBoostingClassifier(n_estimators=5, random_state=0, multi_output="one_tree")
    assert_array_equal(other.fit(X, y).decision_function(X), one.decision_function(X))


# --- threads and weights --------------------------------------------------------------------------

SETTINGS = [
    {},
    {"subsample": 0.6, "min_samples_leaf": 5},
    {"max_features": 2, "max_leaf_nodes": 7, "max_depth": None},
    {"step": "newton"},
    {"estimator": BinnedTreeRegressor(max_depth=3, target_components=1)},
    {"loss": "absolute_error"},
    {"loss": "huber", "step": "line_search"},
]


@pytest.mark.parametrize("given", SETTINGS, ids=str)
def test_any_number_of_threads_makes_the_same_model(given):
    X, Y = targets(7)
    X[::9, 0] = np.nan
    weight = np.random.default_rng(0).integers(0, 3, N)
    model = boosted(n_jobs=1, **given).fit(X, Y, sample_weight=weight)
    threads = boosted(n_jobs=3, **given).fit(X, Y, sample_weight=weight)
    assert_array_equal(threads.predict(X), model.predict(X))
    assert_array_equal(model.predict(X), pickle.loads(pickle.dumps(model)).predict(X))


def test_whole_weights_are_repeated_rows():
    X, Y = targets(9)
    weight = np.random.default_rng(0).integers(0, 3, N)
    model = boosted().fit(X, Y, sample_weight=weight)
    again = boosted().fit(np.repeat(X, weight, axis=0), np.repeat(Y, weight, axis=0))
    assert_allclose(model.predict(X), again.predict(X), atol=1e-10)


# --- what a fit offers ----------------------------------------------------------------------------


@each_way
def test_predictions_stages_and_scores(multi_output):
    X, Y = targets(10)
    model = boosted(multi_output=multi_output, n_iter_no_change=3, n_estimators=300).fit(X, Y)
    assert model.n_estimators_ < 300
    assert len(model.validation_scores_) == model.n_estimators_
    stages = list(model.staged_predict(X))
    assert_allclose(stages[-1], model.predict(X), rtol=1e-12)
    assert_allclose(
        model.score(X, Y), np.mean([r2_score(Y[:, k], stages[-1][:, k]) for k in range(Q)])
    )
    members = [member for row in model.estimators_ for member in row]
    sums = np.zeros((N, Q))
    for t, member in enumerate(members):
        if multi_output == "one_tree":
            assert member.n_outputs_ == Q
            sums += model.steps_[t] * member.predict(X)
        else:
            sums[:, t % Q] += model.steps_[t // Q] * member.predict(X)
    assert_allclose(sums + model.init_.predict(X), model.predict(X))
    shape = (N, model.n_estimators_) if multi_output == "one_tree" else (N, model.n_estimators_, Q)
    assert model.apply(X).shape == shape
    assert_allclose(model.feature_importances_.sum(), 1.0)


@each_way
@pytest.mark.parametrize("loss", ["squared_error", "huber"])
def test_a_continued_fit_is_one_fit(multi_output, loss):
    X, Y = targets(11)
    given = {"multi_output": multi_output, "loss": loss, "subsample": 0.7}
    model = boosted(warm_start=True, **given).fit(X, Y)
    model.set_params(n_estimators=25).fit(X, Y)
    assert_array_equal(model.predict(X), boosted(n_estimators=25, **given).fit(X, Y).predict(X))
    other = {"one_tree": "separate", "separate": "one_tree"}[multi_output]
    with pytest.raises(ValueError, match="multi_output must be the same as in the previous fit"):
        model.set_params(n_estimators=30, multi_output=other).fit(X, Y)
    model.set_params(multi_output=multi_output)
    with pytest.raises(ValueError, match="y must have 3 columns"):
        model.fit(X, Y[:, :2])


class OneTarget(DecisionTreeRegressor):
    def predict(self, X):
        return super().predict(X)[:, 0]


def test_initial_models():
    X, Y = targets(12)
    line = LinearRegression().fit(X, Y)
    model = boosted(init=LinearRegression()).fit(X, Y)
    assert_allclose(model.init_.predict(X), line.predict(X))
    assert model.score(X, Y) > line.score(X, Y)
    assert_allclose(boosted().fit(X, Y).init_.predict(X[:1])[0], Y.mean(axis=0))
    with pytest.raises(ValueError, match="init: OneTarget must predict 3 targets"):
        boosted(init=OneTarget()).fit(X, Y)


def test_one_column_is_one_target():
    X, Y = targets(13)
    with pytest.warns(UserWarning, match="A column-vector y was passed"):
        model = boosted().fit(X, Y[:, :1])
    assert_array_equal(model.predict(X), boosted().fit(X, Y[:, 0]).predict(X))


def test_components_keep_what_targets_have_in_common():
    """Of 20 targets that are combinations of two functions, two components tell everything."""
    X, Y = targets(14, noise=0.0)
    mixed = Y[:, :2] @ np.random.default_rng(0).standard_normal((2, 20))
    model = boosted().fit(X, mixed)
    by_two = boosted(estimator=components(2)).fit(X, mixed)
    assert_allclose(by_two.predict(X), model.predict(X), atol=1e-8)
    by_one = boosted(estimator=components(1)).fit(X, mixed)
    assert not np.allclose(by_one.predict(X), model.predict(X))
    assert by_one.score(X, mixed) > 0.5


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_one_tree_for_ten_digits(seed):
    X, y = load_digits(return_X_y=True)
    train, test, y_train, y_test = train_test_split(X, y, random_state=seed)
    given = {"n_estimators": 200, "random_state": 0}
    for step in ("fixed", "newton"):
        losses, leaves = {}, {}
        for way in ("separate", "one_tree"):
            model = GradientBoostingClassifier(multi_output=way, step=step, **given)
            proba = model.fit(train, y_train).predict_proba(test)
            losses[way] = log_loss(y_test, proba)
            leaves[way] = sum(tree.get_n_leaves() for tree in model.estimators_.flat)
        print(losses, leaves)
        assert leaves["one_tree"] < 0.15 * leaves["separate"]
        assert losses["one_tree"] < 0.85 * losses["separate"]


def mixtures(n, n_targets, seed):
    """Targets that are combinations of eight functions, with errors; and their true means."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 20))
    parts = [np.sin(2 * X[:, 0]), X[:, 1] * X[:, 2], np.abs(X[:, 3]), X[:, 4] > 0, X[:, 5]]
    parts += [np.exp(-(X[:, 6] ** 2)), X[:, 7] * (X[:, 0] > 0), np.cos(3 * X[:, 8])]
    truth = np.column_stack(parts) @ rng.standard_normal((8, n_targets)) / np.sqrt(8)
    return X, truth + rng.standard_normal(truth.shape), truth


@pytest.mark.slow
@pytest.mark.parametrize("n", [1000, 5000])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_one_tree_finds_what_targets_share(n, seed):
    X, Y, truth = mixtures(n + 4000, 10, seed)
    least = {}
    for way in ("one_tree", "separate"):
        model = boosted(n_estimators=300, multi_output=way).fit(X[:n], Y[:n])
        stages = model.staged_predict(X[n:])
        least[way] = min(float(np.mean((stage - truth[n:]) ** 2)) for stage in stages)
    print(least)
    assert least["one_tree"] < 0.9 * least["separate"]


@pytest.mark.slow
def test_five_components_of_fifty_targets():
    X, Y, truth = mixtures(5000, 50, 0)
    errors = []
    for n_components in (None, 5):
        model = boosted(n_estimators=100, estimator=components(n_components, max_depth=6))
        model.fit(X[:3000], Y[:3000])
        errors.append(float(np.mean((model.predict(X[3000:]) - truth[3000:]) ** 2)))
    print(errors)
    assert errors[1] < 1.1 * errors[0]


def test_shapley_values_of_several_targets_have_the_trees():
    X, Y = targets(15)
    model = boosted(n_estimators=3).fit(X, Y)
    found = export.shap(model)
    total = found["base_offset"] + 0.0
    for tree in found["trees"]:
        at = np.zeros(N, dtype=int)
        while (tree["children_left"][at] >= 0).any():
            inner = tree["children_left"][at] >= 0
            goes = X[np.arange(N), tree["feature"][at]] <= tree["threshold"][at]
            child = np.where(goes, tree["children_left"][at], tree["children_right"][at])
            at = np.where(inner, child, at)
        total = total + tree["value"][at]
    assert_allclose(total, model.predict(X), rtol=1e-6)


# --- refusals -------------------------------------------------------------------------------------


class Quartic:
    def value(self, y, u):
        return (y - u) ** 4

    def gradient(self, y, u):
        return 4 * (u - y) ** 3


ONE = {"multi_output": "one_tree"}
REFUSED = [
    ({"loss": "poisson"}, "loss: y has 3 columns, and PoissonLoss takes one"),
    ({"loss": Quartic()}, "loss: y has 3 columns"),
    ({"max_bins": None, **ONE}, "multi_output='one_tree' requires trees in at most 255 bins"),
    ({"ccp_alpha": 0.1, **ONE}, "multi_output='one_tree' requires trees in at most 255 bins"),
    ({"estimator": LinearRegression(), **ONE}, "which LinearRegression here are not"),
    (
        {"estimator": BinnedTreeRegressor(max_depth=3, monotonic_cst=[1, 0, 0, 0, 0]), **ONE},
        "multi_output='one_tree' requires trees without monotonic_cst",
    ),
    ({"step": "joint"}, "step='joint' requires a loss with one score"),
    ({"multi_output": "both"}, "The 'multi_output' parameter"),
    ({"estimator": components(0)}, "The 'target_components' parameter"),
]


@pytest.mark.parametrize(("given", "message"), REFUSED)
def test_what_is_refused(given, message):
    X, Y = targets(16)
    X[:, 4] = np.abs(X[:, 4]) > 1
    with pytest.raises(ValueError, match=message):
        boosted(**given).fit(X, Y)


def test_separate_trees_have_constraints():
    X, Y = targets(25)
    signs = [1, 0, -1, 0, 0]
    model = boosted(multi_output="separate", monotonic_cst=signs).fit(X, Y)
    rows = np.repeat(X[:20], 50, axis=0)
    for feature in (0, 2):
        moved = rows.copy()
        moved[:, feature] = np.tile(np.linspace(-3, 3, 50), 20)
        steps = np.diff(model.predict(moved).reshape(20, 50, Q), axis=1)
        assert (signs[feature] * steps >= 0).all()
        assert steps.any()
    # Signs that constrain nothing are none.
    free = boosted(monotonic_cst=[0] * P).fit(X, Y)
    assert_array_equal(free.predict(X), boosted().fit(X, Y).predict(X))
    with pytest.raises(ValueError, match="'one_tree' requires trees without monotonic_cst"):
        boosted(monotonic_cst=signs, multi_output="one_tree").fit(X, Y)
    # The default is one tree if it can be, and separate ones otherwise.
    default = boosted(monotonic_cst=signs).fit(X, Y)
    assert_array_equal(default.predict(X), model.predict(X))
    assert boosted().fit(X, Y).n_trees_per_iteration_ == 1


def test_messages_have_the_name_of_the_loss_of_the_user():
    X, Y = targets(26)
    for given in ({"step": "newton"}, {"step": "quadratic_bound"}):
        with pytest.raises(ValueError, match="AbsoluteLoss has none"):
            boosted(loss="absolute_error", **given).fit(X, Y)


def test_what_else_is_refused():
    X, Y = targets(17)
    with pytest.raises(ValueError, match="y_val must have the columns of y"):
        boosted().fit(X, Y, X_val=X, y_val=Y[:, 0])
    for way in ("one_tree", "separate"):
        with pytest.raises(ValueError, match="no counterpart in scikit-learn"):
            export.sklearn(boosted(multi_output=way).fit(X, Y))
    y = np.digitize(Y[:, 0], [-1.0, 1.0])
    model = GradientBoostingClassifier(multi_output="one_tree", max_bins=None)
    with pytest.raises(ValueError, match="multi_output='one_tree' requires trees in"):
        model.fit(X, y)


@each_way
def test_estimators_without_vectors_are_fitted_to_each_target(multi_output):
    X, Y = targets(18)
    if multi_output == "one_tree":  # the default tree, given
        given = BinnedTreeRegressor(max_depth=3)
        assert_array_equal(
            boosted(estimator=given).fit(X, Y).predict(X), boosted().fit(X, Y).predict(X)
        )
    else:
        model = boosted(estimator=LinearRegression(), multi_output="separate").fit(X, Y)
        assert model.estimators_.shape == (15, Q)
        assert model.predict(X).shape == (N, Q)


# --- single trees ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given",
    [
        {"max_depth": 4, "min_samples_leaf": 5},
        {"max_leaf_nodes": 12, "min_samples_leaf": 5},
        {"max_depth": 5, "max_features": 2, "random_state": 3, "min_samples_leaf": 5},
    ],
    ids=str,
)
def test_a_tree_of_several_targets_is_that_of_scikit_learn(given):
    X, Y = targets(19)
    X = np.round(X, 1).astype(np.float32)  # fewer values than bins
    Y = Y + 100.0
    tree = BinnedTreeRegressor(**given).fit(X, Y)
    expected = DecisionTreeRegressor(**given).fit(X, Y)
    assert tree.n_outputs_ == Q
    assert_allclose(tree.predict(X), expected.predict(X))
    assert_allclose(tree.feature_importances_, expected.feature_importances_)
    assert_allclose(tree.tree_.impurity, expected.tree_.impurity, atol=1e-8)
    assert_array_equal(export.sklearn(tree).predict(X), tree.predict(X))
    assert_array_equal(tree.apply(X), expected.apply(X))
    assert_array_equal(pickle.loads(pickle.dumps(tree)).predict(X), tree.predict(X))


@pytest.mark.parametrize("size", [1e-300, 1e300])
def test_trees_of_targets_of_any_size(size):
    X, Y = targets(23)
    tree = BinnedTreeRegressor(max_depth=3).fit(X, Y)
    scaled = BinnedTreeRegressor(max_depth=3).fit(X, size * Y)
    assert_allclose(scaled.predict(X), size * tree.predict(X))


def test_regularised_values_shrink_to_the_means():
    X, Y = targets(20)
    tree = BinnedTreeRegressor(max_depth=2, l2_regularization=1e12).fit(X, Y + 5.0)
    assert_allclose(tree.predict(X), np.tile(Y.mean(axis=0) + 5.0, (N, 1)), rtol=1e-6)


def test_partial_dependence_of_several_targets():
    X, Y = targets(24)
    tree = BinnedTreeRegressor(max_depth=3).fit(X, Y)
    assert partial_dependence(tree, X, [0], method="brute")["average"].shape == (Q, 100)
    with pytest.raises(ValueError, match="of several targets requires method='brute'"):
        partial_dependence(tree, X, [0], method="recursion")
    assert partial_dependence(boosted().fit(X, Y), X, [0])["average"].shape == (Q, 100)


def test_bags_of_trees_of_several_targets():
    X, Y = targets(21)
    model = BaggingRegressor(BinnedTreeRegressor(max_depth=4), 8, random_state=0).fit(X, Y)
    means = np.mean([member.predict(X) for member in model.estimators_], axis=0)
    assert_allclose(model.predict(X), means)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"criterion": "poisson"}, "criterion='poisson' requires y of one column"),
        ({"criterion": "absolute_error"}, "criterion='absolute_error' requires y of one column"),
        ({"max_bins": 300}, "max_bins=300 requires y of one column"),
        ({"monotonic_cst": [1, 0, 0, 0, 0]}, "y of several columns requires trees without mono"),
        ({"interaction_cst": [[0], [1]]}, "y of several columns requires trees without inter"),
    ],
)
def test_what_a_tree_of_several_targets_does_not_have(given, message):
    X, Y = targets(22)
    X[:, 4] = np.abs(X[:, 4]) > 1
    with pytest.raises(ValueError, match=message):
        BinnedTreeRegressor(**given).fit(X, np.abs(Y))


# --- scikit-learn's checks, of what is not the default --------------------------------------------


@pytest.mark.slow
@parametrize_with_checks(
    [
        boosted(n_estimators=10, multi_output="separate"),
        GradientBoostingClassifier(n_estimators=10, random_state=0, multi_output="one_tree"),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
