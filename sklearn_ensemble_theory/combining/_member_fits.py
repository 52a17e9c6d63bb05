"""Members are fitted to all rows and to those of each split, and predict the rows held out.

A learner that is several members of an ensemble, or a member of a vote or stack among them, is
fitted once to the same rows: `sharing_groups` finds such members, `KnownFits` keeps their fits. An
ensemble answers for its own members by the two methods of `SharesFits`.
"""

import inspect
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np
from numpy.random import RandomState
from scipy.sparse import issparse
from sklearn.base import clone, is_classifier
from sklearn.utils import indexable
from sklearn.utils.parallel import Parallel, delayed

from sklearn_ensemble_theory._compat import (
    check_method_params,
    print_elapsed_time,
    routing_enabled,
    safe_split,
)
from sklearn_ensemble_theory._folds import Split, are_folds
from sklearn_ensemble_theory._learners import (
    aligned_columns,
    checked_outputs,
    numbers_of,
    places_of_labels,
    predictions_of,
    weights_of_parts,
)
from sklearn_ensemble_theory._rows import Rows, canonical, is_pairwise
from sklearn_ensemble_theory._typing import Estimator, Predictor
from sklearn_ensemble_theory.trees._sklearn_trees import fitted_in_units

PLAIN = (type(None), bool, int, float, complex, str, bytes)
# What Python, and scikit-learn's pipelines, say of weights that `fit` does not take.
NO_WEIGHTS = ("unexpected keyword argument 'sample_weight'", "not accept the sample_weight")


@runtime_checkable
class SharesFits(Protocol):
    """An ensemble whose members are fitted to its rows, some of them perhaps elsewhere as well."""

    def __fitted_to_all_rows__(self) -> list[Estimator]:
        """The members that `fit` fits to the rows that it is given."""

    def __fit_sharing__(self, known: "KnownFits", X: Any, y: Any, **params: Any) -> Any:
        """`fit`, which takes the members that are known and adds the others."""


@runtime_checkable
class HoldsOutRows(Protocol):
    """A learner whose fit tells what it predicts for rows that it has not seen.

    Out of bag, without each row in closed form, or by the models of folds that it makes anyway: a
    stack then has no need to fit it again for each split.
    """

    def __held_out_predictions__(
        self, X: Any, y: Any, splits: list[Split], **params: Any
    ) -> np.ndarray | None:
        """Fit to all rows, and return what is predicted for each of them by a model without it.

        - y: labels are positions 0 ... K-1.
        - splits: (train, test) positions of rows. A learner with folds of its own takes these
          instead. No row is tested on twice; some may be in no test set.
        - params: further arguments of `fit`: `sample_weight`, `groups`, `offset`.

        Numbers (n,) or probabilities (n, K); NaN for a row that the model has no prediction for.
        None where the learner cannot tell, mostly before any work: it is then fitted again.
        """


@dataclass(frozen=True)
class Member:
    """A learner by its name, the method that predicts, and the further arguments of its `fit`."""

    name: str
    learner: Estimator
    method: str
    params: dict[str, Any]
    message: tuple[str | None, str | None] = (None, None)  # the ensemble, and what to print


@dataclass(frozen=True)
class Outputs:
    """How the predictions of members are read.

    - methods: the method that predicts, for each member.
    - classes: the labels, a list of arrays for several outputs; None for numbers.
    - known_by_labels: whether members predict labels; otherwise positions among them.
    - n_outputs: columns of numbers that a member predicts, where it is known.
    """

    methods: list[str]
    classes: Any
    known_by_labels: bool = False
    n_outputs: int | None = None

    @property
    def classes_of_columns(self) -> np.ndarray | None:
        """The classes of the columns of `predict_proba`, as the members know them."""
        if self.classes is None or isinstance(self.classes, list):
            return None
        return self.classes if self.known_by_labels else np.arange(len(self.classes))

    def of_members(self, members: list[Any], X: Any, used: np.ndarray | None = None) -> list[Any]:
        """What the fitted members predict, those that are used."""
        classes, read = self.classes_of_columns, RowsAsRead(X)
        return [
            predicted(member, method, read.by(member), classes, self.n_outputs)
            for j, (member, method) in enumerate(zip(members, self.methods))
            if used is None or used[j]
        ]

    def columns(self, predictions: list[Any]) -> list[np.ndarray]:
        """The predictions of each member as columns, of two complementary ones the second."""
        # The two columns sum to 1: with both, a linear final estimator would be singular.
        binary = isinstance(self.classes, np.ndarray) and len(self.classes) == 2
        columns = []
        for values, method in zip(predictions, self.methods):
            if isinstance(values, list):  # probabilities for each output
                # Of each output the first class follows from the others.
                values = np.hstack([proba[:, 1:] for proba in values])
            elif values.ndim == 1:
                values = values.reshape(-1, 1)
            elif binary and method == "predict_proba":
                values = values[:, 1:]
            columns.append(values)
        return columns

    def tables(self, predictions: list[Any]) -> list[np.ndarray]:
        """For each output the predictions side by side: numbers (n, k), probabilities (n, k, K).

        Of several outputs, members predict a list of probabilities for each, or those of the second
        of two classes as columns, or positions of classes as columns.
        """
        if self.classes is None:
            columns = [values.reshape(len(values), -1) for values in predictions]
            return [np.column_stack(output) for output in zip(*(part.T for part in columns))]
        several = isinstance(self.classes, list)
        tables = []
        for output, classes in enumerate(self.classes if several else [self.classes]):
            K = len(classes)
            candidates = []
            for values in predictions:
                if isinstance(values, list):
                    values = values[output]
                elif several:
                    second = values[:, output]
                    values = np.column_stack([1.0 - second, second]) if K == 2 else second
                if values.ndim == 1:  # votes are probabilities 0 and 1
                    values = np.eye(K)[values.astype(np.intp)]
                candidates.append(values)
            tables.append(np.stack(candidates, axis=1))
        return tables


@dataclass(frozen=True)
class MembersPlan:
    """How members are fitted.

    - are_fitted: whether members are taken as they are, and all rows are new to them.
    - holds_out: whether they predict rows that they are not fitted to.
    - share: whether a learner that is several members, or a part of several, is fitted once to the
      same rows; those members are fitted one after the other.
    - by_own: whether members that predict rows which they have not seen (`HoldsOutRows`) are asked
      for them, and fitted once.
    - copies: whether a fit to all rows gets copies of them, which it may change. Those of a split
      are copies always. Copies are fitted to for each member: nothing is shared.
    """

    members: Sequence[Member]
    outputs: Outputs
    are_fitted: bool
    holds_out: bool
    share: bool
    n_jobs: int | None
    verbose: int = 0
    by_own: bool = False
    copies: bool = False


@dataclass(frozen=True)
class MembersProblem:
    """The rows, the splits (train, test) of them, and the user's name of these splits."""

    rows: Rows
    splits: Sequence[tuple[np.ndarray, np.ndarray]] = ()
    name_of_splits: str = "cv"


@dataclass(frozen=True)
class HeldOutMembers:
    """The predictions of each member for rows that it is not fitted to.

    - predictions: by member, with an element for each held-out row; a list for several outputs.
    - rows: in increasing order; one that several splits hold out is repeated.
    - folds: the number of the split of each.
    """

    predictions: list[Any]
    rows: np.ndarray
    folds: np.ndarray

    def part(self, places: np.ndarray) -> "HeldOutMembers":
        """Some of the held-out rows, by their places here; their splits are numbered anew."""
        found = [
            [output[places] for output in part] if isinstance(part, list) else part[places]
            for part in self.predictions
        ]
        folds = np.unique(self.folds[places], return_inverse=True)[1].reshape(-1)
        return HeldOutMembers(found, self.rows[places], folds)

    @property
    def fold_places(self) -> list[np.ndarray]:
        """The places of the rows of each split."""
        return [np.flatnonzero(self.folds == fold) for fold in range(self.folds.max() + 1)]


class RowsAsRead:
    """All rows of X, or some of them, as members read them; each form is made once.

    A sparse X is canonical, in a copy, as some learners sort its indices in place. A graph of
    distances is as it was given, in the order of the distances. Of it, and of a kernel matrix, the
    columns are the rows to `train` on.
    """

    def __init__(
        self, X: Any, rows: np.ndarray | None = None, train: np.ndarray | None = None
    ) -> None:
        self._X, self._rows, self._train = X, rows, train
        self._found: dict[bool, Any] = {}

    def by(self, learner: Estimator) -> Any:
        pairwise = is_pairwise(learner)
        if pairwise not in self._found:
            X = self._X
            if self._rows is not None:
                X, _ = safe_split(learner, X, None, self._rows, self._train)
            self._found[pairwise] = X if pairwise else canonical(X)
        return self._found[pairwise]


def fit_members(
    plan: MembersPlan, problem: MembersProblem, known: "KnownFits | None" = None
) -> tuple[list[Any], HeldOutMembers | None]:
    """The members fitted to all rows, and what they predict for the held-out rows of the splits.

    `known` has fits to all rows by another ensemble, to which those made here are added.
    """
    (X, y), splits, members = (problem.rows.X, problem.rows.y), problem.splits, plan.members
    if plan.are_fitted:
        given = [each.learner for each in members]
        if not plan.holds_out:
            return given, None
        n = len(y)
        held_out = HeldOutMembers(
            plan.outputs.of_members(given, X), np.arange(n), np.zeros(n, dtype=np.intp)
        )
        return given, held_out
    own = _own_held_out(plan, problem)
    fitted = [None if known is None else known.find(each.learner, X, y) for each in members]
    for j, (model, _) in own.items():
        fitted[j] = model
    rest = [j for j in range(len(members)) if j not in own]
    groups = [[j] for j in rest]
    if plan.share:
        groups = sharing_groups([members[j].learner for j in rest])
        groups = [[rest[place] for place in group] for group in groups]
    unknown = [left for group in groups if (left := [j for j in group if fitted[j] is None])]
    # The fits to all rows come first: with one job, generators are used as by scikit-learn.
    tasks = [
        delayed(_fit_group)([members[j] for j in group], X, y, copies=plan.copies)
        for group in unknown
    ]
    places = [f"split {number} of {problem.name_of_splits}" for number in range(len(splits))]
    X_parts, classes = indexable(X)[0] if splits else X, plan.outputs.classes_of_columns
    tasks += [
        delayed(_hold_out)([members[j] for j in group], X_parts, y, split, place, classes)
        for group in groups
        for place, split in zip(places, splits)
    ]
    results = iter(Parallel(n_jobs=plan.n_jobs, verbose=plan.verbose)(tasks))

    for group in unknown:
        for j, model in zip(group, next(results)):
            fitted[j] = model
            if known is not None:
                known.add(members[j].learner, model, X, y)
    if not splits:
        return fitted, None
    # Results come in the order of the tasks.
    parts: dict[int, list[Any]] = {j: [] for j in rest}
    for group in groups:
        for _ in splits:
            for j, values in zip(group, next(results)):
                parts[j].append(values)

    # From the order of the splits to that of the rows.
    held = np.concatenate([test for _, test in splits])
    folds = np.repeat(np.arange(len(splits)), [len(test) for _, test in splits])
    order = np.argsort(held, kind="stable")
    found: dict[int, Any] = {j: values[held[order]] for j, (_, values) in own.items()}
    for j, part in parts.items():
        if isinstance(part[0], list):  # for each output
            found[j] = [np.concatenate(output)[order] for output in zip(*part)]
        else:
            found[j] = np.concatenate(part)[order]
    held_out = HeldOutMembers([found[j] for j in sorted(found)], held[order], folds[order])
    if not own:
        return fitted, held_out
    # Rows that every tree of a small forest has seen.
    known_rows = np.all(
        [np.isfinite(found[j].reshape(len(held), -1)).all(axis=1) for j in own], axis=0
    )
    if not known_rows.all():
        held_out = held_out.part(np.flatnonzero(known_rows))
    if plan.outputs.classes is not None:
        for j in own:
            if members[j].method == "predict":
                held_out.predictions[j] = held_out.predictions[j].astype(np.intp)
    return fitted, held_out


def _own_held_out(plan: MembersPlan, problem: MembersProblem) -> dict[int, tuple[Any, np.ndarray]]:
    """The members, by their numbers, that predict held-out rows by their one fit."""
    rows, splits = problem.rows, list(problem.splits)
    if not plan.by_own or len(splits) < 2 or not are_folds(splits, len(rows.y)):
        return {}
    classes = plan.outputs.classes
    methods = {"predict"} if classes is None else {"predict_proba"}
    if isinstance(classes, np.ndarray):
        methods |= {"predict"}  # the classes of the largest probabilities
    asked = [
        j
        for j, each in enumerate(plan.members)
        if each.method in methods and isinstance(each.learner, HoldsOutRows)
    ]
    tasks = [
        delayed(_fit_once)(plan.members[j], rows.X, rows.y, splits, plan.copies) for j in asked
    ]
    found = zip(asked, Parallel(n_jobs=plan.n_jobs, verbose=plan.verbose)(tasks))
    return {
        j: (
            model,
            voted(values)
            if classes is not None and plan.members[j].method == "predict"
            else values,
        )
        for j, (model, values) in found
        if values is not None
    }


def voted(P: np.ndarray) -> np.ndarray:
    """The positions of the classes of the largest probabilities, NaN where these are unknown."""
    is_known = np.isfinite(P).all(axis=1)
    return np.where(is_known, np.where(is_known[:, None], P, 0.0).argmax(axis=1), np.nan)


def _fit_once(
    member: Member, X: Any, y: np.ndarray, splits: list[Split], copies: bool
) -> tuple[Any, np.ndarray | None]:
    """The member fitted to all rows, and what it predicts for each of them without it."""
    model: Any = clone(member.learner)
    given = (X, y, splits), member.params
    (X, y, splits), params = deepcopy(given) if copies else given
    try:
        values = model.__held_out_predictions__(X, y, splits, **params)
    except Exception as error:
        raise_named(error, member.name, "")
    if values is not None and not np.isfinite(values).any():
        values = None
    return model, values


def _fit_group(
    members: list[Member],
    X: Any,
    y: np.ndarray,
    train: np.ndarray | None = None,
    place: str = "",
    copies: bool = False,
) -> list[Any]:
    """Fit clones of members that have learners in common, each learner once, to the same rows."""
    fitted: list[Any] = []
    known = None
    # The rows are gathered once for all of them; a fit of the first is known to those that follow.
    read = RowsAsRead(X, train, train)
    if train is not None:
        y = y[train]
    for each in members:
        rows, params = (read.by(each.learner), y), each.params
        if train is not None:
            params = check_method_params(X, params=params, indices=train)
        elif copies:
            rows, params = deepcopy((rows, params))
        fit = partial(fit_named, name=each.name, place=place, message=each.message)
        if len(members) == 1:  # nothing to share
            return [fit(clone(each.learner), *rows, params)]
        known = known or KnownFits(*rows)
        model = known.find(each.learner, *rows)
        if model is None:
            model = fit(clone(each.learner), *rows, params, known=known)
            known.add(each.learner, model, *rows)
        fitted.append(model)
    return fitted


def _hold_out(
    members: list[Member],
    X: Any,
    y: np.ndarray,
    split: tuple[np.ndarray, np.ndarray],
    place: str,
    classes: np.ndarray | None,
) -> list[Any]:
    """The predictions for the test rows of one split by members fitted to its training rows."""
    train, test = split
    # The rows to train on are freed before those to test on are gathered.
    fitted = _fit_group(members, X, y, train, place)
    read = RowsAsRead(X, test, train)
    values: dict[int, Any] = {}
    for each, model in zip(members, fitted):
        if id(model) in values:  # a learner that is several members predicts once
            continue
        rows = read.by(each.learner)
        try:
            values[id(model)] = predicted(model, each.method, rows, classes)
        except Exception as error:
            raise_named(error, each.name, place)
    return [values[id(model)] for model in fitted]


def predicted(
    member: Any,
    method: str,
    X: Any,
    classes: np.ndarray | None,
    n_outputs: int | None = None,
) -> Any:
    """Call the method; its result has a column for each class also where the member saw fewer.

    A class that it has not seen has the probability 0 and the smallest of its scores. `classes` are
    as the member knows them, None where there are no columns for them; predictions become
    positions.
    """
    if not is_classifier(member):
        classes = None
    if classes is not None and method == "predict":
        return places_of_labels(predictions_of(member, X), member, classes)
    values = getattr(member, method)(X)
    own: Any = getattr(member, "classes_", classes)
    if isinstance(values, list) and isinstance(own, list):  # probabilities for each output
        return [numbers_of(part, member, X, None) for part in values]
    if method == "predict" and is_classifier(member):  # labels of several outputs
        return checked_outputs(values, member, X)
    values = numbers_of(values, member, X, n_outputs if method == "predict" else None)
    if classes is None:
        one_column = method == "predict" and values.size == len(values)
        return values.reshape(len(values)) if one_column else values
    if len(own) == len(classes) and method != "predict_proba":
        return values
    if values.ndim == 1:  # scores of two of the classes
        values = np.column_stack([-values, values])
    # A score has no zero: the smallest one stands for a class that was not seen.
    fill = 0.0 if method == "predict_proba" else values.min()
    return aligned_columns(values, np.searchsorted(classes, own), len(classes), fill)


# --- the fit of one member ----------------------------------------------------------------------


def fit_named(
    member: Estimator,
    X: Any,
    y: np.ndarray,
    params: Mapping[str, Any],
    name: str,
    *,
    place: str = "",
    message: tuple[str | None, str | None] = (None, None),
    known: "KnownFits | None" = None,
) -> Any:
    """Fit this clone of a member; an error names the member, and where it occurred.

    `place` is the part of the data, such as "split 2 of cv", and `message` the ensemble and what to
    print after the fit. `known` has learners fitted to the same rows, which the member may contain.
    """
    # A nested ensemble takes the learners that are known, whatever its depth.
    fit = partial(fitted_in_units, cast(Predictor, member))
    if known is not None and isinstance(member, SharesFits):
        fit = partial(member.__fit_sharing__, known)
    try:
        with print_elapsed_time(*message):
            fit(X, y, **params)
    except Exception as error:
        refused = any(text in str(error) for text in NO_WEIGHTS)
        if isinstance(error, (TypeError, ValueError)) and refused and not routing_enabled():
            raise no_weights(member, name) from error
        raise_named(error, name, place)
    return member


def refuse_unweighted(member: Estimator, name: str) -> None:
    """Raise an error, before any fit, if the `fit` of a member cannot take `sample_weight`."""
    if routing_enabled():
        return
    try:
        arguments = inspect.signature(member.fit).parameters
    except (TypeError, ValueError):  # no signature
        return
    if "sample_weight" in arguments or any(p.kind is p.VAR_KEYWORD for p in arguments.values()):
        return
    raise no_weights(member, name)


def no_weights(member: Estimator, name: str) -> TypeError:
    return TypeError(  # scikit-learn's words first
        f"Underlying estimator {type(member).__name__} does not support sample weights. "
        f"It is the member {name!r}.{weights_of_parts(member)}"
    )


def raise_named(error: Exception, name: str, place: str) -> None:
    """Raise the error of a member again, with its name."""
    where = f"The member {name!r} failed" + (f" in {place}" if place else "")
    if isinstance(error, np.linalg.LinAlgError):
        raise ValueError(f"{where} on these values of X: {error}.") from error
    # The message of a plain error can be extended without the loss of other attributes.
    if place and type(error) in (ValueError, TypeError):
        raise type(error)(f"{where}: {error}") from error
    error.add_note(f"{where}.")
    raise error


# --- learners that are fitted once --------------------------------------------------------------


class KnownFits:
    """Learners that have been fitted to the same rows with the same arguments of `fit`."""

    def __init__(self, X: Any, y: np.ndarray) -> None:
        self._X, self._y = X, y
        self._fits: dict[Any, tuple[Any, Any]] = {}

    def _has_rows(self, X: Any, y: np.ndarray) -> bool:
        # A vote of classifiers encodes labels anew: those of a split without some class differ.
        return _is_same(X, self._X) and (y is self._y or np.array_equal(y, self._y))

    def find(self, learner: Estimator, X: Any, y: np.ndarray) -> Any:
        """Return the fitted learner, or None if it is not known for these rows and targets."""
        return self._fits.get(identity(learner), (None, None))[1] if self._has_rows(X, y) else None

    def add(self, learner: Estimator, model: Predictor, X: Any, y: np.ndarray) -> None:
        """Keep a fitted learner; one for other rows or targets is left out."""
        if self._has_rows(X, y):
            # The learner is kept as well: its parts may be identified by their addresses.
            self._fits[identity(learner)] = learner, model


def _is_same(X: Any, known: Any) -> bool:
    """Whether these are one object, or sparse matrices that share their parts (`canonical`)."""
    if not (issparse(X) and issparse(known)):
        return X is known
    parts = ("data", "indices", "indptr")
    return X.format == known.format and all(
        getattr(X, part, X) is getattr(known, part, known) for part in parts
    )


def identity(value: Any) -> Any:
    """Return a key that is equal for learners that give the same fit to the same rows.

    One object, or of one class with equal parameters, every `random_state` a number.
    """
    # By the type as well: 1, 1.0 and True are equal and may be different parameters.
    if type(value) in PLAIN or isinstance(value, np.generic):
        return type(value), repr(value)
    if type(value) in (tuple, list):
        return type(value), tuple(identity(item) for item in value)
    if type(value) is np.ndarray and value.dtype != object:
        return value.dtype.str, value.shape, value.tobytes()
    if hasattr(value, "get_params") and not isinstance(value, type):
        params = value.get_params(deep=False)
        # A fit without a seed, or with a generator that moves on, is another fit each time.
        random = params.get("random_state", 0)
        if random is not None and not isinstance(random, RandomState):
            return type(value), tuple((name, identity(params[name])) for name in sorted(params))
    return "object", id(value)


def sharing_groups(members: list[Estimator]) -> list[list[int]]:
    """The positions of the members in groups: those of different groups have no common learner."""
    groups: list[tuple[list[int], set[Any]]] = []
    for position, member in enumerate(members):
        parts = member.__fitted_to_all_rows__() if isinstance(member, SharesFits) else []
        together, keys = [position], {identity(learner) for learner in [member, *parts]}
        apart = []
        # A member joins all groups that have a learner in common with it, which become one.
        for group in groups:
            if keys.isdisjoint(group[1]):
                apart.append(group)
            else:
                together, keys = group[0] + together, keys | group[1]
        groups = [*apart, (sorted(together), keys)]
    return sorted(positions for positions, _ in groups)
