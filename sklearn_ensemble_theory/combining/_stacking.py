"""Stacking: members are combined by what their predictions for held-out rows say.

A fit has three steps. Every member is fitted to all rows, and to the training rows of each split,
with predictions for the others (`_held_out.py`). From these predictions a final estimator is fitted
[Wolpert 1992], or weights of small held-out risk are found [Shah, §4.1] (`_aggregation.py`). A
prediction combines those of the members that were fitted to all rows.
"""

from collections.abc import Callable
from contextlib import nullcontext
from copy import copy
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
import scipy.sparse as sparse
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    RegressorMixin,
    TransformerMixin,
    clone,
    is_classifier,
    is_regressor,
)
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.metrics import get_scorer_names
from sklearn.preprocessing import LabelEncoder
from sklearn.utils import Tags, assert_all_finite, check_array, check_random_state
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._blocks import by_chunks
from sklearn_ensemble_theory._compat import (
    HasMethods,
    Interval,
    StrOptions,
    VisualBlock,
    check_feature_names_in,
    check_method_params,
    raise_for_params,
    routing_enabled,
    safe_indexing,
)
from sklearn_ensemble_theory._door import fit_context
from sklearn_ensemble_theory._folds import splits_of_rows
from sklearn_ensemble_theory._learners import (
    checked_outputs,
    coded_learner,
    has_input_tag,
    requests,
    with_groups,
)
from sklearn_ensemble_theory._margin_losses import MARGIN_FUNCTIONS
from sklearn_ensemble_theory._rows import (
    Rows,
    checked_groups,
    finite_predictions,
    normalised_weights,
    one_column,
)
from sklearn_ensemble_theory._running import one_blas_thread
from sklearn_ensemble_theory._scaling import largest_magnitude
from sklearn_ensemble_theory._typing import (
    ArrayLike,
    CVLike,
    MatrixLike,
    RandomStateLike,
    available_if,
)
from sklearn_ensemble_theory.bounds import cross_validation_oracle_bound
from sklearn_ensemble_theory.ensembles._prediction_sets import SetRule

from ._aggregation import RISKS, HeldOutRisk, greedy_weights, score_of_rows
from ._conformal import (
    HeldOutRows,
    held_out_rows,
    interval_around,
    obstacle_to_scores,
    set_around,
)
from ._held_out import fit_and_hold_out, predicted
from ._members import (
    NamedMembers,
    checked_targets,
    fit_arguments,
    fit_named,
    refuse_unweighted,
    routed_to_splitter,
    rows_to_fit,
)

METHODS = ("predict_proba", "decision_function", "predict")
SOLVED = ("nnls", "simplex", "l1", "l2")  # weights of smallest risk in a set
CHOSEN = ("best", "greedy")  # weights by a choice among the members
LARGEST_TARGET = 1e145  # of the default final estimator, whose sums of squares overflow beyond


def _final_has(name: str, with_weights: bool = True) -> Callable[[Any], bool]:
    """Whether the method is available: the final estimator has it, or the weights replace it."""

    def check(stack: Any) -> bool:
        if stack.weights is not None:
            if not with_weights:
                raise AttributeError(f"{name} is not available with learned weights")
            return True
        final = getattr(stack, "final_estimator_", stack.final_estimator)
        getattr(stack._default_final() if final is None else final, name)
        return True

    return check


def checked_labels(y: Any) -> np.ndarray:
    """Labels of shape (n,), or indicators of several labels, of shape (n, n_outputs)."""
    if y is None:
        raise ValueError("A classifier requires y to be passed, but the target y is None.")
    y = np.asarray(y)
    assert_all_finite(y, input_name="y")
    check_classification_targets(y)
    if y.ndim == 2 and y.shape[1] > 1:
        if type_of_target(y) != "multilabel-indicator":
            raise ValueError("y must have one column, or be an indicator of several labels.")
        return y
    return one_column(y)


class BaseStacking(TransformerMixin, NamedMembers):
    """What stacks of regressors and of classifiers have in common: all but the predictions."""

    _default_final: Any  # the class of the final estimator where none is given
    _held_out: HeldOutRows | str | None
    _parameter_constraints: dict = {
        "estimators": [list],
        "final_estimator": [None, HasMethods("fit")],
        "cv": ["cv_object", StrOptions({"prefit"})],
        "n_jobs": [None, Integral],
        "passthrough": ["boolean"],
        "verbose": ["verbose"],
        "weights": [None, StrOptions({*SOLVED, *CHOSEN, "uniform"})],
        "radius": [Interval(Real, 0, None, closed="neither")],
        "positive": ["boolean"],
        "scoring": [None, StrOptions(set(get_scorer_names())), callable],
        "n_selections": [Interval(Integral, 1, None, closed="left")],
        "n_bags": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "conformal": ["boolean"],
    }

    # ----------------------------------------------------------------------------------- Fit

    @fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        **fit_params: Any,
    ) -> Self:
        """Fit the members, and learn their combination from held-out predictions.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows, as the members accept them.

        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets or labels; several outputs, or indicators of several labels, where the members
            accept them.

        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights of the rows, in the fits of the members (routed where metadata
            routing is enabled) and in the combination. Rows of weight 0 are left out.

        groups : array-like of shape (n_samples,), default=None
            Labels of the rows that belong together, such as those of one patient: no split divides
            them. A `cv` that splits by groups, such as
            `GroupKFold`, gets them; an integer is then a number of folds of whole groups.
            Members get them too if metadata routing is enabled and they request them.

        **fit_params : dict
            Routed to the `fit` of the members and the splitter where metadata routing is enabled.

        Returns
        -------
        self : object
            The fitted ensemble.

        Raises
        ------
        TypeError
            If weights are given and the `fit` of a member does not accept them.
        ValueError
            If parameters are not valid or cannot be used together. An error of a member names it
            and the split.

        Notes
        -----
        Cost: v + 1 fits of each member for v splits, and the combination.
        """
        raise_for_params(fit_params, self, "fit")
        of_classes = isinstance(self, ClassifierMixin)
        y = checked_labels(y) if of_classes else checked_targets(y)
        pairs = self._checked_pairs()
        final = self._checked_final()

        # The rows of positive weight are fitted. Labels become positions in `classes_`.
        rows = rows_to_fit(X, y, sample_weight)
        if of_classes:
            rows = replace(rows, y=self._encode(rows.y))
            if not self._members_are_fitted:
                pairs = [(name, coded_learner(member, self.classes_)) for name, member in pairs]
            final = coded_learner(final, self.classes_)
        groups = checked_groups(groups, X)
        fit_params = with_groups(fit_params, groups, self)
        params = fit_arguments(sample_weight, fit_params, X, rows)
        # Errors that need no fit come before the first fit.
        obstacle = obstacle_to_scores(rows.y, rows.weight)
        scores_rows = self.conformal and obstacle is None
        needs_probabilities = scores_rows and of_classes and final is not None
        if needs_probabilities and not hasattr(final, "predict_proba"):
            raise ValueError(
                "conformal=True requires a final_estimator with predict_proba, which "
                f"{type(final).__name__} does not have."
            )
        for name, member in pairs:
            if self._members_are_fitted:
                check_is_fitted(member)
            elif rows.weight is not None:
                refuse_unweighted(member, name)
        self.stack_method_ = [self._method_of(name, member) for name, member in pairs]

        # The members are fitted, and predict rows that are new to them.
        if self._members_are_fitted:
            self._set_fitted([member for _, member in pairs])
            # `cv="prefit"` says that the members have not seen these rows.
            predictions = self._predictions_of_members(rows.X)
            held, folds = np.arange(len(rows)), np.zeros(len(rows), dtype=np.intp)
        else:
            routed = self._routed(params)
            splitting = self._routed_to_splitter(self.cv, groups, sample_weight, fit_params)
            fitted, predictions, held, folds = fit_and_hold_out(
                [
                    (name, member, method, routed[name])
                    for (name, member), method in zip(pairs, self.stack_method_)
                ],
                rows,
                splits_of_rows(self.cv, X, y, rows.numbers, of_classes, **splitting),
                self._classes_of_columns(),
                share=not routing_enabled(),  # otherwise the arguments of fit may differ
                known=self._known,
                n_jobs=self.n_jobs,
                verbose=self.verbose,
            )
            self._set_fitted(fitted)

        # The combination is learned from these predictions.
        columns = self._columns(predictions)
        self._n_columns = [part.shape[1] for part in columns]
        for name in ("final_estimator_", "estimator_weights_", "cv_risks_", "kkt_violation_"):
            self.__dict__.pop(name, None)  # of an earlier fit
        if self.weights is None:
            # The default learns from few columns.
            few = self.final_estimator is None and not self.passthrough
            with one_blas_thread() if few else nullcontext():
                self.final_estimator_ = self._fit_final(final, columns, rows, params, held)
        else:
            with one_blas_thread():  # many short products
                self._learn_weights(predictions, rows, held, folds)
        self._held_out = obstacle if self.conformal else None
        if scores_rows:
            if self._members_are_fitted:
                splits = splits_of_rows(None, X, y, rows.numbers, of_classes, groups=groups)
                for k, (_, test) in enumerate(splits):
                    folds[test] = k
            found = self._held_out_combination(
                final, predictions, columns, rows, params, held, folds
            )
            self._held_out = HeldOutRows.of(rows, groups, held, found)
        return self

    def _held_out_combination(
        self,
        final: Any,
        predictions: list[Any],
        columns: list[np.ndarray],
        rows: Rows,
        params: dict,
        held: np.ndarray,
        folds: np.ndarray,
    ) -> np.ndarray:
        """Predict the held-out rows by combinations that are learned without those of their split.

        Numbers, or probabilities of the classes.
        """
        found: Any = None
        for k in range(int(folds.max()) + 1):
            test = np.flatnonzero(folds == k)
            others = np.flatnonzero(~np.isin(held, held[test]))
            if len(others) == 0:
                raise ValueError(
                    "conformal=True requires a cv whose splits hold out different rows: the "
                    f"combination for the rows of split {k} is learned from the others."
                )
            twin = copy(self)
            if self.weights is None:
                learned = [part[others] for part in columns]
                one = twin._fit_final(clone(final), learned, rows, params, held[others])
                X = safe_indexing(rows.X, held[test])
                features = self._with_features([part[test] for part in columns], X)
                method, classes = "predict", None
                if isinstance(self, ClassifierMixin):
                    method, classes = "predict_proba", np.arange(len(self.classes_))
                values = predicted(one, method, features, classes)
            else:
                numbers = np.unique(folds[others], return_inverse=True)[1].reshape(-1)
                with one_blas_thread():
                    learned = [part[others] for part in predictions]
                    twin._learn_weights(learned, rows, held[others], numbers)
                mixed = twin._weighted([part[test] for part in predictions])
                of_classes = isinstance(self, ClassifierMixin)
                values = (twin._probabilities_of(mixed) if of_classes else mixed)[0]
            found = np.empty((len(held), *values.shape[1:])) if found is None else found
            found[test] = values
        return found

    def _encode(self, y: np.ndarray) -> np.ndarray:
        """Positions of the labels in `classes_`; several outputs have a list of classes."""
        columns = [y] if y.ndim == 1 else list(y.T)
        # One encoder for each output, as the classes of outputs differ.
        encoders = [LabelEncoder().fit(column) for column in columns]
        codes = [encoder.transform(column) for encoder, column in zip(encoders, columns)]
        if y.ndim == 1:
            self._label_encoder, self.classes_ = encoders[0], encoders[0].classes_
            return codes[0]
        self._label_encoder, self.classes_ = encoders, [e.classes_ for e in encoders]
        return np.array(codes).T

    def _checked_final(self) -> Any:
        """The final estimator, not fitted; None for learned weights that the parameters allow."""
        if self.weights is None:
            final = self.final_estimator
            final = self._default_final() if final is None else clone(final)
            kind = is_classifier if isinstance(self, ClassifierMixin) else is_regressor
            if not kind(final):
                raise ValueError(
                    f"'final_estimator' parameter should be a {kind.__name__[3:]}. Got {final}"
                )
            return final
        if self.final_estimator is not None:
            raise ValueError("final_estimator must be None where weights are learned.")
        if self.passthrough:
            raise ValueError(
                "passthrough=True needs a final estimator: weights combine predictions only, "
                f"got weights={self.weights!r}."
            )
        loss = self._loss_name()
        if self.weights in SOLVED and self.weights not in RISKS[loss].rules:
            raise ValueError(f"weights={self.weights!r} cannot be learned with loss={loss!r}.")
        if loss == "log_loss" and self.weights in ("l1", "l2") and not self.positive:
            raise ValueError(
                "loss='log_loss' needs positive=True, as sums with negative weights are no "
                "probabilities; loss='logistic' has weights of both signs."
            )
        if self.scoring is not None and self.weights not in CHOSEN:
            raise ValueError(
                f"scoring needs weights='best' or 'greedy', got weights={self.weights!r}."
            )
        return None

    def _loss_name(self) -> str:
        """Return the loss, with the default of the rule for "auto"."""
        if self.loss != "auto":
            return self.loss
        return "squared_error" if self.weights in ("nnls", "l1", "l2") else "log_loss"

    def _method_of(self, name: str, member: Any) -> str:
        """The method of a member whose results are combined, the first that the member has."""
        # A weighted mean needs probabilities; a final estimator takes what a member has.
        methods = ["predict"]
        if isinstance(self, ClassifierMixin):
            methods = list(METHODS)
            if self.weights is not None:
                methods = ["predict_proba", "predict"]
                if not is_classifier(member):
                    raise ValueError(
                        f"weights={self.weights!r} needs classifiers; {name!r} is none."
                    )
                if self.stack_method == "decision_function":
                    raise ValueError(
                        "stack_method='decision_function' has no weighted means of probabilities, "
                        f"as weights={self.weights!r} needs them."
                    )
            if self.stack_method != "auto":
                methods = [self.stack_method]
        for method in methods:
            if hasattr(member, method):
                return method
        raise ValueError(
            f"Underlying estimator {name} does not implement the method "
            f"{methods[0] if len(methods) == 1 else methods}."
        )

    def _fit_final(
        self, final: Any, columns: list, rows: Rows, params: dict, held: np.ndarray
    ) -> Any:
        """Fit the final estimator to the columns of the members, and X with `passthrough`."""
        X, y = rows.X, rows.y
        if not requests(final, "groups"):  # they were for the splits
            params = {name: value for name, value in params.items() if name != "groups"}
        is_default_ridge = self.final_estimator is None and not isinstance(self, ClassifierMixin)
        if is_default_ridge and y.dtype.kind == "f" and largest_magnitude(y) > LARGEST_TARGET:
            raise ValueError(
                f"y has values beyond {LARGEST_TARGET:.0e}, whose squares overflow in RidgeCV, the "
                "default final_estimator; scale y."
            )
        # A splitter may leave rows out or hold them out twice: the final estimator gets them as
        # often.
        if not np.array_equal(held, np.arange(len(y))):
            params = check_method_params(X, params=params, indices=held)
            X, y = safe_indexing(X, held), y[held]
        features = self._with_features(columns, X)
        if not is_default_ridge:
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

    def _learn_weights(
        self, predictions: list, rows: Rows, held: np.ndarray, folds: np.ndarray
    ) -> None:
        """Set the learned weights, and what is known of the members' risks."""
        names = [name for name, _ in self._pairs(dropped=False)]
        rng = check_random_state(self.random_state)
        weight = rows.weight
        if weight is not None:
            # Equal weights are none: scorers are then called without them, whether or not they take
            # weights.
            weight = weight[held] if np.ptp(weight) > 0 else None
        share = normalised_weights(weight, len(held))
        fold_rows = [np.flatnonzero(folds == fold) for fold in range(folds.max() + 1)]
        classes = getattr(self, "classes_", None)
        weights, gaps, largest, tables = [], [], [], []
        # Every output has weights of its own.
        for output, P in enumerate(self._tables(predictions)):
            y = rows.y[held] if rows.y.ndim == 1 else rows.y[held, output]
            risk = RISKS[self._loss_name()](P, y, share)
            losses = risk.candidate_losses()
            k = len(names)
            score = None
            if self.scoring is not None:
                own = classes[output] if isinstance(classes, list) else classes
                # A scorer gets the user's labels, since it may name a positive class.
                labels = y if own is None else np.asarray(own)[y]
                score = score_of_rows(self.scoring, labels, weight, own)

            if self.weights in SOLVED:
                v, gap = risk.solve(self.weights, self.radius, self.positive)
                gaps.append(gap)
            elif self.weights == "greedy":
                v = greedy_weights(
                    risk, score, n_selections=self.n_selections, n_bags=self.n_bags, rng=rng
                )
            elif self.weights == "uniform":
                v = np.full(k, 1.0 / k)
            elif score is None:
                v = np.eye(k)[np.argmin(share @ losses)]
            else:
                # A mean over splits, as `cross_val_score` has it: a score of all rows together is
                # another number.
                means = [np.mean([score(P[:, j], fold) for fold in fold_rows]) for j in range(k)]
                v = np.eye(k)[np.argmax(means)]
            weights.append(v)
            largest.append(float(risk.in_units(losses.max())))
            tables.append({"name": names, "weight": v, **_risks(risk, losses, held, fold_rows)})

        self.estimator_weights_ = weights[0] if rows.y.ndim == 1 else np.array(weights)
        if self.weights in SOLVED:
            self.kkt_violation_ = max(gaps)
        # The tables of several outputs are below each other.
        several = len(tables) > 1
        numbers = {"output": np.repeat(np.arange(len(tables)), len(names))} if several else {}
        self.cv_risks_ = {**numbers, "name": names * len(tables)}
        for key in list(tables[0])[1:]:
            self.cv_risks_[key] = np.concatenate([table[key] for table in tables])
        # For `oracle_bound`.
        self._largest_losses = largest
        self._held_out_once = len(np.unique(held)) == len(held)
        self._held_out_sizes = [_effective_size(share[fold]) for fold in fold_rows]

    # -------------------------------------------------------------- Predictions of the members

    def _classes_of_columns(self) -> np.ndarray | None:
        """Return the classes of the columns of `predict_proba`, as the members know them."""
        classes = getattr(self, "classes_", None)
        if classes is None or isinstance(classes, list):
            return None
        return classes if self._members_are_fitted else np.arange(len(classes))

    def _predictions_of_members(self, X: Any, used: np.ndarray | None = None) -> list[Any]:
        """Call the methods of the fitted members, of those that are used."""
        # Members of this fit predict positions in `classes_`, those fitted before the user's
        # labels.
        classes, labels = self._classes_of_columns(), self._members_are_fitted
        return [
            predicted(member, method, X, classes, labels)
            for j, (member, method) in enumerate(zip(self.estimators_, self.stack_method_))
            if used is None or used[j]
        ]

    def _final_predictions(self, X: MatrixLike, params: dict[str, Any]) -> Any:
        columns = self._columns(self._predictions_of_members(X))
        try:
            found = self.final_estimator_.predict(self._with_features(columns, X), **params)
        except ValueError as error:
            if all(np.isfinite(column).all() for column in columns):
                raise
            raise ValueError(
                "X has rows for which predictions of members are NaN or beyond the largest float, "
                f"which {type(self.final_estimator_).__name__} refuses."
            ) from error
        # With parameters it may return more than predictions, such as their standard deviations.
        return found if params else checked_outputs(found, self.final_estimator_, X)

    def _columns(self, predictions: list[Any]) -> list[np.ndarray]:
        """The predictions of each member as columns, of two complementary ones the second."""
        classes = getattr(self, "classes_", None)
        # The two columns sum to 1: with both, a linear final estimator would be singular.
        binary = isinstance(classes, np.ndarray) and len(classes) == 2
        columns = []
        for values, method in zip(predictions, self.stack_method_):
            if isinstance(values, list):  # probabilities for each output
                # Of each output the first class follows from the others.
                values = np.hstack([proba[:, 1:] for proba in values])
            elif values.ndim == 1:
                values = values.reshape(-1, 1)
            elif binary and method == "predict_proba":
                values = values[:, 1:]
            columns.append(values)
        return columns

    def _with_features(self, columns: list[np.ndarray], X: Any) -> Any:
        """Return the columns of the members side by side, with `passthrough` followed by X."""
        if not self.passthrough:
            return np.hstack(columns)
        if sparse.issparse(X):
            return sparse.hstack([*columns, X], format=X.format)
        values = np.asarray(X)
        if values.dtype == object:  # numbers of pandas' own dtypes, whose NA is a missing value
            values = check_array(X, dtype=None, ensure_all_finite=False)
        return np.hstack([*columns, values])

    def _tables(self, predictions: list[Any]) -> list[np.ndarray]:
        """For each output the predictions side by side: numbers (n, k), probabilities (n, k, K).

        Of several outputs, members predict a list of probabilities for each, or those of the second
        of two classes as columns, or positions of classes as columns.
        """
        if not isinstance(self, ClassifierMixin):
            columns = [values.reshape(len(values), -1) for values in predictions]
            return [np.column_stack(output) for output in zip(*(part.T for part in columns))]
        several = isinstance(self.classes_, list)
        tables = []
        for output, classes in enumerate(self.classes_ if several else [self.classes_]):
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

    def _mixed(self, X: Any) -> list[np.ndarray]:
        """For each output, the weighted sum of the predictions of the members."""
        weights = np.atleast_2d(self.estimator_weights_)
        # Members of weight 0 in all outputs are not asked.
        used = (weights != 0).any(axis=0)
        if not used.any():
            used[0] = True  # for the shape
        return self._weighted(self._predictions_of_members(X, used), used)

    def _weighted(self, predictions: list[Any], used: Any = slice(None)) -> list[np.ndarray]:
        """For each output, the weighted sum of these predictions of the members that are used."""
        tables, weights = self._tables(predictions), np.atleast_2d(self.estimator_weights_)
        return [np.tensordot(table, v[used], (1, 0)) for table, v in zip(tables, weights)]

    def _final_params(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return the further arguments of the final estimator's `predict`."""
        if self.weights is not None and params:
            raise TypeError(f"predict with learned weights has no arguments {sorted(params)}.")
        if routing_enabled():
            return dict(process_routing(self, "predict", **params).final_estimator_["predict"])
        return params

    # ------------------------------------------------------------------------ Public queries

    def transform(self, X: MatrixLike) -> np.ndarray:
        """Return the predictions of each member, with `passthrough` followed by X.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        predictions : ndarray or sparse matrix of shape (n_samples, n_columns)
            A column for each member and output, or for each score of a classifier; of the
            probabilities of two classes the second.

        Notes
        -----
        Cost: a prediction of each member.
        """
        check_is_fitted(self)
        return self._with_features(self._columns(self._predictions_of_members(X)), X)

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
        names = [
            f"{prefix}_{name}{i if n > 1 else ''}"
            for (name, _), n in zip(self._pairs(dropped=False), self._n_columns)
            for i in range(n)
        ]
        if self.passthrough:
            return np.concatenate((names, features))
        return np.asarray(names, dtype=object)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        if self.passthrough:  # X goes to the final estimator too; the defaults are linear
            tags.input_tags.allow_nan &= has_input_tag(self.final_estimator, "allow_nan")
        return tags

    def oracle_bound(self, delta: float = 0.05, loss_bound: float | None = None) -> float:
        """Bound on the excess risk of the chosen candidate over the best one; `weights="best"`.

        Parameters
        ----------
        delta : float, default=0.05
            Probability of failure, in (0, 1).

        loss_bound : float, default=None
            A number that the loss of no candidate exceeds. `None` is the largest possible loss
            where there is one (2 for the squared error of probabilities, 36 for the log-loss, whose
            probabilities are at least 2e-16; of two classes 1.31, 2.72 and 2 for the logistic,
            exponential and hinge loss), and otherwise the largest loss on the held-out rows: the
            result is then an estimate of the bound.

        Returns
        -------
        bound : float
            With probability 1 - delta, the mean over the splits of the risk of the chosen
            candidate, fitted to the training rows of the split, is at most that of the best
            candidate plus this number (several outputs: the largest of their numbers).

        Raises
        ------
        ValueError
            If the weights are not `"best"` or chosen by `scoring`, or a row was held out several
            times, or a parameter is not in its range.

        Notes
        -----
        :func:`~sklearn_ensemble_theory.bounds.cross_validation_oracle_bound`, for one split [Shah,
        theorem 6]. It assumes independent rows. Cost: O(1).
        """
        check_is_fitted(self)
        if self.weights != "best" or self.scoring is not None:
            raise ValueError("oracle_bound needs weights='best' without scoring.")
        if not self._held_out_once:
            raise ValueError("oracle_bound needs a cv that holds out no row several times.")
        if loss_bound is None:
            classes = getattr(self, "classes_", None)
            if classes is None:
                loss_bound = max(self._largest_losses)
            else:
                several = classes if isinstance(classes, list) else [classes]
                largest = RISKS[self._loss_name()].largest_loss
                loss_bound = max(largest(len(own)) for own in several)
        sizes = [max(size, 1.0) for size in self._held_out_sizes]
        return cross_validation_oracle_bound(len(self.estimators_), sizes, delta, loss_bound)

    def get_metadata_routing(self) -> MetadataRouter:
        """Return which metadata the members request, for metadata routing.

        Returns
        -------
        routing : MetadataRouter
            Parameters of `fit` are routed to the `fit` of each member and to the splitter, those of
            `predict` to the final estimator.
        """
        router = routed_to_splitter(super().get_metadata_routing(), self.cv)
        final = getattr(self, "final_estimator_", self.final_estimator)
        mapping = MethodMapping().add(caller="predict", callee="predict")
        router.add(final_estimator_=final, method_mapping=mapping)
        return router

    @property
    def _members_are_fitted(self) -> bool:
        return isinstance(self.cv, str)  # "prefit"

    def _sk_visual_block_(self) -> VisualBlock:
        members = super()._sk_visual_block_()
        if self.weights is not None:
            return members
        final = self._default_final() if self.final_estimator is None else self.final_estimator
        block = VisualBlock("parallel", [final], names=["final_estimator"], dash_wrapped=False)
        return VisualBlock("serial", (members, block), dash_wrapped=False)


def _risks(
    risk: HeldOutRisk, losses: np.ndarray, held: np.ndarray, fold_rows: list[np.ndarray]
) -> dict[str, Any]:
    """Return the risks of the members, in all and by split, with standard errors over rows."""
    share = risk.weight
    mean = share @ losses
    # A row that several splits hold out counts once for the standard error.
    _, first, row = np.unique(held, return_index=True, return_inverse=True)
    n = len(first)
    deviations = np.zeros((n, losses.shape[1]))
    np.add.at(deviations, row.ravel(), share[:, None] * (losses - mean))
    error = np.sqrt((deviations**2).sum(axis=0) * (n / max(n - 1, 1)))
    table = {"risk": risk.in_units(mean), "standard_error": risk.in_units(error)}
    for number, rows in enumerate(fold_rows):
        mean_of_fold = share[rows] @ losses[rows] / share[rows].sum()
        table[f"split{number}_risk"] = risk.in_units(mean_of_fold)
    return table


def _effective_size(weight: np.ndarray) -> float:
    """Kish's number of rows, (sum w)^2 / sum w^2; 0 where none has a positive weight."""
    # In units of the largest weight, whose square may vanish.
    top = weight.max(initial=0.0)
    w = weight / top if top > 0 else weight
    return float(w.sum() ** 2 / (w @ w)) if top > 0 else 0.0


class StackingClassifier(ClassifierMixin, BaseStacking):
    """Combination of classifiers that is learned from their held-out predictions.

    Parameters
    ----------
    estimators : list of (str, estimator) tuples
        The members, with a name each. Clones of them are fitted to all rows, and to the training
        rows of each split of `cv`. A member can be left out by `set_params(name="drop")`. Members
        that are the same learner are fitted once: one object, or equal parameters without
        `random_state=None`; also where such a learner is a member of a vote or stack in this list.

    final_estimator : estimator, default=None
        The classifier that combines the members, fitted to their held-out predictions.
        `None` is
        :class:`~sklearn.linear_model.LogisticRegression`; it must be `None` if `weights` is given.

    cv : int, cross-validation splitter, iterable or "prefit", default=None
        The splits; an int is the number of consecutive stratified folds, `None` is 5. A splitter
        may leave rows out, as :class:`~sklearn.model_selection.TimeSeriesSplit` does, or hold them
        out several times: the combination is learned from the predictions that there are.
        `"prefit"` takes the members as they are; the rows of `fit` should then be new to them.

    stack_method : {"auto", "predict_proba", "decision_function", "predict"}, default="auto"
        The method of the members whose results are combined: `"auto"` is the first of the three
        that a member has. With `weights`, `"auto"` is probabilities, and votes of a member without
        them; `"predict"` is votes, and `"decision_function"` is not possible.

    n_jobs : int, default=None
        Number of fits in parallel.

    passthrough : bool, default=False
        Whether the final estimator is also fitted to the columns of X.

    verbose : int, default=0
        Verbosity of the parallel fits.

    weights : str, default=None
        How the weights of the members are learned, instead of a final estimator:

        - `"nnls"`: the non-negative weights of smallest risk;
        - `"simplex"`: the same with sum 1;
        - `"l1"`, `"l2"`: the same with an l1 or l2 norm of at most `radius`;
        - `"best"`: the member of smallest risk, the choice of cross-validation;
        - `"greedy"`: the frequencies in a forward selection with replacement;
        - `"uniform"`: equal weights.

    loss : {"auto", "log_loss", "squared_error", "logistic", "exponential", "hinge"}, \
            default="auto"
        The loss whose mean over the held-out rows is the risk:

        - `"log_loss"`: minus the logarithm of the probability of the class, as `predict_proba`
          returns it. It does not depend on the sum of the weights: `"nnls"`, `"l1"` and `"l2"` have
          the optimum of `"simplex"`, divided by a number where the ball is small, and need
          `positive=True`;
        - `"squared_error"`: the squared differences between weighted sums of probabilities and
          indicators of the classes;
        - `"logistic"`, `"exponential"`, `"hinge"`: log(1 + exp(-m)), exp(-m) and max(0, 1 - m) of
          the margin m = y s [Shah, §3.3]. The score s is the weighted sum of 2 p - 1, with p the
          probability of the second class (-1 and 1 for votes), and y is -1 or 1. With more than two
          classes the losses of each class against the others are added.

        `"auto"` is `"squared_error"` for `"nnls"`, `"l1"` and `"l2"`, and otherwise `"log_loss"`.

    radius : float, default=1.0
        Radius of the balls of `"l1"` and `"l2"`.

    positive : bool, default=True
        Whether the weights of `"l1"` and `"l2"` are non-negative.

    scoring : str or callable, default=None
        A metric of scikit-learn for `"best"`, which takes the largest mean over the splits, and
        for `"greedy"`. `None` is the loss.

    n_selections : int, default=50
        Number of selections of `"greedy"`.

    n_bags : int, default=1
        Number of greedy selections that are averaged, each from half of the members, drawn at
        random; 1 is a single selection from all members.

    random_state : int, RandomState instance or None, default=None
        Seed of the draws for `n_bags`.

    conformal : bool, default=False
        Whether `fit` also predicts each held-out row by a combination that is learned from the rows
        of the other splits, for `predict_set`: as many further fits of the final estimator, or of
        the weights, as there are splits.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,), or list of them for several outputs
        The labels, sorted.

    estimators_ : list of estimators
        The members fitted to all rows.

    named_estimators_ : :class:`~sklearn.utils.Bunch`
        The fitted members by name.

    stack_method_ : list of str
        The method of each member whose results are combined.

    final_estimator_ : estimator
        The fitted final estimator; without `weights`.

    estimator_weights_ : ndarray of shape (n_classifiers,) or (n_outputs, n_classifiers)
        The learned weights.

    cv_risks_ : dict of lists and arrays
        A table of the members that can be read by pandas: `name`, `weight`, `risk` (the mean loss
        on the held-out rows), `standard_error` (over rows), and `split0_risk`, ...; with several
        outputs also `output`. With `weights`.

    kkt_violation_ : float
        Bound on the distance of the risk of the weights to the minimum, by the gradient, as a
        share of the risk of the prediction 0 or, for the log-loss, in nats. With `"nnls"`,
        `"simplex"`, `"l1"` and `"l2"`. With `"nnls"` it compares with weights of at most twice the
        sum: the logistic and the exponential loss of members that separate the classes have no
        minimum.

    n_features_in_ : int
        Number of features seen at `fit`, where the first member has this attribute.

    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where a member has this attribute.

    See Also
    --------
    StackingRegressor : The same for regression.
    VotingClassifier : Given weights.

    Notes
    -----
    The cost is v + 1 fits of each of k members for v splits, and for the weights of n held-out rows
    O(n k^2) for each Newton step of the log-loss, O(n K k^2) with the squared error of K classes
    and for each Newton step of a function of the margin, a linear program with the hinge (an
    interior-point method or Newton steps in the l2 ball), and O(n k) for each greedy selection.

    The weights are those of [Shah, §4.1.1], for any of the losses; the risk of `"simplex"`,
    `"nnls"` and `"greedy"` on the held-out rows is at most that of the best member. `"best"` is the
    discrete super learner of van der Laan, Polley and Hubbard (2007), and `oracle_bound` is for it.
    Rows of weight 0 are left out. Several outputs (indicators of labels) have weights of their own.

    References
    ----------
    R. D. Shah. *Mathematics of Machine Learning*, lecture notes. University of Cambridge.

    R. Caruana, A. Niculescu-Mizil, G. Crew and A. Ksikes (2004). "Ensemble selection from libraries
    of models". *International Conference on Machine Learning*.

    M. J. van der Laan, E. C. Polley and A. E. Hubbard (2007). "Super learner". *Statistical
    Applications in Genetics and Molecular Biology* 6.

    D. H. Wolpert (1992). "Stacked generalization". *Neural Networks* 5.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn_ensemble_theory import GradientBoostingClassifier, StackingClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> members = [
    ...     ("logistic", make_pipeline(StandardScaler(), LogisticRegression())),
    ...     ("boosting", GradientBoostingClassifier(n_estimators=30, random_state=0)),
    ... ]
    >>> stack = StackingClassifier(members, weights="simplex").fit(X, y)
    >>> stack.estimator_weights_.round(2), stack.kkt_violation_ < 1e-6
    (array([0.92, 0.08]), True)
    >>> stack.cv_risks_["risk"].round(2), stack.cv_risks_["standard_error"].round(2)
    (array([0.08, 0.13]), array([0.02, 0.02]))
    """

    _default_final = LogisticRegression
    _members_of_own_kind = False  # regressors may be the input of a final classifier
    _parameter_constraints: dict = {
        **BaseStacking._parameter_constraints,
        "loss": [StrOptions({"auto", "log_loss", "squared_error", *MARGIN_FUNCTIONS})],
        "stack_method": [StrOptions({"auto", *METHODS})],
    }

    def __init__(
        self,
        estimators: list,
        final_estimator: BaseEstimator | None = None,
        *,
        cv: CVLike | Literal["prefit"] | None = None,
        stack_method: Literal["auto", "predict_proba", "decision_function", "predict"] = "auto",
        n_jobs: int | None = None,
        passthrough: bool = False,
        verbose: int = 0,
        weights: str | None = None,
        loss: Literal[
            "auto", "log_loss", "squared_error", "logistic", "exponential", "hinge"
        ] = "auto",
        radius: float = 1.0,
        positive: bool = True,
        scoring: str | Callable[..., float] | None = None,
        n_selections: int = 50,
        n_bags: int = 1,
        random_state: RandomStateLike = None,
        conformal: bool = False,
    ) -> None:
        self.estimators = estimators
        self.final_estimator = final_estimator
        self.cv = cv
        self.stack_method = stack_method
        self.n_jobs = n_jobs
        self.passthrough = passthrough
        self.verbose = verbose
        self.weights = weights
        self.loss = loss
        self.radius = radius
        self.positive = positive
        self.scoring = scoring
        self.n_selections = n_selections
        self.n_bags = n_bags
        self.random_state = random_state
        self.conformal = conformal

    @available_if(_final_has("predict"))
    @by_chunks
    def predict(self, X: MatrixLike, **predict_params: Any) -> np.ndarray:
        """Predict labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to classify.

        **predict_params : dict
            Further arguments of the `predict` of the final estimator, routed where metadata routing
            is enabled; none with learned weights.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Labels: with learned weights those of the largest weighted sum, of equal ones the first
            in `classes_`.

        Notes
        -----
        Cost: a prediction of each member, with learned weights of those with a weight other than 0.
        """
        check_is_fitted(self)
        params = self._final_params(predict_params)
        several = isinstance(self.classes_, list)
        if self.weights is None:
            codes = self._final_predictions(X, params)
        else:
            winners = [np.argmax(scores, axis=1) for scores in self._mixed(X)]
            codes = np.column_stack(winners) if several else winners[0]
        if not several:
            return self._label_encoder.inverse_transform(codes)
        columns = [e.inverse_transform(code) for e, code in zip(self._label_encoder, codes.T)]
        return np.array(columns).T

    @available_if(_final_has("predict_proba"))
    @by_chunks
    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Predict probabilities of the classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes) or (n_samples, n_outputs)
            Those of the final estimator, or the weighted sums of the members' probabilities,
            divided by their sum over the classes (negative sums, which only negative weights can
            give, count as 0, and probabilities are equal where all are 0). With `"nnls"`, `"l1"` or
            `"l2"` and the logistic or exponential loss, whose scores have a free length, those that
            the loss has for the weighted scores s, 1 / (1 + exp(-s)) and 1 / (1 + exp(-2 s)),
            divided by their sum. With several outputs as in scikit-learn: the first column for each
            of them.

        Notes
        -----
        Cost: a prediction of each member, with learned weights of those with a weight other than 0.
        """
        check_is_fitted(self)
        several = isinstance(self.classes_, list)
        proba: Any
        if self.weights is None:
            proba = self.final_estimator_.predict_proba(self.transform(X))
        else:
            tables = self._probabilities_of(self._mixed(X))
            proba = tables if several else tables[0]
        return np.array([table[:, 0] for table in proba]).T if several else proba

    def _probabilities_of(self, mixed: list[np.ndarray]) -> list[np.ndarray]:
        """For each output, the probabilities that weighted sums stand for."""
        tables = []
        phi = MARGIN_FUNCTIONS.get(self._loss_name())
        if self.weights not in ("nnls", "l1", "l2"):
            phi = None
        for scores, v in zip(mixed, np.atleast_2d(self.estimator_weights_)):
            if phi is not None and phi.has_link:
                scores = phi.probability(2 * scores - v.sum())
            # Weighted sums are no probabilities where weights are negative or do not sum to 1.
            scores = np.maximum(scores, 0.0)
            total = scores.sum(axis=1, keepdims=True)
            equal = np.full_like(scores, 1.0 / scores.shape[1])
            tables.append(np.divide(scores, total, out=equal, where=total > 0))
        return tables

    @available_if(_final_has("decision_function", with_weights=False))
    @by_chunks
    def decision_function(self, X: MatrixLike) -> np.ndarray:
        """Scores of the final estimator; not with learned weights.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            The decision function of the final estimator.

        Notes
        -----
        Cost: a prediction of each member.
        """
        check_is_fitted(self)
        return self.final_estimator_.decision_function(self.transform(X))

    @available_if(_final_has("predict_proba"))
    @by_chunks
    def predict_set(
        self,
        X: MatrixLike,
        coverage: float = 0.9,
        *,
        method: Literal["lac", "aps", "raps"] = "lac",
        per_class: bool = False,
        randomized: bool = False,
        penalty: float = 0.05,
        k_reg: int = 1,
        random_state: RandomStateLike = None,
    ) -> np.ndarray:
        """Predict sets of classes that contain the class of a new row with a given probability.

        Each of the n held-out rows has a score s_y(x), that of its class by members and a
        combination that are not fitted to the rows of its split. A class c is in the set of x if
        fewer than `coverage` (n + 1) held-out rows have a smaller score than s_c(x), that of
        `predict_proba`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to classify.

        coverage : float, default=0.9
            The probability aimed at, on average over the rows.

        method : {"lac", "aps", "raps"}, default="lac"
            The score s_c(x) of a class c, with p the probabilities at x:

            - ``"lac"``: 1 - p_c, for the smallest sets on average; rows that are hard to classify
              are covered less often than easy ones [Sadinle, Lei and Wasserman, 2019];
            - ``"aps"``: the total probability of the classes that are more probable than c, plus U
              times that of c and of those as probable, with U uniform on (0, 1), for a similar
              coverage of easy and hard rows [Romano, Sesia and Candès, 2020];
            - ``"raps"``: that of "aps" plus `penalty` for each class beyond the first `k_reg`, for
              smaller sets where there are many classes [Angelopoulos, Bates, Jordan and Malik,
              2021].

        per_class : bool, default=False
            Whether each class is compared with the training rows of this class only, so that the
            coverage is that of each class. A class of too few rows, (n_c + 1) `coverage` > n_c, is
            in all sets.

        randomized : bool, default=False
            Whether U is drawn, and ties are broken at random, so that the coverage is not larger
            than asked for either; sets may then be empty. Otherwise sets of "aps" and "raps" have
            at least one class: they are compared with the mean over U of the training rows, and U
            is 0 at x, which covers more often.

        penalty : float, default=0.05
            Of "raps", at least 0.

        k_reg : int, default=1
            Of "raps", at least 0: the number of classes without a penalty.

        random_state : int, RandomState instance or None, default=None
            Of the numbers drawn with ``randomized=True``, for a Dask collection in each chunk anew.

        Returns
        -------
        sets : ndarray of bool of shape (n_samples, n_classes)
            Whether each class of `classes_` is in the set. A set of "lac" may be empty, where no
            class is probable enough; it contains all classes if there are too few held-out rows,
            (n + 1) `coverage` > n.

        Raises
        ------
        ValueError
            If the stack was fitted without ``conformal=True``, if rows have different weights or y
            several columns, or if a parameter is not valid.

        Notes
        -----
        Coverage is about `coverage`, without a guarantee for finite samples, for two reasons: the
        members that predict a held-out row are fitted to fewer rows than those of the stack, and
        the combination for a split is learned from held-out predictions of the other splits, whose
        members have seen its rows. Only folds within folds would avoid this, at the price of as
        many fits again for each fold; simulations (see the user guide) show no difference. With
        ``cv="prefit"`` the combination for a row is learned from four of five folds of the rows.
        Rows that belong together, by `groups` of `fit`, are compared group by group, and the
        sets are for one row of a new group. A row that a splitter holds out several times counts
        once.

        Cost: that of `predict_proba`, and O(log n) for each row and class.

        References
        ----------
        M. Sadinle, J. Lei and L. Wasserman (2019). "Least ambiguous set-valued classifiers with
        bounded error levels". *Journal of the American Statistical Association* 114.

        Y. Romano, M. Sesia and E. J. Candès (2020). "Classification with valid and adaptive
        coverage". *Advances in Neural Information Processing Systems* 33.

        A. N. Angelopoulos, S. Bates, M. I. Jordan and J. Malik (2021). "Uncertainty sets for image
        classifiers using conformal prediction". *International Conference on Learning
        Representations*.
        """
        check_is_fitted(self)
        rows = held_out_rows(self, "predict_set", "conformal=True")
        rule = SetRule(coverage, method, per_class, randomized, penalty, k_reg, random_state)
        return set_around(rows, rows.predictions, self.predict_proba(X), rule)


class StackingRegressor(RegressorMixin, BaseStacking):
    """Combination of regressors that is learned from their held-out predictions.

    Parameters
    ----------
    estimators : list of (str, estimator) tuples
        The members, with a name each. Clones of them are fitted to all rows, and to the training
        rows of each split of `cv`. A member can be left out by `set_params(name="drop")`. Members
        that are the same learner are fitted once: one object, or equal parameters without
        `random_state=None`; also where such a learner is a member of a vote or stack in this list.

    final_estimator : estimator, default=None
        The regressor that combines the members, fitted to their held-out predictions.
        `None` is :class:`~sklearn.linear_model.RidgeCV`; it must be `None` if `weights` is given.

    cv : int, cross-validation splitter, iterable or "prefit", default=None
        The splits; an int is the number of consecutive folds, `None` is 5. A splitter may
        leave rows out, as :class:`~sklearn.model_selection.TimeSeriesSplit` does, or hold them out
        several times: the combination is learned from the predictions that there are. `"prefit"`
        takes the members as they are; the rows of `fit` should then be new to them.

    n_jobs : int, default=None
        Number of fits in parallel.

    passthrough : bool, default=False
        Whether the final estimator is also fitted to the columns of X.

    verbose : int, default=0
        Verbosity of the parallel fits.

    weights : str, default=None
        How the weights of the members are learned, instead of a final estimator:

        - `"nnls"`: the non-negative weights of smallest risk;
        - `"simplex"`: the same with sum 1;
        - `"l1"`, `"l2"`: the same with an l1 or l2 norm of at most `radius`;
        - `"best"`: the member of smallest risk, the choice of cross-validation;
        - `"greedy"`: the frequencies in a forward selection with replacement;
        - `"uniform"`: equal weights.

    loss : {"squared_error", "absolute_error"}, default="squared_error"
        The loss whose mean over the held-out rows is the risk. `"absolute_error"` has no `"l2"`.

    radius : float, default=1.0
        Radius of the balls of `"l1"` and `"l2"`.

    positive : bool, default=True
        Whether the weights of `"l1"` and `"l2"` are non-negative.

    scoring : str or callable, default=None
        A metric of scikit-learn for `"best"`, which takes the largest mean over the splits, and
        for `"greedy"`. `None` is the loss.

    n_selections : int, default=50
        Number of selections of `"greedy"`.

    n_bags : int, default=1
        Number of greedy selections that are averaged, each from half of the members, drawn at
        random; 1 is a single selection from all members.

    random_state : int, RandomState instance or None, default=None
        Seed of the draws for `n_bags`.

    conformal : bool, default=False
        Whether `fit` also predicts each held-out row by a combination that is learned from the rows
        of the other splits, for `predict_interval`: as many further fits of the final estimator, or
        of the weights, as there are splits.

    Attributes
    ----------
    estimators_ : list of estimators
        The members fitted to all rows.

    named_estimators_ : :class:`~sklearn.utils.Bunch`
        The fitted members by name.

    stack_method_ : list of str
        The method of each member whose results are combined.

    final_estimator_ : estimator
        The fitted final estimator; without `weights`.

    estimator_weights_ : ndarray of shape (n_regressors,) or (n_outputs, n_regressors)
        The learned weights; all can be 0 with `"nnls"`, `"l1"` and `"l2"`.

    cv_risks_ : dict of lists and arrays
        A table of the members that can be read by pandas: `name`, `weight`, `risk` (the mean loss
        on the held-out rows), `standard_error` (over rows), and `split0_risk`, ...; with several
        outputs also `output`. With `weights`.

    kkt_violation_ : float
        Bound on the distance of the risk of the weights to the minimum, by the gradient, as a
        share of the risk of the prediction 0. With `"nnls"`, `"simplex"`, `"l1"` and `"l2"`.

    n_features_in_ : int
        Number of features seen at `fit`, where the first member has this attribute.

    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where a member has this attribute.

    See Also
    --------
    StackingClassifier : The same for classification.
    VotingRegressor : Given weights.

    Notes
    -----
    The cost is v + 1 fits of each of k members for v splits, and for the weights of n held-out rows
    O(n k^2) with the squared error (one triangular factor of the predictions, then exact active-set
    methods on k columns), a linear program with the absolute error, and O(n k) for each greedy
    selection.

    The weights are those of [Shah, §4.1]; the risk of `"simplex"`, `"nnls"` and `"greedy"` on the
    held-out rows is at most that of the best member. `"best"` is the discrete super learner of van
    der Laan, Polley and Hubbard (2007), and `oracle_bound` is for it. Rows of weight 0 are left
    out. Several outputs have weights of their own.

    References
    ----------
    R. D. Shah. *Mathematics of Machine Learning*, lecture notes. University of Cambridge.

    R. Caruana, A. Niculescu-Mizil, G. Crew and A. Ksikes (2004). "Ensemble selection from libraries
    of models". *International Conference on Machine Learning*.

    M. J. van der Laan, E. C. Polley and A. E. Hubbard (2007). "Super learner". *Statistical
    Applications in Genetics and Molecular Biology* 6.

    D. H. Wolpert (1992). "Stacked generalization". *Neural Networks* 5.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import RidgeCV
    >>> from sklearn_ensemble_theory import L2BoostingRegressor, StackingRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> members = [("ridge", RidgeCV()), ("stumps", L2BoostingRegressor(300, learning_rate=0.05))]
    >>> stack = StackingRegressor(members, weights="simplex").fit(X, y)
    >>> stack.estimator_weights_.round(2)
    array([0.72, 0.28])
    >>> stack.cv_risks_["risk"].round(), stack.cv_risks_["standard_error"].round()
    (array([3007., 3151.]), array([182., 198.]))
    """

    _default_final = RidgeCV
    _parameter_constraints: dict = {
        **BaseStacking._parameter_constraints,
        "loss": [StrOptions({"squared_error", "absolute_error"})],
    }

    def __init__(
        self,
        estimators: list,
        final_estimator: BaseEstimator | None = None,
        *,
        cv: CVLike | Literal["prefit"] | None = None,
        n_jobs: int | None = None,
        passthrough: bool = False,
        verbose: int = 0,
        weights: str | None = None,
        loss: Literal["squared_error", "absolute_error"] = "squared_error",
        radius: float = 1.0,
        positive: bool = True,
        scoring: str | Callable[..., float] | None = None,
        n_selections: int = 50,
        n_bags: int = 1,
        random_state: RandomStateLike = None,
        conformal: bool = False,
    ) -> None:
        self.estimators = estimators
        self.final_estimator = final_estimator
        self.cv = cv
        self.n_jobs = n_jobs
        self.passthrough = passthrough
        self.verbose = verbose
        self.weights = weights
        self.loss = loss
        self.radius = radius
        self.positive = positive
        self.scoring = scoring
        self.n_selections = n_selections
        self.n_bags = n_bags
        self.random_state = random_state
        self.conformal = conformal

    @available_if(_final_has("predict"))
    @finite_predictions
    def predict(self, X: MatrixLike, **predict_params: Any) -> np.ndarray:
        """Predict targets.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        **predict_params : dict
            Further arguments of the `predict` of the final estimator, routed where metadata routing
            is enabled; none with learned weights.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Predictions.

        Notes
        -----
        Cost: a prediction of each member, with learned weights of those with a weight other than 0.
        """
        check_is_fitted(self)
        params = self._final_params(predict_params)
        if self.weights is None:
            return self._final_predictions(X, params)
        mixed = self._mixed(X)
        return mixed[0] if len(mixed) == 1 else np.column_stack(mixed)

    @by_chunks
    def predict_interval(
        self,
        X: MatrixLike,
        coverage: float = 0.9,
        method: Literal["conformal"] = "conformal",
        side: Literal["both", "lower", "upper"] = "both",
    ) -> np.ndarray:
        """Predict intervals that contain the target of a new row with a given probability.

        They are the prediction plus and minus the ceil(`coverage` (n + 1))-th smallest absolute
        residual of the n held-out rows, each predicted by members and a combination that are not
        fitted to the rows of its split.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to predict.

        coverage : float, default=0.9
            The probability aimed at, on average over the rows.

        method : {"conformal"}, default="conformal"
            How the interval is computed.

        side : {"both", "lower", "upper"}, default="both"
            Which ends there are; the other one is infinite. A single end has residuals with their
            sign.

        Returns
        -------
        interval : ndarray of shape (n_samples, 2)
            Lower and upper ends, in the units of y.

        Raises
        ------
        ValueError
            If the stack was fitted without ``conformal=True``, if rows have different weights or y
            several columns, if a parameter is not valid, or if (n + 1) `coverage` > n.

        Notes
        -----
        Coverage is about `coverage`, without a guarantee for finite samples, for two reasons: the
        members that predict a held-out row are fitted to fewer rows than those of the stack, and
        the combination for a split is learned from held-out predictions of the other splits, whose
        members have seen its rows. Only folds within folds would avoid this, at the price of as
        many fits again for each fold; simulations (see the user guide) show no difference. With
        ``cv="prefit"`` the combination for a row is learned from four of five folds of the rows.
        Rows that belong together, by `groups` of `fit`, are compared group by group, and the
        intervals are for one row of a new group. A row that a splitter holds out several times
        counts once.

        Cost: that of `predict`.

        References
        ----------
        J. Lei, M. G'Sell, A. Rinaldo, R. J. Tibshirani and L. Wasserman (2018). "Distribution-free
        predictive inference for regression". *Journal of the American Statistical Association* 113.
        """
        check_is_fitted(self)
        rows = held_out_rows(self, "predict_interval", "conformal=True")
        return interval_around(rows, rows.predictions, self.predict(X), coverage, method, side)
