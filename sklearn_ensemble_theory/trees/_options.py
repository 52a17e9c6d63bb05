"""What determines the growth of a tree, apart from the data.

`TreePlan` has the parameters of an estimator; for data of a known shape they become the numbers of
`GrowthOptions`, which growth reads.
"""

from dataclasses import dataclass, fields, replace
from math import ceil
from numbers import Integral, Real
from typing import Any, NamedTuple, Self, cast

import numpy as np
from sklearn.utils import check_random_state

from sklearn_ensemble_theory._features import Features, Interactions
from sklearn_ensemble_theory._running import seeded
from sklearn_ensemble_theory._typing import Fitted, TreeLearner

# The criteria whose nodes have quantiles of their targets.
QUANTILE_CRITERIA = ("absolute_error", "quantile")


@dataclass(frozen=True, kw_only=True)
class GrowthOptions:
    """How a tree is grown; the names are those of scikit-learn's trees, resolved to numbers.

    - n_classes: K of a classification tree, whose targets are codes 0 ... K-1; 0 for regression.
    - max_leaf_nodes: at least 2: the tree is grown best first. 0: depth first, without a limit.
    - min_samples_split, min_samples_leaf: numbers of rows, not of weight.
    - min_weight_leaf: least weight of a leaf, in units of the weights.
    - min_impurity_decrease: in units of the criterion; the weight of a node counts relative to the
      weight of all rows.
    - max_features: features drawn at each node, without replacement and in scikit-learn's way; 0
      for all of them.
    - features_per_tree: a tree is cut by the features of so many lowest ranks, which are drawn anew
      for each tree; 0 for all of them.
    - l2_regularization: added to the weight of a node in its value and in its gain; squared error
      only.
    - monotonic_cst: 1, -1 or 0 for each feature. For two classes it constrains the probability of
      the second.
    - bounded: all that grows below a cut of such a feature stays on its side of the middle of the
      children's means, so that the tree is monotonic. Otherwise each cut is, by itself.
    - interactions: which features may be cut on one path; None for all.
    - random_splits: one random cut for each drawn feature, as in extremely randomised trees.
    - cat_smooth: shrinks the means of categories; in units of the weights.
    - seed: of the draws of features and of random cuts, 0 to 2**31 - 2. A tree that is not grown by
      histograms also visits all features in the order of the generator, which decides ties.
    - quantile: of the criterion "quantile", in (0, 1).
    """

    criterion: str
    n_classes: int = 0
    max_depth: int = 2**31 - 1
    max_leaf_nodes: int = 0
    min_samples_split: int = 2
    min_samples_leaf: int = 1
    min_weight_leaf: float = 0.0
    min_impurity_decrease: float = 0.0
    max_features: int = 0
    features_per_tree: int = 0
    l2_regularization: float = 0.0
    monotonic_cst: Any = None
    bounded: bool = True
    interactions: Interactions | None = None
    random_splits: bool = False
    cat_smooth: float = 0.0
    seed: int = 0
    quantile: float = 0.5

    def has_histograms(self, n_rows: int) -> bool:
        """Whether boosting keeps a histogram for each leaf of trees on so many rows."""
        few = has_few_leaves(self.max_depth, self.max_leaf_nodes, n_rows)
        return few and not self.max_features

    @property
    def has_quantiles(self) -> bool:
        """Whether nodes have quantiles, not means, of their targets."""
        return self.criterion in QUANTILE_CRITERIA

    def of_features(self, features: np.ndarray) -> "GrowthOptions":
        """The options of a tree on some of the columns."""
        signs, interactions, n = self.monotonic_cst, self.interactions, len(features)
        if interactions is not None:
            interactions = Interactions(interactions.groups[:, features], interactions.most)
        return replace(
            self,
            features_per_tree=0,
            max_features=0 if self.max_features >= n else self.max_features,
            monotonic_cst=None if signs is None else np.asarray(signs)[features],
            interactions=interactions,
        )

    def constraints(self, n_features: int) -> np.ndarray:
        """`monotonic_cst` as an int8 array; zeros where there is none."""
        if self.monotonic_cst is None:
            return np.zeros(n_features, dtype=np.int8)
        return np.asarray(self.monotonic_cst, dtype=np.int8)


MAX_SEED = 2**31 - 1
# Deeper trees, and those with more leaves, are grown like those of a forest: they would need a
# histogram for each leaf.
MOST_LEVELS, MOST_LEAVES = 8, 512


def most_leaves(max_depth: int, max_leaf_nodes: int, n_rows: int) -> int:
    """The largest number of leaves; 0 for `max_leaf_nodes` is no limit."""
    most = min(2 ** min(max_depth, 30), n_rows)
    return min(most, max_leaf_nodes or most)


def has_few_leaves(max_depth: int, max_leaf_nodes: int, n_rows: int) -> bool:
    """Whether each leaf may have a histogram."""
    if max_leaf_nodes:
        return most_leaves(max_depth, max_leaf_nodes, n_rows) <= MOST_LEAVES
    return max_depth <= MOST_LEVELS


class TreeShape(NamedTuple):
    """What the parameters of a tree are relative to."""

    n_rows: int
    total_weight: float
    n_features: int
    n_classes: int  # 0 for regression


@dataclass(frozen=True, kw_only=True)
class TreePlan:
    """The parameters of a tree as they were given; growth never sees the estimator."""

    features: Features
    criterion: str
    splitter: str
    max_depth: int | None
    max_leaf_nodes: int | None
    min_samples_split: float
    min_samples_leaf: float
    min_weight_fraction_leaf: float
    min_impurity_decrease: float
    max_features: Any
    monotonic_cst: Any
    ccp_alpha: float
    random_state: Any
    max_bins: int = 0
    l2_regularization: float = 0.0
    min_weight_leaf: float | None = None
    features_per_tree: float | None = None
    target_components: int | None = None
    cat_smooth: float = 0.0
    interaction_cst: Any = None
    quantile: float = 0.5

    @classmethod
    def of(cls, tree: TreeLearner, n_features: int) -> Self:
        """The plan of a tree for so many columns."""
        given = vars(tree)
        parameters = {name: given[name] for name in PARAMETERS if name in given}
        return cls(features=Features.known_to(cast(Fitted, tree), n_features), **parameters)

    def options(
        self, shape: TreeShape, has_missing: bool, categorical: np.ndarray | None = None
    ) -> GrowthOptions:
        """The parameters as numbers, for data of this shape; a ValueError if they do not fit."""
        n, p = shape.n_rows, shape.n_features
        min_leaf, min_split = self.min_samples_leaf, self.min_samples_split
        # Python's integers, because those of NumPy may overflow below.
        min_leaf = int(min_leaf) if isinstance(min_leaf, Integral) else ceil(min_leaf * n)
        if isinstance(min_split, Integral):
            min_split = int(min_split)
        else:
            min_split = max(2, ceil(min_split * n))
        constraints = self.features.signs(self.monotonic_cst, shape.n_classes)
        interactions = self.features.interactions(self.interaction_cst)
        self._check(constraints, interactions, has_missing, categorical)
        if shape.n_classes == 1:  # as of some draws of rows: there is nothing to constrain
            constraints = None
        n_drawn = n_features_drawn(self.max_features, p)
        n_of_tree = n_features_drawn(self.features_per_tree, p)
        if n_of_tree > p:
            raise ValueError(f"features_per_tree={n_of_tree} is more than the {p} features of X.")
        least = self.min_weight_fraction_leaf * shape.total_weight
        least = max(float(least), float(self.min_weight_leaf or 0.0))
        is_random, given = self.splitter == "random", self.random_state
        seed = 0  # where nothing is drawn it orders equally good cuts
        if is_random or n_drawn < p or n_of_tree < p or given is not None:
            # As scikit-learn's splitter draws the seed of its own generator.
            rng = seeded(int(given)) if isinstance(given, Integral) else check_random_state(given)
            seed = int(rng.randint(0, MAX_SEED))
        return GrowthOptions(
            criterion="log_loss" if self.criterion == "entropy" else self.criterion,
            n_classes=shape.n_classes,
            max_depth=MAX_SEED if self.max_depth is None else int(self.max_depth),
            max_leaf_nodes=0 if self.max_leaf_nodes is None else int(self.max_leaf_nodes),
            min_samples_split=max(min_split, 2 * min_leaf),
            min_samples_leaf=min_leaf,
            min_weight_leaf=least,
            min_impurity_decrease=float(self.min_impurity_decrease),
            max_features=0 if n_drawn >= p else n_drawn,
            features_per_tree=0 if n_of_tree >= p else n_of_tree,
            l2_regularization=float(self.l2_regularization),
            monotonic_cst=constraints,
            interactions=interactions,
            random_splits=is_random,
            cat_smooth=float(self.cat_smooth),
            seed=seed,
            quantile=float(self.quantile) if self.criterion == "quantile" else 0.5,
        )

    def _check(
        self,
        constraints: np.ndarray | None,
        interactions: Interactions | None,
        has_missing: bool,
        categorical: np.ndarray | None,
    ) -> None:
        """Raise a ValueError for parameters that cannot be combined."""
        criterion, is_random = self.criterion, self.splitter == "random"
        has_quantiles, constrained = criterion in QUANTILE_CRITERIA, constraints is not None
        if self.l2_regularization and criterion != "squared_error":
            raise ValueError(
                "l2_regularization requires criterion='squared_error'; "
                f"got criterion={criterion!r}."
            )
        if constrained and has_missing and criterion in ("poisson", "log_loss", "entropy"):
            raise ValueError(
                f"monotonic_cst with criterion={criterion!r} requires X without missing values."
            )
        for name, is_given in (
            ("monotonic_cst", constrained),
            ("interaction_cst", interactions is not None),
        ):
            if has_quantiles and is_given:
                raise ValueError(f"criterion={criterion!r} in bins requires {name}=None.")
        if categorical is not None:
            check_no_quantiles(criterion)
            check_no_constraint(self.features, constraints, categorical)
            if self.ccp_alpha > 0:
                raise ValueError("ccp_alpha > 0 requires X without categorical features.")
        if is_random and (self.l2_regularization or (constrained and has_missing)):
            raise ValueError(
                "splitter='random' requires l2_regularization=0, and X without missing values with "
                "monotonic_cst."
            )


PARAMETERS = [field.name for field in fields(TreePlan) if field.name != "features"]


def check_no_quantiles(criterion: str) -> None:
    """Raise a ValueError if a cut of categories would be one by quantiles."""
    # Categories then have no order by which a cut of them is a best one.
    if criterion in QUANTILE_CRITERIA:
        raise ValueError(f"criterion={criterion!r} requires X without categorical features.")


def check_no_constraint(
    features: Features, constraints: np.ndarray | None, categorical: np.ndarray
) -> None:
    """Raise a ValueError if a categorical feature has a monotonic constraint."""
    for j in [] if constraints is None else np.flatnonzero(constraints * categorical).tolist():
        raise ValueError(
            f"monotonic_cst constrains feature {features.label(j)}, which is categorical."
        )


def n_features_drawn(max_features: Any, p: int) -> int:
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
