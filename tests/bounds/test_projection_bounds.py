"""The dimension of the Johnson-Lindenstrauss lemma, and distortions; bounds by other routes."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import pdist

from sklearn_ensemble_theory.bounds import (
    coordinate_projection_bound,
    gaussian_projection_bound,
    johnson_lindenstrauss_dimension,
    johnson_lindenstrauss_distortion,
    random_features_bound,
)


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
    assert gaussian <= gaussian_projection_bound(n, s, trace, 1.0, 0.0)
    q = 9.0  # the fourth moment of sparse entries with probability 1/9
    sparse = worst(s, s * (s + 1) * G + s * trace * eye + s * (q - 3) * norms)
    size = trace + (q - 3) * norms.max()
    assert sparse <= gaussian_projection_bound(n, s, size, 1.0, 0.0)
    coordinate = worst(s / d, s * (s - 1) / d**2 * G + s / d * norms)
    assert coordinate <= coordinate_projection_bound(n, s, d * norms.max(), 1.0, 0.0)


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
        (gaussian_projection_bound, (0, 1, 1.0, 1.0), "n_samples"),
        (gaussian_projection_bound, (10, 1.5, 1.0, 1.0), "n_components"),
        (gaussian_projection_bound, (10, 1, -1.0, 1.0), "trace"),
        (gaussian_projection_bound, (10, 1, 1.0, 1.0, np.nan), "noise_variance"),
        (coordinate_projection_bound, (10, 1, -1.0, 1.0), "size"),
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
