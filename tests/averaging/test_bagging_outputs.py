"""Bagging of several columns of y: classes as a loop over columns finds them, and numbers alike."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier, MultiOutputRegressor
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import compute_sample_weight, get_tags

from sklearn_ensemble_theory import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    export,
)
from sklearn_ensemble_theory.averaging import Bernoulli
from sklearn_ensemble_theory.inspection import ensemble_std, variance_decomposition
from sklearn_ensemble_theory.trees import BinnedTreeClassifier

rng = np.random.default_rng(0)
X = rng.standard_normal((120, 4))
FIRST = np.array(["p", "q", "r"])[np.digitize(X[:, 0] + 0.5 * rng.standard_normal(120), [-0.5, 1])]
SECOND = np.where(X[:, 1] + 0.7 * rng.standard_normal(120) > 0.6, "yes", "no")
Y = np.column_stack([FIRST, SECOND])
TARGETS = np.column_stack([X[:, 0] ** 2, X[:, 1] - X[:, 2], X[:, 3]])
WEIGHT = rng.integers(0, 4, 120).astype(float)
GROUPS = np.repeat(np.arange(40), 3)
NEIGHBORS = KNeighborsClassifier(3)

DRAWS = {
    "bootstrap": {},
    "subsamples": {"bootstrap": False, "max_samples": 0.5},
    "Bernoulli": {"bootstrap": "bernoulli", "max_samples": 0.4},
    "blocks": {"bootstrap": "moving_block"},
    "features": {"max_features": 2, "max_samples": 0.6},
    "features twice": {"bootstrap_features": True},
    "votes": {"voting": "hard"},
    "last ties": {"voting": "hard", "ties": "last"},
}


def columns_of(bag, X, Y, **given):
    return [clone(bag).fit(X, column, **given) for column in Y.T]


def equal_lists(found, expected, **options):
    assert isinstance(found, list)
    assert len(found) == len(expected)
    for one, other in zip(found, expected):
        np.testing.assert_allclose(one, other, rtol=0, **(options or {"atol": 1e-12}))


def is_same(bag, loop, X, Y):
    equal_lists(bag.predict_proba(X), [one.predict_proba(X) for one in loop])
    equal_lists(bag.predict_log_proba(X), [one.predict_log_proba(X) for one in loop])
    predicted = np.column_stack([one.predict(X) for one in loop])
    np.testing.assert_array_equal(bag.predict(X), predicted)
    assert bag.n_outputs_ == len(loop)
    assert bag.n_classes_ == [one.n_classes_ for one in loop]
    for labels, one in zip(bag.classes_, loop):
        np.testing.assert_array_equal(labels, one.classes_)


LOGISTIC = MultiOutputClassifier(LogisticRegression())
GIVEN = {
    "weights": (LOGISTIC, {}, {"sample_weight": WEIGHT}),
    "weights as counts": (NEIGHBORS, {}, {"sample_weight": WEIGHT}),
    "groups": (NEIGHBORS, {}, {"groups": GROUPS}),
    "groups and weights": (LOGISTIC, {}, {"groups": GROUPS, "sample_weight": WEIGHT + 1}),
    "bayesian": (LOGISTIC, {"bootstrap": "bayesian"}, {"sample_weight": WEIGHT + 1}),
    "a pipeline": (make_pipeline(StandardScaler(), NEIGHBORS), {}, {}),
}


@pytest.mark.parametrize("kind", [*DRAWS, *GIVEN])
def test_classes_are_those_of_a_loop_over_columns(kind):
    learner, params, given = GIVEN.get(kind, (NEIGHBORS, DRAWS.get(kind), {}))
    bag = BaggingClassifier(learner, n_estimators=6, random_state=1, **params)
    one = bag if learner is not LOGISTIC else clone(bag).set_params(estimator=LOGISTIC.estimator)
    is_same(bag.fit(X, Y, **given), columns_of(one, X, Y, **given), X, Y)


@pytest.mark.filterwarnings("ignore:Monte Carlo noise")
@pytest.mark.parametrize("kind", ["bootstrap", "features", "subsamples", "Bernoulli"])
def test_numbers_are_those_of_a_loop_over_columns(kind):
    params = {"n_estimators": 30, "random_state": 1, "oob_score": True, **DRAWS[kind]}
    bag = BaggingRegressor(KNeighborsRegressor(3), **params).fit(X, TARGETS)
    loop = columns_of(BaggingRegressor(KNeighborsRegressor(3), **params), X, TARGETS)
    predicted = np.column_stack([one.predict(X) for one in loop])
    np.testing.assert_allclose(bag.predict(X), predicted, atol=1e-12)
    held_out = np.column_stack([one.oob_prediction_ for one in loop])
    np.testing.assert_allclose(bag.oob_prediction_, held_out, atol=1e-12)
    assert bag.oob_score_ == pytest.approx(np.mean([one.oob_score_ for one in loop]))
    error = np.column_stack([one.standard_error(X[:4], "jackknife") for one in loop])
    np.testing.assert_allclose(bag.standard_error(X[:4], "jackknife"), error, rtol=1e-9)


@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_trees_are_those_fitted_by_hand(weight):
    """Each tree of scikit-learn's fitted to the labels of the rows drawn, with their counts."""
    tree = DecisionTreeClassifier(max_depth=4, min_samples_leaf=2)
    bag = BaggingClassifier(tree, 7, max_features=3, random_state=0).fit(X, Y, weight)
    total = [0.0, 0.0]
    for member, rows, columns in zip(
        bag.estimators_, bag.estimators_samples_, bag.estimators_features_
    ):
        counts = np.bincount(rows, minlength=len(X)).astype(float)
        if weight is not None:
            assert not counts[weight == 0].any()
        kept = np.flatnonzero(counts)
        one = clone(tree).set_params(random_state=member.random_state)
        one.fit(X[kept][:, columns], Y[kept], counts[kept])
        for k, part in enumerate(one.predict_proba(X[:, columns])):
            wide = np.zeros((len(X), len(bag.classes_[k])))
            wide[:, np.searchsorted(bag.classes_[k], one.classes_[k])] = part
            total[k] = total[k] + wide / 7
    equal_lists(bag.predict_proba(X), total)
    equal_lists(bag.predict_proba(X[::3]), [part[::3] for part in total])
    equal_lists([np.exp(part) for part in bag.predict_log_proba(X)], total)


@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_forests_of_the_same_trees_agree(weight):
    shape = {"max_depth": 2, "min_samples_leaf": 10}
    bag = BaggingClassifier(DecisionTreeClassifier(**shape), 3, bootstrap=False, random_state=0)
    forest = RandomForestClassifier(3, bootstrap=False, max_features=None, random_state=0, **shape)
    if weight is not None:  # draws without replacement leave out rows of weight 0, as here
        kept = weight > 0
        bag.fit(X[kept], Y[kept]), forest.fit(X, Y, kept.astype(float))
    else:
        bag.fit(X, Y), forest.fit(X, Y)
    equal_lists(bag.predict_proba(X), forest.predict_proba(X))
    np.testing.assert_array_equal(bag.predict(X), forest.predict(X))
    assert bag.n_classes_ == forest.n_classes_
    assert bag.n_outputs_ == forest.n_outputs_


def test_a_forest_as_the_base_learner():
    forest = ExtraTreesClassifier(5, max_depth=4, random_state=0)
    bag = BaggingClassifier(forest, 3, random_state=0).fit(X, Y)
    by_hand = [np.zeros((len(X), 3)), np.zeros((len(X), 2))]
    for member, rows in zip(bag.estimators_, bag.estimators_samples_):
        counts = np.bincount(rows, minlength=len(X)).astype(float)
        seen = np.flatnonzero(counts)
        one = clone(forest).set_params(random_state=member.random_state)
        one.fit(X[seen], Y[seen], counts[seen])
        for total, part in zip(by_hand, one.predict_proba(X)):
            total += part / 3
    equal_lists(bag.predict_proba(X), by_hand)


LABELS = np.where(TARGETS > 0.3, "on", "off")


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB")
def test_out_of_bag_rows_of_several_labels():
    params = {"n_estimators": 25, "oob_score": True, "random_state": 0}
    bag = BaggingClassifier(NEIGHBORS, **params).fit(X, LABELS)
    loop = columns_of(BaggingClassifier(NEIGHBORS, **params), X, LABELS)
    assert bag.oob_decision_function_.shape == (120, 2, 3)
    for k, one in enumerate(loop):
        np.testing.assert_allclose(bag.oob_decision_function_[:, :, k], one.oob_decision_function_)
    known = ~np.isnan(bag.oob_decision_function_[:, 0, 0])
    chosen = np.array(["off", "on"])[bag.oob_decision_function_[known].argmax(axis=1)]
    assert bag.oob_score_ == pytest.approx((chosen == LABELS[known]).all(axis=1).mean())
    on = BaggingClassifier(NEIGHBORS, 3, random_state=0).fit(X, LABELS == "on")
    right = on.predict(X) == (LABELS == "on")
    assert on.score(X, LABELS == "on") == pytest.approx(right.all(axis=1).mean())
    with pytest.raises(ValueError, match="Got multiclass-multioutput"):
        BaggingClassifier(**params).fit(X, Y)


def test_class_weights_are_multiplied_over_the_columns():
    given = [{"p": 2.0, "q": 1.0, "r": 0.5}, {"yes": 3.0, "no": 1.0}]
    for weights in (given, "balanced"):
        params = {"n_estimators": 4, "random_state": 0}
        bag = BaggingClassifier(class_weight=weights, **params).fit(X, Y)
        own = compute_sample_weight(weights, Y)
        equal_lists(
            bag.predict_proba(X), BaggingClassifier(**params).fit(X, Y, own).predict_proba(X)
        )
    for wrong, message in [
        (given[:1], "weights for 1 outputs, and y has 2"),
        (given[0], "is one dict, and y has 2 columns"),
        ([{"p": -1.0, "q": 1.0, "r": 1.0}, given[1]], "must not be negative"),
    ]:
        with pytest.raises(ValueError, match=message):
            BaggingClassifier(class_weight=wrong).fit(X, Y)


def test_class_weights_of_the_learner_are_of_labels():
    given = [{"p": 5.0, "q": 1.0, "r": 0.2}, {"yes": 3.0, "no": 1.0}]
    tree = DecisionTreeClassifier(max_depth=3, class_weight=given)
    for learner in (tree, make_pipeline(StandardScaler(), tree)):
        bag = BaggingClassifier(learner, 1, bootstrap=False, random_state=0).fit(X, Y)
        last = bag.estimators_[0] if learner is tree else bag.estimators_[0][-1]
        alone = clone(learner)
        (alone if learner is tree else alone[-1]).set_params(random_state=last.random_state)
        alone.fit(X, Y)
        equal_lists(bag.predict_proba(X), alone.predict_proba(X))
    unknown = MultiOutputClassifier(LogisticRegression(class_weight={"p": 2.0}))
    for learner in (unknown, clone(tree).set_params(class_weight=given[0])):
        with pytest.raises(ValueError, match=r"class_weight of .* must be None"):
            BaggingClassifier(learner).fit(X, Y)


def test_members_that_lack_a_class_give_it_0():
    rare = Y.copy()
    rare[0] = "s", "perhaps"
    bag = BaggingClassifier(NEIGHBORS, 12, max_samples=0.5, random_state=0).fit(X, rare)
    assert bag.n_classes_ == [4, 3]
    lacks = [0 not in rows for rows in bag.estimators_samples_]
    assert 0 < sum(lacks) < 12
    is_same(bag, columns_of(bag, X, rare), X, rare)


@pytest.mark.parametrize("empty", ["mean", "zero"])
def test_draws_without_rows(empty):
    draws = Bernoulli(empty=empty)
    bag = BaggingClassifier(NEIGHBORS, 40, bootstrap=draws, max_samples=0.1, random_state=1)
    bag.set_params(estimator=KNeighborsClassifier(1)).fit(X[:12], Y[:12])
    assert any(isinstance(member, DummyClassifier) for member in bag)
    is_same(bag, columns_of(bag, X[:12], Y[:12]), X, Y)


def test_a_warm_start_goes_on_and_refuses_other_columns():
    bag = BaggingClassifier(NEIGHBORS, 3, warm_start=True, random_state=0).fit(X, Y)
    bag.set_params(n_estimators=8).fit(X, Y)
    whole = BaggingClassifier(NEIGHBORS, 8, random_state=0).fit(X, Y)
    equal_lists(bag.predict_proba(X), whole.predict_proba(X))
    for other, message in [
        (Y[:, 0], "as many columns"),
        (np.column_stack([Y, Y]), "as many columns"),
        (np.column_stack([Y[:, 0], Y[:, 0]]), "must have the classes"),
    ]:
        with pytest.raises(ValueError, match=message):
            clone_with(bag, n_estimators=9).fit(X, other)


def clone_with(bag, **params):
    """A fitted copy with other parameters."""
    found = clone(bag).fit(X, Y)
    return found.set_params(**params)


def test_one_column_is_no_list():
    bag = BaggingClassifier(n_estimators=2, random_state=0)
    with pytest.warns(UserWarning, match="column-vector"):
        bag.fit(X, Y[:, :1])
    assert (bag.n_outputs_, bag.n_classes_) == (1, 3)
    assert bag.predict(X).shape == (120,)
    assert bag.predict_proba(X).shape == (120, 3)


@pytest.mark.parametrize("learner", [SVC(), MLPClassifier(), RidgeClassifier()], ids=str)
def test_classifiers_of_one_column_are_named_with_the_cure(learner):
    bag = BaggingClassifier(learner)
    name = type(learner).__name__
    tags = get_tags(bag)
    assert not tags.target_tags.multi_output
    assert not tags.classifier_tags.multi_label
    with pytest.raises(ValueError, match=rf"estimator: {name} .*MultiOutputClassifier\({name}"):
        bag.fit(X, Y)
    assert not hasattr(bag, "estimators_")
    assert get_tags(BaggingClassifier(NEIGHBORS)).target_tags.multi_output


@pytest.mark.parametrize("learner", [SVR(), GradientBoostingRegressor()], ids=str)
def test_regressors_of_one_column_are_named_with_the_cure(learner):
    name = type(learner).__name__
    with pytest.raises(ValueError, match=rf"estimator: {name} .*MultiOutputRegressor\({name}"):
        BaggingRegressor(learner).fit(X, TARGETS)
    bag = BaggingRegressor(MultiOutputRegressor(learner), 2, random_state=0).fit(X, TARGETS)
    assert bag.predict(X).shape == (120, 3)


class OneArray(ClassifierMixin, BaseEstimator):
    """A classifier of several columns whose probabilities are no list."""

    def fit(self, X, y):
        self.classes_ = [np.unique(column) for column in y.T]
        return self

    def predict(self, X):
        return np.tile([labels[0] for labels in self.classes_], (len(X), 1))

    def predict_proba(self, X):
        return np.full((len(X), len(self.classes_)), 0.5)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def test_probabilities_that_are_no_list():
    for learner in (OneArray(), ClassifierChain(LogisticRegression())):
        name = type(learner).__name__
        bag = BaggingClassifier(learner, 3, random_state=0).fit(X, LABELS)
        with pytest.raises(ValueError, match=f"{name} must give a list of probabilities"):
            bag.predict(X)
    votes = BaggingClassifier(OneArray(), 3, voting="hard", random_state=0).fit(X, LABELS)
    assert (votes.predict(X) == "off").all()


class WithScores(OneArray):
    def decision_function(self, X):
        return np.zeros((len(X), 3))


def test_what_needs_one_column_says_so():
    bag = BaggingClassifier(DecisionTreeClassifier(max_depth=3), 20, random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="predict_set requires a single output"):
        bag.predict_set(X)
    with pytest.raises(ValueError, match="error_bound needs a single output"):
        bag.error_bound(delta=0.1)
    scores = BaggingClassifier(WithScores(), 2, random_state=0).fit(X, LABELS)
    with pytest.raises(ValueError, match="decision_function requires a single output"):
        scores.decision_function(X)
    with pytest.raises(ValueError, match="2 columns of labels"):
        export.sklearn(bag)
    numbers = BaggingRegressor(n_estimators=20, random_state=0).fit(X, TARGETS)
    with pytest.raises(ValueError, match="single output"):
        numbers.predict_interval(X)


@pytest.mark.filterwarnings("ignore:Monte Carlo noise", "ignore:The infinitesimal jackknife")
def test_spread_over_the_members_has_the_classes_side_by_side():
    bag = BaggingClassifier(NEIGHBORS, 20, random_state=0).fit(X, Y)
    members = [np.hstack(member.predict_proba(X)) for member in bag]
    np.testing.assert_allclose(ensemble_std(bag, X), np.std(members, axis=0, ddof=1), atol=1e-12)
    assert variance_decomposition(bag, X[:5]).rho.shape == (5, 5)
    loop = columns_of(bag, X, Y)
    error = np.hstack([one.standard_error(X[:3], "jackknife") for one in loop])
    np.testing.assert_allclose(bag.standard_error(X[:3], "jackknife"), error, rtol=1e-9)


def test_numbers_agree_with_a_forest_of_the_same_trees():
    shape = {"max_depth": 2, "min_samples_leaf": 10}
    bag = BaggingRegressor(DecisionTreeRegressor(**shape), 3, bootstrap=False, random_state=0)
    forest = RandomForestRegressor(3, bootstrap=False, random_state=0, **shape)
    found = bag.fit(X, TARGETS).predict(X)
    np.testing.assert_allclose(found, forest.fit(X, TARGETS).predict(X), atol=1e-12)


def test_rows_in_chunks():
    """A member of a chunk is one of the same labels in memory."""
    da = pytest.importorskip("dask.array")
    rows, labels = da.from_array(X, chunks=(60, 4)), da.from_array(Y, chunks=(60, 2))
    bag = BaggingClassifier(NEIGHBORS, 2, bootstrap=False, random_state=0).fit(rows, labels)
    halves = [clone(NEIGHBORS).fit(X[part], Y[part]) for part in (slice(60), slice(60, 120))]
    means = [(a + b) / 2 for a, b in zip(*(half.predict_proba(X) for half in halves))]
    equal_lists(bag.predict_proba(X), means)
    with pytest.raises(ValueError, match="estimator: SVC takes one column"):
        BaggingClassifier(SVC(), 2).fit(rows, labels)
    with pytest.raises(ValueError, match="give the weights of the rows as sample_weight"):
        BaggingClassifier(NEIGHBORS, 2, class_weight="balanced").fit(rows, labels)


@pytest.mark.parametrize("weight", [None, rng.random(120)])
def test_the_score_is_the_share_of_rows_whose_labels_are_all_right(weight):
    for model in (
        BaggingClassifier(n_estimators=3, random_state=0),
        ExtraTreesClassifier(3),
        BinnedTreeClassifier(max_depth=2),
    ):
        model.fit(X, Y)
        found = model.predict(X[::-1])
        rows = [all(a == b for a, b in zip(*pair)) for pair in zip(found.tolist(), Y.tolist())]
        share = np.average(rows, weights=weight)
        assert 0 < share < 1
        assert model.score(X[::-1], Y, weight) == pytest.approx(share, rel=1e-12)
    search = GridSearchCV(BaggingClassifier(random_state=0), {"n_estimators": [3]}, cv=2)
    assert search.fit(X, Y).best_score_ > 0


def test_the_score_of_columns_of_zeros_and_ones_is_that_of_scikit_learn():
    codes = (X[:, :2] > 0).astype(int)
    model = RandomForestClassifier(3, random_state=0).fit(X, codes)
    assert model.score(X, codes) == accuracy_score(codes, model.predict(X))


def test_scores_of_other_columns_are_refused():
    model = BaggingClassifier(n_estimators=2).fit(X, Y)
    missing = Y.astype(object)
    missing[3, 0] = None
    for wrong, message in [
        (Y[:, 0], r"each of the 2 columns of y in the fit"),
        (Y[:5], r"got \(5, 2\)"),
        (missing, "y must have labels"),
        (np.ones((120, 2)), "labels like those of the fit"),
    ]:
        with pytest.raises((TypeError, ValueError), match=message):
            model.score(X, wrong)
