"""`HistGradientBoosting*`: gradient boosting with exactly the parameters of scikit-learn's classes.

The same rounds as `GradientBoosting*`, by a plan of their own: trees in bins with 31 leaves of at
least 20 rows, rounds of the second order if the loss has a second derivative, early stopping on
large data.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.metrics import get_scorer_names
from sklearn.utils import check_random_state, resample
from sklearn.utils.validation import check_is_fitted

from ..._categories import fitted_encoder
from ..._compat import HasMethods, Interval, RealNotInt, StrOptions
from ..._documentation import documented
from ..._door import CLASS_WEIGHT, fit_context
from ..._learners import GROUPS_ON_REQUEST
from ..._rows import ChunkedRows, Rows, fits_single_precision, validate_data
from ..._typing import (
    ArrayLike,
    CategoriesLike,
    InteractionGroups,
    LossLike,
    MatrixLike,
    RandomStateLike,
)
from ...trees._binned_tree import BinnedTreeRegressor
from .._loop import BoostingRounds
from ..losses import Loss
from ..losses._losses import make_loss
from ..steps import FixedStep
from .fit import (
    FOR_LARGE_SPARSE,
    BaseGradientBoosting,
    GivenRows,
    in_thin_columns,
    is_small,
)
from .fitted import BoostedClassifier, BoostedRegressor
from .memory import HeldOut, Metric
from .model import AdditiveModel
from .plan import Plan, Problem
from .texts import TEXTS

# Methods of `GradientBoosting*` that need its parameter `held_out`; a test compares the names.
NEEDS_HELD_OUT = {
    "confidence_interval",
    "forget_training_rows",
    "predict_distribution",
    "predict_interval",
    "predict_quantiles",
    "predict_set",
    "standard_error",
}
# "auto" stops early on more rows than this. A metric of training rows is that of as many.
MANY_ROWS = 10_000


class HistogramBoosting(BaseGradientBoosting):
    """What `HistGradientBoostingRegressor` and `HistGradientBoostingClassifier` share."""

    learning_rate: float
    max_iter: int
    max_leaf_nodes: int | None
    max_depth: int | None
    min_samples_leaf: int
    l2_regularization: float
    max_features: float
    max_bins: int
    categorical_features: Any
    monotonic_cst: Any
    interaction_cst: Any
    early_stopping: bool | str
    n_iter_no_change: int
    _history: dict[str, Any]
    _parameter_constraints: ClassVar[dict] = {
        **{
            name: BinnedTreeRegressor._parameter_constraints[name]
            for name in ("categorical_features", "monotonic_cst", "interaction_cst")
        },
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "max_leaf_nodes": [Interval(Integral, 2, None, closed="left"), None],
        "max_depth": [Interval(Integral, 1, None, closed="left"), None],
        "min_samples_leaf": [Interval(Integral, 1, None, closed="left")],
        "l2_regularization": [Interval(Real, 0, None, closed="left")],
        "max_features": [Interval(RealNotInt, 0, 1, closed="right")],
        "max_bins": [Interval(Integral, 2, 255, closed="both")],
        "warm_start": ["boolean"],
        "early_stopping": [StrOptions({"auto"}), "boolean"],
        "scoring": [StrOptions({"loss", *get_scorer_names()}), callable, None],
        "validation_fraction": [
            Interval(RealNotInt, 0, 1, closed="neither"),
            Interval(Integral, 1, None, closed="left"),
            None,
        ],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
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
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights. Rows of weight 0 are left out.
        X_val, y_val : array-like of shape (n_val, n_features) and (n_val,), default=None
            Rows that decide when to stop; then none of X are held out. Beside Dask collections they
            are collections too, or in memory.
        %(rows_of_fit)s

        %(returns_self)s

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
        self._begin_stopping(X_val is not None)
        validation = GivenRows(X_val, y_val, sample_weight_val, offset_val)
        return self._fit_rows(X, y, sample_weight, validation, groups, offset)

    @property
    def n_iter_(self) -> int:
        """The number of rounds."""
        check_is_fitted(self)
        return len(self.estimators_)

    def _begin_stopping(self, has_validation: bool) -> None:
        if has_validation and self.early_stopping is False:
            raise ValueError(
                "X_val and y_val are passed to fit while at the same time early_stopping is "
                "False; use early_stopping='auto' or True."
            )
        auto = isinstance(self.early_stopping, str)
        self.do_early_stopping_ = has_validation if auto else bool(self.early_stopping)

    # --- parameters as a plan ---------------------------------------------------------------------

    def _base_learner(self, X: Any = None) -> BinnedTreeRegressor:
        return BinnedTreeRegressor(
            max_leaf_nodes=self.max_leaf_nodes,
            max_depth=self.max_depth,
            min_samples_leaf=self.min_samples_leaf,
            l2_regularization=self.l2_regularization,
            max_features=self.max_features,
            max_bins=self.max_bins,
            categorical_features=self.categorical_features,
            monotonic_cst=self.monotonic_cst,
            interaction_cst=self.interaction_cst,
        )

    def _plan(self, X: Any = None) -> Plan:
        is_fixed = self.random_state is None and self.max_features == 1
        return Plan(
            name=type(self).__name__,
            learner=self._base_learner(),
            step=FixedStep(),
            learning_rate=self.learning_rate,
            newton="if_curved",
            n_rounds=self.max_iter,
            # As in scikit-learn, the rounds are random only where features are drawn: equally good
            # splits are drawn in the same way in every fit.
            random_state=0 if is_fixed else self.random_state,
            patience=self.n_iter_no_change if self.do_early_stopping_ else None,
            verbose=self.verbose,
        )

    def _plan_for(self, plan: Plan, problem: Problem) -> Plan:
        plan = replace(plan, patience=self._patience(plan, len(problem.rows)))
        return replace(plan, learner=self._learner_for(plan.learner, self.n_features_in_))

    def _learner_for(self, learner: Any, n_features: int) -> Any:
        n_drawn = math.ceil(self.max_features * n_features)  # rounded up
        return clone(learner).set_params(max_features=n_drawn)

    def _patience(self, plan: Plan, n_rows: int) -> int | None:
        if isinstance(self.early_stopping, str) and n_rows > MANY_ROWS:
            self.do_early_stopping_ = True
            return self.n_iter_no_change
        return plan.patience

    @property
    def _may_stop(self) -> bool:
        return self.early_stopping is not False

    def _validate(self, X: Any, *y: Any, learner: Any = None, **options: Any) -> Any:
        """X, and y where it is given; infinite values are the largest finite ones.

        In a fit whose other values single precision can hold, those of single precision.
        """
        learner = self._base_learner() if learner is None else learner
        options |= {"dtype": [np.float64, np.float32], "ensure_all_finite": False}
        options["accept_sparse"] = ("csr", "csc")
        found = validate_data(self, X, *y, learner=learner, **options)
        read, *y = found if y else (found,)
        if sp.issparse(read) and not in_thin_columns(read, learner):
            if not is_small(read):
                raise ValueError(f"{type(self).__name__} requires, {FOR_LARGE_SPARSE}.")
            read = read.toarray()
        if not fits_single_precision(read):
            values = read.data if sp.issparse(read) else read
            is_infinite = np.isinf(values)
            single = options.get("reset", True) and fits_single_precision(values[~is_infinite])
            largest = np.finfo(np.float32 if single else np.float64).max
            values = np.where(is_infinite, np.copysign(largest, values), values)
            if sp.issparse(read):
                read.data = values
            else:
                read = values
        return (read, *y) if y else read

    def _seed_of_split(self, rng: np.random.RandomState) -> int:
        """The seed of scikit-learn's validation split."""
        is_own = isinstance(self.random_state, np.random.RandomState)
        rng = rng if is_own else check_random_state(self.random_state)
        return int(rng.randint(np.iinfo(np.uint32).max, dtype="u8"))

    # --- early stopping: scores are larger where they are better ----------------------------------

    def _followed_training(
        self,
        model: AdditiveModel,
        rounds: BoostingRounds,
        train: Rows,
        held_out: HeldOut | None,
        metric_of: Callable[[Rows], Metric | None],
        seed: int | None,
    ) -> Callable[[np.ndarray], float] | None:
        if not self.do_early_stopping_:
            return None
        judge = None
        if self.scoring != "loss":
            judge = self._judge_of_training(model, train, metric_of, seed)
        if not model.members:  # the scores before the first round
            risk: Any = rounds.risk
            first = -risk.value(rounds.u) if judge is None else judge(rounds.u)
            sign = -1 if judge is None else 1
            model.first_scores = [first], [] if held_out is None else [sign * held_out.score()]
        return judge

    def _judge_of_training(
        self,
        model: AdditiveModel,
        train: Rows,
        metric_of: Callable[[Rows], Metric | None],
        seed: int | None,
    ) -> Callable[[np.ndarray], float]:
        """The metric of at most 10,000 training rows, from the scores of all."""
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
        assert metric is not None
        return lambda u: metric(model, u[part])

    def _scores_of_rounds(self, model: AdditiveModel) -> tuple[list[float], list[float]]:
        """The scores of the training rows and of those held out; none without early stopping."""
        if not self.do_early_stopping_:
            return [], []
        train, held = model.judged_scores, model.validation_scores
        if self.scoring == "loss":
            train, held = [-risk for risk in model.train_scores], [-risk for risk in held]
        first, first_held = model.first_scores
        return [*first, *train], [*first_held, *held]

    def _should_stop(self, scores: Sequence[float], unit: float = 1.0) -> bool:
        """Whether none of the last scores is better than the one before them."""
        patience = int(self.n_iter_no_change)
        if len(scores) <= patience:
            return False
        return max(scores[-patience:]) <= scores[-1 - patience] + self.tol * unit

    def _is_no_better(self, model: AdditiveModel, unit: float) -> bool:
        train, held = self._scores_of_rounds(model)
        return self._should_stop(held or train, unit)

    def _earlier(self) -> AdditiveModel:
        model = self._model()
        for name, values in self._history.items():
            setattr(model, name, values)
        return model

    def _fitted_attributes(
        self, model: AdditiveModel, plan: Plan, classes: np.ndarray | None, followed: bool
    ) -> dict:
        found = super()._fitted_attributes(model, plan, classes, followed)
        train, held = self._scores_of_rounds(model)
        encoder = fitted_encoder(self)
        # They have scikit-learn's form; a warm start continues those of the model.
        for name in ("train_scores_", "validation_scores_"):
            found.pop(name, None)
        names = "train_scores", "in_bag_scores", "validation_scores", "judged_scores"
        return found | {
            "train_score_": np.array(train),
            "validation_score_": np.array(held),
            "is_categorical_": None if encoder is None else encoder.flags,
            "_history": {name: list(getattr(model, name)) for name in names}
            | {"first_scores": model.first_scores},
        }

    # --- rows in chunks ---------------------------------------------------------------------------

    def _fit_chunks(self, rows: ChunkedRows, validation: ChunkedRows | None = None) -> None:
        self._begin_stopping(validation is not None)
        super()._fit_chunks(rows, validation)

    # --- scikit-learn's conventions ---------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        message = f"{type(self).__name__!r} object has no attribute {name!r}"
        if name in NEEDS_HELD_OUT:
            is_class = isinstance(self, BoostedClassifier)
            step, kind = ('step="newton", ', "Classifier") if is_class else ("", "Regressor")
            message += (
                ", because it has the parameters of scikit-learn's class. Fit the same trees with "
                f"held_out: GradientBoosting{kind}({step}max_depth=None, max_leaf_nodes=31, "
                "min_samples_leaf=20, held_out=10)"
            )
        raise AttributeError(message, name=name, obj=self)

    get_metadata_routing = BaseEstimator.get_metadata_routing

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse, tags.input_tags.allow_nan = True, True
        return tags


@documented(TEXTS)
class HistGradientBoostingRegressor(BoostedRegressor, HistogramBoosting):
    """Histogram-based gradient boosting of trees for regression, as LightGBM does it.

    It has the settings of LightGBM and of scikit-learn's class of this name, and the trees and the
    fit of `GradientBoostingRegressor`. Columns are cut into bins, and trees grow leaf by leaf to 31
    leaves of at least 20 rows. Rounds are of the second order, with splits by G²/(H + l2) and
    leaves -G/(H + l2) (Friedman, Hastie and Tibshirani 2000; Ke et al. 2017). On more than 10,000
    rows a tenth is held out to decide when to stop. On a few hundred noisy rows 100 rounds may be
    too many; ``early_stopping=True`` then stops earlier.

    Parameters
    ----------
    loss : str or object, default="squared_error"
        "squared_error", "absolute_error" or "quantile"; with logarithmic link "gamma" for targets
        above 0 and "poisson" for targets of at least 0. Any object with methods ``value(y, u)`` and
        ``gradient(y, u)`` is accepted too, such as an instance of a class in `boosting.losses`.
        Among these are `TweedieLoss` and, for shares of successes, `BinomialLoss`.
    quantile : float, default=None
        The quantile of ``loss="quantile"``, strictly between 0 and 1.
    %(histogram_trees)s

    Attributes
    ----------
    %(histogram_histories)s

    See Also
    --------
    GradientBoostingRegressor : Other losses, base learners and steps; depth 3 by default.
    sklearn.ensemble.HistGradientBoostingRegressor : scikit-learn's class.

    %(histogram_notes)s

    %(histogram_references)s

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
        categorical_features: CategoriesLike | Literal["from_dtype"] | None = "from_dtype",
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

    def _make_loss(self, n_classes: int) -> Loss:
        if isinstance(self.loss, str) and self.loss == "quantile" and self.quantile is None:
            raise ValueError("loss='quantile' needs the parameter quantile, between 0 and 1.")
        given = {} if self.quantile is None else {"alpha": self.quantile}
        return make_loss(self.loss, n_classes, **given)


@documented(TEXTS)
class HistGradientBoostingClassifier(BoostedClassifier, HistogramBoosting):
    """Histogram-based gradient boosting of trees for classification, as LightGBM does it.

    It has the settings of LightGBM and of scikit-learn's class of this name, and the trees and the
    fit of `GradientBoostingClassifier`. Columns are cut into bins, and trees grow leaf by leaf to
    31 leaves of at least 20 rows. Rounds are of the second order, with splits by G²/(H + l2) and
    leaves -G/(H + l2) (Friedman, Hastie and Tibshirani 2000; Ke et al. 2017). On more than 10,000
    rows a tenth is held out to decide when to stop. On a few hundred noisy rows 100 rounds may be
    too many; ``early_stopping=True`` then stops earlier.

    Parameters
    ----------
    loss : "log_loss" or object, default="log_loss"
        The logistic loss of two classes, the multinomial one of more; or any object with methods
        ``value(y, u)`` and ``gradient(y, u)``, such as an instance of a class in `boosting.losses`.
    %(histogram_trees)s
    %(class_weight)s

    Attributes
    ----------
    %(classes_of_fit)s
    %(histogram_histories)s

    See Also
    --------
    GradientBoostingClassifier : Other losses, base learners and steps; depth 3 by default.
    sklearn.ensemble.HistGradientBoostingClassifier : scikit-learn's class.

    %(histogram_notes)s

    %(histogram_references)s

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
        categorical_features: CategoriesLike | Literal["from_dtype"] | None = "from_dtype",
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

    def _make_loss(self, n_classes: int) -> Loss:
        return make_loss(self.loss, n_classes)
