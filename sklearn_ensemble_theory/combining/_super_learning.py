"""The fit of a super learner: members of a library, their weights, and what their mean becomes.

Each member is fitted once where its one fit tells what it predicts for held-out rows
(`HoldsOutRows`), and for each fold otherwise. One that fails is left out. The weights are those of
a rule for the rows that all members have predictions of, and so is what is done with the mean.
"""

import time
import warnings
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import softmax
from sklearn.utils import assert_all_finite
from sklearn.utils.parallel import Parallel, delayed

from sklearn_ensemble_theory._categories import CategoricalColumns
from sklearn_ensemble_theory._features import columns_of_text, is_frame, refuse_unread
from sklearn_ensemble_theory._folds import Split
from sklearn_ensemble_theory._rows import Rows, normalised_weights
from sklearn_ensemble_theory._running import Progress, warn_user

from ._aggregation import RISKS
from ._member_fits import (
    HeldOutMembers,
    Member,
    MembersPlan,
    MembersProblem,
    Outputs,
    fit_members,
    predicted,
)
from ._stack import RuleOfWeights, held_out_combination

# Members of less weight are left out: they would be asked for next to nothing.
SMALLEST_WEIGHT = 0.01
# Rows of the shares of the classes among the probabilities.
PRIOR_ROWS_OF_CLASSES = 0.05
# Of the probabilities of a row, and of their sum.
LARGEST_ERROR = 1e-3
# The standard deviation of the prior of the logarithm of the temperature.
SPREAD_OF_TEMPERATURE = 0.2


# --- plan and problem -----------------------------------------------------------------------------


@dataclass(frozen=True)
class LibraryMember:
    """A member of the library.

    `is_ours` says whether it is one by name, which reads numbers in place of categories; `cost` is
    the place of its cost among those of all members.
    """

    member: Member
    is_ours: bool
    cost: int


@dataclass(frozen=True)
class Tempering:
    """What is done with weighted means of probabilities: a temperature, and shares of the classes.

    - shares: of the classes in the weight of the rows.
    - n_rows: the number that the weights of the rows stand for.
    - is_learned: whether the temperature is that of the smallest log-loss, or 1.
    """

    shares: np.ndarray
    n_rows: float
    is_learned: bool
    temperature: float = 1.0

    def learned(self, P: np.ndarray, y: np.ndarray, weight: np.ndarray | None) -> Self:
        if not self.is_learned:
            return self
        share = normalised_weights(weight, len(y))
        found = best_temperature(P, y, share, self.shares, self.n_rows)
        return replace(self, temperature=found)

    @property
    def added_shares(self) -> tuple[float, np.ndarray]:
        """What tempered probabilities are multiplied by, and what is then added to them."""
        total = self.n_rows + PRIOR_ROWS_OF_CLASSES
        return self.n_rows / total, PRIOR_ROWS_OF_CLASSES * self.shares / total

    def applied(self, P: np.ndarray) -> np.ndarray:
        return with_shares(tempered(P, self.temperature), self.shares, self.n_rows)


@dataclass(frozen=True)
class SuperPlan:
    """How a super learner is fitted; combination and tempering are not learned yet.

    - combination: with the outputs of one member.
    - loss: of the weights.
    - tempering: None where members predict numbers.
    - time_limit: seconds.
    """

    members: list[LibraryMember]
    combination: RuleOfWeights
    loss: str
    tempering: Tempering | None
    time_limit: float | None
    n_jobs: int | None


@dataclass(frozen=True)
class SuperProblem:
    """The rows as they were given, their numbers, which members of ours read, and the splits."""

    rows: Rows
    numbers: Any
    splits: list[Split]

    def of(self, one: LibraryMember) -> MembersProblem:
        rows = replace(self.rows, X=self.numbers) if one.is_ours else self.rows
        return MembersProblem(rows, self.splits)


# --- what a fit leaves ----------------------------------------------------------------------------


@dataclass(frozen=True)
class FittedMember:
    """A member after its fit, or the error that has ended it.

    `seconds` are those of the fit, with all that holds rows out.
    """

    name: str
    seconds: float
    model: Any = None
    held_out: HeldOutMembers | None = None
    error: Exception | None = None


def numbers_of_columns(columns: CategoricalColumns | None, X: Any) -> Any:
    """X with numbers in place of categories; as it is where there are no such columns."""
    if columns is None:
        return X
    refuse_unread(X)  # other members may take dates
    if is_frame(X):
        for j in columns_of_text(X, np.flatnonzero(~columns.flags)):
            raise TypeError(
                f"Feature {columns.features.label(j)} had numbers in fit, and has text now."
            )
    found = columns.encode(X)
    assert_all_finite(found, allow_nan=True, input_name="X")
    return found


@dataclass(frozen=True)
class Mixture:
    """A weighted mean of what fitted members predict, with weights of sum 1.

    Members that `are_ours` read numbers in place of categories, which `columns` makes.
    """

    members: dict[str, Any]
    weights: np.ndarray
    are_ours: np.ndarray
    columns: CategoricalColumns | None
    outputs: Outputs
    tempering: Tempering | None

    def of(self, X: Any, **params: Any) -> np.ndarray:
        """The predictions for checked rows; `params` are those of the members' `predict`."""
        numbers, total = numbers_of_columns(self.columns, X), np.zeros(())
        classes, method = self.outputs.classes_of_columns, self.outputs.methods[0]
        for model, weight, is_ours in zip(self.members.values(), self.weights, self.are_ours):
            if weight == 0:
                continue
            # Of others, which may change their rows in place, each has its own.
            own = numbers if is_ours else deepcopy(X)
            if params:
                total = total + weight * getattr(model, method)(own, **params)
            else:
                total = total + weight * predicted(model, method, own, classes)
        return total if self.tempering is None else self.tempering.applied(total)

    def used(self) -> "Mixture":
        """The same without the members of weight 0."""
        is_used = self.weights > 0
        members = {
            name: model for (name, model), used in zip(self.members.items(), is_used) if used
        }
        return replace(
            self,
            members=members,
            weights=self.weights[is_used],
            are_ours=self.are_ours[is_used],
            outputs=replace(self.outputs, methods=self.outputs.methods[:1] * len(members)),
        )


@dataclass(frozen=True)
class FittedLibrary:
    """What a fit finds: the members that have not failed, and weights of sum 1.

    - rows: those that all members hold out.
    - held_out: their predictions by weights of other folds; None where there is one fold.
    - loss: of these rows by the weights of all folds.
    """

    members: list[FittedMember]
    weights: np.ndarray
    outputs: Outputs
    tempering: Tempering | None
    leaderboard: dict[str, np.ndarray]
    rows: np.ndarray
    held_out: np.ndarray | None
    loss: float

    def mixture(self, ours: set[str], columns: CategoricalColumns | None) -> Mixture:
        """What predicts; members of the names `ours` read the numbers of the columns."""
        members = {each.name: each.model for each in self.members}
        are_ours = np.array([name in ours for name in members])
        return Mixture(members, self.weights, are_ours, columns, self.outputs, self.tempering)


# --- the fit --------------------------------------------------------------------------------------


def fit_super_learner(plan: SuperPlan, problem: SuperProblem, progress: Progress) -> FittedLibrary:
    """The members, their weights, and what is predicted for held-out rows.

    If every member fails, the error of the first one is raised.
    """
    with np.errstate(all="ignore"):  # of members that are not ours
        members = _without_failed(list(_fitted(plan, problem, progress)))
    held, rows = together(members), problem.rows
    outputs = replace(
        plan.combination.outputs, methods=plan.combination.outputs.methods * len(members)
    )
    combination = replace(plan.combination, outputs=outputs)
    rule: Any = combination.learned(held, rows).rule
    v = np.where(rule.estimator_weights_ < SMALLEST_WEIGHT, 0.0, rule.estimator_weights_)
    weights = v / v.sum()
    found = None
    if len(held.fold_places) > 1:
        found = held_out_combination(combination, held, rows)

    (table,), weight = outputs.tables(held.predictions), rows.weight
    mixed, tempering = np.tensordot(table, weights, (1, 0)), plan.tempering
    y, weight = rows.y[held.rows], None if weight is None else weight[held.rows]
    if tempering is not None:
        tempering = tempering.learned(mixed, y, weight)
        mixed = tempering.applied(mixed)
        found = None if found is None else tempering.applied(found)
    risk = RISKS[plan.loss](mixed[:, None], y, normalised_weights(weight, len(y)))
    loss = float(risk.in_units(risk.weight @ risk.candidate_losses()[:, 0]))
    board = leaderboard_of(members, weights, rule.cv_results_)
    return FittedLibrary(members, weights, outputs, tempering, board, held.rows, found, loss)


def _without_failed(found: list[FittedMember]) -> list[FittedMember]:
    """The members that have not failed, with a warning for each of the others."""
    failed = [each for each in found if each.error is not None]
    found = [each for each in found if each.error is None]
    if not found:
        error = failed[0].error
        assert error is not None
        raise error
    for each in failed:
        warn_user(f"The member {each.name!r} is left out, because its fit failed: {each.error}")
    return found


def _fitted(plan: SuperPlan, problem: SuperProblem, progress: Progress) -> Iterator[FittedMember]:
    """The members in the order of the plan, or by their costs as long as there is time."""
    outputs = plan.combination.outputs
    if plan.time_limit is None:
        tasks = (delayed(fit_one)(each, outputs, problem.of(each)) for each in plan.members)
        for found in Parallel(n_jobs=plan.n_jobs, return_as="generator")(tasks):
            progress.advance(found.name)
            yield found
        return
    start, slowest = time.perf_counter(), 0.0
    order = sorted(plan.members, key=lambda each: each.cost)
    for number, each in enumerate(order):
        left = plan.time_limit - (time.perf_counter() - start)
        # The next member takes at least as long as the slowest so far.
        if number and slowest > left:
            rest = ", ".join(repr(other.member.name) for other in order[number:])
            warn_user(f"time_limit={plan.time_limit} leaves no time for the members {rest}.")
            break
        found = fit_one(each, outputs, problem.of(each))
        slowest = max(slowest, found.seconds)
        progress.advance(found.name)
        yield found
    progress.finish()


def fit_one(one: LibraryMember, outputs: Outputs, problem: MembersProblem) -> FittedMember:
    """The member fitted once to all rows, and its predictions of held-out rows.

    One that is not ours may change its rows in place: they are its own.
    """
    name, copies = one.member.name, not one.is_ours
    plan = MembersPlan(
        [one.member],
        outputs,
        are_fitted=False,
        holds_out=True,
        share=False,
        n_jobs=1,
        by_own=True,
        copies=copies,
    )
    start = time.perf_counter()
    try:
        with warnings.catch_warnings():
            if one.is_ours:  # by number of the column, which `warn_of_many_categories` names
                warnings.filterwarnings("ignore", r"Feature \d+ has \d+ categories, of which")
                # Nor do members have the parameter that the warning names.
                warnings.filterwarnings("ignore", "The leave-one-out error is smallest at the")
            (model,), held_out = fit_members(plan, problem)
        assert held_out is not None
        refuse_outputs(held_out.predictions[0], outputs.classes)
    except MemoryError:  # is for who has called the fit
        raise
    except Exception as error:
        return FittedMember(name, time.perf_counter() - start, error=error)
    return FittedMember(name, time.perf_counter() - start, model, held_out)


def refuse_outputs(values: np.ndarray, classes: np.ndarray | None) -> None:
    """A ValueError for several numbers a row, and for what are no probabilities."""
    if classes is None:
        if values.ndim > 1:
            raise ValueError(f"it predicts {values.shape[1]} numbers for a row, not one.")
        return
    off = np.abs(values.sum(axis=1) - 1.0)
    if values.min() < -LARGEST_ERROR or off.max() > LARGEST_ERROR:
        raise ValueError(
            "its predictions are not probabilities: some are below 0, or a row does not sum to 1."
        )


def together(found: list[FittedMember]) -> HeldOutMembers:
    """The held-out predictions of all members, for the rows that all of them have."""
    parts = [each.held_out for each in found if each.held_out is not None]
    first = parts[0]
    rows = first.rows
    for part in parts[1:]:
        rows = rows[np.isin(rows, part.rows)]
    if len(rows) == len(first.rows) and all(len(p.rows) == len(rows) for p in parts):
        return HeldOutMembers([p.predictions[0] for p in parts], rows, first.folds)
    kept = [part.part(np.flatnonzero(np.isin(part.rows, rows))) for part in parts]
    return HeldOutMembers([p.predictions[0] for p in kept], rows, kept[0].folds)


def tempered(P: np.ndarray, temperature: float) -> np.ndarray:
    """Probabilities proportional to P^(1 / temperature)."""
    logs = np.log(np.maximum(P, np.finfo(np.float64).tiny)) / temperature
    found: np.ndarray = softmax(logs, axis=1)
    return found


def with_shares(P: np.ndarray, shares: np.ndarray, n: float) -> np.ndarray:
    """Probabilities of n rows, with a little of the shares of the classes: none is 0."""
    found: np.ndarray = (n * P + PRIOR_ROWS_OF_CLASSES * shares) / (n + PRIOR_ROWS_OF_CLASSES)
    return found


def best_temperature(
    P: np.ndarray, y: np.ndarray, weight: np.ndarray, shares: np.ndarray, n: float
) -> float:
    """The temperature of the smallest log-loss of these n rows, drawn to 1 by a normal prior.

    Means of probabilities are less sure than right (Ranjan and Gneiting 2010), or too sure if the
    members are. The loss has the shares of the classes: the class of a row may have no vote of a
    forest, and the logarithm of 0 would count for more than all other rows.
    """
    rows = np.arange(len(y))

    def posterior(log_temperature: float) -> float:
        own = with_shares(tempered(P, np.exp(log_temperature)), shares, n)[rows, y]
        loss = -float(weight @ np.log(own))
        return n * loss + 0.5 * (log_temperature / SPREAD_OF_TEMPERATURE) ** 2

    return float(np.exp(minimize_scalar(posterior, bounds=(-1.0, 1.0), method="bounded").x))


def leaderboard_of(
    members: list[FittedMember], weights: np.ndarray, table: dict[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """A row for each member, the best first; `table` has their held-out losses."""
    order = np.argsort(table["mean_score"], kind="stable")
    return {
        "name": np.array([each.name for each in members], dtype=object)[order],
        "loss": table["mean_score"][order],
        "standard_error": table["standard_error"][order],
        "weight": weights[order],
        "seconds": np.array([each.seconds for each in members])[order],
    }
