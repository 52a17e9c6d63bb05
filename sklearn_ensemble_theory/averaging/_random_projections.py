"""Least squares averaged over random projections of the variables [Bach, §10.2.2].

A member draws a projection (`_linear_projections.py`, `_random_features.py`), solves a small ridge
problem with the projected design, and is lifted back: to coefficients of the variables, or to
units. What the draws have in common, such as the row space of X, is computed once before them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from scipy.linalg import cho_solve, svd
from scipy.linalg.lapack import dpocon, dpotrf
from sklearn.base import BaseEstimator, MultiOutputMixin
from sklearn.utils import check_array, check_random_state
from sklearn.utils.parallel import delayed
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._compat import HasMethods, Interval, StrOptions
from sklearn_ensemble_theory._documentation import documented
from sklearn_ensemble_theory._door import LARGEST_COUNT, ReadsOnce, fit_context
from sklearn_ensemble_theory._features import refuse_unread
from sklearn_ensemble_theory._rows import (
    checked_rows,
    finite_predictions,
    kept_rows,
    validate_data,
)
from sklearn_ensemble_theory._running import MAX_SEED, in_order
from sklearn_ensemble_theory._scaling import largest_magnitude, mean_from_first, power_of_two
from sklearn_ensemble_theory._scores import RegressorMixin
from sklearn_ensemble_theory._typing import ArrayLike, MatrixLike, RandomStateLike
from sklearn_ensemble_theory.bounds._arguments import (
    check_integer,
    check_number,
    checked_numbers,
)

from ._linear_projections import LINEAR_PROJECTIONS, Projection, centred_rows
from ._random_features import (
    FourierFeatures,
    ReLUFeatures,
    TransformerFeatures,
    check_random,
    scale_root_gamma,
)

# The least reciprocal condition number of a Gram matrix that is solved by Cholesky.
_WELL_CONDITIONED = 1e-8


@documented()
@dataclass(frozen=True)
class ExpectedProjection:
    """Estimate of the expected matrix Delta that maps targets to fitted values.

    Returned by :meth:`~sklearn_ensemble_theory.RandomProjectionRegressor.expected_projection`. Each
    member has fitted values Pi y with a random matrix Pi, an orthogonal projection for
    least squares.

    Attributes
    ----------
    matrix : ndarray of shape (n_samples, n_samples)
        The mean of Pi over the draws. Its eigenvalues are in [0, 1].
    second_moment : ndarray of shape (n_samples, n_samples)
        The mean of the squares of Pi; `matrix` where Pi is a projection.
    n_draws : int
        Number of draws; the exact Delta where all draws are equal.
    weights : ndarray of shape (n_samples,)
        The square roots of the weights of the rows, divided by the root of their sum. The matrices
        map targets that are multiplied by them.
    total_weight : float
        The sum of the weights, the number of rows n without weights.

    %(references_Bach)s
    """

    matrix: np.ndarray
    second_moment: np.ndarray
    n_draws: int
    weights: np.ndarray
    total_weight: float

    def risk(self, mean: ArrayLike, sigma: float = 1.0, n_estimators: float = 1) -> float:
        """Return the expected excess risk of the average of m members on the same rows.

        The expectation of the mean squared difference between fitted values and `mean`, over the
        noise and the projections [Bach, §10.2.2]:

        (1/n) (||(I - Delta) f||^2 + sigma^2 tr Delta^2)
        + (1/(n m)) (f'(Delta - Delta^2) f + sigma^2 (tr Delta - tr Delta^2)).

        The estimate of Delta^2 is corrected for the finite number of draws: the risk is unbiased
        for every m. O(n^2) for each call.

        Parameters
        ----------
        mean : array-like of shape (n_samples,)
            The mean f of the targets given X, at the rows.
        sigma : float, default=1.0
            Standard deviation of the noise.
        n_estimators : int or float, default=1
            The number m of members; infinity for the limit.

        Returns
        -------
        risk : float
            The risk, in units of y squared.

        Raises
        ------
        ValueError
            If `mean` has another length than the rows, if `sigma` is negative or not finite, or
            if `n_estimators` is below 1.
        """
        f = np.asarray(mean, dtype=np.float64)
        if f.shape != self.weights.shape:
            raise ValueError(f"mean must have shape {self.weights.shape}, got {f.shape}.")
        if not (np.isfinite(sigma) and sigma >= 0):
            raise ValueError(f"sigma must be finite and non-negative, got {sigma!r}.")
        if not n_estimators >= 1:
            raise ValueError(f"n_estimators must be at least 1, got {n_estimators!r}.")
        # In coordinates in which all rows count the same, as the matrices are.
        f = self.weights * f
        noise = sigma**2 / self.total_weight
        fitted = self.matrix @ f
        # Of the mean over the draws, and of one draw: their difference is what averaging removes.
        average = f @ f - 2 * f @ fitted + fitted @ fitted
        average += noise * np.sum(self.matrix**2)
        single = f @ f - 2 * f @ fitted + f @ self.second_moment @ f
        single += noise * np.trace(self.second_moment)
        removed = 0.0
        if self.n_draws > 1:
            removed = (single - average) / (1 - 1 / self.n_draws)
        return float(single - removed * (1 - 1 / n_estimators))

    def gcv(self, y: ArrayLike) -> float:
        """Return an estimate of the expected squared error on a new row, for the draws together.

        Generalised cross-validation, ||y - Delta y||^2 / n divided by (1 - tr Delta / n)^2. Compare
        it between numbers of variables, penalties or projections: no rows for validation are
        needed. It is consistent for ensembles of sketched ridge regressions with many rows and
        variables [Patil and LeJeune, 2024]. All members see all rows. In each member, and so in
        their mean, the residual of a row is about 1 - tr Delta / n times its residual in a fit
        without the row. Few members with "gaussian" and more variables than rows are better than it
        says: their directions outside of the rows are averaged out. O(n^2).

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            The targets of the rows.

        Returns
        -------
        error : float
            The estimate, in units of y squared; inf where the members fit all rows exactly. Weights
            count rows.

        Raises
        ------
        ValueError
            If `y` has another length than the rows.

        References
        ----------
        P. Patil and D. LeJeune (2024). "Asymptotically free sketched ridge ensembles: risks,
        cross-validation, and tuning". *International Conference on Learning Representations*.
        """
        target = np.asarray(y, dtype=np.float64)
        if target.shape != self.weights.shape:
            raise ValueError(f"y must have shape {self.weights.shape}, got {target.shape}.")
        target = self.weights * target
        left = 1 - float(np.trace(self.matrix)) / self.total_weight
        if left < 1e-12:
            return float("inf")
        return float(np.sum((target - self.matrix @ target) ** 2) / left**2)


@documented()
class RandomProjectionRegressor(MultiOutputMixin, RegressorMixin, ReadsOnce, BaseEstimator):
    r"""Average of least-squares fits on random projections (or random features) of the variables.

    Each of the m members replaces the d variables x by s random ones, S'x, and fits y by least
    squares, or ridge regression, on these [Bach, §10.2.2]. The predictions are averaged. With fewer
    projected variables than rows, this regularises like ridge regression: s plays the role of the
    penalty. The average over members removes the variance of the projections.

    Parameters
    ----------
    n_estimators : int, default=10
        Number m of members.
    n_components : int, default=100
        Number s of projected variables. If it is at least the rank of X, "gaussian" without a
        penalty is the least-squares fit of least norm. If it is at least d, "coordinate" is the fit
        on all variables. A single member is fitted in these cases. Not used if `projection` is a
        transformer.
    projection : str or transformer, default="gaussian"
        - "gaussian": independent Gaussian entries of S;
        - "sparse": entries that are 0 except with probability 1/sqrt(d), then ±1 times a constant;
        - "coordinate": s of the d variables, drawn without replacement for each member;
        - "fourier": random Fourier features of the Gaussian kernel, cos(w'x + b) with Gaussian w;
        - "relu": rectified linear units (w'z + b)+ with (w, b) uniform on a sphere and z = (x -
          mean) / rms. Here rms is the root mean square distance of the rows from their mean;
        - a transformer with a parameter `random_state`, such as
          :class:`~sklearn.kernel_approximation.RBFSampler` or
          :class:`~sklearn.kernel_approximation.Nystroem`: clones of it are fitted to the rows, each
          with its own seed.
    alpha : float, default=0.0
        Penalty of the squared norm of the coefficients of the projected variables. S is scaled such
        that E[S S'] = I. For many linear projections this is therefore the `alpha` of
        :class:`~sklearn.linear_model.Ridge`; features approximate a kernel in the same way.
    gamma : "scale" or float, default="scale"
        Coefficient of the Gaussian kernel exp(-gamma ||x - x'||^2) of "fourier". "scale" is 1 over
        d times the variance of the values of X, as in :class:`~sklearn.svm.SVR`.
    fit_intercept : bool, default=True
        Whether to fit an intercept, which is neither projected nor penalised.
    n_jobs : int, default=None
        Number of threads. Each uses one BLAS thread; the model does not depend on it.
    %(random_state)s

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_outputs, n_features)
        Coefficients of the variables in X themselves. Only for the first three projections.
    intercept_ : float or ndarray of shape (n_outputs,)
        The constant of the linear model; for features, the mean of y, about which they are fitted.
    gamma_ : float
        The coefficient of the Gaussian kernel. Only for "fourier".
    %(names_in_fit)s

    See Also
    --------
    sklearn.linear_model.Ridge : The same kind of regularisation without randomness.
    BaggingRegressor : With `max_features`, random subsets of the variables for any regressor.
    sklearn_ensemble_theory.bounds.projection_risk_bound : The bound on the risk.

    Notes
    -----
    *Cost.* "gaussian": one decomposition of X, O(n d min(n, d)), shared by the members, and O(r
    s^2) for each member, with r the rank of X. "coordinate": O(n s^2) for each member. "sparse":
    O(n s^2) and O(n s sqrt(d)); features: O(n s^2) and O(n d s). A prediction costs O(d) for the
    linear projections, O(m s d) for features. The user guide describes the draws.

    *Precision.* Ill-conditioned problems are solved by singular values instead of normal equations;
    directions without variance get the coefficient 0. A sparse X is not made dense, and its
    directions with singular values below about 1e-7 of the largest are not accurate.

    *Weights.* Integer weights are equivalent to repeated rows, except for transformers that
    draw rows, as Nystroem does.

    %(references_Bach)s

    A. Kabán (2014). "New bounds on compressive linear least squares regression". *Artificial
    Intelligence and Statistics*.

    A. Rahimi and B. Recht (2007). "Random features for large-scale kernel machines". *Advances in
    Neural Information Processing Systems* 20.

    Examples
    --------
    >>> from sklearn.datasets import make_regression
    >>> from sklearn_ensemble_theory import RandomProjectionRegressor
    >>> X, y = make_regression(100, 500, n_informative=500, effective_rank=20, random_state=0)
    >>> model = RandomProjectionRegressor(20, n_components=50, random_state=0).fit(X, y)
    >>> model.coef_.shape
    (500,)
    >>> round(model.score(X, y), 2)
    0.86
    """

    _parameter_constraints: ClassVar[dict] = {
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "projection": [
            StrOptions({*LINEAR_PROJECTIONS, "fourier", "relu"}),
            HasMethods(["fit", "transform"]),
        ],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "gamma": [StrOptions({"scale"}), Interval(Real, 0, None, closed="neither")],
        "fit_intercept": ["boolean"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_estimators: int = 10,
        *,
        n_components: int = 100,
        projection: str | BaseEstimator = "gaussian",
        alpha: float = 0.0,
        gamma: float | Literal["scale"] = "scale",
        fit_intercept: bool = True,
        n_jobs: int | None = None,
        random_state: RandomStateLike = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.n_components = n_components
        self.projection = projection
        self.alpha = alpha
        self.gamma = gamma
        self.fit_intercept = fit_intercept
        self.n_jobs = n_jobs
        self.random_state = random_state

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_is_single")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the members and average them.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights of the squared errors. Rows of weight 0 are ignored.

        Returns
        -------
        self : RandomProjectionRegressor
            The fitted estimator.
        """
        rows = checked_rows(
            self,
            X,
            y,
            sample_weight,
            accept_sparse="csr",
            dtype=np.float64,
            multi_output=True,
            y_numeric=True,
            order="C",
        )
        X, y, weight = rows.X, np.asarray(rows.y, dtype=np.float64), rows.shares()
        rng = check_random_state(self.random_state)
        total = float(min(rows.weights().sum(), np.finfo(float).max))
        del rows  # its weights are not needed any more
        is_single = y.ndim == 1
        # The targets of the small problems: W^(1/2) (y - mean), in units of a power of 2.
        scale = power_of_two(largest_magnitude(y))
        targets = y.reshape(len(y), -1) / scale
        n_outputs = targets.shape[1]
        y_mean = mean_from_first(targets, weight) if self.fit_intercept else np.zeros(n_outputs)
        targets -= y_mean
        targets *= np.sqrt(weight)[:, None]

        projection, alpha = self._projection_of(X, weight, total)
        seeds = rng.randint(MAX_SEED, size=int(self.n_estimators)).tolist()
        model = average_of_members(projection, targets, alpha, seeds, self.n_jobs)
        # Linear members are one linear model; of features, all of them are kept.
        for name in ("coef_", "gamma_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        self._model, self._scale = None if model.is_linear else model, scale
        intercept = y_mean * scale  # in units of y, in which coefficients may overflow
        if model.is_linear:
            with np.errstate(over="ignore", invalid="ignore"):
                coef = scale * model.coef
                intercept = intercept - model.mean @ coef
            if not (np.isfinite(coef).all() and np.isfinite(intercept).all()):
                raise ValueError(
                    "X is so small, or y so large, that the coefficients overflow; scale them."
                )
            self.coef_ = coef[:, 0] if is_single else np.ascontiguousarray(coef.T)
        self.intercept_ = float(intercept[0]) if is_single else intercept
        self._is_single = is_single
        if isinstance(projection, FourierFeatures):
            with np.errstate(over="ignore", under="ignore"):
                self.gamma_ = float(np.square(projection.root_gamma))
        self._bound_terms = projection.bound_terms(total)
        return self

    def _projection_of(self, X: Any, weight: np.ndarray, total: float) -> tuple[Projection, float]:
        """Return the projection of these rows, and the penalty in its units."""
        kind, n_components = self.projection, int(self.n_components)
        alpha = float(self.alpha) / total
        if not isinstance(kind, str):
            check_random(kind)
            return TransformerFeatures(X, weight, self.fit_intercept, kind), alpha
        if kind in LINEAR_PROJECTIONS:
            rows = centred_rows(X, weight, self.fit_intercept)
            with np.errstate(over="ignore", under="ignore"):
                # The penalty is relative to squares of X. Two divisions, as the square of the scale
                # may overflow.
                alpha = float(np.float64(alpha) / rows.scale / rows.scale)
            return LINEAR_PROJECTIONS[kind](rows, n_components, alpha), alpha
        if kind == "relu":
            return ReLUFeatures(X, weight, self.fit_intercept, n_components), alpha
        scaled = isinstance(self.gamma, str)
        root = scale_root_gamma(X, weight) if scaled else float(np.sqrt(self.gamma))
        return FourierFeatures(X, weight, self.fit_intercept, n_components, root), alpha

    @finite_predictions
    def predict(self, X: MatrixLike) -> np.ndarray:
        """Predict the mean over the members.

        %(sparse_rows_to_predict)s

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Predictions.

        Raises
        ------
        ValueError
            If a prediction is beyond the largest float.
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, order="C", reset=False)
        if self._model is None:
            # One product whatever the number of members, as a mean of linear models is one.
            return np.asarray(X @ self.coef_.T) + self.intercept_
        out = self._scale * self._model(X)
        return (out[:, 0] if self._is_single else out) + self.intercept_

    def error_bound(self, theta: ArrayLike, sigma: float = 1.0) -> float:
        """Return a bound on the expected excess risk, for any number of members.

        The mean squared difference of the fitted values from the means of the targets, with the
        rows of X fixed and the expectation over noise and projections, is at most

        - "gaussian": sigma^2 s/n + (2/n) tr(X'X) ||theta||^2 / (s+1) [Bach, eq. (10.1)];
        - "sparse": the same with tr(X'X) + (sqrt(d) - 3)+ max_j ||X_j||^2 for the trace;
        - "coordinate": sigma^2 s/n + d max_j ||X_j||^2 ||theta||^2 / (n s) [Bach, exercise 10.4];
        - "fourier", "relu": sigma^2 s/n + R^2 ||f||_K^2 / s [Bach, §10.2.2], as corrected on the
          page of errata. The features times sqrt(s) have squares of at most R^2 = 2, and mean
          squares over the rows of at most R^2 = 4 (d + 1);

        with the columns X_j about their means if there is an intercept, which adds sigma^2 / n.

        Parameters
        ----------
        theta : float or array-like of shape (n_features,)
            For linear projections the coefficients theta of the mean of y given X, up to a
            constant, or their Euclidean norm. For features the norm of the mean f in the space of
            the kernel, the square root of f'K^{-1}f at the rows.
        sigma : float, default=1.0
            Standard deviation of the noise; with weights, of the noise of a row of weight 1, where
            the variance is divided by the weight.

        Returns
        -------
        bound : float
            The bound, in units of y squared.

        Raises
        ------
        ValueError
            If `alpha` is positive or `projection` is a transformer, for which there is no such
            bound; if `theta` has a wrong shape or a value is not finite or negative.
        """
        check_is_fitted(self)
        if self._bound_terms is None or self.alpha > 0:
            cause = f"alpha={self.alpha}" if self.alpha > 0 else "a transformer as projection"
            raise ValueError(f"There is no bound on the risk with {cause}.")
        norm = checked_numbers("theta", theta)
        check_number("sigma", sigma, 0)
        if norm.ndim and (norm.shape != (self.n_features_in_,) or self._model is not None):
            expected = "" if self._model is not None else f" or of shape ({self.n_features_in_},)"
            raise ValueError(f"theta must be a number{expected}, got shape {norm.shape}.")
        return self._bound_terms.bound(float(np.sum(norm**2)), float(sigma) ** 2)

    def expected_projection(
        self, X: MatrixLike, n_draws: int = 1_000, sample_weight: ArrayLike | None = None
    ) -> ExpectedProjection:
        """Estimate the expected matrix that maps targets to fitted values, from simulated draws.

        The fit of one member is Pi y with a random matrix Pi. Its mean Delta determines the risk of
        the average of any number of members [Bach, §10.2.2]. No targets and no fit are needed. The
        first draws are those of the members, if `random_state` is an int.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows of the design.
        n_draws : int, default=1_000
            Number of draws. Each costs O(n^2 s) in addition to a fit without targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Positive weights of the rows.

        Returns
        -------
        expectation : ExpectedProjection
            The estimate of Delta; its method `risk` returns the risk for any number of members.

        Raises
        ------
        ValueError
            If `n_draws` is not a positive int, or a weight is not positive.
        """
        self._validate_params()
        check_integer("n_draws", n_draws, 1, LARGEST_COUNT)
        refuse_unread(X)
        with np.errstate(over="ignore", invalid="ignore"):
            X = check_array(X, accept_sparse="csr", dtype=np.float64, order="C")
        rows = kept_rows(X, np.zeros(X.shape[0]), sample_weight)
        if len(rows) < X.shape[0]:
            raise ValueError("sample_weight must be positive for every row.")
        total = float(rows.weights().sum())
        projection, alpha = self._projection_of(X, rows.shares(), total)
        rng = check_random_state(self.random_state)
        seeds = rng.randint(MAX_SEED, size=n_draws).tolist()
        first, second = mean_hat_matrices(projection, seeds, alpha, self.fit_intercept)
        n_distinct = projection.n_distinct(len(seeds))
        return ExpectedProjection(first, second, n_distinct, projection.root, total)


# --- members --------------------------------------------------------------------------------------


def average_of_members(
    projection: Projection, Z: np.ndarray, alpha: float, seeds: list[int], n_jobs: int | None
) -> Any:
    """Fit a member for each seed, in threads, and average them to one model."""
    seeds = seeds[: projection.n_distinct(len(seeds))]
    targets = projection.targets(Z)
    # Without threads a generator: one member is in memory at a time.
    if n_jobs is None or n_jobs == 1:
        lifted = (_member(projection, targets, alpha, seed) for seed in seeds)
    else:
        tasks = (delayed(_member)(projection, targets, alpha, seed) for seed in seeds)
        lifted = in_order(tasks, n_jobs=n_jobs, prefer="threads")
    return projection.combine(lifted, len(seeds))


def _member(projection: Projection, targets: np.ndarray, alpha: float, seed: int) -> Any:
    design, S = projection.draw(seed)
    return projection.lift(S, ridge_coefficients(design, targets, alpha))


def mean_hat_matrices(
    projection: Projection, seeds: Sequence[int], alpha: float, with_mean: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Means over the draws of the matrix of the fitted values and of its square."""
    seeds = seeds[: projection.n_distinct(len(seeds))]
    first: Any = 0.0
    second: Any = 0.0
    # The sums alone are kept: a thousand matrices of n x n would not fit into memory.
    for seed in seeds:
        U, f = hat_factors(projection.draw(seed)[0], alpha)
        first = first + (U * f) @ U.T
        if alpha > 0:  # otherwise a projection, which is its own square
            second = second + (U * f**2) @ U.T
    first = projection.expand(first / len(seeds))
    second = projection.expand(second / len(seeds)) if alpha > 0 else first
    if with_mean:
        root = projection.root
        first = first + np.outer(root, root)
        second = second + np.outer(root, root) if alpha > 0 else first
    return first, second


def ridge_coefficients(B: np.ndarray, Z: np.ndarray, alpha: float) -> np.ndarray:
    """The eta with the least ||Z - B eta||^2 + alpha ||eta||^2, of least norm for alpha = 0.

    By the normal equations where they are well conditioned, otherwise by singular values. An
    infinite penalty gives 0.
    """
    n, s = B.shape
    if alpha == np.inf or s == 0:
        return np.zeros((s, Z.shape[1]))
    if s <= n or alpha > 0:
        # The smaller Gram matrix: B'(B B' + alpha I)^-1 = (B'B + alpha I)^-1 B'.
        wide = s > n
        gram = B @ B.T if wide else B.T @ B
        # The diagonal, without an identity matrix.
        gram.flat[:: len(gram) + 1] += alpha
        norm = np.abs(gram).sum(axis=0).max()
        # The condition number is estimated from the factor at O(s^2): squares lose half of the
        # digits, and an ill-conditioned solution would have none left.
        factor, failed = dpotrf(gram, lower=1)
        if not failed and dpocon(factor, norm, uplo="L")[0] > _WELL_CONDITIONED:
            if wide:
                return B.T @ cho_solve((factor, True), Z, check_finite=False)
            return cho_solve((factor, True), B.T @ Z, check_finite=False)
    U, sigma, Vt = _thin_svd(B)
    shrunk = (sigma / (sigma**2 + alpha))[:, None]
    return Vt.T @ (shrunk * (U.T @ Z))


def hat_factors(B: np.ndarray, alpha: float) -> tuple[np.ndarray, np.ndarray]:
    """(U, f) with U diag(f) U' the matrix that maps targets to the fitted values."""
    if alpha == np.inf:
        return np.zeros((len(B), 0)), np.zeros(0)
    U, sigma, _ = _thin_svd(B)
    return U, sigma**2 / (sigma**2 + alpha)


def _thin_svd(B: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the singular value decomposition without values that are 0 to rounding."""
    U, sigma, Vt = svd(B, full_matrices=False, check_finite=False)
    # As `numpy.linalg.matrix_rank`: the solution of least norm leaves these directions out.
    kept = sigma > max(B.shape) * np.finfo(float).eps * sigma.max(initial=0.0)
    return U[:, kept], sigma[kept], Vt[kept]
