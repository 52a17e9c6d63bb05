"""`class_weight` is a factor of `sample_weight` in the classifiers that have it."""

import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.class_weight import compute_sample_weight

from sklearn_ensemble_theory import (
    AdaBoostClassifier,
    BaggingClassifier,
    BallConstrainedClassifier,
    DecisionStumpClassifier,
    DivideAndConquerClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn_ensemble_theory.trees import BinnedTreeClassifier

from .estimators import estimator_classes, make

CLASSIFIERS = [cls for cls in estimator_classes() if "class_weight" in make(cls).get_params()]
every_classifier = pytest.mark.parametrize("cls", CLASSIFIERS, ids=lambda c: c.__name__)


@pytest.fixture(scope="module")
def data():
    # Rows of few values: leaves of full trees have rows of both classes, and bins are the same.
    X, y = make_classification(150, 4, weights=[0.8], flip_y=0.1, random_state=0)
    return np.round(X), np.array(["rare" if label else "common" for label in y])


def scores(model, X):
    name = next(n for n in ("decision_function", "predict_proba", "predict") if hasattr(model, n))
    found = getattr(model, name)(X)
    return found if name != "predict" else found == "rare"


@every_classifier
@pytest.mark.parametrize("class_weight", ["balanced", {"common": 0.5, "rare": 3.0}], ids=str)
def test_the_model_is_that_of_these_sample_weights(cls, data, class_weight):
    X, y = data
    weight = compute_sample_weight(class_weight, y)
    model = make(cls, class_weight=class_weight).fit(X, y)
    expected = make(cls).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(scores(model, X), scores(expected, X), rtol=1e-9, atol=1e-9)
    unweighted = make(cls).fit(X, y)
    assert not np.allclose(scores(model, X), scores(unweighted, X))
    # The weights of rows count as often as rows would: balanced classes have the same totals.
    of_rows = np.random.default_rng(0).integers(0, 4, len(y)).astype(float)
    both = make(cls, class_weight=class_weight).fit(X, y, of_rows)
    if class_weight == "balanced":
        if cls is BinnedTreeClassifier:  # as scikit-learn's tree, which counts rows here
            return
        rare = y == "rare"
        totals = np.where(rare, of_rows[rare].sum(), of_rows[~rare].sum())
        weight = of_rows.sum() / 2 / totals
    expected = make(cls).fit(X, y, of_rows * weight)
    np.testing.assert_allclose(scores(both, X), scores(expected, X), rtol=1e-6, atol=1e-6)


@every_classifier
def test_weights_that_are_none_are_refused_by_name(cls, data):
    X, y = data
    for bad in ({"common": -1.0, "rare": 1.0}, {"common": 0.0, "rare": 0.0}, {"no": 1.0}, "even"):
        model = make(cls, class_weight=bad)
        with pytest.raises(ValueError, match="class_weight"):
            model.fit(X, y)
        assert not hasattr(model, "classes_")


def test_a_weak_learner_with_weights_of_classes_is_fitted_by_its_own_fit(data):
    X, y = data
    balanced = AdaBoostClassifier(DecisionStumpClassifier(class_weight="balanced"), n_estimators=1)
    stump = DecisionStumpClassifier(class_weight="balanced").fit(X, y)
    assert balanced.fit(X, y).estimators_[0].threshold_ == stump.threshold_
    plain = AdaBoostClassifier(DecisionStumpClassifier(), n_estimators=1).fit(X, y)
    assert plain.estimators_[0].threshold_ != stump.threshold_


def test_chunks_take_weights_by_label(data):
    X, y = data
    labels, parts = ["common", "rare"], (slice(70), slice(70, None))
    class_weight = {"common": 1.0, "rare": 4.0}
    model = BallConstrainedClassifier(solver="sgd", random_state=0)
    weighted = clone(model).set_params(class_weight=class_weight)
    for part in parts:
        weight = compute_sample_weight(class_weight, y[part])
        model.partial_fit(X[part], y[part], labels, weight)
        weighted.partial_fit(X[part], y[part], labels)
    np.testing.assert_array_equal(weighted.coef_, model.coef_)
    with pytest.raises(ValueError, match="class_weight='balanced' needs the classes of all rows"):
        clone(model).set_params(class_weight="balanced").partial_fit(X, y, labels)


@pytest.mark.parametrize("labels", [(1, 2, 3), ("a", "b", "c")], ids=str)
@pytest.mark.parametrize(
    "learner",
    [DecisionTreeClassifier(max_depth=2), BinnedTreeClassifier(max_depth=2)],
    ids=lambda learner: type(learner).__name__,
)
@pytest.mark.parametrize(
    "ensemble",
    [
        lambda member: BaggingClassifier(member, 5, random_state=0),
        lambda member: DivideAndConquerClassifier(member, random_state=0),
        lambda member: VotingClassifier([("one", member)], voting="soft"),
        lambda member: StackingClassifier([("one", member)], cv=3, final_estimator="simplex"),
        lambda member: StackingClassifier(
            [("one", DecisionTreeClassifier(max_depth=2, random_state=0))], member, cv=3
        ),
    ],
    ids=["bagging", "blocks", "vote", "stack", "final"],
)
def test_members_get_weights_by_label(ensemble, learner, labels):
    """Members are fitted to positions of labels, which are not the keys of the user's dict."""
    X, code = make_classification(
        200, 4, n_informative=3, n_redundant=0, n_classes=3, random_state=0
    )
    y = np.array(labels)[code]
    member = learner.set_params(random_state=0)
    of_labels = clone(member).set_params(class_weight={labels[1]: 20.0})
    of_codes = clone(member).set_params(class_weight={1: 20.0})
    for wrapped in (lambda one: one, lambda one: make_pipeline("passthrough", one)):
        expected, found, plain = (
            ensemble(wrapped(one)).fit(X, target).predict_proba(X)
            for one, target in [(of_codes, code), (of_labels, y), (member, y)]
        )
        np.testing.assert_array_equal(found, expected)
        assert not np.allclose(found, plain)
    assert of_labels.class_weight == {labels[1]: 20.0}
    with pytest.raises(ValueError, match="not in class_weight"):
        ensemble(clone(member).set_params(class_weight={"d": 1.0})).fit(X, y)


def test_weights_of_a_class_that_a_member_does_not_see():
    X, y = np.arange(40.0)[:, None], np.r_[np.zeros(39, int), 1]
    member = DecisionTreeClassifier(class_weight={1: 5.0}, random_state=0)
    model = BaggingClassifier(member, 10, random_state=0).fit(X, y)
    assert min(len(tree.classes_) for tree in model.estimators_) == 1


@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf, "much"])
def test_binned_members_refuse_weights_that_are_none(data, bad):
    X, y = data
    tree = BinnedTreeClassifier(class_weight={"common": 1.0, "rare": bad})
    for model in (tree, BaggingClassifier(tree, 2)):
        with pytest.raises(ValueError, match=r"class_weight|convert string to float"):
            model.fit(X, y)


def test_the_guide_names_the_classifiers_with_weights_of_classes():
    page = (Path(__file__).parents[1] / "docs/user_guide/imbalanced.md").read_text("utf-8")
    (names,) = re.findall(r"classifiers have `class_weight`\.\*([^.]*)\.", page)
    assert re.findall(r"`(\w+)`", names) == sorted(cls.__name__ for cls in CLASSIFIERS)
