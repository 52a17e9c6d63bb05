"""What the two trees over binned columns share: parameters, targets and the fitted tree."""

from dataclasses import replace
from math import ceil
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import is_classifier
from sklearn.utils import check_random_state
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets

from sklearn_ensemble_theory._compat import Interval
from sklearn_ensemble_theory._conversion.fitted_trees import fitted_tree
from sklearn_ensemble_theory._conversion.to_sklearn import ToSklearnMixin, shared_parameters
from sklearn_ensemble_theory._data.validation import validate_data
from sklearn_ensemble_theory._numerics.scaling import mean_from_first, within_range
from sklearn_ensemble_theory._trees import check_counts
from sklearn_ensemble_theory._weights import rows_of_positive_weight
from sklearn_ensemble_theory.trees._binned.columns import MOST_BINS, BinnedColumns
from sklearn_ensemble_theory.trees._binned.growth import grow_tree
from sklearn_ensemble_theory.trees._binned.growth_options import GrowthOptions
from sklearn_ensemble_theory.trees._binned.tree_arrays import GrownTree, TreeArrays
from sklearn_ensemble_theory.trees._estimators.tree_predictions import TreePredictions

__all__ = ["MAX_SEED", "BaseBinnedTree", "TreeShape", "grown_arrays", "growth_options"]

# Targets whose largest absolute value is outside this range are multiplied by a power of 2: their
# squares would overflow, or be so small that the tree takes every node as pure.
_USUAL_SIZES = (1e-3, 1e100)
MAX_SEED = 2**31 - 1


class TreeShape(NamedTuple):
    """What the parameters of a tree are relative to."""

    n_rows: int
    total_weight: float
    n_features: int
    n_classes: int  # 0 for regression


class BaseBinnedTree(TreePredictions, ToSklearnMixin):
    """Growth on binned columns for subclasses of scikit-learn's trees, which predict as those do.

    The nodes are kept as arrays until `tree_` is asked for.
    """

    _parameter_constraints: ClassVar[dict] = {
        "max_bins": [Interval(Integral, 2, MOST_BINS, closed="both")],
    }
    criterion: str
    max_bins: int
    max_features: Any
    class_weight: Any
    ccp_alpha: float
    _grown: GrownTree
    _prune_tree: Any  # of scikit-learn's trees

    def _scikit_learn_tree(self) -> Any:
        """The tree as scikit-learn's `Tree`, made when it is first asked for."""
        if "_grown" not in self.__dict__:
            raise AttributeError(f"This {type(self).__name__} has no attribute 'tree_' before fit.")
        return self._grown.tree

    def _replace_tree(self, tree: Any) -> None:
        self._grown.tree = tree

    # With a setter, because scikit-learn's pruning sets it.
    tree_ = property(_scikit_learn_tree, _replace_tree)

    def _nodes(self) -> TreeArrays:
        """The nodes of the fitted tree, without making `tree_`."""
        return self._grown.nodes

    def __sklearn_is_fitted__(self) -> bool:
        return "_grown" in self.__dict__

    def _unfitted_counterpart(self) -> Any:
        return self._sklearn_class(**shared_parameters(self))

    def _counterpart(self) -> Any:
        classes = getattr(self, "classes_", None)
        n_classes = 1 if classes is None else len(classes)
        tree = self._nodes().sklearn_tree(self.n_features_in_, n_classes)
        found = fitted_tree(self._unfitted_counterpart(), tree, classes)
        found.max_features_ = self.max_features_
        return found

    def _support_missing_values(self, X: Any) -> bool:
        # scikit-learn 1.6 refuses missing values in `predict` of trees with `monotonic_cst`.
        return True

    def _validate_X_predict(self, X: Any, check_input: bool) -> Any:
        # Of what overflows in single precision scikit-learn's next check raises an error.
        with np.errstate(over="ignore", invalid="ignore"):
            return super()._validate_X_predict(X, check_input)

    def _fit_to_bins(self, X: Any, y: Any, sample_weight: ArrayLike | None, check: bool) -> None:
        """`fit`, which sets all attributes at its end."""
        is_class = is_classifier(self)
        if check:
            X, y = validate_data(
                self,
                X,
                y,
                dtype=[np.float32, np.float64],
                ensure_all_finite="allow-nan",
                y_numeric=not is_class,
            )
        y = np.asarray(y)
        if y.ndim != 1:
            raise ValueError(f"y must have one output; got an array of shape {y.shape}.")
        kept = None if sample_weight is None else rows_of_positive_weight(sample_weight, X)
        weight = None if kept is None else kept.weight
        if is_class:
            check_classification_targets(y)
            classes, target = np.unique(y, return_inverse=True)
            n_classes = len(classes)
        else:
            classes, n_classes = None, 0
            # Writable, because numba compiles its loops once more for arrays that are not.
            target = np.require(y, np.float64, ["C", "W"])
            check_counts(self, target)
        by_class = None
        if getattr(self, "class_weight", None) is not None:
            by_class = compute_sample_weight(self.class_weight, y)
        if kept is not None:
            X, target = kept.take(X, target)
            by_class = None if by_class is None else kept.take(by_class)
        columns = BinnedColumns.of(X, self.max_bins, weight, wide=True)
        columns.are_for_one_tree = True
        if by_class is not None:
            weight = by_class if weight is None else weight * by_class
            if weight.min() < 0 or not weight.max() > 0:
                raise ValueError(
                    "class_weight must not be negative, and be positive for a class of y, got "
                    f"{self.class_weight!r}."
                )
        self._grow_on(columns, target, weight, classes=classes, n_classes=n_classes)
        self._prune()

    def _grow_on(
        self,
        columns: BinnedColumns,
        target: np.ndarray,
        weight: np.ndarray | None,
        rows: np.ndarray | None = None,
        *,
        classes: np.ndarray | None = None,
        n_classes: int = 0,
    ) -> None:
        """Grow the tree on rows of columns in bins, and set the fitted attributes."""
        total = float(len(target) if weight is None else weight.sum())
        shape = TreeShape(len(target), total, columns.n_features, n_classes)
        options = growth_options(self, shape, bool(columns.has_missing.any()))
        self._set_fitted(grown_arrays(columns, target, weight, rows, options), shape, classes)

    def _set_fitted(self, arrays: TreeArrays, shape: TreeShape, classes: np.ndarray | None) -> None:
        self.n_features_in_ = shape.n_features
        self.n_outputs_ = 1
        self.max_features_ = _n_features_drawn(self.max_features, shape.n_features)
        if classes is not None:
            self.classes_, self.n_classes_ = classes, len(classes)
        self._grown = GrownTree(arrays, shape.n_features, max(shape.n_classes, 1))

    def _prune(self) -> None:
        if self.ccp_alpha > 0:
            self._prune_tree()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = False
        tags.input_tags.allow_nan = True
        tags.target_tags.multi_output = False
        tags.target_tags.single_output = True
        if tags.classifier_tags is not None:
            tags.classifier_tags.multi_label = False
        return tags


def growth_options(tree: Any, shape: TreeShape, has_missing: bool) -> GrowthOptions:
    """The parameters of a tree as numbers, for data of this shape.

    Raises
    ------
    ValueError
        If `monotonic_cst` does not fit the data, or is combined with what it does not work with.
    """
    n, p = shape.n_rows, shape.n_features
    min_leaf, min_split = tree.min_samples_leaf, tree.min_samples_split
    # Python's integers, because those of NumPy may overflow below.
    min_leaf = int(min_leaf) if isinstance(min_leaf, Integral) else ceil(min_leaf * n)
    min_split = int(min_split) if isinstance(min_split, Integral) else max(2, ceil(min_split * n))
    criterion = "log_loss" if tree.criterion == "entropy" else tree.criterion
    l2 = float(getattr(tree, "l2_regularization", 0.0))
    if l2 and criterion != "squared_error":
        raise ValueError(
            "l2_regularization requires criterion='squared_error'; "
            f"got criterion={tree.criterion!r}."
        )
    constraints = _checked_constraints(tree.monotonic_cst, p, shape.n_classes)
    if constraints is not None and has_missing and criterion in ("poisson", "log_loss"):
        raise ValueError(
            f"monotonic_cst with criterion={tree.criterion!r} requires X without missing values."
        )
    is_random = tree.splitter == "random"
    if is_random and (l2 or (constraints is not None and has_missing)):
        raise ValueError(
            "splitter='random' requires l2_regularization=0, and X without missing values with "
            "monotonic_cst."
        )
    n_drawn = _n_features_drawn(tree.max_features, p)
    seed = 0  # where nothing is drawn it orders equally good cuts
    if is_random or n_drawn < p or tree.random_state is not None:
        # As scikit-learn's splitter draws the seed of its own generator.
        seed = int(check_random_state(tree.random_state).randint(0, MAX_SEED))
    return GrowthOptions(
        criterion=criterion,
        n_classes=shape.n_classes,
        max_depth=MAX_SEED if tree.max_depth is None else int(tree.max_depth),
        max_leaf_nodes=0 if tree.max_leaf_nodes is None else int(tree.max_leaf_nodes),
        min_samples_split=max(min_split, 2 * min_leaf),
        min_samples_leaf=min_leaf,
        min_weight_leaf=float(tree.min_weight_fraction_leaf * shape.total_weight),
        min_impurity_decrease=float(tree.min_impurity_decrease),
        max_features=0 if n_drawn >= p else n_drawn,
        l2_regularization=l2,
        monotonic_cst=constraints,
        random_splits=is_random,
        seed=seed,
    )


def grown_arrays(
    columns: BinnedColumns,
    target: np.ndarray,
    weight: np.ndarray | None,
    rows: np.ndarray | None,
    options: GrowthOptions,
) -> TreeArrays:
    """`grow_tree` for targets of any size, whose regularised values shrink to the target's mean."""
    if options.n_classes:
        return grow_tree(columns, target, weight, rows, options)
    centre = 0.0
    if options.l2_regularization > 0:
        with np.errstate(over="ignore", invalid="ignore"):
            centre = float(np.average(target, weights=weight))
        if not np.isfinite(centre):  # the sum is beyond the largest float
            shares = None if weight is None else weight / weight.sum()
            centre = float(mean_from_first(target, shares))
        with np.errstate(over="ignore"):
            target = target - centre
        if not np.isfinite(target).all():
            raise ValueError("y has differences beyond the largest float; scale y.")
    size = float(np.max(np.abs(target), initial=0.0))
    if size == 0 or _USUAL_SIZES[0] <= size <= _USUAL_SIZES[1]:
        arrays = grow_tree(columns, target, weight, rows, options)
        return replace(arrays, value=arrays.value + centre) if centre else arrays
    exponent = int(np.frexp(size)[1])
    power = exponent if options.criterion == "poisson" else 2 * exponent
    with np.errstate(over="ignore", under="ignore"):
        scaled = replace(
            options,
            min_impurity_decrease=float(np.ldexp(options.min_impurity_decrease, -power)),
        )
        arrays = grow_tree(columns, np.ldexp(target, -exponent), weight, rows, scaled)
        return replace(
            arrays,
            value=within_range(np.ldexp(arrays.value, exponent) + centre),
            impurity=np.ldexp(arrays.impurity, power),
        )


def _n_features_drawn(max_features: Any, p: int) -> int:
    """Features drawn at a node, from the parameter."""
    if max_features is None:
        return p
    if max_features == "sqrt":
        return max(1, int(np.sqrt(p)))
    if max_features == "log2":
        return max(1, int(np.log2(p)))
    if isinstance(max_features, Integral):
        return int(max_features)
    if isinstance(max_features, Real):
        return max(1, int(float(max_features) * p))
    raise ValueError(f"max_features must be a number, 'sqrt', 'log2' or None; got {max_features}.")


def _checked_constraints(monotonic_cst: Any, p: int, n_classes: int) -> np.ndarray | None:
    """`monotonic_cst` as an int8 array; None where nothing is constrained."""
    if monotonic_cst is None:
        return None
    given = np.asarray(monotonic_cst)
    if given.shape != (p,):
        raise ValueError(
            f"monotonic_cst has shape {given.shape} but the input data X has {p} features."
        )
    if not np.isin(given, (-1, 0, 1)).all():
        raise ValueError(
            f"monotonic_cst must be None or an array-like of -1, 0 or 1, but got {np.unique(given)}"
        )
    if n_classes > 2:
        raise ValueError(
            "monotonic_cst: constraints are not supported with multiclass classification; "
            f"y has {n_classes} classes."
        )
    return given.astype(np.int8) if given.any() else None
