"""The fit: from a learner and data to its path over time, and from there to a time."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import has_fit_parameter

from sklearn_ensemble_theory._numerics.ties import collapse_rows
from sklearn_ensemble_theory._parallel import one_blas_thread
from sklearn_ensemble_theory._progress import warn_user
from sklearn_ensemble_theory._scaling import largest_magnitude
from sklearn_ensemble_theory.bounds._spectral_filters import n_rounds
from sklearn_ensemble_theory.smoothing._linear_boosting._initial.initial_fit import (
    InitialFit,
    InitialFitPath,
    InitialFitPredictor,
)
from sklearn_ensemble_theory.smoothing._linear_boosting.averaged_learners import (
    AveragedLearner,
    RoundsPredictor,
    Setting,
    check_linear,
    draw_settings,
    row_subsets,
    run_rounds,
)
from sklearn_ensemble_theory.smoothing._linear_boosting.best_feature_path import (
    BestFeaturePath,
    check_best_feature,
)
from sklearn_ensemble_theory.smoothing._linear_boosting.criteria import (
    criterion_path,
    default_times,
    whole_rounds,
)
from sklearn_ensemble_theory.smoothing._linear_boosting.matrix_path import MatrixPath
from sklearn_ensemble_theory.smoothing._linear_boosting.paths import (
    BoostingPath,
    Sample,
    SpectralPath,
    Start,
    check_number_of_rounds,
)
from sklearn_ensemble_theory.smoothing._smoothers import (
    MatrixForm,
    SpectralForm,
    check_dense_rows,
)

Split = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True, kw_only=True)
class BoostingSpec:
    """What is boosted, and how; the data are given later, all rows or by folds.

    Attributes
    ----------
    learner : regressor
    weight_keyword : str or None
        The parameter by which the learner takes weights; None where it gets none.
    coordinates, subsample, n_subsamples, n_jobs
        As in `LinearL2BoostingRegressor`.
    start : Start
    initial : InitialFit or None
        The estimator that boosting starts from; then `start` is zero, for its residuals.
    seed : int
        Of the random subsets of rows.
    """

    learner: Any
    weight_keyword: str | None
    coordinates: str
    subsample: float
    n_subsamples: int
    start: Start
    initial: InitialFit | None
    seed: int
    n_jobs: int | None

    @property
    def is_stochastic(self) -> bool:
        """Whether the model is a sequence of random rounds."""
        random = self.subsample < 1 or self.coordinates == "random"
        return random and self.start.learning_rate > 0

    def rows_per_round(self, n: int) -> int:
        """floor(subsample * n), at least one."""
        size = n if self.subsample == 1 else int(np.floor(self.subsample * n + 1e-9))
        if size < 1:
            raise ValueError(f"subsample={self.subsample} of {n} rows is less than one row.")
        return size

    def path(self, sample: Sample) -> BoostingPath:
        """The path of the learner, or of its average over all settings, on these rows."""
        form = self._own_form(sample)
        if form is not None and form.gives_predictions:
            return SpectralPath.of_rows(form, sample, self.start)
        return self._matrix_path(sample, form)

    def path_from(
        self, path: BoostingPath, initial_fit: Any, residuals: Sample, scale: float
    ) -> BoostingPath:
        """The path from the initial fit, if there is one, given that for its residuals."""
        if self.initial is None:
            return path
        dense = None if self.coordinates == "best" else partial(self.dense_path, residuals)
        return InitialFitPath(path, self.initial, initial_fit, residuals, scale, dense)

    def dense_path(self, sample: Sample) -> MatrixPath:
        """The path by an n x n matrix, also where the learner has another form."""
        form = self._own_form(sample)
        return self._matrix_path(sample, None if form is None or form.gives_predictions else form)

    def check_best_feature(self, weight: np.ndarray, time: float | str) -> None:
        """ValueError for what rounds of the best feature cannot do."""
        check_best_feature(
            self.learner,
            learning_rate=self.start.learning_rate,
            subsample=self.subsample,
            time=time,
            has_initial_fit=self.initial is not None,
            has_weights=self.weight_keyword is not None or bool((weight == 1).all()),
        )

    def best_feature_path(self, sample: Sample, distinct: Sample) -> BestFeaturePath:
        """The path of the best feature in each round."""
        with one_blas_thread():  # many small decompositions
            smoothers = self.learner._feature_smoothers(distinct.X, distinct.weight)
        return BestFeaturePath.of_rows(smoothers, sample, distinct, self.start)

    def _own_form(self, sample: Sample) -> SpectralForm | MatrixForm | None:
        """The form that the learner offers, if any, for all rows and their weights."""
        X, _, w = sample
        if not hasattr(self.learner, "_linear_form") or self.rows_per_round(len(X)) < len(X):
            return None
        if self.weight_keyword is None and (w != 1).any():
            return None
        self.learner._check_linear()
        return self.learner._linear_form(X, w, self.coordinates == "random")

    def _matrix_path(self, sample: Sample, form: MatrixForm | None) -> MatrixPath:
        """From the learner's own matrix, or from its outputs on the unit vectors."""
        n, p = sample.X.shape
        check_dense_rows(n, type(self.learner).__name__)
        rng = np.random.RandomState(self.seed)
        subsets = row_subsets(n, self.rows_per_round(n), self.n_subsamples, rng)
        columns = [[j] for j in range(p)] if self.coordinates == "random" else [None]
        learner = self.averaged_learner(sample, [(rows, c) for rows in subsets for c in columns])
        if form is None:
            params = {} if learner.keyword is None else {learner.keyword: learner.weight}
            X = sample.X if self.coordinates == "all" else sample.X[:, :1]
            check_linear(self.learner, X, params)
            form = MatrixForm(learner.outputs())
        return MatrixPath(form, sample, self.start, learner)

    def averaged_learner(self, sample: Sample, settings: Sequence[Setting]) -> AveragedLearner:
        X, _, w = sample
        weight = w if self.weight_keyword is not None else np.ones(len(w))
        return AveragedLearner(self.learner, X, weight, self.weight_keyword, settings, self.n_jobs)


class TimeChoice(NamedTuple):
    """How the time is found.

    Attributes
    ----------
    time : float or str
        The time itself, or the name of a criterion.
    times : ndarray or None
        The times to choose among; None for the default ones.
    noise_level : float or None
        In units of y, for the discrepancy principle.
    splits : sequence of (train, test)
        For cross-validation.
    """

    time: float | str
    times: np.ndarray | None
    noise_level: float | None
    splits: Sequence[Split]


@dataclass(frozen=True, kw_only=True)
class FittedBoosting:
    """The fitted model, for y in units of `scale`.

    Attributes
    ----------
    path : BoostingPath
    predictor : object with `predict` and `component`
        At the chosen time.
    initial : regressor or None
        The initial fit, in units of y.
    scale : float
    within_ties : float
        The sum of squares of y within equal rows of X.
    distinct : ndarray of int
        The rows of X that `path` has.
    is_stable : bool
    time : float
    times, criterion : ndarray
        The times tried and the criterion there.
    """

    path: BoostingPath
    predictor: Any
    initial: Any
    scale: float
    within_ties: float
    distinct: np.ndarray
    is_stable: bool
    time: float
    times: np.ndarray
    criterion: np.ndarray


def fit_boosting(
    spec: BoostingSpec, sample: Sample, choice: TimeChoice, rng: np.random.RandomState
) -> FittedBoosting:
    """Decompose the learner, and choose the time."""
    best = spec.coordinates == "best"
    if best:
        spec.check_best_feature(sample.weight, choice.time)
    given, initial = sample, None
    if spec.initial is not None:
        initial, sample = spec.initial.residuals(sample)
    # In units of the largest |y|: squares of 1e150 overflow.
    scale = largest_magnitude(sample.y)
    sample = sample._replace(y=sample.y / scale)
    distinct, within_ties, collapsed = _without_ties(spec, sample)
    path: BoostingPath = spec.best_feature_path(sample, collapsed) if best else spec.path(collapsed)
    path = spec.path_from(path, initial, collapsed, scale)
    is_stable, reason = path.stability()
    if not is_stable:
        warn_user(
            f"Boosting {type(spec.learner).__name__} is unstable: {reason}, so the fitted values "
            "grow without bound in time.",
            UserWarning,
        )
    refit = partial(_cross_validate, spec, given, scale)
    time, times, criterion = chosen_time(path, choice, within_ties, scale, refit)
    predictor: Any = path.predictor(np.array([time]))
    if spec.is_stochastic:
        predictor = _run_rounds(spec, sample, time, rng)
        if initial is not None:
            predictor = InitialFitPredictor(predictor, initial, scale)
    path.keep_rows()
    return FittedBoosting(
        path=path,
        predictor=predictor,
        initial=initial,
        scale=scale,
        within_ties=within_ties,
        distinct=distinct,
        is_stable=is_stable,
        time=time,
        times=times,
        criterion=criterion,
    )


def _without_ties(spec: BoostingSpec, sample: Sample) -> tuple[np.ndarray, float, Sample]:
    """Equal rows of X as one row with their mean, where the learner takes its weight.

    Not for a pipeline, whose first steps would get fewer rows.
    """
    X, y, w = sample
    if (
        spec.weight_keyword is None
        or not has_fit_parameter(spec.learner, "sample_weight")
        or spec.rows_per_round(len(y)) < len(y)
        or (spec.initial is not None and not spec.initial.merges_ties)
    ):
        return np.arange(len(y)), 0.0, sample
    distinct, means, weights, within = collapse_rows(X, y[:, None], w)
    if len(distinct) < len(y):
        sample = Sample(X[distinct], np.ascontiguousarray(means[:, 0]), weights)
    return distinct, float(within[0]), sample


def chosen_time(
    path: BoostingPath,
    choice: TimeChoice,
    within_ties: float,
    scale: float,
    cross_validate: Callable[..., np.ndarray],
) -> tuple[float, np.ndarray, np.ndarray]:
    """The time, the times tried and the criterion there, in units of y.

    `cross_validate`, of times and splits, refits the folds where the path does not.
    """
    if not isinstance(choice.time, str):
        return float(choice.time), np.array([float(choice.time)]), np.array([np.nan])
    times = default_times(path) if choice.times is None else choice.times
    if path.learning_rate > 0:
        times = whole_rounds(times, path.learning_rate)
    if choice.time == "cv":
        own = path.held_out_error(times, choice.splits)
        criterion = own if own is not None else cross_validate(times, choice.splits)
    else:
        noise = None if choice.noise_level is None else choice.noise_level / scale
        criterion = criterion_path(choice.time, path, times, within_ties, noise)
    best = float(times[np.argmin(criterion)])
    if choice.time in ("gcv", "loo", "cv"):
        with np.errstate(over="ignore"):
            criterion = criterion * scale * scale
    return best, times, criterion


def _cross_validate(
    spec: BoostingSpec, sample: Sample, scale: float, times: np.ndarray, splits: Sequence[Split]
) -> np.ndarray:
    with one_blas_thread():
        errors = Parallel(n_jobs=spec.n_jobs)(
            delayed(_fold_error)(spec, sample, scale, times, split) for split in splits
        )
    return np.sum(errors, axis=0) / sum(sample.weight[test].sum() for _, test in splits)


def _fold_error(
    spec: BoostingSpec, sample: Sample, scale: float, times: np.ndarray, split: Split
) -> np.ndarray:
    """The weighted squared error on one fold at each time; the same bits in every process."""
    with one_blas_thread():
        train, (X, y, w) = (sample.take(rows) for rows in split)
        if spec.initial is not None:
            initial, train = spec.initial.residuals(train)
            y = y - initial.predict(X)
        train, y = train._replace(y=train.y / scale), y / scale
        path: BoostingPath
        if spec.coordinates == "best":
            path = spec.best_feature_path(train, _without_ties(spec, train)[-1])
        else:
            path = spec.path(train)
        prediction = path.predictor(times).predict(X)
        with np.errstate(over="ignore", invalid="ignore"):
            error = w @ (y[:, None] - prediction) ** 2
    return np.where(np.isfinite(error), error, np.inf)


def _run_rounds(
    spec: BoostingSpec, sample: Sample, time: float, rng: np.random.RandomState
) -> RoundsPredictor:
    X, y, w = sample
    learner = spec.averaged_learner(sample, [])
    constant = float(w @ y / w.sum()) if spec.start.at_mean else 0.0
    p = X.shape[1] if spec.coordinates == "random" else None
    rate = spec.start.learning_rate
    m = check_number_of_rounds(int(n_rounds(time, rate)), rate, time)
    settings = draw_settings(m, len(y), spec.rows_per_round(len(y)), p, rng)
    learners = list(run_rounds(learner.fit_setting, settings, X, y - constant, rate))
    return RoundsPredictor(constant, rate, learners, [m])


def weight_keyword(estimator: Any) -> str | None:
    """The name of the parameter of `estimator.fit` for row weights, or None."""
    if has_fit_parameter(estimator, "sample_weight"):
        return "sample_weight"
    if isinstance(estimator, Pipeline) and has_fit_parameter(estimator[-1], "sample_weight"):
        return f"{estimator.steps[-1][0]}__sample_weight"
    return None
