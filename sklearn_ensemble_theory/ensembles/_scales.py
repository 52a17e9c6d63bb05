"""How large the errors of an ensemble are at x: trees that are grown on absolute residuals.

The absolute residuals of the training rows out of bag are the targets of a forest of regular trees.
Tree b is fitted to the rows that member b was fitted to, so that the rows outside of it, their
groups included, are known: at a training row the scale is the mean of the trees that are not
fitted to the row.
"""

from copy import copy

import numpy as np
import scipy.sparse as sp
from sklearn.utils.parallel import Parallel, delayed

from sklearn_ensemble_theory.ensembles._ensemble import (
    Ensemble,
    kept_rows,
    kept_X,
)
from sklearn_ensemble_theory.ensembles._predictions import (
    tree_input,
)
from sklearn_ensemble_theory.trees._binned_tree import BaseBinnedTree, BinnedTreeRegressor
from sklearn_ensemble_theory.trees._packed import TreeSums, add_in_threads, packed_trees
from sklearn_ensemble_theory.trees._weak_learners import BinnedMembers

# More trees do not make the intervals shorter: a leaf has many rows.
TREES = 50
# The mean of fewer residuals is so noisy that intervals become longer; that of more is less local.
ROWS_OF_A_LEAF = 20
# A scale is at least this part of the mean residual: where all neighbours were predicted exactly
# one small error would otherwise be an infinite score.
LEAST = 0.01


class ResidualScales:
    """The mean absolute residual near x; `out_of_bag` has those at the training rows, positive."""

    out_of_bag: np.ndarray

    def __init__(self, ensemble: Ensemble, residuals: np.ndarray) -> None:
        spec, known = ensemble.draws, np.isfinite(residuals)
        X = kept_X(ensemble, "method='normalized'")
        if sp.issparse(X):
            raise ValueError(
                "method='normalized' requires dense X; use method='quantile' or X.toarray()."
            )
        X = tree_input(ensemble, X)
        weight = spec.scheme.sample_weight
        counts = known if weight is None else known & (weight > 0)
        # In units of the largest residual the trees are the same for targets in any unit.
        largest = residuals[counts].max(initial=0.0)
        self.unit = float(np.ldexp(1.0, int(np.frexp(largest)[1]))) if largest > 0 else 1.0
        targets = np.where(counts, residuals, 0.0) / self.unit
        self.least = LEAST * targets[counts].mean() if largest > 0 else 1.0
        learner = ensemble.learner
        categorical = learner.categorical_features if isinstance(learner, BaseBinnedTree) else None
        tree = BinnedTreeRegressor(
            min_samples_leaf=ROWS_OF_A_LEAF, categorical_features=categorical
        )
        prepared = BinnedMembers(tree, X, weight, ensemble.n_jobs)
        draws = [spec.draw(seed)[1:] for seed in ensemble.seeds[:TREES]]
        # What is known of no row of a draw is what is known of all.
        used = [(rows[counts[rows]], weights[counts[rows]]) for rows, weights in draws]
        everything = np.flatnonzero(counts), np.ones(np.count_nonzero(counts))
        used = [pair if len(pair[0]) else everything for pair in used]

        def grown(rows: np.ndarray, weights: np.ndarray, seed: int) -> BinnedTreeRegressor:
            member = copy(tree)
            member.random_state = int(seed)
            return prepared.fit(member, rows, targets[rows], weights, None)

        trees = Parallel(n_jobs=ensemble.n_jobs, prefer="threads")(
            delayed(grown)(*pair, seed) for pair, seed in zip(used, ensemble.seeds)
        )
        sums = packed_trees(trees)
        assert sums is not None  # trees of one output
        self.sums: TreeSums = sums
        total, n_outside, out = np.zeros(len(X)), np.zeros(len(X)), np.zeros((len(X), 1))
        for (rows, _), _ in zip(draws, sums.rounds(X, out)):
            outside = spec.scheme.is_outside(rows)
            total[outside] += out[outside, 0]
            n_outside += outside
            out[:] = 0.0
        # A row that is outside of later members only has the mean of all of these trees.
        alone = n_outside == 0
        if alone.any():
            total[alone] = add_in_threads(sums, X[alone], out[alone], 1)[:, 0]
            n_outside[alone] = len(trees)
        self.out_of_bag = self._scales(total / n_outside)

    def at(self, X: np.ndarray, n_jobs: int | None) -> np.ndarray:
        """The scales at rows of X, (m,)."""
        total = add_in_threads(self.sums, X, np.zeros((len(X), 1)), n_jobs)[:, 0]
        return self._scales(total / len(self.sums))

    def _scales(self, means: np.ndarray) -> np.ndarray:
        return np.maximum(means, self.least) * self.unit


def residual_scales(ensemble: Ensemble, residuals: np.ndarray) -> ResidualScales:
    """The scales of the residuals, infinite where there is none, fitted once."""
    rows = kept_rows(ensemble, "method='normalized'")
    return rows.derived(
        "residual scales", ensemble.members, lambda: ResidualScales(ensemble, residuals)
    )
