"""Random forests and extremely randomised trees [Bach, §10.2; Shah, §4.5].

Bagging of trees that draw features, and extremely randomised ones cuts, at every split.
"""

import math
from collections.abc import Callable
from numbers import Integral
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._categories import (
    MOST_DENSE_VALUES,
    fitted_categories,
    fitted_encoder,
)
from sklearn_ensemble_theory._compat import (
    Interval,
    RealNotInt,
    StrOptions,
    tree_constraints,
)
from sklearn_ensemble_theory._features import Features, is_frame
from sklearn_ensemble_theory._rows import LabelTotals
from sklearn_ensemble_theory._running import warn_user
from sklearn_ensemble_theory._typing import (
    ArrayLike,
    InteractionGroups,
    MatrixLike,
    RandomStateLike,
)
from sklearn_ensemble_theory.averaging._averages import (
    BaggedClassifier,
    BaggedRegressor,
    first_codes,
    staged_mean_proba,
)
from sklearn_ensemble_theory.averaging._bagging import BaseBagging
from sklearn_ensemble_theory.averaging._members import AUTO_BINS, balanced_weights, can_be_binned
from sklearn_ensemble_theory.averaging._sampling import AllRows, SamplingScheme
from sklearn_ensemble_theory.ensembles._members import member_input
from sklearn_ensemble_theory.trees._binned_tree import (
    BaseBinnedTree,
    BinnedTreeRegressor,
    binned_equivalent,
)
from sklearn_ensemble_theory.trees._columns import MISSING
from sklearn_ensemble_theory.trees._options import (
    check_no_constraint,
    check_no_quantiles,
    check_no_signs,
)

# Parameters that are passed to every tree as they are.
TREE_PARAMETERS = (
    "criterion",
    "max_depth",
    "min_samples_split",
    "min_samples_leaf",
    "min_weight_fraction_leaf",
    "max_features",
    "max_leaf_nodes",
    "min_impurity_decrease",
    "ccp_alpha",
    "monotonic_cst",
)
SHARED_CONSTRAINTS = {
    name: constraint
    for name, constraint in BaseBagging._parameter_constraints.items()
    if name not in ("estimator", "max_features", "bootstrap_features")
}
# Unlike bagging, forests draw more rows than there are by a fraction above 1.
SHARED_CONSTRAINTS |= {
    name: BinnedTreeRegressor._parameter_constraints[name]
    for name in ("categorical_features", "cat_smooth", "interaction_cst")
}
SHARED_CONSTRAINTS["max_samples"] = [
    None,
    StrOptions({"stable"}),
    Interval(Integral, 1, None, closed="left"),
    Interval(RealNotInt, 0, None, closed="neither"),
]
SHARED_CONSTRAINTS["honesty"] = ["boolean", Interval(RealNotInt, 0, 1, closed="neither")]
QUANTILE_CONSTRAINTS = {
    "criterion": [
        *tree_constraints(DecisionTreeRegressor)["criterion"],
        StrOptions({"quantile"}),
    ],
    "quantile": BinnedTreeRegressor._parameter_constraints["quantile"],
}
CLASSIFIER_CONSTRAINTS = {
    "class_weight": [StrOptions({"balanced", "balanced_subsample"}), dict, list, None],
    "voting": [StrOptions({"soft", "hard"})],
    "ties": [StrOptions({"first", "last"})],
}


def regression_criterion(criterion: str) -> str:
    """The criterion of a regression tree; scikit-learn 1.9 replaces "friedman_mse" by its equal."""
    known = DecisionTreeRegressor._parameter_constraints["criterion"][0].options
    if not isinstance(criterion, str) or criterion != "friedman_mse" or criterion in known:
        return criterion
    warn_user(
        'criterion="friedman_mse" is deprecated and the same as "squared_error", which is used '
        "instead; scikit-learn 1.11 removes it.",
        FutureWarning,
    )
    return "squared_error"


# Of the regressors: whether several targets can be fitted with these parameters.
has_several_outputs = property(lambda forest: forest.criterion != "quantile")


class BaseForest(BaseBagging):
    """Base of the forests; not for direct use."""

    _tree_class: type[BaseEstimator]
    categorical_features: Any
    cat_smooth: float
    interaction_cst: Any
    honesty: bool | float
    _weighs_its_trees = True  # "balanced_subsample" is by the rows of a tree
    _validation: ClassVar[dict] = {"accept_sparse": "csr", "ensure_all_finite": False}

    @property
    def estimator(self) -> BaseEstimator:
        """The unfitted tree with the parameters of the forest; not a parameter itself."""
        return self._get_estimator()

    def _get_estimator(self) -> BaseEstimator:
        parameters = {name: getattr(self, name) for name in TREE_PARAMETERS}
        if self.criterion != "quantile":
            return self._tree_class(**parameters)
        # scikit-learn's trees have no quantiles: one of ours in bins from the start.
        splitter = self._tree_class().splitter
        n_bins: Any = self.max_bins if isinstance(self.max_bins, Integral) else AUTO_BINS
        return BinnedTreeRegressor(
            max_bins=n_bins, splitter=splitter, quantile=self.quantile, **parameters
        )

    def _prepared(self, estimator, scheme, X, y, target, **options):
        features = Features.known_to(self, X.shape[1])
        signs = features.signs(self.monotonic_cst, np.max(target.get("n_classes_", 0)))
        estimator.set_params(monotonic_cst=signs)
        encoder = fitted_encoder(self)
        is_binned = encoder is not None
        if is_binned and sp.issparse(X) and np.prod(X.shape) <= MOST_DENSE_VALUES:
            X = X.toarray()
        if self.criterion == "quantile":
            is_binned = True
            check_no_signs(self.criterion, signs)
            if self.max_bins is None:
                raise ValueError("criterion='quantile' requires max_bins other than None.")
            if not can_be_binned(X, y):
                raise ValueError(
                    "criterion='quantile' requires a dense X of numbers, not a sparse one, and a "
                    "single output."
                )
        if encoder is not None:
            check_no_constraint(features, signs, encoder.flags)
            if y.ndim > 1 and self.max_bins == "auto":  # the most of trees of several targets
                estimator.set_params(max_bins=MISSING)
        if features.interactions(self.interaction_cst) is not None:
            estimator, is_binned = self._for_interactions(estimator, X, y), True
        return super()._prepared(estimator, scheme, X, y, target, is_binned=is_binned, **options)

    def _for_categories(self, estimator: BaseEstimator, X: Any) -> BaseEstimator:
        """The tree in bins, where X has categorical columns."""
        given, features = self.categorical_features, Features.of(X)
        by_dtype = isinstance(given, str) and given == "from_dtype"
        if by_dtype and (self.max_bins is None or not is_frame(X)):
            return estimator  # categories that are numbers are taken as these
        if not is_frame(X) and given is not None:
            features = Features(np.shape(X)[1] if np.ndim(X) == 2 else 0)
        if not features.n or not features.flags(given, X).any():
            return estimator
        check_no_quantiles(self.criterion)
        n_bins = AUTO_BINS if self.max_bins == "auto" else self.max_bins
        binned = None if n_bins is None else binned_equivalent(estimator, n_bins, True)
        if binned is None or estimator.ccp_alpha > 0:
            raise ValueError(
                "categorical_features requires trees in bins: max_bins must not be None, ccp_alpha "
                f"must be 0, and criterion={self.criterion!r} one of binned trees."
            )
        return binned.set_params(categorical_features=given, cat_smooth=self.cat_smooth)

    def _for_interactions(self, estimator: Any, X: Any, y: np.ndarray) -> Any:
        """The tree in bins, under interaction constraints."""
        n_bins = AUTO_BINS if self.max_bins == "auto" else self.max_bins
        is_binned = isinstance(estimator, BaseBinnedTree)
        if not is_binned:
            estimator = None if n_bins is None else binned_equivalent(estimator, n_bins, True)
        if estimator is None or sp.issparse(X) or np.ndim(y) > 1:
            raise ValueError(
                "interaction_cst requires trees in bins: max_bins must not be None, "
                f"criterion={self.criterion!r} one of binned trees, X dense and y of one output."
            )
        return estimator.set_params(interaction_cst=self.interaction_cst)

    def _scheme_class(self) -> type[SamplingScheme]:
        """As in scikit-learn's forests, `bootstrap=False` without `max_samples` is all rows."""
        if not self.bootstrap and self.max_samples is None:
            return AllRows
        return super()._scheme_class()

    def _balances_each_tree(self) -> bool:
        """Whether the rows of each tree are balanced by themselves."""
        weights = getattr(self, "class_weight", None)
        is_by_tree = isinstance(weights, str) and weights == "balanced_subsample"
        return is_by_tree and self._scheme_class().is_random

    def _weights_of_rows(
        self, y: np.ndarray, sample_weight: np.ndarray | None, classes, grouped: bool
    ) -> np.ndarray | None:
        """The sample weights times those of the classes."""
        given = getattr(self, "class_weight", None)
        if given is None:
            return sample_weight
        if isinstance(given, str):
            if self.warm_start:
                warn_user(
                    f"class_weight={given!r} with warm_start=True: the weights of the "
                    "classes are those of the rows of each fit. Where these are not all rows, give "
                    "the weights as a dict."
                )
            if self._balances_each_tree():
                return sample_weight
            weight = balanced_weights(y, sample_weight)
        else:
            # A dict for each output; the weights of a row are multiplied over its outputs.
            outputs = classes if isinstance(classes, list) else [classes]
            codes = y.reshape(len(y), -1) - first_codes(outputs)
            given = given if isinstance(given, list) else [given]
            if len(given) != len(outputs):
                raise ValueError(
                    f"class_weight has weights for {len(given)} outputs, and y has {len(outputs)} "
                    "outputs; give a list with a dict for each of them."
                )
            by_output = [
                LabelTotals(labels, np.bincount(column)).factors(weights)[column]
                for weights, labels, column in zip(given, outputs, codes.T)
            ]
            weight = np.prod(by_output, axis=0)
        return weight if sample_weight is None else sample_weight * weight

    def _member_options(self, estimator: BaseEstimator, n_samples: int, n_features: int) -> dict:
        # In scikit-learn's forests a fraction is one of all rows, in a tree one of the rows that it
        # is fitted to.
        for name, least in [("min_samples_split", 2), ("min_samples_leaf", 1)]:
            fraction = getattr(self, name)
            if not isinstance(fraction, Integral):
                rows = max(least, math.ceil(fraction * n_samples))
                estimator.set_params(**{name: rows})
        return {"balanced": self._balances_each_tree(), "honest": self._honest_share(estimator)}

    def _honest_share(self, estimator: BaseEstimator) -> float:
        """The share of the rows drawn that are in the leaves; an error for what that cannot be."""
        is_share = not isinstance(self.honesty, (bool, np.bool_))
        share = float(self.honesty) if is_share else 0.5 * self.honesty
        known = getattr(self, "_member_spec", None) if self.warm_start else None
        if known is not None and known.honest != share:
            raise ValueError(
                f"honesty={self.honesty!r} must be that of the previous fit with warm_start=True."
            )
        if not share:
            return 0.0
        if estimator.criterion in ("absolute_error", "quantile"):
            raise ValueError(
                f"honesty requires leaves that predict means; criterion={estimator.criterion!r} "
                "has others."
            )
        if estimator.monotonic_cst is not None and np.any(estimator.monotonic_cst):
            raise ValueError("honesty requires monotonic_cst=None: means of other rows may differ.")
        if self.bootstrap == "moving_block":
            raise ValueError(
                'honesty requires independent rows, or groups of them; bootstrap="moving_block" '
                "draws neighbours together."
            )
        return share

    categories_ = property(fitted_categories)

    def apply(self, X: MatrixLike) -> np.ndarray:
        """The leaf of each tree that a row falls into.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        leaves : ndarray of shape (n_samples, n_estimators)
            Indices of nodes.

        Notes
        -----
        Cost: O(depth) a row and tree.
        """
        check_is_fitted(self)
        return np.column_stack(self._of_each_tree("apply", self._validate_X(X)))

    def decision_path(self, X: MatrixLike) -> tuple[sp.csr_matrix, np.ndarray]:
        """The nodes of each tree that a row passes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        indicator : sparse matrix of shape (n_samples, n_nodes)
            1 where the row passes the node; the nodes of all trees side by side.

        n_nodes_ptr : ndarray of shape (n_estimators + 1,)
            Columns n_nodes_ptr[i]:n_nodes_ptr[i + 1] are those of tree i.

        Notes
        -----
        Cost: O(depth) a row and tree.
        """
        check_is_fitted(self)
        paths = self._of_each_tree("decision_path", self._validate_X(X))
        return sp.hstack(paths).tocsr(), np.cumsum([0] + [path.shape[1] for path in paths])

    def _of_each_tree(self, method: str, X) -> list:
        X, checked = member_input(self.estimator_, X)
        if not checked:  # one tree's error for all, without NumPy's warning before it
            with np.errstate(over="ignore", invalid="ignore"):
                self.estimators_[0].apply(X)
        return Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(getattr(tree, method))(X, check_input=not checked) for tree in self.estimators_
        )

    # Names under which scikit-learn's tests and other packages read the draws.

    @property
    def _n_samples_bootstrap(self) -> int | float:
        return self._member_spec.scheme.size

    @property
    def _sample_weight(self) -> np.ndarray | None:
        return self._member_spec.scheme.sample_weight


# --- random forests -------------------------------------------------------------------------------


class RandomForestRegressor(BaggedRegressor, BaseForest):
    """Random forest for regression: the mean of trees fitted to bootstrapped rows.

    Parameters
    ----------
    n_estimators : int or "pac", default=100
        Number of trees B. `"pac"` is ceil(18 ln(2 n / `delta`)), with which bagging of empirical
        risk minimisers has optimal sample complexity.

    criterion : {"squared_error", "absolute_error", "quantile", "poisson"}, \
            default="squared_error"
        What a split lowers most: the squared error, the absolute error, for which leaves predict
        medians, the pinball loss, for which they predict the quantile of level `quantile`, or half
        the Poisson deviance, for y of at least 0. The forest is the mean of these. `"quantile"`
        requires a dense X, y with one output, and neither `max_bins=None` nor `monotonic_cst`;
        neither of the two works with categorical features. `"friedman_mse"` is deprecated.

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
        Number of features drawn at each split, m_try in [Shah, §4.5]; a float is a fraction of all
        features, `None` is all of them. With fewer features the trees are less correlated, and each
        of them is usually less accurate.

    max_leaf_nodes : int, default=None
        Maximum number of leaves of a tree, which is then grown best first; `None` means no limit.

    min_impurity_decrease : float, default=0.0
        Minimum decrease of the impurity by a split.

    bootstrap : bool or str, default=True
        How the rows of a tree are drawn, or their groups where `fit` is given `groups`:

        - `True`: s draws with replacement, the bootstrap;
        - `False`: s rows without replacement, and with `max_samples=None` all rows;
        - `"disjoint"`: the same with s at most n/2, which is the default; the trees of a group of
          floor(n/s) have no row in common, for standard errors without bias;
        - `"bernoulli"`: each row with probability q, independently;
        - `"bayesian"`: real weights, s times a Dirichlet(1, ..., 1) vector;
        - `"poisson"`: independent Poisson counts of mean s/n;
        - `"moving_block"`: blocks of `block_length` consecutive rows with replacement, until there
          are s rows, for time series; without `groups`.

        A tree is fitted to each distinct row once, with the weight drawn.

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
        After other rows, weights or draws than before, methods that need the training rows raise
        a ValueError.

    ccp_alpha : float, default=0.0
        Complexity parameter of minimal cost-complexity pruning.

    max_samples : int, float or "stable", default=None
        Number s of rows drawn for each tree: an int is the number itself, a float a fraction of the
        total weight, which may be above 1, and `None` the number of rows of X. Where groups are
        drawn it is the number of groups, and with blocks a float is a fraction of the rows. With
        `bootstrap="bernoulli"` it determines the probability q of each row (an int is divided by n;
        `None` is 1/2). `"stable"` is the largest number with which the mean of infinitely many
        members is as stable as `stability` says, whatever the base learner.

    monotonic_cst : array-like of int of shape (n_features,) or dict, default=None
        1, -1 or 0 for each feature: the prediction increases in it, decreases in it or is not
        constrained. A dict has the signs of the constrained features by their names.

    max_bins : int, "auto" or None, default="auto"
        Number of bins, 2 to 65,535, into which the columns of X are cut, once for all trees, which
        are then :class:`BinnedTreeRegressor`. `None` is scikit-learn's exact trees. `"auto"` is
        exact trees up to 10,000 rows (for the absolute error up to 1,000), and 2047 bins above
        where X is dense and y has one output; for quantiles 2047 bins for any number of rows. A
        value of X takes four bytes as bins.

    categorical_features : array-like, "from_dtype" or None, default="from_dtype"
        Which features are categorical: a mask, their indices, or their names. "from_dtype" takes
        the columns of a data frame with the dtype category (pandas) or Categorical or Enum
        (polars). With such features trees are in bins, for any number of rows; at most 255 where y
        has several outputs. See :class:`BinnedTreeRegressor`.

    cat_smooth : float, default=3.0
        How much the means of small categories are shrunk in the search of splits.

    interaction_cst : {"pairwise", "no_interactions"}, sequence of lists or None, default=None
        Which features may interact: all features that are cut on a path of a tree are from one of
        these groups of indices or names; those in no group form one together. The features of
        `max_features` are drawn from those that may be cut. Trees are then in bins, for any number
        of rows. See :class:`BinnedTreeRegressor`.

    delta : float, default=0.05
        Probability of failure in `n_estimators="pac"`, and the share of the training rows that
        `stability` and `stability_` leave aside.

    stability : float, default=0.1
        With `max_samples="stable"`: how much a prediction may change without one of the training
        rows, as a share of the range of the members' outputs (1 for probabilities), for all but
        the share `delta` of the rows. See
        :func:`~sklearn_ensemble_theory.bounds.bagging_stable_max_samples`.

    quantile : float, default=0.5
        Level of the quantiles of `criterion="quantile"`, in (0, 1).

    honesty : bool or float, default=False
        Whether one half of the rows drawn for a tree chooses its splits, and the other half is in
        its leaves, from which it predicts; a float is the share of the rows in the leaves. Copies
        of a row, and the rows of a group, are on one side. A split of which one side has no row of
        the leaves is left out. Impurities and importances are those of the rows in the leaves. With
        `bootstrap=False` and a fraction as `max_samples`, intervals by `standard_error` are those
        of [Wager and Athey, 2018]; see the user guide. Not with `monotonic_cst`, medians, quantiles
        or moving blocks.

    Attributes
    ----------
    estimator_ : DecisionTreeRegressor or BinnedTreeRegressor
        The tree that the members are clones of.

    estimators_ : list of the same
        The fitted trees.

    estimators_features_ : list of ndarray
        Indices of all columns, for each tree: features are drawn at the splits.

    estimators_samples_ : list of ndarray
        Indices of the rows drawn for each tree, repeated as often as drawn.

    n_outputs_ : int
        Number of targets.

    categories_ : list of n_features_in_ arrays or None
        The categories of each categorical feature, in increasing order; None for other features.

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
    BaggingRegressor : The same for any base learner.
    RandomForestClassifier : The same for classification.

    Notes
    -----
    The cost is about O(m_try s' log² s') for each of the B trees, for s' distinct rows, and O(s log
    s) for each draw; on bins about O(m_try s') for each level of a tree. With the same
    `random_state` exact trees are those of scikit-learn's class (release 1.9), fitted to the
    distinct rows with their counts. A `warm_start` computes the bins anew: the same for the same X.

    With squared error, y whose mean is more than 10^4 standard deviations away from 0 is centred
    before trees are grown, which scikit-learn's trees are not: they lose the digits of their
    squared errors there.

    Random forests were proposed by [Breiman, 2001]; see also [Bach, §10.2]. The mean of B trees of
    variance sigma² and correlation rho has variance rho sigma² + (1 - rho) sigma² / B
    [Shah, §4.5]. `standard_error` and `variance_decomposition` estimate these.

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    R. D. Shah. *Mathematics of Machine Learning*, lecture notes. University of Cambridge.

    L. Breiman (2001). "Random forests". *Machine Learning* 45.

    S. Wager and S. Athey (2018). "Estimation and inference of heterogeneous treatment effects using
    random forests". *Journal of the American Statistical Association* 113.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_ensemble_theory import RandomForestRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = RandomForestRegressor(300, max_features=0.3, min_samples_leaf=5, random_state=0)
    >>> parts = forest.fit(X[:400], y[:400]).variance_decomposition(X[400:])
    >>> print(f"correlation of two trees: {parts.rho.mean():.2f}")
    correlation of two trees: 0.08
    """

    _several_outputs = has_several_outputs
    _tree_class = DecisionTreeRegressor
    _parameter_constraints: dict = {
        **SHARED_CONSTRAINTS,
        **tree_constraints(DecisionTreeRegressor),
        **QUANTILE_CONSTRAINTS,
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
        bootstrap: bool | str = True,
        block_length: int | None = None,
        oob_score: bool | Callable[..., float] = False,
        n_jobs: int | None = None,
        random_state: RandomStateLike = None,
        verbose: int = 0,
        warm_start: bool = False,
        ccp_alpha: float = 0.0,
        max_samples: int | float | Literal["stable"] | None = None,
        monotonic_cst: ArrayLike | dict[str, int] | None = None,
        max_bins: int | Literal["auto"] | None = "auto",
        categorical_features: ArrayLike | Literal["from_dtype"] | None = "from_dtype",
        cat_smooth: float = 3.0,
        interaction_cst: InteractionGroups | Literal["pairwise", "no_interactions"] | None = None,
        delta: float = 0.05,
        stability: float = 0.1,
        quantile: float = 0.5,
        honesty: bool | float = False,
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
        self.categorical_features = categorical_features
        self.cat_smooth = cat_smooth
        self.interaction_cst = interaction_cst
        self.delta = delta
        self.stability = stability
        self.quantile = quantile
        self.honesty = honesty


class RandomForestClassifier(BaggedClassifier, BaseForest):
    """Random forest for classification: the mean of trees fitted to bootstrapped rows.

    Parameters
    ----------
    n_estimators : int or "pac", default=100
        Number of trees B. `"pac"` is ceil(18 ln(2 n / `delta`)), with which bagging of empirical
        risk minimisers has optimal sample complexity.

    criterion : {"gini", "entropy", "log_loss"}, default="gini"
        What a split lowers most: the Gini impurity, or the entropy, which `"log_loss"` is too.

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
        Number of features drawn at each split, m_try in [Shah, §4.5]; a float is a fraction of all
        features, `None` is all of them. With fewer features the trees are less correlated, and each
        of them is usually less accurate.

    max_leaf_nodes : int, default=None
        Maximum number of leaves of a tree, which is then grown best first; `None` means no limit.

    min_impurity_decrease : float, default=0.0
        Minimum decrease of the impurity by a split.

    bootstrap : bool or str, default=True
        How the rows of a tree are drawn, or their groups where `fit` is given `groups`:

        - `True`: s draws with replacement, the bootstrap;
        - `False`: s rows without replacement, and with `max_samples=None` all rows;
        - `"disjoint"`: the same with s at most n/2, which is the default; the trees of a group of
          floor(n/s) have no row in common, for standard errors without bias;
        - `"bernoulli"`: each row with probability q, independently;
        - `"bayesian"`: real weights, s times a Dirichlet(1, ..., 1) vector;
        - `"poisson"`: independent Poisson counts of mean s/n;
        - `"stratified"`: draws with replacement within each class, s shared out in proportion to
          the sizes of the classes;
        - `"moving_block"`: blocks of `block_length` consecutive rows with replacement, until there
          are s rows, for time series; without `groups`.

        A tree is fitted to each distinct row once, with the weight drawn.

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
        After other rows, weights or draws than before, methods that need the training rows raise
        a ValueError.

    class_weight : {"balanced", "balanced_subsample"}, dict or list of dict, default=None
        Weights of the classes, by which `sample_weight` is multiplied. A dict contains the weight
        of each label. `"balanced"` gives all classes the same total weight over all rows,
        `"balanced_subsample"` over the rows drawn for each tree. With `None` no class weights are
        used. For several outputs, a list of a dict for each; their weights are multiplied.

    ccp_alpha : float, default=0.0
        Complexity parameter of minimal cost-complexity pruning.

    max_samples : int, float or "stable", default=None
        Number s of rows drawn for each tree: an int is the number itself, a float a fraction of the
        total weight, which may be above 1, and `None` the number of rows of X. Where groups are
        drawn it is the number of groups, and with blocks a float is a fraction of the rows. With
        `bootstrap="bernoulli"` it determines the probability q of each row (an int is divided by n;
        `None` is 1/2). `"stable"` is the largest number with which the mean of infinitely many
        members is as stable as `stability` says, whatever the base learner.

    monotonic_cst : array-like of int of shape (n_features,) or dict, default=None
        For two classes: 1, -1 or 0 for each feature, in which the probability of the second class
        increases, decreases or is not constrained. A dict has the signs of the constrained features
        by their names.

    voting : {"soft", "hard"}, default="soft"
        `"soft"` averages the probabilities of the trees; `"hard"` is the majority vote.

    max_bins : int, "auto" or None, default="auto"
        Number of bins, 2 to 65,535, into which the columns of X are cut, once for all trees, which
        are then :class:`BinnedTreeClassifier`. `None` is scikit-learn's exact trees. `"auto"` is
        exact trees up to 10,000 rows, and 2047 bins above where X is dense and y has one output. A
        value of X takes four bytes as bins.

    categorical_features : array-like, "from_dtype" or None, default="from_dtype"
        Which features are categorical: a mask, their indices, or their names. "from_dtype" takes
        the columns of a data frame with the dtype category (pandas) or Categorical or Enum
        (polars). With such features trees are in bins, for any number of rows; at most 255 where y
        has several outputs. See :class:`BinnedTreeClassifier`.

    cat_smooth : float, default=3.0
        How much the means of small categories are shrunk in the search of splits.

    interaction_cst : {"pairwise", "no_interactions"}, sequence of lists or None, default=None
        Which features may interact: all features that are cut on a path of a tree are from one of
        these groups of indices or names; those in no group form one together. The features of
        `max_features` are drawn from those that may be cut. Trees are then in bins, for any number
        of rows. See :class:`BinnedTreeRegressor`.

    delta : float, default=0.05
        Probability of failure in `n_estimators="pac"`, and the share of the training rows that
        `stability` and `stability_` leave aside.

    stability : float, default=0.1
        With `max_samples="stable"`: how much a prediction may change without one of the training
        rows, as a share of the range of the members' outputs (1 for probabilities), for all but
        the share `delta` of the rows. See
        :func:`~sklearn_ensemble_theory.bounds.bagging_stable_max_samples`.

    ties : {"first", "last"}, default="first"
        Which of several classes with the same, largest number of votes or mean probability is
        predicted: the first one in `classes_`, as in scikit-learn, or the last one. Of two classes
        "last" is 1{mean >= 1/2} [Ghoshdastidar].

    honesty : bool or float, default=False
        Whether one half of the rows drawn for a tree chooses its splits, and the other half is in
        its leaves, from which it predicts; a float is the share of the rows in the leaves. Copies
        of a row, and the rows of a group, are on one side. A split of which one side has no row of
        the leaves is left out. Impurities and importances are those of the rows in the leaves. With
        `bootstrap=False` and a fraction as `max_samples`, intervals by `standard_error` are those
        of [Wager and Athey, 2018]; see the user guide. Not with `monotonic_cst`, medians, quantiles
        or moving blocks.

    Attributes
    ----------
    estimator_ : DecisionTreeClassifier or BinnedTreeClassifier
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

    categories_ : list of n_features_in_ arrays or None
        The categories of each categorical feature, in increasing order; None for other features.

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
    BaggingClassifier : The same for any base learner.
    RandomForestRegressor : The same for regression.

    Notes
    -----
    The cost is about O(m_try s' log² s') for each of the B trees, for s' distinct rows, and O(s log
    s) for each draw; on bins about O(m_try s') for each level of a tree. With the same
    `random_state` exact trees are those of scikit-learn's class (release 1.9), fitted to the
    distinct rows with their counts. A `warm_start` computes the bins anew: the same for the same X.

    Random forests were proposed by [Breiman, 2001]; see also [Bach, §10.2]. The mean of B trees of
    variance sigma² and correlation rho has variance rho sigma² + (1 - rho) sigma² / B
    [Shah, §4.5]. `standard_error` and `variance_decomposition` estimate these.

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    R. D. Shah. *Mathematics of Machine Learning*, lecture notes. University of Cambridge.

    L. Breiman (2001). "Random forests". *Machine Learning* 45.

    S. Wager and S. Athey (2018). "Estimation and inference of heterogeneous treatment effects using
    random forests". *Journal of the American Statistical Association* 113.

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
    _several_outputs = True
    _parameter_constraints: dict = {
        **SHARED_CONSTRAINTS,
        **tree_constraints(DecisionTreeClassifier),
        **CLASSIFIER_CONSTRAINTS,
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
        bootstrap: bool | str = True,
        block_length: int | None = None,
        oob_score: bool | Callable[..., float] = False,
        n_jobs: int | None = None,
        random_state: RandomStateLike = None,
        verbose: int = 0,
        warm_start: bool = False,
        class_weight: Literal["balanced", "balanced_subsample"] | dict | list[dict] | None = None,
        ccp_alpha: float = 0.0,
        max_samples: int | float | Literal["stable"] | None = None,
        monotonic_cst: ArrayLike | dict[str, int] | None = None,
        voting: Literal["soft", "hard"] = "soft",
        max_bins: int | Literal["auto"] | None = "auto",
        categorical_features: ArrayLike | Literal["from_dtype"] | None = "from_dtype",
        cat_smooth: float = 3.0,
        interaction_cst: InteractionGroups | Literal["pairwise", "no_interactions"] | None = None,
        delta: float = 0.05,
        stability: float = 0.1,
        ties: Literal["first", "last"] = "first",
        honesty: bool | float = False,
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
        self.categorical_features = categorical_features
        self.cat_smooth = cat_smooth
        self.interaction_cst = interaction_cst
        self.delta = delta
        self.stability = stability
        self.ties = ties
        self.honesty = honesty

    _staged_margin_scores = staged_mean_proba


# --- extremely randomised trees -------------------------------------------------------------------


class ExtraTreesRegressor(BaggedRegressor, BaseForest):
    """Extremely randomised trees for regression: the mean of trees whose cuts are drawn at random.

    Parameters
    ----------
    n_estimators : int or "pac", default=100
        Number of trees B. `"pac"` is ceil(18 ln(2 n / `delta`)), with which bagging of empirical
        risk minimisers has optimal sample complexity.

    criterion : {"squared_error", "absolute_error", "quantile", "poisson"}, \
            default="squared_error"
        What a split lowers most: the squared error, the absolute error, for which leaves predict
        medians, the pinball loss, for which they predict the quantile of level `quantile`, or half
        the Poisson deviance, for y of at least 0. The forest is the mean of these. `"quantile"`
        requires a dense X, y with one output, and neither `max_bins=None` nor `monotonic_cst`;
        neither of the two works with categorical features. `"friedman_mse"` is deprecated.

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
        How the rows of a tree are drawn, or their groups where `fit` is given `groups`:

        - `True`: s draws with replacement, the bootstrap;
        - `False`: s rows without replacement, and with `max_samples=None` all rows; there are then
          neither out-of-bag scores nor standard errors;
        - `"disjoint"`: the same with s at most n/2, which is the default; the trees of a group of
          floor(n/s) have no row in common, for standard errors without bias;
        - `"bernoulli"`: each row with probability q, independently;
        - `"bayesian"`: real weights, s times a Dirichlet(1, ..., 1) vector;
        - `"poisson"`: independent Poisson counts of mean s/n;
        - `"moving_block"`: blocks of `block_length` consecutive rows with replacement, until there
          are s rows, for time series; without `groups`.

        A tree is fitted to each distinct row once, with the weight drawn.

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
        After other rows, weights or draws than before, methods that need the training rows raise
        a ValueError.

    ccp_alpha : float, default=0.0
        Complexity parameter of minimal cost-complexity pruning.

    max_samples : int, float or "stable", default=None
        Number s of rows drawn for each tree: an int is the number itself, a float a fraction of the
        total weight, which may be above 1, and `None` the number of rows of X. Where groups are
        drawn it is the number of groups, and with blocks a float is a fraction of the rows. With
        `bootstrap="bernoulli"` it determines the probability q of each row (an int is divided by n;
        `None` is 1/2). `"stable"` is the largest number with which the mean of infinitely many
        members is as stable as `stability` says, whatever the base learner.

    monotonic_cst : array-like of int of shape (n_features,) or dict, default=None
        1, -1 or 0 for each feature: the prediction increases in it, decreases in it or is not
        constrained. A dict has the signs of the constrained features by their names.

    max_bins : int, "auto" or None, default="auto"
        Number of bins, 2 to 65,535, into which the columns of X are cut, once for all trees, which
        are then :class:`BinnedTreeRegressor` with cuts uniform over the bins of a node; in
        scikit-learn's exact trees, `None`, cuts are uniform over its values. `"auto"` is exact
        trees up to 10,000 rows, and 2047 bins above where X is dense and y has one output; for
        quantiles 2047 bins for any number of rows. A value of X takes four bytes as bins.

    categorical_features : array-like, "from_dtype" or None, default="from_dtype"
        Which features are categorical: a mask, their indices, or their names. "from_dtype" takes
        the columns of a data frame with the dtype category (pandas) or Categorical or Enum
        (polars). The cut is drawn in the order of the means of their targets. With such features
        trees are in bins, for any number of rows; at most 255 where y has several outputs. See
        :class:`BinnedTreeRegressor`.

    cat_smooth : float, default=3.0
        How much the means of small categories are shrunk in the search of splits.

    interaction_cst : {"pairwise", "no_interactions"}, sequence of lists or None, default=None
        Which features may interact: all features that are cut on a path of a tree are from one of
        these groups of indices or names; those in no group form one together. The features of
        `max_features` are drawn from those that may be cut. Trees are then in bins, for any number
        of rows. See :class:`BinnedTreeRegressor`.

    delta : float, default=0.05
        Probability of failure in `n_estimators="pac"`, and the share of the training rows that
        `stability` and `stability_` leave aside.

    stability : float, default=0.1
        With `max_samples="stable"`: how much a prediction may change without one of the training
        rows, as a share of the range of the members' outputs (1 for probabilities), for all but
        the share `delta` of the rows. See
        :func:`~sklearn_ensemble_theory.bounds.bagging_stable_max_samples`.

    quantile : float, default=0.5
        Level of the quantiles of `criterion="quantile"`, in (0, 1).

    honesty : bool or float, default=False
        Whether one half of the rows drawn for a tree chooses its splits, and the other half is in
        its leaves, from which it predicts; a float is the share of the rows in the leaves. Copies
        of a row, and the rows of a group, are on one side. A split of which one side has no row of
        the leaves is left out. Impurities and importances are those of the rows in the leaves. With
        `bootstrap=False` and a fraction as `max_samples`, intervals by `standard_error` are those
        of [Wager and Athey, 2018]; see the user guide. Not with `monotonic_cst`, medians, quantiles
        or moving blocks.

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

    categories_ : list of n_features_in_ arrays or None
        The categories of each categorical feature, in increasing order; None for other features.

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

    S. Wager and S. Athey (2018). "Estimation and inference of heterogeneous treatment effects using
    random forests". *Journal of the American Statistical Association* 113.

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
    _several_outputs = has_several_outputs
    _tree_class = ExtraTreeRegressor
    _parameter_constraints: dict = {
        **SHARED_CONSTRAINTS,
        **tree_constraints(ExtraTreeRegressor),
        **QUANTILE_CONSTRAINTS,
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
        max_samples: int | float | Literal["stable"] | None = None,
        monotonic_cst: ArrayLike | dict[str, int] | None = None,
        max_bins: int | Literal["auto"] | None = "auto",
        categorical_features: ArrayLike | Literal["from_dtype"] | None = "from_dtype",
        cat_smooth: float = 3.0,
        interaction_cst: InteractionGroups | Literal["pairwise", "no_interactions"] | None = None,
        delta: float = 0.05,
        stability: float = 0.1,
        quantile: float = 0.5,
        honesty: bool | float = False,
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
        self.categorical_features = categorical_features
        self.cat_smooth = cat_smooth
        self.interaction_cst = interaction_cst
        self.delta = delta
        self.stability = stability
        self.quantile = quantile
        self.honesty = honesty


class ExtraTreesClassifier(BaggedClassifier, BaseForest):
    """Extremely randomised trees for classification: the mean of trees with cuts drawn at random.

    Parameters
    ----------
    n_estimators : int or "pac", default=100
        Number of trees B. `"pac"` is ceil(18 ln(2 n / `delta`)), with which bagging of empirical
        risk minimisers has optimal sample complexity.

    criterion : {"gini", "entropy", "log_loss"}, default="gini"
        What a split lowers most: the Gini impurity, or the entropy, which `"log_loss"` is too.

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
        How the rows of a tree are drawn, or their groups where `fit` is given `groups`:

        - `True`: s draws with replacement, the bootstrap;
        - `False`: s rows without replacement, and with `max_samples=None` all rows; there are then
          neither out-of-bag scores nor standard errors;
        - `"disjoint"`: the same with s at most n/2, which is the default; the trees of a group of
          floor(n/s) have no row in common, for standard errors without bias;
        - `"bernoulli"`: each row with probability q, independently;
        - `"bayesian"`: real weights, s times a Dirichlet(1, ..., 1) vector;
        - `"poisson"`: independent Poisson counts of mean s/n;
        - `"stratified"`: draws with replacement within each class, s shared out in proportion to
          the sizes of the classes;
        - `"moving_block"`: blocks of `block_length` consecutive rows with replacement, until there
          are s rows, for time series; without `groups`.

        A tree is fitted to each distinct row once, with the weight drawn.

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
        After other rows, weights or draws than before, methods that need the training rows raise
        a ValueError.

    class_weight : {"balanced", "balanced_subsample"}, dict or list of dict, default=None
        Weights of the classes, by which `sample_weight` is multiplied. A dict contains the weight
        of each label. `"balanced"` gives all classes the same total weight over all rows,
        `"balanced_subsample"` over the rows drawn for each tree. With `None` no class weights are
        used. For several outputs, a list of a dict for each; their weights are multiplied.

    ccp_alpha : float, default=0.0
        Complexity parameter of minimal cost-complexity pruning.

    max_samples : int, float or "stable", default=None
        Number s of rows drawn for each tree: an int is the number itself, a float a fraction of the
        total weight, which may be above 1, and `None` the number of rows of X. Where groups are
        drawn it is the number of groups, and with blocks a float is a fraction of the rows. With
        `bootstrap="bernoulli"` it determines the probability q of each row (an int is divided by n;
        `None` is 1/2). `"stable"` is the largest number with which the mean of infinitely many
        members is as stable as `stability` says, whatever the base learner.

    monotonic_cst : array-like of int of shape (n_features,) or dict, default=None
        For two classes: 1, -1 or 0 for each feature, in which the probability of the second class
        increases, decreases or is not constrained. A dict has the signs of the constrained features
        by their names.

    voting : {"soft", "hard"}, default="soft"
        `"soft"` averages the probabilities of the trees; `"hard"` is the majority vote.

    max_bins : int, "auto" or None, default="auto"
        Number of bins, 2 to 65,535, into which the columns of X are cut, once for all trees, which
        are then :class:`BinnedTreeClassifier` with cuts uniform over the bins of a node; in
        scikit-learn's exact trees, `None`, cuts are uniform over its values. `"auto"` is exact
        trees up to 10,000 rows, and 2047 bins above where X is dense and y has one output. A value
        of X takes four bytes as bins.

    categorical_features : array-like, "from_dtype" or None, default="from_dtype"
        Which features are categorical: a mask, their indices, or their names. "from_dtype" takes
        the columns of a data frame with the dtype category (pandas) or Categorical or Enum
        (polars). The cut is drawn in the order of the means of their targets. With such features
        trees are in bins, for any number of rows; at most 255 where y has several outputs. See
        :class:`BinnedTreeClassifier`.

    cat_smooth : float, default=3.0
        How much the means of small categories are shrunk in the search of splits.

    interaction_cst : {"pairwise", "no_interactions"}, sequence of lists or None, default=None
        Which features may interact: all features that are cut on a path of a tree are from one of
        these groups of indices or names; those in no group form one together. The features of
        `max_features` are drawn from those that may be cut. Trees are then in bins, for any number
        of rows. See :class:`BinnedTreeRegressor`.

    delta : float, default=0.05
        Probability of failure in `n_estimators="pac"`, and the share of the training rows that
        `stability` and `stability_` leave aside.

    stability : float, default=0.1
        With `max_samples="stable"`: how much a prediction may change without one of the training
        rows, as a share of the range of the members' outputs (1 for probabilities), for all but
        the share `delta` of the rows. See
        :func:`~sklearn_ensemble_theory.bounds.bagging_stable_max_samples`.

    ties : {"first", "last"}, default="first"
        Which of several classes with the same, largest number of votes or mean probability is
        predicted: the first one in `classes_`, as in scikit-learn, or the last one. Of two classes
        "last" is 1{mean >= 1/2} [Ghoshdastidar].

    honesty : bool or float, default=False
        Whether one half of the rows drawn for a tree chooses its splits, and the other half is in
        its leaves, from which it predicts; a float is the share of the rows in the leaves. Copies
        of a row, and the rows of a group, are on one side. A split of which one side has no row of
        the leaves is left out. Impurities and importances are those of the rows in the leaves. With
        `bootstrap=False` and a fraction as `max_samples`, intervals by `standard_error` are those
        of [Wager and Athey, 2018]; see the user guide. Not with `monotonic_cst`, medians, quantiles
        or moving blocks.

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

    categories_ : list of n_features_in_ arrays or None
        The categories of each categorical feature, in increasing order; None for other features.

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

    S. Wager and S. Athey (2018). "Estimation and inference of heterogeneous treatment effects using
    random forests". *Journal of the American Statistical Association* 113.

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
    _tree_class = ExtraTreeClassifier
    _several_outputs = True
    _parameter_constraints: dict = {
        **SHARED_CONSTRAINTS,
        **tree_constraints(ExtraTreeClassifier),
        **CLASSIFIER_CONSTRAINTS,
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
        max_samples: int | float | Literal["stable"] | None = None,
        monotonic_cst: ArrayLike | dict[str, int] | None = None,
        voting: Literal["soft", "hard"] = "soft",
        max_bins: int | Literal["auto"] | None = "auto",
        categorical_features: ArrayLike | Literal["from_dtype"] | None = "from_dtype",
        cat_smooth: float = 3.0,
        interaction_cst: InteractionGroups | Literal["pairwise", "no_interactions"] | None = None,
        delta: float = 0.05,
        stability: float = 0.1,
        ties: Literal["first", "last"] = "first",
        honesty: bool | float = False,
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
        self.categorical_features = categorical_features
        self.cat_smooth = cat_smooth
        self.interaction_cst = interaction_cst
        self.delta = delta
        self.stability = stability
        self.ties = ties
        self.honesty = honesty

    _staged_margin_scores = staged_mean_proba
