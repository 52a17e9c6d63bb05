"""Odd arguments of public functions, and of methods after a fit; what became of them.

    python -m tests.reliability.odd_calls --n 3000 --seed 7 --of methods

prints a table of the verdicts, and each violation with its number. What is called is derived from
`__all__`: a function or method without a valid call in `CALLS` or `ARGUMENTS` is an error that says
so. A case is a valid call in which one to three arguments are replaced; in a third of the cases by
the same values in another type, and then the result is that of the plain call.
"""

import argparse
import functools
import importlib
import inspect
import re
import types
import typing
import warnings
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Real
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import pyplot
from scipy import sparse
from sklearn.base import BaseEstimator, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.tree import DecisionTreeRegressor

import sklearn_ensemble_theory as package

from ..bounds.table import TABLE
from ..estimators import estimator_classes, make
from . import dresses, fuzzing
from .odd_data import ODD_MATRICES
from .odd_inputs import ordinary

ROOMS = [
    *("averaging", "boosting", "bounds", "datasets", "erm", "export", "inspection", "metrics"),
    *("smoothing", "uncertainty"),
]
GOOD = ("right", "refused")
BAD = ("accepted", "foreign", "unnamed", "nan", "warning", "hang", "memory", "mutated")
# Words by which an error names what is wrong in a model or in the data.
WORDS = fuzzing.DATA_WORDS | {
    *("model", "models", "estimator", "fit", "fitted", "distribution", "quantiles", "x", "n"),
    *("matrix", "string", "json", "json_text", "document", "terms", "term", "point", "points"),
    "parameter",
}


# --- valid calls ----------------------------------------------------------------------------------


@functools.cache
def data(classifier=False, n=40, p=3):
    """X, y and a few rows to predict at."""
    rng = np.random.default_rng(0)
    X, y = ordinary(rng, classifier, n, p)
    return X, y, ordinary(rng, classifier, 6, p)[0]


@functools.cache
def fitted(name, **params):
    cls = getattr(package, name, None) or getattr(package.trees, name)
    model = make(cls, **params)
    X, y, _ = data(is_classifier(model))
    return model.fit(X, y)


def forest():
    return fitted("RandomForestRegressor")


def additive():
    return fitted("AdditiveBoostingRegressor", loss="squared_error")


def normal(n=6):
    from scipy import stats

    return stats.norm(np.zeros(n), np.ones(n))


def document():
    return package.export.json(additive())


def first_column(X):
    return np.asarray(X)[:, 0]


X, Y, Z = data()
LABELS = (Y > 0).astype(int)
# The arguments of a valid call of each function, but for those of `bounds`, which has a table.
CALLS = {
    "averaging.bagged_nearest_neighbors_weights": lambda: {"n_samples": 10, "max_samples": 3},
    "averaging.bagged_ridge_gcv": lambda: {"X": X, "y": Y, "max_samples": 5, "n_estimators": 3},
    "boosting.merge_additive_models": lambda: {"models": [additive(), additive()]},
    "boosting.smooth_term": lambda: {"model": additive(), "name": 0},
    "datasets.add_label_noise": lambda: {"y": LABELS, "noise_rate": 0.1, "random_state": 0},
    "datasets.add_malicious_rows": lambda: {"X": X, "y": LABELS, "fraction": 0.1},
    "datasets.add_massart_noise": lambda: {"X": X, "y": LABELS, "eta": np.full(len(LABELS), 0.1)},
    "datasets.make_polynomial": lambda: {"n_samples": 5},
    "datasets.make_slow_pursuit": lambda: {"n_rounds": 5},
    **{
        f"datasets.make_{name}": lambda: {"n_samples": 5, "random_state": 0}
        for name in ("ringnorm", "sine_regression", "tent", "threenorm", "twonorm", "waveform")
    },
    "datasets.ringnorm_bayes_error": lambda: {"n_features": 2},
    "datasets.threenorm_bayes_error": lambda: {"n_features": 2},
    "datasets.twonorm_bayes_error": dict,
    "datasets.waveform_bayes_error": dict,
    **{
        f"datasets.{name}_bayes_rule": lambda: {"X": X}
        for name in ("ringnorm", "threenorm", "twonorm")
    },
    "datasets.waveform_bayes_rule": lambda: {"X": np.ones((2, 21))},
    "erm.project_l1_ball": lambda: {"v": [1.0, 2.0], "radius": 1.0},
    "erm.project_l2_ball": lambda: {"v": [1.0, 2.0], "radius": 1.0},
    "erm.project_simplex": lambda: {"v": [1.0, 2.0]},
    "erm.projected_gradient_descent": lambda: {
        "gradient": lambda x, sample=None: np.asarray(x),
        "start": [1.0, 2.0],
        "step_size": 0.1,
        "n_iter": 3,
    },
    "erm.stump_dictionary": lambda: {"X": X},
    "export.frame": lambda: {"model": additive()},
    "export.from_json": lambda: {"text": document()},
    "export.json": lambda: {"model": additive(), "indent": 2},
    "export.network": lambda: {
        "model": fitted("FrankWolfeRegressor", estimator=package.ReLUUnitRegressor())
    },
    "export.onnx": lambda: {"model": additive()},
    "export.shap": lambda: {"model": forest(), "X": X},
    "export.sklearn": lambda: {"model": fitted("DecisionStumpRegressor")},
    "export.sql": lambda: {"model": additive(), "table": "t"},
    "export.text": lambda: {"model": additive()},
    "inspection.bias_variance_decomposition": lambda: {
        "estimator": DecisionTreeRegressor(max_depth=2),
        "make_data": lambda random_state: package.datasets.make_tent(9, random_state=random_state),
        "n_repetitions": 3,
        "X_test": Z[:, :1],
        "target": first_column,
    },
    "inspection.compact": lambda: {"model": forest()},
    "inspection.ensemble_std": lambda: {"model": forest(), "X": Z},
    "inspection.forget_training_rows": lambda: {"model": forest()},
    "inspection.impute": lambda: {"model": forest(), "X": Z},
    "inspection.kneighbors": lambda: {"model": forest(), "X": Z, "n_neighbors": 3},
    "inspection.mdi_plus_importances": lambda: {"model": forest()},
    "inspection.oob_permutation_importances": lambda: {"model": forest()},
    "inspection.outlier_scores": lambda: {"model": fitted("RandomForestClassifier")},
    "inspection.partial_dependence": lambda: {"estimator": forest(), "X": X, "features": 0},
    "inspection.proximity": lambda: {"model": forest(), "X": Z},
    "inspection.report_html": lambda: {"estimator": additive(), "max_terms": 2},
    "inspection.shrink": lambda: {"model": forest(), "reg_param": 1.0},
    "inspection.stability": lambda: {"model": forest()},
    "inspection.training_weights": lambda: {"model": forest(), "X": Z},
    "inspection.unbiased_feature_importances": lambda: {"model": forest()},
    "inspection.variance_decomposition": lambda: {"model": forest(), "X": Z},
    "metrics.crps": lambda: {"y": Y[:6], "distribution": normal()},
    "metrics.log_score": lambda: {"y": Y[:6], "distribution": normal()},
    "metrics.make_distribution_scorer": lambda: {"score": package.metrics.crps},
    "smoothing.bagged_smoother": lambda: {
        "estimator": package.SmoothingSplineRegressor(5),
        "X": X[:, :1],
        "n_subsamples": 3,
    },
    "smoothing.stochastic_variance_bound": lambda: {
        "matrices": [np.eye(3) / 2],
        "y": [1.0, 2.0, 3.0],
        "learning_rate": 0.1,
        "n_rounds": 2,
    },
}
CALLS |= {
    f"uncertainty.{name}": lambda: {"model": forest(), "X": Z}
    for name in ("predict_distribution", "predict_quantiles", "standard_error")
}
CALLS |= {
    "uncertainty.confidence_interval": lambda: {
        "model": fitted("GradientBoostingRegressor", held_out=3),
        "X": Z,
    },
    "uncertainty.predict_interval": lambda: {"model": forest(), "X": Z, "coverage": 0.5},
    "uncertainty.predict_set": lambda: {
        "model": fitted("RandomForestClassifier"),
        "X": Z,
        "coverage": 0.5,
    },
}


def tent(random_state=None):
    return package.datasets.make_tent(9, random_state=random_state)


CALLS |= {
    "inspection.BiasVarianceDisplay.from_estimators": lambda: {
        "estimators": {"a": DecisionTreeRegressor(max_depth=2)},
        "make_data": tent,
        "X_test": Z[:, :1],
        "target": first_column,
        "n_repetitions": 3,
    },
    "inspection.BiasVarianceDisplay.from_parameter": lambda: {
        "estimator": DecisionTreeRegressor(max_depth=2),
        "param_name": "max_depth",
        "make_data": tent,
        "X_test": Z[:, :1],
        "target": first_column,
        "n_repetitions": 3,
        "param_range": [1, 2],
    },
    "inspection.BoostingPathDisplay.from_estimator": lambda: {
        "estimator": smoother(),
        "X_test": Z[:, :1],
        "y_test": Y[:6],
        "times": [1, 2],
        "f": first_column,
        "sigma": 0.1,
    },
    "inspection.CVPathDisplay.from_estimator": lambda: {
        "estimator": fitted("L2BoostingRegressor", n_estimators="cv")
    },
    "inspection.ConditionalRiskDisplay.from_loss": lambda: {"phi": "logistic"},
    "inspection.EdgeDisplay.from_estimator": lambda: {"estimator": fitted("AdaBoostClassifier")},
    "inspection.ImportanceDisplay.from_estimator": lambda: {
        "estimator": forest(),
        "importances": [0.5, 0.3, 0.2],
        "names": ["a", "b", "c"],
    },
    "inspection.LeaderboardDisplay.from_estimator": lambda: {
        "estimator": fitted("SuperLearnerRegressor", members=("linear", "boosting"))
    },
    "inspection.LocalExplanationDisplay.from_estimator": lambda: {
        "estimator": additive(),
        "X": Z[:1],
    },
    "inspection.MarginDisplay.from_estimator": lambda: {
        "estimator": fitted("AdaBoostClassifier"),
        "X": X,
        "y": LABELS,
        "rounds": [1, 2],
        "sample_weight": np.ones(len(X)),
    },
    "inspection.PredictionBandDisplay.from_estimator": lambda: {
        "estimator": forest(),
        "X": X,
        "features": [0],
        "grid_resolution": 5,
        "coverage": 0.5,
    },
    "inspection.ReliabilityDisplay.from_estimator": lambda: {
        "estimator": forest(),
        "X": X,
        "y": Y,
        "sample_weight": np.ones(len(X)),
    },
    "inspection.ReliabilityDisplay.from_predictions": lambda: {
        "y": Y,
        "predicted": Y + 0.1,
        "sample_weight": np.ones(len(X)),
    },
    "inspection.ShapeFunctionDisplay.from_estimator": lambda: {"estimator": additive(), "X": X},
    "inspection.SmootherSpectrumDisplay.from_estimator": lambda: {
        "estimator": smoother(),
        "times": [1, 2],
        "n_vectors": 2,
    },
    "inspection.VarianceDecompositionDisplay.from_estimator": lambda: {
        "estimator": fitted("BaggingRegressor", n_estimators=20),
        "X": Z,
    },
}


def smoother():
    model = package.LinearL2BoostingRegressor(package.SmoothingSplineRegressor(5))
    return model.fit(X[:, :1], Y)


CALLS |= {f"bounds.{row}": (lambda row=row: dict(TABLE[row].valid)) for row in TABLE}


def functions():
    """The public functions by their names, `room.name`."""
    rooms = {room: importlib.import_module(f"{package.__name__}.{room}") for room in ROOMS}
    found = {
        f"{room}.{name}": getattr(module, name)
        for room, module in rooms.items()
        for name in module.__all__
        if inspect.isfunction(getattr(module, name))
    }
    found |= {
        name: functools.reduce(getattr, name.split(".")[1:], rooms["inspection"])
        for name in CALLS
        if "Display." in name
    }
    missing = [name for name in found if not any(c.partition(":")[0] == name for c in CALLS)]
    assert not missing, (
        f"write a valid call of {missing} into CALLS of tests/reliability/odd_calls.py"
    )
    return found


# The models whose methods are called: every estimator, and some with parameters that give it more.
MORE = [
    ("GradientBoostingRegressor", {"held_out": 3, "n_estimators": 3}),
    ("GradientBoostingClassifier", {"held_out": 3, "n_estimators": 3}),
    ("L2BoostingRegressor", {"n_estimators": "cv", "interactions": 1}),
    ("LogitBoostClassifier", {"n_estimators": "cv"}),
    ("StackingRegressor", {"held_out": "cv"}),
    ("StackingClassifier", {"held_out": "cv"}),
    ("VotingRegressor", {"held_out": 3}),
    ("VotingClassifier", {"held_out": 3, "voting": "soft"}),
    ("BaggingRegressor", {"n_estimators": 20}),
]
# The arguments of methods by their names, where the default is not tried alone.
ARGUMENTS: dict[str, Any] = {
    "x": [0.1, 0.2], "j": 0, "f": first_column, "theta": np.ones(3), "times": [1.0, 2.0],
    "sigma": 1.0, "terms": [0], "name": 0, "n_estimators": [1, 2], "coverage": 0.8,
    "n_draws": 3, "n_pairs": 2, "reg_param": 1.0, "delta": 0.05, "quantiles": [0.1, 0.9],
    "increasing": True, "sample_weight": None, "offset": None, "groups": None,
}  # fmt: skip
QUICK = ("coverage", "quantiles", "n_draws", "n_pairs")  # which replace a default
NOT_CALLED = ("fit", "partial_fit", "set_", "get_params", "get_metadata", "refit", "register")


@functools.cache
def methods():
    """(Name, model, method) of the public methods of fitted models."""
    models = [(cls.__name__, {}) for cls in estimator_classes()] + MORE
    found = []
    for name, params in models:
        model, label = fitted(name, **params), name + "+" * ((name, params) in MORE)
        for method in sorted(dir(type(model))):
            if method[0] == "_" or method.startswith(NOT_CALLED) or not hasattr(model, method):
                continue
            if isinstance(inspect.getattr_static(type(model), method), property):
                continue
            if is_own(getattr(model, method)):
                found.append((f"{label}.{method}", model, method))
    return found


def is_own(member):
    """Whether it is a method of the package; `score` of most classes is scikit-learn's."""
    function = inspect.unwrap(getattr(member, "__func__", member))
    return callable(member) and getattr(function, "__module__", "").startswith(package.__name__)


def valid_arguments(model, method):
    """Those of a call of a method; None where some of them are in no list."""
    parameters = inspect.signature(getattr(model, method)).parameters.values()
    _, y, _ = data(is_classifier(model))
    known = {**ARGUMENTS, "y": y[: len(Z)] if method != "cost_complexity_pruning_path" else y}
    known |= {"X": X if method == "cost_complexity_pruning_path" else Z, "X_new": Z}
    if model.n_features_in_ == 1:
        known["X"] = Z[:, :1]
    found = {}
    for each in parameters:
        if each.kind in (each.VAR_KEYWORD, each.VAR_POSITIONAL):
            continue
        if each.default is each.empty or each.name in (
            "coverage",
            "quantiles",
            "n_draws",
            "n_pairs",
        ):
            assert each.name in known, (
                f"write a value of {each.name!r} of {type(model).__name__}.{method} into ARGUMENTS "
                "of tests/reliability/odd_calls.py"
            )
            found[each.name] = known[each.name]
        else:
            found[each.name] = each.default
    return found


# --- odd arguments --------------------------------------------------------------------------------

ODD = [
    True, False, np.True_, np.bool_(False), 0, 1, -1, 2, 3, 7, 3.0, 0.5, -0.5, 1.5, 1e-12,
    1e9, 1e300, -1e300, 5e-324, 1.7e308, 2**31, 2**53 + 1, 2**63, 2**64 - 1, -(2**63), 10**400,
    np.nan, np.inf, -np.inf, 1j, None, "", "a", "3", "0.5", "nan", "auto", "cv", "both", b"3",
    Decimal("0.5"), Decimal("NaN"), Fraction(1, 3), np.int8(3), np.uint8(200), np.uint64(2**64 - 1),
    np.float16(0.5), np.float32(0.5), np.longdouble(0.5), np.complex128(1), np.str_("a"),
    np.array(3), np.array(0.5), np.array([0.5]), np.array([3]), np.array([[1, 2]]), np.array([]),
    np.array([True, False]), np.array(["a", "b"]), np.array([1j, 2]), np.array([None, 1.0]),
    np.array([np.nan, 1.0]), np.zeros((0, 3)), np.zeros((2, 0)), np.zeros((2, 2, 2)),
    np.array([1, 2, 3], dtype=object), np.array(["0.5", "1"], dtype=object),
    np.array([0.2, 0.8], dtype=">f8"), np.float16([0.1, 0.9]), np.array([2**63, 1], np.uint64),
    [], [1], [0.5, 0.7], [1, [2, 3]], ["a"], [None], [True], [[]], (), (1, 2), (0.1, 0.9), {},
    set(), {"a": 1}, {0: 1.0}, {0.5}, frozenset({1}), range(3), slice(2), object(), object, int,
    len,
    lambda *a: a, iter([1, 2]), (k for k in range(2)), Ellipsis, NotImplemented, pd.NA, pd.NaT,
    pd.Timestamp("2020-01-01"), datetime(2020, 1, 1), timedelta(1), np.datetime64("NaT"),
    np.timedelta64(1, "D"), np.ma.masked, np.ma.array([1.0, 2.0], mask=[True, False]),
    pd.Series([0.5, 1.0]), pd.Series(["a", "b"]), pd.DataFrame({"a": [1.0, 2.0]}), pd.Index([1, 2]),
    pd.Categorical(["a", "b"]), pd.Interval(0, 1), sparse.csr_matrix(np.eye(2)),
    sparse.coo_array(np.eye(3)), memoryview(b"ab"), bytearray(b"ab"), types.SimpleNamespace(a=1),
    DecisionTreeRegressor(), DecisionTreeRegressor, np.random.default_rng(0),
    np.random.RandomState(0), datetime.now, Counter("ab"), '{"a": [[[1]]]}', "[" * 2000,
    "DROP TABLE t", "é", "a\0b",
]  # fmt: skip


@dataclass
class Case:
    """One call: of `function` with `arguments`; what is odd about it, in words."""

    name: str
    function: Any
    arguments: dict[str, Any]
    odd: dict[str, Any] = field(default_factory=dict)
    model: Any = None
    plain: dict[str, Any] | None = None  # the valid arguments that were dressed


def odd_value(rng, valid):
    """A value in the place of a valid one: of another kind, or the same with an odd entry."""
    if getattr(valid, "ndim", 0) == 2 and rng.random() < 0.5:
        make_odd = ODD_MATRICES[rng.integers(len(ODD_MATRICES))]
        return make_odd(np.array(valid, dtype=float), np.zeros(len(valid)), rng)[1]
    value = ODD[rng.integers(len(ODD))]
    if isinstance(valid, list | np.ndarray) and np.size(valid) and rng.random() < 0.4:
        array = np.array(valid, dtype=object)
        array[(rng.integers(len(array)), *[0] * (array.ndim - 1))] = 0
        changed = array.tolist()
        if isinstance(changed[0], list):
            changed[0][0] = value
        else:
            changed[0] = value
        return changed
    return value


def draw(kind, seed, number):
    """Case `number` of `seed`, of "functions" or of "methods"."""
    rng = np.random.default_rng([seed, number, *kind.encode()])
    dressed = rng.random() < 1 / 3
    if kind == "functions":
        names = list(CALLS)
        name = names[rng.integers(len(names))]
        case = Case(name, functions()[name.partition(":")[0]], CALLS[name]())
        slow = TABLE[name[7:]].slow if name.startswith("bounds.") else []
        for each in inspect.signature(case.function).parameters.values():
            if each.default is not each.empty:
                case.arguments.setdefault(each.name, each.default)
    else:
        every = methods()
        name, model, method = every[rng.integers(len(every))]
        case = Case(name, getattr(model, method), valid_arguments(model, method), model=model)
        slow = []
    keys = [key for key in case.arguments if key not in slow]
    if dressed:
        plain = dict(case.arguments)
        makers = {key: found for key in keys if (found := dresses.of_argument(plain[key]))}
        if makers:
            key = list(makers)[rng.integers(len(makers))]
            make = makers[key][rng.integers(len(makers[key]))]
            case.odd[key] = case.arguments[key] = make()
            case.plain = plain
            return case
    if keys:
        for key in rng.choice(
            keys, size=min(len(keys), rng.choice([1, 1, 1, 2, 3])), replace=False
        ):
            case.odd[str(key)] = case.arguments[str(key)] = odd_value(rng, case.arguments[str(key)])
    return case


# --- verdicts -------------------------------------------------------------------------------------


def judge(case):
    given = fuzzing.fingerprint(kept(case.arguments))
    state = fingerprint_of(case.model)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        verdict = fuzzing.timed_call(functools.partial(outcome, case))
    if not verdict.good:
        return verdict
    if fuzzing.fingerprint(kept(case.arguments)) != given:
        return fuzzing.Verdict("mutated", "the arguments have changed")
    if fingerprint_of(case.model) != state:
        return fuzzing.Verdict("mutated", "the model has changed")
    noise = [w for w in seen if not issubclass(w.category, (UserWarning, FutureWarning))]
    if noise:
        return fuzzing.Verdict(
            "warning", f"{noise[0].message} ({noise[0].filename}:{noise[0].lineno})"
        )
    return verdict


def call(function, arguments):
    """The first argument by its place: functions that dispatch by its type have it so."""
    names = list(inspect.signature(function).parameters)
    rest = {name: value for name, value in arguments.items() if name != names[0]} if names else {}
    return function(*[arguments[name] for name in names[:1] if name in arguments], **rest)


def kept(arguments):
    """Those that stay as they are: no iterators, and no generators of random numbers."""
    moving = (np.random.RandomState, np.random.Generator)
    return {
        name: fingerprint_of(value) if isinstance(value, BaseEstimator) else value
        for name, value in arguments.items()
        if not (hasattr(value, "__next__") or isinstance(value, moving))
    }


def fingerprint_of(model):
    """Of what a user sees of a model; a method may keep what it has fitted for others."""
    public = {} if model is None else {k: v for k, v in vars(model).items() if k[0] != "_"}
    return fuzzing.fingerprint({k: v for k, v in public.items() if k != "model_"})


def outcome(case):
    try:
        with fuzzing.bounds():
            value = call(case.function, case.arguments)
            pyplot.close("all")
            if inspect.isgenerator(value):
                value = list(value)
    except fuzzing.Hang:
        return fuzzing.Verdict("hang", fuzzing.place())
    except (ImportError, NotFittedError):
        return fuzzing.Verdict("refused")
    except MemoryError as error:
        return fuzzing.Verdict("memory", f"{error} {fuzzing.place()}")
    except Exception as error:
        text = f"{type(error).__name__}: {error} {fuzzing.place()}"
        theirs = any(note.startswith("Raised by ") for note in getattr(error, "__notes__", []))
        if not isinstance(error, (ValueError, TypeError)) and not theirs:
            return fuzzing.Verdict("foreign", text)
        return fuzzing.Verdict("refused" if is_named(error, case) else "unnamed", text)
    for name, argument in case.odd.items():
        if not has_type(argument, annotation_of(case, name)):
            return fuzzing.Verdict("accepted", f"{name}: {value!r:.200}")
    if case.plain is not None:
        expected = call(case.function, case.plain)
        if inspect.isgenerator(expected):
            expected = list(expected)
        seeded = case.plain.get("random_state", 0) is not None
        # Labels of other types are returned as they are.
        is_label = "datasets" in case.name and "y" in case.odd
        if seeded and not is_label and not dresses.same(value, expected):
            return fuzzing.Verdict("accepted", f"{value!r:.100} instead of {expected!r:.100}")
    if has_nan(value) and not any(has_nan(v) for v in case.arguments.values()):
        return fuzzing.Verdict("nan", f"{value!r:.200}")
    return fuzzing.Verdict("right")


def is_named(error, case):
    """Whether an error names an argument, the data, or the function that has no number for them."""
    notes = getattr(error, "__notes__", [])  # of what the user's own functions raise
    words = set(re.findall(r"[a-zA-Z_]+", " ".join([str(error), *notes])))
    params = set() if case.model is None else set(case.model.get_params(deep=False))
    own = case.name.partition(":")[0].rpartition(".")[2]
    return bool(
        words & {*inspect.signature(case.function).parameters, *params, own}
        or {word.lower() for word in words} & WORDS
        or any(phrase in str(error) for phrase in fuzzing.OF_DATA)
    )


def annotation_of(case, name):
    found = inspect.signature(case.function).parameters[name].annotation
    return {"float": float, "int": int, "bool": bool}.get(found, found)


def has_type(value, annotation):
    """Whether a value is one of the numbers, switches or None that an annotation means."""
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        return any(has_type(value, part) for part in typing.get_args(annotation))
    if annotation is bool:
        return isinstance(value, bool | np.bool_)
    if annotation in (int, float):
        kind = Integral if annotation is int else Real
        return isinstance(value, kind) and not isinstance(value, bool)
    if annotation is type(None):
        return value is None
    return True


def has_nan(value):
    if isinstance(value, dict):
        return any(has_nan(one) for one in value.values())
    if isinstance(value, list | tuple):
        return any(has_nan(one) for one in value)
    if isinstance(value, pd.DataFrame | pd.Series):
        return bool(pd.isna(value).to_numpy().any())
    if sparse.issparse(value):
        return has_nan(value.data)
    found = np.asarray(value) if isinstance(value, np.ndarray | float | np.generic) else None
    return found is not None and found.dtype.kind in "fc" and bool(np.isnan(found).any())


def run(kind, seed, numbers):
    """The counts of verdicts, and the violations (number, case, verdict)."""
    counts, violations = Counter(), []
    for number in numbers:
        case = draw(kind, seed, number)
        verdict = judge(case)
        counts[verdict.kind] += 1
        if not verdict.good:
            violations.append((number, case, verdict))
    return counts, violations


def described(number, case, verdict):
    odd = ", ".join(f"{name}={value!r:.60}" for name, value in case.odd.items())
    return f"{number}: {case.name}({odd}): {verdict.kind}: {verdict.details[:250]}"


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--of", choices=["functions", "methods"], default="functions")
    options = parser.parse_args(arguments)
    total = Counter()
    for number in range(options.n):
        counts, violations = run(options.of, options.seed, [number])
        total += counts
        for each in violations:
            print(described(*each), flush=True)
    bad = sum(total[kind] for kind in BAD)
    print(dict(total))
    print(f"{bad} of {options.n}: {1000 * bad / options.n:.1f} in 1,000")


if __name__ == "__main__":
    main()
