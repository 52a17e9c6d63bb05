"""Regression trees over binned columns, prepared once for all rounds of a boosting algorithm."""

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils import check_random_state

from sklearn_ensemble_theory._numerics.leaf_outputs import LeafOutputs
from sklearn_ensemble_theory._numerics.row_draws import drawn_rows
from sklearn_ensemble_theory._weak_learners import LeastSquaresTask
from sklearn_ensemble_theory.trees._binned.columns import MISSING, BinnedColumns
from sklearn_ensemble_theory.trees._binned.growth import histogram_grower
from sklearn_ensemble_theory.trees._binned.growth_options import GrowthOptions
from sklearn_ensemble_theory.trees._binned.tree_arrays import LEAF, TreeArrays
from sklearn_ensemble_theory.trees._estimators.base import MAX_SEED, TreeShape, growth_options

__all__ = ["BinnedTreeRounds", "set_leaf_values", "tree_member"]

KINDS = (
    "least_squares",
    "drawn_least_squares",
    "reweighted_least_squares",
    "drawn_reweighted_least_squares",
)


class BinnedTreeRounds:
    """Rounds of `BinnedTreeRegressor` fitted by least squares (see `_weak_learners`).

    The columns are cut into bins once. A round takes O(n p) for each level of the tree, without
    the fixed costs of a fit. Members are as if each had been fitted to the rows and the targets of
    its round, except that the values of a regularised tree shrink to 0 and not to the mean of the
    targets; where the task says so, the values of their leaves are re-optimised.

    Parameters
    ----------
    estimator : BinnedTreeRegressor
    X : float array of shape (n, p)
    weight : array of shape (n,) or None
        The sample weights. Positive.
    task : LeastSquaresTask
    """

    is_exact = has_scale = False
    # `best` takes targets of shape (n, K) itself.
    takes_columns = True
    # The rows that the last round was fitted to, where they are drawn.
    rows: np.ndarray | None = None

    def __init__(
        self, estimator: Any, X: np.ndarray, weight: np.ndarray | None, task: LeastSquaresTask
    ) -> None:
        estimator._validate_params()
        self.n, p = X.shape
        self.weight, self.task = weight, task
        self.min_weight_fraction = float(estimator.min_weight_fraction_leaf)
        self.n_drawn = task.n_drawn(self.n)
        self.columns = BinnedColumns.of(X, estimator.max_bins, weight, task.n_threads, wide=False)
        # The weight of the drawn rows, which changes with the draw, by its expectation.
        total = (self.n if weight is None else float(weight.sum())) * self.n_drawn / self.n
        self.shape = TreeShape(self.n_drawn, total, p, 0)
        self.random_state = check_random_state(task.random_state)
        self.ties = np.random.RandomState(0)  # seeded for each tree: a new one takes 70 µs
        options = growth_options(estimator, self.shape, bool(self.columns.has_missing.any()))
        least = max(options.min_weight_leaf, task.min_weight_leaf)
        self.options = replace(options, min_weight_leaf=least)
        self.grower = histogram_grower(self.columns, self.options, task.n_threads)
        loss = None if task.risk is None else task.risk.loss
        # Leaf means are the optimal values of the squared loss.
        self.reoptimises = task.reoptimise_leaves and loss is not None and not loss.is_quadratic
        self.pattern = clone(estimator)

    @classmethod
    def of(
        cls, estimator: Any, X: Any, weight: np.ndarray | None, task: Any
    ) -> "BinnedTreeRounds | None":
        """The rounds, or None where trees must be fitted one by one."""
        if (
            task.kind not in KINDS
            or sp.issparse(X)
            or estimator.criterion != "squared_error"
            or estimator.splitter != "best"
            or estimator.ccp_alpha > 0
            or estimator.max_bins > MISSING
        ):
            return None
        return cls(estimator, X, weight, task)

    def best(
        self, target: Any, weight: np.ndarray, scores: np.ndarray | None = None
    ) -> tuple[Any, Any]:
        """A tree, or a list of trees for the columns of the target, and their outputs.

        The outputs are `LeafOutputs` where the task has a risk, and an array otherwise.
        """
        rows = None
        if self.n_drawn < self.n:
            rows = self.rows = drawn_rows(self.random_state, self.n, self.n_drawn)
        columns = [target] if target.ndim == 1 else target.T
        weights = [self.weight] * len(columns)
        if self.task.reweighted:
            weights = [weight] if weight.ndim == 1 else list(weight.T)
        members, values, leaves = [], [], []
        for k, (column, given) in enumerate(zip(columns, weights)):
            seed = int(self.random_state.randint(np.iinfo(np.int32).max))
            column = np.ascontiguousarray(column)
            tree, leaf = self.grown(column, given, rows, seed)
            if self.reoptimises:
                which = k if target.ndim == 2 else None
                self.reoptimise(tree, leaf, rows, column, scores, which)
            members.append(self.member(tree, seed))
            values.append(tree.value[:, 0])
            leaves.append(leaf)
        outputs: Any = LeafOutputs(values, leaves, target.shape)
        if self.task.risk is None:
            outputs = np.asarray(outputs)
        return (members[0] if target.ndim == 1 else members), outputs

    def grown(
        self, target: np.ndarray, weight: np.ndarray | None, rows: np.ndarray | None, seed: int
    ) -> tuple[TreeArrays, np.ndarray]:
        if self.task.reweighted:
            # The growers take the arrays of a round by their identity.
            weight = np.ascontiguousarray(weight)
            if self.min_weight_fraction:
                self.set_least_weight(weight if rows is None else weight[rows])
        if not self.options.max_features:
            # Always the first of equally good features would make the trees alike.
            self.ties.seed(seed)
            rank = self.ties.permutation(self.columns.n_features)
            return self.grower.grow(target, weight, rows, seed, rank)
        # As a tree with this `random_state` draws the seed of its splitter.
        seed = int(np.random.RandomState(seed).randint(0, MAX_SEED))
        return self.grower.grow(target, weight, rows, seed)

    def set_least_weight(self, weight: np.ndarray) -> None:
        """Set the least weight of a leaf, of which a part is a share of the weight of the rows."""
        least = max(self.min_weight_fraction * float(weight.sum()), self.task.min_weight_leaf)
        self.grower.options = replace(self.options, min_weight_leaf=least)

    def reoptimise(
        self,
        tree: TreeArrays,
        leaf: np.ndarray,
        rows: np.ndarray | None,
        target: np.ndarray,
        scores: Any,
        k: int | None,
    ) -> None:
        """Set the values of the leaves to what the loss proposes (Friedman 2001).

        Regularised values shrink by the same factor W/(W + l2) as means do, and values that break a
        monotonic constraint move to the middle.
        """
        values = self.task.risk.leaf_values(scores, target, leaf, len(tree), rows, k)
        set_leaf_values(tree, values, self.options)

    def member(self, tree: TreeArrays, seed: int) -> Any:
        return tree_member(self.pattern, tree, self.shape, seed)


def tree_member(pattern: Any, tree: TreeArrays, shape: TreeShape, seed: int) -> Any:
    """A fitted tree with these nodes, without the costs of `clone` and `fit`."""
    member = object.__new__(type(pattern))
    member.__dict__.update(vars(pattern), random_state=seed)
    member._set_fitted(tree, shape, None)
    return member


def set_leaf_values(tree: TreeArrays, values: np.ndarray, options: GrowthOptions) -> None:
    """Set the values of the leaves to those that a loss proposes; see `reoptimise`."""
    l2 = options.l2_regularization
    if l2:
        values = values * (tree.weight / (tree.weight + l2))
    if options.monotonic_cst is not None:
        values = _monotonic(values, tree, options.monotonic_cst)
    tree.value[:, 0] = np.where(tree.left == LEAF, values, tree.value[:, 0])


def _monotonic(values: np.ndarray, tree: TreeArrays, constraints: np.ndarray) -> np.ndarray:
    """The values of leaves, changed so that every split of a constrained feature is monotonic.

    From the root downwards, what is on the wrong side of the middle between the largest value on
    one side and the smallest on the other moves there. Later changes stay between values that
    exist, so they keep what has been reached above. O(m depth).
    """
    values = values.copy()
    m = len(tree)
    below: list[list[int]] = [[] for _ in range(m)]
    for i in range(m - 1, -1, -1):
        left, right = tree.left[i], tree.right[i]
        below[i] = [i] if left == LEAF else below[left] + below[right]
    for i in np.flatnonzero(tree.left != LEAF).tolist():
        sign = constraints[tree.feature[i]]
        low, high = below[tree.left[i]], below[tree.right[i]]
        if sign < 0:
            low, high = high, low
        if sign and (top := values[low].max()) > (bottom := values[high].min()):
            middle = top / 2 + bottom / 2
            values[low] = np.minimum(values[low], middle)
            values[high] = np.maximum(values[high], middle)
    return values
