"""Rademacher complexities: enumeration, closed forms, simulation; and what they bound."""

import itertools
import math
from functools import partial

import numpy as np
import pytest
from scipy.special import expit

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
    expected = (signs @ bounds.behaviours("stumps", points).T).max(axis=1).mean() / 30
    found = bounds.stump_rademacher_complexity(points, n_draws=n_draws, random_state=0)
    assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("scale", [1e-320, 1e-200, 1e200, 1.7e308])
def test_values_of_any_size(scale):
    """Without warnings and up to rounding; a product that is no float is infinite."""
    rows = np.array([[1.0, -0.5, 0.2], [0.3, 1.0, -1.0]])
    rel = 1e-3 if scale < 1e-300 else 1e-12
    for function in (
        bounds.empirical_rademacher_complexity,
        partial(bounds.ball_rademacher_complexity, norm="l1"),
        bounds.ball_rademacher_complexity,
    ):
        assert function(rows * scale) == pytest.approx(function(rows) * scale, rel=rel, abs=0)
    large = bounds.ball_rademacher_complexity(rows * 1e300, 1e300, return_std=True, norm="l1")
    assert large == (np.inf, np.inf)


# Exact suprema over infinite classes


@pytest.mark.parametrize("seed", range(4))
def test_complexity_of_stumps_is_that_of_their_behaviours(seed):
    """With ties and with one feature and several; n = 10 is enumerated, n = 25 simulated."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, (10, seed + 1)).astype(float)
    listed = bounds.empirical_rademacher_complexity(bounds.behaviours("stumps", X))
    assert bounds.stump_rademacher_complexity(X) == pytest.approx(listed, abs=1e-12)
    X = rng.standard_normal((25, seed + 1))
    settings = {"n_draws": 500, "random_state": seed}
    listed = bounds.empirical_rademacher_complexity(bounds.behaviours("stumps", X), **settings)
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
    found = bounds.ball_rademacher_complexity(X, 2.5, norm="l1")
    assert found == pytest.approx(by_enumeration(vertices), abs=1e-12)
    assert bounds.ball_rademacher_complexity(np.ones((12, 3)), 2.0, norm="l1") == pytest.approx(
        2 * mean_of_absolute_sum(12) / 12, abs=1e-12
    )
    assert bounds.ball_rademacher_complexity(X, 0.0, norm="l1") == 0


def test_complexity_of_l2_balls():
    """The mean of norms by enumeration; orthogonal points; one feature."""
    X = np.random.default_rng(0).standard_normal((8, 3))
    norms = [np.linalg.norm(e @ X) for e in all_signs(8)]
    found = bounds.ball_rademacher_complexity(X, 1.7)
    assert found == pytest.approx(1.7 * np.mean(norms) / 8, abs=1e-12)
    # The supremum over directions of the plane.
    angles = np.linspace(0, 2 * np.pi, 4001)
    circle = np.column_stack([np.cos(angles), np.sin(angles)]) @ X[:, :2].T
    listed = bounds.empirical_rademacher_complexity(circle)
    assert bounds.ball_rademacher_complexity(X[:, :2]) == pytest.approx(listed, rel=1e-6)
    assert bounds.ball_rademacher_complexity(5 * np.eye(9), 2.0) == pytest.approx(10 / 3)
    assert bounds.ball_rademacher_complexity(np.ones((10, 1))) == pytest.approx(
        mean_of_absolute_sum(10) / 10, abs=1e-12
    )
    # Khintchine's and Kahane's inequality: not below 1 / sqrt(2) of the bound.
    for points in (X, np.ones((2, 1)), np.ones((3, 1))):
        largest = np.sqrt((points**2).sum()) / len(points)
        complexity = bounds.ball_rademacher_complexity(points)
        assert largest / math.sqrt(2) <= complexity * (1 + 1e-12) <= largest * (1 + 1e-9)


def test_complexity_of_boosted_functions():
    """[Bach, eq. (10.14)]: D times that of the weak learners, for columns and for stumps."""
    X = np.random.default_rng(0).standard_normal((9, 2))
    stumps = bounds.behaviours("stumps", X)
    boosted = bounds.ball_rademacher_complexity(stumps.T, 3.0, norm="l1")
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


def test_contraction_of_one_coordinate_after_the_other():
    """[Shah, eq. (3.1) and (3.2)]: L h(x_i) for phi(y_i h(x_i)) never lowers the complexity."""
    rng = np.random.default_rng(0)
    for phi, L in [(lambda u: np.maximum(1 - u, 0), 1.0), (lambda u: np.exp(-u), math.exp(2))]:
        H, y = rng.uniform(-2, 2, (9, 8)), rng.choice([-1.0, 1.0], 8)
        mixed = [np.hstack([L * H[:, :i], phi(H * y)[:, i:]]) for i in range(9)]
        complexities = [bounds.empirical_rademacher_complexity(A) for A in mixed]
        assert np.all(np.diff(complexities) >= -1e-12)
        assert complexities[-1] > 1.01 * complexities[0]


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
        log_size = math.log(bounds.shattering_coefficient(H))
        found = bounds.empirical_rademacher_complexity(H)
        assert found <= bounds.finite_behaviours_rademacher_bound(10, log_size) + 1e-12
        losses = bounds.empirical_rademacher_complexity((H + 1) / 2)
        assert losses <= bounds.finite_behaviours_rademacher_bound(10, log_size, 0.5) + 1e-12
        scaled = bounds.empirical_rademacher_complexity(3 * H)
        assert scaled <= bounds.finite_behaviours_rademacher_bound(10, log_size, 3.0) + 1e-12
    assert bounds.finite_behaviours_rademacher_bound(50, math.log(1)) == 0
    found = bounds.finite_behaviours_rademacher_bound(8, 1.0, 0.5)
    assert found == pytest.approx(0.25, abs=1e-12)
    # The order is right: of 2^n behaviours the complexity is 1, and the bound 1 too.
    assert bounds.finite_behaviours_rademacher_bound(6, 6 * math.log(2)) == 1


@pytest.mark.parametrize(
    ("name", "arguments", "parameter"),
    [
        ("empirical_rademacher_complexity", ([1.0, 2.0],), "behaviours|2D"),
        ("empirical_rademacher_complexity", ([[np.nan]],), "behaviours"),
        ("stump_rademacher_complexity", ([[np.inf]],), "X"),
        ("ball_rademacher_complexity", ([[1.0]], -1.0), "radius"),
        ("ball_rademacher_complexity", ([[1.0]], np.nan), "radius"),
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
    for name in ("empirical", "stump", "ball"):
        with pytest.raises(ValueError, match="n_draws"):
            getattr(bounds, f"{name}_rademacher_complexity")([[1.0]], n_draws=1)


N, DRAWS, DELTA = 60, 1500, 0.1
THRESHOLDS = np.linspace(0, 1, 41)


@pytest.fixture(scope="module")
def thresholds():
    """Losses of 82 classifiers on 1500 data sets of 60 rows, and their risks; 20 % of y are wrong.

    The array of losses is of shape (data sets, rows, classifiers).
    """
    rng = np.random.default_rng(0)
    x = rng.random((DRAWS, N))
    y = (x > 0.4) ^ (rng.random((DRAWS, N)) < 0.2)
    wrong = (x[..., None] > THRESHOLDS) ^ y[..., None]
    losses = np.concatenate([wrong, ~wrong], axis=2).astype(np.float32)
    risks = 0.2 + 0.6 * np.abs(THRESHOLDS - 0.4)
    return losses, np.concatenate([risks, 1 - risks])


@pytest.fixture(scope="module")
def simulated(thresholds):
    """sup {R - empirical R}, the excess risk of the minimiser, and sup of signed sums."""
    losses, risks = thresholds
    means = losses.mean(axis=1)
    largest = (risks - means).max(axis=1)
    excess = risks[means.argmin(axis=1)] - risks.min()
    signs = np.random.default_rng(1).choice(np.float32([-1, 1]), (DRAWS, 1, N))
    suprema = (signs @ losses)[:, 0].max(axis=1) / N
    return largest, excess, suprema


def upper(values):
    """The mean plus 3 standard errors."""
    return float(values.mean() + 3 * values.std() / math.sqrt(len(values)))


def test_symmetrization_holds(simulated):
    """[Shah, theorem 10]: E sup (R - empirical R) <= 2 R_n; here it is about R_n."""
    largest, _, suprema = simulated
    assert largest.mean() <= bounds.symmetrization_bound(upper(suprema))
    assert largest.mean() > 0.4 * bounds.symmetrization_bound(upper(suprema))


def test_symmetrization_of_one_function():
    """Both sides are 0; and twice by hand."""
    assert bounds.symmetrization_bound(bounds.empirical_rademacher_complexity([[1.0, 5.0]])) == 0
    np.testing.assert_allclose(bounds.symmetrization_bound([0.25, 1.0]), [0.5, 2.0], rtol=1e-12)


def test_uniform_deviations_hold(simulated, thresholds):
    largest, _, suprema = simulated
    bound = bounds.uniform_deviation_bound(suprema.mean(), N, DELTA)
    assert (largest <= bound).mean() >= 1 - DELTA
    # With the empirical complexity of each data set, by 100 draws of the signs.
    losses, _ = thresholds
    signs = np.random.default_rng(2).choice(np.float32([-1, 1]), (100, N))
    complexity = np.array([(signs @ data).max(axis=1).mean() / N for data in losses[:1000]])
    assert (
        largest[:1000] <= bounds.uniform_deviation_bound(complexity, N, DELTA, empirical=True)
    ).mean() >= 1 - DELTA


def test_uniform_deviations_by_hand():
    """One function: Hoeffding's deviation. And 0.2 + 6 sqrt(4 / 128) with log(2/delta) = 4."""
    found = bounds.uniform_deviation_bound(0.0, 50, 0.02, loss_bound=3.0)
    assert found == pytest.approx(bounds.hoeffding_deviation(50, 0.02, 0, 3), rel=1e-12)
    found = bounds.uniform_deviation_bound(
        0.1, 64, 2 * math.exp(-4), loss_bound=2.0, empirical=True
    )
    assert found == pytest.approx(0.2 + 6 * math.sqrt(1 / 32), rel=1e-12)


def test_excess_risk_bound_holds(simulated):
    """[Shah, theorem 11] for the minimiser over the thresholds."""
    _, excess, suprema = simulated
    bound = bounds.rademacher_excess_risk_bound(suprema.mean(), N, DELTA)
    assert bound < 0.75
    assert (excess <= bound).mean() >= 1 - DELTA


def test_excess_risk_bound_by_hand():
    found = bounds.rademacher_excess_risk_bound(
        0.1, 16, 2 * math.exp(-2), loss_bound=3.0, lipschitz=5.0
    )
    assert found == pytest.approx(1.0 + 3.0 / 2, rel=1e-12)
    # The sum of the deviations of its proof, each with probability delta / 2.
    deviation = bounds.uniform_deviation_bound(0.1, 40, 0.05) + bounds.hoeffding_deviation(40, 0.05)
    found = bounds.rademacher_excess_risk_bound(0.1, 40, 0.1)
    assert found == pytest.approx(deviation, rel=1e-12)


@pytest.mark.parametrize("loss", ["hinge", "logistic", "exponential"])
def test_corollary_20_holds_for_finite_sets_of_linear_functions(loss):
    """1000 data sets of 40 rows; the class is 60 coefficients on the sphere, p = 2."""
    phi = {
        "hinge": lambda m: np.maximum(1 - m, 0),
        "logistic": lambda m: np.logaddexp(0, -m),
        "exponential": lambda m: np.exp(-m),
    }[loss]
    rng = np.random.default_rng(0)
    angles = np.arange(60) * np.pi / 30
    beta = np.array([np.cos(angles), np.sin(angles)])

    def sample(size):
        X = rng.uniform(-1, 1, (size, 2)) / math.sqrt(2)
        return X, np.where(rng.random(size) < expit(4 * X[:, 0]), 1.0, -1.0)

    X, y = sample(20_000)
    risks = phi(y[:, None] * (X @ beta)).mean(axis=0)
    X, y = sample(40_000)
    means = phi(y[:, None] * (X @ beta)).reshape(1000, 40, 60).mean(axis=1)
    excess = risks[means.argmin(axis=1)] - risks.min()
    bound = bounds.ball_excess_risk_bound(40, 1.0, 1.0, loss=loss, delta=DELTA)
    assert (excess <= bound).mean() >= 1 - DELTA
    in_l1_ball = bounds.ball_excess_risk_bound(
        40, math.sqrt(2), 1 / math.sqrt(2), n_features=2, loss=loss, delta=DELTA, norm="l1"
    )
    assert (excess <= in_l1_ball).mean() >= 1 - DELTA


def test_excess_risks_of_balls_by_hand():
    """The displays for the hinge loss, and the constants of the other losses."""
    tail = math.sqrt(2 * math.log(2 / 0.05) / 400)
    found = bounds.ball_excess_risk_bound(400, 2.0, 3.0)
    assert found == pytest.approx(2 * 6 / 20 + 7 * tail, rel=1e-10)
    found = bounds.ball_excess_risk_bound(400, 2.0, n_features=50, norm="l1")
    complexity = 2 * math.sqrt(2 * math.log(100) / 400)
    assert found == pytest.approx(2 * complexity + 3 * tail, rel=1e-10)
    found = bounds.ball_excess_risk_bound(400, 1.0, loss="logistic")
    expected = 2 * expit(1) / 20 + math.log1p(math.e) * tail
    assert found == pytest.approx(expected, rel=1e-10)
    found = bounds.ball_excess_risk_bound(400, 1.0, n_features=50, loss="exponential", norm="l1")
    assert found == pytest.approx(math.e * (complexity + tail), rel=1e-10)
    assert bounds.ball_excess_risk_bound(10, 1e3, loss="exponential") == math.inf


def test_complexities_of_balls_hold_and_are_attained():
    """[Shah, §3.5 and §3.6] on given points: exact values, and orthogonal points for l2."""
    rng = np.random.default_rng(0)
    for n, p in [(1, 1), (5, 3), (12, 40)]:
        X = rng.uniform(-1, 1, (n, p))
        C = float(np.linalg.norm(X, axis=1).max())
        l1 = bounds.ball_rademacher_complexity(X, 2.0, norm="l1")
        assert l1 <= bounds.ball_rademacher_bound(n, 2.0, n_features=p, norm="l1")
        l2 = bounds.ball_rademacher_complexity(X, 2.0)
        assert l2 <= bounds.ball_rademacher_bound(n, 2.0, C)
    attained = bounds.ball_rademacher_complexity(3.0 * np.eye(9), 2.0)
    assert attained == pytest.approx(bounds.ball_rademacher_bound(9, 2.0, 3.0), rel=1e-12)
    assert bounds.ball_rademacher_bound(
        8, 3.0, 0.5, n_features=math.e**4 / 2, norm="l1"
    ) == pytest.approx(1.5)
    # For many features of signs the bound of the l1 ball is nearly attained: its rho.
    X = rng.choice([-1.0, 1.0], (400, 3000))
    found, error = bounds.ball_rademacher_complexity(
        X, n_draws=100, random_state=0, return_std=True, norm="l1"
    )
    bound = bounds.ball_rademacher_bound(400, n_features=3000, norm="l1")
    assert 0.85 * bound < found < bound - 3 * error


def test_l1_against_l2():
    """[Shah, §3.6]: s of p coefficients count equally, lambda_1 = sqrt(s) and lambda_2 = 1."""
    n, p = 10**7, 1000
    l2 = bounds.ball_excess_risk_bound(n, 1.0, math.sqrt(p))
    few, all_of_them = (
        bounds.ball_excess_risk_bound(n, math.sqrt(s), 1.0, n_features=p, norm="l1") for s in (3, p)
    )
    assert few < l2 < all_of_them
    # The complexities cross at s = p / (2 log(2p)), about 66 of 1000.
    crossing = p / (2 * math.log(2 * p))
    assert bounds.ball_rademacher_bound(
        n, math.sqrt(crossing), n_features=p, norm="l1"
    ) == pytest.approx(bounds.ball_rademacher_bound(n, 1.0, math.sqrt(p)), rel=1e-10)
    # The rates: sqrt(s log p / n) against sqrt(p / n).
    by_s = bounds.ball_rademacher_bound(n, np.sqrt([1.0, 4.0]), n_features=p, norm="l1")
    assert by_s[1] / by_s[0] == pytest.approx(2, rel=1e-12)


# Features of distances


def test_distance_features_hold():
    """[Bach, exercise 10.7]: exact complexities of 14 points of the square, 900 centres."""
    rng = np.random.default_rng(0)
    grid = np.linspace(0, 1, 30)
    centres = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
    r, D = np.geomspace(0.01, 1, 60), math.sqrt(2)
    X = rng.random((14, 2))
    distances = np.linalg.norm(X - centres[:, None], axis=2)
    for sigma, lipschitz in [(lambda d: d, 1.0), (lambda d: np.exp(-3 * d), 3.0), (np.cos, 1.0)]:
        found = bounds.empirical_rademacher_complexity(sigma(distances))
        euclidean = bounds.distance_features_rademacher_bound(
            14, D, r, 2 * np.log1p(2 * D / r), lipschitz=lipschitz
        )
        assert found <= euclidean.min()
        finite = bounds.distance_features_rademacher_bound(
            14, D, 0.0, math.log(900), lipschitz=lipschitz
        )
        assert found <= finite
        both = sigma(distances)
        found = bounds.empirical_rademacher_complexity(np.vstack([both, -both]))
        bound = bounds.distance_features_rademacher_bound(
            14, D, 0.0, math.log(900), lipschitz=lipschitz, value_bound=np.abs(both).max()
        )
        assert found <= bound
    # Covers of the square by squares of side h have radius h / sqrt(2).
    h = 1 / np.arange(1, 30)
    covers = bounds.distance_features_rademacher_bound(14, D, h / math.sqrt(2), -2 * np.log(h))
    assert bounds.empirical_rademacher_complexity(distances) <= covers.min()


def test_distance_features_over_data_sets():
    """Expected complexities, [Bach, eq. (10.14)]: 1000 data sets of 30 points of the circle."""
    rng = np.random.default_rng(0)
    centres = np.arange(200) * np.pi / 100
    angles = rng.random((1000, 30, 1)) * 2 * np.pi
    distances = np.pi - np.abs(np.pi - np.abs(angles - centres))
    signs = rng.choice([-1.0, 1.0], (1000, 1, 30))
    suprema = (signs @ distances).max(axis=2) / 30
    k = np.arange(1, 100)
    bound = bounds.distance_features_rademacher_bound(30, np.pi, np.pi / k, np.log(k))
    assert suprema.mean() <= bound.min()


def test_distance_features_by_hand():
    """One point; two points at distance 2: 2 sqrt(2 log(2) / n) / 2; and r by itself."""
    assert bounds.distance_features_rademacher_bound(5, 0.0, 0.0, 0.0) == 0
    found = bounds.distance_features_rademacher_bound(8, 2.0, 0.0, 1.0, lipschitz=3.0)
    assert found == pytest.approx(1.5, rel=1e-12)
    found = bounds.distance_features_rademacher_bound(8, 2.0, 0.25, 0.0, lipschitz=3.0)
    assert found == pytest.approx(0.75, rel=1e-12)
    # Both signs of a constant B: the complexity is B E |mean of the signs|, of order B / sqrt(n).
    found = bounds.distance_features_rademacher_bound(8, 0.0, 0.0, 0.0, value_bound=5.0)
    assert found == pytest.approx(5 * math.sqrt(math.log(2)) / 2, rel=1e-12)
    assert bounds.empirical_rademacher_complexity(5 * np.outer([1, -1], np.ones(8))) <= found


# The histogram class


def test_histogram_class_by_hand_and_by_simulation():
    """m^p log K instead of log |H|; 2000 data sets of 300 rows in three cells."""
    found = bounds.histogram_class_bound(900, 3, 2, 0.01, n_classes=4)
    expected = bounds.finite_class_bound(900, 9 * math.log(4), 0.01)
    assert found == pytest.approx(expected, rel=1e-12)
    assert bounds.histogram_class_bound(8.0, 1, 1, 0.5) == pytest.approx(
        math.sqrt(math.log(2) / 2), rel=1e-12
    )
    eta = np.array([0.3, 0.5, 0.55])
    rng = np.random.default_rng(0)
    counts = rng.multinomial(300, np.ones(3) / 3, 2000)
    ones = rng.binomial(counts, eta)
    excess = np.where((2 * ones > counts) != (eta > 0.5), np.abs(2 * eta - 1), 0).mean(axis=1)
    assert (excess <= bounds.histogram_class_bound(300, 3, 1, DELTA)).mean() >= 1 - DELTA


@pytest.mark.parametrize(
    ("name", "arguments", "parameter"),
    [
        ("symmetrization_bound", (-1.0,), "complexity"),
        ("uniform_deviation_bound", (0.1, 0), "n_samples"),
        ("uniform_deviation_bound", (0.1, 10, 0.0), "delta"),
        ("rademacher_excess_risk_bound", (-0.1, 10), "complexity"),
        ("rademacher_excess_risk_bound", (0.1, 10, 1.1), "delta"),
        ("ball_rademacher_bound", (10, 1.0, 1.0, 5), "n_features must be None for norm='l2'"),
        ("ball_rademacher_bound", (10, -1.0), "radius"),
        ("ball_rademacher_bound", (10, 1.0, -1.0), "feature_bound"),
        ("ball_excess_risk_bound", (0, 1.0), "n_samples"),
        ("ball_excess_risk_bound", (10, 1.0, 1.0, None, 0.0), "delta"),
        ("distance_features_rademacher_bound", (10, -1.0, 1.0, 1.0), "diameter"),
        ("distance_features_rademacher_bound", (10, 1.0, -1.0, 1.0), "cover_radius"),
        ("distance_features_rademacher_bound", (10, 1.0, 1.0, -1.0), "log_covering_number"),
        ("histogram_class_bound", (10, 0), "n_intervals"),
        ("histogram_class_bound", (10, 2, 0), "n_features"),
        ("histogram_class_bound", (0, 2), "n_samples"),
    ],
)
def test_arguments_of_risks_out_of_range_are_named(name, arguments, parameter):
    with pytest.raises(ValueError, match=parameter):
        getattr(bounds, name)(*arguments)


def test_keyword_arguments_out_of_range_are_named():
    with pytest.raises(ValueError, match="loss"):
        bounds.ball_excess_risk_bound(10, 1.0, loss="squared")
    for size in (0, 1.5):
        with pytest.raises(ValueError, match="n_features"):
            bounds.ball_excess_risk_bound(10, 1.0, n_features=size, norm="l1")
    with pytest.raises(ValueError, match="n_features is needed for norm='l1'"):
        bounds.ball_rademacher_bound(10, norm="l1")
    for name in ("ball_rademacher_bound", "ball_excess_risk_bound"):
        with pytest.raises(ValueError, match="norm must be one of"):
            getattr(bounds, name)(10, 1.0, norm="max")
    with pytest.raises(ValueError, match="norm must be a text; got 2"):
        bounds.ball_rademacher_complexity([[1.0]], norm=2)
    with pytest.raises(ValueError, match="n_classes"):
        bounds.histogram_class_bound(10, 2, n_classes=1)
    for keyword in ("loss_bound", "lipschitz"):
        with pytest.raises(ValueError, match=keyword):
            bounds.rademacher_excess_risk_bound(0.1, 10, **{keyword: -1.0})
    with pytest.raises(ValueError, match="loss_bound"):
        bounds.uniform_deviation_bound(0.1, 10, loss_bound=-1.0)
    with pytest.raises(ValueError, match="value_bound"):
        bounds.distance_features_rademacher_bound(10, 1.0, 1.0, 1.0, value_bound=-1.0)
    with pytest.raises(ValueError, match="lipschitz"):
        bounds.distance_features_rademacher_bound(10, 1.0, 1.0, 1.0, lipschitz=-1.0)


def test_products_that_are_no_floats_are_infinite():
    for name, arguments in [
        ("symmetrization_bound", (1e308,)),
        ("ball_rademacher_bound", (1, 1e200, 1e200)),
        ("ball_excess_risk_bound", (1, 1e200, 1e200)),
        ("rademacher_contraction_bound", (1e200, 1e200)),
    ]:
        assert getattr(bounds, name)(*arguments) == np.inf
