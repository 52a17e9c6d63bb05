"""The public AdaBoost estimators [Bach, §10.3.4]."""

from typing import Any, Literal

import numpy as np
from sklearn import ensemble

from sklearn_ensemble_theory.boosting._adaboost.base import BaseAdaBoost
from sklearn_ensemble_theory.boosting._adaboost.drawn_regressors import BaseAdaBoostRegressor
from sklearn_ensemble_theory.boosting._adaboost.vote_bounds import BoostedVoteBoundMixin


class AdaBoostClassifier(BoostedVoteBoundMixin, BaseAdaBoost):
    """AdaBoost with decision stumps or any classifier: discrete, real, gentle and AdaBoost.MH.

    Each round fits a weak learner to the training rows under weights proportional to exp(-margin)
    and adds it with the coefficient that minimises the exponential risk. This is a drop-in
    replacement for :class:`sklearn.ensemble.AdaBoostClassifier`: parameters and attributes keep
    their meaning. Two defaults differ. The weak learner is the stump with the least weighted error
    instead of the tree of depth one with the least Gini index. With stumps and more than two
    classes the algorithm is AdaBoost.MH; ``algorithm="discrete"`` gives SAMME.

    Parameters
    ----------
    estimator : object, default=None
        The weak learner; for one whose `fit` does not support `sample_weight`, see `resample`. If
        None, it is ``DecisionStumpClassifier()``, which sorts the features once for all rounds;
        ``DecisionStumpClassifier(max_bins=255)`` bins them once. It must be a classifier for
        ``algorithm="discrete"``, a classifier with `predict_proba` for ``"real"``, and a regressor
        (of -1 and +1) for ``"gentle"``. Decision stumps can be used with all algorithms. For more
        than two classes ``"mh"``, ``"real"`` and ``"gentle"`` need them: they have a weight for
        each row and class.

    n_estimators : int, default=50
        The maximum number of rounds.

    learning_rate : float, default=1.0
        Factor of each coefficient.

    algorithm : {"auto", "discrete", "mh", "real", "gentle"}, default="auto"
        - ``"discrete"``: a weighted vote; the exact line search gives the coefficient
          alpha = log((1 - eps) / eps) [Ghoshdastidar, theorem En.4; Shah, §4.2; Bach, §10.3.4].
          For K > 2 classes this is SAMME, with coefficient alpha + log(K - 1).
        - ``"mh"``: AdaBoost.MH, which separates each class from the rest, with a weight for each
          row and class (Schapire and Singer 1999). A stump has one threshold and votes for or
          against each class on its left, and the opposite on its right (Kégl and Busa-Fekete 2009).
          For two classes this is ``"discrete"``.
        - ``"real"``: a sum of confidences. Stumps minimise Z = 2 sum sqrt(W+ W-) and return half
          the log-odds of each side (Schapire and Singer 1999).
        - ``"gentle"``: a sum of least-squares fits to -1 and +1, which are Newton steps of the
          exponential loss (Friedman, Hastie and Tibshirani 2000). The outputs of stumps are in
          [-1, 1], while half log-odds can be large.
        - ``"auto"``: ``"mh"`` for more than two classes if the weak learner is a decision stump,
          otherwise ``"discrete"``.

        For more than two classes ``"real"`` and ``"gentle"`` have the weights of ``"mh"``, and
        stumps return a value for each side and class.

    resample : bool or "auto", default="auto"
        If True, each weak learner is fitted to n rows drawn with replacement, with the weights of
        the round as probabilities, instead of to all rows under these weights (Freund and Schapire
        1996). Its error and coefficient are those on all rows. ``"auto"`` does so only if the `fit`
        of the weak learner does not support `sample_weight`; with False this is an error.

    random_state : int, RandomState instance or None, default=None
        Seed of the weak learners that have a `random_state`, and of the rows drawn.

    verbose : int, default=0
        1 prints progress every few seconds, 2 after every round. Callbacks of `sklearn.callback`
        (scikit-learn 1.9) are set by `set_callbacks`; `ScoringMonitor` records the
        score on the training rows after each round.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    n_classes_ : int
        The number of classes.
    algorithm_ : {"discrete", "mh", "real", "gentle"}
        The algorithm that was used.
    estimator_ : estimator
        The weak learner that was cloned in each round.
    estimators_ : list of estimators
        The fitted weak learner of each round. Stumps are `DecisionStumpClassifier` objects for
        ``"discrete"`` and `DecisionStumpRegressor` objects for the others; for more than two
        classes their `predict` returns an array of shape (n_samples, n_classes).
    estimator_weights_ : ndarray of shape (n_rounds,)
        The coefficients alpha_t in scikit-learn's scale (for two classes twice the b_t of the
        literature); the learning rate for ``"real"`` and ``"gentle"``.
    estimator_errors_ : ndarray of shape (n_rounds,)
        eps_t, the error of each weak learner under the weights of its round: those of rows, or of
        rows and classes.
    edges_ : ndarray of shape (n_rounds,)
        gamma_t = 1/2 - eps_t.
    training_error_bounds_ : ndarray of shape (n_rounds,)
        The exponential risk F(u_t) after each round, an upper bound on the (weighted) training
        error for two classes. For ``"discrete"`` with ``learning_rate=1`` it is the running
        product of 2 sqrt(eps_t (1 - eps_t)) [Ghoshdastidar, theorem En.4]. For K > 2 classes and
        ``"mh"``, ``"real"`` or ``"gentle"`` it bounds the Hamming loss, the weight of the rows and
        classes with the wrong sign (Schapire and Singer 1999); sqrt(K - 1) times it bounds the
        training error. For ``"mh"`` it is the same product.
    stop_reason_ : {"n_estimators", "perfect", "no edge", "callback"}
        Why there were no more rounds. ``"perfect"``: a weak learner made no error, and only that
        learner is kept. ``"no edge"``: the weak learner was no better than guessing; the earlier
        ones are kept.
    feature_importances_ : ndarray of shape (n_features,)
        Mean of the weak learners' importances, weighted by their coefficients.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of features seen during `fit`, where they are all strings.

    See Also
    --------
    DecisionStumpClassifier : The default weak learner.
    GradientBoostingClassifier : Boosting for other losses, with any regressor.

    Notes
    -----
    Weights are computed from their logarithms, so that they neither overflow nor all vanish after
    many rounds. Rows of weight 0 are ignored.

    Decision stumps need O(n p log n) operations once and at most O(n p) in each round, and O(n p K)
    with a weight for each row and class. `BinnedTreeClassifier` as weak learner of "discrete" and
    "real" is binned once and needs O(n p) for each level of a tree. A prediction costs O(n_rounds)
    for each row.

    With a weight for each row and class, half of a row's weight is that of its own class at the
    start, and the other half is shared by the K - 1 other classes.

    With Dask collections `fit` reads the rows twice: for the classes and the quantiles of the
    columns, and for the numbers of the bins, which stay where the rows are, with one score for each
    row (or row and class). A round then passes over these: the weights are summed in bins, as
    integers, so that the model is the same, bit for bit, however the rows are cut into chunks with
    the same bins; with these bins it is that of rows in memory up to rounding. Stumps without
    `max_bins` have 255 bins then, which is the exact search for columns with fewer values. The
    quantiles are those of samples where a chunk has more than 32,768 rows. Other weak learners,
    resampling and callbacks, which need all rows at once, are refused.

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    D. Ghoshdastidar. *Statistical Foundations of Learning*, lecture "Ensemble methods". Technical
    University of Munich.

    R. D. Shah. *Mathematics of Machine Learning*, lecture notes. University of Cambridge.

    Y. Freund and R. E. Schapire (1996). "Experiments with a new boosting algorithm". *Proceedings
    of the 13th International Conference on Machine Learning*, 148-156.

    J. Friedman, T. Hastie and R. Tibshirani (2000). "Additive logistic regression: a statistical
    view of boosting". *The Annals of Statistics* 28, 337-407.

    R. E. Schapire and Y. Singer (1999). "Improved boosting algorithms using confidence-rated
    predictions". *Machine Learning* 37, 297-336.

    B. Kégl and R. Busa-Fekete (2009). "Boosting products of base classifiers". *Proceedings of the
    26th International Conference on Machine Learning*, 497-504.

    J. Zhu, H. Zou, S. Rosset and T. Hastie (2009). "Multi-class AdaBoost". *Statistics and Its
    Interface* 2, 349-360.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_ensemble_theory import AdaBoostClassifier
    >>> X = np.arange(9.0)[:, None]  # an interval: three stumps are needed
    >>> y = np.array([0, 0, 0, 1, 1, 1, 0, 0, 0])
    >>> model = AdaBoostClassifier(n_estimators=3).fit(X, y)
    >>> model.score(X, y)
    1.0
    >>> model.edges_.round(3)
    array([0.167, 0.25 , 0.333])

    More than two classes:

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = AdaBoostClassifier(n_estimators=20).fit(X, y)
    >>> model.algorithm_, model.decision_function(X).shape
    ('mh', (150, 3))
    """

    _sklearn_class = ensemble.AdaBoostClassifier

    def __init__(
        self,
        estimator: Any | None = None,
        *,
        n_estimators: int = 50,
        learning_rate: float = 1.0,
        algorithm: Literal["auto", "discrete", "mh", "real", "gentle"] = "auto",
        resample: bool | Literal["auto"] = "auto",
        random_state: int | np.random.RandomState | None = None,
        verbose: bool | int = 0,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.algorithm = algorithm
        self.resample = resample
        self.random_state = random_state
        self.verbose = verbose


class AdaBoostRegressor(BaseAdaBoostRegressor):
    """AdaBoost.R2: the weighted median of regressors fitted to rows drawn by their errors.

    Each round draws n rows with replacement, with the weights as probabilities, and fits the weak
    learner to them. Rows with a small error are then given less weight, so that later rounds see
    the difficult rows more often (Drucker 1997). This is a drop-in replacement for
    :class:`sklearn.ensemble.AdaBoostRegressor`, with the same results for the same `random_state`.

    Parameters
    ----------
    estimator : object, default=None
        The weak learner, any regressor. If None, it is ``DecisionTreeRegressor(max_depth=3)``.
        ``BinnedTreeRegressor(max_depth=3)`` cuts the columns into bins once for all rounds, which
        is faster for many rows.

    n_estimators : int, default=50
        The maximum number of rounds.

    learning_rate : float, default=1.0
        Factor of each coefficient, and exponent of the change of the weights.

    loss : {"linear", "square", "exponential"}, default="linear"
        What a round loses by an error e, divided by the largest error: e, e² or 1 - exp(-e).

    random_state : int, RandomState instance or None, default=None
        Seed of the rows drawn, and of the weak learners that have a `random_state`.

    verbose : int, default=0
        1 prints progress every few seconds, 2 after every round. Callbacks of `sklearn.callback`
        (scikit-learn 1.9) are set by `set_callbacks`; `ScoringMonitor` records the
        score on the training rows after each round.

    Attributes
    ----------
    estimator_ : estimator
        The weak learner that was cloned in each round.
    estimators_ : list of estimators
        The fitted weak learner of each round.
    estimator_weights_ : ndarray of shape (n_rounds,)
        The coefficients, log((1 - L) / L) times the learning rate, for a mean loss L.
    estimator_errors_ : ndarray of shape (n_rounds,)
        The mean loss L of each weak learner under the weights of its round.
    stop_reason_ : {"n_estimators", "perfect", "no edge", "no weight", "callback"}
        Why there were no more rounds. ``"perfect"``: a weak learner made no error. ``"no edge"``:
        its mean loss was 1/2 or more; it is kept only if it is the first one. ``"no weight"``: all
        weights vanished, with a large learning rate.
    feature_importances_ : ndarray of shape (n_features,)
        Mean of the weak learners' importances, weighted by their coefficients.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of features seen during `fit`, where they are all strings.

    See Also
    --------
    GradientBoostingRegressor : Boosting that minimises a loss.
    BaggingRegressor : The mean of regressors fitted to rows drawn with equal probabilities.
    AdaBoostClassifier : AdaBoost for classes [Bach, §10.3.4].

    Notes
    -----
    The losses are relative to the largest error, so that a single outlier of y makes all others
    small. No risk is minimised, and there is no bound on the training error as there is for two
    classes [Bach, §10.3.4].

    A round costs one fit and one prediction of the weak learner, and O(n log n) for the draw. A
    prediction costs that of all weak learners and O(n T log T) for the medians of T of them.

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    H. Drucker (1997). "Improving regressors using boosting techniques". *Proceedings of the 14th
    International Conference on Machine Learning*, 107-115.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_ensemble_theory import AdaBoostRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = AdaBoostRegressor(loss="square", random_state=0).fit(X[:350], y[:350])
    >>> print(f"{len(model.estimators_)} rounds, R² of {model.score(X[350:], y[350:]):.2f}")
    50 rounds, R² of 0.46
    """

    _sklearn_class = ensemble.AdaBoostRegressor

    def __init__(
        self,
        estimator: Any | None = None,
        *,
        n_estimators: int = 50,
        learning_rate: float = 1.0,
        loss: Literal["linear", "square", "exponential"] = "linear",
        random_state: int | np.random.RandomState | None = None,
        verbose: bool | int = 0,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.loss = loss
        self.random_state = random_state
        self.verbose = verbose
