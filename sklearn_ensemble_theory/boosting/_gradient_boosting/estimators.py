"""The public gradient boosting estimators."""

from collections.abc import Callable
from typing import ClassVar, Literal

from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from sklearn_ensemble_theory._compat import HasMethods, StrOptions
from sklearn_ensemble_theory._typing import LossLike, RandomStateLike
from sklearn_ensemble_theory.boosting._core.probabilities import ProbabilitiesMixin
from sklearn_ensemble_theory.boosting._gradient_boosting.base import BaseGradientBoosting
from sklearn_ensemble_theory.boosting._gradient_boosting.targets import ClassTargets, RealTargets
from sklearn_ensemble_theory.boosting.losses.registry import loss_names


class GradientBoostingRegressor(RealTargets, RegressorMixin, BaseGradientBoosting):
    """Gradient boosting of any regressor, for any loss, with any step rule.

    Each round fits the base learner to the negative gradient of the loss at the current scores by
    least squares and takes a step along its outputs [Shah, algorithm 3], [DS-GA 1003, lecture 8].

    Parameters
    ----------
    estimator : regressor, default=None
        The base learner; None is ``BinnedTreeRegressor(max_depth=3)``, whose columns are cut into
        255 bins once for all rounds, and for sparse X ``DecisionTreeRegressor(max_depth=3)``, the
        exact tree of scikit-learn. The parameters of binned trees, ``monotonic_cst`` and
        ``max_features`` for instance, are set here: ``BinnedTreeRegressor(max_depth=3,
        max_features=0.5)``. The columns of `DecisionStumpRegressor` are sorted once for all rounds.
    loss : str or object, default="squared_error"
        ``"squared_error"``, ``"absolute_error"``, ``"huber"`` (with ``delta=1``), ``"quantile"``
        (the median) or ``"poisson"`` (logarithmic link); an instance of a class in
        `boosting.losses`; or any object with methods ``value(y, u)`` and ``gradient(y, u)``.
    n_estimators : int, default=100
        The largest number of rounds.
    learning_rate : float or callable, default=0.1
        Factor of every step. A callable is called with the round t = 0, 1, ...
    step : {"fixed", "line_search", "joint", "quadratic_bound", "smooth"}, default="fixed"
        Rule for the coefficient b of a round's outputs psi, before it is multiplied by
        `learning_rate`.

        - "fixed": 1.
        - "line_search": minimises the risk along the outputs, exactly.
        - "joint": minimises the risk jointly over b and the base learner: forward stagewise
          additive modelling [Bach, eq. (10.6)], [DS-GA 1003, lecture 8]. It requires a base
          learner with such a search, `DecisionStumpRegressor`, and a loss with one score. The
          algorithm of the sources has ``learning_rate=1``.
        - "quadratic_bound": minimises a quadratic upper bound of the risk along the outputs,
          b = -F'(u)'psi / (L |psi|²). It requires a loss with a finite `smoothness`.
        - "smooth": the same bound with one constant for all rounds, b = -F'(u)'psi / (L C²)
          [Bach, eq. (10.9)]; see `output_bound`. With ``init="zero"``, ``learning_rate=1`` and a
          base learner that maximises -F'(u)'psi over a fixed set of outputs, the risk and the
          variation norm satisfy `bounds.greedy_boosting_bound` and
          `bounds.greedy_boosting_gauge_bound`.

    output_bound : float, default=None
        For ``step="smooth"``: R, a bound on the root mean square over the training rows of the
        outputs of every base learner; a bound on their absolute values can be used. C² is n R².
        If None, the base learner must provide the bound, as
        ``ReLUUnitRegressor("inner_product")`` does.
    reoptimize_leaves : bool, default=True
        Before a "fixed" or "line_search" step, re-optimise the leaf values of trees, binned or
        scikit-learn's, for the loss (Friedman 2001). With False, and with every other step, the
        trees keep the values fitted to the negative gradient, as in [Shah, algorithm 3].
    second_order : bool, default=False
        Fit the base learner to the Newton steps -g/h of the rows under the weights w h, instead of
        to the negative gradients -g under the sample weights w; g and h are the first and second
        derivatives of the loss (Friedman, Hastie and Tibshirani 2000). With G and H the sums of
        w g and w h, trees are then split by G²/H, and the values of their leaves are -G/H, as in
        LightGBM, XGBoost and HistGradientBoosting; `reoptimize_leaves` has no effect. No leaf of a
        tree has H below 0.001, so sample weights should be of the order of 1. It requires a convex
        loss with a second derivative, a base learner that supports `sample_weight`, and a "fixed"
        or "line_search" step. For the squared loss h is 1, and nothing changes. For the Poisson
        loss a step can increase the risk where targets are many times their mean; the first order
        has the exact minimum in each leaf.
    init : estimator, "zero" or None, default=None
        Initial scores: the predictions of an estimator, which is fitted first; 0 with "zero"; the
        optimal constant with None.
    subsample : float, default=1.0
        Share of the rows that each round is fitted to, drawn without replacement.
    n_iter_no_change : int, default=None
        Stop when the validation risk has not improved by more than `tol` for this number of
        rounds. All rounds are kept. If None, there is no early stopping.
    validation_fraction : float, default=0.1
        Share of the rows held out if `n_iter_no_change` is given and `X_val` is not.
    tol : float, default=1e-4
        Tolerance of `n_iter_no_change`, in units of the loss.
    warm_start : bool, default=False
        Continue the previous fit with further rounds, up to `n_estimators`.
    n_jobs : int, default=None
        Number of threads that grow one tree; the base learners are fitted one after the other.
        None means 1 unless in a `joblib.parallel_config` context; -1 means all processors. The
        model is the same for any number. Only binned trees and the compiled losses use threads,
        where rows times features are at least about two million.
    verbose : int, default=0
        1 prints progress every few seconds, 2 in every round. Callbacks of
        `sklearn.callback` (scikit-learn 1.9) are set by `set_callbacks`.
    random_state : int, RandomState instance or None, default=None
        Seeds the base learners, which also draw between equally good splits, the draws of
        `subsample` and the validation split.

    Attributes
    ----------
    estimators_ : ndarray of shape (n_rounds, 1)
        The fitted base learners.
    steps_ : ndarray of shape (n_rounds,)
        The coefficients b_t, including the learning rate.
    train_scores_ : ndarray of shape (n_rounds,)
        The risk F(u_t): the weighted mean of the loss on the training rows.
    validation_scores_ : ndarray of shape (n_rounds,)
        The same on the validation rows, if there are any.
    n_estimators_ : int
        Number of rounds.
    stop_reason_ : {"n_estimators", "early stopping", "callback", "weak learner"}
        Why the rounds ended. "weak learner": the base learner found no member that reduces the
        risk.
    init_ : float or fitted estimator
        The initial scores, or the estimator that predicts them.
    loss_ : Loss
        The loss.
    estimator_ : estimator
        The base learner that was cloned in each round.
    feature_importances_ : ndarray of shape (n_features,)
        Mean importances of the base learners, where they have importances; of sum 1.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of features seen during `fit`, where they are all strings.

    See Also
    --------
    L2BoostingRegressor : The squared loss with binned stumps, faster for many rows.
    sklearn.ensemble.GradientBoostingRegressor : The same with exact trees and fixed steps.

    Notes
    -----
    A round consists of a fit of the base learner and O(n) further operations; the memory is O(n) in
    addition to the data. With binned trees a round takes O(n p) for each level of the tree, and the
    codes of the bins one byte for each value of X. The base learner must support `sample_weight` if
    weights are given. Rows of weight 0 are left out.

    Missing values (NaN) are accepted where the base learner accepts them, as trees do. The leaf
    values of a loss of the user are found by Newton steps if it has a method ``hessian(y, u)``, and
    otherwise by a search that computes the gradient some twenty times.

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    J. Friedman, T. Hastie and R. Tibshirani (2000). "Additive logistic regression: a statistical
    view of boosting". *The Annals of Statistics* 28(2), 337-407.

    R. D. Shah. *Mathematics of Machine Learning*, lecture notes. University of Cambridge.

    *DS-GA 1003: Machine Learning*, lecture 8, "Boosting and 'classical ML' review". New York
    University.

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

    _parameter_constraints: ClassVar[dict] = {
        **BaseGradientBoosting._parameter_constraints,
        "loss": [StrOptions(loss_names("real")), HasMethods(["value", "gradient"])],
    }

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        *,
        loss: str | LossLike = "squared_error",
        n_estimators: int = 100,
        learning_rate: float | Callable[[int], float] = 0.1,
        step: str = "fixed",
        output_bound: float | None = None,
        reoptimize_leaves: bool = True,
        second_order: bool = False,
        init: BaseEstimator | Literal["zero"] | None = None,
        subsample: float = 1.0,
        n_iter_no_change: int | None = None,
        validation_fraction: float = 0.1,
        tol: float = 1e-4,
        warm_start: bool = False,
        n_jobs: int | None = None,
        verbose: bool | int = 0,
        random_state: RandomStateLike = None,
    ) -> None:
        self.estimator = estimator
        self.loss = loss
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.step = step
        self.output_bound = output_bound
        self.reoptimize_leaves = reoptimize_leaves
        self.second_order = second_order
        self.init = init
        self.subsample = subsample
        self.n_iter_no_change = n_iter_no_change
        self.validation_fraction = validation_fraction
        self.tol = tol
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state


class GradientBoostingClassifier(
    ProbabilitiesMixin, ClassTargets, ClassifierMixin, BaseGradientBoosting
):
    """Gradient boosting of any regressor for classification, with any step rule.

    Each round fits the base learner to the negative gradient of the loss at the current scores by
    least squares and takes a step along its outputs [Shah, algorithm 3], [DS-GA 1003, lecture 8].
    Two classes have one score and the targets -1 and +1, where +1 is the second of `classes_`. More
    than two classes have one score each, and a base learner is fitted for each class and round.

    Parameters
    ----------
    estimator : regressor, default=None
        The base learner; None is ``BinnedTreeRegressor(max_depth=3)``, whose columns are cut into
        255 bins once for all rounds, and for sparse X ``DecisionTreeRegressor(max_depth=3)``, the
        exact tree of scikit-learn. The parameters of binned trees, ``monotonic_cst`` and
        ``max_features`` for instance, are set here: ``BinnedTreeRegressor(max_depth=3,
        max_features=0.5)``. The columns of `DecisionStumpRegressor` are sorted once for all rounds.
    loss : str or object, default="log_loss"
        ``"log_loss"`` (logistic, or multinomial for more than two classes); for two classes also
        ``"exponential"``, ``"hinge"``, an instance of a class in `boosting.losses`, or any object
        with methods ``value(y, u)`` and ``gradient(y, u)`` for y in -1 and +1.
    n_estimators : int, default=100
        The largest number of rounds.
    learning_rate : float or callable, default=0.1
        Factor of every step. A callable is called with the round t = 0, 1, ...
    step : {"fixed", "line_search", "joint", "quadratic_bound", "smooth"}, default="fixed"
        Rule for the coefficient b of a round's outputs psi, before it is multiplied by
        `learning_rate`.

        - "fixed": 1.
        - "line_search": minimises the risk along the outputs, exactly.
        - "joint": minimises the risk jointly over b and the base learner: forward stagewise
          additive modelling [Bach, eq. (10.6)], [DS-GA 1003, lecture 8]. It requires a base
          learner with such a search, `DecisionStumpRegressor`, and a loss with one score. The
          algorithm of the sources has ``learning_rate=1``.
        - "quadratic_bound": minimises a quadratic upper bound of the risk along the outputs,
          b = -F'(u)'psi / (L |psi|²). It requires a loss with a finite `smoothness`.
        - "smooth": the same bound with one constant for all rounds, b = -F'(u)'psi / (L C²)
          [Bach, eq. (10.9)]; see `output_bound`. With ``init="zero"``, ``learning_rate=1`` and a
          base learner that maximises -F'(u)'psi over a fixed set of outputs, the risk and the
          variation norm satisfy `bounds.greedy_boosting_bound` and
          `bounds.greedy_boosting_gauge_bound`.

    output_bound : float, default=None
        For ``step="smooth"``: R, a bound on the root mean square over the training rows of the
        outputs of every base learner; a bound on their absolute values can be used. C² is n R².
        If None, the base learner must provide the bound, as
        ``ReLUUnitRegressor("inner_product")`` does.
    reoptimize_leaves : bool, default=True
        Before a "fixed" or "line_search" step, re-optimise the leaf values of trees, binned or
        scikit-learn's, for the loss (Friedman 2001). With False, and with every other step, the
        trees keep the values fitted to the negative gradient, as in [Shah, algorithm 3].
    second_order : bool, default=False
        Fit the base learner to the Newton steps -g/h of the rows under the weights w h, instead of
        to the negative gradients -g under the sample weights w; g and h are the first and second
        derivatives of the loss (Friedman, Hastie and Tibshirani 2000). With G and H the sums of
        w g and w h, trees are then split by G²/H, and the values of their leaves are -G/H, as in
        LightGBM, XGBoost and HistGradientBoosting; `reoptimize_leaves` has no effect. No leaf of a
        tree has H below 0.001, so sample weights should be of the order of 1. It requires a convex
        loss with a second derivative, a base learner that supports `sample_weight`, and a "fixed"
        or "line_search" step. The test error is often lower where most rows are classified well,
        and often higher where errors are frequent.
    init : estimator, "zero" or None, default=None
        Initial scores: those for the probabilities of a classifier, which is fitted first; 0 with
        "zero"; the optimal constant with None.
    subsample : float, default=1.0
        Share of the rows that each round is fitted to, drawn without replacement.
    n_iter_no_change : int, default=None
        Stop when the validation risk has not improved by more than `tol` for this number of
        rounds. All rounds are kept. If None, there is no early stopping.
    validation_fraction : float, default=0.1
        Share of the rows of each class held out if `n_iter_no_change` is given and `X_val` is not.
    tol : float, default=1e-4
        Tolerance of `n_iter_no_change`, in units of the loss.
    warm_start : bool, default=False
        Continue the previous fit with further rounds, up to `n_estimators`.
    n_jobs : int, default=None
        Number of threads that grow one tree; the base learners are fitted one after the other.
        None means 1 unless in a `joblib.parallel_config` context; -1 means all processors. The
        model is the same for any number. Only binned trees and the compiled losses use threads,
        where rows times features are at least about two million.
    verbose : int, default=0
        1 prints progress every few seconds, 2 in every round. Callbacks of
        `sklearn.callback` (scikit-learn 1.9) are set by `set_callbacks`.
    random_state : int, RandomState instance or None, default=None
        Seeds the base learners, which also draw between equally good splits, the draws of
        `subsample` and the validation split.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels, sorted.
    n_classes_ : int
        Number of classes.
    estimators_ : ndarray of shape (n_rounds, 1) or (n_rounds, n_classes)
        The fitted base learners.
    steps_ : ndarray of shape (n_rounds,)
        The coefficients b_t, including the learning rate.
    train_scores_ : ndarray of shape (n_rounds,)
        The risk F(u_t): the weighted mean of the loss on the training rows.
    validation_scores_ : ndarray of shape (n_rounds,)
        The same on the validation rows, if there are any.
    n_estimators_ : int
        Number of rounds.
    stop_reason_ : {"n_estimators", "early stopping", "callback", "weak learner"}
        Why the rounds ended. "weak learner": the base learner found no member that reduces the
        risk.
    init_ : float, ndarray of shape (n_classes,) or fitted estimator
        The initial scores, or the estimator that predicts them.
    loss_ : Loss
        The loss.
    estimator_ : estimator
        The base learner that was cloned in each round.
    feature_importances_ : ndarray of shape (n_features,)
        Mean importances of the base learners, where they have importances; of sum 1.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of features seen during `fit`, where they are all strings.

    See Also
    --------
    AdaBoostClassifier : The exponential loss with classifiers as weak learners.
    sklearn.ensemble.GradientBoostingClassifier : The same with exact trees and fixed steps.

    Notes
    -----
    A round consists of a fit of the base learner, or one for each of more than two classes, and
    O(n) further operations; the memory is O(n) in addition to the data. With binned trees a round
    takes O(n p) for each level of a tree, and the codes of the bins one byte for each value of X.
    The base learner must support `sample_weight` if weights are given. Rows of weight 0 are left
    out. Missing values (NaN) are accepted where the base learner accepts them, as trees do. The
    leaf values of a loss of the user are found by Newton steps if it has a method
    ``hessian(y, u)``, and otherwise by a search that computes the gradient some twenty times.

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    J. Friedman, T. Hastie and R. Tibshirani (2000). "Additive logistic regression: a statistical
    view of boosting". *The Annals of Statistics* 28(2), 337-407.

    R. D. Shah. *Mathematics of Machine Learning*, lecture notes. University of Cambridge.

    *DS-GA 1003: Machine Learning*, lecture 8, "Boosting and 'classical ML' review". New York
    University.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn_ensemble_theory import GradientBoostingClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GradientBoostingClassifier(n_estimators=20, random_state=0).fit(X, y)
    >>> model.predict(X[:2])
    array([0, 0])
    """

    _parameter_constraints: ClassVar[dict] = {
        **BaseGradientBoosting._parameter_constraints,
        "loss": [StrOptions(loss_names("two classes")), HasMethods(["value", "gradient"])],
    }

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        *,
        loss: str | LossLike = "log_loss",
        n_estimators: int = 100,
        learning_rate: float | Callable[[int], float] = 0.1,
        step: str = "fixed",
        output_bound: float | None = None,
        reoptimize_leaves: bool = True,
        second_order: bool = False,
        init: BaseEstimator | Literal["zero"] | None = None,
        subsample: float = 1.0,
        n_iter_no_change: int | None = None,
        validation_fraction: float = 0.1,
        tol: float = 1e-4,
        warm_start: bool = False,
        n_jobs: int | None = None,
        verbose: bool | int = 0,
        random_state: RandomStateLike = None,
    ) -> None:
        self.estimator = estimator
        self.loss = loss
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.step = step
        self.output_bound = output_bound
        self.reoptimize_leaves = reoptimize_leaves
        self.second_order = second_order
        self.init = init
        self.subsample = subsample
        self.n_iter_no_change = n_iter_no_change
        self.validation_fraction = validation_fraction
        self.tol = tol
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state
