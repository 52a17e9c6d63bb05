"""Targets that a cast changes, and targets in forms that no estimator takes."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import is_classifier, is_regressor

from sklearn_ensemble_theory import (
    DecisionStumpRegressor,
    HistogramRegressor,
    RandomForestRegressor,
    SmoothingSplineRegressor,
)

from ..estimators import estimator_classes, make
from ..surroundings import checked_target

INSTANCES = [make(cls) for cls in estimator_classes()]
REGRESSORS = [m for m in INSTANCES if is_regressor(m)]
every = pytest.mark.parametrize("model", INSTANCES, ids=lambda m: type(m).__name__)
every_regressor = pytest.mark.parametrize("model", REGRESSORS, ids=lambda m: type(m).__name__)

X = np.random.default_rng(0).standard_normal((12, 2))
Y = X[:, 0].round(2)


def labels(model, y=Y):
    return (y > 0).astype(int) if is_classifier(model) else y


def with_value(value):
    y = Y.astype(object)
    y[3] = value
    return y


@every_regressor
@pytest.mark.parametrize(
    "value", [None, np.nan, pd.NA, 10**400, "a"], ids=["None", "nan", "NA", "huge", "text"]
)
def test_no_value_becomes_nan_in_the_cast(model, value):
    with pytest.raises((ValueError, TypeError), match=r"\by\b"):
        model.fit(X, with_value(value))


@every_regressor
def test_long_doubles_that_overflow_are_infinite(model):
    y = Y.astype(np.longdouble) * np.longdouble(10.0) ** 320
    if not np.isfinite(y).all():
        pytest.skip("long doubles are doubles here")
    with pytest.raises(ValueError, match="infinity"):
        model.fit(X, y)


@every_regressor
def test_missing_values_of_pandas_are_refused(model):
    y = pd.Series(Y).astype("Float64")
    y[2] = pd.NA
    with pytest.raises((ValueError, TypeError), match=r"\by\b"):
        model.fit(X, y)


@every
def test_missing_labels_and_targets_are_refused(model):
    y = labels(model).astype(object)
    y[3] = None
    with pytest.raises((ValueError, TypeError), match=r"\by\b"):
        model.fit(X, y)


@every
@pytest.mark.parametrize("container", [sp.csr_array, sp.csc_matrix, sp.coo_array])
def test_sparse_targets_get_one_message(model, container):
    with pytest.raises(ValueError, match="y must be a dense array: sparse multilabel"):
        model.fit(X, container(labels(model)[:, None]))


@every
def test_ragged_targets_get_one_message(model):
    ragged = [[1.0], [1.0, 2.0]] * 6
    with pytest.raises(ValueError, match="y must be a rectangular array"):
        model.fit(X, ragged)
    as_objects = np.empty(12, dtype=object)
    as_objects[:] = ragged
    with pytest.raises(ValueError, match="y must be a rectangular array"):
        model.fit(X, as_objects)


@pytest.mark.parametrize(
    "cls", [DecisionStumpRegressor, SmoothingSplineRegressor, HistogramRegressor]
)
def test_numbers_in_other_types_fit_as_floats_do(cls):
    expected = cls().fit(X, Y).predict(X)
    for y in (
        Y.astype(object),
        Y.astype(np.longdouble),
        pd.Series(Y).astype("Float64"),
        Y.astype(str),
    ):
        assert np.array_equal(cls().fit(X, y).predict(X), expected)


def test_usual_targets_are_handed_on_as_they_are():
    for y in (Y, Y.astype(np.float32), Y.astype(int), Y > 0, pd.Series(Y), Y.tolist()):
        assert checked_target(y, is_real=True) is y
    for y in (np.array(["a", "b"], dtype=object), ["a", "b"], pd.Series(["a", "b"])):
        assert checked_target(y, is_real=False) is y
    assert checked_target(None, is_real=True) is None


def test_dates_are_no_numbers():
    dates = np.arange(12).astype("datetime64[s]")
    with pytest.raises(TypeError, match="y must hold numbers"):
        RandomForestRegressor(2).fit(X, dates)
