"""The parts of Frank-Wolfe by themselves: its steps in the boosting loop, the profiled risk."""

from itertools import islice

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar
from sklearn.linear_model import LogisticRegression

from sklearn_ensemble_theory import FrankWolfeClassifier, FrankWolfeRegressor
from sklearn_ensemble_theory.boosting import losses
from sklearn_ensemble_theory.boosting._norm_balls import (
    ActiveAtoms,
    Atoms,
    FrankWolfeStep,
    ProfiledRisk,
    RiskOfBall,
)

from .engine import BoostingRounds, EmpiricalRisk
from .frank_wolfe_data import labels, problem


class ColumnLearner:
    """The columns of a matrix as a weak learner."""

    is_exact = has_scale = True

    def __init__(self, psi):
        self.psi = psi

    def best(self, target, weight, scores=None):
        j = int(np.argmax(np.abs((weight * target) @ (self.psi - weight @ self.psi))))
        return j, self.psi[:, j]


@pytest.mark.parametrize("step", ["open_loop", "line_search", "short"])
@pytest.mark.parametrize("loss", [losses.SquaredLoss(), losses.LogisticLoss()], ids=str)
def test_columns_are_the_boosting_loop_in_other_coordinates(step, loss):
    """The Gram route and the generic loop, round by round."""
    X, y, weight = problem(n=40, d=8)
    y = labels(y) if loss.margin else y
    cls = FrankWolfeClassifier if loss.margin else FrankWolfeRegressor
    model = cls(radius=1.5, loss=loss, n_estimators=30, tol=0, step=step)
    model.fit(X, y, sample_weight=weight)
    risk, u = ProfiledRisk(loss, y, weight), np.zeros(len(y))
    active = ActiveAtoms()
    rule = FrankWolfeStep(1.5, step, 0.0, active)
    records = list(islice(BoostingRounds(risk, Atoms(ColumnLearner(X), centre=True), rule, u), 30))
    risks = [records[0].details.risk, *(record.risk for record in records)]
    np.testing.assert_allclose(risks, model.train_scores_, rtol=1e-7)
    gaps = [record.details.gap for record in records]
    np.testing.assert_allclose(gaps, model.dual_gaps_[:-1], rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose([record.details.risk for record in records], risks[:-1])
    assert np.abs(active.weights).sum() <= 1.5 * (1 + 1e-12)
    scores = model.predict(X) if not loss.margin else model.decision_function(X)
    np.testing.assert_allclose(u + risk.intercept, scores, atol=1e-6)


def test_a_step_reports_in_its_records_and_keeps_no_result():
    X, y, weight = problem(n=40, d=3)
    u = np.zeros(len(y))
    step = FrankWolfeStep(0.5, "line_search", 0.01, ActiveAtoms())
    rounds = BoostingRounds(
        ProfiledRisk(losses.SquaredLoss(), y, weight), Atoms(ColumnLearner(X), True), step, u
    )
    known = set(vars(step))
    records = list(rounds)
    assert all(record.details.gap > 0.01 for record in records)
    assert all(record.step == 0.5 * record.details.eta for record in records)
    assert rounds.stop_details.stop_reason == "tol"
    assert rounds.stop_details.gap <= 0.01
    assert rounds.stop_details.risk == pytest.approx(records[-1].risk)
    assert set(vars(step)) == known


@pytest.mark.parametrize(
    "loss", [losses.SquaredLoss(), losses.HuberLoss(0.3), losses.LogisticLoss()], ids=str
)
def test_the_profiled_risk_and_its_gradient(loss):
    """min over b of F(u + b) by scipy, its gradient by differences; the gradient sums to zero."""
    rng = np.random.default_rng(0)
    y = labels(rng.standard_normal(20)) if loss.margin else rng.standard_normal(20)
    weight = rng.random(20)
    risk = ProfiledRisk(loss, y, weight)
    plain = EmpiricalRisk(loss, y, weight)
    for scale in (0.1, 3.0, 50.0):
        u = scale * rng.standard_normal(20)
        state = risk.at(u)
        best = minimize(lambda b, u=u: plain.value(u + b), risk.intercept, tol=1e-12).fun
        assert state.value == pytest.approx(best, rel=1e-9)
        gradient = -state.weight * state.target
        assert abs(gradient.sum()) < 1e-9
        direction = rng.standard_normal(20)
        h = 1e-5
        slope = (risk.value(u + h * direction) - risk.value(u - h * direction)) / (2 * h)
        assert gradient @ direction == pytest.approx(slope, rel=1e-4, abs=1e-6)


def slow_search(risk, u, psi, longest):
    """The least risk over the length, by golden sections, each at the best intercept by Brent."""

    def at(length):
        scores = u + length * psi
        if not risk.has_intercept:
            return risk.weight @ risk.loss.value(risk.y, scores)
        options = {"method": "brent", "options": {"xtol": 1e-10}}
        return minimize_scalar(
            lambda b: risk.weight @ risk.loss.value(risk.y, scores + b), **options
        ).fun

    bounded = {"bounds": (0.0, longest), "method": "bounded", "options": {"xatol": 1e-9}}
    return minimize_scalar(at, **bounded)


SEARCHED = [
    losses.LogisticLoss(),
    losses.ExponentialLoss(),
    losses.PoissonLoss(),
    losses.SquaredLoss(),
]


@pytest.mark.parametrize("loss", SEARCHED, ids=str)
@pytest.mark.parametrize("kind", ["easy", "far", "separable", "constant", "tiny"])
@pytest.mark.parametrize("has_intercept", [True, False])
def test_line_searches_by_newtons_method(loss, kind, has_intercept):
    """Against the root finder of the loss and a search over both variables that knows no slopes."""
    X, y, weight = problem(n=50, d=3)
    y = labels(y) if loss.margin else np.abs(y) if "Poisson" in str(loss) else y
    risk = (ProfiledRisk if has_intercept else RiskOfBall)(loss, y, weight)
    u, psi = 0.3 * X[:, 0], X[:, 1].copy()
    if kind == "far":  # Newton's first step goes far beyond the minimum
        u = 6.0 * np.sign(X[:, 0])
    elif kind == "separable":
        psi = y - y.mean()
    elif kind == "constant":
        psi = 1.0 + 1e-4 * X[:, 1]
    elif kind == "tiny":
        psi *= 1e-6
    state = risk.at(u)
    before = risk.intercept
    assert abs(state.weight @ state.target) < 1e-12 * np.abs(state.target).max() or not (
        has_intercept
    )
    psi *= np.sign(state.first_order_gain(psi)) or 1.0
    for longest in (1.0, 1e-3):
        risk.intercept = before
        found = min(max(risk.line_search(u, psi, state, longest), 0.0), longest)
        risk.intercept = before
        best = slow_search(risk, u, psi, longest)
        # Values that know no slopes have half the digits in their arguments.
        value = risk.at(u + found * psi).value
        assert value <= best.fun + 1e-10 * abs(best.fun)
        if 0.0 < found < longest and has_intercept:
            # The slope of the profiled risk at its minimum, against that at the start.
            after = risk.at(u + found * psi)
            assert (
                abs(after.first_order_gain(psi)) < 1e-8 * abs(state.first_order_gain(psi)) + 1e-13
            )


def test_balls_of_liblinear():
    """The same minimum as the penalised problem with its intercept not penalised."""
    X, y, _ = problem(n=200, d=6)
    y = labels(y)
    peer = LogisticRegression(l1_ratio=1.0, C=0.2, solver="saga", tol=1e-10, max_iter=100_000)
    coef = peer.fit(X, y).coef_
    for variant in ("away", "pairwise", "fully_corrective"):
        model = FrankWolfeClassifier(
            radius=np.abs(coef).sum(), variant=variant, n_estimators=5_000, tol=1e-10
        ).fit(X, y)
        assert model.stop_reason_ == "tol"
        np.testing.assert_allclose(model.coef_, coef, atol=1e-4)
        np.testing.assert_allclose(model.intercept_, peer.intercept_, atol=1e-4)
