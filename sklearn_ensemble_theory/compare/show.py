"""The output of `compare.py`: progress, the table, and the table as CSV."""

import csv
import math
import sys
import textwrap
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from sklearn_ensemble_theory.compare.data import Dataset
from sklearn_ensemble_theory.compare.folds import Summary

SLOW = 0.05


@dataclass(frozen=True)
class Row:
    """One estimator on one data set; without a peer, the fields from `peer` on are None."""

    dataset: str
    task: str
    n_rows: int
    n_features: int
    metric: str
    estimator: str
    ours: Summary
    peer: str | None = None
    theirs: Summary | None = None
    difference: float | None = None
    difference_se: float | None = None
    is_slow: bool = False  # the peer, among those that most of the time went to

    @property
    def gap(self) -> Any:
        """The difference to the peer as text; "" where there is none."""
        if self.difference is None:
            return ""
        rounded = round(self.difference, 3) + 0.0  # no negative zero
        return f"{rounded:+.3f} ± {self.difference_se:.3f}"


class Progress:
    """A bar on a terminal, otherwise a line every ten per cent; nothing with --quiet."""

    def __init__(self, total: int, quiet: bool = False, stream: TextIO | None = None) -> None:
        self.total, self.done, self.quiet = total, 0, quiet
        self.stream = stream or sys.stderr
        self.terminal = self.stream.isatty()
        self.start = time.monotonic()

    def advance(self, text: str) -> None:
        self.done += 1
        if self.quiet:
            return
        seconds = time.monotonic() - self.start
        left = seconds * (self.total - self.done) / self.done
        if self.terminal:
            filled = 30 * self.done // self.total
            bar = "#" * filled + "." * (30 - filled)
            line = f"[{bar}] {self.done}/{self.total}  {left:.0f} s left  {text}"
            end = "" if self.done < self.total else "\n"
            print(f"\r\x1b[K{line[:110]}", end=end, file=self.stream, flush=True)
        elif 10 * self.done // self.total > 10 * (self.done - 1) // self.total:
            share = 100 * self.done // self.total
            print(f"{share} % after {seconds:.0f} s ({text})", file=self.stream, flush=True)


# --- the columns of a file ----------------------------------------------------------------------


def print_columns(dataset: Dataset, jobs: Any) -> None:
    """What the columns of a file are and what is done to them, one line each."""
    lines = [("column", "is", "is used as")]
    schema: Any = dataset.schema
    lines += [column.line for column in schema.columns]
    lines += [(name, "", "left out by --drop") for name in dataset.dropped]
    lines.append((str(dataset.target), "target", dataset.task))
    widths = [max(len(line[k]) for line in lines) for k in range(2)]
    print(f"{dataset.name}: {dataset.n_rows_in_all} rows", end="")
    print(f"; {dataset.n_unknown} more without a target are left out" * bool(dataset.n_unknown))
    for name, kind, action in lines:
        print(f"  {name:{widths[0]}}  {kind:{widths[1]}}  {action}".rstrip())
    for note in dataset.notes:
        print(textwrap.fill(note, 100))
    if dataset.has_missing:
        models = {c.name: c.takes_missing for _, *pair in jobs for c in pair if c is not None}
        imputed = [name for name, takes in models.items() if not takes]
        others = " All other models get them as they are." * (len(imputed) < len(models))
        text = (
            "Missing numbers become the median of the column, with a column that is 1 where one"
            f" was missing, for {', '.join(imputed) or 'no model'}.{others}"
        )
        print(textwrap.fill(text, 100))
    if schema.has_categories:
        models = {c.name: c.takes_categories for _, *pair in jobs for c in pair if c is not None}
        taking = [name for name, takes in models.items() if takes]
        if taking:
            text = f"Instead of one-hot columns, {', '.join(taking)} get categories."
            print(textwrap.fill(text, 100))
    print("Encodings, medians and scales are estimated from the training rows of each fold only.")


# --- the table --------------------------------------------------------------------------------


def print_table(rows: Any) -> None:
    """One block for each data set; each estimator is followed by its peer and the difference."""
    name_width = max(len(name) + 7 for row in rows for name in (row.estimator, row.peer or ""))
    chosen_width = max(len(s.chosen) for row in rows for s in (row.ours, row.theirs) if s)
    header = (
        f"{'':{name_width}}  {'score':>15}  {'fit s':>7}  {'predict s':>9}  "
        f"{'chosen (folds)':{chosen_width}}  {'minus peer':>16}"
    )
    for dataset in dict.fromkeys(row.dataset for row in rows):
        block = [row for row in rows if row.dataset == dataset]
        first = block[0]
        print(
            f"\n{dataset}: {first.task}, {first.n_rows} rows, {first.n_features} features, ", end=""
        )
        print(f"{first.metric}\n{header}")
        for row in block:
            print(line(row.estimator, row.ours, name_width, chosen_width, row.gap))
            if row.peer:
                mark = " *" * row.is_slow
                print(line(f"  vs {row.peer}{mark}", row.theirs, name_width, chosen_width))
    if any(row.is_slow for row in rows):
        print(f"\n* One of the slowest peers: {SLOW:.0%} or more of the seconds of all fits.")


def counts(pairs: Any) -> tuple[int, int, int]:
    """How many of the rows are better than their peers, equal to them, and worse."""
    gaps = [row.difference for row in pairs if abs(row.difference) >= 2 * row.difference_se > 0]
    better = sum(gap > 0 for gap in gaps)
    return better, len(pairs) - len(gaps), len(gaps) - better


def in_words(rows: Any) -> str:
    """How often the estimators are better than their peers, and how much faster they fit.

    A difference of two standard errors or more counts as better or worse. The times are those of
    the chosen parameters, as the geometric mean over all pairs.
    """
    pairs = [row for row in rows if row.difference is not None]
    if not pairs:
        return ""
    better, equal, worse = counts(pairs)
    logs = [math.log(row.theirs.fit_seconds / row.ours.fit_seconds) for row in pairs]
    ratio = math.exp(sum(logs) / len(logs))
    speed = f"{ratio:.1f} times as fast" if ratio >= 1 else f"{1 / ratio:.1f} times as slow"
    names, sets = ({getattr(row, key) for row in pairs} for key in ("estimator", "dataset"))
    data = f"{len(sets)} data {'set' if len(sets) == 1 else 'sets'}"
    return (
        f"{len(names)} estimators beside their scikit-learn peers, {data}: better on {better} of "
        f"{len(pairs)} comparisons, equal within two standard errors on {equal}, "
        f"worse on {worse}. Fits are {speed} in the mean."
    )


def line(name: str, summary: Any, name_width: int, chosen_width: int, gap: str = "") -> Any:
    if summary.failed:
        return f"{name:{name_width}}  {summary.failed}"
    score = f"{summary.score:.3f} ± {summary.score_se:.3f}"
    text = (
        f"{name:{name_width}}  {score:>15}  {summary.fit_seconds:>7.3f}  "
        f"{summary.predict_seconds:>9.4f}  {summary.chosen:{chosen_width}}  {gap:>16}"
    )
    return text.rstrip()


def write_table(path: str | Path, rows: Any) -> None:
    """The table as CSV: one line for each estimator and data set, including the peer."""
    sides = ("score", "score_se", "fit_seconds", "predict_seconds", "chosen", "failed")
    common = ("dataset", "task", "n_rows", "n_features", "metric", "estimator")
    with open(path, "w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(
            [*common, *sides, "peer", *(f"peer_{name}" for name in sides)]
            + ["difference", "difference_se"]
        )
        for row in rows:
            cells = [getattr(row, name) for name in common]
            cells += [getattr(row.ours, name) for name in sides]
            cells += [row.peer, *(getattr(row.theirs, name, None) for name in sides)]
            writer.writerow(
                ["" if blank(c) else c for c in [*cells, row.difference, row.difference_se]]
            )


def write_folds(path: str | Path, folds: Any, n_folds: int) -> None:
    """Every outer fold as CSV; `folds` has (data set, estimator, side, model, list of Fold)."""
    figures = ("score", "fit_seconds", "predict_seconds")
    with open(path, "w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(
            ["dataset", "estimator", "side", "model", "repeat", "fold", *figures, "chosen"]
        )
        for *names, results in folds:
            for i, fold in enumerate(results):
                cells = [getattr(fold, name) for name in figures]
                cells = ["" if blank(c) else c for c in cells]
                chosen = ", ".join(f"{k}={v}" for k, v in fold.chosen.items())
                writer.writerow([*names, *divmod(i, n_folds), *cells, chosen])


def blank(cell: Any) -> Any:
    return cell is None or (isinstance(cell, float) and math.isnan(cell))
