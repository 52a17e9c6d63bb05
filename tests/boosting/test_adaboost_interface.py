"""AdaBoost: margins, staged predictions, both searches for stumps, metadata and errors."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import config_context
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from sklearn_ensemble_theory import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    AgnosticBoostClassifier,
    DecisionStumpClassifier,
    FrankWolfeRegressor,
    LPBoostClassifier,
    SmoothBoostClassifier,
)

from ..erm.stump_search import without_side_search
from .adaboost_data import VARIANTS, noisy

MODULES = "sklearn_ensemble_theory.boosting._reweighting"


@pytest.mark.parametrize("variant", VARIANTS)
def test_margins(variant):
    X, y = noisy()
    model = AdaBoostClassifier(n_estimators=30, variant=variant).fit(X, y)
    margins = model.margins(X, y)
    assert np.abs(margins).max() <= 1
    np.testing.assert_array_equal(margins > 0, model.predict(X) == y)
    if variant == "discrete":
        np.testing.assert_allclose(2 * margins, y * model.decision_function(X))
    with pytest.raises(ValueError, match="classes_"):
        model.margins(X, y + 7)


def test_margins_of_several_classes_are_differences_of_votes():
    X, y = load_iris(return_X_y=True)
    model = AdaBoostClassifier(n_estimators=20, variant="discrete").fit(X, y)
    votes = np.zeros((150, 3))
    for member, alpha in zip(model.estimators_, model.estimator_weights_):
        votes[np.arange(150), member.predict(X)] += alpha / model.estimator_weights_.sum()
    own = votes[np.arange(150), y]
    votes[np.arange(150), y] = -1
    np.testing.assert_allclose(model.margins(X, y), own - votes.max(axis=1), atol=1e-12)


@pytest.mark.parametrize("variant", VARIANTS)
def test_staged_methods_end_at_the_unstaged(variant):
    X, y = noisy(100)
    model = AdaBoostClassifier(n_estimators=7, variant=variant).fit(X, y)
    for staged, whole in [
        (model.staged_predict(X), model.predict(X)),
        (model.staged_decision_function(X), model.decision_function(X)),
        (model.staged_predict_proba(X), model.predict_proba(X)),
        (model.staged_score(X, y), model.score(X, y)),
    ]:
        stages = list(staged)
        assert len(stages) == 7
        np.testing.assert_array_equal(stages[-1], whole)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X))


def test_binned_stumps_are_close_to_exact_ones():
    X, y = noisy(3000)
    exact = AdaBoostClassifier(n_estimators=30).fit(X[:2500], y[:2500])
    binned = AdaBoostClassifier(DecisionStumpClassifier(max_bins=64), n_estimators=30)
    binned.fit(X[:2500], y[:2500])
    assert abs(exact.score(X[2500:], y[2500:]) - binned.score(X[2500:], y[2500:])) < 0.03
    assert all(isinstance(member, DecisionStumpClassifier) for member in binned.estimators_)
    assert exact.training_error_bounds_[0] <= binned.training_error_bounds_[0] + 1e-12


@pytest.mark.parametrize(
    ("estimator", "variant", "message"),
    [
        (Ridge(), "discrete", "requires a classifier; Ridge is not a classifier"),
        (Ridge(), "real", "requires a classifier; Ridge is not a classifier"),
        (GaussianNB(), "gentle", "requires a regressor; GaussianNB is not a regressor"),
        (DummyClassifier(strategy="constant", constant=1), "discrete", "worse than random"),
    ],
)
def test_wrong_parts_fail_by_name(estimator, variant, message):
    X, y = noisy(60)
    X, y = X[:40], np.repeat([1, 0], [19, 21])
    with pytest.raises(ValueError, match=message):
        AdaBoostClassifier(estimator, variant=variant).fit(X, y)


def test_metadata_is_routed_to_the_learner():
    class Asks(LogisticRegression):
        def fit(self, X, y, sample_weight=None, colour=None):
            self.colour_ = colour
            return super().fit(X, y, sample_weight)

    X, y = noisy(60)
    with config_context(enable_metadata_routing=True):
        learner = Asks().set_fit_request(colour=True, sample_weight=True)
        model = AdaBoostClassifier(learner, n_estimators=3).fit(X, y, colour="red")
        assert {member.colour_ for member in model.estimators_} == {"red"}
    with pytest.raises(ValueError, match="colour"):
        AdaBoostClassifier(Asks()).fit(X, y, colour="red")


def asking(learner):
    """A learner whose `fit` must be given the first column of the rows that it is given."""

    class Asks(learner):
        def fit(self, X, y, sample_weight=None, first=None):
            np.testing.assert_array_equal(first, X[:, 0])
            return super().fit(X, y, sample_weight)

    return Asks().set_fit_request(first=True, sample_weight=True)


@pytest.mark.parametrize(
    ("boosting", "given"),
    [
        (AdaBoostClassifier, {}),
        (AdaBoostRegressor, {}),
        (SmoothBoostClassifier, {"n_iter_no_change": 2}),
        (AgnosticBoostClassifier, {}),
        (LPBoostClassifier, {"nu": 0.9}),
        (FrankWolfeRegressor, {"radius": "cv"}),
    ],
)
def test_metadata_of_rows_go_with_the_rows_that_are_fitted(boosting, given):
    X, y = noisy(90)
    weight = np.arange(len(y)) % 3
    learner = LogisticRegression if is_classifier(boosting()) else Ridge
    with config_context(enable_metadata_routing=True):
        model = boosting(asking(learner), n_estimators=3, **given)
        model.fit(X, y, sample_weight=weight, first=X[:, 0])
    assert model.predict(X).shape == y.shape


def test_feature_importances_name_the_learner_that_has_none():
    X, y = noisy(60)
    model = AdaBoostClassifier(GaussianNB(), n_estimators=2).fit(X, y)
    with pytest.raises(AttributeError, match="GaussianNB"):
        _ = model.feature_importances_


@pytest.mark.parametrize("max_bins", [None, 255])
@pytest.mark.parametrize("data", ["linear", "squares", "few values"])
def test_both_searches_give_the_same_ensemble(data, max_bins, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 5))
    if data == "linear":
        y = X[:, :3].sum(axis=1) + rng.normal(size=3000) > 0
    else:
        y = (X[:, :3] ** 2).sum(axis=1) > 2.4
    if data == "few values":
        X = np.round(2 * X)
    weight = rng.exponential(size=3000)
    model = AdaBoostClassifier(DecisionStumpClassifier(max_bins=max_bins), n_estimators=20)
    fitted = clone(model).fit(X, y, sample_weight=weight)
    without_side_search(monkeypatch)
    other = clone(model).fit(X, y, sample_weight=weight)
    for one, same in zip(fitted.estimators_, other.estimators_, strict=True):
        assert (one.feature_, one.threshold_) == (same.feature_, same.threshold_)
        assert (one.left_class_, one.right_class_) == (same.left_class_, same.right_class_)
        assert one.training_error_ == pytest.approx(same.training_error_, abs=1e-12)
        assert one.left_proba_ == pytest.approx(same.left_proba_, abs=1e-9)
        assert one.right_proba_ == pytest.approx(same.right_proba_, abs=1e-9)
    assert fitted.estimator_weights_ == pytest.approx(other.estimator_weights_, abs=1e-10)
    assert np.array_equal(fitted.predict(X), other.predict(X))


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("container", [sp.csr_matrix, sp.csc_array])
def test_sparse_rows_of_stumps_become_dense(variant, container, monkeypatch):
    X, y = noisy()
    thin = np.where(np.abs(X) > 0.3, X, 0.0)
    args = {"n_estimators": 10, "variant": variant}
    dense = AdaBoostClassifier(**args).fit(thin, y)
    for learner in (None, DecisionStumpClassifier()):
        sparse = AdaBoostClassifier(learner, **args).fit(container(thin), y)
        np.testing.assert_array_equal(
            sparse.decision_function(container(thin)), dense.decision_function(thin)
        )
    monkeypatch.setattr(f"{MODULES}.adaboost.MOST_DENSE_VALUES", 10)
    with pytest.raises(ValueError, match="too large for the dense array that DecisionStumpClass"):
        AdaBoostClassifier(**args).fit(container(thin), y)
    with pytest.raises(ValueError, match="too large"):
        dense.predict(container(thin))
    if variant == "discrete":
        tree = DecisionTreeClassifier(max_depth=1, random_state=0)
        sparse = AdaBoostClassifier(tree, **args).fit(container(thin), y)
        assert sparse.score(container(thin), y) == pytest.approx(dense.score(thin, y), abs=0.05)


@pytest.mark.parametrize(("variant", "n_classes"), [("discrete", 2), ("discrete", 3), ("real", 2)])
def test_trees_add_up_the_votes_of_sparse_rows_at_once(variant, n_classes, monkeypatch):
    rng = np.random.default_rng(0)
    X = sp.random(300, 40, density=0.2, format="csr", random_state=0)
    signal = X[:, :3].toarray().sum(axis=1) + 0.1 * rng.normal(size=300)
    y = np.digitize(signal, [0.2, 0.5][: n_classes - 1])
    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    model = AdaBoostClassifier(tree, n_estimators=6, variant=variant).fit(X, y)
    *_, by_members = model.staged_decision_function(X)
    monkeypatch.setattr(DecisionTreeClassifier, "predict", None)
    monkeypatch.setattr(DecisionTreeClassifier, "predict_proba", None)
    for container in (sp.csr_matrix, sp.csc_array, sp.coo_array):
        np.testing.assert_array_equal(model.decision_function(container(X)), by_members)
