"""Out-of-bag scores of bagging against an explicit loop over the members."""

import pickle
from functools import partial

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, balanced_accuracy_score, mean_absolute_error, r2_score
from sklearn.naive_bayes import GaussianNB

from sklearn_ensemble_theory import (
    BaggingClassifier,
    BaggingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn_ensemble_theory.averaging import Bernoulli, MovingBlock
from sklearn_ensemble_theory.inspection import stability, training_weights


def explicit_out_of_bag(bag, X, y, answers):
    """Mean answers of the first B members on rows that they are not fitted to, for every B."""
    total, votes = 0.0, np.zeros(len(y))
    for member, rows in zip(bag.estimators_, bag.estimators_samples_):
        outside = np.setdiff1d(np.arange(len(y)), rows)
        answer = np.zeros_like(answers(member, X))
        if len(outside):
            answer[outside] = answers(member, X[outside])
        votes[outside] += 1
        total = total + answer
        with np.errstate(invalid="ignore"):
            yield total / votes.reshape(-1, *[1] * (total.ndim - 1))


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB")
@pytest.mark.parametrize("scheme", [True, False, "bernoulli", "poisson"])
@pytest.mark.parametrize("metric", [True, mean_absolute_error])
def test_out_of_bag_scores_of_a_regressor(regression, scheme, metric):
    X, y = regression
    bag = BaggingRegressor(
        n_estimators=8, bootstrap=scheme, max_samples=0.6, oob_score=metric, random_state=0
    ).fit(X, y)
    measure = r2_score if metric is True else metric
    means = list(explicit_out_of_bag(bag, X, y, lambda m, X: m.predict(X)))
    expected = [measure(y[~np.isnan(m)], m[~np.isnan(m)]) for m in means]
    np.testing.assert_allclose(bag.oob_scores_, expected)
    np.testing.assert_allclose(bag.oob_prediction_, means[-1])
    assert bag.oob_score_ == bag.oob_scores_[-1]


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB")
@pytest.mark.parametrize("metric", [True, balanced_accuracy_score])
def test_out_of_bag_scores_of_a_classifier(classification, metric):
    X, codes = classification
    y = np.array(["x", "y", "z"])[codes]
    bag = BaggingClassifier(
        GaussianNB(), n_estimators=8, max_features=3, oob_score=metric, random_state=0
    ).fit(X, y)
    measure = accuracy_score if metric is True else metric
    features = {id(m): f for m, f in zip(bag.estimators_, bag.estimators_features_)}
    means = list(
        explicit_out_of_bag(bag, X, y, lambda m, X: m.predict_proba(X[:, features[id(m)]]))
    )
    known = [~np.isnan(m).any(axis=1) for m in means]
    expected = [measure(y[k], bag.classes_[m[k].argmax(axis=1)]) for m, k in zip(means, known)]
    np.testing.assert_allclose(bag.oob_scores_, expected)
    np.testing.assert_allclose(bag.oob_decision_function_, means[-1])


@pytest.mark.filterwarnings("ignore:Monte Carlo noise exceeds")
def test_out_of_bag_goes_on_through_a_warm_start(regression):
    X, y = regression
    whole = BaggingRegressor(n_estimators=30, oob_score=True, random_state=0).fit(X, y)
    parts = BaggingRegressor(n_estimators=20, oob_score=True, warm_start=True, random_state=0)
    parts.fit(X, y).set_params(n_estimators=30).fit(X, y)
    np.testing.assert_array_equal(parts.oob_scores_, whole.oob_scores_)
    np.testing.assert_array_equal(parts.oob_prediction_, whole.oob_prediction_)
    np.testing.assert_array_equal(parts.predict(X), whole.predict(X))
    for a, b in zip(parts.estimators_samples_, whole.estimators_samples_):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(parts.standard_error(X[:3]), whole.standard_error(X[:3]))


@pytest.mark.parametrize(
    ("params", "change"),
    [
        ({}, {"max_samples": 0.2}),
        ({}, {"bootstrap": "poisson"}),
        ({"bootstrap": "disjoint"}, {"max_samples": 0.2}),
        ({}, {"max_features": 2}),
        ({"bootstrap": Bernoulli("mean")}, {"bootstrap": Bernoulli("zero")}),
        ({"bootstrap": "moving_block"}, {"bootstrap": MovingBlock(3)}),
        ({}, {"sample_weight": np.arange(120.0)}),
        ({}, {"rows": slice(None, None, -1)}),
        ({}, {"rows": slice(60)}),
    ],
)
def test_draws_of_a_warm_start_in_another_way_are_not_repeated(regression, params, change):
    """Otherwise rows that members are fitted to would count as outside of them."""
    X, y = regression
    model = BaggingRegressor(n_estimators=4, warm_start=True, random_state=0, **params)
    model.fit(X, y).set_params(n_estimators=7)
    rows, fit = change.get("rows", slice(None)), {}
    if "sample_weight" in change:
        fit = change
    elif "rows" not in change:
        model.set_params(**change)
    for n_members in (7, 9):
        model.set_params(n_estimators=n_members).fit(X[rows], y[rows], **fit)
        assert len(model.estimators_) == n_members
    model = pickle.loads(pickle.dumps(model))
    mean = [m.predict(X[:, f]) for m, f in zip(model.estimators_, model.estimators_features_)]
    np.testing.assert_allclose(model.predict(X), np.mean(mean, axis=0))
    calls = (
        model.standard_error,
        model.predict_interval,
        partial(training_weights, model),
        lambda X: stability(model),
    )
    for call in calls:
        with pytest.raises(ValueError, match="not the same for all members, as warm_start=True"):
            call(X[:3])
    with pytest.raises(ValueError, match="warm_start"):
        model.set_params(n_estimators=10, oob_score=True).fit(X[rows], y[rows], **fit)
    model.set_params(warm_start=False, oob_score=False).fit(X[rows], y[rows], **fit)
    assert training_weights(model, X[:3]).shape == (3, len(y[rows]))


@pytest.mark.filterwarnings("ignore:class_weight='balanced_subsample' with warm_start")
def test_weights_of_trees_of_a_warm_start_with_other_class_weights_are_not_repeated(classification):
    X, y = classification
    forest = RandomForestClassifier(4, warm_start=True, random_state=0).fit(X, y)
    forest.set_params(n_estimators=6, class_weight="balanced_subsample").fit(X, y)
    with pytest.raises(ValueError, match="not the same for all members, as warm_start=True"):
        training_weights(forest, X[:3])


def test_out_of_bag_estimates_of_a_warm_start_with_other_draws_or_rows(regression):
    X, y = regression
    model = BaggingRegressor(n_estimators=20, oob_score=True, warm_start=True, random_state=0)
    first = model.fit(X, y).estimators_samples_
    model.set_params(n_estimators=40, max_samples=0.2).fit(X, y)
    smaller = BaggingRegressor(n_estimators=40, max_samples=0.2, random_state=0).fit(X, y)
    total, count = np.zeros(120), np.zeros(120)
    for member, rows in zip(model.estimators_, first + smaller.estimators_samples_[20:]):
        outside = np.setdiff1d(np.arange(120), rows)
        total[outside] += member.predict(X[outside])
        count[outside] += 1
    np.testing.assert_allclose(model.oob_prediction_, total / count)
    model = BaggingRegressor(n_estimators=20, oob_score=True, warm_start=True, random_state=0)
    model.fit(X, y).set_params(n_estimators=40)
    for rows in (slice(None, None, -1), slice(60)):
        with pytest.raises(ValueError, match="fitted to 120 other rows"):
            model.fit(X[rows], y[rows])


def test_a_warm_start_with_other_classes_or_outputs_is_refused(classification):
    X, y = classification
    model = RandomForestClassifier(3, warm_start=True, random_state=0).fit(X, y)
    model.set_params(n_estimators=5)
    with pytest.raises(ValueError, match=r"classes of the previous fit .* \[.*\], got"):
        model.fit(X[y > 0], y[y > 0])
    with pytest.raises(ValueError, match="as many columns as in the previous fit"):
        model.fit(X, np.column_stack([y, y]))
    assert len(model.estimators_) == 3
    assert len(model.fit(X, y).estimators_) == 5


def test_a_failed_fit_leaves_the_former_one_whole(regression):
    X, y = regression
    bag = BaggingRegressor(n_estimators=20, oob_score=True, warm_start=True, random_state=0)
    before = pickle.dumps(bag.fit(X, y))

    def broken(y_true, y_pred):
        raise RuntimeError("no score today")

    with pytest.raises(RuntimeError, match="no score"):
        bag.set_params(n_estimators=25, oob_score=broken).fit(X, y)
    restored = pickle.loads(before)
    assert len(bag) == 20
    np.testing.assert_array_equal(bag.oob_scores_, restored.oob_scores_)
    np.testing.assert_array_equal(bag.predict(X), restored.predict(X))


@pytest.mark.parametrize("cls", [BaggingRegressor, RandomForestRegressor])
def test_out_of_bag_where_some_members_are_fitted_to_all_rows(cls):
    """Of three rows drawn with replacement, all are drawn by 2 members in 9."""
    X, y = np.arange(3.0).reshape(-1, 1), np.array([1.0, 2.0, 4.0])
    model = cls(n_estimators=40, oob_score=True, random_state=0).fit(X, y)
    complete = [len(np.unique(rows)) == 3 for rows in model.estimators_samples_]
    assert any(complete)
    means = list(explicit_out_of_bag(model, X, y, lambda m, X: m.predict(X)))
    np.testing.assert_allclose(model.oob_prediction_, means[-1])
    for k in np.flatnonzero(complete[1:]) + 1:
        np.testing.assert_array_equal(model.oob_scores_[k], model.oob_scores_[k - 1])


@pytest.mark.parametrize(
    "params",
    [
        {"bootstrap": "bayesian"},
        {"bootstrap": False},
        {"bootstrap": "bernoulli", "max_samples": 1.0},
    ],
)
def test_out_of_bag_needs_rows_outside(regression, params):
    X, y = regression
    with pytest.raises(ValueError, match="Out of bag estimation only available"):
        BaggingRegressor(oob_score=True, **params).fit(X, y)
