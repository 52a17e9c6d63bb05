"""Gradient boosting of real targets and of classes: parameters and predictions."""

from collections.abc import Callable, Iterator
from numbers import Integral, Real
from typing import ClassVar, Literal

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import accuracy_score, r2_score

from ..._blocks import by_chunks
from ..._compat import HasMethods, Interval, StrOptions
from ..._door import CLASS_WEIGHT
from ..._typing import (
    ArrayLike,
    CVLike,
    InteractionGroups,
    LossLike,
    MatrixLike,
    RandomStateLike,
    available_if,
)
from ..losses._losses import loss_gives_probabilities, loss_names
from .fit import BaseGradientBoosting
from .uncertainty import (
    predict_distribution,
    predict_interval,
    predict_quantiles,
    predict_set,
)

TARGET_COMPONENTS = [Interval(Integral, 1, None, closed="left"), None]


class GradientBoostingRegressor(RegressorMixin, BaseGradientBoosting):
    """Gradient boosting of any regressor, for any loss, with any step rule.

    Each round fits the base learner to the negative gradient of the loss at the current scores by
    least squares and takes a step along its outputs [Shah, algorithm 3], [DS-GA 1003, lecture 8].

    Parameters
    ----------
    estimator : regressor, default=None
        The base learner. None grows trees that the parameters `max_depth`, `max_features` and so on
        describe: `BinnedTreeRegressor`, whose columns are cut into `max_bins` bins once for all
        rounds, and for sparse X of more than 2^22 values, zeros included, the exact
        `DecisionTreeRegressor` of scikit-learn. With an estimator these parameters must have their
        defaults; those of trees are then set there, as in ``BinnedTreeRegressor(max_depth=3,
        l2_regularization=1)``. The columns of `DecisionStumpRegressor` are sorted once for all
        rounds. An estimator without such a preparation gets data frames and missing values as they
        are.
    loss : str or object, default="squared_error"
        The name of a loss of real targets, which `boosting.losses` lists: ``"squared_error"``,
        ``"absolute_error"``, ``"huber"`` or ``"quantile"`` (see `alpha`), for instance; with
        logarithmic link ``"poisson"`` and ``"tweedie"`` (see `power`) for y of at least 0 and
        ``"gamma"`` for y above 0; ``"binomial"`` for shares of successes between 0 and 1, with the
        numbers of trials as `sample_weight`, and probabilities as predictions. Or an instance of a
        class in `boosting.losses`, or any object with methods ``value(y, u)`` and
        ``gradient(y, u)``.
    learning_rate : float or callable, default=0.1
        Factor of every step. A callable is called with the round t = 0, 1, ... and returns a finite
        number of at least 0.
    n_estimators : int or "cv", default=100
        The largest number of rounds. ``"cv"`` is the number with the least mean risk, or the best
        mean of the metric `scoring`, on the held-out folds of `cv`; so many are fitted to all rows.
    subsample : float, default=1.0
        Share of the rows that each round is fitted to, drawn without replacement.
    criterion : {"deprecated", "squared_error", "friedman_mse"}, default="deprecated"
        Has no effect, as in scikit-learn from 1.9 on.
    min_samples_split : int or float, default=2
        Of the default trees, as the other parameters that name them: the number of rows, or the
        share of all rows, that a node needs to be split.
    min_samples_leaf : int or float, default=1
        Of the default trees: the least number of rows, or share of all rows, in a leaf.
    min_weight_fraction_leaf : float, default=0.0
        Of the default trees: the least share of the weight of all rows in a leaf.
    max_depth : int or None, default=3
        Of the default trees: the largest depth; None sets no limit.
    min_impurity_decrease : float, default=0.0
        Of the default trees: a node is split if the squared error, weighted by the share of the
        rows in the node, decreases by at least this.
    init : estimator, "zero" or None, default=None
        Initial scores: the predictions of an estimator, which is fitted first; 0 with "zero"; the
        optimal constant with None.
    random_state : int, RandomState instance or None, default=None
        Seeds the base learners, which also draw between equally good splits, the draws of
        `subsample` and the validation split.
    max_features : int, float, {"sqrt", "log2"} or None, default=None
        Of the default trees: the number or the share of the features that are drawn at each node,
        or the square root or the logarithm of their number. None considers all features.
    alpha : float, default=0.9
        For ``loss="quantile"`` the quantile, and for ``loss="huber"`` the quantile of the absolute
        residuals that is the `delta` of each round (Friedman 2001, algorithm 4).
    power : float, default=1.5
        For ``loss="tweedie"``: the power of the mean to which the variance is proportional,
        strictly between 1 (Poisson) and 2 (gamma).
    verbose : int, default=0
        1 prints progress every few seconds, 2 in every round. Callbacks of
        `sklearn.callback` (scikit-learn 1.9) are set by `set_callbacks`.
    max_leaf_nodes : int, default=None
        Of the default trees: if given, nodes are split in the order of their gain until there are
        so many leaves.
    warm_start : bool, default=False
        Continue the previous fit with further rounds, up to `n_estimators`.
    validation_fraction : float, default=0.1
        Share of the rows held out if `n_iter_no_change` is given and `X_val` is not.
    n_iter_no_change : int, default=None
        Stop where the validation risk is not below one of those of the last `n_iter_no_change`
        rounds by more than `tol`. All rounds are kept. If None, there is no early stopping. All
        risks by "huber" have the delta of the validation rows at the start; in scikit-learn's they
        have that of each round, which falls with the residuals, and so do its risks.
    tol : float, default=1e-4
        Tolerance of `n_iter_no_change`, in the units of `train_score_`, or of `scoring`.
    scoring : str, callable or None, default="loss"
        What `n_iter_no_change` and ``n_estimators="cv"`` look at: the loss; or the name of a scorer
        of scikit-learn's, a scorer ``scorer(estimator, X, y)`` or `score` (None), which are to
        rise.
    cv : int, cross-validation generator or iterable, default=5
        The splits of ``n_estimators="cv"``. An integer is the number of folds, which are drawn from
        a fixed seed in the order of y: for a table they are always the same, whatever the order of
        its rows. Pass ``KFold(5)`` for consecutive rows. With Dask collections an integer, and the
        folds are drawn by the numbers of the rows.
    max_estimators : int, default=10000
        The largest number of rounds that ``n_estimators="cv"`` compares. It ends once 20 rounds and
        a fifth of the best number so far have followed the best, which is looked up every 10 rounds
        or every tenth of those made.
    cv_rule : {"minimum", "one_standard_error"}, default="minimum"
        How ``n_estimators="cv"`` chooses: the least mean of the folds, or the fewest rounds whose
        mean is at most a standard error (of the folds' mean) above it.
    cv_prediction : {"refit", "mean"}, default="refit"
        What ``n_estimators="cv"`` returns: a fit of so many rounds to all rows, or the mean of the
        scores of the folds' models. The mean needs no further fit, is often more accurate, and
        takes as many times the time to predict as there are folds.
    keep_training_rows : bool, default=False
        Whether the fitted model keeps the training rows, which are part of its pickle. From them
        `standard_error`, `predict_interval`, `predict_quantiles` and `predict_distribution` make
        further fits when they are first asked for. See `forget_training_rows`.
    ccp_alpha : float, default=0.0
        Of the default trees: the complexity parameter of minimal cost-complexity pruning. Trees
        that are pruned are scikit-learn's exact ones.
    l2_regularization : float, default=0.0
        Of the default trees: added to the weight of a node, or with `second_order` to its sum of
        second derivatives, in its value and in its gain.
    min_weight_leaf : float or None, default=None
        Of the default trees: the least weight of a leaf, or with `second_order` the least sum of
        second derivatives. None is 0.001 with `second_order`, and 0 otherwise.
    features_per_tree : int, float or None, default=None
        Of the default trees: the number or the share (rounded down) of the features that are drawn
        for each tree. None uses all features.
    max_bins : int or None, default=255
        Of the default trees: the largest number of bins of a column. None grows scikit-learn's
        exact trees with the draws of its gradient boosting: for the same `random_state` the
        model is the same up to rounding and, where several splits are equally good, ties.
    categorical_features : array-like, "from_dtype" or None, default="from_dtype"
        Of the default trees: which features are categorical, by a mask, their indices or their
        names. "from_dtype" takes the columns of a data frame with the dtype category (pandas) or
        Categorical or Enum (polars). An `init` estimator gets the numbers of the categories. See
        `BinnedTreeRegressor`.
    cat_smooth : float, default=10.0
        Of the default trees: how much the means of small categories are shrunk in the search of
        splits. In units of the weights; with `second_order` in units of second derivatives.
    monotonic_cst : array-like of int of shape (n_features,) or dict, default=None
        Of the default trees: 1, -1 or 0 for predictions that increase, decrease or are free in a
        feature, with all others fixed. A dict has the signs of the constrained features by their
        names. An `init` estimator is not constrained.
    interaction_cst : {"pairwise", "no_interactions"}, sequence of lists or None, default=None
        Of the default trees: which features may interact. All features that are cut on a path of a
        tree are from one of these groups of indices or names; those in no group form one together.
        "pairwise" is all pairs; with "no_interactions" the scores are a sum of functions of one
        feature each.
    step : {"fixed", "line_search", "joint", "quadratic_bound", "smooth"}, default="fixed"
        Rule for the coefficient b of a round's outputs psi, before it is multiplied by
        `learning_rate`.

        - "fixed": 1.
        - "line_search": minimises the risk along the outputs, exactly.
        - "joint": minimises the risk jointly over b and the base learner: forward stagewise
          additive modelling [Bach, eq. (10.6)], [DS-GA 1003, lecture 8]. For
          `DecisionStumpRegressor` it is the minimum over all stumps. The splits of a larger tree
          are chosen first, by G²/H as with `second_order` (by least squares of the negative
          gradient where the loss has no second derivative); the risk is then minimised exactly
          over b and the values of the leaves together, by a search in each leaf, before the
          regularisation of the tree. It requires one of these base learners, all rows in memory,
          ``subsample=1.0`` and a loss with one score. The algorithm of the sources has
          ``learning_rate=1``.
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
        scikit-learn's, for the loss (Friedman 2001). With False, and with every other step but
        "joint", the trees keep the values fitted to the negative gradient, as in
        [Shah, algorithm 3].
    second_order : bool, default=False
        Fit the base learner to the Newton steps -g/h of the rows under the weights w h, instead of
        to the negative gradients -g under the sample weights w; g and h are the first and second
        derivatives of the loss (Friedman, Hastie and Tibshirani 2000). With G and H the sums of
        w g and w h, trees are then split by G²/H, and the values of their leaves are -G/H, as in
        LightGBM, XGBoost and HistGradientBoosting; `reoptimize_leaves` has no effect. No leaf of a
        tree has H below `min_weight_leaf`, 0.001 by default, so sample weights should be of the
        order of 1. It requires a convex loss with a second derivative, a base learner that supports
        `sample_weight`, and a "fixed" or "line_search" step. For the squared loss h is 1, and
        nothing changes. Steps that would raise the loss of a leaf are replaced; the first order has
        the exact minimum in each leaf for the Poisson loss.
    n_jobs : int, default=None
        Number of threads of a round; the base learners are fitted one after the other. None means
        as many as HistGradientBoosting takes: one for each core, or the limit of OMP_NUM_THREADS or
        threadpoolctl. -1 means all processors. The model is the same for any number. Only binned
        trees and the compiled losses use threads, where a table has some 65,000 values or more.
    multi_target : {"leaves", "separate"}, default="leaves"
        For y of several columns. "leaves" grows one tree a round, whose leaves have a value for
        each target, and which is split by the sum of the gains over targets: scale targets to
        similar sizes. "separate" grows a tree for each target, as a model for each would. One tree
        makes a smaller model, and is often as good or better where the targets depend on the same
        features; separate ones are better where they do not. Its round takes less time for many
        targets, and up to twice or four times as much for two to five.
    target_components : int, default=None
        With ``multi_target="leaves"``: cuts are compared by so many principal components of
        the negative gradients, as in the sketches of Iosipovoi and Vakhrushev (2022), and leaves
        still get the values of all targets. A round then takes about as long as one of so many
        targets. None compares cuts by all targets.

    Attributes
    ----------
    estimators_ : ndarray of shape (n_rounds, 1) or (n_rounds, n_targets)
        The fitted base learners; with several columns only for ``multi_target="separate"``.
    n_trees_per_iteration_ : int
        Number of base learners of a round.
    steps_ : ndarray of shape (n_rounds,)
        The coefficients b_t, including the learning rate, which they are for a "fixed" step (less
        where the Newton steps of a learner other than a tree would raise the risk).
    train_scores_ : ndarray of shape (n_rounds,)
        The risk F(u_t): the weighted mean of the loss on the training rows.
    train_score_ : ndarray of shape (n_rounds,)
        scikit-learn's form of it: on the rows that the round was fitted to, and twice the risk for
        the squared error.
    oob_scores_ : ndarray of shape (n_rounds,)
        The same on the rows that the round was not fitted to, if `subsample` is below 1 and the
        base learner draws rows; 0 for rounds of a warm start without.
    oob_improvement_ : ndarray of shape (n_rounds,)
        The decrease of `oob_scores_` by the round; the first from the initial scores.
    oob_score_ : float
        The last of `oob_scores_`.
    validation_scores_ : ndarray of shape (n_rounds,)
        The same on the validation rows, if there are any; with `scoring` their metric, and by
        "huber" with one delta, see `n_iter_no_change`.
    cv_path_ : ndarray of shape (n_rounds_compared + 1, n_folds)
        The risk, or the metric, on each held-out fold after 0, 1, ... rounds; only with
        ``n_estimators="cv"``. A fold counts by the weight of its rows.
    cv_results_ : dict
        The same in the form of scikit-learn's searches, for 1, 2, ... rounds: arrays
        "n_estimators", "mean_score", "standard_error" of that mean, and "split0_score", ...
    n_rounds_ : int
        With ``n_estimators="cv"``, the number that it has chosen. It is `n_estimators_`, unless
        ``cv_prediction="mean"``, where this is the number of rounds of all folds together.
    n_estimators_ : int
        Number of rounds.
    stop_reason_ : {"n_estimators", "early stopping", "callback", "monitor", "weak learner"}
        Why the rounds ended. "weak learner": the base learner found no member that reduces the
        risk.
    init_ : fitted estimator or "zero"
        What the scores start from; for ``init=None`` a dummy estimator with a constant prediction.
    initial_scores_ : float or ndarray of shape (n_targets,) or None
        The constant scores before the first round; None if `init` is an estimator.
    loss_ : Loss
        The loss.
    estimator_ : estimator
        The base learner that was cloned in each round.
    feature_importances_ : ndarray of shape (n_features,)
        Mean importances of the base learners, where they have importances; of sum 1.
    categories_ : list of n_features arrays or None
        The categories of each categorical feature, in increasing order; None for other features.
    max_features_ : int
        The number of features considered at each node, where the base learners are trees.
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
    where these are of no use, or without it, by a search that computes the gradient some twenty
    times.

    With Dask collections binned trees are boosted on rows in chunks, for "squared_error",
    "poisson", "gamma", "tweedie" and "binomial". The rows are read twice: for the quantiles, and
    for the codes of the bins, which stay on the workers with the targets and the scores. A round of
    trees of depth d takes d + 1 sums over the chunks. The trees are those of the same rows in
    memory with the same bins, which are cut at exact quantiles where no chunk has more than 32,768
    rows and all chunks have at most 131,072 together. `max_depth` is at most 8, unless
    `max_leaf_nodes` is given, with which each split is a sum. `groups`, `offset`, `subsample`,
    `init` with an estimator, `step`, `second_order`, `n_iter_no_change`, `keep_training_rows`,
    `warm_start`, `max_features`, `min_weight_leaf`, `features_per_tree`, `ccp_alpha`, other base
    learners and callbacks need all rows in memory.

    With ``n_estimators="cv"`` the folds are boosted together: a sum over the chunks answers all of
    them, so that the rounds of all folds take the sums of one fit, and some 25 bytes a row for each
    fold. A hash of the row's number draws the folds, and the bins are those of all rows, also for
    the folds. Then come the rounds of the fit to all rows, or with ``cv_prediction="mean"`` one
    more reading of the rows, for the risks. `cv` has to be an integer, and `scoring` the loss.

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    J. Friedman, T. Hastie and R. Tibshirani (2000). "Additive logistic regression: a statistical
    view of boosting". *The Annals of Statistics* 28(2), 337-407.

    L. Iosipovoi and A. Vakhrushev (2022). "SketchBoost: fast gradient boosted decision tree for
    multioutput problems". *Advances in Neural Information Processing Systems* 35, 25422-25435.

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

    Counts in the times `exposure`, and the counts to be expected in other times:

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X, exposure = rng.random((500, 2)), rng.uniform(0.5, 2, 500)
    >>> counts = rng.poisson(exposure * np.exp(2 * X[:, 0]))
    >>> model = GradientBoostingRegressor(loss="poisson", n_estimators=50, random_state=0)
    >>> model = model.fit(X, counts, offset=np.log(exposure))
    >>> rate = model.predict(X[:2])
    >>> bool(np.allclose(model.predict(X[:2], offset=np.log([3, 4])), rate * [3, 4]))
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        **BaseGradientBoosting._parameter_constraints,
        "loss": [StrOptions(loss_names("real")), HasMethods(["value", "gradient"])],
        "alpha": [Interval(Real, 0, 1, closed="neither")],
        "power": [Interval(Real, 1, 2, closed="neither")],
        "multi_target": [StrOptions({"leaves", "separate"})],
        "target_components": TARGET_COMPONENTS,
    }
    _vectors_parameter, _vectors_value = "multi_target", "leaves"

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        *,
        loss: str | LossLike = "squared_error",
        learning_rate: float | Callable[[int], float] = 0.1,
        n_estimators: int | Literal["cv"] = 100,
        subsample: float = 1.0,
        criterion: str = "deprecated",
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_depth: int | None = 3,
        min_impurity_decrease: float = 0.0,
        init: BaseEstimator | Literal["zero"] | None = None,
        random_state: RandomStateLike = None,
        max_features: float | Literal["sqrt", "log2"] | None = None,
        alpha: float = 0.9,
        power: float = 1.5,
        verbose: bool | int = 0,
        max_leaf_nodes: int | None = None,
        warm_start: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int | None = None,
        tol: float = 1e-4,
        scoring: str | Callable[..., float] | None = "loss",
        cv: CVLike | None = 5,
        max_estimators: int = 10_000,
        cv_rule: Literal["minimum", "one_standard_error"] = "minimum",
        cv_prediction: Literal["refit", "mean"] = "refit",
        keep_training_rows: bool = False,
        ccp_alpha: float = 0.0,
        l2_regularization: float = 0.0,
        min_weight_leaf: float | None = None,
        features_per_tree: float | None = None,
        max_bins: int | None = 255,
        categorical_features: ArrayLike | Literal["from_dtype"] | None = "from_dtype",
        cat_smooth: float = 10.0,
        monotonic_cst: ArrayLike | dict[str, int] | None = None,
        interaction_cst: InteractionGroups | Literal["pairwise", "no_interactions"] | None = None,
        step: str = "fixed",
        output_bound: float | None = None,
        reoptimize_leaves: bool = True,
        second_order: bool = False,
        n_jobs: int | None = None,
        multi_target: Literal["leaves", "separate"] = "leaves",
        target_components: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.loss = loss
        self.learning_rate = learning_rate
        self.n_estimators = n_estimators
        self.subsample = subsample
        self.criterion = criterion
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_depth = max_depth
        self.min_impurity_decrease = min_impurity_decrease
        self.init = init
        self.random_state = random_state
        self.max_features = max_features
        self.alpha = alpha
        self.power = power
        self.verbose = verbose
        self.max_leaf_nodes = max_leaf_nodes
        self.warm_start = warm_start
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.scoring = scoring
        self.cv = cv
        self.max_estimators = max_estimators
        self.cv_rule = cv_rule
        self.cv_prediction = cv_prediction
        self.keep_training_rows = keep_training_rows
        self.ccp_alpha = ccp_alpha
        self.l2_regularization = l2_regularization
        self.min_weight_leaf = min_weight_leaf
        self.features_per_tree = features_per_tree
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.cat_smooth = cat_smooth
        self.monotonic_cst = monotonic_cst
        self.interaction_cst = interaction_cst
        self.step = step
        self.output_bound = output_bound
        self.reoptimize_leaves = reoptimize_leaves
        self.second_order = second_order
        self.n_jobs = n_jobs
        self.multi_target = multi_target
        self.target_components = target_components

    @by_chunks
    def predict(self, X: MatrixLike, offset: ArrayLike | None = None) -> np.ndarray:
        """Predict the target, by the inverse link of the loss.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to predict.
        offset : array-like of shape (n_samples,), default=None
            Is added to the scores: see `fit`. None is 0.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_targets)
            Predictions.
        """
        u = self._scores(X, offset)
        return self.loss_.inverse_link(u)

    def staged_predict(
        self, X: MatrixLike, offset: ArrayLike | None = None
    ) -> Iterator[np.ndarray]:
        """Predict the target after each round.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to predict.
        offset : array-like of shape (n_samples,), default=None
            Is added to the scores: see `fit`. None is 0.

        Yields
        ------
        y : ndarray of shape (n_samples,) or (n_samples, n_targets)
            Predictions after the round.
        """
        for u in self._staged_scores(X, offset):
            yield np.array(self.loss_.inverse_link(u))

    def score(
        self,
        X: MatrixLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        offset: ArrayLike | None = None,
    ) -> float:
        """R² of `predict`, the mean over several targets.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to predict.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Their targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.
        offset : array-like of shape (n_samples,), default=None
            Is added to the scores: see `fit`. None is 0.

        Returns
        -------
        score : float
            R², at most 1.
        """
        return float(r2_score(y, self.predict(X, offset), sample_weight=sample_weight))

    predict_interval = predict_interval
    predict_quantiles = predict_quantiles
    predict_distribution = predict_distribution


class GradientBoostingClassifier(ClassifierMixin, BaseGradientBoosting):
    """Gradient boosting of any regressor for classification, with any step rule.

    Each round fits the base learner to the negative gradient of the loss at the current scores by
    least squares and takes a step along its outputs [Shah, algorithm 3], [DS-GA 1003, lecture 8].
    Two classes have one score and the targets -1 and +1, where +1 is the second of `classes_`. More
    than two classes have one score each, and a base learner is fitted for each class and round.

    Parameters
    ----------
    estimator : regressor, default=None
        The base learner. None grows trees that the parameters `max_depth`, `max_features` and so on
        describe: `BinnedTreeRegressor`, whose columns are cut into `max_bins` bins once for all
        rounds, and for sparse X of more than 2^22 values, zeros included, the exact
        `DecisionTreeRegressor` of scikit-learn. With an estimator these parameters must have their
        defaults; those of trees are then set there, as in ``BinnedTreeRegressor(max_depth=3,
        l2_regularization=1)``. The columns of `DecisionStumpRegressor` are sorted once for all
        rounds. An estimator without such a preparation gets data frames and missing values as they
        are.
    loss : str or object, default="log_loss"
        ``"log_loss"`` (logistic, or multinomial for more than two classes); for two classes also
        ``"exponential"``, ``"hinge"`` or another name of a loss of two classes that
        `boosting.losses` lists, an instance of a class there, or any object with methods
        ``value(y, u)`` and ``gradient(y, u)`` for y in -1 and +1.
    learning_rate : float or callable, default=0.1
        Factor of every step. A callable is called with the round t = 0, 1, ... and returns a finite
        number of at least 0.
    n_estimators : int or "cv", default=100
        The largest number of rounds. ``"cv"`` is the number with the least mean risk, or the best
        mean of the metric `scoring`, on the held-out folds of `cv`; so many are fitted to all rows.
    subsample : float, default=1.0
        Share of the rows that each round is fitted to, drawn without replacement.
    criterion : {"deprecated", "squared_error", "friedman_mse"}, default="deprecated"
        Has no effect, as in scikit-learn from 1.9 on.
    min_samples_split : int or float, default=2
        Of the default trees, as the other parameters that name them: the number of rows, or the
        share of all rows, that a node needs to be split.
    min_samples_leaf : int or float, default=1
        Of the default trees: the least number of rows, or share of all rows, in a leaf.
    min_weight_fraction_leaf : float, default=0.0
        Of the default trees: the least share of the weight of all rows in a leaf.
    max_depth : int or None, default=3
        Of the default trees: the largest depth; None sets no limit.
    min_impurity_decrease : float, default=0.0
        Of the default trees: a node is split if the squared error, weighted by the share of the
        rows in the node, decreases by at least this.
    init : estimator, "zero" or None, default=None
        Initial scores: those for the probabilities of a classifier, which is fitted first; 0 with
        "zero"; the optimal constant with None.
    random_state : int, RandomState instance or None, default=None
        Seeds the base learners, which also draw between equally good splits, the draws of
        `subsample` and the validation split.
    max_features : int, float, {"sqrt", "log2"} or None, default=None
        Of the default trees: the number or the share of the features that are drawn at each node,
        or the square root or the logarithm of their number. None considers all features.
    verbose : int, default=0
        1 prints progress every few seconds, 2 in every round. Callbacks of
        `sklearn.callback` (scikit-learn 1.9) are set by `set_callbacks`.
    max_leaf_nodes : int, default=None
        Of the default trees: if given, nodes are split in the order of their gain until there are
        so many leaves.
    warm_start : bool, default=False
        Continue the previous fit with further rounds, up to `n_estimators`.
    validation_fraction : float, default=0.1
        Share of the rows of each class held out if `n_iter_no_change` is given and `X_val` is not.
    n_iter_no_change : int, default=None
        Stop where the validation risk is not below one of those of the last `n_iter_no_change`
        rounds by more than `tol`. All rounds are kept. If None, there is no early stopping.
    tol : float, default=1e-4
        Tolerance of `n_iter_no_change`, in the units of `train_score_`, or of `scoring`.
    scoring : str, callable or None, default="loss"
        What `n_iter_no_change` and ``n_estimators="cv"`` look at: the loss; or the name of a scorer
        of scikit-learn's, a scorer ``scorer(estimator, X, y)`` or `score` (None), which are to
        rise.
    cv : int, cross-validation generator or iterable, default=5
        The splits of ``n_estimators="cv"``. An integer is the number of folds, which are drawn from
        a fixed seed in the order of y: for a table they are always the same, whatever the order of
        its rows. Pass ``KFold(5)`` for consecutive rows. With Dask collections an integer, and the
        folds are drawn by the numbers of the rows.
    max_estimators : int, default=10000
        The largest number of rounds that ``n_estimators="cv"`` compares. It ends once 20 rounds and
        a fifth of the best number so far have followed the best, which is looked up every 10 rounds
        or every tenth of those made.
    cv_rule : {"minimum", "one_standard_error"}, default="minimum"
        How ``n_estimators="cv"`` chooses: the least mean of the folds, or the fewest rounds whose
        mean is at most a standard error (of the folds' mean) above it.
    cv_prediction : {"refit", "mean"}, default="refit"
        What ``n_estimators="cv"`` returns: a fit of so many rounds to all rows, or the mean of the
        scores of the folds' models. The mean needs no further fit, is often more accurate, and
        takes as many times the time to predict as there are folds.
    keep_training_rows : bool, default=False
        Whether the fitted model keeps the training rows, which are part of its pickle. From them
        `standard_error` and `predict_set` make further fits when they are first asked for. See
        `forget_training_rows`.
    ccp_alpha : float, default=0.0
        Of the default trees: the complexity parameter of minimal cost-complexity pruning. Trees
        that are pruned are scikit-learn's exact ones.
    l2_regularization : float, default=0.0
        Of the default trees: added to the weight of a node, or with `second_order` to its sum of
        second derivatives, in its value and in its gain.
    min_weight_leaf : float or None, default=None
        Of the default trees: the least weight of a leaf, or with `second_order` the least sum of
        second derivatives. None is 0.001 with `second_order`, and 0 otherwise.
    features_per_tree : int, float or None, default=None
        Of the default trees: the number or the share (rounded down) of the features that are drawn
        for each tree. None uses all features.
    max_bins : int or None, default=255
        Of the default trees: the largest number of bins of a column. None grows scikit-learn's
        exact trees with the draws of its gradient boosting: for the same `random_state` the
        model is the same up to rounding and, where several splits are equally good, ties.
    categorical_features : array-like, "from_dtype" or None, default="from_dtype"
        Of the default trees: which features are categorical, by a mask, their indices or their
        names. "from_dtype" takes the columns of a data frame with the dtype category (pandas) or
        Categorical or Enum (polars). An `init` estimator gets the numbers of the categories. See
        `BinnedTreeRegressor`.
    cat_smooth : float, default=10.0
        Of the default trees: how much the means of small categories are shrunk in the search of
        splits. In units of the weights; with `second_order` in units of second derivatives.
    monotonic_cst : array-like of int of shape (n_features,) or dict, default=None
        Of the default trees, for two classes: 1, -1 or 0 for probabilities of the second class that
        increase, decrease or are free in a feature, with all others fixed. A dict has the signs of
        the constrained features by their names. An `init` estimator is not constrained.
    interaction_cst : {"pairwise", "no_interactions"}, sequence of lists or None, default=None
        Of the default trees: which features may interact. All features that are cut on a path of a
        tree are from one of these groups of indices or names; those in no group form one together.
        "pairwise" is all pairs; with "no_interactions" the scores are a sum of functions of one
        feature each.
    step : {"fixed", "line_search", "joint", "quadratic_bound", "smooth"}, default="fixed"
        Rule for the coefficient b of a round's outputs psi, before it is multiplied by
        `learning_rate`.

        - "fixed": 1.
        - "line_search": minimises the risk along the outputs, exactly.
        - "joint": minimises the risk jointly over b and the base learner: forward stagewise
          additive modelling [Bach, eq. (10.6)], [DS-GA 1003, lecture 8]. For
          `DecisionStumpRegressor` it is the minimum over all stumps. The splits of a larger tree
          are chosen first, by G²/H as with `second_order` (by least squares of the negative
          gradient where the loss has no second derivative); the risk is then minimised exactly
          over b and the values of the leaves together, by a search in each leaf, before the
          regularisation of the tree. It requires one of these base learners, all rows in memory,
          ``subsample=1.0`` and a loss with one score. The algorithm of the sources has
          ``learning_rate=1``.
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
        scikit-learn's, for the loss (Friedman 2001). With False, and with every other step but
        "joint", the trees keep the values fitted to the negative gradient, as in
        [Shah, algorithm 3].
    second_order : bool, default=False
        Fit the base learner to the Newton steps -g/h of the rows under the weights w h, instead of
        to the negative gradients -g under the sample weights w; g and h are the first and second
        derivatives of the loss (Friedman, Hastie and Tibshirani 2000). With G and H the sums of
        w g and w h, trees are then split by G²/H, and the values of their leaves are -G/H, as in
        LightGBM, XGBoost and HistGradientBoosting; `reoptimize_leaves` has no effect. No leaf of a
        tree has H below `min_weight_leaf`, 0.001 by default, so sample weights should be of the
        order of 1. It requires a convex loss with a second derivative, a base learner that supports
        `sample_weight`, and a "fixed" or "line_search" step. The test error is often lower where
        most rows are classified well, and often higher where errors are frequent.
    n_jobs : int, default=None
        Number of threads of a round; the base learners are fitted one after the other. None means
        as many as HistGradientBoosting takes: one for each core, or the limit of OMP_NUM_THREADS or
        threadpoolctl. -1 means all processors. The model is the same for any number. Only binned
        trees and the compiled losses use threads, where a table has some 65,000 values or more.

    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, by which `sample_weight` is multiplied: a dict {label: weight}, or
        "balanced" for weights that give all classes the same total.
    multi_class : {"separate", "one_tree"}, default="separate"
        For more than two classes. "separate" grows a tree for each class and round; "one_tree"
        grows one a round, whose leaves have a value for each class, and which is split by the sum
        of the gains over classes: a smaller model, in which a round lowers the loss by less.
    target_components : int, default=None
        With ``multi_class="one_tree"``: cuts are compared by so many principal components of
        the negative gradients, as in the sketches of Iosipovoi and Vakhrushev (2022), and leaves
        still get the values of all classes. A round then takes about as long as one of so many
        classes. None compares cuts by all classes.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels, sorted.
    n_classes_ : int
        Number of classes.
    estimators_ : ndarray of shape (n_rounds, 1) or (n_rounds, n_classes)
        The fitted base learners; one a round for two classes, or with ``multi_class="one_tree"``.
    n_trees_per_iteration_ : int
        Number of base learners of a round.
    steps_ : ndarray of shape (n_rounds,)
        The coefficients b_t, including the learning rate, which they are for a "fixed" step (less
        where the Newton steps of a learner other than a tree would raise the risk).
    train_scores_ : ndarray of shape (n_rounds,)
        The risk F(u_t): the weighted mean of the loss on the training rows.
    train_score_ : ndarray of shape (n_rounds,)
        scikit-learn's form of it: on the rows that the round was fitted to, and twice the risk for
        the log-loss of two classes.
    oob_scores_ : ndarray of shape (n_rounds,)
        The same on the rows that the round was not fitted to, if `subsample` is below 1 and the
        base learner draws rows; 0 for rounds of a warm start without.
    oob_improvement_ : ndarray of shape (n_rounds,)
        The decrease of `oob_scores_` by the round; the first from the initial scores.
    oob_score_ : float
        The last of `oob_scores_`.
    validation_scores_ : ndarray of shape (n_rounds,)
        The same on the validation rows, if there are any; with `scoring` their metric.
    cv_path_ : ndarray of shape (n_rounds_compared + 1, n_folds)
        The risk, or the metric, on each held-out fold after 0, 1, ... rounds; only with
        ``n_estimators="cv"``. A fold counts by the weight of its rows.
    cv_results_ : dict
        The same in the form of scikit-learn's searches, for 1, 2, ... rounds: arrays
        "n_estimators", "mean_score", "standard_error" of that mean, and "split0_score", ...
    n_rounds_ : int
        With ``n_estimators="cv"``, the number that it has chosen. It is `n_estimators_`, unless
        ``cv_prediction="mean"``, where this is the number of rounds of all folds together.
    n_estimators_ : int
        Number of rounds.
    stop_reason_ : {"n_estimators", "early stopping", "callback", "monitor", "weak learner"}
        Why the rounds ended. "weak learner": the base learner found no member that reduces the
        risk.
    init_ : fitted estimator or "zero"
        What the scores start from; for ``init=None`` a dummy estimator with a constant prediction.
    initial_scores_ : float or ndarray of shape (n_classes,) or None
        The constant scores before the first round; None if `init` is an estimator.
    loss_ : Loss
        The loss.
    estimator_ : estimator
        The base learner that was cloned in each round.
    feature_importances_ : ndarray of shape (n_features,)
        Mean importances of the base learners, where they have importances; of sum 1.
    categories_ : list of n_features arrays or None
        The categories of each categorical feature, in increasing order; None for other features.
    max_features_ : int
        The number of features considered at each node, where the base learners are trees.
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
    ``hessian(y, u)``, and where these are of no use, or without it, by a search that computes the
    gradient some twenty times.

    With Dask collections binned trees are boosted on rows in chunks, for "log_loss" and
    "exponential". The rows are read twice: for the quantiles, and for the codes of the bins,
    which stay on the workers with the targets and the scores. A round of trees of depth d takes
    d + 1 sums over the chunks. The trees are those of the same rows in memory with the same
    bins, which are cut at exact quantiles where no chunk has more than 32,768 rows and all
    chunks have at most 131,072 together. `max_depth` is at most 8, unless `max_leaf_nodes` is
    given, with which each split is a sum. `groups`, `offset`, `subsample`, `init` with an
    estimator, `step`, `second_order`, `n_iter_no_change`, `keep_training_rows`, `warm_start`,
    `max_features`, `min_weight_leaf`, `features_per_tree`, `ccp_alpha`, other base learners and
    callbacks need all rows in memory.

    With ``n_estimators="cv"`` the folds are boosted together: a sum over the chunks answers all of
    them, so that the rounds of all folds take the sums of one fit, and some 25 bytes a row for each
    fold and score. A hash of the row's number draws the folds, and the bins are those of all rows,
    also for the folds. Then come the rounds of the fit to all rows, or with
    ``cv_prediction="mean"`` one more reading of the rows, for the risks. `cv` has to be an integer,
    and `scoring` the loss.

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    J. Friedman, T. Hastie and R. Tibshirani (2000). "Additive logistic regression: a statistical
    view of boosting". *The Annals of Statistics* 28(2), 337-407.

    L. Iosipovoi and A. Vakhrushev (2022). "SketchBoost: fast gradient boosted decision tree for
    multioutput problems". *Advances in Neural Information Processing Systems* 35, 25422-25435.

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
        "init": [StrOptions({"zero"}), None, HasMethods(["fit", "predict_proba"])],
        "class_weight": CLASS_WEIGHT,
        "multi_class": [StrOptions({"separate", "one_tree"})],
        "target_components": TARGET_COMPONENTS,
    }
    _vectors_parameter, _vectors_value = "multi_class", "one_tree"

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        *,
        loss: str | LossLike = "log_loss",
        learning_rate: float | Callable[[int], float] = 0.1,
        n_estimators: int | Literal["cv"] = 100,
        subsample: float = 1.0,
        criterion: str = "deprecated",
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_depth: int | None = 3,
        min_impurity_decrease: float = 0.0,
        init: BaseEstimator | Literal["zero"] | None = None,
        random_state: RandomStateLike = None,
        max_features: float | Literal["sqrt", "log2"] | None = None,
        verbose: bool | int = 0,
        max_leaf_nodes: int | None = None,
        warm_start: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int | None = None,
        tol: float = 1e-4,
        scoring: str | Callable[..., float] | None = "loss",
        cv: CVLike | None = 5,
        max_estimators: int = 10_000,
        cv_rule: Literal["minimum", "one_standard_error"] = "minimum",
        cv_prediction: Literal["refit", "mean"] = "refit",
        keep_training_rows: bool = False,
        ccp_alpha: float = 0.0,
        l2_regularization: float = 0.0,
        min_weight_leaf: float | None = None,
        features_per_tree: float | None = None,
        max_bins: int | None = 255,
        categorical_features: ArrayLike | Literal["from_dtype"] | None = "from_dtype",
        cat_smooth: float = 10.0,
        monotonic_cst: ArrayLike | dict[str, int] | None = None,
        interaction_cst: InteractionGroups | Literal["pairwise", "no_interactions"] | None = None,
        step: str = "fixed",
        output_bound: float | None = None,
        reoptimize_leaves: bool = True,
        second_order: bool = False,
        n_jobs: int | None = None,
        class_weight: dict | Literal["balanced"] | None = None,
        multi_class: Literal["separate", "one_tree"] = "separate",
        target_components: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.loss = loss
        self.learning_rate = learning_rate
        self.n_estimators = n_estimators
        self.subsample = subsample
        self.criterion = criterion
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_depth = max_depth
        self.min_impurity_decrease = min_impurity_decrease
        self.init = init
        self.random_state = random_state
        self.max_features = max_features
        self.verbose = verbose
        self.max_leaf_nodes = max_leaf_nodes
        self.warm_start = warm_start
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.scoring = scoring
        self.cv = cv
        self.max_estimators = max_estimators
        self.cv_rule = cv_rule
        self.cv_prediction = cv_prediction
        self.keep_training_rows = keep_training_rows
        self.ccp_alpha = ccp_alpha
        self.l2_regularization = l2_regularization
        self.min_weight_leaf = min_weight_leaf
        self.features_per_tree = features_per_tree
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.cat_smooth = cat_smooth
        self.monotonic_cst = monotonic_cst
        self.interaction_cst = interaction_cst
        self.step = step
        self.output_bound = output_bound
        self.reoptimize_leaves = reoptimize_leaves
        self.second_order = second_order
        self.n_jobs = n_jobs
        self.class_weight = class_weight
        self.multi_class = multi_class
        self.target_components = target_components

    @by_chunks
    def decision_function(self, X: MatrixLike, offset: ArrayLike | None = None) -> np.ndarray:
        """Compute the scores.

        For two classes a positive score predicts the second class; for more, the class with the
        largest score is predicted.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to predict.
        offset : array-like of shape (n_samples,), default=None
            Is added to the scores: see `fit`. None is 0.

        Returns
        -------
        score : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Scores.
        """
        return self._scores(X, offset)

    def staged_decision_function(
        self, X: MatrixLike, offset: ArrayLike | None = None
    ) -> Iterator[np.ndarray]:
        """Compute the scores after each round.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to predict.
        offset : array-like of shape (n_samples,), default=None
            Is added to the scores: see `fit`. None is 0.

        Yields
        ------
        score : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Scores after the round.
        """
        for u in self._staged_scores(X, offset):
            yield u.copy()

    def _decide(self, u: np.ndarray) -> np.ndarray:
        return self.classes_.take(u > 0 if u.ndim == 1 else u.argmax(axis=1))

    @by_chunks
    def predict(self, X: MatrixLike, offset: ArrayLike | None = None) -> np.ndarray:
        """Predict the class with the largest score; ties go to the first.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to predict.
        offset : array-like of shape (n_samples,), default=None
            Is added to the scores: see `fit`. None is 0.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Predictions.
        """
        return self._decide(self._scores(X, offset))

    def staged_predict(
        self, X: MatrixLike, offset: ArrayLike | None = None
    ) -> Iterator[np.ndarray]:
        """Predict the class after each round.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to predict.
        offset : array-like of shape (n_samples,), default=None
            Is added to the scores: see `fit`. None is 0.

        Yields
        ------
        y : ndarray of shape (n_samples,)
            Predictions after the round.
        """
        for u in self._staged_scores(X, offset):
            yield self._decide(u)

    @available_if(loss_gives_probabilities)
    @by_chunks
    def predict_proba(self, X: MatrixLike, offset: ArrayLike | None = None) -> np.ndarray:
        """Class probabilities, by the inverse link of the loss.

        Only for losses with `probability`: not for the hinge loss, for instance.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to predict.
        offset : array-like of shape (n_samples,), default=None
            Is added to the scores: see `fit`. None is 0.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            The columns are in the order of `classes_`.
        """
        u = self._scores(X, offset)
        return self.loss_.class_probabilities(u)

    @available_if(loss_gives_probabilities)
    @by_chunks
    def predict_log_proba(self, X: MatrixLike, offset: ArrayLike | None = None) -> np.ndarray:
        """Logarithms of the class probabilities.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to predict.
        offset : array-like of shape (n_samples,), default=None
            Is added to the scores: see `fit`. None is 0.

        Returns
        -------
        log_proba : ndarray of shape (n_samples, n_classes)
            Logarithms of the class probabilities, in the order of `classes_`.
        """
        return np.log(np.maximum(self.predict_proba(X, offset), np.finfo(float).tiny))

    def score(
        self,
        X: MatrixLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        offset: ArrayLike | None = None,
    ) -> float:
        """Accuracy of `predict`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to predict.
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.
        offset : array-like of shape (n_samples,), default=None
            Is added to the scores: see `fit`. None is 0.

        Returns
        -------
        score : float
            The share of right labels.
        """
        return float(accuracy_score(y, self.predict(X, offset), sample_weight=sample_weight))

    @available_if(loss_gives_probabilities)
    def staged_predict_proba(
        self, X: MatrixLike, offset: ArrayLike | None = None
    ) -> Iterator[np.ndarray]:
        """Class probabilities after each round.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to predict.
        offset : array-like of shape (n_samples,), default=None
            Is added to the scores: see `fit`. None is 0.

        Yields
        ------
        proba : ndarray of shape (n_samples, n_classes)
            Class probabilities after the round, in the order of `classes_`.
        """
        for u in self._staged_scores(X, offset):
            yield self.loss_.class_probabilities(u)

    predict_set = predict_set
