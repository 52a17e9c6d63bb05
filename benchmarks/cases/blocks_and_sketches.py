"""Averages over sketches and over blocks of the rows, compared with the fit to all rows."""

from types import SimpleNamespace

import numpy as np

from cases import Case, fit, held_out_error, held_out_mse, register, split


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
FEW = {"n": 6_000, "d": 1_000}
QUICK = {"n": 4_000, "d": 20}
BYTES_OF_LONG = 8 * LONG["n"] * LONG["d"] / 2**20

for name, size, m, refinements, limit, ratio in (
    ("sketch-wide", WIDE, 1, 0, 1 / 4, None),
    ("sketch-wide-average", WIDE, 4, 0, None, None),
    ("sketch-wide-refined", WIDE, 4, 1, None, 1.5),
    ("sketch-few-rows", FEW, 4, 0, 1.1, 1.001),
    ("sketch-long", LONG, 1, 0, 1 / 8, None),
    ("sketch-long-refined", LONG, 1, 5, None, 1.5),
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


def smooth(seed, n, p, n_test, rough=False):
    """A product of waves of two features; `rough`: 20 waves a unit, on clustered rows."""
    rng = np.random.default_rng(seed)
    X = rng.random((n + n_test, p))
    if rough:
        X[:, 0] = X[:, 0] ** 3
    waves = np.sin((20 if rough else 5) * X[:, 0]) * X[:, 1]
    return split(X, waves + 0.3 * rng.standard_normal(len(X)), n)


# Each side has its own penalty, the best of the powers of 10^(1/2) on other data.
ALPHAS = {False: {"one": 1.0, "blocks": 0.3}, True: {"one": 0.03, "blocks": 0.01}}


def kernel(alpha, rough):
    from sklearn.kernel_ridge import KernelRidge

    return KernelRidge(kernel="rbf", gamma=20.0 if rough else 4.0, alpha=alpha)


def blocks(data, seed, n_blocks, rough):
    from sklearn_ensemble_theory import DivideAndConquerRegressor

    alpha = ALPHAS[rough]["blocks"]
    return DivideAndConquerRegressor(kernel(alpha, rough), n_blocks, random_state=seed)


def all_rows(data, rough):
    return kernel(ALPHAS[rough]["one"], rough)


for rough in (False, True):
    register(
        Case(
            name="divide-and-conquer-kernel" + ("-rough" if rough else ""),
            title="KernelRidge on 8 blocks, n = 8,000" + (", a rough function" if rough else ""),
            data=smooth,
            params={"n": 8_000, "p": 3, "n_test": 2_000, "n_blocks": 8, "rough": rough},
            quick={"n": 400, "n_test": 100, "n_blocks": 4},
            sides={"ours": blocks, "one KernelRidge": all_rows},
            run=fit,
            quality=held_out_mse,
            metric="test MSE",
            limit=1 / 20,
            # Blocks of 1,000 rows are too few for the rough function.
            quality_ratio=None if rough else 1.03,
            runs=3,
        )
    )


def waves(seed, n, p, n_test, rough=False):
    """Two classes by the sign of a product of waves, a tenth of the labels flipped."""
    data = smooth(seed, n, p, n_test, rough)
    rng = np.random.default_rng(seed + 1)
    for part in ("y", "y_test"):
        target = getattr(data, part)
        setattr(data, part, ((target > 0) ^ (rng.random(len(target)) < 0.1)).astype(int))
    return data


def support_vectors(rough):
    from sklearn.svm import SVC

    return SVC(C=1.0, gamma=20.0 if rough else 4.0)


def voting_blocks(data, seed, n_blocks, rough):
    from sklearn_ensemble_theory import DivideAndConquerClassifier

    machine = support_vectors(rough)
    return DivideAndConquerClassifier(machine, n_blocks, voting="hard", random_state=seed)


def one_machine(data, rough):
    return support_vectors(rough)


for rough in (False, True):
    register(
        Case(
            name="divide-and-conquer-classes" + ("-rough" if rough else ""),
            title="SVC on 8 blocks, n = 16,000" + (", a rough border" if rough else ""),
            data=waves,
            params={"n": 16_000, "p": 3, "n_test": 4_000, "n_blocks": 8, "rough": rough},
            quick={"n": 400, "n_test": 100, "n_blocks": 4},
            sides={"ours": voting_blocks, "one SVC": one_machine},
            run=fit,
            quality=held_out_error,
            metric="test error",
            limit=1 / 4,
            runs=3,
        )
    )
