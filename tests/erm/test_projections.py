"""Projections against a QP solver, and by the inequality that characterises them."""

import numpy as np
import pytest
from scipy.optimize import minimize

from sklearn_ensemble_theory.erm import project_l1_ball, project_l2_ball, project_simplex

PROJECTIONS = {"l1": project_l1_ball, "l2": project_l2_ball, "simplex": project_simplex}


def by_a_qp_solver(name, v, radius):
    """The projection by SLSQP; the l1 ball as z = a - b with a, b >= 0 and a sum of the radius."""
    p = len(v)

    def distance(z):
        return 0.5 * np.sum((z - v) ** 2), z - v

    if name == "simplex":
        start, bounds = np.full(p, radius / p), [(0, None)] * p
        sums = {"type": "eq", "fun": lambda z: z.sum() - radius, "jac": np.ones_like}
        found = minimize(distance, start, jac=True, bounds=bounds, constraints=sums, tol=1e-14)
        return found.x
    if name == "l2":
        ball = {"type": "ineq", "fun": lambda z: radius**2 - z @ z, "jac": lambda z: -2 * z}
        return minimize(distance, np.zeros(p), jac=True, constraints=ball, tol=1e-14).x

    def split(ab):
        value, slope = distance(ab[:p] - ab[p:])
        return value, np.append(slope, -slope)

    sums = {"type": "ineq", "fun": lambda ab: radius - ab.sum(), "jac": lambda ab: -np.ones(2 * p)}
    start, bounds = np.full(2 * p, radius / 4 / p), [(0, None)] * (2 * p)
    ab = minimize(split, start, jac=True, bounds=bounds, constraints=sums, tol=1e-14).x
    return ab[:p] - ab[p:]


@pytest.mark.parametrize("name", PROJECTIONS)
@pytest.mark.parametrize("radius", [0.3, 1.0, 4.0])
def test_projections_equal_those_of_a_qp_solver(name, radius):
    rng = np.random.default_rng(0)
    for p in (1, 2, 7):
        v = 1.5 * rng.standard_normal(p)
        expected = by_a_qp_solver(name, v, radius)
        np.testing.assert_allclose(PROJECTIONS[name](v, radius), expected, atol=1e-6)


@pytest.mark.parametrize("name", PROJECTIONS)
def test_no_point_of_the_set_is_on_the_far_side(name):
    """(x - pi(x))'(z - pi(x)) <= 0 for all z of the set, which holds for the projection only."""
    rng = np.random.default_rng(1)
    x = 3 * rng.standard_normal((200, 12))
    z = PROJECTIONS[name](rng.standard_normal((200, 12)), 2.0)
    projected = PROJECTIONS[name](x, 2.0)
    assert np.einsum("ij,kij->ki", x - projected, z[:, None] - projected).max() <= 1e-12
    # They are no farther from each other than before.
    shorter = np.linalg.norm(projected[1:] - projected[:-1], axis=1)
    assert np.all(shorter <= np.linalg.norm(x[1:] - x[:-1], axis=1) + 1e-12)
    np.testing.assert_allclose(PROJECTIONS[name](projected, 2.0), projected, atol=1e-14)


@pytest.mark.parametrize("name", PROJECTIONS)
def test_rows_are_projected_one_by_one(name):
    v = np.random.default_rng(2).standard_normal((3, 4, 5))
    expected = [[PROJECTIONS[name](row, 0.7) for row in block] for block in v]
    np.testing.assert_array_equal(PROJECTIONS[name](v, 0.7), expected)


@pytest.mark.parametrize("scale", [1e-150, 1e150, 1e307])
def test_extreme_scales(scale):
    v = np.array([0.5, -1.5, 0.25, 0.0])
    for project in PROJECTIONS.values():
        np.testing.assert_allclose(project(v * scale, scale) / scale, project(v), atol=1e-12)
    np.testing.assert_allclose(project_simplex([1e17, 1e17, 0.0]), [0.5, 0.5, 0.0])


def test_the_ball_of_radius_0_and_points_inside():
    v = np.array([0.1, -0.2])
    for project in (project_l1_ball, project_l2_ball):
        np.testing.assert_array_equal(project(v), v)
        np.testing.assert_array_equal(project(v, 0.0), [0.0, 0.0])
        np.testing.assert_array_equal(project(np.zeros(3)), np.zeros(3))


@pytest.mark.parametrize("project", PROJECTIONS.values())
@pytest.mark.parametrize(
    ("v", "radius", "match"),
    [
        ([np.nan, 1.0], 1.0, "v contains NaN"),
        (1.0, 1.0, "v must have a last axis"),
        ([], 1.0, "v must have a last axis"),
        ([1.0], -1.0, "radius must be"),
        ([1.0], np.inf, "radius must be"),
    ],
)
def test_bad_input(project, v, radius, match):
    with pytest.raises(ValueError, match=match):
        project(v, radius)
