"""Compare trees on real tables with timestamps and identifiers, which they read as numbers.

    python benchmarks/timestamp_tables.py                     every table, both units: six minutes
    python benchmarks/timestamp_tables.py --table pump --folder DIR    where the files are kept

A timestamp is a column of Unix seconds, or of nanoseconds: in single precision, values closer than
128 seconds are one number. `pump` is the first two parts of SKAB, a water pump that is disturbed
for some minutes in each of 20 runs, with one row of eight sensors a second: its anomalies, from
the sensors and the time (`pump`) or from the time only (`pump, time only`), and the temperature
(`pump, temperature`). `houses` are the logarithms of the prices in King County, from the parcel
number, the day of the sale and the house, but not its place. Files that are not in the folder are
read from the public repositories below.

The same five random folds for scikit-learn's classes and those of the same name here, all with
their defaults; the measure is the log-loss, or the mean squared error over the variance of the
targets, and its difference has the standard error of `categorical_tables.py`. The rows before and
after a test row in time may be training rows: the measure is how well a curve over time is filled
in, not a forecast. The time is that of the processor for all fits and predictions.
"""

import argparse
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import sklearn.ensemble
from categorical_tables import local_file, loss_of, role, standard_error
from sklearn.model_selection import KFold

import sklearn_ensemble_theory

N_FOLDS = 5
UNITS = {"seconds": 1.0, "nanoseconds": 1e9}
MODELS = ("HistGradientBoosting", "RandomForest")
SKAB = "waico/SKAB/b2c0d46c2971dcbfe71e26087b6d231998bb91c2"
COUNTY = (
    "Introduction-to-Machine-Learning/Machine-Learning/1c2e899c31b6a4db10503781fe9d816a4bed02d9"
)
RUNS = tuple(
    f"data/{valve}/{k}.csv" for valve, n in (("valve1", 16), ("valve2", 4)) for k in range(n)
)


@dataclass(frozen=True)
class Table:
    """Files of the same columns, the names of the target and of the time, and what is left out."""

    source: str
    files: tuple
    target: str
    time: str
    is_regression: bool = False
    left_out: tuple = ()
    separator: str = ","
    is_logarithm: bool = False

    def read(self, folder, unit):
        """The columns as numbers, the time first, and the targets."""
        import pandas as pd

        paths = [local_file(self.source, file, folder) for file in self.files]
        X = pd.concat([pd.read_csv(path, sep=self.separator) for path in paths])
        y = X.pop(self.target).to_numpy(dtype=float)
        stamps = pd.to_datetime(X.pop(self.time)).to_numpy().astype("datetime64[s]")
        seconds = stamps.astype(np.int64).astype(float)
        X = X.drop(columns=list(self.left_out)).to_numpy(dtype=float)
        X = np.column_stack([seconds * UNITS[unit], X])
        if self.is_regression:
            return X, np.log(y) if self.is_logarithm else y
        return X, np.unique(y, return_inverse=True)[1]


SENSORS = (
    "Accelerometer1RMS", "Accelerometer2RMS", "Current", "Pressure", "Temperature", "Thermocouple",
    "Voltage", "Volume Flow RateRMS",
)  # fmt: skip
PUMP = {"source": SKAB, "files": RUNS, "time": "datetime", "separator": ";"}
TABLES = {
    "pump": Table(**PUMP, target="anomaly", left_out=("changepoint",)),
    "pump, time only": Table(**PUMP, target="anomaly", left_out=("changepoint", *SENSORS)),
    "pump, temperature": Table(
        **PUMP, target="Temperature", left_out=("anomaly", "changepoint"), is_regression=True
    ),
    "houses": Table(
        COUNTY,
        ("kc_house_data.csv",),
        target="price",
        time="date",
        left_out=("lat", "long", "zipcode"),
        is_regression=True,
        is_logarithm=True,
    ),
}


def measure(table, unit, name, library, folder):
    """The losses of a model on all folds, and its processor's time."""
    X, y = table.read(folder, unit)
    n_classes = 0 if table.is_regression else len(np.unique(y))
    model = getattr(library, name + role(table.is_regression))(random_state=0)
    losses, start = [], time.process_time()
    for train, test in KFold(N_FOLDS, shuffle=True, random_state=0).split(X):
        model.fit(X[train], y[train])
        losses.append(loss_of(model, X[test], y[test], table.is_regression, n_classes))
    return losses, time.process_time() - start


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--table", nargs="+", choices=TABLES, default=list(TABLES), metavar="NAME")
    default = Path(tempfile.gettempdir()) / "timestamp_tables"
    parser.add_argument("--folder", type=Path, default=default, help="of the files")
    args = parser.parse_args(argv)
    print("table, unit                       model                  ours    scikit-learn  time")
    for key in args.table:
        for unit in UNITS:
            for name in MODELS:
                given = TABLES[key], unit, name
                own, seconds = measure(*given, sklearn_ensemble_theory, args.folder)
                peer, its_seconds = measure(*given, sklearn.ensemble, args.folder)
                difference = np.subtract(own, peer)
                print(
                    f"{key + ', ' + unit:32}  {name:20}  {np.mean(own):6.4f}  {np.mean(peer):6.4f} "
                    f"({difference.mean():+.4f} +- {standard_error(difference):.4f})  "
                    f"{seconds / its_seconds:.2f}",
                    flush=True,
                )
    return 0


if __name__ == "__main__":
    sys.exit(main())
