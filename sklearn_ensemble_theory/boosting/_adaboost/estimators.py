"""The public AdaBoost estimator [Bach, §10.3.4]."""

from sklearn_ensemble_theory.boosting._adaboost.base import BaseAdaBoost


class AdaBoostClassifier(BaseAdaBoost):
    """AdaBoost with exact stumps, or any classifier, in three algorithms.

    Each round fits a weak learner to the rows under weights proportional to exp(-margin) and adds
    it with the coefficient that minimises the exponential risk. A drop-in for
    :class:`sklearn.ensemble.AdaBoostClassifier`, whose parameters and attributes keep their
    meaning; the default weak learner differs: the stump with the least weighted error instead of
    the tree of depth one with the least Gini index.

    Parameters
    ----------
    estimator : object, default=None
        The weak learner; its `fit` must take `sample_weight`. None is
        ``DecisionStumpClassifier()``, sorted once for all rounds; with
        ``DecisionStumpClassifier(max_bins=255)`` binned once. A classifier for
        ``algorithm="discrete"``, one with `predict_proba` for ``"real"``, a regressor (of -1 and
        +1) for ``"gentle"``; stumps serve all three.

    n_estimators : int, default=50
        The largest number of rounds.

    learning_rate : float, default=1.0
        Each coefficient is multiplied by it.

    algorithm : {"discrete", "real", "gentle"}, default="discrete"
        - ``"discrete"``: learners vote, with the exact line search
          alpha = log((1 - eps) / eps) (001, 003 section 4.2, 000 section 10.3.4); for K > 2
          classes SAMME, alpha + log(K - 1).
        - ``"real"``: confidence-rated stumps that minimise Z = 2 sum sqrt(W+ W-) and answer half
          the log-odds of each side (Schapire and Singer 1999); two classes.
        - ``"gentle"``: least squares to -1 and +1, Newton steps of the exponential loss
          (Friedman, Hastie and Tibshirani 2000); two classes. The least sensitive to wrong labels.

    random_state : int, RandomState instance or None, default=None
        Seeds the weak learners that have a `random_state`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_classes_ : int
    estimator_ : estimator
        The weak learner that was cloned in each round.
    estimators_ : list of estimators
        One a round; fitted stumps are `DecisionStumpClassifier` (discrete) or
        `DecisionStumpRegressor` (real, gentle).
    estimator_weights_ : ndarray of shape (n_rounds,)
        Coefficients alpha_t in scikit-learn's scale (twice the b_t of the literature for two
        classes); the learning rate for real and gentle.
    estimator_errors_ : ndarray of shape (n_rounds,)
        eps_t: error under the weights of the round.
    edges_ : ndarray of shape (n_rounds,)
        gamma_t = 1/2 - eps_t.
    training_error_bounds_ : ndarray of shape (n_rounds,)
        The exponential risk F(u_t) after each round, at least the (weighted) training error for
        two classes. For ``"discrete"`` with ``learning_rate=1`` it is the running product of
        2 sqrt(eps_t (1 - eps_t)) of theorem En.4 of 001.
    stop_reason_ : {"n_estimators", "perfect", "no edge"}
        Why there were no more rounds. ``"perfect"``: a learner without any error, which then
        decides alone. ``"no edge"``: no learner better than guessing; the earlier ones are kept.
    feature_importances_ : ndarray of shape (n_features,)
        Mean of the learners' importances, by their coefficients.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    Notes
    -----
    Weights are kept as logarithms: no number of rounds makes them overflow or all vanish. Rows of
    weight 0 are left out before anything else.

    With stumps O(n p log n) once and O(n p) a round at most; a prediction is O(n_rounds) a row.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_ensemble_theory import AdaBoostClassifier
    >>> X = np.arange(9.0)[:, None]  # an interval on the line: no stump has it, three have
    >>> y = np.array([0, 0, 0, 1, 1, 1, 0, 0, 0])
    >>> model = AdaBoostClassifier(n_estimators=3).fit(X, y)
    >>> model.score(X, y)
    1.0
    >>> model.edges_.round(3)
    array([0.167, 0.25 , 0.333])
    """

    def __init__(
        self,
        estimator=None,
        *,
        n_estimators=50,
        learning_rate=1.0,
        algorithm="discrete",
        random_state=None,
    ):
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.algorithm = algorithm
        self.random_state = random_state
