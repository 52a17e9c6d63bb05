"""Stacking: members are combined by what their predictions for held-out rows say.

Every member is fitted to all rows, and to the training rows of each split, with predictions for the
others. From these a final estimator is fitted [Wolpert 1992], or weights of small risk are found
[Shah, §4.1]. The fit itself is in `_stack.py`.
"""

from collections.abc import Callable
from dataclasses import replace
from numbers import Integral
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, clone, is_classifier, is_regressor
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.preprocessing import LabelEncoder
from sklearn.utils import Tags, assert_all_finite
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._blocks import by_chunks
from sklearn_ensemble_theory._compat import (
    HasMethods,
    StrOptions,
    VisualBlock,
    raise_for_params,
    routing_enabled,
)
from sklearn_ensemble_theory._documentation import documented
from sklearn_ensemble_theory._door import fit_context
from sklearn_ensemble_theory._folds import checked_n_splits
from sklearn_ensemble_theory._learners import (
    GROUPS_ON_REQUEST,
    checked_outputs,
    coded_learner,
    has_input_tag,
    with_groups,
)
from sklearn_ensemble_theory._rows import (
    ChunkedRows,
    checked_feature_names,
    checked_groups,
    finite_predictions,
    one_column,
)
from sklearn_ensemble_theory._scores import ClassifierMixin, RegressorMixin
from sklearn_ensemble_theory._typing import (
    ArrayLike,
    CVLike,
    MatrixLike,
    RandomStateLike,
    available_if,
)
from sklearn_ensemble_theory.bounds import cross_validation_oracle_bound
from sklearn_ensemble_theory.ensembles._held_out import TEXTS as TEXTS_OF_HELD_OUT
from sklearn_ensemble_theory.ensembles._held_out import (
    HeldOut,
    held_out_is_set,
    held_out_of,
    obstacle_to_scores,
)
from sklearn_ensemble_theory.ensembles._prediction_sets import SetRule

from ._aggregation import RISKS, probabilities_of, weighted_sums
from ._held_out_sums import HeldOutSums
from ._member_blocks import (
    HashedFolds,
    MembersInBlocks,
    read_targets,
    refuse_members_in_memory,
)
from ._member_fits import MembersProblem, Outputs
from ._member_weights import (
    CURE_OF_SUMS,
    SHORTHANDS,
    BestMember,
    MemberWeights,
    rule_of,
)
from ._named_members import (
    TEXTS,
    NamedMembers,
    checked_targets,
    fit_arguments,
    routed_to_splitter,
    rows_to_fit,
)
from ._stack import (
    Combination,
    FinalEstimator,
    RuleOfWeights,
    StackPlan,
    fit_stack,
    with_features,
)

METHODS = ("predict_proba", "decision_function", "predict")
HOLDS_OUT = held_out_is_set('"cv"')
CONSTRAINTS: dict[str, list] = {
    "estimators": [list],
    "final_estimator": [None, HasMethods("fit"), StrOptions(set(SHORTHANDS))],
    "cv": ["cv_object", StrOptions({"prefit"})],
    "n_jobs": [None, Integral],
    "passthrough": ["boolean"],
    "verbose": ["verbose"],
    "held_out": [None, StrOptions({"cv"})],
    "reuse_fits": ["boolean"],
}

STACKING_TEXTS = {
    "estimators": """
        Parameters
        ----------
        estimators : list of (str, estimator) tuples
            The members, with a name each. Clones of them are fitted to all rows, and to the
            training rows of each split of `cv`. A member can be left out by
            `set_params(name="drop")`. Members that are the same learner (one object, or equal
            parameters without `random_state=None`) are fitted once. This includes members of a vote
            or stack in this list.
        """,
    "rules": """
            or how the weights of the members are found from these predictions:

            - `"nnls"`, `"simplex"`, `"l1"`, `"l2"`: the weights of smallest risk in a set, with
              options as a :class:`~sklearn_ensemble_theory.combining.WeightedMean`;
            - `"uniform"`: equal weights;
            - `"best"`: the choice of cross-validation, with options as a
              :class:`~sklearn_ensemble_theory.combining.BestMember`;
            - `"greedy"`: a forward selection, with options as a
              :class:`~sklearn_ensemble_theory.combining.GreedySelection`.

            A search reaches the parameters of such an object by names such as
            `final_estimator__radius`.
        """,
    "cv": """
            A splitter may leave rows out, as :class:`~sklearn.model_selection.TimeSeriesSplit`
            does, or hold them out several times: the combination is learned from the predictions
            that there are. `"prefit"` takes the members as they are; the rows of `fit` should then
            be new to them.
        """,
    "n_jobs": """
        n_jobs : int, default=None
            Number of fits in parallel.
        """,
    "passthrough": """
        passthrough : bool, default=False
            Whether the final estimator is also fitted to the columns of X; not for weights.
        """,
    "verbose": """
        verbose : int, default=0
            Verbosity of the parallel fits.
        """,
    "held_out": """
            With "cv", `fit` also predicts each held-out row by a combination that is learned from
            the rows of the other splits. This takes one further fit of the final estimator, or of
            the weights, for each split. None keeps nothing.
        """,
    "attributes": """
        estimators_ : list of estimators
            The members fitted to all rows.
        named_estimators_ : :class:`~sklearn.utils.Bunch`
            The fitted members by name.
        stack_method_ : list of str
            The method of each member whose results are combined.
        final_estimator_ : estimator
            The fitted final estimator, also if it finds weights.
        estimator_weights_ : ndarray of shape (n_members,) or (n_outputs, n_members)
            The learned weights; all can be 0 with `"nnls"`, `"l1"` and `"l2"`.
        cv_results_ : dict of lists and arrays
            What the weights are learned from, as a table that pandas reads. Its columns are `name`,
            `weight`, `mean_score` (the mean loss of the held-out rows, or the mean of the metric
            over the splits), `standard_error`, and `split0_score`, ...; with several outputs also
            `output`. Only with weights.
        kkt_violation_ : float
            Bound on the distance of the risk of the weights to the minimum; see
            :class:`~sklearn_ensemble_theory.combining.WeightedMean`.
        held_out_ : object
            With `held_out="cv"`, the held-out predictions of the stack: arrays `y`, `predictions`,
            `rows` and `groups`.
        %(names_of_members)s
        """,
    "notes": """
        Notes
        -----
        The cost is v + 1 fits of each member for v splits, and the fit of the combination: for
        weights of k members from n held-out rows mostly O(n k^2). Rows of weight 0 are left out.
        With several outputs, each output has its own weights.
        """,
    "references": """
        References
        ----------
        %(Shah)s

        D. H. Wolpert (1992). "Stacked generalization". *Neural Networks* 5.
        """,
    "predict_params": """
        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to predict.
        **predict_params : dict
            Further arguments of the `predict` of the final estimator, routed if metadata routing is
            enabled; none with learned weights.
        """,
    "cost_of_predictions": """
        Notes
        -----
        Cost: a prediction of each member, with learned weights of those with a weight other than 0.
        """,
    "notes_of_coverage": """
        Notes
        -----
        Coverage is about `coverage`, without a guarantee for finite samples. The members that
        predict a held-out row are fitted to fewer rows than the members of the stack. The
        combination for a split is learned from predictions of members that have seen its rows. The
        user guide has simulations ("Choosing and combining"). With ``cv="prefit"`` the combination
        for a row is learned from four of five folds of the rows. Rows that belong together, by
        `groups` of `fit`, are compared group by group, for one row of a new group. A row that a
        splitter holds out several times counts once.
        """,
}
"""Text that the two classes share."""


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


@documented(TEXTS, STACKING_TEXTS)
class BaseStacking(TransformerMixin, NamedMembers):
    """What stacks of regressors and of classifiers have in common: all but the predictions."""

    final_estimator: Any
    cv: Any
    passthrough: bool
    held_out: Literal["cv"] | None
    reuse_fits: bool
    _default_final: Callable[[], BaseEstimator]  # where none is given
    _parameter_constraints: dict = CONSTRAINTS

    # ----------------------------------------------------------------------------------- Fit

    __metadata_request__fit = GROUPS_ON_REQUEST

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
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or Dask collection
            Training rows, as the members accept them.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), or Dask collection
            Targets or labels; several outputs, or indicators of several labels, if the members
            accept them.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights of the rows, in the fits of the members (routed if metadata routing
            is enabled) and in the combination. Rows of weight 0 are left out.
        %(groups)s
        **fit_params : dict
            Routed to the `fit` of the members and the splitter if metadata routing is enabled.

        %(fitted_members)s

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
        pairs, are_fitted = self._checked_pairs(), self._members_are_fitted
        rule, final = self._rule_and_final(of_classes)

        # The rows of positive weight are fitted. Labels become positions in `classes_`.
        rows = rows_to_fit(X, y, sample_weight, [member for _, member in pairs])
        classes = None
        if of_classes:
            rows = replace(rows, y=self._encode(rows.y))
            classes = self.classes_
            final = coded_learner(final, classes)
        groups = checked_groups(groups, X)
        fit_params = with_groups(fit_params, groups, self)
        params = fit_arguments(sample_weight, fit_params, X, rows)
        # Errors that need no fit come before the first fit.
        obstacle = None if self.held_out is None else obstacle_to_scores(rows.y)
        holds_out = self.held_out is not None and obstacle is None
        if holds_out and of_classes and rule is None and not hasattr(final, "predict_proba"):
            raise ValueError(
                'held_out="cv" requires a final_estimator with predict_proba, which '
                f"{type(final).__name__} does not have."
            )
        members = self._plan_of_members(pairs, rows, params, holds_out=True)
        members = replace(members, by_own=self.reuse_fits)
        outputs, self.stack_method_ = members.outputs, members.outputs.methods
        combination: Combination
        if rule is not None:
            combination = RuleOfWeights(rule, outputs)
        else:
            is_default = self.final_estimator is None
            combination = FinalEstimator(final, outputs, self.passthrough, params, is_default)
        splits: list[Any] = []
        if holds_out or not are_fitted:
            cv = None if are_fitted else self.cv  # the folds of the combination, or of the members
            splits = self._splits(cv, X, y, rows, groups, sample_weight, fit_params)
        fitted, held, learned, predictions = fit_stack(
            StackPlan(members, combination, holds_out), MembersProblem(rows, splits), self._known
        )

        self._set_fitted(fitted)
        self._outputs, self.final_estimator_ = outputs, learned.learned_object
        self._n_columns = [part.shape[1] for part in outputs.columns(held.predictions)]
        self._held_out_once = len(np.unique(held.rows)) == len(held.rows)
        self._set_rule(None if rule is None else self.final_estimator_)
        if self.held_out is not None:
            self._kept: HeldOut | str | None = obstacle
            if predictions is not None:
                self._kept = self.held_out_ = HeldOut.of(rows, groups, held.rows, predictions)
        return self

    def _fit_chunks(self, rows: ChunkedRows) -> None:
        of_classes = isinstance(self, ClassifierMixin)
        pairs = self._checked_pairs()
        for name in ("held_out", "reuse_fits"):
            if value := getattr(self, name):
                raise ValueError(
                    f"{name}={value!r} needs all rows in memory; with Dask collections leave it at "
                    "its default."
                )
        n_splits = checked_n_splits(self.cv)
        rule, _ = self._rule_and_final(of_classes)
        if rule is None:
            raise ValueError(
                f"final_estimator={self.final_estimator!r} needs the held-out predictions of all "
                f"rows in memory; with Dask collections use {CURE_OF_SUMS}."
            )
        loss = rule.loss_of_sums(of_classes)
        methods = [self._method_of(name, member) for name, member in pairs]
        refuse_members_in_memory(pairs)
        if rows.has_weights:
            self._check_weights_of_chunks()

        targets, classes = read_targets(rows), None
        if of_classes:
            self._encode(targets.labels)
            classes = self.classes_
        blocks = MembersInBlocks.of(rows, classes)
        members = [(name, coded_learner(member, classes)) for name, member in pairs]
        outputs = Outputs(methods, classes)
        fitted = [blocks.fitted(*each) for each in members]
        folds = HashedFolds.of(n_splits, targets.lengths)
        fits = []
        for k in range(n_splits):
            others = blocks.without_fold(folds, k)
            fits.append([others.fitted(*each, f"split {k} of cv") for each in members])
        held = blocks.held_out(folds, fits, outputs)
        rule.fit_sums(HeldOutSums.of(held, loss, n_splits, of_classes), classes)
        self._set_fitted(fitted)
        self._outputs, self.stack_method_, self._held_out_once = outputs, methods, True
        n_classes = 1 if classes is None or len(classes) == 2 else len(classes)
        self._n_columns = [n_classes if each == "predict_proba" else 1 for each in methods]
        self._set_rule(rule)

    def _set_rule(self, rule: MemberWeights | None) -> None:
        """Keep a fitted rule and what it has found, or None."""
        for name in ("estimator_weights_", "cv_results_", "kkt_violation_", "held_out_", "_kept"):
            self.__dict__.pop(name, None)  # of an earlier fit
        if rule is None:
            return
        self.final_estimator_, found = rule, vars(rule)
        names = [name for name, _ in self._pairs(dropped=False)]
        record = found["cv_results_"].copy()
        outputs_of = {"output": record.pop("output")} if "output" in record else {}
        names *= len(record["weight"]) // len(names)
        self.cv_results_ = {**outputs_of, "name": names, **record}
        for name in ("estimator_weights_", "kkt_violation_"):
            if name in found:
                setattr(self, name, found[name])

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

    def _rule_and_final(self, of_classes: bool) -> tuple[MemberWeights | None, Any]:
        """The rule of the weights, or the final estimator, neither fitted, after their checks."""
        rule = rule_of(self.final_estimator)
        if rule is None:
            final = self.final_estimator
            final = self._default_final() if final is None else clone(final)
            kind = is_classifier if of_classes else is_regressor
            if not kind(final):
                raise ValueError(
                    f"'final_estimator' parameter should be a {kind.__name__[3:]}. Got {final}"
                )
            return None, final
        if self.passthrough:
            raise ValueError(
                "passthrough=True needs a final_estimator of columns: weights combine predictions "
                f"only, got final_estimator={self.final_estimator!r}."
            )
        return rule.checked(of_classes), None

    def _method_of(self, name: str, member: Any) -> str:
        """The method of a member whose results are combined, the first that the member has."""
        # A weighted mean needs probabilities; a final estimator takes what a member has.
        methods = ["predict"]
        if isinstance(self, ClassifierMixin):
            methods = list(METHODS)
            if self._has_weights:
                methods = ["predict_proba", "predict"]
                given = f"final_estimator={self.final_estimator!r}"
                if not is_classifier(member):
                    raise ValueError(f"{given} needs classifiers; {name!r} is none.")
                if self.stack_method == "decision_function":
                    raise ValueError(
                        "stack_method='decision_function' has no weighted means of probabilities, "
                        f"as {given} needs them."
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

    # -------------------------------------------------------------- Predictions of the members

    @property
    def _has_weights(self) -> bool:
        return rule_of(self.final_estimator) is not None

    def _final_has(self, name: str, with_weights: bool = True) -> bool:
        """Whether the final estimator has a method, or weights replace it."""
        if self._has_weights:
            if not with_weights:
                raise AttributeError(f"{name} is not available with learned weights")
            return True
        final = getattr(self, "final_estimator_", self.final_estimator)
        getattr(self._default_final() if final is None else final, name)
        return True

    def _features_of(self, X: Any) -> Any:
        predictions = self._outputs.of_members(self.estimators_, X)
        return with_features(self._outputs.columns(predictions), X, self.passthrough)

    def _final_predictions(self, X: MatrixLike, params: dict[str, Any]) -> Any:
        columns = self._outputs.columns(self._outputs.of_members(self.estimators_, X))
        features = with_features(columns, X, self.passthrough)
        found = self.final_estimator_.predict(features, **params)
        # With parameters it may return more than predictions, such as their standard deviations.
        return found if params else checked_outputs(found, self.final_estimator_, X)

    def _weighted_sums(self, X: Any) -> list[np.ndarray]:
        """For each output, the weighted sum of the predictions of the members."""
        weights = np.atleast_2d(self.estimator_weights_)
        # Members of weight 0 in all outputs are not asked.
        used = (weights != 0).any(axis=0)
        if not used.any():
            used[0] = True  # for the shape
        tables = self._outputs.tables(self._outputs.of_members(self.estimators_, X, used))
        return weighted_sums(weights[:, used], tables)

    def _final_params(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return the further arguments of the final estimator's `predict`."""
        if self._has_weights and params:
            raise TypeError(f"predict with learned weights has no arguments {sorted(params)}.")
        if routing_enabled():
            return dict(process_routing(self, "predict", **params).final_estimator_["predict"])
        return params

    # ------------------------------------------------------------------------ Public queries

    @by_chunks
    def transform(self, X: MatrixLike) -> np.ndarray:
        """Return the predictions of each member, with `passthrough` followed by X.

        %(rows_only)s

        Returns
        -------
        predictions : ndarray or sparse matrix of shape (n_samples, n_columns)
            A column for each member and output, or for each score of a classifier; of the
            probabilities of two classes the second.

        %(cost_of_members)s
        """
        check_is_fitted(self)
        return self._features_of(X)

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
            Class and member, followed by a number if a member has several columns.
        """
        check_is_fitted(self, "n_features_in_")
        features = checked_feature_names(self, input_features, generate_names=self.passthrough)
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

    def _is_choice_by_loss(self) -> bool:
        rule = rule_of(self.final_estimator)
        if not isinstance(rule, BestMember) or rule.metric is not None:
            raise AttributeError(
                'error_bound bounds the choice by a loss; set final_estimator="best" or '
                "BestMember(scoring=...) with the name of a loss."
            )
        return True

    @available_if(lambda self: self._is_choice_by_loss())
    def error_bound(
        self,
        X: Any = None,
        y: Any = None,
        *,
        delta: float = 0.05,
        method: Literal["oracle"] = "oracle",
        loss_bound: float | None = None,
    ) -> float:
        """Bound on the excess risk of the chosen member over the best one.

        Only with :class:`~sklearn_ensemble_theory.combining.BestMember` and a loss.

        Parameters
        ----------
        X, y : None
            Not used: the bound is by the held-out rows of the fit.
        delta : float, default=0.05
            Probability of failure, in (0, 1).
        method : {"oracle"}, default="oracle"
            :func:`~sklearn_ensemble_theory.bounds.cross_validation_oracle_bound`, for one split
            [Shah, theorem 6].
        loss_bound : float, default=None
            A number that the loss of no member exceeds. `None` is the largest possible loss, if
            there is one. It is 2 for the squared error of probabilities, and 36 for the log-loss,
            whose probabilities are at least 2e-16. For two classes it is 1.31, 2.72 and 2 for the
            logistic, exponential and hinge loss. If the loss has no largest value, `None` is the
            largest loss on the held-out rows, and the result is an estimate of the bound.

        Returns
        -------
        bound : float
            Take the mean over the splits of the risk of the chosen member, fitted to the training
            rows of the split. With probability 1 - delta it exceeds that of the best member by at
            most this number. For several outputs it is the largest of their numbers.

        Raises
        ------
        ValueError
            If a row was held out several times, or a parameter is not in its range.

        Notes
        -----
        It assumes independent rows. Cost: O(1).
        """
        check_is_fitted(self)
        if method != "oracle":
            raise ValueError(f'method must be "oracle", got {method!r}.')
        if not self._held_out_once:
            raise ValueError("error_bound needs a cv that holds out no row several times.")
        rule = self.final_estimator_
        if loss_bound is None:
            loss_bound, classes = rule.largest_loss_, self._outputs.classes
            if classes is not None:
                several = classes if isinstance(classes, list) else [classes]
                loss_bound = max(RISKS[rule.loss_].largest_loss(len(own)) for own in several)
        sizes = [max(size, 1.0) for size in rule.fold_sizes_]
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
        final = None
        if not self._has_weights:
            final = getattr(self, "final_estimator_", self.final_estimator)
        mapping = MethodMapping().add(caller="predict", callee="predict")
        router.add(final_estimator_=final, method_mapping=mapping)
        return router

    _name_of_splits = "cv"

    @property
    def _members_are_fitted(self) -> bool:
        return isinstance(self.cv, str)  # "prefit"

    def _sk_visual_block_(self) -> VisualBlock:
        members = super()._sk_visual_block_()
        final = self._default_final() if self.final_estimator is None else self.final_estimator
        final = rule_of(final) or final
        block = VisualBlock("parallel", [final], names=["final_estimator"], dash_wrapped=False)
        return VisualBlock("serial", (members, block), dash_wrapped=False)


@documented(TEXTS, TEXTS_OF_HELD_OUT, STACKING_TEXTS)
class StackingClassifier(ClassifierMixin, BaseStacking):
    """Stack classifiers: learn how to combine them from their held-out predictions.

    %(estimators)s

    final_estimator : estimator or str, default=None
        The classifier that combines the members, fitted to their held-out predictions; `None` is
        :class:`~sklearn.linear_model.LogisticRegression`;
        %(rules)s

    cv : int, cross-validation splitter, iterable or "prefit", default=None
        The splits; an int is the number of consecutive stratified folds, `None` is 5.
        %(cv)s

    stack_method : {"auto", "predict_proba", "decision_function", "predict"}, default="auto"
        The method of the members whose results are combined: `"auto"` is the first of the three
        that a member has. Weights need probabilities, or votes of a member without them or with
        `"predict"`; `"decision_function"` is then not possible.

    %(n_jobs)s

    %(passthrough)s

    %(verbose)s

    held_out : {"cv"}, default=None
        Whether `predict_set` is possible.
        %(held_out)s

    %(reuse_fits)s

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,), or list of them for several outputs
        The labels, sorted.
    %(attributes)s

    See Also
    --------
    StackingRegressor : The same for regression.
    VotingClassifier : Given weights.

    %(notes)s

    %(references)s

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
    >>> stack = StackingClassifier(members, "simplex").fit(X, y)
    >>> stack.estimator_weights_.round(2), stack.kkt_violation_ < 1e-6
    (array([0.92, 0.08]), True)
    >>> stack.cv_results_["mean_score"].round(2), stack.cv_results_["standard_error"].round(2)
    (array([0.08, 0.13]), array([0.02, 0.02]))
    """

    _default_final = LogisticRegression
    _members_of_own_kind = False  # regressors may be the input of a final classifier
    _parameter_constraints: dict = {**CONSTRAINTS, "stack_method": [StrOptions({"auto", *METHODS})]}

    def __init__(
        self,
        estimators: list,
        final_estimator: BaseEstimator | str | None = None,
        *,
        cv: CVLike | Literal["prefit"] | None = None,
        stack_method: Literal["auto", "predict_proba", "decision_function", "predict"] = "auto",
        n_jobs: int | None = None,
        passthrough: bool = False,
        verbose: int = 0,
        held_out: Literal["cv"] | None = None,
        reuse_fits: bool = False,
    ) -> None:
        self.estimators = estimators
        self.final_estimator = final_estimator
        self.cv = cv
        self.stack_method = stack_method
        self.n_jobs = n_jobs
        self.passthrough = passthrough
        self.verbose = verbose
        self.held_out = held_out
        self.reuse_fits = reuse_fits

    @available_if(lambda self: self._final_has("predict"))
    @by_chunks
    def predict(self, X: MatrixLike, **predict_params: Any) -> np.ndarray:
        """Predict labels.

        %(predict_params)s

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Labels: with learned weights, the label of the largest weighted sum; for ties, the first
            in `classes_`.

        %(cost_of_predictions)s
        """
        check_is_fitted(self)
        params = self._final_params(predict_params)
        several = isinstance(self.classes_, list)
        if self._has_weights:
            winners = [np.argmax(scores, axis=1) for scores in self._weighted_sums(X)]
            codes = np.column_stack(winners) if several else winners[0]
        else:
            codes = self._final_predictions(X, params)
        if not several:
            return self._label_encoder.inverse_transform(codes)
        columns = [e.inverse_transform(code) for e, code in zip(self._label_encoder, codes.T)]
        return np.array(columns).T

    @available_if(lambda self: self._final_has("predict_proba"))
    @by_chunks
    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Predict probabilities of the classes.

        %(rows_only)s

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes) or (n_samples, n_outputs)
            Those of the final estimator, or of the weighted sums of the members' probabilities
            (:class:`~sklearn_ensemble_theory.combining.WeightedMean` says which). With several
            outputs as in scikit-learn: the first column for each of them.

        %(cost_of_predictions)s
        """
        check_is_fitted(self)
        several = isinstance(self.classes_, list)
        proba: Any
        if self._has_weights:
            sums, link = self._weighted_sums(X), self.final_estimator_.link
            tables = probabilities_of(sums, self.estimator_weights_, link)
            proba = tables if several else tables[0]
        else:
            proba = self.final_estimator_.predict_proba(self.transform(X))
        return np.array([table[:, 0] for table in proba]).T if several else proba

    @available_if(lambda self: self._final_has("decision_function", with_weights=False))
    @by_chunks
    def decision_function(self, X: MatrixLike) -> np.ndarray:
        """Scores of the final estimator; not with learned weights.

        %(rows_only)s

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            The decision function of the final estimator.

        %(cost_of_members)s
        """
        check_is_fitted(self)
        return self.final_estimator_.decision_function(self.transform(X))

    @available_if(lambda self: HOLDS_OUT(self) and self._final_has("predict_proba"))
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
        empty: bool = True,
    ) -> np.ndarray:
        """Predict sets of classes that contain the class of a new row with a given probability.

        Each of the n held-out rows has a score s_y(x), the score of its class by members and a
        combination that are not fitted to the rows of its split. A class c is in the set of x if
        fewer than `coverage` (n + 1) held-out rows have a smaller score than s_c(x), the score by
        `predict_proba`. Only with `held_out="cv"`.

        %(set_parameters)s

        %(notes_of_coverage)s

        Cost: as for `predict_proba`, and O(log n) for each row and class.

        %(references_of_sets)s
        """
        check_is_fitted(self)
        held = held_out_of(getattr(self, "_kept", None))
        rule = SetRule(coverage, method, per_class, randomized, penalty, k_reg, random_state, empty)
        return held.set_around(self.predict_proba(X), rule)


@documented(TEXTS, TEXTS_OF_HELD_OUT, STACKING_TEXTS)
class StackingRegressor(RegressorMixin, BaseStacking):
    """Stack regressors: learn how to combine them from their held-out predictions.

    %(estimators)s

    final_estimator : estimator or str, default=None
        The regressor that combines the members, fitted to their held-out predictions; `None` is
        :class:`~sklearn.linear_model.RidgeCV`;
        %(rules)s

    cv : int, cross-validation splitter, iterable or "prefit", default=None
        The splits; an int is the number of consecutive folds, `None` is 5.
        %(cv)s

    %(n_jobs)s

    %(passthrough)s

    %(verbose)s

    held_out : {"cv"}, default=None
        Whether `predict_interval` is possible.
        %(held_out)s

    %(reuse_fits)s

    Attributes
    ----------
    %(attributes)s

    See Also
    --------
    StackingClassifier : The same for classification.
    VotingRegressor : Given weights.

    %(notes)s

    %(references)s

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import RidgeCV
    >>> from sklearn_ensemble_theory import L2BoostingRegressor, StackingRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> members = [("ridge", RidgeCV()), ("stumps", L2BoostingRegressor(300, learning_rate=0.05))]
    >>> stack = StackingRegressor(members, "simplex").fit(X, y)
    >>> stack.estimator_weights_.round(2)
    array([0.6, 0.4])
    >>> stack.cv_results_["mean_score"].round(), stack.cv_results_["standard_error"].round()
    (array([3007., 3067.]), array([182., 193.]))
    """

    _default_final = RidgeCV

    def __init__(
        self,
        estimators: list,
        final_estimator: BaseEstimator | str | None = None,
        *,
        cv: CVLike | Literal["prefit"] | None = None,
        n_jobs: int | None = None,
        passthrough: bool = False,
        verbose: int = 0,
        held_out: Literal["cv"] | None = None,
        reuse_fits: bool = False,
    ) -> None:
        self.estimators = estimators
        self.final_estimator = final_estimator
        self.cv = cv
        self.n_jobs = n_jobs
        self.passthrough = passthrough
        self.verbose = verbose
        self.held_out = held_out
        self.reuse_fits = reuse_fits

    @available_if(lambda self: self._final_has("predict"))
    @finite_predictions
    def predict(self, X: MatrixLike, **predict_params: Any) -> np.ndarray:
        """Predict targets.

        %(predict_params)s

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Predictions.

        %(cost_of_predictions)s
        """
        check_is_fitted(self)
        params = self._final_params(predict_params)
        if not self._has_weights:
            return self._final_predictions(X, params)
        sums = self._weighted_sums(X)
        return sums[0] if len(sums) == 1 else np.column_stack(sums)

    @available_if(HOLDS_OUT)
    @by_chunks
    def predict_interval(
        self,
        X: MatrixLike,
        coverage: float = 0.9,
        method: Literal["conformal"] = "conformal",
        side: Literal["both", "lower", "upper"] = "both",
    ) -> np.ndarray:
        """Predict intervals that contain the target of a new row with a given probability.

        An interval is the prediction plus and minus the ceil(`coverage` (n + 1))-th smallest
        absolute residual of the n held-out rows. Each held-out row is predicted by members and a
        combination that are not fitted to the rows of its split. Only with `held_out="cv"`.

        %(of_intervals)s

        %(notes_of_coverage)s

        Cost: that of `predict`.

        %(references_of_intervals)s
        """
        check_is_fitted(self)
        held = held_out_of(getattr(self, "_kept", None))
        return held.interval_around(self.predict(X), coverage, method, side)
