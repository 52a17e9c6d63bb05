"""Projected descent: the loop by hand, the bounds of its theorems, any steps, any set."""

import numpy as np
import pytest
from scipy.optimize import linprog

from sklearn_ensemble_theory import BallConstrainedClassifier
from sklearn_ensemble_theory.erm import (
    project_l1_ball,
    project_l2_ball,
    project_simplex,
    projected_gradient_descent,
)

PROJECTIONS = {
    "l1": project_l1_ball,
    "l2": project_l2_ball,
    "simplex": project_simplex,
    None: lambda v, radius: v,
}
LONGEST = {"l1": 1.0, "l2": 1.0, "simplex": 1.0}  # R for a radius of 1


def absolute_loss(n=60, p=4, seed=0):
    """The mean absolute loss: its value, a subgradient, and one for a single row."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, p))
    y = X @ np.linspace(0.9, -0.2, p) + 0.3 * rng.standard_normal(n)
    return (
        X,
        lambda beta: float(np.mean(np.abs(X @ beta - y))),
        lambda beta: X.T @ np.sign(X @ beta - y) / n,
        lambda beta, i: X[i] * np.sign(X[i] @ beta - y[i]),
        y,
    )


def least_absolute_loss(X, y, constraint, radius):
    """By a linear program; for the l2 ball by a long run with steps 1/sqrt(s)."""
    n, p = X.shape
    if constraint == "l2":
        _, f, gradient, _, _ = absolute_loss(n, p)
        return f(
            projected_gradient_descent(
                gradient, np.zeros(p), lambda s: s**-0.5, 20_000, constraint="l2", radius=radius
            ).last
        )
    # beta = a - b with a, b >= 0, residuals |X beta - y| <= t.
    A = np.block([[X, -X, -np.eye(n)], [-X, X, -np.eye(n)]])
    b = np.append(y, -y)
    cost = np.append(np.zeros(2 * p), np.full(n, 1 / n))
    total = np.append(np.ones(2 * p), np.zeros(n))[None]
    if constraint == "simplex":
        bounds = [(0, None)] * p + [(0, 0)] * p + [(0, None)] * n
        return linprog(cost, A, b, total, [radius], bounds).fun
    return linprog(cost, np.vstack([A, total]), np.append(b, radius)).fun


@pytest.mark.parametrize("constraint", PROJECTIONS)
@pytest.mark.parametrize("is_stochastic", [False, True])
def test_the_algorithms_line_by_line(constraint, is_stochastic):
    """[Shah, algorithms 1 and 2] as printed, which make k - 1 steps for k iterates."""
    _, _, gradient, of_row, _ = absolute_loss()
    rng = np.random.default_rng(1)
    k, rows = 25, rng.integers(0, 60, 25)
    steps = rng.uniform(0.05, 0.4, k)
    beta = PROJECTIONS[constraint](np.array([0.3, 0.1, 0.0, -2.0]), 0.7)
    iterates = [beta]
    for s in range(k - 1):
        g = of_row(beta, rows[s]) if is_stochastic else gradient(beta)
        beta = PROJECTIONS[constraint](beta - steps[s] * g, 0.7)
        iterates.append(beta)
    found = projected_gradient_descent(
        of_row if is_stochastic else gradient,
        [0.3, 0.1, 0.0, -2.0],
        steps,
        k,
        constraint=constraint,
        radius=0.7,
        samples=rows if is_stochastic else None,
    )
    np.testing.assert_allclose(found.mean, np.mean(iterates, axis=0), rtol=1e-12, atol=1e-14)
    g = of_row(beta, rows[-1]) if is_stochastic else gradient(beta)
    assert found.gradient_norms[-1] == pytest.approx(np.linalg.norm(g))
    moved = PROJECTIONS[constraint](beta - steps[-1] * g, 0.7)
    np.testing.assert_allclose(found.last, moved, rtol=1e-12, atol=1e-14)
    by_function = projected_gradient_descent(
        of_row if is_stochastic else gradient,
        iterates[0],
        lambda s: steps[s - 1],
        k,
        constraint=constraint,
        radius=0.7,
        samples=iter(rows) if is_stochastic else None,
    )
    np.testing.assert_allclose(by_function.mean, found.mean, rtol=1e-12, atol=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize("constraint", ["l1", "l2", "simplex"])
@pytest.mark.parametrize("k", [1, 10, 300])
def test_theorem_26_and_the_bound_of_the_run(constraint, k):
    X, f, gradient, _, y = absolute_loss()
    least = least_absolute_loss(X, y, constraint, 1.0)
    L, R = float(np.mean(np.linalg.norm(X, axis=1))), LONGEST[constraint]
    start = np.eye(4)[3]
    step = 2 * R / (L * np.sqrt(k))
    found = projected_gradient_descent(gradient, start, step, k, constraint=constraint)
    assert found.gradient_norms.max() <= L
    # The bound by the gradients that occurred is between the excess and that of the theorem.
    assert -1e-3 <= f(found.mean) - least <= found.bound <= 2 * L * R / np.sqrt(k)
    # Others: as short as they become, as long as they become, at random, and without L and k.
    rng = np.random.default_rng(0)
    for steps in (lambda s: s**-0.5, np.linspace(0.01, 1, k), rng.uniform(0.1, 1, k), "adaptive"):
        other = projected_gradient_descent(gradient, start, steps, k, constraint=constraint)
        assert f(other.mean) - least <= other.bound


def test_the_bound_of_the_run_by_hand():
    """Gradients 1, then -1: D = 2 and 1/eta = 2, 1, 4 increase by 2 and 3."""
    signs = iter([1.0, -1.0, 1.0])
    found = projected_gradient_descent(
        lambda beta: [next(signs)], [0.0], [0.5, 1.0, 0.25], 3, constraint="l2"
    )
    assert found.bound == pytest.approx((2**2 / 2 * 5 + (0.5 + 1 + 0.25) / 2) / 3)
    assert found.mean[0] == pytest.approx((0 - 0.5 + 0.5) / 3)


def test_the_worst_case_of_theorem_26():
    """|beta| from the end of the interval, one step: the excess is R L, half of the bound."""
    found = projected_gradient_descent(np.sign, [1.0], 2.0, 1, constraint="l2")
    assert np.abs(found.mean[0]) == pytest.approx(found.bound / 2)


@pytest.mark.slow
@pytest.mark.parametrize("constraint", ["l1", "l2", "simplex"])
def test_theorem_27_in_the_mean_over_samples(constraint):
    X, f, _, of_row, y = absolute_loss()
    least = least_absolute_loss(X, y, constraint, 1.0)
    k, R = 100, LONGEST[constraint]
    L = float(np.sqrt(np.mean(np.sum(X**2, axis=1))))
    rng = np.random.default_rng(2)
    excess, bounds = [], []
    for _ in range(40):
        found = projected_gradient_descent(
            of_row,
            np.eye(4)[3],
            2 * R / (L * np.sqrt(k)),
            k,
            constraint=constraint,
            samples=rng.integers(0, 60, k),
        )
        excess.append(f(found.mean) - least)
        bounds.append(found.bound)
    assert 0 < np.mean(excess) <= min(np.mean(bounds), 2 * L * R / np.sqrt(k))


def test_without_a_set_a_quadratic_function_is_minimised():
    found = projected_gradient_descent(lambda b: b - [1.0, 2.0], [0.0, 0.0], 0.5, 200)
    np.testing.assert_allclose(found.last, [1.0, 2.0])
    assert found.bound == np.inf


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_the_classifier_is_the_same_descent(norm):
    """Without an intercept the set of `BallConstrainedClassifier` is the ball."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (50, 3))
    y = np.where(X[:, 0] + 0.3 * rng.standard_normal(50) > 0, 1, -1)
    model = BallConstrainedClassifier(
        1.5, loss="hinge", norm=norm, solver="gd", max_iter=30, fit_intercept=False
    ).fit(X, y)

    def gradient(beta):
        return -X.T @ (y * (y * (X @ beta) < 1)) / 50

    L = np.mean(np.linalg.norm(X, axis=1))
    found = projected_gradient_descent(
        gradient, np.zeros(3), 3 / (L * np.sqrt(30)), 30, constraint=norm, radius=1.5
    )
    np.testing.assert_allclose(model.coef_[0], found.mean, rtol=1e-10)
    assert found.bound <= model.suboptimality_bound_


@pytest.mark.parametrize(
    ("changed", "error", "match"),
    [
        ({"gradient": 1.0}, TypeError, "gradient"),
        ({"gradient": lambda b: [1.0]}, ValueError, "2 finite"),
        ({"gradient": lambda b: [1.0, np.nan]}, ValueError, "gradient in step 1"),
        ({"gradient": lambda b: "ab"}, ValueError, "gradient in step 1"),
        ({"gradient": lambda b: 1e200 * b}, ValueError, "gradient in step 1 has entries of size"),
        ({"gradient": lambda b: 1e-200 * b}, ValueError, "gradient in step 1 has entries of size"),
        ({"gradient": lambda b: np.multiply(b, 2, out=b)}, ValueError, "read-only"),
        ({"start": [[0.0, 1.0]]}, ValueError, "start"),
        ({"start": [np.inf, 1.0]}, ValueError, "start"),
        ({"start": ["a", "b"]}, ValueError, "start"),
        ({"n_iter": 0}, ValueError, "n_iter"),
        ({"step_size": 0.0}, ValueError, "step_size"),
        ({"step_size": [0.1, 0.2]}, ValueError, "step_size"),
        ({"step_size": lambda s: -1.0}, ValueError, "step_size"),
        ({"step_size": lambda s: [0.1]}, ValueError, "step_size in step 1"),
        ({"step_size": lambda s: "a"}, ValueError, "step_size in step 1"),
        ({"step_size": 1e-310}, ValueError, "step_size in step 1"),
        ({"step_size": ["a"]}, ValueError, "step_size"),
        ({"step_size": 1e10, "n_iter": 50, "constraint": None}, ValueError, "size"),
        (
            {
                "start": [1e308, 1e308],
                "step_size": 1e308,
                "gradient": lambda b: [-1.0, 0.0],
                "constraint": None,
            },
            ValueError,
            "smaller step_size",
        ),
        ({"step_size": "constant"}, ValueError, "adaptive"),
        ({"step_size": "adaptive", "constraint": None}, ValueError, "constraint"),
        ({"constraint": "l3"}, ValueError, "constraint"),
        ({"constraint": ["l1"]}, ValueError, "constraint"),
        ({"radius": 0.0}, ValueError, "radius"),
        ({"radius": 1e200}, ValueError, "radius"),
        ({"samples": 5}, TypeError, "samples"),
        ({"gradient": lambda b, u: b + u, "samples": [1.0]}, ValueError, "samples"),
    ],
)
def test_bad_input(changed, error, match):
    valid = {
        "gradient": lambda b: b - 1,
        "start": [0.0, 0.5],
        "step_size": 0.1,
        "n_iter": 5,
        "constraint": "l2",
    }
    with pytest.raises(error, match=match):
        projected_gradient_descent(**{**valid, **changed})
