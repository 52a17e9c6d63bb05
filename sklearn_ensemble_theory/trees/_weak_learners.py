"""Binned trees as weak learners and as members: columns cut into bins once for all of them."""

from copy import copy
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from joblib import effective_n_jobs
from scipy.sparse import issparse
from sklearn.base import clone, is_classifier
from sklearn.utils import check_random_state

from sklearn_ensemble_theory._compat import check_constraints, random_sample_mask
from sklearn_ensemble_theory._features import Features, constraints_of_columns
from sklearn_ensemble_theory._learners import (
    ClassTask,
    LeastSquaresTask,
    half_log_odds,
)
from sklearn_ensemble_theory._rows import weights_of_codes
from sklearn_ensemble_theory._running import seeded
from sklearn_ensemble_theory._typing import TreeLearner
from sklearn_ensemble_theory.trees._columns import MISSING, BinnedColumns
from sklearn_ensemble_theory.trees._fit_to_bins import grow_on, set_fitted
from sklearn_ensemble_theory.trees._growth import HistogramGrower
from sklearn_ensemble_theory.trees._isotonic import MOST_ORDERED, monotonic_values
from sklearn_ensemble_theory.trees._options import (
    MAX_SEED,
    GrowthOptions,
    TreePlan,
    TreeShape,
)
from sklearn_ensemble_theory.trees._sparse_columns import SparseColumns, grows_on_stored
from sklearn_ensemble_theory.trees._tree_arrays import LEAF, LeafOutputs, TreeArrays, nodes_of

# Rounds in one piece have at most so many nodes, of some 60 bytes, and ranks of features.
NUMBERS_AT_ONCE = 2**17


def category_flags(tree: Any, n_features: int) -> np.ndarray | None:
    """Which columns of numbers a tree takes as categories; None where none is."""
    flags = Features(n_features).flags(tree.categorical_features, None)
    return flags if flags.any() else None


class BinnedTreeLearner(TreeLearner, Protocol):
    """`BinnedTreeRegressor`, which is defined after these rounds."""

    max_bins: int
    min_weight_leaf: float | None
    min_weight_fraction_leaf: float


class BinnedTreeRounds:
    """Rounds of `BinnedTreeRegressor` fitted by least squares (see `_weak_learners`).

    The columns are cut into bins once. A round takes O(n p) for each level of the tree, without the
    fixed costs of a fit. Members are as if each had been fitted to the rows and the targets of its
    round, except that the values of a regularised tree shrink to 0 and not to the mean of the
    targets; where the task says so, the values of their leaves are re-optimised.
    """

    is_exact = has_scale = False
    # `best` takes targets of shape (n, K) itself.
    takes_columns = True
    # The rows that the last round was fitted to, where they are drawn.
    rows: np.ndarray | None = None

    def __init__(
        self,
        estimator: BinnedTreeLearner,
        X: np.ndarray,
        weight: np.ndarray | None,
        task: LeastSquaresTask,
    ) -> None:
        check_constraints(estimator)
        self.n, p = X.shape
        self.weight, self.task = weight, task
        self.min_weight_fraction = float(estimator.min_weight_fraction_leaf)
        self.n_drawn = task.n_drawn(self.n)
        flags = category_flags(estimator, p)
        if issparse(X) and not task.has_vectors and grows_on_stored(estimator, X):
            self.columns: BinnedColumns = SparseColumns.of(
                X, estimator.max_bins, weight, categorical=flags
            )
        else:
            two_bytes = estimator.max_bins > MISSING
            self.columns = BinnedColumns.of(
                X,
                estimator.max_bins,
                weight,
                task.n_threads,
                two_bytes=two_bytes,
                categorical=flags,
            )
        # The weight of the drawn rows, which changes with the draw, by its expectation.
        total = (self.n if weight is None else float(weight.sum())) * self.n_drawn / self.n
        self.shape = TreeShape(self.n_drawn, total, p, 0)
        self.random_state = check_random_state(task.random_state)
        columns = self.columns
        plan = TreePlan.of(estimator, p)
        options = plan.options(self.shape, columns.any_missing, columns.categorical)
        given = estimator.min_weight_leaf
        self.least_weight = task.min_weight_leaf if given is None else float(given)
        least = max(options.min_weight_leaf, self.least_weight)
        options = replace(options, min_weight_leaf=least)
        self.options = monotonic_after_growth(options, self.n_drawn)
        self.pattern = clone(estimator)
        self.grower: Any = self._make_grower()
        loss = None if task.risk is None else task.risk.loss
        # Leaf means are the optimal values of the squared loss.
        self.reoptimises = task.reoptimise_leaves and loss is not None and not loss.is_quadratic

    def _make_grower(self) -> Any:
        return HistogramGrower(self.columns, self.options, self.task.n_threads)

    def _set_least_weight(self, total: float) -> None:
        """Of a leaf, where it is a share of weights that change with the round."""
        if self.min_weight_fraction:
            least = max(self.min_weight_fraction * total, self.least_weight)
            self.grower.options = replace(self.options, min_weight_leaf=least)

    def best(
        self, target: Any, weight: np.ndarray, scores: np.ndarray | None = None
    ) -> tuple[Any, Any]:
        """A tree, or a list of trees for the columns of the target, and their outputs."""
        task, rows = self.task, None
        if self.n_drawn < self.n:
            rows = self.rows = drawn_rows(self.random_state, self.n, self.n_drawn)
        columns = [target] if target.ndim == 1 else target.T
        weights = [self.weight] * len(columns)
        if task.reweighted:
            weights = [weight] if weight.ndim == 1 else list(weight.T)
        members, values, leaves = [], [], []
        # A tree for each score; of several scores all trees lower the risk from the same scores.
        for k, (column, given) in enumerate(zip(columns, weights)):
            (seed,) = self._seeds(1)
            column = np.ascontiguousarray(column)
            if task.reweighted:
                # The growers take the arrays of a round by their identity.
                given = np.ascontiguousarray(given)
                self._set_least_weight(float((given if rows is None else given[rows]).sum()))
            tree, leaf = self._grown(column, given, rows, seed)
            if task.exact_leaves and task.reweighted:
                best = task.risk.minimising_values(scores, leaf, len(tree))
                set_leaf_values(tree, best, self.options)
            elif self.reoptimises:
                # The structure is that of the least squares, the values lower the risk itself.
                which = k if target.ndim == 2 else None
                steps = task.risk.leaf_values(scores, column, leaf, len(tree), rows, which)
                set_leaf_values(tree, steps, self.options)
            elif task.reweighted:
                which = k if target.ndim == 2 else None
                grown = tree.value[:, 0]
                new = task.risk.lowering_values(scores, column, given, leaf, grown, rows, which)
                set_leaf_values(tree, new, self.options, new == grown)
            elif not self.options.bounded:
                set_leaf_values(tree, tree.value[:, 0], self.options, True)
            members.append(tree_member(self.pattern, tree, self.shape, seed))
            values.append(tree.value[:, 0])
            leaves.append(leaf)
        outputs: Any = LeafOutputs(values, leaves, target.shape)
        if task.risk is None:
            outputs = np.asarray(outputs)
        return (members[0] if target.ndim == 1 else members), outputs

    def _grown(
        self,
        target: np.ndarray,
        weight: np.ndarray | None,
        rows: np.ndarray | None,
        seed: int,
    ) -> tuple[TreeArrays, np.ndarray]:
        """A tree for one score, and the leaf of every row."""
        grower: Any = self.grower
        options, splits = grower.options, seed
        if options.max_features:
            # As a tree with this `random_state` draws the seed of its splitter.
            splits = int(seeded(seed).randint(0, MAX_SEED))
            if not options.features_per_tree:
                return grower.grow(target, weight, rows, splits)
        rank = self._rank(seed)
        if not options.features_per_tree or grower.draws_features:
            return grower.grow(target, weight, rows, splits, rank)
        # Other trees get the columns that are drawn.
        features = np.flatnonzero(rank < options.features_per_tree)
        columns, options = self.columns.take_features(features), options.of_features(features)
        grower = HistogramGrower(columns, options)
        tree, _ = grower.grow(target, weight, rows, splits, rank[features])
        tree.name_features(features)
        return tree, tree.leaves(self.columns)

    def several(
        self, target: np.ndarray, scores: np.ndarray, length: float, n: int, stop_at: float
    ) -> tuple[list, list[float], LeafOutputs] | None:
        """At most n rounds in one piece, which changes target and scores; None where it cannot.

        The steps have the coefficient `length`, and a round after which the risk is not below
        `stop_at` is the last one. Returned are what `best` returns for each round, the risks after
        each, and the outputs of the last.
        """
        task, grower = self.task, self.grower
        if task.risk is None or task.reweighted or self.n_drawn < self.n:
            return None
        if not grower.boosts():
            return None
        risk = task.risk.arrays(scores, target)
        if risk is None:
            return None
        width = 1 if target.ndim == 1 else target.shape[1]
        numbers = width * (2 * grower.most_leaves + self.columns.n_features)
        n = max(1, min(n, NUMBERS_AT_ONCE // numbers))
        self._before = self.random_state.get_state(legacy=False)
        seeds = self._seeds(n * width)
        ranks = np.array([self._rank(seed) for seed in seeds])
        trees, risks, leaf = grower.boost(
            risk,
            self.weight,
            ranks.reshape(n, width, -1),
            length=length,
            rate=task.risk.rate,
            longest=task.risk.longest_step,
            stop_at=stop_at,
            reoptimises=self.reoptimises,
        )
        if len(risks) < n:
            self.draw_for(len(risks), width)
        members: list[Any] = [
            tree_member(self.pattern, tree, self.shape, seed) for tree, seed in zip(trees, seeds)
        ]
        if target.ndim == 2:
            members = [members[k : k + width] for k in range(0, len(trees), width)]
        last = [tree.value[:, 0] for tree in trees[-width:]]
        return members, risks, LeafOutputs(last, list(leaf), target.shape)

    def draw_for(self, n: int, width: int) -> None:
        """Leave the generator as if only the first n rounds of `several` had been asked for."""
        self.random_state.set_state(self._before)
        self._seeds(n * width)

    def _seeds(self, n: int) -> list[int]:
        seeds: list[int] = self.random_state.randint(MAX_SEED, size=n).tolist()
        return seeds

    def _rank(self, seed: int) -> np.ndarray:
        """The order of equally good features: always the same would make the trees alike."""
        return seeded(seed).permutation(self.columns.n_features)


def tree_member(pattern: Any, tree: TreeArrays, shape: TreeShape, seed: int) -> Any:
    """A fitted tree with these nodes, without the costs of `clone` and `fit`."""
    member = object.__new__(type(pattern))
    member.__dict__.update(vars(pattern), random_state=seed)
    set_fitted(member, tree, shape, None)
    return member


def monotonic_after_growth(options: GrowthOptions, n_rows: int) -> GrowthOptions:
    """The options of boosted trees that are not large: values get their order after growth."""
    most = min(2 ** min(options.max_depth, 30), n_rows)
    most = min(most, options.max_leaf_nodes or most)
    if options.monotonic_cst is None or most > MOST_ORDERED:
        return options
    return replace(options, bounded=False)


def set_leaf_values(
    tree: TreeArrays,
    values: np.ndarray,
    options: GrowthOptions,
    is_final: Any = False,
    column: int = 0,
) -> None:
    """Set the values of the leaves to those that a loss proposes (Friedman 2001).

    Regularised values, but for the final ones, shrink by the same factor W/(W + l2) as means do.
    Those that break a monotonic constraint move.
    """
    l2 = options.l2_regularization
    if l2:
        values = np.where(is_final, values, values * (tree.weight / (tree.weight + l2)))
    if options.monotonic_cst is not None:
        values = monotonic_values(values, tree.weight + l2, tree, options.monotonic_cst)
    tree.value[:, column] = np.where(tree.left == LEAF, values, tree.value[:, column])


# --- weak learners of classes: a tree in each round -----------------------------------------------


class _ClassRounds:
    """Base of the rounds: a tree grown on the shared columns, and the leaves of the rows."""

    is_exact = False
    has_scale = True

    def __init__(self, tree: Any, X: np.ndarray, weight: np.ndarray | None, task: Any) -> None:
        categorical = category_flags(tree, X.shape[1])
        self.columns = BinnedColumns.of(
            X, tree.max_bins, weight, two_bytes=True, categorical=categorical
        )
        self.pattern = clone(tree)
        self.task = task

    def grown(
        self,
        codes: np.ndarray,
        weight: np.ndarray,
        classes: np.ndarray,
        rows: np.ndarray | None = None,
    ) -> tuple[Any, np.ndarray, np.ndarray]:
        """A fitted member, the leaf of every row, and the shares of the classes in each node."""
        member = copy(self.pattern)
        if self.columns.categorical is not None:  # weights that sum to 1; `cat_smooth` counts rows
            weight = weight / weight.mean()
        grow_on(member, self.columns, codes, weight, rows, classes=classes)
        arrays: Any = nodes_of(member)
        return member, arrays.leaves(self.columns), arrays.value


class _VoteRounds(_ClassRounds):
    """Margins are the values of votes (see `ClassTask`)."""

    task: ClassTask

    def best(
        self, target: np.ndarray | None, weight: np.ndarray, scores: np.ndarray | None = None
    ) -> tuple[Any, np.ndarray]:
        codes = self.task.codes
        member, leaf, shares = self.grown(codes, weight, self.task.classes)
        right, wrong = self.task.vote_values
        return member, np.where(shares.argmax(axis=1)[leaf] == codes, right, wrong)


class _LogOddsRounds(_ClassRounds):
    """Outputs are half the log-odds of the second class (real AdaBoost)."""

    task: ClassTask

    def best(
        self, target: np.ndarray | None, weight: np.ndarray, scores: np.ndarray | None = None
    ) -> tuple[Any, np.ndarray]:
        member, leaf, shares = self.grown(self.task.codes, weight, self.task.classes)
        return member, self.task.signs * half_log_odds(shares[:, -1])[leaf]


class _SignRounds(_ClassRounds):
    """Outputs -1 and +1, for targets that change in each round."""

    signs = np.array([-1, 1])

    def best(
        self, target: Any, weight: np.ndarray, scores: np.ndarray | None = None
    ) -> tuple[Any, np.ndarray]:
        mass = weight * np.abs(target)
        rows = None if mass.min() > 0 else np.flatnonzero(mass)
        if rows is not None and not len(rows):
            rows, mass = None, weight
        chosen = slice(None) if rows is None else rows
        codes = (target[chosen] > 0).astype(np.intp)
        mass = mass[chosen] / mass[chosen].mean()
        member, leaf, shares = self.grown(codes, mass, self.signs, rows)
        return member, self.signs[shares.argmax(axis=1)][leaf].astype(float)


ROUNDS: dict[str, type[_ClassRounds]] = {
    "class_error": _VoteRounds,
    "class_log_odds": _LogOddsRounds,
    "signs": _SignRounds,
}


# --- rows drawn without replacement ---------------------------------------------------------------


def drawn_rows(random_state: np.random.RandomState, n: int, m: int) -> np.ndarray:
    """m of n rows, increasing, every set of m rows with the same probability. O(n).

    Row i is drawn with probability (m - rows drawn so far) / (n - i): Knuth's algorithm S. The
    generator draws n numbers, so that the same seed gives the rows of scikit-learn's classes.
    """
    if random_sample_mask is not None:
        return np.flatnonzero(random_sample_mask(n, m, random_state))
    return selected_rows(random_state.uniform(size=n), m)


def selected_rows(uniform: np.ndarray, m: int) -> np.ndarray:
    """The rows that algorithm S selects with these uniform numbers."""
    n = len(uniform)
    rows: list[int] = []
    for i, number in enumerate(uniform.tolist()):
        if number * (n - i) < m - len(rows):
            rows.append(i)
    return np.array(rows, dtype=np.intp)


class BinnedMembers:
    """What all trees of a bagged ensemble share (see `_weak_learners.PreparedMembers`).

    The tree is for the number of bins, the weights for their quantiles; `n_jobs` threads cut
    columns into bins. Infinite values in X are a ValueError.
    """

    def __init__(
        self,
        tree: Any,
        X: np.ndarray,
        sample_weight: np.ndarray | None,
        n_jobs: int | None = 1,
    ) -> None:
        n_threads = 1 if n_jobs == 1 else effective_n_jobs(n_jobs)
        categorical = category_flags(tree, X.shape[1])
        self.columns = BinnedColumns.of(
            X, tree.max_bins, sample_weight, n_threads, two_bytes=True, categorical=categorical
        )
        self.reads_double = self.columns.wide is not None

    def fit(
        self,
        member: Any,
        rows: np.ndarray,
        y: np.ndarray,
        weights: np.ndarray | None,
        features: np.ndarray | None,
    ) -> Any:
        """Fit one member to rows and features of the columns."""
        columns = self.columns
        if features is not None:
            of_columns = constraints_of_columns(member, features, columns.n_features)
            member.set_params(**of_columns)
            columns = columns.take_features(features)
        rows = None if len(rows) == columns.n_rows else rows
        if weights is not None:
            weights = np.asarray(weights, dtype=np.float64)
        if is_classifier(member):
            classes, codes = classes_and_codes(y)
            if member.class_weight is not None:
                by_class = weights_of_outputs(member.class_weight, classes, codes)
                weights = by_class if weights is None else weights * by_class
            grow_on(member, columns, codes, weights, rows, classes=classes)
        else:
            grow_on(member, columns, np.asarray(y, dtype=np.float64), weights, rows)
        return member


def classes_and_codes(y: np.ndarray) -> tuple[Any, np.ndarray]:
    """The labels and their codes; of several outputs a list of the labels, and codes (n, m)."""
    if y.ndim == 1:
        return _unique(y)
    pairs = [_unique(column) for column in y.T]
    return [labels for labels, _ in pairs], np.column_stack([codes for _, codes in pairs])


def _unique(y):
    """`np.unique` with the inverse, without a sort where y holds small integers."""
    if y.dtype.kind not in "iu" or not len(y) or y.min() < 0 or y.max() >= len(y):
        return np.unique(y, return_inverse=True)
    counts = np.bincount(y)
    classes = np.flatnonzero(counts)
    codes = y if len(classes) == len(counts) else (np.cumsum(counts > 0) - 1)[y]
    return classes.astype(y.dtype), codes


def weights_of_outputs(class_weight: Any, classes: Any, codes: np.ndarray) -> np.ndarray:
    """The weights of the rows by their classes; of several outputs they are multiplied."""
    if not isinstance(classes, list):
        return weights_of_codes(class_weight, classes, codes)
    given = len(classes) * [class_weight] if class_weight == "balanced" else class_weight
    if not isinstance(given, list) or len(given) != len(classes):
        raise ValueError(
            f"class_weight must be 'balanced' or a list of {len(classes)} dicts, one for each "
            f"output; got {class_weight!r}."
        )
    columns = zip(given, classes, codes.T)
    return np.prod([weights_of_codes(*each) for each in columns], axis=0)
