"""The average of sketched least-squares fits [Bach, §10.2.1]."""

from numbers import Real
from typing import Any, Literal

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._rows import finite_predictions, validate_data
from sklearn_ensemble_theory._typing import MatrixLike, RandomStateLike
from sklearn_ensemble_theory.averaging._bagging.members import MAX_SEED
from sklearn_ensemble_theory.averaging._sketching.base import BaseSketchedRegression
from sklearn_ensemble_theory.averaging._sketching.sketches import SKETCHES
from sklearn_ensemble_theory.bounds import gaussian_sketch_risk

# Columns of noise that share the sketches of one fit in a simulated risk.
NOISE_COLUMNS = 8


class SketchedLinearRegression(BaseSketchedRegression):
    """Linear regression on random sketches of the rows, averaged over several sketches.

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

    alpha : float, default=0.0
        Penalty of ridge regression, the minimum of ||y - X w||^2 + alpha ||w||^2, with the units of
        :class:`sklearn.linear_model.Ridge` (sketches preserve squared norms on average).

    n_refinements : int, default=0
        Number of steps of conjugate gradients on all rows that start at the average, with the mean
        of the inverses of the sketched matrices as preconditioner. Each step reads X twice. A few
        steps give least squares to many digits; 0 is the average of sketches itself.

    fit_intercept : bool, default=True
        Whether to centre X and y at their means, which are those of all rows.

    n_jobs : int, default=None
        Number of threads for the sketches. The model does not depend on it.

    random_state : int, RandomState instance or None, default=None
        Seed of the sketches.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        Mean coefficients of the sketches, after the refinement if there is one.

    intercept_ : float or ndarray of shape (n_targets,)
        Independent term.

    coefs_ : ndarray of shape (n_estimators, n_features) or (n_estimators, n_targets, n_features)
        Coefficients of each sketch, before any refinement.

    sketch_size_ : int
        Number s of rows of a sketch.

    rank_ : int
        Largest rank of the sketches of X (centred if there is an intercept).

    n_samples_seen_ : int
        Number of rows of positive weight in the sketches.

    n_features_in_ : int
        Number of features.

    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X has feature names that are all strings.

    See Also
    --------
    sklearn.linear_model.LinearRegression : Least squares on all rows.
    DivideAndConquerRegressor : Averages of fits to disjoint blocks of rows, for any regressor.
    sklearn_ensemble_theory.bounds.gaussian_sketch_risk : The risk as a function.

    Notes
    -----
    *When it helps.* Averaging sketches has no statistical advantage over least squares; it is
    faster for many rows, and needs memory for the sketches only [Bach, §10.2.1]. With Gaussian
    sketches the expected excess risk is that of least squares times 1 + (n - d) / (m (s - d - 1)):
    for m = 1 about n/s times as large. With `n_refinements=1` it is close to that of least squares.

    *Cost* of `fit`: O(m n d) for the sketches by "countsketch", O(m n d log s) by "srht", O(m n s
    d) by "gaussian" and "rademacher", O(n d^2) at most once for the leverage scores; O(m s d^2)
    for the solutions; and O(n d) for each refinement. `predict` costs O(d) for each row. In
    addition to X, the m sketches and a chunk of 2 s rows at most are in memory.

    *Dask collections.* The sketches of the chunks are added up. Each chunk has random numbers of
    its own, given by `random_state` and the number of the chunk: for given chunks the model is
    always the same, and its law is that of a fit in memory, but not its bits. The rows are read
    once, for "leverage" three times; `n_refinements=k` reads them k + 1 times more, and gives the
    fit of all rows as in memory. A worker has the m sketches of its chunk in memory and sends m s
    (d + q + 1) numbers, for q targets, to where they are added, and 2 d q numbers for each
    refinement. Chunks of far more than s rows are therefore best; for "srht" the last block of each
    chunk is filled up with zeros.

    *Rank.* If a sketch of X does not have full rank, the solution of the smallest norm is used. As
    in any sketched problem, rows of very large leverage may be lost by "subsample".

    *Leverage scores* are estimated up to a constant factor, with the triangular factor of a count
    sketch and 16 Gaussian projections [Drineas et al., 2012]; a tenth of the draws is uniform. The
    blocks of "srht" are those of [Balabanov et al., 2023], with cosine transforms. The refinement
    is an iterative sketch of the Hessian [Pilanci and Wainwright, 2016] with the step lengths
    of conjugate gradients.

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

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

    @finite_predictions
    def predict(self, X: MatrixLike) -> np.ndarray:
        """Predict the targets.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to predict.

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

        The mean of (f(x_i) - x_i'w)^2 over the n rows x_i, in expectation, if y = X w + noise with
        independent noise of variance sigma^2; the risk of least squares is sigma^2 d / n.

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
        Without X, in O(1): exact for Gaussian sketches of unweighted rows [Bach, §10.2.1],
        sigma^2 d/n + sigma^2 d (n-d) / (n m (s-d-1)); with an intercept n - 1 replaces the n of the
        numerator and sigma^2 / n is added. If X has rank r below d, d is r. The same for other
        sketches of independent elements, count sketches and leverage scores, and with (n - d) /
        (s - d) - 1 instead of (n - d) / (s - d - 1) for "srht" and "subsample", whose S has
        orthogonal rows. These are limits for many rows without very large leverage [Dobriban and
        Liu, 2019]; simulate for other data. With X the cost is that of n_draws / 8 fits.
        """
        check_is_fitted(self)
        if not isinstance(sigma, Real) or not 0 <= sigma < np.inf:
            raise ValueError(f"sigma must be a finite number of at least 0, got {sigma!r}.")
        if self.alpha > 0:
            raise ValueError("excess_risk is that of least squares: it requires alpha=0.")
        if X is not None:
            return float(sigma) ** 2 * self._simulated_risk(X, n_draws, random_state)
        if self.n_refinements:
            raise ValueError("excess_risk with n_refinements above 0 requires X.")
        n, r, s, m = self.n_samples_seen_, self.rank_, self.sketch_size_, self.n_estimators
        noise = float(sigma) ** 2
        free = n - bool(self.fit_intercept)
        if not SKETCHES[self.sketch].orthogonal:
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
        rng = check_random_state(random_state)
        X = self._checked_X(X)
        total, left = 0.0, n_draws
        while left > 0:
            columns = min(left, NOISE_COLUMNS)
            noise = rng.standard_normal((X.shape[0], columns))
            model = clone(self).set_params(random_state=rng.randint(MAX_SEED))
            total += float(np.mean(model.fit(X, noise).predict(X) ** 2)) * columns
            left -= columns
        return total / n_draws
