"""What surrounds every fit (rows, blocks, folds, bins, columns), as its tests call it.

The tests of these modules name them here only: a name that moves is changed in one place."""

from sklearn_ensemble_theory import _bins, _blocks, _door, _running
from sklearn_ensemble_theory._batches import BatchBlocks
from sklearn_ensemble_theory._bins import (
    QuantileSketch,
    bin_codes,
    bin_codes_by_blocks,
    bin_edges_from_quantiles,
    check_bin_edges,
    sum_of_tables,
)
from sklearn_ensemble_theory._blocks import (
    DaskBlocks,
    GroupedBlocks,
    TreeSum,
    added,
    applied,
    first_of,
    in_tree_order,
    row_blocks,
    second_of,
    split_arguments,
    tree_sum,
)
from sklearn_ensemble_theory._categories import CategoricalColumns, fitted_categories
from sklearn_ensemble_theory._copies import copies_of, share_of_copies
from sklearn_ensemble_theory._door import fit_blocks, fit_context
from sklearn_ensemble_theory._features import DATE_FORMS, TIME_FORMS, Features
from sklearn_ensemble_theory._folds import Draw, fold_numbers, folds_by_hash
from sklearn_ensemble_theory._graphs import own_graphs
from sklearn_ensemble_theory._learners import (
    ClassTask,
    JointTask,
    LeastSquaresTask,
    SignTask,
    fast_path,
    has_fast_path,
    outputs_have_scale,
    predict_codes,
    predict_validated,
    prepare_members,
    prepare_rounds,
    register,
)
from sklearn_ensemble_theory._roots import root_of_increasing, root_of_jumps
from sklearn_ensemble_theory._rows import (
    ChunkedRows,
    RowChecks,
    Rows,
    checked_target,
    in_usual_units,
    normalised_weights,
    positive_weights,
)
from sklearn_ensemble_theory._running import (
    Progress,
    blas_threads_by_work,
    one_blas_thread,
    threads_for,
)
from sklearn_ensemble_theory._scaling import mean_from_first
from sklearn_ensemble_theory._worker_memory import WorkerRoom, check_room, room_of_worker

__all__ = [
    "DATE_FORMS",
    "TIME_FORMS",
    "BatchBlocks",
    "CategoricalColumns",
    "ChunkedRows",
    "ClassTask",
    "DaskBlocks",
    "Draw",
    "Features",
    "GroupedBlocks",
    "JointTask",
    "LeastSquaresTask",
    "Progress",
    "QuantileSketch",
    "RowChecks",
    "Rows",
    "SignTask",
    "TreeSum",
    "WorkerRoom",
    "_bins",
    "_blocks",
    "_door",
    "_running",
    "added",
    "applied",
    "bin_codes",
    "bin_codes_by_blocks",
    "bin_edges_from_quantiles",
    "blas_threads_by_work",
    "check_bin_edges",
    "check_room",
    "checked_target",
    "copies_of",
    "fast_path",
    "first_of",
    "fit_blocks",
    "fit_context",
    "fitted_categories",
    "fold_numbers",
    "folds_by_hash",
    "has_fast_path",
    "in_tree_order",
    "in_usual_units",
    "mean_from_first",
    "normalised_weights",
    "one_blas_thread",
    "outputs_have_scale",
    "own_graphs",
    "positive_weights",
    "predict_codes",
    "predict_validated",
    "prepare_members",
    "prepare_rounds",
    "register",
    "room_of_worker",
    "root_of_increasing",
    "root_of_jumps",
    "row_blocks",
    "second_of",
    "share_of_copies",
    "split_arguments",
    "sum_of_tables",
    "threads_for",
    "tree_sum",
]
