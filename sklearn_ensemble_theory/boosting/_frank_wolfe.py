"""Frank-Wolfe boosting: minimisation of a risk over a ball of the variation norm [Bach, §10.3.6].

`fit` turns the parameters into a plan and the rows into a problem, chooses the radius by held-out
risks if that is asked for, and solves the problem over the ball (`_norm_balls`): over the columns
of X, or over the outputs of a weak learner.
"""

import math
from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, is_classifier
from sklearn.utils import check_random_state
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._blocks import by_chunks
from sklearn_ensemble_theory._compat import (
    CallbackSupportMixin,
    HasMethods,
    Interval,
    StrOptions,
    raise_for_params,
    routing_enabled,
)
from sklearn_ensemble_theory._cv_choice import CVChoice, results_of_choice
from sklearn_ensemble_theory._documentation import documented
from sklearn_ensemble_theory._door import CLASS_WEIGHT, ReadsOnce, fit_context
from sklearn_ensemble_theory._folds import splits_of_rows
from sklearn_ensemble_theory._learners import GROUPS_ON_REQUEST, with_groups
from sklearn_ensemble_theory._rows import (
    checked_groups,
    finite_predictions,
    kept_rows,
    validate_data,
)
from sklearn_ensemble_theory._scaling import largest_entry
from sklearn_ensemble_theory._scores import ClassifierMixin, RegressorMixin
from sklearn_ensemble_theory._typing import ArrayLike, LossLike, RandomStateLike, available_if
from sklearn_ensemble_theory.bounds._arguments import check_number, check_option
from sklearn_ensemble_theory.erm._stumps.estimators import DecisionStumpClassifier, log_n_stumps
from sklearn_ensemble_theory.trees._binned_tree import told_apart

from ._base_learners import check_takes_weights
from ._conditional_gradients import STEP_SIZES, VARIANTS, SolverOptions
from ._loop import RoundReports, rows_for_callbacks
from ._norm_balls import BallPlan, Problem, Solution, held_out_risks, solver_of, sum_of_members
from .losses._derivatives import check_derivatives
from .losses._losses import loss_names, make_loss, predict_log_proba, predict_proba

TEXTS = {
    "risk": """
        The risk of a smooth loss is minimised over all functions whose variation norm is at most
        `radius`. These are the weighted sums of atoms (outputs of a weak learner) whose absolute
        weights sum to at most `radius`. Each round selects the atom psi along which the risk
        decreases fastest and moves towards radius * psi: u <- (1 - eta) u + eta radius psi. All
        iterates satisfy the bound. With an exact weak learner, the dual gap is an upper bound on
        the difference to the minimum.
        """,
    "estimator": """
        estimator : estimator, default=None
            The weak learner, whose outputs and their negatives are the atoms.

            - None: the columns of X, in their own units. This is the linear model with
              ``sum |coef| <= radius``.
            - :class:`DecisionStumpRegressor`, or any regressor: its outputs, divided by their root
              mean square on the training rows. Exact for the stumps and for
              :class:`ReLUUnitRegressor`; for other regressors, the least-squares fit is an
              approximation of the best atom.
            - :class:`DecisionStumpClassifier` (exact), or any classifier with `sample_weight`:
              outputs -1 and +1.
            - ``ReLUUnitRegressor("inner_product")``: the units ±(±(x_j - c))+ themselves, exact.
        """,
    "radius": """
        radius : float, array-like, "cv" or CVChoice, default=1.0
            D, the bound on the variation norm: the sum of the absolute weights of the atoms, in
            units of the score. A list, "cv" or :class:`~sklearn_ensemble_theory.boosting.CVChoice`
            selects the candidate with the smallest held-out risk. "cv" compares 16 values from 1/8
            to 64 times the norm of the best single atom, by 5 folds that are not shuffled (and
            stratified for the classifier). Each fold solves the radii in increasing order, each
            from the solution of the previous one.
        """,
    "of_ball": """
        Parameters
        ----------
        %(estimator)s
        %(radius)s
        """,
    "rounds": """
        n_estimators : int, default=100
            Maximum number of rounds. With the columns of X, more rounds are often needed.
        step : {"line_search", "open_loop", "short"}, default="line_search"
            Rule for eta: the minimiser of the risk in [0, 1]; 2/(t + 2) in round t; or the
            minimiser of a quadratic upper bound of the risk. The last requires a loss with a finite
            `smoothness`.
        variant : {"plain", "away", "pairwise", "fully_corrective"}, default="plain"
            - "plain": the round above.
            - "away": a round moves away from the worst active atom if the risk decreases faster in
              that direction. Close to the solution this needs fewer rounds. For the columns of X.
            - "pairwise": each round moves weight from the worst active atom to the best one. For
              the columns of X.
            - "fully_corrective": after each new atom the risk is minimised over the ball of all
              atoms found so far. This usually needs fewer atoms; a round costs more, O(n t) for
              each inner step with weak learners.
        tol : float, default=1e-4
            The rounds end when the dual gap is at most this share of the risk of the best constant.
        fit_intercept : bool, default=True
            Whether to fit an intercept. It is not part of the norm and is optimised in every round.
        random_state : int, RandomState instance or None, default=None
            Seed of the weak learners.
        verbose : int, default=0
            1 prints progress every few seconds, 2 after every step. Callbacks of `sklearn.callback`
            (scikit-learn 1.9) are set by `set_callbacks`; `ScoringMonitor` records the score on the
            training rows after each step. The fits that compare radii are silent.
        """,
    "attributes": """
        estimators_ : list of fitted estimators
            The members, if `estimator` is not None.
        estimator_weights_ : ndarray of shape (n_members,)
            The weight of each member, which enters the score as it is: the score is the intercept
            plus the sum of these weights times the members' predictions.
        dual_gap_ : float
            Upper bound on F - min F over the ball, in units of the loss, if `is_exact_`.
        dual_gaps_, train_scores_ : ndarrays of shape (n_estimators_ + 1,)
            The dual gap and the risk F before each round and at the end.
        is_exact_ : bool
            Whether the best atom was found exactly in each round: the dual gaps are then bounds.
        variation_norm_ : float
            The sum of the absolute weights of the atoms, at most the radius.
        radius_ : float
            The radius used.
        cv_results_ : dict of ndarrays of shape (n_radii,)
            Only if the radius was chosen: the candidates "radius", their held-out risks
            "split0_score", ..., the "mean_score" and its "standard_error".
        n_estimators_ : int
            Number of rounds.
        stop_reason_ : {"tol", "n_estimators", "stalled", "callback"}
            Why the rounds ended. "stalled": no step towards the weak learner's atom lowers the
            risk.
        loss_ : Loss
            The loss.
        %(names_in_fit)s
        """,
    "notes": """
        Notes
        -----
        For every step rule, the risk after t rounds is within 8 L C² radius² / (t + 2) of the
        minimum over the ball [Bach, §10.3.6]. L C² bounds the curvature of the risk along an atom:
        see :func:`~sklearn_ensemble_theory.bounds.frank_wolfe_bound`. With columns of X and the
        squared loss a round costs O(d), from rows of the Gram matrix that are computed as they are
        needed. With other losses a round costs O(n d). If the loss has second derivatives, the line
        search takes some three times O(n) of this: Newton's method finds the step and the intercept
        together. With weak learners a round costs one fit. Integer weights are equivalent to
        repeating rows, except for the folds that compare radii.

        [Bach, §10.3.6, "Comparison with explicit constraint on gamma_1"] compares the excess risk
        with that of boosting stopped early.
        """,
}
CONSTRAINTS: dict[str, list] = {
    "estimator": [HasMethods(["fit", "predict"]), None],
    "radius": [
        Interval(Real, 0, None, closed="neither"),
        StrOptions({"cv"}),
        CVChoice,
        "array-like",
    ],
    "n_estimators": [Interval(Integral, 1, None, closed="left")],
    "step": [StrOptions(set(STEP_SIZES))],
    "variant": [StrOptions(set(VARIANTS))],
    "tol": [Interval(Real, 0, None, closed="left")],
    "fit_intercept": ["boolean"],
    "random_state": ["random_state"],
    "verbose": ["verbose"],
}


@documented(TEXTS)
class BaseFrankWolfe(CallbackSupportMixin, MetaEstimatorMixin, ReadsOnce, BaseEstimator):
    """`fit` of :class:`FrankWolfeRegressor` and :class:`FrankWolfeClassifier`."""

    estimator: Any
    radius: Any
    loss: Any
    n_estimators: int
    step: str
    variant: str
    tol: float
    fit_intercept: bool
    random_state: RandomStateLike
    n_features_in_: int
    coef_: np.ndarray
    intercept_: Any
    estimators_: list[Any]
    estimator_weights_: np.ndarray

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "dual_gap_")

    __metadata_request__fit = GROUPS_ON_REQUEST

    @fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        **fit_params: Any,
    ) -> Self:
        """Minimise the risk over the ball.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Sparse matrices are accepted if `estimator` is None.
        y : array-like of shape (n_samples,)
            Targets.
        %(weights_and_cv)s
        groups : array-like of shape (n_samples,), default=None
            Labels of the rows that belong together, such as those of one patient: no split that
            compares radii divides them. A `cv` that splits by groups, such as `GroupKFold`, gets
            them; an integer is then a number of folds of whole groups.
        %(learner_params)s

        %(returns_self)s

        Raises
        ------
        ValueError
            If the loss is not differentiable, or if two parameters cannot be combined.
        """
        raise_for_params(fit_params, self, "fit")
        fit_params, routed = with_groups(fit_params, groups, self.estimator), {}
        if routing_enabled() and self.estimator is not None:
            routed = process_routing(self, "fit", **fit_params)["estimator"]["fit"]
        # Parameters are refused before the rows are read.
        choice = CVChoice.of(self.radius)
        radii = None if choice is None else choice.candidates("radius")
        self._check_variant()
        all_X, is_class = X, isinstance(self, ClassifierMixin)
        X, all_y = self._validate(X, y, reset=True, y_numeric=not is_class)
        # Two classes are the targets -1 and 1: the losses are functions of the margin y u.
        classes = None
        if is_class:
            y, classes = _signs(all_y)
        else:
            y = np.asarray(all_y, dtype=np.float64)
        # The best atom is that of the gradient, and a short step needs a bound on the curvature.
        loss = make_loss(self.loss, n_classes=2 if is_class else 0)
        if not loss.differentiable:
            raise ValueError(
                f"loss: {type(loss).__name__} is not differentiable; Frank-Wolfe requires a "
                "differentiable loss."
            )
        if self.step == "short" and not np.isfinite(loss.smoothness):
            raise ValueError(
                f"step='short' requires a loss with a finite smoothness constant; "
                f"{type(loss).__name__} has none. Use step='line_search'."
            )
        loss.check_target(y)
        given = sample_weight is not None
        if self.estimator is not None and (given or is_classifier(self.estimator)):
            # A classifier is fitted to signs, under the sizes of the gradient.
            check_takes_weights(self.estimator, "estimator")
        rows = kept_rows(X, y, sample_weight)
        groups, splits = checked_groups(groups, X), None
        if choice is not None:
            splits = splits_of_rows(
                choice.cv, X, y, rows.numbers, is_class, parameter="radius__cv", groups=groups
            )
        plan = BallPlan(
            loss=loss,
            learner=self.estimator if routed else told_apart(self.estimator, X, y),
            options=SolverOptions(self.step, self.variant, self.n_estimators, self.tol),
            fit_intercept=self.fit_intercept,
            weighted=given,
            # One generator for all fits: the weak learners of each fold have draws of their own.
            rng=check_random_state(self.random_state),
        )
        routed = rows.params_of(X, routed)
        X, y = rows.X, rows.y
        check_derivatives(loss, y, np.zeros(len(y)))
        problem = Problem(X, y, rows.weights(), routed)

        # First the radius, by the folds, then one fit to all rows.
        solver, radius, results = solver_of(plan, problem), self.radius, None
        if splits is not None:
            if radii is None:
                radii = solver.usual_radii()
            risks, in_units = held_out_risks(plan, problem, radii, splits, solver.unit)
            radius = float(radii[risks.mean(axis=1).argmin()])
            results = results_of_choice("radius", radii, in_units)

        def attributes(solution: Solution) -> dict[str, Any]:
            # Of the rounds so far, for callbacks, and at the end.
            intercept = float(solution.intercept)
            found = {
                "intercept_": np.array([intercept]) if is_class else intercept,
                "dual_gaps_": solution.gaps,
                "train_scores_": solution.risks,
                "n_estimators_": max(len(solution.gaps) - 1, 0),
                "stop_reason_": solution.stop_reason,
                "variation_norm_": solution.variation_norm,
                "is_exact_": solver.is_exact,
                "dual_gap_": float(solution.gaps[-1]),
                "radius_": radius,
                "loss_": loss,
            }
            if solution.coef is not None:
                found["coef_"] = solution.coef[None] if is_class else solution.coef
            else:
                found["estimators_"] = solution.members
                found["estimator_weights_"] = solution.member_weights
            if results is not None:
                found["cv_results_"] = results
            if classes is not None:
                found["classes_"] = classes
            return found

        reports = RoundReports(
            self,
            self.n_estimators,
            data=lambda: rows_for_callbacks(all_X, all_y, rows, given),
            attributes=attributes,
        )
        solution = solver.solve(radius, reports=None if reports.is_silent else reports)
        reports.finish(solution.stop_reason, lambda: solution)
        # What an earlier fit with other parameters may have set, and this one does not.
        for name in ("cv_results_", "coef_", "estimators_", "estimator_weights_"):
            self.__dict__.pop(name, None)
        self.__dict__.update(attributes(solution))
        # For `error_bound`; with weights, Kish's effective number of rows.
        self._n_rows, self._n_effective = len(y), 1 / float(np.sum(rows.shares() ** 2))
        self._largest_value = largest_entry(X)
        return self

    def _check_variant(self) -> None:
        if self.variant not in ("away", "pairwise"):
            return
        if self.estimator is not None:
            raise ValueError(
                f"variant={self.variant!r} requires estimator=None, the columns of X; use "
                "variant='fully_corrective' with weak learners."
            )
        # How long these steps may be depends on the weight of the worst atom.
        if self.step == "open_loop":
            raise ValueError(
                f"variant={self.variant!r} requires step='line_search' or step='short'."
            )

    def _validate(self, X, *y, reset, **options):
        options["accept_sparse"] = ["csc", "csr"] if self.estimator is None else False
        return validate_data(self, X, *y, dtype=np.float64, order="C", reset=reset, **options)

    def _scores(self, X):
        check_is_fitted(self)
        X, intercept = self._validate(X, reset=False), np.ravel(self.intercept_)[0]
        if self.estimator is None:
            return np.asarray(X @ self.coef_.ravel()) + intercept
        return sum_of_members(X, self.estimators_, self.estimator_weights_, intercept)

    def get_metadata_routing(self) -> MetadataRouter:
        """Metadata routing of this estimator and of its weak learner.

        Returns
        -------
        routing : MetadataRouter
            Routing information.
        """
        router = MetadataRouter(owner=self).add_self_request(self)
        if self.estimator is None:
            return router
        return router.add(
            estimator=self.estimator, method_mapping=MethodMapping().add(caller="fit", callee="fit")
        )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.estimator is None
        return tags


def _signs(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Turn labels into -1 and +1, and find the two classes."""
    check_classification_targets(y)
    classes = np.unique(y)
    kind = type_of_target(y, input_name="y", raise_unknown=True)
    if kind != "binary":
        raise ValueError(
            f"Only binary classification is supported. The type of the target is {kind}."
        )
    if len(classes) < 2:
        raise ValueError(
            f"y has only one class, {classes.tolist()[0]!r}; classification needs two classes."
        )
    return np.where(y == classes[1], 1.0, -1.0), classes


@documented(TEXTS)
class FrankWolfeRegressor(RegressorMixin, BaseFrankWolfe):
    """Frank-Wolfe boosting for regression, with a bound on the sum of the members' weights.

    %(risk)s

    %(of_ball)s
    loss : str or object, default="squared_error"
        "squared_error", "huber" (with ``delta=1``), "poisson", "gamma", "tweedie" (with
        ``power=1.5``), "binomial", or an instance of a differentiable loss of `boosting.losses`.
        Any object with the methods ``value(y, u)`` and ``gradient(y, u)`` of a convex smooth loss
        is accepted too.
    %(rounds)s

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Coefficients of the columns of X, if `estimator` is None.
    intercept_ : float
        Independent term.
    %(attributes)s

    See Also
    --------
    MatchingPursuitRegressor : Bounds the number of rounds instead of the norm.
    GradientBoostingRegressor : No bound on the norm; stopped early.
    sklearn.linear_model.Lasso : The penalised form of the model over columns.

    %(notes)s

    %(references_Bach)s

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_ensemble_theory import FrankWolfeRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = FrankWolfeRegressor(radius=1000, variant="away", n_estimators=1000).fit(X, y)
    >>> model.stop_reason_, bool(model.variation_norm_ <= 1000)
    ('tol', True)
    """

    _parameter_constraints: ClassVar[dict] = {
        **CONSTRAINTS,
        "loss": [
            StrOptions(loss_names("real", differentiable=True)),
            HasMethods(["value", "gradient"]),
        ],
    }

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        *,
        radius: float | ArrayLike | Literal["cv"] | CVChoice = 1.0,
        loss: str | LossLike = "squared_error",
        n_estimators: int = 100,
        step: str = "line_search",
        variant: Literal["plain", "away", "pairwise", "fully_corrective"] = "plain",
        tol: float = 1e-4,
        fit_intercept: bool = True,
        random_state: RandomStateLike = None,
        verbose: bool | int = 0,
    ) -> None:
        self.estimator = estimator
        self.radius = radius
        self.loss = loss
        self.n_estimators = n_estimators
        self.step = step
        self.variant = variant
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.random_state = random_state
        self.verbose = verbose

    @finite_predictions
    def predict(self, X: ArrayLike) -> np.ndarray:
        """Predict the targets, by the inverse link of the loss.

        %(sparse_rows_to_predict)s

        %(returns_predictions)s
        """
        scores = self._scores(X)  # raises NotFittedError before a fit
        return self.loss_.inverse_link(scores)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        # A radius of 1 is small where y is large.
        tags.regressor_tags.poor_score = True
        return tags


def _ball_is_given(model: "FrankWolfeClassifier") -> bool:
    """Whether the theorem of `error_bound` is about these parameters."""
    if CVChoice.of(model.radius) is not None:
        raise AttributeError(
            "error_bound: the bound is for a ball that does not depend on the rows; set radius to "
            "a number."
        )
    if model.fit_intercept:
        raise AttributeError(
            "error_bound: the ball does not bound an intercept; set fit_intercept=False."
        )
    if not (model.estimator is None or isinstance(model.estimator, DecisionStumpClassifier)):
        raise AttributeError(
            f"error_bound: the atoms of {type(model.estimator).__name__} are not counted; set "
            "estimator to None (the columns of X) or DecisionStumpClassifier()."
        )
    return True


@documented(TEXTS)
class FrankWolfeClassifier(ClassifierMixin, BaseFrankWolfe):
    """Frank-Wolfe boosting for two classes, with a bound on the sum of the members' weights.

    %(risk)s

    %(of_ball)s
    loss : str or object, default="log_loss"
        "log_loss", "exponential", an instance of a differentiable loss of `boosting.losses`, or any
        object with the methods ``value(y, u)`` and ``gradient(y, u)`` of a convex smooth loss.
    %(rounds)s
    %(class_weight)s

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        Coefficients of the columns of X, if `estimator` is None.
    intercept_ : ndarray of shape (1,)
        Independent term.
    classes_ : ndarray of shape (2,)
        The class labels.
    %(attributes)s

    See Also
    --------
    AdaBoostClassifier : The exponential loss, no bound on the norm.
    GradientBoostingClassifier : No bound on the norm; stopped early.
    sklearn.linear_model.LogisticRegression : The penalised form over columns.

    %(notes)s

    %(references_Bach)s

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_ensemble_theory import DecisionStumpClassifier, FrankWolfeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = FrankWolfeClassifier(DecisionStumpClassifier(), radius=5).fit(X, y)
    >>> bool(model.variation_norm_ <= 5), model.is_exact_, bool(model.score(X, y) > 0.95)
    (True, True, True)
    """

    _parameter_constraints: ClassVar[dict] = {
        **CONSTRAINTS,
        "loss": [
            StrOptions(loss_names("two classes", differentiable=True)),
            HasMethods(["value", "gradient"]),
        ],
        "class_weight": CLASS_WEIGHT,
    }

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        *,
        radius: float | ArrayLike | Literal["cv"] | CVChoice = 1.0,
        loss: str | LossLike = "log_loss",
        n_estimators: int = 100,
        step: str = "line_search",
        variant: Literal["plain", "away", "pairwise", "fully_corrective"] = "plain",
        tol: float = 1e-4,
        fit_intercept: bool = True,
        random_state: RandomStateLike = None,
        verbose: bool | int = 0,
        class_weight: dict | Literal["balanced"] | None = None,
    ) -> None:
        self.estimator = estimator
        self.radius = radius
        self.loss = loss
        self.n_estimators = n_estimators
        self.step = step
        self.variant = variant
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.random_state = random_state
        self.verbose = verbose
        self.class_weight = class_weight

    @finite_predictions
    def decision_function(self, X: ArrayLike) -> np.ndarray:
        """Compute the scores; a positive score predicts the second class.

        %(sparse_rows_to_predict)s

        Returns
        -------
        score : ndarray of shape (n_samples,)
            Scores.
        """
        return self._scores(X)

    def _staged_margin_scores(self, X: ArrayLike) -> Iterator[np.ndarray]:
        """The scores divided by the sum of the coefficients, that of the intercept included."""
        total = self.variation_norm_ + abs(float(self.intercept_[0]))
        yield self.decision_function(X) / max(total, np.finfo(float).tiny)

    @by_chunks
    def predict(self, X: ArrayLike) -> np.ndarray:
        """Predict the class of each row.

        %(sparse_rows_to_predict)s

        %(returns_predictions)s
        """
        second = (self.decision_function(X) > 0).astype(int)  # checks that there is a model
        return self.classes_[second]

    predict_proba = predict_proba
    predict_log_proba = predict_log_proba

    @available_if(_ball_is_given)
    def error_bound(
        self,
        X: ArrayLike | None = None,
        y: ArrayLike | None = None,
        *,
        method: Literal["excess_risk"] = "excess_risk",
        delta: float = 0.05,
        feature_bound: float | None = None,
    ) -> float:
        """Bound the expected loss on new rows, in excess of the best function of the ball.

        With probability at least 1 - delta over independent training rows, the expected loss
        exceeds the smallest expected loss over the ball of radius D by at most [Bach, §10.3.6;
        Shah, theorem 11]:

            2 L D rho + M sqrt(2 ln(2/delta) / n) + dual_gap_,

        Here L and M are the Lipschitz constant and the largest value of the loss for scores of at
        most r, and rho bounds the Rademacher complexity of the atoms. For the columns of X, rho = C
        sqrt(2 ln(2p) / n) and r = D C. For the stumps of :class:`DecisionStumpClassifier`, rho =
        sqrt(2 ln(2 (p (n-1) + 1)) / n) and r = D. Available for these atoms, for a number as
        `radius`, and without an intercept, which the ball does not bound.

        %(of_excess_risk)s
        delta : float, default=0.05
            Probability that the bound does not hold, above 0 and at most 1.
        feature_bound : float, default=None
            C, a bound on the absolute values of all possible features, for the columns of X. If
            None, the largest of the training rows; the bound then holds for rows that are not
            larger.

        Returns
        -------
        bound : float
            The bound, in units of the loss. The cost is O(1).

        Raises
        ------
        ValueError
            If the loss is not a decreasing function of the margin, a training row exceeds
            `feature_bound`, or delta is outside its range.

        Notes
        -----
        The radius must not be chosen by the training rows. With weights w of sum 1 that do not
        depend on the rows, n is 1 / sum(w²) in the two rates.

        %(references_Bach)s

        %(Shah)s
        """
        check_is_fitted(self)
        check_option("method", method, ("excess_risk",))
        check_number("delta", delta, 0, 1, open_low=True)
        if not self.is_exact_:
            raise ValueError(
                "estimator must find the best atom, as DecisionStumpClassifier() does."
            )
        if not self.loss_.margin:
            raise ValueError("loss must be a decreasing function of the margin for the bound.")
        # The largest output of an atom, and the logarithm of their number up to the sign.
        if self.estimator is None:
            size, log_n_atoms = self._largest_value, math.log(self.n_features_in_)
            if feature_bound is not None:
                check_number("feature_bound", feature_bound, 0)
                if feature_bound < size:
                    raise ValueError(
                        f"feature_bound={feature_bound!r} is exceeded by a training row, of "
                        f"{size:.6g}."
                    )
                size = feature_bound
        else:
            size, log_n_atoms = 1.0, log_n_stumps(self._n_rows, self.n_features_in_)
        # Massart's lemma for finitely many atoms; the hull of a set has its complexity.
        n, reach = self._n_effective, self.radius_ * size
        complexity = reach * math.sqrt(2 * (math.log(2) + log_n_atoms) / n)
        # Convex and decreasing: largest, and steepest, at the smallest margin.
        one, worst = np.ones(1), np.array([-reach])
        slope = float(np.abs(self.loss_.gradient(one, worst))[0])
        largest = float(self.loss_.value(one, worst)[0])
        tail = largest * math.sqrt(2 * math.log(2 / delta) / n)
        return 2 * slope * complexity + tail + self.dual_gap_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
