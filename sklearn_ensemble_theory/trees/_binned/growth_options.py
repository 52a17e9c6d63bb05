"""What determines the growth of a tree, apart from the data."""

from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["CRITERIA", "GrowthOptions"]

# The numbers by which the loops know the criteria. With S the weighted sum of the targets and W the
# weight of a node, a split maximises the sum over both children of
#   squared_error  S² / (W + l2)
#   poisson        S log(S / W)
#   gini           sum_k S_k² / W, with S_k the weight of class k
#   log_loss       sum_k S_k log(S_k / W)
CRITERIA = {"squared_error": 0, "poisson": 1, "gini": 2, "log_loss": 3}


@dataclass(frozen=True, kw_only=True)
class GrowthOptions:
    """How a tree is grown; the names are those of scikit-learn's trees, resolved to numbers.

    Parameters
    ----------
    criterion : {"squared_error", "poisson", "gini", "log_loss"}
    n_classes : int, default=0
        Number of classes K of a classification tree, whose targets are codes 0 ... K-1; 0 for
        regression.
    max_depth : int, default=2**31 - 1
    max_leaf_nodes : int, default=0
        At least 2: the tree is grown best first. 0: depth first, without a limit.
    min_samples_split, min_samples_leaf : int
        Numbers of rows, not of weight.
    min_weight_leaf : float
        Least weight of a leaf, in units of the weights.
    min_impurity_decrease : float
        In units of the criterion; the weight of a node counts relative to the weight of all rows.
    max_features : int, default=0
        Features drawn at each node, without replacement and in scikit-learn's way; 0 for all of
        them.
    l2_regularization : float
        Added to the weight of a node in its value and in its gain; squared error only.
    monotonic_cst : int8 array of shape (p,), default=None
        1, -1 or 0 for each feature. For two classes it constrains the probability of the second.
    random_splits : bool, default=False
        One random cut for each drawn feature, as in extremely randomised trees.
    seed : int, default=0
        Seed of the draws of features and of random cuts, 0 to 2**31 - 2. A tree that is not grown
        by histograms also visits all features in the order of the generator, which decides ties.
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
    l2_regularization: float = 0.0
    monotonic_cst: Any = None
    random_splits: bool = False
    seed: int = 0

    def constraints(self, n_features: int) -> np.ndarray:
        """`monotonic_cst` as an int8 array; zeros where there is none."""
        if self.monotonic_cst is None:
            return np.zeros(n_features, dtype=np.int8)
        return np.asarray(self.monotonic_cst, dtype=np.int8)
