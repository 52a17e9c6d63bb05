"""Odd parameters and odd data, drawn at random: what `tests.reliability.fuzzing` fits.

A case belongs to a class, a seed and a number, and is always the same for the three.
"""

import inspect
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.cluster import KMeans
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor, NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils._param_validation import (
    Interval,
    Options,
    generate_invalid_param_val,
    generate_valid_param,
    make_constraint,
)

from sklearn_ensemble_theory.trees import BinnedTreeClassifier, BinnedTreeRegressor

from . import dresses
from .odd_data import (
    HUGE,
    ODD_GROUPS,
    ODD_LABELS,
    ODD_MATRICES,
    ODD_TARGETS,
    ODD_WEIGHTS,
    TINY,
)

N_ROWS, N_FEATURES = 30, 3

# Learners whose `fit` has no sample_weight, or does not say so.
WITHOUT_WEIGHTS = [
    KNeighborsRegressor(3), KNeighborsClassifier(3), NearestCentroid(),
    make_pipeline(StandardScaler(), LinearRegression()),
    make_pipeline(StandardScaler(), LogisticRegression()),
]  # fmt: skip
TAKING_MISSING = [
    BinnedTreeClassifier(max_depth=2), BinnedTreeRegressor(max_depth=2),
    DecisionTreeClassifier(max_depth=2), DecisionTreeRegressor(max_depth=2),
]  # fmt: skip


class InPlaceLoss:
    """The squared error, of which one method computes in the place of y."""

    def __init__(self, name):
        self.name = name

    def value(self, y, u):
        return self.changed(y, "value", u) ** 2

    def gradient(self, y, u):
        return -2.0 * self.changed(y, "gradient", u)

    def changed(self, y, name, u):
        return np.subtract(y, u, out=y if name == self.name else None)


class OddLoss:
    """The squared error, of which one method returns something else."""

    def __init__(self, name, result):
        self.name, self.result = name, result

    def value(self, y, u):
        return self.result if self.name == "value" else (y - u) ** 2

    def gradient(self, y, u):
        return self.result if self.name == "gradient" else 2.0 * (u - y)


def nothing(*_):
    """What a user may give by mistake for a function."""


LOSSES = [
    *(InPlaceLoss(name) for name in ("value", "gradient")),
    *(OddLoss("value", odd) for odd in (None, "a", 0.0, np.ones(3))),
    *(OddLoss("gradient", odd) for odd in (None, "a", 0.0, np.ones(3))),
    OddLoss, nothing, object(),
]  # fmt: skip

# Parameters of every kind that are wrong nearly everywhere, and right somewhere.
ODD_VALUES = [
    None, True, False, -1, 0, 1, 2, 2**31, 2**63, 10**400, -(10**400), 0.0, -0.5, 0.5, 1.0, 2.5,
    np.nan, np.inf, -np.inf, HUGE, -HUGE, TINY, 5e-324, 1e-10, 1j, "", "wrong", "auto", b"bytes",
    {}, {"a": 1}, [], (), [None], [0.5, 1.0], [np.nan], [-1.0], [1, 2, 3], np.array([]),
    np.array([0.5, 2.0]), np.ones((2, 2)), np.float32(0.5), np.int64(3), np.array(1.0), object(),
    DecisionTreeRegressor, DecisionTreeClassifier, DecisionTreeRegressor(max_depth=1),
    DecisionTreeClassifier(max_depth=1), LinearRegression(), LogisticRegression(), KMeans(2), len,
    {0, 1}, range(3), np.True_, np.int8(100), np.uint8(3), np.float16(0.5), np.longdouble(0.5),
    Fraction(1, 2), Decimal("0.5"), np.array(3), np.array("a"), np.array([1, 2, 3]), [True, False],
    np.ma.masked, np.datetime64("2020-01-01"), pd.NA, pd.Series([1.0, 2.0]), "0.5", slice(2),
    1e9, 1e15, 1e18, 10**18, 2**62, ["1", "2"], np.array(["0.5", "2"]), ["1", "2", "3"],
    np.array([2**62, 2**62]), np.array([127, 127], dtype=np.int8), *WITHOUT_WEIGHTS,
    nothing, len, str, [("a", None)], [("a", "drop")], [("a", object())],
]  # fmt: skip

# Of columns "a" and "d", which have categories, and "b" and "c", which have none. The first
# eight of each are mostly allowed.
USUAL = 8
CATEGORICAL = [
    "from_dtype", "from_dtype", "from_dtype", ["a", "d"], ["d", "a"], [3, 0], [0, 3],
    [True, False, False, True], None, ["a"], np.array(["a"]), pd.Index(["a"]),
    [-1], [4], ["e"], [], [True], "a", ["b"], range(4), 0,
]  # fmt: skip
MONOTONIC = [
    None, None, None, {"b": 1}, {"b": -1, "c": 1}, [0, 1, 0, 0], np.array([0, -1, 1, 0]),
    {"b": 0}, {"a": 1},
    {"e": 1}, {"b": 2}, [0, 1], [0, 0.5, 0, 0], {}, {1: 1}, ["b"], 1, "b", [None] * 4,
]  # fmt: skip
INTERACTIONS = [
    None, None, "pairwise", "no_interactions", [[0, 1], [2, 3]], [["a", "b"]], [{0, 1}, (2,)],
    [[0]], [[1, 2]], [["e"]], [[4]], [[-1]], [[]], [], "a", 2, [0, 1], [[0.5]],
    [["a", 1]], {"a": ["b"]},
]  # fmt: skip

# Words in the labels of data that are numbers of odd sizes, or few, or equal.
MAGNITUDES = (
    *("e30", "e15", "e-15", "e-30", "e-32", "e10", "e12", "huge", "tiny", "far", "max", "constant"),
    *("of one row", "of two rows", "of three rows", "repeated", "zero", "subnormal", "largest"),
    *("small", "rounding", "sparse"),
)

# Parameters whose values are not drawn. Those of how much is printed, and of processes.
LEFT_ALONE = {"verbose", "n_jobs"}


@dataclass
class Case:
    """One set of inputs: `params` of the estimator, the arguments of `fit`, and `query`."""

    params: dict[str, Any]
    X: Any
    y: Any
    sample_weight: Any
    query: Any
    groups: Any = None
    odd: list[str] = field(default_factory=list)  # what is odd about it, in words


def ordinary(rng, classifier, n=N_ROWS, p=N_FEATURES):
    """Data without anything odd."""
    X = rng.standard_normal((n, p))
    y = X[:, 0] + X[:, 1] ** 2 + 0.1 * rng.standard_normal(n)
    return X, (y > np.median(y)).astype(int) if classifier else y


def draw_case(estimator, seed, number):
    """Case `number` of `seed` for the class of `estimator`."""
    name = type(estimator).__name__
    rng = np.random.default_rng([seed, number, *name.encode()])
    classifier = is_classifier(estimator)
    n = int(rng.choice([N_ROWS, 12, 60]))
    X, y = ordinary(rng, classifier, n)
    case = Case({}, X, y, None, ordinary(rng, classifier, 7)[0])
    optional = {"sample_weight", "groups"} & set(inspect.signature(estimator.fit).parameters)
    kinds = ["X", "y", "query", "params", "params", "params", *sorted(optional)]
    if {"estimator", "estimators", "final_estimator"} & set(estimator.get_params(deep=False)):
        kinds.append("learner")
    if "estimator" in estimator.get_params(deep=False):
        kinds.append("missing")
    if "loss" in estimator.get_params(deep=False):
        kinds.append("loss")
    size = rng.choice([1, 2, 3], p=[0.5, 0.35, 0.15])
    for k in np.sort(rng.choice(len(kinds), size=size, replace=False)):
        ODD[kinds[k]](case, rng, estimator)
    return case


def draw_magnitudes(estimator, seed, number):
    """Case `number` of `seed`: parameters that are allowed, and numbers of odd sizes."""
    name = type(estimator).__name__
    rng = np.random.default_rng([seed, number, 1, *name.encode()])
    classifier = is_classifier(estimator)
    case = Case({}, *ordinary(rng, classifier, int(rng.choice([N_ROWS, 12, 60]))), None, None)
    for share in (0.6, 0.3):
        if rng.random() < share:
            allowed_param(case, rng, estimator)
    if rng.random() < 0.6:
        label, case.X, case.y = of_magnitude(rng, ODD_MATRICES)(case.X, case.y, rng)
        case.odd.append(f"X {label}")
    if rng.random() < 0.4 and not classifier:
        label, case.y = of_magnitude(rng, ODD_TARGETS)(case.y, rng)
        case.odd.append(f"y {label}")
    if rng.random() < 0.4 and "sample_weight" in inspect.signature(estimator.fit).parameters:
        n = len(case.y) if np.ndim(case.y) == 1 else N_ROWS
        label, case.sample_weight = of_magnitude(rng, ODD_WEIGHTS)(n, rng)
        case.odd.append(f"sample_weight {label}")
    case.query = rng.standard_normal((7, case.X.shape[1] if np.ndim(case.X) == 2 else N_FEATURES))
    if rng.random() < 0.5:
        label, case.query, _ = of_magnitude(rng, ODD_MATRICES)(case.query, np.zeros(7), rng)
        case.odd.append(f"query {label}")
    return case


def draw_columns(estimator, seed, number):
    """Case `number` of `seed`: columns with categories, constraints, and ordinary numbers."""
    name = type(estimator).__name__
    rng = np.random.default_rng([seed, number, 2, *name.encode()])
    n = int(rng.choice([N_ROWS, 12, 60]))
    case = Case({}, *ordinary(rng, is_classifier(estimator), n), None, None)
    case.query = np.zeros(7)
    odd_columns(case, rng, estimator)
    if rng.random() < 0.3:
        odd_params(case, rng, estimator)
    if rng.random() < 0.2 and "sample_weight" in inspect.signature(estimator.fit).parameters:
        case.sample_weight = rng.random(n) * (rng.random(n) < 0.8)
        case.odd.append("sample_weight with zeros")
    return case


def draw_dressed(estimator, seed, number):
    """Case `number` of `seed`: valid arguments, one of them in another type; and it in plain."""
    name = type(estimator).__name__
    rng = np.random.default_rng([seed, number, 3, *name.encode()])
    classifier = is_classifier(estimator)
    X, y = ordinary(rng, classifier)
    weight, groups = rng.integers(2, 8, len(X)) / 4, np.arange(len(X)) % 5
    plain = Case({}, X, y, None, ordinary(rng, classifier, 7)[0])
    known = set(inspect.signature(estimator.fit).parameters)
    makers = {
        "X": dresses.OF_ROWS, "query": dresses.OF_ROWS,
        "y": dresses.OF_LABELS if classifier else dresses.OF_NUMBERS,
        "sample_weight": dresses.OF_NUMBERS, "groups": dresses.OF_LABELS | dresses.OF_NUMBERS,
    }  # fmt: skip
    params = [k for k, v in estimator.get_params(deep=False).items() if dresses.of_value(v)]
    drawn = [*(k for k in makers if k in {*known, "query"}), *["params"] * 2 * bool(params)]
    wanted = str(rng.choice(drawn))
    case = Case({}, X, y, None, plain.query)
    if wanted == "sample_weight" or ("sample_weight" in known and rng.random() < 0.2):
        plain.sample_weight = case.sample_weight = weight
    if wanted == "groups":
        plain.groups = case.groups = groups
    if wanted == "params":
        name = params[rng.integers(len(params))]
        values = dresses.of_value(estimator.get_params(deep=False)[name])
        case.params[name] = values[rng.integers(len(values))]
        case.odd.append(f"{name}={case.params[name]!r}"[:90])
        return case, plain
    label = list(makers[wanted])[rng.integers(len(makers[wanted]))]
    value = getattr(plain, wanted)
    if wanted == "groups" and label in dresses.OF_LABELS:
        plain.groups = value = value % 2
    if wanted == "X" and label.startswith("sparse"):  # trees break ties in other orders there
        plain.X = sparse.csr_array(X)
    setattr(case, wanted, makers[wanted][label](value))
    case.odd.append(f"{wanted}: {label}")
    return case, plain


def of_magnitude(rng, makers):
    return pick(rng, [m for m in makers if any(word in m.label for word in MAGNITUDES)])


def allowed_param(case, rng, estimator):
    name = str(rng.choice([k for k in estimator.get_params(deep=False) if k not in LEFT_ALONE]))
    constraints = type(estimator)._parameter_constraints.get(name, "no_validation")
    if constraints != "no_validation":
        case.params[name] = value_of_constraint(constraints, rng, invalid=False)
        case.odd.append(f"{name}={case.params[name]!r}"[:90])


def odd_params(case, rng, estimator):
    """One more parameter of a wrong type or value, or of an unusual one that is allowed."""
    params = [k for k in estimator.get_params(deep=False) if k not in LEFT_ALONE]
    name = str(rng.choice(params))
    constraints = type(estimator)._parameter_constraints.get(name, [])
    kind = "value" if constraints == "no_validation" else rng.choice(["value", "valid", "invalid"])
    if kind == "value":
        value = ODD_VALUES[rng.integers(len(ODD_VALUES))]
    else:
        value = value_of_constraint(constraints, rng, invalid=kind == "invalid")
    case.params[name] = value
    case.odd.append(f"{name}={value!r}"[:90])


def odd_learner(case, rng, estimator):
    """A learner without weights, as the base learner or beside the members."""
    params = estimator.get_params(deep=False)
    name = str(rng.choice([k for k in params if "estimator" in k and k != "n_estimators"]))
    learner = WITHOUT_WEIGHTS[rng.integers(len(WITHOUT_WEIGHTS))]
    case.params[name] = [*params[name], ("odd", learner)] if name == "estimators" else learner
    case.odd.append(f"{name}={learner!r}")


def odd_missing(case, rng, estimator):
    """Missing values among the numbers, and a base learner that takes them."""
    learner = TAKING_MISSING[rng.integers(len(TAKING_MISSING))]
    case.params["estimator"] = learner
    for name in ("X", "query"):
        values = getattr(case, name)
        if isinstance(values, np.ndarray) and values.dtype.kind == "f":
            setattr(case, name, np.where(rng.random(values.shape) < 0.2, np.nan, values))
    case.odd.append(f"missing values, estimator={learner!r}")


def known_to(estimator):
    """The parameters of an estimator and of the tree on bins that it may be given."""
    params = set(estimator.get_params(deep=False))
    return params | (set(BinnedTreeRegressor().get_params()) if "estimator" in params else set())


def odd_columns(case, rng, estimator):
    """A frame with categories, constraints of its columns, and perhaps two targets."""
    own = estimator.get_params(deep=False)
    tree = (BinnedTreeClassifier if takes_classifiers(estimator) else BinnedTreeRegressor)()
    learner = None if "categorical_features" in own else tree.set_params(max_depth=3)
    makers = {
        "categorical_features": CATEGORICAL,
        "monotonic_cst": MONOTONIC,
        "interaction_cst": INTERACTIONS,
    }
    for name, values in makers.items():
        value = values[rng.integers(USUAL if rng.random() < 0.85 else len(values))]
        if learner is not None and name in learner.get_params():
            learner.set_params(**{name: value})
        elif name in own:
            case.params[name] = value
        case.odd.append(f"{name}={value!r}")
    if learner is not None:
        case.params["estimator"] = learner
    kinds = ["abc", "abc", ["a", None, "b"], [1, 2, 40], [True, False], "a", [-1.5, np.nan, 2.0]]
    a, d = (kinds[rng.integers(len(kinds))] for _ in range(2))
    dtypes = rng.choice(["category", "category", "object", "plain"], size=2)
    for name in ("X", "query"):
        n = len(getattr(case, name))
        frame = pd.DataFrame(rng.standard_normal((n, 2)), columns=["b", "c"])
        for column, values, dtype in zip("ad", (a, d), dtypes):
            some = list(values) + (["new"] if name == "query" and rng.random() < 0.3 else [])
            cells = pd.Series([some[k] for k in rng.integers(len(some), size=n)])
            frame[column] = cells if dtype == "plain" else cells.astype(dtype)
        setattr(case, name, frame[[*"abcd"]])
    case.odd.append(f"columns a={a!r}, d={d!r} of {dtypes}")
    if rng.random() < 0.25:
        case.y = np.column_stack([case.y, case.y])
        case.odd.append("y of two columns")


def takes_classifiers(estimator):
    """Whether its base learner has to be a classifier."""
    name = type(estimator).__name__
    return is_classifier(estimator) and not name.startswith("GradientBoosting")


def odd_loss(case, rng, estimator):
    case.params["loss"] = LOSSES[rng.integers(len(LOSSES))]
    case.odd.append(f"loss={case.params['loss']!r}")


def value_of_constraint(constraints, rng, *, invalid):
    constraint = make_constraint(constraints[rng.integers(len(constraints))])
    if isinstance(constraint, Options):
        if not invalid:
            return sorted(constraint.options, key=repr)[rng.integers(len(constraint.options))]
    elif isinstance(constraint, Interval) and not invalid:
        return inside(constraint, rng)
    try:
        make = generate_invalid_param_val if invalid else generate_valid_param
        value = make(constraint)
    except Exception:
        return ODD_VALUES[rng.integers(len(ODD_VALUES))]
    # Objects are made by scikit-learn to pass the check, not to be used.
    plain = value is None or isinstance(value, str | int | float | list | dict | np.ndarray)
    return value if plain else 0


def inside(interval, rng):
    """A number of an interval, often near one of its ends; integers stay small."""
    if interval.type.__name__ == "Integral":
        low = 0 if interval.left is None else int(interval.left)
        low += interval.closed in ("right", "neither")
        high = low + 12 if interval.right is None else int(interval.right)
        return int(min(low + rng.choice([0, 0, 1, 2, 5, 12]), high))
    low = -10.0 if interval.left in (None, -np.inf) else float(interval.left)
    high = 10.0 if interval.right in (None, np.inf) else float(interval.right)
    near = [0.0, 1e-12, 0.05, 0.5, 0.95, 1.0]
    value = low + (high - low) * rng.choice(near)
    if value not in interval:
        value = np.nextafter(value, 0.5 * (low + high))
    return float(value)


def odd_X(case, rng, estimator):
    make = pick(rng, ODD_MATRICES)
    label, X, y = make(np.array(case.X, dtype=float), case.y, rng)
    case.odd.append(f"X {label}")
    case.X, case.y = X, y
    if rng.random() < 0.4:  # rows of the same kind
        case.query = make(np.array(case.query, dtype=float), np.zeros(len(case.query)), rng)[1]
        case.odd.append("query too")
        return
    if sparse.issparse(X) or not hasattr(X, "shape") or len(X.shape) != 2:
        return
    p = X.shape[1]
    if p != N_FEATURES and p > 0:
        case.query = rng.standard_normal((7, p))


def odd_query(case, rng, estimator):
    if "query too" in case.odd:
        return
    label, case.query, _ = pick(rng, ODD_MATRICES)(
        np.array(case.query, dtype=float), np.zeros(len(case.query)), rng
    )
    case.odd.append(f"query {label}")


def odd_y(case, rng, estimator):
    makers = ODD_LABELS + ODD_TARGETS[:6] if is_classifier(estimator) else ODD_TARGETS
    label, case.y = pick(rng, makers)(np.asarray(case.y), rng)
    case.odd.append(f"y {label}")


def odd_weights(case, rng, estimator):
    n = len(case.y) if np.ndim(case.y) == 1 else N_ROWS
    label, case.sample_weight = pick(rng, ODD_WEIGHTS)(n, rng)
    case.odd.append(f"sample_weight {label}")


def odd_groups(case, rng, estimator):
    n = len(case.y) if np.ndim(case.y) == 1 else N_ROWS
    label, case.groups = pick(rng, ODD_GROUPS)(n, rng)
    case.odd.append(f"groups {label}")


def pick(rng, makers):
    return makers[rng.integers(len(makers))]


ODD = {
    "params": odd_params, "X": odd_X, "y": odd_y, "query": odd_query, "sample_weight": odd_weights,
    "groups": odd_groups, "learner": odd_learner, "missing": odd_missing, "loss": odd_loss,
}  # fmt: skip
