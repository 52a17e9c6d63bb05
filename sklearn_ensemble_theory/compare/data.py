"""The data of `compare.py`: real data sets bundled with scikit-learn, or a file of the user's."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import datasets
from sklearn.model_selection import train_test_split

from sklearn_ensemble_theory.compare import UsageError
from sklearn_ensemble_theory.compare.tables import (
    Schema,
    as_dates,
    interpret,
    is_number,
    is_truth,
    plain,
    read_table,
)

BUNDLED = {
    "breast_cancer": ("classification", datasets.load_breast_cancer),
    "digits": ("classification", datasets.load_digits),
    "wine": ("classification", datasets.load_wine),
    "diabetes": ("regression", datasets.load_diabetes),
}
MOST_CLASSES_OF_NUMBERS = 20
FEWEST_DATED_ROWS = 100


@dataclass(frozen=True)
class Dataset:
    """Features X (n, p), target y (n,), and how many rows there were before any were left out.

    X is an array, or a frame with the `schema` of its columns; `n_unknown` rows of the file had no
    target, and the columns `dropped` were left out by the user; `notes` say what was found in it.
    The rows of dated data are in the order of their dates.
    """

    name: str
    task: str
    X: Any
    y: np.ndarray
    n_rows_in_all: int
    target: str | None = None
    schema: Schema | None = None
    n_unknown: int = 0
    dropped: Sequence[str] = ()
    notes: Sequence[str] = ()
    is_dated: bool = False

    def rows(self, chosen: Any) -> Any:
        return self.X[chosen] if self.schema is None else self.X.iloc[chosen]

    @property
    def has_missing(self) -> Any:
        """Whether some model may have to be given imputed numbers."""
        return self.schema is not None and self.schema.has_missing_numbers

    def encoder(self, seed: int, categories: bool = False) -> Any:
        """What turns the columns into numbers, not fitted; None where X is an array."""
        if self.schema is None:
            return None
        classes = "binary" if len(np.unique(self.y)) == 2 else "multiclass"
        kind = "continuous" if self.task == "regression" else classes
        return self.schema.encoder(kind, seed, categories and self.schema.has_categories)

    def strata(self, n_bins: int = 10) -> Any:
        """The strata of the folds: the classes, or bins of y with equal numbers of rows."""
        if self.task == "classification":
            return np.unique(self.y, return_inverse=True)[1]
        ranks = np.empty(len(self.y), dtype=int)
        ranks[np.argsort(self.y, kind="stable")] = np.arange(len(self.y))
        return ranks * n_bins // len(self.y)

    def subsample(self, n_rows: int, seed: int) -> Any:
        """At most `n_rows` rows, stratified."""
        if len(self.y) <= n_rows:
            return self
        strata = self.strata(min(10, n_rows))
        if n_rows < strata.max() + 1:
            raise UsageError(f"{self.name}: --max-rows is below the number of classes")
        rows, _ = train_test_split(
            np.arange(len(self.y)), train_size=n_rows, stratify=strata, random_state=seed
        )
        rows.sort()
        return replace(self, X=self.rows(rows), y=self.y[rows])

    def check(self, folds: int, inner_folds: int) -> None:
        """Raise an error if stratified folds are not possible."""
        if self.task == "regression":
            if np.ptp(self.y) == 0:
                raise UsageError(f"{self.name}: the target is constant")
            least = 20 if self.is_dated else 10  # by time the first part has training rows only
            if len(self.y) < least * (folds + self.is_dated):
                by_time = " by time" * self.is_dated
                raise UsageError(
                    f"{self.name}: {len(self.y)} rows are too few for {folds} folds{by_time}"
                    f" ({least} a fold)"
                )
            return
        labels, counts = np.unique(self.y, return_counts=True)
        if len(labels) < 2:
            raise UsageError(f"{self.name}: the target has one class only, {labels[0]!r}")
        smallest = counts.argmin()
        left = counts[smallest] - math.ceil(counts[smallest] / folds)
        if counts[smallest] < folds or left < inner_folds:
            raise UsageError(
                f"{self.name}: class {str(labels[smallest])!r} has {counts[smallest]} rows, too few"
                f" for {folds} folds with {inner_folds} inner ones; fewer --folds, or --task"
                " regression if the target is a quantity"
            )


def load_bundled(name: str) -> Any:
    if name not in BUNDLED:
        raise UsageError(
            f"unknown data set {name!r}{did_you_mean(name, BUNDLED)}; known: {', '.join(BUNDLED)}"
        )
    task, load = BUNDLED[name]
    X, y = load(return_X_y=True)
    return Dataset(name, task, X, y, len(y))


def load_file(
    path: str | Path, target: str | None = None, task: str | None = None, drop: Sequence[str] = ()
) -> Any:
    """A CSV or Parquet file; the column `target` (the last one) is predicted from the others.

    Rows without a target are left out. Without `task`, a target of text or of truth values, or of
    at most 20 distinct whole numbers with five rows each, is one of classes.
    """
    table, notes = read_table(path)
    target = table.columns[-1] if target is None else target
    for column in [target, *drop]:
        if column not in table.columns:
            raise UsageError(
                f"{path}: no column {column!r}{did_you_mean(column, table.columns)};"
                f" columns: {', '.join(table.columns)}"
            )
    known = table[target].notna()
    if not known.any():
        raise UsageError(f"{path}: the target {target!r} has no value in any row")
    n_unknown = int((~known).sum())
    table = table[known].reset_index(drop=True)
    features = [name for name in table.columns if name != target and name not in drop]
    try:
        y, inferred = interpret_target(target, table[target], task)
        schema = Schema(tuple(interpret(table[name]) for name in features))
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None
    X = schema.frame()
    if not X.shape[1]:
        raise UsageError(f"{path}: no column is left to learn from")
    name, task = Path(path).stem, task or inferred
    sums = schema.sums_to(y)
    if sums:
        terms = "".join(f" {'-' if sign < 0 else '+'} {term}" for term, sign in sums.items())
        notes += (
            f"In every row {target} ={terms.removeprefix(' +')}. Where these columns are not known "
            f"before the target, use --drop {' '.join(sums)}.",
        )
    order, is_dated = schema.in_order_of(), False
    if order is not None:
        column, is_falling = order
        is_dated = task == "regression" and len(y) >= FEWEST_DATED_ROWS
        if is_dated and is_falling:
            X, y = X[::-1], y[::-1]
        consequence = (
            "Each fold is predicted from the rows before it, once; the standard errors are rough."
            if is_dated
            else "The folds are not, so the scores may be too high for later rows."
        )
        notes += (f"The rows are in the order of {column!r}. {consequence}",)
    dropped = tuple(drop)
    return Dataset(name, task, X, y, len(y), target, schema, n_unknown, dropped, notes, is_dated)


def interpret_target(name: str, column: Any, task: str | None) -> Any:
    """The target as an array, and the task that it suggests."""
    column = plain(column)
    if as_dates(column)[0] is not None:
        raise UsageError(f"the target {name!r} consists of dates; choose another --target")
    if is_truth(column) or not is_number(column):
        if task == "regression":
            first = next(iter(column))
            raise UsageError(f"--task regression, but the target {name!r} is no number ({first!s})")
        return column.astype(object).map(str).to_numpy(dtype=str), "classification"
    y = column.astype("Float64").to_numpy(dtype=float)
    if not np.isfinite(y).all():
        raise UsageError(f"the target {name!r} has infinite values")
    distinct = np.unique(y)
    whole = (distinct == np.round(distinct)).all() and np.abs(distinct).max() < 2**53
    few = len(distinct) <= min(MOST_CLASSES_OF_NUMBERS, len(y) // 5)
    if task == "regression" or (task is None and not (few and whole)):
        return y, "regression"
    return (y.astype(int) if whole else y.astype(str)), "classification"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    plain = {other.casefold(): other for other in known}
    close = get_close_matches(name.casefold(), plain, n=1)
    return f" (did you mean {plain[close[0]]!r}?)" if close else ""
