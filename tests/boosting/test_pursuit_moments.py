"""Matching pursuit from sums over rows: held-out errors, splits, units."""

import itertools

import numpy as np
import pytest

from sklearn_ensemble_theory._folds import folds_by_hash, held_out_by_hash
from sklearn_ensemble_theory._rows import ChunkedRows, RowChecks
from sklearn_ensemble_theory.boosting._dictionary import ColumnDictionary, GramRows
from sklearn_ensemble_theory.boosting._pursuit.column_moments import (
    ColumnMoments,
    MomentDictionary,
)
from sklearn_ensemble_theory.boosting._pursuit.moments_of_folds import moments_of_splits
from sklearn_ensemble_theory.boosting._pursuit.pursuit_rounds import (
    held_out_squares,
    held_out_squares_of_products,
    orthogonal_pursuit_on_gram,
    pursuit_on_gram,
)

from ..local_blocks import LocalBlocks

N, D = 300, 8


def rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, D)) @ rng.standard_normal((D, D)) + 3
    Y = np.column_stack([X[:, 0] - X[:, 3], 100 * X[:, 1]]) + rng.standard_normal((N, 2))
    return X, Y, rng.random(N) + 0.5


def chunked(X, Y, weight, cuts=(0, 1, 1, 120, N)):
    blocks = [
        (number, X[a:b], Y[a:b], weight[a:b])
        for number, (a, b) in enumerate(itertools.pairwise(cuts))
    ]
    checks = RowChecks(X.shape[1], is_classifier=False, multi_output=True)
    return ChunkedRows(LocalBlocks(blocks), checks, X[:0], has_weights=True)


@pytest.mark.parametrize("orthogonal", [False, True])
@pytest.mark.parametrize("centre", [False, True])
def test_held_out_errors_are_those_of_the_rows(orthogonal, centre):
    X, Y, weight = rows()
    train, held = np.arange(N) < 200, np.arange(N) >= 200
    moments = [ColumnMoments.of(X[one], Y[one], weight[one], centre) for one in (train, held)]
    unit = np.maximum(moments[0].unit, moments[1].unit)
    found = MomentDictionary(moments[0].in_units(unit), D)
    others = found.of_other_rows(moments[1].in_units(unit))
    w = weight[train] / weight[train].sum()
    dictionary = ColumnDictionary(X[train], w, centre)
    for k in range(2):
        gram = GramRows(found)
        gram.load_all()
        given = gram, found.correlations[k], found.squares[k]
        path = orthogonal_pursuit_on_gram(*given, 6) if orthogonal else pursuit_on_gram(*given, 9)
        y, scale = Y[held, k] - found.target.mean[k], found.target.scale[k]
        np.testing.assert_allclose(
            held_out_squares_of_products(
                path, others.gram, others.correlations[k], others.squares[k]
            ),
            held_out_squares(path, dictionary, X[held], y, scale, weight[held]) / scale**2,
            rtol=1e-10,
            atol=1e-15,  # of squares of scaled targets
        )


def assert_moments(moments, X, Y, weight):
    expected = ColumnMoments.of(X, Y, weight, True)
    assert moments.n_rows == len(X)
    np.testing.assert_allclose(moments.mean * moments.unit, expected.mean * expected.unit)
    size, other = (np.multiply.outer(m.unit, m.unit) for m in (moments, expected))
    np.testing.assert_allclose(moments.gram * size, expected.gram * other, rtol=1e-10, atol=1e-8)


@pytest.mark.parametrize("cuts", [(0, N), (0, 1, 1, 120, N)])
def test_splits_are_those_of_the_hash(cuts):
    X, Y, weight = rows()
    total, splits = moments_of_splits(chunked(X, Y, weight, cuts), True, n_splits=3)
    assert_moments(total, X, Y, weight)
    fold = folds_by_hash(np.arange(N), 3)
    for k, (train, held) in enumerate(splits):
        for moments, own in ((train, fold != k), (held, fold == k)):
            assert_moments(moments, X[own], Y[own], weight[own])
            np.testing.assert_array_equal(moments.unit, total.unit)
    assert k == 2


def test_rows_held_out_are_no_part_of_the_fit():
    X, Y, weight = rows()
    seed = np.random.RandomState(4).randint(2**31 - 1)
    own = held_out_by_hash(np.arange(N), 0.25, seed)
    fitted, ((train, held),) = moments_of_splits(
        chunked(X, Y, weight), True, held_out=0.25, random_state=4
    )
    assert fitted is train
    assert_moments(train, X[~own], Y[~own], weight[~own])
    assert_moments(held, X[own], Y[own], weight[own])


def test_units_are_powers_of_two_and_change_nothing_else():
    X, Y, weight = rows()
    moments = ColumnMoments.of(X, Y, weight, True)
    moved = moments.in_units(4 * moments.unit)
    np.testing.assert_array_equal(16 * moved.gram, moments.gram)
    np.testing.assert_array_equal(4 * moved.mean, moments.mean)
    assert moments.in_units(moments.unit) is moments
    over = moments.of_targets_over(np.array([2.0, 0.25]))
    np.testing.assert_array_equal(over.high[D:], moments.high[D:] / [2.0, 0.25])
    np.testing.assert_array_equal(over.unit[:D], moments.unit[:D])
