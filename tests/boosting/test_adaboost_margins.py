"""The compiled risk of margins against the other one, and its loops against NumPy."""

import numpy as np
import pytest

from sklearn_ensemble_theory._hot_loops._stumps import vote_loops
from sklearn_ensemble_theory.boosting._reweighting.adaboost import (
    FEW_MARGINS,
    CompiledMarginRisk,
    margin_risk,
)
from sklearn_ensemble_theory.boosting._risk import MarginRisk

from ..routes import native_disabled, uses_native

pytestmark = pytest.mark.routes


def test_exponential_weights_are_exponentials():
    rng = np.random.default_rng(0)
    for n in (1, 7, vote_loops.BLOCK_ROWS + 3):
        u, start = rng.normal(scale=50, size=n), rng.normal(size=n)
        for starts in (start, start[:1]):
            top = float((starts - u).max()) + 1.0
            weight = np.empty(n)
            total = vote_loops.exponential_weights(starts, u, top, weight)
            expected = np.exp(starts - u - top)
            assert weight == pytest.approx(expected, rel=1e-14)
            assert total == pytest.approx(expected.sum(), rel=1e-14)


def test_sums_and_moves_of_votes():
    rng = np.random.default_rng(0)
    n = vote_loops.BLOCK_ROWS + 3
    weight, u = rng.random(n), rng.normal(size=n)
    votes = np.where(rng.random(n) < 0.4, 1, -1).astype(np.int8)
    assert vote_loops.weighted_votes(weight, votes) == pytest.approx(weight @ votes, rel=1e-12)
    expected = u + 0.3 * votes
    vote_loops.add_votes(u, votes, 0.3)
    assert u == pytest.approx(expected, rel=1e-15)


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
