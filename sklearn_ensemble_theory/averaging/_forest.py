"""Random forests and extremely randomised trees [Bach, §10.2; Shah, §4.5].

Bagging of trees that draw features, and extremely randomised ones cuts, at every split.
"""

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

from sklearn_ensemble_theory._blocks import by_chunks
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
from sklearn_ensemble_theory._documentation import documented
from sklearn_ensemble_theory._features import CategoryOptions, Features, is_frame
from sklearn_ensemble_theory._learners import WeighsClasses
from sklearn_ensemble_theory._rows import within_single_precision
from sklearn_ensemble_theory._running import warn_user
from sklearn_ensemble_theory._typing import (
    ArrayLike,
    CategoriesLike,
    InteractionGroups,
    MatrixLike,
    RandomStateLike,
)
from sklearn_ensemble_theory.averaging._bagging import (
    BaggedClassifier,
    BaggedRegressor,
    BaseBagging,
)
from sklearn_ensemble_theory.averaging._bagging_texts import BAGGING
from sklearn_ensemble_theory.averaging._bags import AUTO_BINS, BaggingPlan
from sklearn_ensemble_theory.averaging._draw_options import StableSamples
from sklearn_ensemble_theory.averaging._sampling import (
    AllRows,
    Draws,
    MovingBlocks,
    draws_of,
)
from sklearn_ensemble_theory.trees._binned_tree import (
    BaseBinnedTree,
    BinnedTreeRegressor,
    binned_equivalent,
)
from sklearn_ensemble_theory.trees._columns import MISSING
from sklearn_ensemble_theory.trees._options import (
    check_no_constraint,
    check_no_quantiles,
)
from sklearn_ensemble_theory.trees._sklearn_trees import member_input
from sklearn_ensemble_theory.trees._tree_arrays import read_by

# How much the means of small categories are shrunk in the search of splits.
CAT_SMOOTH = 3.0
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
    for name in ("categorical_features", "interaction_cst")
}
SHARED_CONSTRAINTS["max_samples"] = [
    None,
    StrOptions({"stable"}),
    Interval(Integral, 1, None, closed="left"),
    Interval(RealNotInt, 0, None, closed="neither"),
    StableSamples,
    callable,
]
SHARED_CONSTRAINTS["honesty"] = ["boolean", Interval(RealNotInt, 0, 1, closed="neither")]
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


@documented(BAGGING)
class BaseForest(WeighsClasses, BaseBagging):  # "balanced_subsample" is by the rows of a tree
    """Base of the forests; not for direct use."""

    _tree_class: type[BaseEstimator]
    categorical_features: Any
    interaction_cst: Any
    honesty: bool | float
    # Whether the cuts of the trees are drawn.
    _random_cuts: ClassVar[bool] = False
    _keeps_X: ClassVar = True
    _cure_of_order: ClassVar[str] = (
        ' Or use bootstrap="poisson": the rows of each tree then come from all chunks.'
    )
    _validation: ClassVar[dict] = {"accept_sparse": "csr", "ensure_all_finite": False}

    @property
    def estimator(self) -> BaseEstimator:
        """The unfitted tree with the parameters of the forest; not a parameter itself."""
        return self._get_estimator()

    def _get_estimator(self) -> BaseEstimator:
        return self._tree_class(**{name: getattr(self, name) for name in TREE_PARAMETERS})

    def _learner_for(self, X: Any) -> BaseEstimator:
        """The tree; one in bins if X has categorical columns."""
        tree = super()._learner_for(X)
        given, features = self.categorical_features, Features.of(X)
        columns = CategoryOptions.of(given).columns
        by_dtype = isinstance(columns, str) and columns == "from_dtype"
        if by_dtype and (self.max_bins is None or not is_frame(X)):
            return tree  # categories that are numbers are taken as these
        if not is_frame(X) and columns is not None:
            features = Features(np.shape(X)[1] if np.ndim(X) == 2 else 0)
        if not features.n or not features.flags(given, X).any():
            return tree
        check_no_quantiles(self.criterion)
        binned = self._in_bins(tree)
        if binned is None or tree.ccp_alpha > 0:
            raise ValueError(
                "categorical_features requires trees in bins: max_bins must not be None, ccp_alpha "
                f"must be 0, and criterion={self.criterion!r} one of binned trees."
            )
        return binned.set_params(categorical_features=given, cat_smooth=CAT_SMOOTH)

    def _in_bins(self, tree: Any) -> Any:
        """The tree in as many bins as `max_bins` says; None if there is none."""
        n_bins = AUTO_BINS if self.max_bins == "auto" else self.max_bins
        return None if n_bins is None else binned_equivalent(tree, n_bins, True)

    def _learner_of_all_chunks(self, meta: Any) -> Any:
        name = f"bootstrap={self.bootstrap!r} draws the rows of each tree from all chunks"
        refused: dict[str, Any] = {
            name: getattr(self, name, None)
            for name in ("max_leaf_nodes", "interaction_cst", "monotonic_cst")
        }
        refused = {each: value for each, value in refused.items() if value is not None}
        if self.honesty:
            refused["honesty"] = self.honesty
        if getattr(self, "class_weight", None) == "balanced_subsample":
            refused["class_weight"] = self.class_weight
        if self.criterion not in ("squared_error", "friedman_mse", "gini", "log_loss", "entropy"):
            refused["criterion"] = self.criterion
        for each, value in refused.items():
            raise ValueError(
                f"{name}, and {each}={value!r} needs all rows of a tree in memory; use another "
                f"{each}, or bootstrap=True for trees of one chunk each."
            )
        n_bins = MISSING if self.max_bins == "auto" else self.max_bins
        if n_bins is None or n_bins > MISSING:
            raise ValueError(
                f"{name}, for which max_bins must be 'auto' or at most {MISSING}; got "
                f"{self.max_bins!r}. Use bootstrap=True for trees of one chunk each."
            )
        learner = self._learner_for(meta)
        if isinstance(learner, BaseBinnedTree):
            return learner.set_params(max_bins=n_bins)
        return binned_equivalent(learner, n_bins, True)

    def _plan(self, learner: Any, X: Any, target: dict) -> BaggingPlan:
        features, encoder = Features.known_to(self, X.shape[1]), fitted_encoder(self)
        several = target.get("n_outputs_", 1) > 1
        signs = features.signs(self.monotonic_cst, np.max(target.get("n_classes_", 0)))
        learner.set_params(monotonic_cst=signs)
        dense = encoder is not None and np.prod(X.shape) <= MOST_DENSE_VALUES
        if encoder is not None:
            check_no_constraint(features, signs, encoder.flags)
            if several and self.max_bins == "auto":  # the most of trees of several targets
                learner.set_params(max_bins=MISSING)
        joined = features.interactions(self.interaction_cst) is not None
        if joined:
            tree: Any = learner if isinstance(learner, BaseBinnedTree) else self._in_bins(learner)
            if tree is None or (sp.issparse(X) and not dense) or several:
                raise ValueError(
                    "interaction_cst requires trees in bins: max_bins must not be None, "
                    f"criterion={self.criterion!r} one of binned trees, X dense and y of one "
                    "output."
                )
            learner = tree.set_params(interaction_cst=self.interaction_cst)
        shared = self._shared_plan(learner)
        draws = shared["draws"]
        # As in scikit-learn's forests, `bootstrap=False` without `max_samples` is all rows.
        if not self.bootstrap and self.max_samples is None:
            draws = Draws(AllRows)
        if draws.empty != "redraw":
            raise ValueError(
                f"bootstrap={self.bootstrap!r}: empty must be 'redraw' for forests, whose members "
                "are all trees; use bagging of trees."
            )
        weights = getattr(self, "class_weight", None)
        if isinstance(weights, str) and self.warm_start:
            warn_user(
                f"class_weight={weights!r} with warm_start=True: the weights of the classes are "
                "those of the rows of each fit. Where these are not all rows, give the weights as "
                "a dict."
            )
        by_tree = isinstance(weights, str) and weights == "balanced_subsample"
        return BaggingPlan(
            **{**shared, "draws": draws},
            learner=learner,
            random_cuts=self._random_cuts,
            is_binned=encoder is not None or joined,
            by_column=encoder is not None or joined,
            dense=encoder is not None,
            counts_of_all_rows=True,
            weighs_classes=True,
            balanced=by_tree and draws.scheme.is_random,
            honest=self._honest_share(learner),
        )

    def _honest_share(self, tree: Any) -> float:
        """The share of the rows drawn that are in the leaves; an error for what that cannot be."""
        is_share = not isinstance(self.honesty, (bool, np.bool_))
        share = float(self.honesty) if is_share else 0.5 * self.honesty
        known = getattr(self, "_member_spec", None) if self.warm_start else None
        if known is not None and known.honest != share:
            raise ValueError(
                f"honesty={self.honesty!r} must be the same as in the previous fit with "
                "warm_start=True."
            )
        if not share:
            return 0.0
        if tree.criterion == "absolute_error":
            raise ValueError(
                f"honesty requires leaves that predict means; criterion={tree.criterion!r} "
                "has others."
            )
        if tree.monotonic_cst is not None and np.any(tree.monotonic_cst):
            raise ValueError("honesty requires monotonic_cst=None: means of other rows may differ.")
        if draws_of(self.bootstrap).scheme is MovingBlocks:
            raise ValueError(
                'honesty requires independent rows, or groups of them; bootstrap="moving_block" '
                "draws neighbours together."
            )
        return share

    categories_ = property(fitted_categories)

    @by_chunks
    def apply(self, X: MatrixLike) -> np.ndarray:
        """The leaf of each tree that a row falls into.

        %(of_given_rows)s

        Returns
        -------
        leaves : ndarray of shape (n_samples, n_estimators)
            Indices of nodes.

        %(cost_of_walks)s
        """
        check_is_fitted(self)
        return np.column_stack(self._of_each_tree("apply", self._validate_X(X)))

    def decision_path(self, X: MatrixLike) -> tuple[sp.csr_matrix, np.ndarray]:
        """The nodes of each tree that a row passes.

        %(of_given_rows)s

        Returns
        -------
        indicator : sparse matrix of shape (n_samples, n_nodes)
            1 where the row passes the node; the nodes of all trees side by side.
        n_nodes_ptr : ndarray of shape (n_estimators + 1,)
            Columns n_nodes_ptr[i]:n_nodes_ptr[i + 1] belong to tree i.

        %(cost_of_walks)s
        """
        check_is_fitted(self)
        paths = self._of_each_tree("decision_path", self._validate_X(X))
        return sp.hstack(paths).tocsr(), np.cumsum([0] + [path.shape[1] for path in paths])

    def _of_each_tree(self, method: str, X) -> list:
        X, checked = member_input(self.estimator_, X, self.estimators_)
        if not checked:  # one tree's error for all, without NumPy's warning before it
            with np.errstate(over="ignore", invalid="ignore"):
                self.estimators_[0].apply(within_single_precision(X))
        return Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(_of_tree)(tree, method, read_by(tree, X), not checked)
            for tree in self.estimators_
        )

    # Names under which scikit-learn's tests and other packages read the draws.

    @property
    def _n_samples_bootstrap(self) -> int | float:
        return self._member_spec.scheme.size

    @property
    def _sample_weight(self) -> np.ndarray | None:
        return self._member_spec.scheme.sample_weight


# --- random forests -------------------------------------------------------------------------------


def _of_tree(tree: Any, method: str, X: Any, check_input: bool) -> Any:
    with np.errstate(over="ignore", invalid="ignore"):  # of sums in scikit-learn's check of X
        return getattr(tree, method)(X, check_input=check_input)


@documented(BAGGING)
class RandomForestRegressor(BaggedRegressor, BaseForest):
    """Random forest for regression: the average of trees fitted to bootstrap samples.

    %(of_real_trees)s
    max_features : {"sqrt", "log2"}, int, float or None, default=1.0
        %(m_try)s
    %(max_leaf_nodes)s
    bootstrap : bool, str, MovingBlock or Bernoulli, default=True
        %(bootstrap_of_forests)s
    %(forest_run)s
    %(ccp_alpha)s
    %(signs)s
    %(forest_columns)s
    %(honesty)s

    %(real_forest)s

    See Also
    --------
    BaggingRegressor : The same for any base learner.
    RandomForestClassifier : The same for classification.

    %(forest_notes)s

    %(far_targets)s

    %(references_Bach)s

    %(Shah)s

    L. Breiman (2001). "Random forests". *Machine Learning* 45.

    %(Athey)s

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_ensemble_theory import RandomForestRegressor
    >>> from sklearn_ensemble_theory.inspection import variance_decomposition
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = RandomForestRegressor(300, max_features=0.3, min_samples_leaf=5, random_state=0)
    >>> parts = variance_decomposition(forest.fit(X[:400], y[:400]), X[400:])
    >>> print(f"correlation of two trees: {parts.rho.mean():.2f}")
    correlation of two trees: 0.08
    """

    _tree_class = DecisionTreeRegressor
    _parameter_constraints: dict = {
        **SHARED_CONSTRAINTS,
        **tree_constraints(DecisionTreeRegressor),
    }

    def __init__(
        self,
        n_estimators: int | Literal["pac"] | Callable = 100,
        *,
        criterion: str = "squared_error",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Literal["sqrt", "log2"] | int | float | None = 1.0,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool | str | BaseEstimator = True,
        oob_score: bool | Callable[..., float] = False,
        n_jobs: int | None = None,
        random_state: RandomStateLike = None,
        verbose: int = 0,
        warm_start: bool = False,
        ccp_alpha: float = 0.0,
        max_samples: int | float | Literal["stable"] | Callable | None = None,
        monotonic_cst: ArrayLike | dict[str, int] | None = None,
        max_bins: int | Literal["auto"] | None = "auto",
        categorical_features: CategoriesLike | Literal["from_dtype"] | None = "from_dtype",
        interaction_cst: InteractionGroups | Literal["pairwise", "no_interactions"] | None = None,
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
        self.interaction_cst = interaction_cst
        self.honesty = honesty


@documented(BAGGING)
class RandomForestClassifier(BaggedClassifier, BaseForest):
    """Random forest for classification: the average of trees fitted to bootstrap samples.

    %(of_class_trees)s
    max_features : {"sqrt", "log2"}, int, float or None, default="sqrt"
        %(m_try)s
    %(max_leaf_nodes)s
    bootstrap : bool, str, MovingBlock or Bernoulli, default=True
        %(bootstrap_of_forests)s
    %(forest_run)s
    %(forest_class_weight)s
    %(ccp_alpha)s
    %(signs_of_classes)s
    %(voting)s
    %(forest_columns)s
    %(ties)s
    %(honesty)s

    %(class_forest)s

    See Also
    --------
    BaggingClassifier : The same for any base learner.
    RandomForestRegressor : The same for regression.

    %(forest_notes)s

    %(references_Bach)s

    %(Shah)s

    %(Ghoshdastidar)s

    L. Breiman (2001). "Random forests". *Machine Learning* 45.

    %(Athey)s

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
        n_estimators: int | Literal["pac"] | Callable = 100,
        *,
        criterion: str = "gini",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Literal["sqrt", "log2"] | int | float | None = "sqrt",
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool | str | BaseEstimator = True,
        oob_score: bool | Callable[..., float] = False,
        n_jobs: int | None = None,
        random_state: RandomStateLike = None,
        verbose: int = 0,
        warm_start: bool = False,
        class_weight: Literal["balanced", "balanced_subsample"] | dict | list[dict] | None = None,
        ccp_alpha: float = 0.0,
        max_samples: int | float | Literal["stable"] | Callable | None = None,
        monotonic_cst: ArrayLike | dict[str, int] | None = None,
        voting: Literal["soft", "hard"] = "soft",
        max_bins: int | Literal["auto"] | None = "auto",
        categorical_features: CategoriesLike | Literal["from_dtype"] | None = "from_dtype",
        interaction_cst: InteractionGroups | Literal["pairwise", "no_interactions"] | None = None,
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
        self.interaction_cst = interaction_cst
        self.ties = ties
        self.honesty = honesty


# --- extremely randomised trees -------------------------------------------------------------------


@documented(BAGGING)
class ExtraTreesRegressor(BaggedRegressor, BaseForest):
    """Extremely randomised trees for regression: a forest whose thresholds are drawn at random.

    %(of_real_trees)s
    max_features : {"sqrt", "log2"}, int, float or None, default=1.0
        %(extra_m_try)s
    %(max_leaf_nodes)s
    bootstrap : bool, str, MovingBlock or Bernoulli, default=False
        %(bootstrap_of_forests)s
    %(forest_run)s
    %(ccp_alpha)s
    %(signs)s
    %(forest_columns)s
    %(honesty)s

    %(real_forest)s

    See Also
    --------
    RandomForestRegressor : Forests of trees with the best cuts.
    ExtraTreesClassifier : The same for classification.

    Notes
    -----
    A node draws `max_features` features and one threshold for each, uniform between its smallest
    and largest value in the node. It takes the best of these splits [Geurts et al., 2006].
    Categories are first put in the order of the means of their targets. Compared with a random
    forest [Shah, §4.5], the trees are less correlated, their thresholds do not follow the noise in
    y, and no column is sorted. The bias is larger if only a few features matter.

    The cost is about O(m_try n) for each level of each of the B trees, with m_try features at each
    split, and O(n p log n) once for bins. With the same `random_state`, exact trees are the same as
    in scikit-learn's class (release 1.9). A `warm_start` computes the bins again; they are the same
    for the same X. With `bootstrap=False`, `max_samples` draws rows without replacement.

    %(far_targets)s

    %(references_Shah)s

    %(Geurts)s

    %(Athey)s

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
    _tree_class = ExtraTreeRegressor
    _parameter_constraints: dict = {
        **SHARED_CONSTRAINTS,
        **tree_constraints(ExtraTreeRegressor),
    }

    def __init__(
        self,
        n_estimators: int | Literal["pac"] | Callable = 100,
        *,
        criterion: str = "squared_error",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Literal["sqrt", "log2"] | int | float | None = 1.0,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool | str | BaseEstimator = False,
        oob_score: bool | Callable[..., float] = False,
        n_jobs: int | None = None,
        random_state: RandomStateLike = None,
        verbose: int = 0,
        warm_start: bool = False,
        ccp_alpha: float = 0.0,
        max_samples: int | float | Literal["stable"] | Callable | None = None,
        monotonic_cst: ArrayLike | dict[str, int] | None = None,
        max_bins: int | Literal["auto"] | None = "auto",
        categorical_features: CategoriesLike | Literal["from_dtype"] | None = "from_dtype",
        interaction_cst: InteractionGroups | Literal["pairwise", "no_interactions"] | None = None,
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
        self.interaction_cst = interaction_cst
        self.honesty = honesty


@documented(BAGGING)
class ExtraTreesClassifier(BaggedClassifier, BaseForest):
    """Extremely randomised trees for classification: a forest whose thresholds are drawn at random.

    %(of_class_trees)s
    max_features : {"sqrt", "log2"}, int, float or None, default="sqrt"
        %(extra_m_try)s
    %(max_leaf_nodes)s
    bootstrap : bool, str, MovingBlock or Bernoulli, default=False
        %(bootstrap_of_forests)s
    %(forest_run)s
    %(forest_class_weight)s
    %(ccp_alpha)s
    %(signs_of_classes)s
    %(voting)s
    %(forest_columns)s
    %(ties)s
    %(honesty)s

    %(class_forest)s

    See Also
    --------
    RandomForestClassifier : Forests of trees with the best cuts.
    ExtraTreesRegressor : The same for regression.

    Notes
    -----
    The method is the same as for :class:`ExtraTreesRegressor` [Geurts et al., 2006], with a mean of
    trees as in a random forest [Shah, §4.5]. The cost is about O(m_try n) for each level of each
    tree. With the same `random_state`, exact trees are the same as in scikit-learn's class (release
    1.9).

    %(references_Shah)s

    %(Ghoshdastidar)s

    %(Geurts)s

    %(Athey)s

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
        n_estimators: int | Literal["pac"] | Callable = 100,
        *,
        criterion: str = "gini",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Literal["sqrt", "log2"] | int | float | None = "sqrt",
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool | str | BaseEstimator = False,
        oob_score: bool | Callable[..., float] = False,
        n_jobs: int | None = None,
        random_state: RandomStateLike = None,
        verbose: int = 0,
        warm_start: bool = False,
        class_weight: Literal["balanced", "balanced_subsample"] | dict | list[dict] | None = None,
        ccp_alpha: float = 0.0,
        max_samples: int | float | Literal["stable"] | Callable | None = None,
        monotonic_cst: ArrayLike | dict[str, int] | None = None,
        voting: Literal["soft", "hard"] = "soft",
        max_bins: int | Literal["auto"] | None = "auto",
        categorical_features: CategoriesLike | Literal["from_dtype"] | None = "from_dtype",
        interaction_cst: InteractionGroups | Literal["pairwise", "no_interactions"] | None = None,
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
        self.interaction_cst = interaction_cst
        self.ties = ties
        self.honesty = honesty
