"""Bagging, compared with scikit-learn's; random forests are in `trees`."""

import numpy as np

from cases import (
    Case,
    Side,
    drop_in,
    error_of_prediction,
    estimator,
    fit,
    fit_predict,
    friedman1,
    held_out_error,
    held_out_mse,
    register,
    split,
    two_classes,
)


def regression_tree():
    from sklearn.tree import DecisionTreeRegressor

    return DecisionTreeRegressor()


def first_fit(sides):
    """The same sides, each run without the worker processes of an earlier run.

    joblib keeps its workers for minutes; a script that fits once pays for their start.
    """

    def without_workers(setup):
        def fresh(data, **params):
            from joblib.externals.loky import get_reusable_executor

            get_reusable_executor().shutdown(wait=True)
            return setup(data, **params)

        return fresh

    return {name: without_workers(setup) for name, setup in sides.items()}


def nearest_neighbors():
    from sklearn.neighbors import KNeighborsClassifier

    return KNeighborsClassifier(n_neighbors=5)


def logistic_regression():
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression()


FULL_SIZE = {"n": 20_000, "p": 20, "n_estimators": 100, "n_jobs": 2}
QUICK = {"n": 1_000, "n_estimators": 10}
REGRESSION = {"data": friedman1, "quality": held_out_mse, "metric": "test MSE"}
CLASSIFICATION = {"data": two_classes, "quality": held_out_error, "metric": "test error"}

register(
    Case(
        name="bagged-trees-regressor",
        title="bagging of 100 full regression trees, n = 20,000, p = 20, two jobs",
        **REGRESSION,
        params=FULL_SIZE,
        quick=QUICK,
        sides=drop_in("BaggingRegressor", regression_tree),
        run=fit,
        limit=0.25,
        runs=3,
    )
)

register(
    Case(
        name="bagged-trees-first-fit",
        title="the same, including the start of joblib's workers, as in the first fit of a script",
        **REGRESSION,
        params=FULL_SIZE,
        quick=QUICK,
        sides=first_fit(drop_in("BaggingRegressor", regression_tree)),
        run=fit,
        limit=0.9,
        runs=3,
    )
)

register(
    Case(
        name="bagged-trees-classifier",
        title="bagging of 100 full classification trees, n = 20,000, p = 20, two jobs",
        **CLASSIFICATION,
        params=FULL_SIZE,
        quick=QUICK,
        sides=drop_in("BaggingClassifier"),
        run=fit,
        limit=0.25,
        runs=3,
    )
)

# Subsamples drawn without replacement: the cost should depend on the s rows drawn only.
SUBSAMPLE = {
    "n": 200_000,
    "p": 10,
    "n_estimators": 50,
    "n_jobs": 1,
    "max_samples": 2_000,
    "bootstrap": False,
}

register(
    Case(
        name="subsample-in-n",
        title="bagging of trees on subsamples of 2,000 rows of n: fit time as n grows",
        **REGRESSION,
        params=SUBSAMPLE,
        quick={"n": (4_000, 8_000), "n_estimators": 5},
        vary={"n": (25_000, 50_000, 100_000, 200_000)},
        sides=drop_in("BaggingRegressor", regression_tree),
        run=fit,
        growth_limit=0.3,
    )
)

register(
    Case(
        name="subsample-in-s",
        title="bagging of trees on subsamples of s of 200,000 rows: fit time as s grows",
        **REGRESSION,
        params=SUBSAMPLE,
        quick={"n": 8_000, "n_estimators": 5, "max_samples": (100, 1_000)},
        vary={"max_samples": (500, 2_000, 8_000)},
        sides=drop_in("BaggingRegressor", regression_tree),
        run=fit,
        runs=3,
    )
)

register(
    Case(
        name="bagged-logistic-regression",
        title="bagging of 50 logistic regressions, n = 20,000, p = 20, two jobs",
        **CLASSIFICATION,
        params={**FULL_SIZE, "n_estimators": 50},
        quick=QUICK,
        sides=drop_in("BaggingClassifier", logistic_regression),
        run=fit,
    )
)

register(
    Case(
        name="bagged-k-nearest-neighbors",
        title="bagging of 20 five-nearest-neighbour classifiers, fit and predict 1,000 rows",
        data=two_classes,
        params={"n": 20_000, "p": 6, "n_test": 1_000, "n_estimators": 20, "n_jobs": 2},
        quick={"n": 1_000, "n_estimators": 5},
        sides=drop_in("BaggingClassifier", nearest_neighbors),
        run=fit_predict,
        quality=error_of_prediction,
        metric="test error",
    )
)

# --- rows that belong together ----------------------------------------------------------------


def visits(seed, n, p, per_patient, n_test=2_000):
    """Rows of patients, with an effect of the patient on the features and on the target."""
    rng = np.random.default_rng(seed)
    patients = -(-(n + n_test * per_patient) // per_patient)
    groups = np.repeat(np.arange(patients), per_patient)
    X = rng.standard_normal((patients, p))[groups]
    X += 0.1 * rng.standard_normal(X.shape)
    y = X[:, 0] + rng.standard_normal(patients)[groups]
    data = split(X, y, n)
    data.groups = groups[:n]
    return data


def optimism(model, data):
    """How far the out-of-bag error is from the error for new patients, as a share of it."""
    out_of_bag = np.nanmean((model.oob_prediction_ - data.y) ** 2)
    return float(abs(1 - out_of_bag / held_out_mse(model, data)))


register(
    Case(
        name="bagging-of-groups",
        title="bagging of 100 regression trees, out-of-bag error, 2,000 patients, 5 rows each",
        data=visits,
        params={
            "n": 10_000,
            "p": 5,
            "per_patient": 5,
            "n_estimators": 100,
            "n_jobs": 2,
            "oob_score": True,
        },
        quick={"n": 500, "n_estimators": 20},
        sides={
            "ours": Side(
                estimator("sklearn_ensemble_theory", "BaggingRegressor", regression_tree),
                run=lambda model, data: model.fit(data.X, data.y, groups=data.groups),
            ),
            "scikit-learn": estimator("sklearn.ensemble", "BaggingRegressor", regression_tree),
        },
        run=fit,
        quality=optimism,
        metric="relative error of the out-of-bag error",
        limit=1.0,
        runs=3,
    )
)
