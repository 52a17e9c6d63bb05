"""The compiled loops of the losses against the NumPy functions."""

import numpy as np
import pytest

from sklearn_ensemble_theory.boosting import losses

from ..surroundings import root_of_jumps
from . import loss_cases
from .engine import EmpiricalRisk, compiled_loss
from .loss_cases import targets, without_loops

# A loss need not have loops.
CASES = [(loss, kind) for loss, kind in loss_cases.CASES if "_compiled" in vars(type(loss))]
each_loss = pytest.mark.parametrize(("loss", "kind"), CASES, ids=lambda c: str(c))
# More than one chunk.
MANY = 2**14 + 3000


def problem(kind, n, rng):
    u = rng.standard_normal((n, 4) if kind == "code" else n)
    return targets(kind, n, rng), u


def both_risks(loss, y, weight=None):
    """By NumPy and by the loops."""
    assert compiled_loss(loss) is not None
    return EmpiricalRisk(without_loops(loss), y, weight), EmpiricalRisk(loss, y, weight)


def column(target, score=1):
    return target if target.ndim == 1 else target[:, score]


def compare_leaves(loss, y, u, weight, leaf, rows=None, n_leaves=None, **close):
    plain, risk = both_risks(loss, y, weight)
    score = 1 if u.ndim == 2 else None
    n_leaves = leaf.max() + 1 if n_leaves is None else n_leaves
    expected, found = (
        one.leaf_values(u, column(one.at(u).target), leaf, n_leaves, rows, score)
        for one in (plain, risk)
    )
    close = {"rtol": 1e-10, "atol": 1e-13, **close}
    np.testing.assert_allclose(found, expected, **close)
    return found


@each_loss
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", [1, 7, MANY])
def test_value_and_target(loss, kind, weighted, n):
    rng = np.random.default_rng(n)
    y, u = problem(kind, n, rng)
    if kind == "real":
        u[: n // 2] = y[: n // 2]  # kinks
    plain, risk = both_risks(loss, y, rng.uniform(0.1, 2, n) if weighted else None)
    expected, found = plain.at(u), risk.at(u)
    np.testing.assert_allclose(found.value, expected.value, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(found.target, expected.target, rtol=1e-13, atol=1e-15)
    assert risk.value(u) == found.value
    # Arrays of other layouts.
    wide = np.stack([u, u], axis=-1)[..., 0]
    np.testing.assert_array_equal(risk.at(wide).target, found.target)


@each_loss
@pytest.mark.parametrize("n", [1, 7, MANY])
def test_second_derivatives_from_the_gradient(loss, kind, n):
    rng = np.random.default_rng(n)
    y, u = problem(kind, n, rng)
    u *= 3
    loops, target, expected = compiled_loss(loss), -loss.gradient(y, u), loss.hessian(y, u)
    one, several = (loops.hessian(u, target, n_threads) for n_threads in (1, 2))
    if expected is None:
        assert one is None
        return
    np.testing.assert_array_equal(one, several)
    # What is lost is far below the negative gradient; there risks have a larger derivative.
    lost = np.abs(one - expected) - 1e-13 * expected
    assert (lost <= 4e-16 * (1 + np.abs(target))).all()


@pytest.mark.parametrize(
    ("loss", "y"),
    [
        (losses.LogisticLoss(), 1.0),
        (losses.LogisticLoss(), -1.0),
        (losses.ExponentialLoss(), 1.0),
        (losses.ExponentialLoss(), -1.0),
        (losses.PoissonLoss(), 3.0),
    ],
)
def test_scores_of_any_size(loss, y):
    u = np.array([0, 1e-300, 1e-9, 0.3, 20, 36.1, 40, 699, 701, 708, 709, 745, 800, 1e9, 1e300])
    u = np.concatenate([-u[::-1], u])
    for score in u:
        plain, risk = both_risks(loss, np.array([y]))
        expected, found = plain.at(np.array([score])), risk.at(np.array([score]))
        np.testing.assert_allclose(found.value, expected.value, rtol=1e-14, atol=1e-300)
        np.testing.assert_allclose(found.target, expected.target, rtol=1e-14, atol=1e-300)
        compare_leaves(loss, np.full(3, y), np.full(3, score), None, np.zeros(3, int))


def test_classes_of_any_probability():
    u = np.array([[0.0, 0.0, 0.0], [50, 0, -50], [0, 800, -1e6], [-1e300, 1e300, 0]])
    for k in range(3):
        plain, risk = both_risks(losses.MultinomialLoss(), np.full(4, k))
        for i in range(4):
            expected, found = plain.at(u[[i] * 4]), risk.at(u[[i] * 4])
            np.testing.assert_allclose(found.value, expected.value, rtol=1e-14, atol=1e-300)
            np.testing.assert_allclose(found.target, expected.target, rtol=1e-14, atol=1e-300)
        compare_leaves(
            losses.MultinomialLoss(), np.full(4, k), u[:3][[0, 1, 2, 0]], None, u[:, 0] > 0
        )


@each_loss
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.uint8, np.int64])
def test_leaf_values(loss, kind, weighted, dtype):
    rng = np.random.default_rng(3)
    n = MANY if dtype == np.uint8 else 400
    y, u = problem(kind, n, rng)
    weight = rng.uniform(0.1, 2, n) if weighted else None
    leaf = rng.choice([1, 2, 3, 5, 6], n, p=[0.5, 0.3, 0.1, 0.09, 0.01]).astype(dtype)
    compare_leaves(loss, y, u, weight, leaf, n_leaves=8)
    rows = np.sort(rng.permutation(n)[: n // 2])
    compare_leaves(loss, y, u, weight, leaf, rows, n_leaves=8)


@each_loss
def test_more_leaves_than_tables_and_codes_allow(loss, kind):
    rng = np.random.default_rng(4)
    y, u = problem(kind, 3000, rng)
    compare_leaves(loss, y, u, None, np.arange(3000) // 2)
    compare_leaves(loss, y, u, None, np.arange(3000) + 2**16)


@pytest.mark.parametrize("seed", range(20))
def test_quantiles_of_ties_outliers_and_weights(seed):
    """Steps of the derivative at few places, of unequal size, over 600 powers of ten."""
    rng = np.random.default_rng(seed)
    n = 300
    y = rng.integers(0, 4, n).astype(float)
    if seed % 3 == 1:
        y = rng.standard_cauchy(n) ** 5
    if seed % 3 == 2:
        y = 10.0 ** rng.integers(-150, 150, n) * rng.choice([-1, 1], n)
    weight = rng.integers(1, 4, n).astype(float) if seed % 2 else None
    leaf = rng.integers(0, 5, n)
    for loss in (losses.AbsoluteLoss(), losses.QuantileLoss(quantile=0.25), losses.HingeLoss()):
        compare_leaves(loss, y, np.zeros(n), weight, leaf, rtol=1e-12, atol=0)


def test_the_median_of_many_equal_weights_is_exact():
    """Sums of 10^5 equal weights drift by more than the tolerance that ties had."""
    y = np.arange(200_000.0)
    rng = np.random.default_rng(0)
    rng.shuffle(y)
    leaf = np.zeros(len(y), np.uint8)
    (found,) = compare_leaves(losses.AbsoluteLoss(), y, np.zeros(len(y)), None, leaf)
    assert found == np.median(y)
    one = np.full(len(y), 1 / len(y))
    assert root_of_jumps(y, 2 * one, np.array([-one.sum()]), None, 1) == np.median(y)


def test_medians_of_many_small_leaves_are_exact():
    """Differences of sums over all leaves had more rounding than ties may have."""
    y = np.random.default_rng(0).standard_normal((10_000, 10))
    leaf = np.repeat(np.arange(10_000, dtype=np.int32), 10)
    found = compare_leaves(losses.AbsoluteLoss(), y.ravel(), np.zeros(y.size), None, leaf)
    np.testing.assert_allclose(found, np.median(y, axis=1), rtol=1e-12, atol=1e-15)


@each_loss
@pytest.mark.parametrize("weighted", [False, True])
def test_optimal_constants(loss, kind, weighted):
    rng = np.random.default_rng(9)
    y, _ = problem(kind, 101, rng)
    weight = rng.integers(1, 3, 101).astype(float) if weighted else None
    expected = without_loops(loss).optimal_constant(y, weight)
    np.testing.assert_allclose(loss.optimal_constant(y, weight), expected, rtol=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_means_of_huber_lie_where_the_derivative_is_zero(seed):
    rng = np.random.default_rng(seed)
    n, delta = 200, 10.0 ** rng.integers(-3, 3)
    y = rng.standard_cauchy(n) ** (1 + 2 * (seed % 2))
    weight = rng.uniform(0.5, 2, n)
    weight /= weight.sum()
    leaf = rng.integers(0, 6, n)
    risk = EmpiricalRisk(losses.HuberLoss(delta=delta), y, weight)
    u = np.zeros(n)
    steps = risk.leaf_values(u, risk.at(u).target, leaf, 6)
    slope = np.bincount(leaf, weight * risk.loss.gradient(y, steps[leaf]))
    assert np.abs(slope).max() <= 1e-12 * delta


@each_loss
def test_the_number_of_threads_changes_no_bit(loss, kind):
    rng = np.random.default_rng(8)
    n = 4 * 2**14 + 17
    y, u = problem(kind, n, rng)
    weight, leaf = rng.uniform(0.1, 2, n), rng.integers(0, 8, n)
    found = []
    for n_threads in (1, 2, 4):
        risk = EmpiricalRisk(loss, y, weight, n_threads)
        state = risk.at(u)
        score = 0 if u.ndim == 2 else None
        steps = risk.leaf_values(u, column(state.target, 0), leaf, 8, score=score)
        found.append((state.value, state.target, steps))
    for other in found[1:]:
        for one, two in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(one, two)


def test_a_subclass_keeps_what_it_overrides():
    class Doubled(losses.SquaredLoss):
        def value(self, y, u):
            return 2 * super().value(y, u)

    assert compiled_loss(Doubled()) is None
    assert compiled_loss(losses.SquaredLoss()) is not None
    assert EmpiricalRisk(Doubled(), np.array([2.0])).value(np.zeros(1)) == 4.0


def test_arrays_that_the_loops_do_not_take_go_through_numpy():
    risk = EmpiricalRisk(losses.MultinomialLoss(), np.array([0, 2]))
    with pytest.raises(IndexError):
        risk.at(np.zeros((2, 2)))  # the second row has no score of its class
    risk = EmpiricalRisk(losses.SquaredLoss(), np.array([1, 3]))
    assert risk.at(np.zeros(2)).value == 2.5
    assert risk.at(np.zeros(2, np.float32)).value == 2.5
