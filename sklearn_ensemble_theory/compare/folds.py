"""Nested cross-validation: a grid search inside each of the outer folds.

The folds are repeated and stratified, or for dated data each is predicted from the rows before it.
"""

import time
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.metrics import get_scorer
from sklearn.model_selection import (
    GridSearchCV,
    RepeatedStratifiedKFold,
    StratifiedKFold,
    TimeSeriesSplit,
)
from sklearn.utils.parallel import Parallel, delayed

from sklearn_ensemble_theory.compare.data import Dataset

INNER_FOLDS = 3


@dataclass(frozen=True)
class Fold:
    """The result of one candidate in one outer fold; seconds are those of the chosen model."""

    score: float = np.nan
    fit_seconds: float = np.nan
    predict_seconds: float = np.nan
    chosen: dict = field(default_factory=dict)
    warned: tuple = ()
    failed: str | None = None
    seconds: float = np.nan  # of all fits, those of the search too


def evaluate_fold(
    candidate: Any,
    dataset: Dataset,
    strata: np.ndarray,
    train: np.ndarray,
    test: np.ndarray,
    scoring: str,
    seed: int,
) -> Any:
    """Search the grid, if any, on the training rows; score the best model on the others."""
    encoder = dataset.encoder(seed, candidate.takes_categories)
    pipeline, grid = candidate.pipeline(encoder, dataset.has_missing)
    cv: Any = StratifiedKFold(INNER_FOLDS, shuffle=True, random_state=seed)
    if dataset.is_dated:
        cv = TimeSeriesSplit(INNER_FOLDS)
    inner = list(cv.split(train, strata[train]))
    options = {"cv": inner, "scoring": scoring, "error_score": "raise"}
    model = GridSearchCV(pipeline, grid, **options) if grid else pipeline
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        begin = time.perf_counter()
        try:
            model.fit(dataset.rows(train), dataset.y[train])
            fit_seconds = model.refit_time_ if grid else time.perf_counter() - begin
            start = time.perf_counter()
            model.predict(dataset.rows(test))
            predict_seconds = time.perf_counter() - start
            score = get_scorer(scoring)(model, dataset.rows(test), dataset.y[test])
        except Exception as error:  # other estimators continue if one fails
            return Fold(failed=f"{type(error).__name__}: {first_line(error)}")
    chosen = model.best_params_ if grid else {}
    return Fold(
        score=float(score),
        fit_seconds=fit_seconds,
        predict_seconds=predict_seconds,
        chosen={name.removeprefix("model__"): value for name, value in chosen.items()},
        warned=tuple(sorted({f"{w.category.__name__}: {first_line(w.message)}" for w in caught})),
        seconds=time.perf_counter() - begin,
    )


def first_line(error: object) -> str:
    return (str(error).splitlines() or [""])[0]


def evaluate(candidates: Any, *, folds: int, repeats: int, seed: int, n_jobs: int | None) -> Any:
    """Yield (candidate, data set, Fold) for every outer fold, with the same splits for all.

    `candidates` are (candidate, data set, scoring). All are tasks of one pool, which has no worker
    that waits for the others at the end of a data set.
    """
    stratified = RepeatedStratifiedKFold(n_splits=folds, n_repeats=repeats, random_state=seed)
    splits = {}
    jobs = []
    for candidate, dataset, scoring in candidates:
        if dataset.name not in splits:
            strata = dataset.strata()
            cv = TimeSeriesSplit(folds) if dataset.is_dated else stratified
            splits[dataset.name] = strata, list(cv.split(strata, strata))
        strata, own = splits[dataset.name]
        jobs += [(candidate, dataset, strata, *split, scoring, seed) for split in own]
    results = Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(evaluate_fold)(*job) for job in jobs
    )
    for (candidate, dataset, *_), result in zip(jobs, results):
        yield candidate, dataset, result


@dataclass(frozen=True)
class Summary:
    """A candidate's outer folds in a few numbers."""

    score: float
    score_se: float
    fit_seconds: float
    predict_seconds: float
    chosen: str
    failed: str | None = None


def summarise(folds: Sequence[Fold], n_folds: int) -> Summary:
    failed = next((fold.failed for fold in folds if fold.failed), None)
    if failed:
        return Summary(np.nan, np.nan, np.nan, np.nan, chosen="", failed=failed)
    scores = np.array([fold.score for fold in folds])
    return Summary(
        score=scores.mean(),
        score_se=corrected_standard_error(scores, n_folds),
        fit_seconds=float(np.median([fold.fit_seconds for fold in folds])),
        predict_seconds=float(np.median([fold.predict_seconds for fold in folds])),
        chosen=most_chosen([fold.chosen for fold in folds]),
    )


def difference(ours: Any, theirs: Any, n_folds: int) -> Any:
    """Mean difference of scores fold by fold, ours minus theirs, and its standard error."""
    gaps = np.array([a.score - b.score for a, b in zip(ours, theirs)])
    return gaps.mean(), corrected_standard_error(gaps, n_folds)


def corrected_standard_error(values: Any, n_folds: int) -> Any:
    """Standard error of the mean of values from J repeated folds.

    The folds share training rows, so s / sqrt(J) is far too small. C. Nadeau and Y. Bengio,
    "Inference for the generalization error" (2003), equation (7), put 1/J + n_test/n_train in
    place of 1/J; here n_test/n_train = 1/(n_folds - 1).
    """
    return float(np.sqrt((1 / len(values) + 1 / (n_folds - 1)) * np.var(values, ddof=1)))


def most_chosen(choices: Any) -> Any:
    """The parameters chosen in most folds, and in how many of them."""
    counts = Counter(", ".join(f"{k}={v}" for k, v in choice.items()) for choice in choices)
    text, count = counts.most_common(1)[0]
    return f"{text} ({count}/{len(choices)})" if text else "-"
