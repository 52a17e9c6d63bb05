"""Random projections: their moments, the risks that follow, and distances after a projection."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import pdist
from scipy.stats import chi2

from sklearn_ensemble_theory import bounds
from sklearn_ensemble_theory.bounds import (
    johnson_lindenstrauss_dimension,
    johnson_lindenstrauss_distortion,
    projection_risk_bound,
    random_features_bound,
)

from ..errata_parts import within


def design(n=6, d=4, seed=0):
    """A design, its Gram matrix and coefficients."""
    rng = np.random.default_rng(seed)
    Phi = rng.standard_normal((n, d)) * np.arange(1, d + 1)
    return Phi, Phi.T @ Phi, rng.standard_normal(d)


def test_moments_of_gaussian_projections():
    _, G, _ = design(d=3)
    rng = np.random.default_rng(1)
    for s in (1, 3):
        S = rng.standard_normal((100_000, 3, s))
        squares = S @ S.transpose(0, 2, 1)
        first, second = bounds.projection_moments(G, s)
        sandwiches = squares @ G @ squares
        for i, j in itertools.combinations_with_replacement(range(3), 2):
            assert within(squares[:, i, j], first[i, j], 4)
            assert within(sandwiches[:, i, j], second[i, j], 4)
    # By hand, one variable: S S' is a chi-square variable with the moments s and s (s + 2).
    first, second = bounds.projection_moments([[2.0]], 5)
    assert (first[0, 0], second[0, 0]) == (5.0, 2.0 * 35)


def test_moments_of_coordinate_projections_by_all_choices():
    _, G, _ = design(d=3)
    for s in (1, 2, 3):
        choices = [np.eye(3)[:, list(c)] for c in itertools.product(range(3), repeat=s)]
        expected = np.mean([S @ S.T for S in choices], axis=0)
        sandwich = np.mean([S @ S.T @ G @ S @ S.T for S in choices], axis=0)
        first, second = bounds.projection_moments(G, s, projection="coordinate")
        np.testing.assert_allclose(first, expected, rtol=1e-12)
        np.testing.assert_allclose(second, sandwich, rtol=1e-12)


def fitted_risk(draw, target, m, sigma, replications, seed=0):
    """Errors of the average of m projections on the columns that `draw` returns, one by one."""
    rng = np.random.default_rng(seed)
    n = len(target)
    basis, _ = np.linalg.qr(draw(rng, replications * m))
    y = target + sigma * rng.standard_normal((replications, 1, n))
    basis = basis.reshape(replications, m, n, -1)
    coordinates = np.einsum("rmns,rn->rms", basis, y[:, 0])
    average = np.einsum("rmns,rms->rn", basis, coordinates) / m
    return np.mean((average - target) ** 2, axis=1)


def test_risk_of_averaged_projections_by_all_choices():
    """Two of four variables: the error of m fits over all choices and by the formula."""
    Phi, _, theta = design(n=5)
    n, s, sigma2, target = 5, 2, 0.49, Phi @ theta
    chosen = [Phi[:, c] for c in itertools.combinations(range(4), s)]
    projections = [A @ np.linalg.pinv(A) for A in chosen]
    Delta = np.mean(projections, axis=0)
    exact = []
    for m in (1, 2, 3):
        averages = [sum(c) / m for c in itertools.product(projections, repeat=m)]
        errors = [np.sum((H @ target - target) ** 2) + sigma2 * np.sum(H**2) for H in averages]
        exact.append(np.mean(errors) / n)
    found = bounds.averaged_projection_risk(Delta, target, [1, 2, 3], sigma2)
    np.testing.assert_allclose(found, exact, rtol=1e-10)
    # The identity: least squares, or no projection at all.
    assert bounds.averaged_projection_risk(np.eye(n), target, 7, 2.0) == pytest.approx(2.0)
    zero = bounds.averaged_projection_risk(np.zeros((n, n)), target, 7, 2.0)
    assert zero == pytest.approx(np.mean(target**2))


def test_risk_of_averaged_projections_by_simulation():
    """Gaussian projections of a design with orthonormal rows: by symmetry Delta = (s/n) I."""
    n, s, m, sigma = 6, 2, 3, 0.5
    target = np.arange(1.0, n + 1)

    def draw(rng, size):
        return rng.standard_normal((size, n, s))

    errors = fitted_risk(draw, target, m, sigma, 4_000)
    found = bounds.averaged_projection_risk(s / n * np.eye(n), target, m, sigma**2)
    assert within(errors, found)


def test_bounds_hold_for_simulated_projections():
    """The risk of averages of Gaussian and coordinate projections, for several m."""
    n, d, s, sigma = 12, 20, 5, 0.3
    Phi, G, theta = design(n, d)
    Phi, G, theta = Phi / 10, G / 100, theta / np.linalg.norm(theta)
    target, noise = Phi @ theta, sigma**2 * s / n

    def gaussian(rng, size):
        return Phi @ rng.standard_normal((size, d, s))

    def coordinate(rng, size):
        return Phi[:, rng.random((size, d)).argsort(axis=1)[:, :s]].transpose(1, 0, 2)

    by_moments = [
        noise
        + bounds.projection_bias_bound(
            G, theta, *bounds.projection_moments(G, s, projection=projection), n
        )
        for projection in ("gaussian", "coordinate")
    ]
    largest = d * np.diag(G).max()
    simple = [
        bounds.projection_risk_bound(n, s, np.trace(G), 1.0, sigma**2),
        bounds.projection_risk_bound(n, s, largest, 1.0, sigma**2, projection="coordinate"),
    ]
    for draw, sharper, bound in zip((gaussian, coordinate), by_moments, simple):
        for m in (1, 5):
            assert fitted_risk(draw, target, m, sigma, 1000).mean() <= sharper <= bound


def test_bias_bound_by_hand():
    # One variable: the projection is on it, and the bound is g (1 - s / (s + 2)) for Gaussian S.
    for s in (1, 4):
        moments = bounds.projection_moments([[3.0]], s)
        found = bounds.projection_bias_bound([[3.0]], [2.0], *moments, 10)
        assert found == pytest.approx(3 * 4 / 10 * 2 / (s + 2), rel=1e-12)
    # All variables without randomness: no bias. No projection at all: all of it.
    _, G, theta = design()
    assert bounds.projection_bias_bound(G, theta, np.eye(4), G, 6) == pytest.approx(0, abs=1e-12)
    zero = np.zeros((4, 4))
    assert bounds.projection_bias_bound(G, theta, zero, zero, 6) == pytest.approx(
        theta @ G @ theta / 6
    )
    # A column of zeros is never of use.
    G = np.diag([1.0, 0.0])
    moments = bounds.projection_moments(G, 2, projection="coordinate")
    assert bounds.projection_bias_bound(G, [1.0, 1.0], *moments, 1) == pytest.approx(1 / 3)


def test_moment_of_random_features_stays_below_its_bound():
    """Signs with a given correlation, for which it is an equality, and cosine features."""
    x = np.linspace(0, 1, 5)
    s, rng = 3, np.random.default_rng(0)
    signs = np.array(list(itertools.product([-1.0, 1.0], repeat=3)))
    chance = rng.dirichlet(np.ones(8))
    K = signs.T @ (chance[:, None] * signs)
    moment = np.zeros((3, 3))
    for columns in itertools.product(range(8), repeat=s):
        P = signs[list(columns)].T
        moment += np.prod(chance[list(columns)]) * P @ P.T @ P @ P.T
    np.testing.assert_allclose(bounds.random_features_moment_bound(K, s, 1.0), moment, rtol=1e-10)

    K = np.exp(-((x[:, None] - x) ** 2) / 0.08)
    frequency = rng.standard_normal((50_000, 1, s)) / 0.2
    features = np.sqrt(2) * np.cos(x[:, None] * frequency + rng.uniform(0, 7, (50_000, 1, s)))
    squares = features @ features.transpose(0, 2, 1)
    moment = np.einsum("bij,bjk->ik", squares, squares) / len(squares)
    difference = bounds.random_features_moment_bound(K, s, 2.0) - moment
    assert np.linalg.eigvalsh(difference)[0] > -0.01 * np.trace(moment)


def test_random_features_bound_holds():
    """Cosine features of a Gaussian kernel at 30 rows, and a function of norm 1."""
    n, s, sigma = 30, 6, 0.2
    x = np.linspace(0, 1, n)
    K = np.exp(-((x[:, None] - x) ** 2) / 0.08)
    values, vectors = np.linalg.eigh(K)
    root = vectors * np.sqrt(np.clip(values, 0, None))
    target = root @ np.random.default_rng(0).standard_normal(n)
    target /= np.sqrt(np.sum(np.linalg.lstsq(root, target, rcond=1e-10)[0] ** 2))

    def draw(rng, size):
        frequency = rng.standard_normal((size, 1, s)) / 0.2
        return np.sqrt(2) * np.cos(x[:, None] * frequency + rng.uniform(0, 2 * np.pi, (size, 1, s)))

    bound = bounds.random_features_bound(n, s, 2.0, 1.0, sigma**2)
    for m in (1, 4):
        assert fitted_risk(draw, target, m, sigma, 1000).mean() <= bound


def test_tail_of_projected_distances():
    """Above the exact chi-square tails, and of the lemma's form."""
    s, eps = np.array([1, 5, 30, 200, 1000]), np.array([[0.05], [0.2], [0.5], [0.9]])
    exact = chi2.cdf(s * (1 - eps), s) + chi2.sf(s * (1 + eps), s)
    bound = bounds.johnson_lindenstrauss_tail_bound(s, eps)
    assert np.all(exact <= bound)
    assert np.all(bound[:3] <= np.minimum(1, 2 * np.exp(-s * eps[:3] ** 2 / 6)))
    # By hand, for s = 2: (1 - eps) e^eps + (1 + eps) e^-eps, where the union bound is below 1.
    by_hand = 0.1 * np.exp(0.9) + 1.9 * np.exp(-0.9)
    assert bounds.johnson_lindenstrauss_tail_bound(2, 0.9) == pytest.approx(min(1, by_hand))
    by_hand = 10 * (0.5**50 * np.exp(25) + 1.5**50 * np.exp(-25))
    assert bounds.johnson_lindenstrauss_tail_bound(100, 0.5, 5) == pytest.approx(by_hand)
    assert bounds.johnson_lindenstrauss_tail_bound(50, 1.0) == pytest.approx((2 / np.e) ** 25)
    # The dimension of the lemma has at most the probability that it is for.
    for n, delta in ((2, 0.5), (100, 0.05), (10**6, 1e-6)):
        dimension = bounds.johnson_lindenstrauss_dimension(n, 0.4, delta)
        assert bounds.johnson_lindenstrauss_tail_bound(dimension, 0.4, n) <= delta


def test_tail_bound_holds_for_simulated_distances():
    rng = np.random.default_rng(0)
    n, d, s, eps = 6, 9, 120, 0.4
    X = rng.standard_normal((n, d))
    pairs = np.array([X[i] - X[j] for i, j in itertools.combinations(range(n), 2)])
    pairs /= np.linalg.norm(pairs, axis=1)[:, None]
    after = np.sum((pairs @ rng.standard_normal((2000, d, s))) ** 2, axis=2) / s
    failed = (np.abs(after - 1) >= eps).any(axis=1)
    bound = bounds.johnson_lindenstrauss_tail_bound(s, eps, n)
    assert 0 < failed.mean() <= bound < 0.4


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("projection_moments", ([[1.0, 2.0]], 1), "gram"),
        ("projection_moments", ([[1.0, 2.0], [0.0, 1.0]], 1), "gram"),
        ("projection_moments", ([[np.nan]], 1), "gram"),
        ("projection_moments", ([[1.0]], 0), "n_components"),
        ("projection_moments", ([1.0], 1), "gram"),
        ("projection_moments", ([[1.0]], 1.5), "n_components"),
        ("random_features_moment_bound", ([[1.0, 0.0]], 1, 1.0), "kernel"),
        ("random_features_moment_bound", ([[1.0]], 1, -1.0), "squared_radius"),
        ("projection_bias_bound", (np.eye(2), [1.0], np.eye(2), np.eye(2), 3), "coefficients"),
        ("projection_bias_bound", (np.eye(2), [1.0, 1], np.eye(3), np.eye(2), 3), "first"),
        ("projection_bias_bound", (np.eye(2), [1.0, 1], np.eye(2), np.eye(3), 3), "second"),
        ("projection_bias_bound", (np.eye(2), [1.0, 1], np.eye(2), np.eye(2), 0), "n_samples"),
        ("averaged_projection_risk", (2 * np.eye(2), [1.0, 1.0]), "projection"),
        ("averaged_projection_risk", (np.eye(2), [1.0]), "mean"),
        ("averaged_projection_risk", (np.eye(2), [1.0, 1.0], 0), "n_estimators"),
        ("averaged_projection_risk", (np.eye(2), [1.0, 1.0], 1, -1.0), "noise_variance"),
        ("johnson_lindenstrauss_tail_bound", (0, 0.1), "n_components"),
        ("johnson_lindenstrauss_tail_bound", (5, 1.1), "eps"),
        ("johnson_lindenstrauss_tail_bound", (5, 0.1, 1), "n_samples"),
    ],
)
def test_bad_arguments_are_named(name, arguments, message):
    with pytest.raises(ValueError, match=message):
        getattr(bounds, name)(*arguments)


@pytest.mark.slow
@pytest.mark.parametrize(("eps", "delta"), [(0.45, 0.3), (0.3, 0.05)])
def test_distortion_is_below_eps_with_the_probability_of_the_lemma(eps, delta):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((12, 20)) * np.arange(1, 21)
    s = johnson_lindenstrauss_dimension(12, eps, delta)
    distortions = []
    for _ in range(1000):
        Z = X @ rng.standard_normal((20, s)) / np.sqrt(s)
        distortions.append(johnson_lindenstrauss_distortion(X, Z))
    assert np.mean(np.array(distortions) < eps) >= 1 - delta
    # Far fewer dimensions do not do.
    few = [
        johnson_lindenstrauss_distortion(X, X @ rng.standard_normal((20, s // 8)) / np.sqrt(s // 8))
        for _ in range(50)
    ]
    assert np.mean(np.array(few) < eps) < 1 - delta


def test_dimension_is_the_least_integer_of_the_lemma():
    for n, eps, delta in [(1, 0.1, 0.5), (100, 0.25, 0.01), (10**9, 0.01, 1e-9)]:
        s = johnson_lindenstrauss_dimension(n, eps, delta)
        assert n**2 * np.exp(-s * eps**2 / 6) <= delta * (1 + 1e-9)
        assert n**2 * np.exp(-(s - 1) * eps**2 / 6) > delta


@pytest.mark.parametrize("n", [5, 70])
def test_distortion_by_all_pairs(n):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 8)) + 1e4
    X[1] = X[0] + 1e-3 * rng.standard_normal(8)  # near each other, far from zero
    S = rng.standard_normal((8, 3))
    expected = np.abs(pdist(X @ S, "sqeuclidean") / pdist(X, "sqeuclidean") - 1).max()
    assert johnson_lindenstrauss_distortion(X, X @ S) == pytest.approx(expected, rel=1e-6)
    sparse = sp.csr_array(X), sp.csr_matrix(X @ S)
    assert johnson_lindenstrauss_distortion(*sparse) == pytest.approx(expected, rel=1e-6)


def test_equal_points():
    X = np.ones((4, 3))
    assert johnson_lindenstrauss_distortion(X, X[:, :1]) == 0.0
    assert johnson_lindenstrauss_distortion(X, np.arange(4.0)[:, None]) == np.inf
    assert johnson_lindenstrauss_distortion(X[:1], X[:1]) == 0.0
    assert johnson_lindenstrauss_distortion(np.eye(3), 2 * np.eye(3)) == pytest.approx(3.0)


def test_distortion_over_several_blocks():
    """More than 2,048 points: their distances are more than one array is made for."""
    X = np.random.default_rng(0).standard_normal((2_100, 4))
    expected = np.abs(pdist(X[:, :3], "sqeuclidean") / pdist(X, "sqeuclidean") - 1).max()
    assert johnson_lindenstrauss_distortion(X, X[:, :3]) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("s", [1, 2, 5, 30])
def test_exact_moments_stay_below_the_bounds(s):
    """The matrix bound of [Bach, §10.2.2] before it is simplified, from the two moments of S."""
    rng = np.random.default_rng(0)
    n, d = 10, 7
    Phi = rng.standard_normal((n, d)) * np.arange(1, d + 1)
    G = Phi.T @ Phi
    norms = np.diag(np.diag(G))

    def worst(first, second):  # E[S S'] = first I, E[S S'G S S'] = second
        bias = G - first**2 * G @ np.linalg.solve(second, G)
        return np.linalg.eigvalsh(bias)[-1] / n

    trace, eye = np.trace(G), np.eye(d)
    gaussian = worst(s, s * (s + 1) * G + s * trace * eye)
    assert gaussian <= projection_risk_bound(n, s, trace, 1.0, 0.0)
    q = 9.0  # the fourth moment of sparse entries with probability 1/9
    sparse = worst(s, s * (s + 1) * G + s * trace * eye + s * (q - 3) * norms)
    size = trace + (q - 3) * norms.max()
    assert sparse <= projection_risk_bound(n, s, size, 1.0, 0.0)
    coordinate = worst(s / d, s * (s - 1) / d**2 * G + s / d * norms)
    assert coordinate <= projection_risk_bound(
        n, s, d * norms.max(), 1.0, 0.0, projection="coordinate"
    )


def test_second_moments_of_sparse_and_coordinate_projections():
    rng = np.random.default_rng(0)
    d, s, draws = 4, 3, 200_000
    G = np.diag([1.0, 2.0, 3.0, 4.0]) + 0.5
    p = 0.5
    entries = rng.choice([-1, 0, 1], p=[p / 2, 1 - p, p / 2], size=(draws, d, s)) / np.sqrt(p)
    mean = np.einsum("bis,bjs,jk,bkt,blt->il", entries, entries, G, entries, entries, optimize=True)
    expected = s * (s + 1) * G + s * np.trace(G) * np.eye(d) + s * (1 / p - 3) * np.diag(np.diag(G))
    np.testing.assert_allclose(mean / draws, expected, atol=0.02 * expected.max())
    entries = np.eye(d)[rng.integers(d, size=(draws, s))].transpose(0, 2, 1)
    mean = np.einsum("bis,bjs,jk,bkt,blt->il", entries, entries, G, entries, entries, optimize=True)
    expected = s * (s - 1) / d**2 * G + s / d * np.diag(np.diag(G))
    np.testing.assert_allclose(mean / draws, expected, atol=0.02 * expected.max())


@pytest.mark.parametrize(
    ("function", "arguments", "name"),
    [
        (johnson_lindenstrauss_dimension, (0,), "n_samples"),
        (johnson_lindenstrauss_dimension, (10, 0.5), "eps"),
        (johnson_lindenstrauss_dimension, (10, 0.0), "eps"),
        (johnson_lindenstrauss_dimension, (10, 0.1, 1.0), "delta"),
        (projection_risk_bound, (0, 1, 1.0, 1.0), "n_samples"),
        (projection_risk_bound, (10, 1.5, 1.0, 1.0), "n_components"),
        (projection_risk_bound, (10, 1, -1.0, 1.0), "size"),
        (projection_risk_bound, (10, 1, 1.0, 1.0, np.nan), "noise_variance"),
        (random_features_bound, (10, 1, -1.0, 1.0), "squared_radius"),
        (random_features_bound, (10, 1, 1.0, -1.0), "squared_norm"),
    ],
)
def test_arguments_out_of_range_are_named(function, arguments, name):
    with pytest.raises(ValueError, match=name):
        function(*arguments)


def test_different_numbers_of_rows():
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        johnson_lindenstrauss_distortion(np.eye(3), np.eye(2))
