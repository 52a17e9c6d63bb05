"""Behaviours, VC dimensions and what follows: counts by brute force, bounds on risks."""

import itertools
import math

import numpy as np
import pytest

from sklearn_ensemble_theory import bounds


def brute_vc_dimension(rows):
    """The largest shattered subset, over all subsets."""
    n = rows.shape[1]
    sizes = [
        size
        for size in range(1, n + 1)
        for chosen in itertools.combinations(range(n), size)
        if len({tuple(row) for row in rows[:, chosen]}) == 2**size
    ]
    return max(sizes, default=0)


@pytest.mark.parametrize("seed", range(5))
def test_vc_dimension_and_shattering_by_brute_force(seed):
    rng = np.random.default_rng(seed)
    rows = rng.choice([-1.0, 1.0], (4 * seed + 1, 6))
    assert bounds.vc_dimension(rows) == brute_vc_dimension(rows)
    assert bounds.shattering_coefficient(np.vstack([rows, rows])) == len(
        {tuple(row) for row in rows}
    )
    for size in (0, 1, 3, 6):
        counts = [
            len({tuple(row) for row in rows[:, list(chosen)]})
            for chosen in itertools.combinations(range(6), size)
        ]
        assert bounds.shattering_coefficient(rows, size) == max(counts)


def test_counts_by_hand():
    cube = np.array(list(itertools.product([0.0, 1.0], repeat=5)))
    assert bounds.vc_dimension(cube) == 5
    assert bounds.shattering_coefficient(cube) == 32
    assert bounds.shattering_coefficient(cube, 3) == 8
    assert bounds.vc_dimension(np.ones((3, 4))) == 0
    assert bounds.shattering_coefficient([[0.0, 1.0], [-0.0, 1.0]]) == 1
    # Sets of at most 3 of 20 points.
    sets = np.array([row for row in np.tri(20, 21, -1) if row.sum() <= 3])
    assert bounds.vc_dimension(sets) == 1


# The classes of the notes


@pytest.mark.parametrize("n", [1, 2, 3, 8, 12])
def test_intervals(n):
    """(n+1 choose 2) + 1 blocks; with their complements, arcs of a circle: n(n-1) + 2."""
    x = np.random.default_rng(n).permutation(n).astype(float)
    rows = bounds.behaviours("intervals", x)
    assert len(rows) == n * (n + 1) // 2 + 1 <= (n + 1) ** 2
    assert bounds.shattering_coefficient(rows) == n * (n + 1) // 2 + 1
    assert bounds.vc_dimension(rows) == min(n, 2)
    signed = bounds.behaviours("signed_intervals", x)
    assert len(signed) == n * (n - 1) + 2
    assert bounds.vc_dimension(signed) == min(n, 3)
    # Every classifier of the class is among them.
    listed = {tuple(row) for row in rows}
    for a, b in np.random.default_rng(0).uniform(-1, n, (200, 2)):
        assert tuple(np.where((x >= a) & (x < b), 1.0, -1.0)) in listed


def test_intervals_with_equal_points():
    rows = bounds.behaviours("intervals", [1.0, 1.0, 2.0])
    assert (rows[:, 0] == rows[:, 1]).all()
    assert len(rows) == 4


def test_stumps():
    """2n behaviours on the line, at most 2p(n - 1) + 2 in general; every stump is listed."""
    rng = np.random.default_rng(0)
    for n, p in [(1, 1), (6, 1), (9, 3)]:
        X = rng.standard_normal((n, p))
        rows = bounds.behaviours("stumps", X)
        assert bounds.shattering_coefficient(rows) == len(rows) <= 2 * p * (n - 1) + 2
        listed = {tuple(row) for row in rows}
        for j, a, sign in zip(
            rng.integers(0, p, 300), rng.uniform(-3, 3, 300), rng.choice([-1.0, 1.0], 300)
        ):
            stump = np.where(sign * (X[:, j] - a) > 0, 1.0, -1.0)
            assert tuple(stump) in listed
    line = bounds.behaviours("stumps", np.arange(7.0)[:, None])
    assert len(line) == 14
    assert bounds.vc_dimension(line) == 2
    # Three points of the plane are shattered, and no four.
    plane = bounds.behaviours("stumps", rng.standard_normal((9, 2)))
    assert bounds.vc_dimension(plane) == 3


def test_vc_dimension_of_stumps():
    """Attained by orders of the points in which every subset is first or last; 4 and 5 points."""
    orders = {
        1: ["12"],
        2: ["123", "213"],
        3: ["1234", "3124", "4132"],
        5: ["12534", "31452", "14235", "15324", "23145"],
    }
    for p, orders_of_features in orders.items():
        X = np.array([np.argsort(list(order)) for order in orders_of_features]).T
        found = bounds.vc_dimension(bounds.behaviours("stumps", X))
        assert found == len(X) == bounds.stump_vc_dimension(p)
    assert bounds.stump_vc_dimension(4) == 4
    # Random points shatter no more.
    rng = np.random.default_rng(0)
    for p in (1, 2, 3):
        for _ in range(30):
            found = bounds.vc_dimension(bounds.behaviours("stumps", rng.standard_normal((7, p))))
            assert found <= bounds.stump_vc_dimension(p)


@pytest.mark.parametrize("p", [1, 2, 3])
def test_orthants(p):
    rng = np.random.default_rng(p)
    X = np.vstack([np.eye(p), rng.standard_normal((6, p))])
    rows = bounds.behaviours("orthants", X)
    assert bounds.shattering_coefficient(bounds.behaviours("orthants", np.eye(p))) == 2**p
    assert bounds.vc_dimension(rows) == p
    assert len(rows) <= bounds.sauer_shelah_bound(len(X), p)
    listed = {tuple(row) for row in rows}
    for a in rng.uniform(-2, 2, (300, p)):
        assert tuple(np.where((a >= X).all(axis=1), 1.0, -1.0)) in listed


def cover(n, d):
    """The number of behaviours of half-spaces of dimension d on n points in general position."""
    return 2 * bounds.sauer_shelah_bound(n - 1, d - 1)


def test_halfspaces_in_general_position():
    """Cover's number, with and without an intercept; the VC dimension of proposition 14."""
    rng = np.random.default_rng(0)
    for n, p, intercept in [(1, 2, True), (3, 2, True), (6, 2, True), (6, 1, True), (5, 3, False)]:
        X = rng.standard_normal((n, p))
        rows = bounds.behaviours("halfspaces" if intercept else "linear_halfspaces", X)
        assert len(rows) == cover(n, p + intercept)
        assert bounds.vc_dimension(rows) == min(n, p + intercept)
        beta = rng.standard_normal((300, p))
        scores = X @ beta.T + intercept * rng.standard_normal(300)
        assert {tuple(s) for s in np.where(scores > 0, 1.0, -1.0).T} <= {tuple(r) for r in rows}
    for n in (2, 5, 40):
        assert cover(n, 2) == 2 * n
        assert cover(n, 2) == 2 * n
        assert cover(n, n + 1) == 2.0**n


def test_halfspaces_of_a_vector_space_of_functions():
    """[Shah, proposition 14]: parabolas with a constant have dimension 3; and sgn(0) = -1."""
    x = np.array([-1.5, -0.4, 0.3, 1.1, 2.0])
    rows = bounds.behaviours("halfspaces", np.column_stack([x, x**2]))
    assert bounds.vc_dimension(rows) == 3
    assert len(rows) == cover(5, 3)
    origin = bounds.behaviours("linear_halfspaces", [[0.0, 0.0], [1.0, 2.0]])
    np.testing.assert_array_equal(origin, [[-1.0, -1.0], [-1.0, 1.0]])
    # Collinear points have fewer behaviours.
    line = bounds.behaviours("halfspaces", np.outer(np.arange(5.0), [1.0, 2.0]))
    assert len(line) == 10 < cover(5, 3)


def test_votes_of_classifiers():
    """By brute force below the product of the numbers and the bound on the VC dimension."""
    stumps = bounds.behaviours("stumps", np.arange(6.0)[:, None])
    votes = bounds.vote_behaviours([stumps] * 3)
    sums = stumps[:, None, None] + stumps[None, :, None] + stumps[None, None]
    expected = {tuple(row) for row in np.where(sums > 0, 1.0, -1.0).reshape(-1, 6)}
    assert {tuple(row) for row in votes} == expected
    assert len(votes) <= len(stumps) ** 3
    assert bounds.vc_dimension(votes) == 4 <= bounds.voting_vc_dimension_bound([2, 2, 2])
    weighted = bounds.vote_behaviours([stumps, stumps], [2.0, 1.0])
    assert {tuple(row) for row in weighted} == {tuple(row) for row in stumps}
    # Two votes that disagree sum to 0, and sgn(0) = -1.
    tie = bounds.vote_behaviours([[[1.0, -1.0]], [[-1.0, -1.0]]])
    np.testing.assert_array_equal(tie, [[-1.0, -1.0]])


def test_explicit_constant_of_the_votes():
    """O(d T log(d T)) [Ghoshdastidar] with a constant: 2 d T log2(3 T), as in Blumer et al."""
    for d in (1, 2, 5, 20, 100):
        for T in (2, 3, 10, 50, 300):
            bound = bounds.voting_vc_dimension_bound([d] * T)
            assert bound <= 2 * d * T * math.log2(3 * T)
            assert bound >= d * T


def test_bounds_of_votes_and_of_finite_classes_by_hand():
    """Phi_1(N) = N + 1: (N + 1)^2 >= 2^N up to N = 5, where it is 36 >= 32."""
    assert (
        bounds.voting_vc_dimension_bound([1, 1])
        == 5
        == max(N for N in range(1, 50) if (N + 1) ** 2 >= 2**N)
    )
    expected = 2 * math.sqrt(2 * (2 * math.log(2001) + math.log(2 / 0.1)) / 1000)
    found = bounds.voting_generalization_bound(1000, [1, 1], 0.1)
    assert found == pytest.approx(expected, rel=1e-10)
    found = bounds.finite_class_bound(200, 3.0, math.exp(-6), loss_bound=5.0)
    assert found == pytest.approx(1.5, rel=1e-12)
    found = bounds.cross_validation_oracle_bound(4, 200, 4 * math.exp(-9))
    assert found == pytest.approx(0.3, rel=1e-12)


# Sauer and Shelah


def test_sauer_shelah_is_attained():
    """By the sets of at most d of n points, of which the definition gives VC dimension d."""
    cube = np.array(list(itertools.product([0.0, 1.0], repeat=7)))
    for d in range(8):
        sets = cube[cube.sum(axis=1) <= d]
        assert bounds.vc_dimension(sets) == d
        assert bounds.shattering_coefficient(sets) == bounds.sauer_shelah_bound(7, d)
        assert bounds.sauer_shelah_bound(7, d) <= bounds.sauer_shelah_bound(7, d, polynomial=True)
        for n in range(8):
            found = bounds.shattering_coefficient(sets, n)
            assert found <= bounds.sauer_shelah_bound(n, d)


def test_sauer_shelah_holds_for_random_classes():
    """The number of behaviours is at most the bound of their own VC dimension."""
    rng = np.random.default_rng(0)
    for _ in range(1000):
        rows = rng.choice([0.0, 1.0], (rng.integers(1, 24), 5))
        d = bounds.vc_dimension(rows)
        assert bounds.shattering_coefficient(rows) <= bounds.sauer_shelah_bound(5, d)


def test_sauer_shelah_numbers():
    assert bounds.sauer_shelah_bound(10, 3) == 1 + 10 + 45 + 120
    assert bounds.sauer_shelah_bound(10, 3, polynomial=True) == 11**3
    assert bounds.sauer_shelah_bound(5, 9) == 32
    assert bounds.sauer_shelah_bound(0, 3) == 1
    assert bounds.sauer_shelah_bound(10**4, 5000) == np.inf
    for n, d in [(10, 3), (1000, 7), (6, 6)]:
        for polynomial in (False, True):
            number = bounds.sauer_shelah_bound(n, d, polynomial=polynomial)
            log = bounds.sauer_shelah_bound(n, d, polynomial=polynomial, log=True)
            assert log == pytest.approx(math.log(number), rel=1e-10)


def test_vc_bound_on_the_complexity():
    """On given points it is above the exact complexity; by hand d = 2, n = e² - 1."""
    rng = np.random.default_rng(0)
    for n in (3, 8, 12):
        for rows, d in [
            (bounds.behaviours("stumps", rng.random((n, 1))), 2),
            (bounds.behaviours("intervals", rng.random(n)), 2),
            (bounds.behaviours("orthants", rng.random((n, 3))), 3),
        ]:
            found = bounds.empirical_rademacher_complexity(rows)
            by_number = bounds.finite_behaviours_rademacher_bound(n, math.log(len(rows)))
            assert found <= by_number <= bounds.vc_rademacher_bound(n, d)
    n = math.exp(4) - 1
    assert bounds.vc_rademacher_bound(n, 2) == pytest.approx(math.sqrt(16 / n), rel=1e-12)
    assert bounds.vc_rademacher_bound(5, 0) == 0


@pytest.fixture(scope="module")
def noisy_thresholds():
    """1000 data sets of 1500 rows: thresholds and errors of sgn(x - a), 20 % of the labels wrong.

    The k-th classifier has the first k rows on the left. The true threshold is 0.4.
    """
    rng = np.random.default_rng(0)
    x = np.sort(rng.random((1000, 1500)), axis=1)
    y = np.where((x > 0.4) ^ (rng.random((1000, 1500)) < 0.2), 1, -1)
    errors = np.cumsum(np.pad(y, ((0, 0), (1, 0))), axis=1) + (y < 0).sum(axis=1)[:, None]
    return np.pad(x, ((0, 0), (1, 0))), errors


def test_error_of_votes_holds(noisy_thresholds):
    """The vote of two thresholds is the larger of them: the worst difference over the class."""
    a, errors = noisy_thresholds
    worst = (0.2 + 0.6 * np.abs(a - 0.4) - errors / 1500).max(axis=1)
    bound = bounds.voting_generalization_bound(1500, [1, 1], 0.05)
    assert bound < 0.35
    assert (worst <= bound).mean() >= 0.95


def test_vc_bound_on_the_excess_risk(noisy_thresholds):
    """Thresholds of both signs, VC dimension 2, and labels of which 20 % are wrong."""
    a, errors = noisy_thresholds
    n, delta = 1500, 0.05
    best, other = errors.argmin(axis=1), errors.argmax(axis=1)
    flipped = n - errors.max(axis=1) < errors.min(axis=1)
    k = np.where(flipped, other, best)
    risk = 0.2 + 0.6 * np.abs(a[np.arange(1000), k] - 0.4)
    excess = np.where(flipped, 1 - risk, risk) - 0.2
    bound = bounds.vc_excess_risk_bound(n, 2, delta)
    assert bound < 0.4
    assert (excess <= bound).mean() >= 1 - delta


def test_vc_bound_on_the_excess_risk_by_hand():
    """Each of its two terms, without the other."""
    found = bounds.vc_excess_risk_bound(100, 0, 2 * math.exp(-8))
    assert found == pytest.approx(0.4, rel=1e-12)
    pair = bounds.vc_excess_risk_bound(math.exp(8) - 1, [2, 0], 0.5)
    assert pair[0] - pair[1] == pytest.approx(2 * math.sqrt(32 / (math.exp(8) - 1)), rel=1e-10)


@pytest.mark.parametrize(
    ("name", "arguments", "parameter"),
    [
        ("shattering_coefficient", ([1.0],), "behaviours|2D"),
        ("shattering_coefficient", ([[1.0, 0.0]], 3), "n_points"),
        ("vc_dimension", ([[1.0, 0.0, 2.0]],), "behaviours"),
        ("behaviours", ("intervals", [[1.0, 2.0]]), "X must have one column"),
        ("behaviours", ("intervals", []), "0 sample"),
        ("behaviours", ("stumps", [[np.nan]]), "X"),
        ("stump_vc_dimension", (0,), "n_features"),
        ("behaviours", ("orthants", [[np.inf]]), "X"),
        ("behaviours", ("circles", [[0.0]]), "classifiers must be one of"),
        ("vote_behaviours", ([[[0.0]]],), "members"),
        ("vote_behaviours", ([],), "members"),
        ("vote_behaviours", ([[[1.0]]], [1.0, 2.0]), "weights"),
        ("vote_behaviours", ([[[1.0]]], [-1.0]), "weights"),
        ("sauer_shelah_bound", (-1, 2), "n_samples"),
        ("sauer_shelah_bound", (5, 1.5), "vc_dimension"),
        ("vc_rademacher_bound", (0, 1), "n_samples"),
        ("vc_rademacher_bound", (5, -1), "vc_dimension"),
        ("vc_excess_risk_bound", (5, 1, 0.0), "delta"),
    ],
)
def test_arguments_out_of_range_are_named(name, arguments, parameter):
    with pytest.raises(ValueError, match=parameter):
        getattr(bounds, name)(*arguments)


def test_members_of_votes_are_a_sequence():
    with pytest.raises(TypeError, match="members"):
        bounds.vote_behaviours(3)
