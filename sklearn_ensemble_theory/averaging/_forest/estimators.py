"""Random forests [000, section 10.2, "Random forests"; 003, section 4.5]."""

from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import compute_sample_weight

from sklearn_ensemble_theory._compat import StrOptions, tree_constraints
from sklearn_ensemble_theory.averaging._bagging.members import balanced_weights
from sklearn_ensemble_theory.averaging._bagging.predictions import (
    ClassifierAnswers,
    RegressorAnswers,
)
from sklearn_ensemble_theory.averaging._forest.base import (
    SHARED_CONSTRAINTS,
    BaseForest,
)

__all__ = ["RandomForestClassifier", "RandomForestRegressor"]


class RandomForestRegressor(RegressorAnswers, BaseForest):
    """Random forest for regression: the mean of trees on bootstrapped rows.

    Parameters
    ----------
    n_estimators : int or "pac", default=100
        Number of trees B; `"pac"` as in :class:`BaggingRegressor`.

    criterion : str, default="squared_error"
        What a split improves, as in :class:`~sklearn.tree.DecisionTreeRegressor`.

    max_depth : int, default=None
        Depth at which a tree stops; `None` grows until leaves are pure or small.

    min_samples_split : int or float, default=2
        Rows that a node needs to be split; a float is a fraction of all training rows.

    min_samples_leaf : int or float, default=1
        Rows that a leaf needs; a float is a fraction of all training rows.

    min_weight_fraction_leaf : float, default=0.0
        Fraction of a tree's total weight that a leaf needs.

    max_features : {"sqrt", "log2"}, int, float or None, default=1.0
        Features drawn at each split (m_try in [003]): fewer make the trees less alike (smaller
        rho) and each of them worse.

    max_leaf_nodes : int, default=None
        Leaves of a tree, grown best first; `None` does not bound them.

    min_impurity_decrease : float, default=0.0
        Decrease of impurity that a split needs.

    bootstrap : bool or {"bernoulli", "bayesian", "poisson"}, default=True
        How a tree draws its rows, as in :class:`BaggingRegressor`. With `False` and no
        `max_samples` each tree sees all rows.

    oob_score : bool or callable, default=False
        Whether to score the forest on the rows that each tree has not seen; a callable is the
        metric, `metric(y_true, y_pred)`, in place of R².

    n_jobs : int, default=None
        Trees grown at once, in threads. The model does not depend on it.

    random_state : int, RandomState instance or None, default=None
        Seeds the draws of rows and of features.

    verbose : int, default=0
        1 reports progress every few seconds on standard error, 2 after every tree.

    warm_start : bool, default=False
        Whether `fit` keeps the trees that it has and adds the missing ones.

    ccp_alpha : float, default=0.0
        Cost of a leaf in minimal cost-complexity pruning.

    max_samples : int or float, default=None
        Rows s that a tree draws, as in :class:`BaggingRegressor`.

    monotonic_cst : array-like of int of shape (n_features,), default=None
        1, -1 or 0: the prediction rises, falls or is free in the feature.

    delta : float, default=0.05
        Probability of failure in `n_estimators="pac"`.

    Attributes
    ----------
    estimator_ : DecisionTreeRegressor
        The tree that the members are clones of.

    estimators_ : list of DecisionTreeRegressor
        The fitted trees.

    estimators_features_ : list of ndarray
        All columns for each tree: features are drawn at the splits.

    estimators_samples_ : list of ndarray
        The rows drawn for each tree, repeated as often as drawn.

    n_outputs_ : int
        Number of targets.

    feature_importances_ : ndarray of shape (n_features_in_,)
        Mean decrease of impurity by each feature, of sum 1.

    n_features_in_ : int
        Number of features seen at `fit`.

    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where X has names that are all strings.

    oob_score_ : float
        Out-of-bag score, of the rows that some tree has not seen.

    oob_scores_ : ndarray of shape (n_estimators,)
        The same after 1, 2, ... trees; NaN before any row has been left out.

    oob_prediction_ : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        Mean answer of the trees that have not seen the row; NaN if all have.

    See Also
    --------
    BaggingRegressor : The same for any base learner.
    RandomForestClassifier : The same for classification.

    Notes
    -----
    Cost: B trees, each about O(m_try s' log² s') for s' distinct rows; the draw O(s log s). With
    the same `random_state` the trees are those of scikit-learn's class (release 1.9), grown from
    the distinct rows with their counts. `standard_error` and `variance_decomposition` say how sure
    the forest is.

    References
    ----------
    .. [1] [000] section 10.2, "Random forests"; [003] section 4.5: the mean of B trees of variance
       sigma² and correlation rho has variance rho sigma² + (1 - rho) sigma² / B.
    .. [2] L. Breiman, "Random forests", Machine Learning 45, 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_ensemble_theory import RandomForestRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = RandomForestRegressor(300, max_features=0.3, min_samples_leaf=5, random_state=0)
    >>> parts = forest.fit(X[:400], y[:400]).variance_decomposition(X[400:])
    >>> print(f"correlation of two trees: {parts.rho.mean():.2f}")
    correlation of two trees: 0.07
    """

    _tree_class = DecisionTreeRegressor

    _parameter_constraints: dict = {
        **SHARED_CONSTRAINTS,
        **tree_constraints(DecisionTreeRegressor),
    }

    def __init__(
        self,
        n_estimators=100,
        *,
        criterion="squared_error",
        max_depth=None,
        min_samples_split=2,
        min_samples_leaf=1,
        min_weight_fraction_leaf=0.0,
        max_features=1.0,
        max_leaf_nodes=None,
        min_impurity_decrease=0.0,
        bootstrap=True,
        oob_score=False,
        n_jobs=None,
        random_state=None,
        verbose=0,
        warm_start=False,
        ccp_alpha=0.0,
        max_samples=None,
        monotonic_cst=None,
        delta=0.05,
    ):
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.ccp_alpha = ccp_alpha
        self.max_samples = max_samples
        self.monotonic_cst = monotonic_cst
        self.delta = delta


class RandomForestClassifier(ClassifierAnswers, BaseForest):
    """Random forest for classification: trees on bootstrapped rows, averaged.

    Parameters
    ----------
    n_estimators : int or "pac", default=100
        Number of trees B; `"pac"` as in :class:`BaggingClassifier`.

    criterion : str, default="gini"
        What a split improves, as in :class:`~sklearn.tree.DecisionTreeClassifier`.

    max_depth : int, default=None
        Depth at which a tree stops; `None` grows until leaves are pure or small.

    min_samples_split : int or float, default=2
        Rows that a node needs to be split; a float is a fraction of all training rows.

    min_samples_leaf : int or float, default=1
        Rows that a leaf needs; a float is a fraction of all training rows.

    min_weight_fraction_leaf : float, default=0.0
        Fraction of a tree's total weight that a leaf needs.

    max_features : {"sqrt", "log2"}, int, float or None, default="sqrt"
        Features drawn at each split (m_try in [003]): fewer make the trees less alike (smaller
        rho) and each of them worse.

    max_leaf_nodes : int, default=None
        Leaves of a tree, grown best first; `None` does not bound them.

    min_impurity_decrease : float, default=0.0
        Decrease of impurity that a split needs.

    bootstrap : bool or {"bernoulli", "bayesian", "poisson"}, default=True
        How a tree draws its rows, as in :class:`BaggingClassifier`. With `False` and no
        `max_samples` each tree sees all rows.

    oob_score : bool or callable, default=False
        Whether to score the forest on the rows that each tree has not seen; a callable is the
        metric, `metric(y_true, y_pred)`, in place of accuracy.

    n_jobs : int, default=None
        Trees grown at once, in threads. The model does not depend on it.

    random_state : int, RandomState instance or None, default=None
        Seeds the draws of rows and of features.

    verbose : int, default=0
        1 reports progress every few seconds on standard error, 2 after every tree.

    warm_start : bool, default=False
        Whether `fit` keeps the trees that it has and adds the missing ones.

    class_weight : {"balanced", "balanced_subsample"} or dict, default=None
        Weights of the classes, multiplied into `sample_weight`: a dict of weights by label, or
        such that all classes weigh the same, in all rows or in those that each tree draws.

    ccp_alpha : float, default=0.0
        Cost of a leaf in minimal cost-complexity pruning.

    max_samples : int or float, default=None
        Rows s that a tree draws, as in :class:`BaggingClassifier`.

    monotonic_cst : array-like of int of shape (n_features,), default=None
        1, -1 or 0: the prediction rises, falls or is free in the feature.

    voting : {"soft", "hard"}, default="soft"
        Whether the trees' probabilities are averaged or the trees vote.

    delta : float, default=0.05
        Probability of failure in `n_estimators="pac"`.

    Attributes
    ----------
    estimator_ : DecisionTreeClassifier
        The tree that the members are clones of.

    estimators_ : list of DecisionTreeClassifier
        The fitted trees.

    estimators_features_ : list of ndarray
        All columns for each tree: features are drawn at the splits.

    estimators_samples_ : list of ndarray
        The rows drawn for each tree, repeated as often as drawn.

    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.

    n_classes_ : int
        Their number.

    feature_importances_ : ndarray of shape (n_features_in_,)
        Mean decrease of impurity by each feature, of sum 1.

    n_features_in_ : int
        Number of features seen at `fit`.

    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where X has names that are all strings.

    oob_score_ : float
        Out-of-bag score, of the rows that some tree has not seen.

    oob_scores_ : ndarray of shape (n_estimators,)
        The same after 1, 2, ... trees; NaN before any row has been left out.

    oob_decision_function_ : ndarray of shape (n_samples, n_classes)
        Mean answer of the trees that have not seen the row; NaN if all have.

    See Also
    --------
    BaggingClassifier : The same for any base learner.
    RandomForestRegressor : The same for regression.

    Notes
    -----
    Cost: B trees, each about O(m_try s' log² s') for s' distinct rows; the draw O(s log s). With
    the same `random_state` the trees are those of scikit-learn's class (release 1.9), grown from
    the distinct rows with their counts. `standard_error` and `variance_decomposition` say how sure
    the forest is.

    References
    ----------
    .. [1] [000] section 10.2, "Random forests"; [003] section 4.5: the mean of B trees of variance
       sigma² and correlation rho has variance rho sigma² + (1 - rho) sigma² / B.
    .. [2] L. Breiman, "Random forests", Machine Learning 45, 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_ensemble_theory import RandomForestClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> forest = RandomForestClassifier(200, oob_score=True, random_state=0).fit(X, y)
    >>> print(f"out-of-bag accuracy {forest.oob_score_:.3f}")
    out-of-bag accuracy 0.965
    """

    _tree_class = DecisionTreeClassifier

    _parameter_constraints: dict = {
        **SHARED_CONSTRAINTS,
        **tree_constraints(DecisionTreeClassifier),
        "class_weight": [StrOptions({"balanced", "balanced_subsample"}), dict, None],
        "voting": [StrOptions({"soft", "hard"})],
    }

    def __init__(
        self,
        n_estimators=100,
        *,
        criterion="gini",
        max_depth=None,
        min_samples_split=2,
        min_samples_leaf=1,
        min_weight_fraction_leaf=0.0,
        max_features="sqrt",
        max_leaf_nodes=None,
        min_impurity_decrease=0.0,
        bootstrap=True,
        oob_score=False,
        n_jobs=None,
        random_state=None,
        verbose=0,
        warm_start=False,
        class_weight=None,
        ccp_alpha=0.0,
        max_samples=None,
        monotonic_cst=None,
        voting="soft",
        delta=0.05,
    ):
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.class_weight = class_weight
        self.ccp_alpha = ccp_alpha
        self.max_samples = max_samples
        self.monotonic_cst = monotonic_cst
        self.voting = voting
        self.delta = delta

    def _class_weights(self, y, sample_weight, classes):
        if self.class_weight is None:
            return None
        if isinstance(self.class_weight, dict):
            return compute_sample_weight(self.class_weight, classes)[y]
        draws = self.bootstrap is not False or self.max_samples is not None
        if self.class_weight == "balanced_subsample" and draws:
            return None  # each tree's own rows are weighted, in `fit_member`
        return balanced_weights(y, sample_weight, len(classes))
