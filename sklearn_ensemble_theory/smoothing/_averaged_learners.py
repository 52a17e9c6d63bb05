"""A linear learner in the settings in which boosting and bagging fit it, and averages over them.

A setting (rows, columns) is a part of the data; None stands for all rows or all columns. Each
random round draws one setting, and boosting the average over all settings is the limit of the
stochastic algorithm [Dombry and Esstafa, §3]. Any regressor that is linear in y is known from
its outputs g_j on the unit vectors [Dombry and Esstafa, eq. (4)].
"""

from collections.abc import Sequence
from itertools import combinations
from math import comb
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import check_array, check_random_state, get_tags
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_consistent_length

from sklearn_ensemble_theory._documentation import documented
from sklearn_ensemble_theory._learners import checked_outputs, fitted_clone
from sklearn_ensemble_theory._rows import positive_weights
from sklearn_ensemble_theory._running import one_blas_thread, threads_for
from sklearn_ensemble_theory._typing import ArrayLike, RandomStateLike
from sklearn_ensemble_theory.bounds._arguments import checked_rows

from ._smoothers import Regressor, check_linear, weight_keyword

Setting = tuple[np.ndarray | None, list[int] | None]


class FittedTargets:
    """The learner fitted to each column of a matrix of targets.

    The columns share one fit where the learner supports it, and otherwise are distributed over
    `n_jobs` jobs.
    """

    def __init__(
        self,
        estimator: Regressor,
        X: np.ndarray,
        Y: np.ndarray,
        fit_params: dict[str, np.ndarray],
        n_jobs: int | None = None,
    ) -> None:
        if Y.shape[1] == 1:
            self.estimators = [_fit(estimator, X, Y[:, 0], fit_params)]
        # A learner of several targets factorises X once for all columns.
        elif get_tags(estimator).target_tags.multi_output:
            self.estimators = [_fit(estimator, X, Y, fit_params)]
        else:
            # One thread in every worker: the fits run side by side, and their bits do not depend on
            # `n_jobs`.
            with one_blas_thread():
                self.estimators = Parallel(n_jobs=n_jobs)(
                    delayed(_fit)(estimator, X, y, fit_params, one_thread=True) for y in Y.T
                )

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Shape (len(X), number of targets)."""
        with threads_for(len(X) ** 3):
            return np.column_stack([checked_outputs(e.predict(X), e, X) for e in self.estimators])


def _fit(
    estimator: Regressor,
    X: np.ndarray,
    y: np.ndarray,
    fit_params: dict[str, np.ndarray],
    one_thread: bool = False,
) -> Any:
    with one_blas_thread() if one_thread else threads_for(len(X) ** 3):
        # A column of Y is strided, and products round by the order in memory.
        return fitted_clone(estimator, X, np.ascontiguousarray(y), **fit_params)


class AveragedLearner:
    """The average of a learner over equally likely settings.

    `keyword` is the parameter by which the learner takes the weights, None where it takes none.
    """

    def __init__(
        self,
        estimator: Regressor,
        X: np.ndarray,
        weight: np.ndarray,
        keyword: str | None,
        settings: Sequence[Setting],
        n_jobs: int | None = None,
    ) -> None:
        self.estimator, self.X, self.weight = estimator, X, weight
        self.keyword, self.settings, self.n_jobs = keyword, settings, n_jobs

    def fit_setting(self, setting: Setting, Y: np.ndarray | None = None) -> FittedTargets:
        """Return the learner in one setting, fitted to the columns of Y, or to the unit vectors."""
        rows, columns = setting
        X = self.X if rows is None else self.X[rows]
        weight = self.weight if rows is None else self.weight[rows]
        params = {} if self.keyword is None else {self.keyword: weight}
        # The outputs on unit vectors are the columns of the learner's matrix, whatever y is.
        if Y is None:
            Y = np.eye(len(X))
        elif rows is not None:
            Y = Y[rows]
        return FittedTargets(self.estimator, _columns_of(X, columns), Y, params, self.n_jobs)

    def outputs(self, X: np.ndarray | None = None) -> np.ndarray:
        """The outputs on the unit vectors, g-bar_j(x_i): (len(X), number of training rows)."""
        X = self.X if X is None else X
        total: np.ndarray | float = 0.0
        for setting in self.settings:
            rows, columns = setting
            G = self.fit_setting(setting).predict(_columns_of(X, columns))
            if rows is not None:
                G, part = np.zeros((len(X), len(self.X))), G
                # A row that is not drawn has no part in the outputs: its column of the matrix is
                # zero.
                G[:, rows] = part
            total = total + G
        return np.asarray(total / len(self.settings))


class AveragePredictor:
    """constant + the average of the learner, fitted to the columns of Y in every setting."""

    is_centred = False

    def __init__(self, learner: AveragedLearner, Y: np.ndarray, constant: float) -> None:
        self.fitted = [(learner.fit_setting(s, Y), s[1]) for s in learner.settings]
        self.constant = constant

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Shape (len(X), number of columns of Y)."""
        total: np.ndarray | float = 0.0
        for learner, columns in self.fitted:
            total = total + learner.predict(_columns_of(X, columns))
        return np.asarray(self.constant + total / len(self.fitted))

    def component(self, j: int, x: np.ndarray) -> np.ndarray:
        """Return the part of feature j at x: shape (len(x), number of columns of Y)."""
        total: np.ndarray | float = 0.0
        for learner, columns in self.fitted:
            _check_additive(columns)
            # An average over settings counts the features not drawn as zero, so that the divisor
            # stays the number of all settings.
            if columns == [j]:
                total = total + learner.predict(x[:, None])
        return np.asarray(total / len(self.fitted))


class RoundsPredictor:
    """constant + learning_rate times the sum of the first m learners, for each m in `rounds`."""

    is_centred = False

    def __init__(
        self,
        constant: float,
        learning_rate: float,
        learners: Sequence[tuple[FittedTargets, list[int] | None]],
        rounds: Sequence[int],
    ) -> None:
        self.constant, self.learning_rate = constant, learning_rate
        self.learners, self.rounds = learners, rounds

    def after(self, rounds: Sequence[int]) -> "RoundsPredictor":
        """Return the same learners after other numbers of rounds."""
        return RoundsPredictor(self.constant, self.learning_rate, self.learners, rounds)

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Shape (len(X), number of rounds)."""
        # Each learner predicts once, and its part is added for every number of rounds that contains
        # it.
        out = np.full((len(X), len(self.rounds)), self.constant, dtype=np.float64)
        for m, (learner, columns) in enumerate(self.learners[: max(self.rounds, default=0)]):
            part = learner.predict(_columns_of(X, columns))
            out[:, np.flatnonzero(np.asarray(self.rounds) > m)] += self.learning_rate * part
        return out

    def component(self, j: int, x: np.ndarray) -> np.ndarray:
        """Return the sum of the learners drawn for feature j."""
        out = np.zeros((len(x), len(self.rounds)))
        # A learner of another feature is constant along this one; its constant is in the term of
        # its own.
        for m, (learner, columns) in enumerate(self.learners[: max(self.rounds, default=0)]):
            _check_additive(columns)
            if columns == [j]:
                part = self.learning_rate * learner.predict(x[:, None])
                out[:, np.flatnonzero(np.asarray(self.rounds) > m)] += part
        return out


def run_rounds(
    learner: AveragedLearner,
    y: np.ndarray,
    constant: float,
    learning_rate: float,
    n_rounds: int,
    n_rows: int,
    one_feature_each: bool,
    rng: np.random.RandomState,
) -> RoundsPredictor:
    """Run the stochastic algorithm round by round [Dombry and Esstafa, eq. (19)].

    Every round draws a setting, `n_rows` rows and perhaps one feature, and fits the learner to the
    residuals of y there.
    """
    X, residuals, learners = learner.X, y - constant, []
    for _ in range(n_rounds):
        # Sorted, so that a learner sees the rows in their own order and sums them in it.
        rows = None if n_rows == len(y) else np.sort(rng.permutation(len(y))[:n_rows])
        columns = [int(rng.randint(X.shape[1]))] if one_feature_each else None
        fitted = learner.fit_setting((rows, columns), residuals[:, None])
        # A new array: a learner may keep a reference to its target.
        residuals = residuals - learning_rate * fitted.predict(_columns_of(X, columns))[:, 0]
        learners.append((fitted, columns))
    return RoundsPredictor(constant, learning_rate, learners, [n_rounds])


def subset_size(n: int, subsample: float) -> int:
    """floor(subsample * n) rows; ValueError for none."""
    # A share such as 0.29 of 100 rows is a little below 29 in floats.
    size = n if subsample == 1 else int(np.floor(subsample * n + 1e-9))
    if size < 1:
        raise ValueError(f"subsample={subsample} of {n} rows is less than one row.")
    return size


def row_subsets(
    n: int, size: int, n_subsamples: int, rng: np.random.RandomState
) -> list[np.ndarray | None]:
    """All subsets of `size` rows when there are at most `n_subsamples`, else that many draws."""
    if size == n:
        return [None]
    # So few subsets are averaged exactly, without the errors of drawing.
    if comb(n, size) <= n_subsamples:
        return [np.array(rows) for rows in combinations(range(n), size)]
    return [np.sort(rng.permutation(n)[:size]) for _ in range(n_subsamples)]


def _columns_of(X: np.ndarray, columns: list[int] | None) -> np.ndarray:
    return X if columns is None else X[:, columns]


def _check_additive(columns: list[int] | None) -> None:
    if columns is None:
        raise AttributeError(
            "Only an additive model has components: a spline learner, or variant='random_feature'."
        )


# --- what users can compute of such averages ------------------------------------------------------


@documented()
def bagged_smoother(
    estimator: Regressor,
    X: ArrayLike,
    X_new: ArrayLike | None = None,
    *,
    subsample: float = 0.5,
    n_subsamples: int = 1_000,
    sample_weight: ArrayLike | None = None,
    random_state: RandomStateLike = None,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Compute the matrix of a bagged linear smoother, averaged over subsets of the rows.

    Bagging a learner that is linear in y, without replacement, gives another linear smoother: its
    predictions are G y with a matrix G that does not depend on y [Bach, §10.1.2]. If there are at
    most `n_subsamples` subsets, all of them are used, and G y is the limit of infinitely many
    members. If there are more, that many subsets are drawn. Any number of targets, degrees of
    freedom and effective weights follow from G without further fits.

    Parameters
    ----------
    estimator : regressor
        A regressor that is linear in y, as for
        :class:`~sklearn_ensemble_theory.LinearL2BoostingRegressor`.
    %(dense_X)s
    X_new : array-like of shape (n_new, n_features), default=None
        The rows to predict. By default the training rows.
    subsample : float in (0, 1], default=0.5
        Share of the rows in each subset: floor(subsample * n_samples) rows.
    n_subsamples : int, default=1_000
        Maximum number of subsets.
    sample_weight : array-like of shape (n_samples,), default=None
        Positive weights of the rows, passed to the fits.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws of subsets.
    n_jobs : int, default=None
        Number of jobs for the fits to unit vectors, for learners without several targets.

    Returns
    -------
    G : ndarray of shape (n_new, n_samples)
        G[i, j] is the prediction at row i of X_new for the j-th unit vector as targets.

    Raises
    ------
    ValueError
        If the learner is not linear in y or does not support weights that differ, if a subset
        would be empty, or if a parameter is outside its range.

    See Also
    --------
    LinearL2BoostingRegressor : With `subsample`, boosting of this average.
    BaggingRegressor : Bagging by simulation, of any regressor.
    bagged_nearest_neighbors_weights : The weights for nearest neighbours, in closed form.

    Notes
    -----
    O(n_subsamples) fits to floor(subsample * n_samples) targets at once, and O(n_new n_samples)
    memory.

    %(references_Bach)s

    Examples
    --------
    The rows sum to 1, as those of the spline, which reproduces constants:

    >>> import numpy as np
    >>> from sklearn_ensemble_theory.smoothing import SmoothingSplineRegressor, bagged_smoother
    >>> X = np.linspace(0, 1, 12)[:, None]
    >>> spline = SmoothingSplineRegressor(df=5)
    >>> G = bagged_smoother(spline, X, subsample=0.75, random_state=0)  # all 220 subsets
    >>> G.shape
    (12, 12)
    >>> bool(np.allclose(G.sum(axis=1), 1))
    True
    """
    if not hasattr(estimator, "fit") or isinstance(estimator, type):
        raise TypeError(f"estimator must be an estimator; got {estimator!r:.100}.")
    if not (isinstance(subsample, Real) and 0 < subsample <= 1):
        raise ValueError(f"subsample must be above 0 and at most 1, got {subsample!r}.")
    if not (isinstance(n_subsamples, Integral) and n_subsamples >= 1):
        raise ValueError(f"n_subsamples must be a positive int, got {n_subsamples!r}.")
    X = check_array(X, dtype=np.float64)
    new = X if X_new is None else checked_rows("X_new", X_new)
    if new.shape[1] != X.shape[1]:
        raise ValueError(f"X_new has {new.shape[1]} features, X has {X.shape[1]}.")
    check_consistent_length(X, sample_weight)
    _, weight = positive_weights(sample_weight, X)
    if len(weight) < len(X):
        raise ValueError("sample_weight must be positive for every row.")
    size = subset_size(len(X), subsample)
    # Equal weights give the same fit as none, so that a learner without weights takes them.
    keyword = weight_keyword(estimator)
    if keyword is None and weight.min() < weight.max():
        name = type(estimator).__name__
        raise ValueError(f"estimator={name} does not support sample_weight.")
    check_linear(estimator, X, {} if keyword is None else {keyword: weight})
    rng = check_random_state(random_state)
    subsets = row_subsets(len(X), size, int(n_subsamples), rng)
    settings = [(rows, None) for rows in subsets]
    learner = AveragedLearner(estimator, X, weight, keyword, settings, n_jobs)
    return learner.outputs(new)


@documented()
def stochastic_variance_bound(
    matrices: ArrayLike, y: ArrayLike, learning_rate: float, n_rounds: int
) -> float:
    r"""A bound on the variance of stochastic boosting over its own random draws.

    For boosting from the mean with a learner drawn uniformly, in every round, from finitely many
    linear ones [Dombry and Esstafa, proposition 3.4]:

    .. math:: Var[F_m(x)] \le K (m+1) \lambda^2 (1 + K \lambda)^m n |\tilde Y|_\infty^2
              \{1 + (\lambda m K)^2 e^{2 \lambda m |S|_\infty}\}

    with K = 2 M_1 + M_1^2 + (n + 1) M_2, where M_1 = max_x sum_i \|g-bar_i(x)\| and M_2 = max_x
    sum_i Var[g_i(x)] over the training points and the other points given.

    Parameters
    ----------
    matrices : array-like of shape (n_learners, n_points, n)
        g_i(x, xi) for each learner xi, point x and training row i. The first n points are the
        training points; any others are points to predict at.
    y : array-like of shape (n,)
        Targets.
    learning_rate : float in (0, 1]
        The lambda of the formula.
    n_rounds : int
        The m of the formula.

    Returns
    -------
    bound : float
        The bound, for all points given. Infinite where the formula overflows.

    Raises
    ------
    ValueError
        If the shapes of `matrices` and `y` do not match.

    See Also
    --------
    LinearL2BoostingRegressor : Stochastic boosting with `subsample` or `variant`.

    Notes
    -----
    The cost is O(n_learners * n_points * n). At a fixed time lambda m the bound converges to zero
    with the learning rate [Dombry and Esstafa, corollary 3.5]; it is far from sharp.

    %(references_Dombry)s

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_ensemble_theory.smoothing import stochastic_variance_bound
    >>> S = np.array([[[0.5, 0.0], [0.5, 0.0]], [[0.0, 0.5], [0.0, 0.5]]])
    >>> round(stochastic_variance_bound(S, [1.0, -1.0], learning_rate=0.01, n_rounds=10), 4)
    0.0043
    """
    try:
        G = np.asarray(matrices, dtype=np.float64)
        y = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"matrices and y must be arrays of numbers: {error}.") from None
    if y.ndim != 1:
        raise ValueError(f"y must have one dimension; got the shape {y.shape}.")
    n = len(y)
    if G.ndim != 3 or G.shape[1] < n or G.shape[2] != n:
        raise ValueError(
            f"matrices must have shape (n_learners, n_points, n) with n_points >= n = {n}, the "
            f"length of y; got shape {G.shape}."
        )
    mean = G.mean(axis=0)
    # Vectors are measured by their largest absolute value, and matrices by the largest absolute row
    # sum.
    M1 = np.abs(mean).sum(axis=1).max()
    M2 = G.var(axis=0).sum(axis=1).max()
    S_norm = np.abs(mean[:n]).sum(axis=1).max()
    K = 2.0 * M1 + M1**2 + (n + 1.0) * M2
    t = learning_rate * n_rounds
    spread = np.abs(y - y.mean()).max()
    # The bound grows exponentially in time, and infinity is a valid bound.
    with np.errstate(over="ignore"):
        growth = np.exp(n_rounds * np.log1p(K * learning_rate))
        brace = 1.0 + (t * K) ** 2 * np.exp(2.0 * t * S_norm)
        bound = K * (n_rounds + 1) * learning_rate**2 * growth * n * spread**2 * brace
    return float(bound)
