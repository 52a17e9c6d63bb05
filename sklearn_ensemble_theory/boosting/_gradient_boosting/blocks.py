"""Gradient boosting of rows in blocks, by binned trees: what a fit of a Dask collection runs.

The rows are read twice: for a summary of them (`RowSummary`: quantiles, classes, the range of the
targets), and for the codes of the bins, which stay where the rows are, with the targets and the
scores; where there are categories, once more before that, to list them. A round is then
`start_round`, which moves the scores by the trees of the round before, `grow_on_block` for each
level of the trees, and `leaf_tables`: pure functions of the state of a block, which return the new
state and what is summed. Sums of targets are sums of integers, so that the trees do not depend on
the blocks.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import ClassifierMixin, clone, is_classifier
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets

from ..._bins import QuantileSketch, columns_with_missing
from ..._blocks import Blocks, in_tree_order
from ..._categories import (
    CategoricalColumns,
    numbered_learner,
    tree_categories_of_blocks,
)
from ..._roots import root_of_increasing
from ..._rows import ChunkedRows, Rows
from ...trees._columns import MISSING, BinnedColumns
from ...trees._growth import Grid, HistogramGrowth, sum_bits
from ...trees._histograms import GridUnits, IntegerRows, TreeRequest, answered, integer_rows
from ...trees._options import TreeShape, growth_options
from ...trees._sklearn_trees import check_single_precision
from ...trees._tree_arrays import LeafOutputs
from ...trees._weak_learners import monotonic_after_growth, set_leaf_values, tree_member
from .._loop import RoundReports
from .._risk import EmpiricalRisk
from ..losses import Loss
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
from .ensemble import AdditiveModel, classes_of, encoded

# Of deeper trees, or of more leaves, the sums in bins would take more memory than many rows.
MOST_LEVELS, MOST_LEAVES = 8, 512
# Sums of targets may be smaller than expected by so many bits before the units are changed.
SPARE_BITS = 6
# Whole weights of at most this sum leave enough bits to round targets before they are weighted.
MOST_WHOLE = 2.0**28
ROOT = TreeRequest([], [0], [])


def fit_blocks(model, rows: ChunkedRows) -> dict[str, Any]:
    """The fitted attributes of a model of gradient boosting.

    Raises
    ------
    ValueError
        If parameters ask for what needs all rows in memory.
    """
    learner = checked_learner(model)
    classifies = isinstance(model, ClassifierMixin)
    if not classifies:
        _check_loss(model, model._make_loss(0))
    encoder = tree_categories_of_blocks(rows.given, rows.meta, learner)
    learner = numbered_learner(learner, encoder)
    rows = rows.knowing(allow_nan=True, encode=None if encoder is None else encoder.encode)
    summary = rows.sum(summary_of_block, classifies)
    classes = None
    if classifies:
        classes = classes_of(summary.labels)
        rows = rows.knowing(classes=classes)
    else:
        encoded(np.array([summary.low, summary.high]), None)  # refuses what is too large
    loss = model._make_loss(len(summary.labels))
    _check_loss(model, loss)
    model._check_constraints(learner, len(summary.missing), loss, len(summary.labels))
    boosting = BlockBoosting(model, learner, loss, summary, encoder)
    fitted = boosting.fit(rows, classes)
    found = fitted.attributes(learner, classes, followed=False)
    found |= {} if encoder is None else {"_encoder": encoder}
    return {**found, "_rng": boosting.rng, "_split_seed": None}


def checked_learner(model) -> Any:
    """The base learner, once all parameters can be used with rows in blocks."""
    learner = model._base_learner()
    name = "" if model.estimator is None else "estimator: "
    refused = {
        "n_estimators": model.n_estimators == "cv",
        "keep_training_rows": model.keep_training_rows,
        "subsample": model.subsample < 1,
        "n_iter_no_change": model.n_iter_no_change is not None,
        "warm_start": model.warm_start,
        "init": model.init is not None and not isinstance(model.init, str),
        "step": model.step != "fixed",
        "second_order": model.second_order,
        "multi_class": model._asks_for_vectors() and isinstance(model, ClassifierMixin),
        "ccp_alpha": model.ccp_alpha != 0,
        "min_weight_leaf": model.min_weight_leaf is not None,
        "features_per_tree": model.features_per_tree is not None,
        "max_bins": model.estimator is None and model.max_bins is None,
    }
    for parameter, is_refused in refused.items():
        if is_refused:
            raise ValueError(
                f"{parameter}={getattr(model, parameter)!r} needs all rows in memory; with Dask "
                "collections leave it at its default."
            )
    if getattr(model, "_skl_callbacks", None):
        raise ValueError("Callbacks need all rows in memory; with Dask collections set none.")
    usual = getattr(learner, "_reads_single_precision", False) and not is_classifier(learner)
    if (
        not usual
        or learner.criterion != "squared_error"
        or learner.splitter != "best"
        or learner.ccp_alpha > 0
        or learner.max_bins > MISSING
    ):
        raise ValueError(
            f"estimator={learner!r} needs all rows in memory; with Dask collections use None, or a "
            f"BinnedTreeRegressor with the squared error and at most {MISSING} bins."
        )
    learner._validate_params()
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
    return learner


def _check_loss(model, loss: Loss) -> None:
    n_scores = loss.n_scores(3)
    y, u = (np.ones(1), np.zeros(1)) if n_scores == 1 else (np.ones(1, int), np.zeros((1, 3)))
    sums = loss.leaf_terms(y, u, None if n_scores == 1 else 0) is not None
    known = is_classifier(model) or model.init is not None or loss._constant_of_mean
    if not (sums and known):
        raise ValueError(
            f"loss={model.loss!r} needs all rows in memory: its initial score or the values of its "
            "leaves are no functions of sums over rows."
        )


# --- the first reading of the rows ----------------------------------------------------------------


@dataclass
class RowSummary:
    """What the rows of one or several blocks have.

    Attributes
    ----------
    n_rows : int
    weight : float
        The sum of the weights.
    weighted : bool
        Whether there are weights.
    whole : bool
        Whether all weights are whole numbers.
    missing : bool array of shape (p,)
    sketch : QuantileSketch
    labels : array
        Of a classifier: the classes, in increasing order.
    label_weights : float array
    mean, low, high : float
        Of the targets of a regressor.
    """

    n_rows: int
    weight: float
    weighted: bool
    whole: bool
    missing: np.ndarray
    sketch: QuantileSketch
    labels: np.ndarray
    label_weights: np.ndarray
    mean: float = 0.0
    low: float = 0.0
    high: float = 0.0

    def __add__(self, other: RowSummary) -> RowSummary:
        weight = self.weight + other.weight
        labels = np.concatenate([self.labels, other.labels])
        labels, number = np.unique(labels, return_inverse=True)
        label_weights = np.concatenate([self.label_weights, other.label_weights])
        return RowSummary(
            self.n_rows + other.n_rows,
            weight,
            self.weighted,
            self.whole and other.whole,
            self.missing | other.missing,
            self.sketch + other.sketch,
            labels,
            np.bincount(number.ravel(), label_weights, len(labels)),
            self.weight / weight * self.mean + other.weight / weight * other.mean,
            min(self.low, other.low),
            max(self.high, other.high),
        )


def summary_of_block(block: Rows, classifies: bool) -> RowSummary:
    """The summary of one block; O(n p), and a sort of at most 32,768 rows of each column."""
    X, y, weight = block.X, block.y, block.weight
    check_single_precision(X)
    whole = weight is None or bool(np.all(weight == np.rint(weight)))
    total = float(len(y) if weight is None else weight.sum())
    # Trees read single precision, and so do their bins.
    sketch = QuantileSketch.of(
        X.astype(np.float32, copy=False), weight, np.random.default_rng(block.block)
    )
    found = RowSummary(
        n_rows=len(y),
        weight=total,
        weighted=weight is not None,
        whole=whole,
        missing=columns_with_missing(X),
        sketch=sketch,
        labels=np.empty(0),
        label_weights=np.empty(0),
    )
    if classifies:
        check_classification_targets(y)
        found.labels, number = np.unique(y, return_inverse=True)
        found.label_weights = np.bincount(number.ravel(), weight, len(found.labels)).astype(float)
        return found
    found.low, found.high = float(y.min()), float(y.max())
    size = max(-found.low, found.high) or 1.0
    found.mean = float(np.average(y / size, weights=weight)) * size
    return found


# --- a round on one block of rows -----------------------------------------------------------------


class BinnedBlock(NamedTuple):
    """The rows of a block, which stay the same: p + 8 or p + 16 bytes a row.

    Attributes
    ----------
    codes : uint8 array of shape (n, p)
    y : array of shape (n,)
        As the loss takes it.
    weight : float64 array of shape (n,) or None
    number : int
        That of the block.
    """

    codes: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None
    number: int

    @property
    def total(self) -> float:
        return float(len(self.y) if self.weight is None else self.weight.sum())


class ScoredBlock(NamedTuple):
    """What changes: 17 bytes a row and 8 for the scores of each of K trees, with at most 255 nodes.

    Attributes
    ----------
    u : float64 array of shape (n,) or (n, K)
    target : float64 array of shape (K, n)
    rows : list of K IntegerRows
    nodes : list of K integer arrays of shape (n,)
        The node of each row in the trees of the round.
    """

    u: np.ndarray
    target: np.ndarray
    rows: list[IntegerRows]
    nodes: list[np.ndarray]


class ScoreMove(NamedTuple):
    """The trees of a round as steps: the values of their nodes, and the coefficient."""

    values: list[np.ndarray]
    step: float


@dataclass
class Parts:
    """Sums for several trees; None for those that asked nothing."""

    parts: list[Any]

    def __add__(self, other: Parts) -> Parts:
        pairs = zip(self.parts, other.parts, strict=True)
        return Parts([None if a is None else a + b for a, b in pairs])


@dataclass
class OfBlocks:
    """Sums over single blocks, by their numbers.

    They are rounded, so that their total depends on the order in which they are added: always the
    same one, wherever the blocks are.
    """

    parts: dict[int, np.ndarray]

    def __add__(self, other: OfBlocks) -> OfBlocks:
        return OfBlocks(self.parts | other.parts)

    def total(self, n_blocks: int) -> np.ndarray:
        """The sum over `n_blocks` blocks, of which some may have no rows."""
        total: np.ndarray = in_tree_order(self.parts, n_blocks)
        return total


@dataclass
class RoundStart:
    """The sums at the start of a round.

    Attributes
    ----------
    sizes : OfBlocks
        Arrays of shape (1 + K,) of the weighted losses and of the weighted sizes of the targets.
    replies : Parts
        What the trees asked of their roots; of no tree where the units were not known.
    """

    sizes: OfBlocks
    replies: Parts

    def __add__(self, other: RoundStart) -> RoundStart:
        return RoundStart(self.sizes + other.sizes, self.replies + other.replies)


def binned_block(block: Rows, columns: BinnedColumns, as_signs: bool) -> BinnedBlock:
    """The codes of the rows, and targets -1 and +1 where there are two classes. O(n p)."""
    y = 2.0 * block.y - 1.0 if as_signs else block.y
    codes = columns.coded(block.X).codes
    return BinnedBlock(codes, np.require(y, None, ["C", "W"]), block.weight, block.block)


def scored_block(data: BinnedBlock, start, n_scores: int) -> ScoredBlock:
    """The state before the first round."""
    n = len(data.y)
    shape = (n,) if n_scores == 1 else (n, n_scores)
    u = np.broadcast_to(np.asarray(start, dtype=np.float64), shape).copy()
    return ScoredBlock(u, np.empty((0, n)), [], [])


def start_round(
    state: ScoredBlock,
    data: BinnedBlock,
    loss: Loss,
    move: ScoreMove | None,
    units: GridUnits | None,
    requests: list[TreeRequest],
) -> tuple[ScoredBlock, RoundStart]:
    """Move the scores, compute the negative gradients, and answer the requests. O(n p).

    Where the units of the integers are not known yet, no request is answered.
    """
    u = _moved(state, move)
    found = EmpiricalRisk(loss, data.y, data.weight).at(u)
    target = np.ascontiguousarray(found.target.T.reshape(-1, len(u)))
    size = np.abs(target)
    sizes = size.sum(axis=1) if data.weight is None else size @ data.weight
    new, replies = ScoredBlock(u, target, [], []), Parts([])
    if units is not None:
        new, replies = grow_on_block(new, data, units, list(requests))
    sizes = np.append(found.value * data.total, sizes)
    return new, RoundStart(OfBlocks({data.number: sizes}), replies)


def grow_on_block(
    state: ScoredBlock,
    data: BinnedBlock,
    units: GridUnits,
    requests: list[TreeRequest | None],
) -> tuple[ScoredBlock, Parts]:
    """Answer the requests of the trees of the round; O(n p) for each."""
    rows, nodes, replies = state.rows, list(state.nodes), []
    if not rows:
        pairs = zip(state.target, units.targets)
        rows = [integer_rows(target, data.weight, e, units) for target, e in pairs]
        nodes = [np.zeros(len(data.y), np.uint8) for _ in rows]
    for k, request in enumerate(requests):
        reply = None
        if request is not None:
            nodes[k], reply = answered(
                data.codes, rows[k], state.target[k], nodes[k], request, units
            )
        replies.append(reply)
    return state._replace(rows=rows, nodes=nodes), Parts(replies)


def leaf_tables(
    state: ScoredBlock,
    data: BinnedBlock,
    units: GridUnits,
    requests: list[TreeRequest],
    n_nodes: list[int],
    loss: Loss | None,
) -> tuple[ScoredBlock, Parts]:
    """Sums over the leaves of each tree, `OfBlocks`; the last splits are in the requests. O(n).

    The columns of a table are the sums of weights, of targets and of their squares and, where a
    loss is given, those of its `leaf_terms` and again of the weights.
    """
    state, _ = grow_on_block(state, data, units, list(requests))
    weight = np.ones(len(data.y)) if data.weight is None else data.weight
    risk = None if loss is None else EmpiricalRisk(loss, data.y, data.weight)
    tables = []
    for k, (target, leaf, size) in enumerate(zip(state.target, state.nodes, n_nodes)):
        totals = group_totals(weight, leaf, size)
        columns = [totals(np.ones(len(leaf))), totals(target), totals(target * target)]
        if risk is not None:
            score = None if state.u.ndim == 1 else k
            sums = risk.leaf_sums(state.u, target, leaf, size, score)
            columns += list(data.total * sums.T)
        tables.append(OfBlocks({data.number: np.column_stack(columns)}))
    return state._replace(rows=[]), Parts(tables)


def loss_of_block(state: ScoredBlock, data: BinnedBlock, loss: Loss, move: ScoreMove) -> OfBlocks:
    """The sum of the weighted losses after a move."""
    value = EmpiricalRisk(loss, data.y, data.weight).value(_moved(state, move)) * data.total
    return OfBlocks({data.number: np.array([value])})


def falls_of_block(
    state: ScoredBlock, data: BinnedBlock, loss: Loss, steps: list[np.ndarray]
) -> OfBlocks:
    """`leaf_falls` of all trees, side by side."""
    weight = np.ones(len(data.y)) if data.weight is None else data.weight
    falls = [
        leaf_falls(loss, data.y, state.u, weight, leaf, own, k if state.u.ndim == 2 else None)
        for k, (leaf, own) in enumerate(zip(state.nodes, steps))
    ]
    return OfBlocks({data.number: np.concatenate(falls, axis=1)})


def slopes_of_block(
    state: ScoredBlock, data: BinnedBlock, loss: Loss, steps: list[np.ndarray]
) -> OfBlocks:
    """The derivatives of the losses of the leaves of all trees along their steps, side by side."""
    weight = np.ones(len(data.y)) if data.weight is None else data.weight
    slopes = []
    for k, (leaf, own) in enumerate(zip(state.nodes, steps)):
        column = ... if state.u.ndim == 1 else np.s_[:, k]
        u = state.u.copy()
        u[column] += own.take(leaf)
        slopes.append(group_totals(weight, leaf, len(own))(loss.gradient(data.y, u)[column]))
    return OfBlocks({data.number: np.concatenate(slopes)})


def _moved(state: ScoredBlock, move: ScoreMove | None) -> np.ndarray:
    u = state.u
    if move is not None:
        u = u.copy()
        LeafOutputs(move.values, state.nodes, u.shape).add_to(u, move.step)
    return u


# --- a fit ----------------------------------------------------------------------------------------


class BlockBoosting:
    """The rounds of one fit.

    Parameters
    ----------
    model : BaseGradientBoosting
    learner : BinnedTreeRegressor
    loss : Loss
    summary : RowSummary
    encoder : CategoricalColumns or None
    """

    def __init__(
        self,
        model,
        learner,
        loss: Loss,
        summary: RowSummary,
        encoder: CategoricalColumns | None,
    ) -> None:
        self.model, self.loss, self.summary = model, loss, summary
        self.pattern = clone(learner)
        p = len(summary.missing)
        self.shape = TreeShape(summary.n_rows, summary.weight, p, 0)
        has_missing = bool(summary.missing.any())
        flags = None if encoder is None else encoder.flags
        options = growth_options(learner, self.shape, has_missing, flags)
        self.options = monotonic_after_growth(options, summary.n_rows)
        if self.options.max_features:
            raise ValueError(
                f"max_features={learner.max_features!r} needs all rows in memory; with Dask "
                "collections all features are considered at each node."
            )
        codes = np.empty((0, p), np.uint8)
        edges = summary.sketch.edges(learner.max_bins)
        if encoder is not None:
            for j in np.flatnonzero(encoder.flags).tolist():
                edges[j] = np.arange(encoder.numbers(j).max()) + 0.5
        self.columns = BinnedColumns(codes, edges, summary.missing, MISSING, flags)
        self.rng: Any = check_random_state(model.random_state)
        self.ties = np.random.RandomState(0)
        # Leaf means are the optimal values of the squared loss.
        reoptimises = model.reoptimize_leaves and not loss.is_quadratic
        self.leaf_loss = loss if reoptimises else None
        self.bits = sum_bits(summary.n_rows)
        self.units: GridUnits | None = None

    def fit(self, rows: ChunkedRows, classes: np.ndarray | None) -> AdditiveModel:
        """Boost; the rows are read once more."""
        n_classes = 0 if classes is None else len(classes)
        start, loss = self.start(n_classes), self.loss
        n_scores = loss.n_scores(n_classes)
        fitted = AdditiveModel(loss, start, n_scores, classes is not None)
        reports = RoundReports(self.model, self.model.n_estimators)

        def report(risk: float) -> None:
            reports.begin_round()
            fitted.add_risks(risk)
            reports.end_round(fitted.last_risks)

        self.n_blocks = len(rows.given)
        data = rows.map(binned_block, self.columns, n_classes == 2).grouped()
        state = data.map(scored_block, 0.0 if isinstance(start, str) else start, n_scores)
        move = None
        for t in range(self.model.n_estimators):
            state, replies, risk = self.started(state, data, move, n_scores)
            if t:  # the risk after a round is known with the first sums of the next one
                report(risk)
            state, members, values = self.grown(state, data, replies)
            rate = self.model.learning_rate
            move = ScoreMove(values, float(rate(t) if callable(rate) else rate))
            fitted.members.append(members)
            fitted.steps.append(move.step)
        losses = state.sum(loss_of_block, data, loss, move).total(self.n_blocks)
        report(float(losses[0] / self.summary.weight))
        reports.finish(fitted.stop_reason)
        return fitted

    def start(self, n_classes: int) -> Any:
        """What the scores start from."""
        summary, loss = self.summary, self.loss
        if n_classes:
            y = np.array([-1.0, 1.0]) if n_classes == 2 else np.arange(n_classes)
            loss.check_target(y)
            weight = summary.label_weights
        else:
            y, weight = np.array([summary.mean]), None
            loss.check_target(np.array([summary.low, summary.mean, summary.high]))
        if self.model.init is not None:
            return self.model.init
        return loss.initial_scores(y, weight, n_classes)

    def started(
        self, state: Blocks, data: Blocks, move: ScoreMove | None, n_scores: int
    ) -> tuple[Blocks, list[Any], float]:
        """The state at the start of a round, the sums of the roots, and the risk.

        The units of the integers are those of the round before, if they fit: the roots are then
        counted in the pass that finds the targets, and otherwise in one more.
        """
        columns, summary, expected = self.columns, self.summary, self.units
        roots = [ROOT] * n_scores
        state, found = state.step(start_round, data, self.loss, move, expected, roots)
        loss, *sizes = found.sizes.total(self.n_blocks)
        exact = [self.exponent(size) for size in sizes]
        replies = found.replies
        if expected is None or not all(
            e - SPARE_BITS <= given <= e for e, given in zip(exact, expected.targets)
        ):
            weight, whole = None, summary.whole and summary.weight <= MOST_WHOLE
            if summary.weighted:
                weight = 0 if whole else self.exponent(summary.weight)
            bins = columns.most_bins, columns.any_missing
            self.units = GridUnits(tuple(exact), weight, whole, *bins)
            state, replies = state.step(grow_on_block, data, self.units, roots)
        self.sizes = sizes
        return state, replies.parts, float(loss / summary.weight)

    def exponent(self, size: float) -> int:
        """The k for which size * 2^k is just below 2^bits."""
        if not 0 < size < np.inf:
            return 0
        return int(np.clip(self.bits - np.frexp(size)[1], -1000, 1000))

    def grown(
        self, state: Blocks, data: Blocks, replies: list[Any]
    ) -> tuple[Blocks, list[Any], list[np.ndarray]]:
        """The trees of a round: fitted members, and the values of the nodes of the blocks."""
        units, summary = self.units, self.summary
        assert units is not None  # see `started`
        seeds = [int(self.rng.randint(np.iinfo(np.int32).max)) for _ in replies]
        growths = []
        for seed, exponent, size in zip(seeds, units.targets, self.sizes):
            # Always the first of equally good features would make the trees alike.
            self.ties.seed(seed)
            rank = self.ties.permutation(self.shape.n_features)
            targets = Grid(exponent, float(size) / self.summary.weight)
            order = np.argsort(rank)
            growths.append(
                HistogramGrowth(self.columns, self.options, order, targets, units.weight)
            )
        # The trees of a round grow together: each asks for the sums of its next nodes, and one
        # pass over the rows answers all of them.
        waiting = [growth.requests() for growth in growths]
        for generator in waiting:
            next(generator)  # the root, which has been counted
        requests = _answered(waiting, replies)
        while any(request is not None for request in requests):
            state, found = state.step(grow_on_block, data, units, requests)
            requests = _answered(waiting, found.parts)
        last = [growth.request() for growth in growths]
        sizes = [len(growth.left) for growth in growths]
        state, found = state.step(leaf_tables, data, units, last, sizes, self.leaf_loss)
        tables = [of_blocks.total(self.n_blocks) for of_blocks in found.parts]
        leaf_steps = [None] * len(tables)
        if self.leaf_loss is not None:
            sums = [table[:, 3:].T / summary.weight for table in tables]
            leaf_steps = self.steps(state, data, sums)
        members, values = [], []
        for growth, seed, table, own in zip(growths, seeds, tables, leaf_steps):
            tree, number = growth.tree(table[:, :3])
            if own is not None:
                steps = np.empty(len(number))
                steps[number] = own
                set_leaf_values(tree, steps, self.options)
            elif not self.options.bounded:
                set_leaf_values(tree, tree.value[:, 0], self.options, True)
            members.append(tree_member(self.pattern, tree, self.shape, seed))
            values.append(tree.value[:, 0].take(number))
        # One bit is left for sums that are larger in the next round.
        self.units = units._replace(targets=tuple(self.exponent(size) - 1 for size in self.sizes))
        return state, members, values

    def steps(self, state: Blocks, data: Blocks, sums: list[np.ndarray]) -> list[np.ndarray]:
        """The steps of the leaves of each tree, from the sums of `leaf_terms` and of the weights.

        As in memory (see `lowering_steps`): where a leaf's loss may rise, the rows are read again.
        """
        loss: Any = self.leaf_loss
        steps = [loss.leaf_steps(*own) for own in sums]
        if type(loss).leaf_steps is not Loss.leaf_steps:  # exact
            return steps
        ends = np.cumsum([len(own) for own in steps])[:-1]
        rate = share_taken(self.model.learning_rate, len(steps))
        found, first = np.concatenate(steps), np.concatenate([own[0] for own in sums])
        asked = may_rise(loss, found, first, rate)
        if not asked.any():
            return steps

        def summed(function, moves: np.ndarray) -> np.ndarray:
            parts = np.split(np.where(asked, moves, 0.0), ends)
            total = state.sum(function, data, loss, parts).total(self.n_blocks)
            return np.where(asked, total / self.summary.weight, 0.0)

        falls = summed(falls_of_block, steps_to_try(loss, found, rate))
        share = loss._newton_share(np.empty((0, len(steps))))  # which is a factor of `first`
        wrong = asked & is_wrong(loss, found, first / share, falls, True, share)
        if safe_length(loss, rate) > 0:
            return np.split(np.where(wrong, bounded_steps(found), found), ends)
        longer = longer_steps(found, first / share, falls[0], share)
        asked &= longer != found
        if asked.any():
            more = summed(falls_of_block, longer)
            found = np.where(asked & (more[0] > falls[0]), longer, found)
        asked = wrong
        if asked.any():
            exact = root_of_increasing(lambda moves: summed(slopes_of_block, moves), len(found))
            found = np.where(asked, exact, found)
        return np.split(found, ends)


def _answered(
    waiting: list[Generator[TreeRequest, Any, None]], replies: list[Any]
) -> list[TreeRequest | None]:
    """Give the trees their answers; what they ask next, None for those that are grown."""
    requests: list[TreeRequest | None] = []
    for generator, reply in zip(waiting, replies):
        try:
            requests.append(None if reply is None else generator.send(reply))
        except StopIteration:
            requests.append(None)
    return requests
