"""Fits with an offset ask for it where its absence would be a silent wrong answer."""

import re

import numpy as np
import pytest
from sklearn import config_context
from sklearn.inspection import permutation_importance
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import GridSearchCV, KFold

from sklearn_ensemble_theory import (
    AdditiveBoostingRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    L2BoostingRegressor,
    LogitBoostClassifier,
    export,
)
from sklearn_ensemble_theory.boosting import CVRounds, merge_additive_models
from sklearn_ensemble_theory.inspection import (
    LocalExplanationDisplay,
    partial_dependence,
    report_html,
)

REGRESSORS = [
    GradientBoostingRegressor(loss="poisson", n_estimators=5, random_state=0),
    HistGradientBoostingRegressor(loss="poisson", max_iter=5, early_stopping=False),
    AdditiveBoostingRegressor(5, loss="poisson", interactions=0),
    L2BoostingRegressor(5, interactions=0),
]
CLASSIFIERS = [
    GradientBoostingClassifier(n_estimators=5, random_state=0),
    HistGradientBoostingClassifier(max_iter=5, early_stopping=False),
    LogitBoostClassifier(5, interactions=0),
]
MODELS = [*REGRESSORS, *CLASSIFIERS]
WITHOUT = "was fitted with an offset, and X is predicted without one"
NAMES = {"argvalues": MODELS, "ids": lambda model: type(model).__name__}


def rows(seed=1, n=600):
    """Counts whose exposures are long where their rates are low."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    exposure = rng.uniform(0.1, 4, n) * np.exp(-0.9 * X[:, 0])
    return X, exposure, rng.poisson(exposure * np.exp(0.4 * X[:, 0]))


X, EXPOSURE, COUNTS = rows()
OFFSET = np.log(EXPOSURE)


def targets(model):
    return COUNTS if model in REGRESSORS else COUNTS > 0


# --- scores ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", **NAMES)
def test_scores_need_the_offset_of_the_fit(model):
    y = targets(model)
    model.fit(X, y, offset=OFFSET)
    message = r"score\(X, y, offset=\.\.\.\).*set_score_request\(offset=True\)"
    with pytest.raises(ValueError, match=message):
        model.score(X, y)
    metric = r2_score if model in REGRESSORS else accuracy_score
    assert model.score(X, y, offset=OFFSET) == metric(y, model.predict(X, offset=OFFSET))
    assert model.score(X, y, offset=0) == metric(y, model.predict(X, offset=0))
    # The next fit has none.
    assert model.fit(X, y).score(X, y) == metric(y, model.predict(X))


GRID = {"n_estimators": [1, 20, 100, 300]}


def test_a_search_chooses_by_scores_with_exposures():
    """Scores of rates, which are not what was counted, choose one round."""

    class OfRates(GradientBoostingRegressor):
        def score(self, X, y, sample_weight=None, offset=None):
            return super().score(X, y, sample_weight, 0 if offset is None else offset)

    model = GradientBoostingRegressor(loss="poisson", random_state=0)
    of_rates = OfRates(loss="poisson", random_state=0)
    search = GridSearchCV(of_rates, GRID, cv=3).fit(X, COUNTS, offset=OFFSET)
    assert search.best_params_ == {"n_estimators": 1}
    assert search.best_score_ < 0
    search = GridSearchCV(model, GRID, cv=3, error_score="raise")
    with pytest.raises(ValueError, match="score needs the offset"):
        search.fit(X, COUNTS, offset=OFFSET)
    with config_context(enable_metadata_routing=True):
        asked = GradientBoostingRegressor(loss="poisson", random_state=0)
        asked.set_fit_request(offset=True).set_score_request(offset=True)
        search = GridSearchCV(asked, GRID, cv=3).fit(X, COUNTS, offset=OFFSET)
        assert search.best_params_ == {"n_estimators": 20}
        assert search.best_score_ > 0.4
        for k, (train, test) in enumerate(KFold(3).split(X)):
            own = GradientBoostingRegressor(n_estimators=20, loss="poisson", random_state=0)
            own.fit(X[train], COUNTS[train], offset=OFFSET[train])
            score = own.score(X[test], COUNTS[test], offset=OFFSET[test])
            assert search.cv_results_[f"split{k}_test_score"][1] == score


def test_rounds_by_folds_know_the_exposures():
    """The risk of the folds is that of counts; a warm start and early stopping score by it too."""
    model = GradientBoostingRegressor(
        n_estimators=CVRounds(KFold(3)), loss="poisson", random_state=0
    )
    model.fit(X, COUNTS, offset=OFFSET)
    own = GradientBoostingRegressor(n_estimators=3, loss="poisson", random_state=0)
    for k, (train, test) in enumerate(KFold(3).split(X)):
        own.fit(X[train], COUNTS[train], offset=OFFSET[train])
        means = own.staged_predict(X[test], offset=OFFSET[test])
        risks = [np.mean(mean - COUNTS[test] * np.log(mean)) for mean in means]
        np.testing.assert_allclose(model.cv_results_[f"split{k}_score"][:3], risks, rtol=1e-9)
    model = HistGradientBoostingRegressor(
        loss="poisson", max_iter=3, warm_start=True, early_stopping=True, scoring="r2"
    )
    model.fit(X, COUNTS, offset=OFFSET).set_params(max_iter=6).fit(X, COUNTS, offset=OFFSET)
    # The metric of rows whose scores are known has their offset.
    assert model.validation_score_[-1] > model.validation_score_[0]
    with pytest.raises(ValueError, match="score needs the offset"):
        model.score(X, COUNTS)


def test_permutation_importances():
    model = GradientBoostingRegressor(n_estimators=20, loss="poisson", random_state=0)
    model.fit(X, COUNTS, offset=OFFSET)
    with pytest.raises(ValueError, match="score needs the offset"):
        permutation_importance(model, X, COUNTS, n_repeats=2, random_state=0)

    def score(model, X, y):
        return model.score(X, y, offset=OFFSET)

    found = permutation_importance(model, X, COUNTS, scoring=score, n_repeats=2, random_state=0)
    assert found.importances_mean.argmax() == 0


# --- predictions ----------------------------------------------------------------------------------


@pytest.mark.parametrize("model", **NAMES)
def test_predictions_without_an_offset_warn_once_with_the_cure(model):
    model.fit(X, targets(model), offset=OFFSET)
    names = ["predict", "predict_proba", "predict_log_proba", "decision_function"]
    for name in [*names, "staged_predict"]:
        if not hasattr(model, name):
            continue

        def call(*offset, name=name):
            found = getattr(model, name)(X, *offset)
            return list(found) if name.startswith("staged") else found

        with pytest.warns(UserWarning, match=WITHOUT) as caught:
            without = call()
        (warning,) = caught
        assert warning.filename == __file__
        assert re.search("or offset=0 if you want these rates", str(warning.message))
        np.testing.assert_array_equal(call(0), without)
        np.testing.assert_array_equal(call(np.zeros(len(X))), without)
    model.fit(X, targets(model)).predict(X)


def test_uncertainty_without_an_offset_warns():
    model = GradientBoostingRegressor(
        loss="poisson", n_estimators=5, random_state=0, held_out=3, max_depth=1
    ).fit(X, COUNTS, offset=OFFSET)
    additive = AdditiveBoostingRegressor(5, loss="poisson", held_out=3, interactions=0)
    for ask in (
        model.predict_interval,
        model.predict_quantiles,
        model.predict_distribution,
        lambda X: model.standard_error(X, n_pairs=2),
        additive.fit(X, COUNTS, offset=OFFSET).predict_interval,
        lambda X: additive.predict_path(X, [1, 2]),
    ):
        with pytest.warns(UserWarning, match=WITHOUT):
            ask(X[:3])


def test_models_that_are_made_of_others():
    """An edit, an average and a document of a fit with an offset ask for it too."""
    model = AdditiveBoostingRegressor(5, loss="poisson", interactions=0, max_bins=[[0.0]] * 3)
    plain = model.fit(X, COUNTS)
    assert not plain.model_.has_offset
    refitted = plain.refit(X, COUNTS, ["x0"], offset=OFFSET)
    text = export.json(plain)
    assert "has_offset" not in text
    export.from_json(text).predict(X)
    model = AdditiveBoostingRegressor(5, loss="poisson", interactions=0, max_bins=[[0.0]] * 3)
    model.fit(X, COUNTS, offset=OFFSET)
    for made in (
        refitted,
        model.remove_terms(["x1"]),
        model.refit(X, COUNTS, ["x0"]),
        merge_additive_models([plain, model]),
        export.from_json(export.json(model)),
    ):
        with pytest.warns(UserWarning, match=WITHOUT):
            made.predict(X)
        with pytest.raises(ValueError, match="score needs the offset"):
            made.score(X, COUNTS)
    document = export.json(model).replace('"has_offset": true', '"has_offset": 1')
    with pytest.raises(ValueError, match="has_offset must be true or false"):
        export.from_json(document)


@pytest.mark.parametrize("model", **NAMES)
def test_partial_dependence_is_of_rates(model):
    model.fit(X, targets(model), offset=OFFSET)
    found = partial_dependence(model, X, [0], grid_resolution=3, method="brute")
    expected = []
    for value in found.grid_values[0]:
        moved = X.copy()
        moved[:, 0] = value
        ask = model.predict if model in REGRESSORS else model.predict_proba
        expected.append(np.mean(ask(moved, offset=0).reshape(len(X), -1)[:, -1]))
    if isinstance(model, AdditiveBoostingRegressor):  # in closed form, of scores
        expected = np.log(expected) if model.link_ == "log" else expected
        expected -= expected[0] - found.average[0, 0]
    np.testing.assert_allclose(found.average[0], expected, rtol=1e-10)


def test_displays_of_single_rows_are_of_rates():
    pytest.importorskip("matplotlib")
    model = AdditiveBoostingRegressor(5, loss="poisson", interactions=0)
    model.fit(X, COUNTS, offset=OFFSET)
    display = LocalExplanationDisplay.from_estimator(model, X[:1])
    assert display.response == model.predict(X[:1], offset=0)[0]
    assert "Predictions of single rows" in report_html(model, X[:50])
    assert "R²" in report_html(model, X, COUNTS, offset=OFFSET)
    with pytest.warns(UserWarning, match=WITHOUT):
        report_html(model, X, COUNTS)
