"""The growth of trees over binned columns, by the route that this process has."""

from dataclasses import replace
from typing import Protocol

import numpy as np

from sklearn_ensemble_theory._hot_loops.compilation import uses_numba
from sklearn_ensemble_theory.trees._binned import code_trees
from sklearn_ensemble_theory.trees._binned.columns import BinnedColumns
from sklearn_ensemble_theory.trees._binned.growth_options import GrowthOptions
from sklearn_ensemble_theory.trees._binned.tree_arrays import TreeArrays

__all__ = ["HistogramGrower", "grow_tree", "histogram_grower"]


class HistogramGrower(Protocol):
    """Grows trees for boosting, on the same columns in every round.

    The options may be replaced between trees by others of the same depth, leaves and features.
    """

    options: GrowthOptions

    def grow(
        self,
        gradient: np.ndarray,
        weight: np.ndarray | None,
        rows: np.ndarray | None,
        seed: int | None = None,
        rank: np.ndarray | None = None,
    ) -> tuple[TreeArrays, np.ndarray]:
        """A tree fitted to the targets `gradient`.

        Parameters
        ----------
        gradient : float64 array of shape (n,)
        weight : float64 array of shape (n,) or None
        rows : int array, increasing, or None
            The rows that the tree is grown on; None for all.
        seed : int, default=None
            Of the draws of features, 0 to 2**31 - 2; None takes that of the options.
        rank : int array of shape (p,), default=None
            Of equally good splits the one of the feature of the lowest rank is taken; None is the
            order of the features. Where features are drawn, the seed decides.

        Returns
        -------
        tree : TreeArrays
        node : int array of shape (n,)
            The leaf of every one of the n rows.
        """
        ...


def grow_tree(
    columns: BinnedColumns,
    target: np.ndarray,
    weight: np.ndarray | None,
    rows: np.ndarray | None,
    options: GrowthOptions,
) -> TreeArrays:
    """Grow a tree; both routes give the same one up to ties and rounding.

    Parameters
    ----------
    columns : BinnedColumns
    target : array of shape (m,)
        Numbers (float64), or the classes 0 ... K-1 (integers).
    weight : float64 array of shape (m,) or None
    rows : int array of shape (m,) or None
        The rows of `columns` that target and weight belong to; None for all of them.
    options : GrowthOptions
    """
    # One class or row needs no search: scikit-learn's tree is a leaf.
    if uses_numba() and options.n_classes != 1 and len(target) > 1:
        from sklearn_ensemble_theory.trees._binned import compiled_growth

        return compiled_growth.grow(columns, target, weight, rows, options)
    if code_trees.supports(columns, options):
        return code_trees.grow_on_codes(columns, target, weight, rows, options)
    return _grow_by_histograms(columns, target, weight, rows, options)


def _grow_by_histograms(columns, target, weight, rows, options):
    """A tree by least squares, for what scikit-learn's trees do not have.

    The Gini index of two classes is twice the variance of the codes 0 and 1.
    """
    if rows is not None:
        columns = columns.take_rows(rows)
    columns = columns.in_one_byte()
    target = np.asarray(target, dtype=np.float64)
    if not options.n_classes:
        return histogram_grower(columns, options, 1).grow(target, weight, None)[0]
    half = 0.5 * options.min_impurity_decrease
    options = replace(options, criterion="squared_error", n_classes=0, min_impurity_decrease=half)
    tree, _ = histogram_grower(columns, options, 1).grow(target, weight, None)
    shares = np.column_stack([1.0 - tree.value, tree.value])
    return replace(tree, value=shares, impurity=2.0 * tree.impurity)


def histogram_grower(
    columns: BinnedColumns, options: GrowthOptions, n_threads: int
) -> HistogramGrower:
    """What grows trees by least squares on these columns in every round of a boosting algorithm."""
    if uses_numba() and columns.codes.dtype == np.uint8:
        try:
            from sklearn_ensemble_theory.trees._binned import compiled_histograms

            return compiled_histograms.grower(columns, options, n_threads)
        except ImportError:
            pass
    from sklearn_ensemble_theory.trees._binned import histogram_growth

    if code_trees.is_faster(columns, options):
        return code_trees.CodeTreeGrower(columns, options)
    return histogram_growth.NumpyHistogramGrower(columns, options, n_threads)
