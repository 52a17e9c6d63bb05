"""The fit of an additive model: a plan and a problem become a model.

Rows become bins, bins become sums (`sums.py`), and from these the rounds make the model without the
rows. Sums over rows in memory, over rows in blocks, and sums that are given are three kinds of one
problem. With the squared error, blocks are read twice, and once more if there are categories; with
pairs their bins stay where the rows are, and are read again and again. Other losses are lowered by
stages of Newton steps, for each of which the bins are read once, or twice.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..._blocks import Blocks, PassCount
from ..._categories import CategoricalColumns
from ..._rows import MemoryRows, Rows
from ..._scaling import TargetScale, calibrated_power
from ..losses import AbsoluteLoss, HuberLoss, Loss, QuantileLoss
from ..losses._losses import lower_quantile
from .additive_plan import MAX_SMOOTHING_ROUNDS, MOST_ROUNDS, SMOOTHING_PATIENCE, Plan, Report
from .bins import (
    BinnedBlocks,
    FeatureBins,
    TrainingRows,
    binned_block,
    folds_of_block,
    rows_in_bins,
    unit_weights,
    weight_unit,
)
from .fitted_terms import (
    AdditiveModel,
    AdditiveTerms,
    FoldModels,
    LeftOutRows,
    Rounds,
    segments_of,
    shapes_of,
)
from .pairs import PairFit, PairTerms, monotonic_pairs, weight_by_bin
from .risk import (
    NewtonLoss,
    NewtonLossOfBlocks,
    NewtonLossOfRows,
    PointwiseLoss,
    PointwiseOf,
    RiskOfSplits,
    SquaredError,
    guide_of_bins,
)
from .rounds import (
    MIB,
    BinnedRows,
    PhaseResult,
    SmoothingRounds,
    TableStumps,
    cuts_in_memory,
    run_phase,
)
from .sums import CutLayout, CutSums, NormalizedCuts, RowsInBins, StoredGram, StumpSums

# Rows that are put into bins and summed at a time: their codes stay in the processor's cache.
_BLOCK_ROWS = 2**14
# In smoothing rounds scores may move so many times farther between two refreshes: their steps are
# those of Newton's method, whose limit does not depend on them.
SMOOTHING_MOVE = 1.5

AnyRisk = SquaredError | NewtonLoss | RiskOfSplits


@dataclass(frozen=True)
class Problem:
    """What is fitted: a risk, as sums over bins, and what its numbers mean.

    - weights: of the rows of each fold in each bin, p arrays (k, B).
    - pair_fit: None where rows cannot be read again, or splits are no folds.
    - target: the units of targets and scores.
    - degree: the loss in units of y is that in units of `target` times this power of the unit.
    - jumps: cuts that are candidates of their own.
    - limit: how far a score moves between two computations of the derivatives.
    - score_of: of targets and scores, how far off a model is at rows that it has not seen.
    - deviation_of: of scores, the unit of numbers that say so, up to a power; None for 1.
    """

    risk: AnyRisk
    bins: FeatureBins
    columns: CategoricalColumns | None
    weights: list[np.ndarray]
    pair_fit: PairFit | None
    target: TargetScale
    degree: int
    weight_unit: float
    jumps: np.ndarray | tuple = ()
    limit: float = np.inf
    score_of: Callable[[np.ndarray, np.ndarray], np.ndarray] = np.subtract
    deviation_of: Callable[[np.ndarray], np.ndarray] | None = None
    passes: PassCount | None = None

    def row_weight(self, cuts: NormalizedCuts) -> float:
        """What a training row of weight 1 weighs in cuts: of other losses a mean curvature."""
        by_fold = self.weights[0].sum(axis=1)
        rows = cuts.fitted_weight  # of a split that is no fold
        if rows is None:  # a difference would lose small weights beside those of the fold
            rows = (by_fold if cuts.fold is None else np.delete(by_fold, cuts.fold)).sum()
        return float(cuts.weight / (rows * self.weight_unit))

    def in_units(self, losses: np.ndarray) -> np.ndarray:
        """Losses in units of y; inf or 0 beyond the range of floats."""
        with np.errstate(over="ignore", under="ignore"):
            for _ in range(self.degree):  # a power of the unit might overflow
                losses = losses * self.target.scale
        return losses


def fit_additive(plan: Plan, problem: Problem, report: Report) -> AdditiveModel:
    """Run the phases of the main effects, fit the pairs if there are any, and tabulate the result.

    With pairs, the main effects are fitted again to what these leave.
    """
    risk, layout = problem.risk, problem.bins.layout()
    # The rows of a fold may be so far from the others that its model leaves the range of floats
    # there; its held-out loss is infinite then.
    with np.errstate(over="ignore", invalid="ignore"):
        # Folds choose among the pairs of one score and of rows in memory.
        refused = risk.rows is None or risk.n_splits == 0 or risk.n_scores > 1
        fits_pairs = plan.fits_pairs and not (plan.pairs_by_folds and refused)
        fits_pairs = fits_pairs and problem.pair_fit is not None
        # First the main effects alone: pairs are found and fitted by what these leave. If there are
        # folds these choose the number of rounds before pairs, whatever that of the last rounds is
        # or how it is chosen: so a number that was chosen gives the same pairs.
        first, by_folds = plan, ("minimum", MOST_ROUNDS)
        if fits_pairs and risk.n_splits and (plan.rule, plan.n_rounds) != by_folds:
            first = replace(plan, rule="minimum", n_rounds=MOST_ROUNDS)
        smoothing, stumps = _boosted(first, problem, risk, report)
        pairs = None
        if fits_pairs and problem.pair_fit is not None and not isinstance(risk, RiskOfSplits):
            pairs = problem.pair_fit.fit(stumps.models, plan.pairs, plan.allowed, risk)
            if pairs is None:
                report(0).message("no pairs of features")
                if first is not plan:
                    smoothing, stumps = _boosted(plan, problem, risk.again(), report)
        if pairs is not None:
            assert not isinstance(risk, RiskOfSplits)  # which has none
            if plan.signs is not None:
                pairs = monotonic_pairs(pairs, stumps.models, plan.signs, layout.missing)
            report(0).message(f"{len(pairs.pairs)} pairs of features")
            # Main effects that were fitted without the pairs have taken over a part of them.
            again = _boosted(plan, problem, risk.given(pairs), report)
            if plan.pairs_by_folds and _least(again[1]) >= _least(stumps):
                report(0).message("the folds are predicted no better with pairs")
                pairs = None
                if first is not plan:
                    smoothing, stumps = _boosted(plan, problem, risk.again(), report)
            else:
                smoothing, stumps = again
    if isinstance(risk, RiskOfSplits):  # whose models are no leave-one-out models
        stumps = replace(stumps, models=stumps.models[:1])
    terms, folds, rounds = _tabulated(problem, smoothing, stumps, pairs)
    folds = folds if plan.keeps_folds else None
    folds = _with_left_out_rows(folds, terms, risk.rows, problem)
    return AdditiveModel(
        terms,
        stumps.n_rounds,
        0 if smoothing is None else smoothing.n_rounds,
        _importances(risk, layout, terms, smoothing, stumps),
        rounds,
        folds,
        n_refreshes=None if isinstance(risk, SquaredError) else risk.n_refreshes,
        n_passes=None if problem.passes is None else problem.passes.n,
    )


def _least(stumps: PhaseResult) -> float:
    """The least mean loss over the folds, after at most the rounds of the model."""
    return float(stumps.held_path[: stumps.n_rounds + 1].mean(axis=1).min())


def _boosted(
    plan: Plan, problem: Problem, risk: AnyRisk, report: Report
) -> tuple[PhaseResult | None, PhaseResult]:
    """Run the two phases: rounds that smooth, if there are any, then stumps."""
    n_splits, models = risk.n_splits, risk.start()
    limit = problem.limit * risk.unit
    smoothing, n_smoothing = None, plan.smoothing_rounds
    is_auto = n_smoothing == "auto"
    if n_smoothing == "auto":
        n_smoothing = MAX_SMOOTHING_ROUNDS if n_splits else 0
    if n_smoothing:
        smoothing = run_phase(
            risk,
            models,
            lambda state: SmoothingRounds(state, problem.jumps, plan.signs),
            n_smoothing,
            limit=SMOOTHING_MOVE * limit,
            longest=SMOOTHING_PATIENCE if is_auto else np.inf,
            tolerance=0.5 * limit,
            patience=SMOOTHING_PATIENCE if is_auto else None,
            rule="minimum" if is_auto else None,
            by_rows=_rows_are_faster(risk),
        )
        models = smoothing.models
        report(0).message(f"{smoothing.n_rounds} smoothing rounds")
    # A number of rounds that folds have chosen, of a longer fit, gives its rounds again: no stage
    # is shorter because of the number of rounds, or of those that are compared.
    n_rounds = plan.n_rounds
    whole_stages = n_splits > 0 or risk.is_rough
    many = int(np.ceil(min(10 / plan.learning_rate, MOST_ROUNDS if whole_stages else n_rounds)))
    stumps = run_phase(
        risk,
        models,
        lambda state: TableStumps(
            state, plan.learning_rate, plan.signs, problem.row_weight(state.cuts)
        ),
        n_rounds,
        limit=limit,
        # late rounds move so little that a stage would not end
        longest=many,
        tolerance=0.5 * limit,
        # after smoothing rounds few stumps are left to be found
        patience=many if smoothing and n_splits and plan.rule else None,
        rule=plan.rule,
        whole_stages=whole_stages,
        progress=report(n_rounds),
    )
    if n_splits and plan.rule:
        report(0).message(f"{stumps.n_rounds} rounds have the least mean error over the folds")
    return smoothing, stumps


def _rows_are_faster(risk: AnyRisk) -> bool:
    """Whether smoothing rounds cost less by the residuals of rows than by the products of cuts.

    Products are those for all cuts, for all models, and again after each gradient if the loss is
    not quadratic.
    """
    if risk.rows is None or (risk.is_quadratic and not risk.n_splits):
        return False
    # The factors are nanoseconds, measured on one machine; they only have to be right by an order.
    n, p = risk.rows.codes.shape
    n_cuts, n_models, n_rounds = risk.layout.n_cuts, 1 + risk.n_splits, 100
    products = n_cuts**2 * (3 * risk.n_splits + 2) * (1 if risk.is_quadratic else 3)
    by_products = 2 * products + n_rounds * n_models * (n_cuts**2 / max(p, 1) + 1500)
    by_rows = n_rounds * n_models * (0.6 * n * p + 2 * n_cuts + 1500)
    kept = n_cuts if risk.max_cuts is None else risk.max_cuts
    return by_rows < by_products or kept < min(n_cuts, 500)


# --- the model ------------------------------------------------------------------------------------


def _tabulated(
    problem: Problem,
    smoothing: PhaseResult | None,
    stumps: PhaseResult,
    pairs: PairTerms | None,
) -> tuple[AdditiveTerms, FoldModels | None, Rounds]:
    bins, target = problem.bins, problem.target
    scale, mean = float(target.scale), float(target.mean)
    of_folds, weights = problem.weights, [own.sum(axis=0) for own in problem.weights]
    layout = bins.layout()
    p, n_scores = len(layout.n_bins), len(stumps.models[0].tables)
    pure = [None if pairs is None else pairs.pure(k) for k in range(len(stumps.models))]

    # The functions of all terms, and the intercept that gets their means. Those of pairs are
    # purified: what depends on one feature is in the functions of features.
    def terms_of(number: int, weights: list[np.ndarray]) -> tuple[list[np.ndarray], np.ndarray]:
        shapes, intercepts, shifts = shapes_of(
            stumps.models[number], pure[number], weights, bins.missing
        )
        intercepts = intercepts + shifts
        return shapes, intercepts - intercepts.mean() if n_scores > 1 else intercepts

    shapes, intercepts = terms_of(0, weights)
    intercepts = scale * intercepts + mean
    each = list(zip(bins.edges, bins.categories))
    places: list[Any] = [e if c is None else c for e, c in each]
    features: list[tuple[int, ...]] = [(j,) for j in range(p)]
    all_weights, pair_maps = list(weights), []
    if pairs is not None:
        features += pairs.pairs
        all_weights += pairs.cell_weights
        # Missing values without a bin of their own have a code, whose entry is padded with 0.
        maps = pairs.bins.maps
        pair_maps = [
            m if has else np.append(m, n).astype(m.dtype)
            for m, n, has in zip(maps, pairs.bins.n_bins, bins.missing)
        ]
        # The edges of merged bins; the categories of a categorical feature.
        coarse = [
            e[np.flatnonzero(np.diff(m[: len(e) + 1].astype(int)))] if c is None else c
            for (e, c), m in zip(each, maps)
        ]
        places += [(coarse[a], coarse[b]) for a, b in pairs.pairs]

    # The models that leave out one fold, whose functions have mean 0 over their own rows.
    without = []
    for fold in range(len(stumps.models) - 1):
        rest = [weight - own[fold] for weight, own in zip(weights, of_folds)]
        without.append(terms_of(1 + fold, rest))
    folds = None
    if without:
        tables = [
            np.stack(own, axis=weight.ndim).reshape(*weight.shape, -1)
            for own, weight in zip(zip(*(own for own, _ in without)), all_weights)
        ]
        folds = FoldModels(np.concatenate([own for _, own in without]), tables, scale, mean)
    terms = AdditiveTerms(
        bins,
        problem.columns,
        features,
        [(place, scale * shape) for place, shape in zip(places, shapes)],
        all_weights,
        pair_maps,
        float(intercepts[0]) if n_scores == 1 else intercepts,
        weight_unit=problem.weight_unit,
    )
    if folds is not None and len(without) > 1:
        terms = replace(terms, errors=folds.errors(terms))
    segments, sets = segments_of(stumps.segments, layout, pure[0], scale, mean)
    has_folds = stumps.held_path.shape[1] > 0
    rounds = Rounds(
        segments,
        sets,
        problem.in_units(stumps.train_path[: stumps.n_rounds + 1]),
        problem.in_units(stumps.held_path) if has_folds else None,
        problem.in_units(smoothing.held_path) if has_folds and smoothing else None,
    )
    return terms, folds, rounds


def _with_left_out_rows(
    folds: FoldModels | None,
    terms: AdditiveTerms,
    rows: BinnedRows | None,
    problem: Problem,
) -> FoldModels | None:
    """Keep how far off the models of the folds are at the rows that these leave out.

    Nothing of rows that are not in memory.
    """
    if folds is None or rows is None:
        return folds
    assert rows.folds is not None
    n_scores = terms.n_scores
    scores: Any = None
    units = np.ones(len(rows.y))
    for fold in range(rows.n_splits):
        own = np.flatnonzero(rows.folds == fold)
        part = slice(fold * n_scores, (fold + 1) * n_scores)
        u = terms.sums_in_bins(
            rows.codes[own], folds.intercepts[part], [each[..., part] for each in folds.tables]
        )
        if rows.offset is not None:
            u += rows.offset[own, None]
        found = problem.score_of(rows.y[own], u[:, 0] if n_scores == 1 else u)
        if problem.deviation_of is not None:
            units[own] = problem.deviation_of(u[:, 0])
        scores = np.empty((len(rows.y), *found.shape[1:])) if scores is None else scores
        scores[own] = found
    left_out = np.flatnonzero(rows.folds < rows.n_splits)
    groups = None if rows.groups is None else rows.groups[left_out]
    scores, codes, power = scores[left_out], None, 1.0
    if scores.ndim == 2:
        codes = rows.y[left_out].astype(np.min_scalar_type(int(rows.y.max())))
    if problem.deviation_of is not None:
        weight = None if rows.weight is None else rows.weight[left_out]
        power = calibrated_power(np.abs(scores), units[left_out], weight)[1]
        scores /= units[left_out] ** power
    return replace(folds, rows=LeftOutRows(scores, rows.folds[left_out], groups, codes, power))


def _importances(
    risk: AnyRisk,
    layout: CutLayout,
    terms: AdditiveTerms,
    smoothing: PhaseResult | None,
    stumps: PhaseResult,
) -> np.ndarray:
    """The share of each feature in the fall of the squared error, or in the size of the terms."""
    if risk.is_quadratic:
        sizes = np.zeros(len(layout.n_bins))
        for phase in (smoothing, stumps):
            for segment in [] if phase is None else phase.segments:
                sizes += segment.paths[0][0].falls_by_feature(layout)
        return sizes / sizes.sum() if sizes.any() else sizes
    # Each stage lowers another quadratic, and their falls do not add up.
    sizes = terms.importances()[: len(layout.n_bins)]
    total = sizes.sum()
    return sizes / total if total > 0 else sizes


# --- the squared error: rows in memory, in blocks, and sums ---------------------------------------


def squares_of_rows(plan: Plan, rows: TrainingRows, report: Report) -> Problem:
    # Powers of two bring weights and targets near 1: squares do not overflow, and nothing is
    # rounded.
    weight, unit = unit_weights(rows.weight), weight_unit(rows.weight)
    y = rows.y if rows.offset is None else rows.y - rows.offset
    rows = replace(rows, weight=weight, offset=None)
    target = TargetScale.in_powers_of_two(y, weight)
    # Rows become bins, in units of the target, and sums over bins; the rounds read only these.
    scaled = target(y)
    bins, jumps, binned = rows_in_bins(plan, rows, scaled, scaled, None, report)
    splits = rows.splits if plan.has_folds else None
    memory = plan.memory / (1 + len(splits or ()))
    risk = SquaredError.of_rows(binned, memory)
    problem = _squares(risk, bins, rows.columns, target, unit, jumps)
    if splits is None:
        return problem
    parts = [SquaredError.of_rows(binned.of_split(*split), memory) for split in splits]
    return replace(problem, risk=RiskOfSplits(risk, parts), pair_fit=None)


def squares_of_blocks(plan: Plan, found: BinnedBlocks, report: Report) -> Problem:
    bins, n_splits = found.bins, found.n_splits
    target, n_cuts = found.target.scale(), bins.layout().n_cuts
    check_memory(plan.memory, n_cuts, max(n_splits, 1), n_splits)
    report(0).message(f"{n_cuts} cuts in {len(bins.edges)} features")
    blocks, passes = None, PassCount(found.n_passes)
    # Without pairs the rows are put into bins and summed in one go, and nothing is kept.
    if plan.keeps_bins_for_pairs:
        passes.n += 1
        blocks = found.rows.map(targets_in_bins, bins, target, n_splits)
        sums = blocks.sum(_sums_of_bins)
    else:
        sums = found.rows.sum(_sums_of_block, bins, target, n_splits)
    given = sums, n_splits, bins, found.columns, target, found.weight_unit
    return squares_of_sums(*given, blocks, passes)


def squares_of_sums(
    sums: StumpSums,
    n_splits: int,
    bins: FeatureBins,
    columns: CategoricalColumns | None,
    target: TargetScale,
    unit: float,
    blocks: Blocks | None = None,
    passes: PassCount | None = None,
) -> Problem:
    """Pairs are fitted to the rows in blocks."""
    for fold in range(n_splits):
        if not 0 < sums.sums.weight[fold] < sums.sums.weight.sum():
            raise ValueError(
                f"Split {fold} of cv has no weight in its training set or in its test set."
            )
    gram = StoredGram(sums.gram(), bins.layout())
    risk = SquaredError(sums.sums, gram, n_splits, blocks=blocks, passes=passes)
    return replace(_squares(risk, bins, columns, target, unit), passes=passes)


def _squares(
    risk: SquaredError,
    bins: FeatureBins,
    columns: CategoricalColumns | None,
    target: TargetScale,
    unit: float,
    jumps: np.ndarray | tuple = (),
) -> Problem:
    # Rows can still be read after `fit`, in memory or in blocks, but not after `partial_fit`.
    pair_fit, layout = None, risk.layout
    weights = risk.sums[0].bin_weights(layout)
    if risk.blocks is not None:
        pair_fit = PairFit(
            risk.blocks,
            layout,
            1,
            risk.n_splits,
            is_quadratic=True,
            bin_weights=() if risk.rows is not None else [own.sum(axis=0) for own in weights],
            passes=risk.passes,
        )
    return Problem(risk, bins, columns, weights, pair_fit, target, 2, unit, jumps)


@dataclass(frozen=True)
class KnownSums:
    """What is kept of the rows of all calls of `partial_fit`."""

    sums: StumpSums
    bins: FeatureBins
    columns: CategoricalColumns | None
    target: TargetScale
    weight_unit: float
    n_chunks: int

    @property
    def n_groups(self) -> int:
        """One more than folds: of rows that no split tests on."""
        return len(self.sums.sums.weight)

    def __add__(self, other: "KnownSums") -> "KnownSums":
        """Add sums over other rows in the same bins, in the units of these."""
        # y = scale u + mean and w = unit v in both units; sums are linear in w, w y and w y^2.
        a = other.target.scale / self.target.scale
        b = (other.target.mean - self.target.mean) / self.target.scale
        c = other.weight_unit / self.weight_unit
        of, tables = other.sums.sums, other.sums.tables
        with np.errstate(over="ignore", invalid="ignore"):
            found = CutSums(
                c * of.weight,
                c * (a * of.y + b * of.weight),
                c * (a * a * of.yy + 2 * a * b * of.y + b * b * of.weight),
                c * of.left_weight,
                c * (a * of.left_y + b * of.left_weight),
            )
            sums = StumpSums(found, tables if c == 1 else c * tables, other.sums.layout)
        return replace(self, sums=self.sums + sums)

    def problem(self) -> Problem:
        # Few rows are in the first folds only, and a single row is no fold.
        n_splits = self.n_groups - 1
        if n_splits > 1:
            n_splits = int(np.count_nonzero(self.sums.sums.weight[:n_splits]))
            n_splits = n_splits if n_splits > 1 else 0
        given = self.sums, n_splits, self.bins, self.columns, self.target, self.weight_unit
        return squares_of_sums(*given)


def sums_of_rows(
    bins: FeatureBins,
    X: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray | None,
    folds: np.ndarray | None,
    n_groups: int,
) -> StumpSums:
    """Sum over rows, which are put into bins a few at a time."""

    def parts() -> Iterator[RowsInBins]:
        for rows, codes in bins.codes_by_blocks(X, _BLOCK_ROWS):
            w, f = (None if each is None else each[rows] for each in (weight, folds))
            yield codes, y[rows], w, f

    return StumpSums.of(parts(), bins.layout(), n_groups)


def _sums_of_block(block: Rows, bins: FeatureBins, target: TargetScale, n_splits: int) -> StumpSums:
    folds = folds_of_block(block, n_splits)
    return sums_of_rows(bins, block.X, target(block.y), block.weight, folds, max(n_splits, 1))


def targets_in_bins(
    block: Rows, bins: FeatureBins, target: TargetScale, n_splits: int
) -> BinnedRows:
    return binned_block(block, bins, target(block.y), n_splits)


def _sums_of_bins(rows: BinnedRows) -> StumpSums:
    def parts() -> Iterator[RowsInBins]:
        for start in range(0, len(rows.y), _BLOCK_ROWS):
            part = slice(start, start + _BLOCK_ROWS)
            w, f = (None if each is None else each[part] for each in (rows.weight, rows.folds))
            yield rows.codes[part], rows.y[part], w, f

    return StumpSums.of(parts(), rows.layout, rows.n_groups)


def check_memory(
    memory: float, n_cuts: int, n_groups: int, n_splits: int, n_scores: int = 1
) -> None:
    """Refuse sums over all pairs of cuts that are too large, of rows that are not read again."""
    # so far, of this block by feature and in one piece, and as products of columns
    copies = 2 * n_groups + n_scores * (n_groups + (1 if n_splits == 0 else 1 + 2 * n_splits))
    needed = copies * n_cuts**2 * 8 / MIB
    if needed > memory:
        rounds = ""
        if n_splits:
            rounds = ", or numbers of rounds and interactions=0, which need no folds"
        raise ValueError(
            f"working_memory={memory} MiB of sklearn.set_config is less than the {needed:.0f} MiB "
            f"of the sums over all pairs of the {n_cuts} cuts; use fewer bins{rounds}."
        )


# --- other losses: rows in memory and in blocks ---------------------------------------------------


@dataclass(frozen=True)
class Task:
    """A loss that is lowered by Newton steps; see `Problem` for the rest."""

    loss: PointwiseLoss
    limit: float
    score_of: Callable[[np.ndarray, np.ndarray], np.ndarray]
    deviation_of: Callable[[np.ndarray], np.ndarray] | None = None
    target: TargetScale = field(default_factory=lambda: TargetScale(0.0, 1.0))
    degree: int = 0

    @classmethod
    def of(cls, loss: Loss, limit: float, target: TargetScale | None) -> "Task":
        """In units of `target`, or of y."""

        def left_over(y: np.ndarray, u: np.ndarray) -> np.ndarray:
            return y - loss.inverse_link(u)

        def deviation(u: np.ndarray) -> np.ndarray:
            return loss.deviation(loss.inverse_link(u))

        if target is None:
            return cls(PointwiseOf(loss), limit, left_over, deviation)
        if isinstance(loss, HuberLoss):
            loss = HuberLoss(loss.delta / float(target.scale))
            return cls(PointwiseOf(loss), limit, left_over, None, target, 2)
        return cls(PointwiseOf(loss), limit, left_over, None, target, 1)


def is_of_residuals(loss: Loss) -> bool:
    """Whether the loss of y and u is one of y - u that has a power of their unit."""
    return type(loss) in (AbsoluteLoss, HuberLoss, QuantileLoss)


def losses_of_rows(
    plan: Plan, loss: Loss, limit: float, rows: TrainingRows, report: Report
) -> tuple[Problem, Loss]:
    """The problem, and the loss with the delta of Huber's quantile."""
    unit, weight = weight_unit(rows.weight), unit_weights(rows.weight)
    rows, target = replace(rows, weight=weight), None
    if is_of_residuals(loss):
        y = rows.y if rows.offset is None else rows.y - rows.offset
        target = TargetScale.in_powers_of_two(y, weight)
        rows = replace(rows, y=target(y), offset=None)
        if isinstance(loss, HuberLoss) and loss.quantile is not None:
            distances = np.abs(rows.y - AbsoluteLoss().optimal_constant(rows.y, weight))
            delta = lower_quantile(distances, loss.quantile, weight)
            loss = HuberLoss((delta or float(distances.max()) or 1.0) * float(target.scale))
    task = Task.of(loss, limit, target)
    return task_of_rows(plan, task, rows, unit, report), loss


def task_of_rows(
    plan: Plan, task: Task, rows: TrainingRows, unit: float, report: Report
) -> Problem:
    """Of rows whose weights are near 1."""
    guide = guide_of_bins(task.loss, rows)
    bins, jumps, binned = rows_in_bins(plan, rows, rows.y, *guide, report)
    splits = rows.splits if plan.has_folds else None
    own = replace(plan, memory=plan.memory / (1 + len(splits or ())))
    problem = task_of_bins(own, task, binned, bins, rows.columns, unit, jumps)
    if splits is None:
        return problem
    parts = []
    for split in splits:
        part = binned.of_split(*split)
        max_cuts = cuts_in_memory(own.memory, part, task.loss.n_scores)
        parts.append(NewtonLossOfRows(part, task.loss, max_cuts))
    assert isinstance(problem.risk, NewtonLoss)
    return replace(problem, risk=RiskOfSplits(problem.risk, parts), pair_fit=None)


def task_of_bins(
    plan: Plan,
    task: Task,
    rows: BinnedRows,
    bins: FeatureBins,
    columns: CategoricalColumns | None,
    unit: float,
    jumps: np.ndarray | tuple = (),
) -> Problem:
    loss, layout = task.loss, rows.layout
    risk = NewtonLossOfRows(rows, loss, cuts_in_memory(plan.memory, rows, loss.n_scores))
    ends = np.cumsum(layout.n_bins)[:-1]
    return Problem(
        risk,
        bins,
        columns,
        np.split(weight_by_bin(rows, rows.weight), ends, axis=1),
        PairFit(
            MemoryRows(rows, len(layout.n_bins)),
            layout,
            loss.n_scores,
            rows.n_splits,
            is_quadratic=False,
        ),
        task.target,
        task.degree,
        unit,
        jumps,
        task.limit,
        task.score_of,
        task.deviation_of,
    )


def losses_of_blocks(
    plan: Plan, loss: Loss, limit: float, found: BinnedBlocks, report: Report
) -> Problem:
    of_y = found.target
    loss.check_target(np.array([of_y.low, of_y.mean, of_y.high]))
    task = Task.of(loss, limit, of_y.scale() if is_of_residuals(loss) else None)
    return task_of_blocks(plan, task, found, report, targets_in_bins, found.bins, task.target)


def task_of_blocks(
    plan: Plan,
    task: Task,
    found: BinnedBlocks,
    report: Report,
    in_bins: Callable[..., BinnedRows],
    *args: Any,
) -> Problem:
    """`in_bins` puts a block into bins, by `args` and the number of folds."""
    layout, passes = found.bins.layout(), PassCount(found.n_passes)
    n_splits, n_scores = found.n_splits, task.loss.n_scores
    check_memory(plan.memory, layout.n_cuts, max(n_splits, 1), n_splits, n_scores)
    report(0).message(f"{layout.n_cuts} cuts in {len(found.bins.edges)} features")
    blocks = found.rows.map(in_bins, *args, n_splits)
    risk = NewtonLossOfBlocks(blocks, layout, task.loss, n_splits, passes)
    pair_fit = PairFit(
        blocks,
        layout,
        n_scores,
        n_splits,
        is_quadratic=False,
        bin_weights=[own.sum(axis=0) for own in risk.bin_weights],
        passes=passes,
    )
    return Problem(
        risk,
        found.bins,
        found.columns,
        risk.bin_weights,
        pair_fit,
        task.target,
        task.degree,
        found.weight_unit,
        limit=task.limit,
        score_of=task.score_of,
        passes=passes,
    )
