"""Growth of trees whose leaves hold vectors: one tree for q targets, split by their summed gain.

    sum over targets of  S_left² / (W_left + l2) + S_right² / (W_right + l2)

The driver is `_histogram_growth.HistogramGrowth`, with sums of vectors in bins. Compiled loops
compute these sums and the best cut of each column. Every number of a row is a multiple of a power
of 2 such that sums of all rows are exact as doubles: any number of threads grows the same tree, and
what remains of a node without one child is the other.

A cut of categories is one of their order by the first principal component of their mean vectors in
the node, shrunk by `cat_smooth` (Coppersmith, Hong and Hosking 1999). Classes of several outputs
are indicators: with unit weights the gain is then that of the Gini index, summed over outputs.

With fewer components than targets, cuts are searched by the targets' projections on the principal
components of their matrix (the sketches of Iosipovoi and Vakhrushev 2022), and the leaves get the
means of all targets.
"""

from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.special import xlogy

from sklearn_ensemble_theory._native.vector_trees import best_cuts, count_vectors
from sklearn_ensemble_theory._running import seeded

from ._columns import MISSING, BinnedColumns
from ._histogram_growth import Grid, HistogramGrowth, NodeSplit
from ._histograms import SAME, Split, TreeReply, TreeRequest, goes_left
from ._options import GrowthOptions
from ._tree_arrays import LEAF, TreeArrays

# The places of a row's numbers: its weight, 1, and then the targets (see _native/vector_trees.pyx).
WEIGHT, COUNT, FIRST = 0, 1, 2
# Sums stay below 2^52, where doubles hold every integer.
_SUM_BITS = 52
# Whole weights of at most this sum leave enough bits to round the targets before they are weighted.
_WHOLE_SUM = 2.0**28
# Numbers of a table of rows that are made at once: they stay in the processor's cache.
_BLOCK = 2**15
# Nodes of at most so many rows have no sums in bins: their rows are counted where a cut is sought.
FEW_ROWS = 512
# Bytes of the tables of nodes that are searched together.
_TABLES_AT_ONCE = 2**25
# Principal components are those of at most so many rows.
_COMPONENT_ROWS = 2**13
_LARGEST_EXPONENT = 1020


class RowVectors:
    """The numbers of the rows whose sums are exact, (n, D), and what they are multiples of.

    Parameters
    ----------
    target : float array of shape (n, q)
    weight : float array of shape (n,) or (n, q), or None
        Positive; with columns, each target has weights of its own.
    rows : int array or None
        The rows that are summed; None for all.
    unscaled : bool, default=False
        Whether the targets are indicators, which are summed as they are.

    Attributes
    ----------
    values : float array of shape (n, D)
        Weight, 1, q weighted targets, q weights where targets have their own, and zeros.
    exponent : int
        The targets are multiplied by 2 to minus this.
    least_weight : float
        No weight of a row is below this.
    squares : float array of shape (n,)
        Sums over targets of weights times squares, exact up to rounding.
    sizes : float array of shape (q,)
        The mean size of each target.
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


# --- the rows of the nodes, and the sums in bins ------------------------------------------------


class VectorRows:
    """The rows of the leaves so far, None for all, and the sums of their vectors."""

    def __init__(
        self,
        columns: BinnedColumns,
        vectors: RowVectors,
        target: np.ndarray,
        rows: np.ndarray | None,
        n_threads: int,
    ) -> None:
        self.columns, self.vectors, self.target = columns, vectors, target
        self.n_threads = n_threads
        self.n_bins, self.width = columns.most_bins, columns.most_bins + columns.any_missing
        self.rows = {0: None if rows is None else rows.astype(np.int32)}

    def answer(self, request: TreeRequest) -> TreeReply:
        """The sums in bins, and the ranges of the targets, after the splits of the request."""
        self.divide(request.splits)
        p, D = self.columns.n_features, self.vectors.values.shape[1]
        sums = _in_lines((len(request.counted), p, self.width, D))
        for i, table in zip(request.counted, sums):
            self.count(self.rows[i], table)
        ranges = np.zeros((len(request.ranged), 2))
        for i, pair in zip(request.ranged, ranges):
            rows = self.rows[i]
            some = self.target if rows is None else self.target.take(rows, axis=0)
            # Of each target, in units of its mean size.
            spread, size = np.ptp(some, axis=0), self.vectors.sizes
            pair[1] = np.divide(spread, size, out=np.zeros_like(spread), where=size > 0).max()
        # The kinds of sums come first, as the driver reads them.
        return TreeReply(np.moveaxis(sums, 3, 1), ranges)

    def divide(self, splits: list[Split]) -> None:
        """Divide the rows of nodes among their children, parents first."""
        for i, feature, code, missing_left, left, right in splits:
            rows = self.rows.pop(i)
            column = self.columns.codes[:, feature]
            if rows is not None:
                column = column.take(rows)
            missing_left = missing_left and self.columns.has_missing[feature]
            goes = goes_left(column, code, missing_left, self.columns.missing)
            for child, side in ((left, goes), (right, ~goes)):
                new = np.flatnonzero(side) if rows is None else rows[side]
                self.rows[child] = new.astype(np.int32, copy=False)

    def count(self, rows: np.ndarray | None, table: np.ndarray) -> None:
        """Write the sums of rows in all bins to a table (p, bins, D). O(m p D)."""
        codes, missing = self.columns.codes.T, self.columns.any_missing
        values = self.vectors.values
        count_vectors(codes, self.n_bins, missing, rows, values, table, self.n_threads)

    def cut(
        self, i: int, feature: int, code: int | np.ndarray, direction: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """The sums of the rows of a node on the left of a cut, and its rows in the bins."""
        rows = self.rows[i]
        assert rows is not None
        column = self.columns.codes[:, feature].take(rows)
        goes = goes_left(column, code, bool(direction), self.columns.missing)
        left: np.ndarray = self.vectors.values.take(rows[goes], axis=0).sum(axis=0)
        return left, np.bincount(np.minimum(column, self.width - 1), minlength=self.width)


# --- one tree -------------------------------------------------------------------------------------


class CutRules(NamedTuple):
    """What a cut has to leave on both sides, and how it is scored."""

    l2: float
    least_weight: float
    least_rows: float
    cat_smooth: float
    by_entropy: bool  # of indicators


class Cuts(NamedTuple):
    """The best cut of each column."""

    score: np.ndarray  # (p,), rounded for comparisons; -inf where there is no cut
    place: np.ndarray  # (p,), of the bin, or in the order, plus n_bins with missing on the left
    share: np.ndarray  # (p,), of the gain of categories that counts
    order: np.ndarray  # (p, n_bins), of the categories of the node


class VectorGrowth(HistogramGrowth):
    """One tree of vectors while it grows; tables are views (D, p, bins) of arrays (p, bins, D).

    Parameters
    ----------
    nodes : VectorRows
        Asked for the rows of small nodes, which have no table.
    columns, options, order, seed
        As for `HistogramGrowth`.
    """

    weight_place = WEIGHT

    def __init__(
        self,
        nodes: VectorRows,
        columns: BinnedColumns,
        options: GrowthOptions,
        order: np.ndarray,
        seed: int,
    ) -> None:
        vectors = nodes.vectors
        # The impurity of several outputs is their mean; here it is in the units of the vectors.
        with np.errstate(over="ignore", under="ignore"):
            least = vectors.q * np.ldexp(options.min_impurity_decrease, -2 * vectors.exponent)
        options = replace(options, min_impurity_decrease=float(least))
        super().__init__(columns, options, order, Grid(0, 1.0), None, seed)
        self.nodes, self.same_size = nodes, SAME
        self.least_weight = max(self.least_weight, vectors.least_weight)
        self.rules = CutRules(
            self.l2,
            self.least_weight,
            float(options.min_samples_leaf),
            self.cat_smooth,
            options.criterion == "log_loss",
        )
        self.random_cuts = seeded(seed) if options.random_splits else None
        # Of few drawn features a table, which is of all, costs more than their rows.
        drawn = options.max_features
        is_few = 0 < 2 * drawn <= columns.n_features
        self.few_rows = columns.n_rows if is_few else FEW_ROWS

    def opened(
        self, pairs: list[tuple[int, int]], parents: list[np.ndarray]
    ) -> Generator[TreeRequest, TreeReply, tuple[list[int], list[np.ndarray]]]:
        few: list[int] = []
        others, tables = [], []
        for pair, parent in zip(pairs, parents):
            largest = max(self.totals[i][COUNT] for i in pair)
            if parent is None or largest <= self.few_rows:
                few += [i for i in pair if self.may_split(i)]
            else:
                others.append(pair)
                tables.append(parent)
        found, sums = yield from super().opened(others, tables)
        nothing: list[Any] = [None] * len(few)
        return found + few, sums + nothing

    def occupied(self, i: int, table: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        if table is not None:
            return super().occupied(i, table)
        codes = self.columns.codes.T[:, self.nodes.rows[i]]
        is_missing = codes == self.columns.missing
        lowest, highest = codes.min(axis=1), np.where(is_missing, 0, codes).max(axis=1)
        any_value = ~is_missing.all(axis=1)
        return any_value * (1 + (highest > lowest)), is_missing.any(axis=1)

    def search(
        self, ids: list[int], tables: list[np.ndarray], allowed: np.ndarray | None
    ) -> list[NodeSplit | None]:
        self.nodes.divide(self.request().splits)
        masks = [None] * len(ids) if allowed is None else list(allowed)
        return [self.split_of(*each) for each in zip(ids, tables, masks)]

    def split_of(
        self, i: int, table: np.ndarray | None, allowed: np.ndarray | None
    ) -> NodeSplit | None:
        """The best split of a node, None where there is none."""
        nodes, n_bins, columns = self.nodes, self.n_bins, self.columns
        total = np.array(self.totals[i])
        cells = None if table is None else np.moveaxis(table, 0, 2)
        draws = None
        if self.random_cuts is not None:
            draws = self.random_cuts.random_sample((columns.n_features, 2))
        cuts = self.cuts_of(i, cells, total, allowed, draws)
        # argmax takes the first of equal gains: that of the feature of the lowest rank.
        feature = int(self.order[cuts.score[self.order].argmax()])
        if cuts.score[feature] == -np.inf:
            return None
        direction, place = divmod(int(cuts.place[feature]), n_bins)
        code: int | np.ndarray = place
        order, share, on_left = None, 1.0, np.arange(place + 1)
        if columns.categorical is not None and columns.categorical[feature]:
            order, share = cuts.order[feature].astype(np.intp), float(cuts.share[feature])
            code, on_left = np.zeros(MISSING + 1, dtype=bool), order[: place + 1]
            code[on_left], code[MISSING] = True, direction
        if cells is None:
            left, counts = nodes.cut(i, feature, code, direction)
        else:
            left = cells[feature, on_left].sum(axis=0)
            if direction:
                left = left + cells[feature, n_bins]
            counts = cells[feature, :, COUNT]
        if order is not None:
            order = order[: np.count_nonzero(counts[:n_bins])]
        vectors, rules = nodes.vectors, self.rules
        parent = float(score_of(total, vectors, rules))
        size = float(score_of(left, vectors, rules) + score_of(total - left, vectors, rules))
        size = parent + share * (size - parent)
        # Entropies are negative; with as much added to both, rounding is relative to the rows.
        above = vectors.q * total[WEIGHT] if rules.by_entropy else 0.0
        if not self.is_worth(i, size + above, parent + above):
            return None
        place_of_cut = feature, direction, place
        return self.described(size - parent, place_of_cut, counts, left.tolist(), order)

    def cuts_of(
        self,
        i: int,
        cells: np.ndarray | None,
        total: np.ndarray,
        allowed: np.ndarray | None,
        draws: np.ndarray | None,
    ) -> Cuts:
        """The best cut of each column, or with draws the one that they say."""
        nodes, columns, n_bins = self.nodes, self.columns, self.n_bins
        vectors = nodes.vectors
        p = columns.n_features
        place, order = np.zeros(p, dtype=np.int64), np.zeros((p, n_bins), dtype=np.uint8)
        cuts = Cuts(np.empty(p), place, np.ones(p), order)
        best_cuts(
            columns.codes.T,
            n_bins,
            self.has_missing,
            nodes.rows[i] if cells is None else None,
            vectors.values,
            cells,
            total,
            vectors.q,
            vectors.weighs_targets,
            self.rules,
            None if allowed is None else allowed.view(np.uint8),
            columns.flags,
            draws,
            *cuts,
            nodes.n_threads,
        )
        return cuts


def score_of(sums: np.ndarray, vectors: RowVectors, rules: CutRules) -> np.ndarray:
    """The score of nodes, from their sums, (..., D)."""
    moments, weight = sums[..., FIRST : FIRST + vectors.q], vectors.weights(sums)
    if rules.by_entropy:
        return xlogy(moments, moments / weight).sum(axis=-1)
    return (moments * moments / (weight + rules.l2)).sum(axis=-1)


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
    """The tree of several outputs of classes, codes of shape (n, m): that of their indicators.

    The values of a node are the shares of all classes, those of one output after the other.
    """
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
    """Grows trees of vectors on the same columns again and again.

    Parameters
    ----------
    columns : BinnedColumns
        With at most 255 bins.
    options : GrowthOptions
        Without constraints; with the squared error, or the Gini index or the entropy of indicators.
    n_components : int or None
        So many principal components of the targets are compared in the search for cuts.
    n_threads : int
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

        Parameters
        ----------
        target : float array of shape (n, q)
        weight : float array of shape (n,) or (n, q), or None
        rows, seed, rank
            As in `_growth.HistogramGrower`.
        """
        columns, options = self.columns, self.options
        vectors = searched = RowVectors(target, weight, rows, options.criterion == "log_loss")
        compared = target
        if self.n_components is not None and self.n_components < target.shape[1]:
            compared, common = _projected(target, weight, rows, self.n_components)
            searched = RowVectors(compared, common, rows)
        nodes = VectorRows(columns, searched, compared, rows, self.n_threads)
        order = np.arange(columns.n_features) if rank is None else np.argsort(rank)
        growth = VectorGrowth(
            nodes, columns, options, order, options.seed if seed is None else seed
        )
        table_bytes = 8 * columns.n_features * nodes.width * searched.values.shape[1]
        group = (
            1 if growth.draws is not None else int(np.clip(_TABLES_AT_ONCE // table_bytes, 1, 16))
        )
        requests = growth.requests(group)
        request: TreeRequest | None = next(requests)
        while request is not None:
            try:
                request = requests.send(nodes.answer(request))
            except StopIteration:
                request = None
        nodes.divide(growth.request().splits)
        return self._tree(growth, nodes, vectors, rows)

    def _tree(
        self,
        growth: VectorGrowth,
        nodes: VectorRows,
        vectors: RowVectors,
        rows: np.ndarray | None,
    ) -> tuple[TreeArrays, np.ndarray]:
        """The tree, with the means of all targets in its nodes, and the leaf of each row."""
        order, number = growth.numbered()
        m, q = len(order), vectors.q
        leaf = np.zeros(self.columns.n_rows, dtype=np.min_scalar_type(m))
        for i, own in nodes.rows.items():
            leaf[slice(None) if own is None else own] = number[i]
        # Sums of the leaves, and upwards those of all nodes. A row is a one in its leaf.
        used = leaf if rows is None else leaf[rows]
        values = vectors.values if rows is None else vectors.values[rows]
        squares = vectors.squares if rows is None else vectors.squares[rows]
        ones, starts = np.ones(len(used)), np.arange(len(used) + 1)
        member = sp.csr_matrix((ones, used.astype(np.int32), starts), shape=(len(used), m))
        sums, square = np.asarray(member.T @ values), np.bincount(used, squares, m)
        left, right = (number[np.array(part)[order]] for part in (growth.left, growth.right))
        for i in np.flatnonzero(left != LEAF)[::-1].tolist():
            sums[i] = sums[left[i]] + sums[right[i]]
            square[i] = square[left[i]] + square[right[i]]
        weight = sums[:, WEIGHT].copy()
        # In the units of the targets.
        value = np.ldexp(vectors.means(sums, self.options.l2_regularization), vectors.exponent)
        error = vectors.errors(sums, square) / (q * weight)
        with np.errstate(over="ignore", under="ignore"):
            impurity = np.ldexp(error, 2 * vectors.exponent)
        tree = growth.arrays(order, number, weight=weight, value=value, impurity=impurity)
        return tree, leaf if rows is None else tree.leaves(self.columns)


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
