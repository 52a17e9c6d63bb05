"""Ensembles of named members of different kinds: parameters, checks and the fit of one member."""

import inspect
from abc import abstractmethod
from collections.abc import Mapping
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.utils import Bunch, Tags, get_tags, indexable
from sklearn.utils.metadata_routing import process_routing
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from sklearn_ensemble_theory._compat import (
    VisualBlock,
    check_method_params,
    print_elapsed_time,
    routing_enabled,
    safe_indexing,
)
from sklearn_ensemble_theory._weights import PositiveRows, in_usual_units, rows_of_positive_weight
from sklearn_ensemble_theory.combining._shared_fits import KnownFits

__all__ = [
    "NamedMembers",
    "drop_zero_weights",
    "fit_named",
    "is_dropped",
    "kept_members",
    "member_parameters",
    "raise_named",
    "refuse_unweighted",
]

DROPPED = "drop"
# A message of these can be extended without the loss of other attributes.
PLAIN_ERRORS = (ValueError, TypeError)


class NamedMembers(MetaEstimatorMixin, BaseEstimator):
    """Base of ensembles with a parameter `estimators`, a list of (name, estimator) pairs.

    The names are parameters: `set_params(name="drop")` leaves a member out, and
    `set_params(name__parameter=value)` sets a parameter of a member.
    """

    estimators: list
    _members_of_own_kind = True
    _known: KnownFits | None = None  # during a fit

    @property
    @abstractmethod
    def _members_are_fitted(self) -> bool:
        """Whether `fit` takes the members as they are."""

    @property
    def named_estimators(self) -> Bunch:
        """The members as they were given, by name."""
        return Bunch(**dict(self.estimators))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Get the parameters of the ensemble and, by their names, those of its members.

        Parameters
        ----------
        deep : bool, default=True
            Whether to include the members and their parameters.

        Returns
        -------
        params : dict
            Names of parameters and their values.
        """
        params = super().get_params(deep=deep)
        members = self._pairs()
        if not deep or members is None:
            return params
        params.update(members)
        for name, member in members:
            if hasattr(member, "get_params"):
                for key, value in member.get_params(deep=True).items():
                    params[f"{name}__{key}"] = value
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters of the ensemble, its members, or parameters of its members.

        Parameters
        ----------
        **params : keyword arguments
            `name=value` for a parameter of the ensemble; the name of a member replaces it, by
            another estimator or by `"drop"`; `name__parameter=value` sets a parameter of a member.

        Returns
        -------
        self : object
            The ensemble.
        """
        if "estimators" in params:
            self.estimators = params.pop("estimators")
        members = self._pairs() or []
        replaced = {name for name, _ in members} & set(params)
        if replaced:
            self.estimators = [
                (name, params.pop(name)) if name in replaced else (name, member)
                for name, member in members
            ]
        super().set_params(**params)
        return self

    def _learners_of_all_rows(self) -> list[Any]:
        """The members that `fit` fits to the rows that it is given."""
        if self._members_are_fitted:
            return []
        return [member for _, member in self._pairs() or [] if not is_dropped(member)]

    def _fit_sharing(self, known: KnownFits, X: Any, y: Any, **params: Any) -> Self:
        """`fit`, which takes the members that are known and adds the others."""
        self._known = known
        try:
            return self.fit(X, y, **params)
        finally:
            del self._known

    def _pairs(self) -> list[tuple[str, Any]] | None:
        """The pairs of `estimators`, or None where it is not a list of pairs."""
        try:
            return [(name, member) for name, member in self.estimators]
        except (TypeError, ValueError):
            return None

    def _checked_members(self) -> tuple[list[str], list[Any]]:
        """(names, members) with the dropped ones; the checks of `estimators`."""
        members = self.estimators
        if len(members) == 0 or not all(
            isinstance(item, tuple | list) and len(item) == 2 and isinstance(item[0], str)
            for item in members
        ):
            raise ValueError(
                "Invalid 'estimators' attribute, 'estimators' should be a "
                "non-empty list of (string, estimator) tuples."
            )
        names = [name for name, _ in members]
        if len(set(names)) != len(names):
            raise ValueError(f"Names provided are not unique: {names!r}")
        conflicts = sorted(set(names).intersection(self.get_params(deep=False)))
        if conflicts:
            raise ValueError(f"Estimator names conflict with constructor arguments: {conflicts!r}")
        wrong = [name for name in names if "__" in name]
        if wrong:
            raise ValueError(f"Estimator names must not contain __: got {wrong!r}")
        if all(is_dropped(member) for _, member in members):
            raise ValueError(
                "All estimators are dropped. At least one is required to be an estimator."
            )
        kind = is_classifier if is_classifier(self) else is_regressor
        for _, member in members:
            if self._members_of_own_kind and not is_dropped(member) and not kind(member):
                raise ValueError(
                    f"The estimator {type(member).__name__} should be a {kind.__name__[3:]}."
                )
        return names, [member for _, member in members]

    def _routed(self, names: list[str], params: dict[str, Any]) -> dict[str, dict[str, Any]]:
        """The parameters of each member's `fit`, by name."""
        if routing_enabled():
            routed = process_routing(self, "fit", **params)
            return {name: dict(routed[name]["fit"]) for name in names}
        return {name: dict(params) for name in names}

    def _set_named_estimators(self, names: list[str], members: list[Any], fitted: list[Any]):
        """Store the fitted members by name, dropped ones as "drop"."""
        rest = iter(fitted)
        self.named_estimators_ = Bunch(
            **{name: m if is_dropped(m) else next(rest) for name, m in zip(names, members)}
        )
        vars(self).pop("feature_names_in_", None)
        for member in fitted:
            if hasattr(member, "feature_names_in_"):
                self.feature_names_in_ = member.feature_names_in_

    @property
    def n_features_in_(self) -> int:
        """Number of features seen during `fit`."""
        try:
            check_is_fitted(self)
        except NotFittedError as error:
            raise AttributeError(
                f"{type(self).__name__} object has no attribute n_features_in_"
            ) from error
        return self.estimators_[0].n_features_in_

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        members = [m for _, m in self._pairs() or [] if hasattr(m, "__sklearn_tags__")]
        inner = [get_tags(member) for member in members]
        tags.input_tags.allow_nan = all(t.input_tags.allow_nan for t in inner)
        tags.input_tags.sparse = all(t.input_tags.sparse for t in inner)
        return tags

    def _parallel_block(self) -> VisualBlock:
        names, members = zip(*self.estimators)
        return VisualBlock("parallel", members, names=names, dash_wrapped=False)


def is_dropped(member: Any) -> bool:
    """Whether a member is the string "drop"."""
    return isinstance(member, str) and member == DROPPED


def kept_members(names: list[str], members: list[Any]) -> list[tuple[str, Any]]:
    """The members that are not dropped, with their names."""
    return [(name, m) for name, m in zip(names, members) if not is_dropped(m)]


def member_parameters(
    sample_weight: Any, fit_params: Mapping[str, Any], X: Any, rows: slice | np.ndarray
) -> dict[str, Any]:
    """The parameters of `fit` for the rows that are fitted; without `sample_weight` if None."""
    params = dict(fit_params)
    if sample_weight is not None:
        given = np.asarray(sample_weight)
        scaled = in_usual_units(given) if given.ndim else given
        params["sample_weight"] = sample_weight if scaled is given else scaled
    if isinstance(rows, slice):
        return params
    return check_method_params(X, params=params, indices=rows)


def drop_zero_weights(X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, PositiveRows | None]:
    """(X, y, kept): the rows of positive weight; `kept` is None without weights.

    X is not validated here: members may take frames of any columns, or text.
    """
    check_consistent_length(X, y)
    if sample_weight is None:
        return X, y, None
    kept = rows_of_positive_weight(sample_weight, X)
    if isinstance(kept.rows, slice):
        return X, y, kept
    return safe_indexing(indexable(X)[0], kept.rows), y[kept.rows], kept


def fit_named(
    estimator: Any,
    X: Any,
    y: Any,
    params: Mapping[str, Any],
    name: str,
    *,
    place: str = "",
    message: tuple[str, str] | None = None,
    known: KnownFits | None = None,
) -> Any:
    """Fit one member; an error names it, and where it occurred.

    Parameters
    ----------
    estimator : estimator
        A clone of the member.
    X, y
        Its rows.
    params : mapping
        Further arguments of `fit`.
    name : str
        The name of the member.
    place : str, default=""
        Which part of the data the rows are, such as "split 2 of cv".
    message : (str, str), default=None
        The ensemble and what to print after the fit.
    known : KnownFits, default=None
        Learners fitted to the same rows, for an ensemble that contains some of them.
    """
    fit = estimator.fit
    if known is not None and hasattr(estimator, "_fit_sharing"):
        fit = partial(estimator._fit_sharing, known)
    try:
        with print_elapsed_time(*(message or (None, None))):
            fit(X, y, **params)
    except Exception as error:
        refused = "unexpected keyword argument 'sample_weight'" in str(error)
        if isinstance(error, TypeError) and refused and not routing_enabled():
            raise no_weights(estimator, name) from error
        raise_named(error, name, place)
    return estimator


def refuse_unweighted(estimator: Any, name: str) -> None:
    """Raise an error, before any fit, if the `fit` of a member cannot take `sample_weight`."""
    if routing_enabled():
        return
    try:
        known = inspect.signature(estimator.fit).parameters
    except (TypeError, ValueError):  # no signature
        return
    if "sample_weight" in known or any(p.kind is p.VAR_KEYWORD for p in known.values()):
        return
    raise no_weights(estimator, name)


def no_weights(estimator: Any, name: str) -> TypeError:
    return TypeError(
        f"Underlying estimator {type(estimator).__name__} does not support sample weights. "
        f"It is the member {name!r}."
    )


def raise_named(error: Exception, name: str, place: str) -> None:
    """Raise the error of a member again, with its name."""
    where = f"The member {name!r} failed" + (f" in {place}" if place else "")
    if isinstance(error, np.linalg.LinAlgError):
        raise ValueError(f"{where} on these values of X: {error}.") from error
    if place and type(error) in PLAIN_ERRORS:
        raise type(error)(f"{where}: {error}") from error
    error.add_note(f"{where}.")
    raise error
