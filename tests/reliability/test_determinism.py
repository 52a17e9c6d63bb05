"""The same data and seed give the same model, however the data are stored and the work is split."""

import hashlib

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.utils import get_tags
from threadpoolctl import threadpool_limits

import sklearn_ensemble_theory as package

from ..estimators import estimator_classes, make
from ..trees.engine import DeepTrees, LooseTrees, SmallTrees, _packed
from .equivariances import Change, data_for, distance, outputs

CLASSES = estimator_classes()
every_estimator = pytest.mark.parametrize("cls", CLASSES, ids=lambda c: c.__name__)
PARALLEL = [cls for cls in CLASSES if "n_jobs" in make(cls).get_params()]

# Classes whose sums are in the order of X in memory: to 1e-12, not to the last bit.
SUMS_IN_ORDER_OF_MEMORY = {"BallConstrainedClassifier"}
# Those that keep sparse rows sparse, and add up their products in another order.
SPARSE_SUMS = {
    "BallConstrainedClassifier",
    "FrankWolfeClassifier",
    "FrankWolfeRegressor",
    "MatchingPursuitRegressor",
    "RandomProjectionRegressor",
    "SketchedLinearRegression",
}


def same(found, expected, tolerance=0.0):
    assert distance(Change(found, expected)) <= tolerance


def thin_data(cls, n=60, p=4):
    """Numbers of which a quarter are 0."""
    data = data_for(make(cls), 0, n, p)
    return data._replace(
        X=np.where(np.abs(data.X) > 0.3, data.X, 0.0), Z=np.where(np.abs(data.Z) > 0.3, data.Z, 0.0)
    )


def strided(A):
    wide = np.zeros((2 * len(A), 2 * A.shape[1]))
    wide[::2, 1::2] = A
    return wide[::2, 1::2]


def backwards(A):
    return np.ascontiguousarray(A[::-1, ::-1])[::-1, ::-1]


def read_only(A):
    copy = A.copy()
    copy.setflags(write=False)
    return copy


def swapped_bytes(A):
    return A.astype(A.dtype.newbyteorder())


@every_estimator
def test_memory_layouts(cls):
    """Exactly the same predictions, except for the classes in `SUMS_IN_ORDER_OF_MEMORY`."""
    data = thin_data(cls)
    expected = outputs(make(cls), data)
    tolerance = 1e-12 if cls.__name__ in SUMS_IN_ORDER_OF_MEMORY else 0.0
    for layout in (np.asfortranarray, strided, backwards, read_only, swapped_bytes):
        y = data.y if layout is np.asfortranarray else layout(data.y[:, None])[:, 0]
        found = outputs(make(cls), data._replace(X=layout(data.X), Z=layout(data.Z), y=y))
        same(found, expected, tolerance)


@every_estimator
def test_containers(cls):
    """Lists and data frames hold the same numbers; so do float32 and objects, here."""
    data = thin_data(cls)
    expected = outputs(make(cls), data)
    as_frame = data._replace(
        X=pd.DataFrame(data.X, columns=list("abcd")),
        y=pd.Series(data.y),
        Z=pd.DataFrame(data.Z, columns=list("abcd")),
    )
    as_list = data._replace(X=data.X.tolist(), y=data.y.tolist(), Z=data.Z.tolist())
    # pandas stores a frame by columns
    tolerance = 1e-12 if cls.__name__ in SUMS_IN_ORDER_OF_MEMORY else 0.0
    same(outputs(make(cls), as_frame), expected, tolerance)
    same(outputs(make(cls), as_list), expected)
    for dtype in (np.float32, object):
        cast = data._replace(X=data.X.astype(dtype), Z=data.Z.astype(dtype))
        same(outputs(make(cls), cast), expected)


SPARSE = [cls for cls in CLASSES if get_tags(make(cls)).input_tags.sparse]


@pytest.mark.parametrize("cls", SPARSE, ids=lambda c: c.__name__)
def test_sparse_containers(cls):
    """The predictions of the dense array; exactly, except for the classes in `SPARSE_SUMS`."""
    data = thin_data(cls)
    expected = outputs(make(cls), data)
    tolerance = 1e-12 if cls.__name__ in SPARSE_SUMS else 0.0
    for container in (sp.csr_matrix, sp.csc_array, sp.coo_array):
        found = outputs(make(cls), data._replace(X=container(data.X), Z=container(data.Z)))
        same(found, expected, tolerance)


@every_estimator
def test_threads_of_blas(cls):
    data = data_for(make(cls), 0, n=150, p=6)
    with threadpool_limits(1):
        expected = outputs(make(cls), data)
    with threadpool_limits(2):
        same(outputs(make(cls), data), expected, 1e-12)


def fitted_with(cls, n_jobs, data):
    estimator = make(cls, n_jobs=n_jobs)
    return outputs(estimator, data)


@pytest.mark.parametrize("cls", PARALLEL, ids=lambda c: c.__name__)
def test_threads(cls):
    data = data_for(make(cls), 0)
    expected = fitted_with(cls, 1, data)
    with joblib.parallel_config("threading"):
        same(fitted_with(cls, 2, data), expected)


@pytest.mark.parametrize("name", ["ExtraTreesClassifier", "RandomForestRegressor"])
@pytest.mark.parametrize("kind", ["laid out", "loose"])
def test_predictions_in_a_context_of_processes(name, kind, monkeypatch):
    """Parts of one array are written by threads, whatever the context asks for."""
    for trees in (DeepTrees, SmallTrees, LooseTrees):
        monkeypatch.setattr(trees, "parallel_size", 0)
    cls = getattr(package, name)
    data = data_for(make(cls), 0)
    expected = outputs(make(cls), data)
    if kind == "loose":
        monkeypatch.setattr(_packed, "MOST_LEAVES", 0)
        monkeypatch.setattr(_packed, "fits_in_words", lambda *_: False)
    model = make(cls, n_jobs=2).fit(data.X, data.y)
    with joblib.parallel_config("loky"):
        same([model.predict(data.Z)], expected[-1:])


def digests(classes, **params):
    """A hash of the predictions of each estimator, for `test_signals.py`."""
    found = {}
    for cls in classes:
        hashed = hashlib.sha256()
        for output in outputs(make(cls, **params), data_for(make(cls), 0)):
            hashed.update(np.ascontiguousarray(output).tobytes())
        found[cls.__name__] = hashed.hexdigest()
    return found
