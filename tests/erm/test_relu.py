"""Rectified linear units: against brute force over the knots, and as a network."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from sklearn_ensemble_theory import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    ReLUUnitRegressor,
    export,
)
from sklearn_ensemble_theory.erm import ReLUNetwork
from sklearn_ensemble_theory.erm._hinges import HingeIndex

HINGES = "sklearn_ensemble_theory.erm._hinges"
CRITERIA = "squared_error", "inner_product"


def data(seed, tied=False):
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(2, 40)), int(rng.integers(1, 4))
    X = rng.integers(0, 5, (n, p)).astype(float) if tied else rng.standard_normal((n, p))
    weight = rng.random(n) + 0.01
    return X, rng.uniform(-1, 1, n), weight / weight.sum()


def least_squares_gain(c, x, t, w, sign):
    """What the hinge with knot c takes from the weighted squares, by regression on it."""
    h = np.maximum(sign * (x - c), 0)
    square = w @ h**2
    return (w * t) @ h * ((w * t) @ h) / square if square > 1e-20 else 0.0


def brute_force(X, t, w):
    """Every interval between neighbouring values, by numerical maximisation."""
    best = (w @ t) ** 2
    for x in X.T:
        values = np.unique(x)
        for sign in (1, -1):
            best = max([best, *(least_squares_gain(c, x, t, w, sign) for c in values)])
            for a, b in pairwise(values):
                args = (x, t, w, sign)
                found = minimize_scalar(
                    lambda c, args=args: -least_squares_gain(c, *args), bounds=(a, b)
                )
                best = max(best, -found.fun)
    return best


@pytest.fixture(params=["default bins", "four bins"])
def bins(request, monkeypatch):
    if request.param == "four bins":
        monkeypatch.setattr(f"{HINGES}.ALL_EDGES", 4)
        monkeypatch.setattr(f"{HINGES}.BINS", 4)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("tied", [False, True])
def test_least_squares_against_brute_force(bins, seed, tied):
    X, t, w = data(seed, tied)
    outputs = ReLUUnitRegressor().fit(X, t, w).predict(X)
    gain = w @ t**2 - w @ (t - outputs) ** 2
    assert gain == pytest.approx(brute_force(X, t, w), rel=1e-6)


@pytest.mark.parametrize("seed", range(8))
def test_no_knot_of_a_fine_grid_is_better(bins, seed):
    """Between two values the best knot has a closed form; the grid has 500 knots in each gap."""
    X, t, w = data(seed)
    outputs = ReLUUnitRegressor().fit(X, t, w).predict(X)
    gain = w @ t**2 - w @ (t - outputs) ** 2
    for x in X.T:
        knots = np.concatenate([np.linspace(*gap, 500) for gap in pairwise(np.unique(x))])
        for sign in (1, -1):
            h = np.maximum(sign * (x - knots[:, None]), 0)
            N, D = h @ (w * t), h**2 @ w
            known = D > 1e-20
            assert (N[known] ** 2 / D[known]).max() <= gain * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("tied", [False, True])
def test_inner_product_against_brute_force(bins, seed, tied):
    X, t, w = data(seed, tied)
    X *= 10.0 ** np.arange(X.shape[1])  # units of the features count
    unit = ReLUUnitRegressor("inner_product").fit(X, t, w)
    products = [
        abs((w * t) @ np.maximum(sign * (x - c), 0)) for x in X.T for c in x for sign in (1, -1)
    ]
    best = max([abs(w @ t), *products])
    assert (w * t) @ unit.predict(X) == pytest.approx(best, rel=1e-9)
    assert abs(unit.output_weight_) == 1


def test_every_real_knot_is_tried():
    """A knot between the data beats all knots at the data: the line through two points."""
    X, y = np.arange(4.0)[:, None], np.array([0.0, 0.0, 1.0, 3.0])
    unit = ReLUUnitRegressor().fit(X, y)
    assert unit.knot_ == pytest.approx(1.5)
    np.testing.assert_allclose(unit.predict(X), y, atol=1e-12)


def test_bins_with_and_without_an_inside_agree_on_many_rows():
    """5,000 rows in 256 bins, searched where the bound allows, against every value an edge."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((5000, 3))
    X[:, 2] = np.round(X[:, 2], 1)
    t = np.maximum(X[:, 0] - 0.3, 0) - 0.5 * np.maximum(-X[:, 2], 0) + rng.standard_normal(5000)
    t /= np.abs(t).max()
    w = rng.random(5000)
    w /= w.sum()
    for _ in range(5):
        for criterion in ("squared_error", "inner_product"):
            coarse = ReLUUnitRegressor(criterion).fit(X, t, w)
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(f"{HINGES}.ALL_EDGES", 10_000)
                fine = ReLUUnitRegressor(criterion).fit(X, t, w)
            np.testing.assert_array_equal(coarse.hidden_weights_, fine.hidden_weights_)
            assert coarse.knot_ == pytest.approx(fine.knot_, rel=1e-9)
            assert coarse.output_weight_ == pytest.approx(fine.output_weight_, rel=1e-9)
        t = t - ReLUUnitRegressor().fit(X, t, w).predict(X)


def gain_of_column(x, t, w, criterion):
    """The largest gain of a hinge (x - c)+, from sums over all rows above each value.

    Between two values N = N0 + S u and D = D0 + 2 E u + Q u² at u below the upper one.
    """
    values = np.unique(x)[::-1]
    above = np.maximum(x - values[:, None], 0.0)
    N, D, E = above @ (w * t), above**2 @ w, above @ w
    if criterion == "inner_product":
        return np.abs(N).max()
    S, Q = (x >= values[:, None]) @ (w * t), (x >= values[:, None]) @ w
    width = -np.diff(values, append=values[-1])
    bottom = N * Q - S * E
    inside = np.divide(S * D - N * E, bottom, out=np.zeros(len(N)), where=np.abs(bottom) > 1e-14)
    best = 0.0
    for u in (np.zeros(len(N)), np.clip(inside, 0.0, width)):
        square = D + 2 * E * u + Q * u**2
        known = square > 1e-20
        best = max(best, np.max((N + S * u)[known] ** 2 / square[known], initial=0.0))
    return best


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("kind", ["normal", "tied", "noise", "one row", "sorted"])
def test_searches_of_many_rows_against_all_values(bins, criterion, kind):
    """Four rounds, in which the residuals and the weights change."""
    rng = np.random.default_rng(0)
    n = 1 if kind == "one row" else 2000
    X = rng.standard_normal((n, 4))
    X[:, 3] = 0.0
    y = rng.standard_normal(n) + (0.0 if kind == "noise" else np.abs(X[:, 0]))
    if kind == "tied":
        X, y = X.round(), y.round(1)
    if kind == "sorted":
        X.sort(axis=0)
    weight = rng.random(n) + 0.01
    index = HingeIndex(X)
    for _ in range(4):
        t, w = y / np.abs(y).max(), weight / weight.sum()
        hinge = index.best(t, w, criterion)
        gains = [gain_of_column(s * x, t, w, criterion) for x in X.T for s in (1, -1)]
        total = w @ t
        constant = total**2 if criterion == "squared_error" else abs(total)
        assert hinge.gain == pytest.approx(max(constant, *gains), rel=1e-9)
        outputs = hinge.outputs(X[:, hinge.feature])
        if criterion == "squared_error":
            gain = w @ t**2 - w @ (t - outputs) ** 2
        else:
            gain = (w * t) @ outputs
        assert gain == pytest.approx(hinge.gain, rel=1e-9)
        y = y - 0.5 * outputs
        weight = weight * np.exp(0.1 * y)


def test_weights_are_repetitions_and_zero_rows_are_absent():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 2)), rng.standard_normal(30)
    weight = rng.integers(0, 3, 30)
    weighted = ReLUUnitRegressor().fit(X, y, sample_weight=weight)
    rows = np.repeat(np.arange(30), weight)
    repeated = ReLUUnitRegressor().fit(X[rows], y[rows])
    assert weighted.feature_ == repeated.feature_
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-9, atol=1e-12)


def test_the_constant_and_columns_that_do_not_vary():
    X = np.ones((5, 2))
    unit = ReLUUnitRegressor().fit(X, [1.0, 2.0, 3.0, 4.0, 5.0])
    assert unit.feature_ is None
    np.testing.assert_allclose(unit.predict(X), 3.0)
    unit = ReLUUnitRegressor("inner_product").fit(X, [-1.0, -2.0, 3.0, -4.0, -5.0])
    np.testing.assert_array_equal(unit.predict(X), -1.0)
    assert ReLUUnitRegressor().fit(X, np.zeros(5)).output_weight_ == 0


@pytest.mark.parametrize("boosting", [GradientBoostingRegressor, GradientBoostingClassifier])
def test_gradient_boosting_of_units_is_a_network(boosting):
    """Sorted once for all rounds, as fitted anew in each; `of_units` gives the layer."""
    rng = np.random.default_rng(0)
    X, new = rng.standard_normal((100, 3)), rng.standard_normal((50, 3))
    y = np.abs(X[:, 0]) + np.maximum(X[:, 1] - 0.5, 0) + 0.1 * rng.standard_normal(100)
    method = "predict"
    if boosting is GradientBoostingClassifier:
        y, method = (y > 1).astype(int), "decision_function"
    params = {"n_estimators": 20, "learning_rate": 0.5}

    class Slow(ReLUUnitRegressor):
        """Another class: gradient boosting knows no short cut for it."""

    fast = boosting(ReLUUnitRegressor(), **params).fit(X, y)
    slow = boosting(Slow(), **params).fit(X, y)
    outputs = getattr(fast, method)
    np.testing.assert_allclose(outputs(X), getattr(slow, method)(X), atol=1e-12)
    network = ReLUNetwork.of_units(
        fast.estimators_[:, 0], fast.steps_, np.ravel(fast.initial_scores_)[0]
    )
    assert network.hidden_weights.shape == (20, 3)
    np.testing.assert_allclose(network(X), outputs(X), atol=1e-12)
    np.testing.assert_allclose(network(new), outputs(new), atol=1e-12)
    assert fast.score(X, y) > 0.85


def test_one_unit_as_a_network():
    X, t, _ = data(3)
    for params in ({}, {"direction": "oblique", "random_state": 0}):
        unit = ReLUUnitRegressor(**params).fit(X, t)
        np.testing.assert_allclose(export.network(unit)(X), unit.predict(X), atol=1e-12)


@pytest.mark.parametrize("criterion", ["squared_error", "inner_product"])
def test_oblique_units(criterion):
    """No worse than the best axis, and the true unit is found where there is one."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 3))
    direction = np.array([0.6, -0.8, 0.0])
    y = 2 * np.maximum(X @ direction - 0.2, 0)
    y -= y.mean() * (criterion == "inner_product")
    axis = ReLUUnitRegressor(criterion).fit(X, y)
    found = ReLUUnitRegressor(criterion, direction="oblique", random_state=0).fit(X, y)
    assert np.linalg.norm(found.hidden_weights_) == pytest.approx(1)
    if criterion == "squared_error":
        assert found.score(X, y) > 0.999 > axis.score(X, y)
        assert found.hidden_weights_ @ direction > 0.999
        assert found.output_weight_ == pytest.approx(2, rel=1e-2)
    else:
        assert y @ found.predict(X) > 1.1 * (y @ axis.predict(X))
    none = ReLUUnitRegressor(criterion, direction="oblique", max_steps=0, n_starts=0).fit(X, y)
    if criterion == "squared_error":
        assert none.score(X, y) >= axis.score(X, y)
    else:
        assert y @ none.predict(X) >= y @ axis.predict(X) * (1 - 1e-12)


def test_units_of_the_data_do_not_change_the_least_squares_fit():
    X, t, _ = data(5)
    plain = ReLUUnitRegressor().fit(X, t)
    scaled = ReLUUnitRegressor().fit(1e150 * X, 1e-150 * t)
    np.testing.assert_allclose(scaled.predict(1e150 * X), 1e-150 * plain.predict(X), rtol=1e-9)
    for direction in ("axis", "oblique"):
        unit = ReLUUnitRegressor(direction=direction, random_state=0)
        reference = unit.fit(X, t).predict(X)
        scaled = unit.fit(1e200 * X, t).predict(1e200 * X)
        # Ascent over directions follows the last bits of its start.
        np.testing.assert_allclose(scaled, reference, atol=1e-9 if direction == "axis" else 1e-2)
        with pytest.raises(ValueError, match="coefficient overflows"):
            unit.fit(1e-200 * X, 1e150 * t)
