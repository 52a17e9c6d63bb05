"""The public gradient boosting estimators."""

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets

from sklearn_ensemble_theory._compat import HasMethods, StrOptions
from sklearn_ensemble_theory.boosting._core.probabilities import (
    ProbabilitiesMixin,
    loss_gives_probabilities,
)
from sklearn_ensemble_theory.boosting._gradient_boosting.base import BaseGradientBoosting
from sklearn_ensemble_theory.boosting.losses.registry import loss_names

# A larger target cannot be squared and summed.
LARGEST_TARGET = 1e150


class GradientBoostingRegressor(RegressorMixin, BaseGradientBoosting):
    """Gradient boosting of any regressor, for any loss, with any step rule.

    Each round fits the base learner to the negative gradient of the loss at the current scores by
    least squares and takes a step along its outputs (003 section 4.3, 004). With the squared loss
    and ``step="line_search"`` it is forward stagewise additive modelling.

    Parameters
    ----------
    estimator : regressor, default=None
        The base learner; None is ``DecisionTreeRegressor(max_depth=3)``. For
        `DecisionStumpRegressor` the columns are sorted once for all rounds.

    loss : str or object, default="squared_error"
        ``"squared_error"``, ``"absolute_error"``, ``"huber"`` (with ``delta=1``), ``"quantile"``
        (the median) or ``"poisson"`` (logarithmic link); an instance of a class in
        `boosting.losses` with parameters of your choice; or any object with methods
        ``value(y, u)`` and ``gradient(y, u)``.

    n_estimators : int, default=100
        The largest number of rounds.

    learning_rate : float or callable, default=0.1
        Factor of every step. A callable is given the round t = 0, 1, ...

    step : {"fixed", "line_search", "smooth"}, default="fixed"
        The step before `learning_rate`: 1; the minimum of the risk along the outputs; or
        1/(L C²) of (10.9) in 000, for losses with a finite `smoothness`. Before the first two the
        leaves of scikit-learn's trees are set anew to lower the risk itself (Friedman 2001).

    init : estimator, "zero" or None, default=None
        What the scores start from: the optimal constant, 0, or the predictions of an estimator,
        which is fitted first.

    subsample : float, default=1.0
        Share of the rows that each round sees, drawn without replacement.

    n_iter_no_change : int, default=None
        End when the validation risk has not fallen by more than `tol` for so many rounds. All
        rounds are kept.

    validation_fraction : float, default=0.1
        Held out where `n_iter_no_change` is given and `X_val` is not.

    tol : float, default=1e-4
        In units of the loss.

    warm_start : bool, default=False
        Continue the previous fit with further rounds, up to `n_estimators`.

    verbose : int, default=0
        Progress on standard error: 1 now and then, 2 at every round. Callbacks of
        `sklearn.callback` (1.9) are set by `set_callbacks`.

    random_state : int, RandomState instance or None, default=None
        Seeds the base learners, the draws of `subsample` and the validation split.

    Attributes
    ----------
    estimators_ : ndarray of shape (n_rounds, 1)
        The fitted base learners.
    steps_ : ndarray of shape (n_rounds,)
        The coefficients b_t, learning rate included.
    train_scores_ : ndarray of shape (n_rounds,)
        The risk F(u_t): weighted mean of the loss on the rows that were fitted.
    validation_scores_ : ndarray of shape (n_rounds,)
        The same on the validation rows, where there are any.
    n_estimators_ : int
        Number of rounds.
    stop_reason_ : {"n_estimators", "early stopping", "callback"}
    init_ : float or fitted estimator
    loss_ : Loss
    estimator_ : estimator
        The base learner that was cloned in each round.
    feature_importances_ : ndarray of shape (n_features,)
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    Notes
    -----
    One fit of the base learner a round, and O(n) beside it; O(n) memory beside the data. Given
    `sample_weight`, a base learner must take weights. Rows of weight 0 are left out.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_ensemble_theory import GradientBoostingRegressor
    >>> from sklearn_ensemble_theory.boosting.losses import HuberLoss
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = GradientBoostingRegressor(loss=HuberLoss(delta=50), random_state=0).fit(X, y)
    >>> bool(model.train_scores_[-1] < model.train_scores_[0])
    True
    """

    _parameter_constraints: dict = {
        **BaseGradientBoosting._parameter_constraints,
        "loss": [StrOptions(loss_names("real")), HasMethods(["value", "gradient"])],
    }

    def __init__(
        self,
        estimator=None,
        *,
        loss="squared_error",
        n_estimators=100,
        learning_rate=0.1,
        step="fixed",
        init=None,
        subsample=1.0,
        n_iter_no_change=None,
        validation_fraction=0.1,
        tol=1e-4,
        warm_start=False,
        verbose=0,
        random_state=None,
    ):
        self.estimator = estimator
        self.loss = loss
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.step = step
        self.init = init
        self.subsample = subsample
        self.n_iter_no_change = n_iter_no_change
        self.validation_fraction = validation_fraction
        self.tol = tol
        self.warm_start = warm_start
        self.verbose = verbose
        self.random_state = random_state

    def _encode(self, y):
        return self._encode_known(y, {}), {}

    def _encode_known(self, y, description):
        y = np.asarray(y, dtype=np.float64)
        if np.max(np.abs(y), initial=0.0) > LARGEST_TARGET:
            raise ValueError(f"y has values above {LARGEST_TARGET:g}, which cannot be squared.")
        return y

    def _decode(self, y, description):
        return y

    def _init_predictions(self, init, loss, X):
        return np.ravel(init.predict(X))

    def predict(self, X):
        """The prediction of each row: the score through the loss's inverse link.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        u = self._raw(X)
        return self.loss_.inverse_link(u)

    def staged_predict(self, X):
        """The predictions after each round."""
        for u in self._staged_raw(X):
            yield np.array(self.loss_.inverse_link(u))


class GradientBoostingClassifier(ProbabilitiesMixin, ClassifierMixin, BaseGradientBoosting):
    """Gradient boosting of any regressor for classification, with any step rule.

    Two classes are boosted in one score (targets -1 and +1 inside, +1 the second of `classes_`);
    more in one score a class with the multinomial loss, one base learner a class and round.

    Parameters
    ----------
    estimator : regressor, default=None
        The base learner; None is ``DecisionTreeRegressor(max_depth=3)``. For
        `DecisionStumpRegressor` the columns are sorted once for all rounds.

    loss : str or object, default="log_loss"
        ``"log_loss"`` (logistic, or multinomial for more than two classes); for two classes also
        ``"exponential"``, ``"hinge"``, or any object with methods ``value(y, u)`` and
        ``gradient(y, u)`` for y in -1 and +1.

    n_estimators : int, default=100
        The largest number of rounds.

    learning_rate : float or callable, default=0.1
        Factor of every step. A callable is given the round t = 0, 1, ...

    step : {"fixed", "line_search", "smooth"}, default="fixed"
        The step before `learning_rate`: 1; the minimum of the risk along the outputs; or
        1/(L C²) of (10.9) in 000, for losses with a finite `smoothness`. Before the first two the
        leaves of scikit-learn's trees are set anew to lower the risk itself (Friedman 2001).

    init : estimator, "zero" or None, default=None
        What the scores start from: the optimal constant, 0, or the probabilities of a classifier,
        which is fitted first.

    subsample : float, default=1.0
        Share of the rows that each round sees, drawn without replacement.

    n_iter_no_change : int, default=None
        End when the validation risk has not fallen by more than `tol` for so many rounds. All
        rounds are kept.

    validation_fraction : float, default=0.1
        Held out, by class, where `n_iter_no_change` is given and `X_val` is not.

    tol : float, default=1e-4
        In units of the loss.

    warm_start : bool, default=False
        Continue the previous fit with further rounds, up to `n_estimators`.

    verbose : int, default=0
        Progress on standard error: 1 now and then, 2 at every round. Callbacks of
        `sklearn.callback` (1.9) are set by `set_callbacks`.

    random_state : int, RandomState instance or None, default=None
        Seeds the base learners, the draws of `subsample` and the validation split.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_classes_ : int
    estimators_ : ndarray of shape (n_rounds, 1) or (n_rounds, n_classes)
        The fitted base learners.
    steps_ : ndarray of shape (n_rounds,)
        The coefficients b_t, learning rate included.
    train_scores_ : ndarray of shape (n_rounds,)
        The risk F(u_t): weighted mean of the loss on the rows that were fitted.
    validation_scores_ : ndarray of shape (n_rounds,)
        The same on the validation rows, where there are any.
    n_estimators_ : int
        Number of rounds.
    stop_reason_ : {"n_estimators", "early stopping", "callback"}
    init_ : float, ndarray of shape (n_classes,) or fitted estimator
    loss_ : Loss
    estimator_ : estimator
        The base learner that was cloned in each round.
    feature_importances_ : ndarray of shape (n_features,)
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    Notes
    -----
    One fit of the base learner a round (a class), and O(n) beside it; O(n) memory beside the data.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn_ensemble_theory import GradientBoostingClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GradientBoostingClassifier(n_estimators=20, random_state=0).fit(X, y)
    >>> model.predict(X[:2])
    array([0, 0])
    """

    _parameter_constraints: dict = {
        **BaseGradientBoosting._parameter_constraints,
        "loss": [StrOptions(loss_names("two classes")), HasMethods(["value", "gradient"])],
    }

    def __init__(
        self,
        estimator=None,
        *,
        loss="log_loss",
        n_estimators=100,
        learning_rate=0.1,
        step="fixed",
        init=None,
        subsample=1.0,
        n_iter_no_change=None,
        validation_fraction=0.1,
        tol=1e-4,
        warm_start=False,
        verbose=0,
        random_state=None,
    ):
        self.estimator = estimator
        self.loss = loss
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.step = step
        self.init = init
        self.subsample = subsample
        self.n_iter_no_change = n_iter_no_change
        self.validation_fraction = validation_fraction
        self.tol = tol
        self.warm_start = warm_start
        self.verbose = verbose
        self.random_state = random_state

    def _encode(self, y):
        check_classification_targets(y)
        classes = np.unique(y)
        if len(classes) < 2:
            raise ValueError(f"y has 1 class, {classes[0]!r}; at least 2 classes are needed.")
        description = {"classes_": classes, "n_classes_": len(classes)}
        return self._encode_known(y, description), description

    def _encode_known(self, y, description):
        classes = description["classes_"]
        codes = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
        if np.any(classes[codes] != y):
            raise ValueError("y_val has classes that y does not have.")
        return 2.0 * codes - 1.0 if len(classes) == 2 else codes

    def _decode(self, y, description):
        classes = description["classes_"]
        return classes[(y > 0).astype(int) if len(classes) == 2 else y]

    def _init_predictions(self, init, loss, X):
        if not hasattr(init, "predict_proba"):
            raise ValueError(f"init: {type(init).__name__} has no predict_proba.")
        if not loss.probability:
            raise ValueError(
                f"init: {type(loss).__name__} gives no probabilities, so it cannot start from "
                f"those of {type(init).__name__}; use init=None or 'zero'."
            )
        proba = init.predict_proba(X)
        return proba[:, 1] if proba.shape[1] == 2 else proba

    def decision_function(self, X):
        """The scores of each row: positive is the second class, the largest the predicted one.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        score : ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        return self._raw(X)

    def staged_decision_function(self, X):
        """The scores after each round."""
        for u in self._staged_raw(X):
            yield u.copy()

    def _decide(self, u):
        return self.classes_.take(u > 0 if u.ndim == 1 else u.argmax(axis=1))

    def predict(self, X):
        """The class of each row; ties go to the first."""
        return self._decide(self._raw(X))

    def staged_predict(self, X):
        """The predictions after each round."""
        for u in self._staged_raw(X):
            yield self._decide(u)

    @available_if(loss_gives_probabilities)
    def staged_predict_proba(self, X):
        """The class probabilities after each round."""
        for u in self._staged_raw(X):
            yield self.loss_.class_probabilities(u)
