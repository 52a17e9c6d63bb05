"""Gradient boosting of rows in blocks, by binned trees: what a fit of a Dask collection runs.

The rows are read twice: for a summary of them (`RowSummary`: quantiles, classes, the range of the
targets), and for the codes of the bins, which stay where the rows are, with the targets; if there
are categories, once more before that, to list them. A round is then `start_round`,
`grow_on_block` for each level of the trees, and `leaf_tables`: pure functions of the codes, the
targets and the moves of all rounds before. Sums of targets are sums of integers, so that the trees
do not depend on the blocks. Rounds of the second order begin with `curvatures_of_block`, the sums
by which Newton steps are bounded; losses with a kink end with `jumps_of_block`, some bits of the
quantiles of their leaves in each pass. Rows are drawn, and held out for early stopping, by hashes
of their numbers: the same ones whatever the blocks are.

The scores are a memo beside the codes (`KeptScores`): what the moves so far have made of them. A
memo that is behind, because its worker was lost, makes the moves that it lacks. So Dask holds the
same objects in every round, may write them to disk at any time, and computes at most the codes
again.

A fit is a generator, which yields such functions as questions to the blocks and is sent the sums.
The folds of cross-validation are several fits: what all of them ask next is answered in one pass
over the blocks (`FitsInLockstep`), and each leaves out the rows that a hash of their numbers gives
to its fold. They share the codes; each has scores of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils import check_random_state

from ..._blocks import Blocks, DaskBlocks, SummedFields, added, in_tree_order
from ..._categories import (
    CategoricalColumns,
    numbered_learner,
    tree_categories_of_blocks,
)
from ..._compat import check_constraints
from ..._folds import Draw, checked_n_splits, first_rows_of, folds_by_hash
from ..._learners import reads_single_precision
from ..._native.block_passes import RowTargets
from ..._roots import root_search
from ..._rows import ChunkedRows, Rows
from ..._running import Progress, reworded, seeded
from ..._worker_memory import check_worker_memory
from ...trees._binned_tree import BinnedTreeRegressor
from ...trees._columns import MISSING, BinnedColumns
from ...trees._histogram_growth import Grid, HistogramGrowth, sum_bits
from ...trees._histograms import (
    GridUnits,
    Split,
    TreeReply,
    TreeRequest,
    after_splits,
    counted_nodes,
    given_targets,
    ranges_of_nodes,
)
from ...trees._options import MAX_SEED, TreePlan, TreeShape
from ...trees._row_summary import (
    RowSummary,
    TargetSummary,
    bins_of_rows,
    in_few_bytes,
    summary_of_block,
)
from ...trees._tree_arrays import LEAF, LeafOutputs, Nodes, nodes_of
from ...trees._weak_learners import monotonic_after_growth, set_leaf_values, tree_member
from .._loop import RoundReports
from .._risk import (
    LEAST_CURVATURE,
    SMALLEST_CURVATURE,
    EmpiricalRisk,
    SecondOrderRisk,
    largest_totals,
)
from ..losses import Loss, SquaredLoss
from ..losses._base import (
    bounded_steps,
    group_totals,
    is_wrong,
    leaf_falls,
    longer_steps,
    may_rise,
    safe_length,
    share_taken,
    steps_to_try,
)
from ..losses._compiled import compiled_loss
from ..losses._derivatives import check_derivatives, is_of_the_user
from ..losses._losses import PiecewiseLinearLoss
from .choosing_rounds import boost_folds, mean_model, results_of
from .memory import SEEDS, risks_of_rounds, with_shares_of
from .model import AdditiveModel
from .plan import Plan, check_part, classes_of, decoded, encoded

# Of deeper trees, or of more leaves, the sums in bins would take more memory than many rows.
MOST_LEVELS, MOST_LEAVES = 8, 512
# Sums of targets may be smaller than expected by so many bits before the units are changed.
SPARE_BITS = 6
# Whole weights of at most this sum leave enough bits to round targets before they are weighted.
MOST_WHOLE = 2.0**28
ROOT = TreeRequest([], [0], [])
# So many moves go with each question; then all earlier ones are sent to the workers once.
LATEST = 16
# A pass finds so many bits of a quantile of 64 bits.
CELL_BITS = 11


@dataclass(frozen=True)
class BlockProblem:
    """The rows of a fit in blocks, once they have been read; `columns` are bins without codes."""

    rows: ChunkedRows
    summary: RowSummary
    learner: BinnedTreeRegressor
    columns: BinnedColumns
    encoder: CategoricalColumns | None
    classes: np.ndarray | None
    loss: Loss = field(default_factory=SquaredLoss)
    n_validation_blocks: int = 0

    @property
    def n_classes(self) -> int:
        """0 for real targets."""
        return 0 if self.classes is None else len(self.classes)

    @property
    def n_blocks(self) -> int:
        return len(self.rows.given) + self.n_validation_blocks


def read_blocks(
    plan: Plan, rows: ChunkedRows, of_classes: bool, encoder: CategoricalColumns | None = None
) -> BlockProblem:
    """The problem after the first reading of the rows, by all but its loss.

    `encoder` is that of a fit that is continued.
    """
    if encoder is None:
        encoder = tree_categories_of_blocks(rows.given, rows.meta, plan.learner)
    learner = numbered_learner(plan.learner, encoder)
    rows = rows.knowing(allow_nan=True, encode=None if encoder is None else encoder.encode)
    summary = rows.sum(summary_of_block, of_classes)
    targets, classes = summary.targets, None
    if of_classes:
        classes = classes_of(targets.labels)
        rows = rows.knowing(classes=classes)
    else:
        encoded(np.array([targets.low, targets.high]), None)  # refuses what is too large
    columns = bins_of_rows(summary, learner.max_bins, encoder)
    return BlockProblem(rows, summary, learner, columns, encoder, classes)


def boost_blocks(
    plan: Plan,
    problem: BlockProblem,
    rng: np.random.RandomState,
    reports_of: Callable[[int], RoundReports],
    held_out: Draw | None = None,
    is_no_better: Callable[[AdditiveModel, float], bool] = lambda model, unit: False,
    earlier: EarlierRounds | None = None,
    validation: ChunkedRows | None = None,
) -> tuple[AdditiveModel, dict[str, Any]]:
    """The model, and the fitted attributes that tell how its rounds were chosen.

    The rows drawn by `held_out`, or those of `validation`, decide when to stop; without them those
    that are fitted, if the plan says so. `earlier` are rounds to which others are added.
    """
    held_weight = 0.0
    if validation is not None:
        validation, held_weight = checked_validation(validation, problem)
        problem = replace(problem, n_validation_blocks=len(validation.given))
    rows, n_blocks, targets = problem.rows, problem.n_blocks, problem.summary.targets
    as_signs, choice = problem.n_classes == 2, plan.choice
    # It checks the parameters before the rows are coded.
    whole = BlockBoosting(plan, problem, targets, rng, held_weight)
    rows = rows.knowing(first_rows=first_rows_of(problem.summary.lengths))
    n_splits = 0 if choice is None else checked_n_splits(choice.cv)
    if isinstance(rows.given, DaskBlocks):
        check_worker_memory(*least_bytes(problem, n_splits))
    coded = rows.map(binned_block, problem.columns, as_signs, n_splits, held_out)
    if validation is not None:
        given = problem.columns, as_signs, 0, None, len(rows.given)
        coded = coded.joined(validation.map(binned_block, *given))
    data = coded.grouped()
    if held_out is not None:
        whole = held_out_fit(plan, problem, data, rng)
    if earlier is not None:
        whole.go_on_from(earlier)
    n_earlier = len(whole.fitted.members)
    found: dict[str, Any] = {}
    n_rounds, model = plan.n_rounds, whole.fitted
    if choice is not None:
        # The folds leave the generator of the final fit as it is.
        fits = begun_folds(plan, problem, data, n_splits, deepcopy(rng))
        folds = BlockFolds(fits, data, plan.n_rounds)
        progress = Progress(plan.name, n_rounds, plan.verbose, unit="rounds of all folds")
        n_rounds, path = boost_folds(folds, choice, progress)
        found["cv_results_"] = results_of(path, folds.shares)
        if choice.prediction == "mean":
            model = mean_model(folds.models(n_rounds))
            found["n_estimators_"] = n_rounds
        del folds, fits  # and their scores, where the rows are
    is_mean = model is not whole.fitted
    reports = reports_of(0 if is_mean else n_rounds - n_earlier)

    def report(t: int, risk: float, drawn: tuple[float, float] | None) -> bool:
        """Record the risks after t rounds; whether these are enough."""
        if t == 0:
            model.first_scores = [-risk], [-score for score in whole.path]
            whole.out_before = np.nan if drawn is None else drawn[1]
        if t == n_earlier:
            return False
        reports.begin_round()
        if drawn is None:
            model.add_risks(risk)
        else:
            before = model.oob_scores[-1] if t > 1 else whole.out_before
            model.add_risks(risk, (*drawn, before - drawn[1]))
        model.validation_scores += whole.path[t - n_earlier :]
        reports.end_round(model.last_risks)
        if plan.patience is None or not is_no_better(model, whole.unit):
            return False
        model.stop_reason = "early stopping"
        return True

    if is_mean:
        losses = rows.sum(risks_of_block, model, as_signs).total(n_blocks)
        for risk in losses / targets.weight:
            model.add_risks(float(risk))
        reports.finish("the models of the folds are averaged", lambda: model)
    else:
        by_fold = held_out is not None or validation is not None
        FitsInLockstep([whole], data, n_rounds, report, by_fold).run()
        if plan.keeps_best and validation is not None:
            model.drop_after_best(model.validation_scores)
        reports.finish(model.stop_reason, lambda: model)
        found["_last_round"] = whole.units, whole.constant
    return model, found


def least_bytes(problem: BlockProblem, n_splits: int) -> tuple[int, int]:
    """What the blocks keep together, and what coding the largest one needs, at the least.

    Values that are coded are of single precision or more.
    """
    summary, p = problem.summary, problem.columns.n_features
    lengths = summary.lengths.values()
    a_row = p + 9 * problem.loss.n_scores(problem.n_classes) * max(n_splits, 1) + (n_splits > 0)
    return sum(lengths) * a_row + summary.nbytes, max(lengths) * 5 * p


def check_learner(plan: Plan) -> None:
    """Raise a ValueError for a base learner that needs all rows in memory."""
    learner = plan.learner
    name = "" if plan.default_trees else "estimator: "
    usual = reads_single_precision(learner) and not is_classifier(learner)
    if (
        not usual
        or not isinstance(learner, BinnedTreeRegressor)
        or learner.criterion != "squared_error"
        or learner.splitter != "best"
        or learner.ccp_alpha > 0
        or learner.max_bins > MISSING
    ):
        raise ValueError(
            f"estimator={learner!r} needs all rows in memory; with Dask collections use None, or a "
            f"BinnedTreeRegressor with the squared error and at most {MISSING} bins."
        )
    check_constraints(learner)
    for parameter in ("min_weight_leaf", "features_per_tree"):
        value = getattr(learner, parameter)
        if value is not None:
            raise ValueError(
                f"estimator: {parameter}={value!r} needs all rows in memory; with Dask "
                "collections leave it at its default."
            )
    if learner.max_leaf_nodes is None:
        if learner.max_depth is None or learner.max_depth > MOST_LEVELS:
            raise ValueError(
                f"{name}max_depth must be at most {MOST_LEVELS} with Dask collections, unless "
                f"max_leaf_nodes is given; got {learner.max_depth!r}."
            )
    elif learner.max_leaf_nodes > MOST_LEAVES:
        raise ValueError(
            f"{name}max_leaf_nodes must be at most {MOST_LEAVES} with Dask collections; got "
            f"{learner.max_leaf_nodes!r}."
        )


def needs_rows(loss: Loss, plan: Plan, of_classes: bool) -> bool:
    """Whether initial scores or values of leaves are no functions of sums over rows."""
    if has_quantiles(loss):
        return False
    n_scores = loss.n_scores(3)
    y, u = (np.ones(1), np.zeros(1)) if n_scores == 1 else (np.ones(1, int), np.zeros((1, 3)))
    sums = loss.leaf_terms(y, u, None if n_scores == 1 else 0) is not None
    sums |= is_second_order(loss, plan, n_scores)
    return not (sums and (of_classes or plan.init is not None or loss.constant_of_mean))


def has_quantiles(loss: Loss) -> bool:
    """Whether the values of leaves are weighted quantiles."""
    kind, base = type(loss), PiecewiseLinearLoss
    return (
        isinstance(loss, base)
        and kind.line_search is base.line_search
        and kind.leaf_values is base.leaf_values
    )


def is_second_order(loss: Loss, plan: Plan, n_scores: int) -> bool:
    """Whether trees are fitted to Newton steps."""
    if plan.newton != "if_curved":
        return plan.newton == "yes"
    y = np.ones(1) if n_scores == 1 else np.ones(1, int)
    return not loss.is_quadratic and SecondOrderRisk.has_curvature(loss, y, n_scores)


# --- a round on one block of rows -----------------------------------------------------------------


class BinnedBlock(NamedTuple):
    """The rows of a block, which stay the same.

    At most p + 8 bytes a row, 8 more with weights, 1 more with folds or rows held out.

    - codes: uint8 (m, p).
    - targets: (n,), as the loss takes them, in the smallest type that has the same numbers.
    - weights: the same for the weights; None for equal ones.
    - kinds: the types in which both are computed with.
    - number: that of the block.
    - first: the number of its first row over all blocks.
    - fold: the number of the fit that holds out each row; None if all rows are fitted.
    - rows: the rows of `codes` that these are, int32 (n,); None for all.
    """

    codes: np.ndarray
    targets: np.ndarray
    weights: np.ndarray | None
    kinds: tuple[np.dtype, np.dtype]
    number: int
    first: int
    fold: np.ndarray | None = None
    rows: np.ndarray | None = None

    @property
    def n_rows(self) -> int:
        return len(self.targets)

    @property
    def y(self) -> np.ndarray:
        return self.targets.astype(self.kinds[0], copy=False)

    @property
    def weight(self) -> np.ndarray | None:
        return None if self.weights is None else self.weights.astype(self.kinds[1], copy=False)

    def each_weight(self) -> np.ndarray:
        """The weights, 1 if there are none."""
        weight = self.weight
        return np.ones(self.n_rows) if weight is None else weight

    @property
    def total(self) -> float:
        weight = self.weight
        return float(self.n_rows if weight is None else weight.sum())

    def fitted(self, fold: int | None) -> BinnedBlock | None:
        """The rows that the fit of this fold is made of; None if there are none."""
        if fold is None or self.fold is None:
            return self
        return self.taken(self.fold != fold)

    def held_out(self, fold: int | None) -> BinnedBlock | None:
        """The rows that it holds out; None if there are none."""
        if fold is None or self.fold is None:
            return None
        return self.taken(self.fold == fold)

    def taken(self, chosen: np.ndarray) -> BinnedBlock | None:
        """Some rows, with the codes of all; None if there are none. O(n)."""
        rows = np.flatnonzero(chosen).astype(np.int32)
        return self.part(rows) if len(rows) else None

    def part(self, rows: np.ndarray) -> BinnedBlock:
        """The rows of these numbers, int32, with the codes of all. O(n)."""
        weights = None if self.weights is None else self.weights.take(rows)
        targets = self.targets.take(rows)
        places = rows if self.rows is None else self.rows.take(rows)
        given = self.codes, targets, weights, self.kinds, self.number, self.first
        return BinnedBlock(*given, rows=places)

    def drawn(self, draw: Draw | None) -> np.ndarray | None:
        """The rows that are drawn, int32; None for all."""
        if draw is None:
            return None
        numbers: Any = range(self.first, self.first + self.n_rows)
        if self.rows is not None:
            numbers = self.rows + np.int64(self.first)
        return np.flatnonzero(draw.of(numbers)).astype(np.int32)


class ScoreMove(NamedTuple):
    """The trees of a round as steps of the length `step`, by the values of their nodes.

    `splits` are all splits of each tree, parents first.
    """

    values: list[np.ndarray]
    step: float
    splits: list[list[Split]]


class Kept(NamedTuple):
    """Scores after the first `n_moves` moves, and the nodes after the first `n_splits` splits.

    `u` has the shape (n,) or (n, K); `nodes` are those of the rows in the K trees after these
    moves.
    """

    n_moves: int
    u: np.ndarray
    n_splits: tuple[int, ...]
    nodes: list[np.ndarray]


class KeptScores:
    """A memo of the scores of some rows: 9 bytes a row for each of K trees of at most 255 nodes.

    What it returns depends on its arguments alone, however old the memo is. It is replaced by one
    assignment, and the arrays in it never change: another thread may write it to disk meanwhile.
    """

    def __init__(self, n_rows: int, start: Any, n_scores: int) -> None:
        self.start, self.n_scores = start, n_scores
        self.kept = self._first(n_rows)

    def _first(self, n_rows: int) -> Kept:
        u = first_scores(n_rows, self.start, self.n_scores)
        return Kept(0, u, *self._roots(n_rows))

    def _roots(self, n_rows: int) -> tuple[tuple[int, ...], list[np.ndarray]]:
        # As arrays of their own, which Dask counts when the memo is made.
        nodes = [np.zeros(n_rows, np.uint8) for _ in range(self.n_scores)]
        return (0,) * self.n_scores, nodes

    def __sizeof__(self) -> int:
        """The bytes of the arrays, by which Dask decides what to write to disk."""
        kept = self.kept
        return object.__sizeof__(self) + kept.u.nbytes + sum(nodes.nbytes for nodes in kept.nodes)

    def scores(self, moves: Sequence[ScoreMove], data: BinnedBlock) -> np.ndarray:
        """The scores of the rows of `data` after all moves. O(n) for each that is new."""
        kept = self.kept
        if kept.n_moves > len(moves):
            kept = self._first(data.n_rows)
        for move in moves[kept.n_moves :]:
            u = kept.u.copy()
            nodes = self._followed(kept, move.splits, data).nodes
            LeafOutputs(move.values, nodes, u.shape).add_to(u, move.step)
            kept = Kept(kept.n_moves + 1, u, *self._roots(len(u)))
        self.kept = kept
        return kept.u

    def nodes(
        self, moves: Sequence[ScoreMove], splits: list[list[Split]], data: BinnedBlock
    ) -> list[np.ndarray]:
        """The nodes of the rows in the next trees, of which these are the splits so far."""
        self.scores(moves, data)
        self.kept = self._followed(self.kept, splits, data)
        return self.kept.nodes

    def _followed(self, kept: Kept, splits: list[list[Split]], data: BinnedBlock) -> Kept:
        n_splits, nodes = kept.n_splits, kept.nodes
        if any(n > len(own) for n, own in zip(n_splits, splits)):
            n_splits, nodes = self._roots(len(kept.u))
        found = [
            after_splits(data.codes, node, own[n:], data.rows) if len(own) > n else node
            for n, node, own in zip(n_splits, nodes, splits)
        ]
        return kept._replace(n_splits=tuple(map(len, splits)), nodes=found)


class RowsOfFit(NamedTuple):
    """The rows of a block that a question is asked of, with the moves of all rounds before."""

    data: BinnedBlock
    kept: KeptScores
    moves: list[ScoreMove]

    @property
    def u(self) -> np.ndarray:
        return self.kept.scores(self.moves, self.data)

    def nodes(self, splits: list[list[Split]]) -> list[np.ndarray]:
        return self.kept.nodes(self.moves, splits, self.data)

    def drawn(
        self, draw: Draw | None, splits: list[list[Split]]
    ) -> tuple[BinnedBlock, np.ndarray, list[np.ndarray]] | None:
        """The rows that are drawn, with their scores and nodes; None if there are none."""
        u, nodes, rows = self.u, self.nodes(splits), self.data.drawn(draw)
        if rows is None:
            return self.data, u, nodes
        if not len(rows):
            return None
        return self.data.part(rows), u.take(rows, axis=0), [node.take(rows) for node in nodes]


@dataclass
class Parts:
    """Sums for several trees or fits; None for those that asked nothing, or have no rows."""

    parts: list[Any]

    def __add__(self, other: Parts) -> Parts:
        return Parts([added(pair) for pair in zip(self.parts, other.parts, strict=True)])


@dataclass
class OfBlocks:
    """Sums over single blocks, by their numbers.

    They are rounded, so that their total depends on the order in which they are added: always the
    same one, wherever the blocks are.
    """

    parts: dict[int, Any]

    def __add__(self, other: OfBlocks) -> OfBlocks:
        return OfBlocks(self.parts | other.parts)

    def total(self, n_blocks: int) -> Any:
        """The sum over `n_blocks` blocks, of which some may have no rows."""
        return in_tree_order(self.parts, n_blocks)


@dataclass
class RoundStart:
    """The sums at the start of a round.

    `sizes` are arrays (3 + K,) of `losses_of` and of the weighted sizes of the targets; `replies`
    are what the trees asked of their roots; of no tree where the units were not known.
    """

    sizes: OfBlocks
    replies: Parts

    def __add__(self, other: RoundStart) -> RoundStart:
        return RoundStart(self.sizes + other.sizes, self.replies + other.replies)


def binned_block(
    block: Rows,
    columns: BinnedColumns,
    as_signs: bool,
    n_splits: int = 0,
    held_out: Draw | None = None,
    n_before: int = 0,
) -> BinnedBlock:
    """The codes of the rows, and targets -1 and +1 where there are two classes. O(n p).

    Blocks of validation rows, all of which are held out, come after `n_before` others.
    """
    y = signs(block.y) if as_signs else block.y
    codes = columns.coded(block.X).codes
    fold = None
    if n_splits:
        fold = folds_by_hash(block.numbers, n_splits)
        fold = fold.astype(np.min_scalar_type(n_splits))
    elif held_out is not None:
        fold = (~held_out.of(block.numbers)).astype(np.uint8)
    elif n_before:
        fold = np.zeros(len(y), np.uint8)
    weights = None if block.weight is None else in_few_bytes(block.weight)
    kinds = y.dtype, np.dtype(float) if block.weight is None else block.weight.dtype
    first, number = int(block.numbers[0]), n_before + block.block
    return BinnedBlock(codes, in_few_bytes(y), weights, kinds, number, first, fold)


def signs(number: np.ndarray) -> np.ndarray:
    """-1 and +1 for the numbers of two classes."""
    return 2.0 * number - 1.0


def first_scores(n: int, start, n_scores: int) -> np.ndarray:
    shape = (n,) if n_scores == 1 else (n, n_scores)
    return np.broadcast_to(np.asarray(start, dtype=np.float64), shape).copy()


class TreeTask(NamedTuple):
    """What the trees of a round are fitted to: negative gradients, or Newton steps with `means`.

    These are the means over all rows of the second derivatives and of the sizes of the first ones.
    `draw` says which rows are fitted.
    """

    loss: Loss
    draw: Draw | None = None
    means: tuple[float, float] | None = None

    def targets_of(self, data: BinnedBlock, u: np.ndarray) -> list[RowTargets]:
        """The targets and the weights of each tree, which are computed where they are needed.

        Of losses with compiled loops; O(n) otherwise.
        """
        loops = compiled_loss(self.loss)
        if self.means is None and u.ndim == 1 and loops is not None and not loops.takes_codes:
            return [RowTargets(loops.loops, data.targets, u, None, data.weights)]
        _, target, weights = self.of(data, u)
        return [given_targets(*each) for each in zip(target, weights)]

    def of(
        self, data: BinnedBlock, u: np.ndarray
    ) -> tuple[float, np.ndarray, list[np.ndarray | None]]:
        """The mean loss, the targets as an array (K, n), and the weights for each tree. O(n)."""
        if self.means is None:
            found = EmpiricalRisk(self.loss, data.y, data.weight).at(u)
            weights = [data.weight] * (1 if u.ndim == 1 else u.shape[1])
        else:
            risk = SecondOrderRisk(self.loss, data.y, data.weight)
            risk.means = self.means
            found = risk.at(u)
            weights = [found.weight] if u.ndim == 1 else list(found.weight.T)
        target = np.ascontiguousarray(found.target.T.reshape(-1, len(u)))
        return found.value, target, weights


def start_round(
    rows: RowsOfFit,
    task: TreeTask,
    watched: Draw | None,
    units: GridUnits | None,
    requests: list[TreeRequest],
) -> RoundStart:
    """The sizes of the negative gradients, and answers to requests if units are known. O(n p).

    Of rows that are drawn the losses of those `watched` are summed, too.
    """
    data = rows.data
    value, target, weights = task.of(data, rows.u)
    size = np.abs(target)
    weight = data.weight
    sizes = size.sum(axis=1) if weight is None else size @ weight
    replies = Parts([])
    if units is not None:
        chosen, own, nodes = data.drawn(task.draw), data, rows.nodes([[] for _ in requests])
        if chosen is not None:
            own, target = data.part(chosen), np.ascontiguousarray(target[:, chosen])
            weights, nodes = [own.weight] * len(nodes), [node.take(chosen) for node in nodes]
        replies = Parts([None] * len(requests))
        if own.n_rows:
            targets = [given_targets(*each) for each in zip(target, weights)]
            replies = replies_of_trees(own, targets, nodes, units, requests)
    sizes = np.concatenate([losses_of(rows, task.loss, watched, value), sizes])
    return RoundStart(OfBlocks({data.number: sizes}), replies)


def losses_of(
    rows: RowsOfFit, loss: Loss, watched: Draw | None, mean: float | None = None
) -> np.ndarray:
    """Sums of the weighted losses of all rows, of those drawn, and of the weights of these."""
    data, u = rows.data, rows.u
    if mean is None:
        mean = EmpiricalRisk(loss, data.y, data.weight).value(u)
    sums, chosen = np.array([mean * data.total, 0.0, 0.0]), data.drawn(watched)
    if chosen is not None and len(chosen):
        part = data.part(chosen)
        value = EmpiricalRisk(loss, part.y, part.weight).value(u.take(chosen, axis=0))
        sums[1:] = value * part.total, part.total
    return sums


def curvatures_of_block(rows: RowsOfFit, loss: Loss, watched: Draw | None) -> OfBlocks:
    """Sums of the losses, and for each score of the sizes of both derivatives. O(n)."""
    data, u = rows.data, rows.u
    value, first, second = SecondOrderRisk(loss, data.y, data.weight).derivatives(u)
    weight, shape = data.each_weight(), (len(u), -1)
    sums = [weight @ each.reshape(shape) for each in (np.abs(first), second)]
    return OfBlocks({data.number: np.concatenate([losses_of(rows, loss, watched, value), *sums])})


def grow_on_block(
    rows: RowsOfFit,
    task: TreeTask,
    units: GridUnits,
    requests: list[TreeRequest | None],
    splits: list[list[Split]],
) -> Parts:
    """Answer the requests of the trees of the round; O(n p) for each.

    `splits` are all splits so far, with those of the requests.
    """
    seen = rows.drawn(task.draw, splits)
    if seen is None:
        return Parts([None] * len(requests))
    data, u, nodes = seen
    replies = replies_of_trees(data, task.targets_of(data, u), nodes, units, requests)
    for k, request in enumerate(requests):
        if request is not None and request.ranged:
            target = task.of(data, u)[1][k]
            replies.parts[k].ranges = ranges_of_nodes(target, nodes[k], request.ranged)
    return replies


def replies_of_trees(
    data: BinnedBlock,
    targets: list[RowTargets],
    nodes: list[np.ndarray],
    units: GridUnits,
    requests: Sequence[TreeRequest | None],
) -> Parts:
    """The sums for the rows of `data`, whose nodes have followed the splits. O(n p) a tree."""
    replies: list[TreeReply | None] = []
    for k, (request, own, node) in enumerate(zip(requests, targets, nodes)):
        reply = None
        if request is not None:
            given = own, node, request.counted, k, units, data.rows
            reply = TreeReply(counted_nodes(data.codes, *given), np.empty((0, 2)))
        replies.append(reply)
    return Parts(replies)


def leaf_tables(
    rows: RowsOfFit,
    task: TreeTask,
    splits: list[list[Split]],
    n_nodes: list[int],
    with_terms: bool,
) -> Parts:
    """Sums over the leaves of each tree, `OfBlocks`. O(n).

    The columns of a table are the sums of weights, of targets and of their squares and,
    `with_terms`, those of the loss's `leaf_terms` and again of the weights.
    """
    seen = rows.drawn(task.draw, splits)
    if seen is None:
        return Parts([None] * len(splits))
    data, u, nodes = seen
    risk, values = None, None
    if with_terms:
        risk = EmpiricalRisk(task.loss, data.y, data.weight)
        _, values, weights = task.of(data, u)
        targets = [given_targets(*each) for each in zip(values, weights)]
    else:
        targets = task.targets_of(data, u)
    tables = []
    for k, (target, leaf, size) in enumerate(zip(targets, nodes, n_nodes)):
        moments = np.empty((size, 3))
        target.sum_leaves(leaf, moments)
        columns = [moments]
        if risk is not None and values is not None:
            score = None if u.ndim == 1 else k
            columns.append(data.total * risk.leaf_sums(u, values[k], leaf, size, score))
        tables.append(OfBlocks({data.number: np.column_stack(columns)}))
    return Parts(tables)


def loss_of_block(rows: RowsOfFit, loss: Loss, watched: Draw | None = None) -> OfBlocks:
    """`losses_of` the block."""
    return OfBlocks({rows.data.number: losses_of(rows, loss, watched)})


def deviance_of_block(rows: RowsOfFit, loss: Loss, constant: Any, of_classes: bool) -> OfBlocks:
    """How much the losses at constant scores sum up to, beyond those of the best scores."""
    data = rows.data
    risk = EmpiricalRisk(loss, data.y, data.weight)
    found = risk.value(
        first_scores(data.n_rows, constant, 1 if rows.u.ndim == 1 else len(constant))
    )
    if not (of_classes or is_of_the_user(loss)):
        found -= risk.value(loss.scores_from(data.y))
    return OfBlocks({data.number: np.array([found, 1.0]) * data.total})


def falls_of_block(
    rows: RowsOfFit, task: TreeTask, splits: list[list[Split]], steps: list[np.ndarray], unit: float
) -> OfBlocks | None:
    """`leaf_falls` of all trees, side by side, for weights in this unit."""
    seen = rows.drawn(task.draw, splits)
    if seen is None:
        return None
    data, u, nodes = seen
    y, weight = data.y, data.each_weight() / unit
    falls = [
        leaf_falls(task.loss, y, u, weight, leaf, own, k if u.ndim == 2 else None)
        for k, (leaf, own) in enumerate(zip(nodes, steps))
    ]
    return OfBlocks({data.number: np.concatenate(falls, axis=1)})


def slopes_of_block(
    rows: RowsOfFit, task: TreeTask, splits: list[list[Split]], steps: list[np.ndarray], unit: float
) -> OfBlocks | None:
    """The derivatives of the losses of the leaves of all trees along their steps, side by side."""
    seen = rows.drawn(task.draw, splits)
    if seen is None:
        return None
    data, scores, nodes = seen
    y, weight = data.y, data.each_weight() / unit
    slopes = []
    for k, (leaf, own) in enumerate(zip(nodes, steps)):
        column = ... if scores.ndim == 1 else np.s_[:, k]
        u = scores.copy()
        u[column] += own.take(leaf)
        slopes.append(group_totals(weight, leaf, len(own))(task.loss.gradient(y, u)[column]))
    return OfBlocks({data.number: np.concatenate(slopes)})


@dataclass
class JumpSums(SummedFields):
    """What the kinks of a block's losses add to the derivatives of the losses of leaves.

    `starts` (leaves, 2) are the derivatives left of all kinks, and the numbers of kinks; `cells`
    (leaves, 2, 2^`CELL_BITS`) the jumps in the cells that a search looks at from both sides.
    """

    starts: np.ndarray
    cells: np.ndarray


def jumps_of_block(
    rows: RowsOfFit, task: TreeTask, splits: list[Split], known: np.ndarray, shift: int, bits: int
) -> JumpSums | None:
    """The jumps of the derivatives of the losses of leaves, by the next `bits` of their places.

    A place is that of the kink as a step from the score, as a number that `ordered` makes of it;
    its bits above are `known` (leaves, 2). O(n).
    """
    seen = rows.drawn(task.draw, [splits])
    if seen is None:
        return None
    data, u, (node,) = seen
    loss: Any = task.loss
    n_leaves, leaf, weight = len(known), node.astype(np.intp), data.each_weight()
    at, left, right = loss.kinks(data.y)
    place = ordered(at - u) >> np.uint64(shift)
    above, cell = place >> np.uint64(bits), place & np.uint64(2**bits - 1)
    cell = (leaf << CELL_BITS) + cell.astype(np.intp)
    jump, cells = weight * (right - left), np.empty((n_leaves, 2, 2**CELL_BITS))
    for side in range(2):
        seen = np.flatnonzero(above == known[:, side].take(leaf))
        sums = np.bincount(cell[seen], jump[seen], n_leaves << CELL_BITS)
        cells[:, side] = sums.reshape(n_leaves, -1)
    starts = [np.bincount(leaf, each, n_leaves) for each in (weight * left, None)]
    return JumpSums(np.column_stack(starts), cells)


def ordered(x: np.ndarray) -> np.ndarray:
    """Integers in the order of the numbers."""
    bits = (x + 0.0).view(np.uint64)  # without -0
    top = np.uint64(2**63)
    return np.where(bits < top, bits | top, ~bits)


def from_ordered(places: np.ndarray) -> np.ndarray:
    """The numbers of which `ordered` has made these."""
    top = np.uint64(2**63)
    return np.where(places < top, ~places, places ^ top).view(np.float64)


# --- several fits on one block of rows ------------------------------------------------------------


class FitScores(NamedTuple):
    """The scores of one fit, of rows that are fitted and `held_out`; None for none."""

    fitted: KeptScores | None
    held_out: KeptScores | None


class Question(NamedTuple):
    """What a fit asks of its rows: the sum of ``function(rows, *args)`` over the blocks.

    With `follows` the losses of the rows that are held out are summed, too. `of_held_out` asks
    these rows, and not those that are fitted.
    """

    function: Callable[..., Any]
    args: tuple[Any, ...]
    follows: Loss | None = None
    of_held_out: bool = False


class AskedOfFit(NamedTuple):
    """A question of the fit of a fold, with its latest moves; `fold` is None without folds."""

    question: Question
    fold: int | None
    latest: list[ScoreMove]


def first_states(
    data: BinnedBlock, folds: list[int | None], starts: list[Any], n_scores: int
) -> list[FitScores]:
    """The scores of all fits before their first round."""
    states = []
    for fold, start in zip(folds, starts):
        parts = data.fitted(fold), data.held_out(fold)
        states.append(
            FitScores(
                *(None if own is None else KeptScores(own.n_rows, start, n_scores) for own in parts)
            )
        )
    return states


def answers_of_block(
    data: BinnedBlock,
    states: list[FitScores],
    earlier: list[list[ScoreMove]],
    asked: list[AskedOfFit | None],
) -> Parts:
    """For each fit, the sums over its rows and over those that it holds out.

    `earlier` are the moves of each fit before its latest ones.
    """
    answers = Parts([None] * len(states))
    for k, one in enumerate(asked):
        if one is None:
            continue
        question, value, score = one.question, None, None
        moves = [*earlier[k], *one.latest]
        own, kept = data.fitted(one.fold), states[k].fitted
        if question.of_held_out:
            own, kept = data.held_out(one.fold), states[k].held_out
        if own is not None and kept is not None:
            value = question.function(RowsOfFit(own, kept, moves), *question.args)
        if question.follows is not None:
            others, kept = data.held_out(one.fold), states[k].held_out
            if others is not None and kept is not None:
                score = loss_of_block(RowsOfFit(others, kept, moves), question.follows)
        answers.parts[k] = Parts([value, score])
    return answers


def targets_of_folds(data: BinnedBlock, n_splits: int, classifies: bool) -> OfBlocks:
    """Parts with the summary of the targets that each fit holds out."""
    held = []
    for k in range(n_splits):
        own = data.held_out(k)
        held.append(None if own is None else TargetSummary.of(own.y, own.weight, classifies))
    return OfBlocks({data.number: Parts(held)})


def risks_of_block(block: Rows, model: AdditiveModel, as_signs: bool) -> OfBlocks:
    """The sums of the weighted losses after each round of a model. O(n) a round."""
    rows = replace(block, y=signs(block.y)) if as_signs else block
    total = len(rows) if rows.weight is None else rows.weight.sum()
    return OfBlocks({block.block: total * np.array(risks_of_rounds(model, rows))})


# --- fits -----------------------------------------------------------------------------------------

Questions = Generator[Question, Parts, Any]
Report = Callable[[int, float, tuple[float, float] | None], bool]


@dataclass
class EarlierRounds:
    """Rounds of an earlier fit, as its model and as moves in bins.

    `last_round` are the units of its last sums and the best constant, by which the next rounds are
    what they would have been; None of a fit in memory.
    """

    model: AdditiveModel
    moves: list[ScoreMove]
    last_round: tuple[GridUnits | None, Any] | None

    @classmethod
    def of(
        cls, model: AdditiveModel, columns: BinnedColumns, last_round: Any = None
    ) -> EarlierRounds:
        moves = []
        for members, step in zip(model.members, model.steps):
            trees = [nodes_of(member) for member in members]
            values = [tree.value[:, 0] for tree in trees]
            moves.append(ScoreMove(values, step, [splits_in_bins(tree, columns) for tree in trees]))
        return cls(model, moves, last_round)


def splits_in_bins(tree: Nodes, columns: BinnedColumns) -> list[Split]:
    """The splits of a tree that was grown in these bins; a ValueError for other ones."""
    found: list[Split] = []
    sets = iter([] if tree.sets is None else np.unpackbits(tree.sets, axis=1, bitorder="little"))
    for i in np.flatnonzero(tree.left != LEAF).tolist():
        feature, threshold = int(tree.feature[i]), float(tree.threshold[i])
        edges = columns.edges[feature]
        code: int | np.ndarray
        if np.isnan(threshold):
            code = next(sets).astype(bool)
        else:
            code = -1 if threshold == -np.inf else int(np.searchsorted(edges, threshold))
            if np.isfinite(threshold) and threshold not in edges[code : code + 1]:
                raise ValueError(
                    "warm_start=True: these rows have other bins than those of the previous fit. "
                    "Go on with the same rows, in any chunks of which none has more than 32,768 "
                    "rows, or otherwise in the same chunks."
                )
        missing_left = bool(tree.missing_left[i])
        found.append((i, feature, code, missing_left, int(tree.left[i]), int(tree.right[i])))
    return found


class BlockBoosting:
    """The rounds of one fit to rows with these `targets`.

    `held_weight` is that of the rows that are held out, and `path` their risks after 0, 1, ...
    rounds. `unit` is that of the tolerance of early stopping.
    """

    unit = 1.0
    out_before: float  # the first risk of the rows that are not drawn

    def __init__(
        self,
        plan: Plan,
        problem: BlockProblem,
        targets: TargetSummary,
        rng: np.random.RandomState,
        held_weight: float = 0.0,
    ) -> None:
        self.plan, self.loss, self.columns, self.targets = (
            plan,
            problem.loss,
            problem.columns,
            targets,
        )
        learner, loss, columns = problem.learner, problem.loss, problem.columns
        n_rows, share = targets.n_rows, plan.subsample
        n_drawn = n_rows if share == 1 else max(1, int(share * n_rows))
        if plan.default_trees and share < 1:
            learner = with_shares_of(learner, n_rows)
        self.pattern = clone(learner)
        self.shape = TreeShape(n_drawn, targets.weight * n_drawn / n_rows, columns.n_features, 0)
        growth = TreePlan.of(learner, columns.n_features)
        options = growth.options(self.shape, columns.any_missing, columns.categorical)
        self.options = monotonic_after_growth(options, n_drawn)
        self.n_blocks, self.rng, self.held_weight = problem.n_blocks, rng, held_weight
        self.ties = np.random.RandomState(0)
        n_classes = problem.n_classes
        n_scores = loss.n_scores(n_classes)
        self.is_newton = is_second_order(loss, plan, n_scores)
        # Leaf means are the optimal values of the squared loss.
        reoptimises = plan.step.reoptimize_leaves and not loss.is_quadratic
        self.reoptimises = reoptimises and not self.is_newton
        self.has_quantiles = has_quantiles(loss)
        self.bits = sum_bits(targets.n_rows)
        self.units: GridUnits | None = None
        # The best constant scores; a quantile is asked of the rows before the first round.
        self.asks_constant = self.has_quantiles and not n_classes
        self.constant = self.best_constant(n_classes)
        y = targets.examples(n_classes)
        start = self.constant if plan.init is None else plan.init
        first = 0.0 if isinstance(start, str) else start
        check_derivatives(loss, y, first_scores(len(y), first, n_scores))
        self.fitted = AdditiveModel(loss, start, n_scores, bool(n_classes))
        self.path: list[float] = []
        self.moves: list[ScoreMove] = []
        self.splits: list[list[Split]] = []  # of the trees of this round

    def go_on_from(self, earlier: EarlierRounds) -> None:
        self.fitted, self.moves = earlier.model, earlier.moves
        if earlier.last_round is not None:
            self.units, self.constant = earlier.last_round

    def best_constant(self, n_classes: int) -> Any:
        """The constant scores of the least risk, where sums tell them."""
        targets, loss = self.targets, self.loss
        y = targets.examples(n_classes)
        loss.check_target(y)
        if loss.n_scores(n_classes) == 1:
            check_derivatives(loss, y)
        if n_classes:
            return loss.initial_scores(y, targets.label_weights, n_classes)
        if loss.constant_of_mean:
            return loss.initial_scores(np.array([targets.mean]), None, 0)
        if self.plan.patience is not None and not self.asks_constant:
            raise ValueError(
                f"n_iter_no_change={self.plan.patience!r} with a loss whose best constant is no "
                "function of the mean of y needs all rows in memory; with Dask collections leave "
                "it at its default."
            )
        return 0.0

    def rounds(self, n_rounds: int, report: Report | None = None) -> Questions:
        """Rounds that are added to the model, with the path.

        `report` is given the number of rounds so far and their risks, and says whether to stop.
        """
        plan, draw, first = self.plan, None, len(self.fitted.members)
        if self.asks_constant and first == 0:
            start = yield from self.quantiles(TreeTask(self.loss), [], 1)
            self.constant = float(start[0])
            if plan.init is None:
                self.fitted.init = self.constant
                self.moves.append(ScoreMove([start], 1.0, [[]]))
        if report and plan.patience is not None:
            args, of_held_out = (self.constant, self.fitted.of_classes), self.held_weight > 0
            question = Question(deviance_of_block, (self.loss, *args), of_held_out=of_held_out)
            total, weight = yield from self.summed(question)
            self.unit = self.loss.deviance_factor * abs(float(total / weight))
        for t in range(first, n_rounds):
            last, draw = draw, None
            if plan.subsample < 1:
                draw = Draw(int(self.rng.randint(SEEDS)), plan.subsample)
            # The risks after a round are known with the first sums of the next one.
            watched = last if t > first else draw
            replies, losses = yield from self.started(draw, watched if report else None)
            if report and report(t, *self.risks(losses, watched)):
                return
            members, values = yield from self.grown(replies)
            rate = self.plan.learning_rate
            step = float(rate(t) if callable(rate) else rate)
            self.moves.append(ScoreMove(values, step, self.splits))
            self.fitted.members.append(members)
            self.fitted.steps.append(step)
        question = Question(loss_of_block, (self.loss, draw if report else None), self.loss)
        losses = yield from self.summed(question)
        if report:
            report(n_rounds, *self.risks(losses, draw))

    def risks(
        self, losses: np.ndarray, draw: Draw | None
    ) -> tuple[float, tuple[float, float] | None]:
        """The risk by `losses_of`, and those of the rows that are drawn and of the others."""
        total, inside, weight = losses
        risk, others = float(total / self.targets.weight), self.targets.weight - weight
        if draw is None:
            return risk, None
        known = weight > 0, others > 1e-12 * self.targets.weight  # beyond rounding
        found = inside / weight if known[0] else np.nan, np.nan
        if known[1]:
            found = found[0], (total - inside) / others
        return risk, (float(found[0]), float(found[1]))

    def summed(self, question: Question) -> Questions:
        """The total of what is `OfBlocks`."""
        found = yield from self.asked(question)
        return found.total(self.n_blocks)

    def asked(self, question: Question) -> Questions:
        """The sum over the rows that are fitted; that over the others goes to the path."""
        value, score = (yield question).parts
        if score is not None:
            self.path.append(float(score.total(self.n_blocks)[0] / self.held_weight))
        return value

    def started(self, draw: Draw | None, watched: Draw | None) -> Questions:
        """The start of a round: the sums of the roots, and `losses_of` the rows.

        The units of the integers are those of the round before, if they fit: the roots are then
        counted in the pass that finds the targets, and otherwise in one more.
        """
        columns, targets, expected = self.columns, self.targets, self.units
        roots = [ROOT] * self.fitted.n_scores
        self.splits = [[] for _ in roots]
        self.task, totals = TreeTask(self.loss, draw), [targets.weight] * len(roots)
        if self.is_newton:
            expected = None
            question = Question(curvatures_of_block, (self.loss, watched), self.loss)
            sums = yield from self.summed(question)
            losses, sizes, totals = np.split(sums, [3, 3 + len(roots)])
            n = targets.weight * len(roots)
            means = float(totals.sum() / n), float(sizes.sum() / n)
            self.task = TreeTask(self.loss, draw, means)
            totals = largest_totals(totals, sizes, means, targets.weight)
        else:
            args = self.task, watched, expected, roots
            found = yield from self.asked(Question(start_round, args, self.loss))
            losses, sizes = np.split(found.sizes.total(self.n_blocks), [3])
            replies = found.replies
        exact = [self.exponent(size) for size in sizes]
        if expected is None or not all(
            e - SPARE_BITS <= given <= e for e, given in zip(exact, expected.targets)
        ):
            weights, whole = None, targets.whole and targets.weight <= MOST_WHOLE
            whole &= not self.is_newton
            if targets.weighted or self.is_newton:
                weights = tuple(0 if whole else self.exponent(total) for total in totals)
            bins = columns.most_bins, columns.any_missing
            self.units = GridUnits(tuple(exact), weights, whole, *bins)
            question = Question(grow_on_block, (self.task, self.units, roots, self.splits))
            replies = yield from self.asked(question)
        self.mean_sizes = [float(size / total) for size, total in zip(sizes, totals)]
        self.sizes = sizes
        if None in replies.parts:
            raise ValueError(
                f"subsample={self.plan.subsample!r} draws none of {targets.n_rows} rows in a "
                "round; increase it."
            )
        return replies.parts, losses

    def exponent(self, size: float) -> int:
        """The k for which size * 2^k is just below 2^bits."""
        if not 0 < size < np.inf:
            return 0
        return int(np.clip(self.bits - np.frexp(size)[1], -1000, 1000))

    def grown(self, replies: list[Any]) -> Questions:
        """The trees of a round: fitted members, and the values of the nodes of the blocks."""
        units, weight = self.units, self.targets.weight
        assert units is not None  # see `started`
        seeds = [int(self.rng.randint(np.iinfo(np.int32).max)) for _ in replies]
        growths = []
        for k, (seed, reply) in enumerate(zip(seeds, replies)):
            # Always the first of equally good features would make the trees alike.
            self.ties.seed(seed)
            order = np.argsort(self.ties.permutation(self.shape.n_features))
            targets = Grid(units.targets[k], self.mean_sizes[k])
            exponent = None if units.weights is None else units.weights[k]
            options = self.options
            if self.is_newton:  # a share of weights that change with the round
                assert exponent is not None
                total = float(reply.sums[0, -1, 0].sum()) * 2.0**-exponent
                least = max(LEAST_CURVATURE, self.pattern.min_weight_fraction_leaf * total)
                options = replace(options, min_weight_leaf=least)
            if options.max_features:  # as a tree with this `random_state` draws and orders them
                seed = int(seeded(seed).randint(0, MAX_SEED))
                order = np.arange(self.shape.n_features)
            growths.append(HistogramGrowth(self.columns, options, order, targets, exponent, seed))
        # The trees of a round grow together: each asks for the sums of its next nodes, and one
        # pass over the rows answers all of them.
        waiting = [growth.requests() for growth in growths]
        for generator in waiting:
            next(generator)  # the root, which has been counted
        requests = _answered(waiting, replies)
        while any(request is not None for request in requests):
            self._note(requests)
            args = self.task, units, requests, self.splits
            found = yield from self.asked(Question(grow_on_block, args))
            requests = _answered(waiting, found.parts)
        self._note([growth.request() for growth in growths])
        sizes = [growth.n_places for growth in growths]
        of_sums = self.reoptimises and not self.has_quantiles
        args = self.task, self.splits, sizes, of_sums
        found = yield from self.asked(Question(leaf_tables, args))
        tables = [of_blocks.total(self.n_blocks) for of_blocks in found.parts]
        trees = [growth.tree(table[:, :3]) for growth, table in zip(growths, tables)]
        grown = [tree.value[:, 0].take(number) for tree, number in trees]
        steps = grown
        if self.reoptimises and self.has_quantiles:
            steps = [(yield from self.quantiles(self.task, self.splits[0], sizes[0]))]
        elif self.reoptimises:
            steps = yield from self.steps_of_sums([table[:, 3:].T / weight for table in tables])
        elif self.is_newton:
            first = np.concatenate([table[:, 1] for table in tables]) / weight
            is_flat = self.task.means is not None and self.task.means[0] < SMALLEST_CURVATURE
            is_leaf = [(table[:, 0] > 0) & (not is_flat) for table in tables]
            tried = [np.where(seen, own, 0.0) for seen, own in zip(is_leaf, grown)]
            found = yield from self.lowering(tried, first, is_whole=False)
            pairs = zip(found, tried, grown)
            steps = [np.where(one == own, known, one) for one, own, known in pairs]
        members, values = [], []
        for (tree, number), seed, own, known in zip(trees, seeds, steps, grown):
            if self.reoptimises or self.is_newton or not self.options.bounded:
                seen, n_nodes = number != LEAF, len(tree.value)
                proposed, is_final = np.empty(n_nodes), np.empty(n_nodes, dtype=bool)
                proposed[number[seen]] = own[seen]
                is_final[number[seen]] = ((own == known) & (not self.reoptimises))[seen]
                set_leaf_values(tree, proposed, self.options, is_final)
            members.append(tree_member(self.pattern, tree, self.shape, seed))
            values.append(tree.value[:, 0].take(number))
        # One bit is left for sums that are larger in the next round.
        self.units = units._replace(targets=tuple(self.exponent(size) - 1 for size in self.sizes))
        return members, values

    def _note(self, requests: Sequence[TreeRequest | None]) -> None:
        """Add the splits of the requests to those of their trees."""
        for own, request in zip(self.splits, requests):
            if request is not None:
                own += request.splits

    def steps_of_sums(self, sums: list[np.ndarray]) -> Questions:
        """The steps of the leaves of each tree, from sums of `leaf_terms` and of weights."""
        steps = [self.loss.leaf_steps(*own) for own in sums]
        if type(self.loss).leaf_steps is not Loss.leaf_steps:  # exact
            return steps
        share = self.loss.newton_share(np.empty((0, len(steps))))  # which is a factor of `first`
        first = np.concatenate([own[0] for own in sums]) / share
        return (yield from self.lowering(steps, first, share))

    def lowering(
        self, steps: list[np.ndarray], first: np.ndarray, share: float = 1.0, is_whole: bool = True
    ) -> Questions:
        """What `lowering_steps` makes of the steps of the leaves of each tree.

        `first` are the sums of negative gradients of all trees, side by side.
        """
        loss: Any = self.loss
        ends = np.cumsum([len(own) for own in steps])[:-1]
        rate = share_taken(self.plan.learning_rate, len(steps))
        found = np.concatenate(steps)
        # A power of 2, by which no bit changes: huge losses times huge weights would overflow.
        unit = 2.0 ** int(np.frexp(self.targets.weight)[1])
        asked = may_rise(loss, found, first, rate)
        if not asked.any():
            return steps

        def summed(function, moves: np.ndarray) -> Questions:
            parts = np.split(np.where(asked, moves, 0.0), ends)
            given = self.task, self.splits, parts, unit
            total = yield from self.summed(Question(function, given))
            return np.where(asked, total / (self.targets.weight / unit), 0.0)

        falls = yield from summed(falls_of_block, steps_to_try(loss, found, rate))
        wrong = asked & is_wrong(loss, found, first, falls, is_whole, share)
        if safe_length(loss, rate) > 0:
            return np.split(np.where(wrong, bounded_steps(found), found), ends)
        if is_whole:
            longer = longer_steps(found, first, falls[0], share)
            asked &= longer != found
            if asked.any():
                more = yield from summed(falls_of_block, longer)
                found = np.where(asked & (more[0] > falls[0]), longer, found)
        asked = wrong
        if asked.any():
            search = root_search(len(found))
            moves: np.ndarray | None = next(search)
            while moves is not None:
                slopes = yield from summed(slopes_of_block, moves)
                try:
                    moves = search.send(slopes)
                except StopIteration as end:
                    moves, found = None, np.where(asked, end.value, found)
        return np.split(found, ends)

    def quantiles(self, task: TreeTask, splits: list[Split], n_leaves: int) -> Questions:
        """The steps of leaves to the minima of piecewise linear losses: `root_of_jumps`.

        The minimum is an interval, whose ends are places of kinks: the first after which the
        derivative is above a bound, below 0 by rounding or beyond it; the last kink, if it never
        is. Each pass finds the next bits of both.
        """
        known, shift, below, bounds = np.zeros((n_leaves, 2), np.uint64), 64, None, None
        while shift:
            bits = min(CELL_BITS, shift)
            shift -= bits
            args = task, splits, known, shift, bits
            found = yield from self.asked(Question(jumps_of_block, args))
            start, n_jumps = found.starts.T
            if below is None:
                below = np.column_stack([start, start])
                total = found.cells[:, 0].sum(axis=1) + np.abs(start)
                tolerance = (1e-12 + 2.3e-16 * n_jumps) * total
                bounds = np.column_stack([-tolerance, tolerance])[:, :, None]
            after = below[:, :, None] + found.cells.cumsum(axis=2)
            is_full = found.cells > 0
            rises = is_full & (after > bounds)
            last = is_full.shape[2] - 1 - is_full[:, :, ::-1].argmax(axis=2)
            cell = np.where(rises.any(axis=2), rises.argmax(axis=2), last)
            before = np.take_along_axis(after, np.maximum(cell - 1, 0)[:, :, None], axis=2)[:, :, 0]
            below = np.where(cell > 0, before, below)
            known = (known << np.uint64(bits)) | cell.astype(np.uint64)
        ends = from_ordered(known)
        return np.where(n_jumps > 0, 0.5 * ends[:, 0] + 0.5 * ends[:, 1], 0.0)


class FitsInLockstep:
    """Fits to the rows of one table, with one pass over the blocks for what all ask next.

    With `by_fold`, fit k holds out the rows of fold k.
    """

    def __init__(
        self,
        fits: Sequence[BlockBoosting],
        data: Blocks,
        n_rounds: int,
        report: Report | None = None,
        by_fold: bool = False,
    ) -> None:
        self.fits, self.data = fits, data
        starts = [fit.fitted.init for fit in fits]
        starts = [0.0 if isinstance(start, str) else start for start in starts]
        self.folds = [k if by_fold else None for k in range(len(fits))]
        self.states = data.map(first_states, self.folds, starts, fits[0].fitted.n_scores)
        self.waiting = [fit.rounds(n_rounds, report) for fit in fits]
        self.questions: list[Question | None] = [next(each) for each in self.waiting]
        self._send_moves()

    def _send_moves(self) -> None:
        """Keep the moves so far where the blocks are, in the place of those that are there."""
        self.n_sent = [len(fit.moves) for fit in self.fits]
        self.earlier = self.data.repeated([list(fit.moves) for fit in self.fits])

    def run(self, goes_on: Callable[[BlockBoosting], bool] = lambda fit: True) -> None:
        """Answer the fits that are to go on, until there are none."""
        while True:
            asked: list[AskedOfFit | None] = [None] * len(self.fits)
            if any(len(fit.moves) - n >= LATEST for fit, n in zip(self.fits, self.n_sent)):
                self._send_moves()
            for k, (fit, question) in enumerate(zip(self.fits, self.questions)):
                if question is not None and goes_on(fit):
                    latest = fit.moves[self.n_sent[k] :]
                    asked[k] = AskedOfFit(question, self.folds[k], latest)
            if asked.count(None) == len(asked):
                return
            found = self.data.sum(answers_of_block, self.states, self.earlier, asked)
            next_ones = _answered(self.waiting, found.parts)
            for k, one in enumerate(asked):
                if one is not None:
                    self.questions[k] = next_ones[k]


def checked_validation(rows: ChunkedRows, problem: BlockProblem) -> tuple[ChunkedRows, float]:
    """Validation rows that are read like those that are fitted, and their weight."""
    encode = None if problem.encoder is None else problem.encoder.encode
    rows, classes = rows.knowing(allow_nan=True, encode=encode), problem.classes
    try:
        found = rows.sum(targets_of_block, classes is not None)
    except (TypeError, ValueError) as error:
        raise reworded(error, f"X_val and y_val: {error}") from error
    if classes is None:
        encoded(np.array([found.low, found.high]), None)
        targets = problem.summary.targets
        check_part(problem.loss, (found + targets).examples(0), "y_val")
    elif len(np.setdiff1d(found.labels, classes)):
        raise ValueError("y_val has classes that are not in y.")
    return rows.knowing(classes=classes), found.weight


def targets_of_block(block: Rows, of_classes: bool) -> TargetSummary:
    return TargetSummary.of(block.y, block.weight, of_classes)


def held_out_fit(
    plan: Plan, problem: BlockProblem, data: Blocks, rng: np.random.RandomState
) -> BlockBoosting:
    """The fit that holds out some rows to decide when to stop."""
    parts = data.sum(targets_of_folds, 2, problem.n_classes > 0).total(problem.n_blocks).parts
    held, targets = parts
    if held is None or targets is None:
        raise ValueError(
            "validation_fraction holds out none of the rows, or all of them: change it, or give "
            "more rows."
        )
    name = "The training data after the early stopping split"
    if len(targets.labels) < problem.n_classes:
        raise ValueError(
            f"{name} is missing some classes. Try using another random seed, or a smaller "
            "validation_fraction."
        )
    check_part(problem.loss, targets.examples(problem.n_classes), name)
    return BlockBoosting(plan, problem, targets, rng, held.weight)


def begun_folds(
    plan: Plan, problem: BlockProblem, data: Blocks, n_splits: int, rng: np.random.RandomState
) -> list[BlockBoosting]:
    """The fits of the folds before their first round."""
    n_classes = problem.n_classes
    held = data.sum(targets_of_folds, n_splits, n_classes > 0).total(problem.n_blocks).parts
    fits = []
    for k, one in enumerate(held):
        others = [other for other in held if other is not None and other is not one]
        if one is None or not others:
            raise ValueError(f"cv={n_splits}: split {k} has no rows to test on; use fewer folds.")
        targets = reduce(add, others)
        if len(targets.labels) < n_classes:
            lost = np.setdiff1d(one.labels, targets.labels)
            label = decoded(lost, problem.classes)[0]
            raise ValueError(
                f"cv: split {k} trains on no row of the class {label!s}, whose rows are all in one "
                "fold: leave out so rare a class, merge it with another one, or set n_estimators "
                "to a number."
            )
        name = f"the training rows of cv: split {k}"
        check_part(problem.loss, targets.examples(n_classes), name)
        seeded = check_random_state(rng.randint(SEEDS))
        fits.append(BlockBoosting(plan, problem, targets, seeded, one.weight))
    return fits


class BlockFolds:
    """The fits of K folds in lockstep; see `choosing_rounds.Folds`."""

    def __init__(self, fits: Sequence[BlockBoosting], data: Blocks, most: int) -> None:
        self.fits, self.n_rounds = fits, 0
        self.lockstep = FitsInLockstep(fits, data, most, by_fold=True)
        weights = np.array([fit.held_weight for fit in fits])
        self.shares = weights / weights.sum()

    @property
    def path(self) -> np.ndarray:
        return np.array([fit.path for fit in self.fits]).T

    def add(self, n_rounds: int) -> None:
        self.n_rounds += n_rounds
        # The score after a round is known with the first sums of the next one.
        self.lockstep.run(lambda fit: len(fit.path) <= self.n_rounds)

    def models(self, n_rounds: int) -> list[AdditiveModel]:
        return [fit.fitted.first(n_rounds) for fit in self.fits]


def _answered(waiting: Sequence[Generator[Any, Any, None]], replies: Sequence[Any]) -> list[Any]:
    """Give trees or fits their answers; what they ask next, None for those that ask no more."""
    requests: list[Any] = []
    for generator, reply in zip(waiting, replies):
        try:
            requests.append(None if reply is None else generator.send(reply))
        except StopIteration:
            requests.append(None)
    return requests
