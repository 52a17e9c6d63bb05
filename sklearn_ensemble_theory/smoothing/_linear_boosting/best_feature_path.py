"""Componentwise L2-boosting: each round fits the spline of the feature that lowers the errors most.

[Bühlmann and Yu 2003; Bühlmann and Hothorn 2007]. A round reads the moments of the residuals with
the functions of all features, and changes them by a block of columns of the functions' Gram matrix:
no row is read. Which feature is best depends on y, so that the model is not linear in y, and there
is no operator with eigenvalues or expected errors; given the features chosen there is one, whose
trace is the number of degrees of freedom.
"""

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from sklearn_ensemble_theory._parallel import one_blas_thread
from sklearn_ensemble_theory.bounds._spectral_filters import n_rounds
from sklearn_ensemble_theory.smoothing._linear_boosting.criteria import CRITERIA
from sklearn_ensemble_theory.smoothing._linear_boosting.paths import (
    BoostingPath,
    Sample,
    Start,
    check_number_of_rounds,
)
from sklearn_ensemble_theory.smoothing._smoothers import Totals
from sklearn_ensemble_theory.smoothing._spline.additive_design import AdditivePredictor
from sklearn_ensemble_theory.smoothing._spline.feature_sums import (
    ComplementSystem,
    FeatureSmoothers,
    FeatureSystem,
    FunctionSums,
    RowSums,
)

_TIE = 1e-10
"""Features whose decreases of the squared errors differ by less than this share are equally good,
and the first one is chosen: copies of a feature differ by rounding."""

_NOTHING_LEFT = 1e-24
"""Rounds end where no feature lowers the squared errors by more than this share of their total."""

_LONGEST = 100.0
"""The rounds compared by default are those up to this time."""

_MOST_ROUNDS = 10_000
"""And there are at most this many of them."""

_MODELS = 256
"""Models whose held-out errors are computed together."""


def check_best_feature(
    learner: Any,
    *,
    learning_rate: float,
    subsample: float,
    time: float | str,
    has_initial_fit: bool,
    has_weights: bool,
) -> None:
    """Refuse what rounds of the best feature cannot do; ValueError."""
    if learning_rate == 0:
        raise ValueError(
            "coordinates='best' needs learning_rate > 0, for instance 0.1: the best feature "
            "changes from round to round, and the limit of small rates has no closed form."
        )
    if subsample < 1:
        raise ValueError(
            f"coordinates='best' fits every round to all rows: subsample must be 1, got "
            f"{subsample}."
        )
    if time == "loo":
        raise ValueError(
            "time='loo' is not available with coordinates='best', whose rounds read no rows; "
            "use 'cv', or another criterion."
        )
    if has_initial_fit and time in CRITERIA:
        raise ValueError(
            f"time={time!r} needs degrees of freedom, which are not known with coordinates='best' "
            "and an estimator as init; use 'cv', 'discrepancy' or a number."
        )
    if not hasattr(learner, "_feature_smoothers"):
        raise ValueError(
            "coordinates='best' needs SmoothingSplineRegressor with a number as df or penalty as "
            f"estimator; got {type(learner).__name__}."
        )
    if not has_weights:
        raise ValueError(
            "coordinates='best' needs estimator to take sample_weight where the weights vary."
        )
    learner._check_linear()


class BestFeatureRounds:
    """The rounds, on one set of rows.

    Parameters
    ----------
    system : FeatureSystem
    learning_rate : float

    Attributes
    ----------
    features : list of int
        The feature of each round. Shorter than `n_rounds` where nothing was left to fit.
    steps : list of ndarray
        What each round adds to the coefficients of its feature.
    decreases : list of float
        By how much each round lowers the weighted sum of squares.
    n_rounds : int
        The number of rounds asked for.
    """

    def __init__(self, system: FeatureSystem, learning_rate: float):
        self.system, self.learning_rate = system, learning_rate
        self.features: list[int] = []
        self.steps: list[np.ndarray] = []
        self.decreases: list[float] = []
        self.n_rounds = 0
        self._moments = system.moments.copy()
        self._chosen: dict[int, tuple[slice, np.ndarray, np.ndarray]] = {}

    def extend(self, n_rounds: int) -> None:
        """Run rounds until there are `n_rounds`."""
        self.n_rounds = max(n_rounds, self.n_rounds)
        with one_blas_thread():
            self._run(n_rounds)

    def _run(self, n_rounds: int) -> None:
        system, b, rate = self.system, self._moments, self.learning_rate
        gamma, shrinkage = system.gamma, system.shrinkage
        live = [j for j, part in enumerate(system.slices) if part.start < part.stop]
        if not live:
            return
        starts = [system.slices[j].start for j in live]
        # A feature's whole fit lowers the sum of squares by sum_a weights_a b_a^2.
        weights = shrinkage * (2.0 - gamma * shrinkage)
        floor = _NOTHING_LEFT * system.total
        while len(self.features) < n_rounds:
            decreases = np.add.reduceat(weights * b * b, starts)
            best = decreases.max()
            if not best > floor:
                return
            j = live[int(np.argmax(decreases >= best * (1.0 - _TIE)))]
            part = system.slices[j]
            step = rate * shrinkage[part] * b[part]
            self.decreases.append(float(step @ (2.0 * b[part] - gamma[part] * step)))
            b -= system.columns(j) @ step
            self.features.append(j)
            self.steps.append(step)

    def coefficients(self, rounds: np.ndarray) -> np.ndarray:
        """The coefficients of all functions after each of `rounds`: (n_functions, len(rounds))."""
        out = np.empty((len(self.system.gamma), len(rounds)))
        current, done = np.zeros(len(out)), 0
        for position in np.argsort(rounds, kind="stable"):
            last = min(int(rounds[position]), len(self.features))
            for m in range(done, last):
                current[self.system.slices[self.features[m]]] += self.steps[m]
            out[:, position], done = current, last
        return out

    def traces(self, n_rounds: int) -> np.ndarray:
        """The trace of the operator after each of the first rounds, without the constant.

        After m rounds the residuals are A_m y, A_{m+1} = (I - rate S_j) A_m, and with Phi'W A_m =
        D_m Phi'W a round costs the number of functions of the features chosen, squared, times
        those of one feature.
        """
        chosen = self._chosen or self._chosen_features()
        out = np.zeros(n_rounds + 1)
        D = np.eye(sum(len(shrinkage) for _, shrinkage, _ in chosen.values()))
        for m, j in enumerate(self.features[:n_rounds]):
            rows, shrinkage, block = chosen[j]
            step = self.learning_rate * shrinkage[:, None] * D[rows]
            out[m + 1] = out[m] + np.vdot(step, block.T)
            D -= block @ step
        return out

    def _chosen_features(self) -> dict[int, tuple[slice, np.ndarray, np.ndarray]]:
        """For each: its rows among the functions chosen, its shrinkage and its columns there."""
        system, chosen = self.system, sorted(set(self.features))
        parts = [system.slices[j] for j in chosen]
        every = np.r_[tuple(parts)] if parts else np.empty(0, dtype=np.intp)
        ends = np.cumsum([0, *(part.stop - part.start for part in parts)])
        return {
            j: (slice(a, b), system.shrinkage[part], system.columns(j)[every])
            for j, part, a, b in zip(chosen, parts, ends[:-1], ends[1:])
        }

    def release(self) -> None:
        """Keep what the results need, and no sums over rows: no more rounds can be run."""
        self._chosen = self._chosen_features()
        self.system.release()


class BestFeaturePath(BoostingPath):
    """The path of componentwise boosting: a model after each round.

    Parameters
    ----------
    sums : FunctionSums
        Over all rows, of y about its mean.
    totals : Totals
        Of the observations that the criteria count.
    start : Start
    """

    def __init__(self, sums: FunctionSums, totals: Totals, start: Start):
        super().__init__(totals, start)
        self.centred_total = self.total = totals.squares
        if not self.at_mean:
            self.total += self.total_weight * self.mean**2
        self.smoothers, self.eigenvalues = sums.smoothers, np.empty(0)
        self.n_features = len(self.smoothers.forms)
        longest = int(n_rounds(_LONGEST, self.learning_rate))
        self.default_rounds = min(longest, _MOST_ROUNDS)
        self._sums: FunctionSums | None = sums
        self.rounds = BestFeatureRounds(FeatureSystem.of_all(sums), self.learning_rate)
        self._traces = np.zeros(1)

    @classmethod
    def of_rows(
        cls, smoothers: FeatureSmoothers, sample: Sample, distinct: Sample, start: Start
    ) -> "BestFeaturePath":
        """The path of all rows; `distinct` has equal ones as one."""
        totals = Totals.of(distinct.y, distinct.weight)
        sums = RowSums(smoothers, sample.X, sample.y - totals.mean, sample.weight)
        return cls(sums, totals, start)

    def keep_rows(self) -> None:
        """Release the rows. The Gram matrix is kept for the features chosen, for the trace."""
        self._sums = None
        self.last_time = self.rounds.n_rounds * self.learning_rate
        self.rounds.release()

    def stability(self) -> tuple[bool, str]:
        # The eigenvalues of each spline are between 0 and 1: no round raises the squared errors.
        return True, ""

    def _numbers(self, times: np.ndarray) -> np.ndarray:
        """The number of rounds at each time; they are run where they were not."""
        if times.max() > self.last_time * (1.0 + 1e-12):
            raise ValueError(
                f"times must be at most {self.last_time:g}: only {self.rounds.n_rounds} rounds "
                "were run."
            )
        numbers = n_rounds(times, self.learning_rate)
        check_number_of_rounds(int(numbers.max()), self.learning_rate, float(times.max()))
        if numbers.max() > self.rounds.n_rounds:
            self.rounds.extend(int(numbers.max()))
        return numbers

    def _left_of_mean(self, numbers: np.ndarray) -> np.ndarray:
        """The share of the mean that is not fitted: each spline contains the constant."""
        if self.at_mean:
            return np.zeros(len(numbers))
        return (1.0 - self.learning_rate) ** numbers.astype(np.float64)

    def squared_residuals(self, times: np.ndarray) -> np.ndarray:
        numbers = self._numbers(times)
        decreases = np.r_[0.0, np.cumsum(self.rounds.decreases)]
        fitted = decreases[np.minimum(numbers, len(decreases) - 1)]
        rss = np.maximum(self.centred_total - fitted, 0.0)
        return rss + self.total_weight * (self.mean * self._left_of_mean(numbers)) ** 2

    def degrees_of_freedom(self, times: np.ndarray) -> np.ndarray:
        numbers = self._numbers(times)
        needed = min(int(numbers.max()), len(self.rounds.features))
        if len(self._traces) <= needed:
            self._traces = self.rounds.traces(needed)
        traces = self._traces[np.minimum(numbers, len(self._traces) - 1)]
        return traces + 1.0 - self._left_of_mean(numbers)

    def predictor(self, times: np.ndarray) -> AdditivePredictor:
        numbers = self._numbers(times)
        coefficients = self.smoothers.in_splines(self.rounds.coefficients(numbers))
        constants = self.mean * (1.0 - self._left_of_mean(numbers))
        return AdditivePredictor(self.smoothers.design, coefficients, constants)

    def selection(self, time: float) -> tuple[np.ndarray, np.ndarray]:
        number = int(self._numbers(np.array([time]))[0])
        chosen = np.array(self.rounds.features[:number], dtype=np.intp)
        sums = np.bincount(chosen, self.rounds.decreases[:number], minlength=self.n_features)
        return chosen, sums / (sums.sum() or 1.0)

    def held_out_error(
        self, times: np.ndarray, splits: Sequence[tuple[np.ndarray, np.ndarray]]
    ) -> np.ndarray:
        assert self._sums is not None
        numbers = self._numbers(times)
        left = self._left_of_mean(numbers)
        errors, weight = np.zeros(len(times)), 0.0
        with one_blas_thread():  # many small decompositions and products
            for held in self._sums.held_out(splits):
                errors += self._errors_without(held, numbers, left)
                weight += held.weight
        return errors / weight

    def _errors_without(
        self, held: FunctionSums, numbers: np.ndarray, left: np.ndarray
    ) -> np.ndarray:
        """The squared errors on some rows, of models for all others, after numbers of rounds."""
        assert self._sums is not None
        system = ComplementSystem(self._sums, held)
        rounds = BestFeatureRounds(system, self.learning_rate)
        rounds.extend(int(numbers.max()))
        # y is centred by the mean of all rows, which is part of the start at zero.
        constants = system.mean - left * (system.mean + self.mean)
        parts = [slice(i, i + _MODELS) for i in range(0, len(numbers), _MODELS)]
        errors = [
            system.held_out_errors(rounds.coefficients(numbers[some]), constants[some])
            for some in parts
        ]
        return np.concatenate(errors)

    # What only a model that is linear in y has.

    def _refuse(self, what: str) -> NoReturn:
        raise ValueError(
            f"There are no {what} with coordinates='best', which chooses features by y and is "
            "not linear in y."
        )

    @property
    def X(self) -> np.ndarray:
        self._refuse("expected errors")

    def loo_error(self, times: np.ndarray) -> np.ndarray:
        self._refuse("deleted residuals")

    def coefficients(self, times: np.ndarray) -> np.ndarray:
        self._refuse("eigenvalues")

    def eigenvectors(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        self._refuse("eigenvectors")

    def expected_errors(
        self, f: np.ndarray, times: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        self._refuse("expected errors")

    def new_point_errors(
        self, X_new: np.ndarray, f: np.ndarray, f_new: np.ndarray, times: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        self._refuse("expected errors")
