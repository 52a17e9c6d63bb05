"""Rademacher complexities: enumeration, closed forms, simulation, and their properties."""

import itertools
import math

import numpy as np
import pytest

from sklearn_ensemble_theory import bounds


def all_signs(n):
    return np.array(list(itertools.product([-1.0, 1.0], repeat=n)))


def mean_of_absolute_sum(n):
    """E |e_1 + ... + e_n| for independent signs."""
    return n * math.comb(n - 1, (n - 1) // 2) / 2 ** (n - 1)


def by_enumeration(behaviours):
    """The definition, sign by sign."""
    rows = np.asarray(behaviours)
    n = rows.shape[1]
    return np.mean([max(float(e @ f) for f in rows) for e in all_signs(n)]) / n


# The definition


@pytest.mark.parametrize("n", [1, 4, 7])
def test_complexity_is_its_definition(n):
    rows = np.random.default_rng(n).standard_normal((5, n))
    found = bounds.empirical_rademacher_complexity(rows)
    assert found == pytest.approx(by_enumeration(rows), abs=1e-12)
    exact, error = bounds.empirical_rademacher_complexity(rows, return_std=True)
    assert (exact, error) == (found, 0.0)


def test_complexities_that_are_known():
    """One function, a shattered set, and the constants -1 and 1."""
    assert bounds.empirical_rademacher_complexity([[3.0, -2.0, 1.0]]) == 0
    for seed in range(10):
        one = np.random.default_rng(seed).standard_normal((1, 20))
        assert 0 <= bounds.empirical_rademacher_complexity(one[:, :9]) < 1e-15
        assert 0 <= bounds.empirical_rademacher_complexity(one, random_state=seed) < 0.01
    assert bounds.empirical_rademacher_complexity(all_signs(6)) == 1
    for n in (1, 2, 9, 16):
        constants = np.array([[-1.0], [1.0]]) * np.ones(n)
        found = bounds.empirical_rademacher_complexity(constants)
        assert found == pytest.approx(mean_of_absolute_sum(n) / n, abs=1e-12)


def test_simulated_complexity():
    """More than 16 points: within 3 standard errors, which are small enough for 5 %."""
    n = 40
    constants = np.array([[-1.0], [1.0]]) * np.ones(n)
    mean, error = bounds.empirical_rademacher_complexity(
        constants, n_draws=20_000, random_state=0, return_std=True
    )
    exact = mean_of_absolute_sum(n) / n
    assert abs(mean - exact) < 3 * error < 0.02 * exact
    again = bounds.empirical_rademacher_complexity(constants, n_draws=20_000, random_state=0)
    assert again == mean
    # The standard error is that of the mean: over seeds it is the standard deviation.
    means, errors = np.transpose(
        [
            bounds.empirical_rademacher_complexity(
                constants, n_draws=200, random_state=seed, return_std=True
            )
            for seed in range(300)
        ]
    )
    assert means.std() == pytest.approx(errors.mean(), rel=0.15)


def test_signs_by_several_arrays():
    """Many behaviours, or many draws: more numbers than one array of signs is made for."""
    few = np.random.default_rng(0).standard_normal((8, 10))
    expected = bounds.empirical_rademacher_complexity(few)
    found = bounds.empirical_rademacher_complexity(np.repeat(few, 1024, axis=0))
    assert found == pytest.approx(expected, rel=1e-12)
    points, n_draws = np.random.default_rng(0).standard_normal((30, 2)), 150_000
    signs = 2.0 * np.random.RandomState(0).randint(0, 2, (n_draws, 30)) - 1
    expected = (signs @ bounds.stump_behaviours(points).T).max(axis=1).mean() / 30
    found = bounds.stump_rademacher_complexity(points, n_draws=n_draws, random_state=0)
    assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("scale", [1e-320, 1e-200, 1e200, 1.7e308])
def test_values_of_any_size(scale):
    """Without warnings and up to rounding; a product that is no float is infinite."""
    rows = np.array([[1.0, -0.5, 0.2], [0.3, 1.0, -1.0]])
    rel = 1e-3 if scale < 1e-300 else 1e-12
    for name in ("empirical", "l1_ball", "l2_ball"):
        function = getattr(bounds, f"{name}_rademacher_complexity")
        assert function(rows * scale) == pytest.approx(function(rows) * scale, rel=rel, abs=0)
    large = bounds.l1_ball_rademacher_complexity(rows * 1e300, 1e300, return_std=True)
    assert large == (np.inf, np.inf)


# Exact suprema over infinite classes


@pytest.mark.parametrize("seed", range(4))
def test_complexity_of_stumps_is_that_of_their_behaviours(seed):
    """With ties and with one feature and several; n = 10 is enumerated, n = 25 simulated."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, (10, seed + 1)).astype(float)
    listed = bounds.empirical_rademacher_complexity(bounds.stump_behaviours(X))
    assert bounds.stump_rademacher_complexity(X) == pytest.approx(listed, abs=1e-12)
    X = rng.standard_normal((25, seed + 1))
    settings = {"n_draws": 500, "random_state": seed}
    listed = bounds.empirical_rademacher_complexity(bounds.stump_behaviours(X), **settings)
    found = bounds.stump_rademacher_complexity(X, **settings)
    assert found == pytest.approx(listed, abs=1e-12)


def test_complexity_of_stumps_by_hand():
    """One point; and equal points, where all stumps are constant."""
    assert bounds.stump_rademacher_complexity([[3.0]]) == 1
    found = bounds.stump_rademacher_complexity(np.zeros((8, 2)))
    assert found == pytest.approx(mean_of_absolute_sum(8) / 8, abs=1e-12)
    # Two points of one feature are shattered; with n points at least the constants are there.
    assert bounds.stump_rademacher_complexity([[0.0], [1.0]]) == 1


def test_complexity_of_l1_balls():
    """The 2p vertices, and one feature of ones."""
    X = np.random.default_rng(0).standard_normal((9, 4))
    vertices = 2.5 * np.vstack([X.T, -X.T])
    found = bounds.l1_ball_rademacher_complexity(X, 2.5)
    assert found == pytest.approx(by_enumeration(vertices), abs=1e-12)
    assert bounds.l1_ball_rademacher_complexity(np.ones((12, 3)), 2.0) == pytest.approx(
        2 * mean_of_absolute_sum(12) / 12, abs=1e-12
    )
    assert bounds.l1_ball_rademacher_complexity(X, 0.0) == 0


def test_complexity_of_l2_balls():
    """The mean of norms by enumeration; orthogonal points; one feature."""
    X = np.random.default_rng(0).standard_normal((8, 3))
    norms = [np.linalg.norm(e @ X) for e in all_signs(8)]
    found = bounds.l2_ball_rademacher_complexity(X, 1.7)
    assert found == pytest.approx(1.7 * np.mean(norms) / 8, abs=1e-12)
    # The supremum over directions of the plane.
    angles = np.linspace(0, 2 * np.pi, 4001)
    circle = np.column_stack([np.cos(angles), np.sin(angles)]) @ X[:, :2].T
    listed = bounds.empirical_rademacher_complexity(circle)
    assert bounds.l2_ball_rademacher_complexity(X[:, :2]) == pytest.approx(listed, rel=1e-6)
    assert bounds.l2_ball_rademacher_complexity(5 * np.eye(9), 2.0) == pytest.approx(10 / 3)
    assert bounds.l2_ball_rademacher_complexity(np.ones((10, 1))) == pytest.approx(
        mean_of_absolute_sum(10) / 10, abs=1e-12
    )
    # Khintchine's and Kahane's inequality: not below 1 / sqrt(2) of the bound.
    for points in (X, np.ones((2, 1)), np.ones((3, 1))):
        largest = np.sqrt((points**2).sum()) / len(points)
        complexity = bounds.l2_ball_rademacher_complexity(points)
        assert largest / math.sqrt(2) <= complexity * (1 + 1e-12) <= largest * (1 + 1e-9)


def test_complexity_of_boosted_functions():
    """[Bach, eq. (10.14)]: D times that of the weak learners, for columns and for stumps."""
    X = np.random.default_rng(0).standard_normal((9, 2))
    stumps = bounds.stump_behaviours(X)
    boosted = bounds.l1_ball_rademacher_complexity(stumps.T, 3.0)
    assert boosted == pytest.approx(3 * bounds.stump_rademacher_complexity(X), abs=1e-12)
    # No combination of weights with sum of absolute values 3 is beyond the supremum.
    weights = np.random.default_rng(1).laplace(size=(500, len(stumps)))
    weights *= 3 / np.abs(weights).sum(axis=1, keepdims=True)
    signs = all_signs(9)
    suprema = 3 * np.abs(signs @ stumps.T).max(axis=1)
    assert ((signs @ (weights @ stumps).T).max(axis=1) <= suprema + 1e-9).all()


# Properties


def test_complexity_of_sums_is_the_sum():
    """[Shah, §2.4], property (i), for empirical complexities and so for their expectations."""
    rng = np.random.default_rng(0)
    for _ in range(3):
        A, B = rng.standard_normal((4, 8)), rng.standard_normal((6, 8))
        sums = (A[:, None] + B).reshape(-1, 8)
        apart = sum(bounds.empirical_rademacher_complexity(rows) for rows in (A, B))
        assert bounds.empirical_rademacher_complexity(sums) == pytest.approx(apart, abs=1e-12)


def test_complexity_of_convex_hulls():
    """[Shah, lemma 21]: functions of the hull do not change it."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((5, 9))
    hull = rng.dirichlet(np.ones(5) * 0.3, 200) @ A
    whole = bounds.empirical_rademacher_complexity(np.vstack([A, hull]))
    assert whole == pytest.approx(bounds.empirical_rademacher_complexity(A), abs=1e-12)
    assert bounds.empirical_rademacher_complexity(hull) < whole


def test_losses_have_half_the_complexity_of_classifiers():
    rng = np.random.default_rng(0)
    H = np.sign(rng.standard_normal((7, 10)))
    y = np.sign(rng.standard_normal(10))
    losses = bounds.empirical_rademacher_complexity((y != H).astype(float))
    assert losses == pytest.approx(bounds.empirical_rademacher_complexity(H) / 2, abs=1e-12)


def test_contraction():
    """[Shah, lemma 19] on any points and labels; a linear phi attains it."""
    rng = np.random.default_rng(0)
    r = 1.5
    H = rng.uniform(-r, r, (12, 8))
    complexity = bounds.empirical_rademacher_complexity(H)
    for seed in range(5):
        y = np.random.default_rng(seed).choice([-1.0, 1.0], 8)
        for phi, lipschitz in [
            (lambda u: np.maximum(1 - u, 0), 1.0),
            (lambda u: np.exp(-u), math.exp(r)),
            (lambda u: np.logaddexp(0, -u), 1 / (1 + math.exp(-r))),
            (np.abs, 1.0),
        ]:
            losses = bounds.empirical_rademacher_complexity(phi(y * H))
            assert losses <= bounds.rademacher_contraction_bound(complexity, lipschitz)
        linear = bounds.empirical_rademacher_complexity(3 - 2 * y * H)
        assert linear == pytest.approx(
            bounds.rademacher_contraction_bound(complexity, 2.0), rel=1e-10
        )


def test_union_of_classes():
    """[Shah, §2.4], property (ii), for empirical and expected complexities; m = 1 by hand."""
    rng = np.random.default_rng(0)
    n, m, expected = 8, 5, []
    for _ in range(40):
        classes = rng.uniform(-1, 1, (m, 4, n))
        apart = [bounds.empirical_rademacher_complexity(F) for F in classes]
        whole = bounds.empirical_rademacher_complexity(classes.reshape(-1, n))
        assert max(apart) <= whole <= bounds.rademacher_union_bound(apart, n)
        expected.append([whole, *apart])
    whole, *apart = np.mean(expected, axis=0)
    assert whole <= bounds.rademacher_union_bound(apart, n)
    assert bounds.rademacher_union_bound([0.3], 5, 9.0) == 0.3
    found = bounds.rademacher_union_bound([[0.1, 0.2, 0.0], [0.0, 0.0, 0.0]], 200, 3.0)
    np.testing.assert_allclose(
        found, [0.2 + 0.3 * math.sqrt(math.log(3)), 0.3 * math.sqrt(math.log(3))], rtol=1e-12
    )


def test_finitely_many_behaviours():
    """[Shah, lemma 12] for random classes, with B, and for losses with B = 1/2."""
    rng = np.random.default_rng(0)
    for size in (1, 3, 40, 400):
        H = rng.choice([-1.0, 1.0], (size, 10))
        log_size = math.log(bounds.n_behaviours(H))
        found = bounds.empirical_rademacher_complexity(H)
        assert found <= bounds.finite_behaviours_rademacher_bound(10, log_size) + 1e-12
        losses = bounds.empirical_rademacher_complexity((H + 1) / 2)
        assert losses <= bounds.finite_behaviours_rademacher_bound(10, log_size, 0.5) + 1e-12
        scaled = bounds.empirical_rademacher_complexity(3 * H)
        assert scaled <= bounds.finite_behaviours_rademacher_bound(10, log_size, 3.0) + 1e-12
    assert bounds.finite_behaviours_rademacher_bound(50, math.log(1)) == 0
    found = bounds.finite_behaviours_rademacher_bound(8, 16.0, 0.5)
    assert found == pytest.approx(1.0, abs=1e-12)
    # The order is right: of 2^n behaviours the complexity is 1, the bound sqrt(2 log 2).
    shattered = bounds.finite_behaviours_rademacher_bound(6, 6 * math.log(2))
    assert shattered == pytest.approx(math.sqrt(2 * math.log(2)), rel=1e-12)


@pytest.mark.parametrize(
    ("name", "arguments", "parameter"),
    [
        ("empirical_rademacher_complexity", ([1.0, 2.0],), "behaviours|2D"),
        ("empirical_rademacher_complexity", ([[np.nan]],), "behaviours"),
        ("stump_rademacher_complexity", ([[np.inf]],), "X"),
        ("l1_ball_rademacher_complexity", ([[1.0]], -1.0), "radius"),
        ("l2_ball_rademacher_complexity", ([[1.0]], np.nan), "radius"),
        ("rademacher_contraction_bound", (-1.0, 1.0), "complexity"),
        ("rademacher_contraction_bound", (1.0, -1.0), "lipschitz"),
        ("rademacher_union_bound", (0.5, 10), "complexities"),
        ("rademacher_union_bound", ([0.5], 0), "n_samples"),
        ("rademacher_union_bound", ([0.5], 10, -1.0), "value_bound"),
        ("finite_behaviours_rademacher_bound", (0, 1.0), "n_samples"),
        ("finite_behaviours_rademacher_bound", (10, -1.0), "log_n_behaviours"),
        ("finite_behaviours_rademacher_bound", (10, 1.0, -1.0), "value_bound"),
    ],
)
def test_arguments_out_of_range_are_named(name, arguments, parameter):
    with pytest.raises(ValueError, match=parameter):
        getattr(bounds, name)(*arguments)


def test_number_of_draws_is_checked():
    for name in ("empirical", "stump", "l1_ball", "l2_ball"):
        with pytest.raises(ValueError, match="n_draws"):
            getattr(bounds, f"{name}_rademacher_complexity")([[1.0]], n_draws=1)
