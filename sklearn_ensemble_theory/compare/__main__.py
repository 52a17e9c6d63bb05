"""Compare every estimator of the package with its scikit-learn peer, on real data.

    python -m sklearn_ensemble_theory.compare                                real data
    python -m sklearn_ensemble_theory.compare --data FILE --target COLUMN    your own

In a checkout `python benchmarks/compare.py` is the same. Each estimator is used in a
Pipeline(StandardScaler, estimator), for a file behind a transformer of its columns, with the
setting that its documentation recommends; where that leaves parameters open, a small grid of them
is searched by GridSearchCV inside each outer fold.
The outer folds are repeated and stratified (regression: by bins of the target), and the same for
all estimators. If the rows of a regression are in the order of a date, each fold is predicted from
the rows before it. The table contains the mean score over the outer folds, the time to fit and to
predict with the chosen parameters, these parameters, and the mean difference to the peer over
folds. Folds share training rows, so standard errors are the corrected ones of Nadeau and Bengio
(2003). The last lines say in words how often the estimators are better, equal or worse. The table
is printed and, with a chart, written to a folder:

    table.csv    one line for each estimator and data set
    folds.csv    one line for each outer fold
    chart.png    the scores (needs matplotlib: python -m pip install ".[plot]")

Several jobs run at the same time, so the times are rough values; `speed.py` measures them.
"""

import argparse
import sys
import textwrap
import time
from argparse import Namespace
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import get_scorer_names
from sklearn.utils import get_tags

from sklearn_ensemble_theory.compare import UsageError, data, folds, peers, show
from sklearn_ensemble_theory.compare.chart import draw_chart, draw_differences
from sklearn_ensemble_theory.compare.data import Dataset

METRIC = {"classification": "accuracy", "regression": "r2"}
ROWS_OF_A_FILE = 1_000


def parse(argv: Sequence[str] | None) -> Any:
    parser = argparse.ArgumentParser(
        prog="compare.py",
        description="Compare the estimators with their scikit-learn peers on real data.",
    )
    source = parser.add_argument_group("data")
    source.add_argument("--data", metavar="FILE", help="a CSV file with a header line, or Parquet")
    source.add_argument("--target", metavar="COLUMN", help="the column to predict (default: last)")
    source.add_argument("--drop", metavar="COLUMN", nargs="+", default=[], help="columns to ignore")
    source.add_argument("--task", choices=METRIC, help="default: inferred from the target")
    source.add_argument("--dataset", metavar="NAME", nargs="+", help="bundled data (default: all)")
    source.add_argument(
        "--max-rows",
        type=positive,
        metavar="N",
        help=f"subsample larger data (default: all rows, for a file {ROWS_OF_A_FILE:,})",
    )
    what = parser.add_argument_group("what is compared")
    what.add_argument("--estimator", metavar="NAME", nargs="+", help="estimators (default: all)")
    what.add_argument("--folds", type=at_least_two, help="outer folds (default 3; --full 5)")
    what.add_argument("--repeats", type=positive, help="their repetitions (default 2; --full 5)")
    what.add_argument("--scoring", metavar="NAME", help="the name of a scikit-learn scorer")
    what.add_argument("--seed", type=int, default=0, help="of folds and estimators (default 0)")
    what.add_argument(
        "--full", action="store_true", help="all rows, more folds, five times the estimators: slow"
    )
    run = parser.add_argument_group("running")
    run.add_argument("--n-jobs", type=int, default=-1, help="processes (default: all cores)")
    run.add_argument("--output", metavar="DIR", type=Path, default=Path("compare-output"))
    run.add_argument(
        "--picture", metavar="FILE", type=Path, help="also all differences in one small PNG"
    )
    run.add_argument("--quiet", action="store_true", help="no progress, no notes")
    run.add_argument("--list", action="store_true", help="list estimators, peers, data and stop")
    return parser.parse_args(argv)


def positive(text: str) -> Any:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a positive integer")
    return value


def at_least_two(text: str) -> Any:
    value = int(text)
    if value < 2:
        raise argparse.ArgumentTypeError(f"{text} is not an integer of 2 or more")
    return value


def main(argv: Sequence[str] | None = None) -> Any:
    args = parse(argv)
    try:
        return list_all() if args.list else run(args)
    except UsageError as error:
        print(f"compare.py: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\ncompare.py: interrupted", file=sys.stderr)
        return 130


def list_all() -> Any:
    for name, cls in peers.choose().items():
        ours, peer = peers.candidates(name, cls, seed=0)
        print(f"{name}: grid {dict(ours.grid)}")
        print(f"    vs {peer.name}: grid {dict(peer.grid)}" if peer else "    no peer")
    for name, (task, _) in data.BUNDLED.items():
        print(f"{name}: {task}")
    return 0


def run(args: Namespace) -> Any:
    fill_in_defaults(args)
    chosen = peers.choose(args.estimator)
    if not chosen:
        raise UsageError("the package exports no estimator")
    sets = load(args)
    check_scoring(args, sets)
    jobs = {d.name: pair_up(chosen, d, args) for d in sets}
    if not any(jobs.values()):
        raise UsageError("none of these estimators supports the task of these data")
    try:
        args.output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--output {args.output}: {error.strerror or error}") from None

    start = time.monotonic()
    for d in sets:
        if len(d.y) < d.n_rows_in_all:
            note(args, f"{d.name}: {len(d.y)} of {d.n_rows_in_all} rows, drawn at random")
        if d.schema is not None:
            show.print_columns(d, jobs[d.name])
    results = search(sets, jobs, args)
    rows = [row for d in sets for row in table(d, jobs[d.name], results, args)]
    show.print_table(rows)
    print(f"\n{caption(args)}")
    write(args, rows, sets, jobs, results)
    print(f"{time.monotonic() - start:.0f} s in all")
    if words := show.in_words(rows):
        print(f"\n{textwrap.fill(words, 100)}")
    report_warnings(args, sets, jobs, results)
    failed = [row for row in rows for s in (row.ours, row.theirs) if s and s.failed]
    return 1 if failed else 0


def fill_in_defaults(args: Namespace) -> None:
    args.folds = args.folds or (5 if args.full else 3)
    args.repeats = args.repeats or (5 if args.full else 2)
    if args.n_jobs == 0:
        raise UsageError("--n-jobs must not be 0; -1 uses all cores")
    if args.max_rows is None and args.data and not args.full:
        args.max_rows = ROWS_OF_A_FILE


def load(args: Namespace) -> Any:
    """The selected data sets, subsampled and checked for the folds."""
    if args.data:
        if args.dataset:
            raise UsageError("--data and --dataset cannot be combined")
        sets = [data.load_file(args.data, args.target, args.task, args.drop)]
    else:
        if args.target or args.drop or args.task:
            raise UsageError("--target, --drop and --task can only be used with --data FILE")
        sets = [data.load_bundled(name) for name in dict.fromkeys(args.dataset or data.BUNDLED)]
    if args.max_rows is not None:
        sets = [d.subsample(args.max_rows, args.seed) for d in sets]
    for d in sets:
        d.check(args.folds, folds.INNER_FOLDS)
        if d.is_dated:
            args.repeats = 1  # there is one order of time
    return sets


def check_scoring(args: Namespace, sets: Any) -> None:
    if args.scoring is None:
        return
    if args.scoring not in get_scorer_names():
        known = data.did_you_mean(args.scoring, get_scorer_names())
        raise UsageError(f"unknown --scoring {args.scoring!r}{known}")
    if len({d.task for d in sets}) > 1:
        raise UsageError("--scoring needs data of one task; select them with --dataset")


def pair_up(chosen: Any, dataset: Dataset, args: Namespace) -> Any:
    """(estimator, ours, peer or None) for each estimator that is for this data set's task."""
    pairs = []
    for name, cls in chosen.items():
        ours, peer = peers.candidates(name, cls, args.seed, args.full)
        if peers.task_of(ours.model) != dataset.task:
            continue
        many = dataset.task == "classification" and len(set(dataset.y)) > 2
        if many and not get_tags(ours.model).classifier_tags.multi_class:
            note(args, f"{dataset.name}: {name} supports two classes only and is left out")
            continue
        pairs.append((name, ours, peer))
    return pairs


def note(args: Namespace, text: str) -> None:
    if not args.quiet:
        print(text, file=sys.stderr)


def scoring_for(dataset: Dataset, args: Namespace) -> Any:
    return args.scoring or METRIC[dataset.task]


def search(sets: Any, jobs: Any, args: Namespace) -> Any:
    """(data set, candidate's key) -> its outer folds; peers that several share run once."""
    distinct = {
        (d.name, c.key): (c, d, scoring_for(d, args))
        for d in sets
        for _, *pair in jobs[d.name]
        for c in pair
        if c is not None
    }
    progress = show.Progress(len(distinct) * args.folds * args.repeats, args.quiet)
    results: dict[tuple[str, str], Any] = {}
    outcomes = folds.evaluate(
        distinct.values(),
        folds=args.folds,
        repeats=args.repeats,
        seed=args.seed,
        n_jobs=args.n_jobs,
    )
    for candidate, d, fold in outcomes:
        results.setdefault((d.name, candidate.key), []).append(fold)
        progress.advance(f"{d.name}: {candidate.name}")
    return results


def table(dataset: Dataset, pairs: Any, results: Any, args: Namespace) -> Any:
    """The rows of one data set."""
    in_all = sum(np.nansum([f.seconds for f in outcome]) for outcome in results.values())
    for name, ours, peer in pairs:
        our_folds = results[dataset.name, ours.key]
        row = {
            "dataset": dataset.name,
            "task": dataset.task,
            "n_rows": len(dataset.y),
            "n_features": dataset.X.shape[1],
            "metric": scoring_for(dataset, args),
            "estimator": name,
            "ours": folds.summarise(our_folds, args.folds),
        }
        if peer is not None:
            their_folds = results[dataset.name, peer.key]
            row |= {"peer": peer.name, "theirs": folds.summarise(their_folds, args.folds)}
            seconds = np.nansum([f.seconds for f in their_folds])
            row["is_slow"] = bool(seconds >= show.SLOW * in_all)
            if not (row["ours"].failed or row["theirs"].failed):
                gap = folds.difference(our_folds, their_folds, args.folds)
                row["difference"], row["difference_se"] = gap
        yield show.Row(**row)


def caption(args: Namespace) -> Any:
    return (
        f"Mean over {args.folds} folds x {args.repeats} repeats ± one standard error, corrected for"
        " the training rows that folds share (Nadeau and Bengio 2003)."
    )


def write(args: Namespace, rows: Any, sets: Any, jobs: Any, results: Any) -> None:
    """The files of --output; a missing matplotlib costs the chart and nothing else."""
    show.write_table(args.output / "table.csv", rows)
    kept = [
        (d.name, name, side, candidate.name, results[d.name, candidate.key])
        for d in sets
        for name, *pair in jobs[d.name]
        for side, candidate in zip(("ours", "peer"), pair)
        if candidate is not None
    ]
    show.write_folds(args.output / "folds.csv", kept, args.folds)
    written = ["table.csv", "folds.csv"]
    if all(row.ours.failed for row in rows):
        print("no chart: no estimator came through", file=sys.stderr)
    else:
        try:
            draw_chart(args.output / "chart.png", rows, caption(args))
            written.append("chart.png")
            if args.picture is not None:
                draw_differences(args.picture, rows, caption(args))
        except ImportError:
            advice = 'python -m pip install ".[plot]" brings it'
            print(f"no chart: matplotlib is missing; {advice}", file=sys.stderr)
    print(f"Written to {args.output}: {', '.join(written)}")


def report_warnings(args: Namespace, sets: Any, jobs: Any, results: Any) -> None:
    """What our fits warned of, once each, with the number of outer folds that saw it."""
    counts = Counter(
        (d.name, name, text)
        for d in sets
        for name, ours, _ in jobs[d.name]
        for fold in results[d.name, ours.key]
        for text in fold.warned
    )
    for (dataset, name, text), count in counts.items():
        note(args, f"{dataset}: {name} warned in {count} outer folds: {text}")


if __name__ == "__main__":
    sys.exit(main())
