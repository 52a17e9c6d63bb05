"""Rows near the largest float, or far from all others: the right number, or an error."""

import numpy as np
import pytest
from scipy import sparse

from sklearn_ensemble_theory import BaggedNearestNeighborsRegressor, MatchingPursuitRegressor

rng = np.random.default_rng(0)
X = np.clip(rng.standard_normal((40, 3)), -1.7, 1.7)
Y = X[:, 0] + 0.3 * rng.standard_normal(40)


@pytest.mark.parametrize("container", [np.asarray, sparse.csc_matrix])
def test_pursuit_in_the_largest_units(container):
    far = container(X * 2.0**1022)
    model = MatchingPursuitRegressor(n_iterations=5)
    expected = model.fit(X, Y * 2.0**20).predict(X)
    np.testing.assert_allclose(model.fit(far, Y * 2.0**20).predict(far), expected, rtol=1e-9)


def test_pursuit_judges_the_rounds_by_far_rows_that_are_held_out():
    rows = X.copy()
    rows[3, 1] = 1e300
    model = MatchingPursuitRegressor(early_stopping="cv").fit(rows, Y)
    assert np.isfinite(model.predict(X)).all()
    assert np.isinf(model.validation_path_[2:]).all()
    assert np.argmin(model.validation_path_) == model.n_iter_ == 1


def test_neighbours_of_far_sparse_rows():
    model = BaggedNearestNeighborsRegressor().fit(sparse.csr_matrix(X), Y)
    with pytest.raises(ValueError, match="Distances between X and the training rows overflow"):
        model.predict(sparse.csc_matrix(X * 1e308))
