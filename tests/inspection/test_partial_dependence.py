"""Partial dependence in closed form and by trees, against scikit-learn's two methods."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn import inspection
from sklearn.base import clone
from sklearn.datasets import make_friedman1
from sklearn.ensemble import RandomForestRegressor as TheirForest
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.fixes import parse_version

from sklearn_ensemble_theory import (
    BaggingRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    L2BoostingRegressor,
    LogitBoostClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    SmoothingSplineRegressor,
    VotingRegressor,
    export,
)
from sklearn_ensemble_theory.inspection import partial_dependence
from sklearn_ensemble_theory.trees import BinnedTreeRegressor

from ..estimators import SKLEARN_VERSION

X, Y = make_friedman1(200, n_features=6, random_state=0)
CLASSES = np.digitize(Y, np.quantile(Y, [0.3, 0.7]))
WEIGHTS = np.random.default_rng(0).random(len(X))


def assert_same(found, expected, **tolerance):
    for one, other in zip(found.grid_values, expected.grid_values, strict=True):
        np.testing.assert_array_equal(one, other)
    assert found.average.shape == expected.average.shape
    np.testing.assert_allclose(found.average, expected.average, **tolerance)


@pytest.fixture
def no_brute_force(monkeypatch):
    """Fails where the rows of X are predicted point by point."""

    def only_zero(estimator, *given, **options):
        assert type(estimator).__name__ == "_Zero"
        return theirs(estimator, *given, **options)

    theirs = inspection.partial_dependence
    monkeypatch.setattr(inspection, "partial_dependence", only_zero)
    return theirs


ADDITIVE = [
    (L2BoostingRegressor(n_estimators=200, interactions=[(0, 1), (2, 3)]), Y),
    (LogitBoostClassifier(n_estimators=50, interactions=[(0, 1)]), CLASSES > 0),
    (LogitBoostClassifier(n_estimators=20), CLASSES),
    (SmoothingSplineRegressor(df=4), Y),
]


@pytest.mark.parametrize(("model", "y"), ADDITIVE)
@pytest.mark.parametrize("features", [[0], 4, [0, 1], [3, 1]])
def test_additive_models_in_closed_form(no_brute_force, model, y, features):
    model.fit(X, y)
    options = {"grid_resolution": 4, "sample_weight": WEIGHTS}
    if hasattr(model, "classes_"):
        options["response_method"] = "decision_function"
    expected = no_brute_force(model, X, features, method="brute", **options)
    assert_same(partial_dependence(model, X, features, **options), expected, atol=1e-9)


def test_categories_and_missing_values_of_an_additive_model(no_brute_force):
    pd = pytest.importorskip("pandas")
    if parse_version("1.7") > SKLEARN_VERSION:
        pytest.skip("scikit-learn has no custom_values")
    table = pd.DataFrame(X[:, :3].copy(), columns=list("abc"))
    table.loc[::7, "a"] = np.nan
    table["kind"] = np.where(X[:, 3] > 0.5, "oak", "elm")
    model = L2BoostingRegressor(
        n_estimators=100, categorical_features=["kind"], interactions=[("a", "kind")]
    )
    model.fit(table, Y)
    for features in (["kind"], ["a"], ["a", "kind"]):
        options = {"categorical_features": ["kind"], "grid_resolution": 4}
        options["custom_values"] = {"a": np.array([0.2, 0.8])} if "a" in features else None
        expected = no_brute_force(model, table, features, method="brute", **options)
        assert_same(partial_dependence(model, table, features, **options), expected, atol=1e-9)


TREES = [
    (GradientBoostingRegressor(n_estimators=20, random_state=0), Y),
    (GradientBoostingClassifier(n_estimators=10, random_state=0), CLASSES > 0),
    (GradientBoostingClassifier(n_estimators=5, random_state=0), CLASSES),
    (RandomForestRegressor(10, random_state=0), Y),
    (BaggingRegressor(BinnedTreeRegressor(max_depth=4), 5, random_state=0), Y),
]


@pytest.mark.parametrize(("model", "y"), TREES)
@pytest.mark.parametrize("features", [[0], [3, 1]])
def test_trees_by_the_weights_of_their_nodes(no_brute_force, model, y, features):
    """As scikit-learn's recursion for the trees themselves."""
    model.fit(X, y)
    found = partial_dependence(model, X, features, grid_resolution=5)
    K = found.average.shape[0]
    expected = np.zeros_like(found.average)
    boosted = hasattr(model, "steps_")
    members = np.reshape(model.estimators_, (-1, K))
    for member_row, step in zip(
        members, model.steps_ if boosted else np.full(len(members), 1 / len(members))
    ):
        for k, member in enumerate(member_row):
            tree = export.sklearn(member) if isinstance(member, BinnedTreeRegressor) else member
            part = no_brute_force(tree, X, features, method="recursion", grid_resolution=5)
            expected[k] += step * part.average[0]
    if boosted:
        expected += np.reshape(model.initial_scores_, (-1, *[1] * len(features)))
    np.testing.assert_allclose(found.average, expected, rtol=1e-9)


def test_trees_of_drawn_columns_and_independent_features(no_brute_force):
    """A mean over nodes is that over rows, up to its error; other columns change nothing."""
    rng = np.random.default_rng(0)
    Z = rng.random((2000, 3))
    y = 4 * np.sin(3 * Z[:, 0]) * Z[:, 1] + Z[:, 2]
    model = BaggingRegressor(
        BinnedTreeRegressor(max_depth=4),
        30,
        max_features=2,
        bootstrap_features=True,
        random_state=0,
    ).fit(Z, y)
    options = {"grid_resolution": 10}
    expected = no_brute_force(model, Z, [0], method="brute", **options).average
    found = partial_dependence(model, Z, [0], **options).average
    assert np.abs(found - expected).max() < 0.03 * np.ptp(expected)


def test_the_same_forest_as_theirs():
    ours = RandomForestRegressor(10, random_state=0).fit(X, Y)
    theirs = TheirForest(10, random_state=0).fit(X, Y)
    options = {"grid_resolution": 10}
    expected = inspection.partial_dependence(theirs, X, [0, 1], **options)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X))
    assert_same(partial_dependence(ours, X, [0, 1], **options), expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (KNeighborsRegressor(), Y),
        (RandomForestClassifier(5, random_state=0), CLASSES),
        (GradientBoostingRegressor(init=Ridge(), n_estimators=3), Y),
        (GradientBoostingRegressor(loss="poisson", n_estimators=3), Y),
    ],
)
def test_all_others_are_scikit_learns_brute_force(model, y):
    model.fit(X, y)
    options = {"grid_resolution": 3}
    expected = inspection.partial_dependence(model, X, [0], method="brute", **options)
    assert_same(partial_dependence(model, X, [0], **options), expected, rtol=1e-12)
    with pytest.raises(ValueError, match="method='recursion' needs"):
        partial_dependence(model, X, [0], method="recursion", **options)


def test_exact_where_weights_or_all_rows_are_asked_for():
    model = GradientBoostingRegressor(n_estimators=3, random_state=0).fit(X, Y)
    for options in ({"sample_weight": WEIGHTS}, {"kind": "both"}, {"method": "brute"}):
        found = partial_dependence(model, X, [0], grid_resolution=3, **options)
        expected = inspection.partial_dependence(
            model, X, [0], grid_resolution=3, **{"method": "brute", **options}
        )
        assert_same(found, expected, rtol=1e-12)
    with pytest.raises(ValueError, match="method must be one of"):
        partial_dependence(model, X, [0], method="recursive")


@pytest.mark.parametrize("model", [L2BoostingRegressor(), RandomForestRegressor(3), Ridge()])
def test_sparse_rows_are_refused(model):
    X, y = make_friedman1(100, random_state=0)
    model = clone(model).fit(csr_array(X), y)
    with pytest.raises(TypeError, match=r"X is sparse.*X\.toarray\(\)"):
        partial_dependence(model, csr_array(X), [0])
    assert partial_dependence(model, X, [0]).average.shape == (1, 100)


# --- weights --------------------------------------------------------------------------------------

# Few values of each feature, all of which occur in rows of positive weight: the grid is the same
# for repeated rows, and without the rows of weight 0.
FEW = np.random.default_rng(1).integers(0, 5, (150, 4)).astype(float)
TARGET = FEW[:, 0] * FEW[:, 1] + FEW[:, 2] ** 2 + np.random.default_rng(2).standard_normal(150)
COUNTS = np.random.default_rng(3).integers(0, 4, 150)
REPEATED = np.repeat(np.arange(150), COUNTS)
BY_ROWS = [
    GradientBoostingRegressor(n_estimators=8, max_depth=4, random_state=0),
    HistGradientBoostingRegressor(max_iter=8, min_samples_leaf=3),
    HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=3),
    RandomForestRegressor(6, random_state=0),
    BaggingRegressor(BinnedTreeRegressor(max_depth=4), 6, max_features=3, random_state=0),
]


def fitted_to_few(model, weight=None):
    y = TARGET > 8 if hasattr(model, "predict_proba") else TARGET
    return clone(model).fit(FEW, y, weight)


def response(model):
    return {"response_method": "decision_function"} if hasattr(model, "predict_proba") else {}


def slow_mean(tree, weight, values, node=0):
    """The mean of a tree where features have values, by a function that calls itself."""
    left, right = tree.children_left[node], tree.children_right[node]
    if left == -1:
        return tree.value[node, 0, 0]
    j = tree.feature[node]
    if j in values:
        return slow_mean(tree, weight, values, left if values[j] <= tree.threshold[node] else right)
    below, above = weight[left], weight[right]
    if below + above == 0:
        trained = tree.weighted_n_node_samples
        below, above = trained[left], trained[right]
    parts = [slow_mean(tree, weight, values, child) for child in (left, right)]
    return (below * parts[0] + above * parts[1]) / (below + above)


def slow_recursion(model, X, weight, found):
    """Tree by tree and point by point, with the weight of the rows that pass each node."""
    members = np.ravel(model.estimators_)
    boosted = hasattr(model, "steps_")
    factors = model.steps_ if boosted else np.full(len(members), 1 / len(members))
    columns = getattr(model, "estimators_features_", [np.arange(X.shape[1])] * len(members))
    total = np.zeros(found.average.shape[1:])
    for place in np.ndindex(total.shape):
        values = dict(zip((0, 2), [grid[i] for grid, i in zip(found.grid_values, place)]))
        for member, factor, own in zip(members, factors, columns):
            passed = weight @ member.decision_path(X[:, own])
            here = {k: values[j] for k, j in enumerate(own) if j in values}
            total[place] += factor * slow_mean(member.tree_, passed, here)
    return total + (float(model.initial_scores_) if boosted else 0.0)


@pytest.mark.parametrize("model", BY_ROWS, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("features", [[0], [0, 2]])
def test_branches_have_the_weights_of_the_rows(no_brute_force, model, features):
    model = fitted_to_few(model)
    weight = np.where(FEW[:, 1] > 2, 0.0, COUNTS + 0.5)  # no weight in some branches
    options = {"method": "recursion", **response(model)}
    found = partial_dependence(model, FEW, features, sample_weight=weight, **options)
    np.testing.assert_allclose(found.average[0], slow_recursion(model, FEW, weight, found))
    plain = partial_dependence(model, FEW, features, **options)
    assert np.abs(found.average - plain.average).max() > 0.01


@pytest.mark.parametrize("model", BY_ROWS, ids=lambda m: type(m).__name__)
def test_weights_are_repeated_rows_and_0_is_none(model):
    model = fitted_to_few(model)
    options = {"method": "recursion", **response(model)}
    found = partial_dependence(model, FEW, [0, 2], sample_weight=COUNTS, **options)
    ones = np.ones(len(REPEATED))
    rows = partial_dependence(model, FEW[REPEATED], [0, 2], sample_weight=ones, **options)
    assert_same(rows, found, rtol=1e-10)
    kept = COUNTS > 0
    rows = partial_dependence(model, FEW[kept], [0, 2], sample_weight=COUNTS[kept], **options)
    assert_same(rows, found, rtol=1e-10)
    for factor in (1e-300, 1e300):
        rows = partial_dependence(model, FEW, [0, 2], sample_weight=COUNTS * factor, **options)
        assert_same(rows, found, rtol=1e-10)
    exact = partial_dependence(model, FEW, [0], sample_weight=COUNTS, **response(model))
    brute = partial_dependence(model, FEW[REPEATED], [0], method="brute", **response(model))
    assert_same(exact, brute, rtol=1e-10)


@pytest.mark.parametrize("model", BY_ROWS[:2], ids=lambda m: type(m).__name__)
def test_nodes_have_the_weights_of_the_fit(model):
    """The weighted sizes of nodes, in which scikit-learn's histogram trees count rows."""
    weighted = fitted_to_few(model, COUNTS.astype(float))
    found = partial_dependence(weighted, FEW, [0, 2], method="recursion")
    np.testing.assert_allclose(found.average[0], slow_recursion(weighted, FEW, COUNTS, found))
    by_rows = {"method": "recursion", "sample_weight": COUNTS}
    assert_same(partial_dependence(weighted, FEW, [0, 2], **by_rows), found, rtol=1e-10)
    counted = slow_recursion(weighted, FEW, np.ones(len(FEW)), found)
    assert np.abs(found.average[0] - counted).max() > 0.01


def test_missing_values_and_weights_that_are_not_valid():
    gaps = FEW.copy()
    gaps[::9, 1] = np.nan
    model = fitted_to_few(BY_ROWS[3]).fit(gaps, TARGET)
    found = partial_dependence(model, gaps, [0, 2], method="recursion", sample_weight=COUNTS)
    np.testing.assert_allclose(found.average[0], slow_recursion(model, gaps, COUNTS, found))
    options = {"features": [0], "method": "recursion"}
    for wrong in (COUNTS[:-1], -COUNTS, np.zeros(150)):
        with pytest.raises(ValueError, match=r"(?i)sample.weight"):
            partial_dependence(model, FEW, sample_weight=wrong, **options)
    with pytest.raises(ValueError, match="X has 3 features"):
        partial_dependence(model, FEW[:, :3], sample_weight=COUNTS, **options)
    text = FEW.astype(object)
    text[:, 3] = "a"
    with pytest.raises(ValueError, match="X must hold numbers"):
        partial_dependence(model, text, [0], method="recursion", sample_weight=COUNTS)


def test_recursion_says_what_an_estimator_lacks():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (60, 2)).astype(float)
    y = X[:, 0] + rng.standard_normal(60)
    booster = GradientBoostingRegressor(n_estimators=3)
    of_categories = clone(booster).set_params(categorical_features=[1])
    pipeline = make_pipeline(StandardScaler(), booster)
    stack = VotingRegressor([("ridge", Ridge())])
    for model, options, message in [
        (
            booster,
            {"kind": "individual"},
            "Regressor is asked for kind='individual'",
        ),
        (of_categories, {}, "has trees .* of categories"),
        (pipeline, {}, "This Pipeline is no ensemble"),
        (stack, {}, "has members that are no trees"),
    ]:
        with pytest.raises(ValueError, match=f"{message}.*; use method='brute'"):
            partial_dependence(model.fit(X, y), X, [0], method="recursion", **options)
