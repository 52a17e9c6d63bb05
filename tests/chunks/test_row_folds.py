"""Folds by a hash of the row's number."""

import numpy as np
from scipy import stats

from sklearn_ensemble_theory._folds import folds_by_hash, held_out_by_hash


def test_folds_are_uniform_and_unrelated_to_those_of_neighbours():
    folds = folds_by_hash(np.arange(50_000), 5).astype(int)
    assert stats.chisquare(np.bincount(folds)).pvalue > 1e-3
    for lag in (1, 2, 5):
        pairs = np.bincount(5 * folds[lag:] + folds[:-lag], minlength=25)
        assert stats.chisquare(pairs).pvalue > 1e-3


def test_folds_depend_on_the_number_of_the_row_alone():
    rows = np.arange(1000)
    parts = [folds_by_hash(rows[a:b], 7) for a, b in ((0, 10), (10, 700), (700, 1000))]
    np.testing.assert_array_equal(np.concatenate(parts), folds_by_hash(rows, 7))


def test_rows_held_out_depend_on_the_seed_and_on_nothing_else():
    rows = np.arange(50_000)
    held = held_out_by_hash(rows, 0.1, 3)
    np.testing.assert_array_equal(held_out_by_hash(rows[700:], 0.1, 3), held[700:])
    other = held_out_by_hash(rows, 0.1, 4)
    table = [[np.sum((held == a) & (other == b)) for b in (0, 1)] for a in (0, 1)]
    assert stats.chi2_contingency(table).pvalue > 1e-3
    for drawn in (held, other):
        assert stats.binomtest(int(drawn.sum()), len(rows), 0.1).pvalue > 1e-3
        by_fold = np.bincount(folds_by_hash(rows, 5)[drawn])  # unrelated to folds
        assert stats.chisquare(by_fold).pvalue > 1e-3
    np.testing.assert_array_equal(held_out_by_hash(rows, 0.3, 3) & held, held)
