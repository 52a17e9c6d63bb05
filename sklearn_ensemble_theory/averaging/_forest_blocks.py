"""Forests of all rows of a Dask collection: every tree is grown on rows from all chunks.

The rows are read twice, for a summary of them and for the codes of their bins, which stay where the
rows are. Which rows a tree has, and how often, is a hash of their numbers and of the seed of the
tree (`RowDraws`), so that nothing of it has to be kept. The trees grow side by side: each pass over
the codes answers the next nodes of all trees, in sums of bounded size (`node_sums_of_block`), until
nodes have few rows. These rows are gathered, and what is below such a node is grown in memory. A
tree is the same whatever the chunks are.
"""

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from math import ceil
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import poisson
from sklearn.utils.parallel import delayed

from sklearn_ensemble_theory._blocks import Blocks, DaskBlocks
from sklearn_ensemble_theory._categories import (
    CategoricalColumns,
    numbered_learner,
    tree_categories_of_blocks,
)
from sklearn_ensemble_theory._folds import first_rows_of, uniform_parts
from sklearn_ensemble_theory._rows import ChunkedRows, LabelTotals, Rows
from sklearn_ensemble_theory._running import Progress, in_order
from sklearn_ensemble_theory._scaling import FAR_FROM_ZERO
from sklearn_ensemble_theory._worker_memory import check_worker_memory
from sklearn_ensemble_theory.averaging._bags import BaggingPlan
from sklearn_ensemble_theory.averaging._draw_options import StableSamples, counted
from sklearn_ensemble_theory.averaging._sampling import SamplingScheme
from sklearn_ensemble_theory.trees._columns import MISSING, BinnedColumns
from sklearn_ensemble_theory.trees._fit_to_bins import prune, set_fitted
from sklearn_ensemble_theory.trees._forest_growth import (
    ForestGrowth,
    NodeRequest,
    NodeSums,
    SplitNodes,
    TargetUnits,
    add_sums,
)
from sklearn_ensemble_theory.trees._growth import grown_arrays
from sklearn_ensemble_theory.trees._histograms import GridUnits
from sklearn_ensemble_theory.trees._options import GrowthOptions, TreePlan, TreeShape
from sklearn_ensemble_theory.trees._row_summary import (
    RowSummary,
    TargetSummary,
    bins_of_rows,
    in_few_bytes,
    summary_of_block,
)
from sklearn_ensemble_theory.trees._tree_arrays import TreeArrays

# What is below a node of so many rows is grown in memory.
SMALL_ROWS = 100_000
# The sums of a pass are so many integers of eight bytes, or those of one node.
MOST_CELLS = 2**22
# The rows that are gathered in a pass are so many bytes, or those of one node.
MOST_BYTES = 2**27
# Sums of real targets stay below 2 to this power, of their squares and of weights that are no
# counts below the next ones.
TARGET_BITS, SQUARE_BITS, WEIGHT_BITS = 48, 60, 48
# The draws of one tree have that many largest targets more than expected, at most.
MORE_DRAWS = 32
# Larger targets cannot be squared.
LARGEST_TARGET = 1e150
# Poisson numbers of a larger mean are found by SciPy.
LARGE_RATE = 50.0


@dataclass(frozen=True)
class ForestRows:
    """The rows of a fit once they have been read; `columns` are bins without codes."""

    rows: ChunkedRows
    summary: RowSummary
    learner: Any
    columns: BinnedColumns
    encoder: CategoricalColumns | None
    classes: np.ndarray | None


def read_rows(rows: ChunkedRows, learner: Any, of_classes: bool) -> ForestRows:
    """The rows after their first reading, for a tree in bins."""
    encoder = tree_categories_of_blocks(rows.given, rows.meta, learner)
    learner = numbered_learner(learner, encoder)
    rows = rows.knowing(allow_nan=True, encode=None if encoder is None else encoder.encode)
    summary, classes = rows.sum(summary_of_block, of_classes), None
    targets = summary.targets
    if of_classes:
        classes = targets.labels
        rows = rows.knowing(classes=classes)
    elif max(-targets.low, targets.high) > LARGEST_TARGET:
        raise ValueError(f"y has values above {LARGEST_TARGET:g}, which cannot be squared.")
    rows = rows.knowing(first_rows=first_rows_of(summary.lengths))
    columns = bins_of_rows(summary, learner.max_bins, encoder)
    return ForestRows(rows, summary, learner, columns, encoder, classes)


# --- the rows of a tree ---------------------------------------------------------------------------


@dataclass(frozen=True)
class RowDraws:
    """Independent draws of rows: Poisson counts of the mean `rate` times the weight, or by coins.

    With coins a row is drawn with the probability `rate`, and keeps its weight.
    """

    counts: bool
    rate: float

    def of(
        self, numbers: range, weight: np.ndarray | None, seed: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """The rows of the tree of this seed, as places among these, and their weights. O(n)."""
        if not self.counts:
            drawn = np.empty(len(numbers), dtype=bool)
            for part, uniform in uniform_parts(numbers, seed):
                drawn[part] = uniform < self.rate
            if weight is not None:
                drawn &= weight > 0
            rows = np.flatnonzero(drawn).astype(np.int32)
            return rows, np.ones(len(rows)) if weight is None else weight.take(rows)
        n_times, table = np.empty(len(numbers)), None
        if weight is None:
            table = poisson.cdf(np.arange(self.rate + 10 * self.rate**0.5 + 30), self.rate)
        for part, uniform in uniform_parts(numbers, seed):
            if table is not None:
                n_times[part] = table.searchsorted(uniform, "right")
            else:
                assert weight is not None
                n_times[part] = poisson_numbers(uniform, self.rate * weight[part])
        rows = np.flatnonzero(n_times).astype(np.int32)
        return rows, n_times.take(rows)


def poisson_numbers(uniform: np.ndarray, rate: np.ndarray) -> np.ndarray:
    """The Poisson numbers of these rates at whose probabilities uniform numbers are."""
    found = np.zeros(len(rate))
    large = rate > LARGE_RATE
    if large.any():
        found[large] = poisson.ppf(uniform[large], rate[large])
    small = np.flatnonzero(~large)
    u, mean = uniform[small], rate[small]
    p = np.exp(-mean)
    below, k = p.copy(), 0
    rest = np.flatnonzero(u >= below)
    # Each step finds the rows that have k draws; after the mean p falls faster than geometrically.
    while len(rest) and k < 4 * LARGE_RATE + 100:
        k += 1
        found[small[rest]] += 1
        p[rest] *= mean[rest] / k
        below[rest] += p[rest]
        rest = rest[u[rest] >= below[rest]]
    return found


def row_draws(plan: BaggingPlan, n_rows: int, n_features: int, weight: float | None) -> RowDraws:
    """The draws of a plan, for rows of this weight; None for equal weights."""
    scheme: type[SamplingScheme] = plan.draws.scheme
    size: Any = StableSamples() if plan.max_samples == "stable" else plan.max_samples
    if isinstance(size, StableSamples):
        if weight is not None:
            raise ValueError("max_samples='stable' requires rows of equal weight.")
        size = size(n_rows, n_features, bootstrap=scheme.bootstrap)
    elif callable(size):
        size = counted("max_samples", size, n_rows, n_features)
    weights = None if weight is None else np.array([weight])
    found = scheme.size_from(size, n_rows, weights)
    if scheme.bootstrap == "bernoulli":
        return RowDraws(False, float(found))
    return RowDraws(True, found / (n_rows if weight is None else weight))


# --- one block of rows ----------------------------------------------------------------------------


class CodedRows(NamedTuple):
    """The rows of a block: p + 8 bytes a row, 8 more with weights, at most.

    - codes: uint8 (m, p), in Fortran order.
    - targets, weights: in the smallest type that has the same numbers.
    - number: that of the block.
    - first: the number of its first row over all blocks.
    """

    codes: np.ndarray
    targets: np.ndarray
    weights: np.ndarray | None
    number: int
    first: int

    @property
    def numbers(self) -> range:
        return range(self.first, self.first + len(self.targets))

    @property
    def weight(self) -> np.ndarray | None:
        return None if self.weights is None else self.weights.astype(np.float64, copy=False)

    def target(self, units: TargetUnits) -> np.ndarray:
        """Codes of classes, or real targets about their centre."""
        if units.n_classes:
            return self.targets
        y = self.targets.astype(np.float64)
        y -= units.centre
        return y


def coded_block(
    block: Rows, columns: BinnedColumns, factors: np.ndarray | None, weighted: bool
) -> CodedRows:
    """The codes of a block; weights are multiplied by the factors of the classes. O(n p)."""
    weight = block.weight if weighted else None
    if factors is not None:
        own = factors[block.y]
        weight = own if weight is None else weight * own
    codes = columns.coded(block.X).codes
    weights = None if weight is None else in_few_bytes(weight)
    return CodedRows(codes, in_few_bytes(block.y), weights, block.block, int(block.numbers[0]))


def size_of_block(rows: CodedRows, centre: float, largest: float) -> float | int:
    """The sum of the sizes of real targets about the centre, as shares of the largest, times 2^30.

    An integer without weights.
    """
    size = np.abs(rows.targets.astype(np.float64) - centre) / largest * 2.0**30
    weight = rows.weight
    return int(np.ceil(size).astype(np.int64).sum()) if weight is None else float(size @ weight)


@dataclass(frozen=True)
class Draws:
    """The rows of all trees, by their seeds."""

    rows: RowDraws
    seeds: np.ndarray
    units: TargetUnits

    def of(self, rows: CodedRows, tree: int) -> tuple[np.ndarray, np.ndarray]:
        return self.rows.of(rows.numbers, rows.weight, int(self.seeds[tree]))


Asked = list[tuple[int, SplitNodes, list[NodeRequest]]]
Wanted = list[tuple[int, SplitNodes, list[int]]]


def node_sums_of_block(rows: CodedRows, draws: Draws, asked: Asked) -> NodeSums:
    """The answers to the requests of some trees, one tree after the other."""
    units = draws.units
    requests = [request for _, _, own in asked for request in own]
    sums = NodeSums.none(units, requests)
    out = list(zip(sums.tables(units, requests), sums.moments, sums.ranges))
    target, start = rows.target(units), 0
    for tree, nodes, own in asked:
        drawn, weight = draws.of(rows, tree)
        part = out[start : start + len(own)]
        start += len(own)
        if len(drawn):
            node = nodes.leaves(rows.codes).take(drawn)
            add_sums(part, own, rows.codes, drawn, node, target.take(drawn), weight, units)
    return sums


class PartOfNode(NamedTuple):
    """The rows of a node in one block: codes (p, rows), targets and weights."""

    number: int
    codes: np.ndarray
    target: np.ndarray
    weight: np.ndarray


@dataclass
class RowsOfNodes:
    """The rows of nodes, by tree and node."""

    parts: dict[tuple[int, int], list[PartOfNode]]

    def __add__(self, other: "RowsOfNodes") -> "RowsOfNodes":
        found = dict(self.parts)
        for key, parts in other.parts.items():
            found[key] = found.get(key, []) + parts
        return RowsOfNodes(found)


def rows_of_nodes(rows: CodedRows, draws: Draws, wanted: Wanted) -> RowsOfNodes:
    """The rows of some nodes of each tree. O(n depth) for a tree."""
    found: dict[tuple[int, int], list[PartOfNode]] = {}
    by_column = rows.codes.T
    for tree, nodes, own in wanted:
        drawn, weight = draws.of(rows, tree)
        node = nodes.leaves(rows.codes).take(drawn)
        for i in own:
            chosen = np.flatnonzero(node == i)
            if len(chosen):
                at = drawn.take(chosen)
                part = PartOfNode(
                    rows.number,
                    by_column.take(at, axis=1),
                    rows.targets.take(at),
                    in_few_bytes(weight.take(chosen)),
                )
                found[tree, i] = [part]
    return RowsOfNodes(found)


# --- the fit --------------------------------------------------------------------------------------


def fit_forest(
    plan: BaggingPlan, problem: ForestRows, n_members: int, verbose: int = 0
) -> tuple[list, np.ndarray]:
    """The trees, fitted, and their seeds."""
    summary, columns, classes = problem.summary, problem.columns, problem.classes
    targets, n_classes = summary.targets, 0 if classes is None else len(classes)
    n_rows, n_features = targets.n_rows, columns.n_features
    total, factors, weighted = targets.weight, None, targets.weighted
    if plan.class_weight is not None:
        factors = LabelTotals(targets.labels, targets.label_weights).factors(plan.class_weight)
        total = float(targets.label_weights @ factors)
    is_weighted = weighted or factors is not None
    rows_of_trees = row_draws(plan, n_rows, n_features, total if is_weighted else None)
    seeds = plan.draw_seeds(n_members)
    learner = tree_in_bins(plan, problem.learner, n_rows)
    shape = TreeShape(n_rows, 0.0, n_features, n_classes)
    tree_plan = TreePlan.of(learner, n_features)
    options = tree_plan.options(shape, columns.any_missing, columns.categorical)
    if isinstance(problem.rows.given, DaskBlocks):
        lengths = summary.lengths.values()
        kept = sum(lengths) * n_features + summary.nbytes
        check_worker_memory(kept, max(lengths) * 5 * n_features)
    data = problem.rows.map(coded_block, columns, factors, weighted).grouped()
    counts_weights = rows_of_trees.counts or not is_weighted
    whole = counts_weights or (factors is None and targets.whole and total <= 2.0**28)
    exponent = 0 if whole else exponent_below(total, WEIGHT_BITS)
    bins = columns.most_bins, columns.any_missing
    target_exponent, squares, centre, mean_size = 0, 0, 0.0, 0.0
    if not n_classes:
        found = units_of_targets(data, targets, rows_of_trees)
        target_exponent, squares, centre, mean_size = found
    grid = GridUnits((target_exponent,), (exponent,), whole, *bins)
    units = TargetUnits(n_classes, grid, squares, centre)
    growths = [
        ForestGrowth(
            columns,
            options,
            units,
            mean_size,
            int(seed),
            n_rows,
            SMALL_ROWS,
            float(learner.min_weight_fraction_leaf),
        )
        for seed in seeds
    ]
    draws = Draws(rows_of_trees, seeds, units)
    search_large_nodes(data, draws, growths)
    progress = Progress(plan.name, n_members, verbose)
    members = []
    for seed, tree in zip(seeds, grown_trees(data, draws, growths, options, plan.n_jobs)):
        member = copy(learner)
        member.random_state = int(seed)
        set_fitted(member, tree, shape, np.arange(n_classes) if n_classes else None)
        if member.ccp_alpha > 0:
            prune(member)
        members.append(member)
        progress.advance("")
    progress.finish("")
    return members, seeds


def tree_in_bins(plan: BaggingPlan, learner: Any, n_rows: int) -> Any:
    """The base learner as a tree in bins; shares of rows in its parameters are those of all."""
    found = copy(learner)
    for name, least in [("min_samples_split", 2), ("min_samples_leaf", 1)]:
        fraction = getattr(found, name)
        if not isinstance(fraction, Integral):
            setattr(found, name, max(least, ceil(fraction * n_rows)))
    return found


def exponent_below(total: float, bits: int) -> int:
    """The largest power of two that takes sums of this size to integers below 2^bits."""
    if not 0 < total < np.inf:
        return 0
    return int(np.clip(bits - np.frexp(total)[1], -1000, 1000))


def units_of_targets(
    data: Blocks, targets: TargetSummary, draws: RowDraws
) -> tuple[int, int, float, float]:
    """Exponents and centre of `TargetUnits` for real targets, and the mean of their sizes."""
    low, high = targets.low, targets.high
    centre, spread = 0.0, high - low
    if spread > 0 and max(-low, high) > FAR_FROM_ZERO * spread:
        # A multiple of a power of two below the spread: differences of equal targets stay equal.
        unit = float(np.ldexp(1.0, np.frexp(spread)[1] - 1))
        centre = float(np.round((low + spread / 2) / unit) * unit)
    largest = max(abs(low - centre), abs(high - centre))
    if largest == 0:
        return 0, 0, centre, 0.0
    share = data.sum(size_of_block, centre, largest) * 2.0**-30
    size = float(share) * largest
    of_tree = size * draws.rate + MORE_DRAWS * largest if draws.counts else size
    exponent = exponent_below(of_tree, TARGET_BITS)
    squares = exponent_below(largest, 0) + exponent_below(of_tree / largest, SQUARE_BITS) // 2
    return exponent, squares, centre, size / targets.weight


def search_large_nodes(data: Blocks, draws: Draws, growths: Sequence[ForestGrowth]) -> None:
    """Grow all trees together until their open nodes are small: a pass for some nodes of each."""
    units = draws.units
    while any(growth.requests_to_ask for growth in growths):
        waiting = [growth.requests_to_ask for growth in growths]
        for growth in growths:
            growth.requests_to_ask = []
        asked: Asked = []
        room = MOST_CELLS
        for tree, own in enumerate(waiting):
            n = 0
            while n < len(own) and (room >= units.n_cells(own[n]) or not (asked or n)):
                room -= units.n_cells(own[n])
                n += 1
            if n:
                asked.append((tree, growths[tree].split_nodes(), own[:n]))
            growths[tree].requests_to_ask = own[n:]
        found = data.sum(node_sums_of_block, draws, asked)
        requests = [request for _, _, own in asked for request in own]
        trees = [growths[tree] for tree, _, own in asked for _ in own]
        parts = zip(requests, found.tables(units, requests), found.moments, found.ranges)
        for growth, answer in zip(trees, parts):
            growth.answer(*answer)


def grown_trees(
    data: Blocks,
    draws: Draws,
    growths: Sequence[ForestGrowth],
    options: GrowthOptions,
    n_jobs: int | None,
) -> Iterator[TreeArrays]:
    """The trees, in their order, once what is below their small nodes has been grown in memory."""
    below: list[dict[int, TreeArrays]] = [{} for _ in growths]
    n_features = growths[0].columns.n_features
    waiting = [(tree, i) for tree, growth in enumerate(growths) for i in growth.small]
    done = 0
    while waiting:
        wanted: Wanted = []
        room, n = MOST_BYTES, 0
        for tree, i in waiting:
            growth = growths[tree]
            n_rows = growth.n_rows(i) if growth.left else growth.n_all_rows
            room -= int(n_rows) * (n_features + 16)
            if room < 0 and n:
                break
            if not wanted or wanted[-1][0] != tree:
                wanted.append((tree, growth.split_nodes(), []))
            wanted[-1][2].append(i)
            n += 1
        part, waiting = waiting[:n], waiting[n:]
        parts = data.sum(rows_of_nodes, draws, wanted).parts
        tasks = (
            delayed(grown_below)(growths[tree], i, parts.get((tree, i), [])) for tree, i in part
        )
        for (tree, i), found in zip(part, in_order(tasks, n_jobs=n_jobs, prefer="threads")):
            below[tree][i] = found
        next_tree = waiting[0][0] if waiting else len(growths)
        while done < next_tree:
            yield growths[done].whole_tree(below[done])
            below[done] = {}
            done += 1
    for growth in growths[done:]:
        yield growth.whole_tree({})


def grown_below(growth: ForestGrowth, i: int, parts: list[PartOfNode]) -> TreeArrays:
    """The tree below a small node, by `grow_tree`."""
    if not parts:
        raise ValueError(
            "max_samples is so small that a tree has no rows; increase it, or give more rows."
        )
    parts = sorted(parts, key=lambda part: part.number)
    codes = np.concatenate([part.codes for part in parts], axis=1).T
    kind = np.int64 if growth.n_classes else np.float64
    target = np.concatenate([part.target for part in parts]).astype(kind)
    weight = np.concatenate([part.weight for part in parts]).astype(np.float64)
    options = growth.options_below(i, float(weight.sum()))
    known = growth.columns
    columns = BinnedColumns(
        codes, known.edges, known.has_missing, MISSING, known.categorical, known.wide
    )
    columns.are_for_one_tree = True
    centre, weights = growth.units.centre, None if (weight == 1).all() else weight
    with np.errstate(all="ignore"):
        if not centre:
            return grown_arrays(columns, target, weights, None, options)
        tree = grown_arrays(columns, target - centre, weights, None, options)
    return replace(tree, value=tree.value + centre)
