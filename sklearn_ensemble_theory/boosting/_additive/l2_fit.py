"""The fit of L2-boosting by stumps: from rows to sums over rows, from sums to the model."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin

from sklearn_ensemble_theory._blocks import PassCount
from sklearn_ensemble_theory._compat import CallbackSupportMixin
from sklearn_ensemble_theory._fitting import fit_context
from sklearn_ensemble_theory._progress import warn_user
from sklearn_ensemble_theory._scaling import TargetScale, power_of_two
from sklearn_ensemble_theory.boosting._additive._bins.bin_choice import squared_risk
from sklearn_ensemble_theory.boosting._additive._bins.chunk_summaries import TargetRange
from sklearn_ensemble_theory.boosting._additive._bins.chunked_bins import (
    bins_of_chunks,
    folds_of_chunk,
)
from sklearn_ensemble_theory.boosting._additive._bins.feature_bins import BLOCK_ROWS, FeatureBins
from sklearn_ensemble_theory.boosting._additive._fitting.chunked_pairs import (
    PairsOfChunks,
    labelled_rows,
)
from sklearn_ensemble_theory.boosting._additive._fitting.chunked_squared_fits import (
    ChunkedSquaredFits,
)
from sklearn_ensemble_theory.boosting._additive._fitting.pair_terms import PairsOfRows
from sklearn_ensemble_theory.boosting._additive._fitting.squared_error_fits import (
    SquaredErrorFits,
    squared_work,
)
from sklearn_ensemble_theory.boosting._additive._fitting.table_models import BinnedRows
from sklearn_ensemble_theory.boosting._additive._tables.counted_gram import StoredGram
from sklearn_ensemble_theory.boosting._additive._tables.stump_sums import StumpSums
from sklearn_ensemble_theory.boosting._additive.base import (
    BaseAdditive,
    rows_to_fit,
    unit_weights,
)
from sklearn_ensemble_theory.boosting._loop import begin_fit


@dataclass(frozen=True)
class _Chunks:
    """What `partial_fit` keeps of the rows of all its calls."""

    sums: StumpSums
    bins: FeatureBins
    target: TargetScale
    weight_unit: float


class BaseL2Boosting(RegressorMixin, CallbackSupportMixin, BaseAdditive):
    """`fit` and `partial_fit` of :class:`L2BoostingRegressor`."""

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like or Dask collection of shape (n_samples, n_features)
            Numbers, NaN where they are missing, or a data frame with categorical columns.
        y : array-like or Dask collection of shape (n_samples,)
            Targets.
        sample_weight : array-like or Dask collection of shape (n_samples,), default=None
            Non-negative weights of the rows; equal weights by default. Rows of weight 0 are left
            out.

        Returns
        -------
        self : L2BoostingRegressor
            The fitted estimator.

        Raises
        ------
        ValueError
            If `cv` tests on a row more than once, or if the sums over a single cut with
            all others exceed `max_memory`. With Dask collections, if the sums over all pairs of
            cuts exceed it, or `cv` is no integer.
        """
        rows = self._checked_rows(X, y, sample_weight, reset=True)
        end_fit = begin_fit(self, X, y, sample_weight)
        weight = unit_weights(rows.weight)
        rows = replace(rows, weight=weight)
        target = TargetScale.in_powers_of_two(rows.y, weight)
        monotonic = self._monotonic(rows.X.shape[1], rows.columns)
        scaled = target(rows.y)
        bins, jumps = self._bins_of(rows, scaled)
        layout = bins.layout()
        self._progress().message(f"{layout.n_cuts} cuts in {len(bins.edges)} features")
        codes = bins.codes(rows.X)
        binned = BinnedRows(codes, layout, weight, rows.folds, rows.n_splits)
        risk, sums = squared_risk(binned, scaled, self.max_memory)
        self._check_folds(sums, rows.n_splits)
        results = self._fit_models(risk, PairsOfRows(risk, binned), layout, jumps, monotonic)
        self._learn(results, sums, bins, rows.columns, target)
        for name in ("_chunks", "n_passes_"):
            vars(self).pop(name, None)
        end_fit()
        return self

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        refit: bool = True,
    ) -> Self:
        """Add a chunk of rows to those of the earlier calls and fit the model to all of them.

        Only sums are kept, never rows. The bins are `bin_edges`, or quantiles of the first chunk;
        with `bin_edges` given the model is the one of `fit` on all chunks together. Categories are
        those of the first chunk; others are treated as missing. With ``n_estimators="cv"`` each
        chunk is split into folds by itself.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows of the chunk.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; equal weights by default.
        refit : bool, default=True
            Whether to update the model. With False the chunk is only added to the sums.

        Returns
        -------
        self : L2BoostingRegressor
            The fitted estimator.

        Raises
        ------
        ValueError
            If the sums over all pairs of cuts exceed `max_memory`: the rows of earlier chunks
            cannot be counted again.

        Warns
        -----
        UserWarning
            If called after `fit`, which does not store the sums: the model is then fitted to this
            chunk alone.
        """
        known = getattr(self, "_chunks", None)
        if known is None and self.__sklearn_is_fitted__():
            warn_user(
                "The rows of an earlier call of fit are not used: fit does not store the sums, so "
                "partial_fit starts again with this chunk.",
                UserWarning,
            )
        rows = self._checked_rows(X, y, sample_weight, reset=known is None)
        if self._resolved_interactions(rows.X.shape[1]) not in (0, []):
            raise ValueError(
                "partial_fit keeps sums over rows, from which pairs of features cannot be fitted; "
                "use interactions=0."
            )
        self._monotonic(rows.X.shape[1], rows.columns)  # refused before the sums are taken
        weight, unit = rows.weight, 1.0
        if known is not None:
            unit = known.weight_unit
        elif weight is not None:
            unit = power_of_two(weight.max())
        if weight is not None:
            with np.errstate(over="ignore"):
                weight = weight / unit
        rows = replace(rows, weight=weight)
        if known is None:
            target = TargetScale.in_powers_of_two(rows.y, weight)
            bins, _ = self._bins_of(rows, rows.y, keep_missing=True)
        else:
            bins, target = known.bins, known.target
        n_groups = rows.n_splits + 1
        if known is not None and n_groups != len(known.sums.sums.weight):
            raise ValueError(
                "n_estimators and cv must give the same number of folds in every call of "
                "partial_fit."
            )
        self._check_memory_of_chunks(bins.layout().n_cuts, n_groups, rows.n_splits)
        sums = _sums_of_rows(bins, rows.X, target(rows.y), rows.weight, rows.folds, n_groups)
        if known is not None:
            sums = known.sums + sums
        if not sums.sums.moderate():
            raise ValueError("y or sample_weight is too large compared with the first chunk.")
        if refit:
            self._fit_sums(sums, rows.n_splits, bins, rows.columns, target)
        else:
            self._columns = rows.columns
        self._chunks = _Chunks(sums, bins, target, unit)
        return self

    def _fit_chunks(self, rows):
        """`fit` of rows in chunks, which are read twice, and once more if there are categories.

        With pairs the bins stay where the rows are, and are read again and again.
        """
        p = rows.checks.n_features
        monotonic = self._monotonic(p, None)  # refused before rows are read
        with_pairs = self._checked_interactions(p, monotonic) not in (0, [])
        chunked = bins_of_chunks(self, rows, TargetRange.of)
        bins, n_splits = chunked.bins, chunked.n_splits
        self._monotonic(p, chunked.columns)
        target = chunked.summary.target.scale()
        self._check_memory_of_chunks(bins.layout().n_cuts, max(n_splits, 1), n_splits)
        self._progress().message(f"{bins.layout().n_cuts} cuts in {p} features")
        passes = PassCount(2 + (chunked.columns is not None))
        if with_pairs:
            passes.n += 1
            coded = chunked.rows.map(_targets_in_bins, bins, target, n_splits)
            sums = coded.sum(_sums_of_targets)
        else:
            coded = None
            sums = chunked.rows.sum(_sums_of_chunk, bins, target, n_splits)
        self._fit_sums(sums, n_splits, bins, chunked.columns, target, coded, passes)
        vars(self).pop("_chunks", None)
        self.n_passes_ = passes.n

    def _fit_sums(self, sums, n_splits, bins, columns, target, coded=None, passes=None):
        """The model, from the sums over all rows, and for pairs from the rows in chunks."""
        layout = bins.layout()
        self._check_folds(sums.sums, n_splits)
        monotonic = self._monotonic(len(layout.n_bins), columns)
        gram, source = StoredGram(sums.gram(), layout), None
        if coded is None:
            risk = SquaredErrorFits(sums.sums, gram, n_splits)
        else:
            risk = ChunkedSquaredFits(coded, sums.sums, gram, n_splits, passes)
            weights = _bin_weights(layout, sums.sums)
            source = PairsOfChunks(
                coded, layout, squared_work, 1, n_splits, weights, passes, is_quadratic=True
            )
        results = self._fit_models(risk, source, layout, (), monotonic)
        self._learn(results, sums.sums, bins, columns, target)

    def _checked_rows(self, X, y, sample_weight, reset):
        X, y, columns = self._checked_data(X, y, reset, y_numeric=True)
        y = y.astype(np.float64, copy=False)
        weight, kept = rows_to_fit(sample_weight, X)
        return self._kept_rows(X, y, weight, kept, columns)

    @staticmethod
    def _check_folds(sums, n_splits):
        for fold in range(n_splits):
            if not 0 < sums.weight[fold] < sums.weight.sum():
                raise ValueError(
                    f"Split {fold} of cv has no weight in its training set or in its test set."
                )

    def _learn(self, results, sums, bins, columns, target):
        """Set everything that is learned from the sums."""
        layout = bins.layout()
        smoothing, stumps, _ = results
        weights = _bin_weights(layout, sums)
        learned = self._learned(bins, columns, weights, results, target.scale, target.mean)
        falls = np.zeros(len(layout.n_bins))
        for result in (smoothing, stumps):
            for segment in [] if result is None else result.segments:
                path = segment.paths[0][0]
                falls += path.falls_by_feature(layout)
        learned["feature_importances_"] = falls / falls.sum() if falls.any() else falls
        self._set(learned, results, target.squares_in_units)


def _bin_weights(layout, sums):
    """The weight of all rows in each bin of each feature."""
    left, total = sums.left_weight.sum(axis=0), sums.weight.sum()
    weights = []
    for j in range(len(layout.n_bins)):
        own = left[layout.cuts_of(j)]
        if layout.categorical[j]:
            weights.append(np.append(own, total - own.sum()))
        else:
            weights.append(np.diff(np.concatenate([[0.0], own, [total]])))
    return [np.maximum(weight, 0.0) for weight in weights]


def _targets_in_bins(chunk, bins, target, n_splits):
    return labelled_rows(chunk, bins, target(chunk.y), n_splits, with_pairs=True)


def _sums_of_targets(block):
    rows, n = block.rows, len(block.y)
    parts = (slice(start, start + BLOCK_ROWS) for start in range(0, n, BLOCK_ROWS))
    arrays = rows.codes, block.y, rows.weight, rows.folds
    blocks = (tuple(None if a is None else a[part] for a in arrays) for part in parts)
    return StumpSums.of(blocks, rows.layout, rows.n_groups)


def _sums_of_chunk(chunk, bins, target, n_splits):
    folds = folds_of_chunk(chunk, n_splits)
    return _sums_of_rows(bins, chunk.X, target(chunk.y), chunk.weight, folds, max(n_splits, 1))


def _sums_of_rows(bins, X, y, weight, folds, n_groups):
    """The sums over rows, which are cut into bins a block at a time."""
    blocks = (
        (codes, y[rows], *(None if each is None else each[rows] for each in (weight, folds)))
        for rows, codes in bins.codes_by_blocks(X)
    )
    return StumpSums.of(blocks, bins.layout(), n_groups)
