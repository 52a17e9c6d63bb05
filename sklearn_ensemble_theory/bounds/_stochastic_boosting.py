"""Mean and covariance of boosting with a random learner in each round [Dombry and Esstafa, §3]."""

import numpy as np
from scipy.integrate import solve_ivp

from sklearn_ensemble_theory._typing import ArrayLike

from ._arguments import check_integer, check_number, checked_numbers


def stochastic_boosting_mean(
    matrices: ArrayLike, y: ArrayLike, learning_rate: float, n_rounds: int
) -> np.ndarray:
    """The mean of stochastic boosting over its own random draws.

    It is boosting from the mean of y with the average of the learners [Dombry and Esstafa,
    proposition 3.4 i)], for a learner drawn uniformly, in every round, from finitely many linear
    ones.

    Parameters
    ----------
    matrices : array-like of shape (n_learners, n_points, n)
        g_i(x, xi) for each learner xi, point x and training row i. The first n points are the
        training points; any others are points to predict at.
    y : array-like of shape (n,)
        Targets.
    learning_rate : float in (0, 1]
        lambda.
    n_rounds : int
        Number m of rounds.

    Returns
    -------
    mean : ndarray of shape (n_points,)
        The mean of the predictions after m rounds.

    Raises
    ------
    ValueError
        If the shapes do not match, if a parameter is outside its range, or if the moments overflow.

    See Also
    --------
    stochastic_boosting_covariance : The covariances of the predictions.
    sklearn_ensemble_theory.smoothing.stochastic_variance_bound : A bound on their variances.

    Notes
    -----
    S of the source has the elements g-bar_j(x_i); its equation (20) is printed transposed. The cost
    is O(n_learners * n_points * n + m * n_points * n).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_ensemble_theory.bounds import stochastic_boosting_mean
    >>> S = np.array([[[0.5, 0.0], [0.5, 0.0]], [[0.0, 0.5], [0.0, 0.5]]])  # of one row each
    >>> stochastic_boosting_mean(S, [1.0, -1.0], learning_rate=0.1, n_rounds=10)
    array([0., 0.])
    """
    G, targets = _checked_learners(matrices, y)
    _check_rounds(learning_rate, n_rounds)
    average, n = G.mean(axis=0), len(targets)
    mean = np.full(len(average), targets.mean())
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(n_rounds):
            mean = mean + learning_rate * (average @ (targets - mean[:n]))
    return _checked_moments(mean)


def stochastic_boosting_covariance(
    matrices: ArrayLike, y: ArrayLike, learning_rate: float, n_rounds: int
) -> np.ndarray:
    """The covariances of stochastic boosting over its own random draws.

    They are exact, where [Dombry and Esstafa, proposition 3.4 ii)] bounds the variances. With the
    residuals r of the mean and C the covariances among all points and T those of the training
    points, a round maps C to

        C - lambda (G-bar C_T + C_T' G-bar') + lambda² (E[G T G'] + Cov(G r)).

    Parameters
    ----------
    matrices : array-like of shape (n_learners, n_points, n)
        g_i(x, xi) for each learner xi, point x and training row i. The first n points are the
        training points; any others are points to predict at.
    y : array-like of shape (n,)
        Targets.
    learning_rate : float in (0, 1]
        lambda.
    n_rounds : int
        Number m of rounds.

    Returns
    -------
    covariance : ndarray of shape (n_points, n_points)
        The covariances of the predictions after m rounds, in units of y squared.

    Raises
    ------
    ValueError
        If the shapes do not match, if a parameter is outside its range, or if the moments overflow.

    See Also
    --------
    stochastic_boosting_limit_covariance : Their leading term for small learning rates.
    sklearn_ensemble_theory.smoothing.stochastic_variance_bound : The bound of the source.

    Notes
    -----
    The predictions are a Markov chain [Dombry and Esstafa, theorem 3.6], whose second moments
    follow from those of the round before. The cost is O(m * n_learners * n_points² * n).

    Examples
    --------
    One round adds lambda/2 or -lambda/2 to both predictions:

    >>> import numpy as np
    >>> from sklearn_ensemble_theory.bounds import stochastic_boosting_covariance
    >>> S = np.array([[[0.5, 0.0], [0.5, 0.0]], [[0.0, 0.5], [0.0, 0.5]]])
    >>> stochastic_boosting_covariance(S, [1.0, -1.0], learning_rate=0.2, n_rounds=1)
    array([[0.01, 0.01],
           [0.01, 0.01]])
    """
    G, targets = _checked_learners(matrices, y)
    _check_rounds(learning_rate, n_rounds)
    average, n = G.mean(axis=0), len(targets)
    mean, C = np.full(len(average), targets.mean()), np.zeros((len(average), len(average)))
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(n_rounds):
            residuals = targets - mean[:n]
            moved = average @ C[:n]
            own = np.mean(G @ C[:n, :n] @ G.transpose(0, 2, 1), axis=0)
            C = C - learning_rate * (moved + moved.T)
            C = C + learning_rate**2 * (own + _covariance_of_fits(G, residuals))
            mean = mean + learning_rate * (average @ residuals)
    return _checked_moments(C)


def stochastic_boosting_limit_covariance(
    matrices: ArrayLike, y: ArrayLike, time: float
) -> np.ndarray:
    """The covariances of stochastic boosting, divided by the learning rate, as that vanishes.

    At a fixed time t = lambda m the covariances are lambda V(t) up to terms of order lambda², with

        dV/dt = Cov(G r_t) - G-bar V_T - V_T' G-bar',   V(0) = 0,

    where r_t = exp(-t S) Y~ are the residuals of the limit, G is drawn among the learners, and V_T
    are the rows of the training points. It is the variance with which boosting fluctuates about the
    deterministic limit of [Dombry and Esstafa, corollary 3.5].

    Parameters
    ----------
    matrices : array-like of shape (n_learners, n_points, n)
        g_i(x, xi) for each learner xi, point x and training row i. The first n points are the
        training points; any others are points to predict at.
    y : array-like of shape (n,)
        Targets.
    time : float
        t, not negative.

    Returns
    -------
    covariance : ndarray of shape (n_points, n_points)
        V(t), in units of y squared divided by time.

    Raises
    ------
    ValueError
        If the shapes do not match, if a parameter is outside its range, or if the moments overflow.

    See Also
    --------
    stochastic_boosting_covariance : The covariances at a given learning rate.

    Notes
    -----
    The source shows that the variances vanish, and has no formula for the leading term; this one is
    the linear terms of the recursion of `stochastic_boosting_covariance`. The differential equation
    is integrated numerically, to a relative precision of 1e-9. The cost of a step is
    O(n_learners * n_points * n + n_points² * n).

    Examples
    --------
    Here the average fits nothing, so that the residuals stay and the variance increases with t:

    >>> import numpy as np
    >>> from sklearn_ensemble_theory.bounds import stochastic_boosting_limit_covariance
    >>> S = np.array([[[0.5, -0.5]] * 2, [[-0.5, 0.5]] * 2])
    >>> stochastic_boosting_limit_covariance(S, [1.0, -1.0], time=3.0).round(6)
    array([[3., 3.],
           [3., 3.]])
    """
    G, targets = _checked_learners(matrices, y)
    check_number("time", time, 0)
    average, n = G.mean(axis=0), len(targets)
    p = len(average)
    start = targets - targets.mean()
    scale = float(np.abs(start).max())
    if scale == 0 or time == 0:
        return np.zeros((p, p))

    def slope(_: float, state: np.ndarray) -> np.ndarray:
        residuals, V = state[:n], state[n:].reshape(p, p)
        moved = average @ V[:n]
        change = _covariance_of_fits(G, residuals) - moved - moved.T
        return np.concatenate([-average[:n] @ residuals, change.ravel()])

    first = np.concatenate([start / scale, np.zeros(p * p)])
    with np.errstate(over="ignore", invalid="ignore"):
        found = solve_ivp(slope, (0.0, time), first, method="DOP853", rtol=1e-10, atol=1e-13)
        V = scale * (scale * found.y[n:, -1].reshape(p, p))
    return _checked_moments(V if found.success else np.full((p, p), np.inf))


def _covariance_of_fits(G: np.ndarray, residuals: np.ndarray) -> np.ndarray:
    """The covariances of the learners' outputs for these residuals."""
    fits = G @ residuals
    fits = fits - fits.mean(axis=0)
    return fits.T @ fits / len(G)


def _checked_moments(moments: np.ndarray) -> np.ndarray:
    if not np.isfinite(moments).all():
        raise ValueError("matrices are unstable, and the moments overflow after these rounds.")
    return moments


def _checked_learners(matrices: ArrayLike, y: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    G, targets = checked_numbers("matrices", matrices), checked_numbers("y", y)
    n = targets.size
    if targets.ndim != 1 or not n:
        raise ValueError(f"y must be one-dimensional and not empty, got shape {targets.shape}.")
    if G.ndim != 3 or not len(G) or G.shape[1] < n or G.shape[2] != n:
        raise ValueError(
            f"matrices must have shape (n_learners, n_points, n) with n_points >= n = {n}, the "
            f"length of y; got shape {G.shape}."
        )
    return G, targets


def _check_rounds(learning_rate: float, n_rounds: int) -> None:
    check_number("learning_rate", learning_rate, 0, 1, open_low=True)
    check_integer("n_rounds", n_rounds, 0)
