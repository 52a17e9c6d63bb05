"""The risk of margins in one pass, and rounds in one piece, against the others."""

import numpy as np
import pytest

from sklearn_ensemble_theory import AdaBoostClassifier, DecisionStumpClassifier
from sklearn_ensemble_theory.boosting._reweighting.adaboost_rounds import (
    FEW_MARGINS,
    OnePassMarginRisk,
    VotingRounds,
    margin_risk,
)

from ..erm.stump_search import without_side_search
from .engine import MarginRisk


@pytest.mark.parametrize("shape", [(500,), (200, 3)])
@pytest.mark.parametrize("scale", [1.0, 100.0, 1e4])
@pytest.mark.parametrize("equal", [True, False])
def test_the_compiled_risk_is_the_other(shape, scale, equal):
    rng = np.random.default_rng(1)
    weight = np.ones(shape) if equal else rng.exponential(size=shape) ** 8
    weight /= weight.sum()
    u = scale * rng.normal(size=shape)
    psi = np.where(rng.random(shape) < 0.5, 1, -1).astype(np.int8)
    state, other = OnePassMarginRisk(weight).at(u), MarginRisk(weight).at(u)
    assert state.value == pytest.approx(other.value, rel=1e-11)
    assert state.weight.shape == shape
    assert state.weight == pytest.approx(other.weight, rel=1e-10, abs=1e-250)
    assert state.weight.sum() == pytest.approx(1, abs=1e-13)
    for outputs in (psi, psi * 0.5):
        expected = other.first_order_gain(outputs)
        assert state.first_order_gain(outputs) == pytest.approx(expected, abs=1e-12)


def test_weights_that_would_all_be_rounded_to_zero():
    weight = np.array([1.0, 1e-290, 1e-290])
    u = np.array([1500.0, -1.0, 0.0])
    state = OnePassMarginRisk(weight).at(u)
    assert state.weight == pytest.approx(MarginRisk(weight).at(u).weight)
    assert state.weight[1] == pytest.approx(1 / (1 + np.exp(-1)))


def test_many_margins_are_compiled():
    weight = np.full(FEW_MARGINS, 1 / FEW_MARGINS)
    assert type(margin_risk(weight[1:])) is MarginRisk
    assert type(margin_risk(weight)) is OnePassMarginRisk


def odd_problems():
    """(what is odd, X, y, sample_weight, parameters) of fits of two classes by stumps."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 4))
    X[:, 1] = np.round(X[:, 1])
    y = (X.sum(axis=1) + rng.normal(size=700) > 0).astype(int)
    weight = rng.exponential(size=700)
    yield "nothing", X, y, None, {}
    yield "weights", X, y, weight, {"learning_rate": 0.3}
    yield "bins", X, y, weight, {"estimator": DecisionStumpClassifier(max_bins=9)}
    yield "few rows", X[:6], np.array([0, 1, 1, 0, 1, 0]), None, {"n_estimators": 300}
    yield "one column", X[:40, 1:2], y[:40], None, {}
    yield "no error", X, (X[:, 2] > 0).astype(int), None, {}
    yield "no edge", np.ones((8, 1)), np.arange(8) % 2, np.r_[2.0, np.ones(7)], {}
    weight = np.ones(700)
    weight[:3] = 1e-7, 1e-9, 1e-120
    first = np.where(np.arange(700) < 3, X[:, 2] <= 0, X[:, 2] > 0).astype(int)
    yield "tiny errors", X, first, weight, {"n_estimators": 30}
    weight[3:] = np.exp(40 * rng.normal(size=697))
    yield "weights of all sizes", X, y, weight, {"learning_rate": 3.0}
    yield "large steps", X, y, None, {"learning_rate": 100.0}
    yield "steps that overflow", X, y, None, {"learning_rate": 1e308}


@pytest.mark.parametrize("problem", odd_problems(), ids=lambda problem: problem[0])
def test_rounds_that_nobody_looks_at_are_the_same(problem, capsys):
    """Compiled code makes them in one piece; others are reported one by one."""
    _, X, y, weight, parameters = problem
    found = []
    for verbose in (0, 1):
        model = AdaBoostClassifier(**parameters, verbose=verbose)
        try:
            with np.errstate(all="ignore"):
                model.fit(X, y, sample_weight=weight)
        except ValueError as error:
            found.append(str(error))
            continue
        members = [
            [s.feature_, s.threshold_, s.left_class_, s.right_class_, s.training_error_]
            + [*s.left_proba_, *s.right_proba_, *s.sides_.ravel()]
            for s in model.estimators_
        ]
        figures = model.estimator_weights_, model.estimator_errors_, model.training_error_bounds_
        found.append([model.stop_reason_, members, *np.array(figures).tolist()])
    assert found[0] == found[1]


@pytest.mark.parametrize("n", [30, 500])
def test_one_call_makes_all_rounds(n, monkeypatch):
    made = []
    several = VotingRounds._make_several
    monkeypatch.setattr(
        VotingRounds, "_make_several", lambda rounds: made.append(rounds.index) or several(rounds)
    )
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    y = X.sum(axis=1) + rng.normal(size=n) > 0
    model = AdaBoostClassifier(n_estimators=20).fit(X, y)
    assert made == [0]
    without_side_search(monkeypatch)
    other = AdaBoostClassifier(n_estimators=20).fit(X, y)
    assert len(made) == 1 + 20
    for one, two in zip(model.estimators_, other.estimators_, strict=True):
        assert (one.feature_, one.threshold_) == (two.feature_, two.threshold_)
    assert model.estimator_errors_ == pytest.approx(other.estimator_errors_, abs=1e-12)
