"""Measure the time of the estimators, compared with the library that a user would use instead.

    python benchmarks/speed.py                  every case
    python benchmarks/speed.py bagging          the cases of cases/bagging.py
    python benchmarks/speed.py subsample-in-n   one case (shell patterns work: 'bagged-*')
    python benchmarks/speed.py --list

Cases marked in the list as run by name take many minutes or much memory: they are run if their
name is typed in full, or with --quick.

Each side of a case runs in its own process, which imports only its own library: two OpenMP pools
in one process can slow each other down by an order of magnitude. The process generates the data
from a seed and runs once untimed, where its peak memory is measured. Then the sides alternate, one
timed run at a time, so that variations of the machine's speed affect all of them. The table
contains the median time of each side and the median of the ratios of neighbouring runs. The cpu
ratio is the ratio of the processor times of all threads and, on Linux, of the worker processes: it
is more stable on a busy machine, but does not reflect parallelism.

Writing a case
--------------
One file a subject in `cases/`; the file registers its cases when it is imported. Only NumPy and the
standard library are imported at the top of the file; everything else inside `setup`, so that no
process imports the library of another side::

    from cases import Case, Side, estimator, fit, friedman1, held_out_mse, register


    def lightgbm(data, n_estimators, seed, threads):
        from lightgbm import LGBMRegressor

        return LGBMRegressor(n_estimators=n_estimators, n_jobs=threads, random_state=seed)


    register(
        Case(
            name="gradient-boosting",                # what is typed on the command line
            title="gradient boosting of trees, n = 20,000",
            params={"n": 20_000, "p": 20, "n_estimators": 100},
            quick={"n": 1_000, "n_estimators": 10},  # what --quick replaces
            data=friedman1,                          # data(seed, n, p, ...) -> anything
            sides={                                  # name -> setup or Side; the first is ours
                "ours": estimator("sklearn_ensemble_theory", "GradientBoostingRegressor"),
                "scikit-learn": estimator("sklearn.ensemble", "GradientBoostingRegressor"),
                "lightgbm": lightgbm,
            },
            run=fit,                                 # run(state, data) -> result: what is timed
            quality=held_out_mse, metric="test MSE", # quality(result, data) -> float
            limit={"scikit-learn": 0.9},             # our time / the peer's, at most
        )
    )

The pieces of a case are plain functions. Beside the arguments above each gets those of the case's
params that it names, and `seed` and `threads` where it names them. A case whose params have
`threads` sets the number of threads of its processes:

`data(seed, **params)`
    Build the data, with NumPy alone. Every side builds them from the same seed. `cases`
    offers `friedman1` and `two_classes`; both give `.X, .y, .X_test, .y_test`.
`setup(data, **params) -> state`
    Import the side's library and prepare, untimed: usually an estimator, not yet fitted. It is
    called before every run, so a run may change its state. `estimator(module, name, base)` makes
    the setup of a class: built from those of the params that it knows, `random_state` from the
    seed; `drop_in(name, base)` makes both sides for a class that scikit-learn also has. A missing
    optional library (`lightgbm`, `xgboost`) is reported and is not a failure.
`run(state, data, **params) -> result`
    What is timed: `fit`, `fit_predict` or your own.
`quality(result, data, **params) -> float`
    On the last result, untimed: `held_out_mse`, `held_out_error` for a fitted estimator,
    `mse_of_prediction`, `error_of_prediction` for predictions. `metric` names it.

A side whose `run` or `quality` differs from the case's is a `Side(setup, run=..., quality=...)`.
With `warm_up=False` its first run is timed, for sides that take minutes. Further fields of a
`Case`:

`vary={"n": (1_000, 10_000, 100_000)}`
    A row for each value of one param: time as a function of n, or Monte Carlo error as a function
    of the number of replications. Under numbers the table adds how the time grows: the exponent a
    of the least-squares fit time ~ value^a. The param stays in `params`; `quick` may hold a
    shorter tuple for it. `growth_limit` bounds our exponent.
`limit=0.9` or `limit={"scikit-learn": 0.9}`
    The required ratio of times, for all peers or by peer; it is compared with the median.
`quality_margin=0.0`
    Our quality may be worse than the peer's by this much and no more; also by peer. Lower is
    better unless `higher_is_better=True`.
`quality_ratio=1.01`
    The same as a ratio, for qualities of which lower is better: ours / the peer's, at most.
`more_seconds=0.03`
    Added to what `limit` allows.
`seconds_limit=15`, `memory_limit=480`
    Bounds on our own time (median, s) and our own growth of memory (MiB), in every setting.
`runs=5`
    Timed runs a side; fewer where a run takes many seconds.
`by_name=True`
    Run only if its name is typed in full, or with --quick.

Limits are not evaluated with `--quick`. A limit that is not met is shown and is not a failure: the
exit status is 1 if a side raised an error, 2 if the command line is wrong, and 0 otherwise.
"""

import argparse
import contextlib
import fnmatch
import json
import statistics
import sys
from pathlib import Path

import cases
from judging import check_against, check_alone, compare, growth
from measuring import measure

LIBRARIES = (
    *("numpy", "scipy", "scikit-learn", "joblib"),
    *("lightgbm", "xgboost", "interpret-core"),
)


# --- what is shown ----------------------------------------------------------------------------


def show_seconds(side):
    if "seconds" in side:
        return f"{statistics.median(side['seconds']):.3g}"
    return "not installed" if "missing" in side else "FAILED"


def show_quality(side):
    return f"{side['quality']:.4g}" if side.get("quality") is not None else "-"


def show_memory(side):
    return f"{side['memory'] / 2**20:.0f}" if side.get("memory") is not None else "-"


def show_checks(checks):
    return "; ".join(f"{text}: {'met' if met else 'MISSED'}" for text, met in checks) or "-"


HEADER = (
    *("case", "peer", "ours s", "peer s", "ratio", "cpu ratio"),
    *("metric", "ours", "peer", "ours MB", "peer MB", "required"),
)


def table_row(case, setting, record, peer, ratios, checks):
    """The cells of one line of the table; `peer` is None for a case without one."""
    ours, theirs = record[case.ours], record.get(peer, {})
    return (
        label(case, setting),
        peer or "-",
        show_seconds(ours),
        show_seconds(theirs) if peer else "-",
        *("-" if ratio is None else f"{ratio:.3f}" for ratio in ratios),
        case.metric or "-",
        show_quality(ours),
        show_quality(theirs),
        show_memory(ours),
        show_memory(theirs),
        show_checks(checks),
    )


def label(case, setting):
    return " ".join([case.name, *(f"{name}={setting[name]}" for name in case.vary)])


class Table:
    """Lines of aligned cells, printed one at a time; the widths are set in advance."""

    def __init__(self, selected, quick):
        rows = [
            (label(case, setting), peer, "not installed", "not installed", "", "", case.metric)
            for case in selected
            for setting in case.settings(quick)
            for peer in case.peers or ["-"]
        ]
        self.widths = [max(len(name), 7) for name in HEADER[:-1]] + [0]
        for row in rows:
            for i, cell in enumerate(row):
                self.widths[i] = max(self.widths[i], len(cell))
        self.print(HEADER)
        print("  ".join("-" * width for width in self.widths[:-1]) + "  " + "-" * len(HEADER[-1]))

    def print(self, cells):
        left = {0, 1, 6, len(cells) - 1}
        parts = [
            cell.ljust(width) if i in left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(cells, self.widths))
        ]
        print("  ".join(parts).rstrip(), flush=True)


def report_to(stream):
    """A function that updates one line of a terminal; elsewhere it prints nothing."""
    if not stream.isatty():
        return lambda text: None

    def report(text):
        print(f"\r\x1b[K{text}", end="", file=stream, flush=True)

    return report


def environment(threads):
    import importlib.metadata as metadata
    import platform

    versions = {}
    for library in (*LIBRARIES, "scikit-learn-intelex"):
        with contextlib.suppress(metadata.PackageNotFoundError):
            versions[library] = metadata.version(library)
    return {
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "threads": threads,
        "versions": versions,
    }


def available_cores():
    """The number of cores that this process may use, with the quota of its container."""
    import joblib

    return joblib.cpu_count()


def select(names):
    """(subject, case) for every case that is named, matched or in a named file; or for all.

    Raises ValueError for a name that matches nothing.
    """
    known = [
        (subject, case) for subject in cases.subjects() for case in cases.load(subject).values()
    ]
    chosen = []
    for name in names or ["*"]:
        found = [
            (subject, case)
            for subject, case in known
            if subject == name or fnmatch.fnmatchcase(case.name, name)
        ]
        if not found and names:
            raise ValueError(f"no case is called {name!r}; --list shows them")
        chosen += [pair for pair in found if pair not in chosen]
    return chosen


def split_by_name(selected, args):
    """The cases to run, and the names of those left out, which have to be named in full."""
    if args.quick or args.list:
        return selected, []
    run = [(s, case) for s, case in selected if not case.by_name or case.name in args.names]
    return run, [case.name for s, case in selected if (s, case) not in run]


def run_case(subject, case, table, args, report):
    """Measure and print every setting of a case; gives its record for --json."""
    settings, outcome = [], {"case": case.name, "title": case.title, "rows": []}
    for setting in case.settings(args.quick):
        params = {"threads": available_cores(), **setting, "seed": args.seed}
        if args.threads:
            params["threads"] = args.threads
        prefix = label(case, setting)
        record = measure(
            subject,
            case,
            params,
            args.runs or case.runs,
            lambda text, prefix=prefix: report(f"{prefix}: {text}" if text else ""),
        )
        comparisons = []
        for peer in case.peers or [None]:
            ratio = compare(case, record, peer) if peer else None
            cpu_ratio = compare(case, record, peer, "cpu_seconds") if peer else None
            checks = check_against(case, record, peer, ratio) if peer else []
            if not comparisons:
                checks += check_alone(case, record[case.ours])
            checks = [] if args.quick else checks
            table.print(table_row(case, setting, record, peer, (ratio, cpu_ratio), checks))
            comparisons.append(
                {"peer": peer, "ratio": ratio, "cpu_ratio": cpu_ratio, "required": checks}
            )
        settings.append(setting)
        outcome["rows"].append({"params": params, "sides": record, "comparisons": comparisons})
    for name in case.vary:
        outcome["growth"] = {}
        for side in case.sides:
            points = [
                (setting[name], statistics.median(row["sides"][side]["seconds"]))
                for setting, row in zip(settings, outcome["rows"])
                if "seconds" in row["sides"][side]
            ]
            exponent = growth(*zip(*points)) if points else None
            if exponent is not None:
                outcome["growth"][side] = exponent
        if outcome["growth"]:
            print_growth(case, name, outcome, not args.quick)
    return outcome


def print_growth(case, name, outcome, judged):
    text = ", ".join(f"{side} as {name}^{a:.2f}" for side, a in outcome["growth"].items())
    if judged and case.growth_limit is not None and case.ours in outcome["growth"]:
        met = outcome["growth"][case.ours] <= case.growth_limit
        outcome["growth_limit_met"] = met
        text += f"; required at most {case.growth_limit:g}: {'met' if met else 'MISSED'}"
    print(f"  time grows: {text}", flush=True)


def failures(outcomes):
    """(case, side, traceback) for everything that raised."""
    return [
        (outcome["case"], side, result["failed"])
        for outcome in outcomes
        for row in outcome["rows"]
        for side, result in row["sides"].items()
        if "failed" in result
    ]


def missing(outcomes):
    """The messages about optional libraries that are not installed, each once."""
    sentences = [
        result["missing"]
        for outcome in outcomes
        for row in outcome["rows"]
        for result in row["sides"].values()
        if "missing" in result
    ]
    return list(dict.fromkeys(sentences))


def parse(argv):
    parser = argparse.ArgumentParser(
        prog="speed.py", description="Compare the time of the estimators with that of their peers."
    )
    positive = positive_integer
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="a case, a file of cases, a pattern"
    )
    parser.add_argument("--list", action="store_true", help="list the cases and stop")
    parser.add_argument(
        "--runs", type=positive, help="timed runs per side (default: those of the case)"
    )
    parser.add_argument("--quick", action="store_true", help="smaller data, as a test of the cases")
    parser.add_argument("--seed", type=int, default=0, help="seed of the data (default 0)")
    parser.add_argument(
        "--threads",
        type=positive,
        help="threads per process (default: those of the case, or all cores)",
    )
    parser.add_argument("--json", metavar="FILE", type=Path, help="keep every figure in FILE")
    return parser.parse_args(argv)


def positive_integer(text):
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a positive integer")
    return value


def main(argv=None):
    args = parse(argv)
    try:
        selected = select(args.names)
        if args.json and not args.json.resolve().parent.is_dir():
            raise ValueError(f"--json: the folder of {args.json} does not exist")
    except ValueError as error:
        print(f"speed.py: {error}", file=sys.stderr)
        return 2
    if args.list:
        width = max(len(case.name) for _, case in selected)
        for subject, case in selected:
            mark = " (run by name)" if case.by_name else ""
            print(f"{case.name.ljust(width)}  {subject}: {case.title}{mark}")
        return 0
    selected, left_out = split_by_name(selected, args)
    table = Table([case for _, case in selected], args.quick)
    report = report_to(sys.stderr)
    outcomes = []
    for subject, case in selected:
        outcomes.append(run_case(subject, case, table, args, report))
        if args.json:  # after each case, so that an interrupted run keeps its results
            threads = args.threads or available_cores()
            kept = {"environment": environment(threads), "cases": outcomes}
            args.json.write_text(json.dumps(kept, indent=1) + "\n")
    for sentence in missing(outcomes):
        print(sentence)
    if left_out:
        print("left out, run by name:", ", ".join(left_out))
    for case, side, text in failures(outcomes):
        print(f"\n{case}: {side} failed\n{text}", file=sys.stderr)
    return 1 if failures(outcomes) else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("\nspeed.py: interrupted", file=sys.stderr)
        sys.exit(130)
