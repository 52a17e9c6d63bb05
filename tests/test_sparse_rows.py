"""Sparse X in any form: the model and the predictions of its canonical copy, and X unchanged."""

import inspect

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone, is_classifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import get_tags

from .estimators import estimator_classes, make, named, target_for

CLASSES = [cls for cls in estimator_classes() if get_tags(make(cls)).input_tags.sparse]
FORMS = [
    f"{name}{kind}"
    for name in ("csr_", "csc_", "coo_", "lil_", "dok_", "bsr_", "dia_")
    for kind in ("matrix", "array")
]
METHODS = (
    "predict",
    "predict_proba",
    "predict_log_proba",
    "decision_function",
    "staged_predict",
    "staged_decision_function",
    "staged_predict_proba",
    "apply",
    "decision_path",
    "transform",
    "kneighbors",
    "predict_quantiles",
)


def dense_rows(n, seed):
    """Rows of which a third is not 0, multiples of 1/64."""
    rng = np.random.default_rng(seed)
    X = np.round(64 * rng.standard_normal((n, 6))) / 64
    return np.where(rng.random((n, 6)) < 0.4, X, 0.0)


def compressed(X, kind, parts):
    """CSR or CSC, in which each entry has several parts in no order."""
    rng = np.random.default_rng(1)
    whole = getattr(sp, f"{kind}_matrix")(X)
    majors = np.repeat(np.arange(len(whole.indptr) - 1), np.diff(whole.indptr))
    majors, minors = np.tile(majors, len(parts)), np.tile(whole.indices, len(parts))
    values = np.concatenate([part * whole.data for part in parts])
    order = np.lexsort([rng.random(len(majors)), majors])
    starts = np.concatenate([[0], np.cumsum(np.bincount(majors, minlength=len(whole.indptr) - 1))])
    cls = {"csr": sp.csr_matrix, "csc": sp.csc_matrix}[kind]
    return cls((values[order], minors[order].astype(np.int32), starts.astype(np.int32)), X.shape)


def with_indices(X, dtype):
    X = X.copy()
    X.indices, X.indptr = X.indices.astype(dtype), X.indptr.astype(dtype)
    return X


def read_only(X):
    X = X.copy()
    for part in (X.data, X.indices, X.indptr):
        part.flags.writeable = False
    return X


def mapped(X, folder):
    """With parts that are read from files."""
    X = X.copy()
    for name in ("data", "indices", "indptr"):
        file = folder / f"{name} of {X.shape[0]} rows.npy"
        np.save(file, getattr(X, name))
        setattr(X, name, np.load(file, mmap_mode="r"))
    return X


KINDS = {
    "duplicates": lambda X: compressed(X, "csr", (0.5, 0.25, 0.25)),
    "duplicates by columns": lambda X: compressed(X, "csc", (2.0, -1.0)),
    "unsorted": lambda X: compressed(X, "csr", (1.0,)),
    "unsorted columns": lambda X: compressed(X, "csc", (1.0,)),
    "duplicates, read-only": lambda X: read_only(compressed(X, "csr", (0.5, 0.5))),
    "long indices": lambda X: with_indices(sp.csr_matrix(X), np.int64),
    "long indices of columns": lambda X: with_indices(sp.csc_matrix(X), np.int64),
    "long indices of an array": lambda X: with_indices(sp.csr_array(X), np.int64),
    "read-only": lambda X: read_only(sp.csr_matrix(X)),
    "read-only columns": lambda X: read_only(sp.csc_matrix(X)),
    "read-only, long indices": lambda X: read_only(with_indices(sp.csc_array(X), np.int64)),
    "single precision": lambda X: compressed(X.astype(np.float32), "csr", (0.5, 0.5)),
} | {form: (lambda X, form=form: getattr(sp, form)(X)) for form in FORMS}


def state(X):
    """All that a matrix is made of, with the flags that scipy keeps."""
    found = {}
    if isinstance(X, np.ndarray):
        return X.tobytes()
    for name, value in vars(X).items():
        if isinstance(value, np.ndarray) and value.dtype != object:
            found[name] = (id(value), value.dtype, value.flags.writeable, value.tobytes())
        else:
            found[name] = repr(value)
    return found


def results(model, Z, y):
    found = {}
    for name in METHODS:
        if hasattr(model, name):
            value = getattr(model, name)(Z)
            value = list(value) if inspect.isgenerator(value) else value
            parts = value if isinstance(value, (list, tuple)) else [value]
            found[name] = [p.toarray() if sp.issparse(p) else np.asarray(p) for p in parts]
    found["score"] = [np.asarray(model.score(Z, y))]
    return found


@pytest.fixture(scope="module")
def expected():
    """The results of a class for the canonical CSR matrix, each found once."""
    known = {}

    def of(cls):
        if cls not in known:
            known[cls] = _results_of(cls, sp.csr_matrix)
        return known[cls]

    return of


def _results_of(cls, form, n_more=0, **params):
    """Of the rows in this form, to which so many columns of zeros are added."""
    X, Z = (np.pad(dense_rows(*of), [(0, 0), (0, n_more)]) for of in [(90, 0), (30, 7)])
    targets = [part[:, 0] + part[:, 1] * (part[:, 2] > 0) for part in (X, Z)]
    y, y_new = (target_for(make(cls), (t > 0).astype(int), t) for t in targets)
    given, new = form(X), form(Z)
    before = state(given), state(new)
    model = make(cls, **params).fit(given, y)
    found = results(model, new, y_new)
    assert (state(given), state(new)) == before
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("cls", CLASSES, ids=lambda c: c.__name__)
def test_any_sparse_x(cls, kind, expected):
    assert_same(_results_of(cls, KINDS[kind]), expected(cls))


def assert_same(found, right):
    assert found.keys() == right.keys()
    for name, parts in found.items():
        for part, whole in zip(parts, right[name], strict=True):
            np.testing.assert_allclose(part, whole, rtol=1e-9, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("cls", CLASSES, ids=lambda c: c.__name__)
def test_an_array(cls, expected):
    assert_same(_results_of(cls, np.array), expected(cls))


def with_trees(cls):
    """With scikit-learn's trees as members, which sort indices in place and want 32 bits."""
    kind = DecisionTreeClassifier if is_classifier(make(cls)) else DecisionTreeRegressor
    tree = kind(max_depth=3, random_state=0)
    if "estimators" in make(cls).get_params(deep=False):
        return {"estimators": [("a", tree), ("b", clone(tree).set_params(max_depth=2))]}
    return {"estimator": tree}


WITH_TREES = [
    "AdaBoostClassifier",
    "BaggingRegressor",
    "DivideAndConquerClassifier",
    "GradientBoostingRegressor",
    "StackingClassifier",
    "StackingRegressor",
    "VotingClassifier",
    "VotingRegressor",
]


@pytest.mark.parametrize("name", WITH_TREES)
def test_members_of_others(name):
    cls, right = named(name), None
    params = with_trees(cls)
    for kind in KINDS:
        if not kind.startswith(("dia", "single")):
            found = _results_of(cls, KINDS[kind], **params)
            right = right or found
            assert_same(found, right)


# Of more values, zeros included, than become arrays.
WIDE = [
    "BaggedNearestNeighborsRegressor",
    "BaggingClassifier",
    "BallConstrainedClassifier",
    "FrankWolfeRegressor",
    "GradientBoostingRegressor",
    "MatchingPursuitRegressor",
    "RandomForestRegressor",
]


@pytest.mark.parametrize("name", WIDE)
def test_many_columns(name):
    cls, right = named(name), None
    for kind in ("csr_matrix", "duplicates", "duplicates by columns", "read-only, long indices"):
        found = _results_of(cls, KINDS[kind], n_more=50_000)
        right = right or found
        assert_same(found, right)


@pytest.mark.parametrize("cls", CLASSES, ids=lambda c: c.__name__)
def test_parts_in_files(cls, expected, tmp_path):
    found = _results_of(cls, lambda X: mapped(sp.csr_matrix(X), tmp_path))
    for part, whole in zip(found["predict"], expected(cls)["predict"], strict=True):
        np.testing.assert_allclose(part, whole, rtol=1e-9, atol=1e-12)
