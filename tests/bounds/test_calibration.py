"""Classification calibration by its definition, and surrogate risks."""

import numpy as np
import pytest
from scipy.special import xlogy
from sklearn.metrics import hinge_loss, log_loss

from sklearn_ensemble_theory.bounds import (
    conditional_surrogate_risk,
    is_classification_calibrated,
    surrogate_risk,
)

LOSSES = {
    "squared": (lambda m: (1 - m) ** 2, True),
    "squared hinge": (lambda m: np.maximum(1 - m, 0) ** 2, True),
    "absolute": (lambda m: np.abs(1 - m), True),
    "power, smooth at 0": (lambda m: np.abs(m) ** 1.5 - m + 1, True),
    "perceptron": (lambda m: np.maximum(-m, 0), False),
    "kink at 0, falling": (lambda m: np.where(m < 0, -2 * m, -m) + 5, False),
    "rising": (np.exp, False),
    "constant": (lambda m: 0 * m + 1, False),
    "flat at 0": (lambda m: np.maximum(-m, 0) ** 2, False),
    "asymmetric hinge": (lambda m: np.maximum(0.5 - m, 0) * 3, True),
}


def by_definition(phi):
    """inf C_eta over all scores below that over scores of the wrong sign, for many eta."""
    alpha = np.concatenate([-np.geomspace(50, 1e-6, 4000), [0], np.geomspace(1e-6, 50, 4000)])
    for eta in (0.5 + 1e-3, 0.6, 0.9, 1.0):
        risk = eta * phi(alpha) + (1 - eta) * phi(-alpha)
        if not risk.min() < risk[alpha <= 0].min() - 1e-13:
            return False
    return True


@pytest.mark.parametrize("name", LOSSES)
def test_calibration_equals_its_definition(name):
    phi, expected = LOSSES[name]
    assert by_definition(phi) == expected
    assert is_classification_calibrated(phi) == expected


@pytest.mark.parametrize("name", ["hinge", "logistic", "exponential"])
def test_common_losses_are_calibrated(name):
    assert is_classification_calibrated(name)


@pytest.mark.parametrize(
    ("phi", "match"),
    [
        (lambda m: 1 - m, "negative"),
        (lambda m: np.minimum(np.abs(m), 1.0), "convex"),
        (lambda m: np.float64(1.0), "each element"),
        (lambda m: np.where(m > 0, np.inf, 1.0), "finite"),
        ("squared", "exponential"),
    ],
)
def test_bad_losses(phi, match):
    with pytest.raises(ValueError, match=match):
        is_classification_calibrated(phi)


def test_risk_against_scikit_learn():
    rng = np.random.default_rng(0)
    y, u, w = rng.choice([-1, 1], 50), 2 * rng.standard_normal(50), rng.uniform(0, 2, 50)
    assert surrogate_risk("hinge", y, u, w) == pytest.approx(hinge_loss(y, u, sample_weight=w))
    expected = log_loss(y, 1 / (1 + np.exp(-u)), sample_weight=w)
    assert surrogate_risk("logistic", y, u, w) == pytest.approx(expected)
    assert surrogate_risk("exponential", y, u) == pytest.approx(np.mean(np.exp(-y * u)))
    assert surrogate_risk(lambda m: (m <= 0).astype(float), y, u) == np.mean(y * u <= 0)


@pytest.mark.parametrize(
    ("name", "least", "best"),
    [
        ("hinge", lambda p: 1 - abs(2 * p - 1), lambda p: np.sign(2 * p - 1)),
        ("exponential", lambda p: 2 * np.sqrt(p * (1 - p)), lambda p: np.log(p / (1 - p)) / 2),
        ("logistic", lambda p: -xlogy(p, p) - xlogy(1 - p, 1 - p), lambda p: np.log(p / (1 - p))),
    ],
)
def test_least_conditional_risk_in_closed_form(name, least, best):
    """At the best score, and nowhere below it; the wrong sign has phi(0) at the least."""
    alpha = np.linspace(-4, 4, 801)
    for p in (0.05, 0.3, 0.6, 0.9):
        risk = conditional_surrogate_risk(name, p, alpha)
        assert conditional_surrogate_risk(name, p, best(p)) == pytest.approx(least(p))
        assert least(p) <= risk.min() + 1e-12
        wrong = risk[alpha * (2 * p - 1) <= 0].min()
        assert wrong == pytest.approx(conditional_surrogate_risk(name, p, 0.0))


def test_conditional_risk_is_the_mean_over_labels():
    y = np.repeat([1.0, -1.0], [3, 7])
    for name in ("hinge", "logistic", "exponential"):
        expected = surrogate_risk(name, y, np.full(10, 0.4))
        assert conditional_surrogate_risk(name, 0.3, 0.4) == pytest.approx(expected)
    with pytest.raises(ValueError, match="broadcast"):
        conditional_surrogate_risk("hinge", [0.1, 0.2], [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="eta"):
        conditional_surrogate_risk("hinge", 1.2, 0.0)


def test_losses_bound_the_zero_one_loss():
    m = np.linspace(-3, 3, 61)
    for name, factor in (("hinge", 1.0), ("exponential", 1.0), ("logistic", np.log(2))):
        losses = [surrogate_risk(name, [1.0], [u]) for u in m]
        assert np.all(losses >= factor * (m <= 0) - 1e-15)


@pytest.mark.parametrize(
    ("y", "u", "w", "match"),
    [
        ([0, 1], [0.0, 1.0], None, "y must be -1 or"),
        ([1], [0.0, 1.0], None, "one length"),
        ([1, -1], [0.0, 1.0], [1.0, -1.0], "sample_weight"),
        ([1, -1], [0.0, 1.0], [0.0, 0.0], "sample_weight"),
    ],
)
def test_bad_data(y, u, w, match):
    with pytest.raises(ValueError, match=match):
        surrogate_risk("hinge", y, u, w)


@pytest.mark.parametrize("name", ["hinge", "exponential", "logistic"])
def test_empirical_risks_have_the_properties_of_convex_functions(name):
    """[Shah, proposition 17] for the risk of linear scores, at random points of R^3."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 3)), rng.choice([-1, 1], 30)

    def f(beta):
        return surrogate_risk(name, y, X @ beta)

    def gradient(beta):
        return np.array([f(beta + e) - f(beta - e) for e in 1e-6 * np.eye(3)]) / 2e-6

    for a, b in rng.standard_normal((50, 2, 3)):
        t = rng.random()
        between = (1 - t) * a + t * b
        above = (1 - t) * f(a) + t * f(b)
        assert f(between) <= above + 1e-12  # (i) and (ii)
        if name != "hinge":  # strictly, as X has full rank: (vi)
            assert f(between) < above
            hessian = [gradient(a + e) - gradient(a - e) for e in 1e-3 * np.eye(3)]
            assert np.linalg.eigvalsh(np.array(hessian) / 2e-3)[0] > 0  # (viii)
        worst = [
            max(surrogate_risk(name, y[[i]], X[[i]] @ beta) for i in range(30))
            for beta in (a, b, between)
        ]
        assert worst[2] <= (1 - t) * worst[0] + t * worst[1] + 1e-12  # (iii)
        assert f(between) <= max(f(a), f(b))  # (iv)
        assert f(b) >= f(a) + gradient(a) @ (b - a) - 1e-7  # (v)
    corners = np.vstack([np.eye(3), -np.eye(3)])
    inside = rng.dirichlet(np.ones(6), 200) @ corners
    assert max(map(f, inside)) <= max(map(f, corners))  # (vii)
