"""Averages of fits on random projections, more variables than rows, compared with ridge."""

import numpy as np

from cases import Case, estimator, fit, held_out_mse, register, split


def decaying_columns(seed, n, d, decay, noise=1.0, n_test=1_000):
    """Columns of scale j^-decay with random coefficients; the mean of y has variance 1."""
    rng = np.random.default_rng(seed)
    scale = np.arange(1, d + 1.0) ** -decay
    X = rng.standard_normal((n + n_test, d)) * scale
    coef = rng.standard_normal(d) * np.sqrt(scale)
    mean = X @ coef / np.linalg.norm(coef * scale)
    return split(X, mean + noise * rng.standard_normal(len(X)), n)


def ridge_cv(data):
    """The grid of the user guide of scikit-learn."""
    from sklearn.linear_model import RidgeCV

    return RidgeCV(alphas=np.logspace(-6, 6, 13))


def ridge_cv_of_three(data):
    from sklearn.linear_model import RidgeCV

    return RidgeCV()


for decay, name, words in [
    (0.7, "random-projections", "a few hundred columns of 20,000 matter"),
    (0.0, "random-projections-flat", "all columns alike: nothing can be learnt"),
    (0.5, "random-projections-slow-decay", "ridge needs more than s = 100 degrees of freedom"),
]:
    register(
        Case(
            name=name,
            title=f"Gaussian projections, n = 1,000, d = 20,000, s = 100, m = 50: {words}",
            data=decaying_columns,
            params={
                "n": 1_000,
                "d": 20_000,
                "decay": decay,
                "n_components": 100,
                "n_estimators": 50,
            },
            quick={"n": 60, "d": 100, "n_components": 5, "n_estimators": 3},
            sides={
                "ours": estimator("sklearn_ensemble_theory", "RandomProjectionRegressor"),
                "RidgeCV": ridge_cv,
                "RidgeCV, 3 penalties": ridge_cv_of_three,
            },
            run=fit,
            quality=held_out_mse,
            metric="test MSE",
            limit={"RidgeCV": 1.0},
            quality_ratio={} if decay == 0.5 else {"RidgeCV": 1.05},
        )
    )
