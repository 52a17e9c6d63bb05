"""Compare gradient boosting of columns with categories on real tables, all with their defaults.

    python benchmarks/categorical_tables.py                        every table, every side
    python benchmarks/categorical_tables.py --table adult wage --side scikit-learn LightGBM
    python benchmarks/categorical_tables.py --folder DIR           where the files are kept
    python benchmarks/categorical_tables.py --list

In each table two fifths of the columns or more are categories, in most of them half. Files that are
not in the folder are read from the public repositories below. Text and codes become pandas
categories, which every side takes as they are: no library sees one-hot columns, and none has its
parameters changed but for the number of threads, one, and in one side that of rounds, "cv". Each
side of a table runs in a process of its own, on the same five folds; the time is that of its
processor for all fits and predictions, the first ones too, without imports.

The measure is the log-loss, or the mean squared error over the variance of the targets. The last
lines of a table are the differences to the best peer over paired folds, with the corrected standard
error of Nadeau and Bengio (2003). The best of several peers is chosen by its mean on the same
folds, which favours it. A library that is not installed is left out.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from urllib.request import urlretrieve

import numpy as np

N_FOLDS = 5
THREADS = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
SELVA = "selva86/datasets/c943fa8851270387c44d26efb0f9c0aac1559e11"
BROWNLEE = "jbrownlee/Datasets/d20fcb6402ae34e653d4513b00f39257bb37ed7f"
ID3 = "Zanderax/ID3/abd54a75f990b84eb47a99d329a0b6d5f585c01b"
RIGON = "tommasorigon/datamining/6d4c64199ad384db80b506ff0ffe28e8cf881983/data"

# --- tables -----------------------------------------------------------------------------------


def local_file(source, file, folder):
    """The path of a file of a public repository in the folder, to which it is read once."""
    path = folder / file
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(path.name + ".part")  # a whole file, or none
        urlretrieve(f"https://raw.githubusercontent.com/{source}/{file}", part)
        part.replace(path)
    return path


@dataclass(frozen=True)
class Table:
    """A file, its target, and what its columns are.

    Text is a category; `codes` are columns of numbers that are labels, all of them for True.
    """

    source: str
    file: str
    target: object  # the name of a column, or the place of one where the file has no names
    is_regression: bool = False
    left_out: tuple = ()
    codes: object = ()

    def read(self, folder):
        """The columns, with categories, and the targets; classes as numbers from 0 on."""
        import pandas as pd

        path = local_file(self.source, self.file, folder)
        header = None if isinstance(self.target, int) else "infer"
        X = pd.read_csv(path, header=header, na_values=["?"], skipinitialspace=True)
        target = X.columns[self.target] if header is None else self.target
        X = X.dropna(subset=[target]).reset_index(drop=True)
        y = X.pop(target)
        X = X.drop(columns=list(self.left_out)).rename(columns=str)
        for name in X:
            is_code = self.codes is True or name in self.codes
            if is_code or not pd.api.types.is_numeric_dtype(X[name]):
                labels = X[name].map(str, na_action="ignore").astype(object)
                X[name] = labels.astype("category")
            else:
                X[name] = X[name].astype(float)
        y = y.to_numpy(dtype=float) if self.is_regression else np.unique(y, return_inverse=True)[1]
        return X, y


TABLES = {
    "adult": Table(SELVA, "adult_train.csv", "class"),
    "bank marketing": Table(SELVA, "bank_marketing_test.csv", "y"),
    "German credit": Table(SELVA, "GermanCredit.csv", "credit_risk"),
    "mushroom": Table(ID3, "agaricus-lepiota.data", "edibility", codes=True),
    "votes": Table(SELVA, "HouseVotes84.csv", "Class", codes=True),
    "soybean": Table(SELVA, "Soybean.csv", "Class", codes=True),
    "promoters": Table(SELVA, "promotergene.csv", "Class", codes=True),
    "breast cancer": Table(BROWNLEE, "breast-cancer.csv", -1, codes=True),
    "Ames": Table(
        RIGON,
        "AmesHousing.csv",
        "SalePrice",
        is_regression=True,
        left_out=("Order", "PID"),
        codes=("MS SubClass",),
    ),
    "wage": Table(SELVA, "Wage.csv", "wage", is_regression=True, left_out=("logwage",)),
    "car prices": Table(BROWNLEE, "auto_imports.csv", -1, is_regression=True),
}

# --- sides ------------------------------------------------------------------------------------


def role(is_regression):
    return "Regressor" if is_regression else "Classifier"


def ours(name, **params):
    def setup(is_regression, categorical):
        import sklearn_ensemble_theory

        model = getattr(sklearn_ensemble_theory, name + role(is_regression))
        return model(random_state=0, **params)

    return setup


def hist_gradient_boosting(is_regression, categorical):
    import sklearn.ensemble

    name = "HistGradientBoosting" + role(is_regression)
    return getattr(sklearn.ensemble, name)(random_state=0)


def lightgbm(is_regression, categorical):
    import lightgbm

    return getattr(lightgbm, "LGBM" + role(is_regression))(random_state=0, n_jobs=1, verbose=-1)


def xgboost(is_regression, categorical):
    import xgboost

    name = "XGB" + role(is_regression)
    return getattr(xgboost, name)(random_state=0, n_jobs=1, enable_categorical=True)


def catboost(is_regression, categorical):
    import catboost

    return getattr(catboost, "CatBoost" + role(is_regression))(
        cat_features=categorical,
        random_seed=0,
        thread_count=1,
        verbose=False,
        allow_writing_files=False,
    )


# name -> (function of the task and the names of the categorical columns, the library it needs)
SIDES = {
    "HistGradientBoosting, ours": (ours("HistGradientBoosting"), "sklearn_ensemble_theory"),
    "GradientBoosting, ours": (ours("GradientBoosting"), "sklearn_ensemble_theory"),
    "rounds by cv, ours": (
        ours("GradientBoosting", n_estimators="cv"),
        "sklearn_ensemble_theory",
    ),
    "RandomForest, ours": (ours("RandomForest"), "sklearn_ensemble_theory"),
    "scikit-learn": (hist_gradient_boosting, "sklearn"),
    "LightGBM": (lightgbm, "lightgbm"),
    "XGBoost": (xgboost, "xgboost"),
    "CatBoost": (catboost, "catboost"),
}


def is_ours(side):
    return side.endswith("ours")


def missing_as_text(X, categorical):
    """CatBoost takes no missing category: it is one of its own."""
    X = X.copy()
    for name in categorical:
        X[name] = X[name].astype(object).where(X[name].notna(), "missing").astype(str)
    return X


def loss_of(model, X, y, is_regression, n_classes):
    from sklearn.metrics import log_loss

    if is_regression:
        return float(np.mean((np.asarray(model.predict(X)) - y) ** 2) / np.var(y))
    shares = np.asarray(model.predict_proba(X), dtype=float)
    return log_loss(y, shares / shares.sum(axis=1)[:, None], labels=np.arange(n_classes))


def measure(table, side, folder):
    """The losses of one side on all folds, and its processor's time."""
    from sklearn.model_selection import KFold, StratifiedKFold

    one, (setup, _) = TABLES[table], SIDES[side]
    X, y = one.read(folder)
    categorical = [name for name in X if X[name].dtype == "category"]
    if side == "CatBoost":
        X = missing_as_text(X, categorical)
    n_classes = 0 if one.is_regression else len(np.unique(y))
    folds = (KFold if one.is_regression else StratifiedKFold)(N_FOLDS, shuffle=True, random_state=0)
    splits = list(folds.split(X, y))
    setup(one.is_regression, categorical)  # which imports the library
    losses, start = [], time.process_time()
    for train, test in splits:
        model = setup(one.is_regression, categorical).fit(X.iloc[train], y[train])
        losses.append(loss_of(model, X.iloc[test], y[test], one.is_regression, n_classes))
    return {
        "losses": losses,
        "seconds": time.process_time() - start,
        "rows": len(y),
        "columns": X.shape[1],
        "categorical": len(categorical),
    }


def in_own_process(table, side, folder):
    command = [sys.executable, __file__, "--table", table, "--side", side]
    command += ["--folder", str(folder), "--one"]
    done = subprocess.run(
        command, env=os.environ | THREADS, check=True, stdout=subprocess.PIPE, text=True
    )
    return json.loads(done.stdout.splitlines()[-1])


# --- result -----------------------------------------------------------------------------------


def standard_error(differences):
    """Corrected for the rows that the training sets of the folds have in common."""
    variance = np.var(differences, ddof=1)
    return np.sqrt((1 / len(differences) + 1 / (len(differences) - 1)) * variance)


def show(table, found):
    one = next(iter(found.values()))
    kind = "squared error / variance" if TABLES[table].is_regression else "log-loss"
    print(f"\n{table}: {one['rows']} rows, {one['categorical']} of {one['columns']} columns are")
    print(f"categories; {kind}, CPU seconds of {N_FOLDS} fits and predictions")
    for side, result in found.items():
        print(f"  {side:28s} {np.mean(result['losses']):8.4f} {result['seconds']:8.1f} s")
    peers = [side for side in found if not is_ours(side)]
    if not peers:
        return
    best = min(peers, key=lambda side: np.mean(found[side]["losses"]))
    for side in filter(is_ours, found):
        difference = np.subtract(found[side]["losses"], found[best]["losses"])
        mark = " worse" if difference.mean() > standard_error(difference) else ""
        mean, error = difference.mean(), standard_error(difference)
        print(f"  {side} - {best}: {mean:+.4f} +- {error:.4f}{mark}")


def parse(argv):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--table", nargs="+", choices=TABLES, default=list(TABLES), metavar="NAME")
    parser.add_argument("--side", nargs="+", choices=SIDES, default=list(SIDES), metavar="NAME")
    default = Path(tempfile.gettempdir()) / "categorical_tables"
    parser.add_argument("--folder", type=Path, default=default, help="of the files")
    parser.add_argument("--list", action="store_true", help="list tables and sides, and stop")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args(argv)


def main(argv=None):
    args = parse(argv)
    if args.list:
        print("tables:", "; ".join(TABLES))
        print("sides:", "; ".join(SIDES))
        return 0
    if args.one:
        print(json.dumps(measure(args.table[0], args.side[0], args.folder)))
        return 0
    sides = [side for side in args.side if find_spec(SIDES[side][1])]
    if not sides:
        raise SystemExit(f"Not installed: {', '.join(args.side)}.")
    for table in args.table:
        TABLES[table].read(args.folder)  # once, before the processes
        show(table, {side: in_own_process(table, side, args.folder) for side in sides})
    return 0


if __name__ == "__main__":
    sys.exit(main())
