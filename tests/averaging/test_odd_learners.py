"""Learners, bags and targets that an average cannot take, or takes with care."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from sklearn_ensemble_theory import (
    BaggedNearestNeighborsRegressor,
    BaggingClassifier,
    BaggingRegressor,
    DivideAndConquerClassifier,
    DivideAndConquerRegressor,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 3))
y = X[:, 0] + X[:, 1] ** 2
labels = (y > 0.5).astype(int)


@pytest.mark.parametrize("learner", [LinearRegression(), KMeans(2), DecisionTreeRegressor()])
@pytest.mark.parametrize("ensemble", [BaggingClassifier, DivideAndConquerClassifier])
def test_what_is_no_classifier_is_refused(ensemble, learner):
    with pytest.raises(ValueError, match=f"estimator must be .*{type(learner).__name__}"):
        ensemble(learner).fit(X, labels)


@pytest.mark.parametrize("forest", [RandomForestRegressor, ExtraTreesRegressor])
def test_out_of_bag_scores_where_a_member_saw_every_row(forest):
    model = forest(40, bootstrap=True, oob_score=True, random_state=0).fit(X[:3], y[:3])
    saw_all = [len(np.unique(rows)) == 3 for rows in model.estimators_samples_]
    assert any(saw_all)
    sums, counts = np.zeros(3), np.zeros(3)
    for tree, rows in zip(model.estimators_, model.estimators_samples_):
        outside = np.setdiff1d(np.arange(3), rows)
        if len(outside):
            sums[outside] += tree.predict(X[outside])
            counts[outside] += 1
    np.testing.assert_allclose(model.oob_prediction_, sums / counts)


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(20, monotonic_cst=[1, 0, 0], random_state=0),
        RandomForestClassifier(20, monotonic_cst=[1, 0, 0], oob_score=True, random_state=0),
        BaggingClassifier(DecisionTreeClassifier(monotonic_cst=[1, 0, 0]), 20, random_state=0),
        DivideAndConquerClassifier(n_blocks=5, stratify=False, random_state=0),
    ],
)
def test_bags_that_hold_one_class(model):
    rare = (np.arange(60) == 3).astype(int)
    proba = model.fit(X, rare).predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert (model.predict(X) == 0).mean() > 0.9


TREES = [
    RandomForestRegressor(10, random_state=0),
    ExtraTreesRegressor(10, random_state=0),
    BaggingRegressor(n_estimators=10, random_state=0),
    DivideAndConquerRegressor(n_blocks=2, random_state=0),
]


@pytest.mark.parametrize("model", TREES, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("exponent", [-1000, -600, 600, 1000])
def test_targets_of_any_magnitude(model, exponent):
    """Scaled by a power of two, the predictions are, to the last bit of a sum."""
    # Neither forms of scikit-learn's trees have: they would stop, or see infinite gains.
    expected = model.fit(X, y).predict(X)
    assert r2_score(y, expected) > 0.5
    found = np.ldexp(model.fit(X, np.ldexp(y, exponent)).predict(X), -exponent)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_a_mean_whose_sum_overflows():
    nearest = KNeighborsRegressor(1)
    large = np.where(y > 0.5, 1.7e308, 1.6e308)
    for model in [RandomForestRegressor(10, random_state=0), BaggingRegressor(nearest)]:
        found = model.fit(X, large).predict(X)
        assert np.isfinite(found).all()
        np.testing.assert_allclose(found, 1.65e308, rtol=0.08)


@pytest.mark.filterwarnings("ignore:When fitting BaggingRegressor with sample_weight")
@pytest.mark.parametrize("weight", [1e308, 2.0**1000, 1e-300, 5e-324])
def test_equal_weights_of_any_magnitude(weight):
    for bootstrap in (False, "bayesian"):
        model = BaggingRegressor(
            DecisionTreeRegressor(max_depth=2), 5, bootstrap=bootstrap, random_state=0
        )
        assert np.isfinite(model.fit(X, y, sample_weight=np.full(60, weight)).predict(X)).all()


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"p": None}, "p must be a positive number"),
        ({"metric": complex}, "metric must be a name or a function"),
        ({"metric": "minkowski", "metric_params": {"wrong": 1}, "algorithm": "ball_tree"}, "wrong"),
        ({"n_jobs": 0}, "n_jobs"),
    ],
)
def test_neighbours_judge_their_metric_in_fit(params, message):
    with pytest.raises((ValueError, TypeError), match=message):
        BaggedNearestNeighborsRegressor(**params).fit(X, y)


@pytest.mark.parametrize("value", [{}, {0, 1}, {"a": 1}])
def test_forests_refuse_constraints_that_are_no_sequence(value):
    with pytest.raises(ValueError, match="monotonic_cst"):
        RandomForestRegressor(3, monotonic_cst=value).fit(X, y)


def test_a_class_as_score():
    with pytest.raises((ValueError, TypeError), match="oob_score"):
        BaggingRegressor(oob_score=DecisionTreeRegressor).fit(X, y)
