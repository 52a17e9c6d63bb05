"""Gradient boosting from the sums of chunks in memory: trees, requests, and losses as sums."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from sklearn_ensemble_theory import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn_ensemble_theory.boosting import CVRounds
from sklearn_ensemble_theory.boosting.losses import (
    ExponentialLoss,
    HuberLoss,
    LogisticLoss,
    MultinomialLoss,
    PoissonLoss,
    SquaredLoss,
)
from sklearn_ensemble_theory.boosting.steps import FixedStep
from sklearn_ensemble_theory.trees import BinnedTreeRegressor
from tests.boosting.gradient_boosting_data import assert_same_rounds

from ..local_blocks import LocalBlocks
from ..surroundings import ChunkedRows, RowChecks
from ..trees.engine import GridUnits, after_splits, counted_nodes, given_targets, nodes_of
from .engine import EmpiricalRisk, as_loss, in_few_bytes
from .loss_cases import CASES, OF_REALS, OF_USERS, LogCosh, far_problem


def in_chunks(model, X, y, weight=None, cuts=(0, 1, 1, 150)):
    """Fitted to chunks of rows, of which the second has one row and the third has none."""
    parts = [np.split(a, cuts) for a in (X, y, np.ones(len(y)) if weight is None else weight)]
    blocks = [
        (i, *part[:2], None if weight is None else part[2]) for i, part in enumerate(zip(*parts))
    ]
    checks = RowChecks(X.shape[1], hasattr(model, "predict_proba"))
    model._validate_params()
    model._fit_chunks(ChunkedRows(LocalBlocks(blocks), checks, X[:0]))
    model.n_features_in_ = X.shape[1]
    return model


def rows(n=400):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((n, 3)).round(1)
    return X, np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]


@pytest.mark.parametrize(
    "parameters",
    [
        {"max_depth": 5, "min_samples_leaf": 7},
        {"max_leaf_nodes": 6, "max_depth": None},
        {"max_depth": 1, "min_impurity_decrease": 0.05},
        {"min_weight_fraction_leaf": 0.1, "learning_rate": lambda t: 1 / (t + 1)},
        {"init": "zero", "max_depth": 8},
        {"interaction_cst": [[0, 1]], "monotonic_cst": [1, 0, -1], "max_depth": 5},
        {"interaction_cst": "no_interactions", "loss": "poisson"},
        {"max_features": 1, "max_leaf_nodes": 9, "max_depth": None},
        {"max_features": "sqrt", "max_leaf_nodes": 5, "interaction_cst": [[0, 1]]},
        {"max_features": 2, "max_depth": 2, "min_samples_leaf": 20},
    ],
    ids=lambda p: "-".join(p),
)
def test_parameters_of_trees(parameters):
    X, y = rows()
    y = np.exp(y) if "loss" in parameters else y
    model = GradientBoostingRegressor(n_estimators=4, random_state=0, **parameters)
    expected = GradientBoostingRegressor(**model.get_params()).fit(X, y)
    assert_same_rounds(in_chunks(model, X, y), expected)


@pytest.mark.parametrize("options", [{}, {"subsample": 0.5}, {"n_estimators": "cv"}], ids=str)
def test_features_that_deep_trees_draw_do_not_depend_on_the_chunks(options):
    """Each node draws one feature, which is split at the place that all rows say."""
    X, y = rows()
    if "n_estimators" in options:
        options = {"n_estimators": CVRounds(3, max_estimators=8)}
    model = GradientBoostingRegressor(
        **{"n_estimators": 8, "max_features": 1, "max_depth": 5, "random_state": 0, **options}
    )
    found = [in_chunks(clone(model), X, y, cuts=cuts) for cuts in ((0, 1, 1, 150), (100, 300), ())]
    for each in found[1:]:
        assert_same_rounds(each, found[0])
    drawn = np.concatenate([tree.tree_.feature for tree in found[0].estimators_.flat])
    assert set(drawn) == {-2, 0, 1, 2}


@pytest.mark.parametrize("depth", [1, 4])
def test_features_are_drawn_at_random(depth):
    """At nodes of each depth every feature comes in turn; without draws feature 0 is the best."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 4))
    y = X[:, 0] + 0.1 * rng.standard_normal(300)
    options = {"n_estimators": 300, "learning_rate": 1e-9, "min_samples_leaf": 5, "random_state": 1}
    model = GradientBoostingRegressor(max_features=1, max_depth=depth, **options)
    in_chunks(model, X, y, cuts=(0, 100))
    counts = np.zeros((depth, 4))
    for tree in model.estimators_.flat:
        level = np.zeros(tree.tree_.node_count, dtype=int)
        for i in range(tree.tree_.node_count):
            for child in (tree.tree_.children_left[i], tree.tree_.children_right[i]):
                level[child] = level[i] + 1 if child > 0 else level[child]
            if tree.tree_.children_left[i] > 0:
                counts[level[i], tree.tree_.feature[i]] += 1
    expected = counts.sum(axis=1, keepdims=True) / 4
    assert (np.abs(counts - expected) < 5 * np.sqrt(expected)).all()


WEIGHTS = {
    "none": lambda rng, n: None,
    "whole": lambda rng, n: rng.integers(0, 3, n) * 1.0,
    "real": lambda rng, n: rng.random(n),
}
HIST = {"early_stopping": False, "max_iter": 5, "max_leaf_nodes": 8}


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize(
    "model",
    [
        HistGradientBoostingClassifier(**HIST),
        HistGradientBoostingClassifier(**HIST, learning_rate=1.0, l2_regularization=1.0),
        GradientBoostingClassifier(
            n_estimators=4, step="newton", random_state=0, min_weight_fraction_leaf=0.0213
        ),
    ],
    ids=["histogram", "large steps", "newton"],
)
def test_newton_steps_of_classes(model, n_classes, weights):
    X, y = rows()
    labels = np.array([*"bcad"])[np.digitize(y, [0.2, 0.7, 1.2][: n_classes - 1])]
    given = X, labels, WEIGHTS[weights](np.random.default_rng(0), len(y))
    expected, found = clone(model).fit(*given), in_chunks(clone(model), *given)
    assert_same_rounds(found, expected)
    proba = expected.predict_proba(X)
    np.testing.assert_allclose(found.predict_proba(X), proba, rtol=0, atol=1e-10)


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("rate", [0.1, 1.0])
@pytest.mark.parametrize("loss", ["poisson", "gamma", "absolute_error", "quantile"])
def test_losses_of_histogram_boosting(loss, rate, weights):
    """Newton steps, and quantiles to the bit."""
    X, y = rows()
    y = {"poisson": np.exp(y).round(), "gamma": np.exp(y)}.get(loss, y.round(1))
    parameters = {**HIST, "loss": loss, "learning_rate": rate, "min_samples_leaf": 5}
    model = HistGradientBoostingRegressor(
        quantile=0.7 if loss == "quantile" else None, **parameters
    )
    given = X, y, WEIGHTS[weights](np.random.default_rng(0), len(y))
    expected, found = clone(model).fit(*given), in_chunks(clone(model), *given)
    assert_same_rounds(found, expected)
    atol = 0 if loss in ("absolute_error", "quantile") else 1e-10
    np.testing.assert_allclose(found.predict(X), expected.predict(X), rtol=0, atol=atol)


def test_leaves_of_the_hinge_loss():
    X, y = rows()
    model = GradientBoostingClassifier(loss="hinge", n_estimators=8, random_state=0)
    expected = clone(model).fit(X, y > 0)
    assert_same_rounds(in_chunks(model, X, y > 0), expected)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("quantile", [0.01, 0.5, 0.75, 0.99])
def test_quantiles_of_numbers_of_any_size(quantile, weighted):
    """Both signs, ties, zeros of both signs, numbers that hardly differ, the smallest and large."""
    rng = np.random.default_rng(0)
    sizes = 10.0 ** rng.integers(-300, 140, 40)
    parts = [sizes, -sizes, np.zeros(3), -np.zeros(3), np.nextafter(1, 2) * np.ones(9), np.ones(8)]
    y = rng.permutation(np.concatenate([*parts, [5e-324, -5e-324]]))
    weight = rng.integers(1, 4, len(y)) * 1.0 if weighted else None
    model = GradientBoostingRegressor(loss="quantile", alpha=quantile, n_estimators=1, max_depth=1)
    found = in_chunks(model, np.zeros((len(y), 1)), y, weight, cuts=(1, 1, 50))
    order = np.repeat(y, 1 if weight is None else weight.astype(int))
    order.sort()
    place = quantile * len(order)
    ends = order[int(np.ceil(place)) - 1], order[int(np.floor(place))]
    assert found.init_.predict([[0]])[0] == 0.5 * ends[0] + 0.5 * ends[1]


@pytest.mark.parametrize("reoptimize", [True, False])
def test_constraints_and_regularisation(reoptimize):
    X, y = rows()
    tree = BinnedTreeRegressor(monotonic_cst=[1, 0, -1], l2_regularization=3.0, max_depth=4)
    model = GradientBoostingClassifier(
        tree, n_estimators=4, random_state=0, step=FixedStep(reoptimize_leaves=reoptimize)
    )
    expected = clone(model).fit(X, y > 0.2)
    assert_same_rounds(in_chunks(model, X, y > 0.2), expected)


def test_nodes_of_equal_targets_are_leaves():
    X = np.repeat(np.arange(4.0), 50)[:, None] + [[0.0, 0.0]]
    X[:, 1] = np.arange(200) % 7
    y = np.where(X[:, 0] < 2, 0.1, 0.7)
    model = GradientBoostingRegressor(n_estimators=2, learning_rate=1.0, random_state=0)
    expected = GradientBoostingRegressor(**model.get_params()).fit(X, y)
    in_chunks(model, X, y)
    assert model.estimators_[0, 0].tree_.node_count == 3
    assert model.estimators_[0, 0].tree_.threshold[0] == 1.5
    np.testing.assert_allclose(model.predict(X), expected.predict(X), rtol=0, atol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_level_of_all_trees_is_one_sum(monkeypatch, n_classes):
    X, y = rows()
    labels = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
    calls = []
    add = LocalBlocks.sum

    def counted(self, function, *args):
        if function.__name__ == "answers_of_block":
            calls.extend(one.question.function.__name__ for one in args[-1])
        return add(self, function, *args)

    monkeypatch.setattr(LocalBlocks, "sum", counted)
    in_chunks(GradientBoostingClassifier(n_estimators=3, max_depth=3), X, labels)
    one = ["start_round", "grow_on_block", "grow_on_block", "leaf_tables"]
    assert calls == [*one[:1], "grow_on_block", *one[1:], *one, *one, "loss_of_block"]


@pytest.mark.parametrize("n_classes", [0, 3])
@pytest.mark.parametrize("n_estimators", [40, CVRounds(3, max_estimators=20)])
def test_memos_of_the_scores_that_are_lost_or_old_change_nothing(
    monkeypatch, n_classes, n_estimators
):
    """As after a worker was lost, or where Dask reads an older copy from disk."""
    X, y = rows()
    kind = GradientBoostingClassifier if n_classes else GradientBoostingRegressor
    y = np.digitize(y, [-0.5, 0.5]) if n_classes else y
    model = kind(n_estimators=n_estimators, random_state=0, max_leaf_nodes=5)
    expected = in_chunks(clone(model), X, y)
    add, rng, copies = LocalBlocks.sum, np.random.default_rng(0), {}

    def forgetful(self, function, *args):
        if function.__name__ == "answers_of_block":
            memos = args[0].blocks
            for i in np.flatnonzero(rng.random(len(memos)) < 0.3):
                before = copies.setdefault((id(args[0]), i), pickle.dumps(memos[i]))
                if rng.random() < 0.3:
                    copies[id(args[0]), i] = pickle.dumps(memos[i])
                memos[i] = pickle.loads(before)
        return add(self, function, *args)

    monkeypatch.setattr(LocalBlocks, "sum", forgetful)
    found = in_chunks(clone(model), X, y)
    assert copies
    np.testing.assert_array_equal(found.train_scores_, expected.train_scores_)
    scores = [m.predict_proba(X) if n_classes else m.predict(X) for m in (found, expected)]
    np.testing.assert_array_equal(*scores)


@pytest.mark.parametrize(
    ("kind", "n_bytes"), [("whole", 1), ("single", 4), ("double", 8), ("classes", 1)]
)
def test_targets_and_weights_keep_their_values_in_few_bytes(kind, n_bytes):
    rng = np.random.default_rng(0)
    values = {
        "whole": rng.integers(-128, 128, 50) * 1.0,
        "single": rng.standard_normal(50).astype(np.float32).astype(float),
        "double": np.append(rng.standard_normal(49), 1e300),
        "classes": rng.integers(0, 100, 50),
    }[kind]
    small = in_few_bytes(values)
    assert small.itemsize == n_bytes
    np.testing.assert_array_equal(small.astype(values.dtype), values)
    assert not np.shares_memory(small, values)


def test_sums_are_the_same_for_any_cut_of_the_rows():
    rng = np.random.default_rng(0)
    n, units = 600, GridUnits((40,), (30,), False, 20, True)
    codes = np.asfortranarray(rng.integers(0, 20, (n, 3)).astype(np.uint8))
    codes[rng.random((n, 3)) < 0.1] = 255
    target, weight = rng.standard_normal(n), rng.random(n)
    split = (0, 1, 9, True, 1, 2)

    def found(a, b):
        part, own = np.asfortranarray(codes[a:b]), given_targets(target[a:b], weight[a:b])
        node = after_splits(part, np.zeros(b - a, np.uint8), [split])
        first = counted_nodes(part, own, np.zeros(b - a, np.uint8), [0], 0, units)
        return node, first, counted_nodes(part, own, node, [1], 0, units)

    whole, parts = found(0, n), [found(a, b) for a, b in [(0, 1), (1, 100), (100, n)]]
    for k in (1, 2):
        np.testing.assert_array_equal(whole[k], parts[0][k] + parts[1][k] + parts[2][k])
    left = (codes[:, 1] <= 9) | (codes[:, 1] == 255)
    np.testing.assert_array_equal(whole[0], np.where(left, 1, 2))
    integers = np.rint(weight * target * 2.0**40).astype(np.int64)
    for cell, code in [(4, 4), (20, 255)]:
        chosen = left & (codes[:, 0] == code)
        sums = whole[2][0, :, 0, cell]
        masses = np.rint(weight * 2.0**30).astype(np.int64)
        assert sums.tolist() == [integers[chosen].sum(), chosen.sum(), masses[chosen].sum()]


@pytest.mark.parametrize(
    "loss", [SquaredLoss(), LogisticLoss(), ExponentialLoss(), PoissonLoss(), MultinomialLoss()]
)
@pytest.mark.parametrize("n", [50, 3000])
def test_leaf_values_from_sums(loss, n):
    rng = np.random.default_rng(0)
    n_scores = loss.n_scores(3)
    y = rng.integers(0, 3, n) if n_scores > 1 else rng.choice([-1.0, 1.0], n)
    y = np.abs(y) if not loss.margin else y
    u = rng.standard_normal(n if n_scores == 1 else (n, n_scores))
    leaf, weight = rng.integers(0, 4, n), rng.random(n)
    risk = EmpiricalRisk(loss, y, weight)
    target = risk.at(u).target
    score = None if n_scores == 1 else 1
    target = target if score is None else target[:, score].copy()
    expected = risk.leaf_values(u, target, leaf, 4, None, score)
    sums = risk.leaf_sums(u, target, leaf, 4, score)
    np.testing.assert_allclose(loss.leaf_steps(*sums.T), expected, rtol=1e-12)
    assert HuberLoss().leaf_terms(y, u) is None


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("learning_rate", [0.1, lambda t: 0.1])
def test_steps_that_would_raise_the_loss_of_a_leaf_are_bounded_as_in_memory(
    n_classes, learning_rate
):
    """Rare classes, all in one leaf and half of its rows: Newton's steps are 1 / (2 share)."""
    rng = np.random.default_rng(0)
    X = rng.random((3000, 2)).round(3)
    y = np.where(X[:, 0] > 0.99, rng.integers(0, n_classes, 3000), 0)
    options = {"max_depth": 1, "learning_rate": learning_rate, "random_state": 0}
    model = GradientBoostingClassifier(n_estimators=6, **options)
    expected = GradientBoostingClassifier(**model.get_params()).fit(X, y)
    assert_same_rounds(in_chunks(model, X, y), expected)
    assert (np.diff(model.train_scores_) < 0).all()


@pytest.mark.parametrize("share", [1.0, 0.01, 0.0])
def test_losses_of_users_have_the_leaves_that_they_have_in_memory(share):
    X, y = rows()
    y[::40] = 30.0
    parameters = {"loss": LogCosh(share), "init": "zero", "n_estimators": 5, "random_state": 0}
    model = GradientBoostingRegressor(**parameters)
    expected = GradientBoostingRegressor(**parameters).fit(X, 30 * y)
    assert_same_rounds(in_chunks(model, X, 30 * y), expected)
    assert (np.diff(model.train_scores_) < 0).all()


def of_sums(case):
    """Whether the values of leaves are functions of sums over rows; the others are refused."""
    loss, kind = case
    return (
        as_loss(loss).hessian(np.ones(1, int), np.zeros((1, 4) if kind == "code" else 1))
        is not None
    )


@pytest.mark.parametrize("rate", [0.1, 1.0])
@pytest.mark.parametrize(
    ("loss", "kind"), filter(of_sums, CASES + OF_USERS), ids=lambda case: type(case).__name__
)
def test_no_round_raises_the_training_loss(loss, kind, rate):
    """Far from the optimum, with outliers; what searches leave grows with the rounds."""
    X, y = far_problem(kind)
    options = {"loss": loss, "learning_rate": rate, "n_estimators": 20, "random_state": 0}
    if kind in OF_REALS:
        model = GradientBoostingRegressor(init="zero", **options)
    else:
        model = GradientBoostingClassifier(**options)
    expected = clone(model).fit(X, y)
    risks = in_chunks(model, X, y).train_scores_
    np.testing.assert_allclose(risks[:2], expected.train_scores_[:2], rtol=1e-8)
    assert (np.diff(risks) <= 1e-9 * np.abs(risks[:-1])).all()


@pytest.mark.parametrize("max_bins", [255, 8])
@pytest.mark.parametrize("kind", [GradientBoostingRegressor, GradientBoostingClassifier])
@pytest.mark.filterwarnings("ignore:Feature 2 has 11 categories:UserWarning")
def test_categories(kind, max_bins):
    """A category may be in one chunk only; the numbers are those of all rows."""
    X, y = rows()
    rng = np.random.default_rng(0)
    number = rng.integers(0, 10, len(X))
    number[170:] = np.where(number[170:] == 4, 5, number[170:])
    number[2] = 10
    text = np.array([*"abcdefghijk", None], dtype=object)[number]
    text[rng.random(len(X)) < 0.1] = None
    X = np.column_stack([X[:, :2].astype(object), text])
    y = y + np.arange(11.0)[number] % 4
    y = np.digitize(y, [0.5, 2]) if kind is GradientBoostingClassifier else y
    parameters = {"categorical_features": [2], "max_bins": max_bins, "max_depth": 4}
    model = kind(n_estimators=4, random_state=0, **parameters)
    expected = kind(**model.get_params()).fit(X, y)
    assert any(nodes_of(m).left_bins is not None for m in expected.estimators_.flat)
    in_chunks(model, X, y)
    assert_same_rounds(model, expected)
    assert model.categories_[2].tolist() == list("abcdefghijk")
    np.testing.assert_allclose(model.predict(X), expected.predict(X))


STEPS = {
    "squared error": GradientBoostingRegressor(random_state=0, max_depth=2),
    "quantile": GradientBoostingRegressor(loss="quantile", alpha=0.8, random_state=0),
    "rows drawn": GradientBoostingRegressor(subsample=0.6, random_state=0, max_depth=2),
    "rows held out": GradientBoostingRegressor(
        n_iter_no_change=5, loss="absolute_error", init="zero", random_state=0
    ),
    "classes": GradientBoostingClassifier(random_state=0, max_depth=2),
    "leaves": HistGradientBoostingRegressor(early_stopping=True, random_state=0),
    "Newton": HistGradientBoostingClassifier(early_stopping=False, max_leaf_nodes=5),
    "categories": HistGradientBoostingRegressor(
        categorical_features=[1], early_stopping=False, max_leaf_nodes=5
    ),
}


@pytest.mark.parametrize("name", STEPS)
def test_a_fit_in_steps_of_rounds_has_the_bits_of_one_fit(name):
    """With a copy of the file between two steps: such files are checkpoints."""
    X, y = rows()
    X[:, 1] = np.abs(X[:, 1]).round()
    X[::7, 2] = np.nan
    model = clone(STEPS[name])
    if hasattr(model, "predict_proba"):
        y = np.array([*"bca"])[np.digitize(y, [0.2, 0.9])]
    parameter = "max_iter" if "max_iter" in model.get_params() else "n_estimators"
    expected = in_chunks(clone(model).set_params(**{parameter: 7}), X, y)
    found = clone(model).set_params(warm_start=True)
    for n_rounds in (2, 6, 6, 7):
        found = pickle.loads(pickle.dumps(found.set_params(**{parameter: n_rounds})))
        in_chunks(found, X, y)
    assert_same_rounds(found, expected)
    np.testing.assert_array_equal(found.predict(X), expected.predict(X))
    np.testing.assert_array_equal(found.train_score_, expected.train_score_)


def test_steps_of_rounds_need_the_same_rows():
    X, y = rows()
    model = GradientBoostingRegressor(n_estimators=2, warm_start=True)
    in_chunks(model, X, y)
    model.set_params(n_estimators=3)
    with pytest.raises(ValueError, match=r"other bins than those of the previous fit.*same rows"):
        in_chunks(model, X + 0.01, y)
    model.set_params(n_estimators=1)
    with pytest.raises(ValueError, match="n_estimators=1 is less than the 2 rounds"):
        in_chunks(model, X, y)
    classifier = GradientBoostingClassifier(n_estimators=1, warm_start=True)
    in_chunks(classifier, X, y > 0)
    with pytest.raises(ValueError, match="must not have other classes"):
        in_chunks(classifier, X, np.digitize(y, [0, 1]))


@pytest.mark.parametrize("step", ["newton", "fixed"])
def test_losses_of_huge_weights_do_not_overflow(step):
    """Of long steps the sums of losses times weights would."""
    X, y = rows()
    y, weight = np.exp(2 * y), np.random.default_rng(0).random(len(y))
    model = HistGradientBoostingRegressor("gamma", **{**HIST, "learning_rate": 1.0})
    if step == "fixed":
        model = GradientBoostingRegressor(loss="gamma", n_estimators=3, learning_rate=1.0)
    model.set_params(random_state=0)
    found = [in_chunks(clone(model), X, y, weight * size) for size in (1.0, 2.0**330)]
    expected, actual = (one.predict(X) for one in found)
    np.testing.assert_allclose(actual, expected, rtol=1e-9)
