"""Growth of the trees of a forest whose rows are in blocks, by sums in bins and by rows.

`ForestGrowth` makes one tree. Nodes of many rows are searched by sums in the bins of the features
that are drawn for them (`NodeRequest`). Nodes of few rows are left `small`, and nodes of rows whose
weights are tiny beside the others: what has the blocks gathers their rows, and `grow_tree` grows
what is below them. Features and seeds of a node are
hashes of the seed of the tree and of the path to the node: they do not depend on the order in which
nodes are visited, and the tree does not depend on the blocks.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.special import xlogy

from sklearn_ensemble_theory._folds import hashes
from sklearn_ensemble_theory._native.block_passes import add_in_columns
from sklearn_ensemble_theory._native.prediction import leaves_of_codes
from sklearn_ensemble_theory.trees._columns import MISSING, BinnedColumns
from sklearn_ensemble_theory.trees._histogram_growth import (
    ROUNDING,
    Grid,
    HistogramGrowth,
    NodeSplit,
)
from sklearn_ensemble_theory.trees._histograms import GridUnits, comparable_scores
from sklearn_ensemble_theory.trees._options import MAX_SEED, GrowthOptions
from sklearn_ensemble_theory.trees._tree_arrays import LEAF, TreeArrays

# A target's rounding is rounded again, to so many bits more.
REST_BITS = 24
POWER_STEPS = 20
# Sums of integers stay below 2 to this power.
SUM_BITS = 62
# Nodes whose rounded weights are below so many units a row are grown from their rows.
LEAST_UNITS = 2.0**12


class NodeRequest(NamedTuple):
    """What is asked of the rows of a node: sums in the bins of these features, and `Moments`.

    With `further` all features that were drawn before are constant, and the first one that is not
    is taken.
    """

    node: int
    features: np.ndarray
    further: bool = False


class TargetUnits(NamedTuple):
    """The integers of the targets of all trees of a forest, which are codes of `n_classes` or real.

    - grid: of real targets about `centre`, of weights, and the bins. It has weights.
    - squares: squares are multiplied by 4 to this power.
    - centre: what is subtracted from real targets.
    """

    n_classes: int
    grid: GridUnits
    squares: int = 0
    centre: float = 0.0

    @property
    def n_kinds(self) -> int:
        """The sums in a bin: of the target or each class, of rows, and of weights with targets."""
        return self.n_classes + 1 if self.n_classes else 3

    @property
    def n_bins(self) -> int:
        return self.grid.n_bins + self.grid.has_missing

    @property
    def cells(self) -> np.ndarray:
        """The codes of the bins."""
        found = np.arange(self.n_bins)
        found[self.grid.n_bins :] = MISSING
        return found

    def n_cells(self, request: NodeRequest) -> int:
        return self.n_kinds * len(request.features) * self.n_bins


@dataclass
class NodeSums:
    """The answers to many requests, which add up.

    - cells: the sums in bins of all of them, (kinds, features, bins) after each other.
    - moments: (requests, 2) integers of real targets: what their grid has lost, and squares.
    - ranges: (requests, 2), minus the least target and the largest one.
    """

    cells: np.ndarray
    moments: np.ndarray
    ranges: np.ndarray

    @classmethod
    def none(cls, units: TargetUnits, requests: Sequence[NodeRequest]) -> "NodeSums":
        n = len(requests)
        size = sum(map(units.n_cells, requests))
        return cls(np.zeros(size, np.int64), np.zeros((n, 2), np.int64), np.full((n, 2), -np.inf))

    def __add__(self, other: "NodeSums") -> "NodeSums":
        return NodeSums(
            self.cells + other.cells,
            self.moments + other.moments,
            np.maximum(self.ranges, other.ranges),
        )

    def tables(self, units: TargetUnits, requests: Iterable[NodeRequest]) -> list[np.ndarray]:
        """The sums in bins of each request, as views."""
        found, start = [], 0
        for request in requests:
            shape = units.n_kinds, len(request.features), units.n_bins
            stop = start + units.n_cells(request)
            found.append(self.cells[start:stop].reshape(shape))
            start = stop
        return found


class SplitNodes(NamedTuple):
    """The nodes of a tree that grows, as rows in bins walk through them (see `TreeArrays`)."""

    left: np.ndarray
    right: np.ndarray
    feature: np.ndarray
    code: np.ndarray
    missing_left: np.ndarray
    left_bins: np.ndarray | None

    def leaves(self, codes: np.ndarray) -> np.ndarray:
        """The node of each row. O(n depth)."""
        leaf = np.zeros(len(codes), dtype=np.int32)
        if len(self.left) > 1:
            links = self.left, self.right, self.feature, self.code, self.missing_left
            leaves_of_codes(codes, *links, MISSING, leaf, self.left_bins)
        return leaf


class ForestGrowth(HistogramGrowth):
    """One tree of a forest while it grows.

    - options: without `min_weight_leaf`, for which there is a `least_share` of the tree's weight.
    - n_rows: of all rows, from which those of the tree are drawn.
    - most_rows: the most rows of a node that is added to `small`, and not searched.
    - requests_to_ask: what `answer` is to be given next.
    """

    def __init__(
        self,
        columns: BinnedColumns,
        options: GrowthOptions,
        units: TargetUnits,
        mean_size: float,
        seed: int,
        n_rows: int,
        most_rows: int,
        least_share: float = 0.0,
    ) -> None:
        assert units.grid.weights is not None
        n_classes, exponent = units.n_classes, units.grid.weights[0]
        targets = Grid(exponent if n_classes else units.grid.targets[0], mean_size)
        # Features are drawn here.
        searched = replace(options, max_features=0)
        order = np.arange(columns.n_features)
        super().__init__(columns, searched, order, targets, exponent)
        self.n_drawn = options.max_features or columns.n_features
        self.units, self.most_rows, self.whole_options = units, most_rows, options
        self.n_classes = n_classes
        if n_classes:
            self.rows_at = n_classes
            self.means_of = [1] if n_classes == 2 else list(range(n_classes))
            self.gain_unit = self.weight_unit / (
                np.log(2.0) if options.criterion == "log_loss" else 1
            )
        self.seed_of_tree, self.least_share = seed, least_share
        self.keys: list[int] = []
        # Impurity and value of nodes, real targets only: of leaves that are no small nodes.
        self.described_nodes: dict[int, tuple[float, float]] = {}
        self.only: tuple[np.ndarray, np.ndarray] | None = None
        self.requests_to_ask: list[NodeRequest] = []
        self.small: list[int] = []
        self.n_all_rows = n_rows
        if n_rows <= most_rows:
            self.small.append(0)
        else:
            self.requests_to_ask.append(self.first_request(0))

    # --- draws ----------------------------------------------------------------------------

    def key(self, i: int) -> int:
        """64 bits for a node, by the path to it."""
        for node in range(len(self.keys), i + 1):
            if node == 0:
                self.keys.append(_mixed(self.seed_of_tree))
            else:
                parent = self.parents[node]
                self.keys.append(_mixed(self.keys[parent] ^ (1 + (self.right[parent] == node))))
        return self.keys[i]

    def seed_of(self, i: int) -> int:
        """The seed of what grows below a small node."""
        return self.key(i) % MAX_SEED

    def order_of_features(self, i: int) -> np.ndarray:
        """The features in the order in which they are drawn for a node."""
        numbers = np.arange(self.columns.n_features, dtype=np.uint64)
        return np.argsort(hashes(hashes(numbers) ^ np.uint64(self.key(i))), kind="stable")

    def first_request(self, i: int) -> NodeRequest:
        return NodeRequest(i, self.order_of_features(i)[: self.n_drawn])

    # --- growth ---------------------------------------------------------------------------

    def answer(
        self, request: NodeRequest, table: np.ndarray, moments: np.ndarray, spread: np.ndarray
    ) -> None:
        """Go on with a node, of which `table` are the sums in bins."""
        i, features = request.node, request.features
        if not self.left:
            sums = table[:, 0].sum(axis=-1)
            totals = self.with_weight(sums[:, None])[:, 0].tolist()
            if not totals[self.rows_at] or self.is_light(totals):
                self.small.append(0)
                return
            self.add(totals, LEAF, (-np.inf, np.inf))
            least = self.least_share * self.totals[0][-1]
            self.least_weight = max(self.least_weight, least * (1 - ROUNDING))
        self.describe(i, moments, spread)
        if not len(features) or not self.may_split(i) or self.is_pure(i, spread):
            return
        counts = table[self.rows_at]
        n_values = np.count_nonzero(counts[:, : self.n_bins], axis=1)
        varies = (n_values > 1) | ((n_values == 1) & counts[:, self.n_bins :].any(axis=1))
        found = np.flatnonzero(varies)
        if not len(found):  # go on to the next features, as long as there are any
            rest = self.order_of_features(i)
            seen = np.flatnonzero(rest == features[-1])[0] + 1
            rest = rest[seen : seen + self.n_drawn]
            if len(rest):
                self.requests_to_ask.append(NodeRequest(i, rest, further=True))
            return
        if request.further:
            found = found[:1]
        sums = self.with_weight(table[:, found].astype(np.float64))
        self.only = self.drawn_cuts(i, features[found], counts[found])
        with np.errstate(divide="ignore", invalid="ignore"):
            (split,) = self.search([i], [sums], None, features[found])
        self.doubtful.clear()
        if split is not None:
            self.open_children(i, split)

    def drawn_cuts(
        self, i: int, features: np.ndarray, counts: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """The only cut of each feature, (direction of missing values, cell), for random splits.

        Cells are uniform from the first with rows to the one before the last; of categories, whose
        cells are in another order, from all that have rows but the last.
        """
        if not self.options.random_splits:
            return None
        is_full = counts[:, : self.n_bins] > 0
        first = is_full.argmax(axis=1)
        last = self.n_bins - 1 - is_full[:, ::-1].argmax(axis=1)
        is_set = np.isin(features, self.categorical)
        first = np.where(is_set, 0, first)
        n_cuts = np.where(is_set, is_full.sum(axis=1), last - first + 1) - 1
        misses = counts[:, self.n_bins :].any(axis=1)
        drawn = hashes(hashes(features.astype(np.uint64)) ^ np.uint64(_mixed(self.key(i))))
        # All values go to one side and the missing ones to the other where there is one value.
        cut = (drawn >> np.uint64(1)) % np.maximum(n_cuts, 1).astype(np.uint64)
        direction = np.where(misses & (n_cuts > 0), drawn & np.uint64(1), np.uint64(0))
        return direction.astype(np.intp), first + cut.astype(np.intp)

    def means_of_categories(
        self, shifts: np.ndarray, weight: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """For several classes the order is that of the first principal component of their shares.

        The component is that of the shrunk shares about those of the node (Coppersmith, Hong and
        Hosking 1999), by as many steps of the power method as in `forest_trees`.
        """
        if len(shifts) < 2:
            return super().means_of_categories(shifts, weight)
        shrunk = np.nan_to_num(shifts / (weight + self.cat_smooth))
        values, w = shrunk[..., : self.n_bins], weight[:, : self.n_bins]
        component = (w * values * values).sum(axis=2)
        component[1::2] *= -1.0
        means = np.zeros(values.shape[1:])
        for _ in range(POWER_STEPS + 1):
            size = np.abs(component).max(axis=0)
            goes_on = size > 0
            component = component / np.where(goes_on, size, 1.0)
            means = np.where(goes_on[:, None], (component[..., None] * values).sum(axis=0), means)
            step = (means * w * values).sum(axis=2)
            component = np.where(goes_on, step, component)
        return comparable_scores(means), shrunk

    def gains(
        self,
        ids: list[int],
        left: np.ndarray,
        right: np.ndarray,
        shares: np.ndarray | None,
        j: np.ndarray,
    ) -> np.ndarray:
        gain = super().gains(ids, left, right, shares, j)
        if self.only is not None:
            places = np.arange(gain.shape[1])
            only = gain[:, places, *self.only]
            gain = np.full_like(gain, -np.inf)
            gain[:, places, *self.only] = only
        return gain

    def described(
        self,
        gain: float,
        place: tuple[int, int, int],
        counts: np.ndarray,
        left: list[float],
        order: np.ndarray | None,
    ) -> NodeSplit:
        found = super().described(gain, place, counts, left, order)
        if self.only is None or order is not None:
            return found
        has_one = np.count_nonzero(counts[: self.n_bins]) == 1
        if has_one:
            return found
        return NodeSplit(found.gain, found.feature, place[2], found.missing_left, found.left)

    def open_children(self, i: int, split: NodeSplit) -> None:
        for child in self.split(i, split):
            if self.is_light(self.totals[child]):
                self.small.append(child)
            elif not self.may_split(child):
                self.requests_to_ask.append(NodeRequest(child, np.empty(0, dtype=np.intp)))
            elif self.n_rows(child) <= self.most_rows:
                self.small.append(child)
            else:
                self.requests_to_ask.append(self.first_request(child))

    def is_light(self, totals: list[float]) -> bool:
        """Whether the weights of a node were so small that rounding has changed them."""
        few = LEAST_UNITS * totals[self.rows_at]
        return not self.units.grid.whole and totals[-1] < few

    def with_weight(self, sums: np.ndarray) -> np.ndarray:
        """The sums with the weight as the last kind, which classes add up to."""
        if not self.n_classes:
            return sums
        weight = sums[: self.n_classes].sum(axis=0)
        return np.concatenate([sums, weight[None]])

    def is_pure(self, i: int, spread: np.ndarray) -> bool:
        if self.n_classes:
            return max(self.totals[i][: self.n_classes]) == self.totals[i][-1]
        return bool(spread.sum() <= self.same_size)

    def score(self, sums: np.ndarray) -> np.ndarray:
        if not self.n_classes:
            return super().score(sums)
        by_class, weight = sums[:, : self.n_classes], sums[:, -1]
        found: np.ndarray
        if self.options.criterion == "gini":
            found = (by_class * by_class).sum(axis=1) / weight
        else:
            found = xlogy(by_class, by_class).sum(axis=1) - xlogy(weight, weight)
        return found

    # --- the result -----------------------------------------------------------------------

    def describe(self, i: int, moments: np.ndarray, spread: np.ndarray) -> None:
        """Note the impurity and the value of a node of real targets."""
        if self.n_classes:
            return
        total, _, weight = self.totals[i]
        weight *= self.weight_unit
        low, high = -float(spread[0]), float(spread[1])
        if low == high:
            self.described_nodes[i] = 0.0, low + self.units.centre
            return
        rest, squares = (float(each) for each in moments)
        exponent = self.units.grid.targets[0]
        mean = float(np.ldexp((total + np.ldexp(rest, -REST_BITS)) / weight, -exponent))
        square = float(np.ldexp(squares / weight, -2 * self.units.squares))
        mean = min(max(mean, low), high)  # a mean, but for rounding
        self.described_nodes[i] = max(square - mean * mean, 0.0), mean + self.units.centre

    def split_nodes(self) -> SplitNodes:
        """The nodes so far, for rows in bins."""
        bins = None
        if self.sets:
            bins = np.zeros((len(self.left), (MISSING + 1) // 8), dtype=np.uint8)
            for i, goes in self.sets.items():
                bins[i] = np.packbits(goes, bitorder="little")
        links = self.left, self.right, self.feature, self.code
        left, right, feature, code = (np.array(each, np.int32) for each in links)
        return SplitNodes(left, right, feature, code, np.array(self.missing_left, np.uint8), bins)

    def options_below(self, i: int, own_weight: float) -> GrowthOptions:
        """The options of what grows below a small node of this weight."""
        options = replace(self.whole_options, seed=self.seed_of(i))
        whole = own_weight if not self.left else self.totals[0][-1] * self.weight_unit
        least = max(options.min_weight_leaf, self.least_share * whole)
        if not self.left:
            return replace(options, min_weight_leaf=least)
        # The weight of a node counts relative to that of all rows of a growth.
        share = whole / own_weight
        return replace(
            options,
            min_weight_leaf=least,
            max_depth=options.max_depth - self.depth[i],
            min_impurity_decrease=options.min_impurity_decrease * share,
        )

    def whole_tree(self, below: Mapping[int, TreeArrays]) -> TreeArrays:
        """The tree in scikit-learn's order of nodes, with what has grown below small nodes."""
        if not self.left:
            return below[0]
        order, place, n_nodes, stack = [], {}, 0, [0]
        while stack:
            i = stack.pop()
            order.append(i)
            place[i] = n_nodes
            n_nodes += len(below[i]) if i in below else 1
            if self.left[i] != LEAF:
                stack += (self.right[i], self.left[i])
        own = [i for i in order if i not in below]
        top = self._top_nodes(own, place)
        first = next(iter(below.values()), top)
        fields = {}
        names = ("left", "right", "feature", "code", "threshold", "missing_left", "impurity")
        for name in (*names, "n_rows", "weight", "value"):
            kind, shape = getattr(first, name).dtype, getattr(first, name).shape[1:]
            out = fields[name] = np.empty((n_nodes, *shape), dtype=kind)
            out[[place[i] for i in own]] = getattr(top, name)
            for i, tree in below.items():
                part = getattr(tree, name)
                if name in ("left", "right"):
                    part = np.where(part == LEAF, part, part + place[i])
                out[place[i] : place[i] + len(tree)] = part
        bins = None
        if any(tree.left_bins is not None for tree in (top, *below.values())):
            bins = np.zeros((n_nodes, (MISSING + 1) // 8), dtype=np.uint8)
            if top.left_bins is not None:
                bins[[place[i] for i in own]] = top.left_bins
            for i, tree in below.items():
                if tree.left_bins is not None:
                    bins[place[i] : place[i] + len(tree)] = tree.left_bins
        depths = [self.depth[i] + tree.depth for i, tree in below.items()]
        depth = max([*self.depth, *depths])
        return TreeArrays(**fields, depth=depth, left_bins=bins, wide=self.columns.wide_columns())

    def _top_nodes(self, own: list[int], place: dict[int, int]) -> TreeArrays:
        """The nodes that have been searched by sums; children have their places in the tree."""
        nodes = self.split_nodes()
        index, number = np.array(own), np.full(len(self.left) + 1, LEAF, dtype=np.int32)
        for i, at in place.items():
            number[i] = at
        totals = np.array([self.totals[i] for i in own])
        weight = totals[:, -1] * self.weight_unit
        if self.n_classes:
            value = totals[:, : self.n_classes] / totals[:, -1:]
            impurity = 1.0 - (value * value).sum(axis=1)
            if self.options.criterion != "gini":
                impurity = -xlogy(value, value).sum(axis=1) / np.log(2.0)
            impurity = np.maximum(impurity, 0.0)
        else:
            impurity, value = np.array([self.described_nodes[i] for i in own]).T
        feature, code = nodes.feature[index], nodes.code[index]
        return TreeArrays(
            left=number[nodes.left[index]],
            right=number[nodes.right[index]],
            feature=feature,
            code=code,
            threshold=self.columns.thresholds(feature, code),
            missing_left=nodes.missing_left[index],
            impurity=impurity,
            n_rows=totals[:, self.rows_at].astype(np.int64),
            weight=weight,
            value=value.reshape(len(own), -1),
            depth=max(self.depth),
            left_bins=None if nodes.left_bins is None else nodes.left_bins[index],
        )


def _mixed(key: int) -> int:
    return int(hashes(np.array([key], np.uint64))[0])


# --- the sums of some rows ------------------------------------------------------------------------


def add_sums(
    out: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]],
    requests: Sequence[NodeRequest],
    codes: np.ndarray,
    rows: np.ndarray,
    node: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray,
    units: TargetUnits,
) -> None:
    """Write the answers of some rows to requests of one tree: table, moments, range of each.

    `rows` are the numbers of the rows of `codes` that the tree has, int32; `node`, `target` and
    `weight` are of these rows. O(rows) for each feature that is asked for.
    """
    # Small types are sorted in linear time.
    node = node.astype(np.min_scalar_type(int(node.max(initial=0))))
    order = np.argsort(node, kind="stable")
    node, known = node.take(order), np.array([request.node for request in requests])
    starts, stops = (node.searchsorted(known, side).tolist() for side in ("left", "right"))
    assert units.grid.weights is not None
    scale = 2.0 ** units.grid.weights[0]
    masses, bits = np.rint(weight * scale).astype(np.int64), len(rows).bit_length()
    if units.n_classes:
        classes = target.astype(np.int32)
    else:
        scaled = np.ldexp(target, units.grid.targets[0])
        values = np.rint(scaled) * weight if units.grid.whole else np.rint(scaled * weight)
        rest = np.rint(np.ldexp(scaled * weight - values, REST_BITS)).astype(np.int64)
        squares = np.rint(np.ldexp(target, units.squares) ** 2 * weight).astype(np.int64)
        moments = values.astype(np.int64)
    # The lower bits of a sum count the rows: two sums at the price of one, if they fit.
    is_packed = float(masses.sum(dtype=np.float64)) < 2.0 ** (SUM_BITS - bits)
    mask = (1 << bits) - 1
    for request, (table, sums, spread), start, stop in zip(requests, out, starts, stops):
        at = order[start:stop]
        if not len(at):
            continue
        if not units.n_classes:
            some = target[at]
            sums[:] = rest[at].sum(), squares[at].sum()
            spread[:] = -some.min(), some.max()
        if not len(request.features):
            continue
        groups = classes[at] if units.n_classes else None
        counted = partial(_in_bins, codes, rows[at], groups, request.features, units)
        own = masses[at]
        first = () if units.n_classes else (moments[at],)
        if is_packed:
            *of_target, packed = counted(*first, (own << bits) + 1)
            weights, n_rows = packed >> bits, packed & mask
        else:
            *of_target, weights = counted(*first, own)
            (n_rows,) = counted(np.ones_like(own))
        if units.n_classes:
            table[:-1], table[-1] = weights, n_rows.sum(axis=0)
        else:
            table[0], table[1], table[2] = of_target[0][0], n_rows[0], weights[0]


def _in_bins(
    codes: np.ndarray,
    rows: np.ndarray,
    groups: np.ndarray | None,
    features: np.ndarray,
    units: TargetUnits,
    *kinds: np.ndarray,
) -> np.ndarray:
    """The sums of these integers of rows in bins: (kinds, groups, features, bins)."""
    shape = len(features), max(units.n_classes, 1), MISSING + 1, len(kinds)
    found = np.zeros(shape, dtype=np.int64)
    values = np.column_stack(kinds)
    add_in_columns(codes.T, rows, groups, values, features.astype(np.int32), found)
    return found[:, :, units.cells].transpose(3, 1, 0, 2)
