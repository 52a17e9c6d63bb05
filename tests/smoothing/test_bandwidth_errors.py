"""Leave-one-out errors of many bandwidths and averages of many rows, by sums and by pairs."""

import math

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from sklearn_ensemble_theory import NadarayaWatsonRegressor
from sklearn_ensemble_theory.smoothing import _bandwidth_errors as bandwidth_errors
from sklearn_ensemble_theory.smoothing import _gaussian_sums as gaussian_sums
from sklearn_ensemble_theory.smoothing import _kernel as kernels
from sklearn_ensemble_theory.smoothing._compact_kernels import kernel_value

KERNELS = ["gaussian", "epanechnikov", "tricube", "uniform"]


def smooth(rng, n, p):
    X = rng.uniform(size=(n, p))
    return X, np.sin(6 * X[:, 0]) + 0.3 * rng.standard_normal(n)


def heavy(rng, n, p):
    X = rng.standard_t(1.5, size=(n, p))
    return X, np.sign(np.sin(9 * X[:, 0])) + rng.standard_normal(n)


def spikes(rng, n, p):
    """Clusters of different widths with tied values, and targets of very different sizes."""
    X = rng.standard_normal((n, p)).round(2) * rng.choice([1e-3, 1.0], size=(n, 1))
    y = rng.exponential(size=n) ** 8
    y[3] = 1e12
    return X, y


def pairs_apart(rng, n, p):
    """Each value twice, so that copies are left when a row is left out; many without neighbours."""
    X = np.repeat(rng.standard_normal((n // 2, p)) ** 9, 2, axis=0)
    return X, np.sin(X[:, 0]) + rng.standard_normal(n)


def errors_by_exponentials(kernel, Z, Y, w, groups, factors):
    """A kernel for every pair and bandwidth, of rows that are left out by a weight of zero."""
    n = len(Z)
    n_rows = min(n, bandwidth_errors.LOO_ROWS)
    rows = np.linspace(0, n - 1, n_rows).astype(int)
    u2 = cdist(Z[rows], Z, "sqeuclidean")
    weights = np.broadcast_to(w, u2.shape).copy()
    groups = np.arange(n) if groups is None else groups
    weights[groups[rows, None] == groups] = 0.0
    others = np.where(weights > 0, u2, np.inf)
    nearest = others.min(axis=1, keepdims=True)
    errors = np.empty(len(factors))
    for k, factor in enumerate(factors):
        if kernel == "gaussian":
            K = np.exp(-0.5 * np.maximum(u2 - nearest, 0.0) / factor**2) * weights
        else:
            K = kernel_value(kernel, u2 / factor**2) * weights
            isolated = K.sum(axis=1) <= 0
            K[isolated] = (others[isolated] <= nearest[isolated] * (1 + 1e-12)) * weights[isolated]
        residual = Y[rows] - (K / K.sum(axis=1, keepdims=True)) @ Y
        errors[k] = (w[rows, None] * residual**2).sum() / w[rows].sum()
    return errors


@pytest.mark.filterwarnings("ignore:.*rows of X are equal")
@pytest.mark.parametrize("make", [smooth, heavy, spikes, pairs_apart])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(("n", "p"), [(3200, 1), (400, 1), (700, 2)])
def test_errors_are_those_of_an_exponential_for_every_bandwidth(kernel, make, n, p, monkeypatch):
    monkeypatch.setattr(bandwidth_errors, "LOO_ROWS", 150)
    rng = np.random.default_rng(n)
    X, y = make(rng, n, p)
    Z = (X - X[0]) / X.std(axis=0) / 0.2
    Y = np.column_stack([y, rng.standard_normal(n)])
    weights = rng.exponential(size=n) ** 6
    for w, groups in ((np.ones(n), None), (weights, None), (weights, rng.integers(40, size=n))):
        given = kernel, Z, Y, w, groups, bandwidth_errors.LOO_FACTORS
        found = bandwidth_errors.loo_errors_of_factors(*given)
        np.testing.assert_allclose(found, errors_by_exponentials(*given), rtol=1e-10)


@pytest.mark.parametrize("kernel", KERNELS)
def test_sums_are_those_of_fits_without_each_row(kernel, monkeypatch):
    monkeypatch.setattr(bandwidth_errors, "MANY_ROWS", 10)
    monkeypatch.setattr(bandwidth_errors, "FEW_ROWS", 5)
    rng = np.random.default_rng(0)
    X, y = smooth(rng, 60, 1)
    w = rng.uniform(0.5, 2.0, size=60)
    model = NadarayaWatsonRegressor("loo", kernel=kernel).fit(X, y, w)
    for at in (0, 12, 24):
        h, total = float(model.cv_results_["bandwidth"][at, 0]), 0.0
        for i in range(60):
            rest = np.arange(60) != i
            fit = NadarayaWatsonRegressor(h, kernel=kernel).fit(X[rest], y[rest], w[rest])
            total += w[i] * (y[i] - fit.predict(X[[i]])[0]) ** 2
        score = model.cv_results_["mean_score"][at]
        np.testing.assert_allclose(score, total / w.sum(), rtol=1e-11)


@pytest.mark.parametrize("cells_at_a_time", [gaussian_sums.CELLS_AT_A_TIME, 45])
def test_sums_of_the_gaussian_kernel_term_by_term(cells_at_a_time, monkeypatch):
    monkeypatch.setattr(gaussian_sums, "CELLS_AT_A_TIME", cells_at_a_time)
    rng = np.random.default_rng(1)
    values = np.sort(np.r_[rng.normal(size=200), rng.uniform(-60, 90, 150), 1e6, [7.0] * 20])
    column = rng.exponential(size=len(values)) ** 3
    z = np.r_[rng.uniform(values[0], 100, size=70), values[:10], values[-1], 5e5]
    sums = gaussian_sums.GaussianSums(values)
    (found,) = sums.at(z, [column])
    exact = np.array(
        [math.fsum(c * math.exp(-0.5 * (t - v) ** 2) for v, c in zip(values, column)) for t in z]
    )
    lost = gaussian_sums.BEYOND * column.sum()
    np.testing.assert_allclose(found, exact, rtol=2e-14, atol=lost)
    assert exact.min() < lost < np.median(exact)  # both cases were tried
    assert sums.at(z[:0], [column, column]).shape == (2, 0)


@pytest.mark.parametrize("make", [smooth, heavy, spikes, pairs_apart])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_predictions_of_many_rows_are_those_of_the_matrix(make, is_weighted):
    rng = np.random.default_rng(2)
    n = gaussian_sums.MANY_ROWS
    X, y = make(rng, n, 1)
    y = np.column_stack([y, 1e150 * y, np.full(n, 3.0), np.arange(n) == 5])
    w = rng.exponential(size=n) ** 6 if is_weighted else None
    model = NadarayaWatsonRegressor(0.05).fit(X, y, w)
    new = np.r_[make(rng, 400, 1)[0], [[X.min() - 1.0], [X.max() + 30.0], [1e9]], X[:5]]
    by_pairs = model.smoother_matrix(new) @ y
    np.testing.assert_allclose(model.predict(new), by_pairs, rtol=1e-11)
    np.testing.assert_allclose(model.predict(new[7:8]), by_pairs[7:8], rtol=1e-11)
    trace = np.trace(model.smoother_matrix())
    np.testing.assert_allclose(model.degrees_of_freedom_, trace, rtol=1e-11)


@pytest.mark.parametrize("kernel", KERNELS)
def test_many_rows_of_one_feature_make_few_pairs(kernel, monkeypatch):
    """Pairs are left for averages near zero, of which sums over cells lose digits."""
    counts = []

    def counted(A, B, metric):
        counts.append(len(A) * len(B))
        return cdist(A, B, metric)

    monkeypatch.setattr(bandwidth_errors, "cdist", counted)
    monkeypatch.setattr(kernels, "cdist", counted)
    X, y = smooth(np.random.default_rng(3), 20_000, 1)
    model = NadarayaWatsonRegressor("loo", kernel=kernel).fit(X, y)
    model.predict(X[:5_000])
    assert sum(counts) <= 10 * 20_000


def test_bandwidths_share_exponentials(monkeypatch):
    exp, counts = np.exp, []

    def counted(x, *args, **keywords):
        counts.append(np.size(x))
        return exp(x, *args, **keywords)

    X, y = smooth(np.random.default_rng(4), 200, 3)
    model = NadarayaWatsonRegressor("loo")
    monkeypatch.setattr(np, "exp", counted)
    model.fit(X, y)
    assert sum(counts) == 4 * 200**2  # of 25 bandwidths
    np.testing.assert_allclose(
        bandwidth_errors.LOO_FACTORS[2:] / bandwidth_errors.LOO_FACTORS[:-2], math.sqrt(2)
    )
