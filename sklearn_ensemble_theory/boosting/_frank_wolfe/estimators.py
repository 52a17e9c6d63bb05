"""Frank-Wolfe boosting: the public estimators."""

from collections.abc import Iterator
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from sklearn_ensemble_theory._blocks import by_chunks
from sklearn_ensemble_theory._compat import HasMethods, StrOptions
from sklearn_ensemble_theory._rows import finite_predictions
from sklearn_ensemble_theory._typing import CVLike, LossLike, RandomStateLike
from sklearn_ensemble_theory.boosting._frank_wolfe.ball_bounds import BallBoundMixin
from sklearn_ensemble_theory.boosting._frank_wolfe.base import BaseFrankWolfe
from sklearn_ensemble_theory.boosting.losses._registry import (
    loss_names,
    predict_log_proba,
    predict_proba,
)


class FrankWolfeRegressor(RegressorMixin, BaseFrankWolfe):
    """Frank-Wolfe boosting of a smooth loss over functions of bounded variation norm.

    The risk is minimised over all functions whose variation norm is at most `radius`. These are the
    weighted sums of atoms, the outputs of a weak learner, with absolute weights that sum to at most
    `radius`. Each round selects the atom psi along which the risk decreases fastest and moves
    towards radius * psi: u <- (1 - eta) u + eta radius psi. All iterates satisfy the bound. With an
    exact weak learner, the dual gap is an upper bound on the difference to the minimum.

    Parameters
    ----------
    estimator : estimator, default=None
        The weak learner, whose outputs are the atoms.

        - None: the columns of X, in their own units. This is the linear model with
          ``sum |coef| <= radius``.
        - :class:`DecisionStumpRegressor`, or any regressor: its outputs, divided by their root mean
          square on the training rows. Exact for the stumps and for :class:`ReLUUnitRegressor`; for
          other regressors, the least-squares fit is an approximation of the best atom.
        - :class:`DecisionStumpClassifier` (exact), or any classifier with `sample_weight`: outputs
          -1 and +1.
        - ``ReLUUnitRegressor("inner_product")``: the units ±(±(x_j - c))+ themselves, exact.

        The negative of each atom is an atom, too.
    radius : float or "cv", default=1.0
        D, the bound on the variation norm: the sum of the absolute weights of the atoms, in units
        of the score. "cv" selects the element of `radii` with the smallest held-out risk; in each
        fold the radii are solved in increasing order, each from the solution of the previous one.
    loss : str or object, default="squared_error"
        "squared_error", "huber" (with ``delta=1``), "poisson", an instance of a differentiable loss
        of `boosting.losses`, or any object with the methods ``value(y, u)`` and
        ``gradient(y, u)`` of a convex smooth loss.
    n_estimators : int, default=100
        Maximum number of rounds. With the columns of X, more rounds are often needed.
    step : {"line_search", "open_loop", "short"}, default="line_search"
        Rule for eta: the minimiser of the risk in [0, 1]; 2/(t + 2) in round t; or the minimiser of
        a quadratic upper bound of the risk, which requires a loss with a finite `smoothness`.
    away_steps : bool, default=False
        For the columns of X only: a round moves away from the worst active atom if the risk
        decreases faster in that direction. Close to the solution this needs fewer rounds.
    pairwise : bool, default=False
        For the columns of X only: each round moves weight from the worst active atom to the best
        one.
    fully_corrective : bool, default=False
        Minimise the risk over the ball of all atoms found so far, after each new one. This usually
        needs fewer atoms; a round costs more, O(n t) for each inner step with weak learners.
    tol : float, default=1e-4
        The rounds end when the dual gap is at most this share of the risk of the best constant.
    fit_intercept : bool, default=True
        Whether to fit an intercept. It is not part of the norm and is optimised in every round.
    radii : array-like, default=None
        The candidates for ``radius="cv"``. If None, 16 values from 1/8 to 64 times the norm of the
        best single atom.
    cv : int, cross-validation splitter or iterable, default=5
        The splits for ``radius="cv"``. An integer specifies the number of folds, which are
        not shuffled.
    random_state : int, RandomState instance or None, default=None
        Seed of the weak learners.
    verbose : int, default=0
        1 prints progress every few seconds, 2 after every step. Callbacks of `sklearn.callback`
        (scikit-learn 1.9) are set by `set_callbacks`; `ScoringMonitor` records the
        score on the training rows after each step. The fits of ``radius="cv"`` are silent.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Coefficients of the columns of X, if `estimator` is None.
    estimators_ : list of fitted estimators
        The members, if `estimator` is not None.
    estimator_weights_ : ndarray of shape (n_members,)
        The score is the intercept plus the sum of these weights times the members' predictions.
    intercept_ : float
        Independent term.
    dual_gap_ : float
        Upper bound on F - min F over the ball, in units of the loss, if `is_exact_`.
    dual_gaps_, train_scores_ : ndarrays of shape (n_iter_ + 1,)
        The dual gap and the risk F before each round and at the end.
    is_exact_ : bool
        Whether the best atom was found exactly in each round, so that the dual gaps are bounds.
    variation_norm_ : float
        The sum of the absolute weights of the atoms, at most the radius.
    radius_ : float
        The radius used.
    cv_radii_ : ndarray of shape (n_radii,)
        The candidates, with ``radius="cv"``.
    cv_risks_ : ndarray of shape (n_radii, n_folds)
        Their held-out risks, with ``radius="cv"``.
    n_iter_ : int
        Number of rounds.
    stop_reason_ : {"tol", "n_estimators", "stalled", "callback"}
        Why the rounds ended. "stalled": no step towards the weak learner's atom lowers the risk.
    loss_ : Loss
        The loss.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features; only for X with feature names that are all strings.

    See Also
    --------
    MatchingPursuitRegressor : Bounds the number of rounds instead of the norm.
    GradientBoostingRegressor : No bound on the norm; stopped early.
    sklearn.linear_model.Lasso : The penalised form of the model over columns.

    Notes
    -----
    The risk after t rounds is within 8 L C² radius² / (t + 2) of the minimum over the ball, for
    every step rule, where L C² bounds the curvature of the risk along an atom
    (:func:`~sklearn_ensemble_theory.bounds.frank_wolfe_bound`) [Bach, §10.3.6]. With columns of X
    and the squared loss a round costs O(d), from rows of the Gram matrix that are computed as
    they are needed; with other losses O(n d); with weak learners one fit. Integer weights are
    equivalent to repeating rows, except for the folds of "cv".

    [Bach, §10.3.6, "Comparison with explicit constraint on gamma_1"] compares the excess risk with
    that of boosting stopped early.

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_ensemble_theory import FrankWolfeRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = FrankWolfeRegressor(radius=1000, away_steps=True, n_estimators=1000).fit(X, y)
    >>> model.stop_reason_, bool(model.variation_norm_ <= 1000)
    ('tol', True)
    """

    _parameter_constraints: ClassVar[dict] = {
        **BaseFrankWolfe._parameter_constraints,
        "loss": [
            StrOptions(loss_names("real", differentiable=True)),
            HasMethods(["value", "gradient"]),
        ],
    }

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        *,
        radius: float | Literal["cv"] = 1.0,
        loss: str | LossLike = "squared_error",
        n_estimators: int = 100,
        step: str = "line_search",
        away_steps: bool = False,
        pairwise: bool = False,
        fully_corrective: bool = False,
        tol: float = 1e-4,
        fit_intercept: bool = True,
        radii: ArrayLike | None = None,
        cv: CVLike | None = 5,
        random_state: RandomStateLike = None,
        verbose: bool | int = 0,
    ) -> None:
        self.estimator = estimator
        self.radius = radius
        self.loss = loss
        self.n_estimators = n_estimators
        self.step = step
        self.away_steps = away_steps
        self.pairwise = pairwise
        self.fully_corrective = fully_corrective
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.radii = radii
        self.cv = cv
        self.random_state = random_state
        self.verbose = verbose

    def _encode(self, y):
        return np.asarray(y, dtype=np.float64), {}

    @finite_predictions
    def predict(self, X: ArrayLike) -> np.ndarray:
        """Predict the targets, by the inverse link of the loss.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Predictions.
        """
        scores = self._scores(X)  # raises NotFittedError before a fit
        return self.loss_.inverse_link(scores)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        # A radius of 1 is small where y is large.
        tags.regressor_tags.poor_score = True
        return tags


class FrankWolfeClassifier(BallBoundMixin, ClassifierMixin, BaseFrankWolfe):
    """Frank-Wolfe boosting of a smooth loss for two classes, with scores of bounded variation norm.

    The risk is minimised over all functions whose variation norm is at most `radius`. These are the
    weighted sums of atoms, the outputs of a weak learner, with absolute weights that sum to at most
    `radius`. Each round selects the atom psi along which the risk decreases fastest and moves
    towards radius * psi: u <- (1 - eta) u + eta radius psi. All iterates satisfy the bound. With an
    exact weak learner, the dual gap is an upper bound on the difference to the minimum.

    Parameters
    ----------
    estimator : estimator, default=None
        The weak learner, whose outputs are the atoms.

        - None: the columns of X, in their own units. This is the linear model with
          ``sum |coef| <= radius``.
        - :class:`DecisionStumpRegressor`, or any regressor: its outputs, divided by their root mean
          square on the training rows. Exact for the stumps and for :class:`ReLUUnitRegressor`; for
          other regressors, the least-squares fit is an approximation of the best atom.
        - :class:`DecisionStumpClassifier` (exact), or any classifier with `sample_weight`: outputs
          -1 and +1.
        - ``ReLUUnitRegressor("inner_product")``: the units ±(±(x_j - c))+ themselves, exact.

        The negative of each atom is an atom, too.
    radius : float or "cv", default=1.0
        D, the bound on the variation norm: the sum of the absolute weights of the atoms, in units
        of the score. "cv" selects the element of `radii` with the smallest held-out risk; in each
        fold the radii are solved in increasing order, each from the solution of the previous one.
    loss : str or object, default="log_loss"
        "log_loss", "exponential", an instance of a differentiable loss of `boosting.losses`, or any
        object with the methods ``value(y, u)`` and ``gradient(y, u)`` of a convex smooth loss.
    n_estimators : int, default=100
        Maximum number of rounds. With the columns of X, more rounds are often needed.
    step : {"line_search", "open_loop", "short"}, default="line_search"
        Rule for eta: the minimiser of the risk in [0, 1]; 2/(t + 2) in round t; or the minimiser of
        a quadratic upper bound of the risk, which requires a loss with a finite `smoothness`.
    away_steps : bool, default=False
        For the columns of X only: a round moves away from the worst active atom if the risk
        decreases faster in that direction. Close to the solution this needs fewer rounds.
    pairwise : bool, default=False
        For the columns of X only: each round moves weight from the worst active atom to the best
        one.
    fully_corrective : bool, default=False
        Minimise the risk over the ball of all atoms found so far, after each new one. This usually
        needs fewer atoms; a round costs more, O(n t) for each inner step with weak learners.
    tol : float, default=1e-4
        The rounds end when the dual gap is at most this share of the risk of the best constant.
    fit_intercept : bool, default=True
        Whether to fit an intercept. It is not part of the norm and is optimised in every round.
    radii : array-like, default=None
        The candidates for ``radius="cv"``. If None, 16 values from 1/8 to 64 times the norm of the
        best single atom.
    cv : int, cross-validation splitter or iterable, default=5
        The splits for ``radius="cv"``. An integer specifies the number of folds, which are
        stratified by class and not shuffled.
    random_state : int, RandomState instance or None, default=None
        Seed of the weak learners.
    verbose : int, default=0
        1 prints progress every few seconds, 2 after every step. Callbacks of `sklearn.callback`
        (scikit-learn 1.9) are set by `set_callbacks`; `ScoringMonitor` records the
        score on the training rows after each step. The fits of ``radius="cv"`` are silent.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Coefficients of the columns of X, if `estimator` is None.
    estimators_ : list of fitted estimators
        The members, if `estimator` is not None.
    estimator_weights_ : ndarray of shape (n_members,)
        The score is the intercept plus the sum of these weights times the members' predictions.
    intercept_ : float
        Independent term.
    dual_gap_ : float
        Upper bound on F - min F over the ball, in units of the loss, if `is_exact_`.
    dual_gaps_, train_scores_ : ndarrays of shape (n_iter_ + 1,)
        The dual gap and the risk F before each round and at the end.
    is_exact_ : bool
        Whether the best atom was found exactly in each round, so that the dual gaps are bounds.
    variation_norm_ : float
        The sum of the absolute weights of the atoms, at most the radius.
    radius_ : float
        The radius used.
    cv_radii_ : ndarray of shape (n_radii,)
        The candidates, with ``radius="cv"``.
    cv_risks_ : ndarray of shape (n_radii, n_folds)
        Their held-out risks, with ``radius="cv"``.
    classes_ : ndarray of shape (2,)
        The class labels.
    n_iter_ : int
        Number of rounds.
    stop_reason_ : {"tol", "n_estimators", "stalled", "callback"}
        Why the rounds ended. "stalled": no step towards the weak learner's atom lowers the risk.
    loss_ : Loss
        The loss.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features; only for X with feature names that are all strings.

    See Also
    --------
    AdaBoostClassifier : The exponential loss, no bound on the norm.
    GradientBoostingClassifier : No bound on the norm; stopped early.
    sklearn.linear_model.LogisticRegression : The penalised form over columns.

    Notes
    -----
    The risk after t rounds is within 8 L C² radius² / (t + 2) of the minimum over the ball, for
    every step rule, where L C² bounds the curvature of the risk along an atom
    (:func:`~sklearn_ensemble_theory.bounds.frank_wolfe_bound`) [Bach, §10.3.6]. With columns of X
    and the squared loss a round costs O(d), from rows of the Gram matrix that are computed as
    they are needed; with other losses O(n d); with weak learners one fit. Integer weights are
    equivalent to repeating rows, except for the folds of "cv".

    [Bach, §10.3.6, "Comparison with explicit constraint on gamma_1"] compares the excess risk with
    that of boosting stopped early.

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

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
        **BaseFrankWolfe._parameter_constraints,
        "loss": [
            StrOptions(loss_names("two classes", differentiable=True)),
            HasMethods(["value", "gradient"]),
        ],
    }

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        *,
        radius: float | Literal["cv"] = 1.0,
        loss: str | LossLike = "log_loss",
        n_estimators: int = 100,
        step: str = "line_search",
        away_steps: bool = False,
        pairwise: bool = False,
        fully_corrective: bool = False,
        tol: float = 1e-4,
        fit_intercept: bool = True,
        radii: ArrayLike | None = None,
        cv: CVLike | None = 5,
        random_state: RandomStateLike = None,
        verbose: bool | int = 0,
    ) -> None:
        self.estimator = estimator
        self.radius = radius
        self.loss = loss
        self.n_estimators = n_estimators
        self.step = step
        self.away_steps = away_steps
        self.pairwise = pairwise
        self.fully_corrective = fully_corrective
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.radii = radii
        self.cv = cv
        self.random_state = random_state
        self.verbose = verbose

    def _encode(self, y):
        check_classification_targets(y)
        classes = np.unique(y)
        kind = type_of_target(y, input_name="y", raise_unknown=True)
        if kind != "binary":
            raise ValueError(
                f"Only binary classification is supported. The type of the target is {kind}."
            )
        if len(classes) < 2:
            raise ValueError(
                f"y has only one class, {classes[0]!r}; classification needs two classes."
            )
        return np.where(y == classes[1], 1.0, -1.0), {"classes_": classes}

    @finite_predictions
    def decision_function(self, X: ArrayLike) -> np.ndarray:
        """Compute the scores; a positive score predicts the second class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        score : ndarray of shape (n_samples,)
            Scores.
        """
        return self._scores(X)

    def _staged_margin_scores(self, X: ArrayLike) -> Iterator[np.ndarray]:
        """The scores after the last iteration divided by the sum of the coefficients.

        The intercept is the coefficient of one more member, the constant 1.
        """
        total = self.variation_norm_ + abs(self.intercept_)
        yield self.decision_function(X) / max(total, np.finfo(float).tiny)

    @by_chunks
    def predict(self, X: ArrayLike) -> np.ndarray:
        """Predict the class of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Predictions.
        """
        second = (self.decision_function(X) > 0).astype(int)  # checks that there is a model
        return self.classes_[second]

    predict_proba = predict_proba
    predict_log_proba = predict_log_proba

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
