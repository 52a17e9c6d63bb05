"""Fits of odd inputs, and what became of them.

    python -m tests.reliability.fuzzing --n 20000 --seed 7

prints a table of the verdicts by estimator, and each failure with its number; `--magnitudes` draws
numbers of odd sizes only, `--columns` categories and constraints, `--dressed` valid arguments in
other types; `--sklearn` fits scikit-learn's estimators. `--only RandomForestClassifier --case 31`
repeats one case.
"""

import argparse
import inspect
import re
import resource
import signal
import sys
import time
import traceback
import warnings
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
from scipy import sparse
from sklearn import ensemble, neighbors
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.linear_model import LinearRegression, LogisticRegression

from ..estimators import estimator_classes, make
from . import dresses
from .odd_inputs import (
    N_ROWS,
    draw_case,
    draw_columns,
    draw_dressed,
    draw_magnitudes,
    known_to,
    ordinary,
)

SECONDS = 300  # after which a case is interrupted
SLOW = 5  # CPU seconds that are too many for these few rows
MEMORY = 3 * 2**30  # beyond what the process has
STATM = Path("/proc/self/statm")

# Beside the names of its parameters, words by which an error names what is wrong in the data.
DATA_WORDS = {
    *("sample_weight", "weight", "weights", "sample", "samples", "feature", "features"),
    *("class", "classes", "label", "labels", "input", "array", "row", "rows", "column", "columns"),
    *("target", "targets", "groups", "dtype", "sparse", "dimension", "dimensions", "data"),
    *("nan", "infinity", "outputs"),
}
# What NumPy says of X in every estimator of scikit-learn's kind; members that should be fitted.
OF_DATA = ("could not convert string to float", "instance is not fitted yet", "n_samples_fit")

GOOD = ("right", "refused")
BAD = ("accepted", "foreign", "nan", "shape", "warning", "hang", "memory", "mutated", "lost")


class Hang(BaseException):
    """The time of a case is over."""


@dataclass
class Verdict:
    kind: str
    details: str = ""
    seconds: float = 0.0

    @property
    def good(self):
        return self.kind in GOOD


@contextmanager
def bounds(seconds=SECONDS, memory=MEMORY):
    """Hang after that time, and MemoryError beyond that memory."""

    def stop(*_):
        raise Hang

    limits = resource.getrlimit(resource.RLIMIT_AS)
    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        if STATM.exists():
            top = int(STATM.read_text().split()[0]) * resource.getpagesize() + memory
            resource.setrlimit(resource.RLIMIT_AS, (top, limits[1]))
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        resource.setrlimit(resource.RLIMIT_AS, limits)


def fingerprint(value):
    """A hash of a value that may be anything; by its bytes, so that nan equals itself."""
    if isinstance(value, dict):
        value = {name: fingerprint(one) for name, one in value.items()}
    elif isinstance(value, pd.DataFrame | pd.Series):  # nor what these remember of their blocks
        value = (str(value.index), str(getattr(value, "dtypes", "")), value.to_numpy(dtype=object))
    elif isinstance(value, pd.api.extensions.ExtensionArray | pd.Index):
        value = (str(value.dtype), np.asarray(value, dtype=object))
    elif type(value).__module__.startswith("pyarrow"):
        value = (str(getattr(value, "schema", None) or value.type), str(value))
    elif sparse.issparse(value):  # not what it remembers of its own form
        value = (value.format, value.data, value.tocsr().indices)
    try:
        return joblib.hash(value)
    except Exception:
        return repr(value)


def judge(estimator, case):
    """Fit the case and predict; the verdict. `estimator` is not changed."""
    return timed_call(partial(verdict_on, estimator, case))


def timed_call(call):
    """The verdict that a call returns; that of a hang where it takes too long twice."""
    verdict = timed(call)
    if verdict.seconds > SLOW and verdict.kind != "hang":
        # The first time, loops may have been compiled for arrays of another type.
        verdict = timed(call)
        if verdict.seconds > SLOW:
            return Verdict("hang", f"{verdict.kind} after {verdict.seconds:.1f} s", verdict.seconds)
    return verdict


def timed(call):
    start = time.process_time()
    verdict = call()
    verdict.seconds = time.process_time() - start
    return verdict


def verdict_on(estimator, case):
    model = clone(estimator)
    X, y = ordinary(np.random.default_rng(0), is_classifier(estimator), N_ROWS)
    model.fit(X, y)  # the earlier model
    try:
        model.set_params(**case.params)
    except ValueError as error:
        return Verdict("refused", str(error))
    arguments = {"X": case.X, "y": case.y}
    for name in ("sample_weight", "groups"):
        if getattr(case, name) is not None:
            arguments[name] = getattr(case, name)
    state, given = fingerprint(vars(model)), fingerprint(arguments)
    params = fingerprint(model.get_params(deep=False))
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        verdict = outcome(model, arguments, case.query, state)
    if verdict.kind in ("hang", "memory"):
        return verdict
    if fingerprint(arguments) != given:
        return Verdict("mutated", "the data have changed")
    if fingerprint(model.get_params(deep=False)) != params:
        return Verdict("mutated", "the parameters have changed")
    noise = [w for w in seen if not issubclass(w.category, (UserWarning, FutureWarning))]
    if noise and verdict.good:
        first = noise[0]
        return Verdict("warning", f"{first.message} ({first.filename}:{first.lineno})")
    return verdict


def outcome(model, arguments, query, state):
    try:
        with bounds():
            model.fit(**arguments)
            fitted = True
            state = None
            outputs = model.predict(query)
            proba = model.predict_proba(query) if hasattr(model, "predict_proba") else None
            if len(getattr(model, "estimators_", ())) <= 100:  # many members take their time
                read_everything(model, query)
    except Hang:
        return Verdict("hang", place())
    except MemoryError as error:
        return Verdict("refused" if is_named(error, model) else "memory", f"{error} {place()}")
    except Exception as error:
        if state is not None and fingerprint(vars(model)) != state:
            return Verdict("lost", f"{type(error).__name__}: {error} {place()}")
        return verdict_of(error, model)
    assert fitted
    return verdict_of_outputs(model, query, outputs, proba)


OPTIONS = {
    "predict_interval": [{"method": m} for m in ("jackknife+", "normalized", "quantile")],
    "standard_error": [{"method": "jackknife"}],
}


def read_everything(model, query):
    """What a session does after a fit: complete names, read attributes, call methods of X.

    A method that a setting does not have says which; that is an error here where it names neither
    a parameter nor the data, or says that the fit was not one.
    """
    names = [name for name in dir(model) if name[0] != "_" and not hasattr(BaseEstimator, name)]
    for name in names:
        if name.startswith(("fit", "partial_fit", "set_", "forget_")):
            continue
        try:
            value = getattr(model, name, None)
            if not callable(value) or not needed(value) <= {"X"}:
                continue
            given = [query] if needed(value) else []
            values = str(inspect.signature(value))  # of a Literal, those that this class has
            more = [o for o in OPTIONS.get(name, ()) if all(v in values for v in o.values())]
            for options in ({}, *more):
                found = value(*given, **options)
                if name.startswith("staged_"):
                    list(found)
        except ImportError:  # of an optional package
            continue
        except (ValueError, TypeError, AttributeError) as error:
            if "fit again" in str(error) or not is_named(error, model):
                raise Unnamed(f"{name}: {type(error).__name__}: {error}") from error


class Unnamed(Exception):
    """A method's error that names nothing."""


def needed(method):
    """The arguments that a method cannot do without."""
    try:
        given = inspect.signature(method).parameters.values()
    except (TypeError, ValueError):
        return {"?"}
    return {p.name for p in given if p.default is p.empty and p.kind is not p.VAR_KEYWORD}


def place():
    """The innermost line of the exception being handled."""
    frames = traceback.extract_tb(sys.exc_info()[2])
    ours = [f for f in frames if "sklearn_ensemble_theory" in f.filename] or frames
    return f"({ours[-1].filename.split('site-packages/')[-1]}:{ours[-1].lineno})"


def verdict_of(error, model):
    text = f"{type(error).__name__}: {error} {place()}"
    if not isinstance(error, (ValueError, TypeError)):
        return Verdict("foreign", text)
    return Verdict("refused" if is_named(error, model) else "foreign", text)


def is_named(error, model):
    words = set(re.findall(r"\w+", str(error)))
    # The parameters of a base learner too, by their own names.
    params = {name for path in model.get_params() for name in str(path).split("__")}
    return bool(
        words & {"X", "y", *params}
        or {word.lower() for word in words} & DATA_WORDS
        or any(phrase in str(error) for phrase in OF_DATA)
    )


def verdict_of_outputs(model, query, outputs, proba):
    if query is None:  # neighbours then predict the rows that they were fitted to
        return Verdict("right")
    if not hasattr(query, "shape") and not hasattr(query, "__len__"):
        return Verdict("right")
    n = query.shape[0] if hasattr(query, "shape") else len(query)
    if np.shape(outputs)[:1] != (n,):
        return Verdict("shape", f"{np.shape(outputs)} for {n} rows")
    outputs = np.asarray(outputs)
    if is_classifier(model):
        classes = model.classes_
        if isinstance(classes, list):
            return Verdict("right")
        if not set(outputs.ravel().tolist()) <= set(classes.tolist()):
            return Verdict("nan", "a label that is no class")
        if proba is None:
            return Verdict("right")
        if np.shape(proba) != (n, len(classes)):
            return Verdict("shape", f"predict_proba {np.shape(proba)}")
        if not np.all(np.isfinite(proba)):
            return Verdict("nan", "predict_proba")
        if np.any(proba < 0) or np.any(abs(np.sum(proba, axis=1) - 1) > 1e-6):
            return Verdict("nan", "probabilities that do not sum to 1")
        return Verdict("right")
    finite = np.isfinite(outputs.astype(float)).all()
    return Verdict("right") if finite else Verdict("nan", "predict")


def peers():
    """scikit-learn's estimators that the table compares, small."""
    classes = [("a", LogisticRegression()), ("b", neighbors.KNeighborsClassifier(3))]
    numbers = [("a", LinearRegression()), ("b", neighbors.KNeighborsRegressor(3))]
    many = ["RandomForest", "ExtraTrees", "Bagging", "AdaBoost", "GradientBoosting"]
    found = [
        getattr(ensemble, f"{name}{kind}")(n_estimators=5, random_state=0)
        for name in many
        for kind in ("Classifier", "Regressor")
    ]
    return [
        *found,
        ensemble.HistGradientBoostingClassifier(max_iter=5, random_state=0),
        ensemble.HistGradientBoostingRegressor(max_iter=5, random_state=0),
        ensemble.StackingClassifier(classes, cv=3),
        ensemble.StackingRegressor(numbers, cv=3),
        ensemble.VotingClassifier(classes),
        ensemble.VotingRegressor(numbers),
        neighbors.KNeighborsClassifier(3),
        neighbors.KNeighborsRegressor(3),
    ]


def judge_dressed(estimator, seed, number):
    """The case and its verdict, also by whether the results are those of the plain arguments."""

    def drawn():  # anew: iterators are read once
        return draw_dressed(estimator, seed, number)

    verdict = timed_call(lambda: verdict_on(estimator, drawn()[0]))
    found, case = [], drawn()[0]
    if verdict.kind == "right":
        for each in reversed(drawn()):
            arguments = {k: getattr(each, k) for k in ("X", "y", "sample_weight", "groups")}
            arguments = {k: v for k, v in arguments.items() if v is not None}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = clone(estimator).set_params(**each.params).fit(**arguments)
                proba = hasattr(model, "predict_proba") and not isinstance(model.classes_, list)
                outputs = (model.predict_proba if proba else model.predict)(each.query)
                if is_classifier(model) and not proba and np.ndim(outputs) == 1:
                    outputs = np.searchsorted(model.classes_, outputs)
                found.append(np.squeeze(outputs))  # neighbours keep a column
        if not dresses.same(*found):
            verdict.kind = "accepted"
            a, b = map(np.asarray, reversed(found))
            verdict.details = f"{a.shape} {a.ravel()[:4]} instead of {b.shape} {b.ravel()[:4]}"
    return case, verdict


def run(estimator, seed, numbers, draw=draw_case):
    """The counts of verdicts, the failures (number, what was odd, verdict), the longest time."""
    counts, failures, longest = Counter(), [], 0.0
    for number in numbers:
        if draw is draw_dressed:
            case, verdict = judge_dressed(estimator, seed, number)
        else:
            case = draw(estimator, seed, number)
            verdict = judge(estimator, case)
        longest = max(longest, verdict.seconds)
        counts[verdict.kind] += 1
        if not verdict.good:
            failures.append((number, "; ".join(case.odd), verdict))
    return counts, failures, longest


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=2000, help="number of cases, over all estimators")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", help="classes whose names contain one of these, with commas")
    parser.add_argument("--case", type=int, help="the number of one case, whose error is raised")
    parser.add_argument("--magnitudes", action="store_true", help="numbers of odd sizes only")
    parser.add_argument("--columns", action="store_true", help="categories and constraints only")
    parser.add_argument("--dressed", action="store_true", help="valid arguments in other types")
    parser.add_argument("--sklearn", action="store_true", help="scikit-learn's estimators")
    options = parser.parse_args(arguments)
    models = peers() if options.sklearn else [make(cls) for cls in estimator_classes()]
    if options.only:
        wanted = options.only.split(",")
        models = [m for m in models if any(w in type(m).__name__ for w in wanted)]
    draw = draw_magnitudes if options.magnitudes else draw_case
    if options.columns:
        draw, models = draw_columns, [m for m in models if "categorical_features" in known_to(m)]
    if options.dressed:
        draw = draw_dressed
    if options.case is not None:
        for model in models:
            if options.dressed:
                print(type(model).__name__, *judge_dressed(model, options.seed, options.case))
                continue
            case = draw(model, options.seed, options.case)
            print(type(model).__name__, case, judge(model, case), sep="\n")
        return
    each = -(-options.n // len(models))
    total = Counter()
    print(
        f"{'':36}{'n':>6}"
        + "".join(f"{kind:>9}" for kind in GOOD + BAD)
        + f"{'s':>7}{'slowest':>9}"
    )
    for model in models:
        start = time.perf_counter()
        counts, failures, longest = run(model, options.seed, range(each), draw)
        total += counts
        seconds = time.perf_counter() - start
        print(line(type(model).__name__, counts) + f"{seconds:>7.1f}{longest:>9.2f}", flush=True)
        for number, odd, verdict in failures:
            print(f"    {number}: {verdict.kind}: {odd}: {verdict.details[:300]}", flush=True)
    print(line("sum", total))
    bad = sum(total[kind] for kind in BAD)
    print(f"{bad} of {sum(total.values())}: {1000 * bad / sum(total.values()):.1f} in 1,000")


def line(name, counts):
    numbers = "".join(f"{counts[kind]:>9}" for kind in GOOD + BAD)
    return f"{name:36}{sum(counts.values()):>6}{numbers}"


if __name__ == "__main__":
    main()
