"""The data of `compare.py`: real data sets bundled with scikit-learn, or a CSV file."""

import csv
import io
import math
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path

import numpy as np
from sklearn import datasets
from sklearn.model_selection import train_test_split

from comparing import UsageError

BUNDLED = {
    "breast_cancer": ("classification", datasets.load_breast_cancer),
    "digits": ("classification", datasets.load_digits),
    "wine": ("classification", datasets.load_wine),
    "diabetes": ("regression", datasets.load_diabetes),
}
MISSING = {"", "na", "n/a", "nan", "null", "none", "?"}
DELIMITERS = ",;\t|"
MOST_CLASSES_OF_NUMBERS = 20


@dataclass(frozen=True)
class Dataset:
    """Features X (n, p), target y (n,), and how many rows there were before any were left out."""

    name: str
    task: str
    X: np.ndarray
    y: np.ndarray
    n_rows_in_all: int

    def strata(self, n_bins=10):
        """The strata of the folds: the classes, or bins of y with equal numbers of rows."""
        if self.task == "classification":
            return np.unique(self.y, return_inverse=True)[1]
        ranks = np.empty(len(self.y), dtype=int)
        ranks[np.argsort(self.y, kind="stable")] = np.arange(len(self.y))
        return ranks * n_bins // len(self.y)

    def subsample(self, n_rows, seed):
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
        return replace(self, X=self.X[rows], y=self.y[rows])

    def check(self, folds, inner_folds):
        """Raise an error if stratified folds are not possible."""
        if self.task == "regression":
            if np.ptp(self.y) == 0:
                raise UsageError(f"{self.name}: the target is constant")
            if len(self.y) < 10 * folds:
                raise UsageError(
                    f"{self.name}: {len(self.y)} rows are too few for {folds} folds (10 a fold)"
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


def load_bundled(name):
    if name not in BUNDLED:
        raise UsageError(
            f"unknown data set {name!r}{did_you_mean(name, BUNDLED)}; known: {', '.join(BUNDLED)}"
        )
    task, load = BUNDLED[name]
    X, y = load(return_X_y=True)
    return Dataset(name, task, X, y, len(y))


def load_csv(path, target, task=None, drop=()):
    """A CSV file with a header line; the column `target` is predicted from all others but `drop`.

    Comma, semicolon, tabulator or bar between the cells, whichever cuts the header line most; a
    semicolon allows decimal commas. Without `task`, a target of text, or of at most 20 distinct
    whole numbers with five rows each, is one of classes.
    """
    header, rows, delimiter = read_cells(Path(path))
    for column in [target, *drop]:
        if column not in header:
            raise UsageError(
                f"{path}: no column {column!r}{did_you_mean(column, header)};"
                f" columns: {', '.join(header)}"
            )
    features = [name for name in header if name != target and name not in drop]
    if not features:
        raise UsageError(f"{path}: no column is left to learn from")
    decimal_comma = delimiter == ";"
    X = np.empty((len(rows), len(features)))
    for j, name in enumerate(features):
        X[:, j] = numbers(path, name, cells(path, rows, name, header.index(name)), decimal_comma)
    labels = cells(path, rows, target, header.index(target))
    y, inferred = interpret_target(path, target, labels, decimal_comma, task)
    return Dataset(Path(path).stem, task or inferred, X, y, len(y))


def read_cells(path):
    """The header, the rows as (line number, cells), and the delimiter of a CSV file."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise UsageError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise UsageError(f"{path}: is a folder, not a CSV file") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path}: is not a text file in UTF-8") from None
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from None
    if "\0" in text:
        raise UsageError(f"{path}: is not a text file")
    first = next((line for line in io.StringIO(text) if line.strip()), None)
    if first is None:
        raise UsageError(f"{path}: is empty")
    delimiter = max(DELIMITERS, key=lambda d: len(next(csv.reader([first], delimiter=d))))
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True)
    try:
        records = [(reader.line_num, row) for row in reader if any(cell.strip() for cell in row)]
    except csv.Error as error:
        raise UsageError(f"{path}, line {reader.line_num}: {error}") from None
    header = [name.strip() for name in records.pop(0)[1]]
    for number, name in enumerate(header, start=1):
        if not name:
            raise UsageError(f"{path}: column {number} has no name in the header line")
        if header.count(name) > 1:
            raise UsageError(f"{path}: two columns are called {name!r}")
    if not records:
        raise UsageError(f"{path}: has a header line and no rows")
    for line, row in records:
        if len(row) != len(header):
            raise UsageError(
                f"{path}, line {line}: {len(row)} cells where the header has {len(header)}"
            )
    return header, records, delimiter


def cells(path, rows, name, position):
    """One column as (line, text); a missing value is an error with column and line."""
    column = [(line, row[position].strip()) for line, row in rows]
    gaps = [(line, cell) for line, cell in column if cell.lower() in MISSING]
    if gaps:
        line, cell = gaps[0]
        more = f" (and {len(gaps) - 1} more)" if len(gaps) > 1 else ""
        raise UsageError(
            f"{path}, line {line}: column {name!r} has a missing value ({cell or 'empty'}){more};"
            " fill it in or leave the row or the column out (--drop)"
        )
    return column


def number(cell, decimal_comma):
    """The cell as a float, or None for text."""
    if "_" in cell:  # Python accepts 1_000 as a number; in a CSV file it is text
        return None
    try:
        return float(cell)
    except ValueError:
        pass
    if decimal_comma and cell.count(",") == 1:
        return number(cell.replace(",", "."), False)
    return None


def numbers(path, name, column, decimal_comma):
    """A column of features as floats; text and infinities are errors with column and line."""
    values = np.empty(len(column))
    for i, (line, cell) in enumerate(column):
        value = number(cell, decimal_comma)
        if value is None:
            raise UsageError(
                f"{path}, line {line}: column {name!r} is text ({cell!r}); encode it as numbers or"
                f" leave it out (--drop {name!r})"
            )
        if not math.isfinite(value):
            raise UsageError(f"{path}, line {line}: column {name!r} is infinite ({cell})")
        values[i] = value
    return values


def interpret_target(path, name, column, decimal_comma, task):
    """The target as an array, and the task that it suggests."""
    values = [number(cell, decimal_comma) for _, cell in column]
    if task != "classification" and None not in values:
        y = numbers(path, name, column, decimal_comma)
        distinct = np.unique(y)
        few = len(distinct) <= min(MOST_CLASSES_OF_NUMBERS, len(y) // 5)
        whole = (distinct == np.round(distinct)).all() and np.abs(distinct).max() < 2**53
        if task is None and few and whole:
            return y.astype(int), "classification"
        return y, "regression"
    if task == "regression":
        line, cell = next(c for c, value in zip(column, values) if value is None)
        raise UsageError(
            f"{path}, line {line}: --task regression, but the target {name!r} is text ({cell!r})"
        )
    if None not in values and all(abs(v) < 2**53 and v == round(v) for v in values):
        return np.asarray(values).astype(int), "classification"
    return np.asarray([cell for _, cell in column]), "classification"


def did_you_mean(name, known):
    plain = {other.casefold(): other for other in known}
    close = get_close_matches(name.casefold(), plain, n=1)
    return f" (did you mean {plain[close[0]]!r}?)" if close else ""
