"""Linear smoothers, and L2-boosting in closed form, compared with the loop that it replaces."""

from types import SimpleNamespace

import numpy as np

from cases import Case, Side, fit, fit_predict, held_out_mse, mse_of_prediction, register, split


def tents(seed, n, noise=0.5, n_test=2_000):
    """Two tents with Gaussian noise, as in `datasets.make_tent`, with NumPy only."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, size=(n + n_test, 1))
    f = 1.0 - np.abs(2.0 * np.abs(X[:, 0]) - 1.0)
    return split(X, f + noise * rng.standard_normal(len(X)), n)


def additive(seed, n, p, noise=0.5, n_test=2_000):
    """Five smooth effects of p features that add up."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, size=(n + n_test, p))
    f = np.sin(4 * X[:, 0]) + X[:, 1] ** 2 + np.exp(X[:, 2]) / 2 + np.abs(X[:, 3]) + X[:, 4]
    return split(X, f + noise * rng.standard_normal(len(X)), n)


# --- one feature, up to a million rows ---------------------------------------------------------


def boosted_spline(data):
    from sklearn_ensemble_theory import LinearL2BoostingRegressor

    return LinearL2BoostingRegressor(time="gcv")


def fit_and_path(model, data):
    model.fit(data.X, data.y)
    times = np.geomspace(0.1, 1e5, 100)
    model.training_error(times)
    model.degrees_of_freedom(times)
    return model


def binned_trees(data, seed):
    from sklearn.ensemble import HistGradientBoostingRegressor

    return HistGradientBoostingRegressor(random_state=seed)


def ridge_of_splines(data, n_knots):
    from sklearn.linear_model import RidgeCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import SplineTransformer

    return make_pipeline(
        SplineTransformer(n_knots=n_knots, knots="quantile"), RidgeCV(np.geomspace(1e-4, 1e4, 9))
    )


register(
    Case(
        name="boosted-spline-in-n",
        title="one feature: boosted smoothing spline, time by GCV and 100 times of the path",
        data=tents,
        params={"n": 100_000, "n_knots": 40},
        quick={"n": (300, 600)},
        vary={"n": (10_000, 100_000, 1_000_000)},
        sides={
            "ours": Side(boosted_spline, run=fit_and_path),
            "ridge of splines": ridge_of_splines,
            "binned trees": binned_trees,
        },
        run=fit,
        quality=held_out_mse,
        metric="test MSE",
        seconds_limit=15,
        memory_limit=20 * 8e6 / 2**20,  # 20 times the bytes of x at a million rows
        growth_limit=1.1,
        runs=3,
    )
)

# --- a dense learner: the loop itself is the peer ----------------------------------------------


def kernel_ridge():
    from sklearn.kernel_ridge import KernelRidge

    return KernelRidge(kernel="rbf", gamma=2.0, alpha=20.0)


def decomposed(data):
    """The fit is not timed: only the path is compared."""
    from sklearn_ensemble_theory import LinearL2BoostingRegressor

    return LinearL2BoostingRegressor(kernel_ridge(), time=1.0).fit(data.X, data.y)


def training_path(model, data, n_times):
    times = np.geomspace(0.1, 1_000.0, n_times)
    model.degrees_of_freedom(times)
    return model.training_error(times)


def hat_matrix(data):
    """The learner's matrix, not timed: a loop that does not fit the learner again."""
    learner = kernel_ridge()
    return learner.fit(data.X, np.eye(len(data.X))).predict(data.X)


def matrix_loop(S, data, n_rounds):
    residual = data.y - data.y.mean()
    errors = np.empty(n_rounds)
    for m in range(n_rounds):
        residual = residual - 0.1 * (S @ residual)
        errors[m] = residual @ residual / len(residual)
    return errors


def last_error(errors, data):
    return float(errors[-1])


register(
    Case(
        name="boosting-path",
        title="n = 2,000, kernel ridge: 1,000 times of the path, or 10,000 rounds (S given)",
        data=tents,
        params={"n": 2_000, "n_times": 1_000, "n_rounds": 10_000},
        quick={"n": 200, "n_rounds": 100, "n_times": 10},
        sides={
            "ours": Side(decomposed, run=training_path),
            "loop with S": Side(hat_matrix, run=matrix_loop),
        },
        run=matrix_loop,
        quality=last_error,
        metric="training MSE at t = 1,000",
        limit=0.01,
        quality_margin=1e-4,
        runs=3,
    )
)


def whole(data):
    from sklearn_ensemble_theory import LinearL2BoostingRegressor

    return LinearL2BoostingRegressor(kernel_ridge(), time="gcv")


def fit_and_training_path(model, data, n_times):
    return training_path(model.fit(data.X, data.y), data, n_times)


def refitted(data):
    return kernel_ridge()


def refitting_loop(learner, data, n_refits):
    from sklearn.base import clone

    residual = data.y - data.y.mean()
    for _ in range(n_refits):
        residual = residual - 0.1 * clone(learner).fit(data.X, residual).predict(data.X)
    return np.array([residual @ residual / len(residual)])


register(
    Case(
        name="boosting-fit-and-path",
        title="n = 2,000, kernel ridge: whole fit, GCV, 1,000 times of the path, or 50 rounds",
        data=tents,
        params={"n": 2_000, "n_times": 1_000, "n_refits": 50},
        quick={"n": 200, "n_refits": 5, "n_times": 10},
        sides={
            "ours": Side(whole, run=fit_and_training_path),
            "50 rounds": Side(refitted, run=refitting_loop),
        },
        run=refitting_loop,
        runs=3,
    )
)

# --- an additive model -------------------------------------------------------------------------


def random_coordinates(data):
    from sklearn_ensemble_theory import LinearL2BoostingRegressor

    return LinearL2BoostingRegressor(variant="random_feature", time="gcv")


def joint_splines(data):
    from sklearn_ensemble_theory import SmoothingSplineRegressor

    return SmoothingSplineRegressor()


def best_feature(data, rate, df, n_rounds=None):
    """As many rounds as are given, or chosen by five-fold cross-validation."""
    from sklearn_ensemble_theory import LinearL2BoostingRegressor, SmoothingSplineRegressor

    return LinearL2BoostingRegressor(
        SmoothingSplineRegressor(df=df),
        variant="best_feature",
        learning_rate=rate,
        time="cv" if n_rounds is None else rate * n_rounds,
    )


register(
    Case(
        name="additive",
        title="additive model, n = 100,000, p = 10: the limit with random coordinates, time by GCV",
        data=additive,
        params={"n": 100_000, "p": 10, "n_knots": 20, "rate": 0.1, "df": 5},
        quick={"n": 300, "p": 5},
        sides={
            "ours": random_coordinates,
            "ours, joint splines": joint_splines,
            "ours, best feature": best_feature,
            "ridge of splines": ridge_of_splines,
            "binned trees": binned_trees,
        },
        run=fit,
        quality=held_out_mse,
        metric="test MSE",
        seconds_limit=20,
        runs=3,
    )
)

# --- several features, from fewer rows than functions to more ----------------------------------


def tails(seed, n, p, is_hard, noise=0.5, n_test=2_000):
    """The same effects; `is_hard`: of features with few values far out, the last one a copy."""
    data = additive(seed, n, p, noise, n_test)
    if is_hard:
        for X in (data.X, data.X_test):
            X[:] = np.tan(1.3 * X)
            X[:, -1] = -2.0 * X[:, 0]
    return data


def boosted_splines(data):
    from sklearn_ensemble_theory import LinearL2BoostingRegressor

    return LinearL2BoostingRegressor(time="gcv")


for n, p in ((250, 10), (1_000, 80), (20_000, 50)):
    for is_hard in (False, True):
        register(
            Case(
                name=f"splines-{n}x{p}" + ("-hard" if is_hard else ""),
                title=f"splines of {p} features, n = {n:,}"
                + (", few values far out and a copy" if is_hard else ""),
                data=tails,
                params={"n": n, "p": p, "is_hard": is_hard, "n_knots": 20},
                quick={"n": 100, "p": 10},
                sides={
                    "ours": joint_splines,
                    "ours, boosted": boosted_splines,
                    "ours, random coordinates": random_coordinates,
                    "ridge of splines": ridge_of_splines,
                },
                run=fit,
                quality=held_out_mse,
                metric="test MSE",
                limit={"ridge of splines": 2.0},
                runs=5 if n < 1_000 else 3 if n < 10_000 else 1,
            )
        )

# --- the best feature in each round ------------------------------------------------------------


def ridges_of_splines(data, df, n_knots):
    """Scikit-learn's base learner for each feature, with `df` degrees of freedom; not timed."""
    from scipy.optimize import brentq
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import SplineTransformer

    learners = []
    for x in data.X.T:
        splines = SplineTransformer(n_knots=n_knots, extrapolation="linear", include_bias=False)
        values = splines.fit_transform(x[:, None])
        squares = np.linalg.svd(values - values.mean(axis=0), compute_uv=False) ** 2

        def excess(log_alpha, squares=squares):
            return 1 + (squares / (squares + np.exp(log_alpha))).sum() - df

        learners.append(make_pipeline(splines, Ridge(alpha=np.exp(brentq(excess, -20, 30)))))
    return learners


def loop_over_features(learners, data, rate, n_rounds):
    """The loop over the rows: every learner is fitted to the residuals of every round."""
    from sklearn.base import clone

    residual, chosen = data.y - data.y.mean(), []
    for _ in range(n_rounds):
        fits = [clone(m).fit(data.X[:, [j]], residual) for j, m in enumerate(learners)]
        outputs = [m.predict(data.X[:, [j]]) for j, m in enumerate(fits)]
        j = int(np.argmin([((residual - out) ** 2).sum() for out in outputs]))
        residual = residual - rate * outputs[j]
        chosen.append((j, fits[j]))
    return chosen


def mse_of_rounds(chosen, data, rate):
    parts = sum(rate * model.predict(data.X_test[:, [j]]) for j, model in chosen)
    return mse_of_prediction(data.y.mean() + parts, data)


register(
    Case(
        name="best-feature-rounds",
        title="additive model, n = 2,000, p = 10: 200 rounds of the best feature",
        data=additive,
        # Few knots of the peer: with many, a ridge penalty for so few df shrinks the line as well.
        params={"n": 2_000, "p": 10, "rate": 0.1, "df": 4, "n_rounds": 200, "n_knots": 4},
        quick={"n": 200, "p": 5, "n_rounds": 5},
        sides={
            "ours": best_feature,
            "loop over rows": Side(
                ridges_of_splines, run=loop_over_features, quality=mse_of_rounds
            ),
        },
        run=fit,
        quality=held_out_mse,
        metric="test MSE",
        limit=0.1,
        quality_margin=0.01,
        runs=3,
    )
)


def several_splits(seed, kind, n_splits):
    """Splits of one of two kinds of data: five of 30 features matter, or all matter somewhat."""
    from sklearn.datasets import load_diabetes

    if kind == "sparse":
        return [additive(seed + k, 300, 30) for k in range(n_splits)]
    X, y = load_diabetes(return_X_y=True)
    orders = [np.random.default_rng(seed + k).permutation(len(y)) for k in range(n_splits)]
    return [split(X[order], y[order] / y.std(), 332) for order in orders]


def fit_to_each(model, data):
    from sklearn.base import clone

    return [clone(model).fit(part.X, part.y) for part in data]


def mean_mse(models, data):
    return float(np.mean([held_out_mse(model, part) for model, part in zip(models, data)]))


def all_features(data, df):
    from sklearn_ensemble_theory import LinearL2BoostingRegressor, SmoothingSplineRegressor

    return LinearL2BoostingRegressor(SmoothingSplineRegressor(df=df), time="gcv")


register(
    Case(
        name="best-feature-quality",
        title="the best feature in each round, rounds by five-fold CV: mean error of 20 splits",
        data=several_splits,
        params={"kind": "sparse", "n_splits": 20, "rate": 0.1, "df": 3, "n_knots": 5},
        quick={"n_splits": 1},
        vary={"kind": ("sparse", "diabetes")},
        sides={
            "ours": best_feature,
            "ours, all features": all_features,
            "ours, joint splines": joint_splines,
            "ridge of splines": ridge_of_splines,
        },
        run=fit_to_each,
        quality=mean_mse,
        metric="test MSE",
        quality_ratio={"ridge of splines": 1.0},
        runs=1,
    )
)

# --- the smoothers -----------------------------------------------------------------------------


def spline(data):
    from sklearn_ensemble_theory import SmoothingSplineRegressor

    return SmoothingSplineRegressor()


def scipy_spline(data):
    from scipy.interpolate import make_smoothing_spline

    return SimpleNamespace(fit=make_smoothing_spline)


def scipy_fit_predict(model, data):
    order = np.argsort(data.X[:, 0])
    return model.fit(data.X[order, 0], data.y[order])(data.X_test[:, 0])


register(
    Case(
        name="smoothing-spline",
        title="smoothing spline by GCV, n = 2,000 (SciPy's is ill-posed at 10,000 uniform points)",
        data=tents,
        params={"n": 2_000},
        quick={"n": 200},
        sides={"ours": spline, "scipy": Side(scipy_spline, run=scipy_fit_predict)},
        run=fit_predict,
        quality=mse_of_prediction,
        metric="test MSE",
    )
)


def epanechnikov(data, bandwidth):
    from sklearn_ensemble_theory import NadarayaWatsonRegressor

    return NadarayaWatsonRegressor(bandwidth, kernel="epanechnikov")


def radius_neighbors(data, bandwidth):
    from sklearn.neighbors import RadiusNeighborsRegressor

    def kernel(distances):
        values = np.empty(len(distances), dtype=object)
        values[:] = [1.0 - (d / bandwidth) ** 2 for d in distances]
        return values

    return RadiusNeighborsRegressor(bandwidth, weights=kernel)


def plane(seed, n, noise=0.5, n_test=5_000):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, size=(n + n_test, 2))
    return split(X, np.sin(4 * X[:, 0]) * X[:, 1] + noise * rng.standard_normal(len(X)), n)


register(
    Case(
        name="nadaraya-watson",
        title="Nadaraya-Watson, Epanechnikov kernel, n = 20,000, p = 2: 5,000 predictions",
        data=plane,
        params={"n": 20_000, "bandwidth": 0.1},
        quick={"n": 500, "bandwidth": 0.3},
        sides={"ours": epanechnikov, "scikit-learn": radius_neighbors},
        run=fit_predict,
        quality=mse_of_prediction,
        metric="test MSE",
    )
)


def smoothed_line(seed, n, noise=0.5):
    """Two tents, with as many points to predict as there are rows."""
    return tents(seed, n, noise, n_test=n)


def tricube(data, bandwidth):
    from sklearn_ensemble_theory import NadarayaWatsonRegressor

    return NadarayaWatsonRegressor(bandwidth, kernel="tricube")


register(
    Case(
        name="nadaraya-watson-large",
        title="Nadaraya-Watson, tricube kernel, one feature: as many predictions as rows",
        data=smoothed_line,
        params={"n": 400_000, "bandwidth": 0.6, "n_knots": 40},  # 0.6 is 0.3 of the range
        quick={"n": 2_000},
        vary={"bandwidth": (0.002, 0.02, 0.6)},
        sides={"ours": tricube, "ridge of splines": ridge_of_splines},
        run=fit_predict,
        quality=mse_of_prediction,
        metric="test MSE",
        seconds_limit=5,
        memory_limit=1024,
        runs=3,
    )
)


def bandwidth_by_loo(data):
    from sklearn_ensemble_theory import NadarayaWatsonRegressor

    return NadarayaWatsonRegressor("loo")


def search_for_k(data):
    from sklearn.model_selection import GridSearchCV
    from sklearn.neighbors import KNeighborsRegressor

    neighbors = [1, 2, 3, 5, 8, 12, 20, 32, 50, 80, 125, 200, 320]
    return GridSearchCV(KNeighborsRegressor(), {"n_neighbors": neighbors}, cv=5)


def heavy_tails(seed, n, p, noise=1.0, n_test=5_000):
    """A square wave of features with few rows far out."""
    rng = np.random.default_rng(seed)
    X = rng.standard_t(1.5, size=(n + n_test, p))
    return split(X, np.sign(np.sin(3 * X[:, 0])) + noise * rng.standard_normal(len(X)), n)


def waves(seed, n, p, noise=0.3, n_test=5_000):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n + n_test, p))
    return split(X, np.sin(6 * X).sum(axis=1) + noise * rng.standard_normal(len(X)), n)


for name, data, n, p, what in (
    ("nadaraya-watson-loo", waves, 20_000, 1, "one uniform feature"),
    ("nadaraya-watson-loo-heavy", heavy_tails, 20_000, 1, "one feature with heavy tails"),
    ("nadaraya-watson-loo-3", waves, 5_000, 3, "three uniform features"),
):
    register(
        Case(
            name=name,
            title=f"25 bandwidths by leave-one-out, 13 numbers of neighbours by 5 folds, {what}",
            data=data,
            params={"n": n, "p": p},
            quick={"n": 500},
            sides={"ours": bandwidth_by_loo, "GridSearchCV(k-NN)": search_for_k},
            run=fit_predict,
            quality=mse_of_prediction,
            metric="test MSE",
            runs=3,
        )
    )
