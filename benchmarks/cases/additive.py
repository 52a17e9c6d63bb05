"""Additive models of boosted stumps, with and without pairs of features, compared with the
Explainable Boosting Machine of interpret-core, and with LightGBM and XGBoost at depth 1."""

from dataclasses import dataclass, replace

import numpy as np

from cases import (
    Case,
    Side,
    call,
    estimator,
    fit,
    friedman1,
    held_out_error,
    held_out_mse,
    register,
    split,
    two_classes,
)
from cases._additive_data import (
    additive,
    additive_classes,
    additive_classes_long_tails,
    additive_long_tails,
    friedman1_means,
    long_tailed_labels,
    many_squares,
    pairs_long_tails,
    real,
)

# --- sides ------------------------------------------------------------------------------------


def ours(name, **given):
    """A setup of our class, cross-validated, with other parameters than the defaults if given."""

    def setup(data, interactions=0):
        import sklearn_ensemble_theory

        pairs = {"interactions": interactions} if interactions else {}
        return getattr(sklearn_ensemble_theory, name)(n_estimators="cv", **pairs, **given)

    return setup


def logit_boost(data, n_rounds, learning_rate):
    from sklearn_ensemble_theory import LogitBoostClassifier

    # Within a stage the second derivatives are a little too large and the rounds a little short.
    return LogitBoostClassifier(
        round(1.15 * n_rounds), learning_rate=learning_rate, smoothing_rounds=0, interactions=0
    )


def with_memory(memory, setup):
    """The same setup with so many MiB of working memory."""

    def in_less_memory(data, **params):
        import sklearn

        sklearn.set_config(working_memory=memory)
        return call(setup, data, **params)

    return in_less_memory


def imported_before(setup):
    """The same setup after a fit to few rows, whose imports need memory too."""

    def after_a_fit(data, **params):
        call(setup, data, **params).fit(data.X[:500, :20], data.y[:500])
        return call(setup, data, **params)

    return after_a_fit


def ebm(name):
    """A setup of EBM with its default parameters, except that pairs are asked for by the case."""

    def setup(data, threads, seed, interactions=0):
        from interpret import glassbox

        cls = getattr(glassbox, name)
        return cls(interactions=interactions, n_jobs=threads, random_state=seed)

    return setup


def ebm_with_default_pairs(name):
    def setup(data, threads, seed):
        from interpret import glassbox

        return getattr(glassbox, name)(n_jobs=threads, random_state=seed)

    return setup


def lightgbm(data, n_rounds, learning_rate, threads):
    from lightgbm import LGBMClassifier

    return LGBMClassifier(
        n_estimators=n_rounds,
        learning_rate=learning_rate,
        num_leaves=2,
        max_depth=1,
        min_child_samples=1,
        min_child_weight=0,
        n_jobs=threads,
        verbose=-1,
    )


def xgboost(data, n_rounds, learning_rate, threads):
    from xgboost import XGBClassifier

    return XGBClassifier(
        n_estimators=n_rounds,
        learning_rate=learning_rate,
        tree_method="hist",
        max_depth=1,
        min_child_weight=0,
        reg_lambda=0,
        n_jobs=threads,
    )


# --- quality ----------------------------------------------------------------------------------


def clipped(probability):
    return np.clip(np.asarray(probability, dtype=float), 1e-15, 1 - 1e-15)


def excess_log_loss(model, data):
    """The mean over the test rows of the divergence of the fitted from the true probability."""
    true, fitted = clipped(data.y_test), clipped(model.predict_proba(data.X_test)[:, 1])
    each = true * np.log(true / fitted) + (1 - true) * np.log((1 - true) / (1 - fitted))
    return float(each.mean())


def held_out_log_loss(model, data):
    fitted = clipped(model.predict_proba(data.X_test)[:, 1])
    return float(-np.where(data.y_test == 1, np.log(fitted), np.log1p(-fitted)).mean())


@dataclass(frozen=True)
class Task:
    """The classes of both sides, two kinds of data, and what the models are judged by."""

    ours: str
    ebm: str
    data: tuple
    judged: dict
    interactions: int = 0

    def register(self, name, title, **fields):
        """A case with each kind of data."""
        pairs = f" with {self.interactions} pairs" if self.interactions else ""
        fields["params"] = {**fields["params"], "interactions": self.interactions}
        title = f"additive model{pairs}, {title}"
        register_twice(name, *self.data, title=title, **self.judged, **fields)


def register_twice(name, easy, hard, title, **fields):
    register(Case(name=name, title=title, data=easy, run=fit, **fields))
    title = f"{title}, long-tailed features"
    register(Case(name=f"{name}-long-tails", title=title, data=hard, run=fit, **fields))


REGRESSION = Task(
    "L2BoostingRegressor",
    "ExplainableBoostingRegressor",
    (additive, additive_long_tails),
    {"quality": held_out_mse, "metric": "excess MSE"},
)
CLASSES = Task(
    "LogitBoostClassifier",
    "ExplainableBoostingClassifier",
    (additive_classes, additive_classes_long_tails),
    {"quality": excess_log_loss, "metric": "excess log-loss"},
)
PAIRS = replace(REGRESSION, data=(friedman1_means, pairs_long_tails), interactions=10)

QUICK = {"n": 500, "n_test": 1_000}
TEST_ROWS = 50_000

# --- the whole method, compared with EBM ------------------------------------------------------

for name, task, n, times in (
    ("additive-regression", REGRESSION, 50_000, 12),
    ("additive-regression-large", REGRESSION, 500_000, 40),
    ("additive-classes", CLASSES, 20_000, 6),
    ("additive-classes-large", CLASSES, 200_000, 20),
    ("additive-pairs", PAIRS, 50_000, 40),
):
    task.register(
        name,
        f"n = {n:,}, p = 20",
        params={"n": n, "p": 20, "n_test": TEST_ROWS, "threads": 1},
        quick=QUICK,
        sides={"ours": ours(task.ours), "EBM": Side(ebm(task.ebm), warm_up=False)},
        limit=1 / times,
        quality_ratio=1.0,
        runs=1,  # EBM needs a minute or many
        by_name=name.endswith("-large"),
    )

# --- one fit with given rounds ----------------------------------------------------------------

for name, n in (("", 100_000), ("-large", 1_000_000)):
    register_twice(
        f"logit-boost{name}",
        many_squares,
        long_tailed_labels,
        title=f"LogitBoost with stumps to the log-loss of 10,000 rounds at 0.01, n = {n:,}, p = 20",
        quality=held_out_log_loss,
        metric="test log-loss",
        params={
            "n": n,
            "p": 20,
            "n_test": 100_000,
            "n_rounds": 10_000,
            "learning_rate": 0.01,
            "threads": 1,
        },
        quick={**QUICK, "n_rounds": 50},
        sides={
            "ours": logit_boost,
            "LightGBM": Side(lightgbm, warm_up=False),
            "XGBoost": Side(xgboost, warm_up=False),
        },
        limit=1 / 60,
        quality_margin=0.0005,
        runs=1,
        by_name=name == "-large",
    )

# --- few rows: the defaults of both sides ------------------------------------------------------


def lightgbm_default(name):
    def setup(data, threads):
        import lightgbm

        return getattr(lightgbm, name)(n_jobs=threads, verbose=-1)

    return setup


def ten_classes(seed, n, p, n_test):
    """Normal rows about ten centres in the first half of the features."""
    rng = np.random.default_rng(seed)
    centres = np.zeros((10, p))
    centres[:, : p // 2] = rng.standard_normal((10, p // 2))
    y = rng.integers(10, size=n + n_test)
    return split(centres[y] + 1.5 * rng.standard_normal((n + n_test, p)), y, n)


for name, ours_, peer, data, noise in (
    ("regression", "L2BoostingRegressor", "LGBMRegressor", friedman1, 1.0),
    ("regression-noisy", "L2BoostingRegressor", "LGBMRegressor", friedman1, 8.0),
    ("classes", "LogitBoostClassifier", "LGBMClassifier", two_classes, 4.0),
):
    is_regression = peer == "LGBMRegressor"
    register(
        Case(
            name=f"additive-small-{name}",
            title=f"defaults for few rows, p = 10, {name.replace('-', ', ')}",
            data=data,
            params={"n": 500, "p": 10, "noise": noise, "n_test": 2_000, "threads": 1},
            quick={"n": (50,)},
            vary={"n": (50, 500, 2_000)},
            sides={
                "ours": estimator("sklearn_ensemble_theory", ours_),
                "LightGBM": lightgbm_default(peer),
            },
            run=fit,
            quality=held_out_mse if is_regression else held_out_error,
            metric="test MSE" if is_regression else "test error",
            seconds_limit=0.5,
        )
    )

for name, ours_, peer, data, n, p, judge, metric in (
    (
        *("features", "L2BoostingRegressor", "LGBMRegressor", friedman1),
        *(500, 300, held_out_mse, "test MSE"),
    ),
    (
        *("ten-classes", "LogitBoostClassifier", "LGBMClassifier", ten_classes),
        *(2_000, 20, held_out_error, "test error"),
    ),
):
    register(
        Case(
            name=f"additive-small-{name}",
            title=f"defaults for few rows, n = {n:,}, p = {p}, {name.replace('-', ' ')}",
            data=data,
            params={"n": n, "p": p, "n_test": 2_000, "threads": 1},
            quick={"n": 200},
            sides={
                "ours": imported_before(estimator("sklearn_ensemble_theory", ours_)),
                "LightGBM": lightgbm_default(peer),
            },
            run=fit,
            quality=judge,
            metric=metric,
            limit=1.5,
            memory_limit=400,
        )
    )

# --- many rows, many features -----------------------------------------------------------------


def twice_x(n, p, itemsize=8):
    """Twice the memory of X, in MiB."""
    return 2 * n * p * itemsize / 2**20


PAIRS.register(
    "additive-pairs-alone",
    "n = 1,000,000, p = 20, 256 MiB of working memory",
    params={"n": 1_000_000, "p": 20, "n_test": TEST_ROWS, "threads": 1},
    quick=QUICK,
    sides={"ours": imported_before(with_memory(256, ours(PAIRS.ours)))},
    seconds_limit=20,
    memory_limit=twice_x(1_000_000, 20),
    runs=3,
)

REGRESSION.register(
    "additive-huge",
    "n = 10,000,000, p = 50, X of 2 GB in single precision",
    params={"n": 10_000_000, "p": 50, "n_test": TEST_ROWS, "dtype": "float32"},
    quick=QUICK,
    sides={"ours": Side(imported_before(ours(REGRESSION.ours)), warm_up=False)},
    seconds_limit=240,
    memory_limit=twice_x(10_000_000, 50, 4),
    runs=1,
    by_name=True,
)

for name, task in (("additive-wide", REGRESSION), ("additive-wide-classes", CLASSES)):
    task.register(
        name,
        "n = 500, p = 10,000, X of 40 MB, learning rate 0.1",
        params={"n": 500, "p": 10_000, "n_test": 2_000, "threads": 1},
        quick={"n": 100, "p": 200, "n_test": 100},
        sides={"ours": imported_before(ours(task.ours, learning_rate=0.1))},
        seconds_limit=60,
        memory_limit=1e9 / 2**20,
        runs=1,
    )

# --- real data --------------------------------------------------------------------------------


def fits(model, splits):
    """A fitted model for each split."""
    from sklearn.base import clone

    return [clone(model).fit(split.X, split.y) for split in splits]


def mean_of(quality):
    def mean_over_splits(models, splits):
        return float(np.mean([quality(model, split) for model, split in zip(models, splits)]))

    return mean_over_splits


for name, task, judge, metric in (
    ("diabetes", REGRESSION, held_out_mse, "test MSE"),
    ("wine", CLASSES, held_out_log_loss, "test log-loss"),
    ("breast_cancer", CLASSES, held_out_log_loss, "test log-loss"),
    ("digits", CLASSES, held_out_log_loss, "test log-loss"),
):
    common = {
        "data": real,
        "quality": mean_of(judge),
        "metric": metric,
        "quick": {"n_splits": 1},
        "run": fits,
        "runs": 1,
    }
    params = {"name": name, "n_splits": 20, "threads": 1}
    label = f"additive-{name.replace('_', '-')}"
    register(
        Case(
            name=label,
            title=f"additive models of 20 random splits of {name}",
            params=params,
            sides={"ours": ours(task.ours), "EBM": Side(ebm(task.ebm), warm_up=False)},
            quality_ratio=1.0,
            **common,
        )
    )
    register(
        Case(
            name=f"{label}-pairs",
            title=f"with 10 pairs, for EBM with its default of 5 pairs a feature, {name}",
            params={**params, "interactions": 10},
            sides={
                "ours": ours(task.ours),
                "EBM": Side(ebm_with_default_pairs(task.ebm), warm_up=False),
            },
            by_name=True,  # EBM needs a minute a split, and more for many features
            **common,
        )
    )
