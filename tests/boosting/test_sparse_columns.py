"""Boosting of sparse X on its stored values: to the bit that of the same X as an array."""

import warnings
from functools import partial
from importlib import import_module

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone, is_classifier
from sklearn.dummy import DummyRegressor
from sklearn.tree import DecisionTreeRegressor

from sklearn_ensemble_theory import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn_ensemble_theory.boosting import CVRounds
from sklearn_ensemble_theory.trees import BinnedTreeRegressor
from sklearn_ensemble_theory.trees._columns import BinnedColumns
from sklearn_ensemble_theory.trees._growth import HistogramGrower
from sklearn_ensemble_theory.trees._options import GrowthOptions
from sklearn_ensemble_theory.trees._sparse_columns import SparseColumns
from sklearn_ensemble_theory.trees._tree_arrays import nodes_of

FIT = import_module("sklearn_ensemble_theory.boosting._gradient_boosting.fit")


def odd_matrix(seed, n=300, with_nan=True):
    """Columns of all kinds: of few and of many values, negative, constant, one-hot, not sparse."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 12)) * (rng.random((n, 12)) < 0.2)
    X[:, 1] = np.round(X[:, 1], 1)
    X[:, 2] = 0
    X[:, 3] = rng.random(n) < 0.1
    X[:, 4] = -np.abs(X[:, 4])
    X[:, 5] = rng.standard_normal(n)  # of as many values as rows
    X[:, 6] = np.where(rng.random(n) < 0.6, rng.exponential(size=n), 0)
    X[:, 7] = 3
    X[:, 8] = 0
    X[n // 2, 8] = -1e30
    if with_nan:
        X[rng.random(n) < 0.1, 0] = np.nan
        X[rng.random(n) < 0.3, 9] = np.nan
        X[:, 10] = np.where(rng.random(n) < 0.5, np.nan, 0)
    return X


def target(X, of_classes, seed=0):
    rng = np.random.default_rng(seed)
    finite = np.nan_to_num(X)
    y = finite[:, 0] - finite[:, 3] + np.abs(finite[:, 6]) + np.isnan(X[:, 9])
    y = y + 0.5 * rng.standard_normal(len(X))
    return np.digitize(y, [0.3, 1]) if of_classes == 3 else y > 0.5 if of_classes else y


@pytest.fixture
def stored_only(monkeypatch):
    """Every sparse X counts as thin; the fits on stored values are counted."""
    fits = []
    found = SparseColumns.of

    def of(X, *args, **options):
        fits.append(X.shape)
        return found(X, *args, **options)

    monkeypatch.setattr(FIT, "THIN", 2.0)
    monkeypatch.setattr(SparseColumns, "of", of)
    return fits


def assert_same(model, other):
    """Trees, and what is known of the rounds."""
    assert model.estimators_.shape == other.estimators_.shape
    for tree, known in zip(model.estimators_.ravel(), other.estimators_.ravel()):
        for name, values in vars(nodes_of(known)).items():
            np.testing.assert_array_equal(getattr(nodes_of(tree), name), values, err_msg=name)
    for name in ("train_scores_", "validation_scores_", "oob_scores_", "train_score_"):
        if hasattr(other, name):
            np.testing.assert_array_equal(getattr(model, name), getattr(other, name))
    if hasattr(other, "cv_results_"):
        for name, values in other.cv_results_.items():
            np.testing.assert_array_equal(model.cv_results_[name], values, err_msg=name)


def assert_same_predictions(model, given, X):
    of_classes = is_classifier(model)
    names = ("decision_function", "predict_proba", "predict") if of_classes else ("predict",)
    for name in (*names, "apply"):
        found, expected = getattr(model, name)(given), getattr(model, name)(X)
        np.testing.assert_array_equal(found, expected, err_msg=name)
    name = "staged_decision_function" if of_classes else "staged_predict"
    pairs = zip(getattr(model, name)(given), getattr(model, name)(X), strict=True)
    for found, expected in pairs:
        np.testing.assert_array_equal(found, expected)


GB = partial(GradientBoostingRegressor, random_state=0)
HGB = partial(HistGradientBoostingRegressor, random_state=0)
GBC = partial(GradientBoostingClassifier, random_state=0)
HGBC = partial(HistGradientBoostingClassifier, random_state=0)
SIGNS = [1, 0, 0, -1, 0, 0, 1, 0, 0, 0, 0, 0]
MODELS = [
    GB(),
    GB(max_depth=1, subsample=0.5),
    GB(max_depth=8, min_samples_leaf=3, loss="huber"),
    GB(max_leaf_nodes=20, max_depth=None, max_bins=16),
    GB(loss="absolute_error", max_bins=2),
    GB(loss="poisson", min_weight_fraction_leaf=0.05),
    GB(monotonic_cst=SIGNS, n_jobs=2),
    GB(interaction_cst=[[0, 3, 6], [1, 2, 4, 5, 7, 8, 9, 10, 11]], max_depth=4),
    GB(n_iter_no_change=3, validation_fraction=0.3),
    GB(n_estimators=CVRounds(cv=3, max_estimators=15)),
    GB(n_estimators=CVRounds(cv=3, max_estimators=15, prediction="mean"), subsample=0.7),
    GB(step="line_search", loss="quantile"),
    GB(step="newton", loss="poisson"),
    GB(init=DummyRegressor(strategy="median")),
    GB(estimator=BinnedTreeRegressor(max_depth=3, l2_regularization=2, features_per_tree=0.5)),
    GB(categorical_features=[1, 3], max_depth=4),
    HGB(),
    HGB(max_leaf_nodes=6, min_samples_leaf=1, l2_regularization=1, loss="poisson"),
    HGB(early_stopping=True, scoring="r2", n_iter_no_change=3),
    GBC(),
    GBC(loss="exponential", subsample=0.8),
    HGBC(class_weight="balanced"),
]


@pytest.mark.parametrize("weights", [None, "counts", "real"])
@pytest.mark.parametrize("model", MODELS, ids=lambda m: str(m).replace(" ", ""))
def test_the_model_is_that_of_dense_rows(model, weights, stored_only):
    model = clone(model)
    if not isinstance(model, GradientBoostingRegressor) or isinstance(model.n_estimators, int):
        model.set_params(**{"max_iter" if hasattr(model, "max_iter") else "n_estimators": 12})
    has_categories = getattr(model, "categorical_features", None) == [1, 3]
    X, new = (odd_matrix(seed, with_nan=not has_categories) for seed in (0, 1))
    if has_categories:
        X[:, 1], new[:, 1] = np.abs(np.round(X[:, 1])), np.abs(np.round(new[:, 1]))
    y = target(X, is_classifier(model) * (2 if "exponential" in str(model) else 3))
    if model.loss in ("poisson",):
        y = np.abs(y)
    rng = np.random.default_rng(0)
    weight = {"counts": rng.integers(0, 3, len(y)), "real": rng.random(len(y)) + 0.1}.get(weights)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        dense = clone(model).fit(X, y, sample_weight=weight)
        sparse = clone(model).fit(sp.csr_array(X), y, sample_weight=weight)
    assert stored_only
    assert_same(sparse, dense)
    for given in (X, new):
        assert_same_predictions(sparse, sp.csc_matrix(given), given)


def with_wide_indices(X):
    X = sp.csr_array(X)
    return sp.csr_array((X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)), X.shape)


def in_reverse(X):
    """Rows whose indices are not sorted."""
    X = sp.csr_array(X)
    for a, z in zip(X.indptr, X.indptr[1:]):
        X.indices[a:z], X.data[a:z] = X.indices[a:z][::-1].copy(), X.data[a:z][::-1].copy()
    X.has_sorted_indices = X.has_canonical_format = False
    return X


def in_two_parts(X):
    """Each value is the sum of two at its place, and zeros are stored."""
    rows, columns = (each.ravel() for each in np.indices(X.shape))
    x = X.ravel()
    part = np.where(np.isnan(x), 0, np.trunc(x))
    values = np.concatenate([part, x - part])
    place = np.concatenate([columns, columns])
    order = np.argsort(np.concatenate([rows, rows]), kind="stable")
    starts = np.arange(len(X) + 1) * 2 * X.shape[1]
    return sp.csr_matrix((values[order], place[order], starts), X.shape)


CONTAINERS = [
    sp.csr_matrix,
    sp.csc_array,
    sp.coo_array,
    with_wide_indices,
    in_reverse,
    in_two_parts,
]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("container", CONTAINERS)
def test_every_form_of_a_matrix_is_the_same(container, dtype, stored_only):
    X = odd_matrix(2).astype(dtype)
    y = target(X, 0)
    for model in (GB(n_estimators=5), HGB(max_iter=5)):
        given = container(X)
        kept = given.copy()
        fitted = clone(model).fit(given, y)
        assert_same(fitted, clone(model).fit(X, y))
        assert_same_predictions(fitted, given, X)
        if given.format in ("csr", "csc"):  # the user's matrix is left as it is
            np.testing.assert_array_equal(given.data, kept.data)
            np.testing.assert_array_equal(given.indices, kept.indices)
    assert len(stored_only) == 2


@pytest.mark.parametrize("density", [0, 0.3, 1])
@pytest.mark.parametrize("shape", [(2, 1), (40, 1), (300, 40)])
def test_bins_and_trees_of_any_number_of_threads(shape, density):
    n, p = shape
    rng = np.random.default_rng(n + p)
    X = np.where(rng.random(shape) < density, np.round(rng.standard_normal(shape), 2), 0)
    options = GrowthOptions(criterion="squared_error", max_depth=6, max_leaf_nodes=25)
    for max_bins, weight in ((255, None), (9, rng.integers(1, 4, n) / 1.0), (30, rng.random(n))):
        dense = BinnedColumns.of(X, max_bins, weight)
        sparse = SparseColumns.of(sp.csr_matrix(X), max_bins, weight)
        for found, expected in zip(sparse.edges, dense.edges, strict=True):
            np.testing.assert_array_equal(found, expected)
        for n_threads in (1, 3):
            growers = HistogramGrower(dense, options), HistogramGrower(sparse, options, n_threads)
            growers[1].trees.least_shared = 0
            for rows in (None, np.arange(0, n, 2)):
                y, rank = X.sum(axis=1) + rng.standard_normal(n), rng.permutation(p)
                expected, found = (g.grow(y, weight, rows, rank=rank) for g in growers)
                np.testing.assert_array_equal(found[1], expected[1])
                np.testing.assert_array_equal(found[0].threshold, expected[0].threshold)
                np.testing.assert_array_equal(found[0].value, expected[0].value)


def test_other_trees_get_dense_or_exact_columns(stored_only, monkeypatch):
    X = odd_matrix(3, with_nan=False)
    y = target(X, 0)
    deep, drawn = {"max_depth": 9}, {"max_features": 0.5}
    for options in (deep, drawn):
        dense = GB(n_estimators=3, **options).fit(X, y)
        assert_same(GB(n_estimators=3, **options).fit(sp.csr_array(X), y), dense)
    two = np.column_stack([y, -y])
    several = GB(n_estimators=3).fit(sp.csr_array(X), two)
    assert several.estimators_.shape == (3, 1)
    np.testing.assert_array_equal(several.predict(X), GB(n_estimators=3).fit(X, two).predict(X))
    monkeypatch.setattr(FIT, "MOST_DENSE_VALUES", 100)
    for options in (deep, drawn):
        exact = GB(n_estimators=3, **options).fit(sp.csr_array(X), y)
        assert type(exact.estimators_[0, 0]) is DecisionTreeRegressor
        np.testing.assert_array_equal(exact.predict(sp.csr_array(X)), exact.predict(X))
    assert GB(n_estimators=3).fit(sp.csr_array(X), two).estimators_.shape == (3, 2)
    match = r"HistGradientBoostingRegressor requires.* 512 leaves"
    with pytest.raises(ValueError, match=match):
        HGB(max_features=0.5).fit(sp.csr_array(X), y)
    with pytest.raises(ValueError, match=r"estimator=BinnedTreeRegressor requires.* 512 leaves"):
        GB(estimator=BinnedTreeRegressor()).fit(sp.csr_array(X), y)
    with pytest.raises(ValueError, match="multi_output='one_tree' requires trees of a dense X"):
        GB(multi_output="one_tree").fit(sp.csr_array(X), two)


def test_values_beyond_the_range():
    X = sp.csr_array(odd_matrix(4))
    y = target(X.toarray(), 0)
    X.data[5] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        GB().fit(X, y)
    found, expected = (HGB(max_iter=3).fit(given, y) for given in (X, X.toarray()))
    assert_same(found, expected)
    assert np.isinf(X.data[5])


def test_a_warm_start_goes_on_with_rows_of_the_other_kind(stored_only):
    X = odd_matrix(5)
    y = target(X, 0)
    model = GB(n_estimators=3, warm_start=True).fit(sp.csr_array(X), y)
    model.set_params(n_estimators=6).fit(X, y)
    assert_same(model, GB(n_estimators=6, warm_start=True).fit(X, y))


def test_values_that_single_precision_takes_for_one(stored_only):
    rng = np.random.default_rng(6)
    X = np.where(rng.random((300, 4)) < 0.5, rng.integers(1, 6, (300, 4)), 0.0)
    X[:, 0] = np.where(X[:, 0] > 0, 1e9 + X[:, 0], 0)
    X[:, 1] *= 1e-50
    X[:, 2] *= 1e300
    y = X[:, 0] % 2 + (X[:, 1] > 2e-50) + (X[:, 2] > 3e300)
    for model in (GB(n_estimators=5, max_depth=4), HGB(max_iter=5, min_samples_leaf=1)):
        found, dense = (clone(model).fit(given, y) for given in (sp.csr_array(X), X))
        assert_same(found, dense)
        assert_same_predictions(found, sp.csr_array(X), X)
    assert found.score(X, y) > 0.6
    assert len(stored_only) == 2
