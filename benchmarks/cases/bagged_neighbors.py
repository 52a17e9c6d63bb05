"""Bagged nearest neighbours in closed form, compared with bagging and with a search for k."""

import numpy as np

from cases import (
    Case,
    Side,
    error_of_prediction,
    fit_predict,
    friedman1,
    mse_of_prediction,
    register,
    split,
    two_classes,
)

# s = n^(d/(d+2)) = 1,180 of 20,000 rows, which is max_samples="rate" in this package.
PROBLEM = {"n": 20_000, "p": 5, "n_test": 5_000, "n_estimators": 100}
QUICK = {"n": 2_000, "n_test": 500, "n_estimators": 10}


def clusters(seed, n, p, n_test):
    """Features in 20 clusters of sizes 0.01 and 1: distances of very different orders."""
    rng = np.random.default_rng(seed)
    centres = 5 * rng.standard_normal((20, p))
    cluster = rng.integers(20, size=n + n_test)
    spread = np.where(cluster % 2, 1.0, 0.01)[:, None]
    X = centres[cluster] + spread * rng.standard_normal((n + n_test, p))
    y = 10 * np.sin(X[:, 0] + X[:, 1]) + cluster + rng.standard_normal(len(X))
    return split(X, y, n)


def grid(seed, n, p, n_test):
    """Features of some hundred values each: ties within the ranks of most rows."""
    data = friedman1(seed, n, p, n_test=n_test)
    data.X, data.X_test = np.round(100 * data.X), np.round(100 * data.X_test)
    return data


def rate(data):
    n, d = data.X.shape
    return int(n ** (d / (d + 2)))


def ours(data):
    from sklearn_ensemble_theory import BaggedNearestNeighborsRegressor

    return BaggedNearestNeighborsRegressor(max_samples="rate")


def bagging(data, n_estimators, seed):
    from sklearn.ensemble import BaggingRegressor
    from sklearn.neighbors import KNeighborsRegressor

    return BaggingRegressor(
        KNeighborsRegressor(n_neighbors=1),
        n_estimators=n_estimators,
        max_samples=rate(data),
        bootstrap=False,
        random_state=seed,
    )


def ours_classifier(data):
    from sklearn_ensemble_theory import BaggedNearestNeighborsClassifier

    return BaggedNearestNeighborsClassifier(max_samples="rate")


def bagging_classifier(data, n_estimators, seed):
    from sklearn.ensemble import BaggingClassifier
    from sklearn.neighbors import KNeighborsClassifier

    return BaggingClassifier(
        KNeighborsClassifier(n_neighbors=1),
        n_estimators=n_estimators,
        max_samples=rate(data),
        bootstrap=False,
        random_state=seed,
    )


def distance_to_the_limit(prediction, data):
    """Monte Carlo error: root mean square distance to infinitely many replications."""
    limit = ours(data).fit(data.X, data.y).predict(data.X_test)
    return float(((prediction - limit) ** 2).mean() ** 0.5)


def leave_one_out(data):
    from sklearn_ensemble_theory import BaggedNearestNeighborsRegressor

    return BaggedNearestNeighborsRegressor(max_samples="loo")


def search_for_k(data):
    from sklearn.model_selection import GridSearchCV
    from sklearn.neighbors import KNeighborsRegressor

    neighbors = [1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 25, 32]
    return GridSearchCV(KNeighborsRegressor(), {"n_neighbors": neighbors}, cv=5)


register(
    Case(
        name="bagged-nearest-neighbors",
        title="1-NN bagged without replacement, n = 20,000, d = 5, s = n^(d/(d+2)), 5,000 queries",
        data=friedman1,
        params=PROBLEM,
        quick=QUICK,
        sides={"ours": ours, "scikit-learn": bagging},
        run=fit_predict,
        quality=mse_of_prediction,
        metric="test MSE",
        limit=0.6,
        quality_margin=0.0,
    )
)

for name, data, p, what in (
    ("bagged-nearest-neighbors-clusters", clusters, 5, "clusters of sizes 0.01 and 1"),
    ("bagged-nearest-neighbors-10", friedman1, 10, "d = 10, where trees exclude little"),
):
    register(
        Case(
            name=name,
            title=f"the same, {what}",
            data=data,
            params={**PROBLEM, "p": p},
            quick=QUICK,
            sides={"ours": ours, "scikit-learn": bagging},
            run=fit_predict,
            quality=mse_of_prediction,
            metric="test MSE",
            limit=0.6,
            quality_margin=0.0,
        )
    )

register(
    Case(
        name="bagged-nearest-neighbors-replications",
        title="the same: distance of 10, 100 and 1,000 replications to the limit",
        data=friedman1,
        params=PROBLEM,
        quick={**QUICK, "n_estimators": (5, 20)},
        vary={"n_estimators": (10, 100, 1_000)},
        sides={"ours": ours, "scikit-learn": bagging},
        run=fit_predict,
        quality=distance_to_the_limit,
        metric="RMS from limit",
        runs=1,
    )
)

register(
    Case(
        name="bagged-nearest-neighbors-classifier",
        title="1-NN classifier bagged without replacement, n = 20,000, d = 5, 5,000 queries",
        data=two_classes,
        params=PROBLEM,
        quick=QUICK,
        sides={
            "ours": ours_classifier,
            "scikit-learn": bagging_classifier,
        },
        run=fit_predict,
        quality=error_of_prediction,
        metric="test error",
        limit=0.6,
    )
)

for name, data, what in (
    ("bagged-nearest-neighbors-loo", friedman1, "uniform features"),
    ("bagged-nearest-neighbors-loo-clusters", clusters, "clusters of sizes 0.01 and 1"),
    ("bagged-nearest-neighbors-loo-ties", grid, "a grid, whose distances tie"),
):
    register(
        Case(
            name=name,
            title="33 subsample sizes by leave-one-out, 13 numbers of neighbours by 5 folds, "
            + what,
            data=data,
            params={"n": 10_000, "p": 5, "n_test": 2_000},
            quick={"n": 1_000},
            sides={"ours": leave_one_out, "GridSearchCV(k-NN)": search_for_k},
            run=fit_predict,
            quality=mse_of_prediction,
            metric="test MSE",
            quality_margin=None if data is clusters else 0.0,
            runs=3,
        )
    )


def friedman1_weighted(seed, n, p, n_test):
    data = friedman1(seed, n, p, n_test=n_test)
    data.weight = np.random.default_rng(seed).exponential(size=n)
    return data


def weighted_leave_one_out(data):
    from sklearn_ensemble_theory import BaggedNearestNeighborsRegressor

    return BaggedNearestNeighborsRegressor(max_samples="loo", bootstrap=True)


def weighted_fit_predict(model, data):
    return model.fit(data.X, data.y, sample_weight=data.weight).predict(data.X_test)


register(
    Case(
        name="bagged-nearest-neighbors-loo-20",
        title="33 subsample sizes by leave-one-out, 13 numbers of neighbours by 5 folds, d = 20",
        data=friedman1,
        params={"n": 5_000, "p": 20, "n_test": 2_000},
        quick={"n": 1_000},
        sides={"ours": leave_one_out, "GridSearchCV(k-NN)": search_for_k},
        run=fit_predict,
        quality=mse_of_prediction,
        metric="test MSE",
        runs=3,
    )
)

register(
    Case(
        name="bagged-nearest-neighbors-loo-weighted",
        title="33 sizes by leave-one-out, of rows with any weights, which the peer has not",
        data=friedman1_weighted,
        params={"n": 5_000, "p": 5, "n_test": 2_000},
        quick={"n": 500},
        sides={
            "ours": Side(weighted_leave_one_out, run=weighted_fit_predict),
            "GridSearchCV(k-NN)": search_for_k,
        },
        run=fit_predict,
        quality=mse_of_prediction,
        metric="test MSE",
        runs=3,
    )
)
