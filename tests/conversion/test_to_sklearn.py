"""`export.sklearn`: the same predictions by scikit-learn's own objects, or an error in words."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeRegressor
from sklearn.utils.validation import check_is_fitted

import sklearn_ensemble_theory as package
from sklearn_ensemble_theory import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    DecisionStumpClassifier,
    DecisionStumpRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    export,
)
from sklearn_ensemble_theory.averaging import PACMembers
from sklearn_ensemble_theory.boosting.losses import HuberLoss
from sklearn_ensemble_theory.trees import BinnedTreeClassifier, BinnedTreeRegressor

from .counterparts import assert_same_predictions, diabetes, fitted, kinds_of_targets

FORESTS = [RandomForestRegressor, ExtraTreesRegressor, BaggingRegressor]
CLASS_FORESTS = [RandomForestClassifier, ExtraTreesClassifier, BaggingClassifier]
REGRESSION_STEPS = [
    {},
    {"loss": "huber"},
    {"loss": "quantile", "alpha": 0.7},
    {"loss": "absolute_error", "step": "line_search"},
    {"init": "zero", "max_leaf_nodes": 5},
    {"step": "newton", "subsample": 0.5},
    {"learning_rate": lambda t: 1 / (t + 1)},
    {"estimator": ExtraTreeRegressor(max_depth=2)},
    {"estimator": BinnedTreeRegressor(max_depth=2, l2_regularization=1.0)},
]
CASES = [
    *((cls, {"max_bins": bins}) for cls in FORESTS + CLASS_FORESTS for bins in (None, 30)),
    *((GradientBoostingRegressor, params) for params in REGRESSION_STEPS),
    (GradientBoostingRegressor, {"max_bins": None, "init": LinearRegression()}),
    (GradientBoostingClassifier, {}),
    (GradientBoostingClassifier, {"max_bins": None, "step": "line_search"}),
    (AdaBoostClassifier, {"variant": "discrete"}),
    (AdaBoostClassifier, {"variant": "discrete", "estimator": BinnedTreeClassifier(max_depth=2)}),
    (AdaBoostRegressor, {}),
    (AdaBoostRegressor, {"estimator": BinnedTreeRegressor(max_depth=3), "loss": "square"}),
    (BaggingRegressor, {"estimator": DecisionStumpRegressor(), "max_features": 0.5}),
    (BaggingRegressor, {"estimator": GradientBoostingRegressor(n_estimators=3)}),
    (BaggingClassifier, {"estimator": DecisionStumpClassifier(), "max_features": 0.5}),
    (BaggingClassifier, {"estimator": KNeighborsClassifier(3), "bootstrap": False}),
    (BinnedTreeRegressor, {"max_depth": 4}),
    (BinnedTreeClassifier, {"max_depth": 4, "ccp_alpha": 0.01}),
    (DecisionStumpRegressor, {}),
    (DecisionStumpClassifier, {}),
    (DecisionStumpClassifier, {"max_bins": 20}),
]


def names_of(case):
    return case.__name__ if isinstance(case, type) else "-".join(map(str, case)) or "default"


@pytest.mark.parametrize(("cls", "params"), CASES, ids=names_of)
def test_the_predictions_are_the_same(cls, params):
    """All methods that both have, for rows that were not fitted to; the object can be fitted."""
    X, targets, X_new = diabetes()
    known = cls().get_params()
    small = {"n_estimators": 4, "random_state": 0}
    params = {name: value for name, value in small.items() if name in known} | params
    for kind in kinds_of_targets(cls):
        model = cls(**params).fit(X, targets[kind])
        theirs = export.sklearn(model)
        assert type(theirs).__module__.startswith("sklearn.")
        for member in np.ravel(getattr(theirs, "estimators_", [])):
            assert type(member).__module__.startswith("sklearn."), member
        check_is_fitted(theirs)
        assert_same_predictions(model, theirs, X_new)
        assert theirs.n_features_in_ == X.shape[1]
        # What has been converted is independent of the package, and complete.
        assert_same_predictions(model, pickle.loads(pickle.dumps(theirs)), X_new)
        clone(theirs).fit(X[:50], targets[kind][:50])


@pytest.mark.parametrize("cls", CLASS_FORESTS, ids=names_of)
def test_members_that_lack_classes(cls):
    """Members fitted to four rows: their leaves have shares of all classes of the ensemble."""
    X, targets, X_new = diabetes()
    for max_bins in (None, 20):
        params = {"max_samples": 4, "max_bins": max_bins, "random_state": 0}
        model = cls(n_estimators=6, **params).fit(X, targets["many"])
        assert min(len(member.classes_) for member in model.estimators_) < 3
        assert_same_predictions(model, export.sklearn(model), X_new)


@pytest.mark.parametrize("max_samples", [4, None])
def test_several_outputs(max_samples):
    X, targets, X_new = diabetes()
    params = {"n_estimators": 4, "max_samples": max_samples, "random_state": 0}
    labels = np.column_stack([targets["two"], targets["two"] * 0 + np.arange(200) % 3])
    for cls in (RandomForestClassifier, ExtraTreesClassifier):
        model = cls(**params).fit(X, labels)
        theirs = export.sklearn(model)
        assert theirs.n_outputs_ == 2
        assert_same_predictions(model, theirs, X_new)
    y = np.column_stack([targets["real"], X[:, 0]])
    for cls in (RandomForestRegressor, BaggingRegressor):
        model = cls(**params).fit(X, y)
        assert_same_predictions(model, export.sklearn(model), X_new)


@pytest.mark.parametrize("cls", [RandomForestRegressor, BaggingClassifier], ids=names_of)
def test_missing_values(cls):
    X, targets, X_new = diabetes()
    rng = np.random.default_rng(0)
    X[rng.random(X.shape) < 0.2] = np.nan
    X_new[rng.random(X_new.shape) < 0.2] = np.nan
    y = targets[kinds_of_targets(cls)[0]]
    model = cls(n_estimators=4, max_bins=30, random_state=0).fit(X, y)
    assert_same_predictions(model, export.sklearn(model), X_new)


def test_gradient_boosting_fitted_to_missing_values():
    """scikit-learn's predicts complete rows only, and says so."""
    X, targets, X_new = diabetes()
    X[::3, 2] = np.nan
    model = GradientBoostingRegressor(n_estimators=5, random_state=0).fit(X, targets["real"])
    theirs = export.sklearn(model)
    assert_same_predictions(model, theirs, X_new)
    with pytest.raises(ValueError, match="NaN"):
        theirs.predict(X)


def test_feature_names_and_attributes():
    X, targets, X_new = diabetes()
    names = [f"x{j}" for j in range(X.shape[1])]
    frame, new = pd.DataFrame(X, columns=names), pd.DataFrame(X_new, columns=names)
    for model in (
        GradientBoostingRegressor(n_estimators=4, subsample=0.5, random_state=0),
        RandomForestRegressor(4, max_bins=20, oob_score=True, max_samples=30, random_state=0),
        AdaBoostRegressor(n_estimators=4, random_state=0),
        BinnedTreeRegressor(max_depth=2),
    ):
        try:
            model.fit(frame, targets["real"])
        except UserWarning:  # few trees: some rows have no out-of-bag prediction
            model.set_params(n_estimators=40).fit(frame, targets["real"])
        theirs = export.sklearn(model)
        assert list(theirs.feature_names_in_) == names
        assert_same_predictions(model, theirs, new)
        np.testing.assert_allclose(theirs.feature_importances_, model.feature_importances_)
        for name in ("train_score_", "oob_improvement_", "oob_score_", "estimator_weights_"):
            if hasattr(model, name):
                np.testing.assert_array_equal(getattr(theirs, name), getattr(model, name))


def test_the_model_is_not_changed():
    """Trees on bins stay arrays, and what is done to the result does not reach the model."""
    X, targets, _ = diabetes()
    model = RandomForestRegressor(3, max_bins=20, random_state=0).fit(X, targets["real"])
    theirs = export.sklearn(model)
    assert all(member._grown.arrays is not None for member in model.estimators_)
    before = model.predict(X)
    for member in theirs.estimators_:
        member.tree_.value[:] = 0.0
    np.testing.assert_array_equal(theirs.predict(X), 0.0)
    np.testing.assert_array_equal(model.predict(X), before)


def test_parameters():
    """Those that both have; the others are scikit-learn's defaults."""
    model = fitted("BaggingRegressor", n_estimators=PACMembers(0.9), max_bins=20, random_state=3)
    theirs = export.sklearn(model)
    assert theirs.n_estimators == len(model) > 50
    assert (theirs.max_samples, theirs.random_state) == (1.0, 3)
    tree = BinnedTreeRegressor(max_depth=2, min_samples_leaf=4)
    boosted = fitted(
        "GradientBoostingRegressor", estimator=tree, n_estimators=2, step="line_search"
    )
    assert export.sklearn(boosted).get_params()["max_depth"] == 2
    assert export.sklearn(boosted).min_samples_leaf == 4
    # Steps that differ are in the values of the trees.
    assert export.sklearn(boosted).learning_rate == 1.0
    assert export.sklearn(fitted("GradientBoostingRegressor", n_estimators=2)).learning_rate == 0.1
    ada = export.sklearn(fitted("AdaBoostRegressor", estimator=tree, n_estimators=2))
    assert type(ada.estimator) is DecisionTreeRegressor
    assert ada.estimator.max_depth == 2
    assert export.sklearn(fitted("AdaBoostRegressor", n_estimators=2)).estimator is None


class OwnTree(BinnedTreeRegressor):
    """A user's tree with predictions of its own."""

    def predict(self, X, check_input=True):
        return super().predict(X, check_input) + 1.0


def test_members_fitted_to_drawn_rows():
    """scikit-learn cannot fit these, for want of weights, but predicts with them."""
    params = {"estimator": KNeighborsClassifier(3), "n_estimators": 3, "random_state": 0}
    for kind in ("two", "many"):
        model = fitted("AdaBoostClassifier", kind, variant="discrete", **params)
        assert_same_predictions(model, export.sklearn(model), diabetes()[2])


def test_members_of_the_user_stay_as_they_are():
    model = fitted("BaggingRegressor", estimator=OwnTree(max_depth=2), n_estimators=3)
    theirs = export.sklearn(model)
    assert theirs.estimators_[0] is model.estimators_[0]
    assert_same_predictions(model, theirs, diabetes()[2])


OBSTACLES = [
    ("RandomForestRegressor", "real", {"bootstrap": "bayesian"}, "bootstrap='bayesian'"),
    ("BaggingClassifier", "many", {"bootstrap": "poisson"}, "bootstrap='poisson'"),
    ("RandomForestClassifier", "many", {"voting": "hard"}, "voting='hard'"),
    ("AdaBoostClassifier", "two", {"variant": "real"}, "variant='real'"),
    ("AdaBoostClassifier", "two", {"variant": "gentle"}, "variant='gentle'"),
    ("AdaBoostClassifier", "many", {}, "variant='mh'"),
    ("GradientBoostingRegressor", "real", {"loss": HuberLoss(50)}, r"loss=HuberLoss\(delta=50\)"),
    ("GradientBoostingRegressor", "real", {"loss": "poisson"}, "loss='poisson'"),
    ("GradientBoostingClassifier", "two", {"loss": "hinge"}, "loss='hinge'"),
    (
        "GradientBoostingRegressor",
        "real",
        {"estimator": DecisionStumpRegressor()},
        "estimator=DecisionStumpRegressor is not a regression tree",
    ),
    (
        "GradientBoostingRegressor",
        "real",
        {"estimator": OwnTree(max_depth=2)},
        "estimator=OwnTree is not a regression tree",
    ),
    ("GradientBoostingRegressor", "real", {"init": LinearRegression()}, "init=LinearRegression"),
]


@pytest.mark.parametrize(("name", "kind", "params", "words"), OBSTACLES)
def test_what_has_no_counterpart(name, kind, params, words):
    model = fitted(name, kind, **{"n_estimators": 3, **params})
    with pytest.raises(ValueError, match=f"{name} has no counterpart in scikit-learn: .*{words}"):
        export.sklearn(model)


def test_members_without_a_counterpart():
    inner = GradientBoostingRegressor(loss="poisson", n_estimators=2)
    with pytest.raises(ValueError, match="GradientBoostingRegressor has no counterpart"):
        export.sklearn(fitted("BaggingRegressor", estimator=inner, n_estimators=2))
    real = fitted("AdaBoostClassifier", "two", variant="real", n_estimators=2)
    with pytest.raises(ValueError, match="does not keep the weights"):
        export.sklearn(real.estimators_[0])


def test_a_subclass_does_not_inherit_its_counterpart():
    X, targets, _ = diabetes()
    with pytest.raises(ValueError, match="it is a subclass"):
        export.sklearn(OwnTree().fit(X, targets["real"]))


@pytest.mark.parametrize("cls", dict.fromkeys(cls for cls, _ in CASES), ids=names_of)
def test_before_fit(cls):
    with pytest.raises(NotFittedError):
        export.sklearn(cls())


def test_other_models():
    """scikit-learn's own and those without a class there: the message lists those that have one."""
    X, targets, _ = diabetes()
    for model in (package.L2BoostingRegressor(2), LinearRegression()):
        with pytest.raises(
            ValueError, match=r"knows AdaBoostClassifier, .*, RandomForestRegressor"
        ):
            export.sklearn(model.fit(X, targets["real"]))


def test_the_losses_are_those_of_scikit_learn():
    """Every loss by name that scikit-learn's classes accept has a counterpart, and no other one."""
    X, targets, X_new = diabetes()
    for cls, kind in ((GradientBoostingRegressor, "real"), (GradientBoostingClassifier, "two")):
        peer = getattr(sklearn.ensemble, cls.__name__)
        for loss in peer._parameter_constraints["loss"][0].options:
            model = cls(loss=loss, n_estimators=2, random_state=0).fit(X, targets[kind])
            assert_same_predictions(model, export.sklearn(model), X_new)


def test_histogram_gradient_boosting():
    X, targets, X_new = diabetes()
    for cls, kind in (
        (package.HistGradientBoostingRegressor, "real"),
        (package.HistGradientBoostingClassifier, "many"),
    ):
        model = cls(max_iter=3).fit(X, targets[kind])
        assert_same_predictions(model, export.sklearn(model), X_new)


def test_votes_of_a_learner_without_probabilities():
    """Votes are what scikit-learn counts too where there are no probabilities."""
    model = fitted(
        "BaggingClassifier", "many", estimator=LinearSVC(), n_estimators=3, voting="hard"
    )
    assert_same_predictions(model, export.sklearn(model), diabetes()[2])


def test_forests_equal_those_of_scikit_learn():
    """For exact trees the way back: the converted forest is the one that scikit-learn fits."""
    X, targets, X_new = diabetes()
    model = RandomForestClassifier(5, bootstrap=False, random_state=0).fit(X, targets["many"])
    kind = sklearn.ensemble.RandomForestClassifier
    peer = kind(5, bootstrap=False, random_state=0).fit(X, targets["many"])
    theirs = export.sklearn(model)
    np.testing.assert_allclose(theirs.predict_proba(X_new), peer.predict_proba(X_new))
    for mine, other in zip(theirs.estimators_, peer.estimators_):
        assert type(mine) is type(other) is DecisionTreeClassifier
        np.testing.assert_array_equal(mine.apply(X_new), other.apply(X_new))
        np.testing.assert_allclose(mine.tree_.value, other.tree_.value)


@pytest.mark.parametrize("features", [1.0, 0.5], ids=["all", "drawn"])
def test_thresholds_of_stumps_that_single_precision_merges(features):
    """Near 1e9 single precision has every 64th integer."""
    X = pd.DataFrame({"b": np.arange(40.0) % 3, "when": 1e9 + 4 * np.arange(40.0)})
    stumps = package.DecisionStumpRegressor()
    model = BaggingRegressor(stumps, 20, max_features=features, random_state=0)
    model.fit(X, np.arange(40.0) ** 2)
    with pytest.warns(UserWarning, match="some thresholds of these features: 'when'"):
        export.sklearn(model)
    model.fit(X.assign(when=X["when"] - 1e9), np.arange(40.0) ** 2)
    export.sklearn(model)
