"""The parts of Frank-Wolfe by themselves: its steps in the boosting loop, the profiled risk."""

from itertools import islice

import numpy as np
import pytest
from scipy.optimize import minimize

from sklearn_ensemble_theory import FrankWolfeClassifier, FrankWolfeRegressor
from sklearn_ensemble_theory.boosting import losses
from sklearn_ensemble_theory.boosting._norm_balls import (
    ActiveAtoms,
    Atoms,
    FrankWolfeStep,
    ProfiledRisk,
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
