"""The number of rounds by cross-validation, from folds in memory or in blocks.

Each fold is a fit to its training rows whose validation rows follow the rounds. Some rounds are
made in all folds, then the mean of the folds' curves says whether more are needed: no fold makes
rounds that the choice does not wait for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..._cv_choice import CVRounds
from ..._rows import Rows
from ..._running import Progress, in_threads
from .._loop import BoostingRounds
from .memory import SEEDS, HeldOut, Metric, add_rounds, begin_part, threads_of_parts
from .model import AdditiveModel
from .plan import Plan, Problem

# The minimum is waited for by so many rounds, and by this share of those until it.
PATIENCE, PATIENCE_SHARE = 20, 0.2
# Less than this share of what all rounds have gained is no gain: few rows are fitted exactly after
# some hundred rounds, and then the score goes on to fall by rounding errors.
NO_GAIN = 1e-9
# Rounds that are made in one piece, at least, and as a share of those made.
AT_ONCE, AT_ONCE_SHARE = 10, 0.1


class Folds(Protocol):
    """The fits of K folds, as the choice of the number of rounds needs them.

    `shares` (K,) are those of the folds in the weight of all validation rows, `path` (rounds + 1,
    K) the scores of the validation rows after 0, 1, ... rounds.
    """

    @property
    def shares(self) -> np.ndarray: ...

    @property
    def path(self) -> np.ndarray: ...

    def add(self, n_rounds: int) -> None:
        """Make so many rounds in each fold."""
        ...

    def models(self, n_rounds: int) -> list[AdditiveModel]: ...


class Fold:
    """The rounds of one fold, and the score of its validation rows after 0, 1, ... of them."""

    def __init__(self, model: AdditiveModel, rounds: BoostingRounds, held_out: HeldOut) -> None:
        self.model, self.rounds, self.held_out = model, rounds, held_out
        self.path = [held_out.score()]

    @property
    def weight(self) -> float:
        rows = self.held_out.rows
        return float(len(rows) if rows.weight is None else rows.weight.sum())

    def add(self, n_rounds: int) -> None:
        """Make so many rounds; where the learner has no more, the score stays as it is."""
        length = len(self.path) + n_rounds
        self.path += self.held_out.scores_after(add_rounds(self.model, self.rounds, n_rounds))
        self.path += [self.path[-1]] * (length - len(self.path))


@dataclass
class MemoryFolds:
    """`Folds` of rows in memory, `n_threads` at the same time."""

    folds: list[Fold]
    n_threads: int

    @property
    def shares(self) -> np.ndarray:
        weights = np.array([fold.weight for fold in self.folds])
        return weights / weights.sum()

    @property
    def path(self) -> np.ndarray:
        return np.array([fold.path for fold in self.folds]).T

    def add(self, n_rounds: int) -> None:
        for k in range(0, len(self.folds), self.n_threads):
            some = self.folds[k : k + self.n_threads]
            in_threads(Fold.add, [(fold, n_rounds) for fold in some])

    def models(self, n_rounds: int) -> list[AdditiveModel]:
        return [fold.model.first(n_rounds) for fold in self.folds]


def folds_of(
    plan: Plan,
    problem: Problem,
    splits: Sequence[tuple[np.ndarray, np.ndarray]],
    rng: np.random.RandomState,
    metric_of: Callable[[Rows], Metric | None] = lambda rows: None,
) -> MemoryFolds:
    """The folds before their first round; `metric_of` rows is what is followed besides losses."""
    n_threads, side_by_side = threads_of_parts(plan, len(splits))

    def fold(number: int, part: np.ndarray, others: np.ndarray) -> Fold:
        # A function, so that the training rows of a fold are not kept: their codes suffice.
        name = f"cv: split {number}"
        model, rounds = begin_part(plan, problem, part, rng.randint(SEEDS), n_threads, name)
        rows = problem.rows.take(others)
        return Fold(model, rounds, HeldOut(model, rows, metric_of(rows)))

    return MemoryFolds([fold(number, *split) for number, split in enumerate(splits)], side_by_side)


# --- the choice -----------------------------------------------------------------------------------


def boost_folds(folds: Folds, choice: CVRounds, progress: Progress) -> tuple[int, np.ndarray]:
    """The number of rounds of the least mean score, and the scores (rounds + 1, K) of the folds."""
    most, sign = choice.max_estimators, 1.0 if choice.scoring == "loss" else -1.0
    weights = folds.shares
    n_rounds = 0
    while True:
        step = min(max(AT_ONCE, int(AT_ONCE_SHARE * n_rounds)), most - n_rounds)
        folds.add(step)
        n_rounds += step
        path = folds.path
        best, fewest = rounds_of_rules(path, weights, sign)
        score = path[best] @ weights
        progress.advance(f"mean validation score {score:.4g} of {best} rounds", step)
        if n_rounds == most or n_rounds - best >= PATIENCE + PATIENCE_SHARE * best:
            break
        if is_flat(sign * (path @ weights)):
            break
    chosen = best if choice.rule == "minimum" else fewest
    progress.finish(f"{chosen} rounds are chosen")
    return chosen, path


def is_flat(scores: np.ndarray) -> bool:
    """Whether the last rounds, as many as a minimum is waited for, have lowered no score."""
    seen = int((len(scores) - 1 - PATIENCE) / (1 + PATIENCE_SHARE))
    least = scores[1:].min()
    gained = scores[0] - least
    if seen < 1 or not np.isfinite(gained):
        return False
    return bool(scores[1 : 1 + seen].min() - least <= NO_GAIN * gained)


def rounds_of_rules(path: np.ndarray, weights: np.ndarray, sign: float) -> tuple[int, int]:
    """The rounds of the least mean score, and the fewest whose mean is a standard error from it."""
    # The model without rounds is none of those that a fit can have.
    mean = sign * (path[1:] @ weights)
    best = int(np.argmin(mean))
    close = mean <= mean[best] + standard_errors(path[1 + best], weights)
    return 1 + best, 1 + int(np.argmax(close))


def standard_errors(path: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Of the weighted means of K scores on the last axis, as if the folds were independent.

    sum_k p_k² (s_k - mean)² K / (K - 1), which for equal weights p is the variance over K.
    """
    K = path.shape[-1]
    deviations = path - (path @ weights)[..., None]
    # Squares of risks, which are squares already, could overflow.
    return np.hypot.reduce(weights * deviations, axis=-1) * np.sqrt(K / max(K - 1, 1))


def mean_model(models: Sequence[AdditiveModel]) -> AdditiveModel:
    """The mean of the scores of the folds' models as one model, their rounds in turn."""
    first, K = models[0], len(models)
    start: Any = first.init
    if not isinstance(start, str):
        start = sum(np.asarray(model.init) for model in models) / K
    mean = AdditiveModel(first.loss, start, first.n_scores, first.of_classes, first.has_vectors)
    for t in range(max(len(model.members) for model in models)):
        # A fold whose learner had no more to offer has fewer rounds.
        for model in models:
            if t < len(model.members):
                mean.members.append(model.members[t])
                mean.steps.append(model.steps[t] / K)
    return mean


def results_of(path: np.ndarray, shares: np.ndarray) -> dict[str, np.ndarray]:
    """The scores of the folds after 1, 2, ... rounds, as `cv_results_` has them."""
    path = path[1:]
    found = {
        "n_estimators": np.arange(1, len(path) + 1),
        "mean_score": path @ shares,
        "standard_error": standard_errors(path, shares),
    }
    return found | {f"split{k}_score": scores for k, scores in enumerate(path.T)}
