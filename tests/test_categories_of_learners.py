"""Ensembles whose base learner is a binned tree with categories make numbers of them once."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import sklearn_ensemble_theory as package
from sklearn_ensemble_theory import export
from sklearn_ensemble_theory.trees import BinnedTreeClassifier, BinnedTreeRegressor

from .trees.engine import nodes_of

RNG = np.random.default_rng(0)
N = 300
NUMBER = RNG.integers(0, 7, N)
EFFECT = np.array([2.0, -1.0, 0.5, -2.0, 1.0, 0.0, 3.0])
FRAME = pd.DataFrame(
    {
        "x": RNG.standard_normal(N),
        "colour": np.array([*"gfedcba"], dtype=object)[NUMBER],
        "z": RNG.standard_normal(N),
    }
)
FRAME.loc[RNG.random(N) < 0.1, "colour"] = None
DTYPE = FRAME.assign(colour=FRAME["colour"].astype("category"))
ARRAY = np.column_stack([FRAME["x"], 10.0 * NUMBER, FRAME["z"]])
ARRAY[FRAME["colour"].isna(), 1] = np.nan
Y = EFFECT[NUMBER] + FRAME["x"].to_numpy() + 0.3 * RNG.standard_normal(N)

TREE = {"max_depth": 4, "cat_smooth": 0.0}
REGRESSORS = {
    "bagging": lambda tree: package.BaggingRegressor(tree, 5, random_state=0),
    "features": lambda tree: package.BaggingRegressor(tree, 8, max_features=2, random_state=0),
    "AdaBoost.R2": lambda tree: package.AdaBoostRegressor(tree, n_estimators=5, random_state=0),
    "boosting": lambda tree: package.GradientBoostingRegressor(tree, n_estimators=20),
    "blocks": lambda tree: package.DivideAndConquerRegressor(tree, n_blocks=3, random_state=0),
}
CLASSIFIERS = {
    "bagging": lambda tree: package.BaggingClassifier(tree, 30, random_state=0, oob_score=True),
    "AdaBoost": lambda tree: package.AdaBoostClassifier(tree, n_estimators=5, random_state=0),
    "real": lambda tree: package.AdaBoostClassifier(tree, n_estimators=5, variant="real"),
    "smooth": lambda tree: package.SmoothBoostClassifier(tree, n_estimators=20, random_state=0),
    "agnostic": lambda tree: package.AgnosticBoostClassifier(tree, random_state=0),
    "Massart": lambda tree: package.MassartBoostClassifier(tree, random_state=0),
    "blocks": lambda tree: package.DivideAndConquerClassifier(tree, n_blocks=3, random_state=0),
}
CASES = [
    *((make, BinnedTreeRegressor) for make in REGRESSORS.values()),
    *((make, BinnedTreeClassifier) for make in CLASSIFIERS.values()),
]
NAMES = [*REGRESSORS, *CLASSIFIERS]


def target(model):
    return (np.median(Y) < Y).astype(int) if is_classifier(model) else Y


def output(model, X):
    for name in ("decision_function", "predict_proba", "predict"):
        if hasattr(model, name):
            return getattr(model, name)(X)


@pytest.mark.parametrize(("make", "kind"), CASES, ids=NAMES)
def test_frames_and_arrays_are_the_same(make, kind):
    models = [
        (make(kind(categorical_features=["colour"], **TREE)), FRAME),
        (make(kind(**TREE)), DTYPE),
        (make(kind(categorical_features=[1], **TREE)), ARRAY[:, [0, 1, 2]]),
    ]
    # The letters are in the reverse order of the numbers: trees of sets do not see it.
    results = []
    for model, X in models:
        model.fit(X, target(model))
        results.append(output(model, X))
        assert model.score(X, target(model)) > 0.6
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(output(again, X), results[-1])
        np.testing.assert_allclose(output(clone(model).fit(X, target(model)), X), results[-1])
    np.testing.assert_array_equal(results[0], results[1])
    # Up to the order of equally good splits.
    assert np.mean(np.isclose(results[0], results[2])) > 0.5
    # Categories that are new are missing ones.
    new, none = (FRAME.assign(colour=c) for c in ("new", pd.Series([None] * N, dtype=object)))
    np.testing.assert_array_equal(output(models[0][0], new), output(models[0][0], none))


@pytest.mark.parametrize(("make", "kind"), CASES, ids=NAMES)
def test_without_categories_nothing_changes(make, kind):
    X = np.nan_to_num(ARRAY)
    a = make(kind(**TREE))
    b = make(kind(categorical_features=None, max_depth=4))
    y = target(a)
    np.testing.assert_array_equal(output(a.fit(X, y), X), output(b.fit(X, y), X))


def test_members_read_numbers():
    """Those that drew the column have sets, whatever its place among their features."""
    model = REGRESSORS["features"](BinnedTreeRegressor(categorical_features=["colour"], **TREE))
    model.fit(FRAME, Y)
    has_set = [nodes_of(m).sets is not None for m in model.estimators_]
    drew = [1 in features for features in model.estimators_features_]
    assert has_set == drew
    numbers = np.column_stack([FRAME["x"], 6 - ARRAY[:, 1] / 10, FRAME["z"]]).astype(np.float32)
    pairs = zip(model.estimators_, model.estimators_features_)
    parts = [member.predict(numbers[:, own]) for member, own in pairs]
    np.testing.assert_allclose(np.mean(parts, axis=0), model.predict(FRAME))
    assert model.predict_interval(FRAME).shape == (N, 2)


def test_what_bags_of_categories_refuse():
    model = REGRESSORS["bagging"](BinnedTreeRegressor(categorical_features=["colour"], **TREE))
    model.fit(FRAME, Y)
    with pytest.raises(ValueError, match="no categorical features"):
        export.sklearn(model)
    with pytest.raises(TypeError, match="'colour' had categories that are text in fit, and has no"):
        model.predict(FRAME.assign(colour=0.0))
    with pytest.raises(ValueError, match="name 'color'"):
        REGRESSORS["bagging"](BinnedTreeRegressor(categorical_features=["color"])).fit(FRAME, Y)


def test_pipelines_and_cross_validation():
    model = make_pipeline(FunctionTransformer(), package.GradientBoostingRegressor(n_estimators=40))
    scores = cross_val_score(model, DTYPE, Y, cv=3)
    assert scores.mean() > 0.8


# --- forests, whose trees are in bins where a column is categorical -------------------------------

FORESTS = [
    package.RandomForestRegressor,
    package.ExtraTreesRegressor,
    package.RandomForestClassifier,
    package.ExtraTreesClassifier,
]


@pytest.mark.parametrize("kind", FORESTS)
def test_forests(kind):
    parameters = {"n_estimators": 20, "random_state": 0, "min_samples_leaf": 3}
    by_name = kind(categorical_features=["colour"], **parameters).fit(FRAME, target(kind()))
    y = target(by_name)
    assert by_name.score(FRAME, y) > 0.75
    assert by_name.categories_[1].tolist() == list("abcdefg")
    by_dtype = kind(**parameters).fit(DTYPE, y)
    np.testing.assert_array_equal(output(by_dtype, DTYPE), output(by_name, FRAME))
    by_place = kind(categorical_features=[1], **parameters).fit(ARRAY, y)
    assert by_place.score(ARRAY, y) > 0.75
    assert all(nodes_of(m).sets is not None for m in by_name.estimators_)
    assert by_name.feature_importances_[1] > 0.3
    assert by_name.apply(FRAME).shape == (N, 20)
    paths, _ = by_name.decision_path(FRAME)
    assert paths.shape[0] == N
    again = pickle.loads(pickle.dumps(by_name))
    np.testing.assert_array_equal(output(again, FRAME), output(by_name, FRAME))
    # Other rows of a warm start have the numbers of the first ones.
    warm = kind(categorical_features=["colour"], warm_start=True, **parameters).fit(FRAME, y)
    warm.set_params(n_estimators=30).fit(FRAME[::-1], y[::-1])
    assert warm.score(FRAME, y) > 0.75
    with pytest.raises(ValueError, match="X has 1 features"):
        warm.fit(FRAME[["colour"]], y)
    with pytest.raises(ValueError, match="feature names should match"):
        warm.fit(FRAME[FRAME.columns[::-1]], y)
    with pytest.raises(ValueError, match="max_bins=3 must be at least 7 with warm_start=True"):
        warm.set_params(max_bins=3).fit(FRAME, y)


def test_forests_of_sets_beat_those_of_dummies():
    """100 categories of 10 rows."""
    errors = np.empty((2, 2))
    for seed, pair in enumerate(errors):
        rng = np.random.default_rng(seed)
        effect = rng.standard_normal(100)
        X = np.column_stack([np.repeat(np.arange(100), 20), rng.standard_normal((2000, 2))])
        f = effect[X[:, 0].astype(int)] + X[:, 1]
        y = f + rng.standard_normal(2000)
        hot = np.column_stack([X[:, :1] == np.arange(100), X[:, 1:]])
        for k, (given, parameters) in enumerate([(hot, {}), (X, {"categorical_features": [0]})]):
            forest = package.RandomForestRegressor(20, random_state=0, n_jobs=1, **parameters)
            predicted = forest.fit(given[::2], y[::2]).predict(given[1::2])
            pair[k] = np.mean((predicted - f[1::2]) ** 2)
    dummies, sets = errors.mean(axis=0)
    assert sets < 0.7 * dummies


def test_what_forests_refuse():
    for parameters in ({"max_bins": None}, {"ccp_alpha": 0.1}):
        forest = package.RandomForestRegressor(2, categorical_features=[1], **parameters)
        with pytest.raises(ValueError, match="categorical_features requires trees in bins"):
            forest.fit(ARRAY, Y)
    two = np.column_stack([Y, Y])
    for given, message in [
        ({"max_bins": 300}, "max_bins=300 requires y of one column"),
        ({"criterion": "poisson"}, "criterion='poisson' requires y of one column"),
    ]:
        forest = package.RandomForestRegressor(2, categorical_features=["colour"], **given)
        with pytest.raises(ValueError, match=message):
            forest.fit(FRAME, np.abs(two))
    forest = package.RandomForestRegressor(2, categorical_features=["colour"])
    with pytest.raises(ValueError, match="constrains feature 'colour', which is categorical"):
        forest.set_params(monotonic_cst={"colour": 1}).fit(FRAME, Y)


@pytest.mark.parametrize("variant", ["discrete", "real", "gentle"])
@pytest.mark.parametrize("max_features", [None, 3])
def test_cat_smooth_counts_rows_under_weights_that_sum_to_one(variant, max_features):
    """The first round, whose weights are equal, is the tree of rows without weights."""
    kind = BinnedTreeRegressor if variant == "gentle" else BinnedTreeClassifier
    tree = kind(max_depth=2, max_features=max_features, categorical_features=[1], random_state=0)
    y = np.where(np.median(Y) < Y, 1, -1)
    model = package.AdaBoostClassifier(tree, n_estimators=1, variant=variant, random_state=0)
    first = model.fit(ARRAY, y).estimators_[0]
    expected = clone(tree).fit(ARRAY, y)
    assert expected.feature_importances_[1] > 0.3
    np.testing.assert_allclose(first.feature_importances_, expected.feature_importances_)


def test_smooth_boosting_uses_categories():
    y = np.where(EFFECT[NUMBER] > 0.2, 1, -1)
    tree = BinnedTreeClassifier(max_depth=1, categorical_features=[1])
    model = package.SmoothBoostClassifier(tree, random_state=0).fit(ARRAY, y)
    assert model.feature_importances_[1] > 0.5


@pytest.mark.parametrize(
    "wrong",
    [{"max_bins": "auto"}, {"max_bins": 1}, {"cat_smooth": -1.0}, {"cat_smooth": None}],
    ids=str,
)
@pytest.mark.parametrize("name", ["AdaBoost", "smooth", "agnostic", "AdaBoost.R2"])
def test_parameters_of_the_tree_are_checked(name, wrong):
    make = {**REGRESSORS, **CLASSIFIERS}[name]
    kind = BinnedTreeRegressor if name == "AdaBoost.R2" else BinnedTreeClassifier
    y = Y if name == "AdaBoost.R2" else np.where(Y > 0, 1, -1)
    with pytest.raises(ValueError, match=f"'{next(iter(wrong))}' parameter of BinnedTree"):
        make(kind(categorical_features=["colour"], **wrong)).fit(FRAME, y)
