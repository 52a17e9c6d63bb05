"""The compiled loops, as their tests call them: the only file here that names `_native`."""

from sklearn_ensemble_theory._native import additive
from sklearn_ensemble_theory._native.additive import (
    RowResiduals,
    TableResiduals,
    add_pair_tables,
    add_stump_sums,
    add_tables,
    boost_stumps,
    cumulate_tables,
    scale_cut_products,
    smooth,
    subtract_cells,
    sum_cells,
    tabulate_cuts,
)
from sklearn_ensemble_theory._native.binning import EdgeTable, are_told_apart, sorted_floats
from sklearn_ensemble_theory._native.boosted_trees import BoostedTrees, count_in_bins
from sklearn_ensemble_theory._native.exact_trees import (
    Keys,
    Ranks,
    Stored,
    keys_of,
    rank_values,
)
from sklearn_ensemble_theory._native.exact_trees import grow as grow_exact
from sklearn_ensemble_theory._native.forest_trees import grow_tree
from sklearn_ensemble_theory._native.inference import (
    BYTES,
    byte_tables,
    exact_order_statistics,
    leaf_quantiles,
    rows_near_rank,
    turn,
    undecided,
)
from sklearn_ensemble_theory._native.inference import add_tables as add_tables_of_inference
from sklearn_ensemble_theory._native.losses import (
    Loss,
    add_group_sums,
    huber_slopes,
    mean_curvature,
    newton_targets,
    residual_ranges,
)
from sklearn_ensemble_theory._native.neighbors import PointTree, leave_out, tie_starts
from sklearn_ensemble_theory._native.prediction import (
    LooseNodes,
    add_coded_trees,
    add_deep_values,
    add_leaf_values,
    add_small_trees,
    check_nodes,
    coded_nodes,
    codes_of_blocks,
    leaves_of_codes,
    small_nodes,
)
from sklearn_ensemble_theory._native.relu import best_hinge, bin_moments
from sklearn_ensemble_theory._native.stumps import (
    SideSearch,
    add_votes,
    exponential_weights,
    moved_scores,
    moved_sums,
    weighted_votes,
)
from sklearn_ensemble_theory._native.vector_trees import grow_vectors

__all__ = [
    "BYTES",
    "BoostedTrees",
    "EdgeTable",
    "Keys",
    "LooseNodes",
    "Loss",
    "PointTree",
    "Ranks",
    "RowResiduals",
    "SideSearch",
    "Stored",
    "TableResiduals",
    "add_coded_trees",
    "add_deep_values",
    "add_group_sums",
    "add_leaf_values",
    "add_pair_tables",
    "add_small_trees",
    "add_stump_sums",
    "add_tables",
    "add_tables_of_inference",
    "add_votes",
    "additive",
    "are_told_apart",
    "best_hinge",
    "bin_moments",
    "boost_stumps",
    "byte_tables",
    "check_nodes",
    "coded_nodes",
    "codes_of_blocks",
    "count_in_bins",
    "cumulate_tables",
    "exact_order_statistics",
    "exponential_weights",
    "grow_exact",
    "grow_tree",
    "grow_vectors",
    "huber_slopes",
    "keys_of",
    "leaf_quantiles",
    "leave_out",
    "leaves_of_codes",
    "mean_curvature",
    "moved_scores",
    "moved_sums",
    "newton_targets",
    "rank_values",
    "residual_ranges",
    "rows_near_rank",
    "scale_cut_products",
    "small_nodes",
    "smooth",
    "sorted_floats",
    "subtract_cells",
    "sum_cells",
    "tabulate_cuts",
    "tie_starts",
    "turn",
    "undecided",
    "weighted_votes",
]
