"""The loop and its parts: identities of the literature, round by round."""

from itertools import islice

import numpy as np
import pytest

from sklearn_ensemble_theory.boosting import losses
from sklearn_ensemble_theory.boosting.steps import (
    FixedStep,
    JointStep,
    LineSearchStep,
    QuadraticBoundStep,
    SmoothStep,
    StepResult,
)

from ..surroundings import normalised_weights
from .engine import BoostingRounds, Columns, EmpiricalRisk, MarginRisk


def problem(n=40, d=12, seed=0):
    rng = np.random.default_rng(seed)
    psi = rng.standard_normal((n, d))
    psi *= np.sqrt(n) / np.linalg.norm(psi, axis=0)
    return psi, psi[:, :3] @ [1.0, -2.0, 0.5] + 0.1 * rng.standard_normal(n)


def test_squared_loss_over_normalised_columns_is_matching_pursuit():
    """Against the update of [Bach, §10.3.3], without the printed absolute value."""
    psi, y = problem()
    n = len(y)
    rounds = BoostingRounds(
        EmpiricalRisk(losses.SquaredLoss(), y), Columns(psi), LineSearchStep(), u := np.zeros(n)
    )
    by_hand, printed = np.zeros(n), np.zeros(n)
    for record in islice(rounds, 30):
        before = np.sum((y - by_hand) ** 2) / (2 * n)
        products = (by_hand - y) @ psi
        j = np.argmax(np.abs(products))
        by_hand = by_hand - products[j] / n * psi[:, j]
        np.testing.assert_allclose(u, by_hand, atol=1e-12)
        assert record.risk == pytest.approx(before - record.first_order_gain**2 / 2)
        gap = (printed - y) @ psi
        k = np.argmax(np.abs(gap))
        printed = printed - np.abs(gap[k]) / n * psi[:, k]
    # With an absolute value and columns whose sign is not chosen the printed iteration diverges.
    assert np.sum((y - by_hand) ** 2) < 0.1 * np.sum(y**2)
    assert np.sum((y - printed) ** 2) > np.sum(y**2)


def test_exponential_loss_over_signs_is_adaboost():
    """F(u_t) = F(u_{t-1}) sqrt(1 - e²); the printed 1 - e² fails [Bach, §10.3.4]."""
    rng = np.random.default_rng(0)
    psi, y = rng.choice([-1.0, 1.0], (60, 15)), rng.choice([-1.0, 1.0], 60)
    u, before = np.zeros(60), 1.0
    risk = EmpiricalRisk(losses.ExponentialLoss(), y)
    for record in islice(BoostingRounds(risk, Columns(psi), LineSearchStep(), u), 25):
        e = record.first_order_gain / before
        assert record.step == pytest.approx(0.5 * np.log((1 + e) / (1 - e)), rel=1e-9)
        assert record.risk == pytest.approx(before * np.sqrt(1 - e**2), rel=1e-12)
        assert record.risk == pytest.approx(np.mean(np.exp(-y * u)), rel=1e-12)
        assert abs(record.risk - before * (1 - e**2)) > 1e-4
        # The chosen learner is worth nothing under the new weights.
        pi = np.exp(-y * u) / np.exp(-y * u).sum()
        assert pi @ (y != record.outputs) == pytest.approx(0.5, abs=1e-12)
        before = record.risk


def test_margin_risk_in_logarithms_equals_the_plain_one():
    rng = np.random.default_rng(1)
    y, u, w = rng.choice([-1.0, 1.0], 30), rng.standard_normal(30), rng.uniform(0, 1, 30)
    plain, logs = EmpiricalRisk(losses.ExponentialLoss(), y, w), MarginRisk(w)
    a, b = plain.at(u), logs.at(y * u)
    assert b.value == pytest.approx(a.value, rel=1e-13)
    assert logs.log_value(y * u) == pytest.approx(np.log(a.value), rel=1e-13)
    np.testing.assert_allclose(b.scale * b.weight * y, a.weight * a.target, rtol=1e-12)
    far = logs.at(np.full(30, 5000.0))
    assert np.isfinite(far.weight).all()
    assert far.weight.sum() == pytest.approx(1)


@pytest.mark.parametrize(
    "loss", [losses.SquaredLoss(), losses.LogisticLoss(), losses.HuberLoss(0.5)], ids=str
)
def test_smooth_step_descends_by_the_bound_of_10_8(loss):
    """F(u_t) <= F(u_{t-1}) - gain² / (2 L C²), for both readings of C."""
    rng = np.random.default_rng(2)
    psi, y = problem()
    y = np.sign(y) if loss.margin else y
    w = normalised_weights(rng.uniform(0.2, 2, len(y)), len(y))
    for radius in (None, np.abs(psi).max()):
        risk = EmpiricalRisk(loss, y, w)
        u, before = np.zeros(len(y)), risk.value(np.zeros(len(y)))
        rule = QuadraticBoundStep() if radius is None else SmoothStep(output_bound=radius)
        for record in islice(BoostingRounds(risk, Columns(psi), rule, u), 50):
            reach = record.outputs if radius is None else np.full(len(y), radius)
            bound = loss.smoothness * np.sum(w * reach**2)
            assert record.risk <= before - record.first_order_gain**2 / (2 * bound) + 1e-15
            before = record.risk


def test_quadratic_bound_step_is_the_exact_one_for_the_squared_loss():
    psi, y = problem()
    paths = []
    for rule in (QuadraticBoundStep(), LineSearchStep()):
        u = np.zeros(len(y))
        rounds = BoostingRounds(EmpiricalRisk(losses.SquaredLoss(), y), Columns(psi), rule, u)
        paths.append([record.step for record in islice(rounds, 20)])
    np.testing.assert_allclose(paths[0], paths[1], rtol=1e-12)


def test_smooth_step_refuses_a_loss_without_the_constant():
    risk = EmpiricalRisk(losses.ExponentialLoss(), np.array([-1.0, 1.0]))
    for rule, name in ((SmoothStep(), "smooth"), (QuadraticBoundStep(), "quadratic_bound")):
        with pytest.raises(ValueError, match=rf"step='{name}'.*ExponentialLoss"):
            rule.check(risk)


def test_smooth_step_needs_a_bound_that_holds():
    psi, y = problem()
    with pytest.raises(ValueError, match="step='smooth' requires output_bound"):
        SmoothStep().prepare(Columns(psi))
    rule = SmoothStep(output_bound=0.5)  # the columns' root mean square is 1
    with pytest.raises(
        ValueError, match=r"output_bound=0.5 is too small: .* root mean square of 1"
    ):
        next(
            BoostingRounds(
                EmpiricalRisk(losses.SquaredLoss(), y), Columns(psi), rule, np.zeros(len(y))
            )
        )


def test_joint_step_needs_one_score():
    risk = EmpiricalRisk(losses.MultinomialLoss(), np.array([0, 1, 2]))
    with pytest.raises(ValueError, match="step='joint' requires a loss with one score"):
        JointStep().check(risk, n_scores=3)


def test_learning_rate_may_depend_on_the_round():
    psi, y = problem()
    rule = FixedStep().at_rate(lambda t: 1 / (t + 1))
    rounds = BoostingRounds(
        EmpiricalRisk(losses.SquaredLoss(), y), Columns(psi), rule, np.zeros(len(y)), start=3
    )
    assert [(r.index, r.step) for r in islice(rounds, 2)] == [(3, 0.25), (4, 0.2)]


def test_the_loop_ends_with_its_parts():
    class Nothing:
        def best(self, target, weight, scores=None):
            return None

    psi, y = problem()
    risk = EmpiricalRisk(losses.SquaredLoss(), y)
    u = np.zeros(len(y))
    rounds = BoostingRounds(risk, Nothing(), FixedStep(), u)
    assert list(rounds) == []
    assert rounds.stop_details is None
    rounds = BoostingRounds(risk, Columns(psi), lambda *a: StepResult(None, "why"), u)
    assert list(rounds) == list(rounds) == []
    assert rounds.stop_details == "why"
    assert (u == 0).all()


def test_the_details_of_a_step_come_with_its_round_and_with_the_end():
    class Thrice(FixedStep):
        def __call__(self, t, risk, u, psi, state, gain):
            if t == 3:
                return StepResult(None, "the end")
            return StepResult(super().__call__(t, risk, u, psi, state, gain).coefficient, gain)

    psi, y = problem()
    rounds = BoostingRounds(
        EmpiricalRisk(losses.SquaredLoss(), y), Columns(psi), Thrice(), u := np.zeros(40)
    )
    assert rounds.state is rounds.stop_details is None
    records = list(rounds)
    assert [record.index for record in records] == [0, 1, 2]
    assert [record.details for record in records] == [r.first_order_gain for r in records]
    assert rounds.stop_details == "the end"
    np.testing.assert_array_equal(rounds.state.target, y - u)


def test_learners_are_given_the_current_scores():
    """Not an array that the loop changes afterwards: what a learner sees is u of its round."""

    class Residuals:
        def best(self, target, weight, scores=None):
            np.testing.assert_array_equal(target, y - scores)
            return None, target.copy()

    _, y = problem()
    risk = EmpiricalRisk(losses.SquaredLoss(), y)
    rounds = BoostingRounds(risk, Residuals(), FixedStep().at_rate(0.5), u := np.zeros(40))
    assert len(list(islice(rounds, 4))) == 4
    np.testing.assert_allclose(u, y * (1 - 0.5**4))


def test_several_scores_a_row():
    rng = np.random.default_rng(0)
    y, u = rng.integers(0, 3, 50), np.zeros((50, 3))

    class Gradient:
        def best(self, target, weight, scores=None):
            return None, target.copy()

    risk = EmpiricalRisk(losses.MultinomialLoss(), y)
    risks = [r.risk for r in islice(BoostingRounds(risk, Gradient(), LineSearchStep(), u), 3)]
    assert np.log(3) > risks[0] > risks[-1]


def test_weights_of_any_size_sum_to_one():
    for scale in (1e-300, 1e300):
        assert normalised_weights(np.full(4, scale), 4).tolist() == [0.25] * 4
    with pytest.raises(ValueError, match="sample_weight must be positive"):
        normalised_weights(np.zeros(3), 3)
