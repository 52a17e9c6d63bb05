"""Rounds of boosting by one tree for all scores, whose leaves hold a number for each."""

from typing import Any

import numpy as np

from sklearn_ensemble_theory._running import seeded
from sklearn_ensemble_theory.trees._options import MAX_SEED
from sklearn_ensemble_theory.trees._tree_arrays import VectorOutputs
from sklearn_ensemble_theory.trees._vector_growth import VectorGrower
from sklearn_ensemble_theory.trees._weak_learners import (
    BinnedTreeRounds,
    drawn_rows,
    set_leaf_values,
    tree_member,
)


class VectorTreeRounds(BinnedTreeRounds):
    """Rounds of `BinnedTreeRegressor` with a vector in each leaf.

    O(n p q) for each level of the tree, with q the number of scores, or of the components that are
    compared in the search for cuts, and O(n q) beside. The values of the leaves are those that K
    trees would have in the same leaves: means, Newton steps or minima, score by score.
    """

    def _make_grower(self) -> Any:
        n_components, n_threads = self.pattern.target_components, self.task.n_threads
        return VectorGrower(self.columns, self.options, n_components, n_threads)

    def best(
        self, target: Any, weight: np.ndarray, scores: np.ndarray | None = None
    ) -> tuple[Any, Any]:
        """A list of one tree for the columns of the target, and its outputs."""
        task, rows = self.task, None
        if self.n_drawn < self.n:
            rows = self.rows = drawn_rows(self.random_state, self.n, self.n_drawn)
        (seed,) = self._seeds(1)
        given = self.weight
        if task.reweighted:
            given = weight
            self._set_least_weight(
                float((weight if rows is None else weight[rows]).mean(axis=1).sum())
            )
        if self.options.max_features:
            # As a tree with this `random_state` draws the seed of its splitter.
            splits = int(seeded(seed).randint(0, MAX_SEED))
            tree, leaf = self.grower.grow(target, given, rows, splits)
        else:
            tree, leaf = self.grower.grow(target, given, rows, seed, self._rank(seed))
        if self.reoptimises or task.reweighted:
            # The structure is that of the least squares, the values lower the risk itself.
            for k in range(target.shape[1]):
                column, grown = np.ascontiguousarray(target[:, k]), tree.value[:, k]
                kept: Any = False
                if self.reoptimises:
                    new = task.risk.leaf_values(scores, column, leaf, len(tree), rows, k)
                else:
                    own = np.ascontiguousarray(weight[:, k])
                    arguments = scores, column, own, leaf, grown, rows, k
                    new = task.risk.lowering_values(*arguments)
                    kept = new == grown
                set_leaf_values(tree, new, self.options, kept, column=k)
        member = tree_member(self.pattern, tree, self.shape, seed)
        outputs: Any = VectorOutputs(tree.value, leaf)
        return [member], outputs if task.risk is not None else np.asarray(outputs)

    def several(self, *arguments: Any) -> None:
        """Rounds are made one by one."""
        return None
