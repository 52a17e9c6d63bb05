"""Gradient boosting of rows in chunks by binned trees."""

from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils import check_random_state

from sklearn_ensemble_theory._blocks import Blocks
from sklearn_ensemble_theory._rows import ChunkedRows
from sklearn_ensemble_theory.boosting._gradient_boosting._chunks.chunk_rounds import (
    ScoreMove,
    binned_chunk,
    grow_on_chunk,
    leaf_tables,
    loss_of_chunk,
    scored_chunk,
    start_round,
)
from sklearn_ensemble_theory.boosting._gradient_boosting._chunks.row_summaries import (
    RowSummary,
    summary_of_chunk,
)
from sklearn_ensemble_theory.boosting._gradient_boosting.ensemble import AdditiveModel
from sklearn_ensemble_theory.boosting._gradient_boosting.observers import Observers
from sklearn_ensemble_theory.boosting.losses import Loss
from sklearn_ensemble_theory.trees._columns import MISSING, BinnedColumns
from sklearn_ensemble_theory.trees._growth import (
    ChunkedGrowth,
    Grid,
    sum_bits,
)
from sklearn_ensemble_theory.trees._histograms import GridUnits, TreeRequest
from sklearn_ensemble_theory.trees._options import TreeShape, growth_options
from sklearn_ensemble_theory.trees._weak_learners import set_leaf_values, tree_member

# Of deeper trees, or of more leaves, the sums in bins would take more memory than many rows.
MOST_LEVELS, MOST_LEAVES = 8, 512
# Sums of targets may be smaller than expected by so many bits before the units are changed.
SPARE_BITS = 6
# Whole weights of at most this sum leave enough bits to round targets before they are weighted.
MOST_WHOLE = 2.0**28
ROOT = TreeRequest([], [0], [])


def fit_in_chunks(model: Any, rows: ChunkedRows) -> dict[str, Any]:
    """The fitted attributes of a model of gradient boosting.

    Raises
    ------
    ValueError
        If parameters ask for what needs all rows in memory.
    """
    learner = checked_learner(model)
    classifies = is_classifier(model)
    if not classifies:
        _check_loss(model, model._make_loss(0))
    rows = rows.knowing(allow_nan=True)
    summary = rows.sum(summary_of_chunk, classifies)
    description: dict[str, Any] = {}
    if classifies:
        _, description = model._encode(summary.labels)
        rows = rows.knowing(classes=summary.labels)
    else:
        model._encode(np.array([summary.low, summary.high]))
    loss = model._make_loss(len(summary.labels))
    _check_loss(model, loss)
    boosting = _Boosting(model, learner, loss, summary)
    fitted = boosting.fit(rows, description)
    found = model._fitted_attributes(fitted, description, learner, False)
    return {**found, "_rng": boosting.rng, "_split_seed": None}


def checked_learner(model: Any) -> Any:
    """The base learner, once all parameters can be used with rows in chunks."""
    model._check_tree_parameters()
    learner = model._base_learner()
    name = "" if model.estimator is None else "estimator: "
    refused = {
        "subsample": model.subsample < 1,
        "n_iter_no_change": model.n_iter_no_change is not None,
        "warm_start": model.warm_start,
        "init": model.init is not None and not isinstance(model.init, str),
        "step": model.step != "fixed",
        "second_order": model.second_order,
        "ccp_alpha": model.ccp_alpha != 0,
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


def _check_loss(model: Any, loss: Loss) -> None:
    n_scores = loss.n_scores(3)
    y, u = (np.ones(1), np.zeros(1)) if n_scores == 1 else (np.ones(1, int), np.zeros((1, 3)))
    sums = loss.leaf_terms(y, u, None if n_scores == 1 else 0) is not None
    known = is_classifier(model) or model.init is not None or loss._constant_of_mean
    if not (sums and known):
        raise ValueError(
            f"loss={model.loss!r} needs all rows in memory: its initial score or the values of its "
            "leaves are no functions of sums over rows."
        )


class _Boosting:
    """The rounds of one fit.

    Parameters
    ----------
    model : BaseGradientBoosting
    learner : BinnedTreeRegressor
    loss : Loss
    summary : RowSummary
    """

    def __init__(self, model: Any, learner: Any, loss: Loss, summary: RowSummary) -> None:
        self.model, self.loss, self.summary = model, loss, summary
        self.pattern = clone(learner)
        p = len(summary.missing)
        self.shape = TreeShape(summary.n_rows, summary.weight, p, 0)
        has_missing = bool(summary.missing.any())
        self.options = growth_options(learner, self.shape, has_missing)
        if self.options.max_features:
            raise ValueError(
                f"max_features={learner.max_features!r} needs all rows in memory; with Dask "
                "collections all features are considered at each node."
            )
        codes = np.empty((0, p), np.uint8)
        edges = summary.sketch.edges(learner.max_bins)
        self.columns = BinnedColumns(codes, edges, summary.missing)
        self.rng: Any = check_random_state(model.random_state)
        self.ties = np.random.RandomState(0)
        # Leaf means are the optimal values of the squared loss.
        reoptimises = model.reoptimize_leaves and not loss.is_quadratic
        self.leaf_loss = loss if reoptimises else None
        self.bits = sum_bits(summary.n_rows)
        self.units: GridUnits | None = None

    def fit(self, rows: ChunkedRows, description: dict[str, Any]) -> AdditiveModel:
        """Boost; the rows are read once more."""
        n_classes = len(description.get("classes_", ()))
        start = self.start(n_classes)
        n_scores = self.loss.n_scores(n_classes)
        fitted = AdditiveModel(self.loss, start, n_scores, self.model._predict_init)
        self.n_chunks = len(rows.given)
        data = rows.map(binned_chunk, self.columns, n_classes == 2).grouped()
        constant = 0.0 if isinstance(start, str) else start
        state = data.map(scored_chunk, constant, n_scores)
        observers = Observers(
            self.model,
            self.model.n_estimators,
            None,
            attributes=dict,
            data=dict,
            variables=dict,
        )
        move = None
        for t in range(self.model.n_estimators):
            state, replies, risk = self.started(state, data, move, n_scores)
            self.record(fitted, observers, t, risk)
            state, members, values = self.grown(state, data, replies)
            rate = self.model.learning_rate
            move = ScoreMove(values, float(rate(t) if callable(rate) else rate))
            fitted.members.append(members)
            fitted.steps.append(move.step)
        losses = state.sum(loss_of_chunk, data, self.loss, move).total(self.n_chunks)
        risk = float(losses[0] / self.summary.weight)
        self.record(fitted, observers, self.model.n_estimators, risk)
        observers.finish(fitted.stop_reason)
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

    def record(self, fitted: AdditiveModel, observers: Observers, t: int, risk: float) -> None:
        """The risk after t rounds, which is known with the first sums of the next one."""
        if t == 0:
            return
        observers.begin_round()
        fitted.train_scores.append(risk)
        fitted.record_drawn(None, None, risk)
        observers.round_ends(t - 1, fitted.last_risks)

    # --- one round ------------------------------------------------------------------------

    def started(
        self, state: Blocks, data: Blocks, move: ScoreMove | None, n_scores: int
    ) -> tuple[Blocks, list[Any], float]:
        """The state at the start of a round, the sums of the roots, and the risk.

        The units of the integers are those of the round before, if they fit.
        """
        roots = [ROOT] * n_scores
        expected = self.units
        state, found = state.step(start_round, data, self.loss, move, expected, roots)
        loss, *sizes = found.sizes.total(self.n_chunks)
        exact = [self.exponent(size) for size in sizes]
        replies = found.replies
        if expected is None or not all(
            e - SPARE_BITS <= given <= e for e, given in zip(exact, expected.targets)
        ):
            self.units = self.units_of(exact)
            state, replies = state.step(grow_on_chunk, data, self.units, roots)
        self.sizes = sizes
        return state, replies.parts, float(loss / self.summary.weight)

    def exponent(self, size: float) -> int:
        """The k for which size * 2^k is just below 2^bits."""
        if not 0 < size < np.inf:
            return 0
        return int(np.clip(self.bits - np.frexp(size)[1], -1000, 1000))

    def units_of(self, exponents: list[int]) -> GridUnits:
        columns, summary, weight = self.columns, self.summary, None
        whole = summary.whole and summary.weight <= MOST_WHOLE
        if summary.weighted:
            weight = 0 if whole else self.exponent(summary.weight)
        n_bins, has_missing = int(columns.n_bins.max()), bool(columns.has_missing.any())
        return GridUnits(tuple(exponents), weight, whole, n_bins, has_missing)

    def grown(
        self, state: Blocks, data: Blocks, replies: list[Any]
    ) -> tuple[Blocks, list[Any], list[np.ndarray]]:
        """The trees of a round: fitted members, and the values of the nodes of the chunks."""
        units = self.units
        assert units is not None
        seeds = [int(self.rng.randint(np.iinfo(np.int32).max)) for _ in replies]
        growths = [self.growth(k, seed) for k, seed in enumerate(seeds)]
        waiting = [growth.requests() for growth in growths]
        for generator in waiting:
            next(generator)  # the root, which has been counted
        requests = _answered(waiting, replies)
        while any(request is not None for request in requests):
            state, found = state.step(grow_on_chunk, data, units, requests)
            requests = _answered(waiting, found.parts)
        last = [growth.request() for growth in growths]
        sizes = [len(growth.left) for growth in growths]
        state, found = state.step(leaf_tables, data, units, last, sizes, self.leaf_loss)
        members, values = [], []
        for growth, seed, of_chunks in zip(growths, seeds, found.parts):
            table = of_chunks.total(self.n_chunks)
            tree, number = growth.tree(table[:, :3])
            if self.leaf_loss is not None:
                steps = np.empty(len(number))
                steps[number] = self.leaf_loss.leaf_steps(*(table[:, 3:].T / self.summary.weight))
                set_leaf_values(tree, steps, self.options)
            members.append(tree_member(self.pattern, tree, self.shape, seed))
            values.append(tree.value[:, 0].take(number))
        # One bit is left for sums that are larger in the next round.
        self.units = units._replace(targets=tuple(self.exponent(size) - 1 for size in self.sizes))
        return state, members, values

    def growth(self, k: int, seed: int) -> ChunkedGrowth:
        units = self.units
        assert units is not None
        # Always the first of equally good features would make the trees alike.
        self.ties.seed(seed)
        rank = self.ties.permutation(self.shape.n_features)
        targets = Grid(units.targets[k], float(self.sizes[k]) / self.summary.weight)
        weights = None if units.weight is None else Grid(units.weight)
        return ChunkedGrowth(self.columns, self.options, rank, targets, weights)


def _answered(waiting: list[Any], replies: list[Any]) -> list[TreeRequest | None]:
    """Give the trees their answers; what they ask next, None for those that are grown."""
    requests: list[TreeRequest | None] = []
    for generator, reply in zip(waiting, replies):
        try:
            requests.append(None if reply is None else generator.send(reply))
        except StopIteration:
            requests.append(None)
    return requests
