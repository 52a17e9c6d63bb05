"""Averages over sketches and over blocks of the rows, compared with the fit to all rows."""

from types import SimpleNamespace

import numpy as np

from cases import Case, fit, register


def linear(seed, n, d, coherent=False):
    """A linear model with Gaussian rows; `coherent`: 20 of them are 1,000 times as long."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    if coherent:
        X[:20] *= 1000
    coef = rng.standard_normal(d)
    return SimpleNamespace(X=X, y=X @ coef + rng.standard_normal(n), coef=coef)


def sketched(data, seed, n_estimators, n_refinements):
    from sklearn_ensemble_theory import SketchedLinearRegression

    return SketchedLinearRegression(
        n_estimators, n_refinements=n_refinements, sketch_size=8.0, random_state=seed
    )


def least_squares(data):
    from sklearn.linear_model import LinearRegression

    return LinearRegression()


def excess_risk(model, data):
    """On the training rows, as a multiple of the expected risk of least squares, (d + 1) / n."""
    error = data.X @ (model.coef_ - data.coef) + model.intercept_
    return float(error @ error / (data.X.shape[1] + 1))


SIDES = {"ours": sketched, "LinearRegression": least_squares}
WIDE = {"n": 200_000, "d": 1_000}
LONG = {"n": 1_000_000, "d": 100}
QUICK = {"n": 4_000, "d": 20}
BYTES_OF_LONG = 8 * LONG["n"] * LONG["d"] / 2**20

for name, size, m, refinements, limit, ratio in (
    ("sketch-wide", WIDE, 1, 0, 1 / 4, None),
    ("sketch-wide-average", WIDE, 4, 0, None, None),
    ("sketch-wide-refined", WIDE, 4, 1, None, 1.5),
    ("sketch-long", LONG, 1, 0, 1 / 8, None),
    ("sketch-long-refined", LONG, 1, 3, 1 / 8, 1.5),
):
    for kind in ("", "-coherent"):
        register(
            Case(
                name=name + kind,
                title=f"count sketch of 8 d rows, m = {m}, {refinements} refinements, n = "
                f"{size['n']:,}, d = {size['d']:,}" + (", 20 long rows" if kind else ""),
                data=linear,
                params={
                    **size,
                    "coherent": bool(kind),
                    "n_estimators": m,
                    "n_refinements": refinements,
                },
                quick=QUICK,
                sides=SIDES,
                run=fit,
                quality=excess_risk,
                metric="risk / (sigma^2 (d + 1) / n)",
                limit=limit,
                quality_ratio=ratio,
                # X itself is not counted.
                memory_limit=0.3 * BYTES_OF_LONG if size is LONG else None,
                runs=1 if size is WIDE else 3,
            )
        )
