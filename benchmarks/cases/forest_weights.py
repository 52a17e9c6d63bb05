"""Weights of the training rows by a forest, and proximities: their time beside predictions."""

from types import SimpleNamespace

import numpy as np

from cases import Case, Side, friedman1, register

SIZE = {"n": 20_000, "p": 10, "n_test": 2_000, "n_estimators": 200, "n_jobs": 1, "threads": 1}
QUICK = {"n": 500, "n_test": 100, "n_estimators": 20}
# A forest takes longer to fit than to answer, and only its answers are timed.
FITTED = {}


def weights(model, data):
    from sklearn_ensemble_theory.inspection import training_weights

    return training_weights(model, data.X_test)


def proximities(model, data):
    from sklearn_ensemble_theory.inspection import proximity

    return proximity(model, data.X_test)


def forest(data, n_estimators, min_samples_leaf, n_jobs, seed):
    """A fitted forest, whose training rows are in their leaves."""
    from sklearn_ensemble_theory import RandomForestRegressor

    key = "ours", min_samples_leaf
    if key not in FITTED:
        model = RandomForestRegressor(
            n_estimators, min_samples_leaf=min_samples_leaf, n_jobs=-1, random_state=seed
        )
        FITTED[key] = model.fit(data.X, data.y)
        model.predict(data.X_test)
        for measured in (weights, proximities):
            measured(model, SimpleNamespace(X_test=data.X_test[:2]))
    FITTED[key].n_jobs = n_jobs
    return FITTED[key]


def scikit_learn_forest(data, n_estimators, min_samples_leaf, n_jobs, seed):
    """scikit-learn's forest, and the leaves of its training rows."""
    from sklearn.ensemble import RandomForestRegressor

    key = "scikit-learn", min_samples_leaf
    if key not in FITTED:
        model = RandomForestRegressor(
            n_estimators, min_samples_leaf=min_samples_leaf, n_jobs=-1, random_state=seed
        )
        model.fit(data.X, data.y)
        FITTED[key] = model, model.apply(data.X)
    FITTED[key][0].n_jobs = n_jobs
    return FITTED[key]


def compared_leaves(fitted, data):
    """The loop that is usually written: a row of shares at a time, as a dense matrix."""
    model, leaves = fitted
    found = np.empty((len(data.X_test), len(leaves)), dtype=np.float32)
    for j, row in enumerate(model.apply(data.X_test)):
        found[j] = (leaves == row).mean(axis=1)
    return found


def quantile_forest(data, n_estimators, min_samples_leaf, n_jobs, seed):
    from quantile_forest import RandomForestQuantileRegressor

    key = "quantile-forest", min_samples_leaf
    if key not in FITTED:
        model = RandomForestQuantileRegressor(
            n_estimators,
            min_samples_leaf=min_samples_leaf,
            max_samples_leaf=None,
            n_jobs=-1,
            random_state=seed,
        )
        FITTED[key] = model.fit(data.X, data.y)
    FITTED[key].n_jobs = n_jobs
    return FITTED[key]


register(
    Case(
        name="training-weights",
        title="weights of 20,000 training rows for 2,000 rows, beside predictions",
        data=friedman1,
        params={**SIZE, "min_samples_leaf": 5},
        quick=QUICK,
        vary={"min_samples_leaf": (1, 5, 20)},
        sides={
            "ours": forest,
            "predict": Side(forest, run=lambda model, data: model.predict(data.X_test)),
        },
        run=weights,
    )
)

register(
    Case(
        name="proximities",
        title="proximities of 2,000 rows to 20,000 training rows",
        data=friedman1,
        params={**SIZE, "min_samples_leaf": 5},
        quick=QUICK,
        sides={
            "ours": forest,
            "scikit-learn's leaves": Side(scikit_learn_forest, run=compared_leaves),
            "quantile-forest": Side(
                quantile_forest, run=lambda model, data: model.proximity_counts(data.X_test)
            ),
        },
        run=proximities,
        limit=1.0,
        runs=3,
    )
)
