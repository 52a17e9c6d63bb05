"""Importances of terms and explanations of rows: the numbers are those of the model."""

import sys

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from sklearn_ensemble_theory import L2BoostingRegressor
from sklearn_ensemble_theory.inspection import ImportanceDisplay, LocalExplanationDisplay
from sklearn_ensemble_theory.inspection._plotting import COLORS, decimals_of, number

from .additive_models import TableClassifier, TableRegressor
from .mixed_data import mixed_rows, mixed_terms

importances = ImportanceDisplay.from_estimator
explain = LocalExplanationDisplay.from_estimator


@pytest.fixture(scope="module")
def rows():
    return mixed_rows()


@pytest.fixture(scope="module")
def model(rows):
    return TableRegressor(*mixed_terms(rows), 3.0).fit(rows)


@pytest.fixture(scope="module")
def three_classes(rows):
    y = np.random.default_rng(0).choice(["a", "b", "c"], len(rows))
    terms, categories = mixed_terms(rows, 3)
    return TableClassifier(terms, categories, np.array([0.2, 0.1, -0.3])).fit(rows, y)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def labels(ax):
    return [label.get_text() for label in ax.get_yticklabels()]


def texts(ax):
    return [text.get_text().replace("\N{MINUS SIGN}", "-") for text in ax.texts]


def test_importances(model):
    display = importances(model)
    order = np.argsort(-model.term_importances_)
    widths = [bar.get_width() for bar in display.bars_]
    np.testing.assert_allclose(widths, model.term_importances_[order])
    assert labels(display.ax_) == [model.term_names_[t] for t in order]
    pairs = [len(model.term_features_[t]) == 2 for t in order]
    assert [bar.get_facecolor() for bar in display.bars_] == [
        plt.matplotlib.colors.to_rgba(COLORS[int(pair)]) for pair in pairs
    ]
    assert display.ax_.get_xlabel() == "mean absolute contribution to the prediction"
    assert display.ax_.get_title() == "Importance of the terms"
    assert display.ax_.get_legend() is not None
    assert display.ax_.yaxis_inverted()
    few = importances(model, max_bars=2)
    assert labels(few.ax_) == [model.term_names_[t] for t in order[:2]]
    assert few.ax_.get_title() == "Importance of the terms, 2 of 7"
    assert few.ax_.get_legend() is None


def test_importances_on_given_axes(model, three_classes):
    _, ax = plt.subplots()
    assert importances(model, ax=ax).ax_ is ax
    assert importances(three_classes).ax_.get_xlabel().endswith("to the score of each class")


def test_a_row_is_the_sum_of_its_bars(model, rows):
    i = int(np.flatnonzero(rows["age"].isna())[0])
    X = rows.iloc[[i]]
    terms = model.predict_terms(X)[0]
    display = explain(model, X)
    order = np.argsort(-np.abs(terms))
    np.testing.assert_allclose([bar.get_width() for bar in display.bars_], terms[order])
    # Each bar begins where the one before ends: from the intercept to the prediction.
    starts = [bar.get_x() for bar in display.bars_]
    np.testing.assert_allclose(starts, 3.0 + np.r_[0, np.cumsum(terms[order])[:-1]])
    income, city = X["income"].iloc[0], X["city"].iloc[0]
    names = labels(display.ax_)
    assert (names[0], names[-1]) == ("intercept", "prediction")
    assert {"age = missing", f"city = {city}", f"income = {income:.0f}"} <= set(names)
    assert f"age & city = missing, {city}" in names
    total = model.predict(X)[0]
    assert 0.1 < np.abs(terms).max() < 1  # three decimals
    expected = f"intercept 3.000 + terms {terms.sum():.3f}\n= prediction {total:.3f}"
    assert display.ax_.get_title(loc="right").replace("\N{MINUS SIGN}", "-") == expected
    assert texts(display.ax_) == [*(f"{t:+.3f}" for t in terms[order]), "3.000", f"{total:.3f}"]


def test_bars_from_zero(model, rows):
    display = explain(model, rows.iloc[[3]], style="bar")
    assert [bar.get_x() for bar in display.bars_] == [0] * 7
    assert display.ax_.get_xlabel() == "added to the prediction"
    assert len(labels(display.ax_)) == 7


@pytest.mark.parametrize(("max_terms", "n_others"), [(1, 6), (5, 2), (6, 0), (7, 0)])
def test_other_terms_are_added_up(model, rows, max_terms, n_others):
    display = explain(model, rows.iloc[[3]], max_terms=max_terms)
    terms = model.predict_terms(rows.iloc[[3]])[0]
    widths = [bar.get_width() for bar in display.bars_]
    assert sum(widths) == pytest.approx(terms.sum())
    assert len(widths) == (max_terms + 1 if n_others else 7)
    others = [name for name in labels(display.ax_) if "other" in name]
    assert others == ([f"{n_others} other terms"] if n_others else [])


def test_terms_that_are_zero_have_no_bars():
    X = np.random.default_rng(0).uniform(size=(50, 4))
    model = L2BoostingRegressor(5, smoothing_rounds=0, interactions=0).fit(X, X[:, 2])
    display = explain(model, X[:1])
    names = labels(display.ax_)
    assert names == ["intercept", f"x2 = {X[0, 2]:.3g}", "3 other terms", "prediction"]
    assert len(explain(L2BoostingRegressor(5).fit(X, np.ones(50)), X[:1]).bars_) == 1


def test_two_classes(rows):
    y = np.where(rows["sex"] > 0, "ill", "healthy")
    model = TableClassifier(*mixed_terms(rows), -0.5).fit(rows, y)
    display = explain(model, rows.iloc[[7]])
    odds = model.decision_function(rows.iloc[[7]])[0]
    assert display.probability == pytest.approx(1 / (1 + np.exp(-odds)))
    _, second = display.ax_.get_title(loc="right").replace("\N{MINUS SIGN}", "-").split("\n")
    probability = f"probability {display.probability:.3f}"
    assert second == f"= log-odds of ill {odds:.2f}, {probability}"
    for odds, expected in ((9.0, "above 0.999"), (-9.0, "below 0.001")):
        far = TableClassifier(*mixed_terms(rows), odds).fit(rows, y)
        sure = explain(far, rows.iloc[[7]])
        assert sure.ax_.get_title(loc="right").endswith(f"probability {expected}")


@pytest.mark.parametrize("target", [None, "b"])
def test_several_classes(three_classes, rows, target):
    X = rows.iloc[[5]]
    display = explain(three_classes, X, target=target)
    name = target or three_classes.predict(X)[0]
    k = list("abc").index(name)
    np.testing.assert_allclose(display.contributions, three_classes.predict_terms(X)[0, :, k])
    assert display.intercept == three_classes.intercept_[k]
    assert display.unit == f"score of {name}"
    assert display.probability == three_classes.predict_proba(X)[0, k]


def test_values_in_labels():
    X = pd.DataFrame({"n": pd.array([1, 2, None], dtype="Int64"), "flag": [True, False, True]})
    X["x"] = [0.00001234, -3.14159, 1234.5]
    cut = np.array([0.5])
    terms = [((1,), cut, np.array([1.0, 2.0])), ((2,), cut, np.array([3.0, 4.0]))]
    model = TableRegressor(terms).fit(X.assign(n=1))
    assert set(labels(explain(model, X.iloc[[0]]).ax_)) >= {
        "flag = True",
        "x = 1.23e\N{MINUS SIGN}05",
    }
    assert "x = 1234" in labels(explain(model, X.iloc[[2]]).ax_)
    terms.append(((0,), cut, np.array([1.0, 9.0])))
    model.set_params(terms=terms).fit(X.assign(n=1))
    model._column = lambda X, j: np.zeros(len(X))
    assert "n = missing" in labels(explain(model, X.iloc[[2]]).ax_)


def test_numbers():
    assert number(-1.5) == "\N{MINUS SIGN}1.5"
    assert [number(x) for x in (999.9, 12345.6, 1e7, 0.5)] == ["1000", "12346", "1e+07", "0.5"]
    assert number(0.0, 2, signed=True) == "+0.00"
    sizes = [[23.7, 1.0], [0.5], [31000.0], [1e9], [1e-9], []]
    assert [decimals_of(np.array(s)) for s in sizes] == [1, 3, 0, None, None, None]


def test_refusals(model, rows, three_classes):
    with pytest.raises(ValueError, match="X must have one row; got 400"):
        explain(model, rows)
    with pytest.raises(ValueError, match="style must be"):
        explain(model, rows.iloc[[0]], style="pie")
    with pytest.raises(ValueError, match="max_terms"):
        explain(model, rows.iloc[[0]], max_terms=0)
    with pytest.raises(ValueError, match="max_bars"):
        importances(model, max_bars=1.5)
    with pytest.raises(ValueError, match="one of the classes"):
        explain(three_classes, rows.iloc[[0]], target="d")
    with pytest.raises(NotFittedError):
        explain(L2BoostingRegressor(), rows.iloc[[0]])
    with pytest.raises(TypeError, match="is not an estimator instance"):
        importances(object())


@pytest.mark.parametrize("name", ["ImportanceDisplay", "LocalExplanationDisplay"])
def test_matplotlib_is_needed(model, rows, monkeypatch, name):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=rf"{name} requires matplotlib.*\[plot\]"):
        importances(model) if name[0] == "I" else explain(model, rows.iloc[[0]])


def test_terms_of_a_logarithm(rows):
    class LogRegressor(TableRegressor):
        link_ = "log"

        def predict(self, X):
            return np.exp(super().predict(X))

    row = rows.iloc[[3]]
    model = LogRegressor(*mixed_terms(rows), 3.0).fit(rows)
    display = explain(model, row)
    assert display.response == pytest.approx(np.exp(3.0 + model.predict_terms(row).sum()))
    assert labels(display.ax_)[-1] == "logarithm of the prediction"
    assert display.ax_.get_title(loc="right").endswith(f", prediction {display.response:.3g}")
