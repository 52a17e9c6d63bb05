"""Additive models as cards to read."""

import re

import numpy as np
import pandas as pd
import pytest

from sklearn_ensemble_theory import L2BoostingRegressor, export
from sklearn_ensemble_theory.export._scorecard import merged

from .deployed_data import KINDS, NAMES, fitted


def paragraphs(text):
    return text.split("\n\n")


@pytest.mark.parametrize("kind", KINDS)
def test_terms_by_importance(kind):
    model = fitted(kind)
    parts = paragraphs(export.text(model))
    names = [part.split("\n")[0].rsplit(": ", 1)[0] for part in parts[2:-1]]
    order = np.argsort(-model.term_importances_, kind="stable")
    is_used = [values.any() for _, values in model.shape_functions_]
    assert names == [model.term_names_[t] for t in order if is_used[t]]
    assert parts[-1].startswith("Always 0: none")
    for part in parts[2:-1]:
        if "&" not in part.split("\n")[0]:
            assert len(part.split("\n")) <= 2 + 8 + 1
    two = export.text(model, max_terms=2)
    assert paragraphs(two)[:4] == parts[:4]
    assert f"{sum(is_used) - 2} terms of less importance are not shown." in two
    assert parts[0].endswith(
        {
            "real": "prediction = score.",
            "log": "prediction = exp(score).",
            "share": "prediction = 1 / (1 + exp(-score)).",
            "two": "probability of 'no' = 1 / (1 + exp(-score)).",
            "three": "probabilities of the classes = softmax of their scores.",
        }[kind]
    )


def test_a_card_with_a_row_for_every_bin_predicts():
    """Its numbers are the model's, to the digits that it has."""
    X = pd.DataFrame({"x": [1.0, 2.0, 3.0, np.nan] * 5, "c": pd.Categorical(["b", "a"] * 10)})
    model = L2BoostingRegressor(5).fit(X, np.arange(20.0))
    values = np.array([1.5, 5.25, 2.0, -3.0]), np.array([0.25, 100.0, 0.0])
    model.shape_functions_ = [(e, v) for (e, _), v in zip(model.shape_functions_, values)]
    found = re.findall(
        r"^  (\S.*?)  +(-?[\d.]+)( |$)", export.text(model, max_rows=20), re.MULTILINE
    )
    value = {name: float(number) for name, number, _ in found}
    keys = {1.0: "<= 1.5", 2.0: "1.5 < x <= 2.5", 3.0: "> 2.5"}
    for i in range(4):
        x = keys.get(X["x"][i], "missing")
        card = value["intercept"] + value[x] + value[X["c"][i]]
        assert card == pytest.approx(model.predict(X)[i], abs=1.6)


def test_merged_bins():
    """Equal neighbours come together; then the pairs that add least to the sum of squares."""
    values = np.array([0.0, 0, 1, 5, 5.5, 9])[:, None]
    groups = merged(values, np.array([1.0, 1, 1, 1, 1, 4]), 10)
    assert [g.tolist() for g in groups] == [[0, 1], [2], [3], [4], [5]]
    groups = merged(values, np.array([1.0, 1, 1, 1, 1, 4]), 3)
    assert [g.tolist() for g in groups] == [[0, 1, 2], [3, 4], [5]]
    # A bin without weight goes to the side that is nearer.
    groups = merged(np.array([0.0, 1, 4])[:, None], np.array([1.0, 0, 1]), 2)
    assert [g.tolist() for g in groups] == [[0, 1], [2]]
    assert len(merged(values, np.ones(6), 1)) == 1


@pytest.mark.parametrize("scale", [1e-200, 1e-3, 1.0, 1e200])
def test_units(scale):
    """Three digits of the largest value, whatever the unit."""
    X = np.arange(20.0)[:, None]
    text = export.text(L2BoostingRegressor(200).fit(X, scale * X[:, 0]))
    assert max(map(len, text.split("\n"))) < 100
    assert "e-200" in text or "e+200" in text or scale in (1e-3, 1.0)


def test_edits_and_models_of_nothing():
    model = L2BoostingRegressor(3).fit([[0.0], [0.0]], [1.0, 2.0])
    assert paragraphs(export.text(model))[1:] == [
        "  intercept  1.50",
        "Always 0: x0.\nRows of several bins or categories have means over the training rows.",
    ]
    model.edits_.append("set_term('x0')")
    assert "Edited after the fit:\n  set_term('x0')" in export.text(model)


def test_categories_of_little_weight_come_together():
    text = export.text(fitted("real"), max_rows=3)
    part = next(p for p in paragraphs(text) if p.startswith(f"{NAMES[2]}:"))
    rows = [line.strip().split("  ")[0] for line in part.split("\n")[2:]]
    assert len(rows) == 4
    assert rows[2:] == ["3 others", "missing, unknown"]


@pytest.mark.parametrize("params", [{"max_rows": 0}, {"max_rows": None}, {"max_terms": 1.5}])
def test_bad_input(params):
    with pytest.raises(ValueError, match="must be an integer"):
        export.text(fitted("real"), **params)


def test_not_fitted():
    with pytest.raises(Exception, match="not fitted"):
        export.text(L2BoostingRegressor())


def test_links_that_only_python_knows(monkeypatch):
    """The card has the scores; forms that predict are refused."""
    model = L2BoostingRegressor(5).fit(np.eye(3), np.arange(3.0))
    monkeypatch.setattr(L2BoostingRegressor, "link_", "other")
    assert "prediction = inverse link of score" in export.text(model)
    for form in (export.onnx, lambda model: export.sql(model, "rows"), export.json):
        with pytest.raises(ValueError, match="has no form outside Python; the links with one are"):
            form(model)


def test_edges_have_as_many_digits_as_tell_them_apart():
    X = 1e9 + 4 * np.arange(40.0)[:, None]
    model = L2BoostingRegressor(20).fit(X, np.arange(40.0) ** 2)
    rows = export.text(model, max_rows=3).split("\n")
    names = [row[2:].split("  ")[0] for row in rows[6:9]]
    first, last = names[0].removeprefix("<= "), names[2].removeprefix("> ")
    assert names[1] == f"{first} < x <= {last}"
    assert {float(first), float(last)} <= {*model.bin_edges_[0].tolist()}
