"""`class_weight` of every classifier is a factor of `sample_weight`."""

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.datasets import make_classification
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.class_weight import compute_sample_weight

from sklearn_ensemble_theory import (
    AdaBoostClassifier,
    BaggedNearestNeighborsClassifier,
    BaggingClassifier,
    BinnedTreeClassifier,
    DecisionStumpClassifier,
    DivideAndConquerClassifier,
    HistogramClassifier,
    StackingClassifier,
    VotingClassifier,
)

from .estimators import estimator_classes, make

CLASSIFIERS = [cls for cls in estimator_classes() if is_classifier(make(cls))]
every_classifier = pytest.mark.parametrize("cls", CLASSIFIERS, ids=lambda c: c.__name__)


@pytest.fixture(scope="module")
def data():
    # Rows of few values: leaves of full trees have rows of both classes, and bins are the same.
    X, y = make_classification(150, 4, weights=[0.8], flip_y=0.1, random_state=0)
    return np.round(X), np.array(["rare" if label else "common" for label in y])


def weighted(cls, **params):
    # A part of a row cannot be drawn without replacement.
    draws = {"bootstrap": True} if cls is BaggedNearestNeighborsClassifier else {}
    return make(cls, **draws, **params)


def scores(model, X):
    name = next(n for n in ("decision_function", "predict_proba", "predict") if hasattr(model, n))
    found = getattr(model, name)(X)
    return found if name != "predict" else found == "rare"


@every_classifier
@pytest.mark.parametrize("class_weight", ["balanced", {"common": 0.5, "rare": 3.0}], ids=str)
def test_the_model_is_that_of_these_sample_weights(cls, data, class_weight):
    X, y = data
    weight = compute_sample_weight(class_weight, y)
    model = weighted(cls, class_weight=class_weight).fit(X, y)
    expected = weighted(cls).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(scores(model, X), scores(expected, X), rtol=1e-9, atol=1e-9)
    unweighted = weighted(cls).fit(X, y)
    assert not np.allclose(scores(model, X), scores(unweighted, X))
    # The weights of rows count as often as rows would: balanced classes have the same totals.
    of_rows = np.random.default_rng(0).integers(0, 4, len(y)).astype(float)
    both = weighted(cls, class_weight=class_weight).fit(X, y, of_rows)
    if class_weight == "balanced":
        if cls is BinnedTreeClassifier:  # as scikit-learn's tree, which counts rows here
            return
        rare = y == "rare"
        totals = np.where(rare, of_rows[rare].sum(), of_rows[~rare].sum())
        weight = of_rows.sum() / 2 / totals
    expected = weighted(cls).fit(X, y, of_rows * weight)
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
    weight = {"common": 1.0, "rare": 4.0}
    model = HistogramClassifier(3, box=(-5, 5), class_weight=weight)
    whole = clone(model).fit(X, y)
    for part in (slice(70), slice(70, None)):
        model.partial_fit(X[part], y[part], classes=["common", "rare"])
    np.testing.assert_allclose(model.predict_proba(X), whole.predict_proba(X))
    with pytest.raises(ValueError, match="class_weight='balanced' needs the classes of all rows"):
        HistogramClassifier(class_weight="balanced").partial_fit(X, y)


def test_several_outputs(data):
    X, y = data
    Y = np.column_stack([y == "rare", X[:, 0] > 1]).astype(int)
    member = [("tree", DecisionTreeClassifier(max_depth=2, random_state=0))]
    params = {"estimators": member, "final_estimator": member[0][1], "cv": 3}
    model = StackingClassifier(**params, class_weight="balanced").fit(X, Y)
    expected = StackingClassifier(**params).fit(X, Y, compute_sample_weight("balanced", Y))
    np.testing.assert_array_equal(model.predict(X), expected.predict(X))
    with pytest.raises(ValueError, match="class_weight must be 'balanced' or None"):
        StackingClassifier(**params, class_weight={0: 1.0, 1: 2.0}).fit(X, Y)


def test_members_with_and_without_weights_of_classes_are_fits_of_their_own(data):
    X, y = data[0], (data[1] == "rare").astype(int)  # stacks encode labels
    tree = [("tree", DecisionTreeClassifier(max_depth=2, random_state=0))]
    votes = [
        (str(weight), VotingClassifier(tree, voting="soft", class_weight=weight))
        for weight in ({0: 1.0, 1: 9.0}, None, "balanced")
    ]
    stack = StackingClassifier([*tree, *votes], cv=3, weights="simplex").fit(X, y)
    for (_, given), fitted in zip([*tree, *votes], stack.estimators_, strict=True):
        np.testing.assert_array_equal(
            fitted.predict_proba(X)[:, 1],
            clone(given).fit(X, y).predict_proba(X)[:, 1],
        )


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
        lambda member: StackingClassifier([("one", member)], cv=3, weights="simplex"),
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


def test_members_that_take_no_weights_say_so(data):
    X, y = data
    model = VotingClassifier([("near", KNeighborsClassifier())], class_weight="balanced")
    with pytest.raises(TypeError, match="near"):
        model.fit(X, y)
