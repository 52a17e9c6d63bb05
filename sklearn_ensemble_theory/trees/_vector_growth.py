"""Growth of trees whose leaves hold vectors: one tree for q targets, split by their summed gain.

    sum over targets of  S_left² / (W_left + l2) + S_right² / (W_right + l2)

The compiled growth is that of `_native/vector_trees.pyx`. Every number of a row is a multiple of a
power of 2 such that sums of all rows are exact as doubles: any number of threads grows the same
tree, and what remains of a node without one child is the other.

A cut of categories is one of their order by the first principal component of their mean vectors in
the node, shrunk by `cat_smooth` (Coppersmith, Hong and Hosking 1999). Classes of several outputs
are indicators: with unit weights the gain is then that of the Gini index, summed over outputs.

With fewer components than targets, cuts are searched by the targets' projections on the principal
components of their matrix (the sketches of Iosipovoi and Vakhrushev 2022), and the leaves get the
means of all targets.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import xlogy

from sklearn_ensemble_theory._native.vector_trees import grow_vectors
from sklearn_ensemble_theory._scaling import impurities_shifted_by

from ._columns import BinnedColumns
from ._options import GrowthOptions
from ._tree_arrays import TreeArrays

# The places of a row's numbers: its weight, 1, and then the targets (see _native/vector_trees.pyx).
WEIGHT, COUNT, FIRST = 0, 1, 2
# Sums stay below 2^52, where doubles hold every integer.
_SUM_BITS = 52
# Whole weights of at most this sum leave enough bits to round the targets before they are weighted.
_WHOLE_SUM = 2.0**28
# Numbers of a table of rows that are made at once: they stay in the processor's cache.
_BLOCK = 2**15
# Nodes of at most so many rows have no table of sums in bins.
FEW_ROWS = 512
# A weight may be below a limit by this share of it.
_ROUNDING = 1e-15
# Principal components are those of at most so many rows.
_COMPONENT_ROWS = 2**13
_LARGEST_EXPONENT = 1020


class RowVectors:
    """The numbers of the rows whose sums are exact, (n, D), and what they are multiples of.

    With weights (n, q) each target has weights of its own. `unscaled` targets are indicators, which
    are summed as they are.

    - values: weight, 1, q weighted targets, q weights where targets have their own, and zeros.
    - exponent: the targets are multiplied by 2 to minus this.
    - least_weight: no weight of a row is below this.
    - squares: sums over targets of weights times squares, exact up to rounding.
    - sizes: the mean size of each target.
    """

    def __init__(
        self,
        target: np.ndarray,
        weight: np.ndarray | None,
        rows: np.ndarray | None,
        unscaled: bool = False,
    ) -> None:
        n, q = target.shape
        self.q, self.weighs_targets = q, weight is not None and weight.ndim == 2
        width = FIRST + q * (1 + self.weighs_targets)
        self.values = values = _in_lines((n, -(-width // 4) * 4))
        values[:, width:] = 0.0
        self.squares = np.empty(n)
        block = max(1, _BLOCK // q)
        blocks = [slice(first, first + block) for first in range(0, n, block)]
        # Sizes of weighted targets and sums of weights, of the rows that count.
        counts = np.ones(n) if rows is None else np.bincount(rows, minlength=n).astype(float)
        own = None if weight is None else weight.reshape(n, -1)
        sizes, totals = np.zeros(q), np.zeros(1 if own is None else own.shape[1])
        for part in blocks:
            mass = counts[part, None] if own is None else own[part] * counts[part, None]
            size = np.abs(target[part])
            size *= mass
            sizes += size.sum(axis=0)
            totals += mass.sum(axis=0)
        total = float(totals.max())
        whole = (
            weight is not None
            and weight.ndim == 1
            and total <= _WHOLE_SUM
            and bool((weight == np.rint(weight)).all())
        )
        self.sizes = sizes / total
        largest = float(self.sizes.max(initial=0.0))
        self.exponent = 0
        if 0 < largest < np.inf and not unscaled:
            exponent = int(np.frexp(largest)[1])
            self.exponent = int(np.clip(exponent, -_LARGEST_EXPONENT, _LARGEST_EXPONENT))
        scaled = np.ldexp(sizes, -self.exponent)
        fine = _exponents(scaled)
        with np.errstate(over="ignore"):
            up, down = np.ldexp(1.0, fine - self.exponent), np.ldexp(1.0, -fine)
        is_tiny = not np.isfinite(up).all()
        weight_exponent = int(_exponents(np.array([total]))[0])
        self.least_weight = 1.0 if weight is None else float(np.ldexp(1.0, -weight_exponent))

        # The targets are rounded before whole weights multiply them, so that weight 2 is two rows.
        for part in blocks:
            some, t = values[part], target[part]
            t = np.ldexp(t, fine - self.exponent) if is_tiny else t * up
            some[:, COUNT] = some[:, WEIGHT] = 1.0
            mass = some[:, WEIGHT, None]
            if weight is not None:
                if self.weighs_targets:
                    mass = some[:, FIRST + q : FIRST + 2 * q]
                    mass[:] = _rounded(weight[part], weight_exponent)
                    some[:, WEIGHT] = _rounded(weight[part].mean(axis=1), weight_exponent)
                elif whole:
                    some[:, WEIGHT] = weight[part]
                    np.rint(t, out=t)
                else:
                    some[:, WEIGHT] = _rounded(weight[part], weight_exponent)
                t *= weight[part].reshape(len(t), -1)
            np.rint(t, out=t)
            t *= down
            some[:, FIRST : FIRST + q] = t
            np.multiply(t, t, out=t)
            t /= mass
            self.squares[part] = t.sum(axis=1)

    def weights(self, sums: np.ndarray) -> np.ndarray:
        """The weights of the targets, (..., q) or (..., 1), in sums, (..., D)."""
        if self.weighs_targets:
            return sums[..., FIRST + self.q : FIRST + 2 * self.q]
        return sums[..., WEIGHT, None]

    def means(self, sums: np.ndarray, l2: float) -> np.ndarray:
        """The values of nodes, (m, q), from their sums, (m, D)."""
        return sums[:, FIRST : FIRST + self.q] / (self.weights(sums) + l2)

    def errors(self, sums: np.ndarray, squares: np.ndarray) -> np.ndarray:
        """The squared errors about the means of nodes, summed over targets."""
        q = self.q
        moments = sums[:, FIRST : FIRST + q]
        explained = np.einsum("ij,ij->i", moments, self.means(sums, 0.0))
        return np.maximum(squares - explained, 0.0)


def _in_lines(shape: tuple[int, ...]) -> np.ndarray:
    """An empty array that begins where a line of the cache does: fewer vectors lie in two lines."""
    size = int(np.prod(shape))
    numbers = np.empty(size + 8)
    first = (-numbers.ctypes.data // 8) % 8
    return numbers[first : first + size].reshape(shape)


def _exponents(totals: np.ndarray) -> np.ndarray:
    """The k for which a total times 2^k is just below 2^52; 0 for a total of 0."""
    found = _SUM_BITS - np.frexp(totals)[1]
    return np.where(totals > 0, np.clip(found, -1000, 1000), 0)


def _rounded(weight: np.ndarray, exponent: int) -> np.ndarray:
    """Multiples of 2^-exponent, at least one."""
    found = np.rint(weight * 2.0**exponent)
    np.maximum(found, 1.0, out=found)
    found *= 2.0**-exponent
    return found


# --- one tree for the targets of a fit, and trees on the same columns -----------------------------


def grown_vectors(
    columns: BinnedColumns,
    target: np.ndarray,
    weight: np.ndarray | None,
    options: GrowthOptions,
    n_components: int | None = None,
) -> TreeArrays:
    """The tree of targets of shape (n, q), whose regularised values shrink to their means."""
    with np.errstate(over="ignore", invalid="ignore"):
        mean = np.average(target, axis=0, weights=weight)
        centred = target - mean
    if not np.isfinite(centred).all():
        raise ValueError("y has differences beyond the largest float; scale y.")
    tree, _ = VectorGrower(columns, options, n_components).grow(centred, weight, None)
    return replace(tree, value=tree.value + mean)


def grown_classes(
    columns: BinnedColumns,
    codes: np.ndarray,
    n_classes: Sequence[int],
    weight: np.ndarray | None,
    options: GrowthOptions,
) -> TreeArrays:
    """The tree of several outputs of classes, codes of shape (n, m): that of their indicators."""
    ends: Any = np.cumsum(n_classes)
    target = np.zeros((len(codes), ends[-1]))
    np.put_along_axis(target, codes + (ends - n_classes), 1.0, axis=1)
    # The impurity of vectors is the mean over their numbers, that of classes over outputs.
    unit = len(ends) / ends[-1] * (np.log(2.0) if options.criterion == "log_loss" else 1.0)
    least = unit * options.min_impurity_decrease
    tree, _ = VectorGrower(columns, replace(options, min_impurity_decrease=least)).grow(
        target, weight, None
    )
    # Weights and weighted indicators are rounded by different units.
    parts = np.split(tree.value, ends[:-1], axis=1)
    shares = np.hstack([part / part.sum(axis=1, keepdims=True) for part in parts])
    if options.criterion == "log_loss":
        impurity = -xlogy(shares, shares).sum(axis=1) / np.log(2.0)
    else:
        impurity = (shares * (1.0 - shares)).sum(axis=1)
    return replace(tree, value=shares, impurity=np.maximum(impurity / len(ends), 0.0))


class VectorGrower:
    """Grows trees of vectors on the same columns, of at most 255 bins, again and again.

    The options are without constraints, with the squared error, or the Gini index or the entropy of
    indicators. Of the targets `n_components` principal components are compared in the search for
    cuts.
    """

    def __init__(
        self,
        columns: BinnedColumns,
        options: GrowthOptions,
        n_components: int | None = None,
        n_threads: int = 1,
    ) -> None:
        self.columns, self.options = columns.in_one_byte(), options
        self.n_components, self.n_threads = n_components, n_threads

    def grow(
        self,
        target: np.ndarray,
        weight: np.ndarray | None,
        rows: np.ndarray | None,
        seed: int | None = None,
        rank: np.ndarray | None = None,
    ) -> tuple[TreeArrays, np.ndarray]:
        """A tree and the leaf of every row; O(n p q) for each level of the tree.

        `target` is (n, q), weights are (n,) or (n, q); the others are as in
        `_growth.HistogramGrower`. Without `rank` the seed decides between equally good cuts, node
        by node; the seed 0 takes the first feature.
        """
        columns = self.columns
        options = self.options if seed is None else replace(self.options, seed=seed)
        vectors = searched = RowVectors(target, weight, rows, options.criterion == "log_loss")
        compared = target
        if self.n_components is not None and self.n_components < target.shape[1]:
            compared, common = _projected(target, weight, rows, self.n_components)
            searched = RowVectors(compared, common, rows)
        own = np.arange(columns.n_rows) if rows is None else rows
        order = np.arange(columns.n_features) if rank is None else np.argsort(rank)
        # The impurity of several outputs is their mean; here it is in the units of the vectors.
        with np.errstate(over="ignore", under="ignore"):
            least = searched.q * np.ldexp(options.min_impurity_decrease, -2 * searched.exponent)
        total = searched.values[:, WEIGHT] if rows is None else searched.values[rows, WEIGHT]
        # Of few drawn features a table, which is of all, costs more than their rows.
        draws_few = 0 < 2 * options.max_features <= columns.n_features
        grown = grow_vectors(
            codes=columns.codes.T,
            n_bins=columns.most_bins,
            has_missing=columns.any_missing,
            missing=columns.missing,
            categorical=columns.flags,
            rows=own.astype(np.int32),
            values=searched.values,
            weighs_targets=searched.weighs_targets,
            least_weight=max(options.min_weight_leaf * (1 - _ROUNDING), searched.least_weight),
            target=np.ascontiguousarray(compared, dtype=np.float64),
            sizes=searched.sizes,
            leaf_values=vectors.values,
            squares=vectors.squares,
            options=options,
            least_gain=least * total.sum(),
            order=order.astype(np.int64),
            draws_ties=rank is None and options.seed != 0,
            few_rows=np.inf if draws_few else FEW_ROWS,
            n_threads=self.n_threads,
        )
        fields, sums = grown["fields"], grown["sums"]
        mass = sums[:, WEIGHT].copy()
        # In the units of the targets.
        value = np.ldexp(vectors.means(sums, options.l2_regularization), vectors.exponent)
        error = vectors.errors(sums, grown["squares"]) / (vectors.q * mass)
        impurity = impurities_shifted_by(error, 2 * vectors.exponent)
        tree = TreeArrays(
            threshold=columns.thresholds(fields["feature"], fields["code"]),
            wide=columns.wide_columns(),
            weight=mass,
            value=value,
            impurity=impurity,
            **fields,
        )
        if rows is not None:
            return tree, tree.leaves(columns)
        return tree, grown["leaf"].astype(np.min_scalar_type(len(tree)))


def _projected(
    target: np.ndarray, weight: np.ndarray | None, rows: np.ndarray | None, n_components: int
) -> tuple[np.ndarray, np.ndarray | None]:
    """The targets on their largest principal components, and the weights of the rows.

    The components are those of rows at equal distances. Where targets have weights of their own,
    their products with them are projected, and divided by the mean weight.
    """
    common = weight
    if weight is not None and weight.ndim == 2:
        common = weight.mean(axis=1)
        target = target * weight / common[:, None]
    step = max(1, (len(target) if rows is None else len(rows)) // _COMPONENT_ROWS)
    some = target[::step] if rows is None else target[rows[::step]]
    size = np.abs(some).max(initial=0.0)
    if size > 0:
        some = some / size  # squares neither overflow nor vanish
    if common is not None:
        some = some * np.sqrt(common[::step] if rows is None else common[rows[::step]])[:, None]
    _, vectors = np.linalg.eigh(some.T @ some)
    return np.ascontiguousarray(target @ vectors[:, -n_components:]), common
