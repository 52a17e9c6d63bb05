"""Boosting that starts from the fit of an estimator [Dombry and Esstafa, theorem 2.7].

With Z_0 the initial fit, F_t = Z_0 + (the path from zero for the residuals y - Z_0). Fitted values,
errors and predictions need no more than that. If Z_0 is linear in y, with matrix S_0, the operator
that maps y to the fitted values is

    I - E_t J    with J = I - S_0 and E_t as in `paths`,

the form that the path from the mean has for J = I - qq'. Degrees of freedom, deleted residuals and
expected errors follow from it. J is dense, so that they need the n x n matrix of the learner, which
is made when one of them is first asked for.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from sklearn_ensemble_theory.smoothing._linear_boosting.averaged_learners import (
    AveragedLearner,
    check_linear,
)
from sklearn_ensemble_theory.smoothing._linear_boosting.matrix_path import MatrixPath
from sklearn_ensemble_theory.smoothing._linear_boosting.paths import (
    BoostingPath,
    Sample,
    Start,
    loo_sum,
)
from sklearn_ensemble_theory.smoothing._smoothers import Totals, check_dense_rows

_SAME = 1e-6
"""S_0 y and the initial fit may differ by this share of the largest |y|."""


@dataclass(frozen=True)
class InitialFit:
    """The estimator that boosting starts from, not fitted.

    Attributes
    ----------
    estimator : regressor
    weight_keyword : str or None
        The parameter by which it takes weights; None where it gets none.
    n_jobs : int or None
        For the fits to unit vectors.
    """

    estimator: Any
    weight_keyword: str | None
    n_jobs: int | None

    @property
    def merges_ties(self) -> bool:
        """Whether equal rows can be given as one with the sum of their weights."""
        return self.weight_keyword is not None and has_fit_parameter(
            self.estimator, "sample_weight"
        )

    def residuals(self, sample: Sample) -> tuple[Any, Sample]:
        """A fitted clone, and the rows with its residuals as targets."""
        X, y, w = sample
        params = {} if self.weight_keyword is None else {self.weight_keyword: w}
        fitted = clone(self.estimator).fit(X, y, **params)
        return fitted, sample._replace(y=y - outputs_of(fitted, X))

    def matrix(self, sample: Sample, X: np.ndarray | None = None) -> np.ndarray:
        """S_0, its outputs on the unit vectors, at the rows or at those of X."""
        weight = np.ones(len(sample.y)) if self.weight_keyword is None else sample.weight
        setting = [(None, None)]
        learner = AveragedLearner(
            self.estimator, sample.X, weight, self.weight_keyword, setting, self.n_jobs
        )
        return learner.outputs(X)

    def check_linear(self, sample: Sample, fitted_values: np.ndarray) -> np.ndarray:
        """S_0, or a ValueError where it does not give the fitted values."""
        params = {} if self.weight_keyword is None else {self.weight_keyword: sample.weight}
        name = type(self.estimator).__name__
        try:
            check_linear(self.estimator, sample.X, params)
        except ValueError as error:
            raise ValueError(self._not_linear(name)) from error
        matrix = self.matrix(sample)
        gap = np.abs(matrix @ sample.y - fitted_values).max()
        if not gap <= _SAME * np.abs(sample.y).max():
            raise ValueError(self._not_linear(name))
        return matrix

    @staticmethod
    def _not_linear(name: str) -> str:
        return (
            f"init={name} is not linear in y, so that degrees of freedom, deleted residuals and "
            "expected errors are not defined. Use time='cv', time='discrepancy' or a number as "
            "time."
        )


def outputs_of(fitted: Any, X: np.ndarray) -> np.ndarray:
    """The predictions of the initial estimator; a ValueError unless they are finite numbers."""
    values = np.asarray(fitted.predict(X), dtype=np.float64).reshape(-1)
    if values.shape != (len(X),) or not np.isfinite(values).all():
        raise ValueError(
            f"init={type(fitted).__name__} must predict one finite number for each row."
        )
    return values


class InitialFitPredictor:
    """The initial fit plus boosting from zero, in units of `scale`; a column for each time."""

    def __init__(self, boosted: Any, fitted: Any, scale: float):
        self.boosted, self.fitted, self.scale = boosted, fitted, scale

    def after(self, rounds: Any) -> "InitialFitPredictor":
        """The same after other numbers of random rounds."""
        return InitialFitPredictor(self.boosted.after(rounds), self.fitted, self.scale)

    def predict(self, X: np.ndarray) -> np.ndarray:
        start = outputs_of(self.fitted, X) / self.scale
        return start[:, None] + self.boosted.predict(X)

    def component(self, j: int, x: np.ndarray) -> np.ndarray:
        """What boosting adds in feature j."""
        return self.boosted.component(j, x)

    @property
    def is_centred(self) -> bool:
        self._refuse()

    @property
    def constant(self) -> float:
        self._refuse()

    @staticmethod
    def _refuse() -> NoReturn:
        raise AttributeError(
            "With an estimator as init, predictions are not a constant plus the terms of the "
            "features; `component` returns what boosting adds to init_."
        )


class InitialFitPath(BoostingPath):
    """The path from an initial fit.

    Parameters
    ----------
    boosted : BoostingPath
        From zero, for the residuals.
    initial : InitialFit
    fitted : regressor
        The initial fit, for y in its own units.
    residuals : Sample
        The rows of `boosted`, in units of `scale`.
    scale : float
    dense : callable () -> MatrixPath, or None
        `boosted` with its n x n matrix; None where there is none.
    """

    def __init__(
        self,
        boosted: BoostingPath,
        initial: InitialFit,
        fitted: Any,
        residuals: Sample,
        scale: float,
        dense: Callable[[], MatrixPath] | None,
    ):
        start = outputs_of(fitted, residuals.X) / scale
        sample = residuals._replace(y=residuals.y + start)
        totals = Totals.of(sample.y, sample.weight)
        super().__init__(totals, Start(False, boosted.learning_rate))
        self.boosted, self.initial, self.fitted = boosted, initial, fitted
        self.scale, self.dense, self.sample = scale, dense, sample
        self.eigenvalues, self.total = boosted.eigenvalues, boosted.total
        self.default_rounds = boosted.default_rounds
        self._started: tuple[MatrixPath, np.ndarray] | None = None

    # What follows from the path for the residuals.

    def stability(self) -> tuple[bool, str]:
        return self.boosted.stability()

    def squared_residuals(self, times: np.ndarray) -> np.ndarray:
        return self.boosted.squared_residuals(times)

    def predictor(self, times: np.ndarray) -> InitialFitPredictor:
        return InitialFitPredictor(self.boosted.predictor(times), self.fitted, self.scale)

    def selection(self, time: float) -> tuple[np.ndarray, np.ndarray]:
        return self.boosted.selection(time)

    def eigenvectors(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.boosted.eigenvectors(indices)

    @property
    def X(self) -> np.ndarray:
        return self.boosted.X

    def keep_rows(self) -> None:
        self.boosted.keep_rows()
        if self.dense is not None:
            self.sample = Sample(*(a.copy() for a in self.sample))

    # What needs the operator I - E J.

    def _operator(self) -> tuple[MatrixPath, np.ndarray]:
        """The learner's matrix path, and J for rows times the roots of their weights."""
        if self.dense is None:
            raise ValueError(
                "With coordinates='best' and an estimator as init there are no degrees of freedom "
                "and no expected errors. Use time='cv', time='discrepancy' or a number as time."
            )
        if self._started is None:
            check_dense_rows(self.n_rows, f"from init={type(self.initial.estimator).__name__}")
            X, y, _ = self.sample
            start = outputs_of(self.fitted, X) / self.scale
            S0 = self.initial.check_linear(self.sample, start)
            path = self.dense()
            self._started = path, np.eye(len(y)) - S0 * path.root[:, None] / path.root
        return self._started

    def degrees_of_freedom(self, times: np.ndarray) -> np.ndarray:
        path, J = self._operator()
        with np.errstate(over="ignore", invalid="ignore"):
            return self.n_rows - path.operator.trace(times, J)

    def loo_error(self, times: np.ndarray) -> np.ndarray:
        path, J = self._operator()
        residuals = path.operator.residuals(path.start, times) / path.root[:, None]
        with np.errstate(over="ignore", invalid="ignore"):
            leverage = 1.0 - path.operator.diagonal(times, J)
        return loo_sum(residuals, leverage, path.weight) / self.total_weight

    def coefficients(self, times: np.ndarray) -> np.ndarray:
        raise ValueError(
            "With an estimator as init the boosting operator is not diagonal in the eigenvectors "
            "of the learner."
        )

    def expected_errors(
        self, f: np.ndarray, times: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        path, J = self._operator()
        bias = path.operator.squared_residuals(J @ (path.root * f), times)
        left = path.operator.squared_norms(times, J)[0]
        with np.errstate(over="ignore", invalid="ignore"):
            # |I - E J|^2: the noise of the initial fit is in it.
            fitted = self.n_rows - 2.0 * path.operator.trace(times, J) + left
        return bias, left, fitted

    def new_point_errors(
        self, X_new: np.ndarray, f: np.ndarray, f_new: np.ndarray, times: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        path, J = self._operator()
        G = path.learner.outputs(X_new) / path.root
        G0 = self.initial.matrix(self.sample, X_new) / path.root
        bias, variance = np.empty(len(times)), np.empty(len(times))
        for k, boosted in enumerate(path.operator.prediction_rows(G, times, J)):
            rows = G0 + boosted
            bias[k] = np.mean((f_new - rows @ (path.root * f)) ** 2)
            variance[k] = np.mean((rows**2).sum(axis=1))
        return bias, variance
