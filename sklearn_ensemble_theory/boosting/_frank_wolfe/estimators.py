"""The public estimators of Frank-Wolfe boosting."""

from typing import ClassVar

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from sklearn_ensemble_theory._compat import HasMethods, StrOptions
from sklearn_ensemble_theory.boosting import losses
from sklearn_ensemble_theory.boosting._frank_wolfe.base import (
    CLASSIFICATION_LOSSES,
    REGRESSION_LOSSES,
    BaseFrankWolfe,
)

_DOC = """

    Each round asks the weak learner for the atom psi that falls most steeply and moves towards
    radius * psi: u <- (1 - eta) u + eta radius psi. The model never leaves the ball, and the answer
    of an exact weak learner certifies how far it is from the best in it.

    Parameters
    ----------
    estimator : estimator, default=None
        The weak learner, which says what the atoms are.

        - None: the columns of X, in their own units: the linear model with
          ``sum |coef| <= radius``.
        - :class:`DecisionStumpRegressor`, or any regressor: its outputs, divided by their root mean
          square on the training rows. Exact for the stumps and for `ReLUUnitRegressor`;
          any other regressor's least-squares fit is taken for the best atom, approximately.
        - :class:`DecisionStumpClassifier` (exact), or any classifier with `sample_weight`: outputs
          -1 and +1.
        - ``ReLUUnitRegressor("inner_product")``: the units ±(±(x_j - c))+ themselves, exact.

        Every dictionary is made symmetric.
    radius : float or "cv", default=1.0
        D, the bound on the variation norm: the sum of the absolute weights of the atoms, in units
        of the score. "cv" takes the one with the least held-out risk from `radii`; each fold goes
        from small to large, from one solution to the next.
    loss : str or object, default={default}
        {names}, an instance of a smooth class in `boosting.losses`, or any object with the methods
        ``value(y, u)`` and ``gradient(y, u)`` of a convex smooth loss.
    n_estimators : int, default=100
        Rounds at most; more are often needed with the columns of X, where they are cheap.
    step : {{"line_search", "open_loop", "short"}}, default="line_search"
        eta: the best in [0, 1]; 2/(t + 2); or the best for the quadratic upper bound of the risk.
    away_steps : bool, default=False
        Columns of X: moves away from the worst active atom where that promises more. Converges
        linearly where plain steps zigzag.
    pairwise : bool, default=False
        Columns of X: each step moves weight from the worst active atom to the best one.
    fully_corrective : bool, default=False
        Minimises over the ball of all atoms found, after each new one. Fewest atoms; a round costs
        more, O(n t) for each inner step with weak learners.
    tol : float, default=1e-4
        Ends when the dual gap is at most this share of the risk of the best constant.
    fit_intercept : bool, default=True
        An intercept that does not count in the norm, the best one at every round.
    radii : array-like, default=None
        What ``radius="cv"`` chooses from. None is 16 values from 1/8 to 64 times the norm of the
        best single atom.
    cv : int, cross-validation splitter or iterable, default=5
    random_state : int, RandomState instance or None, default=None
        Seeds the weak learners.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Where `estimator` is None.
    estimators_ : list of fitted estimators
    estimator_weights_ : ndarray
        The score is the intercept plus the sum of weights times predictions.
    intercept_ : float
    dual_gap_ : float
        With an exact oracle, F - min F over the ball is at most this, in units of the loss.
    dual_gaps_, train_scores_ : ndarrays of shape (n_iter_ + 1,)
        The gap and the risk F before each round and at the end.
    is_exact_ : bool
        Whether the gaps are certificates.
    variation_norm_ : float
        Of the weights found; at most the radius.
    radius_ : float
    cv_radii_ : ndarray of shape (n_radii,)
    cv_risks_ : ndarray of shape (n_radii, n_folds)
        With ``radius="cv"``.
    n_iter_ : int
    stop_reason_ : {{"tol", "n_estimators", "stalled"}}
        "stalled": the weak learner's answer is no descent any more.
    loss_ : Loss{more}
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    See Also
    --------
    {see}

    Notes
    -----
    The risk after t rounds is within 8 L C² radius² / (t + 2) of the best in the ball
    (`bounds.frank_wolfe_bound`), for every step rule. Columns of X with the squared loss cost O(d)
    a round, by rows of the Gram matrix as they are needed; other losses O(n d); weak learners one
    fit a round. Weights of 2 are rows written twice.

    References
    ----------
    000 section 10.3.6, "Comparison with explicit constraint on gamma_1".
"""


class FrankWolfeRegressor(RegressorMixin, BaseFrankWolfe):
    __doc__ = (
        """Frank-Wolfe boosting: a smooth loss over functions of bounded variation norm."""
        + _DOC.format(
            default='"squared_error"',
            names='"squared_error", "huber" (with ``delta=1``)',
            more="",
            see="MatchingPursuitRegressor : Bounds the number of rounds instead of the norm.\n"
            "    GradientBoostingRegressor : No bound on the norm; stopped early.\n"
            "    sklearn.linear_model.Lasso : The penalised form of the model over columns.",
        )
        + """
    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_ensemble_theory import FrankWolfeRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = FrankWolfeRegressor(radius=1000, away_steps=True, n_estimators=1000).fit(X, y)
    >>> model.stop_reason_, bool(model.variation_norm_ <= 1000)
    ('tol', True)
    """
    )

    _parameter_constraints: ClassVar[dict] = {
        **BaseFrankWolfe._parameter_constraints,
        "loss": [StrOptions(set(REGRESSION_LOSSES)), HasMethods(["value", "gradient"])],
    }

    def __init__(
        self,
        estimator=None,
        *,
        radius=1.0,
        loss="squared_error",
        n_estimators=100,
        step="line_search",
        away_steps=False,
        pairwise=False,
        fully_corrective=False,
        tol=1e-4,
        fit_intercept=True,
        radii=None,
        cv=5,
        random_state=None,
    ):
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

    def _encode(self, y):
        return np.asarray(y, dtype=np.float64), {}

    def predict(self, X):
        """Predictions: array of shape (n_samples,)."""
        scores = self._scores(X)
        return self.loss_.inverse_link(scores)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        # A radius of 1 is small where y is large.
        tags.regressor_tags.poor_score = True
        return tags


class FrankWolfeClassifier(ClassifierMixin, BaseFrankWolfe):
    __doc__ = (
        """Frank-Wolfe boosting of two classes: a smooth loss, scores of bounded variation norm."""
        + _DOC.format(
            default='"log_loss"',
            names='"log_loss"',
            more="\n    classes_ : ndarray of shape (2,)",
            see="AdaBoostClassifier : The exponential loss, no bound on the norm.\n"
            "    sklearn.linear_model.LogisticRegression : The penalised form over columns.",
        )
        + """
    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_ensemble_theory import DecisionStumpClassifier, FrankWolfeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = FrankWolfeClassifier(DecisionStumpClassifier(), radius=5).fit(X, y)
    >>> bool(model.variation_norm_ <= 5), model.is_exact_, bool(model.score(X, y) > 0.95)
    (True, True, True)
    """
    )

    _parameter_constraints: ClassVar[dict] = {
        **BaseFrankWolfe._parameter_constraints,
        "loss": [StrOptions(set(CLASSIFICATION_LOSSES)), HasMethods(["value", "gradient"])],
    }

    def __init__(
        self,
        estimator=None,
        *,
        radius=1.0,
        loss="log_loss",
        n_estimators=100,
        step="line_search",
        away_steps=False,
        pairwise=False,
        fully_corrective=False,
        tol=1e-4,
        fit_intercept=True,
        radii=None,
        cv=5,
        random_state=None,
    ):
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

    def _encode(self, y):
        check_classification_targets(y)
        classes = np.unique(y)
        kind = type_of_target(y, input_name="y", raise_unknown=True)
        if kind != "binary":
            raise ValueError(
                f"Only binary classification is supported. The type of the target is {kind}."
            )
        if len(classes) < 2:
            raise ValueError(f"y has one class only, {classes[0]!r}; two are needed.")
        return np.where(y == classes[1], 1.0, -1.0), {"classes_": classes}

    def decision_function(self, X):
        """Scores; above 0 is the second class: array of shape (n_samples,)."""
        return self._scores(X)

    def predict(self, X):
        """The class of each row: array of shape (n_samples,)."""
        second = self.decision_function(X) > 0
        return self.classes_[second.astype(int)]

    @available_if(lambda self: _has_probabilities(self))
    def predict_proba(self, X):
        """Probabilities of the two classes, by the loss's link: array of shape (n_samples, 2)."""
        scores = self.decision_function(X)
        second = self.loss_.inverse_link(scores)
        return np.column_stack([1 - second, second])

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


def _has_probabilities(model):
    return isinstance(model.loss, str | losses.LogisticLoss | losses.ExponentialLoss)
