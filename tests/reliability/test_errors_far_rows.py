"""Rows near the largest float, or far from all others: the right number, or an error."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LinearRegression

from sklearn_ensemble_theory import (
    AdaBoostClassifier,
    BaggedNearestNeighborsRegressor,
    BaggingRegressor,
    FrankWolfeClassifier,
    L2BoostingRegressor,
    MatchingPursuitRegressor,
    NadarayaWatsonRegressor,
    RandomForestRegressor,
    RandomProjectionRegressor,
    ReLUUnitRegressor,
    SketchedLinearRegression,
    StackingRegressor,
    VotingRegressor,
)
from sklearn_ensemble_theory.boosting.losses import ExponentialLoss
from sklearn_ensemble_theory.trees import BinnedTreeRegressor

rng = np.random.default_rng(0)
X = np.clip(rng.standard_normal((40, 3)), -1.7, 1.7)
Y = X[:, 0] + 0.3 * rng.standard_normal(40)


@pytest.mark.parametrize("container", [np.asarray, sparse.csc_matrix])
def test_pursuit_in_the_largest_units(container):
    far = container(X * 2.0**1022)
    model = MatchingPursuitRegressor(n_estimators=5)
    expected = model.fit(X, Y * 2.0**20).predict(X)
    np.testing.assert_allclose(model.fit(far, Y * 2.0**20).predict(far), expected, rtol=1e-9)


def test_pursuit_judges_the_rounds_by_far_rows_that_are_held_out():
    rows = X.copy()
    rows[3, 1] = 1e300
    model = MatchingPursuitRegressor(n_estimators="cv").fit(rows, Y)
    assert np.isfinite(model.predict(X)).all()
    errors = model.cv_results_["mean_score"]
    assert np.isinf(errors[2:]).all()
    assert np.argmin(errors) == model.n_estimators_ == 1


def test_neighbours_of_far_sparse_rows():
    model = BaggedNearestNeighborsRegressor().fit(sparse.csr_matrix(X), Y)
    with pytest.raises(ValueError, match="Distances between X and the training rows overflow"):
        model.predict(sparse.csc_matrix(X * 1e308))


@pytest.mark.parametrize(
    "forest",
    [RandomForestRegressor(30, oob_score=True), BaggingRegressor(n_estimators=30, oob_score=True)],
)
def test_out_of_bag_means_of_the_largest_targets(forest):
    model = clone(forest).set_params(random_state=0)
    scores = model.fit(X, Y).oob_scores_
    expected = model.oob_prediction_
    model.fit(X, Y * 2.0**1020)
    np.testing.assert_allclose(model.oob_prediction_ / 2.0**1020, expected, rtol=1e-12)
    np.testing.assert_allclose(model.oob_scores_, scores, rtol=1e-9)
    largest = np.full(len(X), np.finfo(float).max)
    np.testing.assert_allclose(model.fit(X, largest).predict(X), largest, rtol=1e-12)


def test_a_constant_target_at_the_largest_float():
    largest = np.full(len(X), np.finfo(float).max)
    for model in (BinnedTreeRegressor(), L2BoostingRegressor()):
        np.testing.assert_allclose(model.fit(X, largest).predict(X), largest, rtol=1e-9)


def test_scales_beyond_floats_are_refused():
    tiny = np.rint(3 * X) * 5e-324
    with pytest.raises(ValueError, match="X is so small"):
        RandomProjectionRegressor(projection="relu").fit(tiny, Y)
    with pytest.raises(ValueError, match="X is so small"):
        RandomProjectionRegressor(projection="fourier").fit(tiny, Y)
    with pytest.raises(ValueError, match="X is so large or small"):
        ReLUUnitRegressor(direction="oblique").fit(tiny, Y)
    with pytest.raises(ValueError, match="learning_rate"):
        AdaBoostClassifier(learning_rate=5e-324).fit(X, Y > 0)
    weight = np.ones(len(X))
    weight[0] = 1e300
    with pytest.raises(ValueError, match="bandwidth is too small"):
        NadarayaWatsonRegressor().fit(X * 1e-300, Y, weight)


def test_predictions_of_stacks_and_votes_are_finite():
    members = [("line", LinearRegression())]
    for model in (VotingRegressor(members), StackingRegressor(members, passthrough=True)):
        with pytest.raises(
            ValueError, match="LinearRegression predicts values that are not finite"
        ):
            model.fit(X, 1e3 * Y).predict(np.full((2, 3), 1.7e308))


def test_hinges_of_equal_rows():
    model = ReLUUnitRegressor(direction="oblique", random_state=0)
    rows = np.array([[1.0, 1.0, 1.0], [0.0, 0.0, 0.0], [1.0, 1.0, 1.0]])
    np.testing.assert_allclose(model.fit(rows, rows[:, 0]).predict(rows), rows[:, 0], atol=1e-12)


def test_features_from_the_smallest_to_the_largest_float():
    with pytest.raises(ValueError, match="leverage scores overflow"):
        SketchedLinearRegression(sketch="leverage").fit(np.rint(3 * X) * 5e-324, Y)
    ends = np.where(X > 0, 1, -1) * np.finfo(float).max
    with pytest.raises(ValueError, match="range of a feature of X overflows"):
        FrankWolfeClassifier().fit(ends, Y > 0, rng.random(len(X)))


def test_probabilities_of_scores_whose_double_overflows():
    with np.errstate(all="raise"):
        assert ExponentialLoss().inverse_link(np.array([-1.7e308, 1.7e308])).tolist() == [0, 1]
