"""Pairs of features in an additive model: from the residuals of its main effects to their tables.

The pairs are found and boosted on the residuals of the main effects, by the models that leave out
one fold each, with the number of steps chosen by the held-out rows; the function of a pair is the
mean over these models. The main effects are then fitted again, to what the pairs leave. In the end
the parts of a pair's table that depend on one feature are moved to the main effects.

For the logistic loss the residuals are working residuals, with the weights of a Newton step, and a
few such steps follow each other.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sklearn_ensemble_theory.boosting._additive._fitting.table_models import BinnedRows
from sklearn_ensemble_theory.boosting._pairs.coarse_bins import CoarseBins
from sklearn_ensemble_theory.boosting._pairs.detection import detect_pairs
from sklearn_ensemble_theory.boosting._pairs.pair_rounds import PairBoost
from sklearn_ensemble_theory.boosting._pairs.purification import purify

__all__ = ["PairTerms", "PurePairs", "fit_pairs"]

# Folds that choose the number of steps where the fit has none.
_OWN_FOLDS = 5
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
    risk: Any,
    models: Sequence,
    rows: BinnedRows,
    interactions: int | str | list,
    max_bins: int,
    free: np.ndarray | None = None,
) -> PairTerms | None:
    """Find pairs and boost them; None if there are none.

    Parameters
    ----------
    risk : SquaredErrorFits or LogisticFits
    models : list of TableModel
        The main effects: of all rows, then of each fold.
    rows : BinnedRows
    interactions : int, "auto" or list of pairs
        From `resolve_interactions`.
    max_bins : int
        Ordered bins of a feature in the tables of pairs.
    free : bool array of shape (p,), default=None
        The features among which pairs are looked for; all by default.
    """
    layout = rows.layout
    kinds = {"missing": layout.missing, "categorical": layout.categorical}
    works = risk.working_residuals(models)
    pairs = interactions
    if not isinstance(pairs, list):
        pairs = _strongest(works, rows, interactions, kinds, free)
    if not pairs:
        return None
    folds, n_members = rows.folds, rows.n_splits
    if not n_members:
        n_members = _OWN_FOLDS
        folds = (np.arange(len(rows.codes)) % _OWN_FOLDS).astype(np.uint8)
    terms = None
    for _ in range(1 if risk.is_quadratic else _NEWTON_STEPS):
        if terms is not None:
            works = risk.working_residuals(models, terms)
        for score, work in enumerate(works):
            boost = PairBoost(
                rows.codes, layout.n_bins, pairs, work.weight, max_bins=max_bins, **kinds
            )
            residuals = work.residuals[1:]
            if not rows.n_splits:
                residuals = [work.residuals[0].copy() for _ in range(n_members)]
            tables = boost.run(residuals, folds).tables
            if terms is None:
                counting = PairBoost(
                    rows.codes, layout.n_bins, pairs, rows.weight, max_bins=max_bins, **kinds
                )
                terms = PairTerms(
                    pairs,
                    counting.bins,
                    [
                        np.zeros((1 + rows.n_splits, len(works), *counting.shape(t)))
                        for t in range(len(pairs))
                    ],
                    [counting.cell_weights(t) for t in range(len(pairs))],
                )
            for total, added in zip(terms.tables, tables):
                total[0, score] += added.mean(axis=0)
                if rows.n_splits:
                    total[1:, score] += added
    return terms


def _strongest(works, rows, interactions, kinds, free):
    """The pairs with the largest gains, summed over the scores."""
    codes, n_bins, gains = rows.codes, rows.layout.n_bins, {}
    number = np.arange(len(n_bins)) if free is None else np.flatnonzero(free)
    if len(number) < len(n_bins):
        codes, n_bins = np.asfortranarray(codes[:, number]), n_bins[number]
        kinds = {name: flags[number] for name, flags in kinds.items()}
    p = len(number)
    n_pairs = interactions if interactions == "auto" else p * (p - 1) // 2
    if interactions != "auto" and len(works) == 1:
        n_pairs = min(interactions, n_pairs)
    for work in works:
        found = detect_pairs(
            codes,
            n_bins,
            work.residuals[0],
            n_pairs,
            work.weight,
            frequency=work.frequency,
            random_state=0,
            **kinds,
        )
        for members, gain in zip(found.pairs, found.gains):
            pair = tuple(number[list(members)].tolist())
            gains[pair] = gains.get(pair, 0.0) + gain
    most = len(gains) if interactions == "auto" else int(interactions)
    return sorted(gains, key=lambda pair: (-gains[pair], pair))[:most]
