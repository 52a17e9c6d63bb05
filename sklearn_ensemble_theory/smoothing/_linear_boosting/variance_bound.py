"""Boosting with a learner drawn at random in each round (002, section 3)."""

from itertools import combinations
from math import comb

import numpy as np

__all__ = [
    "draw_settings",
    "row_subsets",
    "rows_a_round",
    "run_rounds",
    "stochastic_variance_bound",
]


def rows_a_round(subsample, n):
    """floor(subsample * n), at least one."""
    size = n if subsample == 1 else int(np.floor(subsample * n + 1e-9))
    if size < 1:
        raise ValueError(f"subsample={subsample} of {n} rows leaves none for the learner.")
    return size


def row_subsets(n, size, n_subsamples, rng):
    """All subsets of `size` rows when there are at most `n_subsamples`, else that many draws."""
    if size == n:
        return [None]
    if comb(n, size) <= n_subsamples:
        return [np.array(rows) for rows in combinations(range(n), size)]
    return [np.sort(rng.permutation(n)[:size]) for _ in range(n_subsamples)]


def draw_settings(n_rounds, n, size, n_features, rng):
    """One setting (rows, columns) a round, for algorithm (19); `n_features` None: all columns."""
    for _ in range(n_rounds):
        rows = None if size == n else np.sort(rng.permutation(n)[:size])
        yield rows, None if n_features is None else [int(rng.randint(n_features))]


def run_rounds(fit_setting, settings, X, residuals, learning_rate):
    """Algorithm (19), round by round: yields the learner of each round, fitted to the residuals.

    Parameters
    ----------
    fit_setting : callable (setting, residuals of shape (n, 1)) -> object with `predict`
    settings : iterable of (rows, columns)
    X : ndarray of shape (n, n_features)
    residuals : ndarray of shape (n,)
        The centred y.
    learning_rate : float
    """
    for setting in settings:
        learner = fit_setting(setting, residuals[:, None])
        columns = setting[1]
        fitted = learner.predict(X if columns is None else X[:, columns])[:, 0]
        # A new array: a learner may hold on to the one that it was fitted to.
        residuals = residuals - learning_rate * fitted
        yield learner, columns


class RoundsPredictor:
    """init + learning_rate times the sum of the first m learners, for several m at once."""

    def __init__(self, constant, learning_rate, learners, rounds, n_features):
        self.constant, self.learning_rate = constant, learning_rate
        self.learners, self.rounds, self.n_features = learners, rounds, n_features

    def predict(self, X):
        out = np.full((len(X), len(self.rounds)), self.constant, dtype=np.float64)
        for m, (learner, columns) in enumerate(self.learners[: max(self.rounds, default=0)]):
            part = learner.predict(X if columns is None else X[:, columns])
            out[:, np.flatnonzero(np.asarray(self.rounds) > m)] += self.learning_rate * part
        return out

    def component(self, j, x):
        """The sum of the learners drawn for feature j."""
        out = np.zeros((len(x), len(self.rounds)))
        for m, (learner, columns) in enumerate(self.learners[: max(self.rounds, default=0)]):
            if columns == [j]:
                part = self.learning_rate * learner.predict(x[:, None])
                out[:, np.flatnonzero(np.asarray(self.rounds) > m)] += part
        return out


def stochastic_variance_bound(matrices, y, learning_rate, n_rounds):
    r"""A bound on the variance of stochastic boosting over its own random draws.

    For boosting from the mean with a learner drawn uniformly, in every round, from finitely many
    linear ones (002, proposition 3.4):

    .. math:: Var[F_m(x)] \le K (m+1) \lambda^2 (1 + K \lambda)^m n |\tilde Y|_\infty^2
              \{1 + (\lambda m K)^2 e^{2 \lambda m |S|_\infty}\}

    with K = 2 M_1 + M_1^2 + (n + 1) M_2, where M_1 = max_x sum_i \|g-bar_i(x)\| and M_2 = max_x
    sum_i Var[g_i(x)] over the training points and the x asked for.

    Parameters
    ----------
    matrices : array-like of shape (n_learners, n_points, n)
        g_i(x, xi) for each learner xi, point x and training row i. The first n points are the
        training points; any others are points to predict at.
    y : array-like of shape (n,)
    learning_rate : float in (0, 1]
    n_rounds : int
        m.

    Returns
    -------
    float
        Holds at all points given. Infinite where the formula overflows.

    Raises
    ------
    ValueError
        If the shapes do not fit together.

    Notes
    -----
    Costs O(n_learners * n_points * n). The bound vanishes with the learning rate at fixed time
    lambda m, which is corollary 3.5; it is far from sharp.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_ensemble_theory.smoothing import stochastic_variance_bound
    >>> S = np.array([[[0.5, 0.0], [0.5, 0.0]], [[0.0, 0.5], [0.0, 0.5]]])
    >>> round(stochastic_variance_bound(S, [1.0, -1.0], learning_rate=0.01, n_rounds=10), 4)
    0.0043
    """
    G = np.asarray(matrices, dtype=np.float64)
    y = np.asarray(y, dtype=np.float64)
    n = len(y)
    if G.ndim != 3 or G.shape[1] < n or G.shape[2] != n:
        raise ValueError(
            f"matrices of shape {G.shape} do not fit y of shape {y.shape}: "
            "(n_learners, at least n points, n) is needed."
        )
    mean = G.mean(axis=0)
    M1 = np.abs(mean).sum(axis=1).max()
    M2 = G.var(axis=0).sum(axis=1).max()
    S_norm = np.abs(mean[:n]).sum(axis=1).max()
    K = 2.0 * M1 + M1**2 + (n + 1.0) * M2
    t = learning_rate * n_rounds
    spread = np.abs(y - y.mean()).max()
    with np.errstate(over="ignore"):
        growth = np.exp(n_rounds * np.log1p(K * learning_rate))
        brace = 1.0 + (t * K) ** 2 * np.exp(2.0 * t * S_norm)
        bound = K * (n_rounds + 1) * learning_rate**2 * growth * n * spread**2 * brace
    return float(bound)
