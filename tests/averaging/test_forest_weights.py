"""Forests as weightings of their training rows, against loops over trees and pairs of rows."""

import pickle
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris, make_friedman1
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeRegressor

from sklearn_ensemble_theory import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn_ensemble_theory.inspection import (
    compact,
    forget_training_rows,
    impute,
    kneighbors,
    outlier_scores,
    proximity,
    shrink,
    training_weights,
)

from ..estimators import TREES_TRY_BOTH_SIDES


def leaves_of(model, X):
    pairs = zip(model.estimators_, model.estimators_features_)
    X = X.tocsr() if sp.issparse(X) else X
    return np.column_stack([t.apply(X[:, c].astype(np.float32)) for t, c in pairs])


def outside_of(model, n):
    outside = np.ones((n, len(model)), dtype=bool)
    for b, rows in enumerate(model.estimators_samples_):
        outside[rows, b] = False
    return outside


def weights_by_definition(model, X_train, X, out_of_bag=False):
    """w_i(x) by loops over queries and trees."""
    at, of = leaves_of(model, X), leaves_of(model, X_train)
    spec, y = model.ensemble_.draws, model.ensemble_.rows.y
    counted = outside_of(model, X.shape[0]) if out_of_bag else np.ones(at.shape, dtype=bool)
    weights = np.zeros((X.shape[0], X_train.shape[0]))
    for b, seed in enumerate(model.ensemble_.seeds):
        _, rows, v = spec.draw(seed)
        v = spec.fit_weights(v, y[rows])
        for j in np.flatnonzero(counted[:, b]):
            inside = of[rows, b] == at[j, b]
            weights[j, rows[inside]] += v[inside] / v[inside].sum()
    with np.errstate(invalid="ignore"):
        return weights / counted.sum(axis=1, keepdims=True)


def indicators(y, classes):
    return (np.asarray(y)[:, None] == classes).astype(float)


REGRESSORS = {
    "full": RandomForestRegressor(12, random_state=0),
    "binned": RandomForestRegressor(12, max_bins=20, min_samples_leaf=4, random_state=0),
    "extra": ExtraTreesRegressor(9, bootstrap=True, min_samples_leaf=3, random_state=0),
    "poisson deviance": RandomForestRegressor(8, criterion="poisson", max_depth=4, random_state=0),
    "bayesian": RandomForestRegressor(7, max_depth=3, bootstrap="bayesian", random_state=0),
    "poisson": BaggingRegressor(n_estimators=9, bootstrap="poisson", random_state=0),
    "features": BaggingRegressor(ExtraTreeRegressor(), 9, max_features=3, random_state=0),
    "subsamples": BaggingRegressor(n_estimators=9, bootstrap=False, max_samples=0.4),
    "disjoint": BaggingRegressor(n_estimators=9, bootstrap="disjoint", random_state=0),
    "bernoulli": BaggingRegressor(n_estimators=9, bootstrap="bernoulli", random_state=0),
}


@pytest.mark.parametrize("name", REGRESSORS)
@pytest.mark.parametrize("weighted", [False, True])
def test_weights_are_those_of_the_definition_and_make_the_prediction(regression, name, weighted):
    X, y = regression
    model, new = REGRESSORS[name], make_friedman1(30, random_state=1)[0]
    weight = np.random.default_rng(0).integers(0, 4, len(y)) * 0.7 if weighted else None
    if weighted and model.bootstrap in (False, "disjoint"):
        pytest.skip(
            "draws without replacement recommend bootstrap=True with weights, or refuse them"
        )
    model.fit(X, y, sample_weight=weight)
    weights = training_weights(model, new)
    assert weights.shape == (30, 120)
    assert weights.has_sorted_indices
    np.testing.assert_allclose(
        weights.toarray(), weights_by_definition(model, X, new), rtol=1e-11, atol=0
    )
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(weights @ y, model.predict(new), rtol=1e-10)


@pytest.mark.parametrize(
    "model",
    [
        RandomForestRegressor(40, oob_score=True, random_state=0),
        BaggingRegressor(n_estimators=40, oob_score=True, max_samples=0.5, random_state=0),
        RandomForestClassifier(40, oob_score=True, min_samples_leaf=4, random_state=0),
        BaggingClassifier(n_estimators=40, oob_score=True, random_state=0, max_features=3),
    ],
)
def test_weights_of_training_rows_make_the_out_of_bag_prediction(model, classification):
    X, y = classification
    weights = training_weights(model.fit(X, y))
    expected = weights_by_definition(model, X, X, out_of_bag=True)
    np.testing.assert_allclose(weights.toarray(), expected, rtol=1e-11, atol=0)
    assert not weights.diagonal().any()
    if hasattr(model, "classes_"):
        found, expected = weights @ indicators(y, model.classes_), model.oob_decision_function_
    else:
        found, expected = weights @ y, model.oob_prediction_
    np.testing.assert_allclose(found, expected, atol=1e-12)
    near = proximity(model, method="geometry-preserving")
    np.testing.assert_array_equal(near.toarray(), weights.toarray())


def test_votes_with_ties_of_trees_with_pure_leaves(classification):
    X, y = classification
    forest = RandomForestClassifier(30, voting="hard", oob_score=True, random_state=0).fit(X, y)
    votes = training_weights(forest) @ indicators(y, forest.classes_)
    expected = forest.oob_decision_function_
    np.testing.assert_allclose(votes, expected, atol=1e-12)
    top = np.sort(expected, axis=1)
    assert (top[:, -1] == top[:, -2]).sum() > 3  # ties, which stay ties
    is_best = votes > votes.max(axis=1, keepdims=True) - 1e-9
    np.testing.assert_array_equal(is_best, expected == top[:, -1:])


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(9, class_weight="balanced", min_samples_leaf=5, random_state=0),
        RandomForestClassifier(
            9, class_weight="balanced_subsample", min_samples_leaf=5, random_state=0
        ),
        ExtraTreesClassifier(9, class_weight={0: 1, 1: 5, 2: 0.1}, max_depth=3, random_state=0),
        RandomForestClassifier(9, max_bins=16, bootstrap="bayesian", max_depth=3, random_state=0),
        RandomForestClassifier(9, bootstrap="stratified", max_samples=0.5, random_state=0),
        BaggingClassifier(DecisionTreeClassifier(max_depth=2), 9, random_state=0),
    ],
)
def test_weights_of_classifiers(classification, model):
    X, y = classification
    weights = training_weights(model.fit(X, y), X[:40])
    np.testing.assert_allclose(
        weights @ indicators(y, model.classes_), model.predict_proba(X[:40]), atol=1e-12
    )
    np.testing.assert_allclose(
        weights.toarray(), weights_by_definition(model, X, X[:40]), rtol=1e-11, atol=0
    )


def test_several_outputs(regression):
    X, y = regression
    Y = np.column_stack([y, -y, X[:, 0]])
    forest = RandomForestRegressor(10, min_samples_leaf=3, random_state=0)
    weights = training_weights(forest.fit(X, Y), X[:20])
    np.testing.assert_allclose(weights @ Y, forest.predict(X[:20]), rtol=1e-10)
    assert kneighbors(forest, X[:3])[1].shape == (3, 5)
    labels = np.column_stack([y > 14, X[:, 1] > 0.5]).astype(int)
    classifier = RandomForestClassifier(10, min_samples_leaf=3, random_state=0).fit(X, labels)
    weights = training_weights(classifier, X[:20])
    for k, proba in enumerate(classifier.predict_proba(X[:20])):
        np.testing.assert_allclose(weights @ indicators(labels[:, k], [0, 1]), proba, atol=1e-12)
    assert outlier_scores(classifier).shape == (120,)


def test_groups_are_left_out_together(regression):
    X, y = regression
    groups = np.arange(120) // 4
    forest = RandomForestRegressor(60, random_state=0).fit(X, y, groups=groups)
    weights = training_weights(forest)
    rows, columns = weights.nonzero()
    assert not (groups[rows] == groups[columns]).any()
    expected = weights_by_definition(forest, X, X, out_of_bag=True)
    np.testing.assert_allclose(weights.toarray(), expected, rtol=1e-11, atol=0)


@pytest.mark.parametrize("honesty", [False, True])
def test_a_row_without_weight_is_in_its_group(regression, honesty):
    X, y = regression
    groups, weight = np.arange(120) // 4, np.tile([0.0, 1.0, 2.0, 1.0], 30)
    forest = RandomForestRegressor(60, oob_score=True, honesty=honesty, random_state=0)
    forest.fit(X, y, groups=groups, sample_weight=weight)
    weights = training_weights(forest)
    np.testing.assert_allclose(weights @ y, forest.oob_prediction_, rtol=1e-10)
    rows, columns = weights.nonzero()
    assert not (groups[rows] == groups[columns]).any()
    rows, columns = proximity(forest, method="out_of_bag").nonzero()
    assert (groups[rows] == groups[columns])[rows == columns].all()


def test_sparse_rows_missing_values_pickles_and_warm_starts(regression):
    X, y = regression
    forest = RandomForestRegressor(8, random_state=0, warm_start=True).fit(sp.csr_array(X), y)
    new = sp.csr_array(X[:9])
    expected = weights_by_definition(forest, sp.csr_array(X), new)
    np.testing.assert_allclose(training_weights(forest, new).toarray(), expected, rtol=1e-11)
    with pytest.raises(ValueError, match="impute requires a dense X"):
        impute(forest)
    forest.set_params(n_estimators=12).fit(sp.csr_array(X), y)  # more trees, other weights
    weights = training_weights(forest, new)
    np.testing.assert_allclose(weights @ y, forest.predict(new), rtol=1e-10)
    again = training_weights(pickle.loads(pickle.dumps(forest)), new)
    np.testing.assert_array_equal(again.toarray(), weights.toarray())
    smaller = training_weights(compact(forest), new)
    np.testing.assert_array_equal(smaller.toarray(), weights.toarray())
    if TREES_TRY_BOTH_SIDES:
        gaps = np.where(np.random.default_rng(0).uniform(size=X.shape) < 0.2, np.nan, X)
        forest = RandomForestRegressor(8, random_state=0).fit(gaps, y)
        weights = training_weights(forest, gaps)
        np.testing.assert_allclose(weights @ y, forest.predict(gaps), rtol=1e-10)


def test_sparse_and_dense_rows_are_in_the_same_leaves(regression):
    X, y = regression
    targets = np.column_stack([y, -y])
    for given in (X, sp.csr_array(X)):
        for model in (
            RandomForestRegressor(8, random_state=0).fit(given, y),
            BaggingRegressor(n_estimators=8, max_features=0.5, random_state=0).fit(given, targets),
        ):
            expected = weights_by_definition(model, given, X[:30])
            for new in (X[:30], sp.csr_array(X[:30])):
                weights = training_weights(model, new).toarray()
                np.testing.assert_allclose(weights, expected, rtol=1e-11)
                for Z in (X, sp.csr_array(X), None):
                    near = proximity(model, new, Z).toarray()
                    assert (near[np.arange(30), np.arange(30)] == 1).all()


@pytest.mark.parametrize(
    "change",
    [
        {"X": -1.0},
        {"y": 2.0},
        {"sample_weight": True},
        {"max_samples": 0.3},
        {"max_features": 0.5},
        {"bootstrap": "poisson"},
    ],
)
def test_members_of_other_draws_have_no_weights(regression, change):
    X, y = regression
    model = BaggingRegressor(n_estimators=20, warm_start=True, oob_score=True, random_state=0)
    model.fit(X, y).set_params(n_estimators=30)
    weight = None
    if "X" in change or "y" in change:
        X, y = change.get("X", 1.0) * X, change.get("y", 1.0) * y
        with pytest.raises(ValueError, match="fitted to 120 other rows"):
            model.fit(X, y)
        model.set_params(oob_score=False)
    elif "sample_weight" in change:
        weight = 1.0 + (np.arange(120) < 60)
    else:
        model.set_params(**change)
    model.fit(X, y, sample_weight=weight)
    for _ in range(2):  # also after another fit to the same rows
        for method in (
            partial(training_weights, model),
            model.standard_error,
            model.predict_interval,
        ):
            with pytest.raises(ValueError, match="warm_start=True went on with other rows"):
                method(X[:3])
        n_more = len(model) + 10
        model = pickle.loads(pickle.dumps(model)).set_params(n_estimators=n_more)
        model.fit(X, y, sample_weight=weight)
        assert model.predict(X).shape == (120,)
    assert hasattr(model, "oob_score_") == model.oob_score
    if model.oob_score:
        assert not hasattr(shrink(model, 1.0), "oob_score_")


# --- proximities ----------------------------------------------------------------------------------


def test_proximities_are_shares_of_trees(classification):
    X, y = classification
    forest = RandomForestClassifier(25, min_samples_leaf=3, random_state=0)
    forest.fit(X, y)
    found = proximity(forest, X[:20], X[30:])
    of_training = proximity(forest)
    outside_both = proximity(forest, method="out_of_bag")
    leaves = leaves_of(forest, X)
    same = leaves[:, None] == leaves[None]
    np.testing.assert_allclose(found.toarray(), same[:20, 30:].mean(axis=2), rtol=1e-14)
    np.testing.assert_allclose(of_training.toarray(), same.mean(axis=2), rtol=1e-14)
    outside = outside_of(forest, len(X))
    both = outside[:, None] & outside[None]
    expected = (same & both).sum(axis=2) / np.maximum(both.sum(axis=2), 1)
    np.testing.assert_allclose(outside_both.toarray(), expected, rtol=1e-14)


@pytest.mark.parametrize("limit", ["LEAVES", "ENTRIES"])
def test_proximities_in_blocks(classification, monkeypatch, limit):
    from sklearn_ensemble_theory.ensembles import _forest_weights

    X, y = classification
    forest = RandomForestClassifier(25, min_samples_leaf=3, random_state=0).fit(X, y)

    def results():
        kinds = [proximity(forest, method=kind) for kind in _forest_weights.PROXIMITIES]
        neighbors = [kneighbors(forest, method=kind)[1] for kind in _forest_weights.PROXIMITIES]
        scores = [outlier_scores(forest), outlier_scores(forest, "out_of_bag")]
        return [k.toarray() for k in kinds], neighbors, scores

    whole = results()
    monkeypatch.setattr(_forest_weights, limit, 25 * 7)
    blocks = list(
        _forest_weights.proximity_blocks(forest.ensemble_, None, None, "leaves", "proximity")
    )
    assert len(blocks) > 10
    monkeypatch.setattr(_forest_weights, "PAIRS", 50)
    for one, other in zip(whole, results()):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("kind", ["leaves", "out_of_bag", "geometry-preserving"])
def test_neighbors_are_the_rows_of_the_largest_proximities(classification, kind):
    X, y = classification
    forest = RandomForestClassifier(15, random_state=0).fit(X, y)
    near = proximity(forest, method=kind).toarray()
    np.fill_diagonal(near, -1.0)
    expected = np.argsort(-near, axis=1, kind="stable")[:, :9]
    distances, indices = kneighbors(forest, n_neighbors=9, method=kind)
    np.testing.assert_array_equal(indices, expected)
    np.testing.assert_allclose(distances, 1 - np.take_along_axis(near, expected, axis=1), atol=0)
    if kind != "out_of_bag":
        near = proximity(forest, X[:10], method=kind).toarray()
        found = kneighbors(forest, X[:10], 140, return_distance=False, method=kind)
        # Rows that share no leaf are in the order of their numbers.
        np.testing.assert_array_equal(found, np.argsort(-near, axis=1, kind="stable")[:, :140])


def test_outlier_scores_are_those_of_the_definition(classification):
    X, y = classification
    forest = RandomForestClassifier(30, min_samples_leaf=5, random_state=0).fit(X, y)
    for kind in ("leaves", "out_of_bag"):
        near, expected = proximity(forest, method=kind).toarray(), np.empty(len(y))
        for label in np.unique(y):
            own = y == label
            raw = len(y) / (near[np.ix_(own, own)] ** 2).sum(axis=1)
            expected[own] = (raw - np.median(raw)) / np.median(np.abs(raw - np.median(raw)))
        np.testing.assert_allclose(outlier_scores(forest, kind), expected, rtol=1e-9, atol=1e-9)
    constant = RandomForestRegressor(5, random_state=0).fit(X, np.zeros(len(y)))
    np.testing.assert_array_equal(outlier_scores(constant), 0.0)


@pytest.mark.parametrize("seed", [182, 212, 226])
def test_rounding_is_no_spread_of_scores(seed):
    """Sums of the same squares in another order differ by rounding."""
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 3, (20, 3)).astype(float), rng.standard_normal(20)
    forest = ExtraTreesRegressor(9, bootstrap=True, max_depth=1, max_bins=2, random_state=seed)
    assert np.abs(outlier_scores(forest.fit(X, y))).max() < 100


def test_wrong_labels_are_outliers():
    X, y = load_iris(return_X_y=True)
    wrong = np.arange(0, 50, 10)
    y[wrong] = 2
    forest = RandomForestClassifier(100, min_samples_leaf=5, random_state=0).fit(X, y)
    assert set(np.argsort(outlier_scores(forest))[-len(wrong) :]) == set(wrong)


# --- missing values -------------------------------------------------------------------------------


@pytest.mark.skipif(not TREES_TRY_BOTH_SIDES, reason="trees refuse missing values, or lose rows")
def test_imputed_values_are_weighted_means_and_better_than_medians(classification):
    rng = np.random.default_rng(0)
    z = rng.standard_normal((400, 1))
    X = z + 0.3 * rng.standard_normal((400, 5))
    y = z[:, 0] + 0.3 * rng.standard_normal(400)
    is_missing = rng.uniform(size=X.shape) < 0.15
    gaps = np.where(is_missing, np.nan, X)
    forest = RandomForestRegressor(60, min_samples_leaf=5, random_state=0).fit(gaps, y)
    filled = impute(forest)
    np.testing.assert_allclose(filled[~is_missing], X[~is_missing], rtol=1e-6)
    weights = training_weights(forest).toarray()
    i, j = np.argwhere(is_missing)[17]
    known = ~is_missing[:, j]
    mean = weights[i, known] @ X[known, j] / weights[i, known].sum()
    np.testing.assert_allclose(filled[i, j], mean, rtol=1e-6)
    medians = np.broadcast_to(np.nanmedian(gaps, axis=0), X.shape)

    def error(values):
        return np.sqrt(np.mean((values - X)[is_missing] ** 2))

    assert error(filled) < 0.6 * error(medians)
    again = impute(forest, gaps)
    np.testing.assert_array_equal(again[~is_missing], X[~is_missing])  # double precision
    assert error(again) < 0.6 * error(medians)
    gaps[:, 2] = np.nan
    nothing = RandomForestRegressor(5, random_state=0).fit(gaps, y)
    assert np.isnan(impute(nothing)[:, 2]).all()
    assert not np.isnan(np.delete(impute(nothing), 2, axis=1)).any()


# --- functionals ----------------------------------------------------------------------------------


def test_functionals_and_distribution_functions(regression):
    X, y = regression
    new = make_friedman1(20, random_state=1)[0]
    forest = RandomForestRegressor(20, min_samples_leaf=4, random_state=0).fit(X, y)
    weights = training_weights(forest, new).toarray()
    at = np.array([10.0, y[3], 14.0, -np.inf, np.inf])
    expected, at_new = weights @ (y[:, None] <= at), forest.predict_distribution(new)
    np.testing.assert_allclose(at_new.cdf(at), expected, atol=1e-12)
    np.testing.assert_allclose(at_new.cdf(14.0), expected[:, 2], atol=1e-12)
    # Quantiles are its inverse.
    median = forest.predict_quantiles(new, 0.5)
    at_median = np.diagonal(at_new.cdf(median))
    below = np.diagonal(at_new.cdf(np.nextafter(median, -np.inf)))
    assert (at_median >= 0.5 - 1e-12).all()
    assert (below < 0.5).all()
    mean = forest.predict_distribution(new).functional(lambda y, weights: weights @ y)
    np.testing.assert_allclose(mean, forest.predict(new), rtol=1e-10)
    both = forest.predict_distribution(new).functional(lambda y, w: [w @ y, w @ y**2])
    np.testing.assert_allclose(both, np.stack([weights @ y, weights @ y**2], axis=1), rtol=1e-10)


def test_joint_functionals_of_several_targets(regression):
    X, y = regression
    Y = np.column_stack([y, X[:, 0] * 10])
    forest = RandomForestRegressor(20, min_samples_leaf=8, random_state=0).fit(X, Y)
    weights, at_rows = training_weights(forest, X[:6]).toarray(), forest.predict_distribution(X[:6])
    found = at_rows.functional(lambda y, w: np.cov(y.T, aweights=w, bias=True))
    for w, covariance in zip(weights, found):
        centred = Y - w @ Y
        np.testing.assert_allclose(covariance, (w * centred.T) @ centred, rtol=1e-9)
    at = np.array([[14.0, 5.0], [20.0, 9.0]])
    expected = np.stack([weights @ (t >= Y).all(axis=1) for t in at], axis=1)
    np.testing.assert_allclose(at_rows.cdf(at), expected, atol=1e-12)
    np.testing.assert_allclose(at_rows.cdf(at[0]), expected[:, 0], atol=1e-12)


# --- errors ---------------------------------------------------------------------------------------


def test_errors(regression):
    X, y = regression
    forest = RandomForestRegressor(5, random_state=0)
    every_row = ExtraTreesRegressor(5, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="not drawn for every member; with bootstrap=False"):
        training_weights(every_row)
    assert training_weights(every_row, X[:3]).shape == (3, 120)
    forest.fit(X, y)
    with pytest.warns(UserWarning, match="drawn for every tree"):
        weights = training_weights(forest)
    assert (weights.sum(axis=1) == 0).any()
    for given, message in [
        ({"method": "rows"}, "method must be one of"),
        ({"Z": X, "method": "out_of_bag"}, "Z must be None"),
        ({"X": X, "method": "out_of_bag"}, "X must be None"),
    ]:
        with pytest.raises(ValueError, match=message):
            proximity(forest, **given)
    with pytest.raises(ValueError, match="n_neighbors=120 must be at most 119"):
        kneighbors(forest, n_neighbors=120)
    with pytest.raises(ValueError, match="method must be one of"):
        outlier_scores(forest, "geometry-preserving")
    with pytest.raises(ValueError, match="function must be callable"):
        forest.predict_distribution(X).functional(0.5)
    with pytest.raises(ValueError, match="of one shape"):
        forest.predict_distribution(X).functional(lambda y, w: y)
    for wrong in ([[1.0, 2.0]], "a", np.nan):
        with pytest.raises(ValueError, match="y must be numbers"):
            forest.predict_distribution(X).cdf(wrong)
    with pytest.raises(ValueError, match="Expected 2D array"):
        forest.predict_distribution(None).cdf(1.0)
    calls = {
        "training_weights": lambda m: training_weights(m, X),
        "proximity": lambda m: proximity(m),
        "kneighbors": lambda m: kneighbors(m),
        "outlier_scores": lambda m: outlier_scores(m),
        "impute": lambda m: impute(m),
        "predict_distribution": lambda m: m.predict_distribution(X),
    }
    lines = BaggingRegressor(LinearRegression(), 5, random_state=0).fit(X, y)
    between = proximity(forest, X[:3], X[3:9]).toarray()
    forgotten = forget_training_rows(forest)
    np.testing.assert_array_equal(proximity(forgotten, X[:3], X[3:9]).toarray(), between)
    with pytest.raises(ValueError, match="estimator: proximity requires members that are trees"):
        proximity(lines, X, X)
    for name, call in calls.items():
        pattern = f"estimator: {name} requires members that are trees, got LinearRegression"
        with pytest.raises(ValueError, match=pattern):
            call(lines)
        with pytest.raises(ValueError, match=f"{name} requires the training rows, which were rem"):
            call(forgotten)
    constant = BaggingRegressor(DecisionTreeRegressor(), 3, random_state=0).fit(X, y)
    assert training_weights(constant, X).nnz > 0
