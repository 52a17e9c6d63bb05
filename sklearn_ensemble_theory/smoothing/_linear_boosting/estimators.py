"""L2-boosting of a linear learner, in closed form and at vanishing learning rate (002)."""

import warnings
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, RegressorMixin, clone
from sklearn.model_selection import check_cv
from sklearn.utils import Bunch, check_random_state
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    process_routing,
)
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted, has_fit_parameter, validate_data

from sklearn_ensemble_theory._compat import (
    HasMethods,
    Interval,
    StrOptions,
    check_sample_weight,
    fit_context,
    routing_enabled,
)
from sklearn_ensemble_theory._numerics.ties import collapse_rows
from sklearn_ensemble_theory.smoothing._linear_boosting.base import (
    Boosting,
    criterion_path,
    default_times,
    fold_error,
    whole_rounds,
)
from sklearn_ensemble_theory.smoothing._linear_boosting.criteria import CRITERIA
from sklearn_ensemble_theory.smoothing._linear_boosting.dynamics import (
    DenseDynamics,
    LowRankDynamics,
)
from sklearn_ensemble_theory.smoothing._linear_boosting.learners import Bank, weight_keyword
from sklearn_ensemble_theory.smoothing._linear_boosting.spectral import n_rounds
from sklearn_ensemble_theory.smoothing._linear_boosting.stochastic import (
    RoundsPredictor,
    draw_settings,
    rows_a_round,
    run_rounds,
)
from sklearn_ensemble_theory.smoothing._spline.estimators import SmoothingSplineRegressor

__all__ = ["LinearL2BoostingRegressor"]

_KEPT_ROWS = 100_000
"""Up to this many training rows stay in a fitted spline model, for `bias_variance`."""

_TIME_CRITERIA = (*CRITERIA, "loo", "discrepancy", "cv")


class LinearL2BoostingRegressor(MetaEstimatorMixin, RegressorMixin, BaseEstimator):
    r"""L2-boosting of a linear smoother, at any learning rate including zero, without rounds.

    Boosting fits the learner to the residuals, adds `learning_rate` times the fit, and repeats. A
    learner that is linear in y, with outputs g_j on the unit vectors and S_ij = g_j(x_i), makes
    this a linear recursion, and m rounds give

    .. math:: F_m = init + \sum_j w_j g_j, \quad w = S^{-1} (I - (I - \lambda S)^m) \tilde Y

    (002, proposition 2.2; S need not be invertible). With m = t / lambda and lambda to 0 this
    converges (proposition 2.5) to a motion in time t:

    .. math:: w_t = t \varphi_1(-t S) \tilde Y, \quad \varphi_1(z) = (e^z - 1) / z .

    One decomposition of S gives every time, its degrees of freedom and every criterion for
    choosing it.

    Parameters
    ----------
    estimator : regressor, default=None
        Any regressor that is linear in y: the smoothers of this package, Ridge, KernelRidge,
        KNeighborsRegressor, a Gaussian process with a fixed kernel, a Pipeline ending in one. Not
        linear: trees, the lasso, anything that tunes itself on y. Checked at fit. `None` is
        ``SmoothingSplineRegressor(df=5)``.
    learning_rate : float in [0, 1], default=0.0
        0 is the limit; above, floor(time / learning_rate) rounds.
    time : float or {"gcv", "loo", "aicc", "bic", "gmdl", "discrepancy", "cv"}, default="gcv"
        When to stop; 0 is the initial constant. A criterion is evaluated at all of `times_` and
        minimised. `"loo"`: mean squared deleted residual r_i / (1 - h_i), h the diagonal of the
        boosting operator, exact for leaving a row out of that operator. `"discrepancy"`: the first
        time at which the mean squared residual is down to `noise_level` squared. `"cv"`:
        cross-validated squared error.
    init : {"mean", "zero"}, default="mean"
        Start from the mean of y, or from zero.
    subsample : float in (0, 1], default=1.0
        Share of the rows, floor(subsample * n) of them, that each round's learner sees, drawn
        without replacement. With `learning_rate` = 0: the limit, in which the learner is the
        average over the subsets; over all of them when there are at most `n_subsamples`,
        otherwise over that many draws.
    coordinates : {"all", "random"}, default="all"
        `"random"`: each round's learner sees one feature, drawn at random (002, example 3.3). The
        limit boosts the average of the one-feature learners, an additive model.
    n_subsamples : int, default=100
    noise_level : float, default=None
        Standard deviation of the noise, for `time="discrepancy"`.
    times : array-like, default=None
        The times that a criterion chooses among. By default 0 and 200 times from 0.01 to 1e6 in
        geometric progression, in units of the inverse of S's largest eigenvalue; fewer when S is
        unstable.
    cv : int, splitter or iterable, default=5
        For `time="cv"`.
    random_state : int, RandomState instance or None, default=None
        Draws subsets, coordinates.
    n_jobs : int, default=None
        Folds of `time="cv"`, and fits to unit vectors where the learner takes one target at a
        time. The model does not depend on it.

    Attributes
    ----------
    time_ : float
        The chosen time.
    n_rounds_ : int or None
        `floor(time_ / learning_rate)`; None in the limit.
    times_, criterion_path_ : ndarray
        The times tried and the criterion there; with a number as `time`, only that time and NaN.
    eigenvalues_ : ndarray
        Of S, or of its average S-bar; largest real part first. Spline learners: those that are not
        zero.
    is_stable_ : bool
        Whether the fitted values stay bounded as time grows, whatever y (002, proposition 2.11).
        Tolerances, relative to the largest eigenvalue: when S is not symmetric in any diagonal
        metric, a real part counts as zero within 1e-6 and couplings above 1e-6 within a cluster of
        width 1e-3 as a Jordan block; otherwise an eigenvalue is negative below -1e-10.
    init_ : float
        The initial constant.
    estimator_ : regressor
        An unfitted copy of the learner used.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)

    Raises
    ------
    ValueError
        If the learner is not linear in y; if it needs the n x n matrix for more than 5,000 rows
        (spline learners never do); if it takes no weights and `sample_weight` varies.

    Warns
    -----
    UserWarning
        If the learner is unstable, naming the eigenvalue.

    See Also
    --------
    SmoothingSplineRegressor, NadarayaWatsonRegressor : learners to boost.

    Notes
    -----
    Spline learners (`SmoothingSplineRegressor` with `df` or `penalty`): O(n log n) to sort, O(n)
    for moments and O(K^3) for K basis functions; a time costs O(K). Other learners: O(n^3) once,
    O(n^2) a time.

    Criteria count rows that share all their features as one observation, their weighted mean
    (where the learner takes weights): a weight of 2 is then a row written twice, and neither
    passes for proof that there is no noise. GMDL measures the total sum of squares from `init`.

    With `learning_rate` > 0 and `subsample` < 1 or `coordinates="random"` the algorithm is run
    round by round (002, (19)); times, criteria, degrees of freedom and eigenvalues are then those
    of its expectation (21).

    References
    ----------
    C. Dombry and Y. Esstafa, "Behavior of linear L2-boosting algorithms in the vanishing learning
    rate asymptotic"; P. Buhlmann and B. Yu (2003), "Boosting with the L2 loss".

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
    """

    _parameter_constraints: ClassVar[dict] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "learning_rate": [Interval(Real, 0, 1, closed="both")],
        "time": [Interval(Real, 0, None, closed="left"), StrOptions(set(_TIME_CRITERIA))],
        "init": [StrOptions({"mean", "zero"})],
        "subsample": [Interval(Real, 0, 1, closed="right")],
        "coordinates": [StrOptions({"all", "random"})],
        "n_subsamples": [Interval(Integral, 1, None, closed="left")],
        "noise_level": [Interval(Real, 0, None, closed="left"), None],
        "times": ["array-like", None],
        "cv": ["cv_object"],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        estimator=None,
        *,
        learning_rate=0.0,
        time="gcv",
        init="mean",
        subsample=1.0,
        coordinates="all",
        n_subsamples=100,
        noise_level=None,
        times=None,
        cv=5,
        random_state=None,
        n_jobs=None,
    ):
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

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_predictor")

    def _learner(self):
        if self.estimator is not None:
            return self.estimator
        learner = SmoothingSplineRegressor(df=5)
        return learner.set_fit_request(sample_weight=True) if routing_enabled() else learner

    def get_metadata_routing(self):
        """Routing of `sample_weight`: this estimator's own, and the learner's."""
        return (
            MetadataRouter(owner=type(self).__name__)
            .add_self_request(self)
            .add(
                estimator=self._learner(),
                method_mapping=MethodMapping().add(caller="fit", callee="fit"),
            )
        )

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, sample_weight=None):
        """Decompose the learner, choose the time.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None
            Passed on to the learner (with metadata routing: if it requests it).

        Returns
        -------
        self
        """
        grid = self._check_times()
        X, y = validate_data(
            self, X, y, dtype=np.float64, order="C", ensure_min_samples=2, y_numeric=True
        )
        w = check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        n_samples, kept = len(X), np.flatnonzero(w > 0)
        if not len(kept):
            raise ValueError("sample_weight is zero for every row.")
        if len(kept) < len(w):
            X, y, w = X[kept], y[kept], w[kept]
        y = y.astype(np.float64, copy=False)
        keyword = self._weight_keyword(sample_weight, w)
        # In units of the largest |y|: squares of 1e150 overflow.
        scale = float(np.abs(y).max()) or 1.0
        y = y / scale
        rng = check_random_state(self.random_state)
        seed = rng.randint(np.iinfo(np.int32).max)
        boosting = self._boosting(seed)
        # Not for a pipeline: its first steps would see fewer rows than there are.
        collapse = (
            keyword is not None
            and has_fit_parameter(self._learner(), "sample_weight")
            and rows_a_round(self.subsample, len(y)) == len(y)
        )
        first, pure = np.arange(len(y)), 0.0
        rows = X, y, w
        if collapse:
            first, means, weights, within = collapse_rows(X, y[:, None], w)
            pure = float(within[0])
            if len(first) < len(y):
                rows = X[first], np.ascontiguousarray(means[:, 0]), weights
        dynamics = boosting.dynamics(*rows, keyword)
        is_stable, reason = dynamics.stability()
        if not is_stable:
            warnings.warn(
                f"Boosting {type(self._learner()).__name__} is unstable: {reason}, so the fitted "
                "values grow without bound in time.",
                UserWarning,
                stacklevel=2,
            )
        if isinstance(self.time, str):
            time, times, path = self._choose_time(
                boosting, dynamics, grid, X, y, w, keyword, pure, scale
            )
        else:
            time, times, path = float(self.time), np.array([float(self.time)]), np.array([np.nan])
        predictor = self._final_predictor(dynamics, X, y, w, keyword, time, rng)
        dynamics.keep_rows(len(first) <= _KEPT_ROWS)
        self.estimator_ = clone(self._learner())
        self.time_, self.times_, self.criterion_path_ = time, times, path
        self.n_rounds_ = (
            None if self.learning_rate == 0 else int(n_rounds(time, self.learning_rate))
        )
        self.eigenvalues_, self.is_stable_ = dynamics.eigenvalues, is_stable
        self.init_ = dynamics.mean * scale if self.init == "mean" else 0.0
        self._dynamics_, self._scale, self._pure = dynamics, scale, pure
        self._row_of = kept[first]
        self._n_samples = n_samples
        self._predictor = predictor
        return self

    def _choose_time(self, boosting, dynamics, times, X, y, w, keyword, pure, scale):
        """The best time, the times tried and the criterion there, in units of y."""
        if times is None:
            times = default_times(dynamics, self.learning_rate)
        if self.learning_rate > 0:
            times = whole_rounds(times, self.learning_rate)
        if self.time == "cv":
            path = self._cross_validate(boosting, X, y, w, keyword, times)
        else:
            noise = None if self.noise_level is None else self.noise_level / scale
            path = criterion_path(self.time, dynamics, pure, times, noise)
        best = float(times[np.argmin(path)])
        if self.time in ("gcv", "loo", "cv"):
            with np.errstate(over="ignore"):
                path = path * scale * scale
        return best, times, path

    def _check_times(self):
        if self.time == "discrepancy" and self.noise_level is None:
            raise ValueError('time="discrepancy" needs a noise_level.')
        if self.times is None:
            return None
        grid = np.asarray(self.times, dtype=np.float64)
        if grid.ndim != 1 or not len(grid) or not np.isfinite(grid).all() or (grid < 0).any():
            raise ValueError("times must be a list of finite numbers that are not negative.")
        return np.unique(grid)

    def _weight_keyword(self, sample_weight, w):
        """The name by which the learner takes weights, None where it gets none."""
        if routing_enabled():
            routed = process_routing(self, "fit", sample_weight=sample_weight)
            requested = "sample_weight" in routed.estimator.fit
            own = has_fit_parameter(self._learner(), "sample_weight") and (w == 1).all()
            return "sample_weight" if requested or own else None
        keyword = weight_keyword(self._learner())
        if keyword is None and w.min() < w.max():
            raise ValueError(
                f"estimator={type(self._learner()).__name__} takes no sample_weight, and the "
                "weights vary."
            )
        return keyword

    def _boosting(self, seed):
        return Boosting(
            self._learner(),
            self.coordinates,
            self.subsample,
            self.n_subsamples,
            self.init == "mean",
            self.learning_rate,
            seed,
            self.n_jobs,
        )

    def _cross_validate(self, boosting, X, y, w, keyword, times):
        folds = list(check_cv(self.cv).split(X, y))
        errors = Parallel(n_jobs=self.n_jobs)(
            delayed(fold_error)(boosting, X, y, w, keyword, times, train, test)
            for train, test in folds
        )
        return np.sum(errors, axis=0) / sum(w[test].sum() for _, test in folds)

    @property
    def _is_stochastic(self):
        return self.learning_rate > 0 and (self.subsample < 1 or self.coordinates == "random")

    def _final_predictor(self, dynamics, X, y, w, keyword, time, rng):
        if not self._is_stochastic:
            return dynamics.predictor([time])
        learner = self._learner()
        weights = w if keyword is not None else np.ones(len(w))
        bank = Bank(learner, X, weights, keyword, [], self.n_jobs)
        constant = float(w @ y / w.sum()) if self.init == "mean" else 0.0
        p = X.shape[1] if self.coordinates == "random" else None
        m = int(n_rounds(time, self.learning_rate))
        size = rows_a_round(self.subsample, len(y))
        settings = draw_settings(m, len(y), size, p, rng)
        learners = list(run_rounds(bank.fit_setting, settings, X, y - constant, self.learning_rate))
        return RoundsPredictor(constant, self.learning_rate, learners, [m], X.shape[1])

    def predict(self, X):
        """Predictions at the chosen time.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, order="C", reset=False)
        return self._predictor.predict(X)[:, 0] * self._scale

    def predict_path(self, X, times):
        """Predictions at several times.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        times : array-like of shape (n_times,)

        Returns
        -------
        y : ndarray of shape (n_samples, n_times)

        Raises
        ------
        ValueError
            If the rounds were run one by one and there were fewer of them than a time asks for.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, order="C", reset=False)
        times = _checked(times)
        if self._is_stochastic:
            rounds = n_rounds(times, self.learning_rate).tolist()
            if max(rounds) > self.n_rounds_:
                raise ValueError(
                    f"times beyond {self.time_}: only {self.n_rounds_} rounds were run."
                )
            stored = self._predictor
            return self._scale * RoundsPredictor(
                stored.constant, stored.learning_rate, stored.learners, rounds, stored.n_features
            ).predict(X)
        return self._dynamics_.predictor(times).predict(X) * self._scale

    def degrees_of_freedom(self, times):
        """Trace of the operator that maps y to the fitted values: from 1 (init="mean") upwards.

        Parameters
        ----------
        times : array-like of shape (n_times,)

        Returns
        -------
        df : ndarray of shape (n_times,)
        """
        check_is_fitted(self)
        return self._dynamics_.degrees_of_freedom(_checked(times))

    def training_error(self, times):
        """Weighted mean squared residual (002, (15)).

        Parameters
        ----------
        times : array-like of shape (n_times,)

        Returns
        -------
        errors : ndarray of shape (n_times,)
        """
        check_is_fitted(self)
        rss = self._dynamics_.squared_residuals(_checked(times)) + self._pure
        with np.errstate(over="ignore"):
            return rss / self._dynamics_.n * self._scale * self._scale

    def component(self, j, x):
        """The part of one feature: `init_` + the sum of all components is `predict`.

        With `init="zero"` and splines, the constant that boosting has learned so far is in
        no component either.

        Parameters
        ----------
        j : int
            Index of the feature.
        x : array-like of shape (n_samples,)

        Returns
        -------
        values : ndarray of shape (n_samples,)

        Raises
        ------
        AttributeError
            If the model is not additive: `coordinates="all"` with another learner than splines.
        """
        check_is_fitted(self)
        if not 0 <= j < self.n_features_in_:
            raise ValueError(f"j={j}: there are {self.n_features_in_} features.")
        additive = isinstance(self._dynamics_, LowRankDynamics) or self.coordinates == "random"
        if not additive or (self._is_stochastic and self.coordinates == "all"):
            raise AttributeError("Only an additive model has components.")
        x = np.asarray(x, dtype=np.float64).reshape(-1)
        return self._predictor.component(j, x)[:, 0] * self._scale

    def bias_variance(self, f, sigma, times, X_new=None):
        """Expected errors when y = f(x) + noise of standard deviation sigma, at each time.

        On the training points by 002, propositions 2.12 and 2.13 and remark 2.14 (corrected: the
        noise of the test observation counts once more, and the variance from a zero start is
        that of the fitted values); at new points by proposition 2.15, averaged over `X_new`.

        Parameters
        ----------
        f : callable or array-like of shape (n_samples,)
            The regression function, or its values at the rows passed to `fit`. Called with an
            array of shape (n, n_features).
        sigma : float
        times : array-like of shape (n_times,)
        X_new : array-like of shape (n_new, n_features), default=None
            A sample of new points; needs a callable f.

        Returns
        -------
        errors : Bunch of ndarrays of shape (n_times,)
            `bias2`, `variance_train`, `variance_test`, `train` and `test` (their sums), and with
            `X_new` also `bias2_new`, `variance_new`, `test_new`. The variances of the test errors
            hold the noise of the test observation.
        """
        check_is_fitted(self)
        times, dynamics = _checked(times), self._dynamics_
        if isinstance(dynamics, LowRankDynamics) and dynamics._rows is None:
            raise ValueError(f"More than {_KEPT_ROWS} training rows are not kept.")
        X = dynamics.bank.X if isinstance(dynamics, DenseDynamics) else dynamics._rows[0]
        values = np.asarray(f(X) if callable(f) else f, dtype=np.float64)
        if not callable(f):
            if values.shape != (self._n_samples,):
                raise ValueError("f needs one value for each row passed to fit.")
            values = values[self._row_of]
        norm, train, test = dynamics.expected_errors(values, times)
        n, noise = dynamics.n, sigma**2
        own = noise / n if self.init == "mean" else 0.0
        out = Bunch(bias2=norm / n)
        out.variance_train = noise * (train + n - dynamics.n_rows) / n
        out.variance_test = noise + own + noise * test / n
        if self.init == "zero":
            out.variance_test = noise + noise * test / n
        out.train, out.test = out.bias2 + out.variance_train, out.bias2 + out.variance_test
        if X_new is not None:
            if not callable(f):
                raise ValueError("f must be callable to be evaluated at X_new.")
            X_new = validate_data(self, X_new, dtype=np.float64, order="C", reset=False)
            f_new = np.asarray(f(X_new), dtype=np.float64)
            bias, variance = dynamics.new_point_errors(X_new, values, f_new, times)
            out.bias2_new, out.variance_new = bias, noise * (1.0 + variance)
            out.test_new = out.bias2_new + out.variance_new
        return out


def _checked(times):
    times = np.atleast_1d(np.asarray(times, dtype=np.float64))
    if times.ndim != 1 or not np.isfinite(times).all() or (times < 0).any():
        raise ValueError("times must be finite and not negative.")
    return times
