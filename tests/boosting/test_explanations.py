"""Shapley values of additive models: the closed form against sums over all subsets of features."""

import sys
from itertools import combinations
from math import factorial
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from sklearn_ensemble_theory.boosting._additive.shapley import explain_terms, shapley_values

from ..inspection.additive_models import TableClassifier, TableRegressor
from ..inspection.mixed_data import mixed_rows, mixed_terms


def interventional_values(predict, x, background, weights):
    """Shapley values of the features of a row x by their definition [Lundberg and Lee, 2017]."""
    p = background.shape[1]
    worth = {}
    for size in range(p + 1):
        for subset in combinations(range(p), size):
            rows = background.copy()
            for j in subset:
                rows.isetitem(j, [x[j]] * len(rows))
            worth[frozenset(subset)] = np.average(predict(rows), axis=0, weights=weights)
    result = []
    for j in range(p):
        parts = []
        for subset in worth:
            if j not in subset:
                share = factorial(len(subset)) * factorial(p - len(subset) - 1) / factorial(p)
                parts.append(share * (worth[subset | {j}] - worth[subset]))
        result.append(np.sum(parts, axis=0))
    return np.array(result), worth[frozenset()]


@pytest.fixture(scope="module")
def rows():
    return mixed_rows(60, seed=3)


@pytest.fixture(scope="module")
def weights(rows):
    return np.random.default_rng(5).integers(1, 4, len(rows)).astype(float)


@pytest.mark.parametrize("n_classes", [1, 3])
def test_values_are_those_of_the_definition(rows, weights, n_classes):
    """Main effects, a category, missing values and pairs whose features depend on each other."""
    terms, categories = mixed_terms(rows, n_classes)
    if n_classes == 1:
        model = TableRegressor(terms, categories, 2.0).fit(rows, sample_weight=weights)
        predict = model.predict
    else:
        model = TableClassifier(terms, categories, np.array([0.1, 0.2, -0.3]))
        model.fit(rows, np.arange(len(rows)) % 3, sample_weight=weights)
        predict = model.decision_function
    new = mixed_rows(4, seed=9)
    values, base = shapley_values(model, new)
    for i in range(len(new)):
        row = new.iloc[i].to_list()
        expected, mean = interventional_values(predict, row, rows, weights)
        np.testing.assert_allclose(values[i], expected, rtol=0, atol=1e-12)
        np.testing.assert_allclose(base, mean, rtol=0, atol=1e-12)
    np.testing.assert_allclose(base + values.sum(axis=1), predict(new), rtol=0, atol=1e-12)


def test_a_term_with_mean_zero_is_the_value(rows):
    """Without pairs the values are the centred terms; a pair of margins 0 is divided in halves."""
    terms, categories = mixed_terms(rows)
    model = TableRegressor(terms[:4], categories).fit(rows)
    parts = model.predict_terms(rows)
    values, base = shapley_values(model, rows)
    np.testing.assert_allclose(values, (parts - parts.mean(axis=0))[:, [0, 1, 2, 3]], atol=1e-12)
    assert base == pytest.approx(parts.sum(axis=1).mean())
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    cut = np.array([0.5])
    pair = TableRegressor([((0, 1), (cut, cut), np.array([[1.0, -1.0], [-1.0, 1.0]]))]).fit(X)
    values, base = shapley_values(pair, X)
    np.testing.assert_allclose(values, np.outer([0.5, -0.5, -0.5, 0.5], [1, 1]))
    assert base == 0


def test_halves_are_wrong_where_the_margins_are_not_zero():
    """Why a pair is not simply divided: 3 x_a + (a pair of mean zero) as one table."""
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    cut = np.array([0.5])
    table = np.array([[0.0, 0.0], [3.0, 3.0]])
    values, _ = shapley_values(TableRegressor([((0, 1), (cut, cut), table)]).fit(X), X)
    np.testing.assert_allclose(values, [[-1.5, 0], [-1.5, 0], [1.5, 0], [1.5, 0]])


def test_explanation_for_shap(rows):
    shap = pytest.importorskip("shap")
    terms, categories = mixed_terms(rows)
    model = TableRegressor(terms, categories, 2.0).fit(rows)
    explanation = explain_terms(model, rows)
    assert isinstance(explanation, shap.Explanation)
    values, base = shapley_values(model, rows)
    np.testing.assert_array_equal(explanation.values, values)
    np.testing.assert_array_equal(explanation.base_values, np.full(len(rows), base))
    assert explanation.feature_names == ["age", "city", "income", "sex"]
    assert explanation.data.shape == (60, 4)
    total = explanation[3].values.sum() + explanation[3].base_values
    assert total == pytest.approx(model.predict(rows.iloc[[3]])[0])


def test_explanation_of_several_classes(rows):
    pytest.importorskip("shap")
    terms, categories = mixed_terms(rows, 3)
    labels = np.array(["a", "b", "c"])[np.arange(60) % 3]
    model = TableClassifier(terms, categories, np.zeros(3)).fit(rows, labels)
    explanation = explain_terms(model, rows)
    assert explanation.values.shape == (60, 4, 3)
    assert explanation.base_values.shape == (60, 3)
    assert list(explanation.output_names) == ["a", "b", "c"]


def test_values_are_those_of_shap(rows):
    """shap's own exact explainer, with the training rows as background."""
    shap = pytest.importorskip("shap")
    X = rows[["income", "sex"]].to_numpy()
    cuts = np.quantile(X[:, 0], [0.25, 0.5, 0.75]), np.array([0.5])
    rng = np.random.default_rng(0)
    terms = [((0,), cuts[0], rng.normal(size=4)), ((0, 1), cuts, rng.normal(size=(4, 2)))]
    model = TableRegressor(terms, intercept=1.0).fit(X)
    exact = shap.explainers.Exact(model.predict, shap.maskers.Independent(X, max_samples=100))
    found = exact(X[:5])
    ours = explain_terms(model, X[:5])
    np.testing.assert_allclose(ours.values, found.values, atol=1e-12)
    np.testing.assert_allclose(ours.base_values, found.base_values, atol=1e-12)


class ExplainedRegressor(TableRegressor):
    """A model that has the method."""

    explain = explain_terms


def test_explanation_is_made_of_the_values(rows, monkeypatch):
    """Without shap too: what its class is given."""
    module = SimpleNamespace(Explanation=lambda values, **rest: {"values": values, **rest})
    monkeypatch.setitem(sys.modules, "shap", module)
    model = ExplainedRegressor(*mixed_terms(rows), 2.0).fit(rows)
    explanation = model.explain(rows)
    values, base = shapley_values(model, rows)
    np.testing.assert_array_equal(explanation["values"], values)
    np.testing.assert_array_equal(explanation["base_values"], np.full(len(rows), base))
    np.testing.assert_allclose(base + values.sum(axis=1), model.predict(rows))
    assert explanation["feature_names"] == ["age", "city", "income", "sex"]
    assert explanation["output_names"] is None


def test_shap_is_needed(rows, monkeypatch):
    monkeypatch.setitem(sys.modules, "shap", None)
    model = ExplainedRegressor(*mixed_terms(rows))
    with pytest.raises(NotFittedError):
        model.explain(rows)
    with pytest.raises(ImportError, match=r"ExplainedRegressor.explain requires shap: pip install"):
        model.fit(rows).explain(rows)
