"""Hierarchical shrinkage of a forest, its parameter among seven, beside the fit alone."""

import numpy as np

from cases import Case, Side, friedman1, register

GRID = [0, 0.1, 1, 10, 50, 100, 500]


def forest(data, n_estimators, seed):
    from sklearn_ensemble_theory import RandomForestRegressor

    return RandomForestRegressor(n_estimators, max_bins=None, random_state=seed)


def peer(data, n_estimators, seed):
    from imodels import HSTreeRegressorCV
    from sklearn.ensemble import RandomForestRegressor

    model = RandomForestRegressor(n_estimators, random_state=seed)
    return HSTreeRegressorCV(model, reg_param_list=GRID, cv=3)


def shrunk(model, data):
    return model.fit(data.X, data.y).shrink("cv", reg_params=GRID)


def error(model, data):
    return float(np.mean((model.predict(data.X_test) - data.y_test) ** 2))


register(
    Case(
        name="shrinkage",
        title="fit of a forest and the choice of its hierarchical shrinkage",
        data=friedman1,
        params={"n": 5_000, "p": 10, "n_test": 2_000, "n_estimators": 10, "threads": 1},
        quick={"n": 500, "n_test": 200},
        sides={
            "ours": Side(forest, run=shrunk),
            "fit alone": forest,
            "imodels": peer,
        },
        run=lambda model, data: model.fit(data.X, data.y),
        quality=error,
        metric="squared error",
        limit={"fit alone": 1.5, "imodels": 0.2},
        runs=3,
    )
)
