"""Decision trees that are grown on binned columns."""

from numbers import Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from sklearn_ensemble_theory._compat import Interval, StrOptions, fit_context
from sklearn_ensemble_theory._typing import RandomStateLike
from sklearn_ensemble_theory._weak_learners import PreparedRounds, Task
from sklearn_ensemble_theory.trees._estimators.base import BaseBinnedTree
from sklearn_ensemble_theory.trees._estimators.class_rounds import class_rounds
from sklearn_ensemble_theory.trees._estimators.tree_predictions import ClassTreePredictions
from sklearn_ensemble_theory.trees._estimators.tree_rounds import BinnedTreeRounds

__all__ = ["BinnedTreeClassifier", "BinnedTreeRegressor"]


class BinnedTreeRegressor(BaseBinnedTree, DecisionTreeRegressor):
    """Regression tree whose columns are cut into bins before it is grown.

    The tree has the parameters, methods and attributes of scikit-learn's `DecisionTreeRegressor`
    and is grown in the same way [Breiman et al. 1984; Shah, §4.2], but it considers only the edges
    of the bins as thresholds. Where every column has at most `max_bins` distinct values, these are
    all thresholds. For large data it is several times as fast, above all as the weak learner of an
    ensemble, which cuts the columns into bins once for all its members.

    Parameters
    ----------
    max_bins : int, default=255
        The largest number of bins of a column, from 2 to 65,535. A column with no more distinct
        values gets a bin for each of them, any other one bins of about equal weight. Missing values
        have a bin of their own, which is not counted. Gradient boosting is fast for at most 255
        bins only: trees of more are fitted one by one.
    criterion : {"squared_error", "poisson"}, default="squared_error"
        What a split minimises: the squared error or half the mean Poisson deviance.
    splitter : {"best", "random"}, default="best"
        Whether a node is split at the best edge of the best feature, or at the best of cuts drawn
        at random, one for each feature. The codes of the bins are uniform at random between the
        smallest and the largest in the node.
    max_depth : int, default=None
        The largest depth. If None, nodes are split until they are pure or have fewer than
        `min_samples_split` rows.
    max_leaf_nodes : int, default=None
        If given, nodes are split in the order of their decrease of impurity until there are so many
        leaves.
    min_samples_split : int or float, default=2
        The number of rows, or the share of all rows, that a node needs to be split.
    min_samples_leaf : int or float, default=1
        The least number of rows, or share of all rows, in a leaf.
    min_weight_fraction_leaf : float, default=0.0
        The least share of the weight of all rows in a leaf.
    min_impurity_decrease : float, default=0.0
        A node is split if the impurity, weighted by the share of the rows in the node, decreases by
        at least this.
    max_features : int, float, {"sqrt", "log2"} or None, default=None
        The number or the share of the features that are drawn at each node, or the square root or
        the logarithm of their number. None considers all features.
    l2_regularization : float, default=0.0
        With criterion="squared_error", the value of a node is the sum of the residuals about the
        mean of y, divided by the weight of the node plus this number, and added to the mean.
    monotonic_cst : array-like of int of shape (n_features,), default=None
        1, -1 or 0 for predictions that increase, decrease or are free in a feature.
    ccp_alpha : float, default=0.0
        The complexity parameter of minimal cost-complexity pruning.
    random_state : int, RandomState instance or None, default=None
        Draws the features of `max_features` and the cuts of `splitter="random"`. Without these
        nothing is drawn with `None`; otherwise it decides between equally good splits.

    Attributes
    ----------
    tree_ : Tree
        The tree as scikit-learn's `Tree`, made when it is first asked for.
    max_features_ : int
        The number of features considered at each node.
    feature_importances_ : ndarray of shape (n_features,)
        The normalised decrease of impurity by each feature.
    n_outputs_ : int
        1.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of features seen during `fit`, where they are all strings.

    See Also
    --------
    BinnedTreeClassifier : The tree for classes.
    GradientBoostingRegressor : Boosting of regression trees.
    RandomForestRegressor : The average of randomised trees.

    Notes
    -----
    Binning takes O(n p log n) operations and each level of the tree O(n p). Values are read in
    single precision, as in scikit-learn. Missing values go to the side where the decrease of
    impurity is larger; in nodes that have seen none, to the side with more rows.

    Trees of ensembles are bound to the bins of all rows: edges do not move to where the data of a
    node are dense. With 255 bins this rarely changes the accuracy, except that of ensembles of full
    trees that draw features (`max_features`), for which forests use more bins. Every threshold is
    halfway between two neighbouring values of the training data.

    Integer weights are equivalent to repeating rows, except for `min_samples_split` and
    `min_samples_leaf`, which count rows.

    References
    ----------
    R. D. Shah. *Mathematics of Machine Learning*, lecture notes. University of Cambridge.

    L. Breiman, J. H. Friedman, R. A. Olshen and C. J. Stone (1984). *Classification and Regression
    Trees*. Wadsworth.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.tree import export_text
    >>> from sklearn_ensemble_theory import BinnedTreeRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> tree = BinnedTreeRegressor(max_depth=1).fit(X, y)
    >>> print(export_text(tree, feature_names=list(X.columns)))
    |--- s5 <= -0.00
    |   |--- value: [109.99]
    |--- s5 >  -0.00
    |   |--- value: [193.15]
    <BLANKLINE>
    """

    _parameter_constraints: ClassVar[dict] = {
        **DecisionTreeRegressor._parameter_constraints,
        **BaseBinnedTree._parameter_constraints,
        "criterion": [StrOptions({"squared_error", "poisson"})],
        "l2_regularization": [Interval(Real, 0.0, None, closed="left")],
    }

    def __init__(
        self,
        *,
        max_bins: int = 255,
        criterion: Literal["squared_error", "poisson"] = "squared_error",
        splitter: Literal["best", "random"] = "best",
        max_depth: int | None = None,
        max_leaf_nodes: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        min_impurity_decrease: float = 0.0,
        max_features: float | Literal["sqrt", "log2"] | None = None,
        l2_regularization: float = 0.0,
        monotonic_cst: ArrayLike | None = None,
        ccp_alpha: float = 0.0,
        random_state: RandomStateLike = None,
    ) -> None:
        super().__init__(
            criterion=criterion,
            splitter=splitter,
            max_depth=max_depth,
            max_leaf_nodes=max_leaf_nodes,
            min_samples_split=min_samples_split,
            min_samples_leaf=min_samples_leaf,
            min_weight_fraction_leaf=min_weight_fraction_leaf,
            min_impurity_decrease=min_impurity_decrease,
            max_features=max_features,
            monotonic_cst=monotonic_cst,
            ccp_alpha=ccp_alpha,
            random_state=random_state,
        )
        self.max_bins = max_bins
        self.l2_regularization = l2_regularization

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        check_input: bool = True,
    ) -> Self:
        """Grow the tree.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows. NaN is a missing value.
        y : array-like of shape (n_samples,)
            Targets; with criterion="poisson" non-negative and not all 0.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights. Rows of weight 0 are ignored.
        check_input : bool, default=True
            If False, X must be an array of floats and y one of float64, which are not checked.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If X has values too large for single precision, y has more than one column or values
            that the criterion does not allow, or parameters cannot be combined.
        """
        self._fit_to_bins(X, y, sample_weight, check_input)
        return self

    # What ensembles use beyond `fit` and `predict`; a subclass, which may override these, does not
    # inherit it.
    _reads_single_precision = True
    _sklearn_class = DecisionTreeRegressor
    _node_arrays = BaseBinnedTree._nodes

    def _prepare_members(
        self, X: np.ndarray, sample_weight: np.ndarray | None, n_jobs: int | None = 1
    ) -> Any:
        from sklearn_ensemble_theory.trees._estimators.binned_members import BinnedMembers

        return BinnedMembers(self, X, sample_weight, n_jobs)

    def _prepare_rounds(
        self, X: Any, weight: np.ndarray | None, task: Task
    ) -> PreparedRounds | None:
        return BinnedTreeRounds.of(self, X, weight, task)

    def _predict_validated(self, X: np.ndarray) -> np.ndarray:
        return self.tree_.predict(np.asarray(X, dtype=np.float32))[:, 0]


class BinnedTreeClassifier(ClassTreePredictions, BaseBinnedTree, DecisionTreeClassifier):
    """Classification tree whose columns are cut into bins before it is grown.

    The tree has the parameters, methods and attributes of scikit-learn's `DecisionTreeClassifier`
    and is grown in the same way [Breiman et al. 1984; Shah, §4.2], but it considers only the edges
    of the bins as thresholds. Where every column has at most `max_bins` distinct values, these are
    all thresholds. For large data it is several times as fast, above all as the weak learner of an
    ensemble, which cuts the columns into bins once for all its members.

    Parameters
    ----------
    max_bins : int, default=255
        The largest number of bins of a column, from 2 to 65,535. A column with no more distinct
        values gets a bin for each of them, any other one bins of about equal weight. Missing values
        have a bin of their own, which is not counted. Gradient boosting is fast for at most 255
        bins only: trees of more are fitted one by one.
    criterion : {"gini", "log_loss", "entropy"}, default="gini"
        The impurity that a split decreases: the Gini index or the entropy (two names).
    splitter : {"best", "random"}, default="best"
        Whether a node is split at the best edge of the best feature, or at the best of cuts drawn
        at random, one for each feature. The codes of the bins are uniform at random between the
        smallest and the largest in the node.
    max_depth : int, default=None
        The largest depth. If None, nodes are split until they are pure or have fewer than
        `min_samples_split` rows.
    max_leaf_nodes : int, default=None
        If given, nodes are split in the order of their decrease of impurity until there are so many
        leaves.
    min_samples_split : int or float, default=2
        The number of rows, or the share of all rows, that a node needs to be split.
    min_samples_leaf : int or float, default=1
        The least number of rows, or share of all rows, in a leaf.
    min_weight_fraction_leaf : float, default=0.0
        The least share of the weight of all rows in a leaf.
    min_impurity_decrease : float, default=0.0
        A node is split if the impurity, weighted by the share of the rows in the node, decreases by
        at least this.
    max_features : int, float, {"sqrt", "log2"} or None, default=None
        The number or the share of the features that are drawn at each node, or the square root or
        the logarithm of their number. None considers all features.
    monotonic_cst : array-like of int of shape (n_features,), default=None
        For two classes: 1, -1 or 0 for probabilities of the second class that increase, decrease or
        are free in a feature.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, multiplied with the sample weights. "balanced" weighs classes
        inversely to their numbers of rows.
    ccp_alpha : float, default=0.0
        The complexity parameter of minimal cost-complexity pruning.
    random_state : int, RandomState instance or None, default=None
        Draws the features of `max_features` and the cuts of `splitter="random"`. Without these
        nothing is drawn with `None`; otherwise it decides between equally good splits.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    n_classes_ : int
        The number of classes.
    tree_ : Tree
        The tree as scikit-learn's `Tree`, made when it is first asked for.
    max_features_ : int
        The number of features considered at each node.
    feature_importances_ : ndarray of shape (n_features,)
        The normalised decrease of impurity by each feature.
    n_outputs_ : int
        1.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of features seen during `fit`, where they are all strings.

    See Also
    --------
    BinnedTreeRegressor : The tree for real targets.
    AdaBoostClassifier : Boosting of classifiers.
    RandomForestClassifier : The average of randomised trees.

    Notes
    -----
    Binning takes O(n p log n) operations and each level of the tree O(n p). Values are read in
    single precision, as in scikit-learn. Missing values go to the side where the decrease of
    impurity is larger; in nodes that have seen none, to the side with more rows.

    `AdaBoostClassifier` cuts the columns into bins once for all rounds, unless features or cuts are
    drawn or classes are weighted.

    Integer weights are equivalent to repeating rows, except for `min_samples_split` and
    `min_samples_leaf`, which count rows.

    References
    ----------
    R. D. Shah. *Mathematics of Machine Learning*, lecture notes. University of Cambridge.

    L. Breiman, J. H. Friedman, R. A. Olshen and C. J. Stone (1984). *Classification and Regression
    Trees*. Wadsworth.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn_ensemble_theory import BinnedTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = BinnedTreeClassifier(max_leaf_nodes=3).fit(X, y)
    >>> int(tree.get_n_leaves()), float(tree.tree_.threshold[0].round(2))
    (3, 0.8)
    """

    _parameter_constraints: ClassVar[dict] = {
        **DecisionTreeClassifier._parameter_constraints,
        **BaseBinnedTree._parameter_constraints,
        "criterion": [StrOptions({"gini", "log_loss", "entropy"})],
    }

    def __init__(
        self,
        *,
        max_bins: int = 255,
        criterion: Literal["gini", "log_loss", "entropy"] = "gini",
        splitter: Literal["best", "random"] = "best",
        max_depth: int | None = None,
        max_leaf_nodes: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        min_impurity_decrease: float = 0.0,
        max_features: float | Literal["sqrt", "log2"] | None = None,
        monotonic_cst: ArrayLike | None = None,
        class_weight: dict | Literal["balanced"] | None = None,
        ccp_alpha: float = 0.0,
        random_state: RandomStateLike = None,
    ) -> None:
        super().__init__(
            criterion=criterion,
            splitter=splitter,
            max_depth=max_depth,
            max_leaf_nodes=max_leaf_nodes,
            min_samples_split=min_samples_split,
            min_samples_leaf=min_samples_leaf,
            min_weight_fraction_leaf=min_weight_fraction_leaf,
            min_impurity_decrease=min_impurity_decrease,
            max_features=max_features,
            monotonic_cst=monotonic_cst,
            class_weight=class_weight,
            ccp_alpha=ccp_alpha,
            random_state=random_state,
        )
        self.max_bins = max_bins

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        check_input: bool = True,
    ) -> Self:
        """Grow the tree.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows. NaN is a missing value.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights. Rows of weight 0 are ignored.
        check_input : bool, default=True
            If False, X must be an array of floats, which is not checked.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If X has values too large for single precision, y has more than one column, or
            parameters cannot be combined.
        """
        self._fit_to_bins(X, y, sample_weight, check_input)
        return self

    _reads_single_precision = True
    _sklearn_class = DecisionTreeClassifier
    _node_arrays = BaseBinnedTree._nodes

    def _prepare_members(
        self, X: np.ndarray, sample_weight: np.ndarray | None, n_jobs: int | None = 1
    ) -> Any:
        from sklearn_ensemble_theory.trees._estimators.binned_members import BinnedMembers

        return BinnedMembers(self, X, sample_weight, n_jobs)

    def _prepare_rounds(self, X: np.ndarray, weight: Any, task: Task) -> PreparedRounds | None:
        return class_rounds(self, X, weight, task)

    def _predict_validated(self, X: np.ndarray) -> np.ndarray:
        return self.classes_.take(self._predict_codes(X))

    def _predict_codes(self, X: np.ndarray) -> np.ndarray:
        return self.tree_.predict(np.asarray(X, dtype=np.float32)).argmax(axis=1)
