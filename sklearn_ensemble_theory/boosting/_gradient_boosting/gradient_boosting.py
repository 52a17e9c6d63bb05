"""`GradientBoosting*`: any regressor, any loss, any step rule."""

from collections.abc import Callable
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.metrics import get_scorer_names
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing

from ..._categories import MOST_DENSE_VALUES
from ..._compat import HasMethods, Interval, StrOptions, raise_for_params, routing_enabled
from ..._cv_choice import CVRounds
from ..._documentation import documented
from ..._door import CLASS_WEIGHT, fit_context
from ..._features import CategoryOptions, Features
from ..._folds import Split, are_folds, checked_n_splits
from ..._learners import GROUPS_ON_REQUEST, has_input_tag, with_groups
from ..._running import warn_user
from ..._typing import (
    ArrayLike,
    CategoriesLike,
    CVLike,
    InteractionGroups,
    LossLike,
    MatrixLike,
    RandomStateLike,
)
from ...trees._binned_tree import BinnedTreeRegressor
from ...trees._columns import MISSING, MOST_BINS
from ...trees._sparse_columns import grows_on_stored
from ..losses import Loss
from ..losses._losses import loss_names, make_loss
from ..steps import STEP_CONSTRAINTS, FixedStep, NewtonStep, Step, name_of, step_of
from .fit import FOR_LARGE_SPARSE, BaseGradientBoosting, GivenRows, accepts_sparse, is_small
from .fitted import BoostedClassifier, BoostedRegressor
from .model import AdditiveModel
from .plan import Plan, Problem
from .texts import TEXTS
from .uncertainty_methods import (
    confidence_interval,
    forget_training_rows,
    predict_distribution,
    predict_interval,
    predict_quantiles,
    predict_set,
    standard_error,
)

# The parameters that describe the default trees; further ones of those in bins.
TREE_PARAMETERS = (
    "min_samples_split",
    "min_samples_leaf",
    "min_weight_fraction_leaf",
    "max_depth",
    "min_impurity_decrease",
    "max_features",
    "max_leaf_nodes",
    "ccp_alpha",
    "monotonic_cst",
)
BINNED_PARAMETERS = ("max_bins", "categorical_features", "interaction_cst")


class GradientBoosting(MetaEstimatorMixin, BaseGradientBoosting):
    """What `GradientBoostingRegressor` and `GradientBoostingClassifier` share: their fit."""

    estimator: Any
    n_estimators: Any
    learning_rate: Any
    step: Any
    init: Any
    subsample: float
    criterion: str
    n_iter_no_change: int | None
    held_out: Any
    ccp_alpha: float
    max_bins: int | None
    categorical_features: Any
    interaction_cst: Any
    multi_output: str | None
    _parameter_constraints: ClassVar[dict] = {
        **{name: DecisionTreeRegressor._parameter_constraints[name] for name in TREE_PARAMETERS},
        **{name: BinnedTreeRegressor._parameter_constraints[name] for name in BINNED_PARAMETERS},
        "max_bins": [Interval(Integral, 2, MOST_BINS, closed="both"), None],
        "monotonic_cst": ["array-like", dict, None],
        "estimator": [HasMethods(["fit", "predict"]), None],
        "n_estimators": [Interval(Integral, 1, None, closed="left"), StrOptions({"cv"}), CVRounds],
        "held_out": [StrOptions({"cv"}), "cv_object"],
        "learning_rate": [Interval(Real, 0, None, closed="left"), callable],
        "step": STEP_CONSTRAINTS,
        "init": [StrOptions({"zero"}), None, HasMethods(["fit", "predict"])],
        "criterion": [StrOptions({"squared_error", "friedman_mse", "deprecated"})],
        "subsample": [Interval(Real, 0, 1, closed="right")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left"), None],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "scoring": [StrOptions({"loss", *get_scorer_names()}), callable, None],
        "warm_start": ["boolean"],
        "n_jobs": [Integral, None],
        "multi_output": [StrOptions({"one_tree", "separate"}), None],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }

    __metadata_request__fit = GROUPS_ON_REQUEST

    @fit_context(prefer_skip_nested_validation=False)
    @documented(TEXTS)
    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        monitor: Callable[[int, Any, dict], Any] | None = None,
        *,
        X_val: MatrixLike | None = None,
        y_val: ArrayLike | None = None,
        sample_weight_val: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        offset: ArrayLike | None = None,
        offset_val: ArrayLike | None = None,
        **fit_params: Any,
    ) -> Self:
        """Boost the base learner.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or Dask collection
            Training data; sparse if the base learner accepts it.
        y : array-like of shape (n_samples,) or (n_samples, n_targets), or Dask collection
            Targets; several columns of real targets, in memory.
        sample_weight : array-like of shape (n_samples,) or Dask collection, default=None
            Non-negative weights. Rows of weight 0 are left out.
        monitor : callable, default=None
            Called after each round as ``monitor(i, model, variables)``. `i` is the index of the
            round, and `model` a copy of the estimator as if the fit had ended with this round.
            `variables` is a dict with the training rows "X", "y" and "sample_weight" and their
            scores "raw_predictions". The fit ends if it returns True.
        X_val, y_val : array-like of shape (n_val, n_features) and of that of y, default=None
            Validation rows. Their risk is recorded in `validation_scores_`. If `n_iter_no_change`
            is given, it determines when to stop, no fraction of X is held out, and the rounds after
            the least risk are dropped. They cannot be used with ``n_estimators="cv"``. Beside Dask
            collections they are collections too, or in memory.
        %(rows_of_fit)s
        **fit_params : dict
            Routed to the base learners' `fit` if metadata routing is enabled.

        %(returns_self)s

        Raises
        ------
        ValueError
            If the targets are outside the loss's domain. If the step rule cannot be used with the
            loss or the base learner. If the base learner does not support given weights. If
            parameters of the default trees are given together with `estimator`. With Dask
            collections also for parameters that need all rows in memory.
        """
        if self.criterion != "deprecated":
            warn_user(
                "The parameter criterion has no effect, as in scikit-learn from 1.9 on, which "
                "deprecates it: the default trees minimise the squared error. Leave it out.",
                FutureWarning,
            )
        raise_for_params(fit_params, self, "fit")
        if routing_enabled():
            passed = with_groups(fit_params, groups, self._base_learner(X))
            fit_params = process_routing(self, "fit", **passed)["estimator"]["fit"]
        if monitor is not None and not callable(monitor):
            raise TypeError(f"monitor must be callable, got {type(monitor).__name__}.")
        validation = GivenRows(X_val, y_val, sample_weight_val, offset_val)
        return self._fit_rows(
            X, y, sample_weight, validation, groups, offset, monitor, fit_params, self.held_out
        )

    # --- parameters as a plan ---------------------------------------------------------------------

    def _plan(self, X: Any = None) -> Plan:
        choice, step = CVRounds.of(self.n_estimators), step_of(self.step)
        if choice is None and isinstance(self.held_out, str):
            raise ValueError(
                f'held_out="cv" requires n_estimators="cv"; with n_estimators={self.n_estimators} '
                "give held_out a number of folds."
            )
        learner = self._base_learner(X)
        self._check_tree_parameters(learner, X)
        return Plan(
            name=type(self).__name__,
            learner=learner,
            step=step,
            learning_rate=self.learning_rate,
            newton="yes" if step.is_newton else "no",
            n_rounds=self.n_estimators if choice is None else choice.max_estimators,
            choice=choice,
            init=self.init,
            subsample=self.subsample,
            default_trees=self.estimator is None,
            random_state=self.random_state,
            patience=self.n_iter_no_change,
            keeps_best=self.n_iter_no_change is not None,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
        )

    def _plan_for(self, plan: Plan, problem: Problem) -> Plan:
        """One tree for all scores, or a tree for each: by the parameter, or as the trees can."""
        if problem.n_scores == 1 or self.multi_output == "separate":
            return plan
        obstacle = self._obstacle_to_one_tree(plan)
        if obstacle is None and is_large(problem.rows.X, plan.learner):
            obstacle = f"of a dense X, or a sparse one of at most {MOST_DENSE_VALUES:,} values"
        if self.multi_output == "one_tree" and obstacle is not None:
            raise ValueError(
                f"multi_output='one_tree' requires trees {obstacle}; use multi_output='separate'."
            )
        asked = self.multi_output == "one_tree" or self._takes_targets
        return replace(plan, one_tree=asked and obstacle is None)

    def _obstacle_to_one_tree(self, plan: Plan) -> str | None:
        """Why the base learner has no leaves with a number for each score; None where it has."""
        learner = plan.learner
        if (
            type(learner) is not BinnedTreeRegressor
            or learner.criterion != "squared_error"
            or learner.splitter != "best"
            or learner.ccp_alpha > 0
            or learner.max_bins > MISSING
        ):
            name = "the default trees" if plan.default_trees else type(learner).__name__
            return (
                f"in at most {MISSING} bins, of the squared error, without pruning, which {name} "
                "here are not"
            )
        features = Features.known_to(self, self.n_features_in_)
        for name, given in {
            "monotonic_cst": features.signs(learner.monotonic_cst),  # None where all are 0
            "interaction_cst": learner.interaction_cst,
            "features_per_tree": learner.features_per_tree,
        }.items():
            if given is not None:
                return f"without {name}"
        return None

    def _base_learner(self, X: Any = None) -> Any:
        """The base learner for X; binned trees are for data that may be dense, without pruning."""
        if self.estimator is not None:
            return self.estimator
        described = {name: getattr(self, name) for name in TREE_PARAMETERS}
        if self.max_bins is not None and self.ccp_alpha == 0:
            bins = {name: getattr(self, name) for name in BINNED_PARAMETERS}
            binned = BinnedTreeRegressor(**described, **bins)
            if not needs_exact_trees(X, binned):
                return binned
        return DecisionTreeRegressor(**described)

    def _check_tree_parameters(self, learner: Any, X: Any) -> None:
        """Raise a ValueError where parameters describe trees that are not used."""
        if self.estimator is not None:
            defaults = type(self)()
            for name in (*TREE_PARAMETERS, *BINNED_PARAMETERS):
                value, default = getattr(self, name), getattr(defaults, name)
                is_same = value is default or (
                    default is not None and np.ndim(value) == 0 and value == default
                )
                if not is_same:
                    raise ValueError(
                        f"{name}={value!r} describes the default trees, but the base learner is "
                        f"estimator={type(self.estimator).__name__}; set it there, or use "
                        "estimator=None."
                    )
            if isinstance(learner, BinnedTreeRegressor) and needs_exact_trees(X, learner):
                raise ValueError(f"estimator={type(learner).__name__} requires {FOR_LARGE_SPARSE}.")
            return
        is_given = {
            "categorical_features": names_categories(self),
            "interaction_cst": self.interaction_cst is not None,
        }
        for name in is_given:
            if is_given[name] and not isinstance(learner, BinnedTreeRegressor):
                raise ValueError(
                    f"{name} requires trees in bins: max_bins must not be None, ccp_alpha must "
                    f"be 0; and {FOR_LARGE_SPARSE}."
                )

    def _check_chunks(self, plan: Plan) -> None:
        refused = {
            "held_out": self.held_out is not None,
            "init": self.init is not None and not isinstance(self.init, str),
            "step": type(plan.step) not in (FixedStep, NewtonStep) or plan.step.needs_outputs,
            "multi_output": self.multi_output == "one_tree" and isinstance(self, ClassifierMixin),
            "ccp_alpha": self.ccp_alpha != 0,
            "max_bins": self.estimator is None and self.max_bins is None,
        }
        for parameter, is_refused in refused.items():
            if is_refused:
                value = name_of(plan.step) if parameter == "step" else getattr(self, parameter)
                raise ValueError(
                    f"{parameter}={value!r} needs all rows in memory; with Dask collections leave "
                    "it at its default."
                )
        if plan.choice is not None:
            checked_n_splits(plan.choice.cv)
            if plan.choice.scoring != "loss":
                raise ValueError(
                    f"CVRounds(scoring={plan.choice.scoring!r}) needs all rows in memory; with "
                    'Dask collections leave it at "loss".'
                )
        if getattr(self, "_skl_callbacks", None):
            raise ValueError("Callbacks need all rows in memory; with Dask collections set none.")
        super()._check_chunks(plan)

    # --- early stopping ---------------------------------------------------------------------------

    @property
    def _may_stop(self) -> bool:
        return self.n_iter_no_change is not None

    def _is_no_better(self, model: AdditiveModel, unit: float) -> bool:
        """Whether the last risk is not below one of those before it by more than tol."""
        scores, patience = model.validation_scores, int(self.n_iter_no_change or 0)
        if len(scores) <= patience:
            return False
        factor = model.loss.deviance_factor if self.scoring == "loss" else -1.0
        highest = max(factor * score for score in scores[-1 - patience : -1])
        return bool(factor * scores[-1] + self.tol * unit >= highest)

    # --- uncertainty ------------------------------------------------------------------------------

    standard_error = standard_error
    confidence_interval = confidence_interval
    forget_training_rows = forget_training_rows

    def __held_out_predictions__(
        self, X: Any, y: Any, splits: list[Split], **params: Any
    ) -> np.ndarray | None:
        """The rows by the models of their folds, which a choice of the rounds has made anyway."""
        choice = CVRounds.of(self.n_estimators)
        if choice is None or not are_folds(splits, len(y)):
            return None
        each_row = are_folds(splits, len(y), each_row=True)
        if not each_row and self.held_out == "cv":
            return None
        self._tests_each_row = each_row
        given = {"n_estimators": self.n_estimators, "held_out": self.held_out}
        self.set_params(n_estimators=clone(choice).set_params(cv=splits), held_out="cv")
        try:
            self.fit(X, y, **params)
        finally:
            self.set_params(**given)
            del self._tests_each_row
        own = self.__dict__
        found = (own["_resampling"] if self.held_out == "cv" else own.pop("_resampling")).folds()
        if hasattr(self, "classes_") and not found.loss.probability:
            return None
        return found.out_of_fold

    # --- scikit-learn's conventions ---------------------------------------------------------------

    def get_metadata_routing(self) -> MetadataRouter:
        """Get the metadata routing of this estimator and of its base learner.

        Returns
        -------
        routing : MetadataRouter
            Routing information.
        """
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(
                estimator=self._base_learner(),
                method_mapping=MethodMapping().add(caller="fit", callee="fit"),
            )
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        learner = self._base_learner()
        # The default is an exact tree for sparse X.
        is_binned = type(learner) is BinnedTreeRegressor
        tags.input_tags.sparse = self.estimator is None or is_binned or accepts_sparse(learner)
        tags.input_tags.allow_nan = has_input_tag(learner, "allow_nan")
        tags.target_tags.multi_output = self._takes_targets
        return tags


def names_categories(trees: GradientBoosting | BinnedTreeRegressor) -> bool:
    """Whether categorical features are named, and not only those of a data frame's dtypes."""
    given = CategoryOptions.of(trees.categorical_features).columns
    return given is not None and not (isinstance(given, str) and given == "from_dtype")


def is_large(X: Any, tree: BinnedTreeRegressor) -> bool:
    """Whether X is sparse and too large for codes of all values; with few categories it is not."""
    if not sp.issparse(X) or is_small(X):
        return False
    return not (names_categories(tree) and tree.max_bins <= MISSING)


def needs_exact_trees(X: Any, tree: BinnedTreeRegressor) -> bool:
    """Whether X is large, and the tree is not grown on its stored values alone."""
    return is_large(X, tree) and not grows_on_stored(tree, X)


@documented(TEXTS)
class GradientBoostingRegressor(BoostedRegressor, GradientBoosting):
    """Gradient boosting for regression with any loss, of trees or any other base learner.

    Each round fits the base learner to the negative gradient of the loss at the current scores by
    least squares and takes a step along its outputs [Shah, algorithm 3], [DS-GA 1003, lecture 8].

    %(base_learner)s
    loss : str or object, default="squared_error"
        The name of a loss of real targets, which `boosting.losses` lists. For example, it can be
        ``"squared_error"``, ``"absolute_error"``, ``"huber"`` or ``"quantile"`` (see `alpha`). With
        logarithmic link it can be ``"poisson"`` or ``"tweedie"`` for y of at least 0, and
        ``"gamma"`` for y above 0. ``"binomial"`` is for shares of successes between 0 and 1, with
        the numbers of trials as `sample_weight`, and predicts probabilities. Or an instance of a
        class in `boosting.losses`, such as ``TweedieLoss(1.3)``, or any object with methods
        ``value(y, u)`` and ``gradient(y, u)``.
    %(rounds_and_rows)s
    init : estimator, "zero" or None, default=None
        Initial scores: the predictions of an estimator, which is fitted first; 0 with "zero"; the
        optimal constant with None.
    %(seed_and_features)s
    alpha : float, default=0.9
        For ``loss="quantile"`` the quantile, and for ``loss="huber"`` the quantile of the absolute
        residuals that is the `delta` of each round (Friedman 2001, algorithm 4).
    %(round_verbose)s
    %(stopping)s
    multi_output : {"one_tree", "separate"} or None, default=None
        For y of several columns. "one_tree" grows one tree per round, whose leaves have a value for
        each target. It is split by the sum of the gains over targets: scale targets to similar
        sizes. "separate" grows a tree for each target, as a model for each would. None is one tree
        if the trees can have such leaves (at most 255 bins, no constraints), and separate trees if
        not. One tree makes a smaller model, and is often as good or better if the targets depend on
        the same features; separate ones are better if they do not.

    Attributes
    ----------
    estimators_ : ndarray of shape (n_rounds, 1) or (n_rounds, n_targets)
        The fitted base learners; one a round if there is one tree for all targets.
    %(rounds_and_histories)s

    See Also
    --------
    L2BoostingRegressor : The squared loss with binned stumps, faster for many rows.
    sklearn.ensemble.GradientBoostingRegressor : The same with exact trees and fixed steps.

    %(rounds_and_missing_values)s

    %(dask)s

    %(references)s

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
    >>> rate = model.predict(X[:2], offset=0)
    >>> bool(np.allclose(model.predict(X[:2], offset=np.log([3, 4])), rate * [3, 4]))
    True
    """

    _takes_targets = True
    _parameter_constraints: ClassVar[dict] = {
        **GradientBoosting._parameter_constraints,
        "loss": [StrOptions(loss_names("real")), HasMethods(["value", "gradient"])],
        "alpha": [Interval(Real, 0, 1, closed="neither")],
    }

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        *,
        loss: str | LossLike = "squared_error",
        learning_rate: float | Callable[[int], float] = 0.1,
        n_estimators: int | Literal["cv"] | CVRounds = 100,
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
        verbose: bool | int = 0,
        max_leaf_nodes: int | None = None,
        warm_start: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int | None = None,
        tol: float = 1e-4,
        scoring: str | Callable[..., float] | None = "loss",
        held_out: CVLike | Literal["cv"] | None = None,
        ccp_alpha: float = 0.0,
        max_bins: int | None = 255,
        categorical_features: CategoriesLike | Literal["from_dtype"] | None = "from_dtype",
        monotonic_cst: ArrayLike | dict[str, int] | None = None,
        interaction_cst: InteractionGroups | Literal["pairwise", "no_interactions"] | None = None,
        step: str | Step = "fixed",
        n_jobs: int | None = None,
        multi_output: Literal["one_tree", "separate"] | None = None,
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
        self.verbose = verbose
        self.max_leaf_nodes = max_leaf_nodes
        self.warm_start = warm_start
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.scoring = scoring
        self.held_out = held_out
        self.ccp_alpha = ccp_alpha
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.monotonic_cst = monotonic_cst
        self.interaction_cst = interaction_cst
        self.step = step
        self.n_jobs = n_jobs
        self.multi_output = multi_output

    def _make_loss(self, n_classes: int) -> Loss:
        return make_loss(self.loss, n_classes, alpha=self.alpha)

    predict_interval = predict_interval
    predict_quantiles = predict_quantiles
    predict_distribution = predict_distribution


@documented(TEXTS)
class GradientBoostingClassifier(BoostedClassifier, GradientBoosting):
    """Gradient boosting for classification, of trees or any other base learner.

    Each round fits the base learner to the negative gradient of the loss at the current scores by
    least squares and takes a step along its outputs [Shah, algorithm 3], [DS-GA 1003, lecture 8].
    Two classes share one score, with the targets -1 and +1; +1 is the second of `classes_`. With
    more than two classes, each class has its own score, and a base learner is fitted for each class
    and round.

    %(base_learner)s
    loss : str or object, default="log_loss"
        ``"log_loss"`` is logistic, or multinomial for more than two classes. For two classes it can
        also be ``"exponential"``, ``"hinge"`` or another loss of two classes in `boosting.losses`,
        by its name or as an instance. Any object with methods ``value(y, u)`` and ``gradient(y,
        u)`` for y in -1 and +1 is accepted too.
    %(rounds_and_rows)s
    init : estimator, "zero" or None, default=None
        Initial scores: those for the probabilities of a classifier, which is fitted first; 0 with
        "zero"; the optimal constant with None.
    %(seed_and_features)s
    %(round_verbose)s
    %(stopping)s
    %(class_weight)s
    multi_output : {"one_tree", "separate"} or None, default=None
        For more than two classes. "separate" (and None) grows a tree for each class and round.
        "one_tree" grows one tree per round, whose leaves have a value for each class. It is split
        by the sum of the gains over classes. The model is smaller, but a round lowers the loss by
        less.

    Attributes
    ----------
    %(classes_of_fit)s
    estimators_ : ndarray of shape (n_rounds, 1) or (n_rounds, n_classes)
        The fitted base learners; one a round for two classes, or one tree for all classes.
    %(rounds_and_histories)s

    See Also
    --------
    AdaBoostClassifier : The exponential loss with classifiers as weak learners.
    sklearn.ensemble.GradientBoostingClassifier : The same with exact trees and fixed steps.

    %(rounds_and_missing_values)s

    %(dask)s

    %(references)s

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
        **GradientBoosting._parameter_constraints,
        "loss": [StrOptions(loss_names("two classes")), HasMethods(["value", "gradient"])],
        "init": [StrOptions({"zero"}), None, HasMethods(["fit", "predict_proba"])],
        "class_weight": CLASS_WEIGHT,
    }

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        *,
        loss: str | LossLike = "log_loss",
        learning_rate: float | Callable[[int], float] = 0.1,
        n_estimators: int | Literal["cv"] | CVRounds = 100,
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
        held_out: CVLike | Literal["cv"] | None = None,
        ccp_alpha: float = 0.0,
        max_bins: int | None = 255,
        categorical_features: CategoriesLike | Literal["from_dtype"] | None = "from_dtype",
        monotonic_cst: ArrayLike | dict[str, int] | None = None,
        interaction_cst: InteractionGroups | Literal["pairwise", "no_interactions"] | None = None,
        step: str | Step = "fixed",
        n_jobs: int | None = None,
        class_weight: dict | Literal["balanced"] | None = None,
        multi_output: Literal["one_tree", "separate"] | None = None,
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
        self.held_out = held_out
        self.ccp_alpha = ccp_alpha
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.monotonic_cst = monotonic_cst
        self.interaction_cst = interaction_cst
        self.step = step
        self.n_jobs = n_jobs
        self.class_weight = class_weight
        self.multi_output = multi_output

    def _make_loss(self, n_classes: int) -> Loss:
        return make_loss(self.loss, n_classes)

    predict_set = predict_set
