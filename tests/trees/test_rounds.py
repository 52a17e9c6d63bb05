"""Binned trees in the rounds of boosting, against clones of scikit-learn's trees."""

from itertools import islice

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

from sklearn_ensemble_theory.boosting import losses
from sklearn_ensemble_theory.boosting.steps import FixedStep, LineSearchStep
from sklearn_ensemble_theory.trees import BinnedTreeRegressor

from ..boosting.engine import BoostingRounds, EmpiricalRisk, weak_learner
from ..surroundings import LeastSquaresTask, prepare_rounds
from .engine import BinnedColumns, GrowthOptions, HistogramGrower, LeafOutputs, add_multiple
from .reference_growth import ReferenceGrower


def rows_of(seed, n=250, p=3, n_values=60):
    """No ties: scikit-learn breaks them by a draw."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.uniform(-1, 1, (n, p)) * n_values / 2).astype(np.float32)
    f = np.sin(X[:, 0] / 9) + X[:, 1] / 20
    return X, f + 0.3 * rng.standard_normal(n), rng


def rounds_of(estimator, X, y, loss, *, weight=None, n_rounds=12, step=None, n_scores=1, **options):
    """The records, the learner and the scores after the rounds."""
    risk = EmpiricalRisk(loss, y, weight)
    step = FixedStep().at_rate(0.3) if step is None else step
    task = step.task(risk, n_scores=n_scores, random_state=np.random.RandomState(0), **options)
    learner = weak_learner(estimator, X, weight, task)
    u = np.zeros(len(y) if n_scores == 1 else (len(y), n_scores))
    return list(islice(BoostingRounds(risk, learner, step, u), n_rounds)), learner, u


# scikit-learn 1.6 splits nodes whose targets are equal up to rounding.
TREE = {"max_depth": 3, "min_samples_leaf": 8, "min_impurity_decrease": 1e-12}
LOSSES = {
    "squared": losses.SquaredLoss(),
    "logistic": losses.LogisticLoss(),
    "huber": losses.HuberLoss(0.5),
    "quantile": losses.QuantileLoss(0.3),
    "absolute": losses.AbsoluteLoss(),
    "poisson": losses.PoissonLoss(),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", LOSSES)
def test_the_risk_is_that_of_fitted_trees(name, weighted):
    X, y, rng = rows_of(0)
    y = np.where(y > 0, 1.0, -1.0) if name == "logistic" else y
    y = np.floor(np.exp(y)) if name == "poisson" else y
    # The gradients of these have two values: without weights there are ties.
    weighted = weighted or name in ("absolute", "quantile")
    options = {"weight": rng.uniform(0.5, 2, len(y)) if weighted else None}
    ours, learner, u = rounds_of(BinnedTreeRegressor(**TREE), X, y, LOSSES[name], **options)
    theirs, _, v = rounds_of(DecisionTreeRegressor(**TREE), X, y, LOSSES[name], **options)
    assert type(learner).__name__ == "BinnedTreeRounds"
    np.testing.assert_allclose([r.risk for r in ours], [r.risk for r in theirs], rtol=1e-10)
    np.testing.assert_allclose(u, v, rtol=1e-8, atol=1e-10)
    for mine, other in zip(ours, theirs):
        member = mine.predictor
        np.testing.assert_allclose(member.predict(X), np.asarray(mine.outputs), atol=1e-12)
        np.testing.assert_allclose(member.predict(X), other.predictor.predict(X), atol=1e-9)
        # Thresholds of the rows, not of the bins of a node: predictions of new rows may differ.
        assert member.tree_.node_count == other.predictor.tree_.node_count
        np.testing.assert_allclose(
            member.feature_importances_, other.predictor.feature_importances_, atol=1e-9
        )


def test_drawn_rows_are_those_of_clones():
    X, y, rng = rows_of(6)
    for loss in (losses.SquaredLoss(), losses.HuberLoss(0.3)):
        for weight in (None, rng.uniform(0.5, 2, len(y))):
            options = {"weight": weight, "subsample": 0.6}
            ours, learner, u = rounds_of(BinnedTreeRegressor(**TREE), X, y, loss, **options)
            _, _, v = rounds_of(DecisionTreeRegressor(**TREE), X, y, loss, **options)
            assert type(learner).__name__ == "BinnedTreeRounds"
            np.testing.assert_allclose(u, v, rtol=1e-8, atol=1e-10)
            np.testing.assert_allclose(ours[-1].predictor.predict(X), np.asarray(ours[-1].outputs))
            assert ours[0].predictor.tree_.n_node_samples[0] == 150


@pytest.mark.parametrize("subsample", [1.0, 0.7])
def test_several_scores_have_a_tree_each(subsample):
    X, y, rng = rows_of(2)
    y, weight = np.digitize(y, [-0.3, 0.4]), rng.uniform(0.5, 2, len(y))
    loss = losses.MultinomialLoss()
    options = {"n_scores": 3, "subsample": subsample, "n_rounds": 6, "weight": weight}
    ours, _, u = rounds_of(BinnedTreeRegressor(**TREE), X, y, loss, **options)
    _, _, v = rounds_of(DecisionTreeRegressor(**TREE), X, y, loss, **options)
    np.testing.assert_allclose(u, v, rtol=1e-8, atol=1e-10)
    assert len(ours[0].predictor) == 3
    np.testing.assert_allclose(
        np.column_stack([member.predict(X) for member in ours[0].predictor]),
        np.asarray(ours[0].outputs),
    )


def test_draws_of_features_are_those_of_clones():
    X, y, _ = rows_of(3, p=6)
    options = {**TREE, "max_features": 2}
    ours, _, u = rounds_of(BinnedTreeRegressor(**options), X, y, losses.SquaredLoss())
    _, _, v = rounds_of(DecisionTreeRegressor(**options), X, y, losses.SquaredLoss())
    np.testing.assert_allclose(u, v, rtol=1e-8, atol=1e-10)
    again = BinnedTreeRegressor(**options, random_state=ours[2].predictor.random_state)
    target = np.asarray(y - sum(0.3 * np.asarray(r.outputs) for r in ours[:2]))
    again.fit(X, target)
    np.testing.assert_allclose(again.predict(X), ours[2].predictor.predict(X), atol=1e-12)


def test_whole_weights_are_repeated_rows():
    X, y, rng = rows_of(4, 80)
    w = rng.integers(1, 5, len(y))
    again = np.repeat(np.arange(len(y)), w)
    tree = BinnedTreeRegressor(max_depth=3)
    for loss in (losses.SquaredLoss(), losses.HuberLoss(0.3)):
        _, _, u = rounds_of(tree, X, y, loss, weight=w.astype(float))
        _, _, v = rounds_of(tree, X[again], y[again], loss)
        np.testing.assert_allclose(u[again], v, rtol=1e-12, atol=1e-12)


def test_steps_that_search_get_arrays_and_the_gain():
    X, y, _ = rows_of(5)
    tree, loss = BinnedTreeRegressor(**TREE), losses.SquaredLoss()
    searched, _, u = rounds_of(tree, X, y, loss, step=LineSearchStep())
    fixed, _, v = rounds_of(tree, X, y, loss, step=FixedStep())
    np.testing.assert_allclose(u, v, atol=1e-10)  # leaf means have the step 1
    assert np.isnan(fixed[0].first_order_gain)
    assert searched[0].first_order_gain == pytest.approx(
        np.mean(y * np.asarray(searched[0].outputs))
    )


def test_values_are_means_where_they_are_not_to_be_changed():
    X, y, _ = rows_of(6)
    loss = losses.AbsoluteLoss()
    ours, _, _ = rounds_of(
        BinnedTreeRegressor(**TREE), X, y, loss, reoptimise_leaves=False, n_rounds=1
    )
    theirs = DecisionTreeRegressor(**TREE).fit(X, np.sign(y))
    np.testing.assert_allclose(ours[0].predictor.predict(X), theirs.predict(X), atol=1e-12)


def test_regularised_values_shrink_to_zero():
    X, y, _ = rows_of(7)
    for loss, values in (
        (losses.SquaredLoss(), lambda leaf: np.mean(y[leaf])),
        (losses.AbsoluteLoss(), lambda leaf: np.median(y[leaf])),
    ):
        tree = BinnedTreeRegressor(**TREE, l2_regularization=7.0)
        (record,), _, _ = rounds_of(tree, X, y, loss, n_rounds=1)
        found = record.predictor.predict(X)
        leaves = record.predictor.apply(X)
        for leaf in np.unique(leaves):
            of = leaves == leaf
            expected = values(of) * of.sum() / (of.sum() + 7)
            assert found[of][0] == pytest.approx(expected, abs=0.02)


@pytest.mark.parametrize("loss", [losses.QuantileLoss(0.8), losses.PoissonLoss()], ids=str)
def test_values_that_are_optimised_again_keep_constraints(loss):
    X, y, rng = rows_of(8, 300)
    y = np.exp(y) * rng.exponential(size=len(y))
    cst = [-1, 1, 0]
    tree = BinnedTreeRegressor(max_depth=5, monotonic_cst=cst)
    records, _, _ = rounds_of(tree, X, y, loss, n_rounds=8)
    for record in records:
        for j in (0, 1):
            grid = np.repeat(X[:40, None], 25, axis=1)
            grid[:, :, j] = np.linspace(-31, 31, 25)
            steps = np.diff(record.predictor.predict(grid.reshape(-1, 3)).reshape(40, 25), axis=1)
            assert (cst[j] * steps).min() >= 0


def test_missing_values_are_binned_once():
    X, y, rng = rows_of(9)
    X[rng.random(X.shape) < 0.2] = np.nan
    records, _, u = rounds_of(BinnedTreeRegressor(**TREE), X, y, losses.SquaredLoss())
    total = sum(0.3 * record.predictor.predict(X) for record in records)
    np.testing.assert_allclose(u, total, atol=1e-12)
    assert records[-1].risk < 0.5 * records[0].risk


@pytest.mark.parametrize(
    "params", [{"criterion": "poisson"}, {"splitter": "random"}, {"ccp_alpha": 0.1}], ids=str
)
def test_trees_without_rounds_are_fitted_one_by_one(params):
    X, _, _ = rows_of(10)
    tree = BinnedTreeRegressor(**params)
    assert prepare_rounds(tree, X, None, LeastSquaresTask()) is None


def test_clones_of_binned_trees_have_their_leaves_optimised():
    X, y, rng = rows_of(11)
    loss, options = losses.HuberLoss(), {"weight": rng.uniform(0.5, 2, len(y)), "n_rounds": 3}
    pruned = BinnedTreeRegressor(**TREE, ccp_alpha=1e-30)
    _, learner, u = rounds_of(pruned, X.astype(np.float64), y, loss, **options)
    assert type(learner).__name__ == "TreeClones"
    _, _, v = rounds_of(BinnedTreeRegressor(**TREE), X, y, loss, **options)
    np.testing.assert_allclose(u, v, atol=1e-10)


def test_outputs_are_an_array_without_a_risk():
    X, y, _ = rows_of(12)
    rounds = prepare_rounds(BinnedTreeRegressor(**TREE), X, None, LeastSquaresTask())
    member, outputs = rounds.best(y, np.full(len(y), 1 / len(y)))
    assert isinstance(outputs, np.ndarray)
    np.testing.assert_allclose(member.predict(X), outputs, atol=1e-12)


@pytest.mark.parametrize("n", [5, 10**5])
@pytest.mark.parametrize("n_scores", [0, 2])
def test_outputs_are_added_without_being_written_out(n, n_scores):
    rng = np.random.default_rng(0)
    shape = (n, n_scores) if n_scores else (n,)
    values = [rng.standard_normal(7) for _ in range(max(n_scores, 1))]
    leaves = [rng.integers(0, 7, n).astype(np.uint8) for _ in values]
    outputs = LeafOutputs(values, leaves, shape)
    u = rng.standard_normal(shape)
    expected = u + 0.3 * np.asarray(outputs)
    for psi in (outputs, np.asarray(outputs)):
        v = u.copy()
        add_multiple(v, psi, 0.3)
        np.testing.assert_array_equal(v, expected)


@pytest.mark.parametrize("max_bins", [255, 300])
def test_equally_good_features_are_drawn(max_bins):
    """Of equal columns each is used in some of the rounds; the same ones with the same seed."""
    X, y, _ = rows_of(13)
    X = np.repeat(X[:, :1], 4, axis=1)
    tree, used = BinnedTreeRegressor(max_depth=1, max_bins=max_bins), []
    for _ in range(2):
        task = LeastSquaresTask(random_state=np.random.RandomState(0))
        rounds = prepare_rounds(tree, X, None, task)
        weight = np.full(len(y), 1 / len(y))
        members = [rounds.best(y, weight)[0] for _ in range(40)]
        used.append([int(member.tree_.feature[0]) for member in members])
    assert used[0] == used[1]
    assert np.bincount(used[0], minlength=4).min() > 2


def test_ranks_decide_for_any_number_of_threads():
    X, y, rng = rows_of(14)
    columns = BinnedColumns.of(np.repeat(X[:, :3], 3, axis=1), 255)
    options = GrowthOptions(criterion="squared_error", max_depth=4)
    for _ in range(5):
        rank = rng.permutation(9).astype(np.intp)
        growers = [HistogramGrower(columns, options, n) for n in (1, 2, 4)]
        for threaded in growers:
            threaded.trees.least_shared = 0
        growers.append(ReferenceGrower(columns, options))
        trees = [grower.grow(y, None, None, None, rank)[0] for grower in growers]
        for tree in trees[1:]:
            np.testing.assert_array_equal(tree.feature, trees[0].feature)
            np.testing.assert_array_equal(tree.code, trees[0].code)
        inner = trees[0].feature[trees[0].feature >= 0]
        lowest = [rank[3 * (j // 3) : 3 * (j // 3) + 3].min() for j in inner]
        assert rank[inner].tolist() == lowest
