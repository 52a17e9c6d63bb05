"""The choice of bins: given ones, quantiles, or refined ones that follow a first fit."""

from dataclasses import dataclass

import numpy as np

from sklearn_ensemble_theory._bins import (
    bin_edges_from_quantiles,
    check_bin_edges,
    columns_with_missing,
)
from sklearn_ensemble_theory.boosting._additive._bins.categorical_columns import CategoricalColumns
from sklearn_ensemble_theory.boosting._additive._bins.feature_bins import FeatureBins
from sklearn_ensemble_theory.boosting._additive._bins.refined import (
    CLEAR,
    FEW_BINS,
    MANY_BINS,
    MIN_ROWS,
    edges_at_jumps,
    jump_cuts,
    quantiles_by_use,
    row_units,
)
from sklearn_ensemble_theory.boosting._additive._fitting.phases import run_phase
from sklearn_ensemble_theory.boosting._additive._fitting.squared_error_fits import SquaredErrorFits
from sklearn_ensemble_theory.boosting._additive._fitting.table_models import BinnedRows
from sklearn_ensemble_theory.boosting._additive._tables.counted_gram import CountedGram
from sklearn_ensemble_theory.boosting._additive._tables.cut_sums import cut_sums
from sklearn_ensemble_theory.boosting._additive._tables.smoothing_rounds import SmoothingRounds

MIB = 2**20
AUTO_BINS = 64
# Refined bins have at least so many rows.
ROWS_OF_BIN = 150
# Smoothing rounds: how many at most, and how many without a new minimum before they end.
MAX_SMOOTHING_ROUNDS, SMOOTHING_PATIENCE = 2000, 40


@dataclass(frozen=True)
class CheckedRows:
    """The rows of one call of `fit` or `partial_fit`, those of weight 0 left out."""

    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None  # None: all alike
    folds: np.ndarray | None  # None: no cross-validation
    n_splits: int
    columns: CategoricalColumns | None


def choose_bins(rows, y, max_bins, bin_edges, max_memory, *, keep_missing=False):
    """The bins of the features, and the numbers of the cuts at jumps.

    Parameters
    ----------
    rows : CheckedRows
    y : array of shape (n,) or None
        The target that refined bins follow; None for bins of equal weight.
    max_bins : int or "auto"
        With "auto", many rows and folds the bins are refined.
    bin_edges : array-like or None
    max_memory : float
    keep_missing : bool, default=False
        Whether every feature gets a bin for missing values; then bins are not refined.

    Returns
    -------
    bins : FeatureBins
    jumps : int array
    """
    X, weight, p = rows.X, rows.weight, rows.X.shape[1]
    categories = [None] * p if rows.columns is None else rows.columns.categories
    missing = np.ones(p, dtype=bool) if keep_missing else columns_with_missing(X)
    none = np.empty(0, dtype=np.intp)
    if bin_edges is not None:
        return FeatureBins.of(check_bin_edges(bin_edges, p), missing, categories), none
    refine = max_bins == "auto" and rows.n_splits > 0 and len(X) >= MIN_ROWS
    if not refine or keep_missing or y is None:
        n_bins = AUTO_BINS if max_bins == "auto" else max_bins
        edges = bin_edges_from_quantiles(X, n_bins, weight)
        return FeatureBins.of(edges, missing, categories), none
    return _refined_bins(rows, y, missing, categories, max_memory)


def _refined_bins(rows, y, missing, categories, max_memory):
    X, weight = rows.X, rows.weight
    few = FeatureBins.of(bin_edges_from_quantiles(X, FEW_BINS, weight), missing, categories)
    codes = few.codes(X)
    # one fold is held out, so that the number of rounds is known
    fold = np.minimum(rows.folds, 1)
    binned = BinnedRows(codes, few.layout(), weight, fold, 1)
    risk, _ = squared_risk(binned, y, max_memory)
    result = run_phase(
        risk,
        risk.start(),
        SmoothingRounds,
        MAX_SMOOTHING_ROUNDS,
        patience=SMOOTHING_PATIENCE,
    )
    model = result.models[0]
    tables = model.tables[0]
    residual = y - model.intercepts[0]
    for j, table in enumerate(tables):
        if table is not None:
            residual -= table.take(codes[:, j])

    def partial_residual(j):
        return residual if tables[j] is None else residual + tables[j].take(codes[:, j])

    falls = sum(s.paths[0][0].falls_by_feature(few.layout()) for s in result.segments)
    if weight is None:
        noise = np.mean(residual**2)
    else:
        falls = falls * row_units(weight)
        noise = np.average(residual**2, weights=weight)
    used = falls > CLEAR * noise
    ordered = ~few.categorical
    edges = quantiles_by_use(X, weight, used & ordered, _many_bins(used, rows, max_memory))
    edges, is_jump = edges_at_jumps(X, partial_residual, weight, edges, ordered)
    bins = FeatureBins.of(edges, missing, categories)
    return bins, jump_cuts(bins, is_jump)


def _many_bins(used, rows, max_memory):
    """The bins of the features that are used, such that their sums fit into the memory."""
    copies = 3 * rows.n_splits + 2
    n_used = max(used.sum(), 1)
    n_bins = int(np.clip(len(rows.X) / ROWS_OF_BIN, AUTO_BINS, MANY_BINS))
    while n_bins > 2 * FEW_BINS:
        n_cuts = n_used * n_bins + (len(used) - n_used) * FEW_BINS
        if copies * n_used * n_bins * n_cuts * 8 / MIB <= max_memory:
            break
        n_bins //= 2
    return n_bins


def squared_risk(binned, y, max_memory):
    """The risk of the squared error of rows in bins, and its sums."""
    options = {"sample_weight": binned.weight, "folds": binned.folds}
    sums = cut_sums(binned.codes, binned.layout, y, n_folds=binned.n_groups, **options)
    max_cuts = cuts_in_memory(max_memory, binned)
    gram = CountedGram(binned.codes, binned.layout, sums.left_weight, max_cuts=max_cuts, **options)
    return SquaredErrorFits(sums, gram, binned.n_splits, max_cuts, binned, y), sums


def cuts_in_memory(max_memory, binned, n_scores=1):
    """Of how many cuts the sums with all cuts can be kept; None for all."""
    n_cuts, n_groups, n_splits = binned.layout.n_cuts, binned.n_groups, binned.n_splits
    # as counted, and as products of columns of each model, held-out rows apart
    copies = n_scores * (n_groups + 1 + 2 * n_splits)
    each = copies * n_cuts * 8 / MIB
    if each > max_memory:
        raise ValueError(
            f"max_memory={max_memory} MiB is less than the {each:.2g} MiB of the sums "
            f"over one of the {n_cuts} cuts with all others; use fewer bins."
        )
    return None if each * n_cuts <= max_memory else int(max_memory / each)


def rows_are_faster(risk, layout, smoothing):
    """Whether rounds cost less by the residuals of rows than by the products of cuts.

    Rough costs of all rounds, in elementary operations: of products, those for all cuts, which are
    counted for all models and for a loss that is not quadratic again and again; and of the steps.
    """
    if risk.rows is None or (risk.is_quadratic and not risk.n_splits):
        return False
    n, p = risk.rows.codes.shape
    n_cuts, n_models = layout.n_cuts, 1 + risk.n_splits
    n_rounds, n_countings = (100, 3) if smoothing else (1000, 3)
    products = n_cuts**2 * (3 * risk.n_splits + 2) * (1 if risk.is_quadratic else n_countings)
    width = n_cuts / max(p, 1) if smoothing else 1
    by_products = 2 * products + n_rounds * n_models * (2 * n_cuts * width + 4000)
    by_rows = n_rounds * n_models * (1.5 * n * p + 4 * n_cuts + 30_000)
    kept = n_cuts if risk.max_cuts is None else risk.max_cuts
    return by_rows < by_products or kept < min(n_cuts, 500)
