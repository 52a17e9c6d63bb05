"""A fitted additive model as records: its terms, its rounds, the models of the folds.

Predictions look up the tables of the terms. Standard errors of the tables are those of a jackknife
over the folds. The models of the folds are what is left of the folds that have chosen the number of
rounds: intervals and sets of the CV+ need nothing else, and no further fit.

References
----------
G. K. Smyth (2004). "Linear models and empirical Bayes methods for assessing differential expression
in microarray experiments". Statistical Applications in Genetics and Molecular Biology 3.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..._bins import sum_of_tables
from ..._categories import CategoricalColumns
from ..._features import Features
from ..._scaling import largest_magnitude, power_of_two, within_range
from .bins import FeatureBins
from .pairs import PurePairs
from .rounds import Segment, TableModel, standard_errors
from .sums import CutLayout

# The models that leave out a fold have the number of rounds of all rows, whose choice adds to the
# variance: the factor by which errors without it were too small, over the truths of the test.
_OF_ROUNDS = 1.1


@dataclass(frozen=True)
class AdditiveTerms:
    """What predicts: the functions of all terms over the bins of their features.

    - columns: those that make numbers of categories.
    - features: of each term one or two; terms of single features first.
    - functions: (places, values) of each term; see `shape_functions_` of the estimators.
    - weights: of the training rows in each bin or cell, in units of `weight_unit` (None: not
      known).
    - pair_maps: the row or column of the tables of pairs that each bin is in; empty without pairs.
    - errors: standard errors of the values.
    """

    bins: FeatureBins
    columns: CategoricalColumns | None
    features: list[tuple[int, ...]]
    functions: list[tuple[Any, np.ndarray]]
    weights: list[np.ndarray]
    pair_maps: list[np.ndarray]
    intercept: Any
    errors: list[np.ndarray] | None = None
    weight_unit: float | None = 1.0

    @property
    def n_scores(self) -> int:
        return np.size(self.intercept)

    @property
    def tables(self) -> list[np.ndarray]:
        return [values for _, values in self.functions]

    def codes(self, X: Any) -> np.ndarray:
        """The bins of rows whose columns are those of the fit."""
        X = X if self.columns is None else self.columns.encode(X)
        return self.bins.codes(np.asarray(X, dtype=np.float64))

    def names(self, features: Features) -> list[str]:
        """The name of each term: its feature's, or both names of a pair."""
        names = features.names or [f"x{j}" for j in range(features.n)]
        return [" & ".join(names[j] for j in term) for term in self.features]

    def importances(self) -> np.ndarray:
        """The mean absolute contribution of each term over the training rows: (n_terms,)."""
        sizes = []
        for values, weight in zip(self.tables, self.weights):
            size = np.abs(values)
            if size.ndim > weight.ndim:
                size = size.mean(axis=-1)
            sizes.append(float((size * (weight / weight.sum())).sum()))
        return np.array(sizes)

    def each(self, X: np.ndarray) -> np.ndarray:
        """Look up all terms: (n, n_terms) or (n, n_terms, n_classes)."""
        codes, tables = self.bins.codes(X), self.tables
        terms = [
            self.bins.padded(values, j).take(codes[:, j], axis=0)
            for j, values in enumerate(tables[: codes.shape[1]])
        ]
        return np.stack([*terms, *self.of_pairs(codes, tables)], axis=1)

    def of_pairs(self, codes: np.ndarray, tables: Sequence[np.ndarray]) -> Iterator[np.ndarray]:
        """Look up each pair at rows in bins, among the tables of all terms."""
        p = len(self.bins.edges)
        for (a, b), table in zip(self.features[p:], tables[p:]):
            table = self.bins.padded(table, a, b)
            row = self.pair_maps[a].take(codes[:, a])
            yield table[row, self.pair_maps[b].take(codes[:, b])]

    def scores(self, X: np.ndarray) -> np.ndarray:
        """Add the intercept and all terms: (n,) or (n, n_classes)."""
        return self.sums(X, self.intercept, self.tables)

    def sums(self, X: np.ndarray, intercept: Any, tables: Sequence[np.ndarray]) -> np.ndarray:
        """Add an intercept and other tables of the terms: (n,), or (n, C) with C in each bin."""
        # Table look-up without codes where there are no pairs; functions that are 0 cost nothing.
        bins, p = self.bins, len(self.bins.edges)
        padded = [
            bins.padded(table, j) if table.any() else None for j, table in enumerate(tables[:p])
        ]
        total = sum_of_tables(X, bins.edges, padded, missing=True)
        if total.ndim < np.ndim(intercept) + 1:
            total = np.repeat(total[:, None], len(intercept), axis=1)
        if len(tables) > p:
            for each in self.of_pairs(bins.codes(X), tables):
                total = total + each
        return intercept + total

    def sums_in_bins(
        self, codes: np.ndarray, intercept: np.ndarray, tables: Sequence[np.ndarray]
    ) -> np.ndarray:
        """`sums` of rows in bins: (n, C)."""
        total = np.tile(intercept, (len(codes), 1))
        for j, table in enumerate(tables[: codes.shape[1]]):
            if table.any():
                total += self.bins.padded(table, j).take(codes[:, j], axis=0)
        for each in self.of_pairs(codes, tables):
            total += each
        return total


@dataclass(frozen=True)
class AdditiveModel:
    """What a fit has found.

    - importances: of the features.
    - rounds: None of a model without rounds of its own.
    - edits: what was changed after the fit, `Edit` and other records.
    - n_refreshes: how often gradients were computed.
    - n_passes: how often rows in blocks were read.
    """

    terms: AdditiveTerms
    n_estimators: int | None = None
    n_smoothing_rounds: int | None = None
    importances: np.ndarray | None = None
    rounds: "Rounds | None" = None
    folds: "FoldModels | None" = None
    edits: list = field(default_factory=list)
    n_refreshes: int | None = None
    n_passes: int | None = None
    has_offset: bool = False


def results_of_folds(name: str, path: np.ndarray) -> dict[str, np.ndarray]:
    """`cv_results_` of losses (n + 1, n_folds) after 0, 1, ... rounds."""
    # Sums and squares of losses, which are squares, may be beyond the largest float.
    unit = power_of_two(largest_magnitude(path))
    path_in_units = path / unit
    found = {
        name: np.arange(len(path)),
        "mean_score": path_in_units.mean(axis=1) * unit,
        "standard_error": standard_errors(path_in_units) * unit,
    }
    return found | {f"split{k}_score": losses for k, losses in enumerate(path.T)}


# --- the models of the folds ----------------------------------------------------------------------


@dataclass(frozen=True)
class LeftOutRows:
    """The n rows that a fold leaves out, each with the model of its fold.

    - scores: targets minus predictions (n,), in the units of `FoldModels` and of the loss's
      deviation to the power `power`; or the `ClassPlaces` (n, 4) of the rows' own classes.
    - groups: codes of the groups that rows belong to.
    - codes: the own classes.
    """

    scores: np.ndarray
    fold: np.ndarray
    groups: np.ndarray | None
    codes: np.ndarray | None = None
    power: float = 1.0


@dataclass(frozen=True)
class FoldModels:
    """The models of K folds, with C scores each.

    - tables: the values of each term, (B, K * C), or (A, B, K * C) for pairs.
    - scale, mean: predictions and residuals are in the units of the rounds, in which no target is
      far from 1; targets are these times `scale` plus `mean`.
    - rows: None where the rows were not in memory.
    """

    intercepts: np.ndarray
    tables: list[np.ndarray]
    scale: float
    mean: float
    rows: LeftOutRows | None = None

    def scores(self, terms: AdditiveTerms, X: np.ndarray, offset: Any = None) -> np.ndarray:
        """The scores by all models, in the units of the rounds: (n, K) or (n, K, n_classes)."""
        # All models in one look-up, as if they were classes.
        scores = terms.sums(X, self.intercepts, self.tables)
        if offset is not None:
            scores += offset[:, None] / self.scale
        return scores if terms.n_scores == 1 else scores.reshape(len(scores), -1, terms.n_scores)

    def errors(self, terms: AdditiveTerms) -> list[np.ndarray]:
        """Standard errors of the values of all terms; see `band_errors`."""
        tables: list[Any] = []
        for table, weight in zip(self.tables, terms.weights):
            each = table.reshape(*weight.shape, -1, terms.n_scores)
            each = np.ascontiguousarray(np.moveaxis(each, weight.ndim, 0))
            tables.append(each[..., 0] if terms.n_scores == 1 else each)
        p = len(terms.bins.edges)
        found = band_errors(tables[:p], terms.weights[:p])
        found += band_errors(tables[p:], terms.weights[p:])
        return [self.scale * errors for errors in found]


# --- rounds, and the model after some of them -----------------------------------------------------


@dataclass(frozen=True)
class Rounds:
    """The stumps of a fit, and the mean losses on their way.

    - sets: the sets of categories of the stumps of each feature, as masks.
    - train_path: (T + 1,), after the smoothing rounds and 0, 1, ... stumps.
    - held_path, smoothing_path: (n + 1, n_folds), of the held-out rows after 0, 1, ... stumps, and
      smoothing rounds.
    """

    segments: "list[StumpSegment]"
    sets: list[list[np.ndarray]]
    train_path: np.ndarray
    held_path: np.ndarray | None
    smoothing_path: np.ndarray | None

    def stumps(self, name: str) -> np.ndarray:
        """The "features", "cuts", "left" or "right" of all stumps: (T,) or (T, n_scores)."""
        values = np.concatenate([np.column_stack(getattr(s, name)) for s in self.segments])
        kind = np.int32 if name in ("features", "cuts") else np.float64
        return (values[:, 0] if values.shape[1] == 1 else values).astype(kind)

    def scores(
        self, terms: AdditiveTerms, X: np.ndarray, numbers: Sequence[int], offset: Any = None
    ) -> Iterator[np.ndarray]:
        """Yield the scores after given numbers of rounds."""
        bins, known = terms.bins, 0.0 if offset is None else offset
        if len(terms.features) > len(bins.edges):
            known = known + sum(terms.of_pairs(bins.codes(X), terms.tables))
        # The tables of rounds are not centred, as the fitted functions are: their means belong to
        # the intercept, and bins of missing values without weight have the value 0.
        for intercepts, tables in staged_tables(bins, self.sets, self.segments, numbers):
            scores = []
            for intercept, own in zip(intercepts, tables):
                padded: list[np.ndarray | None] = [None] * len(own)
                for j, table in enumerate(own):
                    if table is not None:
                        table, mean = centred(table, terms.weights[j], bins.missing[j])
                        intercept = intercept + mean
                        padded[j] = bins.padded(table, j)
                scores.append(intercept + sum_of_tables(X, bins.edges, padded, missing=True))
            total = scores[0]
            if len(scores) > 1:
                total = np.column_stack(scores)
                total -= total.mean(axis=1, keepdims=True)
            yield total + known


@dataclass
class StumpSegment:
    """The stumps of one stage, and the model before them, in units of the target.

    By score: the feature of each round, its threshold or set of categories, and what it adds on
    both sides, which is nothing for missing values at a threshold.
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
    target.
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
    with np.errstate(over="ignore", invalid="ignore"):
        mean = weight @ table / weight.sum()
        if not np.isfinite(mean).all():  # of tables near the largest float
            mean = within_range((weight / weight.sum()) @ table)
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

    Of several scores, those of each bin or cell, along the last axis, have the sum 0.
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

    Each term has the tables of K models that leave out one of K groups. The jackknife's variances,
    (K - 1)/K times the sum of squared deviations, have K - 1 degrees of freedom: with 5 groups,
    plus and minus two of their roots would hold 88 % and not 95 %. So each is averaged [Smyth 2004]
    with the mean variance of its term, counted as 4 degrees, and with that of all terms, counted as
    2.
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
