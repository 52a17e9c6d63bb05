"""Hierarchical shrinkage of a forest and MDI+: their time beside that of the fit, and a peer."""

import numpy as np

from cases import Case, Side, friedman1, register

GRID = [0, 0.1, 1, 10, 50, 100, 500]


def forest(data, n_estimators, seed):
    from sklearn_ensemble_theory import RandomForestRegressor, inspection  # noqa: F401

    return RandomForestRegressor(n_estimators, max_bins=None, random_state=seed)


def peer(data, n_estimators, seed):
    from imodels import HSTreeRegressorCV
    from sklearn.ensemble import RandomForestRegressor

    model = RandomForestRegressor(n_estimators, random_state=seed)
    return HSTreeRegressorCV(model, reg_param_list=GRID, cv=3)


def shrunk(model, data):
    from sklearn_ensemble_theory.inspection import shrink

    return shrink(model.fit(data.X, data.y), "cv", reg_params=GRID)


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


# --- importances by the same regressions ----------------------------------------------------------

TREES = {"n_estimators": 100, "min_samples_leaf": 5, "max_features": 1 / 3, "random_state": 0}


def mdi_plus(data):
    from sklearn_ensemble_theory import RandomForestRegressor
    from sklearn_ensemble_theory.inspection import mdi_plus_importances

    def importances(data):
        forest = RandomForestRegressor(**TREES).fit(data.X, data.y)
        return mdi_plus_importances(forest).importances_mean

    return importances


def mdi_plus_of_peer(data):
    from imodels.importance.rf_plus import RandomForestPlusRegressor
    from sklearn.ensemble import RandomForestRegressor

    def importances(data):
        model = RandomForestPlusRegressor(RandomForestRegressor(**TREES))
        model.fit(data.X, data.y)  # which returns nothing
        table = model.get_mdi_plus_scores(data.X, data.y)
        return table.sort_values("var")["importance"].to_numpy()

    return importances


def ranking(found, data):
    """The area under the ROC curve of the features that y depends on, the first five."""
    from sklearn.metrics import roc_auc_score

    return roc_auc_score(np.arange(len(found)) < 5, found)


register(
    Case(
        name="mdi-plus",
        title="fit of a forest and its MDI+ importances, 30 features, much noise",
        data=friedman1,
        params={"n": 500, "p": 30, "noise": 10.0, "n_test": 10, "threads": 1},
        quick={"n": 100},
        sides={
            "ours": mdi_plus,
            "imodels": mdi_plus_of_peer,
        },
        run=lambda importances, data: importances(data),
        quality=ranking,
        metric="ROC area",
        higher_is_better=True,
        limit=0.5,
        runs=3,
    )
)
