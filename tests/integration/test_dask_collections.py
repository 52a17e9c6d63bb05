"""What every estimator does with Dask collections: lazy predictions, fits or clear errors."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_classifier
from sklearn.linear_model import LogisticRegression, Ridge

from sklearn_ensemble_theory import (
    BaggingRegressor,
    HistogramRegressor,
    L2BoostingRegressor,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)

from ..estimators import estimator_classes, make, make_for_chunks

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

METHODS = ("predict", "predict_proba", "predict_log_proba", "decision_function")
every_estimator = pytest.mark.parametrize("cls", estimator_classes(), ids=lambda c: c.__name__)


def rows(cls, n=60):
    p = 1 if cls.__name__ == "SmoothingSplineRegressor" else 3
    X = np.random.default_rng(0).standard_normal((n, p))
    return X, (X[:, 0] > 0).astype(int) if is_classifier(make(cls)) else X[:, 0].copy()


@every_estimator
def test_predictions_are_lazy_and_those_of_the_rows(cls):
    X, y = rows(cls)
    model = make(cls).fit(X, y)
    lazy = da.from_array(X, chunks=((20, 0, 40), 1))
    for method in (getattr(model, name) for name in METHODS if hasattr(model, name)):
        found, expected = method(lazy), method(X)
        assert isinstance(found, da.Array)
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        np.testing.assert_array_equal(found.compute(), expected)


@pytest.mark.parametrize("kind", ["stack", "vote"])
def test_intervals_and_sets_of_combinations_are_lazy(kind):
    X, y = rows(HistogramRegressor)
    learner, labels = Ridge(), np.array(["a", "b"])[(y > 0).astype(int)]
    classifier = LogisticRegression()
    if kind == "stack":
        numbers = StackingRegressor([("a", learner)], held_out="cv")
        classes = StackingClassifier([("a", classifier)], held_out="cv")
    else:
        numbers = VotingRegressor([("a", learner)], held_out=3)
        classes = VotingClassifier([("a", classifier)], voting="soft", held_out=3)
    numbers, classes = numbers.fit(X, y), classes.fit(X, labels)
    lazy = da.from_array(X, chunks=((20, 0, 40), 1))
    for method in (numbers.predict_interval, classes.predict_set):
        found = method(lazy, 0.8)
        assert isinstance(found, da.Array)
        np.testing.assert_array_equal(found.compute(), method(X, 0.8))


def refuse_to_compute(block):
    if len(block):
        raise AssertionError("rows were read")
    return block


@every_estimator
def test_estimators_that_need_all_rows_say_so_and_read_none(cls):
    X, y = rows(cls)
    model = make_for_chunks(cls)
    if getattr(model, "_fit_chunks", None) is not None:
        model.fit(da.from_array(X, chunks=(20, 3)), da.from_array(y, chunks=20))
        return
    lazy = da.from_array(X, chunks=(20, 3)).map_blocks(refuse_to_compute, dtype=float)
    for arguments in ((lazy, y), (X, da.from_array(y)), (X, y, da.ones(len(y)))):
        with pytest.raises(TypeError, match=f"{cls.__name__}.* Dask"):
            model.fit(*arguments)
    assert not hasattr(model, "n_features_in_")


FORESTS = ("ExtraTreesClassifier", "RandomForestClassifier")  # balance the classes of each chunk
CLASSIFIERS = [
    cls
    for cls in estimator_classes()
    if getattr(cls, "_fit_chunks", None) is not None
    and "class_weight" in make(cls).get_params()
    and cls.__name__ not in FORESTS
]


@pytest.mark.parametrize("cls", CLASSIFIERS, ids=lambda c: c.__name__)
@pytest.mark.parametrize("class_weight", ["balanced", {0: 0.5, 1: 3.0}], ids=str)
def test_class_weight_is_that_of_all_chunks(cls, class_weight):
    X, score = np.round(rows(cls)[0]), np.random.default_rng(1).standard_normal(60)
    y, weight = (X[:, 0] + score > 1).astype(int), np.arange(60) % 3 + 1.0
    by_class = np.array([0.5, 3.0])
    if class_weight == "balanced":
        by_class = weight.sum() / 2 / np.bincount(y, weight)
    lazy = [da.from_array(each, chunks=(20, *each.shape[1:])) for each in (X, y, weight)]
    model = make(cls, class_weight=class_weight).fit(*lazy)
    expected = make(cls).fit(*lazy[:2], lazy[2] * by_class[y])
    name = next(n for n in ("decision_function", "predict_proba") if hasattr(model, n))
    scores = [getattr(each, name)(X) for each in (model, expected, make(cls).fit(*lazy))]
    np.testing.assert_allclose(scores[0], scores[1], rtol=1e-9, atol=1e-9)
    assert not np.allclose(scores[0], scores[2])
    with pytest.raises(ValueError, match="class_weight"):
        make(cls, class_weight={5: 1.0}).fit(*lazy)


def test_chunks_of_data_frames_are_predicted_one_by_one():
    X, y = rows(BaggingRegressor)
    frame = pd.DataFrame(X, columns=list("abc"))
    model = BaggingRegressor(n_estimators=3, random_state=0).fit(frame, y)
    lazy = model.predict(dd.from_pandas(frame, npartitions=4))
    assert isinstance(lazy, da.Array)
    assert lazy.numblocks == (4,)
    np.testing.assert_array_equal(lazy.compute(), model.predict(frame))


ODD = {
    "of other lengths": (lambda X, y: (X, y[:40]), "X has 60 rows, but y has 40"),
    "not finite": (lambda X, y: (X, da.where(y > 0, y, np.nan)), "y contains NaN.*in chunk"),
    "infinite": (lambda X, y: (da.where(X > 0, X, np.inf), y), "X contains infinity.*in chunk"),
    "one column": (lambda X, y: (X[:, 0], y), "X must have two dimensions"),
    "no rows": (lambda X, y: (X[:0], y[:0]), "no rows of positive weight"),
    "in memory": (lambda X, y: (X.compute(), y), "X must be a Dask collection"),
    "strings": (lambda X, y: (X.astype(str).map_blocks(np.char.add, "a"), y), "in chunk"),
}


@pytest.mark.parametrize("kind", ODD)
def test_odd_rows_are_refused_and_nothing_is_fitted(kind):
    X, y = rows(L2BoostingRegressor)
    make_odd, message = ODD[kind]
    model = L2BoostingRegressor(5).fit(X, y)
    before = {name: id(value) for name, value in vars(model).items()}
    odd = make_odd(da.from_array(X, chunks=(20, 3)), da.from_array(y, chunks=20))
    with pytest.raises((ValueError, TypeError), match=message):
        model.fit(*odd)
    assert {name: id(value) for name, value in vars(model).items()} == before


def test_methods_that_need_rows_in_memory_say_so():
    X, y = rows(HistogramRegressor)
    lazy, target = da.from_array(X, chunks=(20, 3)), da.from_array(y, chunks=20)
    with pytest.raises(TypeError, match=r"HistogramRegressor.partial_fit needs all rows in memory"):
        HistogramRegressor().partial_fit(lazy, target)
