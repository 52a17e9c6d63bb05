"""Generalised cross-validation of ridge regressions on subsamples: their risk without other rows.

With T the mean squared error on all n rows of the mean of m fits to k rows each, and df their mean
degrees of freedom, T / (1 - df/n)² estimates the risk of infinitely many fits. A finite mean has a
part T_1 / m of the training errors of single fits in T, and R_1 / m of their risks in its risk.
Both are known, as a fit has R_1 (1 - df/k)² on its own k rows and R_1 on the n - k others.
"""

import numpy as np
from scipy.linalg import svd
from sklearn.utils import Bunch, check_X_y

from sklearn_ensemble_theory._typing import ArrayLike, RandomStateLike
from sklearn_ensemble_theory.bounds._arguments import (
    check_integer,
    check_number,
    checked_generator,
    checked_numbers,
)


def bagged_ridge_gcv(
    X: ArrayLike,
    y: ArrayLike,
    max_samples: ArrayLike,
    *,
    alpha: float = 0.0,
    n_estimators: int = 100,
    fit_intercept: bool = True,
    random_state: RandomStateLike = None,
) -> Bunch:
    """Estimate the risk of bagged ridge regression for several subsample sizes, by GCV.

    It chooses the number of rows of a member without rows for validation and without a fit for each
    fold. Many features and few rows in each member regularise as a penalty does: the best mean of
    least-squares fits has asymptotically the risk of the best ridge regression [Du, Patil and
    Kuchibhotla, 2023].

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The rows.
    y : array-like of shape (n_samples,)
        Their targets.
    max_samples : int, float or array-like of them
        Numbers k of rows of a member, drawn without replacement: ints of at least 1, or floats in
        (0, 1], their share of the n rows.
    alpha : float, default=0.0
        Penalty of each fit, as in :class:`sklearn.linear_model.Ridge`. 0 is least squares, with the
        smallest norm where several solutions fit equally well.
    n_estimators : int, default=100
        Number m of members, drawn alike for all k: the fits to k rows contain those rows of a
        smaller k.
    fit_intercept : bool, default=True
        Whether each fit has an intercept.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws.

    Returns
    -------
    result : Bunch
        - max_samples : ndarray of shape (n_sizes,), the numbers k.
        - risk : ndarray of shape (n_sizes,), estimates of the expected squared error on a new row
          of the mean of m members; inf where the mean fits all rows exactly.
        - limit_risk : ndarray of shape (n_sizes,), those of infinitely many members; `risk` for one
          member and for k = n.
        - degrees_of_freedom : ndarray of shape (n_sizes,), the mean trace of the members' matrices.
        - best_max_samples : int, the k of the least `risk`.

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    See Also
    --------
    BaggingRegressor : The ensemble: with a ridge regression as `estimator`, ``bootstrap=False`` and
        this `max_samples`.

    Notes
    -----
    For m members the estimate is T / (1 - df/n)², minus R_1 / m (n/k - 1) / (n/df - 1)². T and T_1
    are the mean squared errors of the mean and of a member on all n rows, and R_1 = T_1 / (1 - 2
    df/n + df² / (k n)). If n and the number of features grow alike, the first part is consistent
    for infinitely many members [Du, Patil and Kuchibhotla, 2023]. For finitely many it is not, and
    the second part corrects it [Bellec et al., 2023]. The intercept counts as one degree of freedom
    here.

    The cost is O(m k d min(k, d)) for each k.

    References
    ----------
    J.-H. Du, P. Patil and A. K. Kuchibhotla (2023). "Subsample ridge ensembles: equivalences and
    generalized cross-validation". *International Conference on Machine Learning*.

    P. C. Bellec, J.-H. Du, T. Koriyama, P. Patil and K. Tan (2023). "Corrected generalized
    cross-validation for finite ensembles of penalized estimators". arXiv:2310.01374.

    Examples
    --------
    Least squares with 80 features and 100 rows, and means of fits to fewer rows:

    >>> import numpy as np
    >>> from sklearn_ensemble_theory.averaging import bagged_ridge_gcv
    >>> rng = np.random.RandomState(0)
    >>> X = rng.standard_normal((100, 80))
    >>> y = X @ rng.standard_normal(80) / 10 + rng.standard_normal(100)
    >>> found = bagged_ridge_gcv(X, y, [10, 40, 100], random_state=0)
    >>> found.risk.round(1).tolist(), found.best_max_samples
    ([1.7, 1.7, 6.2], 40)
    """
    X, y = check_X_y(X, y, dtype=np.float64, y_numeric=True)
    n = len(X)
    sizes = _checked_sizes(max_samples, n)
    check_number("alpha", alpha, 0)
    check_integer("n_estimators", n_estimators, 1)
    rng = checked_generator(random_state)
    orders = [rng.permutation(n) for _ in range(n_estimators)]
    m = n_estimators
    risk, limit, df = np.empty((3, len(sizes)))
    for i, k in enumerate(sizes.tolist()):
        mean, single, df[i] = np.zeros(n), 0.0, 0.0
        for order in orders[: 1 if k == n else m]:
            predicted, trace = _fit(X, y, order[:k], alpha, fit_intercept)
            mean += predicted
            single += float(np.mean((y - predicted) ** 2))
            df[i] += trace
        n_fits = 1 if k == n else m
        mean, single, df[i] = mean / n_fits, single / n_fits, df[i] / n_fits
        share = df[i] / n
        if share > 1 - 1e-12:
            risk[i] = limit[i] = np.inf
            continue
        left = (1 - share) ** 2
        naive = float(np.mean((y - mean) ** 2)) / left
        of_single = single / (1 - 2 * share + share**2 * n / k)
        excess = of_single * (n / k - 1) * share**2 / left
        risk[i] = naive - excess / n_fits
        # The risk is that of the limit, plus a part of 1/m of the difference to a single fit's.
        limit[i] = risk[i] if n_fits == 1 else (n_fits * risk[i] - of_single) / (n_fits - 1)
    return Bunch(
        max_samples=sizes,
        risk=risk,
        limit_risk=limit,
        degrees_of_freedom=df,
        best_max_samples=int(sizes[np.argmin(risk)]),
    )


def _fit(
    X: np.ndarray, y: np.ndarray, rows: np.ndarray, alpha: float, fit_intercept: bool
) -> tuple[np.ndarray, float]:
    """The predictions of all rows by a fit to some, and the trace of its matrix on these."""
    A, target = X[rows], y[rows]
    centre, level = (A.mean(axis=0), target.mean()) if fit_intercept else (0.0, 0.0)
    U, s, V = svd(A - centre, full_matrices=False, check_finite=False)
    kept = s > max(A.shape) * np.finfo(float).eps * s[0]
    U, s, V = U[:, kept], s[kept], V[kept]
    factors = s / (s**2 + alpha)
    coefficients = (factors * ((target - level) @ U)) @ V
    trace = float(factors @ s) + bool(fit_intercept)
    return (X - centre) @ coefficients + level, trace


def _checked_sizes(max_samples: ArrayLike, n: int) -> np.ndarray:
    sizes = np.atleast_1d(np.asarray(max_samples))
    if sizes.ndim != 1 or not sizes.size:
        raise ValueError(f"max_samples must be at least one number, got {max_samples!r}.")
    if sizes.dtype.kind == "f":
        shares = checked_numbers("max_samples", sizes, 0, 1, open_low=True)
        return np.maximum(1, (shares * n).astype(np.int64))
    if sizes.dtype.kind not in "iu" or not np.all((sizes >= 1) & (sizes <= n)):
        raise ValueError(
            f"max_samples must be integers from 1 to the number of rows {n}, or shares of them in "
            f"(0, 1], got {max_samples!r}."
        )
    return sizes.astype(np.int64)
