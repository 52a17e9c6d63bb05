"""Additive models as ONNX graphs, without onnx: their trees, their errors.

tests/integration/test_deployed.py runs the graphs.
"""

import sys
import warnings

import numpy as np
import pandas as pd
import pytest

from sklearn_ensemble_theory import L2BoostingRegressor, LogitBoostClassifier, export
from sklearn_ensemble_theory.export._onnx_additive import Trees, cuts_of
from sklearn_ensemble_theory.export._plain import PlainModel

from .deployed_data import NAMES, fitted, rows_of


def leaves_of(trees, x):
    """The weight that the first tree adds to each value."""
    nodes = {number: rest for tree, number, *rest in trees.nodes if tree == 0}
    weights = {number: weight for tree, number, _, weight in trees.leaves if tree == 0}
    found = []
    for value in x:
        number, depth = 0, 0
        while number not in weights:
            _, mode, cut, left, right = nodes[number]
            assert mode == "BRANCH_LEQ"
            number, depth = (left if value <= x.dtype.type(cut) else right), depth + 1
        assert depth <= np.ceil(np.log2(len(weights)))
        found.append(weights[number])
    return np.array(found)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_bins_of_either_precision(dtype):
    """Edges that are no numbers of single precision, or the same ones after rounding."""
    model, real = fitted("real"), np.dtype(dtype)
    plain = PlainModel.of(model)
    X = rows_of(model, 500, real)
    for j in (0, 1, 4):
        x = X[NAMES[j]].to_numpy()
        cuts, bins = cuts_of(plain.terms[j], 0, plain, real)
        assert cuts.dtype == real
        assert (np.diff(cuts) > 0).all()
        trees = Trees()
        trees.add(j, cuts, bins, 0)
        edges = model.bin_edges_[j]
        expected = np.searchsorted(edges, x.astype(float))
        expected[np.isnan(x)] = len(edges) + 1
        np.testing.assert_array_equal(leaves_of(trees, x), expected)


def test_edges_that_rounding_makes_equal():
    edges = np.array([-1e300, -1e39, 1.0, 1 + 1e-12, 1 + 2e-12, 1.5, 1e39, 1e300])
    X = np.linspace(0, 2, 40)[:, None]
    model = L2BoostingRegressor(5, max_bins=[edges]).fit(X, X[:, 0])
    plain = PlainModel.of(model)
    cuts, bins = cuts_of(plain.terms[0], 0, plain, np.dtype(np.float32))
    largest = np.finfo(np.float32).max
    assert cuts.tolist() == [-np.inf, 1.0, 1.5, largest, np.inf]
    x = np.array([-largest, 1.0, np.nextafter(np.float32(1), 2), 1.5, 2.0, largest], np.float32)
    trees = Trees()
    trees.add(0, cuts, bins, 0)
    np.testing.assert_array_equal(leaves_of(trees, x), np.searchsorted(edges, x.astype(float)))


@pytest.mark.parametrize(
    "known",
    [
        [0.25, 0.5],
        [-np.inf, 1.0, np.inf],
        [1.0, np.nextafter(np.float32(1), np.float32(2)).item(), 2.0],
        [True],
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_categories_that_are_numbers(known, dtype):
    X = pd.DataFrame({"c": pd.Categorical([*known] * 6, categories=known)})
    model = L2BoostingRegressor(5).fit(X, np.arange(len(X)) % 3)
    plain, real = PlainModel.of(model), np.dtype(dtype)
    cuts, bins = cuts_of(plain.terms[0], 0, plain, real)
    trees = Trees()
    trees.add(0, cuts, bins, 0)
    x = np.array([*known, np.nan, -3.0, 0.3, 1.5, 7.0], dtype=real)
    expected = [plain.categories[0].index(v) if v in known else len(known) for v in x.tolist()]
    np.testing.assert_array_equal(leaves_of(trees, x), expected)


def test_bad_input(monkeypatch):
    model = fitted("real")
    for params, message in [
        ({"dtype": "float16"}, "dtype must be 'float32' or 'float64'; got 'float16'"),
        ({"inputs": "frame"}, "inputs must be 'auto', 'matrix' or 'columns'; got 'frame'"),
        ({"inputs": "matrix"}, "feature 'city' has categories that are text"),
        ({"target_opset": 12}, "target_opset must be at least 13; got 12"),
        ({"target_opset": "17"}, "target_opset must be an integer or None; got '17'"),
    ]:
        with pytest.raises(ValueError, match=message):
            export.onnx(model, **params)
    with pytest.raises(Exception, match="not fitted"):
        export.onnx(L2BoostingRegressor())
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"export\.onnx requires onnx: pip install onnx"):
        export.onnx(model)


def test_names_that_clash():
    X = pd.DataFrame(np.eye(6)[:, :2], columns=["variable", "scores"])
    model = L2BoostingRegressor(5).fit(X, np.arange(6.0))
    with pytest.raises(ValueError, match="The input 'variable' needs a name of its own"):
        export.onnx(model, inputs="columns")
    model = LogitBoostClassifier(5).fit(X, np.arange(6) % 2)
    with pytest.raises(ValueError, match="The input 'scores' needs a name of its own"):
        export.onnx(model, inputs="columns")


def test_categories_that_single_precision_does_not_have():
    X = pd.DataFrame({"c": pd.Categorical([0.1, 0.2] * 4)})
    plain = PlainModel.of(L2BoostingRegressor(5).fit(X, np.arange(8.0)))
    with pytest.raises(ValueError, match="'c' has categories that are no float32 numbers; use dty"):
        cuts_of(plain.terms[0], 0, plain, np.dtype(np.float32))
    assert len(cuts_of(plain.terms[0], 0, plain, np.dtype(np.float64))[0]) == 4
    X = pd.DataFrame({"c": pd.Categorical([2**53 + 1, 2] * 4)})
    plain = PlainModel.of(L2BoostingRegressor(5).fit(X, np.arange(8.0)))
    with pytest.raises(ValueError, match="'c' has categories that are no float64 numbers"):
        cuts_of(plain.terms[0], 0, plain, np.dtype(np.float64))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_thresholds_that_single_precision_merges(dtype, monkeypatch):
    """Near 1e9 single precision has every 64th integer."""
    monkeypatch.setitem(sys.modules, "onnx", None)
    X = pd.DataFrame({"when": 1e9 + 4 * np.arange(40.0), "b": np.arange(40.0) % 3})
    model = L2BoostingRegressor(20, interactions=[(0, 1)]).fit(X, np.arange(40) % 5)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises(ImportError):
            export.onnx(model, dtype=dtype)
    words = "Single precision does not tell apart some thresholds of 'when': predictions"
    assert [str(w.message).startswith(words) for w in caught] == [True] * (dtype == "float32")
    assert all("dtype='float64'" in str(w.message) and w.filename == __file__ for w in caught)
