"""`export.frame` of each family: the model is rebuilt from its table alone."""

import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from sklearn_ensemble_theory import (
    AdaBoostClassifier,
    BaggingRegressor,
    DecisionStumpRegressor,
    FrankWolfeClassifier,
    FrankWolfeRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    L2BoostingRegressor,
    LogitBoostClassifier,
    LPBoostClassifier,
    MatchingPursuitRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    ReLUUnitRegressor,
    SmoothBoostClassifier,
    StackingClassifier,
    StackingRegressor,
    SuperLearnerClassifier,
    SuperLearnerRegressor,
    export,
)
from sklearn_ensemble_theory.boosting import CVRounds
from sklearn_ensemble_theory.inspection import unbiased_feature_importances

NAMES = ["first", "second", "third"]


def data(n=150, n_classes=0):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (n, 3))
    y = 2 * X[:, 0] - X[:, 1] + X[:, 0] * X[:, 2] + 0.1 * rng.standard_normal(n)
    if n_classes:
        y = np.array(["a", "b", "c"])[np.argsort(np.argsort(y)) * n_classes // n]
    return pd.DataFrame(X, columns=NAMES), y


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_additive_terms(n_classes):
    X, y = data(n_classes=n_classes)
    X["kind"] = pd.Categorical(np.where(X["first"] > 0.3, "p", "q"))
    X.loc[::9, "second"] = np.nan
    cls = LogitBoostClassifier if n_classes else L2BoostingRegressor
    model = cls(
        CVRounds(2, max_estimators=3),
        max_bins=6,
        learning_rate=0.5,
        interactions=[(0, 2)],
    )
    model.fit(X, y)
    table = export.frame(model)
    several = n_classes == 3
    assert list(table) == ["term", "from", "to", "from_2", "to_2"] + several * ["class"] + [
        "value",
        "standard_error",
        "weight",
    ]
    assert list(table["term"].unique()) == [*X.columns, "first & third"]
    # A row's prediction by comparisons with the bounds of the table.
    for i in (0, 9, 50, 90):
        row, score = X.iloc[i], model.intercept_ + np.zeros(3 if several else 1)
        for term, values in table.groupby("term", sort=False):
            here = np.ones(len(values), bool)
            for name, ends in zip(term.split(" & "), (("from", "to"), ("from_2", "to_2"))):
                low, high = (values[end] for end in ends)
                if pd.isna(row[name]):
                    here &= low.isna()
                elif name == "kind":
                    here &= low == row[name]
                else:
                    here &= (low.astype(float) < row[name]) & (row[name] <= high.astype(float))
            assert here.sum() == len(score)
            assert not several or list(values["class"][here]) == ["a", "b", "c"]
            score = score + values["value"][here].to_numpy()
        found = model.decision_function(X[i : i + 1]) if n_classes else model.predict(X[i : i + 1])
        np.testing.assert_allclose(score, np.ravel(found), rtol=0, atol=1e-10)
    of_kind = table[table["term"] == "kind"]
    assert of_kind["weight"].sum() == pytest.approx(len(X) * (3 if several else 1))
    errors = np.concatenate([np.ravel(each) for each in model.shape_standard_errors_])
    np.testing.assert_array_equal(table["standard_error"], errors)
    plain = cls(5, smoothing_rounds=0, interactions=0, max_bins=4).fit(X.drop(columns="kind"), y)
    plain = export.frame(plain)
    assert not {"standard_error", "from_2"} & set(plain)
    assert plain["from"].dtype == float


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "model",
    [
        AdaBoostClassifier(n_estimators=8),
        AdaBoostClassifier(n_estimators=8, variant="discrete"),
        AdaBoostClassifier(n_estimators=8, variant="gentle"),
        SmoothBoostClassifier(n_estimators=8),
        LPBoostClassifier(n_estimators=8),
    ],
    ids=lambda model: f"{type(model).__name__}-{getattr(model, 'variant', '')}",
)
@pytest.mark.filterwarnings("ignore:Soft margin")
def test_stumps(model, n_classes):
    X, y = data(n_classes=n_classes)
    table = export.frame(model.fit(X, y))
    values = X.to_numpy()[:, [NAMES.index(name) for name in table["feature"]]]
    chosen = np.where(values <= table["threshold"].to_numpy(), table["left"], table["right"])
    weight = table["weight"].to_numpy()
    # Sums of the weights of the votes, or of values, of each class.
    scores = np.zeros((len(X), n_classes))
    for c, label in enumerate(model.classes_):
        rows = (
            (table["class"] == label).to_numpy() if "class" in table else np.ones(len(table), bool)
        )
        part = chosen[:, rows]
        if part.dtype.kind in "OU" and isinstance(part[0, 0], str):
            part = np.where(part == label, 1.0, -1.0)
        elif n_classes == 2:
            part = part.astype(float) * (1 if c else -1)
        scores[:, c] = part.astype(float) @ weight[rows]
    found = model.decision_function(X)
    agree = model.classes_[scores.argmax(axis=1)] == model.predict(X)
    tied = np.ptp(np.sort(scores, axis=1)[:, -2:], axis=1) < 1e-9
    assert (agree | tied).all()
    assert agree.mean() > 0.95
    if n_classes == 2:
        ratio = found / (scores[:, 1] - scores[:, 0])
        np.testing.assert_allclose(ratio[~tied], ratio[~tied][0], rtol=1e-9)
    assert list(table["round"].unique()) == list(range(1, table["round"].max() + 1))


def test_members_that_are_no_stumps():
    X, y = data(n_classes=2)
    model = AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=3).fit(X, y)
    with pytest.raises(
        ValueError, match="requires an estimator that is a decision stump, got DecisionTree"
    ):
        export.frame(model)


@pytest.mark.parametrize("variant", ["plain", "orthogonal"])
def test_pursuit(variant):
    X, y = data()
    model = MatchingPursuitRegressor(5 if variant == "plain" else 2, variant=variant).fit(X, y)
    table = export.frame(model)
    prediction = model.intercept_ + X[table["feature"]].to_numpy() @ table["coefficient"]
    np.testing.assert_allclose(prediction, model.predict(X), rtol=0, atol=1e-12)
    assert table["round"].iloc[0] == 1
    for name, first in zip(table["feature"], table["round"]):
        path = model.coef_path_[:, NAMES.index(name)]
        assert path[first - 1] == 0 != path[first]
    both = export.frame(MatchingPursuitRegressor(4).fit(X, np.column_stack([y, X["third"]])))
    assert both["feature"][both["target"] == 1].iloc[0] == "third"


def test_frank_wolfe():
    X, y = data()
    columns = FrankWolfeRegressor(radius=2.0).fit(X, y)
    table = export.frame(columns)
    assert (table["coefficient"] != 0).all()
    prediction = columns.intercept_ + X[table["feature"]].to_numpy() @ table["coefficient"]
    np.testing.assert_allclose(prediction, columns.predict(X), rtol=0, atol=1e-12)
    for cls, target in ((FrankWolfeRegressor, y), (FrankWolfeClassifier, y > 0)):
        stumps = cls(DecisionStumpRegressor(), radius=2.0, n_estimators=6).fit(X, target)
        table = export.frame(stumps)
        left = X[table["feature"]].to_numpy() <= table["threshold"].to_numpy()
        values = np.where(left, table["left"], table["right"]).astype(float)
        scores = stumps.intercept_ + values @ table["weight"]
        found = stumps.predict(X) if cls is FrankWolfeRegressor else stumps.decision_function(X)
        np.testing.assert_allclose(scores, found, rtol=0, atol=1e-12)
    units = FrankWolfeRegressor(ReLUUnitRegressor(), radius=1.0, n_estimators=3).fit(X, y)
    assert list(export.frame(units)) == ["member", "weight"]


def test_stacks():
    X, y = data()
    members = [("line", LinearRegression()), ("near", KNeighborsRegressor())]
    stack = StackingRegressor(members, final_estimator="simplex", cv=3).fit(X, y)
    table = export.frame(stack).set_index("name")
    mixed = sum(
        table["weight"][name] * member.predict(X)
        for name, member in stack.named_estimators_.items()
    )
    np.testing.assert_allclose(mixed, stack.predict(X), rtol=0, atol=1e-12)
    splits = table.filter(like="split")
    assert splits.shape == (2, 3)
    np.testing.assert_allclose(splits.mean(axis=1), table["mean_score"], rtol=1e-12)
    with pytest.raises(ValueError, match="StackingRegressor has a table if it learns weights"):
        export.frame(StackingRegressor(members, Ridge()).fit(X, y))


@pytest.mark.parametrize("cls", [SuperLearnerRegressor, SuperLearnerClassifier])
def test_super_learners(cls):
    """The members by name and their weights in the table make the predictions."""
    X, y = data(n_classes=3 if cls is SuperLearnerClassifier else 0)
    Z = X.to_numpy()
    options = {"loss": "squared_error", "random_state": 0}
    model = cls(["linear", "neighbors", "boosting"], **options).fit(Z, y)
    table = export.frame(model)
    assert list(table) == ["name", "loss", "standard_error", "weight", "seconds"]
    assert table["loss"].is_monotonic_increasing
    method = "predict_proba" if cls is SuperLearnerClassifier else "predict"
    by_name = table.set_index("name")["weight"]
    mixed = sum(w * getattr(model.members_[name], method)(Z) for name, w in by_name.items())
    found = getattr(model, method)(Z)
    # Probabilities get a little of the shares of the classes.
    np.testing.assert_allclose(mixed, found, rtol=0, atol=1e-10 if method == "predict" else 1e-3)


@pytest.mark.parametrize("cls", [RandomForestRegressor, RandomForestClassifier])
def test_forests(cls):
    X, y = data(n_classes=2 if cls is RandomForestClassifier else 0)
    forest = cls(10, random_state=0).fit(X, y)
    table = export.frame(forest).set_index("feature")
    # By the trees: the importances of scikit-learn's own copies.
    means = np.mean([tree.feature_importances_ for tree in forest.estimators_], axis=0)
    np.testing.assert_allclose(table.loc[NAMES, "importance"], means / means.sum(), rtol=1e-10)
    unbiased = unbiased_feature_importances(forest)
    np.testing.assert_array_equal(table["unbiased_importance"], unbiased)
    assert list(export.frame(cls(3, bootstrap=False).fit(X, y))) == ["feature", "importance"]


def test_importances_of_other_models():
    """Bagging, boosting and scikit-learn's own: the features and their importances."""
    X, y = data()
    for model in (
        BaggingRegressor(n_estimators=3, random_state=0),
        GradientBoostingRegressor(n_estimators=3),
        HistGradientBoostingRegressor(max_iter=3),
        DecisionTreeRegressor(),
    ):
        table = export.frame(model.fit(X, y))
        assert list(table["feature"]) == NAMES
        np.testing.assert_array_equal(table["importance"], model.feature_importances_)
    with pytest.raises(ValueError, match="Ridge has no table"):
        export.frame(Ridge().fit(X, y))
    with pytest.raises(NotFittedError):
        export.frame(RandomForestRegressor())


def test_without_pandas(monkeypatch):
    X, y = data(40)
    Z, labels = X.to_numpy(), y > 0
    fitted = [
        L2BoostingRegressor(3).fit(Z, y),
        AdaBoostClassifier(n_estimators=2).fit(Z, labels),
        MatchingPursuitRegressor(2).fit(Z, y),
        FrankWolfeRegressor().fit(Z, y),
        RandomForestRegressor(2).fit(Z, y),
        StackingClassifier([("tree", DecisionTreeClassifier())], final_estimator="simplex").fit(
            Z, labels
        ),
        SuperLearnerClassifier(["linear"]).fit(Z, labels),
    ]
    assert list(export.frame(fitted[0])["term"].unique()) == ["x0", "x1", "x2"]
    monkeypatch.setitem(sys.modules, "pandas", None)
    for model in fitted:
        with pytest.raises(ImportError, match=r"export\.frame requires pandas"):
            export.frame(model)
