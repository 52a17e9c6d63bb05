"""L2-boosting of a linear learner, in closed form and at vanishing learning rate."""

from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, MetaEstimatorMixin, RegressorMixin, clone
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils import check_random_state
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from sklearn_ensemble_theory._compat import HasMethods, Interval, StrOptions, routing_enabled
from sklearn_ensemble_theory._fitting import fit_context
from sklearn_ensemble_theory._folds import splits_of_rows
from sklearn_ensemble_theory._rows import (
    ChunkedRows,
    finite_predictions,
    rows_of_positive_weight,
    validate_data,
)
from sklearn_ensemble_theory.bounds._spectral_filters import n_rounds
from sklearn_ensemble_theory.smoothing._linear_boosting._chunked.chunked_linear_boosting import (
    check_chunked_boosting,
    fit_boosting_of_chunks,
)
from sklearn_ensemble_theory.smoothing._linear_boosting._initial.initial_fit import InitialFit
from sklearn_ensemble_theory.smoothing._linear_boosting.base import (
    BoostingSpec,
    FittedBoosting,
    TimeChoice,
    fit_boosting,
    weight_keyword,
)
from sklearn_ensemble_theory.smoothing._linear_boosting.criteria import TIME_CRITERIA
from sklearn_ensemble_theory.smoothing._linear_boosting.evaluation import (
    PathEvaluationMixin,
    checked_times,
)
from sklearn_ensemble_theory.smoothing._linear_boosting.paths import Sample, Start
from sklearn_ensemble_theory.smoothing._spline.estimators import SmoothingSplineRegressor


class LinearL2BoostingRegressor(
    PathEvaluationMixin, MetaEstimatorMixin, RegressorMixin, BaseEstimator
):
    r"""L2-boosting of a linear smoother in closed form, at any learning rate including zero.

    Boosting fits the learner to the residuals, adds `learning_rate` times the fit, and repeats. A
    learner that is linear in y, with outputs g_j on the unit vectors and S_ij = g_j(x_i), makes
    this a linear recursion, and m rounds give

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
        0 is the limit of small learning rates; not with `coordinates="best"`. Otherwise,
        floor(time / learning_rate) rounds, at most 100,000 if `subsample` or `coordinates` is set.
    time : float or {"gcv", "loo", "aicc", "bic", "gmdl", "discrepancy", "cv"}, default="gcv"
        When to stop; 0 gives the initial constant. A criterion is evaluated at all `times_` and
        minimised. `"loo"`: mean squared deleted residual r_i / (1 - h_i), with h the diagonal of
        the boosting operator, exact for leaving a row out of that operator. `"discrepancy"`: the
        first time at which the mean squared residual is at most `noise_level` squared. `"cv"`:
        cross-validated squared error.
    init : {"mean", "zero"}, estimator or None, default="mean"
        The start: the weighted mean of y (also None), zero, or the predictions of a clone of the
        estimator that is fitted first, so that its residuals are boosted [Dombry and Esstafa,
        theorem 2.7]. See Notes for what such a start needs to be.
    subsample : float in (0, 1], default=1.0
        Share of the rows to which the learner is fitted in each round: floor(subsample * n) rows,
        drawn without replacement. With `learning_rate` = 0, the limit, in which the learner is the
        average over the subsets: over all of them when there are at most `n_subsamples`, otherwise
        over that many draws.
    coordinates : {"all", "best", "random"}, default="all"
        `"random"`: the learner of each round is fitted to one feature, drawn at random [Dombry and
        Esstafa, example 3.3]. The limit boosts the average of the one-feature learners, an additive
        model. `"best"`: each round takes the feature whose spline lowers the sum of squared
        residuals most [Bühlmann and Yu 2003; Bühlmann and Hothorn 2007], as R's mboost does. The
        learner must be a `SmoothingSplineRegressor` with a number as `df`, the degrees of freedom
        of each feature's own spline, or as `penalty`; knots are those of all features fitted
        together. Needs `learning_rate` > 0 and `subsample` = 1.
    n_subsamples : int, default=100
        Maximum number of subsets of rows in the average; see `subsample`.
    noise_level : float, default=None
        Standard deviation of the noise, for `time="discrepancy"`.
    times : array-like of shape (n_times,), default=None
        The times that a criterion compares. By default 0 and 200 times from 0.01 to 1e6 in
        geometric progression, in units of the inverse of the largest eigenvalue of S; fewer when S
        is unstable. With `coordinates="best"` all rounds up to time 100, at most 10,000.
    cv : int, cross-validation generator or iterable, default=5
        The splits of `time="cv"`, as in :func:`sklearn.model_selection.check_cv`. Splits given as
        indices refer to the rows passed to `fit`, including those of weight zero. With
        `coordinates="best"` each split must train on all rows that it does not test on.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws of rows and features.
    n_jobs : int, default=None
        Number of jobs for the folds of `time="cv"`, and for the fits to unit vectors where the
        learner does not support several targets. Each of these uses one BLAS thread, and the model
        does not depend on `n_jobs`.

    Attributes
    ----------
    time_ : float
        The chosen time.
    n_rounds_ : int or None
        `floor(time_ / learning_rate)`; None if `learning_rate` is 0.
    times_ : ndarray of shape (n_times,)
        The times compared; with a number as `time`, only that one.
    criterion_path_ : ndarray of shape (n_times,)
        The criterion at `times_`; NaN with a number as `time`.
    eigenvalues_ : ndarray of shape (n_eigenvalues,)
        Eigenvalues of S, or of its average over the draws, in decreasing order of the real parts.
        For spline learners only the nonzero ones. Empty with `coordinates="best"`.
    is_stable_ : bool
        Whether the fitted values stay bounded as time grows, for every y [Dombry and Esstafa,
        proposition 2.11]. Tolerances, relative to the largest eigenvalue: when S is not symmetric
        in any diagonal metric, a real part counts as zero within 1e-6 and couplings above 1e-6
        within a cluster of width 1e-3 as a Jordan block; otherwise an eigenvalue is negative below
        -1e-10.
    init_ : float or regressor
        The initial constant, or the fitted initial estimator.
    intercept_ : float
        The weighted mean of the predictions over the training rows, to which `predict_terms` adds;
        defined for additive models that start from a constant.
    selected_features_ : ndarray of shape (n_selected,)
        The feature of each round; defined with `coordinates="best"`. Shorter than `n_rounds_` where
        nothing was left to fit.
    feature_importances_ : ndarray of shape (n_features,)
        The share of each feature in the decrease of the training error; defined with
        `coordinates="best"`.
    estimator_ : regressor
        An unfitted clone of the learner used.
    n_features_in_ : int
        Number of features seen during :term:`fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of features seen during :term:`fit`, where they are all strings.

    Raises
    ------
    ValueError
        If the learner is not linear in y; if it needs the n x n matrix for more than 5,000 rows
        (spline learners do not); if it does not support weights and `sample_weight` varies; if
        other parameters cannot be combined with `coordinates="best"`, also `time="loo"`.

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
    Spline learners (`SmoothingSplineRegressor` with `df` or a number as `penalty`): O(n log n) to
    sort, O(n) for moments and O(K^3) for K basis functions; each time costs O(K). Other learners:
    O(n^3) once, O(n^2) for each time.

    Criteria count rows that are equal in all features as one observation, their weighted mean
    (where the learner supports weights). Integer weights are then equivalent to repeating rows, and
    repeated rows are not mistaken for the absence of noise. GMDL measures the total sum of
    squares from `init`.

    With `learning_rate` > 0 and `subsample` < 1 or `coordinates="random"` the algorithm is run
    round by round [Dombry and Esstafa, eq. (19)]; times, criteria, degrees of freedom and
    eigenvalues are then those of its expectation [Dombry and Esstafa, eq. (21)].

    With `coordinates="best"` the model is not linear in y. A round reads the moments of the
    residuals with the K basis functions of all features and costs O(K K_1), with K_1 those of one
    feature; their Gram matrix is a sum over the rows, and those of the folds of `time="cv"` are
    found by subtraction, with the knots of all rows. Degrees of freedom are the trace of the
    operator, given the features chosen, as in mboost [Bühlmann and Hothorn 2007]: they do not count
    the choice itself. They cost O(K_a^2 K_1) for a round, with K_a functions of the features
    chosen; `time="cv"` does not need them.

    Dask collections are read twice: for the knots and the mean of y, and for sums, of which a chunk
    sends K^2 + O(K) numbers, times `cv` with `time="cv"`. The learner must be a spline, with
    `subsample` = 1, a constant as `init` and no `"loo"`; `"random"` needs `learning_rate` = 0.
    `"cv"` needs `coordinates="best"` and an integer as `cv`: rows are drawn into folds by a hash of
    their numbers. The model is that of all rows in memory with the same knots
    (:class:`SmoothingSplineRegressor` tells when they are the same), but the criteria count equal
    rows as one only for a single feature of at most 4000 distinct values. `bias_variance` needs
    rows in memory.

    With an estimator as `init`, predictions are `init_.predict(X)` plus those of boosting from zero
    to its residuals, and `time="cv"` fits it in every fold. If it is linear in y, with matrix S_0,
    the operator is I - exp(-t S) (I - S_0), and degrees of freedom, `"gcv"`, `"loo"`, `"aicc"`,
    `"bic"` and `bias_variance` are those of both fits together; they cost O(n^3) and are available
    up to 5,000 rows. For other estimators they raise an error, and so do `"gmdl"`, `intercept_` and
    `predict_terms` for all.

    References
    ----------
    C. Dombry and Y. Esstafa. "Behavior of linear L2-boosting algorithms in the vanishing learning
    rate asymptotic".

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
    >>> model = LinearL2BoostingRegressor(coordinates="best", learning_rate=0.1, time=5.0)
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
        "time": [Interval(Real, 0, None, closed="left"), StrOptions(set(TIME_CRITERIA))],
        "init": [StrOptions({"mean", "zero"}), HasMethods(["fit", "predict"]), None],
        "subsample": [Interval(Real, 0, 1, closed="right")],
        "coordinates": [StrOptions({"all", "best", "random"})],
        "n_subsamples": [Interval(Integral, 1, None, closed="left")],
        "noise_level": [Interval(Real, 0, None, closed="left"), None],
        "times": ["array-like", None],
        "cv": ["cv_object"],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        *,
        learning_rate: float = 0.0,
        time: float | str = "gcv",
        init: Literal["mean", "zero"] | BaseEstimator | None = "mean",
        subsample: float = 1.0,
        coordinates: Literal["all", "best", "random"] = "all",
        n_subsamples: int = 100,
        noise_level: float | None = None,
        times: ArrayLike | None = None,
        cv: int | BaseCrossValidator | Iterable | None = 5,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.learning_rate = learning_rate
        self.time = time
        self.init = init
        self.subsample = subsample
        self.coordinates = coordinates
        self.n_subsamples = n_subsamples
        self.noise_level = noise_level
        self.times = times
        self.cv = cv
        self.random_state = random_state
        self.n_jobs = n_jobs

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
        if self._has_initial_fit():
            fits["init"] = self.init
        return (
            MetadataRouter(owner=type(self).__name__)
            .add_self_request(self)
            .add(method_mapping=MethodMapping().add(caller="fit", callee="fit"), **fits)
        )

    def _has_initial_fit(self) -> bool:
        return hasattr(self.init, "fit")

    @fit_context(prefer_skip_nested_validation=False)
    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
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

        Returns
        -------
        self : LinearL2BoostingRegressor
            The fitted estimator.
        """
        times = self._check_parameters()
        X, y = validate_data(
            self, X, y, dtype=np.float64, order="C", ensure_min_samples=2, y_numeric=True
        )
        rows = rows_of_positive_weight(sample_weight, X)
        splits = splits_of_rows(self.cv, X, y, rows.rows) if self.time == "cv" else []
        X, y = rows.take(X, y)
        sample = Sample(X, y.astype(np.float64, copy=False), rows.weight)
        keyword = self._weight_keyword("estimator", self._learner(), sample_weight, rows.weight)
        initial = None
        if self._has_initial_fit():
            own = self._weight_keyword("init", self.init, sample_weight, rows.weight)
            initial = InitialFit(self.init, own, self.n_jobs)
        rng = check_random_state(self.random_state)
        spec = BoostingSpec(
            learner=self._learner(),
            weight_keyword=keyword,
            coordinates=self.coordinates,
            subsample=self.subsample,
            n_subsamples=self.n_subsamples,
            start=Start(self.init is None or self.init == "mean", self.learning_rate),
            initial=initial,
            seed=rng.randint(np.iinfo(np.int32).max),
            n_jobs=self.n_jobs,
        )
        choice = TimeChoice(self.time, times, self.noise_level, splits)
        fitted = fit_boosting(spec, sample, choice, rng)
        n_samples = rows.n_samples
        self._learn(fitted, np.arange(n_samples)[rows.rows][fitted.distinct], n_samples)
        self._is_stochastic = spec.is_stochastic
        return self

    def _fit_chunks(self, rows: ChunkedRows) -> None:
        """`fit` of rows in chunks, which are read twice."""
        times, learner = self._check_parameters(), self._learner()
        n_splits = check_chunked_boosting(self, learner, rows.has_weights)
        start = Start(self.init is None or self.init == "mean", self.learning_rate)
        choice = TimeChoice(self.time, times, self.noise_level, [])
        fitted = fit_boosting_of_chunks(rows, learner, self.coordinates, start, choice, n_splits)
        self._learn(fitted, np.empty(0, dtype=np.intp), 0)
        self._is_stochastic = False

    def _learn(self, fitted: FittedBoosting, row_of: np.ndarray, n_samples: int) -> None:
        """The fitted attributes."""
        self.estimator_ = clone(self._learner())
        self.time_, self.times_ = fitted.time, fitted.times
        self.criterion_path_ = fitted.criterion
        self.n_rounds_ = (
            None if self.learning_rate == 0 else int(n_rounds(fitted.time, self.learning_rate))
        )
        self.eigenvalues_, self.is_stable_ = fitted.path.eigenvalues, fitted.is_stable
        constant = fitted.path.mean * fitted.scale if fitted.path.at_mean else 0.0
        self.init_ = constant if fitted.initial is None else fitted.initial
        self._path, self._scale = fitted.path, fitted.scale
        self._within_ties, self._predictor = fitted.within_ties, fitted.predictor
        self._row_of, self._n_samples = row_of, n_samples

    def _check_parameters(self) -> np.ndarray | None:
        """The times to choose among; None for the default ones."""
        if self.time == "discrepancy" and self.noise_level is None:
            raise ValueError("time='discrepancy' requires noise_level.")
        if self.time == "gmdl" and self._has_initial_fit():
            raise ValueError(
                "time='gmdl' compares with a model that explains nothing; it is not defined with "
                "an estimator as init."
            )
        return None if self.times is None else np.unique(checked_times(self.times))

    def _weight_keyword(
        self, name: str, learner: Any, sample_weight: ArrayLike | None, w: np.ndarray
    ) -> str | None:
        """The parameter by which the learner takes weights; None where it gets none."""
        if routing_enabled():
            routed = process_routing(self, "fit", sample_weight=sample_weight)
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

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            The predictions.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, order="C", reset=False)
        return self._predictor.predict(X)[:, 0] * self._scale
