"""Trees of columns with categories: mostly 20 columns, of which 8 have 5 to 200 categories."""

import numpy as np

from cases import Case, fit, held_out_mse, register, split

N_CATEGORIES = (5, 10, 20, 30, 50, 100, 150, 200)
CATEGORICAL = list(range(len(N_CATEGORIES)))
SETTINGS = {"n_estimators": 100, "learning_rate": 0.1, "max_leaf_nodes": 31}

# --- data -------------------------------------------------------------------------------------


def shops(seed, n, p, n_test=20_000, n_categories=N_CATEGORIES):
    """Each category has an effect, and two numbers have others; the test targets have no noise."""
    rng = np.random.default_rng(seed)
    codes = np.column_stack([rng.integers(0, k, n + n_test) for k in n_categories])
    numbers = rng.standard_normal((n + n_test, p - len(n_categories)))
    mean = np.sin(2 * numbers[:, 0]) + numbers[:, 1] * (numbers[:, 2] > 0)
    for j, k in enumerate(n_categories):
        mean += 0.5 * rng.standard_normal(k)[codes[:, j]]
    data = split(np.column_stack([codes, numbers]), mean + rng.standard_normal(n + n_test), n)
    data.y_test, data.categorical = mean[n:], CATEGORICAL
    return data


def large_shops(seed, n, p, n_test=20_000):
    """All columns of categories have 200."""
    return shops(seed, n, p, n_test, [200] * len(N_CATEGORIES))


def shops_of_outputs(seed, n, n_categories, n_outputs, n_test=20_000):
    """Three columns of as many categories, then five of numbers, and several targets."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, n_categories, (n + n_test, 3))
    numbers = rng.standard_normal((n + n_test, 5))
    mean = np.outer(np.sin(2 * numbers[:, 0]), rng.standard_normal(n_outputs)) + numbers[:, 1:2]
    for column in codes.T:
        mean += 0.5 * rng.standard_normal((n_categories, n_outputs))[column]
    data = split(np.column_stack([codes, numbers]), mean + rng.standard_normal(mean.shape), n)
    data.y_test, data.categorical = mean[n:], [0, 1, 2]
    return data


# --- sides ------------------------------------------------------------------------------------


def boosting(data, n_estimators, learning_rate, max_leaf_nodes, threads, seed):
    from sklearn_ensemble_theory import GradientBoostingRegressor

    return GradientBoostingRegressor(
        n_estimators=n_estimators,
        learning_rate=learning_rate,
        max_depth=None,
        max_leaf_nodes=max_leaf_nodes,
        min_samples_leaf=20,
        categorical_features=CATEGORICAL,
        n_jobs=threads,
        random_state=seed,
    )


def hist_gradient_boosting(data, n_estimators, learning_rate, max_leaf_nodes, seed):
    from sklearn.ensemble import HistGradientBoostingRegressor

    return HistGradientBoostingRegressor(
        max_iter=n_estimators,
        learning_rate=learning_rate,
        max_leaf_nodes=max_leaf_nodes,
        categorical_features=CATEGORICAL,
        early_stopping=False,
        random_state=seed,
    )


class LightGBM:
    """LightGBM, which is told by `fit` which columns have categories."""

    def __init__(self, **params):
        from lightgbm import LGBMRegressor

        self.model = LGBMRegressor(**params, verbose=-1)

    def fit(self, X, y):
        self.model.fit(X, y, categorical_feature=CATEGORICAL)
        return self

    def predict(self, X):
        return self.model.predict(X)


def lightgbm(data, n_estimators, learning_rate, max_leaf_nodes, threads, seed):
    return LightGBM(
        n_estimators=n_estimators,
        learning_rate=learning_rate,
        num_leaves=max_leaf_nodes,
        n_jobs=threads,
        random_state=seed,
    )


def xgboost(data, n_estimators, learning_rate, max_leaf_nodes, threads, seed):
    from xgboost import XGBRegressor

    types = ["c" if j in CATEGORICAL else "q" for j in range(data.X.shape[1])]
    return XGBRegressor(
        n_estimators=n_estimators,
        learning_rate=learning_rate,
        max_depth=0,
        max_leaves=max_leaf_nodes,
        grow_policy="lossguide",
        feature_types=types,
        enable_categorical=True,
        n_jobs=threads,
        random_state=seed,
    )


class CatBoost:
    """CatBoost, which takes categories as whole numbers in a frame."""

    def __init__(self, **params):
        from catboost import CatBoostRegressor

        self.model = CatBoostRegressor(
            cat_features=CATEGORICAL, verbose=False, allow_writing_files=False, **params
        )

    @staticmethod
    def frame(X):
        import pandas as pd

        return pd.DataFrame(X).astype(dict.fromkeys(CATEGORICAL, int))

    def fit(self, X, y):
        self.model.fit(self.frame(X), y)
        return self

    def predict(self, X):
        return self.model.predict(self.frame(X))


def catboost(data, n_estimators, learning_rate, max_leaf_nodes, threads, seed):
    # Its own trees are symmetric, of depth 6: those of 31 leaves are slower there, and no better.
    return CatBoost(
        n_estimators=n_estimators,
        learning_rate=learning_rate,
        thread_count=threads,
        random_seed=seed,
    )


def forest(data, n_estimators, threads, seed):
    from sklearn_ensemble_theory import RandomForestRegressor

    return RandomForestRegressor(
        n_estimators=n_estimators,
        categorical_features=data.categorical,
        n_jobs=threads,
        random_state=seed,
    )


def forest_of_dummies(data, n_estimators, threads, seed):
    from sklearn.compose import make_column_transformer
    from sklearn.ensemble import RandomForestRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    dummies = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    encoder = make_column_transformer((dummies, data.categorical), remainder="passthrough")
    model = RandomForestRegressor(n_estimators, n_jobs=threads, random_state=seed)
    return make_pipeline(encoder, model)


# --- cases ------------------------------------------------------------------------------------

for name, levels, data, sizes in (
    ("categories", "5 to 200", shops, (100_000,)),
    ("200-levels", "200", large_shops, (20_000, 100_000)),
):
    register(
        Case(
            name=f"gradient-boosting-{name}",
            title=f"gradient boosting of 8 columns of {levels} categories and 12 of numbers, "
            "100 rounds of 31 leaves",
            data=data,
            params={"n": 100_000, "p": 20, **SETTINGS, "threads": 1},
            quick={"n": (2_000,), "n_estimators": 10},
            vary={"n": sizes},
            sides={
                "ours": boosting,
                "hist-gradient-boosting": hist_gradient_boosting,
                "LightGBM": lightgbm,
                "XGBoost": xgboost,
                "CatBoost": catboost,
            },
            run=fit,
            quality=held_out_mse,
            metric="test MSE",
            limit=0.8,
            quality_ratio=1.01,
            runs=3,
        )
    )

register(
    Case(
        name="forest-categories",
        title="random forest of the same columns, n = 10,000, 10 trees; one-hot columns there",
        data=shops,
        params={"n": 10_000, "p": 20, "n_estimators": 10, "threads": 1},
        quick={"n": 500, "n_estimators": 2},
        sides={"ours": forest, "scikit-learn": forest_of_dummies},
        run=fit,
        quality=held_out_mse,
        metric="test MSE",
        limit=0.25,
        quality_ratio=1.0,
        runs=3,
    )
)

for levels, q in ((10, 2), (10, 5), (60, 2), (60, 5)):
    register(
        Case(
            name=f"forest-{levels}-levels-{q}-outputs",
            title=f"random forest of 3 columns of {levels} categories and 5 of numbers, {q} "
            "outputs, 10 trees; one-hot columns there",
            data=shops_of_outputs,
            params={
                "n": 20_000,
                "n_categories": levels,
                "n_outputs": q,
                "n_estimators": 10,
                "threads": 1,
            },
            quick={"n": (500,), "n_estimators": 2},
            vary={"n": (2_000, 20_000)},
            sides={"ours": forest, "scikit-learn": forest_of_dummies},
            run=fit,
            quality=held_out_mse,
            metric="test MSE",
            limit=1.0,
            runs=3,
        )
    )
