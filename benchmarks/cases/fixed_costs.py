"""What a fit costs however small the data are: small data, checks, the compilation of the loops."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from cases import Case, estimator, register, split

# --- small data -------------------------------------------------------------------------------


def diabetes(seed):
    """scikit-learn's data of 442 rows and 10 features."""
    from sklearn.datasets import load_diabetes

    X, y = load_diabetes(return_X_y=True)
    return split(X, y, len(y))


def diabetes_classes(seed):
    data = diabetes(seed)
    data.y = (data.y > np.median(data.y)).astype(int)
    return data


def several_fits(model, data):
    for _ in range(3):
        model.fit(data.X, data.y)
    return model


for name in ("Bagging", "RandomForest", "GradientBoosting"):
    for task, data in (("Regressor", diabetes), ("Classifier", diabetes_classes)):
        register(
            Case(
                name=f"small-{name}-{task}".lower(),
                title=f"three fits of {name}{task}, default parameters, n = 442, p = 10",
                data=data,
                params={"threads": 1},
                sides={
                    "ours": estimator("sklearn_ensemble_theory", f"{name}{task}"),
                    "scikit-learn": estimator("sklearn.ensemble", f"{name}{task}"),
                },
                run=several_fits,
                limit=1.1,
                runs=9,
            )
        )

# --- checks -----------------------------------------------------------------------------------


def stumps_by(n_members):
    """A vote of so many stumps, or one stump."""
    from sklearn_ensemble_theory import DecisionStumpRegressor, VotingRegressor

    stump = DecisionStumpRegressor()
    if n_members == 0:
        return stump
    return VotingRegressor([(f"s{k}", DecisionStumpRegressor()) for k in range(n_members)])


def small_with_weights(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((300, 10))
    data = split(X, X[:, 0] + 0.3 * rng.standard_normal(300), 300)
    data.weight = rng.uniform(0.5, 1.5, 300)
    return data


def with_its_members(data, n_members):
    """The estimators whose `fit` is called by one fit of the whole, fitted once."""
    model = stumps_by(n_members).fit(data.X, data.y, data.weight)
    return [model, *getattr(model, "estimators_", [])]


def checks_of_1000_fits(estimators, data):
    """What a fit does for reliability beside scikit-learn's checks, for each estimator in it."""
    from sklearn_ensemble_theory._fitting import check_parameters, twin
    from sklearn_ensemble_theory._rows import checked_target, in_usual_units

    for _ in range(1000):
        for each in estimators:
            fresh = twin(each, continued=False)
            check_parameters(each)
            checked_target(data.y, is_real=True)
            in_usual_units(data.weight)
            each.__dict__ = fresh.__dict__
    return estimators


register(
    Case(
        name="checks-of-small-fits",
        title="1000 times the checks of a fit beside scikit-learn's: a stump, a vote of 5",
        data=small_with_weights,
        params={"n_members": 0, "threads": 1},
        vary={"n_members": (0, 5)},
        sides={"ours": with_its_members},
        run=checks_of_1000_fits,
        seconds_limit=0.3,  # 0.3 ms a fit
        runs=5,
    )
)

# --- compilation ------------------------------------------------------------------------------

# The package is imported before the clock starts; then all loops are compiled or loaded.
PROGRAM = """
import sys
import numpy as np
import sklearn_ensemble_theory as package
from sklearn.tree import DecisionTreeRegressor
rng = np.random.default_rng(0)
X = rng.random((200, 3))
y = X[:, 0] + rng.random(200)
classes = (y > np.median(y)).astype(int)
print("imported", flush=True)
sys.stdin.readline()
package.GradientBoostingRegressor(n_estimators=2).fit(X, y).predict(X)
if {everything}:
    package.GradientBoostingClassifier(n_estimators=2).fit(X, classes).predict(X)
    package.RandomForestRegressor(2, max_bins=255).fit(X, y).predict(X)
    package.RandomForestClassifier(2, max_bins=255).fit(X, classes).predict(X)
    package.BaggingRegressor(n_estimators=2, max_bins=255).fit(X, y).predict(X)
    leaves = package.BinnedTreeRegressor(max_leaf_nodes=5)
    package.GradientBoostingRegressor(leaves, n_estimators=2).fit(X, y).predict(X)
    package.AdaBoostClassifier(n_estimators=2).fit(X, classes).predict(X)
    package.AdaBoostClassifier(n_estimators=2).fit(X, np.arange(200) % 3).predict(X)
    package.BaggedNearestNeighborsRegressor(max_samples=20).fit(X, y).predict(X)
    package.MatchingPursuitRegressor(2).fit(X, y).predict(X)
    package.ReLUUnitRegressor().fit(X, y).predict(X)
"""


class Program:
    """A new process that has imported the package and waits; used once."""

    def __init__(self, everything, folder):
        variables = {"NUMBA_CACHE_DIR": str(folder), "PYTHONPATH": os.pathsep.join(sys.path)}
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM.format(everything=everything)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            env={**os.environ, **variables},
        )
        self.process.stdout.readline()

    def run(self):
        self.process.communicate("fit\n")
        if self.process.returncode:
            raise RuntimeError(f"its process ended (exit status {self.process.returncode})")


def first_process(data, everything):
    """A process whose loops are all compiled."""
    data.folder = tempfile.TemporaryDirectory()
    return Program(everything, Path(data.folder.name))


def later_process(data, everything):
    """A process that finds the loops compiled."""
    if not hasattr(data, "folder"):
        first_process(data, everything).run()
    return Program(everything, Path(data.folder.name))


def run(program, data):
    program.run()


def nothing(seed):
    return split(np.zeros((0, 1)), np.zeros(0), 0)


for name, title, setup, everything, limit in (
    ("installation", "first fit after installing: gradient boosting", first_process, False, None),
    ("installation-all", "first fits after installing: all loops", first_process, True, 15.0),
    ("process", "first fit of a later process: gradient boosting", later_process, False, 1.0),
    ("process-all", "first fits of a later process: all loops", later_process, True, None),
):
    register(
        Case(
            name=f"first-fit-{name}",
            title=title,
            data=nothing,
            params={"everything": everything, "threads": 1},
            sides={"ours": setup},
            run=run,
            seconds_limit=limit,
            runs=3,
        )
    )
