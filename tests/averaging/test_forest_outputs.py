"""Forests with several outputs, and the parameters of scikit-learn's forests."""

import warnings

import numpy as np
import pytest
import sklearn
import sklearn.ensemble
from numpy.testing import assert_array_equal
from sklearn.datasets import make_multilabel_classification
from sklearn.metrics import f1_score
from sklearn.utils import compute_sample_weight

from sklearn_ensemble_theory import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn_ensemble_theory.inspection import ensemble_std

BEFORE_1_9 = tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 9)
CLASSIFIERS = [RandomForestClassifier, ExtraTreesClassifier]
REGRESSORS = [RandomForestRegressor, ExtraTreesRegressor]
every_classifier = pytest.mark.parametrize("Forest", CLASSIFIERS)
# The weights that bagging gives to rows are those of scikit-learn 1.9.
weights_as_here = pytest.mark.skipif(BEFORE_1_9, reason="weights before release 1.9")


def theirs(Forest):
    return getattr(sklearn.ensemble, Forest.__name__)


@pytest.fixture(scope="module")
def outputs(classification):
    """Three outputs of 3, 2 and 4 classes, the last one rare, with labels that sort together."""
    X, codes = classification
    rng = np.random.default_rng(0)
    second = np.where(X[:, 0] + rng.standard_normal(len(X)) > 0, "yes", "no")
    fourth = np.digitize(X[:, 1], [-1.5, 0.0, 3.0])
    names = np.array(["p", "q", "r", "s"])
    return X, np.column_stack([names[codes], second, names[fourth]])


def equal_lists(ours, expected, **kwargs):
    assert len(ours) == len(expected)
    for a, b in zip(ours, expected):
        np.testing.assert_allclose(a, b, **kwargs)


@every_classifier
@pytest.mark.parametrize("bootstrap", [False, True])
@pytest.mark.parametrize("criterion", ["gini", "log_loss"])
def test_classes_of_several_outputs_as_in_scikit_learn(Forest, bootstrap, criterion, outputs):
    X, y = outputs
    args = {"bootstrap": bootstrap, "criterion": criterion, "max_depth": 6, "random_state": 3}
    ours = Forest(7, **args).fit(X[:100], y[:100])
    expected = theirs(Forest)(7, **args).fit(X[:100], y[:100])
    assert ours.n_outputs_ == 3
    assert list(ours.n_classes_) == list(expected.n_classes_)
    for a, b in zip(ours.classes_, expected.classes_):
        np.testing.assert_array_equal(a, b)
    equal_lists(ours.predict_proba(X), expected.predict_proba(X), atol=1e-12)
    np.testing.assert_array_equal(ours.predict(X), expected.predict(X))
    with np.errstate(divide="ignore"):
        logs = [np.log(part) for part in ours.predict_proba(X)]
    equal_lists(ours.predict_log_proba(X), logs, atol=1e-9)
    np.testing.assert_allclose(ours.feature_importances_, expected.feature_importances_)
    np.testing.assert_array_equal(ours.apply(X), expected.apply(X))
    paths, starts = ours.decision_path(X)
    their_paths, their_starts = expected.decision_path(X)
    assert (paths != their_paths).nnz == 0
    np.testing.assert_array_equal(starts, their_starts)


WEIGHTS = [{"p": 2.0, "q": 1.0, "r": 0.5}, {"yes": 3.0, "no": 1.0}, dict.fromkeys("pqrs", 1.5)]


@weights_as_here
@every_classifier
@pytest.mark.parametrize("bootstrap", [False, True])
@pytest.mark.parametrize("class_weight", [WEIGHTS, "balanced", "balanced_subsample"])
@pytest.mark.parametrize("weighted", [False, True])
def test_class_weights_of_several_outputs(Forest, bootstrap, class_weight, weighted, outputs):
    X, y = outputs
    weight = np.arange(1.0, len(X) + 1) / len(X) if weighted else None
    args = {"bootstrap": bootstrap, "max_depth": 4, "random_state": 0}
    ours = Forest(5, class_weight=class_weight, **args).fit(X, y, weight)
    expected = theirs(Forest)(5, class_weight=class_weight, **args).fit(X, y, weight)
    if not (bootstrap and class_weight == "balanced_subsample"):
        # Another rounding of the weights breaks ties of splits in another way.
        np.testing.assert_allclose(ours._sample_weight, expected._sample_weight, rtol=1e-12)
        expected = theirs(Forest)(5, **args).fit(X, y, ours._sample_weight)
    equal_lists(ours.predict_proba(X), expected.predict_proba(X), atol=1e-9)


@every_classifier
def test_class_weights_are_weights_of_the_rows(Forest, outputs):
    X, y = outputs
    given = compute_sample_weight(WEIGHTS, y)
    args = {"bootstrap": False, "max_depth": 4, "random_state": 0}
    ours = Forest(3, class_weight=WEIGHTS, **args).fit(X, y)
    equal_lists(ours.predict_proba(X), Forest(3, **args).fit(X, y, given).predict_proba(X))
    one = Forest(3, class_weight=WEIGHTS[:1], **args).fit(X, y[:, 0])
    plain = Forest(3, class_weight=WEIGHTS[0], **args).fit(X, y[:, 0])
    np.testing.assert_array_equal(one.predict_proba(X), plain.predict_proba(X))
    for wrong in (WEIGHTS[:2], WEIGHTS[0]):
        with pytest.raises(ValueError, match="class_weight"):
            Forest(3, class_weight=wrong, **args).fit(X, y)


@pytest.mark.filterwarnings("ignore:Monte Carlo noise")
def test_spread_and_standard_error_of_several_outputs(outputs):
    """Every tree by itself; the classes of all outputs side by side."""
    X, y = outputs
    forest = RandomForestClassifier(60, max_depth=3, random_state=0).fit(X, y)
    columns = []
    for tree in forest.estimators_:
        wide = np.zeros((len(X), sum(forest.n_classes_)))
        for part, codes in zip(tree.predict_proba(X), tree.classes_):
            wide[:, codes.astype(int)] = part
        columns.append(wide)
    np.testing.assert_allclose(np.hstack(forest.predict_proba(X)), np.mean(columns, axis=0))
    np.testing.assert_allclose(ensemble_std(forest, X), np.std(columns, axis=0, ddof=1), atol=1e-12)
    error = forest.standard_error(X[:2])
    assert error.shape == (2, 9)
    # The two classes of the second output: their probabilities have sum 1, so their errors agree.
    np.testing.assert_allclose(error[:, 3], error[:, 4], atol=1e-12)
    assert (error > 0).any()


@every_classifier
def test_votes_of_several_outputs(Forest, outputs):
    X, y = outputs
    forest = Forest(9, voting="hard", max_depth=3, random_state=1).fit(X, y)
    starts = np.cumsum([0, *forest.n_classes_])
    for k, shares in enumerate(forest.predict_proba(X)):
        votes = np.array([tree.predict(X)[:, k] for tree in forest.estimators_]) - starts[k]
        expected = [(votes == c).mean(axis=0) for c in range(forest.n_classes_[k])]
        np.testing.assert_allclose(shares, np.transpose(expected))


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB")
@every_classifier
def test_out_of_bag_of_several_labels(Forest):
    X, Y = make_multilabel_classification(80, n_classes=3, random_state=0)
    labels = np.where(Y, "on", "off")
    args = {"bootstrap": True, "oob_score": True, "random_state": 0}
    forest = Forest(25, **args).fit(X, labels)
    expected = theirs(Forest)(25, **args).fit(X, labels)
    known = ~np.isnan(forest.oob_decision_function_[:, 0, 0])
    mean = expected.oob_decision_function_[known]
    np.testing.assert_allclose(forest.oob_decision_function_[known], mean, atol=1e-12)
    right = (mean.argmax(axis=1) == Y[known]).all(axis=1)  # "off" is the first class
    assert forest.oob_score_ == pytest.approx(right.mean())

    def metric(y_true, y_pred):
        return f1_score(y_true == "on", y_pred == "on", average="micro")

    other = Forest(25, **{**args, "oob_score": metric}).fit(X, labels)
    score = f1_score(Y[known], mean.argmax(axis=1), average="micro")
    assert other.oob_score_ == pytest.approx(score)


@pytest.mark.parametrize("Forest", REGRESSORS)
def test_numbers_of_several_outputs_as_in_scikit_learn(Forest, regression):
    X, y = regression
    Y = np.column_stack([y, np.sqrt(np.abs(y)), -y])
    ours = Forest(6, max_features=0.5, random_state=0).fit(X[:80], Y[:80])
    expected = theirs(Forest)(6, max_features=0.5, random_state=0).fit(X[:80], Y[:80])
    assert ours.n_outputs_ == 3
    np.testing.assert_allclose(ours.predict(X), expected.predict(X))


@pytest.mark.parametrize("Forest", [RandomForestRegressor, ExtraTreesRegressor, BaggingRegressor])
def test_out_of_bag_asked_for_after_the_fit(Forest, regression):
    """The draws of the known members are repeated, for as many rows as they were fitted to."""
    X, y = regression
    args = {"bootstrap": True, "random_state": 0, "warm_start": True}
    whole = Forest(n_estimators=30, oob_score=True, **args).fit(X, y)
    for first in (20, 30):
        model = Forest(n_estimators=first, **args).fit(X, y)
        model.set_params(n_estimators=30, oob_score=True)
        if first == 30:
            with pytest.warns(UserWarning, match="without increasing n_estimators"):
                model.fit(X, y)
        else:
            model.fit(X, y)
        np.testing.assert_array_equal(model.oob_scores_, whole.oob_scores_)
        np.testing.assert_array_equal(model.oob_prediction_, whole.oob_prediction_)
    model = Forest(n_estimators=20, **args).fit(X[1:], y[1:])
    with pytest.raises(ValueError, match="fitted to 119 other rows"):
        model.set_params(n_estimators=30, oob_score=True).fit(X, y)


def test_more_rows_than_there_are(regression):
    X, y = regression
    forest = RandomForestRegressor(3, max_samples=1.5, random_state=0).fit(X, y)
    assert {len(rows) for rows in forest.estimators_samples_} == {180}
    assert forest.estimators_samples_[0].dtype == np.int32
    with pytest.raises(ValueError, match="at most 1 with bootstrap='bernoulli'"):
        RandomForestRegressor(3, max_samples=1.5, bootstrap="bernoulli").fit(X, y)
    with pytest.raises(ValueError, match="max_samples=180 must be <= n_samples=120"):
        RandomForestRegressor(3, max_samples=1.5, bootstrap=False).fit(X, y)


@pytest.mark.parametrize("Forest", REGRESSORS)
def test_the_other_name_of_the_squared_error(Forest, regression):
    X, y = regression
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        forest = Forest(2, criterion="friedman_mse", random_state=0)
    # scikit-learn 1.9 has no other name; ours warns and takes the equal criterion.
    assert forest.criterion == ("friedman_mse" if BEFORE_1_9 else "squared_error")
    assert [w.category for w in caught] == ([] if BEFORE_1_9 else [FutureWarning])
    theirs = getattr(sklearn.ensemble, Forest.__name__)
    same = theirs(2, criterion=forest.criterion, random_state=0).fit(X, y)
    assert_array_equal(forest.fit(X, y).predict(X), same.predict(X))


@every_classifier
@pytest.mark.parametrize("class_weight", ["balanced", "balanced_subsample"])
def test_warm_start_with_weights_of_each_fit_warns(Forest, class_weight, classification):
    X, y = classification
    forest = Forest(2, class_weight=class_weight, warm_start=True, random_state=0)
    with pytest.warns(UserWarning, match="with warm_start=True: the weights of the classes"):
        forest.fit(X, y)


@pytest.mark.parametrize("Forest", CLASSIFIERS + REGRESSORS)
def test_the_tree_of_a_forest(Forest):
    forest = Forest(max_depth=3, max_features=2)
    tree = forest.estimator
    assert type(tree).__name__ == type(theirs(Forest)().estimator).__name__
    assert (tree.max_depth, tree.max_features) == (3, 2)
    assert tree.splitter == ("random" if "Extra" in Forest.__name__ else "best")
    assert "estimator" not in forest.get_params()


@every_classifier
def test_a_class_without_weight_has_no_balanced_weight(Forest, classification):
    X, y = classification
    weight = (y != 2).astype(float)
    args = {"class_weight": "balanced", "bootstrap": False, "max_depth": 3, "random_state": 0}
    ours = Forest(3, **args).fit(X, y, weight).predict_proba(X[y != 2])
    kept = Forest(3, **args).fit(X[y != 2], y[y != 2]).predict_proba(X[y != 2])
    np.testing.assert_allclose(ours, np.column_stack([kept, np.zeros(len(kept))]))


@pytest.mark.parametrize("Forest", CLASSIFIERS + REGRESSORS)
def test_out_of_bag_scores_are_computed_once(Forest, classification, monkeypatch):
    """As scikit-learn's test_oob_not_computed_twice, with the method replaced in the class."""
    method, calls = Forest._set_out_of_bag, []

    def counted(self, *args):
        calls.append(self)
        return method(self, *args)

    monkeypatch.setattr(Forest, "_set_out_of_bag", counted)
    params = {"warm_start": True, "bootstrap": True, "oob_score": True, "random_state": 0}
    forest = Forest(30, **params).fit(*classification)
    with pytest.warns(UserWarning, match="Warm-start fitting without increasing"):
        forest.fit(*classification)
    assert len(calls) == 1


@pytest.mark.parametrize("Ensemble", [RandomForestClassifier, BaggingClassifier])
def test_warm_start_has_the_same_classes(Ensemble):
    """Members are fitted to codes, which would stand for other classes."""
    X = np.random.default_rng(0).standard_normal((60, 2))
    y = np.where(X[:, 0] > 0, 2, 1)
    for other in (np.where(X[:, 1] > 0, y, 0), y - 1):
        model = Ensemble(n_estimators=5, warm_start=True, random_state=0).fit(X, y)
        expected = model.predict(X)
        with pytest.raises(ValueError, match="y must have the classes of the previous fit"):
            model.set_params(n_estimators=7).fit(X, other)
        np.testing.assert_array_equal(model.predict(X), expected)
    model = RandomForestRegressor(5, warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match="y must have as many columns as in the previous fit"):
        model.set_params(n_estimators=7).fit(X, np.column_stack([y, y]))
