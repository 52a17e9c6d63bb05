"""Extremely randomised trees: forests whose cuts are drawn at random."""

from collections.abc import Callable
from typing import Literal

from sklearn import ensemble
from sklearn.tree import ExtraTreeClassifier, ExtraTreeRegressor

from sklearn_ensemble_theory._compat import StrOptions, regression_criterion, tree_constraints
from sklearn_ensemble_theory._typing import ArrayLike, RandomStateLike
from sklearn_ensemble_theory.averaging._bagging.mean_predictions import RegressorPredictionMixin
from sklearn_ensemble_theory.averaging._forest.base import SHARED_CONSTRAINTS, BaseForest
from sklearn_ensemble_theory.averaging._forest.class_targets import BaseForestClassifier


class ExtraTreesRegressor(RegressorPredictionMixin, BaseForest):
    """Extremely randomised trees for regression: the mean of trees whose cuts are drawn at random.

    Parameters
    ----------
    n_estimators : int or "pac", default=100
        Number of trees B; `"pac"` as in :class:`BaggingRegressor`.

    criterion : str, default="squared_error"
        Criterion of a split, as in :class:`~sklearn.tree.ExtraTreeRegressor`.

    max_depth : int, default=None
        Maximum depth of a tree; with `None` it is grown until its leaves are pure or smaller than
        `min_samples_split`.

    min_samples_split : int or float, default=2
        Minimum number of rows in a node that is split; a float is a fraction of all training rows.

    min_samples_leaf : int or float, default=1
        Minimum number of rows in a leaf; a float is a fraction of all training rows.

    min_weight_fraction_leaf : float, default=0.0
        Minimum weight of a leaf, as a fraction of a tree's total weight.

    max_features : {"sqrt", "log2"}, int, float or None, default=1.0
        Number of features drawn at each split, with one random cut each; a float is a fraction of
        all features, `None` is all of them. With 1 the structure of a tree depends on y only
        through its pure leaves.

    max_leaf_nodes : int, default=None
        Maximum number of leaves of a tree, which is then grown best first; `None` means no limit.

    min_impurity_decrease : float, default=0.0
        Minimum decrease of the impurity by a split.

    bootstrap : bool or str, default=False
        How the rows of a tree are drawn, as in :class:`BaggingRegressor`. With `False` and
        `max_samples=None` each tree is fitted to all rows, and there are neither out-of-bag scores
        nor standard errors.

    block_length : int, default=None
        Number of rows of a block with `bootstrap="moving_block"`; `None` is ceil(n^(1/3)).

    oob_score : bool or callable, default=False
        Whether to use out-of-bag rows to estimate the score; a callable is the metric,
        `metric(y_true, y_pred)`, instead of R².

    n_jobs : int, default=None
        Number of threads that fit trees. The model does not depend on it.

    random_state : int, RandomState instance or None, default=None
        Seed of the draws of rows and of features.

    verbose : int, default=0
        1 prints progress every few seconds, 2 after every tree.

    warm_start : bool, default=False
        Whether `fit` keeps the trees of the previous fit and adds trees up to `n_estimators`.

    ccp_alpha : float, default=0.0
        Complexity parameter of minimal cost-complexity pruning.

    max_samples : int or float, default=None
        Number s of rows drawn for each tree, as in :class:`BaggingRegressor`; a fraction may be
        above 1. With groups the number of groups.

    monotonic_cst : array-like of int of shape (n_features,), default=None
        1, -1 or 0 for each feature: the prediction increases in it, decreases in it or is not
        constrained.

    max_bins : int, "auto" or None, default="auto"
        Number of bins, 2 to 65,535, into which the columns of X are cut, once for all trees, which
        are then :class:`BinnedTreeRegressor` with cuts uniform over the bins of a node; in
        scikit-learn's exact trees, `None`, cuts are uniform over its values. `"auto"` is exact
        trees up to 10,000 rows, and 2047 bins above where X is dense, y has one output and the
        criterion is squared error or Poisson. A value of X takes four bytes as bins.

    delta : float, default=0.05
        Probability of failure in `n_estimators="pac"`.

    Attributes
    ----------
    estimator_ : ExtraTreeRegressor or BinnedTreeRegressor
        The tree that the members are clones of.

    estimators_ : list of the same
        The fitted trees.

    estimators_features_ : list of ndarray
        Indices of all columns, for each tree: features are drawn at the splits.

    estimators_samples_ : list of ndarray
        Indices of the rows drawn for each tree, repeated as often as drawn.

    n_outputs_ : int
        Number of targets.

    feature_importances_ : ndarray of shape (n_features_in_,)
        Mean decrease of impurity by each feature, of sum 1.

    n_features_in_ : int
        Number of features seen at `fit`.

    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X has feature names that are all strings.

    oob_score_ : float
        Out-of-bag score, on the rows that were not drawn for at least one tree.

    oob_scores_ : ndarray of shape (n_estimators,)
        Out-of-bag score of the first 1, 2, ... trees; NaN if it is not defined.

    oob_prediction_ : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        Mean prediction of the trees for which the row was not drawn; NaN if there is no such tree.

    See Also
    --------
    RandomForestRegressor : Forests of trees with the best cuts.
    ExtraTreesClassifier : The same for classification.

    Notes
    -----
    A node draws `max_features` features and one cut of each, uniform between its smallest and
    largest value in the node, and takes the best of these cuts [Geurts et al., 2006]. Compared with
    a random forest [Shah, §4.5] the trees are less correlated and their cuts do not follow the
    noise in y, and no column is sorted; the bias is larger where few of the features matter.

    The cost is about O(m_try n) for each level of each of the B trees, with m_try features at each
    split, and O(n p log n) once for bins. With the same `random_state` exact trees are those of
    scikit-learn's class (release 1.9). A `warm_start` computes the bins anew: the same for the same
    X. With `bootstrap=False`, `max_samples` draws rows without replacement.

    With squared error, y whose mean is more than 10^4 standard deviations away from 0 is centred
    before trees are grown, which scikit-learn's trees are not: they lose the digits of their
    squared errors there.

    References
    ----------
    R. D. Shah. *Mathematics of Machine Learning*, lecture notes. University of Cambridge.

    P. Geurts, D. Ernst and L. Wehenkel (2006). "Extremely randomized trees". *Machine Learning* 63.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_ensemble_theory import ExtraTreesRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> trees = ExtraTreesRegressor(200, max_features=0.3, min_samples_leaf=5, random_state=0)
    >>> print(f"R² on new rows: {trees.fit(X[:350], y[:350]).score(X[350:], y[350:]):.2f}")
    R² on new rows: 0.50
    """

    _random_cuts = True
    _sklearn_class = ensemble.ExtraTreesRegressor
    _tree_class = ExtraTreeRegressor

    _parameter_constraints: dict = {
        **SHARED_CONSTRAINTS,
        **tree_constraints(ExtraTreeRegressor),
    }

    def __init__(
        self,
        n_estimators: int | Literal["pac"] = 100,
        *,
        criterion: str = "squared_error",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Literal["sqrt", "log2"] | int | float | None = 1.0,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool | str = False,
        block_length: int | None = None,
        oob_score: bool | Callable[..., float] = False,
        n_jobs: int | None = None,
        random_state: RandomStateLike = None,
        verbose: int = 0,
        warm_start: bool = False,
        ccp_alpha: float = 0.0,
        max_samples: int | float | None = None,
        monotonic_cst: ArrayLike | None = None,
        max_bins: int | Literal["auto"] | None = "auto",
        delta: float = 0.05,
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = regression_criterion(criterion)
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.bootstrap = bootstrap
        self.block_length = block_length
        self.oob_score = oob_score
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.ccp_alpha = ccp_alpha
        self.max_samples = max_samples
        self.monotonic_cst = monotonic_cst
        self.max_bins = max_bins
        self.delta = delta


class ExtraTreesClassifier(BaseForestClassifier):
    """Extremely randomised trees for classification: the mean of trees with cuts drawn at random.

    Parameters
    ----------
    n_estimators : int or "pac", default=100
        Number of trees B; `"pac"` as in :class:`BaggingClassifier`.

    criterion : str, default="gini"
        Criterion of a split, as in :class:`~sklearn.tree.ExtraTreeClassifier`.

    max_depth : int, default=None
        Maximum depth of a tree; with `None` it is grown until its leaves are pure or smaller than
        `min_samples_split`.

    min_samples_split : int or float, default=2
        Minimum number of rows in a node that is split; a float is a fraction of all training rows.

    min_samples_leaf : int or float, default=1
        Minimum number of rows in a leaf; a float is a fraction of all training rows.

    min_weight_fraction_leaf : float, default=0.0
        Minimum weight of a leaf, as a fraction of a tree's total weight.

    max_features : {"sqrt", "log2"}, int, float or None, default="sqrt"
        Number of features drawn at each split, with one random cut each; a float is a fraction of
        all features, `None` is all of them. With 1 the structure of a tree depends on y only
        through its pure leaves.

    max_leaf_nodes : int, default=None
        Maximum number of leaves of a tree, which is then grown best first; `None` means no limit.

    min_impurity_decrease : float, default=0.0
        Minimum decrease of the impurity by a split.

    bootstrap : bool or str, default=False
        How the rows of a tree are drawn, as in :class:`BaggingClassifier`. With `False` and
        `max_samples=None` each tree is fitted to all rows, and there are neither out-of-bag scores
        nor standard errors.

    block_length : int, default=None
        Number of rows of a block with `bootstrap="moving_block"`; `None` is ceil(n^(1/3)).

    oob_score : bool or callable, default=False
        Whether to use out-of-bag rows to estimate the score; a callable is the metric,
        `metric(y_true, y_pred)`, instead of accuracy.

    n_jobs : int, default=None
        Number of threads that fit trees. The model does not depend on it.

    random_state : int, RandomState instance or None, default=None
        Seed of the draws of rows and of features.

    verbose : int, default=0
        1 prints progress every few seconds, 2 after every tree.

    warm_start : bool, default=False
        Whether `fit` keeps the trees of the previous fit and adds trees up to `n_estimators`.

    class_weight : {"balanced", "balanced_subsample"}, dict or list of dict, default=None
        Weights of the classes, by which `sample_weight` is multiplied. A dict contains the weight
        of each label. `"balanced"` gives all classes the same total weight over all rows,
        `"balanced_subsample"` over the rows drawn for each tree. With `None` no class weights are
        used. For several outputs, a list of a dict for each; their weights are multiplied.

    ccp_alpha : float, default=0.0
        Complexity parameter of minimal cost-complexity pruning.

    max_samples : int or float, default=None
        Number s of rows drawn for each tree, as in :class:`BaggingClassifier`; a fraction may be
        above 1. With groups the number of groups.

    monotonic_cst : array-like of int of shape (n_features,), default=None
        1, -1 or 0 for each feature: the prediction increases in it, decreases in it or is not
        constrained.

    voting : {"soft", "hard"}, default="soft"
        `"soft"` averages the probabilities of the trees; `"hard"` is the majority vote.

    max_bins : int, "auto" or None, default="auto"
        Number of bins, 2 to 65,535, into which the columns of X are cut, once for all trees, which
        are then :class:`BinnedTreeClassifier` with cuts uniform over the bins of a node; in
        scikit-learn's exact trees, `None`, cuts are uniform over its values. `"auto"` is exact
        trees up to 10,000 rows, and 2047 bins above where X is dense and y has one output. A value
        of X takes four bytes as bins.

    delta : float, default=0.05
        Probability of failure in `n_estimators="pac"`.

    Attributes
    ----------
    estimator_ : ExtraTreeClassifier or BinnedTreeClassifier
        The tree that the members are clones of.

    estimators_ : list of the same
        The fitted trees.

    estimators_features_ : list of ndarray
        Indices of all columns, for each tree: features are drawn at the splits.

    estimators_samples_ : list of ndarray
        Indices of the rows drawn for each tree, repeated as often as drawn.

    classes_ : ndarray of shape (n_classes,) or list of such arrays
        The labels, sorted; a list of those of each output where y has several.

    n_classes_ : int or list of int
        Number of classes.

    n_outputs_ : int
        Number of targets.

    feature_importances_ : ndarray of shape (n_features_in_,)
        Mean decrease of impurity by each feature, of sum 1.

    n_features_in_ : int
        Number of features seen at `fit`.

    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X has feature names that are all strings.

    oob_score_ : float
        Out-of-bag score, on the rows that were not drawn for at least one tree.

    oob_scores_ : ndarray of shape (n_estimators,)
        Out-of-bag score of the first 1, 2, ... trees; NaN if it is not defined.

    oob_decision_function_ : ndarray of shape (n_samples, n_classes[, n_outputs])
        Mean prediction of the trees for which the row was not drawn; NaN if there is no such tree.

    See Also
    --------
    RandomForestClassifier : Forests of trees with the best cuts.
    ExtraTreesRegressor : The same for regression, with notes on the method.

    Notes
    -----
    The method is that of :class:`ExtraTreesRegressor` [Geurts et al., 2006], the mean of trees as
    in a random forest [Shah, §4.5]. The cost is about O(m_try n) for each level of each tree, and
    O(n p log n) once for bins. With the same `random_state` exact trees are those of scikit-learn's
    class (release 1.9).

    References
    ----------
    R. D. Shah. *Mathematics of Machine Learning*, lecture notes. University of Cambridge.

    P. Geurts, D. Ernst and L. Wehenkel (2006). "Extremely randomized trees". *Machine Learning* 63.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_ensemble_theory import ExtraTreesClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> trees = ExtraTreesClassifier(200, bootstrap=True, oob_score=True, random_state=0)
    >>> print(f"out-of-bag accuracy {trees.fit(X, y).oob_score_:.3f}")
    out-of-bag accuracy 0.963
    """

    _random_cuts = True
    _sklearn_class = ensemble.ExtraTreesClassifier
    _tree_class = ExtraTreeClassifier

    _parameter_constraints: dict = {
        **SHARED_CONSTRAINTS,
        **tree_constraints(ExtraTreeClassifier),
        "class_weight": [StrOptions({"balanced", "balanced_subsample"}), dict, list, None],
        "voting": [StrOptions({"soft", "hard"})],
    }

    def __init__(
        self,
        n_estimators: int | Literal["pac"] = 100,
        *,
        criterion: str = "gini",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Literal["sqrt", "log2"] | int | float | None = "sqrt",
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool | str = False,
        block_length: int | None = None,
        oob_score: bool | Callable[..., float] = False,
        n_jobs: int | None = None,
        random_state: RandomStateLike = None,
        verbose: int = 0,
        warm_start: bool = False,
        class_weight: Literal["balanced", "balanced_subsample"] | dict | list[dict] | None = None,
        ccp_alpha: float = 0.0,
        max_samples: int | float | None = None,
        monotonic_cst: ArrayLike | None = None,
        voting: Literal["soft", "hard"] = "soft",
        max_bins: int | Literal["auto"] | None = "auto",
        delta: float = 0.05,
    ) -> None:
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
        self.block_length = block_length
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
        self.max_bins = max_bins
        self.delta = delta
