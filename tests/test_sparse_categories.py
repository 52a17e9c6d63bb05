"""Categories in the columns of a sparse X: to the bit those of the same values in a dense one."""

from importlib import import_module

import numpy as np
import pytest
from scipy.sparse import coo_array, csc_matrix, csr_array, csr_matrix
from sklearn.base import clone, is_classifier

import sklearn_ensemble_theory as package
from sklearn_ensemble_theory.trees import BinnedTreeClassifier, BinnedTreeRegressor

from .surroundings import CategoricalColumns

N = 300
CATEGORICAL = {"categorical_features": [0, 1]}
FEW = {**CATEGORICAL, "n_estimators": 12, "random_state": 0}
TREE = BinnedTreeClassifier(max_depth=3, **CATEGORICAL)
FITTED_TO_SPARSE = [
    package.RandomForestRegressor(**FEW, min_samples_leaf=5),
    package.RandomForestClassifier(**FEW),
    package.ExtraTreesRegressor(**FEW, bootstrap=True),
    package.ExtraTreesClassifier(**FEW),
    package.GradientBoostingRegressor(**FEW),
    package.GradientBoostingRegressor(**FEW, subsample=0.5, n_iter_no_change=3),
    package.GradientBoostingClassifier(**FEW, step="newton"),
    package.AdaBoostClassifier(TREE, n_estimators=3),
    package.AdaBoostClassifier(TREE, n_estimators=3, variant="discrete"),
    package.AdaBoostClassifier(
        clone(TREE).set_params(max_features=2), n_estimators=3, random_state=0
    ),
    BinnedTreeRegressor(**CATEGORICAL),
    BinnedTreeClassifier(**CATEGORICAL),
    package.BaggingRegressor(BinnedTreeRegressor(**CATEGORICAL), 3, random_state=0),
    package.BaggingClassifier(TREE, 3, random_state=0),
    package.AdaBoostRegressor(BinnedTreeRegressor(**CATEGORICAL), n_estimators=3, random_state=0),
    package.DivideAndConquerRegressor(
        BinnedTreeRegressor(**CATEGORICAL), n_blocks=2, random_state=0
    ),
    package.DivideAndConquerClassifier(TREE, n_blocks=2, random_state=0),
]
KINDS = [csr_array, csc_matrix, coo_array]


def data():
    """Most values are 0, a category which is not the first of column 0; some are missing."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(-2, 6, N), rng.integers(0, 9, N), rng.standard_normal(N)])
    X[rng.random((N, 3)) < 0.4] = 0.0
    effect = 2 * rng.standard_normal(9)
    y = effect[X[:, 0].astype(int) + 2] + effect[X[:, 1].astype(int)] + X[:, 2]
    X[rng.random(N) < 0.1, 0] = np.nan
    new = X[::-1].copy()
    new[::5, 1] = 77.0  # not seen in fit
    return X, y + 0.1 * rng.standard_normal(N), new


def target_of(model, y):
    return (y > np.median(y)).astype(int) if is_classifier(model) else y


def output(model, X):
    for name in ("decision_function", "predict_proba", "predict"):
        if hasattr(model, name):
            return getattr(model, name)(X)


def pretend_large(monkeypatch):
    """A sparse X of more than 50 values stays sparse in fit, and 70 are dense at once."""
    for name in ("_categories", "_rows", "_blocks", "averaging._forest"):
        module = import_module(f"sklearn_ensemble_theory.{name}")
        monkeypatch.setattr(module, "MOST_DENSE_VALUES", 50)
    fit = import_module("sklearn_ensemble_theory.boosting._gradient_boosting.fit")
    monkeypatch.setattr(fit, "MOST_DENSE_VALUES", 50)
    for name in ("_tree_arrays", "_binned_tree"):
        module = import_module(f"sklearn_ensemble_theory.trees.{name}")
        monkeypatch.setattr(module, "VALUES_AT_ONCE", 70)


@pytest.mark.parametrize("is_large", [False, True], ids=["small", "large"])
@pytest.mark.parametrize("model", FITTED_TO_SPARSE, ids=lambda m: type(m).__name__)
def test_fits_are_those_of_dense_rows(model, is_large, monkeypatch):
    X, y, new = data()
    y = target_of(model, y)
    dense = clone(model).fit(X, y)
    expected = output(dense, new)
    if is_large:
        pretend_large(monkeypatch)
    for kind in KINDS:
        fitted = clone(model).fit(kind(X), y)
        for given in (new, csr_array(new), csc_matrix(new)):
            np.testing.assert_array_equal(output(fitted, given), expected)
        np.testing.assert_array_equal(output(dense, kind(new)), expected)
        known = getattr(dense, "categories_", [])  # AdaBoost has none
        for one, other in zip(getattr(fitted, "categories_", []), known):
            np.testing.assert_array_equal(one, other)
    assert fitted.score(csr_array(X), y) > 0.6


@pytest.mark.parametrize("is_large", [False, True], ids=["small", "large"])
def test_what_a_forest_says_of_rows(is_large, monkeypatch):
    X, y, new = data()
    forest = package.RandomForestRegressor(
        60, oob_score=True, random_state=0, min_samples_leaf=5, **CATEGORICAL
    )
    dense = clone(forest).fit(X, y)
    if is_large:
        pretend_large(monkeypatch)
    forest.fit(csr_array(X), y)
    assert forest.oob_score_ == dense.oob_score_
    given = csr_array(new)
    np.testing.assert_array_equal(forest.apply(given), dense.apply(new))
    paths, expected = forest.decision_path(given)[0], dense.decision_path(new)[0]
    assert (paths != expected).nnz == 0
    quantiles = dense.predict_quantiles(new, [0.2, 0.9])
    np.testing.assert_array_equal(forest.predict_quantiles(given, [0.2, 0.9]), quantiles)
    np.testing.assert_array_equal(forest.predict_interval(given), dense.predict_interval(new))
    np.testing.assert_allclose(forest.standard_error(given), dense.standard_error(new))


@pytest.mark.parametrize("is_large", [False, True], ids=["small", "large"])
def test_rounds_of_boosting(is_large, monkeypatch):
    X, y, new = data()
    model = package.GradientBoostingRegressor(**FEW)
    dense = clone(model).fit(X, y)
    if is_large:
        pretend_large(monkeypatch)
    warm = clone(model).set_params(warm_start=True, n_estimators=5).fit(csr_array(X), y)
    warm.set_params(n_estimators=12).fit(csc_matrix(X), y)
    given = csr_array(new)
    np.testing.assert_array_equal(warm.apply(given), dense.apply(new))
    for found, expected in zip(warm.staged_predict(given), dense.staged_predict(new)):
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    with pytest.raises(ValueError, match="feature 1 was categorical, and is numerical"):
        warm.set_params(n_estimators=14, categorical_features=[0]).fit(csr_array(X), y)
    if is_large:
        assert type(warm.estimator_) is BinnedTreeRegressor
        with pytest.raises(ValueError, match="categorical_features requires trees in bins"):
            clone(model).set_params(max_bins=300).fit(csr_array(X), y)


def test_zeros_that_are_stored_repeated_entries_and_integers():
    X = np.array([[3, 0], [0, 5], [3, 7], [2, 0]])
    rows, columns = np.array([0, 0, 1, 1, 2, 2, 3, 3]), np.array([0, 0, 0, 1, 0, 1, 0, 0])
    stored = coo_array(([1, 2, 0, 5, 3, 7, 4, -2], (rows, columns)), shape=X.shape)
    np.testing.assert_array_equal(stored.toarray(), X)
    dense = CategoricalColumns(X, [0])
    sparse = CategoricalColumns(stored.tocsc(), [True, False])
    assert sparse.categories[0].tolist() == dense.categories[0].tolist() == [0, 2, 3]
    assert sparse.counts[0].tolist() == [1, 1, 2]
    for given in (stored, csr_matrix(stored), csr_array(X).astype(np.float32)):
        numbers = sparse.encode(given)
        np.testing.assert_array_equal(numbers.toarray(), dense.encode(X))
        assert numbers.indices.dtype == np.int32
    # Of a new row without entries, and of categories that are new.
    other = sparse.encode(csr_array([[0, 0], [9, 1]])).toarray()
    np.testing.assert_array_equal(other, [[0, 0], [np.nan, 1]])


def test_what_is_not_stored_stays_so():
    """Where 0 is the first category; else its number is stored for each row."""
    rng = np.random.default_rng(0)
    X = csc_matrix(rng.integers(0, 4, (50, 6)) * (rng.random((50, 6)) < 0.1))
    X.eliminate_zeros()
    assert CategoricalColumns(X, [0, 3]).encode(X).nnz == X.nnz
    X = X.tolil()
    X[0, 3] = -1
    X = X.tocsc()
    assert CategoricalColumns(X, [0, 3]).encode(X).nnz > 45


def test_shared_bins():
    X = np.repeat(np.arange(8.0), 2 + np.arange(8.0).astype(int))[:, None]
    y = X[:, 0] % 3
    model = package.RandomForestRegressor(2, categorical_features=[0], max_bins=5, random_state=0)
    with pytest.warns(UserWarning, match="Feature 0 has 8 categories"):
        dense = clone(model).fit(X, y)
    with pytest.warns(UserWarning, match="Feature 0 has 8 categories"):
        sparse = clone(model).fit(csr_array(X), y)
    np.testing.assert_array_equal(sparse.predict(csr_array(X)), dense.predict(X))


@pytest.mark.parametrize(
    "model", [FITTED_TO_SPARSE[0], FITTED_TO_SPARSE[4], FITTED_TO_SPARSE[7]], ids=str
)
def test_bad_values(model):
    X, y, _ = data()
    y = target_of(model, y)
    fitted = clone(model).fit(csr_array(X), y)
    X[3, 2] = np.nan
    for call in (lambda: clone(model).fit(csr_array(X), y), lambda: fitted.predict(csr_array(X))):
        with pytest.raises(ValueError, match="missing values are not accepted in a sparse X"):
            call()
    X[3, 2] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        clone(model).fit(csr_array(X), y)
    with pytest.raises(ValueError, match="expecting 3 features"):
        fitted.predict(csr_array(X[:, :2]))
    own = "categorical_features" in model.get_params(deep=False)
    wrong = {"categorical_features" if own else "estimator__categorical_features": [7]}
    with pytest.raises(ValueError, match="out of bounds"):
        clone(model).set_params(**wrong).fit(csr_array(np.nan_to_num(X, posinf=0.0)), y)


def test_offsets_of_rows_that_are_predicted_some_at_a_time(monkeypatch):
    X, y, new = data()
    model = package.GradientBoostingRegressor(n_estimators=3, random_state=0, **CATEGORICAL)
    model.fit(csr_array(X), y)
    offset = np.arange(len(new), dtype=float)
    pretend_large(monkeypatch)
    expected = model.predict(new) + offset
    np.testing.assert_allclose(model.predict(csr_array(new), offset=offset), expected)
    np.testing.assert_allclose(model.predict(csr_array(new), offset), expected)
    with pytest.raises(ValueError, match=rf"must have the shape \({len(new)},\)"):
        model.predict(csr_array(new), offset=np.append(offset, 0.0))
