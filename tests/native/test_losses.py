"""Losses refuse arrays that do not fit; boosting/test_loss_loops.py has what they compute."""

import numpy as np
import pytest

from .loops import (
    Loss,
    add_group_sums,
    huber_slopes,
    mean_curvature,
    newton_targets,
    residual_ranges,
)

N, N_LEAVES, K = 5, 2, 3


def arrays(**wrong):
    """Arguments of all functions for five rows in two leaves, some of them replaced."""
    known = {
        "y": np.ones(N),
        "u": np.zeros(N),
        "weight": np.full(N, 2.0),
        "target": np.ones(N),
        "leaf": np.array([0, 1, 1, 0, 1], np.int32),
        "n_threads": 2,
        "delta": 1.0,
        "steps": np.zeros(N_LEAVES),
    }
    return {**known, **wrong}


def names(*chosen):
    return lambda **wrong: {name: arrays(**wrong)[name] for name in chosen}


def value(**wrong):
    of_rows = names("y", "u", "weight", "target", "n_threads")(**wrong)
    return Loss("squared").value(**of_rows)


def leaf_sums(**wrong):
    sums = wrong.pop("sums", np.zeros((N_LEAVES, 3)))
    of_rows = names("y", "u", "weight", "target", "leaf", "n_threads")(**wrong)
    Loss("squared").add_leaf_sums(**of_rows, score=0, sums=sums)
    return sums


def of_classes(wrong):
    codes = {"y": np.array([0, 1, 2, 0, 1]), "u": np.zeros(N * K)}
    return {**codes, **wrong}


def class_value(**wrong):
    wrong = {"target": np.zeros(N * K), **of_classes(wrong)}
    of_rows = names("y", "u", "weight", "target", "n_threads")(**wrong)
    return Loss("multinomial").value(**of_rows)


def class_sums(**wrong):
    sums, score = wrong.pop("sums", np.zeros((N_LEAVES, 3))), wrong.pop("score", 0)
    of_rows = names("y", "u", "weight", "target", "leaf", "n_threads")(**of_classes(wrong))
    Loss("multinomial").add_leaf_sums(**of_rows, score=score, sums=sums)
    return sums


def slopes(**wrong):
    sums = wrong.pop("sums", np.zeros((N_LEAVES, 2)))
    of_rows = names("y", "u", "weight", "leaf", "delta", "steps", "n_threads")(**wrong)
    huber_slopes(**of_rows, sums=sums)
    return sums


def ranges(**wrong):
    low = wrong.pop("low", np.zeros(N_LEAVES))
    high = np.zeros(N_LEAVES)
    residual_ranges(**names("y", "u", "leaf")(**wrong), low=low, high=high)
    return low, high


def quantiles(**wrong):
    loss = wrong.pop("loss", Loss("kink", above=(-1.0, 1.0), below=(-1.0, 1.0)))
    score = wrong.pop("score", 0)
    of_rows = names("y", "u", "weight", "target", "leaf", "steps", "n_threads")(**wrong)
    loss.leaf_steps(**of_rows, score=score, rate=1.0, longest=np.inf)
    return of_rows["steps"]


def shortened(**wrong):
    score = wrong.pop("score", 0)
    of_rows = names("y", "u", "weight", "target", "leaf", "steps", "n_threads")(**wrong)
    Loss("logistic").shorten_steps(**of_rows, score=score, rate=1.0, longest=0.1)
    return of_rows["steps"]


def curvature(**wrong):
    first = wrong.get("first", np.full((N, K), 0.5))
    return mean_curvature(first, wrong.get("weight", np.full(1, 1 / N)), 2)


def newton(**wrong):
    known = {
        "first": np.full((N, K), 0.5),
        "given": np.full(N, 2.0),
        "target": np.zeros((K, N)),
        "weight": np.zeros((K, N)),
        **wrong,
    }
    newton_targets(**known, ratio=0.0, least=0.0, n_threads=2)
    return known["target"][0], known["weight"][0]


def group_sums(**wrong):
    sums = wrong.pop("sums", np.zeros(N_LEAVES))
    chosen = names("y", "weight", "leaf")(**wrong)
    add_group_sums(chosen["y"], chosen["weight"], chosen["leaf"], sums)
    return sums


def test_what_the_functions_compute():
    assert value() == 0.5 * 2 * N
    assert value(weight=np.full(1, 2.0)) == 0.5 * 2 * N
    nothing = np.ones(0)
    assert value(y=nothing, u=nothing, target=nothing) == 0.0
    np.testing.assert_array_equal(leaf_sums(), [[4, 4, 4], [6, 6, 6]])
    assert class_value() == pytest.approx(2 * N * np.log(K))
    np.testing.assert_array_equal(class_sums(target=np.zeros(N)), [[0, 0, 4], [0, 0, 6]])
    np.testing.assert_array_equal(slopes(), [[-4, 0], [-6, 0]])
    np.testing.assert_array_equal(slopes(delta=3.0), [[-4, 4], [-6, 6]])
    np.testing.assert_array_equal(ranges(), np.ones((2, N_LEAVES)))
    np.testing.assert_array_equal(ranges(leaf=np.zeros(N, np.int32)), [[1, np.inf], [1, -np.inf]])
    np.testing.assert_array_equal(quantiles(), [1.0, 1.0])
    np.testing.assert_array_equal(quantiles(y=np.array([1.0, 2, 3, 5, 9])), [3.0, 3.0])
    np.testing.assert_array_equal(group_sums(), [4.0, 6.0])
    # Of rows on one side no step is too long; of rows on both sides one is, if it is long.
    long = {"steps": np.full(N_LEAVES, 3.0)}
    np.testing.assert_array_equal(shortened(**long, target=np.full(N, 0.5)), [3.0, 3.0])
    sides = np.array([1, 1, 1, -1, 1.0])
    long = {"steps": np.full(N_LEAVES, 3.0)}
    np.testing.assert_allclose(shortened(**long, y=sides, target=0.9 * sides), [np.log(4), 3.0])
    np.testing.assert_allclose(curvature(), [0.25, 0.5])
    np.testing.assert_allclose(curvature(weight=np.arange(N) / 10), [0.25, 0.5])
    np.testing.assert_array_equal(newton(), [np.full(N, 2.0), np.full(N, 0.5)])
    np.testing.assert_array_equal(newton(given=None), [np.full(N, 2.0), np.full(N, 0.25)])


@pytest.mark.parametrize("n_groups", [1, 8, 3000])
@pytest.mark.parametrize("n", [0, 1, 7, 10_001])
def test_sums_of_groups(n, n_groups):
    rng = np.random.default_rng(n)
    values, weight, group = rng.standard_normal(n), rng.random(n), rng.integers(n_groups, size=n)
    sums = np.ones(n_groups)
    add_group_sums(values, weight, group.astype(np.int32), sums)
    expected = 1 + np.bincount(group, weight * values, n_groups)
    np.testing.assert_allclose(sums, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("size", [255, 256, 300, 1000, 40_000])
def test_arrays_that_cannot_be_written(size):
    rng = np.random.default_rng(size)
    y, u, weight, target = rng.random((4, size))
    for array in (y, u, weight):
        array.flags.writeable = False
    total = Loss("squared").value(y, u, weight, target, 1)
    assert total == pytest.approx(np.sum(0.5 * weight * (y - u) ** 2))
    np.testing.assert_array_equal(target, y - u)
    assert Loss("squared").value(y, u, weight, target, 3) == total


@pytest.mark.parametrize(
    "kind", ["squared", "huber", "kink", "poisson", "logistic", "exponential", "multinomial"]
)
def test_nan_stays_nan(kind):
    n_scores = K if kind == "multinomial" else 1
    u, target = np.zeros((2, N, n_scores))
    u[1, -1] = np.nan
    y = np.arange(N) % K if kind == "multinomial" else np.ones(N)
    total = Loss(kind).value(y, u.ravel(), np.ones(1), target.ravel(), 1)
    wrong = np.isnan(target).any(axis=1)
    wrong[1] |= kind == "kink"  # a subgradient
    assert np.isnan(total)
    np.testing.assert_array_equal(wrong, np.arange(N) == 1)


ALL = (value, leaf_sums, class_value, class_sums, slopes, ranges, quantiles, group_sums, shortened)
IN_LEAVES = (leaf_sums, class_sums, slopes, ranges, quantiles, group_sums, shortened)
OF_CHUNKS = (value, leaf_sums, class_value, class_sums, slopes, shortened)


@pytest.mark.parametrize(
    ("functions", "wrong"),
    [
        (ALL, {"y": np.ones(N - 1)}),
        (ALL, {"y": np.zeros(2 * N, np.float32)[::2]}),
        ((value, slopes, ranges, quantiles, shortened), {"u": np.zeros(N - 1)}),
        ((class_value, class_sums), {"u": np.zeros((N, K))}),
        ((class_value, class_sums), {"u": np.zeros(N)}),
        ((class_value, class_sums), {"u": np.zeros(N * K + 1)}),
        ((class_value,), {"u": np.zeros(N * (K - 1)), "target": np.zeros(N * (K - 1))}),
        ((class_value,), {"y": np.array([0, 1, -1, 0, 0])}),
        ((class_value,), {"target": np.zeros(N * (K + 1))}),
        ((class_sums,), {"score": K}),
        ((class_sums,), {"score": -1}),
        ((*OF_CHUNKS, quantiles, group_sums), {"weight": np.ones(2)}),
        ((value, leaf_sums, class_sums, quantiles, shortened), {"target": np.ones(N + 1)}),
        (IN_LEAVES, {"leaf": np.zeros(N - 1, np.int32)}),
        (IN_LEAVES, {"leaf": np.zeros(N, np.int64)}),
        (IN_LEAVES, {"leaf": np.array([0, 1, 2, 0, 0], np.int32)}),
        (IN_LEAVES, {"leaf": np.array([0, 1, -1, 0, 0], np.int32)}),
        ((leaf_sums, class_sums), {"sums": np.zeros((N_LEAVES, 2))}),
        ((slopes,), {"sums": np.zeros((N_LEAVES, 3))}),
        ((slopes,), {"steps": np.zeros(N_LEAVES + 1)}),
        ((ranges,), {"low": np.zeros(N_LEAVES + 1)}),
        ((group_sums,), {"sums": np.zeros(1)}),
        ((shortened,), {"score": 1}),
        ((shortened,), {"steps": np.zeros(1)}),
        ((curvature, newton), {"first": np.zeros((0, K))}),
        ((newton,), {"given": np.ones(1)}),
        ((newton,), {"target": np.zeros((N, K))}),
        ((newton,), {"weight": np.zeros((K, N + 1))}),
        ((curvature,), {"weight": np.ones(2)}),
    ],
)
def test_arrays_that_do_not_fit(functions, wrong):
    for function in functions:
        with pytest.raises(ValueError):
            function(**wrong)


def test_losses_that_do_not_fit():
    with pytest.raises(ValueError):
        Loss("cubic")
    with pytest.raises(ValueError):
        quantiles(loss=Loss("huber", delta=1.0))
