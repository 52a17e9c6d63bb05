"""The cases of `speed.py`: the class `Case`, and functions that most cases use.

One file a subject; importing it registers its cases. The interface is described in `speed.py`.
"""

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import numpy as np

REGISTRY = {}  # name of a case -> Case
LOADED = {}  # name of a file -> its part of the registry


@dataclass(frozen=True)
class Side:
    """One of the libraries compared; `run` and `quality` replace those of the case.

    Without a warm-up the first run of the process is timed, for sides that take minutes.
    """

    setup: Callable
    run: Callable | None = None
    quality: Callable | None = None
    warm_up: bool = True


@dataclass(frozen=True)
class Case:
    """A measurement of speed, with every side on the same data.

    `sides` maps a name to a `Side` or to its `setup` alone; the first one is ours.
    """

    name: str
    title: str
    data: Callable
    sides: Mapping[str, Side | Callable]
    run: Callable
    params: Mapping[str, Any] = field(default_factory=dict)
    quick: Mapping[str, Any] = field(default_factory=dict)
    vary: Mapping[str, tuple] = field(default_factory=dict)
    quality: Callable | None = None
    metric: str = ""
    higher_is_better: bool = False
    limit: float | Mapping[str, float] | None = None
    quality_margin: float | Mapping[str, float] | None = None
    quality_ratio: float | Mapping[str, float] | None = None
    growth_limit: float | None = None
    seconds_limit: float | None = None
    more_seconds: float = 0.0
    memory_limit: float | None = None
    runs: int = 5
    by_name: bool = False  # left out unless it is named: it takes long or needs much memory

    def __post_init__(self):
        if len(self.vary) > 1:
            raise ValueError(f"case {self.name}: vary one parameter, not {list(self.vary)}")
        unknown = (set(self.quick) | set(self.vary)) - set(self.params)
        if unknown:
            raise ValueError(f"case {self.name}: {sorted(unknown)} not among its params")
        if self.quality is not None and not self.metric:
            raise ValueError(f"case {self.name}: name the metric of its quality")
        if self.growth_limit is not None and not self.vary:
            raise ValueError(f"case {self.name}: a growth_limit needs a parameter to vary")
        for name in ("quality_margin", "quality_ratio"):
            if getattr(self, name) is not None and self.quality is None:
                raise ValueError(f"case {self.name}: a {name} needs a quality")
        if self.quality_ratio is not None and self.higher_is_better:
            raise ValueError(f"case {self.name}: a quality_ratio needs that lower is better")
        for required in (self.limit, self.quality_margin, self.quality_ratio):
            if isinstance(required, Mapping) and not set(required) <= set(self.peers):
                raise ValueError(f"case {self.name}: a limit names a side that is not a peer")

    @property
    def ours(self):
        return next(iter(self.sides))

    @property
    def peers(self):
        return list(self.sides)[1:]

    def side(self, name):
        """The side, with the functions of the case where it has none of its own."""
        side = self.sides[name]
        side = side if isinstance(side, Side) else Side(side)
        return replace(side, run=side.run or self.run, quality=side.quality or self.quality)

    def settings(self, quick=False):
        """One dictionary of params a row of the table: `vary` makes several."""
        params = {**self.params, **(self.quick if quick else {})}
        for name, values in self.vary.items():
            if not (quick and name in self.quick):
                return [{**params, name: value} for value in values]
            return [{**params, name: value} for value in params[name]]
        return [params]

    def required(self, what, peer):
        """The figure that `limit` or another requirement sets for this peer, or None."""
        value = getattr(self, what)
        return value.get(peer) if isinstance(value, Mapping) else value


def register(case):
    """Add a case to the table of `speed.py`."""
    if case.name in REGISTRY:
        raise ValueError(f"two cases are called {case.name}")
    REGISTRY[case.name] = case
    return case


def subjects():
    """The names of the files of cases."""
    return sorted(m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_"))


def load(subject):
    """The cases of one file, by name."""
    if subject not in LOADED:
        before = set(REGISTRY)
        importlib.import_module(f"{__name__}.{subject}")
        LOADED[subject] = {name: case for name, case in REGISTRY.items() if name not in before}
    return LOADED[subject]


def call(function, *args, **params):
    """Call a piece of a case with those of the params that it names."""
    known = inspect.signature(function).parameters
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in known.values()):
        return function(*args, **params)
    return function(*args, **{name: value for name, value in params.items() if name in known})


# --- pieces that most cases share -------------------------------------------------------------


def split(X, y, n_train):
    """The data of a case: the first `n_train` rows for training, the rest for testing."""
    return SimpleNamespace(X=X[:n_train], y=y[:n_train], X_test=X[n_train:], y_test=y[n_train:])


def friedman1(seed, n, p, noise=1.0, n_test=2_000):
    """Friedman's first regression problem: 5 informative uniform features of p, Gaussian noise."""
    rng = np.random.default_rng(seed)
    X = rng.random((n + n_test, p))
    mean = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    mean += 10 * X[:, 3] + 5 * X[:, 4]
    return split(X, mean + noise * rng.standard_normal(len(X)), n)


def two_classes(seed, n, p, noise=1.0, n_test=2_000):
    """Friedman's problem cut at its mean, 14.4: the labels 0 and 1, noisy near the border."""
    data = friedman1(seed, n, p, noise, n_test)
    data.y, data.y_test = (data.y > 14.4).astype(int), (data.y_test > 14.4).astype(int)
    return data


def estimator(module, name, base=None):
    """A `setup`: the class `name` of `module`, with those params of the case that it knows.

    `base` is a function that imports and builds the base learner, where there is one.
    """

    def setup(data, seed, **params):
        cls = getattr(importlib.import_module(module), name)
        known = inspect.signature(cls).parameters
        chosen = {key: value for key, value in params.items() if key in known}
        if "random_state" in known:
            chosen["random_state"] = seed
        if base is not None:
            chosen["estimator"] = base()
        return cls(**chosen)

    return setup


def drop_in(name, base=None, module="sklearn.ensemble"):
    """The two sides of a case about a class that has scikit-learn's name and parameters."""
    return {
        "ours": estimator("sklearn_ensemble_theory", name, base),
        "scikit-learn": estimator(module, name, base),
    }


def fit(model, data):
    """The usual timed run."""
    return model.fit(data.X, data.y)


def fit_predict(model, data):
    """A timed run for methods with costly predictions; the quality is `*_of_prediction`."""
    return model.fit(data.X, data.y).predict(data.X_test)


def held_out_mse(model, data):
    return mse_of_prediction(model.predict(data.X_test), data)


def held_out_error(model, data):
    return error_of_prediction(model.predict(data.X_test), data)


def mse_of_prediction(prediction, data):
    return float(np.mean((data.y_test - prediction) ** 2))


def error_of_prediction(prediction, data):
    return float(np.mean(data.y_test != prediction))
