"""Ensembles of binned trees: gradient boosting and forests, compared with histogram boosting."""

import pickle
from itertools import product

import numpy as np

from cases import (
    Case,
    call,
    drop_in,
    fit,
    friedman1,
    held_out_error,
    held_out_mse,
    register,
    split,
    two_classes,
)
from cases._histogram_peers import intelex, lightgbm, scikit_learn, xgboost

# --- data -------------------------------------------------------------------------------------


def long_tails(seed, n, p, missing=0.2, n_test=20_000):
    """Data that are hard for bins: features of long tails, ties, missing values, outliers in y.

    A part of the signal is a peak that 1 % of the rows are in. The targets of the test rows are
    without noise, whose outliers would hide the differences.
    """
    rng = np.random.default_rng(seed)
    normal = rng.standard_normal((n + n_test, p))
    mean = 5 * np.sin(2 * normal[:, 0]) + 4 * (normal[:, 1] > 0.5) * normal[:, 2]
    mean += 3 * np.abs(normal[:, 3]) + 10 * (np.abs(normal[:, 4] - 1) < 0.02)
    y = mean + rng.standard_t(4, len(mean))
    X = np.exp(2 * normal)
    X[:, 1::2] = np.round(X[:, 1::2], 1)
    X[rng.random(X.shape) < missing] = np.nan
    data = split(X, y, n)
    data.y_test = mean[n:]
    return data


def long_tails_without_missing(seed, n, p, n_test=20_000):
    return long_tails(seed, n, p, 0.0, n_test)


def two_long_tailed_classes(seed, n, p, missing=0.2, n_test=20_000):
    """The same problem, with the targets cut at 4; those of the test rows have noise as well."""
    data = long_tails(seed, n + n_test, p, missing, 0)
    return split(data.X, (data.y > 4.0).astype(int), n)


def two_long_tailed_classes_without_missing(seed, n, p, n_test=20_000):
    return two_long_tailed_classes(seed, n, p, 0.0, n_test)


# --- our side ---------------------------------------------------------------------------------


def boosted(name, loss=None, **fixed):
    """A setup of our gradient boosting; `loss` is a function that imports and builds one."""

    def setup(data, n_estimators, learning_rate, threads, max_depth=None, max_leaf_nodes=None):
        import sklearn_ensemble_theory as package

        # Trees of depth 3 are the default.
        chosen = {"n_estimators": n_estimators, "learning_rate": learning_rate, "n_jobs": threads}
        if max_leaf_nodes is not None:
            chosen["estimator"] = package.trees.BinnedTreeRegressor(max_leaf_nodes=max_leaf_nodes)
        if loss is not None:
            chosen["loss"] = loss()
        return getattr(package, name)(**chosen, **fixed)

    return setup


def forest(name):
    """A setup of our or, by its module, scikit-learn's class."""

    def sides(module):
        def setup(data, n_estimators, threads, seed, max_depth=None):
            import importlib

            cls = getattr(importlib.import_module(module), name)
            shape = {"n_estimators": n_estimators, "max_depth": max_depth}
            return cls(**shape, n_jobs=threads, random_state=seed)

        return setup

    return {
        "ours": sides("sklearn_ensemble_theory"),
        "scikit-learn": sides("sklearn.ensemble"),
        "scikit-learn-intelex": intelex(name),
    }


def imported_before(setup):
    """The same setup after a fit to few rows: importing needs memory of its own."""

    def after_a_fit(data, **params):
        call(setup, data, **{**params, "n_estimators": 2}).fit(data.X[:1_000], data.y[:1_000])
        return call(setup, data, **params)

    return after_a_fit


# --- losses and what they are judged by -------------------------------------------------------

QUANTILE = 0.9


def quantile_loss():
    from sklearn_ensemble_theory.boosting.losses import QuantileLoss

    return QuantileLoss(QUANTILE)


def loss_of_a_user():
    """The logistic loss as a user writes it in NumPy.

    Without `hessian` the leaf values would be searched for, by some twenty calls of `gradient`.
    """

    def share(y, u):
        return 1.0 / (1.0 + np.exp(np.clip(y * u, -500.0, 500.0)))

    class Logistic:
        def value(self, y, u):
            return np.logaddexp(0.0, -y * u)

        def gradient(self, y, u):
            return -y * share(y, u)

        def hessian(self, y, u):
            wrong = share(y, u)
            return wrong * (1.0 - wrong)

    return Logistic()


def held_out_pinball(model, data):
    error = data.y_test - model.predict(data.X_test)
    return float(np.mean(np.maximum(QUANTILE * error, (QUANTILE - 1) * error)))


def held_out_log_loss(model, data):
    if hasattr(model, "decision_function"):
        score = model.decision_function(data.X_test)
    else:
        share = np.clip(model.predict_proba(data.X_test)[:, 1], 1e-12, 1 - 1e-12).astype(float)
        score = np.log(share / (1 - share))
    return float(np.mean(np.logaddexp(0.0, np.where(data.y_test == 1, -score, score))))


# --- gradient boosting ------------------------------------------------------------------------

SIZES = (100_000, 1_000_000)
ROUNDS = {"n": SIZES[0], "p": 20, "n_test": 20_000, "n_estimators": 100, "learning_rate": 0.1}
QUICK = {"n": 2_000, "n_test": 500, "n_estimators": 5}
DEPTH = {"max_depth": 3}
LEAVES = {"max_leaf_nodes": 31}
MSE = {"quality": held_out_mse, "metric": "test MSE"}
EASY, HARD = "", "-long-tails"
SAME_ERROR = 1.03  # of 20,000 test rows; peers differ as much among themselves

squared_loss = {
    "ours": boosted("GradientBoostingRegressor"),
    "lightgbm": lightgbm("LGBMRegressor"),
    "xgboost": xgboost("XGBRegressor"),
    "hist-gradient-boosting": scikit_learn("HistGradientBoostingRegressor"),
}
for tree, size, limit in (("depth-3", DEPTH, 0.8), ("31-leaves", LEAVES, 1.0)):
    for kind, data in ((EASY, friedman1), (HARD, long_tails)):
        for threads, suffix in ((1, ""), (2, "-two-threads")):
            register(
                Case(
                    name=f"gradient-boosting-{tree}{kind}{suffix}",
                    title=f"gradient boosting of trees, {tree}, squared loss, 100 rounds, p = 20, "
                    f"{threads} thread{'s' * (threads > 1)}",
                    data=data,
                    **MSE,
                    params={**ROUNDS, **size, "threads": threads},
                    quick={**QUICK, "n": (1_000, 2_000)},
                    vary={"n": SIZES},
                    sides=squared_loss,
                    run=fit,
                    limit=limit,
                    quality_ratio=SAME_ERROR,
                )
            )


# The classes for which scikit-learn's are exchanged, with their defaults; LightGBM's are the same.
def lightgbm_defaults(name):
    def setup(data, threads, seed):
        import lightgbm

        return getattr(lightgbm, name)(n_jobs=threads, random_state=seed, verbose=-1)

    return setup


for task, problem, judged in (
    ("Regressor", friedman1, MSE),
    ("Classifier", two_classes, {"quality": held_out_log_loss, "metric": "test log-loss"}),
):
    register(
        Case(
            name=f"hist-gradient-boosting-{task.lower()}",
            title=f"HistGradientBoosting{task} with its defaults, n = 100,000, p = 20",
            data=problem,
            **judged,
            params={"n": SIZES[0], "p": 20, "n_test": 20_000, "threads": 1},
            quick={"n": 2_000, "n_test": 500},
            sides={
                **drop_in(f"HistGradientBoosting{task}"),
                "lightgbm": lightgbm_defaults(f"LGBM{task}"),
            },
            run=fit,
            limit=0.7,
            quality_ratio={"scikit-learn": 1.01},
        )
    )

# Few rows: what a round costs beside its rows, and bins of which most are empty in small nodes.
FEW_ROWS = (500, 1_000, 3_000, 10_000)


def ten_classes(seed, n, p, n_test):
    """The deciles of the targets of Friedman's problem."""
    data = friedman1(seed, n, p, 1.0, n_test)
    edges = np.quantile(data.y, np.arange(1, 10) / 10)
    data.y, data.y_test = np.searchsorted(edges, data.y), np.searchsorted(edges, data.y_test)
    return data


def ten_long_tailed_classes(seed, n, p, n_test):
    data = long_tails(seed, n, p, 0.2, n_test)
    edges = np.quantile(data.y, np.arange(1, 10) / 10)
    data.y, data.y_test = np.searchsorted(edges, data.y), np.searchsorted(edges, data.y_test)
    return data


def hundred_classes(seed, n, p, n_test):
    """Of each class a corner in ten columns, with noise."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 100, n + n_test)
    X = rng.standard_normal((n + n_test, p))
    X[:, :10] += 1.5 * rng.choice([-1, 1], (100, 10))[y]
    return split(X, y, n)


def classifiers(**fixed):
    return {
        "ours": boosted("GradientBoostingClassifier", **fixed),
        "lightgbm": lightgbm("LGBMClassifier"),
        "xgboost": xgboost("XGBClassifier"),
        "hist-gradient-boosting": scikit_learn("HistGradientBoostingClassifier"),
    }


ERROR = {"quality": held_out_error, "metric": "test error"}
FEW_ROWS_OF = {
    "": (squared_loss, friedman1, long_tails, MSE),
    "-two-classes": (classifiers(), two_classes, two_long_tailed_classes, ERROR),
    "-ten-classes": (classifiers(), ten_classes, ten_long_tailed_classes, ERROR),
}
for task, (sides, easy, hard, judged) in FEW_ROWS_OF.items():
    for (kind, data), leaves in product(((EASY, easy), (HARD, hard)), (8, 31)):
        register(
            Case(
                name=f"few-rows-{leaves}-leaves{task}{kind}",
                title=f"boosting of trees of {leaves} leaves, few rows, 100 rounds, p = 20",
                data=data,
                **judged,
                params={**ROUNDS, "max_leaf_nodes": leaves, "n_test": 5_000, "threads": 1},
                quick={**QUICK, "n": (500,)},
                vary={"n": FEW_ROWS},
                sides=sides,
                run=fit,
                limit=0.8,
                runs=3,
            )
        )


def many_classes(data, n_estimators, learning_rate, max_leaf_nodes, threads):
    from sklearn_ensemble_theory import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(
        max_iter=n_estimators,
        learning_rate=learning_rate,
        max_leaf_nodes=max_leaf_nodes,
        early_stopping=False,
    )


for kind, data, n_rounds in (("ten", ten_classes, 100), ("hundred", hundred_classes, 20)):
    register(
        Case(
            name=f"many-classes-{kind}",
            title=f"boosting of the second order, {kind} classes, 31 leaves, n = 20,000, p = 20",
            data=data,
            **ERROR,
            params={
                **ROUNDS,
                "n": 20_000,
                "n_estimators": n_rounds,
                "max_leaf_nodes": 31,
                "n_test": 20_000,
                "threads": 1,
            },
            quick={**QUICK, "n": 5_000, "n_estimators": 2},
            sides={
                "ours": many_classes,
                "hist-gradient-boosting": scikit_learn(
                    "HistGradientBoostingClassifier", min_samples_leaf=20
                ),
                # Without a least curvature it fails.
                "lightgbm": lightgbm("LGBMClassifier", min_child_samples=20, min_child_weight=1e-3),
            },
            run=fit,
            limit=0.8,
            quality_ratio=1.02,
            runs=3,
        )
    )


def stamps(seed, n, p, n_test):
    """Seconds since 1970 with a wave of five hours, and one of 40 identifiers above 10^9."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n + n_test, p))
    seconds = 5 * rng.permutation(n + n_test)
    who = rng.integers(0, 40, n + n_test)
    mean = np.sin(2 * np.pi * seconds / 18_000) + rng.standard_normal(40)[who] + X[:, 2]
    X[:, 0], X[:, 1] = 1.7e9 + seconds, 1e9 + who
    data = split(X, mean + 0.3 * rng.standard_normal(n + n_test), n)
    data.y_test = mean[n:]
    return data


register(
    Case(
        name="timestamps",
        title="boosting with timestamps and identifiers, 31 leaves, n = 20,000, p = 10",
        data=stamps,
        **MSE,
        params={
            **ROUNDS,
            "n": 20_000,
            "p": 10,
            "max_leaf_nodes": 31,
            "n_test": 5_000,
            "threads": 1,
        },
        quick={**QUICK, "n": 1_000},
        sides=squared_loss,
        run=fit,
        limit=0.8,
        quality_ratio=1.1,
        runs=3,
    )
)

LOSSES = {
    "logistic": {
        "sides": classifiers(),
        "quality": held_out_log_loss,
        "metric": "test log-loss",
    },
    "logistic-second-order": {
        "sides": classifiers(step="newton"),
        "quality": held_out_log_loss,
        "metric": "test log-loss",
    },
    "quantile": {
        "sides": {
            "ours": boosted("GradientBoostingRegressor", quantile_loss),
            "hist-gradient-boosting": scikit_learn("HistGradientBoostingRegressor"),
            "lightgbm": lightgbm("LGBMRegressor", objective="quantile", alpha=QUANTILE),
            "xgboost": xgboost(
                "XGBRegressor", objective="reg:quantileerror", quantile_alpha=QUANTILE
            ),
        },
        "quality": held_out_pinball,
        "metric": "test pinball loss",
    },
    "user-loss": {
        "sides": {
            "ours": boosted("GradientBoostingClassifier", loss_of_a_user),
            "hist-gradient-boosting": scikit_learn("HistGradientBoostingClassifier"),
        },
        "quality": held_out_log_loss,
        "metric": "test log-loss",
    },
}
OPTIONS = {"quantile": {"loss": "quantile", "quantile": QUANTILE}}
TITLES = {
    "logistic": "logistic loss",
    "logistic-second-order": "logistic loss, second order",
    "quantile": "loss of the 0.9 quantile",
    "user-loss": "a loss written in NumPy, compared with the logistic loss of the peer",
}
for loss, fields in LOSSES.items():
    real = loss == "quantile"
    for kind, data in (
        (EASY, friedman1 if real else two_classes),
        (HARD, long_tails if real else two_long_tailed_classes),
    ):
        register(
            Case(
                name=f"gradient-boosting-{loss}{kind}",
                title=f"gradient boosting of trees of depth 3: {TITLES[loss]}, n = 100,000",
                data=data,
                **fields,
                params={**ROUNDS, **DEPTH, "threads": 1, **OPTIONS.get(loss, {})},
                quick=QUICK,
                run=fit,
                limit={"hist-gradient-boosting": 1.0},
                quality_ratio={"hist-gradient-boosting": SAME_ERROR},
            )
        )

register(
    Case(
        name="gradient-boosting-memory",
        title="peak memory of gradient boosting beside X: codes and 64 bytes a row, n = 1,000,000",
        data=friedman1,
        **MSE,
        params={**ROUNDS, **DEPTH, "n": SIZES[1], "n_estimators": 10, "threads": 1},
        quick=QUICK,
        sides={side: imported_before(setup) for side, setup in squared_loss.items()},
        run=fit,
        memory_limit=SIZES[1] * (20 + 64) / 2**20,
        runs=1,
    )
)

# --- forests ----------------------------------------------------------------------------------

TREES = {"n": 20_000, "p": 20, "n_test": 20_000, "n_estimators": 100}
TASKS = {
    "regressor": (friedman1, long_tails_without_missing, MSE),
    "classifier": (
        two_classes,
        two_long_tailed_classes_without_missing,
        {"quality": held_out_error, "metric": "test error"},
    ),
}
# The cuts of extremely randomised trees need no sorted columns, so that bins save less time; the
# test error on uniform columns is larger, and smaller on others.
FORESTS = {
    "random-forest": (
        "RandomForest",
        {
            "limit": {"scikit-learn": 0.22, "scikit-learn-intelex": 0.6},
            "quality_ratio": 1.01,
        },
    ),
    "extra-trees": (
        "ExtraTrees",
        {"limit": {"scikit-learn": 1.1}, "quality_ratio": {"scikit-learn": 1.04}},
    ),
}
for (forest_name, (prefix, required)), (task, (easy, hard, judged)) in product(
    FORESTS.items(), TASKS.items()
):
    for kind, data, threads, sizes in (
        ("", easy, 1, (20_000, 100_000)),
        ("-long-tails", hard, 1, (20_000, 100_000)),
        ("-two-threads", easy, 2, (20_000,)),
    ):
        register(
            Case(
                name=f"{forest_name}-{task}{kind}",
                title=f"{forest_name.replace('-', ' ')} of 100 full trees, {task}, p = 20, "
                f"{threads} thread{'s' * (threads > 1)}",
                data=data,
                **judged,
                params={**TREES, "threads": threads},
                quick={**QUICK, "n": (1_000, 2_000)},
                vary={"n": sizes},
                sides=forest(prefix + task.capitalize()),
                run=fit,
                **required,
                runs=1,
            )
        )

# Few rows: trees on ranks, which are scikit-learn's.


def tied(data_of, seed, n, p, n_test):
    """The same in steps of a half of the standard deviation."""
    data = data_of(seed, n, p, n_test=n_test)
    step = data.X.std(axis=0) / 2
    data.X, data.X_test = np.round(data.X / step), np.round(data.X_test / step)
    return data


def forest_data(data_of, is_tied):
    def data(seed, n, p, n_test):
        return tied(data_of, seed, n, p, n_test) if is_tied else data_of(seed, n, p, n_test=n_test)

    return data


for (forest_name, (prefix, _)), (task, (easy, _, judged)), kind in product(
    FORESTS.items(), TASKS.items(), ("", "-tied")
):
    is_extra = forest_name == "extra-trees"
    register(
        Case(
            name=f"few-rows-{forest_name}-{task}{kind}",
            title=f"{forest_name.replace('-', ' ')} of 100 full trees, {task}, few rows, p = 20",
            data=forest_data(easy, kind == "-tied"),
            **judged,
            params={**TREES, "n_test": 5_000, "threads": 1},
            quick={**QUICK, "n": (500,)},
            vary={"n": (500, 2_000, 9_000)},
            sides=forest(prefix + task.capitalize()),
            run=fit,
            limit={"scikit-learn": 0.65 if is_extra or kind else 0.35},
            quality_ratio={"scikit-learn": 1.0001},
            runs=3,
        )
    )

# Medians: against scikit-learn's exact medians, and against our means.


def median_forest(module, criterion="absolute_error"):
    def setup(data, n_estimators, min_samples_leaf, threads, seed):
        import importlib

        cls = importlib.import_module(module).RandomForestRegressor
        return cls(
            n_estimators,
            criterion=criterion,
            min_samples_leaf=min_samples_leaf,
            n_jobs=threads,
            random_state=seed,
        )

    return setup


def held_out_absolute_error(model, data):
    return float(np.mean(np.abs(data.y_test - model.predict(data.X_test))))


for leaf, suffix in ((1, ""), (20, "-leaves-of-20-rows")):
    register(
        Case(
            name=f"random-forest-medians{suffix}",
            title=f"random forest of 10 trees by the absolute error, at least {leaf} "
            f"row{'s' * (leaf > 1)} a leaf, p = 10",
            data=friedman1,
            quality=held_out_absolute_error,
            metric="test absolute error",
            params={**TREES, "p": 10, "n_estimators": 10, "min_samples_leaf": leaf, "threads": 1},
            quick={**QUICK, "n": (1_000, 2_000)},
            vary={"n": (10_000, 100_000)},
            sides={
                "ours": median_forest("sklearn_ensemble_theory"),
                "scikit-learn": median_forest("sklearn.ensemble"),
                "ours-squared-error": median_forest("sklearn_ensemble_theory", "squared_error"),
            },
            run=fit,
            limit={"scikit-learn": 0.2, "ours-squared-error": 4.0},
            quality_ratio={"scikit-learn": 1.02},
            runs=1,
        )
    )

# --- prediction -------------------------------------------------------------------------------


def fitted(setup):
    """The model of a setup, fitted once and kept with the data."""

    def after_the_fit(data, **params):
        if not hasattr(data, "model"):
            data.model = call(setup, data, **params).fit(data.X, data.y)
        return data.model

    return after_the_fit


def predict(model, data):
    return model.predict(data.X_test)


def predict_single_rows(model, data):
    rows = [data.X_test[i : i + 1] for i in range(min(1_000, len(data.X_test)))]
    return np.concatenate([model.predict(row) for row in rows])


def mse_of_rows(prediction, data):
    return float(np.mean((data.y_test[: len(prediction)] - prediction) ** 2))


def exact_boosting(data, n_estimators, learning_rate, seed, max_depth=None, max_leaf_nodes=None):
    from sklearn.ensemble import GradientBoostingRegressor

    return GradientBoostingRegressor(
        n_estimators=n_estimators,
        learning_rate=learning_rate,
        max_depth=max_depth,
        max_leaf_nodes=max_leaf_nodes,
        random_state=seed,
    )


PREDICTION = {**ROUNDS, "n": 5_000, "threads": 1}
PREDICTING = {
    "ours": fitted(boosted("GradientBoostingRegressor")),
    "hist-gradient-boosting": fitted(scikit_learn("HistGradientBoostingRegressor")),
    "scikit-learn": fitted(exact_boosting),
    "lightgbm": fitted(lightgbm("LGBMRegressor")),
    "xgboost": fitted(xgboost("XGBRegressor")),
}
for (size, trees, shape), (name, title, n_test, run, limit) in product(
    (("", "of depth 3", DEPTH), ("31-leaves-", "of 31 leaves", LEAVES)),
    (
        ("rows", "100,000 rows", 100_000, predict, 0.5),
        ("one-row", "1,000 times one row", 2_000, predict_single_rows, 1.0),
    ),
):
    register(
        Case(
            name=f"gradient-boosting-predict-{size}{name}",
            title=f"predictions of 100 boosted trees {trees}: {title}",
            data=friedman1,
            params={**PREDICTION, **shape, "n_test": n_test},
            quick=QUICK,
            sides=PREDICTING,
            run=run,
            quality=mse_of_rows,
            metric="test MSE",
            limit=limit,
        )
    )


def error_of_rows(prediction, data):
    return float(np.mean(data.y_test[: len(prediction)] != prediction))


for (shape, depth), (name, title, n_test, run, limit) in product(
    (("shallow", 3), ("full", None)),
    (
        ("rows", "100,000 rows", 100_000, predict, 0.5),
        ("one-row", "1,000 times one row", 2_000, predict_single_rows, 1.0),
    ),
):
    register(
        Case(
            name=f"random-forest-predict-{shape}-{name}",
            title=f"predictions of 100 {shape} trees of a random forest: {title}",
            data=two_classes,
            params={**TREES, "n": 5_000, "n_test": n_test, "max_depth": depth, "threads": 1},
            quick=QUICK,
            sides={side: fitted(setup) for side, setup in forest("RandomForestClassifier").items()},
            run=run,
            quality=error_of_rows,
            metric="test error",
            limit=limit,
        )
    )

# --- files ------------------------------------------------------------------------------------


def saved(setup):
    """The pickle of a model, fitted once: without what predictions do not need, where it can be."""

    def after_the_fit(data, **params):
        if not hasattr(data, "saved"):
            model = call(setup, data, **params).fit(data.X, data.y)
            if hasattr(model, "ensemble_"):
                from sklearn_ensemble_theory.inspection import compact, forget_training_rows

                model = compact(forget_training_rows(model))
            data.saved = pickle.dumps(model)
        return data.saved

    return after_the_fit


def load_and_predict(file, data):
    return pickle.loads(file).predict(data.X_test)


def megabytes(prediction, data):
    return len(data.saved) / 1e6


for task, data in (("Regressor", friedman1), ("Classifier", two_classes)):
    register(
        Case(
            name=f"random-forest-file-{task}".lower(),
            title=f"load the compact pickle of 50 full trees, predict 2,000 rows, {task.lower()}",
            data=data,
            params={**TREES, "n_test": 2_000, "n_estimators": 50, "threads": 1},
            quick=QUICK,
            sides={side: saved(setup) for side, setup in drop_in(f"RandomForest{task}").items()},
            run=load_and_predict,
            quality=megabytes,
            metric="MB of the pickle",
            quality_ratio=0.15,
            limit=1.5,
        )
    )
