"""The gauge of a finite dictionary against closed forms, all bases, its dual, and Frank-Wolfe."""

from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import linprog

from sklearn_ensemble_theory import (
    DecisionStumpClassifier,
    FrankWolfeRegressor,
    MatchingPursuitRegressor,
    bounds,
)
from sklearn_ensemble_theory.erm import stump_dictionary


def least_norm_of_bases(atoms, u):
    """The least l1 norm over all bases: a linear program has a solution at a vertex."""
    n, m = atoms.shape
    best = np.inf
    for chosen in combinations(range(m), n):
        block = atoms[:, chosen]
        if abs(np.linalg.det(block)) > 1e-9:
            best = min(best, np.abs(np.linalg.solve(block, u)).sum())
    return best


@pytest.mark.parametrize("seed", range(5))
def test_gauge_is_the_least_norm_of_all_bases(seed):
    rng = np.random.default_rng(seed)
    atoms, u = rng.standard_normal((3, 8)) * 10.0 ** rng.integers(-3, 4, 8), rng.standard_normal(3)
    found = bounds.gauge(atoms, u)
    assert found.value == pytest.approx(least_norm_of_bases(atoms, u), rel=1e-10)
    np.testing.assert_allclose(atoms @ found.coefficients, u, atol=1e-10)
    assert np.abs(found.coefficients).sum() == found.value


@pytest.mark.parametrize("seed", range(5))
def test_duality(seed):
    """gamma(u) = max <u, g> with gamma°(g) <= 1: the certificate, and a program of its own."""
    rng = np.random.default_rng(seed)
    n, m = 12, 30
    # Of full rank, and of rank 6 with u in the span.
    atoms = (
        rng.standard_normal((n, m))
        if seed % 2
        else rng.standard_normal((n, 6)) @ (rng.standard_normal((6, m)))
    )
    u = atoms @ rng.standard_normal(m)
    found = bounds.gauge(atoms, u)
    g = found.certificate
    # Up to the rounding of inner products of n numbers.
    assert bounds.polar_gauge(atoms, g) <= 1 + n * np.finfo(float).eps
    assert u @ g == pytest.approx(found.value, rel=1e-9)
    dual = linprog(-u, np.vstack([atoms.T, -atoms.T]), np.ones(2 * m), bounds=(None, None))
    assert found.value == pytest.approx(-dual.fun, rel=1e-7)
    # No other g has a larger product.
    for h in rng.standard_normal((50, n)):
        assert u @ h <= found.value * bounds.polar_gauge(atoms, h) * (1 + 1e-9)


def test_gauge_is_a_norm_on_the_span():
    rng = np.random.default_rng(0)
    atoms, (u, v) = rng.standard_normal((5, 9)), rng.standard_normal((2, 5))
    value = bounds.gauge(atoms, u).value
    assert bounds.gauge(atoms, -3 * u).value == pytest.approx(3 * value)
    assert bounds.gauge(2 * atoms, u).value == pytest.approx(value / 2)
    assert bounds.gauge(atoms, u + v).value <= value + bounds.gauge(atoms, v).value
    assert all(bounds.gauge(atoms, a).value <= 1 + 1e-9 for a in atoms.T)
    # At most the l1 norm of any coefficients; and |u| <= max |d_j| gamma(u).
    assert np.linalg.norm(u) <= np.linalg.norm(atoms, axis=0).max() * value


def test_gauge_of_orthonormal_atoms_is_the_l1_norm():
    rng = np.random.default_rng(0)
    atoms = np.linalg.qr(rng.standard_normal((7, 4)))[0]
    c = rng.standard_normal(4)
    found = bounds.gauge(atoms, atoms @ c)
    assert found.value == pytest.approx(np.abs(c).sum(), rel=1e-10)
    np.testing.assert_allclose(found.coefficients, c, atol=1e-10)
    # <d_j, g> = sign(c_j) for the certificate, which is unique in the span.
    np.testing.assert_allclose(atoms.T @ found.certificate, np.sign(c), atol=1e-8)


def test_gauge_outside_the_span():
    atoms = np.array([[1.0, 2.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    found = bounds.gauge(atoms, [1.0, 1.0, 0.5])
    assert found.value == np.inf
    assert found.coefficients is None
    assert bounds.polar_gauge(atoms, found.certificate) == pytest.approx(0, abs=1e-12)
    assert found.certificate @ [1.0, 1.0, 0.5] > 0
    assert bounds.gauge(atoms, [1.0, 1.0, 1e-12]).value == pytest.approx(1)
    assert bounds.gauge(atoms, [1.0, 1.0, 1e-3], tol=0.01).value == pytest.approx(1)
    assert bounds.gauge(np.zeros((3, 2)), np.ones(3)).value == np.inf
    nothing = bounds.gauge(np.zeros((3, 2)), np.zeros(3))
    assert nothing.value == 0
    assert not nothing.coefficients.any()


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
def test_gauge_in_any_units(scale):
    atoms = np.array([[1.0, 0.0, 0.8], [0.0, 1.0, 0.8]]) * [scale, scale, 1e6 * scale]
    found = bounds.gauge(atoms, [scale, scale])
    assert found.value == pytest.approx(1.25e-6)
    assert found.certificate @ [scale, scale] == pytest.approx(found.value)


@pytest.mark.parametrize(
    ("dictionary", "target", "message"),
    [
        ([1.0, 2.0], [1.0, 2.0], "dictionary must be a non-empty array with 2"),
        ([[1.0], [np.nan]], [1.0, 2.0], "dictionary must be finite"),
        ([[1.0], [2.0]], [1.0, np.inf], "target must be finite"),
        ([[1.0], [2.0]], [1.0, 2.0, 3.0], "target has 3 entries"),
        ([[1.0], [2.0]], ["a", "b"], "target must be a number or an array"),
        ([[1.0, 1e-20], [2.0, 0.0]], [1.0, 2.0], "sizes of the atoms differ"),
        ([[1e-300], [1e-300]], [1e200, 1e200], "coefficients overflow"),
    ],
)
def test_errors_of_gauge(dictionary, target, message):
    with pytest.raises(ValueError, match=message):
        bounds.gauge(dictionary, target)


def test_more_errors_of_gauge():
    with pytest.raises(ValueError, match="tol must be"):
        bounds.gauge([[1.0]], [1.0], tol=-1)
    with pytest.raises(ValueError, match="direction has 2 entries"):
        bounds.polar_gauge([[1.0]], [1.0, 2.0])


def test_polar_gauge_is_the_largest_product():
    rng = np.random.default_rng(0)
    atoms, g = rng.standard_normal((6, 11)), rng.standard_normal(6)
    largest = max(abs(sum(a * b for a, b in zip(atom, g))) for atom in atoms.T)
    assert bounds.polar_gauge(atoms, g) == pytest.approx(largest, rel=1e-12)


def test_gauge_over_stumps_of_one_feature_is_half_the_total_variation():
    rng = np.random.default_rng(0)
    x, u = rng.permutation(np.repeat(np.arange(20.0), 2)), rng.standard_normal(20)
    found = bounds.gauge(stump_dictionary(x[:, None]).outputs, u[x.astype(int)])
    by_hand = 0.5 * np.abs(np.diff(u)).sum() + 0.5 * abs(u[0] + u[-1])
    assert found.value == pytest.approx(by_hand, rel=1e-10)


def test_frank_wolfe_reaches_the_target_from_the_gauge_on():
    """The least radius with risk 0 is the gauge: another route to the same number."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((8, 20))
    y = rng.standard_normal(8)
    radius = bounds.gauge(X, y).value
    risks, gaps = [], []
    for r in (0.95 * radius, 1.001 * radius):
        model = FrankWolfeRegressor(
            radius=r, fit_intercept=False, variant="away", n_estimators=2000, tol=1e-6
        ).fit(X, y)
        risks.append(0.5 * np.mean((y - model.predict(X)) ** 2))
        gaps.append(model.dual_gaps_[-1])
    assert risks[0] - gaps[0] > 0  # the minimum inside the smaller ball is positive
    assert risks[1] < 1e-5


def test_stumps_are_all_that_differ():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (12, 3)).astype(float)
    X[:, 2] = -X[:, 0]  # the same stumps again
    found = stump_dictionary(X)
    outputs = found.outputs
    for psi, j, c in zip(outputs.T, found.features, found.thresholds):
        np.testing.assert_array_equal(psi, np.where(X[:, j] <= c, 1.0, -1.0))
    products = np.abs(outputs.T @ outputs)
    assert (products[~np.eye(len(products), dtype=bool)] < 12).all()  # no two are equal or opposite
    listed = {tuple(psi * psi[0]) for psi in outputs.T}
    every = {
        tuple(np.where(X[:, j] <= c, 1.0, -1.0) * (1.0 if X[0, j] <= c else -1.0))
        for j in range(3)
        for c in [0.5, 1.5, 2.5, np.inf]
    }
    assert listed == every
    assert outputs.shape[1] == 7
    assert stump_dictionary(X, constant=False).outputs.shape == (12, 6)
    with pytest.raises(ValueError, match="all rows are equal"):
        stump_dictionary(np.ones((3, 2)), constant=False)


@pytest.mark.parametrize("seed", range(3))
def test_the_best_stump_is_the_polar_gauge(seed):
    """The stump of least weighted error has the largest product with the signed weights."""
    rng = np.random.default_rng(seed)
    X, signed = rng.standard_normal((30, 3)), rng.standard_normal(30)
    outputs = stump_dictionary(X).outputs
    stump = DecisionStumpClassifier().fit(X, signed > 0, sample_weight=np.abs(signed))
    edge = 1 - 2 * stump.training_error_
    assert edge == pytest.approx(bounds.polar_gauge(outputs, signed) / np.abs(signed).sum())


def test_bounds_of_pursuit_without_a_gauge():
    """The gauge of y, or of its least-squares fit, with weights; the rates hold along the path."""
    rng = np.random.default_rng(0)
    for n, d, intercept in [(40, 12, True), (15, 60, False), (25, 40, True)]:
        X = rng.standard_normal((n, d)) + rng.standard_normal(d)
        y = X[:, :3].sum(axis=1) + rng.standard_normal(n)
        weight = rng.integers(0, 4, n).astype(float)
        for variant in ("plain", "orthogonal", "weak"):
            model = MatchingPursuitRegressor(40, variant=variant, fit_intercept=intercept)
            # Orthogonal pursuit reaches least squares to rounding, and stops there.
            model.set_params(tol=1e-6).fit(X, y, sample_weight=weight)
            squares = model.residual_norms_**2
            sublinear = model.error_bound(X, y, weight)
            assert (squares <= sublinear * (1 + 1e-9)).all()
            exponential = model.error_bound(X, y, weight, method="exponential")
            assert (squares <= exponential + 1e-12).all()
        # By hand: normalised columns, on the rows of positive weight.
        w = weight / weight.sum()
        psi = X - w @ X if intercept else X
        psi = psi / np.sqrt(w @ psi**2)
        u = y - w @ y if intercept else y
        fit = psi @ np.linalg.pinv(np.sqrt(w)[:, None] * psi) @ (np.sqrt(w) * u)
        least, used = w @ (u - fit) ** 2, w > 0
        gauge = bounds.gauge(psi[used], fit[used]).value
        expected = least + bounds.matching_pursuit_bound(0, gauge, 1.0, 0.8)
        assert sublinear[0] == pytest.approx(expected, rel=1e-7)
        kappa = bounds.matching_pursuit_kappa((w[:, None] * psi).T @ psi)
        rate = 1 - (0.8 * kappa) ** 2
        assert exponential[1] == pytest.approx(least + (w @ u**2) * rate, rel=1e-7)
        # A sparse X gives the same, and a given gauge is used as it is.
        if not intercept:
            given = model.error_bound(gauge_y=gauge)
            np.testing.assert_allclose(given + least, sublinear, rtol=1e-7, atol=1e-12)


def test_the_bound_of_pursuit_needs_a_gauge_or_the_data():
    X = np.random.default_rng(0).standard_normal((10, 3))
    model = MatchingPursuitRegressor(5).fit(X, X[:, 0])
    for arguments in ({}, {"X": X}, {"y": X[:, 0]}):
        with pytest.raises(ValueError, match="gauge_y=None requires X and y"):
            model.error_bound(**arguments)
    with pytest.raises(ValueError, match="method='exponential' requires X"):
        model.error_bound(gauge_y=1.0, method="exponential")
    with pytest.raises(ValueError, match="method must be one of 'sublinear', 'exponential'"):
        model.error_bound(gauge_y=1.0, method="linear")
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.error_bound(X, X[:5, 0])
