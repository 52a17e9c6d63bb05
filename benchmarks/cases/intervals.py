"""Prediction intervals and standard errors of forests: their time, memory and coverage."""

import pickle

import numpy as np

from cases import Case, Side, friedman1, register

SIZE = {"n": 20_000, "p": 10, "n_test": 5_000, "n_estimators": 500, "n_jobs": 1, "threads": 1}
QUICK = {"n": 1_000, "n_test": 200, "n_estimators": 20}
LEVELS = (0.05, 0.5, 0.95)

# A forest takes minutes to fit, and only its predictions are timed.
FITTED = {}


def forest(data, n_estimators, n_jobs, seed):
    """A fitted forest, whose trees are laid out and whose training rows are in their leaves."""
    from sklearn_ensemble_theory import RandomForestRegressor

    if "forest" not in FITTED:
        model = RandomForestRegressor(n_estimators, oob_score=True, n_jobs=-1, random_state=seed)
        FITTED["forest"] = model.fit(data.X, data.y)
        model.predict(data.X_test)
    FITTED["forest"].n_jobs = n_jobs
    return FITTED["forest"]


def quantile_forest(data, n_estimators, n_jobs, seed):
    from quantile_forest import RandomForestQuantileRegressor

    if "peer" not in FITTED:
        model = RandomForestQuantileRegressor(
            n_estimators, max_samples_leaf=None, n_jobs=-1, random_state=seed
        )
        FITTED["peer"] = model.fit(data.X, data.y)
    FITTED["peer"].n_jobs = n_jobs
    return FITTED["peer"]


def coverage(intervals, data):
    return float(np.mean((intervals[:, 0] <= data.y_test) & (data.y_test <= intervals[:, -1])))


def interval(model, data):
    return model.predict_interval(data.X_test)


def mean(model, data):
    prediction = model.predict(data.X_test)
    return np.column_stack([prediction, prediction])


register(
    Case(
        name="jackknife-plus",
        title="intervals of the jackknife+ after bootstrap for 5,000 rows, beside predictions",
        data=friedman1,
        params=SIZE,
        quick=QUICK,
        sides={"ours": forest, "predict": Side(forest, run=mean)},
        run=interval,
        quality=coverage,
        metric="coverage",
        higher_is_better=True,
        limit=3.0,
        memory_limit=500,
    )
)


def unasked(data, n_estimators, n_jobs, seed):
    """A forest that has been asked for predictions only: intervals prepare what they need."""
    from sklearn_ensemble_theory import RandomForestRegressor

    if "unasked" not in FITTED:
        model = RandomForestRegressor(n_estimators, n_jobs=-1, random_state=seed)
        FITTED["unasked"] = pickle.dumps(model.fit(data.X, data.y))
    model = pickle.loads(FITTED["unasked"])
    model.n_jobs = n_jobs
    model.predict(data.X_test)
    return model


register(
    Case(
        name="quantile-intervals",
        title="the first intervals of method='quantile' for 5,000 rows, beside the jackknife+",
        data=friedman1,
        params={**SIZE, "n_estimators": 100},
        quick=QUICK,
        sides={
            "ours": Side(
                unasked, run=lambda m, data: m.predict_interval(data.X_test, 0.9, "quantile")
            ),
            "jackknife+": unasked,
        },
        run=interval,
        quality=coverage,
        metric="coverage",
        higher_is_better=True,
        limit=1.4,
    )
)

register(
    Case(
        name="quantile-forest",
        title="three quantiles for 5,000 rows from all training rows of the leaves",
        data=friedman1,
        params=SIZE,
        quick=QUICK,
        sides={
            "ours": Side(forest, run=lambda m, data: m.predict_quantiles(data.X_test, LEVELS)),
            "quantile-forest": Side(
                quantile_forest, run=lambda m, data: m.predict(data.X_test, quantiles=list(LEVELS))
            ),
        },
        run=interval,
        quality=coverage,
        metric="coverage",
        higher_is_better=True,
        limit=1.0,
    )
)

# --- standard errors --------------------------------------------------------------------------


def shallow_forest(data, n_estimators, n_jobs, seed):
    """Leaves of 50 rows: what the standard errors cost does not depend on the size of the trees."""
    from sklearn_ensemble_theory import RandomForestRegressor

    if "shallow" not in FITTED:
        model = RandomForestRegressor(
            n_estimators, min_samples_leaf=50, n_jobs=-1, random_state=seed
        )
        FITTED["shallow"] = model.fit(data.X, data.y)
        model.predict(data.X_test)
    FITTED["shallow"].n_jobs = n_jobs
    return FITTED["shallow"]


for method in ("infinitesimal", "jackknife"):
    register(
        Case(
            name=f"standard-error-{method}",
            title="standard errors at 10,000 points, 500 trees on 50,000 rows",
            data=friedman1,
            params={**SIZE, "n": 50_000, "n_test": 10_000, "method": method},
            quick=QUICK,
            sides={"ours": shallow_forest},
            run=lambda model, data, method: model.standard_error(data.X_test, method=method),
            memory_limit=1_000,
            runs=3,
        )
    )

# --- importances ------------------------------------------------------------------------------


def scikit_learn_forest(data, n_estimators, n_jobs, seed):
    from sklearn.ensemble import RandomForestRegressor

    return RandomForestRegressor(n_estimators, n_jobs=n_jobs, random_state=seed).fit(data.X, data.y)


def small_forest(data, n_estimators, n_jobs, seed):
    from sklearn_ensemble_theory import RandomForestRegressor, inspection  # noqa: F401

    return RandomForestRegressor(n_estimators, n_jobs=n_jobs, random_state=seed).fit(data.X, data.y)


def permuted_out_of_bag(model, data):
    from sklearn_ensemble_theory.inspection import oob_permutation_importances

    return oob_permutation_importances(model, random_state=0)


def permuted_held_out(model, data):
    from sklearn.inspection import permutation_importance

    return permutation_importance(model, data.X_test, data.y_test, n_repeats=1, random_state=0)


register(
    Case(
        name="oob-permutation-importances",
        title="permutation importances of 20 features, 100 trees, n = 5,000 (peer: held-out rows)",
        data=friedman1,
        params={"n": 5_000, "p": 20, "n_test": 2_000, "n_estimators": 100, "n_jobs": 1},
        quick={"n": 500, "n_test": 100, "n_estimators": 10},
        sides={"ours": small_forest, "scikit-learn": Side(scikit_learn_forest, permuted_held_out)},
        run=permuted_out_of_bag,
        runs=3,
    )
)

# --- coverage ---------------------------------------------------------------------------------


def nothing(data=None, seed=0):
    """Data sets are drawn while the clock runs."""
    return None


def fresh(kind, n, rng):
    """Rows of Friedman's first problem, or with noise that grows with the second feature."""
    X = rng.random((n, 5))
    if kind == "heteroscedastic":
        return X, 3 * X[:, 0] + (0.2 + 2 * X[:, 1]) * rng.standard_normal(n)
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    return X, y + 10 * X[:, 3] + 5 * X[:, 4] + rng.standard_normal(n)


def over_data_sets(method):
    """The shares of new rows covered in independent data sets, at a nominal 90 %."""

    def run(state, data, kind, n_sets, seed):
        from sklearn_ensemble_theory import RandomForestRegressor

        rng, shares = np.random.default_rng(seed), []
        for r in range(n_sets):
            X, y = fresh(kind, 60, rng)
            new, target = fresh(kind, 50, rng)
            model = RandomForestRegressor(60, oob_score=True, random_state=r).fit(X, y)
            low, high = method(model, new)
            shares.append(np.mean((low <= target) & (target <= high)))
        return np.array(shares)

    return run


def in_standard_errors(shares, data):
    """(mean coverage - 0.9) / its standard error; required is at least -2."""
    error = np.std(shares, ddof=1) / np.sqrt(len(shares))
    print(f"  coverage {shares.mean():.4f}, standard error {error:.4f}", flush=True)
    return float((shares.mean() - 0.9) / error)


def standard_errors(model, X):
    mean, error = model.predict(X), model.standard_error(X)
    return mean - 1.645 * error, mean + 1.645 * error


for kind in ("friedman1", "heteroscedastic"):
    register(
        Case(
            name=f"coverage-{kind}",
            title="(coverage - 0.9) / standard error over 500 data sets of 60 rows",
            data=nothing,
            params={"kind": kind, "n_sets": 500, "threads": 1},
            quick={"n_sets": 5},
            sides={
                "ours": Side(nothing, run=over_data_sets(lambda m, X: m.predict_interval(X).T)),
                "conformal": Side(
                    nothing,
                    run=over_data_sets(lambda m, X: m.predict_interval(X, method="conformal").T),
                ),
            },
            run=over_data_sets(standard_errors),
            quality=in_standard_errors,
            metric="standard errors",
            higher_is_better=True,
            runs=1,
        )
    )
