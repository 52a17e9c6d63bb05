"""Growth of a tree over binned columns, whatever holds the rows: the tree asks for sums in bins.

`HistogramGrowth` makes the tree, one `TreeRequest` after the other, and what has the rows answers
with their sums in bins: blocks of a Dask collection (`boosting._gradient_boosting.blocks`). The
sums are exact, so the tree is the one that `_growth.HistogramGrower` grows on the same rows. Both
maximise

    S_left² / (W_left + l2) + S_right² / (W_right + l2)

Ties, up to rounding, go to the feature of the lowest rank, to missing values on the right, to the
lowest code; among the leaves to be split next, to the one that is older.
"""

from collections.abc import Generator, Sequence
from heapq import heappop, heappush, nsmallest
from itertools import islice
from typing import NamedTuple

import numpy as np

from ._columns import MISSING, SET, BinnedColumns
from ._draws import FeatureDraws
from ._histograms import (
    SAME,
    Split,
    TreeReply,
    TreeRequest,
    comparable_scores,
    score_of,
)
from ._options import GrowthOptions
from ._tree_arrays import LEAF, NO_FEATURE, TreeArrays

# So many nodes are searched together: fewer calls, and not much memory.
_GROUP = 16
# Best first, children are counted before their parent is split, for at most this share of the
# splits to come: few passes over the rows, and few children that are counted in vain.
_AHEAD = 0.5
# A gain is the difference of sums with this relative error.
ROUNDING = 1e-15
# Only a gain below this share of the sums can be one between equal targets.
_SUSPICIOUS = 1e-11

Requests = Generator[TreeRequest, TreeReply, None]


def sum_bits(n_rows: int) -> int:
    """The bits of sums over all rows: with the number of rows they mostly fit into 62."""
    return int(np.clip(62 - n_rows.bit_length(), 46, 52))


class Grid(NamedTuple):
    """Integers are targets times 2^exponent; `mean_size` is the mean of the targets' sizes."""

    exponent: int
    mean_size: float


class NodeSplit(NamedTuple):
    gain: float  # what the split gains, above 0 up to rounding
    feature: int
    code: int | np.ndarray  # of categories: whether each of 256 codes goes to the left
    missing_left: bool
    left: list[float]  # sums of the target, rows and weights on the left


class HistogramGrowth:
    """One tree while it grows; its sums are in units of the grids of targets and weights.

    - columns: only the edges are read; the codes, if there are any, belong to the back end.
    - options: with the squared error.
    - order: the features; of equally good splits the one of the first feature is taken.
    - weight_exponent: of the grid of the weights; None where all weights are 1.
    - seed: of the draws of features, where `options` asks for any.
    """

    def __init__(
        self,
        columns: BinnedColumns,
        options: GrowthOptions,
        order: np.ndarray,
        targets: Grid,
        weight_exponent: int | None,
        seed: int = 0,
    ) -> None:
        self.options, self.columns, self.order = options, columns, order
        self.n_bins, self.has_missing = columns.most_bins, columns.any_missing
        # The place of the number of rows among the sums, after those of the target or of classes.
        self.rows_at = 1
        # The kinds of sums whose means order categories.
        self.means_of = [0]
        flags = columns.categorical
        self.categorical = np.flatnonzero([] if flags is None else flags)
        self.constraints = None
        if options.monotonic_cst is not None and np.any(options.monotonic_cst):
            self.constraints = options.constraints(columns.n_features)
        self.interactions = options.interactions
        self.same_size = SAME * targets.mean_size
        self.weight_unit = unit = 1.0 if weight_exponent is None else 2.0**-weight_exponent
        self.value_unit = 2.0**-targets.exponent / unit
        self.gain_unit = self.value_unit**2 * unit
        self.l2, self.cat_smooth = options.l2_regularization / unit, options.cat_smooth / unit
        # On the grid a weight can vanish.
        least = 0.0 if weight_exponent is None else 1.0
        self.least_weight = max(options.min_weight_leaf / unit * (1 - ROUNDING), least)
        self.left: list[int] = []
        self.right: list[int] = []
        self.feature: list[int] = []
        self.code: list[int] = []
        self.sets: dict[int, np.ndarray] = {}  # of nodes that divide categories
        self.missing_left: list[bool] = []
        # Of the target or of each class, of rows and, perhaps, of weights.
        self.totals: list[list[float]] = []
        self.depth: list[int] = []
        self.bounds: list[tuple[float, float]] = []
        self.paths: list[frozenset[int]] = []  # the features that are cut above
        self.parents: list[int] = []
        # What the back end has to be told and asked next. Its numbers of nodes are places: it also
        # parts the rows of leaves that the tree may split later, or never.
        self.splits: list[Split] = []
        self.places: list[int] = []  # of the nodes
        self.n_places = 1
        self.parted: dict[int, int] = {}  # of leaves: the place of the left child
        self.doubtful: list[int] = []
        self.draws: FeatureDraws | None = None
        self.spreads: dict[int, float] = {}  # of the targets in places to draw features for
        self.in_depth = False
        if options.max_features:
            self.draws = FeatureDraws(seed, options.max_features, columns.n_features)

    # --- requests -------------------------------------------------------------------------

    def requests(self, group: int | None = None) -> Requests:
        """What is asked of the rows, one after the other; `request` has the splits that remain.

        At most so many nodes of a `group` are open at a time, a level without; with 1 features are
        drawn in the order of a growth in memory.
        """
        self.in_depth = group == 1 and not self.options.max_leaf_nodes
        (root,) = (yield self.request(counted=[0])).sums.astype(np.float64, copy=False)
        # Every feature has all rows in its bins.
        self.add(root[:, 0].sum(axis=-1).tolist(), LEAF, (-np.inf, np.inf))
        if self.may_split(0):
            if self.draws is not None:  # the root may have been counted before it is asked for
                self.note_spreads([0], (yield self.request(ranged=[0])))
            best_first = self.options.max_leaf_nodes
            yield from self.by_gain(root) if best_first else self.by_depth(root, group)

    def request(self, counted: Sequence[int] = (), ranged: Sequence[int] = ()) -> TreeRequest:
        """The request about these places, with the splits since the last one."""
        splits, self.splits = self.splits, []
        return TreeRequest(splits, list(counted), list(ranged))

    def note_spreads(self, places: list[int], reply: TreeReply) -> None:
        """Those of places for which features may be drawn: not if all targets are equal."""
        if self.draws is not None:
            self.spreads.update(zip(places, reply.ranges.sum(axis=1).tolist()))

    def by_depth(self, root: np.ndarray, group: int | None) -> Requests:
        # The leftmost group is on top of the stack: few levels have tables at a time.
        stack = [([0], [root])]
        while stack:
            ids, tables = stack.pop()
            found = yield from self.found_splits(ids, tables)
            pairs = [self.split(i, split) for i, split in zip(ids, found) if split is not None]
            parents = [table for table, split in zip(tables, found) if split is not None]
            asked = {
                pair: self.places[self.smaller(*pair)]
                for pair in pairs
                if any(self.may_split(i) for i in pair)
            }
            counted: dict[tuple[int, int], np.ndarray] = {}
            if asked:
                open_ids = [i for pair in asked for i in pair if self.may_split(i)]
                sums = yield from self.counted(
                    list(asked.values()), [self.places[i] for i in open_ids]
                )
                counted.update(zip(asked, sums))
            ids, tables = self.opened(pairs, parents, [counted.get(pair) for pair in pairs])
            size = group or max(len(ids), 1)
            for first in reversed(range(0, len(ids), size)):
                stack.append((ids[first : first + size], tables[first : first + size]))

    def by_gain(self, root: np.ndarray) -> Requests:
        # The number of a node, that of its age, decides between equal gains.
        heap: list[tuple[float, int, NodeSplit, np.ndarray]] = []
        ids, tables, n_leaves = [0], [root], 1
        counted: dict[int, np.ndarray | None] = {}  # sums of the smaller child of a leaf
        while True:
            found = yield from self.found_splits(ids, tables)
            for i, split, table in zip(ids, found, tables):
                if split is not None:
                    heappush(heap, (-split.gain, i, split, table))
            if not heap:
                break
            _, i, best, table = first = heappop(heap)
            n_leaves += 1
            n_left = self.options.max_leaf_nodes - n_leaves
            if n_left == 0:
                self.split(i, best)
                break
            if i not in counted:
                # In the same pass those that are probably split before the tree ends.
                others = (one for one in nsmallest(n_left, heap) if one[1] not in counted)
                next_ones = [first, *islice(others, int(_AHEAD * n_left))]
                yield from self.count_children([one[1:3] for one in next_ones], counted)
            smaller = counted.pop(i)
            pair = self.split(i, best)
            ids, tables = self.opened([pair], [table], [smaller])
        for i, left in self.parted.items():
            place = self.places[i]
            self.splits += [(child, 0, MISSING, True, place, place) for child in (left, left + 1)]

    def count_children(
        self, leaves: Sequence[tuple[int, NodeSplit]], counted: dict[int, np.ndarray | None]
    ) -> Requests:
        """Count the smaller child of each leaf at its split, if a child may be split; else None."""
        asked, open_places = {}, []
        for i, split in leaves:
            counted[i] = None
            sides = split.left, self.right_of(i, split)
            is_open = [self.may_be_split(self.depth[i] + 1, side) for side in sides]
            if any(is_open):
                self.part(i, split)
                left = self.parted[i]
                asked[i] = left + (sides[0][self.rows_at] > sides[1][self.rows_at])
                open_places += [left + side for side in range(2) if is_open[side]]
        if asked:
            sums = yield from self.counted(list(asked.values()), open_places)
            counted.update(zip(asked, sums))

    def counted(
        self, places: list[int], open_places: list[int]
    ) -> Generator[TreeRequest, TreeReply, np.ndarray]:
        """The sums of some places; features may be drawn for those that are open."""
        ranged = [] if self.draws is None else open_places
        reply = yield self.request(places, ranged)
        self.note_spreads(ranged, reply)
        return reply.sums.astype(float, copy=False)

    def opened(
        self,
        pairs: Sequence[tuple[int, int]],
        parents: Sequence[np.ndarray],
        counted: Sequence[np.ndarray | None],
    ) -> tuple[list[int], list[np.ndarray]]:
        """The children that may be split, and the sums in all bins, (2 or 3, p, bins), of each.

        Of two siblings the smaller has been counted, the other is what remains of their parent,
        whose table becomes its.
        """
        open_ids, tables = [], []
        for (left, right), parent, sums in zip(pairs, parents, counted):
            for i in (left, right):
                if sums is not None and self.may_split(i):
                    open_ids.append(i)
                    is_smaller = i == self.smaller(left, right)
                    tables.append(sums if is_smaller else np.subtract(parent, sums, out=parent))
        return open_ids, tables

    def smaller(self, left: int, right: int) -> int:
        return left if self.n_rows(left) <= self.n_rows(right) else right

    def found_splits(
        self, ids: list[int], tables: list[np.ndarray]
    ) -> Generator[TreeRequest, TreeReply, list[NodeSplit | None]]:
        """The best split of each node, None where there is none."""
        self.doubtful = []
        found: list[NodeSplit | None] = []
        size = _GROUP if self.draws is None else 1
        for first in range(0, len(ids), size):
            part = ids[first : first + size]
            allowed = None
            if self.interactions is not None:
                allowed = np.array([self.interactions.allowed(self.paths[i]) for i in part])
            if self.draws is not None:
                if self.spreads.pop(self.places[part[0]]) <= self.same_size:  # as in scikit-learn
                    found.append(None)
                    continue
                # scikit-learn forgets what is constant above where it grows best first; so does a
                # growth by levels, whose nodes come between a node and its children.
                parent = self.parents[part[0]] if self.in_depth else LEAF
                n_values, has_missing = self.occupied(part[0], tables[first])
                ruled_out = None if allowed is None else ~allowed[0]
                allowed = self.draws.features(part[0], parent, n_values, has_missing, ruled_out)
                allowed = allowed[None]
            with np.errstate(divide="ignore", invalid="ignore"):
                found += self.search(part, tables[first : first + size], allowed)
        # A gain this small may be the rounding of equal targets, which only their range tells.
        if self.doubtful and self.draws is None:
            reply = yield self.request(ranged=[self.places[i] for i in self.doubtful])
            for i, spread in zip(self.doubtful, reply.ranges.sum(axis=1)):
                if spread <= self.same_size:
                    found[ids.index(i)] = None
        return found

    def occupied(self, i: int, table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """How many values each feature has in a node (2 may be more), and whether some miss."""
        counts = table[self.rows_at]
        n_values = np.count_nonzero(counts[:, : self.n_bins], axis=1)
        return n_values, counts[:, self.n_bins :].any(axis=1)

    # --- the tree -------------------------------------------------------------------------

    def add(self, totals: list[float], parent: int, bounds: tuple[float, float]) -> int:
        self.left.append(LEAF)
        self.right.append(LEAF)
        self.feature.append(NO_FEATURE)
        self.code.append(NO_FEATURE)
        self.missing_left.append(False)
        self.totals.append(totals)
        self.depth.append(0 if parent == LEAF else self.depth[parent] + 1)
        self.parents.append(parent)
        self.bounds.append(bounds)
        self.places.append(0)
        path = frozenset() if parent == LEAF else self.paths[parent] | {self.feature[parent]}
        self.paths.append(path)
        return len(self.left) - 1

    def n_rows(self, i: int) -> float:
        return self.totals[i][self.rows_at]

    def may_split(self, i: int) -> bool:
        return self.may_be_split(self.depth[i], self.totals[i])

    def may_be_split(self, depth: int, totals: list[float]) -> bool:
        """Whether a node of this depth and these totals may be."""
        options = self.options
        return (
            depth < options.max_depth
            and totals[self.rows_at] >= max(options.min_samples_split, 2 * options.min_samples_leaf)
            and totals[-1] >= 2 * self.least_weight
        )

    def right_of(self, i: int, split: NodeSplit) -> list[float]:
        """The totals on the right of a split."""
        return [a - b for a, b in zip(self.totals[i], split.left)]

    def part(self, i: int, split: NodeSplit) -> None:
        """Let the back end divide the rows of a leaf."""
        left, self.n_places = self.n_places, self.n_places + 2
        cut = split.feature, split.code, split.missing_left
        self.splits.append((self.places[i], *cut, left, left + 1))
        self.parted[i] = left

    def split(self, i: int, split: NodeSplit) -> tuple[int, int]:
        """Make two children of a leaf, and divide its rows if they are not."""
        if i not in self.parted:
            self.part(i, split)
        left_place = self.parted.pop(i)
        left_totals, right_totals = split.left, self.right_of(i, split)
        left_bounds = right_bounds = low, high = self.bounds[i]
        sign = 0 if self.constraints is None else self.constraints[split.feature]
        if sign and self.options.bounded:
            # All that grows below stays on its side of the middle: the whole tree is monotonic.
            middle = (self.mean(left_totals) + self.mean(right_totals)) / 2
            left_bounds, right_bounds = (low, middle), (middle, high)
            if sign < 0:
                left_bounds, right_bounds = right_bounds, left_bounds
        self.feature[i] = split.feature
        left = self.add(left_totals, i, left_bounds)
        right = self.add(right_totals, i, right_bounds)
        self.left[i], self.right[i] = left, right
        self.places[left], self.places[right] = left_place, left_place + 1
        if isinstance(split.code, np.ndarray):
            self.code[i], self.sets[i] = SET, split.code
        else:
            self.code[i] = split.code
        self.missing_left[i] = split.missing_left
        return left, right

    # --- search ---------------------------------------------------------------------------

    def search(
        self,
        ids: list[int],
        tables: list[np.ndarray],
        allowed: np.ndarray | None,
        features: np.ndarray | None = None,
    ) -> list[NodeSplit | None]:
        """The best split of each node among the allowed features, None where there is none.

        The tables are of these `features`, the first of which wins ties; None for all of them.
        """
        n_bins = self.n_bins
        # Axes: node, kind of sum, feature, direction of the missing values, bin.
        n_kinds, p, _ = tables[0].shape
        known, order, categorical = features, self.order, self.categorical
        if known is None:
            known = np.arange(p)
        else:
            order, categorical = np.arange(p), np.flatnonzero(np.isin(known, categorical))
        left = np.empty((len(ids), n_kinds, p, 1 + self.has_missing, n_bins))
        # One node after the other into one array: all tables in one would be as large again.
        for part, table in zip(left, tables):
            values = table[..., :n_bins].cumsum(axis=-1, out=part[:, :, 0])
            if self.has_missing:
                np.add(values, table[..., n_bins:], out=part[:, :, 1])
        total = np.array([self.totals[i] for i in ids])
        orders, shares = self.in_order_of_means(tables, total, left, categorical)
        right = total[:, :, None, None, None] - left
        gain = self.gains(ids, left, right, shares, categorical)
        if allowed is not None:
            gain[~allowed] = -np.inf
        # argmax takes the first of equal gains: that of the feature of the lowest rank.
        flat = gain[:, order].reshape(len(ids), -1)
        best = flat.argmax(axis=1)
        allowed_at = flat[np.arange(len(ids)), best] > -np.inf
        place_in_order, direction, cell = np.unravel_index(best, gain.shape[1:])
        place_of = order[place_in_order]
        left = left[np.arange(len(ids)), :, place_of, direction, cell]
        size_of = self.score(left) + self.score(total - left)
        parent = self.score(total)
        found: list[NodeSplit | None] = []
        for at, i in enumerate(ids):
            j, place = int(place_of[at]), (int(direction[at]), int(cell[at]))
            size = float(size_of[at])
            k = int(np.searchsorted(categorical, j))
            is_set = k < len(categorical) and categorical[k] == j
            if is_set and shares is not None:
                size = float(parent[at] + shares[at, k, *place] * (size - parent[at]))
            if not allowed_at[at] or not self.is_worth(i, size, float(parent[at])):
                found.append(None)
                continue
            split_gain = size - float(parent[at])
            counts = tables[at][self.rows_at, j]
            by_mean = orders[at, k] if is_set else None
            place_of_cut = int(known[j]), *place
            found.append(
                self.described(split_gain, place_of_cut, counts, left[at].tolist(), by_mean)
            )
        return found

    def score(self, sums: np.ndarray) -> np.ndarray:
        """What the search maximises, of sums whose second axis has the kinds."""
        return score_of(sums, self.l2)

    def in_order_of_means(
        self, tables: list[np.ndarray], total: np.ndarray, left: np.ndarray, j: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Put the sums of categories into the order of the means of their targets, in `left`.

        The features of categories have the places `j` in the tables.

        For every score that is convex in the sums of a child, the best two sets of categories are a
        beginning of this order and the rest (Breiman et al. 1984, theorem 4.5). The mean of a
        category about that of the node is multiplied by W / (W + cat_smooth), and of the gain of a
        cut the share counts that these means have. The orders are (nodes, categorical features,
        bins), with bins without rows last, and the shares (nodes, categorical features, directions,
        bins), or None, for 1, without `cat_smooth`.
        """
        n_bins, kinds = self.n_bins, self.means_of
        orders = np.empty((len(tables), len(j), n_bins), dtype=np.intp)
        if not len(j):
            return orders, None
        shares = np.ones((len(tables), len(j), *left.shape[3:])) if self.cat_smooth > 0 else None
        for at, (table, all_sums) in enumerate(zip(tables, total)):
            mean = all_sums[kinds, None, None] / all_sums[-1]
            sums = table[:, j]
            shifts = sums[kinds] - mean * sums[-1]
            means, shrunk = self.means_of_categories(shifts, sums[-1])
            key = np.where(sums[self.rows_at, :, :n_bins] > 0, means[:, :n_bins], np.inf)
            orders[at] = order = key.argsort(axis=1, kind="stable")
            values = np.take_along_axis(sums[..., :n_bins], order[None], axis=2).cumsum(axis=2)
            left[at][:, j, 0] = values
            if self.has_missing:
                left[at][:, j, 1] = values + sums[..., n_bins:]
            if shares is None:
                continue
            shrunk = np.nan_to_num(shrunk) * sums[-1]
            by_mean = np.take_along_axis(shrunk[..., :n_bins], order[None], axis=2)
            on_left, of_all = by_mean.cumsum(axis=2), shrunk.sum(axis=2, keepdims=True)
            for direction in range(1 + self.has_missing):
                a = on_left + (shrunk[..., n_bins:] if direction else 0.0)
                b, w = of_all - a, left[at][-1, j, direction]
                shift = left[at][kinds][:, j, direction] - mean * w
                whole = (shift * shift * (1 / w + 1 / (all_sums[-1] - w))).sum(axis=0)
                of_means = (a * a / w + b * b / (all_sums[-1] - w)).sum(axis=0)
                share = np.minimum(of_means / whole, 1.0)
                shares[at, :, direction] = np.where(whole > 0, share, 1.0)
        return orders, shares

    def means_of_categories(
        self, shifts: np.ndarray, weight: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """What orders categories, and their shrunk means.

        Of features and bins, the means of kinds too; `shifts` are sums about the mean of the node.
        """
        means = comparable_scores(shifts / (weight + self.cat_smooth))
        return means[0], means

    def gains(
        self,
        ids: list[int],
        left: np.ndarray,
        right: np.ndarray,
        shares: np.ndarray | None,
        j: np.ndarray,
    ) -> np.ndarray:
        """The scores on both sides, rounded for comparisons; -inf for cuts that are not allowed."""
        n_rows = self.options.min_samples_leaf
        forbidden = np.minimum(left[:, self.rows_at], right[:, self.rows_at]) < n_rows
        if self.least_weight > 0:
            forbidden |= np.minimum(left[:, -1], right[:, -1]) < self.least_weight
        if self.constraints is not None:
            means = below, above = [s[:, 0] / (s[:, -1] + self.l2) for s in (left, right)]
            low, high = np.array([self.bounds[i] for i in ids]).T[:, :, None, None, None]
            forbidden |= (below - above) * self.constraints[:, None, None] > 0
            for mean in means:
                outside = (mean < low) | (mean > high)
                forbidden |= outside & (self.constraints[:, None, None] != 0)
            # Missing values alone are on the right.
            forbidden[:, :, 1:] |= left[:, 1, :, :1] == 0
        score = self.score(left) + self.score(right)
        if shares is not None:
            total = np.array([self.totals[i] for i in ids])
            before = self.score(total)[:, None, None, None]
            score[:, j] = before + shares * (score[:, j] - before)
        gain = comparable_scores(score)
        gain[forbidden] = -np.inf
        return gain

    def is_worth(self, i: int, size: float, parent: float) -> bool:
        """Whether the node is split, by the sums after and before; doubtful ones are noted."""
        total = self.totals[0][-1] * self.weight_unit
        least = self.options.min_impurity_decrease * total
        if (size - parent + ROUNDING * abs(size)) * self.gain_unit < least:
            return False
        if not size - parent > _SUSPICIOUS * size:
            self.doubtful.append(i)
        return True

    def described(
        self,
        gain: float,
        place: tuple[int, int, int],
        counts: np.ndarray,
        left: list[float],
        order: np.ndarray | None,
    ) -> NodeSplit:
        """The split after a bin: the cut is in the middle of the gap to the next occupied bin.

        After a bin in their order, if there is one: bins without rows go with missing values.
        """
        feature, direction, cell = place
        n_bins = self.n_bins
        missing = counts[n_bins] if self.has_missing else 0.0
        after = counts[cell + 1 : n_bins].nonzero()[0]
        # Cuts above the highest code leave only missing values on the right.
        all_values = self.columns.missing - 1
        code = cell + (1 + int(after[0])) // 2 if len(after) else all_values
        # Where no value is missing, a missing one will go where most rows go.
        missing_left = bool(direction) if missing else 2 * left[self.rows_at] > counts.sum()
        if order is not None:
            goes = np.full(MISSING + 1, missing_left)
            full = order[counts[order] > 0]
            goes[full] = np.arange(len(full)) <= cell
            return NodeSplit(gain, feature, goes, missing_left, left)
        return NodeSplit(gain, feature, code, missing_left, left)

    def mean(self, totals: list[float]) -> float:
        return totals[0] / (totals[-1] + self.l2)

    # --- the result -----------------------------------------------------------------------

    def numbered(self) -> tuple[np.ndarray, np.ndarray]:
        """The nodes in scikit-learn's order, and the number in it of each; that of LEAF is LEAF."""
        m = len(self.left)
        order = np.arange(m)
        number = np.arange(m + 1, dtype=np.int32)
        if not self.options.max_leaf_nodes:
            visited, stack = [], [0]
            while stack:
                i = stack.pop()
                visited.append(i)
                if self.left[i] != LEAF:
                    stack += (self.right[i], self.left[i])
            number[visited], order = order, np.array(visited)
        number[LEAF] = LEAF
        return order, number

    def arrays(
        self,
        order: np.ndarray,
        number: np.ndarray,
        *,
        weight: np.ndarray,
        value: np.ndarray,
        impurity: np.ndarray,
    ) -> TreeArrays:
        """The tree with its nodes in this order, in which weights, values and impurities are."""
        left, right = (number[np.array(part)[order]] for part in (self.left, self.right))
        feature = np.array(self.feature, dtype=np.int32)[order]
        code = np.array(self.code, dtype=np.int32)[order]
        left_bins = None
        if self.sets:
            left_bins = np.zeros((len(order), (MISSING + 1) // 8), dtype=np.uint8)
            for i, goes in self.sets.items():
                left_bins[number[i]] = np.packbits(goes, bitorder="little")
        return TreeArrays(
            left=left,
            right=right,
            feature=feature,
            code=code,
            threshold=self.columns.thresholds(feature, code),
            missing_left=np.array(self.missing_left, dtype=np.uint8)[order],
            impurity=impurity,
            n_rows=np.array([self.n_rows(i) for i in range(len(order))])[order].astype(np.int64),
            weight=weight,
            value=value.reshape(len(order), -1),
            depth=max(self.depth),
            left_bins=left_bins,
            wide=self.columns.wide_columns(),
        )

    def tree(self, moments: np.ndarray) -> tuple[TreeArrays, np.ndarray]:
        """The tree of rows in blocks, and the number in it of each place; LEAF for none.

        `moments` (places, 3) are sums of weights, of targets and of their squares in each leaf.
        """
        moments = moments[self.places]
        left, right = np.array(self.left), np.array(self.right)
        for i in np.flatnonzero(left != LEAF)[::-1].tolist():
            moments[i] = moments[left[i]] + moments[right[i]]
        order, number = self.numbered()
        # Of the rows themselves: the integers are rounded.
        weight, moment, square = moments[order].T
        mean = moment / weight
        l2, bounds = self.options.l2_regularization, np.array(self.bounds)[order]
        optimum = moment / (weight + l2)
        value = np.clip(optimum, *(bounds.T * self.value_unit))
        impurity = np.maximum(square / weight - mean * mean, 0.0) + (value - optimum) ** 2
        tree = self.arrays(order, number, weight=weight, value=value, impurity=impurity)
        numbers = np.full(self.n_places, LEAF)
        numbers[self.places] = number[:-1]
        return tree, numbers
