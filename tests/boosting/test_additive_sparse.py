"""Additive models of sparse X are those of the same X as an array, to the bit."""

import numpy as np
import pytest
from scipy import sparse

from sklearn_ensemble_theory import (
    AdditiveBoostingRegressor,
    L2BoostingRegressor,
    LogitBoostClassifier,
)

RNG = np.random.default_rng(0)
X = np.where(RNG.random((240, 6)) < 0.3, RNG.normal(size=(240, 6)).round(1), 0.0)
X[:, 5] = 0.0
Y = X[:, 0] + (X[:, 1] > 0.5) * X[:, 2] + 0.3 * RNG.normal(size=240)
COUNTS = RNG.poisson(np.exp(0.3 * X[:, 0]))
CLASSES = np.digitize(Y, [-0.3, 0.5])
MISSING = X.copy()
MISSING[::9, 1] = np.nan
WEIGHT = RNG.integers(0, 3, 240).astype(float)
CASES = {
    "cv": (L2BoostingRegressor("cv"), Y),
    "plain": (L2BoostingRegressor(40, smoothing_rounds=0, interactions=0), Y),
    "pairs": (L2BoostingRegressor(40, smoothing_rounds=0, interactions=[(1, 2)]), Y),
    "counts": (AdditiveBoostingRegressor(loss="poisson", n_estimators=20), COUNTS),
    "two classes": (LogitBoostClassifier("cv"), CLASSES > 0),
    "three classes": (LogitBoostClassifier(10, smoothing_rounds=0, interactions=0), CLASSES),
}


def duplicated(X):
    """Each value twice, a half each, rows out of order, and explicit zeros; int64 indices."""
    found = sparse.coo_matrix(X)
    row, column = (np.tile(each, 2)[::-1] for each in (found.row, found.col))
    values = np.tile(found.data / 2, 2)[::-1]
    values, row, column = np.append(values, 0.0), np.append(row, 3), np.append(column, 5)
    made = sparse.coo_matrix((values, (row, column)), shape=X.shape)
    made = sparse.csr_matrix(made)
    made.indices, made.indptr = made.indices.astype(np.int64), made.indptr.astype(np.int64)
    return made


FORMATS = {
    "csr": sparse.csr_matrix,
    "csc": sparse.csc_matrix,
    "coordinates": sparse.coo_matrix,
    "duplicates": duplicated,
}


@pytest.mark.parametrize("kind", CASES)
@pytest.mark.parametrize("rows", [X, MISSING], ids=["numbers", "missing"])
def test_the_model_of_the_same_array(kind, rows):
    model, y = CASES[kind]
    for number, make in enumerate(FORMATS.values()):
        weight = WEIGHT if number % 2 else None
        given = make(rows)
        before = given.copy()
        found = model.fit(given, y, sample_weight=weight)
        assert (before != given).nnz == np.count_nonzero(np.isnan(given.tocsr().data))
        scores = [
            found._scores(given),
            *(found.predict_terms(given),),
            *found.staged_predict(given),
        ]
        expected = model.fit(rows, y, sample_weight=weight)
        others = [
            expected._scores(rows),
            expected.predict_terms(rows),
            *expected.staged_predict(rows),
        ]
        assert len(scores) == len(others)
        for one, other in zip(scores, others):
            np.testing.assert_array_equal(one, other)


def test_intervals_and_sums_of_parts():
    model = L2BoostingRegressor("cv", held_out="cv")
    expected = model.fit(X, Y).predict_interval(X[:9])
    found = model.fit(sparse.csr_matrix(X), Y).predict_interval(sparse.csr_matrix(X[:9]))
    np.testing.assert_array_equal(found, expected)
    edges = [np.linspace(-1, 1, 5)] * 6
    parts, whole = (L2BoostingRegressor(20, max_bins=edges) for _ in range(2))
    for rows in (slice(100), slice(100, 240)):
        parts.partial_fit(sparse.csr_matrix(X[rows]), Y[rows])
        whole.partial_fit(X[rows], Y[rows])
    np.testing.assert_array_equal(parts.predict(X), whole.predict(X))


def test_terms_fitted_again():
    model = L2BoostingRegressor(20).fit(X, Y)
    found = model.refit(sparse.csr_matrix(X[:80]), Y[:80], [0])
    np.testing.assert_array_equal(found.predict(X), model.refit(X[:80], Y[:80], [0]).predict(X))


def test_what_has_no_sparse_form_is_refused():
    with pytest.raises(TypeError, match="dense"):
        L2BoostingRegressor(categorical_features=[0]).fit(sparse.csr_matrix(np.abs(X)), Y)
