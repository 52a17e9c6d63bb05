"""Ensembles of trees for targets far from 0."""

import numpy as np
import pytest
from sklearn import ensemble

from sklearn_ensemble_theory import (
    BaggingRegressor,
    ExtraTreesRegressor,
    RandomForestRegressor,
    export,
)

every_forest = pytest.mark.parametrize(
    "make", [RandomForestRegressor, ExtraTreesRegressor, BaggingRegressor]
)


def data(n=200):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(n, 3))
    return X, np.sin(6 * X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(n)


@every_forest
@pytest.mark.parametrize("max_bins", [None, 32])
@pytest.mark.parametrize("shift", [-1e8, 1e8, 1e12])
def test_shifted_targets_shift_the_predictions(make, max_bins, shift):
    X, y = data()
    params = {"n_estimators": 8, "random_state": 0, "max_bins": max_bins}
    far = make(**params).fit(X, y + shift)
    near = make(**params).fit(X, (y + shift) - shift)
    # The trees have splits of the same gain, and any of them may be taken: only quality is equal.
    assert far.score(X, y + shift) == pytest.approx(near.score(X, y), abs=0.01)
    members = np.array([tree.predict(X) for tree in far.estimators_])
    np.testing.assert_allclose(far.predict(X), members.mean(axis=0), rtol=1e-15)
    sk = export.sklearn(far) if max_bins is None else None
    if sk is not None:
        np.testing.assert_allclose(sk.predict(X), far.predict(X), rtol=1e-15)


@every_forest
def test_ordinary_targets_are_those_of_scikit_learn(make):
    X, y = data()
    params = {"n_estimators": 3, "random_state": 0}
    for shift in (0.0, 1e3):
        ours = make(**params).fit(X, y + shift)
        theirs = getattr(ensemble, make.__name__)(**params).fit(X, y + shift)
        np.testing.assert_array_equal(
            ours.estimators_[0].tree_.threshold, theirs.estimators_[0].tree_.threshold
        )


def test_out_of_bag_and_several_outputs():
    X, y = data()
    both = np.column_stack([y, y + 1e8])
    forest = RandomForestRegressor(30, oob_score=True, random_state=0).fit(X, both)
    alone = RandomForestRegressor(30, oob_score=True, random_state=0).fit(X, y)
    assert forest.oob_score_ > alone.oob_score_ - 0.03
    assert forest.predict(X)[:, 1] - 1e8 == pytest.approx(forest.predict(X)[:, 0], abs=1e-6)
