"""Rounds of one kind for the models of all rows and of all folds at once; their best number.

A *model* consists of one table a feature for each score, and of intercepts. The models of a fit are
that of all rows and, with cross-validation, one for each fold held out. A *risk*, that is what is
fitted (`squared_error.py`, `newton_loss.py`), *opens a stage*: for each model and each score it
returns the state of the residuals, from which rounds go on without it. A *phase* is made of stages:
one for the squared error, as many as gradients are computed for other losses.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from ..._running import Progress
from .cuts import NormalizedCuts, RowState, TableState
from .rounds import SmoothingPath, SmoothingRounds, StumpPath, TableStumps
from .sums import CutLayout

MIB = 2**20
# Rounds that are run at a time where the number is chosen with patience.
_ROUNDS_AT_ONCE = 16
# A movement within rounding of the limit has reached it: learning_rate=0.25 moves a leaf of one
# class by just 0.5, the default limit, if both classes have the same weight.
_SAME = 1 - 1e-9
# Stages that have moved a table or an intercept further are looked at again; see `_lowering`. A
# loss that changes by no more than this share has not risen.
SAFE_MOVE, MOST_HALVINGS, ROUNDING = 1.0, 60, 1e-13
# Where the model of all rows takes less than this of its steps, none is left that lowers its loss.
NO_SHARE = 1e-9
# Where no round is left, intercepts have further stages until they move by no more than this.
STILL, MOST_IDLE = 1e-9, 60


@dataclass
class BinnedRows:
    """Rows in bins with what is to be predicted, in memory or those of one block.

    Attributes
    ----------
    codes : unsigned integer array of shape (n, p), in Fortran order
    layout : CutLayout
    y : array of shape (n,)
        Targets, or the numbers of classes.
    weight : array of shape (n,) or None
    folds : integer array of shape (n,) or None
        The fold that tests on the row; `n_splits` for rows that none tests on.
    n_splits : int
        0 without cross-validation.
    pair_folds : unsigned array of shape (n,), default=None
        The fold of each row in the boosting of pairs, where there are no `folds`.
    groups : int array of shape (n,), default=None
        Codes of the groups that rows belong to.
    offset : float array of shape (n,), default=None
        What is added to the scores; None for the squared error, whose targets are without it.
    """

    codes: np.ndarray
    layout: CutLayout
    y: np.ndarray
    weight: np.ndarray | None = None
    folds: np.ndarray | None = None
    n_splits: int = 0
    pair_folds: np.ndarray | None = None
    groups: np.ndarray | None = None
    offset: np.ndarray | None = None

    @cached_property
    def n_groups(self) -> int:
        """The number of groups of rows of which sums are kept."""
        if self.folds is None:
            return 1
        return self.n_splits + bool((self.folds == self.n_splits).any())


@dataclass
class TableModel:
    """Intercepts of the scores, and for each score a table (or None) of each feature."""

    intercepts: np.ndarray
    tables: list = field(default_factory=list)

    def copy(self) -> "TableModel":
        return TableModel(
            self.intercepts.copy(),
            [[None if t is None else t.copy() for t in own] for own in self.tables],
        )

    def add(self, score: int, tables: Sequence[np.ndarray | None]) -> None:
        own = self.tables[score]
        for j, table in enumerate(tables):
            if table is not None:
                own[j] = table if own[j] is None else own[j] + table

    def scores(self, codes: np.ndarray) -> np.ndarray:
        """Add up the tables at rows in bins: (n, n_scores)."""
        scores = np.tile(self.intercepts, (len(codes), 1))
        for score, own in enumerate(self.tables):
            for j, table in enumerate(own):
                if table is not None:
                    scores[:, score] += table.take(codes[:, j])
        return scores


@dataclass
class Stage:
    """The state of all models at the beginning of some rounds.

    Attributes
    ----------
    states : list of lists of TableState or RowState
        By model and score.
    models : list of TableModel
        With the intercepts of this stage.
    losses : array of shape (1 + n_splits,)
        The mean loss of the first model over all rows, and of each other one over its held-out
        rows.
    per_square : array of shape (1 + n_splits,)
        What a sum of squares counts in these.
    fitted_losses : array of shape (1 + n_splits,), default=None
        The mean loss of each model over the rows that it is fitted to; not of the squared error.
    """

    states: list[list[TableState | RowState]]
    models: list[TableModel]
    losses: np.ndarray
    per_square: np.ndarray
    fitted_losses: np.ndarray | None = None


class Risk(Protocol):
    """What is fitted, as sums over the rows: the squared error, or another loss."""

    n_splits: int
    is_quadratic: bool  # whether one stage lasts for all rounds
    is_rough: bool  # whether every stage is looked at
    unit: float  # of the scores
    max_cuts: int | None  # of how many cuts each model keeps the rows of products; None for all
    rows: BinnedRows | None  # where they are in memory

    def start(self) -> list[TableModel]:
        """Models of intercepts alone."""

    def open(
        self, models: list[TableModel], tolerance: float = 0.0, by_rows: bool = False
    ) -> Stage:
        """The next stage: see `NewtonLoss.open`."""


def cuts_in_memory(max_memory: float, rows: BinnedRows, n_scores: int = 1) -> int | None:
    """Tell of how many cuts the sums with all cuts can be kept; None for all."""
    n_cuts, n_groups, n_splits = rows.layout.n_cuts, rows.n_groups, rows.n_splits
    # as counted, and as products of columns of each model, held-out rows apart
    copies = n_scores * (n_groups + 1 + 2 * n_splits)
    each = copies * n_cuts * 8 / MIB
    if each > max_memory:
        raise ValueError(
            f"max_memory={max_memory} MiB is less than the {each:.2g} MiB of the sums "
            f"over one of the {n_cuts} cuts with all others; use fewer bins."
        )
    return None if each * n_cuts <= max_memory else int(max_memory / each)


@dataclass
class Segment:
    """The rounds of one stage: cuts and paths by model and score, and the models before them."""

    models: list[TableModel]
    cuts: list[list[NormalizedCuts]]
    paths: list[list[SmoothingPath | StumpPath]]
    n_rounds: int

    def models_after(self, n_rounds: int) -> list[TableModel]:
        found = []
        for model, cuts, paths in zip(self.models, self.cuts, self.paths):
            model = model.copy()
            for score, (own, path) in enumerate(zip(cuts, paths)):
                model.add(score, own.tables(path.until(n_rounds).coefficients(own)))
            found.append(model)
        return found


@dataclass
class PhaseResult:
    """The outcome of a phase.

    Attributes
    ----------
    models : list of TableModel
        After `n_rounds` rounds.
    n_rounds : int
        The number with the least mean held-out loss, or without cross-validation all.
    train_path : array of shape (T + 1,)
    held_path : array of shape (T + 1, n_splits)
        Mean losses after 0, 1, ..., T rounds.
    segments : list of Segment
        The stages of the first `n_rounds` rounds.
    """

    models: list[TableModel]
    n_rounds: int
    train_path: np.ndarray
    held_path: np.ndarray
    segments: list[Segment]


def run_phase(
    risk: Risk,
    models: list[TableModel],
    make_rounds: Callable[[TableState | RowState], SmoothingRounds | TableStumps],
    max_rounds: int,
    *,
    limit: float = np.inf,
    longest: float = np.inf,
    tolerance: float = 0.0,
    patience: int | None = None,
    choose: bool = True,
    by_rows: bool = False,
    progress: Progress | None = None,
) -> PhaseResult:
    """Run rounds of one kind, and go back to the best number of them.

    Parameters
    ----------
    risk : Risk
    models : list of TableModel
        That of all rows, then those of the folds.
    make_rounds : callable
        Of a state: an object with `run(n_rounds)`, `path`, `exhausted`, `n_run`, `falls` and
        `held_changes`.
    max_rounds : int
    limit : float, default=inf
        The largest change of a table in one stage.
    longest : int, default=inf
        The largest number of rounds of a stage, where `limit` is finite.
    tolerance : float, default=0
        See `NewtonLoss.open`.
    patience : int, default=None
        The phase ends when the mean held-out loss has had no new minimum for so many rounds.
    choose : bool, default=True
        Whether to go back to the best number of rounds.
    by_rows : bool, default=False
        Whether the rounds sum residuals of rows and not products of cuts.
    progress : Progress, default=None
    """
    segments: list[Segment] = []
    start, shares = models, np.ones(len(models))
    train, held, done, exhausted, n_idle = [], [], 0, False, 0
    while not segments or (done < max_rounds and not exhausted):
        # The risk gives states of the residuals, and rounds change these until the stage is over.
        stage = risk.open(models, tolerance, by_rows)
        rounds = [[make_rounds(state) for state in own] for own in stage.states]
        most = max_rounds - done if risk.is_quadratic else min(max_rounds - done, longest)
        count, moved = _run_stage(rounds, int(most), limit, patience, progress)
        exhausted = all(each.exhausted for each in rounds[0])
        if not risk.is_quadratic:
            # What the end of a stage leaves, the next one may find, also where it has moved nothing
            # but the intercept.
            shift = [
                np.abs(m.intercepts - o.intercepts).max() for m, o in zip(stage.models, models)
            ]
            n_idle = 0 if count else n_idle + 1
            is_still = shift[0] <= STILL * risk.unit or n_idle > MOST_IDLE
            exhausted = exhausted and count == 0 and is_still
            moved = np.max([moved, *shift])
        # Mean losses after 0, ..., count rounds: of the first model, and of each on its fold.
        of_train = stage.losses[0] - stage.per_square[0] * _cumulated(rounds[0], "falls", count)
        of_held = np.empty((count + 1, len(rounds) - 1))
        for fold, own in enumerate(rounds[1:]):
            changes = _cumulated(own, "held_changes", count)
            of_held[:, fold] = stage.losses[1 + fold] + stage.per_square[1 + fold] * changes
        if risk.is_quadratic:  # not below 0 by rounding
            of_train, of_held = np.maximum(of_train, 0), np.maximum(of_held, 0)
        of_held[~np.isfinite(of_held)] = np.inf  # beyond the range of floats
        cuts = [[state.cuts.without_products() for state in own] for own in stage.states]
        paths = [[each.path for each in own] for own in rounds]
        segment = Segment(stage.models, cuts, paths, count)
        if risk.is_rough or not (risk.is_quadratic or moved <= SAFE_MOVE * risk.unit):
            first = np.minimum(4 * shares, 1.0)
            segment, shares, after = _lowering(segment, risk, models, stage, first)
            exhausted = exhausted or bool(shares[0] < NO_SHARE)
            # What the quadratic says of the whole steps is not true of a share of them.
            for number, losses in enumerate((of_train, *of_held.T)):
                if shares[number] < 1:
                    losses[:] = np.linspace(stage.losses[number], after[number], count + 1)
        # The next stage begins with the losses after the last round, computed again.
        keep_last = exhausted or done + count >= max_rounds
        train.append(of_train if keep_last else of_train[:-1])
        held.append(of_held if keep_last else of_held[:-1])
        done += count
        segments.append(segment)
        models = segment.models_after(count)
        if patience is not None and not keep_last and done:
            so_far = np.concatenate(held).mean(axis=1)
            if len(so_far) - so_far.argmin() > patience:
                train.append(of_train[-1:])
                held.append(of_held[-1:])
                break
    train_path, held_path = np.concatenate(train), np.concatenate(held)
    # Back to the best number of rounds: the stages until then, and the models after it.
    if choose and held_path.shape[1]:
        left, kept = int(held_path.mean(axis=1).argmin()), []
        for segment in segments if left else segments[:1]:
            count = min(left, segment.n_rounds)
            paths = [[path.until(count) for path in own] for own in segment.paths]
            # Without a round nothing changes, the intercept neither.
            kept.append(Segment(segment.models if left else start, segment.cuts, paths, count))
            left -= count
            if left == 0:
                break
        segments, models = kept, kept[-1].models_after(kept[-1].n_rounds)
    n_rounds = sum(max(len(path.steps) for path in s.paths[0]) for s in segments)
    return PhaseResult(models, n_rounds, train_path, held_path, segments)


def _run_stage(rounds, max_rounds, limit, patience, progress):
    """Run rounds of all models until the tables have moved by `limit`.

    Returns their number, and by how much the tables of any model have moved where there is a limit.

    The first model decides how many rounds there are, and the models of the folds follow. With
    patience, and no limit, these run along, for the held-out loss.
    """
    done, best, best_at, moved = 0, np.inf, 0, 0.0
    steady = not np.isfinite(limit)
    at_once = 1
    if steady:
        at_once = max_rounds if patience is None else max(_ROUNDS_AT_ONCE, patience // 4)
    while done < max_rounds:
        count = min(at_once, max_rounds - done)
        for each in rounds[0]:
            each.run(count, progress) if progress is not None else each.run(count)
        done += count
        moved = 0.0 if steady else _moved(rounds[0])
        over = moved >= _SAME * limit or all(each.exhausted for each in rounds[0])
        if steady and patience is not None:
            for own in rounds[1:]:
                for each in own:
                    each.run(done - each.n_run)
            total = np.mean(
                [sum(np.sum(each.held_changes) for each in own) for own in rounds[1:]] or [0.0]
            )
            if total < best:
                best, best_at = total, done
            over = over or done - best_at > patience
        if over:
            break
        if not steady:
            # As many rounds as would reach the limit at the present speed, at most four times
            # those that were made.
            per_round = max(moved / done, 1e-300)
            at_once = int(np.clip((limit - moved) / per_round, 1, 4 * done))
    if not steady and all(each.exhausted for each in rounds[0]):
        done = max(each.n_run for each in rounds[0])
    for own in rounds[1:]:
        for each in own:
            each.run(done - each.n_run)
    return done, 0.0 if steady else np.max([moved, *map(_moved, rounds[1:])])


def _moved(own):
    """The largest change of a table of a model by the rounds of a stage."""
    moved = [0.0]
    for each in own:
        cuts = each.state.cuts
        tables = cuts.tables(each.path.coefficients(cuts))
        moved += [np.abs(t).max() for t in tables if t is not None]
    return float(np.max(moved))


def _lowering(
    segment: Segment, risk: Any, before: list[TableModel], stage: Stage, first: np.ndarray
) -> tuple[Segment, np.ndarray, np.ndarray]:
    """The segment with the share of the steps of each model that does not raise its own loss.

    A stage of one round may go far beyond the limit: where curvatures are small, and the quadratic
    that has them holds nearby only. The curvatures of the models of folds are those of the first
    model, and may be far too small for them.

    `first` are the shares that are tried first, which follow those of the stage before. Returns
    also the shares, and the losses afterwards, as in `Stage`.
    """
    models, paths, shares = segment.models, segment.paths, first.copy()
    known = stage.fitted_losses
    assert known is not None
    most = known + ROUNDING * np.abs(known)
    for halvings in range(MOST_HALVINGS + 1):
        if (shares < 1).any():
            segment = replace(
                segment,
                models=[
                    TableModel(
                        old.intercepts + share * (new.intercepts - old.intercepts), new.tables
                    )
                    if share < 1
                    else new
                    for old, new, share in zip(before, models, shares)
                ],
                paths=[[path.times(share) for path in own] for own, share in zip(paths, shares)],
            )
        with np.errstate(over="ignore", invalid="ignore"):  # wherever the steps lead
            fitted, losses = risk.losses(segment.models_after(segment.n_rounds))
        above = ~(fitted <= most)
        if halvings == MOST_HALVINGS or not above.any():
            break
        shares[above] *= 0.5
    return segment, shares, losses


def _cumulated(own, name, count):
    """Cumulate the changes of all scores; a score whose rounds have ended changes no more."""
    total = np.zeros(count + 1)
    for each in own:
        changes = np.zeros(count)
        found = getattr(each, name)
        changes[: len(found)] = found
        total[1:] += np.cumsum(changes)
    return total
