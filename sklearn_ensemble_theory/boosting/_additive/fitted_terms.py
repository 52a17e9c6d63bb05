"""The terms of a fitted additive model, and predictions from them."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._bins import sum_of_tables
from sklearn_ensemble_theory._rows import is_frame, validate_data
from sklearn_ensemble_theory.boosting._additive._bins.feature_bins import FeatureBins
from sklearn_ensemble_theory.boosting._additive.explanations import TermExplanationMixin
from sklearn_ensemble_theory.boosting._additive.terms import (
    StumpSegment,
    centred,
    staged_tables,
)


class AdditiveTerms(TermExplanationMixin, BaseEstimator):
    """Predictions of a fitted additive model."""

    n_features_in_: int
    n_estimators_: int
    intercept_: Any
    shape_functions_: list
    term_features_: list
    bin_weights_: list
    category_sets_: list
    _bins: FeatureBins
    _pair_maps: list
    _columns: Any
    _segments: list[StumpSegment]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "shape_functions_")

    def _checked_X(self, X):
        """The rows to predict, as numbers."""
        check_is_fitted(self)
        return self._numbers(X, self._columns)

    def _numbers(self, X, columns, reset=False):
        """X as floats, after a check of its features; categories by their numbers."""
        if columns is None or not columns.any:
            return validate_data(
                self,
                X,
                reset=reset,
                dtype=(np.float64, np.float32),
                ensure_all_finite="allow-nan",
            )
        if not is_frame(X):
            X = check_array(X, dtype=None, ensure_all_finite=False)
        validate_data(self, X, reset=reset, skip_check_array=True)
        return check_array(columns.encode(X), ensure_all_finite="allow-nan", copy=False)

    @property
    def term_names_(self) -> list[str]:
        """The name of each term: its feature's, or both names of a pair."""
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            names = [f"x{j}" for j in range(self.n_features_in_)]
        return [" & ".join(str(names[j]) for j in term) for term in self.term_features_]

    @property
    def term_importances_(self) -> np.ndarray:
        """The mean absolute contribution of each term over the training rows: (n_terms,)."""
        check_is_fitted(self)
        sizes = []
        for (_, values), weight in zip(self.shape_functions_, self.bin_weights_):
            size = np.abs(values)
            if size.ndim > weight.ndim:
                size = size.mean(axis=-1)
            sizes.append(float((size * weight).sum() / weight.sum()))
        return np.array(sizes)

    def _scores(self, X):
        """The intercept and all terms: (n,) or (n, n_classes)."""
        X = self._checked_X(X)
        bins = self._bins
        p = len(bins.edges)
        tables = [
            bins.padded(values, j) if values.any() else None
            for j, (_, values) in enumerate(self.shape_functions_[:p])
        ]
        total = sum_of_tables(X, bins.edges, tables, missing=True)
        if total.ndim < np.ndim(self.intercept_) + 1:
            total = np.repeat(total[:, None], len(self.intercept_), axis=1)
        for values in self._pair_values(X):
            total = total + values
        return self.intercept_ + total

    def predict_terms(self, X: ArrayLike) -> np.ndarray:
        """Return the terms of each row; the scores are their sum plus `intercept_`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        terms : ndarray of shape (n_samples, n_terms) or (n_samples, n_terms, n_classes)
            The terms, one column for each feature, then one for each pair. The last axis is that
            of the classes, where there are more than two. The cost is O(n p).
        """
        X = self._checked_X(X)
        codes = self._bins.codes(X)
        terms = [
            self._bins.padded(values, j).take(codes[:, j], axis=0)
            for j, (_, values) in enumerate(self.shape_functions_[: codes.shape[1]])
        ]
        return np.stack([*terms, *self._pair_values(X, codes)], axis=1)

    def _pair_values(self, X, codes=None):
        """The values of each pair at rows of numbers."""
        p = len(self._bins.edges)
        pairs = self.term_features_[p:]
        if pairs and codes is None:
            codes = self._bins.codes(X)
        for (a, b), (_, values) in zip(pairs, self.shape_functions_[p:]):
            table = self._bins.padded(values, a, b)
            row = self._pair_maps[a].take(codes[:, a])
            yield table[row, self._pair_maps[b].take(codes[:, b])]

    def _scores_after(self, X, rounds):
        """The scores after given numbers of rounds, one array after the other."""
        X = self._checked_X(X)
        bins = self._bins
        pairs = sum(self._pair_values(X))
        for intercepts, tables in staged_tables(bins, self.category_sets_, self._segments, rounds):
            scores = []
            for intercept, own in zip(intercepts, tables):
                padded = [None] * len(own)
                for j, table in enumerate(own):
                    if table is not None:
                        weight, missing = self.bin_weights_[j], bins.missing[j]
                        table, mean = centred(table, weight, missing)
                        intercept = intercept + mean
                        padded[j] = bins.padded(table, j)
                scores.append(intercept + sum_of_tables(X, bins.edges, padded, missing=True))
            total = scores[0]
            if len(scores) > 1:
                total = np.column_stack(scores)
                total -= total.mean(axis=1, keepdims=True)
            yield total + pairs

    def _checked_rounds(self, n_estimators: ArrayLike) -> np.ndarray:
        rounds = np.asarray(n_estimators)
        if rounds.ndim != 1 or rounds.dtype.kind not in "iu" or len(rounds) == 0:
            raise ValueError("n_estimators must be a non-empty one-dimensional sequence of ints.")
        if rounds[0] < 0 or rounds[-1] > self.n_estimators_ or (np.diff(rounds) < 0).any():
            raise ValueError(
                f"n_estimators must be increasing numbers from 0 to {self.n_estimators_}."
            )
        return rounds
