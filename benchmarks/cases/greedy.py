"""Greedy approximation: matching pursuit, Frank-Wolfe, ReLU networks."""

from types import SimpleNamespace

import numpy as np

from cases import (
    Case,
    Side,
    estimator,
    fit,
    friedman1,
    held_out_error,
    held_out_mse,
    register,
    split,
    two_classes,
)


def sparse_signal(seed, n, d, k, noise):
    """Gaussian columns, k coefficients of size 1 to 3; centred and scaled, as scikit-learn's
    orthogonal pursuit requires."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    X -= X.mean(axis=0)
    X /= np.sqrt(np.mean(X**2, axis=0))
    coef = np.zeros(d)
    coef[rng.choice(d, k, replace=False)] = rng.choice([-1, 1], k) * rng.uniform(1, 3, k)
    return SimpleNamespace(X=X, y=X @ coef + noise * rng.standard_normal(n), coef=coef)


# --- orthogonal pursuit -------------------------------------------------------------------------


def orthogonal(data, n_atoms):
    from sklearn_ensemble_theory import MatchingPursuitRegressor

    return MatchingPursuitRegressor(n_atoms, variant="orthogonal")


def sklearn_orthogonal(precompute):
    def setup(data, n_atoms):
        from sklearn.linear_model import OrthogonalMatchingPursuit

        return OrthogonalMatchingPursuit(n_nonzero_coefs=n_atoms, precompute=precompute)

    return setup


def wrong_columns(model, data):
    """Columns selected that are not in the signal, plus columns of the signal not selected."""
    return float(np.sum((model.coef_ != 0) != (data.coef != 0)))


register(
    Case(
        name="orthogonal-pursuit",
        title="orthogonal matching pursuit, n = 2,000, d = 5,000, 100 atoms",
        data=sparse_signal,
        params={"n": 2_000, "d": 5_000, "k": 100, "noise": 0.5, "n_atoms": 100},
        quick={"n": 300, "d": 400, "k": 10, "n_atoms": 10},
        sides={
            "ours": orthogonal,
            "scikit-learn": sklearn_orthogonal(False),
            "scikit-learn (Gram)": sklearn_orthogonal(True),
        },
        run=fit,
        quality=wrong_columns,
        metric="wrong columns",
        limit=0.5,
        quality_margin=0.0,
    )
)


def neighbouring_columns(seed, n, d, k, noise):
    """As `sparse_signal`, with correlation 0.9 between neighbouring columns: hard to tell apart,
    and the residuals of one round say little about the columns of later ones."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    for j in range(1, d):
        X[:, j] = 0.9 * X[:, j - 1] + np.sqrt(1 - 0.9**2) * X[:, j]
    X -= X.mean(axis=0)
    X /= np.sqrt(np.mean(X**2, axis=0))
    coef = np.zeros(d)
    coef[rng.choice(d, k, replace=False)] = rng.choice([-1, 1], k) * rng.uniform(1, 3, k)
    return SimpleNamespace(X=X, y=X @ coef + noise * rng.standard_normal(n), coef=coef)


for name, n_atoms in (("orthogonal-pursuit-correlated", 100), ("orthogonal-pursuit-long", 300)):
    register(
        Case(
            name=name,
            title=f"the same with correlated columns, {n_atoms} atoms",
            data=neighbouring_columns,
            params={"n": 2_000, "d": 5_000, "k": 100, "noise": 0.5, "n_atoms": n_atoms},
            quick={"n": 300, "d": 400, "k": 10, "n_atoms": 20},
            sides={"ours": orthogonal, "scikit-learn": sklearn_orthogonal(False)},
            run=fit,
            quality=lambda model, data: float(np.mean((data.y - model.predict(data.X)) ** 2)),
            metric="training MSE",
            limit=0.6,
            quality_margin=1e-6,
            runs=3,
        )
    )

for kind, data in (("", sparse_signal), ("-correlated", neighbouring_columns)):
    register(
        Case(
            name=f"orthogonal-pursuit-small{kind}",
            title="few rows and columns: 5 atoms of 20, n = 100",
            data=data,
            params={"n": 100, "d": 20, "k": 5, "noise": 0.5, "n_atoms": 5},
            sides={"ours": orthogonal, "scikit-learn": sklearn_orthogonal(False)},
            run=fit,
            quality=lambda model, data: float(np.mean((data.y - model.predict(data.X)) ** 2)),
            metric="training MSE",
            limit=1.5,
            quality_margin=1e-6,
            runs=9,
        )
    )

# --- plain pursuit ------------------------------------------------------------------------------


def dense_signal(seed, n, d):
    """Correlated columns and a signal in all of them, for which thousands of rounds are useful."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + 6 * rng.standard_normal((n, 1))
    return SimpleNamespace(X=X, y=X @ rng.standard_normal(d) + rng.standard_normal(n))


def pursuit_with_gram(data):
    from sklearn_ensemble_theory.boosting._dictionary import ColumnDictionary, GramRows

    if not hasattr(data, "prepared"):
        weight = np.full(len(data.y), 1 / len(data.y))
        dictionary = ColumnDictionary(data.X, weight, centre=True)
        rows = GramRows(dictionary)
        rows.load_all()
        centred = data.y - data.y.mean()
        data.prepared = rows, dictionary.products(centred), float(weight @ centred**2)
    return data.prepared


def pursue_rounds(prepared, data, n_estimators):
    from sklearn_ensemble_theory.boosting._pursuit_rounds import pursuit_on_gram

    return pursuit_on_gram(*prepared, n_estimators)


register(
    Case(
        name="plain-pursuit-rounds",
        title="plain matching pursuit, n = 100,000, d = 500: 10,000 rounds after the Gram matrix",
        data=dense_signal,
        params={"n": 100_000, "d": 500, "n_estimators": 10_000},
        quick={"n": 1_000, "d": 50, "n_estimators": 500},
        sides={"ours": pursuit_with_gram},
        run=pursue_rounds,
        quality=lambda path, data: float(path.squares[-1]),
        metric="training MSE",
        seconds_limit=3.0,
    )
)

register(
    Case(
        name="plain-pursuit",
        title="plain matching pursuit including the Gram matrix: fit time by number of rounds",
        data=dense_signal,
        params={"n": 20_000, "d": 500, "n_estimators": 1_000},
        quick={"n": 1_000, "d": 50, "n_estimators": (100, 200)},
        vary={"n_estimators": (1_000, 2_000, 4_000, 8_000)},
        sides={"ours": estimator("sklearn_ensemble_theory", "MatchingPursuitRegressor")},
        run=fit,
        quality=lambda model, data: float(model.residual_norms_[-1] ** 2),
        metric="training MSE",
    )
)

# --- Frank-Wolfe over columns -------------------------------------------------------------------


def lasso(data, alpha, tol):
    from sklearn.linear_model import Lasso

    # scikit-learn's gap is relative to y'y, the gap here relative to y'y/2.
    return Lasso(alpha=alpha, tol=tol / 2, max_iter=100_000)


def in_the_ball(variant):
    def setup(data, alpha, tol):
        from sklearn_ensemble_theory import FrankWolfeRegressor

        if not hasattr(data, "radius"):
            data.radius = float(np.abs(lasso(data, alpha, tol).fit(data.X, data.y).coef_).sum())
        return FrankWolfeRegressor(
            radius=data.radius, tol=tol, n_estimators=100_000, variant=variant
        )

    return setup


def objective(model, data):
    residual = data.y - model.predict(data.X)
    return float(residual @ residual) / (2 * len(residual))


register(
    Case(
        name="frank-wolfe-columns",
        title="l1-constrained least squares, n = 10,000, d = 2,000, gap 1e-6",
        data=sparse_signal,
        params={"n": 10_000, "d": 2_000, "k": 50, "noise": 2.0, "alpha": 0.1, "tol": 1e-6},
        quick={"n": 500, "d": 100, "k": 10},
        sides={
            "ours": in_the_ball("away"),
            "scikit-learn": lasso,
            "ours (pairwise)": in_the_ball("pairwise"),
            "ours (corrective)": in_the_ball("fully_corrective"),
        },
        run=fit,
        quality=objective,
        metric="objective",
        limit={"scikit-learn": 3.0},
        quality_margin={"scikit-learn": 3e-6},
    )
)

register(
    Case(
        name="frank-wolfe-many-columns",
        title="the same with a larger radius: about 300 columns are active",
        data=sparse_signal,
        params={"n": 10_000, "d": 2_000, "k": 50, "noise": 2.0, "alpha": 0.03, "tol": 1e-6},
        quick={"n": 500, "d": 100, "k": 10},
        sides={"ours": in_the_ball("away"), "scikit-learn": lasso},
        run=fit,
        quality=objective,
        metric="objective",
        limit={"scikit-learn": 3.0},
        quality_margin={"scikit-learn": 3e-6},
    )
)

# --- Frank-Wolfe over columns, for classes and by cross-validation -------------------------------


def separated(seed, n, d, n_test=5_000, is_hard=False):
    """Five columns count; `is_hard`: no column does, and neighbours have correlation 0.9."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n + n_test, d))
    if is_hard:
        for j in range(1, d):
            X[:, j] = 0.9 * X[:, j - 1] + np.sqrt(1 - 0.9**2) * X[:, j]
    signal = 0.0 if is_hard else X[:, :5].sum(axis=1)
    return split(X, (signal + rng.standard_normal(len(X)) > 0).astype(int), n)


def classes_in_the_ball(variant):
    def setup(data, radius):
        from sklearn_ensemble_theory import FrankWolfeClassifier

        return FrankWolfeClassifier(radius=radius, variant=variant)

    return setup


def liblinear(data, radius):
    """With the penalty that leaves the norm of the ball, or none of its size."""
    from sklearn.linear_model import LogisticRegression

    def model(C):
        return LogisticRegression(l1_ratio=1.0, solver="liblinear", C=C, max_iter=1_000)

    if not hasattr(data, "C"):
        low, high = 1e-4, 1e3
        for _ in range(25):
            data.C = (low * high) ** 0.5
            is_larger = np.abs(model(data.C).fit(data.X, data.y).coef_).sum() > radius
            low, high = (low, data.C) if is_larger else (data.C, high)
    return model(data.C)


def log_loss(model, data):
    margins = (2 * data.y - 1) * model.decision_function(data.X)
    return float(np.mean(np.logaddexp(0.0, -margins)))


def frank_wolfe_cv(data):
    from sklearn_ensemble_theory import FrankWolfeRegressor

    return FrankWolfeRegressor(radius="cv")


def lasso_cv(data):
    from sklearn.linear_model import LassoCV

    return LassoCV()


def columns_with_a_test(seed, n, d, k, noise, is_hard):
    data = (neighbouring_columns if is_hard else sparse_signal)(seed, 2 * n, d, k, noise)
    return split(data.X, data.y, n)


for is_hard in (False, True):
    suffix = "-hard" if is_hard else ""
    for size, n, d in (("", 2_000, 50), ("-small", 200, 10)):
        register(
            Case(
                name=f"frank-wolfe-classes{size}{suffix}",
                title=f"logistic loss in a ball over {d} columns, n = {n:,}"
                + (", pure noise, correlated columns" if is_hard else ""),
                data=separated,
                params={"n": n, "d": d, "radius": 5.0, "is_hard": is_hard},
                quick={"n": 200, "d": 10},
                sides={
                    "ours": classes_in_the_ball("plain"),
                    "ours (pairwise)": classes_in_the_ball("pairwise"),
                    "liblinear": liblinear,
                },
                run=fit,
                quality=log_loss,
                metric="training log loss",
                limit={"liblinear": 2.5},
            )
        )
    register(
        Case(
            name="frank-wolfe-cv" + suffix,
            title="16 radii by five folds, n = 1,000, d = 100"
            + (", correlated columns" if is_hard else ""),
            data=columns_with_a_test,
            params={"n": 1_000, "d": 100, "k": 10, "noise": 5.0, "is_hard": is_hard},
            quick={"n": 100, "d": 20, "k": 5},
            sides={"ours": frank_wolfe_cv, "LassoCV": lasso_cv},
            run=fit,
            quality=held_out_mse,
            metric="test MSE",
            limit={"LassoCV": 0.5},
        )
    )

# --- rectified linear units ---------------------------------------------------------------------


def sorted_units(data):
    from sklearn_ensemble_theory import ReLUUnitRegressor
    from sklearn_ensemble_theory._learners import LeastSquaresTask, prepare_rounds

    if not hasattr(data, "units"):
        data.units = prepare_rounds(ReLUUnitRegressor(), data.X, None, LeastSquaresTask())
    return data.units


def unit_rounds(units, data, n_rounds):
    """L2-boosting: each round fits a unit to the residuals and subtracts it."""
    residual = data.y - data.y.mean()
    weight = np.full(len(residual), 1 / len(residual))
    for _ in range(n_rounds):
        residual -= units.best(residual, weight)[1]
    return float(np.mean(residual**2))


register(
    Case(
        name="relu-unit-search",
        title="best rectified linear unit, n = 100,000, p = 20: 20 rounds after the sort",
        data=friedman1,
        params={"n": 100_000, "p": 20, "n_rounds": 20},
        quick={"n": 2_000, "n_rounds": 3},
        sides={"ours": sorted_units},
        run=unit_rounds,
        quality=lambda result, data: result,
        metric="training MSE",
        seconds_limit=20 * 0.060,
    )
)


def sums_of_squares(seed, n, p, n_test=2_000):
    """Normal features, y the sum of 10 squares: far out the bounds of the search exclude little."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n + n_test, p))
    return split(X, (X[:, :10] ** 2).sum(axis=1) + rng.standard_normal(len(X)), n)


register(
    Case(
        name="relu-unit-search-squares",
        title="the same, normal features and y a sum of 10 squares",
        data=sums_of_squares,
        params={"n": 100_000, "p": 20, "n_rounds": 20},
        quick={"n": 2_000, "n_rounds": 3},
        sides={"ours": sorted_units},
        run=unit_rounds,
        quality=lambda result, data: result,
        metric="training MSE",
        seconds_limit=20 * 0.060,
    )
)


def grown_network(data, n_units):
    from sklearn_ensemble_theory import GradientBoostingRegressor, ReLUUnitRegressor

    return GradientBoostingRegressor(ReLUUnitRegressor(), n_estimators=n_units, learning_rate=0.5)


def descended_network(data, n_units, seed):
    from sklearn.neural_network import MLPRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    network = MLPRegressor(
        hidden_layer_sizes=(n_units,), max_iter=1_000, early_stopping=True, random_state=seed
    )
    return make_pipeline(StandardScaler(), network)


register(
    Case(
        name="relu-network",
        title="network of 100 rectified linear units: by boosting, or by gradient descent",
        data=friedman1,
        params={"n": 10_000, "p": 10, "n_units": 100},
        quick={"n": 500, "n_units": 10},
        sides={"ours": grown_network, "scikit-learn (MLP)": descended_network},
        run=fit,
        quality=held_out_mse,
        metric="test MSE",
        runs=3,
    )
)

register(
    Case(
        name="relu-network-squares",
        title="the same, normal features and y a sum of 10 squares",
        data=sums_of_squares,
        params={"n": 10_000, "p": 10, "n_units": 100},
        quick={"n": 500, "n_units": 10},
        sides={"ours": grown_network, "scikit-learn (MLP)": descended_network},
        run=fit,
        quality=held_out_mse,
        metric="test MSE",
        runs=3,
    )
)

# --- Frank-Wolfe over weak learners -------------------------------------------------------------


def stumps_in_the_ball(data, radius, n_rounds):
    from sklearn_ensemble_theory import DecisionStumpClassifier, FrankWolfeClassifier

    return FrankWolfeClassifier(
        DecisionStumpClassifier(), radius=radius, n_estimators=n_rounds, tol=0
    )


def boosted_stumps(data, n_rounds, seed):
    from sklearn.ensemble import AdaBoostClassifier

    return AdaBoostClassifier(n_estimators=n_rounds, random_state=seed)


register(
    Case(
        name="frank-wolfe-stumps",
        title="100 stumps, n = 20,000, p = 20: logistic loss in a ball by Frank-Wolfe, or AdaBoost",
        data=two_classes,
        params={"n": 20_000, "p": 20, "radius": 10.0, "n_rounds": 100},
        quick={"n": 1_000, "n_rounds": 10},
        sides={
            "ours": Side(stumps_in_the_ball),
            "scikit-learn (AdaBoost)": boosted_stumps,
        },
        run=fit,
        quality=held_out_error,
        metric="test error",
        runs=3,
    )
)
