"""Boosting and forests of a sparse X, compared with LightGBM and with scikit-learn's forests."""

import numpy as np

from cases import (
    Case,
    call,
    drop_in,
    estimator,
    fit,
    held_out_mse,
    mse_of_prediction,
    register,
    split,
)
from cases._histogram_peers import lightgbm


def thin_rows(seed, n, p, density, n_test=2_000):
    """Exponential values at random places; the target is linear in a fifth of the columns."""
    import scipy.sparse as sp

    rng = np.random.default_rng(seed)
    m = int((n + n_test) * p * density)
    place = rng.integers(0, n + n_test, m), rng.integers(0, p, m)
    X = sp.csr_matrix((rng.exponential(size=m), place), shape=(n + n_test, p))
    y = X[:, : p // 5] @ rng.standard_normal(p // 5) + 0.5 * rng.standard_normal(n + n_test)
    return split(X, y, n)


SHAPES = {
    "many-columns": {"n": 10_000, "p": 2_000, "density": 0.01},
    "many-rows": {"n": 50_000, "p": 500, "density": 0.05},
}
TREES = {"depth-3": {"max_depth": 3}, "31-leaves": {"max_depth": None, "max_leaf_nodes": 31}}

for shape, size in SHAPES.items():
    for trees, form in TREES.items():
        register(
            Case(
                name=f"sparse-boosting-{shape}-{trees}",
                title=f"gradient boosting of sparse X, {trees}, n = {size['n']:,}, "
                f"p = {size['p']:,}, {size['density']:.0%} stored, 100 rounds",
                data=thin_rows,
                params={**size, **form, "n_estimators": 100, "learning_rate": 0.1, "threads": 1},
                quick={"n": 500, "p": 100, "n_estimators": 5},
                sides={
                    "ours": estimator("sklearn_ensemble_theory", "GradientBoostingRegressor"),
                    "lightgbm": lightgbm("LGBMRegressor"),
                },
                run=fit,
                quality=held_out_mse,
                metric="test MSE",
                limit=1.0,
                quality_ratio=1.1,
                runs=3,
            )
        )


def fitted(setup):
    """A setup that fits the estimator too, for cases that time its predictions."""

    def setup_fitted(data, **params):
        return call(setup, data, **params).fit(data.X, data.y)

    return setup_fitted


def predictions(model, data):
    return model.predict(data.X_test)


FOREST = {**SHAPES["many-columns"], "n": 2_000, "n_test": 5_000, "threads": 1, "n_jobs": 1}
for forest in ("RandomForestRegressor", "ExtraTreesRegressor"):
    sides = drop_in(forest)
    for what, made, run, limit in (
        ("fit", sides, fit, None),
        ("predict", {side: fitted(setup) for side, setup in sides.items()}, predictions, 0.5),
    ):
        register(
            Case(
                name=f"sparse-{'forest' if 'Forest' in forest else 'extra-trees'}-{what}",
                title=f"{forest} of sparse X, {what}: 50 trees, n = 2,000, p = 2,000, 1 % stored",
                data=thin_rows,
                params={**FOREST, "n_estimators": 50, "max_features": "sqrt"},
                quick={"n": 200, "p": 100, "n_estimators": 3},
                sides=made,
                run=run,
                quality=mse_of_prediction if what == "predict" else held_out_mse,
                metric="test MSE",
                limit=limit,
                quality_ratio=1.01,
                runs=3,
            )
        )
