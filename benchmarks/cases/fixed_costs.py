"""What a fit costs however small the data are: small data, checks, the first fit of a process."""

import subprocess
import sys

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
    from sklearn_ensemble_theory._door import check_parameters, twin
    from sklearn_ensemble_theory._rows import checked_target, in_usual_units

    for _ in range(1000):
        for each in estimators:
            fresh = twin(each)
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

# --- the first fit of a process -----------------------------------------------------------------

# The package is imported and the data are there before the clock starts. Each line is one fit.
PROGRAM = """
import sys
import numpy as np
import sklearn_ensemble_theory as package
rng = np.random.default_rng(0)
X = rng.random(({n}, 10))
y = X[:, 0] + X[:, 1] * X[:, 2] + 0.1 * rng.standard_normal(len(X))
y = y > np.median(y) if "Classifier" in "{model}" else y
model = package.{model}
print("ready", flush=True)
for line in sys.stdin:
    model.fit(X, y).predict(X[:100])
    print("done", flush=True)
"""
FIRST_FITS = {
    "boosting": "GradientBoostingRegressor()",
    "boosting-classes": "GradientBoostingClassifier()",
    "forest": "RandomForestRegressor(50, max_bins=255, random_state=0)",
    "bagging": "BaggingRegressor(n_estimators=50, max_bins=255, random_state=0)",
    "adaboost": "AdaBoostClassifier(n_estimators=100)",
    "l2-boosting": "L2BoostingRegressor(1000, smoothing_rounds=0, interactions=0)",
    "logit-boost": "LogitBoostClassifier(1000, smoothing_rounds=0, interactions=0)",
    "neighbors": "BaggedNearestNeighborsRegressor(max_samples=0.1)",
    "relu": "ReLUUnitRegressor()",
    "pursuit": "MatchingPursuitRegressor(5)",
}


class Process:
    """A new process that has imported the package, and made `n_fits` fits; for one more."""

    def __init__(self, n, model, n_fits):
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM.format(n=n, model=FIRST_FITS[model])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )
        self.process.stdout.readline()
        for _ in range(n_fits):
            self.fit()

    def fit(self):
        print("fit", file=self.process.stdin, flush=True)
        if self.process.stdout.readline().strip() != "done":
            raise RuntimeError(f"its process ended (exit status {self.process.wait()})")

    def __del__(self):
        self.process.kill()
        self.process.communicate()


def first(data, n, model):
    return Process(n, model, 0)


def second(data, n, model):
    return Process(n, model, 1)


def one_fit(process, data):
    process.fit()


def nothing(seed):
    return split(np.zeros((0, 1)), np.zeros(0), 0)


for n in (500, 20_000):
    register(
        Case(
            name=f"first-fit-{n}",
            title=f"the first fit of a process beside its second, n = {n}, p = 10",
            data=nothing,
            params={"n": n, "model": "boosting", "threads": 1},
            quick={"n": 200, "model": ("boosting", "relu")},
            vary={"model": tuple(FIRST_FITS)},
            sides={"first": first, "second": second},
            run=one_fit,
            limit=1.2,
            # The rooms of the package that the fit is the first to import.
            more_seconds=0.03,
        )
    )
