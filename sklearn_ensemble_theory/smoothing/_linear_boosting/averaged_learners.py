"""The learner that is boosted, in all the settings in which boosting fits it.

A setting (rows, columns) is a part of the data; None stands for all rows or all columns. Each
random round draws one setting, and boosting the average over all settings is the limit of the
stochastic algorithm [Dombry and Esstafa, §3]. Any regressor that is linear in y is known from
its outputs g_j on the unit vectors [Dombry and Esstafa, eq. (4)].
"""

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from sklearn.base import clone, is_regressor
from sklearn.utils import get_tags
from sklearn.utils.parallel import Parallel, delayed

from sklearn_ensemble_theory._parallel import one_blas_thread

Setting = tuple[np.ndarray | None, list[int] | None]


def check_linear(estimator: Any, X: np.ndarray, fit_params: dict[str, Any]) -> None:
    """Raise, with the estimator's name, where its predictions are not linear in y.

    A regressor that defines `_check_linear` answers itself. Another one is fitted to random
    targets, one at a time, because a tree fitted to several targets shares its splits: L(0) = 0 and
    L(u + c v) = L(u) + c L(v) for random u, v and c = 1000, at no more than 1,000 of the training
    rows and the midpoints of pairs of them. (A full tree interpolates, so that it is linear at the
    rows themselves.)
    """
    if hasattr(estimator, "_check_linear"):
        estimator._check_linear()
        return
    name = type(estimator).__name__
    if not is_regressor(estimator):
        raise ValueError(f"estimator={name} is not a regressor.")
    rng = np.random.default_rng(0)
    u, v = rng.standard_normal((2, len(X)))
    points = np.vstack([X, X / 2 + X[rng.permutation(len(X))] / 2])
    points = points[rng.permutation(len(points))[:1000]]

    def L(y):
        return np.asarray(clone(estimator).fit(X, y, **fit_params).predict(points))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about targets that are not the user's
        zero, at_u, at_v, at_both = (L(y) for y in (np.zeros(len(X)), u, v, u + 1000.0 * v))
    size = max(np.abs(at_u).max(), np.abs(at_v).max(), 1e-3)
    if not all(np.isfinite(out).all() for out in (zero, at_u, at_v, at_both)):
        raise ValueError(f"estimator={name} returns predictions that are not finite.")
    if (
        np.abs(zero).max() > 1e-8 * size
        or np.abs(at_u + 1000.0 * at_v - at_both).max() > 1e-6 * 1000.0 * size
    ):
        raise ValueError(
            f"estimator={name} is not linear in y: its fit to a sum of targets is not the sum of "
            "its fits. Boosting and bagging in closed form need a linear smoother."
        )


class FittedTargets:
    """The learner fitted to each column of a matrix of targets.

    The columns share one fit where the learner supports it, and otherwise are distributed over
    `n_jobs` jobs.
    """

    def __init__(
        self,
        estimator: Any,
        X: np.ndarray,
        Y: np.ndarray,
        fit_params: dict[str, Any],
        n_jobs: int | None = None,
    ):
        if Y.shape[1] == 1:
            self.estimators = [_fit(estimator, X, Y[:, 0], fit_params)]
        elif get_tags(estimator).target_tags.multi_output:
            self.estimators = [_fit(estimator, X, Y, fit_params)]
        else:
            with one_blas_thread():
                self.estimators = Parallel(n_jobs=n_jobs)(
                    delayed(_fit_with_one_thread)(estimator, X, y, fit_params) for y in Y.T
                )

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Shape (len(X), number of targets)."""
        return np.column_stack([np.asarray(e.predict(X)) for e in self.estimators])


def _fit(estimator: Any, X: np.ndarray, y: np.ndarray, fit_params: dict[str, Any]) -> Any:
    return clone(estimator).fit(X, np.ascontiguousarray(y), **fit_params)


def _fit_with_one_thread(
    estimator: Any, X: np.ndarray, y: np.ndarray, fit_params: dict[str, Any]
) -> Any:
    with one_blas_thread():
        return _fit(estimator, X, y, fit_params)


class AveragedLearner:
    """The average of a learner over equally likely settings.

    Parameters
    ----------
    estimator : regressor
    X : ndarray of shape (n, n_features)
    weight : ndarray of shape (n,)
    keyword : str or None
        The parameter by which the learner takes the weights; None where it takes none.
    settings : sequence of (rows, columns)
    n_jobs : int or None
    """

    def __init__(
        self,
        estimator: Any,
        X: np.ndarray,
        weight: np.ndarray,
        keyword: str | None,
        settings: Sequence[Setting],
        n_jobs: int | None = None,
    ):
        self.estimator, self.X, self.weight = estimator, X, weight
        self.keyword, self.settings, self.n_jobs = keyword, settings, n_jobs

    def _data(self, setting: Setting) -> tuple[np.ndarray, dict[str, Any]]:
        rows, columns = setting
        X = self.X if rows is None else self.X[rows]
        weight = self.weight if rows is None else self.weight[rows]
        params = {} if self.keyword is None else {self.keyword: weight}
        return _columns_of(X, columns), params

    def fit_setting(self, setting: Setting, Y: np.ndarray) -> FittedTargets:
        """The learner in one setting, fitted to the columns of Y, which has all rows."""
        X, params = self._data(setting)
        targets = Y if setting[0] is None else Y[setting[0]]
        return FittedTargets(self.estimator, X, targets, params, self.n_jobs)

    def fit(self, Y: np.ndarray) -> "FittedAverage":
        """The learner fitted to the columns of Y in every setting."""
        return FittedAverage([(self.fit_setting(s, Y), s[1]) for s in self.settings])

    def outputs(self, X: np.ndarray | None = None) -> np.ndarray:
        """The outputs on the unit vectors, g-bar_j(x_i): (len(X), number of training rows)."""
        X = self.X if X is None else X
        total: Any = 0.0
        for setting in self.settings:
            rows, columns = setting
            inputs, params = self._data(setting)
            unit_vectors = np.eye(len(inputs))
            fitted = FittedTargets(self.estimator, inputs, unit_vectors, params, self.n_jobs)
            G = fitted.predict(_columns_of(X, columns))
            if rows is not None:
                G, part = np.zeros((len(X), len(self.X))), G
                G[:, rows] = part
            total = total + G
        return total / len(self.settings)


class FittedAverage:
    """The average of learners fitted in several settings, as (learner, columns)."""

    def __init__(self, fitted: Sequence[tuple[FittedTargets, list[int] | None]]):
        self.fitted = fitted

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Shape (len(X), number of targets)."""
        total: Any = 0.0
        for learner, columns in self.fitted:
            total = total + learner.predict(_columns_of(X, columns))
        return total / len(self.fitted)

    def component(self, j: int, x: np.ndarray) -> np.ndarray:
        """The part of feature j at x: shape (len(x), number of targets)."""
        total: Any = 0.0
        for learner, columns in self.fitted:
            _check_additive(columns)
            if columns == [j]:
                total = total + learner.predict(x[:, None])
        return total / len(self.fitted)


class AveragePredictor:
    """constant + the average of fitted learners, with one column for each time."""

    is_centred = False

    def __init__(self, fitted: FittedAverage, constant: float):
        self.fitted, self.constant = fitted, constant

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self.constant + self.fitted.predict(X)

    def component(self, j: int, x: np.ndarray) -> np.ndarray:
        """The part of feature j at x."""
        return self.fitted.component(j, x)


# Stochastic boosting, in which each round draws a setting.


def row_subsets(
    n: int, size: int, n_subsamples: int, rng: np.random.RandomState
) -> list[np.ndarray | None]:
    """All subsets of `size` rows when there are at most `n_subsamples`, else that many draws."""
    if size == n:
        return [None]
    if comb(n, size) <= n_subsamples:
        return [np.array(rows) for rows in combinations(range(n), size)]
    return [np.sort(rng.permutation(n)[:size]) for _ in range(n_subsamples)]


def draw_settings(
    n_rounds: int, n: int, size: int, n_features: int | None, rng: np.random.RandomState
) -> Iterator[Setting]:
    """One setting for each round [Dombry and Esstafa, eq. (19)]; `n_features` None: all columns."""
    for _ in range(n_rounds):
        rows = None if size == n else np.sort(rng.permutation(n)[:size])
        yield rows, None if n_features is None else [int(rng.randint(n_features))]


def run_rounds(
    fit_setting: Callable[[Setting, np.ndarray], FittedTargets],
    settings: Iterable[Setting],
    X: np.ndarray,
    residuals: np.ndarray,
    learning_rate: float,
) -> Iterator[tuple[FittedTargets, list[int] | None]]:
    """Run the stochastic algorithm round by round [Dombry and Esstafa, eq. (19)].

    Parameters
    ----------
    fit_setting : callable (setting, residuals of shape (n, 1)) -> object with `predict`
    settings : iterable of (rows, columns)
    X : ndarray of shape (n, n_features)
    residuals : ndarray of shape (n,)
        y less the initial constant.
    learning_rate : float

    Yields
    ------
    learner, columns
        The learner of each round, fitted to the current residuals, and the features it uses.
    """
    for setting in settings:
        learner = fit_setting(setting, residuals[:, None])
        columns = setting[1]
        fitted = learner.predict(_columns_of(X, columns))[:, 0]
        # A new array: a learner may keep a reference to its target.
        residuals = residuals - learning_rate * fitted
        yield learner, columns


class RoundsPredictor:
    """constant + learning_rate times the sum of the first m learners, for each m in `rounds`."""

    is_centred = False

    def __init__(
        self,
        constant: float,
        learning_rate: float,
        learners: Sequence[tuple[FittedTargets, list[int] | None]],
        rounds: Sequence[int],
    ):
        self.constant, self.learning_rate = constant, learning_rate
        self.learners, self.rounds = learners, rounds

    def after(self, rounds: Sequence[int]) -> "RoundsPredictor":
        """The same learners after other numbers of rounds."""
        return RoundsPredictor(self.constant, self.learning_rate, self.learners, rounds)

    def predict(self, X: np.ndarray) -> np.ndarray:
        out = np.full((len(X), len(self.rounds)), self.constant, dtype=np.float64)
        for m, (learner, columns) in enumerate(self.learners[: max(self.rounds, default=0)]):
            part = learner.predict(_columns_of(X, columns))
            out[:, np.flatnonzero(np.asarray(self.rounds) > m)] += self.learning_rate * part
        return out

    def component(self, j: int, x: np.ndarray) -> np.ndarray:
        """The sum of the learners drawn for feature j."""
        out = np.zeros((len(x), len(self.rounds)))
        for m, (learner, columns) in enumerate(self.learners[: max(self.rounds, default=0)]):
            _check_additive(columns)
            if columns == [j]:
                part = self.learning_rate * learner.predict(x[:, None])
                out[:, np.flatnonzero(np.asarray(self.rounds) > m)] += part
        return out


def _columns_of(X: np.ndarray, columns: list[int] | None) -> np.ndarray:
    return X if columns is None else X[:, columns]


def _check_additive(columns: list[int] | None) -> None:
    if columns is None:
        raise AttributeError(
            "Only an additive model has components: a spline learner, or coordinates='random'."
        )
