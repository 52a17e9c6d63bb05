"""Defaults against defaults on public tables: losses, ranks, and the time of the processor.

    python benchmarks/tables.py                                   the tables of scikit-learn
    python benchmarks/tables.py --repositories DIR --results FILE.jsonl
    python benchmarks/tables.py --sides super-learner CatBoost --tables german sonar
    python benchmarks/tables.py --summary --results FILE.jsonl --picture FILE.svg
    python benchmarks/tables.py --list

Nothing is downloaded. DIR holds clones of public repositories, by the names that `--list` prints,
such as DIR/jbrownlee+Datasets; a clone without its files will do (`git clone --bare`). Every side
has its own defaults, and one thread. Each side of a table runs in a process of its own, on the same
three folds; the seconds are those of its processor for a fit, the first one too, without imports.
Results go to a file, one line each, and what is there is not run again.

The losses are the log-loss, with probabilities of at least 1e-15, the share of wrong labels, and
the mean squared error over the variance of the targets. The summary has the mean ranks, the
critical difference of Nemenyi's test at 5 %, and the geometric mean of the loss over the best of
each table. Folds of a table count as one: it is its mean over them that is ranked.
"""

import argparse
import io
import json
import os
import pickle
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

N_FOLDS = 3
SMALLEST = 1e-15
THREADS = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
BROWNLEE, SELVA, R = "jbrownlee+Datasets", "selva86+datasets", "vincentarelbundock+Rdatasets"

# --- tables -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Table:
    """A file of a repository, its target, and the columns that are left out.

    Attributes
    ----------
    repository, file : str
        The file is the name of a loader of scikit-learn where the repository is empty.
    target : str or int
        The name of a column, or its number where the file has no header.
    of_classes : bool
    drop : tuple of str or int
        Identifiers, and columns that tell the target.
    codes : tuple of str or int
        Columns of numbers that are labels.
    """

    repository: str
    file: str
    target: Any
    of_classes: bool = True
    drop: tuple = ()
    codes: tuple = ()


def brownlee(file: str, target: Any = -1, of_classes: bool = True, **more: Any) -> Table:
    return Table(BROWNLEE, f"{file}.csv", target, of_classes, **more)


def selva(file: str, target: str, of_classes: bool = True, **more: Any) -> Table:
    return Table(SELVA, f"{file}.csv", target, of_classes, **more)


def of_r(file: str, target: str, of_classes: bool = True, **more: Any) -> Table:
    drop = ("rownames", *more.pop("drop", ()))
    return Table(R, f"csv/{file}.csv", target, of_classes, drop=drop, **more)


TABLES = {
    "breast-cancer-wisconsin": Table("", "load_breast_cancer", None),
    "digits": Table("", "load_digits", None),
    "wine": Table("", "load_wine", None),
    "iris": Table("", "load_iris", None),
    "diabetes": Table("", "load_diabetes", None, False),
    "german": brownlee("german"),
    "sonar": brownlee("sonar"),
    "ionosphere": brownlee("ionosphere"),
    "pima": brownlee("pima-indians-diabetes"),
    "breast-cancer": brownlee("breast-cancer"),
    "glass": brownlee("glass"),
    "haberman": brownlee("haberman"),
    "ecoli": brownlee("ecoli"),
    "new-thyroid": brownlee("new-thyroid"),
    "phoneme": brownlee("phoneme"),
    "wheat-seeds": brownlee("wheat-seeds"),
    "banknote": brownlee("banknote_authentication"),
    "horse-colic": brownlee("horse-colic", 23, drop=(2, 24, 25, 26, 27)),
    "oil-spill": brownlee("oil-spill", drop=(0,)),
    "churn-bank": selva("Churn_Modelling", "Exited", drop=("RowNumber", "CustomerId", "Surname")),
    "votes": selva("HouseVotes84", "Class"),
    "soybean": selva("Soybean", "Class"),
    "vehicle": selva("Vehicle", "Class"),
    "vowel": selva("Vowel", "Class", drop=("V1",)),
    "spam": selva("spam", "type"),
    "orange-juice": selva("orange_juice_withmissing", "Purchase"),
    "musk": selva("musk", "Class"),
    "glaucoma": selva("GlaucomaM", "Class"),
    "weekly": selva("Weekly", "Direction", drop=("Today",)),
    "zoo": selva("Zoo", "type"),
    "churn-telephone": of_r("modeldata/mlc_churn", "churn"),
    "churn-services": of_r("modeldata/wa_churn", "churn"),
    "credit": of_r("modeldata/credit_data", "Status"),
    "attrition": of_r("modeldata/attrition", "Attrition"),
    "computing": of_r("modeldata/hpc_data", "class"),
    "scat": of_r("modeldata/scat", "Species"),
    "alzheimer": of_r("modeldata/ad_data", "Class"),
    "cells": of_r("modeldata/cells", "class", drop=("case",)),
    "cat-adoption": of_r("modeldata/cat_adoption", "event", drop=("time",)),
    "remote-work": of_r("modeldata/stackoverflow", "Remote"),
    "credit-card": of_r("AER/CreditCard", "card", drop=("expenditure", "share")),
    "abalone": brownlee("abalone", of_classes=False),
    "cars-symbols": brownlee("auto_imports", of_classes=False),
    "boston": brownlee("housing", of_classes=False),
    "wine-red": brownlee("winequality-red", of_classes=False),
    "wine-white": brownlee("winequality-white", of_classes=False),
    "wage": selva("Wage", "wage", False, drop=("logwage",)),
    "hitters": selva("Hitters", "Salary", False),
    "carseats": selva("Carseats", "Sales", False),
    "college": selva("College", "Grad.Rate", False),
    "mileage": selva("Auto", "mpg", False, drop=("name",)),
    "sacramento": selva("Sacramento", "price", False, drop=("zip",)),
    "schools": selva(
        "caschool",
        "testscr",
        False,
        drop=("observation_number", "dist_cod", "district", "read_scr", "math_scr"),
    ),
    "life-expectancy": selva("Life_Expectancy_Data", "Life expectancy ", False, drop=("Country",)),
    "servo": selva("Servo", "Class", False),
    "ozone": selva("ozone", "ozone_reading", False),
    "prostate": selva("prostate", "lpsa", False),
    "concrete": of_r("modeldata/concrete", "compressive_strength", False),
    "ames": of_r("modeldata/ames", "Sale_Price", False),
    "deliveries": of_r("modeldata/deliveries", "time_to_delivery", False),
    "car-prices": of_r("modeldata/car_prices", "Price", False),
    "biomass": of_r("modeldata/biomass", "HHV", False, drop=("sample", "dataset")),
    "meat-protein": of_r("modeldata/meats", "protein", False, drop=("water", "fat")),
    "permeability": of_r("modeldata/permeability_qsar", "permeability", False),
    "process-yield": of_r("modeldata/chem_proc_yield", "yield", False),
    "salary-survey": of_r("modeldata/stackoverflow", "Salary", False),
    "professors": of_r("carData/Salaries", "salary", False),
    "windsor-houses": of_r("AER/HousePrices", "price", False),
    "wages-1985": of_r("AER/CPS1985", "wage", False),
}
MISSING = ("", "NA", "?", "nan", "NaN", "null")


def text_of(table: Table, folder: Path) -> str:
    """The text of a file of a clone with or without its files."""
    clone = folder / table.repository
    if (clone / table.file).exists():
        return (clone / table.file).read_text(encoding="utf-8", errors="replace")
    for git in (clone, clone / "repo", clone / ".git"):
        shown = subprocess.run(
            ["git", "--git-dir", str(git), "show", f"HEAD:{table.file}"],
            capture_output=True,
            check=False,
        )
        if not shown.returncode:
            return shown.stdout.decode("utf-8", errors="replace")
    raise FileNotFoundError(f"{clone} has no {table.file}.")


def read(name: str, folder: Path | None) -> tuple[Any, np.ndarray, bool]:
    """X as a frame of pandas whose text is categories, y, and whether y are labels 0 ... K-1."""
    import pandas as pd
    from sklearn import datasets

    table = TABLES[name]
    if not table.repository:
        bunch = getattr(datasets, table.file)(as_frame=True)
        X, y = bunch.data, bunch.target
    else:
        if folder is None:
            raise FileNotFoundError("give --repositories")
        text = text_of(table, folder)
        header = None if isinstance(table.target, int) else 0
        first = text.partition("\n")[0]
        frame = pd.read_csv(
            io.StringIO(text),
            header=header,
            sep=";" if first.count(";") > 2 else ",",
            na_values=MISSING,
            keep_default_na=False,
            quotechar="'" if "'" in first else '"',
        )
        target = frame.columns[table.target] if header is None else table.target
        frame = frame[frame[target].notna()]
        y = frame[target]
        X = frame.drop(columns=[target, *(c for c in table.drop if c in frame)])
        X.columns = [f"x{c}" if isinstance(c, int) else c for c in X.columns]
    X = X.reset_index(drop=True)
    for column in X.columns:
        if X[column].dtype == bool:
            X[column] = X[column].astype(float)
        elif not pd.api.types.is_numeric_dtype(X[column]) or column in table.codes:
            X[column] = X[column].astype(str).where(X[column].notna(), None).astype("category")
    if not table.of_classes:
        return X, np.asarray(y, dtype=np.float64), False
    labels = np.asarray(y).astype(str)
    _, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
    kept = (counts >= N_FOLDS * 2)[codes]  # a class needs rows in each fold
    codes = np.unique(labels[kept], return_inverse=True)[1]
    return X[kept].reset_index(drop=True), codes, True


# --- sides ------------------------------------------------------------------------------------


def one_hot(model: Any) -> Any:
    """The model after an encoder of categories, for classes that take numbers only."""
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    texts = make_column_selector(dtype_include="category")
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    columns = make_column_transformer((encoder, texts), remainder="passthrough")
    return make_pipeline(columns, SimpleImputer(), model)


def ours(name: str, of_classes: bool, **options: Any) -> Any:
    import sklearn_ensemble_theory as ours

    if name == "Additive":
        return ours.LogitBoostClassifier() if of_classes else ours.L2BoostingRegressor()
    return getattr(ours, name + ("Classifier" if of_classes else "Regressor"))(**options)


def boosting_cv(of_classes: bool) -> Any:
    from sklearn_ensemble_theory.boosting import CVRounds

    rounds = CVRounds(prediction="mean")
    return ours("GradientBoosting", of_classes, n_estimators=rounds, random_state=0)


def sklearns(module: str, name: str, of_classes: bool, encoded: bool, **options: Any) -> Any:
    from importlib import import_module

    kind = getattr(
        import_module(f"sklearn.{module}"), name + ("Classifier" if of_classes else "Regressor")
    )
    model = kind(random_state=0, **options)
    return one_hot(model) if encoded else model


def lightgbm(of_classes: bool) -> Any:
    import lightgbm

    kind = lightgbm.LGBMClassifier if of_classes else lightgbm.LGBMRegressor
    return kind(n_jobs=1, verbose=-1, random_state=0)


def xgboost(of_classes: bool) -> Any:
    import xgboost

    kind = xgboost.XGBClassifier if of_classes else xgboost.XGBRegressor
    return kind(n_jobs=1, random_state=0, enable_categorical=True)


class CatBoost:
    """CatBoost takes categories as text."""

    def __init__(self, of_classes: bool) -> None:
        import catboost

        kind = catboost.CatBoostClassifier if of_classes else catboost.CatBoostRegressor
        self.model = kind(thread_count=1, verbose=False, random_seed=0, allow_writing_files=False)

    @staticmethod
    def rows(X: Any) -> Any:
        texts = X.columns[X.dtypes == "category"]
        return X.assign(**{c: X[c].astype(object).where(X[c].notna(), "") for c in texts})

    def fit(self, X: Any, y: np.ndarray) -> "CatBoost":
        self.model.fit(self.rows(X), y, cat_features=list(X.columns[X.dtypes == "category"]))
        return self

    def predict(self, X: Any) -> np.ndarray:
        return self.model.predict(self.rows(X))

    def predict_proba(self, X: Any) -> np.ndarray:
        return self.model.predict_proba(self.rows(X))


def ebm(of_classes: bool) -> Any:
    from interpret import glassbox

    name = "ExplainableBoosting" + ("Classifier" if of_classes else "Regressor")
    return getattr(glassbox, name)(n_jobs=1, random_state=0)


SIDES: dict[str, Callable[[bool], Any]] = {
    "super-learner": lambda c: ours("SuperLearner", c, random_state=0),
    "boosting-cv": boosting_cv,
    "additive": partial(ours, "Additive"),
    "boosting": lambda c: ours("GradientBoosting", c, random_state=0),
    "forest": lambda c: ours("RandomForest", c, random_state=0),
    "CatBoost": CatBoost,
    "LightGBM": lightgbm,
    "XGBoost": xgboost,
    "HistGradientBoosting": lambda c: sklearns(
        "ensemble", "HistGradientBoosting", c, False, categorical_features="from_dtype"
    ),
    "EBM": ebm,
    "sklearn-forest": lambda c: sklearns("ensemble", "RandomForest", c, True),
    "sklearn-extra-trees": lambda c: sklearns("ensemble", "ExtraTrees", c, True),
}
NEEDS = {"CatBoost": "catboost", "LightGBM": "lightgbm", "XGBoost": "xgboost", "EBM": "interpret"}

# --- one side of a table ----------------------------------------------------------------------


def run(name: str, side: str, folder: Path | None) -> dict[str, Any]:
    """Fit a side on the folds of a table: losses and seconds of each fold."""
    from sklearn.model_selection import KFold, StratifiedKFold

    warnings.simplefilter("ignore")
    X, y, of_classes = read(name, folder)
    splitter = (StratifiedKFold if of_classes else KFold)(N_FOLDS, shuffle=True, random_state=1)
    found: dict[str, Any] = {"table": name, "side": side, "rows": X.shape[0]}
    found |= {"columns": X.shape[1], "classes": len(np.unique(y)) if of_classes else 0}
    for key in ("loss", "error", "seconds"):
        found[key] = []
    for train, test in splitter.split(X, y):
        model = SIDES[side](of_classes)
        start = time.process_time()
        model.fit(X.iloc[train], y[train])
        found["seconds"].append(time.process_time() - start)
        if of_classes:
            proba = np.asarray(model.predict_proba(X.iloc[test]), dtype=np.float64)
            own = np.clip(proba[np.arange(len(test)), y[test]], SMALLEST, 1)
            found["loss"].append(float(-np.log(own).mean()))
            found["error"].append(float((proba.argmax(axis=1) != y[test]).mean()))
        else:
            wrong = np.asarray(model.predict(X.iloc[test])).reshape(-1) - y[test]
            found["loss"].append(float((wrong**2).mean() / y.var()))
    row, times = X.iloc[test[:1]], []
    for _ in range(15):
        start = time.perf_counter()
        model.predict(row)
        times.append(time.perf_counter() - start)
    found["one_row_ms"] = 1e3 * float(np.median(times))
    smaller = model.drop_unused() if hasattr(model, "drop_unused") else model
    found["megabytes"] = len(pickle.dumps(smaller)) / 1e6
    return found


# --- the summary ------------------------------------------------------------------------------

# Quantiles of the studentised range over the square root of 2 (Demsar 2006), by number of sides.
NEMENYI = [0, 0, 1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164, 3.219, 3.268, 3.313]


def ranks_of(losses: np.ndarray) -> np.ndarray:
    from scipy.stats import rankdata

    return np.apply_along_axis(rankdata, 1, losses)


def summary(results: list[dict[str, Any]], sides: list[str], picture: str | None) -> None:
    """Print ranks and ratios over the tables that every side has a result of."""
    known: dict[str, dict[str, Any]] = {}
    for each in results:
        if each["side"] in sides and "failed" not in each:
            known.setdefault(each["table"], {})[each["side"]] = each
    complete = [t for t, found in known.items() if len(found) == len(sides)]
    points = {}
    for of_classes, key, title in (
        (True, "loss", "log-loss"),
        (True, "error", "error"),
        (False, "loss", "squared error"),
    ):
        tables = [t for t in complete if bool(known[t][sides[0]]["classes"]) == of_classes]
        if not tables:
            continue
        means = np.array([[np.mean(known[t][s][key]) for s in sides] for t in tables])
        seconds = np.array([[np.mean(known[t][s]["seconds"]) for s in sides] for t in tables])
        ranks = ranks_of(means).mean(axis=0)
        best = np.maximum(means.min(axis=1, keepdims=True), 1e-3 if key == "loss" else 1e-2)
        ratio = np.exp(np.log(np.maximum(means, best) / best).mean(axis=0))
        cpu = np.exp(np.log(seconds).mean(axis=0))
        critical = NEMENYI[min(len(sides), 13)] * np.sqrt(
            len(sides) * (len(sides) + 1) / 6 / len(tables)
        )
        print(f"\n{title}: {len(tables)} tables, critical difference of ranks {critical:.1f}")
        print(f"{'side':22}{'mean rank':>10}{'over the best':>15}{'seconds':>9}{'first':>7}")
        for j in np.argsort(ranks):
            firsts = int((means.argmin(axis=1) == j).sum())
            print(f"{sides[j]:22}{ranks[j]:10.2f}{ratio[j]:15.3f}{cpu[j]:9.2f}{firsts:7}")
        if key == "loss":
            points[title] = (ratio, cpu)
    for key, what in (("one_row_ms", "ms for one row"), ("megabytes", "megabytes pickled")):
        medians = {s: np.median([known[t][s][key] for t in complete]) for s in sides if complete}
        print(f"\n{what}: " + ", ".join(f"{s} {v:.2f}" for s, v in medians.items()))
    if picture:
        draw(points, sides, picture)


def draw(points: dict[str, tuple[np.ndarray, np.ndarray]], sides: list[str], file: str) -> None:
    """A point for each side: the loss over that of the best against the seconds of a fit."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.ticker import FuncFormatter

    fig, axes = plt.subplots(1, len(points), figsize=(4.8 * len(points), 4.2), layout="constrained")
    own = ("super-learner", "boosting-cv", "additive", "boosting", "forest")
    for ax, (title, (ratio, cpu)) in zip(np.atleast_1d(axes), points.items()):
        above = 100 * (ratio - 1)
        for at, side in zip(zip(cpu, above), sides):
            color = "C3" if side in own else "0.35"
            ax.plot(*at, "o", color=color, markersize=7 if side == "super-learner" else 5)
        ax.set(xscale="log", xlabel="seconds for a fit, of one processor")
        ax.set_ylabel(f"{title}: % above the best of each table")
        ax.set_ylim(0, 1.1 * above.max())
        low, high = ax.get_xlim()
        ax.set_xlim(low / 3, high * 2)
        ax.xaxis.set_major_formatter(FuncFormatter("{:g}".format))
        written: list[tuple[str, float, float]] = []
        for j in np.argsort(above):
            x, y, side = cpu[j], above[j], sides[j]
            height = 0.05 * above.max()
            beside = (np.abs(above - y) < height) & (cpu > x) & (cpu < 4 * x)
            align, shift = ("right", -6) if beside.any() else ("left", 6)
            near = [b for on, a, b in written if on == align and 0.1 < a / x < 10]
            while any(abs(y - each) < 0.9 * height for each in near):
                y += height / 4  # above the name that is there
            written.append((align, x, y))
            style = {"textcoords": "offset points", "va": "center", "ha": align}
            ax.annotate(side, (x, y), (shift, 0), color="C3" if side in own else "0.35", **style)
        ax.spines[["top", "right"]].set_visible(False)
    fig.suptitle("Loss against time, all with their defaults: the best are at the lower left")
    fig.savefig(file, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tables", nargs="+", choices=TABLES, metavar="TABLE")
    parser.add_argument("--sides", nargs="+", choices=SIDES, metavar="SIDE")
    parser.add_argument("--repositories", type=Path, help="the folder of the clones")
    parser.add_argument("--results", type=Path, default=Path("tables.jsonl"))
    parser.add_argument("--summary", action="store_true", help="only summarise the results")
    parser.add_argument("--picture", help="a file for the picture")
    parser.add_argument("--list", action="store_true", help="print the tables and their sources")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.list:
        for name, table in TABLES.items():
            print(f"{name:26}{table.repository or 'scikit-learn':32}{table.file}")
        return
    if args.one:
        print(json.dumps(run(*args.one, args.repositories)))
        return
    sides = args.sides or [s for s in SIDES if s not in NEEDS or find_spec(NEEDS[s])]
    lines = args.results.read_text().splitlines() if args.results.exists() else []
    results = [json.loads(line) for line in lines]
    done = {(each["table"], each["side"]) for each in results}
    chosen = args.tables or [
        name for name, table in TABLES.items() if not table.repository or args.repositories
    ]
    for name in [] if args.summary else chosen:
        for side in sides:
            if (name, side) in done:
                continue
            command = [sys.executable, __file__, "--one", name, side]
            if args.repositories:
                command += ["--repositories", str(args.repositories)]
            ran = subprocess.run(
                command, capture_output=True, text=True, env={**os.environ, **THREADS}, check=False
            )
            if ran.returncode:
                last = ran.stderr.strip().splitlines()[-1:]
                found = {"table": name, "side": side, "failed": "".join(last)}
            else:
                found = json.loads(ran.stdout.splitlines()[-1])
            results.append(found)
            with args.results.open("a") as file:
                file.write(json.dumps(found) + "\n")
            said = found.get("failed") or f"{np.mean(found['loss']):.4f}"
            spent = np.mean(found.get("seconds", [np.nan]))
            print(f"{name:26}{side:22}{said:>10}{spent:9.2f} s", flush=True)
    summary(results, sides, args.picture)


if __name__ == "__main__":
    main()
