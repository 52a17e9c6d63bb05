"""The engine of `trees`, as the tests of growth, codes and layouts call it.

The tests name the modules of `trees` here only: a name that moves is changed in one place."""

from sklearn_ensemble_theory.trees import (
    _binned_tree,
    _columns,
    _packed,
    _vector_growth,
    _weak_learners,
)
from sklearn_ensemble_theory.trees._binned_tree import binned_equivalent
from sklearn_ensemble_theory.trees._columns import MISSING, MOST_BINS, BinnedColumns
from sklearn_ensemble_theory.trees._draws import FeatureDraws
from sklearn_ensemble_theory.trees._growth import (
    HistogramGrower,
    WeightUnits,
    grow_tree,
    weight_units,
)
from sklearn_ensemble_theory.trees._histogram_growth import Grid, HistogramGrowth
from sklearn_ensemble_theory.trees._histograms import (
    GridUnits,
    TreeReply,
    after_splits,
    counted_nodes,
    given_targets,
    goes_left,
)
from sklearn_ensemble_theory.trees._isotonic import isotonic_regression, leaf_order
from sklearn_ensemble_theory.trees._options import GrowthOptions
from sklearn_ensemble_theory.trees._packed import (
    AddedTrees,
    CodedTrees,
    DeepTrees,
    LooseTrees,
    PackedCache,
    SmallTrees,
    add_in_threads,
    each_tree,
    packed_places,
    packed_trees,
    single_precision_cuts,
)
from sklearn_ensemble_theory.trees._ranks import (
    RankedRows,
    columns_for,
    grows_on_ranks,
    ranks_of,
    take_features,
)
from sklearn_ensemble_theory.trees._sklearn_trees import fitted_in_units, on_grid, ranked_members
from sklearn_ensemble_theory.trees._tree_arrays import (
    LEAF,
    ArrayTree,
    LeafOutputs,
    add_multiple,
    grown_tree,
    member_nodes,
    nodes_of,
)
from sklearn_ensemble_theory.trees._vector_growth import VectorGrower
from sklearn_ensemble_theory.trees._weak_learners import (
    BinnedMembers,
    drawn_rows,
    monotonic_after_growth,
    selected_rows,
)

__all__ = [
    "LEAF",
    "MISSING",
    "MOST_BINS",
    "AddedTrees",
    "ArrayTree",
    "BinnedColumns",
    "BinnedMembers",
    "CodedTrees",
    "DeepTrees",
    "FeatureDraws",
    "Grid",
    "GridUnits",
    "GrowthOptions",
    "HistogramGrower",
    "HistogramGrowth",
    "LeafOutputs",
    "LooseTrees",
    "PackedCache",
    "RankedRows",
    "SmallTrees",
    "TreeReply",
    "VectorGrower",
    "WeightUnits",
    "_binned_tree",
    "_columns",
    "_packed",
    "_vector_growth",
    "_weak_learners",
    "add_in_threads",
    "add_multiple",
    "after_splits",
    "binned_equivalent",
    "columns_for",
    "counted_nodes",
    "drawn_rows",
    "each_tree",
    "fitted_in_units",
    "given_targets",
    "goes_left",
    "grow_tree",
    "grown_tree",
    "grows_on_ranks",
    "isotonic_regression",
    "leaf_order",
    "member_nodes",
    "monotonic_after_growth",
    "nodes_of",
    "on_grid",
    "packed_places",
    "packed_trees",
    "ranked_members",
    "ranks_of",
    "selected_rows",
    "single_precision_cuts",
    "take_features",
    "weight_units",
]
