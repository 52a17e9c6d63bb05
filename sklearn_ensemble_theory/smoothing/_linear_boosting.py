"""L2-boosting of a linear learner, in closed form and at vanishing learning rate.

A fit finds the path of the learner, which is the model at every time (`_paths`, `_best_feature`),
and chooses a time on it (`_criteria`). The path is a function of the rows in memory, or of sums
over the blocks of a Dask collection; all that follows is the same.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.dummy import DummyRegressor
from sklearn.utils import Bunch, check_random_state
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from sklearn_ensemble_theory._batches import FitsBatches
from sklearn_ensemble_theory._compat import HasMethods, Interval, StrOptions, routing_enabled
from sklearn_ensemble_theory._cv_choice import CVChoice
from sklearn_ensemble_theory._documentation import documented
from sklearn_ensemble_theory._door import ReadsOnce, fit_context
from sklearn_ensemble_theory._folds import checked_n_splits, row_numbers, splits_of_rows
from sklearn_ensemble_theory._learners import GROUPS_ON_REQUEST
from sklearn_ensemble_theory._rows import (
    ChunkedRows,
    Rows,
    checked_groups,
    finite_predictions,
    kept_rows,
    number_of_rows,
    validate_data,
)
from sklearn_ensemble_theory._running import (
    blas_threads_by_work,
    called,
    one_blas_thread,
    warn_user,
)
from sklearn_ensemble_theory._scaling import largest_magnitude
from sklearn_ensemble_theory._scores import RegressorMixin
from sklearn_ensemble_theory._typing import ArrayLike
from sklearn_ensemble_theory.bounds._arguments import check_integer, check_number, checked_numbers
from sklearn_ensemble_theory.bounds._spectral_filters import n_rounds

from ._averaged_learners import (
    AveragedLearner,
    RoundsPredictor,
    Setting,
    row_subsets,
    run_rounds,
    subset_size,
)
from ._best_feature import BestFeaturePath, FeatureSmoothers, GramSums, RowSums
from ._criteria import (
    CRITERIA,
    NAMES_OF_CRITERIA,
    TimePlan,
    check_number_of_rounds,
    checked_times,
    chosen_time,
)
from ._paths import (
    BoostingPath,
    InitialFit,
    InitialFitPath,
    InitialFitPredictor,
    MatrixPath,
    Predictor,
    SpectralPath,
    Start,
    as_array,
)
from ._smoothers import (
    MatrixForm,
    SpectralForm,
    Totals,
    check_dense_rows,
    check_linear,
    distinct_rows,
    smoother_of,
    weight_keyword,
)
from ._splines import SmoothingSplineRegressor, one_feature_forms, spectral_form
from ._stopping import Discrepancy, TimeCriterion, time_plan


@dataclass(frozen=True, kw_only=True)
class BoostedLearner:
    """What is boosted, and how; the rows are given later, all of them or those of a fold.

    `weight_keyword` is the parameter by which the learner takes weights, None where it gets none.
    With an `initial` fit, `start` is zero, for its residuals. `seed` is of the random subsets of
    rows.
    """

    learner: Any
    weight_keyword: str | None
    variant: str
    subsample: float
    n_subsamples: int
    start: Start
    initial: InitialFit | None
    seed: int
    n_jobs: int | None

    def distinct(self, rows: Rows) -> tuple[Rows, float]:
        """Equal rows of X as one with their mean, and the sum of squares of y within them.

        Only where learner and initial fit take its weight: not for a pipeline, whose first steps
        would get fewer rows, and not where rounds draw rows; nor where a learner counts rows, and
        would count others.
        """
        if (
            self.weight_keyword is None
            or not has_fit_parameter(self.learner, "sample_weight")
            or subset_size(len(rows), self.subsample) < len(rows)
        ):
            return rows, 0.0
        if self.initial is not None and (
            self.initial.weight_keyword is None
            or not has_fit_parameter(self.initial.estimator, "sample_weight")
        ):
            return rows, 0.0
        # A function of X takes one value on equal rows: only the mean of their targets can be
        # fitted, and what is left is in the error of every model.
        some, means, weights, within = distinct_rows(rows.X, rows.y[:, None], rows.weights())
        if some is not None and getattr(smoother_of(self.learner), "counts_rows", False):
            counts = [number_of_rows(each) for each in (rows.weights(), weights)]
            if abs(counts[0] - counts[1]) > 1e-9 * counts[0]:
                return rows, 0.0
        if some is not None:
            y = np.ascontiguousarray(means[:, 0])
            rows = replace(rows.take(some), y=y, weight=weights)
        return rows, float(within[0])

    def path(self, rows: Rows, distinct: Rows) -> BoostingPath:
        """Return the path of the learner, or of its average over all settings, on these rows.

        It is that of the distinct ones, which the criteria count; the rounds of the best feature
        read sums over all rows.
        """
        if self.variant == "best_feature":
            with one_blas_thread():  # many small decompositions
                smoother = smoother_of(self.learner)
                forms, df = smoother.feature_forms(distinct.X, distinct.weights())
            totals = Totals.of(distinct.y, distinct.weights())
            smoothers = FeatureSmoothers(forms, df)
            # About the mean, so that sums of squares do not cancel.
            sums = RowSums(smoothers, rows.X, rows.y - totals.mean, rows.weights())
            return BestFeaturePath(sums, totals, self.start)
        form = self._own_form(distinct)
        if not isinstance(form, SpectralForm):
            return self._matrix_path(distinct, form)
        y, w = distinct.y, distinct.weights()
        totals = Totals.of(y, w)
        # The eigenfunctions have mean zero: the mean of y is kept apart, and only deviations have
        # moments.
        moments = form.design.moments(distinct.X, w, (y - totals.mean)[:, None])[:, 0]
        return SpectralPath(form, totals, moments, self.start, distinct)

    def dense_path(self, rows: Rows) -> MatrixPath:
        """Return the path by an n x n matrix, also where the learner has another form."""
        form = self._own_form(rows)
        return self._matrix_path(rows, None if isinstance(form, SpectralForm) else form)

    def _own_form(self, rows: Rows) -> SpectralForm | MatrixForm | None:
        """Return the form that the learner offers, if any, for all rows and their weights."""
        w = rows.weights()
        smoother = smoother_of(self.learner)
        if smoother is None or subset_size(len(rows), self.subsample) < len(rows):
            return None
        # The form would have weights that the learner itself does not get.
        if self.weight_keyword is None and (w != 1).any():
            return None
        smoother.check()
        return smoother.form(rows.X, w, self.variant == "random_feature")

    def _matrix_path(self, rows: Rows, form: MatrixForm | None) -> MatrixPath:
        """From the learner's own matrix, or from its outputs on the unit vectors."""
        n, p = rows.X.shape
        check_dense_rows(n, type(self.learner).__name__)
        rng = np.random.RandomState(self.seed)
        subsets = row_subsets(n, subset_size(n, self.subsample), self.n_subsamples, rng)
        # Every pair of rows and columns is equally likely in a random round.
        columns = [[j] for j in range(p)] if self.variant == "random_feature" else [None]
        learner = self.averaged([(some, c) for some in subsets for c in columns], rows)
        if form is None:
            params = {} if learner.keyword is None else {learner.keyword: learner.weight}
            # The average of linear learners is linear, and one of them is enough to refuse the
            # others.
            X = rows.X if self.variant == "all_features" else rows.X[:, :1]
            check_linear(self.learner, X, params)
            form = MatrixForm(learner.outputs())
        return MatrixPath(form, rows, self.start, learner)

    def averaged(self, settings: list[Setting], rows: Rows) -> AveragedLearner:
        keyword = self.weight_keyword
        weight = rows.weights() if keyword is not None else np.ones(len(rows))
        return AveragedLearner(self.learner, rows.X, weight, keyword, settings, self.n_jobs)

    def held_out_error(
        self,
        rows: Rows,
        split: tuple[np.ndarray, np.ndarray],
        scale: float,
        times: np.ndarray,
    ) -> np.ndarray:
        """The weighted squared error on one fold at each time; the same bits in every process."""
        with one_blas_thread():
            train, test = (rows.take(part) for part in split)
            y = test.y
            if self.initial is not None:
                initial, train = self.initial.residuals(train)
                y = y - initial.predict(test.X)
            # In the units of the whole fit, whose errors are scaled back at once.
            train, y = replace(train, y=train.y / scale), y / scale
            distinct = self.distinct(train)[0] if self.variant == "best_feature" else train
            prediction = self.path(train, distinct).predictor(times).predict(test.X)
            # An unstable learner overflows at late times, which are not chosen then.
            with np.errstate(over="ignore", invalid="ignore"):
                error = test.weights() @ (y[:, None] - prediction) ** 2
        return np.where(np.isfinite(error), error, np.inf)


TEXTS = {
    "times": """
        times : array-like of shape (n_times,)
            Times of boosting.
        """,
    "of_times": """
        Parameters
        ----------
        %(times)s
        """,
}


@documented(TEXTS)
class LinearL2BoostingRegressor(
    MetaEstimatorMixin, RegressorMixin, FitsBatches, ReadsOnce, BaseEstimator
):
    r"""L2-boosting of a linear smoother, such as splines, in closed form and for any learning rate.

    Boosting fits the learner to the residuals, adds `learning_rate` times the fit, and repeats. If
    the learner is linear in y, with outputs g_j on the unit vectors and S_ij = g_j(x_i), this is a
    linear recursion, and m rounds give

    .. math:: F_m = init + \sum_j w_j g_j, \quad w = S^{-1} (I - (I - \lambda S)^m) \tilde Y

    ([Dombry and Esstafa, proposition 2.2]; S need not be invertible). With m = t / lambda, this
    converges to a function of time t as lambda goes to 0 [Dombry and Esstafa, proposition 2.5]:

    .. math:: w_t = t \varphi_1(-t S) \tilde Y, \quad \varphi_1(z) = (e^z - 1) / z .

    One decomposition of S gives the model at every time, its degrees of freedom and every criterion
    for choosing the time.

    Parameters
    ----------
    estimator : regressor, default=None
        A regressor that is linear in y: the smoothers of this package, Ridge, KernelRidge,
        KNeighborsRegressor, a Gaussian process with a fixed kernel, or a Pipeline that ends in one.
        Trees, the lasso and estimators that choose their parameters from y are not linear; `fit`
        raises an error for them. `None` is ``SmoothingSplineRegressor(df=5)``.
    learning_rate : float in [0, 1], default=0.0
        0 is the limit of small learning rates; not with `variant="best_feature"`. Otherwise,
        floor(time / learning_rate) rounds, at most 100,000 if `subsample` or `variant` is set.
    time : float, array-like, str or object, default="gcv"
        When to stop; 0 gives the initial constant. A name is a criterion, which is minimised over
        0 and 200 other times: "gcv", "aicc", "bic", "gmdl"; "loo", the mean squared deleted
        residual; or "cv", the squared error of 5 folds. A list compares these times by "gcv".
        :class:`~sklearn_ensemble_theory.boosting.CVChoice` is "cv" with other times or splits,
        which refer to the rows passed to `fit`,
        :class:`~sklearn_ensemble_theory.smoothing.TimeCriterion` another criterion with other
        times. :class:`~sklearn_ensemble_theory.smoothing.Discrepancy` takes the first time at which
        the residuals are as small as the noise. See :ref:`time-of-boosting` in the user guide.
    init : {"mean", "zero"}, estimator or None, default="mean"
        The start: the weighted mean of y (also None), zero, or the predictions of a clone of the
        estimator. The clone is fitted first, and its residuals are boosted [Dombry and Esstafa,
        theorem 2.7]. See Notes for what such a start needs to be.
    subsample : float in (0, 1], default=1.0
        Share of the rows to which the learner is fitted in each round: floor(subsample * n) rows,
        drawn without replacement. With `learning_rate` = 0, the limit, in which the learner is the
        average over the subsets: over all of them if there are at most `n_subsamples`, and else
        over that many draws.
    variant : {"all_features", "best_feature", "random_feature"}, default="all_features"
        `"random_feature"`: the learner of each round is fitted to one feature, drawn at random
        [Dombry and Esstafa, example 3.3]. The limit boosts the average of the one-feature learners,
        an additive model; with more than 7 features, splines with ``max_knots="auto"`` have 1,500 /
        n_features knots each there, and at least 50. `"best_feature"`: each round takes the feature
        whose spline lowers the sum of squared residuals most [Bühlmann and Yu 2003; Bühlmann and
        Hothorn 2007], as R's mboost does. The learner must be a `SmoothingSplineRegressor` with a
        number as `df`, the degrees of freedom of each feature's spline, or as `penalty`. The knots
        are the same as if all features were fitted together. Needs `learning_rate` > 0 and
        `subsample` = 1.
    n_subsamples : int, default=100
        Maximum number of subsets of rows in the average; see `subsample`.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws of rows and features.
    n_jobs : int, default=None
        Number of jobs for the folds of a cross-validation, and for the fits to unit vectors where
        the learner does not support several targets. Each of these uses one BLAS thread, and the
        model does not depend on `n_jobs`.

    Attributes
    ----------
    time_ : float
        The chosen time.
    n_estimators_ : int or None
        The number of rounds, `floor(time_ / learning_rate)`; None if `learning_rate` is 0.
    cv_results_ : dict of ndarrays of shape (n_times,)
        Only if the time was chosen: the times "time", and the criterion "mean_score".
    eigenvalues_ : ndarray of shape (n_eigenvalues,)
        Eigenvalues of S, or of its average over the draws, in decreasing order of the real parts.
        For spline learners only the nonzero ones. Empty with `variant="best_feature"`.
    is_stable_ : bool
        Whether the fitted values stay bounded as time grows, for every y [Dombry and Esstafa,
        proposition 2.11]. Tolerances are relative to the largest eigenvalue. If S is not symmetric
        in any diagonal metric, a real part counts as zero within 1e-6, and couplings above 1e-6
        within a cluster of width 1e-3 count as a Jordan block. If it is symmetric in one, an
        eigenvalue is negative below -1e-10.
    init_ : regressor
        The fitted initial estimator; a dummy that predicts a constant for "mean" and "zero".
    intercept_ : float
        The weighted mean of the predictions over the training rows, to which `predict_terms` adds;
        defined for additive models that start from a constant.
    selected_features_ : ndarray of shape (n_selected,)
        The feature of each round; defined with `variant="best_feature"`. Shorter than
        `n_estimators_` where nothing was left to fit.
    feature_importances_ : ndarray of shape (n_features,)
        The share of each feature in the decrease of the training error; defined with
        `variant="best_feature"`.
    estimator_ : regressor
        An unfitted clone of the learner used.
    n_features_in_ : int
        Number of features seen during :term:`fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of features seen during :term:`fit`, where they are all strings.

    Raises
    ------
    ValueError
        If the learner is not linear in y. If it needs the n x n matrix for more than 5,000 rows
        (spline learners do not). If it does not support weights and `sample_weight` varies. If
        other parameters, also `time="loo"`, cannot be combined with `variant="best_feature"`.

    Warns
    -----
    UserWarning
        If the learner is unstable; the message states the eigenvalue.

    See Also
    --------
    SmoothingSplineRegressor : The default learner, for one feature or an additive model.
    NadarayaWatsonRegressor : Local averages as a learner.

    Notes
    -----
    A fit costs O(n log n + K^3) with splines of K functions in all, O(n^2 K) for fewer rows than
    functions, and O(n^3) with other learners. Each time costs O(min(n, K)), or O(n^2). See
    :ref:`costs-of-linear-boosting` in the user guide, also for Dask collections.

    Criteria count rows that are equal in all features as one observation, their weighted mean (if
    the learner supports weights). Integer weights are then equivalent to repeating rows, and
    repeated rows are not mistaken for the absence of noise. GMDL measures the total sum of squares
    from `init`.

    With `learning_rate` > 0 and `subsample` < 1 or `variant="random_feature"` the algorithm is run
    round by round [Dombry and Esstafa, eq. (19)]. Times, criteria, degrees of freedom and
    eigenvalues then refer to its expectation [Dombry and Esstafa, eq. (21)].

    With `variant="best_feature"` the model is not linear in y. Degrees of freedom are the trace of
    the operator, given the features chosen, as in mboost [Bühlmann and Hothorn 2007]: they do not
    count the choice itself.

    Dask collections need a spline as learner, `subsample` = 1, a constant as `init` and not "loo";
    `"random_feature"` needs `learning_rate` = 0, and `"cv"` `variant="best_feature"` and an integer
    number of folds. `bias_variance` needs rows in memory.

    With an estimator as `init`, a prediction is `init_.predict(X)` plus that of boosting its
    residuals from zero, and `time="cv"` fits `init` in every fold. If `init` is linear in y,
    degrees of freedom, `"gcv"`, `"loo"`, `"aicc"`, `"bic"` and `bias_variance` refer to both fits
    together. This costs O(n^3) and is limited to 5,000 rows. For other estimators these raise an
    error; `"gmdl"`, `intercept_` and `predict_terms` raise an error with any estimator as `init`.

    %(references_Dombry)s

    P. Bühlmann and B. Yu (2003). "Boosting with the L2 loss: regression and classification".
    Journal of the American Statistical Association 98(462), 324-339.

    P. Bühlmann and T. Hothorn (2007). "Boosting algorithms: regularization, prediction and model
    fitting". Statistical Science 22(4), 477-505.

    Examples
    --------
    >>> from sklearn_ensemble_theory import LinearL2BoostingRegressor
    >>> from sklearn_ensemble_theory.datasets import make_tent
    >>> X, y = make_tent(200, random_state=0)
    >>> model = LinearL2BoostingRegressor(time="gcv").fit(X, y)
    >>> bool(1 < model.time_ < 100), model.is_stable_
    (True, True)
    >>> model.predict_path([[0.5]], times=[0, 1, 10]).shape
    (1, 3)

    The features that matter among ten:

    >>> from sklearn.datasets import make_friedman1
    >>> X, y = make_friedman1(200, random_state=0)
    >>> model = LinearL2BoostingRegressor(variant="best_feature", learning_rate=0.1, time=5.0)
    >>> [int(j) for j in model.fit(X, y).feature_importances_.round(2).nonzero()[0]]
    [0, 1, 2, 3, 4]

    A linear fit, and what splines add to it:

    >>> from sklearn.linear_model import Ridge
    >>> model = LinearL2BoostingRegressor(init=Ridge(), time="gcv").fit(X, y)
    >>> bool(model.score(X, y) > model.init_.score(X, y))
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "learning_rate": [Interval(Real, 0, 1, closed="both")],
        "time": [
            Interval(Real, 0, None, closed="left"),
            StrOptions(set(NAMES_OF_CRITERIA)),
            TimeCriterion,
            Discrepancy,
            CVChoice,
            "array-like",
        ],
        "init": [StrOptions({"mean", "zero"}), HasMethods(["fit", "predict"]), None],
        "subsample": [Interval(Real, 0, 1, closed="right")],
        "variant": [StrOptions({"all_features", "best_feature", "random_feature"})],
        "n_subsamples": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        *,
        learning_rate: float = 0.0,
        time: float | str | ArrayLike | BaseEstimator = "gcv",
        init: Literal["mean", "zero"] | BaseEstimator | None = "mean",
        subsample: float = 1.0,
        variant: Literal["all_features", "best_feature", "random_feature"] = "all_features",
        n_subsamples: int = 100,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.learning_rate = learning_rate
        self.time = time
        self.init = init
        self.subsample = subsample
        self.variant = variant
        self.n_subsamples = n_subsamples
        self.random_state = random_state
        self.n_jobs = n_jobs

    _predictor: Predictor  # the model at `time_`

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_predictor")

    def _learner(self) -> Any:
        if self.estimator is not None:
            return self.estimator
        learner = SmoothingSplineRegressor(df=5)
        return learner.set_fit_request(sample_weight=True) if routing_enabled() else learner

    def get_metadata_routing(self) -> MetadataRouter:
        """Return the routing of `sample_weight`: this estimator's own, the learner's and init's.

        Returns
        -------
        routing : MetadataRouter
            The routing information.
        """
        fits = {"estimator": self._learner()}
        if hasattr(self.init, "fit"):
            fits["init"] = self.init
        return (
            MetadataRouter(owner=type(self).__name__)
            .add_self_request(self)
            .add(method_mapping=MethodMapping().add(caller="fit", callee="fit"), **fits)
        )

    __metadata_request__fit = GROUPS_ON_REQUEST

    @fit_context(prefer_skip_nested_validation=False)
    @blas_threads_by_work()
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> "LinearL2BoostingRegressor":
        """Decompose the learner and choose the time.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training data, or a Dask array or data frame.
        y : array-like of shape (n_samples,)
            Targets; a Dask collection where X is one.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, also for the learner (with metadata routing: if it requests them);
            an array or a Dask collection.
        groups : array-like of shape (n_samples,), default=None
            Labels of the rows that belong together, such as those of one patient: no split of
            `time="cv"` divides them. A `cv` that splits by groups, such as
            `GroupKFold`, gets them; an integer is then a number of folds of whole groups.

        Returns
        -------
        self : LinearL2BoostingRegressor
            The fitted estimator.
        """
        plan = self._time_plan()
        X, y = validate_data(
            self, X, y, dtype=np.float64, order="C", ensure_min_samples=2, y_numeric=True
        )
        rows = kept_rows(X, y, sample_weight)
        # Splits are of the rows that the user passed; those of weight zero are left out of every
        # part.
        groups, splits = checked_groups(groups, X), []
        if plan.criterion == "cv":
            splits = splits_of_rows(
                plan.cv, X, y, rows.numbers, parameter="time__cv", groups=groups
            )
        rows = replace(rows, y=rows.y.astype(np.float64, copy=False))
        self._n_samples = len(X)

        # What is boosted.
        w, learner = rows.weights(), self._learner()
        keyword = self._weight_keyword("estimator", learner, sample_weight, w)
        initial = None
        if hasattr(self.init, "fit"):
            # The initial fit has its own request for weights under metadata routing.
            own = self._weight_keyword("init", self.init, sample_weight, w)
            initial = InitialFit(self.init, own, self.n_jobs)
        rng = check_random_state(self.random_state)
        boosted = BoostedLearner(
            learner=learner,
            weight_keyword=keyword,
            variant=self.variant,
            subsample=self.subsample,
            n_subsamples=self.n_subsamples,
            start=self._start(),
            initial=initial,
            # One draw for all paths: the folds average over subsets of the same seed.
            seed=rng.randint(np.iinfo(np.int32).max),
            n_jobs=self.n_jobs,
        )
        if self.variant == "best_feature":
            self._check_best_feature(plan, learner, keyword is not None or bool((w == 1).all()))

        # The path, for the residuals of the initial fit, if there is one.
        given: Rows = rows
        fitted: Any = None
        if initial is not None:
            fitted, rows = initial.residuals(rows)
        # In units of the largest |y|: squares of 1e150 overflow.
        scale = largest_magnitude(rows.y)
        rows = replace(rows, y=rows.y / scale)
        distinct, self._within_ties = boosted.distinct(rows)
        path = boosted.path(rows, distinct)
        if initial is not None:
            is_best = self.variant == "best_feature"
            # Degrees of freedom cost an n x n matrix, which a fit with a time given may not need.
            dense = None if is_best else partial(boosted.dense_path, distinct)
            path = InitialFitPath(path, initial, fitted, distinct, scale, dense)
        self.is_stable_, reason = path.stability()
        if not self.is_stable_:
            warn_user(
                f"Boosting {type(learner).__name__} is unstable: {reason}, so the fitted values "
                "grow without bound in time.",
                UserWarning,
            )

        # The time, by folds that are refitted where the path does not have their errors.
        def cross_validate(times: np.ndarray) -> np.ndarray:
            with one_blas_thread():
                errors = Parallel(n_jobs=self.n_jobs)(
                    delayed(boosted.held_out_error)(given, split, scale, times) for split in splits
                )
            return np.sum(errors, axis=0) / sum(w[test].sum() for _, test in splits)

        self._set_time(path, plan, scale, splits, cross_validate)
        # In the limit of small rates a sum over random rounds is its expectation: nothing is
        # random.
        self._is_stochastic = self.learning_rate > 0 and (
            self.subsample < 1 or self.variant == "random_feature"
        )
        if self._is_stochastic:
            # The model is a sequence of random rounds; the path is that of its expectation.
            rate = self.learning_rate
            constant = float(w @ rows.y / w.sum()) if boosted.start.at_mean else 0.0
            rounds = run_rounds(
                boosted.averaged([], rows),
                rows.y,
                constant,
                rate,
                check_number_of_rounds(int(n_rounds(self.time_, rate)), rate, self.time_),
                subset_size(len(rows), self.subsample),
                self.variant == "random_feature",
                rng,
            )
            self._predictor = (
                rounds if initial is None else InitialFitPredictor(rounds, fitted, scale)
            )
        # Only now, as the choice of the time has read the rows for the last time.
        path.keep_rows()
        if initial is not None:
            self.init_ = fitted
        self._rows_of_path = as_array(distinct.numbers)
        return self

    def _fit_chunks(self, rows: ChunkedRows) -> None:
        """Fit a Dask collection, of which the rows are read twice, as for one spline."""
        plan, learner = self._time_plan(), self._learner()
        n_splits = self._check_chunks(plan, learner, rows.has_weights)
        sums = smoother_of(learner).sums_of_blocks(rows, self.variant, n_splits)
        if len(sums.folds) < min(n_splits, 2):
            raise ValueError(f"cv={n_splits} needs more rows: all of them are in one fold.")
        squares, n_observations = sums.observations()
        totals = Totals(n_observations, sums.weight, float(sums.mean[0]), squares)
        path: BoostingPath
        if self.variant == "best_feature":
            smoothers = FeatureSmoothers(one_feature_forms(sums, sums.spec), sums.spec.df)
            path = BestFeaturePath(GramSums.of_blocks(smoothers, sums), totals, self._start())
        else:
            form = spectral_form(sums, sums.spec, one_feature_each=self.variant == "random_feature")
            path = SpectralPath(form, totals, sums.sums.moments[:, 0], self._start())
        # What the sums over all rows have beyond those over distinct values, but for rounding.
        self._within_ties = max(sums.sums.squares - squares, 0.0)
        self._set_time(path, plan, sums.scale)
        path.keep_rows()
        self.is_stable_ = path.stability()[0]
        self._is_stochastic = False
        self._rows_of_path, self._n_samples = np.empty(0, dtype=np.intp), 0

    def _set_time(
        self,
        path: BoostingPath,
        plan: TimePlan,
        scale: float,
        splits: Sequence[tuple[np.ndarray, np.ndarray]] = (),
        cross_validate: Callable[[np.ndarray], np.ndarray] | None = None,
    ) -> None:
        """Choose a time on the path, and set the model there."""
        self.__dict__.pop("cv_results_", None)
        self.time_, results = chosen_time(
            path,
            plan,
            within_ties=self._within_ties,
            scale=scale,
            splits=splits,
            cross_validate=cross_validate,
        )
        if results is not None:
            self.cv_results_ = results
        rate = self.learning_rate
        self.n_estimators_ = None if rate == 0 else int(n_rounds(self.time_, rate))
        self.eigenvalues_, self.estimator_ = path.eigenvalues, clone(self._learner())
        self._path, self._scale = path, scale
        self._predictor = path.predictor(np.array([self.time_]))
        start = path.mean * scale if path.at_mean else 0.0
        nothing = np.zeros((1, self.n_features_in_))
        self.init_ = DummyRegressor(strategy="constant", constant=start).fit(nothing, [start])

    def _start(self) -> Start:
        return Start(self.init is None or self.init == "mean", self.learning_rate)

    def _time_plan(self) -> TimePlan:
        """How the time is chosen; a ValueError where that does not fit `init`."""
        plan = time_plan(self.time)
        if plan.criterion == "gmdl" and hasattr(self.init, "fit"):
            raise ValueError(
                "time='gmdl' compares with a model that explains nothing; it is not defined with "
                "an estimator as init."
            )
        return plan

    def _check_best_feature(self, plan: TimePlan, learner: Any, has_weights: bool) -> None:
        """Refuse what rounds of the best feature cannot do."""
        if self.learning_rate == 0:
            raise ValueError(
                "variant='best_feature' needs learning_rate > 0, for instance 0.1: the best "
                "feature "
                "changes from round to round, and the limit of small rates has no closed form."
            )
        if self.subsample < 1:
            raise ValueError(
                f"variant='best_feature' fits every round to all rows: subsample must be 1, got "
                f"{self.subsample}."
            )
        if plan.criterion == "loo":
            raise ValueError(
                "time='loo' is not available with variant='best_feature', whose rounds read no "
                "rows; "
                "use 'cv', or another criterion."
            )
        if hasattr(self.init, "fit") and plan.criterion in CRITERIA:
            raise ValueError(
                f"time={plan.criterion!r} needs degrees of freedom, which are not known with "
                "variant='best_feature' and an estimator as init; use 'cv', Discrepancy or a "
                "number."
            )
        if not hasattr(smoother_of(learner), "feature_forms"):
            raise ValueError(
                "variant='best_feature' needs SmoothingSplineRegressor with a number as df or "
                "penalty "
                f"as estimator; got {type(learner).__name__}."
            )
        if not has_weights:
            raise ValueError(
                "variant='best_feature' needs estimator to take sample_weight where the weights "
                "vary."
            )
        smoother_of(learner).check()

    def _check_chunks(self, plan: TimePlan, learner: Any, has_weights: bool) -> int:
        """Refuse what needs rows in memory; the number of folds, 1 for none."""
        if not hasattr(smoother_of(learner), "sums_of_blocks"):
            raise ValueError(
                f"estimator={type(learner).__name__} needs all rows in memory: Dask collections "
                "are boosted by SmoothingSplineRegressor with a number as df or penalty."
            )
        smoother_of(learner).check()
        if hasattr(self.init, "fit"):
            raise ValueError(
                f"init={type(self.init).__name__} needs all rows in memory; use 'mean' or 'zero' "
                "with Dask collections."
            )
        if self.subsample < 1:
            raise ValueError(
                f"subsample={self.subsample} needs all rows in memory; it must be 1 with Dask "
                "collections."
            )
        if self.variant == "random_feature" and self.learning_rate > 0:
            raise ValueError(
                "variant='random_feature' with learning_rate > 0 needs all rows in memory, "
                "which each "
                "round reads; use learning_rate=0, its limit, with Dask collections."
            )
        if plan.criterion == "loo":
            raise ValueError(
                "time='loo' needs all rows in memory; use 'gcv' or another criterion with Dask "
                "collections."
            )
        if self.variant == "best_feature":
            self._check_best_feature(plan, learner, has_weights=True)
        if has_weights and routing_enabled():
            routed = process_routing(self, "fit", sample_weight=has_weights)
            if "sample_weight" not in routed["estimator"].fit:
                raise ValueError(
                    "sample_weight must be requested by estimator, with Dask collections: the "
                    "learner has the weights of the rows."
                )
        if plan.criterion != "cv":
            return 1
        if self.variant != "best_feature":
            raise ValueError(
                f"time='cv' needs all rows in memory with variant={self.variant!r}, where "
                "each fold has its own knots; use 'gcv' or another criterion with Dask collections."
            )
        return checked_n_splits(plan.cv)

    def _weight_keyword(
        self, name: str, learner: Any, sample_weight: ArrayLike | None, w: np.ndarray
    ) -> str | None:
        """Return the parameter by which the learner takes weights; None where it gets none."""
        if routing_enabled():
            routed = process_routing(self, "fit", sample_weight=sample_weight)
            # Weights of one change nothing, and a learner that takes them gets them for merging
            # equal rows.
            requested = "sample_weight" in routed[name].fit
            own = has_fit_parameter(learner, "sample_weight") and (w == 1).all()
            return "sample_weight" if requested or own else None
        keyword = weight_keyword(learner)
        if keyword is None and w.min() < w.max():
            raise ValueError(
                f"{name}={type(learner).__name__} does not support sample_weight; the weights must "
                "be equal."
            )
        return keyword

    @finite_predictions
    def predict(self, X: ArrayLike) -> np.ndarray:
        """Predict at the chosen time.

        %(rows_to_predict)s

        Returns
        -------
        y : ndarray of shape (n_samples,)
            The predictions.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, order="C", reset=False)
        return self._predictor.predict(X)[:, 0] * self._scale

    @finite_predictions
    def predict_path(self, X: ArrayLike, times: ArrayLike) -> np.ndarray:
        """Predict at several times.

        %(rows_to_predict)s
        times : array-like of shape (n_times,)
            Times. They may exceed `time_`, unless the rounds were run one by one; with
            `variant="best_feature"` they may not exceed the largest that could be chosen.

        Returns
        -------
        y : ndarray of shape (n_samples, n_times)
            The predictions, one column for each time.

        Raises
        ------
        ValueError
            If the rounds were run one by one and a time is later than the last one.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, order="C", reset=False)
        checked = checked_times(times)
        # The path is the model at any time; random rounds were run up to the chosen time only.
        if not self._is_stochastic:
            return self._path.predictor(checked).predict(X) * self._scale
        rounds = n_rounds(checked, self.learning_rate).tolist()
        if max(rounds) > (self.n_estimators_ or 0):
            raise ValueError(
                f"times must be at most {self.time_}: only {self.n_estimators_} rounds were run."
            )
        assert isinstance(self._predictor, RoundsPredictor | InitialFitPredictor)
        return self._scale * self._predictor.after(rounds).predict(X)

    def degrees_of_freedom(self, times: ArrayLike) -> np.ndarray:
        """Return the trace of the operator that maps y to the fitted values.

        %(of_times)s

        Returns
        -------
        df : ndarray of shape (n_times,)
            The degrees of freedom; 1 at time 0 with `init="mean"`, 0 with `init="zero"`.
        """
        check_is_fitted(self)
        return self._path.degrees_of_freedom(checked_times(times))

    def training_error(self, times: ArrayLike) -> np.ndarray:
        """Return the weighted mean squared residual [Dombry and Esstafa, eq. (15)].

        %(of_times)s

        Returns
        -------
        errors : ndarray of shape (n_times,)
            The errors.
        """
        check_is_fitted(self)
        rss = self._path.squared_residuals(checked_times(times)) + self._within_ties
        with np.errstate(over="ignore"):
            return rss / self._path.total_weight * self._scale * self._scale

    def component(self, j: int, x: ArrayLike) -> np.ndarray:
        """Return the term of one feature; predictions are those of `init_` plus all terms.

        With `init="zero"` and splines, `predict` also contains a fitted constant, which is not part
        of any term.

        Parameters
        ----------
        j : int
            Index of the feature.
        x : array-like of shape (n_samples,)
            Values of the feature.

        Returns
        -------
        values : ndarray of shape (n_samples,)
            The term of the feature at x.

        Raises
        ------
        AttributeError
            If the model is not additive, that is, with `variant="all_features"` and a learner other
            than splines.
        """
        check_is_fitted(self)
        check_integer("j", j, 0, self.n_features_in_ - 1)
        x = checked_numbers("x", x).reshape(-1)
        return self._predictor.component(j, x)[:, 0] * self._scale

    @finite_predictions
    def predict_terms(self, X: ArrayLike) -> np.ndarray:
        """Return the term of each feature; the prediction is their sum plus `intercept_`.

        %(rows_to_predict)s

        Returns
        -------
        terms : ndarray of shape (n_samples, n_features)
            The terms at the chosen time, one column for each feature. Each has a weighted mean of
            zero over the training rows.

        Raises
        ------
        AttributeError
            If the model is not additive; see `component`.
        ValueError
            With random rounds and more than 100,000 training rows, which are not stored.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, order="C", reset=False)
        terms = [self._predictor.component(j, x)[:, 0] for j, x in enumerate(X.T)]
        return (np.column_stack(terms) - self._term_means()) * self._scale

    def _term_means(self) -> np.ndarray:
        """Return the means of the uncentred terms over the training rows, in units of the scale."""
        if self._predictor.is_centred:
            return np.zeros(self.n_features_in_)
        rows = self._path.rows()
        X, w = rows.X, rows.weights()
        # Terms of a learner that is not a spline have no mean of zero by themselves.
        terms = (self._predictor.component(j, x)[:, 0] for j, x in enumerate(X.T))
        return np.array([np.average(term, weights=w) for term in terms])

    @property
    def intercept_(self) -> float:
        """The mean of the predictions over the training rows, for additive models."""
        check_is_fitted(self)
        return (self._predictor.constant + float(self._term_means().sum())) * self._scale

    @property
    def selected_features_(self) -> np.ndarray:
        """The feature of each round, with `variant="best_feature"`."""
        check_is_fitted(self)
        return self._path.selection(self.time_)[0]

    @property
    def feature_importances_(self) -> np.ndarray:
        """Shares of the features in the decrease of the errors, with `variant="best_feature"`."""
        check_is_fitted(self)
        return self._path.selection(self.time_)[1]

    def bias_variance(
        self,
        f: Callable[[np.ndarray], ArrayLike] | ArrayLike,
        sigma: float,
        times: ArrayLike,
        X_new: ArrayLike | None = None,
    ) -> Bunch:
        """Return expected errors for y = f(x) + noise of standard deviation sigma, at each time.

        On the training rows the formulas are [Dombry and Esstafa, propositions 2.12 and 2.13,
        remark 2.14], corrected: the noise of the test observation is added once more, and the
        variance from a zero start is the variance of the fitted values. At new points the formula
        is [Dombry and Esstafa, proposition 2.15], averaged over `X_new`.

        Parameters
        ----------
        f : callable or array-like of shape (n_samples,)
            The regression function, or its values at the rows passed to `fit`. Called with an
            array of shape (n, n_features).
        sigma : float
            Standard deviation of the noise.
        %(times)s
        X_new : array-like of shape (n_new, n_features), default=None
            A sample of new points; `f` must be callable.

        Returns
        -------
        errors : Bunch of ndarrays of shape (n_times,)
            `bias2`, `variance_train`, `variance_test`, `train` and `test` (their sums), and with
            `X_new` also `bias2_new`, `variance_new`, `test_new`. The variances of the test errors
            include the noise of the test observation.
        """
        check_is_fitted(self)
        times, X = checked_times(times), self._path.rows().X
        check_number("sigma", sigma, 0)
        values = checked_numbers("f", called("f", f, X) if callable(f) else f)
        if callable(f):
            if values.shape != (len(X),):
                raise ValueError(f"f must return a number for each row; got {values.shape}.")
        else:
            if values.shape != (self._n_samples,):
                raise ValueError(
                    "f must be a callable or an array with one value for each row passed to fit."
                )
            # The user's values are for all rows of fit; the path has those of positive weight, each
            # once.
            values = values[row_numbers(self._rows_of_path)]
        out = self._path.bias_variance(values, sigma, times)
        if X_new is not None:
            if not callable(f):
                raise ValueError("f must be a callable if X_new is given.")
            X_new = validate_data(self, X_new, dtype=np.float64, order="C", reset=False)
            f_new = np.asarray(called("f", f, X_new), dtype=np.float64)
            bias, variance = self._path.new_point_errors(X_new, values, f_new, times)
            out.bias2_new, out.variance_new = bias, sigma**2 * (1.0 + variance)
            out.test_new = out.bias2_new + out.variance_new
        return out
