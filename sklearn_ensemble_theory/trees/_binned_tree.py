"""The public trees over binned columns: scikit-learn's parameters and predictions, other growth."""

from collections.abc import Callable, Iterator
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone, is_classifier
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)
from sklearn.utils import check_array
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._blocks import by_chunks
from sklearn_ensemble_theory._categories import (
    CategoricalColumns,
    encoder_of,
    fitted_categories,
    fitted_encoder,
)
from sklearn_ensemble_theory._category_options import Categories
from sklearn_ensemble_theory._compat import (
    Interval,
    RealNotInt,
    StrOptions,
    constraints_of,
    parameter_names,
    pruning_path,
)
from sklearn_ensemble_theory._documentation import documented
from sklearn_ensemble_theory._door import ReadsOnce, fit_context
from sklearn_ensemble_theory._features import Features, refuse_unread
from sklearn_ensemble_theory._learners import (
    BinnedTree,
    LeastSquaresTask,
    PreparedRounds,
    Task,
    WeighsClasses,
    is_tree,
    register,
)
from sklearn_ensemble_theory._rows import (
    has_columns,
    positive_weights,
    validate_data,
)
from sklearn_ensemble_theory._running import warn_user
from sklearn_ensemble_theory._scores import ClassifierMixin, RegressorMixin
from sklearn_ensemble_theory._typing import (
    ArrayLike,
    CategoriesLike,
    InteractionGroups,
    MatrixLike,
    RandomStateLike,
)

from ._columns import (
    MISSING,
    MOST_BINS,
    BinnedColumns,
    scikit_learn_merges,
)
from ._fit_to_bins import each_output, grow_on, takes_targets
from ._options import (
    QUANTILE_CRITERIA,
)
from ._packed import packed_trees
from ._shrinkage import shrink
from ._sklearn_trees import check_counts
from ._tree_arrays import (
    VALUES_AT_ONCE,
    GrownTree,
    dense_blocks,
    grown_tree,
    nodes_of,
    rows_as_read,
)
from ._vector_rounds import VectorTreeRounds
from ._weak_learners import (
    ROUNDS,
    BinnedMembers,
    BinnedTreeRounds,
    category_flags,
    classes_and_codes,
    weights_of_outputs,
)

# The types of numbers that are checked as they are; others become the first.
NUMBERS = [np.float64, np.float32]

# The codes of a sparse X may be so many: half a gigabyte.
MOST_CODES = 2**28

# From so many rows on a tree is laid out anew for them.
MANY_ROWS = 8192

# What the docstrings of both trees, and of their methods, say.
TEXTS = {
    "binned_tree": """
        The tree has the parameters, methods and attributes of scikit-learn's tree and is grown in
        the same way [Breiman et al. 1984; Shah, §4.2], but the thresholds are edges of bins. If no
        column has more than `max_bins` distinct values, these are all thresholds. On large data the
        tree is several times as fast, above all as the base learner of an ensemble, which cuts the
        columns into bins once for all its members.
        """,
    "max_bins": """
        max_bins : int, default=255
            The largest number of bins of a column, from 2 to 65,535. A column with no more distinct
            values gets a bin for each of them, any other column gets bins of about equal weight.
            Missing values have a separate bin, which is not counted. Gradient boosting is fastest
            with at most 255 bins.
        """,
    "of_max_bins": """
        Parameters
        ----------
        %(max_bins)s
        """,
    "rules_of_growth": """
        splitter : {"best", "random"}, default="best"
            "best" splits a node at the best edge of the best feature, "random" at the best of cuts
            drawn at random, one for each feature. The bins of these cuts are uniform at random
            between the smallest and the largest in the node.
        max_depth : int, default=None
            The largest depth. If None, nodes are split until they are pure or have fewer than
            `min_samples_split` rows.
        max_leaf_nodes : int, default=None
            If given, the nodes that decrease the impurity most are split first, until there are
            `max_leaf_nodes` leaves.
        min_samples_split : int or float, default=2
            The number of rows, or the share of all rows, that a node needs to be split.
        min_samples_leaf : int or float, default=1
            The least number of rows, or share of all rows, in a leaf.
        min_weight_fraction_leaf : float, default=0.0
            The least share of the weight of all rows in a leaf.
        min_impurity_decrease : float, default=0.0
            A node is split if the impurity, weighted by the share of the rows in the node,
            decreases by at least this.
        max_features : int, float, {"sqrt", "log2"} or None, default=None
            The number or the share of the features that are drawn at each node, or the square root
            or the logarithm of their number. None considers all features.
        """,
    "pruning_and_features": """
        ccp_alpha : float, default=0.0
            The complexity parameter of minimal cost-complexity pruning.
        random_state : int, RandomState instance or None, default=None
            Seed for the features of `max_features` and the cuts of `splitter="random"`. If neither
            is drawn, a seed decides between equally good splits, and None takes the first of them.
        categorical_features : array-like, "from_dtype", Categories or None, default="from_dtype"
            Which features are categorical: a mask, their indices, or their names. "from_dtype"
            takes the columns of a data frame with the dtype category (pandas) or Categorical or
            Enum (polars). ``Categories(columns, unseen="mean")`` predicts the mean over both
            children of a node for categories that `fit` has not seen, see
            :class:`~sklearn_ensemble_theory.trees.Categories`. Values may be of any type with a
            hash, for example text. A node sends a set of categories to the left. At most `max_bins`
            categories, and at most 255, have a bin of their own: those of the fewest rows share
            one, with a warning.
        cat_smooth : float, default=10.0
            For the search of splits, the mean of a category's targets is shrunk to the mean of the
            node. The factor is W / (W + `cat_smooth`), with W the weight of the category in the
            node; 0 shrinks nothing. The values of leaves are never shrunk. W is a number of rows,
            because integer weights are equivalent to repeated rows. If all weights are 1000 times
            as large, the fit shrinks less, like a fit to a thousand copies of each row. If weights
            do not count rows, divide them by their mean: W is then near the number of rows.
        interaction_cst : {"pairwise", "no_interactions"}, sequence of lists or None, default=None
            Groups (lists, tuples or sets) of features, by indices or names, that may interact: all
            features on a path from the root to a leaf are from one group. Features in no group form
            one together. "pairwise" allows any two features on a path, "no_interactions" one. The
            features of `max_features` are drawn from those that may be cut.
        """,
    "nodes": """
        tree_ : Tree
            The tree as scikit-learn's `Tree`, made when it is first asked for.
        %(categories_)s
        max_features_ : int
            The number of features considered at each node.
        feature_importances_ : ndarray of shape (n_features_in_,)
            The decrease of impurity by each feature; they sum to 1.
        n_outputs_ : int
            Number of columns of y.
        %(names_in_fit)s
        """,
    "cost_of_growth": """
        Binning takes O(n p log n) operations and each level of the tree O(n p). Values are read in
        single precision, as in scikit-learn, but for columns whose values it does not tell apart,
        such as seconds since 1970: these are read in double precision. Missing values go to the
        side with the larger decrease of impurity; in nodes that have seen none, to the side with
        more rows. Categories that `fit` or the node has not seen go with them, unless
        `categorical_features` has another option for categories that `fit` has not seen.
        """,
    "notes_on_growth": """
        Notes
        -----
        %(cost_of_growth)s
        How the best sets of categories are found [Breiman et al. 1984, theorem 4.5; Coppersmith et
        al. 1999] is said in :ref:`categories-of-trees` in the user guide.
        """,
    "integer_weights": """
        Integer weights are equivalent to repeating rows, with two exceptions: `min_samples_split`
        and `min_samples_leaf` count rows; and values that are missing in `predict` only go to the
        side with more rows.
        """,
    "binned_tree_references": """
        References
        ----------
        %(Shah)s

        L. Breiman, J. H. Friedman, R. A. Olshen and C. J. Stone (1984). *Classification and
        Regression Trees*. Wadsworth.

        D. Coppersmith, S. J. Hong and J. R. M. Hosking (1999). "Partitioning nominal attributes in
        decision trees". *Data Mining and Knowledge Discovery* 3, 197-217.
        """,
    "rows_to_predict": """
        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to predict.
        check_input : bool, default=True
            Whether to check X.
        """,
    "X_to_fit": """
        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows. NaN is a missing value. A sparse X gives the same tree as the same X as
            an array. It is grown on a code of two bytes for each value, zeros included.
        """,
}


@documented(TEXTS)
class BaseBinnedTree(ReadsOnce, BinnedTree):
    """What makes a binned tree of one of scikit-learn's trees: growth, predictions."""

    _get_param_names = parameter_names  # ensembles clone many trees
    _parameter_constraints: ClassVar[dict] = {
        "max_bins": [Interval(Integral, 2, MOST_BINS, closed="both")],
        "monotonic_cst": ["array-like", dict, None],
        "interaction_cst": [list, tuple, StrOptions({"pairwise", "no_interactions"}), None],
        "categorical_features": ["array-like", StrOptions({"from_dtype"}), Categories, None],
        "cat_smooth": [Interval(Real, 0.0, None, closed="left")],
    }
    max_bins: int
    max_features: Any
    ccp_alpha: float
    categorical_features: Any
    cat_smooth: float
    interaction_cst: Any
    _grown: GrownTree
    _encoder: CategoricalColumns | None
    criterion: str
    class_weight: Any  # of the classifier
    target_components: int | None  # of the regressor
    classes_: Any
    n_outputs_: int
    n_features_in_: int
    get_params: Callable[..., dict[str, Any]]
    set_params: Callable[..., Any]
    fit: Callable[..., Any]
    shrink = shrink

    # --- the fitted tree ----------------------------------------------------------------------

    def _scikit_learn_tree(self) -> Any:
        """The tree as scikit-learn's `Tree`, made when it is first asked for."""
        if "_grown" not in self.__dict__:
            raise AttributeError(f"This {type(self).__name__} has no attribute 'tree_' before fit.")
        return self._grown.tree

    def _replace_tree(self, tree: Any) -> None:
        self._grown.tree = tree

    # With a setter, because scikit-learn's pruning sets it.
    tree_ = property(_scikit_learn_tree, _replace_tree)

    def __sklearn_is_fitted__(self) -> bool:
        return "_grown" in self.__dict__

    # --- growth -------------------------------------------------------------------------------

    def _fit_to_bins(
        self, X: Any, y: Any, sample_weight: ArrayLike | None, check_input: bool
    ) -> None:
        """`fit` of both trees."""
        is_class = is_classifier(self)
        if check_input:
            X, y = validate_data(
                self,
                X,
                y,
                dtype=NUMBERS,
                ensure_all_finite="allow-nan",
                y_numeric=not is_class,
                learner=self,
                accept_sparse="csr",
                multi_output=has_columns(y)
                and (np.shape(y)[1] > 1 or (takes_targets(self) and not is_class)),
            )
        else:
            vars(self).pop("_encoder", None)
        # Refused before any work.
        Features.known_to(self, X.shape[1]).interactions(self.interaction_cst)
        y = np.asarray(y)
        if y.ndim == 2 and y.shape[1] == 1 and not is_class:
            y = y[:, 0]  # as in scikit-learn's trees, without a warning
        if y.ndim != 1 and (y.ndim != 2 or y.shape[1] < 2):
            raise ValueError(f"y must have one output; got an array of shape {y.shape}.")
        weight, kept = None, range(len(y))
        if sample_weight is not None:
            kept, weight = positive_weights(sample_weight, X)
        classes = by_class = None
        if is_class:
            check_classification_targets(y)
            classes, target = classes_and_codes(y)
            if self.class_weight is not None:
                by_class = weights_of_outputs(self.class_weight, classes, target)
        else:
            target = np.ascontiguousarray(y, dtype=np.float64)
            check_counts(self, target)
        if not isinstance(kept, range):
            X, target = X[kept], target[kept]
            by_class = None if by_class is None else by_class[kept]
        encoder = fitted_encoder(self)
        categorical = category_flags(self, X.shape[1]) if encoder is None else encoder.flags
        columns = BinnedColumns.of(
            X, self.max_bins, weight, two_bytes=True, categorical=categorical
        )
        columns.are_for_one_tree = True
        if by_class is not None:
            weight = by_class if weight is None else weight * by_class
            if not weight.max() > 0:
                raise ValueError(
                    "class_weight is 0 for the classes of all rows of positive weight."
                )
        grow_on(self, columns, target, weight, classes=classes)

    categories_ = property(fitted_categories)

    def cost_complexity_pruning_path(
        self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Any:
        """Compute the pruning path of minimal cost-complexity pruning.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The training rows.
        y : array-like of shape (n_samples,)
            The target.
        sample_weight : array-like of shape (n_samples,), default=None
            The weights of the rows.

        Returns
        -------
        ccp_path : Bunch
            With `ccp_alphas` and `impurities`, as in scikit-learn's trees.

        Raises
        ------
        ValueError
            If X has categorical features.
        """
        self._validate_params()  # type: ignore[attr-defined]
        if encoder_of(X, self.categorical_features, self.max_bins) is not None:
            raise ValueError(
                "cost_complexity_pruning_path requires X without categorical features."
            )
        full = clone(self).set_params(ccp_alpha=0.0).fit(X, y, sample_weight)
        grown: Any = grown_tree(full)
        return pruning_path(grown.copy_of_tree())

    # --- predictions --------------------------------------------------------------------------

    @by_chunks
    def predict(self, X: MatrixLike, check_input: bool = True) -> np.ndarray:
        """Predict the means of the leaves, or their most frequent classes.

        %(rows_to_predict)s

        %(returns_outputs)s
        """
        values = self._values_at(X, check_input)
        if not is_classifier(self):
            return values[:, 0] if values.shape[1] == 1 else values
        found = [
            labels.take(shares.argmax(axis=1))
            for labels, shares in zip(each_output(self.classes_), self._shares(values))
        ]
        return found[0] if self.n_outputs_ == 1 else np.column_stack(found)

    @by_chunks
    def apply(self, X: MatrixLike, check_input: bool = True) -> np.ndarray:
        """The leaf that each row falls into.

        Parameters
        ----------
        %(rows_to_predict)s

        Returns
        -------
        leaves : ndarray of shape (n_samples,)
            Indices of nodes.
        """
        found: np.ndarray = super().apply(X, check_input)  # type: ignore[misc]
        return found

    def _shares(self, values: np.ndarray) -> list[np.ndarray]:
        """The shares of the classes of each output."""
        ends = np.cumsum([len(labels) for labels in each_output(self.classes_)])
        return np.split(values, ends[:-1], axis=1)

    def _values_at(self, X: Any, check_input: bool) -> np.ndarray:
        """The values (n, K) of the leaves of rows, without `tree_` where there are loops for it."""
        check_is_fitted(self)
        is_large = isinstance(X, np.ndarray) and X.ndim == 2 and X.size > VALUES_AT_ONCE
        is_large = is_large and fitted_encoder(self) is None
        if not (is_large and check_input):
            X, check_input = self._validate_X_predict(X, check_input), False
        parts = [self._values_of_rows(rows) for rows in self._as_read(X, check_input)]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _values_of_rows(self, rows: np.ndarray) -> np.ndarray:
        nodes = nodes_of(self)
        width = nodes.value.shape[1]
        if len(rows) >= MANY_ROWS:  # which pay for a layout of the nodes
            given: dict[str, Any] = {"width": width, "leaf_outputs": lambda _, value: value}
            sums = packed_trees([self], n_rows=len(rows), **given)
            if sums is not None:
                sums.add(rows, found := np.zeros((len(rows), width)))
                return found
        return nodes.values_of_rows(rows)

    def _as_read(self, X: Any, check_input: bool) -> Iterator[np.ndarray]:
        """The rows of X in dense parts as trees read them, each checked where asked for."""
        wide = nodes_of(self).wide
        step = max(VALUES_AT_ONCE // max(X.shape[1], 1), 1)
        for start in range(0, max(X.shape[0], 1), step):
            rows = X[start : start + step]
            if sp.issparse(rows):
                rows = rows.toarray()
            if check_input:
                if start == 0:
                    rows = self._validate_X_predict(rows, True)
                else:  # the number of features and their names have been checked
                    rows = check_array(
                        rows, dtype=NUMBERS, ensure_all_finite="allow-nan", input_name="X"
                    )
            yield rows_as_read(rows, wide)

    def _validate_X_predict(self, X: Any, check_input: bool) -> Any:
        if not isinstance(check_input, (bool, int, np.bool_)):
            raise TypeError(f"check_input must be a bool, got {type(check_input).__name__}.")
        if check_input:
            checks: dict[str, Any] = {"accept_sparse": "csr", "ensure_all_finite": "allow-nan"}
            X = validate_data(self, X, reset=False, learner=self, dtype=NUMBERS, **checks)
        else:
            refuse_unread(X)
            X = super()._validate_X_predict(X, False)  # type: ignore[misc]
        return rows_as_read(X, nodes_of(self).wide)

    def _support_missing_values(self, X: Any) -> bool:
        # scikit-learn 1.6 refuses missing values in `predict` of trees with `monotonic_cst`.
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.target_tags.multi_output = takes_targets(self)
        tags.target_tags.single_output = True
        return tags


@documented(TEXTS)
class BinnedTreeRegressor(BaseBinnedTree, RegressorMixin, DecisionTreeRegressor):
    """Histogram-based regression tree: columns are binned before the tree is grown.

    %(binned_tree)s

    %(of_max_bins)s
    criterion : {"squared_error", "absolute_error", "quantile", "poisson"}, \
            default="squared_error"
        What a split minimises: the squared error, the absolute error, the pinball loss, or half the
        mean Poisson deviance. For the absolute error the value of a node is the median of its
        targets; for the pinball loss it is their quantile of level `quantile`. If all numbers
        between two targets are quantiles, the value is the middle, as in scikit-learn. Medians and
        quantiles require `monotonic_cst=None` and features that are not categorical.
    %(rules_of_growth)s
    l2_regularization : float, default=0.0
        With criterion="squared_error", the value of a node is the mean of y, plus the sum of the
        residuals about it divided by (the weight of the node plus this number).
    min_weight_leaf : float or None, default=None
        The least weight of a leaf. In rounds of the second order of gradient boosting it is the
        least sum of second derivatives, and None is 0.001. In all other trees None is 0.
    features_per_tree : int, float or None, default=None
        The number or the share (rounded down) of the features that are drawn for the tree. None
        uses all features.
    target_components : int or None, default=None
        For several targets: splits are compared by so many principal components of the targets (in
        gradient boosting, of the negative gradients), as in the sketches of Iosipovoi and
        Vakhrushev (2022). Leaves still get a value for each target. None compares by all targets.
    monotonic_cst : array-like of int of shape (n_features,) or dict, default=None
        1, -1 or 0 for predictions that increase, decrease or are free in a feature. A dict has the
        signs of the constrained features by their names. Impurities, importances and pruning are
        those of the values that the constraint leaves.
    %(pruning_and_features)s
    quantile : float, default=0.5
        The level, in (0, 1), of the quantiles of `criterion="quantile"`.

    Attributes
    ----------
    %(nodes)s

    See Also
    --------
    BinnedTreeClassifier : The tree for classes.
    GradientBoostingRegressor : Boosting of regression trees.
    RandomForestRegressor : The average of randomised trees.

    %(notes_on_growth)s

    Trees of ensembles are bound to the bins of all rows: edges do not move to where the data of a
    node are dense. With 255 bins this rarely changes the accuracy. The exception is ensembles of
    full trees that draw features (`max_features`), for which forests use more bins. Every threshold
    is halfway between two neighbouring values of the training data.

    For medians and quantiles, the loss of a cut is exactly that of the best constant on both sides.
    The only rounding is of the targets, to 2⁻⁵² of the sum of their distances from the middle one.
    They too take O(n p) for each level: while rows move from one side to the other, a quantile
    moves a few rows in the order of the targets.

    %(integer_weights)s

    %(binned_tree_references)s

    L. Iosipovoi and A. Vakhrushev (2022). "SketchBoost: fast gradient boosted decision tree for
    multioutput problems". *Advances in Neural Information Processing Systems* 35, 25422-25435.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.tree import export_text
    >>> from sklearn_ensemble_theory.trees import BinnedTreeRegressor
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
        **constraints_of(DecisionTreeRegressor),
        **constraints_of(BaseBinnedTree),
        "criterion": [StrOptions({"squared_error", "absolute_error", "quantile", "poisson"})],
        "quantile": [Interval(Real, 0.0, 1.0, closed="neither")],
        "l2_regularization": [Interval(Real, 0.0, None, closed="left")],
        "min_weight_leaf": [Interval(Real, 0, None, closed="left"), None],
        "features_per_tree": [
            Interval(RealNotInt, 0, 1, closed="right"),
            Interval(Integral, 1, None, closed="left"),
            None,
        ],
        "target_components": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(
        self,
        *,
        max_bins: int = 255,
        criterion: Literal[
            "squared_error", "absolute_error", "quantile", "poisson"
        ] = "squared_error",
        splitter: Literal["best", "random"] = "best",
        max_depth: int | None = None,
        max_leaf_nodes: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        min_impurity_decrease: float = 0.0,
        max_features: float | Literal["sqrt", "log2"] | None = None,
        l2_regularization: float = 0.0,
        min_weight_leaf: float | None = None,
        features_per_tree: float | None = None,
        target_components: int | None = None,
        monotonic_cst: ArrayLike | dict[str, int] | None = None,
        ccp_alpha: float = 0.0,
        random_state: RandomStateLike = None,
        categorical_features: CategoriesLike | Literal["from_dtype"] | None = "from_dtype",
        cat_smooth: float = 10.0,
        interaction_cst: InteractionGroups | Literal["pairwise", "no_interactions"] | None = None,
        quantile: float = 0.5,
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
        self.categorical_features = categorical_features
        self.cat_smooth = cat_smooth
        self.interaction_cst = interaction_cst
        self.quantile = quantile
        self.l2_regularization = l2_regularization
        self.min_weight_leaf = min_weight_leaf
        self.features_per_tree = features_per_tree
        self.target_components = target_components

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        check_input: bool = True,
    ) -> Self:
        """Grow the tree.

        %(X_to_fit)s
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets; with criterion="poisson" non-negative and not all 0. A tree of several targets
            has a value for each in every leaf, and is split by the sum of their squared errors.
        %(sample_weight)s
        check_input : bool, default=True
            If False, X must be an array or a CSR matrix of floats and y one of float64, which are
            not checked.

        %(returns_self)s

        Raises
        ------
        ValueError
            If X has infinite values, y has values that the criterion does not
            allow, or parameters cannot be combined. With several columns of y also for
            `monotonic_cst`, `interaction_cst`, other criteria than the squared error and more than
            255 bins.
        """
        self._fit_to_bins(X, y, sample_weight, check_input)
        return self

    def _compute_partial_dependence_recursion(self, grid: Any, target_features: Any) -> Any:
        if fitted_encoder(self) is not None or nodes_of(self).sets is not None:
            raise ValueError(
                f"Partial dependence of a {type(self).__name__} with categorical features requires "
                "method='brute'."
            )
        if self.n_outputs_ > 1:  # scikit-learn's recursion reads the first output only
            raise ValueError(
                f"Partial dependence of a {type(self).__name__} of several targets requires "
                "method='brute'."
            )
        return super()._compute_partial_dependence_recursion(grid, target_features)


@documented(TEXTS)
class BinnedTreeClassifier(BaseBinnedTree, WeighsClasses, ClassifierMixin, DecisionTreeClassifier):
    """Histogram-based classification tree: columns are binned before the tree is grown.

    %(binned_tree)s

    %(of_max_bins)s
    criterion : {"gini", "log_loss", "entropy"}, default="gini"
        The impurity that a split decreases: the Gini index or the entropy (two names).
    %(rules_of_growth)s
    monotonic_cst : array-like of int of shape (n_features,) or dict, default=None
        For two classes: 1, -1 or 0 for probabilities of the second class that increase, decrease or
        are free in a feature. A dict has the signs of the constrained features by their names.
        Impurities, importances and pruning are those of the values that the constraint leaves.
    class_weight : dict, list of dict, "balanced" or None, default=None
        Weights of the classes, multiplied with the sample weights. "balanced" weighs classes
        inversely to their numbers of rows. For several outputs, a list of a dict for each; their
        weights are multiplied.
    %(pruning_and_features)s

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,) or list of such arrays
        The class labels; a list of those of each output where y has several columns.
    n_classes_ : int or ndarray of shape (n_outputs,)
        The number of classes.
    %(nodes)s

    See Also
    --------
    BinnedTreeRegressor : The tree for real targets.
    AdaBoostClassifier : Boosting of classifiers.
    RandomForestClassifier : The average of randomised trees.

    %(notes_on_growth)s

    `AdaBoostClassifier` cuts the columns into bins once for all rounds, unless features or cuts are
    drawn or classes are weighted.

    %(integer_weights)s

    %(binned_tree_references)s

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn_ensemble_theory.trees import BinnedTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = BinnedTreeClassifier(max_leaf_nodes=3).fit(X, y)
    >>> int(tree.get_n_leaves()), float(tree.tree_.threshold[0].round(2))
    (3, 0.8)
    """

    _parameter_constraints: ClassVar[dict] = {
        **constraints_of(DecisionTreeClassifier),
        **constraints_of(BaseBinnedTree),
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
        monotonic_cst: ArrayLike | dict[str, int] | None = None,
        class_weight: dict | list[dict] | Literal["balanced"] | None = None,
        ccp_alpha: float = 0.0,
        random_state: RandomStateLike = None,
        categorical_features: CategoriesLike | Literal["from_dtype"] | None = "from_dtype",
        cat_smooth: float = 10.0,
        interaction_cst: InteractionGroups | Literal["pairwise", "no_interactions"] | None = None,
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
        self.categorical_features = categorical_features
        self.cat_smooth = cat_smooth
        self.interaction_cst = interaction_cst

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        check_input: bool = True,
    ) -> Self:
        """Grow the tree.

        %(X_to_fit)s
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Class labels. A tree of several outputs has the shares of the classes of each in every
            leaf, and is split by the mean of their impurities.
        %(sample_weight)s
        check_input : bool, default=True
            If False, X must be an array or a CSR matrix of floats, which is not checked.

        %(returns_self)s

        Raises
        ------
        ValueError
            If X has infinite values, or parameters cannot be combined. With
            several columns of y also for `monotonic_cst`, `interaction_cst` and more than 255 bins.
        """
        self._fit_to_bins(X, y, sample_weight, check_input)
        return self

    @by_chunks
    def predict_proba(self, X: MatrixLike, check_input: bool = True) -> Any:
        """Predict the shares of the classes in the leaves.

        %(rows_to_predict)s

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes), or list of such arrays
            Probabilities, in the order of `classes_`; a list of those of each output where y has
            several columns.
        """
        shares = self._shares(self._values_at(X, check_input))
        return shares[0] if self.n_outputs_ == 1 else shares

    @by_chunks
    def predict_log_proba(self, X: MatrixLike, check_input: bool = True) -> Any:
        """Predict the logarithms of the class probabilities.

        %(rows_to_predict)s

        Returns
        -------
        log_proba : ndarray of shape (n_samples, n_classes), or list of such arrays
            Log-probabilities, -inf for 0, in the order of `classes_`.
        """
        with np.errstate(divide="ignore"):
            shares = [np.log(part) for part in self._shares(self._values_at(X, check_input))]
        return shares[0] if self.n_outputs_ == 1 else shares


# --- what ensembles call instead of `fit` and `predict` -------------------------------------------


def rounds_of_regressor(
    tree: BinnedTreeRegressor, X: np.ndarray, weight: np.ndarray | None, task: Task
) -> PreparedRounds | None:
    # Trees are grown one by one for other tasks, and with parameters that rounds do not have.
    if (
        not isinstance(task, LeastSquaresTask)
        or tree.criterion != "squared_error"
        or tree.splitter != "best"
        or tree.ccp_alpha > 0
        or (task.has_vectors and tree.max_bins > MISSING)
    ):
        return None
    rounds = VectorTreeRounds if task.has_vectors else BinnedTreeRounds
    return rounds(tree, X, weight, task)


def rounds_of_classifier(
    tree: BinnedTreeClassifier, X: np.ndarray, weight: np.ndarray | None, task: Task
) -> PreparedRounds | None:
    # Parameters that draw (each clone has a seed of its own), weigh classes or prune.
    if tree.splitter == "random" or tree.max_features is not None:
        return None
    if task.kind not in ROUNDS or tree.ccp_alpha > 0:
        return None
    rounds: Any = ROUNDS[task.kind](tree, X, weight, task)
    return rounds


def values_of_rows(tree: BinnedTreeRegressor, X: np.ndarray) -> np.ndarray:
    return tree.predict(X, check_input=False)


def codes_of_rows(tree: BinnedTreeClassifier, X: Any) -> np.ndarray:
    values = [nodes_of(tree).values_of_rows(np.asarray(rows)) for _, rows in dense_blocks(X)]
    return np.concatenate(values).argmax(axis=1)


def labels_of_rows(tree: BinnedTreeClassifier, X: np.ndarray) -> np.ndarray:
    return tree.classes_.take(codes_of_rows(tree, X))


register(
    BinnedTreeRegressor,
    prepare_rounds=rounds_of_regressor,
    prepare_members=BinnedMembers,
    predict_validated=values_of_rows,
    is_tree=True,
)
register(
    BinnedTreeClassifier,
    prepare_rounds=rounds_of_classifier,
    prepare_members=BinnedMembers,
    predict_validated=labels_of_rows,
    predict_codes=codes_of_rows,
    is_tree=True,
)


# --- the binned tree of one of scikit-learn's ----------------------------------------------------

# The classes that have an equivalent, and the names of its criteria.
REGRESSION = (BinnedTreeRegressor, ("squared_error", "absolute_error", "poisson"))
CLASSIFICATION = (BinnedTreeClassifier, ("gini", "log_loss", "entropy"))
EQUIVALENTS: dict[type, tuple[Any, tuple[str, ...]]] = {
    DecisionTreeRegressor: REGRESSION,
    ExtraTreeRegressor: REGRESSION,
    DecisionTreeClassifier: CLASSIFICATION,
    ExtraTreeClassifier: CLASSIFICATION,
}


def binned_equivalent(tree: Any, max_bins: int, random_cuts: bool = False) -> Any:
    """The binned tree with the parameters of one of scikit-learn's decision trees.

    None for any other estimator, subclasses included, and for parameters that a binned tree does
    not have or that mean something else in it (random cuts, unless `random_cuts`, by which ones
    that are uniform over bins, not over values, may replace them).
    """
    if type(tree) not in EQUIVALENTS:
        return None
    kind, criteria = EQUIVALENTS[type(tree)]
    parameters = tree.get_params(deep=False)
    if not isinstance(parameters["criterion"], str) or parameters["criterion"] not in criteria:
        return None
    if parameters["splitter"] != "best" and not random_cuts:
        return None
    if parameters["criterion"] in QUANTILE_CRITERIA and parameters["monotonic_cst"] is not None:
        return None
    return kind(max_bins=max_bins, **parameters)


def told_apart(
    tree: Any, X: Any, y: np.ndarray, random_cuts: bool = False, rows: np.ndarray | None = None
) -> Any:
    """The estimator, or one of our trees in place of scikit-learn's that would merge values of X.

    Its bins are all values of a column, up to 65,535; of several outputs 255 bins. It is to be
    fitted to these rows of X and y, None for all of them. The codes of a sparse X are stored for
    all of its values, zeros included: where these are too many, there is a warning.
    """
    is_numeric = isinstance(X, np.ndarray) or sp.issparse(X)
    is_numeric = is_numeric and X.ndim == 2 and X.dtype.kind in "fiu"
    if not is_tree(tree) or not is_numeric or not scikit_learn_merges(X, rows):
        return tree
    if sp.issparse(X) and np.prod(X.shape, dtype=float) > MOST_CODES:
        warn_user(
            f"scikit-learn's trees read a sparse X of more than {MOST_CODES:,} values, zeros "
            "included, in single precision, which merges values of a column: subtract a constant "
            "from its values, or pass fewer columns."
        )
        return tree
    found = binned_equivalent(tree, MOST_BINS if y.ndim == 1 else MISSING, random_cuts)
    return tree if found is None or (y.ndim > 1 and not takes_targets(found)) else found
