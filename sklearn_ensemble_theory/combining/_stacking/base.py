"""The fit of stacked ensembles, for a final estimator and for learned weights."""

from abc import ABCMeta, abstractmethod
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sparse
from sklearn.base import TransformerMixin, clone, is_classifier
from sklearn.metrics import get_scorer_names
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._compat import (
    HasMethods,
    Interval,
    StrOptions,
    VisualBlock,
    check_feature_names_in,
    check_method_params,
    routing_enabled,
    safe_indexing,
)
from sklearn_ensemble_theory._data.folds import splits_of_rows
from sklearn_ensemble_theory._typing import ArrayLike
from sklearn_ensemble_theory.combining._members import (
    NamedMembers,
    drop_zero_weights,
    fit_named,
    is_dropped,
    kept_members,
    member_parameters,
    refuse_unweighted,
)
from sklearn_ensemble_theory.combining._shared_fits import distinct_members
from sklearn_ensemble_theory.combining._stacking.held_out import (
    HeldOutPredictions,
    fit_and_hold_out,
    predicted,
)
from sklearn_ensemble_theory.combining._stacking.learned_weights import (
    LEARNED_ATTRIBUTES,
    WEIGHTS,
    LearnedWeightsMixin,
)

METHODS = ("predict_proba", "decision_function", "predict")

LARGEST_TARGET = 1e145


class BaseStacking(LearnedWeightsMixin, TransformerMixin, NamedMembers, metaclass=ABCMeta):
    """Base of the stacked ensembles; not for direct use."""

    _parameter_constraints: dict = {
        "estimators": [list],
        "final_estimator": [None, HasMethods("fit")],
        "cv": ["cv_object", StrOptions({"prefit"})],
        "n_jobs": [None, Integral],
        "passthrough": ["boolean"],
        "verbose": ["verbose"],
        "weights": [None, StrOptions(set(WEIGHTS))],
        "radius": [Interval(Real, 0, None, closed="neither")],
        "positive": ["boolean"],
        "scoring": [None, StrOptions(set(get_scorer_names())), callable],
        "n_selections": [Interval(Integral, 1, None, closed="left")],
        "n_bags": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    # ------------------------------------------------------------- What a concrete class defines

    @abstractmethod
    def _default_final(self) -> Any:
        """The final estimator where none is given."""

    @abstractmethod
    def _encode(self, y: np.ndarray) -> tuple[np.ndarray, dict[str, Any]]:
        """(y as the members are fitted to it, the fitted attributes that describe it)."""

    @abstractmethod
    def _method_of(self, name: str, member: Any) -> str:
        """The method of a member whose results are combined."""

    @property
    def _members_are_fitted(self) -> bool:
        return isinstance(self.cv, str)  # "prefit"

    # --------------------------------------------------------------------------------------- Fit

    def _fit(self, X: Any, y: np.ndarray, sample_weight: Any, fit_params: dict[str, Any]) -> Any:
        names, members = self._checked_members()
        final = self._checked_final()
        pairs = kept_members(names, members)
        X_all, y_all = X, y
        X, y, kept = drop_zero_weights(X, y, sample_weight)
        rows = slice(None) if kept is None else kept.rows
        y, description = self._encode(y)
        classes = self._column_classes(description)
        params = member_parameters(sample_weight, fit_params, X_all, rows)
        if self._members_are_fitted:
            for _, member in pairs:
                check_is_fitted(member)
        elif kept is not None:
            for name, member in pairs:
                refuse_unweighted(member, name)
        methods = [self._method_of(name, member) for name, member in pairs]
        if self._members_are_fitted:
            fitted = [member for _, member in pairs]
            predictions = [
                self._read(member, method, X, classes)
                for (_, member), method in zip(pairs, methods)
            ]
            every = np.arange(len(y))
            held_out = HeldOutPredictions(every, np.zeros_like(every), predictions, True)
        else:
            routed = self._routed(names, params)
            splits = splits_of_rows(
                self.cv,
                X_all,
                y_all,
                rows,
                classifier=is_classifier(self),
                params=self._splitter_params(sample_weight, fit_params),
            )
            fitted, held_out = self._fit_members(X, y, pairs, methods, routed, splits, classes)

        outcome: dict[str, Any] = {}
        columns = [
            _as_columns(values, method, description)
            for values, method in zip(held_out.predictions, methods)
        ]
        if self.weights is None:
            outcome["final_estimator_"] = self._fit_final(final, X, y, params, columns, held_out)
        else:
            kept_names = [name for name, _ in pairs]
            weight = np.ones(len(y)) if kept is None else kept.weight
            outcome.update(self._learn(y, weight, held_out, kept_names, description))
        for name in ("final_estimator_", *LEARNED_ATTRIBUTES):
            vars(self).pop(name, None)  # of an earlier fit
        for name, value in {**description, **outcome}.items():
            setattr(self, name, value)
        self.estimators_ = fitted
        self.stack_method_ = methods
        self._n_columns = [values.shape[1] for values in columns]
        self._set_named_estimators(names, members, fitted)
        return self

    def _checked_final(self) -> Any:
        """An unfitted final estimator, or None with learned weights."""
        if self.weights is None:
            given = self.final_estimator
            return self._default_final() if given is None else clone(given)
        if self.final_estimator is not None:
            raise ValueError("final_estimator must be None where weights are learned.")
        if self.passthrough:
            raise ValueError(
                "passthrough=True needs a final estimator: weights combine predictions only, "
                f"got weights={self.weights!r}."
            )
        self._check_rule()
        return None

    def _splitter_params(self, sample_weight: Any, fit_params: dict[str, Any]) -> dict[str, Any]:
        """The metadata that the splitter requests, such as `groups`."""
        if not routing_enabled() or not hasattr(self.cv, "get_metadata_routing"):
            return {}
        params = dict(fit_params)
        if sample_weight is not None:
            params["sample_weight"] = sample_weight
        return dict(process_routing(self, "fit", **params)["splitter"]["split"])

    def _fit_members(
        self,
        X: Any,
        y: np.ndarray,
        pairs: list,
        methods: list[str],
        routed: dict[str, Any],
        splits: list,
        classes: Any,
    ) -> tuple[list[Any], HeldOutPredictions]:
        """Fit the members, and learners that are several members or parts of them once."""
        specs = [(n, member, m, routed[n]) for (n, member), m in zip(pairs, methods)]
        first, place = list(range(len(specs))), list(range(len(specs)))
        share = not routing_enabled()  # otherwise the parameters of fit may differ
        if share:
            first, place = distinct_members([member for _, member in pairs])
        fitted, held_out = fit_and_hold_out(
            [specs[j] for j in first],
            X,
            y,
            splits,
            classes,
            share=share,
            known=self._known,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
        )
        held_out.predictions = [held_out.predictions[j] for j in place]
        return [fitted[j] for j in place], held_out

    def _fit_final(
        self,
        final: Any,
        X: Any,
        y: np.ndarray,
        params: dict[str, Any],
        columns: list[np.ndarray],
        held_out: HeldOutPredictions,
    ) -> Any:
        if self.final_estimator is None and not is_classifier(self):
            _check_squares(y)
        if not held_out.every_row_once:
            params = check_method_params(X, params=params, indices=held_out.rows)
            X, y = safe_indexing(X, held_out.rows), y[held_out.rows]
        features = self._with_features(columns, X)
        if self.final_estimator is not None or is_classifier(self):
            return fit_named(final, features, y, params, "final_estimator")
        # Of weights of very different sizes some penalties of RidgeCV have no score; if none has
        # one, its coefficients are not finite.
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            fit_named(final, features, y, params, "final_estimator")
        if not np.isfinite(final.coef_).all():
            raise ValueError(
                "sample_weight, or X and y, have values of such different sizes that RidgeCV, the "
                "default final_estimator, has no finite coefficients."
            )
        return final

    # ----------------------------------------------------------------------------------- Queries

    def _with_features(self, columns: list[np.ndarray], X: Any) -> Any:
        """The columns of the members side by side, with `passthrough` followed by X."""
        if not self.passthrough:
            return np.hstack(columns)
        if sparse.issparse(X):
            return sparse.hstack([*columns, X], format=X.format)
        return np.hstack([*columns, X])

    def _column_classes(self, description: dict[str, Any]) -> np.ndarray | None:
        """The classes of the columns of `predict_proba`, as the members know them."""
        classes = description.get("classes_")
        if classes is None or isinstance(classes, list):
            return None
        return classes if self._members_are_fitted else np.arange(len(classes))

    def _read(self, member: Any, method: str, X: Any, classes: Any) -> Any:
        """The predictions of a fitted member, labels as positions in `classes_`."""
        values = predicted(member, method, X, classes)
        if not self._members_are_fitted or method != "predict" or classes is None:
            return values
        return np.searchsorted(classes, values) if is_classifier(member) else values

    def _read_all(self, X: Any, used: np.ndarray | None = None) -> list[Any]:
        """The predictions of the fitted members; None for those that are not used."""
        described = {"classes_": getattr(self, "classes_", None)}
        classes = self._column_classes(described)
        return [
            self._read(member, method, X, classes) if used is None or used[j] else None
            for j, (member, method) in enumerate(zip(self.estimators_, self.stack_method_))
        ]

    def _transform(self, X: Any) -> Any:
        check_is_fitted(self)
        described = {"classes_": getattr(self, "classes_", None)}
        read = zip(self._read_all(X), self.stack_method_)
        return self._with_features([_as_columns(v, method, described) for v, method in read], X)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> np.ndarray:
        """Names of the columns of `transform`.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the features, used with `passthrough=True`; they have to agree with
            `feature_names_in_`.

        Returns
        -------
        names : ndarray of str
            Class and member, followed by a number where a member has several columns.
        """
        check_is_fitted(self, "n_features_in_")
        features = check_feature_names_in(self, input_features, generate_names=self.passthrough)
        prefix = type(self).__name__.lower()
        kept = [name for name, member in self.estimators if not is_dropped(member)]
        names = [
            f"{prefix}_{name}{i if n > 1 else ''}"
            for name, n in zip(kept, self._n_columns)
            for i in range(n)
        ]
        if self.passthrough:
            return np.concatenate((names, features))
        return np.asarray(names, dtype=object)

    def get_metadata_routing(self) -> MetadataRouter:
        """Return which metadata the members request, for metadata routing.

        Returns
        -------
        routing : MetadataRouter
            Parameters of `fit` are routed to the `fit` of each member and to the splitter, those of
            `predict` to the final estimator.
        """
        router = MetadataRouter(owner=self)
        for name, member in self.estimators:
            mapping = MethodMapping().add(caller="fit", callee="fit")
            router.add(**{name: member}, method_mapping=mapping)
        if hasattr(self.cv, "get_metadata_routing"):
            mapping = MethodMapping().add(caller="fit", callee="split")
            router.add(splitter=self.cv, method_mapping=mapping)
        final = getattr(self, "final_estimator_", self.final_estimator)
        mapping = MethodMapping().add(caller="predict", callee="predict")
        router.add(final_estimator_=final, method_mapping=mapping)
        return router

    def _sk_visual_block_(self) -> VisualBlock:
        members = self._parallel_block()
        if self.weights is not None:
            return members
        final = self.final_estimator
        block = VisualBlock(
            "parallel",
            [self._default_final() if final is None else final],
            names=["final_estimator"],
            dash_wrapped=False,
        )
        return VisualBlock("serial", (members, block), dash_wrapped=False)


def first_method(name: str, member: Any, methods: list[str]) -> str:
    """The first of the methods that the member has."""
    for method in methods:
        if hasattr(member, method):
            return method
    raise ValueError(
        f"Underlying estimator {name} does not implement the method "
        f"{methods[0] if len(methods) == 1 else methods}."
    )


def _as_columns(values: Any, method: str, description: dict[str, Any]) -> np.ndarray:
    """The predictions of a member as columns, without the first of two complementary ones."""
    if isinstance(values, list):  # probabilities for each output
        return np.hstack([proba[:, 1:] for proba in values])
    if values.ndim == 1:
        return values.reshape(-1, 1)
    classes = description.get("classes_")
    binary = isinstance(classes, np.ndarray) and len(classes) == 2
    return values[:, 1:] if method == "predict_proba" and binary else values


def _check_squares(y: np.ndarray) -> None:
    """Refuse targets whose sums of squares overflow in the default final estimator."""
    if y.dtype.kind == "f" and np.abs(y).max() > LARGEST_TARGET:
        raise ValueError(
            f"y has values beyond {LARGEST_TARGET:.0e}, whose squares overflow in RidgeCV, the "
            "default final_estimator; scale y."
        )
