"""Growth of trees whose nodes have quantiles of their targets, through NumPy.

The least pinball loss of rows with the weighted sum S of the targets and the weight W is tau S - G,
with G the sum of the targets over the lowest weight of tau W. A cut is best where the sum of G over
both sides is largest. Rows are in the order of their targets, so that a quantile is a place. All
sums are of whole numbers that doubles hold, and the trees are those of the compiled growth.
"""

from typing import NamedTuple

import numpy as np

from sklearn_ensemble_theory._rows import positive_rows

from ._columns import BinnedColumns
from ._compiled_growth import integer_scale
from ._draws import FeatureDraws
from ._options import GrowthOptions
from ._tree_arrays import LEAF, NO_FEATURE, TreeArrays

# As in the compiled growth: sums of targets, and of weights that are not whole, have so many bits.
_BITS = 52
_RANDOM_MAX = 0x7FFFFFFF
_EPSILON = np.finfo(np.float64).eps


class Units(NamedTuple):
    """The rows of a tree as whole numbers: weighted targets, weights and targets, in two units."""

    s: np.ndarray
    w: np.ndarray
    t: np.ndarray
    scale: float  # of weighted targets
    weight_unit: float
    total_weight: float


def in_units(target: np.ndarray, weight: np.ndarray | None) -> Units:
    """Targets, which increase, about their middle one; whole weights are exact. O(m)."""
    m = len(target)
    w = np.ones(m) if weight is None else weight
    total, count_bits = float(w.sum()), m.bit_length()
    whole = total < 2.0 ** min(40, 62 - count_bits) and bool((w == np.trunc(w)).all())
    unit = 1.0 if whole else 1.0 / integer_scale(total, min(_BITS, 62 - count_bits))
    centred = target - target[m // 2]
    scale = integer_scale(float(np.cumsum(np.abs(centred) * w)[-1]), _BITS)
    mass = np.maximum(np.rint(w / unit), 1.0)
    t = centred * scale
    if whole:
        t = np.rint(t)
        return Units(t * mass, mass, t, scale, unit, total)
    return Units(np.rint(t * w), mass, t * unit, scale, unit, total)


def lowest_sums(
    order: np.ndarray, start: np.ndarray, stop: np.ndarray, rows: Units, tau: float
) -> np.ndarray:
    """G of parts of rows: those numbered order[start:stop], for each of several pairs.

    The quantiles of all parts are found together, bit after bit of the number of a row, the highest
    first: rows with the bit 0 come before those with the bit 1, and each part goes to one of the
    two (a wavelet matrix). O((rows + parts) log(rows)).
    """
    w, s = rows.w[order], rows.s[order]
    ends = np.concatenate([[0.0], np.cumsum(w)])
    least = tau * (ends[stop] - ends[start])
    below_w, below_s = np.zeros(len(start)), np.zeros(len(start))
    place = np.zeros(len(start), dtype=np.intp)
    for bit in reversed(range(max(len(rows.w) - 1, 1).bit_length())):
        is_zero = order >> bit & 1 == 0
        n_zeros = np.concatenate([[0], np.cumsum(is_zero)])
        w_zeros = np.concatenate([[0.0], np.cumsum(np.where(is_zero, w, 0.0))])
        s_zeros = np.concatenate([[0.0], np.cumsum(np.where(is_zero, s, 0.0))])
        more = below_w + (w_zeros[stop] - w_zeros[start])
        above = more < least
        below_w = np.where(above, more, below_w)
        below_s += np.where(above, s_zeros[stop] - s_zeros[start], 0.0)
        place += above << bit
        start, stop = (
            np.where(above, n_zeros[-1] + end - n_zeros[end], n_zeros[end]) for end in (start, stop)
        )
        by_bit = np.concatenate([np.flatnonzero(is_zero), np.flatnonzero(~is_zero)])
        order, w, s = order[by_bit], w[by_bit], s[by_bit]
    below_w, below_s = below_w + rows.w[place], below_s + rows.s[place]
    return below_s + rows.t[place] * (least - below_w)


class Node(NamedTuple):
    """A node that may be visited: its rows, by number, and where it is in the tree."""

    rows: np.ndarray
    parent: int
    is_right: bool
    depth: int


class Cut(NamedTuple):
    score: float
    feature: int
    code: int
    missing_left: bool
    left: np.ndarray  # a mask of the node's rows


class QuantileGrowth:
    """One tree while it grows.

    Parameters
    ----------
    columns : BinnedColumns
        Of the tree's rows, in the order of their targets.
    target : float64 array of shape (m,)
    weight : float64 array of shape (m,) or None
    options : GrowthOptions
    """

    def __init__(
        self,
        columns: BinnedColumns,
        target: np.ndarray,
        weight: np.ndarray | None,
        options: GrowthOptions,
    ) -> None:
        self.columns, self.target, self.options = columns, target, options
        self.units = in_units(target, weight)
        is_median = options.criterion == "absolute_error"
        self.tau, self.factor = (0.5, 2.0) if is_median else (options.quantile, 1.0)
        p = columns.n_features
        self.draws = FeatureDraws(options.seed, options.max_features or p, p)
        # Rounding upwards would refuse a leaf of exactly this weight.
        self.least_weight = np.nextafter(options.min_weight_leaf, 0.0) / self.units.weight_unit
        self.left: list[int] = []
        self.right: list[int] = []
        self.feature: list[int] = []
        self.code: list[int] = []
        self.missing_left: list[bool] = []
        self.n_rows: list[int] = []
        self.depth: list[int] = []
        self.lowest: list[float] = []  # G of the node
        self.impurity: list[float] = []
        self.weight: list[float] = []
        self.value: list[float] = []

    def grow(self) -> TreeArrays:
        waiting = [Node(np.arange(len(self.target)), LEAF, False, 0)]
        if self.options.max_leaf_nodes:
            self.grow_best_first(waiting)
        while waiting:
            node = waiting.pop()
            i = self.add(node)
            _, cut = self.best_cut(i, node)
            if cut is not None:
                waiting += self.divided(i, node, cut)
        feature, code = np.array(self.feature, np.int32), np.array(self.code, np.int32)
        return TreeArrays(
            left=np.array(self.left, np.int32),
            right=np.array(self.right, np.int32),
            feature=feature,
            code=code,
            threshold=self.columns.thresholds(feature, code),
            missing_left=np.array(self.missing_left, np.uint8),
            impurity=np.array(self.impurity),
            n_rows=np.array(self.n_rows, np.int64),
            weight=np.array(self.weight),
            value=np.array(self.value)[:, None],
            depth=max(self.depth),
        )

    def grow_best_first(self, waiting: list[Node]) -> None:
        """The leaf whose cut reduces the impurity most is always the next to be cut."""
        leaves: list[tuple[int, Node, float, Cut | None]] = []
        while waiting:
            while waiting:
                node = waiting.pop()
                i = self.add(node)
                leaves.append((i, node, *self.best_cut(i, node)))
            best = int(np.argmax([decrease for _, _, decrease, _ in leaves]))
            i, node, _, cut = leaves[best]
            if cut is not None and len(leaves) < self.options.max_leaf_nodes:
                leaves[best] = leaves[-1]
                leaves.pop()
                waiting += self.divided(i, node, cut)

    def add(self, node: Node) -> int:
        """The number of a node, which is a leaf so far, with its quantile and mean loss."""
        i, units, rows = len(self.left), self.units, node.rows
        if node.parent != LEAF:
            (self.right if node.is_right else self.left)[node.parent] = i
        w, s = np.cumsum(units.w[rows]), np.cumsum(units.s[rows])
        least = self.tau * w[-1]
        # 0.55 of 100 is just above 55: what rounding alone keeps from a whole number is this one.
        if abs(least - np.rint(least)) <= _EPSILON * w[-1]:
            least = np.rint(least)
        k = int(np.searchsorted(w, least))
        y, after = self.target[rows[k]], self.target[rows[min(k + 1, len(rows) - 1)]]
        lowest = s[k] + units.t[rows[k]] * (least - w[k])
        loss = max(self.tau * s[-1] - lowest, 0.0)
        if self.target[rows[0]] == self.target[rows[-1]]:
            loss = 0.0
        # Where all values between two targets are quantiles, the middle, as in scikit-learn.
        self.lowest.append(lowest)
        self.value.append(0.5 * y + 0.5 * after if w[k] == least else y)
        self.impurity.append(loss / w[-1] * (self.factor / units.scale) / units.weight_unit)
        self.weight.append(w[-1] * units.weight_unit)
        self.n_rows.append(len(rows))
        self.depth.append(node.depth)
        self.left.append(LEAF)
        self.right.append(LEAF)
        self.feature.append(NO_FEATURE)
        self.code.append(NO_FEATURE)
        self.missing_left.append(False)
        return i

    def divided(self, i: int, node: Node, cut: Cut) -> list[Node]:
        """The children of a node: the right one, and then the left one, which is visited first."""
        self.feature[i], self.code[i] = cut.feature, cut.code
        self.missing_left[i] = cut.missing_left
        depth = node.depth + 1
        return [
            Node(node.rows[~cut.left], i, True, depth),
            Node(node.rows[cut.left], i, False, depth),
        ]

    def best_cut(self, i: int, node: Node) -> tuple[float, Cut | None]:
        """By how much the best cut reduces the impurity, and this cut; -inf where there is none."""
        options, units, rows = self.options, self.units, node.rows
        if (
            node.depth >= options.max_depth
            or len(rows) < max(options.min_samples_split, 2 * options.min_samples_leaf)
            or units.w[rows].sum() < 2 * self.least_weight
            or self.impurity[i] <= _EPSILON * self.impurity[0]
        ):
            return -np.inf, None
        here = units._replace(s=units.s[rows], w=units.w[rows], t=units.t[rows])
        best, codes = None, self.columns.codes
        # scikit-learn forgets what is constant above where it grows best first.
        parent = LEAF if options.max_leaf_nodes else node.parent

        def is_constant(feature: int) -> bool:
            column = codes[rows, feature]
            return bool((column == column[0]).all())

        for feature in self.draws.visits(i, parent, is_constant):
            search = self.random_cut if options.random_splits else self.cut_of_feature
            found = search(codes[rows, feature].astype(np.intp), here, feature)
            if found is not None and (best is None or found.score > best.score):
                best = found
        if best is None:
            return -np.inf, None
        # Rounding alone makes the score of a cut the lower one.
        gain = max(best.score - self.lowest[i], 0.0)
        decrease = gain * (self.factor / units.scale / units.total_weight)
        if decrease + _EPSILON < options.min_impurity_decrease:
            return -np.inf, None
        return float(decrease), best

    def cut_of_feature(self, codes: np.ndarray, rows: Units, feature: int) -> Cut | None:
        """The best cut by a feature; of equal ones with missing values on the right, then low."""
        n, missing, best = len(codes), self.columns.missing, None
        misses = codes == missing
        has_missing = bool(misses.any())
        for missing_left in (False, True)[: 1 + has_missing]:
            # Missing values come last, or first and without a cut after them.
            keys = np.where(misses, -1, codes) if missing_left else codes
            order = np.argsort(keys, kind="stable")
            keys = keys[order]
            at = np.flatnonzero(keys[1:] != keys[:-1])
            at = at[keys[at] >= 0]
            at, score = self.scores(order, at + 1, rows)
            if not len(at) or (best is not None and not score.max() > best.score):
                continue
            k = int(score.argmax())
            n_left = int(at[k])
            low, high = int(keys[n_left - 1]), int(keys[n_left])
            code = missing - 1 if high == missing else (low + high) // 2
            left = np.zeros(n, dtype=bool)
            left[order[:n_left]] = True
            # Where none is missing, they will go where most rows go.
            goes_left = missing_left if has_missing else bool(2 * n_left > n)
            best = Cut(float(score[k]), feature, code, goes_left, left)
        return best

    def random_cut(self, codes: np.ndarray, rows: Units, feature: int) -> Cut | None:
        """One random cut by a feature, as in extremely randomised trees."""
        misses = codes == self.columns.missing
        known = codes[~misses]
        low, high = int(known.min()), int(known.max())
        threshold = (high - low) * float(self.draws.next()) / _RANDOM_MAX + low
        code = low if threshold == high else int(threshold)
        has_missing = bool(misses.any())
        missing_left = has_missing and self.draws.next() % 2 == 1
        left = np.where(misses, missing_left, codes <= code)
        n_left = np.count_nonzero(left)
        if n_left in (0, len(codes)):
            return None
        order = np.argsort(~left, kind="stable")
        at, score = self.scores(order, np.array([n_left]), rows)
        if not len(at):
            return None
        goes_left = missing_left if has_missing else bool(2 * n_left > len(codes))
        return Cut(float(score[0]), feature, code, goes_left, left)

    def scores(
        self, order: np.ndarray, n_left: np.ndarray, rows: Units
    ) -> tuple[np.ndarray, np.ndarray]:
        """Those numbers of rows on the left that a cut may leave there, and the scores of these."""
        n, leaf = len(order), self.options.min_samples_leaf
        w = np.concatenate([[0.0], np.cumsum(rows.w[order])])
        allowed = (n_left >= leaf) & (n - n_left >= leaf)
        allowed &= (w[n_left] >= self.least_weight) & (w[-1] - w[n_left] >= self.least_weight)
        n_left = n_left[allowed]
        start = np.concatenate([np.zeros_like(n_left), n_left])
        stop = np.concatenate([n_left, np.full_like(n_left, n)])
        sums = lowest_sums(order, start, stop, rows, self.tau)
        return n_left, sums[: len(n_left)] + sums[len(n_left) :]


def grow_by_quantiles(
    columns: BinnedColumns,
    target: np.ndarray,
    weight: np.ndarray | None,
    rows: np.ndarray | None,
    options: GrowthOptions,
) -> TreeArrays:
    """See `_growth.grow_tree`. O(m p log m) for each level of the tree."""
    target = np.asarray(target, dtype=np.float64)
    if weight is not None and weight.min() <= 0:
        kept = positive_rows(weight)
        rows = kept if rows is None else rows[kept]
        target, weight = target[kept], weight[kept]
    order = np.argsort(target, kind="stable")
    columns = columns.take_rows(order if rows is None else np.asarray(rows)[order])
    weight = None if weight is None else np.asarray(weight, dtype=np.float64)[order]
    return QuantileGrowth(columns, target[order], weight, options).grow()
