"""Super learners in the ONNX runtime, each member alone and all of them together."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsRegressor

from sklearn_ensemble_theory import (
    BaggingRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    SuperLearnerClassifier,
    SuperLearnerRegressor,
    export,
)
from sklearn_ensemble_theory.combining._library import MEMBERS

from .test_other_tools import tool


def run(model, X, dtype, **params):
    """The outputs of the runtime by name."""
    made = export.onnx(model, dtype=dtype, **params)
    tool("onnx").checker.check_model(made, full_check=True)
    session = tool("onnxruntime").InferenceSession(
        made.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    given = {entry.name: X for entry in session.get_inputs()}
    if list(given) != ["X"]:
        given = {name: X[:, [j]] for j, name in enumerate(given)}
    given = {name: values.astype(dtype) for name, values in given.items()}
    return dict(zip([each.name for each in session.get_outputs()], session.run(None, given)))


def numbers(missing=True):
    X, y = load_diabetes(return_X_y=True)
    if missing:
        X[np.random.RandomState(0).uniform(size=X.shape) < 0.1] = np.nan
    return X[:250], y[:250], X[200:]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("member", MEMBERS)
@pytest.mark.parametrize("loss", ["squared_error", "poisson", "gamma"])
def test_each_member_of_numbers(member, loss, dtype):
    tool("onnx")
    X, y, X_new = numbers()
    model = SuperLearnerRegressor([member], loss=loss, random_state=0).fit(X, y)
    X_new = X_new.astype(dtype)
    found = run(model, X_new, dtype)
    assert list(found) == ["variable"]
    np.testing.assert_allclose(found["variable"][:, 0], model.predict(X_new), rtol=3e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("member", MEMBERS)
@pytest.mark.parametrize("load", [load_breast_cancer, load_iris])
def test_each_member_of_classes(member, load, dtype):
    tool("onnx")
    X, y = load(return_X_y=True)
    labels = np.array(["one", "two", "three"])[y]
    model = SuperLearnerClassifier([member], random_state=0).fit(X[::2], labels[::2])
    X_new = X[1::2].astype(dtype)
    found = run(model, X_new, dtype)
    if member == "neighbors" and load is load_iris:  # of rows that are equally near
        assert np.abs(found["probabilities"] - model.predict_proba(X_new)).mean() < 0.01
        return
    np.testing.assert_allclose(found["probabilities"], model.predict_proba(X_new), atol=3e-6)
    np.testing.assert_array_equal(found["label"], model.predict(X_new))


@pytest.mark.parametrize("missing", [False, True])
def test_all_members_together(missing):
    tool("onnx")
    X, y, X_new = numbers(missing)
    model = SuperLearnerRegressor(random_state=0).fit(X, y)
    found = run(model, X_new, "float64")["variable"][:, 0]
    np.testing.assert_allclose(found, model.predict(X_new), rtol=3e-6)
    small = run(model.drop_unused(), X_new, "float64")["variable"][:, 0]
    np.testing.assert_array_equal(small, found)
    X, y = load_breast_cancer(return_X_y=True)
    model = SuperLearnerClassifier(random_state=0).fit(X[::2], y[::2])
    assert model.temperature_ != 1
    found = run(model, X[1::2], "float64")
    np.testing.assert_allclose(found["probabilities"], model.predict_proba(X[1::2]), atol=3e-6)
    np.testing.assert_array_equal(found["label"], model.predict(X[1::2]))


def test_members_of_a_user():
    tool("onnx")
    X, y, X_new = numbers(missing=False)
    given = [
        LinearRegression(),
        Lasso(0.1),
        BaggingRegressor(n_estimators=40, random_state=0),
        GradientBoostingRegressor(n_estimators=50, loss="huber", max_depth=1, random_state=0),
    ]
    for member in given:
        model = SuperLearnerRegressor([member]).fit(X, y)
        found = run(model, X_new, "float64")["variable"][:, 0]
        np.testing.assert_allclose(found, model.predict(X_new), rtol=3e-6)
    X, y = load_iris(return_X_y=True)
    given = [
        LogisticRegression(max_iter=1000),
        RandomForestClassifier(40, random_state=0),
        GradientBoostingClassifier(n_estimators=20, random_state=0),
    ]
    for member in given:
        model = SuperLearnerClassifier([member]).fit(X, y)
        found = run(model, X, "float64")
        np.testing.assert_allclose(found["probabilities"], model.predict_proba(X), atol=3e-6)


def test_columns_by_their_names_and_columns_without_any_value():
    tool("onnx")
    X, y, X_new = numbers()
    X, X_new = np.column_stack([X, np.full(250, np.nan)]), np.column_stack([X_new, X_new[:, 0]])
    names = [f"column {j}" for j in range(11)]
    given = ["linear", "neighbors", "boosting"]
    model = SuperLearnerRegressor(given, random_state=0).fit(pd.DataFrame(X, columns=names), y)
    expected = model.predict(pd.DataFrame(X_new, columns=names))
    for inputs in ("matrix", "columns"):
        found = run(model, X_new, "float64", inputs=inputs)["variable"][:, 0]
        np.testing.assert_allclose(found, expected, rtol=3e-6)
    empty = clone(model).set_params(members=["linear"]).fit(np.full((50, 2), np.nan), y[:50])
    found = run(empty, X_new[:, :2], "float64")["variable"][:, 0]
    np.testing.assert_allclose(found, y[:50].mean())


def test_members_without_a_form_are_named():
    tool("onnx")
    X, y, _ = numbers(missing=False)
    model = SuperLearnerRegressor(["linear", ("near", KNeighborsRegressor(20))]).fit(X, y)
    assert model.member_weights_["near"] > 0
    with pytest.raises(ValueError, match=r"'near', of weight .*not KNeighbors.*without"):
        export.onnx(model)
    weight = np.arange(len(y)) % 3 + 1.0
    model = SuperLearnerRegressor(["neighbors"]).fit(X, y, sample_weight=weight)
    with pytest.raises(ValueError, match=r"'neighbors', of weight 1, .*rows count 1 each"):
        export.onnx(model)
    # A member of weight 0 is not asked for.
    model = SuperLearnerRegressor(["linear", ("near", KNeighborsRegressor(1))]).fit(X, y)
    assert model.member_weights_["near"] == 0
    export.onnx(model)
