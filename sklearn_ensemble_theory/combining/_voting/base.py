"""The fit of voting ensembles: every member on all rows, or members that have been fitted."""

from abc import ABCMeta, abstractmethod
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import TransformerMixin, clone
from sklearn.utils import Tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._compat import VisualBlock, check_feature_names_in
from sklearn_ensemble_theory._typing import ArrayLike, MatrixLike
from sklearn_ensemble_theory._weights import normalised_weights
from sklearn_ensemble_theory.combining._members import (
    NamedMembers,
    drop_zero_weights,
    fit_named,
    is_dropped,
    kept_members,
    member_parameters,
    refuse_unweighted,
)


class BaseVoting(TransformerMixin, NamedMembers, metaclass=ABCMeta):
    """Base of the voting ensembles; not for direct use."""

    weights: Any
    n_jobs: int | None
    verbose: bool
    prefit: bool

    _parameter_constraints: dict = {
        "estimators": [list],
        "weights": ["array-like", None],
        "n_jobs": [None, Integral],
        "verbose": ["verbose"],
        "prefit": ["boolean"],
    }

    # ------------------------------------------------------------- What a concrete class defines

    @abstractmethod
    def _check_prefit(self, name: str, member: Any, description: dict[str, Any]) -> None:
        """Raise an error if a fitted member cannot be combined with the others."""

    @abstractmethod
    def _encode(self, y: np.ndarray) -> tuple[np.ndarray, dict[str, Any]]:
        """(y as the members are fitted to it, the fitted attributes that describe it)."""

    @property
    def _members_are_fitted(self) -> bool:
        return self.prefit

    # --------------------------------------------------------------------------------------- Fit

    def _fit(self, X: Any, y: np.ndarray, sample_weight: Any, fit_params: dict[str, Any]) -> Any:
        names, members = self._checked_members()
        self._check_weights(len(members))
        kept_pairs = kept_members(names, members)
        X_given = X
        X, y, kept = drop_zero_weights(X, y, sample_weight)
        y, description = self._encode(y)
        if self.prefit:
            fitted = [member for _, member in kept_pairs]
            for name, member in kept_pairs:
                check_is_fitted(member)
                self._check_prefit(name, member, description)
        else:
            if kept is not None:
                for name, member in kept_pairs:
                    refuse_unweighted(member, name)
            rows = slice(None) if kept is None else kept.rows
            params = member_parameters(sample_weight, fit_params, X_given, rows)
            routed = self._routed(names, params)
            fitted = self._fit_members(X, y, kept_pairs, routed)
        for name, value in description.items():
            setattr(self, name, value)
        self.estimators_ = fitted
        self._set_named_estimators(names, members, fitted)
        return self

    def _fit_members(self, X: Any, y: np.ndarray, pairs: list, routed: dict[str, Any]) -> list[Any]:
        """Fit the members that are not known from another ensemble's fit."""
        known = self._known
        found = [None if known is None else known.find(member, X, y) for _, member in pairs]
        fits = Parallel(n_jobs=self.n_jobs)(
            delayed(fit_named)(
                clone(member),
                X,
                y,
                routed[name],
                name,
                message=("Voting", self._message(name, number, len(pairs))),
            )
            for number, (name, member) in enumerate(pairs, 1)
            if found[number - 1] is None
        )
        rest = iter(fits)
        fitted = [next(rest) if model is None else model for model in found]
        if known is not None:
            for (_, member), model in zip(pairs, fitted):
                known.add(member, model, X, y)
        return fitted

    def _message(self, name: str, number: int, total: int) -> str | None:
        return f"({number} of {total}) Processing {name}" if self.verbose else None

    def _check_weights(self, n_members: int) -> None:
        if self.weights is None:
            return
        if np.ndim(self.weights) != 1:
            raise ValueError(f"weights must be one number for each member, got {self.weights!r}.")
        if len(self.weights) != n_members:
            raise ValueError(
                f"Number of `estimators` and weights must be equal; got {len(self.weights)} "
                f"weights, {n_members} estimators"
            )
        used = np.asarray(self._kept_weights(), dtype=float)
        if not np.isfinite(used).all() or not used.sum() > 0:
            raise ValueError(
                "weights must be finite, and the sum of those of the members that are not dropped "
                f"positive, got {self.weights!r}."
            )

    def _kept_weights(self) -> list[float] | None:
        """The weights of the members that are not dropped; None where all are equal."""
        if self.weights is None:
            return None
        return [w for (_, m), w in zip(self.estimators, self.weights) if not is_dropped(m)]

    def _average(self, arrays: list[np.ndarray]) -> np.ndarray:
        """The weighted mean of one array for each member."""
        values, weights = np.asarray(arrays), self._kept_weights()
        with np.errstate(over="ignore", invalid="ignore"):
            mean = np.average(values, axis=0, weights=weights)
        if np.isfinite(mean).all():
            return mean
        # The sum overflows, which the mean need not.
        share = normalised_weights(None if weights is None else np.asarray(weights), len(values))
        return np.einsum("i...,i->...", values, share)

    # ----------------------------------------------------------------------------------- Queries

    def fit_transform(
        self, X: MatrixLike, y: ArrayLike | None = None, **fit_params: Any
    ) -> np.ndarray:
        """Fit the members and return their predictions for the training rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows.

        y : array-like of shape (n_samples,), default=None
            Targets.

        **fit_params : dict
            Further arguments of `fit`.

        Returns
        -------
        predictions : ndarray
            As of `transform`.

        Notes
        -----
        Cost: a fit and a prediction of each member.
        """
        return super().fit_transform(X, y, **fit_params)

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

    def _names_out(self, input_features: Any, n_columns: int | None) -> np.ndarray:
        """Names of the columns of `transform`: one for each member, or `n_columns` numbered."""
        check_is_fitted(self, "n_features_in_")
        check_feature_names_in(self, input_features, generate_names=False)
        prefix = type(self).__name__.lower()
        numbers = [""] if n_columns is None else range(n_columns)
        names = [name for name, member in self.estimators if not is_dropped(member)]
        return np.asarray([f"{prefix}_{name}{i}" for name in names for i in numbers], dtype=object)

    def _sk_visual_block_(self) -> VisualBlock:
        return self._parallel_block()

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags
