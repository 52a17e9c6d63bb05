"""Filters, operators and stability against matrix functions computed the long way."""

import numpy as np
import pytest
from scipy.linalg import expm

from sklearn_ensemble_theory.bounds._spectral_filters import (
    n_rounds,
    phi_1,
    residual_filter,
    weight_filter,
)
from sklearn_ensemble_theory.smoothing._operators import (
    EigenbasisOperator,
    SquaringOperator,
    operator,
    stability,
)


def test_rounds_are_those_of_decimal_arithmetic():
    for rate in (0.1, 0.01, 0.3, 1 / 3, 0.001):
        m = np.arange(100_000)
        np.testing.assert_array_equal(n_rounds(m * rate, rate), m)
    np.testing.assert_array_equal(n_rounds([0.25, 0.299, 0.3], 0.1), [2, 2, 3])


@pytest.mark.parametrize("kind", [float, complex])
def test_filters(kind):
    mu = np.array([0.0, 1e-18, 1e-9, 0.02, 0.4, 0.9, 1.0, 1.7, -0.3], dtype=kind)
    if kind is complex:
        mu = mu * np.exp(0.7j)
    times = np.array([0.0, 1e-3, 0.5, 2.0, 30.0])
    np.testing.assert_allclose(phi_1(np.array([0.0, 1.0])), [1, np.e - 1])
    for rate in (0.0, 0.01, 0.5, 1.0):
        e, h = residual_filter(mu, times, rate), weight_filter(mu, times, rate)
        assert h.shape == (len(mu), len(times))
        np.testing.assert_allclose(1 - e, mu[:, None] * h, atol=1e-13)
        for j, t in enumerate(times):
            m = int(n_rounds(t, rate)) if rate else 0
            for i in range(len(mu)):
                total = rate * sum((1 - rate * mu[i]) ** k for k in range(m))
                if rate:
                    assert h[i, j] == pytest.approx(total, rel=1e-11)
        # At mu = 0 the weight is the time itself.
        np.testing.assert_allclose(h[0], n_rounds(times, rate) * rate if rate else times)
        np.testing.assert_allclose(h[1], h[0])


def matrices():
    rng = np.random.default_rng(0)
    n = 10
    symmetric = rng.standard_normal((n, n))
    symmetric = symmetric @ symmetric.T / 20
    symmetric[:, -1] = symmetric[-1] = 0  # singular
    metric = rng.uniform(0.5, 2, size=n)
    general = np.eye(n) * 0.5 + 0.2 * rng.standard_normal((n, n))
    nilpotent = np.diag(np.full(n - 1, 0.3), 1)
    nilpotent[5:, 5:] += np.diag(np.full(5, 0.4))
    return {
        "symmetric": (symmetric, None, EigenbasisOperator),
        "metric": (symmetric / metric[:, None], metric, EigenbasisOperator),
        "constant metric": (symmetric, np.full(n, 3.0), EigenbasisOperator),
        "general": (general, None, EigenbasisOperator),
        "defective": (nilpotent, None, SquaringOperator),
        "zero": (np.zeros((n, n)), None, EigenbasisOperator),
    }


@pytest.mark.parametrize("name", matrices())
@pytest.mark.parametrize("rate", [0.0, 0.1, 1.0])
def test_operators(name, rate):
    S, metric, kind = matrices()[name]
    n = len(S)
    rng = np.random.default_rng(1)
    y, G = rng.standard_normal(n), rng.standard_normal((3, n))
    q = np.full(n, 1 / np.sqrt(n))
    J = np.eye(n) - np.outer(q, q)
    times = np.array([0.0, 0.05, 0.3, 1.0, 7.3])
    op = operator(S, rate, metric)
    assert isinstance(op, kind)
    E, P = [], []
    for t in times:
        if rate == 0:
            block = expm(np.block([[-t * S, t * np.eye(n)], [np.zeros((n, 2 * n))]]))
            E.append(block[:n, :n])
            P.append(block[:n, n:])
        else:
            m = int(n_rounds(t, rate))
            step = np.eye(n) - rate * S
            powers = [np.linalg.matrix_power(step, k) for k in range(m + 1)]
            E.append(powers[-1])
            P.append(rate * sum(powers[:-1], np.zeros((n, n))))
    close = {"rtol": 1e-9, "atol": 1e-10}
    np.testing.assert_allclose(op.residuals(y, times), np.stack([e @ y for e in E], 1), **close)
    np.testing.assert_allclose(op.weights(y, times), np.stack([p @ y for p in P], 1), **close)
    np.testing.assert_allclose(
        op.squared_residuals(y, times), [np.sum((e @ y) ** 2) for e in E], **close
    )
    np.testing.assert_allclose(op.form(y, times), [y @ e @ y for e in E], **close)
    np.testing.assert_allclose(op.trace(times), [np.trace(e) for e in E], **close)
    np.testing.assert_allclose(op.diagonal(times), np.stack([np.diag(e) for e in E], 1), **close)
    for unit, projection in ((q, J), (None, np.eye(n))):
        train, test = op.squared_norms(times, unit)
        np.testing.assert_allclose(train, [np.sum((e @ projection) ** 2) for e in E], **close)
        np.testing.assert_allclose(
            test, [np.sum((projection - e @ projection) ** 2) for e in E], **close
        )
        rows = list(op.prediction_rows(G, times, unit))
        for row, p in zip(rows, P):
            np.testing.assert_allclose(row, G @ p @ projection, **close)


def with_blocks(*blocks, seed=0):
    """A matrix with these Jordan blocks (eigenvalue, size), complex ones as rotations."""
    n = sum(size * (2 if isinstance(mu, complex) else 1) for mu, size in blocks)
    J, at = np.zeros((n, n)), 0
    for mu, size in blocks:
        if isinstance(mu, complex):
            cell = np.array([[mu.real, -mu.imag], [mu.imag, mu.real]])
            for k in range(size):
                J[at + 2 * k : at + 2 * k + 2, at + 2 * k : at + 2 * k + 2] = cell
                if k:
                    J[at + 2 * k - 2 : at + 2 * k, at + 2 * k : at + 2 * k + 2] = np.eye(2)
            at += 2 * size
        else:
            J[at : at + size, at : at + size] = mu * np.eye(size) + np.diag(np.ones(size - 1), 1)
            at += size
    Q = np.random.default_rng(seed).standard_normal((n, n))
    return Q @ J @ np.linalg.inv(Q)


@pytest.mark.parametrize(
    ("blocks", "stable", "says"),
    [
        ([(1.0, 1), (0.5, 1), (0.2, 2)], True, ""),
        ([(1.0, 1), (0.5, 3)], True, ""),
        ([(1.0, 1), (0.0, 1), (0.3, 1)], True, ""),
        ([(1.0, 1), (0.0, 1), (0.0, 1)], True, ""),
        ([(1.0, 1), (0.0, 2)], False, "Jordan"),
        ([(1.0, 1), (-0.2, 1)], False, "-0.2 has a negative real part"),
        ([(1.0, 1), (0.7j, 1)], True, ""),
        ([(1.0, 1), (0.7j, 2)], False, "Jordan"),
        ([(1.0, 1), (0.2 + 0.7j, 2)], True, ""),
        ([(1.0, 1), (-0.1 + 0.7j, 1)], False, "negative real part"),
    ],
)
def test_stability_of_hand_made_matrices(blocks, stable, says):
    S = with_blocks(*blocks)
    found, reason = stability(S, np.linalg.eigvals(S), symmetric=False)
    assert found == stable
    assert says in reason
    # What the word means: e^{-tS} stays bounded. Far out it does or it does not.
    sizes = [np.abs(expm(-t * S)).max() for t in (20.0, 200.0)]
    assert (sizes[1] < 3 * sizes[0]) == stable
