"""Matching pursuit over the columns of X."""

from collections.abc import Iterator
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import Bunch, check_array, check_consistent_length, column_or_1d
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._rows import finite_predictions, rows_of_positive_weight, validate_data
from sklearn_ensemble_theory._typing import CVLike, RandomStateLike
from sklearn_ensemble_theory.boosting._dictionary import ColumnDictionary
from sklearn_ensemble_theory.boosting._pursuit.base import BaseMatchingPursuit
from sklearn_ensemble_theory.bounds import (
    gauge,
    matching_pursuit_bound,
    matching_pursuit_kappa,
    orthogonal_matching_pursuit_bound,
)


class MatchingPursuitRegressor(BaseMatchingPursuit):
    """Sparse linear regression by matching pursuit, which adds one column per round.

    This is boosting of the columns of X with the squared loss. Each round selects the column that
    is most correlated with the residuals and adds its least-squares fit to them. If it is stopped
    early, the model is sparse and its coefficients have a small l1 norm.

    Parameters
    ----------
    n_iterations : int, default=100
        Maximum number of rounds. Except in orthogonal pursuit, a column may be chosen in several
        of them.
    variant : {"plain", "orthogonal", "weak"}, default="plain"
        - "plain": earlier coefficients stay as they are [Bach, §10.3.3].
        - "orthogonal": each round ends with least squares over all columns chosen so far [Bach,
          exercise 10.5].
        - "weak": plain, but a column that is active already is preferred to a new one if its
          correlation is at least `weakness` times the largest. This gives sparser models.
    learning_rate : float in (0, 1], default=1.0
        Share of each plain or weak step that is taken. It must be 1 for orthogonal pursuit.
    weakness : float in (0, 1], default=0.8
        The share of the largest correlation for `variant="weak"`.
    tol : float, default=0.0
        The rounds end when the root mean square of the residuals is at most this share of its value
        at the start.
    early_stopping : bool or "cv", default=False
        True keeps the rounds up to the smallest error on a held-out fraction of the rows. "cv"
        selects the number of rounds with the smallest mean error over the splits of `cv`, for which
        each split is fitted once, and then fits to all rows.
    validation_fraction : float in (0, 1), default=0.1
        Share of the rows that `early_stopping=True` holds out, of those of positive weight.
    cv : int, cross-validation splitter or iterable, default=5
        The splits of `early_stopping="cv"`. An integer specifies the number of folds of
        consecutive rows; with Dask collections, of folds by a hash of the row's number.
    fit_intercept : bool, default=True
        Whether to centre the columns and y at their weighted means.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw of the rows that `early_stopping=True` holds out.
    verbose : int, default=0
        1 prints progress every few seconds, 2 after every round. Callbacks of `sklearn.callback`
        (scikit-learn 1.9) are set by `set_callbacks`; `ScoringMonitor` records the
        score on the rows fitted after each round, and for several targets at the end of the fit
        only. The rounds of held-out paths are silent.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        Coefficients of the columns, in units of y divided by units of the column.
    intercept_ : float or ndarray of shape (n_targets,)
        Independent term.
    n_iter_ : int or ndarray of shape (n_targets,)
        Number of rounds that were made and kept.
    active_ : ndarray of int, or list of them
        The columns chosen, in the order of their first choice.
    selected_ : ndarray of shape (n_iter_,), or list of them
        The column of each round.
    skipped_ : ndarray of int, or list of them
        Orthogonal pursuit: columns that were skipped because they are nearly linear combinations of
        the active ones. A `ConvergenceWarning` reports their number.
    residual_norms_ : ndarray of shape (n_iter_ + 1,), or list of them
        Root mean square of the residuals after 0, 1, ... rounds, in units of y.
    gauge_ : float or ndarray of shape (n_targets,)
        The l1 norm of the coefficients of the normalised columns, in units of y.
    stop_reason_ : str or list of str
        "n_iterations", "tol", "exhausted" (no column is correlated with the residuals any more),
        "early_stopping" or "callback".
    validation_path_ : ndarray of shape (n_rounds + 1,), or list of them
        Mean squared error on the rows held out, after 0, 1, ... rounds; with `early_stopping`.
    column_offset_, column_scale_ : ndarrays of shape (n_features,)
        Weighted means (0 without intercept) and root mean squares about them.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features; only for X with feature names that are all strings.

    See Also
    --------
    FrankWolfeRegressor : Bounds the l1 norm instead of the number of rounds.
    sklearn.linear_model.OrthogonalMatchingPursuit : Orthogonal pursuit by number of columns.

    Notes
    -----
    A round costs O(d), independent of the number of rows: it changes the correlations by a row of
    the Gram matrix. Such a row is computed when its column is first chosen, together with those of
    the columns that are likely to be chosen next; after a quarter of the columns, all the others
    are computed at once. The products cost O(n d) for each distinct column, O(n d²) at most.
    Round t of orthogonal pursuit costs O(d t). In addition to X, the rows of the Gram matrix in use
    are stored.

    With Dask collections the rows are read once, for the sums of products of all pairs of columns,
    O(n d²), from which the rounds are computed: the model is that of all rows in memory up to
    rounding. A chunk needs, and sends, 8 (d + q)² bytes for q targets; there may be at most 8192
    features. With `early_stopping` the rows are read twice, the first time to count them, and each
    of k parts has its own sums: the folds, an integer `cv`, are a hash of the row's number, and so
    are the rows that are held out, a random number of them with mean `validation_fraction`. A chunk
    then sends 8 k (d + q)² bytes, with k = 2 for rows held out, and there may be at most 8192 / √k
    features. Held-out errors are computed from the sums: below 1e-15 of the mean square of y
    they are rounding.

    Columns that are constant (or zero, without intercept) are never chosen. Ties go to the first
    column. Integer weights are equivalent to repeating rows, except for the folds and the held-out
    rows.

    The method is due to Mallat and Zhang (1993). See [Bach, §10.3.3] for its analysis, [Bach,
    exercises 10.5 and 10.6] for the rates and [Bach, §10.3.7] for an experiment.

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    S. Mallat and Z. Zhang (1993). "Matching pursuits with time-frequency dictionaries". IEEE
    Transactions on Signal Processing 41.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_ensemble_theory import MatchingPursuitRegressor
    >>> X = np.random.default_rng(0).standard_normal((50, 200))
    >>> y = X[:, 3] - 2 * X[:, 7]
    >>> model = MatchingPursuitRegressor(variant="orthogonal").fit(X, y)
    >>> model.active_, model.stop_reason_
    (array([7, 3]), 'exhausted')
    >>> model.coef_[[3, 7]].round(6)
    array([ 1., -2.])
    """

    def __init__(
        self,
        n_iterations: int = 100,
        *,
        variant: Literal["plain", "orthogonal", "weak"] = "plain",
        learning_rate: float = 1.0,
        weakness: float = 0.8,
        tol: float = 0.0,
        early_stopping: bool | Literal["cv"] = False,
        validation_fraction: float = 0.1,
        cv: CVLike | None = 5,
        fit_intercept: bool = True,
        random_state: RandomStateLike = None,
        verbose: bool | int = 0,
    ) -> None:
        self.n_iterations = n_iterations
        self.variant = variant
        self.learning_rate = learning_rate
        self.weakness = weakness
        self.tol = tol
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.cv = cv
        self.fit_intercept = fit_intercept
        self.random_state = random_state
        self.verbose = verbose

    @property
    def coef_path_(self) -> np.ndarray | list[np.ndarray]:
        """Coefficients after 0, 1, ... rounds.

        An array of shape (n_iter_ + 1, n_features), or a list of them for several targets. As it
        may be large, it is computed at each access.
        """
        check_is_fitted(self)
        single = self.coef_.ndim == 1
        chosen = [self.selected_] if single else self.selected_
        paths = [self._coef_path(c, s) for c, s in zip(chosen, self._steps)]
        return paths[0] if single else paths

    def _coef_path(self, chosen, steps):
        path = np.zeros((len(chosen) + 1, self.n_features_in_))
        if self.variant == "orthogonal":
            start = 0
            for t in range(1, len(path)):
                path[t, chosen[:t]] = steps[start : start + t]
                start += t
        else:
            path[np.arange(1, len(path)), chosen] = steps
            np.cumsum(path, axis=0, out=path)
        path /= self.column_scale_
        return path

    @finite_predictions
    def predict(self, X: ArrayLike) -> np.ndarray:
        """Predict the targets.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_targets)
            Predictions.
        """
        check_is_fitted(self)
        X = self._checked_X(X)
        return np.asarray(X @ self.coef_.T) + self.intercept_

    def staged_predict(self, X: ArrayLike) -> Iterator[np.ndarray]:
        """Predict with the models after 1, 2, ... rounds, for a single target.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to predict.

        Yields
        ------
        y : ndarray of shape (n_samples,)
            Predictions after the round.
        """
        check_is_fitted(self)
        if self.coef_.ndim > 1:
            raise ValueError(
                "staged_predict requires a single target y; fit one model for each target."
            )
        X = self._checked_X(X)
        for coef in self.coef_path_[1:]:
            yield np.asarray(X @ coef) + (self._target_means[0] - coef @ self.column_offset_)

    def _checked_X(self, X):
        return validate_data(
            self, X, dtype=np.float64, order="C", accept_sparse=["csc", "csr"], reset=False
        )

    def rate_bounds(
        self,
        gauge_y: float | None = None,
        X: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        y: ArrayLike | None = None,
    ) -> Bunch:
        """Compute the theoretical bounds on the mean squared residual after 0, 1, ... rounds.

        Parameters
        ----------
        gauge_y : float, default=None
            gamma(y): the l1 norm of some coefficients of the normalised columns (of mean square 1)
            with which they give the centred y exactly; in units of y. If None, the least one is
            computed from X and y by :func:`~sklearn_ensemble_theory.bounds.gauge`. Where the
            columns do not give y, it is that of the least-squares fit to y.
        X : {array-like, sparse matrix} of shape (n_samples, n_features), default=None
            The training rows. If given, the exponential rate is computed as well.
        sample_weight : array-like of shape (n_samples,), default=None
            The weights of the fit.
        y : array-like of shape (n_samples,), default=None
            The targets of the fit; used, and needed, if `gauge_y` is None.

        Returns
        -------
        Bunch
            `sublinear`, of shape (n_iter_ + 1,), bounds the mean squared residual:
            :func:`~sklearn_ensemble_theory.bounds.matching_pursuit_bound`, or
            :func:`~sklearn_ensemble_theory.bounds.orthogonal_matching_pursuit_bound`, plus
            `least_squares`.
            `exponential`, of the same shape, is (1 - kappa²)^t times the mean square at the start
            and bounds the excess over least squares, with `kappa` from
            :func:`~sklearn_ensemble_theory.bounds.matching_pursuit_kappa`; both are None without X.
            `gauge` is the number used, and `least_squares` the mean squared residual of least
            squares over all columns: 0 if `gauge_y` is given.

        Raises
        ------
        ValueError
            If there are several targets, or neither `gauge_y` nor X and y.

        Notes
        -----
        Let P y be the least-squares fit over all columns. The rounds for y choose the same columns
        as those for P y, and the mean squared residuals differ by that of least squares, so that
        the rates for P y bound the excess over it [Bach, §10.3.3]. The linear program for its gauge
        has 2 d variables; it takes seconds for a few thousand rows and columns.
        """
        check_is_fitted(self)
        if self.coef_.ndim > 1:
            raise ValueError(
                "rate_bounds requires a single target y; fit one model for each target."
            )
        if gauge_y is None and (X is None or y is None):
            raise ValueError("gauge_y=None requires X and y, from which the gauge is computed.")
        dictionary, least_squares, gamma = None, 0.0, gauge_y or 0.0
        if X is not None:
            X = check_array(X, dtype=np.float64, accept_sparse=["csc", "csr"])
            kept = rows_of_positive_weight(sample_weight, X)
            dictionary = ColumnDictionary(kept.take(X), kept.normalised, self.fit_intercept)
            if gauge_y is None:
                check_consistent_length(X, y)
                target = kept.take(column_or_1d(y, dtype=np.float64)) - self._target_means[0]
                gamma, least_squares = _gauge_of_fit(dictionary, target)
        t, nu, theta = np.arange(self.n_iter_ + 1), self.learning_rate, self._weakness()
        if self.variant == "orthogonal":
            sublinear = orthogonal_matching_pursuit_bound(t, gamma)
        else:
            sublinear = matching_pursuit_bound(t, gamma, nu, theta)
        exponential = kappa = None
        if dictionary is not None:
            kappa = matching_pursuit_kappa(dictionary.gram())
            rate = 1 - nu * (2 - nu) * (theta * kappa) ** 2
            exponential = self.residual_norms_[0] ** 2 * rate**t
        return Bunch(
            sublinear=sublinear + least_squares,
            exponential=exponential,
            kappa=kappa,
            gauge=gamma,
            least_squares=least_squares,
        )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _gauge_of_fit(dictionary: ColumnDictionary, target: np.ndarray) -> tuple[float, float]:
    """The gauge of the least-squares fit to the target, and the mean square of its residuals."""
    # In these units means over the rows are sums of squares.
    root = np.sqrt(dictionary.weight)
    columns = dictionary.columns(np.arange(dictionary.d)) * root
    target = target * root
    fitted = columns.T @ np.linalg.lstsq(columns.T, target, rcond=None)[0]
    return gauge(columns.T, fitted).value, float(np.sum((target - fitted) ** 2))
