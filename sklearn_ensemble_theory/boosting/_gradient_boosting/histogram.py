"""`HistGradientBoosting*`: gradient boosting with the parameters of scikit-learn's classes.

A setting of `GradientBoosting*`, whose fit and predictions these classes have: trees in bins with
31 leaves of at least 20 rows, rounds of the second order, early stopping on large data. Parameters
of `GradientBoosting*` that scikit-learn's classes do not have are attributes of the class.
"""

import math
from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils import check_random_state, resample
from sklearn.utils.validation import check_is_fitted

from ..._categories import fitted_encoder
from ..._compat import HasMethods, Interval, RealNotInt, StrOptions
from ..._door import CLASS_WEIGHT, fit_context
from ..._rows import Rows, validate_data
from ..._typing import ArrayLike, InteractionGroups, LossLike, MatrixLike, RandomStateLike
from ...trees._sklearn_trees import fits_single_precision
from .._risk import EmpiricalRisk
from ..losses import Loss
from ..losses._losses import make_loss
from .ensemble import AdditiveModel
from .estimators import GradientBoostingClassifier, GradientBoostingRegressor
from .fit import BaseGradientBoosting, GivenRows

# "auto" stops early on more rows than this. A metric of training rows is that of as many.
MANY_ROWS = 10_000


class HistogramBoosting(BaseGradientBoosting):
    """What makes `HistGradientBoosting*` of `GradientBoosting*`."""

    # Parameters of `GradientBoosting*` that these classes do not have.
    estimator: Any = None
    init: Any = None
    output_bound: Any = None
    n_jobs: Any = None
    min_weight_leaf: Any = None
    features_per_tree: Any = None
    _vectors_parameter: ClassVar[str] = ""
    criterion, step, subsample, ccp_alpha = "deprecated", "fixed", 1.0, 0.0
    reoptimize_leaves = True
    keep_training_rows = False
    second_order = False  # where the loss has a second derivative: `_takes_second_order`
    validation_fraction: Any
    _fit_chunks: Any = None
    max_iter: int
    _first_scores: tuple[list[float], list[float]]
    _parameter_constraints: ClassVar[dict] = {
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "max_leaf_nodes": [Interval(Integral, 2, None, closed="left"), None],
        "max_depth": [Interval(Integral, 1, None, closed="left"), None],
        "min_samples_leaf": [Interval(Integral, 1, None, closed="left")],
        "max_features": [Interval(RealNotInt, 0, 1, closed="right")],
        "max_bins": [Interval(Integral, 2, 255, closed="both")],
        "early_stopping": [StrOptions({"auto"}), "boolean"],
        "validation_fraction": [
            Interval(RealNotInt, 0, 1, closed="neither"),
            Interval(Integral, 1, None, closed="left"),
            None,
        ],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        **{
            name: BaseGradientBoosting._parameter_constraints[name]
            for name in (
                "l2_regularization",
                "categorical_features",
                "monotonic_cst",
                "interaction_cst",
                "warm_start",
                "scoring",
                "tol",
                "verbose",
                "random_state",
                "cat_smooth",
            )
        },
    }

    @fit_context(prefer_skip_nested_validation=False)
    def fit(  # type: ignore[override]
        self,
        X: MatrixLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        X_val: MatrixLike | None = None,
        y_val: ArrayLike | None = None,
        sample_weight_val: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        offset: ArrayLike | None = None,
        offset_val: ArrayLike | None = None,
    ) -> Self:
        """Boost trees.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights. Rows of weight 0 are left out.
        X_val, y_val : array-like of shape (n_val, n_features) and (n_val,), default=None
            Rows that decide when to stop; then none of X are held out.
        sample_weight_val : array-like of shape (n_val,), default=None
            Weights of these rows.
        groups : array-like of shape (n_samples,), default=None
            Labels of the rows that belong together: early stopping holds out whole groups.
        offset : array-like of shape (n_samples,), default=None
            What is known of the scores, on the scale of the link, and not fitted; for instance the
            logarithm of the exposure. Of one score a row.
        offset_val : array-like of shape (n_val,), default=None
            The offset of `X_val`.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If the targets are outside the loss's domain, rows for early stopping are given with
            ``early_stopping=False``, or `max_iter` is below the rounds that a warm start continues.
        """
        if self.warm_start and self.__sklearn_is_fitted__() and self.max_iter < self.n_iter_:
            raise ValueError(
                f"max_iter={self.max_iter} must be larger than or equal to n_iter_={self.n_iter_} "
                "when warm_start==True"
            )
        if X_val is not None and self.early_stopping is False:
            raise ValueError(
                "X_val and y_val are passed to fit while at the same time early_stopping is "
                "False; use early_stopping='auto' or True."
            )
        auto = isinstance(self.early_stopping, str)
        self.do_early_stopping_ = X_val is not None if auto else bool(self.early_stopping)
        validation = GivenRows(X_val, y_val, sample_weight_val, offset_val)
        return self._fit_rows(X, y, sample_weight, validation, groups, offset)

    @property
    def n_iter_(self) -> int:
        """The number of rounds."""
        check_is_fitted(self)
        return len(self.estimators_)

    # --- the parts of the fit ---------------------------------------------------------------------

    def _read(self, X: Any, y: Any, sample_weight: Any, learner: Any, continued: bool) -> Any:
        found = super()._read(X, y, sample_weight, learner, continued)
        learner.max_features = math.ceil(self.max_features * self.n_features_in_)
        if isinstance(self.early_stopping, str) and len(found[0]) > MANY_ROWS:
            self.do_early_stopping_ = True
        return found

    def _validate(self, X: Any, *y: Any, learner: Any = None, **options: Any) -> Any:
        """X, and y where it is given; infinite values are the largest in single precision."""
        learner = self._base_learner() if learner is None else learner
        options |= {"dtype": [np.float64, np.float32], "ensure_all_finite": False}
        found = validate_data(self, X, *y, learner=learner, **options)
        read, *y = found if y else (found,)
        if not fits_single_precision(read):
            largest = np.finfo(np.float32).max
            read = np.clip(read, -largest, largest)
        return (read, *y) if y else read

    def _takes_second_order(self, loss: Loss, curved: bool) -> bool:
        return curved

    def _seed_of_rounds(self) -> Any:
        # As in scikit-learn, the rounds are random only where features are drawn: equally good
        # splits are drawn in the same way in every fit.
        is_fixed = self.random_state is None and self.max_features == 1
        return 0 if is_fixed else self.random_state

    def _seed_of_split(self, rng: np.random.RandomState) -> int:
        """The seed of scikit-learn's validation split."""
        is_own = isinstance(self.random_state, np.random.RandomState)
        rng = rng if is_own else check_random_state(self.random_state)
        return int(rng.randint(np.iinfo(np.uint32).max, dtype="u8"))

    # --- early stopping: scores are larger where they are better ----------------------------------

    @property
    def _most_rounds(self) -> int:
        return self.max_iter

    @property
    def _patience(self) -> int | None:
        return self.n_iter_no_change if self.do_early_stopping_ else None

    def _judge_of_training(
        self, train: Rows, metric_of: Callable[[Rows], Any], seed: int | None
    ) -> Callable[[np.ndarray], float] | None:
        if not self.do_early_stopping_ or self.scoring == "loss":
            return None
        part: Any = slice(None)
        if len(train) > MANY_ROWS:
            stratify = train.y if is_classifier(self) else None
            part = resample(
                np.arange(len(train)),
                n_samples=MANY_ROWS,
                replace=False,
                random_state=seed or 0,
                stratify=stratify,
            )
            train = train.take(part)
        metric = metric_of(train)
        return lambda u: metric(u[part])

    def _before_rounds(
        self, model: AdditiveModel, risk: EmpiricalRisk, u: np.ndarray, held_out: Any, judge: Any
    ) -> None:
        self._first_scores = ([], [])
        if not self.do_early_stopping_:
            return
        train = -risk.value(u) if judge is None else judge(u)
        sign = -1 if judge is None else 1
        held = [] if held_out is None else [sign * held_out.score()]
        self._first_scores = ([train], held)

    def _scores_of_rounds(self, model: AdditiveModel) -> tuple[list[float], list[float]]:
        """The scores of the training rows and of those held out; none without early stopping."""
        if not self.do_early_stopping_:
            return [], []
        train, held = model.judged_scores, model.validation_scores
        if self.scoring == "loss":
            train, held = [-risk for risk in model.train_scores], [-risk for risk in held]
        first, first_held = self._first_scores
        return [*first, *train], [*first_held, *held]

    def _should_stop(self, scores: Sequence[float]) -> bool:
        """Whether none of the last scores is better than the one before them."""
        patience = int(self.n_iter_no_change)
        if len(scores) <= patience:
            return False
        return max(scores[-patience:]) <= scores[-1 - patience] + self.tol

    def _is_no_better(self, model: AdditiveModel) -> bool:
        train, held = self._scores_of_rounds(model)
        return self._should_stop(held or train)

    def _fitted_attributes(
        self, model: AdditiveModel, learner: Any, classes: np.ndarray | None, followed: bool
    ) -> dict:
        found = super()._fitted_attributes(model, learner, classes, followed)
        train, held = self._scores_of_rounds(model)
        encoder = fitted_encoder(self)
        return found | {
            "train_score_": np.array(train),
            "validation_score_": np.array(held),
            "is_categorical_": None if encoder is None else encoder.flags,
            "_judged_scores": list(model.judged_scores),
        }

    # --- scikit-learn's conventions ---------------------------------------------------------------

    get_metadata_routing = BaseEstimator.get_metadata_routing

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags


class HistGradientBoostingRegressor(HistogramBoosting, GradientBoostingRegressor):
    """Gradient boosting of real targets by trees of 31 leaves.

    The settings of LightGBM and of scikit-learn's class of this name, on the trees and with the fit
    of `GradientBoostingRegressor`: columns are cut into bins, trees grow leaf by leaf to 31
    leaves of at least 20 rows, and rounds are of the second order, with splits by G²/(H + l2) and
    leaves -G/(H + l2) (Friedman, Hastie and Tibshirani 2000; Ke et al. 2017). On more than 10,000
    rows a tenth is held out to decide when to stop. On a few hundred noisy rows 100 rounds may be
    too many, which ``early_stopping=True`` finds out.

    Parameters
    ----------
    loss : str or object, default="squared_error"
        "squared_error", "absolute_error", "gamma" and "poisson" (logarithmic link; targets above 0,
        or of at least 0), "quantile", or any object with methods ``value(y, u)`` and
        ``gradient(y, u)``, such as an instance of a class in `boosting.losses`: among them
        `TweedieLoss` and, for shares of successes, `BinomialLoss`.
    quantile : float, default=None
        The quantile of ``loss="quantile"``, strictly between 0 and 1.
    learning_rate : float, default=0.1
        Factor of the values of all leaves.
    max_iter : int, default=100
        The largest number of rounds.
    max_leaf_nodes : int or None, default=31
        The largest number of leaves of a tree; nodes are split in the order of their gain. None
        sets no limit.
    max_depth : int or None, default=None
        The largest depth of a tree; None sets no limit.
    min_samples_leaf : int, default=20
        The least number of rows in a leaf.
    l2_regularization : float, default=0.0
        Added to the sum of second derivatives of a node, in its value and in its gain.
    max_features : float, default=1.0
        Share of the features that are drawn at each node, rounded up.
    max_bins : int, default=255
        The largest number of bins of a column, from 2 to 255. Missing values have one of their own.
    categorical_features : array-like, "from_dtype" or None, default="from_dtype"
        Which features are categorical, by a mask, their indices or their names. "from_dtype" takes
        the columns of a data frame with the dtype category (pandas) or Categorical or Enum
        (polars). Of more than `max_bins` categories the rarest share a bin. See
        `BinnedTreeRegressor`.
    monotonic_cst : array-like of int of shape (n_features,), dict or None, default=None
        1, -1 or 0 for each feature, or for names of features: the prediction increases with it,
        decreases with it, or is free.
    interaction_cst : {"pairwise", "no_interactions"}, sequence of lists or None, default=None
        Which features may interact: all features that are cut on a path from the root to a leaf are
        from one of these groups (lists, tuples or sets) of indices or names. Features that are in
        no group form one together. "pairwise" allows any two features on a path, "no_interactions"
        one.
    warm_start : bool, default=False
        Continue the previous fit with further rounds, up to `max_iter`.
    early_stopping : "auto" or bool, default="auto"
        Whether to stop where the score of held-out rows no longer improves. "auto" does so for more
        than 10,000 rows, or where `X_val` is given to `fit`.
    scoring : str, callable or None, default="loss"
        The score that decides: minus the loss, the name of a scorer of scikit-learn's, a scorer
        ``scorer(estimator, X, y)``, or R² (None). It gets ``sample_weight=`` where rows
        have weights.
    validation_fraction : float, int or None, default=0.1
        Share or number of the rows that early stopping holds out. With None the score of the
        training rows decides.
    n_iter_no_change : int, default=10
        Early stopping ends the rounds where none of the last `n_iter_no_change` scores is better
        than the one before them by more than `tol`. All rounds are kept.
    tol : float, default=1e-7
        Tolerance of `n_iter_no_change`.
    verbose : int, default=0
        1 prints progress every few seconds, 2 in every round.
    random_state : int, RandomState instance or None, default=None
        Seeds the draws of features and between equally good splits, and the validation split, which
        has scikit-learn's rows. None makes only the draws of features and this split random.
    cat_smooth : float, default=10.0
        How much the means of small categories are shrunk in the search of splits, in units of
        second derivatives. scikit-learn's class has no such parameter.

    Attributes
    ----------
    do_early_stopping_ : bool
        Whether early stopping was used.
    n_iter_ : int
        Number of rounds.
    n_trees_per_iteration_ : int
        Number of trees of a round, 1.
    train_score_ : ndarray of shape (n_iter_ + 1,)
        The scores of the training rows before the first round and after each; a metric is that of
        at most 10,000 rows. Empty without early stopping.
    validation_score_ : ndarray of shape (n_iter_ + 1,)
        The same of the held-out rows. Empty without early stopping, or without such rows.
    is_categorical_ : ndarray of shape (n_features,) or None
        Which features are categorical; None where none is.
    categories_ : list of n_features arrays or None
        The categories of each categorical feature, in increasing order; None for other features.
    estimators_ : ndarray of shape (n_iter_, n_trees_per_iteration_)
        The trees.
    feature_importances_ : ndarray of shape (n_features,)
        Mean importances of the trees, of sum 1.
    train_scores_ : ndarray of shape (n_iter_,)
        The weighted mean of the loss on the training rows after each round.
    validation_scores_ : ndarray of shape (n_iter_,)
        The same on the held-out rows, or their metric, if there are any.
    steps_ : ndarray of shape (n_iter_,)
        The factors of the trees: the learning rate.
    stop_reason_ : {"n_estimators", "early stopping", "callback", "weak learner"}
        Why the rounds ended; "n_estimators" where there were `max_iter`.
    n_estimators_ : int
        Number of rounds, as `n_iter_`.
    init_ : fitted estimator
        A dummy estimator with the constant prediction before the first round.
    initial_scores_ : float or ndarray of shape (n_trees_per_iteration_,)
        The constant scores before the first round.
    loss_ : Loss
        The loss.
    estimator_ : estimator
        The tree that was grown in each round.
    max_features_ : int
        The number of features considered at each node.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of features seen during `fit`, where they are all strings.

    See Also
    --------
    GradientBoostingRegressor : Other losses, base learners and steps; depth 3 by default.
    sklearn.ensemble.HistGradientBoostingRegressor : scikit-learn's class.

    Notes
    -----
    A round takes O(n p) for each level of a tree, and the codes of the bins one byte for each value
    of X. For the squared error the second derivative is 1, and rounds of both orders are the same;
    otherwise no leaf has a sum of second derivatives below 0.001, so that sample weights should be
    of the order of 1. Losses without a second derivative
    ("absolute_error", "quantile") have rounds of the first order, whose leaves are medians or
    quantiles.

    X is dense; missing values (NaN) and infinite ones are accepted, and trees read single
    precision. Rows of weight 0 are left out.

    References
    ----------
    J. Friedman, T. Hastie and R. Tibshirani (2000). "Additive logistic regression: a statistical
    view of boosting". *The Annals of Statistics* 28(2), 337-407.

    G. Ke et al. (2017). "LightGBM: a highly efficient gradient boosting decision tree". *Advances
    in Neural Information Processing Systems* 30.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_ensemble_theory import HistGradientBoostingRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = HistGradientBoostingRegressor(max_iter=50).fit(X, y)
    >>> model.score(X, y) > 0.8
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        **HistogramBoosting._parameter_constraints,
        "loss": [
            StrOptions({"squared_error", "absolute_error", "gamma", "poisson", "quantile"}),
            HasMethods(["value", "gradient"]),
        ],
        "quantile": [Interval(Real, 0, 1, closed="both"), None],
    }

    def __init__(
        self,
        loss: str | LossLike = "squared_error",
        *,
        quantile: float | None = None,
        learning_rate: float = 0.1,
        max_iter: int = 100,
        max_leaf_nodes: int | None = 31,
        max_depth: int | None = None,
        min_samples_leaf: int = 20,
        l2_regularization: float = 0.0,
        max_features: float = 1.0,
        max_bins: int = 255,
        categorical_features: ArrayLike | Literal["from_dtype"] | None = "from_dtype",
        monotonic_cst: ArrayLike | dict[str, int] | None = None,
        interaction_cst: InteractionGroups | Literal["pairwise", "no_interactions"] | None = None,
        warm_start: bool = False,
        early_stopping: bool | Literal["auto"] = "auto",
        scoring: str | Callable[..., float] | None = "loss",
        validation_fraction: float | None = 0.1,
        n_iter_no_change: int = 10,
        tol: float = 1e-7,
        verbose: bool | int = 0,
        random_state: RandomStateLike = None,
        cat_smooth: float = 10.0,
    ) -> None:
        self.loss = loss
        self.quantile = quantile
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.l2_regularization = l2_regularization
        self.max_features = max_features
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.monotonic_cst = monotonic_cst
        self.interaction_cst = interaction_cst
        self.warm_start = warm_start
        self.early_stopping = early_stopping
        self.scoring = scoring
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.verbose = verbose
        self.random_state = random_state
        self.cat_smooth = cat_smooth

    def _make_loss(self, n_classes: int) -> Loss:
        if isinstance(self.loss, str) and self.loss == "quantile" and self.quantile is None:
            raise ValueError("loss='quantile' needs the parameter quantile, between 0 and 1.")
        given = {} if self.quantile is None else {"alpha": self.quantile}
        return make_loss(self.loss, n_classes, **given)


class HistGradientBoostingClassifier(HistogramBoosting, GradientBoostingClassifier):
    """Gradient boosting of classes by trees of 31 leaves.

    The settings of LightGBM and of scikit-learn's class of this name, on the trees and with the fit
    of `GradientBoostingClassifier`: columns are cut into bins, trees grow leaf by leaf to 31
    leaves of at least 20 rows, and rounds are of the second order, with splits by G²/(H + l2) and
    leaves -G/(H + l2) (Friedman, Hastie and Tibshirani 2000; Ke et al. 2017). On more than 10,000
    rows a tenth is held out to decide when to stop. On a few hundred noisy rows 100 rounds may be
    too many, which ``early_stopping=True`` finds out.

    Parameters
    ----------
    loss : "log_loss" or object, default="log_loss"
        The logistic loss of two classes, the multinomial one of more; or any object with methods
        ``value(y, u)`` and ``gradient(y, u)``, such as an instance of a class in `boosting.losses`.
    learning_rate : float, default=0.1
        Factor of the values of all leaves.
    max_iter : int, default=100
        The largest number of rounds.
    max_leaf_nodes : int or None, default=31
        The largest number of leaves of a tree; nodes are split in the order of their gain. None
        sets no limit.
    max_depth : int or None, default=None
        The largest depth of a tree; None sets no limit.
    min_samples_leaf : int, default=20
        The least number of rows in a leaf.
    l2_regularization : float, default=0.0
        Added to the sum of second derivatives of a node, in its value and in its gain.
    max_features : float, default=1.0
        Share of the features that are drawn at each node, rounded up.
    max_bins : int, default=255
        The largest number of bins of a column, from 2 to 255. Missing values have one of their own.
    categorical_features : array-like, "from_dtype" or None, default="from_dtype"
        Which features are categorical, by a mask, their indices or their names. "from_dtype" takes
        the columns of a data frame with the dtype category (pandas) or Categorical or Enum
        (polars). Of more than `max_bins` categories the rarest share a bin. See
        `BinnedTreeRegressor`.
    monotonic_cst : array-like of int of shape (n_features,), dict or None, default=None
        1, -1 or 0 for each feature, or for names of features: the prediction increases with it,
        decreases with it, or is free.
    interaction_cst : {"pairwise", "no_interactions"}, sequence of lists or None, default=None
        Which features may interact: all features that are cut on a path from the root to a leaf are
        from one of these groups (lists, tuples or sets) of indices or names. Features that are in
        no group form one together. "pairwise" allows any two features on a path, "no_interactions"
        one.
    warm_start : bool, default=False
        Continue the previous fit with further rounds, up to `max_iter`.
    early_stopping : "auto" or bool, default="auto"
        Whether to stop where the score of held-out rows no longer improves. "auto" does so for more
        than 10,000 rows, or where `X_val` is given to `fit`.
    scoring : str, callable or None, default="loss"
        The score that decides: minus the loss, the name of a scorer of scikit-learn's, a scorer
        ``scorer(estimator, X, y)``, or the accuracy (None). It gets
        ``sample_weight=`` where rows or classes have weights.
    validation_fraction : float, int or None, default=0.1
        Share or number of the rows that early stopping holds out. With None the score of the
        training rows decides.
    n_iter_no_change : int, default=10
        Early stopping ends the rounds where none of the last `n_iter_no_change` scores is better
        than the one before them by more than `tol`. All rounds are kept.
    tol : float, default=1e-7
        Tolerance of `n_iter_no_change`.
    verbose : int, default=0
        1 prints progress every few seconds, 2 in every round.
    random_state : int, RandomState instance or None, default=None
        Seeds the draws of features and between equally good splits, and the validation split, which
        has scikit-learn's rows. None makes only the draws of features and this split random.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, by which `sample_weight` is multiplied: a dict {label: weight}, or
        "balanced" for weights that give all classes the same total.
    cat_smooth : float, default=10.0
        How much the means of small categories are shrunk in the search of splits, in units of
        second derivatives. scikit-learn's class has no such parameter.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels, sorted.
    n_classes_ : int
        Number of classes.
    do_early_stopping_ : bool
        Whether early stopping was used.
    n_iter_ : int
        Number of rounds.
    n_trees_per_iteration_ : int
        Number of trees of a round: 1 for two classes, and one for each class of more.
    train_score_ : ndarray of shape (n_iter_ + 1,)
        The scores of the training rows before the first round and after each; a metric is that of
        at most 10,000 rows. Empty without early stopping.
    validation_score_ : ndarray of shape (n_iter_ + 1,)
        The same of the held-out rows. Empty without early stopping, or without such rows.
    is_categorical_ : ndarray of shape (n_features,) or None
        Which features are categorical; None where none is.
    categories_ : list of n_features arrays or None
        The categories of each categorical feature, in increasing order; None for other features.
    estimators_ : ndarray of shape (n_iter_, n_trees_per_iteration_)
        The trees.
    feature_importances_ : ndarray of shape (n_features,)
        Mean importances of the trees, of sum 1.
    train_scores_ : ndarray of shape (n_iter_,)
        The weighted mean of the loss on the training rows after each round.
    validation_scores_ : ndarray of shape (n_iter_,)
        The same on the held-out rows, or their metric, if there are any.
    steps_ : ndarray of shape (n_iter_,)
        The factors of the trees: the learning rate.
    stop_reason_ : {"n_estimators", "early stopping", "callback", "weak learner"}
        Why the rounds ended; "n_estimators" where there were `max_iter`.
    n_estimators_ : int
        Number of rounds, as `n_iter_`.
    init_ : fitted estimator
        A dummy estimator with the constant prediction before the first round.
    initial_scores_ : float or ndarray of shape (n_trees_per_iteration_,)
        The constant scores before the first round.
    loss_ : Loss
        The loss.
    estimator_ : estimator
        The tree that was grown in each round.
    max_features_ : int
        The number of features considered at each node.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of features seen during `fit`, where they are all strings.

    See Also
    --------
    GradientBoostingClassifier : Other losses, base learners and steps; depth 3 by default.
    sklearn.ensemble.HistGradientBoostingClassifier : scikit-learn's class.

    Notes
    -----
    A round takes O(n p) for each level of a tree, and the codes of the bins one byte for each value
    of X. For the squared error the second derivative is 1, and rounds of both orders are the same;
    otherwise no leaf has a sum of second derivatives below 0.001, so that sample weights should be
    of the order of 1.

    X is dense; missing values (NaN) and infinite ones are accepted, and trees read single
    precision. Rows of weight 0 are left out.

    References
    ----------
    J. Friedman, T. Hastie and R. Tibshirani (2000). "Additive logistic regression: a statistical
    view of boosting". *The Annals of Statistics* 28(2), 337-407.

    G. Ke et al. (2017). "LightGBM: a highly efficient gradient boosting decision tree". *Advances
    in Neural Information Processing Systems* 30.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_ensemble_theory import HistGradientBoostingClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = HistGradientBoostingClassifier(max_iter=50).fit(X, y)
    >>> model.predict(X[:3])
    array([0, 0, 0])
    """

    _parameter_constraints: ClassVar[dict] = {
        **HistogramBoosting._parameter_constraints,
        "loss": [StrOptions({"log_loss"}), HasMethods(["value", "gradient"])],
        "class_weight": CLASS_WEIGHT,
    }

    def __init__(
        self,
        loss: str | LossLike = "log_loss",
        *,
        learning_rate: float = 0.1,
        max_iter: int = 100,
        max_leaf_nodes: int | None = 31,
        max_depth: int | None = None,
        min_samples_leaf: int = 20,
        l2_regularization: float = 0.0,
        max_features: float = 1.0,
        max_bins: int = 255,
        categorical_features: ArrayLike | Literal["from_dtype"] | None = "from_dtype",
        monotonic_cst: ArrayLike | dict[str, int] | None = None,
        interaction_cst: InteractionGroups | Literal["pairwise", "no_interactions"] | None = None,
        warm_start: bool = False,
        early_stopping: bool | Literal["auto"] = "auto",
        scoring: str | Callable[..., float] | None = "loss",
        validation_fraction: float | None = 0.1,
        n_iter_no_change: int = 10,
        tol: float = 1e-7,
        verbose: bool | int = 0,
        random_state: RandomStateLike = None,
        class_weight: dict | Literal["balanced"] | None = None,
        cat_smooth: float = 10.0,
    ) -> None:
        self.loss = loss
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.l2_regularization = l2_regularization
        self.max_features = max_features
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.monotonic_cst = monotonic_cst
        self.interaction_cst = interaction_cst
        self.warm_start = warm_start
        self.early_stopping = early_stopping
        self.scoring = scoring
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.verbose = verbose
        self.random_state = random_state
        self.class_weight = class_weight
        self.cat_smooth = cat_smooth
