"""The average of sketched least-squares fits [Bach, §10.2.1].

A fit has two steps: sums over the rows, of which the sketches S (X, y) are the largest, in one pass
(`least_squares.sums_of_rows`); and a small least-squares problem for each sketch, whose solutions
are averaged and perhaps refined by further passes (`_solve`).
"""

from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, clone
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._batches import FitsBatches
from sklearn_ensemble_theory._compat import Interval, RealNotInt, StrOptions
from sklearn_ensemble_theory._documentation import documented
from sklearn_ensemble_theory._door import LARGEST_COUNT, ReadsOnce, fit_context
from sklearn_ensemble_theory._rows import (
    BlockedRows,
    MemoryRows,
    Rows,
    check_usual_units,
    finite_predictions,
    kept_rows,
    validate_data,
)
from sklearn_ensemble_theory._running import MAX_SEED, threads_for
from sklearn_ensemble_theory._scores import RegressorMixin
from sklearn_ensemble_theory._typing import ArrayLike, MatrixLike, RandomStateLike
from sklearn_ensemble_theory.bounds import gaussian_sketch_risk
from sklearn_ensemble_theory.bounds._arguments import (
    check_integer,
    check_number,
    checked_generator,
)

from ._sketched_least_squares import (
    CentredRows,
    Frame,
    SketchSums,
    in_groups,
    member_solutions,
    refined,
    sums_of_rows,
)
from ._sketches import SKETCHES, AllRows

# Columns of noise that share the sketches of one fit in a simulated risk.
NOISE_COLUMNS = 8


@documented()
class SketchedLinearRegression(
    MultiOutputMixin, RegressorMixin, FitsBatches, ReadsOnce, BaseEstimator
):
    """Fast approximate linear regression: the average of fits to random sketches of the rows.

    A sketch replaces the n rows of (X, y) by s random combinations of them, S X and S y. Least
    squares with s rows costs O(s d^2) instead of O(n d^2), and the average of m such fits is close
    to least squares on all rows.

    Parameters
    ----------
    n_estimators : int, default=1
        Number m of sketches, drawn independently.
    sketch : {"countsketch", "gaussian", "leverage", "rademacher", "srht", "subsample"}, \
            default="countsketch"
        The law of S:

        - "countsketch": each row is added, with a random sign, to one of the s rows. The fastest
          one, O(d) for each row, and O(nnz) for sparse X.
        - "gaussian": independent normal elements, O(s d) for each row. Its risk is known exactly.
        - "leverage": s rows drawn with replacement with probabilities in proportion to their
          leverage scores, estimated by a sketch, and weighted accordingly.
        - "rademacher": independent signs, O(s d) for each row.
        - "srht": random signs, the discrete cosine transform of blocks of at least s rows, and s of
          its rows, added up over the blocks; O(d log s) for each row.
        - "subsample": s rows drawn uniformly without replacement. It fails where few rows determine
          the solution.
    sketch_size : int or float, default=8.0
        Number s of rows of a sketch; a float is a multiple of the number of features. With
        `alpha=0` it must be at least the number d of features, and should be several times d.
        `fit` to no more than s rows in memory is least squares on the rows themselves.
    alpha : float, default=0.0
        Penalty of ridge regression, the minimum of ||y - X w||^2 + alpha ||w||^2, with the units of
        :class:`sklearn.linear_model.Ridge` (sketches preserve squared norms on average).
    n_refinements : int, default=0
        Number of steps of conjugate gradients on all rows that start at the average, with the mean
        of the inverses of the sketched matrices as preconditioner. Each step reads X twice. A few
        steps give least squares to many digits; 0 is the average of sketches itself.
    fit_intercept : bool, default=True
        Whether to centre X and y at their means over all rows.
    n_jobs : int, default=None
        Number of threads for the sketches. The model does not depend on it.
    %(random_state)s

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        Mean coefficients of the sketches, after the refinement if there is one.
    intercept_ : float or ndarray of shape (n_targets,)
        Independent term.
    coefs_ : ndarray of shape (n_estimators, n_features) or (n_estimators, n_targets, n_features)
        Coefficients of each sketch, before any refinement.
    sketch_size_ : int
        Number s of rows of a sketch, or n for least squares on n rows.
    rank_ : int
        Largest rank of the sketches of X (centred if there is an intercept).
    n_samples_seen_ : int
        Number of rows of positive weight in the sketches.
    %(names_in_fit)s

    See Also
    --------
    sklearn.linear_model.LinearRegression : Least squares on all rows.
    DivideAndConquerRegressor : Averages of fits to disjoint blocks of rows, for any regressor.
    sklearn_ensemble_theory.bounds.gaussian_sketch_risk : The risk as a function.

    Notes
    -----
    *When it helps.* Averaging sketches has no statistical advantage over least squares. It is
    faster for many rows, and needs memory only for the sketches [Bach, §10.2.1]. With Gaussian
    sketches the expected excess risk is that of least squares times 1 + (n - d) / (m (s - d - 1)):
    for m = 1 about n/s times as large. With `n_refinements=1` it is close to that of least squares.

    *Cost* of `fit`. The sketches take O(m n d) by "countsketch", O(m n d log s) by "srht", and O(m
    n s d) by "gaussian" and "rademacher". The leverage scores take O(n d^2) at most once, the
    solutions O(m s d^2), and each refinement O(n d). `predict` costs O(d) for each row. In addition
    to X, the m sketches and a chunk of 2 s rows at most are in memory. For n <= s rows the cost is
    O(n d^2) once: no sketch would be smaller than X, or closer to least squares.

    If a sketch of X does not have full rank, the solution of the smallest norm is used. See
    :ref:`passes-over-chunks` for Dask collections and :ref:`sketched-least-squares` for leverage
    scores.

    %(references_Bach)s

    O. Balabanov, M. Beaupère, L. Grigori and V. Lederer (2023). "Block subsampled randomized
    Hadamard transform for Nyström approximation on distributed architectures". *International
    Conference on Machine Learning*.

    E. Dobriban and S. Liu (2019). "Asymptotics for sketching in least squares regression".
    *Advances in Neural Information Processing Systems* 32.

    P. Drineas, M. Magdon-Ismail, M. W. Mahoney and D. P. Woodruff (2012). "Fast approximation of
    matrix coherence and statistical leverage". *Journal of Machine Learning Research* 13.

    M. Pilanci and M. J. Wainwright (2016). "Iterative Hessian sketch: fast and accurate solution
    approximation for constrained least-squares". *Journal of Machine Learning Research* 17.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_ensemble_theory import SketchedLinearRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((20_000, 3))
    >>> y = X @ [1.0, -2.0, 0.5] + rng.standard_normal(20_000)
    >>> model = SketchedLinearRegression(50, sketch_size=100, random_state=0).fit(X, y)
    >>> model.coef_.round(1)
    array([ 1. , -2. ,  0.5])
    """

    _parameter_constraints: ClassVar[dict] = {
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "sketch": [StrOptions(set(SKETCHES))],
        "sketch_size": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, None, closed="neither"),
        ],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "n_refinements": [Interval(Integral, 0, None, closed="left")],
        "fit_intercept": ["boolean"],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_estimators: int = 1,
        *,
        sketch: Literal[
            "countsketch", "gaussian", "leverage", "rademacher", "srht", "subsample"
        ] = "countsketch",
        sketch_size: int | float = 8.0,
        alpha: float = 0.0,
        n_refinements: int = 0,
        fit_intercept: bool = True,
        n_jobs: int | None = None,
        random_state: RandomStateLike = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.sketch = sketch
        self.sketch_size = sketch_size
        self.alpha = alpha
        self.n_refinements = n_refinements
        self.fit_intercept = fit_intercept
        self.n_jobs = n_jobs
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the members and average them.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows, or a Dask array or data frame without sparse chunks.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets; a Dask collection where X is one.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights of the squared errors. Integer weights are equivalent in
            distribution to repeating rows, except for `sketch="subsample"`, where rows are drawn
            uniformly whatever their weights.

        Returns
        -------
        self : object
            The fitted model.

        Raises
        ------
        ValueError
            If `sketch_size` is below the number of features and `alpha` is 0, or the data are not
            valid.

        Notes
        -----
        See the notes of the class for the cost.
        """
        rows = self._checked_rows(X, y, sample_weight, reset=True)
        self._fit_chunks(MemoryRows(rows, rows.X.shape[1]))
        return self

    def _fit_chunks(self, rows: BlockedRows) -> None:
        """`fit` of rows in blocks: one in memory, one for each chunk of a Dask collection."""
        size = self._size(rows.n_features)
        rows = rows.knowing(multi_output=True)
        options = self.sketch, size, self._seeds(), self.fit_intercept, self.n_jobs
        sums = sums_of_rows(rows, *options)
        self._solve(sums, rows)
        self.__dict__.pop("_sums", None)

    @fit_context(prefer_skip_nested_validation=True, running=("_sums",))
    def partial_fit(
        self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Add a chunk of rows to the sketches, and solve again.

        Chunks one after the other give the model of one `fit` to all rows with the same
        `random_state`, up to rounding, if these are more rows than a sketch has. A first call, also
        after `fit`, starts a new model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows of the chunk.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Their targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Their weights.

        Returns
        -------
        self : object
            The model of all rows so far.

        Raises
        ------
        ValueError
            If the sketch needs all rows at once (`sketch="leverage"`, `n_refinements` above 0), or
            the chunk has no rows or other columns than the first one.

        Notes
        -----
        The m sketches of s rows, m s (d + q + 1) numbers, stay in memory. The cost is as for `fit`
        on the chunk, including O(m s d^2) for the solutions.
        """
        if not SKETCHES[self.sketch].oblivious or self.n_refinements:
            raise ValueError(
                f"partial_fit sees a chunk once: sketch={self.sketch!r} with "
                f"n_refinements={self.n_refinements} needs all rows again. Use another sketch and "
                "n_refinements=0."
            )
        sums = vars(self).get("_sums")
        rows = self._checked_rows(X, y, sample_weight, reset=sums is None)
        X, y, weight = rows.X, rows.y, rows.weight
        if sums is None:
            frame = Frame.of(X, y, self.fit_intercept, no_spread=1.0)  # other y may follow
            kind, size = SKETCHES[self.sketch], self._size(X.shape[1])
            shape = size, X.shape[1], len(frame.y_shift) + 1
            sums = SketchSums([kind([seed, 0], *shape) for seed in self._seeds()], frame)
        elif y.reshape(len(y), -1).shape[1] != len(sums.frame.y_shift) or (
            (y.ndim == 1) != sums.frame.single
        ):
            raise ValueError("y must have as many columns as in the first call of partial_fit.")
        sums.add(sums.frame.rows(X, y, weight), self.n_jobs)
        self._solve(sums)
        self._sums = sums
        return self

    def _checked_rows(
        self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None, *, reset: bool
    ) -> Rows:
        X, y = validate_data(
            self,
            X,
            y,
            reset=reset,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            multi_output=True,
            y_numeric=True,
        )
        y = np.asarray(y, dtype=np.float64)
        self._size(X.shape[1])
        if sample_weight is None:
            return Rows(X, y, None, range(len(y)))
        rows = kept_rows(X, y, sample_weight, as_given=True)
        check_usual_units(rows.weights())
        return rows

    def _size(self, d: int) -> int:
        """The number s of rows of a sketch."""
        size = self.sketch_size
        wanted = size if isinstance(size, Integral) else size * d
        if wanted > LARGEST_COUNT:
            raise ValueError(f"sketch_size={size!r} gives sketches of {wanted:.3g} rows: too many.")
        s = max(1, int(np.ceil(wanted)))
        if s < d and self.alpha == 0:
            raise ValueError(
                f"sketch_size={size!r} gives sketches of {s} rows, fewer than the {d} features of "
                "X, so least squares has no unique solution. Use a larger sketch_size, or alpha > "
                "0."
            )
        return s

    def _seeds(self) -> list[int]:
        rng = check_random_state(self.random_state)
        return [int(seed) for seed in rng.randint(MAX_SEED, size=int(self.n_estimators))]

    def _solve(self, sums: SketchSums, rows: BlockedRows | None = None) -> None:
        """Solve the sketched problems and store the fitted attributes."""
        frame = sums.frame
        x_mean, y_mean = sums.means(self.fit_intercept)
        keeps_gram = self.n_refinements > 0
        options = x_mean, y_mean, self.alpha, keeps_gram
        # Several are shared out by `n_jobs`, on which their bits do not depend.
        size, d = sums.sketches[0].phi.shape
        with threads_for(float(size) * d**2 if len(sums.sketches) == 1 else 0.0):
            results = in_groups(member_solutions, sums.sketches, self.n_jobs, *options)
        self._has_all_rows = isinstance(sums.sketches[0], AllRows)
        members = np.array([theta for theta, *_ in results])
        with np.errstate(over="ignore", invalid="ignore"):
            mean = members.mean(axis=0)
            if self.n_refinements and rows is not None:
                centred = rows.view(CentredRows.of, frame, x_mean, y_mean)
                grams = [gram for _, _, gram in results]
                mean = refined(mean, grams, centred, self.alpha, self.n_refinements)
            if self._has_all_rows:
                members = np.repeat(members, self.n_estimators, axis=0)
            coefs = members.transpose(0, 2, 1) * frame.y_unit[:, None]
            coef = mean.T * frame.y_unit[:, None]
            intercept = (y_mean - x_mean @ mean) * frame.y_unit + frame.y_shift
            intercept = intercept - coef @ frame.x_shift
        if not (np.isfinite(coefs).all() and np.isfinite(intercept).all()):
            raise ValueError(
                "X is so small, or y so large, that the coefficients overflow; scale them."
            )
        self.sketch_size_ = sums.sketches[0].size
        self.n_samples_seen_ = sums.n_rows
        self.rank_ = max(rank for _, rank, _ in results)
        self.coefs_ = coefs[:, 0] if frame.single else coefs
        self.coef_ = coef[0] if frame.single else coef
        self.intercept_: float | np.ndarray = 0.0
        if self.fit_intercept:
            self.intercept_ = float(intercept[0]) if frame.single else intercept

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "coef_")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @finite_predictions
    def predict(self, X: MatrixLike) -> np.ndarray:
        """Predict the targets.

        %(sparse_rows_to_predict)s

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_targets)
            Predictions, in the units of y.

        Raises
        ------
        ValueError
            If a prediction is beyond the largest float.

        Notes
        -----
        O(n_samples n_features n_targets).
        """
        check_is_fitted(self)
        X = self._checked_X(X)
        return np.asarray(X @ self.coef_.T) + self.intercept_

    def _checked_X(self, X: MatrixLike) -> Any:
        numbers = [np.float64, np.float32]
        return validate_data(self, X, reset=False, accept_sparse="csr", dtype=numbers, order="C")

    def excess_risk(
        self,
        sigma: float = 1.0,
        X: MatrixLike | None = None,
        *,
        n_draws: int = 40,
        random_state: RandomStateLike = None,
    ) -> float:
        """Expected excess risk on the training rows, over the noise and the sketches.

        This is the expected mean of (f(x_i) - x_i'w)^2 over the n rows x_i, if y = X w + noise with
        independent noise of variance sigma^2. The risk of least squares is sigma^2 d / n.

        Parameters
        ----------
        sigma : float, default=1.0
            Standard deviation of the noise, in the units of y.
        X : {array-like, sparse matrix} of shape (n_samples, n_features), default=None
            The training rows. If given, the risk is simulated for these rows: the mean over
            `n_draws` targets of pure noise, with new sketches for every eight of them.
        n_draws : int, default=40
            Number of simulated targets.
        random_state : int, RandomState instance or None, default=None
            Seed of the simulation.

        Returns
        -------
        risk : float
            In units of y squared; inf where the expectation is infinite, such as for Gaussian
            sketches of d or d + 1 rows.

        Raises
        ------
        ValueError
            If `alpha` is positive, because the bias then depends on w; if there are refinements
            and no X.

        Notes
        -----
        Without X the cost is O(1). For Gaussian sketches of unweighted rows the risk is exact
        [Bach, §10.2.1]: sigma^2 d/n + sigma^2 d (n-d) / (n m (s-d-1)). With an intercept, n - 1
        replaces the n of the numerator and sigma^2 / n is added. If X has rank r below d, d is r.
        The same formula is used for other sketches of independent elements, count sketches and
        leverage scores. "srht" and "subsample" have an S with orthogonal rows: there (n - d) / (s -
        d) - 1 replaces (n - d) / (s - d - 1). These are limits for many rows without very large
        leverage [Dobriban and Liu, 2019]; simulate for other data. With X the cost is n_draws / 8
        fits.
        """
        check_is_fitted(self)
        check_number("sigma", sigma, 0)
        if self.alpha > 0:
            raise ValueError("excess_risk is that of least squares: it requires alpha=0.")
        if X is not None:
            check_integer("n_draws", n_draws, 1, LARGEST_COUNT)
            return float(sigma) ** 2 * self._simulated_risk(X, n_draws, random_state)
        if self.n_refinements:
            raise ValueError("excess_risk with n_refinements above 0 requires X.")
        n, r, s, m = self.n_samples_seen_, self.rank_, self.sketch_size_, self.n_estimators
        noise = float(sigma) ** 2
        free = n - bool(self.fit_intercept)
        if not (SKETCHES[self.sketch].orthogonal or self._has_all_rows):
            total = gaussian_sketch_risk(free, r, s, m, noise) if r else 0.0
            risk = total * free / n
        elif s >= free:
            risk = noise * r / n
        elif s == r:
            risk = np.inf
        else:
            risk = noise * r / n * (1 + (free - s) / (s - r) / m)
        return float(risk + (noise / n if self.fit_intercept else 0.0))

    def _simulated_risk(self, X: MatrixLike, n_draws: int, random_state: RandomStateLike) -> float:
        """The mean square of the predictions for targets of noise with variance 1."""
        rng = checked_generator(random_state)
        X = self._checked_X(X)
        total, left = 0.0, n_draws
        while left > 0:
            columns = min(left, NOISE_COLUMNS)
            noise = rng.standard_normal((X.shape[0], columns))
            model = clone(self).set_params(random_state=rng.randint(MAX_SEED))
            total += float(np.mean(model.fit(X, noise).predict(X) ** 2)) * columns
            left -= columns
        return total / n_draws
