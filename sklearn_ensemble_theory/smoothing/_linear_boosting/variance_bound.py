"""A bound on the variance of stochastic boosting [Dombry and Esstafa, proposition 3.4]."""

import numpy as np
from numpy.typing import ArrayLike


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
    LinearL2BoostingRegressor : Stochastic boosting with `subsample` or `coordinates`.

    Notes
    -----
    The cost is O(n_learners * n_points * n). At a fixed time lambda m the bound converges to zero
    with the learning rate [Dombry and Esstafa, corollary 3.5]; it is far from sharp.

    References
    ----------
    C. Dombry and Y. Esstafa. "Behavior of linear L2-boosting algorithms in the vanishing learning
    rate asymptotic".

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
            f"matrices must have shape (n_learners, n_points, n) with n_points >= n = {n}, the "
            f"length of y; got shape {G.shape}."
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
