"""Gradient boosting of rows in memory: any loss, any regressor, any step rule.

`begin` puts together the three parts of the boosting loop (`_loop`: the risk of a loss, a weak
learner, a step rule), and `add_rounds` adds its rounds to an `AdditiveModel`, followed by a `Watch`
where somebody looks at them. Fits to parts of the rows are the same two functions on rows that are
taken: `fits_to_parts`, and the folds of `choosing_rounds.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from numbers import Integral
from typing import Any, Protocol

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from ..._compat import check_method_params
from ..._folds import lost_class
from ..._learners import grows_leaves, takes_weights, weights_of_parts
from ..._rows import Rows
from ..._running import Progress, in_threads
from .._base_learners import seeded_clone, weak_learner
from .._loop import BoostingRounds, RoundReports
from .._risk import LEAST_CURVATURE, EmpiricalRisk, SecondOrderRisk
from ..losses._base import loss_name, share_taken
from ..losses._derivatives import check_derivatives, is_of_the_user
from .model import AdditiveModel, added_rounds, outputs
from .plan import LARGEST_TARGET, Plan, Problem, check_part, decoded

SEEDS = np.iinfo(np.int32).max


# --- a fit: its parts, and its rounds -------------------------------------------------------------


def begin(
    plan: Plan,
    problem: Problem,
    rng: np.random.RandomState,
    n_threads: int,
    earlier: AdditiveModel | None = None,
) -> tuple[AdditiveModel, BoostingRounds]:
    """The model before the first new round, and its rounds; `earlier` is a model to continue."""
    train, loss, n_scores, learner = problem.rows, problem.loss, problem.n_scores, plan.learner
    if plan.default_trees and plan.subsample < 1:
        learner = with_shares_of(learner, len(train))
    # The joint step of trees: splits of the second order where there is one, and exact leaves.
    exact = plan.step.is_joint and grows_leaves(learner)
    curved = not loss.is_quadratic and SecondOrderRisk.has_curvature(loss, train.y, n_scores)
    second_order = curved if plan.newton == "if_curved" else plan.newton == "yes"
    newton = second_order or (exact and curved)
    kind = SecondOrderRisk if newton else EmpiricalRisk
    risk = kind(loss, train.y, train.weight, n_threads)
    risk.adapts = True
    is_monotonic = getattr(learner, "monotonic_cst", None) is not None
    step = plan.step.at_rate(plan.learning_rate, only_forwards=is_monotonic)
    step.check(risk, n_scores)
    has_vectors = plan.one_tree and n_scores > 1
    model = earlier
    if model is None:
        if plan.init is None and n_scores == 1:
            check_derivatives(loss, train.y, train.offset)
        start = _start(plan, problem, rng)
        model = AdditiveModel(loss, start, n_scores, problem.classes is not None, has_vectors)
    risk.rate = share_taken(step.constant(), n_scores)
    task = step.task(
        risk,
        n_scores=n_scores,
        random_state=rng,
        subsample=plan.subsample,
        reoptimise_leaves=exact or (step.reoptimize_leaves and not newton),
        exact_leaves=exact,
        reweighted=newton,
        min_weight_leaf=LEAST_CURVATURE if second_order else 0.0,
        n_threads=n_threads,
        shares_generator=plan.default_trees,
        has_vectors=has_vectors,
    )
    weak = weak_learner(learner, train.X, train.weight, task, problem.fit_params)
    step.prepare(weak)
    u = model.scores_of(train)
    check_derivatives(loss, train.y, u)
    if train.offset is not None:
        size = np.max(np.abs(loss.gradient(train.y, u)), initial=0.0)
        if not size <= LARGEST_TARGET:
            raise ValueError(
                "offset differs too much between rows: derivatives of the loss are "
                f"{size:.1g}, above {LARGEST_TARGET:g}."
            )
    return model, BoostingRounds(risk, weak, step, u, start=len(model.members))


def with_shares_of(learner: Any, n_rows: int) -> Any:
    """A default tree whose shares of rows are those of all rows, and not of the rows drawn."""
    learner = clone(learner)
    for name, least in [("min_samples_split", 2), ("min_samples_leaf", 1)]:
        share = getattr(learner, name)
        if not isinstance(share, Integral):
            setattr(learner, name, max(least, math.ceil(share * n_rows)))
    return learner


def _start(plan: Plan, problem: Problem, rng: np.random.RandomState) -> Any:
    """What the scores start from: a constant, "zero", or a fitted estimator."""
    train = problem.rows
    if plan.init is None:
        return best_constant(problem)
    if isinstance(plan.init, str):
        return plan.init
    start = seeded_clone(plan.init, rng)
    weight = {}
    if train.weight is not None:
        weight = {"sample_weight": train.weight}
        if not takes_weights(start):
            name = type(start).__name__
            raise ValueError(
                f"init={name}: The initial estimator {name} does not support sample weights."
                f"{weights_of_parts(start)}"
            )
    start.fit(train.X, decoded(train.y, problem.classes), **weight)
    return start


def best_constant(problem: Problem) -> Any:
    """The constant scores of the least risk, beside the offset if there is one."""
    rows, loss = problem.rows, problem.loss
    if rows.offset is not None:
        return loss.optimal_shift(rows.y, rows.offset, rows.weight)
    return loss.initial_scores(rows.y, rows.weight, problem.n_classes)


def deviance_of_constant(problem: Problem, rows: Rows, risk: EmpiricalRisk) -> float:
    """The unit of `tol`: the deviance on these rows of the best constant of a problem. O(n).

    It is the risk less that of predictions equal to the targets, times 2 where scikit-learn's is:
    the variance for the squared error. The least risk of classes is 0, and that of a loss of the
    user is taken to be.
    """
    shape = (len(rows),) if problem.n_scores == 1 else (len(rows), problem.n_scores)
    scores = np.full(shape, best_constant(problem), dtype=float)
    if rows.offset is not None:
        scores += rows.offset
    found = risk.value(scores)
    if problem.classes is None and not is_of_the_user(problem.loss):
        found -= risk.value(problem.loss.scores_from(rows.y))
    return risk.loss.deviance_factor * abs(found)


@dataclass
class Watch:
    """Who looks at the rounds of a fit, and may end them.

    - held_out: validation rows that follow the rounds.
    - judge: ``judge(u)``, a metric of the training rows at their scores.
    - patience: so many rounds at least pass before `is_no_better` is asked; None for never.
    - is_no_better: of the model, whether early stopping ends it.
    - ends: ``ends(index, model, u)``, whether the round is to be the last.
    - keeps_best: the rounds after the best of the validation rows are dropped at the end.
    """

    reports: RoundReports
    held_out: HeldOut | None = None
    judge: Callable[[np.ndarray], float] | None = None
    patience: int | None = None
    is_no_better: Callable[[AdditiveModel], bool] = lambda model: False
    ends: Callable[[int, AdditiveModel, np.ndarray], bool] | None = None
    keeps_best: bool = False

    def sees_each(self) -> bool:
        """Whether the scores after each round are looked at."""
        return not self.reports.is_silent or self.ends is not None or self.judge is not None

    def after(self, index: int, model: AdditiveModel, u: np.ndarray) -> str | None:
        """Follow the last round of a model; why the rounds end with it, None where they go on."""
        if self.held_out is not None:
            last = model.members[-1], model.steps[-1]
            model.validation_scores += self.held_out.scores_after([last])
        if self.judge is not None:
            model.judged_scores.append(self.judge(u))
        if self.reports.end_round(model.last_risks, lambda: model):
            return "callback"
        if self.ends is not None and self.ends(index, model, u):
            return "monitor"
        if self.patience is not None and self.is_no_better(model):
            return "early stopping"
        return None

    def finish(self, model: AdditiveModel) -> None:
        """Drop the rounds after the best where it is kept, and report the end of the fit."""
        if self.keeps_best and self.held_out is not None and model.validation_scores:
            sign = 1.0 if self.held_out.metric is None else -1.0
            model.drop_after_best([sign * score for score in model.validation_scores])
        self.reports.finish(model.stop_reason, lambda: model)


def add_rounds(
    model: AdditiveModel,
    rounds: BoostingRounds,
    n_more: int,
    watch: Watch | None = None,
    drawn: DrawnScores | None = None,
) -> list[tuple[list[Any], float]]:
    """Add rounds to a model until there are enough, or the watch ends them; the rounds added."""
    risk: Any = rounds.risk
    last, made = len(model.members) + n_more, []
    # Rounds that nobody looks at are made in one piece: all, or as many as a stop waits for.
    patience = None if watch is None else watch.patience
    at_once = n_more if patience is None else int(patience)
    if watch is not None and watch.sees_each():
        at_once = 0
    rounds.allow(min(at_once, n_more))
    for record in islice(rounds, n_more):
        # A round is stored with its risks before anybody is asked whether it shall be the last:
        # callbacks and monitors see the model with it.
        if watch is not None:
            watch.reports.begin_round()
        members = [record.predictor] if model.n_scores == 1 else record.predictor
        model.members.append(members)
        model.steps.append(record.step)
        model.losses.append(risk.scored_loss)
        model.loss = model.losses[-1]
        made.append((members, record.step))
        if watch is None:
            continue
        if math.isnan(record.risk):
            cause = "X may have missing values that it cannot use"
            if is_of_the_user(model.loss):
                name = loss_name(model.loss)
                cause = f"{name}.gradient(y, u) may be NaN for scores that were tried, or {cause}"
            raise ValueError(
                f"The predictions of the estimator are NaN for some training rows; {cause}."
            )
        rows = None if drawn is None else getattr(rounds.learner, "rows", None)
        if drawn is None or rows is None:
            model.add_risks(record.risk)
        else:
            before = model.oob_scores[-1] if model.oob_scores else 0.0
            model.add_risks(record.risk, drawn.after(rows, before))
        index = record.index
        del record  # its outputs are an array of n numbers
        reason = watch.after(index, model, rounds.u)
        rounds.allow(min(at_once, last - len(model.members)))
        if reason is not None:
            model.stop_reason = reason
            break
    else:
        if watch is not None and len(model.members) < last:
            model.stop_reason = "weak learner"
    if watch is not None:
        rounds.end()
        watch.finish(model)
    return made


# --- risks on rows that a round was not fitted to -------------------------------------------------


class DrawnScores:
    """The risks of each round on the rows that were drawn for it, and on those left out."""

    def __init__(self, risk: EmpiricalRisk, u: np.ndarray, is_first: bool) -> None:
        self.risk, self.u = risk, u
        self.before = None
        if is_first:
            loss = risk.loss.adapted(risk.y, u, risk.weight)
            self.before = loss.value(risk.y, u)

    def after(self, rows: np.ndarray, previous: float) -> tuple[float, float, float]:
        """The risks on the rows and on the others, and how much the latter fell from `previous`."""
        risk = self.risk
        inside = np.zeros(len(risk.y), dtype=bool)
        inside[rows] = True
        values = risk.scored_loss.value(risk.y, self.u)
        if self.before is not None:  # the first improvement is that over the initial scores
            previous, self.before = self.mean(self.before, ~inside), None
        out = self.mean(values, ~inside)
        return self.mean(values, inside), out, previous - out

    def mean(self, values: np.ndarray, part: np.ndarray) -> float:
        weight = self.risk.weight[part]
        return float(values[part] @ weight / weight.sum()) if weight.size else float("nan")


class Metric(Protocol):
    """A metric of rows at scores of a model that are known, larger is better."""

    def __call__(self, model: AdditiveModel, scores: np.ndarray) -> float: ...


class HeldOut:
    """The validation rows and their scores, which follow the rounds.

    What is known of them is their risk, or their `metric` where there is one. All risks are by the
    loss of the start: that of "huber" becomes flatter as residuals do, which lowers every risk.
    """

    def __init__(self, model: AdditiveModel, rows: Rows, metric: Metric | None = None) -> None:
        self.model, self.rows, self.metric = model, rows, metric
        self.scores, self.n_scores = model.scores_of(rows), model.n_scores
        start = model.scores_of(rows, at_start=True) if model.members else self.scores
        loss = model.loss.adapted(rows.y, start, rows.weight)
        self.risk = EmpiricalRisk(loss, rows.y, rows.weight)

    def score(self) -> float:
        """The risk or the metric at the scores so far."""
        if self.metric is None:
            return self.risk.value(self.scores)
        return self.metric(self.model, self.scores)

    def scores_after(self, rounds: list[tuple[list[Any], float]]) -> list[float]:
        """The same after each of some rounds."""
        found, steps, X = [], [step for _, step in rounds], self.rows.X
        out = self.scores.reshape(-1, self.n_scores)
        added = added_rounds([one for one, _ in rounds], steps, X, out) if rounds else None
        for one, step in rounds:
            if added is None:
                self.scores += step * outputs(one, X)
            else:
                next(added)
            found.append(self.score())
        return found


def risks_of_rounds(model: AdditiveModel, rows: Rows) -> list[float]:
    """The risks of these rows after each round of a model whose loss stays the same."""
    return HeldOut(model.first(0), rows).scores_after(list(zip(model.members, model.steps)))


# --- fits to parts of the rows --------------------------------------------------------------------


def begin_part(
    plan: Plan, problem: Problem, part: np.ndarray, seed: int, n_threads: int, name: str
) -> tuple[AdditiveModel, BoostingRounds]:
    """The fit to a part of the rows before its first round; `name` says in errors which it is."""
    own = problem.rows.take(part)
    if problem.classes is not None and len(np.unique(own.y)) < len(problem.classes):
        known, labels = (decoded(y, problem.classes) for y in (own.y, problem.rows.y))
        raise lost_class(name, known, labels)
    check_part(problem.loss, own.y, f"the training rows of {name}")
    params = check_method_params(problem.rows.X, params=problem.fit_params, indices=part)
    problem = replace(problem, rows=own, fit_params=params)
    return begin(plan, problem, check_random_state(seed), n_threads)


def threads_of_parts(plan: Plan, n_parts: int) -> tuple[int, int]:
    """The threads of each of n fits, and how many fits run at the same time."""
    side_by_side = min(plan.n_threads, n_parts)
    return plan.n_threads // side_by_side, side_by_side


def fits_to_parts(
    plan: Plan, problem: Problem, parts: Sequence[np.ndarray], seed: int
) -> list[AdditiveModel]:
    """The models after the rounds of the plan, each fitted to one of the parts."""
    seeds = np.random.RandomState(seed).randint(SEEDS, size=len(parts)).tolist()
    n_threads, side_by_side = threads_of_parts(plan, len(parts))
    what = f"fits to parts of the rows, of {plan.n_rounds} rounds"
    progress = Progress(plan.name, len(parts), plan.verbose, unit=what)

    def fit(number: int) -> AdditiveModel:
        name = f"fit {number} of {len(parts)} to parts of the rows"
        # A function, so that what the rounds hold of the rows is not kept.
        model, rounds = begin_part(plan, problem, parts[number], seeds[number], n_threads, name)
        add_rounds(model, rounds, plan.n_rounds)
        rounds.end()
        return model

    models: list[AdditiveModel] = []
    for k in range(0, len(parts), side_by_side):
        numbers = range(k, min(k + side_by_side, len(parts)))
        models += in_threads(fit, [(number,) for number in numbers])
        progress.advance(steps=len(numbers))
    return models
