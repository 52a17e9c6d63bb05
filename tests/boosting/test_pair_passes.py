"""Boosting over pairs by passes over chunks makes the visits of `PairBoost` on all rows."""

import numpy as np
import pytest

from .pairs_data import PairBoost, product_data

PAIRS = [(0, 1), (2, 4), (1, 2), (0, 3)]
N_BINS = 14
FLAGS = {"missing": np.array([1, 0, 0, 1, 0], bool), "categorical": np.arange(5) == 2}


def data(n=3000):
    codes, residual = product_data(n, p=5, n_bins=N_BINS)
    residual = residual + (codes[:, 2] % 3) * (codes[:, 4] > 6) + (codes[:, 1] > 3) * codes[:, 2]
    rng = np.random.default_rng(1)
    residuals = residual + 0.05 * rng.standard_normal((3, n))
    return codes, residuals, rng.integers(3, size=n).astype(np.uint8), rng.exponential(size=n)


def passes_over(codes, residuals, folds, weight, starts, pairs=PAIRS):
    boost = PairBoost(codes, np.full(5, N_BINS), pairs, weight, max_bins=8, **FLAGS)
    return boost.passes(residuals, folds, starts)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("starts", [[1000, 2000], [1, 1, 2999]])
def test_path_is_that_of_all_rows(weighted, starts):
    codes, residuals, folds, weight = data()
    weight = weight if weighted else None
    parts = passes_over(codes, residuals, folds, weight, starts)
    found = parts.run()
    boost = PairBoost(codes, np.full(5, N_BINS), PAIRS, weight, max_bins=8, **FLAGS)
    expected = boost.run(residuals.copy(), folds)
    assert found.schedule == expected.schedule
    assert {visit.pair for visit in found.schedule} >= {0, 1, 2}
    for one, other in zip(found.tables, expected.tables, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-11)
    np.testing.assert_allclose(found.held_path, expected.held_path, rtol=1e-11)
    np.testing.assert_allclose(found.train_path, expected.train_path, rtol=1e-11)
    # A visit without steps leaves the sums of the next pairs as they are.
    sweeps = len(found.held_path) - 1
    assert len(found.schedule) <= parts.passes.n < len(found.schedule) + len(PAIRS) * 3
    assert parts.passes.n < sweeps * len(PAIRS)


def test_one_pair_needs_one_pass():
    codes, residuals, folds, _ = data()
    parts = passes_over(codes, residuals, folds, None, [1500], pairs=[(0, 1)])
    path = parts.run()
    assert len(path.schedule) > 1
    assert parts.passes.n == 1


def test_visits_without_steps_need_few_passes():
    codes, residuals, folds, _ = data()
    noise = np.random.default_rng(0).standard_normal(residuals.shape)
    parts = passes_over(codes, noise, folds, None, [1500])
    path = parts.run()
    visits = 3 * len(PAIRS) + len(path.schedule)
    assert len(path.schedule) < visits / 4
    # After steps the sums of 1, 2 and all 4 pairs, if none of these makes steps again.
    assert parts.passes.n <= 2 + 3 * len(path.schedule) < visits


def test_the_chunks_keep_their_residuals():
    """A block may be computed again: functions of chunks change nothing."""
    codes, residuals, folds, weight = data()
    parts = passes_over(codes, residuals, folds, weight, [1500])
    before = parts.residuals.blocks[1].residuals
    copied = before.copy()
    assert parts.run().schedule
    np.testing.assert_array_equal(before, copied)


def test_a_member_that_holds_out_nothing():
    codes, residuals, folds, _ = data()
    parts = passes_over(codes, residuals, np.minimum(folds, 1), None, [1500])
    with pytest.raises(ValueError, match="Member 2 has no row to train on, or holds out none"):
        parts.run()
