"""scikit-learn's trees as members of ensembles.

They are given input that they need not check, and targets in units and rounded so that ties are
ties.
"""

from collections.abc import Sequence
from copy import copy
from numbers import Integral
from typing import Any, Protocol, cast

import numpy as np
import scipy.sparse as sp
from sklearn import get_config

from sklearn_ensemble_theory._compat import make_tree, prune_tree, tree_parts, tree_state
from sklearn_ensemble_theory._learners import (
    REGRESSION_TREES,
    TREES,
    aligned_columns,
    is_tree,
    reads_single_precision,
    register,
)
from sklearn_ensemble_theory._rows import check_single_precision, within_single_precision
from sklearn_ensemble_theory._running import seeded
from sklearn_ensemble_theory._scaling import far_mean, largest_magnitude, range_exponent, shifted_by
from sklearn_ensemble_theory._typing import Estimator, Predictor, TreeLearner
from sklearn_ensemble_theory.trees._options import (
    TreePlan,
    TreeShape,
    n_features_drawn,
)
from sklearn_ensemble_theory.trees._ranks import (
    Columns,
    RankedRows,
    columns_for,
    take_features,
)
from sklearn_ensemble_theory.trees._tree_arrays import nodes_of, reads_double

SMALL_TARGET = 2.0**-16
"""Targets below it are multiplied before a tree is grown."""


class SklearnTree(TreeLearner, Protocol):
    """A tree of scikit-learn's."""

    min_impurity_decrease: float
    tree_: Any
    n_features_in_: int
    classes_: Any
    n_classes_: Any


def check_counts(estimator: TreeLearner, y: np.ndarray) -> None:
    """Raise an error if y cannot be fitted by the Poisson criterion and the tree has that."""
    if estimator.criterion == "poisson" and y.size:
        if y.min() < 0:
            raise ValueError(
                "Some value(s) of y are negative which is not allowed for Poisson regression, "
                "criterion='poisson'."
            )
        if y.max() <= 0:
            raise ValueError(
                "Sum of y is not strictly positive which is necessary for Poisson regression, "
                "criterion='poisson'."
            )


def fitted_in_units(estimator: Predictor, X: Any, y: np.ndarray, **params: Any) -> Any:
    """The estimator after a call of its `fit`; a regression tree is fitted in units of y.

    The squares of very large or small targets overflow or vanish, and a tree would not see the
    gain of its splits; nor do trees split nodes whose impurity is below 2e-16, whatever the units
    are. Such targets are divided by a power of two, by which the values of the nodes are multiplied
    again, and their impurities where they can be: of the others they remain those of the divided
    targets.
    """
    tree = cast(SklearnTree, estimator)  # where the target is scaled
    scaled = type(estimator) in REGRESSION_TREES and y.dtype.kind == "f"
    exponent = range_exponent(y) if scaled else 0
    is_small = False
    # Not where parameters are in units of the impurities.
    if scaled and not exponent and not tree.min_impurity_decrease and not tree.ccp_alpha:
        largest = largest_magnitude(y)
        if 0 < largest < SMALL_TARGET:
            exponent, is_small = int(np.frexp(largest)[1]), True
    if exponent:
        y = np.ldexp(y, -exponent)
    if isinstance(X, RankedRows) or _needs_no_check(estimator, X, y, params):
        grow_unchecked(estimator, X, y, params.get("sample_weight"))
    else:
        estimator.fit(X, y, **params)
    if not exponent:
        return estimator
    values, impurity = tree.tree_.value, tree.tree_.impurity
    values[...] = shifted_by(values, exponent)
    if is_small:
        power = 1 if tree.criterion in ("absolute_error", "poisson") else 2
        impurity[...] = np.ldexp(impurity, power * exponent)
    return estimator


def as_ranks(tree: Any, X: np.ndarray, y: np.ndarray) -> np.ndarray | RankedRows:
    """X as `fitted_in_units` takes it: as ranks where a tree is grown on them."""
    ranks = columns_for(tree, X) if y.ndim == 1 else None
    return X if ranks is None else RankedRows(ranks, None)


# As in all supported releases.
PARTS_ARE_KNOWN = all(
    hasattr(tree_parts, name)
    for name in (
        *("CRITERIA_REG", "CRITERIA_CLF", "DENSE_SPLITTERS"),
        *("DepthFirstTreeBuilder", "BestFirstTreeBuilder", "Tree"),
    )
)


def _needs_no_check(tree: Any, X: Any, y: np.ndarray, params: dict[str, Any]) -> bool:
    return (
        PARTS_ARE_KNOWN
        and is_tree(tree)
        and params.get("check_input") is False
        and get_config()["skip_parameter_validation"]
        and not sp.issparse(X)
        and y.ndim == 1
        and tree.criterion in (*tree_parts.CRITERIA_REG, *tree_parts.CRITERIA_CLF)
        and isinstance(tree.splitter, str)
        and isinstance(tree.random_state, Integral)
        and tree.monotonic_cst is None
        and getattr(tree, "class_weight", None) is None
    )


def grow_unchecked(
    tree: Any, X: np.ndarray | RankedRows, y: np.ndarray, weight: np.ndarray | None
) -> None:
    """The `fit` of scikit-learn's trees without its checks, which take as long as 500 rows."""
    (n, p), total = X.shape, float(len(y))
    if weight is not None:
        weight = np.ascontiguousarray(weight, dtype=np.float64)
        total = float(weight.sum())
    n_classes = 0
    if type(tree) not in REGRESSION_TREES:
        tree.classes_, y = np.unique(y, return_inverse=True)
        n_classes = len(tree.classes_)
        tree.n_classes_ = np.intp(n_classes)
    options = TreePlan.of(tree, p).options(TreeShape(n, total, p, n_classes), has_missing=False)
    tree.n_features_in_, tree.n_outputs_ = p, 1
    tree.max_features_ = n_features_drawn(tree.max_features, p)
    if isinstance(X, RankedRows):
        tree.tree_ = X.grown(y, weight, options)
        prune_tree(tree)
        return
    counts = np.array([max(n_classes, 1)], dtype=np.intp)
    if type(tree) in REGRESSION_TREES:
        criterion = tree_parts.CRITERIA_REG[tree.criterion](1, n)
    else:
        criterion = tree_parts.CRITERIA_CLF[tree.criterion](1, counts)
    least = options.min_samples_leaf, options.min_weight_leaf
    rng = seeded(tree.random_state)
    splitter = tree_parts.DENSE_SPLITTERS[tree.splitter](
        criterion, tree.max_features_, *least, rng, None
    )
    rules = [splitter, options.min_samples_split, *least, options.max_depth]
    builder = tree_parts.DepthFirstTreeBuilder
    if options.max_leaf_nodes:
        builder = tree_parts.BestFirstTreeBuilder
        rules.append(options.max_leaf_nodes)
    tree.tree_ = tree_parts.Tree(p, counts, 1)
    target = np.ascontiguousarray(y, dtype=np.float64).reshape(-1, 1)
    builder(*rules, options.min_impurity_decrease).build(tree.tree_, X, target, weight)
    prune_tree(tree)


def single_precision(X: Any) -> Any:
    """X in single precision, as trees store it, a C-contiguous array or a CSR matrix."""
    check_single_precision(X)
    if sp.issparse(X):
        return X.tocsr().astype(np.float32)
    return np.ascontiguousarray(X, dtype=np.float32)


def single_precision_if_finite(X: Any) -> np.ndarray | None:
    """A dense X in single precision if all its values are finite there, else None."""
    if sp.issparse(X) or X.dtype.kind not in "fiub":
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        X = np.asarray(X, dtype=np.float32)
        return X if np.isfinite(np.sum(X)) or np.isfinite(X).all() else None


def on_grid(target: np.ndarray) -> np.ndarray:
    """Targets rounded to multiples of 2^-36 of their size, so that a tree's sums are exact.

    A tree breaks ties between equally good splits by the last bit of sums of weights times
    targets. On a grid such sums are exact for integer weights up to 2^17 in all: equal splits tie
    exactly, and integer weights choose the same split as repeated rows.
    """
    size = np.max(np.abs(target), initial=0.0)
    if not size > 0:
        return target
    step = np.ldexp(1.0, int(np.frexp(size)[1]) - 36)
    return np.round(target / step) * step if step > 0 else target


def member_input(estimator: Predictor, X, members: Sequence[Any] = ()) -> tuple:
    """Return X as the members take it, and whether they need not check it again.

    Trees store X in single precision: it is converted once instead of by every member. It stays as
    it is where one of the fitted `members` reads columns in double precision.
    """
    if not reads_single_precision(estimator):
        return X, False
    if reads_double(members):
        is_finite = not sp.issparse(X) and X.dtype.kind in "fiub" and np.isfinite(X).all()
        return (np.asarray(X, dtype=np.float64), True) if is_finite else (X, False)
    if members and not sp.issparse(X) and X.dtype.kind == "f":
        X = within_single_precision(X)
    converted = single_precision_if_finite(X)
    return (X, False) if converted is None else (converted, True)


def target_offset(estimator: Estimator, y: np.ndarray) -> float | np.ndarray:
    """What is subtracted from y before trees are grown; 0.0 where it can stay as it is."""
    if not reads_single_precision(estimator) or y.dtype.kind not in "fiu":
        return 0.0
    if estimator.criterion not in ("squared_error", "friedman_mse"):
        return 0.0
    return far_mean(y)


def add_to_outputs(member: Any, offset: float | np.ndarray) -> None:
    """Move the predictions of a fitted tree, in place."""
    if is_tree(member):
        value = member.tree_.value
        value += np.reshape(offset, (-1, 1))
    else:
        value = nodes_of(member).value
        value += offset


def fitted_tree(estimator: SklearnTree, tree: Any, classes: Any = None) -> Any:
    """`estimator`, one of scikit-learn's trees, fitted to this `Tree`; `classes` are the labels."""
    estimator.tree_ = tree
    estimator.n_features_in_ = tree.n_features
    estimator.n_outputs_ = tree.n_outputs
    if classes is not None:
        several = isinstance(classes, list)
        estimator.classes_ = classes
        estimator.n_classes_ = np.array(tree.n_classes) if several else len(classes)
    return estimator


def with_scaled_values(member: Any, factor: float) -> Any:
    """A copy of a fitted regression tree, whose predictions are multiplied by a factor."""
    state = tree_state(member.tree_)
    found = copy(member)
    found.tree_ = make_tree(
        state["nodes"], factor * state["values"], state["max_depth"], member.tree_.n_features
    )
    return found


def with_all_classes(member: Any, n_classes: Sequence[int]) -> Any:
    """A copy of a fitted classification tree, with values for all classes of its forest.

    `classes_` of the member are codes of the forest's classes; those of one output follow those of
    the one before. Its rows may lack classes, which then have the share 0.
    """
    state = tree_state(member.tree_)
    known = member.classes_ if isinstance(member.classes_, list) else [member.classes_]
    values = np.zeros((len(state["values"]), len(n_classes), max(n_classes)))
    start = 0
    for k, (codes, count) in enumerate(zip(known, n_classes)):
        places = np.asarray(codes, dtype=np.intp) - start
        shares = state["values"][:, k, : len(places)]
        values[:, k, :count] = aligned_columns(shares, places, count)
        start += count
    found = copy(member)
    found.tree_ = make_tree(
        state["nodes"], values, state["max_depth"], member.tree_.n_features, list(n_classes)
    )
    classes = [np.arange(count) for count in n_classes]
    one = len(n_classes) == 1
    found.classes_ = classes[0] if one else classes
    found.n_classes_ = n_classes[0] if one else np.asarray(n_classes)
    return found


# --- members of ensembles ------------------------------------------------------------------------


class RankedMembers:
    """Trees of scikit-learn's that share the ranks of X (see `_learners.PreparedMembers`)."""

    def __init__(self, ranks: Columns) -> None:
        self.ranks = ranks

    def fit(
        self,
        member: Any,
        rows: np.ndarray,
        y: np.ndarray,
        weights: np.ndarray | None,
        features: np.ndarray | None,
    ) -> Any:
        """Fit one member to rows and features of the columns."""
        ranks = self.ranks if features is None else take_features(self.ranks, features)
        X = RankedRows(ranks, None if len(rows) == ranks.shape[0] else rows)
        return fitted_in_units(member, X, y, sample_weight=weights)

    def fit_drawn(self, member: Any, rows: np.ndarray, y: np.ndarray) -> Any:
        """Fit one member to rows in the order drawn, by which a tree's sums are rounded."""
        return fitted_in_units(member, RankedRows(self.ranks, rows, are_drawn=True), y)


def ranked_members(
    tree: Any, X: np.ndarray, sample_weight: np.ndarray | None, n_jobs: int | None
) -> RankedMembers | None:
    """None for trees that scikit-learn grows."""
    ranks = columns_for(tree, X)
    return None if ranks is None else RankedMembers(ranks)


for _kind in TREES:
    register(_kind, prepare_members=ranked_members)
