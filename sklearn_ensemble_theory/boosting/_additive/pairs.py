"""Pairs of features in an additive model: from the residuals of its main effects to their tables.

The pairs are found and boosted on the residuals of the main effects, by the models that leave out
one fold each, with the number of steps chosen by the held-out rows; the function of a pair is the
mean over these models. The main effects are then fitted again, to what the pairs leave. In the end
the parts of a pair's table that depend on one feature are moved to the main effects. For the
logistic loss the residuals are working residuals, with the weights of a Newton step, and a few such
steps follow each other.

Which pairs interact is found by FAST [Lou et al. 2013], from tables of coarse bins. For each pair,
the sums of the residuals in the cells of a table are freed of the two features' own additive parts
(`AdditiveFit`). What is left has sum zero over each row and column, so that the four quadrants of a
cut have the sums S, -S, -S, S. A constant in each of them lowers the squares by

    S^2 (1 / N_1 + 1 / N_2 + 1 / N_3 + 1 / N_4)

The largest value over all cuts is the *gain* of the pair: what the best cut explains beyond the
additive parts, also where these were not fitted to the end. In the source a main effect that is
left over counts as well. The gain is a lower bound on the fall of the squares when the quadrants
are fitted jointly with any additive function of both features, and equal to it for independent
features.

How large gains are without an interaction is found by turning the signs of the residuals at random:
the sum in a cell is then normal with variance ``sum (w r)^2``, whatever the law of the noise, also
when its variance depends on the features. Such sums are drawn from the tables, not from the rows.

References
----------
Y. Lou, R. Caruana, J. Gehrke, G. Hooker (2013). "Accurate intelligible models with pairwise
interactions". KDD.

S. Coles (2001). *An Introduction to Statistical Modeling of Extreme Values*. Springer. The Gumbel
law of maxima.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Concatenate, Literal, NamedTuple, Protocol

import numpy as np
from sklearn.utils import check_random_state

from ..._blocks import Blocks, PassCount
from ..._compat import increasing_by_pooling
from ..._native.additive import largest_gains
from ..._rows import MemoryRows
from .additive_plan import AllowedTerms
from .pair_rounds import (
    CoarseBins,
    Pair,
    PairColumns,
    PairPasses,
    PairResiduals,
    ResidualSums,
    SummedTables,
    additive_rest,
    boost_rows,
    cell_weights,
    coarse_bins,
    coarse_columns,
    ordered_bins,
    pair_tables,
    purify,
    residual_sums,
)
from .rounds import BinnedRows, TableModel
from .sums import CutLayout, count_bins

# Ordered bins of a feature in the tables that find pairs, and in those of their functions.
DETECTION_BINS, PAIR_BINS = 32, 80
# Quadrants of less than this share of the weight are no evidence.
_MIN_SHARE = 0.005
# Draws of the signs: for each pair that may be chosen, and at least for all of a sample together,
# from which the scale of the gains is estimated.
_DRAWS_PER_PAIR, _DRAWS, _SAMPLED_PAIRS = 20, 400, 20
# The gains of so many pairs are computed at a time: their tables stay in the processor's cache.
_PAIRS_AT_ONCE = 32
# Chance that "auto" finds any pair where there is none.
_FALSE_ALARM = 0.05
# About so many tables of pairs and scores are looked at by "auto".
MOST_CANDIDATES = 1000
# Most pairs that "auto" chooses, as a multiple of the number of features.
_MOST_PAIRS = 0.9
# The tables of so many pairs are in memory at a time, in cells.
_CELLS_AT_ONCE = 2**21
# Cells of the tables that a block returns at a time, of three numbers each: 12 MiB.
_CELLS_OF_A_PASS = 2**19
# Of the search for a table that is monotonic along both axes.
MOST_ALTERNATIONS = 20
# Newton steps of a loss that is not squared: how many, up to where those of logarithms and log-odds
# are taken as they are, and the shares of them that are tried.
_NEWTON_STEPS, LONG_STEP = 3, 2.0
STEP_SHARES = (1.0, 0.5, 0.25)


# --- detection ------------------------------------------------------------------------------------


class DetectedPairs(NamedTuple):
    """Chosen pairs, the one with the largest gain first.

    - gains: by how much the best cut of each lowers the weighted sum of squares.
    - p_values: bounds on the chance that any pair of features has such a gain without interactions;
      nan where the number of pairs was given.
    """

    pairs: list[Pair]
    gains: np.ndarray
    p_values: np.ndarray


def strongest_pairs(
    tables_of: Callable[[list[Pair]], Sequence[np.ndarray]],
    bins: CoarseBins,
    pairs: list[Pair],
    n_pairs: int | Literal["auto"],
    cells_at_once: int = _CELLS_AT_ONCE,
    random_state: int | np.random.RandomState | None = 0,
) -> DetectedPairs:
    """The pairs with the largest gains, or with "auto" those whose gains are significant.

    These are larger than the largest of all pairs would be in 95 % of the cases without
    interactions; they are at most 0.9 times the number of their features. `tables_of` pairs gives
    the sums of `table_values` in the cells of each, (3, A, B). It is asked for each pair once, and
    for tables of about `cells_at_once` cells at a time. `pairs`, the candidates, are in increasing
    order. O(B^3) for each pair of features with B bins.
    """
    p = len({j for pair in pairs for j in pair})
    is_auto = n_pairs == "auto"
    n_most = max(1, int(_MOST_PAIRS * p)) if is_auto else int(n_pairs)
    if not pairs or n_most == 0:
        return DetectedPairs([], np.empty(0), np.empty(0))
    # Numbers of consecutive pairs whose tables are counted together.
    cells = np.cumsum([np.prod(bins.shape(pair)) for pair in pairs])
    group = (cells - 1) // max(1, min(cells_at_once, int(cells[-1])))
    found = np.empty(len(pairs))
    kept: dict[int, np.ndarray] = {}
    # Pairs from which the scale of gains without an interaction is estimated, whatever their gains.
    n_sampled = min(len(pairs), _SAMPLED_PAIRS) if is_auto else 0
    sample = np.linspace(0, len(pairs) - 1, n_sampled).astype(int).tolist()
    order = np.empty(0, dtype=np.intp)
    for number in np.unique(group):
        members = np.flatnonzero(group == number)
        tables = dict(zip(members.tolist(), tables_of([pairs[t] for t in members])))
        for some in _alike(members.tolist(), pairs, bins):
            found[some] = _gains_of_pairs([tables[t] for t in some], [pairs[t] for t in some], bins)
        # Of the others only those that may be chosen are compared with such gains.
        order = np.concatenate([order, members])
        order = order[np.argsort(-found[order], kind="stable")[:n_most]]
        tables.update(kept)
        kept = {t: tables[t] for t in {*order.tolist(), *sample} if t in tables}
    if not is_auto:
        return DetectedPairs([pairs[t] for t in order], found[order], np.full(len(order), np.nan))
    n_draws = max(_DRAWS_PER_PAIR, -(-_DRAWS // n_sampled))
    # One generator for each pair, so that the order in which they are counted does not matter.
    seeds = check_random_state(random_state).randint(np.iinfo(np.int32).max, size=len(pairs))
    nulls: dict[int, np.ndarray] = {}
    for t, (sums, weight, variance) in kept.items():
        draws = np.random.default_rng(seeds[t]).standard_normal((n_draws, *sums.shape))
        draws *= np.sqrt(variance)
        nulls[t] = interaction_gains(draws, weight, [bins.unordered[j] for j in pairs[t]])
    of_order, of_sample = ([nulls[t] for t in some] for some in (order.tolist(), sample))
    p_values = _p_values(found[order], np.array(of_order), np.array(of_sample), len(pairs))
    order, p_values = order[p_values <= _FALSE_ALARM], p_values[p_values <= _FALSE_ALARM]
    return DetectedPairs([pairs[t] for t in order], found[order], p_values)


def _alike(members: list[int], pairs: list[Pair], bins: CoarseBins) -> Iterator[list[int]]:
    """Divide pairs into those whose gains are computed together: a few of ordered features."""
    ordered = [t for t in members if not any(bins.unordered[j] for j in pairs[t])]
    for start in range(0, len(ordered), _PAIRS_AT_ONCE):
        yield ordered[start : start + _PAIRS_AT_ONCE]
    yield from ([t] for t in members if any(bins.unordered[j] for j in pairs[t]))


def _gains_of_pairs(
    tables: Sequence[np.ndarray], pairs: Sequence[Pair], bins: CoarseBins
) -> np.ndarray:
    """The gains of pairs that are alike; smaller tables get bins without weight."""
    shapes = np.array([table.shape[1:] for table in tables])
    both = np.zeros((2, len(tables), *shapes.max(axis=0)))
    for t, (table, (n_rows, n_columns)) in enumerate(zip(tables, shapes)):
        both[:, t, :n_rows, :n_columns] = table[:2]
    if len(pairs) > 1:
        return interaction_gains(*both)
    return interaction_gains(both[0, 0], both[1, 0], [bins.unordered[j] for j in pairs[0]])


def table_values(
    residual: np.ndarray, weight: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What is summed in the cells: weighted residuals, weights, and the variances of the former.

    A row is one draw, whatever its weight: its sum s has the variance s^2.
    """
    weight = np.ones(len(residual)) if weight is None else weight
    sums = weight * residual
    return sums, weight, sums**2


def interaction_gains(
    sums: np.ndarray, weight: np.ndarray, unordered: Sequence[bool] = (False, False)
) -> np.ndarray:
    """The fall of the squares by the best cut into quadrants, beyond additive parts.

    `sums` (..., A, B) are those of the weighted residuals in the cells of one table or of several.
    The bins of `unordered` axes are put in the order of `ordered_bins`, with one table of weights.
    """
    pure = additive_rest(sums, weight)

    if any(unordered):
        rows, columns = ordered_bins(pure, weight, unordered)
        order = rows[..., :, None] * weight.shape[1] + columns[..., None, :]
        flat = pure.reshape(*pure.shape[:-2], -1), order.reshape(*order.shape[:-2], -1)
        pure = np.take_along_axis(*flat, axis=-1).reshape(pure.shape)
        weight = weight.ravel()[order]
    tables, weights = [
        np.ascontiguousarray(each, dtype=float).reshape(-1, *each.shape[-2:])
        for each in (pure, weight)
    ]
    gains = np.empty(len(tables))
    largest_gains(tables, weights, _MIN_SHARE, gains)
    return gains.reshape(pure.shape[:-2])


def _p_values(gains, null, sample, n_pairs):
    """Bound the chance of each gain as the largest of all pairs, if there is no interaction.

    Largest values over many cuts follow nearly a Gumbel law [Coles 2001]. Its scale is estimated
    from a sample of the pairs, its place from each.
    """
    mean, of_sample = null.mean(axis=1), sample.mean(axis=1, keepdims=True)
    relative = np.divide(sample, of_sample, out=np.ones_like(sample), where=of_sample > 0)
    scale = mean * np.sqrt(6 * np.mean(np.var(relative, axis=1, ddof=1))) / np.pi
    z = np.where(scale > 0, (gains - mean) / np.where(scale > 0, scale, 1.0) + np.euler_gamma, 0.0)
    single = -np.expm1(-np.exp(-np.clip(z, -50, 700)))
    return np.where(scale > 0, np.minimum(single * n_pairs, 1.0), np.where(gains > 0, 0.0, 1.0))


# --- the functions of pairs -----------------------------------------------------------------------


@dataclass
class PairTerms:
    """The functions of pairs, by model and score: (n_models, n_scores, A, B) for each pair.

    The first model is the mean of the others. `cell_weights` are those of the training rows.
    """

    pairs: list[Pair]
    bins: CoarseBins
    tables: list[np.ndarray]
    cell_weights: list[np.ndarray]

    def scores(self, codes: np.ndarray, model: int) -> np.ndarray:
        """Add up the pairs of a model at rows in bins: (n, n_scores)."""
        n_scores = self.tables[0].shape[1]
        total = np.zeros((len(codes), n_scores))
        for (a, b), tables in zip(self.pairs, self.tables):
            row = self.bins.maps[a].take(codes[:, a])
            column = self.bins.maps[b].take(codes[:, b])
            for score in range(n_scores):
                total[:, score] += tables[model, score][row, column]
        return total

    def pure(self, model: int) -> "PurePairs":
        """Separate the tables from the parts that depend on one feature."""
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


def monotonic_pairs(
    terms: PairTerms, models: Sequence[TableModel], signs: np.ndarray, missing: np.ndarray
) -> PairTerms:
    """Pairs of one score whose tables are monotonic in the features with a constraint.

    A sum of terms that are monotonic each is so too. But the table of a pair beside a main effect
    may fall where the sum of both rises: the pairs of a constrained feature therefore take over its
    main effect, of `models`, in equal shares and by coarse bins, before their tables are replaced
    by the nearest monotonic ones. The main effects that are fitted afterwards add what is left. The
    last bin of `missing` features has no order.
    """
    maps, tables = terms.bins.maps, []
    counts = np.bincount(np.ravel(terms.pairs), minlength=len(signs))
    for (a, b), of_models, weight in zip(terms.pairs, terms.tables, terms.cell_weights):
        of_models = of_models.copy()
        ends = [int(n) - bool(missing[j]) for n, j in zip(weight.shape, (a, b))]
        for model, table in zip(models, of_models[:, 0]):
            for j, across in ((a, (slice(None), None)), (b, (None, slice(None)))):
                main = model.tables[0][j]
                if signs[j] and main is not None:
                    coarse = np.bincount(maps[j], main[: len(maps[j])]) / np.bincount(maps[j])
                    table += coarse[across] / counts[j]
            table[...] = isotonic_table(table, weight, (signs[a], signs[b]), ends)
        tables.append(of_models)
    return replace(terms, tables=tables)


def isotonic_table(
    table: np.ndarray, weight: np.ndarray, signs: Sequence[int], ends: Sequence[int]
) -> np.ndarray:
    """The table next to this one by least squares that is monotonic along its axes.

    Along one axis, line by line, by pooling; along both by alternating with corrections [R. L.
    Dykstra (1983), *Journal of the American Statistical Association* 78(384), 837-842], and in the
    end by running maxima, which change what is left of the last digits. Cells without weight get
    very little. The first `ends` bins of each axis have an order.
    """
    weight = np.maximum(weight, 1e-9 * weight.max())
    axes = [k for k in (0, 1) if signs[k]]

    def pooled(x: np.ndarray, axis: int) -> np.ndarray:
        x, n, sign = np.moveaxis(x, axis, 1).copy(), ends[axis], signs[axis]
        for line, own in zip(x, np.moveaxis(weight, axis, 1)):
            line[:n] = sign * increasing_by_pooling(sign * line[:n], own[:n])
        return np.moveaxis(x, 1, axis)

    corrections = [np.zeros_like(table) for _ in axes]
    tolerance = 1e-4 * np.ptp(table)
    for _ in range(MOST_ALTERNATIONS if len(axes) == 2 else 1):
        before = table
        for k, axis in enumerate(axes):
            moved = table + corrections[k]
            table = pooled(moved, axis)
            corrections[k] = moved - table
        if np.abs(table - before).max() <= tolerance:
            break
    for axis in axes if len(axes) == 2 else ():
        part = (slice(None),) * axis + (slice(ends[axis]),)
        accumulate = np.maximum.accumulate if signs[axis] > 0 else np.minimum.accumulate
        table[part] = accumulate(table[part], axis=axis)
    return table


@dataclass
class PurePairs:
    """Pairs of one model, (n_scores, A, B) each, with weighted means zero along both axes.

    `mains`, by score and feature, and `constants`, by score, move to the main effects.
    """

    tables: list[np.ndarray]
    mains: list[list[np.ndarray | None]]
    constants: np.ndarray


@dataclass
class WorkingResiduals:
    """The residuals of one score, of each model at all rows."""

    weight: np.ndarray | None
    residuals: list[np.ndarray]


# Of rows, models, the terms of pairs that are added to these or None, and numbers of scores.
WorkOf = Callable[
    [BinnedRows, Sequence[TableModel], PairTerms | None, Sequence[int]], list[WorkingResiduals]
]
WithWork = Callable[Concatenate[BinnedRows, WorkingResiduals, ...], Any]


def weight_by_bin(rows: BinnedRows, weight: np.ndarray | None) -> np.ndarray:
    """Sum the weight of the rows of each fold in each bin: (n_groups, n_bins of all features)."""
    n_bins, k = rows.layout.n_bins, rows.n_groups
    first = np.zeros(len(rows.codes), np.uint32) if rows.folds is None else rows.folds
    found = count_bins(first, k, rows.codes, np.arange(len(n_bins)), n_bins, weight)
    by_feature = np.split(found, k * np.cumsum(n_bins)[:-1])
    return np.concatenate([t.reshape(k, -1) for t in by_feature], axis=1).astype(float)


class PairRisk(Protocol):
    """What is fitted: `SquaredError` or `NewtonLoss`."""

    @property
    def has_link(self) -> bool:
        """Whether scores are logarithms or log-odds."""

    def work(self) -> WorkOf:
        """What computes the residuals: `squared_work`, or `newton_work` of a loss."""

    def given(self, pairs: PairTerms) -> Any:
        """The risk of main effects that are added to pairs."""


class PairFit:
    """The fit of pairs to the residuals of main effects.

    - blocks: of `BinnedRows`. In memory the residuals are computed once for all that follows; of
      blocks at every read, from the functions of the main effects and of the pairs, and kept where
      the rows are while pairs are boosted on them.
    - is_quadratic: whether the weights are those of the rows.
    - bin_weights: of the rows in each bin, counted in memory where they are not given.
    """

    def __init__(
        self,
        blocks: MemoryRows | Blocks,
        layout: CutLayout,
        n_scores: int,
        n_splits: int,
        *,
        is_quadratic: bool,
        bin_weights: Sequence[np.ndarray] = (),
        passes: PassCount | None = None,
    ) -> None:
        self.blocks, self.layout = blocks, layout
        self.n_scores, self.n_splits, self.is_quadratic = n_scores, n_splits, is_quadratic
        self.passes = PassCount() if passes is None else passes
        self.bin_weights = bin_weights
        self.works: list[WorkingResiduals] = []

    def fit(
        self,
        models: Sequence[TableModel],
        interactions: int | Literal["auto"] | list[Pair],
        allowed: AllowedTerms,
        risk: PairRisk,
    ) -> PairTerms | None:
        """Find pairs and boost them; None if there are none.

        `models` are the main effects of all rows, then of each fold, and `risk` is theirs.
        `interactions` are from `resolve_interactions`; "auto" looks among the features with the
        largest functions, where there are very many.
        """
        self.work_of = risk.work()
        if isinstance(self.blocks, MemoryRows):
            rows = self.blocks.block
            if not len(self.bin_weights):
                self.bin_weights = self._by_feature(weight_by_bin(rows, rows.weight).sum(axis=0))
            if rows.folds is None:
                raise ValueError("interactions require at least two rows of positive weight.")
        self._open(models, None)
        if isinstance(interactions, list):
            pairs = interactions
        else:
            among = None
            if interactions == "auto":
                most = int(np.sqrt(2 * MOST_CANDIDATES / self.n_scores)) + 1
                among = np.argsort(-self._sizes(models[0]), kind="stable")[:most]
            pairs = self._strongest(interactions, allowed.pairs(among))
        if not pairs:
            return None
        bins = self._bins(self.bin_weights, PAIR_BINS)
        if isinstance(self.blocks, MemoryRows):
            columns, weights = _columns_of_pairs(self.blocks.block, pairs, bins, n_folds=1)
        else:
            self.passes.n += 1
            columns, weights = self.blocks.step(_columns_of_pairs, pairs, bins, self.n_splits)
        cells = weights.tables
        shapes = [(1 + self.n_splits, self.n_scores, *weight.shape) for weight in cells]
        terms = PairTerms(pairs, bins, [np.zeros(shape) for shape in shapes], cells)
        loss = np.inf if self.is_quadratic else self._loss(risk, models, terms)
        for step in range(1 if self.is_quadratic else _NEWTON_STEPS):
            if step:
                self._open(models, terms)
            gained = [np.zeros_like(table) for table in terms.tables]
            for score in range(self.n_scores):
                for total, added in zip(gained, self._boosted(score, columns, terms)):
                    if risk.has_link:
                        # A row whose probability was wrong and near 0 has a residual of thousands,
                        # and a cell of many times the expected events a step of that ratio: it
                        # takes about its logarithm.
                        size = np.maximum(np.abs(added), LONG_STEP)
                        added *= (LONG_STEP + np.log1p(size) - np.log1p(LONG_STEP)) / size
                    total[0, score] = added.mean(axis=0)
                    total[1:, score] = added
            if self.is_quadratic:
                return replace(terms, tables=gained)
            # A quadratic holds nearby only: of a step that raises the loss, a share is taken.
            for share in STEP_SHARES:
                tables = [table + share * each for table, each in zip(terms.tables, gained)]
                moved = replace(terms, tables=tables)
                found = self._loss(risk, models, moved)
                if found < loss:
                    break
            else:
                break
            terms, loss = moved, found
        self.works = []
        return terms

    def _loss(self, risk: PairRisk, models: Sequence[TableModel], terms: PairTerms) -> float:
        """The mean held-out loss of models with these pairs."""
        _, losses = risk.given(terms).losses(models)
        return float(losses[1:].mean())

    def _sizes(self, model: TableModel) -> np.ndarray:
        """The variance of the function of each feature, summed over the scores: (p,)."""
        sizes = np.zeros(len(self.bin_weights))
        for own in model.tables:
            for j, (table, weight) in enumerate(zip(own, self.bin_weights)):
                if table is not None:
                    share = weight / weight.sum()
                    sizes[j] += share @ (table - share @ table) ** 2
        return sizes

    def _open(self, models: Sequence[TableModel], terms: PairTerms | None) -> None:
        """Use the residuals of models and pairs, for all that follows."""
        self.models, self.terms = models, terms
        if isinstance(self.blocks, MemoryRows):
            self.works = self.work_of(self.blocks.block, models, terms, range(self.n_scores))
        elif terms is not None:  # these change from score to score
            self.terms = replace(terms, tables=[table.copy() for table in terms.tables])

    def _sum(self, function: WithWork, score: int, models: Sequence[TableModel], *args: Any) -> Any:
        """Sum a function of the rows and the residuals of a score over the blocks."""
        self.passes.n += 1
        if isinstance(self.blocks, MemoryRows):
            return function(self.blocks.block, self.works[score], *args)
        return self.blocks.sum(_with_work, function, self.work_of, models, self.terms, score, *args)

    def _strongest(self, n_pairs: int | Literal["auto"], candidates: list[Pair]) -> list[Pair]:
        """Find the pairs with the largest gains, summed over the scores."""
        in_memory = isinstance(self.blocks, MemoryRows)
        # Of several scores all gains are needed, for their sums.
        n_all = len(candidates)
        wanted: int | Literal["auto"] = "auto"
        if n_pairs != "auto":
            wanted = min(n_pairs, n_all) if self.n_scores == 1 else n_all
        gains: dict[Pair, float] = {}
        for score in range(self.n_scores):
            # The residuals of the first model, and bins of about the same weight.
            weights, models = self.bin_weights, self.models[:1]
            if not self.is_quadratic:
                weights = self._by_feature(self._sum(_working_weights, score, models))
            bins = self._bins(weights, DETECTION_BINS)

            def tables_of(pairs, score=score, models=models, bins=bins):
                return self._sum(_detection_tables, score, models, pairs, bins).tables

            cells = _CELLS_AT_ONCE if in_memory else _CELLS_OF_A_PASS
            found = strongest_pairs(tables_of, bins, candidates, wanted, cells)
            for pair, gain in zip(found.pairs, found.gains):
                gains[pair] = gains.get(pair, 0.0) + gain
        most = len(gains) if n_pairs == "auto" else int(n_pairs)
        return sorted(gains, key=lambda pair: (-gains[pair], pair))[:most]

    def _boosted(self, score: int, columns: Any, terms: PairTerms) -> list[np.ndarray]:
        """Boost on the residuals of a score, and return what the tables gain: (K, A, B) a pair."""
        pairs, bins = terms.pairs, terms.bins
        if isinstance(self.blocks, MemoryRows):
            work = self.works[score]
            state = PairResiduals(work.residuals[1:], work.weight)
            return boost_rows(columns, state, pairs, bins).tables
        self.passes.n += 1
        state, sums = self.blocks.step(
            _residuals_of_members,
            columns,
            self.work_of,
            self.models,
            self.terms,
            score,
            pairs,
            bins,
        )
        return PairPasses(columns, state, sums, pairs, bins, self.passes).run().tables

    def _by_feature(self, weights: np.ndarray) -> list[np.ndarray]:
        return np.split(weights, np.cumsum(self.layout.n_bins)[:-1])

    def _bins(self, weights: Sequence[np.ndarray], max_bins: int) -> CoarseBins:
        layout = self.layout
        return coarse_bins(weights, layout.n_bins, max_bins, layout.missing, layout.categorical)


def _with_work(rows, function, work_of, models, terms, score, *args):
    """Call a function of a block with the residuals that are computed there."""
    (work,) = work_of(rows, models, terms, [score])
    return function(rows, work, *args)


def _working_weights(rows: BinnedRows, work: WorkingResiduals) -> np.ndarray:
    return weight_by_bin(rows, work.weight).sum(axis=0)


def _detection_tables(
    rows: BinnedRows, work: WorkingResiduals, pairs: list[Pair], bins: CoarseBins
) -> SummedTables:
    values = table_values(work.residuals[0], work.weight)
    return SummedTables(pair_tables(rows.codes, bins, pairs, values))


def _columns_of_pairs(
    rows: BinnedRows, pairs: list[Pair], bins: CoarseBins, n_folds: int
) -> tuple[PairColumns, SummedTables]:
    """Place rows in the tables of pairs, and sum their weight in the cells by fold."""
    folds = rows.folds
    assert folds is not None
    columns = PairColumns(coarse_columns(rows.codes, rows.layout.n_bins, pairs, bins), folds)
    counted = columns
    if n_folds == 1:
        counted = PairColumns(columns.columns, np.zeros(len(folds), np.uint8))
    weights = cell_weights(counted, rows.weight, n_folds, pairs, bins)
    return columns, SummedTables([table.sum(axis=0) for table in weights])


def _residuals_of_members(
    rows: BinnedRows,
    columns: PairColumns,
    work_of: WorkOf,
    models: Sequence[TableModel],
    terms: PairTerms | None,
    score: int,
    pairs: list[Pair],
    bins: CoarseBins,
) -> tuple[PairResiduals, ResidualSums]:
    (work,) = work_of(rows, models, terms, [score])
    state = PairResiduals(np.array(work.residuals[1:]), work.weight)
    return state, residual_sums(state, columns, pairs, bins)
