"""Matching pursuits over the columns of X (000 section 10.3.3)."""

import warnings
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import check_cv
from sklearn.utils import Bunch, check_array, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from sklearn_ensemble_theory._compat import (
    Interval,
    RealNotInt,
    StrOptions,
    check_sample_weight,
    fit_context,
)
from sklearn_ensemble_theory._weights import normalised_weights, positive_rows
from sklearn_ensemble_theory.boosting._core.columns import (
    ColumnDictionary,
    GramRows,
    coefficients_in_units,
)
from sklearn_ensemble_theory.boosting._pursuit.rounds import (
    held_out_squares,
    pursue,
    pursue_orthogonally,
)
from sklearn_ensemble_theory.bounds import (
    matching_pursuit_bound,
    matching_pursuit_kappa,
    orthogonal_matching_pursuit_bound,
)


class MatchingPursuitRegressor(MultiOutputMixin, RegressorMixin, BaseEstimator):
    """Sparse linear regression by matching pursuit: one column a round, the best correlated.

    Boosting of the columns of X with the squared loss: each round takes the column that is best
    correlated with the residuals and adds what least squares on it says. Stopped early, this is a
    sparse model of small l1 norm.

    Parameters
    ----------
    n_iterations : int, default=100
        Rounds at most. A column may be taken in many of them, but for orthogonal pursuit.
    variant : {"plain", "orthogonal", "weak"}, default="plain"
        - "plain": earlier coefficients stay as they are [000, section 10.3.3].
        - "orthogonal": each round ends with least squares over all columns chosen so far [000,
          exercise 10.5].
        - "weak": plain, but a column that is active already is preferred to a new one as long as
          its correlation is within the factor `weakness` of the best: sparser models.
    learning_rate : float in (0, 1], default=1.0
        Share of each plain or weak step that is taken. Orthogonal pursuit needs 1.
    weakness : float in (0, 1], default=0.8
        Used by `variant="weak"` only.
    tol : float, default=0.0
        Stops when the residuals' root mean square has fallen to this share of its value at the
        start.
    early_stopping : bool or "cv", default=False
        True keeps the rounds up to the least error on a fraction of the rows set aside. "cv" takes
        the number of rounds with the least mean error over the splits of `cv`, each split's whole
        path in one pass, and then fits to all the rows.
    validation_fraction : float in (0, 1), default=0.1
        Share of the rows that `early_stopping=True` sets aside.
    cv : int, cross-validation splitter or iterable, default=5
        The splits of `early_stopping="cv"`.
    fit_intercept : bool, default=True
        Centre the columns and y at their weighted means.
    random_state : int, RandomState instance or None, default=None
        Draws the rows of `early_stopping=True`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        In units of y over units of the column.
    intercept_ : float or ndarray of shape (n_targets,)
    n_iter_ : int or ndarray of shape (n_targets,)
        Rounds made and kept.
    active_ : ndarray of int, or list of them
        The columns chosen, in the order of their first choice.
    selected_ : ndarray of shape (n_iter_,), or list of them
        The column of each round.
    skipped_ : ndarray of int, or list of them
        Orthogonal: columns passed over because they are nearly linear combinations of the active
        ones; a `ConvergenceWarning` names their number.
    residual_norms_ : ndarray of shape (n_iter_ + 1,), or list of them
        Root mean square of the residuals after 0, 1, ... rounds, in units of y.
    gauge_ : float or ndarray of shape (n_targets,)
        The l1 norm reached, of the coefficients of the normalised columns; in units of y.
    stop_reason_ : str or list of str
        "n_iterations", "tol", "exhausted" (no column is correlated with the residuals any more) or
        "early_stopping".
    validation_path_ : ndarray of shape (n_rounds + 1,), or list of them
        Mean squared error on the rows held out, after 0, 1, ... rounds; with `early_stopping`.
    column_offset_, column_scale_ : ndarrays of shape (n_features,)
        Weighted means (0 without intercept) and root mean squares about them.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    See Also
    --------
    FrankWolfeRegressor : Bounds the l1 norm instead of the number of rounds.
    sklearn.linear_model.OrthogonalMatchingPursuit : Orthogonal pursuit by number of columns.

    Notes
    -----
    A round costs O(d): the correlations change by a row of the Gram matrix, which is computed,
    together with the rows that are likely to be asked for next, when a column is chosen for the
    first time; after a quarter of the columns the rest follows at once. In all O(n d) products
    for each distinct column, at most O(n d²), and O(d) a round; orthogonal pursuit O(d t) in round
    t. Memory beside X: the rows of the Gram matrix in use.

    Columns that are constant (or zero, without intercept) are never chosen. Ties go to the first.

    References
    ----------
    Mallat and Zhang (1993). 000 sections 10.3.3 and 10.3.7, exercises 10.5 and 10.6.

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

    _parameter_constraints: ClassVar[dict] = {
        "n_iterations": [Interval(Integral, 1, None, closed="left")],
        "variant": [StrOptions({"plain", "orthogonal", "weak"})],
        "learning_rate": [Interval(Real, 0, 1, closed="right")],
        "weakness": [Interval(Real, 0, 1, closed="right")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "early_stopping": ["boolean", StrOptions({"cv"})],
        "validation_fraction": [Interval(RealNotInt, 0, 1, closed="neither")],
        "cv": ["cv_object"],
        "fit_intercept": ["boolean"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_iterations=100,
        *,
        variant="plain",
        learning_rate=1.0,
        weakness=0.8,
        tol=0.0,
        early_stopping=False,
        validation_fraction=0.1,
        cv=5,
        fit_intercept=True,
        random_state=None,
    ):
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

    def __sklearn_is_fitted__(self):
        return hasattr(self, "coef_")

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Choose columns, one a round.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Several targets are pursued one by one, over the same Gram matrix.
        sample_weight : array-like of shape (n_samples,), default=None
            Not negative. Rows of weight 0 are left out.

        Returns
        -------
        self
        """
        if self.variant == "orthogonal" and self.learning_rate != 1:
            raise ValueError(
                "learning_rate must be 1 for variant='orthogonal', whose rounds end with least "
                f"squares; got {self.learning_rate!r}."
            )
        X, y = validate_data(
            self,
            X,
            y,
            dtype=np.float64,
            order="C",  # one order of summation, whatever container X comes in
            accept_sparse=["csc", "csr"],
            multi_output=True,
            y_numeric=True,
        )
        Y = np.asarray(y, dtype=np.float64).reshape(len(y), -1)
        weight = check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        weight = normalised_weights(weight, len(Y))
        rows = positive_rows(weight)
        X, Y, weight = X[rows], Y[rows], weight[rows]
        limits, errors = None, None
        if self.early_stopping == "cv":
            splits = list(check_cv(self.cv).split(np.empty((len(Y), 1))))
            errors = self._held_out_paths(X, Y, weight, splits)
        elif self.early_stopping:
            train, held = self._set_aside(len(Y))
            errors = self._held_out_paths(X, Y, weight, [(train, held)])
            X, Y, weight = X[train], Y[train], weight[train] / weight[train].sum()
        if errors is not None:
            limits = [int(np.argmin(e)) for e in errors]
        dictionary, mean, scale, paths = self._pursue(X, Y, weight, limits)
        self._set_paths(dictionary, mean, scale, paths, y.ndim == 1, errors)
        return self

    def _set_aside(self, n):
        count = round(self.validation_fraction * n)
        if not 0 < count < n:
            raise ValueError(
                f"validation_fraction={self.validation_fraction} of {n} rows leaves none to "
                "train or to validate on."
            )
        order = check_random_state(self.random_state).permutation(n)
        return np.sort(order[count:]), np.sort(order[:count])

    def _pursue(self, X, Y, weight, limits=None):
        """The paths of all targets, and what is needed to read them."""
        dictionary = ColumnDictionary(X, weight, self.fit_intercept)
        rows = GramRows(dictionary, self.n_iterations)
        mean = Y[0] + weight @ (Y - Y[0]) if self.fit_intercept else np.zeros(Y.shape[1])
        centred = Y - mean
        scale = np.abs(centred).max(axis=0)
        # Constant but for rounding: nothing is left to explain.
        scale[scale <= 1e-14 * np.abs(mean)] = 0.0
        targets = np.where(scale > 0, centred / np.where(scale > 0, scale, 1.0), 0.0)
        correlations = dictionary.products(targets.T)
        squares = weight @ targets**2
        paths = [self._path(rows, c, float(square)) for c, square in zip(correlations, squares)]
        if limits is not None:
            paths = [path.cut(limit) for path, limit in zip(paths, limits)]
        return dictionary, mean, scale, paths

    def _path(self, rows, correlations, square):
        if self.variant == "orthogonal":
            return pursue_orthogonally(rows, correlations, square, self.n_iterations, self.tol)
        weakness = self.weakness if self.variant == "weak" else 1.0
        return pursue(
            rows, correlations, square, self.n_iterations, self.learning_rate, weakness, self.tol
        )

    def _held_out_paths(self, X, Y, weight, splits):
        """Mean over the splits of the held-out squared error after each round, by target."""
        by_split = []
        for train, held in splits:
            w = weight[train] / weight[train].sum()
            dictionary, mean, scale, paths = self._pursue(X[train], Y[train], w)
            safe = np.where(scale > 0, scale, 1.0)
            targets = (Y[held] - mean) / safe
            by_split.append(
                [
                    s**2 * held_out_squares(path, dictionary, X[held], t, weight[held])
                    for path, t, s in zip(paths, targets.T, safe)
                ]
            )
        return [_mean_path(paths) for paths in zip(*by_split)]

    def _set_paths(self, dictionary, mean, scale, paths, single, errors):
        d = dictionary.d
        normalised = scale[:, None] * np.array([path.coefficients(d) for path in paths])
        coef = coefficients_in_units(normalised, dictionary.scale)

        def each(values):
            return values[0] if single else values

        skipped = sum(len(path.skipped) for path in paths)
        if skipped:
            warnings.warn(
                f"{skipped} columns were passed over as nearly linear combinations of the active "
                "ones; skipped_ lists them.",
                ConvergenceWarning,
                stacklevel=3,
            )
        self.column_offset_, self.column_scale_ = dictionary.offset, dictionary.scale
        self.intercept_ = each(mean - coef @ dictionary.offset)
        self.n_iter_ = each(np.array([len(path.chosen) for path in paths]))
        self.n_iter_ = int(self.n_iter_) if single else self.n_iter_
        self.selected_ = each([path.chosen for path in paths])
        self.active_ = each([_distinct(path.chosen) for path in paths])
        self.skipped_ = each([path.skipped for path in paths])
        self.residual_norms_ = each([s * np.sqrt(p.squares) for s, p in zip(scale, paths)])
        self.gauge_ = each(np.abs(normalised).sum(axis=1))
        self.stop_reason_ = each([path.stop_reason for path in paths])
        # The path as plain arrays: rounds' steps, or the orthogonal coefficients one after another.
        self._steps = [
            s * (np.concatenate(p.coefs) if p.coefs else p.steps) for s, p in zip(scale, paths)
        ]
        self._target_means = mean
        self.__dict__.pop("validation_path_", None)
        if errors is not None:
            self.validation_path_ = each(errors)
        self.coef_ = each(coef)

    @property
    def coef_path_(self):
        """Coefficients after 0, 1, ... rounds: (n_rounds + 1, n_features), or a list of such.

        Built anew at each access, as it may be large.
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

    def predict(self, X):
        """Predictions: array of shape (n_samples,) or (n_samples, n_targets)."""
        check_is_fitted(self)
        X = self._validated(X)
        return np.asarray(X @ self.coef_.T) + self.intercept_

    def staged_predict(self, X):
        """Predictions after 0, 1, ... rounds, for one target; yields arrays of (n_samples,)."""
        check_is_fitted(self)
        if self.coef_.ndim > 1:
            raise ValueError("staged_predict needs a single target y; fit one model for each.")
        X = self._validated(X)
        for coef in self.coef_path_:
            yield np.asarray(X @ coef) + (self._target_means[0] - coef @ self.column_offset_)

    def _validated(self, X):
        return validate_data(
            self, X, dtype=np.float64, order="C", accept_sparse=["csc", "csr"], reset=False
        )

    def rate_bounds(self, gauge_y, X=None, sample_weight=None):
        """What theory says of the mean squared residual after 0, 1, ... rounds.

        Parameters
        ----------
        gauge_y : float
            gamma(y): the l1 norm of some coefficients of the normalised columns (of mean square 1)
            with which they give the centred y exactly; in units of y.
        X : array-like of shape (n_samples, n_features), default=None
            The training rows. With them the exponential rate is computed too.
        sample_weight : array-like of shape (n_samples,), default=None
            The weights of the fit.

        Returns
        -------
        Bunch
            `sublinear`, a number for each round and the start, bounds the mean squared residual:
            :func:`~sklearn_ensemble_theory.bounds.matching_pursuit_bound`, or
            :func:`~sklearn_ensemble_theory.bounds.orthogonal_matching_pursuit_bound`.
            `exponential`, of the same shape, is (1 - kappa²)^t times the mean square at the start
            and bounds what is above least squares; with `kappa`, both None without X.
        """
        check_is_fitted(self)
        if self.coef_.ndim > 1:
            raise ValueError("rate_bounds needs a single target y; fit one model for each.")
        t = np.arange(self.n_iter_ + 1)
        if self.variant == "orthogonal":
            sublinear = orthogonal_matching_pursuit_bound(t, gauge_y)
        else:
            weakness = self.weakness if self.variant == "weak" else 1.0
            sublinear = matching_pursuit_bound(t, gauge_y, self.learning_rate, weakness)
        if X is None:
            return Bunch(sublinear=sublinear, exponential=None, kappa=None)
        X = check_array(X, dtype=np.float64, accept_sparse=["csc", "csr"])
        weight = check_sample_weight(sample_weight, X, dtype=np.float64)
        dictionary = ColumnDictionary(X, normalised_weights(weight, X.shape[0]), self.fit_intercept)
        kappa = matching_pursuit_kappa(dictionary.gram())
        nu = self.learning_rate
        theta = self.weakness if self.variant == "weak" else 1.0
        rate = 1 - nu * (2 - nu) * (theta * kappa) ** 2
        exponential = self.residual_norms_[0] ** 2 * rate**t
        return Bunch(sublinear=sublinear, exponential=exponential, kappa=kappa)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _distinct(chosen):
    """The different numbers, in the order of their first appearance."""
    values, first = np.unique(chosen, return_index=True)
    return values[np.argsort(first)]


def _mean_path(paths):
    """Mean of paths; one that ended early stays where it ended."""
    length = max(map(len, paths))
    return np.mean([np.append(p, np.full(length - len(p), p[-1])) for p in paths], axis=0)
