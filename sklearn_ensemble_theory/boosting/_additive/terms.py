"""The terms of a fitted additive model: tables after given rounds, errors, Shapley values.

Shapley values of additive models are exact, from their tables. The background is the distribution
of the training rows: v(S) is the mean prediction for rows whose features in S are those of x and
whose other features are those of a training row (the "interventional" game). The Shapley values of
a sum are the sums of those of its terms:

- a main effect f_j adds f_j(x_j) - E f_j(X_j) to feature j, and nothing to the others;
- a pair f_ab adds to a the mean of its two orders, half of v(a) - v() + v(ab) - v(b), that is of
  E f_ab(x_a, X_b) - E f_ab(X_a, X_b) + f_ab(x_a, x_b) - E f_ab(X_a, x_b). It is half of the term
  where the means over each of the two features are 0.

All means are over bins, with the training weights of the bins: no row of the background is needed,
and the values are exact.

References
----------
G. K. Smyth (2004). "Linear models and empirical Bayes methods for assessing differential expression
in microarray experiments". Statistical Applications in Genetics and Molecular Biology 3.
"""

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._typing import ArrayLike

from ..._features import feature_names
from .bins import FeatureBins
from .pairs import PurePairs
from .phases import Segment, TableModel
from .sums import CutLayout

# The models that leave out a fold have the number of rounds of all rows, whose choice adds to the
# variance: the factor by which errors without it were too small, over the truths of the test.
_OF_ROUNDS = 1.1

# --- rounds, and the model after some of them -----------------------------------------------------


@dataclass
class StumpSegment:
    """The stumps of one stage, and the model before them, in units of the target.

    Attributes
    ----------
    model : TableModel
    features, cuts : list of n_scores int arrays of shape (T,)
        The feature of each round, and its threshold or the number of its set of categories.
    left, right : list of n_scores float arrays of shape (T,)
        What the round adds on both sides; nothing for missing values at a threshold.
    n_rounds : int
    """

    model: TableModel
    features: list[np.ndarray]
    cuts: list[np.ndarray]
    left: list[np.ndarray]
    right: list[np.ndarray]
    n_rounds: int


def segments_of(
    segments: Sequence[Segment],
    layout: CutLayout,
    pure: PurePairs | None,
    scale: float,
    mean: float,
) -> tuple[list[StumpSegment], list[list[np.ndarray]]]:
    """The segments of `run_phase` without the sums, and the sets of categories of their stumps.

    The models before them get what pairs leave to the main effects, the units and the mean of the
    target. The sets are bool arrays, of each feature.
    """
    known: dict[tuple[int, bytes], int] = {}
    sets: list[list[np.ndarray]] = [[] for _ in layout.n_bins]
    found = []
    for segment in segments:
        paths: Any = segment.paths[0]
        each: tuple[list, list, list, list] = ([], [], [], [])
        for own, path in zip(segment.cuts[0], paths):
            chosen = path.chosen
            features = np.searchsorted(layout.offsets, chosen, side="right") - 1
            cuts = chosen - layout.offsets[np.minimum(features, len(layout.n_bins) - 1)]
            for number, of_set in enumerate(path.sets):
                j, here = of_set.feature, chosen == layout.n_cuts + number
                members = np.zeros(layout.n_bins[j] - 1, dtype=bool)
                members[of_set.cuts - layout.offsets[j]] = True
                key = (j, members.tobytes())
                if key not in known:
                    known[key] = len(sets[j])
                    sets[j].append(members)
                features[here], cuts[here] = j, known[key]
            left, right = path.sides(own)
            # a score whose rounds ended before those of the others adds nothing
            rest = max(len(p.steps) for p in paths) - len(path.steps)
            for part, values in zip(each, (features, cuts, scale * left, scale * right)):
                part.append(np.pad(values, (0, rest)))
        model = segment.models[0]
        tables = [[None if t is None else scale * t for t in own] for own in model.tables]
        model = TableModel(scale * model.intercepts + mean, tables)
        if pure is not None:
            model.intercepts = model.intercepts + scale * pure.constants
            for score, mains in enumerate(pure.mains):
                model.add(score, [None if t is None else scale * t for t in mains])
        found.append(StumpSegment(model, *each, segment.n_rounds))
    return found, sets


def staged_tables(
    bins: FeatureBins,
    sets: Sequence[Sequence[np.ndarray]],
    segments: Sequence[StumpSegment],
    rounds: Sequence[int],
) -> Iterator[tuple[np.ndarray, list]]:
    """Yield intercepts (n_scores,) and tables by score and feature after given rounds."""
    first, following = 0, iter(segments)
    segment = next(following)
    done, tables = 0, [list(own) for own in segment.model.tables]
    last, n_all = segments[-1], sum(each.n_rounds for each in segments)
    # Only what is new since the last number of rounds is added, and nothing within a stage twice.
    # After all rounds there may be stages without one, which have moved the intercept.
    for n_rounds in rounds:
        while n_rounds > first + segment.n_rounds or (n_rounds == n_all and segment is not last):
            first += segment.n_rounds
            segment = next(following)
            done, tables = 0, [list(own) for own in segment.model.tables]
        new = slice(done, n_rounds - first)
        for score, own in enumerate(tables):
            parts = (segment.features, segment.cuts, segment.left, segment.right)
            stumps = [part[score][new] for part in parts]
            if not len(stumps[0]):
                continue
            for j, table in stump_tables(bins, sets, *stumps):
                own[j] = table if own[j] is None else own[j] + table
        done = n_rounds - first
        yield segment.model.intercepts, tables


def stump_tables(
    bins: FeatureBins,
    sets: Sequence[Sequence[np.ndarray]],
    features: np.ndarray,
    cuts: np.ndarray,
    left: np.ndarray,
    right: np.ndarray,
) -> Iterator[tuple[int, np.ndarray]]:
    """Add up the stumps of some rounds: features and their tables."""
    # Stumps of one feature are jumps at thresholds: one cumulated sum of these is their table.
    for j in np.unique(features).tolist():
        here = features == j
        own, lefts, rights = cuts[here], left[here], right[here]
        n_edges = len(bins.edges[j])
        if bins.categories[j] is not None:
            table = np.full(n_edges + 2, rights.sum())
            jumps = np.bincount(own, weights=lefts - rights, minlength=len(sets[j]))
            for number in np.flatnonzero(jumps).tolist():
                table[:-1][sets[j][number]] += jumps[number]
            yield j, table
            continue
        # Jumps at the thresholds, cumulated from the right; the others are "present or missing".
        at_edge = own < n_edges
        jumps = np.bincount(own[at_edge], weights=(lefts - rights)[at_edge], minlength=n_edges)
        table = np.append(np.cumsum(jumps[::-1])[::-1], 0.0) + rights[at_edge].sum()
        if bins.missing[j]:
            table = np.append(table + lefts[~at_edge].sum(), rights[~at_edge].sum())
        yield j, table


# --- the functions of features --------------------------------------------------------------------


def centred(table: np.ndarray, weight: np.ndarray, missing: bool) -> tuple[np.ndarray, np.ndarray]:
    """A table (B,) or (B, K) of weighted mean zero, and its mean.

    A last bin of missing values without weight gets 0.
    """
    mean = weight @ table / weight.sum()
    table = table - mean
    if missing and weight[-1] == 0:
        table[-1] = 0.0
    return table, mean


def shapes_of(
    model: TableModel,
    pure: PurePairs | None,
    weights: Sequence[np.ndarray],
    missing: np.ndarray,
) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    """The functions of all terms, of weighted mean zero, the intercepts, and what these must gain.

    Tables (B,) or (B, K) of features, (A, B) or (A, B, K) of pairs; of several scores, those of
    each bin have the sum 0.
    """
    n_scores = len(model.tables)
    if pure is not None:  # with what pairs leave to the main effects
        model = model.copy()
        model.intercepts = model.intercepts + pure.constants
        for score, mains in enumerate(pure.mains):
            model.add(score, mains)
    shapes, shifts = [], np.zeros(n_scores)
    for j, weight in enumerate(weights):
        values = np.zeros((len(weight), n_scores))
        for score, own in enumerate(model.tables):
            if own[j] is not None:
                values[:, score] = own[j]
        if n_scores > 1:
            values -= values.mean(axis=1, keepdims=True)
        values, mean = centred(values, weight, missing[j])
        shifts += mean
        shapes.append(values[:, 0] if n_scores == 1 else values)
    for table in [] if pure is None else pure.tables:
        shapes.append(table[0] if n_scores == 1 else np.moveaxis(table, 0, -1))
    return shapes, model.intercepts, shifts


def band_errors(
    terms: Sequence[Sequence[np.ndarray]], weights: Sequence[np.ndarray]
) -> list[np.ndarray]:
    """Standard errors of the values of terms, by a jackknife over groups with moderated variances.

    For each term the tables of K models, of which each leaves out one of K groups of rows, and the
    weights of its bins. The variances of the jackknife, (K - 1)/K times the sum of squared
    deviations, have K - 1 degrees of freedom: with 5 groups, plus and minus two of their roots
    would hold 88 % and not 95 %. So each is averaged, as in [Smyth 2004], with the mean variance of
    its term, counted as 4 degrees, and with that of all terms, counted as 2.
    """
    n_groups, found, profiles, levels = 0, [], [], []
    for tables, weight in zip(terms, weights):
        values, share = np.array(tables), weight / weight.sum()
        n_groups = len(values)
        spread = ((values - values.mean(axis=0)) ** 2).sum(axis=0)
        found.append((n_groups - 1) / n_groups * spread)
        # Means of bins of shares w have variances proportional to 1/w - 1 around their joint mean;
        # small bins are shrunk, and a value that is 0 for want of rows has no error.
        profile = np.where(share > 0, (1 - share) / (share + 1 / share.size), 0.0)
        share, profile = (
            a.reshape(a.shape + (1,) * (spread.ndim - a.ndim)) for a in (share, profile)
        )
        axes, expected = tuple(range(weight.ndim)), (share * profile).sum()
        total = (share * found[-1]).sum(axis=axes)
        profiles.append(profile)
        levels.append(total / expected if expected > 0 else np.zeros_like(total))
    free = [level for level, profile in zip(levels, profiles) if profile.any()]
    of_all = np.mean(free, axis=0) if free else 0.0
    own = n_groups - 1
    return [
        _OF_ROUNDS * np.sqrt((own * square + profile * (4 * level + 2 * of_all)) / (own + 6))
        for square, profile, level in zip(found, profiles, levels)
    ]


# --- Shapley values -------------------------------------------------------------------------------


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
    # The same model with a feature's share of each term as its value: of the first feature of the
    # term, then of the second one, 0 for main effects.
    own, other = copy.copy(estimator), copy.copy(estimator)
    own.shape_functions_, other.shape_functions_ = [], []
    base = np.asarray(estimator.intercept_, dtype=float).squeeze()
    for (edges, values), weights in zip(estimator.shape_functions_, estimator.bin_weights_):
        values, weights = np.asarray(values, dtype=float), np.asarray(weights, dtype=float)
        mean, shares = _shares(values, weights)
        base = base + mean
        own.shape_functions_.append((edges, shares[0]))
        second = shares[-1] if len(shares) > 1 else np.zeros_like(shares[0])
        other.shape_functions_.append((edges, second))
    terms = own.predict_terms(X)
    result = np.zeros((terms.shape[0], estimator.n_features_in_, *terms.shape[2:]))
    for t, f in enumerate(features):
        result[:, f[0]] += terms[:, t]
    pairs = [t for t, f in enumerate(features) if len(f) == 2]
    if pairs:
        terms = other.predict_terms(X)
        for t in pairs:
            result[:, features[t][1]] += terms[:, t]
    return result, base


def _shares(values: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    """Average a term, and tabulate the Shapley values of each of its features."""
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


def explain_terms(estimator: Any, X: Any) -> Any:
    """`shapley_values` as a `shap.Explanation`.

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
    classes = [str(c) for c in estimator.classes_] if values.ndim == 3 else None
    return Explanation(
        values,
        base_values=np.broadcast_to(base, (len(values), *base.shape)).copy(),
        data=np.asarray(X),
        feature_names=feature_names(estimator),
        output_names=classes,
    )
