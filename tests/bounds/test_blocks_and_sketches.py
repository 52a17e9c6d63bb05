"""The number of blocks for nearest neighbours, and the risk of sketches."""

import math

import numpy as np
import pytest

from sklearn_ensemble_theory import bounds
from sklearn_ensemble_theory.bounds import (
    divide_and_conquer_n_blocks,
    gaussian_sketch_risk,
    independent_neighbors_vote_bound,
    neighbors_vote_n_blocks,
)


@pytest.mark.parametrize("n", [1, 2, 7, 64, 1000, 10**6])
@pytest.mark.parametrize("d", [1, 2, 5])
def test_largest_number_of_blocks_that_keeps_the_rate(n, d):
    m = divide_and_conquer_n_blocks(n, d)
    assert 1 <= m <= n
    # Blocks of n' = n / m rows are n'^(2/d) in number, at most.
    assert m <= (n / m) ** (2 / d) * (1 + 1e-9)
    assert m + 1 > (n / (m + 1)) ** (2 / d) * (1 - 1e-9)


@pytest.mark.parametrize("n", [1, 20, 500])
@pytest.mark.parametrize("d", [2, 3, 6])
@pytest.mark.parametrize("lipschitz", [0.0, 0.01, 0.3, 5.0])
def test_best_number_of_neighbors_by_search(n, d, lipschitz):
    best = neighbors_vote_n_blocks(n, d, n_classes=3, lipschitz=lipschitz)
    options = {"n_classes": 3, "lipschitz": lipschitz}
    values = [independent_neighbors_vote_bound(n, k, d, **options) for k in range(1, n + 1)]
    assert values[best - 1] == min(values)
    # It depends on m k only: m blocks of n / m rows with k neighbours each.
    for m in [m for m in range(1, n + 1) if n % m == 0 and best % m == 0]:
        split = independent_neighbors_vote_bound(n // m, best // m, d, m, **options)
        assert split == pytest.approx(min(values))


def probabilities(X):
    """Of three classes, Lipschitz with constant 0.8 * sqrt(6) on the unit square."""
    waves = 0.1 * np.sin(8 * X[..., 0])
    return np.stack([1 / 3 + waves, 1 / 3 - 2 * waves, 1 / 3 + waves], axis=-1)


def vote_error(n, m, k, data_sets=1_000, points=4, seed=0):
    """Mean excess error of the vote of k-NN majorities over m blocks of n / m rows."""
    rng = np.random.default_rng(seed)
    errors = []
    for _ in range(data_sets // 100):
        X, x = rng.random((100, n, 2), np.float32), rng.random((100, points, 2), np.float32)
        shares = probabilities(X).cumsum(axis=2)[:, :, :2]
        y = (rng.random((100, n, 1)) > shares).sum(axis=2)
        squares = [
            np.subtract.outer(x[i, :, c], X[i, :, c]) ** 2 for i in range(100) for c in (0, 1)
        ]
        distances = (np.array(squares[::2]) + np.array(squares[1::2])).reshape(100, points, m, -1)
        nearest = np.argpartition(distances, k - 1, axis=3)[..., :k]
        blocks = np.broadcast_to(y.reshape(100, 1, m, -1), distances.shape)
        labels = np.take_along_axis(blocks, nearest, axis=3)
        # Random numbers break ties.
        counts = np.stack([(labels == c).sum(axis=3) for c in range(3)], axis=3)
        votes = (counts + 0.1 * rng.random(counts.shape)).argmax(axis=3)
        counts = np.stack([(votes == c).sum(axis=2) for c in range(3)], axis=2)
        chosen = (counts + 0.1 * rng.random(counts.shape)).argmax(axis=2)
        p = probabilities(x)
        errors.append(p.max(axis=2) - np.take_along_axis(p, chosen[:, :, None], axis=2)[:, :, 0])
    return np.mean(errors)


def test_votes_of_nearest_neighbors_on_independent_data_sets():
    """Exercise 10.1: up to a largest m blocks cost little, if each has one neighbour."""
    n, total, lipschitz = 1200, 24, 0.8 * math.sqrt(6)
    one = vote_error(n, 1, total)
    most = vote_error(n, total, 1)
    majorities = vote_error(n, 8, total // 8)
    too_many = vote_error(n, 400, 1)
    assert most < 1.2 * one
    assert 1.2 * most < majorities < 2 * most
    assert too_many > 1.5 * most
    for m, k, error in ((1, total, one), (total, 1, most), (400, 1, too_many)):
        bound = independent_neighbors_vote_bound(
            n // m, k, 2, m, n_classes=3, lipschitz=lipschitz, diameter=math.sqrt(2)
        )
        assert error <= bound


def test_risk_of_a_gaussian_sketch():
    assert gaussian_sketch_risk(100, 10, 11) == math.inf
    assert gaussian_sketch_risk(10, 10, 10) == 1.0
    assert gaussian_sketch_risk(100, 10, 20, noise_variance=0.0) == 0.0
    # From m = (n - d) / (s - d - 1) sketches on at most twice least squares.
    assert gaussian_sketch_risk(100, 10, 20, 10) == pytest.approx(2 * 10 / 100)
    limit = gaussian_sketch_risk(100, 10, 20, 10**9, noise_variance=4.0)
    assert limit == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("gaussian_sketch_risk", (10, 11, 20)),
        ("gaussian_sketch_risk", (10, 5, 4)),
        ("divide_and_conquer_n_blocks", (0, 2)),
        ("divide_and_conquer_n_blocks", (10, 0)),
        ("neighbors_vote_n_blocks", (10, 1)),
        ("independent_neighbors_vote_bound", (10, 11, 2)),
    ],
)
def test_arguments_outside_their_range(name, arguments):
    with pytest.raises(ValueError, match=r"n_|sketch_size"):
        getattr(bounds, name)(*arguments)
