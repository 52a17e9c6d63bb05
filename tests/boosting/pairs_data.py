"""Data of the tests of pairs of features, and their detection and boosting by codes of bins."""

import itertools

import numpy as np

from sklearn_ensemble_theory._blocks import PassCount
from sklearn_ensemble_theory.boosting._additive import pair_rounds, pairs
from sklearn_ensemble_theory.boosting._additive.additive_plan import resolve_interactions
from sklearn_ensemble_theory.boosting._additive.pair_rounds import (
    LEARNING_RATES,
    MIN_SHARE,
    AdditiveFit,
    Visit,
    additive_rest,
    inverse_weights,
    ordered_bins,
    purify,
    quadrant_steps,
)
from sklearn_ensemble_theory.boosting._additive.pairs import interaction_gains, isotonic_table

from ..local_blocks import LocalBlocks

__all__ = [
    "LEARNING_RATES",
    "MIN_SHARE",
    "AdditiveFit",
    "Visit",
    "additive_rest",
    "interaction_gains",
    "inverse_weights",
    "isotonic_table",
    "ordered_bins",
    "purify",
    "quadrant_steps",
    "resolve_interactions",
]


def uniform_codes(n, p, n_bins=16, seed=0):
    rng = np.random.default_rng(seed)
    return np.asfortranarray(rng.integers(n_bins, size=(n, p)).astype(np.uint8))


def product_data(n, p=6, strength=1.0, n_bins=16, seed=0):
    """Codes, and residuals with a product of the first two features; noise of variance 1."""
    codes = uniform_codes(n, p, n_bins, seed)
    centred = codes - (n_bins - 1) / 2
    product = centred[:, 0] * centred[:, 1]
    noise = np.random.default_rng(seed + 1000).standard_normal(n)
    return codes, noise + strength * product / product.std()


def correlated_weight(shape=(7, 5), seed=0):
    """Weights of cells in which rows and columns are correlated, some of them 0."""
    rng = np.random.default_rng(seed)
    a, b = np.arange(shape[0])[:, None] / shape[0], np.arange(shape[1]) / shape[1]
    return rng.poisson(20 * np.exp(-20 * (a - b) ** 2)).astype(float)


def coarse_bins(codes, n_bins, max_bins, weight=None, *, missing=None, categorical=None):
    p = len(n_bins)
    weights = [np.bincount(codes[:, j], weight, n_bins[j]) for j in range(p)]
    none = np.zeros(p, bool)
    flags = (none if flag is None else flag for flag in (missing, categorical))
    return pair_rounds.coarse_bins(weights, n_bins, max_bins, *flags)


def detect_pairs(
    codes,
    n_bins,
    residual,
    n_pairs,
    weight=None,
    *,
    max_bins=32,
    random_state=0,
    **flags,
):
    bins = coarse_bins(codes, n_bins, max_bins, weight, **flags)
    values = pairs.table_values(residual, weight)

    def tables_of(wanted):
        return pair_rounds.pair_tables(codes, bins, wanted, values)

    features, cells = np.arange(len(n_bins)), pairs._CELLS_AT_ONCE
    candidates = list(itertools.combinations([int(j) for j in features], 2))
    return pairs.strongest_pairs(tables_of, bins, candidates, n_pairs, cells, random_state)


class PairBoost:
    """Boosting over pairs, of rows in memory or in blocks."""

    def __init__(self, codes, n_bins, of_pairs, weight=None, *, max_bins=64, **flags):
        self.codes, self.n_bins, self.pairs, self.weight = codes, n_bins, of_pairs, weight
        self.bins = coarse_bins(codes, n_bins, max_bins, weight, **flags)

    def columns(self, rows, folds):
        found = pair_rounds.coarse_columns(self.codes[rows], self.n_bins, self.pairs, self.bins)
        return pair_rounds.PairColumns(found, folds)

    def run(self, residuals, folds, max_sweeps=200):
        """`residuals` are replaced by those after all visits."""
        state = pair_rounds.PairResiduals(residuals, self.weight)
        columns = self.columns(slice(None), folds)
        return pair_rounds.boost_rows(columns, state, self.pairs, self.bins, max_sweeps)

    def passes(self, residuals, folds, starts):
        """The passes over blocks that begin at some rows, after one without any."""
        columns, states = [None], [None]
        for rows in np.split(np.arange(len(self.codes)), starts):
            columns.append(self.columns(rows, folds[rows]))
            w = None if self.weight is None else self.weight[rows]
            states.append(pair_rounds.PairResiduals(residuals[:, rows].copy(), w))
        columns, states = LocalBlocks(columns), LocalBlocks(states)
        sums = states.sum(pair_rounds.residual_sums, columns, self.pairs, self.bins)
        count = PassCount()
        return pair_rounds.PairPasses(columns, states, sums, self.pairs, self.bins, count)

    def cell_weights(self, t):
        columns = self.columns(slice(None), np.zeros(len(self.codes), np.uint8))
        weights = pair_rounds.cell_weights(columns, self.weight, 1, self.pairs, self.bins)
        return weights[t][0]
