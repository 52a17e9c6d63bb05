"""The compiled steps over a ball by themselves; `tests/boosting` has their paths."""

import numpy as np
import pytest

from .loops import GramSteps, Loss, RowSteps, direction_of, settle

ROUNDS, TOL, STALLED, ROW, REFRESH = range(5)


def gram_problem(d, seed=0):
    rng = np.random.default_rng(seed)
    psi = rng.standard_normal((2 * d + 3, d))
    return psi.T @ psi / len(psi), rng.standard_normal(d)


@pytest.mark.parametrize("d", [1, 7, 8, 9, 16, 33])
def test_plain_steps_on_the_gram_matrix(d):
    gram, at_zero = gram_problem(d)
    beta, c, square, radius = np.zeros(d), at_zero.copy(), 900.0, 5.0
    steps = GramSteps(at_zero, square, list(gram))
    steps.start(beta, c)
    gaps, risks = np.empty(6), np.empty(6)
    code, n_steps = steps.run(radius, -1.0, 0, 0, 0, 5, gaps, risks, None)
    assert (code, n_steps) == (ROUNDS, 5) or (code == STALLED and d == 1)
    point = np.zeros(d)
    for t in range(n_steps + 1):
        slope = at_zero - gram @ point
        end = np.zeros(d)
        k = np.abs(slope).argmax()
        end[k] = radius * np.sign(slope[k])
        direction = end - point
        assert gaps[t] == pytest.approx(slope @ direction, abs=1e-12)
        assert risks[t] == pytest.approx((square - point @ (at_zero + slope)) / 2, rel=1e-12)
        if t < n_steps:
            curvature = direction @ gram @ direction
            share = min(slope @ direction / curvature, 1.0) if curvature > 0 else 0.0
            point = point + share * direction
    np.testing.assert_allclose(beta, point, atol=1e-12)
    np.testing.assert_allclose(c, at_zero - gram @ point, atol=1e-12)


def test_rows_are_asked_for_and_may_be_forgotten():
    gram, at_zero = gram_problem(5)
    views = [None] * 5
    steps = GramSteps(at_zero, 9.0, views)
    beta, c = np.zeros(5), at_zero.copy()
    steps.start(beta, c)
    code, t = steps.run(2.0, 1e-9, 2, 0, 0, 300, None, None, None)
    n_asked = 0
    while code == ROW:
        assert views[steps.needed] is None
        views[:] = [None] * 5 if n_asked % 3 == 0 else views
        views[steps.needed] = gram[steps.needed].copy()
        steps.forget_rows()
        n_asked += 1
        if n_asked > 50:
            views[:] = list(gram)
        code, t = steps.run(2.0, 1e-9, 2, 0, t, 300, None, None, None)
    assert code == TOL
    assert n_asked >= 2
    np.testing.assert_allclose(c, at_zero - gram @ beta, atol=1e-12)


def test_a_refresh_is_asked_for():
    gram, at_zero = gram_problem(6)
    steps = GramSteps(at_zero, 9.0, list(gram))
    steps.start(np.zeros(6), at_zero.copy())
    assert steps.run(0.5, -1.0, 0, 1, 0, 2000, None, None, None) == (REFRESH, 500)


def test_the_gap_of_some_columns():
    at_zero = np.array([3.0, 2.0, 1.0])
    steps = GramSteps(at_zero, 20.0, list(np.eye(3)))
    steps.start(np.zeros(3), at_zero.copy())
    gaps, risks = np.empty(1), np.empty(1)
    steps.run(2.0, -1.0, 0, 0, 0, 0, gaps, risks, np.array([1, 2]))
    assert gaps[0] == 4.0


def test_a_direction_that_ties_goes_to_the_first_atom():
    c, beta = np.array([1.0, 1.0 + 1e-12, -1.0]), np.zeros(3)
    assert direction_of(c, beta, 2.0, 1, 2.0, 0)[1] == (1,)
    assert direction_of(c, beta, 2.0, 1, 2.0, 2)[1] == (0,)
    beta[2] = 1.5  # on the wrong side, where 0 has a quarter of the weight
    shrink, atoms, values, longest, gain = direction_of(c, beta, 2.0, 1, 3.5, 2)
    assert (shrink, atoms, values, longest) == (0.0, (0, 2), (2.0, -2.0), 0.75)
    assert gain == pytest.approx(4.0)
    shrink, atoms, values, longest, gain = direction_of(c, beta, 2.0, 1, 0.1, 1)
    assert (shrink, atoms, values, longest) == (-1.0, (2,), (-2.0,), 3.0)
    assert gain == pytest.approx(0.5)


def test_points_are_settled():
    beta = np.array([1.0, 1e-16, -1.0 - 1e-15])
    settle(beta, 2.0, 1, 0.5, 0.5)
    assert beta[1] == 0.0
    assert np.abs(beta).sum() <= 2.0
    settle(beta, 2.0, -1, 0.5, 0.5)


@pytest.mark.parametrize("n", [1, 3, 8, 255, 257])
@pytest.mark.parametrize("kind", ["logistic", "exponential", "poisson", "binomial", "tweedie"])
def test_the_state_of_rows(n, kind):
    """The correlations at a point, and the risk."""
    rng = np.random.default_rng(n)
    X, weight = rng.standard_normal((n, 3)), rng.uniform(0.5, 1.5, n)
    weight /= weight.sum()
    y = np.sign(rng.standard_normal(n)) if kind in ("logistic", "exponential") else np.ones(n)
    loss, offset, scale = Loss(kind), weight @ X, np.full(3, 2.0)
    usable = np.array([1, 0, 1], dtype=np.uint8)
    u, target, c = rng.standard_normal(n), np.empty(n), np.empty(3)
    steps = RowSteps(X, offset, scale, usable, loss, y, weight, 1.0, False)
    assert steps.start(np.zeros(3), c, u, target, 0.0)
    gradient = np.empty(n)
    assert steps.value == pytest.approx(loss.value(y, u, weight, gradient, 1), rel=1e-13)
    np.testing.assert_array_equal(target, gradient)
    expected = usable * (((X - offset) / scale).T @ (weight * gradient))
    np.testing.assert_allclose(c, expected, atol=1e-13)


def test_numbers_that_are_not_finite_are_left_to_the_caller():
    X = np.ones((4, 1))
    for u in (np.full(4, np.nan), np.array([np.inf, 0.0, 0.0, 0.0])):
        given = X, np.zeros(1), np.ones(1), np.ones(1, dtype=np.uint8), Loss("poisson")
        steps = RowSteps(*given, np.ones(4), np.ones(1), 1.0, True)
        steps.start(np.zeros(1), np.empty(1), u, np.empty(4), 0.0)


def test_arrays_that_do_not_fit_are_refused():
    gram, at_zero = gram_problem(3)
    with pytest.raises(ValueError, match="fit together"):
        GramSteps(at_zero, 1.0, list(gram)[:2])
    steps = GramSteps(at_zero, 1.0, list(gram[:, :2]))
    with pytest.raises(ValueError, match="fit together"):
        steps.start(np.zeros(2), at_zero.copy())
    steps.start(np.zeros(3), at_zero.copy())
    with pytest.raises(ValueError, match="fit together"):
        steps.run(1.0, 0.0, 0, 0, 0, 5, None, None, None)
    with pytest.raises(ValueError, match="fit together"):
        steps.run(1.0, 0.0, 3, 0, 0, 5, None, None, None)
    with pytest.raises(ValueError, match="fit together"):
        steps.run(1.0, 0.0, 0, 0, 0, 5, np.empty(5), np.empty(6), None)
    with pytest.raises(ValueError, match="fit together"):
        steps.run(1.0, 0.0, 0, 0, 0, 5, None, None, np.array([3]))
    with pytest.raises(ValueError, match="fit together"):
        direction_of(at_zero, np.zeros(2), 1.0, 0, 1.0, 0)
    with pytest.raises(ValueError, match="fit together"):
        settle(np.zeros(2), 1.0, 2, 1.0, 1.0)
    X, ones = np.ones((4, 2)), np.ones(2)
    for changed in ({"offset": np.ones(3)}, {"y": np.ones(3)}, {"weight": np.ones(2)}):
        given = {"X": X, "offset": ones, "scale": ones, "usable": np.ones(2, dtype=np.uint8)}
        given |= {"loss": Loss("logistic"), "y": np.ones(4), "weight": np.ones(4)}
        with pytest.raises(ValueError, match="fit together"):
            RowSteps(**{**given, **changed}, smoothness=1.0, has_intercept=True)
    with pytest.raises(ValueError, match="fit together"):
        RowSteps(**{**given, "loss": Loss("kink")}, smoothness=1.0, has_intercept=True)
    # What has not been started has no arrays.
    rows = RowSteps(**given, smoothness=1.0, has_intercept=True)
    for fresh in (GramSteps(at_zero, 1.0, list(gram)), rows):
        with pytest.raises(ValueError, match="fit together"):
            fresh.run(1.0, 0.0, 0, 0, 0, 5, None, None, None)
