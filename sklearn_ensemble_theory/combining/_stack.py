"""The fit of a stack: members, their held-out predictions, and a combination learned from these.

The combination is a final estimator, fitted to columns of predictions, or a rule of weights. For
intervals and sets each held-out row is also predicted by a combination that is learned from the
rows of the other splits: the same combination, on a part of the held-out predictions.
"""

from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

import numpy as np
import scipy.sparse as sparse
from sklearn.base import clone
from sklearn.utils import check_array

from sklearn_ensemble_theory._compat import check_method_params, safe_indexing
from sklearn_ensemble_theory._learners import requests
from sklearn_ensemble_theory._margin_losses import MarginFunction
from sklearn_ensemble_theory._rows import Rows
from sklearn_ensemble_theory._running import one_blas_thread
from sklearn_ensemble_theory._scaling import largest_magnitude
from sklearn_ensemble_theory._typing import Estimator

from ._aggregation import probabilities_of, weighted_sums
from ._member_fits import (
    HeldOutMembers,
    KnownFits,
    MembersPlan,
    MembersProblem,
    Outputs,
    fit_members,
    fit_named,
    predicted,
)

LARGEST_TARGET = 1e145  # of the default final estimator, whose sums of squares overflow beyond


def with_features(columns: list[np.ndarray], X: Any, passthrough: bool) -> Any:
    """The columns of the members side by side, with `passthrough` followed by X."""
    if not passthrough:
        return np.hstack(columns)
    if sparse.issparse(X):
        return sparse.hstack([*columns, X], format=X.format)
    values = np.asarray(X)
    if values.dtype == object:  # numbers of pandas' own dtypes, whose NA is a missing value
        values = check_array(X, dtype=None, ensure_all_finite=False)
    return np.hstack([*columns, values])


class Combination(Protocol):
    """What is learned from held-out predictions of the members."""

    @property
    def learned_object(self) -> Any:
        """The final estimator or the rule."""

    def learned(self, held: HeldOutMembers, rows: Rows) -> Self:
        """The combination that is learned from these predictions."""

    def applied(self, held: HeldOutMembers, rows: Rows) -> np.ndarray:
        """Numbers, or probabilities of the classes, for a single output."""


@dataclass(frozen=True)
class FinalEstimator:
    """A combination by an estimator of columns, fitted or not.

    `params` are further arguments of its `fit`, for all rows. `is_default` says whether it is
    `RidgeCV` or `LogisticRegression` because none was given.
    """

    estimator: Any
    outputs: Outputs
    passthrough: bool
    params: dict[str, Any]
    is_default: bool

    @property
    def learned_object(self) -> Any:
        return self.estimator

    def learned(self, held: HeldOutMembers, rows: Rows) -> Self:
        X, y, params, final = rows.X, rows.y, self.params, clone(self.estimator)
        if not requests(final, "groups"):  # they were for the splits
            params = {name: value for name, value in params.items() if name != "groups"}
        is_ridge = self.is_default and self.outputs.classes is None
        if is_ridge and y.dtype.kind == "f" and largest_magnitude(y) > LARGEST_TARGET:
            raise ValueError(
                f"y has values beyond {LARGEST_TARGET:.0e}, whose squares overflow in RidgeCV, the "
                "default final_estimator; scale y."
            )
        # A splitter may leave rows out or hold them out twice: the final estimator gets them as
        # often.
        if not np.array_equal(held.rows, np.arange(len(y))):
            params = check_method_params(X, params=params, indices=held.rows)
            X, y = safe_indexing(X, held.rows), y[held.rows]
        features = with_features(self.outputs.columns(held.predictions), X, self.passthrough)
        # The default learns from few columns. Of weights of very different sizes some penalties of
        # RidgeCV have no score; if none has one, its coefficients are not finite.
        few = self.is_default and not self.passthrough
        quiet = np.errstate(divide="ignore", over="ignore", invalid="ignore")
        with one_blas_thread() if few else nullcontext(), quiet if is_ridge else nullcontext():
            fit_named(final, features, y, params, "final_estimator")
        if is_ridge and not np.isfinite(final.coef_).all():
            raise ValueError(
                "sample_weight, or X and y, have values of such different sizes that RidgeCV, the "
                "default final_estimator, has no finite coefficients."
            )
        return replace(self, estimator=final)

    def applied(self, held: HeldOutMembers, rows: Rows) -> np.ndarray:
        X = safe_indexing(rows.X, held.rows) if self.passthrough else None
        features = with_features(self.outputs.columns(held.predictions), X, self.passthrough)
        if self.outputs.classes is None:
            return predicted(self.estimator, "predict", features, None)
        classes = np.arange(len(self.outputs.classes))
        return predicted(self.estimator, "predict_proba", features, classes)


class Rule(Protocol):
    """An estimator that finds weights of the members from tables of their predictions."""

    estimator_weights_: np.ndarray

    @property
    def link(self) -> MarginFunction | None: ...

    def fit(
        self, P: list[np.ndarray], y: np.ndarray, sample_weight: Any, **more: Any
    ) -> "Rule": ...


@dataclass(frozen=True)
class RuleOfWeights:
    """A combination by weights."""

    rule: Rule
    outputs: Outputs

    @property
    def learned_object(self) -> Any:
        return self.rule

    def learned(self, held: HeldOutMembers, rows: Rows) -> Self:
        y, weight, classes = rows.y[held.rows], rows.weight, self.outputs.classes
        # Equal weights are none: scorers are then called without them, whether or not they take
        # weights.
        weight = weight[held.rows] if weight is not None and np.ptp(weight) > 0 else None
        if isinstance(classes, list):
            y = np.column_stack([own[codes] for own, codes in zip(classes, y.T)])
        elif classes is not None:
            y = classes[y]
        tables = self.outputs.tables(held.predictions)
        with one_blas_thread():  # many short products
            rule = clone(self.rule).fit(
                tables, y, weight, folds=held.folds, rows=held.rows, classes=classes
            )
        return replace(self, rule=rule)

    def applied(self, held: HeldOutMembers, rows: Rows) -> np.ndarray:
        weights = self.rule.estimator_weights_
        sums = weighted_sums(weights, self.outputs.tables(held.predictions))
        if self.outputs.classes is None:
            return sums[0]
        return probabilities_of(sums, weights, self.rule.link)[0]


@dataclass(frozen=True)
class StackPlan:
    """How a stack is fitted; its combination is not learned yet.

    `holds_out` says whether held-out rows are predicted by the combination as well.
    """

    members: MembersPlan
    combination: Combination
    holds_out: bool


def fit_stack(
    plan: StackPlan, problem: MembersProblem, known: KnownFits | None
) -> tuple[list[Estimator], HeldOutMembers, Combination, np.ndarray | None]:
    """The members, their held-out predictions, the combination, and its held-out predictions.

    The splits of fitted members, for which all rows are new, are those of the combination only.
    """
    rows = problem.rows
    fitted, held = fit_members(plan.members, problem, known)
    assert held is not None  # there are splits, or members that are fitted
    combination = plan.combination.learned(held, rows)
    if not plan.holds_out:
        return fitted, held, combination, None
    parts = held
    if plan.members.are_fitted:
        folds = np.zeros(len(rows), dtype=np.intp)
        for number, (_, test) in enumerate(problem.splits):
            folds[test] = number
        parts = replace(held, folds=folds)
    return fitted, held, combination, held_out_combination(plan.combination, parts, rows)


def held_out_combination(combination: Combination, held: HeldOutMembers, rows: Rows) -> np.ndarray:
    """Predict the held-out rows by combinations that are learned without those of their split.

    Numbers, or probabilities of the classes.
    """
    found: Any = None
    for number, test in enumerate(held.fold_places):
        others = np.flatnonzero(~np.isin(held.rows, held.rows[test]))
        if len(others) == 0:
            raise ValueError(
                'held_out="cv" requires a cv whose splits hold out different rows: the '
                f"combination for the rows of split {number} is learned from the others."
            )
        values = combination.learned(held.part(others), rows).applied(held.part(test), rows)
        found = np.empty((len(held.rows), *values.shape[1:])) if found is None else found
        found[test] = values
    return found
