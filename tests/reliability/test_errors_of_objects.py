"""Whatever an object of the user raises is an error of the fit, and none of its signals."""

import itertools

import joblib
import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import sklearn_ensemble_theory as package
from sklearn_ensemble_theory.boosting import CVChoice, CVRounds
from sklearn_ensemble_theory.boosting.steps import LineSearchStep

from ..boosting.loss_cases import PseudoHuber
from ..estimators import estimator_classes, make
from .equivariances import data_for

ERRORS = [
    StopIteration,
    LookupError,
    KeyError,
    IndexError,
    AttributeError,
    TypeError,
    ValueError,
    ArithmeticError,
    RuntimeError,
]


class Calls:
    """Counts the calls of the user's objects, and raises an error at one of them."""

    error, at, n = None, 0, 0

    @classmethod
    def count(cls):
        cls.n += 1
        if cls.n == cls.at:
            raise cls.error


class Regressor(RegressorMixin, BaseEstimator):
    tree = DecisionTreeRegressor(max_depth=2)

    def fit(self, X, y, sample_weight=None):
        Calls.count()
        self.fitted_ = type(self.tree)(**self.tree.get_params()).fit(X, y, sample_weight)
        return self

    def predict(self, X):
        Calls.count()
        return self.fitted_.predict(X)


class LinearRegressor(Regressor):
    tree = LinearRegression()


class Classifier(ClassifierMixin, Regressor):
    tree = DecisionTreeClassifier(max_depth=2)

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        return super().fit(X, y, sample_weight)

    def predict_proba(self, X):
        Calls.count()
        return self.fitted_.predict_proba(X)


class FirstOrder:
    def value(self, y, u):
        Calls.count()
        return PseudoHuber().value(y, u)

    def gradient(self, y, u):
        Calls.count()
        return PseudoHuber().gradient(y, u)


class SecondOrder(FirstOrder):
    def hessian(self, y, u):
        Calls.count()
        return PseudoHuber().hessian(y, u)


class Splitter(KFold):
    def split(self, X, y=None, groups=None):
        for pair in super().split(X, y, groups):
            Calls.count()
            yield pair


class ListingSplitter(KFold):
    def split(self, X, y=None, groups=None):
        Calls.count()
        return list(super().split(X, y, groups))


class Callback:
    def setup(self, estimator, context):
        Calls.count()

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context, **kwargs):
        Calls.count()

    def on_fit_task_end(self, estimator, context, **kwargs):
        Calls.count()


class CountedStep(LineSearchStep):
    def length(self, *args):
        Calls.count()
        return super().length(*args)


def counted(result):
    """A function of anything with this result."""

    def function(*args, **kwargs):
        Calls.count()
        return result

    return function


def score(estimator, X, y, sample_weight=None):
    Calls.count()
    return float(np.mean(estimator.predict(X) == y))


def distance(a, b):
    Calls.count()
    return float(np.abs(a - b).sum())


def _cases():
    for cls in estimator_classes():
        name, known = cls.__name__, make(cls).get_params(deep=False)
        of_classes = name.endswith("Classifier")
        member = Classifier() if of_classes else Regressor()
        learner = Regressor() if name == "GradientBoostingClassifier" else member
        if name == "LinearL2BoostingRegressor":
            learner = LinearRegressor()
            yield name, {"init": learner}
            yield name, {"init": learner, "time": "gcv"}
        if "estimator" in known:
            yield name, {"estimator": learner}
        if "estimators" in known:
            pairs = [("a", member), ("b", member)]
            yield name, {"estimators": pairs}
            if "final_estimator" in known:
                yield name, {"estimators": pairs, "final_estimator": member}
            splits = "cv" if "cv" in known else "held_out"
            yield name, {splits: Splitter(2)}
            yield name, {splits: ListingSplitter(2)}
        if isinstance(known.get("oob_score"), bool) and "bootstrap" in known:
            yield name, {"bootstrap": True, "oob_score": counted(0.5), "n_estimators": 40}
        if "exclude" in known:
            yield name, {"n_estimators": "cv", "cv": Splitter(2)}
    for name in ("GradientBoostingClassifier", "GradientBoostingRegressor"):
        for loss in (FirstOrder(), SecondOrder()):
            yield name, {"loss": loss}
            yield name, {"loss": loss, "estimator": DecisionTreeRegressor(max_depth=2)}
            yield name, {"loss": loss, "step": "joint", "n_estimators": 2}
            yield name, {"loss": loss, "n_estimators": CVRounds(Splitter(2), max_estimators=4)}
        yield name, {"init": Classifier() if name == "GradientBoostingClassifier" else Regressor()}
        yield name, {"learning_rate": counted(0.5)}
        yield name, {"step": CountedStep()}
        yield name, {"scoring": score, "n_iter_no_change": 2}
    for name in ("HistGradientBoostingClassifier", "HistGradientBoostingRegressor"):
        yield name, {"scoring": score, "early_stopping": True}
    for loss in (FirstOrder(), SecondOrder()):
        yield "AdditiveBoostingRegressor", {"loss": loss, "n_estimators": 2}
        for name in ("FrankWolfeClassifier", "FrankWolfeRegressor"):
            yield name, {"loss": loss, "n_estimators": 2}
    for name in ("BaggedNearestNeighborsClassifier", "BaggedNearestNeighborsRegressor"):
        yield name, {"metric": distance, "algorithm": "brute"}
    yield "BallConstrainedClassifier", {"kernel": lambda a, b: np.exp(-distance(a, b))}
    for name, parameter in [
        ("BallConstrainedClassifier", "radius"),
        ("FrankWolfeRegressor", "radius"),
        ("MassartBoostClassifier", "noise_rate"),
        ("LinearL2BoostingRegressor", "time"),
    ]:
        yield name, {parameter: CVChoice([0.1, 0.2], cv=Splitter(2))}
    yield "MatchingPursuitRegressor", {"n_estimators": CVRounds(Splitter(2), max_estimators=4)}


CASES = list(_cases())
IDS = [f"{name}-{'-'.join(params)}" for name, params in CASES]


def causes(error):
    """The error, and those that led to it."""
    found, left = [], [error]
    while left:
        one = left.pop()
        if one is not None and all(one is not known for known in found):
            found.append(one)
            left += [one.__cause__, one.__context__]
    return found


def check_all_calls(fit, monkeypatch):
    """Each error at the first, a middle and the last call of the objects is in that of the fit."""
    monkeypatch.setattr(Calls, "at", 0)
    monkeypatch.setattr(Calls, "n", 0)
    with joblib.parallel_config("threading"):
        fit()
        n_calls = Calls.n
        assert n_calls
        for kind, at in itertools.product(ERRORS, sorted({1, (n_calls + 1) // 2, n_calls})):
            own = kind("the user's own")
            for attribute, value in {"n": 0, "at": at, "error": own}.items():
                monkeypatch.setattr(Calls, attribute, value)
            with pytest.raises(Exception) as raised:
                fit()
            assert any(one is own for one in causes(raised.value)), (kind, at)


@pytest.mark.parametrize(("name", "params"), CASES, ids=IDS)
def test_an_object_that_raises(name, params, monkeypatch):
    model = make(getattr(package, name), **params)
    data = data_for(model, 0)

    def fit():
        model.fit(data.X, data.y)
        model.predict(data.Z)

    check_all_calls(fit, monkeypatch)


CALLED = [cls for cls in estimator_classes() if hasattr(cls, "set_callbacks")]


@pytest.mark.parametrize("cls", CALLED, ids=lambda c: c.__name__)
def test_a_callback_that_raises(cls, monkeypatch):
    model = make(cls)
    data = data_for(model, 0)
    model.set_callbacks(Callback())
    check_all_calls(lambda: model.fit(data.X, data.y), monkeypatch)


@pytest.mark.parametrize("name", ["GradientBoostingClassifier", "GradientBoostingRegressor"])
def test_a_monitor_that_raises(name, monkeypatch):
    model = make(getattr(package, name))
    data = data_for(model, 0)
    check_all_calls(lambda: model.fit(data.X, data.y, monitor=counted(False)), monkeypatch)


class OneClassRefused(Classifier):
    """Refuses labels that are all the same, and every `penalty` below 0."""

    def __init__(self, penalty=1.0):
        self.penalty = penalty

    def fit(self, X, y, sample_weight=None):
        if self.penalty < 0:
            raise ValueError("penalty must not be negative")
        if len(np.unique(y)) < 2:
            raise ValueError("y has one class only")
        return super().fit(X, y, sample_weight)


@pytest.mark.parametrize("name", ["BaggingClassifier", "DivideAndConquerClassifier"])
def test_only_the_refusal_of_one_class_makes_a_constant_member(name):
    """Of draws of one class each, which before hid whatever error the learner had."""
    X, y = np.arange(40.0).reshape(-1, 1), np.repeat([0, 1], 20)
    few = {"n_blocks": 2} if name == "DivideAndConquerClassifier" else {"max_samples": 1}
    fit_params = {"groups": y} if name == "DivideAndConquerClassifier" else {}
    model = make(getattr(package, name), estimator=OneClassRefused(), **few)
    model.fit(X, y, **fit_params)
    model.set_params(estimator__penalty=-1.0)
    with pytest.raises(ValueError, match="penalty must not be negative"):
        model.fit(X, y, **fit_params)


def test_an_initial_estimator_that_refuses_targets_is_not_called_nonlinear():
    class Positive(LinearRegressor):
        def fit(self, X, y, sample_weight=None):
            if np.min(y) < 0:
                raise ValueError("y must not be negative")
            return super().fit(X, y, sample_weight)

    rng = np.random.default_rng(0)
    X, y = rng.random((30, 1)), 1 + rng.random(30)
    model = package.LinearL2BoostingRegressor(init=Positive(), time="gcv")
    with pytest.raises(ValueError, match=r"^y must not be negative$"):
        model.fit(X, y)


def test_an_error_of_a_splitter_is_not_one_of_its_pairs():
    class Confused(KFold):
        def split(self, X, y=None, groups=None):
            raise TypeError("cannot unpack non-iterable NoneType object")

    class Triples(KFold):
        def split(self, X, y=None, groups=None):
            return [(train, test, 0) for train, test in super().split(X, y, groups)]

    model = make(package.StackingRegressor, cv=Confused(2))
    data = data_for(model, 0)
    with pytest.raises(TypeError, match="cannot unpack"):
        model.fit(data.X, data.y)
    with pytest.raises(ValueError, match="cv must yield pairs of row indices"):
        model.set_params(cv=Triples(2)).fit(data.X, data.y)


# --- errors that are raised again with more words -------------------------------------------------


class CodedError(ValueError):
    """Made of a number, not of a text."""

    def __init__(self, code):
        super().__init__(f"code {code:d}")


class Boxed(TypeError):
    """A text in words of its own."""

    def __init__(self, text):
        super().__init__(f"<{text}>")


class WithDetails(ValueError):
    def __init__(self, text, details=None):
        super().__init__(text)
        self.details = details


RAISED = [
    UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"),
    CodedError(3),
    Boxed("text"),
    WithDetails("text", "more"),
    ValueError("text"),
    TypeError("text"),
]


class Number:
    """An object in y or X that fails as it becomes a number."""

    def __init__(self, error):
        self.error = error

    def __float__(self):
        raise self.error


def kind_of(error):
    """What `except` has to name for the error that is raised in its place."""
    if type(error) in (WithDetails, ValueError, TypeError):
        return type(error)
    return TypeError if isinstance(error, TypeError) else ValueError


@pytest.mark.parametrize("error", RAISED, ids=lambda e: type(e).__name__)
def test_targets_that_are_no_numbers(error):
    y = np.array([1.0, Number(error), 2.0] * 5, dtype=object)
    with pytest.raises((TypeError, ValueError), match="y must hold numbers: ") as info:
        package.RandomForestRegressor(2).fit(np.zeros((15, 1)), y)
    assert str(error) in str(info.value)
    assert type(info.value) is kind_of(error)
    if isinstance(error, WithDetails):
        assert info.value.details == "more"


@pytest.mark.parametrize("error", RAISED, ids=lambda e: type(e).__name__)
@pytest.mark.parametrize("name", ["RandomForestRegressor", "L2BoostingRegressor"])
def test_errors_of_chunks_have_their_numbers(error, name):
    da = pytest.importorskip("dask.array")
    values = np.array([1.0, 2.0] * 15, dtype=object)
    values[20] = Number(error)
    y = da.from_array(values, chunks=10)
    X = da.from_array(np.random.default_rng(0).random((30, 2)), chunks=(10, 2))
    with pytest.raises((TypeError, ValueError), match=r"\(in chunk 2 of the rows\)$") as info:
        getattr(package, name)().fit(X, y)
    assert str(error) in str(info.value)
    assert type(info.value) is kind_of(error)
