"""Which pairs the parameter `interactions` asks for."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from sklearn_ensemble_theory._blocks import Blocks, PassCount, SummedFields
from sklearn_ensemble_theory._hot_loops.compilation import uses_numba
from sklearn_ensemble_theory._hot_loops.teams import ThreadTeam
from sklearn_ensemble_theory.boosting._additive.pair_rounds import (
    PairBoost,
    PairColumns,
    PairPasses,
    PairResiduals,
    ResidualSums,
    cell_weights,
    residual_sums,
    table_shape,
)
from sklearn_ensemble_theory.boosting._additive.pair_tables import (
    AdditiveFit,
    CoarseBins,
    coarse_bins,
    coarse_columns,
    inverse_weights,
    merged_bins,
    ordered_bins,
    purify,
    quadrant_sums,
)
from sklearn_ensemble_theory.boosting._additive.phases import (
    BinnedRows,
    LabelledRows,
    WorkingResiduals,
)
from sklearn_ensemble_theory.boosting._additive.sums import CutLayout


def resolve_interactions(interactions: Any, n_features: int) -> int | str | list[tuple[int, int]]:
    """The number of pairs, "auto", or the pairs themselves.

    Parameters
    ----------
    interactions : int, float, "auto" or sequence of pairs of int
        - int: so many pairs; all pairs, if there are fewer.
        - float: the number of pairs as a multiple of the number of features, rounded up, and at
          most all pairs: 0.9 of 20 features are 18 pairs.
        - "auto": as many as are found to be significant.
        - pairs of numbers of features: these, in this order.
    n_features : int

    Returns
    -------
    int, "auto" or list of tuples (a, b) with a < b

    Raises
    ------
    TypeError or ValueError
        If `interactions` is none of these.

    Examples
    --------
    >>> from sklearn_ensemble_theory.boosting._additive.pairs import resolve_interactions
    >>> resolve_interactions(0.9, 20), resolve_interactions(100, 4)
    (18, 6)
    >>> resolve_interactions([(3, 1)], 4)
    [(1, 3)]
    """
    n_all = n_features * (n_features - 1) // 2
    if isinstance(interactions, str):
        if interactions != "auto":
            raise ValueError(_message(interactions))
        return "auto" if n_all else 0
    if isinstance(interactions, bool | np.bool_):
        raise TypeError(_message(interactions))
    if isinstance(interactions, Integral):
        if interactions < 0:
            raise ValueError(_message(interactions))
        return min(int(interactions), n_all)
    if isinstance(interactions, Real):
        interactions = float(interactions)
        if not 0 <= interactions < np.inf:
            raise ValueError(_message(interactions))
        # A little less, so that a product that is whole up to rounding is not rounded up.
        wanted = np.ceil(interactions * n_features * (1 - 1e-12))
        return int(min(wanted, n_all))
    if not isinstance(interactions, Sequence | np.ndarray):
        raise TypeError(_message(interactions))
    return _checked_pairs(interactions, n_features)


def _checked_pairs(pairs, n_features):
    checked = []
    for k, pair in enumerate(pairs):
        members = list(pair) if isinstance(pair, Sequence | np.ndarray) else []
        whole = [isinstance(j, Integral) and not isinstance(j, bool) for j in members]
        if isinstance(pair, str) or len(members) != 2 or not all(whole):
            raise ValueError(f"interactions[{k}] must be a pair of two features; got {pair!r}.")
        a, b = sorted(int(j) for j in members)
        if a < 0 or b >= n_features:
            raise ValueError(
                f"interactions[{k}] is {pair!r}, but the features are 0 to {n_features - 1}."
            )
        if a == b:
            raise ValueError(f"interactions[{k}] is a feature with itself: {pair!r}.")
        if (a, b) in checked:
            raise ValueError(f"interactions names the pair ({a}, {b}) twice.")
        checked.append((a, b))
    return checked


def _message(interactions):
    return (
        "interactions must be a non-negative number of pairs, a non-negative multiple of the "
        f"number of features, 'auto' or a sequence of pairs of features; got {interactions!r}."
    )


# Ordered bins of a feature in the tables.
DETECTION_BINS = 32
# Quadrants of less than this share of the weight are no evidence.
_MIN_SHARE = 0.005
# Draws of the signs: for each pair, and at least for all pairs together, since the scale of the
# gains is estimated from all of them.
_DRAWS_PER_PAIR, _DRAWS = 20, 400
# Chance that "auto" finds any pair where there is none.
_FALSE_ALARM = 0.05
# Most pairs that "auto" chooses, as a multiple of the number of features.
_MOST_PAIRS = 0.9
# The tables of so many pairs are in memory at a time, in cells.
_CELLS_AT_ONCE = 2**21


class DetectedPairs(NamedTuple):
    """Chosen pairs, the one with the largest gain first.

    Attributes
    ----------
    pairs : list of m tuples (a, b)
    gains : ndarray of shape (m,)
        By how much the best cut of each lowers the weighted sum of squares.
    p_values : ndarray of shape (m,)
        Bounds on the chance that any pair of features has such a gain without interactions; nan
        where the number of pairs was given.
    """

    pairs: list[tuple[int, int]]
    gains: np.ndarray
    p_values: np.ndarray


def detect_pairs(
    codes,
    n_bins,
    residual,
    n_pairs,
    sample_weight=None,
    *,
    frequency=None,
    features=None,
    max_bins=DETECTION_BINS,
    missing=None,
    categorical=None,
    random_state=None,
    n_threads=1,
):
    """The pairs with the largest gains, or those whose gains are significant.

    Parameters
    ----------
    codes : unsigned ndarray of shape (n, p), in Fortran order
    n_bins : int ndarray of shape (p,)
        The codes of feature j are below ``n_bins[j]``.
    residual : ndarray of shape (n,)
        Residuals of a model of main effects.
    n_pairs : int or "auto"
        "auto" chooses the pairs whose gain is larger than the largest of all pairs would be in
        95 % of the cases without interactions, and at most 0.9 p of them.
    sample_weight : ndarray of shape (n,), default=None
        Positive weights.
    frequency : ndarray of shape (n,), default=None
        How many rows each row stands for; `sample_weight` by default. In a Newton step, with
        weights that contain the second derivatives, the weights of the rows without them.
    features : int ndarray, default=None
        The features among which pairs are looked for, in increasing order; all by default.
    max_bins : int, default=32
        Ordered bins of a feature in the tables.
    missing, categorical : bool ndarray of shape (p,), default=None
        See `coarse_bins`.
    random_state : int, RandomState instance or None
        Used by "auto" only.
    n_threads : int, default=1
        The result does not depend on it.

    Returns
    -------
    DetectedPairs

    Notes
    -----
    O(n p^2) for the tables, by one pass over the rows for each group of pairs, and O(B^3) for each
    pair of features with B bins.
    """
    features = np.arange(len(n_bins)) if features is None else features
    bins = coarse_bins(
        codes, n_bins, max_bins, sample_weight, missing=missing, categorical=categorical
    )
    values = table_values(residual, sample_weight, frequency)
    return strongest_pairs(
        lambda pairs: pair_tables(codes, bins, pairs, values),
        bins,
        features,
        n_pairs,
        random_state=random_state,
        n_threads=n_threads,
    )


def table_values(
    residual: np.ndarray, sample_weight: np.ndarray | None, frequency: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What is summed in the cells: weighted residuals, weights, and the variances of the former."""
    weight = np.ones(len(residual)) if sample_weight is None else sample_weight
    sums = weight * residual
    # A row that stands for m rows, with sum m s in all, has variance m s^2.
    variance = sums * residual if frequency is None else sums**2 / frequency
    return sums, weight, variance


def strongest_pairs(
    tables_of: Callable[[list], Sequence],
    bins: CoarseBins,
    features: np.ndarray,
    n_pairs: Any,
    *,
    random_state: Any = None,
    n_threads: int = 1,
    cells_at_once: int = _CELLS_AT_ONCE,
) -> DetectedPairs:
    """`detect_pairs`, from the tables of the pairs.

    Parameters
    ----------
    tables_of : callable
        Of a list of pairs: the sums of `table_values` in the cells of each, (3, A, B). It is asked
        for each pair once.
    bins : CoarseBins
        Of all features.
    features : int array
        See `detect_pairs`, as for the following.
    n_pairs : int or "auto"
    random_state : int, RandomState instance or None
    n_threads : int, default=1
    cells_at_once : int
        The tables of so many cells are asked for at a time.
    """
    own = [int(j) for j in features]
    p = len(own)
    pairs = [(own[i], own[k]) for i in range(p) for k in range(i + 1, p)]
    is_auto = n_pairs == "auto"
    n_most = max(1, int(_MOST_PAIRS * p)) if is_auto else int(n_pairs)
    if not pairs or n_most == 0:
        return DetectedPairs([], np.empty(0), np.empty(0))
    n_draws = max(_DRAWS_PER_PAIR, -(-_DRAWS // len(pairs))) if is_auto else 0
    # One generator for each pair, so that the order in which they are counted does not matter.
    seeds = [None] * len(pairs)
    if is_auto:
        seeds = check_random_state(random_state).randint(np.iinfo(np.int32).max, size=len(pairs))

    def gains_of(group):
        tables = tables_of([pairs[t] for t in group])
        return [
            _gains(*table, bins, pairs[t], seeds[t], n_draws) for t, table in zip(group, tables)
        ]

    groups = _groups(pairs, bins, n_threads, cells_at_once)
    found = ThreadTeam(n_threads).run(gains_of, [(group,) for group in groups])
    gains, null = zip(*(result for group in found for result in group))
    gains = np.array(gains)
    p_values = _p_values(gains, np.array(null)) if is_auto else np.full(len(pairs), np.nan)
    order = np.argsort(-gains, kind="stable")[:n_most]
    if is_auto:
        order = order[p_values[order] <= _FALSE_ALARM]
    return DetectedPairs([pairs[t] for t in order], gains[order], p_values[order])


def _groups(pairs, bins, n_threads, cells_at_once):
    """Numbers of consecutive pairs whose tables are counted together."""
    cells = np.cumsum([bins.n_bins[a] * bins.n_bins[b] for a, b in pairs])
    size = max(1, min(cells_at_once, -(-int(cells[-1]) // n_threads)))
    group = (cells - 1) // size
    return [list(np.flatnonzero(group == g)) for g in np.unique(group)]


def pair_tables(codes, bins, pairs, values):
    """Sums of three values in the cells of each pair: a list of arrays of shape (3, A, B)."""
    shapes = [(int(bins.n_bins[a]), int(bins.n_bins[b])) for a, b in pairs]
    if uses_numba():
        from sklearn_ensemble_theory._hot_loops._pairs.pair_row_loops import add_pair_tables

        starts = np.concatenate([[0], np.cumsum([a * b for a, b in shapes])]).astype(np.intp)
        tables = np.zeros((starts[-1], 3))
        add_pair_tables(
            codes.T, bins.lookup(), bins.n_bins, np.array(pairs, np.intp), starts, values, tables
        )
        found = np.split(tables, starts[1:-1])
        return [np.ascontiguousarray(t.T).reshape(3, *s) for t, s in zip(found, shapes)]
    found = []
    for (a, b), shape in zip(pairs, shapes):
        cells = bins.maps[a].astype(np.intp).take(codes[:, a]) * shape[1]
        cells += bins.maps[b].take(codes[:, b])
        counted = [np.bincount(cells, v, shape[0] * shape[1]) for v in values]
        found.append(np.reshape(counted, (3, *shape)))
    return found


def _gains(sums, weight, variance, bins, pair, seed, n_draws):
    """The gain of a pair, and gains of as many draws without an interaction."""
    unordered = tuple(bins.unordered[j] for j in pair)
    gain = float(interaction_gains(sums, weight, unordered))
    if n_draws == 0:
        return gain, []
    draws = np.random.default_rng(seed).standard_normal((n_draws, *sums.shape))
    return gain, interaction_gains(draws * np.sqrt(variance), weight, unordered)


def interaction_gains(sums, weight, unordered=(False, False)):
    """The fall of the squares by the best cut into quadrants, beyond additive parts.

    Parameters
    ----------
    sums : ndarray of shape (..., A, B)
        Weighted sums of the residuals in the cells of one table or of several.
    weight : ndarray of shape (A, B)
        Weights of the cells.
    unordered : tuple of two bool
        Axes whose bins are put in the order of `ordered_bins`.

    Returns
    -------
    gains : ndarray of shape (...)
    """
    pure = AdditiveFit(weight).rest(sums)
    if any(unordered):
        gains = []
        for table in pure.reshape(-1, *weight.shape):
            order = np.ix_(*ordered_bins(table, weight, unordered))
            gains.append(_largest(table[order], weight[order]))
        return np.reshape(gains, pure.shape[:-2])
    return _largest(pure, weight)


def _largest(pure, weight):
    inverse = inverse_weights(weight, _MIN_SHARE).sum(axis=0)
    first = quadrant_sums(pure)[0]
    return np.max(first**2 * inverse, axis=(-2, -1), initial=0.0)


def _p_values(gains, null):
    """Bounds on the chance of each gain as the largest of all pairs, if there is no interaction.

    Largest values over many cuts follow nearly a Gumbel law. Its scale is estimated from all
    pairs, its place from each. [Coles 2001]
    """
    mean = null.mean(axis=1)
    relative = np.divide(null, mean[:, None], out=np.ones_like(null), where=mean[:, None] > 0)
    scale = mean * np.sqrt(6 * np.mean(np.var(relative, axis=1, ddof=1))) / np.pi
    z = np.where(scale > 0, (gains - mean) / np.where(scale > 0, scale, 1.0) + np.euler_gamma, 0.0)
    single = -np.expm1(-np.exp(-np.clip(z, -50, 700)))
    return np.where(scale > 0, np.minimum(single * len(gains), 1.0), np.where(gains > 0, 0.0, 1.0))


# Ordered bins of a feature in the tables of pairs.
PAIR_BINS = 64
# Folds that choose the number of steps where the fit has none.
OWN_FOLDS = 5
# Newton steps of a loss that is not squared.
_NEWTON_STEPS = 3


@dataclass
class PairTerms:
    """The functions of pairs, by model and score.

    Attributes
    ----------
    pairs : list of P tuples (a, b)
    bins : CoarseBins
        Of all features.
    tables : list of P arrays of shape (n_models, n_scores, A, B)
        The first model is the mean of the others.
    cell_weights : list of P arrays of shape (A, B)
        The weight of the training rows.
    """

    pairs: list
    bins: CoarseBins
    tables: list
    cell_weights: list

    def copy(self) -> "PairTerms":
        """With tables of its own."""
        return replace(self, tables=[table.copy() for table in self.tables])

    def scores(self, codes: np.ndarray, model: int) -> np.ndarray:
        """The sum of the pairs of a model at rows in bins: (n, n_scores)."""
        n_scores = self.tables[0].shape[1]
        total = np.zeros((len(codes), n_scores))
        for (a, b), tables in zip(self.pairs, self.tables):
            row = self.bins.maps[a].take(codes[:, a])
            column = self.bins.maps[b].take(codes[:, b])
            for score in range(n_scores):
                total[:, score] += tables[model, score][row, column]
        return total

    def pure(self, model: int) -> "PurePairs":
        """The tables without the parts that depend on one feature, and those parts."""
        n_scores = self.tables[0].shape[1]
        own = [[np.zeros(len(m)) for m in self.bins.maps] for _ in range(n_scores)]
        constants, tables = np.zeros(n_scores), []
        for (a, b), of_models, weight in zip(self.pairs, self.tables, self.cell_weights):
            parts = [purify(table, weight) for table in of_models[model]]
            pure = np.array([part.table for part in parts])
            tables.append(pure - pure.mean(axis=0) if n_scores > 1 else pure)
            for score, part in enumerate(parts):
                constants[score] += part.constant
                own[score][a] += part.row.take(self.bins.maps[a])
                own[score][b] += part.column.take(self.bins.maps[b])
        used = {j for pair in self.pairs for j in pair}
        mains = [[t if j in used else None for j, t in enumerate(each)] for each in own]
        return PurePairs(tables, mains, constants)


@dataclass
class PurePairs:
    """Pairs of one model with weighted means zero along both axes.

    Attributes
    ----------
    tables : list of P arrays of shape (n_scores, A, B)
    mains : list of n_scores lists of p arrays or None
        What moves to the main effects.
    constants : array of shape (n_scores,)
    """

    tables: list
    mains: list
    constants: np.ndarray


def fit_pairs(
    source: Any,
    models: Sequence,
    interactions: int | str | list,
    features: np.ndarray,
    n_splits: int,
) -> PairTerms | None:
    """Find pairs and boost them; None if there are none.

    Parameters
    ----------
    source : PairsOfRows or PairsOfChunks
    models : list of TableModel
        The main effects: of all rows, then of each fold.
    interactions : int, "auto" or list of pairs
        From `resolve_interactions`.
    features : int array
        Those among which pairs are looked for.
    n_splits : int
    """
    source.open(models, None)
    pairs = interactions
    if not isinstance(pairs, list):
        pairs = _strongest(source, interactions, features)
    if not pairs:
        source.close()
        return None
    bins, weights = source.start(pairs)
    n_scores = source.n_scores
    tables = [np.zeros((1 + n_splits, n_scores, *weight.shape)) for weight in weights]
    terms = PairTerms(pairs, bins, tables, weights)
    for step in range(1 if source.is_quadratic else _NEWTON_STEPS):
        if step:
            source.open(models, terms)
        for score in range(n_scores):
            for total, added in zip(terms.tables, source.boosted(score)):
                total[0, score] += added.mean(axis=0)
                if n_splits:
                    total[1:, score] += added
    source.close()
    return terms


def _strongest(source, interactions, features):
    """The pairs with the largest gains, summed over the scores."""
    p, gains = len(features), {}
    n_pairs = interactions if interactions == "auto" else p * (p - 1) // 2
    if interactions != "auto" and source.n_scores == 1:
        n_pairs = min(interactions, n_pairs)
    for score in range(source.n_scores):
        found = source.strongest(score, n_pairs, features)
        for pair, gain in zip(found.pairs, found.gains):
            gains[pair] = gains.get(pair, 0.0) + gain
    most = len(gains) if interactions == "auto" else int(interactions)
    return sorted(gains, key=lambda pair: (-gains[pair], pair))[:most]


class PairsOfRows:
    """What `fit_pairs` needs of rows in memory.

    Parameters
    ----------
    risk : SquaredErrorFits or LogisticFits
    rows : BinnedRows
    """

    def __init__(self, risk: Any, rows: BinnedRows) -> None:
        self.risk, self.rows = risk, rows
        self.n_scores, self.is_quadratic = risk.n_scores, risk.is_quadratic
        layout = rows.layout
        self.kinds = {"missing": layout.missing, "categorical": layout.categorical}
        self.folds, self.n_members = rows.folds, rows.n_splits
        if not self.n_members:
            self.n_members = OWN_FOLDS
            self.folds = own_folds(np.arange(len(rows.codes)))

    def open(self, models: Sequence, terms: PairTerms | None) -> None:
        """Compute the residuals of models and pairs, for all that follows."""
        self.works = self.risk.working_residuals(models, terms)

    def strongest(self, score: int, n_pairs: int | str, features: np.ndarray) -> DetectedPairs:
        """The pairs that are found by the residuals of a score."""
        work, rows = self.works[score], self.rows
        return detect_pairs(
            rows.codes,
            rows.layout.n_bins,
            work.residuals[0],
            n_pairs,
            work.weight,
            frequency=work.frequency,
            features=features,
            random_state=0,
            **self.kinds,
        )

    def start(self, pairs: list) -> tuple[CoarseBins, list[np.ndarray]]:
        """The bins of the tables of pairs, and the weight of the rows in their cells."""
        self.pairs, rows = pairs, self.rows
        self.bins = coarse_bins(
            rows.codes, rows.layout.n_bins, PAIR_BINS, rows.weight, **self.kinds
        )
        boost = self._boost(rows.weight)
        return self.bins, [boost.cell_weights(t) for t in range(len(pairs))]

    def boosted(self, score: int) -> list[np.ndarray]:
        """What boosting on the residuals of a score adds to the tables: (K, A, B) for each pair."""
        work = self.works[score]
        residuals = work.residuals[1:]
        if not self.rows.n_splits:
            residuals = [work.residuals[0].copy() for _ in range(self.n_members)]
        return self._boost(work.weight).run(residuals, self.folds).tables

    def close(self) -> None:
        """Free the residuals."""
        self.works = []

    def _boost(self, weight):
        rows = self.rows
        return PairBoost(rows.codes, rows.layout.n_bins, self.pairs, weight, bins=self.bins)


def own_folds(numbers: np.ndarray) -> np.ndarray:
    """The folds that choose the number of steps where the fit has none, by the rows' numbers."""
    return (numbers % OWN_FOLDS).astype(np.uint8)


# Cells of the tables that a chunk returns at a time, of three numbers each: 12 MiB.
_CELLS_OF_A_PASS = 2**19

WorkOf = Callable[..., list[WorkingResiduals]]


def weight_by_bin(rows: BinnedRows, weight: np.ndarray | None) -> np.ndarray:
    """The weight of the rows in each bin, feature by feature: (n_bins of all features,)."""
    n_bins = rows.layout.n_bins
    found = [np.bincount(rows.codes[:, j], weight, n_bins[j]) for j in range(len(n_bins))]
    return np.concatenate(found).astype(float)


@dataclass
class _CellWeights(SummedFields):
    """The weight of the rows in the cells of the pairs: (A, B) each."""

    tables: list[np.ndarray]


class PairsOfChunks:
    """What `fit_pairs` needs of rows in chunks.

    Parameters
    ----------
    blocks : Blocks
        Of `LabelledRows`, with folds.
    layout : CutLayout
    work_of : callable
        `squared_work` or `logistic_work`.
    n_scores : int
    n_splits : int
    bin_weights : list of p arrays
        The weight of the rows in each bin.
    passes : PassCount
    is_quadratic : bool
        Whether the weights are those of the rows.
    """

    def __init__(
        self,
        blocks: Blocks,
        layout: CutLayout,
        work_of: WorkOf,
        n_scores: int,
        n_splits: int,
        bin_weights: Sequence[np.ndarray],
        passes: PassCount,
        *,
        is_quadratic: bool,
    ) -> None:
        self.blocks, self.layout, self.work_of = blocks, layout, work_of
        self.n_scores, self.n_splits, self.bin_weights = n_scores, n_splits, bin_weights
        self.passes, self.is_quadratic = passes, is_quadratic
        self.models: list = []
        self.terms: PairTerms | None = None
        self.columns: Any = None

    def open(self, models: Sequence, terms: PairTerms | None) -> None:
        """Use the residuals of models and pairs, for all that follows."""
        self.models = [model.copy() for model in models]
        self.terms = None if terms is None else terms.copy()

    def strongest(self, score: int, n_pairs: int | str, features: np.ndarray) -> DetectedPairs:
        """The pairs that are found by the residuals of a score."""
        model, weights = self.models[:1], self.bin_weights
        if not self.is_quadratic:
            total = self._sum(_working_weights, self.work_of, model, score)
            weights = np.split(total, np.cumsum(self.layout.n_bins)[:-1])
        bins = self._bins(weights, DETECTION_BINS)

        def tables_of(pairs):
            total = self._sum(_detection_tables, self.work_of, model, score, pairs, bins)
            shapes = [(3, *table_shape(pair, bins)) for pair in pairs]
            starts = np.cumsum([np.prod(shape) for shape in shapes])[:-1]
            return [t.reshape(shape) for t, shape in zip(np.split(total, starts), shapes)]

        return strongest_pairs(
            tables_of, bins, features, n_pairs, random_state=0, cells_at_once=_CELLS_OF_A_PASS
        )

    def start(self, pairs: list) -> tuple[CoarseBins, list[np.ndarray]]:
        """The bins of the tables of pairs, and the weight of the rows in their cells."""
        self.pairs, self.bins = pairs, self._bins(self.bin_weights, PAIR_BINS)
        self.passes.n += 1
        self.columns, weights = self.blocks.step(_columns_of_pairs, pairs, self.bins)
        return self.bins, weights.tables

    def boosted(self, score: int) -> list[np.ndarray]:
        """What boosting on the residuals of a score adds to the tables: (K, A, B) for each pair."""
        self.passes.n += 1
        state, sums = self.blocks.step(
            _residuals_of_members,
            self.columns,
            self.work_of,
            self.models,
            self.terms,
            score,
            self.pairs,
            self.bins,
        )
        boost = PairPasses(self.columns, state, sums, self.pairs, self.bins, self.passes)
        return boost.run().tables

    def close(self) -> None:
        """Free the coarse bins of the rows."""
        self.columns = None

    def _sum(self, function, *args):
        self.passes.n += 1
        return self.blocks.sum(function, *args)

    def _bins(self, weights, max_bins):
        layout = self.layout
        return merged_bins(
            lambda j: weights[j],
            layout.n_bins,
            max_bins,
            missing=layout.missing,
            categorical=layout.categorical,
        )


def _working_weights(block: LabelledRows, work_of: WorkOf, models: Any, score: int) -> np.ndarray:
    return weight_by_bin(block.rows, work_of(block, models, None, [score])[0].weight)


def _detection_tables(
    block: LabelledRows, work_of: WorkOf, models: Any, score: int, pairs: list, bins: CoarseBins
) -> np.ndarray:
    """The tables of some pairs in one piece."""
    (work,) = work_of(block, models, None, [score])
    values = table_values(work.residuals[0], work.weight, work.frequency)
    tables = pair_tables(block.rows.codes, bins, pairs, values)
    return np.concatenate([table.ravel() for table in tables])


def _columns_of_pairs(
    block: LabelledRows, pairs: list, bins: CoarseBins
) -> tuple[PairColumns, _CellWeights]:
    rows = block.rows
    folds = rows.folds if rows.folds is not None else block.pair_folds
    assert folds is not None  # rows without folds have those of pairs
    columns = PairColumns(coarse_columns(rows.codes, rows.layout.n_bins, pairs, bins), folds)
    n_folds = rows.n_splits or OWN_FOLDS
    weights = cell_weights(columns, rows.weight, n_folds, pairs, bins)
    return columns, _CellWeights([table.sum(axis=0) for table in weights])


def _residuals_of_members(
    block: LabelledRows,
    columns: PairColumns,
    work_of: WorkOf,
    models: list,
    terms: PairTerms | None,
    score: int,
    pairs: list,
    bins: CoarseBins,
) -> tuple[PairResiduals, ResidualSums]:
    (work,) = work_of(block, models, terms, [score])
    own = work.residuals[1:] if block.rows.n_splits else work.residuals * OWN_FOLDS
    state = PairResiduals(np.array(own), work.weight)
    return state, residual_sums(state, columns, pairs, bins)
