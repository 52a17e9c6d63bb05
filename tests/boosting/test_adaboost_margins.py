"""The compiled risk of margins against the other one."""

import numpy as np
import pytest

from sklearn_ensemble_theory.boosting._reweighting.adaboost import (
    FEW_MARGINS,
    CompiledMarginRisk,
    margin_risk,
)
from sklearn_ensemble_theory.boosting._risk import MarginRisk

from ..routes import native_disabled, uses_native

pytestmark = pytest.mark.routes
compiled = pytest.mark.skipif(not uses_native(), reason="nothing is compiled")


@compiled
@pytest.mark.parametrize("shape", [(500,), (200, 3)])
@pytest.mark.parametrize("scale", [1.0, 100.0, 1e4])
@pytest.mark.parametrize("equal", [True, False])
def test_the_compiled_risk_is_the_other(shape, scale, equal):
    rng = np.random.default_rng(1)
    weight = np.ones(shape) if equal else rng.exponential(size=shape) ** 8
    weight /= weight.sum()
    u = scale * rng.normal(size=shape)
    psi = np.where(rng.random(shape) < 0.5, 1, -1).astype(np.int8)
    state, other = CompiledMarginRisk(weight).at(u), MarginRisk(weight).at(u)
    assert state.value == pytest.approx(other.value, rel=1e-11)
    assert state.weight.shape == shape
    assert state.weight == pytest.approx(other.weight, rel=1e-10, abs=1e-250)
    assert state.weight.sum() == pytest.approx(1, abs=1e-13)
    for outputs in (psi, psi * 0.5):
        expected = other.first_order_gain(outputs)
        assert state.first_order_gain(outputs) == pytest.approx(expected, abs=1e-12)


@compiled
def test_weights_that_would_all_be_rounded_to_zero():
    weight = np.array([1.0, 1e-290, 1e-290])
    u = np.array([1500.0, -1.0, 0.0])
    state = CompiledMarginRisk(weight).at(u)
    assert state.weight == pytest.approx(MarginRisk(weight).at(u).weight)
    assert state.weight[1] == pytest.approx(1 / (1 + np.exp(-1)))


def test_many_margins_are_compiled():
    weight = np.full(FEW_MARGINS, 1 / FEW_MARGINS)
    assert type(margin_risk(weight[1:])) is MarginRisk
    with native_disabled():
        assert type(margin_risk(weight)) is MarginRisk
    if uses_native():
        assert type(margin_risk(weight)) is CompiledMarginRisk
