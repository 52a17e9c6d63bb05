"""Every estimator speaks of columns by name: in `monotonic_cst`, `categorical_features`, errors."""

import inspect
from datetime import date

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import is_classifier
from sklearn.tree import DecisionTreeRegressor

import sklearn_ensemble_theory as package
from sklearn_ensemble_theory import export
from tests.estimators import POLARS_IS_READ, estimator_classes, make

from .boosting.pairs_data import resolve_interactions
from .surroundings import Features

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(RNG.uniform(-1, 1, (80, 3)), columns=["age", "bmi", "dose"])
NOISE = 0.3 * RNG.standard_normal(80)
COLOUR = pd.Series(RNG.choice(["blue", "green", "red"], 80), name="colour")
TEXT = pd.concat([FRAME[["age"]], COLOUR, FRAME[["dose"]]], axis=1)


def polars_frame(frame):
    """The frame in polars, whose own `from_pandas` needs pyarrow for text."""
    return pl.DataFrame({name: frame[name].to_list() for name in frame})


FRAMES = [pd.DataFrame, *([polars_frame] if POLARS_IS_READ else [])]


def target(model, values):
    return (values > np.median(values)).astype(int) if is_classifier(model) else values


def having(parameter):
    return [c for c in estimator_classes() if parameter in inspect.signature(c).parameters]


# --- monotonic_cst --------------------------------------------------------------------------------

LEARNERS = {
    "boosting": lambda cst: package.GradientBoostingRegressor(
        package.trees.BinnedTreeRegressor(monotonic_cst=cst, max_depth=3), n_estimators=5
    ),
    "bagging": lambda cst: package.BaggingRegressor(
        DecisionTreeRegressor(monotonic_cst=cst), n_estimators=3, random_state=0
    ),
    "AdaBoost.R2": lambda cst: package.AdaBoostRegressor(
        package.trees.BinnedTreeRegressor(monotonic_cst=cst), n_estimators=3, random_state=0
    ),
}
CONSTRAINED = {
    c.__name__: lambda cst, c=c: make(c, monotonic_cst=cst) for c in having("monotonic_cst")
}


@pytest.mark.parametrize("name", [*CONSTRAINED, *LEARNERS])
@pytest.mark.parametrize("library", FRAMES)
def test_constraints_by_name_are_those_by_place(name, library):
    of = {**CONSTRAINED, **LEARNERS}[name]
    named, placed = of({"bmi": -1, "age": 0}), of(np.array([0, -1, 0], dtype=np.int8))
    y = target(named, np.sin(5 * FRAME["bmi"]) + FRAME["age"] + NOISE)
    X, given = library(FRAME), named.get_params()
    named.fit(X, y)
    method = "predict_proba" if is_classifier(named) else "predict"
    found = getattr(named, method)(X)
    np.testing.assert_array_equal(found, getattr(placed.fit(FRAME, y), method)(FRAME))
    # The constraint is met, and matters; the parameter is still the dict.
    line = FRAME.iloc[[0] * 50].assign(bmi=np.linspace(-1, 1, 50))
    sign = np.diff(getattr(named, method)(library(line)), axis=0)
    assert (sign[:, -1] if sign.ndim == 2 else sign).max() <= 1e-12
    assert not np.array_equal(found, getattr(of(None).fit(FRAME, y), method)(FRAME))
    assert {k: v for k, v in named.get_params().items() if "monotonic_cst" in k} == {
        k: v for k, v in given.items() if "monotonic_cst" in k
    }


@pytest.mark.parametrize("cls", having("interaction_cst"))
def test_groups_by_name_are_those_by_place(cls):
    model = make(cls, interaction_cst=[["dose", "age"]])
    y = target(model, FRAME["bmi"] * FRAME["age"] + NOISE)
    method = "predict_proba" if is_classifier(model) else "predict"
    at = 0.9 * FRAME  # full trees agree at the rows themselves
    found = getattr(model.fit(FRAME, y), method)(at)
    assert model.interaction_cst == [["dose", "age"]]
    for given in ([(0, 2)], [{2, 0}, [1]], [["age", "dose"], [1]]):
        other = make(cls, interaction_cst=given).fit(FRAME, y)
        np.testing.assert_array_equal(getattr(other, method)(at), found)
    assert not np.array_equal(getattr(make(cls).fit(FRAME, y), method)(at), found)
    for given, message in [
        ([["age", "size"]], "has the name 'size', .* 'age', 'bmi', 'dose'"),
        ([[0, 3]], "has the index 3 in group 0, but X has 3 features"),
        ([[0], []], "has no feature in group 1"),
    ]:
        with pytest.raises(ValueError, match=f"interaction_cst {message}"):
            make(cls, interaction_cst=given).fit(FRAME, y)
    with pytest.raises(ValueError, match="interaction_cst has names, but X has no feature names"):
        make(cls, interaction_cst=[["age"]]).fit(FRAME.to_numpy(), y)


@pytest.mark.parametrize("name", CONSTRAINED)
def test_constraints_are_refused_in_the_same_words(name):
    model = CONSTRAINED[name](None)
    y = target(model, FRAME["age"] + NOISE)

    def refused(cst, message, X=FRAME, y=y):
        with pytest.raises(ValueError, match=message):
            CONSTRAINED[name](cst).fit(X, y)

    refused({"bmi": 1, "size": 1}, "has the name 'size', .* 'age', 'bmi', 'dose'")
    refused({"bmi": 2}, "got 2 for feature 'bmi'")
    refused([0, 0.5, 0], "got 0.5 for feature 'bmi'")
    refused([0, 0.5, 0], "got 0.5 for feature 1", FRAME.to_numpy())
    refused([1, 0], r"has the shape \(2,\), but X has 3 features")
    refused({"bmi": 1}, "dict, but X has no feature names", FRAME.to_numpy())
    if is_classifier(model):
        refused({"bmi": 1}, "two classes only.* y has 3 classes", y=np.arange(80) % 3)
        model = CONSTRAINED[name]([0, 0, 0]).fit(FRAME, np.arange(80) % 3)
        assert len(model.classes_) == 3


def test_constraints_by_name_in_a_second_call_without_names():
    model = package.L2BoostingRegressor(20, monotonic_cst={"bmi": -1}, max_bins=[[0.0]] * 3)
    model.partial_fit(FRAME, FRAME["bmi"])
    with pytest.warns(UserWarning, match="feature names"):
        model.partial_fit(FRAME.to_numpy(), FRAME["bmi"])
    assert np.ptp(model.shape_functions_[1][1]) == 0  # what rises may not


def test_scikit_learns_counterpart_has_constraints_by_place():
    model = package.RandomForestRegressor(2, monotonic_cst={"bmi": 1}).fit(FRAME, NOISE)
    theirs = export.sklearn(model)
    np.testing.assert_array_equal(theirs.monotonic_cst, [0, 1, 0])
    theirs.fit(FRAME, NOISE)


# --- categorical_features -------------------------------------------------------------------------


def scores(model, X):
    """Numbers that rise with the target, or with the probability of the second class."""
    return model.predict_proba(X)[:, 1] if hasattr(model, "predict_proba") else model.predict(X)


@pytest.mark.parametrize("cls", having("categorical_features"))
def test_categories_by_name_mask_number_and_dtype_are_the_same(cls):
    colours = TEXT.assign(colour=COLOUR.astype("category"))
    y = target(make(cls), np.array([2.0, 0.0, 1.0])[colours["colour"].cat.codes] + NOISE)
    first = make(cls).fit(colours, y)
    assert first.categories_[1].tolist() == ["blue", "green", "red"]
    shape = {
        colour: scores(first, colours.assign(colour=pd.Categorical([colour] * 80))).mean()
        for colour in first.categories_[1]
    }
    assert shape["blue"] > shape["red"] > shape["green"]
    for given in (["colour"], [False, True, False], [1], [-2], np.array(["colour"])):
        model = make(cls, categorical_features=given).fit(TEXT, y)
        np.testing.assert_array_equal(scores(model, TEXT), scores(first, colours))
    with pytest.raises(ValueError, match=r"categorical_features has the name 'color', .*'colour'"):
        make(cls, categorical_features=["color"]).fit(TEXT, y)
    if cls in having("monotonic_cst"):
        with pytest.raises(ValueError, match="monotonic_cst constrains feature 'colour'"):
            make(cls, monotonic_cst={"colour": 1}).fit(colours, y)


# --- errors ---------------------------------------------------------------------------------------


TAKE_TEXT = {package.SuperLearnerClassifier, package.SuperLearnerRegressor}


@pytest.mark.parametrize("cls", [cls for cls in estimator_classes() if cls not in TAKE_TEXT])
def test_text_is_refused_with_the_name_of_the_column_and_the_cure(cls):
    cure = "categorical_features" if cls in having("categorical_features") else "OneHotEncoder"
    message = rf"Feature {{}}: could not convert string to float: '[a-z]+'; .*{cure}"
    y = target(make(cls), FRAME["age"] + NOISE)
    for library in FRAMES:
        with pytest.raises(ValueError, match=message.format("'colour'")):
            make(cls).fit(library(TEXT), y)
    with pytest.raises(ValueError, match=message.format(1)):
        make(cls).fit(TEXT.to_numpy(), y)
    model = make(cls).fit(FRAME.set_axis(TEXT.columns, axis=1), y)
    with pytest.raises(ValueError, match=message.format("'colour'")):
        model.predict(TEXT)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pd.Series(np.array(["a"] * 80)), "string to float: 'a'"),  # no np.str_('a')
        (
            pd.Series([10**400] * 80, dtype=object),
            "integer that is too large for a float64, in feature 'bmi'",
        ),
        (pd.Series([{}] * 80), "argument must be a string or a real number, not 'dict'"),
    ],
)
def test_values_that_are_no_numbers(column, message):
    for model in (package.DecisionStumpRegressor(), package.L2BoostingRegressor(5)):
        with pytest.raises((TypeError, ValueError), match=f"X .*{message}"):
            model.fit(FRAME.assign(bmi=column, missing=pd.array([1, None] * 40)), NOISE)


@pytest.mark.parametrize("cls", estimator_classes())
def test_dates_as_text_are_named_with_their_cure(cls):
    days = pd.date_range("2021-01-05", periods=80).strftime("%Y-%m-%d")
    dated = FRAME.assign(bmi=days.to_numpy(dtype=object))
    message = "Feature {} holds dates as text, such as '2021-01-05'; .*{}.*day of the year"
    y = target(make(cls), FRAME["age"] + NOISE)
    for library in FRAMES:
        reader = r"pd\.to_datetime" if library is pd.DataFrame else r"str\.to_datetime"
        with pytest.raises(ValueError, match=message.format("'bmi'", reader)):
            make(cls).fit(library(dated), y)
    with pytest.raises(ValueError, match=message.format(1, r"pd\.to_datetime")):
        make(cls).fit(dated.to_numpy(), y)
    model = make(cls).fit(FRAME, y)
    with pytest.raises(ValueError, match=message.format("'bmi'", r"pd\.to_datetime")):
        model.predict(dated)


@pytest.mark.parametrize(
    "text",
    [
        *("2021-01-05", "2021/1/5", " 2021-01-05 12:30 ", "2021-01-05T12:30:00.25Z", "5.1.2021"),
        *("2021-01-05 12:30:00+01:00", "12/31/2021", "31/12/2021 1:05 PM", "5 Jan 2021"),
        *("January 5, 2021", "Tue, 05 Jan 2021 10:00:00 GMT"),
    ],
)
def test_common_forms_of_dates_are_known(text):
    # pandas' own parser is the judge of each example
    pd.to_datetime(text, dayfirst=text.startswith("31"))
    with pytest.raises(ValueError, match="holds dates as text"):
        package.DecisionStumpRegressor().fit(FRAME.assign(bmi=text), NOISE)


@pytest.mark.parametrize(
    "text",
    [
        *("1-2", "1/2", "12:30", "2021-13-05", "2021-02-30", "2021-Q1", "10-20 years", "may"),
        *("1.2.3", "192.168.0.1", "2021-01-05 to 2021-02-05", "555-01-2021", "A-2021-01-05", ""),
    ],
)
def test_other_texts_are_no_dates(text):
    for model in (package.DecisionStumpRegressor(), package.L2BoostingRegressor(5)):
        with pytest.raises(ValueError, match="could not convert string to float"):
            model.fit(FRAME.assign(bmi=text), NOISE)


def test_dates_as_objects_have_the_message_of_dates():
    days = [date(2021, 1, 5)] * 80
    stamps = pd.date_range("2021-01-05", periods=80)
    dated = FRAME.assign(bmi=stamps)
    for X in (FRAME.assign(bmi=days), dated, dated.to_numpy()):
        with pytest.raises(TypeError, match="has dates or times; make numbers of them"):
            package.L2BoostingRegressor(5).fit(X, NOISE)


@pytest.mark.parametrize("cls", estimator_classes())
def test_arrays_of_dates_have_the_message_of_dates(cls):
    # Their numbers depend on the unit, and a missing one would be the least integer.
    days = np.datetime64("2021-01-05") + np.arange(160).reshape(80, 2)
    y = target(make(cls), FRAME["age"] + NOISE)
    for dates in (days, days.astype("datetime64[ns]"), days - days[0, 0]):
        with pytest.raises(TypeError, match="X has dates or times; make numbers of them"):
            make(cls).fit(dates, y)


@pytest.mark.parametrize("name", ["Bagging", "DivideAndConquer", "AdaBoost"])
def test_trees_get_numbers_of_objects(name):
    model = make(getattr(package, f"{name}Regressor"))
    expected = model.fit(FRAME, NOISE).predict(FRAME)
    objects = FRAME.astype(object)
    np.testing.assert_array_equal(model.fit(objects, NOISE).predict(objects), expected)


def test_other_errors_are_left_alone():
    for model in (package.L2BoostingRegressor(5), package.RandomForestRegressor(2)):
        with pytest.raises(ValueError, match=r"^y must hold numbers"):
            model.fit(TEXT, ["a"] * 80)
        with pytest.raises(ValueError, match=r"^sample_weight must have a number"):
            model.fit(FRAME, NOISE, sample_weight=["a"] * 80)


def test_pairs_and_edges_are_named():
    names = ("age", "bmi", "dose")
    assert resolve_interactions([("dose", "age"), (1, "age")], 3, names) == [(0, 2), (0, 1)]
    for given, message in [
        ([("age", "size")], "interactions has the name 'size'"),
        ([("age", "bmi"), (1, 0)], r"the pair \('age', 'bmi'\) twice"),
    ]:
        with pytest.raises(ValueError, match=message):
            resolve_interactions(given, 3, names)
    with pytest.raises(ValueError, match=r"max_bins\[1\], of feature 'bmi', must be finite"):
        package.L2BoostingRegressor(5, max_bins=[[], [1.0, 0.0], []]).fit(FRAME, NOISE)


def test_names_that_are_no_strings_are_none():
    assert Features.of(FRAME.set_axis([1, 2, 3], axis=1)) == Features(3)
    assert Features.of(FRAME).label(1) == "'bmi'"
    assert Features.of(FRAME.to_numpy()).labels(0, 2) == "(0, 2)"


@pytest.mark.parametrize("name", ["LogitBoost", "FrankWolfe", "BallConstrained"])
def test_labels_are_shown_without_their_type(name):
    with pytest.raises(ValueError, match=r"one class.* 'a'[;.]"):
        make(getattr(package, f"{name}Classifier")).fit(FRAME, np.array(["a"] * 80))


@pytest.mark.parametrize("given", [{"bmi": "increasing"}, [0, "up"], [1, 0.5]])
def test_a_wrong_sign_is_named_with_its_feature(given):
    X = pd.DataFrame(np.random.default_rng(0).random((30, 2)), columns=["age", "bmi"])
    with pytest.raises(ValueError, match=r"got (?:'increasing'|'up'|0\.5) for feature 'bmi'"):
        package.L2BoostingRegressor(monotonic_cst=given).fit(X, X["age"])


@pytest.mark.parametrize(
    "name", ["RandomForestRegressor", "L2BoostingRegressor", "VotingRegressor"]
)
def test_dates_are_refused_by_name(name):
    X = pd.DataFrame({"x": np.arange(30.0), "day": pd.date_range("2020", periods=30)})
    model = make(getattr(package, name))
    for given in (X, X[["day"]], X.assign(day=X["day"].dt.tz_localize("UTC"))):
        with pytest.raises(TypeError, match="'day' has dates"):
            model.fit(given, X["x"])


@pytest.mark.parametrize("groups", [pd.Series([1.0, 2.0]), np.array([[0, 1], [2, 3]]), np.array(3)])
def test_groups_that_are_no_lists_are_refused_by_name(groups):
    tree = package.trees.BinnedTreeRegressor(interaction_cst=groups)
    with pytest.raises(ValueError, match="interaction_cst"):
        tree.fit(np.eye(4), np.arange(4.0))
