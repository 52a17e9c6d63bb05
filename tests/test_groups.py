"""Rows that belong together are on one side of every split that an estimator makes itself."""

import inspect

import numpy as np
import pytest
import sklearn.ensemble
from sklearn import config_context
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_regression
from sklearn.feature_selection import RFECV
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    StratifiedGroupKFold,
    cross_val_predict,
    cross_validate,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping

import sklearn_ensemble_theory as package
from sklearn_ensemble_theory.boosting import CVChoice, CVRounds

from .estimators import estimator_classes, make

# What makes an estimator read its `cv`.
BY_CV = {
    "GradientBoostingClassifier": {"n_estimators": "cv", "max_estimators": 20},
    "GradientBoostingRegressor": {"n_estimators": "cv", "max_estimators": 20},
}
# The parameter whose object has the splits, and this object.
OBJECTS = {
    "AdditiveBoostingRegressor": ("n_estimators", CVRounds(max_estimators=20)),
    "BallConstrainedClassifier": ("radius", CVChoice([0.01, 0.1, 1.0])),
    "FrankWolfeClassifier": ("radius", CVChoice([0.5, 2.0, 8.0])),
    "FrankWolfeRegressor": ("radius", CVChoice([0.5, 20.0, 800.0])),
    "L2BoostingRegressor": ("n_estimators", CVRounds(max_estimators=20)),
    "LinearL2BoostingRegressor": ("time", CVChoice()),
    "LogitBoostClassifier": ("n_estimators", CVRounds(max_estimators=20)),
    "MassartBoostClassifier": ("noise_rate", CVChoice()),
    "MatchingPursuitRegressor": ("n_estimators", CVRounds(max_estimators=20)),
}


def with_parameter(name):
    return [cls for cls in estimator_classes() if name in inspect.signature(cls).parameters]


@pytest.fixture(scope="module")
def data():
    X, y = make_regression(90, 3, noise=30.0, random_state=0)
    groups = np.random.default_rng(1).permutation(np.repeat(list("abcdefghi"), 10))
    return X, y, groups


def target_of(estimator, y):
    return np.where(y > 0, "high", "low") if is_classifier(estimator) else y


def name_of_splits(cls):
    return f"{OBJECTS[cls.__name__][0]}__cv" if cls.__name__ in OBJECTS else "cv"


def by_cv(cls, cv):
    if cls.__name__ not in OBJECTS:
        return make(cls, **BY_CV.get(cls.__name__, {}), cv=cv)
    name, choice = OBJECTS[cls.__name__]
    return make(cls, **{name: clone(choice).set_params(cv=cv)})


def assert_same(model, other, X):
    scores = "decision_function" if hasattr(model, "decision_function") else "predict"
    np.testing.assert_array_equal(getattr(model, scores)(X), getattr(other, scores)(X))


every_cv = pytest.mark.parametrize(
    "cls",
    [cls for cls in estimator_classes() if cls.__name__ in OBJECTS] + with_parameter("cv"),
    ids=lambda c: c.__name__,
)


@every_cv
def test_splits_by_groups_are_those_of_the_splitter(cls, data):
    X, y, groups = data
    cv = GroupKFold(3)
    model = by_cv(cls, cv=cv)
    y = target_of(model, y)
    splits = by_cv(cls, cv=list(cv.split(X, y, groups))).fit(X, y)
    assert_same(model.fit(X, y, groups=groups), splits, X)
    # An integer is the number of folds of whole groups, stratified for a classifier.
    whole = StratifiedGroupKFold(3) if is_classifier(model) else cv
    splits = by_cv(cls, cv=list(whole.split(X, y, groups))).fit(X, y)
    assert_same(by_cv(cls, cv=3).fit(X, y, groups=groups), splits, X)
    # A row of weight 0 has no part, and the groups of the others stay theirs.
    weight = np.ones(90)
    weight[:7] = 0.0
    left_out = by_cv(cls, cv=3).fit(X, y, sample_weight=weight, groups=groups)
    assert_same(left_out, by_cv(cls, cv=3).fit(X[7:], y[7:], np.ones(83), groups=groups[7:]), X)


@every_cv
def test_groups_that_are_missing_or_wrong_are_named(cls, data):
    X, y, groups = data
    model = by_cv(cls, cv=GroupKFold(3))
    y = target_of(model, y)
    with pytest.raises(ValueError, match=r"cv=GroupKFold splits by groups.*groups=\.\.\."):
        model.fit(X, y)
    with pytest.raises(ValueError, match="groups must have a label for each row"):
        model.fit(X, y, groups=groups[:-1])
    for wrong, given in [("a", "'a'"), (np.ones((len(X), 2)), r"shape \(")]:
        with pytest.raises(ValueError, match=f"groups must have one dimension.* got {given}"):
            model.fit(X, y, groups=wrong)
    with pytest.raises(ValueError, match="groups must not contain missing values"):
        model.fit(X, y, groups=np.where(groups == "a", None, groups))
    with pytest.raises(ValueError, match=r"groups has 2 groups, but (\w+__)?cv is 3 folds"):
        by_cv(cls, cv=3).fit(X, y, groups=groups == "a")


@every_cv
@config_context(enable_metadata_routing=True)
def test_groups_are_routed_through_a_search(cls, data):
    X, y, groups = data
    model = clone(by_cv(cls, cv=GroupKFold(3))).set_fit_request(groups=True)
    y = target_of(model, y)
    search = GridSearchCV(
        model, {name_of_splits(cls): [GroupKFold(2), GroupKFold(3)]}, cv=GroupKFold(3)
    )
    search.fit(X, y, groups=groups)
    chosen = clone(model).set_params(**search.best_params_).fit(X, y, groups=groups)
    assert_same(search.best_estimator_, chosen, X)
    found = cross_validate(
        model, X, y, params={"groups": groups}, cv=GroupKFold(3), error_score="raise"
    )
    (train, test), *_ = GroupKFold(3).split(X, y, groups)
    fold = clone(model).fit(X[train], y[train], groups=groups[train])
    assert found["test_score"][0] == fold.score(X[test], y[test])


# --- scripts for scikit-learn's classes, whose `fit` takes no groups ------------------------------

every_class = pytest.mark.parametrize("cls", estimator_classes(), ids=lambda c: c.__name__)


def routed_to(model, **metadata):
    """What a search passes on to a model's `fit`."""
    router = MetadataRouter(owner="search")
    router.add(model=model, method_mapping=MethodMapping().add(caller="fit", callee="fit"))
    to_split = MethodMapping().add(caller="fit", callee="split")
    router.add(splitter=GroupKFold(3), method_mapping=to_split)
    return dict(router.route_params(caller="fit", params=metadata)["model"]["fit"])


@every_class
@pytest.mark.parametrize("routing", [False, True])
def test_groups_of_a_search_go_to_its_splitter(cls, data, routing):
    X, y, groups = data
    model = make(cls)
    y = target_of(model, y)
    splits = list(GroupKFold(3).split(X, y, groups))
    expected = cross_validate(model, X, y, cv=splits)["test_score"]
    # With routing scikit-learn's pipelines refuse to score a stack or vote, its own too.
    in_pipeline = not (routing and hasattr(cls, "named_estimators"))
    pipeline = [make_pipeline(FunctionTransformer(), model)] if in_pipeline else []
    with config_context(enable_metadata_routing=routing):
        given = {"params": {"groups": groups}} if routing else {"groups": groups}
        for one in (model, *pipeline):
            found = cross_validate(one, X, y, cv=GroupKFold(3), error_score="raise", **given)
            np.testing.assert_array_equal(found["test_score"], expected)
            search = GridSearchCV(one, {}, cv=GroupKFold(3), error_score="raise")
            search.fit(X, y, groups=groups)
            assert search.best_score_ == pytest.approx(expected.mean())


def alone_in_scikit_learn(name):
    return hasattr(package, name) and not name.startswith(("Stacking", "Voting"))


@pytest.mark.parametrize("name", filter(alone_in_scikit_learn, sklearn.ensemble.__all__))
@config_context(enable_metadata_routing=True)
def test_weights_go_to_fit_and_groups_to_the_splitter(name, data):
    X, y, groups = data
    weight = np.arange(1.0, 91)
    model = make(getattr(package, name))
    y = target_of(model, y)
    model.set_fit_request(sample_weight=True).set_score_request(sample_weight=False)
    search = GridSearchCV(model, {}, cv=GroupKFold(3), error_score="raise")
    search.fit(X, y, sample_weight=weight, groups=groups)
    assert_same(search.best_estimator_, clone(model).fit(X, y, sample_weight=weight), X)
    scores = [
        clone(model).fit(X[train], y[train], sample_weight=weight[train]).score(X[test], y[test])
        for train, test in GroupKFold(3).split(X, y, groups)
    ]
    assert search.best_score_ == pytest.approx(np.mean(scores))


@every_class
@config_context(enable_metadata_routing=True)
def test_groups_go_to_fit_if_they_are_requested(cls, data):
    model, groups = make(cls), data[2]
    requested = BaseEstimator.get_metadata_routing(model).fit.requests
    others = {"self", "X", "y", "fit_params", "check_input"}
    assert set(requested) == set(inspect.signature(cls.fit).parameters) - others
    if "groups" not in requested:
        return
    assert requested["groups"] is False
    assert not routed_to(model, groups=groups)
    if not hasattr(cls, "named_estimators"):  # whose members and splitter request
        assert list(routed_to(model.set_fit_request(groups=True), groups=groups)) == ["groups"]
        assert list(routed_to(model.set_fit_request(groups="site"), site=groups)) == ["groups"]


@pytest.mark.parametrize("name", [n for n in sklearn.ensemble.__all__ if hasattr(package, n)])
def test_further_metadata_have_names_that_scikit_learn_does_not_have(name):
    members = [[("one", LogisticRegression())]] if name.startswith(("Stacking", "Voting")) else []
    ours, theirs = (
        BaseEstimator.get_metadata_routing(getattr(m, name)(*members))
        for m in (package, sklearn.ensemble)
    )
    names = {"offset", "offset_val", "X_val", "y_val", "sample_weight_val"}
    if members:
        names.add("sample_weight")  # of their `fit_params`
    for method in ("fit", "predict", "predict_proba", "decision_function", "score"):
        known, given = (getattr(each, method).requests for each in (ours, theirs))
        assert known.items() >= given.items()
        assert {one for one in known.keys() - given.keys() if known[one] is None} <= names


@pytest.mark.parametrize("name", ["RandomForestClassifier", "GradientBoostingClassifier"])
@config_context(enable_metadata_routing=True)
def test_groups_beside_other_consumers(name, data):
    X, y, groups = data
    y = (y > 0).astype(int)
    model = make(getattr(package, name))
    splits = list(GroupKFold(3).split(X, y, groups))
    calibrated = CalibratedClassifierCV(model, cv=GroupKFold(3)).fit(X, y, groups=groups)
    expected = CalibratedClassifierCV(model, cv=splits).fit(X, y)
    np.testing.assert_array_equal(calibrated.predict_proba(X), expected.predict_proba(X))
    chosen = RFECV(model, cv=GroupKFold(3)).fit(X, y, groups=groups)
    np.testing.assert_array_equal(chosen.ranking_, RFECV(model, cv=splits).fit(X, y).ranking_)
    given = {"method": "predict_proba", "params": {"groups": groups}}
    proba = cross_val_predict(model, X, y, cv=GroupKFold(3), **given)
    np.testing.assert_array_equal(
        proba, cross_val_predict(model, X, y, cv=splits, method="predict_proba")
    )


def copies_of_groups():
    """Ten copies of each of 12 rows, with a target that nothing but the row itself explains."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(12), 10)
    return rng.standard_normal((12, 40))[groups], rng.permutation(np.repeat([-1.0, 1.0], 6)), groups


@pytest.mark.parametrize("cls", with_parameter("validation_fraction"), ids=lambda c: c.__name__)
def test_rows_that_are_held_out_are_whole_groups(cls):
    X, y, groups = copies_of_groups()
    y = y[groups]
    params = {"validation_fraction": 0.5, "random_state": 0}
    if cls.__name__.startswith("Hist"):
        params |= {"early_stopping": True, "max_iter": 30, "min_samples_leaf": 1}
    else:
        params |= {"n_iter_no_change": 4, "n_estimators": 20}
    errors = []
    for own in (None, groups):
        model = make(cls, **params)
        model.fit(X, target_of(model, y), **({} if own is None else {"groups": own}))
        path = next(
            getattr(model, name)
            for name in ("validation_scores_", "validation_score_")
            if hasattr(model, name)
        )
        path = -path if hasattr(model, "validation_score_") else path
        errors.append(np.min(path) / np.abs(path[0]))
    # Copies of the training rows are predicted, new groups are not.
    assert errors[0] < 0.2
    assert errors[1] > 0.6
