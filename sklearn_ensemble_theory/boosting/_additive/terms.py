"""From rounds to the terms of a fitted model: tables, paths of stumps, importances, errors."""

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._bins import sum_of_tables
from sklearn_ensemble_theory._rows import is_frame, validate_data
from sklearn_ensemble_theory.boosting._additive.bins import FeatureBins
from sklearn_ensemble_theory.boosting._additive.rounds import sides_of_steps
from sklearn_ensemble_theory.boosting._additive.sums import CutLayout


@dataclass
class StumpSegment:
    """The stumps of one stage, and the model before them.

    Attributes
    ----------
    intercepts : array of shape (n_scores,)
    tables : list of n_scores lists of p arrays or None
    features, cuts : list of n_scores int arrays of shape (T,)
        The feature of each round, and its threshold or the number of its set of categories.
    left, right : list of n_scores float arrays of shape (T,)
        What the round adds on both sides; nothing for missing values at a threshold.
    n_rounds : int
    """

    intercepts: np.ndarray
    tables: list
    features: list
    cuts: list
    left: list
    right: list
    n_rounds: int

    def add(self, mean, pure, scale):
        """Add a constant, and what pairs of features leave to the main effects, times `scale`."""
        self.intercepts = self.intercepts + mean
        if pure is None:
            return
        self.intercepts = self.intercepts + scale * pure.constants
        for own, added in zip(self.tables, pure.mains):
            for j, table in enumerate(added):
                if table is not None:
                    own[j] = scale * table if own[j] is None else own[j] + scale * table


def segments_of(segments, layout: CutLayout, scale: float, sets: list) -> list[StumpSegment]:
    """The segments of `run_phase` without the sums, in units of the target.

    Parameters
    ----------
    segments : list of Segment
    layout : CutLayout
    scale : float
    sets : list of p lists
        Of each categorical feature the sets of categories, bool arrays, that stumps separate; they
        are added.
    """
    known: dict[tuple[int, bytes], int] = {}
    found = []
    for segment in segments:
        model = segment.stage.models[0]
        each: tuple[list, list, list, list] = ([], [], [], [])
        for state, path in zip(segment.stage.states[0], segment.paths[0]):
            n_cuts, chosen = layout.n_cuts, path.chosen
            features = np.searchsorted(layout.offsets, chosen, side="right") - 1
            cuts = chosen - layout.offsets[np.minimum(features, len(layout.n_bins) - 1)]
            for number, of_set in enumerate(path.sets):
                here = chosen == n_cuts + number
                features[here] = of_set.feature
                cuts[here] = _number_of_set(of_set, layout, known, sets)
            left, right = sides_of_steps(state.cuts, path)
            # a score whose rounds ended before those of the others adds nothing
            rest = max(len(p.steps) for p in segment.paths[0]) - len(path.steps)
            for part, values in zip(each, (features, cuts, scale * left, scale * right)):
                part.append(np.pad(values, (0, rest)))
        tables = [[None if t is None else scale * t for t in own] for own in model.tables]
        found.append(StumpSegment(scale * model.intercepts, tables, *each, segment.n_rounds))
    return found


def _number_of_set(of_set, layout, known, sets):
    j = of_set.feature
    members = np.zeros(layout.n_bins[j] - 1, dtype=bool)
    members[of_set.cuts - layout.offsets[j]] = True
    key = (j, members.tobytes())
    if key not in known:
        known[key] = len(sets[j])
        sets[j].append(members)
    return known[key]


def stump_tables(bins: FeatureBins, sets: Sequence, stumps: Sequence[np.ndarray]) -> list:
    """The sum of stumps as one table a feature; None where there are none.

    `stumps` are the features, cuts, left and right sides of some rounds.
    """
    features, cuts, left, right = stumps
    tables: list[np.ndarray | None] = [None] * len(bins.edges)
    for j in np.unique(features):
        here = features == j
        own, lefts, rights = cuts[here], left[here], right[here]
        n_edges = len(bins.edges[j])
        if bins.categories[j] is not None:
            table = np.full(n_edges + 2, rights.sum())
            jumps = np.bincount(own, weights=lefts - rights, minlength=len(sets[j]))
            for number in np.flatnonzero(jumps):
                table[:-1][sets[j][number]] += jumps[number]
            tables[j] = table
            continue
        at_edge = own < n_edges
        jumps = np.bincount(own[at_edge], weights=(lefts - rights)[at_edge], minlength=n_edges)
        table = np.append(np.cumsum(jumps[::-1])[::-1], 0.0) + rights[at_edge].sum()
        if bins.missing[j]:
            table = np.append(table + lefts[~at_edge].sum(), rights[~at_edge].sum())
        tables[j] = table
    return tables


def staged_tables(
    bins: FeatureBins, sets: Sequence, segments: Sequence[StumpSegment], rounds: Sequence[int]
) -> Iterator[tuple[np.ndarray, list]]:
    """Intercepts (n_scores,) and tables by score and feature after given numbers of rounds."""
    first = 0
    following = iter(segments)
    segment = next(following)
    done, tables = 0, [list(own) for own in segment.tables]
    for n_rounds in rounds:
        while n_rounds > first + segment.n_rounds:
            first += segment.n_rounds
            segment = next(following)
            done, tables = 0, [list(own) for own in segment.tables]
        new = slice(done, n_rounds - first)
        for score, own in enumerate(tables):
            parts = (segment.features, segment.cuts, segment.left, segment.right)
            stumps = [part[score][new] for part in parts]
            if not len(stumps[0]):
                continue
            for j, table in enumerate(stump_tables(bins, sets, stumps)):
                if table is not None:
                    own[j] = table if own[j] is None else own[j] + table
        done = n_rounds - first
        yield segment.intercepts, tables


def centred(table: np.ndarray, weight: np.ndarray, missing: bool) -> tuple[np.ndarray, np.ndarray]:
    """A table (B,) or (B, K) of weighted mean zero, and its mean.

    A last bin of missing values without weight gets 0.
    """
    mean = weight @ table / weight.sum()
    table = table - mean
    if missing and weight[-1] == 0:
        table[-1] = 0.0
    return table, mean


def delete_group_errors(tables: Sequence[np.ndarray]) -> np.ndarray:
    """Standard errors of the values of a table, by the delete-a-group jackknife.

    Parameters
    ----------
    tables : sequence of K arrays
        The tables of the models of which each leaves out one of K groups of about the same size.

    Returns
    -------
    array of the shape of a table
        The square root of (K - 1)/K times the sum of squared deviations from their mean.
    """
    values = np.array(tables)
    spread = ((values - values.mean(axis=0)) ** 2).sum(axis=0)
    return np.sqrt((len(values) - 1) / len(values) * spread)


Tables = list[tuple[Any, np.ndarray]]


def shapley_values(estimator: Any, X: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Shapley values of each feature, and the mean prediction of the training rows.

    Parameters
    ----------
    estimator : estimator
        A fitted additive model with `shape_functions_`, `bin_weights_` and `predict_terms`.
    X : array-like of shape (n_samples, n_features)
        Rows.

    Returns
    -------
    values : ndarray of shape (n_samples, n_features) or (n_samples, n_features, n_classes)
        In the unit of the terms.
    base : ndarray of shape () or (n_classes,)
        ``base + values.sum(axis=1)`` is the prediction of a regressor, and the log-odds or scores
        of a classifier.
    """
    features = [tuple(map(int, f)) for f in estimator.term_features_]
    own: Tables = []  # of the first feature of each term
    other: Tables = []  # of the second one; 0 for main effects
    base = np.asarray(estimator.intercept_, dtype=float).squeeze()
    for (edges, values), weights in zip(estimator.shape_functions_, estimator.bin_weights_):
        mean, shares = _pair_shares(
            np.asarray(values, dtype=float), np.asarray(weights, dtype=float)
        )
        base = base + mean
        own.append((edges, shares[0]))
        other.append((edges, shares[-1] if len(shares) > 1 else np.zeros_like(shares[0])))
    terms = _with_tables(estimator, own).predict_terms(X)
    result = np.zeros((terms.shape[0], estimator.n_features_in_, *terms.shape[2:]))
    for t, f in enumerate(features):
        result[:, f[0]] += terms[:, t]
    pairs = [t for t, f in enumerate(features) if len(f) == 2]
    if pairs:
        terms = _with_tables(estimator, other).predict_terms(X)
        for t in pairs:
            result[:, features[t][1]] += terms[:, t]
    return result, base


def _pair_shares(values: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    """The mean of a term, and a table for each of its features with the Shapley values."""
    total = weights.sum()
    extra = values.ndim - weights.ndim  # an axis of classes
    joint = (weights / total).reshape(weights.shape + (1,) * extra)
    mean = (joint * values).sum(axis=tuple(range(weights.ndim)))
    if weights.ndim == 1:
        return mean, [values - mean]
    # The marginal weights of each feature: v of a single feature does not see their dependence.
    of_a, of_b = joint.sum(axis=1, keepdims=True), joint.sum(axis=0, keepdims=True)
    given_a = (of_b * values).sum(axis=1, keepdims=True)
    given_b = (of_a * values).sum(axis=0, keepdims=True)
    both = values - mean
    difference = given_a - given_b
    return mean, [0.5 * (both + difference), 0.5 * (both - difference)]


def _with_tables(estimator: Any, tables: Tables) -> Any:
    """The same model with other values in the bins of its terms."""
    other = copy.copy(estimator)
    other.shape_functions_ = tables
    return other


def explain_terms(estimator: Any, X: Any) -> Any:
    """`shapley_values` as a `shap.Explanation`.

    Parameters
    ----------
    estimator : estimator
        A fitted additive model.
    X : array-like of shape (n_samples, n_features)
        Rows.

    Returns
    -------
    explanation : shap.Explanation
        With `values`, `base_values`, `data`, `feature_names` and, for three or more classes,
        `output_names`.

    Raises
    ------
    ImportError
        If shap is not installed.
    """
    check_is_fitted(estimator)
    try:
        from shap import Explanation
    except ImportError as error:
        raise ImportError(
            f"{type(estimator).__name__}.explain requires shap: pip install shap."
        ) from error
    values, base = shapley_values(estimator, X)
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        names = [f"x{j}" for j in range(values.shape[1])]
    classes = [str(c) for c in estimator.classes_] if values.ndim == 3 else None
    return Explanation(
        values,
        base_values=np.broadcast_to(base, (len(values), *base.shape)).copy(),
        data=np.asarray(X),
        feature_names=list(names),
        output_names=classes,
    )


class TermExplanationMixin:
    """`explain` for additive models with `shape_functions_`, `bin_weights_`, `predict_terms`."""

    def explain(self, X: ArrayLike) -> Any:
        """Exact Shapley values of the features, as a `shap.Explanation` for the plots of shap.

        The background is the distribution of the training rows: a feature that is not in a
        coalition is drawn from it, independently of those that are (the interventional values). A
        term of one feature gives its value, minus its mean over the training rows, to the feature;
        a term of a pair is divided between its two features. For classifiers the values are
        log-odds of the second class, or scores of all classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to explain, at a cost of O(p + number of pairs) for each.

        Returns
        -------
        explanation : shap.Explanation
            With `values` of shape (n_samples, n_features), for three or more classes (n_samples,
            n_features, n_classes), and `base_values`, the mean over the training rows. Their sum
            over the features and the base value is the prediction, the log-odds or the scores.

        Raises
        ------
        ImportError
            If shap is not installed.
        """
        return explain_terms(self, X)


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
