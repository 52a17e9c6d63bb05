"""Ensembles of named members of different kinds: their parameters, and the rows that they get."""

from typing import Any, Self

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    MetaEstimatorMixin,
    RegressorMixin,
    is_classifier,
    is_regressor,
)
from sklearn.exceptions import NotFittedError
from sklearn.utils import Bunch, Tags, check_array, get_tags, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from sklearn_ensemble_theory._compat import (
    VisualBlock,
    check_method_params,
    routing_enabled,
    safe_indexing,
)
from sklearn_ensemble_theory._door import ReadsOnce
from sklearn_ensemble_theory._folds import splits_of_rows
from sklearn_ensemble_theory._learners import coded_learner
from sklearn_ensemble_theory._rows import (
    Rows,
    canonical,
    in_usual_units,
    is_pairwise,
    one_column,
    positive_weights,
)
from sklearn_ensemble_theory._typing import Estimator

from ._member_fits import (
    KnownFits,
    Member,
    MembersPlan,
    Outputs,
    refuse_unweighted,
)

TEXTS = {
    "reuse_fits": """
        reuse_fits : bool, default=False
            Some members give held-out predictions from a single fit: forests and bagging (out of
            bag), bagged neighbours (without each row), and boosting and additive models (by their
            folds, for which they use `cv`). If True, these predictions are used instead of a fit
            for each split. It needs at least two splits that are folds: no row is held out twice,
            and each split trains on all rows that it does not hold out.
        """,
    "groups": """
        groups : array-like of shape (n_samples,), default=None
            Labels of the rows that belong together, such as those of one patient: no split divides
            them. A splitter that splits by groups, such as `GroupKFold`, gets them; an integer is
            then a number of folds of whole groups. Members get them too if metadata routing is
            enabled and they request them.
        """,
    "rows_only": """
        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        """,
    "cost_of_members": """
        Notes
        -----
        Cost: a prediction of each member.
        """,
    "names_of_members": """
        n_features_in_ : int
            Number of features seen at `fit`, if the first member has this attribute.
        feature_names_in_ : ndarray of shape (n_features_in_,)
            Names of the features, if a member has this attribute.
        """,
    "ignored_features": """
        Parameters
        ----------
        input_features : array-like of str, default=None
            Not used, except that it has to agree with `feature_names_in_`.
        """,
    "fitted_members": """
        Returns
        -------
        self : object
            The fitted ensemble.
        """,
}


class NamedMembers(MetaEstimatorMixin, ReadsOnce, BaseEstimator):
    """Base of ensembles with a parameter `estimators`, a list of (name, estimator) pairs.

    The names are parameters: `set_params(name="drop")` leaves a member out, and
    `set_params(name__parameter=value)` sets a parameter of a member.
    """

    estimators: list
    n_jobs: int | None
    verbose: int
    _members_of_own_kind = True
    _name_of_splits = "cv"  # the parameter that has them, or says "prefit"
    _known: KnownFits | None = None  # during a fit

    # -------------------------------------------------------------------- Names and parameters

    @property
    def named_estimators(self) -> Bunch:
        """The members as they were given, by name."""
        return Bunch(**dict(self.estimators))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Get the parameters of the ensemble and, by their names, of its members.

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
        if deep:
            members = self._pairs()
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
        # The list first: names and nested parameters are of the new members.
        if "estimators" in params:
            self.estimators = params.pop("estimators")
        members = self._pairs()
        replaced = {name for name, _ in members} & set(params)
        if replaced:
            self.estimators = [
                (name, params.pop(name)) if name in replaced else (name, member)
                for name, member in members
            ]
        super().set_params(**params)
        return self

    def _pairs(self, dropped: bool = True) -> list[tuple[str, Any]]:
        """The pairs of `estimators`, perhaps without the dropped ones; none if it has no pairs."""
        try:
            pairs = [(name, member) for name, member in self.estimators]
        except (TypeError, ValueError):
            return []
        return pairs if dropped else [pair for pair in pairs if not is_dropped(pair[1])]

    def _checked_pairs(self) -> list[tuple[str, Any]]:
        """Return the members to fit, after the checks of `estimators`."""
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
        pairs = self._pairs(dropped=False)
        if not pairs:
            raise ValueError(
                "All estimators are dropped. At least one is required to be an estimator."
            )
        # The ensemble's own kind by its base class: `is_classifier(self)` would walk the tags of
        # all members.
        kind = is_classifier if isinstance(self, ClassifierMixin) else is_regressor
        for name, member in pairs:
            if not hasattr(member, "fit") or (self._members_of_own_kind and not kind(member)):
                raise ValueError(
                    f"The estimator {type(member).__name__} should be a {kind.__name__[3:]}; it is "
                    f"{name!r} of estimators."
                )
        return pairs

    # ------------------------------------------------------------------------------------- Fit

    def _routed(self, params: dict[str, Any]) -> dict[str, dict[str, Any]]:
        """Return the arguments of each member's `fit`, by name."""
        if routing_enabled():
            routed = process_routing(self, "fit", **params)
            return {name: dict(routed[name]["fit"]) for name, _ in self.estimators}
        return {name: dict(params) for name, _ in self.estimators}

    def _check_weights_of_chunks(self) -> None:
        """Raise an error, with metadata routing, for a member that requests no weights of rows.

        Blocks have the weights with them, and all members read them.
        """
        if not routing_enabled():
            return
        routed = self._routed({"sample_weight": True})
        for name, _ in self._pairs(dropped=False):
            if "sample_weight" not in routed[name]:
                raise ValueError(
                    f"The member {name!r} does not request sample_weight, but with Dask "
                    "collections all members get the weights: set its "
                    "set_fit_request(sample_weight=True), or fit without weights."
                )

    def _splits(
        self,
        cv: Any,
        X: Any,
        y: np.ndarray,
        rows: Rows,
        groups: Any,
        sample_weight: Any,
        fit_params: dict[str, Any],
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """The splits of the rows that are fitted, by `cv` for all rows."""
        params: dict[str, Any] = {"groups": groups}
        if routing_enabled() and hasattr(cv, "get_metadata_routing"):
            given = {} if sample_weight is None else {"sample_weight": sample_weight}
            routed = process_routing(self, "fit", **fit_params, **given)
            params = routed["splitter"]["split"]
        is_class, name = isinstance(self, ClassifierMixin), self._name_of_splits
        return splits_of_rows(cv, X, y, rows.numbers, is_class, parameter=name, **params)

    def _check_is_fitted(self, name: str, member: Any) -> None:
        try:
            check_is_fitted(member)
        except NotFittedError as error:
            raise NotFittedError(
                f'{self._name_of_splits}="prefit" takes fitted members, and {name!r} of estimators '
                f"is not fitted: {error}"
            ) from error

    def _plan_of_members(
        self,
        pairs: list[tuple[str, Any]],
        rows: Rows,
        params: dict[str, Any],
        holds_out: bool,
        share: bool = True,
    ) -> MembersPlan:
        """How `fit` gets its members; `params` are its further arguments."""
        classes, are_fitted = getattr(self, "classes_", None), self._members_are_fitted
        # Errors that need no fit come before the first one.
        for name, member in pairs:
            if are_fitted:
                self._check_is_fitted(name, member)
            elif rows.weight is not None:
                refuse_unweighted(member, name)
        methods = [self._method_of(name, member) for name, member in pairs]
        routed = self._routed({} if are_fitted else params)
        members = [
            Member(name, m if are_fitted else coded_learner(m, classes), method, routed[name])
            for (name, m), method in zip(pairs, methods)
        ]
        return MembersPlan(
            members,
            Outputs(methods, classes, known_by_labels=are_fitted),
            are_fitted=are_fitted,
            holds_out=holds_out,
            share=share and not routing_enabled(),  # otherwise the arguments of fit may differ
            n_jobs=self.n_jobs,
            verbose=int(self.verbose),
        )

    def _set_fitted(self, fitted: list[Any]) -> None:
        """Keep the fitted members, by name too, where dropped ones are "drop"."""
        self.estimators_ = fitted
        rest = iter(fitted)
        self.named_estimators_ = Bunch(
            **{name: m if is_dropped(m) else next(rest) for name, m in self.estimators}
        )
        self.__dict__.pop("feature_names_in_", None)  # of an earlier fit
        for member in fitted:
            if hasattr(member, "feature_names_in_"):
                self.feature_names_in_ = member.feature_names_in_

    def _method_of(self, name: str, member: Any) -> str:
        """The method of a member whose results are combined."""
        raise NotImplementedError

    @property
    def _members_are_fitted(self) -> bool:
        """Whether `fit` takes the members as they are."""
        raise NotImplementedError

    def __fitted_to_all_rows__(self) -> list[Estimator]:
        if self._members_are_fitted:
            return []
        return [member for _, member in self._pairs(dropped=False)]

    def __fit_sharing__(self, known: KnownFits, X: Any, y: Any, **params: Any) -> Self:
        # An attribute for the time of the fit only, as `fit` has a public signature.
        self._known = known
        try:
            return self.fit(X, y, **params)
        finally:
            del self._known

    # -------------------------------------------------------------- What scikit-learn asks for

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

    def get_metadata_routing(self) -> MetadataRouter:
        """Return which metadata the members request, for metadata routing.

        Returns
        -------
        routing : MetadataRouter
            Parameters of `fit` are routed to the `fit` of each member.
        """
        router = MetadataRouter(owner=self)
        for name, member in self.estimators:
            mapping = MethodMapping().add(caller="fit", callee="fit")
            router.add(**{name: member}, method_mapping=mapping)
        return router

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inner = [get_tags(m) for _, m in self._pairs() if hasattr(m, "__sklearn_tags__")]
        tags.input_tags.allow_nan = all(t.input_tags.allow_nan for t in inner)
        tags.input_tags.sparse = all(t.input_tags.sparse for t in inner)
        # Splits of the rows then take the same columns, which is right for the other members too.
        tags.input_tags.pairwise = any(t.input_tags.pairwise for t in inner)
        if isinstance(self, RegressorMixin):
            tags.target_tags.multi_output = all(
                get_tags(m).target_tags.multi_output for _, m in self._pairs(dropped=False)
            )
        return tags

    def _sk_visual_block_(self) -> VisualBlock:
        names, members = zip(*self.estimators)
        return VisualBlock("parallel", members, names=names, dash_wrapped=False)


def routed_to_splitter(router: MetadataRouter, cv: Any) -> MetadataRouter:
    """The router with the splitter too: a number as `cv` requests nothing, others may groups."""
    if hasattr(cv, "get_metadata_routing"):
        mapping = MethodMapping().add(caller="fit", callee="split")
        router.add(splitter=cv, method_mapping=mapping)
    return router


def is_dropped(member: Any) -> bool:
    """Tell whether a member is the string "drop"."""
    return isinstance(member, str) and member == "drop"


# --- rows and targets ---------------------------------------------------------------------------


def checked_targets(y: Any) -> np.ndarray:
    """Targets of shape (n,), or (n, n_outputs) for more than one output."""
    y = y if hasattr(y, "ndim") else np.asarray(y)
    if y.ndim == 2 and y.shape[1] > 1:
        return check_array(y, dtype="numeric", input_name="y")
    return one_column(y)


def rows_to_fit(X: Any, y: np.ndarray, sample_weight: Any, members: list[Any]) -> Rows:
    """Return the rows of positive weight; their weights are None if none are given.

    X is not validated here: members may take frames of any columns, or text. It is canonical, or as
    given where members may read a graph of distances (`RowsAsRead`).
    """
    check_consistent_length(X, y)
    if isinstance(X, memoryview):  # of which no rows can be taken
        X = np.asarray(X)
    if not any(is_pairwise(member) for member in members):
        X = canonical(X)
    if sample_weight is None:
        return Rows(X, y, None, range(len(y)))
    kept, weight = positive_weights(sample_weight, X)
    if isinstance(kept, range):
        return Rows(X, y, weight, kept)
    return Rows(safe_indexing(indexable(X)[0], kept), y[kept], weight, kept)


def fit_arguments(
    sample_weight: Any, fit_params: dict[str, Any], X: Any, rows: Rows
) -> dict[str, Any]:
    """The further arguments of `fit` for these rows of X; `sample_weight` only if it is given."""
    params = dict(fit_params)
    if sample_weight is not None:
        given = np.asarray(sample_weight)
        scaled = in_usual_units(given) if given.ndim else given
        params["sample_weight"] = sample_weight if scaled is given else scaled
    if isinstance(rows.numbers, range):  # all of them
        return params
    return check_method_params(X, params=params, indices=rows.numbers)
