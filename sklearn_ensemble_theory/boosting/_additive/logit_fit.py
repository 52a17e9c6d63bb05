"""The fit of additive logistic regression by boosting."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from sklearn_ensemble_theory._blocks import PassCount
from sklearn_ensemble_theory._compat import CallbackSupportMixin
from sklearn_ensemble_theory._fitting import fit_context
from sklearn_ensemble_theory.boosting._additive._bins.bin_choice import cuts_in_memory
from sklearn_ensemble_theory.boosting._additive._bins.chunk_summaries import ClassLabels
from sklearn_ensemble_theory.boosting._additive._bins.chunked_bins import bins_of_chunks
from sklearn_ensemble_theory.boosting._additive._bins.feature_bins import FeatureBins
from sklearn_ensemble_theory.boosting._additive._fitting.chunked_logistic_fits import (
    ChunkedLogisticFits,
)
from sklearn_ensemble_theory.boosting._additive._fitting.chunked_pairs import (
    PairsOfChunks,
    labelled_rows,
)
from sklearn_ensemble_theory.boosting._additive._fitting.logistic_fits import (
    LogisticFits,
    logistic_work,
)
from sklearn_ensemble_theory.boosting._additive._fitting.pair_terms import PairsOfRows
from sklearn_ensemble_theory.boosting._additive._fitting.table_models import BinnedRows
from sklearn_ensemble_theory.boosting._additive.base import (
    BaseAdditive,
    rows_to_fit,
    unit_weights,
)
from sklearn_ensemble_theory.boosting._loop import begin_fit


@dataclass(frozen=True)
class _KeptRows:
    """The rows of all calls of `partial_fit`, in bins."""

    bins: FeatureBins
    codes: list  # of arrays (n, p), one a call
    y: np.ndarray
    weight: np.ndarray
    folds: np.ndarray | None
    n_splits: int


class BaseLogitBoost(ClassifierMixin, CallbackSupportMixin, BaseAdditive):
    """`fit` and `partial_fit` of :class:`LogitBoostClassifier`."""

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like or Dask collection of shape (n_samples, n_features)
            Numbers, NaN where they are missing, or a data frame with categorical columns.
        y : array-like or Dask collection of shape (n_samples,)
            Class labels.
        sample_weight : array-like or Dask collection of shape (n_samples,), default=None
            Non-negative weights of the rows; equal weights by default. Rows of weight 0 are left
            out.

        Returns
        -------
        self : LogitBoostClassifier
            The fitted estimator.

        Raises
        ------
        ValueError
            If `cv` tests on a row more than once, or if the sums over a single cut with
            all others exceed `max_memory`. With Dask collections, if the sums over all pairs of
            cuts exceed it, or `cv` is no integer.
        """
        rows, classes = self._checked_rows(X, y, sample_weight, None, reset=True)
        end_fit = begin_fit(self, X, y, sample_weight)
        monotonic = self._monotonic_of_classes(rows.X.shape[1], rows.columns, classes)
        weight = unit_weights(rows.weight)
        rows = replace(rows, weight=weight)
        target = np.asarray(rows.y == 1, dtype=float) if len(classes) == 2 else None
        if target is not None:
            mean = np.average(target, weights=weight)
            bins, jumps = self._bins_of(rows, target - mean)
        else:
            bins, jumps = self._bins_of(rows, None)
        self._progress().message(f"{bins.layout().n_cuts} cuts in {len(bins.edges)} features")
        codes = bins.codes(rows.X)
        binned = BinnedRows(codes, bins.layout(), weight, rows.folds, rows.n_splits)
        self._fit_rows(binned, rows.y, classes, bins, rows.columns, jumps, monotonic)
        vars(self).pop("_kept", None)
        end_fit()
        return self

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        refit: bool = True,
    ) -> Self:
        """Add a chunk of rows to those of the earlier calls and fit the model to all of them.

        The bins of all rows are kept, one byte a value (two for more than 255 bins). They are
        `bin_edges`, or quantiles of the first chunk; with `bin_edges` given the model is that of
        `fit` on all chunks together. Categories are those of the first chunk; others are treated
        as missing. With ``n_estimators="cv"`` each chunk is split into folds by itself.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows of the chunk.
        y : array-like of shape (n_samples,)
            Class labels.
        classes : array-like of shape (n_classes,), default=None
            All classes that will ever occur. It may be left out after the first call, or after a
            call of `fit`, of which nothing but the classes is used.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; equal weights by default.
        refit : bool, default=True
            Whether to update the model. With False the chunk is only added to the rows.

        Returns
        -------
        self : LogitBoostClassifier
            The fitted estimator.

        Raises
        ------
        ValueError
            If `classes` are missing in the first call or differ later, or y has others.
        """
        known = getattr(self, "_kept", None)
        if classes is not None:
            classes = np.unique(np.asarray(classes))
        if known is None and classes is None:
            classes = getattr(self, "classes_", None)  # those of an earlier fit
        if known is None and classes is None:
            raise ValueError("classes must be given in the first call of partial_fit.")
        if known is not None:
            if classes is not None and not np.array_equal(classes, self.classes_):
                raise ValueError(
                    f"classes={classes!r} differ from those of the first call, {self.classes_!r}."
                )
            classes = self.classes_
        rows, classes = self._checked_rows(X, y, sample_weight, classes, reset=known is None)
        monotonic = self._monotonic_of_classes(rows.X.shape[1], rows.columns, classes)
        n = len(rows.y)
        weight = np.ones(n) if rows.weight is None else rows.weight
        if known is None:
            scaled = replace(rows, weight=unit_weights(rows.weight))
            bins, _ = self._bins_of(scaled, None, keep_missing=True)
            kept = _KeptRows(bins, [bins.codes(rows.X)], rows.y, weight, rows.folds, rows.n_splits)
        else:
            if known.n_splits != rows.n_splits:
                raise ValueError(
                    "n_estimators and cv must give the same number of folds in every call of "
                    "partial_fit."
                )
            folds = rows.folds
            if known.folds is not None and folds is not None:
                folds = np.concatenate([known.folds, folds])
            bins = known.bins
            kept = _KeptRows(
                bins,
                [*known.codes, bins.codes(rows.X)],
                np.concatenate([known.y, rows.y]),
                np.concatenate([known.weight, weight]),
                folds,
                rows.n_splits,
            )
        if refit:
            codes = kept.codes[0]
            if len(kept.codes) > 1:
                codes = np.asfortranarray(np.concatenate(kept.codes))
            weight = unit_weights(kept.weight)
            binned = BinnedRows(codes, bins.layout(), weight, kept.folds, kept.n_splits)
            self._fit_rows(binned, kept.y, classes, bins, rows.columns, (), monotonic)
        else:
            self._columns, self.classes_ = rows.columns, classes
        self._kept = kept
        return self

    def _fit_chunks(self, rows):
        """`fit` of rows in chunks, which are read twice, and once more if there are categories.

        The bins stay where the rows are, and are read once a refresh or twice.
        """
        p = rows.checks.n_features
        monotonic = self._monotonic(p, None)  # refused before rows are read
        with_pairs = self._checked_interactions(p, monotonic) not in (0, [])
        chunked = bins_of_chunks(self, rows, ClassLabels.of)
        bins, n_splits, classes = chunked.bins, chunked.n_splits, chunked.summary.target.labels
        self._check_classes(classes)
        layout = bins.layout()
        n_scores = 1 if len(classes) == 2 else len(classes)
        monotonic = self._monotonic_of_classes(p, chunked.columns, classes)
        self._check_memory_of_chunks(layout.n_cuts, max(n_splits, 1), n_splits, n_scores)
        self._progress().message(f"{layout.n_cuts} cuts in {p} features")
        numbered = chunked.rows.knowing(classes=classes)
        coded = numbered.map(_classes_in_bins, bins, len(classes), n_splits, with_pairs)
        passes = PassCount(2 + (chunked.columns is not None))
        risk = ChunkedLogisticFits(coded, layout, len(classes), n_splits, passes)
        weights = risk.bin_weights
        source = PairsOfChunks(
            coded, layout, logistic_work, n_scores, n_splits, weights, passes, is_quadratic=False
        )
        results = self._fit_models(risk, source, layout, (), monotonic, self.refresh_tol)
        self._learn(results, risk, weights, classes, bins, chunked.columns)
        self.n_passes_ = passes.n
        vars(self).pop("_kept", None)

    def _checked_rows(self, X, y, sample_weight, classes, reset):
        X, y, columns = self._checked_data(X, y, reset)
        check_classification_targets(y)
        weight, kept = rows_to_fit(sample_weight, X)
        found = np.unique(y[kept])
        if classes is None:
            classes = found
        elif not np.isin(found, classes).all():
            unknown = found[~np.isin(found, classes)]
            raise ValueError(f"y has labels that are not in classes: {unknown!r}.")
        self._check_classes(classes)
        rows = self._kept_rows(X, y, weight, kept, columns, classifier=True)
        return replace(rows, y=np.searchsorted(classes, rows.y)), classes

    def _check_classes(self, classes):
        if len(classes) < 2:
            raise ValueError(
                f"{type(self).__name__} needs rows of at least two classes; y has one class, "
                f"{classes[0]!r}."
            )

    def _monotonic_of_classes(self, p, columns, classes):
        monotonic = self._monotonic(p, columns)
        if monotonic is not None and len(classes) > 2:
            raise ValueError(
                "monotonic_cst is possible for two classes only, where it constrains the "
                f"probability of the second; y has {len(classes)} classes."
            )
        return monotonic

    def _fit_rows(self, binned, y, classes, bins, columns, jumps, monotonic):
        """The model, from rows in bins."""
        n_scores = 1 if len(classes) == 2 else len(classes)
        layout = binned.layout
        max_cuts = cuts_in_memory(self.max_memory, binned, n_scores)
        risk = LogisticFits(binned, y, len(classes), max_cuts)
        source = PairsOfRows(risk, binned)
        results = self._fit_models(risk, source, layout, jumps, monotonic, self.refresh_tol)
        weights = [
            np.bincount(binned.codes[:, j], binned.weight, minlength=layout.n_bins[j]).astype(float)
            for j in range(len(layout.n_bins))
        ]
        self._learn(results, risk, weights, classes, bins, columns)
        vars(self).pop("n_passes_", None)

    def _learn(self, results, risk, weights, classes, bins, columns):
        """Set everything that is learned, but how often rows in chunks were read."""
        learned = self._learned(bins, columns, weights, results)
        self._set(learned | {"classes_": classes, "n_refreshes_": risk.n_refreshes}, results)
        importances = self.term_importances_[: len(weights)]
        total = importances.sum()
        self.feature_importances_ = importances / total if total > 0 else importances


def _classes_in_bins(chunk, bins, n_classes, n_splits, with_pairs):
    y = chunk.y.astype(np.min_scalar_type(n_classes - 1))
    return labelled_rows(chunk, bins, y, n_splits, with_pairs)
