"""The fit of L2-boosting by stumps: from rows to sums over rows, from sums to the model."""

import warnings
from dataclasses import dataclass
from numbers import Integral, Real
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import validate_data

from sklearn_ensemble_theory._compat import Interval, StrOptions, fit_context
from sklearn_ensemble_theory._folds import fold_numbers
from sklearn_ensemble_theory._numerics.binning import (
    bin_codes,
    bin_edges_from_quantiles,
    check_bin_edges,
)
from sklearn_ensemble_theory._numerics.scaling import TargetScale, power_of_two
from sklearn_ensemble_theory._progress import Progress
from sklearn_ensemble_theory._weights import rows_of_positive_weight
from sklearn_ensemble_theory.boosting._l2_boosting.cut_sums import (
    CountedGram,
    CutSums,
    StoredGram,
    cut_offsets,
    cut_sums,
)
from sklearn_ensemble_theory.boosting._l2_boosting.stump_rounds import (
    NormalizedCuts,
    boost_on_gram,
    held_out_errors,
    sides_of_steps,
    tables_of_steps,
    training_errors,
)

MIB = 2**20


@dataclass(frozen=True)
class _Rows:
    """The rows of one call of `fit` or `partial_fit`, those of weight 0 left out."""

    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None  # None: all alike
    folds: np.ndarray | None  # None: no cross-validation
    n_splits: int


@dataclass(frozen=True)
class _Chunks:
    """What `partial_fit` keeps of the rows of all its calls."""

    sums: CutSums
    gram: np.ndarray  # (k, P, P): the sums with two cuts
    edges: list
    target: TargetScale
    weight_unit: float


class BaseL2Boosting(RegressorMixin, BaseEstimator):
    """`fit` and `partial_fit` of :class:`L2BoostingRegressor`."""

    _parameter_constraints: ClassVar = {
        "n_estimators": [Interval(Integral, 1, None, closed="left"), StrOptions({"cv"})],
        "learning_rate": [Interval(Real, 0, 1, closed="right")],
        "max_bins": [Interval(Integral, 2, 2**16, closed="both")],
        "bin_edges": ["array-like", None],
        "cv": ["cv_object"],
        "max_estimators": [Interval(Integral, 1, None, closed="left")],
        "max_memory": [Interval(Real, 0, None, closed="neither")],
        "verbose": ["verbose"],
    }

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "shape_functions_")

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Finite numbers.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
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
            all others exceed `max_memory`.
        """
        rows = self._checked_rows(X, y, sample_weight, reset=True)
        weight = rows.weight
        if weight is not None:
            if np.all(weight == weight[0]):
                weight = None  # counting is faster than adding
            else:
                weight = weight / power_of_two(weight.max())
        unheld = rows.folds is None or (rows.folds == rows.n_splits).any()
        n_groups = rows.n_splits + bool(unheld)
        edges = self._edges(rows.X, weight)
        target = TargetScale.in_powers_of_two(rows.y, weight)
        offsets = cut_offsets(edges)
        max_cuts = self._max_cuts(offsets[-1], n_groups)
        self._progress().message(f"{offsets[-1]} cuts in {len(edges)} features")
        codes = bin_codes(rows.X, edges)
        options = {"sample_weight": weight, "folds": rows.folds}
        sums = cut_sums(codes, offsets, target(rows.y), n_folds=n_groups, **options)
        gram = CountedGram(codes, offsets, sums.left_weight, max_cuts=max_cuts, **options)
        self._learn(sums, gram, edges, target, rows.n_splits, max_cuts)
        vars(self).pop("_chunks", None)
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

        Only sums are kept, never rows. The bins are `bin_edges`, or those of the first chunk; with
        `bin_edges` given the model is the one of `fit` on all chunks together. With
        ``n_estimators="cv"`` each chunk is split into folds by itself.

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
            warnings.warn(
                "The rows of an earlier call of fit are not used: fit does not store the sums, so "
                "partial_fit starts again with this chunk.",
                UserWarning,
                stacklevel=3,
            )
        rows = self._checked_rows(X, y, sample_weight, reset=known is None)
        weight, unit = rows.weight, 1.0
        if known is not None:
            unit = known.weight_unit
        elif weight is not None:
            unit = power_of_two(weight.max())
        if weight is not None:
            with np.errstate(over="ignore"):
                weight = weight / unit
        if known is None:
            edges = self._edges(rows.X, weight)
            target = TargetScale.in_powers_of_two(rows.y, weight)
        else:
            edges, target = known.edges, known.target
        n_groups = rows.n_splits + 1
        if known is not None and n_groups != len(known.sums.weight):
            raise ValueError(
                "n_estimators and cv must give the same number of folds in every call of "
                "partial_fit."
            )
        offsets = cut_offsets(edges)
        self._check_memory_of_chunks(offsets[-1], n_groups, rows.n_splits)
        sums, gram = _sums_and_gram(rows, edges, target, weight, n_groups)
        if known is not None:
            with np.errstate(over="ignore", invalid="ignore"):
                sums = known.sums + sums
        if not sums.moderate():
            raise ValueError("y or sample_weight is too large compared with the first chunk.")
        if known is not None:
            gram += known.gram
        if refit:
            self._learn(sums, StoredGram(gram, offsets), edges, target, rows.n_splits)
        self._chunks = _Chunks(sums, gram, edges, target, unit)
        return self

    def _checked_rows(self, X, y, sample_weight, reset):
        X, y = validate_data(
            self, X, y, reset=reset, dtype=(np.float64, np.float32), y_numeric=True
        )
        y, weight, kept = y.astype(np.float64, copy=False), None, slice(None)
        if sample_weight is not None:
            positive = rows_of_positive_weight(sample_weight, X)
            weight, kept = positive.weight, positive.rows
        folds, n_splits = None, 0
        if self.n_estimators == "cv":
            folds, n_splits = fold_numbers(self.cv, X, y, kept)
        if not isinstance(kept, slice):
            X, y = X[kept], y[kept]
        return _Rows(X, y, weight, folds, n_splits)

    def _edges(self, X, sample_weight):
        if self.bin_edges is None:
            return bin_edges_from_quantiles(X, self.max_bins, sample_weight)
        return check_bin_edges(self.bin_edges, X.shape[1])

    def _max_cuts(self, n_cuts, n_folds):
        """Of how many cuts the sums with all cuts can be kept; None for all."""
        copies = 2 if n_folds == 1 else n_folds + 2  # as counted, and as products of columns
        each = copies * n_cuts * 8 / MIB
        if each > self.max_memory:
            raise ValueError(
                f"max_memory={self.max_memory} MiB is less than the {each:.2g} MiB of the sums "
                f"over one of the {n_cuts} cuts with all others; use fewer bins."
            )
        return None if each * n_cuts <= self.max_memory else int(self.max_memory / each)

    def _check_memory_of_chunks(self, n_cuts, n_groups, n_splits):
        # so far, of this chunk by feature and in one piece, and as products of columns
        copies = 3 * n_groups + (1 if n_splits == 0 else 2)
        needed = copies * n_cuts**2 * 8 / MIB
        if needed > self.max_memory:
            raise ValueError(
                f"max_memory={self.max_memory} MiB is less than the {needed:.0f} MiB of the sums "
                f"over all pairs of the {n_cuts} cuts; use fewer bins."
            )

    def _learn(self, sums, gram, edges, target, n_splits, max_cuts=None):
        """Set everything that is learned from the sums."""
        n_rounds, rate = self.n_estimators, self.learning_rate
        learned = {"bin_edges_": edges}
        if n_splits > 0:
            path = self._held_out_paths(sums, gram, n_splits, max_cuts)
            n_rounds = int(path.mean(axis=1).argmin())
            self._progress().message(f"{n_rounds} rounds have the least mean error over the folds")
            learned["cv_path_"] = target.squares_in_units(path)
        cuts = NormalizedCuts(sums, gram)
        path = boost_on_gram(cuts, rate, n_rounds, max_cuts, self._progress(n_rounds))
        offsets = gram.offsets
        features = np.searchsorted(offsets, path.chosen, side="right") - 1
        left, right = sides_of_steps(cuts, path)
        tables = tables_of_steps(cuts, path)
        falls = np.bincount(features, weights=path.steps**2, minlength=len(edges))
        learned |= {
            "intercept_": float(target.mean + target.scale * cuts.mean),
            "shape_functions_": [
                (e, np.zeros(len(e) + 1) if t is None else target.scale * t)
                for e, t in zip(edges, tables)
            ],
            "n_estimators_": len(path.chosen),
            "stump_features_": features.astype(np.int32),
            "stump_cuts_": (path.chosen - offsets[features]).astype(np.int32),
            "stump_left_": target.scale * left,
            "stump_right_": target.scale * right,
            "train_path_": target.squares_in_units(training_errors(cuts, rate, path.steps)),
            "feature_importances_": falls / falls.sum() if falls.any() else falls,
        }
        vars(self).pop("cv_path_", None)
        vars(self).update(learned)

    def _held_out_paths(self, sums, gram, n_splits, max_cuts):
        """Mean squared error on each held-out fold after 0, 1, ... rounds: (T + 1, n_splits)."""
        n_rounds = self.max_estimators
        paths = np.empty((n_rounds + 1, n_splits))
        for fold in range(n_splits):
            if not 0 < sums.weight[fold] < sums.weight.sum():
                raise ValueError(
                    f"Split {fold} of cv has no weight in its training set or in its test set."
                )
            cuts = NormalizedCuts(sums, gram, fold)
            progress = self._progress(n_rounds, f", fold {fold + 1} of {n_splits}")
            path = boost_on_gram(cuts, self.learning_rate, n_rounds, max_cuts, progress)
            errors = held_out_errors(cuts, path)
            paths[: len(errors), fold] = errors
            paths[len(errors) :, fold] = errors[-1]  # no stump was left
        return paths

    def _progress(self, n_rounds=0, part=""):
        return Progress(type(self).__name__ + part, n_rounds, self.verbose, unit="rounds")


def _sums_and_gram(rows, edges, target, weight, n_groups):
    """The sums over one chunk with one cut or none, and with two cuts."""
    offsets, codes = cut_offsets(edges), bin_codes(rows.X, edges)
    options = {"sample_weight": weight, "folds": rows.folds}
    with np.errstate(over="ignore", invalid="ignore"):
        sums = cut_sums(codes, offsets, target(rows.y), n_folds=n_groups, **options)
        counted = CountedGram(codes, offsets, sums.left_weight, **options)
        features = offsets[-1] + np.arange(len(edges))
        gram = np.concatenate([counted.block(group) for group in features], axis=1)
    return sums, gram
