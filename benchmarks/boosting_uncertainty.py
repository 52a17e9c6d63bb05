"""What gradient boosting says of its uncertainty, against the truth and other libraries.

    python benchmarks/boosting_uncertainty.py                             all parts, hours
    python benchmarks/boosting_uncertainty.py standard_errors --sets 50
    python benchmarks/boosting_uncertainty.py tables --data concrete wage --side "ours, quantiles"
    python benchmarks/boosting_uncertainty.py --list

standard_errors: `standard_error` beside the standard deviation over fresh training sets at 60
    points, and how often `confidence_interval` contains the expectation of the prediction.
rounds: the squared error with ``n_estimators="cv"`` over that of the best number of rounds, which
    the test rows choose.
costs: processor's times of each method, in those of a fit of the same 100 rounds.
exposures: counts and amounts of exposures that differ a hundredfold. "least" and "most" are over
    the groups of short and long ones; the last column of X is the logarithm of the exposure.
intervals, quantiles, distributions, counts, amounts, tables: all sides on the same rows. An
    interval is of 90 %; "least" is its least coverage over tenths of the feature that the noise
    grows with, and "most" the largest. The pinball loss is the mean over the levels .1 to .9, of
    sorted quantiles, and "cross" the share of rows where they are not sorted. The log score is the
    mean of minus the logarithm of the density, the CRPS is twice the mean pinball loss over 99
    levels.

Files of tables that are not in the folder are read from public repositories, as in
`categorical_tables.py`; categories become columns of 0 and 1, and missing numbers the median. At
most 2,000 rows are trained on. Each side runs in a process of its own with one thread; the time is
that of its processor for all fits and predictions, the first ones too, without imports. Libraries
have their defaults; NGBoost has a second side, which stops by a fifth of the rows, as XGBoostLSS
always does. A library that is not installed is left out.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from categorical_tables import BROWNLEE, SELVA, THREADS, Table

from sklearn_ensemble_theory.boosting import CVRounds

COVERAGE = 0.9
LEVELS = np.arange(1, 10) / 10
ENDS = [(1 - COVERAGE) / 2, (1 + COVERAGE) / 2]
WITH_ENDS = [*LEVELS, *ENDS]
MOST_ROWS, MOST_TESTED = 2000, 3000
STEDY = "stedy/Machine-Learning-with-R-datasets/ff933238d9c30da179b7e3ad4b6ca938d67efc53"
LUROVI = "lurovi/SR-datasets/016279c4be937e06f716cebb92a00ecf970685ce"
AMINI = "aamini/evidential-deep-learning/d1d8e395fb083308d14fa92c5ce766e97b2a066a"
GERON = "ageron/handson-ml2/1e2115277b50f6c584cd668fa30e3af309a5b136"

INSURANCE = "synthesized-io/datasets/773c556c286be1476bbd2c70f11e127d888fee92/tabular/insurance"

# --- data -------------------------------------------------------------------------------------

TABLES = {
    "concrete": Table(STEDY, "concrete.csv", "strength", is_regression=True),
    "insurance": Table(STEDY, "insurance.csv", "charges", is_regression=True),
    "white wine": Table(BROWNLEE, "winequality-white.csv", -1, is_regression=True),
    "abalone": Table(BROWNLEE, "abalone.csv", -1, is_regression=True),
    "car prices": Table(BROWNLEE, "auto_imports.csv", -1, is_regression=True),
    "Boston": Table(SELVA, "BostonHousing.csv", "medv", is_regression=True),
    "wage": Table(SELVA, "Wage.csv", "wage", is_regression=True, left_out=("logwage",)),
    "airfoil": Table(LUROVI, "airfoil.csv", "y", is_regression=True),
    "kin8nm": Table(
        f"{AMINI}/neurips2020/data/uci/kin8nm", "dataset_2175_kin8nm.csv", "y", is_regression=True
    ),
    "California": Table(
        f"{GERON}/datasets/housing", "housing.csv", "median_house_value", is_regression=True
    ),
}


def friedman(X):
    x1, x2, x3, x4, x5 = X.T[:5]
    return 10 * np.sin(np.pi * x1 * x2) + 20 * (x3 - 0.5) ** 2 + 10 * x4 + 5 * x5


def jumps(X):
    return 5.0 * (X[:, 0] > 0.5) * (X[:, 1] > 0.3) + 4 * (X[:, 2] > 0.6) - 3 * (X[:, 3] > 0.25)


def smooth(X):
    x1, x2, x3, x4 = X.T[:4]
    return 2 * np.sin(2 * np.pi * x1) + 6 * (x2 - 0.5) ** 2 + 2 * x3 - np.exp(x4)


# Name: (expectation of y, standard deviation of the noise).
TRUTHS = {"jumps": (jumps, 1.0), "smooth": (smooth, 1.0), "noisy": (friedman, 6.0)}


def normal(rng, X):
    return friedman(X) + (0.5 + 4 * X[:, 5]) * rng.standard_normal(len(X))


def gamma(rng, X):
    return friedman(X) + (0.5 + 4 * X[:, 5]) * (rng.gamma(1.0, size=len(X)) - 1)


def even(rng, X):
    return friedman(X) + 2.5 * rng.standard_normal(len(X))


def counts(rng, X):
    return rng.poisson(np.exp(friedman(X) / 8 - 0.5)).astype(float)


def amounts(rng, X):
    return rng.gamma(2.0, np.exp(friedman(X) / 8) / 2)


SIMULATED = {
    f"{draw.__name__} {n}": (draw, n)
    for draw in (even, normal, gamma, counts, amounts)
    for n in (500, 2000)
}


def claims(rng, mean):
    """Of Tweedie's distribution of the power 1.5."""
    numbers = rng.poisson(2 * np.sqrt(mean))
    return rng.gamma(np.maximum(numbers, 1e-300), np.sqrt(mean) / 2)


# Targets of a mean.
EXPOSED = {
    "exposed counts": lambda rng, mean: rng.poisson(mean).astype(float),
    "exposed overdispersed": lambda rng, mean: rng.poisson(mean * rng.gamma(4, 0.25, len(mean))),
    "exposed amounts": lambda rng, mean: rng.gamma(2, mean / 2),
    "exposed claims": claims,
}
SWEDEN = Table(
    INSURANCE, "sweden_motor_insurance.csv", "Claims", is_regression=True, left_out=("Payment",)
)


def exposed_rows(name, rng, folder):
    """Training rows, new rows, and the group of the exposure of each new row."""
    if name in EXPOSED:
        n = 600
        X = rng.standard_normal((n + MOST_TESTED, 3))
        exposure = rng.choice([0.1, 10], len(X))
        y = EXPOSED[name](rng, exposure * np.exp(0.4 * X[:, 0]))
    else:
        X, y = SWEDEN.read(folder)
        X, y = X[X.Insured > 0], y[X.Insured > 0]
        order = rng.permutation(len(y))
        X, y, n = X.iloc[order], y[order], len(y) // 2
        exposure = X.pop("Insured").to_numpy()
        X = X.to_numpy()
    X = np.column_stack([X, np.log(exposure)])
    edges = np.quantile(exposure, [1 / 3, 2 / 3])
    return X[:n], y[:n], X[n:], y[n:], np.searchsorted(edges, exposure[n:])


def numbers_of(X):
    """Categories as columns of 0 and 1, and the median for missing numbers."""
    import pandas as pd

    X = pd.get_dummies(X, dtype=float)
    return X.fillna(X.median()).to_numpy()


def rows_of(name, seed, folder):
    """Training rows, new rows, and for each new row the tenth of its noise, or None."""
    rng = np.random.default_rng([2, seed])
    if name in (*EXPOSED, "Swedish claims"):
        return exposed_rows(name, rng, folder)
    if name in SIMULATED:
        draw, n = SIMULATED[name]
        X = rng.random((n + MOST_TESTED, 10))
        y = draw(rng, X)
        return X[:n], y[:n], X[n:], y[n:], np.floor(10 * X[n:, 5])
    if name == "diabetes":
        from sklearn.datasets import load_diabetes

        X, y = load_diabetes(return_X_y=True)
    else:
        X, y = TABLES[name].read(folder)
        X = numbers_of(X)
    order = rng.permutation(len(y))
    n = min(MOST_ROWS, int(0.8 * len(y)))
    train, test = order[:n], order[n : n + MOST_TESTED]
    return X[train], y[train], X[test], y[test], None


# --- sides: functions of X, y and new rows, that return what is predicted by name ----------------


def boosting(X, y, **params):
    from sklearn_ensemble_theory import GradientBoostingRegressor

    params = {"held_out": 10, "n_jobs": 1, "random_state": 0, **params}
    model = GradientBoostingRegressor(**params)
    return model.fit(X, y)


def our_interval(X, y, new, method, **params):
    return {"interval": boosting(X, y, **params).predict_interval(new, COVERAGE, method)}


def additive_interval(X, y, new):
    from sklearn_ensemble_theory import L2BoostingRegressor

    model = L2BoostingRegressor("cv", interactions="auto").fit(X, y)
    return {"interval": model.predict_interval(new, COVERAGE)}


def of_quantiles(found):
    return {"quantiles": found[:, :-2], "interval": found[:, -2:]}


def of_distribution(law):
    return {"law": law, **of_quantiles(law.ppf(np.array(WITH_ENDS)[:, None]).T)}


def our_quantiles(X, y, new, **params):
    return of_quantiles(boosting(X, y, **params).predict_quantiles(new, WITH_ENDS))


def our_distribution(X, y, new, family, **params):
    return of_distribution(boosting(X, y, **params).predict_distribution(new, family))


def exposed(X, y, new, method, loss):
    """The interval of rows whose last column is the offset."""
    from sklearn_ensemble_theory import AdditiveBoostingRegressor, GradientBoostingRegressor

    if method == "additive":
        model = AdditiveBoostingRegressor(loss=loss, held_out="cv")
    else:
        model = GradientBoostingRegressor(loss=loss, n_jobs=1, random_state=0, **CHOSEN)
    model.fit(X[:, :-1], y, offset=X[:, -1])
    new, given = new[:, :-1], {"offset": new[:, -1]}
    if method == "quantiles":
        return {"interval": model.predict_quantiles(new, ENDS, **given)}
    if method in ("cv+", "normalized"):
        return {"interval": model.predict_interval(new, COVERAGE, method, **given)}
    if method == "additive":
        return {"interval": model.predict_interval(new, COVERAGE, **given)}
    law = model.predict_distribution(new, method, **given)
    return {"interval": np.column_stack(law.interval(COVERAGE))}


def mapie(X, y, new):
    from lightgbm import LGBMRegressor
    from mapie.regression import CrossConformalRegressor

    model = LGBMRegressor(random_state=0, n_jobs=1, verbose=-1)
    model = CrossConformalRegressor(model, confidence_level=COVERAGE, cv=10, random_state=0)
    return {"interval": model.fit_conformalize(X, y).predict_interval(new)[1][:, :, 0]}


def ngboost(X, y, new, law="Normal", stops=False):
    import ngboost
    from ngboost import distns

    law = getattr(distns, law)
    if not stops:
        model = ngboost.NGBRegressor(law, verbose=False, random_state=0).fit(X, y)
    else:
        model = ngboost.NGBRegressor(
            law, n_estimators=5000, validation_fraction=0.2, early_stopping_rounds=50,
            verbose=False, random_state=0,
        ).fit(X, y)  # fmt: skip
        # Its rounds are those that were best for the validation rows; then all rows are fitted.
        rounds = 1 + int(model.best_val_loss_itr or 0)
        model = ngboost.NGBRegressor(law, n_estimators=rounds, verbose=False, random_state=0)
        model.fit(X, y)
    return of_distribution(model.pred_dist(new).dist)


def xgboostlss(X, y, new, law="Gaussian"):
    """With rounds by a fifth of the rows; its own default is ten rounds."""
    import xgboost
    from scipy import stats
    from xgboostlss.model import XGBoostLSS

    def fitted(rows, n_rounds, held=()):
        model = XGBoostLSS(getattr(import_module(f"xgboostlss.distributions.{law}"), law)())
        params = {"eta": 0.1, "nthread": 1, "seed": 0}
        data = xgboost.DMatrix(X[rows], label=y[rows], nthread=1)
        stops = {}
        if len(held):
            others = xgboost.DMatrix(X[held], label=y[held], nthread=1)
            stops = {"evals": [(data, "train"), (others, "held")], "early_stopping_rounds": 50}
        model.train(params, data, num_boost_round=n_rounds, verbose_eval=False, **stops)
        return model

    order = np.random.default_rng(0).permutation(len(y))
    held, train = np.split(order, [len(y) // 5])
    n_rounds = 1 + fitted(train, 2000, held).booster.best_iteration
    found = fitted(order, n_rounds).predict(xgboost.DMatrix(new), pred_type="parameters")
    found = {name: column.to_numpy(dtype=float) for name, column in found.items()}
    laws = {
        "Gaussian": lambda loc, scale: stats.norm(loc, scale),
        "Gamma": lambda concentration, rate: stats.gamma(concentration, scale=1 / rate),
        "Poisson": lambda rate: stats.poisson(rate),
        "NegativeBinomial": lambda total_count, probs: stats.nbinom(total_count, 1 - probs),
    }
    return of_distribution(laws[law](**found))


def quantile_forest(X, y, new):
    from quantile_forest import RandomForestQuantileRegressor

    model = RandomForestQuantileRegressor(random_state=0, n_jobs=1).fit(X, y)
    return of_quantiles(model.predict(new, quantiles=WITH_ENDS))


def a_model_for_each(X, y, new, library, levels):
    """The interval from two levels, and the quantiles from nine."""

    def fitted(level):
        if library == "LightGBM":
            from lightgbm import LGBMRegressor

            model = LGBMRegressor(
                objective="quantile", alpha=level, random_state=0, n_jobs=1, verbose=-1
            )
        else:
            from sklearn.ensemble import GradientBoostingRegressor

            model = GradientBoostingRegressor(loss="quantile", alpha=level, random_state=0)
        return model.fit(X, y)

    found = np.column_stack([fitted(level).predict(new) for level in levels])
    if levels is ENDS:
        return {"interval": np.sort(found, axis=1)}
    return {"quantiles": found}


MEAN_LAWS = ("Poisson", "Gamma", "LogNormal")
MEAN_OF_FOLDS = {"n_estimators": CVRounds(prediction="mean")}
BY_FOLDS = {**MEAN_OF_FOLDS, "held_out": "cv"}
CHOSEN = {"n_estimators": "cv", "held_out": "cv"}
EXPOSED_LOSSES = {"poisson": "negative-binomial", "gamma": "gamma", "tweedie": "empirical"}
OURS, LIGHTGBM, NGBOOST = "sklearn_ensemble_theory.boosting", "lightgbm", "ngboost"
# name -> (function of X, y and new rows, the library it needs)
SIDES = {
    **{f"{m}, ours": (partial(our_interval, method=m), OURS) for m in ("cv+", "normalized", "cqr")},
    "cv+, L2Boosting": (additive_interval, OURS),
    "normalized by folds, ours": (partial(our_interval, method="normalized", **BY_FOLDS), OURS),
    "quantiles, ours": (our_quantiles, OURS),
    "quantiles by folds, ours": (partial(our_quantiles, **BY_FOLDS), OURS),
    **{
        f"{family} by folds, ours": (partial(our_distribution, family=family, **BY_FOLDS), OURS)
        for family in ("empirical", "normal", "student-t", "lognormal")
    },
    **{
        f"{family} by folds, ours": (
            partial(our_distribution, family=family, loss=loss, **BY_FOLDS),
            OURS,
        )
        for family, loss in (
            ("poisson", "poisson"),
            ("negative-binomial", "poisson"),
            ("gamma", "gamma"),
        )
    },
    **{
        f"{method}, {loss}, ours": (partial(exposed, method=method, loss=loss), OURS)
        for loss, law in EXPOSED_LOSSES.items()
        for method in ("cv+", "normalized", "additive", "quantiles", "empirical", law)
    },
    "MAPIE cv+, LightGBM": (mapie, "mapie.regression lightgbm"),
    "NGBoost": (ngboost, NGBOOST),
    "NGBoost, stopped": (partial(ngboost, stops=True), NGBOOST),
    **{f"NGBoost {law}": (partial(ngboost, law=law), NGBOOST) for law in MEAN_LAWS},
    **{
        f"NGBoost {law}, stopped": (partial(ngboost, law=law, stops=True), NGBOOST)
        for law in MEAN_LAWS
    },
    **{
        f"XGBoostLSS {law}": (partial(xgboostlss, law=law), "xgboostlss.model")
        for law in ("Gaussian", "Gamma", "Poisson", "NegativeBinomial")
    },
    "quantile-forest": (quantile_forest, "quantile_forest"),
    **{
        f"{name}, {what}": (partial(a_model_for_each, library=name, levels=levels), module)
        for name, module in (("LightGBM", LIGHTGBM), ("scikit-learn", "sklearn.ensemble"))
        for what, levels in (("two levels", ENDS), ("nine levels", LEVELS))
    },
}
DISTRIBUTIONS = [
    "empirical by folds, ours",
    "normal by folds, ours",
    "student-t by folds, ours",
    "NGBoost",
    "NGBoost, stopped",
    "XGBoostLSS Gaussian",
]
INTERVALS = [
    "cv+, ours",
    "normalized, ours",
    "cqr, ours",
    "cv+, L2Boosting",
    "MAPIE cv+, LightGBM",
    "LightGBM, two levels",
    "scikit-learn, two levels",
]
# part -> data, sides, sets
COMPARISONS = {
    "intervals": (
        ["even 500", "normal 500", "normal 2000", "gamma 500", "gamma 2000"],
        INTERVALS,
        20,
    ),
    "quantiles": (
        ["normal 2000", "gamma 2000", "concrete"],
        [
            "quantiles, ours",
            "quantiles by folds, ours",
            "LightGBM, nine levels",
            "scikit-learn, nine levels",
            "quantile-forest",
        ],
        10,
    ),
    "distributions": (
        ["concrete", "normal 2000"],
        DISTRIBUTIONS,
        20,
    ),
    "counts": (
        ["counts 500", "counts 2000", "abalone"],
        [
            "poisson by folds, ours",
            "negative-binomial by folds, ours",
            "NGBoost Poisson",
            "NGBoost Poisson, stopped",
            "XGBoostLSS Poisson",
            "XGBoostLSS NegativeBinomial",
        ],
        10,
    ),
    "amounts": (
        ["amounts 500", "amounts 2000", "insurance"],
        [
            "gamma by folds, ours",
            "lognormal by folds, ours",
            "NGBoost Gamma",
            "NGBoost LogNormal",
            "NGBoost Gamma, stopped",
            "NGBoost LogNormal, stopped",
            "XGBoostLSS Gamma",
        ],
        10,
    ),
    "tables": (
        ["diabetes", *TABLES],
        [
            "cv+, ours",
            "normalized by folds, ours",
            "empirical by folds, ours",
            "student-t by folds, ours",
            "MAPIE cv+, LightGBM",
            "NGBoost",
            "NGBoost, stopped",
            "quantile-forest",
            "LightGBM, nine levels",
            "scikit-learn, two levels",
            "scikit-learn, nine levels",
        ],
        3,
    ),
}


# The losses of the targets that are no counts.
EXPOSED_OF = {"exposed amounts": "gamma", "exposed claims": "tweedie"}
COMPARISONS["exposures"] = (
    [*EXPOSED, "Swedish claims"],
    [side for side in SIDES if side.endswith(tuple(f"{loss}, ours" for loss in EXPOSED_LOSSES))],
    10,
)


def measures_of(predicted, y, tenth):
    """Each measure of what a side has predicted for the targets y of new rows."""
    found = {}
    if "interval" in predicted:
        low, high = predicted["interval"].T
        inside = (low <= y) & (y <= high)
        found |= {"coverage": inside.mean(), "width": np.mean(high - low)}
        if tenth is not None:
            found |= {f"of tenth {k:.0f}": inside[tenth == k].mean() for k in np.unique(tenth)}
    if "quantiles" in predicted:
        quantiles = predicted["quantiles"]
        found["cross"] = (np.diff(quantiles, axis=1) < 0).any(axis=1).mean()
        found["pinball"] = pinball(y, np.sort(quantiles, axis=1), LEVELS)
    if "law" in predicted:
        law = predicted["law"]
        density = law.logpmf if hasattr(law, "logpmf") else law.logpdf
        levels = np.arange(1, 100) / 100
        found["log score"] = -np.mean(density(y))
        found["CRPS"] = 2 * pinball(y, law.ppf(levels[:, None]).T, levels)
    return {name: float(value) for name, value in found.items()}


def pinball(y, quantiles, levels):
    off = y[:, None] - quantiles
    return np.mean(np.maximum(levels * off, (levels - 1) * off))


def measure(name, side, folder, n_sets):
    """The measures of one side on all sets, and the processor's time of all."""
    predict, libraries = SIDES[side]
    for library in libraries.split():
        import_module(library)
    sets = [rows_of(name, seed, folder) for seed in range(n_sets)]
    results, seconds = [], 0.0
    for X, y, new, target, tenth in sets:
        start = time.process_time()
        predicted = predict(X, y, new)
        seconds += time.process_time() - start
        results.append(measures_of(predicted, target, tenth))
    found = {key: [result[key] for result in results] for key in results[0]}
    return {"rows": len(sets[0][1]), "seconds": seconds / n_sets, "measures": found}


def in_own_process(name, side, folder, n_sets):
    command = [sys.executable, __file__, "--data", name, "--side", side, "--sets", str(n_sets)]
    command += ["--folder", str(folder), "--one"]
    done = subprocess.run(
        command, env=os.environ | THREADS, check=True, stdout=subprocess.PIPE, text=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def show(name, side, found, n_sets):
    """A line with the mean of each measure over the sets; "least" and "most" are over tenths."""
    mean = {key: np.mean(values) for key, values in found["measures"].items()}
    tenths = [mean.pop(key) for key in list(mean) if key.startswith("of tenth")]
    if tenths:
        mean["least"], mean["most"] = min(tenths), max(tenths)
    order = ("coverage", "width", "least", "most", "cross", "pinball", "log score", "CRPS")
    numbers = "".join(f"  {key} {mean[key]:.4g}" for key in order if key in mean)
    print(f"{name:12s} {side:32s}{numbers}  {found['seconds']:.2f} s", flush=True)


def compare(part, data, sides, n_sets, folder):
    known, known_sides, n_known = COMPARISONS[part]
    n_sets = n_sets or n_known
    print(f"\n{part}: means over {n_sets} sets; seconds of one")
    for name in data or known:
        for side in sides or known_sides:
            if part == "exposures" and EXPOSED_OF.get(name, "poisson") not in side:
                continue
            libraries = SIDES[side][1].split()
            if all(find_spec(library.partition(".")[0]) for library in libraries):
                show(name, side, in_own_process(name, side, folder, n_sets), n_sets)


# --- standard errors --------------------------------------------------------------------------


def standard_errors(n_sets, sizes=(300, 500, 2000)):
    """The pooled ratios and the coverage, over training sets."""
    n_sets = n_sets or 200
    kinds = ("single", "unbiased", "conservative")
    points = np.random.default_rng(0).random((60, 10))
    print(f"\nstandard_errors: {n_sets} training sets; 100 rounds, 20 pairs")
    for n in sizes:
        for truth, (expectation, noise) in TRUTHS.items():
            found = {kind: [] for kind in kinds}
            for seed in range(n_sets):
                rng = np.random.default_rng([1, seed])
                X = rng.random((n, 10))
                model = boosting(X, expectation(X) + noise * rng.standard_normal(n))
                for kind in kinds:
                    interval = model.confidence_interval(points, COVERAGE, kind)
                    found[kind].append([interval.mean(axis=1), model.standard_error(points, kind)])
            for kind in kinds:
                centre, error = np.array(found[kind]).transpose(1, 0, 2)
                true = centre.var(axis=0, ddof=1)
                # Distances to a mean of n_sets that they are in are as much smaller.
                off = np.abs(centre - centre.mean(axis=0)) / np.sqrt(1 - 1 / n_sets)
                print(
                    f"{n:5d} {truth:7s} {kind:13s} true {np.sqrt(true.mean()):.3f}  "
                    f"pooled ratio {np.sqrt((error**2).mean() / true.mean()):.3f}  "
                    f"median ratio {np.median(error.mean(axis=0) / np.sqrt(true)):.3f}  "
                    f"covered {np.mean(off <= 1.6448536 * error):.3f}",
                    flush=True,
                )


# --- rounds and costs -------------------------------------------------------------------------


def rounds_data(name, seed, folder):
    """Training and test rows of a problem of `rounds`."""
    rng = np.random.default_rng([3, seed])
    simulated = {
        "friedman": (friedman, 1.0, 1000),
        "jumps": (jumps, 3.0, 4000),
        "noisy": (smooth, 3.0, 1000),
    }
    if name in simulated:
        expectation, noise, n = simulated[name]
        X = rng.random((n + 4000, 10))
        y = expectation(X)
        y[:n] += noise * rng.standard_normal(n)  # tested against expectations
        return X[:n], y[:n], X[n:], y[n:]
    if name in ("breast cancer", "digits"):
        from sklearn.datasets import load_breast_cancer, load_digits

        X, y = (load_breast_cancer if name == "breast cancer" else load_digits)(return_X_y=True)
        y = (y if name == "breast cancer" else y >= 5).astype(float)
        order = rng.permutation(len(y))
        train, test = np.split(order, [int(0.8 * len(y))])
        return X[train], y[train], X[test], y[test]
    return rows_of(name, seed, folder)[:4]


def rounds(n_sets, folder, data=None):
    """The error of the rounds by folds over the least one, and what the folds cost."""
    from sklearn_ensemble_theory import GradientBoostingRegressor

    n_sets = n_sets or 8
    print(f"\nrounds: squared test errors, means over {n_sets} sets")
    names = ("friedman", "jumps", "noisy", "diabetes", "concrete", "breast cancer", "digits")
    for name in data or names:
        found = []
        for seed in range(n_sets):
            X, y, new, target = rounds_data(name, seed, folder)

            def error(predicted, target=target):
                return np.mean((predicted - target) ** 2)

            same = {"n_jobs": 1, "random_state": 0}
            start = time.process_time()
            mean = GradientBoostingRegressor(**same, **MEAN_OF_FOLDS).fit(X, y)
            of_folds = time.process_time() - start
            start = time.process_time()
            one = GradientBoostingRegressor(n_estimators=mean.n_estimators_, **same).fit(X, y)
            of_one = time.process_time() - start
            longest = max(1500, 2 * mean.n_estimators_)
            path = GradientBoostingRegressor(n_estimators=longest, **same).fit(X, y)
            best = min(error(predicted) for predicted in path.staged_predict(new))
            default = GradientBoostingRegressor(**same).fit(X, y)
            errors = [error(model.predict(new)) for model in (mean, one, default)]
            found.append([*errors, best, mean.n_estimators_, of_folds, of_one])
        mean, one, default, best, n_rounds, of_folds, of_one = np.mean(found, axis=0)
        print(
            f"{name:14s} best {best:.4g}  / best: mean of folds {mean / best:.3f}, one fit "
            f"{one / best:.3f}, 100 rounds {default / best:.3f}  {n_rounds:.0f} rounds, the folds "
            f"cost {of_folds / of_one:.1f} fits",
            flush=True,
        )


def costs(n_runs):
    """What the first call of each method takes, in fits of the same 100 rounds."""
    print("\ncosts: the least of several processor's times, in those of a fit")
    for n in (500, 2000, 10_000):
        rng = np.random.default_rng(0)
        X, new = rng.random((n, 10)), rng.random((60, 10))
        y = normal(rng, X)
        calls = {
            "20 pairs": lambda model, new: model.standard_error(new),
            **{m: lambda model, new, m=m: model.predict_interval(new, method=m)
               for m in ("cv+", "normalized", "cqr")},
            "quantiles": lambda model, new: model.predict_quantiles(new),
        }  # fmt: skip
        found = {name: [] for name in ("fit", *calls)}
        for _ in range(n_runs or 5):
            for name, call in calls.items():
                start = time.process_time()
                model = boosting(X, y)
                middle = time.process_time()
                call(model, new)
                found["fit"].append(middle - start)
                found[name].append(time.process_time() - middle)
        fit = min(found.pop("fit"))
        shares = "".join(f"  {name} {min(times) / fit:.1f}" for name, times in found.items())
        print(f"{n:6d} rows, a fit {1000 * fit:.0f} ms:{shares}", flush=True)


def parse(argv):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parts = ["standard_errors", "rounds", "costs", *COMPARISONS]
    parser.add_argument("part", nargs="*", choices=[*parts, []], metavar="PART")
    data = [*SIMULATED, *EXPOSED, "Swedish claims", "diabetes", *TABLES]
    parser.add_argument("--data", nargs="+", choices=data, metavar="NAME")
    parser.add_argument("--side", nargs="+", choices=SIDES, metavar="NAME")
    parser.add_argument("--sets", type=int, help="training sets, splits or runs")
    default = Path(tempfile.gettempdir()) / "categorical_tables"
    parser.add_argument("--folder", type=Path, default=default, help="of the files")
    parser.add_argument("--list", action="store_true", help="list parts, data and sides, and stop")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    args.part = args.part or parts
    return args


def main(argv=None):
    args = parse(argv)
    if args.list:
        print("parts: standard_errors; rounds; costs;", "; ".join(COMPARISONS))
        print("data:", "; ".join([*SIMULATED, *EXPOSED, "Swedish claims", "diabetes", *TABLES]))
        print("sides:", "; ".join(SIDES))
        return 0
    if args.one:
        print(json.dumps(measure(args.data[0], args.side[0], args.folder, args.sets)))
        return 0
    for part in args.part:
        if part == "standard_errors":
            standard_errors(args.sets)
        elif part == "rounds":
            rounds(args.sets, args.folder)
        elif part == "costs":
            costs(args.sets)
        else:
            compare(part, args.data, args.side, args.sets, args.folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
