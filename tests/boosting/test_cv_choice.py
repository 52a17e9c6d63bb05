"""Objects that hold the options of a choice by cross-validation: parameters of parameters."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_regression
from sklearn.model_selection import GridSearchCV

from sklearn_ensemble_theory import FrankWolfeRegressor, MatchingPursuitRegressor
from sklearn_ensemble_theory.boosting import CVChoice, CVRounds

X, Y = make_regression(60, 4, noise=20.0, random_state=0)
MODELS = [
    (FrankWolfeRegressor(radius=CVChoice([1.0, 50.0], cv=3), n_estimators=20), "radius"),
    (MatchingPursuitRegressor(CVRounds(3, max_estimators=6)), "n_estimators"),
]


@pytest.mark.parametrize(("model", "name"), MODELS, ids=["radius", "rounds"])
def test_options_are_parameters(model, name):
    option = getattr(model, name)
    assert model.get_params()[f"{name}__cv"] == 3
    copy = clone(model)
    assert getattr(copy, name) is not option
    copy.set_params(**{f"{name}__cv": 4})
    assert option.cv == 3
    assert repr(pickle.loads(pickle.dumps(option))) == repr(option)
    copy.fit(X, Y)
    results = copy.cv_results_
    np.testing.assert_array_equal(
        results["mean_score"], np.mean([results[f"split{k}_score"] for k in range(4)], axis=0)
    )
    spread = np.std([results[f"split{k}_score"] for k in range(4)], axis=0, ddof=1) / 2
    np.testing.assert_allclose(results["standard_error"], spread)
    loaded = pickle.loads(pickle.dumps(copy))
    np.testing.assert_array_equal(loaded.predict(X), copy.predict(X))
    search = GridSearchCV(model, {f"{name}__cv": [2, 3]}, cv=2, error_score="raise").fit(X, Y)
    assert search.best_params_[f"{name}__cv"] in (2, 3)


def test_a_number_is_no_choice_and_a_list_is_one():
    assert CVChoice.of(2.0) is None
    assert CVChoice.of("cv").values is None
    assert CVChoice.of([1.0, 2.0]).values == [1.0, 2.0]
    with pytest.raises(ValueError, match="'cv' parameter of CVChoice"):
        CVChoice.of(CVChoice(cv="five"))
    fitted = FrankWolfeRegressor(radius=[1.0, 50.0]).fit(X, Y)
    assert not hasattr(fitted.set_params(radius=1.0).fit(X, Y), "cv_results_")


def test_wrong_options_are_named_before_any_work():
    with pytest.raises(ValueError, match="'cv' parameter of CVChoice"):
        FrankWolfeRegressor(radius=CVChoice(cv="five")).fit(X, Y)
    with pytest.raises(ValueError, match="radius must be a list of positive numbers"):
        FrankWolfeRegressor(radius=[1.0, -2.0]).fit(X, Y)
