"""The stability of bagged ensembles: its certificate, the choice of subsamples, refits."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, Perceptron
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor

from sklearn_ensemble_theory import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    export,
)
from sklearn_ensemble_theory.averaging import Bernoulli, StableSamples
from sklearn_ensemble_theory.bounds import bagging_stability, bagging_stable_max_samples
from sklearn_ensemble_theory.inspection import forget_training_rows, stability

TREE = DecisionTreeRegressor(max_depth=2, random_state=0)


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 3))
    return X, np.round(3 * X[:, 0] + rng.standard_normal(120), 2)


def test_certificate_is_the_bound_in_units_of_the_outputs(rows):
    X, y = rows
    for learner in [DecisionTreeRegressor(), KNeighborsRegressor(3)]:
        bag = BaggingRegressor(learner, 40, max_samples=30, random_state=0).fit(X, y)
        share = bagging_stability(120, 30, 40, delta=0.2)
        np.testing.assert_allclose(stability(bag, 0.2), share * np.ptp(y))
    both = np.column_stack([y, 10 * y])
    forest = RandomForestRegressor(40, max_samples=0.5, bootstrap=False, random_state=0)
    forest.fit(X, both)
    share = bagging_stability(120, 0.5, 40, bootstrap=False)
    np.testing.assert_allclose(stability(forest), share * np.ptp(both, axis=0))
    voters = BaggingClassifier(
        Perceptron(), 700, max_samples=0.3, bootstrap="bernoulli", voting="hard", random_state=0
    ).fit(X, y > 0)
    found = bagging_stability(120, 0.3, 700, bootstrap="bernoulli")
    np.testing.assert_allclose(stability(voters), found)


def test_groups_are_what_is_left_out(rows):
    X, y = rows
    groups = np.arange(120) // 4
    bag = BaggingClassifier(n_estimators=400, max_samples=10, random_state=0)
    bag.fit(X, y > 0, groups=groups)
    np.testing.assert_allclose(stability(bag), bagging_stability(30, 10, 400))
    bag.set_params(max_samples=StableSamples(0.3)).fit(X, y > 0, groups=groups)
    assert bag._max_samples == bagging_stable_max_samples(30, 0.3)


@pytest.mark.filterwarnings("ignore:When fitting BaggingRegressor with sample_weight")
@pytest.mark.parametrize("bootstrap", [True, False, "poisson", "bernoulli"])
def test_rows_of_weight_0_do_not_count(rows, bootstrap):
    X, y = rows
    weight = (np.arange(120) >= 20).astype(float)
    y = np.where(weight, y, 1e6)  # nor does their target
    bag = BaggingRegressor(TREE, 5, max_samples=StableSamples(0.2), bootstrap=bootstrap)
    whole = bag.fit(X, y, sample_weight=weight)
    size, bound = whole._max_samples, stability(whole)
    part = bag.fit(X[20:], y[20:])
    assert size == part._max_samples
    np.testing.assert_allclose(bound, stability(part))


@pytest.mark.parametrize("bootstrap", [True, False, "poisson", "bernoulli"])
def test_largest_stable_subsample(rows, bootstrap):
    X, y = rows
    bag = BaggingRegressor(
        n_estimators=5, max_samples=StableSamples(0.2, 0.1), bootstrap=bootstrap
    ).fit(X, y)
    size = bagging_stable_max_samples(120, 0.2, bootstrap=bootstrap, delta=0.1)
    assert bag._max_samples == (size / 120 if bootstrap == "bernoulli" else size)
    if bootstrap in (True, False):
        assert export.sklearn(bag).max_samples == size
        drawn = BaggingRegressor(
            n_estimators=5, max_samples=size, bootstrap=bootstrap, random_state=1
        ).fit(X, y)
        bag.set_params(random_state=1).fit(X, y)
        np.testing.assert_array_equal(bag.predict(X), drawn.predict(X))


def test_forests_and_weights_of_rows(rows):
    X, y = rows
    weight = np.ones(120)
    weight[:20] = 0.0
    with pytest.raises(ValueError, match=r"rows of equal weight.*and weights"):
        RandomForestRegressor(3, max_samples="stable").fit(X, y, sample_weight=weight + 1)
    forest = RandomForestClassifier(3, max_samples=StableSamples(0.25)).fit(X, y > 0)
    assert forest._max_samples == bagging_stable_max_samples(120, 0.25)
    forest.set_params(max_samples=None).fit(X, y > 0, sample_weight=np.full(120, 3.0))
    np.testing.assert_allclose(stability(forest), bagging_stability(120, 120, 3))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda X, y: BaggingRegressor(LinearRegression()).fit(X, y), "LinearRegression may pre"),
        (lambda X, y: ExtraTreesClassifier(3).fit(X, y > 0), "left out of each member"),
        (lambda X, y: BaggingClassifier(bootstrap="bayesian").fit(X, y > 0), "left out of each"),
        (lambda X, y: forget_training_rows(BaggingRegressor().fit(X, y)), "rows were removed"),
        (
            lambda X, y: BaggingRegressor(bootstrap=Bernoulli("mean")).fit(X, y),
            "members without rows depend on all rows",
        ),
        (
            lambda X, y: BaggingRegressor(
                KNeighborsRegressor(3, weights=lambda distances: 1 - distances)
            ).fit(X, y),
            "KNeighborsRegressor may pre",
        ),
        (
            lambda X, y: RandomForestClassifier(3, class_weight="balanced").fit(
                X, y > 0, groups=np.arange(120) // 2
            ),
            "class_weight='balanced'",
        ),
        (
            lambda X, y: RandomForestClassifier(3, class_weight={False: 1, True: 5}).fit(X, y > 0),
            "rows of different weights",
        ),
    ],
)
def test_certificate_is_absent_where_nothing_is_known(rows, make, message):
    model = make(*rows)
    with pytest.raises(ValueError, match=message):
        stability(model)


def test_members_without_rows_that_predict_0_may_be_far_from_the_targets(rows):
    """Without one of 60 rows, infinitely many members of one expected row change by 0.6."""
    X, y = rows[0][:60], 100 + np.arange(60) / 60
    bag = BaggingRegressor(n_estimators=5, max_samples=1, bootstrap=Bernoulli("zero"))
    share = bagging_stability(60, 1, 5, bootstrap="bernoulli")
    np.testing.assert_allclose(stability(bag.fit(X, y)), share * y.max())
    np.testing.assert_allclose(stability(bag.fit(X, -y)), share * y.max())
    bag.set_params(bootstrap__empty="redraw")
    np.testing.assert_allclose(stability(bag.fit(X, y)), share * np.ptp(y))


def test_errors_of_the_choice(rows):
    X, y = rows
    with pytest.raises(ValueError, match=r"max_samples='stable' requires.*'moving_block'"):
        BaggingRegressor(max_samples="stable", bootstrap="moving_block").fit(X, y)
    with pytest.raises(ValueError, match="is not guaranteed even if one row"):
        BaggingRegressor(max_samples=StableSamples(0.001)).fit(X, y)
    with pytest.raises(ValueError, match="max_samples='stable' requires at least 2 samples, got 1"):
        BaggingRegressor(max_samples="stable").fit(X[:1], y[:1])
    with pytest.raises(ValueError, match="stability"):
        BaggingRegressor(max_samples=StableSamples(0)).fit(X, y)
    model = RandomForestClassifier(max_samples=StableSamples(0.5), class_weight="balanced")
    with pytest.raises(ValueError, match="requires class_weight to be no function of all rows"):
        model.fit(X, y > 0, groups=np.arange(120) // 2)


def test_refits_without_a_row_change_by_less(rows):
    """Full trees on noise change by the whole range; their mean does not, for most of the rows."""
    rng = np.random.default_rng(3)
    X, y = rng.random((60, 1)), rng.choice([0.0, 1.0], 60)
    at = rng.random((40, 1))
    forest = RandomForestRegressor(150, max_samples=StableSamples(0.2, 0.2))
    tree, whole = DecisionTreeRegressor(random_state=0), forest.set_params(random_state=0).fit(X, y)
    alone = tree.fit(X, y).predict(at)
    changes, of_trees = [], []
    for i in range(60):
        rest = np.arange(60) != i
        forest = RandomForestRegressor(150, max_samples=whole._max_samples, random_state=i + 1)
        changes.append(np.abs(forest.fit(X[rest], y[rest]).predict(at) - whole.predict(at)))
        of_trees.append(np.abs(tree.fit(X[rest], y[rest]).predict(at) - alone))
    assert np.max(of_trees) == 1
    assert (np.mean(np.array(changes) > stability(whole, 0.2), axis=0) <= 0.2).all()
    assert (np.mean(np.array(changes) > 0.2, axis=0) <= 0.2).all()  # without what B members add
