"""One member of a bagged ensemble: drawing its rows, fitting it, its predictions.

These functions run inside the workers. Nothing here depends on how the members are spread over
them: a member is determined by its seed, and `member_blocks` cuts the ensemble in the same places
for any number of jobs, so sums of floating-point numbers are the same to the last bit.
"""

import itertools
import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.dummy import DummyClassifier
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    get_routing_for_object,
    process_routing,
)
from sklearn.utils.random import sample_without_replacement
from sklearn.utils.validation import has_fit_parameter

from sklearn_ensemble_theory._compat import check_method_params, own_requests, routing_enabled
from sklearn_ensemble_theory._learners import (
    PreparedMembers,
    aligned_columns,
    reads_single_precision,
)
from sklearn_ensemble_theory._rows import columns_of, rows_of
from sklearn_ensemble_theory.averaging._sampling import SamplingScheme
from sklearn_ensemble_theory.trees._sklearn_trees import (
    add_to_outputs,
    fitted_in_units,
    single_precision_if_finite,
)

MAX_SEED = np.iinfo(np.int32).max
# At most so many tasks a prediction: more would cost more to hand out than they save.
MAX_BLOCKS = 64

_of_thread = threading.local()


def seeded(seed: int) -> np.random.RandomState:
    """`RandomState(seed)`, valid until the next call in the same thread.

    A new generator is first filled from the system's entropy, which takes 50 times as long as
    seeding the one of the thread again.
    """
    rng = getattr(_of_thread, "rng", None)
    if rng is None:
        rng = _of_thread.rng = np.random.RandomState()
    rng.seed(seed)
    return rng


def random_state_names(estimator: BaseEstimator) -> list[str]:
    """Its `random_state` parameters, nested ones too, in a fixed order."""
    names = sorted(estimator.get_params(deep=True))
    return [n for n in names if n == "random_state" or n.endswith("__random_state")]


def takes_sample_weight(estimator: BaseEstimator) -> bool:
    """Whether its `fit` accepts `sample_weight`; with metadata routing, whether it requests it."""
    if routing_enabled():
        return bool(get_routing_for_object(estimator).consumes("fit", ("sample_weight",)))
    return has_fit_parameter(estimator, "sample_weight")


def member_input(estimator: BaseEstimator, X: Any) -> tuple[Any, bool]:
    """(X as the members take it, whether they need not check it again).

    Trees store X in single precision: it is converted once instead of by every member.
    """
    converted = single_precision_if_finite(X) if reads_single_precision(estimator) else None
    return (X, False) if converted is None else (converted, True)


@dataclass(frozen=True, kw_only=True)
class MemberSpec(ABC):
    """What all members of one fit share; it is sent to the workers.

    Parameters
    ----------
    estimator : estimator
        The base learner, not fitted; None in a fitted ensemble, which only repeats draws.

    scheme : SamplingScheme
        The law of the rows' weights.

    n_features : int
        Number of columns of X.

    frames : bool, default=False
        Whether members are fitted to data frames, as the user gave them.

    checked : bool, default=False
        Whether X has been through `member_input`, so that a tree need not check it again.

    weighted : bool, default=False
        Whether the base learner's `fit` accepts `sample_weight`.

    plain : bool, default=False
        Whether no parameter of the base learner is an estimator or changed by a fit, so that a
        shallow copy is as good as a clone, at a twentieth of the time.

    prepared : PreparedMembers, default=None
        What fits members on columns that are prepared once, where the base learner has it.

    out_of_bag : str, default=None
        The method that predicts the rows left out; None where no predictions are needed.

    n_classes : int, default=0
        Number of classes of the ensemble; 0 for regression.

    fit_params : dict, default={}
        Metadata for the base learner's `fit`.

    offset : float or ndarray of shape (n_outputs,), default=0.0
        Subtracted from y before trees are grown (see `_trees.target_offset`).
    """

    estimator: BaseEstimator | None
    scheme: SamplingScheme
    n_features: int
    frames: bool = False
    checked: bool = False
    weighted: bool = False
    plain: bool = False
    prepared: PreparedMembers | None = None
    out_of_bag: str | None = None
    n_classes: int = 0
    fit_params: dict[str, Any] = field(default_factory=dict)
    offset: float | np.ndarray = 0.0

    @property
    @abstractmethod
    def all_features(self) -> bool:
        """Whether every member is fitted to all columns of X, in their order."""

    @abstractmethod
    def draw_features(self, rng: np.random.RandomState) -> np.ndarray:
        """The columns of X that a member is fitted to."""

    @abstractmethod
    def unfitted_member(self, seed: int) -> BaseEstimator:
        """A clone of the base learner, its random states set from the member's seed."""

    def _copied(self) -> BaseEstimator:
        return copy(self.estimator) if self.plain else clone(self.estimator)

    def fit_weights(self, weights: np.ndarray, y_rows: np.ndarray) -> np.ndarray:
        """The weights with which a member is fitted, from the weights drawn for its rows."""
        return weights

    def without_data(self) -> Self:
        """The same without what only a fit needs."""
        return replace(self, estimator=None, prepared=None, fit_params={})

    def draw(self, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(features, rows, weights of the rows) of the member with this seed."""
        rng = seeded(seed)
        features = self.draw_features(rng)
        return features, *self.scheme.draw(rng)

    def draw_units(self, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """(units, their weights) of the member with this seed."""
        rng = seeded(seed)
        self.draw_features(rng)
        return self.scheme.draw_units(rng)

    def indices(self, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """(features, rows in the order drawn, repeated as often as drawn)."""
        rng = seeded(seed)
        features = self.draw_features(rng)
        return features, self.scheme.indices(rng)


@dataclass(frozen=True, kw_only=True)
class BaggingMemberSpec(MemberSpec):
    """Members of a bagged ensemble: any base learner, on features drawn for each member.

    Parameters
    ----------
    max_features : int
        Number of features drawn.

    bootstrap_features : bool
        Whether they are drawn with replacement.

    random_states : list of str
        The parameters that `random_state_names` returns.
    """

    max_features: int
    bootstrap_features: bool
    random_states: list[str]

    @property
    def all_features(self) -> bool:
        return not self.bootstrap_features and self.max_features == self.n_features

    def draw_features(self, rng: np.random.RandomState) -> np.ndarray:
        if self.bootstrap_features:
            return rng.randint(0, self.n_features, self.max_features)
        return sample_without_replacement(self.n_features, self.max_features, random_state=rng)

    def unfitted_member(self, seed: int) -> BaseEstimator:
        member = self._copied()
        if self.random_states:
            rng = seeded(seed)
            states = {name: rng.randint(MAX_SEED) for name in self.random_states}
            if self.plain:
                vars(member).update(states)
            else:
                member.set_params(**states)
        return member


def fit_member(
    spec: MemberSpec, X: Any, y: np.ndarray, seed: int
) -> tuple[BaseEstimator, np.ndarray, tuple[np.ndarray, np.ndarray] | None]:
    """Fit one member, and predict the rows that it is not fitted to where that is needed.

    A learner that takes weights gets the distinct rows with their weights, s' <= s of them; one
    that does not gets its rows as drawn. Rows of weight 0 are left out in both.

    Returns
    -------
    member : estimator
    features : ndarray of shape (n_member_features,)
    out_of_bag : tuple (rows, predictions) or None
    """
    member = spec.unfitted_member(seed)
    weights = None
    if spec.weighted:
        features, rows, weights = spec.draw(seed)
    else:
        features, rows = spec.indices(seed)
    y_rows = y[rows]
    if weights is not None:
        weights = spec.fit_weights(weights, y_rows)
        if (weights == 1).all():
            weights = None
    is_far = np.any(spec.offset != 0)
    if is_far:
        y_rows = y_rows - spec.offset
    with np.errstate(all="ignore"):  # no warnings from the arithmetic of the base learner
        if spec.prepared is None:
            member = _fitted_to_rows(spec, member, X, rows, y_rows, weights, features=features)
        else:
            columns = None if spec.all_features else features
            member = spec.prepared.fit(member, rows, y_rows, weights, columns)
    if is_far:
        add_to_outputs(member, spec.offset)
    return member, features, outside_predictions(spec, member, X, rows, features)


def outside_predictions(
    spec: MemberSpec, member: BaseEstimator, X: Any, rows: np.ndarray, features: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    """The rows that a member is not fitted to, and its predictions for them.

    None where no predictions are needed, or where there is no such row.
    """
    if spec.out_of_bag is None:
        return None
    outside = np.flatnonzero(spec.scheme.is_outside(rows))
    if not len(outside):
        return None
    X_outside, checked = rows_of(X, outside), spec.checked
    if spec.prepared is not None:
        X_outside, checked = member_input(member, X_outside)
    predictions = member_predictions(
        member,
        spec.out_of_bag,
        X_outside,
        features=None if spec.all_features else features,
        n_classes=spec.n_classes,
        checked=checked,
    )
    return outside, predictions


def _fitted_to_rows(
    spec: MemberSpec,
    member: BaseEstimator,
    X: Any,
    rows: np.ndarray,
    y_rows: np.ndarray,
    weights: np.ndarray | None,
    *,
    features: np.ndarray,
) -> BaseEstimator:
    """The member after a call of its `fit` with these rows and features of X."""
    params = check_method_params(X, params=spec.fit_params, indices=rows)
    if weights is not None:
        params["sample_weight"] = weights
    if spec.checked:
        params["check_input"] = False
    # Distinct rows in increasing order: as many as there are, they are all of them.
    X_rows = X if spec.weighted and len(rows) == X.shape[0] else rows_of(X, rows)
    if not spec.all_features:
        X_rows = columns_of(X_rows, features)
    try:
        return fitted_in_units(member, X_rows, y_rows, **params)
    except ValueError:
        # Many classifiers reject rows of one class, which a small draw may hold by chance. The
        # member then predicts that class.
        if spec.n_classes <= 1 or (y_rows != y_rows[0]).any():
            raise
        return DummyClassifier(strategy="prior").fit(X_rows, y_rows)


def member_predictions(
    member: BaseEstimator,
    method: str,
    X: Any,
    *,
    features: np.ndarray | None = None,
    n_classes: int = 0,
    checked: bool = False,
    params: dict[str, Any] | None = None,
) -> np.ndarray:
    """A member's predictions, for all classes of the ensemble.

    `method` is a method of the member, or "vote": 1 for the class that it predicts.

    Returns
    -------
    predictions : ndarray of shape (n,), (n, n_outputs) or (n, n_classes)
    """
    if features is not None:
        X = columns_of(X, features)
    params = dict(params or {})
    checked = checked and reads_single_precision(member)  # not what stands for one class
    if checked:
        params["check_input"] = False
    with np.errstate(all="ignore"):
        if method == "vote":
            chosen = np.asarray(member.predict(X, **params), dtype=np.intp)
            votes = np.zeros((len(chosen), n_classes))
            chosen = chosen[:, None] if chosen.ndim == 1 else chosen
            np.put_along_axis(votes, chosen, 1.0, axis=1)
            return votes
        # The `predict_log_proba` of trees has no `check_input`; it is the logarithm of their
        # probabilities.
        if checked and method == "predict_log_proba":
            probabilities = member_predictions(
                member, "predict_proba", X, n_classes=n_classes, checked=True
            )
            return np.log(probabilities)
        predictions = getattr(member, method)(X, **params)
        if method in ("predict_proba", "predict_log_proba"):
            places = member.classes_
            if isinstance(predictions, list):  # several outputs, whose codes follow each other
                predictions, places = np.hstack(predictions), np.concatenate(places)
            # The rows of a member may lack a class; the member gives it probability 0.
            absent = 0.0 if method == "predict_proba" else -np.inf
            predictions = aligned_columns(predictions, places, n_classes, absent)
    return predictions


def member_blocks(n_members: int) -> list[slice]:
    """Slices that cut the ensemble into at most MAX_BLOCKS parts, for any n_jobs."""
    bounds = np.linspace(0, n_members, min(n_members, MAX_BLOCKS) + 1).astype(int)
    return [slice(a, b) for a, b in itertools.pairwise(bounds)]


def summed_predictions(
    members: Sequence[BaseEstimator],
    features: Sequence[np.ndarray | None],
    method: str,
    X: Any,
    **kwargs: Any,
) -> np.ndarray:
    """The sum of the members' predictions, in order; logarithms are summed as probabilities."""
    add = np.logaddexp if method == "predict_log_proba" else np.add
    total: Any = None
    for member, columns in zip(members, features):
        predictions = member_predictions(member, method, X, features=columns, **kwargs)
        with np.errstate(over="ignore", invalid="ignore"):  # callers see that it is infinite
            total = predictions if total is None else add(total, predictions)
    return total


class MemberRoutingMixin:
    """Metadata of an ensemble, and what of them is for its members."""

    _get_estimator: Any

    def _with_groups(self, estimator: Any, params: dict[str, Any], groups: Any) -> dict[str, Any]:
        """The metadata with the groups, where the base learner requests them as well."""
        if groups is None or not routing_enabled():
            return params
        requested = get_routing_for_object(estimator).consumes("fit", ("groups",))
        return {**params, "groups": np.asarray(groups)} if requested else params

    def _route(self, params: dict[str, Any], method: str) -> dict[str, Any]:
        """Metadata for the members' method that `method` calls."""
        if not routing_enabled():
            return {}
        # Several of the members' methods may serve one of ours; all but one are empty.
        routed = process_routing(self, method, **params)["estimator"]
        return {name: value for kwargs in routed.values() for name, value in kwargs.items()}

    def _own_metadata(self) -> Any:
        """What the methods of the ensemble itself take."""
        return own_requests(self)

    def get_metadata_routing(self) -> MetadataRouter:
        """Metadata routing: to the base learner's method that serves each of ours.

        Returns
        -------
        routing : MetadataRouter
            Routing information of the ensemble.
        """
        estimator = self._get_estimator()
        proba = "predict_proba" if hasattr(estimator, "predict_proba") else "predict"
        log_proba = "predict_log_proba" if hasattr(estimator, "predict_log_proba") else proba
        mapping = MethodMapping()
        for caller, callee in [
            ("fit", "fit"),
            ("decision_function", "decision_function"),
            ("predict", proba),
            ("predict_proba", proba),
            ("predict_log_proba", log_proba),
        ]:
            mapping.add(caller=caller, callee=callee)
        router = MetadataRouter(owner=self).add_self_request(self._own_metadata())
        return router.add(estimator=estimator, method_mapping=mapping)
