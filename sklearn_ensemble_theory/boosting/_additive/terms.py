"""From rounds to the terms of a fitted model: tables, paths of stumps, importances, errors."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sklearn_ensemble_theory.boosting._additive._bins.feature_bins import FeatureBins
from sklearn_ensemble_theory.boosting._additive._tables.layout import CutLayout
from sklearn_ensemble_theory.boosting._additive._tables.stump_rounds import sides_of_steps


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
