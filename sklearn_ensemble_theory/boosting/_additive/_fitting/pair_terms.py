"""Pairs of features in an additive model: from the residuals of its main effects to their tables.

The pairs are found and boosted on the residuals of the main effects, by the models that leave out
one fold each, with the number of steps chosen by the held-out rows; the function of a pair is the
mean over these models. The main effects are then fitted again, to what the pairs leave. In the end
the parts of a pair's table that depend on one feature are moved to the main effects.

For the logistic loss the residuals are working residuals, with the weights of a Newton step, and a
few such steps follow each other.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sklearn_ensemble_theory.boosting._additive._fitting.table_models import BinnedRows
from sklearn_ensemble_theory.boosting._pairs.coarse_bins import CoarseBins, coarse_bins
from sklearn_ensemble_theory.boosting._pairs.detection import DetectedPairs, detect_pairs
from sklearn_ensemble_theory.boosting._pairs.pair_rounds import PairBoost
from sklearn_ensemble_theory.boosting._pairs.purification import purify

# Ordered bins of a feature in the tables of pairs.
PAIR_BINS = 64
# Folds that choose the number of steps where the fit has none.
OWN_FOLDS = 5
# Newton steps of a loss that is not squared.
_NEWTON_STEPS = 3


@dataclass
class PairTerms:
    """The functions of pairs, by model and score.

    Attributes
    ----------
    pairs : list of P tuples (a, b)
    bins : CoarseBins
        Of all features.
    tables : list of P arrays of shape (n_models, n_scores, A, B)
        The first model is the mean of the others.
    cell_weights : list of P arrays of shape (A, B)
        The weight of the training rows.
    """

    pairs: list
    bins: CoarseBins
    tables: list
    cell_weights: list

    def copy(self) -> "PairTerms":
        """With tables of its own."""
        return replace(self, tables=[table.copy() for table in self.tables])

    def scores(self, codes: np.ndarray, model: int) -> np.ndarray:
        """The sum of the pairs of a model at rows in bins: (n, n_scores)."""
        n_scores = self.tables[0].shape[1]
        total = np.zeros((len(codes), n_scores))
        for (a, b), tables in zip(self.pairs, self.tables):
            row = self.bins.maps[a].take(codes[:, a])
            column = self.bins.maps[b].take(codes[:, b])
            for score in range(n_scores):
                total[:, score] += tables[model, score][row, column]
        return total

    def pure(self, model: int) -> "PurePairs":
        """The tables without the parts that depend on one feature, and those parts."""
        n_scores = self.tables[0].shape[1]
        own = [[np.zeros(len(m)) for m in self.bins.maps] for _ in range(n_scores)]
        constants, tables = np.zeros(n_scores), []
        for (a, b), of_models, weight in zip(self.pairs, self.tables, self.cell_weights):
            parts = [purify(table, weight) for table in of_models[model]]
            pure = np.array([part.table for part in parts])
            tables.append(pure - pure.mean(axis=0) if n_scores > 1 else pure)
            for score, part in enumerate(parts):
                constants[score] += part.constant
                own[score][a] += part.row.take(self.bins.maps[a])
                own[score][b] += part.column.take(self.bins.maps[b])
        used = {j for pair in self.pairs for j in pair}
        mains = [[t if j in used else None for j, t in enumerate(each)] for each in own]
        return PurePairs(tables, mains, constants)


@dataclass
class PurePairs:
    """Pairs of one model with weighted means zero along both axes.

    Attributes
    ----------
    tables : list of P arrays of shape (n_scores, A, B)
    mains : list of n_scores lists of p arrays or None
        What moves to the main effects.
    constants : array of shape (n_scores,)
    """

    tables: list
    mains: list
    constants: np.ndarray


def fit_pairs(
    source: Any,
    models: Sequence,
    interactions: int | str | list,
    features: np.ndarray,
    n_splits: int,
) -> PairTerms | None:
    """Find pairs and boost them; None if there are none.

    Parameters
    ----------
    source : PairsOfRows or PairsOfChunks
    models : list of TableModel
        The main effects: of all rows, then of each fold.
    interactions : int, "auto" or list of pairs
        From `resolve_interactions`.
    features : int array
        Those among which pairs are looked for.
    n_splits : int
    """
    source.open(models, None)
    pairs = interactions
    if not isinstance(pairs, list):
        pairs = _strongest(source, interactions, features)
    if not pairs:
        source.close()
        return None
    bins, weights = source.start(pairs)
    n_scores = source.n_scores
    tables = [np.zeros((1 + n_splits, n_scores, *weight.shape)) for weight in weights]
    terms = PairTerms(pairs, bins, tables, weights)
    for step in range(1 if source.is_quadratic else _NEWTON_STEPS):
        if step:
            source.open(models, terms)
        for score in range(n_scores):
            for total, added in zip(terms.tables, source.boosted(score)):
                total[0, score] += added.mean(axis=0)
                if n_splits:
                    total[1:, score] += added
    source.close()
    return terms


def _strongest(source, interactions, features):
    """The pairs with the largest gains, summed over the scores."""
    p, gains = len(features), {}
    n_pairs = interactions if interactions == "auto" else p * (p - 1) // 2
    if interactions != "auto" and source.n_scores == 1:
        n_pairs = min(interactions, n_pairs)
    for score in range(source.n_scores):
        found = source.strongest(score, n_pairs, features)
        for pair, gain in zip(found.pairs, found.gains):
            gains[pair] = gains.get(pair, 0.0) + gain
    most = len(gains) if interactions == "auto" else int(interactions)
    return sorted(gains, key=lambda pair: (-gains[pair], pair))[:most]


class PairsOfRows:
    """What `fit_pairs` needs of rows in memory.

    Parameters
    ----------
    risk : SquaredErrorFits or LogisticFits
    rows : BinnedRows
    """

    def __init__(self, risk: Any, rows: BinnedRows) -> None:
        self.risk, self.rows = risk, rows
        self.n_scores, self.is_quadratic = risk.n_scores, risk.is_quadratic
        layout = rows.layout
        self.kinds = {"missing": layout.missing, "categorical": layout.categorical}
        self.folds, self.n_members = rows.folds, rows.n_splits
        if not self.n_members:
            self.n_members = OWN_FOLDS
            self.folds = own_folds(np.arange(len(rows.codes)))

    def open(self, models: Sequence, terms: PairTerms | None) -> None:
        """Compute the residuals of models and pairs, for all that follows."""
        self.works = self.risk.working_residuals(models, terms)

    def strongest(self, score: int, n_pairs: int | str, features: np.ndarray) -> DetectedPairs:
        """The pairs that are found by the residuals of a score."""
        work, rows = self.works[score], self.rows
        return detect_pairs(
            rows.codes,
            rows.layout.n_bins,
            work.residuals[0],
            n_pairs,
            work.weight,
            frequency=work.frequency,
            features=features,
            random_state=0,
            **self.kinds,
        )

    def start(self, pairs: list) -> tuple[CoarseBins, list[np.ndarray]]:
        """The bins of the tables of pairs, and the weight of the rows in their cells."""
        self.pairs, rows = pairs, self.rows
        self.bins = coarse_bins(
            rows.codes, rows.layout.n_bins, PAIR_BINS, rows.weight, **self.kinds
        )
        boost = self._boost(rows.weight)
        return self.bins, [boost.cell_weights(t) for t in range(len(pairs))]

    def boosted(self, score: int) -> list[np.ndarray]:
        """What boosting on the residuals of a score adds to the tables: (K, A, B) for each pair."""
        work = self.works[score]
        residuals = work.residuals[1:]
        if not self.rows.n_splits:
            residuals = [work.residuals[0].copy() for _ in range(self.n_members)]
        return self._boost(work.weight).run(residuals, self.folds).tables

    def close(self) -> None:
        """Free the residuals."""
        self.works = []

    def _boost(self, weight):
        rows = self.rows
        return PairBoost(rows.codes, rows.layout.n_bins, self.pairs, weight, bins=self.bins)


def own_folds(numbers: np.ndarray) -> np.ndarray:
    """The folds that choose the number of steps where the fit has none, by the rows' numbers."""
    return (numbers % OWN_FOLDS).astype(np.uint8)
