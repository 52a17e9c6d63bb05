"""A method that runs while another thread fits the same object again answers by one of the models.

A fit ends with one assignment of the estimator's attributes, which may come between any two lines
of a method. Here it comes between chosen lines, without a race that a test could win by chance.
"""

import sys
from threading import Thread

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.base import is_classifier

import sklearn_ensemble_theory as package
from sklearn_ensemble_theory import (
    AdditiveBoostingRegressor,
    GradientBoostingRegressor,
    LogitBoostClassifier,
    RandomForestClassifier,
    StackingRegressor,
    export,
    inspection,
    uncertainty,
)
from sklearn_ensemble_theory._door import ReadsOnce

from ..estimators import REGRESSORS, estimator_classes, make, named

INSIDE = package.__path__[0]
# Of a method; more are spread over its lines evenly.
MOST_INTERRUPTIONS = 40

rng = np.random.default_rng(0)
FIRST, SECOND, NEW = rng.random((60, 3)), rng.random((45, 3)), rng.random((7, 3))

every_class = pytest.mark.parametrize("cls", estimator_classes(), ids=lambda c: c.__name__)


def target(X, slope, model):
    y = slope * X[:, 0] + X[:, 1] + 3
    return (y > np.median(y)).astype(int) if is_classifier(model) else y


def fitted(model):
    return model.fit(FIRST, target(FIRST, 2, model))


def fitted_again(model):
    return model.fit(SECOND, target(SECOND, -2, model))


def interrupted(call, model, number=0, state=None):
    """What call(model) returns, and its number of lines.

    Before the line of this number the model gets the attributes of another fit, as by the door.
    """
    lines = 0

    def of_line(frame, event, arg):
        nonlocal lines
        lines += event == "line"
        if event == "line" and lines == number:
            sys.settrace(None)
            model.__dict__ = dict(state)
            sys.settrace(of_call)
        return of_line

    def of_call(frame, event, arg):
        return of_line if frame.f_code.co_filename.startswith(INSIDE) else None

    before = sys.gettrace()
    sys.settrace(of_call)
    try:
        return call(model), lines
    finally:
        sys.settrace(before)


def is_one_of(found, models):
    return any(np.array_equal(found, each, equal_nan=True) for each in models)


def check_methods(model, calls):
    """Each call, with the attributes of a second fit from one of its lines on."""
    second, first = fitted_again(model).__dict__, fitted(model).__dict__
    for name, call in calls.items():
        expected = []
        for state in (first, second):
            model.__dict__ = dict(state)
            expected.append(call(model))
        assert not np.array_equal(*expected), f"{name} does not tell the models apart"
        model.__dict__ = dict(first)
        _, lines = interrupted(call, model)
        for number in np.unique(np.linspace(1, lines, MOST_INTERRUPTIONS).astype(int)):
            model.__dict__ = dict(first)
            found, _ = interrupted(call, model, number, second)
            assert is_one_of(found, expected), f"{name}, line {number} of {lines}"


def stages(method):
    return lambda model: np.array(list(getattr(model, method)(NEW)))


@every_class
def test_predictions_are_those_of_one_model(cls):
    check_methods(make(cls), {"predict": lambda model: model.predict(NEW)})


OTHERS = ["predict_proba", "decision_function", "apply", "standard_error", "predict_quantiles"]
INTERVALS = {"oob_score": True, "n_estimators": 30, "random_state": 0}


@pytest.mark.filterwarnings("ignore::sklearn_ensemble_theory.averaging.StandardErrorWarning")
@pytest.mark.parametrize(
    "model",
    [
        package.RandomForestRegressor(**INTERVALS),
        RandomForestClassifier(**INTERVALS),
        GradientBoostingRegressor(n_estimators=4, held_out=2, random_state=0),
        AdditiveBoostingRegressor(20, interactions=0),
        LogitBoostClassifier(20, interactions=0),
        StackingRegressor(REGRESSORS, held_out="cv", cv=2, final_estimator="nnls"),
        package.BallConstrainedClassifier(),
        package.AdaBoostClassifier(n_estimators=4),
        package.LinearL2BoostingRegressor(package.SmoothingSplineRegressor(5, max_knots=5)),
    ],
    ids=lambda model: type(model).__name__,
)
def test_other_methods_and_properties(model):
    fitted(model)
    calls = {
        name: lambda model, name=name: np.asarray(getattr(model, name)(NEW))
        for name in OTHERS
        if hasattr(model, name)
    }
    if hasattr(model, "predict_interval"):
        calls["predict_interval"] = lambda model: model.predict_interval(NEW, 0.5)
    if hasattr(model, "feature_importances_"):
        calls["feature_importances_"] = lambda model: model.feature_importances_
    if hasattr(model, "staged_predict"):
        calls["staged_predict"] = stages("staged_predict")
    if hasattr(model, "predict_terms"):
        calls["predict_terms"] = lambda model: np.asarray(model.predict_terms(NEW))
    check_methods(model, calls)


def drawn(model):
    display = inspection.ImportanceDisplay.from_estimator(model)
    plt.close(display.figure_)
    return display.importances


OF_FOREST = {
    "ensemble_std": lambda model: inspection.ensemble_std(model, NEW),
    "training_weights": lambda model: inspection.training_weights(model, NEW).toarray(),
    "unbiased_feature_importances": inspection.unbiased_feature_importances,
    "mdi_plus_importances": lambda model: inspection.mdi_plus_importances(model).importances_mean,
    "stability": inspection.stability,
    "compact": lambda model: inspection.compact(model).predict(NEW),
    "shrink": lambda model: inspection.shrink(model, 1.0).predict(NEW),
    "partial_dependence": lambda model: inspection.partial_dependence(
        model, NEW, [0], grid_resolution=4
    )["average"],
    "sklearn": lambda model: export.sklearn(model).predict(NEW),
    "predict_interval": lambda model: uncertainty.predict_interval(model, NEW, 0.5),
    "ImportanceDisplay": drawn,
}


def letters(text):
    return np.frombuffer(str(text).encode(), dtype=np.uint8)


OF_TERMS = {
    "frame": lambda model: letters(export.frame(model).to_csv()),
    "json": lambda model: letters(export.json(model)),
    "text": lambda model: letters(export.text(model)),
    "sql": lambda model: letters(export.sql(model, "rows")),
}


@pytest.mark.filterwarnings("ignore::sklearn_ensemble_theory.averaging.StandardErrorWarning")
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] if name == "shrink" else [])
        for name in [*OF_FOREST, *OF_TERMS]
    ],
)
def test_functions_of_a_fitted_estimator(name):
    if name in OF_FOREST:
        model, calls = package.RandomForestRegressor(**INTERVALS), OF_FOREST
    else:
        model, calls = AdditiveBoostingRegressor(20, interactions=0), OF_TERMS
    check_methods(fitted(model), {name: calls[name]})


class Rows:
    """Rows that another thread learns something from while they are read."""

    def __init__(self, act):
        self.shape, self.act = NEW.shape, act

    def __len__(self):
        return len(NEW)

    def __array__(self, dtype=None, copy=None):
        act, self.act = self.act, None
        if act is not None:
            thread = Thread(target=act)
            thread.start()
            thread.join()
        return np.array(NEW, dtype=dtype)


@every_class
def test_a_fit_in_another_thread(cls):
    model = fitted(make(cls))
    expected = model.predict(NEW)
    rows = Rows(lambda: fitted_again(model))
    np.testing.assert_array_equal(model.predict(rows), expected)
    assert rows.act is None  # the other thread has fitted
    np.testing.assert_array_equal(model.predict(NEW), fitted_again(make(cls)).predict(NEW))


def test_stages_go_on_with_the_model_that_they_began_with():
    model = fitted(make(GradientBoostingRegressor))
    expected = list(model.staged_predict(NEW))
    found = []
    for stage in model.staged_predict(NEW):
        found.append(stage)
        if len(found) == 2:
            fitted_again(model)
    np.testing.assert_array_equal(found, expected)


def test_lazy_predictions_are_those_of_the_model_that_was_asked():
    da = pytest.importorskip("dask.array")
    model = fitted(make(package.RandomForestRegressor))
    expected = model.predict(NEW)
    lazy = model.predict(da.from_array(NEW, chunks=(3, 3)))
    fitted_again(model)
    np.testing.assert_array_equal(lazy.compute(scheduler="synchronous"), expected)


# --- the view is the estimator to everybody else --------------------------------------------------


@every_class
def test_every_estimator_reads_once(cls):
    assert issubclass(cls, ReadsOnce)
    for owner in cls.__mro__:
        if owner.__module__.startswith("sklearn_ensemble_theory"):
            for name, member in vars(owner).items():
                function = getattr(member, "fn", member)
                if name.startswith(("predict", "decision_function", "staged_", "score")):
                    assert function.runs_on_view, f"{owner.__name__}.{name}"


def test_what_a_method_keeps_is_kept_and_methods_that_change_the_model_return_it():
    class Counting(package.RandomForestRegressor):
        def predict(self, X):
            self.calls_ = getattr(self, "calls_", 0) + 1
            return super().predict(X)

    model = Counting(3, random_state=0)
    assert fitted(model) is model
    plain = fitted(named("RandomForestRegressor")(3, random_state=0))
    for _ in range(2):
        np.testing.assert_array_equal(model.predict(NEW), plain.predict(NEW))
    assert model.calls_ == 2
    assert model.set_params(n_estimators=4) is model
    boosting = package.L2BoostingRegressor(5, interactions=0)
    assert boosting.partial_fit(FIRST, target(FIRST, 2, boosting)) is boosting
    forest = fitted(package.RandomForestRegressor(5, random_state=0))
    forest.predict_interval(NEW, 0.3)  # keeps what is computed of the training rows
    again = forest.predict_interval(NEW, 0.3)
    np.testing.assert_array_equal(again, forest.predict_interval(NEW, 0.3))
