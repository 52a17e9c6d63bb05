"""Models as tables of binned features, and the stages in which rounds change them.

A *model* consists of one table a feature for each score, and of intercepts. The models of a fit are
that of all rows and, with cross-validation, one for each fold held out. What is fitted
(`squared_error_fits.py`, `logistic_stages.py`) *opens a stage*: for each model and each score it
returns the products of the residuals with all cuts, from which rounds go on without the rows.
"""

import copy
from dataclasses import dataclass, field

import numpy as np

from sklearn_ensemble_theory.boosting._additive.sums import CutLayout


@dataclass
class BinnedRows:
    """Training rows in bins.

    Attributes
    ----------
    codes : unsigned integer array of shape (n, p), in Fortran order
    layout : CutLayout
    weight : array of shape (n,) or None
    folds : integer array of shape (n,) or None
        The fold that tests on the row; `n_splits` for rows that none tests on.
    n_splits : int
        0 without cross-validation.
    """

    codes: np.ndarray
    layout: CutLayout
    weight: np.ndarray | None = None
    folds: np.ndarray | None = None
    n_splits: int = 0

    @property
    def n_groups(self) -> int:
        """The number of groups of rows of which sums are kept."""
        if self.folds is None:
            return 1
        return self.n_splits + bool((self.folds == self.n_splits).any())

    @property
    def held_out(self) -> list:
        """The fold that each model leaves out: none, then each in turn."""
        return [None, *range(self.n_splits)]


@dataclass(frozen=True)
class LabelledRows:
    """Rows in bins with what is to be predicted, those of a chunk for instance.

    Attributes
    ----------
    rows : BinnedRows
    y : array of shape (n,)
        Targets, or the numbers of classes.
    pair_folds : unsigned array of shape (n,), default=None
        The fold of each row in the boosting of pairs, where `rows` have none.
    """

    rows: BinnedRows
    y: np.ndarray
    pair_folds: np.ndarray | None = None


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

    def add(self, score: int, tables: list) -> None:
        own = self.tables[score]
        for j, table in enumerate(tables):
            if table is not None:
                own[j] = table if own[j] is None else own[j] + table


@dataclass
class Stage:
    """The state of all models at the beginning of some rounds.

    Attributes
    ----------
    states : list of lists of TableState
        By model and score.
    models : list of TableModel
        With the intercepts of this stage.
    held_losses : array of shape (n_splits,)
        The mean losses over the held-out rows.
    per_square : array of shape (1 + n_splits,)
        What a sum of squares counts in the mean loss: over all rows, then over each fold.
    train_loss : float
        The mean loss of the first model.
    """

    states: list
    models: list
    held_losses: np.ndarray
    per_square: np.ndarray
    train_loss: float

    def spend(self) -> None:
        """Forget the products of cuts, which have no use when the rounds of the stage are over."""
        self.states = [[SpentState(state.cuts) for state in own] for own in self.states]


@dataclass
class WorkingResiduals:
    """The residuals of one score, of each model at all rows.

    Attributes
    ----------
    weight : array of shape (n,) or None
    frequency : array of shape (n,) or None
        How many rows each row stands for: the weights without second derivatives.
    residuals : list of arrays of shape (n,)
    """

    weight: np.ndarray | None
    frequency: np.ndarray | None
    residuals: list


def scores_at(model: TableModel, codes: np.ndarray) -> np.ndarray:
    """The scores of a model at rows in bins: (n, n_scores)."""
    scores = np.tile(model.intercepts, (len(codes), 1))
    for score, own in enumerate(model.tables):
        for j, table in enumerate(own):
            if table is not None:
                scores[:, score] += table.take(codes[:, j])
    return scores


class SpentState:
    """The columns of a stage that is over, without their products."""

    def __init__(self, cuts) -> None:
        self.cuts = copy.copy(cuts)
        self.cuts.forget_products()


# Rounds that are run at a time where the number is chosen with patience.
_ROUNDS_AT_ONCE = 16
# A movement within rounding of the limit has reached it: learning_rate=0.1 moves a leaf of one
# class by just 0.2, the default limit, if both classes have the same weight.
_SAME = 1 - 1e-9


@dataclass
class Segment:
    """The rounds of one stage: its models, and the paths by model and score."""

    stage: Stage
    paths: list
    n_rounds: int


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
    exhausted : bool
        Whether the rounds ended because no step lowers the risk.
    """

    models: list
    n_rounds: int
    train_path: np.ndarray
    held_path: np.ndarray
    segments: list
    exhausted: bool


def run_phase(
    risk,
    models,
    make_rounds,
    max_rounds,
    *,
    limit=np.inf,
    longest=np.inf,
    tolerance=0.0,
    patience=None,
    choose=True,
    by_rows=False,
    progress=None,
):
    """Run rounds of one kind, and go back to the best number of them.

    Parameters
    ----------
    risk : SquaredErrorFits or LogisticStages
    models : list of TableModel
        That of all rows, then those of the folds.
    make_rounds : callable
        Of a `TableState`: an object with `run(n_rounds)`, `path`, `exhausted`, `falls` and
        `held_changes`.
    max_rounds : int
    limit : float, default=inf
        The largest change of a table in one stage.
    longest : int, default=inf
        The largest number of rounds of a stage, where `limit` is finite.
    tolerance : float, default=0
        See `LogisticStages.open`.
    patience : int, default=None
        The phase ends when the mean held-out loss has had no new minimum for so many rounds.
    choose : bool, default=True
        Whether to go back to the best number of rounds.
    by_rows : bool, default=False
        Whether the rounds sum residuals of rows and not products of cuts.
    progress : Progress, default=None

    Returns
    -------
    PhaseResult
    """
    segments: list[Segment] = []
    train, held, done, exhausted = [], [], 0, False
    while not segments or (done < max_rounds and not exhausted):
        stage = risk.open(models, tolerance, by_rows)
        rounds = [[make_rounds(state) for state in own] for own in stage.states]
        most = max_rounds - done if risk.is_quadratic else min(max_rounds - done, longest)
        count = _run_stage(limit, rounds, int(most), patience, progress)
        exhausted = all(each.exhausted for each in rounds[0])
        if not risk.is_quadratic:  # what the end of a stage leaves, the next one may find
            exhausted = exhausted and count == 0
        segment = Segment(stage, [[each.path for each in own] for own in rounds], count)
        segments.append(segment)
        paths = _losses_of_stage(stage, rounds, count)
        keep_last = exhausted or done + count >= max_rounds
        train.append(paths[0] if keep_last else paths[0][:-1])
        held.append(paths[1] if keep_last else paths[1][:-1])
        done += count
        models = _models_after(segment, count)
        stage.spend()
        if patience is not None and not keep_last:
            so_far = np.concatenate(held).mean(axis=1)
            if len(so_far) - so_far.argmin() > patience:
                train.append(paths[0][-1:])
                held.append(paths[1][-1:])
                break
    train_path, held_path = np.concatenate(train), np.concatenate(held)
    if choose and held_path.shape[1]:
        models, segments = _rewind(segments, int(held_path.mean(axis=1).argmin()))
    n_rounds = sum(max(len(path.steps) for path in s.paths[0]) for s in segments)
    return PhaseResult(models, n_rounds, train_path, held_path, segments, exhausted)


def _run_stage(limit, rounds, max_rounds, patience, progress):
    """Rounds of all models until the scores have moved by `limit`; their number."""
    done, best, best_at = 0, np.inf, 0
    steady = not np.isfinite(limit)
    chunk = 1
    if steady:
        chunk = max_rounds if patience is None else max(_ROUNDS_AT_ONCE, patience // 4)
    while done < max_rounds:
        count = min(chunk, max_rounds - done)
        for each in rounds[0]:
            each.run(count, progress) if progress is not None else each.run(count)
        done += count
        moved = 0.0 if steady else max(_movement(each) for each in rounds[0])
        over = moved >= _SAME * limit or all(each.exhausted for each in rounds[0])
        if steady and patience is not None:
            for own in rounds[1:]:
                for each in own:
                    each.run(done - each.n_run)
            total = np.mean(
                [sum(each.held_changes.sum() for each in own) for own in rounds[1:]] or [0.0]
            )
            if total < best:
                best, best_at = total, done
            over = over or done - best_at > patience
        if over:
            break
        if not steady:
            per_round = max(moved / done, 1e-300)
            chunk = int(np.clip((limit - moved) / per_round, 1, 4 * done))
    if not steady and all(each.exhausted for each in rounds[0]):
        done = max(each.n_run for each in rounds[0])
    for own in rounds[1:]:
        for each in own:
            each.run(done - each.n_run)
    return done


def _movement(each):
    """The largest change of a table in the rounds of a stage so far."""
    cuts = each.state.cuts
    tables = cuts.tables(each.path.coefficients(cuts))
    return max((np.abs(t).max() for t in tables if t is not None), default=0.0)


def _losses_of_stage(stage, rounds, count):
    """Mean losses after 0, ..., count rounds: of the first model, and of each on its fold."""
    train = stage.train_loss - stage.per_square[0] * _summed(rounds[0], "falls", count)
    held = np.empty((count + 1, len(rounds) - 1))
    for fold, own in enumerate(rounds[1:]):
        changes = _summed(own, "held_changes", count)
        held[:, fold] = stage.held_losses[fold] + stage.per_square[1 + fold] * changes
    return np.maximum(train, 0), np.maximum(held, 0)


def _summed(own, name, count):
    """The cumulated changes of all scores; a score whose rounds have ended changes no more."""
    total = np.zeros(count + 1)
    for each in own:
        changes = np.zeros(count)
        found = getattr(each, name)
        changes[: len(found)] = found
        total[1:] += np.cumsum(changes)
    return total


def _models_after(segment, n_rounds):
    models = []
    for model, states, paths in zip(segment.stage.models, segment.stage.states, segment.paths):
        model = model.copy()
        for score, (state, path) in enumerate(zip(states, paths)):
            cuts = state.cuts
            model.add(score, cuts.tables(path.until(n_rounds).coefficients(cuts)))
        models.append(model)
    return models


def _rewind(segments, n_rounds):
    """The models after `n_rounds` rounds, and the segments until then."""
    kept, left = [], n_rounds
    for segment in segments:
        count = min(left, segment.n_rounds)
        paths = [[path.until(count) for path in own] for own in segment.paths]
        kept.append(Segment(segment.stage, paths, count))
        left -= count
        if left == 0:
            break
    return _models_after(kept[-1], kept[-1].n_rounds), kept
