"""Fits to parts of the rows, side by side: the folds of cross-validation, halves, their means.

The number of rounds by cross-validation: each fold is a fit to its training rows whose validation
rows follow the rounds. Some rounds are made in all folds, then the mean of the folds' curves says
whether more are needed: no fold makes rounds that the choice does not wait for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, Protocol

import numpy as np
from sklearn.utils import check_random_state

from ..._compat import check_method_params
from ..._rows import Rows
from ..._running import Progress, in_threads
from .._loop import BoostingRounds
from ..losses import Loss
from .ensemble import AdditiveModel, HeldOut, n_threads_of

# The minimum is waited for by so many rounds, and by this share of those until it.
PATIENCE, PATIENCE_SHARE = 20, 0.2
# Rounds that are made in one piece, at least, and as a share of those made.
AT_ONCE, AT_ONCE_SHARE = 10, 0.1
SEEDS = np.iinfo(np.int32).max


@dataclass
class PartFits:
    """Fits to parts of the rows, by the parameters of one booster.

    Attributes
    ----------
    booster : BaseGradientBoosting
    rows : Rows
    loss : Loss
    learner : estimator
        For X as an array of numbers.
    classes : array or None
    fit_params : dict
        Of the base learner, for `rows`.
    """

    booster: Any
    rows: Rows
    loss: Loss
    learner: Any
    classes: np.ndarray | None
    fit_params: dict

    def begin(
        self, part: np.ndarray, seed: int, n_threads: int, name: str
    ) -> tuple[AdditiveModel, BoostingRounds]:
        """The fit to a part before its first round; `name` says in errors which part it is."""
        own = self.rows.take(part)
        if self.classes is not None and len(np.unique(own.y)) < len(self.classes):
            raise ValueError(
                f"{name} trains on rows without one of the classes of y; use fewer folds."
            )
        self.booster._check_part(self.loss, own.y, f"the training rows of {name}")
        params = check_method_params(self.rows.X, params=self.fit_params, indices=part)
        rng = check_random_state(seed)
        return self.booster._begin_rounds(
            own, self.loss, self.learner, self.classes, rng, params, n_threads
        )

    def models(self, parts: Sequence[np.ndarray], n_rounds: int, seed: int) -> list[AdditiveModel]:
        """The models after so many rounds, each fitted to one of the parts."""
        seeds = np.random.RandomState(seed).randint(SEEDS, size=len(parts)).tolist()
        n_threads, side_by_side = self.threads(len(parts))
        what = f"fits to parts of the rows, of {n_rounds} rounds"
        booster = self.booster
        progress = Progress(type(booster).__name__, len(parts), booster.verbose, unit=what)

        def fit(number: int) -> AdditiveModel:
            name = f"fit {number} of {len(parts)} to parts of the rows"
            # A function, so that what the rounds hold of the rows is not kept.
            model, rounds = self.begin(parts[number], seeds[number], n_threads, name)
            add_rounds(model, rounds, n_rounds)
            rounds.end()
            return model

        models: list[AdditiveModel] = []
        for k in range(0, len(parts), side_by_side):
            numbers = range(k, min(k + side_by_side, len(parts)))
            models += in_threads(fit, [(number,) for number in numbers])
            progress.advance(steps=len(numbers))
        return models

    def threads(self, n_parts: int) -> tuple[int, int]:
        """The threads of each of n fits, and how many fits run at the same time."""
        n_threads = n_threads_of(self.booster.n_jobs)
        side_by_side = min(n_threads, n_parts)
        return n_threads // side_by_side, side_by_side

    def folds(
        self,
        splits: Sequence[tuple[np.ndarray, np.ndarray]],
        rng: np.random.RandomState,
        metric_of: Callable[[Rows, Callable[[], dict]], Any] | None = None,
    ) -> MemoryFolds:
        """The folds before their first round; `metric_of` makes what is followed besides losses."""
        n_threads, side_by_side = self.threads(len(splits))

        def fold(number: int, part: np.ndarray, others: np.ndarray) -> Fold:
            # A function, so that the training rows of a fold are not kept: their codes suffice.
            name = f"cv: split {number}"
            model, rounds = self.begin(part, rng.randint(SEEDS), n_threads, name)
            attributes = partial(
                self.booster._fitted_attributes, model, self.learner, self.classes, True
            )
            rows = self.rows.take(others)
            metric = None if metric_of is None else metric_of(rows, attributes)
            return Fold(model, rounds, HeldOut(model, rows, metric))

        each = [fold(number, *split) for number, split in enumerate(splits)]
        return MemoryFolds(each, side_by_side)


def add_rounds(
    model: AdditiveModel, rounds: BoostingRounds, n_rounds: int
) -> list[tuple[list[Any], float]]:
    """Add so many rounds that nobody looks at to a model, and return them."""
    risk: Any = rounds.risk
    rounds.allow(n_rounds)
    made = []
    for record in islice(rounds, n_rounds):
        members = [record.predictor] if model.n_scores == 1 else record.predictor
        model.members.append(members)
        model.steps.append(record.step)
        model.loss = risk.scored_loss
        made.append((members, record.step))
    return made


class Fold:
    """The rounds of one fold, and the score of its validation rows after 0, 1, ... of them."""

    def __init__(self, model: AdditiveModel, rounds: BoostingRounds, held_out: HeldOut) -> None:
        self.model, self.rounds, self.held_out = model, rounds, held_out
        self.path = [held_out.score()]

    @property
    def weight(self) -> float:
        """The weight of its validation rows."""
        rows = self.held_out.rows
        return float(len(rows) if rows.weight is None else rows.weight.sum())

    def add(self, n_rounds: int) -> None:
        """Make so many rounds; where the learner has no more, the score stays as it is."""
        length = len(self.path) + n_rounds
        self.path += self.held_out.scores_after(add_rounds(self.model, self.rounds, n_rounds))
        self.path += [self.path[-1]] * (length - len(self.path))


class Folds(Protocol):
    """The fits of K folds, as the choice of the number of rounds needs them.

    Attributes
    ----------
    shares : array of shape (K,)
        Of the folds in the weight of all validation rows.
    path : array of shape (rounds + 1, K)
        The scores of the validation rows after 0, 1, ... rounds.
    """

    @property
    def shares(self) -> np.ndarray: ...

    @property
    def path(self) -> np.ndarray: ...

    def add(self, n_rounds: int) -> None:
        """Make so many rounds in each fold."""
        ...

    def models(self, n_rounds: int) -> list[AdditiveModel]:
        """The models of the first rounds of the folds."""
        ...


@dataclass
class MemoryFolds:
    """Folds of rows in memory, `n_threads` of which are boosted at the same time."""

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


def boost_folds(
    folds: Folds, most: int, sign: float, progress: Progress, rule: str = "minimum"
) -> tuple[int, np.ndarray]:
    """The number of rounds of the least mean score, and the scores of the folds, (rounds + 1, K).

    Parameters
    ----------
    folds : Folds
    most : int
        The largest number of rounds.
    sign : float
        1 where the score is a risk, -1 where greater is better.
    progress : Progress
    rule : {"minimum", "one_standard_error"}, default="minimum"
        The second takes the fewest rounds whose mean is within a standard error of the least.
    """
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
    chosen = best if rule == "minimum" else fewest
    progress.finish(f"{chosen} rounds are chosen")
    return chosen, path


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
    """The mean of the scores of the folds' models as one model, without its risks.

    Its rounds are those of the folds, the first of each and then the second of each.
    """
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


def risks_of_rounds(model: AdditiveModel, rows: Rows) -> list[float]:
    """The risks of these rows after each round of a model whose loss stays the same."""
    return HeldOut(model.first(0), rows).scores_after(list(zip(model.members, model.steps)))
