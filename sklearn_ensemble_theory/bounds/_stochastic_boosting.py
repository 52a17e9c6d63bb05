"""Mean and covariance of boosting with a random learner in each round [Dombry and Esstafa, §3]."""

import numpy as np
from scipy.integrate import solve_ivp

from sklearn_ensemble_theory._typing import ArrayLike

from ._arguments import check_number, checked_numbers
from ._spectral_filters import boosting_operators, n_rounds

MOST_ROUNDS = 1_000_000


def stochastic_boosting_moments(
    matrices: ArrayLike, y: ArrayLike, time: float, learning_rate: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariances of stochastic boosting over its own random draws.

    In every round a learner is drawn uniformly from finitely many linear ones, and boosting starts
    from the mean of y. The mean is boosting with the average of the learners [Dombry and Esstafa,
    proposition 3.4 i)]. The covariances are exact, while part ii) bounds the variances. Let r be
    the residuals of the mean, C the covariances among all points and C_T among the training points.
    A round maps C to

        C - lambda (G-bar C_T + C_T' G-bar') + lambda² (E[G C_TT G'] + Cov(G r)).

    In the limit of small learning rates, at a fixed time t = lambda m, they are lambda V(t) up to
    terms of order lambda², with

        dV/dt = Cov(G r_t) - G-bar V_T - V_T' G-bar',   V(0) = 0,

    where r_t = exp(-t S) Y~ are the residuals of the limit [Dombry and Esstafa, corollary 3.5].

    Parameters
    ----------
    matrices : array-like of shape (n_learners, n_points, n)
        g_i(x, xi) for each learner xi, point x and training row i. The first n points are the
        training points; any others are points to predict at.
    y : array-like of shape (n,)
        Targets.
    time : float
        Time t, not negative: m = floor(t / lambda) rounds.
    %(limit_rate)s

    Returns
    -------
    mean : ndarray of shape (n_points,)
        The mean of the predictions.
    covariance : ndarray of shape (n_points, n_points)
        The covariances of the predictions, in units of y squared. For ``learning_rate=0``, where
        they vanish, it is V(t), the covariances divided by the learning rate.

    Raises
    ------
    ValueError
        If the shapes do not match, if a parameter is outside its range, or if the moments overflow.

    See Also
    --------
    sklearn_ensemble_theory.smoothing.stochastic_variance_bound : The bound of the source.

    Notes
    -----
    S of the source has the elements g-bar_j(x_i); its equation (20) is printed transposed. The
    predictions are a Markov chain [Dombry and Esstafa, theorem 3.6], whose second moments follow
    from those of the round before, at a cost of O(m * n_learners * n_points² * n). V is not in the
    source; it has the linear terms of the recursion, and is integrated numerically to a relative
    precision of 1e-9.

    Examples
    --------
    One round adds lambda/2 or -lambda/2 to both predictions:

    >>> import numpy as np
    >>> from sklearn_ensemble_theory.bounds import stochastic_boosting_moments
    >>> S = np.array([[[0.5, 0.0], [0.5, 0.0]], [[0.0, 0.5], [0.0, 0.5]]])  # of one row each
    >>> mean, covariance = stochastic_boosting_moments(S, [1.0, -1.0], 0.2, learning_rate=0.2)
    >>> mean
    array([0., 0.])
    >>> covariance
    array([[0.01, 0.01],
           [0.01, 0.01]])
    """
    G, targets = _checked_learners(matrices, y)
    check_number("time", time, 0)
    check_number("learning_rate", learning_rate, 0, 1)
    if learning_rate > 0 and time > MOST_ROUNDS * learning_rate:
        raise ValueError(
            f"time must be at most {MOST_ROUNDS:_} times learning_rate={learning_rate!r}, or "
            "learning_rate=0, its limit; more rounds take too long."
        )
    average, n = G.mean(axis=0), len(targets)
    mean, C = np.full(len(average), targets.mean()), np.zeros((len(average), len(average)))
    with np.errstate(over="ignore", invalid="ignore"):
        if learning_rate == 0:
            start = targets - targets.mean()
            (weights,) = boosting_operators(average[:n], np.array([time]), 0.0, weights=True)
            mean, C = mean + average @ (weights @ start), _limit_covariance(G, start, time)
        else:
            for _ in range(int(n_rounds(time, learning_rate))):
                residuals = targets - mean[:n]
                moved = average @ C[:n]
                own = np.mean(G @ C[:n, :n] @ G.transpose(0, 2, 1), axis=0)
                C = C - learning_rate * (moved + moved.T)
                C = C + learning_rate**2 * (own + _covariance_of_fits(G, residuals))
                mean = mean + learning_rate * (average @ residuals)
    if not (np.isfinite(mean).all() and np.isfinite(C).all()):
        raise ValueError("matrices are unstable, and the moments overflow after these rounds.")
    return mean, C


def _limit_covariance(G: np.ndarray, start: np.ndarray, time: float) -> np.ndarray:
    """V(t), or inf where it overflows."""
    average, n = G.mean(axis=0), len(start)
    p = len(average)
    scale = float(np.abs(start).max())
    if scale == 0 or time == 0:
        return np.zeros((p, p))

    def slope(_: float, state: np.ndarray) -> np.ndarray:
        residuals, V = state[:n], state[n:].reshape(p, p)
        moved = average @ V[:n]
        change = _covariance_of_fits(G, residuals) - moved - moved.T
        return np.concatenate([-average[:n] @ residuals, change.ravel()])

    first = np.concatenate([start / scale, np.zeros(p * p)])
    found = solve_ivp(slope, (0.0, time), first, method="DOP853", rtol=1e-10, atol=1e-13)
    V = np.asarray(scale * (scale * found.y[n:, -1].reshape(p, p)))
    return V if found.success else np.full((p, p), np.inf)


def _covariance_of_fits(G: np.ndarray, residuals: np.ndarray) -> np.ndarray:
    """The covariances of the learners' outputs for these residuals."""
    fits = G @ residuals
    fits = fits - fits.mean(axis=0)
    return fits.T @ fits / len(G)


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
